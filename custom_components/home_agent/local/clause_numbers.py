"""Clauses about a number of the home: "it falls below 18 in the office", "the battery is below 20", "it gets dark in here"."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..support.text import CELSIUS
from ..wishes.when import Watch
from .clause_reading import ClauseReading
from .things import sure_kinds

_DARK = 50.0
"""Lux; a room with less is dark."""
_LEAST = 0.001
"""What tells "it reaches 21" from "it is above 21"."""
_SENSOR, _CLIMATE = frozenset({"sensor"}), frozenset({"climate"})
_BARE = range(-40, 51)
"""Numbers that are degrees where nothing says what they are of: "it falls below 18"."""
_ADJECTIVES: Mapping[str, tuple[str, str]] = {
    "warmer": ("temperature", "above"), "colder": ("temperature", "below"), "brighter": ("illuminance", "above"),
    "darker": ("illuminance", "below"), "damper": ("humidity", "above"), "drier": ("humidity", "below"),
}  # fmt: skip
_CURRENT = {"temperature": "current_temperature", "humidity": "current_humidity"}
"""The attributes of thermostats that are looked at where there is no sensor."""
_MEASURE_OF = {"°": "temperature", CELSIUS: "temperature", "lx": "illuminance", "W": "power"}
_COMPOUND = 0.8  # how surely a word says what is measured
_PERCENT = frozenset({"humidity", "battery"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """A number that is said, with what is said of it."""

    value: float
    unit: str
    measure: str
    direction: str


def compared(reading: ClauseReading) -> Iterator[tuple[int, Watch]]:
    """Yield which number has to be above or below what is said; each with how many words say so."""
    numbers = _Numbers(reading)
    compares = [*reading.phrases(reading.vocabulary.compares)]
    for at, token in enumerate(reading.tokens):
        if token.value is None:
            continue
        if reading.context.is_event and numbers.unit_at(at)[0]:
            yield from numbers.limited(at, "reaches", set())
        for key, spots in compares:
            yield from numbers.limited(at, key, spots)


def lit(reading: ClauseReading, key: str, spots: set[int]) -> Iterator[tuple[int, Watch]]:
    """Yield that it is dark, or bright, in a place that is said and has a sensor for it."""
    pointed, areas = reading.pointed(spots)
    negations = reading.negations(spots | pointed)
    rest = reading.rest(spots | pointed | negations)
    found = reading.named_by(rest, _Numbers(reading).sensors("illuminance", "")) if rest or pointed else set()
    found = found if areas is None else reading.within(found, areas)
    if len(found) == 1:
        above, below = (None, _DARK) if key == "dark" else (_DARK, None)
        ids = (reading.entity_id(found.pop()),)
        yield len(spots), Watch(entity_ids=ids, above=above, below=below, negated=bool(negations))


class _Numbers:
    def __init__(self, reading: ClauseReading) -> None:
        self._reading = reading

    def unit_at(self, at: int) -> tuple[str, set[int]]:
        """Return the unit of a number, and the places of its words that are not part of the number."""
        if unit := self._reading.tokens[at].unit:
            return unit, set()
        for key, words in self._reading.vocabulary.units:
            if tuple(self._reading.words[at + 1 : at + 1 + len(words)]) == words:
                return key, set(range(at + 1, at + 1 + len(words)))
        return "", set()

    def limited(self, at: int, key: str, spots: set[int]) -> Iterator[tuple[int, Watch]]:
        """Yield what has to be above or below the number at a place, by a phrase for that."""
        reading, (unit, unit_spots) = self._reading, self.unit_at(at)
        value = reading.tokens[at].value
        assert value is not None  # only numbers are asked for
        measure, direction = _ADJECTIVES.get(key, (_MEASURE_OF.get(unit, ""), key))
        pointed, areas = reading.pointed(spots)
        negations = reading.negations(spots | pointed)
        used = spots | unit_spots | pointed | negations | {at}
        named = [(name, said - used) for name, said in reading.phrases(reading.vocabulary.measures)]
        measures = {name for name, said in named if said}
        if len(measures) > 1 or (measure and measures - {measure}):
            return
        measure = measure or next(iter(measures), "")
        is_other_scale = unit == CELSIUS and reading.context.unit != "°C"
        if is_other_scale or (negations and direction not in ("above", "below")):
            return
        if spots:  # "it drops 2 degrees" says not to what
            used |= reading.changes
        rest = reading.rest(used.union(*(said for _, said in named)))
        limit = _Limit(value=value, unit=unit, measure=measure or self._measure_in(rest), direction=direction)
        number, attribute = self._measured(rest, limit, areas)
        if number is not None and (bounds := self._bounds(limit, number, attribute)) is not None:
            above, below = bounds
            ids, negated = (reading.entity_id(number),), bool(negations)
            watch = Watch(entity_ids=ids, above=above, below=below, attribute=attribute, negated=negated)
            yield len(spots) + len(unit_spots), watch

    def _measure_in(self, rest: Sequence[int]) -> str:
        """Return what is measured, as a compound says it: "Außentemperatur"."""
        reading, names = self._reading, {name for name, _ in self._reading.vocabulary.measures}
        kinds = [reading.language.kinds_of(reading.words[at]) for at in rest if at not in reading.in_places]
        found = {name for known in kinds for name in names if known.get(f".{name}", 0.0) >= _COMPOUND}
        return found.pop() if len(found) == 1 else ""

    def _bounds(self, limit: _Limit, number: int, attribute: str) -> tuple[float | None, float | None] | None:
        """Return what a number has to be above or below; to reach it is to come to it from where it is now."""
        value, is_rising = limit.value, limit.direction == "rises"
        if limit.direction in ("above", "below"):
            return (value, None) if limit.direction == "above" else (None, value)
        if limit.direction == "reaches":
            if (now := self._reading.number(number, attribute)) is None:
                return None
            is_rising = now <= value
        return (round(value - _LEAST, 6), None) if is_rising else (None, round(value + _LEAST, 6))

    def _measured(self, rest: list[int], limit: _Limit, areas: frozenset[str] | None) -> tuple[int | None, str]:
        """Return the one thing whose number is meant, and the attribute that has it; empty for its state."""
        reading, measure = self._reading, limit.measure
        if not measure and not limit.unit and reading.room_spots.issuperset(rest) and limit.value in _BARE:
            measure = "temperature"

        def placed(numbers: set[int]) -> set[int]:
            found = reading.named_by(rest, numbers)
            if areas is not None:
                return reading.within(found, areas)
            return found if rest else self._near(found)

        found = placed(self.sensors(measure, limit.unit))
        if (one := self._one(found, measure or limit.unit)) is not None or found or measure not in _CURRENT:
            return one, ""
        attribute = _CURRENT[measure]
        heaters = (n for n in reading.things.in_domains(_CLIMATE) if reading.number(n, attribute) is not None)
        found = placed(set(heaters))
        return (found.pop(), attribute) if len(found) == 1 else (None, "")

    def _near(self, found: set[int]) -> set[int]:
        """Return those in the place that the rest of the sentence is about, else where the user speaks, else all.

        None of them where both have one: "turn on the heater when it falls below 18" may be said in another room.
        """
        reading = self._reading
        if there := reading.areas_there:
            return reading.within(found, there)
        things = reading.things.things
        named = ({things[n].entity.area_id for n in numbers} for numbers in reading.beyond.subjects())
        about = {area for areas in named if len(areas) == 1 for area in areas}
        here, there_too = reading.within(found, {reading.area_id}), reading.within(found, about - {None})
        if here and there_too and here != there_too:
            return here | there_too
        return here or there_too or found

    def sensors(self, measure: str, unit: str) -> set[int]:
        """Return the sensors with a number that measure this; without a measure all that have the unit."""
        found: set[int] = set()
        for n in self._reading.things.in_domains(_SENSOR):
            state = self._reading.state(n)
            if state is None or self._reading.number(n) is None:
                continue
            class_, own = state.attributes.get("device_class"), state.attributes.get("unit_of_measurement")
            if measure == "temperature":
                is_meant = class_ == measure and own in (None, self._reading.context.unit)
            elif measure:
                is_meant = class_ == measure and unit in ("", own)
            else:
                is_meant = not unit or (own == unit and (unit != "%" or class_ in _PERCENT))
            found |= {n} if is_meant else set()
        return found

    def _one(self, found: set[int], measure: str) -> int | None:
        """Return the one sensor that is meant, also if others are there whose names say more.

        Where it is not said what is measured, its whole name has to be.
        """
        whole = self._reading.whole(found, range(len(self._reading.words)))
        if not measure:
            found = whole
        found = whole if len(whole) == 1 else found
        if len(found) > 1 and measure:
            plain = {n for n in found if self._is_plain(n, measure)}
            found = plain if len(plain) == 1 else found
        return next(iter(found)) if len(found) == 1 else None

    def _is_plain(self, number: int, measure: str) -> bool:
        """Return whether a sensor is called by its place and what it measures, and by nothing else."""
        thing, language = self._reading.things.things[number], self._reading.language
        where = {word for name in thing.area for word in name}

        def says_nothing_else(words: Sequence[str]) -> bool:
            return all(word in where or f".{measure}" in sure_kinds(language.kinds_of(word)) for word in words)

        return any(map(says_nothing_else, thing.names))
