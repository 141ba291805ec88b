"""What was said, as words with their weight, the kinds that they may stand for and the words of the house like them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import re

from .language import Kinds, Language
from .lexical import Alike, Lexicon
from .place_words import ANY_ROOM
from .words import fold, is_unspaced, normal, pieces, runs

MAX_SPOKEN = 40  # words that are looked at

_VALUE = re.compile(r"\d+(?:[.,]\d+)?\s*(?:%|°|℃|℉|percent\b|prozent\b|degrees?\b|grad\b)")
_QUESTION = re.compile(r"[?؟？;]\s*$")
_DEGREES = re.compile(
    r"\d\s*(?:°|℃|℉|degrees?\b|grad\b|degr[eé]s\b|grados\b|градус|gradi\b|graden\b|grader\b|graus\b|stopni)"
)
_HEATED: Kinds = {"climate": 1.0, "water_heater": 0.7, ".temperature": 0.9}
_SYNONYM = 0.6  # a name that says "lamp" when "light" was said
_SAME_THING = 0.85  # "telly" and "tv": a word for one device class
_NUMBER = 0.5
_FILLER = 0.12
_FORM = 0.88  # likeness of two forms of one word
_HALF = 0.85  # "Flurlicht" said, and something else in the "Flur"
_MEASURED = 0.4  # what is measured, in an order
_ROOM = 0.8  # the same room under another name: more than a word that only has this one in it
_THING = 0.75  # the same thing under another name, or what it is for
_LINKS = ("s", "n", "en", "er", "es", "e")


@dataclass(slots=True)
class Spoken:
    """A word that was said."""

    word: str
    folded: str
    alike: Alike = field(default_factory=dict)
    """Words of the house that it may stand for."""
    kinds: Kinds = field(default_factory=dict)
    is_noun: bool = False
    """Whether it names a kind rather than points to it."""
    is_common: bool = False
    """Whether it is a word of everyday requests, and so hardly a name."""
    factor: float = 1.0
    """How much it counts besides its rarity."""


@dataclass(slots=True)
class Request:
    """What was said."""

    spoken: list[Spoken]
    rooms: frozenset[tuple[int, ...]] = frozenset()
    """What rooms that were named are called otherwise, as numbers of words of the house."""
    everything: bool = False
    """Whether all of something is meant."""
    asking: float = 0.0
    """Whether something is asked (towards 1) or ordered (towards -1)."""

    @property
    def names_kind(self) -> bool:
        """Return whether a kind is named: "the lights", but not "turn it off"."""
        return any(spoken.is_noun for spoken in self.spoken)


def request_of(text: str, language: Language, lexicon: Lexicon) -> Request:
    """Return a text as a request to this house."""
    plain = normal(text)
    said = runs(_VALUE.sub(" ", plain))[:MAX_SPOKEN]
    folded = [fold(run) for run in said]
    asking = [language.asking.get(word, 0.0) for word in folded]
    phrases: dict[int, dict[str, float]] = {}
    for start, length, kinds in language.phrases(folded):
        for place in range(start, start + length):
            phrases.setdefault(place, {}).update(kinds)
    spoken = [
        item
        for place, run in enumerate(said)
        for item in _spoken(run, folded[place], phrases.get(place), language, lexicon)
    ]
    rooms = _call_rooms_otherwise(spoken, language, lexicon)
    _call_things_otherwise(spoken, language, lexicon)
    if not any(item.is_noun for item in spoken):
        _take_fillers_for_nouns(spoken, language)
    if _DEGREES.search(plain):
        spoken.append(Spoken("°", "°", kinds=_HEATED, is_noun=True))
    mode = sum(asking) / max(1.0, sum(map(abs, asking)))
    if mode < 0 and _QUESTION.search(plain):  # "can you turn it off?" is an order all the same, so this decides nothing
        mode = 0.0
    if mode < 0:
        _measure_nothing(spoken, lexicon)
    if mode < 0 or not any(asking):
        _mean_no_kind(spoken, language)
    return Request(
        list({item.word: item for item in spoken}.values()),
        rooms=frozenset(rooms),
        everything=language.has_everything(folded),
        asking=mode,
    )


def _take_fillers_for_nouns(spoken: Sequence[Spoken], language: Language) -> None:
    """Let a word that mostly says nothing name a kind where no other does: "turn on the kitchen switch"."""
    for item in reversed(spoken):
        if item.folded in language.fillers and item.folded in language.nouns and item is not spoken[0]:
            item.kinds, item.is_noun, item.factor = language.kinds[item.folded], True, 1.0
            return


def _mean_no_kind(spoken: Sequence[Spoken], language: Language) -> None:
    """Let words for all of something point to no kind, unless something is asked: "is anyone home" is about presence."""
    for item in spoken:
        if item.folded in language.everything:
            item.kinds = {}


def _measure_nothing(spoken: Sequence[Spoken], lexicon: Lexicon) -> None:
    """Let words for what is measured name no kind in an order: "power on the dryer" is about no sensor."""
    for item in spoken:
        if item.is_noun and all(kind.startswith((".", "sensor", "binary_sensor")) for kind in item.kinds):
            item.is_noun = False
            item.factor = _MEASURED
            item.alike = lexicon.alike(item.word)
            item.kinds = {kind: _MEASURED * sure for kind, sure in item.kinds.items()}


def _spoken(
    run: str, folded: str, phrase: Mapping[str, float] | None, language: Language, lexicon: Lexicon
) -> Sequence[Spoken]:
    if is_unspaced(run):
        return _unspaced(run, language, lexicon)
    if folded in language.fillers and not phrase:
        return (Spoken(run, folded, lexicon.alike(run), factor=_FILLER),)
    alike = _alike(run, folded, language, lexicon)
    if folded in language.common:
        alike = {number: how for number, how in alike.items() if how >= _FORM}
    item = Spoken(run, folded, alike, language.kinds_of(folded), is_noun=language.is_noun(folded))
    item.is_common = folded in language.common or folded in language.everything
    item.is_noun = item.is_noun and folded not in language.everything
    if run.isdigit():
        item.factor = _NUMBER
    elif phrase is not None:
        item.kinds, item.is_noun = phrase, True
    elif folded not in language.kinds and (apart := _apart(folded, language, lexicon)):
        if max(alike.values(), default=0.0) < _FORM:
            return [part for word in apart for part in _spoken(word, word, None, language, lexicon)]
        halves = {number: _HALF * how for number, how in lexicon.alike(apart[0]).items()}
        alike = halves | dict(alike)
    item.alike = _with_synonyms(alike, item, language, lexicon)
    return (item,)


def _alike(run: str, folded: str, language: Language, lexicon: Lexicon) -> Alike:
    """Return the words of the house that a spoken one is like or, where its language declines, a form of."""
    alike = lexicon.alike(run)
    forms = lexicon.forms(language.base, folded)
    more = {number: how for number, how in forms.items() if how > alike.get(number, 0.0)}
    return {**alike, **more} if more else alike


def _call_rooms_otherwise(spoken: Sequence[Spoken], language: Language, lexicon: Lexicon) -> set[tuple[int, ...]]:
    """Let the word for a room stand for its other names in this house, and return those: "lounge" for "living room"."""
    rooms: set[tuple[int, ...]] = set()
    folded = [item.folded for item in spoken]  # "Küchenlicht" taken apart
    for start, length, others in language.rooms(folded):
        telling = _telling(folded[start : start + length])
        for item in spoken:
            if item.folded == telling:
                found = dict(item.alike)
                for name in others:
                    words = name.split()
                    numbers = tuple(number for word in words if (number := lexicon.find(word)) is not None)
                    if len(numbers) == len(words):
                        number = numbers[words.index(_telling(words))]
                        found[number] = max(found.get(number, 0.0), _ROOM)
                        rooms.add(numbers)
                item.alike = found
    return rooms


def _call_things_otherwise(spoken: Sequence[Spoken], language: Language, lexicon: Lexicon) -> None:
    """Let the word for a thing stand for its other names in this house: "dishes" for "dishwasher"."""
    for start, length, others in language.other_names([item.folded for item in spoken]):
        item = max(spoken[start : start + length], key=lambda part: len(part.folded))
        known = (number for name in others if (number := lexicon.find(name)) is not None)
        more = {number: _THING for number in known if item.alike.get(number, 0.0) < _THING}
        if more:
            item.alike, item.factor = {**item.alike, **more}, max(item.factor, 1.0)


def _telling(words: Sequence[str]) -> str:
    """Return the word that tells a room from others: "living" of "living room"."""
    return max((word for word in words if word not in ANY_ROOM), key=len, default=words[0])


def _unspaced(run: str, language: Language, lexicon: Lexicon) -> Sequence[Spoken]:
    """Return the words for kinds inside a run without spaces, and its pairs of characters."""
    named = [Spoken(word, word, kinds=kinds, is_noun=word in language.nouns) for word, kinds in language.inside(run)]
    for item in named:
        item.alike = _with_synonyms({}, item, language, lexicon)
    known = {item.word for item in named}
    pairs = (Spoken(piece, fold(piece), lexicon.alike(piece)) for piece in pieces(run))
    return [*named, *(pair for pair in pairs if pair.word not in known)]


def _apart(word: str, language: Language, lexicon: Lexicon) -> tuple[str, str] | None:
    """Return the two halves of a compound: something and a kind, or two words of the house."""
    begin, noun = language.noun_at_end(word)
    if noun:
        return _without_link(word[:begin], lexicon), noun
    for cut in range(len(word) - 3, 3, -1):
        if lexicon.find(word[cut:]) is not None:
            start = _without_link(word[:cut], lexicon)
            if lexicon.find(start) is not None:
                return start, word[cut:]
    return None


def _without_link(start: str, lexicon: Lexicon) -> str:
    """Return the first half without the letters that tie it to the second: "Schlafzimmer(s)"."""
    for link in _LINKS:
        if start.endswith(link) and len(start) - len(link) > 2 and lexicon.find(start.removesuffix(link)) is not None:
            return start.removesuffix(link)
    return start


def _with_synonyms(alike: Alike, item: Spoken, language: Language, lexicon: Lexicon) -> Alike:
    """Return the words of the house like a spoken one, and other words there for the kind that it names."""
    if not item.is_noun or not item.kinds:
        return alike
    found = dict(alike)
    special = [kind for kind in item.kinds if "." in kind]
    how_much = _SAME_THING if special else _SYNONYM
    for kind in special or item.kinds:
        for noun in language.nouns_for(kind):
            number = lexicon.find(noun)
            if number is not None and found.get(number, 0.0) < how_much:
                found[number] = how_much * item.kinds[kind]
    return found
