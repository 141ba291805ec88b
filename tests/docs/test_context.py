"""The page about context shows what is really sent: to the letter, from a real request."""

from collections.abc import Sequence
from datetime import timedelta

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from scripts.benchmark.house import House
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text

from .pages import FENCE, section


def pictures(heading: str) -> list[str]:
    """Return the examples below a heading."""
    return [
        match[2].strip() for match in FENCE.finditer(section("reference/requests.md", heading)) if match[1] == "text"
    ]


async def sent(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory, words: Sequence[str]
) -> list[str]:
    """Return the home map, the states below it, if there are any, and the user messages of a conversation."""
    conversation_id = None
    for number, one in enumerate(words):
        llm_server.plan(text("It is."))
        conversation_id = (await say(hass, one, conversation_id)).conversation_id
        freezer.tick(timedelta(minutes=1))
        if number == 0:
            for entity_id, state in (("light.bed_light", "on"), ("sensor.attic_climate_temperature", "17.1")):
                if before := hass.states.get(entity_id):
                    hass.states.async_set(entity_id, state, before.attributes)
    messages = llm_server.request.body["messages"]
    home, _, told = messages[0]["content"].partition("## Home\n\n")[2].partition("\n\n## States\n\n")
    stable = [home, told] if told else [home]
    return [*stable, *(message["content"] for message in messages if message["role"] == "user")]


@pytest.fixture
def evening(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> FrozenDateTimeFactory:
    """Return the clock, on a Friday evening at the house."""
    freezer.move_to("2026-11-21 03:30:00+00:00")
    return freezer


@pytest.mark.usefixtures("house")
async def test_a_small_home(hass: HomeAssistant, llm_server: LLMServer, evening: FrozenDateTimeFactory) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    shown = await sent(hass, llm_server, evening, ["Is the front door locked?", "And what about the lights?"])
    assert pictures("A small home") == shown


@pytest.mark.parametrize(
    ("context_format", "heading"), [("natural_language", "As sentences"), ("hybrid", "As JSON with notes")]
)
@pytest.mark.usefixtures("house")
async def test_other_formats(
    hass: HomeAssistant, llm_server: LLMServer, evening: FrozenDateTimeFactory, context_format: str, heading: str
) -> None:
    await build_house(hass)
    await set_up(hass, llm_server, profile={"context_format": context_format})
    shown = await sent(hass, llm_server, evening, ["Is the front door locked?"])
    assert pictures(heading) == shown[1:]


@pytest.mark.usefixtures("house")
async def test_a_large_home(hass: HomeAssistant, llm_server: LLMServer, evening: FrozenDateTimeFactory) -> None:
    assert await async_setup_component(hass, "conversation", {})
    House(hass, 360).build()
    entry = await set_up(hass, llm_server, profile={"context_mode": "retrieved", "context_max_entities": 1})
    await entry.runtime_data.finder.async_reindex()
    words = ["Is it cold in the attic?", "Open the blind in the garden"]
    shown = await sent(hass, llm_server, evening, words)
    assert pictures("A large home") == shown
