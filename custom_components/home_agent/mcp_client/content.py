"""What comes from a server, made fit for a model: texts without control characters, schemas and results of a bounded size."""

from collections.abc import Iterable
import re
from typing import Any

from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonObjectType, JsonValueType, json_loads

from ..client.names import tool_name_from
from ..client.wire import dump

MAX_RESULT = 16_000  # characters
MAX_ERROR = 1000
MAX_DESCRIPTION = 1000
MAX_SCHEMA = 8000
MAX_DEPTH = 12

_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)
"""Besides the controls proper what is not seen and turns text around: a person would read something else than a model."""


def cleaned(text: str, limit: int) -> str:
    """Return a text without control characters, cut where it is too long."""
    text = _CONTROL.sub("", text)
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"


def name_from(text: str) -> str:
    """Return a name that models take, empty when nothing is left of it. Other scripts are written in Latin letters."""
    return tool_name_from(text).strip("_")


def schema_from(schema: object) -> JsonObjectType | None:
    """Return the JSON schema of an object; None for anything else, and for what is too large or too deep to be told."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object" or _depth(schema) > MAX_DEPTH:
        return None
    text = _CONTROL.sub("", dump(schema).decode())
    if len(text) > MAX_SCHEMA or not isinstance(schema.get("properties", {}), dict):
        return None
    try:
        plain = json_loads(text)
    except JSON_DECODE_EXCEPTIONS:  # numbers that are none
        return None
    assert isinstance(plain, dict)
    return {**plain, "type": "object", "properties": plain.get("properties") or {}}


def wrong_arguments(schema: JsonObjectType, args: dict[str, Any]) -> str | None:
    """Return what is plainly wrong with arguments; the server judges the rest."""
    properties, required = schema["properties"], schema.get("required")
    assert isinstance(properties, dict)
    names = [key for key in required if isinstance(key, str)] if isinstance(required, list) else []
    missing = [key for key in names if key not in args]
    if missing:
        return f"missing: {', '.join(missing)}"
    unknown = [key for key in args if key not in properties] if schema.get("additionalProperties") is False else []
    if unknown:
        return f"unknown: {', '.join(unknown)}; there are: {', '.join(properties) or 'none'}"
    if len(dump(args)) > MAX_RESULT:
        return "too long"
    return None


def text_of(content: Iterable[Any], structured: object) -> str:
    """Return what a result says: its texts, and a word for whatever is none."""
    parts = [part for block in content if (part := _part(block))]
    if not parts and structured is not None:
        parts = [dump(structured).decode()]
    return "\n".join(parts)


def answer_of(text: str) -> JsonValueType:
    """Return a text as what it says when it is JSON, for templates and paths; freed from control characters."""
    if text.lstrip().startswith(("{", "[")):
        try:
            value = json_loads(text)
        except JSON_DECODE_EXCEPTIONS:
            pass  # it only looks like JSON
        else:
            return _clean(value) if _depth(value) <= MAX_DEPTH else {"note": "The answer is nested too deeply."}
    return _CONTROL.sub("", text)


def _clean(value: JsonValueType) -> JsonValueType:
    match value:
        case str():
            return _CONTROL.sub("", value)
        case dict():
            return {_CONTROL.sub("", key): _clean(item) for key, item in value.items()}
        case list():
            return [_clean(item) for item in value]
    return value


def result_of(text: str) -> JsonValueType:
    """Return the result of a call."""
    if len(text) <= MAX_RESULT:
        return _CONTROL.sub("", text)
    return {"text": _CONTROL.sub("", text[:MAX_RESULT]), "note": f"Cut off: {MAX_RESULT} of {len(text)} characters."}


def _part(block: Any) -> str:
    """Return a block of content as text."""
    resource = getattr(block, "resource", None)
    for source in (block, resource):
        if isinstance(text := getattr(source, "text", None), str):
            return text
    kind = str(getattr(block, "type", "data"))
    data = getattr(block, "data", None) or getattr(resource, "blob", None) or ""
    mime = next((mime for part in (block, resource) if (mime := _mime(part))), "?")
    if data:
        return f"[{kind}, {mime}, {len(data) * 3 // 4} bytes: not shown]"
    return f"[{kind}: {getattr(block, 'uri', None) or '?'}]"


def _mime(part: Any) -> str:
    return str(getattr(part, "mime_type", None) or getattr(part, "mimeType", None) or "")


def _depth(value: object) -> int:
    """Return how deep a value goes, as far as it matters."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        ]
    return depth
