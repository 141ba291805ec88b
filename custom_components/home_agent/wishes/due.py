"""That a wish is due: how late, why, and whether it is over afterwards."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class DueReason(StrEnum):
    """Why a wish is due, or why it will never be."""

    TIME = "time"
    EVENT = "event"
    MISSED = "missed"
    """Its time has passed, while Home Assistant was off or its clock was wrong."""
    INTERRUPTED = "interrupted"
    """It was begun when Home Assistant stopped: it is not known how far it came."""
    ASKED = "asked"
    """Its user was asked before Home Assistant stopped, and has not answered."""
    EXPIRED = "expired"
    """What it waited for has not happened in time."""
    GONE = "gone"
    """Its agent was deleted, or entities that it cannot be done without were removed."""
    UNMET = "unmet"
    """A condition is not met."""
    UNKNOWN = "unknown"
    """It is not known whether a condition is met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """How a wish came to be due."""

    late: timedelta = timedelta()
    """How long after its time."""
    reason: DueReason = DueReason.TIME
    of: tuple[str, ...] = ()
    """The entities of which it became so, that are not so, or that were removed. A wish that is gone without any has lost its agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stays:
    """What comes back of a wish that stays, as its user was asked."""
