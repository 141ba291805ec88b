"""One entity's state in as few tokens as possible: what matters for its domain, nothing else."""

from collections.abc import Iterable
from enum import Enum
from typing import Any

from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State

MAX_VALUE = 120  # characters; a media title or a weather alert can be a novel

MAX_NUMBER = 1e15  # beyond it, and for what is no number at all, the text says it
_KEY_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "climate": (
        "current_temperature",
        "temperature",
        "target_temp_low",
        "target_temp_high",
        "hvac_action",
        "preset_mode",
    ),
    "cover": ("current_position",),
    "fan": ("percentage", "preset_mode"),
    "humidifier": ("current_humidity", "humidity", "mode"),
    "light": ("brightness",),
    "media_player": ("media_title", "media_artist", "volume_level", "is_volume_muted", "source"),
    "timer": ("remaining", "finishes_at"),
    "vacuum": ("battery_level", "fan_speed"),
    "valve": ("current_position",),
    "water_heater": ("current_temperature", "temperature", "operation_mode"),
    "weather": ("temperature", "humidity", "wind_speed"),
}
_PERCENT_OF_255 = {"brightness"}
_PERCENT_OF_1 = {"volume_level"}


def describe(state: State, attributes: Iterable[str] = (), *, detailed: bool = True) -> str:
    """Return the state as text: `21.5 °C`, `on brightness=50%`, `heat temperature=21`.

    `attributes` replaces the domain's own choice (`state` in it is ignored: it always comes first); attributes that are
    missing or None are left out. With `detailed` false the state stands alone.
    """
    parts = [_with_unit(state)]
    if detailed and state.state not in (STATE_UNAVAILABLE, STATE_UNKNOWN):
        for name in tuple(attributes) or _KEY_ATTRIBUTES.get(state.domain, ()):
            value = state.attributes.get(name)
            if value is not None and name not in ("state", ATTR_UNIT_OF_MEASUREMENT):
                parts.append(f"{name}={_text(name, value)}")
    return " ".join(parts)


def _with_unit(state: State) -> str:
    unit = state.attributes.get(ATTR_UNIT_OF_MEASUREMENT)
    text = state.state[:MAX_VALUE]
    return f"{text} {unit}" if unit and state.state not in (STATE_UNAVAILABLE, STATE_UNKNOWN) else text


def _text(name: str, value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MAX_NUMBER:
        if name in _PERCENT_OF_255:
            return f"{round(value / 2.55)}%"
        if name in _PERCENT_OF_1:
            return f"{round(value * 100)}%"
        return f"{value:g}"
    if isinstance(value, Enum):
        value = value.value
    text = str(value)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 1]}…"
