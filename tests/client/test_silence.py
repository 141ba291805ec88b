"""Bytes without content: an endpoint that sends them only is as silent as one that sends nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import cycle
import time
from typing import Any

import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.client.messages import ChatRequest, ModelReply
from custom_components.home_agent.support.errors import LLMTimeoutError
from tests.llm_server import LLMServer, Piece, Reply, chunks, delta

from .conftest import REQUEST, MakeClient, ask, said

LIMIT = 0.6
PAUSE = 0.05

EMPTY: dict[str, Piece] = {
    "comments": b": still here\n\n",
    "blank lines": b"\n\n",
    "empty chunks": b"data: {}\n\n",
    "chunks without choices": b'data: {"choices": []}\n\n',
    "events without data": b"event: ping\n\n",
    "a role": delta(role="assistant"),
    "empty text": delta(content=""),
    "empty thinking": delta(reasoning_content=""),
    "empty calls": delta(tool_calls=[]),
    "calls without anything": delta(tool_calls=[{"index": 0, "function": {"arguments": ""}}]),
    "usage": b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}\n\n',
    "a line without an end": b"x",
    "half a chunk": b'data: {"a": "',
}


def trickle(*first: Piece, piece: Piece) -> Reply:
    return Reply(pieces=(*first, *[item for _ in range(400) for item in (piece, PAUSE)]), ending=False)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_SILENCE", LIMIT)


async def times_out(client: chat_completions.ChatCompletionsClient, request: ChatRequest = REQUEST) -> float:
    began = time.monotonic()
    with pytest.raises(LLMTimeoutError):
        await ask(client, request)
    return time.monotonic() - began


@pytest.mark.parametrize("piece", EMPTY.values(), ids=EMPTY.keys())
async def test_what_says_nothing_is_silence(make_client: MakeClient, llm_server: LLMServer, piece: Piece) -> None:
    llm_server.plan(trickle(piece=piece))
    assert await times_out(make_client(idle_timeout=LIMIT)) < LIMIT + 1


@pytest.mark.parametrize("piece", EMPTY.values(), ids=EMPTY.keys())
async def test_in_the_middle_of_an_answer(make_client: MakeClient, llm_server: LLMServer, piece: Piece) -> None:
    llm_server.plan(trickle(delta(content="The light "), piece=piece))
    client, heard = make_client(idle_timeout=LIMIT), list[str]()

    async def hear() -> None:
        async for item in client.stream(REQUEST, ModelReply()):
            heard.extend([item.get("content") or ""])

    with pytest.raises(LLMTimeoutError):
        await hear()
    assert "".join(heard) == "The light "


@pytest.mark.parametrize("content", [
    {"content": "a"}, {"reasoning_content": "a"}, {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "1"}}]},
])  # fmt: skip
async def test_an_answer_that_grows_slowly_is_heard(
    make_client: MakeClient, llm_server: LLMServer, content: dict[str, Any]
) -> None:
    slow = [item for _ in range(20) for item in (delta(**content), LIMIT / 6)]
    llm_server.plan(chunks(*slow, delta(content="Yes."), ending=True))
    assert said(await ask(make_client(idle_timeout=LIMIT))).endswith("Yes.")


HELD = (*[item for _ in range(9) for item in (delta(content="word "), 0.001)], 30.0)
"""An answer that stops: llama.cpp says nothing more once a brace might begin a tool call, and a small model never ends it."""


async def test_an_answer_that_is_held_back_is_given_up(make_client: MakeClient, llm_server: LLMServer) -> None:
    llm_server.plan(Reply(pieces=HELD, ending=False))
    assert await times_out(make_client(idle_timeout=2, remote=False)) < 1.5
    async with asyncio.timeout(5):
        while not llm_server.disconnects:
            await asyncio.sleep(0.01)


async def test_a_long_call_of_a_slow_server_is_waited_for(
    make_client: MakeClient, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_completions, "MAX_SILENCE", 10.0)
    words = [item for _ in range(4) for item in (delta(content="word "), 0.05)]
    llm_server.plan(chunks(*words, 1.2, delta(content="Yes."), ending=True))
    assert said(await ask(make_client(idle_timeout=2, remote=False))).endswith("Yes.")


async def test_a_server_outside_may_think_in_the_middle(
    make_client: MakeClient, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_completions, "MAX_SILENCE", 10.0)
    llm_server.plan(chunks(*[delta(content="Well. ")] * 5, 1.0, delta(content="Yes."), ending=True))
    assert said(await ask(make_client(idle_timeout=2, remote=True))).endswith("Yes.")


async def test_who_has_set_a_long_silence_waits_longer(
    make_client: MakeClient, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_completions, "MAX_SILENCE", 10.0)
    llm_server.plan(chunks(*[delta(content="Well. ")] * 5, 1.0, delta(content="Yes."), ending=True))
    assert said(await ask(make_client(idle_timeout=8, remote=False))).endswith("Yes.")


type Serve = Callable[[bytes, bytes], object]


@asynccontextmanager
async def trickling(head: bytes, byte: bytes) -> AsyncGenerator[str]:
    """Run a server that sends `head` and then one byte after the other, without an end."""
    answering = set[asyncio.Task[None] | None]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(asyncio.current_task())
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            for part in cycle([byte]):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(PAUSE)
        except ConnectionError, asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    tasks = server.sockets[0].getsockname()
    try:
        yield f"http://127.0.0.1:{tasks[1]}/v1"
    finally:
        server.close()
        for task in answering:
            if task is not None:
                await asyncio.wait([task])
        await server.wait_closed()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(("head", "byte"), [
    pytest.param(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", id="a header"),
    pytest.param(HEAD + b"\r\n", b" ", id="a body of blanks"),
    pytest.param(HEAD + b'\r\n{"choices": [', b" ", id="blanks within a body"),
])  # fmt: skip
async def test_bytes_that_never_become_an_answer(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, head: bytes, byte: bytes
) -> None:
    monkeypatch.setattr(chat_completions, "CONNECT_TIMEOUT", 0.5)
    async with trickling(head, byte) as url:
        client = make_client(base_url=url, idle_timeout=LIMIT)
        assert await times_out(client, ChatRequest(messages=REQUEST.messages, stream=False)) < LIMIT + 1.5
