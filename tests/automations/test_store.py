"""Automations are written, seen to be there, and put back otherwise; on a Home Assistant that reads its own files."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
import os
from pathlib import Path
import stat
import threading
from typing import Any
from unittest.mock import patch

from aiohttp.test_utils import TestClient
from homeassistant.config import async_hass_config_yaml
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.automations import store as store_module
from custom_components.home_agent.automations.store import AutomationStore, WrittenAutomation, automation_store
from custom_components.home_agent.support.errors import ToolError, ToolRefusal

HALL = """\
# The lamp of the hall
- id: hall
  alias: Hall lamp  # since spring
  triggers:
    - trigger: state
      entity_id: binary_sensor.hall
  actions:
    - action: test.lamp
"""
CELLAR = """\
- id: cellar
  alias: Cellar
  triggers: []
  actions:
    - action: test.tell
      data:
        message: !secret greeting
        to: http://ann:pw123@example.test/x
"""
FILE = f"{HALL}\n{CELLAR}# end\n"
GARAGE: Mapping[str, Any] = {
    "alias": "Garage at night",
    "triggers": [{"trigger": "state", "entity_id": ["cover.garage"], "to": "open"}],
    "conditions": [{"condition": "time", "after": "21:00:00"}],
    "actions": [{"action": "test.tell", "data": {"message": "The garage is open"}}],
    "mode": "single",
}
CONFIGURATION = "automation: !include automations.yaml\n"


@pytest.fixture
def folder(hass_config_dir: str) -> Path:
    """Return the configuration folder, with a file of two automations and a secret."""
    path = Path(hass_config_dir)
    for name, text in (
        ("configuration.yaml", CONFIGURATION),
        ("automations.yaml", FILE),
        ("secrets.yaml", "greeting: Welcome home\npin: 1234\nshort: abc\n"),
    ):
        (path / name).write_text(text)
    return path


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "automations.yaml"


async def started(hass: HomeAssistant) -> AutomationStore:
    """Return the store, once Home Assistant has its automations from the files."""
    config = await async_hass_config_yaml(hass)
    assert await async_setup_component(hass, "automation", {"automation": [], **config})
    await hass.async_block_till_done()
    return automation_store(hass)


@pytest.fixture
async def store(hass: HomeAssistant, folder: Path) -> AutomationStore:
    return await started(hass)


@pytest.fixture
async def editor(
    hass: HomeAssistant, store: AutomationStore, file: Path, socket_enabled: None, hass_client: ClientSessionGenerator
) -> AsyncGenerator[TestClient[Any, Any]]:
    """Return a client of Home Assistant's own editor, which reads no file with a secret in it."""
    file.write_text(HALL)
    assert await async_setup_component(hass, "config", {})
    yield await hass_client()
    await hass.async_block_till_done()


async def mark(store: AutomationStore, automation_id: str) -> str:
    item = await store.async_item(automation_id)
    assert item is not None
    return item.fingerprint


async def refusal(write: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await write
    return caught.value


def ids(hass: HomeAssistant) -> list[str]:
    return sorted(str(state.attributes["id"]) for state in hass.states.async_all("automation"))


def put(
    store: AutomationStore, config: Mapping[str, Any] | None = GARAGE, automation_id: str = "new", **more: Any
) -> Any:
    return store.async_put(automation_id, config, **{"expected": None, **more})


# Written


async def test_a_new_one_is_in_the_file_and_runs(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    written: WrittenAutomation = await put(store)
    state = hass.states.get(written.entity_id or "")
    assert state is not None
    assert (state.state, state.attributes["id"], state.name) == ("on", "new", "Garage at night")
    assert written.before is None
    assert written.after == await store.async_item("new")
    assert file.read_text().startswith(f"{HALL}\n{CELLAR}- id: new\n")
    assert file.read_text().endswith("# end\n")


async def test_the_new_one_acts(hass: HomeAssistant, store: AutomationStore, freezer: Any) -> None:
    await hass.config.async_set_time_zone("UTC")
    told: list[ServiceCall] = []
    hass.services.async_register("test", "tell", told.append)
    await put(store)
    for hour, count in (("20:00", 0), ("21:30", 1)):
        freezer.move_to(f"2026-11-28 {hour}:00+00:00")
        hass.states.async_set("cover.garage", "closed")
        await hass.async_block_till_done()
        hass.states.async_set("cover.garage", "open")
        await hass.async_block_till_done()
        assert len(told) == count


async def test_a_change_leaves_the_others(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    written: WrittenAutomation = await put(store, GARAGE, "hall", expected=await mark(store, "hall"))
    assert written.entity_id == "automation.hall_lamp"
    state = hass.states.get("automation.hall_lamp")
    assert state is not None
    assert state.name == "Garage at night"
    assert file.read_text().endswith(f"\n{CELLAR}# end\n")
    assert file.read_text().startswith("# The lamp of the hall\n- id: hall\n  alias: Garage at night\n")


async def test_a_change_is_undone_to_the_byte(store: AutomationStore, file: Path) -> None:
    first: WrittenAutomation = await put(store, GARAGE, "hall", expected=await mark(store, "hall"))
    assert first.before is not None
    await put(store, None, "hall", expected=await mark(store, "hall"), text=first.before.text, place=first.before.place)
    assert file.read_text() == FILE


async def test_a_deleted_one_is_gone_with_its_entity(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    written: WrittenAutomation = await put(store, None, "hall", expected=await mark(store, "hall"))
    assert written.after is None
    assert hass.states.get("automation.hall_lamp") is None
    assert er.async_get(hass).async_get("automation.hall_lamp") is None
    assert file.read_text() == f"\n{CELLAR}# end\n"


async def test_a_deletion_is_undone_to_the_byte_and_the_entity_is_as_before(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    area = ar.async_get(hass).async_create("Hall")
    er.async_get(hass).async_update_entity("automation.hall_lamp", area_id=area.id, new_entity_id="automation.mine")
    await hass.async_block_till_done()
    gone: WrittenAutomation = await put(store, None, "hall", expected=await mark(store, "hall"))
    assert gone.before is not None
    back: WrittenAutomation = await put(store, None, "hall", text=gone.before.text, place=gone.before.place)
    assert file.read_text() == FILE
    assert back.entity_id == "automation.mine"
    entry = er.async_get(hass).async_get("automation.mine")
    assert entry is not None
    assert entry.area_id == area.id


async def test_what_is_created_and_taken_back_leaves_nothing(store: AutomationStore, file: Path) -> None:
    await put(store)
    await put(store, None, expected=await mark(store, "new"))
    assert file.read_text() == FILE


async def test_one_with_a_secret_can_be_deleted_and_put_back(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    gone: WrittenAutomation = await put(store, None, "cellar", expected=await mark(store, "cellar"))
    assert gone.before is not None
    await put(store, None, "cellar", text=gone.before.text, place=gone.before.place)
    assert file.read_text() == FILE
    assert ids(hass) == ["cellar", "hall"]


async def test_one_with_a_secret_is_renamed_and_keeps_it(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    item = await store.async_item("cellar")
    assert item is not None
    await put(store, {**item.config, "alias": "Wine"}, "cellar", expected=item.fingerprint)
    assert file.read_text() == FILE.replace("alias: Cellar", "alias: Wine")
    state = hass.states.get("automation.cellar")
    assert state is not None
    assert state.name == "Wine"


async def test_disabled_if_asked_for(hass: HomeAssistant, store: AutomationStore) -> None:
    written: WrittenAutomation = await put(store, enabled=False)
    assert hass.states.is_state(written.entity_id or "", "off")


async def test_one_that_was_off_is_switched_on(hass: HomeAssistant, store: AutomationStore) -> None:
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.hall_lamp"}, blocking=True)
    await put(store, GARAGE, "hall", expected=await mark(store, "hall"))
    assert hass.states.is_state("automation.hall_lamp", "on")


async def test_an_initial_state_in_the_configuration_does_not_hinder(
    hass: HomeAssistant, store: AutomationStore
) -> None:
    written: WrittenAutomation = await put(store, {**GARAGE, "initial_state": False})
    assert hass.states.is_state(written.entity_id or "", "on")


async def test_the_file_is_made_where_there_is_none(hass: HomeAssistant, folder: Path, file: Path) -> None:
    (folder / "configuration.yaml").write_text("")
    file.unlink()
    store = await started(hass)
    (folder / "configuration.yaml").write_text(CONFIGURATION)
    await put(store)
    assert [item.id for item in await store.async_items()] == ["new"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


async def test_what_was_being_written_when_the_power_went_is_removed(
    store: AutomationStore, folder: Path, file: Path
) -> None:
    left, of_an_editor = folder / f".{file.name}.x1y2z3.home_agent", folder / f".{file.name}.swp"
    for path in (left, of_an_editor):
        path.write_text("- id:")
    await put(store)
    assert not left.exists()
    assert of_an_editor.exists()


async def test_the_mode_of_the_file_stays(store: AutomationStore, file: Path) -> None:
    file.chmod(0o640)
    await put(store)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


async def test_a_link_stays_a_link(hass: HomeAssistant, folder: Path, file: Path) -> None:
    real = folder / "shared" / "real.yaml"
    real.parent.mkdir()
    file.rename(real)
    file.symlink_to(real)
    store = await started(hass)
    await put(store)
    assert file.is_symlink()
    assert "Garage at night" in real.read_text()


async def test_nothing_else_is_left_in_the_folder(store: AutomationStore, folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    await put(store)
    assert {path.name for path in folder.iterdir()} == before


# More than one


async def test_two_at_once_are_both_there(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    await asyncio.gather(*(put(store, {**GARAGE, "alias": name}, name) for name in ("one", "two", "three")))
    assert ids(hass) == ["cellar", "hall", "one", "three", "two"]
    assert file.read_text().startswith(f"{HALL}\n{CELLAR}- id: one\n")


async def test_of_two_changes_to_one_the_second_is_refused(store: AutomationStore) -> None:
    expected = await mark(store, "hall")
    first, second = await asyncio.gather(
        *(put(store, {**GARAGE, "alias": name}, "hall", expected=expected) for name in ("one", "two")),
        return_exceptions=True,
    )
    assert isinstance(first, WrittenAutomation)
    assert isinstance(second, ToolError)
    assert second.translation_key == "automation_file_changed"


async def test_the_editor_and_we_at_once(
    hass: HomeAssistant, store: AutomationStore, editor: TestClient[Any, Any], file: Path
) -> None:
    async def edited(name: str) -> HTTPStatus:
        answer = await editor.post(f"/api/config/automation/config/{name}", json={**GARAGE, "alias": name})
        return HTTPStatus(answer.status)

    names = [f"theirs{n}" for n in range(4)]
    mine = [f"ours{n}" for n in range(4)]
    done = await asyncio.gather(
        *(edited(name) for name in names), *(put(store, {**GARAGE, "alias": name}, name) for name in mine)
    )
    await hass.async_block_till_done()
    assert done[:4] == [HTTPStatus.OK] * 4
    assert set(ids(hass)) >= {*names, *mine, "hall"}
    assert {item.id for item in await store.async_items()} == {*names, *mine, "hall"}


async def test_the_editor_waits_until_we_are_done(
    store: AutomationStore, editor: TestClient[Any, Any], file: Path
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    replace = store_module._replace

    def held(*args: Any) -> None:
        begun.set()
        go_on.wait(10)
        replace(*args)

    with patch.object(store_module, "_replace", held):
        ours = asyncio.ensure_future(put(store))
        await asyncio.to_thread(begun.wait)
        theirs = asyncio.ensure_future(editor.post("/api/config/automation/config/theirs", json={**GARAGE}))
        done, _ = await asyncio.wait([theirs], timeout=0.3)
        assert not done
        go_on.set()
        await ours
        assert (await theirs).status == HTTPStatus.OK
    assert [item.id for item in await store.async_items()] == ["hall", "new", "theirs"]


async def test_without_the_editor_there_is_no_lock_of_its_own(hass: HomeAssistant, store: AutomationStore) -> None:
    assert store_module._editor_lock(hass) is None
    await put(store)


# Refused, with everything as before


@pytest.mark.parametrize(("automation_id", "expected", "key"), [
    pytest.param("hall", None, "automation_file_exists", id="there already"),
    pytest.param("hall", "0" * 64, "automation_file_changed", id="read before a change"),
    pytest.param("nobody", "0" * 64, "automation_file_gone", id="not there"),
])  # fmt: skip
async def test_not_as_it_was_read(
    store: AutomationStore, file: Path, automation_id: str, expected: str | None, key: str
) -> None:
    assert (await refusal(put(store, GARAGE, automation_id, expected=expected))).translation_key == key
    assert file.read_text() == FILE


async def test_a_name_that_is_in_the_file_and_not_loaded_yet_is_taken(store: AutomationStore, file: Path) -> None:
    written = FILE + CELLAR.replace("id: cellar", "id: late").replace("alias: Cellar", "alias: Garage AT night")
    file.write_text(written)
    with pytest.raises(ToolRefusal, match="called 'Garage at night' already"):
        await put(store)
    assert file.read_text() == written


async def test_an_id_of_another_file_is_taken(hass: HomeAssistant, folder: Path, file: Path) -> None:
    (folder / "more.yaml").write_text(HALL.replace("id: hall", "id: porch"))
    (folder / "configuration.yaml").write_text(f"{CONFIGURATION}automation more: !include more.yaml\n")
    store = await started(hass)
    assert (await refusal(put(store, GARAGE, "porch"))).translation_key == "automation_file_exists"
    assert file.read_text() == FILE


@pytest.mark.parametrize("config", [
    pytest.param({"alias": "x", "triggers": [{"trigger": "nonsense"}], "actions": []}, id="a trigger"),
    pytest.param({"alias": "x", "triggers": []}, id="no actions"),
    pytest.param({"alias": "x", "use_blueprint": {"path": "none.yaml"}}, id="a blueprint"),
])  # fmt: skip
async def test_what_home_assistant_cannot_run_is_taken_back(
    hass: HomeAssistant, store: AutomationStore, file: Path, config: Mapping[str, Any]
) -> None:
    error = await refusal(put(store, config))
    assert error.translation_key == "automation_file_invalid"
    assert (error.translation_placeholders or {})["detail"]
    assert file.read_text() == FILE
    assert ids(hass) == ["cellar", "hall"]


async def test_a_change_that_cannot_run_leaves_the_one_that_runs(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    await refusal(
        put(store, {"alias": "x", "triggers": [{"trigger": "nonsense"}]}, "hall", expected=await mark(store, "hall"))
    )
    assert file.read_text() == FILE
    state = hass.states.get("automation.hall_lamp")
    assert state is not None
    assert (state.state, state.name) == ("on", "Hall lamp")


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("config", [GARAGE, {"alias": "x", "triggers": []}], ids=["runs", "does not"])
async def test_what_is_put_back_is_on_or_off_as_it_was(
    hass: HomeAssistant, store: AutomationStore, config: Mapping[str, Any], is_on: bool
) -> None:
    service = "turn_on" if is_on else "turn_off"
    await hass.services.async_call("automation", service, {"entity_id": "automation.hall_lamp"}, blocking=True)
    with patch.object(store, "_check_kept", side_effect=ToolError("automation_file_changed")):
        await refusal(put(store, config, "hall", expected=await mark(store, "hall"), enabled=not is_on))
    state = hass.states.get("automation.hall_lamp")
    assert state is not None
    assert (state.state, state.name) == ("on" if is_on else "off", "Hall lamp")


async def test_a_file_that_was_not_there_is_gone_again(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    file.unlink()
    hass.services.async_register("automation", "reload", lambda call: None)
    assert (await refusal(put(store))).translation_key == "automation_file_not_seen"
    assert not file.exists()


@pytest.mark.parametrize("error", [HomeAssistantError("no"), ValueError("no"), TimeoutError()])
async def test_a_reload_that_fails(hass: HomeAssistant, store: AutomationStore, file: Path, error: Exception) -> None:
    async def fail(call: ServiceCall) -> None:
        raise error

    hass.services.async_register("automation", "reload", fail)
    key = (await refusal(put(store))).translation_key
    assert key == ("automation_file_slow" if isinstance(error, TimeoutError) else "automation_file_reload_failed")
    assert file.read_text() == FILE


async def test_a_secret_in_the_reason_is_hidden(hass: HomeAssistant, store: AutomationStore) -> None:
    async def fail(call: ServiceCall) -> None:
        raise HomeAssistantError("Welcome home is no number")

    hass.services.async_register("automation", "reload", fail)
    error = await refusal(put(store))
    assert error.translation_placeholders == {"detail": "!secret greeting is no number"}


async def test_a_reload_that_does_not_end(
    hass: HomeAssistant, store: AutomationStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(call: ServiceCall) -> None:
        await asyncio.sleep(100)

    hass.services.async_register("automation", "reload", hang)
    monkeypatch.setattr(store_module, "PATIENCE", 0.1)
    assert (await refusal(put(store))).translation_key == "automation_file_slow"
    assert file.read_text() == FILE


async def test_a_reload_that_does_nothing(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    hass.services.async_register("automation", "reload", lambda call: None)
    assert (await refusal(put(store))).translation_key == "automation_file_not_seen"
    write = put(store, GARAGE, "hall", expected=await mark(store, "hall"))
    assert (await refusal(write)).translation_key == "automation_file_not_seen"
    write = put(store, None, "hall", expected=await mark(store, "hall"))
    assert (await refusal(write)).translation_key == "automation_file_still_there"
    assert file.read_text() == FILE
    assert er.async_get(hass).async_get("automation.hall_lamp") is not None


async def test_one_that_cannot_be_switched_on(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    hass.services.async_register("automation", "turn_off", lambda call: None)
    assert (await refusal(put(store, enabled=False))).translation_key == "automation_file_not_switched"
    assert file.read_text() == FILE
    assert ids(hass) == ["cellar", "hall"]


async def test_somebody_edits_between_reading_and_writing(store: AutomationStore, file: Path) -> None:
    edited = FILE.replace("# end", "# END")
    replace = store_module._replace

    def late(path: Path, before: bytes | None, after: bytes | None) -> None:
        file.write_text(edited)
        replace(path, before, after)

    with patch.object(store_module, "_replace", late):
        assert (await refusal(put(store))).translation_key == "automation_file_changed"
    assert file.read_text() == edited


async def test_somebody_edits_another_one_while_it_is_reloaded(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    def edit(call: ServiceCall) -> None:
        file.write_text(file.read_text().replace("# since spring", "# since May"))

    hass.services.async_register("automation", "reload", edit)
    assert (await refusal(put(store))).translation_key == "automation_file_not_seen"
    assert file.read_text() == FILE.replace("# since spring", "# since May")


async def test_somebody_removes_it_while_it_is_reloaded(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    kept = store._check_kept

    def lost(change: Any) -> None:
        file.write_text("[]\n")
        kept(change)

    with patch.object(store, "_check_kept", lost):
        assert (await refusal(put(store))).translation_key == "automation_file_changed"
    assert file.read_text() == "[]\n"


async def test_what_cannot_be_put_back_is_told(
    hass: HomeAssistant, store: AutomationStore, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def edit(call: ServiceCall) -> None:
        file.write_text(file.read_text() + "- [\n")

    hass.services.async_register("automation", "reload", edit)
    assert (await refusal(put(store))).translation_key == "automation_file_not_put_back"
    assert "could not be put back" in caplog.text


async def test_a_disk_that_refuses(store: AutomationStore, file: Path, folder: Path) -> None:
    with patch.object(os, "fsync", side_effect=OSError(28, "No space left on device")):
        error = await refusal(put(store))
    assert error.translation_key == "automation_file_read_only"
    assert error.translation_placeholders == {"detail": "No space left on device"}
    assert file.read_text() == FILE
    assert not [path for path in folder.iterdir() if path.name.startswith(".automations")]


async def test_a_folder_that_is_read_only(store: AutomationStore, file: Path) -> None:
    def access(path: Path, mode: int) -> bool:  # an administrator of the system may write everywhere
        return Path(path).is_file()

    with patch.object(os, "access", access):
        assert (await refusal(put(store))).translation_key == "automation_file_read_only"
        assert (await refusal(store.async_check_writable())).translation_key == "automation_file_read_only"
    assert file.read_text() == FILE


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator of the system may write everywhere")
async def test_a_folder_without_permission(store: AutomationStore, folder: Path) -> None:
    folder.chmod(0o555)
    try:
        assert (await refusal(put(store))).translation_key == "automation_file_read_only"
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize(("text", "key"), [
    pytest.param("hall: {}\n", "automation_file_not_list", id="a mapping"),
    pytest.param("- [\n", "automation_file_broken", id="broken"),
    pytest.param("[{id: a}]\n", "automation_file_flow", id="brackets"),
    pytest.param("#" * 5_000_001, "automation_file_too_big", id="too big"),
])  # fmt: skip
async def test_a_file_that_cannot_be_written(store: AutomationStore, file: Path, text: str, key: str) -> None:
    file.write_text(text)
    assert (await refusal(store.async_check_writable())).translation_key == key
    assert (await refusal(put(store))).translation_key == key
    assert file.read_text() == text


async def test_a_cancelled_write_is_put_back(hass: HomeAssistant, store: AutomationStore, file: Path) -> None:
    reached = asyncio.Event()

    async def hang(call: ServiceCall) -> None:
        reached.set()
        await asyncio.sleep(0.2)

    hass.services.async_register("automation", "reload", hang)
    writing = asyncio.ensure_future(put(store))
    await reached.wait()
    assert "Garage" in file.read_text()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    await hass.async_block_till_done()
    assert file.read_text() == FILE


async def test_a_write_that_is_cancelled_while_the_disk_writes_is_put_back(
    hass: HomeAssistant, store: AutomationStore, file: Path
) -> None:
    replace = store_module._replace
    writing: asyncio.Future[Any]

    def cancelling(path: Path, before: bytes | None, after: bytes | None) -> None:
        if after is not None and b"Garage" in after:
            hass.loop.call_soon_threadsafe(writing.cancel)
        replace(path, before, after)

    with patch.object(store_module, "_replace", cancelling):
        writing = asyncio.ensure_future(put(store))
        with pytest.raises(asyncio.CancelledError):
            await writing
        await hass.async_block_till_done()
    assert file.read_text() == FILE
    assert ids(hass) == ["cellar", "hall"]


# Whether Home Assistant reads the file


@pytest.mark.parametrize("configuration", [
    pytest.param(CONFIGURATION, id="the line"),
    pytest.param("automation ui: !include automations.yaml\nautomation manual: []\n", id="a name"),
    pytest.param("homeassistant:\n  packages:\n    one:\n      automation: !include automations.yaml\n", id="a package"),
    pytest.param("homeassistant:\n  packages: !include_dir_named parts\n", id="a folder of packages"),
    pytest.param("homeassistant: !include core.yaml\n", id="everything included"),
    pytest.param("homeassistant:\n  packages: !include_dir_merge_named merged\n", id="a folder of merged packages"),
    pytest.param("homeassistant:\n  packages:\n    one: !include parts/one.yaml\n", id="a package included"),
])  # fmt: skip
async def test_ways_in_which_the_file_is_read(hass: HomeAssistant, folder: Path, configuration: str) -> None:
    for name in ("parts", "merged"):
        (folder / name).mkdir()
    (folder / "parts" / "one.yaml").write_text("automation: !include ../automations.yaml\n")
    (folder / "merged" / "one.yaml").write_text("one:\n  automation: !include ../automations.yaml\n")
    (folder / "core.yaml").write_text("packages: !include packages.yaml\n")
    (folder / "packages.yaml").write_text("one: !include parts/one.yaml\n")
    (folder / "configuration.yaml").write_text(configuration)
    store = await started(hass)
    await store.async_check_writable()
    await put(store)
    assert ids(hass) == ["cellar", "hall", "new"]


@pytest.mark.parametrize(("configuration", "key"), [
    pytest.param("light: []\n", "automation_file_not_included", id="not at all"),
    pytest.param("", "automation_file_not_included", id="empty"),
    pytest.param("automation: []\n", "automation_file_not_included", id="written there"),
    pytest.param("automation: !include other.yaml\n", "automation_file_not_included", id="another file"),
    pytest.param("automation: !include_dir_merge_list parts\n", "automation_file_folder", id="a folder"),
    pytest.param("automation: !include_dir_list parts\n", "automation_file_folder", id="a folder of single ones"),
])  # fmt: skip
async def test_a_file_that_is_not_read(
    hass: HomeAssistant, folder: Path, file: Path, configuration: str, key: str
) -> None:
    (folder / "parts").mkdir()
    (folder / "other.yaml").write_text("[]\n")
    (folder / "configuration.yaml").write_text(configuration)
    store = await started(hass)
    assert (await refusal(store.async_check_writable())).translation_key == key
    assert (await refusal(put(store))).translation_key == key
    assert file.read_text() == FILE


async def test_a_configuration_that_cannot_be_read_is_not_in_the_way(store: AutomationStore, folder: Path) -> None:
    (folder / "configuration.yaml").unlink()
    await store.async_check_writable()


async def test_in_safe_mode_what_is_written_is_not_seen_and_taken_back(
    hass: HomeAssistant, folder: Path, file: Path
) -> None:
    (folder / "configuration.yaml").write_text("automation: []\n")
    store = await started(hass)
    hass.config.safe_mode = True
    assert (await refusal(put(store))).translation_key == "automation_file_not_seen"
    assert file.read_text() == FILE


async def test_without_automations_nothing_is_written(hass: HomeAssistant, folder: Path, file: Path) -> None:
    assert (await refusal(put(automation_store(hass)))).translation_key == "automation_file_not_loaded"
    assert file.read_text() == FILE


# All of them


async def test_all_automations_with_where_they_are_written(hass: HomeAssistant, folder: Path) -> None:
    (folder / "configuration.yaml").write_text(f"{CONFIGURATION}automation more: !include more.yaml\n")
    (folder / "more.yaml").write_text(
        CELLAR.replace("cellar", "porch").replace("Cellar", "Porch") + "        pin: 1234\n"
    )
    store = await started(hass)
    known = {one.entity_id: one for one in await store.async_automations()}
    assert {
        entity_id: (one.id, one.name, one.is_on, one.origin, one.is_editable) for entity_id, one in known.items()
    } == {
        "automation.hall_lamp": ("hall", "Hall lamp", True, "file", True),
        "automation.cellar": ("cellar", "Cellar", True, "file", True),
        "automation.porch": ("porch", "Porch", True, "elsewhere", False),
    }
    data = {"message": "!secret greeting", "to": "http://**masked**@example.test/x"}
    assert known["automation.cellar"].config["actions"][0]["data"] == data
    assert known["automation.porch"].config["actions"][0]["data"] == {**data, "pin": "!secret pin"}


async def test_secrets_are_hidden_in_every_form(hass: HomeAssistant, folder: Path) -> None:
    (folder / "more.yaml").write_text(
        "- id: porch\n  alias: Say Welcome home\n  triggers: []\n  actions:\n    - action: test.tell\n      data:\n"
        "        url: https://example.test/?say=Welcome%20home\n        code: '{{ 1234 }}'\n        Welcome home: abc\n"
    )
    (folder / "configuration.yaml").write_text(f"{CONFIGURATION}automation more: !include more.yaml\n")
    known = await (await started(hass)).async_automations()
    porch = next(one for one in known if one.id == "porch")
    assert porch.name == "Say !secret greeting"
    assert porch.config["actions"][0]["data"] == {
        "url": "https://example.test/?say=**masked**", "code": "**masked**", "!secret greeting": "abc",
    }  # fmt: skip


async def test_secrets_are_read_again_when_they_change(
    hass: HomeAssistant, store: AutomationStore, folder: Path
) -> None:
    await store.async_automations()
    (folder / "secrets.yaml").write_text("greeting: Welcome home\nname: Hall lamp\n")
    assert {one.name for one in await store.async_automations()} == {"!secret name", "Cellar"}


async def test_automations_are_told_without_their_file(store: AutomationStore, file: Path) -> None:
    file.write_text("- [\n")
    assert [(one.id, one.origin, one.is_editable) for one in await store.async_automations()] == [
        ("cellar", "elsewhere", False), ("hall", "elsewhere", False),
    ]  # fmt: skip


async def test_before_automations_are_set_up_there_are_none(hass: HomeAssistant, folder: Path) -> None:
    assert await automation_store(hass).async_automations() == []


async def test_there_is_one_store(hass: HomeAssistant) -> None:
    assert automation_store(hass) is automation_store(hass)


async def test_a_person_without_rights_to_reload_changes_nothing(
    hass: HomeAssistant, store: AutomationStore, file: Path, alice: Context
) -> None:
    assert (await refusal(put(store, context=alice))).translation_key == "automation_file_reload_failed"
    assert file.read_text() == FILE
