"""One write: what a call comes to, doing it, what became of it, and its entry in the journal.

Every effect is executed, verified and noted by its kind (policy/effects/), subject by subject. What has not come true when the
tool returns is waited for, up to the limit.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
import time
from typing import Any, override

from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.actions import reached_members
from ..home.domains import RUNNERS
from ..home.foreign import fails_in_own_words, foreign_texts_of
from ..home.judgement import judge_named
from ..home.targets import refuse_broad_ids, variables_name
from ..support.bounds import in_slices
from ..support.const import LOGGER
from ..support.errors import DidNotRun, HomeAgentError, ToolError, ToolRefusal, where_of
from ..turn.plan import ActionClass, Effect, Plan, Reach, ServiceCall
from ..turn.turn import Outcome, Turn
from .effects import KINDS
from .effects.effect import Before, EffectWatch, captured
from .following import Following
from .tool import HomeAgentTool, PendingResult

SCRIPT = "script"
MAX_RESULTS = 25  # subjects told one by one
ALREADY = "Already in the requested state; no action taken."

type Place = tuple[str, str]
"""A kind and a subject."""


@dataclass(slots=True)
class PlanBuilder:
    """Puts effects together into a plan: equal ones on several entities as one, in the order of their first."""

    hass: HomeAssistant
    targets: dict[str, None] = field(default_factory=dict)  # what it touches, in this order
    _merged: dict[tuple[str, ...], tuple[Effect, dict[str, None]]] = field(default_factory=dict)
    _reasons: dict[str, None] = field(default_factory=dict)
    _inside: list[ServiceCall] = field(default_factory=list)
    _reached: dict[str, None] = field(default_factory=dict)
    _also: dict[str, None] = field(default_factory=dict)
    _written: dict[str, None] = field(default_factory=dict)
    _wary: bool = False
    _sensitive: dict[str, None] = field(default_factory=dict)

    def touch(self, entity_ids: Sequence[str]) -> None:
        """Have the plan touch entities and their members. Raises `ClosedGroup` for a group that reaches what is not exposed."""
        behind = [member for entity_id in entity_ids for member in reached_members(self.hass, entity_id)]
        self.targets |= dict.fromkeys((*entity_ids, *behind))

    def add(self, effect: Effect) -> None:
        """Have the plan do something, too. Raises `ClosedGroup` for a group that reaches what is not exposed."""
        self.touch(effect.entity_ids)
        about = () if effect.entity_ids else effect.subjects
        key = (effect.kind, effect.domain, effect.service, repr(sorted(effect.data.items())), *about)
        self._merged.setdefault(key, (effect, {}))[1].update(dict.fromkeys(effect.entity_ids))
        found = KINDS[effect.kind].judge(self.hass, effect)
        self._reached |= dict.fromkeys(found.reach.reached)
        self._also |= dict.fromkeys(found.reach.also)
        self._written |= dict.fromkeys(found.reach.written)
        self._wary = self._wary or found.reach.wary
        self._inside += [item for item in found.reach.inside if item not in self._inside]
        if found.reasons:
            self._reasons |= dict.fromkeys(found.reasons)
            self._sensitive |= dict.fromkeys(effect.entity_ids or (effect.action,))

    def plan(self, *reasons: str) -> Plan:
        """Return the plan; `reasons` are others for which it needs the user's yes."""
        reasons = tuple(dict.fromkeys((*self._reasons, *reasons)))
        return Plan(
            action=ActionClass.SENSITIVE if reasons else ActionClass.WRITE,
            targets=tuple(self.targets),
            effects=tuple(replace(effect, entity_ids=tuple(items)) for effect, items in self._merged.values()),
            reasons=reasons,
            sensitive=tuple(self._sensitive or (self.targets if reasons else ())),
            reach=Reach(
                inside=tuple(self._inside),
                reached=tuple(self._reached),
                also=tuple(self._also),
                written=tuple(self._written),
                wary=self._wary,
            ),
        )


async def async_plan_of(hass: HomeAssistant, effects: Iterable[Effect]) -> Plan:
    """Return the plan of effects; there may be thousands."""
    builder, insisted = PlanBuilder(hass), set[str]()
    async for effect in in_slices(effects):
        kind = KINDS[effect.kind]
        insisted |= kind.insists_on
        builder.add(await kind.async_read(hass, effect))
    plan = builder.plan()
    return replace(plan, insists=not insisted.isdisjoint(plan.reasons))


def with_variables(hass: HomeAssistant, plan: Plan) -> Plan:
    """Return a plan that touches what the variables of its scripts name as well: these have to be exposed, and need a yes if sensitive.

    Raises `ToolRefusal` for what may stand for many entities.
    """
    calls = [effect.data for effect in plan.effects if effect.domain == SCRIPT or "variables" in effect.data]
    variables = [data.get("variables", data) for data in calls]
    if not any(variables):
        return plan
    refuse_broad_ids(hass, variables)
    named = tuple(dict.fromkeys(variables_name(hass, variables)))
    judged = judge_named(hass, named)
    reasons = tuple(dict.fromkeys((*plan.reasons, *judged.reasons)))
    return replace(
        plan,
        action=ActionClass.SENSITIVE if reasons else plan.action,
        targets=tuple(dict.fromkeys((*plan.targets, *named))),
        reasons=reasons,
        sensitive=tuple(dict.fromkeys((*plan.sensitive, *(named if judged.reasons else ())))),
        reach=plan.reach + judged.reach,
    )


def already_so(hass: HomeAssistant, plan: Plan) -> tuple[str, ...]:
    """Return the subjects that are already as all effects of a plan request; none if it starts something."""
    if plan.inside:
        return ()
    found: dict[str, bool] = {}
    for effect in plan.effects:
        for subject in effect.subjects:
            found[subject] = found.get(subject, True) and KINDS[effect.kind].is_so(hass, effect, subject) is True
    return tuple(subject for subject, is_so in found.items() if is_so)


def already_result(hass: HomeAssistant, plan: Plan) -> JsonValueType:
    """Return the result of a plan of which nothing had to be done."""
    executed = _by_place(plan.effects)
    result = _result(hass, executed, {}, {subject: Outcome.REACHED for _, subject in executed})
    return {**result, "note": ALREADY} if isinstance(result, dict) else result


def _captured(hass: HomeAssistant, effects: Iterable[Effect]) -> dict[str, dict[str, Before]]:
    """Return what kinds capture now of the subjects of effects, by kind and subject, unless their states tell it."""
    found: dict[str, dict[str, Before]] = {}
    for effect in effects:
        kind = KINDS[effect.kind]
        for subject in () if kind.changes_states else effect.subjects:
            if (before := captured(kind, hass, effect, subject)) is not None:
                found.setdefault(effect.kind, {}).setdefault(subject, before)
    return found


def told_by_kind[Told](asking: Callable[[], Told], otherwise: Told) -> Told:
    """Return what a kind tells of effects that were executed: an error of it must not keep them from being noted."""
    try:
        return asking()
    except Exception as err:  # noqa: BLE001 - kinds ask registries and files
        LOGGER.error("What became of an action cannot be told: %s", where_of(err))
        return otherwise


def _by_place(effects: Iterable[Effect]) -> dict[Place, list[Effect]]:
    """Return the effects on each subject, kind by kind."""
    found: dict[Place, list[Effect]] = {}
    for effect in effects:
        for subject in effect.subjects:
            found.setdefault((effect.kind, subject), []).append(effect)
    return found


async def async_execute(hass: HomeAssistant, effects: Sequence[Effect], context: Context) -> PendingResult:
    """Execute effects in their order; the result has the new states, their outcomes, and what failed with which error.

    Each subject has a call and an error of its own. All subjects of an effect are begun at once, but in slices: there may
    be thousands. Raises `ToolRefusal` if nothing worked.
    """
    failed: dict[Place, str] = {}
    held_back: list[DidNotRun] = []
    done: dict[Place, list[str]] = {}

    async def execute(effect: Effect, subject: str) -> None:
        place = (effect.kind, subject)
        try:
            await KINDS[effect.kind].async_execute(hass, effect, subject, context)
        except (HomeAssistantError, probatio.Invalid) as err:
            error = str(err) or type(err).__name__
            held_back.extend([err] if isinstance(err, DidNotRun) else ())
        except asyncio.CancelledError as err:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            error = type(err).__name__  # of a request that the integration had made: only that is over
        except Exception as err:  # noqa: BLE001 - one broken device does not hide what the others did
            LOGGER.error("%s of %s failed unexpectedly: %s", effect.action, subject, where_of(err))
            error = type(err).__name__
        else:
            done.setdefault(place, []).append(effect.service)
            return
        before = f" ({', '.join(done[place])} was done before)" if place in done else ""
        failed[place] = f"{error}{before}"

    for effect in effects:
        waiting = [subject for subject in effect.subjects if (effect.kind, subject) not in failed]
        if len(waiting) == 1:
            await execute(effect, waiting[0])
            continue
        async with asyncio.TaskGroup() as group:
            async for subject in in_slices(waiting):  # begun here, so that their first steps count for the slice
                group.create_task(execute(effect, subject), eager_start=True)
    executed = _by_place(effects)
    if len(failed) == len(executed):
        errors = [f"{_label(executed, place)}: {error}" for place, error in failed.items()]
        if len(errors) > MAX_RESULTS:
            errors[MAX_RESULTS:] = [f"{len(errors) - MAX_RESULTS} more failed"]
        told = "; ".join(errors)
        raise DidNotRun.of(told, held_back) if 0 < len(held_back) == len(failed) else ToolRefusal(told)
    return PendingResult(
        render=partial(_result, hass, executed, failed),
        failed=dict.fromkeys(subject for _, subject in failed),
        did_not_run=DidNotRun.of("", held_back) if held_back else None,
        fails_in_own_words=len(held_back) == len(failed),
    )


def _label(executed: Mapping[Place, Sequence[Effect]], place: Place) -> str:
    effect = executed[place][0]
    return KINDS[effect.kind].label(effect, place[1])


def _result(
    hass: HomeAssistant,
    executed: Mapping[Place, Sequence[Effect]],
    failed: Mapping[Place, str],
    outcomes: Mapping[str, Outcome],
) -> JsonValueType:
    """Return the rows of the subjects that effects were executed on, and the errors of those that failed."""
    worked = [place for place in executed if place not in failed]
    rows: list[JsonValueType] = [
        KINDS[executed[place][0].kind].row(hass, executed[place], place[1], outcomes.get(place[1], Outcome.DONE))
        for place in worked[:MAX_RESULTS]
    ]
    if len(executed) == 1:
        return rows[0]
    result: JsonObjectType = {"count": len(worked), "entities": rows}
    if len(worked) > MAX_RESULTS:
        result["note"] = f"{len(worked) - MAX_RESULTS} more were changed and are not listed."
    if failed:
        told = [*failed.items()][:MAX_RESULTS]
        result["failed"] = [{"entity_id": _label(executed, place), "error": error} for place, error in told]
    if len(failed) > MAX_RESULTS:
        result["failed_count"] = len(failed)
    return result


DEFAULT_SECONDS = 2
RESERVE = 0.5  # seconds of a tool's time that are left when waiting ends
HAPPENED = frozenset({Outcome.REACHED, Outcome.CHANGED, Outcome.DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """A write that is over."""

    turn: Turn
    tool_name: str
    plan: Plan
    before: Mapping[str, State]  # the states of the entities that it concerned, before
    captured: Mapping[str, Mapping[str, Before]] = field(default_factory=dict)
    """By kind and subject, what kinds captured besides."""
    left: Mapping[str, Mapping[str, Before]] = field(default_factory=dict)  # the same afterwards
    outcomes: Mapping[str, Outcome]
    success: bool  # the tool did not raise
    following: Following | None = None
    """Watches what it sets off, when that is not what it is about: a scene, a script, an automation that is run."""


type NoteWrite = Callable[[WriteRecord], None]
"""Takes note of a write."""


class EffectTool(HomeAgentTool):
    """A tool that does what its plan lists, and no more."""

    is_its_effects = True

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> PendingResult:
        """Execute the effects; the result tells the states they led to. Raises when not one of them worked."""
        return await async_execute(hass, plan.effects, turn.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How the writes of an entry are verified and where they are noted."""

    seconds: float = DEFAULT_SECONDS  # the time that entities have to follow; 0 turns verification off
    note: NoteWrite | None = None
    stored: Callable[[], Awaitable[object]] | None = None  # returns when what was noted is on the disk

    async def async_stored(self) -> None:
        """Return when what was noted is on the disk: a person is told of it next."""
        if self.stored is not None:
            await self.stored()

    async def async_run(
        self, hass: HomeAssistant, turn: Turn, tool: HomeAgentTool, args: dict[str, Any], plan: Plan
    ) -> JsonValueType:
        """Return the result of a tool whose plan may happen; of a write, with its outcomes. Raises what the tool raises."""
        if plan.action is ActionClass.READ:
            try:
                result = await tool.run(hass, args, plan, turn)
            except HomeAssistantError as err:
                if not (isinstance(err, HomeAgentError) or tool.fails_in_own_words):
                    turn.record.taints.add(tool.name)
                raise
            return result.render({}) if isinstance(result, PendingResult) else result
        await foreign_texts_of(hass).async_note(turn, args, plan)
        write = Write(hass, self, turn, tool.stands_for or tool.name, plan)
        try:
            result = await tool.run(hass, args, plan, turn)
        except BaseException as err:  # a cancelled call may have switched something, too
            write.fail()
            if not (tool.fails_in_own_words or isinstance(err, DidNotRun) or fails_in_own_words(hass, plan.targets)):
                turn.record.taints.add(tool.name)  # why it failed is told in the words of a device or its server
            raise
        if isinstance(result, PendingResult):
            if not result.fails_in_own_words and result.failed and not fails_in_own_words(hass, result.failed):
                turn.record.taints.add(tool.name)
            turn.record.did_not_run = result.did_not_run
            return result.render(await write.async_outcomes(result.failed))
        entity_ids = {entity_id for effect in plan.effects for entity_id in effect.entity_ids}
        found = await write.async_outcomes()
        outcomes = {subject: outcome for subject, outcome in found.items() if subject in entity_ids}
        if not outcomes or not (result is None or isinstance(result, dict)):
            return result
        return {"outcome": {entity_id: outcome.value for entity_id, outcome in outcomes.items()}, **(result or {})}


class Write:
    """One write while it happens."""

    def __init__(self, hass: HomeAssistant, writes: Writes, turn: Turn, tool_name: str, plan: Plan) -> None:
        """Capture what is so now; to be made right before the first effect is executed."""
        if turn.record.planned is not None:  # the policy has let something through that was said for later
            raise ToolError("wish_unable")
        self._hass = hass
        self._writes = writes
        self._turn = turn
        self._tool_name = tool_name
        self._plan = plan
        self.targets = plan.targets
        self._began = time.monotonic()
        self._verification = Verification(hass, plan.effects)
        self._captured = _captured(hass, plan.effects)
        runners = [item for effect in plan.effects for item in KINDS[effect.kind].started(effect)]
        shows = not plan.effects or any(KINDS[effect.kind].changes_states for effect in plan.effects)
        targets = plan.targets if shows else ()  # else their states do not change
        concerned = dict.fromkeys((*targets, *(item for effect in plan.effects for item in effect.entity_ids)))
        self._before = {item: state for item in concerned if (state := hass.states.get(item)) is not None}
        runners += [item for item in concerned if item.partition(".")[0] in RUNNERS]
        watched = bool(runners) and writes.note is not None
        self._following = Following(hass, turn.context, concerned, runners, turn.within) if watched else None

    @callback
    def drop(self) -> None:
        """Forget it: nothing was done."""
        if self._following is not None:
            self._following.end()

    async def async_outcomes(self, failed: Collection[str] = ()) -> dict[str, Outcome]:
        """Return what became of each subject once that is clear, and end a write that worked."""
        left = self._turn.profile.tool_timeout - (time.monotonic() - self._began) - RESERVE
        seconds = min(self._writes.seconds, left)
        if seconds > 0:
            await self._verification.async_settle(seconds, failed)
        outcomes = self._verification.outcomes(failed, waited=seconds > 0)
        record = self._turn.record
        record.acted = record.acted or not outcomes or not HAPPENED.isdisjoint(outcomes.values())
        self._end(outcomes, success=True)
        await self._writes.async_stored()
        return outcomes

    @callback
    def fail(self) -> None:
        """End a write that raised. Outcomes are kept as far as they show."""
        outcomes = {
            subject: Outcome.FAILED if outcome is Outcome.DONE else outcome
            for subject, outcome in self._verification.outcomes(waited=False).items()
        }
        self._turn.record.acted = self._turn.record.acted or Outcome.CHANGED in outcomes.values()
        self._end(outcomes, success=False)

    def _end(self, outcomes: Mapping[str, Outcome], *, success: bool) -> None:
        entity_ids = {item for effect in self._plan.effects for item in effect.entity_ids}
        self._turn.record.written = outcomes
        self._turn.record.changed |= {key for key, outcome in outcomes.items() if outcome in HAPPENED}
        if success and not outcomes:
            self._turn.record.changed.add("")
        self._turn.record.outcomes.update({item: outcome for item, outcome in outcomes.items() if item in entity_ids})
        if self._writes.note is not None:
            self._writes.note(
                WriteRecord(
                    turn=self._turn,
                    tool_name=self._tool_name,
                    plan=self._plan,
                    before=self._before,
                    captured=self._captured,
                    left=told_by_kind(partial(_captured, self._hass, self._plan.effects), {}),
                    outcomes=outcomes,
                    success=success,
                    following=self._following,
                )
            )


_WORST_FIRST = (Outcome.FAILED, Outcome.UNAVAILABLE, Outcome.UNCHANGED, Outcome.CHANGED, Outcome.DONE, Outcome.REACHED)


class Verification:
    """The subjects of some effects since just before they were executed, and what became of them."""

    def __init__(self, hass: HomeAssistant, effects: Iterable[Effect]) -> None:
        """Take the effects; to be made before they are executed."""
        by_kind: dict[str, dict[str, list[Effect]]] = {}
        for (kind, subject), found in _by_place(effects).items():
            by_kind.setdefault(kind, {})[subject] = found
        self._watches = [KINDS[kind].watch(hass, subjects) for kind, subjects in by_kind.items()]

    async def async_settle(self, seconds: float, failed: Collection[str] = ()) -> None:
        """Return when there is nothing to wait for any more, after `seconds` at the latest."""
        waiting: set[tuple[EffectWatch[Any], str]] = set()
        stops: list[CALLBACK_TYPE] = []
        arrived = asyncio.Event()

        @callback
        def look(watch: EffectWatch[Any], subject: str) -> None:
            if told_by_kind(partial(watch.is_settled, subject), True):
                waiting.discard((watch, subject))
            if not waiting:
                arrived.set()

        for watch in self._watches:
            waits = (item for item in watch.subjects if item not in failed)
            found = [item for item in waits if not told_by_kind(partial(watch.is_settled, item), True)]
            if found and (stop := watch.listen(found, partial(look, watch))) is not None:
                waiting.update((watch, item) for item in found)
                stops.append(stop)
        if not waiting:
            return
        try:
            async with asyncio.timeout(seconds):
                await arrived.wait()
        except TimeoutError:
            pass  # what is true now is told
        finally:
            for stop in stops:
                stop()

    def is_back(self, subject: str, outcome: Outcome) -> bool:
        """Return whether a subject with this outcome is as requested, or on its way there."""
        return all(watch.is_back(subject, outcome) for watch in self._watches if subject in watch.subjects)

    def outcomes(self, failed: Collection[str] = (), *, waited: bool) -> dict[str, Outcome]:
        """Return what is true now of each subject. Without a wait nothing counts as unchanged: it may only be late."""
        found: dict[str, Outcome] = {}
        for watch in self._watches:
            for subject in watch.subjects:
                telling = partial(watch.outcome, subject, waited=waited)
                outcome = Outcome.FAILED if subject in failed else told_by_kind(telling, Outcome.DONE)
                found[subject] = min(outcome, found.get(subject, outcome), key=_WORST_FIRST.index)
        return found
