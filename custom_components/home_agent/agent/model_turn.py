"""The model turn: ask a model, stream the answer into the chat log, let the tools run, until none of their results is unanswered.

A turn is never run twice: once a word was shown or a tool was started, a failure ends the answer in words.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
import time
from typing import Any

from homeassistant.components.conversation import AssistantContent, ChatLog, Content, ToolResultContent, UserContent
from homeassistant.core import HomeAssistant

from ..client.endpoint import Endpoint, mask_for
from ..client.messages import (
    PATIENCE,
    ChatRequest,
    Message,
    ModelReply,
    OfferedTools,
    ToolSpec,
    async_load_attachments,
    messages_from_content,
    offered_tools,
    shortened,
)
from ..client.stream import REPEATS, TOO_LONG, Delta
from ..policy.channels import async_put
from ..policy.questions import async_states
from ..policy.tool import HomeAgentTool
from ..prompt.request import DEFAULT_ANSWER_TOKENS, Gathering, RequestBuilder, Share
from ..settings.profile import AUTO, BUILT_IN
from ..speech import speakable
from ..support import errors
from ..support.const import DOMAIN, LOGGER
from ..support.encoding import ShownText, dump, shown
from ..support.localize import async_error_text, async_text
from ..support.masking import Mask
from ..tools.registry import TurnAPI, llm_context_of, policed
from ..transcript.transcript import Round, Transcript
from ..turn import events
from ..turn.turn import Answer, AnswerOrigin, Turn
from .claims import ClaimCheck, Untrue
from .runtime import RuntimeData
from .taken_calls import UNREAD, TakenCalls

MORE_REQUESTS = (
    2  # besides one for each tool call: the answer, and one more if it is not true or the prompt was too long
)
LOOPED = "answer_repeats"
READ_WAIT = 300.0  # seconds without a word after which a turn in text ends
SPOKEN_TOKENS = 600  # of an answer by voice: about three minutes
TRIES = 3  # of one request, shorter each time the model says that it is too long
LESS = 0.7  # of a task that was too long, sent again


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a model is asked, and what becomes of an answer that fails."""

    tries: int = TRIES
    """Of one request that is too long. With 1, it is not repeated if the server is away, and an empty answer is a failure."""
    patience: float = PATIENCE
    calls: bool = True
    in_words: bool = True  # whether a failure becomes part of the answer; else it is raised


TALK = Manner()
WORDS = Manner(calls=False)
ONCE = Manner(tries=1, calls=False)  # fails if the model says nothing
TASK = Manner(patience=300.0, in_words=False)  # longer than a person would wait


async def _async_nothing(_answer: str = "") -> str:
    return ""


async def _async_not_judged(_answer: str) -> Untrue | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One turn with a model."""

    endpoint: Endpoint
    turn: Turn
    chat_log: ChatLog
    requests: RequestBuilder | TaskRequests
    tools: Sequence[ToolSpec] = ()
    manner: Manner
    judge: Callable[[str], Awaitable[Untrue | None]] = _async_not_judged
    question: Callable[[], Awaitable[str]] = _async_nothing
    behind: Callable[[str], Awaitable[str]] = _async_nothing
    response_format: Mapping[str, Any] | None = None

    async def async_answer(self) -> Answer:
        """Let the model answer. Raises `LLMError` when it could not be asked at all; for a task, also when it fails later."""
        await self.async_run()
        usage = self.turn.record.usage
        self.chat_log.async_trace({"stats": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}})
        return self.answered

    @property
    def answered(self) -> Answer:
        """The last answer in the chat log."""
        last = self.chat_log.content[-1]
        text = last.content or "" if isinstance(last, AssistantContent) else ""
        return Answer(text=text, origin=AnswerOrigin.MODEL, is_in_chat_log=True)

    async def async_run(self) -> None:
        """Add everything up to the last word to the chat log. Raises what `async_answer` does."""
        correcting: Untrue | None = None
        try:
            while True:
                if await self._async_step(correcting=correcting):
                    continue
                last = self.chat_log.content[-1]
                words = last.content if isinstance(last, AssistantContent) else None
                if words and self.turn.record.fault is not None:  # the last paragraph is ours
                    words = words.rpartition("\n\n")[0]
                untrue = None if correcting else await self.judge(words or "")
                if untrue is None:
                    return
                if self._requests_left <= 0:
                    await self._async_say(await async_what_is_true(self.chat_log.hass, self.turn, untrue))
                    return
                states = {} if untrue.nothing_done else untrue.states
                self.requests.note_what_is_true(states, no_automation=untrue.no_automation)
                correcting = untrue
        finally:
            self.endpoint.async_publish()

    async def async_follow_up(self, text: str) -> ChatRequest:
        """Return the request that the next message would begin with, and this text as that message. No tool may be called."""
        messages = [*await self.requests.async_messages(False), {"role": "user", "content": text}]
        return ChatRequest(
            messages=messages,
            tools=self.tools,
            may_call_tools=False,
            cache_key=self.turn.profile.subentry_id,
            background=True,
        )

    async def _async_step(self, *, correcting: Untrue | None) -> bool:
        """Ask once, and again if the request was too long; return whether tool results wait for an answer."""
        turn, log = self.turn, self.chat_log
        turn.record.fault = None
        messages: list[Message] = []
        refused: errors.LLMContextLengthError | None = None
        manner, stuck = self.manner, _fails_again(log.content)
        for attempt in range(manner.tries):
            left = self._requests_left
            calls_left = turn.record.calls_started < turn.profile.max_calls_per_turn and left > 1 and not stuck
            may_call = bool(self.tools) and manner.calls and calls_left
            last_try = attempt == manner.tries - 1 or left <= 1
            if not may_call and manner.tries > 1 and log.unresponded_tool_results:
                self.requests.note_last_request()
            before, messages = messages, await self.requests.async_messages(attempt > 0)
            if refused is not None and messages == before and not manner.in_words:  # nothing more could be left out
                raise refused
            request = ChatRequest(
                messages=messages,
                tools=self.tools,
                may_call_tools=may_call,
                response_format=self.response_format,
                stream=turn.profile.streaming,
                cache_key=f"{turn.profile.subentry_id}{turn.extension}",
                max_text=self._most_text if manner.in_words else None,
                patience=manner.patience,
                retries=manner.tries > 1,
            )
            turn.record.requests += 1
            stream = self._deltas(request, last_try=last_try)
            stream = self._honest(stream, correcting) if correcting else self._complete(stream)
            if turn.spoken:
                stream = self._not_silent(speakable(stream))
            elif manner.in_words:
                stream = self._shown(stream)
            try:
                async for _content in log.async_add_delta_content_stream(turn.agent_id, stream):
                    pass
                break
            except errors.LLMContextLengthError as err:
                if last_try:
                    raise
                refused = err
            LOGGER.info("%s: the request was too long, asking again with less", self.endpoint.config.title)
        if turn.record.request_id is not None and (question := await self.question()):
            newest = takewhile(lambda item: not isinstance(item, UserContent), reversed(log.content))
            if any(isinstance(item, AssistantContent) and (item.content or "").strip() for item in newest):
                # a yes is for this question, not for one that the model has asked before
                question = await async_text(self.chat_log.hass, turn.speaks, "confirm_only_this", question=question)
            await self._async_say(question)
        return log.unresponded_tool_results

    @property
    def _most_text(self) -> int:
        """How many tokens of text an answer may have: by voice fewer, unless the owner has set how many."""
        most = self.turn.profile.max_answer_tokens
        return SPOKEN_TOKENS if self.turn.spoken and most == BUILT_IN["max_answer_tokens"] else most

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
        acted = self.chat_log.unresponded_tool_results and self.manner.calls
        reply, said, called = ModelReply(), False, False
        started = time.perf_counter()
        api = self.chat_log.llm_api
        written = TakenCalls(api.tools if api else (), request, reply, self.turn.text)
        try:
            async for delta in written.async_deltas(self._in_time(self.endpoint.client.stream(request, reply))):
                if delta.get("tool_calls"):
                    if not request.may_call_tools:  # a model that does not listen
                        continue
                    called = True
                said = said or bool(delta.get("content"))
                if self.turn.record.first_token_ms is None:
                    self.turn.record.first_token_ms = round((time.perf_counter() - self.turn.record.started) * 1000)
                yield delta
        except errors.LLMError as err:
            too_long = isinstance(err, errors.LLMContextLengthError)
            if isinstance(err, errors.LLMContextLengthError):
                self.endpoint.async_was_too_long(err.limit, reply.estimated_tokens)
            else:
                self.endpoint.async_failed(err)
            # Once a delta has left, a request is never made again: its calls are running, its words were heard.
            if not self.manner.in_words or (not reply.started and (not acted or (too_long and not last_try))):
                raise
            kept = events.KEPT_TOOL_CALLS if called else events.KEPT_PARTIAL_ANSWER if said else events.KEPT_NOTHING
            events.async_streaming_error(self.chat_log.hass, self.turn, err, kept)
            if not called:  # else the loop goes on with the results of what was started
                self.turn.record.fault = err
                if said:
                    key = "answer_too_long" if isinstance(err, errors.LLMEndlessError) else "answer_cut_off"
                    key = "answer_stalled" if isinstance(err, errors.LLMTimeoutError) else key
                    yield {"content": await self._notice(key, after=True)}
                else:
                    text = await async_error_text(self.chat_log.hass, self.turn.speaks, err)
                    yield {"content": text} if reply.started else {"role": "assistant", "content": text}
            return
        self.endpoint.async_succeeded(reply, round((time.perf_counter() - started) * 1000), self.turn.record)
        self.endpoint.async_called(well=called, unread=written.unread and not written.is_quoted)
        ended = {TOO_LONG: "answer_too_long", REPEATS: LOOPED, UNREAD: UNREAD}.get(reply.finish_reason or "")
        if not called and (ended or not said):
            key = ended or "answer_empty"
            fault = errors.LLMResponseError(key)
            if not self.manner.in_words or (self.manner.tries == 1 and not said):
                raise fault
            self.turn.record.fault = fault
            yield {"content": await self._notice(key, after=said)}

    async def _in_time(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass deltas on. Raises `LLMTooLateError` once the person who asked has heard nothing for too long; then no tool is called."""
        if not self.manner.in_words:
            async for delta in stream:
                yield delta
            return
        asked, clock = self.turn.lineage[-1], asyncio.get_running_loop().time
        record = asked.record
        record.heard = clock() if record.heard is None else record.heard
        limit = asked.profile.spoken_wait if asked.spoken else READ_WAIT
        async with aclosing(stream):
            while True:
                try:
                    async with asyncio.timeout_at(record.heard + limit):
                        delta = await anext(stream)
                except StopAsyncIteration:
                    return
                except TimeoutError as err:
                    raise errors.LLMTooLateError(seconds=f"{limit:.0f}") from err
                if delta.get("content") and not self.turn.delegated:
                    record.heard = clock()
                yield delta

    async def _honest(self, stream: AsyncGenerator[Delta], corrected: Untrue) -> AsyncGenerator[Delta]:
        """Pass the deltas of a correction on; when it claims the same again or does not come, say what is true."""
        words = ""
        called = False
        try:
            async for delta in stream:
                words += delta.get("content") or ""
                called = called or bool(delta.get("tool_calls"))
                yield delta
        except errors.LLMError as err:  # the claim was heard: it must not be all that is said
            self.turn.record.fault = err
            yield {"role": "assistant", "content": await async_what_is_true(self.chat_log.hass, self.turn, corrected)}
            return
        if not called and (untrue := await self.judge(words)) is not None:
            yield {"content": f"\n\n{await async_what_is_true(self.chat_log.hass, self.turn, untrue)}"}

    async def _complete(self, stream: AsyncGenerator[Delta]) -> AsyncGenerator[Delta]:
        """Pass the deltas on, and behind the answer what has to be said besides."""
        words = ""
        async for delta in stream:
            words += delta.get("content") or ""
            yield delta
        if text := await self.behind(words):
            yield {"content": f"\n\n{text}"}

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
            if self.manner.tries == 1:
                raise errors.LLMResponseError("answer_empty")
            self.turn.record.fault = errors.LLMResponseError("answer_empty")
            yield {"content": await self._notice("answer_empty", after=False)}

    async def _notice(self, key: str, *, after: bool) -> str:
        text = await async_text(self.chat_log.hass, self.turn.speaks, key)
        return f"\n\n{text}" if after else text


def _fails_again(content: Sequence[Content]) -> bool:
    """Return whether the newest calls of a turn have all failed, and each of them has failed alike before."""
    failures, newest, called = Counter[tuple[str, bytes]](), list[tuple[str, bytes]](), dict[str, tuple[str, bytes]]()
    for item in reversed([*takewhile(lambda item: not isinstance(item, UserContent), reversed(content))]):
        if isinstance(item, AssistantContent) and item.tool_calls:
            called |= {call.id: (call.tool_name, dump(call.tool_args)) for call in item.tool_calls}
            newest = [called[call.id] for call in item.tool_calls]
        elif isinstance(item, ToolResultContent) and item.result.error and (call := called.get(item.tool_call_id)):
            failures[call] += 1
    return bool(newest) and all(failures[call] > newest.count(call) for call in newest)


async def async_agent_for_message(
    runtime: RuntimeData,
    endpoint: Endpoint,
    turn: Turn,
    chat_log: ChatLog,
    transcript: Transcript,
    *,
    tools: Sequence[HomeAgentTool] | None = None,
    share: Share | None = None,
    only_words: bool = False,
) -> Agent:
    """Return the agent for a message of a conversation; with `only_words` the model only words the answer."""
    requests = await async_requests(runtime, endpoint, turn, chat_log, transcript, tools=tools, share=share)
    check = ClaimCheck(hass=chat_log.hass, turn=turn, home=runtime.sources.home)
    offered = requests.offered
    agent = Agent(
        endpoint=endpoint,
        turn=turn,
        chat_log=chat_log,
        requests=requests,
        tools=offered,
        manner=WORDS if only_words else TALK,
        judge=partial(async_untrue, check, requests) if offered else _async_not_judged,
        question=partial(async_put, chat_log.hass, runtime.policy, turn),
    )
    turn.record.follow_up = agent.async_follow_up
    return agent


def agent_for_task(
    runtime: RuntimeData,
    endpoint: Endpoint,
    turn: Turn,
    chat_log: ChatLog,
    response_format: Mapping[str, Any] | None = None,
) -> Agent:
    """Return the agent for a task, in which no person is asked: all there is stands in its chat log."""
    if chat_log.llm_api is not None:  # another integration's tools, chosen by what started the task
        chat_log.llm_api = policed(chat_log.llm_api, runtime.policy)
    api = chat_log.llm_api
    offered = OfferedTools()
    if api and endpoint.config.tool_calling:
        offered = offered_tools(api.tools, api.custom_serializer)
    return Agent(
        endpoint=endpoint,
        turn=turn,
        chat_log=chat_log,
        requests=TaskRequests(endpoint, chat_log, offered),
        tools=offered.specs,
        manner=TASK,
        response_format=response_format,
    )


async def async_requests(
    runtime: RuntimeData,
    endpoint: Endpoint,
    turn: Turn,
    chat_log: ChatLog,
    transcript: Transcript,
    *,
    tools: Sequence[HomeAgentTool] | None = None,
    share: Share | None = None,
    rehearsed: Round | None = None,
) -> RequestBuilder:
    """Return what makes the requests of a message; `rehearsed` stands for one that was not said, and nothing is remembered."""
    if not turn.rehearsal:
        endpoint.async_asked()
        if share is None:
            runtime.sources.asked[turn.profile.subentry_id] = turn
    llm_context, callable_tools = llm_context_of(turn), list[HomeAgentTool]()
    if endpoint.config.tool_calling:  # those that need a yes only where a person can give one
        asks_for = runtime.policy.rules.asks_for
        offered = tools if tools is not None else await runtime.tools.async_tools(turn.profile, llm_context)
        callable_tools = [tool for tool in offered if turn.answerable or not asks_for(turn.profile, tool)]
    chat_log.llm_api = TurnAPI(
        hass=chat_log.hass,
        id=f"{DOMAIN}-{turn.profile.subentry_id}",
        name=turn.profile.name,
        tools=callable_tools,
        policy=runtime.policy,
    ).instance(llm_context)
    if turn.extra_system_prompt:
        transcript.added[turn.owner] = turn.extra_system_prompt
    chat_log.extra_system_prompt = transcript.added.get(turn.owner)  # that of another user stays with them
    chat_log.llm_input_provided_index = len(chat_log.content)
    gathering = Gathering(
        hass=chat_log.hass,
        turn=turn,
        transcript=transcript,
        endpoint=endpoint,
        sources=runtime.sources,
        tools=callable_tools,
        mask=mask_of(turn, endpoint),
        share=share,
        rehearsed=rehearsed,
    )
    requests = RequestBuilder(gathering, chat_log)
    await requests.async_open()
    chat_log.async_trace({"messages": list(chat_log.content), "tools": [tool.name for tool in callable_tools]})
    return requests


def mask_of(turn: Turn, endpoint: Endpoint) -> Mask | None:
    """Return what hides personal data on the way to a model, None if nothing is hidden from it."""
    hides, remote = turn.profile.mask_personal_data, endpoint.config.remote
    return mask_for(hides, remote=remote) if remote or hides != AUTO else None


async def async_untrue(check: ClaimCheck, requests: RequestBuilder, answer: str) -> Untrue | None:
    """Return what is not true in an answer; one that is only about what was done in its turn is not judged."""
    if check.turn.record.acted and not requests.may_name_others(answer):
        return None
    try:
        return await check.async_untrue(answer)
    except Exception as err:  # noqa: BLE001 - a home with odd names may not be understood; that costs no answer
        LOGGER.error("Whether an answer is true could not be judged: %s", errors.where_of(err))
        return None


async def async_what_is_true(hass: HomeAssistant, turn: Turn, untrue: Untrue) -> str:
    """Return a sentence of ours: that nothing was done, or the states of what something else was said of."""
    if untrue.no_automation:
        return await async_text(hass, turn.speaks, "no_automation_changed")
    if untrue.nothing_done or not untrue.states:
        return await async_text(hass, turn.speaks, "nothing_changed" if turn.record.outcomes else "nothing_was_done")
    return await async_states(hass, turn.speaks, untrue.states)


@dataclass(slots=True)
class TaskRequests:
    """The requests of a task: its chat log as it is, and once that was too long, what fits beside the answer."""

    endpoint: Endpoint
    chat_log: ChatLog
    offered: OfferedTools
    _room: int | None = None

    async def async_messages(self, shorter: bool) -> list[Message]:
        """Return the messages, with less each time they are refused."""
        endpoint, estimate = self.endpoint, self.endpoint.client.estimator.estimate
        attachments = await async_load_attachments(self.chat_log.hass, self.chat_log.content)
        messages = messages_from_content(self.chat_log.content, {}, attachments)
        if shorter:
            answer = endpoint.config.max_tokens or min(DEFAULT_ANSWER_TOKENS, endpoint.window // 4)
            sent = sum(estimate(item["content"]) for item in messages if isinstance(item["content"], str))
            fits = endpoint.window - answer - round(self.offered.raw_tokens)
            self._room = round(min(fits, (self._room or sent) * LESS))
        return messages if self._room is None else shortened(messages, self._room, estimate)

    def note_what_is_true(self, states: Mapping[str, str], *, no_automation: bool = False) -> None:
        """Add nothing: a task is not judged."""

    def note_last_request(self) -> None:
        """Add nothing."""
