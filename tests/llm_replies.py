"""The answers that the scripted server gives: in words, as tool calls, piece by piece, and everything that can go wrong.

Builders of `Reply`; `tests/llm_server.py` sends them and passes their names on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
import json
import re
from typing import Any

type JSON = dict[str, Any]
type Piece = Mapping[str, Any] | bytes | float
"""Of a stream: a chunk, which becomes one event; bytes as they are; a pause in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One planned answer. Make it with the builders below."""

    message: JSON | None = None
    """The answer in one piece, for a request without `stream`."""
    finish_reason: str | None = "stop"
    pieces: Iterable[Piece] = ()
    """The answer as a stream, without the parts that the server adds: finish reason, usage, `[DONE]`."""
    usage: JSON | bool | None = None
    """Sent as it is; True: made up, whether asked for or not; None: made up when asked for; False: never."""
    timings: JSON | None = None
    """llama.cpp's own numbers, sent with the last chunk and with an answer in one piece."""
    ending: bool = True
    """Whether the stream ends with a finish reason, usage and `[DONE]`."""
    done: bool = True
    """Whether `[DONE]` is sent."""
    cut: bool = False
    """Drop the connection instead of ending the stream."""
    silent: bool = False
    """Say nothing more until the client leaves."""
    delay: float = 0.0
    """Seconds until the headers are sent."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """A whole body of its own, for errors and pages."""
    content_type: str | None = None


def text(
    content: str,
    *,
    pieces: int | None = None,
    thinking: str | None = None,
    finish_reason: str | None = "stop",
    pause: float = 0.0,
    **options: Any,
) -> Reply:
    """Return an answer in words, in `pieces` chunks (default: word by word), `pause` seconds apart."""
    parts = _split(content, pieces) if pieces else re.findall(r"\s*\S+\s*$|\s*\S+", content) or [content]
    stream: list[Piece] = [delta(reasoning_content=thinking)] if thinking else []
    for part in parts:
        stream += [pause, delta(content=part)] if pause else [delta(content=part)]
    message: JSON = {"role": "assistant", "content": content}
    if thinking:
        message["reasoning_content"] = thinking
    return Reply(message=message, pieces=stream, finish_reason=finish_reason, **options)


def tool_call(
    name: str,
    arguments: Mapping[str, Any] | str,
    *,
    call_id: str | None = None,
    fragments: int = 1,
    content: str | None = None,
    **options: Any,
) -> Reply:
    """Return an answer that calls one tool, its arguments in so many `fragments`."""
    return tool_calls(
        (name, arguments), ids=[call_id] if call_id else None, fragments=fragments, content=content, **options
    )


def tool_calls(
    *calls: tuple[str, Mapping[str, Any] | str],
    ids: Sequence[str] | None = None,
    fragments: int = 1,
    content: str | None = None,
    **options: Any,
) -> Reply:
    """Return an answer that calls several tools."""
    stream: list[Piece] = [delta(content=content)] if content else []
    whole = []
    for index, (name, arguments) in enumerate(calls):
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        call_id = ids[index] if ids else f"call_{index}_{name}"
        whole.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": raw}})
        first, *rest = _split(raw, fragments)
        head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": first}}
        stream.append(delta(tool_calls=[head]))
        stream += [delta(tool_calls=[{"index": index, "function": {"arguments": part}}]) for part in rest]
    message = {"role": "assistant", "content": content, "tool_calls": whole}
    return Reply(message=message, pieces=stream, finish_reason="tool_calls", **options)


def chunks(*pieces: Piece, message: JSON | None = None, ending: bool = False, **options: Any) -> Reply:
    """Return a stream of exactly these chunks; with `ending`, the usual end is added."""
    return Reply(pieces=pieces, message=message, ending=ending, **options)


def raw(*pieces: bytes, **options: Any) -> Reply:
    """Return a stream of exactly these bytes."""
    return Reply(pieces=pieces, ending=False, **{"done": False, **options})


def delta(*, finish_reason: str | None = None, **fields: Any) -> JSON:
    """Return a chunk with one choice."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}],
    }


def error(status: int, message: str, *, headers: Mapping[str, str] | None = None, **fields: Any) -> Reply:
    """Return a refusal as OpenAI words it; `fields` are `type`, `code`, `param`."""
    body = json.dumps({"error": {"message": message, **fields}}).encode()
    return Reply(status=status, body=body, content_type="application/json", headers=headers or {})


def unauthorized() -> Reply:
    """Return the refusal of a wrong key, which repeats part of it as OpenAI does."""
    return error(401, "Incorrect API key provided: sk-wrong-key-1234.", code="invalid_api_key")


def model_not_found(model: str = "scripted") -> Reply:
    return error(404, f"The model `{model}` does not exist", code="model_not_found")


def rate_limited(retry_after: str | None = None) -> Reply:
    return error(429, "Rate limit reached", headers={"Retry-After": retry_after} if retry_after else None)


def server_error(status: int = 500) -> Reply:
    return error(status, "The server had an error")


def loading() -> Reply:
    """Return what llama.cpp says to everything until its model is loaded."""
    return error(503, "Loading model", type="unavailable_error", code=503)


def context_length(limit: int = 4096) -> Reply:
    return error(400, f"This model's maximum context length is {limit} tokens.", code="context_length_exceeded")


def unsupported(param: str, message: str | None = None) -> Reply:
    return error(
        400,
        message or f"Unsupported parameter: '{param}' is not supported with this model.",
        code="unsupported_parameter",
        param=param,
    )


def html(status: int = 200) -> Reply:
    """Return a web page."""
    return Reply(status=status, body=b"<!DOCTYPE html><html><body>Welcome</body></html>", content_type="text/html")


def silence() -> Reply:
    """Return headers and then nothing."""
    return Reply(silent=True, ending=False)


def endless(*pieces: Piece) -> Reply:
    """Return a stream of these pieces, again and again until the client leaves."""
    return Reply(pieces=cycle(pieces), ending=False)


def cut(reply: Reply) -> Reply:
    """Return the reply with its connection dropped where its end would be."""
    return replace(reply, ending=False, cut=True)


def _split(content: str, count: int) -> list[str]:
    size = max(1, -(-len(content) // count))
    return [content[start : start + size] for start in range(0, len(content), size)] or [""]
