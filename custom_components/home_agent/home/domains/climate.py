"""Climate: thermostats, air conditioners, heaters."""

from homeassistant.components.climate.const import ClimateEntityFeature, HVACMode
from homeassistant.util.json import JsonValueType

from ..domain import (
    Action,
    Domain,
    Field,
    Logged,
    Subject,
    at,
    away_from,
    features_as_words,
    has,
    is_in,
    offers,
    setting,
)
from ..parameters import between, option, temperature
from ..tolerance import PERCENT, STATE, near, same

_HEATING = (HVACMode.HEAT_COOL, HVACMode.AUTO, HVACMode.HEAT, HVACMode.COOL, HVACMode.FAN_ONLY, HVACMode.DRY)
_RANGE = has(ClimateEntityFeature.TARGET_TEMPERATURE_RANGE)
_DEGREES = near(0.05, 0.5)


def _first_mode(subject: Subject) -> dict[str, JsonValueType]:
    """Return the mode in which a device without a switch is on: the most complete one it has."""
    modes = subject.options("hvac_modes")
    return {"hvac_mode": next(str(mode) for mode in _HEATING if mode in modes)}


def _choice(name: str, options: str) -> Field:
    return Field(option(options), shows=(name, same))


DOMAINS = {
    "climate": Domain(
        actions={
            "turn_on": Action("turn_on", ClimateEntityFeature.TURN_ON),
            "turn_off": Action("turn_off", ClimateEntityFeature.TURN_OFF),
            "mode_on": Action("set_hvac_mode", when=offers("hvac_modes", *_HEATING), data=_first_mode),
            "mode_off": Action(
                "set_hvac_mode",
                when=offers("hvac_modes", HVACMode.OFF),
                data=lambda _subject: {"hvac_mode": HVACMode.OFF.value},
            ),
            **setting(
                "set_hvac_mode",
                "hvac_mode",
                Field(option("hvac_modes"), offers("hvac_modes"), shows=(STATE, same)),
            ),
            **setting(
                "set_preset_mode",
                "preset_mode",
                _choice("preset_mode", "preset_modes"),
                ClimateEntityFeature.PRESET_MODE,
            ),
            "set_temperature": Action(
                "set_temperature",
                fields={
                    "temperature": Field(
                        temperature,
                        has(ClimateEntityFeature.TARGET_TEMPERATURE),
                        shows=("temperature", _DEGREES),
                    ),
                    "target_temp_low": Field(temperature, _RANGE, shows=("target_temp_low", _DEGREES)),
                    "target_temp_high": Field(temperature, _RANGE, shows=("target_temp_high", _DEGREES)),
                },
                together=frozenset({"target_temp_low", "target_temp_high"}),
            ),
            **setting(
                "set_humidity",
                "humidity",
                Field(between("min_humidity", "max_humidity", default=(0, 100)), shows=("humidity", PERCENT)),
                ClimateEntityFeature.TARGET_HUMIDITY,
            ),
            **setting("set_fan_mode", "fan_mode", _choice("fan_mode", "fan_modes"), ClimateEntityFeature.FAN_MODE),
            **setting(
                "set_swing_mode", "swing_mode", _choice("swing_mode", "swing_modes"), ClimateEntityFeature.SWING_MODE
            ),
            **setting(
                "set_swing_horizontal_mode",
                "swing_horizontal_mode",
                _choice("swing_horizontal_mode", "swing_horizontal_modes"),
                ClimateEntityFeature.SWING_HORIZONTAL_MODE,
            ),
        },
        on=("turn_on", "mode_on"),
        off=("turn_off", "mode_off"),
        is_on=is_in(unless=(HVACMode.OFF,)),
        values=(
            "set_hvac_mode", "set_preset_mode", "set_temperature", "set_humidity", "set_fan_mode", "set_swing_mode",
            "set_swing_horizontal_mode",
        ),
        value="temperature",
        aliases={
            "target_temperature": "temperature", "temp": "temperature", "mode": "hvac_mode", "operation_mode": "hvac_mode",
            "preset": "preset_mode", "target_temperature_low": "target_temp_low",
            "target_temperature_high": "target_temp_high", "target_humidity": "humidity", "fan_speed": "fan_mode",
            "swing": "swing_mode",
        },
        line=(
            "current_temperature", "temperature", "target_temp_low", "target_temp_high", "hvac_action", "preset_mode",
        ),
        attributes=(
            "current_temperature", "temperature", "target_temp_low", "target_temp_high", "current_humidity", "humidity",
            "hvac_action", "preset_mode", "fan_mode", "swing_mode",
        ),
        search_words=features_as_words(
            (ClimateEntityFeature.TARGET_TEMPERATURE | ClimateEntityFeature.TARGET_TEMPERATURE_RANGE, "temperature"),
            (ClimateEntityFeature.TARGET_HUMIDITY, "humidity"),
            (ClimateEntityFeature.FAN_MODE, "fan mode"),
            (ClimateEntityFeature.PRESET_MODE, "preset"),
            (ClimateEntityFeature.SWING_MODE, "swing"),
        ),
        rank=3,
        logged=Logged.BY_USER,
        goals={"turn_on": away_from("off"), "turn_off": at("off")},
        kept=(
            "temperature", "target_temp_low", "target_temp_high", "preset_mode", "fan_mode", "swing_mode",
            "swing_horizontal_mode", "humidity",
        ),
        sets_state=("set_hvac_mode", "hvac_mode"),
        is_plain=True,
    )
}  # fmt: skip
