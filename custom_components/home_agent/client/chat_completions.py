"""The client of the loop: one endpoint with one model, over OpenAI's chat completions.

Of the official `openai` library only the transport is used, on a client of Home Assistant's: its typed models take more time
than the rest of a request, and are stricter than servers are.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
import re
import time
from typing import Any, cast

from homeassistant.components.conversation import AssistantContentDeltaDict
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.httpx_client import create_async_httpx_client
from homeassistant.util.hass_dict import HassKey
from openai import APIStatusError, AsyncOpenAI, AsyncStream, Timeout, omit
import orjson

from ..settings.endpoint import CHAT_PATH, DEFAULT_API_VERSION, EndpointConfig, normalize_base_url, traits_for
from ..support.bounds import BodyTooLong, bounded, stream_of
from ..support.const import DOMAIN, LOGGER
from ..support.encoding import dump
from ..support.errors import LLMAuthError, LLMConnectionError, LLMError, LLMLoadingError, LLMTimeoutError
from .capacity import capacity_of
from .error_map import ErrorMap, error_fields, wait_before_retry
from .messages import (
    CameWith,
    ChatRequest,
    ModelReply,
    TokenEstimator,
    in_strict_order,
    raw_estimate,
    with_schema_in_words,
    with_what_came,
)
from .stream import ChunkParser, DeltaStream, Ending

MAX_ERROR = 64 * 1024  # bytes of the body of an error that are read
MAX_ERROR_SECONDS = 10.0
ANTHROPIC_VERSION = "2023-06-01"
CONNECT_TIMEOUT = 10.0  # seconds
MAX_RESPONSE = (
    32 * 2**20
)  # bytes of one answer; ten times the longest that models give, with the frame around each token
MAX_SECONDS = 1800.0  # of one answer, even if it is sent all the time
MAX_SILENCE = (
    300.0  # seconds in which bytes may arrive that say nothing: servers send comments while a request waits there
)
HELD_TOKENS = 300  # of a long tool call, which a server may hold back until it is whole
LEAST_PIECES = 2  # of an answer, until its pace is known
MAX_LIST = 8 * 2**20  # bytes of a list of models
MAX_LIST_SECONDS = 60.0
LOADING_PAUSE, LONGEST_LOADING_PAUSE = 0.5, 5.0
"""Seconds until a server that loads its model is asked again: the first time, and at most."""
LOADING_GROWTH = 1.5
RETRY_DELAY = 1.0  # seconds
MAX_RETRY_DELAY = 10.0  # seconds; an endpoint that asks for more is not waited for
MAX_LINE = 2 * 2**20  # bytes of one chunk
DRAIN_TIMEOUT = 0.1  # seconds that the end of a response may take after the answer's own end
MAX_CAME = 500  # answers with tool calls whose signatures and thinking are kept

_CLIENTS: HassKey[dict[bool, Any]] = HassKey(f"{DOMAIN}_http_clients")
"""By whether certificates are verified; Home Assistant closes them when it stops."""


@callback
def http_client(hass: HomeAssistant, *, verify_ssl: bool) -> Any:
    """Return the HTTP client of all endpoints; of httpx or httpx2, as Home Assistant's release has it."""
    clients = hass.data.setdefault(_CLIENTS, {})
    if verify_ssl not in clients:
        clients[verify_ssl] = create_async_httpx_client(hass, verify_ssl, event_hooks={"response": [_bound_error]})
    return clients[verify_ssl]


async def _bound_error(response: Any) -> None:
    """Bound the body of an error response before the library reads it."""
    if not response.is_error:
        return
    # A few packed bytes may unpack to a great many, so packed bodies are not read at all.
    is_plain = response.headers.get("content-encoding", "").strip().lower() in {"", "identity"}
    if not is_plain:
        del response.headers["content-encoding"]
    [stream_type] = [kind for kind in type(response.stream).__mro__ if kind.__name__ == "AsyncByteStream"]
    body = response.stream

    async def beginning() -> AsyncGenerator[bytes]:
        if not is_plain:
            return
        try:
            async with aclosing(bounded(body, MAX_ERROR, MAX_ERROR_SECONDS)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except Exception as err:  # noqa: BLE001 - any error of the transport: the status alone tells the failure
            LOGGER.debug("The body of an error broke off: %s", type(err).__name__)

    response.stream = stream_of(stream_type, beginning(), body.aclose)


_ANONYMOUS = dict.fromkeys(
    (
        "X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-OS", "X-Stainless-Arch", "X-Stainless-Runtime",
        "X-Stainless-Runtime-Version", "X-Stainless-Async", "X-Stainless-Retry-Count", "X-Stainless-Read-Timeout",
    ),
    omit,
)  # fmt: skip


class Connection:
    """Requests to one endpoint."""

    def __init__(self, hass: HomeAssistant, config: EndpointConfig, errors: ErrorMap) -> None:
        """Prepare; nothing is sent."""
        self._hass = hass
        self._key = config.api_key.strip()
        self._errors = errors
        self._timeout = Timeout(config.idle_timeout, connect=CONNECT_TIMEOUT)
        self._until_answer = (
            config.idle_timeout + CONNECT_TIMEOUT
        )  # seconds; the library counts them anew with each byte
        base_url = normalize_base_url(config.base_url, config.preset)
        query: dict[str, object] = {}
        headers: dict[str, Any] = {} if self._key else {"Authorization": omit}
        if config.preset == "azure":
            headers = {"Authorization": omit, "api-key": self._key}
            if not base_url.endswith("/v1"):
                base_url += f"/openai/deployments/{config.model}" if config.model else "/openai"
                query["api-version"] = config.api_version or DEFAULT_API_VERSION
        self._headers = headers | _ANONYMOUS | {"Content-Type": "application/json"}
        # Anthropic takes OpenAI's chat completions; its list of models belongs to its own API.
        anthropic = {"x-api-key": self._key, "anthropic-version": ANTHROPIC_VERSION}
        self._headers_to_look = self._headers | (anthropic if config.preset == "anthropic" else {})
        self._client = AsyncOpenAI(
            api_key=self._key or "none",
            base_url=base_url,
            default_query=query,
            max_retries=0,
            # 2026.10's client is of httpx, the library's type says httpx2; it takes both.
            http_client=http_client(hass, verify_ssl=config.verify_ssl),
        )
        self._root = str(self._client.base_url).rstrip("/")
        self._prepared = False

    async def get(self, path: str, patience: float = 0.0, body: Mapping[str, Any] | None = None) -> object:
        """Return the JSON at a path, or the text if it is not JSON; post `body`, if given. Raises `LLMError`."""
        response = await self.open(path, None if body is None else dump(body), patience=patience)
        async with response, aclosing(read(response, self._errors, MAX_LIST, MAX_LIST_SECONDS)) as parts:
            data = b"".join([part async for part in parts])
        if "json" not in response.response.headers.get("Content-Type", "").lower():
            return data.decode(errors="replace")
        try:
            found: object = orjson.loads(data)
        except orjson.JSONDecodeError as err:
            raise self._errors.response_error(path) from err
        return found

    async def open(self, path: str, content: bytes | None = None, *, patience: float = 0.0) -> AsyncStream[object]:
        """Post `content`, or get the path, and return the open response; wait `patience` seconds for its model. Raises `LLMError`."""
        if not (self._key.isascii() and self._key.isprintable()):  # no header can carry it
            raise LLMAuthError(endpoint=self._errors.endpoint, detail="")
        if not self._prepared:
            # The library asks the system for its name and keeps the answer; not on the event loop.
            await self._hass.async_add_executor_job(self._client.platform_headers)
            self._prepared = True
        url = path if "://" in path else f"{self._root}{path}"
        options = {"headers": self._headers_to_look if content is None else self._headers, "timeout": self._timeout}
        how: dict[str, Any] = {"cast_to": object, "options": options, "stream": True, "stream_cls": AsyncStream[object]}
        began, pause = time.monotonic(), LOADING_PAUSE
        while True:
            try:
                with translated(self._errors):
                    async with asyncio.timeout(self._until_answer):
                        if content is None:
                            return cast(AsyncStream[object], await self._client.get(url, **how))
                        return cast(AsyncStream[object], await self._client.post(url, content=content, **how))
            except LLMLoadingError:
                if (left := began + patience - time.monotonic()) <= 0:
                    raise
                if pause == LOADING_PAUSE:
                    LOGGER.info("%s is loading its model, waiting for up to %.0f s", self._errors.endpoint, patience)
            await asyncio.sleep(min(pause, left))
            pause = min(pause * LOADING_GROWTH, LONGEST_LOADING_PAUSE)


@contextmanager
def translated(errors: ErrorMap) -> Iterator[None]:
    """Raise errors of the library and of the transport below it as `LLMError`."""
    try:
        yield
    except LLMError:
        raise
    except BodyTooLong as err:
        raise errors.endless() from err
    except Exception as err:  # of httpx or httpx2, whichever the client is made of
        raise errors.from_exception(err) from err


async def read(
    response: AsyncStream[object], errors: ErrorMap, most: int | None = None, seconds: float | None = None
) -> AsyncGenerator[bytes]:
    """Yield a response's bytes as they arrive. Raises `LLMError`, also for a response that does not end."""
    most = MAX_RESPONSE if most is None else most
    seconds = MAX_SECONDS if seconds is None else seconds
    with translated(errors):
        async with aclosing(bounded(response.response.aiter_bytes(), most, seconds)) as parts:
            async for data in parts:
                yield data


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
    """The request body that one endpoint accepts: its known `Traits`, without parameters that it has refused."""

    def __init__(self, config: EndpointConfig) -> None:
        """Start from the traits of the preset and the model."""
        self._config = config
        self._traits = traits_for(config.preset, config.model)
        self._keep_alive = keep_alive_of(config.keep_alive) if self._traits.keep_alive else None
        self._refused: set[str] = set() if self._traits.response_format else {"response_format"}
        self.gives_back = self._traits.thinking_back or self._traits.signed_calls
        """Whether the server wants thinking or signatures back with its tool calls."""
        self._came: dict[str, CameWith] = {}
        self._max_tokens = self._traits.max_tokens

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Return a request's body; what is the same in each turn comes first, so that prompt caches hold."""
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
        """Keep thinking and signatures of an answer's tool calls for the next request; the oldest are dropped."""
        self._came |= answer.came_with()
        while len(self._came) > MAX_CAME:
            del self._came[next(iter(self._came))]

    def adapt(self, body: dict[str, Any], err: BaseException | None) -> bool:
        """Learn from a refusal which parameter to leave out; return whether the request should be made anew."""
        if not isinstance(err, APIStatusError) or err.status_code not in {400, 422}:
            return False
        sent = [name for name in _OPTIONAL if name in body]
        param, said = str(error_fields(err.body).get("param")).split(".")[0], str(err.body)
        told = [param] if param in sent else []
        if not told and _REFUSED.search(said):
            told = [name for name in sent if re.search(rf"\b{name}\b", said)]
        if not told:
            return False
        name = told[0]
        LOGGER.info("Endpoint %s refuses the parameter %s, which is left out from now on", self._config.title, name)
        self._refused.add(name)
        self._max_tokens = _OTHER_NAME.get(name, self._max_tokens)
        return True


def keep_alive_of(value: str | None) -> str | int | None:
    """Return seconds as a number and a duration (`5m`) as text: Ollama refuses `"-1"`."""
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
        self._errors = ErrorMap(config.title, config.api_key)
        self.connection = Connection(hass, config, self._errors)
        self._capacity = capacity_of(hass, normalize_base_url(config.base_url, config.preset), remote=config.remote)
        self._dialect = Dialect(config)
        self._begins_inside_thinking = traits_for(config.preset, config.model).begins_inside_thinking

    async def stream(self, request: ChatRequest, reply: ModelReply) -> AsyncGenerator[AssistantContentDeltaDict]:
        """Yield deltas: `{"role": "assistant"}` first, then `content`, `thinking_content` and `tool_calls`; fills `reply`.

        Each tool call is yielded once, whole, as `llm.ToolInput`; arguments that do not parse are `BrokenArguments`. A request
        that fails before its first delta, for a temporary reason, is repeated once (`ChatRequest.retries`). Raises `LLMError`;
        after `reply.started` the deltas so far are valid.
        """
        started = time.perf_counter()
        for may_retry in (True, False) if request.retries else (False,):
            try:
                patience = request.patience - (time.perf_counter() - started)
                async with (
                    self._capacity.place(background=request.background),
                    aclosing(self._attempt(request, reply, patience)) as deltas,
                ):
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
        """Yield the deltas of one response; if it breaks, all complete ones before the error."""
        response = await self._open(request, reply, patience)
        ending = Ending(request.max_text, self.estimator.estimate)
        if request.max_text is not None:  # a short limit is checked more often
            ending.step = min(ending.step, max(1, request.max_text // 5))
        answer = DeltaStream(reply, self._errors, ending, begins_inside_thinking=self._begins_inside_thinking)
        try:
            async with aclosing(self._in_time(self._chunks(response), answer)) as chunks:
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
        """Send the request, again without each parameter that the endpoint refuses."""
        has_files = any(isinstance(message.get("content"), list) for message in request.messages)
        while True:
            body = self._dialect.body(request)
            content = dump(body)
            # The bytes of files are no text.
            reply.estimated_tokens = None if has_files else round(raw_estimate(content))
            try:
                return await self.connection.open(CHAT_PATH, content, patience=patience)
            except LLMError as err:
                if not self._dialect.adapt(body, err.__cause__):
                    raise

    async def _in_time(
        self, chunks: AsyncGenerator[dict[str, Any]], answer: DeltaStream
    ) -> AsyncGenerator[dict[str, Any]]:
        """Pass chunks on. Raises `LLMTimeoutError` if the answer does not grow for `MAX_SILENCE`, or a longer `idle_timeout`.

        Once an answer of a server at home has begun, it may stop for a quarter of `idle_timeout` and the time of `HELD_TOKENS` at its
        own pace: servers hold back what may become a tool call, and a small model may never end one.
        """
        clock, heard, pieces, began = asyncio.get_running_loop().time, -1, 0, 0.0
        patience = max(MAX_SILENCE, self.config.idle_timeout)
        async with aclosing(chunks):
            while True:
                if answer.length > heard:
                    heard, now = answer.length, clock()
                    ends = now + patience
                    pieces += heard > 0
                    began = began if pieces > 1 else now  # the wait for the first one is no pace
                    if pieces >= LEAST_PIECES and not self.config.remote:
                        held = HELD_TOKENS * (now - began) / (pieces - 1)
                        ends = now + min(patience, self.config.idle_timeout / 4 + held)
                try:
                    async with asyncio.timeout_at(ends):
                        chunk = await anext(chunks, None)
                except TimeoutError as err:
                    raise LLMTimeoutError(endpoint=self.config.title, detail="") from err
                if chunk is None:
                    return
                yield chunk

    async def _chunks(self, response: AsyncStream[object]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the chunks of a response; an answer that is not a stream is one chunk."""
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
