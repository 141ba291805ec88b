"""Runs a tool whose plan may happen, and adds to its result what became of the house."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType

from ..turn import Turn
from .plan import ActionClass, Plan
from .tool import HomeAgentTool
from .write import Made, Writes

OUTCOME = "outcome"


async def async_carry_out(
    hass: HomeAssistant, writes: Writes, turn: Turn, tool: HomeAgentTool, args: dict[str, Any], plan: Plan
) -> JsonValueType:
    """Return the result of a tool; of a write, once it is known what came of it. Raises what the tool raises."""
    if plan.action is ActionClass.READ:
        result = await tool.run(hass, args, plan, turn)
        turn.acted = turn.acted or plan.outside  # nobody here knows what a request to somewhere else did
        return result.tell({}) if isinstance(result, Made) else result
    write = writes.begin(hass, turn, tool.name, plan)
    try:
        result = await tool.run(hass, args, plan, turn)
    except BaseException:  # a cancelled call may have switched something, too
        write.fail()
        raise
    if isinstance(result, Made):
        return result.tell(await write.async_effects(result.failed))
    effects = await write.async_effects()
    if not effects or not (result is None or isinstance(result, dict)):
        return result
    outcome: JsonValueType = {entity_id: effect.value for entity_id, effect in effects.items()}
    return {OUTCOME: outcome, **(result or {})}
