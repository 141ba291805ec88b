"""Tools of servers under the names of a domain: they stay the server's, and no server takes a name of a domain."""

from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant

from custom_components.home_agent.tools.extensions.extensions import NO_USER
from tests.tools.custom.conftest import Run, issues

from .conftest import StartServer, set_up_servers, subentry, tools_of, until
from .hostile import TOOL, Hostile
from .test_hostile import hostile

__all__ = ["hostile"]

TOOLS = """
tools:
  - name: BOOKS_GET_BOOK
    summary: Finds a book.
    example: Do we have Emil?
    alias: find_book
    mcp_server: library
"""


def write(hass: HomeAssistant, tools: str, name: str = "Books") -> None:
    folder = Path(hass.config.path("home_agent", "extensions", name))
    folder.mkdir(parents=True)
    (folder / "prompt.md").write_text("Knows the books.")
    (folder / "tools.yaml").write_text(tools)


async def names_of(entry: Any) -> list[str]:
    runtime = entry.runtime_data
    found = await runtime.extensions.async_of(runtime.profiles["profile-1"], NO_USER)
    return [tool.name for extension in found for tool in extension.tools]


async def test_alias_of_a_tool(hass: HomeAssistant, start_server: StartServer, impatient: None, run: Run) -> None:
    write(hass, TOOLS)
    library = start_server()
    entry = await set_up_servers(hass, subentry(library.url))
    assert await names_of(entry) == ["BOOKS_GET_BOOK"]
    by_alias = await run("BOOKS_GET_BOOK", title="Emil")
    assert by_alias == await run("find_book", title="Emil")
    assert by_alias["success"]
    library.stop()
    await run("BOOKS_GET_BOOK", title="Emil")
    await until(lambda: not next(iter(entry.runtime_data.mcp_tools.servers.values())).connected)
    assert await names_of(entry) == []  # left out while it is away
    assert "extension_wrong" not in issues(hass)


async def test_a_tool_that_the_server_does_not_have(hass: HomeAssistant, start_server: StartServer) -> None:
    write(hass, TOOLS.replace("find_book", "find_nothing"))
    entry = await set_up_servers(hass, subentry(start_server().url))
    assert await names_of(entry) == []
    assert issues(hass)["extension_wrong"] == {
        "name": "Books",
        "reason": "BOOKS_GET_BOOK stands for find_nothing, but there is no tool with that name.",
    }


async def test_no_server_takes_the_name_of_a_domain(hass: HomeAssistant, hostile: Hostile, run: Run) -> None:
    """An owner's list that names it would else speak of the server's tool."""
    hostile.tools = [{**TOOL, "name": "BOOKS_GET_BOOK"}, {**TOOL, "name": "MOVIES_GET_ALL"}]
    write(hass, TOOLS.replace("find_book", "ha_query").replace("mcp_server: library", "domains: [sensor]"))
    entry = await set_up_servers(hass, subentry(hostile.url))
    assert sorted(await tools_of(entry)) == ["MOVIES_GET_ALL", "library_BOOKS_GET_BOOK"]
    assert (await run("library_BOOKS_GET_BOOK"))["result"] == "Fine."
