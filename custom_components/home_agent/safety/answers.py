"""Yes or no, by tables: what somebody answered to a question of ours, decided before any model sees it.

Every word of an answer has to be a known one: yes, no, a courtesy, and a PIN where one was asked for. "Yes, and turn on the
light" is no yes but a new request, one word of refusal among the others makes the whole a no, and who asks back ("sure?")
has not said yes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
import re
import unicodedata

from .answer_words import DIGITS, NO, POLITE, YES

MASK = "••••"
FALLBACK = "en"
FALLBACK_YES = frozenset({"yes", "ok", "okay"})
"""Understood everywhere, besides the words of the language."""
PIN_WORDS = frozenset(
    {"pin", "code", "the", "is", "my", "and", "der", "die", "das", "ist", "lautet", "mein", "meine", "und"}
)

_ASKS = re.compile(r"[?？؟⸮՞\u037e]")
_GREEK_ASKS = re.compile(r";\s*$")
_APOSTROPHES = re.compile(r"['’`´]")
_ONE_BY_ONE = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff])")
"""Signs of scripts that write no blanks between words; phrases are made of them as of words."""
_PART = re.compile(r"\d+|[^\W\d]+")


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


def read(text: str, language: str, *, with_pin: bool = False) -> Answer:
    """Return what an answer says. With a PIN asked for, digits alone are a yes: the PIN decides."""
    words = list(_words(text))
    digits = ""
    if with_pin:
        spoken = _digits_of(language)
        digits = "".join(spoken.get(word) or _written(word) for word in words)
        words = [word for word in words if not (word.isdigit() or word in spoken or word in PIN_WORDS)]
    kinds = _kinds(words, language)
    if kinds is None:
        return Answer(kind=Kind.OTHER, digits=digits)
    if Kind.NO in kinds:
        return Answer(kind=Kind.NO, digits=digits)
    if digits or (Kind.YES in kinds and not _asks_back(text, language)):
        return Answer(kind=Kind.YES, digits=digits)
    return Answer(kind=Kind.OTHER, digits=digits)


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
    spoken = _digits_of(language)
    run: list[Digits] = []
    for match in _PART.finditer(text):
        word = _plain(match[0])
        if value := spoken.get(word) or _written(word):
            run.append(Digits(begin=match.start(), end=match.end(), value=value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _asks_back(text: str, language: str) -> bool:
    """Return whether a text is a question itself; who listens writes the mark of a raised voice."""
    is_greek = language.partition("-")[0].casefold() == "el"
    return _ASKS.search(text) is not None or (is_greek and _GREEK_ASKS.search(text) is not None)


def _words(text: str) -> Iterator[str]:
    """Yield the words as they are compared."""
    whole = unicodedata.normalize("NFKC", _APOSTROPHES.sub("", text))
    apart = "".join(sign if _is_of_a_word(sign) else " " for sign in whole)
    for word in _ONE_BY_ONE.sub(r" \1 ", apart).split():
        yield _plain(word)


def _is_of_a_word(sign: str) -> bool:
    """Return whether a sign is a part of a word; in many scripts vowels are marks, which are no letters."""
    return sign.isalnum() or sign == "_" or unicodedata.category(sign).startswith("M")


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold().replace("\u0307", "").replace("_", "")  # the dot of Turkish İ


def _written(word: str) -> str:
    """Return a number of any script in our digits, "" when it is none."""
    return "".join(str(unicodedata.digit(character)) for character in word) if word.isdigit() else ""


def _kinds(words: Sequence[str], language: str) -> set[Kind] | None:
    """Return which kinds of phrases make up the words, in whichever way; None when some belong to none.

    "Yes, do it" is "yes" and "do it", although "yes do" is a phrase as well.
    """
    phrases = _phrases(language.partition("-")[0].casefold())
    longest = max(len(phrase) for phrase in phrases)
    found: list[set[Kind] | None] = [set(), *([None] * len(words))]
    """By number of words from the first on."""
    for position, kinds in enumerate(found):
        if kinds is not None:
            for end in range(position + 1, min(position + longest, len(words)) + 1):
                if (kind := phrases.get(tuple(words[position:end]))) is not None:
                    found[end] = {*(found[end] or ()), *kinds, kind}
    return found[-1]


@cache
def _phrases(language: str) -> dict[tuple[str, ...], Kind]:
    """Return the phrases of a language; where one is in several tables, the refusal counts."""
    language = language if language in YES else FALLBACK
    table: dict[tuple[str, ...], Kind] = {}
    for kind, listed in (
        (Kind.OTHER, POLITE.get(language, ())),
        (Kind.YES, (*FALLBACK_YES, *YES[language])),
        (Kind.NO, (*NO[FALLBACK], *NO[language])),
    ):
        table |= dict.fromkeys(_split(listed), kind)
    return table


def _split(phrases: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for phrase in phrases:
        yield tuple(_words(phrase))


@cache
def _digits_of(language: str) -> dict[str, str]:
    """Return the number words of a language and of English."""
    named = (*DIGITS[FALLBACK], *DIGITS.get(language.partition("-")[0].casefold(), ()))
    return {_plain(word): str(index % 10) for index, words in enumerate(named) for word in words.split()}
