"""The client of the loop: one endpoint with one model, over OpenAI's chat completions."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
import time
from typing import Any

from homeassistant.components.conversation import AssistantContentDeltaDict
from homeassistant.core import HomeAssistant
from openai import APIStatusError, AsyncStream
import orjson

from ..errors import LLMConnectionError, LLMError
from .base import ChatRequest, EndpointConfig, Reply
from .connection import Connection, drain, read
from .dialect import Dialect
from .error_map import ErrorMap, wait_before_retry
from .presets import CHAT_PATH
from .sse import ChunkParser
from .stream import DeltaStream
from .tokens import TokenEstimator, raw_estimate
from .traits import traits_for
from .window import async_context_window
from .wire import dump

RETRY_DELAY = 1.0  # seconds (D-9)
MAX_LINE = 2 * 2**20  # bytes of one chunk
WINDOW_TIMEOUT = 15.0  # seconds; nobody waits for it
MAX_RETRY_DELAY = 10.0  # seconds that an endpoint may ask for; nobody waits longer for an answer


class ChatCompletionsClient:
    """Implements `ChatClient`."""

    def __init__(self, hass: HomeAssistant, config: EndpointConfig) -> None:
        """Prepare; nothing is sent until `stream`."""
        self.config = config
        self.estimator = TokenEstimator()
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

    async def stream(self, request: ChatRequest, reply: Reply) -> AsyncGenerator[AssistantContentDeltaDict]:
        """Yield the deltas of a request; see `ChatClient`.

        A request that failed before its first delta, for a reason that may pass, is made once more.
        """
        started = time.perf_counter()
        for may_retry in (True, False):
            try:
                async with aclosing(self._attempt(request, reply)) as deltas:
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

    async def _attempt(self, request: ChatRequest, reply: Reply) -> AsyncGenerator[AssistantContentDeltaDict]:
        """Yield the deltas of one response; when it breaks, what had arrived whole, and then the error."""
        response = await self._open(request, reply)
        answer = DeltaStream(reply, self._errors, begins_inside_thinking=self._begins_inside_thinking)
        try:
            async with aclosing(self._chunks(response)) as chunks:
                async for chunk in chunks:
                    for delta in answer.feed(chunk):
                        yield delta
        except LLMError as err:
            if not (isinstance(err, LLMConnectionError) and reply.finish_reason):  # else only the farewell is missing
                for delta in answer.finish(complete=False):
                    yield delta
                raise
        for delta in answer.finish():
            yield delta
        self._begins_inside_thinking = answer.thinking.stray_close
        if reply.usage and reply.estimated_tokens:
            self.estimator.calibrate(reply.estimated_tokens, reply.usage.input_tokens)

    async def _open(self, request: ChatRequest, reply: Reply) -> AsyncStream[object]:
        """Send the request; a refused parameter is learned and the request made anew at once."""
        while True:
            body = self._dialect.body(request)
            content = dump(body)
            reply.estimated_tokens = _estimate(request, content)
            try:
                return await self._connection.post(CHAT_PATH, content)
            except APIStatusError as err:
                if not self._dialect.adapt(body, err):
                    raise self._errors.from_exception(err) from err

    async def _chunks(self, response: AsyncStream[object]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the chunks of a response. A whole answer is one chunk, whether a stream was asked for or not."""
        content_type = response.response.headers.get("Content-Type", "").lower()
        async with response, aclosing(read(response, self._errors)) as data:
            if "html" in content_type:
                raise self._errors.response_error(content_type)
            if content_type.startswith("application/json"):
                yield self._whole(b"".join([part async for part in data]))
                return
            parser = ChunkParser()
            async for part in data:
                for chunk in parser.feed(part):
                    yield chunk
                if parser.held > MAX_LINE:
                    raise self._errors.endless()
                if parser.done:
                    await drain(data)
                    return
            for chunk in parser.finish():
                yield chunk

    def _whole(self, data: bytes) -> dict[str, Any]:
        try:
            answer = orjson.loads(data)
        except orjson.JSONDecodeError as err:
            raise self._errors.response_error("JSON") from err
        if not isinstance(answer, dict):
            raise self._errors.response_error("JSON")
        return answer


def _estimate(request: ChatRequest, content: bytes) -> int | None:
    """Return the tokens of a request, None when it has files: their bytes are not text."""
    if any(isinstance(message.get("content"), list) for message in request.messages):
        return None
    return round(raw_estimate(content))
