"""Guarded HTTP requests: bounds on the address, the time and the size of the answer.

A tool reaches the host that the owner wrote. A public name that resolves to a private address is refused when the connection is
made, so that neither a redirect nor a changed DNS answer leads there; a host that is private by its form was meant so.
aiohttp's error texts stay here: they hold whole URLs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
import socket
from typing import Self, override
import zlib

import aiohttp
from aiohttp import hdrs
from aiohttp.abc import AbstractResolver, ResolveResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import HomeAssistantTCPConnector, async_get_clientsession
from homeassistant.util.ssl import client_context, client_context_no_verify
from yarl import URL

from .bounds import BodyTooLong, bounded
from .const import CONF_ALLOW_PRIVATE_HOSTS, CONF_ALLOWED_HOSTS
from .errors import ToolRefusal
from .outages import Hosts

type Resolve = Callable[[str], Awaitable[Sequence[ResolveResult]]]

_AT_HOME = ("local", "localhost", "lan", "home", "internal", "intranet", "private", "home.arpa")
_NAT64 = IPv6Network("64:ff9b::/96")
_INTERNET = IPv6Network("2000::/3")
"""All public addresses; others are private, or carry an IPv4 address."""


class AddressRefused(OSError):
    """A public name leads to a private address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """The hosts that requests may reach."""

    allowed_hosts: tuple[str, ...] = ()
    """Names, or `*.` and a domain; empty: any host of a tool."""
    allow_private_hosts: bool = False
    """Let public names lead to private addresses."""

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> Self:
        """Return the policy in the entry's options."""
        listed = options.get(CONF_ALLOWED_HOSTS)
        return cls(
            allowed_hosts=tuple(str(host) for host in listed) if isinstance(listed, list) else (),
            allow_private_hosts=bool(options.get(CONF_ALLOW_PRIVATE_HOSTS)),
        )

    def check(self, host: str) -> None:
        """Raise `ToolRefusal` for a host that is not allowed."""
        if not self.allows(host):
            raise ToolRefusal(f"{host} is not among the hosts that the administrator allows.")

    def allows(self, host: str) -> bool:
        """Return whether a host is on the list of allowed ones, or the list is empty."""
        if not self.allowed_hosts:
            return True
        host = normalized(host)
        allowed = map(normalized, self.allowed_hosts)
        return any(host.endswith(item[1:]) if item.startswith("*.") else host == item for item in allowed)

    def fits(self, host: str, address: str) -> bool:
        """Return whether a host may be reached at an address."""
        return self.allow_private_hosts or is_at_home(host) or is_public(address)


def normalized(host: str) -> str:
    """Return a host in the form for comparison."""
    return host.strip().casefold().rstrip(".")


def is_at_home(host: str) -> bool:
    """Return whether a host is private by its form: a private address, `nas`, `nas.local`."""
    host = normalized(host)
    try:
        return not is_public(str(ip_address(host.strip("[]"))))
    except ValueError:
        return "." not in host or host.endswith(tuple(f".{suffix}" for suffix in _AT_HOME))


def is_public(address: str) -> bool:
    """Return whether an address is public; an IPv6 address that carries an IPv4 address counts as that."""
    ip = ip_address(address.partition("%")[0])
    inner: IPv4Address | None = None
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        if inner is None and ip not in _INTERNET:
            return False
    found: IPv4Address | IPv6Address = inner or ip
    return found.is_global and not found.is_multicast


def http_url(address: object) -> URL | None:
    """Return a usable `http(s)` URL, else None; also None with a password in it, which logs would show."""
    try:
        url = URL(str(address or ""))
    except ValueError:
        return None
    return url if url.scheme in ("http", "https") and url.host and not url.user and not url.password else None


def resolve_by(hass: HomeAssistant) -> Resolve:
    """Return Home Assistant's own resolver."""

    async def resolve(host: str) -> Sequence[ResolveResult]:
        connector = async_get_clientsession(hass).connector
        assert isinstance(connector, HomeAssistantTCPConnector)
        return await connector.async_resolve_host(host)

    return resolve


class GuardedResolver(AbstractResolver):
    """Gives connections only the addresses that the policy allows for a name."""

    def __init__(self, egress: EgressPolicy, resolve: Resolve) -> None:
        """Take the policy and the resolver to ask."""
        self.egress = egress
        self._resolve = resolve

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolve(host)
        fitting = [{**result, "port": port} for result in found if self.egress.fits(host, result["host"])]
        if found and not fitting:
            raise AddressRefused(host)
        return fitting  # type: ignore[return-value]  # a copy with another port

    @override
    async def close(self) -> None:
        """Close nothing."""


MAX_RESPONSE = 64 * 1024  # bytes, if a tool sets no other limit
MAX_REDIRECTS = 3
RETRY_DELAY = 1.0  # seconds
_REFUSALS = frozenset({401, 402, 403, 429})
"""Key, credit or rate limit: failures of the host rather than of the model's arguments."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD = frozenset({307, 308})
_PACKED = frozenset({"gzip", "x-gzip", "deflate"})
_OF_A_BODY = frozenset({hdrs.CONTENT_TYPE, hdrs.CONTENT_LENGTH})


class RequestFailed(ToolRefusal):
    """A request that failed because of the server, or on the way to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request to send."""

    method: str
    url: URL
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float
    """Seconds in all, with redirects and the wait for other requests."""
    max_response: int = MAX_RESPONSE
    """Bytes of the answer's body."""
    interval: float = 0
    """Seconds between two requests to this host."""
    verify_ssl: bool = True
    tool: str = ""
    """Name of the tool, for the issue if the host fails."""
    renewable: bool = False
    """Its token can be renewed: a 401 is no failure of the host yet."""

    @property
    def host(self) -> str:
        """Return host and port, the key of limits and issues."""
        return self.url.raw_authority

    @override
    def __repr__(self) -> str:
        """Return a text without secrets, for logs."""
        return f"<{self.method} {self.host}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """An answer of any status."""

    status: int
    content_type: str
    charset: str | None
    body: bytes = field(repr=False)

    @property
    def reason(self) -> str:
        """Return the status in words; not the server's own, which are text from outside."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)


class _NoConnection(aiohttp.ClientError):
    """No connection was made, or it was lost before an answer."""

    def __init__(self, reason: Exception) -> None:
        """Keep aiohttp's error."""
        super().__init__()
        self.reason = reason


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Raise lost connections as another error: aiohttp would repeat PUT and DELETE by itself."""
    try:
        return await handler(request)
    except (aiohttp.ClientConnectionError, OSError) as err:
        raise _NoConnection(err) from err


class Http:
    """Guarded requests of one config entry."""

    def __init__(self, hass: HomeAssistant, egress: EgressPolicy, resolve: Resolve | None = None) -> None:
        """Prepare; sessions are opened when needed."""
        self._hass = hass
        self.egress = egress
        self.resolver = GuardedResolver(egress, resolve or resolve_by(hass))
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self.hosts = Hosts(hass)

    async def async_use(self, egress: EgressPolicy) -> None:
        """Reach these hosts from now on; connections that were made before are closed."""
        self.egress = self.resolver.egress = egress
        await self.async_close()

    async def async_close(self) -> None:
        """Close every connection."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def async_send(self, request: HttpRequest) -> HttpResponse:
        """Return the answer to a request. Raises `ToolRefusal`; `RequestFailed` is counted against the host."""
        self.egress.check(request.url.host or "")
        try:
            async with (
                asyncio.timeout(request.timeout),
                self.hosts.turn(request.host, interval=request.interval, patience=request.timeout),
            ):
                response = await self._async_follow(request)
        except TimeoutError as err:
            late = RequestFailed(f"{request.host} did not answer within {request.timeout:g} seconds.{_doubt(request)}")
            self.hosts.async_failed(request.host, request.tool, late.sentence)
            raise late from err
        except RequestFailed as err:
            self.hosts.async_failed(request.host, request.tool, err.sentence)
            raise
        if request.renewable and response.status == HTTPStatus.UNAUTHORIZED:
            return response
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR or response.status in _REFUSALS:
            self.hosts.async_failed(request.host, request.tool, f"HTTP {response.status}")
        else:
            self.hosts.async_worked(request.host)
        return response

    async def _async_follow(self, request: HttpRequest) -> HttpResponse:
        """Send, and follow redirects that stay on the host."""
        for _ in range(MAX_REDIRECTS + 1):
            async with await self._async_open(request) as response:
                if response.status not in _REDIRECTS:
                    return await _async_read(request, response)
                request = _redirected(request, response)
        raise RequestFailed(f"{request.host} redirects too often.")

    async def _async_open(self, request: HttpRequest) -> aiohttp.ClientResponse:
        """Return the open response; a GET is repeated once if no connection is made."""
        attempts = 2 if request.method == hdrs.METH_GET else 1
        while True:
            attempts -= 1
            try:
                return await self._session(verify_ssl=request.verify_ssl).request(
                    request.method, request.url, headers=request.headers, data=request.body, allow_redirects=False
                )
            except _NoConnection as err:
                if _was_refused(err.reason) or not attempts:
                    raise _failure(request, err.reason) from None
                await asyncio.sleep(RETRY_DELAY)
            except (aiohttp.ClientError, ValueError) as err:
                raise _failure(request, err) from None

    def _session(self, *, verify_ssl: bool) -> aiohttp.ClientSession:
        """Return our own session: Home Assistant's shared one connects anywhere and keeps cookies."""
        if verify_ssl not in self._sessions:
            self._sessions[verify_ssl] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=self.resolver, ssl=client_context() if verify_ssl else client_context_no_verify()
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                middlewares=(_once,),
                timeout=aiohttp.ClientTimeout(),  # every request has its own
                headers={hdrs.ACCEPT_ENCODING: "identity"},
                auto_decompress=False,  # it would unpack in the event loop, without a limit
            )
        return self._sessions[verify_ssl]


async def _async_read(request: HttpRequest, response: aiohttp.ClientResponse) -> HttpResponse:
    """Return the answer with its body. Raises `ToolRefusal` above the limit, without reading on."""
    limit, body = request.max_response, None
    if (response.content_length or 0) <= limit:
        try:
            body = b"".join([chunk async for chunk in bounded(response.content.iter_any(), limit)])
            if (encoding := response.headers.get(hdrs.CONTENT_ENCODING, "").strip().lower()) not in ("", "identity"):
                body = await asyncio.get_running_loop().run_in_executor(None, _unpacked, body, encoding, limit)
        except BodyTooLong:
            body = None  # refused below, like one with a long Content-Length
        except zlib.error as err:
            raise RequestFailed(f"{request.host} gave no valid HTTP answer.{_doubt(request)}") from err
        except (aiohttp.ClientError, OSError) as err:
            raise _failure(request, err) from None
    if body is None:
        response.close()
        raise ToolRefusal(
            f"The answer of {request.host} is longer than {limit} bytes and was not read.{_doubt(request)}"
        )
    return HttpResponse(status=response.status, content_type=response.content_type, charset=response.charset, body=body)


def _unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """Return a body that was packed although we ask for none. Raises `BodyTooLong` above `most` bytes, and `zlib.error`.

    Called in a worker thread: a few kilobytes may hold many megabytes.
    """
    if encoding not in _PACKED:
        raise zlib.error(encoding)
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # either header
    found = unpacking.decompress(body, most + 1)
    if len(found) > most:
        raise BodyTooLong
    if body and not unpacking.eof:
        raise zlib.error("incomplete")
    return found


def _redirected(request: HttpRequest, response: aiohttp.ClientResponse) -> HttpRequest:
    """Return the request to the target of a redirect. Raises `ToolRefusal` if it leaves the host."""
    try:
        url = request.url.join(URL(response.headers.get(hdrs.LOCATION, ""), encoded=True))
    except ValueError as err:
        raise RequestFailed(f"{request.host} redirects to an invalid address.") from err
    if not _same_place(request.url, url):
        raise ToolRefusal(f"{request.host} redirects to another host, which is not allowed.")
    if response.status in _KEEP_METHOD or request.method in (hdrs.METH_GET, hdrs.METH_HEAD):
        return replace(request, url=url)
    headers = {name: value for name, value in request.headers.items() if name.title() not in _OF_A_BODY}
    return replace(request, url=url, method=hdrs.METH_GET, headers=headers, body=None)


def _same_place(one: URL, other: URL) -> bool:
    """Return whether a redirect stays on host and port; HTTP may become HTTPS, but not the reverse."""
    if other.host is None or one.host != other.host or other.user or other.password:
        return False
    if one.scheme == other.scheme:
        return one.port == other.port
    return (one.scheme, other.scheme) == ("http", "https") and one.is_default_port() and other.is_default_port()


def _was_refused(err: BaseException) -> bool:
    return isinstance(err, AddressRefused) or isinstance(getattr(err, "os_error", None), AddressRefused)


def _failure(request: HttpRequest, err: Exception) -> ToolRefusal:
    if _was_refused(err):
        return ToolRefusal(f"{request.host} leads to an address at home, which the administrator does not allow.")
    match err:
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return RequestFailed(f"The certificate of {request.host} is not trusted.")
        case aiohttp.ClientConnectorDNSError():
            return RequestFailed(f"The name {request.host} is not known.")
        case aiohttp.ClientConnectorError():
            return RequestFailed(f"{request.host} cannot be reached.")
        case aiohttp.ClientConnectionError() | OSError():
            return RequestFailed(f"The connection to {request.host} was lost.{_doubt(request)}")
    return RequestFailed(f"{request.host} gave no valid HTTP answer.{_doubt(request)}")


def _doubt(request: HttpRequest) -> str:
    return "" if request.method == hdrs.METH_GET else " Whether the request had an effect is unknown."
