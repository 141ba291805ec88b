"""A model that is being loaded is waited for, as long as somebody may be asked to wait."""

import asyncio
from itertools import pairwise
import time

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import chat_completions, discovery
from custom_components.home_agent.client.discovery import async_context_window, async_list_models
from custom_components.home_agent.client.messages import ChatRequest, ModelReply
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.support.errors import LLMError, LLMLoadingError
from tests.llm_server import LLMServer, Reply as Planned, chunks, delta, error, loading, text

from .conftest import REQUEST, MakeClient, ask, said


@pytest.fixture(autouse=True)
def quick_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "LOADING_PAUSE", 0.05)


def impatient(seconds: float) -> ChatRequest:
    return ChatRequest(messages=REQUEST.messages, patience=seconds)


@pytest.mark.parametrize("refusal", [
    loading(),
    error(500, "unexpected server status: llm server loading model"),
    error(503, "Model meta/llama is currently loading", estimated_time=20.0),
    error(503, "The model is still being loaded, please retry"),
    error(503, "litellm.ServiceUnavailableError: OpenAIException - Loading model"),
], ids=["llama.cpp", "Ollama", "Hugging Face", "in words", "LiteLLM"])  # fmt: skip
async def test_loading_servers_are_recognized(llm_server: LLMServer, make_client: MakeClient, refusal: Planned) -> None:
    llm_server.plan(refusal, text("Yes."))
    assert said(await ask(make_client())) == "Yes."


@pytest.mark.usefixtures("quick_retry")
@pytest.mark.parametrize("refusal", [
    error(500, "error loading model: unable to allocate CUDA0 buffer"),
    error(500, "Failed to load: loading model failed"),
    error(503, "exception while loading model"),
    error(503, "The model is loaded, but all of its workers are busy"),
    error(503, "Service Unavailable"),
    error(503, "server busy, please try again.  maximum pending requests exceeded"),
])  # fmt: skip
async def test_a_failed_load_is_no_waiting(llm_server: LLMServer, make_client: MakeClient, refusal: Planned) -> None:
    llm_server.plan(refusal, refusal)
    with pytest.raises(LLMError) as caught:
        await ask(make_client())
    assert not isinstance(caught.value, LLMLoadingError)


@pytest.mark.parametrize("stream", [True, False])
async def test_a_loading_model_is_polled_slower(llm_server: LLMServer, make_client: MakeClient, stream: bool) -> None:
    llm_server.loading = 4
    llm_server.plan(text("Yes."))
    reply = ModelReply()
    request = ChatRequest(messages=REQUEST.messages, stream=stream)
    assert said(await ask(make_client(), request, reply)) == "Yes."
    assert len(llm_server.requests) == 1
    pauses = [later - earlier for earlier, later in pairwise([*llm_server.refused, llm_server.request.arrived])]
    assert len(pauses) == 4
    assert pauses[-1] > 2 * pauses[0] > 0.05
    assert (reply.first_delta_ms or 0) >= 1000 * sum(pauses)


async def test_patience_ends(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.loading = -1
    began = time.perf_counter()
    with pytest.raises(LLMLoadingError) as caught:
        await ask(make_client(), impatient(0.4))
    assert 0.4 <= time.perf_counter() - began < 2
    assert caught.value.translation_placeholders == {"endpoint": "Model", "detail": "Loading model"}
    asked = len(llm_server.refused)
    await asyncio.sleep(0.3)
    assert len(llm_server.refused) == asked


async def test_a_restart_keeps_the_patience(llm_server: LLMServer, make_client: MakeClient, quick_retry: None) -> None:
    llm_server.plan(*(loading() for _ in range(5)), error(503, "Bad gateway"))
    llm_server.respond(lambda body: loading())
    began = time.perf_counter()
    with pytest.raises(LLMLoadingError):
        await ask(make_client(), impatient(1))
    assert 1 <= time.perf_counter() - began < 1.4
    assert len(llm_server.requests) > 6


async def test_cancelling_ends_the_wait_at_once(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.loading = -1
    asking = asyncio.create_task(ask(make_client()))
    while not llm_server.refused:
        await asyncio.sleep(0.01)
    asking.cancel()
    began = time.perf_counter()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert time.perf_counter() - began < 0.2
    asked = len(llm_server.refused)
    await asyncio.sleep(0.3)
    assert len(llm_server.refused) == asked


async def test_nothing_is_sent_again_once_a_word_came(llm_server: LLMServer, make_client: MakeClient) -> None:
    fault = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
    llm_server.plan(chunks(delta(content="It is"), fault))
    reply = ModelReply()
    with pytest.raises(LLMLoadingError):
        await ask(make_client(), REQUEST, reply)
    assert reply.started
    assert len(llm_server.requests) == 1


async def test_silence_while_loading_is_no_dead_server(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("Yes.", delay=0.6))
    assert said(await ask(make_client(idle_timeout=1.5), impatient(0))) == "Yes."
    assert len(llm_server.requests) == 1


async def test_models_are_listed_once_the_server_is_ready(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.loading = 2
    assert await async_list_models(hass, endpoint(llm_server)) == ["scripted"]
    assert len(llm_server.refused) == 2


async def test_the_list_is_loading(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", 0.5)
    llm_server.loading = -1
    with pytest.raises(LLMLoadingError):
        await async_list_models(hass, endpoint(llm_server))
    assert len(llm_server.refused) > 1


async def test_a_window_is_not_waited_for(llm_server: LLMServer, make_client: MakeClient) -> None:
    client = make_client(preset="llama_cpp")
    llm_server.told["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
    llm_server.loading = -1
    began = time.perf_counter()
    assert await async_context_window(client) is None
    assert time.perf_counter() - began < 1
    assert len(llm_server.refused) == 2
    llm_server.loading = 0
    assert await async_context_window(client) == 4096


def endpoint(server: LLMServer) -> EndpointConfig:
    return EndpointConfig(subentry_id="", title="", base_url=server.base_url, model="")
