"""Why a command is given, in the same sentence: "unlock the door, someone is there"."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
import re

from ..support.text import MAX_TEXT
from .data import code_of, data_of
from .phrases import is_asking, is_order

_SIGNS = r"[,;:]\s+|[.!]\s+|\s[-–—]\s"


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


@cache
def _patterns(code: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = data_of(code).reasons
    split = re.compile(rf"(?:{_SIGNS}|\s)(?P<join>(?:{_any_of(words.joins)})(?!\w)\s*)|(?:{_SIGNS})", re.IGNORECASE)
    begins = re.compile(rf"(?:{_any_of(words.begins)})(?!\w)")
    return split, begins, re.compile(rf"(?<!\w)(?:{_any_of(words.keeps)})(?!\w)")


def _any_of(phrases: Iterable[str]) -> str:
    listed = sorted((re.escape(phrase).replace("'", "['’]") for phrase in phrases), key=len, reverse=True)
    return "|".join(listed) or "(?!)"
