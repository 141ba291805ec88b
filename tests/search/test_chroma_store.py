"""What only a server can do: be away, be slow, be somebody else's."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
import json
from typing import Any
from urllib.request import Request, urlopen

from aiohttp import web
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.search import chroma_store as chroma_api
from custom_components.home_agent.search.chroma_store import BATCH, ChromaStore
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support import outages as health
from custom_components.home_agent.support.errors import StoreError, StoreRefusedError
from custom_components.home_agent.support.issues import RetrievalIssues
from tests.client.conftest import server_certificate
from tests.flows.conftest import tls_server
from tests.llm_server import LLMServer

from .chroma import ChromaServer
from .conftest import KEY, document, failing, rows

__all__ = ["server_certificate", "tls_server"]

MANY = [document(f"sensor.s{number}") for number in range(3 * BATCH)]


@pytest.fixture
async def chroma(hass: HomeAssistant, chroma_settings: RetrievalSettings) -> AsyncGenerator[ChromaStore]:
    store = ChromaStore(hass, chroma_settings, RetrievalIssues(hass))
    await store.async_open()
    yield store
    for name in await store.async_collections():
        await store._async_drop(name)
    await store.async_close()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_api, "RETRY_DELAY", 0.01)


def post(server: ChromaServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    url = f"http://127.0.0.1:{server.port}/api/v2/tenants/default_tenant/databases/default_database/{path}"
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=10) as answer:
        return dict(json.load(answer))


def foreign(server: ChromaServer, name: str, space: str, *vectors: list[float]) -> None:
    made = post(server, "collections", {"name": name, "configuration": {"hnsw": {"space": space}}})
    ids = [f"{name}-{number}" for number in range(len(vectors))]
    post(server, f"collections/{made['id']}/upsert", {"ids": ids, "embeddings": vectors, "documents": ids})


async def fill(store: ChromaStore) -> None:
    await store.async_upsert("home_entities", [document("light.kitchen")], rows([1, 0, 0]), KEY)


async def test_distance_and_similarity_of_foreign_collections(chroma: ChromaStore, chroma_server: ChromaServer) -> None:
    foreign(chroma_server, "by_cosine", "cosine", [2.0, 0.0], [0.0, 3.0])
    foreign(chroma_server, "by_distance", "l2", [3.0, 4.0])
    near, far = await chroma.async_query("by_cosine", [1.0, 0.0], 5) or []
    assert [near.similarity, far.similarity] == pytest.approx([1.0, 0.0], abs=1e-6)
    for match in await chroma.async_query("by_distance", [0.0, 0.0], 5) or []:
        assert match.similarity is None
        assert match.distance == pytest.approx(25.0)
        assert not match.metadata
    assert await chroma.async_collections() == {"by_cosine": 2, "by_distance": 1}


async def test_foreign_collection_is_never_changed(chroma: ChromaStore, chroma_server: ChromaServer) -> None:
    foreign(chroma_server, "home_entities", "l2", [3.0, 4.0])
    vectors = rows([1, 0])
    for change in (
        chroma.async_upsert("home_entities", [document("light.kitchen")], vectors, KEY),
        chroma.async_delete("home_entities", ["home_entities-0"]),
        chroma.async_drop("home_entities"),
    ):
        with pytest.raises(StoreRefusedError) as refusal:
            await change
        assert refusal.value.translation_key == "store_foreign"
    assert [item.id for item in await chroma.async_documents("home_entities")] == ["home_entities-0"]


async def test_foreign_vector_lengths(hass: HomeAssistant, chroma: ChromaStore, chroma_server: ChromaServer) -> None:
    foreign(chroma_server, "manuals", "cosine", [2.0, 0.0])
    await fill(chroma)
    for _ in range(4):
        with pytest.raises(StoreRefusedError) as refusal:
            await chroma.async_query("manuals", [1.0, 0.0, 0.0], 5)
    assert refusal.value.translation_placeholders == {
        "store": chroma.health.name, "collection": "manuals", "detail": "2, 3"
    }  # fmt: skip
    assert await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)
    assert failing(hass) == []


async def test_a_recreated_collection_is_found(chroma: ChromaStore, chroma_server: ChromaServer) -> None:
    foreign(chroma_server, "manuals", "cosine", [2.0, 0.0])
    assert await chroma.async_query("manuals", [1.0, 0.0], 5)
    await chroma._async_drop("manuals")
    foreign(chroma_server, "manuals", "cosine", [2.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    assert len(await chroma.async_query("manuals", [1.0, 0.0, 0.0], 5) or []) == 2


@pytest.mark.usefixtures("quick")
async def test_killed_between_two_turns(hass: HomeAssistant, chroma: ChromaStore, chroma_server: ChromaServer) -> None:
    await fill(chroma)
    chroma_server.kill()
    for number in range(1, 4):
        with pytest.raises(StoreError) as error:
            await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)
        assert error.value.translation_key == "store_unreachable"
        assert failing(hass) == (["store_failing"] if number == 3 else [])
    chroma_server.start()
    assert await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)
    assert failing(hass) == []


async def test_killed_in_the_middle_of_a_turn(
    chroma: ChromaStore, chroma_server: ChromaServer, quick: None, hass: HomeAssistant
) -> None:
    await fill(chroma)
    asking = [asyncio.ensure_future(chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)) for _ in range(50)]
    await asyncio.sleep(0)
    await hass.async_add_executor_job(chroma_server.kill)
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(answer, list | StoreError) for answer in answers)
    assert isinstance(answers[-1], StoreError)
    chroma_server.start()
    assert await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)


async def test_killed_in_the_middle_of_indexing_the_rest_follows(
    hass: HomeAssistant, chroma: ChromaStore, chroma_server: ChromaServer, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = rows(*([1, number, 0] for number in range(len(MANY))))
    asked = chroma._async_at

    async def killed_before_the_second_batch(found: Any, what: str, body: Any, name: str) -> Any:
        if what == "upsert" and body["ids"][0] == MANY[BATCH].id:
            await hass.async_add_executor_job(chroma_server.kill)
        return await asked(found, what, body, name)

    with monkeypatch.context() as broken:
        broken.setattr(chroma, "_async_at", killed_before_the_second_batch)
        with pytest.raises(StoreError):
            await chroma.async_upsert("home_entities", MANY, vectors, KEY)
    chroma_server.start()
    known = await chroma.async_digests("home_entities", KEY)
    assert known == {item.id: item.digest for item in MANY[:BATCH]}
    await chroma.async_upsert("home_entities", MANY[BATCH:], vectors[BATCH:], KEY)
    assert len(await chroma.async_digests("home_entities", KEY)) == len(MANY)


async def test_after_a_failure_nobody_waits_for_a_while(
    chroma: ChromaStore, chroma_server: ChromaServer, monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    await fill(chroma)
    monkeypatch.setattr(health, "PAUSE", 600.0)
    chroma_server.kill()
    with pytest.raises(StoreError):
        await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)
    chroma_server.start()
    with pytest.raises(StoreError) as error:
        await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)
    assert error.value.translation_key == "store_unreachable"
    assert await chroma.async_digests("home_entities", KEY)  # the index asks nevertheless
    assert await chroma.async_query("home_entities", [1.0, 0.0, 0.0], 5)


@pytest.mark.parametrize(("changes", "key"), [
    ({"chroma_tenant": "nobody"}, "store_database"), ({"chroma_database": "nothing"}, "store_database"),
    ({"chroma_host": "no host"}, "store_unreachable"), ({"chroma_tls": True}, "store_certificate"),
], ids=["tenant", "database", "host", "plain server asked with TLS"])  # fmt: skip
async def test_wrong_settings(
    hass: HomeAssistant, chroma_settings: RetrievalSettings, changes: dict[str, Any], key: str, quick: None
) -> None:
    store = ChromaStore(hass, replace(chroma_settings, **changes), RetrievalIssues(hass))
    with pytest.raises(StoreError) as error:
        await store.async_open()
    assert error.value.translation_key == key


class Pretender:
    """A server that is not Chroma, or has something in front of it."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.answer = web.Response(text="Welcome", content_type="text/html")
        self.silent = False
        self.port = 0

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._on_request)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        return runner

    async def _on_request(self, request: web.Request) -> web.Response:
        self.headers.append(dict(request.headers))
        if self.silent:
            await asyncio.Event().wait()
        return self.answer


@pytest.fixture
async def pretender(socket_enabled: None) -> AsyncGenerator[Pretender]:
    server = Pretender()
    runner = await server.start()
    yield server
    await runner.cleanup()


@pytest.mark.parametrize(("answer", "key"), [
    (web.Response(text="<html>Welcome</html>", content_type="text/html"), "store_answer"),
    (web.json_response([1, 2]), "store_answer"),
    (web.json_response({"error": "x"}, status=500), "store_answer"),
    (web.Response(status=404, text="not here"), "store_answer"),
    (web.Response(status=302, headers={"Location": "http://elsewhere.invalid/"}), "store_answer"),
    (web.json_response({"error": "AuthError"}, status=401), "store_auth"),
    (web.json_response({"error": "AuthError"}, status=403), "store_auth"),
], ids=["page", "list", "broken", "old version", "redirect", "401", "403"])  # fmt: skip
async def test_not_a_chroma(hass: HomeAssistant, pretender: Pretender, answer: web.Response, key: str) -> None:
    pretender.answer = answer
    settings = RetrievalSettings(chroma_host="127.0.0.1", chroma_port=pretender.port, chroma_token="secret-token")
    store = ChromaStore(hass, settings, RetrievalIssues(hass))
    with pytest.raises(StoreError) as error:
        await store.async_query("home_entities", [1.0], 5)
    assert error.value.translation_key == key
    assert "secret-token" not in str(error.value.translation_placeholders)
    assert pretender.headers[0]["Authorization"] == "Bearer secret-token"
    assert pretender.headers[0]["X-Chroma-Token"] == "secret-token"


async def test_endless_answer(hass: HomeAssistant, pretender: Pretender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_api, "MAX_ANSWER", 100)
    pretender.answer = web.json_response({"id": "x" * 200, "dimension": 1})
    settings = RetrievalSettings(chroma_host="127.0.0.1", chroma_port=pretender.port)
    store = ChromaStore(hass, settings, RetrievalIssues(hass))
    with pytest.raises(StoreError) as error:
        await store.async_query("home_entities", [1.0], 5)
    assert (error.value.translation_placeholders or {})["detail"] == "BodyTooLong"


async def test_silent_server(hass: HomeAssistant, pretender: Pretender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_api, "QUERY_TIMEOUT", 0.1)
    pretender.silent = True
    settings = RetrievalSettings(chroma_host="127.0.0.1", chroma_port=pretender.port)
    store = ChromaStore(hass, settings, RetrievalIssues(hass))
    with pytest.raises(StoreError) as error:
        await store.async_query("home_entities", [1.0], 5)
    assert error.value.translation_key == "store_timeout"


async def test_a_certificate_is_checked_unless_switched_off(hass: HomeAssistant, tls_server: LLMServer) -> None:
    settings = RetrievalSettings(
        chroma_host="127.0.0.1", chroma_port=tls_server.port, chroma_tls=True, chroma_token="secret-token"
    )
    found = []
    for verify in (True, False):
        with pytest.raises(StoreError) as error:
            await ChromaStore(hass, replace(settings, chroma_verify_ssl=verify), RetrievalIssues(hass)).async_open()
        found.append(error.value.translation_key)
    assert found == ["store_certificate", "store_answer"]  # it is no Chroma, but it was asked
