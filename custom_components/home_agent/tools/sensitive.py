"""Which service calls need the owner's yes, judged by what they would do now (Safety)."""

from collections.abc import Iterator, Mapping
from typing import Any

from homeassistant.components.button import ButtonDeviceClass
from homeassistant.components.cover.const import CoverDeviceClass, CoverState
from homeassistant.components.valve.const import ValveState
from homeassistant.const import ATTR_DEVICE_CLASS, STATE_OFF
from homeassistant.core import HomeAssistant, State, split_entity_id

from ..safety.plan import ServiceCall
from ..safety.rules import DESTRUCTIVE
from .capabilities import members
from .parameters import split_number
from .sensitive_services import is_sensitive_service

UNLOCK = "unlock"
DISARM = "disarm"
OPEN_DOOR = "open_door"
OPEN_VALVE = "open_valve"

DOORS = frozenset({CoverDeviceClass.DOOR, CoverDeviceClass.GARAGE, CoverDeviceClass.GATE})

# The generic services come from other paths than our tools: Home Assistant's own sentences call them.
_UNLOCKING = frozenset({"unlock", "open", "turn_off", "toggle"})
_DISARMING = frozenset({"alarm_disarm", "turn_off", "toggle"})
_OPENING = frozenset({"open_cover", "open_cover_tilt", "open_valve", "turn_on"})
_TOGGLING = frozenset({"toggle", "toggle_cover_tilt"})
_POSITIONS = {
    "set_cover_position": "position",
    "set_valve_position": "position",
    "set_cover_tilt_position": "tilt_position",
}
_OPEN = frozenset({CoverState.OPEN, CoverState.OPENING, ValveState.OPEN, ValveState.OPENING})


def sensitivities(hass: HomeAssistant, call: ServiceCall) -> Iterator[str]:
    """Yield every reason for which a call needs the owner's yes; a group is as sensitive as each of its members."""
    if is_sensitive_service(call.domain, call.service):
        yield DESTRUCTIVE
    for entity_id in call.entity_ids:
        yield from _reasons(hass, entity_id, call)


def _reasons(hass: HomeAssistant, entity_id: str, call: ServiceCall) -> Iterator[str]:
    for concerned in (entity_id, *members(hass, entity_id)):
        if reason := _reason(hass, concerned, call.service, call.data):
            yield reason


def _reason(hass: HomeAssistant, entity_id: str, service: str, data: Mapping[str, Any]) -> str | None:
    state = hass.states.get(entity_id)
    match split_entity_id(entity_id)[0]:
        case "lock":
            return UNLOCK if service in _UNLOCKING else None
        case "alarm_control_panel":
            return DISARM if service in _DISARMING else None
        case "cover" if state is not None and state.attributes.get(ATTR_DEVICE_CLASS) in DOORS:
            return OPEN_DOOR if _opens(state, service, data) else None
        case "valve":
            return OPEN_VALVE if _opens(state, service, data) else None
        case "automation":
            return DESTRUCTIVE if service == "turn_off" or (service == "toggle" and _is_on(state)) else None
        case "button" if state is not None and state.attributes.get(ATTR_DEVICE_CLASS) == ButtonDeviceClass.RESTART:
            return DESTRUCTIVE
    return None


def _is_on(state: State | None) -> bool:
    """Return whether it is not known to be off."""
    return state is None or state.state != STATE_OFF


def _opens(state: State | None, service: str, data: Mapping[str, Any]) -> bool:
    """Return whether the call may open it. A toggle may, unless it is known to be open; so may any position but 0."""
    if service in _TOGGLING:
        return state is None or state.state not in _OPEN
    if (position := _POSITIONS.get(service)) is not None:
        target = split_number(data.get(position))
        return target is None or target[0] > 0
    return service in _OPENING
