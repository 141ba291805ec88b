"""What an entity can do, as words that somebody may look for; from its attributes that no state change touches."""

from collections.abc import Mapping
from typing import Any

from homeassistant.components.climate import ClimateEntityFeature
from homeassistant.components.cover import CoverEntityFeature
from homeassistant.components.fan import FanEntityFeature
from homeassistant.components.media_player import MediaPlayerEntityFeature
from homeassistant.components.vacuum import VacuumEntityFeature
from homeassistant.const import ATTR_SUPPORTED_FEATURES

_FEATURES: Mapping[str, tuple[tuple[int, str], ...]] = {
    "climate": (
        (ClimateEntityFeature.TARGET_TEMPERATURE | ClimateEntityFeature.TARGET_TEMPERATURE_RANGE, "temperature"),
        (ClimateEntityFeature.TARGET_HUMIDITY, "humidity"),
        (ClimateEntityFeature.FAN_MODE, "fan mode"),
        (ClimateEntityFeature.PRESET_MODE, "preset"),
        (ClimateEntityFeature.SWING_MODE, "swing"),
    ),
    "cover": (
        (CoverEntityFeature.SET_POSITION, "position"),
        (CoverEntityFeature.SET_TILT_POSITION, "tilt"),
    ),
    "fan": (
        (FanEntityFeature.SET_SPEED, "speed"),
        (FanEntityFeature.OSCILLATE, "oscillate"),
        (FanEntityFeature.DIRECTION, "direction"),
    ),
    "media_player": (
        (MediaPlayerEntityFeature.PLAY | MediaPlayerEntityFeature.PAUSE, "play"),
        (MediaPlayerEntityFeature.VOLUME_SET | MediaPlayerEntityFeature.VOLUME_STEP, "volume"),
        (MediaPlayerEntityFeature.NEXT_TRACK, "next track"),
        (MediaPlayerEntityFeature.SELECT_SOURCE, "source"),
        (MediaPlayerEntityFeature.GROUPING, "grouping"),
    ),
    "vacuum": (
        (VacuumEntityFeature.RETURN_HOME, "return to dock"),
        (VacuumEntityFeature.LOCATE, "locate"),
        (VacuumEntityFeature.FAN_SPEED, "fan speed"),
    ),
}
_COLOR_MODES = frozenset({"hs", "rgb", "rgbw", "rgbww", "xy"})


def abilities_of(domain: str, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what an entity with these attributes can do beyond what its domain says, in English words."""
    if domain == "light":
        return _light_abilities(attributes)
    features = attributes.get(ATTR_SUPPORTED_FEATURES)
    if not isinstance(features, int):
        return ()
    return tuple(word for flags, word in _FEATURES.get(domain, ()) if features & flags)


def _light_abilities(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    modes = attributes.get("supported_color_modes") or ()
    if not isinstance(modes, (list, tuple, set, frozenset)):
        return ()
    known = {str(mode) for mode in modes} - {"onoff", "unknown"}
    words = (
        ("brightness", bool(known)),
        ("color temperature", "color_temp" in known),
        ("color", not known.isdisjoint(_COLOR_MODES)),
    )
    return tuple(word for word, has in words if has)
