"""`ha_undo`: takes back what was done last, by service calls under the same policy as any others."""

from collections.abc import Callable, Mapping
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from .. import events
from ..errors import ToolError
from ..profiles.profile import Profile
from ..safety.plan import ActionClass, Plan
from ..safety.tool import HomeAgentTool
from ..safety.write import Made
from ..tools.execute import async_execute
from ..tools.ha_control import async_plan_of
from ..turn import Effect, Turn
from .action import Action
from .reversal import Reversal, reversal_of
from .store import ActionJournal, Sees

NAME = "ha_undo"
WIRE: JsonObjectType = {"type": "object", "properties": {}}
NOT_POSSIBLE = "not_possible"
CHANGED_SINCE = "changed_since"
ALREADY = "already"
RESTORED = "restored"
FAILED = "failed"


class HaUndo(HomeAgentTool):
    """Takes back the last request of whoever asks, or one action."""

    name = NAME
    title = "Take back"
    description = (
        "Take back what was done last for this user: every change of the last request is restored as it was before. "
        "The result says what was restored, what cannot be, and what somebody changed since and is therefore left alone."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema({probatio.Optional("action_id"): str}, extra=probatio.REMOVE_EXTRA)
    wire_parameters = WIRE

    def __init__(self, journal: ActionJournal, *, force: bool = False, sees: Sees | None = None) -> None:
        """Take the journal; `force` also restores what was changed since, `sees` replaces what the turn may know of."""
        self._journal = journal
        self._force = force
        self._sees = sees

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the calls that restore. Raises `ToolError` when there is nothing to take back."""
        way = self._way(hass, args, turn)
        if not way.calls:
            return Plan(action=ActionClass.READ)
        return await async_plan_of(hass, way.calls)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType | Made:
        """Restore, mark the actions as taken back and say what became of each entity."""
        way = self._way(hass, args, turn)
        if not plan.calls:
            if way.already and not way.changed:
                self._journal.async_mark_undone(way.actions)
            return _told(hass, way, {}, ())
        made = await async_execute(hass, plan.calls, turn.context)

        def tell(effects: Mapping[str, Effect]) -> JsonValueType:
            self._journal.async_mark_undone(way.actions)
            events.async_action_undone(hass, turn, [action.id for action in way.actions], list(effects))
            return _told(hass, way, effects, made.failed)

        return Made(tell=tell, failed=made.failed)

    def _way(self, hass: HomeAssistant, args: Mapping[str, Any], turn: Turn) -> Reversal:
        actions = self.actions(turn, args.get("action_id"))
        if not actions:
            raise ToolError("undo_nothing")
        return reversal_of(hass, actions, turn.user, force=self._force)

    def actions(self, turn: Turn, action_id: str | None = None) -> list[Action]:
        """Return what is meant, newest first: one action, or all of the last request that was not taken back."""
        open_ones = [
            action
            for action in self._journal.newest_first(self._sees or seen_by(turn))
            if action.undone is None and action.tool != NAME
        ]
        if action_id is not None:
            return [action for action in open_ones if action.id == action_id]
        last = next((action for action in open_ones if action.success or _moved(action)), None)
        return [action for action in open_ones if last is not None and action.turn_id == last.turn_id]


class UndoTools:
    """Offers `ha_undo` beside the tools that write."""

    def __init__(self, journal: ActionJournal) -> None:
        """Take the journal."""
        self.tool = HaUndo(journal)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> tuple[HomeAgentTool, ...]:
        """Return it, or nothing when the profile has our tools switched off."""
        return (self.tool,) if profile.native_tools else ()


def seen_by(turn: Turn) -> Callable[[Action], bool]:
    """Return what the words of a turn can mean: the user's own actions; where nobody is known, the conversation's or device's."""
    user_id = turn.context.user_id
    if user_id is not None:
        return lambda action: action.user_id == user_id
    return lambda action: (
        action.user_id is None
        and (
            action.conversation_id == turn.conversation_id
            or (turn.device_id is not None and action.device_id == turn.device_id)
        )
    )


def _moved(action: Action) -> bool:
    return Effect.CHANGED in action.effects.values()


def _told(
    hass: HomeAssistant, way: Reversal, effects: Mapping[str, Effect], failed: Mapping[str, str] | Any
) -> JsonObjectType:
    restored: list[JsonValueType] = [
        {"entity_id": item, "new_state": state.state, "outcome": effects[item].value}
        for item in way.restored
        if item in effects and item not in failed and (state := hass.states.get(item)) is not None
    ]
    told: JsonObjectType = {RESTORED: restored}
    for key, names in (
        (ALREADY, way.already),
        (CHANGED_SINCE, way.changed),
        (NOT_POSSIBLE, way.impossible),
        (FAILED, list(failed)),
    ):
        if names:
            told[key] = [*names]
    return told
