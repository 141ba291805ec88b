"""The index of the home: what can be found of it, kept current, and the search.

Words are indexed in memory, in the background once Home Assistant has started, and again for what changed a moment after a
registry, an exposure or an alias did. No state is in the index, so none changes it. With an embedding endpoint each entity
also has a vector in the store; only what reads differently than before is embedded again.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from ..settings.search import CHROMA, ENDPOINT, RetrievalSettings
from ..support.bounds import in_slices
from ..support.const import LOGGER
from ..support.errors import RetrievalError, StoreRefusedError
from ..turn import events
from .entity_documents import EntityDocument, async_entity_documents
from .model import Found, Query, async_load_numpy
from .vectors import Counts, Vectors

if TYPE_CHECKING:
    from .ranking import Ranker


CATCH_UP = 1.0  # seconds that a search waits for the newest changes, or for the index where there is none yet
RETRY = 60.0  # seconds until vectors that could not be written are written again
LOOK_AGAIN = timedelta(hours=1)  # until a server is asked whether it still has what was written to it
MANY = 500  # changed entities from which on the words are indexed anew, while the old index still answers
FOLLOW_UP = 120  # characters; what is not longer may be about what was said before

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """How the index is."""

    entities: int
    """How many can be found."""
    ready: bool
    vectors: bool
    """Whether entities have vectors at all."""
    vectors_current: bool
    build_ms: int
    """What the newest change took, in milliseconds."""


class HomeIndex:
    """Finds the entities that a request is about ; owned by the config entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry,
        home: Home,
        vectors: Vectors,
        settings: RetrievalSettings,
        languages: Languages,
    ) -> None:
        """Start empty."""
        self._hass = hass
        self._entry = entry
        self._home = home
        self._vectors = vectors
        self.settings = settings
        self._embeds = settings.embedding == ENDPOINT or settings.store == CHROMA
        self._languages = languages
        self._documents: Mapping[str, EntityDocument] = {}
        self._read: HomeSnapshot | None = None
        """The home that is indexed."""
        self._ranker: Ranker | None = None
        self._ranking = asyncio.Lock()
        self._syncing = asyncio.Lock()
        self._synced: Mapping[str, EntityDocument] | None = None
        """What the store has; None: not known."""
        self._words_task: asyncio.Task[None] | None = None
        self._vectors_task: asyncio.Task[None] | None = None
        self._cancel_retry: CALLBACK_TYPE | None = None
        self._ended = False
        """Whether the entry was unloaded: what is still going on begins nothing new."""
        self._by_hand = 0
        """How many actions write to the store themselves, and say what became of it."""
        self._build_ms = 0
        self._anew = False
        self._asked = False
        """Whether the words are to be brought up to date."""
        self._failed = False
        """Whether it was said that there is no index."""

    @callback
    def async_start(self) -> None:
        """Build the index once Home Assistant has started, and follow the home until the entry is unloaded."""

        @callback
        def changed(_now: object) -> None:
            self._update()

        @callback
        def started(_hass: HomeAssistant) -> None:
            self._entry.async_on_unload(self._home.async_listen(changed))
            self._update()

        self._entry.async_on_unload(async_at_started(self._hass, started))
        self._entry.async_on_unload(self._end)
        if self.settings.store == CHROMA:  # others may change or lose what is there
            self._entry.async_on_unload(async_track_time_interval(self._hass, self._look_again, LOOK_AGAIN))

    @property
    def report(self) -> IndexReport:
        """Return how the index is."""
        return IndexReport(
            entities=len(self._documents),
            ready=self._ranker is not None,
            vectors=self._embeds,
            vectors_current=self._embeds and self._synced is self._documents,
            build_ms=self._build_ms,
        )

    async def async_find(self, query: Query) -> list[Found]:
        """Return the best entities first, at most `query.limit` besides the rest of a group that the request names.

        Waits for the newest changes, but not for long. Before there is an index, what the request names is found.
        Never raises for a store or an endpoint that is away.
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
        """Read the home again and bring words and vectors up to date; with `anew` everything is embedded again.

        Raises `RetrievalError` when the vectors could not be written; the words are current then.
        """
        before = self._documents
        self._anew |= anew
        counts = await self._async_by_hand(anew=anew)
        return counts or Counts.between(before, self._documents)

    async def async_index_entity(self, entity_id: str) -> EntityDocument | None:
        """Bring one entity up to date, now; return what is indexed, None when it is not exposed.

        Raises `RetrievalError` when its vector could not be written.
        """
        await self._async_by_hand()
        return self._documents.get(entity_id)

    async def _async_by_hand(self, *, anew: bool = False) -> Counts | None:
        """Read the home, bring words and vectors up to date and return what became of the vectors, None without any.

        Raises `RetrievalError` when they could not be written; they are later, in the background.
        """
        self._home.async_invalidate()
        self._by_hand += 1
        try:
            await asyncio.shield(self._update())
            return await self._async_sync(anew=anew) if self._embeds else None
        except RetrievalError:
            self._retry_later()
            raise
        finally:
            self._by_hand -= 1
            if self._has_news_for_store and self._cancel_retry is None:
                self._update_vectors()

    async def _async_near(self, query: Query) -> Sequence[str]:
        """Return the ids of the entities that are near by vector, nearest first; none without an embedding endpoint.

        Vectors of letters, which a server has without one, know nothing that the words do not know better.
        """
        if self.settings.embedding != ENDPOINT:
            return ()
        began = time.perf_counter()
        follows = query.previous and len(query.text) <= FOLLOW_UP
        text = f"{query.previous}\n{query.text}" if follows else query.text
        name = self.settings.collection
        nearest = await self._vectors.async_nearest(text, (name,), max(query.limit, self.settings.top_k))
        if not isinstance(found := nearest.get(name), list):
            if name in nearest and self._documents:  # the answer does not fit what was written: it is compared again
                self._synced = None
                if found is None or isinstance(
                    found, StoreRefusedError
                ):  # emptied, or the model makes other vectors by now
                    self._update_vectors()
                else:  # away, and who knows with what it comes back
                    self._retry_later()
            return ()
        near = [match.id for match in found if match.id in self._documents and self.settings.is_near(match)]
        events.async_vector_db_queried(self._hass, {name: len(near)}, near, began)
        return near

    @callback
    def _look_again(self, _now: object = None) -> None:
        self._synced = None
        self._update_vectors()

    @callback
    def _update(self) -> asyncio.Task[None]:
        """Have the words brought up to date: now, or once more when that is going on."""
        self._asked = True
        if self._words_task is None or self._words_task.done():
            self._words_task = self._entry.async_create_background_task(
                self._hass, self._async_update_words(), "home_agent index of the home"
            )
        return self._words_task

    async def _async_update_words(self) -> None:
        while self._asked:
            self._asked = False
            if (snapshot := await self._home.async_get()) is self._read:
                continue
            began = time.perf_counter()
            documents = await async_entity_documents(self._hass, snapshot)
            try:
                await self._async_index_words(documents)
            except RetrievalError as err:  # numpy is missing: what is named word for word can be found all the same
                if not self._failed:
                    LOGGER.warning("The home cannot be indexed: %s", err)
                self._failed = True
            if documents != self._documents:  # else what the store has stays current
                self._documents = documents
            self._read = snapshot
            self._build_ms = round((time.perf_counter() - began) * 1000)
        if self._has_news_for_store and not self._by_hand:
            self._update_vectors()

    @property
    def _has_news_for_store(self) -> bool:
        """Without vectors the store is told once, that there are none: there may have been some before."""
        return self._synced is None or (self._embeds and self._synced is not self._documents)

    async def _async_index_words(self, documents: Mapping[str, EntityDocument]) -> None:
        gone = self._documents.keys() - documents.keys()
        changed = [item for key, item in documents.items() if self._documents.get(key) != item]
        if self._ranker is None or self._anew or len(gone) + len(changed) >= MANY:
            self._anew = False
            await async_load_numpy(self._hass)
            ranking = await async_import_module(self._hass, f"{__package__}.ranking")
            self._ranker = await self._hass.async_add_executor_job(ranking.Ranker, documents.values())
            return
        async with self._ranking:
            await self._hass.async_add_executor_job(self._ranker.change, gone, changed)

    @callback
    def _update_vectors(self, _now: object = None) -> None:
        self._stop_retry()
        if not self._ended and (self._vectors_task is None or self._vectors_task.done()):
            self._vectors_task = self._entry.async_create_background_task(
                self._hass, self._async_update_vectors(), "home_agent vectors of the home"
            )

    async def _async_update_vectors(self) -> None:
        while self._has_news_for_store:
            try:
                await self._async_sync()
            except RetrievalError:  # reported where it was raised
                self._retry_later()
                return

    async def _async_sync(self, *, anew: bool = False) -> Counts:
        """Write what changed to the store. Raises `RetrievalError`."""
        async with self._syncing:
            entities = self._documents
            wanted = entities.values() if self._embeds else ()
            documents = {item.entity_id: item.document() async for item in in_slices(wanted)}
            progress = events.IndexProgress(self._hass, self.settings.collection)
            if anew:
                await self._vectors.embedder.async_forget()
            try:
                counts = await self._vectors.async_sync(
                    self.settings.collection, documents, progress.async_advance, anew=anew
                )
            except BaseException:
                self._synced = None
                progress.async_end("failed")
                raise
            self._synced = entities
            progress.async_end("completed")
            return counts

    @callback
    def _end(self) -> None:
        self._ended = True
        self._stop_retry()

    @callback
    def _retry_later(self) -> None:
        if self._cancel_retry is None and not self._ended:
            self._cancel_retry = async_call_later(self._hass, RETRY, self._update_vectors)

    @callback
    def _stop_retry(self) -> None:
        if self._cancel_retry is not None:
            self._cancel_retry()
            self._cancel_retry = None


def _named(snapshot: HomeSnapshot, query: Query) -> list[Found]:
    """Return what the request names, word for word: the entities, then those in the areas, the smallest first."""
    spoken = f" {' '.join(_WORD.findall(query.text.casefold()))} "

    def places(names: Iterable[str]) -> list[int]:
        said = (" ".join(_WORD.findall(name.casefold())) for name in names)
        return [place for name in said if name and (place := spoken.find(f" {name} ")) >= 0]

    by_area: dict[str | None, list[str]] = {}
    named: list[tuple[int, int, list[str]]] = []  # of how many, where it is said, which
    for entity in snapshot.entities.values():
        by_area.setdefault(entity.area_id, []).append(entity.entity_id)
        named += [(1, place, [entity.entity_id]) for place in places(entity.names)]
    for area in snapshot.areas.values():
        inside = by_area.get(area.area_id, [])
        named += [(len(inside), place, inside) for place in places(area.names)]
    said = dict.fromkeys(entity_id for _, _, ids in sorted(named, key=lambda item: item[:2]) for entity_id in ids)
    found = [entity_id for entity_id in said if _may_be_found(entity_id, snapshot, query)][: query.limit]
    return [Found(entity_id=entity_id, score=1 / (1 + place)) for place, entity_id in enumerate(found)]


def _may_be_found(entity_id: str, snapshot: HomeSnapshot, query: Query) -> bool:
    return entity_id in snapshot.entities and (query.allowed is None or query.allowed(entity_id))
