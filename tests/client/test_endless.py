"""Answers without an end: nobody listens for ever, and what was heard is kept."""

import asyncio
from dataclasses import replace
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.client.chat_completions import ChatCompletionsClient, Connection
from custom_components.home_agent.client.error_map import ErrorMap
from custom_components.home_agent.client.messages import ModelReply
from custom_components.home_agent.client.stream import MAX_TEXT, repeats_itself
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.support.errors import LLMEndlessError
from tests.llm_server import LLMServer, Piece, chunks, delta, endless, text, tool_call
from tests.tools.custom.rest_server import RestServer
from tests.tools.mcp.hostile import stream

from .conftest import REQUEST, MakeClient, ask, said

LONG = " ".join(f"word {number}" for number in range(800))


def argument(**fields: Any) -> Piece:
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
    heard: list[dict[str, Any]] = []

    async def hear() -> None:
        async for item in client.stream(REQUEST, ModelReply()):
            heard.extend([dict(item)])

    with pytest.raises(LLMEndlessError):
        await hear()
    return heard


@pytest.mark.parametrize("pieces", ENDLESS.values(), ids=ENDLESS.keys())
async def test_an_endless_one_ends(make_client: MakeClient, llm_server: LLMServer, pieces: tuple[Piece, ...]) -> None:
    llm_server.plan(endless(*pieces))
    heard = await listen(make_client())
    assert len(llm_server.requests) == 1  # it is not asked again for the same
    assert sum(len(item.get("content") or item.get("thinking_content") or "") for item in heard) < MAX_TEXT + 20_000


async def test_a_long_answer_ends_after_a_sentence(make_client: MakeClient, llm_server: LLMServer) -> None:
    sentences = " ".join(f"This is sentence number {number} of a long story." for number in range(500))
    llm_server.plan(text(sentences, thinking="Let me think. " * 20))
    client, reply = make_client(), ModelReply()
    answer = said(await ask(client, replace(REQUEST, max_text=200), reply))
    assert sentences.startswith(answer)
    assert answer.endswith("of a long story.")
    assert 160 <= client.estimator.estimate(answer) <= 200
    assert reply.finish_reason == "length"
    assert not {"max_tokens", "max_completion_tokens"} & set(llm_server.request.body)  # thinking would count there


@pytest.mark.parametrize("stream", [True, False])
async def test_a_long_answer_ends_between_words(make_client: MakeClient, llm_server: LLMServer, stream: bool) -> None:
    llm_server.plan(text(LONG))
    client, reply = make_client(), ModelReply()
    answer = said(await ask(client, replace(REQUEST, max_text=200, stream=stream), reply))
    assert LONG.startswith(answer.removesuffix("…"))
    assert answer.endswith("…")
    assert client.estimator.estimate(answer) <= 205
    assert reply.finish_reason == "length"


async def test_a_long_whole_answer_ends_after_a_sentence(make_client: MakeClient, llm_server: LLMServer) -> None:
    llm_server.plan(text("One sentence here. " * 3 + "Another one that is different, with 3.5 degrees. " * 4 + LONG))
    answer = said(await ask(make_client(), replace(REQUEST, max_text=80, stream=False)))
    assert answer.endswith("with 3.5 degrees.")


async def test_without_a_limit_any_length_is_kept(make_client: MakeClient, llm_server: LLMServer) -> None:
    llm_server.plan(text(LONG))
    assert said(await ask(make_client())) == LONG


@pytest.mark.parametrize("kind", ["content", "reasoning_content"])
async def test_a_repeating_answer_is_ended(make_client: MakeClient, llm_server: LLMServer, kind: str) -> None:
    opening = delta(**{kind: "Hello! I am a helpful model of a home. "})
    llm_server.plan(
        endless(opening, *[delta(**{kind: piece}) for piece in ("I can ", "help ", "you with that.\n")] * 99)
    )
    reply = ModelReply()
    deltas = await ask(make_client(), reply=reply)
    heard = "".join(item.get("content") or item.get("thinking_content") or "" for item in deltas)
    assert reply.finish_reason == "repeats"
    assert len(heard) < 1000
    assert await left(llm_server)


async def test_a_repeating_call_is_ended(make_client: MakeClient, llm_server: LLMServer) -> None:
    begun = argument(name="f", arguments='{"ids": [')
    llm_server.plan(endless(begun, *[argument(arguments='"light.bed_light", ')] * 500))
    reply = ModelReply()
    deltas = await ask(make_client(), reply=reply)
    assert reply.finish_reason == "repeats"
    assert not [item for item in deltas if item.get("tool_calls")]
    assert await left(llm_server)


async def test_a_call_with_a_long_list_is_no_loop(make_client: MakeClient, llm_server: LLMServer) -> None:
    lights = [f"light.room_{number}" for number in range(200)]
    pieces = [argument(arguments=f'"{light}", ') for light in lights[:-1]]
    begun, last = argument(name="f", arguments='{"ids": ['), argument(arguments=f'"{lights[-1]}"]}}')
    llm_server.plan(chunks(begun, *pieces, last, ending=True))
    [calls] = [item["tool_calls"] for item in await ask(make_client()) if "tool_calls" in item]
    assert calls[0].tool_args == {"ids": lights}


async def left(server: LLMServer) -> bool:
    """Return whether the client hangs up, so that the server may stop."""
    async with asyncio.timeout(5):
        while not server.disconnects:
            await asyncio.sleep(0.01)
    return True


@pytest.mark.parametrize("answer", [
    " ".join(f"Sensor {number} is at {number} degrees." for number in range(60)), "- Motion sensor: off\n" * 7,
    "| --- " * 100, "-" * 900, "Ha! " * 60,
])  # fmt: skip
def test_lists_tables_and_laughter_are_no_loop(answer: str) -> None:
    assert not repeats_itself(answer)


@pytest.mark.parametrize("loop", ["Hello! ", "I am here to help you with that.\n", "\n", " ", "a", "灯を。"])
def test_loops_are_known_however_they_begin(loop: str) -> None:
    assert repeats_itself("Once upon a time, in a house. " + loop * 1500)


async def test_a_call_that_is_whole_is_kept_before_a_loop(make_client: MakeClient, llm_server: LLMServer) -> None:
    whole = tool_call("f", {"a": 1}).pieces
    llm_server.plan(endless(*whole, delta(content="and on "), *[delta(content="and on ")] * 500))
    [calls] = [item["tool_calls"] for item in await ask(make_client()) if "tool_calls" in item]
    assert calls[0].tool_args == {"a": 1}


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


async def test_a_busy_server(make_client: MakeClient, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_SECONDS", 0.2)
    llm_server.plan(endless(0.02, b": working\n\n"))
    await listen(make_client())
