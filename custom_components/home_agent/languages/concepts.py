"""What the words of everyday life are about: "allergic" is about allergies and so about food, "mum" and "mother" are the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
import re
from types import MappingProxyType

from ..support.text import fold, normalized
from .data import code_of, data_of

WIDER: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "meat": ("food",), "fish": ("food",), "dairy": ("food",), "vegetables": ("food",), "fruit": ("food",),
    "sweets": ("food",), "diet": ("food",), "allergy": ("food", "health"), "hot_drinks": ("drink",), "alcohol": ("drink",),
    "drink": ("food",), "medicine": ("health",), "doctor": ("health",), "senses": ("health",), "handicap": ("health",),
    "pregnancy": ("child", "health"), "nursery": ("school", "child"), "dog": ("pets",), "cat": ("pets",),
    "animal": ("pets",), "birthday": ("age", "time"), "weekday": ("time",), "month": ("time",), "season": ("time",),
    "morning": ("time",), "noon": ("time",), "evening": ("time",), "night": ("time",), "wake": ("sleep", "time"),
    "appointment": ("time",), "wedding": ("partner",), "partner": ("family",), "child": ("family",),
    "family": ("person",), "friend": ("person",), "neighbour": ("person",), "guest": ("visit",), "bank": ("money",),
    "insurance": ("money",), "tax": ("money",), "subscription": ("money",), "swimming": ("sport",),
    "flight": ("travel",), "train": ("travel",), "bike": ("travel",), "seat": ("travel",), "shoes": ("size", "clothes"),
    "clothes": ("size",), "tools": ("repair",), "water": ("repair",), "film": ("hobby",), "music": ("hobby",),
    "games": ("hobby",), "reading": ("hobby",), "sport": ("hobby",), "celebration": ("time",), "room": ("home",),
    "furniture": ("room",), "electricity": ("repair",), "noise": ("sleep",),
})  # fmt: skip
"""Concepts that one is about as well."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word is about."""

    groups: frozenset[str]
    """Names of sets of words that mean the same: `en:food.3`."""
    concepts: frozenset[str]
    wider: frozenset[str]
    """What the concepts are about as well; none of them."""

    def __bool__(self) -> bool:
        """Return whether anything is known of the word."""
        return bool(self.concepts)


NOTHING = Meaning(frozenset(), frozenset(), frozenset())


@lru_cache(maxsize=16384)
def meaning_of(language: str, word: str) -> Meaning:
    """Return what a folded word is about in a language; nothing where the language has no concepts or does not know it.

    Of the entries that fit, those count that say most of the word: "cathedral" is no cat. What stands behind another one in a
    compound counts as well: "Haselnussallergie" is about nuts and about allergies.
    """
    table = _table(code_of(language))
    fits = [(len(word) + 1, group) for group in table.whole.get(word, ())]
    fits += [(len(start), group) for start, group in table.starts.get(word[:_KEY], ()) if word.startswith(start)]
    fits += [(len(part), group) for part, group in table.short if word.startswith(part)]
    begins = max((length for length, _ in fits), default=0)
    inner = [(len(end), group) for end, group in table.ends if word.endswith(end)]
    inner += [(len(part), group) for part, group in table.parts if part in word]
    behind = [item for item in inner if begins + item[0] <= len(word)]
    beside = [item for item in inner if item not in behind]
    groups = frozenset(group for _, group in (*_longest(fits + beside), *_longest(behind)))
    concepts = frozenset(group.partition(":")[2].partition(".")[0] for group in groups)
    above = frozenset(wider for concept in concepts for wider in WIDER.get(concept, ()))
    return Meaning(groups, concepts, above - concepts) if groups else NOTHING


def _longest(fits: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return what says about as much of a word as what says most of it."""
    longest = max((length for length, _ in fits), default=0)
    return [item for item in fits if item[0] >= longest - _NEARLY]


def names_in(text: str, language: str) -> frozenset[str]:
    """Return the folded words of a text that look like names: with a capital letter, of no concept, and no mere fillers.

    In German that is also a noun that is no word of everyday life.
    """
    found = {fold(normalized(word)) for word in _WORDS.findall(text) if word[0].isupper()}
    found -= fillers_of(code_of(language))
    return frozenset(word for word in found if len(word) > 1 and not meaning_of(language, word))


@cache
def fillers_of(code: str) -> frozenset[str]:
    """Return the folded words that say nothing in a language."""
    return frozenset(fold(normalized(word)) for word in data_of(code).fillers)


_WORDS = re.compile(r"[^\W\d_]+(?:['’]s\b)?")
_KEY = 3  # letters by which beginnings are found
_NEARLY = 1  # letters that an entry may say less of a word than the one that says most


@dataclass(slots=True)
class _Table:
    whole: dict[str, list[str]]
    starts: dict[str, list[tuple[str, str]]]
    short: list[tuple[str, str]]
    ends: list[tuple[str, str]]
    parts: list[tuple[str, str]]


@cache
def _table(code: str) -> _Table:
    table = _Table({}, {}, [], [], [])
    for concept, groups in data_of(code).concepts.items():
        for number, group in enumerate(groups):
            name = f"{code}:{concept}.{number}"
            for entry in group.split():
                word = fold(normalized(entry.strip("*")))
                match entry.startswith("*"), entry.endswith("*"):
                    case True, True:
                        table.parts.append((word, name))
                    case True, False:
                        table.ends.append((word, name))
                    case False, True if len(word) >= _KEY:
                        table.starts.setdefault(word[:_KEY], []).append((word, name))
                    case False, True:
                        table.short.append((word, name))
                    case _:
                        table.whole.setdefault(word, []).append(name)
    return table
