"""Lights."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from homeassistant.components.light.const import (
    COLOR_MODES_BRIGHTNESS,
    COLOR_MODES_COLOR,
    ColorMode,
    LightEntityFeature,
)
from homeassistant.core import State

from ..domain import Action, Field, Logged, ServiceStep, Snapshot, Subject
from ..parameters import channels, color_name, kelvin, number, of_255, one_of, option
from ..records import SWITCHABLE, exchanged, has, offers
from ..tolerance import STATE, Check, Tolerance, channels as near_channels, colour, near, near_share, number_of, same

_MODES = "supported_color_modes"
_dims = offers(_MODES, *COLOR_MODES_BRIGHTNESS)
_colours = offers(_MODES, *COLOR_MODES_COLOR)
_warms = offers(_MODES, ColorMode.COLOR_TEMP)
_near = near(1, 8)


def _brightness(share: float, *, step: bool = False) -> tuple[str, Tolerance]:
    """Show a brightness (of 255) that is given in units of `share`, as a level or as a step from where it is."""

    def tolerance(asked: Any, shown: Any, before: State) -> Check:
        goal = (number_of(asked) or 0) * share
        return _near(min(255, max(0, (number_of(shown) or 0) + goal)) if step else goal, shown, before)

    return "brightness", tolerance


_TRANSITION = Field(number(0, 300), has(LightEntityFeature.TRANSITION))
_FLASH = Field(one_of("short", "long"), has(LightEntityFeature.FLASH))
_LOOKS = {
    "brightness_pct": Field(number(0, 100), _dims, shows=_brightness(2.55)),
    "brightness": Field(of_255, _dims, shows=("brightness", _near)),
    "brightness_step_pct": Field(number(-100, 100), _dims, shows=_brightness(2.55, step=True)),
    "brightness_step": Field(number(-255, 255, whole=True), _dims, shows=_brightness(1, step=True)),
    "color_name": Field(color_name, _colours, shows=("hs_color", colour("color_name"))),
    "rgb_color": Field(channels(3), _colours, shows=("hs_color", colour("rgb_color"))),
    "hs_color": Field(channels(2, 360), _colours, shows=("hs_color", colour("hs_color"))),
    "xy_color": Field(channels(2, 1), _colours, shows=("hs_color", colour("xy_color"))),
    "rgbw_color": Field(channels(4), _colours, shows=("rgbw_color", near_channels)),
    "rgbww_color": Field(channels(5), _colours, shows=("rgbww_color", near_channels)),
    "color_temp_kelvin": Field(kelvin, _warms, shows=("color_temp_kelvin", near_share(0.01, 0.05))),
    "effect": Field(option("effect_list"), has(LightEntityFeature.EFFECT), shows=("effect", same)),
    "transition": _TRANSITION,
    "flash": _FLASH,
}
COLOURS = ("color_temp_kelvin", "hs_color", "rgb_color", "rgbw_color", "rgbww_color", "xy_color")
_COLOUR_OF_MODE = {
    "color_temp": "color_temp_kelvin", "hs": "hs_color", "rgb": "rgb_color", "rgbw": "rgbw_color",
    "rgbww": "rgbww_color", "xy": "xy_color",
}  # fmt: skip


def _colour(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Give `color` the name of the parameter that takes its form: a name, or three numbers."""
    if "color" not in given:
        return given
    color = given["color"]
    is_name = isinstance(color, str) and not any(letter.isdigit() or letter == "#" for letter in color)
    return exchanged(given, "color", "color_name" if is_name else "rgb_color", color)


def _restore(before: Snapshot, now: State, different: set[str]) -> list[ServiceStep] | None:
    """Return one step: a light that was off is turned off, any other is turned on as it was."""
    if before.state != "on":
        return [ServiceStep("turn_off")] if before.state == "off" else None
    whole = STATE in different
    shown = before.attributes
    data: dict[str, Any] = {}
    if (whole or "brightness" in different) and shown.get("brightness") is not None:
        data["brightness"] = shown["brightness"]
    form = _COLOUR_OF_MODE.get(str(shown.get("color_mode")))
    if form and (whole or not different.isdisjoint((*COLOURS, "color_mode"))) and shown.get(form) is not None:
        data[form] = shown[form]
    if (whole or "effect" in different) and shown.get("effect") in (now.attributes.get("effect_list") or ()):
        data["effect"] = shown["effect"]
    return [ServiceStep("turn_on", data)] if data or whole else None


def _search_words(attributes: Mapping[str, Any]) -> Iterable[str]:
    modes = attributes.get(_MODES) or ()
    known = {str(mode) for mode in modes} if isinstance(modes, (list, tuple, set, frozenset)) else set()
    if known - {"onoff", "unknown"}:
        yield "brightness"
    if "color_temp" in known:
        yield "color temperature"
    if known & {"hs", "rgb", "rgbw", "rgbww", "xy"}:
        yield "color"


DOMAINS = {
    "light": replace(
        SWITCHABLE,
        actions={
            "turn_on": Action("turn_on", fields=_LOOKS),
            "turn_off": Action("turn_off", fields={"transition": _TRANSITION, "flash": _FLASH}),
            "toggle": Action("toggle", fields=_LOOKS),
        },
        values=("turn_on",),
        value="brightness_pct",
        aliases={
            "brightness_percent": "brightness_pct", "brightness_percentage": "brightness_pct", "level": "brightness_pct",
            "color_temp": "color_temp_kelvin", "color_temperature": "color_temp_kelvin", "kelvin": "color_temp_kelvin",
            "rgb": "rgb_color",
        },
        words={"dim": "turn_on", "brighten": "turn_on"},
        rewrite=_colour,
        line=("brightness",),
        attributes=("brightness", "color_temp_kelvin", "rgb_color", "effect"),
        search_words=_search_words,
        rank=0,
        logged=Logged.BY_USER,
        off_at_zero=("brightness", "brightness_pct"),
        kept=("brightness", "color_mode", *COLOURS, "effect"),
        restore=_restore,
        in_a_room=True,
        is_light=True,
    )
}  # fmt: skip
