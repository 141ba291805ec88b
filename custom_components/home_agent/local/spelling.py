"""Slips of the pen: whether a word that is known nowhere is another one, mistyped.

A word for what is done, a kind or a room is one of a few hundred, and what is near it is it. A name is anything, so less is near it:
the shorter it is, the less. The first letter is always right, and what ends a word may be another form of it, or another name.
"""

from collections.abc import Collection, Iterable
from enum import IntEnum

LONG = 5
"""Letters of a word that can be mistyped and still be known."""


_ALIKE = ("aeiouy", "bp", "dt", "cgkq", "csz", "fvw", "mn")
"""Letters that are written for one another since they sound alike: of others a word is made, "protector" of "projector"."""


class _Edit(IntEnum):
    """What may be wrong in a name, with the letters that it has to have."""

    DOUBLED = 4
    SWAPPED = 5
    INNER = 8
    TWICE = 14


def is_slip(word: str, other: str, *, shortest: int = LONG) -> bool:
    """Return whether a word is another with one slip of the pen: two letters changed places, one left out or too many."""
    if word[0] != other[0] or abs(len(word) - len(other)) > 1 or word == other:
        return False
    wrong, right, _ = _difference(word, other)
    if len(word) == len(other):
        return len(wrong) == 2 and wrong == right[::-1]
    return max(len(word), len(other)) >= shortest and len(wrong) + len(right) == 1


def differs_by_one(word: str, other: str) -> bool:
    """Return whether one letter of a long word is another one."""
    if len(word) != len(other) or len(word) <= LONG or word[0] != other[0]:
        return False
    return len(_difference(word, other)[0]) == 1


def meant_of(word: str, names: Iterable[str], others: Collection[str]) -> str:
    """Return the one name that a word is a slip of the pen of; "" where it is none, or as well another word.

    `others` are words that are no names. Names that are forms of one another are one: the nearest is returned.
    """
    near = sorted((edits, name) for name in names if (edits := _edits(word, name)))
    if not near or any(is_slip(word, other) or _edits(word, other) for other in others):
        return ""
    nearest = near[0][1]
    return nearest if all(_are_alike(nearest, name) for _, name in near) else ""


def _are_alike(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _edits(word: str, name: str) -> int:
    """Return how many letters of a name are mistyped, where it is still that name: 1 or 2; 0 for any other word and for the name."""
    least = min(len(word), len(name))
    if least < _Edit.DOUBLED or word[0] != name[0] or abs(len(word) - len(name)) > 2 or word == name:
        return 0
    wrong, right, at = _difference(word, name)
    ends = at + max(len(wrong), len(right)) == max(len(word), len(name))
    if len(wrong) + len(right) == 1:
        if (wrong or right) == word[at - 1]:
            return 1
        return int(least >= _Edit.INNER and not ends)
    if len(wrong) == len(right) == 2 and wrong == right[::-1]:
        return int(least >= _Edit.SWAPPED)
    if len(wrong) == len(right) == 1:
        return int(least >= _Edit.INNER and not ends and any(wrong in row and right in row for row in _ALIKE))
    return 2 if least >= _Edit.TWICE and not ends and _is_two_off(word, name) else 0


def _difference(word: str, other: str) -> tuple[str, str, int]:
    """Return what two words do not have in common between their beginnings and their ends, and from which letter on."""
    shorter = min(len(word), len(other))
    begin = next((at for at in range(shorter) if word[at] != other[at]), shorter)
    end = next((at for at in range(shorter - begin) if word[-1 - at] != other[-1 - at]), shorter - begin)
    return word[begin : len(word) - end], other[begin : len(other) - end], begin


def _is_two_off(word: str, other: str) -> bool:
    """Return whether one word becomes another by two letters that are others, left out, too many, or in each other's place."""
    rows: list[list[int]] = [[*range(len(other) + 1)]]
    for at, letter in enumerate(word):
        row = [at + 1]
        for to, own in enumerate(other):
            cost = min(rows[-1][to] + (letter != own), rows[-1][to + 1] + 1, row[-1] + 1)
            if at and to and letter == other[to - 1] and word[at - 1] == own:
                cost = min(cost, rows[-2][to - 1] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1] <= 2
