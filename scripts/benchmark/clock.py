"""A clock that can be moved on, for everything in Home Assistant that tells the time from `homeassistant.util.dt`.

Must be imported before the modules that take `utcnow` from there by name.
"""

from collections.abc import Callable
import datetime as dt
import time

from homeassistant.util import dt as dt_util

_offset = dt.timedelta()
_passed = 0.0


def advance(**delta: float) -> None:
    """Move the clock on by a `timedelta` of these arguments."""
    global _offset  # noqa: PLW0603 - there is one clock
    _offset += dt.timedelta(**delta)


def _utcnow() -> dt.datetime:
    return dt.datetime.now(dt.UTC) + _offset


def _now(time_zone: dt.tzinfo | None = None) -> dt.datetime:
    return dt.datetime.now(time_zone or dt_util.get_default_time_zone()) + _offset


def install() -> None:
    """Put the clock in place of Home Assistant's."""
    dt_util.utcnow = _utcnow  # type: ignore[assignment]
    dt_util.now = _now


def pass_time(seconds: float) -> None:
    """Move everything on, timers of the event loop as well: those that are due fire in its next round."""
    global _passed  # noqa: PLW0603 - there is one clock
    advance(seconds=seconds)
    _passed += seconds


def install_timers() -> None:
    """Let timers, too, go by this clock: for a process of which no time is taken."""
    for name in ("time", "monotonic"):  # the event loop asks for `time.monotonic` each time
        setattr(time, name, _moved(getattr(time, name)))


def _moved(real: Callable[[], float]) -> Callable[[], float]:
    return lambda: real() + _passed
