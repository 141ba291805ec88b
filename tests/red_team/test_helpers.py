"""A helper on which an automation of the owner's waits, and that opens, unlocks or disarms: changing it is asked about like that.

What automations do besides, and helpers that no such automation waits for, ask nothing.
"""

from typing import Any
from unittest.mock import patch

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.home.heard_changes import MAX_FOLLOWED
from custom_components.home_agent.policy.confirmation import NOBODY
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import ALARM, AUTOMATIONS, DOOR, GARAGE, SCRIPTS, Witness, answers

UNLOCK = {"action": "lock.unlock", "target": {"entity_id": DOOR}}
DISARM = {"action": "alarm_control_panel.alarm_disarm", "target": {"entity_id": ALARM}}
OPEN = {"action": "cover.open_cover", "target": {"entity_id": GARAGE}}
NOTED = {"action": "counter.increment", "target": {"entity_id": "counter.claps"}}
HELPERS: dict[str, dict[str, Any]] = {
    "input_boolean": {"guests": {"name": "Guests"}, "step": {"name": "Step"}, "party": {"name": "Party"}},
    "input_button": {"bell": {"name": "Bell"}},
    "input_select": {"mood": {"name": "Mood", "options": ["Home", "Guests", "Away"]}},
    "input_number": {"level": {"name": "Level", "min": 0, "max": 10}},
    "input_text": {"note": {"name": "Note"}},
    "counter": {"claps": {"name": "Claps"}},
    "timer": {"tea": {"name": "Tea", "duration": "00:10:00"}},
}
GUESTS, BELL, MOOD = "input_boolean.guests", "input_button.bell", "input_select.mood"
LEVEL, NOTE, CLAPS, TEA = "input_number.level", "input_text.note", "counter.claps", "timer.tea"


def state(entity_id: str | list[str], **more: Any) -> dict[str, Any]:
    return {"trigger": "state", "entity_id": entity_id, **more}


NEVER = {"trigger": "event", "event_type": "never"}
IS_ON = {"condition": "state", "entity_id": GUESTS, "state": "on"}
LIGHT = {"action": "light.turn_on", "target": {"entity_id": "light.bed_light"}}
type Case = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
ON = {"action": "turn_on", "entity_id": GUESTS}


def to(action: str, entity_id: str, **parameters: Any) -> dict[str, Any]:
    return {"action": action, "entity_id": entity_id, "parameters": parameters}


OPENING: dict[str, Case] = {
    "a switch": (state(GUESTS, to="on"), UNLOCK, ON),
    "a switch, any change": (state(GUESTS), UNLOCK, {**ON, "action": "turn_off"}),
    "a switch, off": (state([GUESTS, NOTE], to=["off"]), DISARM, {**ON, "action": "turn_off"}),
    "a switch, toggled": (state(GUESTS, to="on"), OPEN, {**ON, "action": "toggle"}),
    "a switch, after a while": (state(GUESTS, to="on", **{"for": "00:01:00"}), OPEN, ON),
    "a switch, from a state": (state(GUESTS, **{"from": "off"}), OPEN, ON),
    "a template": ({"trigger": "template", "value_template": "{{ is_state('input_boolean.guests', 'on') }}"}, UNLOCK, ON),
    "a change of state as an event": (
        {"trigger": "event", "event_type": "state_changed", "event_data": {"entity_id": GUESTS}}, UNLOCK, ON,
    ),
    "triggers in a list": ({"triggers": [state(NOTE), state(GUESTS, to="on")]}, UNLOCK, ON),
    "a branch": (
        state(GUESTS, to="on"),
        {"choose": [{"conditions": [{"condition": "sun", "after": "sunset"}], "sequence": [DISARM]}]},
        ON,
    ),
    "a script that it starts": (state(GUESTS, to="on"), {"action": "script.let_in"}, ON),
    "another helper": (
        state(GUESTS, to="on"), {"action": "input_boolean.turn_on", "target": {"entity_id": "input_boolean.step"}}, ON,
    ),
    "a button": (state(BELL), UNLOCK, {"action": "press", "entity_id": BELL}),
    "a choice": (state(MOOD, to="Guests"), DISARM, to("select_option", MOOD, option="Guests")),
    "the next choice": (state(MOOD, to="Guests"), DISARM, {"action": "select_next", "entity_id": MOOD}),
    "a number": ({"trigger": "numeric_state", "entity_id": LEVEL, "above": 4}, OPEN, to("set_value", LEVEL, value=5)),
    "a text": (state(NOTE, to="open"), OPEN, to("set_value", NOTE, value="open")),
    "a counter": ({"trigger": "numeric_state", "entity_id": CLAPS, "above": 2}, UNLOCK, {"action": "increment", "entity_id": CLAPS}),
    "a timer that ends": (
        {"trigger": "event", "event_type": "timer.finished", "event_data": {"entity_id": TEA}}, UNLOCK,
        {"action": "start", "entity_id": TEA},
    ),
    "a timer that is ended": ({"trigger": "event", "event_type": "timer.finished"}, UNLOCK, {"action": "finish", "entity_id": TEA}),
    "a timer that is canceled": (state(TEA, to="idle"), UNLOCK, {"action": "cancel", "entity_id": TEA}),
    "a script that sets a helper": (state(GUESTS, to="on"), UNLOCK, {"action": "turn_on", "entity_id": "script.set_it"}),
    "a wait for it": (NEVER, {"sequence": [{"wait_for_trigger": [state(GUESTS, to="on")]}, UNLOCK]}, ON),
    "a wait in a branch": (
        NEVER, {"if": [IS_ON], "then": [{"parallel": [{"sequence": [{"wait_for_trigger": [state(GUESTS)]}, UNLOCK]}]}]}, ON,
    ),
    "a wait for a template": (NEVER, {"sequence": [{"wait_template": "{{ is_state('input_boolean.guests', 'on') }}"}, UNLOCK]}, ON),
    "a repeat until it": (NEVER, {"sequence": [{"repeat": {"until": [IS_ON], "sequence": [{"delay": 5}]}}, UNLOCK]}, ON),
    "a script that waits": (NEVER, LIGHT, to("set_value", NOTE, value="knock")),
    "a script that presses": (state(BELL), UNLOCK, {"action": "turn_on", "entity_id": "script.press_it"}),
}  # fmt: skip
EVERYDAY: dict[str, Case] = {
    "a light": (state(GUESTS, to="on"), LIGHT, ON),
    "a message": (state(GUESTS, to="on"), {"action": "persistent_notification.create", "data": {"message": "Hi"}}, ON),
    "a program": (state(GUESTS, to="on"), {"action": "homeassistant.restart"}, {**ON, "action": "turn_off"}),
    "the other direction": (state(GUESTS, to="off"), UNLOCK, ON),
    "another helper": (state("input_boolean.party", to="on"), UNLOCK, ON),
    "another choice": (state(MOOD, to="Guests"), DISARM, to("select_option", MOOD, option="Away")),
    "a smaller number": ({"trigger": "numeric_state", "entity_id": LEVEL, "above": 4}, OPEN, to("set_value", LEVEL, value=3)),
    "another text": (state(NOTE, to="open"), OPEN, to("set_value", NOTE, value="milk")),
    "a disabled trigger": (state(GUESTS, to="on", enabled=False), UNLOCK, ON),
    "a disabled wait": (NEVER, {"sequence": [{"wait_for_trigger": [state(GUESTS)], "enabled": False}, UNLOCK]}, ON),
    "a wait for another state": (NEVER, {"sequence": [{"wait_for_trigger": [state(GUESTS, to="off")]}, UNLOCK]}, ON),
    "a light that an automation watches": (state("light.bed_light", to="off"), UNLOCK, {"action": "turn_on", "entity_id": "light.bed_light"}),
}  # fmt: skip


async def _wait(hass: HomeAssistant, trigger: dict[str, Any], action: dict[str, Any], before: int = 0) -> None:
    """Add the helpers, exposed, and an automation that waits for one of them, behind others that do nothing of note."""
    for domain, configured in HELPERS.items():
        assert await async_setup_component(hass, domain, {domain: configured})
    steps = {
        "set_it": [{"action": "input_boolean.turn_on", "target": {"entity_id": GUESTS}}],
        "press_it": [{"action": "input_button.press", "target": {"entity_id": BELL}}],
        "let_in": [UNLOCK],
        "lingers": [{"wait_for_trigger": [state(NOTE, to="knock")]}, UNLOCK],
    }
    waiting = [
        *({"alias": f"Note {number}", "triggers": [trigger], "actions": [NOTED]} for number in range(before)),
        {"id": "waiting", "alias": "Waiting", "triggers": [trigger], "actions": [action]},
        {"id": "step", "alias": "Step by step", "triggers": [state("input_boolean.step")], "actions": [OPEN]},
    ]
    config = {
        "script": {**SCRIPTS, **{name: {"alias": name, "sequence": todo} for name, todo in steps.items()}},
        "automation": [*AUTOMATIONS, *waiting],
    }
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for domain in config:
            await hass.services.async_call(domain, "reload", {}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    for entity_id in (
        *(f"{domain}.{name}" for domain, configured in HELPERS.items() for name in configured),
        *(f"script.{name}" for name in steps),
    ):
        assert hass.states.get(entity_id) is not None, entity_id
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    assert hass.states.get("automation.waiting") is not None
    assert hass.states.get("automation.waiting").state == "on"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", OPENING)
async def test_a_helper_that_opens_something_is_asked_about(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    trigger, action, arguments = OPENING[name]
    await _wait(hass, trigger, action)
    await start()
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", arguments))
    assert speech(await say(hass, "guests are coming", context=alice)).endswith("?")
    witness.server.plan(tool_call("ha_control", arguments))
    await say(hass, "guests are coming")
    assert answers(witness.server)[-1]["error"] == NOBODY


async def test_more_automations_than_are_followed_are_asked_about(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    await _wait(hass, state(GUESTS, to="on"), UNLOCK, before=MAX_FOLLOWED)
    await start()
    witness.server.plan(tool_call("ha_control", ON))
    assert speech(await say(hass, "guests are coming", context=alice)).endswith("?")


@pytest.mark.parametrize("said", ["turn on Guests", "run the set_it script", "toggle Guests"])
async def test_in_words(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, said: str) -> None:
    await _wait(hass, state(GUESTS, to="on"), UNLOCK)
    await start(model=False)
    for who in (alice, Context()):
        await say(hass, said, context=who)
    assert hass.states.get(GUESTS).state == "off"  # type: ignore[union-attr]


async def test_what_is_never_allowed_is_not_done_by_a_helper(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    await _wait(hass, state(GUESTS, to="on"), UNLOCK)
    await start(profile={"never_offer": ["lock.unlock"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call("ha_control", ON))
    await say(hass, "guests are coming", context=alice)
    assert answers(witness.server)[-1]["success"] is False


@pytest.mark.parametrize("name", EVERYDAY)
async def test_all_other_helpers_ask_nothing(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str
) -> None:
    trigger, action, arguments = EVERYDAY[name]
    await _wait(hass, trigger, action)
    await start()
    witness.server.respond(lambda body: text("Done."))
    witness.server.plan(tool_call("ha_control", arguments), text("Done."))
    assert not speech(await say(hass, "the usual, please", context=alice)).endswith("?")
    assert answers(witness.server)[-1]["success"] is True
