"""Time that jumps: from one thing that is due in a Home Assistant to the next, each at its own moment, however far apart they are."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, override

import freezegun
from freezegun.api import FrozenDateTimeFactory
from homeassistant.util.async_ import get_scheduled_timer_handles
from pytest_homeassistant_custom_component import patch_time

MAX_PASSES = 5_000
"""Of the loop at one moment: what is not at rest then never is."""
_MICRO = 1_000_000


class RanAwayError(Exception):
    """What happens at one moment has no end."""


class ClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is real until it is held; then it is what it is set to."""

    held: float | None = None
    _ahead = 0.0
    _jobs: set[asyncio.Future[Any]]

    @override
    def time(self) -> float:
        return float(freezegun.api.real_monotonic()) + self._ahead if self.held is None else self.held

    def release(self) -> None:
        """Go on from where it is held."""
        if self.held is not None:
            self._ahead, self.held = self.held - float(freezegun.api.real_monotonic()), None

    @override
    def run_in_executor[*Args, T](self, executor: Any, func: Callable[[*Args], T], *args: *Args) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self.jobs.add(future)
        future.add_done_callback(self.jobs.discard)
        return future

    @asynccontextmanager
    async def cleared(self) -> AsyncIterator[None]:
        """Leave no timers behind: the next home would have to play them, too."""
        try:
            yield
        finally:
            for handle in get_scheduled_timer_handles(self):
                handle.cancel()

    @property
    def jobs(self) -> set[asyncio.Future[Any]]:
        """What threads are busy with."""
        if not hasattr(self, "_jobs"):
            self._jobs = set()
        return self._jobs

    @property
    def is_idle(self) -> bool:
        """Return whether nothing but who asks is ready to go on."""
        return not self._ready  # type: ignore[attr-defined]

    def next_due(self) -> float | None:
        """Return when the next timer is due."""
        return min(
            (handle.when() for handle in get_scheduled_timer_handles(self) if not handle.cancelled()), default=None
        )


@contextmanager
def frozen(moment: datetime) -> Iterator[FrozenDateTimeFactory]:
    """Return the clock, which stands at a moment."""
    for name, value in (
        ("FakeDate", patch_time.HAFakeDate),
        ("FakeDatetime", patch_time.HAFakeDatetime),
        ("datetime_to_fakedatetime", patch_time.ha_datetime_to_fakedatetime),
        ("_get_module_attributes", patch_time.ha_get_module_attributes),
        ("_get_module_attributes_hash", patch_time.ha_get_module_attributes_hash),
        ("_should_use_real_time", patch_time.ha_should_use_real_time),
        ("get_current_time", patch_time.ha_get_current_time),
    ):
        setattr(freezegun.api, name, value)
    with freezegun.freeze_time(moment, real_asyncio=True) as clock:
        assert isinstance(clock, FrozenDateTimeFactory)
        yield clock


class Clock:
    """The time of day and that of the loop, which go on together. They do so by `async_until` alone."""

    def __init__(self, day: FrozenDateTimeFactory, loop: ClockLoop) -> None:
        """Hold the loop's time."""
        self._day, self._loop = day, loop
        loop.held = self._held_at = loop.time()
        self._began = _micros(day.time_to_freeze.replace(tzinfo=UTC))
        self._passed = 0  # microseconds

    def release(self) -> None:
        """Let the loop's time go on by itself."""
        self._loop.release()

    @property
    def now(self) -> datetime:
        """The moment it is, in UTC."""
        return datetime.fromtimestamp((self._began + self._passed) / _MICRO, UTC)

    async def async_until(self, moment: datetime, after_each: Callable[[], None] = lambda: None) -> None:
        """Let everything happen that is due before a moment, and be there; `after_each` is called when all is at rest again.

        Raises `RanAwayError`.
        """
        end = _micros(moment) - self._began
        while (due := self._next()) is not None and due < end:
            await self._async_go(due)
            after_each()
        await self._async_go(end)
        after_each()

    def _next(self) -> int | None:
        if (when := self._loop.next_due()) is None:
            return None
        exact = (when - self._held_at) * _MICRO
        return max(self._passed, -int(-exact // 1))  # not before it is due

    async def _async_go(self, passed: int) -> None:
        self._day.tick(timedelta(microseconds=passed - self._passed))
        self._passed = passed
        self._loop.held = self._held_at + (passed + 0.01) / _MICRO
        await self.async_settle()

    async def async_settle(self) -> None:
        """Let everything happen that can happen now. Raises `RanAwayError`."""
        loop = self._loop
        for _ in range(MAX_PASSES):
            await asyncio.sleep(0)
            if loop.jobs:
                await asyncio.wait(loop.jobs)
            elif loop.is_idle and not self._is_due():
                return
        raise RanAwayError

    def _is_due(self) -> bool:
        return (when := self._loop.next_due()) is not None and when <= self._loop.time()


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * _MICRO)
