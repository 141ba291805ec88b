"""A clock that can be moved on, for everything in Home Assistant that tells the time from `homeassistant.util.dt`.

Must be imported before the modules that take `utcnow` from there by name.
"""

import datetime as dt

from homeassistant.util import dt as dt_util

_offset = dt.timedelta()


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
