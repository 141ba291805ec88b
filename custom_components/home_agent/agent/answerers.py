"""Who may answer a message, in this order: a pending confirmation, a slash command, undo, the home's own sentences, the model.

Each returns an `Answer`, or None to leave the message to the next. A command of another agent is handed on before that.
"""

import asyncio
from contextvars import Context
from dataclasses import replace
from functools import partial

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import chat_session, entity_registry as er, intent

from ..client.endpoint import Endpoint, mask_for
from ..languages.digits import MASK
from ..languages.phrases import SelfQuestion, asked_of, is_order
from ..local import about, sentences
from ..local.learned import async_observe
from ..policy import undo
from ..policy.channels import async_put
from ..policy.confirmed import async_answer_reply
from ..settings.profile import AUTO, ContextMode, Profile
from ..speech import speakable_text
from ..support.const import DOMAIN, LOGGER
from ..support.encoding import plain_text, shown
from ..support.errors import HomeAgentError, LLMError, ToolError, where_of
from ..support.localize import async_error_text
from ..transcript.summary import async_sum_up
from ..transcript.transcript import begin_round, keep_round
from ..turn import events
from ..turn.turn import Answer, AnswerOrigin, Turn, TurnRequest, async_open_turn, current_request, current_turn, running
from .commands import SlashCommand, talk_of
from .model_turn import LOOPED, async_agent_for_message
from .router import OFF, async_route, async_worded
from .runtime import Exchange, RuntimeData

MAX_MESSAGE = 100_000  # characters; no window of a model holds more, and looking for a PIN in it takes long
MAX_SENTENCE = 500  # characters that the home looks for a sentence in: that takes longer with the square of them
QUESTION_MARKS = ("?", "？", "؟", ";", "⸮", "՞")
CLOSING = " \t\n*_\"'”’»)]"


async def async_answer(
    hass: HomeAssistant,
    runtime: RuntimeData,
    profile: Profile,
    endpoint: Endpoint | None,
    user_input: conversation.ConversationInput,
    chat_log: conversation.ChatLog,
) -> conversation.ConversationResult:
    """Answer a message for a profile, with words in the chat log in any case. Raises `ConversationBusy`."""
    request, command = current_request.get(), None
    if request is not None and request.turn is None and request.handed_on_by is not None:
        profile = runtime.commands.limited(profile, request.handed_on_by)
        chat_log.delta_listener = request.delta_listener
    elif current_turn.get(None) is None and (
        runtime.commands.talks
        or user_input.text.lstrip()[:1] == "/"
        or (runtime.registry.chooses_for == profile.subentry_id and (request is None or not request.by_name))
    ):
        user_input, command, to = _commanded(hass, runtime, profile, user_input, chat_log)
        if command is not None and to is not None:
            return await _async_hand_on(hass, runtime, profile, to, command, user_input, chat_log)
    turn = await async_open_turn(hass, user_input, profile, chat_log.conversation_id)
    runtime.wakes.async_heard(turn)
    confirmations = runtime.policy.confirmations
    with runtime.transcripts.turn(turn.conversation_id, profile.subentry_id) as transcript, running(turn):
        if turn.parent is not None:
            transcript.taints |= turn.parent.record.taints
        turn.record.taints = transcript.taints
        if endpoint is None:
            turn.record.context_mode = ContextMode.OFF.value
        elif (known := transcript.fixed.mode) is not None or profile.context_mode != AUTO:
            turn.record.context_mode = known or profile.context_mode
        events.async_conversation_started(hass, turn)
        reply = None
        refusal = _refusal_of(hass, runtime, turn, MAX_MESSAGE if endpoint else MAX_SENTENCE)
        if confirmations.waiting or confirmations.late or confirmations.pins.are_set:
            turn, reply = confirmations.read(turn) if refusal is None else (replace(turn, text=MASK), None)
            current_turn.set(turn)  # no tool hears a PIN
            user_input = _as_said(user_input, chat_log, turn.text)
        exchange = Exchange(
            hass=hass,
            runtime=runtime,
            turn=turn,
            transcript=transcript,
            endpoint=endpoint,
            user_input=user_input,
            chat_log=chat_log,
            command=command and runtime.commands.find(turn.text),
            reply=reply,
        )
        try:
            return await _async_result(exchange, refusal)
        finally:
            transcript.spoke_of(turn.record.outcomes)
            _note_command(exchange)
            if turn.record.request_id is not None and not turn.delegated:
                confirmations.drop(turn)
            events.async_conversation_finished(hass, turn)


def _note_command(exchange: Exchange) -> None:
    """Keep which command did nothing: what "undo that" is then about is not sure."""
    turn = exchange.turn
    if turn.record.acted:
        exchange.transcript.idle = None
    elif is_order(turn.text, turn.language) and asked_of(turn.text, turn.language) is None:
        exchange.transcript.idle = turn.context.id


def _refusal_of(hass: HomeAssistant, runtime: RuntimeData, turn: Turn, limit: int) -> HomeAgentError | None:
    """Return why a message is not read at all, None if it is: reading it for a PIN takes time."""
    if not turn.text.strip():
        return HomeAgentError("text_empty")
    if len(turn.text) > limit:
        return HomeAgentError("text_too_long", limit=str(limit))
    user_id = turn.context.user_id
    is_refused = bool(turn.profile.people) and not turn.profile.is_for(user_id)
    if is_refused:
        return HomeAgentError("agent_not_for_user" if user_id else "agent_not_for_unknown", profile=turn.profile.name)
    try:
        runtime.throttle.admit(turn)
    except HomeAgentError as err:
        return err
    return None


def _commanded(
    hass: HomeAssistant,
    runtime: RuntimeData,
    profile: Profile,
    user_input: conversation.ConversationInput,
    chat_log: conversation.ChatLog,
) -> tuple[conversation.ConversationInput, SlashCommand | None, Profile | None]:
    """Return what is said to this agent, the command that it answers here, and the other agent that the words go to."""
    command = runtime.commands.route(
        runtime.policy.confirmations, user_input, plain_text(chat_log.conversation_id), profile
    )
    if command is None or (to := command.profile) is None or not command.text:
        return user_input, command, None
    if to.subentry_id == profile.subentry_id:
        return _as_said(user_input, chat_log, command.text), None, None
    if _agent_of(hass, to) is None:
        return user_input, None, None
    if not command.by_rule and not profile.is_for(user_input.context.user_id):
        return user_input, None, None  # who may not talk to this agent reaches no other one through it
    return user_input, command, None if command.name and to.command_asks else to


def _as_said(
    user_input: conversation.ConversationInput, chat_log: conversation.ChatLog, text: str
) -> conversation.ConversationInput:
    """Replace what was said by a text, in the chat log as well."""
    if text == user_input.text:
        return user_input
    for position, content in reversed([*enumerate(chat_log.content)]):
        if isinstance(content, conversation.UserContent):
            chat_log.content[position] = replace(content, content=text)
            break
    return replace(user_input, text=text)


def _agent_of(hass: HomeAssistant, profile: Profile) -> str | None:
    """Return the conversation entity of a profile, None where the administrator has disabled it."""
    entity_id = er.async_get(hass).async_get_entity_id(conversation.DOMAIN, DOMAIN, profile.subentry_id)
    return entity_id if entity_id is not None and hass.states.get(entity_id) is not None else None


async def _async_hand_on(
    hass: HomeAssistant,
    runtime: RuntimeData,
    profile: Profile,
    to: Profile,
    command: SlashCommand,
    user_input: conversation.ConversationInput,
    chat_log: conversation.ChatLog,
) -> conversation.ConversationResult:
    """Let another agent answer in its own conversation; if no rule chose it, under the limits of this one."""
    while isinstance(chat_log.content[-1], conversation.UserContent):
        chat_log.content.pop()
    request = current_request.get()
    if request is None or request.turn is not None:
        request = TurnRequest()
    request.handed_on_by = to if command.by_rule else profile
    request.delta_listener = chat_log.delta_listener
    talk, session = (
        talk_of(user_input, plain_text(chat_log.conversation_id), profile),
        chat_session.current_session.get(),
    )
    known = runtime.commands.talks.get(talk, {}).get(to.subentry_id)
    try:
        result = await _async_said_to(hass, to, command.text, user_input, known, request)
    finally:
        chat_session.current_session.set(session)
    runtime.commands.remember(talk, to.subentry_id, result.conversation_id)
    return replace(result, conversation_id=chat_log.conversation_id)


async def _async_said_to(
    hass: HomeAssistant,
    to: Profile,
    text: str,
    user_input: conversation.ConversationInput,
    conversation_id: str | None,
    request: TurnRequest,
) -> conversation.ConversationResult:
    """Say something to an agent as the same person. Raises `ToolError` if it is not there any more."""
    agent_id = _agent_of(hass, to)
    if agent_id is None:
        raise ToolError("profile_not_found", profile=to.name, profiles="")
    token = current_request.set(request)
    try:
        return await conversation.async_converse(
            hass,
            text,
            conversation_id,
            user_input.context,
            language=user_input.language,
            agent_id=agent_id,
            device_id=user_input.device_id,
            satellite_id=user_input.satellite_id,
            extra_system_prompt=user_input.extra_system_prompt,
        )
    finally:
        current_request.reset(token)


async def _async_say(exchange: Exchange, to: Profile, text: str) -> str:
    """Return what another agent answers once its question has its yes, in its own conversation with the same person."""
    turn, commands = exchange.turn, exchange.runtime.commands
    talk = talk_of(exchange.user_input, turn.conversation_id, turn.profile)
    known = commands.talks.get(talk, {}).get(to.subentry_id)
    request = TurnRequest(confirm_via=turn.confirm_via, handed_on_by=turn.profile)
    said = _async_said_to(exchange.hass, to, text, exchange.user_input, known, request)
    result = await asyncio.create_task(said, context=Context())
    commands.remember(talk, to.subentry_id, result.conversation_id)
    current_turn.get(turn).record.answered_as = to  # that of the yes: this one has ended with the question
    return str(result.response.speech["plain"]["speech"])


async def _async_result(exchange: Exchange, refusal: HomeAgentError | None) -> conversation.ConversationResult:
    """Return the first answer as Home Assistant's result, an error as a sentence in the language of the turn."""
    hass, turn, chat_log = exchange.hass, exchange.turn, exchange.chat_log
    conversations, called = exchange.runtime.conversations, exchange.user_input.conversation_id
    said = begin_round(turn, exchange.transcript, conversations, called, chat_log.content)
    failed = True
    try:
        if refusal is not None:
            raise refusal
        answer = await _async_first_answer(exchange)
        if turn.profile.routing_persona:
            answer = await async_worded(exchange, answer)
        if answer.needs_confirmation:
            answer = Answer(text=await async_put(hass, exchange.runtime.policy, turn), origin=answer.origin)
        if answer.is_in_chat_log:
            response = conversation.async_get_result_from_chat_log(exchange.user_input, chat_log).response
        failed = False
    except HomeAssistantError as err:
        events.async_error(hass, turn, err, events.component_of(err))
        text = await async_error_text(hass, turn.speaks, err)
        answer = Answer(text=text, done=False, origin=AnswerOrigin.NOTICE)
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
        response = answer.response or intent.IntentResponse(language=turn.speaks)
        if answer.response is not None and turn.spoken:
            text = speakable_text(text)
        text = shown(text, tells_addresses=bool(turn.record.taints))
        if answer.done:
            response.async_set_speech(text)
        else:
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)
        chat_log.async_add_assistant_content_without_tools(
            conversation.AssistantContent(agent_id=turn.agent_id, content=text)
        )
    if not said.failed:
        try:
            _keep(exchange, answer)
        except Exception as err:  # noqa: BLE001 - what cannot be kept must not cost the answer
            LOGGER.error("An answer could not be kept: %s", where_of(err))
    return conversation.ConversationResult(
        response=response,
        conversation_id=chat_log.conversation_id,
        continue_conversation=text.rstrip(CLOSING).endswith(QUESTION_MARKS),
    )


def _keep(exchange: Exchange, answer: Answer) -> None:
    """Do what follows an answer: keep the round, and let the model sum up what is not sent any more."""
    hass, runtime, turn, endpoint = exchange.hass, exchange.runtime, exchange.turn, exchange.endpoint
    transcript, record = exchange.transcript, turn.record
    transcript.follow(exchange.chat_log.content)
    if kept := keep_round(turn, transcript, runtime.conversations):
        added, conversation_kept = kept
        whole, persists = len(conversation_kept.messages), conversation_kept.persists
        events.async_history_saved(hass, turn, added, whole, persists=persists)
    if answer.origin is not AnswerOrigin.MODEL:
        return
    history, is_first = transcript.history, len(transcript.rounds) == 1 and not transcript.history.messages
    if exchange.reply is None:
        if record.understanding is not None and record.outcomes and is_first:  # what came before cannot be meant
            learn = async_observe(hass, turn, runtime.means.phrases, runtime.policy, runtime.journal, runtime.home)
            hass.async_create_task(learn, "home_agent learn a phrase")
        if endpoint and record.request_id is None and record.fault is None:
            runtime.extractor.async_heard(turn, endpoint, answer.text, record.follow_up)
    if endpoint and history.dropped and turn.profile.history_summary:
        mask = mask_for(turn.profile.mask_personal_data, remote=endpoint.config.remote)
        transcript.summing_up = endpoint.async_work(async_sum_up(history, endpoint, mask), "sum up")


async def _async_first_answer(exchange: Exchange) -> Answer:
    """Return the answer of the first who has one. Raises `HomeAssistantError`."""
    turn, runtime = exchange.turn, exchange.runtime
    hass, chat_log, endpoint = exchange.hass, exchange.chat_log, exchange.endpoint
    answer = None
    if exchange.reply is not None:
        answer = await async_answer_reply(hass, runtime.policy, turn, chat_log, exchange.reply)
        confirmed = replace(turn, text=exchange.reply.confirmation.turn.text)
        runtime.means.said.remember(confirmed, chat_log)  # "lock it again" after the yes
    if answer is None and (command := exchange.command) is not None:
        answer = await runtime.commands.async_answer(
            hass, turn, runtime.policy.confirmations, command, partial(_async_say, exchange)
        )
    asked = asked_of(turn.text, turn.language) if answer is None else None
    if asked is SelfQuestion.ABILITIES and endpoint is not None and not turn.profile.controls:
        asked = None  # what it can do, its instructions say
    if asked is SelfQuestion.UNDO:
        idle = exchange.transcript.idle
        answer = await undo.async_answer_undo(hass, runtime.policy, runtime.journal, turn, chat_log, idle)
    elif asked is not None and answer is None:
        answer = await about.async_answer_asked(hass, turn, exchange.user_input, chat_log, runtime.means, asked)
    local_first = turn.profile.local_first and len(turn.text) <= MAX_SENTENCE and not turn.translates
    if answer is None and (endpoint is None or local_first):
        stage = sentences.Stage.BEFORE_MODEL if endpoint else sentences.Stage.NO_MODEL
        answer = await sentences.async_answer(hass, turn, exchange.user_input, chat_log, runtime.means, stage)
    if answer is None and endpoint is not None:
        answer = await _async_by_model(exchange, endpoint)
    if answer is None:
        raise HomeAgentError("text_empty")
    return answer


async def _async_by_model(exchange: Exchange, endpoint: Endpoint) -> Answer:
    """Return the answer of the model or its routes; of the home if the model could not be asked. Raises `LLMError`."""
    turn = exchange.turn
    turn.record.is_order = is_order(turn.text, turn.language)
    try:
        if turn.profile.routing != OFF and (routed := await async_route(exchange)) is not None:
            return routed
        agent = await async_agent_for_message(exchange.runtime, endpoint, turn, exchange.chat_log, exchange.transcript)
        return await agent.async_answer()
    except LLMError as err:
        if turn.record.calls_started or len(turn.text) > MAX_SENTENCE:  # nothing is done a second time
            raise
        hass, means = exchange.hass, exchange.runtime.means
        answer = await sentences.async_answer(
            hass, turn, exchange.user_input, exchange.chat_log, means, sentences.Stage.NO_ANSWER
        )
        if answer is None:
            raise
        events.async_error(hass, turn, err, events.component_of(err))
        return answer
