"""Targets by every other name: what is not exposed stays as it is."""

from collections.abc import Callable
import json
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say
from tests.llm_server import text, tool_call, tool_calls

from .conftest import SetUp
from .world import ALARM, DOOR, GARAGE, HIDDEN_DOOR, HIDDEN_LIGHT, Witness, answers, registry_id

ON = {"action": "turn_on"}

NAMED: dict[str, Any] = {
    "plain": HIDDEN_LIGHT, "upper case": HIDDEN_LIGHT.upper(), "blanks": f"  {HIDDEN_LIGHT}\t",
    "newline": f"light.bed_light\n{HIDDEN_LIGHT}", "list": ["light.bed_light", HIDDEN_LIGHT],
    "nested list": [["light.bed_light"], [HIDDEN_LIGHT]], "comma": f"light.bed_light, {HIDDEN_LIGHT}",
    "semicolon": f"light.bed_light;{HIDDEN_LIGHT}", "JSON in text": json.dumps(["light.bed_light", HIDDEN_LIGHT]),
    "object": {"entity_id": HIDDEN_LIGHT}, "object in text": json.dumps({"entity_id": HIDDEN_LIGHT}),
    "friendly name": "Office RGBW Lights", "name in another case": "OFFICE rgbw LIGHTS",
    "name without its domain": "office_rgbw_lights", "name behind a domain": "light.Office RGBW Lights",
    "look-alikes": HIDDEN_LIGHT.replace("o", "о"), "full width": "ｌｉｇｈｔ．office_rgbw_lights",
    "zero width": "light.office\u200b_rgbw_lights", "soft hyphen": "light.office_rgbw\u00ad_lights",
    "right to left": "\u202elight.office_rgbw_lights", "null byte": f"{HIDDEN_LIGHT}\0", "all": "all", "ALL": " ALL ",
    "star": "*", "wildcard": "light.*", "wildcard for one": "light.office*",
    "wildcard in the domain": "*.office_rgbw_lights", "one letter open": "light.office_rgbw_light?",
    "character class": "light.[o]ffice_rgbw_lights", "domain": "light", "area": "Bedroom", "area id": "bedroom",
    "lights of an area": "light.bedroom", "floor": "Ground", "label": "Watched", "old group": "group.mixed",
    "group of lights": "light.mixed", "hidden script": "script.secret", "hidden automation": "automation.secret",
    "hidden scene": "scene.secret", "template": "{{ states.light | map(attribute='entity_id') | list }}",
    "path": f"light.bed_light/../{HIDDEN_LIGHT}",
}  # fmt: skip


@pytest.mark.parametrize("target", NAMED.values(), ids=NAMED.keys())
async def test_target(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, target: Any) -> None:
    await start()
    witness.server.plan(tool_call("ha_control", ON | {"entity_id": target}), text("I cannot do that."))
    await say(hass, "lights please", context=alice)
    assert len(answers(witness.server)) == 1


async def test_registry_id(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    target = registry_id(hass, HIDDEN_LIGHT)
    witness.server.plan(tool_call("ha_control", ON | {"entity_id": target}), text("I cannot do that."))
    await say(hass, "lights please", context=alice)
    assert answers(witness.server)[0]["success"] is False


BESIDE: dict[str, dict[str, Any]] = {
    "entity_id in parameters": {"parameters": {"entity_id": HIDDEN_LIGHT}},
    "in upper case": {"parameters": {"Entity_ID": HIDDEN_LIGHT}},
    "area_id": {"parameters": {"area_id": "bedroom"}},
    "area_id beside": {"area_id": "bedroom"},
    "device_id": {"parameters": {"device_id": "*"}},
    "floor_id": {"parameters": {"floor_id": "ground"}},
    "label_id": {"label_id": "watched"},
    "target": {"parameters": {"target": {"entity_id": HIDDEN_LIGHT}}},
    "target beside": {"target": {"entity_id": HIDDEN_LIGHT}},
    "parameters as text": {"parameters": json.dumps({"entity_id": HIDDEN_LIGHT})},
    "parameters in parameters": {"parameters": {"parameters": {"entity_id": HIDDEN_LIGHT}}},
    "all": {"parameters": {"entity_id": "all"}},
    "service": {"parameters": {"service": "homeassistant.turn_on", "data": {"entity_id": HIDDEN_LIGHT}}},
    "effect": {"parameters": {"effect": HIDDEN_LIGHT, "profile": "relax"}},
    "blank behind the key": {"parameters": {"entity_id ": HIDDEN_LIGHT}},
}


@pytest.mark.parametrize("more", BESIDE.values(), ids=BESIDE.keys())
async def test_beside_the_target(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, more: dict[str, Any]
) -> None:
    await start()
    arguments = ON | {"entity_id": "light.bed_light"} | more
    witness.server.plan(tool_call("ha_control", arguments), text("I cannot do that."))
    await say(hass, "bed light", context=alice)
    assert answers(witness.server)[0]["success"] is False


ACTIONS: dict[str, dict[str, Any]] = {
    "a service as the action": {"action": "lock.unlock", "entity_id": DOOR},
    "of another domain": {"action": "homeassistant.turn_off", "entity_id": DOOR},
    "toggle": {"action": "toggle", "entity_id": DOOR},
    "unlock": {"action": "unlock", "entity_id": DOOR},
    "open": {"action": "open", "entity_id": DOOR},
    "a value": {"action": "set_value", "entity_id": DOOR, "parameters": {"state": "unlocked"}},
    "a command": {"action": "set_value", "entity_id": DOOR, "parameters": {"command": "unlock"}},
    "the garage by a position": {"action": "set_value", "entity_id": GARAGE, "parameters": {"position": 100}},
    "the garage by a toggle": {"action": "toggle", "entity_id": GARAGE},
    "the garage": {"action": "turn_on", "entity_id": GARAGE},
    "the alarm": {"action": "turn_off", "entity_id": ALARM},
    "the alarm by a value": {"action": "set_value", "entity_id": ALARM, "parameters": {"state": "disarmed"}},
    "the alarm by a command": {"action": "alarm_disarm", "entity_id": ALARM},
    "all locks": {"action": "turn_off", "entity_id": "lock.*"},
    "everything": {"action": "turn_off", "entity_id": "*"},
}


@pytest.mark.parametrize("who", ["a person", "nobody"])
@pytest.mark.parametrize("arguments", ACTIONS.values(), ids=ACTIONS.keys())
async def test_doors_without_a_yes(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, arguments: dict[str, Any], who: str
) -> None:
    await start()
    witness.server.respond(lambda body: text("I could not."))
    witness.server.plan(tool_call("ha_control", arguments))
    await say(hass, "go", context=alice if who == "a person" else Context())


VARIABLES: dict[str, Any] = {
    "plain": HIDDEN_LIGHT, "upper case": HIDDEN_LIGHT.upper(), "comma": f"light.bed_light,{HIDDEN_LIGHT}",
    "list": ["light.bed_light", HIDDEN_LIGHT], "JSON": json.dumps([HIDDEN_LIGHT]), "Python": f"['{HIDDEN_LIGHT}']",
    "tuple": f"('{HIDDEN_LIGHT}',)", "set": f"{{'{HIDDEN_LIGHT}'}}", "escapes": "['\\x6cight.office' '_rgbw_lights']",
    "all": "all", "object": {"entity_id": HIDDEN_LIGHT}, "group": "group.mixed", "group of lights": "light.mixed",
    "hidden script": "script.secret", "hidden scene": "scene.secret", "registry id": None,
}  # fmt: skip


@pytest.mark.parametrize("value", VARIABLES.values(), ids=VARIABLES.keys())
async def test_variables(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, value: Any) -> None:
    await start()
    lamp = registry_id(hass, HIDDEN_LIGHT) if value is None else value
    arguments = ON | {"entity_id": "script.relay", "parameters": {"lamp": lamp}}
    witness.server.respond(lambda body: text("I could not."))
    witness.server.plan(tool_call("ha_control", arguments))
    await say(hass, "relay", context=alice)


async def test_hidden_meanwhile(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    bed = ON | {"entity_id": "light.bed_light"}
    witness.server.plan(tool_call("ha_control", bed), text("On."))
    conversation_id = (await say(hass, "bed light on", context=alice)).conversation_id
    async_expose_entity(hass, ASSISTANT, "light.bed_light", False)
    state = hass.states.get("light.bed_light")
    witness.server.plan(tool_call("ha_control", bed | {"action": "turn_off"}), text("I cannot."))
    await say(hass, "and off", conversation_id, context=alice)
    assert answers(witness.server)[-1]["success"] is False
    assert hass.states.get("light.bed_light") == state


async def test_renamed_in_mid_conversation(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start()
    er.async_get(hass).async_update_entity(HIDDEN_LIGHT, name="Bed Light")
    await hass.async_block_till_done()
    witness.server.respond(lambda body: text("I could not."))
    witness.server.plan(tool_call("ha_control", ON | {"entity_id": "Bed Light"}))
    await say(hass, "bed light on", context=alice)


@pytest.mark.parametrize(
    "policy", [{}, {"entities": {"entity_ids": {"light.ceiling_lights": True}}}, {"entities": {"all": {"read": True}}}]
)
@pytest.mark.parametrize("target", ["light.bed_light", "light.*", "Bedroom", "script.harmless"])
async def test_without_permission(
    hass: HomeAssistant,
    witness: Witness,
    start: SetUp,
    person: Callable[..., Context],
    policy: dict[str, Any],
    target: str,
) -> None:
    await start()
    witness.before |= {"light.bed_light": "off", "light.kitchen_lights": "on"}
    witness.server.respond(lambda body: text("I could not."))
    witness.server.plan(tool_call("ha_control", ON | {"entity_id": target}))
    await say(hass, "on", context=person("Bob", policy))
    assert not [event for event in witness.events if event.event_type == "harmless_ran"]


READS: dict[str, dict[str, Any]] = {
    "the vault": {"entity_id": "sensor.vault"},
    "by its name": {"entity_id": "Vault"},
    "among others": {"entity_id": ["light.bed_light", "sensor.vault"]},
    "all sensors": {"entity_id": "sensor.*"},
    "everything": {"entity_id": "*"},
    "its history": {"entity_id": "sensor.vault", "history": {"duration": "24h"}},
}


@pytest.mark.parametrize("arguments", READS.values(), ids=READS.keys())
async def test_reading(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, arguments: dict[str, Any]
) -> None:
    await start()
    witness.server.plan(tool_call("ha_query", arguments), text("I do not know."))
    await say(hass, "what is in the vault", context=alice)


async def test_calls_without_end(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context) -> None:
    await start(profile={"max_calls_per_turn": 3})
    calls = [("ha_control", ON | {"entity_id": HIDDEN_LIGHT}), ("ha_control", ON | {"entity_id": HIDDEN_DOOR})] * 20
    witness.server.respond(lambda body: tool_calls(*calls))
    await say(hass, "go on", context=alice)
    assert len(witness.server.requests) < 5
    assert not any(answer["success"] for answer in answers(witness.server))
