"""`query_external_llm`: ask a second model (S1-26 to S1-36).

It sees the prompt and the context that the first one writes, nothing else: no history, no house.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..client.base import ChatClient, ChatRequest, Message, Reply
from ..errors import LLMError
from ..profiles.profile import Profile
from ..prompt.masking import mask_for, masked_values
from ..safety.plan import ActionClass, Plan
from ..safety.tool import HomeAgentTool, ToolRefusal
from ..turn import Turn
from .arguments import json_object

NAME = "query_external_llm"
WHAT = "Query a more capable external LLM for complex analysis, detailed explanations, or comprehensive answers."
DEFAULT_DESCRIPTION = (
    "Use this when you need help with complex analysis, detailed explanations, or comprehensive recommendations beyond "
    "simple home control."
)
FAILED = "Failed to query external LLM: {detail}"
MAX_ANSWER = 16_000  # characters

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "The question or prompt to send to the external LLM"},
        "context": {
            "type": "object",
            "description": "Additional explicit context to provide (e.g., sensor data, previous tool results). Note: Full "
            "conversation history is NOT automatically included.",
        },
    },
    "required": ["prompt"],
}


class Model(Protocol):
    """An endpoint at run time."""

    client: ChatClient

    def async_succeeded(self, reply: Reply, duration_ms: int) -> None:
        """Take note of a request that was answered."""
        ...

    def async_failed(self, error: LLMError) -> None:
        """Take note of a request that failed."""
        ...


class QueryExternalLLM(HomeAgentTool):
    """Asks another endpoint."""

    name = NAME
    title = "Ask another model"
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=True)
    parameters = probatio.Schema(
        {
            probatio.Required("prompt"): probatio.All(str, probatio.Length(min=1)),
            probatio.Optional("context"): json_object,
        },
        extra=probatio.REMOVE_EXTRA,
    )
    wire_parameters = WIRE
    timed_out = FAILED.format(detail="Connection timeout after {seconds}s")

    def __init__(self, model: Model, description: str) -> None:
        """Ask `model`; `description` tells the first model when to (empty: the default)."""
        self._model = model
        self.description = f"{WHAT} {description or DEFAULT_DESCRIPTION}"

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return that nothing of the house is touched. What it answers may repeat what it has read elsewhere."""
        return Plan(action=ActionClass.READ, subject=self._model.client.config.title, outside=True)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the answer as text; its tokens count for the turn. Raises `ToolRefusal` with what went wrong."""
        turn.used_external_llm = True
        reply = Reply()
        started = turn.duration_ms
        request = ChatRequest(messages=self._messages(args, turn.profile), stream=turn.profile.streaming)
        try:
            answer = await self._async_answer(request, reply)
        except LLMError as err:
            self._model.async_failed(err)
            raise ToolRefusal(FAILED.format(detail=err)) from err
        self._model.async_succeeded(reply, turn.duration_ms - started)
        if reply.usage is not None:
            turn.usage += reply.usage
        if not answer:
            raise ToolRefusal(FAILED.format(detail="it gave no answer"))
        return answer

    async def _async_answer(self, request: ChatRequest, reply: Reply) -> str:
        """Return what is said, as far as it is told to the first model; nobody waits for the rest."""
        answer = ""
        async with aclosing(self._model.client.stream(request, reply)) as deltas:
            async for delta in deltas:
                answer += delta.get("content") or ""
                if len(answer) > MAX_ANSWER:
                    break
        return answer[:MAX_ANSWER].strip()

    def _messages(self, args: Mapping[str, Any], profile: Profile) -> list[Message]:
        """Return what the first model wrote, without personal data where that must not leave the house."""
        prompt, context = args["prompt"], args.get("context")
        if mask := mask_for(profile.mask_personal_data, remote=self._model.client.config.remote):
            prompt, context = mask(prompt), masked_values(context, mask)
        text = f"{prompt}\n\nContext:\n{json_dumps(context)}" if context else prompt
        return [{"role": "user", "content": text}]


class ExternalModels:
    """Offers the tool to profiles that name an endpoint for it."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        """Take the endpoints by subentry id."""
        self._models = models
        self._tools: dict[tuple[str, str], QueryExternalLLM] = {}

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tool; nothing when the profile names none, or one that was removed."""
        if (model := self._models.get(profile.external_llm)) is None:
            return ()
        key = (profile.external_llm, profile.external_llm_description)
        if (tool := self._tools.get(key)) is None:
            tool = self._tools[key] = QueryExternalLLM(model, profile.external_llm_description)
        return (tool,)
