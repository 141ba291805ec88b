"""What is wrong with a draft, and that nothing is said of one that is right."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.support.errors import ToolRefusal
from tests.automations.a_home import DOOR, HIDDEN, LIGHT_ON, build_home, sentences


@pytest.fixture(autouse=True)
async def home(hass: HomeAssistant) -> None:
    await build_home(hass)


def on(entity_id: str, **data: Any) -> dict[str, Any]:
    """Return the action that turns a light on."""
    return {"action": "light.turn_on", "target": {"entity_id": entity_id}, **({"data": data} if data else {})}


def when(**fields: Any) -> dict[str, Any]:
    """Return a state condition or another one."""
    return {"condition": "state", **fields}


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "entity of an action": ({"actions": [on("light.bed_lihgt")]}, "actions[0].target.entity_id", "light.bed_light"),
    "entity of a trigger": ({"trigger": {**DOOR, "entity_id": "binary_sensor.garage"}}, "triggers[0].entity_id", "binary_sensor.garage_door"),
    "entity of a condition": ({"conditions": [when(entity_id="input_boolean.guest", state="on")]}, "conditions[0].entity_id", "input_boolean.guests"),
    "person": ({"conditions": [when(entity_id="person.anna", state="home")]}, "conditions[0].entity_id", "no entity"),
    "zone": (
        {"trigger": {"trigger": "zone", "entity_id": "person.tom", "zone": "zone.work", "event": "enter"}}, "triggers[0].zone", "no entity"
    ),
    "scene": ({"actions": [{"scene": "scene.movies"}]}, "actions[0].scene", "scene.movie"),
    "script": ({"actions": [{"action": "script.great"}]}, "actions[0].action", "script.greet"),
    "notify": ({"actions": [{"action": "notify.mobile_app_tom", "data": {"message": "x"}}]}, "actions[0].action", "no action"),
    "area": ({"actions": [{"action": "light.turn_on", "target": {"area_id": "kitchn"}}]}, "actions[0].target.area_id", "kitchen (Kitchen)"),
    "floor": ({"actions": [{"action": "light.turn_on", "target": {"floor_id": "attic"}}]}, "actions[0].target.floor_id", "no floor"),
    "label": ({"actions": [{"action": "light.turn_on", "target": {"label_id": "night"}}]}, "actions[0].target.label_id", "no label"),
    "device": ({"actions": [{"action": "light.turn_on", "target": {"device_id": "abc"}}]}, "actions[0].target.device_id", "no device"),
    "service": ({"actions": [{"action": "light.switch_on", "target": {"entity_id": "light.bed_light"}}]}, "actions[0].action", "light.turn_on"),
    "service of another domain": ({"actions": [{"action": "lights.turn_on", "target": {"entity_id": "light.bed_light"}}]}, "actions[0].action", "light.turn_on"),
    "entity of another domain": ({"actions": [on("switch.decorative_lights")]}, "actions[0].target.entity_id", "works on light only"),
    "unknown parameter": ({"actions": [on("light.bed_light", brightnes=5)]}, "actions[0].data.brightnes", "brightness"),
    "parameter out of range": ({"actions": [on("light.bed_light", brightness_pct=150)]}, "actions[0].data.brightness_pct", "light.turn_on"),
    "parameter of the wrong type": ({"actions": [on("light.bed_light", brightness_pct="bright")]}, "actions[0].data.brightness_pct", "light.turn_on"),
    "brightness of a lamp without": ({"actions": [on("light.cellar", brightness_pct=50)]}, "actions[0].data.brightness_pct", "light.cellar cannot use 'brightness_pct'. It can take: profile."),
    "mode of a humidifier": (
        {"actions": [{"action": "humidifier.set_mode", "target": {"entity_id": "humidifier.hall"}, "data": {"mode": "sleep"}}]},
        "actions[0].data.mode", "eco, auto",
    ),
    "tone of a siren": (
        {"actions": [{"action": "siren.turn_on", "target": {"entity_id": "siren.roof"}, "data": {"tone": "flood"}}]},
        "actions[0].data.tone", "fire, burglar",
    ),
    "color of a lamp without": ({"actions": [on("light.cellar", color_name="red")]}, "actions[0].data.color_name", "light.cellar cannot use"),
    "ability of a thermostat": (
        {"actions": [{"action": "climate.set_temperature", "target": {"entity_id": "climate.hall"}, "data": {"target_temp_high": 22, "target_temp_low": 19}}]},
        "actions[0].data.target_temp_high", "climate.hall cannot use 'target_temp_high'. It can take: temperature",
    ),
    "missing parameter": (
        {"actions": [{"action": "input_number.set_value", "target": {"entity_id": "input_number.level"}}]}, "actions[0].data.value", "needs 'value'"
    ),
    "missing parameter of a script": ({"actions": [{"action": "script.greet"}]}, "actions[0].data", "needs 'who'"),
    "number of a script": ({"actions": [{"action": "script.greet", "data": {"who": "Tom", "loud": 20}}]}, "actions[0].data.loud", "a number from 0 to 10"),
    "option of a script": ({"actions": [{"action": "script.greet", "data": {"who": "Tom", "tone": "warn"}}]}, "actions[0].data.tone", "warm, cold"),
    "value of a parameter": ({"actions": [on("light.bed_light", brightness_pct="very")]}, "actions[0].data.brightness_pct", "'very'"),
    "missing target": ({"actions": [{"action": "light.turn_on"}]}, "actions[0].data", "needs a target"),
    "option": (
        {"actions": [{"action": "input_select.select_option", "target": {"entity_id": "input_select.mode"}, "data": {"option": "nite"}}]},
        "actions[0].data.option", "day, night",
    ),
    "mode": (
        {"actions": [{"action": "climate.set_hvac_mode", "target": {"entity_id": "climate.hall"}, "data": {"hvac_mode": "cool"}}]},
        "actions[0].data.hvac_mode", "off, heat",
    ),
    "temperature": (
        {"actions": [{"action": "climate.set_temperature", "target": {"entity_id": "climate.hall"}, "data": {"temperature": 70}}]},
        "actions[0].data.temperature", "from 7 to 35",
    ),
    "state of a trigger": ({"trigger": {**DOOR, "to": "opened"}}, "triggers[0].to", "off, on"),
    "state of a person": ({"conditions": [when(entity_id="person.tom", state="away")]}, "conditions[0].state", "not_home"),
    "number of what has none": (
        {"conditions": [{"condition": "numeric_state", "entity_id": "light.bed_light", "above": 5}]}, "conditions[0].entity_id", "no number"
    ),
    "event": ({"trigger": {"trigger": "event", "event_type": "other_evnt"}}, "triggers[0].event_type", "other_event"),
    "event of all": ({"trigger": {"trigger": "event", "event_type": "state_changed"}}, "triggers[0].event_type", "every entity"),
    "trigger id": ({"conditions": [{"condition": "trigger", "id": "dor"}], "trigger": {**DOOR, "id": "door"}}, "conditions[0].id", "door"),
    "all entities": ({"actions": [on("all")]}, "actions[0].target.entity_id", "Name the entities"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "path", "said"), WRONG.values(), ids=WRONG)
async def test_wrong(hass: HomeAssistant, fields: dict[str, Any], path: str, said: str) -> None:
    told = await sentences(hass, *fields.pop("actions", ()), **fields)
    assert any(line.startswith(f"{path}: ") and said in line for line in told.splitlines()), told


NESTS: dict[str, tuple[Any, str]] = {
    "choose": (lambda a: {"choose": [{"conditions": [], "sequence": [a]}]}, "actions[0].choose[0].sequence[0]"),
    "default": (lambda a: {"choose": [], "default": [a]}, "actions[0].default[0]"),
    "then": (lambda a: {"if": [when(entity_id="light.bed_light", state="on")], "then": [a]}, "actions[0].then[0]"),
    "else": (lambda a: {"if": [when(entity_id="light.bed_light", state="on")], "then": [], "else": [a]}, "actions[0].else[0]"),
    "repeat": (lambda a: {"repeat": {"count": 2, "sequence": [a]}}, "actions[0].repeat.sequence[0]"),
    "parallel": (lambda a: {"parallel": [a]}, "actions[0].parallel[0][0]"),
    "sequence": (lambda a: {"sequence": [a]}, "actions[0].sequence[0]"),
}  # fmt: skip


@pytest.mark.parametrize(("nest", "path"), NESTS.values(), ids=NESTS)
async def test_wrong_at_every_depth(hass: HomeAssistant, nest: Any, path: str) -> None:
    assert f"{path}.target.entity_id: 'light.nowhere'" in await sentences(hass, nest(on("light.nowhere")))


async def test_wrong_in_wait_for_trigger(hass: HomeAssistant) -> None:
    waits = {"wait_for_trigger": [{"trigger": "state", "entity_id": "light.nowhere"}]}
    assert "actions[0].wait_for_trigger[0].entity_id: 'light.nowhere'" in await sentences(hass, waits)


@pytest.mark.parametrize("name", [HIDDEN, "switch.ax"], ids=["hidden", "missing"])
async def test_hidden_and_missing_are_told_alike(hass: HomeAssistant, name: str) -> None:
    told = await sentences(hass, {"action": "switch.turn_on", "target": {"entity_id": name}})
    assert told.count("\n") == 0
    assert told.replace(name, "X").startswith("actions[0].target.entity_id: 'X' is no entity that can be used here.")


RIGHT: dict[str, dict[str, Any]] = {
    "plain": {},
    "area": {"actions": [{"action": "light.turn_on", "target": {"area_id": "kitchen"}, "data": {"brightness_pct": 50}}]},
    "one of several can": {"actions": [on(["light.bed_light", "light.cellar"], brightness_pct=40)]},  # type: ignore[arg-type]
    "a group of which one can": {"actions": [on("group.lamps", brightness_pct=40)]},
    "an area beside": {"actions": [{"action": "light.turn_on", "target": {"entity_id": "light.cellar", "area_id": "kitchen"}, "data": {"brightness_pct": 40}}]},
    "a thermostat that does not tell": {"actions": [{"action": "climate.set_temperature", "target": {"entity_id": "climate.attic"}, "data": {"target_temp_high": 22, "target_temp_low": 19}}]},
    "transition of a lamp without": {"actions": [on("light.cellar", transition=2)]},
    "several entities": {"actions": [on(["light.bed_light", "light.kitchen_lights"], transition=2)]},  # type: ignore[arg-type]
    "scene": {"actions": [{"scene": "scene.movie"}]},
    "script": {"actions": [{"action": "script.greet", "data": {"who": "Tom"}}]},
    "any change": {"trigger": {"trigger": "state", "entity_id": "light.bed_light", "to": None}},
    "unavailable": {"trigger": {"trigger": "state", "entity_id": "light.bed_light", "to": "unavailable", "for": {"minutes": 5}}},
    "number": {"trigger": {"trigger": "numeric_state", "entity_id": "sensor.attic", "above": 20, "below": 30}},
    "nobody home": {"conditions": [{"condition": "numeric_state", "entity_id": "zone.home", "below": 1}]},
    "number of an attribute": {"conditions": [{"condition": "numeric_state", "entity_id": "sun.sun", "attribute": "elevation", "below": 5}]},
    "sun": {"trigger": {"trigger": "sun", "event": "sunset", "offset": "-00:30:00"}},
    "time": {"trigger": {"trigger": "time", "at": ["07:00:00", "08:30:00"], "weekday": ["mon", "tue"]}},
    "over midnight": {"conditions": [{"condition": "time", "after": "22:00:00", "before": "06:00:00"}]},
    "zone": {"trigger": {"trigger": "zone", "entity_id": "person.tom", "zone": "zone.home", "event": "leave"}},
    "tag": {"trigger": {"trigger": "tag", "tag_id": "x"}},
    "start": {"trigger": {"trigger": "homeassistant", "event": "start"}},
    "sentence": {"trigger": {"trigger": "conversation", "command": ["good night"]}},
    "notification": {"trigger": {"trigger": "persistent_notification", "update_type": ["added"], "notification_id": "x"}},
    "event of another automation": {"trigger": {"trigger": "event", "event_type": "answer"}},
    "event of a tag": {"trigger": {"trigger": "event", "event_type": "tag_scanned"}},
    "event of an entity": {"trigger": {"trigger": "event", "event_type": "state_changed", "event_data": {"entity_id": "light.bed_light"}}},
    "purpose": {"trigger": {"trigger": "light.turned_on", "target": {"entity_id": "light.bed_light"}}},
    "purpose of an area": {"trigger": {"trigger": "light.turned_on", "target": {"area_id": "kitchen"}, "options": {"behavior": "each"}}},
    "purpose as condition": {"conditions": [{"condition": "light.is_on", "target": {"entity_id": "light.bed_light"}}]},
    "message": {"actions": [{"action": "persistent_notification.create", "data": {"message": "{{ states('sensor.attic') }} °C"}}]},
    "trigger's entity": {"actions": [{"action": "homeassistant.turn_off", "target": {"entity_id": "{{ trigger.entity_id }}"}}],
        "trigger": {"trigger": "state", "entity_id": "light.bed_light", "to": "on"}},
    "chosen service": {"actions": [{"action": "light.turn_{{ 'on' if is_state('sun.sun', 'below_horizon') else 'off' }}", "target": {"entity_id": "light.bed_light"}}]},
    "templated parameter": {"actions": [on("light.bed_light", brightness_pct="{{ states('input_number.level') | int(0) * 10 }}")]},
    "wait": {"actions": [{"wait_template": "{{ is_state('light.bed_light', 'off') }}", "timeout": 5}, LIGHT_ON]},
    "stop": {"actions": [{"if": [when(entity_id="light.bed_light", state="on")], "then": [{"stop": "done"}]}, LIGHT_ON]},
    "response": {"actions": [{"set_conversation_response": "Done."}]},
    "variables": {"actions": [{"variables": {"one": "light.bed_light"}}, {"if": ["{{ is_state(one, 'on') }}"], "then": [LIGHT_ON]}]},
    "for each": {"actions": [{"repeat": {"for_each": ["light.bed_light"], "sequence": [{"action": "light.toggle", "target": {"entity_id": "{{ repeat.item }}"}}]}}]},
    "until": {"actions": [{"repeat": {"until": [when(entity_id="light.bed_light", state="on")], "sequence": [LIGHT_ON, {"delay": 1}]}}]},
    "count": {"actions": [{"action": "counter.increment", "target": {"entity_id": "counter.rings"}}]},
    "all at once": {"actions": [{"action": "homeassistant.turn_on", "target": {"entity_id": ["light.bed_light", "switch.decorative_lights"]}}]},
    "scene made there": {"actions": [{"action": "scene.apply", "data": {"entities": {"light.bed_light": "on"}}}]},
}  # fmt: skip


@pytest.mark.parametrize("fields", RIGHT.values(), ids=RIGHT)
async def test_right(hass: HomeAssistant, fields: dict[str, Any]) -> None:
    assert await sentences(hass, *fields.pop("actions", ()), **fields) == ""


INVALID: dict[str, tuple[dict[str, Any], str]] = {
    "time": ({"trigger": {"trigger": "time", "at": "24:30:00"}}, "is '24:30:00'"),
    "offset": ({"trigger": {"trigger": "sun", "event": "sunset", "offset": "+45min"}}, "is '+45min'"),
    "input of a blueprint": ({"use_blueprint": {"path": "homeassistant/motion_light.yaml", "input": {}}}, "light_target"),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "said"), INVALID.values(), ids=INVALID)
async def test_what_home_assistant_refuses_is_named(hass: HomeAssistant, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolRefusal) as refusal:
        await sentences(hass, **fields)
    assert said in str(refusal.value)


@pytest.mark.parametrize("fields", [
    {"trigger": {**DOOR, "enabled": "{{ true }}"}},
    {"conditions": [{**when(entity_id="light.bed_light", state="on"), "enabled": "{{ false }}"}]},
    {"conditions": [{"not": [{**when(entity_id="light.bed_light", state="on"), "enabled": "{{ false }}"}]}]},
    {"actions": [{**LIGHT_ON, "enabled": "{{ false }}"}]},
    {"actions": [{"if": [when(entity_id="light.bed_light", state="on")], "then": [{**LIGHT_ON, "enabled": "{{ false }}"}]}]},
])  # fmt: skip
async def test_no_template_decides_whether_a_part_is_on(hass: HomeAssistant, fields: dict[str, Any]) -> None:
    said = await sentences(hass, *fields.pop("actions", ()), **fields)
    assert "enabled: A template does not decide this." in said


async def test_a_part_may_be_switched_off(hass: HomeAssistant) -> None:
    assert await sentences(hass, LIGHT_ON, {"delay": 5, "enabled": False}) == ""
