"""Vectors of the home in a store: only what changed is embedded, what is gone leaves, and nothing waits for either."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events, async_fire_time_changed

from custom_components.home_agent.search import vectors
from custom_components.home_agent.search.index import LOOK_AGAIN, HomeIndex
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.turn import events
from custom_components.home_agent.turn.turn import Turn, current_turn
from tests.embedding_server import EmbeddingServer
from tests.house import EXPOSED, act, build_house, set_up
from tests.llm_server import unauthorized

from .chroma import ChromaServer
from .conftest import document, rows

NAME = "home_entities"
EMBEDDED = pytest.mark.parametrize("where", ["embedded"], indirect=True)
CHROMA = pytest.mark.parametrize("where", ["chroma"], indirect=True)
type Start = Callable[..., Awaitable[MockConfigEntry]]


@pytest.fixture(params=["embedded", "chroma"])
def where(request: pytest.FixtureRequest) -> dict[str, Any]:
    if request.param == "embedded":
        return {}
    settings: RetrievalSettings = request.getfixturevalue("chroma_settings")
    return {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": settings.chroma_port}


@pytest.fixture
async def start(hass: HomeAssistant, embedding_server: EmbeddingServer, where: dict[str, Any]) -> Any:
    """Return how to set the demo house up with an embedding endpoint."""
    await build_house(hass)
    endpoint = {"embedding": "endpoint", "embedding_preset": "custom", "embedding_url": embedding_server.base_url}
    entries = []

    async def start(*, complete: bool = True, **more: Any) -> MockConfigEntry:
        entry = await set_up(hass, options={"retrieval": endpoint | where | more})
        entries.append(entry)
        await hass.async_block_till_done(wait_background_tasks=True)
        if complete:
            await settle(hass)
        return entry

    yield start
    for entry in entries:
        store = entry.runtime_data.finder._vectors.store
        for name in await store.async_collections():
            await store.async_drop(name)


async def kept(entry: MockConfigEntry) -> dict[str, str]:
    found = await entry.runtime_data.finder._vectors.store.async_documents(NAME)
    return {document.id: document.text for document in found}


async def settle(hass: HomeAssistant) -> None:
    """Let the home be read and its vectors be written, again if a busy machine kept the store waiting."""
    finder: HomeIndex = hass.config_entries.async_entries(DOMAIN)[0].runtime_data.finder
    for _ in range(5):
        async_fire_time_changed(hass, fire_all=True)
        await hass.async_block_till_done(wait_background_tasks=True)
        if finder.report.vectors_current:
            break


async def test_every_exposed_entity_is_in_the_store(hass: HomeAssistant, start: Start) -> None:
    entry = await start()
    assert set(await kept(entry)) == set(EXPOSED)
    assert entry.runtime_data.finder.report.vectors_current


async def test_only_changes_are_embedded(hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer) -> None:
    entry = await start()
    before = len(embedding_server.texts)
    er.async_get(hass).async_update_entity("light.bed_light", name="Zeppelin")
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    er.async_get(hass).async_remove("light.ceiling_lights")
    hass.states.async_set("cover.kitchen_window", "opening")
    await settle(hass)
    assert embedding_server.texts[before:] == [(await kept(entry))["light.bed_light"]]
    assert set(await kept(entry)) == set(EXPOSED) - {"lock.front_door", "light.ceiling_lights"}
    assert "Zeppelin" in (await kept(entry))["light.bed_light"]


async def test_a_restart_embeds_nothing(hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer) -> None:
    entry = await start()
    before = len(embedding_server.texts)
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert len(embedding_server.texts) == before


async def test_vectors_say_what_words_do_not(hass: HomeAssistant, start: Start) -> None:
    entry = await start(similarity_threshold=0.0)
    er.async_get(hass).async_update_entity("switch.decorative_lights", name="Lichterkette")
    await settle(hass)
    finder: HomeIndex = entry.runtime_data.finder
    near = await finder._async_near(Query(text="Lichterkette"))
    assert near[0] == "switch.decorative_lights"
    assert (await finder.async_find(Query(text="Lichterkette")))[0].entity_id == "switch.decorative_lights"


@EMBEDDED
@pytest.mark.parametrize("top_k", [1, 3, 50])
async def test_as_many_neighbours_count_as_the_setting_says(start: Start, top_k: int) -> None:
    entry = await start(similarity_threshold=-1, top_k=top_k)
    near = await entry.runtime_data.finder._async_near(Query(text="bed light", limit=40))
    assert len(near) == min(top_k, len(EXPOSED))


async def test_the_threshold_of_similarity_holds(start: Start) -> None:
    entry = await start(similarity_threshold=0.9999)
    assert await entry.runtime_data.finder._async_near(Query(text="bed")) == []


@EMBEDDED
async def test_back_to_words_alone_nothing_of_the_home_stays_in_the_store(hass: HomeAssistant, start: Start) -> None:
    entry = await start()
    hass.config_entries.async_update_entry(entry, options={"retrieval": {"embedding": "lexical"}})
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await entry.runtime_data.finder._vectors.store.async_collections() == {}


async def test_without_a_model_the_vectors_of_the_home_leave(hass: HomeAssistant, start: Start) -> None:
    entry = await start()
    store = entry.runtime_data.finder._vectors.store
    await store.async_drop(NAME)
    # as versions did that wrote vectors of letters
    await store.async_upsert(NAME, [document("light.bed_light")], rows([1.0, 0.0, 0.0]), "lexical 1 512")
    retrieval = {**entry.options["retrieval"], "embedding": "lexical"}
    hass.config_entries.async_update_entry(entry, options={"retrieval": retrieval})
    await hass.async_block_till_done(wait_background_tasks=True)
    finder: HomeIndex = entry.runtime_data.finder
    assert await finder._vectors.store.async_collections() == {}
    assert (await finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"
    await finder.async_reindex(anew=True)
    assert await finder._vectors.store.async_collections() == {}


@CHROMA
async def test_without_a_model_a_collection_of_another_program_is_no_trouble(
    hass: HomeAssistant, start: Start, chroma_server: ChromaServer, caplog: pytest.LogCaptureFixture
) -> None:
    chroma_server.make(NAME)
    entry = await start(embedding="lexical")
    assert set(await entry.runtime_data.finder._vectors.store.async_collections()) == {NAME}
    assert entry.runtime_data.finder._cancel_retry is None
    chroma_server.clear()


@CHROMA
async def test_server_killed_while_it_is_written_to(
    hass: HomeAssistant,
    start: Start,
    embedding_server: EmbeddingServer,
    chroma_server: ChromaServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors, "BATCH", 2)

    def kill(texts: Sequence[str]) -> list[list[float]]:
        chroma_server.kill()
        return embedding_server.vectors(texts)

    embedding_server.plan(embedding_server.vectors, kill)
    entry = await start(complete=False)
    finder: HomeIndex = entry.runtime_data.finder
    assert (await finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"
    assert not finder.report.vectors_current
    chroma_server.start()
    await settle(hass)
    assert set(await kept(entry)) == set(EXPOSED)
    assert finder.report.vectors_current


@EMBEDDED
async def test_an_event_tells_what_was_near(hass: HomeAssistant, start: Start) -> None:
    entry = await start(similarity_threshold=0.0)
    heard = async_capture_events(hass, events.VECTOR_DB_QUERIED)
    turn = Turn(profile=Profile(name="Home Agent"), conversation_id="c", text="", language="en", context=Context())
    token = current_turn.set(turn)
    await entry.runtime_data.finder.async_find(Query(text="bed light"))
    current_turn.reset(token)
    (event,) = heard
    assert event.data["entities"][0] == "light.bed_light"
    assert event.data["collections"] == {NAME: event.data["results"]}
    assert event.data["conversation_id"] == "c"
    assert "bed light" not in str(event.data)


async def test_endpoint_gone_half_way_is_gone_on_from_there(
    hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BATCH", 2)
    embedding_server.plan(embedding_server.vectors, unauthorized())
    entry = await start(complete=False)
    assert len(await kept(entry)) == 2
    assert not entry.runtime_data.finder.report.vectors_current
    assert (await entry.runtime_data.finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"
    await settle(hass)
    assert set(await kept(entry)) == set(EXPOSED)
    entities = [item for item in embedding_server.texts if item != "bed light"]
    times = [entities.count(item) for item in entities[:4]]
    assert times[:2] == [1, 1], "what was written before does not come again"
    assert min(times[2:]) > 1, "what failed comes again; on a busy machine more than once"


async def test_half_an_answer_is_none(hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer) -> None:
    embedding_server.plan(lambda texts: embedding_server.vectors(texts[:1]))
    entry = await start(complete=False)
    assert await kept(entry) == {}
    assert (await entry.runtime_data.finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"
    await settle(hass)
    assert set(await kept(entry)) == set(EXPOSED)


async def test_a_slow_endpoint_costs_a_moment_once(
    hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = await start()
    monkeypatch.setattr(vectors, "QUERY_TIMEOUT", 0.05)
    embedding_server.delay = 30
    finder: HomeIndex = entry.runtime_data.finder
    for words in ("bed light", "ceiling lights"):
        assert len(await finder.async_find(Query(text=words))) > 0
    assert (await finder.async_find(Query(text="bed light")))[0].entity_id == "light.bed_light"


async def test_reindex_tells_progress(hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer) -> None:
    await start()
    heard = async_capture_events(hass, events.INDEX_PROGRESS)
    answer = await act(hass, "reindex_entities", force=True)
    assert answer.pop("duration_ms") >= 0
    assert answer == {"entities": 6, "added": 0, "updated": 0, "removed": 0, "unchanged": 6}
    assert [(item.data["status"], item.data["done"], item.data["total"]) for item in heard] == [
        ("started", 6, 6),
        ("completed", 6, 6),
    ]
    await settle(hass)
    assert {text: embedding_server.texts.count(text) for text in set(embedding_server.texts)} == dict.fromkeys(
        embedding_server.texts, 2
    )


async def test_reindex_says_what_became_of_the_vectors(hass: HomeAssistant, start: Start) -> None:
    entry = await start()
    er.async_get(hass).async_update_entity("light.bed_light", name="Zeppelin")
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    answer = await act(hass, "reindex_entities")
    del answer["duration_ms"]
    assert answer == {"entities": 5, "added": 0, "updated": 1, "removed": 1, "unchanged": 4}
    assert entry.runtime_data.finder.report.vectors_current


async def test_what_the_store_lost_is_written_again_after_the_next_question(hass: HomeAssistant, start: Start) -> None:
    entry = await start()
    await entry.runtime_data.finder._vectors.store.async_drop(NAME)
    await entry.runtime_data.finder.async_find(Query(text="bed light"))
    await hass.async_block_till_done(wait_background_tasks=True)
    assert set(await kept(entry)) == set(EXPOSED)


@CHROMA
async def test_a_server_is_checked_for_vectors(hass: HomeAssistant, start: Start, chroma_server: ChromaServer) -> None:
    entry = await start()
    chroma_server.clear()
    async_fire_time_changed(hass, dt_util.utcnow() + LOOK_AGAIN)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert set(await kept(entry)) == set(EXPOSED)


async def test_reindex_tells_an_error(hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer) -> None:
    await start()
    er.async_get(hass).async_update_entity("light.bed_light", name="Zeppelin")
    await embedding_server.stop()
    with pytest.raises(HomeAssistantError):
        await hass.services.async_call(DOMAIN, "reindex_entities", {}, blocking=True)


async def test_index_one_entity(hass: HomeAssistant, start: Start) -> None:
    entry = await start()
    er.async_get(hass).async_update_entity("light.bed_light", name="Zeppelin")
    answer = await act(hass, "index_entity", entity_id="light.bed_light")
    assert answer["text"] == (await kept(entry))["light.bed_light"]
    assert "Zeppelin; Bedroom" in answer["text"]
    with pytest.raises(HomeAssistantError) as error:
        await hass.services.async_call(DOMAIN, "index_entity", {"entity_id": "light.office_rgbw_lights"}, blocking=True)
    assert error.value.translation_key == "entity_not_exposed"


@EMBEDDED
async def test_one_entity_is_written_without_asking_what_the_store_has(
    hass: HomeAssistant, start: Start, embedding_server: EmbeddingServer
) -> None:
    entry = await start()
    finder: HomeIndex = entry.runtime_data.finder
    await finder._vectors.store.async_delete(NAME, ["lock.front_door"])  # to see that it is not looked for
    hass.states.async_set("light.loose", "on", {"friendly_name": "Old"})
    async_expose_entity(hass, ASSISTANT, "light.loose", True)
    await settle(hass)
    before = len(embedding_server.texts)
    hass.states.async_set("light.loose", "on", {"friendly_name": "Zeppelin"})
    await hass.services.async_call(DOMAIN, "index_entity", {"entity_id": "light.loose"}, blocking=True)
    assert embedding_server.texts[before:] == [(await kept(entry))["light.loose"]]
    assert "lock.front_door" not in await kept(entry)
    await finder.async_reindex()
    assert "lock.front_door" in await kept(entry)


@EMBEDDED
async def test_only_administrators_index(hass: HomeAssistant, start: Start, hass_read_only_user: Any) -> None:
    await start()
    with pytest.raises(Unauthorized):
        await act(hass, "reindex_entities", Context(user_id=hass_read_only_user.id))
