"""Outages of servers: one circuit breaker for all of them, and what is built on it.

For any error, the first failure in a row is one line in the log, the third is an outage with an issue in Repairs, and the next
success ends it. Nothing is disabled: the next request is made as usual (docs/decisions/0017-one-circuit-breaker.md).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
import math
from pathlib import Path
import time
from traceback import extract_tb

from homeassistant.core import HomeAssistant, callback

from . import issues
from .const import LOGGER
from .errors import RetrievalError, StoreRefusedError, ToolRefusal

FAILURES_UNTIL_ISSUE = 3  # in a row
PAUSE = 20.0  # seconds after a failure in which a store or an embedding endpoint is not asked, to save the wait
AT_ONCE = 2  # requests to one host


class CircuitBreaker:
    """Counts the failures of one service in a row, and tells when to report them."""

    __slots__ = ("_logs", "failures", "name")

    def __init__(self, name: str, *, logs: bool = True) -> None:
        """Start without failures; `name` is for the log. Without `logs` the caller reports failures."""
        self.name = name
        self._logs = logs
        self.failures = 0
        """In a row."""

    def failed(self, reason: str) -> bool:
        """Count a failure and log the first; return whether to raise an issue. `reason` must not hold words of the server."""
        self.failures += 1
        if self.failures == 1 and self._logs:
            LOGGER.warning("%s is unavailable: %s", self.name, reason)
        return self.failures == FAILURES_UNTIL_ISSUE

    def succeeded(self) -> bool:
        """Reset the count; return whether that ends an outage with an issue."""
        if not self.failures:
            return False
        LOGGER.info("%s is available again", self.name)
        told, self.failures = self.failures >= FAILURES_UNTIL_ISSUE, 0
        return told


class Outages:
    """Awaits parts of a prompt that may fail or be late without costing the turn."""

    def __init__(self) -> None:
        """Start without failures."""
        self._breakers: dict[str, CircuitBreaker] = {}

    async def async_answer[T](self, name: str, seconds: float, answer: Awaitable[T]) -> T | None:
        """Return the answer; None if it fails or takes longer than `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                found = await answer
        except TimeoutError:
            reason = f"no answer within {seconds:g} s"
        except Exception as err:  # noqa: BLE001 - a part that fails, also one of another integration, is left out
            place = extract_tb(err.__traceback__)[-1]
            reason = f"{type(err).__name__} in {Path(place.filename).name}, line {place.lineno}"
        else:
            if self._breakers and (breaker := self._breakers.pop(name, None)):
                breaker.succeeded()
            return found
        self._breakers.setdefault(name, CircuitBreaker(name)).failed(reason)
        return None


STORE, EMBEDDING, COLLECTION = "store", "embedding", "collection"
"""Retrieval components that can raise an issue; a collection does if another program wrote it."""


class RetrievalBreaker(CircuitBreaker):
    """Circuit breaker of a store or an embedding endpoint; after a failure, requests fail at once for `PAUSE`."""

    __slots__ = ("_part", "_paused_until", "_reporter", "ended", "last_error")

    def __init__(self, part: str, name: str, reporter: issues.RetrievalIssues, *, logs: bool = True) -> None:
        """Start without failures."""
        super().__init__(name, logs=logs)
        self.last_error: RetrievalError | None = None
        """Error of the newest request; None if it was answered."""
        self.ended = False
        """Whether it is closed: requests that are cancelled by that are no failures."""
        self._part = part
        self._reporter = reporter
        self._paused_until = 0.0

    @asynccontextmanager
    async def watched(self, *, now: bool = False) -> AsyncGenerator[None]:
        """Watch a request. Raises the last error again during the pause, unless the request is made `now`."""
        if (last := self.last_error) is not None and not now and time.monotonic() < self._paused_until:
            # A new object: raised twice, the same one would keep its first traceback.
            raise type(last)(last.translation_key, **(last.translation_placeholders or {}))
        try:
            yield
        except StoreRefusedError:
            self._async_worked()  # it answers
            raise
        except RetrievalError as err:
            if not self.ended:
                self.last_error = err
                self._paused_until = time.monotonic() + PAUSE
                if self.failed(str(err.translation_key)):
                    await self._reporter.async_failing(self._part, self.name, err)
            raise
        self._async_worked()

    def _async_worked(self) -> None:
        self.last_error = None
        if self.succeeded():
            self._reporter.async_recovered(self._part)


@dataclass(slots=True)
class _Host:
    breaker: CircuitBreaker
    free: asyncio.Semaphore
    next_start: float = 0.0
    """Loop time before which no request starts."""


class Hosts:
    """Limits requests of tools to each host: how many at once, how often."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start without hosts."""
        self._hass = hass
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, name: str, *, interval: float, patience: float) -> AsyncGenerator[None]:
        """Wait until a request may start, `interval` seconds after the last. Raises `ToolRefusal` above `patience` seconds."""
        host = self._host(name)
        async with host.free:
            now = self._hass.loop.time()
            starts = max(now, host.next_start)
            if starts - now > patience:
                raise ToolRefusal(f"{name} can be asked again in {math.ceil(starts - now)} seconds.")
            host.next_start = starts + interval
            await asyncio.sleep(starts - now)
            yield

    @callback
    def async_failed(self, name: str, tool: str, reason: str) -> None:
        """Count a failure of a host, at a request of a tool."""
        if self._host(name).breaker.failed(reason):
            issues.async_set(self._hass, issues.SERVICE_FAILING, name, host=name, tool=tool)

    @callback
    def async_worked(self, name: str) -> None:
        """Reset the failures of a host that answered."""
        if self._host(name).breaker.succeeded():
            issues.async_set(self._hass, issues.SERVICE_FAILING, name, False)

    def _host(self, name: str) -> _Host:
        if (host := self._hosts.get(name)) is None:
            host = self._hosts[name] = _Host(CircuitBreaker(name), asyncio.Semaphore(AT_ONCE))
        return host
