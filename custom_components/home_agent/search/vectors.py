"""Documents and their copies in a store: what is embedded again, what leaves, what is near to a text."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
import time
from typing import Self

from homeassistant.core import HomeAssistant

from ..settings.search import CHROMA, ENDPOINT, DocumentMatch, RetrievalSettings
from ..support.const import LOGGER
from ..support.errors import EmbeddingError, RetrievalError, StoreError, StoreRefusedError
from ..support.issues import RetrievalIssues
from .chroma_store import ChromaStore
from .embedded_store import EmbeddedStore, file_of
from .embeddings import EndpointEmbedder, NoEmbedder, database_of
from .model import Document

BATCH = 64  # documents embedded and written at a time
QUERY_TIMEOUT = 1.5  # seconds; who asks is waiting, and what is found by words is there already
LEAVE_TIMEOUT = 10.0  # seconds for all collections of a store that is used no longer: the form of the settings waits
PAUSE = 20.0  # seconds after a query that took too long in which no turn waits for another one

OTHER_LENGTH = "store_dimension"
"""What a store says of vectors that are longer or shorter than those it has."""

type Store = EmbeddedStore | ChromaStore
"""Where documents and their vectors are kept, in collections of one vector length each; its methods do the same in both.

A collection is made with its first document. The key that is given with vectors names what made them (`Embedder.key`): the
same key with another length is refused, for what is there has to be dropped and made anew as a whole. Every method raises
`StoreError` when the store cannot be reached or read, its subclass `StoreRefusedError` when the collection's vectors have
another length, or when another program made it and it was to be changed.
"""
type Embedder = EndpointEmbedder | NoEmbedder
"""What turns text into vectors; vectors of different keys are never compared. Vectors have one row per text, of length 1."""
type Progress = Callable[[int, int], None]
"""Called with how many documents are written and how many there are to write."""
type FoundByCollection = Mapping[str, list[DocumentMatch] | RetrievalError | None]
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

    @classmethod
    def from_settings(cls, hass: HomeAssistant, settings: RetrievalSettings, reporter: RetrievalIssues) -> Self:
        """Return the store and the embedder that the owner chose; nothing is opened, loaded or asked yet."""
        embeds = settings.embedding == ENDPOINT
        embedder = EndpointEmbedder(hass, settings, reporter) if embeds else NoEmbedder(hass)
        return cls(make_store(hass, settings, reporter), embedder)

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
            await store.async_drop(collection)  # any key may have made its vectors
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
        """Remove from a collection what is not among these, whatever made its vectors; nothing is embedded. Raises `RetrievalError`."""
        store = await self.async_open()
        known = [document.id for document in await store.async_documents(collection)]
        if gone := [item for item in known if item not in ids]:
            await store.async_delete(collection, gone)

    async def async_change(
        self,
        collection: str,
        documents: Sequence[Document],
        gone: Sequence[str],
        progress: Progress | None = None,
    ) -> None:
        """Write documents to a collection and remove others; what else is there stays. Raises `RetrievalError`."""
        store = await self.async_open()
        await store.async_delete(collection, gone)
        await self._async_write_all(collection, documents, progress)

    async def _async_write_all(self, collection: str, documents: Sequence[Document], progress: Progress | None) -> None:
        for start in range(0, len(documents), BATCH):
            await self._async_write(collection, documents[start : start + BATCH])
            if progress:
                progress(min(start + BATCH, len(documents)), len(documents))

    async def _async_write(self, collection: str, documents: Sequence[Document]) -> None:
        vectors = await self.embedder.async_embed([document.text for document in documents])
        if len(vectors) != len(documents):
            raise EmbeddingError(endpoint=self.embedder.key, detail=f"{len(vectors)}/{len(documents)}")
        async with self._writing:
            if self._ended:  # an action may have begun this that does not end with the entry
                raise StoreError("store_closed")
            await self.store.async_upsert(collection, documents, vectors, self.embedder.key)

    async def async_nearest(self, text: str, collections: Sequence[str], limit: int) -> FoundByCollection:
        """Return the nearest documents of each collection; nothing while the embedder is away, or either takes too long."""
        if not text.strip() or time.monotonic() < self._slow_until:
            return {}
        try:
            async with asyncio.timeout(QUERY_TIMEOUT):
                await self.async_open()
                vector = [float(value) for value in (await self.embedder.async_embed([text], within=QUERY_TIMEOUT))[0]]
                return {name: await self._async_query(name, vector, limit) for name in collections}
        except RetrievalError:  # logged where it was raised
            return {}
        except TimeoutError:
            LOGGER.warning("Vectors took longer than %s s and are left out for %s s", QUERY_TIMEOUT, PAUSE)
            self._slow_until = time.monotonic() + PAUSE
            return {}

    async def _async_query(
        self, collection: str, vector: Sequence[float], limit: int
    ) -> list[DocumentMatch] | RetrievalError | None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """How store and embedding are doing, for diagnostics and system health: counts and kinds of errors, no texts."""

    store: str
    """`embedded` or `chroma`."""
    embedding: str
    """`lexical`, or the model."""
    collections: dict[str, int] | None
    """Number of documents by collection; None: the store cannot be asked."""
    store_error: str | None
    """Key of the error that the store answers with, None when it works."""
    embedding_error: str | None
    """Key of the newest error of the model, None when it worked the last time, or was not asked yet."""

    @property
    def documents(self) -> int | None:
        """Number of documents in all collections."""
        return None if self.collections is None else sum(self.collections.values())


async def async_report(vectors: Vectors, settings: RetrievalSettings) -> StoreReport:
    """Ask the store, and look at how the model did."""
    collections: dict[str, int] | None = None
    error: str | None = None
    try:
        collections = await (await vectors.async_open()).async_collections()
    except RetrievalError as err:
        error = err.translation_key
    health = vectors.embedder.health
    return StoreReport(
        store=settings.store,
        embedding=settings.embedding_model if settings.embedding == ENDPOINT else settings.embedding,
        collections=collections,
        store_error=error,
        embedding_error=health.last_error.translation_key if health and health.last_error else None,
    )


def make_store(hass: HomeAssistant, settings: RetrievalSettings, reporter: RetrievalIssues) -> Store:
    """Return the store; nothing is opened or asked yet."""
    if settings.store == CHROMA:
        return ChromaStore(hass, settings, reporter)
    return EmbeddedStore(hass, reporter)


async def async_leave(store: Store, title: str, collections: Iterable[str]) -> None:
    """Delete collections of ours. Never raises: what is on a server that is away stays there, and the log says so."""
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
    """Delete what was written to the server of the settings, if there is one. Never raises."""
    if settings.store == CHROMA:
        store = ChromaStore(hass, settings, RetrievalIssues(None))
        await async_leave(store, store.health.name, {settings.collection, *collections})


def delete_files(hass: HomeAssistant) -> None:
    """Delete the files of the index and of paid vectors. Runs in the executor."""
    file_of(hass).delete()
    database_of(hass).delete()
