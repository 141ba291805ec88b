"""Refusals that are no small JSON object: what they say is read up to a limit, and what they are is told all the same."""

import asyncio
import gzip

from aiohttp import web
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.client.chat_completions import ChatCompletionsClient, Connection
from custom_components.home_agent.client.error_map import ErrorMap
from custom_components.home_agent.client.messages import ModelReply
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.support.errors import LLMAuthError, LLMError
from tests.tools.custom.rest_server import Answer, RestServer, answer

from .conftest import REQUEST

CHUNK = b"x" * 65536
FAR_TOO_MUCH = 64 * 2**20


class Refusal:
    """Sends the body of a 401 until somebody has had enough."""

    def __init__(self, pause: float = 0, chunk: bytes = CHUNK) -> None:
        self.sent = 0
        self.pause = pause
        self.chunk = chunk

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=401, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            while self.sent < FAR_TOO_MUCH:
                await response.write(self.chunk)
                self.sent += len(self.chunk)
                await asyncio.sleep(self.pause)
        except ConnectionResetError:
            pass
        return response


async def broken_off(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(status=401, headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"error": ')
    assert request.transport is not None
    request.transport.close()
    return response


def endpoint(server: RestServer) -> EndpointConfig:
    return EndpointConfig(subentry_id="id", title="Model", base_url=f"{server.url}/v1", api_key="", model="m")


async def ask(hass: HomeAssistant, server: RestServer) -> None:
    async for _ in ChatCompletionsClient(hass, endpoint(server)).stream(REQUEST, ModelReply()):
        pass


@pytest.mark.parametrize("refusal", [Refusal(), Refusal(0.01, b" ")], ids=["much", "little by little"])
async def test_a_refusal_without_an_end_is_not_read_to_it(
    hass: HomeAssistant, server: RestServer, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.setattr(chat_completions, "MAX_ERROR_SECONDS", 0.2)
    server.answers |= {"/v1/models": refusal, "/v1/chat/completions": refusal}
    async with asyncio.timeout(10):
        with pytest.raises(LLMAuthError):
            await Connection(hass, endpoint(server), ErrorMap("Model")).get("/models")
        with pytest.raises(LLMAuthError):
            await ask(hass, server)
    assert refusal.sent < FAR_TOO_MUCH / 8


@pytest.mark.parametrize("refusal", [
    pytest.param(broken_off, id="broken off"),
    pytest.param(answer(bytes(range(256)), 401, Content_Type="application/json"), id="no text"),
    pytest.param(answer("", 401), id="nothing"),
])  # fmt: skip
async def test_what_it_is_counts_whatever_it_says(hass: HomeAssistant, server: RestServer, refusal: Answer) -> None:
    server.answers |= {"/v1/models": refusal, "/v1/chat/completions": refusal}
    with pytest.raises(LLMAuthError):
        await Connection(hass, endpoint(server), ErrorMap("Model")).get("/models")
    with pytest.raises(LLMAuthError):
        await ask(hass, server)


async def test_what_is_small_only_as_long_as_it_is_packed_stays_packed(hass: HomeAssistant, server: RestServer) -> None:
    packed = gzip.compress(b'{"error": {"message": "' + b"y" * 2**20 + b'"}}')
    server.answers["/v1/models"] = answer(packed, 401, Content_Encoding="gzip")
    with pytest.raises(LLMAuthError) as caught:
        await Connection(hass, endpoint(server), ErrorMap("Model")).get("/models")
    assert (caught.value.translation_placeholders or {})["detail"] == "HTTP 401"


async def test_what_it_says_is_told(hass: HomeAssistant, server: RestServer) -> None:
    server.answers["/v1/models"] = answer({"error": {"message": "Come back tomorrow"}}, 500)
    with pytest.raises(LLMError) as caught:
        await Connection(hass, endpoint(server), ErrorMap("Model")).get("/models")
    assert (caught.value.translation_placeholders or {})["detail"] == "Come back tomorrow"
