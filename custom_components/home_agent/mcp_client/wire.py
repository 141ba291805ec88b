"""What is seen of a server below the SDK: where requests go, how they end, how much comes back.

The SDK's own errors tell little and differ between its generations.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
import ssl
from typing import Any, Self

from yarl import URL

MAX_BYTES = 4 * 1024 * 1024
"""Of one answer, or of one event of a stream."""

GOODBYE = 2  # seconds to end a session; nobody waits longer for a server that is being left


@dataclass(slots=True)
class Watch:
    """What was seen of a connection."""

    status: int = 0
    """The last status that was an error."""
    failure: str = ""
    """The class of what kept a request from being answered."""
    certificate_refused: bool = False
    connected: str = ""
    """The transport that worked."""
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    def reset(self) -> None:
        """Forget everything, for another attempt."""
        self.status, self.failure, self.certificate_refused = 0, "", False
        self.lost = asyncio.Event()

    def failed(self, err: BaseException) -> None:
        """Note why a request was not answered."""
        self.failure = type(err).__name__
        cause: BaseException | None = err
        while cause is not None:
            self.certificate_refused |= isinstance(cause, ssl.SSLError)
            cause = cause.__cause__ or cause.__context__


class WatchedTransport:
    """A transport of the HTTP library, by its shape: the SDK brings one of two libraries, and they differ in name alone."""

    def __init__(self, httpx: Any, server: URL, watch: Watch, context: ssl.SSLContext) -> None:
        """Take the server, which is the only one that is asked: a token goes nowhere else."""
        self._httpx = httpx
        self._origin = server.origin()
        self._watch = watch
        self._inner = httpx.AsyncHTTPTransport(verify=context)
        self._stream: Any = _bounded(httpx)

    async def __aenter__(self) -> Self:
        """Open it."""
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close it."""
        await self._inner.__aexit__(*exc_info)

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request."""
        if URL(str(request.url)).origin() != self._origin:
            self._watch.failure = "redirected"
            raise self._httpx.RequestError("redirected to another server", request=request)
        try:
            async with asyncio.timeout(GOODBYE if request.method == "DELETE" else None):
                response = await self._inner.handle_async_request(request)
        except Exception as err:
            self._watch.failed(err)
            raise
        if response.status_code >= 400 and (request.method == "POST" or not self._watch.connected):
            self._watch.status = response.status_code
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        opened = events and request.method == "GET"
        response.stream = self._stream(response.stream, self._watch, events=events, opened=opened)
        return response


def watched(httpx: Any, server: URL, watch: Watch, context: ssl.SSLContext) -> WatchedTransport:
    """Return the transport of a connection."""
    return WatchedTransport(httpx, server, watch, context)


def _bounded(httpx: Any) -> Any:
    """Return a stream of the HTTP library that ends with an error when too much comes."""

    async def iterate(self: Any) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self.inner:
            size += len(chunk)
            if self.events and (b"\n\n" in chunk or b"\r\n\r\n" in chunk):
                size = 0
            if size > MAX_BYTES:
                self.watch.failure = "too much"
                raise httpx.ReadError("the answer is too long")
            yield chunk
        if self.opened and self.watch.connected == "sse":
            self.watch.lost.set()

    async def aclose(self: Any) -> None:
        await self.inner.aclose()

    def init(self: Any, inner: Any, watch: Watch, *, events: bool, opened: bool) -> None:
        self.inner, self.watch, self.events, self.opened = inner, watch, events, opened

    members = {"__init__": init, "__aiter__": iterate, "aclose": aclose}
    return type("BoundedStream", (httpx.AsyncByteStream,), members)
