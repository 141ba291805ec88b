"""What Home Assistant says of an invalid automation, with the value that it means and what would be right."""

from collections.abc import Collection, Iterator, Mapping, Sequence
import re
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import condition, trigger
import probatio

from ..support.quoting import one_line
from .problems import near_words, nearest, quoted
from .references import CONDITION_KINDS, TRIGGER_KINDS

MAX_ERROR = 600  # characters of what Home Assistant says
MAX_VALUE = 80
MAX_ERRORS = 5
MAX_PLACES = 2  # where a value may stand that an error means
MAX_KINDS = 20
_UNKNOWN_KIND = re.compile(r"Invalid (trigger|condition) [\"']([^\"']{1,100})[\"'] specified")
_HINTS: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r"Expected HH:MM|Invalid time specified"),
        "A time is '07:00:00', from '00:00:00' to '23:59:59'.",
    ),
    (
        re.compile(r"should be format 'HH:MM'"),
        "Write '00:05:00', '-00:05:00' for earlier, or {\"minutes\": 5}.",
    ),
    (re.compile(r"invalid time_pattern|between 0 and (?:23|59)"), "Write a number or '/10' for each tenth."),
    (
        re.compile(r"Unable to determine action"),
        "An action has a key: action, delay, wait_for_trigger, wait_template, if, choose, repeat, parallel, sequence, variables, stop.",
    ),
    (re.compile(r"valid entity ID"), "An entity id is like 'light.kitchen'."),
)
_SETTINGS = ("options",)
"""Where Home Assistant moves the fields of a trigger or a condition before it looks at them."""


async def async_told(hass: HomeAssistant, written: Mapping[str, Any], err: Exception) -> str:
    """Return an error of Home Assistant about an automation as a sentence that it can be mended by."""
    found = err.errors if isinstance(err, probatio.MultipleInvalid) else [err]
    told = [await _async_told(hass, written, one) for one in found[:MAX_ERRORS]]
    return " ".join(dict.fromkeys(told))[: 2 * MAX_ERROR]


async def _async_told(hass: HomeAssistant, written: Mapping[str, Any], err: Exception) -> str:
    text = one_line(str(err), MAX_ERROR).rstrip(".")
    path = [*err.path] if isinstance(err, probatio.Invalid) else []
    is_secret = isinstance(err, probatio.Invalid) and getattr(err, "secret", False)
    said = [f"{text}."]
    if path and not is_secret and (places := [*_places(written, path, str(err))]):
        said.append(" ".join(f"{place} is {_shown(value)}." for place, value in places[:MAX_PLACES]))
    if kind := _UNKNOWN_KIND.search(str(err)):
        said.append(await _async_kinds(hass, kind[1], kind[2]))
    said += [hint for pattern, hint in _HINTS if pattern.search(str(err))]
    return " ".join(said)


def _shown(value: object) -> str:
    return repr(one_line(value if isinstance(value, str) else repr(value), MAX_VALUE))


def _places(written: Mapping[str, Any], path: Sequence[Any], text: str) -> Iterator[tuple[str, object]]:
    """Yield where the value of an error stands: its path begins at the trigger or the condition that it is in."""
    if (found := _at(written, path)) is not None:
        yield _path(path), found[0]
        return
    inner = path[1:] if path[0] in _SETTINGS else path
    found_in = [
        (_path([*begin, *tail]), found[0])
        for begin, part in _parts(written, [])
        if (found := _at(part, path) or _at(part, inner)) is not None
        for tail in (path if _at(part, path) else inner,)
    ]
    meant = [row for row in found_in if isinstance(row[1], str) and row[1].lstrip("+-") in text]
    yield from meant or found_in


def _at(part: object, path: Sequence[Any]) -> tuple[object] | None:
    """Return the value at a path, None if there is none."""
    for key in path:
        key = getattr(key, "schema", key)
        match part:
            case Mapping() if key in part:
                part = part[key]
            case list() if isinstance(key, int) and key < len(part):
                part = part[key]
            case str() | int() | float() if key == 0:
                pass  # one value where Home Assistant takes a list
            case _:
                return None
    return (part,)


def _parts(part: object, path: list[Any]) -> Iterator[tuple[list[Any], Mapping[str, Any]]]:
    match part:
        case Mapping():
            if path:
                yield path, part
            for key, value in part.items():
                yield from _parts(value, [*path, key])
        case list():
            for number, value in enumerate(part):
                yield from _parts(value, [*path, number])


def _path(path: Sequence[Any]) -> str:
    told = "".join(f"[{key}]" if isinstance(key, int) else f".{getattr(key, 'schema', key)}" for key in path)
    return one_line(told.removeprefix("."), MAX_VALUE)


async def _async_kinds(hass: HomeAssistant, part: str, kind: str) -> str:
    """Return which kinds there are instead of one that there is not."""
    own: Collection[str] = TRIGGER_KINDS
    described: Collection[str] = ()
    try:
        if part == "trigger":
            described = await trigger.async_get_all_descriptions(hass)
        else:
            own, described = CONDITION_KINDS, await condition.async_get_all_descriptions(hass)
    except HomeAssistantError:
        described = ()
    near = near_words(nearest(kind, {*own, *described})).strip()
    there_is = f"There is no {part} {quoted(kind)}."
    return f"{there_is} {near or f'There are: {", ".join(sorted(own)[:MAX_KINDS])}.'}"
