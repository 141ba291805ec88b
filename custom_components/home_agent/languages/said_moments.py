"""The moment that pieces of a sentence name together: a day and a time of day, a length, the sun."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..support.text import MAX_TEXT, words_of
from .clause_cuts import has_phrase, marks_of
from .data import code_of
from .later import without_times
from .moments import HALF_DAY, PARTS, Calendar
from .reminders import says_wake
from .spoken_numbers import NumberReader, time_words, unelided, words_in
from .waits import DayTime, Piece, PieceKind, WaitReader

_FAR = 2  # words
_DAWN = 6  # the first hour of a day, after its night


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMoment:
    """A moment that a sentence names."""

    at: datetime
    """Aware. Of the sun: from when on the next sunset or sunrise counts, that is now, or the first moment of a day."""
    wall: str = ""
    """Of a day and a time on the clock, as the clock shows it: "2026-11-25T07:00"."""
    sun: str = ""
    """"sunset" or "sunrise"."""
    offset: int = 0
    """Seconds after that; negative: before it."""
    seconds: int = 0
    """How long from then on, where a length was said: "in ten minutes", "for ten minutes"."""
    words: str = ""
    """As it was said."""


def moment_in(text: str, language: str, now: datetime) -> SaidMoment | None:
    """Return the moment that words name which are known to say when: "nine", "in ten minutes", "tomorrow at six".

    Bare hours and lengths are read as well. None where nothing is named, or more than one moment.
    """
    if len(text) > MAX_TEXT:
        return None
    said = text
    reader = reader_of(said, code_of(language), now)
    pieces, at = list[Piece](), 0
    while at < len(reader.text.words):
        piece = reader.piece(at)
        if piece is None and (point := reader.point(at, told=True)) is not None:
            piece = Piece(kind=PieceKind.POINT, first=at, behind=point[1], point=point[0])
        if piece is not None:
            pieces.append(
                replace(piece, ends=False, kind=PieceKind.SPAN if piece.kind is PieceKind.LASTING else piece.kind)
            )
        at = piece.behind if piece is not None else at + 1
    made, left = Moments(reader, text, pieces).moment()
    return made if not left else None


def says_day(text: str, language: str, now: datetime) -> bool:
    """Return whether a text names a day: "at six tomorrow morning"."""
    reader = reader_of(text, code_of(language), now)
    pieces = (reader.piece(at) for at in range(len(reader.text.words)))
    return any(piece is not None and piece.point is not None and piece.point.day is not None for piece in pieces)


def reader_of(said: str, code: str, now: datetime) -> WaitReader:
    """Return what reads the times of a text, by what else it speaks of: timers, reminders, waking."""
    words = words_of(said)
    reader, marks = NumberReader(words_in(unelided(said)), time_words(code, apart=True)), marks_of(code)
    timers, wakes = marks.get("timers", ()), has_phrase(words, marks.get("wakes", ()))
    wakes = wakes or any(says_wake(text, code) for text in (said, without_times(said, code)))
    is_timer = has_phrase(words, timers) or any(
        word.endswith(one) for (one, *more) in timers if not more for word in words
    )
    is_set = is_timer or wakes or has_phrase(words, marks.get("reminders", ()))
    return WaitReader(reader, Calendar(now, ahead=True), is_timer=is_timer, is_set=is_set, wakes=wakes)


class Moments:
    """What pieces of one sentence say together."""

    def __init__(self, reader: WaitReader, text: str, pieces: Sequence[Piece]) -> None:
        """Take the pieces in the order of their words."""
        self._reader, self._text, self._pieces = reader, text, pieces
        self._now = reader.calendar.now

    def moment(self) -> tuple[SaidMoment | None, list[Piece]]:
        """Return when something is to be done, and the pieces that do not go with it."""
        ahead = [piece for piece in self._pieces if piece.kind is PieceKind.AHEAD]
        if ahead:
            return self._before(ahead)
        pieces = [piece for piece in self._pieces if not piece.ends and piece.kind is not PieceKind.LASTING]
        point, used, left = DayTime(), list[Piece](), list[Piece]()
        for piece in pieces:
            is_point = piece.kind is PieceKind.POINT
            joined = point.joined(piece.point) if piece.point is not None and is_point else None
            if joined is not None and not self._is_far(used, piece):
                point = joined
                used.append(piece)
            elif piece.kind is PieceKind.POINT:
                left.append(piece)
        others = [piece for piece in pieces if piece.kind is not PieceKind.POINT]
        left += others[1:]
        if others and (point.clock is not None or others[0].kind is PieceKind.SPAN):
            left += others[:1] if point.clock is not None else used
            others, used = ([], used) if point.clock is not None else (others, [])
        if others:
            return self._other(others[0], point, [*used, others[0]]), left
        if not used:
            return None, left
        at = self._reader.moment_of(point, self._now)
        if at is None:
            return None, left + used
        return SaidMoment(at=at, wall=_wall(at), words=self._words(used)), left

    def _before(self, ahead: Sequence[Piece]) -> tuple[SaidMoment | None, list[Piece]]:
        """Return the moment that is some time before the only other one, which has a time on the clock."""
        others = [piece for piece in self._pieces if piece.kind is not PieceKind.AHEAD]
        moment, left = Moments(self._reader, self._text, others).moment()
        is_clear = any(piece.point is not None and piece.point.clock is not None for piece in others)
        if moment is None or not moment.wall or not is_clear or left or len(ahead) > 1:
            return moment, [*left, *ahead]
        at = (moment.at.astimezone(UTC) - (ahead[0].span or timedelta())).astimezone(moment.at.tzinfo)
        if at <= self._now:
            return moment, [*ahead]
        return replace(moment, at=at, wall=_wall(at), words=self._words([*others, *ahead])), []

    def window(self, pieces: Iterable[Piece]) -> tuple[datetime, datetime] | None:
        """Return from when and until when a day or a part of it lasts; None for more than one, or one that is over."""
        calendar, point = self._reader.calendar, DayTime()
        for piece in pieces:
            if piece.point is None or (joined := point.joined(piece.point)) is None:
                return None
            point = joined
        day, is_night = point.day or calendar.today, point.part in ("night", "tonight")
        if is_night and day == calendar.today and self._now.hour < _DAWN:
            day -= timedelta(days=1)
        if point.part == "tonight":
            start, end = calendar.at(day, PARTS["evening"][0]), calendar.at(day, PARTS["night"][1])
        elif point.part:
            start, end = calendar.part(day, point.part)
        else:
            start, end = calendar.at(day), calendar.at(day, 2 * HALF_DAY)
        return (start, end) if end > self._now else None

    def _is_far(self, used: Sequence[Piece], piece: Piece) -> bool:
        """Return whether a day belongs to what is to be remembered rather than to a time in front of it: "... that tomorrow ..."."""
        is_day = piece.point is not None and piece.point.clock is None
        return bool(used) and self._reader.is_set and is_day and piece.first - used[-1].behind >= _FAR

    def _other(self, piece: Piece, point: DayTime, used: Sequence[Piece]) -> SaidMoment:
        words, point = self._words(used), piece.point or point
        if piece.kind is PieceKind.SUN:
            calendar = self._reader.calendar
            start = calendar.at(point.day) if point.day is not None and not point.is_today else self._now
            return SaidMoment(at=start, sun=piece.sun, offset=piece.offset, words=words)
        at = self._after(piece, self._now)
        return SaidMoment(at=at, seconds=round((at - self._now).total_seconds()), words=words)

    def _after(self, piece: Piece, start: datetime) -> datetime:
        """Return the moment behind a length: hours as they pass, days and more by the calendar."""
        calendar, span = self._reader.calendar, piece.span or timedelta()
        if piece.months:
            months = start.year * 12 + start.month - 1 + piece.months
            year, month = divmod(months, 12)
            day = min(
                start.day,
                (
                    calendar.at(start.date().replace(year=year + (month == 11), month=(month + 1) % 12 + 1, day=1))
                    - timedelta(days=1)
                ).day,
            )
            return _real(start.replace(year=year, month=month + 1, day=day))
        if span.seconds == 0 and span.days:
            return _real((start.replace(tzinfo=None) + span).replace(tzinfo=start.tzinfo))
        return (start.astimezone(UTC) + span).astimezone(start.tzinfo)

    def back(self, moment: SaidMoment | None) -> tuple[SaidMoment | None, list[Piece]]:
        """Return when it is to be taken back, and the pieces that do not go with it."""
        pieces = [piece for piece in self._pieces if piece.ends or piece.kind is PieceKind.LASTING]
        if not pieces:
            return None, []
        piece, left = pieces[0], pieces[1:]
        start, words = moment.at if moment is not None else self._now, self._words([piece])
        if piece.kind is PieceKind.LASTING:
            seconds = round(piece.span.total_seconds()) if piece.span is not None else 0
            at = (start.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(start.tzinfo)
            return SaidMoment(at=at, seconds=seconds, words=words), left
        if piece.kind is PieceKind.SUN:
            return SaidMoment(at=start, sun=piece.sun, offset=piece.offset, words=words), left
        end = self._reader.moment_of(piece.point or DayTime(), start)
        return (SaidMoment(at=end, wall=_wall(end), words=words), left) if end is not None else (None, pieces)

    def _words(self, pieces: Sequence[Piece]) -> str:
        return " ".join(_slice(self._reader, self._text, piece.first, piece.behind) for piece in _sorted(pieces))


def _sorted(pieces: Iterable[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: piece.first)


def _wall(at: datetime) -> str:
    return at.replace(tzinfo=None).isoformat(timespec="minutes")


def _real(moment: datetime) -> datetime:
    return moment.astimezone(UTC).astimezone(moment.tzinfo)


def _slice(reader: WaitReader, text: str, first: int, behind: int) -> str:
    words = reader.text.words
    return text[words[first].start : words[behind - 1].end] if first < behind else ""
