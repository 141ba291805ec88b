"""What a service call should lead to, as far as the state of an entity can show it.

Tables per domain of the entity; its generic services (`homeassistant.turn_on`) count as its own. What a state cannot show
(a pressed button, a scene, a script, the next track) has no expectation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from homeassistant.const import STATE_UNKNOWN
from homeassistant.core import State

from .closeness import (
    Check,
    Closeness,
    channels,
    colour,
    moment,
    near,
    near_share,
    number_of,
    other_than,
    same,
    yes_or_no,
)
from .plan import ServiceCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """States in which an entity is where it was sent."""

    one_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    under_way: frozenset[str] = frozenset()
    """States in which it is going there: nobody waits for a shutter."""
    says_enough: bool = True
    """False: it takes an attribute as well to know."""

    def reached(self, state: str) -> bool:
        """Return whether it is there."""
        return state in self.one_of if self.one_of else state not in self.none_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an entity should come to: a state, a value as its state, attributes, or several of these."""

    goal: Goal | None = None
    value: Check | None = None
    attributes: Mapping[str, Check] = field(default_factory=dict)
    takes: float = 0
    """Seconds that it was asked to take: a light that fades may show nothing of it before its end."""

    def reached(self, before: State, now: State) -> bool | None:
        """Return whether it is so; None when the entity shows nothing of it."""
        if now.state == STATE_UNKNOWN and before.state == STATE_UNKNOWN:
            return None
        shown = [
            check(now.attributes.get(name))
            for name, check in self.attributes.items()
            if name in now.attributes or before.attributes.get(name) is not None
        ]
        if self.goal is not None and (self.goal.says_enough or shown):
            shown.append(self.goal.reached(now.state))
        if self.value is not None:
            shown.append(self.value(now.state))
        return all(shown) if shown else None

    def under_way(self, now: State) -> bool:
        """Return whether the entity is on its way."""
        return self.goal is not None and now.state in self.goal.under_way

    def moved(self, before: State, now: State) -> bool:
        """Return whether anything of it is different from before."""
        return now.state != before.state or any(
            now.attributes.get(name) != before.attributes.get(name) for name in self.attributes
        )

    def and_then(self, later: Expectation) -> Expectation:
        """Return what is expected after a second call on the same entity."""
        return Expectation(
            goal=later.goal or self.goal,
            value=later.value or self.value,
            attributes={**self.attributes, **later.attributes},
            takes=max(self.takes, later.takes),
        )


def _at(*states: str, under_way: tuple[str, ...] = ()) -> Goal:
    return Goal(one_of=frozenset(states), under_way=frozenset(under_way))


def _not(*states: str) -> Goal:
    return Goal(none_of=frozenset(states))


_SWITCHED = {"turn_on": _at("on"), "turn_off": _at("off")}
_OPENED = _at("open", under_way=("opening",))
_CLOSED = _at("closed", under_way=("closing",))
_STOPPED = _not("opening", "closing")
_MOVING = Goal(
    none_of=frozenset(("opening", "closing")), under_way=frozenset(("opening", "closing")), says_enough=False
)
_PLAYING, _SILENT = _at("playing", "buffering"), _not("playing", "buffering")

_GOALS: Mapping[str, Mapping[str, Goal]] = {
    **dict.fromkeys(
        ("automation", "fan", "humidifier", "input_boolean", "light", "remote", "siren", "switch"), _SWITCHED
    ),
    "alarm_control_panel": {
        **{
            f"alarm_arm_{mode}": _at(f"armed_{mode}", under_way=("arming", "pending"))
            for mode in ("away", "home", "night", "vacation", "custom_bypass")
        },
        "alarm_disarm": _at("disarmed"),
    },
    "climate": {"turn_on": _not("off"), "turn_off": _at("off")},
    "cover": {
        "open_cover": _OPENED,
        "close_cover": _CLOSED,
        "stop_cover": _STOPPED,
        "set_cover_position": _MOVING,
        "open_cover_tilt": _MOVING,
        "close_cover_tilt": _MOVING,
        "set_cover_tilt_position": _MOVING,
    },
    "lawn_mower": {
        "start_mowing": _at("mowing"),
        "pause": _at("paused"),
        "dock": _at("docked", under_way=("returning",)),
    },
    "lock": {
        "lock": _at("locked", under_way=("locking",)),
        "unlock": _at("unlocked", "open", under_way=("unlocking", "opening")),
        "open": _at("open", "unlocked", under_way=("unlocking", "opening")),
    },
    "media_player": {
        "turn_on": _not("off", "standby"),
        "turn_off": _at("off", "standby"),
        "media_play": _PLAYING,
        "media_pause": _SILENT,
        "media_stop": _SILENT,
    },
    "script": {"turn_off": _at("off")},
    "timer": {"start": _at("active"), "pause": _at("paused"), "cancel": _at("idle"), "finish": _at("idle")},
    "vacuum": {
        "start": _at("cleaning"),
        "clean_spot": _at("cleaning"),
        "pause": _not("cleaning"),
        "stop": _not("cleaning"),
        "return_to_base": _at("docked", under_way=("returning",)),
    },
    "valve": {
        "open_valve": _OPENED,
        "close_valve": _CLOSED,
        "stop_valve": _STOPPED,
        "set_valve_position": _MOVING,
    },
    "water_heater": {"turn_on": _not("off"), "turn_off": _at("off")},
}
"""By domain and service."""

_PERCENT = near(0.5, 5)
_ATTRIBUTES: Mapping[str, Mapping[str, tuple[str, Closeness]]] = {
    "climate": {
        **{key: (key, near(0.05, 0.5)) for key in ("temperature", "target_temp_low", "target_temp_high")},
        **{key: (key, same) for key in ("preset_mode", "fan_mode", "swing_mode", "swing_horizontal_mode")},
        "humidity": ("humidity", _PERCENT),
    },
    "cover": {"position": ("current_position", _PERCENT), "tilt_position": ("current_tilt_position", _PERCENT)},
    "fan": {
        "preset_mode": ("preset_mode", same),
        "oscillating": ("oscillating", yes_or_no),
        "direction": ("direction", same),
    },
    "humidifier": {"humidity": ("humidity", _PERCENT), "mode": ("mode", same)},
    "light": {
        "brightness": ("brightness", near(1, 8)),
        "color_temp_kelvin": ("color_temp_kelvin", near_share(0.01, 0.05)),
        **{form: ("hs_color", colour(form)) for form in ("color_name", "rgb_color", "hs_color", "xy_color")},
        **{form: (form, channels) for form in ("rgbw_color", "rgbww_color")},
        "effect": ("effect", same),
    },
    "media_player": {
        "volume_level": ("volume_level", near(0.005, 0.05)),
        "is_volume_muted": ("is_volume_muted", yes_or_no),
        "source": ("source", same),
        "sound_mode": ("sound_mode", same),
        "shuffle": ("shuffle", yes_or_no),
        "repeat": ("repeat", same),
    },
    "remote": {"activity": ("current_activity", same)},
    "vacuum": {"fan_speed": ("fan_speed", same)},
    "valve": {"position": ("current_position", _PERCENT)},
    "water_heater": {
        "temperature": ("temperature", near(0.05, 0.5)),
        "operation_mode": ("operation_mode", same),
        "away_mode": ("away_mode", yes_or_no),
    },
}
"""By domain and key of the data: the attribute that shows it, and how near it has to come."""

_VALUES: Mapping[str, tuple[tuple[str, ...], Closeness]] = {
    "climate": (("hvac_mode",), same),
    "counter": (("value",), near(0, 0)),
    "date": (("date",), moment),
    "datetime": (("datetime",), moment),
    "input_number": (("value",), near(1e-6, 1e-6)),
    "input_select": (("option",), same),
    "input_text": (("value",), same),
    "input_datetime": (("datetime", "date", "time"), moment),
    "number": (("value",), near(1e-6, 0.5)),
    "select": (("option",), same),
    "text": (("value",), same),
    "time": (("time",), moment),
}
"""Domains whose state is what the data sets."""

_ENDS = {"open_cover": 100, "close_cover": 0, "open_valve": 100, "close_valve": 0}
_TILTS = {"open_cover_tilt": 100, "close_cover_tilt": 0}
_STEPS = {
    ("media_player", "volume_up"): ("volume_level", 1.0),
    ("media_player", "volume_down"): ("volume_level", 0.0),
    ("fan", "increase_speed"): ("percentage", 100),
    ("fan", "decrease_speed"): ("percentage", 0),
}
"""The attribute that a step moves, and where it ends."""
_STATE_STEPS = {"increment": "max", "decrement": "min"}
_OTHER_OPTION = frozenset({"select_next", "select_previous", "select_first", "select_last"})
_TOGGLES = {"cover": ("open_cover", "close_cover"), "valve": ("open_valve", "close_valve")}
_RESTING = frozenset({"off", "closed", "standby"})


def expectation(before: State, call: ServiceCall) -> Expectation | None:
    """Return what the call should make of an entity that is `before`; None when nothing can be seen."""
    domain, service, data = before.domain, _resolved(before, call.service), call.data
    attributes = {
        **_given(before, data),
        **_derived(before, service, data),
    }
    goal = _GOALS.get(domain, {}).get(service)
    if service == "turn_off" or _turns_off(domain, service, data):
        goal, attributes = _GOALS.get(domain, {}).get("turn_off"), {}
    elif domain == "fan" and service == "set_percentage":
        goal = _at("on")
    value = _value(before, service, data)
    if goal is None and value is None and not attributes:
        return None
    takes = number_of(data.get("transition")) or 0
    return Expectation(goal=goal, value=value, attributes=attributes, takes=takes)


def _resolved(before: State, service: str) -> str:
    """Return what a toggle comes to."""
    if service == "toggle":
        on, off = _TOGGLES.get(before.domain, ("turn_on", "turn_off"))
        if before.state in ("opening", "closing"):
            return "toggle"  # it may stop or turn round
        return on if before.state in _RESTING else off
    if service == "media_play_pause":
        return "media_pause" if before.state == "playing" else "media_play"
    return service


def _turns_off(domain: str, service: str, data: Mapping[str, Any]) -> bool:
    """Return whether a level of zero turns it off, as Home Assistant has it."""
    if domain not in ("light", "fan") or service not in ("turn_on", "set_percentage"):
        return False
    keys = ("brightness", "brightness_pct") if domain == "light" else ("percentage",)
    return any(number_of(data.get(key)) == 0 for key in keys)


def _given(before: State, data: Mapping[str, Any]) -> dict[str, Check]:
    """Return the checks of what the data names."""
    return {
        name: closeness(data[key], before.attributes.get(name))
        for key, (name, closeness) in _ATTRIBUTES.get(before.domain, {}).items()
        if data.get(key) is not None
    }


def _derived(before: State, service: str, data: Mapping[str, Any]) -> dict[str, Check]:
    """Return the checks of what has to be worked out: percentages, steps, ends of a way."""
    shown = before.attributes
    if before.domain == "light":
        level = _brightness(before, data)
        return {} if level is None else {"brightness": near(1, 8)(level, shown.get("brightness"))}
    if before.domain == "fan" and (percentage := data.get("percentage")) is not None:
        step = number_of(shown.get("percentage_step")) or 5
        return {"percentage": near(0.5, step)(percentage, shown.get("percentage"))}
    if service in _ENDS and shown.get("current_position") is not None:
        return {"current_position": _PERCENT(_ENDS[service], shown["current_position"])}
    if service in _TILTS:
        return {"current_tilt_position": _PERCENT(_TILTS[service], shown.get("current_tilt_position"))}
    if (step_of := _STEPS.get((before.domain, service))) is not None:
        name, end = step_of
        return {} if shown.get(name) in (None, end) else {name: other_than(shown[name])}
    return {}


def _brightness(before: State, data: Mapping[str, Any]) -> float | None:
    """Return the brightness (of 255) that a percentage or a step comes to."""
    now = number_of(before.attributes.get("brightness")) or 0
    if (percent := number_of(data.get("brightness_pct"))) is not None:
        return percent * 255 / 100
    if (percent := number_of(data.get("brightness_step_pct"))) is not None:
        return min(255, max(0, now + percent * 255 / 100))
    if (step := number_of(data.get("brightness_step"))) is not None:
        return min(255, max(0, now + step))
    return None


def _value(before: State, service: str, data: Mapping[str, Any]) -> Check | None:
    """Return the check of the state itself, where it is the value."""
    if before.domain not in _VALUES:
        return other_than(before.state) if service == "toggle" else None
    if service in _STATE_STEPS and number_of(before.state) != number_of(before.attributes.get(_STATE_STEPS[service])):
        return other_than(before.state)
    if service in _OTHER_OPTION:
        return _option(before, service)
    keys, closeness = _VALUES[before.domain]
    return next((closeness(data[key], before.state) for key in keys if data.get(key) is not None), None)


def _option(before: State, service: str) -> Check | None:
    """Return the check for a choice that is named by its place."""
    options = list(before.attributes.get("options") or ())
    if not options:
        return None
    if service in ("select_first", "select_last"):
        return same(options[0 if service == "select_first" else -1], None)
    return other_than(before.state) if len(options) > 1 else None
