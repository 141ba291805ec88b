"""HTTP to one endpoint: the official `openai` library on a client of Home Assistant's.

Only the library's transport is used. Bodies are made and chunks are read by ourselves: its typed models cost more time
than everything else in a request together, and are stricter than servers are. Nor is a refusal read as the library does:
it reads the whole body, however long it is, before it tells that there was one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
import time
from typing import Any, cast

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.httpx_client import create_async_httpx_client
from homeassistant.util.hass_dict import HassKey
from openai import AsyncOpenAI, AsyncStream, Timeout, omit
import orjson

from ..settings.endpoint import DEFAULT_API_VERSION, EndpointConfig, normalize_base_url
from ..support.bounds import BodyTooLong, bounded, stream_of
from ..support.const import DOMAIN, LOGGER
from ..support.encoding import dump
from ..support.errors import LLMAuthError, LLMError, LLMLoadingError
from .error_map import ErrorMap

MAX_ERROR = 64 * 1024  # bytes of the body of an error that are read
MAX_ERROR_SECONDS = 10.0
_PLAIN = ("", "identity")

_CLIENTS: HassKey[dict[bool, Any]] = HassKey(f"{DOMAIN}_http_clients")
"""By whether certificates are verified; Home Assistant closes them when it stops."""


@callback
def http_client(hass: HomeAssistant, *, verify_ssl: bool) -> Any:
    """Return the client for all endpoints, like Home Assistant's shared one; of httpx or httpx2, whichever Home Assistant itself uses."""
    clients = hass.data.setdefault(_CLIENTS, {})
    if verify_ssl not in clients:
        clients[verify_ssl] = create_async_httpx_client(hass, verify_ssl, event_hooks={"response": [_bound_error]})
    return clients[verify_ssl]


async def _bound_error(response: Any) -> None:
    """Put an end to the body of an error before anybody reads it."""
    if not response.is_error:
        return
    # A few packed bytes may be a great many: nobody unpacks them.
    most = MAX_ERROR if response.headers.get("content-encoding", "").strip().lower() in _PLAIN else 0
    if not most:
        del response.headers["content-encoding"]
    [stream_type] = [kind for kind in type(response.stream).__mro__ if kind.__name__ == "AsyncByteStream"]
    body = response.stream
    response.stream = stream_of(stream_type, _beginning(body, most), body.aclose)


async def _beginning(body: AsyncIterable[bytes], most: int) -> AsyncGenerator[bytes]:
    """Yield so many bytes of a body, and no more."""
    if not most:
        return
    try:
        async with aclosing(bounded(body, most, MAX_ERROR_SECONDS)) as chunks:
            async for chunk in chunks:
                yield chunk
    except Exception as err:  # noqa: BLE001 - what was read has to do: that there is an error is known already
        LOGGER.debug("The body of an error broke off: %s", type(err).__name__)


ANTHROPIC_VERSION = "2023-06-01"
CONNECT_TIMEOUT = 10.0  # seconds
MAX_RESPONSE = 32 * 2**20
"""Bytes of one answer; with the frame around each token ten times the longest that models give."""
MAX_SECONDS = 1800.0  # of one answer, however busily it is sent
MAX_LIST = 8 * 2**20  # bytes of a list of models
MAX_LIST_SECONDS = 60.0
LOADING_PAUSE, LONGEST_LOADING_PAUSE = 0.5, 5.0
"""Seconds until a server that loads its model is asked again: the first time, and at most."""
LOADING_GROWTH = 1.5

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
        self._headers = headers | _ANONYMOUS | {"Content-Type": "application/json"}
        # Chat completions go to Anthropic as to anybody; its list of models is of its own API.
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

    async def get(self, path: str, patience: float = 0.0) -> object:
        """Return the JSON at a path, or the text of anything else; `patience` as in `open`. Raises `LLMError`."""
        return await self._answer(path, await self.open(path, patience=patience))

    async def ask(self, path: str, body: Mapping[str, Any]) -> object:
        """Send a question as JSON and return the answer like `get`. Raises `LLMError`."""
        return await self._answer(path, await self.open(path, dump(body)))

    async def open(self, path: str, content: bytes | None = None, *, patience: float = 0.0) -> AsyncStream[object]:
        """Send JSON, or ask for what is at a path, and return the open response: the library itself would read without end.

        A server that loads its model refuses at once; it is asked again, at growing intervals, for `patience` seconds.
        Raises `LLMError`, whose cause is the library's `APIStatusError` for a refusal.
        """
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

    async def _answer(self, path: str, response: AsyncStream[object]) -> object:
        async with response, aclosing(read(response, self._errors, MAX_LIST, MAX_LIST_SECONDS)) as parts:
            data = b"".join([part async for part in parts])
        if "json" not in response.response.headers.get("Content-Type", "").lower():
            return data.decode(errors="replace")
        try:
            found: object = orjson.loads(data)
        except orjson.JSONDecodeError as err:  # it says it is JSON and is not
            raise self._errors.response_error(path) from err
        return found


@contextmanager
def translated(errors: ErrorMap) -> Iterator[None]:
    """Raise as an `LLMError` whatever the library, or the transport below it, raises inside."""
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
