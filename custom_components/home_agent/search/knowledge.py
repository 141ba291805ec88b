"""The owner's documents, and the search in them.

They are the files of `home_agent/knowledge` in the configuration, and texts that actions added to Home Assistant's storage. A
store has copies with vectors, so that a start does not read all files again. Without an embedding model, words are searched.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
import time
from typing import override

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started

from ..languages.vocabulary import Languages
from ..settings.search import CHROMA, EMBEDDED, RetrievalSettings, is_collection_name
from ..support.const import LOGGER
from ..support.encoding import plain_text
from ..support.errors import KnowledgeError, RetrievalError
from ..support.kept import Kept, kept_of
from ..support.storage import Content, StoredFile
from ..turn import events
from . import files
from .files import MAX_FILES, PDF, files_in, sections_of
from .index import FOLLOW_UP
from .model import Document
from .passage_search import PassageSearch
from .passages import (
    COUNT,
    ORIGIN,
    STAMP,
    AddedDocument,
    DocumentSection,
    Passage,
    documents_of,
    entry_of_file,
    file_key,
    mark_of,
    passages_of,
)
from .vectors import Counts, Vectors

FOLDER = ("home_agent", "knowledge")
RESCAN = timedelta(minutes=5)
MAX_PASSAGES = 50_000  # of all documents; they are kept in memory, about 1 kB each
COMPARE = 3600.0  # seconds until a server is asked whether it still has what was written to it
READ_TIMEOUT = 150  # seconds for one file; one page of a broken one can take for ever, and all others would wait


class AddedDocuments(Kept[AddedDocument]):
    """Documents that actions added, and the collections of the store that we filled.

    An action may outlive its entry; the entry that is loaded then reads the documents again.
    """

    file = "knowledge"
    row = AddedDocument
    items = "documents"
    longest = 250_000
    reads_late = True

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass)
        self.filled: frozenset[str] = frozenset()
        """Collections of the store that we filled or began to fill; kept until they are emptied."""
        self.follow: Callable[[], Awaitable[object]] | None = None
        """Reads the documents anew for the entry that was loaded last."""

    @override
    def key(self, row: AddedDocument) -> str:
        return row.key

    @override
    async def async_read(self, file: StoredFile) -> Iterable[AddedDocument]:
        def collections(content: Content) -> set[str]:
            kept = content.get("collections")
            return {name for name in kept if isinstance(name, str)} if isinstance(kept, list) else set()

        self.filled |= await file.async_load(collections) or set()
        return await super().async_read(file)

    @override
    def content(self) -> Content:
        return {**super().content(), "collections": sorted(self.filled)}

    @property
    @override
    def counts(self) -> dict[str, int]:
        return {"documents": len(self._rows), "collections": len(self.filled)}

    @property
    def entries(self) -> Mapping[Hashable, AddedDocument]:
        """The documents by key."""
        return self._rows

    async def async_note(self, collection: str, *, filled: bool) -> None:
        """Store whether a collection is filled."""
        if (collection in self.filled) is not filled:
            self.filled ^= {collection}
            await self.async_write()


@dataclass(eq=False)
class Knowledge:
    """Keeps the owner's documents current and finds passages in them; owned by the config entry."""

    _hass: HomeAssistant
    _entry: ConfigEntry
    _vectors: Vectors
    _languages: Languages
    _of_memory: str  # the collection of the memory, which holds no documents
    _is_read: bool = False  # whether what actions added was read
    _marks: dict[str, str] = field(default_factory=dict)
    """What each document looked like when it was read, by key; of those that cannot be used as well."""
    _documents: dict[str, tuple[Document, ...]] = field(default_factory=dict)
    _left_out: int = 0  # files beyond those that are read
    _failed: dict[str, KnowledgeError] = field(default_factory=dict)  # why documents cannot be used, by key
    _collections: dict[str, dict[str, Document]] = field(default_factory=dict)  # all passages by collection and id
    _synced: dict[str, Mapping[str, Document]] = field(default_factory=dict)  # what the store has, by collection
    _compared: float = field(default_factory=time.monotonic)  # when it was last asked what a server has
    _refreshing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sync_task: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        """Start empty."""
        self.added = kept_of(self._hass, AddedDocuments)
        self.search = PassageSearch(self._hass, self._vectors)
        self.folder = Path(self._hass.config.path(*FOLDER))

    def async_start(self) -> None:
        """Read the documents once Home Assistant has started, and look for changes until the entry is unloaded."""

        @callback
        def look(_now: datetime | HomeAssistant) -> None:
            self._entry.async_create_background_task(self._hass, self.async_refresh(), "home_agent knowledge")

        self._entry.async_on_unload(async_at_started(self._hass, look))
        self._entry.async_on_unload(async_track_time_interval(self._hass, look, RESCAN))
        self.added.follow = self.async_refresh

    @callback
    def async_use(self, vectors: Vectors, of_memory: str) -> None:
        """Write to and search in these vectors from now on, with their limits; a search that runs ends where it began."""
        self._of_memory = of_memory
        if vectors is not self._vectors:
            self._vectors = vectors
            if self._sync_task is not None:
                self._sync_task.cancel()
                self._sync_task = None
            self._synced = {name: {} for name in self.added.filled}  # it is not known with what
        self.search.async_use(vectors)

    @callback
    def async_catch_up(self) -> None:
        """Give the store in the background what it does not have, and read the additional collections."""
        if self._is_read:
            self._entry.async_create_background_task(self._hass, self.async_refresh(), "home_agent knowledge")

    @property
    def _settings(self) -> RetrievalSettings:
        return self._vectors.settings

    @property
    def counts(self) -> dict[str, int]:
        """Return how many documents and passages there are, and how many documents cannot be used."""
        passages = sum(len(documents) for documents in self._documents.values())
        return {"documents": len(self._documents), "passages": passages, "failed": len(self._failed)}

    async def async_find(
        self, text: str, limit: int | None = None, *, language: str = "en", previous: str = ""
    ) -> list[Passage]:
        """Return the passages nearest to a text, nearest first, at most `limit` (default: the owner's setting).

        If a short text finds nothing, the `previous` message is added. Never raises for an unavailable store or endpoint.
        """
        if self.search.is_empty:
            return []
        fillers = (await self._languages.async_get(language)).fillers
        most = limit or self._settings.additional_top_k
        found = await self.search.async_find(text, most, fillers)
        if not found and previous and len(text) <= FOLLOW_UP:
            found = await self.search.async_find(f"{previous} {text}", most, fillers)
        doubts = self.search.take_doubts()  # answers that do not fit what was written: it is compared again
        for name in doubts:
            self._synced.pop(name, None)
        if None in doubts.values():  # gone; a store that is away is asked with a later refresh
            self._start_sync()
        return found

    async def async_add(self, entry: AddedDocument) -> tuple[Document, ...]:
        """Add or replace a document; return its passages. Raises `KnowledgeError` if it is unusable; the old one stays then."""
        if entry.collection in (self._settings.collection, self._of_memory) or not is_collection_name(entry.collection):
            raise KnowledgeError("knowledge_collection", path=entry.collection)
        before = (await self._async_entries()).get(entry.key)
        self.added.put(entry)
        passages: tuple[Document, ...] = ()
        try:
            await self.async_refresh()
            passages = self._documents.get(entry.key, ())
        finally:
            if not passages and before is None:
                self.added.drop([entry])
            elif not passages and before is not None:
                self.added.put(before)
        if not passages:
            error = self._failed.get(entry.key) or KnowledgeError("knowledge_empty", path=entry.title)
            await self.async_refresh()
            raise error
        await self._async_written()
        return passages

    async def async_remove(self, key: str) -> int:
        """Remove a document that an action added; return how many passages it had. Raises `KnowledgeError`."""
        if (entry := (await self._async_entries()).get(key)) is None:
            raise KnowledgeError("knowledge_no_document", path=key)
        passages = len(self._documents.get(key, ()))
        self.added.drop([entry])
        await self._async_written()
        await self.async_refresh()
        return passages

    async def _async_written(self) -> None:
        """Write changes; another entry that is loaded by now reads them."""
        await self.added.async_write()
        if self.added.follow is not None and self.added.follow != self.async_refresh:
            await self.added.follow()

    async def async_refresh(self) -> Counts:
        """Read new and changed documents, and drop missing ones; return the counts.

        They can be found by words then. The store is written in the background, after a failure with a later refresh.
        """
        async with self._refreshing:
            wanted = await self._async_wanted()
            marks = {key: mark for key, (_, mark) in wanted.items()}
            before = dict(self._marks)
            for key in before.keys() - marks.keys():
                self._forget(key)
            changed = {key: wanted[key] for key, mark in marks.items() if before.get(key) != mark}
            if changed:
                await self._async_read(changed, await self._async_kept() if not before else {})
            own = {wanted[key][0].collection for key in self._documents}
            if await self.search.async_read_external(own) or changed or before.keys() - marks.keys():
                await self._async_renew({key: entry for key, (entry, _) in wanted.items()})
        if self._settings.store == CHROMA and time.monotonic() - self._compared > COMPARE:  # others may change it
            self._compared = time.monotonic()
            self._synced = {name: {} for name in self.added.filled}
        self._start_sync()
        return Counts.between(before, marks)

    @callback
    def _start_sync(self) -> None:
        if self._collections != self._synced and (self._sync_task is None or self._sync_task.done()):
            self._sync_task = self._entry.async_create_background_task(
                self._hass, self._async_sync(), "home_agent vectors of documents"
            )

    async def _async_wanted(self) -> dict[str, tuple[AddedDocument, str]]:
        """Return all documents with their present marks, by key."""
        entries = await self._async_entries()
        files = await self._hass.async_add_executor_job(files_in, self.folder)
        wanted: dict[str, tuple[AddedDocument, str]] = {}
        left_out = max(0, len(files) - MAX_FILES)
        if left_out and left_out != self._left_out:
            LOGGER.warning("%s documents are left out: no more than %s files are read", left_out, MAX_FILES)
        self._left_out = left_out
        for path, stamp in islice(files.items(), MAX_FILES):
            entry = entries.get(file_key(path)) or entry_of_file(path)
            wanted[entry.key] = entry, mark_of(entry, stamp)
        return wanted | {entry.key: (entry, mark_of(entry, "")) for entry in entries.values() if not entry.path}

    async def _async_read(
        self, documents: Mapping[str, tuple[AddedDocument, str]], kept: Mapping[str, Sequence[Document]]
    ) -> None:
        for key, (entry, mark) in documents.items():
            self._forget(key)
            try:
                self._documents[key] = await self._async_passages(entry, mark, kept.get(key, ()))
            except KnowledgeError as err:
                self._failed[key] = err
                LOGGER.warning("A document cannot be used: %s", plain_text(str(err)))
            self._marks[key] = mark  # only now: what is broken off here is read with the next refresh

    def _forget(self, key: str) -> None:
        self._marks.pop(key, None)
        self._documents.pop(key, None)
        self._failed.pop(key, None)

    async def _async_passages(self, entry: AddedDocument, mark: str, known: Sequence[Document]) -> tuple[Document, ...]:
        """Return the passages of a document: the stored ones if its mark is the same. Raises `KnowledgeError`."""
        kept = tuple(sorted(known, key=lambda item: int(item.id.rpartition("-")[2])))
        whole = all(item.metadata.get(STAMP) == mark and item.metadata.get(COUNT) == len(kept) for item in kept)
        if not kept or not whole:
            sections = await self._async_sections(entry) if entry.path else [DocumentSection(entry.text)]
            kept = await self._hass.async_add_executor_job(documents_of, entry, sections, mark)
        if not kept:
            raise KnowledgeError("knowledge_empty", path=entry.path or entry.title)
        if len(kept) + sum(map(len, self._documents.values())) > MAX_PASSAGES:
            raise KnowledgeError("knowledge_full", path=entry.path or entry.title, limit=str(MAX_PASSAGES))
        return kept

    async def _async_sections(self, entry: AddedDocument) -> list[DocumentSection]:
        if entry.path.casefold().endswith(PDF):
            await files.async_load_pdf_library(self._hass)
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                language = self._hass.config.language
                return await self._hass.async_add_executor_job(sections_of, self.folder, entry.path, language)
        except TimeoutError as err:
            raise KnowledgeError("knowledge_unreadable", path=entry.path, detail=type(err).__name__) from err

    async def _async_kept(self) -> dict[str, list[Document]]:
        """Return the passages in the embedded store by document; empty for a server, which other programs write to."""
        kept: dict[str, list[Document]] = {}
        if self._settings.store != EMBEDDED:
            return {}
        try:
            store = await self._vectors.async_open()
            for name in await store.async_collections():
                if name != self._settings.collection:
                    for document in await store.async_documents(name):
                        kept.setdefault(str(document.metadata.get(ORIGIN)), []).append(document)
        except RetrievalError:
            return {}
        return kept

    async def _async_renew(self, entries: Mapping[str, AddedDocument]) -> None:
        self._collections = {}
        pairs = [(entries[key], documents) for key, documents in self._documents.items()]
        for entry, documents in pairs:
            self._collections.setdefault(entry.collection, {}).update((item.id, item) for item in documents)
        found = await self._hass.async_add_executor_job(passages_of, pairs)
        await self.search.async_renew(found, self._collections)

    async def _async_sync(self) -> None:
        """Write changes to the store until there are none."""
        while due := [
            name for name in self._collections | self._synced if self._synced.get(name) != self._collections.get(name)
        ]:
            for name in due:
                documents = self._collections.get(name, {})
                progress = events.IndexProgress(self._hass, name)
                if documents:
                    await self.added.async_note(name, filled=True)
                try:
                    await self._vectors.async_sync(name, documents, progress.async_advance)
                except RetrievalError:  # reported where it was raised
                    progress.async_end("failed")
                    return
                progress.async_end("completed")
                self._synced[name] = documents
                if not documents:
                    del self._synced[name]
                    await self.added.async_note(name, filled=False)

    async def _async_entries(self) -> Mapping[Hashable, AddedDocument]:
        await self.added.async_load()
        if not self._is_read:
            self._is_read = True
            self._synced = {name: {} for name in self.added.filled} | self._synced  # it is not known with what
        return self.added.entries
