"""Two extensions of another integration, a kitchen and a workout plan, with tools that really keep something."""

from dataclasses import dataclass, field
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType
import probatio

from custom_components.home_agent import RegisteredExtension

LIGHT_SCHEMA = """\
ChefByte — Manage kitchen inventory and meal planning for the user.
- CHEFBYTE_UPDATE_ITEM: Updates a single item quantity and unit. EX: "Set milk to 1 gallon."
- CHEFBYTE_GET_INVENTORY: Returns current inventory snapshot. EX: "How many gallons of milk do I have left?"

CoachByte — Plan and track workouts for the user.
- COACHBYTE_GET_WORKOUT_TODAY: Returns today’s workout plan. EX: "What’s my workout plan for today?\""""

READS = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
WRITES = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)


@dataclass
class Kitchen:
    """What is in the pantry."""

    items: dict[str, str] = field(default_factory=lambda: {"flour": "2 kg"})
    asked_by: list[llm.LLMContext] = field(default_factory=list)


class UpdateItem(llm.Tool):
    name = "CHEFBYTE_UPDATE_ITEM"
    description = (
        "Updates a single item quantity and unit.\nSet milk to 1 gallon.\nIdempotent; validates unit compatibility."
    )
    parameters = probatio.Schema({probatio.Required("item"): str, probatio.Required("quantity"): str})
    integration = "chefbyte"

    def __init__(self, kitchen: Kitchen, *, destructive: bool = False) -> None:
        """Take the pantry; `destructive`: each call needs a yes."""
        self.annotations = llm.ToolAnnotations(destructive=True, open_world=False) if destructive else WRITES
        self._kitchen = kitchen

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        args: dict[str, Any] = self.parameters(tool_input.tool_args)
        self._kitchen.items[args["item"]] = args["quantity"]
        self._kitchen.asked_by.append(llm_context)
        return {"item": args["item"], "quantity": args["quantity"]}


class GetInventory(llm.Tool):
    name = "CHEFBYTE_GET_INVENTORY"
    description = "Returns current inventory snapshot.\nHow many gallons of milk do I have left?"
    annotations = READS
    integration = "chefbyte"

    def __init__(self, kitchen: Kitchen) -> None:
        self._kitchen = kitchen

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        return {"items": dict(self._kitchen.items)}


class GetWorkoutToday(llm.Tool):
    name = "COACHBYTE_GET_WORKOUT_TODAY"
    description = "Returns today’s workout plan.\nWhat’s my workout plan for today?"
    annotations = READS
    integration = "coachbyte"

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        return {"plan": ["5 km run", "3 x 10 squats"]}


def chefbyte(kitchen: Kitchen, *, destructive: bool = False) -> RegisteredExtension:
    """Return the kitchen; `destructive`: what changes it needs a yes."""
    return RegisteredExtension(
        name="ChefByte",
        prompt=(
            "Manage kitchen inventory and meal planning for the user.\n"
            "Use precise units; prefer pantry items; ask before destructive changes."
        ),
        tools=(UpdateItem(kitchen, destructive=destructive), GetInventory(kitchen)),
    )


def coachbyte() -> RegisteredExtension:
    """Return the workout plan."""
    return RegisteredExtension(
        name="CoachByte", prompt="Plan and track workouts for the user.", tools=(GetWorkoutToday(),)
    )
