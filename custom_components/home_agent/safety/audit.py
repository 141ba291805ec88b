"""What is kept of a tool call: names, ids, outcome, duration. Secrets are masked, nothing that was said is kept."""

from collections.abc import Mapping
import re

from homeassistant.core import HomeAssistant, callback

from .. import events
from ..const import LOGGER
from ..turn import ToolCallRecord, Turn

MASK = "**masked**"
MAX_TEXT = 200  # characters of one parameter
MAX_DEPTH = 4

_SECRET = re.compile(r"code|pin|pass|secret|token|key|credential|auth", re.IGNORECASE)
_FREE_TEXT = frozenset({"message", "item", "text", "prompt", "query", "description", "value_text", "rename"})


def masked(parameters: Mapping[str, object], depth: int = 0) -> dict[str, object]:
    """Return parameters that may be kept: secrets and words of the user replaced, long values cut."""
    return {
        key: MASK if is_secret(key) or key in _FREE_TEXT else _value(value, depth) for key, value in parameters.items()
    }


def is_secret(key: str) -> bool:
    """Return whether a parameter of this name holds a secret."""
    return _SECRET.search(key) is not None


def _value(value: object, depth: int) -> object:
    match value:
        case Mapping():
            return masked(value, depth + 1) if depth < MAX_DEPTH else "…"
        case list() | tuple():
            return [_value(item, depth + 1) for item in value[:20]] if depth < MAX_DEPTH else "…"
        case str() if len(value) > MAX_TEXT:
            return f"{value[:MAX_TEXT]}…"
        case _:
            return value


@callback
def async_record(hass: HomeAssistant, turn: Turn, record: ToolCallRecord, result: object) -> None:
    """Keep the call on the turn, write the audit line and tell the rest of the house."""
    turn.calls.append(record)
    LOGGER.info(
        "Tool %s: %s in %d ms (conversation %s, user %s%s)",
        record.tool_name,
        "done" if record.success else "refused or failed",
        record.duration_ms,
        turn.conversation_id,
        turn.context.user_id,
        f", {record.error}" if record.error else "",
    )
    events.async_tool_executed(hass, turn, record, result)
