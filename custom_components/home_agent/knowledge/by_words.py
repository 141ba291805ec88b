"""Passages found by their words, in any language and without a model: how much of the question stands in a passage.

A word counts by how rare it is among the passages and by its length; those that say nothing in their language do not count.
Forms of a word count a little less than the word itself.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import log

from ..retrieval.words import fold, is_unspaced, likeness, words

LEAST = 0.4  # of the question, by weight: below it a passage is about something else
_ALIKE = 0.8  # from which likeness on two words are forms of one
_FULL_LENGTH = 5  # letters from which on a word has its full weight
_START = 3  # letters that forms of a word share
_OTHERS = 10  # passages that could as well be there: where there are few, a word that most have still says something
_SPARE = 1000  # passages that may be gone before everything is numbered anew


class WordIndex:
    """What was said in which passage. Nothing here waits for anything, but much of it takes time: use it in the executor."""

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

    def find(self, text: str, limit: int, fillers: Collection[str] = ()) -> list[tuple[str, float]]:
        """Return the ids of the best passages with the share of the question that each covers, the best first.

        `fillers` are folded words that say nothing.
        """
        asked = dict.fromkeys(folded for word in words(text) if (folded := fold(word)) not in fillers)
        covered: dict[int, float] = defaultdict(float)
        whole = 0.0
        for word in asked:
            forms = self._like(word)
            weight = self._rarity(forms) * _weight(word)
            whole += weight
            for number, share in forms.items():
                covered[number] += weight * share
        ranked = sorted(covered.items(), key=lambda item: (-item[1], item[0]))[:limit]
        found = ((self._ids[number], share / whole) for number, share in ranked if share >= LEAST * whole)
        return [(key, covered) for key, covered in found if key is not None]

    def _like(self, word: str) -> dict[int, float]:
        """Return the passages with a word or a form of it, and how alike the two are."""
        found: dict[int, float] = {}
        for form in self._forms.get(word[:_START], ()):
            alike = likeness(word, form)
            if alike >= _ALIKE:
                for number in self._where[form]:
                    if self._ids[number] is not None:
                        found[number] = max(alike, found.get(number, 0.0))
        return found

    def _rarity(self, forms: Mapping[int, float]) -> float:
        """Return how much a word says: what no passage has says as much as what one has."""
        has = max(len(forms), 1)
        return log(1 + (len(self._numbers) + _OTHERS - has + 0.5) / (has + 0.5))


def _weight(word: str) -> float:
    return 1.0 if is_unspaced(word) else min(len(word) / _FULL_LENGTH, 1.0)
