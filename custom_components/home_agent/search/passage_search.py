"""The search in the owner's documents and in collections of other programs, by words, and with an embedding model by vectors."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import batched
from math import log
import time
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant, callback

from ..settings.search import RetrievalSettings
from ..support.const import LOGGER
from ..support.errors import RetrievalError
from ..support.nearness import likeness
from ..support.text import fold, is_unspaced, words
from ..turn import events
from .model import Document, async_load_numpy
from .passages import Passage, passage_of_others
from .vectors import Vectors

if TYPE_CHECKING:
    import numpy as np

    type Shares = np.ndarray[tuple[int], np.dtype[np.float64]]
    type DocumentPlaces = np.ndarray[tuple[int], np.dtype[np.intp]]

LEAST = 0.4  # least share of the question, by weight, that a passage must cover
_ALIKE = 0.8  # least likeness of two forms of a word
_FULL_LENGTH = 5  # letters of a word with full weight
_START = 3  # letters that forms of a word share
_OTHERS = 10  # assumed further passages: among few, a word in most of them still has some weight
MAX_DOCUMENTS = 10_000  # of a collection of another program; they are kept in memory
AGE = 3600.0  # seconds after which such a collection is read again if its count is the same
_BATCH = 200  # passages indexed before a search may run
_SPARE = 1000  # deleted passages before all are renumbered
_HINT = 0.3  # weight of a word that only points to a subject ("when")
_NAME_ONLY = 0.5  # weight of a passage that has only the name in a question
_WITHIN = 0.7  # share of a word covered by a longer one with it inside ("lock" by "padlock")
_LONG_ENOUGH = 4  # least letters of a word inside another one
_UNKNOWN = 0.5  # weight of a word that no passage has

NAMED = "^"  # sign of the mark of a name

type Marks = Mapping[str, float]
"""Subjects of a word or a passage, with the share, 0 to 1, by which a passage about it covers the word."""


class WordIndex:
    """Finds passages by the share of a question's words in them, weighted by rarity and length. Slow: use it in the executor."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        """Index the texts, by id."""
        self._ids: list[str | None] = []  # by number; None for deleted passages
        self._numbers: dict[str, int] = {}
        self._hashes: dict[str, int] = {}
        self._where: dict[str, list[int]] = {}
        self._forms: dict[str, list[str]] = defaultdict(list)
        self._gone: list[int] = []
        self._listed = ""  # all words, separated by line breaks; empty when outdated
        self._arrays: dict[str, DocumentPlaces] = {}  # arrays of lists in `_where`, until those change
        self.change((), texts or {})

    def difference(self, texts: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Return the indexed ids that are not among the texts, and the ids of new or changed texts."""
        gone = [key for key in self._numbers if key not in texts]
        return gone, [key for key, text in texts.items() if self._hashes.get(key) != hash(text)]

    def change(
        self, gone: Iterable[str], new: Mapping[str, str], marks: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Remove passages, and index new or changed ones, about 5,000 in a second.

        `marks` are the subjects of passages by id, for queries with `about`; a mark starts with a sign that no word has.
        """
        for key in (*gone, *new):
            if (number := self._numbers.pop(key, None)) is not None:
                self._ids[number] = None
                self._gone.append(number)
                del self._hashes[key]
        for key, text in new.items():
            self._numbers[key] = len(self._ids)
            self._hashes[key] = hash(text)
            self._ids.append(key)
            for word in (*set(_folded(text)), *(marks or {}).get(key, ())):
                self._add(word, self._numbers[key])
        if len(self._ids) > 2 * len(self._numbers) + _SPARE:
            self._tidy()

    def _add(self, word: str, number: int) -> None:
        if (found := self._where.get(word)) is None:
            found = self._where[word] = []
            if word[0].isalnum():  # not a mark
                self._forms[word[:_START]].append(word)
                self._listed = ""
        found.append(number)
        self._arrays.pop(word, None)

    def _tidy(self) -> None:
        """Renumber the passages, without deleted ones."""
        numbers = {number: place for place, number in enumerate(self._numbers.values())}
        self._ids, self._gone, self._arrays, self._listed = list(self._numbers), [], {}, ""
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
        about: Callable[[str], Marks] | None = None,
    ) -> list[tuple[str, float]]:
        """Return the ids of the best passages with the share of the question that each covers, best first.

        `fillers` are folded words without meaning; those in `asking` have one only if a passage has them. Shares below `least`
        are left out. `about` returns the subjects of a folded word: passages with such marks cover it in part, and so do
        those with a longer word that contains it.
        """
        import numpy as np

        asked = dict.fromkeys(_folded(text))
        covered = np.zeros(len(self._ids))
        named, topics = np.zeros(len(self._ids), np.bool_), np.zeros(len(self._ids), np.bool_)
        whole, has_topic = 0.0, False
        for word in asked:
            says_little = word in fillers
            marks = about(word) if about else {}
            if says_little and not marks:
                continue
            forms = np.zeros(len(self._ids)) if says_little else self._like(word)
            weight = 1.0 if is_unspaced(word) else min(len(word) / _FULL_LENGTH, 1.0)
            if about is None:
                if word in asking and not forms.any():
                    continue
                weight *= self._rarity(int(np.count_nonzero(forms)))
            else:
                if not says_little and len(word) >= _LONG_ENOUGH:
                    for longer in self._with(word):
                        places = self._places(longer)
                        forms[places] = np.maximum(forms[places], _WITHIN)
                weight *= self._widen(forms, marks)
                if says_little or word in asking:
                    if not forms.any():
                        continue
                    weight *= _HINT
                elif not marks and self._is_name(word):
                    named |= forms > 0
                else:
                    has_topic = True
                    topics |= forms > 0
                    weight *= 1.0 if forms.any() else _UNKNOWN
            whole += weight
            covered += weight * forms
        if has_topic:
            covered[named & ~topics] *= _NAME_ONLY
        [places] = np.nonzero((covered > 0) & (covered >= least * whole))
        best = places[np.argsort(-covered[places], kind="stable")[:limit]]
        found = ((self._ids[number], float(covered[number]) / whole) for number in map(int, best))
        return [(key, share) for key, share in found if key is not None]

    def _with(self, word: str) -> Iterator[str]:
        """Yield the longer words that contain a word, as compounds do."""
        if not self._listed:
            self._listed = "\n".join(("", *(form for forms in self._forms.values() for form in forms), ""))
        at = self._listed.find(word)
        while at >= 0:
            begin, end = self._listed.rfind("\n", 0, at) + 1, self._listed.find("\n", at)
            if end - begin > len(word):
                yield self._listed[begin:end]
            at = self._listed.find(word, end)

    def _is_name(self, word: str) -> bool:
        forms = self._forms.get(word[:_START], ())
        return any(f"{NAMED}{form}" in self._where and likeness(word, form) >= _ALIKE for form in forms)

    def _widen(self, forms: Shares, marks: Marks) -> float:
        """Add passages with a word's subjects to `forms`, and return the rarity of the word."""
        import numpy as np

        forms[self._gone] = 0.0
        has = int(np.count_nonzero(forms))
        for mark, share in sorted(marks.items(), key=lambda item: -item[1]):
            places = self._places(mark)
            forms[places] = np.maximum(forms[places], share)
            forms[self._gone] = 0.0
            has = has or int(np.count_nonzero(forms))
        return self._rarity(has)

    def _like(self, word: str) -> Shares:
        """Return by number the likeness of the best form of a word in each passage, 0 without one."""
        import numpy as np

        forms = ((likeness(word, form), form) for form in self._forms.get(word[:_START], ()))
        found = np.zeros(len(self._ids))
        for alike, form in sorted(item for item in forms if item[0] >= _ALIKE):  # the most alike last
            found[self._places(form)] = alike
        found[self._gone] = 0.0
        return found

    def _places(self, word: str) -> DocumentPlaces:
        import numpy as np

        if (found := self._arrays.get(word)) is None:
            found = self._arrays[word] = np.array(self._where.get(word, ()), dtype=np.intp)
        return found

    def _rarity(self, has: int) -> float:
        """Return the weight of a word in `has` passages; at least one is assumed."""
        has = max(has, 1)
        return log(1 + (len(self._numbers) + _OTHERS - has + 0.5) / (has + 0.5))


def _folded(text: str) -> Iterator[str]:
    return filter(None, map(fold, words(text)))


@dataclass(frozen=True, slots=True)
class _ExternalCollection:
    """Passages of another program's collection when it was read."""

    when: float
    count: int
    passages: Mapping[str, Passage]


@dataclass(eq=False, slots=True)
class PassageSearch:
    """Finds passages."""

    _hass: HomeAssistant
    _vectors: Vectors
    _passages: Mapping[str, Passage] = field(default_factory=dict)  # passages to find by words, by id
    _own: frozenset[str] = frozenset()  # the owner's collections
    _external: dict[str, _ExternalCollection] = field(default_factory=dict)
    """Additional collections, read only without an embedding model."""
    _moved: bool = False  # whether those were read from another store
    _skipped: set[str] = field(default_factory=set)  # those that are missing or unusable; each is logged once
    _words: WordIndex = field(default_factory=WordIndex)
    _wording: asyncio.Lock = field(default_factory=asyncio.Lock)  # held while the executor reads or changes the words
    _doubts: dict[str, RetrievalError | None] = field(default_factory=dict)

    @callback
    def async_use(self, vectors: Vectors) -> None:
        """Search in these vectors from now on, with their limits."""
        if vectors is not self._vectors:
            self._vectors, self._moved = vectors, True
        self._skipped.clear()

    @property
    def _settings(self) -> RetrievalSettings:
        return self._vectors.settings

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search."""
        return not self._passages and not self._settings.additional_collections

    def take_doubts(self) -> dict[str, RetrievalError | None]:
        """Return, once, the owner's collections whose query failed, with the error; None for missing ones."""
        doubts, self._doubts = self._doubts, {}
        return doubts

    async def async_renew(self, passages: Mapping[str, Passage], own: Collection[str]) -> None:
        """Index these passages and the external ones, batch by batch; `own` are the owner's collections."""
        external = {key: item for read in self._external.values() for key, item in read.passages.items()}
        self._passages, self._own = {**passages, **external}, frozenset(own)
        now = self._passages

        def read() -> dict[str, str]:
            return {key: f"{item.metadata.get('title', '')}\n{item.text}" for key, item in now.items()}

        texts = await self._hass.async_add_executor_job(read)
        async with self._wording:
            gone, new = await self._hass.async_add_executor_job(self._words.difference, texts)
            await self._hass.async_add_executor_job(self._words.change, gone, {})
        for keys in batched(new, _BATCH, strict=False):
            batch = {key: texts[key] for key in keys}
            async with self._wording:
                await self._hass.async_add_executor_job(self._words.change, (), batch)

    async def async_read_external(self, own: Collection[str]) -> bool:
        """Read additional collections again if needed without an embedding model; return whether any has changed.

        While the server is unavailable, the old passages stay.
        """
        vectors, before = self._vectors, self._external
        names = set(vectors.settings.additional_collections) - set(own) - {vectors.settings.collection}
        if vectors.embeds:
            names = set()
        moved, self._moved = self._moved, False
        self._external = {name: read for name, read in before.items() if name in names and not moved}
        if not names:
            return before != self._external

        def passages_in(name: str, documents: Collection[Document]) -> dict[str, Passage]:
            found = (passage_of_others(name, item.id, item.text, item.metadata) for item in documents if item.text)
            return {passage.id: passage for passage in found}

        try:
            store = await vectors.async_open()
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
                    passages = await self._hass.async_add_executor_job(passages_in, name, documents)
                    self._external[name] = _ExternalCollection(time.monotonic(), count, passages)
        except RetrievalError:  # reported where it was raised
            pass
        return before != self._external

    async def async_find(self, text: str, limit: int, fillers: Collection[str]) -> list[Passage]:
        """Return the nearest passages of all collections, nearest first, each once."""
        near = await self._async_near(text, limit)
        await async_load_numpy(self._hass)
        async with self._wording:
            covered = await self._hass.async_add_executor_job(self._words.find, text, limit, fillers)
        passages, pool = self._passages, dict[str, Passage]()
        for found in (
            *near,
            *(replace(passages[key], distance=1 - share) for key, share in covered if key in passages),
        ):
            if found.id not in pool or found.distance < pool[found.id].distance:
                pool[found.id] = found
        return sorted(pool.values(), key=lambda item: item.distance)[:limit]

    async def _async_near(self, text: str, limit: int) -> list[Passage]:
        vectors, passages, own = self._vectors, self._passages, self._own
        others = frozenset(vectors.settings.additional_collections) - own - {vectors.settings.collection}
        names = sorted(own | others)
        if not names or not vectors.embeds:
            return []
        began = time.perf_counter()
        nearest = await vectors.async_nearest(text, names, limit)
        found: dict[str, list[Passage]] = {}
        for name, answer in nearest.items():
            if not isinstance(answer, list):
                if name in own:
                    self._doubts[name] = answer
                else:
                    self._skip(name, str(answer) if answer else None)
                continue
            self._skipped.discard(name)
            near = [match for match in answer if vectors.settings.is_near(match)]
            if name in own:  # with our own text instead of the server's, and without removed ones
                found[name] = [
                    replace(passages[item.id], distance=item.distance) for item in near if item.id in passages
                ]
            else:
                found[name] = [
                    passage_of_others(name, item.id, item.text, item.metadata, item.distance) for item in near
                ]
        if nearest:
            events.async_vector_db_queried(self._hass, {name: len(items) for name, items in found.items()}, (), began)
        return [item for items in found.values() for item in items]

    def _skip(self, collection: str, reason: str | None) -> None:
        """Log once that an additional collection is skipped; without a reason it is missing."""
        if collection not in self._skipped:
            reason = reason or "there is no such collection in the store"
            LOGGER.warning("The additional collection %s is skipped: %s", collection, reason)
        self._skipped.add(collection)
