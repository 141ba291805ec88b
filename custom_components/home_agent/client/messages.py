"""What the loop hands to a client and gets back: messages, tools, requests and replies, and how their tokens are counted; pure.

The same content always gives the same bytes, so that a prompt cache holds. Tokens are estimated without a tokenizer: characters
are counted by kind, with rules of thumb as weights, and the result is corrected by what the endpoint reports.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from operator import attrgetter
from pathlib import Path
import re
from typing import Any
import weakref

from homeassistant.components import conversation
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm as llm_helper
import probatio

from ..settings.endpoint import Traits
from ..support.encoding import dump, inert, inert_json
from ..support.errors import HomeAgentError
from ..turn.turn import Usage

_SYMBOLS = b"\"'{}[]():,.;=<>_/-\n0123456789"
_ASCII = bytes(range(0x80))
# First bytes of characters in UTF-8
_TWO_BYTES = bytes(range(0xC2, 0xE0))
_CYRILLIC = bytes(range(0xD0, 0xD4))
_THREE_BYTES = bytes(range(0xE0, 0xF0))
_FOUR_BYTES = bytes(range(0xF0, 0xF5))

# Tokens per character
_LETTER = 0.235
_SYMBOL = 0.45
_TWO_BYTE_LETTER = 0.6  # umlauts and accents, Greek, Hebrew, Arabic
_CYRILLIC_LETTER = 0.4
_IDEOGRAPH = 0.95  # Chinese, Japanese, Korean; also Thai and the scripts of India
_EMOJI = 2.0

_FACTOR_MIN, _FACTOR_MAX = 0.5, 2.0
_LEAST, _MOST = 0.4, 2.5
"""Range of plausible measurements: beyond it a server counts something else, such as only tokens that were not cached."""
_LEARNING = 0.3  # share of a new measurement
_MIN_MEASURE = 50  # tokens; fewer are too imprecise

PATIENCE = 30.0  # seconds; a user does not wait longer without a word

type Message = dict[str, Any]
"""One message as it goes over the wire (OpenAI chat completions)."""

type ToolSpec = dict[str, Any]
"""One tool as it goes over the wire: `{"type": "function", "function": {name, description, parameters}}`."""


def raw_estimate(data: bytes) -> float:
    """Return the uncorrected estimate of the tokens of UTF-8 text."""
    total = len(data)
    symbols = total - len(data.translate(None, _SYMBOLS))
    tokens = symbols * _SYMBOL
    if data.isascii():
        return tokens + (total - symbols) * _LETTER
    other = data.translate(None, _ASCII)
    two, cyrillic, three, four = (
        len(other) - len(other.translate(None, kind)) for kind in (_TWO_BYTES, _CYRILLIC, _THREE_BYTES, _FOUR_BYTES)
    )
    tokens += (total - symbols - len(other)) * _LETTER
    tokens += (two - cyrillic) * _TWO_BYTE_LETTER + cyrillic * _CYRILLIC_LETTER
    return tokens + three * _IDEOGRAPH + four * _EMOJI


class TokenEstimator:
    """Estimates for one model."""

    def __init__(self) -> None:
        """Start without a correction."""
        self.factor = 1.0
        """Tokens that the endpoint counts for each one that we estimate."""

    def estimate(self, text: str) -> int:
        """Return the tokens of a text, rounded up."""
        return int(raw_estimate(text.encode("utf-8", "replace")) * self.factor + 0.999)

    def calibrate(self, estimated: int, actual: int) -> None:
        """Correct the factor by a request's raw estimate (`ModelReply.estimated_tokens`) and the endpoint's count."""
        if estimated < _MIN_MEASURE or actual < _MIN_MEASURE:
            return
        if not _LEAST * estimated <= actual <= _MOST * estimated:
            return
        corrected = self.factor + _LEARNING * (actual / estimated - self.factor)
        self.factor = min(_FACTOR_MAX, max(_FACTOR_MIN, corrected))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request to a model."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    may_call_tools: bool = True
    """False: the model must answer in words. The tools stay in the request if possible, so that its prompt cache holds."""
    response_format: Mapping[str, Any] | None = None
    stream: bool = True
    cache_key: str = ""
    """The same for all requests that begin alike, those of one agent; empty if no other begins like this one."""
    max_tokens: int | None = None
    max_text: int | None = None
    """Tokens of the answer's text, without thinking, after which the client ends it; not sent to the server."""
    patience: float = PATIENCE
    background: bool = False  # no person waits for it: it lets the requests of people pass
    retries: bool = True  # whether to repeat it once after a temporary failure before the first delta


@dataclass(frozen=True, slots=True)
class CameWith:
    """Thinking and signatures of tool calls, which some servers want back with the calls."""

    thinking: str
    extra: Mapping[str, Any] | None


@dataclass(slots=True)
class ModelReply:
    """Facts about a reply besides its deltas; filled in during the stream."""

    usage: Usage | None = None
    finish_reason: str | None = None
    """`stop`, `tool_calls`, `length`, `content_filter`, `repeats` (ours); None if the stream ended without one."""
    first_delta_ms: int | None = None
    is_thought: bool = False  # whether the text is thinking that was never closed
    started: bool = False  # whether a delta left the client: from then on the request must not be repeated
    estimated_tokens: int | None = None  # uncorrected estimate of the request; None if it has files


class BrokenArguments(dict[str, Any]):
    """Arguments of a tool call that were not a JSON object: empty, so that they cannot run. The policy answers with an error."""

    def __init__(self, raw: str) -> None:
        """Keep the model's text for the error result."""
        super().__init__()
        self.raw = raw


_NO_RESULT = '{"success":false,"result":null,"error":"The tool call was interrupted; its outcome is unknown."}'
CONFIRMED = "home_agent.confirmed"
"""Mark (`native`) of calls that code made after the user's yes; the model sees them as its own."""
ROUTED = "home_agent.routed"
"""Mark of calls of an agent that a router gave a part of a message; kept, and seen by that agent only."""
_NOTHING: Mapping[int, Any] = {}
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME = 64  # characters; https://platform.openai.com/docs/api-reference/chat/create, seen 2026-11


def add_calls(
    chat_log: conversation.ChatLog,
    agent_id: str,
    calls: Sequence[llm_helper.ToolInput],
    *,
    known: bool,
    routed: bool = False,
) -> None:
    """Add calls that code makes: `known` to the model, or `routed` to an extension that got a part of the message."""
    native = ROUTED if routed else CONFIRMED if known else None
    chat_log.async_add_assistant_content_without_tools(
        conversation.AssistantContent(agent_id=agent_id, tool_calls=[*calls], native=native)
    )


def add_result(
    chat_log: conversation.ChatLog, agent_id: str, call: llm_helper.ToolInput, result: llm_helper.ToolResult
) -> None:
    """Add the result of a call that code made to a chat log."""
    chat_log.async_add_assistant_content_without_tools(
        conversation.ToolResultContent(agent_id=agent_id, tool_call_id=call.id, tool_name=call.tool_name, result=result)
    )


def messages_from_content(
    content: Sequence[conversation.Content],
    parts: Mapping[int, str] = _NOTHING,
    files: Mapping[int, Sequence[dict[str, Any]]] = _NOTHING,
    notes: Mapping[int, str] = _NOTHING,
) -> list[Message]:
    """Return the messages of a chat log; `parts`, `files` and `notes` are by position of the content."""
    messages: list[Message] = []
    for position, item in enumerate(content):
        match item:
            case conversation.SystemContent():
                if item.content:
                    messages.append({"role": "system", "content": item.content})
            case conversation.UserContent():
                part, attached = parts.get(position), files.get(position)
                said = inert(item.content)
                text = f"{part}\n\n{said}" if part else said
                if note := notes.get(position):
                    text = f"{text}\n\n{note}"
                words = [{"type": "text", "text": text}, *attached] if attached else text
                messages.append({"role": "user", "content": words})
            case conversation.AssistantContent():
                messages += _assistant(item, islice(content, position + 1, None))
                if not (note := notes.get(position)):
                    continue
                if messages and messages[-1]["role"] == "tool":  # some endpoints take no user message there
                    messages[-1]["content"] += f"\n{note}"
                else:
                    messages.append({"role": "user", "content": note})
    return messages


def _assistant(item: conversation.AssistantContent, following: Iterable[conversation.Content]) -> list[Message]:
    """Return an assistant's message with the results of its calls, without those of Home Assistant's own sentences."""
    calls = [call for call in item.tool_calls or () if not call.external or item.native == CONFIRMED]
    if not calls:
        return [{"role": "assistant", "content": inert(item.content)}] if item.content else []
    results: dict[str, str] = {}  # the first one counts
    for result in following:
        if not isinstance(result, conversation.ToolResultContent):
            break
        if result.tool_call_id not in results:
            results[result.tool_call_id] = inert_json(result.result.data)
    made, answered = list[dict[str, Any]](), list[Message]()
    for call in calls:
        # Endpoints refuse names with other characters, even if their model made them up.
        name = _NO_NAME.sub("_", call.tool_name)[:MAX_NAME] or "_"
        function = {"name": name, "arguments": inert_json(call.tool_args)}  # `BrokenArguments` are an empty dict
        made.append({"id": call.id, "type": "function", "function": function})
        answered.append({"role": "tool", "tool_call_id": call.id, "content": results.get(call.id, _NO_RESULT)})
    return [{"role": "assistant", "content": inert(item.content or "") or None, "tool_calls": made}, *answered]


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Tools in the form of a request."""

    specs: Sequence[ToolSpec] = ()
    raw_tokens: float = 0


_SPECS: weakref.WeakKeyDictionary[llm_helper.Tool, tuple[ToolSpec, float]] = weakref.WeakKeyDictionary()
"""By tool: making a schema is slow, and a tool object never changes its own."""


def offered_tools(
    tools: Sequence[llm_helper.Tool], custom_serializer: Callable[[Any], Any] | None = None
) -> OfferedTools:
    """Return the tools sorted by name, each with its own JSON schema (`wire_parameters`) or one made from `parameters`."""
    specs: list[ToolSpec] = []
    total = 0.0
    for tool in sorted(tools, key=attrgetter("name")):
        if (known := _SPECS.get(tool)) is None:
            parameters = getattr(tool, "wire_parameters", None)
            if parameters is None:
                parameters = probatio.to_openapi(
                    tool.parameters,
                    custom_serializer=custom_serializer or llm_helper.selector_serializer,
                    openapi_version="3.1.0",
                )
            function: dict[str, Any] = {"name": tool.name, "parameters": parameters}
            if tool.description:
                function["description"] = tool.description
            spec: ToolSpec = {"type": "function", "function": function}
            known = _SPECS[tool] = spec, raw_estimate(dump(spec))
        specs.append(known[0])
        total += known[1]
    return OfferedTools(specs, total)


BEHIND_RESULTS = "…"
"""The answer inserted between a tool result and a user message, for servers that refuse that order."""
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")


def in_strict_order(messages: Sequence[Message]) -> list[Message]:
    """Return the messages as Mistral takes them: an answer after tool results, ids of calls of nine letters and digits."""
    ordered: list[Message] = []
    for message in messages:
        if message["role"] == "user" and ordered and ordered[-1]["role"] == "tool":
            ordered.append({"role": "assistant", "content": BEHIND_RESULTS})
        if message["role"] == "tool":
            message = {**message, "tool_call_id": _short_id(message["tool_call_id"])}
        elif calls := message.get("tool_calls"):
            message = {**message, "tool_calls": [{**call, "id": _short_id(call["id"])} for call in calls]}
        ordered.append(message)
    return ordered


def _short_id(call_id: str) -> str:
    return call_id if _SHORT_ID.fullmatch(call_id) else sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


NO_SIGNATURE = "skip_thought_signature_validator"
"""Gemini takes this instead of a signature, for calls of others and for signatures that are lost."""


def with_what_came(messages: Sequence[Message], came: Mapping[str, CameWith], traits: Traits) -> list[Message]:
    """Return the messages with the thinking and signatures that a server wants back; `came` is by the first call's id."""
    sent: list[Message] = []
    for message in messages:
        if message["role"] == "assistant" and traits.thinking_back:
            first = next(iter(message.get("tool_calls") or ()), None)
            thinking = came[first["id"]].thinking if first and first["id"] in came else ""
            message = {**message, "reasoning_content": thinking}
        if traits.signed_calls and (calls := message.get("tool_calls")):
            known = came.get(calls[0]["id"])
            extra = (known and known.extra) or {"google": {"thought_signature": NO_SIGNATURE}}
            message = {**message, "tool_calls": [{**calls[0], "extra_content": extra}, *calls[1:]]}
        sent.append(message)
    return sent


IN_WORDS = "Answer with one JSON object and nothing else. It has to be valid against this JSON schema:"


def with_schema_in_words(messages: Sequence[Message], response_format: Mapping[str, Any]) -> list[Message]:
    """Return the messages with the answer's schema at the end of the instructions, for servers without `response_format`."""
    schema = response_format.get("json_schema", {}).get("schema", {})
    words = f"{IN_WORDS}\n{dump(schema).decode()}"
    system = messages[0] if messages and messages[0]["role"] == "system" else None
    if system is None:
        return [{"role": "system", "content": words}, *messages]
    return [{**system, "content": f"{system['content']}\n\n{words}"}, *messages[1:]]


SHORTEST = 400  # characters of a text that is not cut
CHARACTERS_PER_TOKEN = 3  # an underestimate: a request that is cut too little is refused again


def shortened(messages: Sequence[Message], tokens: int, estimate: Callable[[str], int]) -> list[Message]:
    """Return the messages cut to about `tokens` tokens, if possible: first tool results, then user messages, in the middle."""
    short = list(messages)
    sizes = {
        place: estimate(message["content"])
        for place, message in enumerate(short)
        if isinstance(message["content"], str)
    }
    over = sum(sizes.values()) - tokens
    for role in ("tool", "user"):
        places = [place for place in sizes if short[place]["role"] == role]
        for place in sorted(places, key=sizes.__getitem__, reverse=True):
            text = short[place]["content"]
            if over <= 0 or len(text) <= SHORTEST:
                break
            kept = max(SHORTEST, len(text) - over * CHARACTERS_PER_TOKEN)
            mark = f"\n[... {len(text) - kept} characters left out ...]\n"
            content = f"{text[: kept - kept // 2]}{mark}{text[len(text) - kept // 2 :]}"
            short[place] = {**short[place], "content": content}
            over -= sizes[place] - estimate(content)
    return short


MAX_SIZE = 10 * 1024 * 1024  # bytes of one file, before encoding


async def async_load_attachments(
    hass: HomeAssistant, content: Sequence[conversation.Content]
) -> dict[int, list[dict[str, Any]]]:
    """Return the attachments of user contents as message parts, by the content's position. Raises `HomeAgentError`."""
    wanted = {
        position: item.attachments
        for position, item in enumerate(content)
        if isinstance(item, conversation.UserContent) and item.attachments
    }
    if not wanted:
        return {}
    return await hass.async_add_executor_job(
        lambda: {position: [_part(attachment) for attachment in files] for position, files in wanted.items()}
    )


def _part(attachment: conversation.Attachment) -> dict[str, Any]:
    path, mime_type = attachment.path, attachment.mime_type
    if mime_type.startswith("text/"):
        return {"type": "text", "text": inert(f"{path.name}:\n{_read(path).decode('utf-8', 'replace')}")}
    if not mime_type.startswith("image/") and mime_type != "application/pdf":
        raise HomeAgentError("attachment_type", file=path.name, type=mime_type)
    url = f"data:{mime_type};base64,{b64encode(_read(path)).decode()}"
    if mime_type == "application/pdf":
        return {"type": "file", "file": {"filename": path.name, "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_SIZE:
            raise HomeAgentError("attachment_too_large", file=path.name, limit=str(MAX_SIZE // 1024**2))
        return path.read_bytes()
    except OSError as err:
        raise HomeAgentError("attachment_unreadable", file=path.name) from err
