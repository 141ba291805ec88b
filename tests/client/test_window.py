"""How large a model's window is: what its server says it runs with, in the form that each kind of server has."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client.chat_completions import ChatCompletionsClient
from custom_components.home_agent.client.discovery import async_context_window
from custom_components.home_agent.client.endpoint import WINDOW_HOLDS
from custom_components.home_agent.settings.endpoint import EndpointConfig
from tests.house import say, set_up
from tests.llm_server import LLMServer, context_length, error, server_error, text

MODEL = "qwen3:8b"


def config(server: LLMServer | None = None, preset: str = "custom", **fields: Any) -> EndpointConfig:
    url = server.base_url if server else "http://127.0.0.1/v1"
    return EndpointConfig(
        **{"subentry_id": "1", "title": "T", "base_url": url, "api_key": "", "model": MODEL, "preset": preset} | fields
    )


def row(**fields: Any) -> dict[str, Any]:
    other = {"id": "other", "context_length": 1024, "max_model_len": 1024}
    return {"object": "list", "data": [other, {"id": MODEL, **fields}]}


OLLAMA = {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40_960}}


@pytest.mark.parametrize(("preset", "path", "answer", "window"), [
    ("vllm", "/v1/models", row(max_model_len=8192), 8192),
    ("openrouter", "/v1/models", row(context_length=131_072), 131_072),
    ("localai", "/v1/models", row(context_window=4096), 4096),
    ("custom", "/v1/models", row(max_context_length=32_768), 32_768),
    ("llama_cpp", "/v1/models", row(meta={"n_ctx": 6144, "n_ctx_train": 40_960}), 6144),
    ("lm_studio", "/api/v0/models", row(max_context_length=131_072, loaded_context_length=4096), 4096),
    ("llama_cpp", "/props", {"default_generation_settings": {"n_ctx": 2048}, "total_slots": 4}, 2048),
    ("ollama", "/api/ps", {"models": [{"name": MODEL, "context_length": 4096}]}, 4096),
    ("ollama", "/api/show", {"parameters": 'stop "x"\nnum_ctx    8192'} | OLLAMA, 8192),
    ("ollama", "/api/show", {"model_info": {"phi.context_length": 2048}}, 2048),
    ("ollama", "/api/show", OLLAMA, None),
    ("custom", "/props", {"default_generation_settings": {"n_ctx": 2048}}, 2048),
    ("custom", "/api/ps", {"models": [{"model": MODEL, "context_length": 4096}]}, 4096),
    ("openai", "/v1/models", row(context_length=131_072), None),
    ("vllm", "/v1/models", row(), None),
    ("vllm", "/v1/models", row(max_model_len=True), None),
    ("vllm", "/v1/models", row(max_model_len=-1), None),
    ("vllm", "/v1/models", {"data": ["odd"]}, None),
    ("vllm", "/v1/models", "odd", None),
    ("llama_cpp", "/props", {"default_generation_settings": None}, None),
    ("ollama", "/api/ps", {"models": None}, None),
    ("ollama", "/api/show", [], None),
])  # fmt: skip
async def test_each_server_says_it_in_its_own_way(
    hass: HomeAssistant, llm_server: LLMServer, preset: str, path: str, answer: object, window: int | None
) -> None:
    llm_server.told = {path: answer}
    assert await async_context_window(ChatCompletionsClient(hass, config(llm_server, preset))) == window


async def test_a_server_that_is_away_tells_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await llm_server.stop()
    assert await async_context_window(ChatCompletionsClient(hass, config(llm_server))) is None


@pytest.mark.parametrize(("fields", "learned", "window"), [
    ({"context_window": 4096, "model": "gpt-4o"}, 8192, 4096), ({"model": "gpt-4o"}, 8192, 8192),
    ({"model": "gpt-4o-mini", "preset": "openai"}, None, 128_000),
    ({"model": "openai/gpt-5-mini", "preset": "openrouter"}, None, 272_000),
    ({"model": "gpt-4", "preset": "azure"}, None, 8192), ({"model": "gpt-4", "preset": "localai"}, None, 16_384),
    ({"model": "no-such", "preset": "openai"}, None, 128_000), ({}, None, 16_384),
])  # fmt: skip
def test_whose_word_counts(fields: dict[str, Any], learned: int | None, window: int) -> None:
    assert config(**fields).assumed_window(learned) == window


async def test_it_is_asked_after_the_first_answer_and_kept(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"context_window": None, "model": MODEL})
    llm_server.told = {"/v1/models": row(max_model_len=4096)}
    assert not llm_server.model_requests
    llm_server.plan(server_error(), server_error(), text("One."), text("Two."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not llm_server.model_requests
    for _ in range(2):
        await say(hass, "hello")
        await hass.async_block_till_done(wait_background_tasks=True)
    (endpoint,) = entry.runtime_data.endpoints.values()
    assert endpoint.window == 4096
    assert len(llm_server.model_requests) == 1
    await hass.config_entries.async_reload(entry.entry_id)
    (endpoint,) = entry.runtime_data.endpoints.values()
    assert endpoint.window == 4096


async def test_it_is_asked_again_when_a_request_was_too_long(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"context_window": None, "model": MODEL})
    llm_server.told = {"/v1/models": row(max_model_len=16_384)}
    llm_server.plan(text("One."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)
    llm_server.told = {"/v1/models": row(max_model_len=2048)}
    llm_server.plan(context_length(), text("Two."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)
    (endpoint,) = entry.runtime_data.endpoints.values()
    assert endpoint.window == 2048


async def refuse(hass: HomeAssistant, llm_server: LLMServer, limit: int) -> None:
    """Have one request refused that was longer than the server takes, and answered when it is shorter."""
    message = f"This model's maximum context length is {limit} tokens."
    llm_server.plan(error(400, message), text("Shorter."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_daily_refusal_counts(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    entry = await set_up(hass, llm_server, llm={"context_window": None, "model": MODEL})
    (endpoint,) = entry.runtime_data.endpoints.values()
    llm_server.told = {"/v1/models": row(max_model_len=16_384)}
    await refuse(hass, llm_server, 4096)
    assert endpoint.window == 4096
    await refuse(hass, llm_server, 8192)  # it still tells the same
    assert endpoint.window == 4096
    llm_server.told = {"/v1/models": row(max_model_len=32_768)}
    freezer.tick(WINDOW_HOLDS - timedelta(seconds=1))
    assert endpoint.window == 4096
    freezer.tick(1)
    llm_server.plan(text("Two."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert endpoint.window == 32_768


async def test_a_window_that_changed_is_taken_from_the_server(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"context_window": None, "model": MODEL})
    (endpoint,) = entry.runtime_data.endpoints.values()
    llm_server.told = {"/v1/models": row(max_model_len=16_384)}
    llm_server.plan(text("One."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)
    llm_server.told = {"/v1/models": row(max_model_len=8192)}
    await refuse(hass, llm_server, 4096)
    assert endpoint.window == 8192


async def test_a_refusal_counts_for_a_day_whatever_the_owner_said(
    hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory
) -> None:
    entry = await set_up(hass, llm_server, llm={"context_window": 32_768, "model": MODEL})
    (endpoint,) = entry.runtime_data.endpoints.values()
    await refuse(hass, llm_server, 4096)
    assert endpoint.window == 4096
    freezer.tick(WINDOW_HOLDS)
    assert endpoint.window == 32_768
    await refuse(hass, llm_server, 8192)
    assert endpoint.window == 8192


async def test_the_owners_word_asks_nobody(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, llm={"context_window": 4096, "model": MODEL})
    llm_server.plan(text("One."))
    await say(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert not llm_server.model_requests


async def test_how_a_model_counts_is_kept_across_restarts(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("One.", usage={"prompt_tokens": 3000, "completion_tokens": 2, "total_tokens": 3002}))
    await say(hass, "hello")
    (endpoint,) = entry.runtime_data.endpoints.values()
    factor = endpoint.client.estimator.factor
    assert factor > 1.2
    await hass.config_entries.async_reload(entry.entry_id)
    (endpoint,) = entry.runtime_data.endpoints.values()
    assert endpoint.client.estimator.factor == pytest.approx(factor, abs=0.001)


async def test_an_odd_file_costs_nothing(hass: HomeAssistant, llm_server: LLMServer, hass_storage: Any) -> None:
    entry = await set_up(hass, llm_server)
    await hass.config_entries.async_unload(entry.entry_id)
    hass_storage[f"home_agent.models.{entry.entry_id}"] = {
        "version": 1,
        "key": f"home_agent.models.{entry.entry_id}",
        "data": {"llm-1/scripted": {"factor": "odd"}, "x": None},
    }
    assert await hass.config_entries.async_setup(entry.entry_id)
    (endpoint,) = entry.runtime_data.endpoints.values()
    assert endpoint.client.estimator.factor == 1
