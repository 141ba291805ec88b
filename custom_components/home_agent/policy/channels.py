"""Channels for the answer to a question besides the conversation: phones and, for administrators, Repairs."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from homeassistant.auth.models import User
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import Context, Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.util.json import JsonObjectType

from ..languages.data import data_of
from ..support import issues
from ..support.const import DOMAIN, LOGGER
from ..support.localize import async_has_text, async_text
from ..turn.turn import AnswerOrigin, Turn, current_turn
from . import satellites
from .confirmation import Confirmation, Resolution
from .confirmed import async_answer_elsewhere
from .phones import MOBILE_APP, NOTIFY, async_notify, is_of_several, phones_of, service_of_phone
from .policy import Policy
from .questions import async_question

REPAIRS = "repairs"
OWN_PHONES = MOBILE_APP
ALOUD = "aloud"
"""The satellite of the turn, which says the question and listens; only a wish that is due asks so."""
EVENT = "mobile_app_notification_action"
CONFIRM = "HOME_AGENT_CONFIRM_"
REJECT = "HOME_AGENT_REJECT_"


@callback
def async_start(hass: HomeAssistant, entry: ConfigEntry[Any], policy: Policy) -> None:
    """Listen to phones, and take questions back wherever they were put when they end."""

    @callback
    def answered(event: Event) -> None:
        action = str(event.data.get("action", ""))
        for prefix in (CONFIRM, REJECT):
            if action.startswith(prefix) and current_turn.get(None) is None:
                request_id, yes = action.removeprefix(prefix), prefix == CONFIRM
                answer = _async_phone_answered(hass, policy, request_id, event, yes=yes)
                entry.async_create_task(hass, answer, "answer of a phone")

    @callback
    def ended(confirmation: Confirmation, _resolution: Resolution) -> None:
        issues.async_set(hass, issues.CONFIRMATION, confirmation.id, False)
        for service in _notify_services(hass, confirmation.turn):
            data = {"message": "clear_notification", "data": {"tag": confirmation.id}}
            entry.async_create_task(
                hass, async_notify(hass, service, data, confirmation.turn.context), "take a question back"
            )

    policy.confirmations.async_listen(ended)
    entry.async_on_unload(hass.bus.async_listen(EVENT, answered))
    entry.async_on_unload(policy.confirmations.async_end_all)


async def async_put(hass: HomeAssistant, policy: Policy, turn: Turn, because: str = "") -> str:
    """Put the question that a turn ends with on all its channels, and return it. Raises `HomeAssistantError` if it has none.

    `because` is said before it.
    """
    confirmations = policy.confirmations
    if confirmations.is_closed:  # the turn has outlived the entry
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="confirm_ended")
    if (confirmation := confirmations.of(turn)) is None:
        raise HomeAssistantError(translation_domain=DOMAIN, translation_key="confirm_expired")
    with_pin = bool(confirmations.pin_for(confirmation))
    sources: dict[str, str] = {}
    if turn.record.taints:
        sources = {tool.name: tool.source for tool in await policy.offered(turn)}
    question = await async_question(hass, turn, confirmation.calls, with_pin=with_pin, sources=sources)
    question = f"{because} {question}".strip()
    if turn.delegated:  # it ends here; the outermost turn puts the question
        return question
    if turn.user is None:  # the owners of the phones that were named may answer
        named = {_service_of(hass, channel) for channel in turn.confirm_via}
        confirmation.deciders = frozenset(
            str(phone.data["user_id"])
            for phone in hass.config_entries.async_entries(MOBILE_APP)
            if (service := service_of_phone(hass, phone)) and service in named and "user_id" in phone.data
        )
    confirmations.put(confirmation, question)
    if REPAIRS in turn.confirm_via:
        request = {"request_id": confirmation.id}  # what it asks is shown to administrators only (repairs.py)
        issues.async_set(hass, issues.CONFIRMATION, confirmation.id, data={**request}, profile=turn.profile.name)
    if services := _notify_services(hass, turn):
        data = await _async_notification(hass, confirmation, with_pin=with_pin)
        await asyncio.gather(*(async_notify(hass, service, data, turn.context) for service in services))
    return question


def ways_to_ask(
    hass: HomeAssistant, user_id: str | None, device_id: str | None, satellite_id: str | None
) -> tuple[str, ...]:
    """Return the channels on which a person can be asked who says nothing now: their phones, and where they spoke before."""
    phones = (OWN_PHONES,) if phones_of(hass, user_id) else ()
    satellite = satellites.satellite_of(hass, device_id, satellite_id)
    return (*phones, ALOUD) if satellites.can(hass, satellite, satellites.CONVERSES) else phones


async def async_ask_aloud(hass: HomeAssistant, policy: Policy, request_id: str) -> bool:
    """Say an open question at the satellite of its turn, which then listens; return whether it did.

    It is not said where another question waits for an answer: a yes would not tell which one is meant.
    """
    confirmations = policy.confirmations
    if (confirmation := confirmations.get(request_id)) is None or confirmations.others_at(confirmation):
        return False
    turn = confirmation.turn
    satellite = satellites.satellite_of(hass, turn.device_id, turn.satellite_id)
    if satellite is None or not await satellites.async_free(hass, satellite):
        return False
    confirmation.is_aloud = True
    asked = await satellites.async_converse(hass, satellite, confirmation.question, turn.context)
    confirmation.is_aloud = asked
    return asked


async def async_put_outside(hass: HomeAssistant, policy: Policy, turn: Turn, because: str = "") -> JsonObjectType:
    """Put the question of a turn outside of a conversation; return it and the id that its answer has to name.

    `because` is said before it.
    """
    if (confirmation := policy.confirmations.of(turn)) is not None:
        # what is said in a conversation is no answer to it
        confirmation.turn = turn = replace(turn, conversation_id=turn.context.id)
    try:
        question = await async_put(hass, policy, turn, because)
    finally:
        policy.confirmations.drop(turn)
    return {"confirmation": turn.record.request_id, "question": question}


def is_channel(hass: HomeAssistant, channel: str) -> bool:
    """Return whether a confirmation can be asked for there."""
    return channel in (REPAIRS, OWN_PHONES) or _service_of(hass, channel) is not None


async def async_reaches_others(hass: HomeAssistant, channel: str, user: User | None) -> bool:
    """Return whether a channel is the phone of a user who may not answer; automations and administrators may ask any phone."""
    if user is None or user.is_admin or (service := _service_of(hass, channel)) is None:
        return False
    for phone in hass.config_entries.async_entries(MOBILE_APP):
        if service_of_phone(hass, phone) == service:
            owner = await hass.auth.async_get_user(str(phone.data.get("user_id")))
            return owner is None or not (owner.is_admin or owner.id == user.id)
    return False


async def _async_phone_answered(
    hass: HomeAssistant, policy: Policy, request_id: str, event: Event, *, yes: bool
) -> None:
    """Act on the answer of a phone; if a yes has no effect, its user is told why."""
    confirmation = policy.confirmations.get(request_id)
    user = await hass.auth.async_get_user(event.context.user_id) if event.context.user_id else None
    if confirmation is None or user is None or not confirmation.is_decided_by(user):
        LOGGER.warning("An answer of user %s to a confirmation was not accepted", event.context.user_id)
        if user is not None and yes:
            key = "confirm_expired" if confirmation is None else "confirm_not_yours"
            if confirmation is None and policy.confirmations.has_ended(request_id, user):
                key = "confirm_ended"
            await _async_tell(hass, user, await async_text(hass, hass.config.language, key), event.context)
        return
    pin = str(event.data.get("reply_text") or "")
    answer = await async_answer_elsewhere(hass, policy, confirmation, user, yes=yes, pin=pin)
    is_told = (
        answer is not None and answer.origin is AnswerOrigin.MODEL
    )  # what another agent has answered was waited for
    is_told |= yes and bool(confirmation.turn.wish)  # no one waits where it was asked
    if answer is not None and (answer.done or not yes) and not is_told:
        return
    if answer is not None:
        text = answer.text
    else:
        key = "confirm_pin_wrong" if pin.strip() else "confirm_pin_missing"
        if policy.confirmations.locks_out(confirmation):
            key = "confirm_pin_locked"
        elif not confirmation.tries_left:
            key = "confirm_pin_cancelled"
        text = await async_text(hass, confirmation.turn.speaks, key)
    again = confirmation if policy.confirmations.get(request_id) is not None else None
    await _async_tell(hass, user, text, event.context, again)


async def _async_tell(
    hass: HomeAssistant, user: User, text: str, context: Context, again: Confirmation | None = None
) -> None:
    """Tell the phones of a user something; `again`: with the question, which they may answer once more."""
    data: dict[str, Any] = {"message": text}
    if again is not None:
        data = await _async_notification(hass, again, with_pin=True)
        data["message"] = f"{text} {again.question}"
    services = phones_of(hass, user.id)
    await asyncio.gather(*(async_notify(hass, service, data, context) for service in services))


async def _async_notification(hass: HomeAssistant, confirmation: Confirmation, *, with_pin: bool) -> dict[str, Any]:
    """Return the notification with its two buttons; with a PIN, the first one asks for it."""
    language = confirmation.turn.speaks
    say = partial(async_text, hass, language)
    yes, no = await say("confirm_yes"), await say("confirm_no")
    if (words := data_of(language)).yes and not await async_has_text(hass, language, "confirm_yes"):
        yes, no = words.yes[0].capitalize(), words.no[0].capitalize()
    confirm = {"action": f"{CONFIRM}{confirmation.id}", "title": yes}
    if with_pin:
        confirm |= {"behavior": "textInput"}
    reject = {"action": f"{REJECT}{confirmation.id}", "title": no}
    return {
        "title": await say("confirm_title", profile=confirmation.turn.profile.name),
        "message": confirmation.question,
        "data": {"tag": confirmation.id, "actions": [confirm, reject]},
    }


def _notify_services(hass: HomeAssistant, turn: Turn) -> list[str]:
    """Return the notify actions that a turn's question goes to."""
    services: dict[str, None] = {}
    for channel in turn.confirm_via:
        if channel == OWN_PHONES:
            services |= phones_of(hass, turn.context.user_id)
        elif channel != REPAIRS and (service := _service_of(hass, channel)):
            services[service] = None
    return list(services)


def _service_of(hass: HomeAssistant, channel: str) -> str | None:
    """Return the notify action that a channel names, by itself or by a phone's device id."""
    if channel.startswith(f"{NOTIFY}."):
        service = channel.partition(".")[2]
        return service if hass.services.has_service(NOTIFY, service) and not is_of_several(hass, service) else None
    device = dr.async_get(hass).async_get(channel)
    if device is None:
        return None
    phones = (
        entry for entry in hass.config_entries.async_entries(MOBILE_APP) if entry.entry_id in device.config_entries
    )
    return next((name for entry in phones if (name := service_of_phone(hass, entry))), None)
