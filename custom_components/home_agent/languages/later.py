"""What in a sentence says when, for how long, how often or on which condition something is to be done: that it is not for now.

The only place that reads it. A text that has nothing of it is for now.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
import re

from ..support.patterns import unmarked
from ..support.text import MAX_TEXT, words_of
from .data import code_of, data_of

_BLANK = "\ua500"
"""Stands for each letter of a name: a letter, so that a name is a word for a pattern, which no language here has."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)
"""Characters that are not seen, and split words for a pattern."""


class LaterKind(StrEnum):
    """How a sentence puts something off."""

    SPAN = "span"
    """After some time: "in ten minutes"."""
    CLOCK = "clock"
    """At a time of day: "at half nine", "after sunset"."""
    DAY = "day"
    """On a day, or in a part of it: "tomorrow", "tonight"."""
    LASTING = "lasting"
    """For some time only: "for ten minutes"."""
    REPEATED = "repeated"
    """More than once: "every evening"."""
    EVENT = "events"
    """When something happens, or if something is so; only the first words of it: "when", "until"."""
    VAGUE = "vague"
    """At a time that is not said: "soon"."""
    WAIT = "waits"
    """After something else, or so that it is done by a time: "wait for Anna and", "have it warm by nine"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """Words of a text that put something off."""

    kind: LaterKind
    begin: int
    """The place of their first letter in the text."""
    end: int
    """The place behind the last one."""
    words: str
    """As they were said."""


def is_indefinite(one: Later, language: str) -> bool:
    """Return whether words say no moment and no length in numbers: "later", "for a while", "all night"."""
    if one.kind is not LaterKind.LASTING:
        return one.kind is LaterKind.VAGUE
    code = code_of(language)
    units = {
        word for listed in data_of(code).times.get("units", {}).values() for text in listed for word in words_of(text)
    }
    said = words_of(one.words)
    return units.isdisjoint(said) and not any(word[0].isdigit() for word in said)


def later_in(text: str, language: str, named: Iterable[str] = ()) -> tuple[Later, ...]:
    """Return what puts a text off, in its order, none of it twice; what was `named` is no time: the "Evening" scene.

    Nothing in a language whose data has no words for it, and in a text that is too long.
    """
    if len(text) > MAX_TEXT:
        return ()
    said = unnamed(text, language, named, _BLANK)
    if said.isascii() and "  " not in said and said.isprintable():
        return _found(said, text, code_of(language))
    places = [at for at, letter in enumerate(said) if _is_read(said, at, letter)]
    read = "".join(" " if said[at].isspace() else said[at] for at in places)
    ends = [*places, len(said)]
    return tuple(
        replace(one, begin=ends[one.begin], end=ends[one.end - 1] + 1, words=one.words)
        for one in _found(read, read.replace(_BLANK, " "), code_of(language))
    )


def _is_read(said: str, at: int, letter: str) -> bool:
    """Return whether a character is read: no invisible one, and of several spaces only the first."""
    return _UNSEEN.match(letter) is None and not (letter.isspace() and at > 0 and said[at - 1].isspace())


def unnamed(text: str, language: str, named: Iterable[str], letter: str) -> str:
    """Return a text with a letter for each one of the names in it, not where a name is a part of a time: "every evening"."""
    spans, folded = list[tuple[int, int]](), text.casefold()
    said = {name.strip() for name in named if name.strip().casefold() in folded} - {""}
    for name in sorted(said, key=len, reverse=True):
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            if not any(begin < match.end() and match.start() < end for begin, end in spans):
                spans.append(match.span())
    times = _found(text, text, code_of(language)) if spans else ()
    for begin, end in spans:
        if not any(one.begin < begin and end <= one.end for one in times):
            text = text[:begin] + letter * (end - begin) + text[end:]
    return text


@lru_cache(maxsize=512)
def _found(said: str, text: str, code: str) -> tuple[Later, ...]:
    found: list[Later] = []
    asides = _aside_spans(said, code)
    for kind, pattern in _patterns(code):
        for match in pattern.finditer(said):
            begin, end = match.span()
            if any(first < end and begin < behind for first, behind in asides):
                continue
            other = [one for one in found if one.begin < end and begin < one.end]
            if kind is LaterKind.REPEATED and all(begin < one.begin and one.end <= end for one in other):
                found = [one for one in found if one not in other]  # "toutes les deux heures"
                other = []
            if begin < end and not other:
                found.append(Later(kind=kind, begin=begin, end=end, words=text[begin:end].strip(" ,")))
    return tuple(sorted(found, key=lambda one: one.begin))


def _aside_spans(said: str, code: str) -> list[tuple[int, int]]:
    return [match.span() for match in _pattern(code, "asides").finditer(said)]


def asides_in(text: str, language: str) -> tuple[str, ...]:
    """Return the words that only look like a time or a condition: "if you don't mind", "it's nine already"."""
    spans = _aside_spans(text, code_of(language)) if len(text) <= MAX_TEXT else ()
    return tuple(text[begin:end] for begin, end in spans)


def without_asides(text: str, language: str) -> str:
    """Return a text without what only looks like a time or a condition."""
    rest, end = list[str](), 0
    for begin, behind in _aside_spans(text, code_of(language)) if len(text) <= MAX_TEXT else ():
        rest.append(text[end:begin])
        end = behind
    return " ".join(" ".join([*rest, text[end:]]).replace(" ,", ",").split()).strip(" ,;:.!") if rest else text


def is_conditional(text: str, language: str) -> bool:
    """Return whether a text has a word for a condition in it."""
    return _pattern(code_of(language), "events").search(text[:MAX_TEXT]) is not None


def says_now(text: str, language: str) -> bool:
    """Return whether a text says that something is to be done at once; "then at once" is later, and "not now" as well."""
    code = code_of(language)
    if len(text) > MAX_TEXT:
        return False
    before = (words_of(text[: found.start()])[-1:] for found in _pattern(code, "now").finditer(text))
    return any(_not_now(code).isdisjoint(words) for words in before)


def without_now(text: str, language: str) -> str:
    """Return a text without the words that it is to be done at once."""
    return " ".join(_pattern(code_of(language), "now").sub(" ", text[:MAX_TEXT]).split()).strip(" ,")


def denies_now(text: str, language: str) -> bool:
    """Return whether a text says no more than that something is not for now: "not this minute"."""
    code = code_of(language)
    found = _pattern(code, "now").search(text) if len(text) <= MAX_TEXT else None
    if found is None or words_of(text[found.end() :]):
        return False
    denials = {word for phrase in data_of(code).later.marks.get("not", ()) for word in words_of(phrase)}
    front = words_of(text[: found.start()])
    return bool(front) and denials.issuperset(front)


@cache
def _not_now(code: str) -> frozenset[str]:
    """Return the words in front of "now" with which it is another time: one that was said before, or not now."""
    marks = data_of(code).later.marks
    listed = (*marks.get("then", ()), *marks.get("not", ()))
    return frozenset(word for phrase in listed for word in words_of(phrase)[-1:])


def is_put_off(text: str, language: str, named: Iterable[str] = ()) -> bool:
    """Return whether a text is for later, for some time or for some case, and not simply for now."""
    return bool(later_in(text, language, named))


def without_times(text: str, language: str, *kinds: LaterKind) -> str:
    """Return a text without what puts it off, or only without what does so in some ways."""
    rest, end = list[str](), 0
    for one in later_in(text, language):
        if not kinds or one.kind in kinds:
            rest.append(text[end : one.begin])
            end = one.end
    return " ".join(part for part in " ".join([*rest, text[end:]]).replace(" ,", ",").split() if part != ",").strip(
        " ,"
    )


@cache
def later_words(code: str) -> frozenset[str]:
    """Return the single words of a language that put something off."""
    words = data_of(code).later
    listed = (*words.vague, *words.day, *words.repeated, *words.events)
    return frozenset(word for word in listed if word.isalpha())


@cache
def _patterns(code: str) -> tuple[tuple[LaterKind, re.Pattern[str]], ...]:
    """Return what says it, in the order in which it is looked for: the exact first, words that begin more last."""
    words = data_of(code).later
    order = (
        LaterKind.WAIT,
        LaterKind.SPAN,
        LaterKind.CLOCK,
        LaterKind.REPEATED,
        LaterKind.DAY,
        LaterKind.VAGUE,
        LaterKind.EVENT,
        LaterKind.LASTING,
    )
    return tuple((kind, _pattern(code, kind.value)) for kind in order if getattr(words, kind.value))


@cache
def _pattern(code: str, name: str) -> re.Pattern[str]:
    """Return the patterns of one list as one, matched as words; one that fits nothing where there are none."""
    data = data_of(code)
    verbs = (word for word in (*data.orders, *data.later.marks.get("orders", ())) if len(word) > 1)
    orders = "|".join(map(re.escape, verbs)) or "(?!)"
    ordinals = sorted(
        (said for listed in data.times.get("ordinals", {}).values() for said in listed), key=len, reverse=True
    )
    parts = {
        **data.later.parts,
        "order": rf"(?:{orders})(?!\w)",
        "ordinal": "|".join(map(re.escape, ordinals)) or "(?!)",
    }

    def filled(pattern: str) -> str:
        for part, said in parts.items():
            pattern = pattern.replace(f"<{part}>", f"(?:{said})")
        return unmarked(pattern)

    listed = "|".join(map(filled, getattr(data.later, name))) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE)
