"""The phones of people, to which the companion app of Home Assistant brings notifications."""

import asyncio
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import slugify

from ..support.const import LOGGER

MOBILE_APP = "mobile_app"
NOTIFY = "notify"
NOTIFY_TIMEOUT = 10  # seconds; the user who asked waits for it


async def async_notify(hass: HomeAssistant, service: str, data: dict[str, Any], context: Context) -> bool:
    """Send a notification, and return whether it was; one that cannot be sent leaves the other ways to reach a person."""
    try:
        async with asyncio.timeout(NOTIFY_TIMEOUT):
            await hass.services.async_call(NOTIFY, service, data, blocking=True, context=context)
    except Exception as err:  # noqa: BLE001 - notify integrations raise anything
        LOGGER.warning("%s.%s could not be used: %s", NOTIFY, service, type(err).__name__)
        return False
    return True


def phones_of(hass: HomeAssistant, user_id: str | None) -> dict[str, None]:
    """Return the notify actions of a user's phones; none without a user."""
    if user_id is None:
        return {}
    phones = (entry for entry in hass.config_entries.async_entries(MOBILE_APP) if entry.data.get("user_id") == user_id)
    return dict.fromkeys(name for entry in phones if (name := service_of_phone(hass, entry)))


def service_of_phone(hass: HomeAssistant, entry: ConfigEntry) -> str | None:
    """Return the notify action of a phone, which is named after the device; None if another user's phone has that name."""
    service = _name_of_phone(entry)
    return service if hass.services.has_service(NOTIFY, service) and not is_of_several(hass, service) else None


def _name_of_phone(entry: ConfigEntry) -> str:
    return slugify(f"{MOBILE_APP}_{entry.data.get('device_name', '')}")


def is_of_several(hass: HomeAssistant, service: str) -> bool:
    """Return whether phones of several users have a name: anyone may name a phone like another's."""
    phones = (entry for entry in hass.config_entries.async_entries(MOBILE_APP) if _name_of_phone(entry) == service)
    return len({entry.data.get("user_id") for entry in phones}) > 1
