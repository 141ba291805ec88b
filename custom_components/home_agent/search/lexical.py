"""The words of all entities in memory: which entities have a word, or one like it, in their name, area, device, ..."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..home.domains import READ_ONLY, domains_where
from ..languages.vocabulary import forms_of
from ..support.nearness import grams, likeness
from ..support.text import fold, words
from .entity_documents import EntityDocument

type Floats = np.ndarray[tuple[int], np.dtype[np.float32]]
type Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
type Numbers = np.ndarray[tuple[int], np.dtype[np.int32]]
type Alike = Mapping[int, float]
"""Numbers of words with how alike they are to a spoken one, 0 to 1."""

MAX_NAMES = 40  # of one entity; more are not searched
MAX_WORDS = 24  # of one name
MAX_ALIKE = 64  # words of the home that one spoken word may stand for
MAX_REMEMBERED = 2000  # spoken words

_SETTINGS = domains_where(lambda record: record.is_setting)

# How much a word says by where it stands; names and places are matched on their own.
_PRODUCT = 0.75
_LABEL = 0.7
_DEVICE = 0.6
_ENTITY_ID = 0.3
_ABILITY = 0.2

_DECLINED = 0.9  # likeness of a word to one that it is a form of


class Lexicon:
    """All words that the home has or had, numbered, and which of those that it has are like another."""

    def __init__(self) -> None:
        """Start empty."""
        self._numbers: dict[str, int] = {}
        self._folded: list[str] = []
        self._by_folded: dict[str, int] = {}
        self._by_gram: dict[str, list[int]] = {}
        self._alike: dict[str, Alike] = {}
        self._used: Flags = np.zeros(0, dtype=np.bool_)  # by number; what came later is used

    def use(self, used: Flags) -> None:
        """Let only these words be found: a word that no entity has any more would still count as something that was said."""
        if np.array_equal(self._used, used):
            return
        self._used = used
        self._alike.clear()
        self._by_folded = {}
        for number in map(int, np.flatnonzero(used)):
            self._by_folded.setdefault(self._folded[number], number)

    def _is_used(self, number: int) -> bool:
        return number >= len(self._used) or bool(self._used[number])

    def __len__(self) -> int:
        """Return how many words there are."""
        return len(self._folded)

    def number(self, word: str) -> int:
        """Return the number of a word, a new one for a new word."""
        if (known := self._numbers.get(word)) is not None:
            return known
        number = self._numbers[word] = len(self._folded)
        folded = fold(word)
        self._folded.append(folded)
        self._by_folded.setdefault(folded, number)
        for gram in grams(folded):
            self._by_gram.setdefault(gram, []).append(number)
        self._alike.clear()
        return number

    def folded(self, number: int) -> str:
        """Return a word by its number, folded."""
        return self._folded[number]

    def find(self, folded: str) -> int | None:
        """Return the number of a word of the home that is written like this folded one."""
        return self._by_folded.get(folded)

    def alike(self, word: str) -> Alike:
        """Return the words of the home that a spoken word may stand for."""
        if (found := self._alike.get(word)) is not None:
            return found
        if len(self._alike) >= MAX_REMEMBERED:
            self._alike.clear()
        folded = fold(word)
        # Sorted, as otherwise words that are equally near would differ from run to run.
        shared = (number for gram in sorted(grams(folded)) for number in self._by_gram.get(gram, ()))
        used = Counter(filter(self._is_used, shared)).most_common(MAX_ALIKE)
        near = {number: how for number, _ in used if (how := likeness(folded, self._folded[number]))}
        exact = self._numbers.get(word)
        if exact is not None and self._is_used(exact):
            near = {number: how if how < 1 else 0.97 for number, how in near.items()} | {exact: 1.0}
        self._alike[word] = near
        return near

    def forms(self, base: str, folded: str) -> Alike:
        """Return the words of the home that a folded one is a form of, in the language with this code."""
        key = f"{base} {folded}"
        if (found := self._alike.get(key)) is None:
            numbers = (self._by_folded.get(form) for form in forms_of(base, folded))
            found = self._alike[key] = {number: _DECLINED for number in numbers if number is not None}
        return found


@dataclass(frozen=True, slots=True)
class IndexedEntity:
    """An entity as numbers of words."""

    document: EntityDocument
    names: tuple[tuple[int, ...], ...]
    other: Mapping[int, float]  # words besides names, area and floor, with what they count

    @classmethod
    def of(cls, document: EntityDocument, lexicon: Lexicon) -> Self:
        """Return an entity with its words, which become words of the home."""
        number = lexicon.number
        names = (tuple(number(word) for word in words(name)[:MAX_WORDS]) for name in document.names[:MAX_NAMES])
        other: dict[int, float] = {}
        fields = (
            (_ABILITY, document.abilities),
            (_ENTITY_ID, (document.entity_id.partition(".")[2],)),
            (_DEVICE, (document.device_name,)),
            (_LABEL, document.labels),
            (_PRODUCT, document.product),
        )
        for weight, texts in fields:
            for text in texts:
                other.update((number(word), weight) for word in words(text)[:MAX_WORDS])
        for place in (*document.area_names, *document.floor_names):
            for word in words(place)[:MAX_WORDS]:
                number(word)
        return cls(document, tuple(dict.fromkeys(filter(None, names))), other)


@dataclass(frozen=True, slots=True)
class Postings:
    """Which rows (entities, names or places) have a word, and how much it counts there."""

    offsets: Numbers
    rows: Numbers
    weights: Floats
    size: int

    @classmethod
    def of(
        cls, numbers: Sequence[int], rows: Sequence[int], weights: Sequence[float], count: int, size: int
    ) -> Postings:
        """Build from parallel lists; `count` words and `size` rows."""
        ids = np.array(numbers, dtype=np.int32)
        order = np.argsort(ids, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(ids, minlength=count)))).astype(np.int32)
        return cls(offsets, np.array(rows, np.int32)[order], np.array(weights, np.float32)[order], size)

    def best(self, alike: Alike) -> Floats:
        """Return for every row the best of its words among those given."""
        found = np.zeros(self.size, dtype=np.float32)
        for word, how_much in alike.items():
            if word + 1 < len(self.offsets) and (start := self.offsets[word]) != (end := self.offsets[word + 1]):
                rows = self.rows[start:end]
                found[rows] = np.maximum(found[rows], self.weights[start:end] * np.float32(how_much))
        return found

    def add(self, into: Floats, scores: Mapping[int, float]) -> None:
        """Add the scores of words to the rows that have them."""
        for word, score in scores.items():
            if word + 1 < len(self.offsets) and (start := self.offsets[word]) != (end := self.offsets[word + 1]):
                into[self.rows[start:end]] += self.weights[start:end] * np.float32(score)


class Table:
    """All entities as arrays, one row each. Never changes once it is made."""

    def __init__(self, entries: Sequence[IndexedEntity], lexicon: Lexicon) -> None:
        """Note which entity has which words, where it is, and of what kind it is."""
        self.documents = [entry.document for entry in entries]
        self.size = len(entries)
        self.lexicon = lexicon
        self.count = len(lexicon)
        self.row_of = {document.entity_id: row for row, document in enumerate(self.documents)}
        self.read_only = np.array([document.domain in READ_ONLY for document in self.documents], dtype=np.bool_)
        self.settings = np.array([document.domain in _SETTINGS for document in self.documents], dtype=np.bool_)
        self.primary = np.array([document.is_primary for document in self.documents], dtype=np.bool_)
        names = [(row, name) for row, entry in enumerate(entries) for name in entry.names]
        self.name_rows = np.array([row for row, _ in names], dtype=np.int32)
        self.name_words = self._postings([name for _, name in names])
        self.other_words = Postings.of(
            [number for entry in entries for number in entry.other],
            [row for row, entry in enumerate(entries) for _ in entry.other],
            [weight for entry in entries for weight in entry.other.values()],
            self.count,
            self.size,
        )
        self._number_places()
        self._number_kinds()
        used = np.zeros(self.count, dtype=np.bool_)
        for table in (self.name_words, self.other_words, self.place_words):
            used |= np.diff(table.offsets)[: self.count] > 0
        lexicon.use(used)
        in_names = np.diff(self.name_words.offsets)[: self.count]
        self.in_names = in_names > 0
        self.weights = np.log1p(self.size / (1.0 + in_names)).astype(np.float32)
        """Of each word: the rarer in names, the more it says."""
        weights = np.repeat(self.weights, in_names)
        totals = np.bincount(self.name_words.rows, weights=weights, minlength=self.name_words.size)
        self.name_totals = totals.astype(np.float32)
        self.place_lengths = np.bincount(self.place_words.rows, minlength=self.place_words.size)

    def in_area(self, area_id: str) -> Flags:
        """Return which entities are in an area."""
        return np.array([document.area_id == area_id for document in self.documents], dtype=np.bool_)

    def _postings(self, texts: Sequence[Sequence[int]]) -> Postings:
        rows = [(number, row) for row, text in enumerate(texts) for number in dict.fromkeys(text)]
        return Postings.of([n for n, _ in rows], [row for _, row in rows], [1.0] * len(rows), self.count, len(texts))

    def _number_places(self) -> None:
        places: dict[tuple[str, tuple[str, ...]], int] = {("", ()): 0}

        def number_of(kind: str, names: tuple[str, ...]) -> int:
            return places.setdefault((kind, names) if names else ("", ()), len(places))

        numbers = [(number_of("area", one.area_names), number_of("floor", one.floor_names)) for one in self.documents]
        self.areas, self.floors = np.array(numbers, dtype=np.int32).reshape(-1, 2).T
        self.place_count = len(places)
        names = [
            (place, tuple(self.lexicon.number(word) for word in words(name)[:MAX_WORDS]))
            for (_, names), place in places.items()
            for name in names[:MAX_NAMES]
        ]
        self.place_of = np.array([place for place, _ in names], dtype=np.int32)  # of each name of a place
        self.place_texts = [name for _, name in names]
        self.place_words = self._postings(self.place_texts)

    def _number_kinds(self) -> None:
        """Give every domain, device class and pair of them a number, and every sort of entity the three that it is."""
        sorts: dict[tuple[str, str], int] = {}
        self.sort_of = np.array(
            [sorts.setdefault((item.domain, item.device_class), len(sorts)) for item in self.documents], dtype=np.int32
        )
        self.kinds: dict[str, int] = {}
        numbers = [
            [self.kinds.setdefault(kind, len(self.kinds)) for kind in (domain, f".{class_}", f"{domain}.{class_}")]
            for domain, class_ in sorts
        ]
        self.sorts = np.array(numbers, dtype=np.int32).reshape(-1, 3)
