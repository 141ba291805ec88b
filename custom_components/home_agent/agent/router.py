"""A message that touches several extensions: split by a router, answered side by side, put together into one answer.

Each part is a model turn of its own, with the prompt and the tools of its extension alone, under the rules of the turn that was
asked. If the router's answer is not usable, the profile answers by itself.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
import re
from secrets import token_hex
import time
from typing import Any

from homeassistant.components import conversation
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType

from ..client.endpoint import Endpoint
from ..client.messages import ROUTED, ChatRequest, Message, ModelReply
from ..client.stream import Delta
from ..home.snapshot import HomeSnapshot
from ..languages.claims import answers_with_less
from ..languages.phrases import is_order
from ..local.route_index import Route
from ..local.routes import SEMANTIC
from ..policy.channels import async_put
from ..policy.tool import HomeAgentTool
from ..prompt.providers import MemoryProvider, Providers
from ..prompt.request import Gathering, RequestBuilder, Share
from ..prompt.system_prompt import DATA, IN_LANGUAGE, TRUTH
from ..settings.profile import Profile
from ..support.const import LOGGER
from ..support.errors import HomeAgentError, LLMError, where_of
from ..support.localize import async_error_text, async_text
from ..support.text import fold
from ..tools.delegation import MAX_ANSWER, REQUEST, TARGET, DelegateToService, as_progress, own_conversation
from ..tools.extensions.extension import Extension
from ..tools.registry import llm_context_of
from ..tools.sanitize import cleaned
from ..transcript.transcript import Transcript
from ..transcript.turn_part import render_turn_part
from ..turn import events
from ..turn.turn import Answer, AnswerOrigin, ModelUsage, Routing, Turn, TurnRecord, Usage, Zone, running
from .claims import ClaimCheck
from .model_turn import ONCE, Agent, async_agent_for_message, async_untrue, async_what_is_true, mask_of
from .runtime import Exchange, RuntimeData
from .segments import Segment, route_prompt, segments_of

ROUTER = "router"
OFF = "off"
SPLITS = frozenset({"router", "semantic_then_router"})
MAX_COMPARED = 500  # characters of a message that is compared with the routes
SYNTHESIZER = "synthesizer"
AT_ONCE = 3  # parts that are answered side by side: more only wait for each other in a model of the home
PLACES = 1000  # between the calls of one part and the next; no turn makes so many

# Written for the model: in English in each home.

ANSWER_PART = f"""\
## Your part

Other agents take care of the rest of the message. Yours is "task" in <house>…</house> behind the message: do it with your tools, \
several steps if it needs them, and nothing else.
{TRUTH}
- Then return what you did or found, short and complete, in the language of the user. If something is missing, say what.
- {DATA}"""

SYNTHESIZE = f"""\
You put together the one answer to the newest message of a user of a home. Agents have done the parts of it; what each returned \
stands in <house>…</house> behind the message, as "returns".
- Say in the language of the user, short and natural, what was done and found, in the order of the message. One text, no list of agents.
- Say nothing that the returns do not say. Where they contradict each other, say what is certain, and what is not.
- Behind "failed" stands why the part of an agent was not done: name the agent and say that.
- Where "waits" stands, nothing was done yet. The user is asked about it right behind your answer: do not ask, and do not say that it is done.
- {DATA}"""


class Came(StrEnum):
    """What came of a part."""

    ANSWERED = "answered"
    ASKS = "asks"
    FAILED = "failed"
    BROKE_OFF = "broke_off"
    LATE = "late"


SENTENCES = {Came.FAILED: "route_failed", Came.BROKE_OFF: "route_broke_off", Came.LATE: "route_late"}
BEGUN = "What it had begun may have happened."


@dataclass(slots=True, kw_only=True)
class Return:
    """What an extension returned."""

    segment: Segment
    came: Came = Came.FAILED
    text: str = ""
    turn: Turn | None = None
    content: Sequence[conversation.Content] = ()

    @property
    def data(self) -> JsonObjectType:
        """What the synthesizer is told of it."""
        told: JsonObjectType = {"agent": self.segment.extension, "task": self.segment.intent}
        match self.came:
            case Came.ANSWERED:
                told["result"] = cleaned(self.text, MAX_ANSWER)
            case Came.ASKS:
                told["waits"] = "for the user's confirmation"
            case Came.LATE:
                told["failed"] = f"It did not answer in time. {BEGUN}"
            case Came.FAILED | Came.BROKE_OFF:
                failed = cleaned(self.text) or "It could not answer."
                told["failed"] = f"{failed} {BEGUN}" if self.came is Came.BROKE_OFF else failed
        return told


async def async_router_begins(runtime: RuntimeData, turn: Turn) -> list[Message]:
    """Return the messages with which the router's next request of a profile begins."""
    schema = await runtime.extensions.async_light_schema(turn.profile, llm_context_of(turn))
    return [{"role": "system", "content": route_prompt(schema)}]


async def async_route(exchange: Exchange) -> Answer | None:
    """Return the answer of a sure route or of extensions; None if the profile has to answer. Raises `HomeAgentError`."""
    profile, match = exchange.turn.profile, None
    if profile.routing in SEMANTIC and len(exchange.turn.text) <= MAX_COMPARED:
        means, turn = exchange.runtime.means, exchange.turn
        language, home = await means.languages.async_get(turn.language), await means.home.async_get()
        match = await means.routes.async_match(turn, language, home)
        answer = await means.routes.async_answer(turn, exchange.chat_log, match) if match is not None else None
        if answer is not None:
            means.said.remember(turn, exchange.chat_log)
            return answer
    if profile.routing in SPLITS and (answer := await _async_split(exchange)) is not None:
        return answer
    if match is not None and match.choice.zone is Zone.LOW:
        alone = profile.smalltalk_without_tools and not exchange.turn.record.is_order
        exchange.turn.record.offers = frozenset() if alone else None
    elif match is not None and profile.routing not in SPLITS:
        exchange.turn.record.offers = frozenset(match.tools)
    return None


async def async_worded(exchange: Exchange, answer: Answer) -> Answer:
    """Return the answer of a route in the words of the profile's model; as it is, where none ran or the model cannot be asked."""
    turn, known = exchange.turn, exchange.turn.record.understanding
    ran = known is not None and known.route is not None and not known.route.declined
    if not ran or not answer.done or answer.needs_confirmation or exchange.endpoint is None or turn.record.requests:
        return answer
    if not isinstance(
        exchange.chat_log.content[-1], conversation.ToolResultContent
    ):  # another agent has put it into words
        return answer
    try:
        runtime, endpoint, chat_log = exchange.runtime, exchange.endpoint, exchange.chat_log
        agent = await async_agent_for_message(runtime, endpoint, turn, chat_log, exchange.transcript, only_words=True)
        return await agent.async_answer()
    except LLMError as err:
        events.async_error(exchange.hass, turn, err, events.component_of(err))
        return answer


def agents_as_routes(_profile: Profile, _home: HomeSnapshot, tools: Sequence[HomeAgentTool]) -> Iterator[Route]:
    """Yield the agents to which a request may be handed that have a description of what they are for."""
    for tool in tools:
        for target in tool.targets if isinstance(tool, DelegateToService) else ():
            described = [line.strip() for line in re.split(r"[\n.;]+", target.description) if line.strip()]
            if described:
                yield Route(
                    id=f"agent.{target.id}",
                    tool=tool.name,
                    said=described,
                    described=(target.name,),
                    call=partial(_handed_to, target.id),
                    answers=True,
                )


def _handed_to(agent: str, _values: Mapping[str, Any], text: str) -> dict[str, Any]:
    return {TARGET: agent, REQUEST: text}


async def _async_split(exchange: Exchange) -> Answer | None:
    """Return the answer to a message that concerns extensions; None if none does. Raises `HomeAgentError` on unload."""
    runtime, turn, endpoint = exchange.runtime, exchange.turn, exchange.endpoint
    assert endpoint is not None, "a profile without a model has no router"
    llm_context = llm_context_of(turn)
    extensions = await runtime.extensions.async_of(turn.profile, llm_context)
    if not extensions:
        return None
    runtime.sources.asked[turn.profile.subentry_id] = turn
    routed = SplitTurn(
        exchange=exchange,
        endpoint=endpoint,
        extensions={extension.name: extension for extension in extensions},
        schema=await runtime.extensions.async_light_schema(turn.profile, llm_context),
        remembers=Providers(MemoryProvider(exchange.hass, runtime.memories)),
    )
    try:
        await endpoint.async_work(routed.async_run(), "answer in parts")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise HomeAgentError("route_stopped_acted" if turn.record.acted else "route_stopped") from None
    return routed.answer


@dataclass(slots=True)
class Returns:
    """What all parts of one turn returned."""

    exchange: Exchange
    parts: Sequence[Return]

    def note_calls(self, chat_log: conversation.ChatLog, place: int) -> None:
        """Put what was called into the chat log, before the answer: what was done is told and kept with it."""
        calls: list[llm.ToolInput] = []
        results: list[conversation.Content] = []
        record = self.exchange.turn.record
        for one in self.parts:
            if one.turn is not None:
                record.calls += one.turn.record.calls
                record.used_external_llm = record.used_external_llm or one.turn.record.used_external_llm
                if record.first_token_ms is None and one.turn.record.first_token_ms is not None:
                    begun = round((one.turn.record.started - record.started) * 1000)
                    record.first_token_ms = begun + one.turn.record.first_token_ms
            came = {item.tool_call_id: item for item in one.content if isinstance(item, conversation.ToolResultContent)}
            for item in one.content:
                for call in (item.tool_calls or ()) if isinstance(item, conversation.AssistantContent) else ():
                    if (result := came.get(call.id)) is not None:
                        noted = replace(call, id=f"part{token_hex(4)}", external=True)
                        calls.append(noted)
                        results.append(replace(result, agent_id=self.exchange.turn.agent_id, tool_call_id=noted.id))
        if calls:
            made = conversation.AssistantContent(agent_id=self.exchange.turn.agent_id, tool_calls=calls, native=ROUTED)
            chat_log.content[place:place] = [made, *results]

    async def async_besides(self, words: str) -> str:
        """Return what has to stand behind the synthesizer's words: the returns where they broke off, failures, the question."""
        if self.exchange.turn.record.fault is not None:
            return await self.async_told()
        parts = [await self.async_failures(words), await self._async_question()]
        return "\n\n".join(filter(None, parts))

    async def async_told(self) -> str:
        """Return all that came back, each as it is, without a model."""
        say = partial(async_text, self.exchange.hass, self.exchange.turn.speaks)
        parts = [
            await say("route_return", agent=one.segment.extension, text=one.text)
            for one in self.parts
            if one.came is Came.ANSWERED
        ]
        parts += [await self.async_failures(), await self._async_question()]
        return "\n\n".join(filter(None, parts))

    async def async_failures(self, words: str = "") -> str:
        """Return a sentence about each that failed and of which the words do not say so already."""
        sentences = []
        for one in self.parts:
            name, key = one.segment.extension, SENTENCES.get(one.came)
            if key is None or (one.came is not Came.BROKE_OFF and _is_told_of(name, words, self.exchange.turn.speaks)):
                continue  # of what broke off, a denial alone would not be true
            sentences.append(
                await async_text(
                    self.exchange.hass, self.exchange.turn.speaks, key, agent=name, intent=one.segment.intent
                )
            )
        return " ".join(sentences)

    async def _async_question(self) -> str:
        """Put the question that the turn ends with, and return it; empty where there is none."""
        if self.exchange.turn.record.request_id is None:
            return ""
        try:
            return await async_put(self.exchange.hass, self.exchange.runtime.policy, self.exchange.turn)
        except HomeAssistantError as err:
            return await async_error_text(self.exchange.hass, self.exchange.turn.speaks, err)


@dataclass(slots=True, kw_only=True)
class SplitTurn:
    """One turn that is answered in parts."""

    exchange: Exchange
    endpoint: Endpoint
    extensions: Mapping[str, Extension]
    schema: str
    remembers: Providers
    answer: Answer | None = None
    _routing: Routing = field(default_factory=Routing)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def async_run(self) -> None:
        """Find the answer."""
        self.exchange.turn.record.routing = self._routing
        if not (segments := await self._async_segments()):
            return
        self.exchange.turn.record.shares = len(segments)
        if len(segments) == 1 and self.exchange.turn.profile.routing_skips:
            self.answer = await self._async_direct(segments[0])
            return
        progress, returns = (
            as_progress(self.exchange.chat_log),
            Returns(self.exchange, [Return(segment=one) for one in segments]),
        )
        place = len(self.exchange.chat_log.content)
        try:
            async with asyncio.TaskGroup() as group:  # cancelled together
                for number, made in enumerate(returns.parts):
                    group.create_task(self._async_part(number, made, progress))
        finally:  # what was called before it was cancelled is counted as well
            returns.note_calls(self.exchange.chat_log, place)
        if any(one.came is Came.ANSWERED for one in returns.parts):
            self.answer = await self._async_synthesized(returns)
        elif all(one.came is Came.ASKS for one in returns.parts):
            self.answer = Answer(needs_confirmation=True, origin=AnswerOrigin.MODEL)
        else:
            waits = self.exchange.turn.record.request_id is not None
            self.answer = Answer(text=await returns.async_told(), done=waits, origin=AnswerOrigin.NOTICE)

    async def _async_segments(self) -> list[Segment]:
        """Return how the router splits the message; nothing where it cannot, or takes too long."""
        turn, endpoint = self.exchange.turn, self.endpoint
        endpoint.async_asked()
        # what it is told is no news: its record is its own, but for where its words came from
        asking = replace(turn, record=TurnRecord(taints=turn.record.taints))
        told = self.exchange.transcript.as_told_to(ROUTER, ())
        share = Share(
            instructions=route_prompt(self.schema), providers=self.remembers, sums_up=turn.profile.history_summary
        )
        requests = await self._async_requests(asking, told, share)
        messages = await requests.async_messages(False)
        self.exchange.transcript.drop_with(told)
        request = ChatRequest(
            messages=messages, stream=False, cache_key=f"{turn.profile.subentry_id}{ROUTER}", retries=False
        )
        reply, started, asked = ModelReply(), time.perf_counter(), self._routing.router
        asked.requests = 1
        try:
            async with (
                asyncio.timeout(turn.profile.routing_timeout),
                aclosing(endpoint.client.stream(request, reply)) as deltas,
            ):
                words = "".join([delta.get("content") or "" async for delta in deltas])
        except LLMError as err:
            endpoint.async_failed(err)
            LOGGER.info("The router of %s failed: %s", turn.profile.name, type(err).__name__)
            return []
        except TimeoutError:
            LOGGER.info("The router of %s did not answer in time", turn.profile.name)
            return []
        endpoint.async_succeeded(reply, round((time.perf_counter() - started) * 1000), turn.record)
        asked.usage += reply.usage or Usage()
        segments = segments_of(words, [*self.extensions])
        LOGGER.debug("%s: a message concerns %d extensions", turn.profile.name, len(segments))
        return segments

    async def _async_requests(self, asking: Turn, told: Transcript, share: Share) -> RequestBuilder:
        """Return what makes the request of a model without tools, in a chat log of its own."""
        said = told.rounds[-1].question
        log = conversation.ChatLog(
            self.exchange.hass,
            asking.conversation_id,
            [conversation.SystemContent(content=""), conversation.UserContent(content=said.content)],
        )
        gathering = Gathering(
            hass=self.exchange.hass,
            turn=asking,
            transcript=told,
            endpoint=self.endpoint,
            sources=self.exchange.runtime.sources,
            mask=mask_of(asking, self.endpoint),
            share=share,
        )
        requests = RequestBuilder(gathering, log)
        await requests.async_open()
        return requests

    async def _async_part(self, number: int, made: Return, heard: Callable[[conversation.ChatLog, Any], None]) -> None:
        """Let an extension answer its part, in a conversation of its own. Never raises."""
        async with self._places:
            extension = made.segment.extension
            try:
                await self._async_answered(number, made, heard)
            except TimeoutError:
                made.came = Came.LATE
                LOGGER.info("The extension %s did not answer in time", extension)
            except HomeAssistantError as err:
                made.text = await async_error_text(self.exchange.hass, self.exchange.turn.speaks, err)
                events.async_error(self.exchange.hass, made.turn or self.exchange.turn, err, events.component_of(err))
            except Exception as err:  # noqa: BLE001 - the others have answers
                LOGGER.error("The extension %s failed unexpectedly: %s", extension, where_of(err))
            if made.turn is not None and made.turn.record.request_id is not None:
                made.came = Came.ASKS
            elif made.turn is not None and made.turn.record.acted and made.came is Came.FAILED:
                made.came = Came.BROKE_OFF

    async def _async_answered(
        self, number: int, made: Return, heard: Callable[[conversation.ChatLog, Any], None]
    ) -> None:
        """Fill in what an extension returns. Raises `LLMError` when its model could not be asked, `TimeoutError`."""
        extension, asked = self.extensions[made.segment.extension], ModelUsage()
        self._routing.domains[extension.name] = asked
        runtime, own, endpoint = self.exchange.runtime, self.exchange.turn.profile, self.endpoint
        if (profile := runtime.profiles.get(extension.profile_id)) is not None:
            endpoint = runtime.endpoint_of(profile) or endpoint
            profile = replace(profile, language=own.language or profile.language)
        else:
            profile = replace(own, name=extension.name)
        tools = [tool for tool in extension.tools if runtime.policy.rules.offers(profile, tool)]
        with own_conversation(self.exchange.hass, self.exchange.turn, heard) as log:
            log.async_add_user_content(
                conversation.UserContent(content=self.exchange.transcript.rounds[-1].question.content)
            )
            made.turn = turn = replace(
                self.exchange.turn,
                profile=profile,
                conversation_id=log.conversation_id,
                text=made.segment.intent,
                extra_system_prompt=None,
                direct=False,
                confirm_via=(),
                parent=self.exchange.turn,
                delegated=True,
                extension=extension.name,
                place=number * PLACES,
                record=TurnRecord(
                    taints={*self.exchange.turn.record.taints},
                    is_order=is_order(made.segment.intent, self.exchange.turn.language),
                ),
            )
            told, share = _told(self.exchange.transcript, extension, turn, tools, self.remembers)
            told.rounds[-1].notes[-1] = render_turn_part(time="", facts={"task": made.segment.intent})
            try:
                with running(turn):
                    async with asyncio.timeout(self.exchange.turn.profile.routing_timeout):
                        agent = await async_agent_for_message(
                            self.exchange.runtime, endpoint, turn, log, told, tools=tools, share=share
                        )
                        answer = await agent.async_answer()
            finally:
                made.content = log.content
                asked.requests, asked.usage = turn.record.requests, turn.record.usage
        made.text = answer.text
        if turn.record.fault is None:
            made.came = Came.ANSWERED

    async def _async_synthesized(self, returns: Returns) -> Answer:
        """Return the one answer that is made of what came back; where no model makes one, each return is told."""
        turn, record, endpoint = self.exchange.turn, self.exchange.turn.record, self.endpoint
        told = self.exchange.transcript.as_told_to(SYNTHESIZER, ())
        for one in told.rounds[:-1]:  # what was returned then is in the answers
            one.notes.clear()
        if turn.extra_system_prompt:
            told.added[turn.owner] = turn.extra_system_prompt
        given: list[JsonValueType] = [one.data for one in returns.parts]
        note = render_turn_part(time="", facts={}, sections={"returns": ("", given)})
        told.rounds[-1].notes[-1] = note
        reserved = endpoint.client.estimator.estimate(note)
        share = Share(instructions=SYNTHESIZE, additions=True, providers=self.remembers, reserved=reserved)
        requests = await self._async_requests(turn, told, share)
        check = ClaimCheck(
            hass=self.exchange.hass, turn=turn, home=self.exchange.runtime.sources.home, asks_behind=True
        )

        async def behind(words: str) -> str:
            untrue = await async_untrue(check, requests, words)
            true = await async_what_is_true(self.exchange.hass, turn, untrue) if untrue is not None else ""
            return "\n\n".join(filter(None, (true, await returns.async_besides(words))))

        agent = Agent(
            endpoint=endpoint, turn=turn, chat_log=self.exchange.chat_log, requests=requests, manner=ONCE, behind=behind
        )
        asked, before = self._routing.synthesizer, replace(record.usage)
        try:
            await agent.async_run()
        except LLMError as err:
            LOGGER.info("The answer of %s could not be put together: %s", turn.profile.name, type(err).__name__)
            events.async_error(self.exchange.hass, turn, err, events.component_of(err))
            record.fault = None
            return Answer(text=await returns.async_told(), origin=AnswerOrigin.MODEL)
        finally:
            asked.requests, now = record.requests, record.usage
            asked.usage = Usage(
                input_tokens=now.input_tokens - before.input_tokens,
                output_tokens=now.output_tokens - before.output_tokens,
                cached_tokens=now.cached_tokens - before.cached_tokens,
            )
        return agent.answered

    async def _async_direct(self, segment: Segment) -> Answer:
        """Let the only extension speak to the user itself; its words go on as they come."""
        words: asyncio.Queue[Delta | None] = asyncio.Queue()
        place, begins = len(self.exchange.chat_log.content), True

        def heard(_log: conversation.ChatLog, delta: dict[str, Any]) -> None:
            nonlocal begins
            if delta.get("role", "assistant") == "assistant":
                begins = begins or "role" in delta
                if content := delta.get("content"):
                    words.put_nowait({"role": "assistant", "content": content} if begins else {"content": content})
                    begins = False

        made = Return(segment=segment)
        returns = Returns(self.exchange, [made])

        async def deltas() -> AsyncGenerator[Delta]:
            said = False
            while (delta := await words.get()) is not None:
                said = True
                yield delta
            broke_off = made.turn is not None and made.turn.record.fault is not None  # what was said ends with that
            if said and not broke_off and (failures := await returns.async_failures()):
                yield {"content": f"\n\n{failures}"}

        async def work() -> None:
            try:
                await self._async_part(0, made, heard)
            finally:
                words.put_nowait(None)

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(work())
                async for _content in self.exchange.chat_log.async_add_delta_content_stream(
                    self.exchange.turn.agent_id, deltas()
                ):
                    pass
            last = self.exchange.chat_log.content[-1]
            text = last.content or "" if isinstance(last, conversation.AssistantContent) else ""
        finally:
            returns.note_calls(self.exchange.chat_log, place)
        if made.came in SENTENCES:
            if not text:
                return Answer(text=await returns.async_failures(), done=False, origin=AnswerOrigin.NOTICE)
            own = made.turn.record.fault if made.turn is not None else None
            self.exchange.turn.record.fault = TimeoutError() if own is None and made.came is Came.LATE else own
        if self.exchange.turn.record.request_id is not None:  # it has said the question already
            await async_put(self.exchange.hass, self.exchange.runtime.policy, self.exchange.turn)
        return Answer(text=text, origin=AnswerOrigin.MODEL, is_in_chat_log=True)


def _told(
    transcript: Transcript, extension: Extension, turn: Turn, tools: Sequence[HomeAgentTool], remembers: Providers
) -> tuple[Transcript, Share]:
    """Return the conversation as an extension is told it, and what else it is told; the same bytes each time."""
    told = transcript.as_told_to(f"/{extension.name}", [tool.name for tool in tools])
    if extension.profile_id:  # its own instructions come first
        told.added[turn.owner] = f"{extension.prompt}\n\n{ANSWER_PART}"
        return told, Share()
    guides = dict.fromkeys(tool.guide for tool in tools if tool.guide)
    in_language = IN_LANGUAGE.format(language=turn.profile.language) if turn.profile.language else ""
    parts = (extension.prompt, *guides, ANSWER_PART, in_language)
    return told, Share(instructions="\n\n".join(filter(None, parts)), providers=remembers)


def _is_told_of(name: str, words: str, language: str) -> bool:
    """Return whether a sentence names an extension and denies something."""
    sentences = re.split(r"(?<=[.!?…。！？])\s+|\n", words)
    return any(
        fold(name.casefold()) in fold(sentence.casefold()) and answers_with_less(sentence, language)
        for sentence in sentences
    )
