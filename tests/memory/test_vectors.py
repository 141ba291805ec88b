"""Memories with an embedding model: copies in a collection of their own, found by what they mean."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import ALL
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_of, kept_things
from tests.embedding_server import EmbeddingServer
from tests.house import set_up
from tests.search.conftest import chroma_process, chroma_server, chroma_settings

from .conftest import HOUSE, said

__all__ = ["chroma_process", "chroma_server", "chroma_settings"]

TEA = "Grandma Ilse drinks only peppermint tea"
COLLECTION = "home_agent_memories"


def retrieval(server: EmbeddingServer, **more: Any) -> dict[str, Any]:
    return {"embedding": "endpoint", "embedding_preset": "custom", "embedding_url": server.base_url, **more}


async def collections(entry: MockConfigEntry) -> dict[str, int]:
    store = await entry.runtime_data.library.vectors.async_open()
    return dict(await store.async_collections())


async def remember(hass: HomeAssistant, *contents: str) -> None:
    await kept_of(hass, Memories).async_add([said(content) for content in contents])
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_they_are_found_by_meaning(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass, options={"retrieval": retrieval(embedding_server)})
    embedding_server.plan(lambda texts: [[1.0, 0.0] for _ in texts])
    await remember(hass, TEA)
    assert (await collections(entry))[COLLECTION] == 1
    embedding_server.plan(lambda _texts: [[0.9, 0.1]])
    [found] = await kept_of(hass, Memories).async_find("her favourite beverage", HOUSE)
    assert found.memory.content == TEA
    assert found.score == pytest.approx(0.99, abs=0.01)


async def test_copies_follow(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass, options={"retrieval": retrieval(embedding_server)})
    await remember(hass, TEA, "The spare key hangs behind the boiler")
    assert (await collections(entry))[COLLECTION] == 2
    await kept_of(hass, Memories).async_delete([kept_of(hass, Memories).of(None)[0].id])
    await hass.async_block_till_done(wait_background_tasks=True)
    assert (await collections(entry))[COLLECTION] == 1
    await kept_of(hass, Memories).async_clear(ALL)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert COLLECTION not in await collections(entry)


async def test_while_memory_is_off_no_model_is_given_any(
    hass: HomeAssistant, embedding_server: EmbeddingServer, hass_storage: dict[str, Any]
) -> None:
    """What is deleted goes from the store as well; nothing else happens, and what is on the disk is not read for nothing."""
    options = {"retrieval": retrieval(embedding_server)}
    entry = await set_up(hass, options=options)
    await remember(hass, TEA, "The spare key hangs behind the boiler")
    first, second = kept_of(hass, Memories).of(None)
    other = {"retrieval": retrieval(embedding_server, embedding_model="another"), "memory": {"enabled": False}}
    hass.config_entries.async_update_entry(entry, options=other)
    await hass.async_block_till_done(wait_background_tasks=True)
    embedding_server.requests.clear()
    kept_things(hass).forget()  # as after a restart
    await hass.config_entries.async_reload(entry.entry_id)
    with pytest.raises(ServiceValidationError):
        await hass.services.async_call(DOMAIN, "list_memories", {}, blocking=True, return_response=True)
    assert not kept_of(hass, Memories).of(None)
    await hass.services.async_call(DOMAIN, "delete_memory", {"memory_id": first.id}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert embedding_server.requests == []
    assert (await collections(entry))[COLLECTION] == 1
    assert kept_of(hass, Memories).of(None) == [second]
    await hass.services.async_call(DOMAIN, "clear_memories", {"confirm": True}, blocking=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not (await collections(entry)).get(COLLECTION)
    assert embedding_server.requests == []


async def test_a_renamed_collection_takes_them_along(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    options = {"retrieval": retrieval(embedding_server)}
    entry = await set_up(hass, options=options)
    await remember(hass, TEA)
    hass.config_entries.async_update_entry(entry, options={**options, "memory": {"collection": "other_memories"}})
    await hass.async_block_till_done(wait_background_tasks=True)
    found = await collections(entry)
    assert (found.get(COLLECTION), found["other_memories"]) == (None, 1)


async def test_without_a_model_copies_leave(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass, options={"retrieval": retrieval(embedding_server)})
    await remember(hass, TEA)
    hass.config_entries.async_update_entry(entry, options={})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert COLLECTION not in await collections(entry)
    assert [found.memory.content for found in await kept_of(hass, Memories).async_find("peppermint tea", HOUSE)] == [
        TEA
    ]


@pytest.mark.parametrize("away", ["model", "store"])
async def test_an_outage_costs_only_itself(hass: HomeAssistant, embedding_server: EmbeddingServer, away: str) -> None:
    nowhere = {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": 1}
    await set_up(hass, options={"retrieval": retrieval(embedding_server, **(nowhere if away == "store" else {}))})
    if away == "model":
        await embedding_server.stop()
    await remember(hass, TEA)
    assert [found.memory.content for found in await kept_of(hass, Memories).async_find("peppermint tea", HOUSE)] == [
        TEA
    ]


@pytest.mark.usefixtures("chroma_server")
async def test_they_stand_in_a_collection_of_a_chroma_server(
    hass: HomeAssistant, embedding_server: EmbeddingServer, chroma_settings: RetrievalSettings
) -> None:
    where = {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": chroma_settings.chroma_port}
    entry = await set_up(hass, options={"retrieval": retrieval(embedding_server, **where)})
    await remember(hass, TEA)
    assert (await collections(entry))[COLLECTION] == 1
    assert [found.memory.content for found in await kept_of(hass, Memories).async_find("peppermint tea", HOUSE)] == [
        TEA
    ]
    store = await entry.runtime_data.library.vectors.async_open()
    await hass.config_entries.async_remove(entry.entry_id)
    await store.async_open()
    assert COLLECTION not in await store.async_collections()
    await store.async_close()


async def test_documents_never_stand_among_them(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    """Who may read documents would read the memories of all."""
    listed = retrieval(embedding_server, additional_collections=["recipes", COLLECTION])
    assert RetrievalSettings.from_options({"retrieval": listed}).additional_collections == ("recipes",)
    other = {"retrieval": listed, "memory": {"collection": "recipes"}}
    assert RetrievalSettings.from_options(other).additional_collections == (COLLECTION,)
