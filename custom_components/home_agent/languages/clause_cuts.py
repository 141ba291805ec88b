"""Where conditions and events begin in a sentence, and where they may end: "when the washer is done turn on the light"."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..support.text import fold, words_of
from .data import data_of
from .waits import Piece, PieceKind, WaitReader

_MOST_CUTS = 12  # places where one clause may end
_MOST_BEFORE = 3  # words of a command that a clause is put into: "mach, wenn ..."
_MOST_JOINING = 3  # words: "and then also"
_LEAST_COMMAND = 3  # words
_OPENERS = ("unless", "until_when", "if", "when")
_NEVER = 9  # the rank of a place where no clause ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Opener:
    """The first words of a clause; the clause itself begins at the word `behind`."""

    name: str
    """"when", "if", "unless" or "until_when"."""
    first: int
    behind: int
    delay: int = 0
    """Seconds after it."""
    is_after: bool = False
    """Whether it is a word that stands in front of things as well: "after dinner"."""


@cache
def marks_of(code: str) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return the words that tell what a time or a clause is for, by what they tell; folded."""
    return {name: tuple(words_of(phrase) for phrase in listed) for name, listed in data_of(code).later.marks.items()}


@cache
def articles_of(code: str) -> frozenset[str]:
    """Return the articles of a language, folded."""
    return frozenset(word for phrase in data_of(code).times.get("articles", ()) for word in words_of(phrase))


@cache
def beside_of(code: str) -> frozenset[str]:
    """Return the words that stand around what is to be told and say nothing: "to", "that"; folded."""
    return frozenset(word for phrase in data_of(code).planning.beside for word in words_of(phrase))


@cache
def joins_of(code: str) -> frozenset[tuple[str, ...]]:
    """Return the words that join something more to what is to be done: "and", "and then"; folded."""
    return frozenset(words_of(phrase) for phrase in data_of(code).follow_ups.joins) - {()}


def halves_of(text: str, code: str) -> Iterator[tuple[str, str]]:
    """Yield two clauses that one may be, without the word that joins them: "Anna comes home and no one is there"."""
    words = text.split()
    said = [fold(word.casefold().strip(",")) for word in words]
    for join in sorted(joins_of(code), key=len, reverse=True):
        for at in range(1, len(words) - len(join)):
            if tuple(said[at : at + len(join)]) == join:
                yield " ".join(words[:at]).strip(" ,"), " ".join(words[at + len(join) :])


@cache
def _happenings(code: str) -> frozenset[str]:
    """Return the first words of what becomes of things: "Öffnen", "fin"."""
    return frozenset(
        words[0] for listed in data_of(code).clauses.states.values() for one in listed if (words := words_of(one))
    )


@cache
def _leads(code: str) -> frozenset[str]:
    """Return the single words with which no clause ends: "in", "of"."""
    data = data_of(code)
    listed = map(words_of, data.clauses.leads)
    return frozenset(words[0] for words in listed if len(words) == 1)


@cache
def orders_of(code: str) -> frozenset[str]:
    """Return the words that a command may begin with."""
    data = data_of(code)
    return frozenset(fold(word.casefold()) for word in (*data.orders, *data.later.marks.get("orders", ())))


def has_phrase(words: Sequence[str], phrases: Iterable[tuple[str, ...]]) -> bool:
    """Return whether one of some phrases stands among words."""
    said = f" {' '.join(words)} "
    return any(f" {' '.join(phrase)} " in said for phrase in phrases)


@cache
def _courteous(code: str) -> frozenset[str]:
    data = data_of(code)
    return frozenset(word for text in (*data.courtesies, *data.polite) for word in words_of(text))


@dataclass(frozen=True, slots=True)
class ClauseReader:
    """Finds clauses among the words of one sentence."""

    reader: WaitReader
    code: str

    def opener(self, at: int) -> Opener | None:
        """Return what begins a clause at a place; with its delay, "ten minutes after"."""
        text = self.reader.text
        found = [(said[1], name) for name in _OPENERS if (said := text.says(name, at))]
        if found:
            behind = max(found, key=lambda one: one[0])[0]
            name = next(name for end, name in found if end == behind)
            return Opener(name=name, first=at, behind=behind)
        if (length := self.reader.length(at)) is not None and (behind := self._behind_after(length[1])):
            delay = round(length[0][0].total_seconds())
            return Opener(name="when", first=at, behind=behind, delay=delay, is_after=True)
        if behind := self._behind_after(at):
            return Opener(name="when", first=at, behind=behind, is_after=True)
        return None

    def _behind_after(self, at: int) -> int:
        """Return the place behind "after" where a clause follows, or what happens as a noun: "nach dem Öffnen"; 0 without it."""
        text = self.reader.text
        if after := text.says("after_when", at):
            return after[1]
        after = text.says("after_noun", at)
        if after is None or after[1] >= len(text.words):
            return 0
        return after[1] if text.words[text.skip("articles", after[1])].word in _happenings(self.code) else 0

    def is_delay(self, piece: Piece) -> bool:
        """Return whether a length is how long after something: "ten minutes after the washer is done"."""
        return piece.kind is PieceKind.LASTING and not piece.is_marked and self.opener(piece.first) is not None

    def ends(self, opener: Opener, end: int, before: int, pieces: Iterable[Piece], signs: Collection[int]) -> list[int]:
        """Return the words before which a clause may end, the likeliest first.

        It ends before the word `end` at the latest. `before` is how many words of a command stand in front of it, and `signs` are the
        words that a comma or the like stands in front of.
        """
        is_within = 0 < before <= _MOST_BEFORE and "clause_ends" in marks_of(self.code)
        best = {end: 5 if is_within else 1 if before else _NEVER}
        for spot in range(opener.behind + 1, end):
            rank = 0 if spot in signs else self._rank(spot, opener.behind)
            if rank < _NEVER:
                best[spot] = rank
        for piece in pieces:
            if piece.kind is not PieceKind.LASTING and opener.behind < piece.first and piece.behind < end:
                best[piece.behind] = min(
                    best.get(piece.behind, _NEVER), 6
                )  # "if it is still open in ten minutes tell me"
            if (
                piece.kind is PieceKind.LASTING
                and piece.is_marked
                and opener.behind < piece.first
                and piece.behind == end
            ):
                best[piece.first] = min(best.get(piece.first, _NEVER), 0 if before else 8)
        return sorted(best, key=lambda spot: (best[spot], spot))[:_MOST_CUTS]

    def _rank(self, spot: int, start: int) -> int:
        """Return how well a word begins what is to be done: 0 is best."""
        text, marks, words = self.reader.text, marks_of(self.code), self.reader.text.words
        word, last, ends = words[spot].word, words[spot - 1].word, marks.get("clause_ends", ())
        is_article, is_behind_verb = word in articles_of(self.code), (last,) in ends
        if word in articles_of(self.code) and last in _leads(self.code):  # "in the hall" is one
            return _NEVER
        if text.says("joins", spot) or (spot + 1 < len(words) and (words[spot + 1].word,) in ends):
            return _NEVER
        if is_behind_verb and (particle := text.says("particles", spot)) and particle[1] == len(words):
            return 0  # "mach das Licht, wenn alle weg sind, aus"
        if text.says("then", spot):
            return 2
        if word in orders_of(self.code):
            return 5 if (last,) in marks.get("copulas", ()) else 2
        if self.reader.is_set and text.says("remembers", spot):
            return 5
        if is_behind_verb:
            return 4 if is_article else 6
        if spot - start < 2:
            return _NEVER
        return 7 if is_article else 8 if ends else _NEVER

    def count_said(self, behind: int, pieces: Iterable[Piece]) -> int:
        """Return how many words in front of a place are of what is to be done."""
        return len(self._said(range(behind), pieces))

    def is_between_orders(self, start: int, behind: int, pieces: Collection[Piece]) -> bool:
        """Return whether a whole command stands before some words and another one behind them: "turn it on, at ten turn it off"."""
        before = self._said(range(start), pieces)
        after = self._said(range(behind, len(self.reader.text.words)), pieces)
        is_whole = len(before) >= _LEAST_COMMAND and not self.reader.is_set
        return is_whole and bool(after) and {before[0], after[0]} <= orders_of(self.code)

    def _said(self, spots: Iterable[int], pieces: Iterable[Piece]) -> list[str]:
        """Return the words of what is to be done at some places, without times and courtesies."""
        words, courteous = self.reader.text.words, _courteous(self.code)
        taken = {spot for piece in pieces for spot in range(piece.first, piece.behind)}
        return [words[spot].word for spot in spots if spot not in taken and words[spot].word not in courteous]

    def joined(self, start: int) -> tuple[int, int]:
        """Return where the first words behind a place that join something more begin and end: "and then"; 0 and 0 without them."""
        count = len(self.reader.text.words)
        for spot in range(start, count - 1):
            behind = spot
            while (more := self.join_at(behind)) > behind:
                behind = more
            if spot < behind < count:
                return spot, behind
        return 0, 0

    def join_at(self, at: int) -> int:
        """Return the place behind a word that joins something more; `at` if there is none."""
        words = tuple(word.word for word in self.reader.text.words[at : at + _MOST_JOINING])
        said = self.reader.text.says("then", at)
        found = [len(join) for join in joins_of(self.code) if words[: len(join)] == join]
        return max(at, said[1] if said else at, at + max(found, default=0))
