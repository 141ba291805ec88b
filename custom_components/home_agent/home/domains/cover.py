"""What opens and closes: covers and valves."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from homeassistant.components.cover.const import CoverDeviceClass, CoverEntityFeature
from homeassistant.components.valve.const import ValveEntityFeature
from homeassistant.const import ATTR_DEVICE_CLASS
from homeassistant.core import State

from ...turn.plan import OPEN_DOOR, OPEN_VALVE
from ..domain import Action, Domain, Field, Logged, Subject
from ..parameters import number, split_number
from ..records import (
    DOORS,
    LOCKED_UNLOCKED,
    OPEN_CLOSED,
    at,
    away_from,
    either,
    exchanged,
    features_as_words,
    has,
    setting,
)
from ..tolerance import PERCENT, ends, number_of

_OPEN, _CLOSED = ("open", "opening"), ("closed", "closing")
_DOORS = frozenset({CoverDeviceClass.DOOR, CoverDeviceClass.GARAGE, CoverDeviceClass.GATE})
_POSITION = Field(number(0, 100, whole=True), shows=("current_position", PERCENT))
_TILT = Field(number(0, 100, whole=True), shows=("current_tilt_position", PERCENT))
_OPENED, _SHUT = at("open", under_way=("opening",)), at("closed", under_way=("closing",))
_STOPPED = away_from("opening", "closing")
_MOVING = replace(_STOPPED, under_way=_STOPPED.none_of, says_enough=False)

# The generic services come from other paths than our tools: Home Assistant's own sentences call them.
_OPENING = frozenset({"open_cover", "open_cover_tilt", "open_valve", "turn_on"})
_TOGGLING = {"toggle": "current_position", "toggle_cover_tilt": "current_tilt_position"}
_POSITIONS = {
    "set_cover_position": ("position", "current_position", "open_cover", "close_cover"),
    "set_valve_position": ("position", "current_position", "open_valve", "close_valve"),
    "set_cover_tilt_position": ("tilt_position", "current_tilt_position", "open_cover_tilt", "close_cover_tilt"),
}
"""Services that set a position: its key, the attribute that shows it, what opens and what closes."""
_STOPPING = frozenset({"stop_cover", "stop_valve"})
_WIDE = 100
"""The position from which a toggle can only close."""


def _stop(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Read `{"stop": true}` as the command it is."""
    if str(given.get("stop", "")).casefold() not in ("true", "1", "yes"):
        return given
    return exchanged(given, "stop", "command", "stop")


def _opens(state: State | None, service: str, data: Mapping[str, Any]) -> bool:
    """Return whether the call may open it, or open it further.

    A toggle may, unless it is known to rest wide open: which way an open one moved last is not known. So may any position but 0.
    """
    if (shown := _TOGGLING.get(service)) is not None:
        return state is None or state.state != "open" or state.attributes.get(shown) != _WIDE
    if (position := _POSITIONS.get(service)) is not None:
        target = split_number(data.get(position[0]))
        return target is None or target[0] > 0
    return service in _OPENING


def _comes_to(state: State | None, service: str, data: Mapping[str, Any]) -> Iterable[str]:
    """Return what a position comes to: opening, closing, or either where it is not known from where it goes."""
    if (position := _POSITIONS.get(service)) is None:
        return ()
    key, shown, opens, closes = position
    target, now = split_number(data.get(key)), number_of(state.attributes.get(shown)) if state is not None else None
    if target is not None and (target[0] <= 0 or (now is not None and target[0] < now)):
        return (closes,)
    return (opens,) if target is not None and (target[0] >= _WIDE or now is not None) else (opens, closes)


def _leaves_ajar(state: State | None, service: str, _data: object) -> bool:
    """Return whether the call keeps it from closing. A person may always say stop: something may be in the way."""
    return service in _STOPPING and (state is None or state.state == "closing")


def _door(state: State | None, service: str, data: Mapping[str, Any]) -> str | None:
    if state is None or state.attributes.get(ATTR_DEVICE_CLASS) not in _DOORS:
        return None
    return OPEN_DOOR if _opens(state, service, data) else None


def _door_ajar(state: State | None, service: str, data: Mapping[str, Any]) -> bool:
    return (
        state is not None and state.attributes.get(ATTR_DEVICE_CLASS) in _DOORS and _leaves_ajar(state, service, data)
    )


def _valve(state: State | None, service: str, data: Mapping[str, Any]) -> str | None:
    """Return the reason where it lets something flow, or keeps it flowing: nothing is in the way of a valve that closes."""
    is_kept_open = service in _STOPPING and state is not None and state.state == "closing"
    return OPEN_VALVE if is_kept_open or _opens(state, service, data) else None


DOMAINS = {
    "cover": Domain(
        called_like=DOORS,
        actions={
            "open_cover": Action("open_cover", CoverEntityFeature.OPEN),
            "close_cover": Action("close_cover", CoverEntityFeature.CLOSE),
            "open_cover_tilt": Action("open_cover_tilt", CoverEntityFeature.OPEN_TILT),
            "close_cover_tilt": Action("close_cover_tilt", CoverEntityFeature.CLOSE_TILT),
            "toggle": Action("toggle", CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE),
            **setting("set_cover_position", "position", _POSITION, CoverEntityFeature.SET_POSITION),
            **setting("set_cover_tilt_position", "tilt_position", _TILT, CoverEntityFeature.SET_TILT_POSITION),
            "stop_cover": Action("stop_cover", CoverEntityFeature.STOP),
            "stop_cover_tilt": Action("stop_cover_tilt", CoverEntityFeature.STOP_TILT),
        },
        on=("open_cover", "open_cover_tilt"),
        off=("close_cover", "close_cover_tilt"),
        toggle=("toggle",),
        is_on=either(_OPEN, _CLOSED),
        values=("set_cover_position", "set_cover_tilt_position"),
        value=lambda subject: "position" if has(CoverEntityFeature.SET_POSITION)(subject) else "tilt_position",
        aliases={"current_position": "position", "percentage": "position", "tilt": "tilt_position"},
        words={
            **dict.fromkeys(("open", "raise"), "open_cover"),
            **dict.fromkeys(("close", "lower"), "close_cover"),
            "stop": "stop_cover",
        },
        rewrite=_stop,
        own={"turn_on": "open_cover", "turn_off": "close_cover"},
        line=("current_position",),
        attributes=("current_position", "current_tilt_position", "device_class"),
        search_words=features_as_words(
            (CoverEntityFeature.SET_POSITION, "position"), (CoverEntityFeature.SET_TILT_POSITION, "tilt")
        ),
        rank=2,
        logged=Logged.ALWAYS,
        goals={
            "open_cover": _OPENED,
            "close_cover": _SHUT,
            "stop_cover": _STOPPED,
            **dict.fromkeys(
                ("set_cover_position", "open_cover_tilt", "close_cover_tilt", "set_cover_tilt_position"), _MOVING
            ),
        },
        leads=ends(
            {
                "open_cover": ("current_position", 100),
                "close_cover": ("current_position", 0),
                "open_cover_tilt": ("current_tilt_position", 100),
                "close_cover_tilt": ("current_tilt_position", 0),
            }
        ),
        kept=("current_position", "current_tilt_position"),
        back={"open": "open_cover", "closed": "close_cover"},
        stop="stop_cover",
        known=frozenset({"toggle_cover_tilt"}),
        guards=True,
        sensitive=_door,
        wary=_door_ajar,
        comes_to=_comes_to,
        told_as=OPEN_CLOSED,
        not_told_as=LOCKED_UNLOCKED,
        alike=("blind", "curtain", "shade", "shutter"),
        becomes={
            **dict.fromkeys(("open", "up"), ("open", "opening")),
            **dict.fromkeys(("closed", "down"), ("closed",)),
        },
    ),
    "valve": Domain(
        called_like=("valve", ".water"),
        actions={
            "open_valve": Action("open_valve", ValveEntityFeature.OPEN),
            "close_valve": Action("close_valve", ValveEntityFeature.CLOSE),
            "toggle": Action("toggle", ValveEntityFeature.OPEN | ValveEntityFeature.CLOSE),
            **setting("set_valve_position", "position", _POSITION, ValveEntityFeature.SET_POSITION),
            "stop_valve": Action("stop_valve", ValveEntityFeature.STOP),
        },
        on=("open_valve",),
        off=("close_valve",),
        toggle=("toggle",),
        is_on=either(_OPEN, _CLOSED),
        values=("set_valve_position",),
        value="position",
        aliases={"percentage": "position"},
        words={"open": "open_valve", "close": "close_valve", "stop": "stop_valve"},
        rewrite=_stop,
        own={"turn_on": "open_valve", "turn_off": "close_valve"},
        line=("current_position",),
        attributes=("current_position",),
        rank=11,
        logged=Logged.ALWAYS,
        goals={"open_valve": _OPENED, "close_valve": _SHUT, "stop_valve": _STOPPED, "set_valve_position": _MOVING},
        leads=ends({"open_valve": ("current_position", 100), "close_valve": ("current_position", 0)}),
        kept=("current_position",),
        back={"open": "open_valve", "closed": "close_valve"},
        stop="stop_valve",
        guards=True,
        sensitive=_valve,
        comes_to=_comes_to,
        told_as=OPEN_CLOSED,
        becomes={
            **dict.fromkeys(("open", "on", "running"), ("open", "opening")),
            **dict.fromkeys(("closed", "off", "done", "stopped"), ("closed",)),
        },
    ),
}
