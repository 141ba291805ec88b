"""Where a question can be answered besides the conversation: on phones and, by administrators, in Repairs.

A phone's answer is an event with the user of that phone; it counts when that user asked, or is an administrator.
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Any

from homeassistant.auth.models import User
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.util import slugify
from homeassistant.util.json import JsonObjectType

from .. import issues
from ..const import DOMAIN, LOGGER
from ..runtime import HomeAgentConfigEntry, RuntimeData
from ..safety.answers import read
from ..safety.confirmation import Outcome, Request
from ..safety.questions import async_question
from ..texts import async_text
from ..turn import Turn, current_turn
from .settle import Settled, async_run_elsewhere

REPAIRS = "repairs"
OWN_PHONES = "mobile_app"
MOBILE_APP = "mobile_app"
NOTIFY = "notify"
EVENT = "mobile_app_notification_action"
CONFIRM = "HOME_AGENT_CONFIRM_"
REJECT = "HOME_AGENT_REJECT_"
NOTIFY_TIMEOUT = 10  # seconds; whoever asked waits for it


@callback
def async_start(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Listen to phones, and take questions back wherever they were put when they end."""
    runtime = entry.runtime_data
    confirmations = runtime.policy.confirmations

    @callback
    def answered(event: Event) -> None:
        action = str(event.data.get("action", ""))
        for prefix in (CONFIRM, REJECT):
            if action.startswith(prefix) and current_turn.get(None) is None:
                request_id, yes = action.removeprefix(prefix), prefix == CONFIRM
                answer = _async_phone_answered(hass, runtime, request_id, event, yes=yes)
                entry.async_create_task(hass, answer, "answer of a phone")

    @callback
    def ended(request: Request, _outcome: Outcome) -> None:
        issues.async_confirmation_ended(hass, request.id)
        for service in _notify_services(hass, request.turn):
            data = {"message": "clear_notification", "data": {"tag": request.id}}
            entry.async_create_task(hass, _async_notify(hass, service, data, request.turn), "take a question back")

    confirmations.async_listen(ended)
    entry.async_on_unload(hass.bus.async_listen(EVENT, answered))
    entry.async_on_unload(confirmations.async_end_all)


async def async_put(hass: HomeAssistant, runtime: RuntimeData, turn: Turn) -> str:
    """Put the question that a turn has to end with, wherever it can be answered, and return it.

    Raises `HomeAssistantError` when the turn has none any more.
    """
    confirmations = runtime.policy.confirmations
    if (request := confirmations.of(turn)) is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="confirm_expired")
    with_pin = bool(confirmations.pin_for(request))
    question = await async_question(hass, turn, request.calls, with_pin=with_pin)
    if turn.user is None:
        request.deciders = frozenset(_owners(hass, turn.confirm_via))
    confirmations.put(request, question)
    if REPAIRS in turn.confirm_via:
        issues.async_confirmation(hass, request.id, turn.profile)
    if services := _notify_services(hass, turn):
        data = await _async_notification(hass, request, with_pin=with_pin)
        await asyncio.gather(*(_async_notify(hass, service, data, turn) for service in services))
    return question


async def async_put_outside(hass: HomeAssistant, runtime: RuntimeData, turn: Turn) -> JsonObjectType:
    """Put the question of a turn outside of a conversation; return it and the id that its answer has to name."""
    turn.conversation_id = turn.context.id  # what is said in a conversation is no answer to it
    try:
        question = await async_put(hass, runtime, turn)
    finally:
        runtime.policy.confirmations.drop(turn)
    return {"confirmation": turn.request_id, "question": question}


async def async_answer(
    hass: HomeAssistant, runtime: RuntimeData, request: Request, user: User | None, *, yes: bool, pin: str = ""
) -> Settled | None:
    """Do what somebody who may answered in another place; None when the PIN is missing or wrong."""
    confirmations = runtime.policy.confirmations
    if not yes:
        confirmations.end(request, Outcome.REJECTED, user.id if user else None)
        return Settled(text=await async_text(hass, request.turn.language, "confirm_rejected"))
    digits = read(pin, request.turn.language, with_pin=True).digits
    if confirmations.pin_for(request) and not confirmations.accepts_pin(request, digits):
        return None
    return await async_run_elsewhere(hass, runtime, request, user)


def is_channel(hass: HomeAssistant, channel: str) -> bool:
    """Return whether a confirmation can be asked for there."""
    return channel in (REPAIRS, OWN_PHONES) or _service_of(hass, channel) is not None


async def _async_phone_answered(
    hass: HomeAssistant, runtime: RuntimeData, request_id: str, event: Event, *, yes: bool
) -> None:
    request = runtime.policy.confirmations.get(request_id)
    user = await hass.auth.async_get_user(event.context.user_id) if event.context.user_id else None
    if request is None or user is None or not request.is_decided_by(user):
        LOGGER.warning("An answer of user %s to a confirmation was not accepted", event.context.user_id)
        return
    await async_answer(hass, runtime, request, user, yes=yes, pin=str(event.data.get("reply_text") or ""))


async def _async_notification(hass: HomeAssistant, request: Request, *, with_pin: bool) -> dict[str, Any]:
    """Return the notification with its two buttons; with a PIN, the first one asks for it."""
    say = partial(async_text, hass, request.turn.language)
    confirm = {"action": f"{CONFIRM}{request.id}", "title": await say("confirm_yes")}
    if with_pin:
        confirm |= {"behavior": "textInput"}
    reject = {"action": f"{REJECT}{request.id}", "title": await say("confirm_no")}
    return {
        "title": await say("confirm_title", profile=request.turn.profile.name),
        "message": request.question,
        "data": {"tag": request.id, "actions": [confirm, reject]},
    }


async def _async_notify(hass: HomeAssistant, service: str, data: dict[str, Any], turn: Turn) -> None:
    """Send a notification; one that cannot be sent leaves the other ways to answer."""
    try:
        async with asyncio.timeout(NOTIFY_TIMEOUT):
            await hass.services.async_call(NOTIFY, service, data, blocking=True, context=turn.context)
    except Exception as err:  # noqa: BLE001 - whatever an integration raises that sends it
        LOGGER.warning("%s.%s could not be used for a confirmation: %s", NOTIFY, service, type(err).__name__)


def _notify_services(hass: HomeAssistant, turn: Turn) -> list[str]:
    """Return the notify actions that a turn's question goes to."""
    services: dict[str, None] = {}
    for channel in turn.confirm_via:
        if channel == OWN_PHONES:
            owned = (entry for entry in _phones(hass) if entry.data.get("user_id") == turn.context.user_id)
            services |= dict.fromkeys(name for entry in owned if (name := _service_of_phone(hass, entry)))
        elif channel != REPAIRS and (service := _service_of(hass, channel)):
            services[service] = None
    return list(services)


def _service_of(hass: HomeAssistant, channel: str) -> str | None:
    """Return the notify action that a channel names, by itself or by a phone's device id."""
    if channel.startswith(f"{NOTIFY}."):
        service = channel.partition(".")[2]
        return service if hass.services.has_service(NOTIFY, service) else None
    device = dr.async_get(hass).async_get(channel)
    if device is None:
        return None
    phones = (entry for entry in _phones(hass) if entry.entry_id in device.config_entries)
    return next((name for entry in phones if (name := _service_of_phone(hass, entry))), None)


def _owners(hass: HomeAssistant, channels: Iterable[str]) -> set[str]:
    """Return the users of the phones that channels name."""
    services = {_service_of(hass, channel) for channel in channels}
    return {
        str(entry.data["user_id"])
        for entry in _phones(hass)
        if (service := _service_of_phone(hass, entry)) and service in services and "user_id" in entry.data
    }


def _phones(hass: HomeAssistant) -> list[ConfigEntry]:
    return hass.config_entries.async_entries(MOBILE_APP)


def _service_of_phone(hass: HomeAssistant, entry: ConfigEntry) -> str | None:
    """Return the notify action of a phone; Home Assistant names it after the device."""
    service = slugify(f"{MOBILE_APP}_{entry.data.get('device_name', '')}")
    return service if hass.services.has_service(NOTIFY, service) else None
