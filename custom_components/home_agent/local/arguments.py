"""Values for declared arguments, as a text names them: things and places of the home, numbers, times; no model is asked.

What is not certain is left out: two numbers for one argument, two cameras of one name, a word that is free text. The time taken
grows with the length of the text and the number of things that share a word with it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache, lru_cache
import re
from typing import Any

from ..home.names import stems_of
from ..home.snapshot import HomeEntity, HomeSnapshot
from ..home.taught_names import AREA
from ..languages.data import data_of
from ..languages.spoken_numbers import SECONDS, Named, words_in
from ..languages.times import dates_in, durations_in, numbers_in, spans_in, times_in, unit_at
from ..languages.vocabulary import Language, keys_of
from ..support.text import MAX_TEXT, fold, spoken_words, words_of
from .declared import Argument, ArgumentKind, Form
from .things import StateOf

type Places = Sequence[tuple[int, int]]
"""Where something stands in a text: from which character to before which."""

MAX_IDENTIFIER = 40  # characters of a word that may be one
_LABEL = 4  # letters of a word of an argument's name that a number may stand next to

_TIME_UNITS = {
    "s": "second", "sec": "second", "second": "second", "seconds": "second", "min": "minute", "minute": "minute",
    "minutes": "minute", "h": "hour", "hour": "hour", "hours": "hour", "d": "day", "day": "day", "days": "day",
}  # fmt: skip
_SIGNS: Mapping[str, Sequence[str]] = {"%": ("%",), "°": ("°", "℃", "℉")}
_AROUND = ".,;:!?\"'()[]«»„“”"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a text says for some arguments."""

    values: Mapping[str, Any]  # by name; what was not found, or not for certain, is not there
    places: Mapping[str, Places]  # by name: the part of the text that was used
    missing: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()  # arguments for which the text has several values

    def rest(self, text: str) -> str:
        """Return the text without what was used."""
        kept, at = "", 0
        for start, end in sorted({place for places in self.places.values() for place in places}):
            kept, at = f"{kept} {text[at:start]}", max(at, end)
        return " ".join(f"{kept} {text[at:]}".split())


def extract(
    text: str,
    arguments: Sequence[Argument],
    home: HomeSnapshot,
    language: Language,
    now: datetime,
    *,
    state_of: StateOf | None = None,
) -> Extracted:
    """Return what a text says for some arguments, in a home that the user may know of; `now` is in the zone that days are of."""
    return _Text(text[:MAX_TEXT], home, language, now, state_of).extract(arguments)


class _Text:
    def __init__(
        self, text: str, home: HomeSnapshot, language: Language, now: datetime, state_of: StateOf | None
    ) -> None:
        self._text, self._home, self._language, self._now, self._state_of = text, home, language, now, state_of
        self._words = words_in(text)
        self._keys = [keys_of(language.base, word.word) for word in self._words]
        self._called = list(self._find_names())
        self._names = [row for row in self._called if row[2] in home.entities]
        self._areas = list(self._find_areas())
        self._values: dict[str, Any] = {}
        self._spots: dict[str, set[int]] = {}
        self._unclear: set[str] = set()

    def extract(self, arguments: Sequence[Argument]) -> Extracted:
        """Return the values: things and places first, then times, what is listed, and what numbers are left."""
        order, base = list(ArgumentKind), self._language.base
        for argument in sorted(arguments, key=lambda one: order.index(one.kind)):
            match argument.kind:
                case ArgumentKind.ENTITY:
                    self._entity(argument)
                case ArgumentKind.AREA | ArgumentKind.AREA_NAME | ArgumentKind.FLOOR_NAME:
                    self._place(argument)
        spans = {ArgumentKind.TIME_RANGE, ArgumentKind.RANGE_START, ArgumentKind.RANGE_END}
        self._range([one for one in arguments if one.kind in spans])
        for argument in arguments:
            match argument.kind:
                case ArgumentKind.DATETIME:
                    self._moment(argument)
                case ArgumentKind.DATE:
                    self._one(argument, dates_in(self._text, base, self._now, ahead=argument.ahead))
                case ArgumentKind.TIME:
                    self._one(argument, times_in(self._text, base))
                case ArgumentKind.DURATION:
                    self._one(argument, durations_in(self._text, base))
                case ArgumentKind.OPTION:
                    self._option(argument)
                case ArgumentKind.IDENTIFIER if argument.pattern is not None:
                    self._identifier(argument, argument.pattern)
        numbers = {ArgumentKind.NUMBER, ArgumentKind.IDENTIFIER}
        self._numbers([one for one in arguments if one.kind in numbers and one.pattern is None])
        return Extracted(
            values=self._values,
            places={name: self._characters(spots) for name, spots in self._spots.items()},
            missing=tuple(one.name for one in arguments if one.required and one.name not in self._values),
            unclear=tuple(one.name for one in arguments if one.name in self._unclear),
        )

    def _characters(self, spots: Collection[int]) -> Places:
        """Return where words stand in the text, those next to each other together."""
        found: list[tuple[int, int]] = []
        last = -2
        for at in sorted(spots):
            word = self._words[at]
            if at == last + 1:
                found[-1] = found[-1][0], word.end
            else:
                found.append((word.start, word.end))
            last = at
        return tuple(found)

    @property
    def _used(self) -> set[int]:
        return set[int]().union(*self._spots.values())

    def _keep(self, argument: Argument, value: Any, spots: Iterable[int]) -> None:
        self._values[argument.name] = _written(value, argument.form)
        self._spots[argument.name] = set(spots)

    # The home

    def _said(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield where a name stands among the words, in any form: the first, and that behind the last."""
        keys = [keys_of(self._language.base, word.word) for word in words_in(name)]
        for at in range(len(self._words) - len(keys) + 1 if keys else 0):
            behind = at + len(keys)
            if not any(one.isdisjoint(other) for one, other in zip(keys, self._keys[at:behind], strict=True)):
                yield at, behind

    def _find_names(self) -> Iterator[tuple[int, int, str]]:
        """Yield the names of things and places that are said, in any form: the first word, that behind the last, and whose."""
        base, index = self._language.base, self._home.names
        parts: list[tuple[str, int, int]] = []  # words as names have them: "led1" is one, two among those of the text
        at = 0
        while at < len(self._words):
            behind = at + 1
            while behind < len(self._words) and self._words[behind].start == self._words[behind - 1].end:
                behind += 1
            written = self._text[self._words[at].start : self._words[behind - 1].end]
            parts += [(fold(word), at, behind) for word in spoken_words(written)]
            at = behind

        @cache
        def forms(word: str) -> list[str]:
            keys = keys_of(base, word)
            return [own for own in index.beginning_like(word) if not keys.isdisjoint(keys_of(base, own))]

        for start, name, subject in index.standing_in([word for word, _, _ in parts], lambda word, _: forms(word)):
            yield parts[start][1], parts[start + len(name) - 1][2], subject

    def _find_areas(self) -> Iterator[tuple[int, int, frozenset[str], str]]:
        """Yield the areas and floors that are said: by a name of their own, else by what else such a room is called."""
        found: dict[tuple[int, int, str], set[str]] = {}
        for at, behind, subject in self._called:
            if areas := self._home.areas_of(subject):
                kind = "area" if subject.startswith(AREA) else "floor"
                found.setdefault((at, behind, kind), set()).update(areas)
        literal = {place for at, behind, _ in found for place in range(at, behind)}
        own = _rooms(self._language.base)
        named = {_phrase(name): area.area_id for area in self._home.areas.values() for name in area.names}
        for at, length, others in self._language.rooms([word.word for word in self._words]):
            if literal.isdisjoint(range(at, at + length)):
                rooms = {named[name] for name in others if name in named and name not in own}
                if len(rooms) == 1:
                    found.setdefault((at, at + length, "area"), set()).update(rooms)
        for (at, behind, kind), meant in sorted(found.items(), key=lambda row: row[0]):
            yield at, behind, frozenset(meant), kind

    def _entity(self, argument: Argument) -> None:
        """Find the things of an argument: by a whole name, by one without the word for its kind, by the only one of a place."""
        entities, index = self._home.entities, self._home.names
        fits = {key for _, _, key in self._names if self._suits(argument, entities[key])}
        named = [(at, behind, own) for at, behind, items in self._longest(self._names) if (own := items & fits)]
        if not named:
            near = {key for stem in stems_of(self._text) for found in index.with_stem(stem) for key in found}
            fitting = [item for key in sorted(near) if (item := entities.get(key)) and self._suits(argument, item)]
            named = self._longest(
                (at, behind, item.entity_id) for item in fitting for at, behind in self._without_kind(item)
            )
        if not named:
            for at, behind, areas, kind in self._areas:
                around = [key for area in areas for key in self._home.by_area.get(area, ()) if kind == "area"]
                if there := {key for key in around if self._suits(argument, entities[key])}:
                    named.append((at, behind, there))
        meant: list[str] = []
        for at, behind, items in named:
            here = items
            if len(items) > 1:
                places = [areas for first, end, areas, _ in self._areas if not (at <= first and end <= behind)]
                here = {one for one in items if places and all(entities[one].area_id in areas for areas in places)}
            if len(here or items) != 1:
                self._unclear.add(argument.name)
                return
            meant += here or items
        self._keep_all(argument, dict.fromkeys(meant), [row[:2] for row in named])

    def _keep_all(self, argument: Argument, values: Collection[str], places: Places) -> None:
        if len(values) > 1 and not argument.several:
            self._unclear.add(argument.name)
        elif values:
            spots = [at for first, behind in places for at in range(first, behind)]
            self._keep(argument, list(values) if argument.several else next(iter(values)), spots)

    def _suits(self, argument: Argument, item: HomeEntity) -> bool:
        if argument.domains and item.domain not in argument.domains:
            return False
        if not argument.classes:
            return True
        state = self._state_of(item.entity_id) if self._state_of is not None else None
        return state is not None and state.attributes.get("device_class") in argument.classes

    def _longest(self, said: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, set[str]]]:
        by_place: dict[tuple[int, int], set[str]] = {}
        for at, behind, item in said:
            by_place.setdefault((at, behind), set()).add(item)
        taken, found = set[int](), list[tuple[int, int, set[str]]]()
        for (at, behind), items in sorted(by_place.items(), key=lambda row: (row[0][0] - row[0][1], row[0])):
            if taken.isdisjoint(range(at, behind)):
                taken |= set(range(at, behind))
                found.append((at, behind, items))
        return sorted(found, key=lambda row: row[:2])

    def _without_kind(self, item: HomeEntity) -> Iterator[tuple[int, int]]:
        """Yield where a name is said without the word for the kind of the thing: "Einfahrt" for "Kamera Einfahrt"."""
        language = self._language
        for name in item.names:
            words = words_of(name)
            nouns = [word for word in words if language.is_noun(word)]
            own = {word for word in nouns for kind in language.kinds_of(word) if kind.partition(".")[0] == item.domain}
            kept = [word for word in words if word not in own]
            if kept and len(kept) < len(words):
                yield from self._said(" ".join(kept))

    def _place(self, argument: Argument) -> None:
        """Find the areas or floors of an argument; those whose name only stands in that of a thing are not meant."""
        wanted = "floor" if argument.kind is ArgumentKind.FLOOR_NAME else "area"
        things = {row[:2] for row in self._longest(self._names)}.difference(row[:2] for row in self._areas)
        within = {place for at, behind in things for place in range(at, behind)}
        said = [row for row in self._areas if row[3] == wanted and within.isdisjoint(range(row[0], row[1]))]
        values: list[str] = []
        for _, _, areas, _ in said:
            if wanted == "floor":
                names = {self._home.areas[area].floor_names[0] for area in areas}
            elif argument.kind is ArgumentKind.AREA_NAME:
                names = {self._home.areas[area].names[0] for area in areas}
            else:
                names = set(areas)
            if len(names) > 1:
                self._unclear.add(argument.name)
                return
            values += names
        self._keep_all(argument, dict.fromkeys(values), [row[:2] for row in said])

    # Times

    def _free(self, first: int, behind: int) -> bool:
        is_in_name = any(at <= first and behind <= end for at, end, _ in self._names)
        return not is_in_name and self._used.isdisjoint(range(first, behind))

    def _range(self, arguments: Sequence[Argument]) -> None:
        """Find the one span of time; its ends may be two arguments."""
        if not arguments:
            return
        ahead = any(one.ahead for one in arguments)
        spans = spans_in(self._text, self._language.base, self._now, ahead=ahead)
        spans = [span for span in spans if self._free(span.first, span.behind)]
        if len(spans) > 1:
            self._unclear.update(one.name for one in arguments)
        if len(spans) != 1:
            return
        span = spans[0]
        for argument in arguments:
            match argument.kind:
                case ArgumentKind.RANGE_START:
                    value: Any = span.start.date() if argument.whole else span.start
                case ArgumentKind.RANGE_END:  # a day is in the span as a whole
                    value = (span.end - timedelta(microseconds=1)).date() if argument.whole else span.end
                case _:
                    value = {"start": span.start, "end": span.end}
            self._keep(argument, value, range(span.first, span.behind))

    def _moment(self, argument: Argument) -> None:
        days = dates_in(self._text, self._language.base, self._now, ahead=argument.ahead)
        times = times_in(self._text, self._language.base)
        days = [one for one in days if self._free(one.first, one.behind)]
        times = [one for one in times if self._free(one.first, one.behind)]
        if len(days) > 1 or len(times) > 1:
            self._unclear.add(argument.name)
        elif days and times:
            when = datetime.combine(days[0].value, times[0].value, self._now.tzinfo)
            self._keep(argument, when, (*days[0].spots, *times[0].spots))

    def _one[T](self, argument: Argument, found: Sequence[Named[T]], *, named: bool = False) -> None:
        """Keep the only value that was found; the same said twice is one. With `named` it may be the name of a thing."""
        free = [one for one in found if named or self._free(one.first, one.behind)]
        values = list({repr(one.value): one.value for one in free}.values())
        spots = {at for one in free for at in one.spots}
        if argument.several and values:
            self._keep(argument, values, spots)
        elif len(values) > 1:
            self._unclear.add(argument.name)
        elif values:
            self._keep(argument, values[0], spots)

    # What is listed, and numbers

    def _option(self, argument: Argument) -> None:
        options = argument.options.items()
        said = [Named(value, *places) for phrase, value in options for places in self._said(phrase)]
        longest = [one for one in said if not any({*other.spots} > {*one.spots} for other in said)]
        # what is listed may be what a thing is called; a part of a longer name is not said by itself
        within = [one for one in longest if not self._free(one.first, one.behind)]
        named = {(at, behind) for at, behind, _ in self._longest(self._names)}
        alone = [one for one in within if (one.first, one.behind) in named and self._used.isdisjoint(one.spots)]
        self._one(argument, [one for one in longest if one not in within] + alone, named=True)

    def _identifier(self, argument: Argument, pattern: re.Pattern[str]) -> None:
        """Find the words that are such an identifier as a whole; one has a digit."""
        found: list[Named[str]] = []
        for match in re.finditer(r"\S+", self._text):
            chunk = match[0].strip(_AROUND)
            if not chunk or len(chunk) > MAX_IDENTIFIER or not any(sign.isdigit() for sign in chunk):
                continue
            value = next((one for one in (chunk, chunk.upper(), chunk.lower()) if pattern.fullmatch(one)), None)
            if value is not None:
                start = match.start() + match[0].index(chunk)
                end, rows = start + len(chunk), enumerate(self._words)
                spots = [at for at, word in rows if start <= word.start and word.end <= end]
                if spots:
                    found.append(Named(value, spots[0], spots[-1] + 1))
        self._one(argument, found)

    def _numbers(self, arguments: Sequence[Argument]) -> None:
        """Give each argument the number that is its own; none where two could be."""
        open_ = {one.name: one for one in arguments}
        for argument in arguments:
            if argument.kind is ArgumentKind.NUMBER and (unit := self._time_unit(argument)):
                lasting = durations_in(self._text, self._language.base)
                numbers = [(one.value.total_seconds() / SECONDS[unit], one) for one in lasting]
                fitting = [Named(_plain(many), one.first, one.behind) for many, one in numbers if _fits(argument, many)]
                self._one(argument, fitting)
                if argument.name in self._values or argument.name in self._unclear:
                    del open_[argument.name]
        said = numbers_in(self._words, self._language.base)
        while open_:
            pairs = ((argument, one) for argument in open_.values() for one in said)
            ranked = [(rank, name.name, one) for name, one in pairs if (rank := self._rank(name, one)) is not None]
            if not ranked:
                return
            best = max(rank for rank, _, _ in ranked)
            first = [row for row in ranked if row[0] == best]
            name = first[0][1]
            mine = {(one.first, one.value) for _, other, one in first if other == name}
            theirs = {other for _, other, one in first if any(one.first == at for at, _ in mine)}
            if len({value for _, value in mine}) > 1 or len(theirs) > 1:
                self._unclear |= theirs
                open_ = {key: one for key, one in open_.items() if key not in theirs}
                continue
            number = first[0][2]
            argument = open_.pop(name)
            behind = [word.word for word in self._words[number.behind : number.behind + 1]]
            has_unit = self._unit(number.behind) or behind == [argument.unit.casefold()]
            last = number.behind + len(behind) if has_unit else number.behind
            self._keep(argument, _plain(number.value), range(number.first, last))

    def _time_unit(self, argument: Argument) -> str:
        """Return the unit of time that an argument is of, as a key of `SECONDS`: its unit, else what it is called; "": none."""
        if argument.unit:
            return _TIME_UNITS.get(argument.unit.casefold(), "")
        for label in (argument.name.replace("_", " "), *argument.labels):
            for one in durations_in(f"1 {label}", self._language.base):
                unit = next((unit for unit, seconds in SECONDS.items() if seconds == one.value.total_seconds()), "")
                if unit and one.behind == len(words_in(label)) + 1:
                    return unit
        return _TIME_UNITS.get(argument.name.casefold(), "")

    def _unit(self, at: int) -> str:
        if at >= len(self._words):
            return ""
        word = self._words[at].word
        for sign, said in {**_SIGNS, **data_of(self._language.base).units}.items():
            if word == sign or word in {one.word for text in said for one in words_in(text)}:
                return sign
        return "time" if unit_at(self._words, at, self._language.base) else ""

    def _rank(self, argument: Argument, number: Named[float]) -> int | None:
        """Return how surely a number is an argument's; None for one that is not."""
        if not self._free(number.first, number.behind) or not _fits(argument, number.value):
            return None
        behind = self._unit(number.behind)
        word = self._words[number.behind].word if number.behind < len(self._words) else ""
        own = argument.unit.casefold()
        wanted = "°" if own.startswith("°") else "k" if own in ("k", "kelvin") else own
        labelled = self._labelled(argument, number)
        if argument.kind is ArgumentKind.IDENTIFIER:
            return None if behind or not self._words[number.first].is_number else 2 + 2 * labelled
        if own and (behind == wanted or word == own):
            return 3 + 2 * labelled
        if behind and (own or behind == "time"):
            return None
        if not labelled and (self._is_kind(number.behind) or self._is_kind(number.first - 1)):
            return None  # "two lights", "lamp 2"
        return 1 + 2 * labelled

    def _is_kind(self, at: int) -> bool:
        return 0 <= at < len(self._words) and self._language.is_noun(self._words[at].word)

    def _labelled(self, argument: Argument, number: Named[float]) -> int:
        """Return how surely what an argument is called belongs to a number: in front of it, or behind; a word may be between."""
        said = {
            key
            for label in (argument.name.replace("_", " "), *argument.labels)
            for word in words_in(label)
            if len(word.word) >= _LABEL or len(label) == len(word.word)
            for key in keys_of(self._language.base, word.word)
        }
        for sure, near in (
            (2, range(max(0, number.first - 2), number.first)),
            (1, range(number.behind, min(len(self._words), number.behind + 2))),
        ):
            if any(not said.isdisjoint(self._keys[at]) for at in near):
                return sure
        return 0


def _fits(argument: Argument, value: float) -> bool:
    if (argument.whole or argument.kind is ArgumentKind.IDENTIFIER) and not value.is_integer():
        return False
    least, most = argument.minimum, argument.maximum
    return (least is None or value >= least) and (most is None or value <= most)


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _written(value: Any, form: Form) -> Any:
    """Return a moment, a day, a time or a duration in a form, anything else as it is."""
    match value:
        case _ if form is Form.PYTHON:
            return value
        case datetime():
            return value.isoformat(timespec="seconds") if form is Form.JSON else f"{value:%Y-%m-%d %H:%M:%S}"
        case date() | time():
            return value.isoformat()
        case timedelta():
            seconds = int(value.total_seconds())
            hours, minutes, left = seconds // 3600, seconds // 60 % 60, seconds % 60
            if form is Form.SELECTOR:
                return {"hours": hours, "minutes": minutes, "seconds": left}
            parts = {"H": hours, "M": minutes, "S": left}
            return "PT" + ("".join(f"{number}{sign}" for sign, number in parts.items() if number) or "0S")
        case dict():
            return {key: _written(item, form) for key, item in value.items()}
        case list():
            return [_written(item, form) for item in value]
    return value


def _phrase(name: str) -> str:
    return " ".join(word.word for word in words_in(name))


@lru_cache(maxsize=16)
def _rooms(code: str) -> frozenset[str]:
    """Return what rooms are called in a language; one such name is another room than the next."""
    return frozenset(_phrase(name) for names in data_of(code).rooms.values() for name in names)
