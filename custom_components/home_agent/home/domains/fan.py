"""Fans."""

from dataclasses import replace
from typing import Any

from homeassistant.components.fan.const import FanEntityFeature as Feature
from homeassistant.core import State
from homeassistant.util.json import JsonValueType

from ..domain import Action, Field, Logged, Subject
from ..parameters import boolean, number, one_of, option, split_number
from ..records import SWITCHABLE, SWITCHED, at, exchanged, features_as_words, has, setting, shown
from ..tolerance import Check, near, number_of, same, steps, yes_or_no

_SPEEDS = {"off": 0, "low": 33, "medium": 66, "mid": 66, "high": 100, "max": 100, "full": 100, "min": 1}


def _speed(value: object, subject: Subject) -> JsonValueType:
    """Read a percentage, or one of the names that fans used to have."""
    named = _SPEEDS.get(str(value).strip().casefold())
    return named if named is not None else number(0, 100, whole=True)(value, subject)


def _speed_or_preset(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Give `speed` the name of what it is: a percentage when it reads like one, else a preset."""
    if "speed" not in given:
        return given
    value = given["speed"]
    is_speed = split_number(value) is not None or str(value).strip().casefold() in _SPEEDS
    return exchanged(given, "speed", "percentage" if is_speed else "preset_mode", value)


def _within_a_step(asked: Any, shown: Any, before: State) -> Check:
    """Expect a percentage as near as the fan's steps allow."""
    return near(0.5, number_of(before.attributes.get("percentage_step")) or 5)(asked, shown, before)


_PERCENTAGE = Field(_speed, has(Feature.SET_SPEED), shows=("percentage", _within_a_step))
_PRESET = Field(option("preset_modes"), has(Feature.PRESET_MODE), shows=("preset_mode", same))
_STEP = {"percentage_step": Field(number(1, 100, whole=True))}

_TURNING_ON = frozenset({"set_percentage", "set_preset_mode", "increase_speed"})
"""Services that turn on a fan that is off."""

DOMAINS = {
    "fan": replace(
        SWITCHABLE,
        actions={
            "turn_on": Action("turn_on", Feature.TURN_ON, {"percentage": _PERCENTAGE, "preset_mode": _PRESET}),
            "turn_off": Action("turn_off", Feature.TURN_OFF),
            "toggle": Action("toggle", Feature.TURN_ON | Feature.TURN_OFF),
            **setting("set_percentage", "percentage", _PERCENTAGE),
            **setting("set_preset_mode", "preset_mode", _PRESET),
            **shown("oscillate", "oscillating", boolean, yes_or_no, Feature.OSCILLATE),
            **shown("set_direction", "direction", one_of("forward", "reverse"), same, Feature.DIRECTION),
            "increase_speed": Action("increase_speed", Feature.SET_SPEED, _STEP),
            "decrease_speed": Action("decrease_speed", Feature.SET_SPEED, _STEP),
        },
        values=("set_percentage", "set_preset_mode", "oscillate", "set_direction"),
        value="speed",
        aliases={
            "speed_percentage": "percentage", "speed_pct": "percentage", "preset": "preset_mode", "mode": "preset_mode",
            "oscillate": "oscillating", "fan_speed": "speed",
        },
        rewrite=_speed_or_preset,
        line=("percentage", "preset_mode"),
        attributes=("percentage", "preset_mode", "oscillating", "direction"),
        search_words=features_as_words(
            (Feature.SET_SPEED, "speed"),
            (Feature.OSCILLATE, "oscillate"),
            (Feature.DIRECTION, "direction"),
        ),
        rank=5,
        logged=Logged.BY_USER,
        goals={**SWITCHED, "set_percentage": at("on")},
        off_at_zero=("percentage",),
        comes_to=lambda _state, service, _data: ("turn_on",) if service in _TURNING_ON else (),
        leads=steps({"increase_speed": ("percentage", 100), "decrease_speed": ("percentage", 0)}),
        kept=("percentage", "preset_mode", "oscillating", "direction"),
        in_a_room=True,
    )
}  # fmt: skip
