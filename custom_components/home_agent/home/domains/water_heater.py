"""Water heaters."""

from homeassistant.components.water_heater.const import WaterHeaterEntityFeature

from ..domain import Action, Domain, Field, Logged, at, away_from, is_in, setting
from ..parameters import boolean, option, temperature
from ..tolerance import near, same, yes_or_no

DOMAINS = {
    "water_heater": Domain(
        actions={
            "turn_on": Action("turn_on", WaterHeaterEntityFeature.ON_OFF),
            "turn_off": Action("turn_off", WaterHeaterEntityFeature.ON_OFF),
            **setting(
                "set_operation_mode",
                "operation_mode",
                Field(option("operation_list"), shows=("operation_mode", same)),
                WaterHeaterEntityFeature.OPERATION_MODE,
            ),
            **setting(
                "set_temperature",
                "temperature",
                Field(temperature, shows=("temperature", near(0.05, 0.5))),
                WaterHeaterEntityFeature.TARGET_TEMPERATURE,
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
        sets_state=("set_operation_mode", "operation_mode"),
    )
}
