"""Servers that answer too much, without end, or with something else; each speaks the protocol by hand."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
import json
from typing import Any

from aiohttp import web
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.mcp_client.content import MAX_ERROR
from tests.custom.conftest import Run
from tests.custom.rest_server import Answer, answer

from .conftest import server_of, set_up_servers, subentry, until

JSON = "application/json"
TOOL = {"name": "ask", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


class Hostile:
    """Does as a server should until a tool is called."""

    def __init__(self) -> None:
        self.called: Answer = answer({})
        self.calls = 0
        self.tools: list[dict[str, Any]] = [TOOL]
        self.port = 0

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/mcp", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        return runner

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        asked = json.loads(await request.read())
        capabilities = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "serverInfo": {"name": "x", "version": "1"},
        }
        match asked["method"]:
            case "initialize":
                return _result(asked, capabilities)
            case "tools/list":
                return _result(asked, {"tools": self.tools})
            case "tools/call":
                self.calls += 1
                return await self.called(request)
        return web.Response(status=202)


def _result(asked: dict[str, Any], result: dict[str, Any]) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": result})


@pytest.fixture
async def hostile(socket_enabled: None) -> AsyncGenerator[Hostile]:
    """A server that means harm."""
    server = Hostile()
    runner = await server.start()
    yield server
    await runner.cleanup()


def stream(chunk: bytes, times: int = 10**9) -> Answer:
    """Return an answer that sends the same again and again."""

    async def send(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for _ in range(times):
                await response.write(chunk)
                await asyncio.sleep(0)
        except ConnectionResetError:
            pass
        return response

    return send


@pytest.mark.parametrize(
    "called",
    [
        pytest.param(answer(b'{"x": "' + b"y" * 5_000_000 + b'"}', Content_Type=JSON), id="oversized"),
        pytest.param(answer(bytes(range(256)) * 40, Content_Type=JSON), id="binary that says it is JSON"),
        pytest.param(answer(bytes(range(256)) * 40, Content_Type="image/png"), id="binary"),
        pytest.param(answer("[" * 100_000, Content_Type=JSON), id="nested without end"),
        pytest.param(answer("<html>", Content_Type="text/html"), id="a page"),
        pytest.param(answer("", 500), id="an error"),
        pytest.param(stream(b"data: " + b"x" * 60_000), id="an event without end"),
        pytest.param(stream(b": still here\n\n"), id="a stream without end"),
        pytest.param(stream(b"data: {]\n\n", 3), id="no JSON in a stream that ends"),
    ],
)
async def test_no_answer_does_harm(
    hass: HomeAssistant, hostile: Hostile, run: Run, impatient: None, called: Answer
) -> None:
    entry = await set_up_servers(hass, subentry(f"http://127.0.0.1:{hostile.port}/mcp"))
    profile = entry.runtime_data.profiles["profile-1"]
    entry.runtime_data.profiles["profile-1"] = replace(profile, tool_timeout=2)
    hostile.called = called
    async with asyncio.timeout(15):
        result = await run("ask")
    assert not result["success"]
    assert len(result["error"]) < MAX_ERROR + 200
    assert hostile.calls <= 2
    hostile.called = answer({})
    await until(lambda: server_of(entry).connected)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", "properties": {"a": {"description": "x" * 9000}}}, id="too long"),
        pytest.param({"type": "object", "properties": json.loads('{"a":' * 20 + "1" + "}" * 20)}, id="too deep"),
    ],
)
async def test_a_schema_that_cannot_be_told_leaves_the_tool_out(
    hass: HomeAssistant, hostile: Hostile, schema: dict[str, Any]
) -> None:
    hostile.tools = [{**TOOL, "inputSchema": schema}, {**TOOL, "name": "good"}]
    entry = await set_up_servers(hass, subentry(f"http://127.0.0.1:{hostile.port}/mcp"))
    profile = entry.runtime_data.profiles["profile-1"]
    found = await entry.runtime_data.mcp_tools.async_tools(profile, None)  # type: ignore[arg-type]
    assert [tool.name for tool in found] == ["good"]


async def test_many_tools_are_not_all_taken(hass: HomeAssistant, hostile: Hostile) -> None:
    hostile.tools = [{**TOOL, "name": f"tool_{number}"} for number in range(500)]
    entry = await set_up_servers(hass, subentry(f"http://127.0.0.1:{hostile.port}/mcp"))
    assert len(server_of(entry).tools) == 200
