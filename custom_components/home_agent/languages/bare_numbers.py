"""Numbers that stand alone for a length: "one for 25", "no, twenty"."""

from .data import code_of
from .later import LaterKind, later_in
from .spoken_numbers import words_in
from .times import numbers_in

_MOST_MINUTES = 180
_MINUTE, _HOUR, _LONGEST = 60, 3600, 12 * 3600  # seconds
_FEW = 3
"""A bare number of an hour and more; a higher one may be minutes as well."""


def minutes_in(text: str, language: str) -> int:
    """Return the one bare number of a text, which may be minutes: "one for 25"; 0 where there is none or several."""
    numbers = numbers_in(words_in(text), code_of(language))
    return int(numbers[0].value) if len(numbers) == 1 and 0 < numbers[0].value <= _MOST_MINUTES else 0


def like_length(text: str, before: str, seconds: int, language: str) -> int:
    """Return the seconds of a bare number that corrects a length: "no, twenty" behind "for ten minutes"; 0 where it says something else.

    `before` are the words of that length, `seconds` how long it is. A number behind an hour without one may be minutes as well.
    """
    code = code_of(language)
    new, old = (numbers_in(words_in(said), code) for said in (text, before))
    if len(new) != 1 or any(one.kind is LaterKind.CLOCK for one in later_in(text, language)):
        return 0
    if len(old) == 1 and old[0].value and seconds % old[0].value == 0:
        unit = int(seconds // old[0].value)
    elif seconds == _HOUR and new[0].value <= _FEW:
        unit = _HOUR
    else:
        unit = _MINUTE if seconds < _HOUR else 0
    span = int(new[0].value * unit) if unit in (1, _MINUTE, _HOUR) else 0
    return span if span <= _LONGEST else 0
