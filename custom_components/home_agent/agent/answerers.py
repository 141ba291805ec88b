"""Who may answer a message, in this order: a pending confirmation, undo, the home's own sentences, the model.

Each returns an `Answer`, or None to leave the message to the next. The first answer becomes Home Assistant's
result in one place, errors as sentences included, and is kept in one place afterwards.
"""

from dataclasses import replace
import time

from homeassistant.components import conversation
from homeassistant.components.conversation import (
    AssistantContent,
    ChatLog,
    ConversationInput,
    ConversationResult,
    UserContent,
)
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent

from ..client.endpoint import Endpoint, mask_for
from ..languages.phrases import Asked, asked_of, is_order
from ..local import sentences
from ..policy import undo
from ..policy.channels import async_put
from ..policy.confirmed import async_answer_reply
from ..settings.profile import AUTO, Mode, Profile
from ..speech import speakable_text
from ..support.const import LOGGER
from ..support.encoding import shown
from ..support.errors import HomeAgentError, LLMError, where_of
from ..support.localize import async_error_text
from ..support.masking import Mask
from ..transcript.summary import async_sum_up
from ..transcript.transcript import History, begin_round, keep_round
from ..turn import events
from ..turn.turn import Answer, Origin, Turn, async_open_turn, current_turn, running
from .loop import LOOPED
from .model_turn import ModelTurn
from .runtime import Exchange, RuntimeData

MAX_MESSAGE = 100_000  # characters; no window of a model holds more, and looking for a PIN in it takes long
MAX_SENTENCE = 500  # characters that the house looks for a sentence in: that takes longer with the square of them
QUESTION_MARKS = ("?", "？", "؟", ";", "⸮", "՞")
CLOSING = " \t\n*_\"'”’»)]"


async def async_answer(
    hass: HomeAssistant,
    runtime: RuntimeData,
    profile: Profile,
    endpoint: Endpoint | None,
    user_input: ConversationInput,
    chat_log: ChatLog,
) -> ConversationResult:
    """Answer a message for a profile with its endpoint, if it has one; there is always a result, with words in the chat log.

    Raises `ConversationBusy` while another message of the conversation is answered.
    """
    turn = await async_open_turn(hass, user_input, profile, chat_log.conversation_id)
    confirmations = runtime.policy.confirmations
    with runtime.transcripts.turn(turn.conversation_id, profile.subentry_id) as transcript, running(turn):
        if turn.parent is not None:
            transcript.taints |= turn.parent.record.taints
        turn.record.taints = transcript.taints
        if endpoint is None:
            turn.record.context_mode = Mode.OFF.value
        elif transcript.mode is not None or profile.context_mode != AUTO:
            turn.record.context_mode = transcript.mode or profile.context_mode
        events.async_conversation_started(hass, turn)
        reply = None
        is_heard = confirmations.waiting or confirmations.late or confirmations.pins.are_set
        if is_heard and len(turn.text) <= MAX_MESSAGE:
            turn, reply = confirmations.read(turn)
            current_turn.set(turn)  # no tool hears a PIN
            user_input = _without_pin(user_input, chat_log, turn)
        exchange = Exchange(
            hass=hass,
            runtime=runtime,
            turn=turn,
            transcript=transcript,
            endpoint=endpoint,
            user_input=user_input,
            chat_log=chat_log,
            reply=reply,
        )
        try:
            return await _async_result(exchange)
        finally:
            transcript.spoke_of(turn.record.outcomes)
            if turn.record.request_id is not None and not turn.delegated:
                confirmations.drop(turn)
            events.async_conversation_finished(hass, turn)


def _without_pin(user_input: ConversationInput, chat_log: ChatLog, turn: Turn) -> ConversationInput:
    """Replace what was said by the text of the turn, in the chat log as well."""
    if turn.text == user_input.text:
        return user_input
    for position, content in reversed([*enumerate(chat_log.content)]):
        if isinstance(content, UserContent):
            chat_log.content[position] = replace(content, content=turn.text)
            break
    return replace(user_input, text=turn.text)


async def _async_result(exchange: Exchange) -> ConversationResult:
    """Return the first answer as Home Assistant's result, an error as a sentence in the language of the turn."""
    hass, turn, chat_log, conversations = (
        exchange.hass,
        exchange.turn,
        exchange.chat_log,
        exchange.runtime.conversations,
    )
    called = exchange.user_input.conversation_id
    said = begin_round(turn, exchange.transcript, conversations, called, chat_log.content)
    failed = True
    try:
        answer = await _async_first_answer(exchange)
        if answer.needs_confirmation:
            answer = Answer(text=await async_put(hass, exchange.runtime.policy, turn), origin=answer.origin)
        if answer.is_in_chat_log:
            response = conversation.async_get_result_from_chat_log(exchange.user_input, chat_log).response
        failed = False
    except HomeAssistantError as err:
        events.async_error(hass, turn, err, events.component_of(err))
        text = await async_error_text(hass, turn.language, err)
        answer = Answer(text=text, done=False, origin=Origin.NOTICE)
    finally:  # cancelled, too: the client is gone or speaks again, what was begun must not be answered later
        said.failed = failed
    turn.record.origin = answer.origin
    text = answer.text
    if answer.is_in_chat_log and (fault := turn.record.fault) is not None:
        events.async_error(hass, turn, fault, events.component_of(fault))
        said.failed = (
            isinstance(fault, HomeAgentError) and fault.translation_key == LOOPED
        )  # a model that reads it again goes on with it
        response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)
    if not answer.is_in_chat_log:
        response = answer.response or intent.IntentResponse(language=turn.language)
        if answer.response is not None and turn.spoken:
            text = speakable_text(text)
        text = shown(text)
        if answer.done:
            response.async_set_speech(text)
        else:
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)
        chat_log.async_add_assistant_content_without_tools(AssistantContent(agent_id=turn.agent_id, content=text))
    if not said.failed:
        try:
            _keep(exchange, answer)
        except Exception as err:  # noqa: BLE001 - the answer is there, whatever becomes of what is kept of it
            LOGGER.error("An answer could not be kept: %s", where_of(err))
    return ConversationResult(
        response=response,
        conversation_id=chat_log.conversation_id,
        continue_conversation=text.rstrip(CLOSING).endswith(QUESTION_MARKS),
    )


def _keep(exchange: Exchange, answer: Answer) -> None:
    """Do what follows an answer: keep the round, and let the model sum up what is not sent any more."""
    turn, transcript, endpoint = exchange.turn, exchange.transcript, exchange.endpoint
    transcript.follow(exchange.chat_log.content)
    if kept := keep_round(turn, transcript, exchange.runtime.conversations):
        added, conversation_kept = kept
        whole, persists = len(conversation_kept.messages), conversation_kept.persists
        events.async_history_saved(exchange.hass, turn, added, whole, persists=persists)
    record = turn.record
    extractor = exchange.runtime.extractor if answer.origin is Origin.MODEL and exchange.reply is None else None
    if endpoint and extractor is not None and record.request_id is None and record.fault is None:
        extractor.async_heard(turn, endpoint, answer.text, record.follow_up)
    history = transcript.history
    if endpoint and answer.origin is Origin.MODEL and history.dropped and turn.profile.history_summary:
        mask = mask_for(turn.profile.mask_personal_data, remote=endpoint.config.remote)
        transcript.summing_up = endpoint.async_work(_async_sum_up(history, endpoint, mask), "sum up")


async def _async_sum_up(history: History, endpoint: Endpoint, mask: Mask | None) -> None:
    """Let the model sum up what is not sent any more; its tokens count like all others."""
    started = time.perf_counter()
    reply = await async_sum_up(history, endpoint.client, mask)
    if reply.usage is not None:
        endpoint.async_succeeded(reply, round((time.perf_counter() - started) * 1000))
        endpoint.async_publish()


async def _async_first_answer(exchange: Exchange) -> Answer:
    """Return the answer of the first who has one. Raises `HomeAssistantError`."""
    turn = exchange.turn
    if not turn.text.strip():
        raise HomeAgentError("text_empty")
    if len(turn.text) > (limit := MAX_MESSAGE if exchange.endpoint else MAX_SENTENCE):
        raise HomeAgentError("text_too_long", limit=str(limit))
    runtime = exchange.runtime
    runtime.throttle.admit(turn)
    hass, chat_log, endpoint = exchange.hass, exchange.chat_log, exchange.endpoint
    answer = None
    if exchange.reply is not None:
        answer = await async_answer_reply(hass, runtime.policy, turn, chat_log, exchange.reply)
    asked = asked_of(turn.text, turn.language) if answer is None else None
    if asked is Asked.UNDO:
        answer = await undo.async_answer_undo(hass, runtime.policy, runtime.journal, turn, chat_log)
    elif asked is not None:
        answer = await sentences.async_answer_asked(hass, turn, exchange.user_input, chat_log, runtime.means, asked)
    if answer is None and sentences.DELAYED in hass.data and sentences.is_delayed(hass, turn):
        answer = await sentences.async_answer_delayed(hass, turn, exchange.user_input, chat_log, runtime.means)
    if answer is None and (endpoint is None or (turn.profile.local_first and len(turn.text) <= MAX_SENTENCE)):
        stage = sentences.Stage.BEFORE_MODEL if endpoint else sentences.Stage.NO_MODEL
        answer = await sentences.async_answer(hass, turn, exchange.user_input, chat_log, runtime.means, stage)
    if answer is None and endpoint is not None:
        turn.record.is_order = is_order(turn.text, turn.language)
        model = ModelTurn(
            hass=hass,
            runtime=runtime,
            endpoint=endpoint,
            turn=turn,
            chat_log=chat_log,
            transcript=exchange.transcript,
        )
        try:
            answer = await model.async_run()
        except LLMError as err:
            answer = await _async_without_model(exchange, err)
    if answer is None:
        raise HomeAgentError("text_empty")
    return answer


async def _async_without_model(exchange: Exchange, error: LLMError) -> Answer:
    """Return the answer of the home where the model could not be asked. Raises `error` when the home has none.

    Nothing that the model began is done a second time.
    """
    hass, turn = exchange.hass, exchange.turn
    answer = None
    if not turn.record.calls_started and len(turn.text) <= MAX_SENTENCE:
        answer = await sentences.async_answer(
            hass, turn, exchange.user_input, exchange.chat_log, exchange.runtime.means, sentences.Stage.NO_ANSWER
        )
    if answer is None:
        raise error
    events.async_error(hass, turn, error, events.component_of(error))
    return answer
