"""A clause about the home, word by word: which words name something, which are words of clauses, and which change nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from homeassistant.core import State

from ..home.domains import DOMAINS
from ..languages.spoken_numbers import NumberReader, time_words
from ..support.text import DASHES, Token, Words, tokens
from .clause_words import Listed, apart, called_alike, clause_words
from .reading import SentenceReading
from .things import StateOf, Things

_SIGNS = DASHES | {"+", "/"}
_NONE: set[int] = set()
_ALIKE = DOMAINS["cover"].alike
_SIMILAR = frozenset(f"cover.{class_}" for class_ in _ALIKE)
"""Kinds of what hangs at windows: what one calls shutters are blinds to another."""


def _split(name: str) -> Words:
    return tuple(name.split())


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
    counted: str = ""
    """The entity whose state is how many people are at home; empty where those are meant of whom the user may know."""
    people: frozenset[str] = frozenset()
    """The ids of all people of the home, where one who is not known of counts as well."""


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
        self.room_spots = {*self.in_places}
        """The places of words for rooms, also for those that the home has not, and of "outside"."""
        self._others: dict[int, set[str]] = {}
        """By place: the words of what else is called so."""
        self.called: list[set[int]] = [set(things.named(word)) for word in self.words]
        """By place: the things that are called so, not only of a kind that is."""
        for at, kinds in self.kinds.items():
            if not _SIMILAR.isdisjoint(kinds):
                self.about[at] |= set[int]().union(*(things.by_sort.get(("cover", class_), ()) for class_ in _ALIKE))
        spans = [*self._other_names()]
        for spots, others in spans:
            if not any(set(spots) < set(longer) for longer, _ in spans):
                self._note(spots, others)
        for at, length, names in self.language.rooms(self.words):
            self._note(range(at, at + length), map(_split, names))
            self.room_spots.update(range(at, at + length))

    def _other_names(self) -> Iterator[tuple[range, list[Words]]]:
        """Yield where something is called by another name than those of the home, and what else that is called."""
        for at, length, names in self.language.other_names(self.words):
            others = (
                name for name in names if name not in self.things.place_words
            )  # "cocina" is a stove and a kitchen
            yield range(at, at + length), [*map(_split, others)]
        for key, own in self.vocabulary.things.items():
            for spots in (spots for name in own for spots in self._stands(name)):
                yield spots, [*self.names_of(key)]

    def _note(self, spots: Iterable[int], names: Iterable[Words]) -> None:
        """Note what else is called so; no name that only leaves out at which side: "garden" for "back garden"."""
        places = [*spots]
        said = {self.words[at] for at in places}
        listed = [
            name for name in names if not (said.issuperset(name) and any(map(self.things.is_telling, said - {*name})))
        ]
        numbers = set[int]().union(*(self._called_besides(name) for name in listed))
        for at in places:
            self._others[at] = self._others.get(at, set()).union(*listed)
            self.about[at] |= numbers
            self.called[at] |= numbers

    def _called_besides(self, name: Words) -> set[int]:
        """Return the things that are called by another name than what was said, none at a side that was not: "Front Garden"."""
        told = {key for word in (*name, *self.words) for key in self.things.keys(word)}
        return {n for n in self.called_any([name]) if self._is_said(self.things.sides_of(n), told)}

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
            left = (n for n in range(at, len(self.words)) if self.words[n] == word and n not in self._telling)
            at = next(left, -1) + 1
            if not at:
                return set()
            found.add(at - 1)
        return found

    def spots_of(self, phrases: Iterable[Words], used: set[int] = _NONE) -> set[int]:
        """Return the places of some phrases that have no word in `used`; each word stands beside the next."""
        spans = (span for words in phrases for span in self._stands(words))
        return {at for span in spans if used.isdisjoint(span) for at in span}

    def negations(self, used: set[int]) -> set[int]:
        """Return the places of words that turn it into its opposite, but for those that have said something else."""
        return self.spots_of(self.vocabulary.negations, used)

    def none(self, used: set[int]) -> set[int]:
        """Return the places of words for none of a kind; "no longer" is a negation."""
        longer = (words for words in self.vocabulary.negations if len(words) > 1)
        return self.spots_of(self.vocabulary.none, used | self.spots_of(longer))

    @property
    def is_cut(self) -> bool:
        """Return whether it ends with a word that something has to follow: "the door of the"."""
        vocabulary, last = self.vocabulary, len(self.words) - 1
        if (self.words[last],) not in vocabulary.leads:
            return False
        ends = (*vocabulary.states, *vocabulary.who, *vocabulary.units, *vocabulary.measures)
        is_end = last in self.spots_of((*vocabulary.here, *vocabulary.there))
        return last not in self.in_places and not is_end and not any(last in spots for _, spots in self.phrases(ends))

    @property
    def may_refer(self) -> bool:
        """Return whether it may be about what the rest of the sentence names: "when it is done"."""
        return not self.vocabulary.it or bool(self.spots_of(self.vocabulary.it))

    @cached_property
    def _beside(self) -> set[int]:
        """The places of words that change nothing, but for those that are a whole name here."""
        harmless = {at for at, word in enumerate(self.words) if word in self.routes.harmless}
        return (self.spots_of(self.vocabulary.beside) | harmless) - self._whole_names - self._telling

    @cached_property
    def _telling(self) -> set[int]:
        """The places of words that say which thing is meant, though they may change nothing: "the reading lamp", "left blinds"."""
        leads = {word for word, *more in self.vocabulary.leads if not more}
        articles = leads & self.routes.harmless

        def tells(at: int) -> bool:
            is_behind_article = at > 0 and self.words[at - 1] in articles
            return self.words[at] not in leads and (is_behind_article or self.things.is_telling(self.words[at]))

        return {at for at in range(len(self.words) - 1) if (self.about[at + 1] or at + 1 in self.kinds) and tells(at)}

    @cached_property
    def _whole_names(self) -> set[int]:
        return {at for at, word in enumerate(self.words) if (word,) in self.things.spelled}

    @cached_property
    def doubtful(self) -> set[int]:
        """The places of words that change nothing, or are a whole name here: "ben" is a person, and Dutch for "am"."""
        return self.spots_of(self.vocabulary.beside) & self._whole_names

    def _is_leading(self, at: int) -> bool:
        """Return whether a word is a preposition in front of what names something: "on the terrace"."""
        if self.words[at] not in self.routes.prepositions or at in self._telling:
            return False
        after = at + 1
        while after < len(self.words) and not self.about[after]:
            if after not in self._beside and self.words[after] not in self.routes.prepositions:
                return False
            after += 1
        return after < len(self.words)

    @cached_property
    def changes(self) -> set[int]:
        """The places of verbs for a number that changes."""
        return self.spots_of(self.vocabulary.changes)

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
        words = {word for at in spots for word in (self.words[at], *self._others.get(at, ()))}
        said = {key for word in words for key in self.things.keys(word)}
        return {n for n in numbers if any(self._is_said(name, said) for name in self.things.keys_of(n))}

    def best_called(self, numbers: set[int], rest: Sequence[int]) -> set[int]:
        """Return those of some things that are called by the most of these words: "the radio" is no other player."""
        scores = {n: sum(n in self.called[at] for at in rest if at not in self.in_places) for n in numbers}
        most = max(scores.values(), default=0)
        return {n for n, score in scores.items() if score == most}

    def within(self, numbers: Iterable[int], areas: Iterable[str | None]) -> set[int]:
        """Return those of some things that are in some areas."""
        return set(numbers) & set[int]().union(*(self.things.by_area.get(area, set()) for area in areas if area))

    def is_only_place(self, rest: Sequence[int]) -> bool:
        """Return whether these words say only where; also if there are none."""
        return all(at in self.in_places and at not in self.kinds for at in rest)

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
        """Return the number that the state of a thing is, or an attribute; None if it has no number."""
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
        """Yield the things that each word may be about, but for those that only say where; those that are called so, if any are."""
        for at, found in enumerate(self.about):
            if at not in self._beside and (at not in self.in_places or at in self.kinds):
                yield self.called[at] or found

    @cached_property
    def areas_there(self) -> frozenset[str]:
        """The areas of the one place that the rest of the sentence names."""
        places = {areas for _, _, areas in self.beyond.place_spans}
        return next(iter(places)) if len(places) == 1 else frozenset()

    def pointed(self, used: set[int]) -> tuple[set[int], frozenset[str] | None]:
        """Return the places of "here" and "in there", and the areas that they mean; None where neither is said."""
        here, there = (self.spots_of(words, used) for words in (self.vocabulary.here, self.vocabulary.there))
        if there:
            return there | here, self.areas_there
        if here:
            return here, frozenset({self.area_id} if self.area_id else ())
        return set(), None
