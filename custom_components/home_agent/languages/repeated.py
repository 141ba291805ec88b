"""What in a sentence says that something is to happen again and again: on which days, in which part of them, how often, each time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
import re

from ..support.patterns import unmarked
from ..support.text import MAX_TEXT
from .data import RhythmWords, code_of, data_of
from .later import unnamed
from .moments import WEEKDAYS
from .times import durations_in

_BLANK = "\ua500"
_WORKING, _WEEKEND = frozenset(WEEKDAYS[:5]), frozenset(WEEKDAYS[5:])
_MINUTE = 60
_BORDERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often something is to happen, and the sentence without the words for it."""

    rest: str
    """As it would be said for once: "whenever" is "when"."""
    words: str
    """The words that say how often, as they were said."""
    days: frozenset[str] = frozenset()
    """The days of the week (`WEEKDAYS`); none: every day, or it is not said."""
    is_daily: bool = False
    """Whether days or a part of them were named, so that it has a time."""
    is_every: bool = False
    """Whether it is every day, in words that say nothing else."""
    part: str = ""
    """A part of the day (`PARTS`)."""
    minutes: int = 0
    """How many minutes after one another; 0 where that is not said."""
    is_each: bool = False
    """Whether it is each time that something happens."""
    never: str = ""
    """What must not be so: "but never while Anna sleeps" without its first words."""


def rhythm_in(text: str, language: str, named: Iterable[str] = ()) -> Rhythm | None:
    """Return how often something is to happen; None where nothing says so, or where it is said in two ways.

    What was `named` says nothing of it: the "Every Day" scene.
    """
    code = code_of(language)
    if len(text) > MAX_TEXT or not data_of(code).rhythms.always:
        return None
    names = tuple(named)
    for pattern, apart in _apart(code):
        if pattern.search(unnamed(text, code, names, _BLANK)) is not None:
            text = pattern.sub(apart, text)
    said = unnamed(text, code, names, _BLANK)
    rhythm, instead = Rhythm(rest="", words=""), dict[tuple[int, int], str]()
    if (never := _pattern(code, "never").search(said)) is not None:
        rhythm = replace(rhythm, never=text[never.end() :].strip(" ,.!"))
        said, text = said[: never.start()], text[: never.start()]
    for begin, end, kind, value in _found(said, code):
        if any(first < end and begin < behind for first, behind in instead):
            continue
        read = _with(rhythm, said[begin:end], kind, value, code)
        if read is None:
            return None
        rhythm = read
        instead[begin, end] = value if kind == "whenever" else ""
    if not instead:
        return None
    parts, end = list[str](), 0
    for begin, behind in sorted(instead):
        parts += (text[end:begin], instead[begin, behind])
        end = behind
    rest = " ".join(" ".join((*parts, text[end:])).split())
    rest = (
        ",".join(part for part in map(str.rstrip, rest.split(",")) if part)
        .replace(" '", "'")
        .replace(" ’", "’")
        .strip(" ,.!")
    )
    words = ", ".join(text[begin:behind].strip(" ,") for begin, behind in sorted(instead))
    return replace(rhythm, rest=rest, words=words)


def asked_for(text: str, language: str) -> tuple[str, str] | None:
    """Return the words with which a sentence asks for an automation, and what that is to do as it would be said for once.

    None for a sentence that does not begin so.
    """
    code, text = code_of(language), text.strip()
    if len(text) > MAX_TEXT or (match := _pattern(code, "makes").match(text)) is None:
        return None
    parts = _parts(code).split(text[match.end() :].strip(" ,.:;!?–-"))
    return match[0].strip(), "".join(_as_order(part, code) for part in parts)


@cache
def _parts(code: str) -> re.Pattern[str]:
    """Return where a sentence has commas, and where clauses begin."""
    marks = data_of(code).later.marks
    openers = [re.escape(phrase) for name in ("when", "if", "unless") for phrase in marks.get(name, ())]
    listed = "|".join(sorted((*openers, *data_of(code).rhythms.whenever), key=len, reverse=True))
    return re.compile(rf"(,\s*|\s+(?=(?:{listed or '(?!)'})(?!\w)))", re.IGNORECASE)


def _as_order(part: str, code: str) -> str:
    """Return a part of a sentence with what is done said as an order."""
    for pattern, instead in _forms(code):
        part, count = pattern.subn(instead, part)
        if count:
            break
    return part


@cache
def _forms(code: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    listed = data_of(code).rhythms.forms.items()
    return tuple((re.compile(rf"(?<!\w)(?:{said})(?!\w)", re.IGNORECASE), instead) for said, instead in listed)


def says_state(text: str, language: str) -> bool:
    """Return whether a clause says how something is, rather than what happens: "the light is on"."""
    return _pattern(code_of(language), "states").search(text) is not None


def _with(rhythm: Rhythm, said: str, kind: str, value: str, code: str) -> Rhythm | None:
    """Return a rhythm with one more thing that was said of it; None where that is said already, or no length is read."""
    match kind:
        case "whenever":
            return None if rhythm.is_each else replace(rhythm, is_each=True)
        case "always":
            return rhythm
        case "parts" | "beside":
            is_other = rhythm.part not in ("", value)
            return None if is_other else replace(rhythm, part=value, is_daily=rhythm.is_daily or kind == "parts")
        case "minutes" | "spans":
            minutes = int(value) if value else _length(said, code)
            return None if rhythm.minutes or not minutes else replace(rhythm, minutes=minutes)
        case "days":
            return replace(rhythm, is_daily=True, is_every=True)
    days = {"weekdays": _WORKING, "weekends": _WEEKEND}.get(kind) or _days_of(said, kind, code)
    return None if rhythm.days or not days else replace(rhythm, days=days, is_daily=True)


def _length(said: str, code: str) -> int:
    """Return how many whole minutes a length has; 0 for what is no length."""
    found = durations_in(said, code)
    seconds = round(found[0].value.total_seconds()) if len(found) == 1 else 0
    return 0 if seconds % _MINUTE else seconds // _MINUTE


def _days_of(said: str, kind: str, code: str) -> frozenset[str]:
    """Return the days of the week that are named, or all from the first to the second."""
    names = [(match.start(), day) for day, name in _names(code).items() for match in name.finditer(said)]
    found = [day for _, day in sorted(names)]
    if kind == "named":
        return frozenset(found) if len(set(found)) == len(found) else frozenset()
    if len(found) != _BORDERS or found[0] == found[1]:
        return frozenset()
    first, last = map(WEEKDAYS.index, found)
    return frozenset(WEEKDAYS[at % 7] for at in range(first, (last if last > first else last + 7) + 1))


def _found(said: str, code: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield where something says how often: the longest first."""
    spans = [
        (*match.span(), kind, value)
        for kind, value, pattern in _patterns(code)
        for match in pattern.finditer(said)
        if match[0]
    ]
    yield from sorted(spans, key=lambda span: (span[0] - span[1], span[0]))


@cache
def _patterns(code: str) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return what says how often, with its kind and what it stands for."""
    words = data_of(code).rhythms
    keyed: list[tuple[str, Mapping[str, Sequence[str]]]] = [
        ("parts", words.parts), ("beside", words.beside), ("minutes", words.minutes), ("whenever", _grouped(words.whenever)),
    ]  # fmt: skip
    plain = (
        (kind, "", getattr(words, kind))
        for kind in ("named", "ranges", "days", "weekdays", "weekends", "spans", "always")
    )
    listed = chain(plain, ((kind, key, rows) for kind, table in keyed for key, rows in table.items()))
    return tuple((kind, value, _compiled(rows, code)) for kind, value, rows in listed)


@cache
def _apart(code: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_compiled([said], code), apart) for said, apart in data_of(code).rhythms.apart.items())


def _grouped(whenever: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for said, instead in whenever.items():
        found.setdefault(instead, []).append(said)
    return found


@cache
def _pattern(code: str, name: str) -> re.Pattern[str]:
    return _compiled(getattr(data_of(code).rhythms, name), code)


def _compiled(patterns: Sequence[str], code: str) -> re.Pattern[str]:
    """Return some patterns as one that is matched as words."""
    pieces = _pieces(data_of(code).rhythms) | {
        name: data_of(code).later.parts.get(name, "(?!)") for name in ("n", "unit")
    }

    def filled(pattern: str) -> str:
        for name, piece in pieces.items():
            pattern = pattern.replace(f"<{name}>", f"(?:{piece})")
        return unmarked(pattern, data_of(code).later.unmarked)

    return re.compile(rf"(?<!\w)(?:{'|'.join(map(filled, patterns)) or '(?!)'})(?!\w)", re.IGNORECASE)


def _pieces(words: RhythmWords) -> dict[str, str]:
    joins = "|".join(words.joins) or "(?!)"
    name, plural = ("|".join(table.values()) or "(?!)" for table in (words.names, words.plurals))
    return {
        "names": rf"(?:{name})(?:(?:{joins})(?:{name}))*",
        "plurals": rf"(?:{plural})(?:(?:{joins})(?:{plural}))*",
        "name": name,
    }


@cache
def _names(code: str) -> dict[str, re.Pattern[str]]:
    return {day: _compiled([name], code) for day, name in data_of(code).rhythms.names.items()}
