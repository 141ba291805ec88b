"""What was said, where settings change, the entry is removed or the history is cleared, also while somebody talks."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.support.const import DOMAIN
from tests.house import say, set_up
from tests.llm_server import LLMServer, text, tool_call

from .conftest import restart, say_all, stored, words

KITCHEN_ON = {"action": "turn_on", "entity_id": "light.kitchen_lights"}

pytestmark = pytest.mark.usefixtures("demo_house")


def key(entry: MockConfigEntry) -> str:
    """Return the name of the file."""
    return f"{DOMAIN}.conversations.{entry.entry_id}"


async def change(hass: HomeAssistant, entry: MockConfigEntry, **settings: Any) -> None:
    """Change settings of all assistants."""
    hass.config_entries.async_update_entry(entry, options={"default_profile_settings": {"processing_config": settings}})
    await hass.async_block_till_done()


@asynccontextmanager
async def answering(hass: HomeAssistant, server: LLMServer, message: str) -> AsyncGenerator[None]:
    """Have a message answered while something else happens, and wait for the answer then."""
    server.plan(text("an answer in five words", pause=0.1))
    before = len(server.requests)
    task = asyncio.create_task(say(hass, message, "a"))
    while len(server.requests) == before:
        await asyncio.sleep(0.01)
    yield
    await task


async def test_what_is_only_in_memory_outlives_a_change_of_settings(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"history_persist": False, "continue_conversation": "user"})
    me = Context(user_id="me")
    await say_all(hass, llm_server, None, "one", context=me)
    await change(hass, entry, history_max_messages=20)
    await say_all(hass, llm_server, None, "two", context=me)
    assert words(llm_server) == ["user: one", "assistant: ok", "user: two"]


async def test_written_once_allowed(hass: HomeAssistant, llm_server: LLMServer, hass_storage: dict[str, Any]) -> None:
    entry = await set_up(
        hass, llm_server, options={"default_profile_settings": {"processing_config": {"history_persist": False}}}
    )
    await say_all(hass, llm_server, "a", "one")
    await change(hass, entry, history_persist=True)
    await restart(hass, entry)
    assert "one" in str(hass_storage[key(entry)])
    await change(hass, entry, history_persist=False)
    await restart(hass, entry)
    assert "one" not in str(hass_storage[key(entry)])


async def test_settings_in_mid_turn(hass: HomeAssistant, llm_server: LLMServer, hass_storage: dict[str, Any]) -> None:
    entry = await set_up(hass, llm_server)
    await say_all(hass, llm_server, "a", "one")
    async with answering(hass, llm_server, "two"):
        await change(hass, entry, history_max_messages=20)
    await say_all(hass, llm_server, "a", "three")
    assert [item["content"] for item in stored(entry)][::2] == ["one", "two", "three"]
    await restart(hass, entry)
    assert "two" in str(hass_storage[key(entry)])


async def test_outliving_turn(hass: HomeAssistant, llm_server: LLMServer, hass_storage: dict[str, Any]) -> None:
    entry = await set_up(hass, llm_server)
    kept = (entry.runtime_data.conversations, entry.runtime_data.journal)
    llm_server.plan(replace(tool_call("ha_control", KITCHEN_ON), delay=0.5), text("Done."))
    task = asyncio.create_task(say(hass, "my secret", "a"))
    while not llm_server.requests:
        await asyncio.sleep(0.01)
    await hass.config_entries.async_remove(entry.entry_id)
    await task
    for file in kept:
        await file.async_close()
    assert hass.states.is_state("light.kitchen_lights", "on")
    assert not [name for name, content in hass_storage.items() if "my secret" in str(content)]
    assert key(entry) not in hass_storage


async def test_an_answer_in_flight_does_not_survive_clearing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    async with answering(hass, llm_server, "my secret"):
        await hass.services.async_call(DOMAIN, "clear_history", {}, blocking=True)
    await say_all(hass, llm_server, "a", "two")
    assert words(llm_server) == ["user: two"]
    await restart(hass, entry)
    await say_all(hass, llm_server, "a", "three")
    assert words(llm_server) == ["user: two", "assistant: ok", "user: three"]


async def test_one_message_is_less_than_a_round(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"history_max_messages": 1})
    await say_all(hass, llm_server, "a", "one", "two")
    assert words(llm_server) == ["user: two"]
