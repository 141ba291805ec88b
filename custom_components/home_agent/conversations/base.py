"""What is kept of a conversation: what was said and which tools were called, never what they answered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_to_bytes

from ..turn import Turn

MAX_MESSAGES = 50  # of one conversation
MAX_TEXT = 8_000  # characters of one message
MAX_ID = 255  # characters
MAX_ALIASES = 20  # ids besides its own that a conversation is known by
CUT = "…"


class Role(StrEnum):
    """Who says something, in the words of OpenAI's API."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose a conversation is: nobody else ever gets it."""

    profile_id: str
    """Subentry id of the assistant."""
    user_id: str | None
    device_id: str | None
    """Only where no user is known: a voice satellite. With neither it is an automation's."""

    @classmethod
    def of(cls, turn: Turn) -> Self:
        """Return whose the conversation of a turn is."""
        user_id = turn.context.user_id
        return cls(profile_id=turn.profile.subentry_id, user_id=user_id, device_id=None if user_id else device_of(turn))

    @property
    def is_known(self) -> bool:
        """Whether it is a person, or at least a device that a person talks to."""
        return bool(self.user_id or self.device_id)


def device_of(turn: Turn) -> str | None:
    """Return the device that a turn came from."""
    return turn.device_id or turn.satellite_id


def is_given(conversation_id: str | None) -> bool:
    """Return whether an id is Home Assistant's own or missing, not a name that the caller chose."""
    if conversation_id is None:
        return True
    try:
        ulid_to_bytes(conversation_id)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """A tool call. What it returned is not kept, only whether it worked; so the two are never apart."""

    name: str
    arguments: Mapping[str, Any]
    """As the model wrote them; calls with a secret in them are not kept at all."""
    success: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One message. A round begins with the user's; the assistant's follow."""

    id: str
    """A ULID."""
    role: Role
    text: str
    """Codes masked, cut at `MAX_TEXT`; may be empty for an assistant that only called tools."""
    at: datetime
    calls: tuple[StoredCall, ...] = ()

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        found: JsonObjectType = {
            "id": self.id,
            "role": self.role.value,
            "content": self.text,
            "at": self.at.isoformat(),
        }
        if self.calls:
            found["tool_calls"] = [
                {"name": call.name, "arguments": dict(call.arguments), "success": call.success} for call in self.calls
            ]
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], now: datetime) -> Self:
        """Return the message. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` when it is none.

        One from the future is of now: a clock that was put back must not keep it for ever.
        """
        if (at := dt_util.parse_datetime(data["at"], raise_on_error=True)).tzinfo is None:
            raise ValueError(data["at"])
        return cls(
            id=str(data["id"]),
            role=Role(data["role"]),
            text=str(data["content"])[:MAX_TEXT],
            at=min(at, now),
            calls=tuple(
                StoredCall(name=str(call["name"]), arguments=dict(call["arguments"]), success=bool(call["success"]))
                for call in data.get("tool_calls", ())
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What was said in one conversation, oldest first; whole rounds."""

    id: str
    """The id that the first caller used, or got."""
    owner: Owner
    persists: bool = True
    """Whether it is written to the disk."""
    aliases: tuple[str, ...] = ()
    """Ids that Home Assistant gave it later, newest last."""
    device_id: str | None = None
    """Where it was last talked."""
    taints: frozenset[str] = frozenset()
    """Tools whose results brought text from outside into it: words may repeat what came from there."""
    messages: tuple[StoredMessage, ...] = ()
    size: int = field(init=False, repr=False, compare=False)
    """Characters of all messages, about."""

    def __post_init__(self) -> None:
        """Measure once: the sizes of all conversations are added up with every new message."""
        calls = (call for message in self.messages for call in message.calls)
        size = sum(len(message.text) for message in self.messages) + sum(len(str(call.arguments)) for call in calls)
        object.__setattr__(self, "size", size)

    @property
    def can_be_written(self) -> bool:
        """Whether it has a form on the disk: ids and calls are what others made up."""
        if max(len(item) for item in (self.id, *self.aliases)) > MAX_ID:
            return False
        try:
            json_bytes(self.as_dict())
        except TypeError, ValueError, RecursionError:  # half a character, too deep
            return False
        return True

    @property
    def last_at(self) -> datetime:
        """When something was last said."""
        return self.messages[-1].at

    def going_on(self, alias: str, device_id: str | None, taints: Iterable[str], said: Iterable[StoredMessage]) -> Self:
        """Return the conversation with another round in it."""
        if self.messages:  # two sessions may go on with it side by side: what is added later was said later
            said = [replace(item, at=max(item.at, self.last_at)) for item in said]
        aliases = self.aliases if alias == self.id else (*(item for item in self.aliases if item != alias), alias)
        return replace(
            self,
            aliases=aliases[-MAX_ALIASES:],
            device_id=device_id,
            taints=self.taints | frozenset(taints),
            messages=from_first_round([*self.messages, *said][-MAX_MESSAGES:]),
        )

    def kept(self, persists: bool) -> Self:
        """Return the conversation on the disk, or only in memory."""
        return replace(self, persists=persists)

    def since(self, begin: datetime) -> Self:
        """Return the conversation without what was said before a moment."""
        if self.messages and self.messages[0].at >= begin:
            return self
        return replace(self, messages=from_first_round([item for item in self.messages if item.at >= begin]))

    def as_dict(self) -> JsonObjectType:
        """Return its form on the disk."""
        return {
            "id": self.id,
            "aliases": [*self.aliases],
            "profile_id": self.owner.profile_id,
            "user_id": self.owner.user_id,
            "owner_device_id": self.owner.device_id,
            "device_id": self.device_id,
            "taints": [*sorted(self.taints)],
            "messages": [message.as_dict() for message in self.messages],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], now: datetime) -> Self:
        """Return the conversation. Raises what `StoredMessage.from_dict` raises when it is none."""
        owner = Owner(
            profile_id=str(data["profile_id"]),
            user_id=_id_or_none(data["user_id"]),
            device_id=_id_or_none(data["owner_device_id"]),
        )
        return cls(
            id=str(data["id"]),
            owner=owner,
            aliases=tuple(str(item) for item in data["aliases"])[-MAX_ALIASES:],
            device_id=_id_or_none(data["device_id"]),
            taints=frozenset(str(item) for item in data["taints"]),
            messages=from_first_round(
                [StoredMessage.from_dict(item, now) for item in data["messages"]][-MAX_MESSAGES:]
            ),
        )


def from_first_round(messages: Iterable[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Return the messages from the first one of the user: what is an answer to nothing is left out."""
    found = list(messages)
    first = next((index for index, item in enumerate(found) if item.role is Role.USER), len(found))
    return tuple(found[first:])


def _id_or_none(value: object) -> str | None:
    """Return an id as it was kept. Raises `TypeError` for what is none: whose a conversation is must not be guessed."""
    if value is not None and not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value
