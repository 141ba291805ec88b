"""MCP servers, connected in the background while the entry is loaded."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from yarl import URL

from ...support import issues
from ...support.const import LOGGER
from ...support.errors import McpError, McpUnreachableError
from ...support.localize import async_error_text
from ...support.masking import SecretMask
from ...support.outages import CircuitBreaker
from .sdk import McpResult, McpSession, RemoteTool, async_connect
from .wire import CONNECT_TIMEOUT, Address, ConnectionWatch

AT_ONCE = 2  # calls to one server
PATIENCE = 30.0  # seconds for calls to a server that was removed or changed
CHECK = 30.0  # seconds until a quiet server is pinged
REFRESH = 10  # pings until the tools are listed again: most servers do not report changes
FIRST_DELAY = 5.0  # seconds until the next attempt, doubled with each
LONGEST_DELAY = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """Stored configuration of a server."""

    subentry_id: str
    title: str
    address: Address
    allowed: frozenset[str] = frozenset()  # tools that may be called although they do not only read


class Server:
    """Keeps a connection, and the server's list of tools."""

    def __init__(self, hass: HomeAssistant, config: ServerConfig, on_change: Callable[[], None] = lambda: None) -> None:
        """Prepare; `async_start` connects. `on_change` is called when the usable tools may have changed."""
        self.config = config
        self._on_change = on_change
        self.tools: tuple[RemoteTool, ...] = ()
        self._hass = hass
        self._session: McpSession | None = None
        self._watch = ConnectionWatch()
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()  # a call waits for the next attempt to connect
        self._attempt = hass.loop.create_future()
        """Done when the current attempt has succeeded or failed."""
        self._attempt.set_result(None)
        self._next = hass.loop.create_future()  # the same for the next one
        self._error: McpError | None = None
        self._running: asyncio.Task[None] | None = None
        self._left = False
        self._free = asyncio.Semaphore(AT_ONCE)
        self._calls: set[asyncio.Future[None]] = set()  # done when a call has ended
        self._breaker = CircuitBreaker(f"The MCP server {config.title}")

    @property
    def connected(self) -> bool:
        """Return whether its tools can be called."""
        return self._session is not None

    @property
    def mask(self) -> SecretMask:
        """Return the mask of its key."""
        auth = self.config.address.auth
        return SecretMask(auth.hidden if auth else ())

    @callback
    def async_start(self, entry: ConfigEntry) -> None:
        """Connect in the background, again after each lost connection, until the entry is unloaded."""
        if self._running is None:
            name = f"home_agent mcp {self.config.subentry_id}"
            self._running = entry.async_create_background_task(self._hass, self._async_run(), name)

    async def async_stop(self) -> None:
        """Disconnect for good."""
        self._left = True  # the library can lose a cancellation while it closes a connection
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running], timeout=CONNECT_TIMEOUT)
            self._running = None
            self._next.cancel()
        issues.async_set(self._hass, issues.MCP_SERVER_FAILING, self.config.subentry_id, False)

    async def async_leave(self) -> None:
        """Disconnect for good when the calls that run have ended, after `PATIENCE` seconds at the latest."""
        self.tools = ()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._calls:
                    await asyncio.wait(self._calls)
        await self.async_stop()

    @callback
    def async_rename(self, title: str, allowed: frozenset[str]) -> None:
        """Take another title, and the tools that may be called though they do not only read; the connection stays."""
        self.config = replace(self.config, title=title, allowed=allowed)
        self._breaker.name = f"The MCP server {title}"
        self._on_change()

    async def async_ready(self) -> None:
        """Wait until its tools can be called, at once after a failed attempt. Raises the `McpError` of that attempt."""
        if self._session is not None:
            return
        attempt = self._attempt
        if attempt.done():
            self._wanted.set()
            attempt = self._next
        await asyncio.wait([attempt])
        if self._session is None:
            raise self._error or McpUnreachableError(detail="not connected")

    def usable(self) -> list[RemoteTool]:
        """Return the tools that may be called: read-only ones, and those that the owner allows."""
        return [tool for tool in self.tools if tool.read_only or tool.name in self.config.allowed]

    async def async_call(self, name: str, arguments: Mapping[str, Any], *, repeatable: bool) -> McpResult:
        """Return a result. Raises `McpError`. A `repeatable` call is repeated once after a lost connection."""
        ended = self._hass.loop.create_future()
        self._calls.add(ended)
        try:
            async with self._free:
                watch = self._watch
                try:
                    return await self._async_call(watch, name, arguments)
                except McpError:
                    if not repeatable or not watch.lost.is_set():
                        raise
                await self.async_ready()
                return await self._async_call(self._watch, name, arguments)
        finally:
            self._calls.discard(ended)
            ended.set_result(None)

    async def _async_call(self, watch: ConnectionWatch, name: str, arguments: Mapping[str, Any]) -> McpResult:
        if self._session is None:
            raise McpUnreachableError(detail="not connected")
        try:
            return await self._session.async_call(name, arguments)
        except McpError:
            if watch.status or watch.failure or watch.foreign:  # an error of the connection, not of the call
                self._session = None
                self._on_change()
                watch.lost.set()
            raise

    async def _async_run(self) -> None:
        while True:
            self._watch = ConnectionWatch()
            self._wanted.clear()
            self._attempt, self._next = self._next, self._hass.loop.create_future()
            try:
                async with async_connect(self._hass, self.config.address, self._changed.set, self._watch) as session:
                    await self._async_stay(session)
            except Exception as err:  # any error of the library: the next attempt may succeed
                task = asyncio.current_task()
                if task is not None and task.cancelling():  # a pending request may have replaced the cancellation
                    raise asyncio.CancelledError from err
                if not isinstance(err, McpError):
                    LOGGER.debug("The MCP server %s made the library fail", self.config.title, exc_info=err)
                    err = McpUnreachableError(detail=type(err).__name__)
                self._session, self._error = None, err
                if self._breaker.failed(type(err).__name__):
                    reason = await async_error_text(self._hass, self._hass.config.language, err)
                    key, server_id = issues.MCP_SERVER_FAILING, self.config.subentry_id
                    issues.async_set(self._hass, key, server_id, server=self.config.title, reason=reason)
            finally:
                self._session = None
                self._on_change()
                self._async_decided()
            if self._left:
                break
            with suppress(TimeoutError):  # unless a tool is to be called
                async with asyncio.timeout(min(FIRST_DELAY * 2 ** max(self._breaker.failures - 1, 0), LONGEST_DELAY)):
                    await self._wanted.wait()

    async def _async_stay(self, session: McpSession) -> None:
        """List the tools, again when they may have changed, until the connection is lost. Raises `McpError`."""
        while True:
            self._changed.clear()
            async with _in_time():
                self.tools = tuple(await session.async_list_tools())
            if self._breaker.succeeded():
                issues.async_set(self._hass, issues.MCP_SERVER_FAILING, self.config.subentry_id, False)
            self._session = session
            self._on_change()
            self._async_decided()
            for _ in range(REFRESH):
                waiting = [asyncio.ensure_future(event.wait()) for event in (self._changed, self._watch.lost)]
                try:
                    await asyncio.wait(waiting, timeout=CHECK, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for task in waiting:
                        task.cancel()
                if self._watch.lost.is_set():
                    raise McpUnreachableError(detail="connection lost")
                if self._changed.is_set():
                    break
                async with _in_time():
                    await session.async_check()

    @callback
    def _async_decided(self) -> None:
        if not self._attempt.done():
            self._attempt.set_result(None)


@asynccontextmanager
async def _in_time() -> AsyncGenerator[None]:
    """Raise `McpUnreachableError` if a server does not answer in time."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            yield
    except TimeoutError as err:
        raise McpUnreachableError(detail="timeout") from err


class SharedServers:
    """Servers of custom tools: each is connected once, from the first call until no tool uses it."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry) -> None:
        """Start without connections; all end with the entry."""
        self._hass = hass
        self._entry = entry
        self._servers: dict[Address, Server] = {}
        self._users: dict[Address, set[object]] = {}
        self._closed = False

    @callback
    def async_get(self, address: Address, user: object) -> Server:
        """Return the connection to an address, opened in the background. Raises `McpUnreachableError` once closed."""
        if self._closed:  # a pending call would open one that is never closed
            raise McpUnreachableError(detail="unloaded")
        if (server := self._servers.get(address)) is None:
            url = URL(address.url)
            place = f"{url.raw_authority}{url.raw_path}"
            config = ServerConfig(subentry_id=place, title=url.raw_authority, address=address)
            server = self._servers[address] = Server(self._hass, config)
            server.async_start(self._entry)
        self._users.setdefault(address, set()).add(user)
        return server

    async def async_release(self, address: Address, user: object) -> None:
        """Release an address; the last user closes the connection."""
        users = self._users.get(address, set())
        users.discard(user)
        if not users and (server := self._servers.pop(address, None)) is not None:
            del self._users[address]
            await server.async_stop()

    async def async_close(self) -> None:
        """Close all connections, and open no more."""
        self._closed = True
        servers = [*self._servers.values()]
        self._servers.clear()
        self._users.clear()
        await asyncio.gather(*(server.async_stop() for server in servers))
