"""When a wish is due: at a moment, at a clock time, by the sun, or when something in the home happens."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Self

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN, SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.sun import get_astral_event_next, get_astral_location
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

from ..support.rows import as_row, from_row

_HALF_A_DAY = timedelta(hours=12)
_HORIZON = -0.833  # degrees: where sunrise and sunset are, as the air bends light
_MOST_SECONDS = 366 * 24 * 3600
YEARS = range(1970, 3000)
"""Moments outside of these were not written by us, and cannot all be moved to another zone."""


class SunEvent(StrEnum):
    """An event of the sun, by Home Assistant's name."""

    SUNRISE = SUN_EVENT_SUNRISE
    SUNSET = SUN_EVENT_SUNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is so in the home: states, or the range of a number, of one entity or of several."""

    entity_ids: tuple[str, ...]
    states: tuple[str, ...] = ()
    """One of these; empty with a bound, or where any event counts."""
    above: float | None = None
    below: float | None = None
    attribute: str = ""
    """The attribute that is compared; empty: the state."""
    every: bool = False
    """Whether it has to be so of every entity; else of one of them."""
    negated: bool = False
    """Whether it is so while this is not: "unless the window is open"."""
    after: datetime | None = None
    """Of entities whose state is the moment of their last event, as of a bell: it is so once that is later than this."""
    each: bool = False
    """Whether each entity for which it becomes so counts as an event, though it is so of another one: "when a person comes home"."""

    def is_so(self, hass: HomeAssistant, changed: State | None = None) -> bool | None:
        """Return whether it is so now; None if that is not known, as entities are missing or unavailable.

        `changed` stands for the state of its entity, which may have changed again since.
        """
        known = [*self._known(hass, changed).values()]
        found = [one for one in known if one is not None]
        if not found or (self.every and len(found) < len(known) and all(found)):
            return None
        is_so = all(found) if self.every else any(found)
        if len(found) < len(known) and not self.every and not is_so:
            return None
        return is_so is not self.negated

    def fits(self, state: State | None) -> bool | None:
        """Return whether a state fits, without regard to `negated`; None if it tells nothing."""
        if state is None or state.state in (STATE_UNAVAILABLE, STATE_UNKNOWN):
            return None
        value = state.attributes.get(self.attribute) if self.attribute else state.state
        if self.after is not None:
            moment = dt_util.parse_datetime(state.state)
            is_later = moment is not None and moment.tzinfo is not None and moment > self.after
            return is_later and (not self.states or str(value) in self.states)
        if self.above is None and self.below is None:
            return str(value) in self.states
        try:
            number = float(value)  # type: ignore[arg-type]
        except TypeError, ValueError:
            return None
        return (self.above is None or number > self.above) and (self.below is None or number < self.below)

    def so_of(self, hass: HomeAssistant, changed: State | None = None) -> dict[str, bool]:
        """Return for each entity of which that is known whether it is so, looked at alone."""
        known = self._known(hass, changed).items()
        return {entity_id: fits is not self.negated for entity_id, fits in known if fits is not None}

    def _known(self, hass: HomeAssistant, changed: State | None) -> dict[str, bool | None]:
        return {
            entity_id: self.fits(
                changed if changed is not None and changed.entity_id == entity_id else hass.states.get(entity_id)
            )
            for entity_id in self.entity_ids
        }

    def renamed(self, old: str, new: str) -> Self:
        """Return it with another id of an entity."""
        return replace(self, entity_ids=_renamed(self.entity_ids, old, new))

    def without(self, gone: Collection[str]) -> Self:
        """Return it without some entities."""
        return replace(self, entity_ids=tuple(item for item in self.entity_ids if item not in gone))

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file."""
        return as_row(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the file. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        watch = from_row(cls, data)
        told_by = (watch.states or None, watch.above, watch.below, watch.after)
        if not watch.entity_ids or all(one is None for one in told_by):
            raise ValueError("watch")
        if watch.after is not None and watch.after.year not in YEARS:
            raise ValueError("year")
        return watch


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """When a wish is due. It has one of `at`, `sun`, `event` and `left`; a clock time has `at` and `wall`."""

    at: datetime | None = None
    """The moment; of a clock time and of the sun as it was known last (`settled`), of an event once its `delay` runs."""
    wall: str = ""
    """Day and time on the clock of the home, "2026-11-25T07:00": `at` follows from it, also in another time zone."""
    sun: SunEvent | None = None
    """The next of these after the wish was made."""
    offset: int = 0
    """Seconds from the event of the sun; negative: before it."""
    event: Watch | None = None
    """When this becomes so."""
    delay: int = 0
    """Seconds after the event."""
    stays: bool = False
    """Whether it has to stay so during the delay: "when the door has been open for ten minutes"; if not, it is waited for again."""
    since: datetime | None = None
    """From when on an event counts: "when Anna comes home tomorrow"."""
    ready: bool = True
    """Whether it was not so when it was last looked at, so that it can become so: "when Anna arrives", while she is at home."""
    awaited: tuple[str, ...] = ()
    """Where each entity counts: those for which it was not so when they were last looked at."""
    of: tuple[str, ...] = ()
    """The entities for which it became so, once it did; `at` is the moment then, with the delay."""
    until: datetime | None = None
    """When an event is not waited for any more."""
    left: int = 0
    """Seconds that a timer has while it is paused; it has no moment then."""
    conditions: tuple[Watch, ...] = ()
    """What has to be so at that time; otherwise nothing is done."""
    daylight: bool | None = None
    """Whether it has to be light at that time, or dark, by the sun; else nothing is done."""
    words: str = ""
    """As it was said; of an event with the conditions that were said with it."""
    provided: tuple[str, ...] = ()
    """What else has to be so, as it was said."""
    narrowed: bool = False
    """Whether the last condition was said later: "but only if Anna is at home"; another one takes its place."""

    @property
    def said(self) -> str:
        """As it was said, with all conditions."""
        return ", ".join(filter(None, (self.words, *self.provided)))

    @property
    def watches(self) -> tuple[Watch, ...]:
        """What it looks at in the home."""
        return (*((self.event,) if self.event is not None else ()), *self.conditions)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """Entities whose states it looks at."""
        return tuple(dict.fromkeys(item for watch in self.watches for item in watch.entity_ids))

    @property
    def is_awaited(self) -> bool:
        """Whether its event has not happened yet."""
        return self.event is not None and self.at is None

    @property
    def is_followed(self) -> bool:
        """Whether the entities of its event are looked at: until it happens, and while it has to stay so."""
        return self.event is not None and (self.at is None or self.stays)

    def is_same(self, other: When) -> bool:
        """Return whether another one is due at the same time: in the same minute, or by the same event; and on the same conditions."""
        return self._identity == other._identity

    @property
    def _identity(self) -> tuple[object, ...]:
        looked_at = (self.conditions, self.daylight, self.left)
        if self.event is not None:
            return (replace(self.event, after=None), self.delay, self.stays, self.since, *looked_at)
        if self.at is not None:
            return (self.at.astimezone(UTC).replace(second=0, microsecond=0), *looked_at)
        return (self.wall, self.sun, self.offset, *looked_at)

    def under(self, other: When) -> Self:
        """Return it with the conditions of another one."""
        return replace(
            self,
            conditions=other.conditions,
            daylight=other.daylight,
            provided=other.provided,
            narrowed=other.narrowed,
        )

    def narrowed_to(self, watch: Watch, words: str) -> Self:
        """Return it with a condition that is said later, in the place of one that was."""
        conditions, provided = (
            (self.conditions[:-1], self.provided[:-1]) if self.narrowed else (self.conditions, self.provided)
        )
        return replace(self, conditions=(*conditions, watch), provided=(*provided, words), narrowed=True)

    def settled(self, hass: HomeAssistant, made: datetime, zone: tzinfo) -> Self:
        """Return it with the moment as it is now: of a clock time in this zone, of the sun where the home is.

        Of the sun it is the one nearest to the moment that was known. It stays as it was where the sun does not set.
        """
        if self.wall:
            return replace(self, at=moment_of(self.wall, zone))
        if self.sun is not None:
            after = made if self.at is None else max(made, self.at - _HALF_A_DAY)
            with suppress(ValueError):
                return replace(self, at=get_astral_event_next(hass, self.sun, after, timedelta(seconds=self.offset)))
        return self

    def begun(self, hass: HomeAssistant) -> Self:
        """Return it as it is when it is made: what is so already has to change before it can become so.

        What is not known yet may be so at the first look; of entities that count each, only a change counts.
        """
        if self.event is None:
            return self
        is_so = self.event.is_so(hass) is True
        if is_so and self.stays and not self._is_early:
            return self._happened(self.event.entity_ids)
        awaited = tuple(item for item, fits in self.event.so_of(hass).items() if not fits)
        return replace(self, ready=not is_so, awaited=awaited if self._counts_each else ())

    def seen(self, hass: HomeAssistant, changed: State | None = None) -> Self:
        """Return it as it is after a look at the home; once its event has happened, `at` and `of` tell when it is due, and where it was.

        What is unavailable or unknown is as it was before. `changed` is the state that is looked at.
        """
        if self.event is None:
            return self
        is_so = self.event.is_so(hass, changed)
        if self.at is not None:  # it has to stay so
            ended = is_so is False and self.stays
            return replace(self, at=None, of=(), ready=True) if ended else self
        so = self.event.so_of(hass, changed)
        if self._counts_each:
            became = tuple(item for item in self.awaited if so.get(item))
            awaited = tuple(item for item in self.event.entity_ids if not so.get(item, item not in self.awaited))
            if became and not self._is_early:
                return replace(self._happened(became), awaited=awaited)
            return replace(self, awaited=awaited)
        if is_so is None:
            return self
        if is_so and self.ready and not self._is_early:
            return self._happened(tuple(item for item, fits in so.items() if fits) or self.event.entity_ids)
        return replace(self, ready=not is_so)

    def has_light(self, hass: HomeAssistant) -> bool:
        """Return whether it is now as light, or as dark, as it has to be."""
        if self.daylight is None:
            return True
        location, height = get_astral_location(hass)
        return (location.solar_elevation(dt_util.utcnow(), height) > _HORIZON) is self.daylight

    @property
    def _is_early(self) -> bool:
        return self.since is not None and dt_util.utcnow() < self.since

    def _happened(self, of: tuple[str, ...]) -> Self:
        """Return it once its event has happened: it is due after its delay."""
        return replace(self, at=dt_util.utcnow() + timedelta(seconds=self.delay), of=of)

    @property
    def _counts_each(self) -> bool:
        return self.event is not None and self.event.each and not self.event.every

    def renamed(self, old: str, new: str) -> Self:
        """Return it with another id of an entity."""
        event = self.event.renamed(old, new) if self.event is not None else None
        return replace(
            self,
            event=event,
            conditions=tuple(one.renamed(old, new) for one in self.conditions),
            awaited=_renamed(self.awaited, old, new),
            of=_renamed(self.of, old, new),
        )

    def without(self, gone: Collection[str]) -> Self:
        """Return it without some entities."""
        event = self.event.without(gone) if self.event is not None else None
        return replace(self, event=event, conditions=tuple(one.without(gone) for one in self.conditions))

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file."""
        return as_row(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the file. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        event = Watch.from_dict(data["event"]) if data["event"] is not None else None
        conditions = tuple(map(Watch.from_dict, data["conditions"]))
        when = from_row(cls, data, event=event, conditions=conditions)
        moments = [item for item in (when.at, when.until, when.since) if item is not None]
        if when.wall:
            moments.append(datetime.fromisoformat(when.wall))
        if any(item.year not in YEARS for item in moments):
            raise ValueError("year")
        if min(when.delay, when.left) < 0 or max(when.delay, when.left, abs(when.offset)) > _MOST_SECONDS:
            raise ValueError("seconds")
        if when.at is None and when.event is None and when.sun is None and not when.left:
            raise ValueError("when")
        return when


def _renamed(entity_ids: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if item == old else item for item in entity_ids)


def moment_of(wall: str, zone: tzinfo) -> datetime:
    """Return the moment at which the clock of a zone shows a day and time, in UTC.

    The first one where it shows it twice; one that the clock leaves out is the one behind the gap.
    """
    shown = datetime.fromisoformat(wall).replace(tzinfo=zone, fold=0)
    return dt_util.as_utc(shown)
