"""Files with rows that are not what we write, or too many of them: only those are lost, and a copy is kept."""

import json
from pathlib import Path
from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.home.taught_names import TaughtNames, taught_names_of
from custom_components.home_agent.local.learned import LearnedPhrases
from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.policy.journal import ActionJournal
from custom_components.home_agent.support.const import ENTRY_VERSION
from custom_components.home_agent.support.kept import Kept, kept_things
from custom_components.home_agent.support.storage import Trouble
from custom_components.home_agent.transcript.conversations import Conversations
from tests.house import act, build_house, set_up
from tests.llm_server import LLMServer
from tests.stored import hass_storage  # noqa: F401

WRONG = [3, None, ["a"], {"a": {"b": 1}}, "x" * 300_000, "../../x", ""]


@pytest.fixture
async def entry(hass: HomeAssistant, house: None, llm_server: LLMServer) -> MockConfigEntry:
    Path(hass.config.path(".storage")).mkdir(exist_ok=True)
    await build_house(hass)
    entry = await set_up(hass, llm_server)
    for name in ("Pump", "Boiler", "Roof", "Lawn"):
        await act(hass, "add_document", title=name, text=f"The {name} is behind the house and needs {name} care.")
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


@pytest.mark.parametrize("field", ["collection", "title", "text", "path", "outside", "metadata"])
@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
async def test_a_document_costs_only_itself(
    hass: HomeAssistant, entry: MockConfigEntry, field: str, wrong: Any
) -> None:
    await hass.config_entries.async_unload(entry.entry_id)
    path = Path(hass.config.path(".storage"), "home_agent.knowledge")
    content = json.loads(path.read_text())
    content["data"]["documents"][1][field] = wrong
    path.write_text(json.dumps(content))
    await loaded(hass, entry)
    assert entry.runtime_data.knowledge.counts["documents"] >= 3
    found = await entry.runtime_data.knowledge.async_find("Lawn care")
    assert any("Lawn" in one.text for one in found)


async def loaded(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Load the entry as after a start."""
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)


def name(number: int, **fields: Any) -> dict[str, Any]:
    row = {
        "id": str(number),
        "status": "taught",
        "user_id": None,
        "target": "light.bed_light",
        "name": f"lamp {number}",
    }
    return {**row, "when": "2026-11-20T10:00:00+00:00", **fields}


async def test_of_too_many_rows_the_last_are_read(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await hass.config_entries.async_unload(entry.entry_id)
    path = Path(hass.config.path(".storage"), "home_agent.taught_names")
    content = json.dumps(
        {"version": 1, "key": path.name, "data": {"names": [name(number) for number in range(30_000)]}}
    )
    path.write_text(content)
    await loaded(hass, entry)
    rows = taught_names_of(hass).rows()
    assert (len(rows), rows[-1].name) == (TaughtNames.most_read, "lamp 29999")
    [copy] = path.parent.glob(f"{path.name}.corrupt.*")
    assert copy.read_text() == content
    assert ir.async_get(hass).async_get_issue("home_agent", f"{Trouble.BROKEN}_{copy.name}")


async def test_a_row_with_a_text_that_is_too_long_is_left_out(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await hass.config_entries.async_unload(entry.entry_id)
    path = Path(hass.config.path(".storage"), "home_agent.taught_names")
    names = [name(1), name(2, name="x" * 20_000), name(3)]
    path.write_text(json.dumps({"version": 1, "key": path.name, "data": {"names": names, "unsaved": [3, {}, "x"]}}))
    await loaded(hass, entry)
    assert [row.name for row in taught_names_of(hass).rows()] == ["lamp 1", "lamp 3"]


@pytest.mark.parametrize(("kind", "row"), [
    (ActionJournal, {"id": "1"}), (Conversations, {"id": "1"}), (LearnedPhrases, {"id": "1"}), (Memories, {"id": "1"}),
])  # fmt: skip
async def test_a_file_of_rows_that_are_none_is_set_aside_fast(
    hass: HomeAssistant, entry: MockConfigEntry, kind: type[Kept[Any]], row: dict[str, Any]
) -> None:
    await hass.config_entries.async_unload(entry.entry_id)
    file = f"home_agent.{kind.file}" + (f".{entry.entry_id}" if kind.of_entry else "")
    path = Path(hass.config.path(".storage"), file)
    path.write_text(json.dumps({"version": 1, "key": file, "data": {kind.items: [row] * 100_000}}))
    await loaded(hass, entry)
    thing = kept_things(hass).of(kind)
    await thing.async_load()
    assert list(path.parent.glob(f"{file}.corrupt.*"))
    assert thing.is_stored


async def test_an_entry_of_a_later_version_is_left_as_it_is(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await hass.config_entries.async_unload(entry.entry_id)
    hass.config_entries.async_update_entry(entry, version=ENTRY_VERSION + 1, options={"of": "tomorrow"})
    assert not await hass.config_entries.async_setup(entry.entry_id)
    assert entry.state is ConfigEntryState.MIGRATION_ERROR
    assert (entry.version, dict(entry.options)) == (ENTRY_VERSION + 1, {"of": "tomorrow"})


async def test_an_entry_of_this_release_is_not_taken_by_the_one_before(
    hass: HomeAssistant, entry: MockConfigEntry
) -> None:
    """A release before knew version 1 alone and refuses a later one, which Home Assistant shows; its settings stay."""
    assert entry.version == ENTRY_VERSION == 2
