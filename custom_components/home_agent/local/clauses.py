"""What has to be so in the home, or has to happen, as it is said: "the washer is done", "nobody is home", "it gets dark in here".

Word by word, as commands are read: each word is one for what becomes of something, names something of the home, or changes nothing.
What may mean two things is not understood, nor is what the user may not know of.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from homeassistant.core import State

from ..languages.spoken_numbers import NumberReader, time_words
from ..languages.vocabulary import Kinds
from ..support.text import CELSIUS, DASHES, MAX_TEXT, Token, Words, tokens
from ..wishes.when import Watch
from .clause_states import DANGERS, DETECTED, Meant, states_meant
from .clause_words import Listed, apart, called_alike, clause_words
from .reading import MAX_WORDS, SentenceReading
from .sentences import Sentence
from .things import StateOf, Things, sure_kinds

_SIGNS = DASHES | {"+", "/"}
_DARK = 50.0
"""Lux; a room with less is dark."""
_PERSON = frozenset({"person"})
_SENSOR = frozenset({"sensor"})
_CLIMATE = frozenset({"climate"})
_HOME = ("home",)
_SURE = 0.8
_BARE = range(-40, 51)
"""Numbers that are degrees where nothing says what they are of: "it falls below 18"."""
_RESTING = frozenset({"off", "closed", "locked", "done", "docked", "stopped", "paused", "dry"})
"""States that several things have together: "the lights are off" is all of them; "the lights are on" is one or more."""
_ADJECTIVES: Mapping[str, tuple[str, str]] = {
    "warmer": ("temperature", "above"), "colder": ("temperature", "below"), "brighter": ("illuminance", "above"),
    "darker": ("illuminance", "below"), "damper": ("humidity", "above"), "drier": ("humidity", "below"),
}  # fmt: skip
_CURRENT = {"temperature": "current_temperature", "humidity": "current_humidity"}
_MEASURE_OF = {"°": "temperature", CELSIUS: "temperature", "lx": "illuminance", "W": "power"}
_PERCENT = frozenset({"humidity", "battery", "moisture"})
_ABOUT = {"rings": "doorbell"}
"""What is meant where only what it does is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClause:
    """A clause that was understood."""

    watch: Watch
    words: str
    """As it was said, without needless blanks."""


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


async def async_read_clause(sentence: Sentence, text: str, *, is_event: bool) -> ReadClause | None:
    """Return what a clause of a sentence says of the home; None where that is not certain, or the user may not know of it.

    `is_event`: whether it is waited for until it becomes so, rather than looked at.
    """
    hass, turn = sentence.hass, sentence.turn
    context = ClauseContext(
        text=turn.text.replace(text, " ", 1) if text in turn.text else turn.text,
        user_id=turn.user.id if turn.user is not None else "",
        home=hass.config.language.partition("-")[0],
        unit=hass.config.units.temperature_unit,
        is_event=is_event,
    )

    def read(
        _said: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: object = None
    ) -> Watch | None:
        return understand_clause(text, things, state_of, context, area_id=area_id)

    watch = await sentence.means.brain.async_read(read, sentence)
    return ReadClause(watch=watch, words=" ".join(text.split())) if watch is not None else None


def understand_clause(
    text: str, things: Things, state_of: StateOf, context: ClauseContext, *, area_id: str | None = None
) -> Watch | None:
    """Return what a clause says of the home; None where that is not certain."""
    vocabulary = clause_words(things.language.base)
    if not vocabulary.states or len(text) > MAX_TEXT or len(context.text) > MAX_TEXT:
        return None
    return _ClauseReading(text, things, state_of, context, area_id=area_id).read()


class _ClauseWordsReading(SentenceReading):
    """A clause with the words of clauses in it, and with what things are called besides."""

    def __init__(
        self, text: str, things: Things, state_of: StateOf, context: ClauseContext, *, area_id: str | None = None
    ) -> None:
        self.vocabulary, self.context = clause_words(things.language.base), context
        super().__init__(apart(text) if self.vocabulary.has_genitive else text, things, state_of, area_id=area_id)
        for at, numbers in self._alike().items():
            self._explained[at] = self._explained[at] | numbers

    def _joined(self, found: Sequence[Token]) -> list[Token]:
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

    def _alike(self) -> dict[int, set[int]]:
        """Return the things that have another name for what is said, by place: "washer", "Waschmaschine", "outdoor"."""
        found: dict[int, set[int]] = {}
        spoken, home = self.words, self.context.home
        for at, length, names in (*self.language.other_names(spoken), *self.language.rooms(spoken)):
            self._note(found, range(at, at + length), (tuple(name.split()) for name in names))
        for key, own in self.vocabulary.things.items():
            for spots in (spots for name in own for spots in self._stands(name)):
                self._note(found, spots, (*own, *called_alike(key, home)))
        return found

    def _note(self, found: dict[int, set[int]], spots: Iterable[int], names: Iterable[Words]) -> None:
        numbers = set[int]()
        for name in names:
            numbers |= set.intersection(*map(self.things.named, name)) if name else set()
        for at in spots:
            found.setdefault(at, set()).update(numbers)

    def _said_phrases(self, listed: Listed) -> Iterator[tuple[str, set[int]]]:
        """Yield the phrases of a list that stand in the clause; the words of one may stand apart, in their order."""
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

    def _spots_of(self, phrases: Iterable[Words]) -> set[int]:
        """Return the places of some phrases, each word of which stands beside the next."""
        return {at for words in phrases for span in self._stands(words) for at in span}

    def named(self) -> Iterator[set[int]]:
        """Yield the things that each word may be about, but for those that only say where."""
        for at, numbers in enumerate(self._explained):
            if at not in self.in_places or at in self.kinds:
                yield numbers

    @cached_property
    def _beside(self) -> set[int]:
        """The places of words that change nothing."""
        harmless = {at for at, word in enumerate(self.words) if word in self.routes.harmless}
        names = {at for at, word in enumerate(self.words) if (word,) in self.things.spelled}
        return (self._spots_of(self.vocabulary.beside) | harmless) - names

    @cached_property
    def _here(self) -> set[int]:
        return self._spots_of(self.vocabulary.here)

    @cached_property
    def _there(self) -> set[int]:
        return self._spots_of(self.vocabulary.there)

    def _is_leading(self, at: int) -> bool:
        """Return whether a word is a preposition in front of what names something: "on the terrace"."""
        if self.words[at] not in self.routes.prepositions:
            return False
        after = at + 1
        while after < len(self.words) and (after in self._beside or self.words[after] in self.routes.prepositions):
            if self._explained[after]:
                break
            after += 1
        return after < len(self.words) and (after in self.in_places or bool(self._explained[after]))

    def _rest(self, used: set[int]) -> list[int]:
        """Return the places of the words that have to name something."""
        return [
            at
            for at in range(len(self.words))
            if at not in used
            and not (
                self.tokens[at].value is None
                and (at in self._beside or self._is_leading(at))
                and at not in self.in_places
            )
        ]


class _NamingReading(_ClauseWordsReading):
    """A clause, and which things of the home its words name."""

    def _named_by(self, rest: Sequence[int], candidates: Iterable[int]) -> set[int]:
        """Return those of some things that all words are about."""
        found = set(candidates)
        for at in rest:
            found &= self._explained[at]
        return found

    def _whole(self, numbers: Iterable[int], rest: Sequence[int]) -> set[int]:
        """Return the things of which a whole name is said."""
        said = {key for at in rest for key in self.things.keys(self.words[at])}
        return {n for n in numbers if any(self._is_said(name, said) for name in self.things.keys_of(n))}

    def _entity_id(self, number: int) -> str:
        return self.things.things[number].entity.entity_id

    def _in(self, numbers: Iterable[int], areas: Iterable[str]) -> set[int]:
        return set(numbers) & set[int]().union(*(self.things.by_area.get(area, set()) for area in areas))

    def _is_only_place(self, rest: Sequence[int]) -> bool:
        return all(at in self.in_places and at not in self.kinds for at in rest)

    @cached_property
    def _context(self) -> _ClauseWordsReading:
        """The rest of the sentence, read in the same way."""
        return _ClauseWordsReading(
            self.context.text, self.things, self._state_of, replace(self.context, text=""), area_id=self.area_id
        )

    @property
    def _areas_there(self) -> frozenset[str]:
        """The areas of the one place that the rest of the sentence names."""
        places = {areas for _, _, areas in self._context.place_spans}
        return next(iter(places)) if len(places) == 1 else frozenset()

    def _deictic(self, used: set[int]) -> tuple[set[int], frozenset[str] | None]:
        """Return the places of "here" and "in there", and the areas that they mean; None where none of them is said."""
        here, there = self._here - used, self._there - used
        if there:
            return there | here, self._areas_there
        if here:
            return here, frozenset({self.area_id} if self.area_id else ())
        return set(), None

    def _state_at(self, number: int) -> State | None:
        return self._state_of(self._entity_id(number))


class _PresenceReading(_NamingReading):
    """A clause about who is at home."""

    def _presence(self) -> Iterator[tuple[int, Watch]]:
        persons = sorted(self.things.in_domains(_PERSON))
        if not persons:
            return
        for key, spots in self._said_phrases(self.vocabulary.states):
            speaker, _, place = key.rpartition("_")
            if place not in ("home", "away"):
                continue
            rest = self._rest(spots)
            if speaker and not rest:
                found = self._of_speaker(speaker, place, negated=False)
            else:
                found = self._of_whom(place, spots, set(rest)) if not speaker else None
            if found is not None:
                yield len(spots), found

    def _of_whom(self, place: str, used: set[int], rest: set[int]) -> Watch | None:
        negations = self._spots_of(self.vocabulary.negations) & rest
        phrases = ((len(spots), key, spots) for key, spots in self._said_phrases(self.vocabulary.who))
        for _, key, spots in sorted((row for row in phrases if used.isdisjoint(row[2])), key=lambda row: -row[0]):
            left = rest - spots
            if key == "nobody":
                left -= self._spots_of(self.vocabulary.doubled)
            if key in ("me", "we") and left <= negations:
                return self._of_speaker(key, place, negated=bool(left))
            if not left:
                return self._of_all(key, place)
        return self._of_named(place, rest - negations, negated=bool(negations))

    def _of_named(self, place: str, rest: set[int], *, negated: bool) -> Watch | None:
        """Return it of one person who is named, or of two: "Anna and Ben", "Anna or Ben"."""
        people = self.things.in_domains(_PERSON)
        by_spot = {at: self.things.named(self.words[at]) & people for at in range(len(self.words))}
        joins = {at: key for key, words in self.vocabulary.joins for span in self._stands(words) for at in span}
        joined = {at: key for at, key in joins.items() if by_spot.get(at - 1) and by_spot.get(at + 1)}
        rest = rest - joined.keys()
        if not rest or not all(by_spot[at] for at in rest) or len({*joined.values()}) > 1:
            return None
        each_of = [by_spot[at] for at in sorted(rest)]
        if not joined:
            found = sorted(set.intersection(*each_of))
            return self._persons(found, negated=(place == "home") is negated) if len(found) == 1 else None
        found = sorted(set[int]().union(*each_of))
        if negated or len(found) != len(each_of):
            return None
        every, is_home = "all" in joined.values(), place == "home"
        each = self.context.is_event and is_home and not every
        return self._persons(found, every=every is is_home, negated=not is_home, each=each)

    def _of_all(self, key: str, place: str) -> Watch | None:
        persons, is_event = sorted(self.things.in_domains(_PERSON)), self.context.is_event
        match key, place:
            case ("nobody", "home") | ("everybody" | "last", "away"):
                return self._persons(persons, negated=True)
            case ("everybody" | "last", "home") | ("nobody", "away"):
                return self._persons(persons, every=True)
            case "somebody", "home":
                return self._persons(persons, each=is_event)
            case "first", "home":
                return self._persons(persons)
            case (("somebody" | "first"), "away"):
                return self._persons(persons, every=True, negated=True, each=is_event and key == "somebody")
        return None

    def _of_speaker(self, speaker: str, place: str, *, negated: bool) -> Watch | None:
        """Return it of the user who speaks; "we leave" is all of them, "we come home" is the user at least."""
        is_home = (place == "home") is not negated
        if speaker == "we" and not is_home:
            return self._persons(sorted(self.things.in_domains(_PERSON)), negated=True)
        user = self.context.user_id
        own = [
            n
            for n in self.things.in_domains(_PERSON)
            if user and (state := self._state_at(n)) is not None and state.attributes.get("user_id") == user
        ]
        return self._persons(own, negated=not is_home) if len(own) == 1 else None

    def _persons(
        self, numbers: Sequence[int], *, every: bool = False, negated: bool = False, each: bool = False
    ) -> Watch:
        ids = tuple(map(self._entity_id, numbers))
        return Watch(entity_ids=ids, states=_HOME, every=every, negated=negated, each=each)


class _NumberClauseReading(_PresenceReading):
    """A clause about a number of the home: how warm, how full, how much."""

    def _numbers(self) -> Iterator[tuple[int, Watch]]:
        valued = [at for at, token in enumerate(self.tokens) if token.value is not None]
        compares: list[tuple[str, set[int]]] = [*self._said_phrases(self.vocabulary.compares)]
        for at in valued:
            if self.context.is_event and self._unit_of(at)[0]:
                yield from self._compared(at, "reaches", set())
            for key, spots in compares:
                if at not in spots:
                    yield from self._compared(at, key, spots)

    def _unit_of(self, at: int) -> tuple[str, set[int]]:
        if unit := self.tokens[at].unit:
            return unit, set()
        for key, words in self.vocabulary.units:
            if tuple(self.words[at + 1 : at + 1 + len(words)]) == words:
                return key, set(range(at + 1, at + 1 + len(words)))
        return "", set()

    def _compared(self, at: int, key: str, spots: set[int]) -> Iterator[tuple[int, Watch]]:
        value, (unit, unit_spots) = self.tokens[at].value, self._unit_of(at)
        assert value is not None  # only numbers are asked for
        measure, direction = _ADJECTIVES.get(key, (_MEASURE_OF.get(unit, ""), key))
        deictic, areas = self._deictic(spots)
        used = spots | unit_spots | deictic | {at}
        named = [(name, said - used) for name, said in self._said_phrases(self.vocabulary.measures)]
        measures = {name for name, said in named if said}
        used_by_measures = set[int]().union(*(said for _, said in named))
        if len(measures) > 1 or (measure and measures - {measure}):
            return
        measure = measure or next(iter(measures), "")
        if measure == "temperature" and unit == CELSIUS and self.context.unit != "°C":
            return
        rest = self._rest(used | used_by_measures)
        number, attribute = self._measured(rest, measure, unit, areas, value, named_measure=bool(measures))
        if number is not None and (bounds := self._bounds(direction, value, number, attribute)) is not None:
            above, below = bounds
            ids = (self._entity_id(number),)
            yield len(spots) + len(unit_spots), Watch(entity_ids=ids, above=above, below=below, attribute=attribute)

    def _bounds(
        self, direction: str, value: float, number: int, attribute: str
    ) -> tuple[float | None, float | None] | None:
        """Return what a number has to be above or below; to reach it is to come to it from where it is now."""
        if direction in ("above", "below"):
            return (value, None) if direction == "above" else (None, value)
        is_rising = direction == "rises"
        if direction == "reaches":
            if (now := self._number_at(number, attribute)) is None:
                return None
            is_rising = now <= value
        return (round(value - _LEAST, 6), None) if is_rising else (None, round(value + _LEAST, 6))

    def _number_at(self, number: int, attribute: str = "") -> float | None:
        state = self._state_at(number)
        value = state.attributes.get(attribute) if state is not None and attribute else state and state.state
        try:
            return float(value)  # type: ignore[arg-type]
        except TypeError, ValueError:
            return None

    def _measured(
        self,
        rest: list[int],
        measure: str,
        unit: str,
        areas: frozenset[str] | None,
        value: float,
        *,
        named_measure: bool,
    ) -> tuple[int | None, str]:
        """Return the one thing whose number is meant, and the attribute that has it; empty for its state."""
        if not measure and unit not in ("%", ""):
            return None, ""
        if not measure and not unit and self._is_only_place(rest) and value in _BARE:
            measure = "temperature"
        found = self._named_by(rest, self._sensors(measure, unit))
        if areas is not None:
            found = self._in(found, areas)
        elif not rest or (self._is_only_place(rest) and not self.place_spans):
            found = self._nearest(found)
        if (one := self._one(found, rest, measure)) is not None:
            return one, ""
        if found or measure not in _CURRENT:
            return None, ""
        heaters = {n for n in self.things.in_domains(_CLIMATE) if self._number_at(n, _CURRENT[measure]) is not None}
        heaters = self._named_by(rest, heaters)
        heaters = self._in(heaters, areas) if areas is not None else heaters if rest else self._nearest(heaters)
        return (next(iter(heaters)), _CURRENT[measure]) if len(heaters) == 1 else (None, "")

    def _nearest(self, found: set[int]) -> set[int]:
        """Return those in the place that the rest of the sentence names, else where the user speaks, else all."""
        if there := self._areas_there:
            return self._in(found, there)
        here = self._in(found, {self.area_id} if self.area_id else ())
        return here or found

    def _sensors(self, measure: str, unit: str) -> set[int]:
        """Return the sensors with a number that measure this; without a measure all that have the unit."""
        found: set[int] = set()
        for n in self.things.in_domains(_SENSOR):
            state = self._state_at(n)
            if state is None or self._number_at(n) is None:
                continue
            class_, own = state.attributes.get("device_class"), state.attributes.get("unit_of_measurement")
            if measure:
                is_meant = class_ == measure and (measure != "temperature" or own in (None, self.context.unit))
            else:
                is_meant = not unit or own == unit
            is_meant = is_meant and (unit != "%" or own in ("%", None))
            is_meant = is_meant and (unit not in ("lx", "W") or own == unit)
            found |= {n} if is_meant else set()
        return found

    def _one(self, found: set[int], rest: Sequence[int], measure: str) -> int | None:
        """Return the one sensor that is meant, also if others are there whose names say more."""
        said = {key for at, _ in enumerate(self.words) for key in self.things.keys(self.words[at])}
        whole = {n for n in found if any(self._is_said(name, said) for name in self.things.keys_of(n))}
        if not measure and not self._is_kind(rest):
            found = whole
        found = whole if len(whole) == 1 else found
        if len(found) > 1 and measure:
            plain = {n for n in found if self._is_plain(n, measure)}
            found = plain if len(plain) == 1 else found
        return next(iter(found)) if len(found) == 1 else None

    def _is_kind(self, rest: Sequence[int]) -> bool:
        return any(at in self.kinds for at in rest)

    def _is_plain(self, number: int, measure: str) -> bool:
        """Return whether a sensor is called by its place and what it measures, and by nothing else."""
        thing = self.things.things[number]
        plain = {word for name in thing.area for word in name}
        return any(
            all(word in plain or f".{measure}" in sure_kinds(self.language.kinds_of(word)) for word in name)
            for name in thing.names
        )

    def _lit(self, key: str, spots: set[int]) -> Iterator[tuple[int, Watch]]:
        """Yield that it is dark or bright in a place with a sensor for it."""
        deictic, areas = self._deictic(spots)
        rest = self._rest(spots | deictic)
        negations = self._spots_of(self.vocabulary.negations)
        negated = bool(negations & set(rest))
        rest = [at for at in rest if at not in negations]
        found = self._named_by(rest, self._sensors("illuminance", ""))
        if areas is not None:
            found = self._in(found, areas)
        elif not rest:
            found = self._in(found, self._areas_there or ({self.area_id} if self.area_id else ()))
        if len(found) == 1:
            ids = (self._entity_id(found.pop()),)
            above, below = (None, _DARK) if key == "dark" else (_DARK, None)
            yield len(spots), Watch(entity_ids=ids, negated=negated, above=above, below=below)


_LEAST = 0.001
"""What tells "it reaches 21" from "it is above 21"."""


class _ClauseReading(_NumberClauseReading):
    """A clause, and what it says of the home."""

    def read(self) -> Watch | None:
        """Return what has to be so; the reading in which the most words say what becomes of something, if it is the only one."""
        if not self.words or len(self.words) > MAX_WORDS or self.sureness < _SURE:
            return None
        found: dict[int, dict[Watch, None]] = {}
        for readings in (self._presence, self._numbers, self._states, self._detected):
            for length, watch in readings():
                found.setdefault(length, {})[watch] = None
        best = found.get(max(found, default=0), {})
        return next(iter(best)) if len(best) == 1 else None

    def _states(self) -> Iterator[tuple[int, Watch]]:
        for key, spots in self._said_phrases(self.vocabulary.states):
            if key in ("dark", "bright"):
                yield from self._lit(key, spots)
            elif key.rpartition("_")[2] not in ("home", "away") and (found := self._become(key, spots)) is not None:
                yield len(spots), found

    def _become(self, key: str, spots: set[int]) -> Watch | None:
        """Return what becomes of the things that the other words name."""
        deictic, areas = self._deictic(spots)
        used = spots | deictic
        sets = (self.vocabulary.negations, self.vocabulary.none, self.vocabulary.any, self.vocabulary.all)
        negations, none, some, every = (self._spots_of(words) - used for words in sets)
        rest = self._rest(used | negations | none | some | every)
        if (none and (negations or every)) or (every and negations):
            return None
        meant = self._telling(key)
        numbers = self._subject(key, rest, meant, areas)
        if not numbers:
            return None
        if len(numbers) > 1:
            is_quantified = bool(none or some or every)
            if not is_quantified and not self._is_plural_said(rest):
                return None
            if not is_quantified and not self._is_kind(rest):
                return None
        is_every = len(numbers) > 1 and not none and (bool(every) or (not some and key in _RESTING))
        return _watch_of(
            {self._entity_id(n): meant[n] for n in sorted(numbers)}, every=is_every, negated=bool(negations or none)
        )

    def _telling(self, key: str) -> dict[int, Meant]:
        """Return the things of the home that tell this, with how."""
        said = {word for name, words in self.vocabulary.states if name == key for word in words if len(words) == 1}
        found: dict[int, Meant] = {}
        for number in range(len(self.things.things)):
            state = self._state_at(number)
            if state is not None and (meant := states_meant(state, key, sorted(said))) is not None:
                found[number] = meant
        return found

    def _subject(self, key: str, rest: list[int], meant: Mapping[int, Meant], areas: frozenset[str] | None) -> set[int]:
        """Return the things that are meant: one, or several that the words do not tell apart."""
        if not rest:
            found = self._implied(key, meant)
        elif self._is_only_place(rest) and not self._whole(meant, rest) and key not in ("rain", "dry"):
            return set()
        else:
            found = self._named_by(rest, meant)
        if areas is not None:
            found = self._in(found, areas)
        if len(found) > 1:
            found = self._whole(found, rest) or found
            best = min(meant[n].rank for n in found)
            found = {n for n in found if meant[n].rank == best}
        if len(found) > 1 and not self.place_spans and not self._is_plural_said(rest):
            here = self._in(found, {self.area_id} if self.area_id else ())
            found = here if len(here) == 1 else found
        return found

    def _implied(self, key: str, meant: Mapping[int, Meant]) -> set[int]:
        """Return what is meant where nothing is named: the doorbell that rings, or what the rest of the sentence is about."""
        if key in _ABOUT:
            names = {*called_alike(_ABOUT[key], self.context.home), *self.vocabulary.things.get(_ABOUT[key], ())}
            return {n for name in names for n in set.intersection(*map(self.things.named, name)) if n in meant}
        if key in ("rain", "dry"):
            names = {*called_alike("rain", self.context.home), *self.vocabulary.things.get("rain", ())}
            named = {n for name in names for n in set.intersection(*map(self.things.named, name)) if n in meant}
            return named or {n for n in meant if self._entity_id(n).startswith("weather.")}
        scores: dict[int, int] = {}
        for numbers in self._context.named():
            for n in numbers & meant.keys():
                scores[n] = scores.get(n, 0) + 1
        most = max(scores.values(), default=0)
        best = {n for n, score in scores.items() if score == most}
        return best if len(best) == 1 else set()

    def _is_plural_said(self, rest: Sequence[int]) -> bool:
        return self._is_plural([at for at in rest if at in self.kinds])

    def _detected(self) -> Iterator[tuple[int, Watch]]:
        """Yield that there is what sensors are there for: motion in a place, smoke anywhere."""
        deictic, areas = self._deictic(set())
        for spots, classes in self._detections():
            used = deictic | spots
            sets = (self.vocabulary.negations, self.vocabulary.none, self.vocabulary.any)
            negations, none, some = (self._spots_of(words) - used for words in sets)
            rest = self._rest(used | negations | none | some)
            if none and negations:
                continue
            numbers = set[int]().union(*(self.things.by_sort.get(("binary_sensor", one), set()) for one in classes))
            found = self._named_by(rest, numbers)
            if areas is not None:
                found = self._in(found, areas)
            elif not rest and classes.isdisjoint(DANGERS) and len(found) > 1:
                found = self._in(found, {self.area_id} if self.area_id else ())
            if found:
                ids = tuple(self._entity_id(n) for n in sorted(found))
                yield max(1, len(spots)), Watch(entity_ids=ids, states=("on",), negated=bool(none or negations))

    def _detections(self) -> Iterator[tuple[set[int], frozenset[str]]]:
        for at, kinds in self.kinds.items():
            if classes := _detected_classes(kinds):
                yield {at}, classes
        for key, spots in self._said_phrases(self.vocabulary.states):
            if key == "moves":
                yield spots, frozenset({"motion", "occupancy", "moving"})


def _detected_classes(kinds: Kinds) -> frozenset[str]:
    return frozenset(one for kind in sure_kinds(kinds) if (one := kind.partition(".")[2]) in DETECTED)


def _watch_of(meant: Mapping[str, Meant], *, every: bool, negated: bool) -> Watch | None:
    """Return the watch on some entities; None where they do not tell it in one way."""
    rows = [*meant.values()]
    if len({(row.below, row.negated) for row in rows}) > 1:
        return None
    states = tuple(dict.fromkeys(state for row in rows for state in row.states))
    negated = negated is not rows[0].negated
    return Watch(entity_ids=tuple(meant), states=states, below=rows[0].below, every=every, negated=negated)
