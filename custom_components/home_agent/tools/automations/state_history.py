"""`download_state_history`: the states of entities over days, as rows of time and state."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, override

from homeassistant.components.recorder import history
from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import llm
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...home.exposure import may_tell
from ...home.foreign import async_reader
from ...home.snapshot import Home
from ...home.states import Knows, attribute_names, json_safe, local_time
from ...policy.tool import HomeAgentTool
from ...support.errors import ToolRefusal
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema, entity_ids
from ..history import MAX_ENTITIES, HistoryQuery, Past, Point, past_of, points_of, thinned
from .calendar_events import moment
from .recent_events import async_entities, joined

MAX_DAYS = 10
MAX_ROWS = 200  # of all entities together
MIN_ROWS = 5  # of one
MAX_VALUE = 100  # characters of an attribute's value

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "entity_id": {"type": "string", "description": "Entities by id or name; several with commas, at most 20"},
        "days": {"type": "number", "description": "How far back, at most 10 (default 1)"},
        "start": {"type": "string", "description": "ISO date or time, instead of days"},
        "end": {"type": "string", "description": "ISO date or time; empty: now"},
        "attribute": {"type": "string", "description": "Values of this attribute instead of the state"},
    },
    "required": ["entity_id"],
}
_ENTITIES = ("entity_id", "entity_ids", "entity", "entities")
_ALSO = {"start_time": "start", "from": "start", "end_time": "end", "to": "end"}


def _days(value: object) -> float:
    if value in (None, ""):
        return 1.0
    try:
        return max(1 / 24, min(float(MAX_DAYS), float(str(value).strip().rstrip("days "))))
    except ValueError as err:
        raise probatio.Invalid("expected a number of days") from err


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: data[key] for key in ("days", "start", "end", "attribute") if data.get(key) not in (None, "")}
    for other, key in _ALSO.items():
        if data.get(other):
            found.setdefault(key, data[other])
    if "days" not in found and str(hours := data.get("hours") or "").isdigit():
        found["days"] = float(hours) / 24
    if named := joined(data, _ENTITIES):
        found["entity_id"] = named
    return found


class DownloadStateHistory(HomeAgentTool):
    """Reads the states of some days."""

    name = "download_state_history"
    title_key = "tool_download_state_history"
    example = "How did the humidity in the bath go last week?"
    description = (
        "The states of entities over up to 10 days, as rows [time, state], or the values of an attribute. Use it to choose "
        "thresholds and to see which states an entity really has. ha_query tells averages and sums."
    )
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = LenientSchema(
        {
            probatio.Required("entity_id"): entity_ids,
            probatio.Optional("days", default=1.0): _days,
            probatio.Optional("start", default=None): moment,
            probatio.Optional("end", default=None): moment,
            probatio.Optional("attribute", default=""): probatio.All(str, probatio.Length(max=255)),
        },
        _tidy,
    )
    wire_parameters = WIRE

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities to read. Raises `ToolRefusal` for unknown ones, for too many, and for an unknown attribute."""
        if "recorder" not in hass.config.components:
            raise ToolRefusal("There is no history: the recorder of Home Assistant is not set up.")
        _period(args, dt_util.utcnow())
        found = await async_entities(hass, self._home, turn, args["entity_id"])
        if len(found) > MAX_ENTITIES:
            raise ToolRefusal(f"{len(found)} entities match; at most {MAX_ENTITIES} fit. Name fewer.")
        if attribute := args["attribute"]:
            states = [state for entity_id in found if (state := hass.states.get(entity_id)) is not None]
            if states and not any(attribute in attribute_names(state) for state in states):
                listed = ", ".join(attribute_names(states[0])[:30])
                raise ToolRefusal(f"{states[0].entity_id} has no attribute '{attribute}'. It has: {listed}.")
        return Plan(action=ActionClass.READ, targets=found)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the rows of each entity, thinned where there are too many."""
        states = [state for entity_id in plan.targets if (state := hass.states.get(entity_id)) is not None]
        if not states:
            raise ToolRefusal("The entity no longer exists.")

        def knows(entity_id: str) -> bool:
            return may_tell(hass, entity_id, turn.user)

        start, end = _period(args, dt_util.utcnow())
        most = max(MAX_ROWS // len(states), MIN_ROWS)
        query = HistoryQuery(start=start, end=end, aggregate=None, points=most)
        attribute = args["attribute"]
        if attribute:
            reading = partial(_attribute_pasts, hass, states, query, attribute)
        else:
            reading = partial(_pasts, hass, states, query)
        pasts = await get_instance(hass).async_add_executor_job(reading)
        rows: list[JsonValueType] = [_told(state, pasts[state.entity_id], most, knows) for state in states]
        turn.record.taints |= (await async_reader(hass, turn.user)).taints_of_past(states, rows)
        named: JsonObjectType = {"attribute": attribute} if attribute else {}
        return {"from": local_time(start), "to": local_time(end), **named, "entities": rows}


def _period(args: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """Return start and end. Raises `ToolRefusal` for a period that is in the future, empty or too long."""
    end = min(args["end"] or now, now)
    start = args["start"] or end - timedelta(days=args["days"])
    if not start < end <= start + timedelta(days=MAX_DAYS):
        raise ToolRefusal(f"The end must be after the start, at most {MAX_DAYS} days, and not in the future.")
    return dt_util.as_utc(start), dt_util.as_utc(end)


def _pasts(hass: HomeAssistant, states: Sequence[State], query: HistoryQuery) -> dict[str, Past]:
    recorded = points_of(hass, states, query)
    return {state.entity_id: past_of(hass, state, query, recorded[state.entity_id]) for state in states}


def _attribute_pasts(
    hass: HomeAssistant, states: Sequence[State], query: HistoryQuery, attribute: str
) -> dict[str, Past]:
    """Return the values of an attribute by entity, each from when it changed."""
    found = history.get_significant_states(
        hass,
        query.start,
        query.end,
        [state.entity_id for state in states],
        significant_changes_only=False,
        compressed_state_format=True,
    )
    pasts: dict[str, Past] = {}
    for state in states:
        rows: Sequence[Any] = found.get(state.entity_id, ())
        points = [Point(max(row["lu"], query.start.timestamp()), _value(row["a"].get(attribute))) for row in rows]
        at = state.last_updated_timestamp  # the recorder writes a few seconds late
        if at <= query.end.timestamp() and (not points or at > points[-1].at):
            points.append(Point(max(at, query.start.timestamp()), _value(state.attributes.get(attribute))))
        changed = [later for earlier, later in pairwise((Point(0.0, "\0"), *points)) if later.state != earlier.state]
        pasts[state.entity_id] = Past(tuple(changed), "recorder", reaches_back=True)
    return pasts


def _value(value: object) -> str:
    text = "" if value is None else str(json_safe(value))
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def _told(state: State, past: Past, most: int, knows: Knows) -> JsonObjectType:
    """Return the row of an entity, with a note of what is left out."""
    points = [point for point in past.points if point.at > 0]
    kept = thinned(points, most)
    row: JsonObjectType = {"entity_id": state.entity_id, "name": json_safe(state.name)}
    if unit := state.attributes.get(ATTR_UNIT_OF_MEASUREMENT):
        row["unit"] = json_safe(unit)
    row |= {
        "source": past.source,
        "rows": [
            [_local(point.at), json_safe(point.state, knows=knows) if point.state else "unknown"] for point in kept
        ],
    }
    if not any(point.state for point in points):
        return row | {"note": "Nothing was recorded in this period."}
    notes = [] if past.reaches_back else [f"Recorded since {_local(points[0].at)} only."]
    if len(kept) < len(points):
        notes.append(f"Thinned: {len(kept)} of {len(points)} rows, evenly over the period. Ask for fewer days for all.")
    return row | ({"note": " ".join(notes)} if notes else {})


def _local(timestamp: float) -> str:
    return local_time(dt_util.utc_from_timestamp(timestamp))
