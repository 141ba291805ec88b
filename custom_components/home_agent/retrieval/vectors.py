"""Documents and their copies in a store: what is embedded again, what leaves, what is near to a text."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
import time

from ..const import LOGGER
from ..errors import EmbeddingError, RetrievalError, StoreError, StoreRefusedError
from .base import Document, Embedder, Match, Store
from .leaving import async_leave

BATCH = 64  # documents embedded and written at a time
QUERY_TIMEOUT = 1.5  # seconds; who asks is waiting, and what is found by words is there already
PAUSE = 20.0  # seconds after a query that took too long in which nobody waits for another one

OTHER_LENGTH = "store_dimension"
"""What a store says of vectors that are longer or shorter than those it has."""

type Progress = Callable[[int, int], None]
"""Called with how many documents are written and how many there are to write."""
type Nearest = Mapping[str, list[Match] | RetrievalError | None]
"""What a store found by collection: None where there is no such collection, an error for one that cannot be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of documents."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0

    @classmethod
    def between(cls, before: Mapping[str, object], after: Mapping[str, object]) -> Counts:
        """Return what differs between two sets of documents, or of their digests, by id."""
        same = sum(before.get(key) == item for key, item in after.items())
        added = len(after.keys() - before.keys())
        return cls(
            added=added,
            updated=len(after) - added - same,
            removed=len(before.keys() - after.keys()),
            unchanged=same,
        )


class Vectors:
    """A store and what makes the vectors in it."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        """Take both; the store is opened with its first use."""
        self.store = store
        self.embedder = embedder
        self._opening = asyncio.Lock()
        self._is_open = False
        self._ended = False
        """Whether nothing is written any more."""
        self._writing = asyncio.Lock()
        self._slow_until = 0.0
        self._outdated: set[str] = set()
        """Collections that hold vectors of another length than the embedder makes by now."""

    async def async_open(self) -> Store:
        """Return the store, opened. Raises `RetrievalError`."""
        async with self._opening:
            if not self._is_open:
                if self._ended:  # an action may still run that began before the entry ended
                    raise StoreError("store_closed")
                await self.store.async_open()
                self._is_open = True
        return self.store

    async def async_close(self) -> None:
        """Let go of both."""
        async with self._opening:
            self._is_open, self._ended = False, True
            await self.embedder.async_close()
            await self.store.async_close()

    async def async_leave(self, title: str, collections: Collection[str]) -> None:
        """Write nothing more, and delete these collections: they are kept elsewhere from now on. Never raises."""
        async with self._writing:
            self._ended = True
        if collections:
            await async_leave(self.store, title, collections)

    async def async_sync(
        self,
        collection: str,
        documents: Mapping[str, Document],
        progress: Progress | None = None,
        *,
        anew: bool = False,
    ) -> Counts:
        """Make a collection equal to the documents: remove what is gone, embed and write what is new or differs.

        With `anew` everything is embedded again. What was written before something failed stays, so that the next attempt goes on from there.
        Raises `RetrievalError`.
        """
        store = await self.async_open()
        anew = anew or collection in self._outdated
        known = await store.async_digests(collection, self.embedder.key)
        if anew or not documents:
            await store.async_drop(collection)  # whatever made its vectors
        elif gone := sorted(known.keys() - documents.keys()):
            await store.async_delete(collection, gone)
        due = [item for key, item in documents.items() if anew or known.get(key) != item.digest]
        try:
            for start in range(0, len(due), BATCH):
                await self._async_write(collection, due[start : start + BATCH])
                if progress:
                    progress(min(start + BATCH, len(due)), len(due))
        except StoreRefusedError as err:
            if anew or not self._is_outdated(collection, err):
                raise
            return await self.async_sync(collection, documents, progress, anew=True)
        self._outdated.discard(collection)
        return Counts.between(known, {key: document.digest for key, document in documents.items()})

    async def _async_write(self, collection: str, documents: Sequence[Document]) -> None:
        vectors = await self.embedder.async_embed([document.text for document in documents])
        if len(vectors) != len(documents):
            raise EmbeddingError(endpoint=self.embedder.key, detail=f"{len(vectors)}/{len(documents)}")
        async with self._writing:
            if self._ended:  # an action may have begun this that does not end with the entry
                raise StoreError("store_closed")
            await self.store.async_upsert(collection, documents, vectors, self.embedder.key)

    async def async_nearest(self, text: str, collections: Sequence[str], limit: int) -> Nearest:
        """Return the nearest documents of each collection; nothing while the embedder is away, or either takes too long."""
        if not text.strip() or time.monotonic() < self._slow_until:
            return {}
        try:
            async with asyncio.timeout(QUERY_TIMEOUT):
                await self.async_open()
                vector = [float(value) for value in (await self.embedder.async_embed([text], within=QUERY_TIMEOUT))[0]]
                return {name: await self._async_query(name, vector, limit) for name in collections}
        except RetrievalError:  # whoever raised it has said so
            return {}
        except TimeoutError:
            LOGGER.warning("Vectors took longer than %s s and are left out for %s s", QUERY_TIMEOUT, PAUSE)
            self._slow_until = time.monotonic() + PAUSE
            return {}

    async def _async_query(
        self, collection: str, vector: Sequence[float], limit: int
    ) -> list[Match] | RetrievalError | None:
        try:
            return await self.store.async_query(collection, vector, limit)
        except RetrievalError as err:  # of another length, for example: the other collections work
            self._is_outdated(collection, err)
            return err

    def _is_outdated(self, collection: str, error: RetrievalError) -> bool:
        """Return whether a collection has to be made anew for the vectors that the embedder makes by now, and note it."""
        outdated = isinstance(error, StoreRefusedError) and error.translation_key == OTHER_LENGTH
        if outdated:
            self._outdated.add(collection)
        return outdated
