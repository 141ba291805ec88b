"""The owner's documents and what is found in them.

Truth is the folder `home_agent/knowledge` in the configuration and what actions added, kept in Home Assistant's storage; a
store only has copies with vectors, and the text of files so that a start does not read them all again. Without an embedding
model passages are found by their words.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
import time

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.start import async_at_started

from .. import events
from ..const import LOGGER
from ..errors import KnowledgeError, RetrievalError
from ..retrieval.base import Document
from ..retrieval.index import FOLLOW_UP
from ..retrieval.language import Languages
from ..retrieval.settings import CHROMA, EMBEDDED, RetrievalSettings, is_collection_name
from ..retrieval.vectors import Counts, Vectors
from ..storage import Report
from . import pdf
from .added import added_to
from .document import (
    ORIGIN,
    Entry,
    documents_of,
    entry_of_file,
    file_key,
    in_order,
    is_whole,
    mark_of,
    passages_of,
    readable,
)
from .files import MAX_FILES, PDF, files_in, sections_of
from .others import Others
from .passage import Passage
from .passages import Section
from .search import Search, Skipped

FOLDER = ("home_agent", "knowledge")
RESCAN = timedelta(minutes=5)
MAX_PASSAGES = 50_000  # of all documents; they are kept in memory, about 1 kB each
COMPARE = 3600.0  # seconds until a server is asked whether it still has what was written to it
READ_TIMEOUT = 150  # seconds for one file; one page of a broken one can take for ever, and all others would wait


class Knowledge:
    """Keeps the owner's documents current and finds passages in them; owned by the config entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry,
        vectors: Vectors,
        settings: RetrievalSettings,
        languages: Languages,
        report: Report,
    ) -> None:
        """Start empty. `report` is told of a file that cannot be used."""
        self._hass = hass
        self._entry = entry
        self._vectors = vectors
        self._settings = settings
        self._languages = languages
        self._added = added_to(hass)
        self._file = self._added.open(report)
        self._is_read = False
        """Whether what actions added was read."""
        self._marks: dict[str, str] = {}
        """What each document looked like when it was read, by key; of those that cannot be used as well."""
        self._documents: dict[str, tuple[Document, ...]] = {}
        self._left_out = 0
        """Files beyond those that are read."""
        self._failed: dict[str, KnowledgeError] = {}
        """Why documents cannot be used, by key."""
        self._collections: dict[str, dict[str, Document]] = {}
        """All passages by collection and id."""
        self._synced: dict[str, Mapping[str, Document]] = {}
        """What the store has, by collection."""
        self._compared = time.monotonic()
        """When it was last asked what a server has."""
        self._refreshing = asyncio.Lock()
        self._sync_task: asyncio.Task[None] | None = None
        skipped = Skipped()
        self._search = Search(vectors, settings, skipped)
        self._others = Others(vectors, settings, skipped)
        self.folder = Path(hass.config.path(*FOLDER))

    def async_start(self) -> None:
        """Read the documents once Home Assistant has started, and look for changes until the entry is unloaded."""

        @callback
        def look(_now: datetime | HomeAssistant) -> None:
            self._entry.async_create_background_task(self._hass, self.async_refresh(), "home_agent knowledge")

        self._entry.async_on_unload(async_at_started(self._hass, look))
        self._entry.async_on_unload(async_track_time_interval(self._hass, look, RESCAN))
        self._entry.async_on_unload(self._file.async_close)
        self._added.follow(self.async_refresh)

    @property
    def filled(self) -> set[str]:
        """Return the collections of the store that hold, or may hold, something of ours."""
        return self._added.filled

    @property
    def counts(self) -> dict[str, int]:
        """Return how many documents and passages there are, and how many documents cannot be used."""
        passages = sum(len(documents) for documents in self._documents.values())
        return {"documents": len(self._documents), "passages": passages, "failed": len(self._failed)}

    async def async_find(
        self, text: str, limit: int | None = None, *, language: str = "en", previous: str = ""
    ) -> list[Passage]:
        """Return what is nearest to the text, nearest first, at most `limit` (default: the owner's setting).

        A short text that finds nothing is read together with what was said before (`previous`). Never raises for a store
        or an endpoint that is away: passages are then found by their words.
        """
        if self._search.is_empty:
            return []
        fillers = (await self._languages.async_get(language)).fillers
        most = limit or self._settings.additional_top_k
        found = await self._search.async_find(self._hass, text, most, fillers)
        if not found and previous and len(text) <= FOLLOW_UP:
            found = await self._search.async_find(self._hass, f"{previous} {text}", most, fillers)
        self._doubt(self._search.take_doubts())
        return found

    @callback
    def _doubt(self, collections: Mapping[str, RetrievalError | None]) -> None:
        """Compare collections with the documents again, after answers that do not fit what was written to them."""
        for name in collections:
            self._synced.pop(name, None)
        if any(
            error is None for error in collections.values()
        ):  # gone; a store that is away is asked with a later refresh
            self._start_sync()

    async def async_add(self, entry: Entry) -> tuple[Document, ...]:
        """Add a document, or replace the one with its key; return its passages.

        Raises `KnowledgeError` when it cannot be used; what was there under its key stays then.
        """
        if entry.collection == self._settings.collection or not is_collection_name(entry.collection):
            raise KnowledgeError("knowledge_collection", path=entry.collection)
        with self._added.changing():
            passages = await self._async_add(entry)
        await self._added.async_tell(self.async_refresh)  # the entry may have been loaded anew meanwhile
        return passages

    async def _async_add(self, entry: Entry) -> tuple[Document, ...]:
        entries = await self._async_entries()
        before = entries.get(entry.key)
        entries[entry.key] = entry
        try:
            await self.async_refresh()
        except BaseException:
            _put_back(entries, entry.key, before)
            raise
        if not self._documents.get(entry.key):
            error = self._failed.get(entry.key) or KnowledgeError("knowledge_empty", path=entry.title)
            _put_back(entries, entry.key, before)
            await self.async_refresh()
            raise error
        passages = self._documents[entry.key]
        await self._added.async_write()
        return passages

    async def async_remove(self, key: str) -> int:
        """Remove a document that an action added; return how many passages it had. Raises `KnowledgeError`."""
        with self._added.changing():
            entries = await self._async_entries()
            if key not in entries:
                raise KnowledgeError("knowledge_no_document", path=key)
            del entries[key]
            await self._added.async_write()
        passages = len(self._documents.get(key, ()))
        await self.async_refresh()
        await self._added.async_tell(self.async_refresh)
        return passages

    async def async_refresh(self) -> Counts:
        """Read what is new or has changed, and let go of what is gone; return what became of the documents.

        They can be found by their words then. The store gets its copies in the background; one that is away, with a later
        refresh.
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
            if await self._others.async_refresh(self._hass, own) or changed or before.keys() - marks.keys():
                await self._async_renew({key: entry for key, (entry, _) in wanted.items()})
        if self._settings.store == CHROMA and time.monotonic() - self._compared > COMPARE:  # others may change it
            self._compared = time.monotonic()
            self._synced = {name: {} for name in self.filled}
        self._start_sync()
        return Counts.between(before, marks)

    @callback
    def _start_sync(self) -> None:
        if self._collections != self._synced and (self._sync_task is None or self._sync_task.done()):
            self._sync_task = self._entry.async_create_background_task(
                self._hass, self._async_sync(), "home_agent vectors of documents"
            )

    async def _async_wanted(self) -> dict[str, tuple[Entry, str]]:
        """Return all documents there should be, with what they look like now."""
        entries = await self._async_entries()
        files = await self._hass.async_add_executor_job(files_in, self.folder)
        wanted: dict[str, tuple[Entry, str]] = {}
        self._say_left_out(max(0, len(files) - MAX_FILES))
        for path, stamp in islice(files.items(), MAX_FILES):
            entry = entries.get(file_key(path)) or entry_of_file(path)
            wanted[entry.key] = entry, mark_of(entry, str(stamp))
        return wanted | {key: (entry, mark_of(entry, "")) for key, entry in entries.items() if not entry.path}

    def _say_left_out(self, count: int) -> None:
        """Log how many files are not read, when that changed."""
        if count and count != self._left_out:
            LOGGER.warning("%s documents are left out: no more than %s files are read", count, MAX_FILES)
        self._left_out = count

    async def _async_read(
        self, documents: Mapping[str, tuple[Entry, str]], kept: Mapping[str, Sequence[Document]]
    ) -> None:
        for key, (entry, mark) in documents.items():
            self._forget(key)
            try:
                self._documents[key] = await self._async_passages(entry, mark, in_order(kept.get(key, ())))
            except KnowledgeError as err:
                self._failed[key] = err
                LOGGER.warning("A document cannot be used: %s", readable(str(err)))
            self._marks[key] = mark  # only now: what is broken off here is read with the next refresh

    def _forget(self, key: str) -> None:
        self._marks.pop(key, None)
        self._documents.pop(key, None)
        self._failed.pop(key, None)

    async def _async_passages(self, entry: Entry, mark: str, kept: tuple[Document, ...]) -> tuple[Document, ...]:
        """Return the passages of a document: those that are kept if it still looks like that. Raises `KnowledgeError`."""
        if not (kept and is_whole(kept, mark)):
            sections = await self._async_sections(entry)
            kept = await self._hass.async_add_executor_job(documents_of, entry, sections, mark)
        if not kept:
            raise KnowledgeError("knowledge_empty", path=entry.path or entry.title)
        if len(kept) + sum(map(len, self._documents.values())) > MAX_PASSAGES:
            raise KnowledgeError("knowledge_full", path=entry.path or entry.title, limit=str(MAX_PASSAGES))
        return kept

    async def _async_sections(self, entry: Entry) -> list[Section]:
        if not entry.path:
            return [Section(entry.text)]
        if entry.path.casefold().endswith(PDF):
            await pdf.async_load(self._hass)
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                language = self._hass.config.language
                return await self._hass.async_add_executor_job(sections_of, self.folder, entry.path, language)
        except TimeoutError as err:
            raise KnowledgeError("knowledge_unreadable", path=entry.path, detail=type(err).__name__) from err

    async def _async_kept(self) -> dict[str, list[Document]]:
        """Return the passages by document as the embedded store has them; nobody else writes that one."""
        kept: dict[str, list[Document]] = {}
        if self._settings.store != EMBEDDED:
            return kept
        try:
            store = await self._vectors.async_open()
            for name in await store.async_collections():
                if name != self._settings.collection:
                    for document in await store.async_documents(name):
                        kept.setdefault(str(document.metadata.get(ORIGIN)), []).append(document)
        except RetrievalError:
            return {}
        return kept

    async def _async_renew(self, entries: Mapping[str, Entry]) -> None:
        """Let searches find what there is now."""
        self._collections = {}
        for key, documents in self._documents.items():
            own = self._collections.setdefault(entries[key].collection, {})
            own.update((document.id, document) for document in documents)
        pairs = [(entries[key], documents) for key, documents in self._documents.items()]
        found = await self._hass.async_add_executor_job(passages_of, pairs)
        await self._search.async_renew(self._hass, found | self._others.passages, self._collections)

    async def _async_sync(self) -> None:
        """Give the store what it does not have, until nothing has changed meanwhile."""
        while due := [name for name in self._collections | self._synced if self._is_due(name)]:
            for name in due:
                documents = self._collections.get(name, {})
                progress = events.IndexProgress(self._hass, name)
                if documents:
                    await self._added.async_note(name, filled=True)
                try:
                    await self._vectors.async_sync(name, documents, progress.async_advance)
                except RetrievalError:  # who raised it has told the owner
                    progress.async_end("failed")
                    return
                progress.async_end("completed")
                self._synced[name] = documents
                if not documents:
                    del self._synced[name]
                    await self._added.async_note(name, filled=False)

    def _is_due(self, collection: str) -> bool:
        return self._synced.get(collection) != self._collections.get(collection)

    async def _async_entries(self) -> dict[str, Entry]:
        entries = await self._added.async_entries()
        if not self._is_read:
            self._is_read = True
            self._synced = {name: {} for name in self.filled} | self._synced  # nobody knows with what
        return entries


def _put_back(entries: dict[str, Entry], key: str, before: Entry | None) -> None:
    entries.pop(key, None)
    if before is not None:
        entries[key] = before
