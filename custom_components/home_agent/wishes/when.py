"""When a wish is due: at a moment, at a clock time, by the sun, or when something in the home happens."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Any, Self

from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN, SUN_EVENT_SUNRISE, SUN_EVENT_SUNSET
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.sun import get_astral_event_next
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

from ..support.rows import as_row, from_row


class SunEvent(StrEnum):
    """An event of the sun, by Home Assistant's name."""

    SUNRISE = SUN_EVENT_SUNRISE
    SUNSET = SUN_EVENT_SUNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is so in the home: states, or the range of a number, of one entity or of several."""

    entity_ids: tuple[str, ...]
    states: tuple[str, ...] = ()
    """One of these; empty with a bound."""
    above: float | None = None
    below: float | None = None
    attribute: str = ""
    """The attribute that is compared; empty: the state."""
    every: bool = False
    """Whether it has to be so of every entity; else of one of them."""
    negated: bool = False
    """Whether it is so while this is not: "unless the window is open"."""
    each: bool = False
    """Whether each entity for which it becomes so counts as an event, though it is so of another one: "when somebody comes home"."""

    def is_so(self, hass: HomeAssistant) -> bool | None:
        """Return whether it is so now; None if that is not known, as entities are missing or unavailable."""
        known = [self.fits(hass.states.get(entity_id)) for entity_id in self.entity_ids]
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
        if self.above is None and self.below is None:
            return str(value) in self.states
        try:
            number = float(value)  # type: ignore[arg-type]
        except TypeError, ValueError:
            return None
        return (self.above is None or number > self.above) and (self.below is None or number < self.below)

    def renamed(self, old: str, new: str) -> Self:
        """Return it with another id of an entity."""
        return replace(self, entity_ids=tuple(new if item == old else item for item in self.entity_ids))

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file."""
        return as_row(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the file. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        watch = from_row(cls, data)
        if not watch.entity_ids or not (watch.states or watch.above is not None or watch.below is not None):
            raise ValueError("watch")
        return watch


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """When a wish is due. It has one of `at`, `sun` and `event`; a clock time has `at` and `wall`."""

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
    ready: bool = True
    """Whether it was not so when it was last looked at, so that it can become so: "when Anna arrives", while she is at home."""
    until: datetime | None = None
    """When an event is not waited for any more."""
    conditions: tuple[Watch, ...] = ()
    """What has to be so at that time; otherwise nothing is done."""
    words: str = ""
    """As it was said, with the conditions."""

    @property
    def watches(self) -> tuple[Watch, ...]:
        """What it looks at in the home."""
        return (*((self.event,) if self.event is not None else ()), *self.conditions)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """Entities whose states it looks at."""
        return tuple(dict.fromkeys(item for watch in self.watches for item in watch.entity_ids))

    def settled(self, hass: HomeAssistant, made: datetime, zone: tzinfo) -> Self:
        """Return it with the moment as it is now: of a clock time in this zone, of the sun where the home is."""
        if self.wall:
            return replace(self, at=moment_of(self.wall, zone))
        if self.sun is not None:
            after = made - timedelta(
                seconds=self.offset
            )  # half an hour before sunset may be past, while the sunset is not
            return replace(self, at=get_astral_event_next(hass, self.sun, after, timedelta(seconds=self.offset)))
        return self

    def renamed(self, old: str, new: str) -> Self:
        """Return it with another id of an entity."""
        event = self.event.renamed(old, new) if self.event is not None else None
        return replace(self, event=event, conditions=tuple(one.renamed(old, new) for one in self.conditions))

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file."""
        return as_row(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read it from the file. Raises `KeyError`, `TypeError` or `ValueError` for invalid data."""
        event = Watch.from_dict(data["event"]) if data["event"] is not None else None
        conditions = tuple(map(Watch.from_dict, data["conditions"]))
        when = from_row(cls, data, event=event, conditions=conditions)
        if when.wall:
            datetime.fromisoformat(when.wall)
        if when.at is None and when.event is None and when.sun is None:
            raise ValueError("when")
        return when


def moment_of(wall: str, zone: tzinfo) -> datetime:
    """Return the moment at which the clock of a zone shows a day and time, in UTC.

    The first one where it shows it twice; one that the clock leaves out is the one behind the gap.
    """
    shown = datetime.fromisoformat(wall).replace(tzinfo=zone, fold=0)
    return dt_util.as_utc(shown)
