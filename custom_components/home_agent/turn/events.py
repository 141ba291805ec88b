"""The `home_agent.*` events: ids, counts and milliseconds, never texts of a conversation.

The recorder keeps events, so their data is small: results are cut at 2,048 characters, lists of ids at 200.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
import time

from homeassistant.const import Platform
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ..support.const import CONF_EMIT_EVENTS, DOMAIN
from ..support.encoding import dump
from ..support.errors import CustomToolError, KnowledgeError, LLMError, McpError, RetrievalError, ToolError
from .turn import ToolCallRecord, Turn, current_turn

CONVERSATION_STARTED = f"{DOMAIN}.conversation.started"
CONVERSATION_FINISHED = f"{DOMAIN}.conversation.finished"
TOOL_EXECUTED = f"{DOMAIN}.tool.executed"
TOOL_PROGRESS = f"{DOMAIN}.tool.progress"
CONTEXT_INJECTED = f"{DOMAIN}.context.injected"
CONTEXT_OPTIMIZED = f"{DOMAIN}.context.optimized"
CONFIRMATION_REQUESTED = f"{DOMAIN}.confirmation.requested"
CONFIRMATION_RESOLVED = f"{DOMAIN}.confirmation.resolved"
ACTION_EXECUTED = f"{DOMAIN}.action.executed"
"""Fired by the journal for each action that it keeps."""
ACTION_UNDONE = f"{DOMAIN}.action.undone"
WISH_CREATED = f"{DOMAIN}.wish.created"
WISH_CHANGED = f"{DOMAIN}.wish.changed"
WISH_CANCELLED = f"{DOMAIN}.wish.cancelled"
WISH_DONE = f"{DOMAIN}.wish.done"
WISH_FAILED = f"{DOMAIN}.wish.failed"
HISTORY_SAVED = f"{DOMAIN}.history.saved"
VECTOR_DB_QUERIED = f"{DOMAIN}.vector_db.queried"
INDEX_PROGRESS = f"{DOMAIN}.index.progress"
MEMORY_EXTRACTED = f"{DOMAIN}.memory.extracted"
STREAMING_ERROR = f"{DOMAIN}.streaming.error"
ERROR = f"{DOMAIN}.error"

KEPT_PARTIAL_ANSWER = "kept_partial_answer"
KEPT_TOOL_CALLS = "kept_tool_calls"
KEPT_NOTHING = "kept_nothing"
OFF = "off"
MAX_RESULT = 2048  # characters
MAX_IDS = 200


@callback
def _fire(hass: HomeAssistant, turn: Turn | None, event: str, data: Mapping[str, object]) -> None:
    """Fire an event if the entry has events on; errors are always fired."""
    if turn is not None and turn.rehearsal:
        return
    if event != ERROR and not _are_on(hass):
        return
    if turn is not None:
        async_announce(hass, turn)
        data = {
            "conversation_id": turn.conversation_id,
            "profile": turn.profile.name,
            "profile_id": turn.profile.profile_id,
            **data,
        }
        if turn.parent is not None:
            data["parent_conversation_id"] = turn.parent.conversation_id
    hass.bus.async_fire(event, dict(data), context=turn.context if turn is not None else None)


def _are_on(hass: HomeAssistant) -> bool:
    entries = hass.config_entries.async_entries(DOMAIN)  # also while it is unloaded, which ends questions
    return bool(entries) and bool(entries[0].options.get(CONF_EMIT_EVENTS, True))


@callback
def async_conversation_started(hass: HomeAssistant, turn: Turn) -> None:
    """Fire that an input arrived, once its context mode is known; at the latest before the turn's next event."""
    turn.record.is_announced = False
    if turn.record.context_mode:
        async_announce(hass, turn)


@callback
def async_announce(hass: HomeAssistant, turn: Turn) -> None:
    """Fire that an input arrived, unless that was fired; without a context mode no model is asked."""
    if turn.record.is_announced:
        return
    turn.record.is_announced = True
    data = {
        "user_id": turn.context.user_id,
        "timestamp": (dt_util.utcnow() - timedelta(seconds=time.perf_counter() - turn.record.started)).isoformat(),
        "context_mode": turn.record.context_mode or OFF,
    }
    _fire(hass, turn, CONVERSATION_STARTED, data)


@callback
def async_conversation_finished(hass: HomeAssistant, turn: Turn) -> None:
    """Fire the figures of an answer. Token counts are the endpoint's own."""
    record = turn.record
    usage, routing = record.usage, record.routing
    data = {
        "user_id": turn.context.user_id,
        "tool_calls": len(record.calls),
        "tool_breakdown": dict(Counter(call.tool_name for call in record.calls)),
        "tokens_used": {**usage.as_dict(), "total": usage.input_tokens + usage.output_tokens},
        "cached_share": usage.cached_share,
        "prompt_ms": usage.prompt_ms,
        "first_token_ms": record.first_token_ms,
        "duration_ms": record.duration_ms,
        "used_external_llm": record.used_external_llm,
        "model_requests": record.requests + (routing.requests if routing is not None else 0),
        "routing": routing.as_dict() if routing is not None else None,
        "answered_by": record.origin.value,
        "understanding": record.understanding.as_dict() if record.understanding is not None else None,
    }
    _fire(hass, turn, CONVERSATION_FINISHED, data)


@callback
def async_tool_progress(hass: HomeAssistant, turn: Turn, tool_name: str, status: str) -> None:
    """Fire that a tool call `started`, `completed` or `failed`."""
    _fire(hass, turn, TOOL_PROGRESS, {"tool_name": tool_name, "status": status})


@callback
def async_tool_executed(hass: HomeAssistant, turn: Turn, record: ToolCallRecord, result: object) -> None:
    """Fire a tool call with its masked parameters and its cut result."""
    data = {
        "tool_name": record.tool_name,
        "parameters": record.parameters,
        "result": dump(result).decode()[:MAX_RESULT],
        "success": record.success,
        "duration_ms": record.duration_ms,
    }
    _fire(hass, turn, TOOL_EXECUTED, data)


@callback
def async_context_injected(
    hass: HomeAssistant, turn: Turn, mode: str, entity_ids: Sequence[str], tokens: int, items: Mapping[str, int]
) -> None:
    """Fire the entities that the model was told, the number of passages by kind, and about how many tokens they took."""
    data = {
        "mode": mode,
        "entities_included": list(entity_ids[:MAX_IDS]),
        "entity_count": len(entity_ids),
        "item_counts": dict(items),
        "token_count": tokens,
        "vector_db_query": turn.record.vector_db_query,
    }
    _fire(hass, turn, CONTEXT_INJECTED, data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimized:
    """Size of the context before and after it was cut. Tokens are estimates."""

    original_tokens: int
    optimized_tokens: int
    was_truncated: bool  # something relevant did not fit
    rounds_dropped: int
    entities_left_out: int
    attributes_left_out: bool
    home_map_reduced: bool


@callback
def async_context_optimized(hass: HomeAssistant, turn: Turn, optimized: Optimized) -> None:
    """Fire how much of the context was left out, if anything was."""
    if optimized.was_truncated or optimized.original_tokens > optimized.optimized_tokens:
        _fire(hass, turn, CONTEXT_OPTIMIZED, asdict(optimized))


@callback
def async_vector_db_queried(hass: HomeAssistant, counts: Mapping[str, int], ids: Sequence[str], began: float) -> None:
    """Fire, in a turn, the number of found documents by collection, and the entities; `began` is of `time.perf_counter`."""
    if (turn := current_turn.get(None)) is None:
        return
    results = sum(counts.values())
    data = {
        "collections": dict(counts),
        "entities": list(ids[:MAX_IDS]),
        "results": results,
        "duration_ms": round((time.perf_counter() - began) * 1000),
    }
    before = turn.record.vector_db_query or {"collections": {}, "results": 0}
    turn.record.vector_db_query = {
        "collections": {**before["collections"], **counts},
        "results": before["results"] + results,
    }
    _fire(hass, turn, VECTOR_DB_QUERIED, data)


class IndexProgress:
    """Fires the progress of writing a collection: at the start, at each tenth, and at the end."""

    def __init__(self, hass: HomeAssistant, collection: str) -> None:
        """Fire nothing yet."""
        self._hass = hass
        self._collection = collection
        self._done = 0
        self._total = 0

    @callback
    def async_advance(self, done: int, total: int) -> None:
        """Fire that `done` of `total` documents are written, if that is the first or another tenth."""
        before, self._done, self._total = self._done, done, total
        if not before:
            self._async_fire("started")
        elif done * 10 // total > before * 10 // total and done < total:
            self._async_fire("running")

    @callback
    def async_end(self, status: str) -> None:
        """Fire that writing is `completed` or `failed`, if its start was fired."""
        if self._total:
            self._async_fire(status)

    def _async_fire(self, status: str) -> None:
        data = {"collection": self._collection, "status": status, "done": self._done, "total": self._total}
        _fire(self._hass, None, INDEX_PROGRESS, data)


@callback
def async_confirmation_requested(
    hass: HomeAssistant, turn: Turn, request_id: str, tools: Sequence[str], expires: datetime
) -> None:
    """Fire that a confirmation is requested, and when it expires."""
    data = {
        "request_id": request_id,
        "user_id": turn.context.user_id,
        "tools": list(tools),
        "expires": expires.isoformat(),
    }
    _fire(hass, turn, CONFIRMATION_REQUESTED, data)


@callback
def async_confirmation_resolved(
    hass: HomeAssistant, turn: Turn, request_id: str, outcome: str, user_id: str | None
) -> None:
    """Fire that a confirmation is `confirmed`, `rejected`, `expired` or `cancelled`, and by which user."""
    _fire(hass, turn, CONFIRMATION_RESOLVED, {"request_id": request_id, "user_id": user_id, "outcome": outcome})


@callback
def async_action_undone(hass: HomeAssistant, turn: Turn, action_ids: Sequence[str], entity_ids: Sequence[str]) -> None:
    """Fire that a user undid actions, and which entities were restored."""
    data = {
        "user_id": turn.context.user_id,
        "action_ids": list(action_ids[:MAX_IDS]),
        "entity_ids": list(entity_ids[:MAX_IDS]),
    }
    _fire(hass, turn, ACTION_UNDONE, data)


@callback
def async_wish(hass: HomeAssistant, event: str, data: Mapping[str, object], context: Context | None) -> None:
    """Fire what became of a wish (`Wish.as_event`), with the entity of its agent."""
    if not _are_on(hass):
        return
    entity_ids, subentry_id = data.get("entity_ids"), str(data.get("agent_id"))
    told = {**data, "entity_ids": entity_ids[:MAX_IDS] if isinstance(entity_ids, list) else []}
    told["agent_id"] = er.async_get(hass).async_get_entity_id(Platform.CONVERSATION, DOMAIN, subentry_id)
    hass.bus.async_fire(event, told, context=context)


@callback
def async_history_saved(hass: HomeAssistant, turn: Turn, added: int, total: int, *, persists: bool) -> None:
    """Fire that a round is kept: its messages, those of the conversation, and whether they are stored on disk."""
    data = {"user_id": turn.context.user_id, "messages_added": added, "message_count": total, "persistent": persists}
    _fire(hass, turn, HISTORY_SAVED, data)


@callback
def async_memory_extracted(hass: HomeAssistant, turn: Turn, figures: Mapping[str, object]) -> None:
    """Fire the result of an extraction of memories, also a failed one: counts and ids."""
    _fire(hass, turn, MEMORY_EXTRACTED, {"user_id": turn.context.user_id, **figures})


@callback
def async_streaming_error(
    hass: HomeAssistant, turn: Turn, error: Exception, fallback: str = KEPT_PARTIAL_ANSWER
) -> None:
    """Fire that an answer broke off; `fallback` tells what was kept of it."""
    _fire(hass, turn, STREAMING_ERROR, {"error_type": type(error).__name__, "fallback": fallback})


def component_of(error: Exception) -> str:
    """Return the origin of an error: `model`, `search`, `tools`, or `conversation`."""
    match error:
        case LLMError():
            return "model"
        case RetrievalError() | KnowledgeError():
            return "search"
        case ToolError() | CustomToolError() | McpError():
            return "tools"
    return "conversation"


@callback
def async_error(hass: HomeAssistant, turn: Turn, error: Exception, component: str) -> None:
    """Fire that a turn failed, with the error's class and key, without its text."""
    key = error.translation_key if isinstance(error, HomeAssistantError) else None
    data = {
        "error_type": type(error).__name__,
        "error_message": key or type(error).__name__,
        "component": component,
        "context": {"agent_id": turn.agent_id, "duration_ms": turn.record.duration_ms},
    }
    _fire(hass, turn, ERROR, data)
