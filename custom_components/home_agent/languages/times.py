"""What moments and spans of time a text names, in words: "the last two hours", "seit gestern Abend", "с 8 до 10".

The words are data (`times` in a language's file); English is used where a language has none. Every function reads a text from
left to right once and looks a fixed number of words ahead, so that the time taken grows with the length of the text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
import re

from ..support.text import DASHES, Token, tokens
from .data import ENGLISH, TimeWords, code_of, data_of, number_words

type ReadAt[T] = tuple[T, int] | None
"""What stands at a place of a text, and the place behind it."""

DAYS = ("day_before_yesterday", "yesterday", "today", "tomorrow", "day_after_tomorrow")
PARTS: Mapping[str, tuple[int, int]] = {
    "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (18, 24), "night": (22, 30),
}  # fmt: skip
"""Hours of a day from which and to which a part of it lasts; the night ends on the next day."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
UNITS = ("second", "minute", "hour", "day", "week", "month", "year")
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Of the units that are always as long."""

_CLOCK_UNITS = frozenset({"second", "minute", "hour"})
_TODAY = DAYS.index("today")
_MOST = 100_000  # of any unit; more is no span of time that anybody asks for
_MOST_JOINED = 7  # words and dashes of one number: "ein und zwanzig", "quatre-vingt-dix-sept"
_MOST_LEAD = 3  # words in front of a span that belong to it: "in the"
_NOON, _HALF_DAY = 12, 12
_MINUTES = 60
_JOINS = frozenset("'’`´.")
"""What stands within a word: "o'clock", "p.m."."""
_PART = re.compile(r"\d+|\D+")
_PLAIN = re.compile(r"\d{1,12}(?:[.,]\d{1,12})?")
_CLOCK = re.compile(r"([01]?\d|2[0-4])[:.]([0-5]\d)(?::([0-5]\d))?")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{4}|\d{2}))?")
_CENTURY = 2000


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time that a text names, from `start` to before `end`, and which words say so."""

    start: datetime
    """Aware, in the time zone that was given; so is `end`."""
    end: datetime
    first: int = 0
    """The first of the words that say so."""
    behind: int = 0
    """The word behind the last of them."""


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


def spans_in(text: str, language: str, now: datetime, *, ahead: bool = False) -> list[Span]:
    """Return the spans of time that a text names, in its order; `now` is aware, and in the time zone that days are of.

    Days are from midnight to midnight, weeks begin on Monday. What rolls ("the last two hours") and what is said with "since" ends now.
    A weekday or a month by itself is the last one; with `ahead` the next one.
    """
    return _TimeReader(words_in(text), language, now, ahead=ahead).spans()


def durations_in(text: str, language: str) -> list[Named[timedelta]]:
    """Return how long something lasts that a text names: "an hour and a half", "90 Sekunden". Months and years are no such."""
    return _TimeReader(words_in(text), language, _SOME_DAY).durations()


def times_in(text: str, language: str) -> list[Named[time]]:
    """Return the times of day that a text names. Without "pm" or a part of the day a time is what a clock of 24 hours shows."""
    return _TimeReader(words_in(text), language, _SOME_DAY).times()


def dates_in(text: str, language: str, now: datetime, *, ahead: bool = True) -> list[Named[date]]:
    """Return the days that a text names: "tomorrow", "am 3. Mai", "2026-05-03". One without a year is the next, or the last."""
    return _TimeReader(words_in(text), language, now, ahead=ahead).dates()


def numbers_in(words: Sequence[Token], language: str) -> list[Named[float]]:
    """Return the numbers among the words of a text, in digits or spelled out up to some thousands, also below zero."""
    return _TimeReader(words, language, _SOME_DAY).numbers()


def unit_at(words: Sequence[Token], place: int, language: str) -> bool:
    """Return whether a unit of time stands at a place among the words of a text."""
    return _TimeReader(words, language, _SOME_DAY).says("units", place) is not None


_SOME_DAY = datetime(2000, 1, 3)


type _TimePhrases = Mapping[str, Sequence[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True, slots=True)
class _TimeWords:
    """The words of a language as they are looked up."""

    lists: Mapping[str, _TimePhrases]
    numbers: Mapping[str, int]
    fractions: Mapping[str, float]
    thousands: str


@cache
def _known(code: str) -> _TimeWords:
    own = data_of(code).times
    if own is None:
        code, own = ENGLISH, data_of(ENGLISH).times
    assert own is not None  # the schema wants them of English
    lists: dict[str, _TimePhrases] = {}
    for name in TimeWords.__slots__:
        if name in ("numbers", "fractions", "thousands"):
            continue
        value = getattr(own, name)
        rows = value.items() if isinstance(value, Mapping) else [("", value)]
        by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for key, phrases in rows:
            for phrase in phrases:
                words = tuple(word.word for word in words_in(phrase))
                by_first.setdefault(words[0], []).append((words, key))
        lists[name] = {first: sorted(found, key=lambda row: -len(row[0])) for first, found in by_first.items()}
    more = {word.word: int(key) for key, listed in own.numbers.items() for said in listed for word in words_in(said)}
    fractions = {
        word.word: float(key) for key, listed in own.fractions.items() for said in listed for word in words_in(said)
    }
    numbers = {word: number for word, number in number_words(code).items() if number >= 0}
    hundreds = {word: 100 for word, number in number_words(code).items() if number < 0}
    return _TimeWords(lists, {**hundreds, **numbers, **more}, fractions, own.thousands)


class _TimeReader:
    """Reads the words of one text."""

    def __init__(self, words: Sequence[Token], language: str, now: datetime, *, ahead: bool = False) -> None:
        """Take the words; `now` is what "today" and "ago" start from."""
        self._words, self._now, self._ahead = words, now, ahead
        self._language = _known(code_of(language))

    def spans(self) -> list[Span]:
        """Return all spans, none within another."""
        found: list[Span] = []
        for (start, end), first, behind in self._each(self._span):
            joined = first and self.says("joins", first - 1) is not None
            if joined or not first or self.says("to", first - 1) is None:  # "until yesterday" has no beginning
                found.append(Span(start, end, first, behind))
        return found

    def durations(self) -> list[Named[timedelta]]:
        """Return all durations."""
        return [Named(value, first, behind) for value, first, behind in self._each(self._duration)]

    def times(self) -> list[Named[time]]:
        """Return all times of day."""
        return [Named(value, first, behind) for value, first, behind in self._each(self._time_alone)]

    def dates(self) -> list[Named[date]]:
        """Return all days."""
        return [Named(value, first, behind) for value, first, behind in self._each(self._date)]

    def numbers(self) -> list[Named[float]]:
        """Return all numbers."""
        return [Named(value, first, behind) for value, first, behind in self._each(self._signed, lead=False)]

    def says(self, name: str, at: int) -> ReadAt[str]:
        """Return the key of the longest phrase of a list that stands at a place."""
        if at >= len(self._words):
            return None
        for phrase, key in self._language.lists[name].get(self._words[at].word, ()):
            end = at + len(phrase)
            if end <= len(self._words) and all(
                one.word == word for one, word in zip(self._words[at:end], phrase, strict=True)
            ):
                return key, end
        return None

    def _each[T](self, read: Callable[[int], ReadAt[T]], *, lead: bool = True) -> Iterator[tuple[T, int, int]]:
        at = done = 0
        while at < len(self._words):
            if (vague := self.says("unclear", at)) is not None:
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
            yield value, first, behind
            at = done = behind

    # Numbers

    def _number(self, at: int) -> ReadAt[float]:
        """Return the number at a place: digits, or words for one up to some thousands."""
        if at >= len(self._words):
            return None
        word, numbers = self._words[at], self._language.numbers
        if word.is_number:
            text, thousands = word.word, self._language.thousands
            if thousands and re.fullmatch(rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+", text):
                text = text.replace(thousands, "")
            return (float(text.replace(",", ".")), at + 1) if _PLAIN.fullmatch(text) else None
        joined, best = "", None
        for place in range(at, min(at + _MOST_JOINED, len(self._words))):
            part = self._words[place].word
            if part in DASHES and joined:
                continue
            if not part.isalpha():
                break
            joined += part
            if (known := numbers.get(joined)) is not None:
                best = float(known), place + 1
        if best is None and (part_of := self._language.fractions.get(word.word)) is not None and part_of > 1:
            return part_of, at + 1
        return best

    def _signed(self, at: int) -> ReadAt[float]:
        if (minus := self.says("minus", at)) is not None and (found := self._number(minus[1])) is not None:
            return -found[0], found[1]
        if (
            self._words[at].word in DASHES
            and at + 1 < len(self._words)
            and self._words[at + 1].start == self._words[at].end
            and (at == 0 or self._words[at - 1].end < self._words[at].start)
            and (found := self._number(at + 1)) is not None
        ):
            return -found[0], found[1]
        return self._number(at)

    def _count(self, at: int) -> ReadAt[tuple[float, str]]:
        """Return how many of which unit: "24 h", "an hour", "half an hour", "two and a half hours"."""
        if (half := self._half(at)) is not None and (unit := self._unit_behind(half[1])) is not None:
            return (half[0], unit[0]), unit[1]
        one = self.says("one", at)
        if one is not None and (half := self._half(one[1])) is not None and (unit := self.says("units", half[1])):
            return (half[0], unit[0]), unit[1]
        if (minutes := self.says("minutes", one[1] if one else at)) is not None:
            return (float(minutes[0]), "minute"), minutes[1]
        found = self._number(at)
        if found is None and one is not None:
            found = 1.0, one[1]
        if found is None:
            return None
        number, behind = found
        if (more := self.says("and_half", behind)) is not None and (unit := self._unit_behind(more[1])) is not None:
            return (number + 0.5, unit[0]), unit[1]
        if (unit := self.says("units", behind)) is None or number > _MOST:
            return None
        behind = unit[1]
        if (more := self.says("and_half", behind)) is not None:
            number, behind = number + 0.5, more[1]
        return (number, unit[0]), behind

    def _half(self, at: int) -> ReadAt[float]:
        """Return a half, or one and a half, that a unit follows."""
        if at < len(self._words) and (part := self._language.fractions.get(self._words[at].word)) is not None:
            return part, at + 1
        return None

    def _unit_behind(self, at: int) -> ReadAt[str]:
        if (one := self.says("one", at)) is not None:
            at = one[1]
        return self.says("units", at)

    def _duration(self, at: int) -> ReadAt[timedelta]:
        """Return a duration of one unit or several, each smaller than the one before: "1 h 30 min"."""
        total, last, behind = 0.0, len(UNITS), at
        while (found := self._count(behind)) is not None:
            (number, unit), place = found
            if unit not in SECONDS or UNITS.index(unit) >= last:
                break
            total, last, behind = total + number * SECONDS[unit], UNITS.index(unit), place
            if (joined := self.says("joins", behind)) is not None and self._count(joined[1]) is not None:
                behind = joined[1]
        return (timedelta(seconds=total), behind) if behind > at else None

    # Times and days

    def _clock_time(self, at: int, *, told: bool = False, is_bound: bool = False) -> ReadAt[time]:
        """Return the time of day at a place; `told` where a word in front of it says that it is one.

        It `is_bound` where it may begin or end a span: "from 8 to 10" is not eight minutes to ten.
        """
        if (alone := self.says("moments", at)) is not None:
            return time(_NOON if alone[0] == "noon" else 0), alone[1]
        if (found := self._spoken_time(at, is_bound=is_bound)) is not None:
            hour, minute, behind = found
            is_told = True
        elif at < len(self._words) and (match := _CLOCK.fullmatch(self._words[at].word)) is not None:
            hour, minute, behind = int(match[1]), int(match[2]), at + 1
            is_told = told or ":" in match[0]
            if (word := self.says("clock", behind)) is not None:
                is_told, behind = True, word[1]
        elif (number := self._number(at)) is not None and number[0].is_integer() and 0 <= number[0] <= 2 * _HALF_DAY:
            hour, minute, behind = int(number[0]), 0, number[1]
            is_told = told
            if (word := self.says("clock", behind)) is not None:
                if not told and self.says("units", behind) is not None and self.says("halves", word[1]) is None:
                    return None  # in Russian "7 часов" is how long, unless more is said
                is_told, behind = True, word[1]
                if (more := self._number(behind)) is not None and 0 <= more[0] < _MINUTES and more[0].is_integer():
                    is_other = self.says("units", more[1]) is not None or self.says("clock", more[1]) is not None
                    minute, behind = (minute, behind) if is_other else (int(more[0]), more[1])
            elif self.says("units", behind) is not None and self.says("halves", behind) is None:
                return None  # how long, not when
        else:
            return None
        if (half := self.says("halves", behind)) is not None and 0 < hour <= _HALF_DAY:
            hour, behind, is_told = hour % _HALF_DAY + (_HALF_DAY if half[0] == "pm" else 0), half[1], True
        if not is_told or hour > 2 * _HALF_DAY or (hour == 2 * _HALF_DAY and minute):
            return None
        return time(hour % (2 * _HALF_DAY), minute), behind

    def _spoken_time(self, at: int, *, is_bound: bool) -> tuple[int, int, int] | None:
        """Return hour, minute and the place behind of "half past seven", "Viertel vor acht", "ten to nine"."""
        if (half := self.says("half_to", at)) is not None and (hour := self._hour(half[1])) is not None:
            return (hour[0] - 1) % (2 * _HALF_DAY), 30, hour[1]
        if (quarters := self.says("three_quarters_to", at)) is not None and (hour := self._hour(quarters[1])):
            return (hour[0] - 1) % (2 * _HALF_DAY), 45, hour[1]
        if (half := self.says("half_past", at)) is not None and (hour := self._hour(half[1])) is not None:
            return hour[0], 30, hour[1]
        minutes = (15.0, quarter[1]) if (quarter := self.says("quarter", at)) is not None else self._number(at)
        if minutes is None or not 0 < minutes[0] < _MINUTES or minutes[0] % 5:
            return None
        if quarter is None and (is_bound or self.says("units", minutes[1]) is not None):
            return None
        if (side := self.says("sides", minutes[1])) is None or (hour := self._hour(side[1])) is None:
            return None
        if side[0] == "past":
            return hour[0], int(minutes[0]), hour[1]
        return (hour[0] - 1) % (2 * _HALF_DAY), _MINUTES - int(minutes[0]), hour[1]

    def _hour(self, at: int) -> ReadAt[int]:
        found = self._number(at) or self._ordinal_word(at)
        if found is None or not found[0].is_integer() or not 0 <= found[0] < 2 * _HALF_DAY:
            return None
        if self.says("units", found[1]) is not None and self.says("clock", found[1]) is None:
            return None
        word = self.says("clock", found[1])
        return int(found[0]), word[1] if word else found[1]

    def _time_alone(self, at: int) -> ReadAt[time]:
        if (told := self.says("at", at)) is not None:
            return self._clock_time(told[1], told=True)
        return self._clock_time(at)

    def _date(self, at: int) -> ReadAt[date]:
        """Return a single day."""
        if (day := self.says("days", at)) is not None:
            return self._today + timedelta(days=DAYS.index(day[0]) - _TODAY), day[1]
        for name in ("last", "past", "next", "this", "on"):
            if (said := self.says(name, at)) is not None and (day := self.says("weekdays", said[1])) is not None:
                is_next = name == "next" or (name in ("this", "on") and self._ahead)
                return self._weekday(day[0], ahead=is_next, today=name == "this"), day[1]
        if (day := self.says("weekdays", at)) is not None:
            return self._weekday(day[0], ahead=self._ahead), day[1]
        return self._written_date(at)

    @property
    def _today(self) -> date:
        return self._now.date()

    def _weekday(self, name: str, *, ahead: bool, today: bool = False) -> date:
        differ = WEEKDAYS.index(name) - self._today.weekday()
        if not differ and today:
            return self._today
        return self._today + timedelta(days=(differ % 7 or 7) if ahead else -(-differ % 7 or 7))

    def _written_date(self, at: int) -> ReadAt[date]:
        """Return a day with its month: "3 May", "May 3rd", "3.5.", "3.5.2026", "2026-05-03"."""
        words = self._words
        if at >= len(words):
            return None
        if (
            at + 4 < len(words)
            and [word.word in DASHES for word in words[at : at + 5]] == [False, True, False, True, False]
            and len(words[at].word) == 4
            and all(words[at + n].word.isdigit() for n in (0, 2, 4))
            and words[at + 4].end - words[at].start <= len("2026-05-03")
        ):
            return self._day(int(words[at + 4].word), int(words[at + 2].word), int(words[at].word), at + 5)
        if (match := _DOTTED.fullmatch(words[at].word)) is not None and self._is_dotted(at, match):
            year = int(match[3]) if match[3] else None
            year = year + _CENTURY if year is not None and year < 100 else year
            return self._day(int(match[1]), int(match[2]), year, at + 1)
        if (month := self.says("months", at)) is not None and (day := self._ordinal(month[1])) is not None:
            return self._with_year(day[0], month[0], day[1])
        if (day := self._ordinal(at)) is not None and (month := self.says("months", self._of(day[1]))) is not None:
            return self._with_year(day[0], month[0], month[1])
        return None

    def _is_dotted(self, at: int, match: re.Match[str]) -> bool:
        """Return whether a number with a point is a day: it has a year, or what stands in front of it says so."""
        if self._language.thousands == ",":
            return False  # a decimal, or the other way round
        return bool(match[3]) or (at > 0 and self.says("on", at - 1) is not None)

    def _ordinal(self, at: int) -> ReadAt[int]:
        found = self._ordinal_word(at) or self._number(at)
        if found is None or not found[0].is_integer() or not 1 <= found[0] <= 31:
            return None
        ending = self.says("ordinal_endings", found[1])
        return int(found[0]), ending[1] if ending else found[1]

    def _ordinal_word(self, at: int) -> ReadAt[float]:
        found = self.says("ordinals", at)
        return (float(found[0]), found[1]) if found is not None and found[0].isdigit() else None

    def _of(self, at: int) -> int:
        found = self.says("of", at)
        return found[1] if found else at

    def _with_year(self, day: int, month: str, behind: int) -> ReadAt[date]:
        year = None
        if behind < len(self._words) and re.fullmatch(r"(?:19|20)\d\d", self._words[behind].word):
            year, behind = int(self._words[behind].word), behind + 1
        return self._day(day, MONTHS.index(month) + 1, year, behind)

    def _day(self, day: int, month: int, year: int | None, behind: int) -> ReadAt[date]:
        try:
            if year is not None:
                return date(year, month, day), behind
            years = (
                range(self._today.year, self._today.year + 5)
                if self._ahead
                else range(self._today.year, self._today.year - 5, -1)
            )
            for known in years:  # the 29th of February is not in every year
                try:
                    found = date(known, month, day)
                except ValueError:
                    continue
                if found >= self._today if self._ahead else found <= self._today:
                    return found, behind
        except ValueError:
            return None
        return None

    # Spans

    @property
    def _zone(self) -> tzinfo | None:
        return self._now.tzinfo

    def _at(self, day: date, hours: float = 0) -> datetime:
        """Return a moment of a day by the clock on the wall; one that a clock leaves out is the one behind the gap."""
        wall = datetime.combine(day, time()) + timedelta(hours=hours)
        return self._exists(wall.replace(tzinfo=self._zone))

    def _exists(self, moment: datetime) -> datetime:
        if self._zone is None:
            return moment
        return moment.astimezone(UTC).astimezone(self._zone)

    def _back(self, number: float, unit: str) -> datetime | None:
        """Return the moment so long ago: hours as they pass, days and more by the calendar."""
        try:
            if unit in _CLOCK_UNITS or (not number.is_integer() and unit in SECONDS):
                passed = timedelta(seconds=number * SECONDS[unit])
                return (self._now.astimezone(UTC) - passed).astimezone(self._zone)
            if not number.is_integer():
                return None
            if unit in SECONDS:
                wall = self._now.replace(tzinfo=None) - timedelta(seconds=number * SECONDS[unit])
            else:
                wall = _months_back(self._now.replace(tzinfo=None), int(number) * (12 if unit == "year" else 1))
            return self._exists(wall.replace(tzinfo=self._zone))
        except OverflowError, ValueError, OSError:
            return None

    def _calendar(self, unit: str, offset: int) -> tuple[datetime, datetime] | None:
        """Return the day, week, month or year so many before or after this one; None for shorter units."""
        today = self._today
        match unit:
            case "day":
                first = today + timedelta(days=offset)
                behind = first + timedelta(days=1)
            case "week":
                first = today - timedelta(days=today.weekday()) + timedelta(weeks=offset)
                behind = first + timedelta(weeks=1)
            case "month":
                first, behind = _month(today, offset), _month(today, offset + 1)
            case "year":
                first, behind = date(today.year + offset, 1, 1), date(today.year + offset + 1, 1, 1)
            case _:
                return None
        return self._at(first), self._at(behind)

    def _span(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return the span that begins at a place."""
        day = self._date(at)
        place = day[1] if day is not None else at
        for name in ("since", "between"):
            if (said := self.says(name, place)) is not None and (
                found := self._beginning(said[1], name, day[0] if day else None)
            ) is not None:
                return found
        if day is not None and self._clock_time(self._skip("at", place), told=self.says("at", place) is not None):
            return None  # a moment
        return self._named(at)

    def _beginning(self, at: int, name: str, day: date | None) -> ReadAt[tuple[datetime, datetime]]:
        """Return what is said behind "since" or "from": "since yesterday", "from 8 to 10"; the day may stand in front."""
        at = self._skip("articles", at)
        first = self._point(at, day)
        if first is None and name == "since":
            first = self._long(at)
        if first is None:
            return None
        (start, _, is_time), behind = first
        if (to := self.says("to", behind)) is not None and (last := self._point(self._skip("articles", to[1]), day)):
            (second, end, is_also_time), place = last
            if is_time and self._is_afternoon(to[1], place) and not self._is_afternoon(at, behind):
                later = self._at(start.date(), start.hour + _HALF_DAY + start.minute / _MINUTES)
                start = later if start.hour < _HALF_DAY and later.time() < second.time() else start
            if is_also_time != is_time and not (is_time and second.time() != time()):
                return None
            if not is_time and end <= start and start - end < timedelta(weeks=1):  # "from Monday to Wednesday"
                end = self._at(end.date() + timedelta(weeks=1))
            on = second.date()
            if is_time:  # "from 8 to 10 yesterday"
                start = self._at(on, start.hour + start.minute / _MINUTES)
                end = self._at(on, second.hour + second.minute / _MINUTES)
                if end <= start:
                    end = self._at(on + timedelta(days=1), second.hour + second.minute / _MINUTES)
            return ((start, end), place) if start < end else None
        if name == "between" or day is not None:
            return None
        if start > self._now and is_time and not self._has_day(at, behind):
            start = self._at(start.date() - timedelta(days=1), start.hour + start.minute / _MINUTES)
        return ((start, self._now), behind) if start < self._now else None

    def _is_afternoon(self, at: int, behind: int) -> bool:
        """Return whether "pm" stands somewhere."""
        halves = (self.says("halves", place) for place in range(at, behind))
        return any(half is not None and half[0] == "pm" for half in halves)

    def _has_day(self, at: int, behind: int) -> bool:
        return any(self.says(name, place) is not None for place in range(at, behind) for name in ("days", "weekdays"))

    def _day_behind(self, at: int) -> ReadAt[date]:
        at = self._skip("lead", at)
        return self._date(at)

    def _skip(self, name: str, at: int) -> int:
        found = self.says(name, at)
        return found[1] if found else at

    def _long(self, at: int) -> ReadAt[tuple[datetime, datetime, bool]]:
        """Return the moment from which on it is as long as is said: "seit zwei Stunden", "since two days ago"."""
        if (count := self._count(at)) is None:
            return None
        (number, unit), behind = count
        start = self._back(number, unit)
        if (ago := self.says("ago", behind)) is not None:
            behind = ago[1]
        return ((start, self._now, False), behind) if start is not None else None

    def _point(self, at: int, on: date | None) -> ReadAt[tuple[datetime, datetime, bool]]:
        """Return what a span may begin or end with, and whether it is a time of day alone; `on` is the day of such a one."""
        if (begin := self.says("begin", at)) is not None:
            place = self._skip("articles", begin[1])
            place = self._skip("this", place)
            if (unit := self.says("units", place)) and (whole := self._calendar(unit[0], 0)) is not None:
                return (*whole, False), unit[1]
            return None
        told = self._skip("at", at)
        clock = None if self._written_date(at) else self._clock_time(told, told=True, is_bound=True)
        if clock is not None:
            place = clock[1]
            day, behind = on or self._today, place
            if (named := self._day_behind(place)) is not None:
                day, behind = named
            moment = self._at(day, clock[0].hour + clock[0].minute / _MINUTES)
            return (moment, moment, behind == place), behind
        if (found := self._named(at)) is not None:
            (start, end), behind = found
            place = self._skip("at", behind)
            if start.hour == 0 and start.minute == 0 and end - start <= timedelta(hours=25):
                if (clock := self._clock_time(place, told=place > behind, is_bound=True)) is not None:
                    start = self._at(start.date(), clock[0].hour + clock[0].minute / _MINUTES)
                    return (start, start, False), clock[1]
            return (start, end, False), behind
        if (before := self.says("ago_before", at)) is not None:
            return self._long(before[1])
        if (count := self._count(at)) is not None and self.says("ago", count[1]) is not None:
            return self._long(at)
        return None

    def _named(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return a span that has a name or a length: "yesterday evening", "this week", "the last two hours"."""
        if (fixed := self.says("nights", at)) is not None:
            return self._part(self._today + timedelta(days=DAYS.index(fixed[0]) - _TODAY), "night"), fixed[1]
        if (fixed := self.says("evenings", at)) is not None:
            return self._part(self._today + timedelta(days=DAYS.index(fixed[0]) - _TODAY), "evening"), fixed[1]
        if (joined := self._weekday_part(at)) is not None:
            return joined
        if (day := self._date(at)) is not None:
            place = self._skip("articles", self._skip("glue", day[1]))
            if (part := self.says("parts", place) or self.says("parts", day[1])) is not None:
                return self._part(day[0], part[0]), part[1]
            return (self._at(day[0]), self._at(day[0] + timedelta(days=1))), day[1]
        for name, offset in (("past", -1), ("last", -1), ("this", 0), ("next", 1)):
            if (said := self.says(name, at)) is not None and (found := self._relative(said[1], name, offset)):
                return found
        return self._ago(at) or self._alone(at)

    def _relative(self, at: int, name: str, offset: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return what stands behind "last", "past", "this" or "next"."""
        if name in ("past", "last") and (count := self._count(at)) is not None:
            (number, of), behind = count
            start = self._back(number, of)
            return ((start, self._now), behind) if start is not None and start < self._now else None
        if (part := self.says("parts", at)) is not None:
            return (self._part(self._today, part[0]), part[1]) if name == "this" and part[0] != "night" else None
        if (month := self.says("months", at)) is not None:
            return self._month_named(month[0], ahead=name == "next"), month[1]
        unit = self.says("units", at)
        if unit is None:
            return None
        rolls = name == "past" or (name == "last" and unit[0] in (*_CLOCK_UNITS, "day"))
        if rolls:
            half = self.says("and_half", unit[1])
            start = self._back(1.5 if half else 1.0, unit[0])
            return ((start, self._now), half[1] if half else unit[1]) if start is not None else None
        found = self._calendar(unit[0], offset)
        return (found, unit[1]) if found is not None else None

    def _ago(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return the day, week or month so long ago; hours ago are a moment, and no span."""
        before = self.says("ago_before", at)
        count = self._count(before[1] if before else at)
        if count is None:
            return None
        (number, unit), behind = count
        after = self.says("ago", behind)
        if (before is None and after is None) or not number.is_integer() or unit in _CLOCK_UNITS:
            return None
        try:
            found = self._calendar(unit, -int(number))
        except OverflowError, ValueError:
            return None
        return (found, after[1] if after else behind) if found is not None else None

    def _alone(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return a part of the day or a month by itself: the last one, unless it is this one."""
        if (part := self.says("parts", at)) is not None and self.says("days", at) is None:
            fronts = ("lead", "articles", "since") if at else ()
            if part[0] == "night" or (part[1] == at + 1 and not any(self.says(name, at - 1) for name in fronts)):
                return None
            start, end = self._part(self._today, part[0])
            if start > self._now and not self._ahead:
                start, end = self._part(self._today - timedelta(days=1), part[0])
            return (start, end), part[1]
        if at and self.says("in_month", at - 1) is not None and (month := self.says("months", at)) is not None:
            return self._month_named(month[0], ahead=self._ahead), month[1]
        return None

    def _weekday_part(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return the part of a weekday that is one word with it: "Montagabend"."""
        if at >= len(self._words):
            return None
        word, lists = self._words[at].word, self._language.lists
        for cut in range(3, len(word) - 2):
            days, parts = lists["weekdays"].get(word[:cut], ()), lists["parts"].get(word[cut:], ())
            for (day_words, day), (part_words, part) in ((d, p) for d in days for p in parts):
                if len(day_words) == len(part_words) == 1:
                    return self._part(self._weekday(day, ahead=self._ahead), part), at + 1
        return None

    def _part(self, day: date, name: str) -> tuple[datetime, datetime]:
        first, behind = PARTS[name]
        return self._at(day, first), self._at(day, behind)

    def _month_named(self, name: str, *, ahead: bool) -> tuple[datetime, datetime]:
        differ = MONTHS.index(name) + 1 - self._today.month
        if ahead and differ < 0:
            differ += 12
        if not ahead and differ > 0:
            differ -= 12
        return self._at(_month(self._today, differ)), self._at(_month(self._today, differ + 1))


def _month(day: date, offset: int) -> date:
    """Return the first day of the month so many after that of a day."""
    months = day.year * 12 + day.month - 1 + offset
    return date(months // 12, months % 12 + 1, 1)


def _months_back(moment: datetime, months: int) -> datetime:
    """Return the same day so many months before, or the last one of that month."""
    first = _month(moment.date(), -months)
    last = (_month(first, 1) - timedelta(days=1)).day
    return moment.replace(year=first.year, month=first.month, day=min(moment.day, last))
