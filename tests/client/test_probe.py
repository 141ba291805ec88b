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
    """Return an endpoint as a form has it."""
    return EndpointConfig(
        subentry_id="", title="", base_url=base_url, api_key=api_key, model="", preset=preset, verify_ssl=verify_ssl
    )


def json_reply(body: bytes) -> Reply:
    return Reply(body=body, content_type="application/json")


async def test_models_are_listed_those_that_cannot_chat_last(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.models = ["zephyr", "nomic-embed-text", "Llama", "whisper-1", "llama"]
    models = await async_list_models(hass, endpoint_of(llm_server.base_url, "sk-key"))
    assert models[:3] in (["Llama", "llama", "zephyr"], ["llama", "Llama", "zephyr"])
    assert models[3:] == ["nomic-embed-text", "whisper-1"]
    assert llm_server.model_requests[0].path == "/v1/models"
    assert llm_server.model_requests[0].headers["Authorization"] == "Bearer sk-key"


@pytest.mark.parametrize(
    ("body", "models"),
    [
        (b'{"object":"list","data":null}', []),
        (b'{"data":[{"id":"a"},{"id":null},{},5]}', ["a"]),
        (b'[{"id":"a"}]', ["a"]),
    ],
    ids=["Ollama without a model", "odd rows", "bare list"],
)
async def test_lists_in_any_shape_are_understood(
    hass: HomeAssistant, llm_server: LLMServer, body: bytes, models: list[str]
) -> None:
    llm_server.models = json_reply(body)
    assert await async_list_models(hass, endpoint_of(llm_server.base_url)) == models


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (unauthorized(), LLMAuthError),
        (error(403, "Forbidden"), LLMAuthError),
        (html(), LLMResponseError),
        (html(404), LLMResponseError),
        (error(404, "Not Found"), LLMResponseError),
        (json_reply(b'{"hello":"world"}'), LLMResponseError),
        (json_reply(b'{"data":"x"}'), LLMResponseError),
        (json_reply(b"{"), LLMResponseError),
        (json_reply(b"7"), LLMResponseError),
        (Reply(status=302, body=b"", headers={"Location": "/login"}), LLMResponseError),
        (server_error(), LLMError),
        (server_error(502), LLMConnectionError),
    ],
)
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


async def test_a_name_that_does_not_exist_is_not_reachable(
    hass: HomeAssistant, socket_enabled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_args: object, **_options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(LLMConnectionError) as caught:
        await async_list_models(hass, endpoint_of("http://home-agent.invalid/v1"))
    assert type(caught.value) is LLMConnectionError
    assert "Name or service not known" in (caught.value.translation_placeholders or {})["detail"]


async def test_an_endpoint_that_is_silent_times_out(
    hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", 0.2)
    llm_server.models = silence()
    with pytest.raises(LLMTimeoutError):
        await async_list_models(hass, endpoint_of(llm_server.base_url))


async def test_a_certificate_nobody_vouches_for_is_told_apart(hass: HomeAssistant, tls_server: LLMServer) -> None:
    with pytest.raises(LLMCertificateError):
        await async_list_models(hass, endpoint_of(tls_server.base_url))
    assert await async_list_models(hass, endpoint_of(tls_server.base_url, verify_ssl=False)) == ["scripted"]


async def test_openrouter_lists_its_models_to_everybody_so_its_key_is_checked(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
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
