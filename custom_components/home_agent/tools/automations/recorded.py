"""What the recorder kept lately: changes of states and other events, newest first. All of it runs in the recorder's executor."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homeassistant.components.recorder.db_schema import EventData, Events, EventTypes, States, StatesMeta
from homeassistant.components.recorder.models import bytes_to_uuid_hex_or_none
from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import session_scope
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads
from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session, aliased

AUTOMATION_TRIGGERED = "automation_triggered"
SCRIPT_STARTED = "script_started"
STARTS = (AUTOMATION_TRIGGERED, SCRIPT_STARTED)
"""Events that tell which automation or script a context belongs to."""
MAX_SCANNED = 300  # events that are read for one answer: some of them may not be told
MAX_DATA = 4_000  # characters of an event's data
_DULL = frozenset(
    {
        "call_service", "component_loaded", "core_config_updated", "data_entry_flow_progressed", "logging_changed",
        "lovelace_updated", "panels_updated", "recorder_5min_statistics_generated", "recorder_hourly_statistics_generated",
        "service_registered", "service_removed", "state_changed", "state_reported", "themes_updated", "user_added",
        "user_removed", "user_updated",
    }
)  # fmt: skip
_DULL_END = "_registry_updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caused:
    """Something that was recorded, with its context."""

    at: float  # seconds since the epoch
    context: bytes | None
    user_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange(Caused):
    """A change of a state."""

    entity_id: str
    before: str | None
    after: str | None
    """None: the entity was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening(Caused):
    """Another event."""

    event_type: str
    data: Mapping[str, Any]
    is_cut: bool
    """Whether its data is too long, and left out."""


@dataclass(frozen=True, slots=True)
class Since:
    """A period in seconds since the epoch, and how many rows are wanted of it."""

    start: float
    end: float
    most: int


def is_dull(event_type: str) -> bool:
    """Return whether an event tells of Home Assistant's own work only, or repeats a state or a call."""
    return event_type in _DULL or event_type.endswith(_DULL_END) or event_type.startswith("homeassistant_")


def changes(hass: HomeAssistant, entity_ids: Sequence[str], since: Since) -> list[StateChange]:
    """Return the newest changes of states, without changes of attributes only."""
    found: list[StateChange] = []
    with session_scope(hass=hass, read_only=True) as session:
        for entity_id, metadata_id in _known(session, entity_ids).items():
            found += [
                StateChange(
                    at=row.last_updated_ts,
                    context=row.context_id_bin,
                    user_id=bytes_to_uuid_hex_or_none(row.context_user_id_bin),
                    entity_id=entity_id,
                    before=row.before,
                    after=row.state,
                )
                for row in session.execute(_changes_of(metadata_id, since))
            ]
    return sorted(found, key=lambda change: -change.at)[: since.most]


def _known(session: Session, entity_ids: Iterable[str]) -> dict[str, int]:
    rows = select(StatesMeta.entity_id, StatesMeta.metadata_id).where(StatesMeta.entity_id.in_([*entity_ids]))
    return {row.entity_id: row.metadata_id for row in session.execute(rows)}


def _changes_of(metadata_id: int, since: Since) -> Select[Any]:
    earlier = aliased(States)
    return (
        select(
            States.state,
            earlier.state.label("before"),
            States.last_updated_ts,
            States.context_id_bin,
            States.context_user_id_bin,
        )
        .outerjoin(earlier, States.old_state_id == earlier.state_id)
        .where(States.metadata_id == metadata_id)
        .where(States.last_updated_ts > since.start, States.last_updated_ts <= since.end)
        .where(or_(States.last_changed_ts.is_(None), States.last_changed_ts == States.last_updated_ts))
        .order_by(States.last_updated_ts.desc())
        .limit(since.most)
    )


def common_states(hass: HomeAssistant, entity_ids: Sequence[str], start: float, most: int) -> dict[str, list[str]]:
    """Return the states that entities had most often since a time, by entity."""
    found: dict[str, list[str]] = {}
    with session_scope(hass=hass, read_only=True) as session:
        for entity_id, metadata_id in _known(session, entity_ids).items():
            rows = (
                select(States.state)
                .where(States.metadata_id == metadata_id, States.last_updated_ts > start, States.state.is_not(None))
                .where(or_(States.last_changed_ts.is_(None), States.last_changed_ts == States.last_updated_ts))
                .group_by(States.state)
                .order_by(func.count().desc(), States.state)
                .limit(most)
            )
            found[entity_id] = [str(row.state) for row in session.execute(rows)]
    return found


def happenings(hass: HomeAssistant, event_types: Collection[str], since: Since) -> list[Happening]:
    """Return the newest events of these types; of none: of all that are no work of Home Assistant's own."""
    with session_scope(hass=hass, read_only=True) as session:
        types = session.execute(select(EventTypes.event_type, EventTypes.event_type_id))
        known = {str(row.event_type): row.event_type_id for row in types}
        wanted = {number: name for name, number in known.items() if not is_dull(name)}
        if event_types:
            wanted = {number: name for number, name in wanted.items() if name in event_types}
        rows = (
            select(
                Events.event_type_id,
                Events.time_fired_ts,
                Events.context_id_bin,
                Events.context_user_id_bin,
                EventData.shared_data,
            )
            .outerjoin(EventData, Events.data_id == EventData.data_id)
            .where(Events.event_type_id.in_([*wanted]))
            .where(Events.time_fired_ts > since.start, Events.time_fired_ts <= since.end)
            .order_by(Events.time_fired_ts.desc())
            .limit(MAX_SCANNED)
        )
        return [_happening(wanted[row.event_type_id], row) for row in session.execute(rows)]


def _happening(event_type: str, row: Any) -> Happening:
    text = row.shared_data or "{}"
    return Happening(
        at=row.time_fired_ts,
        context=row.context_id_bin,
        user_id=bytes_to_uuid_hex_or_none(row.context_user_id_bin),
        event_type=event_type,
        data=_read(text),
        is_cut=len(text) > MAX_DATA,
    )


def _read(text: str) -> Mapping[str, Any]:
    """Return the data of an event; empty if it is too long or unreadable."""
    if len(text) > MAX_DATA:
        return {}
    try:
        found = json_loads(text)
    except JSON_DECODE_EXCEPTIONS:
        return {}
    return found if isinstance(found, dict) else {}


def starters(hass: HomeAssistant, contexts: Collection[bytes]) -> dict[bytes, Mapping[str, Any]]:
    """Return the data of the event that started the automation or script of each context, by context."""
    if not contexts:
        return {}
    with session_scope(hass=hass, read_only=True) as session:
        rows = (
            select(Events.context_id_bin, EventData.shared_data)
            .join(EventTypes, Events.event_type_id == EventTypes.event_type_id)
            .outerjoin(EventData, Events.data_id == EventData.data_id)
            .where(Events.context_id_bin.in_([*contexts]), EventTypes.event_type.in_(STARTS))
            .order_by(Events.time_fired_ts.desc())
            .limit(MAX_SCANNED)
        )
        return {row.context_id_bin: _read(row.shared_data or "{}") for row in session.execute(rows)}
