"""Servers that answer too much, without end, or with something else."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
import json
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.mcp_client.content import MAX_ERROR
from tests.custom.conftest import Run
from tests.custom.rest_server import Answer, answer

from .conftest import server_of, set_up_servers, subentry, until
from .hostile import TOOL, Hostile, stream

JSON = "application/json"


@pytest.fixture
async def hostile(socket_enabled: None) -> AsyncGenerator[Hostile]:
    """A server that means harm."""
    server = Hostile()
    await server.start()
    yield server
    await server.stop()


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
    entry = await set_up_servers(hass, subentry(hostile.url))
    profile = entry.runtime_data.profiles["profile-1"]
    entry.runtime_data.profiles["profile-1"] = replace(profile, tool_timeout=2)
    hostile.called = called
    async with asyncio.timeout(15):
        result = await run("ask")
    assert not result["success"]
    assert len(result["error"]) < MAX_ERROR + 200
    assert len(hostile.calls) <= 2
    hostile.called = None
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
    entry = await set_up_servers(hass, subentry(hostile.url))
    profile = entry.runtime_data.profiles["profile-1"]
    found = await entry.runtime_data.mcp_tools.async_tools(profile, None)  # type: ignore[arg-type]
    assert [tool.name for tool in found] == ["good"]


async def test_many_tools_are_not_all_taken(hass: HomeAssistant, hostile: Hostile) -> None:
    hostile.tools = [{**TOOL, "name": f"tool_{number}"} for number in range(500)]
    entry = await set_up_servers(hass, subentry(hostile.url))
    assert len(server_of(entry).tools) == 200
