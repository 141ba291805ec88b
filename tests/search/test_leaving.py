"""What stays behind when another store is chosen, or the integration goes: nothing of ours, and nothing else is touched."""

from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.search import chroma_store as chroma_api
from custom_components.home_agent.search.vectors import Store, make_store
from custom_components.home_agent.settings.search import CONF_RETRIEVAL, RetrievalSettings
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.issues import RetrievalIssues
from tests.embedding_server import EmbeddingServer
from tests.house import build_house, set_up

from .chroma import ChromaServer


@pytest.fixture
async def server(hass: HomeAssistant, chroma_settings: RetrievalSettings) -> Store:
    return make_store(hass, chroma_settings, RetrievalIssues(hass))


@pytest.fixture
def options(chroma_settings: RetrievalSettings, embedding_server: EmbeddingServer) -> dict[str, Any]:
    """Options that lead to the server and to a model, without which nothing of the home is kept."""
    return {
        "store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": chroma_settings.chroma_port,
        "embedding": "endpoint", "embedding_preset": "custom", "embedding_url": embedding_server.base_url,
    }  # fmt: skip


async def set_up_with_a_document(hass: HomeAssistant, options: dict[str, Any]) -> MockConfigEntry:
    """Set the demo house up, with a document in a collection of its own."""
    await build_house(hass)
    entry = await set_up(hass, options={CONF_RETRIEVAL: options})
    await hass.async_block_till_done(wait_background_tasks=True)
    await hass.services.async_call(
        DOMAIN, "add_document", {"text": "The pump runs for four hours.", "collection": "garden"}, blocking=True
    )
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


async def change(hass: HomeAssistant, entry: MockConfigEntry, options: dict[str, Any]) -> None:
    hass.config_entries.async_update_entry(entry, options={CONF_RETRIEVAL: options})
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_removal_empties_the_server_of_what_is_ours(
    hass: HomeAssistant, server: Store, options: dict[str, Any], chroma_server: ChromaServer
) -> None:
    entry = await set_up_with_a_document(hass, options)
    chroma_server.make("recipes")
    assert set(await server.async_collections()) == {"home_entities", "garden", "recipes"}
    await hass.config_entries.async_remove(entry.entry_id)
    assert set(await server.async_collections()) == {"recipes"}


async def test_a_server_that_is_away_keeps_nobody_from_removing(
    hass: HomeAssistant,
    options: dict[str, Any],
    chroma_server: ChromaServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chroma_api, "RETRY_DELAY", 0.01)
    entry = await set_up_with_a_document(hass, options)
    chroma_server.kill()
    await hass.config_entries.async_remove(entry.entry_id)
    assert not hass.config_entries.async_entries(DOMAIN)
    assert "cannot be deleted there" in caplog.text


async def test_a_renamed_collection_takes_all(hass: HomeAssistant, server: Store, options: dict[str, Any]) -> None:
    entry = await set_up_with_a_document(hass, options)
    await change(hass, entry, options | {"collection": "my_house"})
    assert await server.async_collections() == {"my_house": 6, "garden": 1}
    await hass.config_entries.async_remove(entry.entry_id)


async def test_another_store_takes_all(hass: HomeAssistant, server: Store, options: dict[str, Any]) -> None:
    entry = await set_up_with_a_document(hass, options)
    await change(hass, entry, {})
    assert await server.async_collections() == {}
    assert await entry.runtime_data.library.vectors.store.async_collections() == {"garden": 1}
    await change(hass, entry, options)
    assert await server.async_collections() == {"home_entities": 6, "garden": 1}
    await hass.config_entries.async_remove(entry.entry_id)


async def test_a_folder_in_place_of_the_file_is_harmless(hass: HomeAssistant, caplog: pytest.LogCaptureFixture) -> None:
    await build_house(hass)
    entry = await set_up(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    await hass.config_entries.async_unload(entry.entry_id)
    (path,) = Path(hass.config.path()).rglob("home_agent.documents.db")
    path.unlink()
    path.mkdir()
    await hass.config_entries.async_remove(entry.entry_id)
    assert not hass.config_entries.async_entries(DOMAIN)
    assert f"{path.name} cannot be deleted" in caplog.text
    assert "Error calling entry remove callback" not in caplog.text
