"""What opens and closes: covers, valves, locks."""

from homeassistant.components.cover.const import CoverEntityFeature, CoverState
from homeassistant.components.lock.const import LockEntityFeature, LockState
from homeassistant.components.valve.const import ValveEntityFeature, ValveState

from ..parameters import number, text
from ..spec import Action, Domain, Field, Subject, has

_PERCENT = Field(number(0, 100, whole=True))


def _cover_is_open(subject: Subject) -> bool | None:
    match subject.state.state:
        case CoverState.OPEN | CoverState.OPENING:
            return True
        case CoverState.CLOSED | CoverState.CLOSING:
            return False
    return None


def _valve_is_open(subject: Subject) -> bool | None:
    match subject.state.state:
        case ValveState.OPEN | ValveState.OPENING:
            return True
        case ValveState.CLOSED | ValveState.CLOSING:
            return False
    return None


def _is_locked(subject: Subject) -> bool | None:
    match subject.state.state:
        case LockState.LOCKED | LockState.LOCKING:
            return True
        case LockState.UNLOCKED | LockState.UNLOCKING | LockState.OPEN | LockState.OPENING:
            return False
    return None


def _cover_value(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Read `{"stop": true}` as the command it is."""
    if str(given.get("stop", "")).casefold() not in ("true", "1", "yes"):
        return given
    return {**{name: value for name, value in given.items() if name != "stop"}, "command": "stop"}


COVER = Domain(
    actions=(
        Action(service="open_cover", feature=CoverEntityFeature.OPEN),
        Action(service="close_cover", feature=CoverEntityFeature.CLOSE),
        Action(service="open_cover_tilt", feature=CoverEntityFeature.OPEN_TILT),
        Action(service="close_cover_tilt", feature=CoverEntityFeature.CLOSE_TILT),
        Action(service="toggle", feature=CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE),
        Action(
            service="set_cover_position",
            feature=CoverEntityFeature.SET_POSITION,
            fields={"position": _PERCENT},
            required=("position",),
        ),
        Action(
            service="set_cover_tilt_position",
            feature=CoverEntityFeature.SET_TILT_POSITION,
            fields={"tilt_position": _PERCENT},
            required=("tilt_position",),
        ),
        Action(service="stop_cover", feature=CoverEntityFeature.STOP),
        Action(service="stop_cover_tilt", feature=CoverEntityFeature.STOP_TILT),
    ),
    on=("open_cover", "open_cover_tilt"),
    off=("close_cover", "close_cover_tilt"),
    toggle=("toggle",),
    is_on=_cover_is_open,
    values=("set_cover_position", "set_cover_tilt_position"),
    value=lambda subject: "position" if has(CoverEntityFeature.SET_POSITION)(subject) else "tilt_position",
    aliases={"current_position": "position", "percentage": "position", "tilt": "tilt_position"},
    words={
        "open": "open_cover",
        "close": "close_cover",
        "stop": "stop_cover",
        "raise": "open_cover",
        "lower": "close_cover",
    },
    rewrite=_cover_value,
)

VALVE = Domain(
    actions=(
        Action(service="open_valve", feature=ValveEntityFeature.OPEN),
        Action(service="close_valve", feature=ValveEntityFeature.CLOSE),
        Action(service="toggle", feature=ValveEntityFeature.OPEN | ValveEntityFeature.CLOSE),
        Action(
            service="set_valve_position",
            feature=ValveEntityFeature.SET_POSITION,
            fields={"position": _PERCENT},
            required=("position",),
        ),
        Action(service="stop_valve", feature=ValveEntityFeature.STOP),
    ),
    on=("open_valve",),
    off=("close_valve",),
    toggle=("toggle",),
    is_on=_valve_is_open,
    values=("set_valve_position",),
    value="position",
    aliases={"percentage": "position"},
    words={"open": "open_valve", "close": "close_valve", "stop": "stop_valve"},
    rewrite=_cover_value,
)

_CODE = {"code": Field(text)}
LOCK = Domain(
    actions=(
        Action(service="lock", fields=_CODE),
        Action(service="unlock", fields=_CODE),
        Action(service="open", feature=LockEntityFeature.OPEN, fields=_CODE),
    ),
    on=("lock",),
    off=("unlock",),
    is_on=_is_locked,
    words={"close": "lock", "unlatch": "open"},
    states={**dict.fromkeys(("open", "opened"), "unlock"), **dict.fromkeys(("close", "closed"), "lock")},
)
