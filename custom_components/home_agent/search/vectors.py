"""Vectors of documents in a store: synchronized with the documents, and queried."""

import asyncio
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
import time
from typing import Self

from homeassistant.core import HomeAssistant

from ..settings.search import CHROMA, DocumentMatch, RetrievalSettings
from ..support.const import LOGGER
from ..support.errors import EmbeddingError, RetrievalError, StoreError, StoreRefusedError
from ..support.issues import RetrievalIssues
from .chroma_store import ChromaStore
from .embedded_store import EmbeddedStore, file_of
from .embeddings import EndpointEmbedder, NoEmbedder, database_of
from .model import Document

BATCH = 64  # documents embedded and written at a time
QUERY_TIMEOUT = 1.5  # seconds; a turn is waiting, and the search by words is done
LEAVE_TIMEOUT = 10.0  # seconds for all collections of a former store; the settings form is waiting
PAUSE = 20.0  # seconds after a slow query in which turns make no other
LIMITS = (
    "top_k", "similarity_threshold", "additional_collections", "additional_top_k", "additional_l2_threshold",
)  # fmt: skip
"""Settings that store and embedder do not depend on."""


type Store = EmbeddedStore | ChromaStore
"""Documents and their vectors, in collections; both have the same methods.

A collection is created with its first document, and has vectors of one model (`Embedder.key`) and length. All methods raise
`StoreError`; its subclass `StoreRefusedError` means vectors of another length, or another program's collection.
"""
type Embedder = EndpointEmbedder | NoEmbedder
"""Turns texts into vectors, one row of length 1 per text; vectors of different keys are not comparable."""
type Progress = Callable[[int, int], None]
"""Called with the numbers of written documents and of all."""
type FoundByCollection = Mapping[str, list[DocumentMatch] | RetrievalError | None]
"""Matches by collection; None for a missing collection, an error for a failed query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of documents by change."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0

    @classmethod
    def between(cls, before: Mapping[str, object], after: Mapping[str, object]) -> Counts:
        """Return the changes between two sets of documents, or of their digests, by id."""
        same = sum(before.get(key) == item for key, item in after.items())
        added, removed = len(after.keys() - before.keys()), len(before.keys() - after.keys())
        return cls(added=added, updated=len(after) - added - same, removed=removed, unchanged=same)


@dataclass(eq=False, slots=True)
class Vectors:
    """A store with its embedder; the first use opens the store."""

    store: Store
    embedder: Embedder
    settings: RetrievalSettings = field(default_factory=RetrievalSettings)
    """What they were made for, with the limits and the additional collections of now."""
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_open: bool = False
    _ended: bool = False  # whether writing has ended
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _users: int = 0  # searches that run
    _unused: asyncio.Event = field(default_factory=asyncio.Event)  # set when the last of them has ended
    _slow_until: float = 0.0
    _outdated: set[str] = field(default_factory=set)  # collections with vectors of another length than the embedder's

    @classmethod
    def from_settings(cls, hass: HomeAssistant, settings: RetrievalSettings, reporter: RetrievalIssues) -> Self:
        """Return the store and embedder of the settings; nothing is opened or sent yet."""
        embedder = EndpointEmbedder(hass, settings, reporter) if settings.embeds else NoEmbedder(hass)
        return cls(make_store(hass, settings, reporter), embedder, settings)

    @property
    def embeds(self) -> bool:
        """Whether there is an embedding model."""
        return self.settings.embeds

    def serve(self, settings: RetrievalSettings) -> bool:
        """Return whether store and embedder are those of the settings, which may have other limits."""
        limits = {name: getattr(settings, name) for name in LIMITS}
        return replace(self.settings, **limits) == settings

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Keep both open for a search."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def async_open(self) -> Store:
        """Return the store, opened. Raises `RetrievalError`."""
        async with self._opening:
            if not self._is_open:
                if self._ended:  # an action may outlive the entry
                    raise StoreError("store_closed")
                await self.store.async_open()
                self._is_open = True
        return self.store

    async def async_close(self) -> None:
        """Close both."""
        async with self._opening:
            self._is_open, self._ended = False, True
            self.store.health.ended = True
            await self.embedder.async_close()
            await self.store.async_close()

    async def async_end(self) -> None:
        """Close both when the searches that run have ended, after `QUERY_TIMEOUT` at the latest."""
        try:
            async with self._writing:
                self._ended = True
            self._unused.clear()
            if self._users:
                async with asyncio.timeout(QUERY_TIMEOUT):
                    await self._unused.wait()
        except TimeoutError:
            LOGGER.debug("A search of before a change has not ended")
        finally:
            await self.async_close()

    async def async_leave(self, title: str, collections: Collection[str]) -> None:
        """End writing, and delete these collections, which another store has from now on. Never raises."""
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
        """Make a collection equal to the documents, and return the counts; with `anew` all are embedded again.

        After a failure the next attempt continues with the remaining ones. Raises `RetrievalError`.
        """
        store = await self.async_open()
        anew = anew or collection in self._outdated
        known = await store.async_digests(collection, self.embedder.key)
        if anew or not documents:
            await store.async_drop(collection)  # also vectors of another key
        elif gone := sorted(known.keys() - documents.keys()):
            await store.async_delete(collection, gone)
        due = [item for key, item in documents.items() if anew or known.get(key) != item.digest]
        try:
            await self._async_write_all(collection, due, progress)
        except StoreRefusedError as err:
            if anew or not self._is_outdated(collection, err):
                raise
            return await self.async_sync(collection, documents, progress, anew=True)
        self._outdated.discard(collection)
        return Counts.between(known, {key: document.digest for key, document in documents.items()})

    async def async_keep(self, collection: str, ids: Collection[str]) -> None:
        """Remove all other documents from a collection, also with vectors of another key. Raises `RetrievalError`."""
        store = await self.async_open()
        known = [document.id for document in await store.async_documents(collection)]
        if gone := [item for item in known if item not in ids]:
            await store.async_delete(collection, gone)

    async def async_change(
        self, collection: str, documents: Sequence[Document], gone: Sequence[str], progress: Progress | None = None
    ) -> None:
        """Write documents to a collection, and remove those in `gone`; others stay. Raises `RetrievalError`."""
        store = await self.async_open()
        await store.async_delete(collection, gone)
        await self._async_write_all(collection, documents, progress)

    async def _async_write_all(self, collection: str, documents: Sequence[Document], progress: Progress | None) -> None:
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            vectors = await self.embedder.async_embed([document.text for document in batch])
            if len(vectors) != len(batch):
                raise EmbeddingError(endpoint=self.embedder.key, detail=f"{len(vectors)}/{len(batch)}")
            async with self._writing:
                if self._ended:  # an action may outlive the entry
                    raise StoreError("store_closed")
                await self.store.async_upsert(collection, batch, vectors, self.embedder.key)
            if progress:
                progress(min(start + BATCH, len(documents)), len(documents))

    async def async_nearest(self, text: str, collections: Sequence[str], limit: int) -> FoundByCollection:
        """Return the nearest documents of each collection; empty if the embedder fails, or it takes too long."""
        if not text.strip() or time.monotonic() < self._slow_until:
            return {}
        try:
            with self.in_use():
                async with asyncio.timeout(QUERY_TIMEOUT):
                    return await self._async_nearest(text, collections, limit)
        except RetrievalError:  # logged where it was raised
            return {}
        except TimeoutError:
            LOGGER.warning("Vectors took longer than %s s and are left out for %s s", QUERY_TIMEOUT, PAUSE)
            self._slow_until = time.monotonic() + PAUSE
            return {}

    async def _async_nearest(self, text: str, collections: Sequence[str], limit: int) -> FoundByCollection:
        await self.async_open()
        vector = [float(value) for value in (await self.embedder.async_embed([text], within=QUERY_TIMEOUT))[0]]
        found: dict[str, list[DocumentMatch] | RetrievalError | None] = {}
        for name in collections:
            try:
                found[name] = await self.store.async_query(name, vector, limit)
            except RetrievalError as err:  # other collections may work
                self._is_outdated(name, err)
                found[name] = err
        return found

    def _is_outdated(self, collection: str, error: RetrievalError) -> bool:
        """Return whether a collection has vectors of another length, and keep that."""
        outdated = isinstance(error, StoreRefusedError) and error.translation_key == "store_dimension"
        if outdated:
            self._outdated.add(collection)
        return outdated


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """State of store and embedding, for diagnostics and system health: counts and keys of errors, no texts."""

    store: str  # `embedded` or `chroma`
    embedding: str  # `lexical`, or the model
    collections: dict[str, int] | None  # number of documents by collection; None if the store fails
    store_error: str | None  # key of the store's error, None if it works
    embedding_error: str | None  # key of the model's last error, None if it worked the last time, or was not asked

    @property
    def documents(self) -> int | None:
        """Return the number of documents in all collections."""
        return None if self.collections is None else sum(self.collections.values())


async def async_report(vectors: Vectors) -> StoreReport:
    """Return the report; the store is asked, the model is not."""
    settings = vectors.settings
    collections: dict[str, int] | None = None
    error: str | None = None
    try:
        collections = await (await vectors.async_open()).async_collections()
    except RetrievalError as err:
        error = err.translation_key
    health = vectors.embedder.health
    return StoreReport(
        store=settings.store,
        embedding=settings.embedding_model if settings.embeds else settings.embedding,
        collections=collections,
        store_error=error,
        embedding_error=health.last_error.translation_key if health and health.last_error else None,
    )


def make_store(hass: HomeAssistant, settings: RetrievalSettings, reporter: RetrievalIssues) -> Store:
    """Return the store of the settings; nothing is opened or sent yet."""
    if settings.store == CHROMA:
        return ChromaStore(hass, settings, reporter)
    return EmbeddedStore(hass, reporter)


async def async_leave(store: Store, title: str, collections: Iterable[str]) -> None:
    """Delete our collections. Never raises: a failure is logged, and they stay."""
    try:
        async with asyncio.timeout(LEAVE_TIMEOUT):
            for name in collections:
                try:
                    await store.async_drop(name)
                except StoreRefusedError:  # of another program
                    continue
    except RetrievalError, TimeoutError:
        LOGGER.warning("What was written to %s cannot be deleted there", title)


async def async_leave_server(hass: HomeAssistant, settings: RetrievalSettings, collections: Iterable[str]) -> None:
    """Delete our collections on the server of the settings, if there is one. Never raises."""
    if settings.store == CHROMA:
        store = ChromaStore(hass, settings, RetrievalIssues(None))
        await async_leave(store, store.health.name, {settings.collection, *collections})


def delete_files(hass: HomeAssistant) -> None:
    """Delete the files of the store and of cached vectors. Runs in the executor."""
    file_of(hass).delete()
    database_of(hass).delete()
