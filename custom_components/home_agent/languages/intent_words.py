"""Which words point to which kind of entity, read from the sentences that Home Assistant itself understands.

`home_assistant_intents` has sentences for each language and says which domain they are about. A word that stands in the
sentences about lights alone is about lights; one that stands everywhere says nothing. So every language that Home
Assistant speaks brings its nouns and verbs along, without a list of ours.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
import re
from typing import Any

from home_assistant_intents import get_intents

from ..support.text import MAX_WORD, fold, is_unspaced, runs
from .data import ENGLISH

_ASKING = ("HassGet", "HassClimateGet", "HassTimerStatus")
_OTHER = ("HassBroadcast", "HassNevermind", "HassRespond")  # these are about no entity

_LIST = re.compile(r"\{(\w+)(?::(\w+))?\}")
_RULE = re.compile(r"<(\w+)>")
_MAY_END = re.compile(r"(\w+)\[(\w+)\]")
_MAY_BEGIN = re.compile(r"\[(\w+)\](\w+)")
_ENDINGS = re.compile(r"(\w+)\((\w*(?:\|\w*)+)\)")
_MAY_HAVE_ENDINGS = re.compile(r"(\w+)\[(\w+(?:\|\w+)+)\]")
_MAX_VALUES = 80  # of a list; a longer one is no vocabulary

_FEW = 0.3  # of its sentences in one domain: a word that says less than this about each is a filler
_MANY = 5  # domains
_OFTEN = 0.4  # of the sentences of a domain: a word that stands in so many is its name or its verb
_SURE = 0.75  # from this certainty on a word can name a kind
_SORTS = 3  # intents that a noun stands in
_ONLY_ASKS = 0.8
_SAYS_LITTLE = 0.25  # "what", "tell", "how" stand in questions for these, but mean none of them
_CLEARLY = 0.5
_RARE = 0.4  # what a word says that stands in one sentence of a domain alone


@dataclass(frozen=True, slots=True)
class SentenceWords:
    """What the sentences of a language say about its words; all words folded."""

    kinds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Word, or several with spaces, to kinds (`light`, `cover.blind`) with how sure that is, 0 to 1."""
    asking: Mapping[str, float] = field(default_factory=dict)
    """Word to how much it asks (1) rather than orders (-1)."""
    nouns: frozenset[str] = frozenset()
    """The words that name a kind: they stand in orders and questions of all sorts, where a verb stands in few."""
    fillers: frozenset[str] = frozenset()
    """Words that stand in sentences about anything."""


def domains_of_block(block: Mapping[str, Any]) -> list[str]:
    """Return the domains that a block of sentences is limited to; empty if to none."""
    slots, context = block.get("slots") or {}, block.get("requires_context") or {}
    return _listed(slots.get("domain")) or _listed(context.get("domain"))


@dataclass(frozen=True, slots=True)
class _Intents:
    domains: Mapping[str, list[str]]
    """Of each intent that is for certain domains only."""
    only_asked: frozenset[str]
    """Domains that no intent changes."""


@cache
def _intents() -> _Intents:
    found: dict[str, list[str]] = {}
    asked, ordered = set[str](), set[str]()
    for intent, described in (get_intents(ENGLISH) or {})["intents"].items():
        blocks = [domains_of_block(block) for block in described.get("data", ())]
        (asked if intent.startswith(_ASKING) else ordered).update(*blocks)
        most = max(blocks, key=len, default=[])
        if most and all(set(domains) <= set(most) for domains in blocks):
            found[intent] = most
    return _Intents(found, frozenset(asked - ordered))


def domains_of_intent(intent: str) -> list[str]:
    """Return the domains that an intent is limited to; those of the shopping list are those of a list."""
    return _intents().domains.get(intent.replace("HassShopping", "Hass"), [])


def sentence_words(code: str) -> SentenceWords | None:
    """Return the words of a language as `home_assistant_intents` calls it; None when it has none. Reads a file."""
    data = get_intents(code)
    if not data:
        return None
    return _IntentWordsReader(data).read()


class _IntentWordsReader:
    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._rules: Mapping[str, str] = data.get("expansion_rules") or {}
        self._lists: Mapping[str, Any] = data.get("lists") or {}
        self._of_rule: dict[str, frozenset[str]] = {}
        self._blocks: dict[str, float] = defaultdict(float)  # domain: how many
        self._seen: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))  # word: domain: in how many
        self._modes: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])  # word: asked, ordered
        self._all = [0.0, 0.0]
        self._intents: dict[tuple[str, str], set[str]] = defaultdict(set)  # word and domain: in which intents
        self._classes: dict[str, dict[str, float]] = defaultdict(dict)

    def read(self) -> SentenceWords:
        for intent, described in self._data.get("intents", {}).items():
            for block in described.get("data", ()) if not intent.startswith(_OTHER) else ():
                self._block(intent, block)
        kinds: dict[str, Mapping[str, float]] = {}
        fillers: set[str] = set(_literal(" ".join(self._data.get("skip_words") or ())))
        for word, counted in sorted(self._seen.items()):  # bags have no order, and each run has to give the same
            shares = {kind: count / self._blocks[kind] for kind, count in counted.items()}
            total = sum(shares.values())
            best = max(shares.values()) / total
            if best < _FEW and len({kind.partition(".")[0] for kind in shares}) >= _MANY:
                fillers.add(word)
            elif word not in fillers and not word.isdigit():
                sure = min(1.0, best / 0.6)
                kinds[word] = {
                    kind: sure * share / total / best * (_RARE + (1 - _RARE) * min(1.0, share / _OFTEN))
                    for kind, share in shares.items()
                    if share / total >= 0.2 * best
                }
        kinds = {word: known for word, known in kinds.items() if len(word) > 1 or is_unspaced(word)}
        for phrase, classes in self._classes.items():
            kinds[phrase] = {**kinds.get(phrase, {}), **classes}
            fillers.discard(phrase)
        asking: dict[str, float] = {}
        for word, modes in self._modes.items():
            asked, ordered = (of / max(1.0, whole) for of, whole in zip(modes, self._all, strict=True))
            if not word.isdigit() and abs(asks := (asked - ordered) / (asked + ordered)) > _CLEARLY:
                asking[word] = asks
        for word, asks in asking.items():
            if asks > _ONLY_ASKS and word not in self._classes:
                kinds[word] = {
                    kind: sure * (_SAYS_LITTLE if kind in _intents().only_asked else 1.0)
                    for kind, sure in kinds.get(word, {}).items()
                }
        nouns = {word for word, known in kinds.items() if self._is_noun(word, known)}
        return SentenceWords(kinds, asking, frozenset(nouns), frozenset(fillers))

    def _block(self, intent: str, block: Mapping[str, Any]) -> None:
        slots = block.get("slots") or {}
        domains = domains_of_block(block) or domains_of_intent(intent)
        bag: set[str] = set()
        for sentence in block.get("sentences", ()):
            bag |= self._bag(sentence, tuple(domains))
        mode = 0 if intent.startswith(_ASKING) else 1
        self._all[mode] += 1
        for word in bag:
            self._modes[word][mode] += 1
        kinds = [f"{domain}.{c}" for domain in domains for c in _listed(slots.get("device_class"))] or domains
        for kind in kinds:
            self._blocks[kind] += 1 / len(kinds)
            for word in bag:
                self._seen[word][kind] += 1 / len(kinds)
                self._intents[word, kind].add(intent)

    def _bag(self, template: str, domains: tuple[str, ...], deep: int = 0) -> set[str]:
        bag: set[str] = set()
        for name, slot in _LIST.findall(template):
            bag |= self._list(name, slot or name, domains)
        if deep < 8:
            for rule in _RULE.findall(template):
                if rule not in self._of_rule:
                    self._of_rule[rule] = frozenset(self._bag(self._rules.get(rule, ""), (), deep + 1))
                bag |= self._of_rule[rule]
        return bag | set(_literal(template))

    def _list(self, name: str, slot: str, domains: tuple[str, ...]) -> set[str]:
        values = (self._lists.get(name) or {}).get("values") or ()
        if len(values) > _MAX_VALUES:
            return set()
        bag: set[str] = set()
        for value in values:
            spoken, meant = (value.get("in", ""), value.get("out")) if isinstance(value, dict) else (value, value)
            if slot == "device_class":
                for phrase in _phrases(str(spoken)):
                    self._classes[phrase].update({f"{domain}.{meant}": 1.0 for domain in domains or ("",)})
            else:
                bag.update(_literal(str(spoken)))
        return bag

    def _is_noun(self, word: str, kinds: Mapping[str, float]) -> bool:
        best = max(kinds, key=kinds.__getitem__, default="")
        intents = self._intents[word, best]
        is_asked = any(intent.startswith(_ASKING) for intent in intents)
        return kinds.get(best, 0.0) >= _SURE and (word in self._classes or (len(intents) >= _SORTS and is_asked))


def _listed(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, Sequence) else []


def _literal(template: str) -> Iterator[str]:
    """Yield the folded words of a template without its rules and lists, endings written out: `light[s]` is `light lights`."""
    text = _RULE.sub(" ", _LIST.sub(" ", template))
    text = _MAY_HAVE_ENDINGS.sub(r"\1(|\2)", text)
    text = _ENDINGS.sub(lambda m: " ".join(m[1] + end for end in m[2].split("|")), text)
    text = _MAY_BEGIN.sub(r"\2 \1\2", _MAY_END.sub(r"\1 \1\2", text))
    for start in range(0, len(text), 900):  # a template has any length, and `runs` reads short texts only
        yield from map(fold, runs(text[start : start + 900]))


def _phrases(template: str) -> Iterator[str]:
    """Yield the ways to say a value of a list: `(blind[s]|roller shade)` is blind, blinds, roller shade."""
    ended = _ENDINGS.sub(
        lambda m: "|".join(m[1] + end for end in m[2].split("|")), _MAY_HAVE_ENDINGS.sub(r"\1(|\2)", template)
    )
    for alternative in ended.replace("(", "|").replace(")", "|").split("|"):
        plain = alternative.replace("[", "").replace("]", "")
        short = re.sub(r"\[[^\]]*\]", "", alternative)
        for phrase in dict.fromkeys((plain, short)):  # in the order of any run
            if folded := " ".join(fold(run) for run in runs(phrase)):
                yield folded[: 2 * MAX_WORD]
