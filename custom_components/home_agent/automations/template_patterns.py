"""Whether a regular expression may take very long: what is repeated inside of what is repeated doubles the time with each letter."""

from collections.abc import Iterable
import re
from re import _constants as codes, _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_PATTERN = 100  # characters
MOST_TRIALS = 5_000_000
"""How many ways to match a text may be tried."""
_REPEATS = frozenset({codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT})
_REFERENCES = frozenset({codes.GROUPREF, codes.GROUPREF_EXISTS})


def is_slow(pattern: str, characters: float, *, is_anchored: bool) -> bool:
    """Return whether a pattern may take long for a text of so many characters; one that is broken does not."""
    if len(pattern) > MAX_PATTERN:
        return True
    try:
        parsed = parser.parse(pattern)
    except re.error, OverflowError, RecursionError:
        return False  # nothing is searched for with it
    trials = _trials(parsed, max(characters, 1.0), is_repeated=False)
    if trials is None:
        return True
    starts = not is_anchored and [*parsed][:1] != [(codes.AT, codes.AT_BEGINNING)]
    return trials * (max(characters, 1.0) if starts else 1.0) > MOST_TRIALS


def _trials(parsed: Iterable[tuple[Any, Any]], characters: float, *, is_repeated: bool) -> float | None:
    """Return in how many ways a part of a pattern may match; None for one whose number grows without a bound."""
    product = 1.0
    for code, value in parsed:
        inner: list[Any] = []
        repeats = is_repeated
        if code in _REFERENCES:
            return None
        if code in _REPEATS:
            least, most, body = value
            if most > 1 and is_repeated:
                return None
            repeats = repeats or most > 1
            product *= min(float(most) - least + 1.0, characters + 1.0)
            inner = [body]
        elif code is codes.BRANCH:
            if is_repeated:
                return None
            product *= len(value[1])
            inner = value[1]
        elif code is codes.SUBPATTERN:
            inner = [value[3]]
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            inner = [value[1]]
        elif code is codes.ATOMIC_GROUP:
            inner = [value]
        for part in inner:
            if (found := _trials(part, characters, is_repeated=repeats)) is None:
                return None
            product *= found
    return product
