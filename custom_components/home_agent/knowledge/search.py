"""The search in the owner's documents and in collections that others fill: one pool, the nearest first."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
import time

from homeassistant.core import HomeAssistant

from .. import events
from ..const import LOGGER
from ..errors import RetrievalError
from ..retrieval.base import Match
from ..retrieval.settings import ENDPOINT, RetrievalSettings
from ..retrieval.vectors import Vectors
from .by_words import WordIndex
from .document import passage_of_others
from .passage import Passage

_AT_ONCE = 200  # passages indexed until somebody else may search


class Skipped:
    """Additional collections that were missing or could not be used the last time: each is logged once."""

    def __init__(self) -> None:
        """Start with none."""
        self._names: set[str] = set()

    def async_say(self, collection: str, reason: str | None) -> None:
        """Log that a collection is skipped; no reason: there is no such one."""
        if collection not in self._names:
            self._names.add(collection)
            reason = reason or "there is no such collection in the store"
            LOGGER.warning("The additional collection %s is skipped: %s", collection, reason)

    def async_works(self, collection: str) -> None:
        """Note that a collection was found."""
        self._names.discard(collection)


class Search:
    """Finds passages."""

    def __init__(self, vectors: Vectors, settings: RetrievalSettings, skipped: Skipped) -> None:
        """Start with no documents."""
        self._vectors = vectors
        self._settings = settings
        self._passages: Mapping[str, Passage] = {}
        """Those that can be found by their words, by id."""
        self._own: frozenset[str] = frozenset()
        """The owner's collections."""
        self._words = WordIndex()
        self._wording = asyncio.Lock()
        """Held while the words are read or changed: both happen in the executor."""
        self._skipped = skipped
        self._doubts: dict[str, RetrievalError | None] = {}

    def take_doubts(self) -> dict[str, RetrievalError | None]:
        """Return, once, the owner's collections that were asked in vain: None for those that are not there."""
        doubts, self._doubts = self._doubts, {}
        return doubts

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look in."""
        return not self._passages and not self._settings.additional_collections

    async def async_renew(self, hass: HomeAssistant, passages: Mapping[str, Passage], own: Collection[str]) -> None:
        """Find these from now on; `own` are the owner's collections. Who searches meanwhile finds what there is so far."""
        self._passages, self._own = passages, frozenset(own)
        texts = await hass.async_add_executor_job(_texts, passages)
        async with self._wording:
            gone, new = await hass.async_add_executor_job(self._words.difference, texts)
            await hass.async_add_executor_job(self._words.change, gone, {})
        for start in range(0, len(new), _AT_ONCE):
            batch = {key: texts[key] for key in new[start : start + _AT_ONCE]}
            async with self._wording:
                await hass.async_add_executor_job(self._words.change, (), batch)

    async def async_find(self, hass: HomeAssistant, text: str, limit: int, fillers: Collection[str]) -> list[Passage]:
        """Return the nearest passages of all collections together, nearest first, each once."""
        near = await self._async_near(hass, text, limit)
        async with self._wording:
            covered = await hass.async_add_executor_job(self._words.find, text, limit, fillers)
        named = ((self._passages.get(key), 1 - share) for key, share in covered)
        pool: dict[str, Passage] = {}
        for found in (*near, *(replace(item, distance=distance) for item, distance in named if item is not None)):
            if found.id not in pool or found.distance < pool[found.id].distance:
                pool[found.id] = found
        return sorted(pool.values(), key=lambda item: item.distance)[:limit]

    async def _async_near(self, hass: HomeAssistant, text: str, limit: int) -> list[Passage]:
        """Return what is near by vector; nothing without an embedding endpoint, whose vectors alone mean something."""
        passages, own = self._passages, self._own
        others = frozenset(self._settings.additional_collections) - own - {self._settings.collection}
        names = sorted(own | others)
        if not names or self._settings.embedding != ENDPOINT:
            return []
        began = time.perf_counter()
        nearest = await self._vectors.async_nearest(text, names, limit)
        found: dict[str, list[Passage]] = {}
        for name, answer in nearest.items():
            if isinstance(answer, list):
                self._skipped.async_works(name)
                near = [match for match in answer if self._settings.is_near(match, additional=True)]
                found[name] = _of_owner(near, passages) if name in own else [_of_others(name, match) for match in near]
            elif name in own:
                self._doubts[name] = answer
            elif name in others:
                self._skipped.async_say(name, str(answer) if answer else None)
        if nearest:
            events.async_vector_db_queried(hass, {name: len(items) for name, items in found.items()}, (), began)
        return [item for items in found.values() for item in items]


def _of_owner(matches: Iterable[Match], passages: Mapping[str, Passage]) -> list[Passage]:
    """Return the owner's passages: our own text counts, whatever a server says, and what was removed is gone."""
    known = ((passages.get(match.id), match.distance) for match in matches)
    return [replace(passage, distance=distance) for passage, distance in known if passage is not None]


def _of_others(collection: str, match: Match) -> Passage:
    return passage_of_others(collection, match.id, match.text, match.metadata, match.distance)


def _texts(passages: Mapping[str, Passage]) -> dict[str, str]:
    """Return what is searched of each passage."""
    return {key: f"{item.metadata.get('title', '')}\n{item.text}" for key, item in passages.items()}
