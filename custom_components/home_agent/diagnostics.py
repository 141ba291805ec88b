"""What helps to find a fault, without keys, prompts or the names of things in the house."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from homeassistant.components.diagnostics import REDACTED, async_redact_data
from homeassistant.config_entries import ConfigEntry, ConfigEntryState, ConfigSubentry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.device_registry import DeviceEntry
from openai import __version__ as openai_version
from yarl import URL

from .const import (
    CONF_API_KEY,
    CONF_BASE_URL,
    CONF_CONTEXT_ENTITIES,
    CONF_CUSTOM_PROMPT,
    CONF_PINS,
    CONF_PROFILE_DEFAULTS,
    CONF_PROMPT_ADDITIONS,
    DOMAIN,
    SUBENTRY_CUSTOM_TOOL,
    SUBENTRY_LLM,
    SUBENTRY_MCP_SERVER,
)
from .flows.checks import LISTS
from .home import async_count_exposed
from .profiles.profile import profile_from_data
from .retrieval.report import async_report
from .retrieval.settings import RetrievalSettings
from .runtime import HomeAgentConfigEntry

_TO_REDACT = {CONF_API_KEY, "chroma_token", "embedding_key"}
_ADDRESSES = ("embedding_url",)
_TEXTS = (CONF_CUSTOM_PROMPT, CONF_PROMPT_ADDITIONS)
_LISTS = (CONF_CONTEXT_ENTITIES, *LISTS)


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> dict[str, Any]:
    """Return everything about the hub."""
    return {
        "openai_version": openai_version,
        "exposed_entities": await async_count_exposed(hass),
        "entry": {"state": entry.state.value, "version": entry.version, "minor_version": entry.minor_version},
        "options": _sizes(entry.options),
        "prompts": _prompts(entry),
        "custom_tools": _custom_tools(entry),
        "conversations": entry.runtime_data.conversations.counts() if entry.state is ConfigEntryState.LOADED else None,
        "found": _found(entry),
        "documents": await _async_documents(entry),
        "subentries": [_subentry(entry, subentry) for subentry in entry.subentries.values()],
    }


async def _async_documents(entry: HomeAgentConfigEntry) -> dict[str, Any] | None:
    """Return where documents are kept and how many."""
    if entry.state is not ConfigEntryState.LOADED:
        return None
    return asdict(await async_report(entry.runtime_data.vectors, RetrievalSettings.from_options(entry.options)))


async def async_get_device_diagnostics(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, device: DeviceEntry
) -> dict[str, Any]:
    """Return everything about one endpoint or one assistant."""
    ids = {identifier for domain, identifier in device.identifiers if domain == DOMAIN}
    return {
        "subentries": [
            _subentry(entry, subentry) for subentry in entry.subentries.values() if subentry.subentry_id in ids
        ]
    }


def _subentry(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> dict[str, Any]:
    described = {"subentry_id": subentry.subentry_id, "type": subentry.subentry_type, "title": subentry.title}
    if subentry.subentry_type == SUBENTRY_LLM:
        return described | {"settings": _endpoint_settings(subentry), "seen": _seen(entry, subentry)}
    if subentry.subentry_type == SUBENTRY_CUSTOM_TOOL:
        return described | {"handler": subentry.data["handler"]["type"]}
    if subentry.subentry_type == SUBENTRY_MCP_SERVER:
        return described | _mcp_server(entry, subentry)
    return described | {"stored": _sizes(subentry.data), "settings": _profile_settings(entry, subentry)}


def _prompts(entry: HomeAgentConfigEntry) -> dict[str, int | float] | None:
    """Return what became of the owner's prompts since the hub was loaded: counts, means and shares."""
    if entry.state is not ConfigEntryState.LOADED:
        return None
    return entry.runtime_data.instructing.service.metrics.as_dict()


def _mcp_server(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> dict[str, Any]:
    """Return a server of tools without keys; an address keeps neither a name and password nor a query."""
    settings: dict[str, Any] = async_redact_data(dict(subentry.data), {"token", "client_id", "client_secret"})
    for key in {"url", "token_url"} & settings.keys():
        settings[key] = _address(settings[key])
    server = None
    if entry.state is ConfigEntryState.LOADED:
        server = entry.runtime_data.mcp_tools.servers.get(subentry.subentry_id)
    return {
        "settings": settings,
        "connected": server.connected if server else None,
        "tools": len(server.tools) if server else None,
    }


def _found(entry: HomeAgentConfigEntry) -> dict[str, Any] | None:
    """Return how many entities and documents can be found, and whether their vectors are current."""
    if entry.state is not ConfigEntryState.LOADED:
        return None
    return {"index": asdict(entry.runtime_data.finder.report), "knowledge": entry.runtime_data.knowledge.counts}


def _custom_tools(entry: HomeAgentConfigEntry) -> dict[str, str] | None:
    """Return which of the owner's own tools work, from YAML as well, and of what kind each is."""
    if entry.state is not ConfigEntryState.LOADED:
        return None
    return {definition.name: definition.type for definition in entry.runtime_data.custom_tools.definitions}


def _endpoint_settings(subentry: ConfigSubentry) -> dict[str, Any]:
    """Return an endpoint's settings; an address keeps neither a name and password nor a query."""
    settings: dict[str, Any] = async_redact_data(dict(subentry.data), _TO_REDACT)
    settings[CONF_BASE_URL] = _address(settings[CONF_BASE_URL])
    return settings


def _address(text: str) -> str:
    """Return an address without name and password, query and fragment, where people put keys."""
    try:
        return str(URL(text).with_user(None).with_query(None).with_fragment(None))
    except ValueError:
        return f"{REDACTED} ({len(text)} characters)"


def _profile_settings(entry: ConfigEntry, subentry: ConfigSubentry) -> dict[str, Any]:
    """Return an assistant's settings as they apply."""
    defaults = entry.options.get(CONF_PROFILE_DEFAULTS, {})
    return _sizes(asdict(profile_from_data(subentry.subentry_id, subentry.title, defaults, subentry.data)))


def _seen(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> dict[str, Any] | None:
    """Return what an endpoint was seen to do since the hub was loaded."""
    if entry.state is not ConfigEntryState.LOADED:
        return None
    endpoint = entry.runtime_data.endpoints.get(subentry.subentry_id)
    if endpoint is None:
        return None
    estimator = endpoint.client.estimator
    counts = {"token_factor": round(estimator.factor, 2), "tokens_counted_exactly": estimator.exact is not None}
    return asdict(endpoint.stats) | {"context_window": endpoint.window} | counts


def _sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with texts as their length and lists of entities as their count."""
    described: dict[str, Any] = {}
    for key, value in settings.items():
        if key == CONF_PINS:
            described[key] = len(value)
        elif key in _TO_REDACT:
            described[key] = REDACTED
        elif key in _ADDRESSES:
            described[key] = _address(value)
        elif isinstance(value, Mapping):
            described[key] = _sizes(value)
        elif key in _TEXTS:
            described[key] = f"{REDACTED} ({len(value)} characters)" if value else ""
        elif key in _LISTS:
            described[key] = len(value)
        else:
            described[key] = value
    return described
