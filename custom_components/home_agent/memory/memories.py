"""What is kept about the people and the home: added, superseded, changed, forgotten, and whose it is.

All of it is in memory and in the file `home_agent.memories` in Home Assistant's storage; `recall.py` finds memories.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, override

from homeassistant.core import CoreState, HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..home.foreign import DEVICE, async_taints_of_author
from ..search.index import FOLLOW_UP
from ..settings.memory import USER, MemorySettings
from ..support.const import LOGGER
from ..support.errors import MemoriesError
from ..support.kept import Change, Kept
from ..support.storage import StoredFile
from ..turn.turn import Turn
from .recall import LEAST, MemoryMeans, Recall, searched
from .record import (
    ALL,
    MAX_CONTENT,
    Added,
    Draft,
    FoundMemory,
    Memory,
    MemorySource,
    MemoryType,
    Scope,
    cleaned,
    marked,
)  # fmt: skip
from .replacing import differs, merged, supersedes

BOOST = 0.05  # what an access adds to the importance
ACCESS_DELAY = 60  # seconds until accesses are written
OF_HOME = "home"  # the setting `memory` of a profile that is told, and adds, only what is the home's
_ANY_WORD = 0.0  # of a text: all that has one of its words may be about the same


class Memories(Kept[Memory]):
    """All memories of the home, oldest first, with the history of what they replaced."""

    file = "memories"
    items = "memories"
    delay = ACCESS_DELAY
    reads_late = True

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass)
        self._used: dict[str, Memory] = {}  # by id, those that hold
        self._recall = Recall(hass, self._used)
        self._deleted_users = set[str]()  # while Home Assistant runs: what they had begun to say is not remembered
        self._tidying = ExitStack()  # ends it
        self._changing = asyncio.Lock()  # held by additions, changes and deletions; many that wait are written at once
        self.settings = MemorySettings()

    @override
    def read(self, data: Mapping[str, Any]) -> Memory:
        return Memory.from_dict(data)

    @override
    def owner(self, row: Memory) -> str | None:
        return row.owner

    @property
    @override
    def counts(self) -> dict[str, int]:
        used = self._used.values()
        return {
            **{kind.value: count for kind, count in self.by_type.items()},
            **{source.value: sum(memory.source is source for memory in used) for source in MemorySource},
            "of_the_home": sum(memory.owner is None for memory in used),
            "owners": len({memory.owner for memory in used} - {None}),
            "history": len(self._rows) - len(self._used),
        }

    @property
    def by_type(self) -> dict[MemoryType, int]:
        """The number of memories that hold, by type."""
        counts = Counter(memory.type for memory in self._used.values())
        return {kind: counts[kind] for kind in MemoryType}

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be found; False while they are not read."""
        return self._is_loaded and not self._used

    @property
    def collections(self) -> set[str]:
        """The collections of the store that hold something of ours."""
        return self._recall.collections

    # With the entry

    @property
    def is_away(self) -> bool:
        """Whether no entry uses them, as between the two halves of a reload."""
        return self._recall.means is None

    @callback
    def async_use(self, means: MemoryMeans) -> None:
        """Take what an entry brings, until it is unloaded or brings something else; `async_start` follows."""
        was_on = self.settings.enabled
        self.settings = means.settings
        self._recall.async_use(means)
        if self.settings.enabled is not was_on:
            self._tell(())  # what shows or offers them looks again

    async def async_start(self) -> None:
        """Read the memories when the home has started, and delete what has expired, then and every few hours.

        While Home Assistant starts, all others wait: a first question that comes earlier reads them. While memory is off, only the
        copies of deleted ones are deleted.
        """
        self._tidying.close()
        if (means := self._recall.means) is None:
            return
        if not self.settings.enabled:
            if self._is_loaded:
                self._recall.async_sync()
            return

        @callback
        def tidy(_now: datetime | HomeAssistant) -> None:
            means.entry.async_create_background_task(self._hass, self.async_tidy(), "home_agent tidy memories")

        every = timedelta(hours=max(1, self.settings.cleanup_interval))
        self._tidying.callback(async_track_time_interval(self._hass, tidy, every))
        if self._hass.state is CoreState.running:
            await self.async_tidy()
        else:
            self._tidying.callback(async_at_started(self._hass, tidy))

    @override
    async def async_close(self) -> None:
        self._tidying.close()
        async with self._changing:
            self._recall.means = None
            await super().async_close()

    @override
    async def async_remove(self, entry_id: str) -> None:
        self._tidying.close()
        async with self._changing:
            self._recall.means = None
            await super().async_remove(entry_id)

    @override
    async def async_forget_user(self, user_id: str) -> None:
        self._deleted_users.add(user_id)
        await self.async_clear(user_id)

    @override
    async def _async_load(self, file: StoredFile) -> None:
        await super()._async_load(file)
        if self._is_loaded:
            await self._recall.async_index()
            self._recall.async_sync()

    @override
    def index(self, changes: Sequence[Change[Memory]]) -> None:
        """Keep in `_used` those that no other memory has replaced."""
        for change in changes:
            if (memory := change.after) is not None and memory.replaced_by is None:
                self._used[memory.id] = memory
            elif (memory := change.after or change.before) is not None:
                self._used.pop(memory.id, None)

    # Read

    def scope_of(self, turn: Turn) -> Scope | None:
        """Return whose memories a turn may read and write, None if it may neither."""
        if self.is_away or not self.settings.enabled or not turn.remembers:
            return None
        above: Turn | None = turn
        while above is not None:  # the rules of the turns that led here hold as well
            if above.profile.memory == OF_HOME:
                return Scope(owners=frozenset({None}), owner=None)
            above = above.parent
        user_id = turn.owner.user_id
        if self.settings.scope == USER:
            return Scope(owners=frozenset({None, user_id}), owner=user_id, is_known=user_id is not None)
        return Scope(owners=frozenset({None, user_id}), owner=None)

    def of(
        self,
        scope: Scope | None,
        *,
        type: MemoryType | None = None,
        owner: str | None = ALL,
        with_history: bool = False,
    ) -> list[Memory]:
        """Return the memories of a scope, oldest first, without those that have expired. A scope of None has all.

        `owner` narrows them to the id of a user, or None for the home.
        """
        now = dt_util.utcnow()
        return [
            memory
            for memory in (self._rows if with_history else self._used).values()
            if (scope is None or memory.owner in scope.owners)
            and (type is None or memory.type is type)
            and owner in (ALL, memory.owner)
            and not memory.is_expired(now)
        ]

    async def async_find(
        self,
        text: str,
        scope: Scope,
        *,
        limit: int | None = None,
        min_importance: float | None = None,
        language: str = "en",
        previous: str = "",
        counts_as_used: bool = True,
        is_sparing: bool = False,
    ) -> list[FoundMemory]:
        """Return what answers a text, best first, at most `limit` and at least as important as `min_importance`.

        Both default to the owner's settings. If a short text finds nothing, the `previous` message is added. `is_sparing` leaves
        out two fifths if most are equally near, and as near as others without room. Never raises for an unavailable store or
        endpoint.
        """
        await self.async_load()
        least = self.settings.min_importance if min_importance is None else min_importance
        most = self.settings.top_k if limit is None else limit
        found = await self._recall.async_near(text, scope, language, least, most, is_sparing)
        if not found and previous and len(text) <= FOLLOW_UP:
            found = await self._recall.async_near(f"{previous} {text}", scope, language, least, most, is_sparing)
        if counts_as_used:
            self._note(item.memory for item in found)
        return found

    async def async_around(self, text: str, scope: Scope, *, limit: int, language: str = "en") -> list[Memory]:
        """Return the memories of a scope that have a word of a text, those with most of it first; they do not count as used."""
        await self.async_load()
        now, scores = dt_util.utcnow(), await self._recall.async_scores(text, language, _ANY_WORD)
        known = [
            memory
            for key in scores
            if (memory := self._used.get(key)) is not None
            and memory.owner in scope.owners
            and not memory.is_expired(now)
        ]
        return sorted(known, key=lambda memory: -scores[memory.id])[:limit]

    async def async_named(self, text: str, language: str = "en") -> set[str]:
        """Return the ids of the memories that say what a text says, in its words."""
        await self.async_load()
        return {key for key, _ in await self._recall.async_worded(text, language, LEAST, None, None)}

    def _least_useful(self, new: Memory, now: datetime) -> Memory | None:
        """Return the memory to drop for a new one: an expired one, or the least important extracted one; None: no other."""
        decay, used = self.settings.importance_decay, self._used.values()
        if expired := next((memory for memory in used if memory.is_expired(now)), None):
            return expired
        extracted = (memory for memory in used if not memory.is_kept)
        least = min(extracted, key=lambda item: (item.importance_at(now, decay), item.last_accessed), default=None)
        if least is None or (not new.is_kept and least.importance_at(now, decay) > new.importance):
            return None
        return least

    def _note(self, used: Iterable[Memory]) -> None:
        """Count an access; many are written together."""
        now, decay = dt_util.utcnow(), self.settings.importance_decay
        for memory in used:
            if memory.id in self._used:
                importance = min(1.0, memory.importance_at(now, decay) + BOOST)
                self.put(replace(memory, last_accessed=now, accesses=memory.accesses + 1, importance=importance))

    # Write

    async def async_provenance(self, turn: Turn | None, user_id: str | None) -> tuple[str, set[str]]:
        """Return the author of what is written now, in a turn or by a user's action, and its taints."""
        author = (turn.owner.user_id if turn is not None else user_id) or DEVICE
        taints = await async_taints_of_author(self._hass, author)
        return author, taints | (turn.record.taints if turn is not None else set())

    async def async_add(self, drafts: Sequence[Draft]) -> list[Added]:
        """Remember something; return what became of each draft, in their order.

        A draft that says what is known is merged with it: the richer text, the greater importance and the stronger source stay.
        One that makes another untrue supersedes it. When there is no room, the least useful of what was extracted goes, never
        what a user asked to keep.
        """
        await self.async_load()
        async with self._changing:
            added = [await self._async_add(draft) for draft in drafts]
        await self._async_write(any(item.outcome != "refused" for item in added))
        return added

    async def _async_add(self, draft: Draft) -> Added:
        content, now, reason = cleaned(draft.content), dt_util.utcnow(), None
        if not content:
            reason = "empty"
        elif len(content) > MAX_CONTENT:
            reason = "too_long"
        elif not self.is_usable or draft.owner in self._deleted_users:
            reason = "unwritable"
        elif not self.settings.enabled:
            reason = "off"
        if reason:
            return Added(memory=None, outcome="refused", reason=reason)
        memory = draft.as_memory(now, days=getattr(self.settings, f"{draft.type.value}_ttl"))
        near = await self._recall.async_alike(memory)
        named = {old.id for old, _ in near}
        near += [
            (old, 0.0)
            for key in draft.replaces
            if key not in named and (old := self._used.get(key)) is not None and old.owner == memory.owner
        ]
        gone = [old for old, _ in near if supersedes(draft, memory, old)]
        least, language = self.settings.dedup_threshold, draft.language
        alike = (
            old
            for old, share in near
            if old not in gone and share >= least and not differs(content, old.content, language)
        )
        same = next(alike, None)
        if same is not None and not gone:
            return Added(memory=await self._async_put(merged(same, memory)), outcome="merged")
        dropped: tuple[Memory, ...] = ()
        if not gone and len(self._used) >= self.settings.max_memories:
            if (useless := self._least_useful(memory, now)) is None:
                return Added(memory=None, outcome="refused", reason="full")
            dropped = (useless,)
            await self._async_drop([useless.id])
        await self._async_put(memory)
        replaced = tuple([await self._async_put(replace(old, replaced_by=memory.id, replaced_at=now)) for old in gone])
        return Added(memory=memory, outcome="added", replaced=replaced, dropped=dropped)

    async def async_update(self, memory_id: str, **changes: Any) -> Memory:
        """Change fields of a memory by their names, or its `taints`, and return it.

        Raises `MemoriesError` for an unknown id or an unusable text.
        """
        await self.async_load()
        async with self._changing:
            if (memory := self._rows.get(memory_id)) is None:
                raise MemoriesError(id=memory_id)
            if "content" in changes:
                changes["content"] = content = cleaned(changes["content"])
                if not content or len(content) > MAX_CONTENT:
                    raise MemoriesError("memory_content", limit=str(MAX_CONTENT))
            if "taints" in changes:
                changes["metadata"] = marked(memory.metadata, changes.pop("taints"))
            if "expires_at" in changes:
                changes["is_transient"] = changes["expires_at"] is not None
            memory = await self._async_put(replace(memory, **changes))
        await self._async_write(True)
        return memory

    async def async_delete(self, ids: Iterable[str]) -> int:
        """Delete memories with the history of each, and write at once; return how many of them there were."""
        await self.async_load()
        async with self._changing:
            known = [memory_id for memory_id in dict.fromkeys(ids) if memory_id in self._rows]
            await self._async_drop(known)
        await self._async_write(bool(known))
        return len(known)

    async def async_clear(self, owner: str | None) -> int:
        """Delete all memories of an owner, or of `ALL`, with their history; return how many held."""
        await self.async_load()
        async with self._changing:
            gone = [memory for memory in self._rows.values() if owner in (ALL, memory.owner)]
            count = sum(memory.id in self._used for memory in gone)
            await self._async_drop([memory.id for memory in gone])
        await self._async_write(bool(gone))
        return count

    async def async_tidy(self) -> int:
        """Delete what has expired, and the oldest of too long a history; return how many went."""
        await self.async_load()
        async with self._changing:
            now = dt_util.utcnow()
            gone = [memory.id for memory in self._rows.values() if memory.is_expired(now)]
            history = sorted(
                (memory for memory in self._rows.values() if memory.replaced_at), key=lambda item: str(item.replaced_at)
            )
            gone += [memory.id for memory in history[: max(0, len(history) - self.settings.max_memories)]]
            await self._async_drop(gone)
        await self._async_write(bool(gone))
        if gone:
            LOGGER.debug("%d memories have expired", len(gone))
        self._recall.async_sync()
        return len(gone)

    async def _async_put(self, memory: Memory) -> Memory:
        before = self._used.get(memory.id)
        self.put(memory)
        if (now := self._used.get(memory.id)) is None:
            await self._recall.async_change([memory.id], ())
        elif before is None or searched(before) != searched(now):
            await self._recall.async_change((), [now])
        return memory

    async def _async_drop(self, ids: Collection[str]) -> None:
        """Drop memories and what each of them had replaced."""
        replaced: dict[str | None, list[str]] = {}
        for item in self._rows.values() if ids else ():
            replaced.setdefault(item.replaced_by, []).append(item.id)
        gone, waiting = set[str](), [*ids]
        while waiting:
            if (memory_id := waiting.pop()) not in gone:
                gone.add(memory_id)
                waiting += replaced.get(memory_id, ())
        self.drop([self._rows[key] for key in gone if key in self._rows])
        await self._recall.async_change(sorted(gone), ())

    async def _async_write(self, changed: bool) -> None:
        if changed:
            await self.async_write()
            self._recall.async_sync()
