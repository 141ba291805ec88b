"""Tools of a real server, called as a model calls them."""

import asyncio
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest

from custom_components.home_agent.support.masking import MASK
from tests.house import say, set_up
from tests.llm_server import LLMServer, tool_call
from tests.tools.custom.conftest import Run
from tests.tools.mcp.conftest import tools_of

from .conftest import TOKEN, StartServer, server_of, set_up_servers, subentry, until, with_key
from .mcp_server import McpServer

NO_TURN: Any = None
READING = {
    "find_book", "huge", "library_cover", "catalogue", "fails", "repeats_key", "slow", "library_ha_query", "grow",
}  # fmt: skip


@pytest.mark.parametrize(
    ("served", "transport"),
    [("streamable_http", "streamable_http"), ("streamable_http", "auto"), ("sse", "sse"), ("sse", "auto")],
)
async def test_both_transports_with_a_key(
    hass: HomeAssistant, start_server: StartServer, run: Run, served: str, transport: str
) -> None:
    server = start_server(transport=served, token=TOKEN)
    entry = await set_up_servers(hass, with_key(server, transport=transport))
    answer = await run("find_book", title="Emil")
    assert answer["result"] == "Found Emil: shelf 4.[31m"
    assert server.calls == [{"name": "find_book", "title": "Emil"}]
    assert await hass.config_entries.async_unload(entry.entry_id)  # leaving takes a moment


async def test_only_what_reads_is_offered(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    assert (await tools_of(entry)).keys() == READING
    first, again = await tools_of(entry), await tools_of(entry)
    assert all(again[name] is tool for name, tool in first.items())
    book = first["find_book"]
    assert book.description == "Look a book up."
    assert book.wire_parameters["required"] == ["title"]
    assert (book.annotations.read_only, book.annotations.destructive) == (True, False)


async def test_no_assistant_has_a_server_by_itself(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up(hass, more=[with_key(library)])
    await until(lambda: server_of(entry).connected)
    assert not await tools_of(entry)


async def test_what_the_owner_names_needs_a_yes(hass: HomeAssistant, library: McpServer, run: Run) -> None:
    entry = await set_up_servers(hass, with_key(library, allowed_tools=["lend_book", "unsaid", "burn_books"]))
    assert (await tools_of(entry)).keys() == READING | {"lend_book", "unsaid", "burn_books"}
    for name in ("lend_book", "unsaid", "burn_books"):
        answer = await run(name, **({"title": "Emil"} if name == "lend_book" else {}))
        assert not answer["success"], name
    assert library.calls == []


async def test_a_yes_lets_it_happen(hass: HomeAssistant, library: McpServer, llm_server: LLMServer) -> None:
    mcp = with_key(library, allowed_tools=["lend_book"])
    entry = await set_up(hass, llm_server, profile={"mcp_servers": ["mcp-1"]}, more=[mcp])
    await until(lambda: server_of(entry).connected)
    llm_server.plan(tool_call("lend_book", {"title": "Emil"}))
    asked = await say(hass, "Lend me Emil", device_id="device")
    assert asked.continue_conversation
    assert library.calls == []
    answer = await say(hass, "yes", asked.conversation_id, device_id="device")
    assert library.calls == [{"name": "lend_book", "title": "Emil"}]
    assert answer.conversation_id == asked.conversation_id


@pytest.mark.parametrize(("name", "arguments", "expected"), [
    ("library_cover", {}, "The cover:\n[image, image/png, 3 bytes: not shown]"),
    ("library_ha_query", {}, "dotted"),
    ("repeats_key", {}, f"Your key is {MASK}"),
])  # fmt: skip
async def test_results(
    hass: HomeAssistant, library: McpServer, run: Run, name: str, arguments: dict[str, Any], expected: str
) -> None:
    await set_up_servers(hass, with_key(library))
    answer = await run(name, **arguments)
    assert answer["success"], answer
    assert answer["result"] == expected


async def test_long_results_are_cut(hass: HomeAssistant, library: McpServer, run: Run) -> None:
    await set_up_servers(hass, with_key(library))
    answer = await run("huge")
    assert answer["result"] == {"text": "x" * 16_000, "note": "Cut off: 16000 of 50000 characters."}


@pytest.mark.parametrize(("name", "arguments", "error"), [
    ("fails", {}, "Error executing tool fails"),
    ("find_book", {}, "Wrong arguments: missing: title."),
    ("find_book", {"title": "x" * 20_000}, "Wrong arguments: too long."),
    ("find_book", {"title": "Emil", "limit": "many"}, "limit"),
])  # fmt: skip
async def test_errors_are_told(
    hass: HomeAssistant, library: McpServer, run: Run, name: str, arguments: dict[str, Any], error: str
) -> None:
    await set_up_servers(hass, with_key(library))
    answer = await run(name, **arguments)
    assert not answer["success"]
    assert error in answer["error"]


async def test_two_calls_at_a_time(hass: HomeAssistant, library: McpServer, run: Run) -> None:
    await set_up_servers(hass, with_key(library))
    await asyncio.gather(*(run("slow") for _ in range(3)))
    order = [call["name"] for call in library.calls]
    assert order.count("slow done") == 3
    assert order[:3] == ["slow", "slow", "slow done"]


async def test_servers_with_the_same_tools(hass: HomeAssistant, library: McpServer) -> None:
    other = {**with_key(library, 2), "title": "Öther Library"}
    entry = await set_up_servers(hass, with_key(library), other)  # type: ignore[arg-type]
    found = await tools_of(entry)
    assert {"library_find_book", "other_library_find_book"} <= found.keys()
    assert "find_book" not in found


async def test_what_comes_back_is_from_outside(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    plans = [await tool.plan(hass, {"title": "x"}, NO_TURN) for tool in (await tools_of(entry)).values()]
    assert len(plans) == len(READING)
    assert all(plan.outside for plan in plans)


async def test_a_tool_that_is_gone_is_refused(hass: HomeAssistant, library: McpServer) -> None:
    entry = await set_up_servers(hass, with_key(library))
    tools = await tools_of(entry)
    server_of(entry).tools = ()
    with pytest.raises(HomeAssistantError, match="changed or removed"):
        await tools["find_book"].plan(hass, {"title": "Emil"}, NO_TURN)


async def test_new_tools_are_found(hass: HomeAssistant, start_server: StartServer, run: Run) -> None:
    server = start_server()
    entry = await set_up_servers(hass, subentry(server.url))
    assert "grown" not in await tools_of(entry)
    await run("grow")
    await until(lambda: any(tool.name == "grown" for tool in server_of(entry).tools))
    assert "grown" in await tools_of(entry)
