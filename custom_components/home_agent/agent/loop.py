"""The loop: ask the model, stream the answer into the chat log, let the tools run, until nothing is unanswered.

There is only this one. A turn is never run twice: once a word was shown or a tool was started, a failure ends the answer
in words and keeps what is there (D-9).
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
import time
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant

from ..client.endpoint import Endpoint
from ..client.messages import PATIENCE, ChatRequest, Message, ModelReply, ToolSpec
from ..client.stream import REPEATS, TOO_LONG, Delta
from ..policy.questions import async_states
from ..speech import speakable
from ..support.const import LOGGER
from ..support.encoding import ShownText, shown
from ..support.errors import (
    LLMContextLengthError,
    LLMEndlessError,
    LLMError,
    LLMResponseError,
    LLMTimeoutError,
    where_of,
)
from ..support.localize import async_error_text, async_text
from ..turn import events
from ..turn.turn import Turn
from .claims import Untrue

MORE_REQUESTS = 2
"""Requests of a turn besides one for each tool call: the answer, and one more when it is not true or the prompt was too long."""

TASK_PATIENCE = 300.0  # seconds for which a task waits for a model that is being loaded: nobody listens

LOOPED = "answer_repeats"
"""What is said of an answer that was ended because it said the same over and over."""
TRIES = 3  # of one request, shorter each time the model says that it is too long

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
    note: Callable[[Mapping[str, str]], None] | None = None
    """Puts behind the last answer, for all later requests, what was really done, or the states that it got wrong."""
    judge: Callable[[str], Awaitable[Untrue | None]] | None = None
    """Returns what is not true in an answer. None: nobody checks what is claimed."""
    may_name_others: Callable[[str], bool] | None = None
    """Whether an answer may be about more than what was done: else it is not judged in a turn that did something."""
    last_word: Callable[[], None] | None = None
    """Puts behind the newest results, for all later requests, that no more tools may be called. None: that is not told."""
    response_format: Mapping[str, Any] | None = None
    talks: bool = True
    """Whether a person reads the answer: problems are then put in words. For tasks they are raised."""
    once: bool = False
    """It is asked once, without tools, and fails where nothing was said; what is not true is set right behind its answer."""
    only_words: bool = False
    """It answers in words, and its tools are only shown to it."""
    besides: Callable[[str], Awaitable[str]] | None = None
    """Returns what has to stand behind the answer, given its words; empty: nothing. For one that is asked once."""
    question: Callable[[], Awaitable[str]] | None = None
    """Returns what has to be asked before the turn goes on: it then ends with that, and the model is not asked again."""

    async def async_run(self) -> None:
        """Add everything up to the last word to the chat log.

        Raises `LLMError` when the model could not be asked at all; after that every problem becomes part of the answer.
        """
        correcting: Untrue | None = None
        try:
            while True:
                if await self._async_step(correcting=correcting):
                    continue
                last = self.chat_log.content[-1]
                words = last.content if isinstance(last, conversation.AssistantContent) else None
                if words and self.turn.record.fault is not None:  # the last paragraph is ours
                    words = words.rpartition("\n\n")[0]
                untrue = None if correcting or self.note is None else await self._async_untrue(words or "")
                if self.note is None or untrue is None:
                    return
                if self._requests_left <= 0:
                    await self._async_say(await self._async_what_is_true(untrue, after=False))
                    return
                self.note({} if untrue.nothing_done else untrue.states)
                correcting = untrue
        finally:
            self.endpoint.async_publish()

    async def async_follow_up(self, text: str) -> ChatRequest:
        """Return the request that the next message would begin with, and this text as that message. No tool may be called."""
        messages = [*await self.build(False), {"role": "user", "content": text}]
        return ChatRequest(
            messages=messages, tools=self.tools, may_call_tools=False, cache_key=self.turn.profile.subentry_id
        )

    async def _async_step(self, *, correcting: Untrue | None) -> bool:
        """Ask once, and again when the request was too long; return whether tool results wait for an answer.

        The answer and the results of its tool calls end up in the chat log.
        """
        turn, log = self.turn, self.chat_log
        turn.record.fault = None
        messages: list[Message] = []
        refused: LLMContextLengthError | None = None
        tries = (TRIES, 1)[self.once]
        for attempt in range(tries):
            left = self._requests_left
            may_call = (
                bool(self.tools)
                and not self.only_words
                and turn.record.calls_started < turn.profile.max_calls_per_turn
                and left > 1
            )
            last_try = attempt == tries - 1 or left <= 1
            if self.last_word is not None and not may_call and log.unresponded_tool_results:
                self.last_word()
            before, messages = messages, await self.build(attempt > 0)
            if refused is not None and messages == before and not self.talks:  # nothing is left that could be left out
                raise refused
            request = ChatRequest(
                messages=messages,
                tools=self.tools,
                may_call_tools=may_call,
                response_format=self.response_format,
                stream=turn.profile.streaming,
                cache_key=f"{turn.profile.subentry_id}{turn.extension}",
                max_text=turn.profile.max_answer_tokens if self.talks else None,
                patience=PATIENCE if self.talks else TASK_PATIENCE,
                retries=not self.once,
            )
            turn.record.requests += 1
            stream = self._deltas(request, last_try=last_try)
            if correcting:
                stream = self._honest(stream, correcting)
            stream = self._complete(stream) if self.once else stream
            if turn.spoken:
                stream = self._not_silent(speakable(stream))
            elif self.talks:
                stream = self._shown(stream)
            try:
                async for _content in log.async_add_delta_content_stream(turn.agent_id, stream):
                    pass
                break
            except LLMContextLengthError as err:
                if last_try:
                    raise
                refused = err
            LOGGER.info("%s: the request was too long, asking again with less", self.endpoint.config.title)
        if turn.record.request_id is not None and self.question is not None:
            question = await self.question()
            if self._has_spoken:  # whatever the model has asked before is not what a yes is for
                question = await async_text(self.hass, turn.speaks, "confirm_only_this", question=question)
            await self._async_say(question)
        return log.unresponded_tool_results

    @property
    def _has_spoken(self) -> bool:
        """Whether the model has said anything since the user did."""
        for item in reversed(self.chat_log.content):
            if isinstance(item, conversation.UserContent):
                return False
            if isinstance(item, conversation.AssistantContent) and item.content and not item.content.isspace():
                return True
        return False

    @property
    def _requests_left(self) -> int:
        """How often the model may still be asked in this turn; the last time it has to answer in words."""
        profile = self.turn.profile
        most = profile.max_calls_per_turn + MORE_REQUESTS
        return min(most, profile.max_iterations or most) - self.turn.record.requests

    async def _async_say(self, text: str) -> None:
        """Add a sentence of ours to the answer."""

        async def deltas() -> AsyncGenerator[Delta]:
            yield {"role": "assistant", "content": shown(text)}

        async for _content in self.chat_log.async_add_delta_content_stream(self.turn.agent_id, deltas()):
            pass

    async def _deltas(self, request: ChatRequest, *, last_try: bool) -> AsyncGenerator[Delta]:
        """Yield the deltas of one answer, and a sentence of ours where the model's is missing or broken off."""
        acted = self.chat_log.unresponded_tool_results and not self.once and not self.only_words
        reply, said, called = ModelReply(), False, False
        started = time.perf_counter()
        try:
            async for delta in self.endpoint.client.stream(request, reply):
                if delta.get("tool_calls"):
                    if not request.may_call_tools:  # a model that does not listen
                        continue
                    called = True
                said = said or bool(delta.get("content"))
                if self.turn.record.first_token_ms is None:
                    self.turn.record.first_token_ms = round((time.perf_counter() - self.turn.record.started) * 1000)
                yield delta
        except LLMError as err:
            too_long = isinstance(err, LLMContextLengthError)
            if isinstance(err, LLMContextLengthError):
                self.endpoint.async_was_too_long(err.limit, reply.estimated_tokens)
            else:
                self.endpoint.async_failed(err)
            # Once a delta has left, a request is never made again: its calls are running, its words were heard (D-9).
            if not self.talks or (not reply.started and (not acted or (too_long and not last_try))):
                raise
            kept = events.KEPT_TOOL_CALLS if called else events.KEPT_PARTIAL_ANSWER if said else events.KEPT_NOTHING
            events.async_streaming_error(self.hass, self.turn, err, kept)
            if not called:  # else the loop goes on with the results of what was started
                self.turn.record.fault = err
                yield await self._async_broken_off(err, reply, said=said)
            return
        self.endpoint.async_succeeded(reply, round((time.perf_counter() - started) * 1000), self.turn.record)
        ended = {TOO_LONG: "answer_too_long", REPEATS: LOOPED}.get(reply.finish_reason or "")
        if not called and (ended or not said):
            key = ended or "answer_empty"
            fault = LLMResponseError(key)
            if not self.talks or (self.once and not said):
                raise fault
            self.turn.record.fault = fault
            yield {"content": await self._notice(key, after=said)}

    async def _async_broken_off(self, error: LLMError, reply: ModelReply, *, said: bool) -> Delta:
        """Return the end of an answer that broke."""
        if said:
            key = "answer_too_long" if isinstance(error, LLMEndlessError) else "answer_cut_off"
            key = "answer_stalled" if isinstance(error, LLMTimeoutError) else key
            return {"content": await self._notice(key, after=True)}
        text = await async_error_text(self.hass, self.turn.speaks, error)
        return {"content": text} if reply.started else {"role": "assistant", "content": text}

    async def _honest(self, stream: AsyncGenerator[Delta], corrected: Untrue) -> AsyncGenerator[Delta]:
        """Pass the deltas of a correction on; when it claims the same again or does not come, say what is true."""
        words = ""
        called = False
        try:
            async for delta in stream:
                words += delta.get("content") or ""
                called = called or bool(delta.get("tool_calls"))
                yield delta
        except LLMError as err:  # the claim was heard: it must not be all that is said
            self.turn.record.fault = err
            yield {"role": "assistant", "content": await self._async_what_is_true(corrected, after=False)}
            return
        if not called and (untrue := await self._async_untrue(words)) is not None:
            yield {"content": await self._async_what_is_true(untrue, after=True)}

    async def _complete(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass the deltas of the only answer on, and behind them what is true and what has to be said besides."""
        words = ""
        async for delta in stream:
            words += delta.get("content") or ""
            yield delta
        if (untrue := await self._async_untrue(words)) is not None:
            yield {"content": await self._async_what_is_true(untrue, after=True)}
        if self.besides is not None and (text := await self.besides(words)):
            yield {"content": f"\n\n{text}"}

    async def _async_untrue(self, answer: str) -> Untrue | None:
        """Return what is not true in an answer; one that is only about what was done in its turn is not judged."""
        if self.judge is None or not (self.tools or self.once):
            return None
        if self.turn.record.acted and self.may_name_others is not None and not self.may_name_others(answer):
            return None
        try:
            return await self.judge(answer)
        except Exception as err:  # noqa: BLE001 - a home with odd names may not be understood; that costs no answer
            LOGGER.error("Whether an answer is true could not be judged: %s", where_of(err))
            return None

    async def _async_what_is_true(self, untrue: Untrue, *, after: bool) -> str:
        """Return a sentence of ours: that nothing was done, or what the things are of which something else was said."""
        if untrue.nothing_done or not untrue.states:
            return await self._notice(
                "nothing_changed" if self.turn.record.outcomes else "nothing_was_done", after=after
            )
        text = await async_states(self.hass, self.turn.speaks, untrue.states)
        return f"\n\n{text}" if after else text

    async def _shown(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass the deltas on with a content that can be shown: nothing in it loads by itself."""
        text = ShownText(tells_addresses=bool(self.turn.record.taints))
        async for delta in stream:
            content = delta.get("content")
            if content:
                delta = {**delta, "content": text.feed(content)}
            elif rest := text.flush():
                yield {"content": rest}
            if delta.get("content") != "" or len(delta) > 1:
                yield delta
        if rest := text.flush():
            yield {"content": rest}

    async def _not_silent(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass the deltas on, and a sentence of ours when nothing in the answer could be spoken (an emoji alone)."""
        heard = False
        async for delta in stream:
            heard = heard or bool(delta.get("content") or delta.get("tool_calls"))
            yield delta
        if not heard:
            if self.once:
                raise LLMResponseError("answer_empty")
            self.turn.record.fault = LLMResponseError("answer_empty")
            yield {"content": await self._notice("answer_empty", after=False)}

    async def _notice(self, key: str, *, after: bool) -> str:
        text = await async_text(self.hass, self.turn.speaks, key)
        return f"\n\n{text}" if after else text
