"""What each Home Assistant works out anew of files that are the same in all: here once per process, for all tests."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import gazetteer_matcher.config  # type: ignore[import-untyped]
from hassil import intents, string_matcher
from hassil.expression import Expression, Sentence
from hassil.intents import RangeSlotList
from hassil.parse_expression import parse_sentence
from hassil.trie import Trie

from custom_components.home_agent.languages import vocabulary
from custom_components.home_agent.languages.data import ENGLISH

_language_of = vocabulary.language_of
_range_trie = string_matcher._build_range_trie
_required_clauses = Sentence.get_required_clauses
_list_names = Sentence.list_names
_parsed = cache(parse_sentence)


def install() -> None:
    """Put what keeps in the place of what works out."""
    # What hassil notes in a sentence is for the rules of one language, so each Home Assistant gets its own
    intents.parse_sentence = lambda text, **options: replace(_parsed(text, **options))  # type: ignore[attr-defined]
    string_matcher._build_range_trie = _kept_trie
    Sentence.get_required_clauses = _kept_clauses  # type: ignore[method-assign]
    Sentence.list_names = _kept_names  # type: ignore[method-assign]
    gazetteer_matcher.config.normalize_tokens = cache(gazetteer_matcher.config.normalize_tokens)
    vocabulary.language_of = _kept_language


@cache
def _made(code: str, translated: tuple[tuple[str, str], ...], home: str) -> vocabulary.Language:
    return _language_of(code, dict(translated), home)


def _kept_language(code: str, translated: Mapping[str, str], home: str = ENGLISH) -> vocabulary.Language:
    return _made(code, tuple(translated.items()), home)


_tries: dict[tuple[object, ...], Trie] = {}


def _kept_trie(language: str, range_list: RangeSlotList) -> Trie:
    """Return the numbers of a list as they are said; spelling them out takes the longest of all that is done here."""
    key = (language, range_list.multiplier, *range_list.get_numbers())
    if key not in _tries:
        _tries[key] = _range_trie(language, range_list)
    return _tries[key]


# Expressions are told apart by identity; each is held here, so that no other one takes its place
_rule_sets: dict[tuple[str | int, ...], tuple[int, list[Expression]]] = {}
_clauses: dict[tuple[int, int], tuple[Expression, frozenset[frozenset[str]]]] = {}
_names: dict[tuple[int, int], tuple[Expression, tuple[str, ...]]] = {}


def _number_of(rules: Mapping[str, Sentence]) -> int:
    expressions = [rule.expression for rule in rules.values()]
    return _rule_sets.setdefault((*rules, *map(id, expressions)), (len(_rule_sets), expressions))[0]


def _kept_clauses(self: Sentence, expansion_rules: dict[str, Sentence]) -> frozenset[frozenset[str]]:
    if self.required_clauses is None:
        key = id(self.expression), _number_of(expansion_rules)
        if key not in _clauses:
            _clauses[key] = self.expression, _required_clauses(self, expansion_rules)
        self.required_clauses = _clauses[key][1]
    return self.required_clauses


def _kept_names(self: Sentence, expansion_rules: dict[str, Sentence] | None = None) -> Iterator[str]:
    key = id(self.expression), _number_of(expansion_rules or {})
    if key not in _names:
        _names[key] = self.expression, tuple(_list_names(self, expansion_rules))
    return iter(_names[key][1])
