"""The automation that was asked about last in a conversation, for the message that follows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from homeassistant.util.hass_dict import HassKey

from ..support.const import DOMAIN
from .sentences import MAX_REMEMBERED, Result, Sentence, message_number

type Asks = Callable[[Sentence, str], Awaitable[Result]]
"""Asks about the automation of a text, in answer to a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAutomation:
    """An automation that waits for a yes."""

    number: int
    """The message that was answered with the question."""
    owner: str | None
    alias: str
    parts: tuple[str, ...]
    """What was said of it in front of its time of day and behind; empty where it has not one."""
    asks: Asks


ASKED: HassKey[dict[str, AskedAutomation]] = HassKey(f"{DOMAIN}_automation_asked")
"""By conversation."""


def note_asked(sentence: Sentence, alias: str, text: str, time: str, asks: Asks) -> None:
    """Keep the automation of a text about which the answer to a sentence asks; `time` are the words for its time of day."""
    turn, asked = sentence.turn, sentence.hass.data.setdefault(ASKED, {})
    asked.pop(turn.conversation_id, None)
    asked[turn.conversation_id] = AskedAutomation(
        number=message_number(sentence.chat_log),
        owner=turn.user.id if turn.user is not None else None,
        alias=alias,
        parts=tuple(text.split(time)) if time and text.count(time) == 1 else (),
        asks=asks,
    )
    if len(asked) > MAX_REMEMBERED:
        del asked[next(iter(asked))]


def asked_before(sentence: Sentence) -> AskedAutomation | None:
    """Return the automation about which the answer to the message before this one asked who speaks now."""
    turn = sentence.turn
    asked = sentence.hass.data.get(ASKED, {}).get(turn.conversation_id)
    is_next = asked is not None and asked.number == message_number(sentence.chat_log) - 1
    owner = turn.user.id if turn.user is not None else None
    return asked if asked is not None and is_next and asked.owner == owner else None
