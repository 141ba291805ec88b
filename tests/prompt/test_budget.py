"""The window is shared out: what one part does not need is for the next, and all of it together fits."""

from collections.abc import Callable
import json
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.client.messages import raw_estimate
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from tests.house import say, set_up
from tests.llm_server import LLMServer, text

ANSWER = 1024  # tokens that are kept for the answer of a window from 4,096 on
OFTEN = {"throttle_turns": 600}
KINDS = ("light", "switch", "sensor", "cover")
LONG = "The lamp in the corner by the window is on, and so is the one above the table. " * 6

type Furnish = Callable[[int], None]


@pytest.fixture
def furnish(hass: HomeAssistant, house: None) -> Furnish:
    """Return how to show so many entities in twelve areas, each of which takes 18 tokens in the home map."""

    def furnish(count: int) -> None:
        for number in range(count):
            entry = er.async_get(hass).async_get_or_create(
                KINDS[number % 4],
                "test",
                f"{number}",
                suggested_object_id=f"ground_floor_{number}",
                original_name=f"Tall reading lamp {number} beside the window",
            )
            area = ar.async_get(hass).async_get_or_create(f"Room {number % 12}")
            er.async_get(hass).async_update_entity(entry.entity_id, area_id=area.id)
            hass.states.async_set(entry.entity_id, "on", {})
            async_expose_entity(hass, ASSISTANT, entry.entity_id, True)

    return furnish


def tokens(server: LLMServer) -> int:
    """Return how many tokens the last request has, as the server counts them."""
    return len(server.request.raw) // 4


def home_map(server: LLMServer) -> str:
    system: str = server.request.body["messages"][0]["content"]
    return system.partition("## Home\n\n")[2]


async def test_150_entities_fit_a_window_of_8192(hass: HomeAssistant, llm_server: LLMServer, furnish: Furnish) -> None:
    furnish(150)
    await set_up(hass, llm_server, llm={"context_window": 8192})
    heard = async_capture_events(hass, events.CONTEXT_OPTIMIZED)
    llm_server.plan(text("It is on."))
    await say(hass, "Is reading lamp 7 on?")
    areas = [json.loads(line) for line in home_map(llm_server).partition("\n\n")[0].splitlines()]
    named = [(name, state) for area in areas for name, state in area["states"].items()]
    assert all(" = Tall reading lamp" in name and state == "on" for name, state in named)
    assert {name.partition(" = ")[0] for name, _ in named} == {f"{KINDS[n % 4]}.ground_floor_{n}" for n in range(150)}
    assert heard == []  # nothing was left out
    assert tokens(llm_server) <= 8192 - ANSWER


@pytest.mark.parametrize("mode", ["auto", "direct", "retrieved", "both"])
@pytest.mark.parametrize("window", [4096, 8192])
@pytest.mark.parametrize("count", [150, 400])
async def test_it_fits_is_stable_and_nothing_goes_while_there_is_room(
    hass: HomeAssistant, llm_server: LLMServer, furnish: Furnish, mode: str, window: int, count: int
) -> None:
    furnish(count)
    profile = {"context_mode": mode, "history_max_messages": 50}
    await set_up(hass, llm_server, profile=profile, llm={"context_window": window}, options=OFTEN)
    heard: list[Any] = async_capture_events(hass, events.CONTEXT_OPTIMIZED)
    room = window - ANSWER
    llm_server.respond(lambda _body: text(LONG))
    said, systems, free = None, set(), room
    for number in range(8):
        heard.clear()
        before = free
        question = f"What about reading lamp {number * 3}? " + (
            "Think of the window as well. " * 40 if number == 5 else ""
        )
        said = (await say(hass, question, said)).conversation_id
        systems.add(llm_server.request.body["messages"][0]["content"])
        free = room - tokens(llm_server)
        assert free >= 0
        lost = heard[0].data["rounds_dropped"] if heard else 0
        if lost:  # there was no room for one more round
            assert before < raw_estimate(LONG.encode()) + raw_estimate(question.encode()) + window // 5
        for entity in range(0, count, 7):  # what changes in between is told, and may push rounds out
            hass.states.async_set(f"{KINDS[entity % 4]}.ground_floor_{entity}", f"{number}")
    await say(hass, "Is it cold outside?")
    systems.add(llm_server.request.body["messages"][0]["content"])
    assert len(systems) == 1
    named = "ground_floor_1 " in systems.pop()
    if mode in ("direct", "both"):  # 18 tokens each: named as long as the others have what they are sure of
        assert named is (count * 18 < (room - 1600) * 0.6)


async def test_states_push_out_what_was_said(hass: HomeAssistant, llm_server: LLMServer, furnish: Furnish) -> None:
    furnish(90)
    await set_up(hass, llm_server, profile={"context_mode": "direct"}, llm={"context_window": 6144}, options=OFTEN)
    llm_server.respond(lambda _body: text(LONG))
    said = (await say(hass, "What about reading lamp 1?")).conversation_id
    for _ in range(8):
        await say(hass, "And the next one?", said)
    for number in range(90):
        hass.states.async_set(f"{KINDS[number % 4]}.ground_floor_{number}", "unavailable")
    await say(hass, "And now?", said)
    for number in range(90):
        assert f'"{KINDS[number % 4]}.ground_floor_{number}":"unavailable"' in llm_server.request.last_user
    assert tokens(llm_server) <= 6144 - ANSWER
    assert len(llm_server.request.body["messages"]) < 20


async def test_history_tokens_obey_the_setting(hass: HomeAssistant, llm_server: LLMServer, furnish: Furnish) -> None:
    furnish(10)
    profile = {"history_max_tokens": 2600, "history_max_messages": 50}
    await set_up(hass, llm_server, profile=profile, llm={"context_window": 8192}, options=OFTEN)
    llm_server.respond(lambda _body: text(LONG))
    heard: list[Any] = async_capture_events(hass, events.CONTEXT_OPTIMIZED)
    said, rounds = None, 0
    while not any(event.data["rounds_dropped"] for event in heard):
        said = (await say(hass, "And the next one?", said)).conversation_id
        rounds += 1
    per_round = raw_estimate(LONG.encode()) + raw_estimate(b"And the next one?")
    assert 2600 - per_round < (rounds - 2) * per_round <= 2600 + 2 * per_round
