"""A week that is played in a home, and what an automation did in it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from homeassistant.components.automation import EVENT_AUTOMATION_TRIGGERED
from homeassistant.components.trace.const import DATA_TRACE
from homeassistant.const import EVENT_CALL_SERVICE, EVENT_STATE_CHANGED
from homeassistant.core import (
    DOMAIN as HOMEASSISTANT,
    Event,
    EventStateChangedData,
    HomeAssistant,
    State,
    callback,
    split_entity_id,
)
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids

from ..house import put_state
from ..local import House
from .clock import Clock

ZONE = ZoneInfo("Europe/Berlin")
LATITUDE, LONGITUDE = 52.52, 13.405
BEGIN = datetime(2026, 11, 30, tzinfo=ZONE)
END = datetime(2026, 12, 7, tzinfo=ZONE)
MAX_RUNS = 2_000
"""Of all automations in a week: more is a loop."""

type Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An action that was called."""

    at: datetime
    """Local."""
    action: str
    entity_ids: tuple[str, ...]
    """All that it reaches, sorted."""
    data: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""
    """The automation it comes from in the end."""

    def as_dict(self) -> dict[str, Any]:
        """Return it in the form of what is expected."""
        return {"at": local(self.at), "action": self.action, "entity_id": [*self.entity_ids]}


@dataclass(slots=True, kw_only=True)
class Played:
    """What came of a week."""

    calls: list[Call] = field(default_factory=list)
    """In the week, of all automations."""
    runs: list[tuple[str, datetime]] = field(default_factory=list)
    """In the week: which automation began when."""
    held: int = 0
    """How often a trigger of the one that is watched came, and a condition held it back."""
    start: dict[str, State] = field(default_factory=dict)
    """All states as the week began."""
    changes: list[tuple[datetime, str, State | None]] = field(default_factory=list)


class TooManyRunsError(Exception):
    """Automations start each other, or themselves, without an end."""


def local(moment: datetime) -> str:
    """Return a moment in Berlin, to the second it is in."""
    return (moment + timedelta(milliseconds=1)).astimezone(ZONE).strftime("%Y-%m-%dT%H:%M:%S")


def moment_of(text: str) -> datetime:
    """Return the moment that a row means."""
    return datetime.fromisoformat(text).replace(tzinfo=ZONE)


class Watch:
    """Notes what automations do."""

    def __init__(self, hass: HomeAssistant, automation_id: str) -> None:
        """Begin; of one automation also what its conditions held back."""
        self._hass, self._key = hass, f"automation.{automation_id}"
        self.played = Played(start={state.entity_id: state for state in hass.states.async_all()})
        self._by: dict[str, str] = {}
        self._seen = {run_id for run_id, _ in self._traces()}
        self._ends = [
            hass.bus.async_listen(EVENT_AUTOMATION_TRIGGERED, self._on_run),
            hass.bus.async_listen(EVENT_CALL_SERVICE, self._on_call),
            hass.bus.async_listen(EVENT_STATE_CHANGED, self._on_change),
        ]

    def end(self) -> None:
        """Note nothing any more."""
        while self._ends:
            self._ends.pop()()

    @callback
    def _on_run(self, event: Event) -> None:
        self._by[event.context.id] = event.data["entity_id"]
        self.played.runs.append((event.data["entity_id"], event.time_fired))

    @callback
    def _on_call(self, event: Event) -> None:
        context = event.context
        by = self._by.get(context.id) or self._by.get(context.parent_id or "")
        if by is None:
            return
        self._by[context.id] = by
        domain, service = event.data["domain"], event.data["service"]
        data = event.data["service_data"]
        self.played.calls.append(
            Call(
                at=event.time_fired,
                action=f"{domain}.{service}",
                entity_ids=tuple(sorted(reached(self._hass, domain, data))),
                data=data,
                by=by,
            )
        )

    @callback
    def _on_change(self, event: Event[EventStateChangedData]) -> None:
        self.played.changes.append((event.time_fired, event.data["entity_id"], event.data["new_state"]))

    def _traces(self) -> Iterator[tuple[str, Any]]:
        if (kept := self._hass.data.get(DATA_TRACE, {}).get(self._key)) is not None:
            yield from kept.runs.items()

    def look(self) -> None:
        """Note what conditions held back since the last look. Raises `TooManyRunsError`."""
        for run_id, trace in self._traces():
            if run_id not in self._seen:
                self._seen.add(run_id)
                self.played.held += trace.as_short_dict()["script_execution"] == "failed_conditions"
        if len(self.played.runs) > MAX_RUNS:
            raise TooManyRunsError


def reached(hass: HomeAssistant, domain: str, data: Mapping[str, Any]) -> set[str]:
    """Return the ids of the entities that a call is for."""
    selection = TargetSelection(dict(data))
    if selection.entity_ids == {"all"}:
        return {state.entity_id for state in hass.states.async_all(domain)}
    found = async_extract_referenced_entity_ids(hass, selection)
    others = {item for item in found.indirectly_referenced if domain in (HOMEASSISTANT, split_entity_id(item)[0])}
    return found.referenced | others


def put(house: House, entity_id: str, state: str, attributes: Mapping[str, Any] | None = None) -> None:
    """Let an entity of the home be in a state; what is not said of its attributes is as in the home."""
    row = house.rows.get(entity_id) or {
        "entity_id": entity_id,
        "name": entity_id,
        "device_class": None,
        "attributes": {},
    }
    whole = {**row["attributes"], **(attributes or {})}
    if (device := house.devices.get(entity_id)) is not None:
        device.become(state, whole)
    else:
        put_state(house.hass, {**row, "state": state, "attributes": whole})


def put_all(house: House, start: Mapping[str, Any]) -> None:
    """Let the home be as a row says that it is at first."""
    for entity_id, given in start.items():
        state = given if isinstance(given, Mapping) else {"state": given}
        now = house.hass.states.get(entity_id)
        put(house, entity_id, str(state.get("state", now.state if now else "unknown")), state.get("attributes"))


async def async_play(house: House, clock: Clock, automation_id: str, changes: Iterable[Row]) -> Played:
    """Return what came of a week. Raises `RanAwayError`, `TooManyRunsError`."""
    await clock.async_until(BEGIN)
    watch = Watch(house.hass, automation_id)
    try:
        for change in sorted(changes, key=lambda row: str(row["at"])):
            await clock.async_until(moment_of(change["at"]), watch.look)
            put(house, change["entity_id"], str(change["state"]), change.get("attributes"))
            await clock.async_settle()
            watch.look()
        await clock.async_until(END, watch.look)
    finally:
        watch.end()
    return watch.played
