"""How near two folded words are: forms of one word, or one of them mistyped.

A word for what is done, a kind or a room is one of a few hundred, and what is near it is it. A name is anything, so less is near it:
the shorter it is, the less. Where words are mistyped, the first letter is right.
"""

from collections.abc import Collection, Iterable

LONG = 5
"""Letters of a word that can be mistyped and still be known."""

# Letters that a name must have, so that one is taken for it that has a letter too many or too few, doubled ones, two in each
# other's place, one letter for another, or two slips.
_DOUBLED, _SWAPPED, _INNER, _TWICE = 4, 5, 8, 14
_ALIKE = ("aeiouy", "bp", "dt", "cgkq", "csz", "fvw", "mn")
"""Letters that are written for one another since they sound alike: of others a word is made, "protector" of "projector"."""


def grams(word: str) -> set[str]:
    """Return the character trigrams of a folded word, its two ends marked."""
    padded = f"^{word}$"
    return {padded[start : start + 3] for start in range(len(padded) - 2)} or {padded}


def overlap(one: set[str], other: set[str]) -> float:
    """Return how much of two sets of trigrams is common to both, 0 to 1 (Dice's coefficient)."""
    return 2 * len(one & other) / (len(one) + len(other))


def likeness(one: str, other: str) -> float:
    """Return how likely two folded words mean the same, 0 to 1: the same stem, one inside the other, a slip of the pen."""
    if one == other:
        return 1.0
    if one.isdigit() or other.isdigit():
        return 0.0
    short, long = sorted((one, other), key=len)
    common = _common_start(one, other)
    rest = len(long) - common
    if common >= 3 and common == len(short) and rest <= (2 if common > 3 else 1):
        return 0.95
    if common >= 4 and rest <= 2:
        return 0.88
    if common >= 4 and rest <= 3 and len(short) - common <= 2:
        return 0.8
    if common >= 5 and common >= 0.6 * len(long):
        return 0.7
    if len(short) >= 4 and (long.endswith(short) or long.startswith(short)):
        return 0.75
    return 0.9 * shared if len(short) >= 4 and (shared := overlap(grams(one), grams(other))) >= 0.6 else 0.0


def distance(one: str, other: str) -> int:
    """Return how many letters are others, left out, too many, or in each other's place (Damerau and Levenshtein)."""
    rows: list[list[int]] = [[*range(len(other) + 1)]]
    for at, letter in enumerate(one):
        row = [at + 1]
        for to, own in enumerate(other):
            cost = min(rows[-1][to] + (letter != own), rows[-1][to + 1] + 1, row[-1] + 1)
            if at and to and letter == other[to - 1] and one[at - 1] == own:
                cost = min(cost, rows[-2][to - 1] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]


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


def name_meant_by(word: str, names: Iterable[str], others: Collection[str]) -> str:
    """Return the name that a word is a slip of; "" if it may be another, or one of `others`. Of forms of one name, the nearest."""
    near = sorted((slips, name) for name in names if (slips := _slips(word, name)))
    if not near or any(is_slip(word, other) or _slips(word, other) for other in others):
        return ""
    nearest = near[0][1]
    return nearest if all(nearest.startswith(name) or name.startswith(nearest) for _, name in near) else ""


def _slips(word: str, name: str) -> int:
    """Return how many letters of a name are mistyped, where it is still that name: 1 or 2; 0 for any other word and for the name."""
    least = min(len(word), len(name))
    if least < _DOUBLED or word[0] != name[0] or abs(len(word) - len(name)) > 2 or word == name:
        return 0
    wrong, right, at = _difference(word, name)
    is_inner = least >= _INNER and at + max(len(wrong), len(right)) != max(len(word), len(name))  # not another ending
    match len(wrong), len(right):
        case (0, 1) | (1, 0):
            return int(is_inner or (wrong or right) == word[at - 1])
        case (1, 1):
            return int(is_inner and any(wrong in row and right in row for row in _ALIKE))
        case (2, 2) if wrong == right[::-1]:
            return int(least >= _SWAPPED)
    return 2 if least >= _TWICE and is_inner and distance(word, name) <= 2 else 0


def _difference(word: str, other: str) -> tuple[str, str, int]:
    """Return what two words do not have in common between their beginnings and their ends, and from which letter on."""
    shorter = min(len(word), len(other))
    begin = _common_start(word, other)
    end = next((at for at in range(shorter - begin) if word[-1 - at] != other[-1 - at]), shorter - begin)
    return word[begin : len(word) - end], other[begin : len(other) - end], begin


def _common_start(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
