"""What happens when a request fails: which error it is, what is tried again, and what is kept."""

import asyncio
from contextlib import aclosing
import logging
import socket
from typing import Any

import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.client.chat_completions import ChatCompletionsClient
from custom_components.home_agent.client.messages import ChatRequest, ModelReply
from custom_components.home_agent.support.errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMContextLengthError,
    LLMError,
    LLMModelNotFoundError,
    LLMNoConnectionError,
    LLMRateLimitError,
    LLMResponseError,
    LLMTimeoutError,
)
from tests.house import until
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
    unauthorized,
)

from .conftest import REQUEST, MakeClient, ask, said


@pytest.mark.usefixtures("quick_retry")
@pytest.mark.parametrize(("failure", "expected"), [
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
])  # fmt: skip
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
@pytest.mark.parametrize(("failure", "expected"), [
    (server_error(500), LLMError), (server_error(503), LLMConnectionError), (html(502), LLMConnectionError),
    (rate_limited(), LLMRateLimitError), (cut(chunks()), LLMConnectionError),
    (cut(chunks(delta(role="assistant"))), LLMConnectionError),
    (chunks({"error": {"message": "upstream failed", "code": 502}}), LLMConnectionError),
])  # fmt: skip
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
    reply = ModelReply()
    deltas = await ask_until_broken(make_client(), REQUEST, reply)
    assert said(deltas) == kept
    assert reply.started
    assert len(llm_server.requests) == 1


async def test_a_stream_that_breaks_within_a_call_makes_no_call(llm_server: LLMServer, make_client: MakeClient) -> None:
    whole = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    half = {"index": 1, "id": "b", "function": {"name": "g", "arguments": '{"on"'}}
    llm_server.plan(cut(chunks(delta(content="Well"), delta(tool_calls=[whole, half]))))
    deltas = await ask_until_broken(make_client(), REQUEST, ModelReply())
    assert [call.tool_name for call in deltas[-1]["tool_calls"]] == ["f"]


async def test_only_a_silent_stream_times_out(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(text("one two three four five", pause=0.2), silence(), chunks(delta(content="On"), silent=True))
    client = make_client(idle_timeout=0.4)
    assert said(await ask(client)) == "one two three four five"
    with pytest.raises(LLMTimeoutError):
        await ask(client)
    with pytest.raises(LLMTimeoutError):
        await ask(client)
    assert len(llm_server.requests) == 3


async def ask_until_broken(
    client: ChatCompletionsClient, request: ChatRequest, reply: ModelReply
) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    with pytest.raises(LLMConnectionError):  # noqa: PT012
        async for item in client.stream(request, reply):
            deltas.append(dict(item))  # noqa: PERF401
    return deltas


async def test_comments_in_a_stream_prevent_a_timeout(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(
        chunks(b": wait\n\n", 0.4, b": wait\n\n", 0.4, b": wait\n\n", 0.4, delta(content="On."), ending=True)
    )
    assert said(await ask(make_client(idle_timeout=1))) == "On."


async def test_cancelling_closes_the_response(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(chunks(delta(content="On"), silent=True))
    task = asyncio.create_task(ask(make_client()))
    await until(lambda: llm_server.requests)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: llm_server.disconnects == 1)


async def test_a_consumer_that_leaves_closes_the_response(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(chunks(delta(content="On"), silent=True))
    async with aclosing(make_client().stream(REQUEST, ModelReply())) as deltas:
        assert await anext(deltas) == {"role": "assistant"}
    await until(lambda: llm_server.disconnects == 1)


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


@pytest.mark.parametrize("key", ["schlüssel", "sk-1\nX-Other: 1", "sk-1\x00"])
async def test_a_key_unfit_for_a_header_is_refused(llm_server: LLMServer, make_client: MakeClient, key: str) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(LLMAuthError):
            await ask(make_client(api_key=key))
    assert not llm_server.requests


async def test_an_address_that_speaks_plain_http_is_called_that(llm_server: LLMServer, make_client: MakeClient) -> None:
    with pytest.raises(LLMConnectionError) as caught:
        await ask(make_client(base_url=llm_server.base_url.replace("http://", "https://")))
    assert caught.value.translation_key == "llm_not_https"


async def test_a_dead_address_is_waited_for_once(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "CONNECT_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as hole:
        port = hole.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:  # as many as the queue of connections takes; nobody accepts one
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        async with asyncio.timeout(20):
            with pytest.raises(LLMNoConnectionError) as caught:
                await ask(make_client(base_url=f"http://127.0.0.1:{port}/v1"))
        for one in waiting:
            one.close()
    assert caught.value.translation_key == "llm_unreachable"


@pytest.mark.usefixtures("quick_retry")
async def test_a_server_error_is_told_without_secrets(llm_server: LLMServer, make_client: MakeClient) -> None:
    llm_server.plan(*(error(500, "CUDA out of memory, key sk-secret-1") for _ in range(2)))
    with pytest.raises(LLMError) as caught:
        await ask(make_client())
    assert caught.value.translation_key == "llm_error_said"
    assert (caught.value.translation_placeholders or {})["detail"] == "CUDA out of memory, key …"
