"""Words of all languages for kinds of things and for rooms, where what is said may be in any of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from ..support.text import fold, is_unspaced, runs
from .data import all_data

_LEAST_PART = 3  # letters of a word at the end of a compound


@cache
def kinds_everywhere() -> Mapping[str, frozenset[str]]:
    """Return the kinds that a folded word, or several with spaces between, stands for in any language. Reads files."""
    kinds = defaultdict[str, set[str]](set)
    for data in all_data().values():
        for kind, words in data.synonyms.items():
            for word in words:
                kinds[" ".join(map(fold, runs(word)))].add(kind)
    return {word: frozenset(found) for word, found in kinds.items()}


@cache
def rooms_everywhere() -> frozenset[str]:
    """Return the folded single words of all languages for rooms and places. Reads files."""
    named = (name for data in all_data().values() for names in data.rooms.values() for name in names)
    return frozenset(fold(word) for name in named for word in runs(name))


def kinds_in(words: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Return the kinds by the words of a name that stand for one in any language: whole words, phrases, ends of compounds. Reads files."""
    known, found = kinds_everywhere(), dict[str, frozenset[str]]()
    said = [*words]
    for start, word in enumerate(said):
        for end in range(start + 1, len(said) + 1):
            if kinds := known.get(" ".join(said[start:end])):
                found[" ".join(said[start:end])] = kinds
        parts = (
            (word[begin:stop] for begin in range(len(word)) for stop in range(begin + 1, len(word) + 1))
            if is_unspaced(word)
            else (word[begin:] for begin in range(1, len(word) - _LEAST_PART + 1))
        )
        if part := max((part for part in parts if part in known and word not in known), key=len, default=""):
            found.setdefault(word, known[part])
    return found
