"""Why an automation did not run: its state, the traces that Home Assistant keeps, and a replay of the time around."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from homeassistant.components.trace.util import async_get_trace, async_list_traces
from homeassistant.const import STATE_OFF, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util
import probatio

from ..support.encoding import plain_text
from ..support.errors import ToolRefusal
from .draft import AutomationDraft
from .dry_run import shown_data
from .near import Near
from .recorded import moments_of
from .replay import Replay, async_replay
from .timeline import Timeline
from .watched import async_entities, event_types_of

MAX_FINDINGS = 8
MAX_TRACES = 10
_AROUND = timedelta(minutes=30)
"""How far from the moment that was asked about something is looked for."""
_LAST_DAYS = timedelta(days=2)
_HELD = {
    "failed_single": "it was still running (mode single)",
    "failed_max_runs": "as many runs as its mode allows had not ended",
    "failed_conditions": "a condition was false",
    "error": "an action failed",
    "aborted": "an action ended it early",
}
_SAYS_WHY = ("error", "failed_single", "failed_max_runs", "failed_conditions", "aborted")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFinding:
    """One reason."""

    weight: int
    """The likelier, the higher."""
    sentence: str
    """For a model."""


async def async_why_not(
    hass: HomeAssistant,
    entity_id: str,
    draft: AutomationDraft | None,
    at: datetime | None,
    *,
    tells_states: bool = True,
) -> list[str]:
    """Return why an automation did not run, at a moment or lately, the likeliest reason first.

    Without `tells_states` only what its own state says: the rest tells of the states that it looks at.
    """
    found = [*_of_state(hass, entity_id)]
    if at is not None:
        found += await _async_was_off(hass, entity_id, at)
    since = at - _AROUND if at is not None else dt_util.utcnow() - _LAST_DAYS
    until = min(at + _AROUND, dt_util.utcnow()) if at is not None else dt_util.utcnow()
    if not tells_states:
        draft = None
    if draft is not None and draft.id is not None:
        found += [one async for one in _async_of_traces(hass, draft.id, since, until)]
    if draft is not None:
        found += await _async_of_replay(hass, draft, since, until, at)
    ordered = sorted(found, key=lambda one: -one.weight)
    return [*dict.fromkeys(one.sentence for one in ordered)][:MAX_FINDINGS]


def _of_state(hass: HomeAssistant, entity_id: str) -> Iterator[TraceFinding]:
    """Yield what its state says."""
    state = hass.states.get(entity_id)
    if state is None:
        yield TraceFinding(weight=100, sentence="There is no such automation now.")
        return
    if state.state == STATE_UNAVAILABLE:
        component = hass.data.get(DATA_INSTANCES, {}).get("automation")
        entity = component.get_entity(entity_id) if component is not None else None
        reason = plain_text(str(getattr(entity, "_validation_error", "") or ""))[:300]
        yield TraceFinding(
            weight=100,
            sentence="Home Assistant could not load it"
            + (f": {reason}" if reason else ": its configuration is not valid."),
        )
    elif state.state == STATE_OFF:
        since = _local(state.last_changed)
        yield TraceFinding(weight=95, sentence=f"It is off now, since {since}.")
    last = state.attributes.get("last_triggered")
    if isinstance(last, datetime):
        yield TraceFinding(weight=1, sentence=f"It ran last at {_local(last)}.")
    elif state.state not in (STATE_UNAVAILABLE, STATE_OFF):
        yield TraceFinding(weight=1, sentence="It has never run, as far as Home Assistant knows.")


async def _async_was_off(hass: HomeAssistant, entity_id: str, at: datetime) -> list[TraceFinding]:
    """Return whether it was off or unavailable at a moment."""
    try:
        timeline = await Timeline.async_recorded(hass, [entity_id], at - timedelta(minutes=1), at)
    except ToolRefusal:
        return []
    if (state := timeline.states_at(timeline.until).get(entity_id)) is None or state.state == "on":
        return []
    word = "off" if state.state == STATE_OFF else f"'{state.state}'"
    return [TraceFinding(weight=98, sentence=f"It was {word} then, since {_local(state.last_changed)}.")]


async def async_traces(hass: HomeAssistant, automation_id: str) -> Sequence[Mapping[str, Any]]:
    """Return the traces that Home Assistant keeps of an automation, newest first; none without its trace integration."""
    try:
        found = await async_list_traces(hass, "automation", f"automation.{automation_id}")
    except KeyError, HomeAssistantError:
        return ()
    return sorted(found, key=_started, reverse=True)


async def _async_of_traces(
    hass: HomeAssistant, automation_id: str, since: datetime, until: datetime
) -> AsyncIterator[TraceFinding]:
    """Yield what the traces of a time say."""
    traces = [trace for trace in await async_traces(hass, automation_id) if since <= _started(trace) <= until]
    for number, short in enumerate(traces[:MAX_TRACES]):
        at = _local(_started(short))
        try:
            trace = await async_get_trace(hass, f"automation.{automation_id}", str(short["run_id"]))
        except KeyError:
            continue
        if short.get("not_triggered"):
            yield TraceFinding(
                weight=55 - number, sentence=f"{at}: a trigger looked at a change and did not take it{_why(trace)}."
            )
        elif error := short.get("error") or _error_in(trace):
            yield TraceFinding(
                weight=90 - number,
                sentence=f"{at}: an action failed at {short.get('last_step')}: {plain_text(str(error))[:200]}.",
            )
        elif (outcome := str(short.get("script_execution"))) in _SAYS_WHY:
            path = str(short.get("last_step") or "").replace("condition/", "condition ")
            step = (
                f" ({path}{_result_of(trace, str(short.get('last_step')))})" if outcome == "failed_conditions" else ""
            )
            yield TraceFinding(weight=85 - number, sentence=f"{at}: it was triggered, but {_HELD[outcome]}{step}.")
        elif outcome == "finished":
            yield TraceFinding(weight=30 - number, sentence=f"{at}: it did run, to its end.")


def _steps(trace: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, elements in (trace.get("trace") or {}).items():
        for element in elements:
            yield str(path), element if isinstance(element, Mapping) else element.as_dict()


def _why(trace: Mapping[str, Any]) -> str:
    for _, step in _steps(trace):
        result = step.get("result")
        if isinstance(result, Mapping) and result.get("reason"):
            return f": {shown_data(result, 300)}"
    return ""


def _error_in(trace: Mapping[str, Any]) -> str:
    return next((str(step["error"]) for _, step in _steps(trace) if step.get("error")), "")


def _result_of(trace: Mapping[str, Any], path: str) -> str:
    """Return what a step of a trace came to: the state that was, and the one that was asked for."""
    for step_path, step in reversed([*_steps(trace)]):
        result = step.get("result")
        if step_path.startswith(path) and isinstance(result, Mapping) and len(result) > 1:
            return f": {shown_data({key: value for key, value in result.items() if key != 'result'}, 300)}"
    return ""


async def _async_of_replay(
    hass: HomeAssistant, draft: AutomationDraft, since: datetime, until: datetime, at: datetime | None
) -> list[TraceFinding]:
    """Return what a replay of a time says."""
    try:
        timeline = await Timeline.async_recorded(
            hass, async_entities(hass, draft), since, until, event_types=event_types_of(draft)
        )
        found = await async_replay(hass, draft, timeline)
    except (HomeAssistantError, probatio.Invalid) as err:
        return [TraceFinding(weight=5, sentence=f"It could not be replayed: {plain_text(str(err))[:200]}")]
    return [*_findings(found, at)]


def _findings(found: Replay, at: datetime | None) -> Iterator[TraceFinding]:
    def distance(moment: datetime) -> float:
        return abs((moment - at).total_seconds()) if at is not None else -moment.timestamp()

    for number, held in enumerate(sorted(found.held, key=lambda one: distance(one.at))[:3]):
        where = f"{held.condition} held it back: " if held.condition else ""
        yield TraceFinding(
            weight=80 - number,
            sentence=f"{_local(held.at)}: its trigger came ({held.trigger}), but {where}{held.because}.",
        )
    for number, run in enumerate(sorted(found.runs, key=lambda one: distance(one.at))[:2]):
        yield TraceFinding(
            weight=40 - number,
            sentence=f"{_local(run.at)}: by its triggers and conditions it should have run ({run.trigger}).",
        )
    if not found.held and not found.runs:
        yield TraceFinding(
            weight=60, sentence=f"None of its triggers came from {_local(found.since)} to {_local(found.until)}."
        )
        for number, near in enumerate(found.near[:3]):
            yield TraceFinding(weight=58 - number, sentence=told_near(near))
    for path, why in found.not_replayed[:3]:
        yield TraceFinding(weight=10, sentence=f"{path or 'It'} could not be replayed: {why}.")


def told_near(near: Near) -> str:
    """Return what came near a trigger, as a sentence."""
    times = f" ({near.count} times)" if near.count > 1 else ""
    return f"{near.trigger}: {near.because}{times}."


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationStatistics:
    """How often an automation ran."""

    runs: Mapping[int, int | None]
    """By days; None if that is not recorded."""
    reached_back: datetime | None
    """Since when it is recorded."""
    traces: Mapping[str, int]
    """How the runs ended of which Home Assistant keeps traces, and how often."""
    last_error: str


async def async_statistics(
    hass: HomeAssistant, entity_id: str, automation_id: str | None, days: Sequence[int] = (7, 30)
) -> AutomationStatistics:
    """Return how often an automation ran in the last days, and how its last runs ended."""
    now = dt_util.utcnow()
    moments: Sequence[datetime] | None = None
    reached: datetime | None = None
    if "recorder" in hass.config.components:
        instance = get_instance(hass)
        moments = await instance.async_add_executor_job(
            partial(moments_of, hass, "automation_triggered", entity_id, now - timedelta(days=max(days)))
        )
        oldest = instance.states_manager.oldest_ts
        reached = dt_util.utc_from_timestamp(oldest) if oldest is not None else None
    traces = await async_traces(hass, automation_id) if automation_id else ()
    ended = Counter(
        "not_triggered" if trace.get("not_triggered") else str(trace.get("script_execution") or trace.get("state"))
        for trace in traces
    )
    errors = [str(trace["error"]) for trace in traces if trace.get("error")]
    return AutomationStatistics(
        runs={
            count: None if moments is None else sum(moment > now - timedelta(days=count) for moment in moments)
            for count in days
        },
        reached_back=reached,
        traces=dict(ended),
        last_error=plain_text(errors[0])[:300] if errors else "",
    )


def _started(trace: Mapping[str, Any]) -> datetime:
    found = trace["timestamp"]["start"]
    moment = found if isinstance(found, datetime) else dt_util.parse_datetime(str(found))
    return moment if moment is not None else dt_util.utc_from_timestamp(0)


def _local(moment: datetime) -> str:
    return dt_util.as_local(moment).strftime("%Y-%m-%d %H:%M:%S")
