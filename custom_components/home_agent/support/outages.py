"""What may be away: one circuit breaker for everything that is asked, and what is built on it.

Whatever the error: the first failure in a row is one line in the log, the third is an outage of which the owner is told
with an issue, and the next success ends it. Nothing is disabled, the next request is tried again.
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
PAUSE = 20.0  # seconds after a failure in which a store or an embedding endpoint is not asked: nobody waits in vain
AT_ONCE = 2  # requests to one host


class CircuitBreaker:
    """Counts how often one service failed in a row, and says when that is news."""

    __slots__ = ("_logs", "failures", "name")

    def __init__(self, name: str, *, logs: bool = True) -> None:
        """Start as if all were well; `name` is what the log calls it. Without `logs` somebody else says what is wrong."""
        self.name = name
        self._logs = logs
        self.failures = 0
        """In a row."""

    def failed(self, reason: str) -> bool:
        """Note a failure and log the first; return whether this is the one at which the owner is told.

        `reason` has no words of the other side: they may be what somebody said.
        """
        self.failures += 1
        if self.failures == 1 and self._logs:
            LOGGER.warning("%s is unavailable: %s", self.name, reason)
        return self.failures == FAILURES_UNTIL_ISSUE

    def succeeded(self) -> bool:
        """Note a success; return whether it ends an outage of which the owner was told."""
        if not self.failures:
            return False
        LOGGER.info("%s is available again", self.name)
        told, self.failures = self.failures >= FAILURES_UNTIL_ISSUE, 0
        return told


class Outages:
    """Asks what must not cost an answer: an answer in time, or none."""

    def __init__(self) -> None:
        """Start as if all were well."""
        self._breakers: dict[str, CircuitBreaker] = {}

    async def async_answer[T](self, name: str, seconds: float, answer: Awaitable[T]) -> T | None:
        """Return the answer; None when it failed or was not there within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                found = await answer
        except TimeoutError:
            reason = f"no answer within {seconds:g} s"
        except Exception as err:  # noqa: BLE001 - one that fails must not cost the answer
            place = extract_tb(err.__traceback__)[-1]
            reason = f"{type(err).__name__} in {Path(place.filename).name}, line {place.lineno}"
        else:
            if self._breakers and (breaker := self._breakers.pop(name, None)):
                breaker.succeeded()
            return found
        self._breakers.setdefault(name, CircuitBreaker(name)).failed(reason)
        return None


STORE, EMBEDDING, COLLECTION = "store", "embedding", "collection"
"""What of retrieval the owner can be told of: the whole store, the embedding model, a collection that is not ours."""


class RetrievalBreaker(CircuitBreaker):
    """Of a store of documents or an embedding endpoint; after a failure every request fails at once for a while."""

    __slots__ = ("_part", "_paused_until", "_reporter", "ended", "last_error")

    def __init__(self, part: str, name: str, reporter: issues.RetrievalIssues, *, logs: bool = True) -> None:
        """Start as if all were well."""
        super().__init__(name, logs=logs)
        self.last_error: RetrievalError | None = None
        """None: the newest request was answered, or there was none yet."""
        self.ended = False
        """Whether it is used no longer: what is broken off at the end is no failure."""
        self._part = part
        self._reporter = reporter
        self._paused_until = 0.0

    @asynccontextmanager
    async def watched(self, *, now: bool = False) -> AsyncGenerator[None]:
        """Watch a request. Raises the error of the last one while that is not long ago, unless it has to be made `now`."""
        if (last := self.last_error) is not None and not now and time.monotonic() < self._paused_until:
            # Not the same error: raised twice, it would drag its first traceback along.
            raise type(last)(last.translation_key, **(last.translation_placeholders or {}))
        try:
            yield
        except RetrievalError as err:
            if not isinstance(err, StoreRefusedError):
                await self._async_failed(err)
                raise
            self._async_worked()  # it answers
            raise
        self._async_worked()

    def _async_worked(self) -> None:
        self.last_error = None
        if self.succeeded():
            self._reporter.async_recovered(self._part)

    async def _async_failed(self, error: RetrievalError) -> None:
        if self.ended:
            return
        self.last_error = error
        self._paused_until = time.monotonic() + PAUSE
        if self.failed(str(error.translation_key)):
            await self._reporter.async_failing(self._part, self.name, error)


@dataclass(slots=True)
class _Host:
    breaker: CircuitBreaker
    free: asyncio.Semaphore
    next_start: float = 0.0
    """Time of the loop before which no request begins."""


class Hosts:
    """The computers that tools ask: not too many requests at once, not too often."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start without any."""
        self._hass = hass
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, name: str, *, interval: float, patience: float) -> AsyncGenerator[None]:
        """Wait until a request may begin; `interval` is in seconds, from the beginning of one to that of the next.

        Raises `ToolRefusal` when that is more than `patience` seconds away.
        """
        host = self._host(name)
        async with host.free:
            now = self._hass.loop.time()
            starts = max(now, host.next_start)
            if starts - now > patience:
                raise ToolRefusal(f"{name} may be asked again in {math.ceil(starts - now)} seconds, not before.")
            host.next_start = starts + interval
            await asyncio.sleep(starts - now)
            yield

    @callback
    def async_failed(self, name: str, tool: str, reason: str) -> None:
        """Note that a host failed while a tool asked it."""
        if self._host(name).breaker.failed(reason):
            issues.async_set(self._hass, issues.SERVICE_FAILING, name, host=name, tool=tool)

    @callback
    def async_worked(self, name: str) -> None:
        """Note that a host answered."""
        if self._host(name).breaker.succeeded():
            issues.async_set(self._hass, issues.SERVICE_FAILING, name, False)

    def _host(self, name: str) -> _Host:
        if (host := self._hosts.get(name)) is None:
            host = self._hosts[name] = _Host(CircuitBreaker(name), asyncio.Semaphore(AT_ONCE))
        return host
