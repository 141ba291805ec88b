"""Sums up the rounds that are not sent any more: after an answer, in the background, given up when somebody speaks."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from homeassistant.components.conversation import AssistantContent, Content, UserContent

from ..client.base import ChatClient, ChatRequest, Message, Reply
from ..client.wire import dump
from ..const import LOGGER
from ..errors import LLMError
from ..prompt.masking import Mask
from ..prompt.summary import MAX_CHARS, MAX_MESSAGE_CHARS, SUM_UP
from .session import Session

TIMEOUT = 120.0  # seconds; nobody waits for it


async def async_sum_up(session: Session, client: ChatClient, mask: Mask | None = None) -> Reply:
    """Put a summary of what was dropped into the session, and return what is known about the request.

    `mask` hides personal data on the way.

    When the model fails, the rounds are simply gone. Cancelled, they wait for the next time.
    """
    dropped = tuple(session.dropped)
    reply = Reply()
    try:
        async with asyncio.timeout(TIMEOUT):
            text = await _async_text(client, summary_messages(session.summary, dropped, mask or str), reply)
    except (LLMError, TimeoutError) as err:
        LOGGER.info("%s did not sum up a conversation: %s", client.config.title, type(err).__name__)
        text = ""
    session.summary = text[:MAX_CHARS] or session.summary
    del session.dropped[: len(dropped)]
    return reply


def summary_messages(before: str, dropped: Sequence[Content], mask: Mask = str) -> list[Message]:
    """Return the messages of the request. `before` is the summary so far; it becomes part of the new one."""
    lines: list[dict[str, str]] = [{"notes so far": mask(before)}] if before else []
    for item in dropped:
        match item:
            case UserContent(content=text):
                lines.append({"person": mask(text[:MAX_MESSAGE_CHARS])})
            case AssistantContent(content=str(text)) if text:
                lines.append({"assistant": mask(text[:MAX_MESSAGE_CHARS])})
    data = "\n".join(dump(line).decode() for line in lines)
    return [{"role": "system", "content": SUM_UP}, {"role": "user", "content": data}]


async def _async_text(client: ChatClient, messages: list[Message], reply: Reply) -> str:
    async with aclosing(client.stream(ChatRequest(messages=messages, stream=False), reply)) as deltas:
        words = [delta.get("content") or "" async for delta in deltas]
    return "".join(words).strip()
