"""How much of what was found is worth telling a model: it pays for every line."""

from collections.abc import Sequence

from .base import Found

CLOSE = 0.7
"""Share of the best score from which on an entity fits about as well as the best one: all of these are told."""
FEW = 6
"""So many are told even when they fit less well: what was meant may have been said badly."""
LEAST = 0.35
"""Share of the best score below which nothing is told."""


def relevant(found: Sequence[Found]) -> list[Found]:
    """Return what to tell of what was found, best first: groups as a whole, all that fits as well as the best, and a few more.

    Measured with `scripts/eval`: a fourth of the lines in a home of a thousand entities, and the right ones among them.
    """
    best = max((item.score for item in found), default=0.0)
    return [item for rank, item in enumerate(found) if item.score >= best * (CLOSE if rank >= FEW else LEAST)]
