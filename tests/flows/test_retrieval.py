"""The forms about looking things up: they try what was entered, and never show a key again."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest

from custom_components.home_agent.flows import retrieval
from custom_components.home_agent.flows.retrieval import REMOVE, SECRETS, STEPS, taken
from custom_components.home_agent.search import embeddings as embeddings_api
from custom_components.home_agent.settings.search import RetrievalSettings
from tests.embedding_server import EmbeddingServer
from tests.flows.forms import fields, page, send_page, send_search as send, shown
from tests.house import set_up
from tests.llm_server import server_error, unauthorized
from tests.search.chroma import ChromaServer
from tests.search.conftest import chroma_process, chroma_server

__all__ = ["chroma_process", "chroma_server"]


def model(server: EmbeddingServer) -> dict[str, Any]:
    """Return what an owner enters about an embedding model."""
    return {
        "embedding": "endpoint", "embedding_preset": "custom", "embedding_url": server.base_url,
        "embedding_key": "sk-embed-1", "embedding_model": "letters",
    }  # fmt: skip


@pytest.mark.parametrize(("stored", "step", "holds"), [
    ({}, "retrieval", {"store": "embedded", "embedding": "lexical", "additional_top_k": 5}),
    ({"store": "chroma"}, "chroma", {"chroma_host": "localhost", "chroma_port": 8000, "collection": "home_entities"}),
    (
        {"embedding": "endpoint"}, "embedding",
        {
            "embedding_model": "text-embedding-3-small", "embedding_keep_alive": "5m", "top_k": 5,
            "similarity_threshold": 0.2,
        },
    ),
])  # fmt: skip
async def test_a_form_shows_the_defaults(
    hass: HomeAssistant, stored: dict[str, Any], step: str, holds: dict[str, Any]
) -> None:
    form = await page(hass, await set_up(hass), "retrieval")
    if stored:
        form = await send_page(hass, form, **(shown(form) | stored))
    assert form["step_id"] == step
    assert shown(form).items() >= holds.items()
    assert list(fields(form)) == list(STEPS[step])


def test_every_setting_is_asked_for_once() -> None:
    assert sorted(key for fields in STEPS.values() for key in fields) == sorted(RetrievalSettings.__dataclass_fields__)


async def test_form_sent_back_untouched_stores_nothing(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"emit_events": False})
    form = await page(hass, entry, "retrieval")
    assert (await send(hass, form, **shown(form)))["type"] is FlowResultType.MENU
    assert dict(entry.options) == {"emit_events": False}


async def test_a_setting_that_is_unknown_is_ignored_and_stays(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"retrieval": {"l2_threshold": 90.0, "additional_top_k": 3}})
    form = await page(hass, entry, "retrieval")
    assert "l2_threshold" not in fields(form)
    await send(hass, form, **shown(form))
    assert dict(entry.options) == {"retrieval": {"l2_threshold": 90.0, "additional_top_k": 3}}


async def test_model_is_tried_and_stored(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass)
    result = await send(hass, await page(hass, entry, "retrieval"), **model(embedding_server), top_k=7.0)
    assert result["type"] is FlowResultType.MENU
    assert entry.options == {"retrieval": {**model(embedding_server), "top_k": 7}}
    assert embedding_server.requests[0] == {"model": "letters", "input": ["Kitchen light"]}
    assert embedding_server.headers[0]["Authorization"] == "Bearer sk-embed-1"


async def test_keys_are_never_shown_again_and_stay(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    stored = {**model(embedding_server), "chroma_token": "token-1"}
    entry = await set_up(hass, options={"retrieval": stored})
    form = await page(hass, entry, "retrieval")
    form = await send_page(hass, form, **shown(form))
    assert not {*SECRETS} & shown(form).keys()
    assert "sk-embed-1" not in str(form["data_schema"].schema)
    await send(hass, form)
    assert entry.options == {"retrieval": stored}


@pytest.mark.parametrize("secret", SECRETS)
async def test_each_secret_is_removable(
    hass: HomeAssistant, embedding_server: EmbeddingServer, chroma_server: ChromaServer, secret: str
) -> None:
    chroma = {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": chroma_server.port}
    stored = {**model(embedding_server), **chroma, "chroma_token": "token-1"}
    entry = await set_up(hass, options={"retrieval": stored})
    await send(hass, await page(hass, entry, "retrieval"), **{REMOVE[secret]: True})
    assert entry.options == {"retrieval": {key: value for key, value in stored.items() if key != secret}}
    form = await page(hass, entry, "retrieval")
    while form["type"] == "form":
        assert REMOVE[secret] not in fields(form)
        form = await send_page(hass, form, **shown(form))


async def test_new_key_counts_more_than_forgetting_the_old_one() -> None:
    sent = {"embedding_key": "new", "remove_embedding_key": True}
    assert taken("embedding", {"embedding_key": "old"}, sent) == {"embedding_key": "new"}


async def test_the_key_survives_an_error(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass)
    embedding_server.plan(server_error(404))
    first = await send(hass, await page(hass, entry, "retrieval"), **model(embedding_server))
    assert first["errors"] == {"base": "retrieval_failed"}
    assert "sk-embed-1" not in str(first)
    await send(hass, first, **shown(first))
    assert entry.options == {"retrieval": model(embedding_server)}
    assert embedding_server.headers[-1]["Authorization"] == "Bearer sk-embed-1"


@pytest.mark.parametrize(("step", "moved", "same"), [
    ("embedding", {"embedding_url": "http://10.0.0.2/v1"}, {"embedding_url": "http://10.0.0.1/v1"}),
    ("chroma", {"chroma_host": "other"}, {"chroma_host": "nas"}),
])  # fmt: skip
def test_key_goes_to_no_other_server(step: str, moved: dict[str, Any], same: dict[str, Any]) -> None:
    stored = {"embedding_url": "http://10.0.0.1/v1", "embedding_key": "sk", "chroma_host": "nas", "chroma_token": "t"}
    secret = {"embedding": "embedding_key", "chroma": "chroma_token"}[step]
    after = taken(step, stored, moved)
    assert secret not in after
    assert {*SECRETS} - {secret} <= after.keys()
    assert taken(step, stored, same) == stored


async def test_wrong_key_is_said_in_words(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass)
    embedding_server.plan(unauthorized())
    result = await send(hass, await page(hass, entry, "retrieval"), **model(embedding_server))
    assert result["errors"] == {"base": "retrieval_failed"}
    assert result["description_placeholders"] == {
        "reason": f"The embedding model letters (127.0.0.1:{embedding_server.port}) refused the key."
    }
    assert "retrieval" not in entry.options
    assert "sk-embed-1" not in str(result["description_placeholders"])


async def test_silent_model_is_given_up(
    hass: HomeAssistant, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval, "TEST_TIMEOUT", 0.1)
    embedding_server.delay = 5
    entry = await set_up(hass)
    result = await send(hass, await page(hass, entry, "retrieval"), **model(embedding_server))
    assert "did not answer in time" in str(result["description_placeholders"])


async def test_server_that_is_off_may_be_stored_untried(
    hass: HomeAssistant, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embeddings_api, "RETRY_DELAY", 0.01)
    entry = await set_up(hass)
    await embedding_server.stop()
    result = await send(hass, await page(hass, entry, "retrieval"), **model(embedding_server))
    assert "cannot be reached" in str(result["description_placeholders"])
    assert "use_anyway" in fields(result)
    result = await send(hass, result, **model(embedding_server), use_anyway=True)
    assert result["type"] is FlowResultType.MENU
    assert entry.options["retrieval"]["embedding_model"] == "letters"


async def test_chroma(hass: HomeAssistant, chroma_server: ChromaServer, caplog: pytest.LogCaptureFixture) -> None:
    entry = await set_up(hass)
    chroma = {"store": "chroma", "chroma_host": "127.0.0.1", "chroma_port": chroma_server.port}
    wrong = await send(hass, await page(hass, entry, "retrieval"), **chroma, chroma_tenant="nobody")
    assert "does not have this tenant or database" in str(wrong["description_placeholders"])
    assert "is unavailable" not in caplog.text  # the form has said it
    result = await send(hass, wrong, **chroma, chroma_tenant="default_tenant")
    assert result["type"] is FlowResultType.MENU
    assert entry.options == {"retrieval": chroma}


@pytest.mark.parametrize(("sent", "error"), [
    ({"store": "chroma", "collection": "my home"}, "collection_name"),
    ({"additional_collections": "home_agent_memories"}, "collection_taken"),
    ({"additional_collections": "manuals, x"}, "collection_name"),
    ({"embedding": "endpoint", "embedding_url": "http://me:pw@host/v1"}, "invalid_url"),
    ({"embedding": "endpoint", "embedding_preset": "ollama", "embedding_keep_alive": "soon"}, "keep_alive_format"),
])  # fmt: skip
async def test_what_cannot_be_is_not_tried(hass: HomeAssistant, sent: dict[str, Any], error: str) -> None:
    entry = await set_up(hass)
    result = await send(hass, await page(hass, entry, "retrieval"), **sent)
    assert result["errors"] == {"base": error}
    assert not entry.options


def test_other_kind_of_server_brings_its_usual_address() -> None:
    stored = taken("embedding", {}, {"embedding_preset": "ollama", "embedding_url": "https://api.openai.com/v1"})
    assert stored == {"embedding_preset": "ollama", "embedding_url": "http://localhost:11434/v1"}
    own = taken("embedding", {}, {"embedding_preset": "ollama", "embedding_url": "http://10.0.0.1:11434/v1"})
    assert own["embedding_url"] == "http://10.0.0.1:11434/v1"


def test_other_kind_of_server_at_an_address_of_ones_own_stays_there() -> None:
    stored = {"embedding_preset": "custom", "embedding_url": "http://10.0.0.1:11434/v1"}
    moved = stored | {"embedding_preset": "ollama"}
    assert taken("embedding", stored, moved) == moved
