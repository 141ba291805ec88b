"""What is kept of a tool call: names, ids, numbers, outcome, duration. Neither secrets nor anything that was said.

A model writes what it was told wherever a tool takes text, under names that cannot be listed. So a text is kept only when it
is known to be none of the user's: an id, the name of an action, one of the choices that every home has.
"""

from collections.abc import Mapping
import fnmatch
from itertools import islice
import re

from homeassistant.const import ATTR_DEVICE_CLASS, Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util.color import COLORS

from ..home.domains import DOMAINS
from ..support.masking import MASK, SECRET
from .tool import HomeAgentTool

MAX_TEXT = 200  # characters of one parameter
MAX_ITEMS = 20
MAX_DEPTH = 4
MAX_NUMBER = 2**63  # beyond it no encoder of events takes it
_FREE_TEXT = frozenset({"message", "item", "text", "prompt", "query", "description", "value_text", "rename"})
_PARAMETER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMING = frozenset({"action", "aggregate", "attributes", "device_class", "domain", "service"})
"""Arguments of the tools themselves whose values are names of Home Assistant's."""
_NAME = re.compile(r"[a-z_]{1,40}(?:\.[a-z_]{1,40})?")
_ID = re.compile(r"([a-z_]+|[a-z_]*\*)\.[a-z0-9_*?]+|\*")
_DOMAINS = frozenset({*Platform, *DOMAINS, "group", "plant", "schedule"})
_QUANTITY = re.compile(r"[-+]?\d{1,6}(?:[.,]\d{1,3})?\s?(?:%|°[CF]?|K|ms|s|min|m|h|d)")
_CHOICES = frozenset(
    {
        *COLORS, "auto", "avg", "away", "boost", "close", "closed", "comfort", "completed", "cool", "count", "dry", "eco",
        "fan_only", "forward", "heat", "heat_cool", "high", "home", "lock", "locked", "low", "max", "medium", "min",
        "needs_action", "none", "off", "on", "open", "pause", "play", "reverse", "sleep", "stop", "sum", "toggle",
        "turn_off", "turn_on", "unlock", "unlocked",
    }
)  # fmt: skip

_SERVICES = frozenset(
    {name for record in DOMAINS.values() for key, action in record.actions.items() for name in (key, action.service)}
) | {"turn_on", "turn_off", "toggle", "set_value"}
_FIELDS = frozenset(
    {field for record in DOMAINS.values() for action in record.actions.values() for field in action.fields}
) | {"entity_id", "device_id", "area_id", "floor_id", "label_id", "parameters", "variables", "target", "data"}
"""Parameters of actions, which a tool's schema does not name one by one."""

_TEXT_DOMAINS = frozenset(name for name, record in DOMAINS.items() if record.holds_text)
"""Their states, items and events are written by people."""
_ANSWERS = frozenset(
    {"answer", "content", "dropped", "events", "forgotten", "items", "memories", "replaced", "speech", "wish"}
)
"""Parts of results that are sentences or written by people."""
_SAID_FOR_LATER = frozenset({"subject", "when"})
"""Parts of the row of a wish (policy/effects/wish_change.py) that repeat what was said."""
_OF_AN_ENTITY = frozenset({"area", "entity_id", "last_changed", "name", "outcome"})


def masked(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return parameters with only numbers, ids and names of the home; all else is replaced, in keys as well. Never raises."""
    return {
        name if _PARAMETER.fullmatch(name := str(key)) else MASK: _kept(name, value, named=name in _NAMING)
        for key, value in islice(parameters.items(), MAX_ITEMS)
    }


def told(hass: HomeAssistant, tool: HomeAgentTool | None, parameters: Mapping[str, object]) -> dict[str, object]:
    """Return parameters as events carry them: as `masked` does, and without keys and ids that a model made up. Never raises."""
    keys = _FIELDS | {str(key) for key in getattr(getattr(tool, "parameters", None), "schema", None) or ()}
    keys |= _named_in(getattr(tool, "wire_parameters", None))
    return {_known_key(key, keys): _known(hass, keys, item, key) for key, item in masked(parameters).items()}


def _known(hass: HomeAssistant, keys: frozenset[str], value: object, of: str) -> object:
    match value:
        case Mapping():
            return {_known_key(str(key), keys): _known(hass, keys, item, str(key)) for key, item in value.items()}
        case list():
            return [_known(hass, keys, item, of) for item in value]
        case str() if value == MASK or value in _CHOICES or _QUANTITY.fullmatch(value):
            return value
        case str():
            parts = [part.strip() for part in value.split(",")]
            return value if all(_is_there(hass, part, of) for part in parts) else MASK
    return value


def _known_key(key: str, keys: frozenset[str]) -> str:
    return key if key in keys else MASK


def _is_there(hass: HomeAssistant, text: str, of: str) -> bool:
    """Return whether a text names something of this home, or of every home."""
    if text in ("…", "*") or text in _DOMAINS or text in _SERVICES:
        return True
    domain, _, name = text.partition(".")
    if name.strip("*") == "" and "*" in text:
        return domain.strip("*") in _DOMAINS or not domain.strip("*")
    if hass.services.has_service(domain, name) or hass.states.get(text) is not None:
        return True
    if er.async_get(hass).async_get(text) is not None:
        return True
    if "*" in text or "?" in text:
        matches = re.compile(fnmatch.translate(text)).match
        return any(map(matches, hass.states.async_entity_ids()))
    if of == "attributes":
        return any(text in state.attributes for state in hass.states.async_all())
    return of == "device_class" and any(
        state.attributes.get(ATTR_DEVICE_CLASS) == text for state in hass.states.async_all()
    )


def _named_in(schema: object) -> frozenset[str]:
    """Return the names of properties in a JSON schema, at any depth."""
    found, left = set[str](), [schema]
    while left:
        match left.pop():
            case Mapping() as item:
                properties = item.get("properties")
                found.update(map(str, properties) if isinstance(properties, Mapping) else ())
                left += item.values()
            case list() as items:
                left += items
    return frozenset(found)


def masked_result(value: object, *, inside: bool = False) -> object:
    """Return a result as events carry it: without what lists and texts hold, and without sentences.

    `inside`: it is a part of one; a text there is told unless its key or its entity says that a person wrote it.
    """
    match value:
        case str():
            return value if inside else MASK
        case Mapping():
            entity_id = value.get("entity_id")
            is_text = isinstance(entity_id, str) and entity_id.partition(".")[0] in _TEXT_DOMAINS
            kept: dict[object, object] = {}
            for key, item in value.items():
                holds_words = (
                    key in _ANSWERS
                    or ("wish" in value and key in _SAID_FOR_LATER)
                    or (isinstance(key, str) and key.partition(".")[0] in _TEXT_DOMAINS)
                )
                if not holds_words and is_text and key not in _OF_AN_ENTITY:
                    holds_words = not isinstance(item, (int, float, type(None)))
                nested = isinstance(item, (Mapping, list, tuple))
                kept[key] = MASK if holds_words else masked_result(item, inside=True) if nested else item
            return kept
        case list() | tuple():
            return [masked_result(item, inside=True) for item in value]
    return value


def _kept(of: str, value: object, *, named: bool = False, depth: int = 0) -> object:
    """Return a value under its key `of`; `named`: it may be any name of Home Assistant's."""
    if SECRET.search(of) or of in _FREE_TEXT:
        return MASK
    match value:
        case None | bool() | float():
            return value
        case int():
            return value if abs(value) < MAX_NUMBER else MASK
        case str() if value in _CHOICES or _QUANTITY.fullmatch(value) or (named and _NAME.fullmatch(value)):
            return value[:MAX_TEXT]
        case str():
            ids = [_ID.fullmatch(part.strip()) for part in value.split(",")]
            are_ids = all(found and (not found[1] or "*" in found[1] or found[1] in _DOMAINS) for found in ids)
            return value[:MAX_TEXT] if are_ids else MASK
        case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
            return "…"
        case Mapping():
            return {
                name if _PARAMETER.fullmatch(name := str(key)) else MASK: _kept(name, item, depth=depth + 1)
                for key, item in islice(value.items(), MAX_ITEMS)
            }
        case list() | tuple():
            return [_kept("", item, named=named, depth=depth + 1) for item in value[:MAX_ITEMS]]
    return MASK
