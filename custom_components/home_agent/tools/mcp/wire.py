"""What is seen of a server below the SDK: where requests go, how they end, how much comes back.

The SDK's own errors tell little and differ between its generations.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address
import math
import ssl
from typing import Any, Self

from aiohttp import hdrs
from homeassistant.util.ssl import client_context, client_context_no_verify
from yarl import URL

from ...support.auth import Auth
from ...support.bounds import BodyTooLong, bounded, stream_of
from ...support.errors import ToolRefusal
from ...support.http import AddressRefused, GuardedResolver, HttpRequest

MAX_BYTES = 4 * 1024 * 1024
"""Of one answer; of a stream that stays open, in each `WINDOW`."""
WINDOW = 60.0  # seconds

EVENTS, JSON = "text/event-stream", "application/json"
"""How such a server answers."""
PLAIN = "identity"
"""How answers have to come: what is unpacked by the library would be far more than was counted here."""

STREAMABLE_HTTP, SSE, AUTO = "streamable_http", "sse", "auto"
"""The transports of MCP; `AUTO`: whichever works."""
CONNECT_TIMEOUT = 10  # seconds to connect, and for the first exchange
GOODBYE = 2  # seconds to end a session; a server that is being left is not waited for longer


@dataclass(slots=True)
class Watch:
    """What was seen of a connection."""

    status: int = 0
    """The last status that was an error."""
    failure: str = ""
    """The class of what kept a request from being answered."""
    certificate_refused: bool = False
    address_refused: bool = False
    """The server's name led where the owner does not allow it."""
    without_key: bool = False
    """No token could be had."""
    answered: bool = False
    """Something came back."""
    foreign: bool = False
    """What came back to a question is nothing that such a server says."""
    listens: bool = False
    """A stream of events was opened first: whatever is posted is answered there."""
    connected: str = ""
    """The transport that worked."""
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    def reset(self) -> None:
        """Forget everything, for another attempt."""
        self.status, self.failure = 0, ""
        self.certificate_refused = self.address_refused = self.without_key = self.answered = self.foreign = False
        self.listens = False
        self.lost = asyncio.Event()

    def failed(self, err: BaseException) -> None:
        """Note why a request was not answered."""
        self.failure = type(err).__name__
        cause: BaseException | None = err
        while cause is not None:
            self.certificate_refused |= isinstance(cause, ssl.SSLError)
            cause = cause.__cause__ or cause.__context__


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is and how it is asked."""

    url: str
    transport: str = AUTO
    verify_ssl: bool = True
    auth: Auth | None = field(default=None, repr=False)
    resolver: GuardedResolver | None = field(default=None, repr=False)
    """Says to which addresses its name may lead; None: to any."""
    name: str = field(default="", compare=False)
    """For the owner, when its token server fails."""


class WatchedTransport:
    """A transport of the HTTP library, by its shape: the SDK brings one of two libraries, and they differ in name alone."""

    def __init__(self, httpx: Any, address: Address, watch: Watch) -> None:
        """Take the server, which is the only one that is asked: a token goes nowhere else."""
        self._httpx = httpx
        self._address = address
        self._watch = watch
        self._asked = HttpRequest(
            method="POST",
            url=URL(address.url),
            timeout=CONNECT_TIMEOUT,
            verify_ssl=address.verify_ssl,
            tool=address.name,
        )
        """How its token server is asked."""
        context = client_context() if address.verify_ssl else client_context_no_verify()
        self._inner = httpx.AsyncHTTPTransport(verify=context)

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
        request.headers[hdrs.ACCEPT_ENCODING] = PLAIN
        if URL(str(request.url)).origin() != self._asked.url.origin():
            raise self._refusal("redirected", request)
        try:
            async with asyncio.timeout(GOODBYE if request.method == "DELETE" else None):
                response = await self._async_send(request)
        except AddressRefused as err:
            self._watch.address_refused = True
            raise self._refusal("address", request) from err
        except ToolRefusal as err:
            self._watch.without_key = True
            raise self._refusal("key", request) from err
        except OSError as err:  # of the name service
            raise self._refusal(type(err).__name__, request) from err
        except Exception as err:
            self._watch.failed(err)
            raise
        if response.headers.get(hdrs.CONTENT_ENCODING, PLAIN).strip().casefold() not in ("", PLAIN):
            await response.aclose()
            raise self._refusal("packed", request)
        if response.status_code >= HTTPStatus.BAD_REQUEST and (request.method == "POST" or not self._watch.connected):
            self._watch.status = response.status_code
        self._watch.answered = True
        kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
        events = kind == EVENTS
        self._watch.listens |= events and request.method == "GET"
        elsewhere = self._watch.connected == SSE or (not self._watch.connected and self._watch.listens)
        if not elsewhere and request.method == "POST" and response.status_code == HTTPStatus.OK:
            if kind not in (EVENTS, JSON):  # the library would wait for what never comes
                self._watch.foreign = True
                self._watch.lost.set()
            elif kind == JSON:
                response = await self._async_whole(response)
        body = response.stream
        chunks = self._bounded(body, stays_open=events and request.method == "GET")
        response.stream = stream_of(self._httpx.AsyncByteStream, chunks, body.aclose)
        return response

    async def _async_whole(self, response: Any) -> Any:
        """Return an answer that came whole, read; the library would pass over one that is not JSON-RPC, and wait."""
        chunks = [chunk async for chunk in self._bounded(response.stream, stays_open=False)]
        if b'"jsonrpc"' not in (whole := b"".join(chunks)):
            self._watch.foreign = True
            self._watch.lost.set()
        await response.aclose()
        return self._httpx.Response(response.status_code, headers=response.headers, content=whole)

    async def _async_send(self, request: Any) -> Any:
        """Send a request with the key of now; one that was refused is renewed once."""
        auth = self._address.auth
        if auth is None:
            return await self._async_route(request)
        header = await auth.async_header(self._asked)
        request.headers[hdrs.AUTHORIZATION] = header
        response = await self._async_route(request)
        if response.status_code == HTTPStatus.UNAUTHORIZED and auth.refused(header):
            await response.aclose()
            request.headers[hdrs.AUTHORIZATION] = await auth.async_header(self._asked)
            response = await self._async_route(request)
        return response

    async def _async_route(self, request: Any) -> Any:
        """Send a request to an address where its name may lead. Raises `AddressRefused`."""
        host, resolver = request.url.host, self._address.resolver
        found = [] if resolver is None or _is_address(host) else await resolver.resolve(host)
        requests = [  # certificate and header `Host` stay those of the name
            self._httpx.Request(
                request.method,
                request.url.copy_with(host=result["host"]),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            for result in found
        ]
        *others, last = requests or [request]
        for other in others:
            try:
                return await self._inner.handle_async_request(other)
            except self._httpx.ConnectError, self._httpx.ConnectTimeout:
                continue
        return await self._inner.handle_async_request(last)

    async def _bounded(self, body: AsyncIterable[bytes], *, stays_open: bool) -> AsyncIterator[bytes]:
        """Yield a body, which ends with an error of the HTTP library when too much comes."""
        try:
            seconds = WINDOW if stays_open else math.inf
            async with aclosing(bounded(body, MAX_BYTES, seconds, renewed=stays_open)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except BodyTooLong as err:
            self._watch.failure = "too much"
            self._watch.lost.set()
            raise self._httpx.ReadError("the answer is too long") from err
        if stays_open and self._watch.connected == SSE:
            self._watch.lost.set()

    def _refusal(self, failure: str, request: Any) -> Exception:
        """Return an error of the HTTP library, for that is what the SDK expects; what it was is in the watch."""
        self._watch.failure = failure
        error: Exception = self._httpx.RequestError(failure, request=request)
        return error


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
