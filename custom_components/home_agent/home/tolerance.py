"""Whether a value that an entity shows is the one it was asked for: devices round, colours are converted.

A value that has not moved since the request has to be nearly exact: otherwise a small change would count as done before it
is. One that has moved may be off by what devices round.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from homeassistant.core import State
from homeassistant.util import color as color_util, dt as dt_util

from ..support.encoding import plain_text

type Check = Callable[[Any], bool]
"""Returns whether a value is the one asked for."""
type Tolerance = Callable[[Any, Any, State], Check]
"""Returns the check for a value asked for, the value before and the whole state before."""
type Leads = Callable[[State, str], Mapping[str, Check]]
"""Returns the checks, by attribute, of what a service leads to by itself, from the state before and the service."""

STATE = "state"
"""The aspect of an entity that is not an attribute."""

_HUE = 15  # degrees
_SATURATION = 15  # percent; below it a hue says nothing
_CHANNEL = 12  # of 255


def number_of(value: object) -> float | None:
    """Return the value as a number, or None if it is not one."""
    try:
        return float(value)  # type: ignore[arg-type]
    except TypeError, ValueError:
        return None


def same(asked: Any, _shown: Any, _before: State) -> Check:
    """Expect exactly this, as text: a state is one."""
    return lambda now: str(now) == str(asked)


def yes_or_no(asked: Any, _shown: Any, _before: State) -> Check:
    """Expect a boolean; some attributes say `on` and `off`."""
    return lambda now: (now if isinstance(now, bool) else now == "on") == bool(asked)


def other_than(before: Any) -> Check:
    """Expect any change."""
    return lambda now: now != before


def near(tight: float, loose: float) -> Tolerance:
    """Expect a number: within `loose` once it has moved, within `tight` while it has not."""

    def tolerance(asked: Any, shown: Any, _before: State) -> Check:
        goal, start = number_of(asked), number_of(shown)

        def check(now: Any) -> bool:
            value = number_of(now)
            if goal is None or value is None:
                return False
            return abs(value - goal) <= (tight if value == start else loose)

        return check

    return tolerance


PERCENT = near(0.5, 5)


def near_share(tight: float, loose: float) -> Tolerance:
    """Expect a number; the tolerances are shares of it."""

    def tolerance(asked: Any, shown: Any, before: State) -> Check:
        size = number_of(asked) or 0
        return near(tight * size, loose * size)(asked, shown, before)

    return tolerance


def colour(form: str) -> Tolerance:
    """Expect a colour, given as `form` (`rgb_color`, `hs_color`, ...), shown as hue and saturation."""

    def tolerance(asked: Any, _shown: Any, _before: State) -> Check:
        match form:
            case "color_name":
                hue, saturation = color_util.color_RGB_to_hs(*color_util.color_name_to_rgb(str(asked)))
            case "rgb_color":
                hue, saturation = color_util.color_RGB_to_hs(*asked)
            case "xy_color":
                hue, saturation = color_util.color_xy_to_hs(*asked)
            case _:
                hue, saturation = asked[0], asked[1]

        def check(now: Any) -> bool:
            if not isinstance(now, (list, tuple)) or len(now) != 2:
                return False
            apart = abs(now[0] - hue) % 360
            pale = now[1] <= _SATURATION and saturation <= _SATURATION
            return abs(now[1] - saturation) <= _SATURATION and (pale or min(apart, 360 - apart) <= _HUE)

        return check

    return tolerance


def channels(asked: Sequence[float], _shown: Any, _before: State) -> Check:
    """Expect a colour of four or five channels."""
    return lambda now: (
        isinstance(now, (list, tuple))
        and len(now) == len(asked)
        and all(abs(one - other) <= _CHANNEL for one, other in zip(now, asked, strict=True))
    )


def moment(asked: Any, _shown: Any, _before: State) -> Check:
    """Expect a point in time, a day or a time of day, however it is written."""
    goal = _moment(asked)
    return lambda now: goal is not None and _moment(now) == goal


def _moment(value: object) -> object:
    text = plain_text(str(value))
    if (found := dt_util.parse_datetime(text)) is not None:
        found = found if found.tzinfo else found.replace(tzinfo=dt_util.get_default_time_zone())
        return dt_util.as_utc(found).replace(microsecond=0)
    return dt_util.parse_date(text) or dt_util.parse_time(text)


def ends(ways: Mapping[str, tuple[str, int]]) -> Leads:
    """Expect a percentage at the end of a way: by service its attribute, where it is shown, and the end."""

    def leads(before: State, service: str) -> Mapping[str, Check]:
        attribute, end = ways.get(service, ("", 0))
        shown = before.attributes.get(attribute)
        return {} if shown is None else {attribute: PERCENT(end, shown, before)}

    return leads


def steps(ways: Mapping[str, tuple[str, float | str | None]]) -> Leads:
    """Expect any change of an attribute or the state, unless it is at its end already.

    By service: what it moves, and where that ends: a number, the name of an attribute that has it, or None.
    """

    def leads(before: State, service: str) -> Mapping[str, Check]:
        if service not in ways:
            return {}
        aspect, end = ways[service]
        shown = before.state if aspect == STATE else before.attributes.get(aspect)
        last = number_of(before.attributes.get(end) if isinstance(end, str) else end)
        if shown is None or (end is not None and number_of(shown) == last):
            return {}
        return {aspect: other_than(shown)}

    return leads
