"""Why a command is given, in the same sentence: "unlock the door, someone is there"."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
import re

from ..support.text import MAX_TEXT
from .data import code_of, data_of
from .phrases import is_asking, is_order, is_remark

_SIGNS = r"[,;:]\s+|[.!]\s+|\s[-–—]\s"
_SIGN = re.compile(r"[,;]\s+|[.!]\s+|\s[-–—]\s")
"""Behind a colon stands what is quoted."""
_MOST = 3  # signs behind which a command may begin


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A command, and the words that say why."""

    command: str
    reason: str


def reasons_in(text: str, language: str) -> Iterator[Reasoned]:
    """Yield how a text may be a command with its reason behind it; nothing in a language without words for reasons.

    What excepts, corrects, adds or puts off is no reason, and neither is another command.
    """
    code = code_of(language)
    words = data_of(code).reasons
    if not words.begins or len(text) > MAX_TEXT or is_asking(text, code):
        return
    split, begins, keeps = _patterns(code)
    for found in split.finditer(text):
        command, reason = text[: found.start()].strip(), text[found.end() :].strip()
        said = reason.casefold()
        if not command or not reason or keeps.search(said) or is_order(reason, code):
            continue
        if found["join"] or begins.match(said):
            yield Reasoned(command, reason)


def led_in(text: str, language: str) -> Iterator[Reasoned]:
    """Yield how a text may be a command behind its reason: "it's dark, turn on the light"; the shortest reason first.

    A reason begins like one, and neither corrects nor adds.
    """
    code = code_of(language)
    if not data_of(code).reasons.begins or len(text) > MAX_TEXT:
        return
    _, begins, keeps = _patterns(code)
    for found in islice(_SIGN.finditer(text), _MOST):
        reason, command = text[: found.start()].strip(), text[found.end() :].strip()
        said = reason.casefold()
        if command and (begins.match(said) or is_remark(said, code)) and not keeps.search(said):
            yield Reasoned(command, reason)


@cache
def _patterns(code: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = data_of(code).reasons
    split = re.compile(rf"(?:{_SIGNS}|\s)(?P<join>(?:{_any_of(words.joins)})(?!\w)\s*)|(?:{_SIGNS})", re.IGNORECASE)
    begins = re.compile(rf"(?:{_any_of(words.begins)})(?!\w)")
    return split, begins, re.compile(rf"(?<!\w)(?:{_any_of(words.keeps)})(?!\w)")


def _any_of(phrases: Iterable[str]) -> str:
    listed = sorted((re.escape(phrase).replace("'", "['’]") for phrase in phrases), key=len, reverse=True)
    return "|".join(listed) or "(?!)"
