"""A request to an endpoint: what goes out and what comes back."""

import json
import time

import pytest

from custom_components.home_agent.client.messages import BrokenArguments, ChatRequest, ModelReply
from custom_components.home_agent.turn.turn import Usage
from tests.llm_server import LLMServer, Reply as Planned, chunks, cut, delta, raw, text, tool_call

from .conftest import REQUEST, TOOLS, MakeClient, ask, said


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "in one piece"])
async def test_an_answer_becomes_deltas(llm_server: LLMServer, make_client: MakeClient, stream: bool) -> None:
    llm_server.plan(text("It is on.", thinking="Hm."))
    reply = ModelReply()
    deltas = await ask(make_client(), ChatRequest(messages=REQUEST.messages, stream=stream), reply)
    assert deltas[0] == {"role": "assistant"}
    assert deltas[1] == {"thinking_content": "Hm."}
    assert said(deltas) == "It is on."
    assert len(deltas) == (5 if stream else 3)
    assert reply.finish_reason == "stop"
    assert reply.started
    assert reply.first_delta_ms is not None
    assert reply.usage == Usage(len(llm_server.request.raw) // 4, 18)
    assert reply.estimated_tokens


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "in one piece"])
async def test_tool_calls_come_once_and_whole(llm_server: LLMServer, make_client: MakeClient, stream: bool) -> None:
    llm_server.plan(tool_call("f", {"on": True}, call_id="a", fragments=4), tool_call("f", '{"on":'))
    request = ChatRequest(messages=REQUEST.messages, tools=TOOLS, stream=stream)
    client = make_client()
    deltas, broken = await ask(client, request), await ask(client, request)
    assert [len(item.get("tool_calls", ())) for item in deltas] == [0, 1]
    [call] = deltas[1]["tool_calls"]
    assert (call.id, call.tool_name, call.tool_args) == ("a", "f", {"on": True})
    assert isinstance(broken[1]["tool_calls"][0].tool_args, BrokenArguments)


async def test_the_request_is_what_the_endpoint_gets(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."))
    client = make_client(temperature=0.5, top_p=0.9, max_tokens=300, keep_alive="5m")
    request = ChatRequest(
        messages=REQUEST.messages, tools=TOOLS, response_format={"type": "json_object"}, cache_key="agent"
    )
    await ask(client, request)
    assert llm_server.request.body == {
        "model": "scripted", "stream": True, "stream_options": {"include_usage": True}, "temperature": 0.5,
        "top_p": 0.9, "max_tokens": 300, "keep_alive": "5m", "response_format": {"type": "json_object"}, "tools": TOOLS,
        "messages": [{"role": "user", "content": "Is it on?"}],
    }  # fmt: skip
    assert llm_server.request.path == "/v1/chat/completions"
    assert llm_server.request.headers["Authorization"] == "Bearer sk-secret-1"
    assert llm_server.request.headers["Content-Type"] == "application/json"


async def test_nothing_is_sent_that_was_not_set(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."))
    await ask(make_client(api_key=""), ChatRequest(messages=REQUEST.messages, stream=False))
    assert set(llm_server.request.body) == {"model", "stream", "messages"}
    assert "Authorization" not in llm_server.request.headers


async def test_invalid_unicode_is_still_sent(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."))
    await ask(make_client(), ChatRequest(messages=[{"role": "user", "content": "half a pair: \ud83d"}]))
    assert llm_server.request.last_user == "half a pair: \ud83d"


async def test_the_connection_is_used_again(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."), text("Off."), text("On."))
    client = make_client()
    await ask(client)
    await ask(client, ChatRequest(messages=REQUEST.messages, stream=False))
    await ask(client)
    assert len({request.peer for request in llm_server.requests}) == 1


async def test_azure_has_its_own_address_and_header(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."), text("On."), text("On."))
    await ask(make_client(preset="azure", base_url=f"{llm_server.url}/openai", api_version="2025-01-01"))
    assert llm_server.request.path == "/openai/deployments/scripted/chat/completions?api-version=2025-01-01"
    assert llm_server.request.headers["api-key"] == "sk-secret-1"
    assert "Authorization" not in llm_server.request.headers
    await ask(make_client(preset="azure", base_url=llm_server.url))
    assert llm_server.request.path == "/openai/deployments/scripted/chat/completions?api-version=2024-10-21"
    await ask(make_client(preset="azure", base_url=f"{llm_server.url}/openai/v1/"))
    assert llm_server.request.path == "/openai/v1/chat/completions"


@pytest.mark.parametrize("reply", [
    pytest.param(raw(b'data: {"choices":[{"delta":{"content":"On."}}]}\n\n'), id="no finish reason, no DONE"),
    pytest.param(raw(b'data: {"choices":[{"delta":{"content":"On."}}]}'), id="not even a line break"),
    pytest.param(
        raw(b": ping\n\n", b'data:{"choices":[{"delta":{"content":"On."}}]}\n\n', b"data: [DONE]\n\n"),
        id="comments, no space",
    ),
    pytest.param(chunks(delta(content="On."), {"choices": []}, ending=True), id="empty choices"),
    pytest.param(chunks(delta(content="On.", tool_calls=None), ending=True), id="tool_calls null"),
    pytest.param(cut(chunks(delta(content="On.", finish_reason="stop"))), id="cut after the finish reason"),
    pytest.param(
        Planned(body=b'{"choices":[{"message":{"content":"On."}}]}', content_type="application/json"),
        id="one piece although a stream was asked for",
    ),
    pytest.param(text("On.", content_type="text/plain"), id="wrong content type"),
])  # fmt: skip
async def test_any_shape_of_answer_is_read(llm_server: LLMServer, make_client: MakeClient, reply: Planned) -> None:
    llm_server.plan(reply)
    assert said(await ask(make_client())) == "On."


async def test_a_stream_is_read_although_not_asked_for(llm_server: LLMServer, make_client: MakeClient) -> None:
    body = b'data: {"choices":[{"delta":{"content":"On."}}]}\n\ndata: [DONE]\n\n'
    llm_server.plan(Planned(body=body, content_type="text/event-stream"))
    assert said(await ask(make_client(), ChatRequest(messages=REQUEST.messages, stream=False))) == "On."


async def test_an_open_connection_after_the_end_delays_nothing(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(chunks(delta(content="On."), b"data: [DONE]\n\n", silent=True))
    started = time.perf_counter()
    assert said(await ask(make_client())) == "On."
    assert time.perf_counter() - started < 10


async def test_the_estimate_learns_from_usage(llm_server: LLMServer, make_client: MakeClient) -> None:
    client = make_client()
    request = ChatRequest(messages=[{"role": "user", "content": "Is the kitchen light on? " * 50}])
    before = client.estimator.estimate("Is the kitchen light on? " * 50)
    for _ in range(10):
        llm_server.plan(text("On.", usage={"prompt_tokens": 600, "completion_tokens": 2}))
        await ask(client, request)
    assert client.estimator.estimate("Is the kitchen light on? " * 50) > before * 1.5


async def test_files_are_not_estimated(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("A cat."))
    reply = ModelReply()
    parts = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    await ask(make_client(), ChatRequest(messages=[{"role": "user", "content": parts}]), reply)
    assert reply.estimated_tokens is None


async def test_a_model_that_begins_inside_thinking_is_learned(llm_server: LLMServer, make_client: MakeClient) -> None:
    pieces = [delta(content="Hm. "), delta(content="So.</think>"), delta(content="On.")]
    llm_server.plan(*[chunks(*pieces, ending=True)] * 2, text("Just an answer."), text("Flows again."))
    client = make_client()
    assert said(await ask(client)) == "Hm. So.On."
    assert said(await ask(client)) == "On."
    assert len(await ask(client)) == 2
    assert len(await ask(client)) == 3


async def test_the_body_grows_only_at_its_end(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."), text("Off."))
    client = make_client(temperature=0.5)
    messages = [{"role": "user", "content": "Is it on?"}]
    await ask(client, ChatRequest(messages=messages, tools=TOOLS))
    await ask(client, ChatRequest(messages=[*messages, {"role": "user", "content": "And now?"}], tools=TOOLS))
    first, second = (request.raw for request in llm_server.requests)
    assert second.startswith(first.removesuffix(b"]}"))
    assert json.loads(first)["messages"] == messages
