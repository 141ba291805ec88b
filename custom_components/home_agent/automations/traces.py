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
from homeassistant.helpers import entity_registry as er
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
from .records import AutomationRecord
from .replay import Replay, async_replay
from .timeline import Timeline
from .watched import async_entities, event_types_of

MAX_FINDINGS = 8
MAX_TRACES = 10
_AROUND = timedelta(minutes=30)
"""How far from the moment that was asked about something is looked for."""
_LAST_DAYS = timedelta(days=2)
_MAKING = timedelta(minutes=5)
"""How much later than its entity an automation is kept as made: one that is older was only rewritten here."""
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
    record: AutomationRecord | None = None,
    tells_states: bool = True,
) -> list[str]:
    """Return why an automation did not run, at a moment or lately, the likeliest reason first.

    `record` is what is kept of it, if it was made here. Without `tells_states` only what its own state and its record say: the
    rest tells of the states that it looks at.
    """
    is_noted = record is not None and record.is_on_probation
    since = at - _AROUND if at is not None else dt_util.utcnow() - _LAST_DAYS
    until = min(at + _AROUND, dt_util.utcnow()) if at is not None else dt_util.utcnow()
    made = made_at(hass, entity_id, record)
    found = [*_of_state(hass, entity_id, is_noted=is_noted), *_of_record(record, made, since, at)]
    if at is not None and (made is None or made <= at):
        found += await _async_was_off(hass, entity_id, at)
    if not tells_states:
        draft = None
    if draft is not None and draft.id is not None:
        found += [one async for one in _async_of_traces(hass, draft.id, since, until, is_noted=is_noted)]
    if made is not None:
        since = max(since, made)
    if draft is not None and since < until:
        found += await _async_of_replay(hass, draft, since, until, at, is_noted=is_noted)
    ordered = sorted(found, key=lambda one: -one.weight)
    return [*dict.fromkeys(one.sentence for one in ordered)][:MAX_FINDINGS]


def made_at(hass: HomeAssistant, entity_id: str, record: AutomationRecord | None) -> datetime | None:
    """Return when an automation was made here; None if it was there before, or that is not known."""
    if record is None:
        return None
    entry = er.async_get(hass).async_get(entity_id)
    is_older = entry is not None and entry.created_at < record.made - _MAKING
    return None if is_older else record.made


def told_probation(record: AutomationRecord) -> str:
    """Return that an automation is on probation, as a sentence; "" if it is not."""
    if record.until is None:
        return ""
    if record.until <= dt_util.utcnow():
        return (
            f"Its probation ended at {_local(record.until)}: "
            "until an administrator decides on it, its actions are only noted, not done."
        )
    return f"It is on probation until {_local(record.until)}: its actions are only noted, not done."


def told_made(made: datetime) -> str:
    """Return when an automation was made, as a sentence."""
    return f"It was made at {_local(made)}: before that it could not run."


def _of_record(
    record: AutomationRecord | None, made: datetime | None, since: datetime, at: datetime | None
) -> Iterator[TraceFinding]:
    """Yield what its record says."""
    if made is not None and made > since:
        yield TraceFinding(weight=99 if at is not None and at < made else 15, sentence=told_made(made))
    if record is not None and (told := told_probation(record)):
        yield TraceFinding(weight=97, sentence=told)


def _of_state(hass: HomeAssistant, entity_id: str, *, is_noted: bool) -> Iterator[TraceFinding]:
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
        became = "was triggered" if is_noted else "ran"
        yield TraceFinding(weight=1, sentence=f"It {became} last at {_local(last)}.")
    elif state.state not in (STATE_UNAVAILABLE, STATE_OFF):
        became = "been triggered" if is_noted else "run"
        yield TraceFinding(weight=1, sentence=f"It has never {became}, as far as Home Assistant knows.")


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
    hass: HomeAssistant, automation_id: str, since: datetime, until: datetime, *, is_noted: bool
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
            became = "it was triggered, and its actions were only noted" if is_noted else "it did run, to its end"
            yield TraceFinding(weight=30 - number, sentence=f"{at}: {became}.")


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
    hass: HomeAssistant,
    draft: AutomationDraft,
    since: datetime,
    until: datetime,
    at: datetime | None,
    *,
    is_noted: bool,
) -> list[TraceFinding]:
    """Return what a replay of a time says, since all that it looks at is recorded."""
    begin = max(since, history_begin(hass) or since)
    if begin >= until:
        return [TraceFinding(weight=96, sentence=_told_history(begin))]
    entities = async_entities(hass, draft)
    try:
        timeline = await Timeline.async_recorded(hass, entities, begin, until, event_types=event_types_of(draft))
        if not (timeline.start or timeline.changes or timeline.events):
            later = (await Timeline.async_recorded(hass, entities, until, dt_util.utcnow())).since_known()
            if later.since > until:  # what it looks at is newer
                return [TraceFinding(weight=96, sentence=_told_history(later.since))]
        found = await async_replay(hass, draft, timeline.since_known())
    except (HomeAssistantError, probatio.Invalid) as err:
        return [TraceFinding(weight=5, sentence=f"It could not be replayed: {plain_text(str(err))[:200]}")]
    told = [*_findings(found, at, is_noted=is_noted)]
    if found.since > since:
        weight = 8 if found.held or found.runs else 56
        if at is not None and at < found.since:
            weight = 96
        told.append(TraceFinding(weight=weight, sentence=_told_history(found.since)))
    return told


def history_begin(hass: HomeAssistant) -> datetime | None:
    """Return since when anything is recorded; None if nothing is."""
    if "recorder" not in hass.config.components:
        return None
    oldest = get_instance(hass).states_manager.oldest_ts
    return dt_util.utc_from_timestamp(oldest) if oldest is not None else None


def _told_history(begin: datetime) -> str:
    return f"There is a history that can be replayed since {_local(begin)} only: what came before is not known."


def _findings(found: Replay, at: datetime | None, *, is_noted: bool) -> Iterator[TraceFinding]:
    def distance(moment: datetime) -> float:
        return abs((moment - at).total_seconds()) if at is not None else -moment.timestamp()

    for number, held in enumerate(sorted(found.held, key=lambda one: distance(one.at))[:3]):
        where = f"{held.condition} held it back: " if held.condition else ""
        yield TraceFinding(
            weight=80 - number,
            sentence=f"{_local(held.at)}: its trigger came ({held.trigger}), but {where}{held.because}.",
        )
    became = "its actions were to be noted" if is_noted else "it should have run"
    for number, run in enumerate(sorted(found.runs, key=lambda one: distance(one.at))[:2]):
        yield TraceFinding(
            weight=40 - number,
            sentence=f"{_local(run.at)}: by its triggers and conditions {became} ({run.trigger}).",
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
    if "recorder" in hass.config.components:
        instance = get_instance(hass)
        moments = await instance.async_add_executor_job(
            partial(moments_of, hass, "automation_triggered", entity_id, now - timedelta(days=max(days)))
        )
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
        reached_back=history_begin(hass),
        traces=dict(ended),
        last_error=plain_text(errors[0])[:300] if errors else "",
    )


def _started(trace: Mapping[str, Any]) -> datetime:
    found = trace["timestamp"]["start"]
    moment = found if isinstance(found, datetime) else dt_util.parse_datetime(str(found))
    return moment if moment is not None else dt_util.utc_from_timestamp(0)


def _local(moment: datetime) -> str:
    return dt_util.as_local(moment).strftime("%Y-%m-%d %H:%M:%S")
