"""What happens to the file of the embedded store, and what its owner gets."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
import sqlite3
import subprocess
import sys

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.search import database
from custom_components.home_agent.search.embedded_store import VERSION, EmbeddedStore
from custom_components.home_agent.search.vectors import Store
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import StoreError
from custom_components.home_agent.support.issues import RetrievalIssues
from tests.house import set_up

from .conftest import KEY, document, rows

NOTE = document("note", "The boiler is a Vitodens 200.")


@pytest.fixture
async def store(hass: HomeAssistant) -> AsyncGenerator[Store]:
    opened = EmbeddedStore(hass, RetrievalIssues(hass))
    await opened.async_open()
    yield opened
    await opened.async_close()


async def fill(store: Store) -> None:
    await store.async_upsert("knowledge", [NOTE], rows([1, 0, 0]), KEY)


async def reopened(hass: HomeAssistant) -> EmbeddedStore:
    again = EmbeddedStore(hass, RetrievalIssues(hass))
    await again.async_open()
    return again


def raised(hass: HomeAssistant) -> list[tuple[str | None, str]]:
    return [
        (issue.translation_key, (issue.translation_placeholders or {}).get("file", ""))
        for (domain, _), issue in ir.async_get(hass).issues.items()
        if domain == DOMAIN and issue.active
    ]


@contextmanager
def locked(path: Path) -> Generator[None]:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.close()


async def test_documents_survive_a_restart(hass: HomeAssistant, store: Store) -> None:
    await fill(store)
    await store.async_close()
    again = await reopened(hass)
    assert await again.async_documents("knowledge") == [NOTE]
    assert [match.id for match in await again.async_query("knowledge", [1.0, 0.0, 0.0], 1) or ()] == ["note"]
    assert not raised(hass)
    await again.async_close()


async def test_deleted_between_two_starts_begins_empty(hass: HomeAssistant, store: Store, documents_file: Path) -> None:
    await fill(store)
    await store.async_close()
    documents_file.unlink()
    again = await reopened(hass)
    assert await again.async_collections() == {}
    await fill(again)
    assert await again.async_documents("knowledge") == [NOTE]
    await again.async_close()


async def test_deleted_while_open_begins_empty(hass: HomeAssistant, store: Store, documents_file: Path) -> None:
    await fill(store)
    documents_file.unlink()
    assert await store.async_digests("knowledge", KEY) == {}
    assert await store.async_query("knowledge", [1.0, 0.0, 0.0], 1) is None
    await store.async_upsert("knowledge", [document("later")], rows([0, 1, 0]), KEY)
    await store.async_close()
    again = await reopened(hass)
    assert [item.id for item in await again.async_documents("knowledge")] == ["later"]
    await again.async_close()


def cut_off(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def of_a_newer_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version={VERSION + 1}")


@pytest.mark.parametrize("harm", [
    pytest.param(lambda path: path.write_bytes(b""), id="emptied"),
    pytest.param(lambda path: path.write_bytes(b"not a database at all" * 99), id="overwritten"),
    pytest.param(cut_off, id="cut off"),
    pytest.param(of_a_newer_version, id="newer"),
])  # fmt: skip
async def test_a_file_that_cannot_be_used_is_made_anew(
    hass: HomeAssistant, store: Store, harm: Callable[[Path], object], documents_file: Path
) -> None:
    many = [document(f"note-{number}", "words " * 300) for number in range(200)]
    await store.async_upsert("knowledge", many, rows(*([1, number, 0] for number in range(200))), KEY)
    await store.async_close()
    harm(documents_file)
    again = await reopened(hass)
    assert await again.async_collections() == {}
    await fill(again)
    assert await again.async_documents("knowledge") == [NOTE]
    assert not raised(hass)
    await again.async_close()
    assert [path.name for path in documents_file.parent.glob("home_agent.documents*")] == [documents_file.name]


async def test_locked_file_is_an_error_until_it_is_free(
    hass: HomeAssistant, store: Store, monkeypatch: pytest.MonkeyPatch, documents_file: Path
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 0.05)
    await fill(store)
    await store.async_close()
    later = EmbeddedStore(hass, RetrievalIssues(hass))
    with locked(documents_file):
        for _ in range(3):
            with pytest.raises(StoreError) as error:
                await later.async_open()
            assert error.value.translation_key == "store_locked"
        assert [key for key, _ in raised(hass)] == ["store_failing"]
    assert await later.async_documents("knowledge") == [NOTE]
    assert not raised(hass)
    await later.async_close()


async def test_nothing_opens_the_file_after_the_end(store: Store, documents_file: Path) -> None:
    await store.async_close()
    documents_file.unlink()
    with pytest.raises(StoreError):
        await fill(store)
    assert not documents_file.exists()


async def test_full_disk_is_an_error_and_changes_nothing(store: Store) -> None:
    await fill(store)
    assert isinstance(store, EmbeddedStore)
    with store._database.reading() as connection:
        connection.execute(f"PRAGMA max_page_count={connection.execute('PRAGMA page_count').fetchone()[0]}")
    many = [document(f"note-{number}", "words " * 300) for number in range(200)]
    with pytest.raises(StoreError) as error:
        await store.async_upsert("knowledge", many, rows(*([1, number, 0] for number in range(200))), KEY)
    assert (error.value.translation_placeholders or {})["detail"] == "SQLITE_FULL"
    assert await store.async_documents("knowledge") == [NOTE]


async def test_damage_found_while_in_use(hass: HomeAssistant, store: Store, documents_file: Path) -> None:
    many = [document(f"note-{number}", "words " * 300) for number in range(3000)]  # more than SQLite keeps in memory
    await store.async_upsert("knowledge", many, rows(*([1, number, 0] for number in range(3000))), KEY)
    await store.async_close()
    again = await reopened(hass)
    assert len(await again.async_query("knowledge", [1.0, 0.0, 0.0], 1) or ()) == 1  # vectors are in memory now
    with documents_file.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(size // 4)
        file.write(b"\xff" * (size // 2))
    with pytest.raises(StoreError):
        await again.async_documents("knowledge")
    assert await again.async_query("knowledge", [1.0, 0.0, 0.0], 1) is None
    await fill(again)
    assert await again.async_documents("knowledge") == [NOTE]
    await again.async_close()


async def test_what_another_program_took_out_is_not_found(store: Store, documents_file: Path) -> None:
    await store.async_upsert("knowledge", [NOTE, document("other")], rows([1, 0, 0], [0, 1, 0]), KEY)
    assert len(await store.async_query("knowledge", [1.0, 1.0, 0.0], 2) or ()) == 2
    with closing(sqlite3.connect(documents_file)) as connection, connection:
        connection.execute("DELETE FROM documents WHERE id = 'other'")
    assert [match.id for match in await store.async_query("knowledge", [1.0, 1.0, 0.0], 2) or ()] == [NOTE.id]


async def test_crash_in_the_middle_of_a_write_leaves_what_was_before(hass: HomeAssistant, documents_file: Path) -> None:
    program = f"""
import asyncio, os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from homeassistant.core import HomeAssistant
import custom_components.home_agent.search.embedded_store as module
from custom_components.home_agent.support.issues import RetrievalIssues
from tests.search.conftest import document, rows, KEY
class BrokenOff(list):
    def __iter__(self):
        for number, item in enumerate(super().__iter__()):
            if number == 5000:
                os._exit(9)
            yield item
async def main():
    store = module.EmbeddedStore(HomeAssistant({str(documents_file.parents[1])!r}), RetrievalIssues(None))
    store._upsert("notes", [document("first")], rows([1, 0, 0]), KEY)
    many = BrokenOff(document(f"n{{number}}", "words " * 200) for number in range(6000))
    store._upsert("notes", many, rows(*[[1, 1, 0]] * 6000), "another key")
asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 9
    again = await reopened(hass)
    assert [item.id for item in await again.async_documents("notes")] == ["first"]
    assert (await again.async_digests("notes", KEY)).keys() == {"first"}
    await again.async_close()


async def test_nothing_is_left_when_the_hub_is_removed(hass: HomeAssistant, documents_file: Path) -> None:
    entry = await set_up(hass)
    await entry.runtime_data.library.vectors.async_open()
    documents_file.with_name("home_agent.documents.damaged-20261121-000000-1.db").touch()
    documents_file.with_name("home_agent.embeddings.db").touch()
    await hass.config_entries.async_remove(entry.entry_id)
    assert list(documents_file.parent.iterdir()) == []


async def test_folder_that_cannot_be_written(hass: HomeAssistant, documents_file: Path) -> None:
    documents_file.mkdir(parents=True)
    broken = EmbeddedStore(hass, RetrievalIssues(hass))
    with pytest.raises(StoreError) as error:
        await broken.async_open()
    assert error.value.translation_key == "store_file"
    documents_file.rmdir()
    await broken.async_open()
    await broken.async_close()
