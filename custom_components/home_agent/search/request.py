"""What was said, as words with their weight, the kinds that they may stand for and the words of the home like them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
import re
import unicodedata

from ..languages.data import unit_words
from ..languages.vocabulary import Kinds, Language
from ..support.text import fold, is_unspaced, normalized, pieces, runs
from .lexical import Alike, Lexicon

MAX_SPOKEN = 40  # words that are looked at

_QUESTION = re.compile(r"[?؟？;]\s*$")
_HEATED: Kinds = {"climate": 1.0, "water_heater": 0.7, ".temperature": 0.9}
_SYNONYM = 0.6  # a name that says "lamp" when "light" was said
_SAME_THING = 0.85  # "telly" and "tv": a word for one device class
_NUMBER = 0.5
_FILLER = 0.12
_FORM = 0.88  # likeness of two forms of one word
_HALF = 0.85  # "Flurlicht" said, and something else in the "Flur"
_MEASURED = 0.4  # what is measured, in an order
_CONTROLLED = frozenset({".tv", ".speaker", ".receiver", ".projector", ".outlet", ".switch"})
"""Classes of things that take orders, in any domain: a television, a speaker, an outlet."""
_ROOM = 0.8  # the same room under another name: more than a word that only has this one in it
_THING = 0.75  # the same thing under another name, or what it is for


@cache
def _values() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds percentages and degrees, and degrees alone."""
    percent, degrees = (unit_words()[unit] for unit in "%°")
    return re.compile(rf"\d+(?:[.,]\d+)?\s*(?:[%°℃℉]|{percent}|{degrees})"), re.compile(rf"\d\s*(?:[°℃℉]|{degrees})")


@dataclass(slots=True)
class Spoken:
    """A word that was said."""

    word: str
    folded: str
    alike: Alike = field(default_factory=dict)  # words of the home that it may stand for
    kinds: Kinds = field(default_factory=dict)
    is_noun: bool = False  # whether it names a kind rather than points to it
    is_common: bool = False  # whether it is a word of everyday requests, and so hardly a name
    factor: float = 1.0  # how much it counts besides its rarity


@dataclass(slots=True)
class Request:
    """What was said."""

    spoken: list[Spoken]
    rooms: frozenset[tuple[int, ...]] = frozenset()
    """What rooms that were named are called otherwise, as numbers of words of the home."""
    everything: bool = False  # whether all of something is meant
    asking: float = 0.0  # whether something is asked (towards 1) or ordered (towards -1)

    @property
    def names_kind(self) -> bool:
        """Return whether a kind is named: "the lights", but not "turn it off"."""
        return any(spoken.is_noun for spoken in self.spoken)


def request_of(text: str, language: Language, lexicon: Lexicon) -> Request:
    """Return a text as a request to this home."""
    plain, (value, degrees) = normalized(text), _values()
    said = runs(value.sub(" ", plain))[:MAX_SPOKEN]
    folded = [fold(run) for run in said]
    phrases: dict[int, dict[str, float]] = {}
    for start, length, kinds in language.phrases(folded):
        for place in range(start, start + length):
            phrases.setdefault(place, {}).update(kinds)
    reader = _QueryReader(language, lexicon)
    spoken = [item for place, run in enumerate(said) for item in reader.words(run, folded[place], phrases.get(place))]
    rooms = reader.add_rooms(spoken)
    reader.add_things(spoken)
    if not any(item.is_noun for item in spoken):  # what mostly says nothing may name a kind: "the kitchen switch"
        for item in reversed(spoken[1:]):
            if item.folded in language.fillers and item.folded in language.nouns:
                item.kinds, item.is_noun, item.factor = language.kinds[item.folded], True, 1.0
                break
    if degrees.search(plain):
        spoken.append(Spoken("°", "°", kinds=_HEATED, is_noun=True))
    asking = [language.asking.get(word, 0.0) for word in folded]
    mode = sum(asking) / max(1.0, sum(map(abs, asking)))
    if mode < 0 and _QUESTION.search(plain):  # "can you turn it off?" is an order all the same, so this decides nothing
        mode = 0.0
    if mode < 0:
        reader.measure_nothing(spoken)
    if mode < 0 or not any(asking):  # "is anyone home" is about presence, "turn off all" about no kind
        for item in spoken:
            item.kinds = {} if item.folded in language.everything else item.kinds
    return Request(
        list({item.word: item for item in spoken}.values()),
        rooms=frozenset(rooms),
        everything=language.has_everything(folded),
        asking=mode,
    )


@dataclass(frozen=True, slots=True)
class _QueryReader:
    language: Language
    lexicon: Lexicon

    def words(self, run: str, folded: str, phrase: Mapping[str, float] | None) -> Iterator[Spoken]:
        """Yield one word of a run, the two halves of a compound, or the words in a run without spaces.

        `phrase` has the kinds of the phrase around it.
        """
        language, lexicon = self.language, self.lexicon
        if is_unspaced(run):
            yield from self._unspaced(run)
            return
        alike = lexicon.alike(run)
        if folded in language.fillers and not phrase:
            yield Spoken(run, folded, alike, factor=_FILLER)
            return
        forms = lexicon.forms(language.base, folded)
        if more := {number: how for number, how in forms.items() if how > alike.get(number, 0.0)}:
            alike = {**alike, **more}
        if folded in language.common:
            alike = {number: how for number, how in alike.items() if how >= _FORM}
        item = Spoken(run, folded, alike, language.kinds_of(folded))
        item.is_noun = language.is_noun(folded) and folded not in language.everything
        item.is_common = folded in language.common or folded in language.everything
        if run.isdigit():
            item.factor = _NUMBER
        elif phrase is not None:
            item.kinds, item.is_noun = phrase, True
        elif folded not in language.kinds and (apart := self._apart(folded)):
            if max(alike.values(), default=0.0) < _FORM:
                for word in apart:
                    yield from self.words(word, word, None)
                return
            item.alike = {number: _HALF * how for number, how in lexicon.alike(apart[0]).items()} | dict(alike)
        self._add_synonyms(item)
        yield item

    def _unspaced(self, run: str) -> Iterator[Spoken]:
        """Yield the words for kinds inside a run without spaces, and its pairs of characters."""
        known: set[str] = set()
        folded = fold(run)
        for word, kinds in self.language.inside(folded):
            item = Spoken(word, word, kinds=kinds, is_noun=word in self.language.nouns)
            self._add_synonyms(item)
            known.add(word)
            yield item
        for name in self.language.named_inside(folded):
            if name not in known:
                known.add(name)
                yield Spoken(name, name, self.lexicon.alike(name))
        for piece in pieces(run):
            if fold(piece) not in known:
                yield Spoken(piece, fold(piece), self.lexicon.alike(piece))

    def _add_synonyms(self, item: Spoken) -> None:
        """Let a word that names a kind stand for the other words for it in this home."""
        if not item.is_noun or not item.kinds:
            return
        found = dict(item.alike)
        special = [kind for kind in item.kinds if "." in kind]
        how_much = _SAME_THING if special else _SYNONYM
        for kind in special or item.kinds:
            for noun in self.language.nouns_for(kind):
                number = self.lexicon.find(noun)
                if number is not None and found.get(number, 0.0) < how_much:
                    found[number] = how_much * item.kinds[kind]
        item.alike = found

    def _apart(self, word: str) -> tuple[str, str] | None:
        """Return the two halves of a compound: something and a kind, or two words of the home."""
        begin, noun = self.language.noun_at_end(word)
        if noun:
            return self._without_link(word[:begin]), noun
        find = self.lexicon.find
        halves = ((word[:cut], word[cut:]) for cut in range(len(word) - 3, 3, -1) if find(word[cut:]) is not None)
        apart = ((self._without_link(start), end) for start, end in halves)
        return next(((start, end) for start, end in apart if find(start) is not None), None)

    def _without_link(self, start: str) -> str:
        """Return the first half without the letters that tie it to the second: "Schlafzimmer(s)"."""
        short = (start.removesuffix(link) for link in ("s", "n", "en", "er", "es", "e"))
        known = (word for word in short if len(start) > len(word) > 2 and self.lexicon.find(word) is not None)
        return next(known, start)

    def add_rooms(self, spoken: Sequence[Spoken]) -> set[tuple[int, ...]]:
        """Let the word for a room stand for its other names in this home, and return those: "lounge", "living room"."""
        rooms: set[tuple[int, ...]] = set()
        folded = [item.folded for item in spoken]  # "Küchenlicht" taken apart
        said = list(self.language.rooms(folded))
        for start, length, others in said:
            if any(length < more and begin <= start and start + length <= begin + more for begin, more, _ in said):
                continue  # a "quarto das crianças" is no "quarto"
            telling = self._telling(folded[start : start + length])
            for item in spoken:
                if item.folded == telling:
                    found = dict(item.alike)
                    for name in others:
                        words = _parts(name)
                        numbers = tuple(number for word in words if (number := self.lexicon.find(word)) is not None)
                        if len(numbers) == len(words):
                            number = numbers[words.index(self._telling(words))]
                            found[number] = max(found.get(number, 0.0), _ROOM)
                            rooms.add(numbers)
                    item.alike = found
        return rooms

    def _telling(self, words: Sequence[str]) -> str:
        """Return the word that tells a room from others: "living" of "living room"."""
        return max((word for word in words if word not in self.language.any_room), key=len, default=words[0])

    def add_things(self, spoken: Sequence[Spoken]) -> None:
        """Let the word for a thing stand for its other names in this home: "dishes" for "dishwasher"."""
        for start, length, others in self.language.other_names([item.folded for item in spoken]):
            item = max(spoken[start : start + length], key=lambda part: len(part.folded))
            parts = (part for name in others for part in _parts(name))
            known = (number for part in parts if (number := self.lexicon.find(part)) is not None)
            more = {number: _THING for number in known if item.alike.get(number, 0.0) < _THING}
            if more:
                item.alike, item.factor = {**item.alike, **more}, max(item.factor, 1.0)

    def measure_nothing(self, spoken: Sequence[Spoken]) -> None:
        """Let words for what is measured name no kind in an order: "power on the dryer" is about no sensor."""
        for item in spoken:
            measured = [
                kind.startswith((".", "sensor", "binary_sensor")) and kind not in _CONTROLLED for kind in item.kinds
            ]
            if item.is_noun and all(measured):
                item.is_noun, item.factor = False, _MEASURED
                item.alike = self.lexicon.alike(item.word)
                item.kinds = {kind: _MEASURED * sure for kind, sure in item.kinds.items()}


def _parts(name: str) -> list[str]:
    """Return the folded words of a folded name as the home's are indexed: pairs of characters where there are no spaces."""
    if name.isascii() or not is_unspaced(name):
        return name.split()
    return [fold(piece) for piece in pieces(unicodedata.normalize("NFC", name))]
