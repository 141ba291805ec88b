"""What the disk has: across restarts, after a crash, and when the file is not what was written."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
import errno
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_HOMEASSISTANT_STARTED
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.storage import STORAGE_DIR
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_fire_time_changed

from custom_components.home_agent.memory.memories import ACCESS_DELAY, Memories
from custom_components.home_agent.memory.recall import BATCH
from custom_components.home_agent.memory.record import ALL, Scope
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.support.kept import kept_of, kept_things
from tests.house import say, set_up
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import hass_storage  # noqa: F401

from .conftest import HOUSE, asked, extracted, said

TEA = "Grandma Ilse drinks only peppermint tea"
KEY = "The spare key hangs on the hook behind the boiler"

NUTS = "Ben must not eat hazelnuts"


@pytest.fixture
def file(hass: HomeAssistant) -> Path:
    """Return where the memories stand, in a folder that can be written to."""
    folder = Path(hass.config.path(STORAGE_DIR))
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{DOMAIN}.{Memories.file}"


def on_disk(file: Path) -> list[Mapping[str, Any]]:
    memories: list[Mapping[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["data"]["memories"]
    return memories


async def restart(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()


async def test_a_restart_keeps_all(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA), extracted(KEY, metadata={"topics": ["keys"]})])
    before = kept_of(hass, Memories).of(None)
    await restart(hass, entry)
    assert kept_of(hass, Memories).of(None) == before
    assert [found.memory.content for found in await kept_of(hass, Memories).async_find("spare key", HOUSE)] == [KEY]


async def test_a_start_does_not_wait_for_them_and_a_first_question_does(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA)])
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    for entity_id in (
        "media_player.kitchen",
        "climate.kitchen",
        "todo.shopping",
    ):  # what the shipped extensions are about
        hass.states.async_set(entity_id, "on")
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    hass.set_state(CoreState.not_running)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert kept_of(hass, Memories).of(None) == []
    assert "memories" in asked(entry), "nobody knows yet that there are none"
    assert [found.memory.content for found in await kept_of(hass, Memories).async_find("peppermint tea", HOUSE)] == [
        TEA
    ]


async def test_a_first_question_waits_until_all_that_was_read_can_be_found(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    memories = kept_of(hass, Memories)
    lines = [f"The {number:05} plank of the fence was painted by Ilse" for number in range(4 * BATCH)]
    memories.settings = replace(memories.settings, dedup_threshold=1.1, max_memories=len(lines) + 1)
    await memories.async_add([said(line) for line in lines[:1]])
    content = json.loads(file.read_text(encoding="utf-8"))
    [first] = content["data"]["memories"]
    content["data"]["memories"] = [first | {"id": str(uuid4()), "content": line} for line in lines]
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    file.write_text(json.dumps(content), encoding="utf-8")
    hass.set_state(CoreState.not_running)
    assert await hass.config_entries.async_setup(entry.entry_id)
    wanted = lines[-1]
    found = await kept_of(hass, Memories).async_find(wanted, HOUSE, limit=1)
    assert [item.memory.content for item in found] == [wanted]


async def test_who_gives_up_waiting_does_not_stop_the_reading(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA)])
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    hass.set_state(CoreState.not_running)
    assert await hass.config_entries.async_setup(entry.entry_id)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await kept_of(hass, Memories).async_load()
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [memory.content for memory in kept_of(hass, Memories).of(None)] == [TEA]


async def test_they_are_read_when_the_home_has_started(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA)])
    await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    hass.set_state(CoreState.not_running)
    assert await hass.config_entries.async_setup(entry.entry_id)
    hass.set_state(CoreState.running)
    hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert [memory.content for memory in kept_of(hass, Memories).of(None)] == [TEA]


async def test_changes_at_once_and_access_late(hass: HomeAssistant, file: Path, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass)
    memories = kept_of(hass, Memories)
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
    await kept_of(hass, Memories).async_add([said(TEA)])
    await kept_of(hass, Memories).async_find("peppermint tea", HOUSE)
    await hass.config_entries.async_unload(entry.entry_id)
    assert on_disk(file)[0]["accesses"] == 1


async def test_a_crash_while_writing_loses_only_what_was_being_written(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA)])
    whole = file.read_bytes()
    await hass.config_entries.async_unload(entry.entry_id)
    half = file.with_name("tmp0123abcd")  # as an interrupted write leaves it: beside the file, which is whole
    half.write_bytes(whole[: len(whole) // 2])
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    assert [memory.content for memory in kept_of(hass, Memories).of(None)] == [TEA]


async def test_a_full_disk_is_told_and_what_it_did_not_take_is_written_later(
    hass: HomeAssistant, file: Path, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told that something is stored, or gone, which the next start undoes."""
    await set_up(hass, llm_server)
    await kept_of(hass, Memories).async_add([said(KEY)])

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def told(tool: str, **arguments: str) -> Any:
        llm_server.plan(tool_call(tool, arguments), text("Good."))
        await say(hass, "well")
        return json.loads(llm_server.request.body["messages"][-1]["content"].partition("\n")[0])["result"]

    with monkeypatch.context() as patched:  # the one failure that no test can make happen
        patched.setattr("homeassistant.util.file.AtomicWriter", full)
        assert "restart would undo" in (await told("store_memory", content=TEA))["note"]
        assert "restart would undo" in (await told("forget_memory", query="spare key"))["note"]
        assert [memory["content"] for memory in on_disk(file)] == [KEY]
        assert (DOMAIN, f"file_unwritable_{DOMAIN}.{Memories.file}") in ir.async_get(hass).issues
    assert "note" not in await told("store_memory", content="Leo has football on Thursdays")
    assert [memory["content"] for memory in on_disk(file)] == [TEA, "Leo has football on Thursdays"]
    assert (DOMAIN, f"file_unwritable_{DOMAIN}.{Memories.file}") not in ir.async_get(hass).issues


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
    [added] = await kept_of(hass, Memories).async_add([said(TEA)])
    assert added.outcome == "added"
    assert [memory["content"] for memory in on_disk(file)] == [TEA]


async def test_one_memory_that_cannot_be_read_costs_no_other(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA), said(KEY)])
    await hass.config_entries.async_unload(entry.entry_id)
    content = json.loads(file.read_text(encoding="utf-8"))
    content["data"]["memories"][0]["type"] = "rumour"
    file.write_text(json.dumps(content), encoding="utf-8")
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert [memory.content for memory in kept_of(hass, Memories).of(None)] == [KEY]
    assert list(file.parent.glob(f"{file.name}.corrupt.*"))


async def test_a_file_of_a_newer_version_is_left_alone(hass: HomeAssistant, file: Path) -> None:
    newer = '{"version": 99, "minor_version": 1, "key": "home_agent.memories", "data": {}}'
    file.write_text(newer, encoding="utf-8")
    await set_up(hass)
    [refused] = await kept_of(hass, Memories).async_add([said(TEA)])
    assert (refused.outcome, refused.reason) == ("refused", "unwritable")
    assert file.read_text(encoding="utf-8") == newer


async def test_what_was_cleared_does_not_come_back(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    await kept_of(hass, Memories).async_add([said(TEA), said(KEY)])
    assert await kept_of(hass, Memories).async_clear(ALL) == 2
    await restart(hass, entry)
    assert kept_of(hass, Memories).of(None, with_history=True) == []


@pytest.mark.parametrize("is_restarted", [True, False], ids=["restart", "reload"])
async def test_memories_of_a_user_who_was_deleted_meanwhile_are_dropped(
    hass: HomeAssistant, file: Path, is_restarted: bool
) -> None:
    anna, ben = (MockUser(name=name).add_to_hass(hass) for name in ("Anna", "Ben"))
    entry = await set_up(hass)
    memories = kept_of(hass, Memories)
    await memories.async_add([said(TEA), said(KEY, owner=anna.id), said(NUTS, owner=ben.id)])
    [old] = memories.of(None, owner=anna.id)
    await memories.async_add([said("The spare key hangs in the garage", owner=anna.id, replaces=frozenset({old.id}))])
    await hass.config_entries.async_unload(entry.entry_id)
    await hass.auth.async_remove_user(anna)
    if is_restarted:
        kept_things(hass).forget()
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    memories = kept_of(hass, Memories)
    assert [memory.content for memory in memories.of(None, with_history=True)] == [TEA, NUTS]
    assert [memory["content"] for memory in on_disk(file)] == [TEA, NUTS]
    scope = Scope(owners=frozenset({None, anna.id}), owner=anna.id)
    assert await memories.async_find("spare key", scope) == []


async def test_it_goes_with_the_entry(hass: HomeAssistant, file: Path) -> None:
    entry = await set_up(hass)
    memories = kept_of(hass, Memories)
    await memories.async_add([said(TEA)])
    await hass.config_entries.async_remove(entry.entry_id)
    assert not file.exists()
    [refused] = await memories.async_add([said(TEA)])  # of a turn that still runs
    assert refused.reason == "unwritable"
    assert not file.exists()


async def test_expired_rows_are_deleted(hass: HomeAssistant, file: Path, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass, options={"memory": {"fact_ttl": 1, "cleanup_interval": 48}})
    await kept_of(hass, Memories).async_add([said(TEA)])
    for hours, left in ((25, 1), (24, 0)):
        freezer.tick(hours * 3600)
        async_fire_time_changed(hass)
        await hass.async_block_till_done(wait_background_tasks=True)
        assert len(on_disk(file)) == left
        assert kept_of(hass, Memories).of(None) == []


async def test_what_expired_while_it_was_not_running_is_deleted_when_the_home_has_started(
    hass: HomeAssistant, file: Path, freezer: FrozenDateTimeFactory
) -> None:
    entry = await set_up(hass, options={"memory": {"fact_ttl": 1}})
    await kept_of(hass, Memories).async_add([said(TEA)])
    for state in (CoreState.not_running, CoreState.running):
        await hass.config_entries.async_unload(entry.entry_id)
        kept_things(hass).forget()
        freezer.tick(25 * 3600)
        hass.set_state(state)
        assert await hass.config_entries.async_setup(entry.entry_id)
        hass.set_state(CoreState.running)
        hass.bus.async_fire(EVENT_HOMEASSISTANT_STARTED)
        await hass.async_block_till_done(wait_background_tasks=True)
        assert on_disk(file) == []
        await kept_of(hass, Memories).async_add([said(TEA)])
