"""Hides personal data that the home knows and remembers on the way to a model that is not in the home.

What was said to this model itself stays as it was said, or the model would have to read everything after it again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent
from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType

from ..support.masking import Mask, masked_values
from ..transcript.turn_part import masked_part

LONG = 5_000  # characters; more is masked beside the event loop

type Messages = tuple[Sequence[Content], Mapping[int, str], Mapping[int, str]]
"""Content with its turn parts and notes, both by the place of what they belong to."""


async def async_hide(hass: HomeAssistant, messages: Messages, mask: Mask, said: Collection[int]) -> Messages:
    """Return the messages without personal data, but for those at the places `said`: people said them to this model."""
    content, parts, _ = messages
    if sum(map(len, parts.values())) + sum(map(_size, content)) <= LONG:
        return _hide(messages, mask, said)
    return await hass.async_add_executor_job(_hide, messages, mask, said)


def _size(item: Content) -> int:
    """Return how long the text of a message is; the length of a tool result is not known before it is read."""
    return LONG + 1 if isinstance(item, ToolResultContent) else len(item.content or "")


def _hide(messages: Messages, mask: Mask, said: Collection[int]) -> Messages:
    content, parts, notes = messages
    hidden: list[Content] = []
    plain = False
    for place, item in enumerate(content):
        if isinstance(item, UserContent):
            plain = place in said
        hidden.append(_hidden(item, mask, plain=plain))
    hidden_parts = {place: masked_part(text, mask) for place, text in parts.items()}
    return hidden, hidden_parts, {place: masked_part(text, mask) for place, text in notes.items()}


def _hidden(item: Content, mask: Mask, *, plain: bool) -> Content:
    """Return a message as it may be sent; results of tools are what the home knows."""
    match item:
        case ToolResultContent():
            return replace(item, result=replace(item.result, data=_arguments(item.result.data, mask)))
        case UserContent() if not plain:
            return replace(item, content=mask(item.content))
        case AssistantContent() if not plain:
            calls = [replace(call, tool_args=_arguments(call.tool_args, mask)) for call in item.tool_calls or ()]
            return replace(item, content=mask(item.content) if item.content else item.content, tool_calls=calls or None)
    return item


def _arguments(arguments: Mapping[str, JsonValueType], mask: Mask) -> dict[str, JsonValueType]:
    return {key: masked_values(value, mask) for key, value in arguments.items()}
