"""All conversations of the entry, bounded in number, size and age; those that persist are in one private file.

A conversation is found by its owner and an id. Whose it is not gets nothing, and is not told that there is something.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
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

    async def async_open(self, profiles: Mapping[str, Profile], report: Report) -> Callable[[], None]:
        """Take up the assistants as they are now, begin to forget what is old, and return what ends that. Never raises.

        The file is read the first time, and again when it could not be used then. `report` is told of its troubles.
        """
        earlier, file = self._file, StoredFile(self._hass, file_of(self._entry_id), self._data, report)
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

    async def async_close(self) -> None:
        """Write down what is not yet written. A turn that still runs may add to it all the same."""
        if self._file is not None:
            await self._file.async_close()

    async def async_remove(self) -> None:
        """Forget everything, for ever: what a turn adds that still runs is not kept."""
        self._profiles = {}
        self._conversations.clear()
        self._aliases.clear()
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
        owner, begin = Owner.of(turn), dt_util.utcnow() - KEPT_FOR
        found = None
        if conversation_id is not None:
            key = (owner, self._aliases.get((owner, conversation_id), conversation_id))
            found = self._conversations.get(key)
        if found is None and not anew and owner.is_known and is_given(conversation_id):
            found = self._left_off(turn, owner)
        found = found.since(begin) if found else None
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
        conversation = known.going_on(turn.conversation_id, device_of(turn), taints, said)
        if not conversation.can_be_written:  # it would keep all others from being written
            LOGGER.warning("A message that no file takes is not kept")
            return None
        self._put(conversation)
        self._tidy()
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
            "characters": sum(item.size for item in self._conversations.values()),
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
        owner = conversation.owner
        self._conversations.pop((owner, conversation.id), None)
        self._conversations[owner, conversation.id] = conversation
        self._aliases |= {(owner, alias): conversation.id for alias in conversation.aliases}

    def _drop(self, gone: Iterable[Conversation]) -> None:
        for item in gone:
            self._conversations.pop((item.owner, item.id), None)
            for alias in item.aliases:
                self._aliases.pop((item.owner, alias), None)

    @callback
    def _tidy_now(self, _now: datetime) -> None:
        if self._tidy():
            self._changed()

    def _changed(self) -> None:
        if self._file is not None:
            self._file.async_changed()

    def _tidy(self) -> bool:
        """Forget what is too old or too much, the oldest first; return whether there was anything."""
        begin = dt_util.utcnow() - KEPT_FOR
        gone: list[Conversation] = []
        of_owner: Counter[Owner] = Counter()
        size, number, shortened = 0, 0, False
        for item in reversed(list(self._conversations.values())):
            kept = item.since(begin)
            too_many = number >= MAX_CONVERSATIONS or of_owner[item.owner] >= MAX_OF_OWNER
            if not kept.messages or too_many or (size and size + kept.size > MAX_SIZE):
                gone.append(item)
                continue
            number += 1
            of_owner[item.owner] += 1
            size += kept.size
            if kept is not item:
                self._conversations[item.owner, item.id] = kept
                shortened = True
        self._drop(gone)
        return shortened or bool(gone)

    def _take(self, read: Iterable[Conversation]) -> None:
        """Take up what was read, and what is in memory as far as its assistant still remembers anything."""
        known = {(item.owner, item.id): item for item in read} | self._conversations
        self._conversations, self._aliases = {}, {}
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
