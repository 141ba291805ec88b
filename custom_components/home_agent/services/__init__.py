"""The actions of the integration, by subject."""

from homeassistant.core import HomeAssistant, callback

from .agents import async_register_agents
from .journal import async_register_journal
from .memories import async_register_memories
from .names import async_register_names
from .phrases import async_register_phrases
from .search import async_register_search


@callback
def async_register_services(hass: HomeAssistant) -> None:
    """Register the actions."""
    async_register_agents(hass)
    async_register_journal(hass)
    async_register_memories(hass)
    async_register_names(hass)
    async_register_phrases(hass)
    async_register_search(hass)
