"""The turn, top to bottom: open it, take an answer to a question, let the house answer, else ask the model, keep, report.

Receives a `ConversationInput` and the `ChatLog` of the conversation; hands back a `ConversationResult`. Every way through
ends with words in the chat log.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
import time
from typing import Literal, override

from homeassistant.components import conversation
from homeassistant.components.conversation import (
    AssistantContent,
    ChatLog,
    ConversationInput,
    ConversationResult,
    UserContent,
)
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from . import events, issues
from .agent import Agent
from .client.messages import tool_specs
from .confirming.channels import async_put
from .confirming.heard import Heard, async_settle, listen, masked
from .confirming.settle import Settled
from .const import SUBENTRY_PROFILE
from .context.briefing import Briefing
from .context.budget import Budget, budget_for
from .context.mode import Mode
from .context.recall import keep, recall
from .context.session import Session
from .context.summary import async_sum_up
from .conversations.base import Owner
from .endpoint import Endpoint
from .entity import HomeAgentEntity
from .errors import HomeAgentError
from .journal.answer import async_undo
from .journal.undo import HaUndo
from .journal.words import asks_to_undo
from .local import sentences
from .opening import async_open_turn
from .profiles.profile import Profile
from .prompt.masking import mask_for
from .runtime import HomeAgentConfigEntry, RuntimeData
from .safety.tool import HomeAgentTool
from .speech import speakable_text
from .texts import async_error_text
from .turn import Origin, Turn, current_turn
from .turn_api import llm_context_of, turn_api

PARALLEL_UPDATES = 0
MAX_MESSAGE = 100_000  # characters; no window of a model holds more, and looking for a PIN in it takes long
MAX_SENTENCE = 500  # characters that the house looks for a sentence in: that takes longer with the square of them
QUESTION_MARKS = ("?", "？", "؟", ";", "⸮", "՞")
CLOSING = " \t\n*_\"'”’»)]"


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add one conversation entity per profile."""
    for subentry in entry.get_subentries_of_type(SUBENTRY_PROFILE):
        profile = entry.runtime_data.profiles[subentry.subentry_id]
        entity = HomeAgentConversationEntity(entry.runtime_data, subentry, profile)
        async_add_entities([entity], config_subentry_id=subentry.subentry_id)


class HomeAgentConversationEntity(HomeAgentEntity, conversation.ConversationEntity):
    """One assistant."""

    _attr_name = None
    _attr_supports_streaming = True
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL

    def __init__(self, runtime: RuntimeData, subentry: ConfigSubentry, profile: Profile) -> None:
        """Answer for a profile."""
        endpoint = runtime.endpoint_of(profile)
        super().__init__(subentry, endpoint.config.model if endpoint else None)
        self._attr_unique_id = subentry.subentry_id
        self.runtime = runtime
        self.profile = profile

    @property
    @override
    def supported_languages(self) -> list[str] | Literal["*"]:
        return MATCH_ALL

    @override
    async def _async_handle_message(self, user_input: ConversationInput, chat_log: ChatLog) -> ConversationResult:
        turn = await async_open_turn(self.hass, user_input, self.profile, chat_log.conversation_id)
        token = current_turn.set(turn)
        try:
            with self.runtime.sessions.turn(turn.conversation_id, self.profile.subentry_id) as session:
                turn.taints = session.taints
                events.async_conversation_started(self.hass, turn)
                try:
                    return await self._async_answer(turn, session, user_input, chat_log)
                finally:
                    session.spoke_of(turn.effects)
                    self.runtime.policy.confirmations.drop(turn)
                    events.async_conversation_finished(self.hass, turn)
        finally:
            current_turn.reset(token)

    async def _async_answer(
        self, turn: Turn, session: Session, user_input: ConversationInput, chat_log: ChatLog
    ) -> ConversationResult:
        """Return an answer, which is kept, or a sentence that says what went wrong."""
        heard = listen(self.runtime.policy.confirmations, turn) if len(turn.text) <= MAX_MESSAGE else None
        user_input = masked(user_input, chat_log, turn)
        question = next(item for item in reversed(chat_log.content) if isinstance(item, UserContent))
        recall(turn, session, self.runtime.conversations, user_input.conversation_id, question)
        try:
            result = await self._async_reply(turn, session, user_input, chat_log, heard)
        except HomeAssistantError as err:
            session.failed.append(question)
            return await self._async_notice(turn, chat_log, err)
        except asyncio.CancelledError:  # the client is gone or speaks again: what was begun must not be answered later
            session.failed.append(question)
            raise
        said = chat_log.content[chat_log.content.index(question) :]
        keep(self.hass, turn, session, self.runtime.conversations, said)
        return result

    async def _async_reply(
        self, turn: Turn, session: Session, user_input: ConversationInput, chat_log: ChatLog, heard: Heard | None
    ) -> ConversationResult:
        """Return the answer of the house or of the model. Raises `HomeAssistantError`."""
        if not turn.text.strip():
            raise HomeAgentError("text_empty")
        endpoint = self.runtime.endpoint_of(self.profile)
        if len(turn.text) > (limit := MAX_MESSAGE if endpoint else MAX_SENTENCE):
            raise HomeAgentError("text_too_long", limit=str(limit))
        self.runtime.throttle.admit(turn)
        if heard is not None:
            return await self._async_settle(turn, chat_log, heard)
        if asks_to_undo(turn.text, turn.language):
            return await self._async_undo(turn, chat_log)
        if (endpoint is None or (self.profile.local_first and len(turn.text) <= MAX_SENTENCE)) and (
            result := await self._async_answer_locally(turn, user_input, chat_log, final=endpoint is None)
        ):
            return result
        assert endpoint is not None  # with final=True the house always answers
        await self._async_ask_model(turn, session, chat_log, endpoint)
        return _result(user_input, chat_log)

    async def _async_answer_locally(
        self, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, *, final: bool
    ) -> ConversationResult | None:
        """Return what Home Assistant's own sentences make of it; None when the model has to be asked."""
        answer = await sentences.async_answer(self.hass, turn, user_input, chat_log, self.runtime.policy, final=final)
        if answer is None:
            return None
        turn.origin = Origin.LOCAL
        if answer.needs_confirmation:
            return self._said(turn, chat_log, Settled(text=await self._async_question(turn)))
        speech = speakable_text(answer.speech) if turn.spoken else answer.speech
        answer.response.async_set_speech(speech)
        chat_log.async_add_assistant_content_without_tools(AssistantContent(agent_id=turn.agent_id, content=speech))
        return ConversationResult(
            response=answer.response,
            conversation_id=chat_log.conversation_id,
            continue_conversation=_expects_reply(speech),
        )

    async def _async_settle(self, turn: Turn, chat_log: ChatLog, heard: Heard) -> ConversationResult:
        """Return what became of a question that these words answer; no model is asked."""
        turn.origin = Origin.LOCAL
        return self._said(turn, chat_log, await async_settle(self.hass, self.runtime, turn, chat_log, heard))

    async def _async_undo(self, turn: Turn, chat_log: ChatLog) -> ConversationResult:
        """Take back what was done last, or ask for the yes that this needs; no model is asked."""
        turn.origin = Origin.LOCAL
        answer = await async_undo(self.hass, turn, self.runtime.policy, HaUndo(self.runtime.journal), chat_log)
        return self._said(
            turn, chat_log, Settled(text=answer.text or await self._async_question(turn), done=answer.done)
        )

    async def _async_question(self, turn: Turn) -> str:
        """Put the question that the turn has to end with, and return it."""
        return await async_put(self.hass, self.runtime, turn)

    def _said(self, turn: Turn, chat_log: ChatLog, settled: Settled) -> ConversationResult:
        """Return a sentence of ours; it stands in the chat log as the answer."""
        chat_log.async_add_assistant_content_without_tools(
            AssistantContent(agent_id=turn.agent_id, content=settled.text)
        )
        response = intent.IntentResponse(language=turn.language)
        if settled.done:
            response.async_set_speech(settled.text)
        else:
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, settled.text)
        return ConversationResult(
            response=response,
            conversation_id=chat_log.conversation_id,
            continue_conversation=_expects_reply(settled.text),
        )

    async def _async_ask_model(self, turn: Turn, session: Session, chat_log: ChatLog, endpoint: Endpoint) -> None:
        """Let the model answer into the chat log. Raises `LLMError`."""
        tools = await self._async_tools(turn) if endpoint.config.tool_calling else []
        chat_log.llm_api = turn_api(self.hass, turn, tools, self.runtime.policy).instance(llm_context_of(turn))
        chat_log.extra_system_prompt = turn.extra_system_prompt or chat_log.extra_system_prompt
        chat_log.llm_input_provided_index = len(chat_log.content)
        specs = tool_specs(tools, chat_log.llm_api.custom_serializer)

        def shares() -> Budget:
            return budget_for(session.window_of(endpoint.window), endpoint.config, self.profile, specs)

        home, sources = self.runtime.home, self.runtime.sources
        briefing = Briefing(self.hass, turn, session, chat_log, home, sources, shares, endpoint.client.estimator)
        turn.endpoint_id = endpoint.config.subentry_id
        turn.mask = mask_for(self.profile.mask_personal_data, remote=endpoint.config.remote)
        mode = await briefing.async_open()
        words = await self._async_words(turn, session, tools, mode, briefing)
        briefing.restore({tool.name for tool in tools})
        await briefing.async_prepare(words)
        chat_log.async_trace({"messages": list(chat_log.content), "tools": [tool.name for tool in tools]})
        agent = Agent(
            hass=self.hass,
            endpoint=endpoint,
            turn=turn,
            chat_log=chat_log,
            tools=specs,
            build=briefing.async_messages,
            note=briefing.note_what_was_done,
            last_word=briefing.note_last_request,
            question=partial(self._async_question, turn),
        )
        await agent.async_run()
        if session.dropped and self.profile.history_summary:
            session.summing_up = endpoint.async_work(_async_sum_up(session, endpoint, turn), "sum up")
        usage = {"input_tokens": turn.usage.input_tokens, "output_tokens": turn.usage.output_tokens}
        chat_log.async_trace({"stats": usage})

    async def _async_tools(self, turn: Turn) -> list[HomeAgentTool]:
        """Return the tools that the model is offered: without those that need a yes where nobody can give one."""
        offered = await self.runtime.tools.async_tools(self.profile, llm_context_of(turn))
        asks_for = self.runtime.policy.rules.asks_for
        return [tool for tool in offered if turn.answerable or not asks_for(self.profile, tool)]

    async def _async_words(
        self, turn: Turn, session: Session, tools: Sequence[HomeAgentTool], mode: Mode, briefing: Briefing
    ) -> str:
        """Return the instructions, fixed for the conversation; an error in them becomes a Repairs issue."""
        owner = Owner.of(turn)
        if session.needs_instructions(owner):
            session.renew_instructions()
            guides = dict.fromkeys(tool.guide for tool in tools if tool.guide)
            names = frozenset(tool.name for tool in tools)
            written = await self.runtime.instructing.async_write(
                turn, session, briefing, names, guides, looks_up=mode.looks_up
            )
            session.instructions, session.instructed = written.text, owner
            if written.error:
                issues.async_prompt_template(self.hass, self.profile, written.error)
            else:
                issues.async_prompt_template_solved(self.hass, self.profile)
        assert session.instructions is not None
        return session.instructions

    async def _async_notice(self, turn: Turn, chat_log: ChatLog, error: HomeAssistantError) -> ConversationResult:
        """Return an error as a sentence in the language of the turn."""
        turn.origin = Origin.NOTICE
        events.async_error(self.hass, turn, error, "conversation")
        return self._said(
            turn, chat_log, Settled(text=await async_error_text(self.hass, turn.language, error), done=False)
        )


async def _async_sum_up(session: Session, endpoint: Endpoint, turn: Turn) -> None:
    """Let the model sum up what is not sent any more; its tokens count like all others."""
    started = time.perf_counter()
    reply = await async_sum_up(session, endpoint.client, turn.mask)
    if reply.usage is not None:
        endpoint.async_succeeded(reply, round((time.perf_counter() - started) * 1000))
        endpoint.async_publish()


def _result(user_input: ConversationInput, chat_log: ChatLog) -> ConversationResult:
    """Return the last words as the result; the microphone stays open when they ask something."""
    result = conversation.async_get_result_from_chat_log(user_input, chat_log)
    last = chat_log.content[-1]
    result.continue_conversation = isinstance(last, AssistantContent) and _expects_reply(last.content or "")
    return result


def _expects_reply(text: str) -> bool:
    """Return whether the text ends with a question, in any script and behind closing quotes or Markdown."""
    return text.rstrip(CLOSING).endswith(QUESTION_MARKS)
