"""Documents and their copies in a store, with an embedding endpoint."""

from collections.abc import AsyncGenerator

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.search.embeddings import EndpointEmbedder
from custom_components.home_agent.search.vectors import Counts, Store, Vectors
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.errors import EmbeddingError
from custom_components.home_agent.support.issues import RetrievalIssues
from tests.embedding_server import EmbeddingServer
from tests.llm_server import unauthorized

from .conftest import document

DOCUMENTS = {item.id: item for item in (document("light.kitchen"), document("light.bed"), document("lock.door"))}
NAME = "home_entities"


@pytest.fixture
async def vectors(hass: HomeAssistant, store: Store, embedding_server: EmbeddingServer) -> AsyncGenerator[Vectors]:
    settings = RetrievalSettings(
        embedding="endpoint", embedding_url=embedding_server.base_url, embedding_preset="custom", embedding_batch=2
    )
    embedder = EndpointEmbedder(hass, settings, RetrievalIssues(hass))
    yield Vectors(store, embedder)
    await embedder.async_close()


async def test_only_what_changed_is_embedded_again(vectors: Vectors, embedding_server: EmbeddingServer) -> None:
    assert await vectors.async_sync(NAME, DOCUMENTS) == Counts(added=3)
    changed = {**DOCUMENTS, "light.bed": document("light.bed", "Lamp beside the bed")}
    changed.pop("lock.door")
    assert await vectors.async_sync(NAME, changed) == Counts(updated=1, removed=1, unchanged=1)
    assert embedding_server.texts == [*(item.text for item in DOCUMENTS.values()), "Lamp beside the bed"]
    nearest = await vectors.async_nearest("Lamp beside the bed", [NAME, "missing"], 1)
    assert nearest["missing"] is None
    found = nearest[NAME]
    assert isinstance(found, list)
    assert [match.id for match in found] == ["light.bed"]


async def test_other_vectors_are_seen_by_a_change(vectors: Vectors, embedding_server: EmbeddingServer) -> None:
    await vectors.async_sync(NAME, DOCUMENTS)
    embedding_server.dimension = 16
    await vectors.async_sync(NAME, {**DOCUMENTS, "fan.attic": document("fan.attic")})
    assert await vectors.store.async_collections() == {NAME: 4}
    found = (await vectors.async_nearest("Text of fan.attic", [NAME], 4))[NAME]
    assert isinstance(found, list)
    assert len(found) == 4


async def test_other_vectors_are_seen_by_a_question(vectors: Vectors, embedding_server: EmbeddingServer) -> None:
    await vectors.async_sync(NAME, DOCUMENTS)
    embedding_server.dimension = 16
    assert not isinstance((await vectors.async_nearest("kitchen", [NAME], 4))[NAME], list)
    await vectors.async_sync(NAME, DOCUMENTS)
    found = (await vectors.async_nearest("kitchen", [NAME], 4))[NAME]
    assert isinstance(found, list)
    assert len(found) == 3


async def test_a_failing_endpoint_is_resumed(vectors: Vectors, embedding_server: EmbeddingServer) -> None:
    embedding_server.plan(embedding_server.vectors, unauthorized())
    with pytest.raises(EmbeddingError):
        await vectors.async_sync(NAME, DOCUMENTS)
    await vectors.async_sync(NAME, DOCUMENTS)
    assert len(await vectors.store.async_documents(NAME)) == 3
    assert [len(body["input"]) for body in embedding_server.requests] == [2, 1, 1]
