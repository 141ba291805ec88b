"""Rows of a file as dataclasses: each field is written under its own name, and read by its type."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, cast, get_args, get_origin, get_type_hints

from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

LONGEST = 10_000
"""Characters of a text in a row, if its kind says nothing else; what is longer was not written by us."""


def as_row(item: Any) -> JsonObjectType:
    """Return the fields of a dataclass, times as ISO strings; a dataclass in a tuple is written by its `as_dict`."""
    return {field.name: _plain(getattr(item, field.name)) for field in fields(item)}


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
        case tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return dict(value)
    return value if value is None or isinstance(value, (str, int, float)) else value.as_dict()


def from_row[Row](kind: type[Row], data: Mapping[str, Any], *, longest: int = LONGEST, **read: Any) -> Row:
    """Return the dataclass that a row is; a field with a default may be missing, those in `read` were read already.

    Times have to have a zone, texts at most `longest` characters. Raises `KeyError`, `TypeError` or `ValueError` for invalid data.
    """
    if not isinstance(data, dict) or not data:
        raise TypeError(type(data).__name__)
    given = dict(read)
    for name, hint, has_default in _fields_of(cast(Hashable, kind)):
        if name not in given and (name in data or not has_default):
            given[name] = _valued(hint, data[name], longest)
    return kind(**given)


@cache
def _fields_of(kind: Hashable) -> Sequence[tuple[str, Any, bool]]:
    assert isinstance(kind, type)
    assert is_dataclass(kind)
    hints = get_type_hints(kind)
    return [
        (item.name, hints[item.name], item.default is not MISSING or item.default_factory is not MISSING)
        for item in fields(kind)
    ]


def _valued(hint: Any, value: Any, longest: int) -> Any:
    if type(None) in (options := get_args(hint)):
        return None if value is None else _valued(options[0], value, longest)
    kind = get_origin(hint) or hint
    if issubclass(kind, datetime):
        if (moment := dt_util.parse_datetime(value, raise_on_error=True)).tzinfo is None:
            raise ValueError(value)
        return moment
    if kind is tuple:
        if not isinstance(value, list):
            raise TypeError(type(value).__name__)
        return tuple(_valued(options[0], item, longest) for item in value)
    if issubclass(kind, Enum):
        return kind(value)
    if not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(type(value).__name__)
    if isinstance(value, str) and len(value) > longest:
        raise ValueError(len(value))
    return value
