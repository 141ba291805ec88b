"""Arguments as they are declared: by a JSON schema, by selectors of Home Assistant, or directly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
import re
from typing import Any

MAX_PATTERN = 100  # characters
_MOST_REPEATS = 3  # in a pattern; more take time that grows with a power of the length of a word
_STARTS = frozenset({"start", "from", "since", "begin", "after"})
_ENDS = frozenset({"end", "to", "until", "before"})
_REPEAT = re.compile(r"[*+]|\{\d*,?\d*\}")


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
    SELECTOR = "selector"
    """As Home Assistant's selectors do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A declared argument."""

    name: str
    kind: ArgumentKind
    required: bool = False
    several: bool = False
    domains: frozenset[str] = frozenset()  # of entities; empty: any
    classes: frozenset[str] = frozenset()  # device classes of entities; empty: any
    options: Mapping[str, Any] = field(default_factory=dict)  # what is said, to the value that it is
    unit: str = ""  # of a number, as Home Assistant writes it
    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False  # whether a number has no decimals
    pattern: re.Pattern[str] | None = None  # of an identifier; one without is a number
    labels: tuple[str, ...] = ()  # what else it is called; its name is always known
    form: Form = Form.PYTHON
    free: bool = False  # whether a text may be any words: a field for words
    ahead: bool = False  # whether a day without a year, or a weekday, is the next one rather than the last


_FORMATS: Mapping[str, ArgumentKind] = {
    "date-time": ArgumentKind.DATETIME, "date": ArgumentKind.DATE, "time": ArgumentKind.TIME,
    "duration": ArgumentKind.DURATION, "entity_id": ArgumentKind.ENTITY,
}  # fmt: skip
_PLACES = {
    frozenset({"area", "id"}): ArgumentKind.AREA,
    **{frozenset({name, more}): ArgumentKind.AREA_NAME for name in ("area", "room") for more in (name, "name")},
    **{frozenset({"floor", more}): ArgumentKind.FLOOR_NAME for more in ("floor", "name")},
}
"""Kinds by the words of an argument's name."""


def arguments_of_schema(schema: Mapping[str, Any]) -> tuple[Argument, ...]:
    """Return the arguments that a JSON schema of an object declares. What it says otherwise is never found in a text."""
    properties = schema.get("properties")
    rows = properties.items() if isinstance(properties, Mapping) else ()
    required = schema.get("required")
    needed = set(required) if isinstance(required, (list, tuple)) else set[str]()
    return _paired([_of_schema(key, row, required=key in needed) for key, row in rows if isinstance(row, Mapping)])


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
        options = {_spoken(value): value for value in listed if value is not None}
        known = {"kind": ArgumentKind.OPTION, "options": options}
    elif kind in ("number", "integer"):
        is_id = kind == "integer" and not words.isdisjoint({"id", "ids", "number", "no"}) and "unit" not in each
        known = {"whole": kind == "integer", "unit": str(each.get("unit") or ""), **_number(each, "minimum", "maximum")}
        known |= {"kind": ArgumentKind.IDENTIFIER} if is_id else {}
    elif kind == "string":
        if (of_format := _FORMATS.get(str(format_))) or (of_format := _PLACES.get(frozenset(words))):
            known = {"kind": of_format}
        elif "entity" in words or "camera" in words:
            domains = frozenset[str]() if "entity" in words else frozenset({"camera"})
            known = {"kind": ArgumentKind.ENTITY, "domains": domains}
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
            whole = isinstance(step := options.get("step", 1), (int, float)) and float(step).is_integer()
            return {
                "unit": str(options.get("unit_of_measurement") or ""),
                "whole": whole,
                **_number(options, "min", "max"),
            }
        case "color_temp" if options.get("unit") == "kelvin":
            return {"unit": "K", "whole": True, **_number(options, "min", "max")}
        case "select":
            listed = options.get("options") or ()
            rows = [(row.get("label"), row.get("value")) if isinstance(row, Mapping) else (row, row) for row in listed]
            spoken = {_spoken(said): value for said, value in rows}
            return {"kind": ArgumentKind.OPTION, "several": several, "options": spoken}
        case "time" | "date" | "datetime" | "duration":
            return {"kind": ArgumentKind(kind)}
        case "text":
            return {"kind": ArgumentKind.TEXT, "free": not several}
    return {"kind": ArgumentKind.TEXT}


def _number(row: Mapping[str, Any], *bounds: str) -> dict[str, Any]:
    values = (row.get(key) for key in bounds)
    least, most = (
        float(one) if isinstance(one, (int, float)) and not isinstance(one, bool) else None for one in values
    )
    return {"kind": ArgumentKind.NUMBER, "minimum": least, "maximum": most}


def _entities(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return which entities a selector takes; what asks for more than a domain and a device class cannot be told from here."""
    filters = options.get("filter")
    filters = [filters] if isinstance(filters, Mapping) else list(filters or ())
    direct = {key: value for key, value in options.items() if key not in ("multiple", "filter", "reorder")}
    filters += [direct] if direct else []
    if len(filters) > 1 or any(set(row) - {"domain", "device_class"} for row in filters):
        return {"kind": ArgumentKind.TEXT}
    row = filters[0] if filters else {}
    domains, classes = (frozenset(_listed(row.get(key))) for key in ("domain", "device_class"))
    return {"kind": ArgumentKind.ENTITY, "domains": domains, "classes": classes}


def _listed(value: object) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [value] if isinstance(value, str) else []


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
        replace(one, kind=kinds[one.name], several=False, ahead=False, whole=one.kind is ArgumentKind.DATE)
        if one.name in kinds
        else one
        for one in arguments
    )


@lru_cache(maxsize=256)
def _safe(pattern: object) -> re.Pattern[str] | None:
    """Return a pattern that others wrote; None if it has repetitions in repetitions, or many: matching it may take long."""
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN or re.search(r"\(\?[^:]|\\[1-9]", pattern):
        return None
    bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern)
    if len(_REPEAT.findall(bare)) > _MOST_REPEATS or re.search(r"\)(?:[*+]|\{)", bare):
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return None
