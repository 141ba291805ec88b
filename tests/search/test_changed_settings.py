"""Another store or embedding model while it is in use: what runs ends where it began, what follows finds the new one."""

import asyncio
from pathlib import Path
from typing import Any

from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.search.model import Query
from custom_components.home_agent.search.vectors import Vectors
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.const import DOMAIN
from tests.embedding_server import EmbeddingServer
from tests.house import act, build_house, say, set_up, speech, until
from tests.llm_server import LLMServer, text

from .chroma import ChromaServer

PUMP = "The pump runs for four hours."


def to(server: EmbeddingServer, **more: Any) -> dict[str, Any]:
    return {"embedding": "endpoint", "embedding_preset": "custom", "embedding_url": server.base_url, **more}


def at(settings: RetrievalSettings) -> dict[str, Any]:
    return {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": settings.chroma_port}


@pytest.fixture
async def second(socket_enabled: None) -> Any:
    """Return another embedding endpoint, whose vectors are longer."""
    server = EmbeddingServer(dimension=48)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def entry(hass: HomeAssistant, embedding_server: EmbeddingServer, llm_server: LLMServer) -> MockConfigEntry:
    await build_house(hass)
    entry = await set_up(hass, llm_server, options={"retrieval": to(embedding_server), "throttle_turns": 1000})
    await act(hass, "add_document", text=PUMP, collection="garden")
    await act(hass, "add_memory", content="Grandma Ilse drinks only peppermint tea")
    await hass.async_block_till_done(wait_background_tasks=True)
    return entry


async def change(hass: HomeAssistant, entry: MockConfigEntry, **retrieval: Any) -> None:
    begin(hass, entry, **retrieval)
    await hass.async_block_till_done(wait_background_tasks=True)


def begin(hass: HomeAssistant, entry: MockConfigEntry, **retrieval: Any) -> None:
    hass.config_entries.async_update_entry(entry, options={**entry.options, "retrieval": retrieval})


def vectors_of(entry: MockConfigEntry) -> Vectors:
    vectors: Vectors = entry.runtime_data.library.vectors
    return vectors


async def collections(entry: MockConfigEntry) -> dict[str, int]:
    store = await vectors_of(entry).async_open()
    return dict(await store.async_collections())


ALL = {"home_entities": 6, "garden": 1, "home_agent_memories": 1}


async def test_another_model_gets_everything(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, second: EmbeddingServer
) -> None:
    runtime, before = entry.runtime_data, vectors_of(entry)
    assert await collections(entry) == ALL
    await change(hass, entry, **to(second, embedding_model="other"))
    assert entry.runtime_data is runtime
    assert await collections(entry) == ALL
    assert len(second.texts) == 8
    embedding_server.requests.clear()
    assert (await runtime.finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"
    assert second.texts[-1] == "bed light"
    assert not embedding_server.requests
    assert runtime.finder.report.vectors_current
    with pytest.raises(Exception, match="in the meantime"):
        await before.async_open()


async def test_a_search_ends_where_it_began(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, second: EmbeddingServer
) -> None:
    embedding_server.delay = 0.5
    before = len(embedding_server.requests)
    search = hass.async_create_task(vectors_of(entry).async_nearest("bed light", ["home_entities"], 3))
    await until(lambda: len(embedding_server.requests) > before)
    begin(hass, entry, **to(second, embedding_model="other"), similarity_threshold=0.5)
    found = await search
    assert [type(one) for one in found.values()] == [list], "what it reads stands until it has ended"
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await collections(entry) == ALL


async def test_a_model_that_hangs_is_left_at_once(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, second: EmbeddingServer
) -> None:
    """The vectors of the home are being made when another model is chosen."""
    embedding_server.delay = 30
    begin(hass, entry, **to(embedding_server, embedding_model="slow"))
    await until(lambda: [one for one in embedding_server.requests if one["model"] == "slow"])
    async with asyncio.timeout(10):
        await change(hass, entry, **to(second, embedding_model="other"))
    assert await collections(entry) == ALL
    assert entry.runtime_data.finder.report.vectors_current


async def test_an_action_that_writes_ends_in_what_is_chosen_meanwhile(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, second: EmbeddingServer
) -> None:
    embedding_server.delay = 0.5
    before = len(embedding_server.requests)
    indexing = hass.async_create_task(act(hass, "reindex_entities", force=True))
    await until(lambda: len(embedding_server.requests) > before)
    begin(hass, entry, **to(second, embedding_model="other"))
    await indexing
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await collections(entry) == ALL
    assert entry.runtime_data.finder.report.vectors_current


async def test_two_changes_within_a_second_end_with_the_second(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, second: EmbeddingServer
) -> None:
    for number in range(6):
        begin(hass, entry, **to(second if number % 2 else embedding_server, embedding_model=f"model {number}"))
        for _ in range(number * 3):
            await asyncio.sleep(0)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert vectors_of(entry).embedder.key == "model model 5"
    assert await collections(entry) == ALL
    assert not entry.runtime_data.library._left


async def test_turns_go_on_while_the_store_moves(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    llm_server: LLMServer,
    embedding_server: EmbeddingServer,
    chroma_settings: RetrievalSettings,
    chroma_server: ChromaServer,
    admin: Context,
) -> None:
    chroma_server.make("recipes")
    llm_server.respond(lambda _body: text("It runs for four hours."))
    stop = False

    async def talk() -> int:
        turns = 0
        while not stop:
            said = await say(hass, "how long does the pump run", context=admin)
            assert speech(said) == "It runs for four hours."
            turns += 1
        return turns

    talking = hass.async_create_task(talk())
    for options in (to(embedding_server, **at(chroma_settings)), to(embedding_server), at(chroma_settings), {}):
        begin(hass, entry, **options)
        llm_server.requests.clear()
        await until(lambda: len(llm_server.requests) >= 3, 60)
        told = [str(request.body["messages"]) for request in llm_server.requests]
        assert all("The pump runs" in messages for messages in told), "documents are found all the time"
    stop = True
    assert await talking > 3
    await hass.async_block_till_done(wait_background_tasks=True)
    assert entry.state is ConfigEntryState.LOADED
    assert await collections(entry) == {"garden": 1}
    begin(hass, entry, **at(chroma_settings))
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await collections(entry) == {"garden": 1, "recipes": 0}
    await hass.config_entries.async_remove(entry.entry_id)


async def test_a_server_that_is_away_is_taken_up_as_at_a_start(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, second: EmbeddingServer
) -> None:
    """The computer of a model is often off: words find until it is there, and its outage is told where outages are."""
    await second.stop()
    await change(hass, entry, **to(second, embedding_model="other"))
    assert ir.async_get(hass).async_get_issue(DOMAIN, f"changes_failed_{entry.entry_id}") is None
    assert (await entry.runtime_data.finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"
    for _ in range(3):
        with pytest.raises(Exception, match="other"):
            await act(hass, "reindex_entities")
    told = [issue.translation_key for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN]
    assert told == ["embedding_failing"]
    await change(hass, entry, **to(embedding_server))
    assert not [issue for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN]
    assert await collections(entry) == ALL


async def test_collections_of_others_come_and_go(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    chroma_settings: RetrievalSettings,
    chroma_server: ChromaServer,
    embedding_server: EmbeddingServer,
) -> None:
    knowledge = entry.runtime_data.knowledge
    await act(hass, "add_document", text="Knead the dough for ten minutes.", collection="recipes")
    await change(hass, entry, **at(chroma_settings))
    await act(hass, "remove_document", document=[*knowledge.added.entries][-1])
    chroma_server.make("others")
    store = await vectors_of(entry).async_open()
    assert set(await store.async_collections()) >= {"garden", "others"}
    await change(hass, entry, **at(chroma_settings), additional_collections=["garden", "others"])
    assert entry.runtime_data.knowledge is knowledge
    assert {*knowledge.search._external} == {"others"}
    await change(hass, entry, **at(chroma_settings))
    assert not knowledge.search._external
    await hass.config_entries.async_remove(entry.entry_id)


async def test_limits_alone_keep_store_and_model(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer
) -> None:
    vectors, asked = vectors_of(entry), len(embedding_server.requests)
    await change(hass, entry, **to(embedding_server, similarity_threshold=0.999, top_k=1, additional_top_k=1))
    assert vectors_of(entry) is vectors
    assert len(embedding_server.requests) == asked
    assert await entry.runtime_data.finder._async_near(Query(text="something else")) == []


async def test_names_of_collections_that_change_places(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer
) -> None:
    options = {
        "retrieval": to(embedding_server, collection="home_agent_memories"), "memory": {"collection": "home_entities"},
    }  # fmt: skip
    hass.config_entries.async_update_entry(entry, options=options)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await collections(entry) == {"home_agent_memories": 6, "home_entities": 1, "garden": 1}


async def test_changes_leave_nothing_open(
    hass: HomeAssistant, entry: MockConfigEntry, embedding_server: EmbeddingServer, documents_file: Path
) -> None:
    def open_files() -> int:
        links = (path for path in Path("/proc/self/fd").iterdir())
        return sum("home_agent." in str(path.readlink()) for path in links if path.is_symlink())

    await change(hass, entry, **to(embedding_server, embedding_batch=1))
    before = await hass.async_add_executor_job(open_files)
    for number in range(2, 8):
        await change(hass, entry, **to(embedding_server, embedding_batch=number))
    assert before
    assert await hass.async_add_executor_job(open_files) <= before
    await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not await hass.async_add_executor_job(open_files)
