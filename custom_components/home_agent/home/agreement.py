"""Whether a claim about an entity is true: its state now, and the numbers that it shows."""

from collections.abc import Collection, Iterator, Sequence

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import State

from .domains import DOMAINS, UNKNOWN, domains_where

_OPPOSITES = (("on", "off"), ("open", "closed"), ("locked", "unlocked"))
OPENINGS = frozenset({"door", "garage_door", "opening", "window"})
"""Device classes of binary sensors that are on when something is open."""
STATES = {
    name: pair
    for name, record in DOMAINS.items()
    for pair in _OPPOSITES
    if record.told_as.issuperset(pair)
    and {state for goal in record.goals.values() for state in goal.one_of}.issuperset(pair)
}
"""By domain, the states that are called by the words of `agrees`."""
_NEITHER = frozenset({"idle", "standby"})  # who says that it is on is as right as who says that it is off

# Attributes that an action sets, and what else is shown; what each is told in percent of.
_SET = (
    ("temperature", 0), ("target_temp_high", 0), ("target_temp_low", 0), ("humidity", 0), ("brightness", 255),
    ("current_position", 0), ("current_tilt_position", 0), ("volume_level", 1), ("percentage", 0),
)  # fmt: skip
_SHOWN = (("current_temperature", 0), ("current_humidity", 0))
_NUMBERED = domains_where(lambda record: record.is_number or any(name in record.kept for name, _ in _SET))
_NEAR = 0.6  # a rounded number is no lie


def agrees(state: State, said: Collection[str], numbers: Sequence[float] = (), *, as_set: bool = False) -> bool | None:
    """Return whether a claim about an entity is true; None if its state cannot tell.

    `said` has words of `on`, `off`, `open`, `closed`, `locked`, `unlocked`. Of the numbers one has to be shown, `as_set` among
    those that can be set. What is on its way counts as there.
    """
    if state.state in (STATE_UNAVAILABLE, STATE_UNKNOWN):
        return None
    verdicts: list[bool] = []
    for pair in _OPPOSITES:
        claimed = [word for word in pair if word in said]
        now = _words(state) & frozenset(pair)
        if len(claimed) == 1 and now:
            verdicts.append(claimed[0] in now)
    if numbers and state.domain in _NUMBERED:
        shown = list(_numbers(state, as_set=as_set))
        if shown or state.state == "off":
            verdicts.append(any(abs(one - other) < _NEAR for one in numbers for other in shown))
    return all(verdicts) if verdicts else None


def _words(state: State) -> frozenset[str]:
    """Return which of the words are right for an entity; of a pair that it knows nothing of, none."""
    now = state.state
    match state.domain:
        case "lock":
            if now == "jammed":
                return frozenset()
            if now in ("locked", "locking"):
                return frozenset({"locked", "closed"})
            return frozenset({"unlocked", "open"} if now == "open" else {"unlocked"})
        case "cover" | "valve":
            return frozenset({"open"} if now in ("open", "opening") else {"closed"})
        case "binary_sensor" if state.attributes.get("device_class") in OPENINGS:
            return frozenset({"open"} if now == "on" else {"closed"})
        case domain if "on" in DOMAINS.get(domain, UNKNOWN).told_as:
            if now in _NEITHER:
                return frozenset({"on", "off"})
            return frozenset({"off"} if now == "off" else {"on"})
    return frozenset()


def _numbers(state: State, *, as_set: bool) -> Iterator[float]:
    for name, full in (*_SET, *(() if as_set else _SHOWN)):
        value = state.attributes.get(name)
        if isinstance(value, (int, float)):
            yield value * 100 / full if full else value
    try:
        yield float(state.state)
    except ValueError:
        return
