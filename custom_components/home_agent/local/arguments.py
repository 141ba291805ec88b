"""Values for declared arguments, as a text names them: things and places of the home, numbers, times; no model is asked.

An argument is declared by a JSON schema, by a selector of Home Assistant, or directly. What is not certain is left out: two numbers
for one argument, two cameras of one name, a word that is free text. The time taken grows with the length of the text and the number of
things that share a word with it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import cache, lru_cache
import re
from typing import Any

from homeassistant.core import State

from ..home.snapshot import HomeEntity, HomeSnapshot
from ..home.taught_names import AREA, FLOOR
from ..languages.data import data_of
from ..languages.inflection import keys_of
from ..languages.times import (
    SECONDS,
    Named,
    dates_in,
    durations_in,
    numbers_in,
    spans_in,
    times_in,
    unit_at,
    words_in,
)
from ..languages.vocabulary import Language
from ..support.text import MAX_TEXT, fold, spoken_words

type Places = tuple[tuple[int, int], ...]
"""Where something stands in a text: from which character to before which."""

MAX_PATTERN = 100  # characters
MAX_IDENTIFIER = 40  # characters of a word that may be one
_MOST_REPEATS = 3  # in a pattern; more take time that grows with a power of the length of a word
_LABEL = 4  # letters of a word of an argument's name that a number may stand next to

_STARTS = frozenset({"start", "from", "since", "begin", "after"})
_ENDS = frozenset({"end", "to", "until", "before"})
_TIME_UNITS = {
    "s": "second", "sec": "second", "second": "second", "seconds": "second", "min": "minute", "minute": "minute",
    "minutes": "minute", "h": "hour", "hour": "hour", "hours": "hour", "d": "day", "day": "day", "days": "day",
}  # fmt: skip
_REPEAT = re.compile(r"[*+]|\{\d*,?\d*\}")
_CHUNK = re.compile(r"\S+")
_AROUND = ".,;:!?\"'()[]«»„“”"


class ArgumentKind(StrEnum):
    """What an argument is."""

    ENTITY = "entity"
    AREA = "area"
    """By its id; `AREA_NAME` by its name."""
    AREA_NAME = "area_name"
    FLOOR_NAME = "floor_name"
    NUMBER = "number"
    IDENTIFIER = "identifier"
    OPTION = "option"
    TIME_RANGE = "time_range"
    RANGE_START = "range_start"
    """One end of a span of time that two arguments make; the other is `RANGE_END`."""
    RANGE_END = "range_end"
    DATE = "date"
    TIME = "time"
    DATETIME = "datetime"
    DURATION = "duration"
    TEXT = "text"
    """Anything else: never found."""


class Form(StrEnum):
    """How times are written."""

    PYTHON = "python"
    """As `datetime`, `date`, `time`, `timedelta`; a range as `{"start": datetime, "end": datetime}`."""
    JSON = "json"
    """ISO 8601, as JSON schemas have it."""
    SELECTOR = "selector"
    """As Home Assistant's selectors do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A declared argument."""

    name: str
    kind: ArgumentKind
    required: bool = False
    several: bool = False
    """Whether its value is a list."""
    domains: frozenset[str] = frozenset()
    """Of entities; any where there are none."""
    classes: frozenset[str] = frozenset()
    """Device classes of entities; any where there are none."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What is said, to the value that it is."""
    unit: str = ""
    """Of a number, as Home Assistant writes it."""
    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False
    """Whether a number has no decimals."""
    pattern: re.Pattern[str] | None = None
    """Of an identifier; one without is a number."""
    labels: tuple[str, ...] = ()
    """What else it is called; its name is always known."""
    form: Form = Form.PYTHON
    free: bool = False
    """Whether a text is whatever is said: a field for words."""
    ahead: bool = False
    """Whether a day without a year, or a weekday, is the next one rather than the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What a text says for some arguments."""

    values: Mapping[str, Any]
    """By name; what was not found, or not for certain, is not there."""
    places: Mapping[str, Places]
    """By name: what of the text was used."""
    missing: tuple[str, ...] = ()
    """Required arguments without a value."""
    unclear: tuple[str, ...] = ()
    """Arguments for which the text has several values."""

    def rest(self, text: str) -> str:
        """Return the text without what was used."""
        kept, at = [], 0
        for start, end in sorted({place for places in self.places.values() for place in places}):
            if start >= at:
                kept.append(text[at:start])
            at = max(at, end)
        return " ".join(" ".join([*kept, text[at:]]).split())


def arguments_of_schema(schema: Mapping[str, Any]) -> tuple[Argument, ...]:
    """Return the arguments that a JSON schema of an object declares. What it says otherwise is never found in a text."""
    properties = schema.get("properties")
    rows = (
        {key: row for key, row in properties.items() if isinstance(row, Mapping)}
        if isinstance(properties, Mapping)
        else {}
    )
    required = schema.get("required")
    needed = set(required) if isinstance(required, (list, tuple)) else set[str]()
    found = [_of_schema(key, row, required=key in needed) for key, row in rows.items()]
    return _paired(found)


def arguments_of_fields(fields: Mapping[str, Any]) -> tuple[Argument, ...]:
    """Return the arguments that fields of a script or an action declare, by their selectors."""
    found = []
    for key, row in fields.items():
        known: Mapping[str, Any] = row if isinstance(row, Mapping) else {}
        labels = (str(known["name"]),) if known.get("name") else ()
        selector = known.get("selector")
        kinds = selector if isinstance(selector, Mapping) else {}
        kind, options = next(iter(kinds.items()), ("text", None))
        given = dict(options) if isinstance(options, Mapping) else {}
        found.append(
            Argument(
                name=key, required=bool(known.get("required")) and "default" not in known, labels=labels, form=Form.SELECTOR, ahead=True,
                **_of_selector(str(kind), given),
            )
        )  # fmt: skip
    return _paired(found)


def _of_schema(name: str, row: Mapping[str, Any], *, required: bool) -> Argument:
    items = row.get("items")
    several = row.get("type") == "array" and isinstance(items, Mapping)
    each: Mapping[str, Any] = items if several and isinstance(items, Mapping) else row
    labels = (str(row["title"]),) if row.get("title") else ()
    words = set(name.casefold().split("_"))
    known: dict[str, Any] = {"kind": ArgumentKind.TEXT}
    kind, format_ = each.get("type"), each.get("format")
    if isinstance(listed := each.get("enum"), (list, tuple)):
        known = {
            "kind": ArgumentKind.OPTION,
            "options": {_spoken(value): value for value in listed if value is not None},
        }
    elif kind in ("number", "integer"):
        is_id = kind == "integer" and not words.isdisjoint({"id", "ids", "number", "no"}) and "unit" not in each
        known = {
            "kind": ArgumentKind.IDENTIFIER if is_id else ArgumentKind.NUMBER, "whole": kind == "integer", "unit": str(each.get("unit") or ""),
            "minimum": _bound(each, "minimum"), "maximum": _bound(each, "maximum"),
        }  # fmt: skip
    elif kind == "string":
        formats = {
            "date-time": ArgumentKind.DATETIME,
            "date": ArgumentKind.DATE,
            "time": ArgumentKind.TIME,
            "duration": ArgumentKind.DURATION,
        }
        if format_ in formats:
            known = {"kind": formats[format_]}
        elif format_ == "entity_id" or "entity" in words:
            known = {"kind": ArgumentKind.ENTITY}
        elif "camera" in words:
            known = {"kind": ArgumentKind.ENTITY, "domains": frozenset({"camera"})}
        elif words == {"area", "id"}:
            known = {"kind": ArgumentKind.AREA}
        elif words in ({"area"}, {"room"}, {"area", "name"}, {"room", "name"}):
            known = {"kind": ArgumentKind.AREA_NAME}
        elif words in ({"floor"}, {"floor", "name"}):
            known = {"kind": ArgumentKind.FLOOR_NAME}
        elif (pattern := _safe(each.get("pattern"))) is not None:
            known = {"kind": ArgumentKind.IDENTIFIER, "pattern": pattern}
    elif kind == "object" and isinstance(parts := each.get("properties"), Mapping) and set(parts) == {"start", "end"}:
        known = {"kind": ArgumentKind.TIME_RANGE}
    return Argument(name=name, required=required, several=several, labels=labels, form=Form.JSON, **known)


def _of_selector(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    several = bool(options.get("multiple"))
    match kind:
        case "entity":
            return {"several": several, **_entities(options)}
        case "area":
            plain = not {"entity", "device"} & options.keys()
            return {"kind": ArgumentKind.AREA if plain else ArgumentKind.TEXT, "several": several}
        case "number":
            return {
                "kind": ArgumentKind.NUMBER, "unit": str(options.get("unit_of_measurement") or ""),
                "minimum": _bound(options, "min"), "maximum": _bound(options, "max"),
                "whole": isinstance(step := options.get("step", 1), (int, float)) and float(step).is_integer(),
            }  # fmt: skip
        case "color_temp" if options.get("unit") == "kelvin":
            return {
                "kind": ArgumentKind.NUMBER, "unit": "K", "whole": True, "minimum": _bound(options, "min"), "maximum": _bound(options, "max"),
            }  # fmt: skip
        case "select":
            listed = options.get("options") or ()
            rows = [(row.get("label"), row.get("value")) if isinstance(row, Mapping) else (row, row) for row in listed]
            return {
                "kind": ArgumentKind.OPTION,
                "several": several,
                "options": {_spoken(said): value for said, value in rows},
            }
        case "time" | "date" | "datetime" | "duration":
            return {"kind": ArgumentKind(kind)}
        case "text":
            return {"kind": ArgumentKind.TEXT, "free": not several}
    return {"kind": ArgumentKind.TEXT}


def _entities(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return which entities a selector takes; what asks for more than a domain and a device class cannot be told from here."""
    filters = options.get("filter")
    filters = [filters] if isinstance(filters, Mapping) else list(filters or ())
    direct = {key: value for key, value in options.items() if key not in ("multiple", "filter", "reorder")}
    filters += [direct] if direct else []
    if len(filters) > 1 or any(set(row) - {"domain", "device_class"} for row in filters):
        return {"kind": ArgumentKind.TEXT}
    row = filters[0] if filters else {}
    return {
        "kind": ArgumentKind.ENTITY, "domains": frozenset(_listed(row.get("domain"))),
        "classes": frozenset(_listed(row.get("device_class"))),
    }  # fmt: skip


def _listed(value: object) -> list[str]:
    return (
        [value] if isinstance(value, str) else [str(item) for item in value] if isinstance(value, (list, tuple)) else []
    )


def _bound(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _spoken(value: object) -> str:
    """Return how an option is said: without the signs that hold its words together."""
    return re.sub(r"[_\-]+", " ", str(value)).strip()


def _paired(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Return the arguments with the two ends of a span of time known as such; one that has no end lasts until now."""
    moments = [one for one in arguments if one.kind in (ArgumentKind.DATETIME, ArgumentKind.DATE)]
    starts = [one for one in moments if not _STARTS.isdisjoint(one.name.casefold().split("_"))]
    ends = [one for one in moments if not _ENDS.isdisjoint(one.name.casefold().split("_"))]
    if len(starts) != 1 or len(ends) > 1 or starts == ends:
        return tuple(arguments)
    kinds = {starts[0].name: ArgumentKind.RANGE_START} | {one.name: ArgumentKind.RANGE_END for one in ends}
    return tuple(
        Argument(
            name=one.name, kind=kinds[one.name], required=one.required, labels=one.labels, form=one.form, whole=one.kind is ArgumentKind.DATE,
        )
        if one.name in kinds
        else one
        for one in arguments
    )  # fmt: skip


@lru_cache(maxsize=256)
def _safe(pattern: object) -> re.Pattern[str] | None:
    """Return a pattern that others wrote, None where matching a short word with it may take long.

    A repetition of what repeats, an alternative that repeats, and many repetitions are what takes long.
    """
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN or re.search(r"\(\?[^:]|\\[1-9]", pattern):
        return None
    bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern)
    if len(_REPEAT.findall(bare)) > _MOST_REPEATS or re.search(r"\)(?:[*+]|\{)", bare):
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return None


def extract(
    text: str,
    arguments: Sequence[Argument],
    home: HomeSnapshot,
    language: Language,
    now: datetime,
    *,
    state_of: Callable[[str], State | None] | None = None,
) -> Extracted:
    """Return what a text says for some arguments.

    `home` is what the user may know of; `now` is aware, in the time zone that days are of. Device classes are asked of `state_of`.
    """
    return _Text(text[:MAX_TEXT], home, language, now, state_of).extract(arguments)


class _Text:
    """A text, read for arguments."""

    def __init__(
        self,
        text: str,
        home: HomeSnapshot,
        language: Language,
        now: datetime,
        state_of: Callable[[str], State | None] | None,
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
        order = list(ArgumentKind)
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
                    days = dates_in(self._text, self._language.base, self._now, ahead=argument.ahead)
                    self._one(argument, [_renamed(one, _date(one.value)) for one in days], argument.form)
                case ArgumentKind.TIME:
                    times = times_in(self._text, self._language.base)
                    self._one(argument, [_renamed(one, _time(one.value)) for one in times], argument.form)
                case ArgumentKind.DURATION:
                    lasting = durations_in(self._text, self._language.base)
                    self._one(argument, [_renamed(one, _duration(one.value)) for one in lasting], argument.form)
                case ArgumentKind.OPTION:
                    self._option(argument)
                case ArgumentKind.IDENTIFIER if argument.pattern is not None:
                    self._identifier(argument, argument.pattern)
        self._numbers(
            [
                one
                for one in arguments
                if one.kind is ArgumentKind.NUMBER or (one.kind is ArgumentKind.IDENTIFIER and one.pattern is None)
            ]
        )
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
        self._values[argument.name] = value
        self._spots[argument.name] = set(spots)

    # The home

    def _said(self, name: str) -> Iterator[tuple[int, int]]:
        """Yield where a name stands among the words, in whatever form: the first, and that behind the last."""
        keys = [keys_of(self._language.base, word.word) for word in words_in(name)]
        for at in range(len(self._words) - len(keys) + 1 if keys else 0):
            behind = at + len(keys)
            if not any(one.isdisjoint(other) for one, other in zip(keys, self._keys[at:behind], strict=True)):
                yield at, behind

    def _find_names(self) -> Iterator[tuple[int, int, str]]:
        """Yield the names of things and places that are said, in whatever form: the first word, that behind the last, and whose."""
        base, index = self._language.base, self._home.names
        at, parts = (
            0,
            list[tuple[str, int, int]](),
        )  # words as names have them: "led1" is one, two among the words of the text
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
            if subject.startswith(AREA):
                found.setdefault((at, behind, "area"), set()).add(subject.removeprefix(AREA))
            elif subject.startswith(FLOOR):
                areas = {key for key, area in self._home.areas.items() if area.floor == subject}
                found.setdefault((at, behind, "floor"), set()).update(areas)
        literal = {place for at, behind, _ in found for place in range(at, behind)}
        own = _rooms(self._language.base)
        named = {_phrase(name): area.area_id for area in self._home.areas.values() for name in area.names}
        for at, length, others in self._language.rooms([word.word for word in self._words]):
            if literal.isdisjoint(range(at, at + length)):
                areas = {named[name] for name in others if name in named and name not in own}
                if len(areas) == 1:
                    found.setdefault((at, at + length, "area"), set()).update(areas)
        for (at, behind, kind), areas in sorted(found.items(), key=lambda row: row[0]):
            if areas:
                yield at, behind, frozenset(areas), kind

    def _entity(self, argument: Argument) -> None:
        """Find the things of an argument: by a whole name, by one without the word for its kind, by the only one of a place."""
        fits = [item for item in self._home.entities.values() if self._suits(argument, item)]
        allowed = {item.entity_id for item in fits}
        named = self._longest([(at, behind, item) for at, behind, item in self._names], allowed)
        if not named:
            shorter = [(at, behind, item.entity_id) for item in fits for at, behind in self._without_kind(item)]
            named = self._longest(shorter, allowed)
        if not named:
            for at, behind, areas, kind in self._areas:
                there = {item.entity_id for item in fits if kind == "area" and item.area_id in areas}
                if there:
                    named.append((at, behind, there))
        meant: list[str] = []
        for at, behind, items in named:
            here = {item for item in items if self._is_where_said(item, range(at, behind))} if len(items) > 1 else items
            if len(here or items) != 1:
                self._unclear.add(argument.name)
                return
            meant += here or items
        meant = list(dict.fromkeys(meant))
        if not meant:
            return
        if len(meant) > 1 and not argument.several:
            self._unclear.add(argument.name)
            return
        spots = {place for at, behind, _ in named for place in range(at, behind)}
        self._keep(argument, meant if argument.several else meant[0], spots)

    def _suits(self, argument: Argument, item: HomeEntity) -> bool:
        if argument.domains and item.domain not in argument.domains:
            return False
        if not argument.classes:
            return True
        state = self._state_of(item.entity_id) if self._state_of is not None else None
        return state is not None and state.attributes.get("device_class") in argument.classes

    def _longest(
        self, said: Iterable[tuple[int, int, str]], allowed: Collection[str]
    ) -> list[tuple[int, int, set[str]]]:
        """Return the names that stand in no longer one, those of other things left out, in the order of the text."""
        by_place: dict[tuple[int, int], set[str]] = {}
        for at, behind, item in said:
            by_place.setdefault((at, behind), set()).add(item)
        taken, found = set[int](), list[tuple[int, int, set[str]]]()
        for (at, behind), items in sorted(by_place.items(), key=lambda row: (row[0][0] - row[0][1], row[0])):
            if taken.isdisjoint(range(at, behind)):
                taken |= set(range(at, behind))
                if meant := items & set(allowed):
                    found.append((at, behind, meant))
        return sorted(found, key=lambda row: row[:2])

    def _without_kind(self, item: HomeEntity) -> Iterator[tuple[int, int]]:
        """Yield where a name is said without the word for the kind of the thing: "Einfahrt" for "Kamera Einfahrt"."""
        for name in item.names:
            words = [word.word for word in words_in(name)]
            kept = [word for word in words if not self._names_kind(word, item.domain)]
            if kept and len(kept) < len(words):
                yield from self._said(" ".join(kept))

    def _names_kind(self, word: str, domain: str) -> bool:
        language = self._language
        kinds = language.kinds_of(word) if language.is_noun(word) else {}
        return any(kind.partition(".")[0] == domain for kind in kinds)

    def _is_where_said(self, entity_id: str, but: Collection[int]) -> bool:
        area_id = self._home.entities[entity_id].area_id
        said = [areas for at, behind, areas, _ in self._areas if not set(range(at, behind)) <= set(but)]
        return bool(said) and all(area_id in areas for areas in said)

    def _place(self, argument: Argument) -> None:
        """Find the areas or floors of an argument; those whose name only stands in that of a thing are not meant."""
        wanted = "floor" if argument.kind is ArgumentKind.FLOOR_NAME else "area"
        within = {
            place
            for at, behind, items in self._longest(self._names, self._home.entities)
            if not any((at, behind) == row[:2] for row in self._areas)
            for place in range(at, behind)
        }
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
        values = list(dict.fromkeys(values))
        if len(values) > 1 and not argument.several:
            self._unclear.add(argument.name)
        elif values:
            spots = {place for at, behind, _, _ in said for place in range(at, behind)}
            self._keep(argument, values if argument.several else values[0], spots)

    # Times

    def _free(self, first: int, behind: int) -> bool:
        return self._used.isdisjoint(range(first, behind)) and not any(
            at <= first and behind <= end for at, end, _ in self._names
        )

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
        span, places = spans[0], range(spans[0].first, spans[0].behind)
        last = span.end
        for argument in arguments:
            match argument.kind:
                case ArgumentKind.RANGE_START:
                    value: Any = span.start.date() if argument.whole else span.start
                case ArgumentKind.RANGE_END:  # a day is in the span as a whole
                    value = (last - timedelta(microseconds=1)).date() if argument.whole else last
                case _:
                    value = {"start": span.start, "end": last}
            if isinstance(value, dict):
                written: Any = {key: _moment(item)[argument.form] for key, item in value.items()}
            else:
                written = (_moment(value) if isinstance(value, datetime) else _date(value))[argument.form]
            self._keep(argument, written, places)

    def _moment(self, argument: Argument) -> None:
        """Find a day with a time."""
        days = dates_in(self._text, self._language.base, self._now, ahead=argument.ahead)
        times = times_in(self._text, self._language.base)
        days = [one for one in days if self._free(one.first, one.behind)]
        times = [one for one in times if self._free(one.first, one.behind)]
        if len(days) > 1 or len(times) > 1:
            self._unclear.add(argument.name)
        elif days and times:
            when = datetime.combine(days[0].value, times[0].value, self._now.tzinfo)
            spots = {*range(days[0].first, days[0].behind), *range(times[0].first, times[0].behind)}
            self._keep(argument, _moment(when)[argument.form], spots)

    def _one[T](
        self, argument: Argument, found: Sequence[Named[T]], form: Form | None = None, *, named: bool = False
    ) -> None:
        """Keep the only value that was found; the same said twice is one. With `named` it may be the name of a thing."""
        free = [one for one in found if named or self._free(one.first, one.behind)]
        values = [one.value for one in free]
        if argument.several and free:
            kept = list({repr(value): value for value in values}.values())
            self._keep(argument, kept, {at for one in free for at in range(one.first, one.behind)})
        elif len({repr(value) for value in values}) > 1:
            self._unclear.add(argument.name)
        elif free:
            value: Any = values[0]
            written = value[form] if form is not None else value
            self._keep(argument, written, {at for one in free for at in range(one.first, one.behind)})

    # What is listed, and numbers

    def _option(self, argument: Argument) -> None:
        said = [
            Named(value, at, behind) for phrase, value in argument.options.items() for at, behind in self._said(phrase)
        ]
        longest = [
            one
            for one in said
            if not any(
                other.first <= one.first
                and one.behind <= other.behind
                and other.behind - other.first > one.behind - one.first
                for other in said
            )
        ]
        # what is listed may be what a thing is called; a part of a longer name is not said by itself
        within = [one for one in longest if not self._free(one.first, one.behind)]
        named = {(at, behind) for at, behind, _ in self._longest(self._names, self._home.entities)}
        alone = [one for one in within if (one.first, one.behind) in named and self._used.isdisjoint(_spots(one))]
        self._one(argument, [one for one in longest if one not in within] + alone, named=True)

    def _identifier(self, argument: Argument, pattern: re.Pattern[str]) -> None:
        """Find the words that are such an identifier as a whole; one has a digit."""
        found: list[Named[str]] = []
        for match in _CHUNK.finditer(self._text):
            chunk = match[0].strip(_AROUND)
            if not chunk or len(chunk) > MAX_IDENTIFIER or not any(sign.isdigit() for sign in chunk):
                continue
            value = next((one for one in (chunk, chunk.upper(), chunk.lower()) if pattern.fullmatch(one)), None)
            if value is not None:
                start = match.start() + match[0].index(chunk)
                spots = [
                    at for at, word in enumerate(self._words) if start <= word.start and word.end <= start + len(chunk)
                ]
                if spots:
                    found.append(Named(value, spots[0], spots[-1] + 1))
        self._one(argument, found)

    def _numbers(self, arguments: Sequence[Argument]) -> None:
        """Give each argument the number that is its own; none where two could be."""
        open_ = {one.name: one for one in arguments}
        for argument in arguments:
            if argument.kind is ArgumentKind.NUMBER and (unit := self._time_unit(argument)):
                lasting = durations_in(self._text, self._language.base)
                values = [_renamed(one, one.value.total_seconds() / SECONDS[unit]) for one in lasting]
                self._one(argument, [_renamed(one, _plain(one.value)) for one in values if _fits(argument, one.value)])
                if argument.name in self._values or argument.name in self._unclear:
                    del open_[argument.name]
        numbers = numbers_in(self._words, self._language.base)
        while open_:
            ranked: list[tuple[int, str, Named[float]]] = []
            for argument in open_.values():
                ranked += [
                    (rank, argument.name, one) for one in numbers if (rank := self._rank(argument, one)) is not None
                ]
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
            has_unit = self._unit(number.behind) or self._word(number.behind) == argument.unit.casefold()
            behind = number.behind + (1 if has_unit and number.behind < len(self._words) else 0)
            self._keep(argument, _plain(number.value), range(number.first, behind))

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

    def _word(self, at: int) -> str:
        return self._words[at].word if at < len(self._words) else ""

    def _unit(self, at: int) -> str:
        """Return the sign of the unit that stands at a place, "" for none."""
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


_SIGNS: Mapping[str, Sequence[str]] = {"%": ("%",), "°": ("°", "℃", "℉")}


def _fits(argument: Argument, value: float) -> bool:
    if (argument.whole or argument.kind is ArgumentKind.IDENTIFIER) and not value.is_integer():
        return False
    return (argument.minimum is None or value >= argument.minimum) and (
        argument.maximum is None or value <= argument.maximum
    )


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _spots(one: Named[Any]) -> range:
    return range(one.first, one.behind)


def _renamed[S, T](one: Named[S], value: T) -> Named[T]:
    return Named(value, one.first, one.behind)


def _moment(value: datetime) -> dict[Form, Any]:
    return {
        Form.PYTHON: value, Form.JSON: value.isoformat(timespec="seconds"), Form.SELECTOR: f"{value:%Y-%m-%d %H:%M:%S}",
    }  # fmt: skip


def _date(value: date) -> dict[Form, Any]:
    return {Form.PYTHON: value, Form.JSON: value.isoformat(), Form.SELECTOR: value.isoformat()}


def _time(value: time) -> dict[Form, Any]:
    return {Form.PYTHON: value, Form.JSON: value.isoformat(), Form.SELECTOR: value.isoformat()}


def _duration(value: timedelta) -> dict[Form, Any]:
    seconds = int(value.total_seconds())
    hours, minutes, left = seconds // 3600, seconds // 60 % 60, seconds % 60
    parts = {"H": hours, "M": minutes, "S": left}
    iso = "PT" + ("".join(f"{number}{sign}" for sign, number in parts.items() if number) or "0S")
    return {
        Form.PYTHON: value, Form.JSON: iso, Form.SELECTOR: {"hours": hours, "minutes": minutes, "seconds": left},
    }  # fmt: skip


def _phrase(name: str) -> str:
    return " ".join(word.word for word in words_in(name))


@lru_cache(maxsize=16)
def _rooms(code: str) -> frozenset[str]:
    """Return what rooms are called in a language; one such name is another room than the next."""
    return frozenset(_phrase(name) for names in data_of(code).rooms.values() for name in names)
