"""Diagnostics: enough to find a fault, nothing that is nobody's business."""

import json
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers.json import ExtendedJSONEncoder
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics, async_get_device_diagnostics
from custom_components.home_agent.memory.record import Draft, MemorySource, MemoryType
from custom_components.home_agent.support.const import DOMAIN
from tests.house import EXPOSED, build_house, say, set_up, subentry
from tests.llm_server import LLMServer, text

SECRETS = ("sk-house-key", "me:pw", "private prompt", "token=1", "lock.private")


async def talked_to(hass: HomeAssistant, llm_server: LLMServer) -> MockConfigEntry:
    """Return a hub with one answer behind it."""
    await build_house(hass)
    entry = await set_up(
        hass,
        llm_server,
        profile={
            "context_entities": [{"entity_id": "light.*"}],
            "prompt_additions": "A private prompt.",
            "never_ask": ["lock.private"],
        },
        options={
            "always_confirm": ["cover"],
            "never_offer": ["lock.private"],
            "default_profile_settings": {"processing_config": {"custom_prompt": "Another private prompt."}},
        },
    )
    usage = {"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 30}}
    llm_server.plan(text("Good morning.", usage=usage, timings={"prompt_ms": 12.5}))
    await say(hass, "something private prompt said")
    return entry


def plain(diagnostics: dict[str, Any]) -> dict[str, Any]:
    """Return the diagnostics as they are downloaded."""
    downloaded: dict[str, Any] = json.loads(json.dumps(diagnostics, cls=ExtendedJSONEncoder))
    return downloaded


async def test_hub(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await talked_to(hass, llm_server)
    await hass.async_block_till_done(wait_background_tasks=True)
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert told["exposed_entities"] == len(EXPOSED)
    assert told["openai_version"]
    assert told["entry"] == {"state": "loaded", "version": 2, "minor_version": 1}
    assert told["options"] == {
        "always_confirm": 1,
        "never_offer": 1,
        "default_profile_settings": {"processing_config": {"custom_prompt": "**REDACTED** (23 characters)"}},
    }
    assert told["kept"]["conversations"]["messages"] == 2
    assert told["found"]["index"]["entities"] == len(EXPOSED)
    assert told["found"]["knowledge"] == {"documents": 0, "passages": 0, "failed": 0}
    profile, endpoint = told["subentries"]
    stored = {
        "local_first": False, "context_entities": 1, "prompt_additions": "**REDACTED** (17 characters)", "never_ask": 1,
    }  # fmt: skip
    assert profile["stored"] == stored
    assert profile["settings"]["max_calls_per_turn"] == 5
    assert profile["settings"]["custom_prompt"] == "**REDACTED** (23 characters)"
    assert endpoint["settings"]["api_key"] == "**REDACTED**"
    assert endpoint["settings"]["base_url"] == llm_server.base_url
    usage = {"input_tokens": 40, "output_tokens": 2, "cached_tokens": 30, "counted_tokens": 40}
    usage |= {"prompt_ms": 12, "cached_share": 75}
    assert endpoint["seen"]["usage"] == endpoint["seen"]["newest"] == usage
    assert endpoint["seen"]["first_delta_ms"] >= 0
    assert (endpoint["seen"]["requests"], endpoint["seen"]["failures_in_a_row"]) == (1, 0)
    assert endpoint["seen"]["last_success"]
    assert (endpoint["seen"]["context_window"], endpoint["seen"]["token_factor"]) == (16384, 1.0)
    assert 0.5 <= endpoint["seen"]["token_factor"] <= 2
    assert not [secret for secret in SECRETS if secret in json.dumps(told)]


async def test_where_documents_are_kept(hass: HomeAssistant) -> None:
    retrieval: dict[str, Any] = {"chroma_token": "token-secret-1", "embedding_key": "sk-secret-2", "top_k": 7}
    retrieval["embedding_url"] = "https://me:secret-3@box.local/v1?key=secret-4#secret-5"
    entry = await set_up(hass, options={"retrieval": retrieval})
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert told["documents"] == {
        "store": "embedded", "embedding": "lexical", "collections": {}, "store_error": None, "embedding_error": None,
    }  # fmt: skip
    assert told["options"]["retrieval"]["top_k"] == 7
    assert told["options"]["retrieval"]["embedding_url"] == "https://box.local/v1"
    assert "secret" not in json.dumps(told)


async def test_store_that_is_away_is_told(hass: HomeAssistant, socket_enabled: None) -> None:
    retrieval = {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": 9}
    entry = await set_up(hass, options={"retrieval": retrieval})
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert (told["documents"]["store_error"], told["documents"]["collections"]) == ("store_unreachable", None)


async def test_address_keeps_no_secrets(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"base_url": "http://me:pw@127.0.0.1:9/v1?token=1"})
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert told["subentries"][1]["settings"]["base_url"] == "http://127.0.0.1:9/v1"


async def test_hub_that_is_not_loaded(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert told["entry"]["state"] == "not_loaded"
    assert told["subentries"][1]["seen"] is None


async def test_own_tools_are_told_by_name_and_kind(hass: HomeAssistant) -> None:
    auth = {"type": "bearer", "token": "tool-secret-1"}
    data = {
        "name": "ask", "description": "Private words.", "handler": {"type": "rest", "url": "http://nas", "auth": auth},
    }  # fmt: skip
    entry = await set_up(hass, more=[subentry("custom_tool", "ask", "tool-1", data)])
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert told["custom_tools"] == {"ask": "rest"}
    assert told["subentries"][1] == {"subentry_id": "tool-1", "type": "custom_tool", "title": "ask", "handler": "rest"}
    assert not [text for text in ("tool-secret-1", "nas", "Private") if text in json.dumps(told)]


async def test_device_is_either(hass: HomeAssistant, device_registry: dr.DeviceRegistry, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    devices = {
        subentry_id: next(device for device in device_registry.devices if (DOMAIN, subentry_id) in device.identifiers)
        for subentry_id in entry.subentries
    }
    told = {
        subentry_id: plain(await async_get_device_diagnostics(hass, entry, device))["subentries"]
        for subentry_id, device in devices.items()
    }
    assert {key: [item["subentry_id"] for item in items] for key, items in told.items()} == {
        "llm-1": ["llm-1"],
        "profile-1": ["profile-1"],
    }


async def test_memories_are_only_counted(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await talked_to(hass, llm_server)
    drafts = [
        Draft(content="The spare key hangs behind the boiler", source=MemorySource.SAID),
        Draft(content="Anna drinks tea", type=MemoryType.PREFERENCE, source=MemorySource.EXTRACTED, owner="anna"),
    ]
    await entry.runtime_data.memories.async_add(drafts)
    told = plain(await async_get_config_entry_diagnostics(hass, entry))
    assert told["kept"]["memories"] == {
        "fact": 1, "preference": 1, "context": 0, "event": 0, "said": 1, "service": 0, "extracted": 1, "of_the_home": 1,
        "owners": 1, "history": 0,
    }  # fmt: skip
    assert "boiler" not in json.dumps(told)
    assert "anna" not in json.dumps(told)


async def test_lists_of_an_agent_are_only_counted(hass: HomeAssistant) -> None:
    entry = await set_up(hass, profile={"may_change": ["light.of_anna"]})
    assert "of_anna" not in json.dumps(plain(await async_get_config_entry_diagnostics(hass, entry)))
