"""What the disk has: across restarts, after a crash, and when the file is not what was written."""

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.const import EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.storage import STORAGE_DIR
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.memory.memories import ACCESS_DELAY, FILE, MEMORIES, memories_of
from custom_components.home_agent.memory.model import ALL
from custom_components.home_agent.support.const import DOMAIN
from tests.house import set_up

from .conftest import HOUSE, asked, extracted, said

TEA = "Grandma Ilse drinks only peppermint tea"
KEY = "The spare key hangs on the hook behind the boiler"


@pytest.fixture
def hass_storage() -> dict[str, Any]:
    """Have files written; the harness would only pretend to."""
    return {}


@pytest.fixture
def file(hass: HomeAssistant) -> Path:
    """Return where the memories stand, in a folder that can be written to."""
    folder = Path(hass.config.path(STORAGE_DIR))
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{DOMAIN}.{FILE}"


def on_disk(file: Path) -> list[Mapping[str, Any]]:
    memories: list[Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]["memories"]
    return memories


async def restart(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()


async def test_a_restart_keeps_all(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA), extracted(KEY, metadata={"topics": ["keys"]})])
    before = memories_of(hass).of(None)
    await restart(hass, entry)
    assert memories_of(hass).of(None) == before
    assert [found.memory.content for found in await memories_of(hass).async_find("spare key", HOUSE)] == [KEY]


async def test_a_start_does_not_wait_for_them_and_a_first_question_does(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA)])
    await hass.config_entries.async_unload(entry.entry_id)
    hass.data.pop(MEMORIES)
    hass.set_state(CoreState.not_running)
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert memories_of(hass).of(None) == []
    assert "memories" in asked(entry), "nobody knows yet that there are none"
    assert [found.memory.content for found in await memories_of(hass).async_find("peppermint tea", HOUSE)] == [TEA]


async def test_they_are_read_when_the_home_has_started(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA)])
    await hass.config_entries.async_unload(entry.entry_id)
    hass.data.pop(MEMORIES)
    hass.set_state(CoreState.not_running)
    assert await hass.config_entries.async_setup(entry.entry_id)
    hass.set_state(CoreState.running)
    hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [memory.content for memory in memories_of(hass).of(None)] == [TEA]


async def test_each_change_is_written_at_once_and_accesses_together(
    hass: HomeAssistant, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass)
    memories = memories_of(hass)
    [added] = await memories.async_add([said(TEA)])
    assert [memory["content"] for memory in on_disk(file)] == [TEA]
    await memories.async_find("peppermint tea", HOUSE)
    await memories.async_find("peppermint tea", HOUSE)
    assert on_disk(file)[0]["accesses"] == 0
    freezer.tick(ACCESS_DELAY + 1)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert on_disk(file)[0]["accesses"] == 2
    assert added.memory is not None
    await memories.async_delete([added.memory.id])
    assert on_disk(file) == []


async def test_accesses_are_written_when_it_is_unloaded(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA)])
    await memories_of(hass).async_find("peppermint tea", HOUSE)
    await hass.config_entries.async_unload(entry.entry_id)
    assert on_disk(file)[0]["accesses"] == 1


async def test_a_crash_while_writing_loses_only_what_was_being_written(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA)])
    whole = file.read_bytes()
    await hass.config_entries.async_unload(entry.entry_id)
    half = file.with_name("tmp0123abcd")  # as an interrupted write leaves it: beside the file, which is whole
    half.write_bytes(whole[: len(whole) // 2])
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert [memory.content for memory in memories_of(hass).of(None)] == [TEA]


@pytest.mark.parametrize(
    "broken",
    ["{", "[]", '{"version": 1, "minor_version": 1, "key": "home_agent.memories", "data": {"memories": 3}}'],
    ids=["no JSON", "another shape", "no list"],
)
async def test_a_broken_file_is_set_aside_and_reported(hass: HomeAssistant, file: Path, broken: str) -> None:
    file.write_text(broken, encoding="utf-8")
    await set_up(hass)
    assert [path.read_text(encoding="utf-8") for path in file.parent.glob(f"{file.name}.corrupt.*")] == [broken]
    found = {issue.translation_key for issue in ir.async_get(hass).issues.values()}
    assert found & {"file_broken", "storage_corruption"}
    [added] = await memories_of(hass).async_add([said(TEA)])
    assert added.outcome == "added"
    assert [memory["content"] for memory in on_disk(file)] == [TEA]


async def test_one_memory_that_cannot_be_read_costs_no_other(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA), said(KEY)])
    await hass.config_entries.async_unload(entry.entry_id)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["data"]["memories"][0]["type"] = "rumour"
    file.write_text(json.dumps(content), encoding="utf-8")
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert [memory.content for memory in memories_of(hass).of(None)] == [KEY]
    assert list(file.parent.glob(f"{file.name}.corrupt.*"))


async def test_a_file_of_a_newer_version_is_left_alone(hass: HomeAssistant, file: Path) -> None:
    newer = '{"version": 99, "minor_version": 1, "key": "home_agent.memories", "data": {}}'
    file.write_text(newer, encoding="utf-8")
    await set_up(hass)
    [refused] = await memories_of(hass).async_add([said(TEA)])
    assert (refused.outcome, refused.reason) == ("refused", "unwritable")
    assert file.read_text(encoding="utf-8") == newer


async def test_what_was_cleared_does_not_come_back(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await memories_of(hass).async_add([said(TEA), said(KEY)])
    assert await memories_of(hass).async_clear(ALL) == 2
    await restart(hass, entry)
    assert memories_of(hass).of(None, with_history=True) == []


async def test_it_goes_with_the_entry(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    memories = memories_of(hass)
    await memories.async_add([said(TEA)])
    await hass.config_entries.async_remove(entry.entry_id)
    assert not file.exists()
    [refused] = await memories.async_add([said(TEA)])  # of a turn that still runs
    assert refused.reason == "unwritable"
    assert not file.exists()


async def test_what_has_expired_is_deleted_in_the_interval(
    hass: HomeAssistant, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass, options={"memory": {"fact_ttl": 1, "cleanup_interval": 48}})
    await memories_of(hass).async_add([said(TEA)])
    for hours, left in ((25, 1), (24, 0)):
        freezer.tick(hours * 3600)
        async_fire_time_changed(hass)
        await hass.async_block_till_done(wait_background_tasks=True)
        assert len(on_disk(file)) == left
        assert memories_of(hass).of(None) == []
