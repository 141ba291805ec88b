"""Servers that are away, refuse, break off and come back."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
import logging
import socket
from types import MappingProxyType
from typing import Any

from aiohttp import web
from homeassistant.config_entries import ConfigSubentry
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.support.errors import McpError
from custom_components.home_agent.tools.mcp import server as server_module
from custom_components.home_agent.tools.mcp.sdk import McpSession, async_connect
from tests.house import health, set_up
from tests.tools.custom.conftest import Run, issues, server
from tests.tools.custom.rest_server import RestServer
from tests.tools.mcp.conftest import tools_of

from .conftest import TOKEN, StartServer, server_of, set_up_servers, subentry, until, with_key
from .mcp_server import McpServer

__all__ = ["server"]


async def test_set_up_does_not_wait(hass: HomeAssistant, socket_enabled: None) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    async with asyncio.timeout(30):
        entry = await set_up_servers(hass, subentry(f"http://127.0.0.1:{port}/mcp"), wait=False)
    assert not await tools_of(entry)
    async with asyncio.timeout(30):
        assert await hass.config_entries.async_unload(entry.entry_id)
    silent.close()


async def test_a_server_that_stays_away(
    hass: HomeAssistant, start_server: StartServer, impatient: None, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    server = start_server()
    entry = await set_up_servers(hass, subentry(server.url))
    server.stop()
    answer = await run("find_book", title="Emil")
    assert not answer["success"]
    await until(lambda: "mcp_server_failing" in issues(hass))
    assert issues(hass)["mcp_server_failing"]["server"] == "Library"
    assert not await tools_of(entry)
    assert not server_of(entry).connected
    ours = [record for record in caplog.records if record.name.startswith("custom_components.home_agent")]
    assert [record.levelno for record in ours if record.levelno >= logging.WARNING] == [logging.WARNING]
    server.start()
    await until(lambda: server_of(entry).connected)
    assert "mcp_server_failing" not in issues(hass)
    assert (await run("find_book", title="Emil"))["success"]


async def test_a_wrong_key(hass: HomeAssistant, library: McpServer, impatient: None) -> None:
    entry = await set_up_servers(hass, with_key(library, token="wrong-key-1"), wait=False)
    await until(lambda: "mcp_server_failing" in issues(hass))
    assert issues(hass)["mcp_server_failing"]["reason"] == "The MCP server refused the key."
    assert not await tools_of(entry)


async def test_one_server_away_leaves_the_other(hass: HomeAssistant, library: McpServer) -> None:
    away = subentry("http://127.0.0.1:9/mcp", 2, title="Away")
    entry = await set_up(hass, profile={"mcp_servers": ["mcp-1", "mcp-2"]}, more=[with_key(library), away])
    await until(lambda: server_of(entry).connected)
    assert "find_book" in await tools_of(entry)


async def test_the_key_is_in_no_log(
    hass: HomeAssistant, library: McpServer, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await set_up_servers(hass, with_key(library))
    await run("repeats_key")
    ours = [record for record in caplog.records if record.name.startswith("custom_components.home_agent")]
    assert TOKEN not in "\n".join(record.getMessage() for record in ours)


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
@pytest.mark.usefixtures("impatient")
async def test_a_quiet_server_that_stops_is_noticed_and_found_again(
    hass: HomeAssistant, start_server: StartServer, run: Run, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setattr(server_module, "CHECK", 0.1)
    server = start_server(transport=transport)
    entry = await set_up_servers(hass, subentry(server.url))
    await asyncio.sleep(0.5)
    assert server_of(entry).connected
    server.stop()
    await until(lambda: not server_of(entry).connected)
    assert not await tools_of(entry)
    server.start()
    await until(lambda: server_of(entry).connected)
    assert (await run("find_book", title="Emil"))["success"]
    assert await hass.config_entries.async_unload(entry.entry_id)  # leaving takes a moment


async def test_a_restart_is_noticed_without_a_call(
    hass: HomeAssistant, start_server: StartServer, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CHECK", 1.0)
    server = start_server()
    entry = await set_up_servers(hass, subentry(server.url, allowed_tools=["lend_book"]))
    session = server_of(entry)._session
    server.stop()
    server.start()
    await until(lambda: server_of(entry)._session not in (None, session))


async def test_writing_happens_once(hass: HomeAssistant, start_server: StartServer, run: Run, impatient: None) -> None:
    server = start_server()
    entry = await set_up(
        hass,
        profile={"mcp_servers": ["mcp-1"]},
        options={"never_confirm": ["lend_book"]},
        more=[subentry(server.url, allowed_tools=["lend_book"])],
    )
    await until(lambda: server_of(entry).connected)
    assert (await run("lend_book", title="Emil"))["success"]
    server.stop()
    server.start()
    assert not (await run("lend_book", title="Lotta"))["success"]
    await until(lambda: server_of(entry).connected)
    assert [call["title"] for call in server.calls] == ["Emil"]
    assert (await run("lend_book", title="Ronja"))["success"]


async def test_system_health_tells_which_servers_answer(hass: HomeAssistant, library: McpServer) -> None:
    away = subentry("http://127.0.0.1:9/mcp", 2, title="Away")
    entry = await set_up(hass, more=[with_key(library), away])
    await until(lambda: server_of(entry).connected)
    page = await health(hass)
    assert page["MCP: Library"] == "ok"
    assert page["MCP: Away"] == {"type": "failed", "error": "unreachable"}
    await page["documents"]


async def test_a_connection_that_swallows_its_end_is_not_made_again(
    hass: HomeAssistant, library: McpServer, impatient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the library does when it ends a connection itself at the same moment, which no server can be made to time."""
    made: list[Any] = []

    @asynccontextmanager
    async def swallows(*args: Any) -> AsyncGenerator[McpSession]:
        made.append(args)
        with suppress(asyncio.CancelledError):
            async with async_connect(*args) as session:
                yield session

    monkeypatch.setattr(server_module, "async_connect", swallows)
    entry = await set_up_servers(hass, with_key(library))
    running = server_of(entry)._running
    assert running is not None
    async with asyncio.timeout(5):
        assert await hass.config_entries.async_unload(entry.entry_id)
    assert running.done()
    assert len(made) == 1


async def test_a_reload_does_not_wait_for_a_token(
    hass: HomeAssistant, library: McpServer, server: RestServer, caplog: pytest.LogCaptureFixture
) -> None:
    asked, over = asyncio.Event(), asyncio.Event()

    async def never(_request: web.Request) -> web.StreamResponse:
        asked.set()
        await over.wait()
        raise web.HTTPServiceUnavailable

    server.answers["/token"] = never
    access: dict[str, Any] = {
        "auth": "oauth2", "token_url": f"{server.url}/token", "client_id": "a", "client_secret": "b",
    }  # fmt: skip
    entry = await set_up_servers(hass, subentry(library.url, **access), wait=False)
    await asked.wait()
    running = server_of(entry)._running
    assert running is not None
    await hass.config_entries.async_unload(entry.entry_id)
    assert running.cancelled()
    assert "Unloading" not in caplog.text  # what Home Assistant says of tasks that do not end
    assert len(server.asked) == 1
    over.set()


async def test_a_session_outlives_what_is_added(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    server, session, tools = server_of(entry), server_of(entry)._session, await tools_of(entry)
    asked = library.requests
    for kind, title, data in (("profile", "Guest", {}), ("mcp_server", "Away", {"url": "http://127.0.0.1:9/mcp"})):
        added = ConfigSubentry(data=MappingProxyType(data), subentry_type=kind, title=title, unique_id=None)
        hass.config_entries.async_add_subentry(entry, added)
        await hass.async_block_till_done()
    assert await tools_of(entry) == tools
    hass.config_entries.async_update_subentry(entry, entry.subentries["mcp-1"], title="Books")
    await hass.async_block_till_done()
    assert server_of(entry) is server
    assert server._session is session
    assert "books_cover" in await tools_of(entry)
    assert library.requests == asked


async def test_a_call_ends_though_its_server_is_removed(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    server, tool = server_of(entry), (await tools_of(entry))["slow"]
    call = asyncio.create_task(server.async_call("slow", {"pause": 1.0}, repeatable=False))
    await asyncio.sleep(0.2)
    hass.config_entries.async_remove_subentry(entry, "mcp-1")
    await hass.async_block_till_done()
    assert not call.done()
    assert server.usable() == []
    assert tool not in (await tools_of(entry)).values()
    assert not (await call).failed
    await until(lambda: not server.connected)
    assert server._running is None
    assert not entry.runtime_data.mcp_tools._left


async def test_a_removed_server_does_not_outlive_the_entry(
    hass: HomeAssistant, library: McpServer, caplog: pytest.LogCaptureFixture
) -> None:
    entry = await set_up_servers(hass, with_key(library))
    server = server_of(entry)
    call = asyncio.create_task(server.async_call("slow", {"pause": 20.0}, repeatable=False))
    await asyncio.sleep(0.2)
    hass.config_entries.async_remove_subentry(entry, "mcp-1")
    await hass.async_block_till_done()
    async with asyncio.timeout(5):
        assert await hass.config_entries.async_unload(entry.entry_id)
    assert server._running is None
    with pytest.raises(McpError):
        await call
    assert "Unloading" not in caplog.text
