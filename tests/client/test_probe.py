"""Which models an endpoint offers, and what is wrong with it when it does not say."""

import socket

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import discovery
from custom_components.home_agent.client.discovery import async_list_models
from custom_components.home_agent.settings import endpoint
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.support.errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMResponseError,
    LLMTimeoutError,
)
from tests.llm_server import LLMServer, Reply, error, html, server_error, silence, unauthorized


def endpoint_of(base_url: str, api_key: str = "", *, preset: str = "custom", verify_ssl: bool = True) -> EndpointConfig:
    return EndpointConfig(
        subentry_id="", title="", base_url=base_url, api_key=api_key, model="", preset=preset, verify_ssl=verify_ssl
    )


def json_reply(body: bytes) -> Reply:
    return Reply(body=body, content_type="application/json")


async def test_models_that_can_chat_are_listed(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["zephyr", "nomic-embed-text", "Llama", "whisper-1", "llama"]
    models = await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-key"))
    assert models in (["Llama", "llama", "zephyr"], ["llama", "Llama", "zephyr"])
    assert llm_server.model_requests[0].path == "/v1/models"
    assert llm_server.model_requests[0].headers["Authorization"] == "Bearer sk-key"


CHAT = [
    "gpt-4.1-mini", "gpt-4o", "chatgpt-4o-latest", "gpt-5", "o3", "qwen3:8b", "llama3.1:8b", "gemma3:4b",
    "claude-sonnet-4-5", "models/gemini-2.5-flash", "mistral-large-latest", "ministral-8b", "magistral-small",
    "llama-3.3-70b-versatile", "openai/gpt-oss-120b", "deepseek-chat", "deepseek-reasoner",
    "meta-llama/llama-4-scout-17b-16e-instruct", "moonshotai/kimi-k2", "smollm2:135m",
    "/models/SmolLM2-135M-Instruct-Q4_1.gguf", "groq/compound", "phi4", "gpt-4-0125-preview", "qwen2.5-vl-7b-instruct",
    "qwen2-audio-7b-instruct", "llava",
]  # fmt: skip
NO_CHAT = [
    "text-embedding-3-small", "text-embedding-ada-002", "babbage-002", "davinci-002", "whisper-1", "tts-1", "tts-1-hd",
    "gpt-4o-mini-tts", "gpt-4o-transcribe", "gpt-4o-realtime-preview", "gpt-audio", "gpt-4o-audio-preview", "dall-e-3",
    "gpt-image-1", "omni-moderation-latest", "sora-2", "gpt-3.5-turbo-instruct", "nomic-embed-text",
    "mxbai-embed-large", "bge-m3", "models/gemini-embedding-001", "models/imagen-4.0-generate-001", "models/veo-3.0",
    "models/gemini-2.5-flash-preview-tts", "models/aqa", "mistral-embed", "mistral-ocr-latest",
    "mistral-moderation-latest", "whisper-large-v3-turbo", "meta-llama/llama-guard-4-12b", "playai-tts",
    "canopylabs/orpheus-v1-english", "all-minilm", "BAAI/bge-reranker-v2-m3", "stable-diffusion-xl",
    "llama-prompt-guard-2-22m", "/models/nomic-embed-text-v1.5.Q8_0.gguf",
]  # fmt: skip


async def test_models_that_cannot_chat_are_told_by_their_names(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = [*CHAT, *NO_CHAT]
    assert set(await async_list_models(hass, endpoint_of(llm_server.base_url))) == set(CHAT)


async def test_what_the_server_says_counts_more_than_the_model_name(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = json_reply(
        b"""{"data": [
        {"id": "mistral-a", "capabilities": {"completion_chat": true}},
        {"id": "mistral-b", "capabilities": {"completion_chat": false}},
        {"id": "router-image-and-text", "architecture": {"output_modalities": ["image", "text"]}},
        {"id": "router-b", "architecture": {"output_modalities": ["image"]}},
        {"id": "studio-a", "type": "llm"},
        {"id": "studio-b", "type": "embeddings"}]}"""
    )
    found = await async_list_models(hass, endpoint_of(llm_server.base_url))
    assert found == ["mistral-a", "router-image-and-text", "studio-a"]


async def test_anthropic_lists_its_models_by_its_own_headers(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-ant", preset="anthropic"))
    headers = llm_server.model_requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("sk-ant", "2023-06-01")
    await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-key", preset="custom"))
    assert "x-api-key" not in llm_server.model_requests[1].headers


@pytest.mark.parametrize(("body", "models"), [
    (b'{"object":"list","data":null}', []),
    (b'{"data":[{"id":"a"},{"id":null},{},5]}', ["a"]),
    (b'[{"id":"a"}]', ["a"]),
], ids=["Ollama without a model", "odd rows", "bare list"])  # fmt: skip
async def test_any_shape_of_list(hass: HomeAssistant, llm_server: LLMServer, body: bytes, models: list[str]) -> None:
    llm_server.models = json_reply(body)
    assert await async_list_models(hass, endpoint_of(llm_server.base_url)) == models


@pytest.mark.parametrize(("reply", "expected"), [
    (unauthorized(), LLMAuthError), (error(403, "Forbidden"), LLMAuthError), (html(), LLMResponseError),
    (html(404), LLMResponseError), (error(404, "Not Found"), LLMResponseError),
    (json_reply(b'{"hello":"world"}'), LLMResponseError), (json_reply(b'{"data":"x"}'), LLMResponseError),
    (json_reply(b"{"), LLMResponseError), (json_reply(b"7"), LLMResponseError),
    (Reply(status=302, body=b"", headers={"Location": "/login"}), LLMResponseError), (server_error(), LLMError),
    (server_error(502), LLMConnectionError),
])  # fmt: skip
async def test_what_is_wrong_is_told_apart(
    hass: HomeAssistant, llm_server: LLMServer, reply: Reply, expected: type[LLMError]
) -> None:
    llm_server.models = reply
    with pytest.raises(LLMError) as caught:
        await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-key"))
    assert type(caught.value) is expected


async def test_an_endpoint_that_is_off_is_not_reachable(hass: HomeAssistant, socket_enabled: None) -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await async_list_models(hass, endpoint_of("http://127.0.0.1:1"))
    assert type(caught.value) is LLMConnectionError


async def test_an_unknown_hostname(hass: HomeAssistant, socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_args: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(LLMConnectionError) as caught:
        await async_list_models(hass, endpoint_of("http://home-agent.invalid/v1"))
    assert type(caught.value) is LLMConnectionError
    assert "Name or service not known" in (caught.value.translation_placeholders or {})["detail"]


async def test_a_silent_endpoint(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", 0.2)
    llm_server.models = silence()
    with pytest.raises(LLMTimeoutError):
        await async_list_models(hass, endpoint_of(llm_server.base_url))


async def test_a_certificate_nobody_vouches_for_is_told_apart(hass: HomeAssistant, tls_server: LLMServer) -> None:
    with pytest.raises(LLMCertificateError):
        await async_list_models(hass, endpoint_of(tls_server.base_url))
    assert await async_list_models(hass, endpoint_of(tls_server.base_url, verify_ssl=False)) == ["scripted"]


async def test_the_openrouter_key_is_checked_apart_from_its_list(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.key_reply = unauthorized()
    with pytest.raises(LLMAuthError):
        await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-wrong", preset="openrouter"))
    llm_server.key_reply = html(404)
    assert await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-key", preset="openrouter")) == [
        "scripted"
    ]


async def test_azure_is_asked_at_its_own_address(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await async_list_models(hass, endpoint_of(f"{llm_server.url}/openai/deployments/x", "key", preset="azure"))
    request = llm_server.model_requests[0]
    assert request.path == f"/openai/models?api-version={endpoint.DEFAULT_API_VERSION}"
    assert request.headers["api-key"] == "key"
