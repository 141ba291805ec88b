"""Vectors of an endpoint, and what happens when it does not give them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from homeassistant.core import HomeAssistant
import numpy as np
import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.search import embeddings, embeddings as embedding_cache, embeddings as embeddings_api
from custom_components.home_agent.search.embeddings import EndpointEmbedder
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.errors import EmbeddingError
from custom_components.home_agent.support.issues import RetrievalIssues
from custom_components.home_agent.support.localize import async_error_text
from tests.embedding_server import EmbeddingServer
from tests.flows.conftest import server_certificate, tls_server
from tests.llm_server import (
    LLMServer,
    Reply,
    error,
    html,
    loading,
    model_not_found,
    rate_limited,
    server_error,
    unauthorized,
)
from tests.search.conftest import failing

__all__ = ["server_certificate", "tls_server"]

TEXTS = ["Kitchen light", "Bedroom light", "Front door"]

type MakeEmbedder = Callable[..., EndpointEmbedder]


@pytest.fixture(autouse=True)
def quick_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings_api, "RETRY_DELAY", 0.01)


@pytest.fixture
async def make_embedder(hass: HomeAssistant, embedding_server: EmbeddingServer) -> AsyncGenerator[MakeEmbedder]:
    made: list[EndpointEmbedder] = []
    settings = RetrievalSettings(
        embedding="endpoint",
        embedding_url=embedding_server.base_url,
        embedding_preset="custom",
        embedding_key="sk-key-1",
    )

    def make(**changes: Any) -> EndpointEmbedder:
        made.append(EndpointEmbedder(hass, replace(settings, **changes), RetrievalIssues(hass)))
        return made[-1]

    yield make
    for embedder in made:
        await embedder.async_close()


async def test_one_normalised_row_per_text(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    vectors = await make_embedder().async_embed(TEXTS)
    wanted = np.array(embedding_server.vectors(TEXTS), dtype=np.float32)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert np.allclose(vectors, wanted, atol=1e-5)
    assert embedding_server.requests == [{"model": "text-embedding-3-small", "input": TEXTS}]
    assert embedding_server.paths == ["/v1/embeddings"]
    assert embedding_server.headers[0]["Authorization"] == "Bearer sk-key-1"


async def test_requests_share_a_connection(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    """The same of two embedders, one of before and one of after a reload."""
    for embedder in (make_embedder(embedding_batch=1), make_embedder(embedding_model="another")):
        await embedder.async_embed(["one", "two"])
    assert len(embedding_server.requests) == 3
    assert len(set(embedding_server.peers)) == 1


async def test_many_texts_go_in_batches(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    texts = [f"Light {number % 8}" for number in range(20)]
    vectors = await make_embedder(embedding_batch=3).async_embed(texts)
    assert [len(body["input"]) for body in embedding_server.requests] == [3, 3, 2]
    assert vectors.shape == (20, 32)
    assert np.array_equal(vectors[0], vectors[8])


@pytest.mark.parametrize(("keep_alive", "sent"), [("5m", "5m"), ("-1", -1), ("300", 300)])
async def test_ollama_is_asked_its_own_way_with_keep_alive(
    make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, keep_alive: str, sent: str | int
) -> None:
    await make_embedder(embedding_preset="ollama", embedding_keep_alive=keep_alive).async_embed(TEXTS)
    assert embedding_server.paths == ["/api/embed"]
    assert embedding_server.requests[0]["keep_alive"] == sent


async def test_no_key_no_header(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    await make_embedder(embedding_key="").async_embed(TEXTS)
    assert "Authorization" not in embedding_server.headers[0]


@pytest.mark.parametrize(("preset", "sent"), [("openrouter", "Call [phone]"), ("ollama", "Call +49 171 2345678")])
async def test_personal_data_is_hidden_on_the_way_out_of_the_house(
    make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, preset: str, sent: str
) -> None:
    await make_embedder(embedding_preset=preset).async_embed(["Call +49 171 2345678"])
    assert embedding_server.texts == [sent]


async def test_the_cache_survives_a_restart(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    first = await make_embedder().async_embed(TEXTS)
    again = await make_embedder().async_embed([*TEXTS, "New lamp"])
    assert embedding_server.texts == [*TEXTS, "New lamp"]
    assert np.array_equal(again[:3], first)
    await make_embedder(embedding_model="another").async_embed(TEXTS)
    assert embedding_server.texts == [*TEXTS, "New lamp", *TEXTS]


async def test_cache_is_bounded_and_keeps_what_is_used(
    make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_cache, "MAX_IN_FILE", 3)
    embedder = make_embedder()
    await embedder.async_embed(["a", "b", "c"])
    await embedder.async_embed(["d"])
    await embedder.async_embed(["b", "c", "d"])
    assert embedding_server.texts == ["a", "b", "c", "d"]


async def test_broken_cache_is_no_obstacle(
    make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, hass: HomeAssistant
) -> None:
    path = embeddings.database_of(hass).path
    path.mkdir(parents=True)
    embedder = make_embedder()
    assert (await embedder.async_embed(TEXTS)).shape == (3, 32)
    assert (await embedder.async_embed(TEXTS)).shape == (3, 32)
    assert embedding_server.texts == TEXTS * 2


async def test_same_question_is_asked_once(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedder = make_embedder()
    first = await embedder.async_embed(["turn on the light"], within=3)
    assert np.array_equal(await embedder.async_embed(["turn on the light"], within=3), first)
    assert embedding_server.texts == ["turn on the light"]


async def test_a_changed_model_replaces_all(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedder = make_embedder()
    await embedder.async_embed(TEXTS)
    embedding_server.dimension = 16
    assert (await embedder.async_embed([*TEXTS, "New lamp"])).shape == (4, 16)
    assert (await embedder.async_embed(TEXTS)).shape == (3, 16)
    assert len(embedding_server.texts) == 3 + 1 + 4


async def test_equal_questions_share_an_answer(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedder = make_embedder()
    first, second = await asyncio.gather(*[embedder.async_embed(["turn on the light"], within=3) for _ in range(2)])
    assert np.array_equal(first, second)
    assert embedding_server.texts == ["turn on the light"]


async def test_who_waits_while_it_ends_gets_an_error_and_nobody_is_alarmed(
    make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    embedding_server.plan(Reply(silent=True))
    embedder = make_embedder()
    waiting = asyncio.ensure_future(embedder.async_embed(["turn on the light"], within=30))
    while not embedding_server.requests:
        await asyncio.sleep(0.01)
    await embedder.async_close()
    with pytest.raises(EmbeddingError):
        await waiting
    assert "is unavailable" not in caplog.text


async def test_changing_lengths_are_given_up(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedding_server.plan(*[partial(long, 2 + number % 2) for number in range(20)])
    with pytest.raises(EmbeddingError) as raised:
        await make_embedder(embedding_batch=1).async_embed(TEXTS)
    assert raised.value.translation_key == "embedding_answer"
    assert len(embedding_server.requests) == 4


@pytest.mark.filterwarnings("error::RuntimeWarning")
async def test_too_large_numbers_are_refused(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedding_server.plan(lambda texts: [[1e308] * 4 for _ in texts])
    with pytest.raises(EmbeddingError):
        await make_embedder().async_embed(TEXTS, within=3)


def long(length: int, texts: Sequence[str]) -> list[list[float]]:
    return [[1.0] * length for _ in texts]


def half(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.0]] * (len(texts) // 2)


def of_two_lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0] * (2 + number) for number in range(len(texts))]


def not_a_number(texts: Sequence[str]) -> list[list[float]]:
    return [[float("nan"), 1.0]] * len(texts)


def nothing(texts: Sequence[str]) -> list[list[float]]:
    return [[0.0, 0.0]] * len(texts)


@pytest.mark.parametrize(("answer", "key"), [
    (half, "embedding_answer"), (of_two_lengths, "embedding_answer"), (not_a_number, "embedding_answer"),
    (nothing, "embedding_answer"), (html(), "embedding_answer"),
    (Reply(body=b'{"data": "none"}', content_type="application/json"), "embedding_answer"),
    (Reply(body=b"[]", content_type="application/json"), "embedding_answer"), (unauthorized(), "embedding_auth"),
    (model_not_found(), "embedding_model"), (error(400, "input is too long"), "embedding_answer"),
], ids=["half", "two lengths", "NaN", "zeros", "page", "words", "list", "401", "model", "400"])  # fmt: skip
async def test_wrong_answer_is_one_translated_error(
    hass: HomeAssistant, make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, answer: Any, key: str
) -> None:
    embedding_server.plan(answer)
    with pytest.raises(EmbeddingError) as failure:
        await make_embedder().async_embed(TEXTS)
    assert failure.value.translation_key == key
    assert len(embedding_server.requests) == 1  # the same again would not help
    for language in ("en", "de"):
        sentence = await async_error_text(hass, language, failure.value)
        assert "text-embedding-3-small (127.0.0.1:" in sentence
        assert "sk-key-1" not in sentence


@pytest.mark.parametrize("answer", [server_error(), server_error(503), rate_limited("0")], ids=["500", "503", "429"])
async def test_retry_counts(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, answer: Reply) -> None:
    embedding_server.plan(answer)
    assert (await make_embedder().async_embed(TEXTS)).shape == (3, 32)
    assert len(embedding_server.requests) == 2
    embedding_server.plan(answer)
    with pytest.raises(EmbeddingError):
        await make_embedder().async_embed(["a question"], within=3)
    assert len(embedding_server.requests) == 3


async def test_index_waits_for_a_model_that_is_being_loaded_a_turn_does_not(
    hass: HomeAssistant, make_embedder: MakeEmbedder, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_completions, "LOADING_PAUSE", 0.01)
    embedding_server.plan(*(loading() for _ in range(4)))
    assert (await make_embedder().async_embed(TEXTS)).shape == (3, 32)
    assert len(embedding_server.requests) == 5
    embedding_server.plan(loading())
    with pytest.raises(EmbeddingError) as failure:
        await make_embedder().async_embed(["a question"], within=3)
    assert len(embedding_server.requests) == 6
    assert failure.value.translation_key == "embedding_loading"
    sentence = await async_error_text(hass, "en", failure.value)
    assert sentence.endswith("is still being loaded. Please try again in a moment.")


async def test_a_late_answer_is_kept(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedder = make_embedder()
    embedding_server.delay = 0.3
    with pytest.raises(EmbeddingError) as failure:
        await embedder.async_embed(["turn on the light"], within=0.1)
    assert failure.value.translation_key == "embedding_timeout"
    await asyncio.gather(*embedder._asking.values())
    assert (await embedder.async_embed(["turn on the light"], within=0.1)).shape == (1, 32)
    assert embedding_server.texts == ["turn on the light"]


async def test_endpoint_that_is_away_and_comes_back(
    hass: HomeAssistant, make_embedder: MakeEmbedder, embedding_server: EmbeddingServer
) -> None:
    embedder = make_embedder()
    port = embedding_server.port
    await embedding_server.stop()
    for number in range(1, 4):
        with pytest.raises(EmbeddingError) as failure:
            await embedder.async_embed(["a question"], within=3)
        assert failure.value.translation_key == "embedding_unreachable"
        assert failing(hass) == (["embedding_failing"] if number == 3 else [])
    await embedding_server.start(port)
    await embedder.async_embed(["a question"], within=3)
    assert failing(hass) == []


async def test_certificate_is_checked(make_embedder: MakeEmbedder, tls_server: LLMServer) -> None:
    with pytest.raises(EmbeddingError) as failure:
        await make_embedder(embedding_url=tls_server.base_url).async_embed(TEXTS)
    assert failure.value.translation_key == "embedding_certificate"
    with pytest.raises(EmbeddingError) as failure:  # it makes no embeddings, but it was asked
        await make_embedder(embedding_url=tls_server.base_url, embedding_verify_ssl=False).async_embed(TEXTS)
    assert failure.value.translation_key == "embedding_answer"


async def test_half_of_the_batches_is_kept(make_embedder: MakeEmbedder, embedding_server: EmbeddingServer) -> None:
    embedder = make_embedder(embedding_batch=1)
    embedding_server.plan(embedding_server.vectors, unauthorized())
    with pytest.raises(EmbeddingError):
        await embedder.async_embed(TEXTS)
    await embedder.async_embed(TEXTS)
    assert embedding_server.texts == ["Kitchen light", "Bedroom light", "Bedroom light", "Front door"]
