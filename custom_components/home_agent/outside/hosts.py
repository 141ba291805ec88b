"""How other computers are treated: not too many requests at once, not too often, and a word to the owner when one fails."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
import math

from homeassistant.core import HomeAssistant, callback

from .. import issues
from ..safety.tool import ToolRefusal

AT_ONCE = 2  # requests to one host (C-2)
FAILURES = 3  # in a row, until the owner is told (C-4)


@dataclass(slots=True)
class _Host:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    next_start: float = 0.0
    """Time of the loop before which no request begins."""
    failures: int = 0


class Hosts:
    """What is known about the hosts that tools talk to."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start without any."""
        self._hass = hass
        self._hosts: defaultdict[str, _Host] = defaultdict(_Host)

    @asynccontextmanager
    async def turn(self, name: str, *, interval: float, patience: float) -> AsyncGenerator[None]:
        """Wait until a request may begin; `interval` is in seconds, from the beginning of one to that of the next.

        Raises `ToolRefusal` when that is more than `patience` seconds away.
        """
        host = self._hosts[name]
        async with host.free:
            now = self._hass.loop.time()
            starts = max(now, host.next_start)
            if starts - now > patience:
                raise ToolRefusal(f"{name} may be asked again in {math.ceil(starts - now)} seconds, not before.")
            host.next_start = starts + interval
            await asyncio.sleep(starts - now)
            yield

    @callback
    def async_failed(self, name: str, tool: str) -> None:
        """Note that a host failed."""
        host = self._hosts[name]
        host.failures += 1
        if host.failures == FAILURES:
            issues.async_service_failing(self._hass, name, tool)

    @callback
    def async_worked(self, name: str) -> None:
        """Note that a host answered."""
        host = self._hosts[name]
        if host.failures >= FAILURES:
            issues.async_service_recovered(self._hass, name)
        host.failures = 0
