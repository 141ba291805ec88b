"""Entity ids that stand in arguments, wherever in them: they count as targets."""

from collections.abc import Iterator, Mapping

from homeassistant.core import HomeAssistant, split_entity_id, valid_entity_id

from .capabilities import is_controllable


def entity_ids_in(hass: HomeAssistant, value: object) -> Iterator[str]:
    """Yield every text in a value, keys included, that reads as an entity id of this house, existing or not.

    Both have to get the same answer from the policy.
    """
    match value:
        case str():
            yield from (part for text in value.split(",") if _is_entity_id(hass, part := text.strip().casefold()))
        case Mapping():
            for key, item in value.items():
                yield from entity_ids_in(hass, key)
                yield from entity_ids_in(hass, item)
        case list() | tuple():
            for item in value:
                yield from entity_ids_in(hass, item)


def _is_entity_id(hass: HomeAssistant, text: str) -> bool:
    if not valid_entity_id(text):
        return False
    return is_controllable(text) or bool(hass.states.async_entity_ids_count(split_entity_id(text)[0]))
