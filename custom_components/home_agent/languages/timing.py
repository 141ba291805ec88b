"""When something is to be done that is not for now: a sentence is split into what is to be done, and when.

What `later_in` finds is never lost: what is no moment, no end and no event here is `unread`, or says "always".
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, product

from ..support.text import MAX_TEXT, words_of
from .clause_cuts import ClauseReader, Opener, articles_of, has_phrase, marks_of
from .data import code_of
from .later import Later, LaterKind, later_in, unnamed
from .moments import Calendar
from .spoken_numbers import NumberReader, time_words, unelided, words_in
from .waits import DayTime, Piece, PieceKind, WaitReader

_MOST = 8  # readings
_FAR = 2  # words
_NEAR = 3  # words
_LEAST_AFTER = 2  # words of what happens first
_NO_NAME = "x"
_TIMELY = (
    "units",
    "days",
    "weekdays",
    "parts",
    "months",
    "moments",
    "halves",
    "hours",
    "quarter",
    "sunset",
    "sunrise",
    "minutes",
)
_CUT = ("half_to", "half_past", "quarter", "quarter_to", "quarter_of", "three_quarters_to")
_SIGNS = frozenset(",;:.")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A condition, or something that has to happen first."""

    text: str
    """Without its first word, and without times: "the washer is done"."""
    words: str
    """As it was said: "ten minutes after the washer is done"."""
    is_if: bool = False
    """Whether it asks how something is ("if", "unless"); else it is something that happens."""
    negated: bool = False
    """Whether it is not to be so."""
    delay: int = 0
    """Seconds after it."""
    until: bool = False
    """Whether it ends what is done: "until the washer is done"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One reading of a sentence."""

    rest: str
    """What is to be done, as it was said."""
    moment: SaidMoment | None = None
    """When."""
    back: SaidMoment | None = None
    """When it is to be taken back."""
    clauses: tuple[Clause, ...] = ()
    unread: str = ""
    """Words that put it off and say nothing that can be waited for."""
    forever: str = ""
    """Words that say that it is to be done again and again."""
    words: str = ""
    """All words that say when, as they were said."""
    then: str = ""
    """The part of `rest` that follows behind its end as something more: "for ten minutes, and then turn off the TV"."""


def timed_in(text: str, language: str, now: datetime, named: Iterable[str] = ()) -> Iterator[Timed]:
    """Yield readings of a sentence, the likeliest first, at most 8; none of a sentence that is for now.

    `now` is aware and in the time zone of the home; what was `named` is no time. Moments are after `now`.
    """
    names = tuple(named)
    if not (found := later_in(text, language, names)):
        return
    sentence = _Sentence(text, code_of(language), now, names, found)
    seen = set[tuple[object, ...]]()
    for reading in islice(sentence.readings(), 2 * _MOST):
        key = (reading.rest, reading.then, reading.clauses, reading.moment, reading.back)
        if key not in seen and len(seen) < _MOST:
            seen.add(key)
            yield reading
    if not seen:
        yield sentence.unread()


def moment_in(text: str, language: str, now: datetime) -> SaidMoment | None:
    """Return the moment that words name which are known to say when: "nine", "in ten minutes", "tomorrow at six".

    Bare hours and lengths are read as well. None where nothing is named, or more than one moment.
    """
    if len(text) > MAX_TEXT:
        return None
    said = text
    reader = _reader(said, code_of(language), now)
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
    made, left = _Moments(reader, text, pieces).moment()
    return made if not left else None


def _reader(said: str, code: str, now: datetime) -> WaitReader:
    words = words_of(said)
    text = NumberReader(words_in(unelided(said)), time_words(code, apart=True))
    marks = marks_of(code)
    timers, wakes = marks.get("timers", ()), has_phrase(words, marks.get("wakes", ()))
    is_timer = has_phrase(words, timers) or any(
        word.endswith(one) for (one, *more) in timers if not more for word in words
    )
    is_set = is_timer or wakes or has_phrase(words, marks.get("reminders", ()))
    return WaitReader(text, Calendar(now, ahead=True), is_timer=is_timer, is_set=is_set, wakes=wakes)


class _Moments:
    """What pieces of one sentence say together."""

    def __init__(self, reader: WaitReader, text: str, pieces: Sequence[Piece]) -> None:
        self._reader, self._text, self._pieces = reader, text, pieces
        self._now = reader.calendar.now

    def moment(self) -> tuple[SaidMoment | None, list[Piece]]:
        """Return when something is to be done, and the pieces that do not go with it."""
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


@dataclass(slots=True)
class _Sentence:
    """A sentence that is not for now, and what was found in it."""

    text: str
    code: str
    now: datetime
    named: tuple[str, ...]
    found: tuple[Later, ...]
    reader: WaitReader = field(init=False)
    clauses: ClauseReader = field(init=False)
    pieces: list[Piece] = field(init=False, default_factory=list)
    openers: list[Opener] = field(init=False, default_factory=list)
    ranges: list[tuple[Later, range]] = field(init=False)

    def __post_init__(self) -> None:
        """Look through the sentence once."""
        said = unnamed(self.text, self.code, self.named, _NO_NAME)
        self.reader = _reader(said, self.code, self.now)
        self.clauses = ClauseReader(self.reader, self.code)
        self.ranges = [(one, self._range(one)) for one in self.found]
        forever = {spot for one, spots in self.ranges if one.kind is LaterKind.REPEATED for spot in spots}
        at, count = 0, len(self.reader.text.words)
        while at < count:
            if at in forever:
                at += 1
                continue
            behind = at + 1
            piece = self.reader.sun_at(at) or self.reader.piece(at)
            if piece is not None and not self.clauses.is_delay(piece):
                if self._is_found(at, piece.behind):
                    self.pieces.append(replace(piece, first=self._front(piece.first)))
                    behind = piece.behind
            elif (opener := self.clauses.opener(at)) is not None and self._is_found(at, opener.behind):
                self.openers.append(opener)
                behind = opener.behind
            at = behind

    def _front(self, at: int) -> int:
        """Return where the words in front of a piece begin that belong to it: "at the latest"."""
        least = self.pieces[-1].behind if self.pieces else 0
        for spot in range(max(least, at - _NEAR), at):
            if (said := self.reader.text.says("front", spot)) and said[1] == at:
                return spot
        return at

    def _range(self, one: Later) -> range:
        words = self.reader.text.words
        inside = [spot for spot, word in enumerate(words) if word.start < one.end and one.begin < word.end]
        return range(inside[0], inside[-1] + 1) if inside else range(0)

    def _is_found(self, first: int, behind: int) -> bool:
        words = self.reader.text.words
        return any(one.begin < words[behind - 1].end and words[first].start < one.end for one in self.found)

    def readings(self) -> Iterator[Timed]:
        """Yield each way to read it."""
        words = self.reader.text.words
        borders = [*(opener.first for opener in self.openers[1:]), len(words)]
        signs = {
            spot
            for spot in range(1, len(words))
            if not _SIGNS.isdisjoint(self.text[words[spot - 1].end : words[spot].start])
        }
        cuts = [
            self.clauses.ends(opener, border, self.clauses.count_said(opener.first, self.pieces), self.pieces, signs)
            for opener, border in zip(self.openers, borders, strict=False)
        ]
        ways = product(*(list(enumerate(one)) for one in cuts))
        for way in sorted(islice(ways, 256), key=lambda way: sum(rank for rank, _ in way)):
            if (read := self._read([cut for _, cut in way])) is not None:
                yield read

    def unread(self) -> Timed:
        """Return it with all that puts it off as not understood."""
        spots = {spot for _, places in self.ranges for spot in places}
        return self._whole(set(), spots, None, None, ())

    def _read(self, cuts: Sequence[int]) -> Timed | None:
        """Return the sentence with clauses that end before these words."""
        reader, inside, clauses = self.reader, set[int](), list[Clause]()
        timely, vague, lifted = set[int](), set[int](), list[Piece]()
        for opener, cut in zip(self.openers, cuts, strict=True):
            if any(piece.first < cut < piece.behind for piece in self.pieces):
                return None
            if len(self.openers) == 1 and self.clauses.is_between_orders(opener.first, cut, self.pieces):
                return None
            spots = set(range(opener.first, cut))
            own = [piece for piece in self.pieces if opener.behind <= piece.first < cut and self._is_lifted(piece)]
            timely |= self._then(cut)
            lifted += own
            times = {spot for piece in own for spot in range(piece.first, piece.behind)}
            text = self._said([spot for spot in range(opener.behind, cut) if spot not in times])
            if not text:
                return None
            inside |= spots
            if opener.is_after and self._count_content(range(opener.behind, cut)) < _LEAST_AFTER:
                vague |= spots
                continue
            clauses.append(Clause(
                text=text,
                words=self._said([spot for spot in range(opener.first, cut) if spot not in times]),
                is_if=opener.name in ("if", "unless"),
                negated=opener.name == "unless",
                delay=opener.delay,
                until=opener.name == "until_when",
            ))  # fmt: skip
            timely |= spots
        pieces = [piece for piece in self.pieces if piece.first not in inside or piece in lifted]
        moments = _Moments(reader, self.text, pieces)
        moment, left = moments.moment()
        back, more = moments.back(moment)
        if moment is not None and back is not None and back.wall and back.at <= moment.at:
            more, back = [*more, *(piece for piece in pieces if piece.ends)], None
        timely |= {spot for piece in pieces for spot in range(piece.first, piece.behind)}
        timely = timely.union(*(self._then(piece.behind) for piece in pieces if piece.kind is PieceKind.SPAN))
        if moment is not None and any(not one.until for one in clauses):
            points = [piece for piece in pieces if piece.kind is PieceKind.POINT and not piece.ends]
            if points and all(piece.point is None or piece.point.clock is None for piece in points):
                moment, left = None, [*left, *points]  # "if it rains tomorrow" names no moment
        left += [piece for piece in pieces if self._is_cut(piece) or self._is_second(piece, timely)]
        unread = vague.union(*(range(piece.first, piece.behind) for piece in (*left, *more)))
        ends = [piece.behind for piece in pieces if piece.ends or piece.kind is PieceKind.LASTING]
        ends += [cut for opener, cut in zip(self.openers, cuts, strict=True) if opener.name == "until_when"]
        first, behind = self.clauses.joined(max(ends)) if ends else (0, 0)
        whole = self._whole(timely | set(range(first, behind)), unread, moment, back, tuple(clauses))
        if not behind:
            return whole
        places = range(behind, len(reader.text.words))
        taken = timely | unread
        return replace(
            whole,
            rest=self._said([spot for spot in range(first) if spot not in taken]),
            then=self._said([spot for spot in places if spot not in taken]),
        )

    def _is_second(self, piece: Piece, timely: Collection[int]) -> bool:
        """Return whether words of what is to be done stand before and behind a time that is joined: "on, and at ten off"."""
        text, count = self.reader.text, len(self.reader.text.words)
        spots = range(max(0, piece.first - _NEAR), piece.first)
        if piece.first and text.says("particles", piece.first - 1) and text.says("particles", count - 1):
            return piece.behind < count  # "Licht an, um zehn aus"
        is_end = piece.ends or piece.kind is PieceKind.LASTING
        is_followed = is_end and self.clauses.join_at(piece.behind) > piece.behind
        if (
            not self.openers
            and not is_followed
            and self.clauses.is_between_orders(piece.first, piece.behind, self.pieces)
        ):
            return True
        if not any(self.clauses.join_at(spot) == piece.first for spot in spots):
            return False
        joins = {at for spot in spots for at in range(spot, self.clauses.join_at(spot))}
        said = [spot for spot in range(count) if spot not in timely and spot not in joins]
        return any(spot < piece.first for spot in said) and any(spot >= piece.behind for spot in said)

    def _is_lifted(self, piece: Piece) -> bool:
        """Return whether a time within a clause says when it is looked at: "if the window is open in ten minutes".

        "When it is after ten" is a condition.
        """
        is_after = self.reader.text.says("after", piece.first) is not None
        return piece.kind is not PieceKind.LASTING and not piece.ends and not (is_after and piece.point is not None)

    def _then(self, at: int) -> set[int]:
        """Return the words "and then" at a place, which belong to what stands in front of them."""
        said = self.reader.text.says("then", at)
        return set(range(at, said[1])) if said is not None else set()

    def _is_cut(self, piece: Piece) -> bool:
        """Return whether a word in front of a length or of a moment belongs to it and was not understood: "in so ten minutes"."""
        text, first = self.reader.text, piece.first
        if any(text.says(name, spot) for name in _CUT for spot in range(max(0, first - 1), first)):
            return True
        fronts = ["not"] if piece.kind is PieceKind.SUN else ["not", "before"]
        if piece.point is not None and piece.point.day is not None and piece.point.clock is None:
            fronts.append("from_on")
        for name in fronts:
            if any(
                (said := text.says(name, spot)) and said[1] == first for spot in range(max(0, first - _NEAR), first)
            ):
                return True
        if piece.kind is not PieceKind.LASTING or piece.is_marked:
            return False
        return any(text.says("in_span", spot) for spot in range(max(0, first - _NEAR), first))

    def _is_left(self, spot: int) -> bool:
        """Return whether a word names a day and is part of nothing: "until tomorrow"."""
        text = self.reader.text
        if text.says("days", spot) or text.says("weekdays", spot):
            return True
        is_dated = any(text.number(near) or text.ordinal_word(near) for near in (spot - 1, spot + 1) if near >= 0)
        return is_dated and text.says("months", spot) is not None

    def _count_content(self, spots: Iterable[int]) -> int:
        return sum(self.reader.text.words[spot].word not in articles_of(self.code) for spot in spots)

    def _whole(
        self,
        timely: set[int],
        unread: set[int],
        moment: SaidMoment | None,
        back: SaidMoment | None,
        clauses: tuple[Clause, ...],
    ) -> Timed:
        timed = {spot for piece in self.pieces for spot in range(piece.first, piece.behind)}
        forever = set[int]()
        for one, places in self.ranges:
            spots = set(places)
            if spots & timed and one.kind not in (LaterKind.EVENT, LaterKind.REPEATED):
                timely |= {spot for spot in spots if self.reader.text.says("about", spot)}
            if one.kind is LaterKind.REPEATED and not spots <= timed:
                forever |= spots
            elif self._is_beside(one, spots, moment, timed):
                timely |= spots  # "later at ten", "wait five minutes"
            elif not spots & (timely | unread):
                unread |= spots
            elif any(self._is_timely(spot) for spot in spots - timely):
                unread |= spots - timely
        if timely or forever:
            unread |= {
                spot
                for spot in range(len(self.reader.text.words))
                if spot not in timely | forever and self._is_left(spot)
            }
        timely |= unread | forever
        places = range(len(self.reader.text.words))
        return Timed(
            rest=self._said([spot for spot in places if spot not in timely]),
            moment=moment,
            back=back,
            clauses=clauses,
            unread=self._said([spot for spot in places if spot in unread]),
            forever=self._said([spot for spot in places if spot in forever]),
            words=self._said([spot for spot in places if spot in timely]),
        )

    def _is_beside(self, one: Later, spots: Collection[int], moment: SaidMoment | None, timed: Collection[int]) -> bool:
        """Return whether words that say no time stand beside one that was read."""
        if one.kind not in (LaterKind.VAGUE, LaterKind.WAIT) or moment is None:
            return False
        return not {min(spots) - 1, max(spots) + 1}.isdisjoint(timed)

    def _is_timely(self, spot: int) -> bool:
        text = self.reader.text
        return text.number(spot) is not None or any(text.says(name, spot) for name in _TIMELY)

    def _said(self, spots: Sequence[int]) -> str:
        """Return some words as they were said, with the signs between those that follow one another."""
        words, parts, end = self.reader.text.words, list[str](), -1
        for spot in spots:
            word = words[spot]
            if parts and spot == end + 1:
                parts.append(self.text[words[end].end : word.start])
            elif parts:
                parts.append(" ")
            parts.append(self.text[word.start : word.end])
            end = spot
        return " ".join("".join(parts).split()).strip(" ,;:.!?-–")
