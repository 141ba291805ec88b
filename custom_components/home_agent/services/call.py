"""Shared parts of the actions: fields, the loaded entry, the caller as a turn, errors."""

from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, NamedTuple

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.typing import VolSchemaType
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
import probatio

from ..agent.runtime import HomeAgentConfigEntry, RuntimeData
from ..policy.channels import async_reaches_others, is_channel
from ..policy.tool import NOT_STORED, ON_DISK
from ..settings.profile import Profile
from ..support.const import DOMAIN
from ..support.kept import Kept
from ..support.localize import async_text
from ..turn.turn import Turn, current_turn

MAX_TOLD = 2_000  # characters of a value in an error: lists of agents and tools, and what was given
CONFIRM_VIA = {probatio.Optional("confirm_via"): probatio.All(cv.ensure_list_csv, [cv.string])}


class ServiceAction(NamedTuple):
    """An action of the integration."""

    name: str
    handler: Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse]]
    schema: VolSchemaType = probatio.Schema({})
    response: SupportsResponse = SupportsResponse.OPTIONAL
    for_admins: bool = False


def runtime_of(hass: HomeAssistant) -> RuntimeData:
    """Return the loaded entry's runtime data. Raises `ServiceValidationError` if it is not loaded, or just being loaded."""
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
    if not entries:
        is_busy = any(entry.setup_lock.locked() for entry in hass.config_entries.async_entries(DOMAIN))
        raise invalid("reloading" if is_busy else "not_loaded")
    return entries[0].runtime_data


def invalid(key: str, **placeholders: str) -> ServiceValidationError:
    """Return the error for wrong input, with the sentence `key`; values in it are cut after `MAX_TOLD` characters."""
    told = {name: text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}…" for name, text in placeholders.items()}
    return ServiceValidationError(translation_domain=DOMAIN, translation_key=key, translation_placeholders=told)


def moment(value: object) -> datetime:
    """Return a time in UTC. Raises `probatio.Invalid` for one that has none, in the first or last hours of the calendar."""
    try:
        return dt_util.as_utc(cv.datetime(value))
    except OverflowError as err:
        raise probatio.Invalid("no time") from err


async def async_stored(
    call: ServiceCall, done: JsonObjectType, kept: Kept[Any], *, changed: bool = True
) -> ServiceResponse:
    """Return what was done once it is on the disk; with a note if the disk cannot be written, or raise that without a response.

    If nothing of what is kept was `changed`, there is nothing to store.
    """
    if not changed or (await kept.async_flush() and kept.is_stored):
        return done
    if not call.return_response:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key=NOT_STORED)
    return {**done, ON_DISK: False, "note": await async_text(call.hass, call.hass.config.language, NOT_STORED)}


async def async_user(call: ServiceCall) -> User | None:
    """Return the calling user; None for an automation, a voice device or a removed user."""
    return await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None


async def async_may_see_all(call: ServiceCall) -> bool:
    """Return whether the caller is an administrator or an automation."""
    user = await async_user(call)
    return call.context.user_id is None or (user is not None and user.is_admin)


async def async_turn(call: ServiceCall, profile: Profile, conversation_id: str, agent_id: str = "") -> Turn:
    """Return a turn without text; it asks on `confirm_via`, else in the response, but never inside another turn.

    The model of that one could confirm by itself.
    """
    user = await async_user(call)
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
    """Return the channels for confirmations. Raises for an unknown one, or the phone of a user who may not confirm."""
    channels = tuple(call.data.get("confirm_via", ()))
    for channel in channels:
        if not is_channel(call.hass, channel):
            raise invalid("confirm_via_unknown", channel=channel)
        if await async_reaches_others(call.hass, channel, user):
            raise invalid("confirm_via_others", channel=channel)
    return channels
