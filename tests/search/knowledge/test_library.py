"""The owner's documents are found, follow their files, and outlive a restart."""

import os
from pathlib import Path
import shutil
from threading import Event
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError, Unauthorized
import probatio
import pytest

from custom_components.home_agent.search import knowledge as library
from custom_components.home_agent.search.files import sections_of
from custom_components.home_agent.search.knowledge import Knowledge
from custom_components.home_agent.search.model import Document
from custom_components.home_agent.search.passages import DocumentSection, documents_of
from custom_components.home_agent.support.const import DOMAIN
from tests.house import act as call

from .conftest import StartKnowledge


async def test_files_are_found_with_their_source(folder: Path, start: StartKnowledge) -> None:
    knowledge = await start()
    (passage,) = await knowledge.async_find("How do I descale the coffee machine?", 1)
    assert "125 ml" in passage.text
    assert passage.source == "kitchen/coffee.md"
    assert passage.metadata == {
        "title": "coffee", "source": "kitchen/coffee.md", "heading": "Coffee machine > Descaling",
    }  # fmt: skip
    assert not passage.outside


async def test_what_asks_for_something_else_gets_nothing(folder: Path, start: StartKnowledge) -> None:
    assert await (await start()).async_find("turn on the bedroom light") == []


async def test_changed_and_removed_files(folder: Path, start: StartKnowledge) -> None:
    knowledge = await start()
    (folder / "wifi.txt").write_text("The guest network is called Meadow now.")
    (folder / "kitchen" / "coffee.md").unlink()
    counts = await knowledge.async_refresh()
    assert (counts.added, counts.updated, counts.removed) == (0, 1, 1)
    assert "Meadow" in (await knowledge.async_find("name of the guest network"))[0].text
    assert await knowledge.async_find("descale the coffee machine") == []


async def test_reload_looks_at_the_folder(hass: HomeAssistant, folder: Path, start: StartKnowledge) -> None:
    knowledge = await start()
    Path(hass.config.path("configuration.yaml")).write_text("")
    (folder / "waste.txt").write_text("Die Papiertonne wird jeden zweiten Dienstag geleert.")
    await hass.services.async_call(DOMAIN, "reload", {}, blocking=True)
    assert (await knowledge.async_find("Wann wird die Papiertonne geleert?"))[0].source == "waste.txt"


async def test_a_broken_file_is_told(folder: Path, start: StartKnowledge, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "broken.md").write_bytes(b"\x00\xff\x81")
    knowledge = await start()
    await knowledge.async_refresh()
    assert caplog.text.count("broken.md") == 1
    assert knowledge.counts == {"documents": 2, "passages": 4, "failed": 1}


async def test_a_slow_file_blocks_none(folder: Path, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = Event()

    def endless(path: Path, name: str, language: str) -> list[DocumentSection]:
        goes_on.wait(30 if name == "kitchen/coffee.md" else 0)
        return sections_of(path, name, language)

    monkeypatch.setattr(library, "READ_TIMEOUT", 0.7)
    monkeypatch.setattr(library, "sections_of", endless)
    knowledge = await start()
    goes_on.set()
    assert knowledge.counts == {"documents": 1, "passages": 1, "failed": 1}
    assert "Garden" in (await knowledge.async_find("guest network"))[0].text


async def test_a_refresh_is_resumed(folder: Path, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    knowledge = await start()
    (folder / "a.txt").write_text("The attic is dry.")
    (folder / "b.txt").write_text("The basement is damp.")

    def broken_off(path: Path, name: str, language: str) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(library, "sections_of", broken_off)
        with pytest.raises(MemoryError):
            await knowledge.async_refresh()
    await knowledge.async_refresh()
    assert (await knowledge.async_find("Is the basement damp?"))[0].source == "b.txt"


async def test_a_restart_reads_no_file_again(
    hass: HomeAssistant, folder: Path, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    await start()
    monkeypatch.delattr(library, "sections_of")
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "Garden" in (await entry.runtime_data.knowledge.async_find("guest network"))[0].text


async def test_half_a_stored_document_is_read_again(hass: HomeAssistant, folder: Path, start: StartKnowledge) -> None:
    knowledge = await start()
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    (steam,) = await knowledge.async_find("hold the steam button", 1)
    await knowledge._vectors.store.async_delete("knowledge", [steam.id])
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    knowledge = entry.runtime_data.knowledge
    assert (await knowledge.async_find("hold the steam button", 1))[0].id == steam.id
    assert (await knowledge._vectors.store.async_collections())["knowledge"] == 4


async def test_added_text_is_found_and_outlives_a_restart(hass: HomeAssistant, start: StartKnowledge) -> None:
    await start()
    answer = await call(
        hass,
        "add_document",
        text="# Pool\nThe pump runs for four hours a day in summer.",
        source="The gardener",
        collection="garden",
        metadata={"year": 2026},
    )
    assert answer == {"document": "text:garden/Pool", "collection": "garden", "passages": 1}
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    (passage,) = await entry.runtime_data.knowledge.async_find("how long does the pool pump run")
    assert (passage.source, passage.collection, passage.metadata["year"]) == ("The gardener", "garden", 2026)


async def test_the_same_title_replaces_and_can_be_removed(hass: HomeAssistant, start: StartKnowledge) -> None:
    knowledge = await start()
    await call(hass, "add_document", title="Pump", text="The pump runs for four hours.")
    added = await call(hass, "add_document", title="Pump", text="The pump runs for six hours.")
    assert [item.text for item in await knowledge.async_find("pump hours")] == ["The pump runs for six hours."]
    assert await call(hass, "remove_document", document=added["document"]) == {"passages": 1}
    assert await knowledge.async_find("pump hours") == []
    with pytest.raises(ServiceValidationError):
        await call(hass, "remove_document", document=added["document"])


async def test_what_is_said_about_a_file(hass: HomeAssistant, folder: Path, start: StartKnowledge) -> None:
    knowledge = await start()
    answer = await call(hass, "add_document", path="kitchen/coffee.md", title="Barista Pro", collection="manuals")
    assert answer == {"document": "file:kitchen/coffee.md", "collection": "manuals", "passages": 3}
    (passage,) = await knowledge.async_find("step of the grinder", 1)
    assert (passage.collection, passage.metadata["title"]) == ("manuals", "Barista Pro")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert (await knowledge._vectors.store.async_collections()) == {"knowledge": 1, "manuals": 3}


@pytest.mark.parametrize(("data", "key"), [
    ({"path": "../secrets.yaml"}, "knowledge_path"),
    ({"path": "kitchen/tea.md"}, "knowledge_no_file"),
    ({"text": "x", "path": "wifi.txt"}, "document_text_or_path"),
    ({}, "document_text_or_path"),
    ({"text": "x", "collection": "home_entities"}, "knowledge_collection"),
    ({"text": "x", "collection": "../x"}, "knowledge_collection"),
    ({"text": " \n ", "title": "Nothing"}, "knowledge_empty"),
])  # fmt: skip
async def test_what_cannot_be_added_is_refused_and_leaves_nothing(
    hass: HomeAssistant, folder: Path, start: StartKnowledge, data: dict[str, Any], key: str
) -> None:
    knowledge = await start()
    before = knowledge.counts
    with pytest.raises(ServiceValidationError) as error:
        await call(hass, "add_document", **data)
    assert error.value.translation_key == key
    assert knowledge.counts == before


@pytest.mark.parametrize("number", [10**30, float("nan"), float("inf")])
async def test_unkeepable_numbers(hass: HomeAssistant, folder: Path, start: StartKnowledge, number: float) -> None:
    knowledge = await start()
    with pytest.raises(probatio.Invalid):
        await call(hass, "add_document", text="A pump.", metadata={"number": number})
    assert (await knowledge.async_refresh()).unchanged == 2


async def test_a_name_in_any_encoding(folder: Path, start: StartKnowledge, caplog: pytest.LogCaptureFixture) -> None:
    (folder / os.fsdecode(b"cr\xe8me.md")).write_text("The cafe opens at seven.")
    (folder / os.fsdecode(b"cr\xe9me.txt")).write_bytes(b"\x00\xff")
    knowledge = await start()
    assert (await knowledge.async_find("When does the cafe open?"))[0].source == "cr?me.md"
    assert "cr?me.txt cannot be read" in caplog.text
    assert len(await knowledge.async_find("guest network")) == 1


async def test_files_beyond_the_limit_are_told_once(
    folder: Path, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(library, "MAX_FILES", 1)
    knowledge = await start()
    await knowledge.async_refresh()
    assert knowledge.counts["documents"] == 1
    assert caplog.text.count("1 documents are left out") == 1


async def test_what_went_meanwhile_leaves_the_store(hass: HomeAssistant, folder: Path, start: StartKnowledge) -> None:
    await start()
    await call(hass, "add_document", title="Pump", text="The pump runs for four hours.", collection="garden")
    await hass.async_block_till_done(wait_background_tasks=True)
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    await hass.config_entries.async_unload(entry.entry_id)
    shutil.rmtree(folder)
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await entry.runtime_data.library.vectors.store.async_collections() == {"garden": 1}


@pytest.mark.parametrize("kept", [[], {"documents": 5}, {"documents": ["x"], "collections": "knowledge"}])
async def test_a_list_of_documents_that_is_none_costs_nothing(
    hass_storage: dict[str, Any], folder: Path, start: StartKnowledge, kept: object
) -> None:
    hass_storage["home_agent.knowledge"] = {"version": 1, "minor_version": 1, "key": "x", "data": kept}
    knowledge = await start()
    assert len(await knowledge.async_find("guest network")) == 1


async def test_there_is_a_limit_to_all_documents(
    folder: Path, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(library, "MAX_PASSAGES", 3)
    assert (await start()).counts == {"documents": 1, "passages": 3, "failed": 1}
    assert "wifi.txt does not fit" in caplog.text


async def test_a_follow_up_is_read_with_what_was_said_before(folder: Path, start: StartKnowledge) -> None:
    knowledge = await start()
    assert await knowledge.async_find("and for how long?") == []
    found = await knowledge.async_find("and for how long?", previous="descale the coffee machine")
    assert "half an hour" in found[0].text


async def test_only_administrators_add(hass: HomeAssistant, start: StartKnowledge, hass_read_only_user: Any) -> None:
    await start()
    with pytest.raises(Unauthorized):
        await hass.services.async_call(
            DOMAIN, "add_document", {"text": "x"}, blocking=True, context=Context(user_id=hass_read_only_user.id)
        )


async def test_text_of_others_is_marked(hass: HomeAssistant, start: StartKnowledge) -> None:
    knowledge = await start()
    await call(hass, "add_document", title="News", text="Storm warning for the coast.", outside=True)
    assert [item.outside for item in await knowledge.async_find("storm warning")] == [True]


async def test_a_damaged_index_costs_nothing(hass: HomeAssistant, folder: Path, start: StartKnowledge) -> None:
    await start()
    entry = hass.config_entries.async_entries(DOMAIN)[0]
    await hass.config_entries.async_unload(entry.entry_id)
    (file,) = Path(hass.config.path()).rglob("home_agent.documents.db")
    file.write_bytes(b"not a database" * 100)
    await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    knowledge: Knowledge = entry.runtime_data.knowledge
    assert "Garden" in (await knowledge.async_find("guest network"))[0].text
    assert (await knowledge._vectors.store.async_collections())["knowledge"] == 4


async def test_removing_the_integration_keeps_the_folder_alone(
    hass: HomeAssistant, hass_storage: dict[str, Any], folder: Path, start: StartKnowledge
) -> None:
    await start()
    await call(hass, "add_document", title="Pump", text="The pump runs for four hours.")
    assert "home_agent.knowledge" in hass_storage
    await hass.config_entries.async_remove(hass.config_entries.async_entries(DOMAIN)[0].entry_id)
    assert "home_agent.knowledge" not in hass_storage
    assert (folder / "wifi.txt").exists()


async def test_added_while_loading(hass: HomeAssistant, start: StartKnowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = (await start())._entry
    reading, goes_on = Event(), Event()

    def slow(*args: Any) -> tuple[Document, ...]:
        reading.set()
        goes_on.wait(30)
        return documents_of(*args)

    monkeypatch.setattr(library, "documents_of", slow)
    adding = hass.async_create_task(call(hass, "add_document", title="Attic", text="In the attic live bats."))
    await hass.async_add_executor_job(reading.wait, 30)
    monkeypatch.setattr(library, "documents_of", documents_of)
    await hass.config_entries.async_reload(entry.entry_id)
    await entry.runtime_data.knowledge.async_refresh()
    goes_on.set()
    assert (await adding)["passages"] == 1
    await call(hass, "add_document", title="Cellar", text="In the cellar stands wine.")
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "bats" in (await entry.runtime_data.knowledge.async_find("Who lives in the attic? Bats?"))[0].text


async def test_a_file_of_zeros(hass: HomeAssistant, start: StartKnowledge, caplog: pytest.LogCaptureFixture) -> None:
    folder = Path(hass.config.path(*library.FOLDER))
    folder.mkdir(parents=True)
    (folder / "lost.txt").write_bytes(b"\x00" * 4096)  # as a crash of a computer leaves it
    (folder / "lost.md").write_bytes(b"\x00 \x00\n")
    knowledge = await start()
    assert knowledge.counts == {"documents": 0, "passages": 0, "failed": 2}
    assert "lost.txt contains no text" in caplog.text


async def test_text_of_nothing_but_zeros_is_refused(hass: HomeAssistant, start: StartKnowledge) -> None:
    knowledge = await start()
    with pytest.raises(ServiceValidationError) as refusal:
        await call(hass, "add_document", title="Nothing", text="\x00")
    assert refusal.value.translation_key == "knowledge_empty"
    assert knowledge.counts["documents"] == 0
