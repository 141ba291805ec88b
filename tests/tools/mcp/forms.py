"""The forms of an MCP server, as a person fills them in."""

from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant

from tests.flows.forms import Result, go_through
from tests.tools.mcp.conftest import TOKEN
from tests.tools.mcp.mcp_server import McpServer


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send a form and those that follow from what it chose; return what comes next."""
    result = await go_through(hass.config_entries.subentries.async_configure, form, data)
    await hass.async_block_till_done()
    return result


def stored(entry: ConfigEntry) -> dict[str, Any]:
    return dict(entry.get_subentries_of_type("mcp_server")[-1].data)


def access(server: McpServer, **more: Any) -> dict[str, Any]:
    return {"name": "Library", "url": server.url, "auth": "bearer", "token": TOKEN, **more}
