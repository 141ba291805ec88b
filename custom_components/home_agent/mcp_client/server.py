"""One server: connected in the background, for as long as the entry is loaded."""

import asyncio
from collections.abc import Mapping
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
REFRESH = 300.0  # seconds until the tools are listed again: most servers do not say when they change
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
        entry.async_create_background_task(self._hass, self._async_run(), f"home_agent mcp {self.config.subentry_id}")

    def usable(self) -> list[RemoteTool]:
        """Return the tools that may be called: those said to only read, and those the owner names."""
        return [tool for tool in self.tools if tool.read_only or tool.name in self.config.allowed]

    async def async_call(self, name: str, arguments: Mapping[str, Any]) -> tuple[list[Any], object, bool]:
        """Call a tool; see `Session.async_call`. Raises `McpError`."""
        async with self._free:
            if self._session is None:
                raise McpUnreachableError(detail="not connected")
            watch = self._watch
            try:
                return await self._session.async_call(name, arguments)
            except McpError:
                if watch.status or watch.failure:  # not about the call, but about the connection
                    watch.lost.set()
                raise

    async def _async_run(self) -> None:
        while True:
            self._watch = Watch()
            try:
                async with async_connect(self._hass, self.config.address, self._changed.set, self._watch) as session:
                    await self._async_stay(session)
            except McpError as err:
                await self._async_failed(err)
            except Exception as err:  # noqa: BLE001 - whatever a server does to the SDK, the next attempt may work
                LOGGER.debug("The MCP server %s made the library fail", self.config.title, exc_info=err)
                await self._async_failed(McpUnreachableError(detail=type(err).__name__))
            finally:
                self._session = None
            await asyncio.sleep(min(FIRST_DELAY * 2 ** max(self._failures - 1, 0), LONGEST_DELAY))

    async def _async_stay(self, session: Session) -> None:
        """List the tools, whenever they may have changed, until the connection is lost. Raises `McpError`."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    self.tools = tuple(await session.async_list_tools())
            except TimeoutError as err:
                raise McpUnreachableError(detail="timeout") from err
            self._async_worked(session)
            await self._async_until_change()
            if self._watch.lost.is_set():
                raise McpUnreachableError(detail="connection lost")

    async def _async_until_change(self) -> None:
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._changed, self._watch.lost)]
        try:
            await asyncio.wait(waiting, timeout=REFRESH, return_when=asyncio.FIRST_COMPLETED)
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

    async def _async_failed(self, error: McpError) -> None:
        self._session = None
        self._failures += 1
        if self._failures == 1:
            LOGGER.warning("The tools of the MCP server %s are left out: %s", self.config.title, type(error).__name__)
        if self._failures == FAILURES:
            reason = await async_error_text(self._hass, self._hass.config.language, error)
            issues.async_mcp_server_failing(self._hass, self.config.subentry_id, self.config.title, reason)
