"""One action has many names: what an owner never allows or always asks about holds for all of them."""

from typing import Any
from unittest.mock import patch

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import AUTOMATIONS, GARAGE, SCENES, SCRIPTS, Witness

LAMP = "light.bed_light"
BLIND = "cover.kitchen_window"


def _step(action: str, entity_id: str, **data: Any) -> list[dict[str, Any]]:
    return [{"action": action, "target": {"entity_id": entity_id}, **({"data": data} if data else {})}]


INSIDE: dict[str, list[dict[str, Any]]] = {
    "on": _step("light.turn_on", LAMP),
    "toggled": _step("light.toggle", LAMP),
    "of all domains": _step("homeassistant.turn_on", LAMP),
    "toggled of all domains": _step("homeassistant.toggle", LAMP),
    "by a device action": [{"domain": "light", "type": "turn_on", "device_id": "DEVICE", "entity_id": LAMP}],
    "by a scene": [{"scene": "scene.bright"}],
    "by a scene that is made": [{"action": "scene.apply", "data": {"entities": {LAMP: "on"}}}],
    "by an effect": _step("lifx.effect_pulse", LAMP),
    "in a group": _step("homeassistant.turn_on", "group.lamps"),
    "by a script": [{"action": "script.bright"}],
}
"""What turns the lamp on in a script."""
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "on": ("ha_control", {"action": "turn_on", "entity_id": LAMP}),
    "toggle": ("ha_control", {"action": "toggle", "entity_id": LAMP}),
    "brightness": ("ha_control", {"action": "set_value", "entity_id": LAMP, "parameters": {"brightness_pct": 40}}),
    "a group": ("ha_control", {"action": "turn_on", "entity_id": "group.lamps"}),
    "a scene": ("ha_control", {"action": "turn_on", "entity_id": "scene.bright"}),
    "an intent": ("intent__HassTurnOn", {"name": "Bed Light", "domain": ["light"]}),
    "an intent that sets": ("light__HassLightSet", {"name": "Bed Light", "brightness": 40}),
}
WORDS = [
    "turn on bed light",
    "toggle bed light",
    "set bed light brightness to 40%",
    "activate bright scene",
    "turn on lamps",
]


@pytest.fixture(autouse=True)
async def owned(hass: HomeAssistant, witness: Witness) -> None:
    """What an owner wrote to turn the lamp on, exposed."""
    scripts = {name.replace(" ", "_"): {"alias": f"S {name}", "sequence": steps} for name, steps in INSIDE.items()}
    scripts["bright"] = {"alias": "Bright", "sequence": INSIDE["on"]}
    del scripts["by_a_device_action"]
    hass.services.async_register("lifx", "effect_pulse", lambda _call: hass.states.async_set(LAMP, "on"))
    config = {
        "script": {**SCRIPTS, **scripts},
        "scene": [*SCENES, {"name": "Bright", "entities": {LAMP: "on"}}],
        "automation": [*AUTOMATIONS, {"id": "b", "alias": "B", "triggers": [], "actions": INSIDE["on"]}],
    }
    with patch("homeassistant.config.load_yaml_config_file", return_value=config):
        for domain in config:
            await hass.services.async_call(domain, "reload", {}, blocking=True)
    await hass.services.async_call("group", "set", {"object_id": "lamps", "entities": [LAMP]}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    for entity_id in ("group.lamps", "scene.bright", "automation.b", *(f"script.{name}" for name in scripts)):
        assert hass.states.get(entity_id) is not None, entity_id
        async_expose_entity(hass, ASSISTANT, entity_id, True)


@pytest.mark.parametrize("rule", ["light.turn_on", "homeassistant.turn_on"])
@pytest.mark.parametrize("name", [name for name in INSIDE if name != "by a device action"])
async def test_never_by_a_script(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, rule: str
) -> None:
    await start(options={"never_offer": [rule], "never_confirm": ["script"]}, model=False)
    await _unmoved(hass, witness, alice, f"run s {name} script")


@pytest.mark.parametrize("rule", ["light.turn_on", "homeassistant.turn_on"])
@pytest.mark.parametrize("name", CALLS)
async def test_never_by_a_model(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, rule: str
) -> None:
    await start(options={"never_offer": [rule], "never_confirm": ["light"]}, profile={"llm_apis": ["assist"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call(*CALLS[name]))
    await _unmoved(hass, witness, alice, "light please")


@pytest.mark.parametrize("words", WORDS)
async def test_never_by_words(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, words: str) -> None:
    await start(options={"never_offer": ["light.turn_on"]}, model=False)
    await _unmoved(hass, witness, alice, words)


async def _unmoved(hass: HomeAssistant, witness: Witness, alice: Context, words: str) -> None:
    """Say it, and yes; the lamp stays off."""
    witness.before[LAMP] = "off"
    witness.entry = None  # what is permitted elsewhere is turned on here, too
    said = await say(hass, words, context=alice)
    await say(hass, "yes", said.conversation_id, context=alice)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(LAMP).state == "off"  # type: ignore[union-attr]


@pytest.mark.parametrize(("rule", "tool", "arguments"), [
    ("script.turn_on", "script__harmless", {}),
    ("script.turn_on", "ha_control", {"action": "turn_on", "entity_id": "script.harmless"}),
    ("script.turn_on", "ha_control", {"action": "toggle", "entity_id": "script.harmless"}),
    ("homeassistant.turn_on", "script__harmless", {}),
    ("script.harmless", "ha_control", {"action": "turn_on", "entity_id": "script.harmless"}),
    ("script__harmless", "ha_control", {"action": "turn_on", "entity_id": "script.harmless"}),
    ("script.turn_on", "direct", {}),
    ("script.turn_on", "ha_control", {"action": "turn_on", "entity_id": "script.nested"}),
    ("automation.trigger", "ha_control", {"action": "trigger", "entity_id": "automation.morning"}),
])  # fmt: skip
async def test_never_run(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    rule: str,
    tool: str,
    arguments: dict[str, Any],
) -> None:
    nested = {"alias": "Nested", "sequence": [{"action": "script.harmless"}]}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"script": {**SCRIPTS, "nested": nested}}):
        await hass.services.async_call("script", "reload", {}, blocking=True)
    async_expose_entity(hass, ASSISTANT, "script.nested", True)
    yaml = None
    if tool == "direct":
        handler = {"type": "service", "service": "script.harmless"}
        yaml = {"custom_tools": [{"name": "direct", "description": "Runs.", "handler": handler}]}
    await start(yaml=yaml, options={"never_offer": [rule]}, profile={"llm_apis": ["assist"]})
    witness.server.respond(lambda body: text("I cannot do that."))
    witness.server.plan(tool_call(tool, arguments))
    said = await say(hass, "run it", context=alice)
    await say(hass, "yes", said.conversation_id, context=alice)
    witness.entry = None if rule == "homeassistant.turn_on" else witness.entry
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not any(event.event_type == "harmless_ran" for event in witness.events)


async def test_never_by_a_sentence_of_an_automation(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    said = {"trigger": "conversation", "command": "open sesame"}
    harmless = {"id": "said", "alias": "Said", "triggers": [said], "actions": [{"event": "harmless_ran"}]}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"automation": [harmless]}):
        await hass.services.async_call("automation", "reload", {}, blocking=True)
    await start(model=False, options={"never_offer": ["automation.trigger"]})
    await say(hass, "open sesame", context=alice)
    assert not any(event.event_type == "harmless_ran" for event in witness.events)


@pytest.mark.parametrize(("rule", "action", "parameters"), [
    ("cover.open_cover", "turn_on", {}), ("cover.open_cover", "toggle", {}),
    ("cover.open_cover", "set_value", {"position": 40}), ("cover.open_cover", "set_value", {"position": 100}),
])  # fmt: skip
async def test_never_opened(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    alice: Context,
    rule: str,
    action: str,
    parameters: dict[str, Any],
) -> None:
    hass.states.async_set("cover.attic_window", "closed", {"supported_features": 15, "current_position": 0})
    async_expose_entity(hass, ASSISTANT, "cover.attic_window", True)
    await start(options={"never_offer": [rule]})
    witness.before["cover.attic_window"] = "closed"
    witness.server.respond(lambda body: text("I cannot do that."))
    call = {"action": action, "entity_id": "cover.attic_window", "parameters": parameters}
    witness.server.plan(tool_call("ha_control", call))
    await say(hass, "open it", context=alice)


async def test_turning_off_is_another_action(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": LAMP}, blocking=True)
    await start(options={"never_offer": ["light.turn_on"]}, model=False)
    await say(hass, "toggle bed light", context=alice)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert hass.states.get(LAMP).state == "off"  # type: ignore[union-attr]


@pytest.mark.parametrize("state", ["open", "opening", "closing"])
@pytest.mark.parametrize("by", ["toggle the garage", "open the garage", "set garage position to 90%"])
async def test_a_garage_that_is_ajar(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, state: str, by: str
) -> None:
    attributes = {**hass.states.get(GARAGE).attributes, "current_position": 20, "supported_features": 15}  # type: ignore[union-attr]
    hass.states.async_set(GARAGE, state, attributes)
    await start(model=False)
    for who in (alice, Context()):
        await say(hass, by, context=who)
    assert not any(
        event.event_type == "call_service" and event.data["service_data"].get("entity_id") == [GARAGE]
        for event in witness.events
    )


async def test_somebody_may_always_say_stop(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    attributes = {**hass.states.get(GARAGE).attributes, "supported_features": 15}  # type: ignore[union-attr]
    hass.states.async_set(GARAGE, "closing", attributes)
    await start(model=False)
    witness.may_move.add(GARAGE)
    assert not speech(await say(hass, "stop the garage", context=alice)).endswith("?")
    calls = [event for event in witness.events if event.event_type == "call_service"]
    assert "stop_cover" in {event.data["service"] for event in calls}
