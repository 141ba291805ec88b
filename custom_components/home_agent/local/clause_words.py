"""The words of clauses in one language, folded: what becomes of things, numbers and people, and what changes nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
import itertools
from typing import Any

from ..languages.data import ENGLISH, data_of
from ..support.text import Words, words_of

_GENITIVE = "s"
"""The word that is left of "Anna's" in languages that write it so."""
_LISTS = ("states", "compares", "measures", "units", "who", "joins")
_SETS = ("changes", "negations", "none", "doubled", "any", "all", "leads", "it", "here", "there", "beside")

type Listed = tuple[tuple[str, Words], ...]
"""Phrases with what each stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseVocabulary:
    """The words of clauses in one language."""

    states: Listed = ()
    compares: Listed = ()
    measures: Listed = ()
    units: Listed = ()
    changes: frozenset[Words] = frozenset()
    """Verbs for a number that changes, which say nothing beside what it is compared with: "falls"."""
    who: Listed = ()
    negations: frozenset[Words] = frozenset()
    none: frozenset[Words] = frozenset()
    """Words for none of a kind: "no window"."""
    doubled: frozenset[Words] = frozenset()
    """Negations that say nothing more beside "no one"."""
    any: frozenset[Words] = frozenset()
    all: frozenset[Words] = frozenset()
    leads: frozenset[Words] = frozenset()
    """Words with which no clause ends: articles, prepositions."""
    it: frozenset[Words] = frozenset()
    """Words for what the rest of the sentence names; empty where the verb alone says so."""
    joins: Listed = ()
    """Words between two names, with whether both or one of them is meant: `all`, `any`."""
    here: frozenset[Words] = frozenset()
    there: frozenset[Words] = frozenset()
    """Words for the place that the rest of the sentence names."""
    beside: frozenset[Words] = frozenset()
    things: Mapping[str, tuple[Words, ...]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    """All single words of these phrases: none of them is mistyped."""

    @property
    def has_genitive(self) -> bool:
        """Return whether an `s` behind an apostrophe is a word of its own."""
        return (_GENITIVE,) in self.beside


def apart(text: str) -> str:
    """Return a text with the `s` behind an apostrophe as a word of its own: "Anna 's phone"."""
    return f"{text.replace('’', "'")} ".replace("'s ", f" {_GENITIVE} ").strip()


@lru_cache(maxsize=16)
def clause_words(code: str) -> ClauseVocabulary:
    """Return the words of a language by its code; empty where it has none. Reads a file."""
    data = data_of(code).clauses
    has_genitive = _GENITIVE in data.beside

    def split(text: str) -> Words:
        return words_of(apart(text)) if has_genitive else words_of(text)

    def listed(table: Mapping[str, Iterable[str]]) -> Listed:
        rows = {(key, words): None for key, texts in table.items() for text in texts if (words := split(text))}
        return tuple(rows)

    lists: dict[str, Any] = {name: listed(getattr(data, name)) for name in _LISTS}
    sets: dict[str, Any] = {name: frozenset(filter(None, map(split, getattr(data, name)))) for name in _SETS}
    things = {key: tuple(filter(None, map(split, names))) for key, names in data.things.items()}
    known = {word for table in lists.values() for _, words in table for word in words}
    known |= {word for words in itertools.chain(*sets.values(), *things.values()) for word in words}
    return ClauseVocabulary(**lists, **sets, things=things, known=frozenset(known))


def called_alike(key: str, home: str) -> frozenset[Words]:
    """Return what a thing of `things` is called in English and in the language of the home, by its code without a region."""
    return frozenset(words for code in (ENGLISH, home) for words in clause_words(code).things.get(key, ()))
