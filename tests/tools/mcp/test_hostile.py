"""Servers that answer too much, without end, or with something else."""

import asyncio
from collections.abc import AsyncGenerator
import gzip
import json
from typing import Any

from aiohttp import web
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.support.masking import MASK
from custom_components.home_agent.tools.mcp.provider import MAX_TOLD
from custom_components.home_agent.tools.sanitize import MAX_ERROR
from tests.tools.custom.conftest import Run, WriteYaml, server, write_yaml
from tests.tools.custom.rest_server import Answer, RestServer, answer, serve_tokens

from .conftest import server_of, set_up_servers, subentry, until
from .hostile import TOOL, Hostile, said, stream

__all__ = ["server", "write_yaml"]

JSON = "application/json"


@pytest.fixture
async def hostile(socket_enabled: None) -> AsyncGenerator[Hostile]:
    server = Hostile()
    await server.start()
    yield server
    await server.stop()


@pytest.mark.parametrize("called", [
    pytest.param(answer(b'{"x": "' + b"y" * 5_000_000 + b'"}', Content_Type=JSON), id="oversized"),
    pytest.param(answer(bytes(range(256)) * 40, Content_Type=JSON), id="binary that says it is JSON"),
    pytest.param(answer(bytes(range(256)) * 40, Content_Type="image/png"), id="binary"),
    pytest.param(answer("[" * 100_000, Content_Type=JSON), id="nested without end"),
    pytest.param(answer("<html>", Content_Type="text/html"), id="a page"),
    pytest.param(answer("", 500), id="an error"),
    pytest.param(stream(b"data: " + b"x" * 60_000), id="an event without end"),
    pytest.param(stream(b": still here\n\n"), id="a stream without end"),
    pytest.param(stream(b"data: {]\n\n", 3), id="no JSON in a stream that ends"),
])  # fmt: skip
async def test_odd_answers(hass: HomeAssistant, hostile: Hostile, run: Run, impatient: None, called: Answer) -> None:
    entry = await set_up_servers(hass, subentry(hostile.url), profile={"tool_timeout": 2})
    hostile.called = called
    async with asyncio.timeout(15):
        result = await run("ask")
    assert not result["success"]
    assert len(result["error"]) < MAX_ERROR + 200
    assert len(hostile.calls) <= 2
    hostile.called = None
    await until(lambda: server_of(entry).connected)


@pytest.mark.parametrize("called", [
    pytest.param(answer("[" * 100_000, Content_Type=JSON), id="nested without end"),
    pytest.param(answer('{"result": {}}', Content_Type=JSON), id="no JSON-RPC"),
    pytest.param(answer("<html>", Content_Type="text/html"), id="a page"),
])  # fmt: skip
async def test_a_non_answer_is_not_waited_for(hass: HomeAssistant, hostile: Hostile, run: Run, called: Answer) -> None:
    entry = await set_up_servers(hass, subentry(hostile.url), profile={"tool_timeout": 60})
    hostile.called = called
    async with asyncio.timeout(10):
        result = await run("ask")
    assert result["error"] == "Library cannot be used now (ProtocolError)."
    hostile.called = None
    await until(lambda: server_of(entry).connected)
    assert (await run("ask"))["success"]


async def test_a_compressed_bomb_is_not_unpacked(hass: HomeAssistant, hostile: Hostile, run: Run) -> None:
    await set_up_servers(hass, subentry(hostile.url))
    wanted: list[str] = []

    async def packed(request: web.Request) -> web.StreamResponse:
        wanted.append(request.headers["Accept-Encoding"])
        body = {"jsonrpc": "2.0", "id": json.loads(await request.read())["id"], "result": said("y" * 2**20)}
        headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
        return web.Response(body=gzip.compress(json.dumps(body).encode()), headers=headers)

    hostile.called = packed
    result = await run("ask")
    assert result["error"] == "Library cannot be used now (UnreachableError)."
    assert set(wanted) == {"identity"}


@pytest.mark.parametrize("schema", [
    pytest.param({"type": "object", "properties": {"a": {"description": "x" * 9000}}}, id="too long"),
    pytest.param({"type": "object", "properties": json.loads('{"a":' * 20 + "1" + "}" * 20)}, id="too deep"),
    pytest.param({"properties": {"a": {"type": "strnig"}}}, id="no such type"),
    pytest.param({"properties": {"a": {"type": [["string"]]}}}, id="a type that is a list"),
    pytest.param({"properties": {"a": {"enum": {}}}}, id="enum is no list"),
    pytest.param({"properties": {"a": {"enum": []}}}, id="nothing to choose from"),
    pytest.param({"properties": {"a": {"type": "array", "items": [1]}}}, id="items are numbers"),
    pytest.param({"properties": {"a": {"anyOf": {}}}}, id="anyOf is no list"),
    pytest.param({"properties": {"a": {"$ref": "http://127.0.0.1/x"}}}, id="a schema elsewhere"),
    pytest.param({"properties": {"a": {"description": 1}}}, id="a description that is no text"),
])  # fmt: skip
async def test_a_schema_that_cannot_be_told_leaves_the_tool_out(
    hass: HomeAssistant, hostile: Hostile, schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    hostile.tools = [{**TOOL, "inputSchema": {"type": "object", **schema}}, {**TOOL, "name": "good"}]
    entry = await set_up_servers(hass, subentry(hostile.url))
    profile = entry.runtime_data.profiles["profile-1"]
    for _ in range(2):
        found = await entry.runtime_data.mcp_tools.async_tools(profile, None)  # type: ignore[arg-type]
        assert [tool.name for tool in found] == ["good"]
    assert caplog.text.count("1 tools of the MCP server Library are left out") == 1


@pytest.mark.parametrize("schema", [
    pytest.param({"properties": {"a": "string"}}, id="a property that is no schema"),
    pytest.param({"properties": {}, "required": "a"}, id="required is no list"),
])  # fmt: skip
async def test_an_invalid_schema_is_not_told(hass: HomeAssistant, hostile: Hostile, schema: dict[str, Any]) -> None:
    """The official client refuses the whole list for it since its second generation."""
    hostile.tools = [{**TOOL, "inputSchema": {"type": "object", **schema}}, {**TOOL, "name": "good"}]
    entry = await set_up_servers(hass, subentry(hostile.url), wait=False)
    server = server_of(entry)
    await until(lambda: server.connected or server._error is not None)
    profile = entry.runtime_data.profiles["profile-1"]
    found = await entry.runtime_data.mcp_tools.async_tools(profile, None)  # type: ignore[arg-type]
    assert [tool.name for tool in found] in (["good"], [])


async def test_all_tools_are_bounded(hass: HomeAssistant, hostile: Hostile, caplog: pytest.LogCaptureFixture) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 7000}}}
    hostile.tools = [
        {**TOOL, "name": f"tool_{number}", "description": "y" * 5000, "inputSchema": schema} for number in range(200)
    ]
    entry = await set_up_servers(hass, subentry(hostile.url))
    profile = entry.runtime_data.profiles["profile-1"]
    found = await entry.runtime_data.mcp_tools.async_tools(profile, None)  # type: ignore[arg-type]
    told = sum(len(f"{tool.name}{tool.description}{json.dumps(tool.wire_parameters)}") for tool in found)
    assert 0 < told < MAX_TOLD * 1.1
    assert f"{200 - len(found)} tools of the MCP server Library are left out" in caplog.text
    assert all(len(record.getMessage()) < 1000 for record in caplog.records if "left out" in record.getMessage())


@pytest.mark.parametrize("schema", [
    {"properties": {"a": {"type": ["string", "null"], "enum": ["x", None], "default": None}}, "required": ["a"]},
    {"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"anyOf": [{"type": "integer"}, True]}}},
    {"properties": {"a": {"type": "array", "items": {"type": "object", "additionalProperties": False}}}},
    {},
])  # fmt: skip
async def test_an_ordinary_schema_is_told(hass: HomeAssistant, hostile: Hostile, schema: dict[str, Any]) -> None:
    hostile.tools = [{**TOOL, "inputSchema": {"type": "object", **schema}}]
    entry = await set_up_servers(hass, subentry(hostile.url))
    profile = entry.runtime_data.profiles["profile-1"]
    assert len(await entry.runtime_data.mcp_tools.async_tools(profile, None)) == 1  # type: ignore[arg-type]


async def test_names_that_come_to_the_same_are_numbered(hass: HomeAssistant, hostile: Hostile) -> None:
    names = ["x" * 70, "x" * 71, "查询", "cha_xun", "cha_xun"]
    hostile.tools = [{**TOOL, "name": name} for name in names]
    entry = await set_up_servers(hass, subentry(hostile.url))
    profile = entry.runtime_data.profiles["profile-1"]
    found = await entry.runtime_data.mcp_tools.async_tools(profile, None)  # type: ignore[arg-type]
    assert {tool.name: tool.remote.name for tool in found} == {
        f"library_{'x' * 56}": names[0], f"library_{'x' * 53}_2": names[1], "library_cha_xun": "查询",
        "library_cha_xun_2": "cha_xun",
    }  # fmt: skip


async def test_many_tools_are_not_all_taken(hass: HomeAssistant, hostile: Hostile) -> None:
    hostile.tools = [{**TOOL, "name": f"tool_{number}"} for number in range(500)]
    entry = await set_up_servers(hass, subentry(hostile.url))
    assert len(server_of(entry).tools) == 200


async def repeat_the_key(request: web.Request) -> web.StreamResponse:
    asked = json.loads(await request.read())
    text = {"type": "text", "text": f"You sent {request.headers['Authorization']}"}
    return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [text]}})


async def test_a_renewed_key_is_masked(hass: HomeAssistant, hostile: Hostile, server: RestServer, run: Run) -> None:
    serve_tokens(server, expires_in=0)  # another one for each request
    oauth: dict[str, Any] = {"auth": "oauth2", "token_url": f"{server.url}/token", "client_id": "home"}
    await set_up_servers(hass, subentry(hostile.url, client_secret="very-secret", **oauth))
    hostile.called = repeat_the_key
    before = len(server.asked)
    answer = await run("ask")
    assert len(server.asked) > before
    assert answer["result"] == f"You sent Bearer {MASK}"


async def test_a_key_that_was_renewed_for_a_tool_of_ones_own_is_masked(
    hass: HomeAssistant, hostile: Hostile, server: RestServer, write_yaml: WriteYaml, run: Run
) -> None:
    serve_tokens(server, expires_in=0)
    oauth = f"{{type: oauth2, token_url: '{server.url}/token', client_id: home, client_secret: very-secret}}"
    handler = f"{{type: mcp, server_url: '{hostile.url}', method: ask, auth: {oauth}}}"
    await write_yaml(f"home_agent: {{custom_tools: [{{name: question, description: Asks., handler: {handler}}}]}}")
    hostile.called = repeat_the_key
    assert (await run("question"))["result"] == f"You sent Bearer {MASK}"
