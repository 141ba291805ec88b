"""Schemas of foreign tools, as a real server of llama.cpp makes grammars of them: one that it refuses fails the whole request."""

from collections.abc import Generator
from http.client import HTTPConnection
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.llama_server import llama_server, require_llama

from .process import ROOT

pytestmark = pytest.mark.timeout(600)

REFUSED: dict[str, dict[str, Any]] = {
    "a switch for a schema": {"properties": {"a": True}},
    "a circle of references": {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#/$defs/b"}}},
    "a reference to itself": {"properties": {"a": {"$ref": "#/properties/a"}}},
    "a reference to the whole": {"properties": {"a": {"$ref": "#"}}},
    "a reference to nothing": {"properties": {"a": {"$ref": "#/$defs/x"}}},
    "thousands of items": {"properties": {"a": {"type": "array", "items": {"type": "string"}, "minItems": 5000}}},
    "a number beyond 64 bits": {"properties": {"a": {"type": "integer", "maximum": 10**30}}},
    "no items": {"properties": {"a": {"type": "array", "items": False}}},
}
TAKEN: dict[str, dict[str, Any]] = {
    "a bracket for a pattern": {"properties": {"a": {"type": "string", "pattern": "("}}},
    "a tree": {
        "properties": {"t": {"$ref": "#/$defs/n"}},
        "$defs": {"n": {"type": "object", "properties": {"c": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}},
    },
    "a length": {"properties": {"a": {"type": "string", "minLength": 400, "maxLength": 500}}},
    "many kinds": {
        "properties": {
            "a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "c": {"enum": ["a", 1, None]}, "d": {"const": 5}, "e": {},
        },
        "required": ["a", "x"],
    },
}  # fmt: skip


REPAIR = """
import json, sys
from custom_components.home_agent.tools.sanitize import schema_from
json.dump({name: schema_from(schema) for name, schema in json.load(sys.stdin).items()}, sys.stdout)
"""


@pytest.fixture(scope="module")
def repaired() -> dict[str, Any]:
    """Return each schema as a model's server gets it, made by a process of its own: Home Assistant has to be imported first."""
    command = [sys.executable, "-c", REPAIR]
    given = json.dumps(REFUSED | TAKEN)
    made = subprocess.run(command, cwd=ROOT, input=given, check=True, capture_output=True, text=True, timeout=120)
    return dict(json.loads(made.stdout))


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    require_llama()
    with llama_server(tmp_path_factory.mktemp("llama") / "log", tools=True) as server:
        yield server.port


def status_of(port: int, schema: object) -> int:
    function = {"name": "f", "description": "x", "parameters": schema}
    body = {
        "messages": [{"role": "user", "content": "hi"}], "max_tokens": 1, "tool_choice": "required",
        "tools": [{"type": "function", "function": function}],
    }  # fmt: skip
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    return connection.getresponse().status


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_repaired(port: int, repaired: dict[str, Any], name: str) -> None:
    assert status_of(port, {"type": "object", **REFUSED[name]}) == 400
    assert status_of(port, repaired[name]) == 200


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_is_taken_still(port: int, repaired: dict[str, Any], name: str) -> None:
    assert status_of(port, repaired[name]) == 200
