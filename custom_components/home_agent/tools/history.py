"""History of entities from the recorder, in its executor, or from long-term statistics for what it has purged."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
import math
from typing import Any, Literal

from homeassistant.components.recorder import history, statistics
from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_UNIT_OF_MEASUREMENT, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..home.parameters import read_duration
from ..home.states import json_safe, local_time
from ..support.errors import ToolRefusal

# Arithmetic on the history of one entity: points in, numbers out.


RESET_DROP = 0.9  # a meter that falls below this share of its last value was reset; Home Assistant's own rule


@dataclass(frozen=True, slots=True)
class Point:
    """A state from a point in time on."""

    at: float  # seconds since the epoch
    state: str  # empty for a gap: unknown, unavailable, not recorded

    @property
    def value(self) -> float | None:
        """Return the state as a number, None if it is not numeric."""
        try:
            number = float(self.state)
        except ValueError:
            return None
        return number if math.isfinite(number) else None


def spans(points: Sequence[Point], end: float) -> Iterator[tuple[Point, float]]:
    """Yield each state with its seconds until the next one or the end."""
    for point, follower in pairwise([*points, Point(end, "")]):
        if follower.at > point.at:
            yield point, follower.at - point.at


def is_numeric(points: Iterable[Point]) -> bool:
    """Return whether there are known states, and all are numbers."""
    known = [point for point in points if point.state]
    return bool(known) and all(point.value is not None for point in known)


def average(points: Sequence[Point], end: float) -> float | None:
    """Return the time-weighted average; gaps do not count. None without any value."""
    weighed = [(value, seconds) for point, seconds in spans(points, end) if (value := point.value) is not None]
    seconds = sum(weight for _, weight in weighed)
    return sum(value * weight for value, weight in weighed) / seconds if seconds else None


def values(points: Iterable[Point]) -> list[float]:
    """Return the numbers among the states."""
    return [value for point in points if (value := point.value) is not None]


def changes(points: Sequence[Point]) -> int:
    """Return the number of changes; the same state before and after a gap is no change."""
    known = [point.state for point in points if point.state]
    return sum(before != after for before, after in pairwise(known))


def growth(points: Iterable[Point], *, resets: bool) -> float | None:
    """Return the growth of a meter, None without any value. With `resets`, a drop is a start at zero."""
    numbers = values(points)
    total = 0.0
    for before, after in pairwise(numbers):
        total += after if resets and after < before * RESET_DROP else after - before
    return total if numbers else None


def time_in_states(points: Sequence[Point], end: float) -> dict[str, float]:
    """Return the seconds in each state, the longest first."""
    seconds: dict[str, float] = {}
    for point, held in spans(points, end):
        if point.state:
            seconds[point.state] = seconds.get(point.state, 0) + held
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def thinned(points: Sequence[Point], count: int) -> list[Point]:
    """Return at most `count` points: the last one of each of `count` equal periods."""
    if len(points) <= count:
        return list(points)
    start, width = points[0].at, (points[-1].at - points[0].at) / count
    last_of = {min(int((point.at - start) / width) if width else 0, count - 1): point for point in points}
    return list(last_of.values())


type Aggregate = Literal["avg", "min", "max", "sum", "count"]

MAX_PERIOD = timedelta(days=30)
DEFAULT_PERIOD = "24h"
MAX_ENTITIES = 20
MAX_POINTS = 50  # of all entities of one call together
MIN_POINTS = 5
MAX_LAST_CHANGES = 20
STATISTICS_FROM = timedelta(days=1)  # shorter sums are counted from states: statistics are a few minutes behind

_JUST_BEFORE = timedelta(milliseconds=1)  # core's query misses a state written exactly at the start
_GAPS = (STATE_UNAVAILABLE, STATE_UNKNOWN)
_METERS = ("total", "total_increasing")
_METER_CLASSES = ("energy", "gas", "water")
RECORDER = "recorder"
STATISTICS = "long-term statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """Period and aggregate of a query."""

    start: datetime
    end: datetime
    aggregate: Aggregate | None
    points: int  # most points of an answer without aggregate


@dataclass(frozen=True, slots=True)
class Past:
    """Known history of one entity."""

    points: tuple[Point, ...]
    source: str
    reaches_back: bool
    low: float = math.inf  # from statistics, whose points are hourly means
    high: float = -math.inf


async def async_history(
    hass: HomeAssistant, states: Sequence[State], duration: object, aggregate: Aggregate | None
) -> JsonObjectType:
    """Return the history of entities. Raises `ToolRefusal` without a recorder, and for too many entities."""
    asked = read_duration(DEFAULT_PERIOD if duration in (None, "") else duration)
    if "recorder" not in hass.config.components:
        raise ToolRefusal("There is no history: the recorder of Home Assistant is not set up.")
    if len(states) > MAX_ENTITIES:
        raise ToolRefusal(f"{len(states)} entities match; history of at most {MAX_ENTITIES} fits one answer.")
    end = dt_util.utcnow()
    query = HistoryQuery(
        start=end - min(asked, MAX_PERIOD),
        end=end,
        aggregate=aggregate,
        points=max(MAX_POINTS // len(states), MIN_POINTS),
    )
    rows = await get_instance(hass).async_add_executor_job(partial(_answers, hass, states, query))
    result: JsonObjectType = {"from": local_time(query.start), "to": local_time(end), "entities": [*rows]}
    if asked > MAX_PERIOD:
        result["note"] = f"History reaches back {MAX_PERIOD.days} days at most."
    found = [value for row in rows if isinstance(value := row.get("value"), (int, float))]
    if aggregate == "sum" and len(found) > 1 and len({str(row.get("unit")) for row in rows}) == 1:
        result["total"] = round(sum(found), 3)
    return result


def _answers(hass: HomeAssistant, states: Sequence[State], query: HistoryQuery) -> list[JsonObjectType]:
    """Return a row for each entity."""
    recorded = points_of(hass, states, query)
    return [_answer(hass, state, query, recorded[state.entity_id]) for state in states]


def points_of(hass: HomeAssistant, states: Sequence[State], query: HistoryQuery) -> dict[str, list[Point]]:
    """Return the recorded states by entity. The current state counts as recorded: the recorder writes a few seconds late."""
    found = history.get_significant_states(
        hass,
        query.start - _JUST_BEFORE,
        query.end,
        [state.entity_id for state in states],
        significant_changes_only=False,
        minimal_response=True,
        no_attributes=True,
        compressed_state_format=True,
    )
    start, end = query.start.timestamp(), query.end.timestamp()
    points_by_id: dict[str, list[Point]] = {}
    for state in states:
        rows: Iterable[Any] = found.get(state.entity_id, ())
        points = [Point(max(row.get("lc", row["lu"]), start), _known(row["s"])) for row in rows]
        if state.last_changed_timestamp > end:
            points = points or [Point(start, "")]
        elif not points or state.last_changed_timestamp > points[-1].at:
            points.append(Point(max(state.last_changed_timestamp, start), _known(state.state)))
        points_by_id[state.entity_id] = points
    return points_by_id


def past_of(hass: HomeAssistant, state: State, query: HistoryQuery, recorded: Sequence[Point]) -> Past:
    """Return the recorded states; long-term statistics if the recorder does not reach back far enough."""
    oldest = get_instance(hass).states_manager.oldest_ts
    reaches = oldest is not None and oldest <= query.start.timestamp()
    past = None if reaches or query.aggregate == "count" else _from_statistics(hass, state, query)
    return past or Past(tuple(recorded), RECORDER, reaches or recorded[0].at <= query.start.timestamp())


def _answer(hass: HomeAssistant, state: State, query: HistoryQuery, recorded: Sequence[Point]) -> JsonObjectType:
    """Return a row from what is known of the past."""
    row: JsonObjectType = {"entity_id": state.entity_id, "name": state.name}
    if unit := state.attributes.get(ATTR_UNIT_OF_MEASUREMENT):
        row["unit"] = json_safe(unit)
    past = past_of(hass, state, query, recorded)
    row["source"] = past.source
    if not any(point.state for point in past.points):
        return row | {"note": "Nothing was recorded in this period."}
    if not past.reaches_back:
        row["note"] = f"Recorded since {_local(past.points[0].at)} only."
    if not is_numeric(past.points):
        return row | _in_words(past.points, query)
    return row | _in_numbers(hass, state, past, query)


def _known(state: str) -> str:
    return "" if state in _GAPS else state


def _from_statistics(hass: HomeAssistant, state: State, query: HistoryQuery) -> Past | None:
    """Return the hourly statistics, None without any."""
    entity_id = state.entity_id
    found = statistics.statistics_during_period(
        hass, query.start, query.end, {entity_id}, "hour", None, {"mean", "min", "max", "state"}
    )
    rows = found.get(entity_id)
    if not rows:
        return None
    points = [
        Point(row["start"], str(value))
        for row in rows
        if (value := row.get("mean") if row.get("mean") is not None else row.get("state")) is not None
    ]
    lows = [low for row in rows if (low := row.get("min")) is not None]
    highs = [high for row in rows if (high := row.get("max")) is not None]
    points.append(Point(max(state.last_changed_timestamp, points[-1].at + 1), _known(state.state)))
    reaches = points[0].at <= query.start.timestamp() + timedelta(hours=1).total_seconds()
    return Past(tuple(points), STATISTICS, reaches, min(lows, default=math.inf), max(highs, default=-math.inf))


def _in_words(points: Sequence[Point], query: HistoryQuery) -> JsonObjectType:
    """Return the history of states that are not numbers."""
    known = [point for point in points if point.state]
    row: JsonObjectType = {
        "changes": changes(points),
        "seconds_in_state": {
            str(json_safe(state)): round(seconds)
            for state, seconds in list(time_in_states(points, query.end.timestamp()).items())[:MAX_LAST_CHANGES]
        },
        "last_changes": _listed(known[-min(MAX_LAST_CHANGES, query.points) :]),
    }
    if query.aggregate not in (None, "count"):
        row["remark"] = f"Its states are not numbers, there is no {query.aggregate}."
    return row


def _in_numbers(hass: HomeAssistant, state: State, past: Past, query: HistoryQuery) -> JsonObjectType:
    points = past.points
    if query.aggregate is None:
        return {
            "changes": changes(points),
            **{name: _rounded(_value(hass, state, past, query, name)) for name in ("avg", "min", "max")},
            "history": _listed(thinned(points, query.points)),
        }
    device_class, state_class = state.attributes.get(ATTR_DEVICE_CLASS), state.attributes.get("state_class")
    if query.aggregate == "sum" and (state_class in _METERS or device_class in _METER_CLASSES):
        value, source = growth(points, resets=state_class != "total"), past.source
        if past.source == STATISTICS or query.end - query.start >= STATISTICS_FROM:
            found = statistics.statistic_during_period(hass, query.start, query.end, state.entity_id, {"change"}, None)
            if (change := found.get("change")) is not None:
                value, source = change, STATISTICS
        return {"aggregate": "sum", "value": _rounded(value), "source": source}
    return {"aggregate": query.aggregate, "value": _rounded(_value(hass, state, past, query, query.aggregate))}


def _value(hass: HomeAssistant, state: State, past: Past, query: HistoryQuery, aggregate: str) -> float | None:
    match aggregate:
        case "avg":
            return average(past.points, query.end.timestamp())
        case "min":
            return min((*values(past.points), past.low))
        case "max":
            return max((*values(past.points), past.high))
        case "sum":
            return sum(values(past.points))
    return changes(past.points)


def _listed(points: Iterable[Point]) -> list[JsonValueType]:
    return [{"at": _local(point.at), "state": json_safe(point.state or STATE_UNKNOWN)} for point in points]


def _local(timestamp: float) -> str:
    return local_time(dt_util.utc_from_timestamp(timestamp))


def _rounded(value: float | None) -> float | int | None:
    if value is None:
        return None
    rounded = round(value, 3)
    return int(rounded) if rounded.is_integer() else rounded
