"""A clause about the home, word by word: which words name something, which are words of clauses, and which change nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from homeassistant.core import State

from ..languages.spoken_numbers import NumberReader, time_words
from ..support.text import DASHES, Token, Words, tokens
from .clause_words import Listed, apart, called_alike, clause_words
from .reading import SentenceReading
from .things import StateOf, Things

_SIGNS = DASHES | {"+", "/"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseContext:
    """What a clause may refer to besides what it says."""

    text: str = ""
    """The rest of the sentence: "remind me to empty the dryer"."""
    user_id: str = ""
    """Of the user who speaks: "when I come home"."""
    home: str = "en"
    """The code of the language that the home is set to, without a region."""
    unit: str = "°C"
    """That of the home's temperatures."""
    is_event: bool = False
    """Whether it is waited for until it becomes so, rather than looked at."""


class ClauseReading(SentenceReading):
    """A clause, read against the home. Words are known by their places in it, things by their numbers."""

    def __init__(
        self, text: str, things: Things, state_of: StateOf, context: ClauseContext, *, area_id: str | None = None
    ) -> None:
        """Find the words of the home in it, also by what things are called besides: "washer", "Waschmaschine", "outdoor"."""
        self.vocabulary, self.context = clause_words(things.language.base), context
        super().__init__(apart(text) if self.vocabulary.has_genitive else text, things, state_of, area_id=area_id)
        self.about: list[set[int]] = [set(numbers) for numbers in self._explained]
        """By place: the things that the word may be about."""
        for at, length, names in (*self.language.other_names(self.words), *self.language.rooms(self.words)):
            self._note(range(at, at + length), (tuple(name.split()) for name in names))
        for key, own in self.vocabulary.things.items():
            for spots in (spots for name in own for spots in self._stands(name)):
                self._note(spots, self.names_of(key))

    def _note(self, spots: Iterable[int], names: Iterable[Words]) -> None:
        numbers = self.called_any(names)
        for at in spots:
            self.about[at] |= numbers

    def _joined(self, _found: Sequence[Token]) -> list[Token]:
        """Return the tokens with numbers in their digits and with their signs; words of clauses are no compounds."""
        read: list[Token] = []
        run: list[Token] = []
        for token in self._numbered(tokens(self.text, signs=True)):
            is_unit = bool(run) and run[-1].value is not None
            if token.word in self.vocabulary.known and token.value is None and not is_unit:
                read += super()._joined(run)
                read.append(token)
                run = []
            else:
                run.append(token)
        return read + super()._joined(run)

    def _numbered(self, said: Sequence[Token]) -> Iterator[Token]:
        reader, at = NumberReader(said, time_words(self.language.code)), 0
        while at < len(said):
            number = reader.signed(at) if not self._is_percent(said, at) else None
            if number is not None and (number[0] != 1 or said[at].is_number):
                value, behind = number
                yield Token(f"{abs(value):g}", value, said[behind - 1].unit, said[at].start, said[behind - 1].end)
                at = behind
                continue
            if said[at].word not in _SIGNS:
                yield said[at]
            at += 1

    def _is_percent(self, said: Sequence[Token], at: int) -> bool:
        """Return whether a word for a hundred is one of a unit: "per cent"."""
        before = said[at - 1].word if at else ""
        return any(words[-2:] == (before, said[at].word) for _, words in self.vocabulary.units)

    def _may_be_mistyped(self, token: Token) -> bool:
        return token.word not in self.vocabulary.known and super()._may_be_mistyped(token)

    # The words of clauses.

    def phrases(self, listed: Listed) -> Iterator[tuple[str, set[int]]]:
        """Yield the phrases of a list that are said; the words of one may stand apart, in their order."""
        for key, words in listed:
            spots = [set(span) for span in self._stands(words)]
            if not spots and len(words) > 1 and (spread := self._spread(words)):
                spots = [spread]
            yield from ((key, one) for one in spots)

    def _spread(self, words: Words) -> set[int]:
        found, at = set[int](), 0
        for word in words:
            at = next((n for n in range(at, len(self.words)) if self.words[n] == word), -1) + 1
            if not at:
                return set()
            found.add(at - 1)
        return found

    def spots_of(self, phrases: Iterable[Words]) -> set[int]:
        """Return the places of some phrases, each word of which stands beside the next."""
        return {at for words in phrases for span in self._stands(words) for at in span}

    @cached_property
    def negations(self) -> set[int]:
        """The places of words that turn it into its opposite."""
        return self.spots_of(self.vocabulary.negations)

    @cached_property
    def _beside(self) -> set[int]:
        """The places of words that change nothing, but for those that are a whole name here."""
        harmless = {at for at, word in enumerate(self.words) if word in self.routes.harmless}
        names = {at for at, word in enumerate(self.words) if (word,) in self.things.spelled}
        return (self.spots_of(self.vocabulary.beside) | harmless) - names

    def _is_leading(self, at: int) -> bool:
        """Return whether a word is a preposition in front of what names something: "on the terrace"."""
        if self.words[at] not in self.routes.prepositions:
            return False
        after = at + 1
        while after < len(self.words) and not self.about[after]:
            if after not in self._beside and self.words[after] not in self.routes.prepositions:
                return False
            after += 1
        return after < len(self.words)

    def rest(self, used: set[int]) -> list[int]:
        """Return the places of the words that have to name something, where some have said something else."""

        def says_nothing(at: int) -> bool:
            if self.tokens[at].value is not None or at in self.in_places:
                return False
            return at in self._beside or self._is_leading(at)

        return [at for at in range(len(self.words)) if at not in used and not says_nothing(at)]

    # The things.

    def called_any(self, names: Iterable[Words]) -> set[int]:
        """Return the things that have all words of one of some names in their own."""
        return set[int]().union(*(set.intersection(*map(self.things.named, name)) for name in names if name))

    def names_of(self, key: str) -> tuple[Words, ...]:
        """Return what one of the language's `clauses.things` is called in it, in English and in the language of the home."""
        return (*self.vocabulary.things.get(key, ()), *called_alike(key, self.context.home))

    def named_by(self, rest: Sequence[int], candidates: Iterable[int]) -> set[int]:
        """Return those of some things that all of these words are about."""
        found = set(candidates)
        for at in rest:
            found &= self.about[at]
        return found

    def whole(self, numbers: Iterable[int], spots: Iterable[int]) -> set[int]:
        """Return those of some things of which a whole name is said."""
        said = {key for at in spots for key in self.things.keys(self.words[at])}
        return {n for n in numbers if any(self._is_said(name, said) for name in self.things.keys_of(n))}

    def within(self, numbers: Iterable[int], areas: Iterable[str | None]) -> set[int]:
        """Return those of some things that are in some areas."""
        return set(numbers) & set[int]().union(*(self.things.by_area.get(area, set()) for area in areas if area))

    def is_only_place(self, rest: Sequence[int]) -> bool:
        """Return whether these words say only where; also if there are none."""
        return all(at in self.in_places and at not in self.kinds for at in rest)

    def says_kind(self, rest: Sequence[int]) -> bool:
        """Return whether one of these words is a kind of things."""
        return any(at in self.kinds for at in rest)

    def says_several(self, rest: Sequence[int]) -> bool:
        """Return whether one of these words is a kind of things in the plural."""
        return self._is_plural([at for at in rest if at in self.kinds])

    def entity_id(self, number: int) -> str:
        """Return the id of a thing."""
        return self.things.things[number].entity.entity_id

    def state(self, number: int) -> State | None:
        """Return the state of a thing."""
        return self._state_of(self.entity_id(number))

    def number(self, number: int, attribute: str = "") -> float | None:
        """Return the number that the state of a thing is, or an attribute; None where it is none."""
        state = self.state(number)
        value = state.attributes.get(attribute) if state is not None and attribute else state and state.state
        try:
            return float(value)  # type: ignore[arg-type]
        except TypeError, ValueError:
            return None

    # What it refers to.

    @cached_property
    def beyond(self) -> ClauseReading:
        """The rest of the sentence, read in the same way."""
        context = replace(self.context, text="")
        return ClauseReading(self.context.text, self.things, self._state_of, context, area_id=self.area_id)

    def subjects(self) -> Iterator[set[int]]:
        """Yield the things that each word may be about, but for those that only say where."""
        for at, found in enumerate(self.about):
            if at not in self._beside and (at not in self.in_places or at in self.kinds):
                yield found

    @cached_property
    def areas_there(self) -> frozenset[str]:
        """The areas of the one place that the rest of the sentence names."""
        places = {areas for _, _, areas in self.beyond.place_spans}
        return next(iter(places)) if len(places) == 1 else frozenset()

    def pointed(self, used: set[int]) -> tuple[set[int], frozenset[str] | None]:
        """Return the places of "here" and "in there", and the areas that they mean; None where neither is said."""
        here, there = (self.spots_of(words) - used for words in (self.vocabulary.here, self.vocabulary.there))
        if there:
            return there | here, self.areas_there
        if here:
            return here, frozenset({self.area_id} if self.area_id else ())
        return set(), None
