"""Choices that the house itself has: tool collections, and what the lists of the owner may name."""

from collections.abc import Iterable, Mapping
import re
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.selector import SelectOptionDict, SelectSelector, SelectSelectorConfig, SelectSelectorMode

from ..const import ASSISTANT, CONF_MCP_SERVERS, DOMAIN, LLM_NONE, SUBENTRY_LLM, SUBENTRY_MCP_SERVER
from ..runtime import RuntimeData

MAX_ENTITIES = 1000
"""Entities offered to choose from; any other may be typed."""
NAME = re.compile(r"[\w*?-]+(\.[\w*?-]+)?")
"""What a list may name: a domain or a tool, an entity or a service, any of them with wildcards."""


def selectable_apis(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of Home Assistant's tool collections by id; ours would be themselves again."""
    return {api.id: api.name for api in llm.async_get_apis(hass) if not api.id.startswith(DOMAIN)}


def api_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list to choose tool collections from; one that is gone stays chosen, for its server may only sleep."""
    options = [SelectOptionDict(value=api_id, label=name) for api_id, name in selectable_apis(hass).items()]
    return SelectSelector(
        SelectSelectorConfig(options=options, multiple=True, custom_value=True, mode=SelectSelectorMode.DROPDOWN)
    )


def second_model_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of the house's endpoints, and none."""
    options = [SelectOptionDict(value=LLM_NONE, label=LLM_NONE)]
    options += [
        SelectOptionDict(value=subentry.subentry_id, label=subentry.title)
        for entry in hass.config_entries.async_entries(DOMAIN)
        for subentry in entry.get_subentries_of_type(SUBENTRY_LLM)
    ]
    return SelectSelector(
        SelectSelectorConfig(options=options, translation_key="external_llm", mode=SelectSelectorMode.DROPDOWN)
    )


def server_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of the house's servers of tools."""
    options = [
        SelectOptionDict(value=subentry.subentry_id, label=subentry.title)
        for entry in hass.config_entries.async_entries(DOMAIN)
        for subentry in entry.get_subentries_of_type(SUBENTRY_MCP_SERVER)
    ]
    return SelectSelector(SelectSelectorConfig(options=options, multiple=True, mode=SelectSelectorMode.DROPDOWN))


def tool_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of the owner's own tools; one that is gone may stay named, and `none` stands for none of them."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    names = [name for runtime in runtimes for name in runtime.custom_tools.names]
    config = SelectSelectorConfig(
        options=[*names, LLM_NONE], multiple=True, custom_value=True, mode=SelectSelectorMode.DROPDOWN
    )
    return SelectSelector(config)


def name_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of domains and exposed entities in which anything else may be typed: services, tools, patterns."""
    options = [SelectOptionDict(value=domain, label=domain) for domain in sorted(hass.services.async_services())]
    exposed = (state for state in hass.states.async_all() if async_should_expose(hass, ASSISTANT, state.entity_id))
    entities = sorted((state.name, state.entity_id) for state in exposed)
    options += [SelectOptionDict(value=one, label=f"{name} ({one})") for name, one in entities[:MAX_ENTITIES]]
    return SelectSelector(
        SelectSelectorConfig(options=options, multiple=True, custom_value=True, mode=SelectSelectorMode.DROPDOWN)
    )


def known_servers(hass: HomeAssistant, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without servers that were removed since, which their field would refuse to show."""
    if CONF_MCP_SERVERS not in settings:
        return {**settings}
    known = {
        subentry.subentry_id
        for entry in hass.config_entries.async_entries(DOMAIN)
        for subentry in entry.get_subentries_of_type(SUBENTRY_MCP_SERVER)
    }
    return {**settings, CONF_MCP_SERVERS: [server for server in settings[CONF_MCP_SERVERS] if server in known]}


def tidy_names(names: Iterable[str]) -> list[str]:
    """Return a list as it is stored: no blanks, nothing twice, in order."""
    return sorted({stripped for name in names if (stripped := name.strip())})


def wrong_name(names: Iterable[str]) -> str | None:
    """Return the first of a list that can name nothing."""
    return next((name for name in names if not NAME.fullmatch(name)), None)
