"""Arithmetic on the history of one entity. Pure: points in, numbers out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
import math

RESET_DROP = 0.9  # a meter that falls below this share of its last value started anew; Home Assistant's own rule


@dataclass(frozen=True, slots=True)
class Point:
    """What an entity was from a moment on."""

    at: float
    """Seconds since the epoch."""
    state: str
    """Empty for a gap: unknown, unavailable, not recorded."""

    @property
    def value(self) -> float | None:
        """The state as a number, None when it is none."""
        try:
            number = float(self.state)
        except ValueError:
            return None
        return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Span:
    """A state and how long it held."""

    point: Point
    seconds: float


def spans(points: Sequence[Point], end: float) -> Iterator[Span]:
    """Yield each state with how long it held until the next one or the end."""
    for point, follower in pairwise([*points, Point(end, "")]):
        if follower.at > point.at:
            yield Span(point, follower.at - point.at)


def is_numeric(points: Iterable[Point]) -> bool:
    """Return whether every state that was known is a number, and there is one."""
    known = [point for point in points if point.state]
    return bool(known) and all(point.value is not None for point in known)


def average(points: Sequence[Point], end: float) -> float | None:
    """Return the time-weighted average; gaps do not count. None without any value."""
    weighed = [(span.point.value, span.seconds) for span in spans(points, end) if span.point.value is not None]
    seconds = sum(weight for _, weight in weighed)
    return sum(value * weight for value, weight in weighed if value is not None) / seconds if seconds else None


def values(points: Iterable[Point]) -> list[float]:
    """Return the numbers among the states."""
    return [value for point in points if (value := point.value) is not None]


def changes(points: Sequence[Point]) -> int:
    """Return how often the state changed; gaps are skipped, coming back unchanged is no change."""
    known = [point.state for point in points if point.state]
    return sum(before != after for before, after in pairwise(known))


def growth(points: Iterable[Point], *, resets: bool) -> float | None:
    """Return by how much a meter grew; None without any value.

    With `resets` (a meter that only rises) a drop to less than 0.9 of its value counts as a start at zero.
    """
    numbers = values(points)
    total = 0.0
    for before, after in pairwise(numbers):
        total += after if resets and after < before * RESET_DROP else after - before
    return total if numbers else None


def time_in_states(points: Sequence[Point], end: float) -> dict[str, float]:
    """Return the seconds in each state, the longest first."""
    seconds: dict[str, float] = {}
    for span in spans(points, end):
        if span.point.state:
            seconds[span.point.state] = seconds.get(span.point.state, 0) + span.seconds
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def thinned(points: Sequence[Point], count: int) -> list[Point]:
    """Return at most `count` of the points: the last one of each of `count` equal stretches of time."""
    if len(points) <= count:
        return list(points)
    start, width = points[0].at, (points[-1].at - points[0].at) / count
    last_of = {min(int((point.at - start) / width) if width else 0, count - 1): point for point in points}
    return list(last_of.values())
