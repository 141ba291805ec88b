"""Undo: the way back from some actions of the journal, the tool `ha_undo` that takes it, and the answer to "undo that".

What is restored is restored by effects, under the same policy as any others.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, override

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.components.conversation import ChatLog
from homeassistant.const import ATTR_ENTITY_ID, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.actions import Expectation
from ..home.domain import Snapshot
from ..home.domains import DOMAINS, RUNNERS, UNKNOWN
from ..home.domains.light import COLOURS
from ..home.exposure import async_check_permission, is_exposed
from ..home.states import snapshot
from ..home.taught_names import reversed_change, title_of
from ..home.tolerance import STATE
from ..settings.profile import Profile
from ..support.errors import ToolError
from ..support.localize import async_error_text, async_text
from ..turn import events
from ..turn.plan import ADD_NAME, REMOVE_NAME, WITHDRAW_NAME, ActionClass, Effect, NameChange, Plan
from ..turn.turn import Answer, Outcome, Turn
from .following import async_still, is_running
from .journal import ActionJournal, JournalEntry, Sees
from .policy import Policy
from .tool import HomeAgentTool, PendingResult
from .write import KINDS, SERVICE_CALL, Verification, async_execute, async_plan_of

NAME = "ha_undo"
_COLOUR = frozenset({*COLOURS, "color_mode"})
PATIENCE = 5.0
"""Seconds of a turn in which a script that still runs is waited for."""
MAX_NAMES = 20  # of one sentence
_CHANGES = {ADD_NAME: "undo_add_name", REMOVE_NAME: "undo_remove_name", WITHDRAW_NAME: "undo_withdraw_name"}
_UNCONFIRMED = (Outcome.UNCHANGED, Outcome.UNAVAILABLE)


@dataclass(slots=True, kw_only=True)
class Reversal:
    """The way back from some actions."""

    actions: Sequence[JournalEntry]
    effects: list[Effect] = field(default_factory=list)
    already: list[str] = field(default_factory=list)
    """Entities that are as they were."""
    changed: list[str] = field(default_factory=list)
    """Entities that were changed since, not by the action: they are left alone."""
    impossible: list[str] = field(default_factory=list)
    """Entities that cannot be restored, and the words of actions that touched none."""
    running: list[str] = field(default_factory=list)
    """Scripts and automations that still run, or the words of who started them."""
    unseen: list[str] = field(default_factory=list)
    """Scripts and automations that ran longer than they were watched: what they did then is not known."""
    hidden: set[str] = field(default_factory=set)
    """Entities that a scene or a script changed and of which nothing may be told."""

    @property
    def not_exposed(self) -> int:
        """How many entities were changed of which nothing may be told."""
        return len(self.hidden) + sum(action.hidden for action in self.actions)

    @property
    def not_kept(self) -> int:
        """How many entities were changed beyond those that the journal keeps."""
        return sum(action.left_out for action in self.actions)

    def note(self, hass: HomeAssistant, journal: ActionJournal, left: Collection[str]) -> None:
        """Have the journal know what is back of each action; `left` is what is not."""
        for action in self.actions:
            back = [item for item in action.touched if item not in left]
            known = not (action.left_out or action.hidden or action.unseen) and (action.touched or not action.success)
            runs = any(is_running(hass.states.get(item)) for item in action.runners)
            complete = bool(known) and len(back) == len(action.touched) and not runs
            journal.async_mark_tried(action, back, complete=complete)

    def as_result(
        self, hass: HomeAssistant, outcomes: Mapping[str, Outcome], failed: Iterable[str] = ()
    ) -> JsonObjectType:
        """Return the result of the tool: what became of each entity."""
        failed = list(failed)
        rows: list[JsonValueType] = [
            {"entity_id": item, "new_state": state.state, "outcome": outcome.value}
            for item, outcome in outcomes.items()
            if item not in failed and (state := hass.states.get(item)) is not None
        ]
        result: JsonObjectType = {"restored": rows}
        changes: list[JsonValueType] = [
            {"target": target, "name": change.name, "change": change.service}
            for change in self.effects
            if isinstance(change, NameChange) and change.about not in failed
            if (target := title_of(hass, change.target) or change.target)
        ]
        if changes:
            result["names"] = changes
        for key, names in (
            ("already", self.already),
            ("changed_since", [*self.changed, *self.meanwhile(outcomes)]),
            ("not_possible", self.impossible),
            ("failed", failed),
            ("running", self.running),
            ("not_watched", self.unseen),
        ):
            if names:
                result[key] = [*names]
        for key, count in (("left_out", self.not_kept), ("not_exposed", self.not_exposed)):
            if count:
                result[key] = count
        return result

    def meanwhile(self, outcomes: Mapping[str, Outcome]) -> list[str]:
        """Return what changed between the plan and its execution: nothing was decided about it."""
        return [item for effect in self.effects for item in effect.entity_ids if item not in outcomes]


def reversal_of(
    hass: HomeAssistant, actions: Sequence[JournalEntry], user: User | None = None, *, force: bool = False
) -> Reversal:
    """Return the way back from some actions, newest first. With `force`, what was changed since is restored as well.

    What the user may control no more cannot be restored; the rest can. A group is left to its members that are restored, a scene
    or a script to what it changed.
    """
    way = Reversal(actions=actions)
    way.impossible += [
        action.subject or action.words or action.tool for action in actions if action.success and not action.touched
    ]
    _name_runners(hass, way, user)
    for action in actions:
        for change in action.names if action.success else ():
            if change.about not in action.restored:
                back = reversed_change(hass, change)
                way.effects += back
                way.already += [] if back else [change.about]
    touched: dict[str, list[JournalEntry]] = {}
    for action in reversed(actions):
        for entity_id in action.before:
            if entity_id not in action.restored:
                touched.setdefault(entity_id, []).insert(0, action)
    for entity_id, about in touched.items():
        now = hass.states.get(entity_id)
        if entity_id.partition(".")[0] in RUNNERS or _only_ran(entity_id, about):
            if not is_running(now) and not any(action.set_off or action.hidden for action in about):
                way.impossible.append(entity_id)
            continue
        members = now.attributes.get(ATTR_ENTITY_ID) if now else None
        if not isinstance(members, (list, tuple, set)) or touched.keys().isdisjoint(members):
            _find_way(hass, way, entity_id, about, user, force=force)
    return way


def _only_ran(entity_id: str, about: Iterable[JournalEntry]) -> bool:
    """Return whether actions had an entity do what is written in it, and left itself as it is: an automation."""
    effects = [effect for action in about for effect in action.effects if entity_id in effect.entity_ids]
    return bool(effects) and all(effect.service in DOMAINS.get(effect.domain, UNKNOWN).runs for effect in effects)


def _name_runners(hass: HomeAssistant, way: Reversal, user: User | None) -> None:
    """Note which scripts and automations still run, and which ran longer than they were watched; by the words of who started those that are not told."""
    for action in way.actions:
        running = [item for item in action.runners if is_running(hass.states.get(item))]
        for found, runners in ((way.running, running), (way.unseen, action.runners if action.unseen else ())):
            known = [item for item in runners if item in action.before or is_exposed(hass, item, user)]
            found += known or ([action.words or action.tool] if runners else [])


def _find_way(
    hass: HomeAssistant, way: Reversal, entity_id: str, about: Sequence[JournalEntry], user: User | None, *, force: bool
) -> None:
    """Note how one entity is brought back, or why it is not."""
    now, trace = hass.states.get(entity_id), _trace(entity_id, about)
    exposed = is_exposed(hass, entity_id)
    named = any(entity_id not in action.set_off for action in about)  # whoever asked knows of it
    if not named and not is_exposed(hass, entity_id, user):
        way.hidden.add(entity_id)
    elif user is not None and not user.permissions.check_entity(entity_id, POLICY_CONTROL):
        way.impossible.append(entity_id)
    elif trace.was_so:
        way.already.append(entity_id)
    elif (
        trace.before.state in (STATE_UNAVAILABLE, STATE_UNKNOWN)
        or not (trace.concerned and exposed)
        or now is None
        or now.state == STATE_UNAVAILABLE
        or (back := SERVICE_CALL.restore(trace.before, now, trace.concerned)) is None
    ):
        way.impossible.append(entity_id)
    elif not back:
        way.already.append(entity_id)
    elif not force and trace.was_changed_since(now):
        way.changed.append(entity_id)
    else:
        way.effects += back


@dataclass(frozen=True, slots=True)
class _Trace:
    """What some actions, newest first, did with one entity."""

    before: Snapshot
    after: Snapshot | None
    expected: Expectation | None
    concerned: frozenset[str]
    """Aspects that the actions were about, or that moved with them."""
    was_so: bool
    """It was so already: nothing was done, and nothing is to be undone."""

    def was_changed_since(self, now: State) -> bool:
        """Return whether the entity is neither as the actions left it nor as they wanted it.

        A shutter that has arrived meanwhile, or a light that was slow, is as it was wanted.
        """
        if self.after is None:
            return False
        different = {
            name
            for name in _differences(self.after, snapshot(now)) & self.concerned
            if name == STATE or (now.attributes.get(name) is not None and self.after.attributes.get(name) is not None)
        }
        if not different or self.expected is None:
            return bool(different)
        start = self.before.as_state(now.entity_id)
        if self.expected.reached(start, now) is not True and not self.expected.under_way(now):
            return True
        return not different <= _covered(self.expected)


def _trace(entity_id: str, about: Sequence[JournalEntry]) -> _Trace:
    """Return what actions that are about an entity, newest first, did with it."""
    before = about[-1].before[entity_id]
    after = about[0].after.get(entity_id)
    expected: Expectation | None = None
    for action in reversed(about):
        start = action.before[entity_id].as_state(entity_id)
        for effect in action.effects:
            found = KINDS[type(effect)].expect(start, effect) if entity_id in effect.entity_ids else None
            expected = expected.and_then(found) if expected and found else found or expected
    moved = _differences(before, after) if after else frozenset()
    reached = all(action.outcomes.get(entity_id) in (Outcome.REACHED, Outcome.FAILED) for action in about)
    return _Trace(before, after, expected, moved | _covered(expected), was_so=reached and not moved)


def _differences(one: Snapshot, other: Snapshot) -> frozenset[str]:
    names = {*one.attributes, *other.attributes}
    different = {name for name in names if one.attributes.get(name) != other.attributes.get(name)}
    return frozenset(different | ({STATE} if one.state != other.state else set()))


def _covered(expected: Expectation | None) -> frozenset[str]:
    """Return the aspects that were asked for; one form of a colour moves the others along."""
    if expected is None:
        return frozenset()
    names = set(expected.attributes)
    if names & _COLOUR:
        names |= _COLOUR
    if expected.goal is not None or expected.value is not None:
        names.add(STATE)
    return frozenset(names)


class HaUndo(HomeAgentTool):
    """Undoes the last request of the caller, or one action."""

    name = NAME
    title_key = "tool_ha_undo"
    example = "Undo that."
    description = (
        "Take back what was done last for this user: every change of the last request is restored as it was before. "
        "The result says what was restored, what cannot be, and what somebody changed since and is therefore left alone."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema({probatio.Optional("action_id"): str}, extra=probatio.REMOVE_EXTRA)
    wire_parameters: JsonObjectType = {"type": "object", "properties": {}}  # noqa: RUF012 - never changed

    def __init__(self, journal: ActionJournal, *, force: bool = False, sees: Sees | None = None) -> None:
        """Take the journal; `force` also restores what was changed since, `sees` replaces what the turn may know of."""
        self._journal = journal
        self._force = force
        self._sees = sees

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the effects that restore. Raises `ToolError` when there is nothing to undo.

        A script that still runs is given a moment: what it does afterwards would stay.
        """
        way = self.way(hass, args, turn)
        if way.running and (left := PATIENCE - turn.record.duration_ms / 1000) > 0:
            await async_still(hass, [item for action in way.actions for item in action.runners], left)
            way = self.way(hass, args, turn)
        return await async_plan_of(hass, way.effects) if way.effects else Plan(action=ActionClass.READ)

    @override
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        """Restore, say what became of each entity, and mark as undone what is; the rest can be tried again."""
        way = self.way(hass, args, turn)
        left = {*way.changed, *way.impossible, *way.hidden}
        if not plan.effects:
            left |= {*way.meanwhile({})}
            way.note(hass, self._journal, left)
            return way.as_result(hass, {})
        verification = Verification(hass, plan.effects)
        pending = await async_execute(hass, plan.effects, turn.context)

        def render(outcomes: Mapping[str, Outcome]) -> JsonValueType:
            back = [item for item, outcome in outcomes.items() if verification.is_back(item, outcome)]
            not_back = {*outcomes, *way.meanwhile(outcomes)}.difference(back)
            way.note(hass, self._journal, left | not_back | {*pending.failed})
            events.async_action_undone(hass, turn, [action.id for action in way.actions], back)
            return way.as_result(hass, outcomes, pending.failed)

        return PendingResult(render=render, failed=pending.failed)

    def way(self, hass: HomeAssistant, args: Mapping[str, Any], turn: Turn) -> Reversal:
        """Return the way back from what is meant: one action, or all of the last request of which something is left to undo.

        What was tried and cannot be done any better is passed over. Raises `ToolError` when there is nothing.
        """
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
            if any(item.success or item.set_off or Outcome.CHANGED in item.outcomes.values() for item in actions):
                way = reversal_of(hass, actions, turn.user, force=self._force)
                if way.effects or any(item.tried is None for item in actions):
                    return way
        raise ToolError("undo_nothing")


class UndoTools:
    """Offers `ha_undo` beside the tools that write."""

    names = (NAME,)
    revision = 0

    def __init__(self, journal: ActionJournal) -> None:
        """Take the journal."""
        self.tool = HaUndo(journal)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> tuple[HomeAgentTool, ...]:
        """Return it, or nothing when the profile has our tools switched off."""
        return (self.tool,) if profile.native_tools else ()


def seen_by(turn: Turn) -> Sees:
    """Return what the words of a turn can mean: the user's own actions; where no user is known, the conversation's or device's."""
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
    hass: HomeAssistant, policy: Policy, journal: ActionJournal, turn: Turn, chat_log: ChatLog
) -> Answer:
    """Undo what was done last, under the policy; the words of the turn ask for it.

    It stands in the chat log as a call that code has made. Each entity has its sentence in the language of the turn.
    """
    tool = HaUndo(journal)
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
    return Answer(text=await async_words(hass, turn.speaks, undone), done=done)


async def async_words(hass: HomeAssistant, language: str, result: Mapping[str, Any]) -> str:
    """Return the result of `ha_undo` in words."""
    rows = result["restored"]
    unconfirmed = [row["entity_id"] for row in rows if row["outcome"] in _UNCONFIRMED]
    already = result.get("already", ())
    changed_names = [
        await async_text(hass, language, _CHANGES[row["change"]], target=row["target"], name=f"“{row['name']}”")
        for row in result.get("names", ())
    ]
    sentences = changed_names + [
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
    return " ".join(sentences)


async def _async_names(hass: HomeAssistant, language: str, entity_ids: Sequence[str]) -> str:
    """Return what entities are called; of many how many more there are."""
    names = _names(hass, entity_ids[:MAX_NAMES])
    if (more := len(entity_ids) - MAX_NAMES) <= 0:
        return names
    return await async_text(hass, language, "undo_more", target=names, count=str(more))


def _names(hass: HomeAssistant, entity_ids: Iterable[str]) -> str:
    return ", ".join(state.name if (state := hass.states.get(item)) else item for item in entity_ids)
