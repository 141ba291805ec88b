"""A scripted OpenAI-compatible server on loopback.

In tests, through the fixture `llm_server`:

    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.kitchen"}), text("It is on."))
    ...
    assert llm_server.requests[0].body["messages"][-1]["content"] == "Turn on the kitchen light"

Each request takes the next planned reply, as a stream or as one JSON answer, whichever it asks for. A request without a
plan and a plan without a request fail the test. `respond` sets a function that answers whatever is not planned.

On its own, for end-to-end tests and the benchmark: `python -m tests.llm_server --port 9000 [--script FILE]`. The script
is a JSON list of rules, the first that matches answers: `{"when": REGEX of the last user message, "tool": NAME,
"arguments": {...}, "text": ANSWER}`. With `tool`, the text is the answer after the tool's result.
"""

import argparse
import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
import json
from pathlib import Path
import re
import ssl
import time
from typing import Any

from aiohttp import web

from tests.llm_replies import (
    JSON,
    Piece,
    Reply,
    chunks,
    context_length,
    cut,
    delta,
    endless,
    error,
    html,
    loading,
    model_not_found,
    rate_limited,
    raw,
    server_error,
    silence,
    text,
    tool_call,
    tool_calls,
    unauthorized,
    unsupported,
)

__all__ = [
    "LLMServer", "Piece", "Reply", "Request", "chunks", "context_length", "cut", "delta", "endless", "error", "html",
    "loading", "model_not_found", "rate_limited", "raw", "running", "scripted", "server_error", "silence", "text", "tool_call",
    "tool_calls", "unauthorized", "unsupported",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: JSON
    arrived: float
    """`time.perf_counter()`."""
    peer: tuple[str, int] = ("", 0)
    """The client's end of the connection."""

    @property
    def last_user(self) -> str:
        """Text of the newest user message."""
        for message in reversed(self.body.get("messages", [])):
            if message["role"] == "user":
                content = message["content"]
                return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        return ""


class LLMServer:
    def __init__(self, models: Sequence[str] = ("scripted",)) -> None:
        self.models: Reply | list[str] = list(models)
        """What /v1/models answers."""
        self.told: dict[str, Any] = {}
        """What other addresses answer, by path; unknown ones are 404."""
        self.key_reply: Reply | None = None
        """What /v1/key answers, where OpenRouter tells whether a key is good."""
        self.requests: list[Request] = []
        """Chat completions so far."""
        self.model_requests: list[Request] = []
        self.problems: list[str] = []
        self.disconnects = 0
        """Streams that the client left before their end."""
        self.sees_reading = False
        """Whether requests for one token, with which a model is kept ready, count like others; else they are answered aside."""
        self.loading = 0
        """Requests, of any kind, that are still answered with 503 because the model is being loaded; -1: all."""
        self.refused: list[float] = []
        """When each of them arrived: `time.perf_counter()`."""
        self.front: Callable[[JSON, Callable[[], Reply]], Reply] | None = None
        """Answers before all others where it is set: it gets the body and what takes the next reply that is planned."""
        self.fronted: list[Request] = []
        """What it answered without that."""
        self._plan: deque[Reply] = deque()
        self._handler: Callable[[JSON], Reply] | None = None
        self._runner: web.AppRunner | None = None
        self.port = 0
        self._scheme = "http"

    @property
    def url(self) -> str:
        """Root address, without a slash at its end."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def request(self) -> Request:
        """The newest chat completion request."""
        return self.requests[-1]

    def plan(self, *replies: Reply) -> None:
        self._plan.extend(replies)

    def respond(self, handler: Callable[[JSON], Reply]) -> None:
        """Answer whatever is not planned with `handler(body)`."""
        self._handler = handler

    def assert_done(self) -> None:
        """Fail when a request was not planned or a reply not used."""
        assert not self.problems, self.problems
        assert not self._plan, f"{len(self._plan)} planned replies were not asked for"

    async def start(self, port: int = 0, ssl_context: ssl.SSLContext | None = None) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one."""
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self._refuse_while_loading])
        app.router.add_get("/{prefix:.*}models", self._on_models)
        app.router.add_get("/{prefix:.*}key", self._on_key)
        app.router.add_post("/{prefix:.*}chat/completions", self._on_chat)
        app.router.add_get("/_requests", self._on_requests)
        app.router.add_route("*", "/{path:.*}", self._on_other)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=ssl_context)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self._scheme = "https" if ssl_context else "http"

    async def stop(self) -> None:
        """Close every connection."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    @web.middleware
    async def _refuse_while_loading(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not self.loading:
            return await handler(request)
        await request.read()
        self.loading -= self.loading > 0
        self.refused.append(time.perf_counter())
        return _whole(loading())

    async def _on_requests(self, request: web.Request) -> web.Response:
        return web.json_response([{"arrived": item.arrived, "body": item.body} for item in self.requests])

    async def _on_key(self, request: web.Request) -> web.Response:
        return _whole(self.key_reply or Reply(body=b"{}", content_type="application/json"))

    async def _on_models(self, request: web.Request) -> web.StreamResponse:
        self.model_requests.append(await _recorded(request))
        if request.path in self.told:
            return await self._on_other(request)
        if isinstance(self.models, Reply):
            if self.models.silent:
                await asyncio.Event().wait()
            return _whole(self.models)
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})

    async def _on_other(self, request: web.Request) -> web.Response:
        if (answer := self.told.get(request.path)) is None:
            return _whole(error(404, "Not Found"))
        return web.json_response(answer)

    async def _on_chat(self, request: web.Request) -> web.StreamResponse:
        recorded = await _recorded(request)
        if recorded.body.get("max_tokens") == 1 and not self.sees_reading:
            return await self._answer(recorded, text("I have read it."))
        self.fronted.append(recorded)
        reply = self.front(recorded.body, partial(self._next, recorded)) if self.front else self._next(recorded)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.body is not None:
            return _whole(reply)
        try:
            if not recorded.body.get("stream"):
                return await self._answer(recorded, reply)
            return await self._stream(request, recorded, reply)
        except asyncio.CancelledError, ConnectionError:
            self.disconnects += 1
            raise

    def _next(self, recorded: Request) -> Reply:
        """Return the reply that is planned next."""
        self.fronted.remove(recorded)
        self.requests.append(recorded)
        if self._plan:
            return self._plan.popleft()
        if self._handler:
            return self._handler(recorded.body)
        self.problems.append(f"unplanned request {len(self.requests)}: {recorded.last_user!r}")
        return error(500, "unplanned request")

    async def _answer(self, recorded: Request, reply: Reply) -> web.StreamResponse:
        if reply.silent:
            await asyncio.Event().wait()
        choice = {"index": 0, "message": reply.message, "finish_reason": reply.finish_reason}
        body: JSON = {"id": "chatcmpl-1", "object": "chat.completion", "model": "scripted", "choices": [choice]}
        if reply.usage is not False:
            body["usage"] = reply.usage if isinstance(reply.usage, dict) else _usage(recorded, reply)
        if reply.timings:
            body["timings"] = reply.timings
        return web.json_response(body, headers=reply.headers)

    async def _stream(self, request: web.Request, recorded: Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(headers=reply.headers)
        response.content_type = reply.content_type or "text/event-stream"
        await response.prepare(request)
        async for data in _events(reply, recorded):
            await response.write(data)
        if reply.silent:
            await asyncio.Event().wait()
        if reply.cut and request.transport:
            request.transport.close()
            return response
        await response.write_eof()
        return response


@asynccontextmanager
async def running() -> AsyncGenerator[LLMServer]:
    """Start an endpoint and stop it; every planned reply must have been asked for."""
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()
    server.assert_done()


async def _recorded(request: web.Request) -> Request:
    data = await request.read()
    return Request(
        path=request.path_qs,
        headers=dict(request.headers),
        raw=data,
        body=json.loads(data) if data else {},
        arrived=time.perf_counter(),
        peer=request.transport.get_extra_info("peername") if request.transport else ("", 0),
    )


async def _events(reply: Reply, recorded: Request) -> AsyncGenerator[bytes]:
    """Yield the bytes of a stream."""
    for piece in reply.pieces:
        if isinstance(piece, float | int):
            await asyncio.sleep(piece)
        elif isinstance(piece, bytes):
            yield piece
        else:
            yield _event(piece)
    if reply.ending:
        asked = (recorded.body.get("stream_options") or {}).get("include_usage")
        timings = {"timings": reply.timings} if reply.timings else {}
        if isinstance(reply.usage, dict) or reply.usage or (asked and reply.usage is None):
            usage = reply.usage if isinstance(reply.usage, dict) else _usage(recorded, reply)
            yield _event(delta(finish_reason=reply.finish_reason))
            yield _event({**delta(), "choices": [], "usage": usage, **timings})
        else:
            yield _event({**delta(finish_reason=reply.finish_reason), **timings})
    if reply.done and not reply.cut and not reply.silent:
        yield b"data: [DONE]\n\n"


def _event(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def _whole(reply: Reply) -> web.Response:
    return web.Response(status=reply.status, body=reply.body, content_type=reply.content_type, headers=reply.headers)


def _usage(recorded: Request, reply: Reply) -> JSON:
    prompt, completion = len(recorded.raw) // 4, max(1, len(json.dumps(reply.message)) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def scripted(rules: Sequence[JSON]) -> Callable[[JSON], Reply]:
    """Return a handler that follows the rules of a script; see the module."""

    def respond(body: JSON) -> Reply:
        request = Request(path="", headers={}, raw=b"", body=body, arrived=0.0)
        answered = body["messages"][-1]["role"] == "tool"
        for rule in rules:
            if re.search(rule.get("when", ""), request.last_user, re.IGNORECASE):
                if "tool" in rule and not answered:
                    return tool_call(rule["tool"], rule.get("arguments", {}))
                return text(rule.get("text", "Done."), pause=rule.get("pause", 0.0))
        return text("Done." if answered else "Hello from the scripted model.")

    return respond


async def _serve(port: int, script: Path | None) -> None:
    server = LLMServer()
    server.respond(scripted(json.loads(script.read_text(encoding="utf-8")) if script else []))
    await server.start(port)
    print(server.base_url, flush=True)  # noqa: T201
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    arguments = parser.parse_args()
    try:
        asyncio.run(_serve(arguments.port, arguments.script))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
