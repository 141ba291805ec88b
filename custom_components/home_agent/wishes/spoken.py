"""When a wish is due, in words: "at 21:14", "tomorrow at 07:00", "when the washer is done"."""

from datetime import datetime

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..languages.data import ENGLISH, data_of
from ..support.localize import async_text
from .when import When

_WEEK = 7  # days that a weekday is enough for
_MINUTE = 60  # seconds
_LONG = 600  # seconds; of a longer span no one counts them
_WHILE = 2  # seconds from what is said to its answer
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


async def async_when(hass: HomeAssistant, language: str, when: When) -> str:
    """Return when a wish is due: the time on the clock of the home, and the day where it is not today; else as it was said."""
    if when.event is not None or when.at is None:
        return when.words
    said = await async_moment(hass, language, when.at, to_the_second=_has_seconds(when))
    if when.sun is not None:
        return f"{when.words} ({said})" if when.words else said
    if when.conditions and when.words:
        return f"{said}, {when.words}"
    return said


def _has_seconds(when: When) -> bool:
    """Return whether it is a span from now on that ends between full minutes: "in 90 seconds"."""
    if when.at is None or when.wall or when.sun is not None:
        return False
    left = (when.at - dt_util.utcnow()).total_seconds()
    return 0 < left < _LONG and min(left % _MINUTE, -left % _MINUTE) > _WHILE


async def async_moment(hass: HomeAssistant, language: str, at: datetime, *, to_the_second: bool = False) -> str:
    """Return a moment: "at 21:14", "tomorrow at 07:00", "on Friday at 18:00", "on 2026-12-24 at 18:00"."""
    at, now = dt_util.as_local(at), dt_util.now()
    days, time = (at.date() - now.date()).days, f"{at:%H:%M:%S}" if to_the_second else f"{at:%H:%M}"
    if days < 2:
        key = "wish_when_tomorrow" if days == 1 else "wish_when_today"
        return await async_text(hass, language, key, time=time)
    day = at.date().isoformat()
    if days < _WEEK:
        listed = data_of(language).times.get("weekdays") or data_of(ENGLISH).times["weekdays"]
        name = str(listed[_WEEKDAYS[at.weekday()]][0])
        day = name.capitalize() if language.startswith((ENGLISH, "de")) else name
    return await async_text(hass, language, "wish_when_day", day=day, time=time)
