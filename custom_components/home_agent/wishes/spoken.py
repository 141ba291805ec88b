"""When a wish is due, in words: "at 21:14", "tomorrow at 07:00", "when the washer is done"."""

from datetime import datetime

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..support.localize import async_text
from .when import When

_WEEK = 7  # days that a weekday is enough for
_WEEKDAYS = (
    "wish_when_monday", "wish_when_tuesday", "wish_when_wednesday", "wish_when_thursday", "wish_when_friday",
    "wish_when_saturday", "wish_when_sunday",
)  # fmt: skip
_MONTHS = (
    "wish_when_january", "wish_when_february", "wish_when_march", "wish_when_april", "wish_when_may", "wish_when_june",
    "wish_when_july", "wish_when_august", "wish_when_september", "wish_when_october", "wish_when_november",
    "wish_when_december",
)  # fmt: skip
_MINUTE = 60  # seconds
_LONG = 600  # seconds; of a longer span no one counts them
_WHILE = 2  # seconds from what is said to its answer


async def async_when(hass: HomeAssistant, language: str, when: When) -> str:
    """Return when a wish is due: the time on the clock of the home, and the day where it is not today; else as it was said."""
    if when.event is not None or when.at is None:
        return when.said
    said = await async_moment(hass, language, when.at, to_the_second=_has_seconds(when))
    if when.sun is not None and when.words:
        said = f"{when.words} ({said})"
    return ", ".join((said, *when.provided))


def _has_seconds(when: When) -> bool:
    """Return whether it is a span from now on that ends between full minutes: "in 90 seconds"."""
    if when.at is None or when.wall or when.sun is not None:
        return False
    left = (when.at - dt_util.utcnow()).total_seconds()
    return 0 < left < _LONG and min(left % _MINUTE, -left % _MINUTE) > _WHILE


async def async_past_moment(hass: HomeAssistant, language: str, at: datetime) -> str:
    """Return a moment that has passed: "at 21:14" of today, "on Friday at 18:00" of the last six days, "on May 2 at 18:00"."""
    at, now = dt_util.as_local(at), dt_util.now()
    days, time = (now.date() - at.date()).days, f"{at:%H:%M}"
    if not days:
        return await async_text(hass, language, "wish_when_today", time=time)
    if 0 < days < _WEEK:
        return await async_text(hass, language, _WEEKDAYS[at.weekday()], time=time)
    return await async_text(hass, language, _MONTHS[at.month - 1], day=str(at.day), time=time)


async def async_moment(hass: HomeAssistant, language: str, at: datetime, *, to_the_second: bool = False) -> str:
    """Return a moment: "at 21:14", "tomorrow at 07:00", "on Friday at 18:00", "on December 24 at 18:00"."""
    at, now = dt_util.as_local(at), dt_util.now()
    days, time = (at.date() - now.date()).days, f"{at:%H:%M:%S}" if to_the_second else f"{at:%H:%M}"
    if days in (0, 1):
        key = "wish_when_tomorrow" if days else "wish_when_today"
        return await async_text(hass, language, key, time=time)
    if 0 < days < _WEEK:
        return await async_text(hass, language, _WEEKDAYS[at.weekday()], time=time)
    return await async_text(hass, language, _MONTHS[at.month - 1], day=str(at.day), time=time)
