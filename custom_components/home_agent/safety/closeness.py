"""Whether a value that an entity shows is the one it was asked for: devices round, colours are converted.

A value that has not moved since the request has to be nearly exact: otherwise a small change would count as done before it
is. One that has moved may be off by what devices round.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from homeassistant.util import color as color_util, dt as dt_util

type Check = Callable[[Any], bool]
"""Returns whether a value is the one asked for."""
type Closeness = Callable[[Any, Any], Check]
"""Returns the check for a value asked for and the value before."""

_HUE = 15  # degrees
_SATURATION = 15  # percent; below it a hue says nothing
_CHANNEL = 12  # of 255


def number_of(value: object) -> float | None:
    """Return a number, None for what is none; states are texts."""
    try:
        return float(value)  # type: ignore[arg-type]
    except TypeError, ValueError:
        return None


def same(asked: Any, _before: Any) -> Check:
    """Expect exactly this, as text: a state is one."""
    return lambda now: str(now) == str(asked)


def yes_or_no(asked: Any, _before: Any) -> Check:
    """Expect a boolean; some attributes say `on` and `off`."""
    return lambda now: (now if isinstance(now, bool) else now == "on") == bool(asked)


def near(tight: float, loose: float) -> Closeness:
    """Expect a number: within `loose` once it has moved, within `tight` while it has not."""

    def closeness(asked: Any, before: Any) -> Check:
        goal, start = number_of(asked), number_of(before)

        def check(now: Any) -> bool:
            value = number_of(now)
            if goal is None or value is None:
                return False
            return abs(value - goal) <= (tight if value == start else loose)

        return check

    return closeness


def near_share(tight: float, loose: float) -> Closeness:
    """Expect a number; the tolerances are shares of it."""
    return lambda asked, before: near(tight * (number_of(asked) or 0), loose * (number_of(asked) or 0))(asked, before)


def other_than(before: Any) -> Check:
    """Expect any change."""
    return lambda now: now != before


def colour(form: str) -> Closeness:
    """Expect a colour, given as `form` (`rgb_color`, `hs_color`, ...), shown as hue and saturation."""

    def closeness(asked: Any, _before: Any) -> Check:
        hue, saturation = _hs(form, asked)

        def check(now: Any) -> bool:
            if not isinstance(now, (list, tuple)) or len(now) != 2:
                return False
            apart = abs(now[0] - hue) % 360
            pale = now[1] <= _SATURATION and saturation <= _SATURATION
            return abs(now[1] - saturation) <= _SATURATION and (pale or min(apart, 360 - apart) <= _HUE)

        return check

    return closeness


def _hs(form: str, value: Any) -> tuple[float, float]:
    match form:
        case "color_name":
            return color_util.color_RGB_to_hs(*color_util.color_name_to_rgb(str(value)))
        case "rgb_color":
            return color_util.color_RGB_to_hs(*value)
        case "xy_color":
            return color_util.color_xy_to_hs(*value)
    return value[0], value[1]


def channels(asked: Sequence[float], _before: Any) -> Check:
    """Expect a colour of four or five channels."""
    return lambda now: (
        isinstance(now, (list, tuple))
        and len(now) == len(asked)
        and all(abs(one - other) <= _CHANNEL for one, other in zip(now, asked, strict=True))
    )


def moment(asked: Any, _before: Any) -> Check:
    """Expect a point in time, a day or a time of day, however it is written."""
    goal = _moment(asked)
    return lambda now: goal is not None and _moment(now) == goal


def _moment(value: object) -> object:
    text = str(value)
    if (found := dt_util.parse_datetime(text)) is not None:
        return dt_util.as_utc(_with_zone(found)).replace(microsecond=0)
    return dt_util.parse_date(text) or dt_util.parse_time(text)


def _with_zone(found: datetime) -> datetime:
    return found if found.tzinfo else found.replace(tzinfo=dt_util.get_default_time_zone())
