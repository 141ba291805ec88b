"""One sentence, read against the home: which of its words are about which things, and which change nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from homeassistant.const import STATE_UNAVAILABLE

from ..languages.data import number_words
from ..languages.phrases import is_altered, is_asking, is_order, is_request, tells_state
from ..languages.vocabulary import Kinds
from ..support.nearness import LONG, is_slip
from ..support.text import CELSIUS, MAX_TEXT, Token, Words, fold, is_unspaced, tokens, words_of
from .things import ARTICLE, StateOf, Things

MAX_WORDS = 30  # of a sentence; a longer one tells a story
_MISTYPED, _MISNAMED = 0.85, 0.8
"""How surely a word is the one that it is a slip of the pen of: with a part of a name, a name that is mistyped is not sure enough."""
_CELSIUS_WORDS = frozenset({"c", "celsius", "℃"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An intent for some things, as it was understood."""

    intent: str
    slots: Mapping[str, Any]
    targets: tuple[str, ...]
    response: str
    score: float  # how sure the things are, 0 to 1
    change: Mapping[str, float] = field(default_factory=dict)
    said: tuple[str, ...] = ()

    @property
    def effect(self) -> tuple[str, str, tuple[str, ...]]:
        """Return what tells one order from another."""
        return self.intent, repr((sorted(self.slots.items()), sorted(self.change.items()))), self.targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What was made of a sentence: what is wanted, or why that is not known."""

    orders: tuple[Order, ...] = ()
    reason: str = ""  # a code; empty where there are orders
    words: str = ""
    candidates: tuple[str, ...] = ()  # which things might be meant, where they are too many
    intents: tuple[str, ...] = ()  # what might be wanted, the likeliest first
    score: float = 0.0
    text: str = ""  # all that is wanted, if only a part of it was said and the sentence before had the rest
    is_so: bool = False  # whether nothing is on of what is to be turned off
    spared: tuple[str, ...] = ()  # entity ids of what the sentence excepts
    is_near: bool = False
    """Whether all that was not understood may be a slip of the pen, or refers to the sentence before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said last in a conversation, and done."""

    text: str
    targets: tuple[str, ...]
    candidates: tuple[str, ...] = ()  # entity ids of what the user was asked to choose from


class SentenceReading:
    """One sentence, read against the home."""

    def __init__(
        self, text: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: Collection[str] = ()
    ) -> None:
        """Find the words of the home in it. `before` are the entities that the sentence before was about."""
        here = enumerate(things.things) if before else ()
        self._before = {number for number, thing in here if thing.entity.entity_id in before}
        self.text, self.things, self._state_of, self.area_id = text, things, state_of, area_id
        self.language, self.routes = things.language, things.routes
        self.sureness = 1.0
        """How surely the words are those that were meant: some are mistyped."""
        self.tokens = self._joined(tokens(text))
        self.polite = set[int]()
        """The places of words that change nothing together."""
        for spots in (spots for phrase in self.routes.polite for spots in self._stands(phrase)):
            self.polite |= set(spots) if self.polite.isdisjoint(spots) else set()
        self._spell()
        self._find_places()
        self._find_kinds()
        words = self.words
        everything = self.language.everything
        both = {fold(word) for word in things.data.follow_ups.both}
        self.both = {at for at, word in enumerate(words) if word in both}
        self.everything = {at for at, word in enumerate(words) if word in everything and at not in self.in_places}
        self.everything |= self.both
        self._explained: list[set[int]] = []
        """By place in the sentence: the things that the word may be about."""
        for at, word in enumerate(words):
            found = things.named(word).union(*(things.by_area.get(area, ()) for area in self.in_places.get(at, ())))
            if at in self.kinds and word not in things.special_lights:  # none but a spotlight is "the spotlight"
                found |= things.of_kinds(self.kinds[at])
            self._explained.append(found)

    @property
    def words(self) -> list[str]:
        """Return the words that were said."""
        return [token.word for token in self.tokens]

    def _joined(self, tokens: Sequence[Token]) -> list[Token]:
        """Return the tokens with numbers that are spelled out read, units at their numbers, compounds taken apart."""
        asides = {fold(word) for word in self.things.data.courtesies}  # "oh" is only a zero in a code
        numbers, units = number_words(self.language.code), self.things.data.units
        unit_of = {fold(word): unit for unit, words in units.items() for word in words} | {"%": "%", "°": "°", "℃": "°"}
        found: list[Token] = []
        for token in tokens:
            before = found[-1] if found else None
            word = token.word
            if before is not None and before.value is not None and (unit := self._unit(word, unit_of)):
                unit = CELSIUS if unit == "°" and word in _CELSIUS_WORDS else unit
                found[-1] = replace(before, unit=unit if unit == CELSIUS else before.unit or unit)
            elif (
                token.value is None
                and word not in asides
                and (number := numbers.get(word)) is not None
                and (number == 0 or number > 1)
            ):
                is_ten = before is not None and before.value in range(20, 100, 10) and not before.word.isdigit()
                if before is not None and before.value is not None and is_ten and 0 < number < 10:
                    found[-1] = Token(f"{before.word} {word}", before.value + number)
                else:
                    found.append(Token(word, float(number)))
            elif self.things.is_compound(word):
                begin, noun = self.language.noun_at_end(word)
                found += [Token(self.things.start_of(word[:begin])), Token(noun)]
            elif self._may_be_mistyped(token) and (halves := self.things.halves_of(word)):
                self.sureness = min(self.sureness, _MISTYPED)
                found += map(Token, halves)
            else:
                found.append(token)
        return found

    def _unit(self, word: str, unit_of: Mapping[str, str]) -> str:
        """Return the unit that a word after a number is, also if it is mistyped; "" for another word."""
        things = self.things
        is_said = word in self.routes.words or word in self.language.nouns or word in things.by_word
        if (unit := unit_of.get(word)) is not None or is_said or not things.data.alters.anywhere:
            return unit or ""
        meant = {unit for other, unit in unit_of.items() if is_slip(word, other)}
        if len(meant) == 1:
            self.sureness = min(self.sureness, _MISTYPED)
        return meant.pop() if len(meant) == 1 else ""

    def _may_be_mistyped(self, token: Token) -> bool:
        """Return whether a word is known nowhere, in a language of which it is known what alters a sentence ("morgen")."""
        word = token.word
        is_long = token.value is None and len(word) >= LONG - 1 and word.isalpha()
        return is_long and bool(self.things.data.alters.anywhere) and not self.things.knows(word)

    def _stands(self, phrase: Words) -> list[range]:
        said, length = tuple(self.words), len(phrase)
        return [range(at, at + length) for at in range(len(said) - length + 1) if said[at : at + length] == phrase]

    def _spell(self) -> None:
        """Read words that are known nowhere as the one known word that they are a slip of the pen of."""
        for at, token in enumerate(self.tokens):
            meant, is_name = token.word, False
            if self._may_be_mistyped(token):
                meant, is_name = self.things.meant_by(token.word)
            elif at - 1 == len(self.polite) and token.word in self.routes.harmless:
                longer = token.word + token.word[-1]  # right after the verb: "turn of" is "turn off"
                is_said = longer in self.routes.words and longer not in self.routes.harmless
                if is_said and is_order(self.tokens[at - 1].word, self.language.code):
                    meant = longer
            if meant and meant != token.word:
                self.tokens[at] = replace(token, word=meant)
                self.sureness = min(self.sureness, _MISNAMED if is_name else _MISTYPED)

    def _find_places(self) -> None:
        """Find the areas and floors of the home in the sentence, the longest first, also by their other usual names."""
        words = self.words
        self.in_places: dict[int, frozenset[str]] = {}
        """By place in the sentence: the areas that are meant there."""
        self.place_spans: list[tuple[int, int, frozenset[str]]] = []
        keyed = [self.things.keys(word) for word in words]
        found: list[tuple[int, int, frozenset[str]]] = []
        for at in range(len(words)):
            for name in dict.fromkeys(name for key in keyed[at] for name in self.things.places_by_word.get(key, ())):
                if at + len(name) <= len(words) and all(
                    not self.things.keys(one).isdisjoint(keyed[at + n]) for n, one in enumerate(name)
                ):
                    found += [(at, len(name), frozenset(self.things.places[name]))]
        literal = {at + n for at, length, _ in found for n in range(length)}
        for at, length, others in self.language.rooms(words):
            if literal.isdisjoint(range(at, at + length)):
                names = (one for name in others if (one := tuple(name.split())) not in self.things.own_rooms)
                others_here = frozenset(area for name in names for area in self.things.places.get(name, ()))
                if others_here:
                    found.append((at, length, others_here))
        for at, length, areas in sorted(found, key=lambda one: -one[1]):
            spots = range(at, at + length)
            is_free = all(self.in_places.get(spot, areas) == areas for spot in spots)
            if is_free and at not in self.in_places:
                self.place_spans.append((at, length, areas))
                self.in_places |= dict.fromkeys(spots, areas)
        # "upstairs" and the like are said of a floor
        said = [(spots, name) for name in self.things.levels for spots in self._stands(name)]
        for spots, name in sorted(said, key=lambda one: one[0][0]):
            is_free = self.in_places.keys().isdisjoint(spots)
            if is_free and not any(self.things.named(word) for word in name):  # else it says which thing
                self.place_spans.append((spots[0], len(name), self.things.levels[name]))
                self.in_places |= dict.fromkeys(spots, self.things.levels[name])

    def _find_kinds(self) -> None:
        words, language = self.words, self.language
        self.kinds: dict[int, Kinds] = {}
        for start, length, kinds in sorted(language.phrases(words), key=lambda phrase: -phrase[1]):
            if " ".join(words[start : start + length]) in language.nouns and not self.kinds.keys() & set(
                range(start, start + length)
            ):
                self.kinds |= dict.fromkeys(range(start, start + length), kinds)
        for at, word in enumerate(words):
            is_number = self.tokens[at].value is not None
            if at in self.kinds or is_number or not word.isalpha() or not language.is_noun(word):
                continue
            if word in language.nouns or not language.noun_at_end(word)[1]:  # else it says which one as well
                self.kinds[at] = language.kinds_of(word)

    def names_something(self) -> bool:
        """Return whether every word is about things or changes nothing: a name, a kind, a place and no verb."""
        rest = [at for at in range(len(self.tokens)) if not self._says_nothing(at)]
        return bool(rest) and not self._declined() and all(self._explained[at] for at in rest)

    def _declined(self) -> str:
        """Return why a sentence is no command that can be understood here, by its form; "" for others."""
        if not self.tokens or len(self.tokens) > MAX_WORDS or len(self.text) > MAX_TEXT:
            return "length"
        if any(is_unspaced(token.word) and not token.word.isascii() for token in self.tokens):
            return "script"
        code = self.language.code
        if is_altered(self.text, code, (), asks=False):
            if is_altered(self.text, code, self._named_in_full(), asks=False):  # "The Only Lamp" excepts nothing
                return "altered"
        if not is_asking(self.text, code):
            return ""
        text = self.text.strip(" ?？¿")
        is_order_said = is_order(text, code) and is_order(text, code, self._named_in_full())
        is_order_said &= not tells_state(self.text, code)
        is_asked_for = not self.polite.isdisjoint((0, 1)) or is_request(self.text, code)
        return "" if is_order_said or is_asked_for else "question"

    def _named_in_full(self) -> list[str]:
        """Return the names in the sentence as they are written, the longest first."""
        said, known, most = words_of(self.text), self.things.spelled, self.things.longest
        spans = (said[at:to] for at in range(len(said)) for to in range(at + 1, min(at + most, len(said)) + 1))
        return sorted({name for span in spans for name in known.get(span, ())}, key=len, reverse=True)

    def _says_nothing(self, at: int) -> bool:
        """Return whether a word changes nothing: a courtesy, an article, all of it."""
        if at in self.polite or at in self.everything:
            return True
        word = self.words[at]
        if self.tokens[at].value is not None or at in self.in_places:
            return False
        if word in self.routes.prepositions and at + 1 < len(self.tokens):
            after = self.words[at + 1]
            return after in self.routes.harmless or at + 1 in self.in_places or bool(self._explained[at + 1])
        return word in self.routes.harmless and (len(word) <= ARTICLE or not self._explained[at])

    @cached_property
    def _says_it(self) -> bool:
        return not {fold(word) for word in self.things.data.follow_ups.it}.isdisjoint(self.words)

    def _is_here(self, number: int) -> bool:
        area = self.things.things[number].entity.area_id
        return all(area in areas for _, _, areas in self.place_spans)

    def _is_said(self, name: tuple[frozenset[str], ...], said: set[str]) -> bool:
        return all(not keys.isdisjoint(said) for keys in name)

    def _is_plural(self, kinds: Sequence[int]) -> bool:
        plurals = self.things.data.plurals
        return any(self._ends_plural(self.words[at], plurals) for at in kinds)

    def _ends_plural(self, word: str, plurals: Sequence[str]) -> bool:
        return any(word.endswith(end) and word[: -len(end)] in self.language.nouns for end in plurals)

    def _state(self, number: int) -> str:
        state = self._state_of(self.things.things[number].entity.entity_id)
        return state.state if state else STATE_UNAVAILABLE

    def _names(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(sorted(self.things.things[n].entity.entity_id for n in numbers))
