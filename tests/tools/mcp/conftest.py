"""Servers, and a house that uses them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
import pytest
import pytest_socket

from custom_components.home_agent.agent.runtime import HomeAgentConfigEntry
from custom_components.home_agent.tools.mcp import server as server_module
from custom_components.home_agent.tools.mcp.provider import McpTool
from custom_components.home_agent.tools.mcp.server import Server
from tests import house
from tests.house import set_up, until
from tests.tools.custom.conftest import run

from .mcp_server import McpServer

__all__ = ["run", "until"]

TOKEN = "tok-3f9a77c2b1"
type StartServer = Callable[..., McpServer]


@pytest.fixture
def start_server(socket_enabled: None, tmp_path: Path) -> Iterator[StartServer]:
    servers: list[McpServer] = []

    def start(**settings: Any) -> McpServer:
        folder = tmp_path / f"mcp{len(servers)}"
        folder.mkdir()
        server = McpServer(folder, **settings)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpServer]:
    """Start one server for all tests that do not harm it: that takes seconds."""
    pytest_socket.enable_socket()
    server = McpServer(tmp_path_factory.mktemp("mcp"), token=TOKEN)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def library(socket_enabled: None, shared_server: McpServer) -> McpServer:
    shared_server.forget()
    return shared_server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "FIRST_DELAY", 0.05)
    monkeypatch.setattr(server_module, "LONGEST_DELAY", 0.1)


def subentry(url: str, number: int = 1, *, title: str = "Library", **data: Any) -> ConfigSubentryDataWithId:
    return house.subentry("mcp_server", title, f"mcp-{number}", {"url": url, **data})


def with_key(server: McpServer, number: int = 1, **data: Any) -> ConfigSubentryDataWithId:
    return subentry(server.url, number, auth="bearer", **{"token": TOKEN, **data})


async def set_up_servers(
    hass: HomeAssistant, *servers: ConfigSubentryDataWithId, wait: bool = True, profile: Mapping[str, Any] | None = None
) -> HomeAgentConfigEntry:
    chosen = [server["subentry_id"] for server in servers]
    entry = await set_up(hass, profile={"mcp_servers": chosen, **(profile or {})}, more=servers)
    if wait:
        for server in entry.runtime_data.mcp_tools.servers.values():
            await until(partial(is_connected, server))
    return entry


def is_connected(server: Server) -> bool:
    return server.connected


def server_of(entry: HomeAgentConfigEntry, number: int = 1) -> Server:
    return entry.runtime_data.mcp_tools.servers[f"mcp-{number}"]


NOBODY = llm.LLMContext(platform="test", context=None, language="en", assistant="conversation", device_id=None)


async def tools_of(entry: HomeAgentConfigEntry) -> dict[str, McpTool]:
    """Return the tools of all servers that the assistant has, by name."""
    profile = next(iter(entry.runtime_data.profiles.values()))
    return {tool.name: tool for tool in await entry.runtime_data.mcp_tools.async_tools(profile, NOBODY)}
