"""Events, delays and checks that are said in other forms, as they are said plainly: "washer done? then ..." is "when the washer is done, ..."."""

from functools import cache
import re

from ..support.patterns import unmarked
from ..support.text import MAX_TEXT
from .data import code_of, data_of
from .later import LaterKind, later_in

_ROUNDS = 3  # forms within one another: "is the washer done, wait ten minutes and then ..."
_TIME = "<when>"
_ANY = r"(?:[^,;:.?!=]|(?<=\d)[:.,](?=\d))"
_PARTS = {"hi": r"(?:[^\W\d]{2,12}, )?", "x": rf"{_ANY}{{2,70}}?", "when": rf"{_ANY}{{2,40}}?"}
"""What stands for any words in a form: who is spoken to, a clause, a time."""
_TIMES = frozenset({LaterKind.CLOCK, LaterKind.SPAN, LaterKind.DAY})


def recast(text: str, language: str) -> str:
    """Return a sentence with its event, delay or check as it is said plainly; the text itself where it has no other form."""
    code = code_of(language)
    for _ in range(_ROUNDS):
        said = _once(text, code)
        if said == text:
            break
        text = said
    return text


def _once(text: str, code: str) -> str:
    said = " ".join(text.split()).strip(" ,.!") if len(text) <= MAX_TEXT else ""
    for pattern, instead, is_timed in _forms(code) if said else ():
        if (match := pattern.fullmatch(said)) is None:
            continue
        plain = " ".join(match.expand(instead).replace(" ,", ",").split()).strip(" ,")
        if not is_timed or any(one.kind in _TIMES for one in later_in(plain, code)):
            return plain
    return text


@cache
def _forms(code: str) -> tuple[tuple[re.Pattern[str], str, bool], ...]:
    """Return the forms of a language with what is said instead, and whether they need a time in it."""
    words = data_of(code)
    unit = words.later.parts.get("unit", "")
    parts = {**_PARTS, "span": rf"(?:[\w'’.,]{{1,20}} ){{0,4}}?(?:\w{{1,5}}['’])?(?:{unit})"}

    def filled(pattern: str) -> str:
        for name, part in parts.items():
            pattern = pattern.replace(f"<{name}>", f"(?:{part})")
        return unmarked(pattern, words.later.unmarked)

    return tuple(
        (re.compile(filled(pattern), re.IGNORECASE), instead, _TIME in pattern)
        for pattern, instead in words.planning.recasts.items()
    )
