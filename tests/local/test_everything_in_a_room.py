"""“Everything in the larder” is the same things in each sentence, whether the local brain understood it or a model."""

from homeassistant.core import HomeAssistant, ServiceCall
import pytest

from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call
from tests.prompt.conftest import AddEntity

IS_ON = {
    "climate": "heat", "cover": "open", "fan": "on", "humidifier": "on", "input_boolean": "on", "lawn_mower": "mowing",
    "light": "on", "lock": "unlocked", "media_player": "playing", "remote": "on", "siren": "on", "switch": "on",
    "vacuum": "cleaning", "valve": "open", "water_heater": "eco",
}  # fmt: skip
FEATURES = {"climate": 384, "fan": 48, "media_player": 384, "siren": 3, "water_heater": 8}
"""Supported features with which they can be turned on and off."""
EVERYTHING = {"fan", "humidifier", "light", "media_player", "switch"}


@pytest.fixture
def turned_off(hass: HomeAssistant, demo_house: None, add_entity: AddEntity) -> set[str]:
    """Fill a room with a thing of each domain, all on; return the domains of what is turned off from now on."""
    domains: set[str] = set()

    async def turn_off(call: ServiceCall) -> None:
        named = call.data["entity_id"]
        for entity_id in [named] if isinstance(named, str) else named:
            domains.add(entity_id.partition(".")[0])
            hass.states.async_set(entity_id, "off")

    for domain, state in IS_ON.items():
        features = FEATURES.get(domain, 0)
        add_entity(f"{domain}.larder", state, name=f"A {domain}", area="Larder", supported_features=features)
        hass.services.async_register(domain, "turn_off", turn_off)
    return domains


@pytest.mark.parametrize(("language", "sentence"), [
    ("en", "turn off everything in the larder"), ("en", "turn everything off in the larder"),
    ("en", "everything off in the larder"), ("en", "switch off everything in the larder"),
    ("de", "Schalte alles in Larder aus"),
])  # fmt: skip
async def test_a_sentence_turns_it_off(hass: HomeAssistant, turned_off: set[str], language: str, sentence: str) -> None:
    await set_up(hass)
    await say(hass, sentence, language=language)
    assert turned_off == EVERYTHING


@pytest.mark.parametrize("target", ["Larder", "*larder*"])
async def test_a_model_turns_off(hass: HomeAssistant, turned_off: set[str], llm_server: LLMServer, target: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": [target]}), text("Done."))
    await say(hass, "make it all go quiet over there")
    assert turned_off == EVERYTHING


@pytest.mark.parametrize(
    "question", ["is everything off in the larder?", "is anything on in the larder?", "what is on in the larder?"]
)
async def test_a_question_about_everything_in_a_room(hass: HomeAssistant, turned_off: set[str], question: str) -> None:
    await set_up(hass)
    asked = speech(await say(hass, question))
    told = [f"A {domain}" for domain in sorted(EVERYTHING)]
    assert f"{', '.join(told[:3])} and {len(told) - 3} more" in asked
    assert not turned_off
