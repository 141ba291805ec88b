"""The search in the owner's documents and in collections that other programs fill: one pool, the nearest first.

With an embedding model passages are found by vector, and always by their words as well.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from math import log
import time

from homeassistant.core import HomeAssistant

from ..settings.search import ENDPOINT, RetrievalSettings
from ..support.const import LOGGER
from ..support.errors import RetrievalError
from ..support.text import fold, is_unspaced, likeness, words
from ..turn import events
from .model import Document
from .passages import Passage, passage_of_others
from .vectors import Vectors

LEAST = 0.4  # of the question, by weight: below it a passage is about something else
_ALIKE = 0.8  # from which likeness on two words are forms of one
_FULL_LENGTH = 5  # letters from which on a word has its full weight
_START = 3  # letters that forms of a word share
_OTHERS = 10  # passages that could as well be there: where there are few, a word that most have still says something
MAX_DOCUMENTS = 10_000  # of one collection that another program fills; they are kept in memory
AGE = 3600.0  # seconds after which such a collection is read again that has as many documents as before
_BATCH = 200  # passages indexed until a search may run
_SPARE = 1000  # passages that may be gone before everything is numbered anew


class WordIndex:
    """Finds passages by how much of a question stands in them, in any language and without a model.

    A word counts by how rare it is among the passages and by its length; those that say nothing in their language do not
    count. Forms of a word count a little less than the word itself. Much of this takes time: use it in the executor.
    """

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """Index the texts, by id."""
        self._ids: list[str | None] = []
        """By number; None: a passage that is gone."""
        self._numbers: dict[str, int] = {}
        self._hashes: dict[str, int] = {}
        self._where: dict[str, list[int]] = {}
        self._forms: dict[str, list[str]] = defaultdict(list)
        self.change((), texts or {})

    def difference(self, texts: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Return which ids are indexed and not among the texts, and which texts are not indexed as they are."""
        gone = [key for key in self._numbers if key not in texts]
        return gone, [key for key, text in texts.items() if self._hashes.get(key) != hash(text)]

    def change(self, gone: Iterable[str], new: Mapping[str, str]) -> None:
        """Forget passages, and index new ones or those that read differently: about 5,000 in a second."""
        for key in (*gone, *new):
            if (number := self._numbers.pop(key, None)) is not None:
                self._ids[number] = None
                del self._hashes[key]
        for key, text in new.items():
            self._numbers[key] = len(self._ids)
            self._hashes[key] = hash(text)
            self._ids.append(key)
            for word in {fold(word) for word in words(text)}:
                self._add(word, self._numbers[key])
        if len(self._ids) > 2 * len(self._numbers) + _SPARE:
            self._tidy()

    def _add(self, word: str, number: int) -> None:
        if (found := self._where.get(word)) is None:
            found = self._where[word] = []
            self._forms[word[:_START]].append(word)
        found.append(number)

    def _tidy(self) -> None:
        """Number everything anew, without what is gone."""
        numbers = {number: place for place, number in enumerate(self._numbers.values())}
        self._ids = list(self._numbers)
        self._numbers = {key: place for place, key in enumerate(self._numbers)}
        where, self._where, self._forms = self._where, {}, defaultdict(list)
        for word, found in where.items():
            for number in found:
                if number in numbers:
                    self._add(word, numbers[number])

    def find(
        self,
        text: str,
        limit: int,
        fillers: Collection[str] = (),
        asking: Collection[str] = (),
        least: float = LEAST,
    ) -> list[tuple[str, float]]:
        """Return the ids of the best passages with the share of the question that each covers, the best first.

        `fillers` are folded words that say nothing; those in `asking` say nothing unless a passage has them. What covers less
        than `least` is left out.
        """
        asked = dict.fromkeys(folded for word in words(text) if (folded := fold(word)) not in fillers)
        covered: dict[int, float] = defaultdict(float)
        whole = 0.0
        for word in asked:
            forms = self._like(word)
            if not forms and word in asking:
                continue
            weight = self._rarity(forms) * _weight(word)
            whole += weight
            for number, share in forms.items():
                covered[number] += weight * share
        enough = least * whole
        ranked = sorted([(-share, number) for number, share in covered.items() if share >= enough])[:limit]
        found = ((self._ids[number], -share / whole) for share, number in ranked)
        return [(key, covered) for key, covered in found if key is not None]

    def _like(self, word: str) -> dict[int, float]:
        """Return the passages with a word or a form of it, and how alike the two are."""
        forms = ((likeness(word, form), form) for form in self._forms.get(word[:_START], ()))
        found: dict[int, float] = {}
        for alike, form in sorted(item for item in forms if item[0] >= _ALIKE):  # the most alike last: it holds
            found.update(dict.fromkeys(self._where[form], alike))
        if len(self._ids) == len(self._numbers):
            return found
        return {number: alike for number, alike in found.items() if self._ids[number] is not None}

    def _rarity(self, forms: Mapping[int, float]) -> float:
        """Return how much a word says: what no passage has says as much as what one has."""
        has = max(len(forms), 1)
        return log(1 + (len(self._numbers) + _OTHERS - has + 0.5) / (has + 0.5))


def _weight(word: str) -> float:
    return 1.0 if is_unspaced(word) else min(len(word) / _FULL_LENGTH, 1.0)


@dataclass(frozen=True, slots=True)
class _ExternalCollection:
    """What a collection that another program fills said when it was read."""

    when: float
    count: int
    passages: Mapping[str, Passage]


class PassageSearch:
    """Finds passages."""

    def __init__(self, hass: HomeAssistant, vectors: Vectors, settings: RetrievalSettings) -> None:
        """Start with no documents."""
        self._hass = hass
        self._vectors = vectors
        self._settings = settings
        self._passages: Mapping[str, Passage] = {}
        """Those that can be found by their words, by id."""
        self._own: frozenset[str] = frozenset()
        """The owner's collections."""
        self._external: dict[str, _ExternalCollection] = {}
        """Additional collections, read where there is no embedding model to ask them with."""
        self._skipped: set[str] = set()
        """Additional collections that were missing or could not be used the last time: each is logged once."""
        self._words = WordIndex()
        self._wording = asyncio.Lock()
        """Held while the words are read or changed: both happen in the executor."""
        self._doubts: dict[str, RetrievalError | None] = {}
        self.is_empty = not settings.additional_collections
        """Whether there is nothing to look in."""

    def take_doubts(self) -> dict[str, RetrievalError | None]:
        """Return, once, the owner's collections that were asked in vain: None for those that are not there."""
        doubts, self._doubts = self._doubts, {}
        return doubts

    async def async_renew(self, passages: Mapping[str, Passage], own: Collection[str]) -> None:
        """Find these and what was read elsewhere; `own` are the owner's collections.

        Who searches meanwhile finds what there is so far.
        """
        external = {key: item for read in self._external.values() for key, item in read.passages.items()}
        self._passages, self._own = {**passages, **external}, frozenset(own)
        self.is_empty = not self._passages and not self._settings.additional_collections
        texts = await self._hass.async_add_executor_job(_texts, self._passages)
        async with self._wording:
            gone, new = await self._hass.async_add_executor_job(self._words.difference, texts)
            await self._hass.async_add_executor_job(self._words.change, gone, {})
        for start in range(0, len(new), _BATCH):
            batch = {key: texts[key] for key in new[start : start + _BATCH]}
            async with self._wording:
                await self._hass.async_add_executor_job(self._words.change, (), batch)

    async def async_read_external(self, own: Collection[str]) -> bool:
        """Read what is new in the additional collections, besides the owner's own; return whether something has changed.

        Only without an embedding model. What was read stays while the server is away.
        """
        names = set(self._settings.additional_collections) - set(own) - {self._settings.collection}
        if self._settings.embedding == ENDPOINT or not names:
            return False
        before = dict(self._external)
        try:
            store = await self._vectors.async_open()
            counts = await store.async_collections()
            for name in names:
                count, known = counts.get(name), self._external.get(name)
                if count is None or count > MAX_DOCUMENTS:
                    self._external.pop(name, None)
                    self._skip(name, None if count is None else f"more than {MAX_DOCUMENTS} documents")
                    continue
                self._skipped.discard(name)
                if known is None or known.count != count or time.monotonic() - known.when > AGE:
                    documents = await store.async_documents(name)
                    passages = await self._hass.async_add_executor_job(_external_passages, name, documents)
                    self._external[name] = _ExternalCollection(time.monotonic(), count, passages)
        except RetrievalError:  # reported where it was raised
            pass
        return before != self._external

    async def async_find(self, text: str, limit: int, fillers: Collection[str]) -> list[Passage]:
        """Return the nearest passages of all collections together, nearest first, each once."""
        near = await self._async_near(text, limit)
        async with self._wording:
            covered = await self._hass.async_add_executor_job(self._words.find, text, limit, fillers)
        named = ((self._passages.get(key), 1 - share) for key, share in covered)
        pool: dict[str, Passage] = {}
        for found in (*near, *(replace(item, distance=distance) for item, distance in named if item is not None)):
            if found.id not in pool or found.distance < pool[found.id].distance:
                pool[found.id] = found
        return sorted(pool.values(), key=lambda item: item.distance)[:limit]

    async def _async_near(self, text: str, limit: int) -> list[Passage]:
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
            if not isinstance(answer, list):
                if name in own:
                    self._doubts[name] = answer
                else:
                    self._skip(name, str(answer) if answer else None)
                continue
            self._skipped.discard(name)
            near = [match for match in answer if self._settings.is_near(match)]
            if name in own:  # our own text counts, not what a server says, and what was removed is gone
                known = ((passages.get(match.id), match.distance) for match in near)
                found[name] = [replace(item, distance=distance) for item, distance in known if item is not None]
            else:
                found[name] = [
                    passage_of_others(name, match.id, match.text, match.metadata, match.distance) for match in near
                ]
        if nearest:
            events.async_vector_db_queried(self._hass, {name: len(items) for name, items in found.items()}, (), began)
        return [item for items in found.values() for item in items]

    def _skip(self, collection: str, reason: str | None) -> None:
        """Log once that an additional collection is skipped; no reason: there is no such one."""
        if collection not in self._skipped:
            self._skipped.add(collection)
            reason = reason or "there is no such collection in the store"
            LOGGER.warning("The additional collection %s is skipped: %s", collection, reason)


def _texts(passages: Mapping[str, Passage]) -> dict[str, str]:
    """Return what is searched of each passage."""
    return {key: f"{item.metadata.get('title', '')}\n{item.text}" for key, item in passages.items()}


def _external_passages(collection: str, documents: Collection[Document]) -> dict[str, Passage]:
    found = (passage_of_others(collection, item.id, item.text, item.metadata) for item in documents if item.text)
    return {passage.id: passage for passage in found}
