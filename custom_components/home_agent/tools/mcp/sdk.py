"""The official MCP SDK in Home Assistant's own version. Only this module knows its two generations."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.loader import IntegrationNotFound, async_get_integration
from homeassistant.requirements import async_process_requirements
from homeassistant.util.hass_dict import HassKey
from yarl import URL

from ...support.const import DOMAIN
from ...support.encoding import dump
from ...support.errors import (
    McpAddressError,
    McpAuthError,
    McpCertificateError,
    McpError,
    McpProtocolError,
    McpSdkError,
    McpTimeoutError,
    McpUnreachableError,
)
from .wire import AUTO, CONNECT_TIMEOUT, SSE, STREAMABLE_HTTP, Address, ConnectionWatch, WatchedTransport

READ_TIMEOUT = 330  # seconds of silence: longer than a tool may take, and than servers' keep-alives
MAX_PAGES = 10
MAX_TOOLS = 200
USUAL_PATHS = {STREAMABLE_HTTP: "/mcp", SSE: "/sse"}

_MODULES = ("mcp.types", "mcp.client.session", "mcp.client.streamable_http", "mcp.client.sse", "jsonschema")
"""The last one is otherwise imported during a call, and reads files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTool:
    """A tool in its server's words, not checked yet."""

    name: str
    title: str | None
    description: str | None
    schema: object
    read_only: bool  # annotated as read-only, and not as destructive

    @property
    def version(self) -> str:
        """Return a hash that changes with any field."""
        return sha256(repr(self).encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class McpResult:
    """Result of a call."""

    text: str  # its readable content, not checked yet
    failed: bool


@dataclass(frozen=True, slots=True)
class Sdk:
    """Modules of the SDK."""

    types: Any
    session: Any
    streamable: Any
    sse: Any

    @property
    def httpx(self) -> Any:
        """Return the HTTP library of this generation."""
        return getattr(self.streamable, "httpx2", None) or self.streamable.httpx


_SDK: HassKey[Sdk] = HassKey(f"{DOMAIN}_mcp_sdk")


async def async_load(hass: HomeAssistant) -> Sdk:
    """Return the SDK; install it if needed. Raises `McpSdkError`."""
    if (loaded := hass.data.get(_SDK)) is not None:
        return loaded
    try:
        integration = await async_get_integration(hass, "mcp")
        await async_process_requirements(hass, integration.domain, integration.requirements)
        modules = [await async_import_module(hass, name) for name in _MODULES]
    except (IntegrationNotFound, HomeAssistantError, ImportError) as err:
        raise McpSdkError(detail=type(err).__name__) from err
    hass.data[_SDK] = sdk = Sdk(*modules[:4])
    return sdk


class McpSession:
    """An open connection to a server."""

    def __init__(self, sdk: Sdk, session: Any, watch: ConnectionWatch) -> None:
        """Wrap a session of the SDK."""
        self._types = sdk.types
        self._session = session
        self._watch = watch

    async def async_initialize(self) -> None:
        """Initialize the session. Raises `McpError`."""
        await self._async_ask(self._session.initialize())

    async def async_list_tools(self) -> list[RemoteTool]:
        """Return the tools of the server. Raises `McpError`."""
        tools: list[RemoteTool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._async_ask(
                self._session.list_tools(params=self._types.PaginatedRequestParams(cursor=cursor))
            )
            for tool in page.tools:
                hints = tool.annotations
                reads = hints and _either(hints, "read_only_hint", "readOnlyHint")
                tools.append(
                    RemoteTool(
                        name=str(tool.name),
                        title=tool.title or (hints.title if hints else None),
                        description=tool.description,
                        schema=_either(tool, "input_schema", "inputSchema"),
                        read_only=bool(reads and not _either(hints, "destructive_hint", "destructiveHint")),
                    )
                )
            cursor = _either(page, "next_cursor", "nextCursor")
            if not cursor or len(tools) >= MAX_TOOLS:
                break
        return tools[:MAX_TOOLS]

    async def async_check(self) -> None:
        """Return when the server answers a ping, also with an unknown method. Raises `McpError`."""
        try:
            await self._async_ask(self._session.send_ping())
        except McpProtocolError as err:
            if self._watch.status or not err.said:
                raise

    async def async_call(self, name: str, arguments: Mapping[str, Any]) -> McpResult:
        """Return a tool's result, not validated by the server's schema, as the SDK would. Raises `McpError`."""
        types = self._types
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        request = types.CallToolRequest(params=params)
        if hasattr(types.ClientRequest, "model_validate"):  # up to 1.x, a model around all requests
            request = types.ClientRequest(request)
        result = await self._async_ask(self._session.send_request(request, types.CallToolResult))
        structured = _either(result, "structured_content", "structuredContent")
        return McpResult(text_of(result.content, structured), bool(_either(result, "is_error", "isError")))

    async def _async_ask[T](self, request: Awaitable[T]) -> T:
        """Return the answer to a request. Raises `McpError`, also when the connection ends."""
        asked = asyncio.ensure_future(request)
        lost = asyncio.ensure_future(self._watch.lost.wait())
        try:
            done, _ = await asyncio.wait({asked, lost}, return_when=asyncio.FIRST_COMPLETED)
            if asked in done:
                return asked.result()
        except Exception as err:  # any error of the SDK, raised as ours
            raise error_of(err, self._watch) from err
        finally:
            asked.cancel()
            lost.cancel()
        if self._watch.foreign:
            raise McpProtocolError(detail="no JSON-RPC")
        raise McpUnreachableError(detail="connection lost")


@asynccontextmanager
async def async_connect(
    hass: HomeAssistant,
    address: Address,
    on_change: Callable[[], None] = lambda: None,
    watch: ConnectionWatch | None = None,
) -> AsyncGenerator[McpSession]:
    """Connect; the task that entered must leave. `on_change`: the server's tools changed. Raises `McpError`."""
    sdk = await async_load(hass)
    watch = watch or ConnectionWatch()
    kinds = [address.transport] if address.transport != AUTO else [STREAMABLE_HTTP, SSE]
    tries = [(kind, address.url) for kind in kinds]
    if (base := URL(address.url)).path == "/":  # a bare host may serve at the usual path
        tries += [(kind, str(base.with_path(USUAL_PATHS[kind]))) for kind in kinds]
    for kind, url in tries:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    session = await stack.enter_async_context(
                        _opened(sdk, kind, replace(address, url=url), on_change, watch)
                    )
            except Exception as err:  # any error of the SDK, raised as ours
                error = error_of(err, watch)
                if (kind, url) == tries[-1] or not isinstance(error, McpProtocolError):
                    raise error from err
                watch.reset()
                continue
            yield session
            return


async def async_list_tools(hass: HomeAssistant, address: Address) -> list[RemoteTool]:
    """Connect, return the tools and disconnect. Raises `McpError`."""
    try:
        async with async_connect(hass, address) as session, asyncio.timeout(CONNECT_TIMEOUT):
            return await session.async_list_tools()
    except TimeoutError as err:
        raise McpTimeoutError(detail="timeout") from err


@asynccontextmanager
async def _opened(
    sdk: Sdk, kind: str, address: Address, on_change: Callable[[], None], watch: ConnectionWatch
) -> AsyncGenerator[McpSession]:
    """Open a connection with one transport. Its errors are raised as ours."""

    async def heard(message: Any) -> None:
        if isinstance(getattr(message, "root", message), sdk.types.ToolListChangedNotification):
            on_change()

    def client(**settings: Any) -> Any:
        return sdk.httpx.AsyncClient(
            transport=WatchedTransport(sdk.httpx, address, watch),
            follow_redirects=True,
            timeout=sdk.httpx.Timeout(CONNECT_TIMEOUT, read=READ_TIMEOUT),
        )

    yielded: BaseException | None = None
    try:
        async with AsyncExitStack() as stack:
            if kind == SSE:
                transport = sdk.sse.sse_client(address.url, httpx_client_factory=client)
            else:
                http_client = await stack.enter_async_context(client())
                transport = sdk.streamable.streamable_http_client(address.url, http_client=http_client)
            reading, writing, *_ = await stack.enter_async_context(transport)
            session = await stack.enter_async_context(
                sdk.session.ClientSession(reading, writing, message_handler=heard)
            )
            ours = McpSession(sdk, session, watch)
            await ours.async_initialize()
            watch.connected = kind
            try:
                yield ours
            except BaseException as err:
                yielded = err
                raise
    except McpError:
        raise
    except Exception as err:  # any error of the SDK, raised as ours
        if yielded is not None and isinstance(yielded, Exception):
            raise yielded from None  # without the SDK's exception groups
        raise error_of(err, watch) from err
    finally:
        watch.lost.set()


def error_of(err: BaseException, watch: ConnectionWatch) -> McpError:
    """Return our error for one of the SDK, by what was seen on the wire."""
    while isinstance(err, BaseExceptionGroup):
        err = err.exceptions[0]
    if isinstance(err, McpError):
        return err
    if watch.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or watch.without_key:
        return McpAuthError()
    if watch.address_refused:
        return McpAddressError()
    if watch.certificate_refused:
        return McpCertificateError()
    if not watch.failure and isinstance(err, TimeoutError) and (watch.connected or not watch.answered):
        return McpTimeoutError(detail="timeout")
    broken = watch.status >= HTTPStatus.INTERNAL_SERVER_ERROR and watch.status != HTTPStatus.NOT_IMPLEMENTED
    if watch.failure or broken:
        return McpUnreachableError(detail=watch.failure or str(watch.status))
    said = getattr(getattr(err, "error", None), "message", "")  # of JSON-RPC
    return McpProtocolError(detail=str(watch.status or type(err).__name__), said=str(said))


def text_of(content: Iterable[Any], structured: object) -> str:
    """Return the text of a result, with a note for each other content."""
    parts = [part for block in content if (part := _part(block))]
    if not parts and structured is not None:
        parts = [dump(structured).decode()]
    return "\n".join(parts)


def _part(block: Any) -> str:
    """Return a block of content as text."""
    resource = getattr(block, "resource", None)
    for source in (block, resource):
        if isinstance(text := getattr(source, "text", None), str):
            return text
    kind = str(getattr(block, "type", "data"))
    data = getattr(block, "data", None) or getattr(resource, "blob", None) or ""
    mimes = (getattr(part, name, None) for part in (block, resource) for name in ("mime_type", "mimeType"))
    if data:
        return f"[{kind}, {next(filter(None, mimes), '?')}, {len(data) * 3 // 4} bytes: not shown]"
    return f"[{kind}: {getattr(block, 'uri', None) or '?'}]"


def _either(value: Any, new: str, old: str) -> Any:
    return getattr(value, new) if hasattr(value, new) else getattr(value, old)
