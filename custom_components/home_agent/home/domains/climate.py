"""The climate of rooms and water: thermostats, air conditioners, heaters, humidifiers, water heaters."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from homeassistant.components.climate.const import ClimateEntityFeature, HVACMode
from homeassistant.components.humidifier.const import HumidifierEntityFeature
from homeassistant.components.water_heater.const import WaterHeaterEntityFeature
from homeassistant.util.json import JsonValueType

from ..domain import Action, ComesTo, Domain, Field, Logged, Subject
from ..parameters import between, boolean, choice, option, temperature
from ..records import ON_OFF, SWITCHABLE, at, away_from, features_as_words, has, is_in, offers, setting, shown
from ..tolerance import PERCENT, STATE, near, same, yes_or_no

_HEATING = (HVACMode.HEAT_COOL, HVACMode.AUTO, HVACMode.HEAT, HVACMode.COOL, HVACMode.FAN_ONLY, HVACMode.DRY)
_RANGE = has(ClimateEntityFeature.TARGET_TEMPERATURE_RANGE)
_DEGREES = near(0.05, 0.5)
_HUMIDITY = between("min_humidity", "max_humidity", default=(0, 100))
_RUNNING = ("heat", "cool", "heat_cool", "auto", "dry", "fan_only")
_HEATS_WATER = ("eco", "electric", "performance", "high_demand", "heat_pump", "gas", "on")


def _first_mode(subject: Subject) -> dict[str, JsonValueType]:
    """Return the mode in which a device without a switch is on: the most complete one it has."""
    modes = subject.options("hvac_modes")
    return {"hvac_mode": next(str(mode) for mode in _HEATING if mode in modes)}


def _switched_by(key: str) -> ComesTo:
    """Return what a mode comes to: turning off, or on."""

    def comes_to(_state: object, _service: str, data: Mapping[str, Any]) -> Iterable[str]:
        return (f"turn_{'off' if data[key] == 'off' else 'on'}",) if key in data else ()

    return comes_to


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
            **setting("set_hvac_mode", "hvac_mode", Field(option("hvac_modes"), offers("hvac_modes"), shows=(STATE, same))),
            **choice("set_preset_mode", "preset_mode", "preset_modes", ClimateEntityFeature.PRESET_MODE),
            "set_temperature": Action(
                "set_temperature",
                fields={
                    "temperature": Field(
                        temperature, has(ClimateEntityFeature.TARGET_TEMPERATURE), shows=("temperature", _DEGREES)
                    ),
                    "target_temp_low": Field(temperature, _RANGE, shows=("target_temp_low", _DEGREES)),
                    "target_temp_high": Field(temperature, _RANGE, shows=("target_temp_high", _DEGREES)),
                },
                together=frozenset({"target_temp_low", "target_temp_high"}),
            ),
            **shown("set_humidity", "humidity", _HUMIDITY, PERCENT, ClimateEntityFeature.TARGET_HUMIDITY),
            **choice("set_fan_mode", "fan_mode", "fan_modes", ClimateEntityFeature.FAN_MODE),
            **choice("set_swing_mode", "swing_mode", "swing_modes", ClimateEntityFeature.SWING_MODE),
            **choice(
                "set_swing_horizontal_mode",
                "swing_horizontal_mode",
                "swing_horizontal_modes",
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
        comes_to=_switched_by("hvac_mode"),
        sets_state=("set_hvac_mode", "hvac_mode"),
        told_as=ON_OFF,
        becomes={**dict.fromkeys(("on", "running"), _RUNNING), "off": ("off",)},
        is_never_done=True,
    ),
    "humidifier": replace(
        SWITCHABLE,
        actions={
            **SWITCHABLE.actions,
            **shown(
                "set_humidity", "humidity", between("min_humidity", "max_humidity", default=(0, 100), whole=True), PERCENT
            ),
            **choice("set_mode", "mode", "available_modes", HumidifierEntityFeature.MODES),
        },
        values=("set_humidity", "set_mode"),
        value="humidity",
        aliases={"target_humidity": "humidity", "preset_mode": "mode"},
        line=("current_humidity", "humidity", "mode"),
        attributes=("current_humidity", "humidity", "mode"),
        rank=9,
        logged=Logged.BY_USER,
        kept=("humidity", "mode"),
        in_a_room=True,
    ),
    "water_heater": Domain(
        actions={
            "turn_on": Action("turn_on", WaterHeaterEntityFeature.ON_OFF),
            "turn_off": Action("turn_off", WaterHeaterEntityFeature.ON_OFF),
            **choice(
                "set_operation_mode", "operation_mode", "operation_list", WaterHeaterEntityFeature.OPERATION_MODE
            ),
            **shown(
                "set_temperature", "temperature", temperature, _DEGREES, WaterHeaterEntityFeature.TARGET_TEMPERATURE
            ),
            **setting(
                "set_away_mode",
                "away_mode",
                Field(boolean, shows=("away_mode", yes_or_no), back=lambda shown: shown == "on"),
                WaterHeaterEntityFeature.AWAY_MODE,
            ),
        },
        on=("turn_on",),
        off=("turn_off",),
        is_on=is_in(unless=("off",)),
        values=("set_operation_mode", "set_temperature", "set_away_mode"),
        value="temperature",
        aliases={"target_temperature": "temperature", "mode": "operation_mode", "away": "away_mode"},
        line=("current_temperature", "temperature", "operation_mode"),
        attributes=("current_temperature", "temperature", "operation_mode", "away_mode"),
        rank=10,
        logged=Logged.BY_USER,
        goals={"turn_on": away_from("off"), "turn_off": at("off")},
        kept=("temperature", "operation_mode", "away_mode"),
        comes_to=_switched_by("operation_mode"),
        sets_state=("set_operation_mode", "operation_mode"),
        told_as=ON_OFF,
        asked_last=True,
        becomes={"on": _HEATS_WATER, "off": ("off",)},
        is_never_done=True,
    ),
}  # fmt: skip
