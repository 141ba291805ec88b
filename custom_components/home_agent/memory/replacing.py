"""Whether a new memory makes an older one untrue: "we moved the bed to the attic" after "the bed is in the bedroom".

Told by words: both are about the same, and the new one says that something has changed (`memory` in the data of a language).
What is about the same shares two words that mean something, or one and a value of the same kind: a day, a time, a number. What is
not clear stays side by side; a model that extracted the new one may know better, and says so itself (`Draft.replaces`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
import re

from ..languages.claims import any_word
from ..languages.data import ENGLISH, code_of, data_of
from ..languages.inflection import stems_of
from ..support.text import fold, likeness, normalized, runs
from .filters import plain
from .model import Draft, Memory

_ALIKE = 0.8  # from which likeness on two words are forms of one
_BOTH = 2  # words that two memories have in common when they are about the same
_MOST = 60  # words that are compared
_SHORT = 2  # letters of a word that says little: "am"
_CLOCK = re.compile(r"\b\d{1,2}[:.]\d{2}\b")
_DIGITS = re.compile(r"(?<![\d:.])\d+(?![\d:]|\.\d)")


@dataclass(frozen=True, slots=True)
class _Said:
    """A memory as it is compared."""

    words: tuple[str, ...]
    """Folded, those that mean something, in their order."""
    kinds: frozenset[str]
    """Which kinds of values it has: `date`, `clock`, `number`, and frames of the language."""
    changes: bool
    begins_with_change: bool
    """It begins with what happened, not with what it is about: "sold the car"."""


def makes_untrue(new: Draft, old: Memory) -> bool:
    """Return whether a new memory makes an older one untrue, as far as words can tell."""
    return replaces(new.content, old.content, new.language)


def replaces(new: str, old: str, language: str) -> bool:
    """Return whether one sentence makes an older one untrue; never without a word that says so."""
    code = code_of(language)
    now, before = _said(new, code), _said(old, code)
    if not now.changes or not now.words or not before.words:
        return False
    shared = [place for place, word in enumerate(before.words) if any(_is_form(word, one, code) for one in now.words)]
    if not shared:
        return _same_speaker(new, old, code) and _is_about(now, before, code)
    subject = before.words[0]
    own = now.words[0]
    about_it = 0 in shared or any(_is_form(own, word, code) for word in before.words)
    if not about_it and not now.begins_with_change:
        return False
    if 0 in shared and len(before.words) > 1 and _other_name(old, new, subject, code):
        return False
    if len(shared) >= _BOTH or now.begins_with_change:
        return True
    if 0 not in shared:  # not what it is about but what was said of it
        return True
    return not now.kinds.isdisjoint(before.kinds)


def differs(one: str, other: str, language: str) -> bool:
    """Return whether two sentences that are alike say different things, as far as words can tell.

    Each has a word that the other has not (another person, another thing), they differ in a number or a negation, or say the same
    words of each other in another order ("fish but no meat"). One that only says more is the richer one.
    """
    code = code_of(language)
    texts = [[word for run in runs(plain(text))[:_MOST] if (word := fold(run))] for text in (one, other)]
    numbers = [{word for word in words if word[0].isdigit()} for words in texts]
    if numbers[0] != numbers[1] and numbers[0] and numbers[1]:
        return True
    denials = [_denials(code) & set(words) for words in texts]
    if bool(denials[0]) != bool(denials[1]):
        return True
    fillers = _fillers(code) - _denials(code)
    first, second = ([word for word in words if word not in fillers and not word[0].isdigit()] for words in texts)
    left, places, missing = dict(enumerate(second)), list[int](), 0
    for word in first:
        place = next((at for at, known in left.items() if _is_form(word, known, code)), None)
        if place is None:
            missing += 1
        else:
            places.append(place)
            del left[place]
    return bool(missing and left) or places != sorted(places)


def _same_speaker(one: str, other: str, code: str) -> bool:
    """Return whether two sentences begin with the same "I" or "we"."""
    first, second = runs(plain(one))[:1], runs(plain(other))[:1]
    return first == second and bool(first) and fold(first[0]) in _fillers(code)


def _is_about(now: _Said, before: _Said, code: str) -> bool:
    """Return whether all that a new sentence says is on one side of a life, and the older one is on the same."""
    frames = {name: re.compile(pattern) for name, pattern in _frames(code)}
    sides = now.kinds & before.kinds & frames.keys()
    telling = [word for word in now.words if len(word) > _SHORT]
    return bool(telling) and any(all(frames[name].fullmatch(word) for word in telling) for name in sides)


def _other_name(old: str, new: str, subject: str, code: str) -> bool:
    """Return whether two memories begin with the same title and another name: "Oma Inge", "Oma Hilde"."""
    one, other = _named(old, subject, code), _named(new, subject, code)
    return bool(one and other) and not _is_form(one, other, code)


def _named(text: str, title: str, code: str) -> str:
    """Return the folded name behind a title, if there is one."""
    listed = re.findall(r"[^\W\d_]+", text)
    for word, following in pairwise(listed):
        if _is_form(fold(normalized(word)), title, code) and word[0].isupper() and following[0].isupper():
            return fold(normalized(following))
    return ""


@lru_cache(maxsize=512)
def _said(text: str, code: str) -> _Said:
    data, said = data_of(code), plain(text)
    changes = _changes(code)
    rest = changes.sub(" ", said)
    first = changes.search(said)
    fillers = _fillers(code)
    listed = [word for run in runs(rest) if (word := fold(run)) not in fillers and (len(word) > 1 or word.isdigit())]
    found = {
        name
        for name, pattern in (
            ("clock", _CLOCK),
            ("number", _DIGITS),
            *((name, re.compile(one)) for name, one in _frames(code)),
        )
        if pattern.search(said)
    }
    if _dates(code).search(said):
        found.add("date")
    words = tuple(dict.fromkeys(word for word in listed[:_MOST] if not word.isdigit()))
    before_first = [word for run in runs(said[: first.start()]) if (word := fold(run))] if first else []
    begins = first is not None and not [word for word in before_first if word not in fillers]
    return _Said(words, frozenset(found), first is not None, begins and bool(data.memory.changes))


def _is_form(one: str, other: str, code: str) -> bool:
    if one == other or likeness(one, other) >= _ALIKE:
        return True
    return not stems_of(code, one).isdisjoint(stems_of(code, other)) if data_of(code).inflection.endings else False


@cache
def _changes(code: str) -> re.Pattern[str]:
    listed: Sequence[str] = data_of(code).memory.changes or data_of(ENGLISH).memory.changes
    return any_word(listed)


@cache
def _denials(code: str) -> frozenset[str]:
    """Return folded words that turn a sentence into its opposite."""
    return frozenset(fold(normalized(word)) for word in data_of(code).memory.negations)


@cache
def _dates(code: str) -> re.Pattern[str]:
    return any_word(data_of(code).memory.dates)


@cache
def _frames(code: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, any_word(words).pattern) for name, words in data_of(code).memory.frames.items())


@cache
def _fillers(code: str) -> frozenset[str]:
    return frozenset(fold(normalized(word)) for word in data_of(code).fillers)
