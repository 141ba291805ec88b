"""States, events and gaps that Home Assistant's recorder has kept, read in its executor, newest first, within bounds."""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
import logging
from typing import Any, override

from homeassistant.components.recorder import history
from homeassistant.core import Context, HomeAssistant, State
from homeassistant.helpers.recorder import get_instance, session_scope
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads

from ..support.errors import ToolRefusal
from .past import UNKNOWN_CONTEXT

MAX_CHANGES = 100_000
MAX_EVENTS = 5_000
MAX_SECONDS = 20
_FIRST_PIECE = timedelta(hours=1)
_LONGEST_PIECE = timedelta(days=1)
_FEW = 5_000  # changes of one piece; after fewer, the next one is twice as long
_LOOKED_BACK = timedelta(days=10)
_STARTED = "homeassistant_started"
_KEPT_FROM_NOW = {"input_datetime": ("has_date", "has_time"), "calendar": ("description",)}
"""Attributes that the recorder leaves out and that only its owner changes: they count as they are now."""
_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastChange:
    """One change of an entity."""

    at: datetime
    """In UTC."""
    entity_id: str
    state: State | None
    """What it became; None if it was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEvent:
    """One event of the bus."""

    at: datetime
    event_type: str
    data: Mapping[str, Any]
    context: Context = field(default_factory=lambda: UNKNOWN_CONTEXT)
    """Who fired it; `UNKNOWN_CONTEXT` if that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastGap:
    """Home Assistant did not run, or was not ready."""

    since: datetime
    until: datetime
    """When its automations listened again."""


@dataclass(slots=True)
class Recorded:
    """What was read."""

    since: datetime
    start: dict[str, State] = field(default_factory=dict)
    changes: list[PastChange] = field(default_factory=list)
    events: list[PastEvent] = field(default_factory=list)
    gaps: list[PastGap] = field(default_factory=list)


async def async_read(
    hass: HomeAssistant, entity_ids: Collection[str], event_types: Collection[str], since: datetime, until: datetime
) -> Recorded:
    """Return what is known of a period; it begins later if more was recorded than fits.

    Raises `ToolRefusal` without a recorder, and if it does not answer in time.
    """
    if "recorder" not in hass.config.components:
        raise ToolRefusal("There is no history: the recorder of Home Assistant is not set up.")
    found = Recorded(since=until)
    ask = get_instance(hass).async_add_executor_job
    live = {entity_id: state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None}
    try:
        async with asyncio.timeout(MAX_SECONDS):
            piece = _FIRST_PIECE
            newest_first: list[list[PastChange]] = []
            while found.since > since and entity_ids:
                begin = max(found.since - piece, since)
                read = await ask(partial(_changes, hass, sorted(entity_ids), begin, found.since, live))
                if sum(map(len, newest_first)) + len(read) > MAX_CHANGES and newest_first:
                    break
                if is_cut := len(read) > MAX_CHANGES:
                    begin, read = read[-MAX_CHANGES].at, read[1 - MAX_CHANGES :]
                newest_first.append(read)
                found.since = begin
                if is_cut:
                    break
                piece = min(piece * 2, _LONGEST_PIECE) if len(read) < _FEW else piece
            found.since = found.since if entity_ids else since
            if event_types:
                oldest = await ask(partial(_oldest, hass))
                found.since = max(found.since, min(oldest or found.since, until))
            events = await ask(partial(_events, hass, {*event_types, _STARTED}, found.since, until))
            found.events = [event for event in events if event.event_type in event_types]
            if len(found.events) > MAX_EVENTS:
                # What happened before the last event that fits is not known: nothing of that time is told.
                found.since = found.events[-MAX_EVENTS - 1].at
                found.events = found.events[-MAX_EVENTS:]
            found.changes = [change for read in reversed(newest_first) for change in read if change.at > found.since]
            found.start = await ask(partial(_start, hass, sorted(entity_ids), found.since, live))
            found.gaps = await ask(partial(_gaps, hass, found.since, until, events))
    except TimeoutError as err:
        raise ToolRefusal("The recorder takes too long. Ask about fewer hours or entities.") from err
    _add_newest(found, live, until)
    return found


def left_out_events(hass: HomeAssistant) -> frozenset[str]:
    """Return the types of events that the recorder is told to leave out."""
    return frozenset(map(str, getattr(get_instance(hass), "exclude_event_types", ())))


def _add_newest(found: Recorded, live: Mapping[str, State], until: datetime) -> None:
    """Add the states of now that are not written yet: the recorder is a few seconds late."""
    newest = {entity_id: state.last_updated for entity_id, state in found.start.items()}
    newest |= {change.entity_id: change.at for change in found.changes}
    late = [
        PastChange(at=state.last_updated, entity_id=entity_id, state=copied(state, live))
        for entity_id, state in live.items()
        if found.since < state.last_updated <= until
        and (entity_id not in newest or newest[entity_id] < state.last_updated)
    ]
    if late:
        found.changes = sorted([*found.changes, *late], key=lambda change: change.at)


def copied(state: State, live: Mapping[str, State]) -> State:
    """Return a state of its own: Home Assistant keeps what templates made of one by the state itself."""
    attributes = dict(state.attributes)
    domain = state.entity_id.partition(".")[0]
    now = live.get(state.entity_id)
    if now is not None:
        for name in _KEPT_FROM_NOW.get(domain, ()):
            if name not in attributes and name in now.attributes:
                attributes[name] = now.attributes[name]
    found = State(
        state.entity_id,
        state.state,
        attributes,
        last_changed=state.last_changed,
        last_updated=state.last_updated,
        validate_entity_id=False,
    )
    return without(found, left_out_of(now) if state is not now else ())


def left_out_of(state: State | None) -> Collection[str]:
    """Return the attributes of an entity that the recorder leaves out."""
    info = state.state_info if state is not None else None
    found: Collection[str] = info.get("unrecorded_attributes", ()) if info else ()
    return found


def without(state: State, names: Collection[str]) -> State:
    """Let a state tell when one of its attributes is asked for that was left out."""
    if names:
        attributes = KnownAttributes(state.attributes)
        attributes.entity_id, attributes.left_out = state.entity_id, names
        state.attributes = attributes  # type: ignore[assignment]  # State itself makes a ReadOnlyDict of what it is given
    return state


asked_for: ContextVar[dict[tuple[str, str], None] | None] = ContextVar("home_agent_asked_for", default=None)
"""Attributes, by entity and name, that were asked for and that the recorder has left out."""


class KnownAttributes(dict[str, Any]):
    """Attributes of a state, without those that the recorder leaves out."""

    entity_id = ""
    left_out: Collection[str] = ()

    def _note(self, name: object) -> None:
        if name in self.left_out and (asked := asked_for.get()) is not None and not super().__contains__(name):
            asked[self.entity_id, str(name)] = None

    @override
    def get(self, name: Any, default: Any = None) -> Any:
        self._note(name)
        return super().get(name, default)

    @override
    def __getitem__(self, name: Any) -> Any:
        self._note(name)
        return super().__getitem__(name)

    @override
    def __contains__(self, name: object) -> bool:
        self._note(name)
        return super().__contains__(name)


def _rows(
    hass: HomeAssistant, entity_ids: Sequence[str], since: datetime, until: datetime, *, with_start: bool
) -> Mapping[str, Sequence[Any]]:
    return history.get_significant_states(
        hass,
        since,
        until,
        list(entity_ids),
        include_start_time_state=with_start,
        significant_changes_only=False,
    )


def _changes(
    hass: HomeAssistant, entity_ids: Sequence[str], since: datetime, until: datetime, live: Mapping[str, State]
) -> list[PastChange]:
    """Return the changes after `since`, up to `until`, oldest first."""
    just_after = until + timedelta(microseconds=1)  # the recorder leaves out what is of the last moment itself
    found = [
        PastChange(at=row.last_updated, entity_id=entity_id, state=copied(row, live) if row.state else None)
        for entity_id, rows in _rows(hass, entity_ids, since, just_after, with_start=False).items()
        for row in rows
        if since < row.last_updated <= until
    ]
    return sorted(found, key=lambda change: change.at)


def _start(
    hass: HomeAssistant, entity_ids: Sequence[str], since: datetime, live: Mapping[str, State]
) -> dict[str, State]:
    """Return the states at a moment, each with the time of its last change."""
    if not entity_ids:
        return {}
    found: dict[str, State] = {}
    just_after = since + timedelta(microseconds=1)  # a state of that very moment counts
    for entity_id, rows in _rows(hass, entity_ids, just_after, just_after, with_start=True).items():
        if not rows or not rows[-1].state:
            continue
        state = rows[-1]
        earlier = history.state_changes_during_period(
            hass, since - _LOOKED_BACK, just_after, entity_id, True, True, 1, False
        ).get(entity_id, [])
        changed = [row for row in earlier if row.state == state.state and row.last_changed <= since]
        state.last_changed = changed[-1].last_changed if changed else min(state.last_changed, since)
        state.last_updated = min(state.last_updated, since)
        found[entity_id] = copied(state, live)
    return found


def _events(hass: HomeAssistant, event_types: Collection[str], since: datetime, until: datetime) -> list[PastEvent]:
    """Return recorded events, oldest first: one more than fits tells that there are more.

    Starts of Home Assistant are looked up by themselves, so that no other events drown them.
    """
    starts = {_STARTED}.intersection(event_types)
    rows = [
        row
        for types in (starts, {*event_types} - starts)
        if types
        for row in reversed(_event_rows(hass, types, since, until, ""))
    ]
    return [
        PastEvent(
            at=datetime.fromtimestamp(row[0], UTC), event_type=row[1], data=_data(row[2]), context=_context(*row[3:])
        )
        for row in sorted(rows, key=lambda row: row[0])
    ]


def _context(context_id: bytes | None, user_id: bytes | None, parent_id: bytes | None) -> Context:
    """Return a context as the recorder has written it."""
    from homeassistant.components.recorder.models import bytes_to_ulid_or_none, bytes_to_uuid_hex_or_none

    return Context(
        user_id=bytes_to_uuid_hex_or_none(user_id),
        parent_id=bytes_to_ulid_or_none(parent_id),
        id=bytes_to_ulid_or_none(context_id),
    )


def with_contexts(
    hass: HomeAssistant, start: Mapping[str, State], changes: Sequence[PastChange], since: datetime, until: datetime
) -> tuple[dict[str, State], list[PastChange]] | None:
    """Return states and changes with who made them; None where the database is laid out in another way.

    For the recorder's executor. Most replays do not ask for it, and it takes time.
    """
    entity_ids = {*start, *(change.entity_id for change in changes)}
    try:
        known = _contexts(hass, entity_ids, start, since, until)
    except ImportError, AttributeError:
        _LOGGER.debug("Contexts cannot be read from this recorder")
        return None
    newest = {entity_id: state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None}
    for entity_id, state in newest.items():
        known.setdefault((entity_id, state.last_updated), state.context)  # it may not be written yet
    return (
        {entity_id: _made_by(state, known.get((entity_id, None))) for entity_id, state in start.items()},
        [
            replace(change, state=_made_by(change.state, known.get((change.entity_id, change.at))))
            if change.state is not None
            else change
            for change in changes
        ],
    )


def _made_by(state: State, context: Context | None) -> State:
    found = State(
        state.entity_id,
        state.state,
        None,
        last_changed=state.last_changed,
        last_updated=state.last_updated,
        context=context or UNKNOWN_CONTEXT,
        validate_entity_id=False,
    )
    found.attributes = state.attributes
    return found


def _contexts(
    hass: HomeAssistant, entity_ids: Collection[str], start: Mapping[str, State], since: datetime, until: datetime
) -> dict[tuple[str, datetime | None], Context]:
    """Return contexts by entity and moment; that of the state at the beginning by None."""
    from homeassistant.components.recorder.db_schema import States, StatesMeta
    from sqlalchemy import select

    query = select(
        StatesMeta.entity_id,
        States.last_updated_ts,
        States.context_id_bin,
        States.context_user_id_bin,
        States.context_parent_id_bin,
    ).join(StatesMeta, States.metadata_id == StatesMeta.metadata_id)
    found: dict[tuple[str, datetime | None], Context] = {}
    with session_scope(hass=hass, read_only=True) as session:
        of_period = query.where(
            StatesMeta.entity_id.in_(sorted(entity_ids)),
            States.last_updated_ts > since.timestamp(),
            States.last_updated_ts <= until.timestamp(),
        )
        for entity_id, at, *ids in session.execute(of_period):
            found[entity_id, dt_util.utc_from_timestamp(at)] = _context(*ids)
        for entity_id in start:
            before = query.where(
                StatesMeta.entity_id == entity_id, States.last_updated_ts <= since.timestamp() + 1e-6
            ).order_by(States.last_updated_ts.desc())
            if (row := session.execute(before.limit(1)).first()) is not None:
                found[entity_id, None] = _context(*row[2:])
    return found


def _oldest(hass: HomeAssistant) -> datetime | None:
    """Return since when the recorder has anything; None if it is empty or laid out in another way."""
    try:
        from homeassistant.components.recorder.db_schema import Events, States
        from sqlalchemy import func, select

        with session_scope(hass=hass, read_only=True) as session:
            found = [
                at
                for column in (Events.time_fired_ts, States.last_updated_ts)
                if (at := session.execute(select(func.min(column))).scalar()) is not None
            ]
    except ImportError, AttributeError:
        return None
    return datetime.fromtimestamp(min(found), UTC) if found else None


def moments_of(
    hass: HomeAssistant, event_type: str, entity_id: str, since: datetime, until: datetime | None = None
) -> list[datetime]:
    """Return when recorded events named an entity, newest first. For the recorder's executor."""
    until = until or datetime.now(UTC)
    return [
        datetime.fromtimestamp(at, UTC)
        for at, _, shared, *_ in _event_rows(hass, [event_type], since, until, f'"{entity_id}"')
        if _data(shared).get("entity_id") == entity_id
    ]


def _event_rows(
    hass: HomeAssistant, event_types: Collection[str], since: datetime, until: datetime, having: str
) -> Sequence[Any]:
    """Return rows of events, newest first; none where the database is laid out in another way."""
    try:
        from homeassistant.components.recorder.db_schema import EventData, Events, EventTypes
        from sqlalchemy import select

        query = (
            select(
                Events.time_fired_ts,
                EventTypes.event_type,
                EventData.shared_data,
                Events.context_id_bin,
                Events.context_user_id_bin,
                Events.context_parent_id_bin,
            )
            .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
            .outerjoin(EventData, Events.data_id == EventData.data_id)
            .where(EventTypes.event_type.in_(sorted(event_types)))
            .where(Events.time_fired_ts > since.timestamp(), Events.time_fired_ts <= until.timestamp())
            .order_by(Events.time_fired_ts.desc())
            .limit(MAX_EVENTS + 1)
        )
        if having:
            query = query.where(EventData.shared_data.contains(having, autoescape=True))
        with session_scope(hass=hass, read_only=True) as session:
            return session.execute(query).all()
    except ImportError, AttributeError:
        _LOGGER.debug("Events cannot be read from this recorder")
        return []


def _data(shared: str | None) -> Mapping[str, Any]:
    try:
        found = json_loads(shared or "{}")
    except JSON_DECODE_EXCEPTIONS:
        return {}
    return found if isinstance(found, dict) else {}


def _gaps(hass: HomeAssistant, since: datetime, until: datetime, events: Sequence[PastEvent]) -> list[PastGap]:
    """Return when Home Assistant did not run; none where the database is laid out in another way."""
    try:
        from homeassistant.components.recorder.db_schema import RecorderRuns
        from sqlalchemy import select

        query = select(RecorderRuns.start, RecorderRuns.end).where(RecorderRuns.start <= until)
        with session_scope(hass=hass, read_only=True) as session:
            runs = sorted(session.execute(query.order_by(RecorderRuns.start.desc()).limit(500)).all())
    except ImportError, AttributeError:
        _LOGGER.debug("Runs cannot be read from this recorder")
        return []
    return list(_between(runs, since, [event.at for event in events if event.event_type == _STARTED]))


def starts_of(hass: HomeAssistant, since: datetime, until: datetime) -> list[datetime]:
    """Return when Home Assistant started; none where the database is laid out in another way. For the recorder's executor."""
    try:
        from homeassistant.components.recorder.db_schema import RecorderRuns
        from sqlalchemy import select

        query = select(RecorderRuns.start).where(RecorderRuns.start > since, RecorderRuns.start <= until)
        with session_scope(hass=hass, read_only=True) as session:
            return [_aware(begin) for begin in session.execute(query).scalars()]
    except ImportError, AttributeError:
        _LOGGER.debug("Runs cannot be read from this recorder")
        return []


def _between(runs: Sequence[Any], since: datetime, started: Sequence[datetime]) -> Iterator[PastGap]:
    """Yield the time between two runs, up to the moment when the second was ready."""
    for number, (begin, end) in enumerate(runs):
        follower = runs[number + 1][0] if number + 1 < len(runs) else None
        if follower is None:
            return
        stopped = _aware(end) if end is not None else _aware(begin)
        ready = _aware(follower)
        ready = next((at for at in started if at >= ready), ready)
        if ready > since and ready > stopped:
            yield PastGap(since=max(stopped, since), until=ready)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
