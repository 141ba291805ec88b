"""Step 3 of a turn: are these words the answer to a question? Decided by code, before anything else hears them."""

from dataclasses import dataclass, replace

from homeassistant.components.conversation import ChatLog, ConversationInput, UserContent
from homeassistant.core import HomeAssistant, callback

from ..runtime import RuntimeData
from ..safety.answers import Answer, Kind, mask_digits, read
from ..safety.confirmation import Confirmations, Outcome, Request
from ..texts import async_text
from ..turn import Turn
from .settle import Settled, async_run

MIN_DIGITS = 4  # a PIN's least length; shorter runs of digits in other words are no attempt at one


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An answer to a question of this conversation."""

    request: Request
    answer: Answer
    expired: bool = False


@callback
def listen(confirmations: Confirmations, turn: Turn) -> Heard | None:
    """Return the answer in the words of a turn, None when they are words of their own.

    Other words of whoever was asked cancel the question. Digits that could be a PIN are taken out of the turn's text,
    whether one was asked for or not.
    """
    heard = _answer_in(confirmations, turn)
    turn.text = confirmations.pins.conceal(turn.text, turn.language)
    return heard


def _answer_in(confirmations: Confirmations, turn: Turn) -> Heard | None:
    place = (turn.conversation_id, turn.profile.subentry_id)
    late = None if (request := confirmations.at(place)) else confirmations.late_at(place)
    if (request := request or late) is None:
        return None
    with_pin = bool(confirmations.pin_for(request))
    answer = read(turn.text, turn.language, with_pin=with_pin)
    if late is not None and late.told_late and len(answer.digits) < MIN_DIGITS:
        return None
    if with_pin:
        at_least = MIN_DIGITS if answer.kind is Kind.OTHER else 1
        turn.text = mask_digits(turn.text, turn.language, at_least=at_least)
    if late is not None:
        confirmations.forget_late(late)
    if answer.kind is not Kind.OTHER:
        return Heard(request=request, answer=answer, expired=late is not None)
    if late is None and request.is_of(turn):
        confirmations.end(request, Outcome.CANCELLED, turn.context.user_id)
    return None


@callback
def masked(user_input: ConversationInput, chat_log: ChatLog, turn: Turn) -> ConversationInput:
    """Replace what was said by the text of the turn, in the chat log as well."""
    if turn.text == user_input.text:
        return user_input
    for position in reversed(range(len(chat_log.content))):
        content = chat_log.content[position]
        if isinstance(content, UserContent):
            chat_log.content[position] = replace(content, content=turn.text)
            break
    return replace(user_input, text=turn.text)


async def async_settle(
    hass: HomeAssistant, runtime: RuntimeData, turn: Turn, chat_log: ChatLog, heard: Heard
) -> Settled:
    """Do what the answer says, and return what is said to it."""
    request, confirmations = heard.request, runtime.policy.confirmations
    if heard.expired:
        return Settled(text=await async_text(hass, turn.language, "confirm_expired"), done=False)
    if not request.is_of(turn):
        return Settled(text=await async_text(hass, turn.language, "confirm_not_yours"), done=False)
    if heard.answer.kind is Kind.NO:
        confirmations.end(request, Outcome.REJECTED, turn.context.user_id)
        return Settled(text=await async_text(hass, turn.language, "confirm_rejected"))
    if confirmations.pin_for(request):
        if not heard.answer.digits:
            return Settled(text=await async_text(hass, turn.language, "confirm_pin_missing"))
        if not confirmations.accepts_pin(request, heard.answer.digits):
            key = "confirm_pin_wrong" if request.tries_left else "confirm_pin_cancelled"
            if confirmations.locks_out(request):
                key = "confirm_pin_locked"
            return Settled(text=await async_text(hass, turn.language, key))
    return await async_run(hass, runtime, request, turn, answered_by=turn.user, chat_log=chat_log)
