"""Shared parts of the actions: fields, the loaded entry, the caller as a turn, errors."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv, service
from homeassistant.helpers.typing import VolSchemaType
import probatio

from ..agent.runtime import HomeAgentConfigEntry, RuntimeData
from ..policy.channels import async_reaches_others, is_channel
from ..settings.profile import Profile
from ..support.const import DOMAIN
from ..turn.turn import Turn, current_turn

type ServiceDefinition = tuple[
    str, Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse]], VolSchemaType, SupportsResponse
]
"""Name, handler, schema, and whether it responds."""
CONFIRM_VIA = {probatio.Optional("confirm_via"): probatio.All(cv.ensure_list_csv, [cv.string])}


def runtime_of(hass: HomeAssistant) -> RuntimeData:
    """Return the loaded entry's runtime data. Raises `ServiceValidationError` if it is not loaded."""
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
    if not entries:
        raise invalid("not_loaded")
    return entries[0].runtime_data


def invalid(key: str, **placeholders: str) -> ServiceValidationError:
    """Return the error for wrong input, with the sentence `key`."""
    return ServiceValidationError(translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders)


async def async_turn(call: ServiceCall, profile: Profile, conversation_id: str, agent_id: str = "") -> Turn:
    """Return a turn without text.

    Confirmations are asked for on the channels of `confirm_via`, else in the response, unless another turn runs the action:
    its model could confirm by itself.
    """
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    return Turn(
        profile=profile,
        conversation_id=conversation_id,
        text="",
        language=call.hass.config.language,
        context=call.context,
        user=user,
        agent_id=agent_id,
        confirm_via=await async_channels(call, user),
        direct=call.return_response and current_turn.get(None) is None,
    )


async def async_channels(call: ServiceCall, user: User | None) -> tuple[str, ...]:
    """Return the channels for confirmations.

    Raises `ServiceValidationError` for an unknown channel, or the phone of a user who may not confirm.
    """
    channels = tuple(call.data.get("confirm_via", ()))
    for channel in channels:
        if not is_channel(call.hass, channel):
            raise invalid("confirm_via_unknown", channel=channel)
        if await async_reaches_others(call.hass, channel, user):
            raise invalid("confirm_via_others", channel=channel)
    return channels


@callback
def async_register(hass: HomeAssistant, actions: Iterable[ServiceDefinition], *, admin: bool = False) -> None:
    """Register actions for all users, or for administrators only."""
    for name, handler, schema, response in actions:
        if admin:
            service.async_register_admin_service(hass, DOMAIN, name, handler, schema, supports_response=response)
        else:
            hass.services.async_register(DOMAIN, name, handler, schema, supports_response=response)
