"""The client of the loop: one endpoint with one model, over OpenAI's chat completions."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
import re
import time
from typing import Any

from homeassistant.components.conversation import AssistantContentDeltaDict
from homeassistant.core import HomeAssistant
from openai import APIStatusError, AsyncStream
import orjson

from ..settings.endpoint import CHAT_PATH, EndpointConfig, traits_for
from ..support.const import LOGGER
from ..support.encoding import dump
from ..support.errors import LLMConnectionError, LLMError
from .connection import Connection, read
from .discovery import async_context_window
from .error_map import ErrorMap, error_fields, wait_before_retry
from .messages import in_strict_order, with_schema_in_words, with_what_came
from .model import CameWith, ChatRequest, ModelReply, TokenEstimator, raw_estimate
from .stream import ChunkParser, DeltaStream, Ending

RETRY_DELAY = 1.0  # seconds
MAX_RETRY_DELAY = 10.0  # seconds that an endpoint may ask for; nobody waits longer for an answer
MAX_LINE = 2 * 2**20  # bytes of one chunk
DRAIN_TIMEOUT = 0.1  # seconds that the end of a response may take after the answer's own end
WINDOW_TIMEOUT = 15.0  # seconds; nobody waits for it
MAX_CAME = 500  # answers with tool calls of which is kept what came with them

_OPTIONAL = (
    "max_completion_tokens", "max_tokens", "stream_options", "response_format", "tool_choice", "top_p", "temperature",
    "keep_alive", "user", "prompt_cache_key",
)  # fmt: skip
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_REFUSED = re.compile(
    r"unsupported|not supported|(not|n't) support|un(known|recognized|expected)|extra[_ ](forbidden|inputs|fields)"
    r"|not (permitted|allowed|implemented)|invalid|deprecated|only the default|cannot both",
    re.IGNORECASE,
)


class Dialect:
    """The body of a request as one endpoint with its model takes it.

    Starts from what is known (`Traits`) and learns: a parameter that is refused is left out, or sent under its other name,
    for as long as the client lives.
    """

    def __init__(self, config: EndpointConfig) -> None:
        """Start from what is known about the preset and the model."""
        self._config = config
        self._traits = traits_for(config.preset, config.model)
        self._keep_alive = keep_alive_of(config.keep_alive) if self._traits.keep_alive else None
        self._refused: set[str] = set() if self._traits.response_format else {"response_format"}
        self.gives_back = self._traits.thinking_back or self._traits.signed_calls
        """Whether the server wants back what came with its tool calls."""
        self._came: dict[str, CameWith] = {}
        self._max_tokens = self._traits.max_tokens

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return a request's body: what stays the same from turn to turn first, then the messages, then the rest."""
        config, traits = self._config, self._traits
        tools = request.tools if config.tool_calling else ()
        silenced = bool(tools) and not request.may_call_tools
        if silenced and (not traits.tool_choice_none or "tool_choice" in self._refused):
            tools, silenced = (), False
        messages = request.messages
        if request.response_format is not None and "response_format" in self._refused:
            messages = with_schema_in_words(messages, request.response_format)
        if self.gives_back:
            messages = with_what_came(messages, self._came, traits)
        if traits.strict_order:
            messages = in_strict_order(messages)
        body = {
            "model": config.model,
            "stream": request.stream,
            "stream_options": {"include_usage": True} if request.stream and traits.stream_options else None,
            "temperature": config.temperature if traits.sampling else None,
            "top_p": config.top_p if traits.sampling else None,
            self._max_tokens: request.max_tokens or config.max_tokens,
            "keep_alive": self._keep_alive,
            "response_format": request.response_format,
            "tools": tools or None,
            "messages": messages,
            "tool_choice": "none" if silenced else None,
        }
        if traits.cache_key:
            body[traits.cache_key] = request.cache_key or None
        return {name: value for name, value in body.items() if value is not None and name not in self._refused}

    def note(self, answer: DeltaStream) -> None:
        """Keep what came with the tool calls of an answer; the oldest is forgotten."""
        self._came |= answer.came_with()
        while len(self._came) > MAX_CAME:
            del self._came[next(iter(self._came))]

    def adapt(self, body: dict[str, Any], err: BaseException | None) -> bool:
        """Learn from the cause of an error; return whether the request should be made anew."""
        if not isinstance(err, APIStatusError) or err.status_code not in {400, 422}:
            return False
        name = _refused_parameter(body, err)
        if name is None:
            return False
        LOGGER.info("Endpoint %s refuses the parameter %s, which is left out from now on", self._config.title, name)
        self._refused.add(name)
        self._max_tokens = _OTHER_NAME.get(name, self._max_tokens)
        return True


def _refused_parameter(body: dict[str, Any], err: APIStatusError) -> str | None:
    """Return the parameter of `body` that a refusal names."""
    sent = [name for name in _OPTIONAL if name in body]
    param = error_fields(err.body).get("param")
    if isinstance(param, str) and (named := next((name for name in sent if param.split(".")[0] == name), None)):
        return named
    said = str(err.body)
    if not _REFUSED.search(said):
        return None
    return next((name for name in sent if re.search(rf"\b{name}\b", said)), None)


def keep_alive_of(value: str | None) -> str | int | None:
    """Return a duration (`5m`) as text and seconds as a number: Ollama refuses `"-1"`."""
    try:
        return int(value) if value else None
    except ValueError:
        return value


class ChatCompletionsClient:
    """Turns a request to one endpoint into deltas of a chat log."""

    def __init__(self, hass: HomeAssistant, config: EndpointConfig) -> None:
        """Prepare; nothing is sent until `stream`."""
        self.config = config
        self.estimator = TokenEstimator()
        """Calibrates itself with each answer."""
        self._errors = ErrorMap(config.title, config.api_key)
        self._connection = Connection(hass, config, self._errors)
        self._dialect = Dialect(config)
        self._begins_inside_thinking = traits_for(config.preset, config.model).begins_inside_thinking

    async def async_context_window(self) -> int | None:
        """Return what the server tells of the model's context window, None when it tells nothing in time."""
        try:
            async with asyncio.timeout(WINDOW_TIMEOUT):
                return await async_context_window(self._connection, self.config)
        except TimeoutError:
            return None

    async def stream(self, request: ChatRequest, reply: ModelReply) -> AsyncGenerator[AssistantContentDeltaDict]:
        """Yield deltas: `{"role": "assistant"}` first, then `content`, `thinking_content` and `tool_calls`; fills `reply`.

        Each tool call is yielded once, whole, as `llm.ToolInput`; arguments that do not parse are `BrokenArguments`. With
        `request.stream` false the same deltas come from one answer. A request that failed before its first delta, for a
        reason that may pass, is made once more (`ChatRequest.retries`); a model that is being loaded is waited for (`ChatRequest.patience`).

        Raises a subclass of `LLMError`; after `reply.started` the caller keeps what it has got.
        """
        started = time.perf_counter()
        for may_retry in (True, False) if request.retries else (False,):
            try:
                patience = request.patience - (time.perf_counter() - started)
                async with aclosing(self._attempt(request, reply, patience)) as deltas:
                    async for delta in deltas:
                        if not reply.started:
                            reply.started = True
                            reply.first_delta_ms = round((time.perf_counter() - started) * 1000)
                        yield delta
            except LLMError as err:
                wait = wait_before_retry(err, default=RETRY_DELAY, limit=MAX_RETRY_DELAY)
                if reply.started or not may_retry or wait is None:
                    raise
            else:
                return
            await asyncio.sleep(wait)

    async def _attempt(
        self, request: ChatRequest, reply: ModelReply, patience: float
    ) -> AsyncGenerator[AssistantContentDeltaDict]:
        """Yield the deltas of one response; when it breaks, what had arrived whole, and then the error."""
        response = await self._open(request, reply, patience)
        ending = Ending(request.max_text, self.estimator.estimate)
        if request.max_text is not None:  # looks the more often the less may be said
            ending.step = min(ending.step, max(1, request.max_text // 5))
        answer = DeltaStream(reply, self._errors, ending, begins_inside_thinking=self._begins_inside_thinking)
        try:
            async with aclosing(self._chunks(response)) as chunks:
                async for chunk in chunks:
                    for delta in answer.feed(chunk):
                        yield delta
                    if ending.reason:
                        break  # closes the response, so the server stops as well
        except LLMError as err:
            if not (isinstance(err, LLMConnectionError) and reply.finish_reason):  # else only the farewell is missing
                for delta in answer.finish(complete=False):
                    yield delta
                raise
        rest = answer.finish()
        if self._dialect.gives_back:
            self._dialect.note(answer)
        for delta in rest:
            yield delta
        self._begins_inside_thinking = answer.thinking.stray_close
        if reply.usage and reply.estimated_tokens:
            self.estimator.calibrate(reply.estimated_tokens, reply.usage.input_tokens)

    async def _open(self, request: ChatRequest, reply: ModelReply, patience: float) -> AsyncStream[object]:
        """Send the request; a refused parameter is learned and the request made anew at once."""
        has_files = any(isinstance(message.get("content"), list) for message in request.messages)
        while True:
            body = self._dialect.body(request)
            content = dump(body)
            # The bytes of files are no text.
            reply.estimated_tokens = None if has_files else round(raw_estimate(content))
            try:
                return await self._connection.open(CHAT_PATH, content, patience=patience)
            except LLMError as err:
                if not self._dialect.adapt(body, err.__cause__):
                    raise

    async def _chunks(self, response: AsyncStream[object]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the chunks of a response. A whole answer is one chunk, whether a stream was asked for or not."""
        content_type = response.response.headers.get("Content-Type", "").lower()
        async with response, aclosing(read(response, self._errors)) as data:
            if "html" in content_type:
                raise self._errors.response_error(content_type)
            if content_type.startswith("application/json"):
                try:
                    answer = orjson.loads(b"".join([part async for part in data]))
                except orjson.JSONDecodeError as err:
                    raise self._errors.response_error("JSON") from err
                if not isinstance(answer, dict):
                    raise self._errors.response_error("JSON")
                yield answer
                return
            parser = ChunkParser()
            async for part in data:
                for chunk in parser.feed(part):
                    yield chunk
                if len(parser.rest) > MAX_LINE:
                    raise self._errors.endless()
                if parser.done:
                    # Only a response that was read to its end leaves the connection to the next request.
                    with suppress(TimeoutError, LLMError):
                        async with asyncio.timeout(DRAIN_TIMEOUT):
                            async for _ in data:
                                pass
                    return
            for chunk in parser.feed(b"\n"):
                yield chunk
