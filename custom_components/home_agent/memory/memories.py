"""What is kept about the people and the home: stored, found, superseded, forgotten.

Truth is the file `home_agent.memories` in Home Assistant's storage, and all of it is in memory; with an embedding model the
store of documents has copies with vectors. There is one of these per Home Assistant: an action or an extraction that still runs
outlives a reload of the entry.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import blake2b
from heapq import nsmallest
from math import ceil
import time
from typing import Any

from homeassistant.auth import EVENT_USER_REMOVED
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, CoreState, Event, HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonValueType

from ..languages.concepts import meaning_of, names_in
from ..languages.vocabulary import Languages
from ..search.index import FOLLOW_UP
from ..search.model import Document, async_load_numpy
from ..search.passage_search import NAMED, Marks, WordIndex
from ..search.vectors import Vectors
from ..settings.memory import USER, MemorySettings
from ..settings.search import ENDPOINT, RetrievalSettings
from ..support.const import LOGGER
from ..support.errors import MemoriesError, RetrievalError
from ..support.nearness import likeness
from ..support.storage import Report, StoredFile
from ..support.text import fold, words
from ..turn import events
from ..turn.turn import Turn
from .record import (
    ALL,
    MAX_CONTENT,
    TAINTED,
    Added,
    Draft,
    FoundMemory,
    Memory,
    MemorySource,
    MemoryType,
    Scope,
    cleaned,
    new_id,
)
from .replacing import dated, differs, makes_untrue, share_a_subject

FILE = "memories"
"""What the file is called."""
BOOST = 0.05  # what an access adds to the importance
ACCESS_DELAY = 60  # seconds until accesses are written
LEAST = 0.25  # of the question, by weight: a memory that has less of it is about something else
LEAST_ALIKE = 0.2  # the same of a memory, for it to be compared with another one: it may say much more
NEAREST = 100  # by vector; some of them may be somebody else's
NEAREST_BY_WORDS = 400  # the same by words
CANDIDATES = 20  # memories that a new one is compared with
BATCH = 200  # texts that are indexed until a search may run
PATIENCE = 1.5  # seconds that a search waits for what was just read: what it finds by then is better than nothing
OF_HOME = "home"
"""What the setting `memory` of a profile says where it is told and adds only what is the home's."""
_DIGITS_OF_SCORE = 9
_ANY_WORD = 0.0  # of a text: whatever has one of its words may be about the same
_ALIKE = 0.8  # from which likeness on two words are forms of one
_ALMOST_ONE = 0.99  # a threshold that leaves something above it
_ASKS = 0.9  # from which a word only asks ("where"): it says nothing of what is asked for
_WEIGHT_OF_IMPORTANCE = 0.1  # of two memories that are equally near, the more important one is first
_SAME_THING, _SAME_CONCEPT, _WIDER = 0.9, 0.5, 0.3  # of a word: how much of it is covered by a memory that is about it
_OF_EQUALS = (
    0.6  # of the memories that may be told: so many where the question tells most of them not apart from others
)
_STRENGTH = {MemorySource.EXTRACTED: 0, MemorySource.SERVICE: 1, MemorySource.SAID: 2}

type Replaces = Callable[[Draft, Memory], bool]
"""Whether a new memory makes an older one untrue."""


@dataclass(slots=True, kw_only=True)
class _Means:
    """What the loaded entry brings."""

    settings: MemorySettings
    retrieval: RetrievalSettings
    vectors: Vectors
    languages: Languages
    entry: ConfigEntry


class Memories:
    """All memories of the home."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Start with nothing read."""
        self._hass = hass
        self._means: _Means | None = None
        self._file: StoredFile | None = None
        self._all: dict[str, Memory] = {}
        """By id, the history with them, oldest first."""
        self._used: dict[str, Memory] = {}
        """Those that hold."""
        self._words = WordIndex()
        self._deleted_users = set[str]()
        """While Home Assistant runs: what they had begun to say is not remembered any more."""
        self._wording = asyncio.Lock()
        """Held while the words are read or changed: both happen in the executor."""
        self._is_loaded = False
        self._loading: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()
        """Held by what adds, changes or deletes, until it is written."""
        self._listeners: set[Callable[[], None]] = set()
        self._sync_task: asyncio.Task[None] | None = None
        self.settings = MemorySettings()
        self.is_empty = False
        """Whether nothing can be found; False while nobody knows yet."""

    # Open and closed with the entry

    async def async_open(
        self,
        entry: ConfigEntry,
        settings: MemorySettings,
        retrieval: RetrievalSettings,
        vectors: Vectors,
        languages: Languages,
        report: Report,
    ) -> None:
        """Belong to an entry until it is unloaded. Reads nothing. `report` is told of a file that cannot be used."""
        async with self._changing:
            self.settings = settings
            self._means = _Means(
                settings=settings, retrieval=retrieval, vectors=vectors, languages=languages, entry=entry
            )
            if self._file is None or not self._file.is_usable or self._file.is_written:
                self._file = StoredFile(self._hass, FILE, self._data, report, delay=ACCESS_DELAY)
                self._is_loaded = self.is_empty = False

    async def async_start(self) -> None:
        """Read the memories, when the home has started, and delete what has expired, then and every few hours, until the entry is unloaded.

        While Home Assistant starts, all others wait: a first question that comes earlier reads them. With a user, their memories
        go, also while memory is off.
        """
        if (means := self._means) is None:
            return

        @callback
        def forget(event: Event[Any]) -> None:
            user_id = str(event.data["user_id"])
            self._deleted_users.add(user_id)
            means.entry.async_create_task(
                self._hass, self.async_clear(user_id), "home_agent memories of a deleted user"
            )

        means.entry.async_on_unload(self._hass.bus.async_listen(EVENT_USER_REMOVED, forget))
        if not self.settings.enabled:
            return

        @callback
        def tidy(_now: datetime) -> None:
            means.entry.async_create_background_task(self._hass, self.async_tidy(), "home_agent tidy memories")

        every = timedelta(hours=max(1, self.settings.cleanup_interval))
        means.entry.async_on_unload(async_track_time_interval(self._hass, tidy, every))
        if self._hass.state is CoreState.running:
            await self.async_tidy()
            return

        @callback
        def begin(_hass: HomeAssistant) -> None:
            tidy(dt_util.utcnow())

        means.entry.async_on_unload(async_at_started(self._hass, begin))

    async def async_close(self) -> None:
        """Write what is not yet written, and let go of the entry."""
        async with self._changing:
            self._means = None
            if self._file is not None:
                await self._file.async_close()

    async def async_remove(self) -> None:
        """Forget everything, in memory and on the disk, for ever."""
        file = self._file or StoredFile(self._hass, FILE, self._data, lambda _trouble, _name, _holds: None)
        async with self._changing:
            self._means = self._file = None
            self._set({})
            await file.async_remove()

    async def async_load(self) -> None:
        """Read the memories, if that was not done yet. Never raises for a file that cannot be used.

        Whoever gives up waiting does not stop it: it is read once for all who ask.
        """
        while not self._is_loaded and self._file is not None:  # an entry that was reloaded brings another file
            if self._loading is None or self._loading.done():
                reading = self._async_read(self._file)
                self._loading = self._hass.async_create_background_task(reading, "home_agent memories")
            await asyncio.shield(self._loading)

    async def _async_read(self, file: StoredFile) -> None:
        found = await file.async_load_items("memories", Memory.from_dict)
        if file is not self._file:  # it was removed meanwhile, or the entry reloaded
            return
        self._words = WordIndex()
        self._is_loaded = True
        self._set({memory.id: memory for memory in found})
        self._indexing = self._hass.async_create_background_task(self._async_index(), "home_agent index memories")
        if len(self._used) <= BATCH:
            await self._indexing
        self._start_sync()
        self._tell()

    def async_listen(self, listener: Callable[[], None]) -> CALLBACK_TYPE:
        """Call the listener after memories were added, changed or deleted, not after mere accesses."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    # Who may

    def scope_of(self, turn: Turn) -> Scope | None:
        """Return whose memories a turn may read and write; None: nothing is read, written, offered or asked for."""
        if self._means is None or not self.settings.enabled or not turn.remembers:
            return None
        above: Turn | None = turn
        while above is not None:  # whoever led here holds as well
            if above.profile.memory == OF_HOME:
                return Scope(owners=frozenset({None}), owner=None)
            above = above.parent
        user_id = turn.owner.user_id
        if self.settings.scope == USER:
            return Scope(owners=frozenset({None, user_id}), owner=user_id, is_known=user_id is not None)
        return Scope(owners=frozenset({None, user_id}), owner=None)

    # Read

    @property
    def counts(self) -> dict[MemoryType, int]:
        """Return how many memories there are that hold, by type."""
        counts = Counter(memory.type for memory in self._used.values())
        return {kind: counts[kind] for kind in MemoryType}

    @property
    def figures(self) -> dict[str, int]:
        """Return how many memories there are, by type, by source and by owner, for diagnostics: no texts, no names."""
        used = self._used.values()
        return {
            **{kind.value: count for kind, count in self.counts.items()},
            **{source.value: sum(memory.source is source for memory in used) for source in MemorySource},
            "of_the_home": sum(memory.owner is None for memory in used),
            "owners": len({memory.owner for memory in used} - {None}),
            "history": len(self._all) - len(self._used),
        }

    @property
    def is_failing(self) -> bool:
        """Whether the disk did not take the last change: a restart would undo it. It is tried again."""
        return self._file is not None and self._file.is_failing

    def get(self, memory_id: str) -> Memory | None:
        """Return a memory by its id, what is history as well."""
        return self._all.get(memory_id)

    def of(
        self,
        scope: Scope | None,
        *,
        type: MemoryType | None = None,
        owner: str | None = ALL,
        with_history: bool = False,
    ) -> list[Memory]:
        """Return the memories of a scope (None: of all), oldest first; what has expired is left out.

        `owner` narrows them to one: the id of a user, or None for the home.
        """
        now = dt_util.utcnow()
        return [
            memory
            for memory in (self._all if with_history else self._used).values()
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

        Both are the owner's settings by default. A short text that finds nothing is read together with what was said before
        (`previous`). What is found counts as used, unless the question is only which memories are meant. `is_sparing` leaves out
        two fifths where most are equally near, and as near as others for which there is no room: which of them are found is
        chance then. Never raises for a store or an endpoint that is away: memories are then found by their words.
        """
        await self.async_load()
        least = self.settings.min_importance if min_importance is None else min_importance
        most = self.settings.top_k if limit is None else limit
        found = await self._async_near(text, scope, language, least, most, is_sparing)
        if not found and previous and len(text) <= FOLLOW_UP:
            found = await self._async_near(f"{previous} {text}", scope, language, least, most, is_sparing)
        if counts_as_used:
            self._note(item.memory for item in found)
        return found

    async def async_around(self, text: str, scope: Scope, *, limit: int, language: str = "en") -> list[Memory]:
        """Return the memories of a scope that have a word of a text in them, those with most of it first.

        Nobody is told of them: they do not count as used.
        """
        await self.async_load()
        now, scores = dt_util.utcnow(), await self._async_scores(text, language, _ANY_WORD)
        known = [
            memory
            for key in scores
            if (memory := self._used.get(key)) is not None
            and memory.owner in scope.owners
            and not memory.is_expired(now)
        ]
        return sorted(known, key=lambda memory: -scores[memory.id])[:limit]

    async def async_named(self, text: str, language: str = "en") -> set[str]:
        """Return the ids of the memories that say what a text says, in its words: not those that only are about something alike."""
        await self.async_load()
        return {key for key, _ in await self._async_worded(text, language, LEAST, None, None)}

    async def _async_near(
        self, text: str, scope: Scope, language: str, least: float, most: int, is_sparing: bool
    ) -> list[FoundMemory]:
        """Return what is near a text, best first, at most so many."""
        scores = await self._async_scores(text, language, limit=NEAREST_BY_WORDS)
        now, used, owners = dt_util.utcnow(), self._used, scope.owners
        ranked: list[tuple[float, int, float, str]] = []
        for key, score in scores.items():
            if (memory := used.get(key)) is None or memory.owner not in owners or memory.is_expired(now):
                continue
            if (importance := self._importance(memory, now)) >= least:
                near = -score - _WEIGHT_OF_IMPORTANCE * importance
                # of equals, what says least besides, and of those the newest
                ranked.append((near, len(memory.content), -memory.extracted_at.timestamp(), key))
        best = [key for *_, key in nsmallest(most + 1, ranked)]
        if is_sparing and len(best) > most > 0 and scores[best[most]] >= scores[best[most - 1]]:
            nearer, few = sum(scores[key] > scores[best[most]] for key in best), ceil(most * _OF_EQUALS)
            most = few if nearer < few else most
        return [FoundMemory(memory=used[key], score=scores[key]) for key in best[:most]]

    async def _async_scores(
        self, text: str, language: str, least: float = LEAST, limit: int | None = None
    ) -> dict[str, float]:
        """Return how near memories are to a text, by id: by its words, and by its vector with an embedding model.

        What both say counts for more than what one does. `limit` is how many of those by words there are at most.
        """
        scores = await self._async_vectors(text)
        for key, share in await self._async_worded(text, language, least, limit, partial(_about, language)):
            # sums of the same parts in another order are as near
            scores[key] = round(1 - (1 - share) * (1 - scores.get(key, 0.0)), _DIGITS_OF_SCORE)
        return scores

    async def _async_worded(
        self, text: str, language: str, least: float, limit: int | None, about: Callable[[str], Marks] | None
    ) -> list[tuple[str, float]]:
        """Return what has words of a text, and with `about` what is about the same, with how much of the text that covers."""
        means = self._means
        fillers: Collection[str] = ()
        asking: Collection[str] = ()
        if means is not None:
            spoken = await means.languages.async_get(language)
            fillers, asking = spoken.fillers, {word for word, share in spoken.asking.items() if share >= _ASKS}
        await async_load_numpy(self._hass)
        if self._indexing is not None and not self._indexing.done():
            await asyncio.wait((self._indexing,), timeout=PATIENCE)
        async with self._wording:
            most = limit or len(self._used) + 1
            find = partial(self._words.find, about=about)
            return await self._hass.async_add_executor_job(find, text, most, fillers, asking, least)

    async def _async_vectors(self, text: str) -> dict[str, float]:
        """Return how far above the threshold what is near by vector is, 0 to 1, by id; nothing without an embedding model."""
        if (means := self._means) is None or means.retrieval.embedding != ENDPOINT or not self._used:
            return {}
        began, name = time.perf_counter(), self.settings.collection
        found = (await means.vectors.async_nearest(text, [name], NEAREST)).get(name)
        if not isinstance(found, list):
            return {}
        least = min(means.retrieval.similarity_threshold, _ALMOST_ONE)
        near = {
            match.id: ((match.similarity or 0.0) - least) / (1 - least)
            for match in found
            if means.retrieval.is_near(match)
        }
        events.async_vector_db_queried(self._hass, {name: len(near)}, (), began)
        return near

    def _importance(self, memory: Memory, now: datetime) -> float:
        """Return how important a memory is by now: what was extracted and not used since becomes less so."""
        if memory.is_kept or not (decay := self.settings.importance_decay):
            return memory.importance
        days = max(0.0, (now - memory.last_accessed) / timedelta(days=1))
        return memory.importance * float((1 - min(decay, 1.0)) ** days)

    def _note(self, used: Iterable[Memory]) -> None:
        """Count an access; many are written together."""
        now = dt_util.utcnow()
        for memory in used:
            if memory.id in self._used:
                importance = min(1.0, self._importance(memory, now) + BOOST)
                self._put(replace(memory, last_accessed=now, accesses=memory.accesses + 1, importance=importance))
                if self._file is not None:
                    self._file.async_changed()

    # Write

    async def async_add(self, drafts: Sequence[Draft], *, replaces: Replaces | None = None) -> list[Added]:
        """Remember something; return what became of each draft, in their order.

        A draft that says what is known is merged with it: the richer text, the greater importance and the stronger source stay.
        One that makes another untrue supersedes it; `replaces` says so besides the rules for all languages. When there is no
        room, the least useful of what was extracted goes; what somebody asked to keep never does.
        """
        await self.async_load()
        async with self._changing:
            added = [await self._async_add(draft, replaces) for draft in drafts]
            await self._async_write(any(item.outcome != "refused" for item in added))
        return added

    async def _async_add(self, draft: Draft, replaces: Replaces | None) -> Added:
        content, now = cleaned(draft.content), dt_util.utcnow()
        reason = None
        if not content:
            reason = "empty"
        elif len(content) > MAX_CONTENT:
            reason = "too_long"
        elif self._file is None or not self._file.is_usable or draft.owner in self._deleted_users:
            reason = "unwritable"
        elif not self.settings.enabled:
            reason = "off"
        if reason:
            return Added(memory=None, outcome="refused", reason=reason)
        days = getattr(self.settings, f"{draft.type.value}_ttl")
        expires_at = draft.expires_at or (now + timedelta(days=days) if days else None)
        memory = Memory(
            id=new_id(),
            type=draft.type,
            content=content,
            owner=draft.owner,
            source=draft.source,
            importance=min(max(draft.importance, 0.0), 1.0),
            extracted_at=now,
            last_accessed=now,
            expires_at=expires_at,
            is_transient=expires_at is not None,
            source_conversation_id=draft.source_conversation_id,
            language=draft.language,
            metadata=dict(draft.metadata),
        )
        near = await self._async_alike(memory)
        named = {old.id for old, _ in near}
        near += [
            (old, 0.0)
            for key in draft.replaces
            if key not in named and (old := self._used.get(key)) is not None and old.owner == memory.owner
        ]
        gone = [old for old, _ in near if self._supersedes(draft, memory, old, replaces)]
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

    def _supersedes(self, draft: Draft, new: Memory, old: Memory, replaces: Replaces | None) -> bool:
        """Return whether a new memory makes an old one untrue; text from outside never does that to what somebody said.

        A model that says so has to mean the same subject: some name whatever they were shown.
        """
        if new.tainted and old.is_kept:
            return False
        if old.id in draft.replaces and share_a_subject(new.content, old.content, new.language):
            return True
        return (replaces or makes_untrue)(draft, old)

    async def _async_alike(self, memory: Memory) -> list[tuple[Memory, float]]:
        """Return what its owner knows of the same, and how much of it is the same, the most alike first."""
        scores = await self._async_scores(memory.content, memory.language, LEAST_ALIKE)
        means = self._means
        fillers: Collection[str] = (await means.languages.async_get(memory.language)).fillers if means else ()
        known = [old for key in scores if (old := self._used.get(key)) is not None and old.owner == memory.owner]
        known = sorted(known, key=lambda old: -scores[old.id])[:CANDIDATES]
        said = dated(memory.content, memory.language)
        shares = [(old, similarity(said, dated(old.content, memory.language), fillers)) for old in known]
        return sorted(shares, key=lambda item: -item[1])

    def _least_useful(self, new: Memory, now: datetime) -> Memory | None:
        """Return what may go for a new memory; None: nothing is less useful."""
        if expired := next((memory for memory in self._used.values() if memory.is_expired(now)), None):
            return expired
        extracted = [memory for memory in self._used.values() if not memory.is_kept]
        if not extracted:
            return None
        least = min(extracted, key=lambda memory: (self._importance(memory, now), memory.last_accessed))
        return None if not new.is_kept and self._importance(least, now) > new.importance else least

    async def async_update(self, memory_id: str, **changes: Any) -> Memory:
        """Change fields of a memory by their names, and return it. Raises `MemoriesError` for an unknown id or an unusable text."""
        await self.async_load()
        async with self._changing:
            if (memory := self._all.get(memory_id)) is None:
                raise MemoriesError(id=memory_id)
            if "content" in changes:
                changes["content"] = content = cleaned(changes["content"])
                if not content or len(content) > MAX_CONTENT:
                    raise MemoriesError("memory_content", limit=str(MAX_CONTENT))
            if "expires_at" in changes:
                changes["is_transient"] = changes["expires_at"] is not None
            memory = await self._async_put(replace(memory, **changes))
            await self._async_write(True)
        return memory

    async def async_delete(self, ids: Iterable[str]) -> int:
        """Delete memories, with the history of each; return how many of them there were. It is written at once."""
        await self.async_load()
        async with self._changing:
            known = [memory_id for memory_id in dict.fromkeys(ids) if memory_id in self._all]
            await self._async_drop(known)
            await self._async_write(bool(known))
        return len(known)

    async def async_clear(self, owner: str | None) -> int:
        """Delete all memories of an owner, or of `ALL`, with their history; return how many held."""
        await self.async_load()
        async with self._changing:
            gone = [memory for memory in self._all.values() if owner in (ALL, memory.owner)]
            count = sum(memory.id in self._used for memory in gone)
            await self._async_drop([memory.id for memory in gone])
            await self._async_write(bool(gone))
        return count

    async def async_tidy(self) -> int:
        """Delete what has expired, and the oldest of too long a history; return how many went."""
        await self.async_load()
        async with self._changing:
            now = dt_util.utcnow()
            gone = [memory.id for memory in self._all.values() if memory.is_expired(now)]
            history = sorted(
                (memory for memory in self._all.values() if memory.replaced_at), key=lambda item: str(item.replaced_at)
            )
            gone += [memory.id for memory in history[: max(0, len(history) - self.settings.max_memories)]]
            await self._async_drop(gone)
            await self._async_write(bool(gone))
        if gone:
            LOGGER.debug("%d memories have expired", len(gone))
        self._start_sync()
        return len(gone)

    async def _async_put(self, memory: Memory) -> Memory:
        before = self._used.get(memory.id)
        self._put(memory)
        if (now := self._used.get(memory.id)) is None:
            await self._async_word([memory.id], ())
        elif before is None or _searched(before) != _searched(now):
            await self._async_word((), [now])
        return memory

    def _put(self, memory: Memory) -> None:
        self._all[memory.id] = memory
        if memory.replaced_by is None:
            self._used[memory.id] = memory
        else:
            self._used.pop(memory.id, None)
        self.is_empty = not self._used

    async def _async_drop(self, ids: Collection[str]) -> None:
        """Let go of memories and of what each of them had replaced."""
        gone = set(ids)
        while behind := {key for key, item in self._all.items() if item.replaced_by in gone and key not in gone}:
            gone |= behind
        for key in gone:
            self._all.pop(key, None)
            self._used.pop(key, None)
        self.is_empty = not self._used
        await self._async_word(sorted(gone), ())

    def _set(self, memories: dict[str, Memory]) -> None:
        self._all = memories
        self._used = {key: memory for key, memory in memories.items() if memory.replaced_by is None}
        self.is_empty = not self._used

    async def _async_write(self, changed: bool) -> None:
        if changed:
            if self._file is not None:
                await self._file.async_write()
            self._start_sync()
            self._tell()

    @callback
    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def _data(self) -> dict[str, Any]:
        return {"memories": [memory.as_dict() for memory in list(self._all.values())]}

    # The words and the copies with vectors

    async def _async_word(self, gone: Sequence[str], new: Iterable[Memory]) -> None:
        """Index memories by their words and by what they are about."""

        def change() -> None:
            texts = {memory.id: _searched(memory) for memory in new}
            self._words.change(gone, texts, {memory.id: _marks(memory) for memory in new})

        async with self._wording:
            await self._hass.async_add_executor_job(change)

    async def _async_index(self) -> None:
        """Index what was read, a few at a time: a search meanwhile finds what there is so far."""
        due = list(self._used)
        for start in range(0, len(due), BATCH):
            await self._async_word((), [self._used[key] for key in due[start : start + BATCH] if key in self._used])

    @property
    def collections(self) -> set[str]:
        """Return the collections of the store that hold something of ours."""
        means = self._means
        return {means.settings.collection} if means and means.retrieval.embedding == ENDPOINT else set()

    @callback
    def _start_sync(self) -> None:
        if self.collections and (means := self._means) and (self._sync_task is None or self._sync_task.done()):
            self._sync_task = means.entry.async_create_background_task(
                self._hass, self._async_sync(means), "home_agent vectors of memories"
            )

    async def _async_sync(self, means: _Means) -> None:
        """Give the store what it does not have, until nothing has changed meanwhile.

        While memory is off, copies of what was deleted go, and no model is given anything.
        """
        synced: dict[str, Memory] | None = None
        while synced != (used := dict(self._used)):
            try:
                if means.settings.enabled:
                    documents = await self._hass.async_add_executor_job(_documents, used)
                    await means.vectors.async_sync(means.settings.collection, documents)
                else:
                    await means.vectors.async_keep(means.settings.collection, used)
            except RetrievalError:  # reported where it was raised; tried again with the next change or the next tidying
                return
            synced = used


def _about(language: str, word: str) -> dict[str, float]:
    """Return what a folded word of a question is about, with how much a memory counts that is about it."""
    meaning = meaning_of(language, word)
    return {
        **{f"~{name}": _WIDER for name in meaning.wider},
        **{f"@{name}": _SAME_CONCEPT for name in meaning.concepts},
        **{f"={name}": _SAME_THING for name in meaning.groups},
    }


def _searched(memory: Memory) -> str:
    """Return what is searched of a memory by its words: the sentence, and the topics that a model gave it."""
    topics = memory.metadata.get("topics")
    return "\n".join((memory.content, *(map(str, topics) if isinstance(topics, list) else ())))


def _marks(memory: Memory) -> set[str]:
    """Return what a memory is about: sets of words, concepts, and what these are a part of."""
    found = {f"{NAMED}{name}" for name in names_in(memory.content, memory.language)}
    for word in words(_searched(memory)):
        meaning = meaning_of(memory.language, fold(word))
        found |= {f"={name}" for name in meaning.groups}
        found |= {f"@{name}" for name in meaning.concepts}
        found |= {f"~{name}" for name in meaning.concepts | meaning.wider}
    return found


def _documents(memories: Mapping[str, Memory]) -> dict[str, Document]:
    """Return what the store keeps of memories, by id."""
    return {key: _document(memory) for key, memory in memories.items()}


def _document(memory: Memory) -> Document:
    digest = blake2b(f"{memory.type}\n{memory.content}".encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return Document(id=memory.id, text=memory.content, metadata={"type": memory.type.value}, digest=digest)


def merged(old: Memory, new: Memory) -> Memory:
    """Return one memory of two that say the same: the richer text, the greater importance, the stronger source, the longer time.

    What a model extracted from text from outside does not change the words of what somebody asked to keep.
    """
    stronger = _STRENGTH[new.source] >= _STRENGTH[old.source]
    richer = len(words(new.content)) > len(words(old.content))
    speaks = new if richer and (stronger or not new.tainted) else old
    metadata: dict[str, JsonValueType] = dict(old.metadata)
    for key, value in new.metadata.items():
        before = metadata.get(key)
        if isinstance(before, list) and isinstance(value, list):
            value = [*before, *(item for item in value if item not in before)]
        metadata[key] = value
    metadata.pop(TAINTED, None)
    if speaks.tainted:
        metadata[TAINTED] = list[JsonValueType](speaks.tainted)
    expires_at = None
    if old.expires_at is not None and new.expires_at is not None:
        expires_at = max(old.expires_at, new.expires_at)
    return replace(
        old,
        type=new.type if new.is_kept else old.type,
        content=speaks.content,
        language=speaks.language,
        importance=max(old.importance, new.importance),
        source=new.source if stronger else old.source,
        last_accessed=new.last_accessed,
        expires_at=expires_at,
        is_transient=expires_at is not None,
        metadata=metadata,
    )


def similarity(one: str, other: str, fillers: Collection[str] = ()) -> float:
    """Return how much of the shorter of two texts stands in the other one, 0 to 1; 0 where they differ in a number."""
    parts = [[word for item in words(text) if (word := fold(item)) not in fillers] for text in (one, other)]
    shorter, longer = sorted(parts, key=len)
    numbers = [{word for word in part if word.isdigit()} for part in parts]
    if not shorter or (numbers[0] and numbers[1] and numbers[0] != numbers[1]):
        return 0.0
    left, shared = list(longer), 0.0
    for word in shorter:
        best = max(left, key=lambda item: likeness(word, item), default="")
        if (alike := likeness(word, best)) >= _ALIKE:
            left.remove(best)
            shared += alike
    return shared / len(shorter)


MEMORIES: HassKey[Memories] = HassKey("home_agent_memories")


def memories_of(hass: HomeAssistant) -> Memories:
    """Return the memories of the home."""
    return hass.data.setdefault(MEMORIES, Memories(hass))


async def async_remove_memories(hass: HomeAssistant) -> None:
    """Forget everything, in memory and on the disk."""
    await memories_of(hass).async_remove()
    hass.data.pop(MEMORIES)
