"""What an entity was like over a period: from the recorder, or from long-term statistics where that was purged.

Everything here that reads or counts runs in the recorder's executor.
"""

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

# Arithmetic on the history of one entity. Pure: points in, numbers out.


RESET_DROP = 0.9  # a meter that falls below this share of its last value started anew; Home Assistant's own rule


@dataclass(frozen=True, slots=True)
class Point:
    """What an entity was from a moment on."""

    at: float
    """Seconds since the epoch."""
    state: str
    """Empty for a gap: unknown, unavailable, not recorded."""

    @property
    def value(self) -> float | None:
        """The state as a number, None when it is none."""
        try:
            number = float(self.state)
        except ValueError:
            return None
        return number if math.isfinite(number) else None


def spans(points: Sequence[Point], end: float) -> Iterator[tuple[Point, float]]:
    """Yield each state with the seconds for which it held, until the next one or the end."""
    for point, follower in pairwise([*points, Point(end, "")]):
        if follower.at > point.at:
            yield point, follower.at - point.at


def is_numeric(points: Iterable[Point]) -> bool:
    """Return whether every state that was known is a number, and there is one."""
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
    """Return how often the state changed; gaps are skipped, coming back unchanged is no change."""
    known = [point.state for point in points if point.state]
    return sum(before != after for before, after in pairwise(known))


def growth(points: Iterable[Point], *, resets: bool) -> float | None:
    """Return by how much a meter grew; None without any value.

    With `resets` (a meter that only rises) a drop to less than 0.9 of its value counts as a start at zero.
    """
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
    """Return at most `count` of the points: the last one of each of `count` equal stretches of time."""
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

_JUST_BEFORE = timedelta(milliseconds=1)  # a state written exactly at the start is in neither half of core's query
_GAPS = (STATE_UNAVAILABLE, STATE_UNKNOWN)
_METERS = ("total", "total_increasing")
_METER_CLASSES = ("energy", "gas", "water")
RECORDER = "recorder"
STATISTICS = "long-term statistics"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryQuery:
    """One question about the past."""

    start: datetime
    end: datetime
    aggregate: Aggregate | None
    points: int
    """How many points an answer without aggregate may have."""


@dataclass(frozen=True, slots=True)
class _Past:
    """What is known about one entity's past."""

    points: tuple[Point, ...]
    source: str
    reaches_back: bool
    low: float | None = None
    """From statistics, whose points are hourly means."""
    high: float | None = None


async def async_history(
    hass: HomeAssistant, states: Sequence[State], duration: object, aggregate: Aggregate | None
) -> JsonObjectType:
    """Return the past of these entities.

    Raises `ToolRefusal` without a recorder, for a duration that is none, and for more entities than fit an answer.
    """
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
    result: JsonObjectType = {"from": local_time(query.start), "to": local_time(end), "entities": rows}
    if asked > MAX_PERIOD:
        result["note"] = f"History reaches back {MAX_PERIOD.days} days at most."
    if aggregate == "sum" and (total := _total(rows)) is not None:
        result["total"] = total
    return result


def _total(rows: list[JsonValueType]) -> float | None:
    """Return the sum over several entities of one unit; None where that says nothing."""
    answers = [row for row in rows if isinstance(row, dict)]
    found = [value for row in answers if isinstance(value := row.get("value"), (int, float))]
    return round(sum(found), 3) if len(found) > 1 and len({str(row.get("unit")) for row in answers}) == 1 else None


def _answers(hass: HomeAssistant, states: Sequence[State], query: HistoryQuery) -> list[JsonValueType]:
    recorded = _recorded(hass, states, query)
    return [_answer(hass, state, query, recorded.get(state.entity_id, ())) for state in states]


def _answer(hass: HomeAssistant, state: State, query: HistoryQuery, recorded: Sequence[Point]) -> JsonObjectType:
    row: JsonObjectType = {"entity_id": state.entity_id, "name": state.name}
    if unit := state.attributes.get(ATTR_UNIT_OF_MEASUREMENT):
        row["unit"] = json_safe(unit)
    past = _past(hass, state, query, recorded)
    row["source"] = past.source
    if not any(point.state for point in past.points):
        return row | {"note": "Nothing was recorded in this period."}
    if not past.reaches_back:
        row["note"] = f"Recorded since {_local(past.points[0].at)} only."
    if not is_numeric(past.points):
        return row | _in_words(past.points, query)
    return row | _in_numbers(hass, state, past, query)


def _recorded(hass: HomeAssistant, states: Sequence[State], query: HistoryQuery) -> dict[str, list[Point]]:
    """Return the recorded states, with the current one at the end: the recorder writes a few seconds late."""
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
    return {state.entity_id: _points(found.get(state.entity_id, ()), state, query) for state in states}


def _points(rows: Iterable[Any], state: State, query: HistoryQuery) -> list[Point]:
    start = query.start.timestamp()
    points = [Point(max(row.get("lc", row["lu"]), start), _known(row["s"])) for row in rows]
    if not points or state.last_changed_timestamp > points[-1].at:
        points.append(Point(max(state.last_changed_timestamp, start), _known(state.state)))
    return points


def _known(state: str) -> str:
    return "" if state in _GAPS else state


def _past(hass: HomeAssistant, state: State, query: HistoryQuery, recorded: Sequence[Point]) -> _Past:
    """Return the recorded states where they reach far enough, else long-term statistics, else what there is."""
    oldest = get_instance(hass).states_manager.oldest_ts
    reaches = oldest is not None and oldest <= query.start.timestamp()
    if not reaches and query.aggregate != "count" and (found := _from_statistics(hass, state, query)):
        return found
    return _Past(tuple(recorded), RECORDER, reaches or recorded[0].at <= query.start.timestamp())


def _from_statistics(hass: HomeAssistant, state: State, query: HistoryQuery) -> _Past | None:
    """Return the hourly statistics, None when there are none or they begin no earlier than the states."""
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
    return _Past(tuple(points), STATISTICS, reaches, min(lows, default=None), max(highs, default=None))


def _in_words(points: Sequence[Point], query: HistoryQuery) -> JsonObjectType:
    """Return what can be said about states that are not numbers."""
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


def _in_numbers(hass: HomeAssistant, state: State, past: _Past, query: HistoryQuery) -> JsonObjectType:
    points = past.points
    if query.aggregate is None:
        return {
            "changes": changes(points),
            **{name: _rounded(_value(hass, state, past, query, name)) for name in ("avg", "min", "max")},
            "history": _listed(thinned(points, query.points)),
        }
    if query.aggregate == "sum" and _is_meter(state):
        value, source = _grown(hass, state, past, query)
        return {"aggregate": "sum", "value": _rounded(value), "source": source}
    return {"aggregate": query.aggregate, "value": _rounded(_value(hass, state, past, query, query.aggregate))}


def _value(hass: HomeAssistant, state: State, past: _Past, query: HistoryQuery, aggregate: str) -> float | None:
    match aggregate:
        case "avg":
            return average(past.points, query.end.timestamp())
        case "min":
            return min((*values(past.points), *_or_nothing(past.low)))
        case "max":
            return max((*values(past.points), *_or_nothing(past.high)))
        case "sum":
            return sum(values(past.points))
    return changes(past.points)


def _or_nothing(value: float | None) -> tuple[float, ...]:
    return () if value is None else (value,)


def _is_meter(state: State) -> bool:
    return state.attributes.get("state_class") in _METERS or state.attributes.get(ATTR_DEVICE_CLASS) in _METER_CLASSES


def _grown(hass: HomeAssistant, state: State, past: _Past, query: HistoryQuery) -> tuple[float | None, str]:
    """Return by how much a meter grew, resets respected, and where that is known from."""
    if past.source == STATISTICS or query.end - query.start >= STATISTICS_FROM:
        found = statistics.statistic_during_period(hass, query.start, query.end, state.entity_id, {"change"}, None)
        if (change := found.get("change")) is not None:
            return change, STATISTICS
    resets = state.attributes.get("state_class") != "total"
    return growth(past.points, resets=resets), past.source


def _listed(points: Iterable[Point]) -> list[JsonValueType]:
    return [{"at": _local(point.at), "state": json_safe(point.state or STATE_UNKNOWN)} for point in points]


def _local(timestamp: float) -> str:
    return local_time(dt_util.utc_from_timestamp(timestamp))


def _rounded(value: float | None) -> float | int | None:
    if value is None:
        return None
    rounded = round(value, 3)
    return int(rounded) if rounded.is_integer() else rounded
