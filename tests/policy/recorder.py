"""A tool that says what ran."""

import asyncio
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import probatio

from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn


class Recorder(HomeAgentTool):
    """A tool that says what ran."""

    name = "recorder"
    parameters = probatio.Schema({probatio.Required("entity_id"): str}, extra=probatio.ALLOW_EXTRA)

    def __init__(
        self, action: ActionClass = ActionClass.WRITE, delay: float = 0, error: Exception | None = None
    ) -> None:
        self.action, self.delay, self.error = action, delay, error
        self.ran: list[dict[str, Any]] = []

    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        target = args["entity_id"]
        calls = (ServiceCall(domain="light", service="turn_on", entity_ids=(target,)),)
        return Plan(action=self.action, targets=(target,), effects=calls)

    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        self.ran.append(args)
        return {"done": True}
