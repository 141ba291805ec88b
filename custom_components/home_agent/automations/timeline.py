"""What some entities were over some time: from the recorder, or from a piece that was kept as an example."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

from homeassistant.core import HomeAssistant, State, valid_entity_id
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads_object

from ..support.encoding import dump
from ..support.errors import ToolRefusal
from .recorded import PastChange, PastEvent, PastGap, async_read, left_out_events, left_out_of, with_contexts, without

MAX_DAYS = 10
MAX_ENTITIES = 50
MAX_KEPT = 200  # changes and events of an example
MAX_ATTRIBUTES = 4_000  # characters of JSON of one kept state


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Some entities over some time."""

    since: datetime
    """In UTC, like all moments here."""
    until: datetime
    entity_ids: frozenset[str]
    """Those that are known, with a state or without one."""
    start: Mapping[str, State] = field(default_factory=dict)
    """Their states at `since`."""
    changes: tuple[PastChange, ...] = ()
    """Oldest first."""
    events: tuple[PastEvent, ...] = ()
    event_types: frozenset[str] = frozenset()
    """Types whose events are known."""
    gaps: tuple[PastGap, ...] = ()
    unrecorded: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Attributes that the recorder leaves out; an empty set stands for an entity of which nothing is recorded."""
    registry_ids: Mapping[str, str] = field(default_factory=dict)
    """The registry's id of each entity that has one: it stays when the entity is renamed."""
    is_recorded: bool = False
    """It comes from the recorder, which knows who made a change."""
    is_piece: bool = False
    """It was cut out of a longer one: what the automation itself did before is not known."""

    @classmethod
    async def async_recorded(
        cls,
        hass: HomeAssistant,
        entity_ids: Collection[str],
        since: datetime,
        until: datetime,
        *,
        event_types: Collection[str] = (),
    ) -> Timeline:
        """Return what was recorded. It begins later than asked where more was recorded than fits.

        Raises `ToolRefusal` for too many entities, without a recorder, and if it does not answer in time.
        """
        if len(entity_ids) > MAX_ENTITIES:
            raise ToolRefusal(f"It depends on {len(entity_ids)} entities; at most {MAX_ENTITIES} can be replayed.")
        until = min(dt_util.as_utc(until), dt_util.utcnow())
        since = max(dt_util.as_utc(since), until - timedelta(days=MAX_DAYS))
        found = await async_read(hass, entity_ids, event_types, since, until)
        registry = er.async_get(hass)
        return cls(
            since=found.since,
            until=until,
            entity_ids=frozenset(entity_ids),
            start=found.start,
            changes=tuple(found.changes),
            events=tuple(found.events),
            event_types=frozenset(event_types) - left_out_events(hass),
            gaps=tuple(found.gaps),
            unrecorded=dict(_unrecorded(hass, entity_ids)),
            is_recorded=True,
            registry_ids={
                entity_id: entry.id for entity_id in entity_ids if (entry := registry.async_get(entity_id)) is not None
            },
        )

    async def async_with_contexts(self, hass: HomeAssistant) -> Timeline | None:
        """Return it with who made the changes; None if that is not known."""
        if not self.is_recorded:
            return None
        ask = partial(with_contexts, hass, self.start, self.changes, self.since, self.until)
        found = await get_instance(hass).async_add_executor_job(ask)
        return None if found is None else replace(self, start=found[0], changes=tuple(found[1]))

    def states_at(self, moment: datetime) -> dict[str, State]:
        """Return the states at a moment, after the changes of that moment."""
        states = dict(self.start)
        for change in self.changes[: bisect_right(self.changes, moment, key=lambda change: change.at)]:
            if change.state is None:
                states.pop(change.entity_id, None)
            else:
                states[change.entity_id] = change.state
        return states

    def around(self, at: datetime, before: timedelta, after: timedelta) -> Timeline:
        """Return the piece around a moment; it begins later and ends earlier where it has more than `MAX_KEPT` changes."""
        since, until = max(at - before, self.since), min(at + after, self.until)
        first = bisect_right(self.changes, since, key=lambda change: change.at)
        last = bisect_right(self.changes, until, key=lambda change: change.at)
        middle = bisect_left(self.changes, at, key=lambda change: change.at)
        if last - first > MAX_KEPT:
            kept_from = max(first, min(middle - MAX_KEPT // 2, last - MAX_KEPT))
            if kept_from > first:
                since = self.changes[kept_from - 1].at
                first = bisect_right(self.changes, since, key=lambda change: change.at)
            if last - first > MAX_KEPT:
                last = first + MAX_KEPT
                until = self.changes[last].at - timedelta(microseconds=1)
                last = bisect_right(self.changes, until, key=lambda change: change.at)
        return replace(
            self,
            since=since,
            until=until,
            start=self.states_at(since),
            changes=self.changes[first:last],
            events=tuple(event for event in self.events if since < event.at <= until)[-MAX_KEPT:],
            gaps=tuple(gap for gap in self.gaps if gap.until > since and gap.since < until),
            is_piece=True,
        )

    def since_known(self) -> Timeline:
        """Return the piece from when on everything that was ever recorded has a state: before, nothing can be said of conditions."""
        first = dict.fromkeys(self.start, self.since)
        for change in self.changes:
            first.setdefault(change.entity_id, change.at)
        since = max(first.values(), default=self.since)
        if since <= self.since:
            return self
        return replace(
            self,
            since=since,
            start=self.states_at(since),
            changes=tuple(change for change in self.changes if change.at > since),
            events=tuple(event for event in self.events if event.at > since),
            gaps=tuple(gap for gap in self.gaps if gap.until > since),
        )

    def as_dict(self) -> JsonObjectType:
        """Return it as JSON. Raises `ToolRefusal` beyond `MAX_KEPT` changes."""
        if len(self.changes) > MAX_KEPT or len(self.events) > MAX_KEPT:
            raise ToolRefusal(f"An example has at most {MAX_KEPT} changes.")
        found: JsonObjectType = {
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "entities": {entity_id: self.registry_ids.get(entity_id) for entity_id in sorted(self.entity_ids)},
            "start": [_state_as_dict(state) for state in self.start.values()],
            "changes": [
                {"at": change.at.isoformat(), "entity_id": change.entity_id, "state": _state_as_dict(change.state)}
                for change in self.changes
            ],
            "events": [
                {"at": event.at.isoformat(), "type": event.event_type, "data": _json(event.data)}
                for event in self.events
            ],
            "event_types": [*sorted(self.event_types)],
            "gaps": [{"since": gap.since.isoformat(), "until": gap.until.isoformat()} for gap in self.gaps],
            "unrecorded": {entity_id: [*sorted(names)] for entity_id, names in self.unrecorded.items()},
        }
        return found

    @classmethod
    def from_dict(cls, hass: HomeAssistant, data: Mapping[str, Any]) -> Self:
        """Return what `as_dict` made JSON of, with the names that its entities have now. Raises `ToolRefusal`."""
        try:
            return cls._from_dict(hass, data)
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            raise ToolRefusal("The example cannot be read.") from err

    @classmethod
    def _from_dict(cls, hass: HomeAssistant, data: Mapping[str, Any]) -> Self:
        registry = er.async_get(hass)
        now: dict[str, str] = {}
        ids: dict[str, str] = {}
        for entity_id, registry_id in data["entities"].items():
            entry = registry.entities.get_entry(registry_id) if registry_id else None
            now[entity_id] = entry.entity_id if entry is not None else entity_id
            if registry_id:
                ids[now[entity_id]] = registry_id
        left_out = {
            now.get(entity_id, entity_id): frozenset(map(str, names))
            for entity_id, names in data.get("unrecorded", {}).items()
        }
        states = [_state_from_dict(row, now, left_out) for row in data["start"]]
        return cls(
            since=_moment(data["since"]),
            until=_moment(data["until"]),
            entity_ids=frozenset(now.values()),
            start={state.entity_id: state for state in states if state is not None},
            changes=tuple(
                PastChange(
                    at=_moment(row["at"]),
                    entity_id=now.get(row["entity_id"], row["entity_id"]),
                    state=_state_from_dict(row["state"], now, left_out),
                )
                for row in data["changes"][:MAX_KEPT]
            ),
            events=tuple(
                PastEvent(at=_moment(row["at"]), event_type=str(row["type"]), data=dict(row["data"]))
                for row in data.get("events", ())[:MAX_KEPT]
            ),
            event_types=frozenset(data.get("event_types", ())),
            gaps=tuple(
                PastGap(since=_moment(row["since"]), until=_moment(row["until"])) for row in data.get("gaps", ())
            ),
            unrecorded=left_out,
            registry_ids=ids,
            is_piece=True,
        )


def _unrecorded(hass: HomeAssistant, entity_ids: Collection[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the attributes that the recorder leaves out, by entity."""
    from homeassistant.components import recorder

    is_recorded = getattr(recorder, "is_entity_recorded", lambda _hass, _entity_id: True)
    for entity_id in entity_ids:
        if not is_recorded(hass, entity_id):
            yield entity_id, frozenset()
        elif names := frozenset(left_out_of(hass.states.get(entity_id))):
            yield entity_id, names


def _json(value: object) -> JsonObjectType:
    """Return a value as JSON, empty if it is too long."""
    text = dump(value)
    return json_loads_object(text) if len(text) <= MAX_ATTRIBUTES else {}


def _state_as_dict(state: State | None) -> JsonValueType:
    if state is None:
        return None
    return {
        "entity_id": state.entity_id,
        "state": state.state,
        "attributes": _json(dict(state.attributes)),
        "last_changed": state.last_changed.isoformat(),
        "last_updated": state.last_updated.isoformat(),
    }


def _state_from_dict(
    row: Mapping[str, Any] | None, now: Mapping[str, str], left_out: Mapping[str, Collection[str]]
) -> State | None:
    if row is None:
        return None
    entity_id = now.get(row["entity_id"], row["entity_id"])
    if not valid_entity_id(entity_id):
        raise ValueError(entity_id)
    found = State(
        entity_id,
        str(row["state"]),
        dict(row["attributes"]),
        last_changed=_moment(row["last_changed"]),
        last_updated=_moment(row["last_updated"]),
        validate_entity_id=False,
    )
    return without(found, left_out.get(entity_id, ()))


def _moment(text: str) -> datetime:
    found = dt_util.parse_datetime(text, raise_on_error=True)
    if found.tzinfo is None:
        raise ValueError(text)
    return dt_util.as_utc(found)
