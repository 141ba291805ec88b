"""The scripted model: one small server that speaks the OpenAI and the Ollama protocol.

It runs in a process of its own, so that its work is not in the figures of the Home Assistant it answers. It stamps when
the last byte of a request arrived and when each piece of the answer was handed to the socket, on CLOCK_MONOTONIC, which
all processes of a machine share. What it answers is planned over `POST /bench/plan`; `POST /bench/take` hands out what
was recorded. Requests are parsed after the stamp, so that parsing counts as the model's time.

With a port as its argument it stands before a real server of llama.cpp: that one reads each prompt and writes one
token, and its timings are recorded; then what was planned is answered. So the figures are real, and a model that is too
small to call a tool is followed by the requests that a good one would be followed by.
"""

import asyncio
from collections.abc import AsyncGenerator
import json
import sys
from time import monotonic_ns
from typing import Any

type Headers = dict[str, str]

MODEL = "bench:latest"
WITH_STREAM = ("stream_options", "max_completion_tokens")
"""What a request that is not streamed, and has its limit set anew, cannot have."""
ANSWER = "Of course, that is done now. Is there anything else I can help you with at home?"


def tokens_of(text: str) -> list[str]:
    """Return the text in the pieces a model would stream: words with the blank before them."""
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]


def tool_names(body: dict[str, Any]) -> list[str]:
    """Return the names of the tools that a request offers."""
    return [tool["function"]["name"] for tool in body.get("tools") or ()]


class Model:
    """Decides what to answer: the plan, and what the request itself shows."""

    def __init__(self, real: int | None = None) -> None:
        """Answer in words until told otherwise; `real` is the port of the server that reads the prompts."""
        self.plan: dict[str, Any] = {"kind": "words"}
        self.records: list[dict[str, Any]] = []
        self.real = real
        self.busy = 0
        """Requests that the real server has now."""
        self.idle = asyncio.Event()
        self.idle.set()

    def reply(self, raw: bytes, body: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        """Return the text, or the tool calls as `{"name", "arguments"}`: one, or with the kind `calls` all of the plan."""
        kind, answer = self.plan["kind"], self.plan.get("answer", ANSWER)
        for begin, other in self.plan.get("begins", {}).items():
            if body["messages"][0]["content"].startswith(begin):
                return other, []
        if kind == "words":
            return answer, []
        if kind == "question" and self.plan["needle"].encode() in raw:
            return f"It is {self.plan['needle']} degrees there at the moment, quite pleasant I would say.", []
        if kind in ("call", "calls") and body["messages"][-1]["role"] == "tool":
            return answer, []
        offered = tool_names(body)
        calls = [
            {"name": name, "arguments": arguments} for name, arguments in self.plan["calls"].items() if name in offered
        ]
        if not calls:
            return "No tool of mine can do that.", []
        return "", calls if kind == "calls" else calls[:1]


def usage(prompt: int) -> dict[str, int]:
    """Return what an answer says it took: an agent that learns from it has to learn something that is true."""
    return {"prompt_tokens": prompt, "completion_tokens": 16, "total_tokens": prompt + 16}


def openai_pieces(text: str, calls: list[dict[str, Any]], number: int, prompt: int) -> list[tuple[bool, bytes]]:
    """Return the server-sent events of an answer, each with whether it carries a token."""

    def event(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
        chunk: dict[str, Any] = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": MODEL,
            "choices": [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}],
            **more,
        }
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    pieces = [(False, event({"role": "assistant", "content": ""}))]
    if not calls:
        pieces += [(True, event({"content": token})) for token in tokens_of(text)]
    for index, call in enumerate(calls):
        arguments = json.dumps(call["arguments"])
        head = {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call["name"], "arguments": ""},
        }
        half = len(arguments) // 2
        pieces.append((True, event({"tool_calls": [head]})))
        for part in (arguments[:half], arguments[half:]):
            pieces.append((True, event({"tool_calls": [{"index": index, "function": {"arguments": part}}]})))
    pieces.append((False, event({}, "tool_calls" if calls else "stop")))
    pieces.append((False, event(None, usage=usage(prompt)) + b"data: [DONE]\n\n"))
    return pieces


def openai_whole(text: str, calls: list[dict[str, Any]], number: int, prompt: int) -> bytes:
    """Return an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{index}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for index, call in enumerate(calls)
        ]
    return json.dumps(
        {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
            "usage": usage(prompt),
        }
    ).encode()


def ollama_pieces(text: str, calls: list[dict[str, Any]]) -> list[tuple[bool, bytes]]:
    """Return the lines of an answer of Ollama, each with whether it carries a token."""

    def line(message: dict[str, Any], **more: Any) -> bytes:
        whole = {"model": MODEL, "created_at": "2026-11-20T08:00:00Z", "message": {"role": "assistant", **message}}
        return json.dumps({**whole, "done": False, **more}).encode() + b"\n"

    if calls:
        pieces = [(True, line({"content": "", "tool_calls": [{"function": call} for call in calls]}))]
    else:
        pieces = [(True, line({"content": token})) for token in tokens_of(text)]
    counts = {"prompt_eval_count": 100, "eval_count": 16, "total_duration": 1, "eval_duration": 1}
    pieces.append((False, line({"content": ""}, done=True, done_reason="stop", **counts)))
    return pieces


class Connection:
    """One connection of a client: requests one after the other."""

    def __init__(self, model: Model, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep the two ends."""
        self.model = model
        self.reader = reader
        self.writer = writer

    async def serve(self) -> None:
        """Answer until the client hangs up."""
        try:
            while True:
                path, body = await self._read()
                await self._answer(path, body)
                await self.writer.drain()
        except asyncio.IncompleteReadError, ConnectionError:
            pass
        finally:
            self.writer.close()

    async def _read(self) -> tuple[str, bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        if headers.get("transfer-encoding") == "chunked":
            return request.split()[1], b"".join([chunk async for chunk in self._chunks()])
        return request.split()[1], await self.reader.readexactly(int(headers.get("content-length", 0)))

    async def _chunks(self) -> AsyncGenerator[bytes]:
        while size := int(await self.reader.readline(), 16):
            yield await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()

    async def _answer(self, path: str, raw: bytes) -> None:
        arrived = monotonic_ns()
        path = path.partition("?")[0]
        if path.endswith("/models"):
            self._whole(
                {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 1, "owned_by": "bench"}]}
            )
        elif path.endswith("/api/tags"):
            self._whole({"models": [{"model": MODEL, "name": MODEL}]})
        elif path == "/bench/plan":
            self.model.plan = json.loads(raw)
            self._whole({})
        elif path == "/bench/take":
            records, self.model.records = self.model.records, []
            self._whole({"records": records})
        elif path == "/bench/idle":
            await self.model.idle.wait()
            self._whole({})
        else:
            await self._chat(path, raw, arrived)

    async def _chat(self, path: str, raw: bytes, arrived: int) -> None:
        body = json.loads(raw)
        record: dict[str, Any] = {"path": path, "arrived": arrived, "tokens": [], "bytes": len(raw)}
        record["asked"] = body.get("max_tokens") or body.get("max_completion_tokens")
        if self.model.plan.get("keep"):
            record["body"] = body
        self.model.records.append(record)
        if self.model.real:
            status, answer = await self._read_by(self.model.real, body, record)
            if status != 200:
                self._whole(answer, status)
                return
            record["timings"] = answer["timings"]
        text, calls = self.model.reply(raw, body)
        record["text"] = text
        number, prompt = len(self.model.records), len(raw) * 10 // 33  # bytes per token of such requests, about
        if path.endswith("/api/chat"):
            await self._stream("application/x-ndjson", ollama_pieces(text, calls), record)
        elif body.get("stream"):
            await self._stream("text/event-stream", openai_pieces(text, calls, number, prompt), record)
        else:
            answer = openai_whole(text, calls, number, prompt)
            count = len(tokens_of(text))
            await asyncio.sleep(self._pace * count)
            record["done"] = monotonic_ns()
            record["tokens"] = [record["done"]] * count
            self._whole(answer)

    async def _read_by(self, port: int, body: dict[str, Any], record: dict[str, Any]) -> tuple[int, Any]:
        """Let the real server read a prompt; return status and answer. The client may hang up meanwhile."""
        asking = asyncio.create_task(complete(port, {**body, "stream": False, "max_tokens": 1}))
        hanging_up = asyncio.create_task(self.reader.read(1))  # a client says nothing while it waits
        self.model.busy += 1
        self.model.idle.clear()
        try:
            await asyncio.wait((asking, hanging_up), return_when=asyncio.FIRST_COMPLETED)
            if hanging_up.done():
                raise ConnectionError("the client hung up")
            return await asking
        finally:
            asking.cancel()
            hanging_up.cancel()
            await asyncio.wait((asking, hanging_up))
            self.model.busy -= 1
            if not self.model.busy:
                self.model.idle.set()

    @property
    def _pace(self) -> float:
        """Seconds between two tokens."""
        return float(self.model.plan.get("pace_ms", 2)) / 1000

    async def _stream(self, kind: str, pieces: list[tuple[bool, bytes]], record: dict[str, Any]) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.writer.write(head.encode())
        for is_token, piece in pieces:
            if is_token:
                await asyncio.sleep(self._pace)
            chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
            record["done"] = monotonic_ns()
            if is_token:
                record["tokens"].append(record["done"])
            self.writer.write(chunk)
        self.writer.write(b"0\r\n\r\n")

    def _whole(self, answer: dict[str, Any] | bytes, status: int = 200) -> None:
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)


async def complete(port: int, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the status and the answer of a real server to one request; cancelled, it hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        raw = json.dumps({name: value for name, value in body.items() if name not in WITH_STREAM}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(raw)}\r\n"
        writer.write(f"{head}Content-Type: application/json\r\nConnection: close\r\n\r\n".encode() + raw)
        answer = await reader.read()
        first, _, text = answer.partition(b"\r\n\r\n")
        return int(first.split()[1]), json.loads(text)
    finally:
        writer.close()


async def main(*arguments: str) -> None:
    """Serve on a free port of the loopback interface, print it, and end with the standard input."""
    model = Model(*map(int, arguments))
    server = await asyncio.start_server(
        lambda reader, writer: Connection(model, reader, writer).serve(), "127.0.0.1", 0, limit=64 * 1024 * 1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
