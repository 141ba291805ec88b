"""Messages and tool calls, without results, of the entry's conversations: bounded in number, size and age, in one private file.

A conversation is found by its owner and an id, and by no other owner.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property, partial
from itertools import dropwhile, islice
from typing import Any, Self, override

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, json_loads_object
from homeassistant.util.ulid import ulid_now, ulid_to_bytes

from ..client.messages import CONFIRMED, ROUTED
from ..settings.profile import Profile
from ..support.const import LOGGER
from ..support.encoding import dump
from ..support.kept import Change, Kept
from ..support.masking import SECRET
from ..support.storage import StoredFile
from ..turn.turn import Owner, Turn

MAX_ARGUMENTS = 2_000  # characters of one call
MAX_ANSWERS = 12  # messages of the agent in one round
MAX_MESSAGES = 50  # of one conversation
MAX_TEXT = 8_000  # characters of one message
MAX_ID = 255  # characters
MAX_ALIASES = 20  # ids besides its own that a conversation is known by
CUT = "…"

KEPT_FOR = timedelta(days=7)
MAX_CONVERSATIONS = 1_000
MAX_OF_OWNER = 200  # so that what asks all the time does not drive out what others said
MAX_SIZE = 4_000_000  # characters of all together
SAVE_DELAY = 1
"""Seconds from the end of a turn until it is written: what a power cut takes. Ten seconds would save a tenth of the writes."""
TIDY_INTERVAL = timedelta(hours=6)

type ConversationKey = tuple[Owner, str]


class Role(StrEnum):
    """Who says something, in the words of OpenAI's API."""

    USER = "user"
    ASSISTANT = "assistant"


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
    arguments: Mapping[str, Any]  # as the model wrote them; calls with a secret in them are not kept at all
    success: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One message. A round begins with the user's; the agent's follow."""

    id: str  # A ULID
    role: Role
    text: str  # codes masked, cut at `MAX_TEXT`; may be empty for an agent that only called tools
    at: datetime
    calls: tuple[StoredCall, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], now: datetime) -> Self:
        """Return the message. Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for invalid data.

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


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What was said in one conversation, oldest first; whole rounds."""

    id: str  # the id that the first caller used, or got
    owner: Owner
    persists: bool = True  # whether it is written to the disk
    aliases: tuple[str, ...] = ()  # ids that Home Assistant gave it later, newest last
    device_id: str | None = None  # where it was last talked
    taints: frozenset[str] = frozenset()
    """Tools whose results brought text from outside into it: words may repeat what came from there."""
    messages: tuple[StoredMessage, ...] = ()

    @cached_property
    def size(self) -> int:
        """Characters of all messages, about; measured once, for those of all conversations are added up with every message."""
        calls = (call for message in self.messages for call in message.calls)
        return sum(len(message.text) for message in self.messages) + sum(len(str(call.arguments)) for call in calls)

    @cached_property
    def written(self) -> JsonObjectType:
        """Its form on the disk; made once, for the file is written whole after every turn."""
        return {
            "id": self.id,
            "aliases": [*self.aliases],
            "profile_id": self.owner.profile_id,
            "user_id": self.owner.user_id,
            "owner_device_id": self.owner.device_id,
            "device_id": self.device_id,
            "taints": [*sorted(self.taints)],
            "messages": [
                {
                    "id": message.id,
                    "role": message.role.value,
                    "content": message.text,
                    "at": message.at.isoformat(),
                    **({"tool_calls": [asdict(call) for call in message.calls]} if message.calls else {}),
                }
                for message in self.messages
            ],
        }

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

    def since(self, begin: datetime) -> Self:
        """Return the conversation without what was said before a moment."""
        if self.messages and self.messages[0].at >= begin:
            return self
        return replace(self, messages=from_first_round([item for item in self.messages if item.at >= begin]))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], now: datetime) -> Self:
        """Return the conversation. Raises what `StoredMessage.from_dict` raises for invalid data."""
        user_id, device_id = _id_or_none(data["user_id"]), _id_or_none(data["owner_device_id"])
        owner = Owner(profile_id=str(data["profile_id"]), user_id=user_id, device_id=device_id)
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
    """Return the messages from the first one of the user on; answers without a question are left out."""
    return tuple(dropwhile(lambda item: item.role is not Role.USER, messages))


def _id_or_none(value: object) -> str | None:
    """Return an id as it was kept. Raises `TypeError` for what is none: whose a conversation is must not be guessed."""
    if value is not None and not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


def kept_messages(content: Sequence[Content]) -> list[StoredMessage]:
    """Return the messages of a round, in which PINs are masked already; empty without an answer.

    An answer that was corrected in the same round is left out.
    """
    question, *following = content
    if not isinstance(question, UserContent):
        return []
    found = [StoredMessage(id=ulid_now(), role=Role.USER, text=_text(question.content), at=question.created)]
    answers: list[StoredMessage] = []
    for position, item in enumerate(following):
        if not isinstance(item, AssistantContent):
            continue
        text = _text(item.content) if item.content else ""
        calls = tuple(_calls(item, following[position + 1 :])) if item.tool_calls else ()
        if text or calls:
            answers.append(StoredMessage(id=ulid_now(), role=Role.ASSISTANT, text=text, at=item.created, calls=calls))
    answers = [item for item in answers[:-1] if item.calls] + answers[-1:]
    if not answers or not answers[-1].text:
        return []
    return found + answers[-MAX_ANSWERS:]


def _calls(item: AssistantContent, following: Sequence[Content]) -> Iterator[StoredCall]:
    """Yield the calls that a model knows of, without those that have a secret or a long text in them."""
    results: dict[str, bool] = {}
    for result in following:
        if not isinstance(result, ToolResultContent):
            break
        results[result.tool_call_id] = result.result.error
    for call in item.tool_calls or ():
        known = not call.external or item.native in (CONFIRMED, ROUTED)
        if not known or call.id not in results or _has_secret(call.tool_args):
            continue
        if len(written := dump(call.tool_args)) <= MAX_ARGUMENTS:
            with suppress(ValueError):  # half a character, which no file takes
                arguments = json_loads_object(written)
                yield StoredCall(name=_text(call.tool_name), arguments=arguments, success=not results[call.id])


def _has_secret(value: dict[str, Any] | list[Any]) -> bool:
    if isinstance(value, dict) and any(SECRET.search(str(key)) for key in value):
        return True
    items = value.values() if isinstance(value, dict) else value
    return any(isinstance(item, dict | list) and _has_secret(item) for item in items)


def _text(text: str) -> str:
    """Return a text that is not too long, and that a file takes: halves of surrogate pairs are replaced."""
    short = text if len(text) <= MAX_TEXT else text[: MAX_TEXT - len(CUT)] + CUT
    return short.encode("utf-8", "replace").decode()


class Conversations(Kept[Conversation]):
    """What was said, by whom, in which conversation; the one that was talked in last is last."""

    file = "conversations"
    items = "conversations"
    most_read = MAX_CONVERSATIONS
    of_entry = True
    delay = SAVE_DELAY

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass)
        self._profiles: Mapping[str, Profile] = {}
        self._aliases: dict[ConversationKey, str] = {}
        self._of_owner: Counter[Owner] = Counter()
        self._size = 0
        self._due: set[Owner] = set()  # owners who may have too many

    @override
    def key(self, row: Conversation) -> ConversationKey:
        return row.owner, row.id

    @override
    def owner(self, row: Conversation) -> str | None:
        return row.owner.user_id

    @override
    async def async_read(self, file: StoredFile) -> list[Conversation]:
        read = partial(Conversation.from_dict, now=dt_util.utcnow())
        found = await file.async_load_items(self.items, read, self.most_read)
        return sorted((item for item in found if item.messages), key=lambda item: item.last_at)

    @override
    def written(self, row: Conversation) -> JsonObjectType:
        return row.written

    @override
    def is_written(self, row: Conversation) -> bool:
        return row.persists

    @override
    def surplus(self) -> list[Conversation]:
        """Return the oldest of owners who have too many and talked since, then the oldest of all."""
        gone: dict[ConversationKey, Conversation] = {}
        for owner in self._due:
            if (many := self._of_owner[owner] - MAX_OF_OWNER) > 0:
                theirs = (item for item in self._rows.values() if item.owner == owner)
                gone |= {self.key(item): item for item in islice(theirs, many)}
        self._due.clear()
        number, size = len(self._rows) - len(gone), self._size - sum(item.size for item in gone.values())
        for item in self._rows.values():
            if number <= 1 or (number <= MAX_CONVERSATIONS and size <= MAX_SIZE):
                break
            if (key := self.key(item)) not in gone:
                gone[key] = item
                number, size = number - 1, size - item.size
        return [*gone.values()]

    @override
    def index(self, changes: Sequence[Change[Conversation]]) -> None:
        for change in changes:
            if (before := change.before) is not None:
                self._size -= before.size
                self._of_owner[before.owner] -= 1
                for alias in before.aliases:
                    self._aliases.pop((before.owner, alias), None)
            if (after := change.after) is not None:
                self._size += after.size
                self._of_owner[after.owner] += 1
                self._due.add(after.owner)
                self._aliases |= {(after.owner, alias): after.id for alias in after.aliases}

    async def async_take_up(self, profiles: Mapping[str, Profile]) -> None:
        """Follow the agents' settings: drop conversations of those without history, and move others to or from the file."""
        self._profiles = profiles
        gone, changed = [], []
        for item in self._rows.values():
            profile = profiles.get(item.owner.profile_id)
            if profile is None or not profile.history_enabled:
                gone.append(item)
            elif item.persists != profile.history_persist:
                changed.append(replace(item, persists=profile.history_persist))
        self.drop(gone)
        self.put(*changed)
        self._tidy()
        await self.async_flush()  # at once: of an agent that is gone nothing may come back

    @callback
    def async_start(self, entry: ConfigEntry[Any]) -> None:
        """Forget what is old, every few hours until the entry is unloaded."""
        tidying = async_track_time_interval(self._hass, self._tidy, TIDY_INTERVAL, cancel_on_shutdown=True)
        entry.async_on_unload(tidying)

    @override
    async def async_remove(self, entry_id: str) -> None:
        self._profiles = {}
        await super().async_remove(entry_id)

    @callback
    def find(self, turn: Turn, conversation_id: str | None, *, anew: bool = False) -> Conversation | None:
        """Return the conversation that a turn goes on with; None if the turn's owner has none.

        `conversation_id` is what the caller sent. If it is unknown, the profile may let speakers continue their last
        conversation, unless it is to begin `anew` or the caller chose the id.
        """
        if not turn.direct:  # a tool or a script of another turn talks
            return None
        owner, profile, found = turn.owner, turn.profile, None
        if conversation_id is not None:
            key = (owner, self._aliases.get((owner, conversation_id), conversation_id))
            found = self._rows.get(key)
        continues = not anew and profile.continue_conversation != "off" and is_given(conversation_id)
        if found is None and continues and (owner.user_id or owner.device_id):  # a person, or a device people talk to
            found = self._left_off(turn)
        found = found.since(dt_util.utcnow() - KEPT_FOR) if found else None
        return found if found and found.messages else None

    @callback
    def add(
        self, turn: Turn, conversation_id: str, said: Iterable[StoredMessage], taints: Iterable[str]
    ) -> Conversation | None:
        """Keep another round of a conversation; return the conversation, None when nothing of this turn is kept.

        `conversation_id` is that of the conversation it goes on with; the turn's own becomes an alias.
        """
        owner, begin = turn.owner, dt_util.utcnow() - KEPT_FOR
        profile = self._profiles.get(owner.profile_id)  # which may have changed since the turn began
        if not turn.direct or profile is None or not profile.history_enabled:
            return None
        new = Conversation(id=conversation_id, owner=owner, persists=profile.history_persist)
        known, device_id = self._rows.get((owner, conversation_id), new), turn.device_id or turn.satellite_id
        conversation = known.going_on(turn.conversation_id, device_id, taints, said).since(begin)
        is_valid = max(len(item) for item in (conversation.id, *conversation.aliases)) <= MAX_ID
        try:
            json_bytes(conversation.written)
        except TypeError, ValueError, RecursionError:  # half a character, too deep: ids and calls come from others
            is_valid = False
        if not is_valid:  # it would keep all others from being written
            LOGGER.warning("A message that no file takes is not kept")
            return None
        self.put(conversation, newest=True)
        return conversation

    async def async_clear(self, conversation_id: str | None = None, *, user_id: str | None = None) -> int:
        """Forget one conversation, or all, on the disk as well; with `user_id` only those of this user. Return how many."""
        gone = [
            item
            for item in self._rows.values()
            if user_id in (None, item.owner.user_id) and conversation_id in (None, item.id, *item.aliases)
        ]
        self.drop(gone)
        if gone:
            await self.async_write()
        return len(gone)

    @property
    @override
    def counts(self) -> dict[str, int]:
        return {
            "conversations": len(self._rows),
            "messages": sum(len(item.messages) for item in self._rows.values()),
            "characters": self._size,
        }

    def _left_off(self, turn: Turn) -> Conversation | None:
        """Return the last conversation of this user, or of this device, within the profile's time limit."""
        owner, device_id = turn.owner, turn.device_id or turn.satellite_id
        by_device = turn.profile.continue_conversation == "device" or owner.user_id is None
        begin = dt_util.utcnow() - timedelta(minutes=turn.profile.continue_minutes)
        for item in reversed(self._rows.values()):
            if item.last_at < begin:
                return None
            if item.owner == owner and (not by_device or (device_id is not None and item.device_id == device_id)):
                return item
        return None

    @callback
    def _tidy(self, _now: datetime | None = None) -> None:
        """Forget what is too old or too much."""
        begin = dt_util.utcnow() - KEPT_FOR
        kept = [(item, item.since(begin)) for item in self._rows.values()]
        self.put(*(now for item, now in kept if now is not item and now.messages))
        self.drop(now for _, now in kept if not now.messages)
