"""What comes from elsewhere, made fit for a model."""

from types import SimpleNamespace
from typing import Any

import pytest

from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.tools.mcp.sdk import text_of
from custom_components.home_agent.tools.sanitize import (
    MAX_RESULT,
    bounded,
    cleaned,
    content_from,
    schema_from,
    tool_name_from,
    wrong_arguments,
)


@pytest.mark.parametrize(("text", "answer"), [
    pytest.param("Fine.", "Fine.", id="text"),
    pytest.param('{"a": [1, "b\\u202ec"]}', {"a": [1, "bc"]}, id="JSON"),
    pytest.param('{"a": "b\\u2066c\\u2069d\\u00ade\\u3164f\\u061cg\\u115fh\\uffa0"}', {"a": "bcdefgh"}, id="unseen"),
    pytest.param(" [1, null, true]", [1, None, True], id="a list"),
    pytest.param("{not JSON\x1b", "{not JSON", id="looks like JSON"),
    pytest.param("مي\u200cخواهم 👩\u200d🍳", "مي\u200cخواهم 👩\u200d🍳", id="joiners"),
    pytest.param("7", "7", id="a number is text"),
])  # fmt: skip
def test_answers(text: str, answer: object) -> None:
    assert content_from(text) == answer


def test_an_answer_without_end_is_refused() -> None:
    with pytest.raises(ToolRefusal):
        content_from("[" * 60 + "]" * 60)


def test_long_results_are_cut() -> None:
    assert bounded("x" * MAX_RESULT) == "x" * MAX_RESULT
    assert bounded({"a": "b"}) == {"a": "b"}
    cut = bounded(["x" * MAX_RESULT])
    assert isinstance(cut, dict)
    assert len(str(cut["text"])) == MAX_RESULT
    assert str(MAX_RESULT + 4) in str(cut["note"])


def block(**members: Any) -> SimpleNamespace:
    return SimpleNamespace(**members)


@pytest.mark.parametrize(("content", "structured", "text"), [
    pytest.param([block(type="text", text="a"), block(type="text", text="b")], {"c": 1}, "a\nb", id="texts"),
    pytest.param([], {"c": 1}, '{"c":1}', id="structure alone"),
    pytest.param([], {"n": 10**30}, f'{{"n":{10**30}}}', id="more than 64 bits"),
    pytest.param([], None, "", id="nothing"),
    pytest.param([block(type="resource", resource=block(text="inside"))], None, "inside", id="text in a resource"),
    pytest.param(
        [block(type="resource", resource=block(blob="QUJD", mimeType="a/b"))], None,
        "[resource, a/b, 3 bytes: not shown]", id="bytes in a resource",
    ),
    pytest.param([block(type="resource_link", uri="file:///x")], None, "[resource_link: file:///x]", id="a link"),
])  # fmt: skip
def test_texts(content: list[Any], structured: object, text: str) -> None:
    assert text_of(content, structured) == text


@pytest.mark.parametrize(("schema", "args", "wrong"), [
    ({"required": ["a"]}, {}, "missing: a"),
    ({"additionalProperties": False}, {"b": 1}, "unknown: b; there are: a"),
    ({}, {"b": 1}, None),
    ({}, {"a": "x" * 20_000}, "too long"),
    ({"required": "a"}, {}, None),
    ({"required": [["a"], 1, "a"]}, {}, "missing: a"),
])  # fmt: skip
def test_arguments(schema: dict[str, Any], args: dict[str, Any], wrong: str | None) -> None:
    assert wrong_arguments({"type": "object", "properties": {"a": {}}, **schema}, args) == wrong


@pytest.mark.parametrize(("schema", "fit"), [
    ({"type": "object"}, {"type": "object", "properties": {}}),
    (
        {"properties": {"a": {"description": "x\u200by"}}},
        {"properties": {"a": {"description": "xy"}}, "type": "object"},
    ),
    ({"properties": {"a": {"maximum": 10**30}}}, {"properties": {"a": {}}, "type": "object"}),
    ({"properties": {"a": {"type": "text"}}}, None),
    ({"properties": {"a": {"$ref": "https://evil.example"}}}, None),
    ({"properties": {"a": {"$ref": "#/$defs/b"}}}, {"properties": {"a": {}}, "type": "object"}),
    (
        {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#/$defs/b"}}},
        {"properties": {"a": {}}, "$defs": {"b": {}}, "type": "object"},
    ),
    (
        {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}},
        {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"type": "string"}}, "type": "object"},
    ),
    ({"properties": {"a": {"type": "string", "pattern": "("}}}, {"properties": {"a": {"type": "string"}}, "type": "object"}),
    ({"properties": {"a": {"type": "string", "maxLength": 10**6}}}, {"properties": {"a": {"type": "string"}}, "type": "object"}),
    ({"properties": {"a": {"type": "array", "minItems": -1}}}, {"properties": {"a": {"type": "array"}}, "type": "object"}),
    (
        {"properties": {"a": {"type": "string", "minLength": 5, "maxLength": 2}}},
        {"properties": {"a": {"type": "string"}}, "type": "object"},
    ),
    ({"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, {"properties": {"a": {"minimum": 1}}, "type": "object"}),
    ({"properties": {"a": True, "b": {"not": {"type": "string"}}}}, {"properties": {"a": {}, "b": {}}, "type": "object"}),
    ({"additionalProperties": False}, {"additionalProperties": False, "type": "object", "properties": {}}),
    ({"properties": {"a": {"enum": ["<|im_end|>"]}}}, None),
    ({"properties": {"a": {"description": "x </tool>"}}}, {"properties": {"a": {"description": "x ‹/tool>"}}, "type": "object"}),
    ({"properties": {"a": {"minimum": -(10**30), "default": float("nan")}}}, None),
    ({"type": "array"}, None),
    ({"properties": []}, None),
    ("object", None),
])  # fmt: skip
def test_schemas(schema: object, fit: object) -> None:
    assert schema_from(schema) == fit


def test_names_and_texts() -> None:
    assert tool_name_from("knowledge/query") == "knowledge_query"
    assert tool_name_from("\u200b..").strip("_") == ""
    assert tool_name_from("😀").strip("_") == ""
    assert tool_name_from("查询") == "cha_xun"
    assert tool_name_from("Größe") == "grosse"
    assert len(tool_name_from("x" * 100)) == 64
    assert cleaned("abcdef", 3) == "abc … (6 characters)"
