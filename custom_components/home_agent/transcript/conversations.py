"""What was said, of all conversations of the entry: bounded in number, size and age, and kept in one private file.

A conversation is found by its owner and an id. Whose it is not gets nothing, and is not told that there is something. It
holds what was said and which tools were called, never what they answered.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property, partial
from itertools import islice
from typing import Any, Self

from homeassistant.components.conversation import AssistantContent, Content, ToolResultContent, UserContent
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonObjectType, json_loads_object
from homeassistant.util.ulid import ulid_now, ulid_to_bytes

from ..client.messages import CONFIRMED, ROUTED
from ..settings.profile import Profile
from ..support.const import LOGGER
from ..support.encoding import dump
from ..support.masking import SECRET
from ..support.storage import Report, StoredFile, async_remove_file
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
MAX_OF_OWNER = 200
"""So that what asks all the time does not drive out what others said."""
MAX_SIZE = 4_000_000  # characters of all together
SAVE_DELAY = 1
"""Seconds from the end of a turn until it is written, in a worker thread: what a power cut takes.

The file is written whole, so it matters how often, above all to a memory card. Turns are mostly more than ten seconds apart:
on a day of 30 turns, with a week of such days kept (139 kB), one second makes 30 writes of 4.2 MB together, ten seconds 27 of
3.7 MB; on a day of 400 turns (1.9 MB) it is a fifth more as well. Home Assistant's recorder commits every five seconds.
"""
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
    arguments: Mapping[str, Any]
    """As the model wrote them; calls with a secret in them are not kept at all."""
    success: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """One message. A round begins with the user's; the agent's follow."""

    id: str
    """A ULID."""
    role: Role
    text: str
    """Codes masked, cut at `MAX_TEXT`; may be empty for an agent that only called tools."""
    at: datetime
    calls: tuple[StoredCall, ...] = ()

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


@dataclass(frozen=True, kw_only=True)
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
        text = _text(item.content) if item.content else ""
        calls = tuple(_calls(item, following[position + 1 :])) if item.tool_calls else ()
        if text or calls:
            answers.append(StoredMessage(id=ulid_now(), role=Role.ASSISTANT, text=text, at=item.created, calls=calls))
    answers = [item for item in answers[:-1] if item.calls] + answers[-1:]
    if not answers or not answers[-1].text:
        return []
    return found + answers[-MAX_ANSWERS:]


def _calls(item: AssistantContent, following: Sequence[Content]) -> Iterator[StoredCall]:
    """Yield the calls that a model knows of; one with a secret or a long text in it is not kept."""
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


class Conversations:
    """What was said, by whom, in which conversation."""

    def __init__(self, hass: HomeAssistant, entry_id: str) -> None:
        """Start empty; `async_open` reads what there was."""
        self._hass = hass
        self._entry_id = entry_id
        self._profiles: Mapping[str, Profile] = {}
        self._file: StoredFile | None = None
        self._conversations: dict[ConversationKey, Conversation] = {}
        """The one that was talked in last is last."""
        self._aliases: dict[ConversationKey, str] = {}
        self._of_owner: Counter[Owner] = Counter()
        self._size = 0

    async def async_open(self, profiles: Mapping[str, Profile], report: Report) -> Callable[[], None]:
        """Take up the agents as they are now, begin to forget what is old, and return what ends that. Never raises.

        The file is read the first time, and again when it could not be used then. `report` is told of its troubles.
        """
        earlier, file = self._file, self._file_for(report)
        self._profiles, self._file = profiles, file
        found: list[Conversation] = []
        if earlier is None or not earlier.is_usable:
            read = partial(Conversation.from_dict, now=dt_util.utcnow())
            found = await file.async_load_items("conversations", read)
        before = {(item.owner, item.id): item for item in found} | self._conversations
        self._take([item for item in found if self._persists(item)])
        if self._tidy() or before != self._conversations or not (earlier is None or earlier.is_written):
            await file.async_write()  # at once: of an agent that is gone nothing may come back
        return async_track_time_interval(self._hass, self._tidy_now, TIDY_INTERVAL, cancel_on_shutdown=True)

    def _file_for(self, report: Report) -> StoredFile:
        return StoredFile(self._hass, file_of(self._entry_id), self._data, report, delay=SAVE_DELAY)

    async def async_close(self) -> None:
        """Write down what is not yet written. A turn that still runs may add to it all the same."""
        if self._file is not None:
            await self._file.async_close()

    async def async_remove(self) -> None:
        """Forget everything, for ever: what a turn adds that still runs is not kept."""
        self._profiles = {}
        self._forget_all()
        if self._file is not None:
            await self._file.async_remove()
        await async_remove_file(self._hass, file_of(self._entry_id))

    @callback
    def find(self, turn: Turn, conversation_id: str | None, *, anew: bool = False) -> Conversation | None:
        """Return the conversation that a turn goes on with; None when there is none of whoever talks.

        `conversation_id` is what the caller sent. Without one that is known here, the profile may let whoever talks
        continue where they left off; not `anew`, and not in a conversation that a caller gave a name of its own.
        """
        if not turn.direct:  # a tool or a script of another turn talks
            return None
        owner, profile, found = turn.owner, turn.profile, None
        if conversation_id is not None:
            key = (owner, self._aliases.get((owner, conversation_id), conversation_id))
            found = self._conversations.get(key)
        known = owner.user_id or owner.device_id  # a person, or at least a device that a person talks to
        if (
            found is None
            and not anew
            and known
            and profile.continue_conversation != "off"
            and is_given(conversation_id)
        ):
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
        known = self._conversations.get((owner, conversation_id)) or Conversation(
            id=conversation_id, owner=owner, persists=profile.history_persist
        )
        conversation = known.going_on(turn.conversation_id, turn.device_id or turn.satellite_id, taints, said).since(
            begin
        )
        try:
            takes = max(len(item) for item in (conversation.id, *conversation.aliases)) <= MAX_ID
            json_bytes(conversation.written)
        except TypeError, ValueError, RecursionError:  # half a character, too deep
            takes = False  # ids and calls are what others made up
        if not takes:  # it would keep all others from being written
            LOGGER.warning("A message that no file takes is not kept")
            return None
        self._put(conversation)
        if (
            self._of_owner[owner] > MAX_OF_OWNER
            or len(self._conversations) > MAX_CONVERSATIONS
            or self._size > MAX_SIZE
        ):
            self._make_room([owner])  # not all are looked at after every turn: what is old goes by the clock
        if conversation.persists and self._file is not None:
            self._file.async_changed()
        return conversation

    async def async_clear(self, conversation_id: str | None = None, *, user_id: str | None = None) -> int:
        """Forget one conversation, or all; with `user_id` only those of this user. Return how many there were.

        They are off the disk then.
        """
        gone = [
            item
            for item in self._conversations.values()
            if user_id in (None, item.owner.user_id) and conversation_id in (None, item.id, *item.aliases)
        ]
        self._drop(gone)
        if gone and self._file is not None:
            await self._file.async_write()
        return len(gone)

    def counts(self) -> dict[str, int]:
        """Return how much there is: conversations, messages, characters."""
        return {
            "conversations": len(self._conversations),
            "messages": sum(len(item.messages) for item in self._conversations.values()),
            "characters": self._size,
        }

    def _left_off(self, turn: Turn) -> Conversation | None:
        """Return what this user, or this device, talked about last, when it is not too long ago."""
        owner, device_id = turn.owner, turn.device_id or turn.satellite_id
        by_device = turn.profile.continue_conversation == "device" or owner.user_id is None
        begin = dt_util.utcnow() - timedelta(minutes=turn.profile.continue_minutes)
        for item in reversed(self._conversations.values()):
            if item.last_at < begin:
                return None
            if item.owner == owner and (not by_device or (device_id is not None and item.device_id == device_id)):
                return item
        return None

    def _put(self, conversation: Conversation) -> None:
        """Take a conversation in as the newest."""
        owner = conversation.owner
        if (before := self._conversations.pop((owner, conversation.id), None)) is not None:
            self._size -= before.size
        else:
            self._of_owner[owner] += 1
        self._size += conversation.size
        self._conversations[owner, conversation.id] = conversation
        self._aliases |= {(owner, alias): conversation.id for alias in conversation.aliases}

    def _drop(self, gone: Iterable[Conversation]) -> None:
        for item in gone:
            if self._conversations.pop((item.owner, item.id), None) is None:
                continue
            self._size -= item.size
            self._of_owner[item.owner] -= 1
            for alias in item.aliases:
                self._aliases.pop((item.owner, alias), None)

    def _forget_all(self) -> None:
        self._conversations, self._aliases, self._of_owner, self._size = {}, {}, Counter(), 0

    @callback
    def _tidy_now(self, _now: datetime) -> None:
        if self._tidy() and self._file is not None:
            self._file.async_changed()

    def _tidy(self) -> bool:
        """Forget what is too old or too much; return whether there was anything."""
        begin, changed = dt_util.utcnow() - KEPT_FOR, False
        for key, item in list(self._conversations.items()):
            kept = item.since(begin)
            if kept is not item:
                changed = True
                self._size += kept.size - item.size
                self._conversations[key] = kept  # where it was: nobody has talked in it since
            if not kept.messages:
                self._drop([kept])
        return self._make_room(list(self._of_owner)) or changed

    def _make_room(self, owners: Iterable[Owner]) -> bool:
        """Forget the oldest of owners who have too many, then the oldest of all; return whether there was anything."""
        gone: list[Conversation] = []
        for owner in owners:
            theirs = (item for item in self._conversations.values() if item.owner == owner)
            gone += islice(theirs, max(0, self._of_owner[owner] - MAX_OF_OWNER))
        self._drop(gone)
        while (number := len(self._conversations)) > 1 and (number > MAX_CONVERSATIONS or self._size > MAX_SIZE):
            gone.append(next(iter(self._conversations.values())))
            self._drop(gone[-1:])
        return bool(gone)

    def _take(self, read: Iterable[Conversation]) -> None:
        """Take up what was read, and what is in memory as far as its agent still remembers anything."""
        known = {(item.owner, item.id): item for item in read} | self._conversations
        self._forget_all()
        for item in sorted((item for item in known.values() if item.messages), key=lambda item: item.last_at):
            profile = self._profiles.get(item.owner.profile_id)
            if profile is not None and profile.history_enabled:
                self._put(
                    item
                    if item.persists == profile.history_persist
                    else replace(item, persists=profile.history_persist)
                )

    def _persists(self, conversation: Conversation) -> bool:
        """Return whether a conversation belongs on the disk."""
        profile = self._profiles.get(conversation.owner.profile_id)
        return profile is not None and profile.history_enabled and profile.history_persist

    def _data(self) -> dict[str, Any]:
        """Return what is written. Called in a worker thread: the dict is read in one step, its values never change."""
        return {"conversations": [item.written for item in list(self._conversations.values()) if item.persists]}


def file_of(entry_id: str) -> str:
    """Return what the file of an entry is called."""
    return f"conversations.{entry_id}"


CONVERSATIONS: HassKey[dict[str, Conversations]] = HassKey("home_agent_conversations")
"""By entry id, while Home Assistant runs: a turn outlives a reload of the entry, and so does what is only in memory."""


def conversations_of(hass: HomeAssistant, entry_id: str) -> Conversations:
    """Return the conversations of an entry."""
    known = hass.data.setdefault(CONVERSATIONS, {})
    if entry_id not in known:
        known[entry_id] = Conversations(hass, entry_id)
    return known[entry_id]


async def async_remove_conversations(hass: HomeAssistant, entry_id: str) -> None:
    """Forget what was said, in memory and on the disk."""
    await conversations_of(hass, entry_id).async_remove()
    hass.data[CONVERSATIONS].pop(entry_id)
