"""One question to one model until it is answered: tools, what the model is told, the loop.

Run for a message of a conversation, and for a task that is told nothing but what stands in its chat log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from homeassistant.components.conversation import AssistantContent, ChatLog
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..client.endpoint import Endpoint
from ..client.messages import (
    Message,
    OfferedTools,
    async_load_attachments,
    messages_from_content,
    offered_tools,
    shortened,
)
from ..policy.channels import async_put
from ..policy.tool import HomeAgentTool
from ..prompt.request import DEFAULT_ANSWER_TOKENS, RequestBuilder, Sources
from ..support.const import DOMAIN
from ..tools.registry import TurnAPI, llm_context_of, policed
from ..transcript.transcript import Transcript
from ..turn.turn import Answer, AnswerOrigin, Turn
from .claims import ClaimCheck
from .loop import Agent
from .runtime import RuntimeData

LESS = 0.7
"""How much of a task is sent again that was too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """A turn that a model answers into a chat log."""

    hass: HomeAssistant
    runtime: RuntimeData
    endpoint: Endpoint
    turn: Turn
    """Its `parent` is the turn that has this one answered, if one does."""
    chat_log: ChatLog
    transcript: Transcript | None = None
    """What the model was told so far; None: nothing is told besides the chat log, and its own tools are offered."""
    tools: Sequence[HomeAgentTool] | None = None
    """Those of an extension; None: the profile's."""
    sources: Sources | None = None
    """What an extension is told from; None: what everybody is."""
    response_format: Mapping[str, Any] | None = None
    only_words: bool = False
    """Everything is done; the model words the answer."""

    async def async_run(self) -> Answer:
        """Let the model answer. Raises `LLMError` when it could not be asked at all, for a task whatever goes wrong."""
        agent = self._task() if self.transcript is None else await self.async_prepared(self.transcript)
        await agent.async_run()
        if self.transcript is not None:
            self.turn.record.follow_up = agent.async_follow_up
        usage = self.turn.record.usage
        self.chat_log.async_trace({"stats": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}})
        last = self.chat_log.content[-1]
        text = last.content or "" if isinstance(last, AssistantContent) else ""
        return Answer(text=text, origin=AnswerOrigin.MODEL, is_in_chat_log=True)

    def _task(self) -> Agent:
        """Return the loop of a task: nobody reads along, nobody can be asked, and all there is stands in its chat log."""
        if self.chat_log.llm_api is not None:  # another integration's tools, chosen by whoever started the task
            self.chat_log.llm_api = policed(self.chat_log.llm_api, self.runtime.policy)
        api = self.chat_log.llm_api

        endpoint, estimate = self.endpoint, self.endpoint.client.estimator.estimate
        config = endpoint.config
        offered = offered_tools(api.tools, api.custom_serializer) if api and config.tool_calling else OfferedTools()
        room: int | None = None

        async def build(shorter: bool) -> list[Message]:
            """Return everything; once that was too long, as much as fits beside the answer, and less with each refusal."""
            nonlocal room
            attachments = await async_load_attachments(self.hass, self.chat_log.content)
            messages = messages_from_content(self.chat_log.content, {}, attachments)
            if shorter:
                answer = config.max_tokens or min(DEFAULT_ANSWER_TOKENS, endpoint.window // 4)
                sent = sum(estimate(item["content"]) for item in messages if isinstance(item["content"], str))
                fits = endpoint.window - answer - round(offered.raw_tokens)
                room = round(min(fits, (room or sent) * LESS))
            return messages if room is None else shortened(messages, room, estimate)

        return Agent(
            hass=self.hass,
            endpoint=self.endpoint,
            turn=self.turn,
            chat_log=self.chat_log,
            tools=offered.specs,
            build=build,
            response_format=self.response_format,
            talks=False,
        )

    async def async_prepared(self, transcript: Transcript) -> Agent:
        """Return the loop of a message, with the model told what belongs to it."""
        turn, chat_log, runtime, tools = self.turn, self.chat_log, self.runtime, []
        sources = self.sources or runtime.sources
        if not turn.rehearsal:
            self.endpoint.asked_at = dt_util.utcnow().timestamp()
            if self.endpoint.reading is not None:
                self.endpoint.reading.cancel()
            sources.asked[turn.profile.subentry_id] = turn
        llm_context = llm_context_of(turn)
        if self.endpoint.config.tool_calling:  # those that need a yes only where somebody can give one
            asks_for = runtime.policy.rules.asks_for
            offered = self.tools
            if offered is None:
                offered = await runtime.tools.async_tools(turn.profile, llm_context)
            tools = [tool for tool in offered if turn.answerable or not asks_for(turn.profile, tool)]
        chat_log.llm_api = TurnAPI(
            hass=self.hass,
            id=f"{DOMAIN}-{turn.profile.subentry_id}",
            name=turn.profile.name,
            tools=tools,
            policy=runtime.policy,
        ).instance(llm_context)
        if turn.extra_system_prompt:
            transcript.added[turn.owner] = turn.extra_system_prompt
        chat_log.extra_system_prompt = transcript.added.get(turn.owner)  # that of another user stays with them
        chat_log.llm_input_provided_index = len(chat_log.content)
        requests = RequestBuilder(self.hass, turn, transcript, chat_log, self.endpoint, sources, tools)
        await requests.async_open()
        chat_log.async_trace({"messages": list(chat_log.content), "tools": [tool.name for tool in tools]})
        return Agent(
            hass=self.hass,
            endpoint=self.endpoint,
            turn=turn,
            chat_log=chat_log,
            tools=[
                spec
                for spec in requests.offered.specs
                if turn.record.offers is None or spec["function"]["name"] in turn.record.offers
            ],
            only_words=self.only_words,
            build=requests.async_messages,
            note=requests.note_what_is_true,
            judge=ClaimCheck(hass=self.hass, turn=turn, home=runtime.sources.home).async_untrue,
            may_name_others=requests.may_name_others,
            last_word=requests.note_last_request,
            question=partial(async_put, self.hass, runtime.policy, turn),
        )
