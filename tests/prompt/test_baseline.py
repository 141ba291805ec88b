"""States that stand in the stable part: the same bytes everywhere, and nothing that is told as present is ever untrue."""

import itertools
import json
import random
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.home.states import describe
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, set_up
from tests.llm_server import LLMServer, text
from tests.prompt.test_modes import baseline

from .conftest import system

pytestmark = pytest.mark.usefixtures("demo_house")

LONG = {"history_max_messages": 50, "history_max_tokens": 20_000}
MEASURED = {"unit_of_measurement": "W", "state_class": "measurement", "device_class": "power"}
ASKED = (
    "hello", "Is the bed light on?", "How much power does the kitchen meter take?", "Turn the ceiling lights on", "Thank you",
    "Is the front door locked?", "Is the kitchen window open?", "What is on in the bedroom?", "and the kitchen lights?",
)  # fmt: skip


@pytest.fixture
def home(hass: HomeAssistant) -> None:
    """Add a meter, and a lamp whose brightness changes."""
    hass.states.async_set("sensor.kitchen_meter_power", "118", {"friendly_name": "Kitchen meter power", **MEASURED})
    async_expose_entity(hass, ASSISTANT, "sensor.kitchen_meter_power", True)


def told(messages: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the states of each turn part, those of the newest message last."""
    return [
        json.loads(piece).get("states", {})
        for message in messages
        if message["role"] == "user"
        for piece in message["content"].split("<house>")[1:]
        for piece in [piece.partition("</house>")[0]]
    ]


async def test_the_stable_part_is_always_the_same(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server, profile=LONG)
    llm_server.respond(lambda _body: text("ok"))
    for number in range(3):
        conversation_id = None
        for words in ASKED[:3]:
            conversation_id = (await say(hass, words, conversation_id)).conversation_id
            hass.states.async_set("switch.decorative_lights", "on" if number % 2 else "off")
            hass.states.async_set("sensor.kitchen_meter_power", str(number * 7), MEASURED)
    assert len({system(llm_server, number) for number in range(9)}) == 1
    assert baseline(llm_server)["switch.decorative_lights"] == "on"
    assert "sensor.kitchen_meter_power" not in baseline(llm_server)


async def test_changes_are_told_and_drift_is_not(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "hello")
    hass.states.async_set("lock.front_door", "unlocked")
    hass.states.async_set("light.ceiling_lights", "on", {"brightness": 40})
    hass.states.async_set("sensor.kitchen_meter_power", "7", MEASURED)
    await say(hass, "hello")
    assert told(llm_server.request.body["messages"]) == [{"lock.front_door": "unlocked"}]


async def test_a_question_gets_the_present_state(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "Is the front door locked?")
    assert told(llm_server.request.body["messages"]) == [{"lock.front_door": "locked"}]
    hass.states.async_set("light.ceiling_lights", "on", {"brightness": 128})
    await say(hass, "How bright are the ceiling lights?")
    assert told(llm_server.request.body["messages"])[0]["light.ceiling_lights"] == "on brightness=50%"
    await say(hass, "How much power does the kitchen meter take?")
    assert told(llm_server.request.body["messages"])[0]["sensor.kitchen_meter_power"] == "118 W"


async def test_a_command_is_told_of_what_changed_alone(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "Unlock the front door")
    assert told(llm_server.request.body["messages"]) == [{}]
    await say(hass, "Is the front door unlocked")
    assert told(llm_server.request.body["messages"]) == [{"lock.front_door": "locked"}]
    hass.states.async_set("lock.front_door", "unlocked")
    await say(hass, "Unlock the front door")
    assert told(llm_server.request.body["messages"]) == [{"lock.front_door": "unlocked"}]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["direct", "both", "retrieved"])
async def test_nothing_that_is_told_as_present_is_untrue(
    hass: HomeAssistant, llm_server: LLMServer, home: None, seed: int, mode: str
) -> None:
    """States change at random between and within conversations; each request is held against the home as it is then."""
    chance = random.Random(f"{seed}{mode}")
    entry = await set_up(hass, llm_server, profile=LONG | {"context_mode": mode})
    await entry.runtime_data.finder.async_reindex()
    entity_ids = [
        "light.bed_light", "light.ceiling_lights", "light.kitchen_lights", "switch.decorative_lights", "lock.front_door",
        "cover.kitchen_window", "sensor.kitchen_meter_power",
    ]  # fmt: skip
    values: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
        "light": (("on", {"brightness": 255}), ("on", {"brightness": 20}), ("off", {}), ("unavailable", {})),
        "switch": (("on", {}), ("off", {})),
        "lock": (("locked", {}), ("unlocked", {}), ("jammed", {})),
        "cover": (("open", {"current_position": 70}), ("open", {"current_position": 30}), ("closed", {"current_position": 0})),
        "sensor": tuple((str(number), MEASURED) for number in range(9)),
    }  # fmt: skip
    untrue: list[str] = []

    def look(body: dict[str, Any]) -> Any:
        known: dict[str, str] = {}
        for one in told(body["messages"]):
            known |= one
        for entity_id, words in known.items():
            state = hass.states.get(entity_id)
            assert state is not None
            if words not in (describe(state), describe(state, detailed=False)):
                untrue.append(f"{entity_id} is {describe(state)}, told as {words}")
        for entity_id, words in baseline(llm_server).items():
            state = hass.states.get(entity_id)
            assert state is not None
            if entity_id not in known and words.partition(" ")[0] != state.state:
                untrue.append(f"{entity_id} is {state.state}, left as {words}")
        return text("ok")

    llm_server.respond(look)
    for _conversation in range(4):
        conversation_id = None
        for _turn in range(chance.randint(1, 4)):
            for entity_id in chance.sample(entity_ids, chance.randint(0, 4)):
                state, attributes = chance.choice(values[entity_id.partition(".")[0]])
                hass.states.async_set(entity_id, state, attributes)
            result = await say(hass, chance.choice(ASKED), conversation_id)
            conversation_id = result.conversation_id
    assert untrue == []
    bodies = [request.body["messages"] for request in llm_server.requests]
    for before, after in itertools.pairwise(bodies):
        assert len(after) == 2 or after[: len(before)] == before


async def test_nobody_is_sent_the_states_of_another(
    hass: HomeAssistant, llm_server: LLMServer, home: None, hass_read_only_user: MockUser, hass_admin_user: MockUser
) -> None:
    hass_read_only_user.mock_policy({"entities": {"entity_ids": {"light.bed_light": {"read": True}}}})
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("ok"))
    for user in (hass_admin_user, hass_read_only_user, hass_admin_user, hass_read_only_user):
        await say(hass, "Is the front door locked?", context=Context(user_id=user.id))
    everything, little = (set(baseline(llm_server, number)) for number in (0, 1))
    assert little == {"light.bed_light"}
    assert "lock.front_door" in everything
    assert set(baseline(llm_server, 2)) == everything
    assert "front_door" not in llm_server.requests[1].raw.decode() + llm_server.requests[3].raw.decode()


async def test_the_hidden_leaves_the_stable_part(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("ok"))
    conversation_id = (await say(hass, "hello")).conversation_id
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    await say(hass, "hello", conversation_id)
    assert "front_door" not in llm_server.request.raw.decode()


async def test_a_list_of_one_request_is_told_with_it(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: text("ok"))
    data = {"text": "hello", "context_entities": ["lock.front_door"]}
    await hass.services.async_call("home_agent", "process", data, blocking=True, return_response=True)
    assert baseline(llm_server) == {}
    assert told(llm_server.request.body["messages"]) == [{"lock.front_door": "locked"}]


async def test_states_in_other_formats(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    await set_up(hass, llm_server, profile={"context_format": "natural_language"})
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "hello")
    assert "\nBed Light in Bedroom (light.bed_light) is off.\n" in system(llm_server)


async def test_states_are_masked_for_a_remote_model(hass: HomeAssistant, llm_server: LLMServer, home: None) -> None:
    hass.states.async_set("switch.decorative_lights", "call 0171 2345678")
    await set_up(hass, llm_server, llm={"remote": True})
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "hello")
    assert "2345678" not in llm_server.request.raw.decode()
    assert "switch.decorative_lights" in baseline(llm_server)
