"""Everything that keeps air and water as people want them: climate, fan, humidifier, water heater."""

from homeassistant.components.climate.const import ClimateEntityFeature, HVACMode
from homeassistant.components.fan.const import FanEntityFeature
from homeassistant.components.humidifier.const import HumidifierEntityFeature
from homeassistant.components.water_heater.const import WaterHeaterEntityFeature
from homeassistant.const import STATE_UNKNOWN
from homeassistant.util.json import JsonValueType

from ..parameters import between, boolean, number, one_of, option, split_number, temperature
from ..spec import Action, Domain, Field, Subject, has, offers

_HEATING = (HVACMode.HEAT_COOL, HVACMode.AUTO, HVACMode.HEAT, HVACMode.COOL, HVACMode.FAN_ONLY, HVACMode.DRY)


def _first_mode(subject: Subject) -> dict[str, JsonValueType]:
    """Return the mode in which a device without a switch is on: the most complete one it has."""
    modes = subject.options("hvac_modes")
    return {"hvac_mode": next(str(mode) for mode in _HEATING if mode in modes)}


def _climate_is_on(subject: Subject) -> bool | None:
    return None if subject.state.state == STATE_UNKNOWN else subject.state.state != HVACMode.OFF


_RANGE = has(ClimateEntityFeature.TARGET_TEMPERATURE_RANGE)
CLIMATE = Domain(
    actions=(
        Action(service="turn_on", feature=ClimateEntityFeature.TURN_ON),
        Action(service="turn_off", feature=ClimateEntityFeature.TURN_OFF),
        Action(name="mode_on", service="set_hvac_mode", when=offers("hvac_modes", *_HEATING), data=_first_mode),
        Action(
            name="mode_off",
            service="set_hvac_mode",
            when=offers("hvac_modes", HVACMode.OFF),
            data=lambda _subject: {"hvac_mode": HVACMode.OFF.value},
        ),
        Action(
            service="set_hvac_mode",
            fields={"hvac_mode": Field(option("hvac_modes"), offers("hvac_modes"))},
            required=("hvac_mode",),
        ),
        Action(
            service="set_preset_mode",
            feature=ClimateEntityFeature.PRESET_MODE,
            fields={"preset_mode": Field(option("preset_modes"))},
            required=("preset_mode",),
        ),
        Action(
            service="set_temperature",
            fields={
                "temperature": Field(temperature, has(ClimateEntityFeature.TARGET_TEMPERATURE)),
                "target_temp_low": Field(temperature, _RANGE),
                "target_temp_high": Field(temperature, _RANGE),
            },
        ),
        Action(
            service="set_humidity",
            feature=ClimateEntityFeature.TARGET_HUMIDITY,
            fields={"humidity": Field(between("min_humidity", "max_humidity", default=(0, 100)))},
            required=("humidity",),
        ),
        Action(
            service="set_fan_mode",
            feature=ClimateEntityFeature.FAN_MODE,
            fields={"fan_mode": Field(option("fan_modes"))},
            required=("fan_mode",),
        ),
        Action(
            service="set_swing_mode",
            feature=ClimateEntityFeature.SWING_MODE,
            fields={"swing_mode": Field(option("swing_modes"))},
            required=("swing_mode",),
        ),
        Action(
            service="set_swing_horizontal_mode",
            feature=ClimateEntityFeature.SWING_HORIZONTAL_MODE,
            fields={"swing_horizontal_mode": Field(option("swing_horizontal_modes"))},
            required=("swing_horizontal_mode",),
        ),
    ),
    on=("turn_on", "mode_on"),
    off=("turn_off", "mode_off"),
    is_on=_climate_is_on,
    values=(
        "set_hvac_mode", "set_preset_mode", "set_temperature", "set_humidity", "set_fan_mode", "set_swing_mode",
        "set_swing_horizontal_mode",
    ),
    value="temperature",
    aliases={
        "target_temperature": "temperature", "temp": "temperature", "mode": "hvac_mode", "operation_mode": "hvac_mode",
        "preset": "preset_mode", "target_temperature_low": "target_temp_low", "target_temperature_high": "target_temp_high",
        "target_humidity": "humidity", "fan_speed": "fan_mode", "swing": "swing_mode",
    },
)  # fmt: skip

_SPEEDS = {"off": 0, "low": 33, "medium": 66, "mid": 66, "high": 100, "max": 100, "full": 100, "min": 1}


def _fan_speed(value: object, subject: Subject) -> JsonValueType:
    """Read a percentage, or one of the names that fans used to have."""
    named = _SPEEDS.get(str(value).strip().casefold())
    return named if named is not None else number(0, 100, whole=True)(value, subject)


def _fan_mode(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Give `speed` the name of what it is: a percentage when it reads like one, else a preset."""
    if "speed" not in given:
        return given
    rest = {name: value for name, value in given.items() if name != "speed"}
    value = given["speed"]
    is_speed = split_number(value) is not None or str(value).strip().casefold() in _SPEEDS
    return {**rest, "percentage" if is_speed else "preset_mode": value}


_PERCENTAGE = Field(_fan_speed, has(FanEntityFeature.SET_SPEED))
_FAN_PRESET = Field(option("preset_modes"), has(FanEntityFeature.PRESET_MODE))
_STEP = {"percentage_step": Field(number(1, 100, whole=True))}
FAN = Domain(
    actions=(
        Action(
            service="turn_on",
            feature=FanEntityFeature.TURN_ON,
            fields={"percentage": _PERCENTAGE, "preset_mode": _FAN_PRESET},
        ),
        Action(service="turn_off", feature=FanEntityFeature.TURN_OFF),
        Action(service="toggle", feature=FanEntityFeature.TURN_ON | FanEntityFeature.TURN_OFF),
        Action(service="set_percentage", fields={"percentage": _PERCENTAGE}, required=("percentage",)),
        Action(service="set_preset_mode", fields={"preset_mode": _FAN_PRESET}, required=("preset_mode",)),
        Action(
            service="oscillate",
            feature=FanEntityFeature.OSCILLATE,
            fields={"oscillating": Field(boolean)},
            required=("oscillating",),
        ),
        Action(
            service="set_direction",
            feature=FanEntityFeature.DIRECTION,
            fields={"direction": Field(one_of("forward", "reverse"))},
            required=("direction",),
        ),
        Action(service="increase_speed", feature=FanEntityFeature.SET_SPEED, fields=_STEP),
        Action(service="decrease_speed", feature=FanEntityFeature.SET_SPEED, fields=_STEP),
    ),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    values=("set_percentage", "set_preset_mode", "oscillate", "set_direction"),
    value="speed",
    aliases={
        "speed_percentage": "percentage", "speed_pct": "percentage", "preset": "preset_mode", "mode": "preset_mode",
        "oscillate": "oscillating", "fan_speed": "speed",
    },
    rewrite=_fan_mode,
)  # fmt: skip

HUMIDIFIER = Domain(
    actions=(
        Action(service="turn_on"),
        Action(service="turn_off"),
        Action(service="toggle"),
        Action(
            service="set_humidity",
            fields={"humidity": Field(between("min_humidity", "max_humidity", default=(0, 100), whole=True))},
            required=("humidity",),
        ),
        Action(
            service="set_mode",
            feature=HumidifierEntityFeature.MODES,
            fields={"mode": Field(option("available_modes"))},
            required=("mode",),
        ),
    ),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    values=("set_humidity", "set_mode"),
    value="humidity",
    aliases={"target_humidity": "humidity", "preset_mode": "mode"},
)


def _heater_is_on(subject: Subject) -> bool | None:
    return None if subject.state.state == STATE_UNKNOWN else subject.state.state != "off"


WATER_HEATER = Domain(
    actions=(
        Action(service="turn_on", feature=WaterHeaterEntityFeature.ON_OFF),
        Action(service="turn_off", feature=WaterHeaterEntityFeature.ON_OFF),
        Action(
            service="set_operation_mode",
            feature=WaterHeaterEntityFeature.OPERATION_MODE,
            fields={"operation_mode": Field(option("operation_list"))},
            required=("operation_mode",),
        ),
        Action(
            service="set_temperature",
            feature=WaterHeaterEntityFeature.TARGET_TEMPERATURE,
            fields={"temperature": Field(temperature)},
            required=("temperature",),
        ),
        Action(
            service="set_away_mode",
            feature=WaterHeaterEntityFeature.AWAY_MODE,
            fields={"away_mode": Field(boolean)},
            required=("away_mode",),
        ),
    ),
    on=("turn_on",),
    off=("turn_off",),
    is_on=_heater_is_on,
    values=("set_operation_mode", "set_temperature", "set_away_mode"),
    value="temperature",
    aliases={"target_temperature": "temperature", "mode": "operation_mode", "away": "away_mode"},
)
