"""One write: what a call comes to, doing it, what became of it, and its entry in the journal.

Whatever a plan does, the policy executes it, verifies it, notes it in the journal and undoes it by the entry of its kind in
`KINDS`. The home is asked what became of a write, not the service that was called. Each entity has an expectation
(home/actions.py). What has not come true when the tool has returned is waited for, by state changes, up to the limit; what is
under way is not waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
import time
from typing import Any, Protocol, override

from homeassistant.const import ATTR_ASSUMED_STATE, ATTR_ENTITY_ID, STATE_UNAVAILABLE
from homeassistant.core import Context, Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.actions import Expectation, Judgement, expectation, is_so, judge, reached_members
from ..home.domain import Run, Snapshot
from ..home.domains import DOMAINS, RUNNERS, UNKNOWN
from ..home.exposure import may_tell
from ..home.states import restoring_calls, result_of
from ..home.taught_names import async_change, has_alias, judge_change, reversed_change
from ..support.bounds import in_slices
from ..support.const import DOMAIN, LOGGER
from ..support.errors import DidNotRun, HomeAgentError, ToolRefusal, where_of
from ..turn.plan import ADD_NAME, NAME_SERVICES, ActionClass, Effect, NameChange, Plan, ServiceCall
from ..turn.turn import Outcome, Turn
from .following import Following
from .tool import HomeAgentTool, PendingResult

MAX_RESULTS = 25  # entities told one by one
ALREADY = "It was so already: nothing was done, and nothing had to be."


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectKind[E]:
    """What the policy has to know of effects of one kind."""

    from_dict: Callable[[Mapping[str, Any]], E]
    """Reads one from the disk; raises `KeyError`, `TypeError` or `ValueError`."""
    judge: Callable[[HomeAssistant, E], Judgement]
    """Returns why one needs the user's yes now, and what it reaches besides."""
    execute: Callable[[HomeAssistant, E, str, Context], Awaitable[object]]
    """Does it to one of its entities; raises what whoever does it raises."""
    expect: Callable[[State, E], Expectation | None]
    """What it should make of an entity that is so before; None when nothing can be seen of it."""
    is_so: Callable[[HomeAssistant, State, E], bool]
    """Whether an entity is already what it would make of it."""
    restore: Callable[[Snapshot, State, frozenset[str]], Sequence[E] | None]
    """The effects that bring aspects of an entity back to what they were; None when they cannot be."""
    reverse: Callable[[HomeAssistant, E], Sequence[E]] | None = None
    """Of effects that no state shows: those that take one back now, none where nothing of it is left."""


def _async_call(hass: HomeAssistant, call: ServiceCall, entity_id: str, context: Context) -> Awaitable[object]:
    if (run := DOMAINS.get(call.domain, UNKNOWN).runs.get(call.service)) is not None:
        return _async_start(hass, call, entity_id, run, context)
    target = {ATTR_ENTITY_ID: entity_id}
    return hass.services.async_call(call.domain, call.service, dict(call.data), True, context, target=target)


async def _async_start(hass: HomeAssistant, call: ServiceCall, entity_id: str, run: Run, context: Context) -> None:
    """Make a call that returns when all that it runs is over, and return as soon as that runs, as the call of a script does.

    It may take hours. Raises why nothing ran, and what the call raises.
    """
    before, known = hass.states.get(entity_id), asyncio.Event()
    if before is not None and (refusal := run.refused(before, call.data)) is not None:
        raise refusal
    runs = False

    @callback
    def look(event: Event[EventStateChangedData]) -> None:
        nonlocal runs
        if event.context.parent_id == context.id:
            runs = True
            known.set()

    @callback
    def end(made: asyncio.Task[object]) -> None:
        if not made.cancelled():
            made.exception()  # seen: whoever waited is gone by then
        known.set()

    stop = async_track_state_change_event(hass, [entity_id], look)
    try:
        target = {ATTR_ENTITY_ID: entity_id}
        calling = hass.services.async_call(call.domain, call.service, dict(call.data), True, context, target=target)
        made = hass.async_create_task(calling, eager_start=True)
        made.add_done_callback(end)
        await known.wait()
    finally:
        stop()
    if made.done() and not made.cancelled():
        made.result()
    if not runs and before is not None:
        raise run.held_back(before)


SERVICE_CALL = EffectKind(
    from_dict=ServiceCall.from_dict,
    judge=judge,
    execute=_async_call,
    expect=expectation,
    is_so=is_so,
    restore=restoring_calls,
)
NAME_CHANGE = EffectKind(
    from_dict=NameChange.from_dict,
    judge=judge_change,
    execute=async_change,
    expect=lambda _state, _change: None,
    is_so=lambda hass, _state, change: has_alias(hass, change.target, change.name) == (change.service == ADD_NAME),
    restore=lambda _before, _now, _aspects: None,
    reverse=reversed_change,
)
KINDS: Mapping[type[Effect], EffectKind[Any]] = {ServiceCall: SERVICE_CALL, NameChange: NAME_CHANGE}


def effect_from_dict(data: Mapping[str, Any]) -> Effect:
    """Return an effect from the disk. Raises `KeyError`, `TypeError` or `ValueError` when it is none."""
    kind = NAME_CHANGE if data["domain"] == DOMAIN and data["service"] in NAME_SERVICES else SERVICE_CALL
    effect: Effect = kind.from_dict(data)
    return effect


@dataclass(slots=True)
class PlanBuilder:
    """Puts effects together into a plan: equal ones on several entities as one, in the order of their first."""

    hass: HomeAssistant
    targets: dict[str, None] = field(default_factory=dict)
    """What it touches, in this order."""
    _merged: dict[tuple[str, str], tuple[Effect, dict[str, None]]] = field(default_factory=dict)
    _reasons: dict[str, None] = field(default_factory=dict)
    _inside: list[ServiceCall] = field(default_factory=list)
    _reached: dict[str, None] = field(default_factory=dict)
    _sensitive: dict[str, None] = field(default_factory=dict)

    def add(self, effect: Effect) -> None:
        """Have the plan do something, too. Raises `ClosedGroup` for a group that reaches what is not exposed."""
        behind = [member for entity_id in effect.entity_ids for member in reached_members(self.hass, entity_id)]
        self.targets |= dict.fromkeys((*effect.entity_ids, *behind))
        key = (f"{effect.domain}.{effect.service}", repr(sorted(effect.data.items())))
        self._merged.setdefault(key, (effect, {}))[1].update(dict.fromkeys(effect.entity_ids))
        found = KINDS[type(effect)].judge(self.hass, effect)
        self._reached |= dict.fromkeys(found.reached)
        if found.reasons:
            self._reasons |= dict.fromkeys(found.reasons)
            self._inside += [item for item in found.inside if item not in self._inside]
            self._sensitive |= dict.fromkeys(effect.entity_ids)

    def plan(self, *reasons: str) -> Plan:
        """Return the plan; `reasons` are others for which it needs the user's yes."""
        reasons = tuple(dict.fromkeys((*self._reasons, *reasons)))
        return Plan(
            action=ActionClass.SENSITIVE if reasons else ActionClass.WRITE,
            targets=tuple(self.targets),
            effects=tuple(replace(effect, entity_ids=tuple(items)) for effect, items in self._merged.values()),
            reason=next(iter(reasons), None),
            reasons=reasons,
            sensitive=tuple(self._sensitive or (self.targets if reasons else ())),
            inside=tuple(self._inside),
            reached=tuple(self._reached),
        )


async def async_plan_of(hass: HomeAssistant, effects: Iterable[Effect]) -> Plan:
    """Return the plan of effects; there may be thousands."""
    builder = PlanBuilder(hass)
    async for effect in in_slices(effects):
        builder.add(effect)
    return builder.plan()


def already_so(hass: HomeAssistant, plan: Plan) -> tuple[str, ...]:
    """Return which entities of a plan are already what all of its effects would make of them, members of groups included.

    None where something is started: what it does is what is asked about, whatever its own state is.
    """
    if plan.inside:
        return ()
    found: dict[str, bool] = {}
    for effect in plan.effects:
        for entity_id in effect.entity_ids:
            states = [hass.states.get(item) for item in (entity_id, *reached_members(hass, entity_id))]
            is_so = all(state is not None and KINDS[type(effect)].is_so(hass, state, effect) for state in states)
            found[entity_id] = found.get(entity_id, True) and is_so
    return tuple(entity_id for entity_id, is_so in found.items() if is_so)


def already_result(hass: HomeAssistant, plan: Plan) -> JsonValueType:
    """Return the result of a plan of which nothing had to be done."""
    changed = {entity_id: {*effect.data} for effect in plan.effects for entity_id in effect.entity_ids}
    result = _result(hass, changed, {}, dict.fromkeys(changed, Outcome.REACHED))
    return {**result, "note": ALREADY} if isinstance(result, dict) else result


async def async_execute(hass: HomeAssistant, effects: Sequence[Effect], context: Context) -> PendingResult:
    """Execute effects in their order; the result tells the new states, their outcomes, and what failed with which error.

    Entity by entity, as Home Assistant's own intents call services: an error then belongs to one of them, whatever a
    device raises. All entities of an effect are begun at once, but in slices: there may be thousands. Raises
    `ToolRefusal` when nothing worked.
    """
    failed: dict[str, str] = {}
    held_back: list[DidNotRun] = []
    done: dict[str, list[str]] = {}

    async def execute(effect: Effect, entity_id: str) -> None:
        try:
            await KINDS[type(effect)].execute(hass, effect, entity_id, context)
        except (HomeAssistantError, probatio.Invalid) as err:
            error = str(err) or type(err).__name__
            held_back.extend([err] if isinstance(err, DidNotRun) else ())
        except Exception as err:  # noqa: BLE001 - one broken device does not hide what the others did
            LOGGER.error(
                "%s of %s failed unexpectedly: %s", f"{effect.domain}.{effect.service}", entity_id, where_of(err)
            )
            error = type(err).__name__
        else:
            done.setdefault(entity_id, []).append(effect.service)
            return
        before = f" ({', '.join(done[entity_id])} was done before)" if entity_id in done else ""
        failed[entity_id] = f"{error}{before}"

    for effect in effects:
        named = (effect.about,) if isinstance(effect, NameChange) else effect.entity_ids
        waiting = [item for item in named if item not in failed]
        if len(waiting) == 1:
            await execute(effect, waiting[0])
            continue
        async with asyncio.TaskGroup() as group:
            async for entity_id in in_slices(waiting):  # begun here, so that their first steps count for the slice
                group.create_task(execute(effect, entity_id), eager_start=True)
    changed: dict[str, set[str]] = {}
    for effect in effects:
        for item in (effect.about,) if isinstance(effect, NameChange) else effect.entity_ids:
            changed.setdefault(item, set()).update(effect.data)
    if len(failed) == len(changed):
        raise _all_failed(failed, held_back)
    return PendingResult(
        render=partial(_result, hass, changed, failed),
        failed=failed.keys(),
        did_not_run=DidNotRun.of("", held_back) if held_back else None,
        fails_in_own_words=len(held_back) == len(failed),
    )


def _all_failed(failed: Mapping[str, str], held_back: Sequence[DidNotRun]) -> ToolRefusal:
    """Return the error of a plan of which nothing worked; people are told why automations did not run, where that is all."""
    errors = [f"{entity_id}: {error}" for entity_id, error in failed.items()]
    if len(errors) > MAX_RESULTS:
        errors[MAX_RESULTS:] = [f"{len(errors) - MAX_RESULTS} more failed"]
    told = "; ".join(errors)
    return DidNotRun.of(told, held_back) if 0 < len(held_back) == len(failed) else ToolRefusal(told)


def _result(
    hass: HomeAssistant,
    changed: Mapping[str, Collection[str]],
    failed: Mapping[str, str],
    outcomes: Mapping[str, Outcome],
) -> JsonValueType:
    """Return the rows of the entities; `changed` has the parameters that each was called with, `failed` its error."""
    worked = [entity_id for entity_id in changed if entity_id not in failed]
    rows: list[JsonValueType] = []
    for entity_id in worked[:MAX_RESULTS]:
        outcome = outcomes.get(entity_id, Outcome.DONE).value
        row: JsonObjectType = {"entity_id": entity_id, "new_state": None, "outcome": outcome, "note": "It is gone."}
        if (state := hass.states.get(entity_id)) is not None:
            shown = result_of(state, sorted(changed[entity_id]), partial(may_tell, hass))
            row = {key: shown.pop(key) for key in ("entity_id", "new_state")} | {"outcome": outcome, **shown}
        rows.append(row)
    if len(changed) == 1:
        return rows[0]
    result: JsonObjectType = {"count": len(worked), "entities": rows}
    if len(worked) > MAX_RESULTS:
        result["note"] = f"{len(worked) - MAX_RESULTS} more were changed and are not listed."
    if failed:
        told = list(failed.items())[:MAX_RESULTS]
        result["failed"] = [{"entity_id": entity_id, "error": error} for entity_id, error in told]
    if len(failed) > MAX_RESULTS:
        result["failed_count"] = len(failed)
    return result


DEFAULT_SECONDS = 2
RESERVE = 0.5  # seconds of a tool's time that are left when waiting ends
HAPPENED = frozenset({Outcome.REACHED, Outcome.CHANGED, Outcome.DONE})
OUTCOME = "outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """A write that is over."""

    turn: Turn
    tool_name: str
    plan: Plan
    before: Mapping[str, State]
    """What it concerned, as it was before."""
    outcomes: Mapping[str, Outcome]
    success: bool
    """The tool did not raise."""
    following: Following | None = None
    """Watches what it sets off, when that is not what it is about: a scene, a script, an automation that is run."""


class Journal(Protocol):
    """Whoever remembers what was done."""

    @callback
    def async_add(self, record: WriteRecord) -> None:
        """Take note of a write."""
        ...


class EffectTool(HomeAgentTool):
    """A tool that does what its plan lists, and no more."""

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> PendingResult:
        """Execute the effects; the result tells the states they led to. Raises when not one of them worked."""
        return await async_execute(hass, plan.effects, turn.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How the writes of an entry are verified and where they are noted."""

    seconds: float = DEFAULT_SECONDS
    """For how long at most the home is given to follow; 0: nobody looks."""
    journal: Journal | None = None

    async def async_run(
        self, hass: HomeAssistant, turn: Turn, tool: HomeAgentTool, args: dict[str, Any], plan: Plan
    ) -> JsonValueType:
        """Return the result of a tool whose plan may happen; of a write, once it is known what came of it.

        Raises what the tool raises.
        """
        if plan.action is ActionClass.READ:
            try:
                result = await tool.run(hass, args, plan, turn)
            except HomeAssistantError as err:
                if not isinstance(err, HomeAgentError):
                    turn.record.taints.add(tool.name)
                raise
            return result.render({}) if isinstance(result, PendingResult) else result
        write = Write(hass, self, turn, tool.stands_for or tool.name, plan)
        try:
            result = await tool.run(hass, args, plan, turn)
        except BaseException as err:  # a cancelled call may have switched something, too
            write.fail()
            if not (tool.fails_in_own_words or isinstance(err, DidNotRun)):
                turn.record.taints.add(tool.name)  # why it failed is told in the words of a device or its server
            raise
        if isinstance(result, PendingResult):
            if not result.fails_in_own_words and result.failed:
                turn.record.taints.add(tool.name)
            turn.record.did_not_run = result.did_not_run
            return result.render(await write.async_outcomes(result.failed))
        outcomes = await write.async_outcomes()
        if not outcomes or not (result is None or isinstance(result, dict)):
            return result
        return {OUTCOME: {entity_id: outcome.value for entity_id, outcome in outcomes.items()}, **(result or {})}


class Write:
    """One write while it happens."""

    def __init__(self, hass: HomeAssistant, writes: Writes, turn: Turn, tool_name: str, plan: Plan) -> None:
        """Remember the states; to be made right before the first effect is executed."""
        self._writes = writes
        self._turn = turn
        self._tool_name = tool_name
        self._plan = plan
        self._began = time.monotonic()
        self._verification = Verification(hass, plan.effects)
        names_only = plan.effects and all(isinstance(effect, NameChange) for effect in plan.effects)
        targets = () if names_only else plan.targets  # whose states say nothing of it
        concerned = dict.fromkeys((*targets, *(item for effect in plan.effects for item in effect.entity_ids)))
        self._before = {item: state for item in concerned if (state := hass.states.get(item)) is not None}
        runners = [item for item in concerned if item.partition(".")[0] in RUNNERS]
        runners += [f"{effect.domain}.{effect.service}" for effect in plan.effects if effect.domain in RUNNERS]
        for effect in plan.effects:
            if effect.service in DOMAINS.get(effect.domain, UNKNOWN).runs:
                runners += effect.entity_ids
        watched = bool(runners) and writes.journal is not None
        self._following = Following(hass, turn.context, concerned, runners, turn.within) if watched else None

    @callback
    def drop(self) -> None:
        """Forget it: nothing was done."""
        if self._following is not None:
            self._following.end()

    async def async_outcomes(self, failed: Collection[str] = ()) -> dict[str, Outcome]:
        """Return what became of each entity of an effect, once that is clear; the end of a write that worked."""
        left = self._turn.profile.tool_timeout - (time.monotonic() - self._began) - RESERVE
        seconds = min(self._writes.seconds, left)
        if seconds > 0:
            await self._verification.async_settle(seconds, failed)
        outcomes = self._verification.outcomes(failed, waited=seconds > 0)
        record = self._turn.record
        record.acted = record.acted or not outcomes or not HAPPENED.isdisjoint(outcomes.values())
        self._end(outcomes, success=True)
        return outcomes

    @callback
    def fail(self) -> None:
        """End a write that raised. What became of it is told as far as it shows."""
        outcomes = {
            entity_id: Outcome.FAILED if outcome is Outcome.DONE else outcome
            for entity_id, outcome in self._verification.outcomes(waited=False).items()
        }
        self._turn.record.acted = self._turn.record.acted or Outcome.CHANGED in outcomes.values()
        self._end(outcomes, success=False)

    def _end(self, outcomes: Mapping[str, Outcome], *, success: bool) -> None:
        self._turn.record.outcomes.update(outcomes)
        if self._writes.journal is not None:
            self._writes.journal.async_add(
                WriteRecord(
                    turn=self._turn,
                    tool_name=self._tool_name,
                    plan=self._plan,
                    before=self._before,
                    outcomes=outcomes,
                    success=success,
                    following=self._following,
                )
            )


class Verification:
    """The entities of some effects: as they were when this was made, and what has become of them."""

    def __init__(self, hass: HomeAssistant, effects: Iterable[Effect]) -> None:
        """Remember the states; to be made before the effects are executed."""
        self._hass = hass
        self._before: dict[str, State | None] = {}
        self._expected: dict[str, Expectation | None] = {}
        for effect in effects:
            for entity_id in effect.entity_ids:
                if entity_id not in self._before:
                    self._before[entity_id] = hass.states.get(entity_id)
                before, known = self._before[entity_id], self._expected.get(entity_id)
                found = KINDS[type(effect)].expect(before, effect) if before is not None else None
                self._expected[entity_id] = known.and_then(found) if known and found else found or known

    async def async_settle(self, seconds: float, failed: Collection[str] = ()) -> None:
        """Return when there is nothing to wait for any more, after `seconds` at the latest."""
        waiting = {item for item in self._expected if item not in failed and not self._settled(item)}
        if not waiting:
            return
        arrived = asyncio.Event()

        @callback
        def look(event: Event[EventStateChangedData]) -> None:
            if self._settled(event.data["entity_id"]):
                waiting.discard(event.data["entity_id"])
            if not waiting:
                arrived.set()

        stop = async_track_state_change_event(self._hass, list(waiting), look)
        try:
            async with asyncio.timeout(seconds):
                await arrived.wait()
        except TimeoutError:
            pass  # what is true now is told
        finally:
            stop()

    def is_back(self, entity_id: str, outcome: Outcome) -> bool:
        """Return whether an entity with this outcome is what was asked for, or on its way to it."""
        if outcome is not Outcome.CHANGED:
            return outcome in (Outcome.REACHED, Outcome.DONE)
        expected, now = self._expected.get(entity_id), self._hass.states.get(entity_id)
        return expected is not None and now is not None and expected.under_way(now)

    def outcomes(self, failed: Collection[str] = (), *, waited: bool) -> dict[str, Outcome]:
        """Return what is true now of each entity. Without a wait nothing counts as unchanged: it may only be late."""
        found: dict[str, Outcome] = {}
        for entity_id, expected in self._expected.items():
            before, now = self._before[entity_id], self._hass.states.get(entity_id)
            if entity_id in failed:
                found[entity_id] = Outcome.FAILED
            elif now is None or now.state == STATE_UNAVAILABLE:
                found[entity_id] = Outcome.UNAVAILABLE
            elif before is None or expected is None or (reached := expected.reached(before, now)) is None:
                found[entity_id] = Outcome.DONE
            elif reached:
                found[entity_id] = Outcome.REACHED
            elif expected.under_way(now) or expected.moved(before, now) or expected.takes > 0:
                found[entity_id] = Outcome.CHANGED
            elif now.attributes.get(ATTR_ASSUMED_STATE):  # whether it follows, nobody can see
                found[entity_id] = Outcome.DONE
            else:
                found[entity_id] = Outcome.UNCHANGED if waited else Outcome.DONE
        return found

    def _settled(self, entity_id: str) -> bool:
        """Return whether there is nothing to wait for."""
        before, now, expected = self._before[entity_id], self._hass.states.get(entity_id), self._expected[entity_id]
        if expected is None or before is None or before.state == STATE_UNAVAILABLE:
            return True
        if now is None or now.state == STATE_UNAVAILABLE:  # it may come back
            return False
        return expected.reached(before, now) is not False or expected.under_way(now)
