"""Making, changing and cancelling wishes: what may wait, checked as if it were done now, and again when it is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
import json
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er, llm
import probatio

from ..home.exposure import check_permission
from ..support.encoding import one_line
from ..support.errors import ToolError
from ..support.masking import SECRET
from ..turn.plan import ActionClass, Plan
from ..turn.turn import Turn
from ..wishes.wish import Step, Wish
from ..wishes.wishes import MAX_TEXT, MOST_STEPS, wishes_of
from .channels import ways_to_ask
from .confirmation import Call
from .effects.wish_change import CANCEL_WISH, CHANGE_WISH, MAKE_WISH, WishChange
from .tool import PendingResult
from .write import EffectTool, async_execute, async_plan_of

_DEEPEST = 20
"""Levels of lists and mappings in arguments."""
_EMPTY: tuple[object, ...] = ("", [], {})


def step_of(call: Call) -> Step:
    """Return a call in the form in which it waits. Raises `ToolError` for one that cannot wait, or that has a code in it."""
    tool, plan = call.tool, call.plan
    if has_code([call.arguments, *(effect.data for effect in plan.effects)]):
        raise ToolError("wish_code")
    if plan.effects and not plan.handled and tool.is_its_effects:
        return Step(effects=tuple(effect.as_dict() for effect in plan.effects), targets=plan.targets)
    if tool.intent:
        slots = dict(call.arguments)
        if len(plan.targets) == 1 and "name" in slots:
            slots["name"] = plan.targets[0]  # it stays the same thing when it gets another name
        return Step(intent=tool.intent, arguments=slots, targets=plan.targets)
    if tool.stands_alone:
        raise ToolError("wish_unable")
    return Step(tool=tool.name, arguments=call.arguments, targets=plan.targets)


def has_code(value: object, depth: int = 0) -> bool:
    """Return whether a parameter among arguments is named like a secret and has a value; also in JSON that is written as text.

    What is nested deeper than `_DEEPEST` levels counts as one. Values are not compared with the PINs: a refusal would tell them.
    """
    match value:
        case Mapping() | list() | tuple() if depth > _DEEPEST:
            return True
        case Mapping():
            return any(
                (SECRET.search(str(key)) is not None and not (item is None or isinstance(item, bool) or item in _EMPTY))
                or has_code(item, depth + 1)
                for key, item in value.items()
            )
        case list() | tuple():
            return any(has_code(item, depth + 1) for item in value)
        case str() if value.lstrip().startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                return has_code(json.loads(value), depth + 1)
    return False


def asks_then(calls: Sequence[Call]) -> bool:
    """Return whether calls need a yes when they are made: no list of the owner spares what opens, unlocks or disarms later."""
    return any(call.why or call.plan.insists or call.plan.action is ActionClass.SENSITIVE for call in calls)


def check_asks(hass: HomeAssistant, turn: Turn, calls: Sequence[Call]) -> bool:
    """Return whether a wish for these calls is asked about when it is due.

    Raises `ToolError` where the agent takes no such wishes, or its user can be asked nowhere then.
    """
    if asks_then(calls):
        _check_ways(hass, turn, turn.context.user_id, turn.device_id, turn.satellite_id)
        return True
    return False


def _check_ways(
    hass: HomeAssistant, turn: Turn, user_id: str | None, device_id: str | None, satellite_id: str | None
) -> None:
    if turn.profile.wishes_sensitive == "refuse":
        raise ToolError("wish_sensitive_off")
    if not ways_to_ask(hass, user_id, device_id, satellite_id):
        raise ToolError("wish_sensitive")


def registered(hass: HomeAssistant, wish: Wish) -> dict[str, str]:
    """Return the registry ids of the entities of a wish, by entity id."""
    registry = er.async_get(hass)
    found = ((item, registry.async_get(item)) for item in wish.entity_ids)
    return {item: entry.id for item, entry in found if entry is not None}


def check_wish(hass: HomeAssistant, turn: Turn, wish: Wish) -> None:
    """Raise `ToolError` where a wish may not be made by this turn: not by a person, by another wish, too many, too far ahead.

    What it does was judged with its calls; what it looks at may be known to the user.
    """
    wishes, above = wishes_of(hass), turn
    if turn.user is None and turn.device_id is None and turn.satellite_id is None:
        raise ToolError("wish_by_automation")
    if any(one.profile.subentry_id != turn.profile.subentry_id for one in turn.lineage):
        raise ToolError("wish_by_agent")  # when it is due, what limits the other agent would not hold any more
    while above is not None:
        if above.wish or wishes.has_run(above.context):
            raise ToolError("wish_by_wish")
        above = above.parent  # type: ignore[assignment]
    if wish.asks:
        _check_ways(hass, turn, wish.user_id, wish.device_id, wish.satellite_id)
    if len(wish.steps) > MOST_STEPS or max(len(wish.text), len(wish.words)) > MAX_TEXT:
        raise ToolError("wish_too_long")
    check_permission(hass, turn.user, Plan(action=ActionClass.READ, targets=wish.when.entity_ids))
    wishes.check_room(wish)


def check_known(hass: HomeAssistant, turn: Turn, wishes: Sequence[Wish]) -> None:
    """Raise `ToolError` for wishes that are gone, and for those that are not of who speaks in a turn."""
    kept = wishes_of(hass)
    if not wishes or any(kept.get(wish.id) is None for wish in wishes):
        raise ToolError("wish_over")
    known = {wish.id for wish in kept.known_to(turn)}
    if any(wish.id not in known for wish in wishes):
        raise ToolError("wish_of_other")


class _WishTool(EffectTool):
    """A change of wishes, in the form of a tool for one sentence, call or action."""

    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    is_its_effects = False
    parameters = probatio.Schema({}, extra=probatio.REMOVE_EXTRA)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> PendingResult:
        """Change the wishes; the result tells each with its id and time."""
        return await async_execute(hass, plan.effects, turn.context)


class MakeWish(_WishTool):
    """Makes one wish."""

    name = MAKE_WISH
    title_key = "tool_make_wish"

    def __init__(self, wish: Wish) -> None:
        """Take the wish; what it does was judged (`step_of`, `Policy.async_judge`)."""
        when = replace(wish.when, words=one_line(wish.when.words), provided=tuple(map(one_line, wish.when.provided)))
        self.wish = replace(wish, words=one_line(wish.words), text=one_line(wish.text), when=when)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the wish as an effect. Raises `ToolError` where it may not be made, or is that of someone else."""
        whose = (self.wish.user_id, self.wish.agent_id)
        if whose != (turn.context.user_id, turn.profile.subentry_id) or not {*turn.within} <= {*self.wish.within}:
            raise ToolError("wish_unable")
        check_wish(hass, turn, self.wish)
        return await async_plan_of(hass, (WishChange.of(MAKE_WISH, self.wish),))


class CancelWishes(_WishTool):
    """Cancels wishes."""

    name = CANCEL_WISH
    title_key = "tool_cancel_wish"

    def __init__(self, wishes: Sequence[Wish]) -> None:
        """Take the wishes."""
        self.wishes = wishes

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what cancels them. Raises `ToolError` for one of which the speaker may know nothing, or that is gone."""
        check_known(hass, turn, self.wishes)
        return await async_plan_of(hass, (WishChange.of(CANCEL_WISH, wish) for wish in self.wishes))


class ChangeWish(_WishTool):
    """Gives a wish another time."""

    name = CHANGE_WISH
    title_key = "tool_change_wish"

    def __init__(self, wish: Wish) -> None:
        """Take the wish with its new time."""
        self.wish = wish

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what changes it. Raises `ToolError` where it is gone, or may not be changed to this."""
        check_known(hass, turn, [self.wish])
        known = wishes_of(hass).get(self.wish.id)
        if known is not None and known.tells_event and self.wish.when.event != known.when.event:
            raise ToolError("wish_waits")  # at another time it would tell what has not happened
        check_wish(hass, turn, self.wish)
        return await async_plan_of(hass, (WishChange.of(CHANGE_WISH, self.wish),))
