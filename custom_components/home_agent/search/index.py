"""The index of the home's entities, kept up to date, and the search in it.

Words are indexed in memory and in the background; states are not indexed. With an embedding endpoint each entity also has a
vector in the store.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
import re
import time
from typing import TYPE_CHECKING

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later, async_track_time_interval
from homeassistant.helpers.importlib import async_import_module
from homeassistant.helpers.start import async_at_started

from ..home.snapshot import Home, HomeSnapshot
from ..languages.vocabulary import Languages
from ..settings.search import CHROMA
from ..support.bounds import in_slices
from ..support.const import LOGGER
from ..support.errors import RetrievalError, StoreRefusedError
from ..turn import events
from .entity_documents import EntityDocument, async_entity_documents, entity_document
from .model import FoundEntity, Query, async_load_numpy
from .vectors import Counts, Vectors

if TYPE_CHECKING:
    from .ranking import Ranker


CATCH_UP = 1.0  # seconds that a search waits for the newest changes, or for the first index
RETRY = 60.0  # seconds until failed writes of vectors are repeated
LOOK_AGAIN = timedelta(hours=1)  # between checks that a server still has the vectors
MANY = 500  # changed entities above which the words are indexed anew, while the old index still answers
FOLLOW_UP = 120  # characters of a message that may continue the previous one

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """Figures of the index."""

    entities: int
    ready: bool
    vectors: bool  # whether entities have vectors at all
    vectors_current: bool
    build_ms: int  # milliseconds of the newest change


@dataclass(eq=False, slots=True)
class HomeIndex:
    """Finds the entities that a request is about; owned by the config entry."""

    _hass: HomeAssistant
    _entry: ConfigEntry
    _home: Home
    _vectors: Vectors
    _languages: Languages
    _documents: Mapping[str, EntityDocument] = field(default_factory=dict)
    _read: HomeSnapshot | None = None  # the indexed home
    _ranker: Ranker | None = None
    _ranking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _syncing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _synced: Mapping[str, EntityDocument] | None = None  # the documents in the store; None: unknown
    _words_task: asyncio.Task[None] | None = None
    _vectors_task: asyncio.Task[None] | None = None
    _cancel_retry: CALLBACK_TYPE | None = None
    _cancel_looks: CALLBACK_TYPE | None = None
    _ended: bool = False  # whether the entry was unloaded: running tasks start nothing new
    _by_hand: int = 0  # number of running actions, which write to the store themselves and return the result
    _build_ms: int = 0
    _anew: bool = False
    _asked: bool = False  # whether an update of the words is due
    _again: set[str] = field(default_factory=set)  # entities to read again without a known change
    _failed: bool = False  # whether the failure of the index was logged

    @callback
    def async_start(self) -> None:
        """Build the index once Home Assistant has started, and update it until the entry is unloaded."""

        @callback
        def changed(_now: object) -> None:
            self._update()

        @callback
        def started(_hass: HomeAssistant) -> None:
            self._entry.async_on_unload(self._home.async_listen(changed))
            self._update()

        @callback
        def end() -> None:
            self._ended = True
            self._stop_retry()
            self._stop_looks()

        self._entry.async_on_unload(async_at_started(self._hass, started))
        self._entry.async_on_unload(end)
        self._look_again()

    @callback
    def async_use(self, vectors: Vectors) -> None:
        """Write to and search in these vectors from now on; a search or an action that runs ends where it began."""
        self._vectors, self._synced = vectors, None
        if self._vectors_task is not None:
            self._vectors_task.cancel()
            self._vectors_task = None
        self._stop_retry()
        self._stop_looks()
        self._look_again()

    @callback
    def async_catch_up(self) -> None:
        """Give the store in the background what it does not have."""
        if self._read is not None and self._has_news_for_store:
            self._update_vectors()

    @callback
    def _look_again(self) -> None:
        """Check every hour what a server has: other programs may change or lose the vectors."""

        @callback
        def look(_now: object) -> None:
            self._synced = None
            self._update_vectors()

        if self._vectors.embeds and self._vectors.settings.store == CHROMA:
            self._cancel_looks = async_track_time_interval(self._hass, look, LOOK_AGAIN)

    @callback
    def _stop_looks(self) -> None:
        if self._cancel_looks is not None:
            self._cancel_looks()
            self._cancel_looks = None

    @property
    def report(self) -> IndexReport:
        """Return the figures of the index."""
        return IndexReport(
            entities=len(self._documents),
            ready=self._ranker is not None,
            vectors=self._vectors.embeds,
            vectors_current=self._vectors.embeds and self._synced is self._documents,
            build_ms=self._build_ms,
        )

    async def async_find(self, query: Query) -> list[FoundEntity]:
        """Return the best entities first, at most `query.limit` besides members of a named group.

        Before the first index, only literal names are found. Never raises for failures of a store or an endpoint.
        """
        snapshot = await self._home.async_get()
        if self._read is not snapshot:
            await asyncio.wait({self._update()}, timeout=CATCH_UP)
        if self._ranker is None:
            return await self._hass.async_add_executor_job(_named, snapshot, query)
        near, language = await asyncio.gather(self._async_near(query), self._languages.async_get(query.language))
        async with self._ranking:
            found = await self._hass.async_add_executor_job(self._ranker.rank, query, language, near)
        return [item for item in found if _may_be_found(item.entity_id, snapshot, query)]

    async def async_reindex(self, *, anew: bool = False) -> Counts:
        """Read the home again and update words and vectors; with `anew` all documents are embedded again.

        Raises `RetrievalError` if the vectors could not be written.
        """
        before = self._documents
        self._anew |= anew
        self._synced = None  # the store's documents are read again, too
        self._home.async_invalidate()
        counts = await self._async_by_hand(anew=anew)
        return counts or Counts.between(before, self._documents)

    async def async_index_entity(self, entity_id: str) -> EntityDocument | None:
        """Update one entity; return its document, None if it is not exposed. Raises `RetrievalError` from the store."""
        await self._home.async_look_at(entity_id)
        self._again.add(entity_id)
        await self._async_by_hand()
        return self._documents.get(entity_id)

    async def _async_by_hand(self, *, anew: bool = False) -> Counts | None:
        """Update words and vectors; return the counts of vectors, None without. Raises `RetrievalError`, and tries again later."""
        self._by_hand += 1
        try:
            await asyncio.shield(self._update())
            while (vectors := self._vectors).embeds:
                try:
                    return await self._async_sync(anew=anew)
                except RetrievalError:
                    if vectors is self._vectors:
                        self._retry_later()
                        raise
            return None
        finally:
            self._by_hand -= 1
            if self._has_news_for_store and self._cancel_retry is None:
                self._update_vectors()

    async def _async_near(self, query: Query) -> Sequence[str]:
        """Return the ids of at most `top_k` entities near by vector, nearest first; empty without a model."""
        vectors = self._vectors
        if not vectors.embeds:
            return ()
        began = time.perf_counter()
        follows = query.previous and len(query.text) <= FOLLOW_UP
        text = f"{query.previous}\n{query.text}" if follows else query.text
        name = vectors.settings.collection
        nearest = await vectors.async_nearest(text, (name,), vectors.settings.top_k)
        if not isinstance(found := nearest.get(name), list):
            if (
                name in nearest and self._documents and vectors is self._vectors
            ):  # unlike what was written, so that is compared again
                self._synced = None
                if found is None or isinstance(found, StoreRefusedError):  # emptied, or vectors of another length
                    self._update_vectors()
                else:  # unavailable
                    self._retry_later()
            return ()
        near = [match.id for match in found if match.id in self._documents and vectors.settings.is_near(match)]
        events.async_vector_db_queried(self._hass, {name: len(near)}, near, began)
        return near

    @callback
    def _update(self) -> asyncio.Task[None]:
        """Start an update of the words, or request another one if it is running; return the task."""
        self._asked = True
        if self._words_task is None or self._words_task.done():
            self._words_task = self._entry.async_create_background_task(
                self._hass, self._async_update_words(), "home_agent index of the home"
            )
        return self._words_task

    async def _async_update_words(self) -> None:
        while self._asked:
            self._asked = False
            again, self._again = self._again, set()
            if (snapshot := await self._home.async_get()) is self._read and not again:
                continue
            began = time.perf_counter()
            documents: Mapping[str, EntityDocument]
            if self._read is None or snapshot.areas is not self._read.areas:  # the whole home was read anew
                documents = await async_entity_documents(self._hass, snapshot)
            else:
                entities = (snapshot.entities[entity_id] for entity_id in again if entity_id in snapshot.entities)
                read = {item.entity_id: entity_document(self._hass, item, snapshot.areas) for item in entities}
                documents = {**self._documents, **read}
            gone, changed = _difference(self._documents, documents)
            try:
                if self._ranker is None or self._anew or len(gone) + len(changed) >= MANY:
                    self._anew = False
                    await async_load_numpy(self._hass)
                    ranking = await async_import_module(self._hass, f"{__package__}.ranking")
                    self._ranker = await self._hass.async_add_executor_job(ranking.Ranker, documents.values())
                else:
                    async with self._ranking:
                        await self._hass.async_add_executor_job(self._ranker.change, gone, changed)
            except RetrievalError as err:  # numpy is missing; literal names can still be found
                if not self._failed:
                    LOGGER.warning("The home cannot be indexed: %s", err)
                self._failed = True
            if documents != self._documents:  # else the store stays up to date
                self._documents = documents
            self._read = snapshot
            self._build_ms = round((time.perf_counter() - began) * 1000)
        if self._has_news_for_store and not self._by_hand:
            self._update_vectors()

    @property
    def _has_news_for_store(self) -> bool:
        """Return whether the store is outdated; without vectors it is emptied once, as there may be old ones."""
        return self._synced is None or (self._vectors.embeds and self._synced is not self._documents)

    @callback
    def _update_vectors(self, _now: object = None) -> None:
        self._stop_retry()

        async def update() -> None:
            while self._has_news_for_store:
                vectors = self._vectors
                try:
                    await self._async_sync()
                except RetrievalError:  # reported where it was raised
                    if vectors is self._vectors:
                        self._retry_later()
                        return

        if not self._ended and (self._vectors_task is None or self._vectors_task.done()):
            self._vectors_task = self._entry.async_create_background_task(
                self._hass, update(), "home_agent vectors of the home"
            )

    async def _async_sync(self, *, anew: bool = False) -> Counts:
        """Write changed documents to the store, which is only read if its documents are unknown; return the counts.

        Raises `RetrievalError`.
        """
        async with self._syncing:
            vectors, entities, has = self._vectors, self._documents, None if anew else self._synced
            name = vectors.settings.collection
            progress = events.IndexProgress(self._hass, name)
            try:
                if anew:
                    await vectors.embedder.async_forget()
                counts = None
                if has and entities:
                    gone, changed = _difference(has, entities)
                    documents = [item.document() async for item in in_slices(changed)]
                    with suppress(StoreRefusedError):  # then all documents are compared
                        await vectors.async_change(name, documents, gone, progress.async_advance)
                        counts = Counts.between(has, entities)
                if counts is None:
                    wanted = entities.values() if vectors.embeds else ()
                    all_of_them = {item.entity_id: item.document() async for item in in_slices(wanted)}
                    counts = await vectors.async_sync(name, all_of_them, progress.async_advance, anew=anew)
            except BaseException as err:
                self._synced = None
                progress.async_end("failed")
                if vectors.embeds or not isinstance(err, StoreRefusedError):
                    raise
                counts = Counts()  # nothing of ours is in another program's collection
            else:
                progress.async_end("completed")
            if vectors is self._vectors:
                self._synced = entities
            return counts

    @callback
    def _retry_later(self) -> None:
        if self._cancel_retry is None and not self._ended:
            self._cancel_retry = async_call_later(self._hass, RETRY, self._update_vectors)

    @callback
    def _stop_retry(self) -> None:
        if self._cancel_retry is not None:
            self._cancel_retry()
            self._cancel_retry = None


def _difference(
    before: Mapping[str, EntityDocument], after: Mapping[str, EntityDocument]
) -> tuple[list[str], list[EntityDocument]]:
    """Return the ids that are gone, and the new or changed documents."""
    gone = [key for key in before if key not in after]
    return gone, [item for key, item in after.items() if (old := before.get(key)) is not item and old != item]


def _named(snapshot: HomeSnapshot, query: Query) -> list[FoundEntity]:
    """Return the entities whose names the request has literally, then those in named areas, the smallest first."""
    spoken = f" {' '.join(_WORD.findall(query.text.casefold()))} "

    def places(names: Iterable[str]) -> list[int]:
        said = (" ".join(_WORD.findall(name.casefold())) for name in names)
        return [place for name in said if name and (place := spoken.find(f" {name} ")) >= 0]

    by_area: dict[str | None, list[str]] = {}
    named: list[tuple[int, int, list[str]]] = []  # number of entities, position of the name, entities
    for entity in snapshot.entities.values():
        by_area.setdefault(entity.area_id, []).append(entity.entity_id)
        named += [(1, place, [entity.entity_id]) for place in places(entity.names)]
    for area in snapshot.areas.values():
        inside = by_area.get(area.area_id, [])
        named += [(len(inside), place, inside) for place in places(area.names)]
    said = dict.fromkeys(entity_id for _, _, ids in sorted(named, key=lambda item: item[:2]) for entity_id in ids)
    found = [entity_id for entity_id in said if _may_be_found(entity_id, snapshot, query)][: query.limit]
    return [FoundEntity(entity_id=entity_id, score=1 / (1 + place)) for place, entity_id in enumerate(found)]


def _may_be_found(entity_id: str, snapshot: HomeSnapshot, query: Query) -> bool:
    return entity_id in snapshot.entities and (query.allowed is None or query.allowed(entity_id))
