"""One server: connected in the background, for as long as the entry is loaded."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback

from .. import issues
from ..const import LOGGER
from ..errors import McpError, McpUnreachableError
from ..outside.mask import Mask
from ..texts import async_error_text
from .sdk import CONNECT_TIMEOUT, Address, RemoteTool, Session, async_connect
from .wire import Watch

AT_ONCE = 2  # calls to one server
FAILURES = 3  # in a row, until the owner is told
CHECK = 30.0  # seconds until a quiet server is asked whether it is still there
REFRESH = 10  # checks until the tools are listed again: most servers do not say when they change
FIRST_DELAY = 5.0  # seconds until the next attempt, doubled with each
LONGEST_DELAY = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """What is stored of a server."""

    subentry_id: str
    title: str
    address: Address
    allowed: frozenset[str] = frozenset()
    """Tools that may be called although they are not said to only read."""


class Server:
    """Keeps a connection, and the list of tools that came with it."""

    def __init__(self, hass: HomeAssistant, config: ServerConfig) -> None:
        """Prepare; `async_start` connects."""
        self.config = config
        self.tools: tuple[RemoteTool, ...] = ()
        """As they were last listed."""
        self._hass = hass
        self._session: Session | None = None
        self._watch = Watch()
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        """Somebody waits for the next attempt."""
        self._attempt = hass.loop.create_future()
        """Done when the attempt of now has come to an end, whichever; none has begun."""
        self._attempt.set_result(None)
        self._next = hass.loop.create_future()
        """The same of the one after it."""
        self._error: McpError | None = None
        self._running: asyncio.Task[None] | None = None
        self._free = asyncio.Semaphore(AT_ONCE)
        self._failures = 0

    @property
    def connected(self) -> bool:
        """Whether its tools can be called now."""
        return self._session is not None

    @property
    def mask(self) -> Mask:
        """What takes its key out of texts."""
        auth = self.config.address.auth
        return Mask(auth.hidden if auth else ())

    @callback
    def async_start(self, entry: ConfigEntry) -> None:
        """Connect, and again whenever the connection is lost, until the entry is unloaded. Nobody waits for it."""
        if self._running is None:
            name = f"home_agent mcp {self.config.subentry_id}"
            self._running = entry.async_create_background_task(self._hass, self._async_run(), name)

    async def async_stop(self) -> None:
        """Leave the server."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running], timeout=CONNECT_TIMEOUT)
            self._running = None
            self._next.cancel()
        issues.async_mcp_server_recovered(self._hass, self.config.subentry_id)

    async def async_ready(self) -> None:
        """Wait until its tools can be called; one that rests after a failure is tried at once.

        Raises `McpError` with what that attempt ends with.
        """
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
        """Return the tools that may be called: those said to only read, and those the owner names."""
        return [tool for tool in self.tools if tool.read_only or tool.name in self.config.allowed]

    async def async_call(
        self, name: str, arguments: Mapping[str, Any], *, repeatable: bool
    ) -> tuple[list[Any], object, bool]:
        """Call a tool; see `Session.async_call`. Raises `McpError`.

        One that is `repeatable` is called once more when the connection turns out to be lost: a server that was started
        anew does not know its old sessions. Of any other call nobody knows whether it was heard.
        """
        async with self._free:
            watch = self._watch
            try:
                return await self._async_call(watch, name, arguments)
            except McpError:
                if not repeatable or not watch.lost.is_set():
                    raise
            await self.async_ready()
            return await self._async_call(self._watch, name, arguments)

    async def _async_call(
        self, watch: Watch, name: str, arguments: Mapping[str, Any]
    ) -> tuple[list[Any], object, bool]:
        if self._session is None:
            raise McpUnreachableError(detail="not connected")
        try:
            return await self._session.async_call(name, arguments)
        except McpError:
            if watch.status or watch.failure:  # not about the call, but about the connection
                self._session = None
                watch.lost.set()
            raise

    async def _async_run(self) -> None:
        while True:
            self._watch = Watch()
            self._wanted.clear()
            self._attempt, self._next = self._next, self._hass.loop.create_future()
            try:
                async with async_connect(self._hass, self.config.address, self._changed.set, self._watch) as session:
                    await self._async_stay(session)
            except Exception as err:  # noqa: BLE001 - whatever a server does to the SDK, the next attempt may work
                _end_if_cancelled(err)
                if not isinstance(err, McpError):
                    LOGGER.debug("The MCP server %s made the library fail", self.config.title, exc_info=err)
                    err = McpUnreachableError(detail=type(err).__name__)
                await self._async_failed(err)
            finally:
                self._session = None
                self._async_decided()
            await self._async_rest(min(FIRST_DELAY * 2 ** max(self._failures - 1, 0), LONGEST_DELAY))

    async def _async_rest(self, seconds: float) -> None:
        """Wait until the next attempt; not when somebody wants to call a tool."""
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            pass

    async def _async_stay(self, session: Session) -> None:
        """List the tools, whenever they may have changed, until the connection is lost. Raises `McpError`."""
        while True:
            self._changed.clear()
            with _in_time():
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    self.tools = tuple(await session.async_list_tools())
            self._async_worked(session)
            for _ in range(REFRESH):
                await self._async_until_change()
                if self._watch.lost.is_set():
                    raise McpUnreachableError(detail="connection lost")
                if self._changed.is_set():
                    break
                with _in_time():
                    async with asyncio.timeout(CONNECT_TIMEOUT):
                        await session.async_check()

    async def _async_until_change(self) -> None:
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._changed, self._watch.lost)]
        try:
            await asyncio.wait(waiting, timeout=CHECK, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    @callback
    def _async_worked(self, session: Session) -> None:
        if self._session is None and self._failures:
            LOGGER.info("The MCP server %s answers again", self.config.title)
        if self._failures >= FAILURES:
            issues.async_mcp_server_recovered(self._hass, self.config.subentry_id)
        self._session, self._failures = session, 0
        self._async_decided()

    @callback
    def _async_decided(self) -> None:
        if not self._attempt.done():
            self._attempt.set_result(None)

    async def _async_failed(self, error: McpError) -> None:
        self._session, self._error = None, error
        self._failures += 1
        if self._failures == 1:
            LOGGER.warning("The tools of the MCP server %s are left out: %s", self.config.title, type(error).__name__)
        if self._failures == FAILURES:
            reason = await async_error_text(self._hass, self._hass.config.language, error)
            issues.async_mcp_server_failing(self._hass, self.config.subentry_id, self.config.title, reason)


def _end_if_cancelled(err: Exception) -> None:
    """Raise `CancelledError` when the task is to end: a request that was under way then may have put an error in its place."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from err


@contextmanager
def _in_time() -> Iterator[None]:
    """Tell a timeout as one of our errors."""
    try:
        yield
    except TimeoutError as err:
        raise McpUnreachableError(detail="timeout") from err
