"""Chat log content and tools to what goes over the wire; pure.

The same content always gives the same bytes, so that a prompt cache holds. Whatever state the log is in, the messages
are a valid sequence: each tool call is followed by exactly one result. Thinking is not sent back.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
import re
from typing import Any
import weakref

from homeassistant.components import conversation
from homeassistant.helpers import llm as llm_helper
import probatio

from .base import Message, ToolSpec
from .wire import dump

_NO_RESULT = '{"success":false,"result":null,"error":"The tool call was interrupted; its outcome is unknown."}'
CONFIRMED = "home_agent.confirmed"
"""Mark (`native`) of calls that were made by code after the user's yes; the model sees them as its own."""
_NOTHING: Mapping[int, Any] = {}
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
MAX_NAME = 64  # characters; https://platform.openai.com/docs/api-reference/chat/create, seen 2026-11


def messages_from_content(
    content: Sequence[conversation.Content],
    parts: Mapping[int, str] = _NOTHING,
    files: Mapping[int, Sequence[dict[str, Any]]] = _NOTHING,
    notes: Mapping[int, str] = _NOTHING,
) -> list[Message]:
    """Return the messages of a chat log.

    `parts` maps the `id()` of a user content to the turn part that stands before its text, `files` to its loaded
    attachments (attachments.py), `notes` the `id()` of an answer to what the model was told behind it: a message of its own,
    behind tool calls the end of the last result, for some endpoints take no user message there.
    """
    messages: list[Message] = []
    for position, item in enumerate(content):
        match item:
            case conversation.SystemContent():
                if item.content:
                    messages.append({"role": "system", "content": item.content})
            case conversation.UserContent():
                messages.append(_user(item.content, parts.get(id(item)), files.get(id(item), ())))
            case conversation.AssistantContent():
                messages += _assistant(item, islice(content, position + 1, None))
                if note := notes.get(id(item)):
                    _add_note(messages, note)
    return messages


def _add_note(messages: list[Message], note: str) -> None:
    if messages and messages[-1]["role"] == "tool":
        messages[-1]["content"] += f"\n{note}"
    else:
        messages.append({"role": "user", "content": note})


def _user(text: str, part: str | None, files: Sequence[dict[str, Any]]) -> Message:
    text = f"{part}\n\n{text}" if part else text
    if files:
        return {"role": "user", "content": [{"type": "text", "text": text}, *files]}
    return {"role": "user", "content": text}


def _assistant(item: conversation.AssistantContent, following: Iterable[conversation.Content]) -> list[Message]:
    """Return an assistant's message with the results of its calls; nothing for an empty one.

    Calls that Home Assistant's own sentences made are left out: the model does not know those tools.
    """
    calls = [call for call in item.tool_calls or () if not call.external or item.native == CONFIRMED]
    if not calls:
        return [{"role": "assistant", "content": item.content}] if item.content else []
    results = _results(following)
    message: Message = {"role": "assistant", "content": item.content or None, "tool_calls": [_call(c) for c in calls]}
    return [
        message,
        *({"role": "tool", "tool_call_id": call.id, "content": results.get(call.id, _NO_RESULT)} for call in calls),
    ]


def _results(following: Iterable[conversation.Content]) -> dict[str, str]:
    """Return the first result per call id, up to the next message that is no result."""
    results: dict[str, str] = {}
    for item in following:
        if not isinstance(item, conversation.ToolResultContent):
            break
        if item.tool_call_id not in results:
            results[item.tool_call_id] = dump(item.result.data).decode()
    return results


def _call(call: llm_helper.ToolInput) -> dict[str, Any]:
    """Return a tool call; `BrokenArguments` are an empty dict.

    Endpoints refuse names with other characters than these, also those that a model made up itself.
    """
    function = {"name": _NO_NAME.sub("_", call.tool_name)[:MAX_NAME] or "_", "arguments": dump(call.tool_args).decode()}
    return {"id": call.id, "type": "function", "function": function}


_SPECS: dict[int, tuple[weakref.ref[llm_helper.Tool], ToolSpec]] = {}
"""By the tool's `id()`: making a schema is slow, and a tool object keeps its schema."""


def tool_specs(
    tools: Sequence[llm_helper.Tool], custom_serializer: Callable[[Any], Any] | None = None
) -> list[ToolSpec]:
    """Return the tools sorted by name.

    A tool may carry its JSON schema as `wire_parameters`; otherwise it is made from `parameters`.
    """
    return [_spec(tool, custom_serializer) for tool in sorted(tools, key=lambda tool: tool.name)]


def _spec(tool: llm_helper.Tool, custom_serializer: Callable[[Any], Any] | None) -> ToolSpec:
    key = id(tool)
    if (known := _SPECS.get(key)) and known[0]() is tool:
        return known[1]
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
    _SPECS[key] = (weakref.ref(tool, lambda _: _SPECS.pop(key, None)), spec)
    return spec
