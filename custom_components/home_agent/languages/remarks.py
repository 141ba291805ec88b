"""Sentences that say how something in the home is, and ask for nothing: "it's on in the kitchen", "still 25 degrees in the office"."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
import re

from ..support.text import MAX_TEXT, fold, words_of
from .data import code_of, data_of, letters, number_words
from .moods import MoodKind, mood_of
from .phrases import is_altered, is_asking, is_order, is_remark

_PARTS = re.compile(r"[,;:.!–—]\s+")
_CONTRACTED = re.compile(r"(?<=\w)['’](s|re)\b")
_PLURAL = re.compile(r"(?<=s)['’](?=\s)")
_ITS = re.compile(r"^((?:(?:oh|wow|now|well|so|hm|hey) )?)its\b")
_LONG = 4  # letters of a verb that is only in the sentences of commands; the shorter ones are "in" and "up"
_THERE = frozenset({"there", "here"})
_BETWEEN = frozenset({"at", "about", "around", "over", "under", "only", "all", "both", "up", "to"})
"""English words between "is" and a state or a value."""

type _Sayings = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RemarkWords:
    still: _Sayings
    again: _Sayings
    states: _Sayings
    has_states: bool
    units: frozenset[str]
    degrees: frozenset[str]
    asks_for: _Sayings
    """Wishes and what makes a request polite."""
    courtesies: _Sayings
    begins: frozenset[str]
    """First words of questions."""
    goes_on: _Sayings
    verbs: frozenset[str]
    strong: frozenset[str]
    """Verbs of commands that are no state and no thing."""


@cache
def _words_of(code: str) -> _RemarkWords:
    data = data_of(code)

    def phrases(listed: Iterable[str]) -> _Sayings:
        return frozenset(phrase for text in listed if (phrase := words_of(text)))

    sentences = [text for command in data.commands for text in command.sentences]
    states = phrases(text for listed in data.questions.states.values() for text in listed)
    states |= phrases(text for text in sentences if text.isalpha())
    kinds = {fold(word) for listed in data.verbs.values() for text in listed for word in text.split()}
    things = {fold(word) for listed in data.synonyms.values() for text in listed for word in text.split()}
    units = frozenset(fold(word) for listed in data.units.values() for text in listed for word in text.split())
    orders = {fold(word) for word in data.orders}
    said = {fold(word) for text in sentences for word in re.findall(r"\w+", text)}
    is_so = {phrase[0] for phrase in (*states, *phrases(data.still))}
    nouns = things | units | is_so
    return _RemarkWords(
        still=phrases(data.still),
        again=phrases(data.again),
        states=states,
        has_states=bool(data.questions.states),
        units=units,
        degrees=frozenset(word for text in data.moods.degrees for word in words_of(text)),
        asks_for=phrases((*data.polite, *data.moods.wishes)),
        courtesies=phrases({*data.courtesies} & {*data.moods.degrees}) - phrases((*data.still, *data.again)),
        begins=frozenset(
            phrase[0] for listed in data.questions.begins.values() for text in listed if (phrase := words_of(text))
        ),
        goes_on=phrases((*data.follow_ups.again, *data.follow_ups.joins)) - phrases(data.still),
        verbs=frozenset((orders | kinds | {word for word in said if len(word) >= _LONG}) - nouns),
        strong=frozenset(orders - kinds - is_so),
    )


def tells(text: str, language: str) -> bool:
    """Return whether a sentence only says how things are, so that nothing is to be done; never in a language without words for it."""
    code = code_of(language)
    if (
        not data_of(code).still
        or len(text) > MAX_TEXT
        or is_asking(text, code)
        or is_altered(text, code, (), asks=False)
    ):
        return False
    mood = mood_of(text, code)
    if mood is not None and mood.kind is not MoodKind.REMARK:
        return False
    words = _words_of(code)
    told = False
    for part in _PARTS.split(text.strip(" .!").casefold()):
        if is_order(part, code):
            return False
        if _is_stated(part, code, words) or _is_so(words_of(part), words, code):
            told = True
        elif _has(words_of(part), words.states) or _has_value(words_of(part), words, code):
            return False
    return told


def _is_stated(text: str, code: str, words: _RemarkWords) -> bool:
    """Return whether an English text has "is", also a short one, with a state or a value after it: no possessive has."""
    if code != "en":
        return False
    text = _ITS.sub(r"\1it's", _PLURAL.sub("", text))
    short = frozenset(len(words_of(text[: match.start()])) for match in _CONTRACTED.finditer(text))
    full = _CONTRACTED.sub(lambda match: " is" if match[1] == "s" else " are", text)
    said = words_of(full)
    if not is_remark(full, code) or not words.strong.isdisjoint(said) or _has(said, words.asks_for):
        return False
    shift = 0
    for at, word in enumerate(said):
        if word not in ("is", "are"):
            continue
        is_short = at - shift in short
        shift += is_short
        rest = said[at + 1 :]
        if not is_short or said[at - 1] in _THERE:
            around = rest if is_short else said
            if _has(around, words.states) or _has_value(around, words, code):
                return True
            continue
        while rest and (rest[0] in _BETWEEN or rest[0] in words.degrees or (rest[0],) in words.still):
            if (rest[0],) in words.states:
                break
            rest = rest[1:]
        if any(rest[: len(state)] == state for state in words.states) or _has_value(rest[:1], words, code):
            return True
    return False


def _is_so(said: tuple[str, ...], words: _RemarkWords, code: str) -> bool:
    """Return whether words without a verb say that a state or a value lasts, or is there again."""
    if not words.verbs.isdisjoint(said) or _has(said, words.asks_for) or not said or said[0] in words.begins:
        return False
    if _has(said, words.courtesies) or any(said[: len(one)] == one for one in words.goes_on):
        return False
    is_still, is_again = _has(said, words.still), _has(said, words.again)
    if not is_still and not is_again:
        return False
    if not is_still and any(
        said[-len(state) - len(one) :] in (one + state, state + one) for one in words.again for state in words.states
    ):
        return False  # "lights off again" wants it
    least = 3 if not words.has_states else 2
    return len(said) >= least and (not words.has_states or _has(said, words.states) or _has_value(said, words, code))


def _has(said: Sequence[str], phrases: Collection[tuple[str, ...]]) -> bool:
    whole = f" {' '.join(said)} "
    return any(f" {' '.join(phrase)} " in whole for phrase in phrases)


def _has_value(said: Sequence[str], words: _RemarkWords, code: str) -> bool:
    return any(word[0].isdigit() or word in words.units or letters(word) in number_words(code) for word in said)
