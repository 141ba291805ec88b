"""What a sentence says of how a room or a sound is: a complaint ("too bright"), a remark ("it is bright"), or a wish ("brighter").

A remark asks for nothing, and a complaint for the opposite of what it names.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
import re

from ..support.text import MAX_TEXT, fold, spoken_words, words_of
from .data import code_of, data_of
from .phrases import is_altered, is_asking, is_order

_MAX_WORDS = 30  # a longer sentence tells a story
_PARTS = re.compile(r"[,;:.!?–—]\s+")

OPPOSITES: Mapping[str, str] = {
    "bright": "dark", "warm": "cold", "loud": "quiet", "humid": "dry", "draughty": "stuffy",
    "dark": "bright", "cold": "warm", "quiet": "loud", "dry": "humid", "stuffy": "draughty",
}  # fmt: skip
"""Each quality, with the one that there is more of where there is less of it."""
_AIR = ("draughty", "stuffy")
_LIKED = ("bright", "quiet")  # "it is so quiet here" is no complaint
_ALSO: Mapping[str, str] = {"quiet": "dark", "loud": "bright"}

type _Phrases = Mapping[tuple[str, ...], str]
"""Phrases as their folded words, each with the quality that it names; empty where it names none."""


class MoodKind(StrEnum):
    """What a sentence about a quality asks for."""

    COMPLAINT = "complaint"
    WISH = "wish"
    REMARK = "remark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """What a sentence says of a quality."""

    kind: MoodKind
    wanted: str = ""
    """The quality that there is to be more of; empty for a remark."""
    rest: tuple[str, ...] = ()
    """The words that say nothing of the quality, as they were said: which thing, where."""
    beside: frozenset[str] = frozenset()
    """Those of them that change nothing, folded, unless they are in a name."""
    also: str = ""
    """The quality that there is to be more of if it is about a light: "the lamp is too strong"."""
    is_plain: bool = True
    """Whether nothing in it denies, asks, sets a condition or names another time."""


@lru_cache(maxsize=4)  # several readers ask for one sentence
def mood_of(text: str, language: str) -> Mood | None:
    """Return what a sentence says of a quality; None if it says nothing of one, gives an order, or asks a question."""
    code = code_of(language)
    phrases = _phrases_of(code)
    if phrases is None or len(text) > MAX_TEXT:
        return None
    spoken = spoken_words(text)
    if not 0 < len(spoken) <= _MAX_WORDS or any(is_order(part, code) for part in _PARTS.split(text.strip())):
        return None
    return _Reading(text, code, tuple(spoken), phrases).mood()


@dataclass(frozen=True, slots=True, kw_only=True)
class _MoodPhrases:
    qualities: _Phrases
    more: _Phrases
    extreme: _Phrases
    too: _Phrases
    enough: _Phrases
    so: _Phrases
    negations: _Phrases
    less: _Phrases
    stronger: _Phrases
    copulas: _Phrases
    degrees: _Phrases
    beside: _Phrases
    wishes: _Phrases
    asks: _Phrases
    strongly: _Phrases
    pleasant: _Phrases
    strong: _Phrases


@cache
def _phrases_of(code: str) -> _MoodPhrases | None:
    """Return the phrases of a language, None where its data has none."""
    words = data_of(code).moods
    if not words.qualities:
        return None

    def plain(listed: Iterable[str]) -> _Phrases:
        return {phrase: "" for text in listed if (phrase := words_of(text))}

    def named(listed: Mapping[str, Sequence[str]]) -> _Phrases:
        return {phrase: quality for quality, texts in listed.items() for text in texts if (phrase := words_of(text))}

    return _MoodPhrases(
        qualities=named(words.qualities),
        more=named(words.more),
        extreme=named(words.extreme),
        too=plain(words.too),
        enough=plain(words.enough),
        so=plain(words.so),
        negations=plain(words.negations),
        less=plain(words.less),
        stronger=plain(words.stronger),
        copulas=plain(words.copulas),
        degrees=plain(words.degrees),
        beside=plain(words.beside),
        wishes=plain(words.wishes),
        asks=plain(words.asks),
        strongly=plain(words.strongly),
        pleasant=plain(words.pleasant),
        strong=plain(words.strong),
    )


class _Reading:
    """The words of a sentence, and which of them tell something of a quality."""

    def __init__(self, text: str, code: str, spoken: Sequence[str], phrases: _MoodPhrases) -> None:
        self._text, self._code, self._spoken, self._phrases = text, code, spoken, phrases
        self._said = tuple(map(fold, spoken))
        self._taken: set[int] = set()

    def mood(self) -> Mood | None:
        """Return what is said; the most telling phrases are looked for first."""
        phrases = self._phrases
        wishes = self._take(phrases.wishes)
        stronger = self._take(phrases.more)
        extreme = self._take(phrases.extreme)
        named = self._take(phrases.qualities)
        degrees = self._take_beside(phrases.degrees)
        if not extreme and not stronger:  # "I'm so very cold"
            extreme = self._take(phrases.extreme, across=degrees | {at for spots, _ in named for at in spots})
        found = {quality for _, quality in (*stronger, *extreme, *named)}
        if not found or (self._begins(phrases.asks) and not wishes):
            return None
        copulas = self._take_beside(phrases.copulas)
        wanted, kind = self._wanted(stronger, extreme, named, is_wish=bool(wishes), is_told=bool(copulas))
        if kind is None:
            # "nice and bright"; words alone ("warm white") are something else
            if not (copulas or degrees) or wishes:
                return None
            kind = MoodKind.REMARK
        beside = degrees | copulas | self._take_beside(phrases.beside)
        rest = tuple(word for at, word in enumerate(self._spoken) if at in beside or at not in self._taken)
        if is_asking(self._text, self._code) and not (kind is MoodKind.WISH and wishes):
            return None
        is_plain = len(found) == 1 and not is_altered(self._left(), self._code, (), asks=True)
        is_plain &= not any(self._free(phrases.negations))
        if kind is MoodKind.WISH and not is_plain:
            return None  # read as any command
        nothing = frozenset(self._said[at] for at in beside)
        is_strong = any((word,) in phrases.strong for word in self._said)
        also = _ALSO.get(wanted, "") if is_strong else ""
        return Mood(kind=kind, wanted=wanted, rest=rest, beside=nothing, also=also, is_plain=is_plain)

    def _wanted(
        self,
        stronger: Sequence[tuple[range, str]],
        extreme: Sequence[tuple[range, str]],
        named: Sequence[tuple[range, str]],
        *,
        is_wish: bool,
        is_told: bool,
    ) -> tuple[str, MoodKind | None]:
        """Return which quality there is to be more of, and whether that is wished for or complained about; None for neither."""
        phrases = self._phrases
        asks_for = is_wish or not is_told
        if stronger:
            return (stronger[0][1], MoodKind.WISH) if asks_for else ("", MoodKind.REMARK)
        if extreme:
            return OPPOSITES[extreme[0][1]], MoodKind.COMPLAINT
        if not named:
            return "", None
        spots, quality = named[0]
        if self._stands_before(phrases.too, spots):
            return OPPOSITES[quality], MoodKind.COMPLAINT
        if self._take(phrases.enough):
            return (quality, MoodKind.COMPLAINT) if self._take(phrases.negations) else ("", MoodKind.REMARK)
        if self._stands_before(phrases.less, spots) and asks_for:
            return OPPOSITES[quality], MoodKind.WISH
        if self._stands_before(phrases.stronger, spots) and asks_for:
            return quality, MoodKind.WISH
        is_so = bool(self._stands_before(phrases.so, spots))
        if is_so and asks_for and not self._is_denied() and self._take(phrases.negations):
            return OPPOSITES[quality], MoodKind.WISH  # "I don't want it so bright"
        if quality in _AIR:
            return OPPOSITES[quality], MoodKind.COMPLAINT
        if is_wish:
            return quality, MoodKind.WISH
        if is_told and self._is_strongly(spots, quality):
            return OPPOSITES[quality], MoodKind.COMPLAINT
        return "", None

    def _is_denied(self) -> bool:
        """Return whether a copula and its denial are one word: "isn't", "n'est"."""
        denials = (word for word in self._said if (word,) in self._phrases.negations)
        return any((word.removesuffix("nt").removeprefix("n"),) in self._phrases.copulas for word in denials)

    def _is_strongly(self, spots: range, quality: str) -> bool:
        """Return whether a quality is said with more than a plain word and without pleasure: "so damp", "boah ist das kalt"."""
        phrases = self._phrases
        alone = [*zip(self._said, strict=True)]
        is_strong = any(word in phrases.strong for word in alone)
        if any(word in phrases.negations or word in phrases.pleasant for word in alone):
            return False
        if quality in _LIKED and not is_strong:
            return False
        if any((word,) in phrases.asks for word in self._said[spots.stop :]):
            return False  # "so kalt wie im Büro"
        begins = any(self._said[: len(one)] == one for one in phrases.strongly if one not in phrases.so)
        return begins or self._stands_before(phrases.strongly, spots)

    def _take(self, phrases: _Phrases, *, across: Collection[int] = ()) -> list[tuple[range, str]]:
        """Return where phrases stand, the longest first where they overlap, and use these words up.

        Those at `across` may stand within a phrase.
        """
        left = [at for at in range(len(self._said)) if at in across or at not in self._taken]
        if across:  # degrees are skipped, the words of the quality are not
            left = [at for at in left if not self._is_degree(at)]
        found: list[tuple[range, str]] = []
        for length in sorted({len(phrase) for phrase in phrases}, reverse=True):
            for first in range(len(left) - length + 1):
                spots = left[first : first + length]
                is_whole = across or spots[-1] - spots[0] == length - 1
                said = tuple(self._said[at] for at in spots)
                if is_whole and said in phrases and not any(at in one for one, _ in found for at in spots):
                    found.append((range(spots[0], spots[-1] + 1), phrases[said]))
                    self._taken.update(spots)
        return sorted(found, key=lambda one: one[0].start)

    def _is_degree(self, at: int) -> bool:
        return (self._said[at],) in self._phrases.degrees or (self._said[at],) in self._phrases.so

    def _take_beside(self, phrases: _Phrases) -> set[int]:
        return {at for spots, _ in self._take(phrases) for at in spots}

    def _stands_before(self, phrases: _Phrases, spots: range) -> bool:
        """Return whether a phrase stands in front of a quality with nothing between but degrees, and use it up."""
        end = spots.start
        while end >= 0:
            for length in {len(phrase) for phrase in phrases}:
                begin = end - length
                if begin >= 0 and self._said[begin:end] in phrases:
                    self._taken.update(range(begin, end))
                    return True
            if end == 0 or not self._is_degree(end - 1):
                return False
            end -= 1
        return False

    def _left(self) -> str:
        """Return the text without the words that were used up, as it was written."""
        parts: list[str] = []
        at = 0
        for part in self._text.split():
            length = len(spoken_words(part))
            parts += [] if length and self._taken.issuperset(range(at, at + length)) else [part]
            at += length
        return " ".join(parts)

    def _begins(self, phrases: _Phrases) -> bool:
        return any(self._said[: len(phrase)] == phrase for phrase in phrases)

    def _free(self, phrases: _Phrases) -> Iterator[int]:
        return (at for at, word in enumerate(self._said) if (word,) in phrases and at not in self._taken)
