"""What is kept of a tool call: names, ids, numbers, outcome, duration. Neither secrets nor anything that was said.

A model writes what it was told wherever a tool takes text, under names that nobody can list. So a text is kept only when it
is known to be none of the user's: an id, the name of an action, one of the choices that every house has.
"""

from collections.abc import Mapping
import re

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.util.color import COLORS

from .. import events
from ..const import LOGGER
from ..turn import ToolCallRecord, Turn

MASK = "**masked**"
MAX_TEXT = 200  # characters of one parameter
MAX_ITEMS = 20
MAX_DEPTH = 4
MAX_NUMBER = 2**63  # beyond it no encoder of events takes it

_SECRET = re.compile(r"code|pin|pass|secret|token|key|credential|auth", re.IGNORECASE)
_FREE_TEXT = frozenset({"message", "item", "text", "prompt", "query", "description", "value_text", "rename"})
_PARAMETER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMING = frozenset({"action", "aggregate", "attributes", "device_class", "domain", "service"})
"""Arguments of the tools themselves whose values are names of Home Assistant's."""
_NAME = re.compile(r"[a-z_]{1,40}(?:\.[a-z_]{1,40})?")
_ID = re.compile(r"([a-z_]+|[a-z_]*\*)\.[a-z0-9_*?]+|\*")
_DOMAINS = frozenset(
    {
        *Platform, "automation", "counter", "group", "input_boolean", "input_button", "input_datetime", "input_number",
        "input_select", "input_text", "person", "plant", "schedule", "script", "sun", "timer", "zone",
    }
)  # fmt: skip
_QUANTITY = re.compile(r"[-+]?\d{1,6}(?:[.,]\d{1,3})?\s?(?:%|°[CF]?|K|ms|s|min|m|h|d)")
_CHOICES = frozenset(
    {
        *COLORS, "auto", "avg", "away", "boost", "close", "closed", "comfort", "completed", "cool", "count", "dry", "eco",
        "fan_only", "forward", "heat", "heat_cool", "high", "home", "lock", "locked", "low", "max", "medium", "min",
        "needs_action", "none", "off", "on", "open", "pause", "play", "reverse", "sleep", "stop", "sum", "toggle",
        "turn_off", "turn_on", "unlock", "unlocked",
    }
)  # fmt: skip

_TEXT_DOMAINS = frozenset({"calendar", "input_text", "text", "todo"})
"""Their states, items and events are what somebody wrote or said."""
_ANSWERS = frozenset({"answer", "events", "items", "speech"})
"""Parts of results that are sentences, or what somebody wrote."""
_OF_AN_ENTITY = frozenset({"area", "entity_id", "last_changed", "name", "outcome"})


def masked(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return parameters that may be kept: numbers, ids and names of the house; everything else is replaced. Never raises."""
    return {_key(key): _kept(str(key), value, named=str(key) in _NAMING) for key, value in parameters.items()}


def masked_result(result: object) -> object:
    """Return a result as the rest of the house may hear it: without what lists and texts hold, and without sentences."""
    return MASK if isinstance(result, str) else _heard(result)


def is_secret(key: str) -> bool:
    """Return whether a parameter of this name holds a secret."""
    return _SECRET.search(key) is not None


def _key(key: object) -> str:
    """Return the name of a parameter; what reads like no name may be what was said."""
    return name if _PARAMETER.fullmatch(name := str(key)) else MASK


def _kept(key: str, value: object, *, named: bool = False, depth: int = 0) -> object:
    """Return a value under its key; `named`: it may be any name of Home Assistant's."""
    if is_secret(key) or key in _FREE_TEXT:
        return MASK
    match value:
        case None | bool() | float():
            return value
        case int():
            return value if abs(value) < MAX_NUMBER else MASK
        case str():
            return value[:MAX_TEXT] if _is_plain(value, named=named) else MASK
        case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
            return "…"
        case Mapping():
            return {_key(name): _kept(str(name), item, depth=depth + 1) for name, item in value.items()}
        case list() | tuple():
            return [_kept("", item, named=named, depth=depth + 1) for item in value[:MAX_ITEMS]]
    return MASK


def _is_plain(text: str, *, named: bool) -> bool:
    """Return whether a text is an id or several, a quantity, or a choice that is the same in every house."""
    if text in _CHOICES or _QUANTITY.fullmatch(text):
        return True
    return (named and _NAME.fullmatch(text) is not None) or all(_is_id(part.strip()) for part in text.split(","))


def _is_id(text: str) -> bool:
    match = _ID.fullmatch(text)
    return match is not None and (not match[1] or "*" in match[1] or match[1] in _DOMAINS)


def _heard(value: object) -> object:
    match value:
        case Mapping():
            written = _domain(value.get("entity_id")) in _TEXT_DOMAINS
            return {
                key: MASK if _holds_words(key, item, written=written) else _heard(item) for key, item in value.items()
            }
        case list() | tuple():
            return [_heard(item) for item in value]
    return value


def _holds_words(key: object, value: object, *, written: bool) -> bool:
    """Return whether a part of a result is what somebody wrote; `written`: it is part of what a text entity is."""
    if key in _ANSWERS or _domain(key) in _TEXT_DOMAINS:
        return True
    return written and key not in _OF_AN_ENTITY and not isinstance(value, (int, float, type(None)))


def _domain(entity_id: object) -> str:
    return entity_id.partition(".")[0] if isinstance(entity_id, str) else ""


@callback
def async_record(hass: HomeAssistant, turn: Turn, record: ToolCallRecord, result: object) -> None:
    """Keep the call on the turn, write the audit line and tell the rest of the house.

    An error is told by its class: its sentence may quote what was said.
    """
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
    events.async_tool_executed(hass, turn, record, masked_result(result) if record.success else record.error)
