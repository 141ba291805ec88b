"""Machines and guards: vacuum, lawn mower, siren, remote control, alarm panel."""

from homeassistant.components.alarm_control_panel.const import AlarmControlPanelEntityFeature, AlarmControlPanelState
from homeassistant.components.lawn_mower.const import LawnMowerEntityFeature
from homeassistant.components.remote.const import RemoteEntityFeature
from homeassistant.components.siren.const import SirenEntityFeature
from homeassistant.components.vacuum.const import VacuumEntityFeature
from homeassistant.const import STATE_UNKNOWN

from ..parameters import duration, fraction, number, option, text
from ..spec import Action, Domain, Field, Subject, has

VACUUM = Domain(
    actions=(
        Action(service="start", feature=VacuumEntityFeature.START),
        Action(service="pause", feature=VacuumEntityFeature.PAUSE),
        Action(service="stop", feature=VacuumEntityFeature.STOP),
        Action(service="return_to_base", feature=VacuumEntityFeature.RETURN_HOME),
        Action(service="locate", feature=VacuumEntityFeature.LOCATE),
        Action(service="clean_spot", feature=VacuumEntityFeature.CLEAN_SPOT),
        Action(
            service="set_fan_speed",
            feature=VacuumEntityFeature.FAN_SPEED,
            fields={"fan_speed": Field(option("fan_speed_list"))},
            required=("fan_speed",),
        ),
    ),
    on=("start",),
    off=("return_to_base", "stop"),
    is_on=lambda subject: None if subject.state.state == STATE_UNKNOWN else subject.state.state == "cleaning",
    values=("set_fan_speed",),
    value="fan_speed",
    aliases={"speed": "fan_speed"},
    words={
        "dock": "return_to_base",
        "return": "return_to_base",
        "return_home": "return_to_base",
        "clean": "start",
        "resume": "start",
    },
)

LAWN_MOWER = Domain(
    actions=(
        Action(service="start_mowing", feature=LawnMowerEntityFeature.START_MOWING),
        Action(service="pause", feature=LawnMowerEntityFeature.PAUSE),
        Action(service="dock", feature=LawnMowerEntityFeature.DOCK),
    ),
    on=("start_mowing",),
    off=("dock",),
    is_on=lambda subject: None if subject.state.state == STATE_UNKNOWN else subject.state.state == "mowing",
    words={
        "start": "start_mowing",
        "mow": "start_mowing",
        "resume": "start_mowing",
        "return_to_base": "dock",
        "stop": "pause",
    },
)

_SIREN_FIELDS = {
    "tone": Field(option("available_tones"), has(SirenEntityFeature.TONES)),
    "duration": Field(duration, has(SirenEntityFeature.DURATION)),
    "volume_level": Field(fraction, has(SirenEntityFeature.VOLUME_SET)),
}
SIREN = Domain(
    actions=(
        Action(service="turn_on", feature=SirenEntityFeature.TURN_ON, fields=_SIREN_FIELDS),
        Action(service="turn_off", feature=SirenEntityFeature.TURN_OFF),
        Action(service="toggle", feature=SirenEntityFeature.TURN_ON | SirenEntityFeature.TURN_OFF),
    ),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
)

REMOTE = Domain(
    actions=(
        Action(
            service="turn_on",
            fields={"activity": Field(option("activity_list"), has(RemoteEntityFeature.ACTIVITY))},
        ),
        Action(service="turn_off"),
        Action(service="toggle"),
        Action(
            service="send_command",
            fields={
                "command": Field(text),
                "device": Field(text),
                "num_repeats": Field(number(1, 20, whole=True)),
                "delay_secs": Field(number(0, 10)),
                "hold_secs": Field(number(0, 10)),
            },
            required=("command",),
        ),
    ),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    values=("turn_on", "send_command"),
    value="command",
    aliases={"source": "activity"},
)


def _is_armed(subject: Subject) -> bool | None:
    if subject.state.state == STATE_UNKNOWN:
        return None
    return subject.state.state != AlarmControlPanelState.DISARMED


def _arm_mode(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Read `{"mode": "night"}` as the command it is."""
    if "mode" not in given:
        return given
    rest = {name: value for name, value in given.items() if name != "mode"}
    return {**rest, "command": str(given["mode"]).casefold().replace(" ", "_").removeprefix("armed_")}


_CODE = {"code": Field(text)}
_ARMING = {
    "away": AlarmControlPanelEntityFeature.ARM_AWAY,
    "home": AlarmControlPanelEntityFeature.ARM_HOME,
    "night": AlarmControlPanelEntityFeature.ARM_NIGHT,
    "vacation": AlarmControlPanelEntityFeature.ARM_VACATION,
    "custom_bypass": AlarmControlPanelEntityFeature.ARM_CUSTOM_BYPASS,
}
ALARM_CONTROL_PANEL = Domain(
    actions=(
        *(Action(service=f"alarm_arm_{mode}", feature=feature, fields=_CODE) for mode, feature in _ARMING.items()),
        Action(service="alarm_disarm", fields=_CODE),
    ),
    on=tuple(f"alarm_arm_{mode}" for mode in _ARMING),
    off=("alarm_disarm",),
    is_on=_is_armed,
    value="mode",
    aliases={"arm_mode": "mode"},
    words={
        **{mode: f"alarm_arm_{mode}" for mode in _ARMING},
        **{f"arm_{mode}": f"alarm_arm_{mode}" for mode in _ARMING},
        "arm": "alarm_arm_away",
        "disarm": "alarm_disarm",
        "disarmed": "alarm_disarm",
    },
    rewrite=_arm_mode,
)
