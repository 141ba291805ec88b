"""Messages that say something only together with one before them: "also the bed light", "make it twenty", "yes"."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
import re

from ..support.text import fold, words_of
from .data import code_of, data_of, letters, number_words
from .later import says_now
from .moods import mood_of
from .phrases import SelfQuestion, asked_of, begins_otherwise, is_question, is_remark, is_thanks

_LONG = 200  # characters; a longer message stands alone
_BEFORE = 2  # words before what a message goes on with: "oh, and"
_MOST = 8  # words that name something without saying what is to be done
_STATES = ("on", "off", "open", "closed", "up", "down", "locked", "unlocked", "playing", "paused", "stopped")

type _Wordings = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _EllipsisWords:
    markers: _Wordings
    """What a message goes on with: "and", "what about"; the longest first."""
    openers: frozenset[str]
    """First words with which a message adds to what was said: "with"."""
    thens: frozenset[str]
    """Words for a time that was said before."""
    niceties: _Wordings
    """What is only polite; the longest first."""
    too: _Wordings
    its: frozenset[str]
    choices: frozenset[str]
    """Words that choose between things: "the other one"."""
    orders: frozenset[str]
    acts: re.Pattern[str]
    verbs: frozenset[str]
    """Words that say what is to be done without naming anything: "louder"."""
    states: _Wordings
    units: frozenset[str]
    little: frozenset[str]
    """Words that name nothing."""


@lru_cache(maxsize=256)
def refers_back(text: str, language: str) -> bool:
    """Return whether a message names either nothing that is to be done, or nothing that it is done to; false where it says "now".

    What stands alone does not: "turn on the radio", "kitchen off", "louder". Never in a language whose data does not say how a
    sentence goes on.
    """
    code = code_of(language)
    if len(text) > _LONG or not data_of(code).later.now:
        return False
    said, words = words_of(text), _words_of(code)
    rest, marked = _without_markers(said, words)
    front = " ".join(said[: len(said) - len(rest)])
    if says_now(text, code) and not (rest and marked and says_now(front, code)):
        return False
    if not rest:
        return bool(said) and not is_thanks(text, code)
    if words.choices.issuperset(rest):
        return True
    if not words.thens.isdisjoint(said[1:]) and not _stands_alone(text, code, has_value=False):
        return True  # "and open the blinds then"
    if said[0] in words.openers:
        return True
    has_value = any(word not in words.its and _is_value(word, words, code) for word in rest)
    too = _says_too(said, words, code)
    if not marked and not too and _stands_alone(text, code, has_value=has_value):
        return False
    things = [word for word in rest if not _is_little(word, words, code)]
    if _is_act(rest, words):
        is_bound = has_value or not words.its.isdisjoint(rest) or _is_enclitic(rest[0], code)
        return too or (not things and is_bound)
    if marked or too:
        return True
    says_only_how = not has_value and not set(things) - words.verbs and not words.verbs.isdisjoint(rest)
    if len(rest) > _MOST or says_only_how:
        return False
    return not things or (not has_value and not _has(rest, words.states))


def names_nothing(text: str, language: str) -> bool:
    """Return whether a text has no word for something that could be done something to: "do it", "yes, but"."""
    code = code_of(language)
    return all(_is_little(word, _words_of(code), code) for word in words_of(text))


def _is_act(rest: Sequence[str], words: _EllipsisWords) -> bool:
    """Return whether words begin or end with what is to be done."""
    return rest[0] in words.orders or any(words.acts.fullmatch(word) for word in (rest[0], rest[-1]))


def _stands_alone(text: str, code: str, *, has_value: bool) -> bool:
    """Return whether a message asks, tells, thanks or complains."""
    if is_question(text, code) or begins_otherwise(text, code) or is_remark(text, code) or is_thanks(text, code):
        return True
    return asked_of(text, code) is SelfQuestion.UNDO or (not has_value and mood_of(text, code) is not None)


def _says_too(said: Sequence[str], words: _EllipsisWords, code: str) -> bool:
    """Return whether words say "too", and not "too dark"."""
    for one in words.too:
        for at in range(len(said) - len(one) + 1):
            behind = at + len(one)
            if said[at:behind] == one and (behind == len(said) or _is_little(said[behind], words, code)):
                return True
    return False


def _without_markers(said: tuple[str, ...], words: _EllipsisWords) -> tuple[tuple[str, ...], bool]:
    """Return words without what they go on with and what is only polite in front, and whether they go on with something."""
    rest, marked = said, False
    while rest:
        marker = next((one for one in words.markers if rest[: len(one)] == one), None)
        nice = next((one for one in words.niceties if rest[: len(one)] == one), None)
        if marker is None and nice is None:
            break
        marked |= marker is not None
        rest = rest[max(len(marker or ()), len(nice or ())) :]
    if not marked and said == rest:
        for at in range(1, min(_BEFORE, len(said) - 1) + 1):  # "oh, and the lamp"
            front = said[:at]
            if any(said[at : at + len(one)] == one for one in words.markers) and not _acts(front, words):
                return _without_markers(said[at:], words)[0], True
    return rest, marked


def _acts(said: Sequence[str], words: _EllipsisWords) -> bool:
    return _is_act(said, words) or _has(said, words.states)


def _is_value(word: str, words: _EllipsisWords, code: str) -> bool:
    return word[0].isdigit() or word in words.units or letters(word) in number_words(code)


def _is_little(word: str, words: _EllipsisWords, code: str) -> bool:
    """Return whether a word names nothing that something could be done to."""
    if word in words.little or word in words.orders or (word,) in words.states or _is_enclitic(word, code):
        return True
    return _is_value(word, words, code) or words.acts.fullmatch(word) is not None


def _is_enclitic(word: str, code: str) -> bool:
    """Return whether a word is a command with a pronoun at its end: "apágala"."""
    orders = _words_of(code).orders
    return any(word.endswith(one) and word.removesuffix(one) in orders for one in data_of(code).planning.enclitics)


def _has(said: Sequence[str], phrases: _Wordings) -> bool:
    whole = f" {' '.join(said)} "
    return any(f" {' '.join(phrase)} " in whole for phrase in phrases)


@cache
def _words_of(code: str) -> _EllipsisWords:
    data = data_of(code)

    def phrases(listed: Iterable[str]) -> _Wordings:
        return tuple(sorted({words_of(text) for text in listed} - {()}, key=len, reverse=True))

    def folded(listed: Iterable[str]) -> frozenset[str]:
        return frozenset(word for text in listed for word in words_of(text))

    listed = (
        data.fillers,
        data.harmless,
        data.courtesies,
        data.polite,
        data.prepositions,
        data.later.beside,
        data.yes,
        data.no,
    )
    again = [one for one in data.follow_ups.again if one not in data.courtesies or one in data.follow_ups.joins]
    return _EllipsisWords(
        markers=phrases((*again, *data.follow_ups.joins)),
        openers=folded(data.later.marks.get("with", ())),
        thens=folded(data.later.marks.get("then", ())),
        niceties=phrases((*data.polite, *data.courtesies, *data.yes, *data.no, *data.hesitations)),
        too=phrases(data.follow_ups.too),
        its=folded((*data.follow_ups.it, *data.follow_ups.one)),
        choices=folded(
            (*data.choices.other, *data.choices.last, *data.follow_ups.it, *data.follow_ups.one, *data.harmless)
        )
        | folded(text for listed in data.choices.ordinals for text in listed),
        orders=folded((*data.orders, *data.later.marks.get("orders", ()))),
        acts=re.compile("|".join(map(fold, data.follow_ups.acts)) or "(?!)"),
        verbs=folded(text for listed in data.verbs.values() for text in listed),
        states=phrases(text for state in _STATES for text in data.clauses.states.get(state, ())),
        units=folded(text for listed in data.units.values() for text in listed),
        little=folded(text for one in listed for text in one) | folded((*data.follow_ups.it, *data.follow_ups.one)),
    )
