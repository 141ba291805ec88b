"""The files in Home Assistant's storage: whatever is wrong with one, the assistant is there, and the owner learns of it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
import json
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.client.endpoint import SAVE_DELAY as LONGEST_DELAY, ModelFacts
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_things
from custom_components.home_agent.support.storage import RETRY_DELAY, SAVE_DELAY, StoredFile, Trouble, async_sweep
from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import hass_storage  # noqa: F401

FILES = ("conversations", "journal", "models", "knowledge")
NEWER = json.dumps({"version": 9, "minor_version": 1, "key": "k", "data": {"threads": ["hello"]}})
A_LITTLE_NEWER = json.dumps({"version": 1, "minor_version": 99, "key": "k", "data": {"threads": ["hello"]}})


@pytest.fixture
def storage(hass: HomeAssistant) -> Path:
    folder = Path(hass.config.path(".storage"))
    folder.mkdir(exist_ok=True)
    return folder


async def use_all(hass: HomeAssistant, entry: MockConfigEntry, server: LLMServer) -> None:
    turn_on = tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
    server.plan(text("Hello."), turn_on, text("It is on."))
    assert speech(await say(hass, "hello")) == "Hello."
    assert speech(await say(hass, "turn on bed light")) == "It is on."
    document = {"title": "Pump", "text": "The pump runs for four hours."}
    await hass.services.async_call(DOMAIN, "add_document", document, blocking=True, return_response=True)
    entry.runtime_data.endpoints["llm-1"]._statistics.note("a model", ModelFacts(window=4096))


async def loaded_again(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Load the entry as after a start: with nothing in memory. Its documents are read then."""
    kept_things(hass).forget()
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert entry.state is ConfigEntryState.LOADED


@pytest.fixture
async def entry(hass: HomeAssistant, storage: Path, llm_server: LLMServer) -> MockConfigEntry:
    await build_house(hass)
    entry = await set_up(hass, llm_server)
    await hass.async_block_till_done(wait_background_tasks=True)
    await hass.config_entries.async_unload(entry.entry_id)
    return entry


@pytest.fixture(params=FILES)
def file(request: pytest.FixtureRequest, storage: Path, entry: MockConfigEntry) -> Path:
    name = f"{DOMAIN}.{request.param}"
    path = storage / (name if request.param == "knowledge" else f"{name}.{entry.entry_id}")
    assert not path.exists()
    return path


def told(hass: HomeAssistant) -> dict[str, str]:
    """Return what Repairs says of files: names by what is wrong with them."""
    issues = [issue for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN]
    return {str(issue.translation_key): (issue.translation_placeholders or {})["file"] for issue in issues}


async def test_all_comes_back(hass: HomeAssistant, entry: MockConfigEntry, file: Path, llm_server: LLMServer) -> None:
    await loaded_again(hass, entry)
    await use_all(hass, entry, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    written = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    await loaded_again(hass, entry)
    runtime = entry.runtime_data
    assert runtime.conversations.counts["conversations"] == 2
    assert len(runtime.journal.newest_first(lambda action: True)) == 1
    assert runtime.knowledge.counts["documents"] == 1
    assert runtime.endpoints["llm-1"]._statistics.of("a model").window == 4096
    await hass.config_entries.async_unload(entry.entry_id)
    assert file.read_text() == written
    assert not told(hass)


@pytest.mark.parametrize("content", [
    pytest.param(NEWER, id="newer"), pytest.param(A_LITTLE_NEWER, id="a little newer"), pytest.param(None, id="unreadable"),
])  # fmt: skip
async def test_file_that_may_not_be_replaced_is_left_as_it_is(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    file: Path,
    llm_server: LLMServer,
    caplog: pytest.LogCaptureFixture,
    content: str | None,
) -> None:
    if content is None:
        file.mkdir()  # the disk gives no content
    else:
        file.write_text(content)
    await loaded_again(hass, entry)
    assert told(hass) == {Trouble.UNREADABLE if content is None else Trouble.NEWER: file.name}
    await use_all(hass, entry, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    assert file.is_dir() if content is None else file.read_text() == content
    assert caplog.text.count("What was stored cannot be used") == 1


@pytest.mark.parametrize("data", ["[]", "3", '"words"', '{"actions": "words", "documents": 3, "conversations": {}}'])
async def test_file_of_another_shape_is_set_aside(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path, llm_server: LLMServer, data: str
) -> None:
    content = f'{{"version": 1, "minor_version": 1, "key": "k", "data": {data}}}'
    file.write_text(content)
    await loaded_again(hass, entry)
    assert (file.parent / told(hass)[Trouble.BROKEN]).read_text() == content
    await use_all(hass, entry, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    assert json.loads(file.read_text())["data"] != json.loads(data)


@pytest.mark.parametrize("content", ["[]", "3", "{", "\x00"])
async def test_a_foreign_file(hass: HomeAssistant, entry: MockConfigEntry, file: Path, content: str) -> None:
    file.write_text(content)
    await loaded_again(hass, entry)
    assert [item.read_text() for item in file.parent.glob(f"{file.name}.corrupt.*")] == [content]
    assert ir.async_get(hass).issues  # ours, or Home Assistant's own


@pytest.mark.parametrize("item", [{}, "words", None, {"when": "2026-11-20T10:00:00"}])
async def test_item_that_is_none_costs_only_itself(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path, llm_server: LLMServer, item: Any
) -> None:
    await loaded_again(hass, entry)
    await use_all(hass, entry, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    content = json.loads(file.read_text())
    for key, items in content["data"].items():
        if isinstance(items, list):
            items.append({**items[0], **item} if item and isinstance(item, dict) and key != "collections" else item)
    content["data"].setdefault("another", item)
    file.write_text(json.dumps(content))
    await loaded_again(hass, entry)
    runtime = entry.runtime_data
    assert runtime.conversations.counts["conversations"] == 2
    assert len(runtime.journal.newest_first(lambda action: True)) == 1
    assert runtime.knowledge.counts["documents"] == 1
    assert runtime.endpoints["llm-1"]._statistics.of("a model").window == 4096


@pytest.mark.parametrize("content", [
    "{}",
    '{"version": 1, "minor_version": 1, "key": "k", "data": null}',
    '{"version": 1, "minor_version": 1, "key": "k", "data": {"actions": [1], "documents": ["a"], "conversations": [{}]}}',
    '{"version": 1, "data": {"actions": [{"id": 3}], "documents": [[]], "conversations": [{"a": 1}]}, "key": "k"}',
    "[1, 2]",
    '"words"',
])  # fmt: skip
async def test_file_of_which_nothing_can_be_read_is_never_overwritten(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path, llm_server: LLMServer, content: str
) -> None:
    file.write_text(content)
    await loaded_again(hass, entry)
    [copy] = file.parent.glob(f"{file.name}.corrupt.*")
    assert copy.read_text() == content
    assert told(hass) == {Trouble.BROKEN: copy.name}
    await use_all(hass, entry, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    assert copy.read_text() == content
    assert file.exists()


async def test_of_a_file_with_items_that_are_none_a_copy_is_kept(
    hass: HomeAssistant, entry: MockConfigEntry, storage: Path, llm_server: LLMServer
) -> None:
    await loaded_again(hass, entry)
    await use_all(hass, entry, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    file = storage / f"{DOMAIN}.journal.{entry.entry_id}"
    content = json.loads(file.read_text())
    content["data"]["actions"].append({"words": "precious"})
    file.write_text(json.dumps(content))
    for _ in range(2):  # one copy, however often it is read
        await loaded_again(hass, entry)
        [copy] = storage.glob(f"{file.name}.corrupt.*")
        assert "precious" in copy.read_text()
        assert told(hass) == {Trouble.BROKEN: copy.name}
        assert len(entry.runtime_data.journal.newest_first(lambda action: True)) == 1
        await hass.config_entries.async_unload(entry.entry_id)


async def test_what_interrupted_writes_left_is_swept(hass: HomeAssistant, storage: Path) -> None:
    ours = [storage / "tmpabcd1234", storage / "tmp_x"]
    for path in ours:
        path.write_text('{"version": 1,"minor_version": 1,"key": "home_agent.journal.x","data": {"actions": [')
    others = [storage / "tmpother", storage / "tmpempty", storage / "home_agent.journal.x", storage / "tmpfolder"]
    others[0].write_text('{"version": 1, "key": "core.config_entries", "data": {"key": "home_agent')
    others[1].write_text("")
    others[2].write_text('{"key": "home_agent.journal.x"}')
    others[3].mkdir()
    await async_sweep(hass)
    assert [path.exists() for path in (*ours, *others)] == [False, False, True, True, True, True]


async def test_full_disk_is_told_until_there_is_room(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    file: Path,
    llm_server: LLMServer,
    full_disk: Callable[[], AbstractContextManager[None]],
    freezer: FrozenDateTimeFactory,
) -> None:
    await loaded_again(hass, entry)
    with full_disk():
        await use_all(hass, entry, llm_server)
        freezer.tick(LONGEST_DELAY + 1)
        async_fire_time_changed(hass)
        await hass.async_block_till_done()
        issue = ir.async_get(hass).async_get_issue(DOMAIN, f"{Trouble.UNWRITABLE}_{file.name}")
        assert issue is not None
        assert not file.exists()
    freezer.tick(RETRY_DELAY + 1)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert not told(hass)
    assert file.exists()


async def test_nothing_is_left_to_write_when_the_entry_is_gone(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    file: Path,
    llm_server: LLMServer,
    full_disk: Callable[[], AbstractContextManager[None]],
    freezer: FrozenDateTimeFactory,
) -> None:
    await loaded_again(hass, entry)
    with full_disk():
        await use_all(hass, entry, llm_server)
        await hass.config_entries.async_remove(entry.entry_id)
    freezer.tick(RETRY_DELAY + 1)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert not file.exists()
    assert not told(hass)


async def test_what_was_cleared_is_off_the_disk_at_once(
    hass: HomeAssistant, entry: MockConfigEntry, storage: Path, llm_server: LLMServer, freezer: FrozenDateTimeFactory
) -> None:
    file = storage / f"{DOMAIN}.conversations.{entry.entry_id}"
    await loaded_again(hass, entry)
    await use_all(hass, entry, llm_server)
    freezer.tick(SAVE_DELAY)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert "Hello." in file.read_text()
    await hass.services.async_call(DOMAIN, "clear_history", {}, blocking=True, return_response=True)
    assert "Hello." not in file.read_text()


async def test_document_that_was_removed_is_off_the_disk_at_once(
    hass: HomeAssistant, entry: MockConfigEntry, storage: Path, llm_server: LLMServer
) -> None:
    await loaded_again(hass, entry)
    await use_all(hass, entry, llm_server)
    assert "four hours" in (storage / f"{DOMAIN}.knowledge").read_text()
    key = {"document": "text:knowledge/Pump"}
    await hass.services.async_call(DOMAIN, "remove_document", key, blocking=True, return_response=True)
    assert "four hours" not in (storage / f"{DOMAIN}.knowledge").read_text()


async def test_what_is_left_is_written_when_home_assistant_stops(hass: HomeAssistant, storage: Path) -> None:
    content = {"a": "first"}
    file = StoredFile(hass, "test", lambda: content, lambda *_: pytest.fail("nothing is wrong"))
    file.async_changed()
    content["a"] = "last"
    await hass.async_stop(force=True)
    assert json.loads((storage / f"{DOMAIN}.test").read_text())["data"] == {"a": "last"}
    assert hass.state is CoreState.stopped


@pytest.mark.parametrize("change", [StoredFile.async_write, None], ids=["at once", "soon"])
async def test_what_found_no_room_is_written_when_home_assistant_stops(
    hass: HomeAssistant,
    storage: Path,
    full_disk: Callable[[], AbstractContextManager[None]],
    freezer: FrozenDateTimeFactory,
    change: Callable[[StoredFile], Awaitable[None]] | None,
) -> None:
    troubles: list[bool] = []
    file = StoredFile(hass, "test", lambda: {"a": "said"}, lambda _trouble, _name, there: troubles.append(there))
    with full_disk():
        if change is None:
            file.async_changed()
            freezer.tick(SAVE_DELAY)
            async_fire_time_changed(hass)
            await hass.async_block_till_done()
        else:
            await change(file)
        assert troubles == [True]
    await hass.async_stop(force=True)
    assert json.loads((storage / f"{DOMAIN}.test").read_text())["data"] == {"a": "said"}
    assert file.is_written


@pytest.mark.parametrize("when", ["before", "afterwards"])
async def test_what_found_no_room_before_the_entry_was_unloaded_is_written_at_the_stop(
    hass: HomeAssistant, storage: Path, full_disk: Callable[[], AbstractContextManager[None]], when: str
) -> None:
    """Also what a turn that still runs adds after the entry was unloaded."""
    file = StoredFile(hass, "test", lambda: {"a": "said"}, lambda *_: None)
    with full_disk():
        if when == "before":
            await file.async_write()
        await file.async_close()
        if when == "afterwards":
            file.async_changed()
    await hass.async_stop(force=True)
    assert json.loads((storage / f"{DOMAIN}.test").read_text())["data"] == {"a": "said"}


async def test_what_found_no_room_is_not_written_behind_the_back_of_the_next(
    hass: HomeAssistant, storage: Path, full_disk: Callable[[], AbstractContextManager[None]]
) -> None:
    file = StoredFile(hass, "test", lambda: {"a": "older"}, lambda *_: None)
    with full_disk():
        await file.async_write()
        await file.async_close()
    newer = StoredFile(hass, "test", lambda: {"a": "newer"}, lambda *_: None)
    await newer.async_write()
    await hass.async_stop(force=True)
    assert json.loads((storage / f"{DOMAIN}.test").read_text())["data"] == {"a": "newer"}


async def test_older_content_never_replaces_newer(hass: HomeAssistant, storage: Path) -> None:
    content = {"number": 0}
    file = StoredFile(hass, "test", lambda: dict(content), lambda *_: pytest.fail("nothing is wrong"))
    for number in range(20):
        content["number"] = number
        hass.async_create_task(file.async_write())
    await hass.async_block_till_done()
    await file.async_close()
    assert json.loads((storage / f"{DOMAIN}.test").read_text())["data"] == {"number": 19}


async def test_settings_change_while_the_disk_is_full(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    llm_server: LLMServer,
    full_disk: Callable[[], AbstractContextManager[None]],
    freezer: FrozenDateTimeFactory,
) -> None:
    """What is known stays in memory, is found under the new settings, and is written when there is room."""
    await loaded_again(hass, entry)
    runtime = entry.runtime_data
    with full_disk():
        await use_all(hass, entry, llm_server)
        for options in ({"retrieval": {"collection": "my_house"}}, {"memory": {"collection": "others"}}, {}):
            hass.config_entries.async_update_entry(entry, options=options)
            await hass.async_block_till_done(wait_background_tasks=True)
            assert await runtime.knowledge.async_find("how long does the pump run")
        assert not ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}")
    freezer.tick(max(RETRY_DELAY, LONGEST_DELAY) + 1)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert entry.runtime_data is runtime
    assert not told(hass)
    kept = Path(hass.config.path(".storage", f"{DOMAIN}.knowledge"))
    assert "The pump runs for four hours." in kept.read_text()


async def test_the_file_of_the_store_cannot_be_written_when_settings_change(
    hass: HomeAssistant, entry: MockConfigEntry, llm_server: LLMServer, storage: Path
) -> None:
    """The store is an aid: documents are found by their words, and its file is made when that is possible again."""
    await loaded_again(hass, entry)
    await use_all(hass, entry, llm_server)
    await hass.async_block_till_done(wait_background_tasks=True)
    path = storage / "home_agent.documents.db"
    for one in storage.glob("home_agent.documents.db*"):
        one.unlink()
    path.mkdir()
    hass.config_entries.async_update_entry(entry, options={"retrieval": {"collection": "my_house"}})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert entry.state is ConfigEntryState.LOADED
    assert await entry.runtime_data.knowledge.async_find("how long does the pump run")
    path.rmdir()
    hass.config_entries.async_update_entry(entry, options={"retrieval": {"collection": "our_house"}})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert len(await entry.runtime_data.library.vectors.store.async_collections()) == 1


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("odd", ["half \ud83d", 2**70, nested(400), object(), {"\udc00": 1}], ids=range(5))
async def test_a_value_that_json_cannot_hold_keeps_nothing_else_off_the_disk(
    hass: HomeAssistant, storage: Path, odd: object
) -> None:
    rows: list[object] = ["first", odd]
    file = StoredFile(hass, "test", lambda: {"rows": rows}, lambda *_: pytest.fail("the disk is all right"))
    assert await file.async_write()
    rows.append("last")
    file.async_changed()
    assert await file.async_flush()
    first, _, last = json.loads((storage / f"{DOMAIN}.test").read_text())["data"]["rows"]
    assert (first, last) == ("first", "last")


async def test_a_value_that_json_cannot_hold_is_written_when_home_assistant_stops(
    hass: HomeAssistant, storage: Path
) -> None:
    rows: list[object] = ["first"]
    file = StoredFile(hass, "test", lambda: {"rows": rows}, lambda *_: pytest.fail("the disk is all right"))
    rows.append("half \ud83d")
    file.async_changed()
    await hass.async_stop(force=True)
    assert json.loads((storage / f"{DOMAIN}.test").read_text())["data"]["rows"] == ["first", "half ?"]
