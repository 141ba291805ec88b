"""Bounds for work and bodies of any size: the event loop stays free, and data from outside cannot fill the memory."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Hashable, Iterable
import math
import time
from typing import Any

import probatio

SLICE = 0.002  # seconds of work before the event loop gets its turn


def as_float(value: Any) -> float:
    """Return a number in a schema as a float. Raises `probatio.Invalid`, also if it is too large."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as err:
        raise probatio.Invalid("expected a number") from err


async def in_slices[T](items: Iterable[T]) -> AsyncIterator[T]:
    """Yield the items; let the event loop run each time `SLICE` is used up."""
    deadline = time.perf_counter() + SLICE
    for item in items:
        yield item
        if time.perf_counter() > deadline:
            await asyncio.sleep(0)
            deadline = time.perf_counter() + SLICE


def without_surplus[T](
    items: Iterable[T], most: int, whose: Callable[[T], Hashable], size: Callable[[T], int]
) -> list[T]:
    """Return items, oldest first, without the oldest ones above a total size of `most`; the newest stays.

    Each is taken from the owner with the most by then, so that one owner cannot displace another's items.
    """
    kept = dict(enumerate(items))
    total: Counter[Hashable] = Counter()
    places: dict[Hashable, deque[int]] = {}
    for place, item in kept.items():
        total[owner := whose(item)] += size(item)
        places.setdefault(owner, deque()).append(place)
    while total.total() > most and len(kept) > 1:
        (owner, _), *others = total.most_common(2)
        if places[owner][0] == next(reversed(kept)):
            if not others:
                break
            owner = others[0][0]
        place = places[owner].popleft()
        total[owner] -= size(kept.pop(place))
        if not places[owner]:
            del total[owner]
    return list(kept.values())


class BodyTooLong(Exception):
    """A body exceeds its bytes or seconds."""


async def bounded(
    chunks: AsyncIterable[bytes], most: int, seconds: float = math.inf, *, renewed: bool = False
) -> AsyncGenerator[bytes]:
    """Yield a body as it arrives: at most `most` bytes, for at most `seconds`.

    Raises `BodyTooLong` after the last allowed byte. With `renewed`, for a stream that stays open, counting starts again
    each time the seconds are over.
    """
    left, ends = most, time.monotonic() + seconds
    async for chunk in chunks:
        if (now := time.monotonic()) > ends:
            if not renewed:
                raise BodyTooLong
            left, ends = most, now + seconds
        if len(chunk) > left:
            yield chunk[:left]
            raise BodyTooLong
        left -= len(chunk)
        yield chunk


def stream_of(kind: type, chunks: AsyncIterator[bytes], aclose: Callable[[], Awaitable[None]]) -> Any:
    """Return a body as a stream of class `kind`, for an HTTP library that accepts only its own."""
    members = {"__aiter__": lambda _self: chunks, "aclose": lambda _self: aclose()}
    return type("BoundedStream", (kind,), members)()
