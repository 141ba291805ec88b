"""Humidifiers and dehumidifiers."""

from homeassistant.components.humidifier.const import HumidifierEntityFeature

from ..domain import SWITCHED, SWITCHED_BACK, Domain, Field, Logged, plain, setting
from ..parameters import between, option
from ..tolerance import PERCENT, same

DOMAINS = {
    "humidifier": Domain(
        actions={
            **plain("turn_on", "turn_off", "toggle"),
            **setting(
                "set_humidity",
                "humidity",
                Field(
                    between("min_humidity", "max_humidity", default=(0, 100), whole=True), shows=("humidity", PERCENT)
                ),
            ),
            **setting(
                "set_mode",
                "mode",
                Field(option("available_modes"), shows=("mode", same)),
                HumidifierEntityFeature.MODES,
            ),
        },
        on=("turn_on",),
        off=("turn_off",),
        toggle=("toggle",),
        values=("set_humidity", "set_mode"),
        value="humidity",
        aliases={"target_humidity": "humidity", "preset_mode": "mode"},
        line=("current_humidity", "humidity", "mode"),
        attributes=("current_humidity", "humidity", "mode"),
        rank=9,
        logged=Logged.BY_USER,
        goals=SWITCHED,
        kept=("humidity", "mode"),
        back=SWITCHED_BACK,
        is_plain=True,
    )
}
