"""Undo: the way back from some actions of the journal, the tool `ha_undo` that takes it, and the answer to "undo that".

The way back is a list of effects, under the same policy as any others.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast, override

from homeassistant.auth.models import User
from homeassistant.components.conversation import ChatLog
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.exposure import async_check_permission, is_exposed
from ..home.wording import async_more
from ..support.errors import ToolError
from ..support.localize import async_error_text, async_text
from ..turn import events
from ..turn.plan import EARLIER, ActionClass, Effect, Plan
from ..turn.turn import Answer, Outcome, Turn
from .effects import KINDS
from .effects.effect import Fate, Moment, SubjectChange, Undoing, WayBack
from .following import async_still, is_running
from .journal import ActionJournal, JournalEntry, Sees
from .policy import Policy
from .tool import HomeAgentTool, PendingResult
from .write import MAX_RESULTS, Verification, async_execute, async_plan_of, told_by_kind

NAME = "ha_undo"
PATIENCE = 5.0
"""Seconds of a turn in which a script that still runs is waited for."""
MAX_NAMES = 20  # of one sentence
_UNCONFIRMED = (Outcome.UNCHANGED, Outcome.UNAVAILABLE)


@dataclass(slots=True, kw_only=True)
class Reversal:
    """The way back from some actions."""

    actions: Sequence[JournalEntry]
    effects: list[Effect] = field(default_factory=list)
    told: dict[Fate, list[str]] = field(default_factory=lambda: {fate: [] for fate in Fate})
    """By fate, what subjects are called; as impossible also the words of actions that touched none."""
    left: set[str] = field(default_factory=set)
    """Subjects that stay as they are, although they are not as they were."""
    running: list[str] = field(default_factory=list)
    """Scripts and automations that still run, or the words of who started them."""
    unseen: list[str] = field(default_factory=list)
    """Scripts and automations that ran longer than they were watched: what they did then is not known."""

    def settle(self, subjects: Collection[str]) -> None:
        """Count effects whose subjects are all among these as not needed: others have put them back."""
        done = [effect for effect in self.effects if {*effect.subjects} <= {*subjects}]
        self.effects = [effect for effect in self.effects if not {*effect.subjects} <= {*subjects}]
        labels = (KINDS[effect.kind].label(effect, item) for effect in done for item in effect.subjects)
        self.told[Fate.ALREADY] = [*dict.fromkeys((*self.told[Fate.ALREADY], *labels))]

    def note(self, hass: HomeAssistant, journal: ActionJournal, left: Collection[str]) -> None:
        """Tell the journal which subjects of each action are back: all but those `left`."""
        for action in self.actions:
            touched = action.touched
            back = [item for item in touched if item not in left]
            known = not (action.left_out or action.hidden or action.unseen) and (touched or not action.success)
            runs = any(is_running(hass.states.get(item)) for item in action.runners)
            complete = bool(known) and len(back) == len(touched) and not runs
            journal.async_mark_tried(action, back, complete=complete)

    def as_result(
        self, hass: HomeAssistant, outcomes: Mapping[str, Outcome], failed: Collection[str] = ()
    ) -> JsonObjectType:
        """Return the result of the tool: what became of each subject."""
        undone, shown = self.undone(outcomes), {item for effect in self.effects for item in effect.entity_ids}
        worked = {id(effect) for effect in undone}
        others = {item for effect in self.effects if id(effect) not in worked for item in effect.subjects} - shown
        rows: list[JsonValueType] = [
            {"entity_id": item, "new_state": state.state, "outcome": outcome.value}
            for item, outcome in outcomes.items()
            if item not in failed and item in shown and (state := hass.states.get(item)) is not None
        ]
        result: JsonObjectType = {"restored": rows}
        if undone:
            result["undone"] = [KINDS[effect.kind].told(hass, effect) for effect in undone[:MAX_RESULTS]]
        if len(undone) > MAX_RESULTS:
            result["undone_count"] = len(undone)
        for key, names in (
            ("already", self.told[Fate.ALREADY]),
            ("changed_since", [*self.told[Fate.CHANGED], *self.meanwhile(outcomes)]),
            ("not_possible", self.told[Fate.IMPOSSIBLE]),
            ("failed", self._labels({*failed, *others.intersection(outcomes)})),
            ("running", self.running),
            ("not_watched", self.unseen),
        ):
            if names:
                result[key] = [*names]
        for key, count in (
            ("left_out", sum(action.left_out for action in self.actions)),
            ("not_exposed", len(self.told[Fate.HIDDEN]) + sum(action.hidden for action in self.actions)),
        ):
            if count:
                result[key] = count
        return result

    def undone(self, outcomes: Mapping[str, Outcome]) -> list[Effect]:
        """Return the effects that were executed and that no state shows."""
        worked = (Outcome.REACHED, Outcome.DONE)
        return [
            effect
            for effect in self.effects
            if not KINDS[effect.kind].changes_states and all(outcomes.get(item) in worked for item in effect.subjects)
        ]

    def meanwhile(self, outcomes: Mapping[str, Outcome]) -> list[str]:
        """Return what changed between the plan and its execution: nothing was decided about it."""
        return self._labels({item for effect in self.effects for item in effect.subjects}.difference(outcomes))

    def _labels(self, subjects: Collection[str]) -> list[str]:
        """Return what subjects of the effects are called."""
        found = ((effect, item) for effect in self.effects for item in effect.subjects if item in subjects)
        return [*dict.fromkeys(KINDS[effect.kind].label(effect, item) for effect, item in found)]


def reversal_of(
    hass: HomeAssistant, actions: Sequence[JournalEntry], user: User | None = None, *, force: bool = False
) -> Reversal:
    """Return the way back from some actions, newest first, as far as the user may. `force`: also from later changes."""
    way = Reversal(actions=actions)
    way.told[Fate.IMPOSSIBLE] += [
        action.subject or action.words or action.tool for action in actions if action.success and not action.touched
    ]
    for action in actions:
        # scripts and automations that the user may not know of are told by the words of who started them
        running = [item for item in action.runners if is_running(hass.states.get(item))]
        for found, runners in ((way.running, running), (way.unseen, action.runners if action.unseen else ())):
            known = [item for item in runners if item in action.before or is_exposed(hass, item, user)]
            found += known or ([action.words or action.tool] if runners else [])
    touched: dict[str, dict[str, list[SubjectChange]]] = {}
    words: dict[tuple[str, str], str] = {}
    for action in actions:
        restored = frozenset(action.restored)
        for kind, subject, done in action.done():
            if subject not in restored:
                touched.setdefault(kind, {}).setdefault(subject, []).append(done)
                words[kind, subject] = action.words or action.tool
    for kind, subjects in touched.items():
        asked = Undoing(hass=hass, user=user, force=force, subjects=subjects.keys())
        for subject, found_done in subjects.items():
            cannot: WayBack | None = WayBack(fate=Fate.IMPOSSIBLE, label=subject)
            if (back := told_by_kind(partial(KINDS[kind].way_back, asked, subject, found_done), cannot)) is None:
                continue
            way.effects += back.effects
            if back.fate is not Fate.BACK:
                way.told[back.fate].append(back.label or words[kind, subject])
            if back.fate in (Fate.CHANGED, Fate.IMPOSSIBLE, Fate.HIDDEN):
                way.left.add(subject)
    return way


class HaUndo(HomeAgentTool):
    """Undoes the last request of the caller, or one action."""

    name = NAME
    title_key = "tool_ha_undo"
    example = "Undo that."
    description = (
        "Take back what was done last for this user: every change of the last request is restored as it was before."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema({probatio.Optional("action_id"): str}, extra=probatio.REMOVE_EXTRA)
    wire_parameters: JsonObjectType = {"type": "object", "properties": {}}  # noqa: RUF012 - never changed

    def __init__(
        self, journal: ActionJournal, *, force: bool = False, sees: Sees | None = None, idle: str | None = None
    ) -> None:
        """Take the journal; `force` also restores what was changed since, `sees` replaces what the turn may know of.

        `idle` is the id of a later request that did nothing: what was done before it is asked about, as that may not be meant.
        """
        self._journal = journal
        self._force = force
        self._sees = sees
        self._idle = idle
        self.undone: Sequence[Effect] = ()
        """What the last run did that no state shows, for an answer in words."""

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the effects that restore; a running script is given a moment. Raises `ToolError` if nothing can be undone."""
        way = self.way(hass, args, turn)
        if way.running and (left := PATIENCE - turn.record.duration_ms / 1000) > 0:
            await async_still(hass, [item for action in way.actions for item in action.runners], left)
            way = self.way(hass, args, turn)
        if not way.effects:
            return Plan(action=ActionClass.READ)
        plan = await async_plan_of(hass, way.effects)
        if self._idle is None or not turn.answerable or any(action.turn_id == self._idle for action in way.actions):
            return plan
        done = [effect for action in reversed(way.actions) for effect in action.effects]
        self.takes_back = [
            effect for effect in done if all(is_exposed(hass, item, turn.user) for item in effect.entity_ids)
        ]
        return replace(plan, insists=True, reasons=(*plan.reasons, EARLIER))

    @override
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        """Restore, say what became of each entity, and mark as undone what is; the rest can be tried again."""
        way = self.way(hass, args, turn)
        if not plan.effects:
            way.note(hass, self._journal, {*way.left, *(item for effect in way.effects for item in effect.subjects)})
            return way.as_result(hass, {})
        verification = Verification(hass, plan.effects)
        pending = await async_execute(hass, plan.effects, turn.context)

        def render(outcomes: Mapping[str, Outcome]) -> JsonValueType:
            back = {item for item, outcome in outcomes.items() if verification.is_back(item, outcome)}
            meant = {*outcomes, *(item for effect in way.effects for item in effect.subjects)}
            way.note(hass, self._journal, {*way.left, *meant.difference(back), *pending.failed})
            restored = dict.fromkeys(item for effect in plan.effects for item in effect.entity_ids if item in back)
            events.async_action_undone(hass, turn, [action.id for action in way.actions], [*restored])
            self.undone = way.undone(outcomes)
            return way.as_result(hass, outcomes, pending.failed)

        return PendingResult(render=render, failed=pending.failed)

    @override
    def already(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Say what is back already, and mark it as undone: said again, it means what was done before that."""
        way = self.way(hass, args, turn)
        way.settle({subject for effect in plan.effects for subject in effect.subjects})
        way.note(hass, self._journal, {*way.left, *(item for effect in way.effects for item in effect.subjects)})
        return way.as_result(hass, {})

    def way(self, hass: HomeAssistant, args: Mapping[str, Any], turn: Turn) -> Reversal:
        """Return the way back from one action, or from the last request. Raises `ToolError` if nothing can be undone."""
        sees, action_id = self._sees or seen_by(turn), args.get("action_id")
        found = [item for item in self._journal.newest_first(sees) if item.undone is None and item.tool != NAME]
        if action_id is not None:
            if not (found := [item for item in found if item.id == action_id]):
                raise ToolError("undo_nothing")
            return reversal_of(hass, found, turn.user, force=self._force)
        requests: dict[str, list[JournalEntry]] = {}
        for item in found:
            requests.setdefault(item.turn_id, []).append(item)
        for actions in requests.values():
            if any(item.happened for item in actions):
                way = reversal_of(hass, actions, turn.user, force=self._force)
                if way.effects or any(item.tried is None for item in actions):
                    return way
        raise ToolError("undo_nothing")


def seen_by(turn: Turn) -> Sees:
    """Return what "undo that" can mean: the actions of the user, or without a known user of the conversation or device."""
    if (user_id := turn.context.user_id) is not None:
        return lambda action: action.user_id == user_id
    device_id = turn.device_id
    return lambda action: (
        action.user_id is None
        and (
            action.conversation_id == turn.conversation_id or (device_id is not None and action.device_id == device_id)
        )
    )


async def async_answer_undo(
    hass: HomeAssistant, policy: Policy, journal: ActionJournal, turn: Turn, chat_log: ChatLog, idle: str | None
) -> Answer:
    """Undo the last request as a call that code has made, and return a sentence for each entity in the language of the turn.

    `idle` is the id of a request that came right before and did nothing.
    """
    tool = HaUndo(journal, idle=idle)
    try:
        plan = await tool.plan(hass, {}, turn)
        await async_check_permission(hass, turn.user, plan)
    except HomeAssistantError as err:
        if (placeholders := err.translation_placeholders) and "target" in placeholders:
            names = _names(hass, placeholders["target"].split(", "))
            err.translation_placeholders = {**placeholders, "target": names}
        return Answer(text=await async_error_text(hass, turn.speaks, err), done=False)
    result = await policy.async_call_by_code(turn, tool, {}, chat_log, known=turn.profile.native_tools)
    if result is None:
        return Answer(needs_confirmation=True)
    if result.error:
        return Answer(text=await async_text(hass, turn.speaks, "undo_refused"), done=False)
    undone = cast(Mapping[str, Any], result.data["result"])
    done = "failed" not in undone and "running" not in undone
    return Answer(text=await _async_words(hass, turn.speaks, undone, tool.undone), done=done)


async def _async_words(hass: HomeAssistant, language: str, result: Mapping[str, Any], effects: Sequence[Effect]) -> str:
    """Return the result of `ha_undo` in words."""
    rows = result["restored"]
    unconfirmed = [row["entity_id"] for row in rows if row["outcome"] in _UNCONFIRMED]
    already = result.get("already", ())
    told = [await KINDS[item.kind].async_describe(hass, language, item, Moment.UNDONE) for item in effects[:MAX_NAMES]]
    sentences = told if len(told) == len(effects) else [await async_more(hass, language, told, len(effects))]
    sentences += [
        await async_text(hass, language, key, target=await _async_names(hass, language, entity_ids))
        for key, entity_ids in (
            ("undo_restored", [row["entity_id"] for row in rows if row["outcome"] not in _UNCONFIRMED]),
            ("undo_already" if len(already) == 1 else "undo_already_several", already),
            ("undo_unconfirmed", unconfirmed),
            ("undo_failed", result.get("failed")),
            ("undo_changed", result.get("changed_since")),
            ("undo_impossible", result.get("not_possible")),
            ("undo_running", result.get("running")),
            ("undo_not_watched", result.get("not_watched")),
        )
        if entity_ids
    ]
    for key, count in (("undo_left_out", result.get("left_out")), ("undo_not_exposed", result.get("not_exposed"))):
        if count:
            sentences.append(await async_text(hass, language, key, count=str(count)))
    if unconfirmed or "failed" in result or "running" in result:
        sentences.append(await async_text(hass, language, "undo_again"))
    return " ".join(filter(None, sentences))


async def _async_names(hass: HomeAssistant, language: str, entity_ids: Sequence[str]) -> str:
    """Return what entities are called; of many how many more there are."""
    names = _names(hass, entity_ids[:MAX_NAMES])
    if (more := len(entity_ids) - MAX_NAMES) <= 0:
        return names
    return await async_text(hass, language, "undo_more", target=names, count=str(more))


def _names(hass: HomeAssistant, entity_ids: Iterable[str]) -> str:
    return ", ".join(state.name if (state := hass.states.get(item)) else item for item in entity_ids)
