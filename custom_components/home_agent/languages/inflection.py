"""Which words are forms of one another in languages that decline them: "света" is "свет", "okien" is "okno".

A word may be cut at each ending that its language has. Two words are forms of one when something is left that they have in
common. Languages without endings in their data file decline little, and likeness of the letters is enough for them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from ..support.text import fold, normalized
from .data import Inflection, data_of

type Stems = tuple[frozenset[str], ...]
"""Of each word of a phrase."""

_LEAST_STEM = 3  # letters: what is left of a word must still tell it from others
_LEAST_NAMED = 4  # the same where it may be any word that the home has

_VOWELS = frozenset("aeiouyаеиоуыэюяіъ")


class Forms:
    """Words and phrases of a language, found again in whatever form they are said."""

    def __init__(self, base: str = "", phrases: Iterable[str] = (), *, adjectives: bool = False) -> None:
        """Take folded words, or several with spaces between; `base` is the code of the language without a region.

        With `adjectives` those that are made of a word count as its forms as well.
        """
        self._base = base
        self._said = roots_of if adjectives else stems_of
        self._by_stem: dict[str, list[tuple[str, Stems]]] = {}
        for phrase in sorted(phrases) if _rules(base).endings else ():
            stems = tuple(stems_of(base, word) for word in phrase.split())
            for stem in stems[0]:
                self._by_stem.setdefault(stem, []).append((phrase, stems))

    def of(self, word: str) -> list[str]:
        """Return the single words that a folded word is a form of; maybe itself among them."""
        return [phrase for length, phrase in self.starting([word], 0) if length == 1]

    def starting(self, spoken: Sequence[str], start: int) -> Iterator[tuple[int, str]]:
        """Yield what a text says from one of its folded words on: how many words, and the word or phrase."""
        if not self._by_stem:
            return
        seen: set[str] = set()
        for stem in sorted(self._said(self._base, spoken[start])):
            for phrase, stems in self._by_stem.get(stem, ()):
                if phrase not in seen and self._says(spoken[start : start + len(stems)], stems):
                    seen.add(phrase)
                    yield len(stems), phrase

    def _says(self, spoken: Sequence[str], stems: Stems) -> bool:
        return len(spoken) == len(stems) and not any(
            wanted.isdisjoint(self._said(self._base, word)) for word, wanted in zip(spoken, stems, strict=True)
        )


@lru_cache(maxsize=16384)
def stems_of(base: str, word: str) -> frozenset[str]:
    """Return what may be left of a folded word without its ending; the word alone where its language declines little."""
    rules = _rules(base)
    stems = _with_short({word, *(word.removesuffix(end) for end in rules.endings)}, rules)
    for one, other in rules.same_sounds:
        stems = {stem.replace(one, other) for stem in stems}
    return frozenset(stems) or frozenset({word})


@lru_cache(maxsize=16384)
def roots_of(base: str, word: str) -> frozenset[str]:
    """Return the stems of a folded word, and of the nouns that it may be an adjective of."""
    stems, rules = stems_of(base, word), _rules(base)
    cut = {stem.removesuffix(end) for stem in stems for end in rules.adjective_endings if stem.endswith(end)}
    return stems.union(_with_short(cut, rules))


@lru_cache(maxsize=16384)
def keys_of(base: str, word: str) -> frozenset[str]:
    """Return what a folded word and its other forms have in common; the word itself is among it."""
    if word.isdigit():
        return frozenset({word})
    if _rules(base).endings:
        return stems_of(base, word) | {word}
    ends = tuple(data_of(base).plurals) or ("s", "es")
    return frozenset({word, *(word[: -len(end)] for end in ends if word.endswith(end) and len(word) - len(end) > 2)})


def forms_of(base: str, word: str) -> Iterator[str]:
    """Yield what a folded word may be called in another form: hundreds of them, few of which exist."""
    rules = _rules(base)
    for stem in roots_of(base, word) if rules.endings else ():
        if len(stem) >= _LEAST_NAMED:
            yield stem
            yield from (stem + end for end in rules.endings)
            yield from (stem[:-1] + vowel + stem[-1] for vowel in rules.fleeting_vowels)


@lru_cache(maxsize=32)
def _rules(base: str) -> Inflection:
    """Return how a language declines, the endings folded."""
    rules = data_of(base).inflection
    return replace(rules, endings=tuple(dict.fromkeys(fold(normalized(end)) for end in rules.endings)))


def _with_short(stems: set[str], rules: Inflection) -> set[str]:
    """Return the stems that are long enough, each also without the vowel that stands before its last consonant."""
    short = set(stems)
    for stem in stems:
        for vowel in rules.fleeting_vowels:
            before = stem[: -len(vowel) - 1]
            if len(before) > 1 and stem[-len(vowel) - 1 : -1] == vowel and not {before[-1], stem[-1]} & _VOWELS:
                short.add(before + stem[-1])
                break
    return {stem for stem in short if len(stem) >= _LEAST_STEM}
