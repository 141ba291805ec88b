"""What is found of the memories: by words, by what they are about, and with an embedding model by vectors.

The store of documents has copies of the memories with vectors. Nothing here is kept: the words are indexed anew with each start.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from heapq import nsmallest
from itertools import batched
from math import ceil
import time

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..languages.concepts import meaning_of, names_in
from ..languages.vocabulary import NO_LANGUAGE, Languages
from ..search.model import Document, async_load_numpy
from ..search.passage_search import NAMED, Marks, WordIndex
from ..search.vectors import Vectors
from ..settings.memory import MemorySettings
from ..support.errors import RetrievalError
from ..support.text import fold, words
from ..turn import events
from .record import FoundMemory, Memory, Scope
from .replacing import dated, similarity

LEAST = 0.25  # of the question, by weight: a memory that has less of it is about something else
LEAST_ALIKE = 0.2  # of a memory, for it to be compared with another one: it may say much more
CANDIDATES = 20  # memories that a new one is compared with
NEAREST = 100  # by vector; some of them may be another user's
NEAREST_BY_WORDS = 400  # the same by words
BATCH = 200  # texts that are indexed until a search may run
PATIENCE = 1.5  # seconds that a search waits for the words of what was just read, and then finds what is indexed so far
_DIGITS_OF_SCORE = 9
_ALMOST_ONE = 0.99  # a threshold that leaves something above it
_ASKS = 0.9  # from which a word only asks ("where"), and says nothing of what is asked for
_WEIGHT_OF_IMPORTANCE = 0.1  # of two memories that are equally near, the more important one is first
_SAME_THING, _SAME_CONCEPT, _WIDER = 0.9, 0.5, 0.3  # of a word: the share covered by a memory that is about it
_OF_EQUALS = 0.6  # the share told of the most, where the question does not tell most of them apart from others


@dataclass(slots=True, kw_only=True)
class MemoryMeans:
    """What the loaded entry brings."""

    settings: MemorySettings
    vectors: Vectors
    languages: Languages
    entry: ConfigEntry


@dataclass(eq=False, slots=True)
class Recall:
    """Finds memories in use."""

    _hass: HomeAssistant
    _used: Mapping[str, Memory]  # by id
    means: MemoryMeans | None = None  # None while no entry is loaded: memories are found by their words then
    _words: WordIndex = field(default_factory=WordIndex)
    _wording: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the executor reads or changes the words
    _indexing: asyncio.Task[None] | None = None
    _sync_task: asyncio.Task[None] | None = None

    async def async_near(
        self, text: str, scope: Scope, language: str, least: float, most: int, is_sparing: bool
    ) -> list[FoundMemory]:
        """Return at most so many memories near a text, best first, that are at least as important as `least`."""
        scores = await self.async_scores(text, language, limit=NEAREST_BY_WORDS)
        now, used, owners = dt_util.utcnow(), self._used, scope.owners
        decay = self.means.settings.importance_decay if self.means else 0.0
        ranked: list[tuple[float, int, float, str]] = []
        for key, score in scores.items():
            if (memory := used.get(key)) is None or memory.owner not in owners or memory.is_expired(now):
                continue
            if (importance := memory.importance_at(now, decay)) >= least:
                near = -score - _WEIGHT_OF_IMPORTANCE * importance
                # of equals, what says least besides, and of those the newest
                ranked.append((near, len(memory.content), -memory.extracted_at.timestamp(), key))
        best = [key for *_, key in nsmallest(most + 1, ranked)]
        if is_sparing and len(best) > most > 0 and scores[best[most]] >= scores[best[most - 1]]:
            nearer, few = sum(scores[key] > scores[best[most]] for key in best), ceil(most * _OF_EQUALS)
            most = few if nearer < few else most
        return [FoundMemory(memory=used[key], score=scores[key]) for key in best[:most]]

    async def async_scores(
        self, text: str, language: str, least: float = LEAST, limit: int | None = None
    ) -> dict[str, float]:
        """Return how near memories are to a text, by id: by its words, and by its vector with an embedding model.

        A memory near by both is nearer than by one. `limit` is the most of those near by words.
        """
        scores = await self._async_vectors(text)
        for key, share in await self.async_worded(text, language, least, limit, partial(_about, language)):
            # sums of the same parts in another order are as near
            scores[key] = round(1 - (1 - share) * (1 - scores.get(key, 0.0)), _DIGITS_OF_SCORE)
        return scores

    async def async_worded(
        self, text: str, language: str, least: float, limit: int | None, about: Callable[[str], Marks] | None
    ) -> list[tuple[str, float]]:
        """Return the ids of memories that have words of a text, and with `about` of those about the same, with the share covered."""
        spoken = await self.means.languages.async_get(language) if self.means else NO_LANGUAGE
        asking = {word for word, share in spoken.asking.items() if share >= _ASKS}
        await async_load_numpy(self._hass)
        if self._indexing is not None and not self._indexing.done():
            await asyncio.wait((self._indexing,), timeout=PATIENCE)
        async with self._wording:
            most = limit or len(self._used) + 1
            find = partial(self._words.find, about=about)
            return await self._hass.async_add_executor_job(find, text, most, spoken.fillers, asking, least)

    async def _async_vectors(self, text: str) -> dict[str, float]:
        """Return by id how far memories near by vector are above the threshold, 0 to 1; nothing without an embedding model."""
        if (means := self.means) is None or not means.vectors.embeds or not self._used:
            return {}
        began, name = time.perf_counter(), means.settings.collection
        found = (await means.vectors.async_nearest(text, [name], NEAREST)).get(name)
        if not isinstance(found, list):
            return {}
        limits = means.vectors.settings
        least = min(limits.similarity_threshold, _ALMOST_ONE)
        near = {match.id: ((match.similarity or 0.0) - least) / (1 - least) for match in found if limits.is_near(match)}
        events.async_vector_db_queried(self._hass, {name: len(near)}, (), began)
        return near

    async def async_alike(self, memory: Memory) -> list[tuple[Memory, float]]:
        """Return what its owner knows of the same with the share that is the same, the most alike first."""
        scores = await self.async_scores(memory.content, memory.language, LEAST_ALIKE)
        fillers = (await self.means.languages.async_get(memory.language)).fillers if self.means else ()
        known = [old for key in scores if (old := self._used.get(key)) is not None and old.owner == memory.owner]
        known = sorted(known, key=lambda old: -scores[old.id])[:CANDIDATES]
        said = dated(memory.content, memory.language)
        shares = [(old, similarity(said, dated(old.content, memory.language), fillers)) for old in known]
        return sorted(shares, key=lambda item: -item[1])

    # The words and the copies with vectors

    async def async_change(self, gone: Sequence[str], new: Iterable[Memory]) -> None:
        """Index memories by their words and by what they are about, and drop others."""

        def change() -> None:
            texts = {memory.id: searched(memory) for memory in new}
            self._words.change(gone, texts, {memory.id: _marks(memory) for memory in new})

        async with self._wording:
            await self._hass.async_add_executor_job(change)

    async def async_index(self) -> None:
        """Index all anew, a few at a time; many in the background, where a search finds what is indexed so far."""
        self._words = WordIndex()

        async def index() -> None:
            for keys in batched(list(self._used), BATCH, strict=False):
                await self.async_change((), [self._used[key] for key in keys if key in self._used])

        self._indexing = self._hass.async_create_background_task(index(), "home_agent index memories")
        if len(self._used) <= BATCH:
            await self._indexing

    @property
    def collections(self) -> set[str]:
        """The collections of the store that hold something of ours."""
        means = self.means
        return {means.settings.collection} if means and means.vectors.embeds else set()

    @callback
    def async_use(self, means: MemoryMeans) -> None:
        """Search with these from now on; a search that runs ends where it began."""
        self.means = means
        if self._sync_task is not None:
            self._sync_task.cancel()
            self._sync_task = None

    @callback
    def async_sync(self) -> None:
        """Give the store in the background what it does not have."""
        if self.collections and (means := self.means) and (self._sync_task is None or self._sync_task.done()):
            self._sync_task = means.entry.async_create_background_task(
                self._hass, self._async_sync(means), "home_agent vectors of memories"
            )

    async def _async_sync(self, means: MemoryMeans) -> None:
        """Write changes to the store until there are none; while memory is off, only deletions."""
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
    """Return what a folded word of a question is about, with the share that a memory about it covers."""
    meaning = meaning_of(language, word)
    return {
        **{f"~{name}": _WIDER for name in meaning.wider},
        **{f"@{name}": _SAME_CONCEPT for name in meaning.concepts},
        **{f"={name}": _SAME_THING for name in meaning.groups},
    }


def searched(memory: Memory) -> str:
    """Return what is searched by its words: the sentence, and the topics that a model gave it."""
    topics = memory.metadata.get("topics")
    return "\n".join((memory.content, *(map(str, topics) if isinstance(topics, list) else ())))


def _marks(memory: Memory) -> set[str]:
    """Return what a memory is about: sets of words, concepts, and what these are a part of."""
    found = {f"{NAMED}{name}" for name in names_in(memory.content, memory.language)}
    for word in words(searched(memory)):
        meaning = meaning_of(memory.language, fold(word))
        found |= {f"={name}" for name in meaning.groups}
        found |= {f"@{name}" for name in meaning.concepts}
        found |= {f"~{name}" for name in meaning.concepts | meaning.wider}
    return found


def _documents(memories: Mapping[str, Memory]) -> dict[str, Document]:
    """Return the documents of memories by id; slow."""
    found = {}
    for key, memory in memories.items():
        digest = blake2b(f"{memory.type}\n{memory.content}".encode(errors="surrogatepass"), digest_size=16).hexdigest()
        found[key] = Document(id=key, text=memory.content, metadata={"type": memory.type.value}, digest=digest)
    return found
