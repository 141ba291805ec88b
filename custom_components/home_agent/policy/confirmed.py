"""What a reply to a confirmation leads to: the confirmed calls run, once and only if they are still the same."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from secrets import token_hex
import time

from homeassistant.auth.models import User
from homeassistant.components.conversation import ChatLog
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..client.messages import add_calls, add_result
from ..home.exposure import async_check_permission
from ..languages.phrases import ReplyKind, read_answer
from ..support.localize import async_error_text, async_text
from ..turn import events
from ..turn.turn import Answer, AnswerOrigin, Turn, Usage, running
from ..wishes.wish import WishStatus
from ..wishes.wishes import wishes_of
from .confirmation import Call, Confirmation, ConfirmationReply, Resolution
from .policy import Policy
from .questions import ConfirmedCall, async_result, async_why


async def async_answer_reply(
    hass: HomeAssistant, policy: Policy, turn: Turn, chat_log: ChatLog, reply: ConfirmationReply
) -> Answer:
    """Do what a reply in the conversation says, and return what is said to it; no model is asked."""
    confirmation, confirmations = reply.confirmation, policy.confirmations
    say = partial(async_text, hass, turn.speaks)
    if reply.expired:
        key = "confirm_nothing" if confirmation.is_gone else "confirm_expired"
        return Answer(text=await say("confirm_ended" if confirmation.is_ended else key), done=False)
    if not confirmation.is_of(turn):
        return Answer(text=await say("confirm_not_yours"), done=False)
    wavers = reply.answer.kind is ReplyKind.WAVERS
    if wavers or reply.answer.kind is ReplyKind.ASKS:
        if wavers or confirmation.explained:
            confirmation.explained = True  # a later yes is told that there is nothing to confirm
            confirmations.end(confirmation, Resolution.CANCELLED, turn.context.user_id)
            return Answer(text=await say("confirm_dropped"))
        confirmation.explained = True
        why = await async_why(hass, turn.speaks, confirmation.calls)
        return Answer(text=await say("confirm_explained", why=why, question=confirmation.question))
    if reply.answer.kind is ReplyKind.NO:
        confirmations.end(confirmation, Resolution.REJECTED, turn.context.user_id)
        return Answer(text=await say("confirm_rejected"))
    if confirmations.pin_for(confirmation):
        if not reply.answer.digits:
            return Answer(text=await say("confirm_pin_missing"))
        if not confirmations.accepts_pin(confirmation, reply.answer.digits):
            key = "confirm_pin_wrong" if confirmation.tries_left else "confirm_pin_cancelled"
            return Answer(text=await say("confirm_pin_locked" if confirmations.locks_out(confirmation) else key))
    return await _async_run(hass, policy, confirmation, turn, answered_by=turn.user, chat_log=chat_log)


async def async_answer_elsewhere(
    hass: HomeAssistant, policy: Policy, confirmation: Confirmation, user: User | None, *, yes: bool, pin: str = ""
) -> Answer | None:
    """Act on an answer from outside the conversation, in the name of the user who asked; None if the PIN is missing or wrong."""
    confirmations, asked = policy.confirmations, confirmation.turn
    if not yes:
        confirmations.end(confirmation, Resolution.REJECTED, user.id if user else None)
        return Answer(text=await async_text(hass, asked.speaks, "confirm_rejected"))
    digits = read_answer(pin, asked.language, with_pin=True).digits
    if confirmations.pin_for(confirmation) and not confirmations.accepts_pin(confirmation, digits):
        return None
    owner = await hass.auth.async_get_user(asked.context.user_id) if asked.context.user_id else None
    record = replace(
        asked.record,
        request_id=None,
        did_not_run=None,
        calls=[],
        calls_started=0,
        usage=Usage(),
        started=time.perf_counter(),
    )
    # There is no conversation to ask in: what is delegated now and needs a yes of its own is refused.
    turn = replace(asked, user=owner, parent=None, direct=False, confirm_via=(), record=record)
    with running(turn):
        return await _async_run(hass, policy, confirmation, turn, answered_by=user)


async def _async_run(
    hass: HomeAssistant,
    policy: Policy,
    confirmation: Confirmation,
    turn: Turn,
    *,
    answered_by: User | None,
    chat_log: ChatLog | None = None,
) -> Answer:
    """Run what was confirmed under the policy and return what is true now. `turn` is the one that answers.

    The confirmation ends before anything is awaited: a second yes finds nothing to confirm.
    """
    user_id = answered_by.id if answered_by else None
    if not policy.confirmations.end(confirmation, Resolution.CONFIRMED, user_id):
        return Answer(text=await async_text(hass, turn.speaks, "confirm_expired"), done=False)
    turn = replace(turn, text=confirmation.turn.text)  # an action is kept with the words that asked for it
    if confirmation.turn.wish:
        return await _async_run_wish(hass, policy, confirmation, turn, answered_by, chat_log)
    return await _async_make_calls(hass, policy, confirmation, turn, answered_by, chat_log)


async def _async_run_wish(
    hass: HomeAssistant,
    policy: Policy,
    confirmation: Confirmation,
    turn: Turn,
    answered_by: User | None,
    chat_log: ChatLog | None,
) -> Answer:
    """Do a wish that was asked about when it was due, within its part of the home; afterwards it is over, done or not."""
    wishes, asked = wishes_of(hass), confirmation.turn
    if (wish := wishes.get(asked.wish)) is None:  # it was cancelled meanwhile
        return Answer(text=await async_text(hass, turn.speaks, "confirm_expired"), done=False)
    wishes.put(replace(wish, status=WishStatus.RUNNING))
    await wishes.async_flush()  # after a kill nothing is done twice
    turn = replace(turn, wish=asked.wish, within=tuple(dict.fromkeys((*turn.within, *asked.within))))
    turn.record.shares = max(turn.record.shares, len(confirmation.calls))
    wishes.note_run(turn.context)
    answer = await _async_make_calls(hass, policy, confirmation, turn, answered_by, chat_log)
    wishes.drop([wish])
    event, reason = (events.WISH_DONE, "confirmed") if answer.done else (events.WISH_FAILED, "failed")
    events.async_wish(hass, event, wish.as_event() | {"reason": reason}, turn.context)
    await wishes.async_flush()
    return answer


async def _async_make_calls(
    hass: HomeAssistant,
    policy: Policy,
    confirmation: Confirmation,
    turn: Turn,
    answered_by: User | None,
    chat_log: ChatLog | None,
) -> Answer:
    """Make the calls that were confirmed, if they are still the same. They stand in the chat log as calls that code has made."""
    try:
        offered = {tool.name: tool for tool in await policy.offered(turn)}
        calls = await _async_still_the_same(hass, policy, confirmation, turn, answered_by)
    except HomeAssistantError:
        return Answer(text=await async_text(hass, turn.speaks, "confirm_changed"), done=False)
    inputs = [
        llm.ToolInput(tool_name=call.tool.name, tool_args=call.arguments, id=f"yes{token_hex(3)}", external=True)
        for call in calls
    ]
    if any(call.tool.is_elsewhere for call in calls):
        chat_log = None  # what is said there stays there
    if chat_log is not None:
        known_to_model = all(type(offered.get(call.tool.name)) is type(call.tool) for call in calls)
        routed = any(call.turn is not None and call.turn.extension for call in calls)
        add_calls(chat_log, turn.agent_id, inputs, known=known_to_model, routed=routed)
    done: list[ConfirmedCall] = []
    answers: list[str] = []
    not_run: list[str] = []
    for call, tool_input in zip(calls, inputs, strict=True):
        acting = _acting(turn, call)
        acting.record.written = {}
        result = await policy.async_call(acting, call.tool, tool_input, confirmed=call.plan)
        turn.record.acted = turn.record.acted or acting.record.acted
        error, acting.record.did_not_run = acting.record.did_not_run, None
        not_run += [await async_error_text(hass, turn.speaks, error)] if error is not None else []
        if not result.error:
            told, outcomes = result.data["result"], acting.record.written
            done.append(ConfirmedCall(call=call, result=told if isinstance(told, dict) else {}, outcomes=outcomes))
            answers += filter(None, (call.tool.answer(told),))
        if chat_log is not None:
            add_result(chat_log, turn.agent_id, tool_input, result)
    if turn.record.request_id is not None:  # a delegated request needs a yes of its own
        return Answer(needs_confirmation=True)
    if len(answers) == len(calls):
        origin = AnswerOrigin.MODEL if any(call.tool.answers for call in calls) else AnswerOrigin.LOCAL
        return Answer(text="\n\n".join(answers), origin=origin)
    key = "confirm_failed" if not done else "confirm_partly" if len(done) < len(calls) else "confirm_done"
    said = [*dict.fromkeys(not_run)]
    if len(not_run) < len(calls) or done:
        said.insert(0, await async_result(hass, turn.speaks, key, calls, done, turn))
    is_whole = len(done) == len(calls) and not not_run and not any(one.missed for one in done)
    return Answer(text=" ".join(said), done=is_whole)


def _acting(turn: Turn, call: Call) -> Turn:
    """Return the turn in which a confirmed call is made: `turn`, or one of the agent to which it was delegated."""
    acting = turn
    for asked in reversed(call.turn.lineage[:-1] if call.turn is not None else ()):
        acting = replace(asked, user=turn.user, context=turn.context, parent=acting, record=replace(turn.record))
    return acting


async def _async_still_the_same(
    hass: HomeAssistant, policy: Policy, confirmation: Confirmation, turn: Turn, answered_by: User | None
) -> Sequence[Call]:
    """Return the calls with the tools of now. Raises `HomeAssistantError` when anything is not as it was confirmed."""
    if confirmation.turn.context.user_id is not None and (turn.user is None or not turn.user.is_active):
        raise HomeAssistantError("the user who asked is gone")
    calls: list[Call] = []
    for call in confirmation.calls:
        acting = _acting(turn, call)
        if not all(asked.profile.is_for(turn.context.user_id) for asked in acting.lineage):
            raise HomeAssistantError("an agent is not for this user any more")
        if not call.tool.stands_alone:
            offered = {tool.name: tool for tool in await policy.offered(acting)}
            if call.tool.name not in offered:
                raise HomeAssistantError("the tool is gone")
            call = replace(call, tool=offered[call.tool.name])
        calls.append(call)
        if answered_by is not None:
            await async_check_permission(hass, answered_by, call.plan)
        await policy.async_check_again(acting, call)
    return calls
