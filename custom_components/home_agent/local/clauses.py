"""What has to be so in the home, or has to happen, as it is said: "the washer is done", "the house is empty", "it gets dark in here".

Word by word, as commands are read: each word is one for what becomes of something, names something of the home, or changes nothing.
What may mean two things is not understood, nor is what the user may not know of.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from homeassistant.components.event import ATTR_EVENT_TYPE
from homeassistant.components.person import DOMAIN as PERSON
from homeassistant.components.zone import ENTITY_ID_HOME
from homeassistant.util import dt as dt_util

from ..languages.clause_cuts import orders_of
from ..languages.vocabulary import Kinds
from ..support.text import MAX_TEXT
from ..wishes.when import Watch
from .clause_numbers import compared, lit
from .clause_people import presence
from .clause_reading import ClauseContext, ClauseReading
from .clause_states import DANGERS, DETECTED, DOORBELL, Meant, states_meant
from .reading import MAX_WORDS
from .sentences import Sentence
from .things import StateOf, Things, sure_kinds

_SURE = 0.8
_RESTING = frozenset({"off", "closed", "down", "locked", "done", "docked", "stopped", "paused", "dry"})
"""States that several things have together: "the lights are off" is all of them; "the lights are on" is one or more."""
_MOVING = frozenset({"motion", "occupancy", "moving"})
_OCCUPIED = frozenset({"occupancy", "presence"})
_BELL = "doorbell"
_RINGS = "rings"
_SAID_OF: Mapping[str, str] = {_RINGS: _BELL, "arrived": "mail"}
"""What is said of nothing else, by what it is called in `clauses.things`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClause:
    """A clause that was understood."""

    watch: Watch
    words: str
    """As it was said, without needless blanks."""


async def async_read_clause(sentence: Sentence, text: str, *, is_event: bool) -> ReadClause | None:
    """Return what a clause of a sentence says of the home; None where that is not certain, or the user may not know of it.

    `is_event`: whether it is waited for until it becomes so, rather than looked at.
    """
    hass, turn = sentence.hass, sentence.turn
    is_counted = sentence.is_repeated and hass.states.get(ENTITY_ID_HOME) is not None
    context = ClauseContext(
        text=turn.text.replace(text, " ", 1),
        user_id=turn.user.id if turn.user is not None else "",
        home=hass.config.language.partition("-")[0],
        unit=hass.config.units.temperature_unit,
        is_event=is_event,
        counted=ENTITY_ID_HOME if is_counted else "",
        people=frozenset(hass.states.async_entity_ids(PERSON) if sentence.is_repeated else ()),
    )

    def read(
        _: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: object = None
    ) -> Watch | None:
        return understand_clause(text, things, state_of, context, area_id=area_id)

    watch = await sentence.means.brain.async_read(read, sentence)
    return ReadClause(watch=watch, words=" ".join(text.split())) if watch is not None else None


def understand_clause(
    text: str, things: Things, state_of: StateOf, context: ClauseContext, *, area_id: str | None = None
) -> Watch | None:
    """Return what a clause says of the home; None where that is not certain.

    Of several readings the one counts in which the most words say what becomes of something, if it is the only one.
    """
    if len(text) > MAX_TEXT or not text.strip():
        return None
    reading = ClauseReading(text, things, state_of, context, area_id=area_id)
    is_readable = reading.vocabulary.states and 0 < len(reading.words) <= MAX_WORDS and reading.sureness >= _SURE
    if not is_readable or reading.is_cut:
        return None
    found: dict[int, dict[Watch, None]] = {}
    for readings in (presence, compared, _becoming, _detected):
        for length, watch in readings(reading):
            found.setdefault(length, {})[watch] = None
    best = [*found[max(found)]] if found else []
    return best[0] if len(best) == 1 else None


def _becoming(reading: ClauseReading) -> Iterator[tuple[int, Watch]]:
    """Yield what becomes of the things that are named; each with how many words say what. An order is none: "turn off the heater"."""
    orders = orders_of(reading.language.code)
    for key, spots in reading.phrases(reading.vocabulary.states):
        if spots >= {0, 1} and reading.words[0] in orders:
            continue
        if key in ("dark", "bright"):
            yield from lit(reading, key, spots)
        elif key.rpartition("_")[2] not in ("home", "away") and (found := _become(reading, key, spots)) is not None:
            yield len(spots), found


def _negated(reading: ClauseReading, negations: set[int], *, is_none: bool) -> bool:
    """Return whether negations say something; beside "none" and "no one" some languages have one that says nothing more."""
    return bool(negations - reading.spots_of(reading.vocabulary.doubled) if is_none else negations)


def _become(reading: ClauseReading, key: str, spots: set[int]) -> Watch | None:
    pointed, areas = reading.pointed(spots)
    vocabulary, used = reading.vocabulary, spots | pointed
    none = reading.none(used)
    if reading.rest(used):  # "a person opens the door"
        used |= reading.spots_of(words for who, words in vocabulary.who if who == "any")
    some, every = (reading.spots_of(words, used) for words in (vocabulary.any, vocabulary.all))
    negations = reading.negations(used | none)
    is_negated = _negated(reading, negations, is_none=bool(none))
    if bool(none) + bool(every) + is_negated > 1:
        return None
    rest = reading.rest(used | negations | none | some | every)
    if not rest and (none or some or every):
        return None
    subject, is_quantified = _Subject(reading, key, rest, areas), bool(none or some or every)
    numbers = subject.numbers(is_one=not is_quantified and not reading.says_several(rest))
    if not numbers or (len(numbers) > 1 and not subject.may_be_several(is_quantified=is_quantified)):
        return None
    is_every = len(numbers) > 1 and not none and (bool(every) or (not some and key in _RESTING))
    meant = {reading.entity_id(n): subject.meant[n] for n in sorted(numbers)}
    return _watch_of(meant, every=is_every, negated=is_negated or bool(none))


class _Subject:
    """What a clause is about whose other words say what becomes of it."""

    def __init__(self, reading: ClauseReading, key: str, rest: list[int], areas: frozenset[str] | None) -> None:
        self._reading, self._key, self._rest, self._areas = reading, key, rest, areas
        self.meant = _telling(reading, key)
        if (called := _SAID_OF.get(key)) is not None:
            own = reading.called_any(reading.names_of(called))
            own |= reading.things.by_sort.get(("event", DOORBELL), set()) if key == _RINGS else set()
            self.meant = {number: meant for number, meant in self.meant.items() if number in own}
        """The things of the home that tell such a thing, with how."""

    def numbers(self, *, is_one: bool) -> set[int]:
        """Return the things that are meant: one, or several that the words do not tell apart. `is_one`: it is said of one thing."""
        reading, rest = self._reading, self._rest
        if not rest:
            found = self._implied()
        elif reading.is_only_place(rest) and self._key not in ("rain", "dry"):
            found = reading.whole(self.meant, rest)
        else:
            found = reading.named_by(rest, self.meant)
            if self._key == "done":  # a song is a player by its kind alone
                found = {n for n in found if any(n in reading.called[at] for at in rest)}
        if self._areas is not None:
            found = reading.within(found, self._areas)
        whole = reading.whole(found, rest)
        found = {n for n in found if n in whole or not self.meant[n].is_vague}
        if len(found) > 1:
            best = min(self.meant[n].rank for n in found)
            found = {n for n in found if self.meant[n].rank == best}
            found = whole & found or found
        if len(found) > 1 and is_one:
            found = reading.best_called(found, rest)
        if len(found) > 1 and is_one and not reading.place_spans:
            here = reading.within(found, {reading.area_id})
            found = here if len(here) == 1 else found
        return found

    def _implied(self) -> set[int]:
        """Return what is meant where nothing is named: the bell that rings, or what the rest of the sentence is about."""
        reading = self._reading
        if self._key == _RINGS:
            return {*self.meant}
        if self._key in ("rain", "dry"):
            named = reading.called_any(reading.names_of("rain")) & self.meant.keys()
            return named or {n for n in self.meant if reading.entity_id(n).startswith("weather.")}
        if self._key == "arrived" or not reading.may_refer:
            return set()
        scores: dict[int, int] = {}
        for numbers in reading.beyond.subjects():
            for n in numbers & self.meant.keys():
                scores[n] = scores.get(n, 0) + 1
        most = max(scores.values(), default=0)
        best = {n for n, score in scores.items() if score == most}
        return best if len(best) == 1 else set()

    def may_be_several(self, *, is_quantified: bool) -> bool:
        """Return whether several things may be meant: "a window", "all doors", "the lights"."""
        return is_quantified or self._key == _RINGS or self._reading.says_several(self._rest)


def _telling(reading: ClauseReading, key: str) -> dict[int, Meant]:
    said = {words[0] for name, words in reading.vocabulary.states if name == key and len(words) == 1}
    states = ((number, reading.state(number)) for number in range(len(reading.things.things)))
    found = ((n, states_meant(state, key, said)) for n, state in states if state is not None)
    is_event = reading.context.is_event
    return {number: meant for number, meant in found if meant is not None and (is_event or not meant.is_new)}


def _watch_of(meant: Mapping[str, Meant], *, every: bool, negated: bool) -> Watch | None:
    """Return the watch on some entities; None where they do not tell it in one way."""
    rows = [*meant.values()]
    if len({(row.below, row.negated, row.is_new) for row in rows}) > 1:
        return None
    states = tuple(dict.fromkeys(state for row in rows for state in row.states))
    negated = negated is not rows[0].negated
    if rows[0].is_new:
        since = None if negated else dt_util.utcnow()
        return Watch(entity_ids=tuple(meant), states=states, attribute=ATTR_EVENT_TYPE, after=since) if since else None
    return Watch(entity_ids=tuple(meant), states=states, below=rows[0].below, every=every, negated=negated)


def _detected(reading: ClauseReading) -> Iterator[tuple[int, Watch]]:
    """Yield that there is what sensors are there for: motion in a place, smoke anywhere, people in a room."""
    pointed, areas = reading.pointed(set())
    for spots, classes, is_none in _detections(reading):
        vocabulary, used = reading.vocabulary, pointed | spots
        none, some = reading.none(used), reading.spots_of(vocabulary.any, used)
        negations = reading.negations(used | none)
        is_negated = _negated(reading, negations, is_none=is_none or bool(none))
        if is_negated + bool(none) + is_none > 1:
            continue
        rest = reading.rest(used | negations | none | some)
        found = reading.named_by(rest, _sensing(reading, classes))
        is_there = not (is_negated or is_none or none)
        if not found and is_there and classes == _OCCUPIED and reading.place_spans:  # who is there moves
            found = reading.named_by(rest, _sensing(reading, _MOVING))
        if areas is not None:
            found = reading.within(found, areas)
        elif not rest and classes.isdisjoint(DANGERS) and (len(found) > 1 or classes == _OCCUPIED):
            found = reading.within(found, {reading.area_id}) if classes != _OCCUPIED else set()
        if found:
            ids = tuple(reading.entity_id(n) for n in sorted(found))
            yield max(1, len(spots)), Watch(entity_ids=ids, states=("on",), negated=is_negated or is_none or bool(none))


def _sensing(reading: ClauseReading, classes: Collection[str]) -> set[int]:
    """Return the sensors of some classes, but for the bell: it is pressed, and sees no one."""
    found = set[int]().union(*(reading.things.by_sort.get(("binary_sensor", one), set()) for one in classes))
    return found - reading.called_any(reading.names_of(_BELL))


def _detections(reading: ClauseReading) -> Iterator[tuple[set[int], frozenset[str], bool]]:
    """Yield the places of the words for what is detected, the classes of its sensors, and whether they say that there is none."""
    for at, kinds in reading.kinds.items():
        if classes := _detected_classes(kinds):
            yield {at}, classes, False
    for key, spots in reading.phrases(reading.vocabulary.states):
        if key == "moves":
            yield spots, _MOVING, False
    for key, spots in reading.phrases(reading.vocabulary.who):
        if key in ("any", "none"):
            yield spots, _OCCUPIED, key == "none"


def _detected_classes(kinds: Kinds) -> frozenset[str]:
    return frozenset(one for kind in sure_kinds(kinds) if (one := kind.partition(".")[2]) in DETECTED)
