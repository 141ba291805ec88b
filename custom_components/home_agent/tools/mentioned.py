"""Entity ids that stand in arguments, wherever in them: they count as targets."""

import ast
from collections.abc import Iterator, Mapping

from homeassistant.const import ENTITY_MATCH_ALL
from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id
from homeassistant.helpers import entity_registry as er

from .capabilities import is_controllable
from .groups import open_members

_LITERALS = ("[", "(", "{", "'", '"')
_MAX_LITERAL = 10_000  # characters


def variables_name(hass: HomeAssistant, variables: object) -> Iterator[str]:
    """Yield what the variables of a script name; `all`, which no house has, stands for everything and is no target."""
    yield from entity_ids_in(hass, variables)
    if _says_all(variables):
        yield ENTITY_MATCH_ALL


def entity_ids_in(hass: HomeAssistant, value: object) -> Iterator[str]:
    """Yield every text in a value, keys included, that reads as an entity id of this house, existing or not.

    Both have to get the same answer from the policy. A text also reads as an entity id when Home Assistant makes one of it:
    a registry id, or a list written as text, which a template that prints it turns into a list. A group names what is in it,
    but for what it hides.
    """
    match value:
        case str():
            for text in value.split(","):
                if entity_id := _entity_id(hass, text.strip()):
                    yield entity_id
                    yield from open_members(hass, entity_id)
            if (literal := _literal(value.strip())) is not None:
                yield from entity_ids_in(hass, literal)
        case Mapping():
            for key, item in value.items():
                yield from entity_ids_in(hass, key)
                yield from entity_ids_in(hass, item)
        case list() | tuple() | set():
            for item in value:
                yield from entity_ids_in(hass, item)


def _says_all(value: object) -> bool:
    match value:
        case str():
            literal = _literal(value.strip())
            return value.strip().casefold() == ENTITY_MATCH_ALL or (literal is not None and _says_all(literal))
        case Mapping():
            return any(_says_all(item) for item in value.values())
        case list() | tuple() | set():
            return any(_says_all(item) for item in value)
    return False


def _entity_id(hass: HomeAssistant, text: str) -> str | None:
    if (entry := er.async_get(hass).entities.get_entry(text)) is not None:
        return entry.entity_id
    text = text.casefold()
    if not valid_entity_id(text):
        return None
    known = is_controllable(text) or bool(hass.states.async_entity_ids_count(split_entity_id(text)[0]))
    return text if known else None


def _literal(text: str) -> object:
    """Return the value that a template would make of a text; None when it stays a text."""
    if not text.startswith(_LITERALS) or len(text) > _MAX_LITERAL:
        return None
    try:
        found: object = ast.literal_eval(text)
    except ValueError, SyntaxError, TypeError, MemoryError, RecursionError:
        return None
    return None if found == text else found
