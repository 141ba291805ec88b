"""The words of a home in one language: what things, places and kinds of things are called, and which of them a word may be about."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from homeassistant.core import State

from ..home.snapshot import HomeEntity, HomeSnapshot
from ..languages.data import ENGLISH, LanguageData, data_of, number_words
from ..languages.later import later_words
from ..languages.phrasings import Phrasings
from ..languages.vocabulary import Kinds, Language, keys_of
from ..support.nearness import LONG, is_slip, name_meant_by
from ..support.text import Words, fold, words_of
from .clause_words import called_alike, clause_words
from .coverage import level_names, levels_of

ARTICLE = 3
"""Letters of a word that may stand in names and say nothing here."""
TELLING = ("front", "back", "left", "right", "upstairs", "downstairs")
"""What tells one of two things from the other, as the language data has it."""
_KIND, _CLASS = 0.7, 0.95
"""How surely a word names a kind: so that it may be meant, and for certain."""
_LONGEST = 40  # letters of a compound that can be mistyped
_ENDING = 2  # letters by which an adjective is longer in another form
_LINKS = ("", "s", "n", "en", "es", "e")

type StateOf = Callable[[str], State | None]


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity with the words of its names and of the names of its area."""

    entity: HomeEntity
    names: tuple[Words, ...]
    area: tuple[Words, ...]


class Things:
    """The words of a home in one language; made once for each state of the home."""

    def __init__(
        self, home: HomeSnapshot, language: Language, routes: Phrasings, state_of: StateOf, *, celsius: bool = True
    ):
        """Note which thing has which words. `celsius`: whether the home's temperatures are in it."""
        self.home, self.language, self.routes, self.celsius = home, language, routes, celsius
        self.data: LanguageData = data_of(language.code)
        self.things: list[Thing] = []
        self.spelled: dict[Words, set[str]] = {}
        """The words of the names of things and places, to how they are written."""
        self.by_word: dict[str, set[int]] = {}
        self.by_domain: dict[str, set[int]] = {}
        self.by_sort: dict[tuple[str, str], set[int]] = {}
        self.by_area: dict[str, set[int]] = {}
        for entity in home.entities.values():
            self._add(entity, state_of(entity.entity_id))
        self.places: dict[Words, set[str]] = {}
        """Words of areas and floors, to the ids of the areas."""
        for area in home.areas.values():
            for name in (*area.names, *area.floor_names):
                if words := words_of(name):
                    self.places.setdefault(words, set()).add(area.area_id)
                    self.spelled.setdefault(words, set()).add(name)
        self.levels = levels_of(home, language.code)
        """What floors are called by where they are: "upstairs", with the ids of the areas."""
        for words in self.levels:
            self.spelled.setdefault(words, set()).add(level_names(language.code)[words])
        self.longest = max(map(len, self.spelled), default=0)
        self.place_words = {word for words in self.places for word in words}
        self.places_by_word: dict[str, list[Words]] = {}
        """The same by what their first word has in common with its other forms."""
        for words in self.places:
            for key in self.keys(words[0]):
                self.places_by_word.setdefault(key, []).append(words)
        self.own_rooms = {words_of(name) for names in self.data.rooms.values() for name in names}
        sides = [
            words_of(name)
            for data in (self.data, data_of(ENGLISH))
            for key in TELLING
            for name in data.rooms.get(key, ())
        ]
        # "de devant" is a side, "de" is not
        self.telling = {word for side in sides for word in side if len(side) == 1 or word not in language.fillers}
        lights = language.nouns_for("light")
        common = {key for noun in lights if noun in language.common for key in self.keys(noun)}
        self.special_lights = {noun for noun in lights if self.keys(noun).isdisjoint(common)} if common else set[str]()
        """Words for some lights: those that Home Assistant's own sentences do not have."""
        self.may_be_any = False
        """Whether a side that was left out may be that of any of them: one is asked about, as if there were no others."""
        self._of_kinds: dict[str, set[int]] = {}
        self._of_domains: dict[frozenset[str], set[int]] = {}
        self._key_names: dict[int, tuple[tuple[frozenset[str], ...], ...]] = {}

    def _add(self, entity: HomeEntity, state: State | None) -> None:
        number, area = len(self.things), self.home.areas.get(entity.area_id or "")
        written = {name: words for name in entity.names if (words := words_of(name))}
        for name, words in written.items():
            self.spelled.setdefault(words, set()).add(name)
        names = dict.fromkeys(written.values())
        for words in [*names]:
            names |= dict.fromkeys([self._apart(words)])
        places = tuple(words for name in (area.names if area else ()) if (words := words_of(name)))
        self.things.append(Thing(entity, tuple(names), places))
        for words in names:
            for word in words:
                for key in self.keys(word):
                    self.by_word.setdefault(key, set()).add(number)
        class_ = str(state.attributes.get("device_class") or "") if state else ""
        self.by_domain.setdefault(entity.domain, set()).add(number)
        self.by_sort.setdefault((entity.domain, class_), set()).add(number)
        if entity.area_id:
            self.by_area.setdefault(entity.area_id, set()).add(number)

    def is_telling(self, word: str) -> bool:
        """Return whether a word tells one of two things from the other, in any form: "hinteres" of "hintere"."""
        return word in self.telling or any(
            len(one) >= LONG and word.startswith(one) and len(word) - len(one) <= _ENDING for one in self.telling
        )

    def sides_of(self, number: int) -> tuple[frozenset[str], ...]:
        """Return the keys of the words that tell a thing from that at another side; none where one of its names has no such word."""
        sides = [[word for word in name if self.is_telling(word)] for name in self.things[number].names]
        return tuple(self.keys(word) for side in sides for word in side) if all(sides) else ()

    def keys(self, word: str) -> frozenset[str]:
        """Return what a word and its other forms have in common."""
        return keys_of(self.language.base, word)

    def _apart(self, words: Words) -> Words:
        """Return the words with compounds that end in a kind taken apart."""
        found: list[str] = []
        for word in words:
            begin, noun = self.language.noun_at_end(word) if word.isalpha() else (0, "")
            found += [self.start_of(word[:begin]), noun] if noun and begin > 2 else [word]
        return tuple(found)

    def start_of(self, start: str) -> str:
        """Return the first half of a compound without the letters that tie it to the second, where that is known."""
        shorter = (start.removesuffix(link) for link in _LINKS)
        return next((short for short in shorter if len(short) > 2 and self._begins_compounds(short)), start)

    def _begins_compounds(self, word: str) -> bool:
        return word in self.by_word or word in self.language.places or (word,) in self.places_of

    def knows(self, word: str) -> bool:
        """Return whether a word is one of the language, or of a name here."""
        language, routes = self.language, self.routes
        if word in routes.words or word in routes.harmless or word in language.kinds or word in language.fillers:
            return True
        if not self.keys(word).isdisjoint(self.by_word) or word in self.place_words or word in language.places:
            return True
        if word in self._words_besides:
            return True
        return word in language.things or word in language.common or bool(language.kinds_of(word))

    def is_compound(self, word: str) -> bool:
        """Return whether a word that is no name is one of a place or a thing and a kind: "Küchenlicht"."""
        language = self.language
        if not word.isalpha() or word in self.by_word or word in self.routes.words or word in self._words_besides:
            return False
        if word in language.nouns or word in language.places or word in self.place_words:
            return False
        begin, noun = language.noun_at_end(word)
        return bool(noun) and begin > 2 and self.start_of(word[:begin]) != word[:begin] + noun

    @cached_property
    def spellable(self) -> frozenset[str]:
        """Words that may be mistyped: what is done, kinds, and rooms that the home has, as they are usually called."""
        rooms = {word for place in self.language.places for word in place.split()} & self.place_words
        words = self.routes.words | self.language.nouns | rooms
        return frozenset(word for word in words if len(word) >= LONG - 1 and word.isalpha())

    @cached_property
    def _unnamed(self) -> frozenset[str]:
        """Words of the language that are in no name here: they may have been meant as well."""
        rooms = {word for place in self.language.places for word in place.split()}
        altering = (*self.data.alters.anywhere, *later_words(self.language.code))
        alters = {fold(word) for word in altering if word.isalpha()}
        words = self.routes.words | self.routes.harmless | self.language.nouns | rooms | alters
        return frozenset(word for word in words if len(word) >= LONG - 1 and not self.keys(word) & self.by_word.keys())

    def meant_by(self, word: str) -> tuple[str, bool]:
        """Return the one known word that an unknown one is a slip of the pen of, and whether it is one of a name; "" for none."""
        known = {other for other in self.spellable if is_slip(word, other)}
        if known:
            return (known.pop(), False) if len(known) == 1 else ("", False)
        return name_meant_by(word, self._by_start.get(word[0], ()), self._unnamed), True

    @cached_property
    def _by_start(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for word in self.by_word:
            if word.isalpha():
                found.setdefault(word[0], []).append(word)
        return found

    def halves_of(self, word: str) -> tuple[str, str] | None:
        """Return the known start of a compound, and the kind that its end is a slip of the pen of; None where that is not one way."""
        found: set[tuple[str, str]] = set()
        for at in range(3, min(len(word), _LONGEST) - 3):
            start = self.start_of(word[:at])
            if self._begins_compounds(start):
                found |= {(start, noun) for noun in self.language.nouns if is_slip(word[at:], noun)}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def places_of(self) -> set[Words]:
        """The words of the names of areas."""
        return {words_of(name) for area in self.home.areas.values() for name in area.names}

    def is_value(self, word: str) -> bool:
        """Return whether a word is a number or a colour: another one stands in its place when a sentence goes on."""
        is_number = word[:1].isdigit() or word.partition(" ")[0] in number_words(self.language.code)
        return is_number or any((word,) in self.routes.values.get(name, ()) for name in ("color", "brightness"))

    def in_domains(self, domains: frozenset[str]) -> set[int]:
        """Return the things of some domains."""
        if domains not in self._of_domains:
            self._of_domains[domains] = set[int]().union(*(self.by_domain.get(domain, set()) for domain in domains))
        return self._of_domains[domains]

    def words_like(self, word: str) -> Iterator[str]:
        """Yield the known words that begin like a word and are about as long."""
        for length in range(len(word) - 1, len(word) + 2):
            yield from self._by_look.get((word[:1], length), ())

    @cached_property
    def _by_look(self) -> Mapping[tuple[str, int], list[str]]:
        found: dict[tuple[str, int], list[str]] = {}
        for word in self.by_word.keys() | self.routes.words | self.routes.harmless | self.place_words:
            found.setdefault((word[:1], len(word)), []).append(word)
        return found

    def named(self, word: str) -> set[int]:
        """Return the things that have a word in a name."""
        return set[int]().union(*(self.by_word.get(key, set()) for key in self.keys(word)))

    def called(self, word: str) -> set[int]:
        """Return the things that have a word in a name, or in that of their area."""
        keys = self.keys(word)
        places = {name for key in keys for name in self.places_by_word.get(key, ()) if len(name) == 1}
        areas = {area for name in places for area in self.places[name]}
        return self.named(word).union(*(self.by_area.get(area, set()) for area in areas))

    def beginning(self, word: str) -> set[int]:
        """Return the things with a compound in a name that begins with a word: "Aquariumpumpe"."""
        if len(word) <= ARTICLE:
            return set()
        longer = (key for key in self.by_word if key.startswith(word) and len(key) > len(word) + _ENDING)
        return set[int]().union(*(self.by_word[key] for key in longer))

    @cached_property
    def called_besides(self) -> Mapping[Words, frozenset[int]]:
        """The things by what else such a thing is called: "stove" for a "Heater".

        Only what has no other name than one of these, the name of its room aside: a "Coffee table" is no coffee maker.
        """
        found: dict[Words, frozenset[int]] = {}
        by_name: dict[Words, set[int]] = {}
        for number, thing in enumerate(self.things):
            for name in thing.names:
                of_room = {word for area in thing.area for word in area} | self.routes.harmless
                by_name.setdefault(name, set()).add(number)
                by_name.setdefault(tuple(word for word in name if word not in of_room), set()).add(number)
        for key, own in clause_words(self.language.base).things.items():
            names = {*own, *called_alike(key, self.language.base)}
            plain = (tuple(word for word in name if word not in self.routes.harmless) for name in names)
            numbers = frozenset[int]().union(*(by_name.get(name, ()) for name in (*names, *plain) if name))
            for name in own if numbers else ():
                found[name] = found.get(name, frozenset()) | numbers
        return found

    @cached_property
    def _words_besides(self) -> frozenset[str]:
        return frozenset(word for name in self.called_besides for word in name)

    def keys_of(self, number: int) -> tuple[tuple[frozenset[str], ...], ...]:
        """Return the keys of the words of the names of a thing."""
        if (known := self._key_names.get(number)) is None:
            known = tuple(tuple(self.keys(word) for word in name) for name in self.things[number].names)
            self._key_names[number] = known
        return known

    def of_kinds(self, kinds: Kinds) -> set[int]:
        """Return the things of one of these kinds; where a class is meant, none of another class."""
        key = repr(sorted(kinds.items()))
        if key in self._of_kinds:
            return self._of_kinds[key]
        sure = {kind for kind in sure_kinds(kinds) if "." in kind}
        surely = {domain for kind in sure if (domain := kind.partition(".")[0])}
        found: set[int] = set()
        for (domain, class_), numbers in self.by_sort.items():
            exact = max(kinds.get(f"{domain}.{class_}", 0.0), kinds.get(f".{class_}", 0.0)) if class_ else 0.0
            roughly = kinds.get(domain, 0.0)
            if surely and domain not in surely and roughly < _CLASS:
                roughly = 0.0  # a gate is a cover: that gates are locked as well makes no lock a gate
            if roughly >= _KIND and class_ and exact < _KIND:
                others = any(kind.partition(".")[0] in ("", domain) for kind in sure)
                roughly = 0.0 if others else roughly
            if max(exact, roughly) >= _KIND:
                found |= numbers
        self._of_kinds[key] = found
        return found


def sure_kinds(kinds: Kinds) -> set[str]:
    """Return the kinds that a word names for certain."""
    return {kind for kind, weight in kinds.items() if weight >= _CLASS}
