"""What was said before the live conversation: kept messages as content of the chat log, and content as kept messages.

Home Assistant forgets a conversation after five minutes, and at every restart. What is kept goes before its new chat log
in each request, or into the owner's prompt where that asks for it, never both; once chosen it stays the same to the end.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, json_loads_object
from homeassistant.util.ulid import ulid_now

from ..client.messages import CONFIRMED
from ..client.wire import dump
from ..conversations.base import CUT, MAX_TEXT, Role, StoredCall, StoredMessage
from ..prompt.parts import render_turn_part
from ..safety.audit import is_secret

MAX_ARGUMENTS = 2_000  # characters of one call
MAX_ANSWERS = 12  # messages of the assistant in one round
NOT_KEPT: JsonObjectType = {"success": True, "result": "no longer kept"}
FAILED: JsonObjectType = {"success": False, "error": "no longer kept"}


@dataclass(slots=True, kw_only=True)
class Past:
    """What one owner said in a conversation before it came to life again. Chosen with the first turn, then fixed."""

    conversation_id: str
    """The conversation that goes on; its own id where nothing was kept."""
    messages: tuple[StoredMessage, ...] = ()
    """Oldest first, whole rounds, none older than the profile allows."""
    told_in_prompt: bool = False
    """The owner's prompt has them as text: they are not sent as messages as well."""
    content: list[Content] | None = None
    """What goes before the chat log; None: not decided yet."""
    parts: list[tuple[UserContent, str]] = field(default_factory=list)
    """When each message of the user's in it was said, as the model reads it."""

    def tell(self) -> Sequence[StoredMessage]:
        """Return what was said, for a prompt that has it as text: then it is not sent as messages as well.

        Nothing when it is already sent as messages. The prompt is made before the first request, so this comes first.
        """
        if self.content:
            return ()
        self.told_in_prompt = True
        return self.messages

    def restore(self, limit: int, budget: int, estimate: Callable[[str], int], tools: Collection[str]) -> list[Content]:
        """Return the newest rounds, at most `limit` messages and about `budget` tokens, calls of these tools included."""
        if self.content is None:
            self.content = []
            chosen = [] if self.told_in_prompt else _newest(self.messages, limit, budget, estimate)
            for message in chosen:
                self.content += _content(message, tools)
            self._date()
        return self.content

    def _date(self) -> None:
        known: str | None = None
        for item in self.content or ():
            if isinstance(item, UserContent):
                when = dt_util.as_local(item.created)
                date = when.strftime("%A %Y-%m-%d")
                facts = {} if date == known else {"date": date}
                known = date
                part = render_turn_part(time=when.strftime("%H:%M"), facts=facts, lines=(), left_out={}, style="json")
                self.parts.append((item, part))


def kept_messages(content: Sequence[Content]) -> list[StoredMessage]:
    """Return a round of the chat log as it is kept; nothing when it has no answer.

    PINs are masked there already. An answer that was corrected in the same round is left out.
    """
    question, *following = content
    if not isinstance(question, UserContent):
        return []
    found = [StoredMessage(id=ulid_now(), role=Role.USER, text=_text(question.content), at=question.created)]
    answers: list[StoredMessage] = []
    for position, item in enumerate(following):
        if not isinstance(item, AssistantContent):
            continue
        text = _text(item.content or "")
        calls = tuple(_calls(item, following[position + 1 :]))
        if text or calls:
            answers.append(StoredMessage(id=ulid_now(), role=Role.ASSISTANT, text=text, at=item.created, calls=calls))
    answers = [item for item in answers[:-1] if item.calls] + answers[-1:]
    if not answers or not answers[-1].text:
        return []
    return found + answers[-MAX_ANSWERS:]


def _calls(item: AssistantContent, following: Sequence[Content]) -> Iterator[StoredCall]:
    """Yield the calls that the model knows of; one with a secret or a long text in it is not kept."""
    results: dict[str, bool] = {}
    for result in following:
        if not isinstance(result, ToolResultContent):
            break
        results[result.tool_call_id] = result.result.error
    for call in item.tool_calls or ():
        known = not call.external or item.native == CONFIRMED
        if not known or call.id not in results or _has_secret(call.tool_args):
            continue
        if len(written := dump(call.tool_args)) <= MAX_ARGUMENTS:
            with suppress(ValueError):  # half a character, which no file takes
                arguments = json_loads_object(written)
                yield StoredCall(name=_text(call.tool_name), arguments=arguments, success=not results[call.id])


def _has_secret(value: object) -> bool:
    if isinstance(value, dict):
        return any(is_secret(str(key)) or _has_secret(item) for key, item in value.items())
    return isinstance(value, list) and any(_has_secret(item) for item in value)


def _text(text: str) -> str:
    """Return a text that is not too long, and that a file takes: halves of surrogate pairs are replaced."""
    short = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - len(CUT)] + CUT
    return short.encode("utf-8", "replace").decode()


def _newest(
    messages: Sequence[StoredMessage], limit: int, budget: int, estimate: Callable[[str], int]
) -> list[StoredMessage]:
    """Return the newest whole rounds within the limits."""
    chosen: list[StoredMessage] = []
    one: list[StoredMessage] = []
    for message in reversed(messages):
        one.insert(0, message)
        if message.role is Role.USER:
            both = [*one, *chosen]
            tokens = sum(estimate(item.text) + sum(estimate(str(call)) for call in item.calls) for item in both)
            if sum(bool(item.text) for item in both) > limit or tokens > budget:
                break
            chosen, one = both, []
    return chosen


def _content(message: StoredMessage, tools: Collection[str]) -> list[Content]:
    """Return a message as content of the chat log; calls of tools that are not offered any more are left out."""
    if message.role is Role.USER:
        return [_dated(UserContent(content=message.text), message.at)]
    calls = [
        (llm.ToolInput(tool_name=call.name, tool_args=dict(call.arguments), id=f"{message.id[-7:]}{number:02}"), call)
        for number, call in enumerate(message.calls)
        if call.name in tools
    ]
    if not calls and not message.text:
        return []
    answer = AssistantContent(agent_id="", content=message.text or None, tool_calls=[made for made, _ in calls] or None)
    content: list[Content] = [answer]
    content += [
        ToolResultContent(
            agent_id="",
            tool_call_id=made.id,
            tool_name=made.tool_name,
            result=llm.ToolResult(data=NOT_KEPT if call.success else FAILED, error=not call.success),
        )
        for made, call in calls
    ]
    return [_dated(item, message.at) for item in content]


def _dated(item: Content, at: datetime) -> Content:
    """Return content as said at a moment: Home Assistant lets nobody pass it."""
    object.__setattr__(item, "created", at)
    return item
