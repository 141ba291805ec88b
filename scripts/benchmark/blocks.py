"""The longest time for which one callback held the event loop."""

from asyncio.events import Handle
from collections.abc import Callable, Generator
from contextlib import contextmanager
import gc
from time import monotonic_ns, thread_time_ns


class LongestBlock:
    """The longest time that one callback held the event loop."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.wall_ns = 0
        self.cpu_ns = 0
        """CPU time of the loop's thread without garbage collection: what neither a busy machine nor the heap disturbs."""
        self.collecting_ns = 0
        """CPU time of garbage collections since the start; they walk all of Home Assistant, whoever triggers them."""
        self._collection_started = 0

    def timed(self, run: Callable[[Handle], None], handle: Handle) -> None:
        """Run one callback of the loop."""
        cpu, collecting, wall = thread_time_ns(), self.collecting_ns, monotonic_ns()
        run(handle)
        self.wall_ns = max(self.wall_ns, monotonic_ns() - wall)
        self.cpu_ns = max(self.cpu_ns, thread_time_ns() - cpu - (self.collecting_ns - collecting))

    def collected(self, phase: str, info: dict[str, int]) -> None:
        """Count a garbage collection."""
        if phase == "start":
            self._collection_started = thread_time_ns()
        else:
            self.collecting_ns += thread_time_ns() - self._collection_started


@contextmanager
def longest_block() -> Generator[LongestBlock]:
    """Time every callback of the event loop."""
    block = LongestBlock()
    run = Handle._run  # noqa: SLF001 - the one place that every callback passes

    def timed(self: Handle) -> None:
        block.timed(run, self)

    Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
    gc.callbacks.append(block.collected)
    try:
        yield block
    finally:
        gc.callbacks.remove(block.collected)
        Handle._run = run  # type: ignore[method-assign]  # noqa: SLF001
