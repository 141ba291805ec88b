"""What the policy costs each tool call, and whether slow tools of one message run side by side: of Home Agent alone.

Imported once Home Agent is set up, so that it is the code of the measured installation.
"""

import asyncio
from statistics import median
from time import perf_counter_ns
from types import MappingProxyType
from typing import Any, override

from homeassistant.auth.models import User
from homeassistant.config_entries import ConfigSubentry
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from custom_components.home_agent.agent.runtime import HomeAgentConfigEntry
from custom_components.home_agent.policy.tool import HomeAgentTool, PendingResult
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn, current_turn

API = "bench"
WAIT = "wait_"
PARALLEL = 8
SLOWEST = 0.8  # seconds
_WARM_UP = 50  # calls


class Nothing(HomeAgentTool):
    """A tool whose plan names one lamp and which does nothing: what a call of it takes, the policy takes."""

    name = "nothing"
    description = "Does nothing."
    parameters = probatio.Schema({probatio.Required("entity_id"): str})
    judges_calls = True

    def __init__(self, action: ActionClass) -> None:
        """Read or write."""
        self._action = action
        self.annotations = llm.ToolAnnotations(
            read_only=action is ActionClass.READ, destructive=False, idempotent=True, open_world=False
        )

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the plan that turning the lamp on has, or that asking for it has."""
        entity_id = args["entity_id"]
        if self._action is ActionClass.READ:
            return Plan(action=self._action, targets=(entity_id,))
        call = ServiceCall(domain="light", service="turn_on", entity_ids=(entity_id,), data={})
        return Plan(action=self._action, targets=(entity_id,), effects=(call,))

    @override
    async def run(
        self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn
    ) -> JsonValueType | PendingResult:
        """Do nothing."""
        return PendingResult(render=lambda _: None) if plan.effects else None


class Wait(llm.Tool):
    """A tool of another integration that takes its time."""

    integration = "test"
    description = "Waits."
    parameters = probatio.Schema({})
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)

    def __init__(self, number: int) -> None:
        """Take longer than the one before."""
        self.name = f"{WAIT}{number}"
        self._seconds = SLOWEST * number / PARALLEL

    @override
    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        """Wait."""
        await asyncio.sleep(self._seconds)
        return {"waited": self._seconds}


class Waiting(llm.API):
    """The collection of these tools."""

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        tools: list[llm.Tool] = [Wait(number) for number in range(1, PARALLEL + 1)]
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=tools)


async def policy_ms(hass: HomeAssistant, entity_id: str, user: User, count: int) -> dict[str, float]:
    """Return the median milliseconds of a call that does nothing, as a read and as a write of a lamp that is on."""
    [entry] = _entries(hass)
    policy, profile = entry.runtime_data.policy, next(iter(entry.runtime_data.profiles.values()))
    took: dict[ActionClass, list[int]] = {ActionClass.READ: [], ActionClass.WRITE: []}
    for number in range(_WARM_UP + count):
        for action, times in took.items():
            turn = Turn(
                profile=profile,
                conversation_id="bench",
                text="Turn on the light",
                language="en",
                context=Context(user_id=user.id),
                user=user,
                direct=True,
            )
            tool, wanted = Nothing(action), llm.ToolInput(tool_name="nothing", tool_args={"entity_id": entity_id})
            token = current_turn.set(turn)
            started = perf_counter_ns()
            result = await policy.async_call(turn, tool, wanted)
            ended = perf_counter_ns()
            current_turn.reset(token)
            if result.error:
                raise RuntimeError(f"the policy refused: {result.data}")
            if number >= _WARM_UP:
                times.append(ended - started)
            await asyncio.sleep(0)
    return {action.value: median(times) / 1e6 for action, times in took.items()}


async def add_patient_profile(hass: HomeAssistant) -> str:
    """Add an assistant with the slow tools; return its conversation entity."""
    [entry] = _entries(hass)
    llm.async_register_api(hass, Waiting(hass=hass, id=API, name="Bench"))
    data = {"llm_apis": [API], "max_calls_per_turn": PARALLEL, "local_first": False}
    subentry = ConfigSubentry(data=MappingProxyType(data), subentry_type="profile", title="Patient", unique_id=None)
    hass.config_entries.async_add_subentry(entry, subentry)
    await hass.async_block_till_done()
    for _ in range(100):
        found = er.async_get(hass).async_get_entity_id("conversation", entry.domain, subentry.subentry_id)
        if found and hass.states.get(found):
            return found
        await asyncio.sleep(0.1)
    raise RuntimeError("the assistant with the slow tools was not set up")


def _entries(hass: HomeAssistant) -> list[HomeAgentConfigEntry]:
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries("home_agent")
    return entries
