"""Whether conditions of the sun are never true when a trigger comes: looked at on days of a whole year, at the place of the home."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from homeassistant.const import SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET
from homeassistant.core import HomeAssistant
from homeassistant.helpers.sun import get_astral_event_date
from homeassistant.util import dt as dt_util

_STEP = timedelta(days=10)
_DAYS = 37
_SLACK = timedelta(minutes=45)
"""How far an event of the sun moves between two of the days that are looked at."""
_JUST_AFTER = timedelta(seconds=1)
_NONE = timedelta()


def contradicts_itself(config: Mapping[str, Any]) -> bool:
    """Return whether a condition of the sun wants to be before and after the same event, and there is no time between."""
    before, after = config.get("before"), config.get("after")
    return (
        before is not None and before == after and _offset(config, "after_offset") >= _offset(config, "before_offset")
    )


def is_never_sunny(hass: HomeAssistant, trigger: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether conditions of the sun are never true together when a trigger of a time or of the sun comes."""
    given = {**trigger, **(trigger.get("options") or {})}
    events: dict[tuple[str, date], datetime | None] = {}
    seen = False
    for moment in _moments(hass, given, events):
        seen = True
        if all(_is_true(hass, one, moment, events) for one in conditions):
            return False
    return seen


def _moments(
    hass: HomeAssistant, trigger: Mapping[str, Any], events: dict[tuple[str, date], datetime | None]
) -> Iterator[datetime]:
    first = dt_util.now().date()
    for number in range(_DAYS):
        day = first + number * _STEP
        if str(trigger.get("platform")) == "sun":
            event = _event(hass, str(trigger.get("event")), day, events)
            if event is not None:
                yield event + _offset(trigger, "offset") + _JUST_AFTER
            continue
        at = trigger.get("at")
        for one in at if isinstance(at, list | tuple) else [at]:
            if isinstance(one, time):
                moment = datetime.combine(day, one, dt_util.get_default_time_zone())
                yield from (moment - _SLACK, moment, moment + _SLACK)


def _offset(config: Mapping[str, Any], key: str) -> timedelta:
    found = config.get(key)
    return found if isinstance(found, timedelta) else _NONE


def _event(
    hass: HomeAssistant, event: str, day: date, events: dict[tuple[str, date], datetime | None]
) -> datetime | None:
    if (event, day) not in events:
        events[event, day] = get_astral_event_date(hass, event, day)
    return events[event, day]


def _is_true(
    hass: HomeAssistant,
    config: Mapping[str, Any],
    moment: datetime,
    events: dict[tuple[str, date], datetime | None],
) -> bool:
    """Return what Home Assistant's condition comes to at a moment."""
    today = dt_util.as_local(moment).date()
    limits: dict[str, datetime] = {}
    for key in ("before", "after"):
        if (name := config.get(key)) is None:
            continue
        event = _event(hass, str(name), today, events)
        if event is not None and today > dt_util.as_local(event).date():
            event = _event(hass, str(name), today + timedelta(days=1), events)
        if event is None:
            return False
        limits[key] = event + _offset(config, f"{key}_offset")
    if config.get("before") == SUN_EVENT_SUNRISE and config.get("after") == SUN_EVENT_SUNSET:
        return moment < limits["before"] or moment > limits["after"]
    return moment <= limits.get("before", moment) and moment >= limits.get("after", moment)
