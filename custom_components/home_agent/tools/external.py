"""`query_external_llm`: ask a second model, which sees only the prompt and the context that the first one writes."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..client.endpoint import Endpoint, mask_for
from ..client.messages import ChatRequest, ModelReply
from ..policy.tool import HomeAgentTool
from ..settings.profile import Profile
from ..support.encoding import inert
from ..support.errors import LLMError, LLMTimeoutError, ToolRefusal
from ..support.masking import masked_values
from ..turn.plan import ActionClass, Plan
from ..turn.turn import Turn
from .arguments import json_object

NAME = "query_external_llm"
WHAT = "Query a more capable external LLM for complex analysis, detailed explanations, or comprehensive answers."
DEFAULT_DESCRIPTION = (
    "Use this when you need help with complex analysis, detailed explanations, or comprehensive recommendations beyond "
    "simple home control."
)
FAILED = "Failed to query external LLM: {detail}"
MAX_ANSWER = 16_000  # characters
PATIENT_SHARE = 0.5
"""Share of a call's time to wait for a model that is being loaded; the rest is for its answer."""

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


class QueryExternalLLM(HomeAgentTool):
    """Asks another endpoint."""

    name = NAME
    title_key = "tool_query_external_llm"
    example = "Explain in detail how a heat pump works."
    guide = (
        "query_external_llm asks a more capable model, for complex analysis or long explanations. It sees only the prompt and "
        "context you pass: put in what it needs, such as sensor readings."
    )
    guide_is_default = True
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

    def __init__(self, model: Endpoint, description: str) -> None:
        """Take the model, and the description of when to ask it; empty: the default."""
        self._model = model
        self.source = model.client.config.title
        self.description = f"{WHAT} {description or DEFAULT_DESCRIPTION}"

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing; the answer counts as text from outside."""
        return Plan(action=ActionClass.READ, subject=self._model.client.config.title, outside=True)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the answer, whose tokens count for the turn. Personal data is masked if the profile says so."""
        turn.record.used_external_llm = True
        prompt, context = args["prompt"], args.get("context")
        if mask := mask_for(turn.profile.mask_personal_data, remote=self._model.client.config.remote):
            prompt, context = mask(prompt), masked_values(context, mask)
        text = f"{prompt}\n\nContext:\n{json_dumps(context)}" if context else prompt
        reply, answer = ModelReply(), ""
        started = turn.record.duration_ms
        request = ChatRequest(
            messages=[{"role": "user", "content": inert(text)}],
            stream=turn.profile.streaming,
            patience=turn.profile.tool_timeout * PATIENT_SHARE,
        )
        try:
            async with aclosing(self._model.client.stream(request, reply)) as deltas:
                async for delta in deltas:
                    answer += delta.get("content") or ""
                    if len(answer) > MAX_ANSWER:
                        break
        except asyncio.CancelledError:
            # The call timed out; otherwise the user left.
            if turn.record.duration_ms - started >= 500 * turn.profile.tool_timeout:
                self._model.async_failed(LLMTimeoutError(endpoint=self._model.client.config.title, detail=""))
            raise
        except LLMError as err:
            self._model.async_failed(err)
            raise ToolRefusal(FAILED.format(detail=err)) from err
        self._model.async_succeeded(reply, turn.record.duration_ms - started, turn.record)
        if not (answer := answer[:MAX_ANSWER].strip()):
            raise ToolRefusal(FAILED.format(detail="no answer"))
        return answer


class ExternalModels:
    """Offers the tool to profiles that name an endpoint for it."""

    names = (NAME,)
    revision = 0

    def __init__(self, models: Mapping[str, Endpoint]) -> None:
        """Take the endpoints by subentry id; `async_look` is called when they have changed."""
        self._models = models
        self._tools: dict[tuple[str, str], QueryExternalLLM] = {}

    @callback
    def async_look(self) -> None:
        """Offer the endpoints as they are now."""
        self.revision += 1
        self._tools.clear()

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tool; nothing if the profile names no endpoint, or a removed one."""
        if (model := self._models.get(profile.external_llm)) is None:
            return ()
        key = (profile.external_llm, profile.external_llm_description)
        if (tool := self._tools.get(key)) is None:
            tool = self._tools[key] = QueryExternalLLM(model, profile.external_llm_description)
        return (tool,)
