"""Long work on the event loop, in pieces short enough that nobody waits for it."""

import asyncio
from collections.abc import AsyncIterator, Iterable
import time

SLICE = 0.002  # seconds of work before the event loop gets its turn


async def in_slices[T](items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items, letting the event loop run whenever `SLICE` is used up."""
    deadline = time.perf_counter() + SLICE
    for item in items:
        yield item
        if time.perf_counter() > deadline:
            await asyncio.sleep(0)
            deadline = time.perf_counter() + SLICE
