"""What Home Assistant's backup waits for: everything that is kept is on the disk."""

from homeassistant.core import HomeAssistant

from .support.kept import kept_things


async def async_pre_backup(hass: HomeAssistant) -> None:
    """Write what is not yet written."""
    await kept_things(hass).async_flush()


async def async_post_backup(hass: HomeAssistant) -> None:
    """Do nothing: files are written whole, also while a backup is made."""
