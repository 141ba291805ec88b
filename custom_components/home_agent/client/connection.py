"""HTTP to one endpoint: the official `openai` library on a client of Home Assistant's.

Only the library's transport is used. Bodies are made and chunks are read by ourselves: its typed models cost more time
than everything else in a request together, and are stricter than servers are.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
import time
from typing import Any

from homeassistant.core import HomeAssistant
from openai import AsyncOpenAI, AsyncStream, OpenAIError, Timeout, omit
import orjson

from ..errors import LLMAuthError, LLMError
from .base import EndpointConfig
from .error_map import ErrorMap
from .http_client import http_client
from .presets import DEFAULT_API_VERSION, normalize_base_url

CONNECT_TIMEOUT = 10.0  # seconds
MAX_RESPONSE = 32 * 2**20
"""Bytes of one answer; with the frame around each token ten times the longest that models give."""
MAX_SECONDS = 1800.0  # of one answer, however busily it is sent
MAX_LIST = 8 * 2**20  # bytes of a list of models
MAX_LIST_SECONDS = 60.0
_DRAIN_TIMEOUT = 0.1  # seconds that the end of a response may take after the answer's own end

_ANONYMOUS = dict.fromkeys(
    (
        "X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-OS", "X-Stainless-Arch", "X-Stainless-Runtime",
        "X-Stainless-Runtime-Version", "X-Stainless-Async", "X-Stainless-Retry-Count", "X-Stainless-Read-Timeout",
    ),
    omit,
)  # fmt: skip
"""What the library tells every server about the machine it runs on."""


class Connection:
    """Requests to one endpoint."""

    def __init__(self, hass: HomeAssistant, config: EndpointConfig, errors: ErrorMap) -> None:
        """Prepare; nothing is sent."""
        self._hass = hass
        self._key = config.api_key.strip()
        self._errors = errors
        self._timeout = Timeout(config.idle_timeout, connect=CONNECT_TIMEOUT)
        base_url = normalize_base_url(config.base_url, config.preset)
        query: dict[str, object] = {}
        headers: dict[str, Any] = {} if self._key else {"Authorization": omit}
        if config.preset == "azure":
            headers = {"Authorization": omit, "api-key": self._key}
            if not base_url.endswith("/v1"):
                base_url += f"/openai/deployments/{config.model}" if config.model else "/openai"
                query["api-version"] = config.api_version or DEFAULT_API_VERSION
        self._headers = headers | _ANONYMOUS
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

    async def get(self, path: str) -> object:
        """Return the JSON at a path, or the text of anything else. Raises `LLMError`."""
        return await self._answer(path, self._client.get, {})

    async def ask(self, path: str, body: Mapping[str, Any]) -> object:
        """Send a question as JSON and return the answer like `get`. Raises `LLMError`."""
        return await self._answer(path, self._client.post, {"body": body})

    async def _answer(
        self, path: str, method: Callable[..., Awaitable[AsyncStream[object]]], more: Mapping[str, Any]
    ) -> object:
        await self._begin()
        options = {"headers": self._headers, "timeout": self._timeout}
        try:  # as a stream: the library itself would read without end
            response = await method(
                path, cast_to=object, options=options, stream=True, stream_cls=AsyncStream[object], **more
            )
        except OpenAIError as err:
            raise self._errors.from_exception(err) from err
        async with response, aclosing(read(response, self._errors, MAX_LIST, MAX_LIST_SECONDS)) as parts:
            data = b"".join([part async for part in parts])
        if "json" not in response.response.headers.get("Content-Type", "").lower():
            return data.decode(errors="replace")
        try:
            found: object = orjson.loads(data)
        except orjson.JSONDecodeError as err:  # it says it is JSON and is not
            raise self._errors.response_error(path) from err
        return found

    async def post(self, path: str, content: bytes) -> AsyncStream[object]:
        """Send JSON and return the open response.

        Raises `LLMError` when no response comes, `openai.APIStatusError` when it is a refusal.
        """
        await self._begin()
        try:
            return await self._client.post(
                f"{self._root}{path}",
                content=content,
                cast_to=object,
                options={"headers": {**self._headers, "Content-Type": "application/json"}, "timeout": self._timeout},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except OpenAIError as err:
            if hasattr(err, "status_code"):
                raise
            raise self._errors.from_exception(err) from err

    async def _begin(self) -> None:
        if not self._key.isascii():  # no header can carry it
            raise LLMAuthError(endpoint=self._errors.endpoint, detail="")
        if not self._prepared:
            # The library asks the system for its name and keeps the answer; not on the event loop.
            await self._hass.async_add_executor_job(self._client.platform_headers)
            self._prepared = True


async def read(
    response: AsyncStream[object], errors: ErrorMap, most: int | None = None, seconds: float | None = None
) -> AsyncGenerator[bytes]:
    """Yield a response's bytes as they arrive. Raises `LLMError`, also for a response that does not end."""
    received, most = 0, MAX_RESPONSE if most is None else most
    ends = time.monotonic() + (MAX_SECONDS if seconds is None else seconds)
    async with aclosing(_parts(response, errors)) as parts:
        async for data in parts:
            received += len(data)
            if received > most or time.monotonic() > ends:
                raise errors.endless()
            yield data


async def _parts(response: AsyncStream[object], errors: ErrorMap) -> AsyncGenerator[bytes]:
    try:
        async for data in response.response.aiter_bytes():
            yield data
    except Exception as err:  # of httpx or httpx2, whichever the client is made of
        raise errors.from_exception(err) from err


async def drain(data: AsyncGenerator[bytes]) -> None:
    """Read to the end, if it is near: only then the connection is kept for the next request."""
    with suppress(TimeoutError, LLMError):
        async with asyncio.timeout(_DRAIN_TIMEOUT), aclosing(data):
            async for _ in data:
                pass
