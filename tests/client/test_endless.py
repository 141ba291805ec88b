"""Answers without an end: nobody listens for ever, and what was heard is kept."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import connection
from custom_components.home_agent.client.chat_completions import ChatCompletionsClient
from custom_components.home_agent.client.connection import Connection
from custom_components.home_agent.client.error_map import ErrorMap
from custom_components.home_agent.client.model import Reply
from custom_components.home_agent.client.stream import MAX_TEXT
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.support.errors import LLMEndlessError
from tests.llm_server import LLMServer, Piece, delta, endless, tool_call
from tests.tools.custom.rest_server import RestServer
from tests.tools.mcp.hostile import stream

from .conftest import REQUEST, MakeClient

LONG = "words and words " * 500


def argument(**fields: Any) -> Piece:
    """Return a piece of a tool call."""
    return delta(tool_calls=[{"index": 0, "function": fields}])


ENDLESS: dict[str, tuple[Piece, ...]] = {
    "text": (delta(content=LONG),),
    "thinking": (delta(reasoning_content=LONG),),
    "thinking in text": (delta(content="<think>"), delta(content=LONG)),
    "arguments": (argument(name="f", arguments='{"a": "'), *[argument(arguments=LONG)] * 50),
    "calls": (delta(tool_calls=[{"index": 0, "id": "", "function": {"name": "f" * 1000, "arguments": "{}"}}]),),
    "chunks without anything": (b"data: {}\n\n" * 10_000,),
    "comments": (b": still here\n\n" * 10_000,),
    "a line": (b"data: " + b"x" * 100_000,),
}


async def listen(client: ChatCompletionsClient) -> list[dict[str, Any]]:
    """Return what is heard until nobody listens any more."""
    heard: list[dict[str, Any]] = []

    async def hear() -> None:
        async for item in client.stream(REQUEST, Reply()):
            heard.extend([dict(item)])

    with pytest.raises(LLMEndlessError):
        await hear()
    return heard


@pytest.mark.parametrize("pieces", ENDLESS.values(), ids=ENDLESS.keys())
async def test_an_answer_without_an_end_is_left(
    make_client: MakeClient, llm_server: LLMServer, pieces: tuple[Piece, ...]
) -> None:
    llm_server.plan(endless(*pieces))
    heard = await listen(make_client())
    assert len(llm_server.requests) == 1  # it is not asked again for the same
    assert sum(len(item.get("content") or item.get("thinking_content") or "") for item in heard) < MAX_TEXT + 20_000


async def test_a_call_that_is_whole_is_kept(make_client: MakeClient, llm_server: LLMServer) -> None:
    whole = tool_call("f", {"a": 1}).pieces
    llm_server.plan(endless(*whole, argument(), delta(content=LONG)))
    heard = await listen(make_client())
    [calls] = [item["tool_calls"] for item in heard if "tool_calls" in item]
    assert calls[0].tool_args == {"a": 1}


async def test_a_list_of_models_without_an_end(hass: HomeAssistant, socket_enabled: None) -> None:
    server = RestServer()
    await server.start()
    server.answers["/v1/models"] = stream(b'{"data": [' + b" " * 60_000)
    config = EndpointConfig(subentry_id="id", title="Model", base_url=f"{server.url}/v1", api_key="", model="m")
    try:
        with pytest.raises(LLMEndlessError):
            await Connection(hass, config, ErrorMap("Model")).get("/models")
    finally:
        await server.stop()


async def test_a_server_that_is_merely_busy_is_left_as_well(
    make_client: MakeClient, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_SECONDS", 0.2)
    llm_server.plan(endless(0.02, b": working\n\n"))
    await listen(make_client())
