"""An automation on a piece of the past: when Home Assistant would have run it, and when not and why."""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import merge
import re
import time
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.script_variables import ScriptVariables

from ..support.bounds import in_slices
from ..support.errors import ToolRefusal
from .draft import AutomationDraft
from .near import Misses, Near
from .past import NotReplayable, PastHome, past_home, quiet
from .past_actions import ERRORS_OF_STEPS, PastCalls, PastStep, async_steps, waits
from .past_answers import PastCondition
from .past_clock_triggers import PastTrigger
from .past_conditions import async_past_condition
from .past_itself import PastItself, async_last_triggered
from .past_questions import answers_by_path, calls_in, contexts_by_path, templates_by_path
from .past_triggers import async_attach
from .past_waits import Runs, Wait
from .recorded import PastChange, PastEvent, PastGap, asked_for
from .rendering import templates_in
from .timeline import Timeline
from .watched import is_waiting

MAX_SECONDS = 20
MAX_TEMPLATE_SECONDS = 1
MAX_HAPPENED = 20_000  # triggers of one replay
_OF_LAST_RUN = re.compile(r"\blast_triggered\b")
_OF_NAME = re.compile(r"\bthis\b.*\b(entity_id|friendly_name)\b", re.DOTALL)
_OF_ITSELF = re.compile(r"\b(this|automation)\b|\bstates\b(?!\s*[.(\[])")
_OF_CONTEXT = re.compile(r"\bcontext\b")
_OF_OWN_CONTEXT = re.compile(r"\bthis\s*(\.|\[\s*['\"])\s*context\b")
_OF_REPORTS = re.compile(r"\blast_reported(_timestamp)?\b")
_JUST_BEFORE = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """It would have run."""

    at: datetime
    """In UTC."""
    trigger: str
    """Path of the trigger: `triggers[0]`."""
    because: str
    """What the trigger says of itself, for a model."""
    variables: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What its actions would know: `trigger` and its variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A trigger came, and it would not have run."""

    at: datetime
    trigger: str
    condition: str
    """Path of the condition that held it back; empty if another run or an error did."""
    because: str
    """What was so instead, for a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What became of a replay."""

    since: datetime
    until: datetime
    runs: tuple[PastRun, ...]
    held: tuple[Held, ...]
    not_replayed: tuple[tuple[str, str], ...]
    """Paths of what cannot be looked up in the past, each with the reason."""
    near: tuple[Near, ...] = ()
    """Changes that came near a trigger and were not what it waits for, the most frequent first."""


async def async_replay(hass: HomeAssistant, draft: AutomationDraft, timeline: Timeline) -> Replay:
    """Return when an automation would have run on a timeline. It ends earlier if it triggers too often, or takes too long.

    Raises `ToolRefusal` for a template that takes too long by itself.
    """
    # A context of its own: what is traced here belongs to no automation that may be running.
    task = hass.loop.create_task(_async_replay(hass, draft, timeline), context=Context())
    try:
        return await task
    finally:
        task.cancel()


async def _async_replay(hass: HomeAssistant, draft: AutomationDraft, timeline: Timeline) -> Replay:
    asked_for.set({})
    with past_home(hass) as home, quiet():
        play = _Play(hass, home, draft, timeline)
        await play.async_prepare()
        await play.async_play()
        return play.result()


class _Play:
    """One replay."""

    def __init__(self, hass: HomeAssistant, home: PastHome, draft: AutomationDraft, timeline: Timeline) -> None:
        """Take what is replayed."""
        self._hass = hass
        self._home = home
        self._draft = draft
        self._timeline = timeline
        self._until = timeline.until
        self._is_followed = is_waiting(draft.actions) or calls_in(draft.actions)
        """Its actions may take time."""
        self._conditions: list[PastCondition] = []
        self._triggers: tuple[PastTrigger, ...] = ()
        self._variables = _variables_of_run(home, draft)
        self._runs_now = Runs(home, None, "parallel", 1)
        self._itself: PastItself
        self._calls: PastCalls | None = None
        self._runs: list[PastRun] = []
        self._held: list[Held] = []
        self._refused: dict[str, str] = {}
        self._fired: set[str] = set()
        self._misses = Misses()
        self._ends = time.monotonic() + MAX_SECONDS

    async def async_prepare(self) -> None:
        """Look up what conditions and actions need."""
        await self._async_ask()
        self._home.clock.set(self._timeline.since)
        self._home.states.current = dict(self._timeline.start)
        self._itself = PastItself(self._hass, self._home, self._draft)
        self._home.states.known = self._timeline.entity_ids | {self._itself.entity_id}
        self._itself.is_watched = (
            self._itself.entity_id in self._timeline.entity_ids
            or self._itself.entity_id in str(self._draft.written)
            or bool(self._asking(_OF_ITSELF))
        )
        self._itself.begin(await self._async_last_triggered())
        if not self._itself.is_named:
            self._refused |= dict.fromkeys(self._asking(_OF_NAME), "it has no name yet")
        normalized = self._draft.normalized
        parts = [*self._draft.triggers, *self._draft.conditions, *self._draft.actions]
        for template in templates_in([*parts, *(normalized.get(key) for key in ("variables", "trigger_variables"))]):
            if await self._home.async_is_slow(template, MAX_TEMPLATE_SECONDS):
                raise ToolRefusal(f"A template takes longer than {MAX_TEMPLATE_SECONDS} s: it cannot be replayed.")
        for number, config in enumerate(self._draft.conditions):
            try:
                self._conditions.append(await async_past_condition(self._home, config, f"conditions[{number}]"))
            except NotReplayable as err:
                self._refused[f"conditions[{number}]"] = str(err)
        calls = self._calls = PastCalls(self._hass, self._home, self._itself, self._turn_off)
        steps: list[PastStep] = []
        begin = partial(_waits_of, steps)
        mode, most = str(normalized.get("mode", "single")), int(normalized.get("max", 10))
        calls.root = self._runs_now = Runs(self._home, begin, mode, most, self._itself)
        try:
            steps += await async_steps(calls, self._draft.actions)
        except ERRORS_OF_STEPS as err:
            if self._is_followed:
                why = str(err) if isinstance(err, NotReplayable) else type(err).__name__
                self._refused["actions"] = f"how long it runs is not known: {why}"
        if not any(step.takes_time for step in steps):
            steps.clear()

    def _turn_off(self, stops: bool) -> None:
        """Let it be off from now on, as its actions have it; its runs go on, if they are not stopped."""
        self._itself.turn_off()
        for trigger in self._triggers:
            trigger.detach()
        if stops:
            self._runs_now.clear()

    async def _async_ask(self) -> None:
        """Look up who made the changes, if anything asks for that, and say what no recorder knows."""
        self._refused |= dict.fromkeys(self._asking(_OF_REPORTS), "when a state was last reported is not recorded")
        if self._is_followed:
            self._refused |= dict(answers_by_path(self._draft))
        self._refused |= dict.fromkeys(self._asking(_OF_OWN_CONTEXT), "who switched it is not known")
        asking = [*self._asking(_OF_CONTEXT), *contexts_by_path(self._draft)]  # each wait for an event is followed
        if not asking:
            return
        if (known := await self._timeline.async_with_contexts(self._hass)) is not None:
            self._timeline = known
        else:
            self._refused |= dict.fromkeys(asking, "who made a change is not known")

    async def _async_last_triggered(self) -> datetime | None:
        """Return when it ran last before the timeline, if anything of it asks for that and it is known."""
        if not (asking := self._asking(_OF_LAST_RUN)):
            return None
        if self._timeline.is_piece:
            self._refused |= dict.fromkeys(asking, "when it ran before is not known")
            return None
        if not self._itself.is_known:
            return None
        return await async_last_triggered(self._hass, self._itself.entity_id, self._timeline.since)

    def _asking(self, what: re.Pattern[str]) -> list[str]:
        """Return the paths of what has a template that asks for something; not of actions that take no time."""
        return [
            path
            for path, text in templates_by_path(self._draft)
            if what.search(text) and (self._is_followed or not path.startswith("actions"))
        ]

    async def async_play(self) -> None:
        """Play the timeline, piece by piece between the gaps."""
        begin = self._timeline.since
        waiting: Iterator[tuple[datetime, int, PastChange | PastEvent]] = merge(
            ((change.at, 0, change) for change in self._timeline.changes),
            ((event.at, 1, event) for event in self._timeline.events),
            key=lambda row: row[:2],
        )
        rows = _Ahead(waiting)
        for number, gap in enumerate(self._timeline.gaps):
            if gap.since > begin:
                await self._async_piece(begin, gap.since, rows, is_start=number > 0)
            self._pass(gap, rows)
            begin = max(begin, gap.until)
        await self._async_piece(begin, self._timeline.until, rows, is_start=bool(self._timeline.gaps))

    async def _async_piece(self, begin: datetime, end: datetime, rows: _Ahead, *, is_start: bool = False) -> None:
        """Play a time in which Home Assistant was running."""
        if self._is_over():
            return
        self._home.clock.set(begin)
        for condition in self._conditions:
            condition.begin()
        if begin > self._timeline.since:
            self._itself.begin()
        await self._async_attach()
        if is_start:
            self._home.play("homeassistant_started", {})
        async for _ in in_slices(self._steps(end, rows)):
            if self._runs_now.opening:
                await self._runs_now.async_open(self._timeline.event_types)
            if self._is_over():
                self._until = self._home.clock.moment
                self._refused.setdefault("", "It triggers too often: only the beginning was replayed.")
                return

    def _is_over(self) -> bool:
        return len(self._runs) + len(self._held) >= MAX_HAPPENED or time.monotonic() > self._ends

    async def _async_attach(self) -> None:
        if not self._itself.is_on:
            return
        normalized = self._draft.normalized
        known = {"this": self._itself.at_first()}
        variables = _rendered(self._home, _script_variables(self._home, normalized.get("trigger_variables")), known)
        listening = await async_attach(
            self._home, self._draft.triggers, variables, self._fire, event_types=self._timeline.event_types
        )
        self._triggers = listening.attached
        self._refused |= dict(listening.refused)
        self._misses.watch(self._triggers)

    def _steps(self, end: datetime, rows: _Ahead) -> Iterator[None]:
        """Let happen what happened, one thing per step."""
        while (row := rows.next_until(end)) is not None:
            for _ in self._home.clock.run_until(row.at - _JUST_BEFORE):
                yield
            self._home.clock.set(row.at)
            self._fired.clear()
            if isinstance(row, PastChange):
                if row.entity_id == self._itself.entity_id:
                    continue  # it is as its replayed runs make it
                for condition in self._conditions:
                    condition.changed(row.entity_id, row.state)
                old = self._home.change(row.entity_id, row.state)
                self._misses.note(row.entity_id, old, row.state, self._fired)
            else:
                self._home.play(row.event_type, row.data, row.context)
                self._misses.note_event(row, self._fired)
            yield
        for _ in self._home.clock.run_until(end):
            yield

    def _pass(self, gap: PastGap, rows: _Ahead) -> None:
        """Let a gap pass: nothing waits any more, and what changes then is not seen."""
        self._runs_now.clear()
        if self._calls is not None:
            self._calls.clear()
        self._home.clock.clear()
        self._home.bus.listening.clear()
        self._home.forget_trackers()
        while (row := rows.next_until(gap.until)) is not None:
            if isinstance(row, PastChange) and row.entity_id != self._itself.entity_id:
                self._home.become(row.entity_id, row.state)

    def _fire(self, path: str, payload: dict[str, Any]) -> None:
        """Decide what a trigger comes to."""
        if not self._itself.is_on:
            return
        self._fired.add(path)
        at = self._home.clock.moment
        try:
            variables = {"this": self._itself.this, **payload}
            if self._variables is not None:
                variables = self._variables.async_render(self._home, variables)
        except HomeAssistantError:
            self._held.append(Held(at=at, trigger=path, condition="", because="its variables could not be rendered"))
            return
        if (holder := self._held_by(variables)) is not None:
            condition, because = holder
            self._held.append(Held(at=at, trigger=path, condition=condition, because=because))
            return
        if busy := self._runs_now.refuses():
            self._held.append(Held(at=at, trigger=path, condition="", because=busy))
            return
        told = str(payload.get("trigger", {}).get("description") or "")
        self._runs.append(PastRun(at=at, trigger=path, because=told, variables=variables))
        self._runs_now.start(variables)

    def _held_by(self, variables: Mapping[str, Any]) -> tuple[str, str] | None:
        """Return the condition that holds it back, with what was so; None if none does."""
        failed: tuple[str, str] | None = None
        for condition in self._conditions:
            answer = condition.check(variables)
            if answer.result is False and not answer.has_failed:
                return condition.path, answer.because
            if answer.has_failed and failed is None:
                failed = (condition.path, answer.because)
        return failed

    def result(self) -> Replay:
        """Return what became of it."""
        refused = {**self._refused, **self._runs_now.refused}
        missed = [one for one in self._home.states.missed if one not in self._home.states.known and "." in one]
        if missed:
            refused["entities"] = f"not known here: {', '.join(sorted(missed)[:10])}"
        for entity_id, names in self._timeline.unrecorded.items():
            if not names:
                refused[entity_id] = "it is not recorded"
        refused |= dict(self._misses.unrecorded(self._timeline.unrecorded))
        for entity_id, name in asked_for.get() or ():
            if (why := f"the attribute '{name}' of {entity_id} is not recorded") not in refused.values():
                refused[entity_id] = why
        return Replay(
            since=self._timeline.since,
            until=self._until,
            runs=tuple(self._runs),
            held=tuple(self._held),
            not_replayed=tuple(refused.items()),
            near=self._misses.result(),
        )


def _waits_of(steps: Sequence[PastStep], variables: Mapping[str, Any]) -> Iterator[Wait]:
    return waits(steps, variables) if steps else iter(())


class _Ahead:
    """Rows in the order of time, of which the next one is known."""

    def __init__(self, rows: Iterator[tuple[datetime, int, PastChange | PastEvent]]) -> None:
        """Take the rows."""
        self._rows = rows
        self._next = next(rows, None)

    def next_until(self, moment: datetime) -> PastChange | PastEvent | None:
        """Return the next row that is not later than a moment."""
        if self._next is None or self._next[0] > moment:
            return None
        row = self._next[2]
        self._next = next(self._rows, None)
        return row


def _script_variables(home: PastHome, found: object) -> ScriptVariables | None:
    return ScriptVariables(home.rebound(found.variables)) if isinstance(found, ScriptVariables) else None


def _variables_of_run(home: PastHome, draft: AutomationDraft) -> ScriptVariables | None:
    """Return the variables of a run: those of the triggers, too."""
    listed = [draft.normalized.get(key) for key in ("trigger_variables", "variables")]
    found: dict[str, Any] = {}
    for one in listed:
        found |= one.variables if isinstance(one, ScriptVariables) else {}
    return ScriptVariables(home.rebound(found)) if found else None


def _rendered(home: PastHome, variables: ScriptVariables | None, known: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return variables.async_render(home, known, limited=True) if variables is not None else known
    except HomeAssistantError:
        return known
