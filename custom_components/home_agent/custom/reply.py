"""What comes back from outside, made into the result of a tool: readable, bounded, without control characters."""

import codecs
from collections.abc import Iterator
import re

from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonValueType, json_loads

from ..client.wire import dump
from ..errors import CustomToolError
from ..outside.http import Response
from ..safety.tool import ToolRefusal

MAX_RESULT = 16_000  # characters that a model is told of one result
MAX_DEPTH = 50  # of lists and objects
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TEXT = re.compile(r"text/.*|application/(.*[+.])?(json|xml|yaml|javascript|x-www-form-urlencoded|x-ndjson|csv)")
_NO_TEXTS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings that no server writes its answers in; of names, whose time grows with the square of their length."""
_UNKNOWN = "application/octet-stream"  # what aiohttp says when the server says nothing
_STEP = re.compile(r"""\.?([\w-]+|\*)|\[(-?\d+|\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")

type Path = tuple[str | int, ...]
"""The steps of a `response_path`; `*` is each item."""


def content_of(host: str, response: Response) -> JsonValueType:
    """Return an answer's JSON, or its text. Raises `ToolRefusal` for what is neither."""
    if not response.body.strip():
        return None
    text = _decoded(response)
    if text is None or not (_TEXT.fullmatch(response.content_type) or response.content_type == _UNKNOWN):
        raise ToolRefusal(f"{host} answered with something that is not text ({_type_of(response)}).")
    if response.content_type.endswith("json") or text.lstrip().startswith(("{", "[")):
        try:
            return readable(json_loads(text))
        except JSON_DECODE_EXCEPTIONS:
            pass  # it only looks like JSON: a text like any other
    return readable(text)


def readable(value: JsonValueType, depth: int = MAX_DEPTH) -> JsonValueType:
    """Return JSON without control characters. Raises `ToolRefusal` when it is nested without end."""
    if not depth:
        raise ToolRefusal("The answer is nested too deeply.")
    match value:
        case str():
            return _CONTROL.sub("", value)
        case dict():
            return {_CONTROL.sub("", key): readable(item, depth - 1) for key, item in value.items()}
        case list():
            return [readable(item, depth - 1) for item in value]
    return value


def bounded(value: JsonValueType) -> JsonValueType:
    """Return a result as it is, or the beginning of its text when it is too long for a model."""
    text = value if isinstance(value, str) else dump(value).decode()
    if len(text) <= MAX_RESULT:
        return value
    return {"beginning": text[:MAX_RESULT], "note": f"The result was cut: it has {len(text)} characters."}


def path_from_text(text: str, at: tuple[str | int, ...]) -> Path:
    """Read `$.items[0].name`. Raises `CustomToolError`."""
    return tuple(_steps(text, at))


def at_path(value: JsonValueType, path: Path) -> JsonValueType:
    """Return what is at a path; null when there is nothing."""
    for index, step in enumerate(path):
        if step == "*":
            items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            return [at_path(item, path[index + 1 :]) for item in items]
        if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        elif isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        else:
            return None
    return value


def _steps(text: str, at: tuple[str | int, ...]) -> Iterator[str | int]:
    position = 1 if text.startswith("$") else 0
    while position < len(text):
        if not (step := _STEP.match(text, position)):
            raise CustomToolError("custom_tool_response_path", at, detail=text)
        position = step.end()
        name, index, *quoted = step.groups()
        if name is not None:
            yield int(name) if name.isdecimal() else name
        elif index is not None:
            yield index if index == "*" else int(index)
        else:
            yield next(item for item in quoted if item is not None)


def _decoded(response: Response) -> str | None:
    """Return the text of an answer, None when it is none."""
    try:
        text = response.body.decode(_charset(response.charset) or "utf-8-sig")
    except UnicodeDecodeError, LookupError:
        if response.charset is not None:
            return None
        text = response.body.decode("latin-1")
        return None if _CONTROL.search(text) else text
    return None if "\x00" in text else text.removeprefix("\ufeff")


def _charset(name: str | None) -> str | None:
    """Return the name of an encoding. Raises `LookupError` for one that is none of texts, or takes minutes to read."""
    if name is not None and (known := codecs.lookup(name).name) in _NO_TEXTS:
        raise LookupError(known)
    return name


def _type_of(response: Response) -> str:
    """Return the content type as far as it is one: it is text from outside."""
    return response.content_type if re.fullmatch(r"[\w.+-]{1,40}/[\w.+-]{1,60}", response.content_type) else "?"
