"""A house to talk to: demo lights, a lock and a sensor in two areas, and Home Agent set up in it.

Everything is real but the walls: Home Assistant's own demo integration, registries, exposure and conversation.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
import json
from typing import Any
from unittest.mock import patch

from homeassistant.auth.permissions.const import SUBCAT_ALL
from homeassistant.components import conversation, demo
from homeassistant.components.assist_pipeline import Pipeline, async_get_pipelines
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigEntryState, ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, get_system_health_info

from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from tests.llm_server import LLMServer

PLATFORMS = ["cover", "light", "lock", "switch"]
AREAS = {
    "Kitchen": ("light.kitchen_lights", "cover.kitchen_window"),
    "Bedroom": ("light.bed_light", "light.ceiling_lights"),
}
EXPOSED = (*AREAS["Kitchen"], *AREAS["Bedroom"], "switch.decorative_lights", "lock.front_door")


async def build_house(hass: HomeAssistant) -> None:
    """Set up the demo integration's lights, locks, covers and switches, in areas, the rest hidden."""
    assert await async_setup_component(hass, "conversation", {})
    assert await async_setup_component(hass, "intent", {})
    with patch.object(demo, "COMPONENTS_WITH_CONFIG_ENTRY_DEMO_PLATFORM", PLATFORMS):  # all 31 take half a second
        assert await async_setup_component(hass, "demo", {})
        await hass.async_block_till_done(wait_background_tasks=True)
    registry = er.async_get(hass)
    for area, entity_ids in AREAS.items():
        area_id = ar.async_get(hass).async_get_or_create(area).id
        for entity_id in entity_ids:
            entry = registry.async_get(entity_id)
            assert entry is not None, entity_id
            assert entry.device_id is not None, entity_id
            dr.async_get(hass).async_update_device(entry.device_id, area_id=area_id)
    for entity_id in hass.states.async_entity_ids():
        async_expose_entity(hass, ASSISTANT, entity_id, entity_id in EXPOSED)


async def set_up(
    hass: HomeAssistant,
    server: LLMServer | None = None,
    *,
    profile: Mapping[str, Any] | None = None,
    llm: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    more: Sequence[ConfigSubentryDataWithId] = (),
    model_first: bool = True,
) -> MockConfigEntry:
    """Set Home Agent up with one profile, with one endpoint if there is a server, and with `more` subentries.

    The model hears everything, simple commands as well, unless the profile says otherwise or not `model_first`.
    """
    first = {**({"local_first": False} if model_first else {}), **(profile or {})}
    subentries = [subentry("profile", "Home Agent", "profile-1", first)]
    if server is not None:
        known = {
            "preset": "custom", "base_url": server.base_url, "api_key": "sk-house-key", "model": "scripted",
            "keep_ready": False,
        }  # fmt: skip
        subentries.append(subentry("llm", "Scripted", "llm-1", {"context_window": 16384, **known, **(llm or {})}))
    entry = MockConfigEntry(
        domain=DOMAIN, title="Home Agent", data={}, options=dict(options or {}), subentries_data=[*subentries, *more]
    )
    entry.add_to_hass(hass)
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert entry.state is ConfigEntryState.LOADED
    return entry


async def say(
    hass: HomeAssistant, text: str, conversation_id: str | None = None, **fields: Any
) -> conversation.ConversationResult:
    """Say something to Home Agent as its conversation entity hears it."""
    return await conversation.async_converse(
        hass,
        text,
        conversation_id,
        fields.pop("context", Context()),
        language=fields.pop("language", "en"),
        agent_id=fields.pop("agent_id", "conversation.home_agent"),
        **fields,
    )


async def act(hass: HomeAssistant, action: str, context: Context | None = None, **data: Any) -> dict[str, Any]:
    """Call an action of ours; return its response."""
    answer = await hass.services.async_call(DOMAIN, action, data, blocking=True, return_response=True, context=context)
    return dict(answer or {})


async def voice(hass: HomeAssistant) -> Pipeline:
    """Set voice assistants up and return the one that is there at first."""
    for domain in ("media_source", "tts", "stt", "wake_word", "assist_pipeline"):
        assert await async_setup_component(hass, domain, {})
    return async_get_pipelines(hass)[0]


async def until(condition: Callable[[], object], seconds: float = 15) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


def speech(result: conversation.ConversationResult) -> str:
    return str(result.response.speech["plain"]["speech"])


def part_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return the turn part of a user message."""
    content: str = message["content"]
    assert content.startswith("<house>")
    return dict(json.loads(content.removeprefix("<house>").partition("</house>")[0]))


async def health(hass: HomeAssistant) -> dict[str, Any]:
    assert await async_setup_component(hass, "system_health", {})
    await hass.async_block_till_done()
    info: dict[str, Any] = await get_system_health_info(hass, DOMAIN)
    return {key: hass.async_create_task(line) if asyncio.iscoroutine(line) else line for key, line in info.items()}


async def add_shopping_list(hass: HomeAssistant, *items: str) -> None:
    """Add Home Assistant's shopping list, exposed, with these items on it."""
    entry = MockConfigEntry(domain="shopping_list", title="Shopping list")
    entry.add_to_hass(hass)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    async_expose_entity(hass, ASSISTANT, "todo.shopping_list", True)
    for item in items:
        data = {"entity_id": "todo.shopping_list", "item": item}
        await hass.services.async_call("todo", "add_item", data, blocking=True)


def person(hass: HomeAssistant, name: str = "Alice", policy: Mapping[str, Any] | None = None) -> Context:
    """Add a person who is no administrator: one who may see and control everything, or what a policy says."""
    user = MockUser(name=name).add_to_hass(hass)
    user.mock_policy({"entities": {SUBCAT_ALL: True}} if policy is None else dict(policy))
    return Context(user_id=user.id)


def state_of(hass: HomeAssistant, entity_id: str) -> str:
    state = hass.states.get(entity_id)
    assert state is not None
    return state.state


def agent(number: int, name: str, **data: Any) -> ConfigSubentryDataWithId:
    """Return one more agent, whose instructions say which it is."""
    data = {"local_first": False, "prompt_additions": f"You are {name}.", **data}
    return subentry("profile", name, f"profile-{number}", data)


def expert_llm(server: LLMServer, key: str = "sk-expert") -> ConfigSubentryDataWithId:
    """Return a second model, "Expert", at that endpoint."""
    data = {"preset": "custom", "base_url": server.base_url, "api_key": key, "model": "expert"}
    return subentry("llm", "Expert", "llm-2", data)


def subentry(kind: str, title: str, subentry_id: str, data: Mapping[str, Any]) -> ConfigSubentryDataWithId:
    return ConfigSubentryDataWithId(
        subentry_type=kind, data={**data}, title=title, unique_id=None, subentry_id=subentry_id
    )
