"""What a text waits for that a clock, a calendar or the sun tells, word by word: "in ten minutes", "tomorrow at half nine"."""

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from enum import StrEnum

from .moments import HALF_DAY, MINUTES, PointReader
from .spoken_numbers import SECONDS, ReadAt

_HOURS = {"morning": 8, "noon": 12, "afternoon": 15, "evening": 20, "tonight": 20, "night": 22}
"""The hour of a part of a day that is said alone."""
_DAWN = 6  # the first hour of a day, after its night
_SMALL_HOURS = 3
"""Before this hour a time of a night may be said as one of the day before: "tonight", "today at one in the morning"."""
_MOST_PARTS = 6  # of one moment: day, part of it, clock time, words between
_NAMED_PARTS = (
    ("this_morning", 0, "morning"), ("this_noon", 0, "noon"), ("this_afternoon", 0, "afternoon"), ("this_evening", 0, "evening"),
    ("this_night", 0, "night"), ("tonight", 0, "tonight"), ("tomorrow_morning", 1, "morning"),
)  # fmt: skip
_SIDES = ("after", "before", "after_when", "before_when")
_HOUR_SIGNS = frozenset({"h", "u"})
_LONG_MONTHS = 1_200
_LONG = timedelta(days=36_600)
"""Longer ones are no lengths; one of some years is told to be too long."""
_LONGEST_BARE = timedelta(hours=5)
"""From here on a length has to be said as one, "for five hours"."""
_LONGEST_SUN = 8  # words


class PieceKind(StrEnum):
    """What the words of a piece say."""

    SPAN = "span"
    """After some time."""
    POINT = "point"
    """A day, a part of it, a time of day, or several of these."""
    SUN = "sun"
    """Sunset or sunrise, or some time before or after it."""
    LASTING = "lasting"
    """For some time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DayTime:
    """A moment as far as it was said."""

    day: date | None = None
    part: str = ""
    """A part of the day (`PARTS`), or "tonight"."""
    clock: time | None = None
    is_exact: bool = False
    """Whether the time is of 24 hours, or was said with its half of the day."""
    is_today: bool = False

    def joined(self, other: DayTime) -> DayTime | None:
        """Return both as one; None if they say the same thing twice."""
        if (self.day and other.day) or (self.part and other.part) or (self.clock and other.clock):
            return None
        clock = self.clock if self.clock is not None else other.clock
        return DayTime(
            day=self.day or other.day,
            part=self.part or other.part,
            clock=clock,
            is_exact=self.is_exact or other.is_exact,
            is_today=self.is_today or other.is_today,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Words of a text, from the word `first` to before `behind`, that say when or for how long."""

    kind: PieceKind
    first: int
    behind: int
    span: timedelta | None = None
    months: int = 0
    point: DayTime | None = None
    sun: str = ""
    offset: int = 0
    """Seconds after the event of the sun."""
    ends: bool = False
    """Whether it says until when."""
    is_marked: bool = True
    """Whether a word in front or behind says what kind it is: "ten minutes" alone is not."""


@dataclass(frozen=True, slots=True)
class WaitReader(PointReader):
    """Reads what a text waits for; the words of `text` are those of a text that is `unelided`."""

    is_timer: bool = False
    """Whether the sentence is about a timer: "for ten minutes" is when it ends."""
    is_set: bool = False
    """Whether it is about a timer, a reminder or waking: "for six" is when."""
    wakes: bool = False
    """Whether it is about waking: a bare hour is one of the morning."""

    def piece(self, at: int) -> Piece | None:
        """Return what stands at a place, without events."""
        found = self._until(at) or self._when_it_is(at) or self.sun_at(at) or self._span(at) or self._hour_sign(at)
        found = found or self._point_piece(at) or self._lasting(at)
        if found is None:
            return None
        behind = found.behind
        while more := self.text.says("trail", behind):
            behind = more[1]
        return replace(found, first=at, behind=behind)

    def _when_it_is(self, at: int) -> Piece | None:
        """Return a time of day that is said as if it happened: "when it is nine o'clock", "wenn es neun Uhr ist"."""
        if (said := self.text.says("when_it", at)) is None:
            return None
        place = self._about(said[1])
        if (point := self.point(place, told=True)) is None or point[0].clock is None:
            return None
        verb = self.text.says("it_is", point[1])
        if verb is None and point[1] < len(self.text.words) and self.point(place, told=False) != point:
            return None  # "when it is five below zero"
        return Piece(kind=PieceKind.POINT, first=at, behind=verb[1] if verb else point[1], point=point[0])

    def length(self, at: int) -> ReadAt[tuple[timedelta, int]]:
        """Return how long something lasts, and how many calendar months more: "about ten minutes"."""
        place = self._about(at)
        if (found := self.text.duration(place)) is not None:
            return ((found[0], 0), found[1]) if timedelta() < found[0] <= _LONG else None
        count = self.text.count(place)
        if count is None or count[0][1] not in ("month", "year") or not count[0][0].is_integer():
            return None
        months = int(count[0][0]) * (12 if count[0][1] == "year" else 1)
        return ((timedelta(), months), count[1]) if 0 < months <= _LONG_MONTHS else None

    def _about(self, at: int) -> int:
        for _ in range(2):
            at = self.text.skip("about", at)
        return at

    def _until(self, at: int) -> Piece | None:
        if said := self.text.says("until_when", at):
            if (sun := self._sun_clause(said[1])) is not None:
                return Piece(kind=PieceKind.SUN, first=at, behind=sun[1], sun=sun[0], ends=True)
        if (said := self.text.says("until", at)) is None:
            return None
        place = self._about(said[1])
        if (sun := self._sun_name(place)) is not None:
            return Piece(kind=PieceKind.SUN, first=at, behind=sun[1], sun=sun[0], ends=True)
        if (point := self.point(place, told=True)) is not None:
            return Piece(kind=PieceKind.POINT, first=at, behind=point[1], point=point[0], ends=True)
        return None

    def sun_at(self, at: int) -> Piece | None:
        """Return sunset or sunrise at a place, said as a time or as an event."""
        if (length := self.length(at)) is not None and not length[0][1]:
            for name, sign in (("after", 1), ("after_when", 1), ("before", -1), ("before_when", -1)):
                if (side := self.text.says(name, length[1])) and (
                    sun := self._sun_name(side[1]) or self._sun_clause(side[1])
                ):
                    offset = sign * round(length[0][0].total_seconds())
                    return Piece(kind=PieceKind.SUN, first=at, behind=sun[1], sun=sun[0], offset=offset)
            return None
        for name in ("sun_at", "after"):
            if (said := self.text.says(name, at)) and (sun := self._sun_name(said[1])):
                return Piece(kind=PieceKind.SUN, first=at, behind=sun[1], sun=sun[0])
        for name in ("when", "if", "after_when"):
            if (said := self.text.says(name, at)) is None:
                continue
            if sun := self._sun_clause(said[1]):
                return Piece(kind=PieceKind.SUN, first=at, behind=sun[1], sun=sun[0])
            day = self.day_at(said[1])
            if day is not None and day[0] >= self.calendar.today and (sun := self._sun_clause(day[1])):
                point = DayTime(day=day[0], is_today=day[0] == self.calendar.today)  # "wenn morgen die Sonne untergeht"
                return Piece(kind=PieceKind.SUN, first=at, behind=sun[1], sun=sun[0], point=point)
            if (around := self._sun_around(said[1])) is not None:
                return replace(around, first=at)
        return None

    def _sun_around(self, at: int) -> Piece | None:
        """Return what the sun does with a day between the words for it: "als de zon morgen ondergaat"."""
        words, lists = [word.word for word in self.text.words[at : at + _LONGEST_SUN]], self.text.language.lists
        for name, event in (("sun_sets", "sunset"), ("sun_rises", "sunrise")):
            for phrase, _ in lists.get(name, {}).get(words[0], ()) if words else ():
                for cut in range(1, len(phrase)):
                    day = self.day_at(at + cut) if tuple(words[:cut]) == phrase[:cut] else None
                    if day is None or day[0] < self.calendar.today:
                        continue
                    behind = day[1] + len(phrase) - cut
                    if tuple(word.word for word in self.text.words[day[1] : behind]) == phrase[cut:]:
                        point = DayTime(day=day[0], is_today=day[0] == self.calendar.today)
                        return Piece(kind=PieceKind.SUN, first=at, behind=behind, sun=event, point=point)
        return None

    def _sun_name(self, at: int) -> ReadAt[str]:
        place = self.text.skip("articles", at)
        for name in ("sunset", "sunrise"):
            if said := self.text.says(name, place):
                return name, said[1]
        return None

    def sky_at(self, at: int) -> ReadAt[bool]:
        """Return whether it is light, where words at a place say that it is so, or that it is dark: "it is dark"."""
        sun = self._sun_clause(at)
        return (sun[0] == "sunrise", sun[1]) if sun is not None else None

    def lasting_at(self, at: int) -> ReadAt[timedelta]:
        """Return how long something is so, as a clause says it: "for ten minutes", "länger als zehn Minuten", "zehn Minuten lang"."""
        said = self.text.says("stays_for", at)
        length = self.length(said[1] if said else at)
        if length is None or length[0][1]:
            return None
        if any(self.text.says(name, length[1]) for name in ("sides", "after_span", *_SIDES)):
            return None  # "ten minutes past nine", "ten minutes after ..."
        trail = self.text.says("trail", length[1])
        return length[0][0], trail[1] if trail else length[1]

    def _sun_clause(self, at: int) -> ReadAt[str]:
        """Return what the sun does; not where a place follows: dark in here is not dark outside."""
        for name, event in (("sun_sets", "sunset"), ("sun_rises", "sunrise")):
            if (said := self.text.says(name, at)) and self.text.says("inside", said[1]) is None:
                return event, said[1]
        return None

    def _span(self, at: int) -> Piece | None:
        said = self.text.says("in_span", at)
        if self.text.says("before_hour", at) and self.clock_time(at) is not None:
            return None  # "za pięć ósma"
        place = said[1] if said else self.text.skip("for_span", at) if self.is_set else at  # "for two hours from now"
        if (length := self.length(place)) is None:
            return None
        (span, months), behind = length
        if said is None:
            if (after := self.text.says("after_span", behind)) is None or self.text.says("after_when", behind):
                return None
            behind = after[1]
        elif span.seconds == 0 and not months and (clock := self._clock(behind, told=False)) is not None:
            point = replace(clock[0], day=self.calendar.today + span)
            return Piece(kind=PieceKind.POINT, first=at, behind=clock[1], point=point)
        return Piece(kind=PieceKind.SPAN, first=at, behind=behind, span=span, months=months)

    def _point_piece(self, at: int) -> Piece | None:
        point = self.point(at, told=False)
        return Piece(kind=PieceKind.POINT, first=at, behind=point[1], point=point[0]) if point is not None else None

    def _hour_sign(self, at: int) -> Piece | None:
        """Return a time of day that is written with the sign of hours: "21h30", "pour 21h"; a length is said with more ("pendant 2h")."""
        if self.is_timer:
            return None
        said = self.text.says("for_clock", at)
        place = self._about(said[1] if said else at)
        hour, words = self.text.number(place), self.text.words
        if hour is None or hour[1] >= len(words) or words[hour[1]].word not in _HOUR_SIGNS:
            return None
        if said and not self.wakes and hour[0] < _DAWN:  # "pour 2h"
            return None
        if not words[place].word[0].isdigit() or not hour[0].is_integer() or hour[0] > 2 * HALF_DAY:
            return None
        if (point := self.point(place, told=True)) is not None:
            return Piece(kind=PieceKind.POINT, first=at, behind=point[1], point=point[0])
        behind, minute = hour[1] + 1, 0
        if (more := self.text.number(behind)) is not None and more[0].is_integer() and 0 <= more[0] < MINUTES:
            minute, behind = int(more[0]), more[1]
        clock = time(int(hour[0]) % (2 * HALF_DAY), minute)
        return Piece(
            kind=PieceKind.POINT, first=at, behind=behind, point=DayTime(clock=clock, is_exact=hour[0] > HALF_DAY)
        )

    def _lasting(self, at: int) -> Piece | None:
        kind = PieceKind.SPAN if self.is_timer else PieceKind.LASTING
        said = self.text.says("for_span", at)
        if self.is_timer and (also := self.text.says("for_length", at)) and (said is None or also[1] > said[1]):
            said = also
        if one := self.text.says("for_one", at):  # "for the next hour"
            unit = self.text.says("units", one[1])
            if unit is not None and unit[0] in SECONDS:
                return Piece(kind=kind, first=at, behind=unit[1], span=timedelta(seconds=SECONDS[unit[0]]))
            said = one if said is None or one[1] > said[1] else said
        length = self.length(said[1] if said else at)
        if length is None or length[0][1]:
            return None
        if said is None and not self.is_timer and length[0][0] >= _LONGEST_BARE:
            return None  # "21 heures", which may be a time of day
        return Piece(kind=kind, first=at, behind=length[1], span=length[0][0], is_marked=said is not None)

    def point(self, at: int, *, told: bool) -> ReadAt[DayTime]:
        """Return a day, a part of it, a time of day, or several of these in any order; `told` where a word says that a time follows."""
        found, behind = DayTime(), at
        for _ in range(_MOST_PARTS):
            one = self._part_of_point(behind, found, told=told and behind == at)
            if one is None or (joined := found.joined(one[0])) is None:
                break
            found, behind = joined, one[1]
        return (found, behind) if behind > at else None

    def _part_of_point(self, at: int, found: DayTime, *, told: bool) -> ReadAt[DayTime]:
        is_part_first = found.day is not None and not found.part
        if is_part_first and (part := self._part(at, alone=True)) is not None:
            return part
        if found.day is not None and (hour := self.text.number(at)) is not None:
            clock_word = self.text.says("clock", hour[1])  # "demain huit heures", not "demain une heure après ..."
            is_length = clock_word is not None and any(self.text.says(name, clock_word[1]) for name in _SIDES)
            told = told or (clock_word is not None and not is_length)
        if (clock := self._clock(at, told=told)) is not None and found.clock is None:
            return clock
        if found.day is None and (day := self._day(at)) is not None:
            return day
        if not found.part and (part := self._part(at, alone=found.clock is not None)) is not None:
            return part
        if found.clock is None and not found.part and (half := self.text.says("halves", at)):
            return self._in_half_clock(half[0], self._clock(half[1], told=False))  # "'s nachts om twee uur"
        return None

    def _in_half_clock(self, half: str, clock: ReadAt[DayTime]) -> ReadAt[DayTime]:
        """Return a time of day with the half of the day that was said in front of it."""
        if clock is None or clock[0].clock is None or clock[0].is_exact:
            return None
        hour = self._in_half(clock[0].clock.hour, half)
        return replace(clock[0], clock=clock[0].clock.replace(hour=hour), is_exact=True), clock[1]

    def _part(self, at: int, *, alone: bool) -> ReadAt[DayTime]:
        glue = self.text.says("part_glue", at)
        for place in (glue[1], at) if glue else (at,):
            if (place > at or alone) and (part := self.text.says("parts", place)):
                return DayTime(part=part[0]), part[1]
        return None

    def _day(self, at: int) -> ReadAt[DayTime]:
        glued = self.text.skip("part_glue", at)
        for name, days, part in _NAMED_PARTS:
            if said := self.text.says(name, at) or self.text.says(name, glued):
                day = self.calendar.today + timedelta(days=days)
                return DayTime(day=day, part=part, is_today=not days), said[1]
        if (joined := self.day_part(self.text.skip("on", at))) is not None:
            return DayTime(day=joined[0][0], part=joined[0][1]), joined[1]
        on = self.text.skip("on", at)
        found = self.day_at(at) or self.day_at(on) or self.day_at(self.text.skip("articles", on))
        if found is None or found[0] < self.calendar.today:
            return None
        day, behind = found
        if self.text.says("weekdays", behind - 1) and (week := self.text.says("week_later", behind)):
            day, behind = day + timedelta(weeks=1), week[1]
        behind = self.text.skip("coming", behind)
        if day == self.calendar.today and (said := self.text.says("in_span", behind)):  # "heute in einer Woche"
            length = self.length(said[1])
            if length is not None and not length[0][1] and length[0][0].days and not length[0][0].seconds:
                day, behind = day + length[0][0], length[1]
        if self.text.says("weekdays", behind - 1):  # "Wednesday, the 2nd of December"
            dated = self.written_date(self.text.skip("articles", behind))
            if dated is not None and dated[0].weekday() == day.weekday():
                day, behind = dated
        return DayTime(day=day, is_today=day == self.calendar.today), behind

    def _clock(self, at: int, *, told: bool) -> ReadAt[DayTime]:
        """Return a time of day with the word in front of it; without such a word only what can be nothing else."""
        said = self.text.says("at_clock", at)
        if self.is_set and (also := self.text.says("for_clock", at)) and self._is_clock(also[1]):
            said = said or also
        is_told = told or said is not None
        if (also := self.text.says("at_named", at)) and (
            said is None or also[1] > said[1]
        ):  # "à 21" is no time, "à midi" is one
            hour = self.text.number(also[1])
            is_hour = hour is not None and self.text.says("clock", hour[1]) is not None
            said, is_told = also, told or is_hour or self.text.says("hours", also[1]) is not None
        place = self._about(said[1] if said else at)
        found = self.clock_time(place, told=is_told)
        if found is None or self.text.says("values", found[1]) or self.text.says("months", found[1]):
            return None
        clock, behind = found
        words = self.text.words[place:behind]
        is_exact = clock.hour > HALF_DAY or any(self.text.says("moments", spot) for spot in range(place, behind))
        is_exact = is_exact or any(self.text.says("halves", spot) for spot in range(place, behind))
        is_exact = is_exact or any(word.word[0] == "0" or word.word.startswith("24") for word in words[:1])
        is_exact = is_exact or ((first := self.text.number(place)) is not None and first[0] == 0)
        return DayTime(clock=clock, is_exact=is_exact), behind

    def _is_clock(self, at: int) -> bool:
        """Return whether what follows "for" is a time of day, and not how long a timer runs: a reminder has no length.

        Where the same word says "before", it is not known ("voor tien uur").
        """
        may_be_clock = not self.is_timer and self.text.says("before", at - 1) is None
        return self.wakes or may_be_clock or self.length(at) is None

    def moment_of(self, point: DayTime, after: datetime) -> datetime | None:
        """Return the first moment after another one that a point says; None if there is none, or no time was said."""
        if point.clock is None and (point.day is None or not point.part):
            return None
        clock = point.clock if point.clock is not None else time(_HOURS[point.part])
        days = [point.day] if point.day is not None else [after.date() + timedelta(days=more) for more in range(3)]
        found = [
            self.calendar.at(day + timedelta(days=more), hour + clock.minute / MINUTES)
            for day in days
            for more, hour in self._hours(point, clock)
        ]
        return min((moment for moment in found if moment > after), default=None)

    def _hours(self, point: DayTime, clock: time) -> list[tuple[int, int]]:
        """Return the hours that a clock time may mean, each with how many days later it is."""
        hour, other = clock.hour, (clock.hour + HALF_DAY) % (2 * HALF_DAY)
        is_night = point.part in ("night", "tonight")
        if point.clock is None:
            return [(0, hour)]
        if is_night and (hour < _DAWN or (hour == HALF_DAY and not point.is_exact)):
            hour %= HALF_DAY
            return [(0, hour), (1, hour)] if point.is_today else [(1, hour)]
        if not hour and not clock.minute and point.day is not None:  # midnight ends a day
            return [(1, 0)]
        if point.is_exact:
            return [(0, hour), (1, hour)] if point.is_today and hour < _SMALL_HOURS else [(0, hour)]
        if point.part == "morning" or (point.part == "noon" and hour > HALF_DAY - 2):
            return [(0, hour)]
        if point.part:
            return [(1, 0)] if hour == HALF_DAY and point.part == "evening" else [(0, hour % HALF_DAY + HALF_DAY)]
        if self.wakes:
            return [(0, hour % HALF_DAY)]
        if point.day is None or point.is_today:
            return [(0, min(hour, other)), (0, max(hour, other))]
        return [(0, hour + HALF_DAY if hour < _DAWN else hour)]
