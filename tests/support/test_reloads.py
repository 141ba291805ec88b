"""Reloads and removals in the middle of a turn: what is told then is true, and nothing of them stays behind."""

import asyncio
from contextlib import suppress
from dataclasses import replace
import json
from pathlib import Path

from homeassistant.const import EVENT_HOMEASSISTANT_FINAL_WRITE
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.support.const import DOMAIN
from tests.house import act, build_house, say, set_up, speech, until
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import hass_storage  # noqa: F401

KEY = {"content": "The spare key hangs behind the boiler"}
BED_ON = {"action": "turn_on", "entity_id": "light.bed_light"}
LATE = 0.4  # seconds


@pytest.fixture
async def entry(hass: HomeAssistant, house: None, llm_server: LLMServer) -> MockConfigEntry:
    Path(hass.config.path(".storage")).mkdir(exist_ok=True)
    await build_house(hass)
    entry = await set_up(hass, llm_server)
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


def files(hass: HomeAssistant) -> dict[str, str]:
    """Return what our files hold, by their names."""
    found = Path(hass.config.path(".storage")).glob(f"{DOMAIN}.*")
    held: dict[str, str] = {}
    for path in found:
        with suppress(FileNotFoundError):  # a copy that was being written
            held[path.name.removeprefix(f"{DOMAIN}.").partition(".")[0]] = path.read_text(errors="replace")
    return held


async def test_a_memory_is_refused_for_that_reason(
    hass: HomeAssistant, entry: MockConfigEntry, llm_server: LLMServer
) -> None:
    llm_server.plan(replace(tool_call("store_memory", KEY), delay=LATE), text("Later, then."))
    turn = hass.async_create_task(say(hass, "keep in mind where the key is"))
    await until(lambda: llm_server.requests)
    await hass.config_entries.async_unload(entry.entry_id)
    await turn
    result = json.loads(llm_server.request.body["messages"][-1]["content"])
    assert result["error"] == "Nothing was done: Home Agent is being reloaded. Call this again in a moment."


async def test_an_action_is_refused_for_that_reason(
    hass: HomeAssistant, entry: MockConfigEntry, admin: Context
) -> None:
    await hass.config_entries.async_unload(entry.entry_id)
    async with entry.setup_lock:
        with pytest.raises(ServiceValidationError) as raised:
            await act(hass, "add_memory", admin, **KEY)
    assert raised.value.translation_key == "reloading"


async def test_an_action_that_ends_after_it_is_on_the_disk(
    hass: HomeAssistant, entry: MockConfigEntry, llm_server: LLMServer
) -> None:
    llm_server.plan(replace(tool_call("ha_control", BED_ON), delay=LATE), text("It is on."))
    turn = hass.async_create_task(say(hass, "a little light"))
    await until(lambda: llm_server.requests)
    await hass.config_entries.async_unload(entry.entry_id)
    assert speech(await turn) == "It is on."
    assert "a little light" in files(hass)["journal"]


async def test_a_turn_that_ends_after_the_removal_writes_nothing(
    hass: HomeAssistant, entry: MockConfigEntry, llm_server: LLMServer
) -> None:
    late = replace(tool_call("ha_control", BED_ON), delay=LATE)
    llm_server.plan(late, replace(text("It is on.", usage={"prompt_tokens": 9000, "completion_tokens": 3})))
    turn = hass.async_create_task(say(hass, "a little light"))
    await until(lambda: llm_server.requests)
    await hass.config_entries.async_remove(entry.entry_id)
    await turn
    await hass.async_stop(force=True)
    assert not files(hass)


async def test_reloads_leave_no_listeners(hass: HomeAssistant, entry: MockConfigEntry, llm_server: LLMServer) -> None:
    listeners: list[int] = []
    for number in range(8):
        llm_server.plan(replace(tool_call("ha_control", BED_ON), delay=LATE), text("It is on."))
        turn = hass.async_create_task(say(hass, f"light number {number}"))
        await until(lambda: len(llm_server.requests) % 2)
        await hass.config_entries.async_reload(entry.entry_id)
        await turn
        await hass.async_block_till_done(wait_background_tasks=True)
        listeners.append(hass.bus.async_listeners().get(EVENT_HOMEASSISTANT_FINAL_WRITE, 0))
    assert listeners[-1] - listeners[0] < 5  # files of Home Assistant come and go by two


async def test_what_was_learned_last_is_written(
    hass: HomeAssistant, entry: MockConfigEntry, llm_server: LLMServer
) -> None:
    for message in ("one", "two"):
        llm_server.plan(replace(tool_call("ha_control", BED_ON), delay=LATE), text("It is on."))
        turn = hass.async_create_task(say(hass, message))
        await until(lambda: len(llm_server.requests) % 2)
        await hass.config_entries.async_reload(entry.entry_id)
        await turn
    await hass.async_stop(force=True)
    assert {"one", "two"} <= {action["words"] for action in json.loads(files(hass)["journal"])["data"]["actions"]}


async def test_many_wait_for_one_write(hass: HomeAssistant, entry: MockConfigEntry, admin: Context) -> None:
    adding = [act(hass, "add_memory", admin, content=f"Shelf {number} holds box {number}") for number in range(20)]
    reload = hass.config_entries.async_reload(entry.entry_id)
    *added, _ = await asyncio.gather(*adding, reload, return_exceptions=True)
    told = {row["memory_id"] for row in added if isinstance(row, dict) and "note" not in row}
    assert all(memory_id in files(hass)["memories"] for memory_id in told)
