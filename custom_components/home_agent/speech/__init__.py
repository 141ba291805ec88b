"""Text that can be spoken: Markdown, emoji, links and thinking are taken out while the answer is being written.

For voice devices only; text chat keeps its formatting. What `SpeechFilter` returns depends on the text alone, never on
how the model cut it into pieces.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from homeassistant.components.conversation import AssistantContentDeltaDict

from .markdown import SpeechFilter

__all__ = ["SpeechFilter", "speakable", "speakable_text"]


def speakable_text(text: str) -> str:
    """Return a whole text as it can be spoken."""
    speech = SpeechFilter()
    return speech.feed(text) + speech.flush()


async def speakable(stream: AsyncGenerator[AssistantContentDeltaDict]) -> AsyncGenerator[AssistantContentDeltaDict]:
    """Make the content of a stream speakable; everything else passes as it came.

    Text that is still held back comes out before a tool call, before the next message and at the end. A message whose
    text holds nothing speakable has no text.
    """
    speech = SpeechFilter()
    async with aclosing(stream):
        async for delta in stream:
            if "role" in delta and (text := speech.flush()):
                yield {"content": text}
            rest = delta.copy()
            content = rest.pop("content", None)
            if "role" in delta and rest:
                yield rest
                rest = AssistantContentDeltaDict()
            if content and (text := speech.feed(content)):
                yield {"content": text}
            if "tool_calls" in rest and (text := speech.flush()):
                yield {"content": text}
            if rest:
                yield rest
    if text := speech.flush():
        yield {"content": text}
