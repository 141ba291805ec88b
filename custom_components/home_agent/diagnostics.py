"""Diagnostics without keys, prompts or names of entities."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from homeassistant.components.diagnostics import REDACTED, async_redact_data
from homeassistant.config_entries import ConfigEntryState, ConfigSubentry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.device_registry import DeviceEntry
from openai import __version__ as openai_version
from yarl import URL

from .agent.runtime import HomeAgentConfigEntry, RuntimeData
from .home.snapshot import async_count_exposed
from .search.vectors import async_report
from .settings.profile import LISTS, SETTINGS, default_settings, profile_from_data
from .support.const import CONF_PINS, DOMAIN, SUBENTRY_CUSTOM_TOOL, SUBENTRY_LLM, SUBENTRY_MCP_SERVER
from .support.kept import kept_things

_TO_REDACT = {"api_key", "chroma_token", "embedding_key", "token", "client_id", "client_secret"}
_ADDRESSES = ("base_url", "embedding_url", "url", "token_url")
_TEXTS = ("custom_prompt", "prompt_additions")
_LISTS = ("context_entities", *LISTS)


async def async_get_config_entry_diagnostics(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> dict[str, Any]:
    """Return the diagnostics of the entry; figures of the running integration are None if it is not loaded."""
    runtime = _runtime(entry)
    return {
        "openai_version": openai_version,
        "exposed_entities": await async_count_exposed(hass),
        "entry": {"state": entry.state.value, "version": entry.version, "minor_version": entry.minor_version},
        "options": _sizes(entry.options),
        "prompts": runtime and runtime.sources.system_prompts.service.metrics.as_dict(),
        "custom_tools": runtime and {item.name: item.type for item in runtime.custom_tools.definitions},
        "kept": runtime and kept_things(hass).counts(),
        "found": runtime and {"index": asdict(runtime.finder.report), "knowledge": runtime.knowledge.counts},
        "documents": runtime and asdict(await async_report(runtime.library.vectors)),
        "subentries": [_subentry(entry, subentry) for subentry in entry.subentries.values()],
    }


async def async_get_device_diagnostics(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, device: DeviceEntry
) -> dict[str, Any]:
    """Return the diagnostics of one endpoint or agent."""
    ids = {identifier for domain, identifier in device.identifiers if domain == DOMAIN}
    return {"subentries": [_subentry(entry, one) for one in entry.subentries.values() if one.subentry_id in ids]}


def _runtime(entry: HomeAgentConfigEntry) -> RuntimeData | None:
    return entry.runtime_data if entry.state is ConfigEntryState.LOADED else None


def _subentry(entry: HomeAgentConfigEntry, subentry: ConfigSubentry) -> dict[str, Any]:
    """Return the settings of a subentry, without keys, and its figures since the entry was loaded."""
    runtime, subentry_id = _runtime(entry), subentry.subentry_id
    described: dict[str, Any] = {"subentry_id": subentry_id, "type": subentry.subentry_type, "title": subentry.title}
    if subentry.subentry_type == SUBENTRY_CUSTOM_TOOL:
        return described | {"handler": subentry.data["handler"]["type"]}
    if subentry.subentry_type not in (SUBENTRY_LLM, SUBENTRY_MCP_SERVER):
        profile = profile_from_data(subentry_id, subentry.title, default_settings(entry.options), subentry.data)
        # nothing that is derived from settings: it names entities
        known = {key: value for key, value in asdict(profile).items() if key in SETTINGS}
        return described | {"stored": _sizes(subentry.data), "settings": _sizes(known)}
    settings: dict[str, Any] = async_redact_data(dict(subentry.data), _TO_REDACT)
    settings |= {key: _address(settings[key]) for key in _ADDRESSES if key in settings}
    described["settings"] = settings
    if subentry.subentry_type == SUBENTRY_MCP_SERVER:
        server = runtime and runtime.mcp_tools.servers.get(subentry_id)
        return described | {"connected": server and server.connected, "tools": server and len(server.tools)}
    endpoint = runtime.endpoints.get(subentry_id) if runtime else None
    return described | {
        "seen": endpoint
        and asdict(endpoint.stats)
        | {"context_window": endpoint.window, "token_factor": round(endpoint.client.estimator.factor, 2)}
    }


def _address(text: str) -> str:
    """Return an address without user, password, query and fragment, which may contain keys."""
    try:
        return str(URL(text).with_user(None).with_query(None).with_fragment(None))
    except ValueError:
        return f"{REDACTED} ({len(text)} characters)"


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
