"""Numbers, units and how long something lasts, as words of a text: "two and a half hours", "90 Sekunden".

The words are data (`times` in a language's file); English is used where a language has none. Each reading looks a fixed number of
words ahead, so that the time taken grows with the length of the text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
import re

from ..support.text import DASHES, Token, tokens
from .data import ENGLISH, data_of, number_words

type ReadAt[T] = tuple[T, int] | None
"""What stands at a place of a text, and the place behind it."""

UNITS = ("second", "minute", "hour", "day", "week", "month", "year")
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Of the units that are always as long."""

_MOST = 100_000  # of any unit
_MOST_JOINED = 7  # words and dashes of one number: "ein und zwanzig", "quatre-vingt-dix-sept"
_OF_OTHERS = ("units", "clock", "values", "sides")
"""What stands behind a number that is no rest of a length."""
_MOST_LEAD = 3  # words in front of a span that belong to it: "in the"
_JOINS = frozenset("'’`´.")
"""What stands within a word: "o'clock", "p.m."."""
_PART = re.compile(r"\d+|\D+")
_PLAIN = re.compile(r"\d{1,12}(?:[.,]\d{1,12})?")


@dataclass(frozen=True, slots=True)
class Named[T]:
    """A value that a text names, and which words say so."""

    value: T
    first: int
    behind: int

    @property
    def spots(self) -> range:
        """The numbers of these words."""
        return range(self.first, self.behind)


def words_in(text: str) -> list[Token]:
    """Return the words, numbers and signs of a text, where "8h" is two, and "p.m." and "o'clock" are one."""
    found: list[Token] = []
    for token in tokens(text, signs=True):
        last = found[-1] if found else None
        if last and last.word[-1].isalpha() and token.word[0].isalpha() and text[last.end : token.start] in _JOINS:
            found[-1] = replace(last, word=last.word + token.word, end=token.end)
        elif token.word.isalnum() and not token.word.isdigit() and len(token.word) == token.end - token.start:
            found += [
                Token(part[0], start=token.start + part.start(), end=token.start + part.end())
                for part in _PART.finditer(token.word)
            ]
        else:
            found.append(token)
    return found


_QUARTER = "15"  # minutes
_MOST_QUARTERS = 12
_AND_PARTS = (("and_three_quarters", 0.75), ("and_half", 0.5), ("and_quarter", 0.25))

type _TimePhrases = Mapping[str, Sequence[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True, slots=True)
class _TimeWords:
    lists: Mapping[str, _TimePhrases]
    numbers: Mapping[str, int]
    fractions: Mapping[str, float]
    thousands: str


_ELIDED = re.compile(
    r"(?<![\w'’])(?:[cdjlmnst]|qu|jusqu|lorsqu|quand|un|mezz|quest|(?:d|n|s|qu)?[aeu]ll)['’](?=\w)", re.IGNORECASE
)


def unelided(text: str) -> str:
    """Return a text with a blank for the apostrophe of an elision: "d'ici" is two words. Places stay the same."""
    return _ELIDED.sub(lambda match: f"{match[0][:-1]} ", text)


@cache
def time_words(code: str, *, apart: bool = False) -> _TimeWords:
    """Return the words of a language, or of English if it has none. Reads a file.

    `apart` for a text that is `unelided`, and with the marks of what is to be done later.
    """
    as_said = unelided if apart else str
    if not (own := data_of(code).times):
        code, own = ENGLISH, data_of(ENGLISH).times
    lists: dict[str, _TimePhrases] = {}
    marks = data_of(code).later.marks if apart else {}
    for name, value in {**marks, **own}.items():
        if name in ("numbers", "fractions", "thousands"):
            continue
        rows = value.items() if isinstance(value, Mapping) else [("", value)]
        by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for key, phrases in rows:
            for phrase in phrases:
                words = tuple(word.word for word in words_in(as_said(phrase)))
                by_first.setdefault(words[0], []).append((words, key))
        lists[name] = {first: sorted(found, key=lambda row: -len(row[0])) for first, found in by_first.items()}
    said = {
        name: {
            word.word: key for key, listed in own.get(name, {}).items() for text in listed for word in words_in(text)
        }
        for name in ("numbers", "fractions")
    }
    more = {word: int(key) for word, key in said["numbers"].items()}
    fractions = {word: float(key) for word, key in said["fractions"].items()}
    numbers = {word: number for word, number in number_words(code).items() if number >= 0}
    hundreds = {word: 100 for word, number in number_words(code).items() if number < 0}
    return _TimeWords(lists, {**hundreds, **numbers, **more}, fractions, own.get("thousands", ""))


@dataclass(frozen=True, slots=True)
class NumberReader:
    """Reads numbers, units and durations among the words of one text."""

    words: Sequence[Token]
    language: _TimeWords

    def says(self, name: str, at: int) -> ReadAt[str]:
        """Return the key of the longest phrase of a list that stands at a place."""
        if at >= len(self.words):
            return None
        for phrase, key in self.language.lists.get(name, {}).get(self.words[at].word, ()):
            end = at + len(phrase)
            if end <= len(self.words) and all(
                one.word == word for one, word in zip(self.words[at:end], phrase, strict=True)
            ):
                return key, end
        return None

    def each[T](self, read: Callable[[int], ReadAt[T]], *, lead: bool = True) -> Iterator[Named[T]]:
        """Yield each value in the text."""
        at = done = 0
        while at < len(self.words):
            if vague := self.says("unclear", at):
                at = done = vague[1]
                continue
            if (found := read(at)) is None:
                at += 1
                continue
            value, behind = found
            first = at
            for _ in range(_MOST_LEAD if lead else 0):
                if first > done and self.says("lead", first - 1) == ("", first):
                    first -= 1
            yield Named(value, first, behind)
            at = done = behind

    def number(self, at: int) -> ReadAt[float]:
        """Return the number at a place: digits, or words for one up to some thousands."""
        if at >= len(self.words):
            return None
        word, numbers = self.words[at], self.language.numbers
        if word.is_number:
            text, thousands = word.word, self.language.thousands
            if thousands and re.fullmatch(rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+", text):
                text = text.replace(thousands, "")
            return (float(text.replace(",", ".")), at + 1) if _PLAIN.fullmatch(text) else None
        joined, best = "", None
        for place in range(at, min(at + _MOST_JOINED, len(self.words))):
            part = self.words[place].word
            if part in DASHES and joined:
                continue
            if not part.isalpha():
                break
            joined += part
            if (known := numbers.get(joined)) is not None:
                best = float(known), place + 1
        if best is None and (part_of := self.language.fractions.get(word.word)) is not None and part_of > 1:
            return part_of, at + 1
        return best

    def signed(self, at: int) -> ReadAt[float]:
        """Return the number at a place, with its sign."""
        if (minus := self.says("minus", at)) and (found := self.number(minus[1])) is not None:
            return -found[0], found[1]
        if (
            self.words[at].word in DASHES
            and at + 1 < len(self.words)
            and self.words[at + 1].start == self.words[at].end
            and (at == 0 or self.words[at - 1].end < self.words[at].start)
            and (found := self.number(at + 1)) is not None
        ):
            return -found[0], found[1]
        return self.number(at)

    def count(self, at: int) -> ReadAt[tuple[float, str]]:
        """Return how many of which unit: "24 h", "an hour", "half an hour", "two and a half hours"."""
        if (half := self._half(at)) is not None and (unit := self._unit_behind(half[1])) is not None:
            return (half[0], unit[0]), unit[1]
        if single := self.says("single", at):
            part, behind = self._and_part(single[1])
            return (1.0 + part, single[0]), behind
        if (pair := self.says("pair", at)) and (unit := self.says("units", pair[1])):
            return (2.0, unit[0]), unit[1]
        one = self.says("one", at)
        if one is not None and (half := self._half(one[1])) is not None and (unit := self.says("units", half[1])):
            return (half[0], unit[0]), unit[1]
        if minutes := self.says("minutes", one[1] if one else at):
            return (float(minutes[0]), "minute"), minutes[1]
        found = self.number(at)
        if one is not None and (found is None or one[1] > found[1]):
            found = 1.0, one[1]
        if found is None:
            return None
        number, behind = found
        if (each := self.says("minutes", behind)) and each[0] == _QUARTER and 1 < number <= _MOST_QUARTERS:
            return (number * float(each[0]), "minute"), each[1]  # "vijf kwartier"
        if (more := self.says("and_half", behind)) and (unit := self._unit_behind(more[1])) is not None:
            return (number + 0.5, unit[0]), unit[1]
        if (unit := self.says("units", behind)) is None or number > _MOST:
            return None
        part, behind = self._and_part(unit[1])
        return (number + part, unit[0]), behind

    def _and_part(self, at: int) -> tuple[float, int]:
        """Return the part of one more of a unit that is said behind it, and the place behind: "and a half"."""
        for name, part in _AND_PARTS:
            if more := self.says(name, at):
                return part, more[1]
        return 0.0, at

    def _half(self, at: int) -> ReadAt[float]:
        """Return a half, or one and a half, that a unit follows."""
        if at < len(self.words) and (part := self.language.fractions.get(self.words[at].word)) is not None:
            return part, at + 1
        return None

    def _unit_behind(self, at: int) -> ReadAt[str]:
        if one := self.says("one", at):
            at = one[1]
        return self.says("units", at)

    def duration(self, at: int) -> ReadAt[timedelta]:
        """Return a duration of one unit or several, each smaller than the one before: "1 h 30 min"."""
        total, last, behind = 0.0, len(UNITS), at
        while (found := self.count(behind)) is not None:
            (number, unit), place = found
            if unit not in SECONDS or UNITS.index(unit) >= last:
                break
            total, last, behind = total + number * SECONDS[unit], UNITS.index(unit), place
            if (joined := self.says("joins", behind)) and self.count(joined[1]) is not None:
                behind = joined[1]
        if last < len(UNITS) and UNITS[last] in ("minute", "hour"):
            joined = self.says("joins", behind)
            more = self.number(joined[1] if joined else behind)
            if more is not None and 10 <= more[0] < 60 and not any(self.says(name, more[1]) for name in _OF_OTHERS):
                total, behind = total + more[0] * SECONDS[UNITS[last - 1]], more[1]  # "trois minutes trente"
        return (timedelta(seconds=total), behind) if behind > at else None

    def skip(self, name: str, at: int) -> int:
        """Return the place behind a phrase of a list, or the same place if none stands there."""
        found = self.says(name, at)
        return found[1] if found else at

    def ordinal(self, at: int) -> ReadAt[int]:
        """Return the day of a month at a place."""
        found = self.ordinal_word(at) or self.number(at)
        if found is None or not found[0].is_integer() or not 1 <= found[0] <= 31:
            return None
        ending = self.says("ordinal_endings", found[1])
        return int(found[0]), ending[1] if ending else found[1]

    def ordinal_word(self, at: int) -> ReadAt[float]:
        """Return the number of an ordinal that is a word: "third"."""
        found = self.says("ordinals", at)
        return (float(found[0]), found[1]) if found is not None and found[0].isdigit() else None
