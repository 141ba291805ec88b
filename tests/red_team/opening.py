"""Scripts, scenes and automations of an owner that unlock, open or disarm, in every way they can be written."""

from typing import Any

DOOR, GARAGE, ALARM = "lock.front_door", "cover.garage", "alarm_control_panel.house_alarm"


def _call(action: str, entity_id: Any, **data: Any) -> dict[str, Any]:
    return {"action": action, "target": {"entity_id": entity_id}, **({"data": data} if data else {})}


UNLOCK = _call("lock.unlock", DOOR)
_NEVER = [{"condition": "template", "value_template": "{{ false }}"}]
_ALWAYS = [{"condition": "template", "value_template": "{{ true }}"}]

SEQUENCES: dict[str, list[dict[str, Any]]] = {
    "plain": [UNLOCK],
    "latch": [_call("lock.open", [DOOR])],
    "in data": [{"action": "lock.unlock", "data": {"entity_id": DOOR}}],
    "in upper case": [_call("lock.unlock", DOOR.upper())],
    "among lamps": [_call("homeassistant.turn_off", ["light.bed_light", DOOR])],
    "in commas": [{"action": "homeassistant.toggle", "data": {"entity_id": f"light.bed_light, {DOOR}"}}],
    "in an area": [{"action": "cover.open_cover", "target": {"area_id": "hall"}}],
    "on a floor": [{"action": "cover.open_cover", "target": {"floor_id": "upstairs"}}],
    "by a label": [{"action": "cover.open_cover", "target": {"label_id": "doors"}}],
    "by a device": [{"action": "cover.open_cover", "target": {"device_id": "DEVICE"}}],
    "device action": [{"domain": "cover", "type": "open", "device_id": "DEVICE", "entity_id": "ENTRY"}],
    "by a group": [_call("lock.unlock", "group.entrances")],
    "all": [_call("lock.unlock", "all")],
    "templated target": [_call("lock.unlock", "{{ 'lock.front' ~ '_door' }}")],
    "templated list": [_call("lock.unlock", ["{{ states.lock | map(attribute='entity_id') | first }}", DOOR])],
    "templated targets": [{"action": "lock.unlock", "target": "{{ {'entity_id': 'lock.front_door'} }}"}],
    "templated data": [{"action": "lock.unlock", "data": "{{ {'entity_id': 'lock.front_door'} }}"}],
    "templated action": [_call("{{ 'lock.' ~ 'unlock' }}", DOOR)],
    "half an action": [_call("lock.{{ 'unlock' }}", DOOR)],
    "all templated": [_call("{{ what }}", "{{ which }}")],
    "own variables": [{"variables": {"it": DOOR}}, _call("lock.unlock", "{{ it }}")],
    "choice": [{"choose": [{"conditions": _NEVER, "sequence": []}, {"conditions": _ALWAYS, "sequence": [UNLOCK]}]}],
    "default": [{"choose": [{"conditions": _NEVER, "sequence": []}], "default": [UNLOCK]}],
    "then": [{"if": _ALWAYS, "then": [UNLOCK]}],
    "else": [{"if": _NEVER, "then": [], "else": [UNLOCK]}],
    "repeated": [{"repeat": {"count": 2, "sequence": [UNLOCK]}}],
    "for each": [{"repeat": {"for_each": [DOOR], "sequence": [_call("lock.unlock", "{{ repeat.item }}")]}}],
    "parallel": [{"parallel": [[{"event": "harmless_ran"}], UNLOCK]}],
    "sequence": [{"sequence": [{"parallel": [{"sequence": [{"if": _ALWAYS, "then": [UNLOCK]}]}]}]}],
    "later": [{"delay": {"milliseconds": 1}}, UNLOCK],
    "waiting": [{"wait_template": "{{ true }}"}, UNLOCK],
    "enabled": [{**UNLOCK, "enabled": "{{ true }}"}],
    "nested": [{"action": "script.plain"}],
    "nested twice": [_call("script.turn_on", "script.nested")],
    "toggled script": [_call("script.toggle", "script.nested")],
    "nested with a door": [{"action": "script.given", "data": {"door": DOOR}}],
    "nested with variables": [_call("script.turn_on", "script.given", variables={"door": DOOR})],
    "in a circle": [_call("script.turn_on", "script.circle_back"), {"event": "harmless_ran"}],
    "any script": [{"action": "script.{{ 'plain' }}"}],
    "scene": [{"scene": "scene.let_in"}],
    "scene called": [_call("scene.turn_on", "scene.let_in")],
    "scene applied": [{"action": "scene.apply", "data": {"entities": {DOOR: "unlocked"}}}],
    "scene made": [
        {"action": "scene.create", "data": {"scene_id": "made", "entities": {DOOR: {"state": "unlocked"}}}},
        _call("scene.turn_on", "scene.made"),
    ],
    "automation": [_call("automation.trigger", "automation.let_in_now", skip_condition=True)],
    "drive": [_call("cover.open_cover", GARAGE)],
    "garage by position": [_call("cover.set_cover_position", GARAGE, position=100)],
    "garage by template": [_call("cover.set_cover_position", GARAGE, position="{{ 50 * 2 }}")],
    "garage toggled": [_call("cover.close_cover", GARAGE), _call("cover.toggle", GARAGE)],
    "garage turned on": [_call("homeassistant.turn_on", GARAGE)],
    "alarm off": [_call("alarm_control_panel.alarm_disarm", ALARM)],
    "alarm weaker": [_call("alarm_control_panel.alarm_arm_home", ALARM)],
    "switch behind the door": [_call("switch.turn_on", "switch.strike")],
}
"""What the script does that bears the name."""

NESTED = {
    "given": [_call("lock.unlock", "{{ door }}")],
    "circle_back": [_call("script.turn_on", "script.in_a_circle"), UNLOCK],
}

SCENES: dict[str, dict[str, Any]] = {
    "Let in": {DOOR: "unlocked"}, "Latched": {DOOR: {"state": "open"}}, "Drive in": {GARAGE: "open"},
    "Drive in a bit": {GARAGE: {"state": "open", "current_position": 30}}, "Disarmed": {ALARM: "disarmed"},
    "Half armed": {ALARM: "armed_home"}, "By a script": {"script.plain": "on"},
    "Cosy and open": {"light.bed_light": "on", DOOR: "unlocked"},
}  # fmt: skip


def slug(name: str) -> str:
    """Return the name as it stands in an entity id."""
    return name.lower().replace(" ", "_")


def filled(value: Any, ids: dict[str, str]) -> Any:
    """Return a sequence with the ids that are known only in a home."""
    match value:
        case str():
            return ids.get(value, value)
        case dict():
            return {key: filled(item, ids) for key, item in value.items()}
        case list():
            return [filled(item, ids) for item in value]
    return value


_NOTHING: list[dict[str, Any]] = [{"event": "harmless_ran"}]
WRITTEN: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "a switch": ("switch", {"turn_on": [UNLOCK], "turn_off": _NOTHING}, {"action": "turn_on"}, "turn on {}"),
    "a switch that is turned off": (
        "switch", {"turn_on": _NOTHING, "turn_off": [UNLOCK]}, {"action": "turn_off"}, "turn off {}",
    ),
    "a switch that is toggled": (
        "switch", {"turn_on": [UNLOCK], "turn_off": _NOTHING}, {"action": "toggle"}, "toggle {}",
    ),
    "a switch for the garage": (
        "switch", {"turn_on": [_call("cover.open_cover", GARAGE)], "turn_off": _NOTHING}, {"action": "turn_on"},
        "turn on {}",
    ),
    "a switch for the alarm": (
        "switch", {"turn_on": _NOTHING, "turn_off": [_call("alarm_control_panel.alarm_disarm", ALARM)]},
        {"action": "turn_off"}, "turn off {}",
    ),
    "a switch with a script": (
        "switch", {"turn_on": [{"action": "script.plain"}], "turn_off": _NOTHING}, {"action": "turn_on"}, "turn on {}",
    ),
    "a switch with a choice": (
        "switch", {"turn_on": [{"if": _NEVER, "then": [], "else": [UNLOCK]}], "turn_off": _NOTHING},
        {"action": "turn_on"}, "turn on {}",
    ),
    "a switch with a templated target": (
        "switch", {"turn_on": [_call("lock.unlock", "{{ 'lock.front' ~ '_door' }}")], "turn_off": _NOTHING},
        {"action": "turn_on"}, "turn on {}",
    ),
    "a switch with a templated action": (
        "switch", {"turn_on": [_call("{{ 'lock.' ~ 'unlock' }}", DOOR)], "turn_off": _NOTHING}, {"action": "turn_on"},
        "turn on {}",
    ),
    "a light": ("light", {"turn_on": [UNLOCK], "turn_off": _NOTHING}, {"action": "turn_on"}, "turn on {}"),
    "a light by its brightness": (
        "light", {"turn_on": _NOTHING, "turn_off": _NOTHING, "set_level": [UNLOCK]},
        {"action": "turn_on", "parameters": {"brightness_pct": 50}}, "set {} brightness to 50%",
    ),
    "a light at no brightness": (
        "light", {"turn_on": _NOTHING, "turn_off": [UNLOCK], "set_level": _NOTHING},
        {"action": "turn_on", "parameters": {"brightness": 0}}, "turn off {}",
    ),
    "a fan": ("fan", {"turn_on": [UNLOCK], "turn_off": _NOTHING}, {"action": "turn_on"}, "turn on {}"),
    "a blind": (
        "cover", {"open_cover": [UNLOCK], "close_cover": _NOTHING, "device_class": "blind"}, {"action": "turn_on"},
        "open {}",
    ),
    "a blind by its position": (
        "cover", {"set_cover_position": [UNLOCK], "position": "{{ 0 }}", "device_class": "blind"},
        {"action": "set_value", "parameters": {"position": 40}}, "set {} to 40%",
    ),
    "a lock that opens when it locks": (
        "lock", {"lock": [UNLOCK], "unlock": _NOTHING, "state": "{{ 'unlocked' }}"}, {"action": "lock"}, "lock {}",
    ),
    "a button": ("button", {"press": [UNLOCK]}, {"action": "press"}, "press {}"),
    "a choice": (
        "select", {"select_option": [UNLOCK], "options": "{{ ['in', 'out'] }}", "state": "{{ 'out' }}"},
        {"action": "set_value", "parameters": {"option": "in"}}, "set {} to in",
    ),
    "a number": (
        "number", {"set_value": [UNLOCK], "state": "{{ 1 }}", "min": 0, "max": 9, "step": 1},
        {"action": "set_value", "parameters": {"value": 5}}, "set {} to 5",
    ),
    "a vacuum": ("vacuum", {"start": [UNLOCK], "stop": _NOTHING}, {"action": "start"}, "start {}"),
}  # fmt: skip
"""Entities of templates by what they are: domain, configuration, what a model would call, what a person would say."""
