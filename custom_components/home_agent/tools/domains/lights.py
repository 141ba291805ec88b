"""Lights."""

from homeassistant.components.light.const import (
    COLOR_MODES_BRIGHTNESS,
    COLOR_MODES_COLOR,
    ColorMode,
    LightEntityFeature,
)

from ..parameters import channels, color_name, kelvin, number, of_255, one_of, option
from ..spec import Action, Domain, Field, Subject, has, offers

_MODES = "supported_color_modes"
_dims = offers(_MODES, *COLOR_MODES_BRIGHTNESS)
_colours = offers(_MODES, *COLOR_MODES_COLOR)
_warms = offers(_MODES, ColorMode.COLOR_TEMP)

_TRANSITION = Field(number(0, 300), has(LightEntityFeature.TRANSITION))
_FLASH = Field(one_of("short", "long"), has(LightEntityFeature.FLASH))
_LOOKS = {
    "brightness_pct": Field(number(0, 100), _dims),
    "brightness": Field(of_255, _dims),
    "brightness_step_pct": Field(number(-100, 100), _dims),
    "brightness_step": Field(number(-255, 255, whole=True), _dims),
    "color_name": Field(color_name, _colours),
    "rgb_color": Field(channels(3), _colours),
    "hs_color": Field(channels(2, 360), _colours),
    "xy_color": Field(channels(2, 1), _colours),
    "rgbw_color": Field(channels(4), _colours),
    "rgbww_color": Field(channels(5), _colours),
    "color_temp_kelvin": Field(kelvin, _warms),
    "effect": Field(option("effect_list"), has(LightEntityFeature.EFFECT)),
    "transition": _TRANSITION,
    "flash": _FLASH,
}


def _colour(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Give `color` the name of the parameter that takes its form: a name, or three numbers."""
    if "color" not in given:
        return given
    color = given["color"]
    is_name = isinstance(color, str) and not any(letter.isdigit() or letter == "#" for letter in color)
    rest = {name: value for name, value in given.items() if name != "color"}
    return {**rest, "color_name" if is_name else "rgb_color": color}


LIGHT = Domain(
    actions=(
        Action(service="turn_on", fields=_LOOKS),
        Action(service="turn_off", fields={"transition": _TRANSITION, "flash": _FLASH}),
        Action(service="toggle", fields=_LOOKS),
    ),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    values=("turn_on",),
    value="brightness_pct",
    aliases={
        "brightness_percent": "brightness_pct",
        "brightness_percentage": "brightness_pct",
        "level": "brightness_pct",
        "color_temp": "color_temp_kelvin",
        "color_temperature": "color_temp_kelvin",
        "kelvin": "color_temp_kelvin",
        "rgb": "rgb_color",
    },
    words={"dim": "turn_on", "brighten": "turn_on"},
    rewrite=_colour,
)
