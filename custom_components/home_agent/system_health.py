"""System health: reachable endpoints, and figures of the home."""

from typing import Any

from aiohttp import ClientError, ClientTimeout
from homeassistant.components.system_health import SystemHealthRegistration
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.aiohttp_client import async_get_clientsession

from .agent.runtime import HomeAgentConfigEntry
from .home.snapshot import async_count_exposed
from .search.vectors import async_report
from .settings.endpoint import EndpointConfig
from .settings.search import CHROMA
from .support.const import DOMAIN
from .support.localize import async_text

_TIMEOUT = ClientTimeout(total=5)  # seconds


@callback
def async_register(hass: HomeAssistant, register: SystemHealthRegistration) -> None:
    """Register the information and a link to the integration."""
    register.async_register_info(_async_info, f"/config/integrations/integration/{DOMAIN}")


async def _async_info(hass: HomeAssistant) -> dict[str, Any]:
    """Return the rows; those of endpoints are awaited by the page."""
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
    info: dict[str, Any] = {"exposed_entities": await async_count_exposed(hass)}
    for entry in entries:
        endpoints = entry.runtime_data.endpoints.values()
        answered = [when for endpoint in endpoints if (when := endpoint.stats.last_success)]
        info["profiles"] = len(entry.runtime_data.profiles)
        info["last_success"] = max(answered, default=None)
        info["documents"] = _async_documents(hass, entry)
        info["memories"] = sum(entry.runtime_data.memories.by_type.values())
        info |= {endpoint.config.title: _async_reachable(hass, endpoint.config) for endpoint in endpoints}
        info |= {
            f"MCP: {server.config.title}": "ok" if server.connected else {"type": "failed", "error": "unreachable"}
            for server in entry.runtime_data.mcp_tools.servers.values()
        }
    return info


async def _async_documents(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> str | dict[str, str]:
    """Return the number of documents and where they are, or the store's error."""
    report = await async_report(entry.runtime_data.library.vectors)
    if report.store_error is not None:
        return {"type": "failed", "error": report.store_error.removeprefix("store_")}
    words = "documents_chroma" if report.store == CHROMA else "documents_local"
    return await async_text(hass, hass.config.language, words, count=str(report.documents))


async def _async_reachable(hass: HomeAssistant, config: EndpointConfig) -> str | dict[str, str]:
    """Return whether a server answers, with any status; Home Assistant's own check cannot skip the certificate."""
    session = async_get_clientsession(hass, verify_ssl=config.verify_ssl)
    try:
        async with session.get(config.base_url, timeout=_TIMEOUT, allow_redirects=False):
            return "ok"
    except TimeoutError:
        return {"type": "failed", "error": "timeout"}
    except ClientError:
        return {"type": "failed", "error": "unreachable"}
