"""The loop: ask the model, stream the answer into the chat log, let the tools run, until nothing is unanswered.

There is only this one. A turn is never run twice: once a word was shown or a tool was started, a failure ends the answer
in words and keeps what is there (D-9).
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
import time
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant

from . import events
from .client.base import ChatRequest, Message, Reply, ToolSpec
from .const import LOGGER
from .endpoint import Endpoint
from .errors import LLMContextLengthError, LLMEndlessError, LLMError, LLMResponseError
from .safety.claims import claims_falsely
from .speech import speakable
from .texts import async_error_text, async_text
from .turn import Turn

MORE_REQUESTS = 2
"""Requests of a turn besides one for each tool call: the answer, and one more when it is not true or the prompt was too long."""

TRIES = 3  # of one request, shorter each time the model says that it is too long

type Delta = conversation.AssistantContentDeltaDict
type BuildMessages = Callable[[bool], Awaitable[list[Message]]]
"""Returns the messages of the next request; true asks for a shorter version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One turn with a model."""

    hass: HomeAssistant
    endpoint: Endpoint
    turn: Turn
    chat_log: conversation.ChatLog
    tools: Sequence[ToolSpec]
    build: BuildMessages
    note: Callable[[], None] | None = None
    """Puts behind the last answer, for all later requests, what was really done. None: nobody checks what is claimed."""
    last_word: Callable[[], None] | None = None
    """Puts behind the newest results, for all later requests, that no more tools may be called. None: that is not told."""
    response_format: Mapping[str, Any] | None = None
    talks: bool = True
    """Whether a person reads the answer: problems are then put in words. For tasks they are raised."""
    question: Callable[[], Awaitable[str]] | None = None
    """Returns what has to be asked before the turn goes on: it then ends with that, and the model is not asked again."""

    async def async_run(self) -> None:
        """Add everything up to the last word to the chat log.

        Raises `LLMError` when the model could not be asked at all; after that every problem becomes part of the answer.
        """
        correcting = False
        try:
            while True:
                if await self._async_step(correcting=correcting):
                    continue
                if self.note is None or correcting or not self._claims_falsely():
                    return
                if self._requests_left <= 0:
                    await self._async_say(await self._what_is_true(after=False))
                    return
                self.note()
                correcting = True
        finally:
            self.endpoint.async_publish()

    def _claims_falsely(self) -> bool:
        """Return whether the last words say that something was done, though nothing was."""
        last = self.chat_log.content[-1]
        words = last.content if isinstance(last, conversation.AssistantContent) else None
        return bool(self.tools) and self.turn.request_id is None and claims_falsely(self.turn, words or "")

    async def _async_step(self, *, correcting: bool) -> bool:
        """Ask once, and again when the request was too long; return whether tool results wait for an answer."""
        for attempt in range(TRIES):
            request = await self._async_request(shorter=attempt > 0)
            last_try = attempt == TRIES - 1 or self._requests_left <= 1
            try:
                await self._async_ask(request, last_try=last_try, correcting=correcting)
                break
            except LLMContextLengthError:
                if last_try:
                    raise
            LOGGER.info("%s: the request was too long, asking again with less", self.endpoint.config.title)
        if self.turn.request_id is not None and self.question is not None:
            await self._async_say(await self.question())
        return self.chat_log.unresponded_tool_results

    async def _async_request(self, *, shorter: bool) -> ChatRequest:
        may_call = bool(self.tools) and self.turn.calls_left > 0 and self._requests_left > 1
        if self.last_word is not None and not may_call and self.chat_log.unresponded_tool_results:
            self.last_word()
        return ChatRequest(
            messages=await self.build(shorter),
            tools=self.tools,
            may_call_tools=may_call,
            response_format=self.response_format,
            stream=self.turn.profile.streaming,
            conversation_id=self.turn.conversation_id,
        )

    @property
    def _requests_left(self) -> int:
        """How often the model may still be asked in this turn; the last time it has to answer in words."""
        return self.turn.profile.max_calls_per_turn + MORE_REQUESTS - self.turn.requests

    async def _async_ask(self, request: ChatRequest, *, last_try: bool = False, correcting: bool) -> None:
        """Send one request; its answer and the results of its tool calls end up in the chat log."""
        self.turn.requests += 1
        stream = self._deltas(request, last_try=last_try)
        if correcting:
            stream = self._honest(stream)
        if self.turn.spoken:
            stream = self._not_silent(speakable(stream))
        async for _content in self.chat_log.async_add_delta_content_stream(self.turn.agent_id, stream):
            pass

    async def _async_say(self, text: str) -> None:
        """Add a sentence of ours to the answer."""

        async def deltas() -> AsyncGenerator[Delta]:
            yield {"role": "assistant", "content": text}

        async for _content in self.chat_log.async_add_delta_content_stream(self.turn.agent_id, deltas()):
            pass

    async def _deltas(self, request: ChatRequest, *, last_try: bool) -> AsyncGenerator[Delta]:
        """Yield the deltas of one answer, and a sentence of ours where the model's is missing or broken off."""
        acted = self.chat_log.unresponded_tool_results
        answer = _Answer()
        started = time.perf_counter()
        try:
            async for delta in self.endpoint.client.stream(request, answer.reply):
                if delta.get("tool_calls") and not request.may_call_tools:  # a model that does not listen
                    continue
                answer.note(delta)
                yield delta
        except LLMError as err:
            if self._is_hopeless(err, answer.reply, acted=acted, last_try=last_try):
                raise
            events.async_streaming_error(self.hass, self.turn, err)
            ending = await self._async_broken_off(err, answer)
        else:
            self._succeeded(answer.reply, started)
            ending = await self._async_what_is_missing(answer)
        if ending is not None:
            yield ending

    def _is_hopeless(self, error: LLMError, reply: Reply, *, acted: bool, last_try: bool) -> bool:
        """Return whether the error ends the turn, or this attempt; otherwise it becomes part of the answer.

        Once a delta has left, a request is never made again: its calls are running, its words were heard (D-9).
        """
        too_long = isinstance(error, LLMContextLengthError)
        if isinstance(error, LLMContextLengthError):
            self.endpoint.async_was_too_long(error.limit, reply.estimated_tokens)
        else:
            self.endpoint.async_failed(error)
        if not self.talks:
            return True
        return not reply.started and (not acted or (too_long and not last_try))

    async def _honest(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass the deltas of a correction on; when it claims the same again or does not come, say what is true."""
        words = ""
        called = False
        try:
            async for delta in stream:
                words += delta.get("content") or ""
                called = called or bool(delta.get("tool_calls"))
                yield delta
        except LLMError:  # the claim was heard: it must not be all that is said
            yield {"role": "assistant", "content": await self._what_is_true(after=False)}
            return
        if not called and claims_falsely(self.turn, words):
            yield {"content": await self._what_is_true(after=True)}

    async def _what_is_true(self, *, after: bool) -> str:
        if self.turn.effects:
            return await self._notice("nothing_changed", after=after)
        return await self._notice("nothing_was_done", after=after)

    async def _not_silent(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass the deltas on, and a sentence of ours when nothing in the answer could be spoken (an emoji alone)."""
        heard = False
        async for delta in stream:
            heard = heard or bool(delta.get("content") or delta.get("tool_calls"))
            yield delta
        if not heard:
            yield {"content": await self._notice("answer_empty", after=False)}

    def _succeeded(self, reply: Reply, started: float) -> None:
        if reply.usage is not None:
            self.turn.usage += reply.usage
        self.endpoint.async_succeeded(reply, round((time.perf_counter() - started) * 1000))

    async def _async_broken_off(self, error: LLMError, answer: _Answer) -> Delta | None:
        """Return the end of an answer that broke; None when the loop goes on with the results of what was started."""
        if answer.called:
            return None
        if answer.said:
            key = "answer_too_long" if isinstance(error, LLMEndlessError) else "answer_cut_off"
            return {"content": await self._notice(key, after=True)}
        text = await async_error_text(self.hass, self.turn.language, error)
        return {"content": text} if answer.reply.started else {"role": "assistant", "content": text}

    async def _async_what_is_missing(self, answer: _Answer) -> Delta | None:
        """Return the end of an answer that came and is not whole; raises `LLMResponseError` when nobody reads it."""
        key = _what_is_missing(answer.reply, said=answer.said)
        if answer.called or key is None:
            return None
        if not self.talks:
            raise LLMResponseError(key)
        return {"content": await self._notice(key, after=answer.said)}

    async def _notice(self, key: str, *, after: bool) -> str:
        text = await async_text(self.hass, self.turn.language, key)
        return f"\n\n{text}" if after else text


@dataclass(slots=True)
class _Answer:
    """One answer of the model as far as it has come."""

    reply: Reply = field(default_factory=Reply)
    said: bool = False
    called: bool = False

    def note(self, delta: Delta) -> None:
        """Take note of a delta that is passed on."""
        self.said = self.said or bool(delta.get("content"))
        self.called = self.called or bool(delta.get("tool_calls"))


def _what_is_missing(reply: Reply, *, said: bool) -> str | None:
    """Return the sentence for an answer that is not whole."""
    if reply.finish_reason == "length":
        return "answer_too_long"
    return None if said else "answer_empty"
