"""What we may know of: entities that are exposed to assistants, and of these only what the owner's list names, where there is one.

Home Assistant keeps one exposure for all its assistants. The list makes ours smaller, never larger.
"""

from collections.abc import Iterable

from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util.hass_dict import HassKey

from .const import ASSISTANT, DOMAIN
from .names import Names

DATA_ALLOWED: HassKey[Names] = HassKey(f"{DOMAIN}_allowed_entities")
"""The owner's list, while the entry is loaded; missing where there is none."""


@callback
def async_narrow(hass: HomeAssistant, names: Iterable[str]) -> CALLBACK_TYPE:
    """Share nothing but what these name, if they name anything: entity ids, domains, patterns. Returns how to take it back."""
    if names := tuple(names):
        hass.data[DATA_ALLOWED] = Names(names)

    @callback
    def widen() -> None:
        hass.data.pop(DATA_ALLOWED, None)

    return widen


def is_narrowed(hass: HomeAssistant) -> bool:
    """Return whether less is shared than what Home Assistant exposes."""
    return DATA_ALLOWED in hass.data


def is_shared(hass: HomeAssistant, entity_id: str) -> bool:
    """Return whether an entity is exposed and on the owner's list, whether it exists or not."""
    allowed = hass.data.get(DATA_ALLOWED)
    return (allowed is None or entity_id in allowed) and async_should_expose(hass, ASSISTANT, entity_id)
