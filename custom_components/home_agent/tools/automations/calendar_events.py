"""`get_calendar_events`: what stands in the exposed calendars between two times."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast, override

from homeassistant.core import HomeAssistant, split_entity_id
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...home.foreign import async_reader
from ...home.snapshot import Home
from ...home.states import json_safe, local_time
from ...policy.tool import HomeAgentTool
from ...support.errors import ToolRefusal
from ...turn.plan import ActionClass, Plan, ServiceCall
from ...turn.turn import Turn, zone_of_turn
from ..arguments import LenientSchema, entity_ids
from .recent_events import async_entities, joined

CALENDAR = "calendar"
MAX_CALENDARS = 20
MAX_PERIOD = timedelta(days=60)
USUAL = timedelta(days=7)
MAX_EVENTS = 50

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "entity_id": {"type": "string", "description": "Calendars by id or name; empty: all"},
        "start": {"type": "string", "description": "ISO date or time; empty: now"},
        "end": {"type": "string", "description": "ISO date or time, at most 60 days later; empty: 7 days later"},
    },
}
_CALENDARS = ("entity_id", "entity_ids", "calendar", "calendars", "calendar_id")
_ALSO = {
    "start_time": "start",
    "start_date": "start",
    "from": "start",
    "end_time": "end",
    "end_date": "end",
    "to": "end",
}


def moment(value: object) -> datetime | None:
    """Read a date or a time of the turn's zone; None for nothing. Raises `probatio.Invalid`."""
    text = str(value if value is not None else "").strip()
    if not text:
        return None
    try:
        found = dt_util.parse_datetime(text)
    except ValueError:
        found = None
    if found is None and (day := dt_util.parse_date(text)) is not None:
        found = datetime(day.year, day.month, day.day)
    if found is None:
        raise probatio.Invalid("expected a date or time such as 2026-11-30 or 2026-11-30T18:00")
    return found if found.tzinfo else found.replace(tzinfo=zone_of_turn())


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: data[key] for key in ("start", "end") if data.get(key)}
    for other, key in _ALSO.items():
        if data.get(other):
            found.setdefault(key, data[other])
    if named := joined(data, _CALENDARS):
        found["entity_id"] = named
    return found


class GetCalendarEvents(HomeAgentTool):
    """Reads events of calendars."""

    name = "get_calendar_events"
    title_key = "tool_get_calendar_events"
    example = "What is in the family calendar next month?"
    description = "Events of the calendars between two times, at most 60 days."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = LenientSchema(
        {
            probatio.Optional("entity_id"): entity_ids,
            probatio.Optional("start", default=None): moment,
            probatio.Optional("end", default=None): moment,
        },
        _tidy,
    )
    wire_parameters = WIRE

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the calls that read the calendars. Raises `ToolRefusal` for an unknown calendar and for a wrong period."""
        start = args["start"] or dt_util.utcnow()
        end = args["end"] or start + USUAL
        if not start < end <= start + MAX_PERIOD:
            raise ToolRefusal(f"The end must be after the start, at most {MAX_PERIOD.days} days.")
        try:
            found = await async_entities(hass, self._home, turn, args.get("entity_id") or (f"{CALENDAR}.*",))
        except ToolRefusal:
            if args.get("entity_id"):
                raise
            raise ToolRefusal("There is no exposed calendar.") from None
        calendars = [entity_id for entity_id in found if split_entity_id(entity_id)[0] == CALENDAR]
        if not calendars:
            raise ToolRefusal(f"{found[0]} is no calendar. Leave entity_id out to read all calendars.")
        data = {"start_date_time": start.isoformat(), "end_date_time": end.isoformat()}
        calls = [
            ServiceCall(
                domain=CALENDAR, service="get_events", entity_ids=(entity_id,), data=data, returns_response=True
            )
            for entity_id in calendars[:MAX_CALENDARS]
        ]
        return Plan(action=ActionClass.READ, targets=tuple(calendars[:MAX_CALENDARS]), effects=tuple(calls))

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the first events of all calendars together, by their start."""
        reader = await async_reader(hass, turn.user)
        rows: list[JsonObjectType] = []
        calls = cast(Sequence[ServiceCall], plan.effects)
        for call in calls:
            [entity_id] = call.entity_ids
            response = await hass.services.async_call(
                call.domain,
                call.service,
                dict(call.data),
                blocking=True,
                context=turn.context,
                target={"entity_id": entity_id},
                return_response=True,
            )
            if (state := hass.states.get(entity_id)) is not None:
                turn.record.taints |= reader.taints_of(state)
            rows += [_row(entity_id, event) for event in _events(response, entity_id)]
        rows.sort(key=lambda row: str(row["start"]))
        period = calls[0].data
        result: JsonObjectType = {
            "from": local_time(datetime.fromisoformat(str(period["start_date_time"]))),
            "to": local_time(datetime.fromisoformat(str(period["end_date_time"]))),
            "events": [*rows[:MAX_EVENTS]],
        }
        return result | ({"more": len(rows) - MAX_EVENTS} if len(rows) > MAX_EVENTS else {})


def _events(response: Any, entity_id: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = ((response or {}).get(entity_id) or {}).get("events") or ()
    return found


def _row(entity_id: str, event: Mapping[str, Any]) -> JsonObjectType:
    told = {key: json_safe(value) for key, value in event.items() if value not in (None, "") and key != "uid"}
    return {"calendar": entity_id, **told, "start": json_safe(event.get("start"))}
