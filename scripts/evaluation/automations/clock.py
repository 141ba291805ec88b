"""Time that jumps: from one thing that is due in a Home Assistant to the next, each at its own moment, however far apart they are."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
import time
from typing import Any, override

import freezegun
from freezegun.api import StepTickTimeFactory
from homeassistant.util.async_ import get_scheduled_timer_handles
from pytest_homeassistant_custom_component import patch_time

MAX_PASSES = 5_000
"""Of the loop at one moment: what is not at rest then never is."""
_MICRO = 1_000_000
_RESOLUTION = time.get_clock_info("monotonic").resolution


class RanAwayError(Exception):
    """What happens at one moment has no end."""


class ClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is real until it is held; then it is what it is set to."""

    held: Callable[[], float] | None = None
    """What its time is while it is held."""
    _ahead = 0.0
    _jobs: set[asyncio.Future[Any]]

    @override
    def time(self) -> float:
        return float(freezegun.api.real_monotonic()) + self._ahead if self.held is None else self.held()

    def release(self) -> None:
        """Go on from where it is held."""
        if self.held is not None:
            self._ahead, self.held = self.held() - float(freezegun.api.real_monotonic()), None

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
            self.held, self._ahead = None, 0.0

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
def frozen(moment: datetime) -> Iterator[StepTickTimeFactory]:
    """Return the clock, which stands at a moment but for a microsecond each time that it is looked at: what follows is later."""
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
    with freezegun.freeze_time(moment, auto_tick_seconds=1 / _MICRO, real_asyncio=True) as clock:
        assert isinstance(clock, StepTickTimeFactory)
        yield clock


class Clock:
    """The time of day and that of the loop, which go on together. They do so by `async_until` alone."""

    def __init__(self, day: StepTickTimeFactory, loop: ClockLoop) -> None:
        """Hold the loop's time to that of the day."""
        self._day, self._loop = day, loop
        self._held_at, self._began = loop.time(), self._micros
        loop.held = self._loop_time

    def release(self) -> None:
        """Let the loop's time go on by itself."""
        self._loop.release()

    @property
    def now(self) -> datetime:
        """The moment it is, in UTC."""
        return self._day.time_to_freeze.replace(tzinfo=UTC)

    @property
    def _micros(self) -> int:
        return _micros(self.now)

    def _loop_time(self) -> float:
        return self._held_at + (self._micros - self._began) / _MICRO

    async def async_until(self, moment: datetime, after_each: Callable[[], None] = lambda: None) -> None:
        """Let everything happen that is due before a moment, and be there; `after_each` is called when all is at rest again.

        Raises `RanAwayError`.
        """
        end = _micros(moment)
        while (due := self._next()) is not None and due < end:
            await self._async_go(due)
            after_each()
        await self._async_go(end)
        after_each()

    def _next(self) -> int | None:
        if (when := self._loop.next_due()) is None:
            return None
        return self._began - int(-(when - self._held_at) * _MICRO // 1)  # not before it is due

    async def _async_go(self, micros: int) -> None:
        self._day.tick(timedelta(microseconds=max(0, micros - self._micros)))
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
        """Return whether the loop takes a timer for due, as it reckons it itself."""
        return (when := self._loop.next_due()) is not None and when < self._loop.time() + _RESOLUTION


def _micros(moment: datetime) -> int:
    return round(moment.timestamp() * _MICRO)
