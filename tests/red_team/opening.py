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
    "Let in": {DOOR: "unlocked"},
    "Latched": {DOOR: {"state": "open"}},
    "Drive in": {GARAGE: "open"},
    "Drive in a bit": {GARAGE: {"state": "open", "current_position": 30}},
    "Disarmed": {ALARM: "disarmed"},
    "Half armed": {ALARM: "armed_home"},
    "By a script": {"script.plain": "on"},
    "Cosy and open": {"light.bed_light": "on", DOOR: "unlocked"},
}


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
