"""Finds what happened, happens and is to be done in the house: in calendars, on to-do lists, in the logbook.

Only what is exposed and what whoever asks may read, judged at the moment of asking.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util

from ..exposure import is_shared
from ..prompt.events_asked import LIMIT, EventRequest, EventType, HouseEvent, event_from_text, midnight
from ..slices import in_slices
from ..turn import Turn
from .outages import Outages

CALENDAR = "calendar"
TODO = "todo"
LOGBOOK = "logbook"
TIMEOUT = 1.5  # seconds, of each list and calendar; all are asked at once
MAX_DAYS = 31  # of the logbook, read day by day until there is enough

MAX_LOGGED = 400  # entities; the logbook's query names each of them, and a database takes no more than so many

_TELLING = (
    "lock", "alarm_control_panel", "person", "automation", "script", "scene", "cover", "valve", "vacuum", "button",
)  # fmt: skip
"""Whose changes are told when nobody knows who asks."""
_DONE_TO = (
    *_TELLING, "light", "switch", "climate", "media_player", "fan", "humidifier", "water_heater", "lawn_mower", "siren",
    "input_boolean", "input_button", "input_select", "input_number", "input_datetime", "number", "select", "timer", "todo",
)  # fmt: skip
"""To what a user does something."""
_NOTHING_NEW = (STATE_UNAVAILABLE, STATE_UNKNOWN, None, "")


class HouseEvents:
    """Asks all sources at once; one that is slow or fails is left out."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start as if all were well."""
        self._hass = hass
        self._outages = Outages()

    async def async_find(self, turn: Turn, request: EventRequest) -> tuple[list[HouseEvent], bool]:
        """Return at most `LIMIT` events in their order, and whether others may have written some of them.

        Appointments and tasks come first; the logbook fills the places that are left.
        """
        done: list[HouseEvent] = []
        reading = self._async_logbook(turn, request, done)
        written, _ = await asyncio.gather(
            self._async_written(turn, request), self._outages.async_answer(LOGBOOK, TIMEOUT, reading)
        )
        found = (*written, *done[: LIMIT - len(written)])
        return sorted(found, key=lambda event: _moment(event, request.end)), bool(written)

    async def _async_written(self, turn: Turn, request: EventRequest) -> list[HouseEvent]:
        domains = (TODO,) if request.type is EventType.TASKS else (CALENDAR, TODO)
        asked = [(entity_id, domain) for domain in domains for entity_id in await self._async_readable(turn, (domain,))]
        answers = await asyncio.gather(
            *(
                self._outages.async_answer(entity_id, TIMEOUT, self._async_rows(turn, request, entity_id))
                for entity_id, _ in asked
            )
        )
        found: list[HouseEvent] = []
        for (entity_id, domain), rows in zip(asked, answers, strict=True):
            name = state.name if (state := self._hass.states.get(entity_id)) else entity_id
            async for row in in_slices(rows or ()):
                item = _appointment(row, name, request.end) if domain == CALENDAR else _task(row, name, request)
                found += () if item is None else (item,)
        found.sort(key=lambda event: _moment(event, request.end))
        return found[-LIMIT:] if request.end <= dt_util.utcnow() else found[:LIMIT]

    async def _async_readable(self, turn: Turn, domains: Sequence[str]) -> list[str]:
        """Return the ids of entities that are exposed and that whoever asks may read, in the order of the domains."""
        may_read = turn.user.permissions.check_entity if turn.user else None
        ids = sorted(
            self._hass.states.async_entity_ids(domains), key=lambda item: domains.index(item.partition(".")[0])
        )
        return [
            entity_id
            async for entity_id in in_slices(ids)
            if is_shared(self._hass, entity_id) and (may_read is None or may_read(entity_id, POLICY_READ))
        ]

    async def _async_rows(self, turn: Turn, request: EventRequest, entity_id: str) -> Sequence[Mapping[str, Any]]:
        """Return what one calendar or list holds.

        The action would ask for permission to control; reading is checked here, and nothing is changed.
        """
        domain = entity_id.partition(".")[0]
        if domain == CALENDAR:
            end = max(request.end, request.start + timedelta(seconds=1))
            service = "get_events"
            data: dict[str, Any] = {"start_date_time": request.start, "end_date_time": end}
        else:
            service, data = "get_items", {"status": ["needs_action", "completed"]}
        response = await self._hass.services.async_call(
            domain,
            service,
            {"entity_id": entity_id, **data},
            blocking=True,
            return_response=True,
            context=Context(parent_id=turn.context.id),
        )
        answer = (response or {}).get(entity_id)
        rows = answer.get("events" if domain == CALENDAR else "items") if isinstance(answer, dict) else None
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def _async_logbook(self, turn: Turn, request: EventRequest, found: list[HouseEvent]) -> None:
        """Add the newest entries to `found`, day by day, so that a long period costs no more than it has to."""
        if request.type is not None or LOGBOOK not in self._hass.config.components:
            return
        # Only a house with a logbook loads these, and then they are loaded.
        from homeassistant.components.logbook import helpers, processor

        entity_ids = (await self._async_readable(turn, _DONE_TO if turn.user else _TELLING))[:MAX_LOGGED]
        if not entity_ids:
            return
        types = helpers.async_determine_event_types(self._hass, entity_ids, None)
        logbook = processor.EventProcessor(self._hass, types, entity_ids, timestamp=True)
        end, begin = min(request.end, dt_util.now(request.end.tzinfo)), request.start
        for _ in range(MAX_DAYS):
            if len(found) >= LIMIT or end <= begin:
                break
            start = max(begin, midnight((end - timedelta(microseconds=1)).date(), request.end))
            reading = get_instance(self._hass).async_add_executor_job(
                logbook.get_events, dt_util.as_utc(start), dt_util.as_utc(end)
            )
            rows = [row for row in await reading if turn.user is None or row.get("context_user_id") == turn.user.id]
            happened = [event for row in reversed(rows) if (event := _happened(row, request)) is not None]
            found += happened[: LIMIT - len(found)]
            end = start


def _appointment(row: Mapping[str, Any], calendar: str, now: datetime) -> HouseEvent:
    notes = "; ".join(str(row[key]) for key in ("description", "location") if row.get(key))
    return event_from_text(_when(row.get("start"), now), str(row.get("summary") or ""), notes, (calendar,))


def _task(row: Mapping[str, Any], name: str, request: EventRequest) -> HouseEvent | None:
    """Return an item that belongs to the period: done in it, due until its end; without a date when lists are asked for."""
    done, tasks = row.get("status") == "completed", request.tasks
    when = _when(row.get("completed" if done else "due"), request.end)
    if when is None:
        belongs = tasks and not done
    else:
        moment = _as_moment(when, request.end)
        belongs = request.start <= moment <= request.end if done else tasks or moment <= request.end
    if not belongs:
        return None
    return event_from_text(when, str(row.get("summary") or ""), str(row.get("description") or ""), (name,))


def _happened(row: Mapping[str, Any], request: EventRequest) -> HouseEvent | None:
    said = row.get("message") or row.get("state")
    if said in _NOTHING_NEW:
        return None
    name = row.get("name") or row.get("entity_id") or ""
    when = dt_util.utc_from_timestamp(float(row["when"])).astimezone(request.end.tzinfo)
    return HouseEvent(when=when, title=f"{name}: {said}" if row.get("state") else f"{name} {said}")


def _when(value: object, zone_of: datetime) -> date | None:
    """Return a day, or a moment in the zone of another one; None for what is neither."""
    text = str(value or "")
    if (day := dt_util.parse_date(text)) is not None:
        return day
    moment = dt_util.parse_datetime(text)
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone_of.tzinfo)).astimezone(zone_of.tzinfo)


def _as_moment(when: date, zone_of: datetime) -> datetime:
    return when if isinstance(when, datetime) else midnight(when, zone_of)


def _moment(event: HouseEvent, zone_of: datetime) -> float:
    """Return where an event stands among others; what has no date stands last."""
    return float("inf") if event.when is None else _as_moment(event.when, zone_of).timestamp()
