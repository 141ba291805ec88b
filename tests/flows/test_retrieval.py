"""The form about looking things up: it tries what was entered, and never shows a key again."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest

from custom_components.home_agent.flows import retrieval
from custom_components.home_agent.flows.retrieval import BASICS, REMOVE, SECRETS, SECTIONS, taken
from custom_components.home_agent.search import embeddings as embeddings_api
from custom_components.home_agent.settings.search import RetrievalSettings
from tests.embedding_server import EmbeddingServer
from tests.flows.forms import Result, fields, in_sections, options, page, send_page, shown
from tests.house import set_up
from tests.llm_server import server_error, unauthorized
from tests.search.chroma import ChromaServer
from tests.search.conftest import chroma_process, chroma_server

__all__ = ["chroma_process", "chroma_server"]


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    return await send_page(hass, form, **in_sections(data))


def model(server: EmbeddingServer) -> dict[str, Any]:
    """Return what an owner enters about an embedding model."""
    return {
        "embedding": "endpoint", "embedding_preset": "custom", "embedding_url": server.base_url,
        "embedding_key": "sk-embed-1", "embedding_model": "letters",
    }  # fmt: skip


async def test_form_asks_every_setting_and_shows_the_defaults(hass: HomeAssistant) -> None:
    form = await page(hass, await set_up(hass), "retrieval")
    settings = RetrievalSettings.__dataclass_fields__.keys()
    assert set(fields(form)) == {*BASICS, *(key for section in SECTIONS.values() for key in section)} == set(settings)
    assert shown(form).items() >= {
        "store": "embedded", "embedding": "lexical", "top_k": 5, "similarity_threshold": 0.2,
        "chroma_host": "localhost", "chroma_port": 8000, "collection": "home_entities",
        "embedding_model": "text-embedding-3-small", "embedding_keep_alive": "5m", "additional_top_k": 5,
    }.items()  # fmt: skip
    assert options(form, "store") == ["embedded", "chroma"]


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
    assert not {*SECRETS} & shown(form).keys()
    assert "sk-embed-1" not in str(form["data_schema"].schema)
    await send(hass, form, **shown(form))
    assert entry.options == {"retrieval": stored}


@pytest.mark.parametrize("secret", SECRETS)
async def test_each_secret_is_removable(hass: HomeAssistant, embedding_server: EmbeddingServer, secret: str) -> None:
    stored = {**model(embedding_server), "chroma_token": "token-1"}
    entry = await set_up(hass, options={"retrieval": stored})
    form = await page(hass, entry, "retrieval")
    assert {*REMOVE.values()} <= {*fields(form)}
    await send(hass, form, **shown(form), **{REMOVE[secret]: True})
    assert entry.options == {"retrieval": {key: value for key, value in stored.items() if key != secret}}
    assert REMOVE[secret] not in fields(await page(hass, entry, "retrieval"))


async def test_new_key_counts_more_than_forgetting_the_old_one() -> None:
    sent = {"model": {"embedding_key": "new", "remove_embedding_key": True}}
    assert taken({"embedding_key": "old"}, sent) == {"embedding_key": "new"}


async def test_the_key_survives_an_error(hass: HomeAssistant, embedding_server: EmbeddingServer) -> None:
    entry = await set_up(hass)
    embedding_server.plan(server_error(404))
    first = await send(hass, await page(hass, entry, "retrieval"), **model(embedding_server))
    assert first["errors"] == {"base": "retrieval_failed"}
    assert "sk-embed-1" not in str(first)
    await send(hass, first, **shown(first))
    assert entry.options == {"retrieval": model(embedding_server)}
    assert embedding_server.headers[-1]["Authorization"] == "Bearer sk-embed-1"


async def test_key_goes_to_no_other_server() -> None:
    stored = {"embedding_url": "http://10.0.0.1/v1", "embedding_key": "sk", "chroma_host": "nas", "chroma_token": "t"}
    moved = {"model": {"embedding_url": "http://10.0.0.2/v1"}, "chroma": {"chroma_host": "other"}}
    assert not {*SECRETS} & taken(stored, moved).keys()
    assert taken(stored, {"model": {"embedding_url": "http://10.0.0.1/v1"}, "chroma": {"chroma_host": "nas"}}) == stored


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
    ({"collection": "my home"}, "collection_name"),
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
    stored = taken({}, {"model": {"embedding_preset": "ollama", "embedding_url": "https://api.openai.com/v1"}})
    assert stored == {"embedding_preset": "ollama", "embedding_url": "http://localhost:11434/v1"}
    own = taken({}, {"model": {"embedding_preset": "ollama", "embedding_url": "http://10.0.0.1:11434/v1"}})
    assert own["embedding_url"] == "http://10.0.0.1:11434/v1"


def test_other_kind_of_server_at_an_address_of_ones_own_stays_there() -> None:
    stored = {"embedding_preset": "custom", "embedding_url": "http://10.0.0.1:11434/v1"}
    assert taken(stored, {"model": stored | {"embedding_preset": "ollama"}}) == stored | {"embedding_preset": "ollama"}
