"""The HTTP transport below the MCP SDK: guards addresses and sizes, and records failures."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from http import HTTPStatus
import math
import ssl
from typing import Any, Self

from aiohttp import hdrs
from homeassistant.util.network import is_ip_address
from homeassistant.util.ssl import client_context, client_context_no_verify
from yarl import URL

from ...support.auth import Auth
from ...support.bounds import BodyTooLong, bounded, stream_of
from ...support.errors import ToolRefusal
from ...support.http import AddressRefused, GuardedResolver, HttpRequest

MAX_BYTES = 4 * 1024 * 1024  # of one answer; of a stream that stays open, in each `WINDOW`
WINDOW = 60.0  # seconds

EVENTS, JSON = "text/event-stream", "application/json"
PLAIN = "identity"
"""Encoding of answers: the library would unpack others to far more bytes than are counted here."""

STREAMABLE_HTTP, SSE, AUTO = "streamable_http", "sse", "auto"
"""The transports of MCP; `AUTO`: the first that works."""
CONNECT_TIMEOUT = 10  # seconds to connect, and to initialize
GOODBYE = 2  # seconds to end a session


@dataclass(slots=True)
class ConnectionWatch:
    """What was seen of a connection."""

    status: int = 0  # the last status that was an error
    failure: str = ""  # class of the error that prevented an answer
    certificate_refused: bool = False
    address_refused: bool = False
    """The server's name leads to an address that the owner does not allow."""
    without_key: bool = False
    answered: bool = False
    foreign: bool = False
    listens: bool = False  # a stream of events was opened first: answers to posts come there
    connected: str = ""
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    def reset(self) -> None:
        """Start again, for another attempt."""
        self.status, self.failure = 0, ""
        self.certificate_refused = self.address_refused = self.without_key = self.answered = self.foreign = False
        self.listens = False
        self.lost = asyncio.Event()

    def failed(self, err: BaseException) -> None:
        """Record why a request was not answered."""
        self.failure = type(err).__name__
        cause: BaseException | None = err
        while cause is not None:
            self.certificate_refused |= isinstance(cause, ssl.SSLError)
            cause = cause.__cause__ or cause.__context__


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Address of a server, with transport and authentication."""

    url: str
    transport: str = AUTO
    verify_ssl: bool = True
    auth: Auth | None = field(default=None, repr=False)
    resolver: GuardedResolver | None = field(default=None, repr=False)
    """Limits the addresses that its name may lead to; None: any."""
    name: str = field(default="", compare=False)  # name in the issue if its token server fails


class WatchedTransport:
    """A transport with the interface of both HTTP libraries that the SDK may use."""

    def __init__(self, httpx: Any, address: Address, watch: ConnectionWatch) -> None:
        """Take the only server to ask, so that its token goes nowhere else."""
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
        """Settings of requests to its token server."""
        context = client_context() if address.verify_ssl else client_context_no_verify()
        self._inner = httpx.AsyncHTTPTransport(verify=context)

    async def __aenter__(self) -> Self:
        """Open the inner transport."""
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close the inner transport."""
        await self._inner.__aexit__(*exc_info)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request; record failures, and bound the answer."""
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
        except OSError as err:  # of DNS
            raise self._refusal(type(err).__name__, request) from err
        except Exception as err:  # recorded and raised again
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
            if kind not in (EVENTS, JSON):  # the library would wait without end
                self._watch.foreign = True
                self._watch.lost.set()
            elif kind == JSON:  # read here, as the library would ignore other JSON than JSON-RPC, and wait
                whole = b"".join([chunk async for chunk in self._bounded(response.stream, stays_open=False)])
                if b'"jsonrpc"' not in whole:
                    self._watch.foreign = True
                    self._watch.lost.set()
                await response.aclose()
                response = self._httpx.Response(response.status_code, headers=response.headers, content=whole)
        body = response.stream
        chunks = self._bounded(body, stays_open=events and request.method == "GET")
        response.stream = stream_of(self._httpx.AsyncByteStream, chunks, body.aclose)
        return response

    async def _async_send(self, request: Any) -> Any:
        """Send a request with the current key; a refused key is renewed once."""
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
        """Send a request to an allowed address of its host. Raises `AddressRefused`."""
        host, resolver = request.url.host, self._address.resolver
        found = [] if resolver is None or is_ip_address(host) else await resolver.resolve(host)
        requests = [  # with certificate and `Host` header of the name
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
        """Yield a body. Raises an error of the HTTP library if it is too long."""
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
        """Record a failure, and return the HTTP library's error that the SDK expects."""
        self._watch.failure = failure
        error: Exception = self._httpx.RequestError(failure, request=request)
        return error
