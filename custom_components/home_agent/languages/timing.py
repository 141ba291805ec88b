"""When something is to be done that is not for now: a sentence is split into what is to be done, and when.

What `later_in` finds is never lost: what is no moment, no end and no event here is `unread`, or says "always".
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice, product

from .clause_cuts import ClauseReader, Opener, articles_of, beside_of
from .data import code_of
from .later import Later, LaterKind, later_in, unnamed
from .said_moments import Moments, SaidMoment, reader_of
from .waits import Piece, PieceKind, WaitReader

_MOST = 8  # readings
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
_OPENS, _CLOSES, _UNITS = '([{„“"«€$£#@', ')]}”“"»…%°€$£', "%°€$£"
"""Signs in front of a word that belong to it, behind one, and those behind one also after a blank."""
_BESIDE = ("if", "when", "after", "after_when")
"""What stands in front of the sun where it is a condition: "if it is dark", "after sunset"."""


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
    lasting: int = 0
    """Seconds for which it has to stay so: "the door has been open for ten minutes"."""
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
    window: tuple[datetime, datetime] | None = None
    """From when and until when something that happens counts: "when Anna comes home tonight"."""
    daylight: bool | None = None
    """Whether it has to be light then, or dark: "when Anna comes home, if it is dark"."""
    unread: str = ""
    """Words that put it off and say nothing that can be waited for."""
    forever: str = ""
    """Words that say that it is to be done again and again."""
    words: str = ""
    """All words that say when, as they were said."""
    then: str = ""
    """The part of `rest` that follows behind its end as something more: "for ten minutes, and then turn off the TV"."""


@dataclass(slots=True)
class _ReadClauses:
    """The clauses of one way to read a sentence, and the places of the words around them."""

    clauses: list[Clause] = field(default_factory=list)
    inside: set[int] = field(default_factory=set)
    """Those within clauses."""
    timely: set[int] = field(default_factory=set)
    """Those that say when."""
    vague: set[int] = field(default_factory=set)
    """Those of clauses that say too little."""
    lifted: list[Piece] = field(default_factory=list)
    """Times within clauses that say when these are looked at."""


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
    skies: list[tuple[range, bool]] = field(init=False, default_factory=list)
    """Where it is said beside something else that it has to be light then, or dark."""
    ranges: list[tuple[Later, range]] = field(init=False)

    def __post_init__(self) -> None:
        """Look through the sentence once."""
        said = unnamed(self.text, self.code, self.named, _NO_NAME)
        self.reader = reader_of(said, self.code, self.now)
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
            elif self.openers and (join := self.clauses.join_at(at)) > at and (sky := self.reader.sky_at(join)):
                self.skies.append((range(at, sky[1]), sky[0]))
                behind = sky[1]
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
        if (read := self._clauses_before(cuts)) is None:
            return None
        timely, is_awaited = read.timely, any(not (one.until or one.negated) for one in read.clauses)
        pieces = [piece for piece in self.pieces if piece.first not in read.inside or piece in read.lifted]
        skies = dict(self.skies) | self._skies(pieces, is_awaited=is_awaited)
        pieces = [piece for piece in pieces if range(piece.first, piece.behind) not in skies]
        timely = timely.union(*skies)
        moments = Moments(self.reader, self.text, pieces)
        moment, left = moments.moment()
        back, more = moments.back(moment)
        if moment is not None and back is not None and back.wall and back.at <= moment.at:
            more, back = [*more, *(piece for piece in pieces if piece.ends)], None
        timely |= {spot for piece in pieces for spot in range(piece.first, piece.behind)}
        timely = timely.union(*(self._then(piece.behind) for piece in pieces if piece.kind is PieceKind.SPAN))
        window: tuple[datetime, datetime] | None = None
        if days := self._days_alone(pieces, read.clauses):  # "if it rains tomorrow" names no moment
            moment, left = None, [piece for piece in left if piece not in days]
            window = moments.window(days) if is_awaited and self._are_of_clause(days, cuts) else None
            left += days if window is None else []
        left += [piece for piece in pieces if self._is_cut(piece) or self._is_second(piece, timely)]
        unread = read.vague.union(*(range(piece.first, piece.behind) for piece in (*left, *more)))
        joined = self._joined_behind_end(pieces, cuts)
        whole = self._whole(timely | set(joined), unread, moment, back, tuple(read.clauses))
        daylight = set(skies.values())
        if len(daylight) > 1:
            return None
        whole = replace(whole, window=window, daylight=daylight.pop() if daylight else None)
        return self._parted(whole, joined, timely | unread) if joined else whole

    def _clauses_before(self, cuts: Sequence[int]) -> _ReadClauses | None:
        """Return the clauses that end before these words; None where one is empty, or cuts a time or a command."""
        read = _ReadClauses()
        for opener, cut in zip(self.openers, cuts, strict=True):
            if any(piece.first < cut < piece.behind for piece in self.pieces):
                return None
            if len(self.openers) == 1 and self.clauses.is_between_orders(opener.first, cut, self.pieces):
                return None
            spots = set(range(opener.first, cut))
            own = [piece for piece in self.pieces if opener.behind <= piece.first < cut and self._is_lifted(piece)]
            read.timely |= self._then(cut)
            read.lifted += own
            times = {spot for piece in own for spot in range(piece.first, piece.behind)}
            times = times.union(*(sky for sky, _ in self.skies))
            lasting, lasts = self._lasting(opener, cut, times)
            text = self._said([spot for spot in range(opener.behind, cut) if spot not in times | lasts])
            if not text:
                return None
            read.inside |= spots
            if opener.is_after and self._count_content(range(opener.behind, cut)) < _LEAST_AFTER:
                read.vague |= spots
                continue
            read.clauses.append(Clause(
                text=text,
                words=self._said([spot for spot in range(opener.first, cut) if spot not in times]),
                is_if=opener.name in ("if", "unless"),
                negated=opener.name == "unless",
                delay=opener.delay,
                lasting=lasting,
                until=opener.name == "until_when",
            ))  # fmt: skip
            read.timely |= spots
        return read

    def _days_alone(self, pieces: Iterable[Piece], clauses: Iterable[Clause]) -> list[Piece]:
        """Return the days of a sentence with something that happens, where no time of day is named beside them."""
        points = [piece for piece in pieces if piece.kind is PieceKind.POINT and not piece.ends]
        if any(piece.point is not None and piece.point.clock is not None for piece in points):
            return []
        return points if any(not one.until for one in clauses) else []

    def _joined_behind_end(self, pieces: Iterable[Piece], cuts: Sequence[int]) -> range:
        """Return the words that join something more to what ends: "for ten minutes, and then"; none without them."""
        ends = [piece.behind for piece in pieces if piece.ends or piece.kind is PieceKind.LASTING]
        ends += [cut for opener, cut in zip(self.openers, cuts, strict=True) if opener.name == "until_when"]
        return range(*self.clauses.joined(max(ends))) if ends else range(0)

    def _parted(self, whole: Timed, joined: range, taken: AbstractSet[int]) -> Timed:
        """Return a reading with what is done until its end, and what then follows, apart."""
        places = range(joined.stop, len(self.reader.text.words))
        return replace(
            whole,
            rest=self._said([spot for spot in range(joined.start) if spot not in taken]),
            then=self._said([spot for spot in places if spot not in taken]),
        )

    def _lasting(self, opener: Opener, cut: int, times: AbstractSet[int]) -> tuple[int, set[int]]:
        """Return how many seconds something has to stay so in a clause, and the places of the words that say it."""
        if opener.name not in ("when", "if") or opener.is_after:
            return 0, set()
        for at in range(opener.behind, cut):
            found = self.reader.lasting_at(at) if at not in times else None
            if found is not None and found[1] <= cut and times.isdisjoint(range(at, found[1])):
                return round(found[0].total_seconds()), set(range(at, found[1]))
        return 0, set()

    def _skies(self, pieces: Collection[Piece], *, is_awaited: bool) -> dict[range, bool]:
        """Return where the sun is no moment but a condition, as there is another moment, or something that happens."""
        is_timed = any(piece.point is not None and piece.point.clock and not piece.ends for piece in pieces)
        if not (is_awaited or is_timed):
            return {}
        text, suns = self.reader.text, [piece for piece in pieces if piece.kind is PieceKind.SUN and not piece.ends]
        return {
            range(piece.first, piece.behind): piece.sun == "sunrise"
            for piece in suns
            if not piece.offset and piece.point is None and any(text.says(name, piece.first) for name in _BESIDE)
        }

    def _are_of_clause(self, points: Iterable[Piece], cuts: Sequence[int]) -> bool:
        """Return whether days stand within what has to happen, or right in front of it: "tonight, when Anna comes home"."""
        found = [(opener, cut) for opener, cut in zip(self.openers, cuts, strict=True) if opener.name in ("when", "if")]
        return all(
            any(opener.first <= piece.first < cut or piece.behind == opener.first for opener, cut in found)
            for piece in points
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
        if piece.kind is PieceKind.LASTING:
            fronts.append("at")  # "at 25 o'clock", where hours of a clock and hours that pass are one word
        if piece.point is not None and piece.point.day is not None and piece.point.clock is None:
            fronts.append("from_on")
        for name in fronts:
            spots = [
                spot
                for spot in range(max(0, first - _NEAR), first)
                if (said := text.says(name, spot)) and said[1] == first
            ]
            if name == "before" and self.reader.wakes:  # "de wekker voor zaterdag"
                spots = [spot for spot in spots if not text.says("for_clock", spot)]
            if spots:
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
        return (is_dated and text.says("months", spot) is not None) or self._is_day_of_month(spot)

    def _is_day_of_month(self, spot: int) -> bool:
        """Return whether a number may be a day: "on the seventh" at the end of something, in a sentence about a reminder."""
        text = self.reader.text
        if not self.reader.is_set or (day := text.ordinal(spot)) is None:
            return False
        is_on = any(
            (said := text.says("on_day", front)) and said[1] == spot for front in range(max(0, spot - _NEAR), spot)
        )
        if not is_on and text.says("dated", spot) is None:
            return False
        behind = text.words[day[1] : day[1] + 1]
        if not behind or any(text.says(name, day[1]) for name in ("at", "at_clock", "at_named", "then")):
            return True
        if behind[0].word in beside_of(self.code):
            return True
        return not _SIGNS.isdisjoint(self.text[text.words[spot].end : behind[0].start])

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
        """Return some words as they were said, with the signs between those that follow one another and those at a word: "(two", "5 %"."""
        words, parts, end = self.reader.text.words, list[str](), -1
        for spot in spots:
            word, before = words[spot], words[spot - 1].end if spot else 0
            if not parts or spot != end + 1:
                parts.append(f"{self._signs_behind(end)} " if parts else "")
                before += len(self.text[before : word.start].rstrip(_OPENS))
            parts.append(self.text[before : word.end])
            end = spot
        said = " ".join("".join((*parts, self._signs_behind(end) if parts else "")).split()).strip(" ,;:.!?-–")
        return f"{said})" if said.count("(") > said.count(")") else said

    def _signs_behind(self, spot: int) -> str:
        """Return the signs that belong to a word; of the last one all that is left of the text."""
        words = self.reader.text.words
        if spot + 1 == len(words):
            return self.text[words[spot].end :]
        signs = self.text[words[spot].end : words[spot + 1].start]
        blank = " " if signs[:1] == " " and signs[1:2] in _UNITS else ""
        signs = signs.removeprefix(blank)
        return blank + signs[: len(signs) - len(signs.lstrip(_CLOSES))]
