"""Wake-ups that were told and that no one has answered yet: they are told again, some times."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from homeassistant.core import HomeAssistant, callback

from ..turn.turn import Turn
from ..wishes.wish import Wish

TIMES, PAUSE = 3, 300.0
"""How often a wake-up is told, and the seconds between."""
MOST = 50


class Wakes:
    """The wake-ups that are told again until they are heard; owned by the entry."""

    def __init__(self) -> None:
        """Start without any."""
        self._waiting: dict[str, tuple[Wish, asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @callback
    def async_keep_on(
        self,
        hass: HomeAssistant,
        wish: Wish,
        tell: Callable[[], Awaitable[None]],
        end: Callable[[], Awaitable[None]],
    ) -> None:
        """Tell a wake-up, and again after some minutes unless it is heard; then `end`."""
        if len(self._waiting) >= MOST:
            self.async_dismiss(next(iter(self._waiting)))
        heard = asyncio.Event()
        self._waiting[wish.id] = wish, heard
        task = hass.async_create_background_task(self._async_keep_on(wish, heard, tell, end), "home_agent wake-up")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _async_keep_on(
        self,
        wish: Wish,
        heard: asyncio.Event,
        tell: Callable[[], Awaitable[None]],
        end: Callable[[], Awaitable[None]],
    ) -> None:
        try:
            for _ in range(TIMES):
                await tell()
                with suppress(TimeoutError):
                    async with asyncio.timeout(PAUSE):
                        await heard.wait()
                        break
        finally:
            self._waiting.pop(wish.id, None)
        await end()

    @callback
    def async_heard(self, turn: Turn) -> None:
        """Take note that a person says something: their wake-ups, and those of their satellite, were heard."""
        if not turn.direct:
            return
        for wish, heard in self._waiting.values():
            places = (turn.device_id, wish.device_id), (turn.satellite_id, wish.satellite_id)
            pairs = ((turn.context.user_id, wish.user_id), *places)
            if any(one is not None and one == other for one, other in pairs):
                heard.set()

    @callback
    def async_dismiss(self, wish_id: str) -> None:
        """Take note that a wake-up was heard."""
        if (found := self._waiting.get(wish_id)) is not None:
            found[1].set()

    @callback
    def async_stop(self) -> None:
        """Leave off; what was not heard is told once more at the next start."""
        for task in [*self._tasks]:
            task.cancel()
