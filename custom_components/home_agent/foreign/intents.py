"""Home Assistant's intents as tools: what they come to is planned as for sentences, entity by entity."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent, llm
from homeassistant.util.json import JsonValueType

from ..const import ASSISTANT, DOMAIN
from ..local.actions import COMMAND, Mismatch, Recognised, plan_of
from ..safety.permission import may_know
from ..safety.plan import ActionClass, Plan
from ..safety.tool import ToolRefusal
from ..turn import Turn
from .result import plain_result
from .tool import ForeignTool

DELAYED = "delayed"
"""What happens later is not known now, and nobody is there to be asked then."""
NO_MATCH = "No exposed entity matches {what}. Nothing was done."


class ForeignIntent(ForeignTool):
    """A tool that handles an intent."""

    _tool: llm.IntentTool

    @property
    @override
    def judges_calls(self) -> bool:  # type: ignore[override]
        """Whether the intent is one of Home Assistant's: an owner's script behind an intent says nothing of itself."""
        return not self.annotations.open_world

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities that the intent will find, and how they will be called where its handler tells.

        Raises `ToolRefusal` when it finds none; one that is not exposed is none, nor one of which the user may know nothing.
        """
        slots = _filled(args)
        self.check(hass, slots, turn)
        plan = plan_of(hass, turn, Recognised(name=self._tool.intent_type, slots=slots))
        if isinstance(plan, Mismatch) or not all(may_know(turn.user, entity_id) for entity_id in plan.targets):
            raise no_match(slots)
        if self.annotations.read_only:
            return replace(plan, action=ActionClass.READ)
        if not self.judges_calls:
            return replace(plan, action=ActionClass.SENSITIVE, reason="destructive", subject=self.title or self.name)
        if COMMAND in slots:
            return replace(plan, action=ActionClass.SENSITIVE, reason=DELAYED, subject=str(slots[COMMAND]))
        return plan

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Let Home Assistant handle it, with the preferences it was planned with; what is delayed comes back to us."""
        slots = _filled(args)
        if turn.area_id and "preferred_area_id" in (self._tool.extra_slots or ()):
            slots["preferred_area_id"] = turn.area_id
        try:
            response = await intent.async_handle(
                hass,
                DOMAIN,
                self._tool.intent_type,
                {name: {"value": value} for name, value in slots.items()},
                None,
                turn.context,
                turn.language,
                assistant=ASSISTANT,
                device_id=turn.device_id,
                satellite_id=turn.satellite_id,
                conversation_agent_id=turn.agent_id,
            )
        except intent.MatchFailedError as err:  # its words tell what exists without being exposed
            raise no_match(slots) from err
        return plain_result(llm.ToolResult(data=llm.IntentResponseDict(response)))


def _filled(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without those that a model sent empty, as Home Assistant does."""
    is_blank: Callable[[Any], bool] = intent.is_blank_slot_value
    return {name: value for name, value in args.items() if not is_blank(value)}


def no_match(slots: Mapping[str, Any]) -> ToolRefusal:
    """Return the refusal for arguments that mean nothing to know of."""
    return ToolRefusal(NO_MATCH.format(what=", ".join(f"{name} {value}" for name, value in slots.items()) or "this"))
