"""The words of clauses in one language, folded: what becomes of things, numbers and people, and what changes nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
import itertools

from ..languages.data import ENGLISH, data_of
from ..support.text import Words, words_of

_GENITIVE = "s"
"""The word that is left of "Anna's" in languages that write it so."""

type Listed = tuple[tuple[str, Words], ...]
"""Phrases with what each stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseVocabulary:
    """The words of clauses in one language."""

    states: Listed = ()
    compares: Listed = ()
    measures: Listed = ()
    units: Listed = ()
    who: Listed = ()
    negations: frozenset[Words] = frozenset()
    none: frozenset[Words] = frozenset()
    """Words for none of a kind: "no window"."""
    doubled: frozenset[Words] = frozenset()
    """Negations that say nothing more beside "nobody"."""
    any: frozenset[Words] = frozenset()
    all: frozenset[Words] = frozenset()
    definite: frozenset[Words] = frozenset()
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
    own = data_of(code)
    data, questions = own.clauses, own.questions
    has_genitive = _GENITIVE in data.beside

    def split(text: str) -> Words:
        return words_of(apart(text)) if has_genitive else words_of(text)

    def listed(table: Mapping[str, Iterable[str]]) -> Listed:
        rows = {(key, words): None for key, texts in table.items() for text in texts if (words := split(text))}
        return tuple(rows)

    def phrases(*texts: Iterable[str]) -> frozenset[Words]:
        return frozenset(filter(None, map(split, itertools.chain(*texts))))

    tables = [listed(table) for table in (data.states, data.compares, data.measures, data.units, data.who, data.joins)]
    sets = [
        phrases(texts) for texts in (data.negations, data.none, data.doubled, data.any, data.all, data.here, data.there)
    ]
    beside = phrases(data.beside)
    definite = phrases(data.definite, questions.definite)
    things = {key: tuple(phrases(names)) for key, names in data.things.items()}
    known = {word for table in tables for _, words in table for word in words}
    known |= {word for words in itertools.chain(*sets, beside, definite, *things.values()) for word in words}
    return ClauseVocabulary(
        states=tables[0], compares=tables[1], measures=tables[2], units=tables[3], who=tables[4], joins=tables[5],
        negations=sets[0], none=sets[1], doubled=sets[2], any=sets[3], all=sets[4], here=sets[5], there=sets[6],
        definite=definite, beside=beside, things=things, known=frozenset(known),
    )  # fmt: skip


def called_alike(key: str, home: str) -> frozenset[Words]:
    """Return what a thing of `things` is called in English and in the language of the home, by its code without a region."""
    return frozenset(words for code in (ENGLISH, home) for words in clause_words(code).things.get(key, ()))
