"""Whole utterances decided by tables, before any model sees them: yes and no, digits, undo.

Every word of an answer has to be a known one: yes, no, a courtesy, and a PIN where one was asked for. "Yes, and turn on the
light" is no yes but a new request, one word of refusal among the others makes the whole a no, and who asks back ("sure?")
has not said yes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
import re

from ..support.text import MAX_TEXT, fold, is_unspaced, normalized, runs, written_digits
from .data import ENGLISH, base_of, code_of, data_of, digit_words

MASK = "••••"
MAX_UNDO = 500  # characters; a longer text says something else

_ASKS = re.compile(r"[?？؟⸮՞\u037e]")
_GREEK_ASKS = re.compile(r";\s*$")
_APOSTROPHE = re.compile(r"['’]")
_PART = re.compile(r"\d+|[\u3400-\u9fff]|[^\W\d\u3400-\u9fff]+")
"""A number, a word, or a sign that is a word by itself."""


class Kind(Enum):
    """What an answer is."""

    YES = "yes"
    NO = "no"
    OTHER = "other"
    """Something else: the question is dropped and the words are a request of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered."""

    kind: Kind
    digits: str = ""
    """Every digit in it, spoken or written; only where a PIN was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """A number in a text, or one spoken digit."""

    begin: int
    end: int
    value: str
    """In our digits."""


def read_answer(text: str, language: str, *, with_pin: bool = False, about: str = "", name: str = "") -> Answer:
    """Return what an answer says. With a PIN asked for, digits alone are a yes: the PIN decides.

    `about` is what is asked (`unlock`, `open`, `disarm`) and `name` of what: a yes may repeat them, when it is one thing alone.
    """
    words = _words(text)
    digits = ""
    if with_pin:
        spoken, beside = digit_words(language), _pin_words(code_of(language))
        values = [spoken.get(fold(word)) or written_digits(word) for word in words]
        digits = "".join(values)
        words = [word for word, value in zip(words, values, strict=True) if not value and word not in beside]
    kinds = _kinds(words, language, about, name) if len(text) <= MAX_TEXT else None
    asks_back = _ASKS.search(text) or (base_of(language) == "el" and _GREEK_ASKS.search(text))
    kind = Kind.OTHER
    if kinds is not None and Kind.NO in kinds:
        kind = Kind.NO
    elif kinds is not None and (digits or (Kind.YES in kinds and not asks_back)):
        kind = Kind.YES
    return Answer(kind=kind, digits=digits)


def is_remark(text: str, language: str) -> bool:
    """Return whether a sentence states something and asks for nothing; never in a language whose data does not say so."""
    pattern = data_of(language).remark
    return bool(pattern) and len(text) <= MAX_TEXT and re.match(pattern, text.strip().casefold()) is not None


def mask_digits(text: str, language: str, *, at_least: int) -> str:
    """Return a text with every run of so many digits, written or spoken, replaced.

    By length, not by value: a mask that appears only for the right PIN would tell which one it is.
    """
    masked: list[str] = []
    end = 0
    for run in digit_runs(text, language):
        if sum(len(group.value) for group in run) >= at_least:
            masked += [text[end : run[0].begin], MASK]
            end = run[-1].end
    return "".join([*masked, text[end:]])


def digit_runs(text: str, language: str) -> Iterator[list[Digits]]:
    """Yield the runs of neighbouring numbers and number words."""
    spoken = digit_words(language)
    run: list[Digits] = []
    for match in _PART.finditer(text):
        word = match[0]
        if value := written_digits(word) or spoken.get(fold(normalized(word)).replace("_", "")):
            run.append(Digits(begin=match.start(), end=match.end(), value=value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def asks_to_undo(text: str, language: str) -> bool:
    """Return whether the whole text asks to take back what was done last; courtesies do not count."""
    if len(text) > MAX_UNDO:
        return False
    codes, said = dict.fromkeys((code_of(language), ENGLISH)), text.casefold()
    if said.isascii() and not any(sign in said for code in codes for sign in _phrases_of(code).undo_signs):
        return False
    asides = [aside for code in codes for aside in _phrases_of(code).asides]
    words = _words(text)
    place = 0
    while place < len(words):
        aside = next((aside for aside in asides if tuple(words[place : place + len(aside)]) == aside), None)
        if aside:
            del words[place : place + len(aside)]
        else:
            place += 1
    return any(tuple(words) in _phrases_of(code).undo for code in codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phrases:
    """The phrases of a language as their words."""

    answers: dict[tuple[str, ...], Kind]
    confirms: Mapping[str, frozenset[tuple[str, ...]]]
    """What a yes may repeat, by what is asked."""
    longest: int
    undo: frozenset[tuple[str, ...]]
    undo_signs: frozenset[str]
    """One word of each: a text without any of them asks for something else."""
    asides: Sequence[tuple[str, ...]]
    """The longest first."""


@cache
def _phrases_of(code: str) -> _Phrases:
    """Return the phrases of a language; where one is in several tables, the refusal counts."""
    own, english = data_of(code), data_of(ENGLISH)
    data = own if own.yes else english
    answers: dict[tuple[str, ...], Kind] = {}
    for kind, listed in (
        (Kind.OTHER, data.courtesies),
        (Kind.YES, (*english.yes_everywhere, *data.yes)),
        (Kind.NO, (*english.no, *data.no)),
    ):
        answers |= dict.fromkeys(_split(listed), kind)
    confirms = {about: frozenset(_split(listed)) for about, listed in data.confirms.items()}
    undo = frozenset(_split(own.undo.phrases))
    return _Phrases(
        answers=answers,
        confirms=confirms,
        longest=max(map(len, (*answers, *(words for listed in confirms.values() for words in listed)))),
        undo=undo,
        undo_signs=frozenset(max(words, key=len) for words in undo if words),
        asides=sorted(_split(own.undo.asides), key=len, reverse=True),
    )


def _kinds(words: Sequence[str], language: str, about: str, name: str) -> set[Kind] | None:
    """Return which kinds of phrases make up the words, in whichever way; None when some belong to none.

    "Yes, do it" is "yes" and "do it", although "yes do" is a phrase as well. To a question about one thing, a yes that goes on
    with a refusal ("yes, but not the back door") is a no.
    """
    phrases = _phrases_of(code_of(language))
    repeated = {*phrases.confirms.get(about, ()), *([tuple(_words(name))] if name else ())}
    longest = max(phrases.longest, *map(len, repeated)) if repeated else phrases.longest

    def kind_of(begin: int, end: int) -> Kind | None:
        said = tuple(words[begin:end])
        return phrases.answers.get(said) or (Kind.OTHER if said in repeated else None)

    found: list[set[Kind] | None] = [set(), *([None] * len(words))]
    """By number of words from the first on."""
    said: set[Kind] = set()
    for position, kinds in enumerate(found):
        for end in range(position + 1, min(position + longest, len(words)) + 1):
            if (kind := kind_of(position, end)) is not None:
                said |= {kind} if position or kind is Kind.YES else set()
                if kinds is not None:
                    found[end] = {*(found[end] or ()), *kinds, kind}
    return {Kind.NO} if found[-1] is None and about and {Kind.YES, Kind.NO} <= said else found[-1]


def _split(phrases: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield phrases as their words, also as they are typed in haste: "daccord", "dont"."""
    for phrase in phrases:
        yield tuple(_words(phrase))
        yield tuple(_words(_APOSTROPHE.sub("", phrase)))


def _words(text: str) -> list[str]:
    """Return the words that are compared: without signs, and each sign of a script without spaces by itself."""
    return [
        word
        for run in runs(text)
        if any(map(str.isalnum, run))
        for word in (run if not run.isascii() and is_unspaced(run) else (run,))
    ]


@cache
def _pin_words(code: str) -> frozenset[str]:
    return frozenset((*data_of(ENGLISH).pin_words, *data_of(code).pin_words))
