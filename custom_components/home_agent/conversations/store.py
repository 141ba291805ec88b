"""All conversations of the entry, bounded in number, size and age; those that persist are in one private file.

A conversation is found by its owner and an id. Whose it is not gets nothing, and is not told that there is something.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..const import LOGGER
from ..profiles.profile import Profile
from ..storage import Report, StoredFile, async_remove_file
from ..turn import Turn
from .base import Conversation, Owner, StoredMessage, device_of, is_given

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

type Key = tuple[Owner, str]


class Conversations:
    """What was said, by whom, in which conversation."""

    def __init__(self, hass: HomeAssistant, entry_id: str) -> None:
        """Start empty; `async_open` reads what there was."""
        self._hass = hass
        self._entry_id = entry_id
        self._profiles: Mapping[str, Profile] = {}
        self._file: StoredFile | None = None
        self._conversations: dict[Key, Conversation] = {}
        """The one that was talked in last is last."""
        self._aliases: dict[Key, str] = {}
        self._of_owner: Counter[Owner] = Counter()
        self._size = 0

    async def async_open(self, profiles: Mapping[str, Profile], report: Report) -> Callable[[], None]:
        """Take up the assistants as they are now, begin to forget what is old, and return what ends that. Never raises.

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
            await file.async_write()  # at once: of an assistant that is gone nothing may come back
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
        owner, found = Owner.of(turn), None
        if conversation_id is not None:
            key = (owner, self._aliases.get((owner, conversation_id), conversation_id))
            found = self._conversations.get(key)
        if found is None and not anew and owner.is_known and is_given(conversation_id):
            found = self._left_off(turn, owner)
        found = found.since(_begin()) if found else None
        return found if found and found.messages else None

    @callback
    def add(
        self, turn: Turn, conversation_id: str, said: Iterable[StoredMessage], taints: Iterable[str]
    ) -> Conversation | None:
        """Keep another round of a conversation; return the conversation, None when nothing of this turn is kept.

        `conversation_id` is that of the conversation it goes on with; the turn's own becomes an alias.
        """
        owner = Owner.of(turn)
        profile = self._profiles.get(owner.profile_id)  # which may have changed since the turn began
        if not turn.direct or profile is None or not profile.history_enabled:
            return None
        known = self._conversations.get((owner, conversation_id)) or Conversation(
            id=conversation_id, owner=owner, persists=profile.history_persist
        )
        conversation = known.going_on(turn.conversation_id, device_of(turn), taints, said).since(_begin())
        if not conversation.can_be_written:  # it would keep all others from being written
            LOGGER.warning("A message that no file takes is not kept")
            return None
        self._put(conversation)
        self._make_room([owner])  # not all are looked at after every turn: what is old goes by the clock
        if conversation.persists:
            self._changed()
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

    def _left_off(self, turn: Turn, owner: Owner) -> Conversation | None:
        """Return what this user, or this device, talked about last, when it is not too long ago."""
        wanted = turn.profile.continue_conversation
        if wanted == "off":
            return None
        begin = dt_util.utcnow() - timedelta(minutes=turn.profile.continue_minutes)
        device_id = device_of(turn)
        for item in reversed(self._conversations.values()):
            if item.last_at < begin:
                return None
            by_device = wanted == "device" or owner.user_id is None
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
        if self._tidy():
            self._changed()

    def _changed(self) -> None:
        if self._file is not None:
            self._file.async_changed()

    def _tidy(self) -> bool:
        """Forget what is too old or too much; return whether there was anything."""
        begin, changed = _begin(), False
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
        """Take up what was read, and what is in memory as far as its assistant still remembers anything."""
        known = {(item.owner, item.id): item for item in read} | self._conversations
        self._forget_all()
        for item in sorted((item for item in known.values() if item.messages), key=lambda item: item.last_at):
            profile = self._profiles.get(item.owner.profile_id)
            if profile is not None and profile.history_enabled:
                self._put(item if item.persists == profile.history_persist else item.kept(profile.history_persist))

    def _persists(self, conversation: Conversation) -> bool:
        """Return whether a conversation belongs on the disk."""
        profile = self._profiles.get(conversation.owner.profile_id)
        return profile is not None and profile.history_enabled and profile.history_persist

    def _data(self) -> dict[str, Any]:
        """Return what is written. Called in a worker thread: the dict is read in one step, its values never change."""
        return {"conversations": [item.as_dict() for item in list(self._conversations.values()) if item.persists]}


def _begin() -> datetime:
    """Return the moment from which on everything is kept."""
    return dt_util.utcnow() - KEPT_FOR


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
