"""How long what filters, tests and methods make of a value of a template may become."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import re

from .template_patterns import MAX_PATTERN, is_slow
from .template_values import (
    FLOAT,
    TOO_LONG,
    UNKNOWN_REPEATS,
    GrowsTooMuch,
    TemplateValue,
    as_text,
    items_of,
    of_constant,
)

_USUAL_CHARACTERS = 100.0  # of what is searched with a pattern
_MOST_DIGITS = 100.0

PATTERN = (
    f"a regular expression that may take long: write it out, at most {MAX_PATTERN} characters, with nothing repeated and no | inside of "
    "what is repeated, and no backreference"
)
FORMAT = "a format that is worked out or fills up: write it out"

_PATTERNS: Mapping[str, bool] = {
    "match": True, "regex_match": True, "search": False, "regex_search": False, "regex_replace": False, "regex_findall": False,
    "regex_findall_index": False,
}  # fmt: skip
"""Filters and tests with a regular expression; whether it begins where the text begins."""
_FORMATS = {
    "%": 0, "format": 0, "format_map": 0, "pack": 1, "strftime": 1, "timestamp_custom": 1, "unpack": 1,
}  # fmt: skip
"""What takes a format, and which argument it is, the value itself being the first."""
_FILLS = re.compile(r"%[^a-zA-Z%]*(\d{4,}|\*)|\{[^{}]*(\d{4,}|\{)")
_FILLS_BYTES = re.compile(r"\d{4,}")
_TO_NUMBERS = frozenset(
    {
        "abs", "as_timestamp", "average", "bool", "count", "float", "has_value", "int", "is_number", "is_state", "is_state_attr", "length",
        "median", "ord", "regex_match", "regex_search", "round", "bitwise_and", "bitwise_or", "bitwise_xor", "distance", "wordcount",
    }
)  # fmt: skip
_SAME = frozenset(
    {
        "attr", "base64_decode", "bool", "capitalize", "default", "d", "dictsort", "distinct", "first", "flatten", "from_json", "iif", "items",
        "keys", "last", "list", "lower", "lstrip", "map", "max", "min", "regex_findall", "regex_findall_index", "reject", "rejectattr",
        "removeprefix", "removesuffix", "reverse", "rsplit", "rstrip", "safe", "select", "selectattr", "set", "shuffle", "sort", "split",
        "splitlines", "statistical_mode", "strip", "striptags", "sum", "title", "trim", "tuple", "unique", "upper", "values", "get",
        "partition", "rpartition", "swapcase", "casefold", "slugify", "random", "md5", "sha1", "sha256", "sha512", "as_datetime", "as_local", "as_timedelta",
        "timestamp_local", "timestamp_utc", "ordinal", "contains", "typeof", "multiply", "add",
    }
)  # fmt: skip
_TO_LISTS = frozenset({"list", "set", "tuple", "sort", "unique", "reverse", "shuffle", "split", "items", "splitlines"})
_TO_TEXTS = frozenset({"lower", "upper", "trim", "title", "capitalize", "strip", "slugify"})
_TIMES: Mapping[str, float] = {
    "base64_encode": 1.4, "urlencode": 12.0, "tojson": 6.0, "to_json": 6.0, "escape": 6.0, "e": 6.0, "forceescape": 6.0, "urlize": 20.0,
    "pprint": 8.0, "encode": 4.0, "hex": 2.0, "groupby": 2.0, "xmlattr": 8.0, "filesizeformat": 1.0,
}  # fmt: skip
_OTHERS = 4.0  # of what is not known


def made(
    name: str, value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]
) -> TemplateValue:
    """Return what a filter, a test or a method makes of a value, by what it is given by place and by name. Raises `GrowsTooMuch`."""
    every = [*given, *named.values()]
    is_live = value.is_live or any(one.is_live for one in every)
    if name in _PATTERNS:
        _check_pattern(name, value, named.get("find", given[0] if given else None))
    if name in _FORMATS:
        return formatted(name, value, [*given, *named.values()])
    if name == "round" and _is_too_exact(_argument(given, named, 0, "precision")):
        raise GrowsTooMuch(TOO_LONG)
    if name in _TO_NUMBERS:
        return _number_of(name, value, is_live=is_live)
    largest = max((one.number or 0.0 for one in every), default=0.0)
    beside = sum((one.size for one in every), 0.0)
    unknown = any(one.kind in ("number", "float") and one.number is None for one in every)
    if (maker := _MAKERS.get(name)) is not None:
        size = maker(value, [*given], named)
    elif name in _SAME:
        size = value.size + beside
    else:
        size = value.size * _TIMES.get(name, _OTHERS) + beside + 20
        if name not in _TIMES:
            size += largest + (UNKNOWN_REPEATS if unknown else 0.0)
    kind = "list" if name in _TO_LISTS else "text" if name in _TO_TEXTS or name not in _SAME else ""
    item = 1.0 if kind == "list" and value.kind == "text" else max(value.item, size if kind != "list" else 0.0)
    return TemplateValue(size, kind, value.number if kind == "list" else None, None, items_of(value), item, is_live)


def _check_pattern(name: str, value: TemplateValue, pattern: TemplateValue | None) -> None:
    texts = None if pattern is None else pattern.texts
    size = min(value.size, _USUAL_CHARACTERS) if value.is_live else value.size
    if texts is None or any(is_slow(one, size, is_anchored=_PATTERNS[name]) for one in texts):
        raise GrowsTooMuch(PATTERN)


def formatted(name: str, value: TemplateValue, given: Sequence[TemplateValue]) -> TemplateValue:
    """Return what comes of a format. Raises `GrowsTooMuch`."""
    every = [value, *given]
    place = _FORMATS[name]
    form = every[place] if place < len(every) else of_constant("")
    if form.texts is None and (form.kind == "text" or not form.is_live):
        raise GrowsTooMuch(FORMAT)
    fills = _FILLS_BYTES if name in ("pack", "unpack") else _FILLS
    if any(map(fills.search, form.texts or ())):
        raise GrowsTooMuch(FORMAT)
    longest = max((one.size for one in given), default=0.0)
    size = form.size + value.size + (form.size / 2) * longest + 1000 * len(form.texts or ())
    return TemplateValue(size, "text", is_live=any(one.is_live for one in every))


def _number_of(name: str, value: TemplateValue, *, is_live: bool) -> TemplateValue:
    """Return a number that is made of a value."""
    if name in ("count", "length", "wordcount"):
        return TemplateValue(8.0, "number", max(value.size, value.items), is_live=is_live)
    number = value.number if value.kind in ("number", "float") else None
    if value.texts and all(text.strip().isdecimal() and len(text) < 18 for text in value.texts):
        number = max(float(text) for text in value.texts)
    if name in ("float", "average", "median", "as_timestamp"):
        return replace(FLOAT, number=number, is_live=is_live)
    return TemplateValue(min(value.size, 4300.0) + 1, "number", number, is_live=is_live)


def _is_too_exact(digits: TemplateValue | None) -> bool:
    """Return whether a number is rounded to so many digits that working with them takes long."""
    if digits is None or (digits.number is None and digits.is_live):
        return False
    return digits.number is None or digits.number > _MOST_DIGITS


type _Maker = Callable[[TemplateValue, Sequence[TemplateValue], Mapping[str, TemplateValue]], float]


def _argument(
    given: Sequence[TemplateValue], named: Mapping[str, TemplateValue], place: int, *names: str
) -> TemplateValue | None:
    return next((named[name] for name in names if name in named), given[place] if place < len(given) else None)


def _replaced(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    old, new = _argument(given, named, 0, "s", "old"), _argument(given, named, 1, "new")
    length = as_text(new) if new is not None else 0.0
    least = min(map(len, old.texts)) if old is not None and old.texts else 0
    return (value.size + 1) * (length + 1) if least == 0 else max(value.size, value.size / least * length)


def _replaced_by_pattern(
    value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]
) -> float:
    new = _argument(given, named, 1, "replace")
    return (value.size + 1) * (1 + (as_text(new) if new is not None else 0.0))


def _joined(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    between = _argument(given, named, 0, "d")
    return as_text(value) + items_of(value) * (as_text(between) if between is not None else 0.0)


def _indented(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    width = _argument(given, named, 0, "width")
    return value.size * (1 + (4.0 if width is None else _width(width)))


def _width(value: TemplateValue) -> float:
    if value.kind == "text":
        return value.size
    return UNKNOWN_REPEATS if value.number is None else value.number


def _filled(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    every = [*given, *named.values()]
    return value.size + sum((max(_width(one), one.size) for one in every), 80.0)


def _wrapped(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    between = _argument(given, named, 2, "wrapstring")
    return value.size * (2 + (between.size if between is not None else 0.0))


def _grouped(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    count, fill = _argument(given, named, 0, "linecount", "slices"), _argument(given, named, 1, "fill_with")
    return value.size + (_width(count) if count is not None else 0.0) * (1 + (fill.size if fill is not None else 0.0))


def _spread(value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]) -> float:
    width = _argument(given, named, 0, "tabsize")
    return value.size * (8.0 if width is None else max(1.0, _width(width)))


def _shown(value: TemplateValue, _given: Sequence[TemplateValue], _named: Mapping[str, TemplateValue]) -> float:
    return as_text(value)


_MAKERS: Mapping[str, _Maker] = {
    "replace": _replaced, "regex_replace": _replaced_by_pattern, "join": _joined, "indent": _indented, "center": _filled, "ljust": _filled,
    "rjust": _filled, "zfill": _filled, "truncate": _filled, "wordwrap": _wrapped, "batch": _grouped, "slice": _grouped,
    "expandtabs": _spread, "to_bytes": _filled, "string": _shown,
}  # fmt: skip
"""What filters and methods make of a length."""
