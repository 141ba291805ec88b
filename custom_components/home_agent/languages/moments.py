"""Times of day and days, as words of a text: "half past seven", "am 3. Mai", "2026-05-03"; and the calendar that they are of."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
import re

from ..support.text import DASHES
from .spoken_numbers import SECONDS, NumberReader, ReadAt

DAYS = ("day_before_yesterday", "yesterday", "today", "tomorrow", "day_after_tomorrow")
PARTS: Mapping[str, tuple[int, int]] = {
    "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (18, 24), "night": (22, 30),
}  # fmt: skip
"""Hours of a day from which and to which a part of it lasts; the night ends on the next day."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
CLOCK_UNITS = frozenset({"second", "minute", "hour"})
TODAY = DAYS.index("today")
HALF_DAY = 12  # hours
MINUTES = 60
_NOON = 12
_MOST_CUT = 20  # letters of the name of a day
_EARLY = 5  # the last hour of a night
_BEFORE_HOUR = {"half_to": -30, "three_quarters_to": -15, "quarter_to": -15, "quarter_of": -45, "half_past": 30}
"""Minutes by which an hour is shifted by what stands in front of it, by the name of its list."""
_CENTURY = 2000
_AFTER_DAY = ("at", "at_clock", "at_named", "parts", "part_glue", "halves", "moments")
"""What follows the number of a day that is said without its month."""
_MONTHS_AHEAD = 3  # two months in a row have all days up to the 30th, or the third one has the 31st
_CLOCK = re.compile(r"([01]?\d|2[0-4])[:.]([0-5]\d)(?::([0-5]\d))?")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})(?:\.(\d{4}|\d{2}))?")


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days, weeks, months and years as they are seen from a moment."""

    now: datetime
    """Aware, in the time zone that days are of."""
    ahead: bool = False
    """A day without a year, a weekday or a month is the next one; else the last one."""

    @property
    def today(self) -> date:
        """The day of that moment."""
        return self.now.date()

    def at(self, day: date, hours: float = 0) -> datetime:
        """Return a moment of a day by the clock on the wall; one that a clock leaves out is the one behind the gap."""
        wall = datetime.combine(day, time()) + timedelta(hours=hours)
        return self._exists(wall.replace(tzinfo=self.now.tzinfo))

    def _exists(self, moment: datetime) -> datetime:
        return moment if self.now.tzinfo is None else moment.astimezone(UTC).astimezone(self.now.tzinfo)

    def back(self, number: float, unit: str) -> datetime | None:
        """Return the moment so long ago: hours as they pass, days and more by the calendar."""
        try:
            if unit in CLOCK_UNITS or (not number.is_integer() and unit in SECONDS):
                passed = timedelta(seconds=number * SECONDS[unit])
                return (self.now.astimezone(UTC) - passed).astimezone(self.now.tzinfo)
            if not number.is_integer():
                return None
            if unit in SECONDS:
                wall = self.now.replace(tzinfo=None) - timedelta(seconds=number * SECONDS[unit])
            else:
                wall = _months_back(self.now.replace(tzinfo=None), int(number) * (12 if unit == "year" else 1))
            return self._exists(wall.replace(tzinfo=self.now.tzinfo))
        except OverflowError, ValueError, OSError:
            return None

    def unit(self, unit: str, offset: int) -> tuple[datetime, datetime] | None:
        """Return the day, week, month or year so many before or after this one; None for shorter units."""
        today = self.today
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
        return self.at(first), self.at(behind)

    def part(self, day: date, name: str) -> tuple[datetime, datetime]:
        """Return the first and the last moment of a part of a day."""
        first, behind = PARTS[name]
        return self.at(day, first), self.at(day, behind)

    def month(self, name: str, *, ahead: bool) -> tuple[datetime, datetime]:
        """Return the first moment of a month and of the one after it."""
        differ = MONTHS.index(name) + 1 - self.today.month
        if ahead and differ < 0:
            differ += 12
        if not ahead and differ > 0:
            differ -= 12
        return self.at(_month(self.today, differ)), self.at(_month(self.today, differ + 1))

    def weekday(self, name: str, *, ahead: bool, today: bool = False) -> date:
        """Return the next or the last day of this name, never today unless that is wanted."""
        differ = WEEKDAYS.index(name) - self.today.weekday()
        if not differ and today:
            return self.today
        return self.today + timedelta(days=(differ % 7 or 7) if ahead else -(-differ % 7 or 7))

    def day(self, day: int, month: int, year: int | None, behind: int) -> ReadAt[date]:
        """Return a day, and the place behind it; None if the calendar has no such day."""
        step, first = 1 if self.ahead else -1, self.today.year
        for known in (year,) if year is not None else range(first, first + 5 * step, step):
            with suppress(ValueError):  # the 29th of February is not in every year
                found = date(known, month, day)
                if year is not None or (found >= self.today if self.ahead else found <= self.today):
                    return found, behind
        return None


@dataclass(frozen=True, slots=True)
class PointReader:
    """Reads times of day and days among the words of one text."""

    text: NumberReader
    calendar: Calendar

    def clock_time(self, at: int, *, told: bool = False, is_bound: bool = False) -> ReadAt[time]:
        """Return the time of day at a place; `told` where a word in front of it says that it is one.

        It `is_bound` where it may begin or end a span: "from 8 to 10" is not eight minutes to ten.
        """
        if alone := self.text.says("moments", at):
            hour, minute, behind = self._after_hour(_NOON if alone[0] == "noon" else 0, alone[1])
            return time(hour, minute), behind
        if (found := self._spoken_time(at, is_bound=is_bound)) is not None:
            hour, minute, behind = found
            is_told = True
        elif at < len(self.text.words) and (match := _CLOCK.fullmatch(self.text.words[at].word)) is not None:
            hour, minute, behind = int(match[1]), int(match[2]), at + 1
            is_told = told or ":" in match[0]
            if word := self.text.says("clock", behind):
                is_told, behind = True, word[1]
        elif (number := self._hour_number(at)) is not None and 0 <= number[0] <= 2 * HALF_DAY:
            hour, minute, behind = number[0], 0, number[1]
            is_told = told
            if word := self.text.says("clock", behind):
                if not told and self.text.says("units", behind) and self.text.says("halves", word[1]) is None:
                    return None  # in Russian "7 часов" is how long, unless more is said
                is_told, behind = True, word[1]
            elif self.text.says("units", behind) and self.text.says("halves", behind) is None:
                return None  # how long, not when
            if is_told or self.text.says("after_hour", behind) or self._is_in_half(behind):
                is_told = True
                hour, minute, behind = self._minutes_behind(hour, behind, is_bound=is_bound)
        else:
            return None
        if (half := self.text.says("halves", behind)) and 0 <= hour <= HALF_DAY:
            hour, behind, is_told = self._in_half(hour, half[0]), half[1], True
        if not is_told or hour > 2 * HALF_DAY or (hour == 2 * HALF_DAY and minute):
            return None
        return time(hour % (2 * HALF_DAY), minute), behind

    def _is_in_half(self, at: int) -> bool:
        """Return whether minutes and a half of the day follow an hour: "thirty in the morning"."""
        more = self.text.number(at)
        return more is not None and 0 <= more[0] < MINUTES and self.text.says("halves", more[1]) is not None

    def _in_half(self, hour: int, half: str) -> int:
        """Return an hour of a half of the day, or of the night: "two at night", "eleven at night"."""
        is_second = half == "pm" or (half == "night" and _EARLY < hour < HALF_DAY)
        return hour % HALF_DAY + (HALF_DAY if is_second else 0)

    def _hour_number(self, at: int) -> ReadAt[int]:
        """Return an hour at a place, as a number or by its name: "siódma"."""
        if named := self.text.says("hours", at):
            return int(named[0]), named[1]
        number = self.text.number(at)
        return (int(number[0]), number[1]) if number is not None and number[0].is_integer() else None

    def _minutes_behind(self, hour: int, at: int, *, is_bound: bool) -> tuple[int, int, int]:
        """Return hour, minute and the place behind of what follows an hour: "thirty", "y media", "moins le quart"."""
        shifted = self._after_hour(hour, at, is_bound=is_bound)
        if shifted[2] > at or is_bound:
            return shifted
        is_clock = self.text.says("clock", at - 1) is not None
        if (more := self.text.number(at)) is None or not 0 <= more[0] < MINUTES or not more[0].is_integer():
            return hour, 0, at
        if not is_clock and more[0] < HALF_DAY - 2 and self.text.words[at].word[0] != "0":
            return hour, 0, at  # "at nine two lamps"
        is_other = (
            self.text.says("units", more[1]) or self.text.says("clock", more[1]) or self.text.says("values", more[1])
        )
        return (hour, 0, at) if is_other else (hour, int(more[0]), more[1])

    def _after_hour(self, hour: int, at: int, *, is_bound: bool = False) -> tuple[int, int, int]:
        """Return hour, minute and the place behind of "et demie", "menos diez" behind an hour; minute 0 where nothing is there."""
        if shift := self.text.says("after_hour", at):
            passed = int(shift[0])
        elif (
            not is_bound
            and (side := self.text.says("after_sides", at))
            and (more := self.text.number(side[1])) is not None
            and 0 < more[0] < MINUTES
            and more[0].is_integer()
            and not any(self.text.says(name, more[1]) for name in ("units", "clock", "values"))
        ):
            passed, shift = int(more[0]) * (1 if side[0] == "past" else -1), ("", more[1])
        else:
            return hour, 0, at
        minutes = (hour * MINUTES + passed) % (2 * HALF_DAY * MINUTES)
        return minutes // MINUTES, minutes % MINUTES, shift[1]

    def _spoken_time(self, at: int, *, is_bound: bool) -> tuple[int, int, int] | None:
        """Return hour, minute and the place behind of "half past seven", "Viertel vor acht", "ten to nine"."""
        for name, passed in _BEFORE_HOUR.items():
            if (said := self.text.says(name, at)) and (hour := self._hour(said[1])) is not None:
                return self._shifted(hour, passed)
        if (before := self.text.says("before_hour", at)) and (
            minutes := (
                (15.0, quarter[1]) if (quarter := self.text.says("quarter", before[1])) else self.text.number(before[1])
            )
        ):
            hour = self._hour(minutes[1]) if 0 < minutes[0] < MINUTES and minutes[0].is_integer() else None
            return self._shifted(hour, -int(minutes[0])) if hour is not None else None
        minutes = (15.0, quarter[1]) if (quarter := self.text.says("quarter", at)) else self.text.number(at)
        if minutes is None or not 0 < minutes[0] < MINUTES or minutes[0] % 5:
            return None
        if quarter is None and (is_bound or self.text.says("units", minutes[1])):
            return None
        if (side := self.text.says("sides", minutes[1])) is None:
            return None
        half = self.text.says("half_to", side[1])  # "fünf vor halb neun"
        if (hour := self._hour(half[1] if half else side[1])) is None:
            return None
        passed = int(minutes[0]) if side[0] == "past" else -int(minutes[0])
        return self._shifted(hour, passed - (30 if half else 0))

    def _shifted(self, hour: tuple[int, int], passed: int) -> tuple[int, int, int]:
        minutes = (hour[0] * MINUTES + passed) % (2 * HALF_DAY * MINUTES)
        return minutes // MINUTES, minutes % MINUTES, hour[1]

    def _hour(self, at: int) -> ReadAt[int]:
        if alone := self.text.says("moments", at):  # "ten to midnight"
            return _NOON if alone[0] == "noon" else 0, alone[1]
        found = self._hour_number(at) or self.text.ordinal_word(at)
        if found is None or not 0 <= found[0] < 2 * HALF_DAY:
            return None
        if self.text.says("units", found[1]) and not any(
            self.text.says(name, found[1]) for name in ("clock", "halves")
        ):
            return None
        word = self.text.says("clock", found[1])
        return int(found[0]), word[1] if word else found[1]

    def time_alone(self, at: int) -> ReadAt[time]:
        """Return the time of day at a place, with or without "at"."""
        if told := self.text.says("at", at):
            return self.clock_time(told[1], told=True)
        return self.clock_time(at)

    def day_part(self, at: int) -> ReadAt[tuple[date, str]]:
        """Return the day and the part of it that are one word: "Montagabend", "morgenochtend"."""
        if at >= len(self.text.words):
            return None
        word, lists = self.text.words[at].word, self.text.language.lists
        for cut in range(3, min(len(word) - 2, _MOST_CUT)):
            parts = [part for words, part in lists.get("parts", {}).get(word[cut:], ()) if len(words) == 1]
            for name in ("weekdays", "days") if parts else ():
                for words, key in lists.get(name, {}).get(word[:cut], ()):
                    if len(words) == 1:
                        is_named = name == "weekdays"
                        day = (
                            self.calendar.weekday(key, ahead=self.calendar.ahead)
                            if is_named
                            else self.calendar.today + timedelta(days=DAYS.index(key) - TODAY)
                        )
                        return (day, parts[0]), at + 1
        return None

    def day_at(self, at: int) -> ReadAt[date]:
        """Return a single day."""
        if day := self.text.says("days", at):
            return self.calendar.today + timedelta(days=DAYS.index(day[0]) - TODAY), day[1]
        for name in ("last", "past", "next", "this", "on"):
            if (said := self.text.says(name, at)) and (day := self.text.says("weekdays", said[1])) is not None:
                is_next = name == "next" or (name in ("this", "on") and self.calendar.ahead)
                return self.calendar.weekday(day[0], ahead=is_next, today=name == "this"), day[1]
        if day := self.text.says("weekdays", at):
            return self.calendar.weekday(day[0], ahead=self.calendar.ahead), day[1]
        return self.written_date(at) or self._day_of_month(at)

    def _day_of_month(self, at: int) -> ReadAt[date]:
        """Return the next day with a number, where a time or nothing follows it: "on the 27th at eight", "am siebten"."""
        words, said = self.text.words, self.text.says("on_day", at)
        place = said[1] if said is not None else at
        if not self.calendar.ahead or place >= len(words) or (day := self.text.ordinal(place)) is None:
            return None
        is_named = self.text.ordinal_word(place) is not None or place > at + 1  # "el día siete"
        if not (is_named or words[place].word[0].isdigit()) or (said is None and not self._is_dated(place)):
            return None
        is_last = day[1] == len(words)
        if not is_last and not any(self.text.says(name, day[1]) for name in _AFTER_DAY):
            return None
        for month in range(_MONTHS_AHEAD):
            first = _month(self.calendar.today, month)
            found = first + timedelta(days=day[0] - 1)
            if found >= self.calendar.today and found.month == first.month:
                return found, day[1]
        return None

    def _is_dated(self, at: int) -> bool:
        """Return whether an ordinal alone is a day in this language: "siódmego"."""
        return self.text.says("dated", at) is not None

    def written_date(self, at: int) -> ReadAt[date]:
        """Return a day with its month: "3 May", "May 3rd", "3.5.", "3.5.2026", "2026-05-03"."""
        words = self.text.words
        if at >= len(words):
            return None
        if (
            at + 4 < len(words)
            and [word.word in DASHES for word in words[at : at + 5]] == [False, True, False, True, False]
            and len(words[at].word) == 4
            and all(words[at + n].word.isdigit() for n in (0, 2, 4))
            and words[at + 4].end - words[at].start <= len("2026-05-03")
        ):
            return self.calendar.day(int(words[at + 4].word), int(words[at + 2].word), int(words[at].word), at + 5)
        if (match := _DOTTED.fullmatch(words[at].word)) is not None and self._is_dotted(at, match):
            year = int(match[3]) if match[3] else None
            year = year + _CENTURY if year is not None and year < 100 else year
            return self.calendar.day(int(match[1]), int(match[2]), year, at + 1)
        if (month := self.text.says("months", at)) and (day := self.text.ordinal(month[1])) is not None:
            return self._with_year(day[0], month[0], day[1])
        if (day := self.text.ordinal(at)) is not None and (
            month := self.text.says("months", self.text.skip("of", day[1]))
        ) is not None:
            return self._with_year(day[0], month[0], month[1])
        return None

    def _is_dotted(self, at: int, match: re.Match[str]) -> bool:
        """Return whether a number with a point is a day: it has a year, or what stands in front of it says so."""
        if self.text.language.thousands == ",":
            return False  # a decimal, or the other way round
        return bool(match[3] or (at > 0 and self.text.says("on", at - 1)))

    def _with_year(self, day: int, month: str, behind: int) -> ReadAt[date]:
        year = None
        if behind < len(self.text.words) and re.fullmatch(r"(?:19|20)\d\d", self.text.words[behind].word):
            year, behind = int(self.text.words[behind].word), behind + 1
        return self.calendar.day(day, MONTHS.index(month) + 1, year, behind)


def _month(day: date, offset: int) -> date:
    """Return the first day of the month so many after that of a day."""
    months = day.year * 12 + day.month - 1 + offset
    return date(months // 12, months % 12 + 1, 1)


def _months_back(moment: datetime, months: int) -> datetime:
    """Return the same day so many months before, or the last one of that month."""
    first = _month(moment.date(), -months)
    last = (_month(first, 1) - timedelta(days=1)).day
    return moment.replace(year=first.year, month=first.month, day=min(moment.day, last))
