"""Chat log content and tools to what goes over the wire; pure.

The same content always gives the same bytes, so that a prompt cache holds. Whatever state the log is in, the messages
are a valid sequence: each tool call is followed by exactly one result. Thinking is not sent back, but to who wants it.
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
from ..support.encoding import dump
from ..support.errors import HomeAgentError
from .model import CameWith, Message, ToolSpec, raw_estimate

_NO_RESULT = '{"success":false,"result":null,"error":"The tool call was interrupted; its outcome is unknown."}'
CONFIRMED = "home_agent.confirmed"
"""Mark (`native`) of calls that were made by code after the user's yes; the model sees them as its own."""
ROUTED = "home_agent.routed"
"""Mark of calls that agents have made to whom a router gave parts of a message; they are kept, and only these agents see them."""
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
    """Write into a chat log which calls code makes (`ToolInput.external`).

    `known`: the model has the tools, so it is told; `routed`: they are of an extension to which the message was split.
    """
    native = ROUTED if routed else CONFIRMED if known else None
    chat_log.async_add_assistant_content_without_tools(
        conversation.AssistantContent(agent_id=agent_id, tool_calls=[*calls], native=native)
    )


def add_result(
    chat_log: conversation.ChatLog, agent_id: str, call: llm_helper.ToolInput, result: llm_helper.ToolResult
) -> None:
    """Write the result of a call that code has made into a chat log."""
    chat_log.async_add_assistant_content_without_tools(
        conversation.ToolResultContent(agent_id=agent_id, tool_call_id=call.id, tool_name=call.tool_name, result=result)
    )


def messages_from_content(
    content: Sequence[conversation.Content],
    parts: Mapping[int, str] = _NOTHING,
    files: Mapping[int, Sequence[dict[str, Any]]] = _NOTHING,
    notes: Mapping[int, str] = _NOTHING,
) -> list[Message]:
    """Return the messages of a chat log.

    By the place of a content: `parts` are the turn parts that stand before the text of a user message, `files` its loaded
    attachments (`async_load_attachments`), `notes` what the model was told behind an answer: a message of its own, behind
    tool calls the end of the last result, for some endpoints take no user message there; behind a user message its end.
    """
    messages: list[Message] = []
    for position, item in enumerate(content):
        match item:
            case conversation.SystemContent():
                if item.content:
                    messages.append({"role": "system", "content": item.content})
            case conversation.UserContent():
                part, attached = parts.get(position), files.get(position)
                text = f"{part}\n\n{item.content}" if part else item.content
                if note := notes.get(position):
                    text = f"{text}\n\n{note}"
                words = [{"type": "text", "text": text}, *attached] if attached else text
                messages.append({"role": "user", "content": words})
            case conversation.AssistantContent():
                messages += _assistant(item, islice(content, position + 1, None))
                if not (note := notes.get(position)):
                    continue
                if messages and messages[-1]["role"] == "tool":
                    messages[-1]["content"] += f"\n{note}"
                else:
                    messages.append({"role": "user", "content": note})
    return messages


def _assistant(item: conversation.AssistantContent, following: Iterable[conversation.Content]) -> list[Message]:
    """Return an assistant's message with the results of its calls; nothing for an empty one.

    Calls that Home Assistant's own sentences made are left out: the model does not know those tools.
    """
    calls = [call for call in item.tool_calls or () if not call.external or item.native == CONFIRMED]
    if not calls:
        return [{"role": "assistant", "content": item.content}] if item.content else []
    results: dict[str, str] = {}  # the first one counts
    for result in following:
        if not isinstance(result, conversation.ToolResultContent):
            break
        if result.tool_call_id not in results:
            results[result.tool_call_id] = dump(result.result.data).decode()
    made: list[dict[str, Any]] = []
    answered: list[Message] = []
    for call in calls:
        # Endpoints refuse names with other characters than these, also those that a model made up itself.
        name = _NO_NAME.sub("_", call.tool_name)[:MAX_NAME] or "_"
        function = {"name": name, "arguments": dump(call.tool_args).decode()}  # `BrokenArguments` are an empty dict
        made.append({"id": call.id, "type": "function", "function": function})
        answered.append({"role": "tool", "tool_call_id": call.id, "content": results.get(call.id, _NO_RESULT)})
    return [{"role": "assistant", "content": item.content or None, "tool_calls": made}, *answered]


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Tools as a model is offered them."""

    specs: Sequence[ToolSpec] = ()
    """Sorted by name."""
    raw_tokens: float = 0
    """What they take of a prompt (`raw_estimate`)."""


_SPECS: weakref.WeakKeyDictionary[llm_helper.Tool, tuple[ToolSpec, float]] = weakref.WeakKeyDictionary()
"""What was made of each tool: making a schema is slow, and a tool object keeps its schema."""


def offered_tools(
    tools: Sequence[llm_helper.Tool], custom_serializer: Callable[[Any], Any] | None = None
) -> OfferedTools:
    """Return the tools sorted by name.

    A tool may carry its JSON schema as `wire_parameters`; otherwise it is made from `parameters`.
    """
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
"""What the model is made to have said where a tool result is followed by the user, for servers that refuse that."""
_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")


def in_strict_order(messages: Sequence[Message]) -> list[Message]:
    """Return the messages as Mistral takes them: an answer behind each tool result, ids of calls of nine letters and digits."""
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
"""What Gemini takes instead of a signature, for calls that it did not make or whose signature is not known any more."""


def with_what_came(messages: Sequence[Message], came: Mapping[str, CameWith], traits: Traits) -> list[Message]:
    """Return the messages with what a server wants back with the calls it made: their signatures, its thinking.

    `came` has it by the id of the first call of an answer.
    """
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
    """Return the messages with the schema of the answer at the end of the instructions, for servers that take no other."""
    schema = response_format.get("json_schema", {}).get("schema", {})
    words = f"{IN_WORDS}\n{dump(schema).decode()}"
    system = messages[0] if messages and messages[0]["role"] == "system" else None
    if system is None:
        return [{"role": "system", "content": words}, *messages]
    return [{**system, "content": f"{system['content']}\n\n{words}"}, *messages[1:]]


SHORTEST = 400  # characters of a text that is left whole
CHARACTERS_PER_TOKEN = 3  # rather too few: what was cut too little is refused once more


def shortened(messages: Sequence[Message], tokens: int, estimate: Callable[[str], int]) -> list[Message]:
    """Return messages of about `tokens` tokens: results of tools lose their middle first, then what the user sent.

    A mark says how much is left out. Instructions and files stay, so the messages may still be longer.
    """
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
    """Return the attachments of user contents as parts of a message, images and PDF as data URLs, by the content's place.

    Raises `HomeAgentError` for a file that is too large (`attachment_too_large`), cannot be read
    (`attachment_unreadable`) or is neither an image nor text nor PDF (`attachment_type`).
    """
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
        return {"type": "text", "text": f"{path.name}:\n{_read(path).decode('utf-8', 'replace')}"}
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
