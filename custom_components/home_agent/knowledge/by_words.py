"""Passages found by their words, in any language and without a model: how much of the question stands in a passage.

A word counts by how rare it is among the passages and by its length; those that say nothing in their language do not count.
Forms of a word count a little less than the word itself.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from math import log

from ..retrieval.words import fold, is_unspaced, likeness, words

LEAST = 0.4  # of the question, by weight: below it a passage is about something else
_ALIKE = 0.8  # from which likeness on two words are forms of one
_FULL_LENGTH = 5  # letters from which on a word has its full weight
_START = 3  # letters that forms of a word share


class WordIndex:
    """What was said in which passage. Built once, then only read, so that it may be used in any thread."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Index the texts, by id: about 1 s for 10,000 passages."""
        self._ids = list(texts)
        self._where: dict[str, list[int]] = {}
        self._forms: dict[str, list[str]] = defaultdict(list)
        for number, text in enumerate(texts.values()):
            for word in {fold(word) for word in words(text)}:
                self._where.setdefault(word, []).append(number)
        for word in self._where:
            self._forms[word[:_START]].append(word)

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
        return [(self._ids[number], share / whole) for number, share in ranked if share >= LEAST * whole]

    def _like(self, word: str) -> dict[int, float]:
        """Return the passages with a word or a form of it, and how alike the two are."""
        found: dict[int, float] = {}
        for form in self._forms.get(word[:_START], ()):
            alike = likeness(word, form)
            if alike >= _ALIKE:
                for number in self._where[form]:
                    found[number] = max(alike, found.get(number, 0.0))
        return found

    def _rarity(self, forms: Mapping[int, float]) -> float:
        """Return how much a word says: what no passage has says as much as what one has."""
        has = max(len(forms), 1)
        return log(1 + (len(self._ids) - has + 0.5) / (has + 0.5))


def _weight(word: str) -> float:
    return 1.0 if is_unspaced(word) else min(len(word) / _FULL_LENGTH, 1.0)
