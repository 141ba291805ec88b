"""Makes names, schemas and results of foreign tools fit for a model: valid, bounded, without control characters."""

from collections.abc import Container, Iterator, Mapping
import re
from typing import Any

from homeassistant.const import Platform
from homeassistant.helpers import llm
from homeassistant.helpers.intent import IntentResponseType
from homeassistant.helpers.json import json_dumps
from homeassistant.util import slugify
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonObjectType, JsonValueType, json_loads, json_loads_object

from ..home.domains import DOMAINS
from ..support.encoding import dump, inert
from ..support.errors import ToolRefusal

MAX_NAME = 64  # characters
MAX_ALIKE = 20  # tools with the same name
MAX_RESULT = 16_000  # characters of one result for a model
MAX_ERROR = 1000  # characters
MAX_DEPTH = 50  # of lists and objects in a result
MAX_SCHEMA = 8000  # characters
MAX_SCHEMA_DEPTH = 12
MAX_COUNT = 500  # repeats in a grammar; servers refuse thousands
MAX_BOUND = 2**53
_NO_GRAMMAR = frozenset(
    {
        "$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$schema", "contains", "dependencies", "dependentRequired",
        "dependentSchemas", "else", "if", "maxContains", "maxProperties", "minContains", "minProperties", "multipleOf", "not",
        "pattern", "patternProperties", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip
"""Keywords that llama.cpp, and others that turn a schema into a grammar, refuse or only take in part."""
_COUNTS = frozenset({"maxItems", "maxLength", "minItems", "minLength"})
_BOUNDS = frozenset({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"})
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_SCHEMAS = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPPINGS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
"""Keywords of JSON Schema with a schema, with a list of schemas, and with schemas by name."""

RESERVED = frozenset({"query_external_llm", "all", "none"})
"""Names of our own tools, besides those with `ha_`, and words with a meaning in lists of tools."""
_KINDS = frozenset({*DOMAINS, *Platform})
"""Domains of entities: in the owner's lists such a word means a domain, not a tool."""
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_SEPARATOR = re.compile(r"__+")
"""Separates the integration from the name in Home Assistant's own tools."""
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters, and invisible ones or those that reverse text, with which a person reads something else than a model.
The joiners of Persian, Hindi and emoji stay."""
_NOT_FOR_MODELS = ("card", "language", "speech", "speech_slots", "reprompt")
"""Parts of an intent's response for users, which are empty or useless for models."""


def tool_name_from(text: str) -> str:
    """Return a valid name of at most 64 characters, other scripts in Latin letters; "" or `_` if nothing is left."""
    if any(sign.isalnum() and not sign.isascii() for sign in text):
        text = slugify(text)
    return _NO_NAME.sub("_", text)[:MAX_NAME]


def free_name(name: str, used: Container[str]) -> str:
    """Return the name, with a number if it is used; "" if no number is free."""
    numbered = (f"{name[: MAX_NAME - 3]}_{number}" for number in range(2, MAX_ALIKE + 1))
    return next((item for item in (name, *numbered) if item not in used), "") if name else ""


def is_reserved(name: str) -> bool:
    """Return whether a name is reserved for our own tools."""
    return name in RESERVED or name.startswith("ha_")


def means_more(name: str) -> bool:
    """Return whether a name means more than a tool in the owner's lists; a server must not choose it."""
    return is_reserved(name) or name in _KINDS


def remote_name_from(name: str) -> str:
    """Return the name of a server's tool, never one of Home Assistant's own, which may need no yes; or ""."""
    return _SEPARATOR.sub("_", tool_name_from(name)).strip("_")


def schema_from(schema: object) -> JsonObjectType | None:
    """Return the JSON schema of an object; None if it is another one, invalid, too large or too deep."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object" or _depth(schema) > MAX_SCHEMA_DEPTH:
        return None
    text = _CONTROL.sub("", dump(schema).decode())
    if len(text) > MAX_SCHEMA or not isinstance(schema.get("properties", {}), dict):
        return None
    try:
        plain = json_loads(text)
    except JSON_DECODE_EXCEPTIONS:  # such as NaN
        return None
    assert isinstance(plain, dict)
    whole: JsonObjectType = {**plain, "type": "object", "properties": plain.get("properties") or {}}
    if not _is_valid(whole):
        return None
    repaired = _repaired(whole, whole)
    assert isinstance(repaired, dict)
    return repaired if inert(told := dump(repaired).decode()) == told else None


def _repaired(schema: JsonValueType, root: JsonObjectType) -> JsonValueType:
    """Return a valid schema without what a server of models makes no grammar of, which fails the request with all of its tools.

    The tool's own server checks what is left out here.
    """
    if not isinstance(schema, dict):
        return {}
    kept: JsonObjectType = {key: item for key, item in schema.items() if key not in _NO_GRAMMAR}
    if "$ref" in kept and not _leads_to(str(kept["$ref"]), root):
        del kept["$ref"]
    _drop_odd_numbers(kept)
    for key in ("description", "title"):
        if isinstance(text := kept.get(key), str):
            kept[key] = inert(text)
    if "items" in kept:
        kept["items"] = _repaired(kept["items"], root)
    if not isinstance(kept.get("additionalProperties", True), bool):
        kept["additionalProperties"] = _repaired(kept["additionalProperties"], root)
    for key in (key for key in _LISTS if key in kept):
        listed = kept[key]
        kept[key] = [_repaired(item, root) for item in listed] if isinstance(listed, list) else []
    for key in (key for key in _MAPPINGS if key in kept):
        named = kept[key]
        kept[key] = {name: _repaired(item, root) for name, item in named.items()} if isinstance(named, dict) else {}
    return kept


def _drop_odd_numbers(schema: JsonObjectType) -> None:
    """Remove lengths and bounds that no grammar has, or that leave no value."""
    for key in _COUNTS & schema.keys():
        if not isinstance(count := schema[key], int) or isinstance(count, bool) or not 0 <= count <= MAX_COUNT:
            del schema[key]
    for key in _BOUNDS & schema.keys():
        if isinstance(bound := schema[key], bool) or not isinstance(bound, (int, float)) or abs(bound) > MAX_BOUND:
            del schema[key]
    for least, most in (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum")):
        if least in schema and most in schema and float(str(schema[least])) > float(str(schema[most])):
            del schema[least], schema[most]


def _leads_to(reference: str, root: JsonObjectType) -> bool:
    """Return whether a reference leads to a schema, and not only to further references in a circle."""
    seen = set[str]()
    while reference not in seen and len(seen) < MAX_SCHEMA_DEPTH:
        seen.add(reference)
        found: JsonValueType = root
        for part in filter(None, reference.removeprefix("#").split("/")):
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        if not isinstance(found, dict) or found is root:
            return False
        if "$ref" not in found:
            return True
        reference = str(found["$ref"])
    return False


def _is_valid(schema: JsonValueType) -> bool:
    """Return whether JSON is a valid schema: model servers refuse a request with an invalid one."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict):
        return False
    types = schema.get("type", [])
    required, enum = schema.get("required", []), schema.get("enum", [None])
    inside: list[JsonValueType] = [schema[key] for key in _SCHEMAS if key in schema]
    for key in _LISTS:
        listed = schema.get(key, [True])
        if not isinstance(listed, list) or not listed:
            return False
        inside += listed
    for key in _MAPPINGS:
        named = schema.get(key, {})
        if not isinstance(named, dict):
            return False
        inside += named.values()
    return (
        all(isinstance(item, str) and item in _TYPES for item in (types if isinstance(types, list) else [types]))
        and isinstance(required, list)
        and all(isinstance(item, str) for item in required)
        and isinstance(enum, list)
        and bool(enum)
        and str(schema.get("$ref", "#")).startswith("#")
        and isinstance(schema.get("description", ""), str)
        and all(map(_is_valid, inside))
    )


def _depth(value: object) -> int:
    """Return the depth of a value, at most one more than `MAX_SCHEMA_DEPTH`."""
    level, depth = [value], 0
    while level and depth <= MAX_SCHEMA_DEPTH:
        depth += 1
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
        ]
    return depth


def values_in(value: object) -> Iterator[object]:
    """Yield a value and all values in it, also keys."""
    left = [value]
    while left:
        item = left.pop()
        yield item
        if isinstance(item, Mapping):
            left += [*item, *item.values()]
        elif isinstance(item, (list, tuple)):
            left += item


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a value, also keys."""
    return (item for item in values_in(value) if isinstance(item, str))


def wrong_arguments(schema: JsonObjectType, args: dict[str, Any]) -> str | None:
    """Return what is wrong with the names of arguments, None if nothing; the tool's server checks the values."""
    properties, required = schema["properties"], schema.get("required")
    assert isinstance(properties, dict)
    names = [key for key in required if isinstance(key, str)] if isinstance(required, list) else []
    if missing := [key for key in names if key not in args]:
        return f"missing: {', '.join(missing)}"
    unknown = [key for key in args if key not in properties] if schema.get("additionalProperties") is False else []
    if unknown:
        return f"unknown: {', '.join(unknown)}; there are: {', '.join(properties) or 'none'}"
    return "too long" if len(dump(args)) > MAX_RESULT else None


def cleaned(text: str, limit: int = MAX_ERROR) -> str:
    """Return a text without control characters, cut at the limit."""
    text = _CONTROL.sub("", text)
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"


def cleaned_json(value: JsonValueType, depth: int = MAX_DEPTH) -> JsonValueType:
    """Return JSON without control characters. Raises `ToolRefusal` if it is nested too deeply."""
    if not depth:
        raise ToolRefusal("The answer is nested too deeply.")
    match value:
        case str():
            return _CONTROL.sub("", value)
        case dict():
            return {_CONTROL.sub("", key): cleaned_json(item, depth - 1) for key, item in value.items()}
        case list():
            return [cleaned_json(item, depth - 1) for item in value]
    return value


def content_from(text: str, *, is_json: bool = False) -> JsonValueType:
    """Return a text, parsed if it is JSON or looks like it. Raises `ToolRefusal` if it is nested too deeply."""
    if is_json or text.lstrip().startswith(("{", "[")):
        try:
            return cleaned_json(json_loads(text))
        except JSON_DECODE_EXCEPTIONS:
            pass  # it only looks like JSON
    return _CONTROL.sub("", text)


def bounded(value: JsonValueType) -> JsonValueType:
    """Return a result, or the start of its text if it is too long for a model."""
    text = value if isinstance(value, str) else dump(value).decode()
    if len(text) <= MAX_RESULT:
        return value
    return {"text": text[:MAX_RESULT], "note": f"Cut off: {MAX_RESULT} of {len(text)} characters."}


def plain_result(result: llm.ToolResult | JsonObjectType) -> JsonValueType:
    """Return the bounded result of a Home Assistant tool. Raises `ToolRefusal` if it reports an error."""
    data = result.data if isinstance(result, llm.ToolResult) else result
    plain = json_loads_object(json_dumps(data))  # converts dates, sets and the like
    if isinstance(result, llm.ToolResult) and result.error:
        raise ToolRefusal(cleaned(str(plain.get("error_text") or plain.get("error") or json_dumps(plain))))
    if not isinstance(data, llm.IntentResponseDict):
        return bounded(plain)
    speech = plain.get("speech")
    said = speech.get("plain") if isinstance(speech, dict) else None
    sentence = str(said.get("speech") or "") if isinstance(said, dict) else ""
    if plain.get("response_type") == IntentResponseType.ERROR.value:
        raise ToolRefusal(cleaned(sentence or "The action failed."))
    told = {key: value for key, value in plain.items() if key not in _NOT_FOR_MODELS}
    return {**told, **({"answer": cleaned(sentence)} if sentence else {})}
