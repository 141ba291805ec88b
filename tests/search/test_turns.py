"""Whole conversations while something is broken: the user gets an answer, and the model is told what it is about."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
import sqlite3
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.requirements import RequirementsNotFound
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed

from custom_components.home_agent.search import (
    chroma_store as chroma_api,
    database,
    embeddings as embeddings_api,
    model as numeric,
)
from custom_components.home_agent.search.embedded_store import VERSION
from custom_components.home_agent.support.const import ASSISTANT
from tests.embedding_server import EmbeddingServer
from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, Reply, html, rate_limited, text, unauthorized
from tests.search.conftest import failing

from .chroma import ChromaServer

type Start = Callable[..., Awaitable[MockConfigEntry]]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings_api, "RETRY_DELAY", 0.01)
    monkeypatch.setattr(chroma_api, "RETRY_DELAY", 0.01)
    monkeypatch.setattr(database, "BUSY_TIMEOUT", 0.05)


@pytest.fixture
async def start(hass: HomeAssistant, llm_server: LLMServer, embedding_server: EmbeddingServer) -> Start:
    """Return how to set the demo house up with an embedding endpoint; states are looked up, not listed."""
    await build_house(hass)
    endpoint = {"embedding": "endpoint", "embedding_preset": "custom", "embedding_url": embedding_server.base_url}

    async def start(profile: Mapping[str, Any] | None = None, **more: Any) -> MockConfigEntry:
        profile = profile or {"context_mode": "retrieved"}
        entry = await set_up(hass, llm_server, profile=profile, options={"retrieval": endpoint | more})
        await hass.async_block_till_done(wait_background_tasks=True)
        return entry

    return start


async def ask_about_the_kitchen(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """Ask a question; the answer comes, and the model was told of the light."""
    llm_server.plan(text("It is on."))
    assert speech(await say(hass, "Is the kitchen light on?")) == "It is on."
    assert '"light.kitchen_lights":' in llm_server.request.last_user


async def test_chroma_killed_in_the_middle_of_a_turn(
    hass: HomeAssistant,
    llm_server: LLMServer,
    start: Start,
    chroma_server: ChromaServer,
    embedding_server: EmbeddingServer,
) -> None:
    await start(store="chroma", chroma_host="127.0.0.1", chroma_port=chroma_server.port)
    await ask_about_the_kitchen(hass, llm_server)

    def killed(texts: Sequence[str]) -> list[list[float]]:  # between the question's vector and the search for it
        chroma_server.kill()
        return embedding_server.vectors(texts)

    embedding_server.plan(killed)
    llm_server.plan(text("It is off."))
    assert speech(await say(hass, "Is the light in the kitchen off?")) == "It is off."
    assert '"light.kitchen_lights":' in llm_server.request.last_user
    chroma_server.start()
    await ask_about_the_kitchen(hass, llm_server)
    assert set(failing(hass)) == set()


async def test_chroma_killed_before_the_index_was_there(
    hass: HomeAssistant, llm_server: LLMServer, start: Start, chroma_server: ChromaServer
) -> None:
    chroma_server.kill()
    await start(store="chroma", chroma_host="127.0.0.1", chroma_port=chroma_server.port)
    for _ in range(3):
        await ask_about_the_kitchen(hass, llm_server)
    assert set(failing(hass)) == {"store_failing"}
    chroma_server.start()
    await ask_about_the_kitchen(hass, llm_server)
    assert set(failing(hass)) == set()


@pytest.mark.parametrize("answer", [
    lambda texts: [], lambda texts: [[1.0, 0.0, 0.0] for _ in texts],
    lambda texts: [[float("nan")] * 32 for _ in texts], html(), rate_limited(), unauthorized(),
], ids=["half an answer", "another length", "NaN", "page", "429", "401"])  # fmt: skip
async def test_embedding_endpoint_that_answers_wrongly(
    hass: HomeAssistant, llm_server: LLMServer, start: Start, embedding_server: EmbeddingServer, answer: Any
) -> None:
    await start()
    embedding_server.plan(answer)
    await ask_about_the_kitchen(hass, llm_server)
    await hass.async_block_till_done(wait_background_tasks=True)
    await ask_about_the_kitchen(hass, llm_server)


async def test_embedding_endpoint_that_is_silent(
    hass: HomeAssistant, llm_server: LLMServer, start: Start, embedding_server: EmbeddingServer
) -> None:
    await start()
    embedding_server.plan(Reply(silent=True))
    async with asyncio.timeout(10):
        await ask_about_the_kitchen(hass, llm_server)


def deleted(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def of_a_newer_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={VERSION + 1}")
    connection.close()


@pytest.mark.parametrize("harm", [deleted, truncated, of_a_newer_version])
async def test_index_file_that_is_harmed_is_built_again(
    hass: HomeAssistant, llm_server: LLMServer, start: Start, documents_file: Path, harm: Callable[[Path], None]
) -> None:
    entry = await start()
    await hass.config_entries.async_unload(entry.entry_id)
    harm(documents_file)
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    await ask_about_the_kitchen(hass, llm_server)
    assert not set(failing(hass))
    assert len(await entry.runtime_data.library.vectors.store.async_documents("home_entities")) == 6


async def test_locked_index(hass: HomeAssistant, llm_server: LLMServer, start: Start, documents_file: Path) -> None:
    entry = await start()
    await hass.config_entries.async_unload(entry.entry_id)
    other = sqlite3.connect(documents_file, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done(wait_background_tasks=True)
    for _ in range(3):
        await ask_about_the_kitchen(hass, llm_server)
    assert set(failing(hass)) == {"store_failing"}
    other.close()
    await ask_about_the_kitchen(hass, llm_server)
    assert set(failing(hass)) == set()


async def test_library_that_cannot_be_installed(
    hass: HomeAssistant, llm_server: LLMServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def offline(_hass: HomeAssistant, name: str, requirements: list[str], **_options: Any) -> None:
        raise RequirementsNotFound(name, requirements)

    with monkeypatch.context() as broken:
        broken.setattr(numeric, "async_process_requirements", offline)
        entry = await start(embedding="lexical")
        assert entry.state is ConfigEntryState.LOADED
        llm_server.plan(text("It is on."))
        assert speech(await say(hass, "Are the Kitchen Lights on?")) == "It is on."
        assert '"light.kitchen_lights":' in llm_server.request.last_user
        for _ in range(2):
            async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=90), fire_all=True)
            await hass.async_block_till_done(wait_background_tasks=True)
        assert set(failing(hass)) == {"store_failing"}
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(seconds=90), fire_all=True)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert set(failing(hass)) == set()


@pytest.mark.parametrize("mode", ["retrieved", "both"])
async def test_what_is_hidden_while_a_question_waits_for_its_vector_is_not_told(
    hass: HomeAssistant, llm_server: LLMServer, start: Start, embedding_server: EmbeddingServer, mode: str
) -> None:
    await start(profile={"context_mode": mode})

    def hidden(texts: Sequence[str]) -> list[list[float]]:
        async_expose_entity(hass, ASSISTANT, "light.kitchen_lights", False)
        return embedding_server.vectors(texts)

    embedding_server.plan(hidden)
    llm_server.plan(text("I do not know."))
    await say(hass, "Is the kitchen light on?")
    assert b"kitchen_lights" not in llm_server.request.raw
    assert b"kitchen_window" in llm_server.request.raw
