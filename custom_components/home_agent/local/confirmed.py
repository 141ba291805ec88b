"""A sentence of Home Assistant's own that waits for a yes, in the form of a tool."""

from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent, llm
from homeassistant.util.json import JsonValueType
import probatio

from ..const import ASSISTANT
from ..safety.plan import Plan
from ..safety.tool import HomeAgentTool, ToolRefusal
from ..safety.write import Made
from ..tools.execute import async_execute
from ..turn import Turn
from .actions import Mismatch, Recognised, plan_of


class ConfirmedIntent(HomeAgentTool):
    """An intent as it was recognised; its arguments are its slots."""

    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True

    def __init__(self, recognised: Recognised) -> None:
        """Wait with one intent."""
        self.name = recognised.name
        self._recognised = recognised

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what the sentence comes to now. Raises `ToolRefusal` when it fits the house no more."""
        plan = plan_of(hass, turn, self._recognised)
        if isinstance(plan, Mismatch):
            raise ToolRefusal(plan.reason.name)
        return plan

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType | Made:
        """Make the planned calls; an intent whose handler does not tell its calls is handled by it."""
        if plan.calls:
            return await async_execute(hass, plan.calls, turn.context)
        response = await intent.async_handle(
            hass,
            ASSISTANT,
            self.name,
            {slot: {"value": value} for slot, value in args.items()},
            turn.text,
            turn.context,
            turn.language,
            assistant=ASSISTANT,
            device_id=turn.device_id,
            satellite_id=turn.satellite_id,
            conversation_agent_id=turn.agent_id,
        )
        if response.error_code is not None:
            raise ToolRefusal(response.error_code.value)
        return {"targets": [target.id for target in response.success_results if target.id]}
