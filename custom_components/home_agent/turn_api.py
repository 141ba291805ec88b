"""The object handed to the chat log: our tools and those the profile selects, every call under the policy.

Home Assistant 2026.11 keeps the object of a conversation's first turn; which turn is running is therefore looked up at
the moment of the call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, override

from homeassistant.components.conversation import ConversationTraceEventType, async_conversation_trace_append
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm

from .const import ASSISTANT, DOMAIN
from .foreign.provider import wrapped
from .safety.policy import Policy
from .safety.tool import HomeAgentTool
from .turn import Turn, current_turn


@dataclass(slots=True, kw_only=True)
class TurnAPI(llm.API):
    """The `llm.API` of a profile. Private to it: it is not registered, so no other agent is offered its tools."""

    tools: Sequence[HomeAgentTool]
    policy: Policy

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        return self.instance(llm_context)

    def instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return the tools for a conversation."""
        return _instance(self, "", llm_context, self.tools, llm.selector_serializer, self.policy)


class TurnAPIInstance(llm.APIInstance):
    """Runs each call through the policy."""

    policy: Policy

    @override
    async def async_call_tool(self, tool_input: llm.ToolInput) -> llm.ToolResult:
        """Return the envelope; never raises, so the model always learns how the call ended."""
        async_conversation_trace_append(
            ConversationTraceEventType.TOOL_CALL,
            {"tool_name": tool_input.tool_name, "tool_args": tool_input.tool_args},
        )
        named = (tool for tool in self.tools if isinstance(tool, HomeAgentTool) and tool.name == tool_input.tool_name)
        return await self.policy.async_call(current_turn.get(), next(named, None), tool_input)


def policed(instance: llm.APIInstance, policy: Policy) -> llm.APIInstance:
    """Return another API's instance with every call under the policy."""
    return _instance(
        instance.api, instance.api_prompt, instance.llm_context, wrapped([instance]), instance.custom_serializer, policy
    )


def _instance(
    api: llm.API,
    prompt: str,
    llm_context: llm.LLMContext,
    tools: Sequence[HomeAgentTool],
    serializer: Callable[[Any], Any] | None,
    policy: Policy,
) -> TurnAPIInstance:
    instance = TurnAPIInstance(
        api=api, api_prompt=prompt, llm_context=llm_context, tools=list(tools), custom_serializer=serializer
    )
    instance.policy = policy
    return instance


def llm_context_of(turn: Turn) -> llm.LLMContext:
    """Return who asks, in Home Assistant's words."""
    return llm.LLMContext(
        platform=DOMAIN, context=turn.context, language=turn.language, assistant=ASSISTANT, device_id=turn.device_id
    )


def turn_api(hass: HomeAssistant, turn: Turn, tools: Sequence[HomeAgentTool], policy: Policy) -> TurnAPI:
    """Return the API for the profile of a turn."""
    return TurnAPI(
        hass=hass, id=f"{DOMAIN}-{turn.profile.subentry_id}", name=turn.profile.name, tools=tools, policy=policy
    )
