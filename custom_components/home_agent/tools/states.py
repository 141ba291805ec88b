"""Entity states as JSON for a model: readable, safe to serialize, bounded."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from enum import Enum
import math
from typing import Any

from homeassistant.core import State
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType

MAX_TEXT = 255  # characters of one value
MAX_ITEMS = 20  # of a list or an object
MAX_NESTING = 3
MIN_NUMBER, MAX_NUMBER = -(2**63), 2**64 - 1  # what JSON encoders take

# A picture's address and a camera's token open what they belong to; nobody has to read them out.
_NEVER = frozenset({"access_token", "entity_picture", "entity_picture_local", "code", "token"})
_DULL = frozenset(
    {"friendly_name", "icon", "supported_features", "attribution", "assumed_state", "editable", "restored", "id"}
)

KEY_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "alarm_control_panel": ("changed_by",),
    "automation": ("last_triggered",),
    "climate": (
        "current_temperature", "temperature", "target_temp_low", "target_temp_high", "current_humidity", "humidity",
        "hvac_action", "preset_mode", "fan_mode", "swing_mode",
    ),
    "cover": ("current_position", "current_tilt_position", "device_class"),
    "fan": ("percentage", "preset_mode", "oscillating", "direction"),
    "humidifier": ("current_humidity", "humidity", "mode"),
    "light": ("brightness", "color_temp_kelvin", "rgb_color", "effect"),
    "media_player": (
        "media_title", "media_artist", "volume_level", "is_volume_muted", "source", "sound_mode", "shuffle", "repeat",
    ),
    "script": ("last_triggered",),
    "siren": ("tone",),
    "timer": ("duration", "remaining", "finishes_at"),
    "vacuum": ("fan_speed", "battery_level"),
    "valve": ("current_position",),
    "water_heater": ("current_temperature", "temperature", "operation_mode", "away_mode"),
    "weather": ("temperature", "humidity", "wind_speed", "pressure"),
}  # fmt: skip
"""What matters besides the state, per domain."""

_ALWAYS_KEY = ("unit_of_measurement", "device_class")


def json_safe(value: object, *, nesting: int = MAX_NESTING) -> JsonValueType:
    """Return a value as JSON: points in time in the house's own time, long ones cut, nothing raises."""
    if isinstance(value, Enum):
        value = value.value
    match value:
        case None | bool():
            return value
        case int():
            return value if MIN_NUMBER <= value <= MAX_NUMBER else None
        case float():
            return value if math.isfinite(value) else None
        case str():
            return plain_text(value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…")
        case datetime():
            return local_time(value)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping() | list() | tuple() | set() | frozenset():
            return _container(value, nesting) if nesting else "…"
    return plain_text(str(value)[:MAX_TEXT])


def plain_text(text: str) -> str:
    """Return a text that can be encoded: what is half of a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def local_time(moment: datetime) -> str:
    """Return a point in time in the house's own time zone, whole seconds, with its offset."""
    return dt_util.as_local(moment).replace(microsecond=0).isoformat()


def all_attributes(state: State) -> JsonObjectType:
    """Return the attributes that say something."""
    return {plain_text(str(name)): json_safe(state.attributes[name]) for name in _telling(state)}


def key_attributes(state: State) -> JsonObjectType:
    """Return the attributes that matter for the entity's domain, those with a value."""
    names = (*KEY_ATTRIBUTES.get(state.domain, ()), *_ALWAYS_KEY)
    return {name: json_safe(state.attributes[name]) for name in names if state.attributes.get(name) is not None}


def chosen_attributes(state: State, names: Iterable[str]) -> JsonObjectType:
    """Return these attributes, null for those that the entity does not have."""
    return {plain_text(name): json_safe(state.attributes.get(name)) for name in names if name not in _NEVER}


def attribute_names(state: State) -> list[str]:
    """Return what may be asked for."""
    return [plain_text(str(name)) for name in _telling(state)]


def result_of(state: State, touched: Iterable[str] = ()) -> JsonObjectType:
    """Return what came of an action (S1-45): the new state, the domain's key attributes and those that were set."""
    result: JsonObjectType = {"entity_id": state.entity_id, "new_state": json_safe(state.state)}
    named = {name: state.attributes.get(name) for name in touched}
    return result | key_attributes(state) | {key: json_safe(value) for key, value in named.items() if value is not None}


def _telling(state: State) -> list[str]:
    return [name for name in state.attributes if name not in _NEVER and name not in _DULL]


def _container(value: Any, nesting: int) -> JsonValueType:
    if isinstance(value, Mapping):
        items = list(value.items())
        kept: JsonObjectType = {
            plain_text(str(key)): json_safe(item, nesting=nesting - 1) for key, item in items[:MAX_ITEMS]
        }
        return kept | ({"…": f"{len(items) - MAX_ITEMS} more"} if len(items) > MAX_ITEMS else {})
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    listed: list[JsonValueType] = [json_safe(item, nesting=nesting - 1) for item in value[:MAX_ITEMS]]
    return [*listed, f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else listed
