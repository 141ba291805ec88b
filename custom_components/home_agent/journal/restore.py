"""How an entity is brought back to what it was: service calls for what differs, None where there is no way.

Only what an action concerned is restored; whatever else was set since stays.
"""

from collections.abc import Mapping
from typing import Any

from homeassistant.components.cover.const import CoverEntityFeature
from homeassistant.components.lawn_mower.const import LawnMowerEntityFeature
from homeassistant.components.media_player.const import MediaPlayerEntityFeature
from homeassistant.components.vacuum.const import VacuumEntityFeature
from homeassistant.components.valve.const import ValveEntityFeature
from homeassistant.const import ATTR_SUPPORTED_FEATURES
from homeassistant.core import State

from ..safety.plan import ServiceCall
from .action import Snapshot
from .kept import COLOURS

STATE = "state"
"""The aspect of an entity that is not an attribute."""

_SWITCHED = {"on": "turn_on", "off": "turn_off"}
_BY_STATE: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("automation", "fan", "humidifier", "input_boolean", "light", "remote", "switch"), _SWITCHED),
    "alarm_control_panel": {
        "disarmed": "alarm_disarm",
        **{f"armed_{mode}": f"alarm_arm_{mode}" for mode in ("away", "home", "night", "vacation", "custom_bypass")},
    },
    "cover": {"open": "open_cover", "closed": "close_cover"},
    "lawn_mower": {"docked": "dock", "returning": "dock", "paused": "pause", "mowing": "start_mowing"},
    "lock": {"locked": "lock", "unlocked": "unlock"},
    "media_player": {
        "off": "turn_off", "on": "turn_on", "idle": "turn_on", "playing": "media_play", "paused": "media_pause",
    },
    "siren": {"off": "turn_off"},
    "timer": {"idle": "cancel"},
    "vacuum": {"docked": "return_to_base", "returning": "return_to_base", "paused": "pause", "cleaning": "start"},
    "valve": {"open": "open_valve", "closed": "close_valve"},
}  # fmt: skip
"""The service that leads to a state, without data."""

_BY_VALUE: Mapping[str, tuple[str, str]] = {
    "climate": ("set_hvac_mode", "hvac_mode"),
    "counter": ("set_value", "value"),
    "date": ("set_value", "date"),
    "datetime": ("set_value", "datetime"),
    "input_number": ("set_value", "value"),
    "input_select": ("select_option", "option"),
    "input_text": ("set_value", "value"),
    "number": ("set_value", "value"),
    "select": ("select_option", "option"),
    "text": ("set_value", "value"),
    "time": ("set_value", "time"),
    "water_heater": ("set_operation_mode", "operation_mode"),
}
"""Domains whose state is set as a value: service and key."""

_BY_ATTRIBUTE: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "climate": {
        "preset_mode": ("set_preset_mode", "preset_mode"),
        "temperature": ("set_temperature", "temperature"),
        "humidity": ("set_humidity", "humidity"),
        "fan_mode": ("set_fan_mode", "fan_mode"),
        "swing_mode": ("set_swing_mode", "swing_mode"),
        "swing_horizontal_mode": ("set_swing_horizontal_mode", "swing_horizontal_mode"),
    },
    "fan": {
        "percentage": ("set_percentage", "percentage"),
        "preset_mode": ("set_preset_mode", "preset_mode"),
        "oscillating": ("oscillate", "oscillating"),
        "direction": ("set_direction", "direction"),
    },
    "humidifier": {"humidity": ("set_humidity", "humidity"), "mode": ("set_mode", "mode")},
    "media_player": {
        "source": ("select_source", "source"),
        "sound_mode": ("select_sound_mode", "sound_mode"),
        "volume_level": ("volume_set", "volume_level"),
        "is_volume_muted": ("volume_mute", "is_volume_muted"),
        "shuffle": ("shuffle_set", "shuffle"),
        "repeat": ("repeat_set", "repeat"),
    },
    "vacuum": {"fan_speed": ("set_fan_speed", "fan_speed")},
    "water_heater": {"temperature": ("set_temperature", "temperature")},
}
_POSITIONS: Mapping[str, Mapping[str, tuple[str, str, int]]] = {
    "cover": {
        "current_position": ("set_cover_position", "position", CoverEntityFeature.SET_POSITION),
        "current_tilt_position": ("set_cover_tilt_position", "tilt_position", CoverEntityFeature.SET_TILT_POSITION),
    },
    "valve": {"current_position": ("set_valve_position", "position", ValveEntityFeature.SET_POSITION)},
}
_FEATURES: Mapping[str, Mapping[str, int]] = {
    "lawn_mower": {
        "dock": LawnMowerEntityFeature.DOCK,
        "pause": LawnMowerEntityFeature.PAUSE,
        "start_mowing": LawnMowerEntityFeature.START_MOWING,
    },
    "media_player": {
        "turn_on": MediaPlayerEntityFeature.TURN_ON,
        "turn_off": MediaPlayerEntityFeature.TURN_OFF,
        "media_play": MediaPlayerEntityFeature.PLAY,
        "media_pause": MediaPlayerEntityFeature.PAUSE,
        "select_source": MediaPlayerEntityFeature.SELECT_SOURCE,
        "select_sound_mode": MediaPlayerEntityFeature.SELECT_SOUND_MODE,
        "volume_set": MediaPlayerEntityFeature.VOLUME_SET,
        "volume_mute": MediaPlayerEntityFeature.VOLUME_MUTE,
        "shuffle_set": MediaPlayerEntityFeature.SHUFFLE_SET,
        "repeat_set": MediaPlayerEntityFeature.REPEAT_SET,
    },
    "vacuum": {
        "return_to_base": VacuumEntityFeature.RETURN_HOME,
        "pause": VacuumEntityFeature.PAUSE,
        "start": VacuumEntityFeature.START,
    },
}
"""What an entity needs for a service; these show attributes also where they cannot be set."""
_COLOUR_OF_MODE = {
    "color_temp": "color_temp_kelvin", "hs": "hs_color", "rgb": "rgb_color", "rgbw": "rgbw_color",
    "rgbww": "rgbww_color", "xy": "xy_color",
}  # fmt: skip
_TEXTS = frozenset({"input_text", "text", "select", "input_select"})  # "12" stays a text
_RESTING = frozenset({"off", "standby"})
_MOVING = frozenset({"opening", "closing"})
_STOPS = {
    "cover": ("stop_cover", CoverEntityFeature.STOP),
    "valve": ("stop_valve", ValveEntityFeature.STOP),
}


def restoring_calls(before: Snapshot, now: State, aspects: frozenset[str]) -> list[ServiceCall] | None:
    """Return the calls, in their order, that bring these aspects of an entity back; None when they cannot be.

    An empty list: it is already as it was.
    """
    current = Snapshot.of(now)
    different = {name for name in aspects if _value(before, name) != _value(current, name)}
    if not different:
        return []
    if now.domain == "light":
        return _light(before, now, different)
    if now.domain in _POSITIONS:
        return _position(before, now, different)
    if now.domain == "input_datetime":
        return [_call(now, "set_datetime", **_date_and_time(before, now))]
    calls: list[ServiceCall] = []
    if STATE in different:
        if (call := _state(before, now)) is None:
            return None
        calls.append(call)
    if before.state not in _RESTING or STATE not in different:
        calls += _attributes(before, now, different)
    return calls or None


def _value(snapshot: Snapshot, aspect: str) -> object:
    return snapshot.state if aspect == STATE else snapshot.attributes.get(aspect)


def _call(now: State, service: str, **data: Any) -> ServiceCall:
    return ServiceCall(domain=now.domain, service=service, entity_ids=(now.entity_id,), data=data)


def _state(before: Snapshot, now: State) -> ServiceCall | None:
    """Return the call that leads back to the state."""
    service = _BY_STATE.get(now.domain, {}).get(before.state)
    if now.domain == "media_player" and now.state in _RESTING and before.state not in _RESTING:
        service = "turn_on"
    if service:
        return _call(now, service) if _can(now, service) else None
    if now.domain in _BY_VALUE and before.state not in ("unknown", "unavailable"):
        service, key = _BY_VALUE[now.domain]
        return _call(now, service, **{key: before.state if now.domain in _TEXTS else _number(before.state)})
    return None


def _can(now: State, service: str) -> bool:
    """Return whether an entity supports a service, as far as it tells."""
    features, needed = now.attributes.get(ATTR_SUPPORTED_FEATURES), _FEATURES.get(now.domain, {}).get(service)
    return features is None or needed is None or bool(int(features) & needed)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _attributes(before: Snapshot, now: State, different: set[str]) -> list[ServiceCall]:
    """Return a call per attribute. A preset brings its own temperature or speed along."""
    wanted = {name for name in different if before.attributes.get(name) is not None}
    if "preset_mode" in wanted and before.attributes["preset_mode"] not in (None, "none"):
        wanted -= {"temperature", "target_temp_low", "target_temp_high", "percentage"}
    elif "percentage" in wanted:
        wanted.discard("preset_mode")
    table = _BY_ATTRIBUTE.get(now.domain, {})
    calls = [
        _call(now, service, **{key: before.attributes[name]})
        for name, (service, key) in table.items()
        if name in wanted and _can(now, service)
    ]
    if now.domain == "climate" and wanted & {"target_temp_low", "target_temp_high"}:
        both = {name: before.attributes[name] for name in ("target_temp_low", "target_temp_high")}
        calls.append(_call(now, "set_temperature", **both))
    if now.domain == "water_heater" and "away_mode" in wanted:
        calls.append(_call(now, "set_away_mode", away_mode=before.attributes["away_mode"] == "on"))
    return calls


def _light(before: Snapshot, now: State, different: set[str]) -> list[ServiceCall] | None:
    """Return one call: a light that was off is turned off, any other is turned on as it was."""
    if before.state != "on":
        return [_call(now, "turn_off")] if before.state == "off" else None
    whole = STATE in different
    shown = before.attributes
    data: dict[str, Any] = {}
    if (whole or "brightness" in different) and shown.get("brightness") is not None:
        data["brightness"] = shown["brightness"]
    colour = _COLOUR_OF_MODE.get(str(shown.get("color_mode")))
    if colour and (whole or not different.isdisjoint((*COLOURS, "color_mode"))) and shown.get(colour) is not None:
        data[colour] = shown[colour]
    if (whole or "effect" in different) and shown.get("effect") in (now.attributes.get("effect_list") or ()):
        data["effect"] = shown["effect"]
    return [_call(now, "turn_on", **data)] if data or whole else None


def _position(before: Snapshot, now: State, different: set[str]) -> list[ServiceCall] | None:
    """Return the calls for what opens and closes: to its positions where it has any, else open or closed."""
    features = int(now.attributes.get(ATTR_SUPPORTED_FEATURES) or 0)
    leaves = now.state in _MOVING and STATE in different and "current_position" not in different
    if leaves:  # it moves, but shows its old position still: to be sent there might mean nothing to it
        different = {*different, "current_position"}
    calls = [
        _call(now, service, **{key: before.attributes[name]})
        for name, (service, key, feature) in _POSITIONS[now.domain].items()
        if name in different and before.attributes.get(name) is not None and features & feature
    ]
    moves = {name for name in different if name != "current_tilt_position"}
    if moves and not any(call.service.endswith(("cover_position", "valve_position")) for call in calls):
        ends = before.attributes.get("current_position") in (None, 0, 100)
        if not ends or (call := _state(before, now)) is None:
            return None
        calls.insert(0, call)
    elif leaves and (stop := _STOPS[now.domain])[1] & features:
        calls.insert(0, _call(now, stop[0]))
    return calls or None


def _date_and_time(before: Snapshot, now: State) -> dict[str, str]:
    date, _, time = before.state.partition(" ")
    if now.attributes.get("has_date") and now.attributes.get("has_time"):
        return {"date": date, "time": time}
    return {"date": before.state} if now.attributes.get("has_date") else {"time": before.state}
