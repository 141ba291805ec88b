"""What there is when nobody speaks, counted again and again, and what of it is left behind."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from custom_components.home_agent.local.sentences import MAX_REMEMBERED
from custom_components.home_agent.policy.journal import MAX_ACTIONS, MAX_KEPT
from custom_components.home_agent.transcript.conversations import MAX_CONVERSATIONS, MAX_MESSAGES

SIZE = 50  # entities
ALLOWED = SIZE + 10
"""How many more of a kind there may be: what the last turns have left in caches, some of which have one for each entity. A leak has one
per reload or turn."""
MAX_GROWTH = 10.0
"""Megabytes that the second half may add: 4 kB for each of 2,500 turns. What a model is asked in a turn has about 25 kB."""
_MESSAGES = MAX_CONVERSATIONS * MAX_MESSAGES
_AGENTS = 5
"""Each has the states that a model is told first; around midnight those of two days, until the sessions of the day before are over."""
KEPT = {
    "home.domain.Snapshot": MAX_KEPT, "policy.journal.JournalEntry": MAX_ACTIONS, "turn.plan.ServiceCall": MAX_KEPT,
    "transcript.conversations.Conversation": MAX_CONVERSATIONS, "turn.turn.Owner": MAX_CONVERSATIONS + MAX_ACTIONS,
    "transcript.conversations.StoredCall": _MESSAGES, "transcript.conversations.StoredMessage": _MESSAGES,
    "local.reading.Said": MAX_REMEMBERED, "transcript.turn_part.KnownState": 2 * _AGENTS * SIZE,
}  # fmt: skip
"""Classes of what is kept on purpose, in the journal, the stored history and what was said last, and the most there may be of each."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What there is when nobody speaks."""

    listeners: int
    timers: int
    tasks: int
    resident: int  # bytes
    objects: Counter[str]
    """Objects of our classes, by class."""

    def show(self) -> str:
        """Return the figures in one line."""
        return (
            f"{self.listeners} listeners, {self.timers} timers, {self.tasks} tasks, "
            f"{self.objects.total()} objects, {self.resident / 2**20:.1f} MB"
        )


def growth(counted: Sequence[Counts]) -> float:
    """Return the megabytes that the second half of what was counted has added; in the first the caches fill."""
    return (counted[-1].resident - counted[len(counted) // 2].resident) / 2**20


def left_behind(counted: Sequence[Counts]) -> dict[str, float]:
    """Return what there is too much of, and how much more than there was.

    What runs is compared with the beginning, what is kept with its limit. Other objects and memory are compared with the
    middle, since caches fill in the first half, and grow no more.
    """
    first, middle, last = counted[0], counted[len(counted) // 2], counted[-1]
    found: dict[str, float] = {
        name: getattr(last, name) - getattr(first, name) for name in ("listeners", "timers", "tasks")
    }
    found |= {name: count - KEPT.get(name, middle.objects[name]) for name, count in last.objects.items()}
    left = {name: more for name, more in found.items() if more > ALLOWED}
    return left | ({"megabytes": round(more, 1)} if (more := growth(counted)) > MAX_GROWTH else {})
