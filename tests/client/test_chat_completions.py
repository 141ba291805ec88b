"""A request to an endpoint: what goes out, what comes back, and what happens when it fails."""

import asyncio
from contextlib import aclosing
import json
import logging
import time
from typing import Any

import pytest

from custom_components.home_agent.client.base import BrokenArguments, ChatRequest, Reply, Usage
from custom_components.home_agent.client.chat_completions import ChatCompletionsClient
from custom_components.home_agent.errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMContextLengthError,
    LLMError,
    LLMModelNotFoundError,
    LLMRateLimitError,
    LLMResponseError,
    LLMTimeoutError,
)
from tests.llm_server import (
    LLMServer,
    Reply as Planned,
    chunks,
    context_length,
    cut,
    delta,
    error,
    html,
    model_not_found,
    rate_limited,
    raw,
    server_error,
    silence,
    text,
    tool_call,
    unauthorized,
)

from .conftest import REQUEST, TOOLS, MakeClient, ask, said


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "in one piece"])
async def test_an_answer_becomes_deltas(llm_server: LLMServer, make_client: MakeClient, stream: bool) -> None:
    llm_server.plan(text("It is on.", thinking="Hm."))
    reply = Reply()
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
async def test_tool_calls_are_yielded_once_and_whole(
    llm_server: LLMServer, make_client: MakeClient, stream: bool
) -> None:
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
        messages=REQUEST.messages,
        tools=TOOLS,
        response_format={"type": "json_object"},
        conversation_id="c",
    )
    await ask(client, request)
    assert llm_server.request.body == {
        "model": "scripted",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 300,
        "keep_alive": "5m",
        "response_format": {"type": "json_object"},
        "tools": TOOLS,
        "messages": [{"role": "user", "content": "Is it on?"}],
    }
    assert llm_server.request.path == "/v1/chat/completions"
    assert llm_server.request.headers["Authorization"] == "Bearer sk-secret-1"
    assert llm_server.request.headers["Content-Type"] == "application/json"


async def test_nothing_is_sent_that_was_not_set(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("On."))
    await ask(make_client(api_key=""), ChatRequest(messages=REQUEST.messages, stream=False))
    assert set(llm_server.request.body) == {"model", "stream", "messages"}
    assert "Authorization" not in llm_server.request.headers


async def test_text_that_is_not_valid_unicode_is_sent_all_the_same(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
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


@pytest.mark.parametrize(
    "reply",
    [
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
    ],
)
async def test_answers_in_any_shape_are_understood(
    llm_server: LLMServer, make_client: MakeClient, reply: Planned
) -> None:
    llm_server.plan(reply)
    assert said(await ask(make_client())) == "On."


async def test_a_stream_is_understood_although_one_piece_was_asked_for(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
    body = b'data: {"choices":[{"delta":{"content":"On."}}]}\n\ndata: [DONE]\n\n'
    llm_server.plan(Planned(body=body, content_type="text/event-stream"))
    assert said(await ask(make_client(), ChatRequest(messages=REQUEST.messages, stream=False))) == "On."


async def test_a_connection_kept_open_after_the_end_delays_nothing(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
    llm_server.plan(chunks(delta(content="On."), b"data: [DONE]\n\n", silent=True))
    started = time.perf_counter()
    assert said(await ask(make_client())) == "On."
    assert time.perf_counter() - started < 1


@pytest.mark.usefixtures("quick_retry")
@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (unauthorized(), LLMAuthError),
        (error(403, "Forbidden"), LLMAuthError),
        (error(400, "API key not valid. Please pass a valid API key.", code=400), LLMAuthError),
        (model_not_found(), LLMModelNotFoundError),
        (error(404, "model 'x' not found, try pulling it first"), LLMModelNotFoundError),
        (error(400, "x/y is not a valid model ID"), LLMModelNotFoundError),
        (error(404, "Not Found"), LLMResponseError),
        (html(404), LLMResponseError),
        (html(), LLMResponseError),
        (Planned(status=302, body=b"", headers={"Location": "/login"}), LLMResponseError),
        (context_length(), LLMContextLengthError),
        (error(400, "the request exceeds the available context size"), LLMContextLengthError),
        (error(413, "prompt is too long: 9000 tokens > 8000 maximum"), LLMContextLengthError),
        (error(402, "Insufficient credits"), LLMRateLimitError),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), LLMRateLimitError),
        (error(400, "messages must not be empty"), LLMResponseError),
        (error(408, "Request timeout"), LLMTimeoutError),
        (Planned(body=b"[]", content_type="application/json"), LLMResponseError),
        (Planned(body=b'{"choices"', content_type="application/json"), LLMResponseError),
        (Planned(body=b'{"error":{"message":"boom"}}', content_type="application/json"), LLMResponseError),
        (chunks({"error": {"message": "No such model: x"}}), LLMModelNotFoundError),
        (raw(b"Hello\n"), LLMResponseError),
    ],
)
async def test_a_refusal_has_its_error_and_is_not_tried_again(
    llm_server: LLMServer, make_client: MakeClient, failure: Planned, expected: type[LLMError]
) -> None:
    llm_server.plan(failure)
    with pytest.raises(LLMError) as caught:
        await ask(make_client())
    assert type(caught.value) is expected
    assert (caught.value.translation_placeholders or {})["endpoint"] == "Model"
    assert len(llm_server.requests) == 1


@pytest.mark.usefixtures("quick_retry")
@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (server_error(500), LLMError),
        (server_error(503), LLMConnectionError),
        (html(502), LLMConnectionError),
        (rate_limited(), LLMRateLimitError),
        (cut(chunks()), LLMConnectionError),
        (cut(chunks(delta(role="assistant"))), LLMConnectionError),
        (chunks({"error": {"message": "upstream failed", "code": 502}}), LLMConnectionError),
    ],
)
async def test_what_may_pass_is_tried_twice_and_no_more(
    llm_server: LLMServer, make_client: MakeClient, failure: Planned, expected: type[LLMError]
) -> None:
    llm_server.plan(failure, text("On."), failure, failure)
    client = make_client()
    assert said(await ask(client)) == "On."
    with pytest.raises(LLMError) as caught:
        await ask(client)
    assert type(caught.value) is expected


async def test_the_second_attempt_waits_a_second(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(server_error(), text("On."))
    await ask(make_client())
    first, second = llm_server.requests
    assert 0.9 < second.arrived - first.arrived < 1.5


async def test_retry_after_is_honoured(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(rate_limited("0.2"), text("On."))
    assert said(await ask(make_client())) == "On."
    first, second = llm_server.requests
    assert 0.19 < second.arrived - first.arrived < 0.6


async def test_a_long_retry_after_is_told_instead_of_waited_for(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(rate_limited("60"))
    with pytest.raises(LLMRateLimitError) as caught:
        await ask(make_client())
    assert caught.value.retry_after == 60


@pytest.mark.usefixtures("quick_retry")
async def test_an_endpoint_that_is_off_is_a_connection_error(make_client: MakeClient) -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await ask(make_client(base_url="http://127.0.0.1:1/v1"))
    assert type(caught.value) is LLMConnectionError


@pytest.mark.parametrize(
    ("piece", "kept"),
    [(delta(content="It is"), "It is"), (delta(content="It is <"), "It is <")],
    ids=["text", "text held back"],
)
async def test_a_stream_that_breaks_keeps_what_came_and_is_never_repeated(
    llm_server: LLMServer, make_client: MakeClient, piece: dict[str, Any], kept: str
) -> None:
    llm_server.plan(cut(chunks(piece)))
    reply = Reply()
    deltas = await ask_until_broken(make_client(), REQUEST, reply)
    assert said(deltas) == kept
    assert reply.started
    assert len(llm_server.requests) == 1


async def test_a_stream_that_breaks_within_a_call_does_not_make_it(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
    whole = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    half = {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"on"'}}
    llm_server.plan(cut(chunks(delta(content="Well"), delta(tool_calls=[whole, half]))))
    deltas = await ask_until_broken(make_client(), REQUEST, Reply())
    assert [call.tool_name for call in deltas[-1]["tool_calls"]] == ["f"]


async def test_a_silent_stream_times_out_and_a_talking_one_does_not(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
    llm_server.plan(text("one two three four five", pause=0.2), silence(), chunks(delta(content="On"), silent=True))
    client = make_client(idle_timeout=0.4)
    assert said(await ask(client)) == "one two three four five"
    with pytest.raises(LLMTimeoutError):
        await ask(client)
    with pytest.raises(LLMTimeoutError):
        await ask(client)
    assert len(llm_server.requests) == 3


async def ask_until_broken(client: ChatCompletionsClient, request: ChatRequest, reply: Reply) -> list[dict[str, Any]]:
    """Return the deltas until the connection broke."""
    deltas: list[dict[str, Any]] = []
    with pytest.raises(LLMConnectionError):  # noqa: PT012
        async for item in client.stream(request, reply):
            deltas.append(dict(item))  # noqa: PERF401
    return deltas


async def test_a_stream_that_only_sends_comments_does_not_time_out(
    llm_server: LLMServer, make_client: MakeClient
) -> None:
    llm_server.plan(
        chunks(b": wait\n\n", 0.2, b": wait\n\n", 0.2, b": wait\n\n", 0.2, delta(content="On."), ending=True)
    )
    assert said(await ask(make_client(idle_timeout=0.4))) == "On."


async def test_cancelling_closes_the_response(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(chunks(delta(content="On"), silent=True))
    task = asyncio.create_task(ask(make_client()))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0.05)
    assert llm_server.disconnects == 1


async def test_a_consumer_that_leaves_closes_the_response(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(chunks(delta(content="On"), silent=True))
    async with aclosing(make_client().stream(REQUEST, Reply())) as deltas:
        assert await anext(deltas) == {"role": "assistant"}
    await asyncio.sleep(0.05)
    assert llm_server.disconnects == 1


async def test_a_certificate_nobody_vouches_for_is_told_apart(make_client: MakeClient, tls_server: LLMServer) -> None:
    tls_server.plan(text("On."))
    with pytest.raises(LLMCertificateError):
        await ask(make_client(base_url=tls_server.base_url))
    assert said(await ask(make_client(base_url=tls_server.base_url, verify_ssl=False))) == "On."


async def test_a_key_that_no_header_can_carry_is_refused(make_client: MakeClient) -> None:
    with pytest.raises(LLMAuthError):
        await ask(make_client(api_key="sk-…"))


@pytest.mark.parametrize("key", ["sk-secret-key-123", "hunter2", "0123456789abcdef0123456789abcdef"])
async def test_the_key_is_in_no_message_and_no_log(
    llm_server: LLMServer, make_client: MakeClient, caplog: pytest.LogCaptureFixture, key: str
) -> None:
    caplog.set_level(logging.DEBUG)
    llm_server.plan(error(401, f"Incorrect API key provided: {key}."), text("On."), error(400, f"bad header {key}"))
    client = make_client(api_key=key)
    with pytest.raises(LLMAuthError) as caught:
        await ask(client)
    await ask(client)
    with pytest.raises(LLMResponseError):
        await ask(client)
    assert (caught.value.translation_placeholders or {})["detail"] == "Incorrect API key provided: …."
    assert key not in caplog.text
    assert key not in repr(client.config)


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
    reply = Reply()
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
