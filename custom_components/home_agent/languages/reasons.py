"""Why a command is given, in the same sentence: "unlock the door, someone is there"."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
import re

from ..support.patterns import any_of
from ..support.text import MAX_TEXT
from .data import code_of, data_of
from .phrases import is_altered, is_asking, is_order, is_remark

_SIGNS = r"[,;:]\s+|[.!]\s+|\s[-–—]\s"
_SIGN = re.compile(r"[,;]\s+|[.!]\s+|\s[-–—]\s")
"""Behind a colon stands what is quoted."""
_CUTS = ",;:.!…"
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
    split = re.compile(rf"(?:{_SIGNS}|\s)(?P<join>(?:{any_of(words.joins)})(?!\w)\s*)|(?:{_SIGNS})", re.IGNORECASE)
    begins = re.compile(rf"(?:{any_of(words.begins)})(?!\w)")
    return split, begins, re.compile(rf"(?<!\w)(?:{any_of(words.keeps)})(?!\w)")


@dataclass(frozen=True, slots=True)
class Introduced:
    """What is wanted, and what was only told in front of it or behind it."""

    wanted: str
    told: tuple[str, ...]


def introduced_in(text: str, language: str) -> Introduced | None:
    """Return what a text wants without what its first and last parts only tell: "I'm having a nap, wake me in forty minutes".

    What excepts, corrects, adds, asks or orders tells nothing. None where no part does, or where all do.
    """
    code = code_of(language)
    if not data_of(code).reasons.begins or len(text) > MAX_TEXT:
        return None
    parts = parts_of(text, code)
    first, last = 0, len(parts)
    while first < last - 1 and tells(parts[first], code):
        first += 1
    while last - 1 > first and tells(parts[last - 1], code):
        last -= 1
    told = tuple(_bare(part) for part in (*parts[:first], *parts[last:]))
    if not told:
        return None
    wanted = _bare("".join(parts[first:last]))
    return Introduced(without_hence(wanted, code) if first else wanted, told)


def told_first(text: str, language: str) -> Iterator[Reasoned]:
    """Yield how a text may be a command for now behind what is only told: "the kids are asleep, turn off the lamp".

    What denies, reports or corrects is not only told.
    """
    code = code_of(language)
    introduced = introduced_in(text, code)
    if introduced is None or is_asking(introduced.wanted, code):
        return
    keeps = _patterns(code)[2]
    told = " ".join(introduced.told)
    is_plain = not any(
        keeps.search(part.casefold()) or is_altered(part, code, (), asks=True) for part in introduced.told
    )
    if is_plain and introduced.wanted:
        yield Reasoned(introduced.wanted, told)


def _bare(part: str) -> str:
    return part.strip(" ,;:.!–—-").strip()


def tells(part: str, code: str) -> bool:
    """Return whether a part of a text only tells something, and wants nothing."""
    told, words = _bare(part), data_of(code).reasons
    said = told.casefold()
    if not said or is_asking(told, code) or is_order(told, code) or _reports(code).search(said):
        return False
    _, begins, keeps = _patterns(code)
    if _remarks(code).fullmatch(said):
        return True
    if _wishes(code).match(said):
        return False
    join = next((one for one in words.joins if said.startswith(f"{one} ")), "")
    if join:
        return keeps.search(said) is None and not is_order(told[len(join) :], code)
    return (begins.match(said) is not None or is_remark(said, code)) and keeps.search(said) is None


@cache
def _remarks(code: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in data_of(code).reasons.remarks) or "(?!)")


@cache
def _wishes(code: str) -> re.Pattern[str]:
    """Return how what is wanted begins: "I want", "I'd like"."""
    data = data_of(code)
    return re.compile(rf"(?:{any_of((*data.polite, *data.moods.wishes))})(?!\w)")


def reports(said: str, code: str) -> bool:
    """Return whether a text tells what a person says, hears, reads or thinks: what follows is not meant."""
    return _reports(code).search(said.casefold()) is not None


@cache
def _reports(code: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{any_of(data_of(code).reasons.reports)})(?!\w)")


def parts_of(text: str, code: str, signs: str = _CUTS, joins: tuple[str, ...] = ()) -> list[str]:
    """Return the parts of a text: each begins behind one of some signs, or with "because", "so" or one of some other `joins`."""
    cuts = [0, *(found.start() for found in _cuts(code, signs, joins).finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts)]


@cache
def _cuts(code: str, signs: str, joins: tuple[str, ...]) -> re.Pattern[str]:
    words = data_of(code).reasons
    listed = any_of((*words.joins, *words.hence, *joins))
    return re.compile(rf"(?<=[{signs}])(?=\s)|\s(?=[-–—]\s)|\s(?=(?:{listed})(?!\w))", re.IGNORECASE)


def without_hence(text: str, code: str) -> str:
    """Return what is wanted without the word that leads to it from what is told in front: "so"."""
    return _hence(code).sub("", text)


@cache
def _hence(code: str) -> re.Pattern[str]:
    return re.compile(rf"^(?:{any_of(data_of(code).reasons.hence)})(?!\w)[\s,]*", re.IGNORECASE)
