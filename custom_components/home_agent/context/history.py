"""Which part of the chat log is sent: whole rounds, the oldest dropped first.

A round is a user message with everything up to the next one, so a tool call and its result are never separated. When the
limit is passed, about half is dropped at once: the start of the request then stays the same for several turns and
the model's prompt cache holds, instead of moving with every message.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from homeassistant.components.conversation import (
    AssistantContent,
    Content,
    SystemContent,
    ToolResultContent,
    UserContent,
)

from ..profiles.profile import Profile
from .session import Session

TRIM_TO = 0.5  # share of the limits that is kept when they are passed
TOOL_CALL_CHARS = 60  # wire overhead of one tool call

type Round = list[Content]


@dataclass(frozen=True, slots=True)
class Size:
    """How large a round is."""

    messages: int
    """What was said: user messages and answers in words; tool calls travel with their round."""
    words: int
    """Tokens of what was said, called and returned."""
    tokens: int
    """The same with the turn part."""

    @classmethod
    def of(cls, item: Round, texts: Mapping[int, str], estimate: Callable[[str], int]) -> Self:
        """Return the size of a round; `texts` are the turn parts by `id()` of their message."""
        messages = words = told = 0
        for content in item:
            if isinstance(content, ToolResultContent):
                words += estimate(str(content.result.data))
                continue
            messages += isinstance(content, UserContent) or bool(content.content)
            words += estimate(content.content or "")
            told += estimate(texts.get(id(content), ""))
            if isinstance(content, AssistantContent):
                words += sum((TOOL_CALL_CHARS + len(str(call.tool_args))) // 4 for call in content.tool_calls or ())
        return cls(messages, words, words + told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a conversation is sent."""

    messages: int = 0
    words: int
    """Tokens of what was said."""
    tokens: int
    """Tokens together with what was told of the house: that has a share of its own, which it may pass in a long talk."""

    def are_passed_by(self, sizes: Sequence[Size]) -> bool:
        """Return whether rounds are too much."""
        return (
            sum(size.messages for size in sizes) > self.messages
            or sum(size.words for size in sizes) > self.words
            or sum(size.tokens for size in sizes) > self.tokens
        )

    def halved(self) -> Limits:
        """Return what is kept when the limits are passed."""
        return Limits(
            messages=min(self.messages, max(2, int(self.messages * TRIM_TO))),
            words=int(self.words * TRIM_TO),
            tokens=int(self.tokens * TRIM_TO),
        )


@dataclass(frozen=True, slots=True)
class Sent:
    """Which rounds are sent."""

    rounds: Sequence[Round]
    """The newest (unanswered) one last."""
    dropped: Sequence[Round] = ()
    """Those that were sent so far and are not any more."""
    dropped_tokens: int = 0


def rounds_of(content: Sequence[Content]) -> list[Round]:
    """Split a chat log into rounds; the system message and anything before the first user message are left out."""
    rounds: list[Round] = []
    for item in content:
        if isinstance(item, UserContent):
            rounds.append([item])
        elif rounds and not isinstance(item, SystemContent):
            rounds[-1].append(item)
    return rounds


def sent_rounds(
    content: Sequence[Content], session: Session, profile: Profile, limits: Limits, estimate: Callable[[str], int]
) -> Sent:
    """Return the rounds to send, and remember where they start.

    Rounds that failed without an action are left out. The limits do not count the newest round.
    """
    session.forget_gone(content)
    rounds = [kept for item in rounds_of(content) if (kept := _as_known(item, session))]
    if not rounds:
        return Sent(rounds)
    newest = len(rounds) - 1
    start = next((index for index, item in enumerate(rounds) if item[0].created >= session.start), newest)
    rounds = rounds[start if profile.history_enabled else newest :]
    texts = session.texts()
    sizes = [Size.of(item, texts, estimate) for item in rounds[:-1]]
    limits = Limits(messages=profile.history_max_messages, words=limits.words, tokens=limits.tokens)
    drop = 0
    if limits.are_passed_by(sizes):
        while drop < len(sizes) and limits.halved().are_passed_by(sizes[drop:]):
            drop += 1
    session.start = max(session.start, rounds[drop][0].created)
    return Sent(rounds[drop:], rounds[:drop], sum(size.tokens for size in sizes[:drop]))


def _as_known(item: Round, session: Session) -> Round | None:
    """Return the round as the model should know it.

    Not at all when another person talked or it failed, without the error when it had acted.

    A turn that was cancelled stands in the log of 2026.11 with an answer that begins with `Error: `.
    """
    if session.is_for_others(item[0]):
        return None
    if not any(item[0] is failed for failed in session.failed):
        return item
    if not any(isinstance(content, ToolResultContent) for content in item):
        return None
    if isinstance(last := item[-1], AssistantContent) and not last.tool_calls:
        return item[:-1]
    return item
