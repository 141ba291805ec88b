"""How many requests one server answers at once; the others wait in the order in which they came, what no person waits for last."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from homeassistant.core import HomeAssistant, callback
from homeassistant.util.hass_dict import HassKey
from yarl import URL

from ..support.const import DOMAIN

AT_ONCE = 4  # requests to a server at home
AT_ONCE_REMOTE = 16


class Capacity:
    """The places of one server."""

    def __init__(self, most: int) -> None:
        """Start with `most` free places."""
        self._free = most
        self._people: deque[asyncio.Future[None]] = deque()
        self._background: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def place(self, *, background: bool = False) -> AsyncGenerator[None]:
        """Wait for a place, and hold it; in the `background`, behind all that people wait for, and never the last one."""
        await self._async_take(background=background)
        try:
            yield
        finally:
            self._free += 1
            self._wake()

    async def _async_take(self, *, background: bool) -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._background if background else self._people).append(waiting)
        self._wake()
        try:
            await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled():  # it was given a place at the same moment
                self._free += 1
            waiting.cancel()
            self._wake()
            raise

    @callback
    def _wake(self) -> None:
        """Give free places to those who wait."""
        for queue, left in ((self._people, 0), (self._background, 1)):
            while queue and (queue[0].done() or self._free > left):
                if not (waiting := queue.popleft()).done():
                    self._free -= 1
                    waiting.set_result(None)


_SERVERS: HassKey[dict[tuple[str, bool], Capacity]] = HassKey(f"{DOMAIN}_capacity")


@callback
def capacity_of(hass: HomeAssistant, url: str, *, remote: bool) -> Capacity:
    """Return the places of the server at an address, which all its models share."""
    servers = hass.data.setdefault(_SERVERS, {})
    key = (str(URL(url).origin()), remote)
    if key not in servers:
        servers[key] = Capacity(AT_ONCE_REMOTE if remote else AT_ONCE)
    return servers[key]
