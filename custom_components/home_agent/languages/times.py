"""What moments and spans of time a text names, in words: "the last two hours", "seit gestern Abend", "с 8 до 10"."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from ..support.text import Token
from .data import code_of
from .moments import CLOCK_UNITS, DAYS, HALF_DAY, MINUTES, TODAY, Calendar, PointReader
from .spoken_numbers import Named, NumberReader, ReadAt, time_words, words_in

_SOME_DAY = datetime(2000, 1, 3)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time that a text names, from `start` to before `end`, and which words say so."""

    start: datetime
    """Aware, in the time zone that was given; so is `end`."""
    end: datetime
    first: int = 0
    """The first of the words that say so."""
    behind: int = 0


def spans_in(text: str, language: str, now: datetime, *, ahead: bool = False) -> list[Span]:
    """Return the spans of time that a text names, in its order; `now` is aware, and in the time zone that days are of.

    Days are from midnight to midnight, weeks begin on Monday. What rolls ("the last two hours") and what is said with "since" ends now.
    A weekday or a month by itself is the last one; with `ahead` the next one.
    """
    calendar, words = Calendar(now, ahead), _text(words_in(text), language)
    return [
        Span(*named.value, named.first, named.behind)
        for named in words.each(SpanReader(words, calendar).span)
        if not named.first
        or words.says("joins", named.first - 1) is not None
        or words.says("to", named.first - 1) is None  # "until yesterday" has no beginning
    ]


def durations_in(text: str, language: str) -> list[Named[timedelta]]:
    """Return how long something lasts that a text names: "an hour and a half", "90 Sekunden". Months and years are no such."""
    words = _text(words_in(text), language)
    return list(words.each(words.duration))


def times_in(text: str, language: str) -> list[Named[time]]:
    """Return the times of day that a text names. Without "pm" or a part of the day a time is what a clock of 24 hours shows."""
    words = _text(words_in(text), language)
    return list(words.each(PointReader(words, Calendar(_SOME_DAY)).time_alone))


def dates_in(text: str, language: str, now: datetime, *, ahead: bool = True) -> list[Named[date]]:
    """Return the days that a text names: "tomorrow", "am 3. Mai", "2026-05-03". One without a year is the next, or the last."""
    words = _text(words_in(text), language)
    return list(words.each(PointReader(words, Calendar(now, ahead)).day_at))


def numbers_in(words: Sequence[Token], language: str) -> list[Named[float]]:
    """Return the numbers among the words of a text, in digits or spelled out up to some thousands, also below zero."""
    text = _text(words, language)
    return list(text.each(text.signed, lead=False))


def unit_at(words: Sequence[Token], place: int, language: str) -> bool:
    """Return whether a unit of time stands at a place among the words of a text."""
    return _text(words, language).says("units", place) is not None


def _text(words: Sequence[Token], language: str) -> NumberReader:
    return NumberReader(words, time_words(code_of(language)))


@dataclass(frozen=True, slots=True)
class SpanReader(PointReader):
    """Reads spans of time among the words of one text."""

    def span(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return the span that begins at a place."""
        day = self.day_at(at)
        place = day[1] if day is not None else at
        for name in ("since", "between"):
            if (said := self.text.says(name, place)) and (
                found := self._beginning(said[1], name, day[0] if day else None)
            ) is not None:
                return found
        if day is not None and self.clock_time(
            self.text.skip("at", place), told=self.text.says("at", place) is not None
        ):
            return None  # a moment
        return self._named(at)

    def _beginning(self, at: int, name: str, day: date | None) -> ReadAt[tuple[datetime, datetime]]:
        """Return what is said behind "since" or "from": "since yesterday", "from 8 to 10"; the day may stand in front."""
        at = self.text.skip("articles", at)
        first = self._point(at, day)
        if first is None and name == "since":
            first = self._long(at)
        if first is None:
            return None
        (start, _, is_time), behind = first
        if (to := self.text.says("to", behind)) and (last := self._point(self.text.skip("articles", to[1]), day)):
            (second, end, is_also_time), place = last
            if is_time and self._is_afternoon(to[1], place) and not self._is_afternoon(at, behind):
                later = self.calendar.at(start.date(), start.hour + HALF_DAY + start.minute / MINUTES)
                start = later if start.hour < HALF_DAY and later.time() < second.time() else start
            if is_also_time != is_time and not (is_time and second.time() != time()):
                return None
            if not is_time and end <= start and start - end < timedelta(weeks=1):  # "from Monday to Wednesday"
                end = self.calendar.at(end.date() + timedelta(weeks=1))
            on = second.date()
            if is_time:  # "from 8 to 10 yesterday"
                start = self.calendar.at(on, start.hour + start.minute / MINUTES)
                end = self.calendar.at(on, second.hour + second.minute / MINUTES)
                if end <= start:
                    end = self.calendar.at(on + timedelta(days=1), second.hour + second.minute / MINUTES)
            return ((start, end), place) if start < end else None
        if name == "between" or day is not None:
            return None
        names_day = any(self.text.says(name, place) for place in range(at, behind) for name in ("days", "weekdays"))
        if start > self.calendar.now and is_time and not names_day:
            start = self.calendar.at(start.date() - timedelta(days=1), start.hour + start.minute / MINUTES)
        return ((start, self.calendar.now), behind) if start < self.calendar.now else None

    def _is_afternoon(self, at: int, behind: int) -> bool:
        halves = (self.text.says("halves", place) for place in range(at, behind))
        return any(half is not None and half[0] == "pm" for half in halves)

    def _long(self, at: int) -> ReadAt[tuple[datetime, datetime, bool]]:
        """Return the moment from which on it is as long as is said: "seit zwei Stunden", "since two days ago"."""
        if (count := self.text.count(at)) is None:
            return None
        (number, unit), behind = count
        start = self.calendar.back(number, unit)
        if ago := self.text.says("ago", behind):
            behind = ago[1]
        return ((start, self.calendar.now, False), behind) if start is not None else None

    def _point(self, at: int, on: date | None) -> ReadAt[tuple[datetime, datetime, bool]]:
        """Return what a span may begin or end with, and whether it is a time of day alone; `on` is the day of such a one."""
        if begin := self.text.says("begin", at):
            place = self.text.skip("articles", begin[1])
            place = self.text.skip("this", place)
            if (unit := self.text.says("units", place)) and (whole := self.calendar.unit(unit[0], 0)) is not None:
                return (*whole, False), unit[1]
            return None
        told = self.text.skip("at", at)
        clock = None if self.written_date(at) else self.clock_time(told, told=True, is_bound=True)
        if clock is not None:
            place = clock[1]
            day, behind = on or self.calendar.today, place
            if (named := self.day_at(self.text.skip("lead", place))) is not None:
                day, behind = named
            moment = self.calendar.at(day, clock[0].hour + clock[0].minute / MINUTES)
            return (moment, moment, behind == place), behind
        if (found := self._named(at)) is not None:
            (start, end), behind = found
            place = self.text.skip("at", behind)
            if start.hour == 0 and start.minute == 0 and end - start <= timedelta(hours=25):
                if (clock := self.clock_time(place, told=place > behind, is_bound=True)) is not None:
                    start = self.calendar.at(start.date(), clock[0].hour + clock[0].minute / MINUTES)
                    return (start, start, False), clock[1]
            return (start, end, False), behind
        if before := self.text.says("ago_before", at):
            return self._long(before[1])
        if (count := self.text.count(at)) is not None and self.text.says("ago", count[1]):
            return self._long(at)
        return None

    def _named(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return a span that has a name or a length: "yesterday evening", "this week", "the last two hours"."""
        for name, part_of_day in (("nights", "night"), ("evenings", "evening")):
            if fixed := self.text.says(name, at):
                on = self.calendar.today + timedelta(days=DAYS.index(fixed[0]) - TODAY)
                return self.calendar.part(on, part_of_day), fixed[1]
        if (joined := self.day_part(at)) is not None:
            return self.calendar.part(*joined[0]), joined[1]
        if (day := self.day_at(at)) is not None:
            place = self.text.skip("articles", self.text.skip("glue", day[1]))
            if (part := self.text.says("parts", place) or self.text.says("parts", day[1])) is not None:
                return self.calendar.part(day[0], part[0]), part[1]
            return (self.calendar.at(day[0]), self.calendar.at(day[0] + timedelta(days=1))), day[1]
        for name, offset in (("past", -1), ("last", -1), ("this", 0), ("next", 1)):
            if (said := self.text.says(name, at)) and (found := self._relative(said[1], name, offset)):
                return found
        return self._ago(at) or self._alone(at)

    def _relative(self, at: int, name: str, offset: int) -> ReadAt[tuple[datetime, datetime]]:
        if name in ("past", "last") and (count := self.text.count(at)) is not None:
            (number, of), behind = count
            start = self.calendar.back(number, of)
            return ((start, self.calendar.now), behind) if start is not None and start < self.calendar.now else None
        if part := self.text.says("parts", at):
            is_this = name == "this" and part[0] != "night"
            return (self.calendar.part(self.calendar.today, part[0]), part[1]) if is_this else None
        if month := self.text.says("months", at):
            return self.calendar.month(month[0], ahead=name == "next"), month[1]
        unit = self.text.says("units", at)
        if unit is None:
            return None
        rolls = name == "past" or (name == "last" and unit[0] in (*CLOCK_UNITS, "day"))
        if rolls:
            half = self.text.says("and_half", unit[1])
            start = self.calendar.back(1.5 if half else 1.0, unit[0])
            return ((start, self.calendar.now), half[1] if half else unit[1]) if start is not None else None
        found = self.calendar.unit(unit[0], offset)
        return (found, unit[1]) if found is not None else None

    def _ago(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return the day, week or month so long ago; hours ago are a moment, and no span."""
        before = self.text.says("ago_before", at)
        count = self.text.count(before[1] if before else at)
        if count is None:
            return None
        (number, unit), behind = count
        after = self.text.says("ago", behind)
        if (before is None and after is None) or not number.is_integer() or unit in CLOCK_UNITS:
            return None
        try:
            found = self.calendar.unit(unit, -int(number))
        except OverflowError, ValueError:
            return None
        return (found, after[1] if after else behind) if found is not None else None

    def _alone(self, at: int) -> ReadAt[tuple[datetime, datetime]]:
        """Return a part of the day or a month by itself: the last one, unless it is this one."""
        if (part := self.text.says("parts", at)) and self.text.says("days", at) is None:
            fronts = ("lead", "articles", "since") if at else ()
            if part[0] == "night" or (part[1] == at + 1 and not any(self.text.says(name, at - 1) for name in fronts)):
                return None
            start, end = self.calendar.part(self.calendar.today, part[0])
            if start > self.calendar.now and not self.calendar.ahead:
                start, end = self.calendar.part(self.calendar.today - timedelta(days=1), part[0])
            return (start, end), part[1]
        if at and self.text.says("in_month", at - 1) and (month := self.text.says("months", at)):
            return self.calendar.month(month[0], ahead=self.calendar.ahead), month[1]
        return None
