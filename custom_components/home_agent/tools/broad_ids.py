"""Values of a script's variables that Home Assistant would take for many entities at once."""

from collections.abc import Iterator, Mapping

from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    floor_registry as fr,
    label_registry as lr,
)

from ..safety.tool import ToolRefusal

_AROUND = " \t\r\n'\"[](){}"
"""What a template takes off a text that reads as a literal of Python."""


def refuse_broad_ids(hass: HomeAssistant, value: object) -> None:
    """Refuse the ids of areas, floors, labels and devices, wherever in a value.

    What they stand for when the script runs cannot be checked before. Raises `ToolRefusal`.
    """
    for text in _texts(value):
        if _is_broad_id(hass, text):
            raise ToolRefusal(f"'{text}' may stand for many entities: name each of them by its entity id.")


def _is_broad_id(hass: HomeAssistant, text: str) -> bool:
    return (
        ar.async_get(hass).async_get_area(text) is not None
        or fr.async_get(hass).async_get_floor(text) is not None
        or lr.async_get(hass).async_get_label(text) is not None
        or dr.async_get(hass).async_get(text) is not None
    )


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield from (part.strip(_AROUND) for part in value.split(","))
        case Mapping():
            for item in value.values():
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)
