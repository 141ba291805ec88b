"""The actions of the integration, by subject."""

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.service import async_register_admin_service

from ..support.const import DOMAIN
from . import agents, journal, memories, planned, search, taught


@callback
def async_register_services(hass: HomeAssistant) -> None:
    """Register the actions."""
    for module in (agents, journal, memories, planned, search, taught):
        for name, handler, schema, response, for_admins in module.ACTIONS:
            if for_admins:
                async_register_admin_service(hass, DOMAIN, name, handler, schema, supports_response=response)
            else:
                hass.services.async_register(DOMAIN, name, handler, schema, supports_response=response)
