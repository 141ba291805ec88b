"""What is said to "undo that": the way back is gone, and each entity has its sentence in the language of the turn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from homeassistant.components.conversation import AssistantContent, ChatLog, ToolResultContent
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..client.messages import CONFIRMED
from ..safety.permission import async_check_permission
from ..safety.policy import Policy
from ..texts import async_error_text, async_text
from ..turn import Effect, Turn
from .undo import ALREADY, CHANGED_SINCE, FAILED, NOT_POSSIBLE, RESTORED, HaUndo

_UNCONFIRMED = (Effect.UNCHANGED, Effect.UNAVAILABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoAnswer:
    """What is said; empty when the owner has to be asked first."""

    text: str
    done: bool


async def async_undo(hass: HomeAssistant, turn: Turn, policy: Policy, tool: HaUndo, chat_log: ChatLog) -> UndoAnswer:
    """Take back what was done last, under the policy; it stands in the chat log as a call that code has made."""
    try:
        plan = await tool.plan(hass, {}, turn)
        await async_check_permission(hass, turn.user, plan)
    except HomeAssistantError as err:
        return UndoAnswer(text=await async_error_text(hass, turn.language, _with_names(hass, err)), done=False)
    call = llm.ToolInput(tool_name=tool.name, tool_args={}, external=True)
    result = await policy.async_call(turn, tool, call)
    if turn.request_id is not None:
        return UndoAnswer(text="", done=True)
    chat_log.async_add_assistant_content_without_tools(
        AssistantContent(
            agent_id=turn.agent_id, tool_calls=[call], native=CONFIRMED if turn.profile.native_tools else None
        )
    )
    chat_log.async_add_assistant_content_without_tools(
        ToolResultContent(agent_id=turn.agent_id, tool_call_id=call.id, tool_name=call.tool_name, result=result)
    )
    if result.error:
        return UndoAnswer(text=await async_text(hass, turn.language, "undo_refused"), done=False)
    told = cast(Mapping[str, Any], result.data["result"])
    return UndoAnswer(text=await async_told(hass, turn.language, told), done=not told.get(FAILED))


async def async_told(hass: HomeAssistant, language: str, told: Mapping[str, Any]) -> str:
    """Return the result of `ha_undo` in words."""
    rows = told[RESTORED]
    silent = [row["entity_id"] for row in rows if row["outcome"] in _UNCONFIRMED]
    restored = [row["entity_id"] for row in rows if row["entity_id"] not in silent]
    sentences = [
        await async_text(hass, language, key, target=_names(hass, entity_ids))
        for key, entity_ids in (
            ("undo_restored", restored),
            ("undo_already", told.get(ALREADY, [])),
            ("undo_unconfirmed", silent),
            ("undo_failed", told.get(FAILED, [])),
            ("undo_changed", told.get(CHANGED_SINCE, [])),
            ("undo_impossible", told.get(NOT_POSSIBLE, [])),
        )
        if entity_ids
    ]
    return " ".join(sentences)


def _names(hass: HomeAssistant, entity_ids: Iterable[str]) -> str:
    return ", ".join(state.name if (state := hass.states.get(item)) else item for item in entity_ids)


def _with_names(hass: HomeAssistant, error: HomeAssistantError) -> HomeAssistantError:
    """Return the error with the name of its entity instead of the id."""
    if (placeholders := error.translation_placeholders) and "target" in placeholders:
        error.translation_placeholders = {**placeholders, "target": _names(hass, placeholders["target"].split(", "))}
    return error
