"""A kept thing that only this file defines: set up with the entry, bounded, migrated, told, backed up, and gone in time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.agent.assembly import KEPT
from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import Change, Kept, kept_of, kept_things
from custom_components.home_agent.support.storage import Content, StoredFile
from tests.house import set_up
from tests.stored import (
    hass_storage,  # noqa: F401
    restart,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note in the diary."""

    id: str
    text: str
    user_id: str | None = None


class Diary(Kept[Note]):
    """Notes of the people at home."""

    file = "diary"
    row = Note
    items = "notes"
    version = 2
    most = 3

    @override
    def owner(self, row: Note) -> str | None:
        return row.user_id

    @classmethod
    @override
    def migrate(cls, version: int, content: Content) -> Content:
        """In version 1 a note was its text alone."""
        assert version == 1
        return {cls.items: [{"id": text[:1], "text": text} for text in content["lines"]]}


@pytest.fixture
def file(hass: HomeAssistant) -> Path:
    """Return where the diary is stored."""
    folder = Path(hass.config.path(".storage"))
    folder.mkdir(exist_ok=True)
    return folder / f"{DOMAIN}.diary"


@pytest.fixture
async def entry(hass: HomeAssistant, house: None, file: Path) -> MockConfigEntry:
    kept_things(hass).async_register(Diary)
    return await set_up(hass)


def note(text: str, user_id: str | None = None) -> Note:
    return Note(id=text[:1], text=text, user_id=user_id)


def on_disk(file: Path) -> list[str]:
    content: Mapping[str, Any] = json.loads(file.read_text())
    assert content["version"] == Diary.version
    return [row["text"] for row in content["data"]["notes"]]


async def texts(hass: HomeAssistant) -> list[str]:
    return [row["text"] for row in kept_of(hass, Diary).content()["notes"]]


async def test_it_is_read_at_setup_written_at_unload(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    kept_of(hass, Diary).put(note("apples"), note("bread"))
    assert not file.exists()
    await restart(hass, entry)
    assert on_disk(file) == await texts(hass) == ["apples", "bread"]


async def test_it_outlives_a_reload_in_memory(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    diary = kept_of(hass, Diary)
    diary.put(note("apples"))
    await hass.config_entries.async_reload(entry.entry_id)
    diary.put(note("bread"))  # by a turn that began before
    assert await texts(hass) == ["apples", "bread"]
    await restart(hass, entry)
    assert on_disk(file) == ["apples", "bread"]


async def test_what_is_written_at_once_is_on_the_disk(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    diary = kept_of(hass, Diary)
    diary.put(note("apples"), note("bread"))
    await diary.async_write()
    diary.drop([note("apples")])
    await diary.async_write()
    assert on_disk(file) == ["bread"]


async def test_it_is_bounded_by_whoever_has_most(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    diary = kept_of(hass, Diary)
    diary.put(note("quince", "quentin"))
    for text in ("apples", "bread", "cheese", "dates"):
        diary.put(note(text, "anna"))
    assert await texts(hass) == ["quince", "cheese", "dates"]


async def test_listeners_learn_what_was_added_changed_and_dropped(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    diary, heard = kept_of(hass, Diary), list[Change[Note]]()
    stop = diary.async_listen(heard.extend)
    diary.put(note("apples"))
    diary.put(note("apricots"))
    diary.drop([note("apricots")])
    stop()
    diary.put(note("bread"))
    assert [(each.before and each.before.text, each.after and each.after.text) for each in heard] == [
        (None, "apples"),
        ("apples", "apricots"),
        ("apricots", None),
    ]


async def test_what_listeners_do_costs_no_row_and_no_order(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    diary, index = kept_of(hass, Diary), dict[str, str]()

    def correct(changes: Sequence[Change[Note]]) -> None:
        diary.put(*(note("apricots") for change in changes if change.after == note("apples")))
        raise RuntimeError

    diary.async_listen(correct)
    diary.async_listen(lambda changes: index.update({row.id: row.text for change in changes if (row := change.after)}))
    diary.put(note("apples"))
    await restart(hass, entry)
    assert [*index.values()] == on_disk(file) == await texts(hass) == ["apricots"]
    assert caplog.text.count("A listener to changes of diary failed") == 2


async def test_a_file_of_an_older_version_is_migrated(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    old = {"version": 1, "minor_version": 1, "key": file.name, "data": {"lines": ["apples", "bread"]}}
    file.write_text(json.dumps(old))
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert on_disk(file) == await texts(hass) == ["apples", "bread"]


async def test_a_damaged_older_file_is_set_aside(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    old = '{"version": 1, "minor_version": 1, "key": "k", "data": {"words": ["apples"]}}'
    file.write_text(old)
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert await texts(hass) == []
    assert [path.read_text() for path in file.parent.glob(f"{file.name}.corrupt.*")] == [old]


async def test_diagnostics_count_it_without_contents(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    kept_of(hass, Diary).put(note("apples"), note("bread"))
    diagnostics = await async_get_config_entry_diagnostics(hass, entry)
    assert diagnostics["kept"]["diary"] == {"rows": 2}
    assert "apples" not in json.dumps(diagnostics, default=str)
    assert diagnostics["kept"].keys() == {kind.file for kind in (*KEPT, Diary)}


async def test_a_backup_waits_until_it_is_written(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    assert await async_setup_component(hass, "backup", {})
    await hass.async_block_till_done()
    kept_of(hass, Diary).put(note("apples"))
    assert not file.exists()
    await hass.data["backup"].async_pre_backup_actions()
    assert on_disk(file) == ["apples"]
    await hass.data["backup"].async_post_backup_actions()


async def test_rows_go_with_their_user(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    anna = MockUser(name="Anna").add_to_hass(hass)
    kept_of(hass, Diary).put(note("apples", anna.id), note("bread", "ben"), note("cheese"))
    await hass.auth.async_remove_user(anna)
    await hass.async_block_till_done()
    assert on_disk(file) == await texts(hass) == ["bread", "cheese"]


@pytest.mark.parametrize("is_restarted", [True, False], ids=["restart", "reload"])
async def test_rows_of_a_user_who_was_deleted_meanwhile_are_dropped(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path, is_restarted: bool
) -> None:
    anna, ben = (MockUser(name=name).add_to_hass(hass) for name in ("Anna", "Ben"))
    kept_of(hass, Diary).put(note("apples", anna.id), note("bread", ben.id), note("cheese"))
    await hass.config_entries.async_unload(entry.entry_id)
    await hass.auth.async_remove_user(anna)
    if is_restarted:
        kept_things(hass).forget()
    await hass.config_entries.async_setup(entry.entry_id)
    assert on_disk(file) == await texts(hass) == ["bread", "cheese"]


async def test_rows_of_a_user_who_is_deleted_while_it_is_loaded_are_dropped(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path
) -> None:
    class Slow(Diary):
        file = "slow"

        @override
        async def async_read(self, file: StoredFile) -> Iterable[Note]:
            found = await super().async_read(file)
            await hass.auth.async_remove_user(anna)  # the diary was read before
            return found

    anna, ben = (MockUser(name=name).add_to_hass(hass) for name in ("Anna", "Ben"))
    kept_of(hass, Diary).put(note("apples", anna.id), note("bread", ben.id))
    kept_things(hass).async_register(Slow)
    await restart(hass, entry)
    await hass.async_block_till_done()
    assert on_disk(file) == await texts(hass) == ["bread"]


@pytest.mark.parametrize("has_users", [True, False], ids=["of the system", "no users but those of the system"])
async def test_rows_whose_owner_may_be_a_user_stay(
    hass: HomeAssistant, entry: MockConfigEntry, has_users: bool
) -> None:
    supervisor = await hass.auth.async_create_system_user("Supervisor")
    if has_users:
        MockUser(name="Anna").add_to_hass(hass)
    kept_of(hass, Diary).put(note("apples", supervisor.id if has_users else "anna"))
    await restart(hass, entry)
    assert await texts(hass) == ["apples"]


async def test_it_goes_with_the_entry(hass: HomeAssistant, entry: MockConfigEntry, file: Path) -> None:
    diary = kept_of(hass, Diary)
    diary.put(note("apples"))
    await diary.async_write()
    await hass.config_entries.async_remove(entry.entry_id)
    diary.put(note("bread"))  # by a turn that still runs
    await diary.async_close()
    assert not file.exists()
    assert await texts(hass) == []


@pytest.mark.parametrize("is_blocked", [False, True], ids=["all", "all but a file that cannot be deleted"])
async def test_it_goes_with_an_unloaded_entry(
    hass: HomeAssistant, entry: MockConfigEntry, file: Path, caplog: pytest.LogCaptureFixture, is_blocked: bool
) -> None:
    kept_of(hass, Diary).put(note("apples"))
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    assert file.exists()
    if is_blocked:
        file.with_name(f"{DOMAIN}.{KEPT[0].file}.{entry.entry_id}").mkdir()
    await hass.config_entries.async_remove(entry.entry_id)
    assert not file.exists()
    assert caplog.text.count("could be deleted") == is_blocked
