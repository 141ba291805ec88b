"""Ends a question: runs what was confirmed, once and only if it is still the same, and says what is true now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_hex
import time

from homeassistant.auth.models import User
from homeassistant.components.conversation import AssistantContent, ChatLog, ToolResultContent
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..client.base import Usage
from ..client.messages import CONFIRMED
from ..runtime import RuntimeData
from ..safety.confirmation import Call, Outcome, Request
from ..safety.permission import async_check_permission
from ..safety.questions import async_facts
from ..safety.tool import HomeAgentTool
from ..texts import async_text
from ..turn import Turn, current_turn
from ..turn_api import llm_context_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What is said."""

    text: str
    done: bool = True
    """False: it is an error in words."""


async def async_run(
    hass: HomeAssistant,
    runtime: RuntimeData,
    request: Request,
    turn: Turn,
    *,
    answered_by: User | None,
    chat_log: ChatLog | None = None,
) -> Settled:
    """Run what was confirmed and return what is said. `turn` is the one that answers.

    The question ends before anything is awaited: a second yes finds nothing to confirm.
    """
    confirmations = runtime.policy.confirmations
    if not confirmations.end(request, Outcome.CONFIRMED, answered_by.id if answered_by else None):
        return Settled(text=await async_text(hass, turn.language, "confirm_expired"), done=False)
    turn.text = request.turn.text  # the words that the action is kept with are those that asked for it
    profile = runtime.profiles.get(request.turn.profile.subentry_id, request.turn.profile)
    try:
        offered = {tool.name: tool for tool in await runtime.tools.async_tools(profile, llm_context_of(turn))}
        calls = await _async_still_the_same(hass, runtime, request, turn, offered, answered_by)
    except HomeAssistantError:
        return Settled(text=await async_text(hass, turn.language, "confirm_changed"), done=False)
    known_to_model = all(type(offered.get(call.tool.name)) is type(call.tool) for call in calls)
    results = await _async_calls(runtime, turn, calls, chat_log, known_to_model=known_to_model)
    facts = await async_facts(hass, turn.language, calls)
    failed = sum(result.error for result in results)
    key = "confirm_failed" if failed == len(results) else "confirm_partly" if failed else "confirm_done"
    text = f"{await async_text(hass, turn.language, key)} {facts}".strip()
    return Settled(text=text, done=not failed)


async def async_run_elsewhere(
    hass: HomeAssistant, runtime: RuntimeData, request: Request, user: User | None
) -> Settled:
    """Run what was confirmed in another place than the conversation, in the name of whoever asked for it."""
    asked = request.turn
    owner = await hass.auth.async_get_user(asked.context.user_id) if asked.context.user_id else None
    turn = replace(
        asked,
        user=owner,
        request_id=None,
        calls=[],
        calls_started=0,
        usage=Usage(),
        started=time.perf_counter(),
    )
    token = current_turn.set(turn)
    try:
        return await async_run(hass, runtime, request, turn, answered_by=user)
    finally:
        current_turn.reset(token)


async def _async_still_the_same(
    hass: HomeAssistant,
    runtime: RuntimeData,
    request: Request,
    turn: Turn,
    offered: Mapping[str, HomeAgentTool],
    answered_by: User | None,
) -> list[Call]:
    """Return the calls with the tools of now. Raises `HomeAssistantError` when anything is not as it was confirmed."""
    if request.turn.context.user_id is not None and (turn.user is None or not turn.user.is_active):
        raise HomeAssistantError("whoever asked is gone")
    calls: list[Call] = []
    for call in request.calls:
        tool = call.tool if call.tool.stands_alone else offered.get(call.tool.name)
        if tool is None:
            raise HomeAssistantError("the tool is gone")
        calls.append(replace(call, tool=tool))
        if answered_by is not None:
            await async_check_permission(hass, answered_by, call.plan)
        await runtime.policy.async_check_again(turn, calls[-1])
    return calls


async def _async_calls(
    runtime: RuntimeData, turn: Turn, calls: Sequence[Call], chat_log: ChatLog | None, *, known_to_model: bool
) -> list[llm.ToolResult]:
    """Make the calls under the policy, in their order; they stand in the chat log as calls that code has made."""
    inputs = [
        llm.ToolInput(tool_name=call.tool.name, tool_args=call.arguments, id=f"yes{token_hex(3)}", external=True)
        for call in calls
    ]
    if chat_log is not None:
        chat_log.async_add_assistant_content_without_tools(
            AssistantContent(agent_id=turn.agent_id, tool_calls=inputs, native=CONFIRMED if known_to_model else None)
        )
    results: list[llm.ToolResult] = []
    for call, tool_input in zip(calls, inputs, strict=True):
        result = await runtime.policy.async_call(turn, call.tool, tool_input, confirmed=call.plan)
        results.append(result)
        if chat_log is not None:
            chat_log.async_add_assistant_content_without_tools(
                ToolResultContent(
                    agent_id=turn.agent_id, tool_call_id=tool_input.id, tool_name=tool_input.tool_name, result=result
                )
            )
    return results
