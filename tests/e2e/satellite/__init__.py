"""A voice satellite without a microphone: it listens to silence as long as a test lets it."""

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant

PLATFORMS = (Platform.ASSIST_SATELLITE, Platform.STT)


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry[list[str]]) -> bool:
    """Add the satellite, which has heard nothing yet."""
    entry.runtime_data = []
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ConfigEntry[list[str]]) -> bool:
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)
