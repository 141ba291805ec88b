"""What a language says for which of Home Assistant's intents: the words of a command without its names and values.

The phrases are those of the sentences that Home Assistant installs for each language, with the names, areas and values taken
out, and those of our data file. A phrase is what has to be said, in any order, and what may be said besides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
import itertools
from typing import Any

from home_assistant_intents import get_intents

from ..support.text import fold, runs
from .data import CommandPhrases, data_of
from .intent_words import domains_of_block, domains_of_intent

type Phrase = tuple[str, ...]

PLACES = frozenset({"name", "area", "floor", "device_class", "domain"})
"""Slots about what is meant; which that is, is found in the home."""
VALUES = frozenset(
    {"brightness", "color", "temperature", "position", "percentage", "volume_level", "volume_step", "fan_mode"}
)
"""Slots with a value that stands in the sentence."""
COMMANDS = (
    "HassTurnOn", "HassTurnOff", "HassToggle", "HassLightSet", "HassSetPosition", "HassStopMoving", "HassClimateSetTemperature",
    "HassFanSetSpeed", "HassSetVolume", "HassSetVolumeRelative", "HassMediaPause", "HassMediaUnpause", "HassMediaNext",
    "HassMediaPrevious", "HassMediaPlayerMute", "HassMediaPlayerUnmute", "HassVacuumStart", "HassVacuumReturnToBase",
    "HassLawnMowerStartMowing", "HassLawnMowerDock",
)  # fmt: skip
"""Intents that do something to things of the home, and to nothing else."""
SWITCHED = "switched"
"""Stands among the domains of a command for all that can be turned on and off."""
_MOST_WAYS = 400  # of one part of a sentence; one with more is no phrase
_MOST_PHRASES = 60  # of one sentence
_DEEPEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrasing:
    """One way to say an intent."""

    intent: str
    domains: frozenset[str]
    slots: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    """Slots whose value stands in the sentence, to the list that it is of."""
    change: Mapping[str, float] = field(default_factory=dict)
    needed: tuple[frozenset[Phrase], ...]
    """Of each, one has to be said."""
    beside: frozenset[str]
    alone: bool = False
    response: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrasings:
    """All routes of a language."""

    routes: Sequence[Phrasing] = ()
    by_word: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Routes by each word of which one is needed first."""
    without: Sequence[int] = ()
    """Routes that need a value and no word."""
    words: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[Phrase, Any]] = field(default_factory=dict)
    """Lists of values, each by how it is said."""
    harmless: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    polite: Sequence[Phrase] = ()
    runs: Sequence[Phrasing] = ()


@lru_cache(maxsize=6)
def phrasings_of(code: str, switched: frozenset[str]) -> Phrasings:
    """Return the routes of a language by its code; `switched` are the domains that can be turned on and off.

    Reads files, and takes some tens of milliseconds.
    """
    own, told = data_of(code), get_intents(code) or get_intents(code.split("-", maxsplit=1)[0]) or {}
    reader = _PhrasingReader(told, switched)
    joins = frozenset(word for text in (*own.follow_ups.joins, *own.claims.joins) for word in _words(text))
    found: dict[tuple[Any, ...], Phrasing] = {}
    for route in itertools.chain(reader.told(), reader.said(own.commands)):
        key = (route.intent, route.domains, repr((route.slots, route.values, route.change)), route.needed, route.alone)
        known = found.get(key, route)  # "and" always joins two wishes
        found[key] = replace(known, beside=(known.beside | route.beside) - joins)
    routes = list(found.values())
    by_word: dict[str, list[int]] = {}
    without: list[int] = []
    for number, route in enumerate(routes):
        if not route.needed:
            without.append(number)
        else:
            rarest = min(route.needed, key=len)
            for word in {phrase[0] for phrase in rarest}:
                by_word.setdefault(word, []).append(number)
    said = {word for route in routes for group in route.needed for phrase in group for word in phrase}
    polite = [_words(text) for text in (*told.get("skip_words", ()), *own.polite)]
    return Phrasings(
        routes=routes,
        by_word=by_word,
        without=without,
        words=frozenset(said) | {word for route in routes for word in route.beside},
        values=reader.values,
        harmless=frozenset(word for text in own.harmless for word in _words(text)),
        prepositions=frozenset(word for text in own.prepositions for word in _words(text)),
        polite=sorted({words for words in polite if words}, key=len, reverse=True),
        runs=[*reader.said([CommandPhrases(intent="", domains=("automation",), sentences=own.runs)])],
    )


def _words(text: str) -> Phrase:
    return tuple(fold(run) for run in runs(text))


@dataclass(slots=True)
class _Way:
    text: str = ""
    slots: tuple[tuple[str, str], ...] = ()


class _PhrasingReader:
    def __init__(self, told: Mapping[str, Any], switched: frozenset[str]) -> None:
        """Take them as they are installed."""
        self._told = told
        self._switched = switched
        self._rules: Mapping[str, str] = told.get("expansion_rules") or {}
        self._of_rule: dict[str, list[_Way] | None] = {}
        self.values = {
            name: values for name, listed in (told.get("lists") or {}).items() if (values := self._listed(listed))
        }

    def told(self) -> Iterator[Phrasing]:
        """Yield the routes of Home Assistant's own sentences."""
        for name in COMMANDS:
            for block in self._told.get("intents", {}).get(name, {}).get("data", ()):
                if domains := domains_of_block(block) or domains_of_intent(name):
                    slots = block.get("slots") or {}
                    command = CommandPhrases(
                        intent=name,
                        domains=domains,
                        sentences=block.get("sentences", ()),
                        slots={key: value for key, value in slots.items() if key not in PLACES},
                        alone="area" in (block.get("requires_context") or ()),
                        response=block.get("response") or "default",
                    )
                    yield from self.said([command])

    def said(self, commands: Sequence[CommandPhrases]) -> Iterator[Phrasing]:
        """Yield the routes of commands, as our data file has them."""
        for command in commands:
            domains = frozenset(command.domains)
            if SWITCHED in domains:
                domains = domains - {SWITCHED} | self._switched
            for sentence in command.sentences:
                for needed, beside, values, names in self._phrases(sentence):
                    yield Phrasing(
                        intent=command.intent,
                        domains=domains,
                        slots=command.slots,
                        values=values,
                        change=command.change,
                        needed=needed,
                        beside=beside,
                        alone=command.alone and not names,
                        response=command.response,
                    )

    def _listed(self, listed: Mapping[str, Any]) -> dict[Phrase, Any]:
        found: dict[Phrase, Any] = {}
        for value in listed.get("values") or ():
            spoken, meant = (value.get("in", ""), value.get("out")) if isinstance(value, dict) else (value, value)
            for way in self._ways(_parsed(str(spoken)), 0) or ():
                if words := _words(way.text):
                    found.setdefault(words, meant)
        return found

    def _phrases(
        self, sentence: str
    ) -> Iterator[tuple[tuple[frozenset[Phrase], ...], frozenset[str], dict[str, str], bool]]:
        """Yield what has to be said, what may be, the slots with values, and whether something is named."""
        beside: set[str] = set()
        parts: list[list[tuple[frozenset[Phrase], tuple[tuple[str, str], ...]]]] = []
        names = False
        for unit in _units(_parsed(sentence)):
            ways = self._ways(unit, 0)
            if ways is None:
                return
            found: dict[tuple[tuple[str, str], ...], set[Phrase]] = {}
            for way in ways:
                valued = tuple(slot for slot in way.slots if slot[0] not in PLACES)
                if any(slot not in VALUES for slot, _ in valued):
                    return
                words = _words(way.text)
                if len(valued) < len(way.slots):
                    names, words = True, ()
                    beside.update(_words(way.text))
                found.setdefault(valued, set()).add(words)
            part: list[tuple[frozenset[Phrase], tuple[tuple[str, str], ...]]] = []
            for valued, phrases in found.items():
                if () in phrases or valued:
                    beside.update(word for phrase in phrases for word in phrase)
                    part.append((frozenset(), valued))
                else:
                    least = frozenset(
                        phrase for phrase in phrases if not any(set(other) < set(phrase) for other in phrases)
                    )
                    beside.update(word for phrase in phrases - least for word in phrase)
                    part.append((least, valued))
            parts.append(part)
        for choice in itertools.islice(itertools.product(*parts), _MOST_PHRASES):
            values = dict(slot for _, slots in choice for slot in slots)
            needed = tuple(group for group, _ in choice if group)
            if needed or values:
                yield needed, frozenset(beside), values, names

    def _ways(self, unit: Sequence[_Item], deep: int) -> list[_Way] | None:
        ways = [_Way()]
        for item in unit:
            more = self._ways_of(item, deep)
            if more is None or len(ways) * len(more) > _MOST_WAYS:
                return None
            ways = [_Way(way.text + one.text, way.slots + one.slots) for way in ways for one in more]
        return ways

    def _ways_of(self, item: _Item, deep: int) -> list[_Way] | None:
        match item.kind:
            case "text":
                return [_Way(item.text)]
            case "list":
                name, _, slot = item.text.partition(":")
                return [_Way(" ", ((slot or name, name),))]
            case "rule":
                if deep > _DEEPEST:
                    return None
                if item.text not in self._of_rule:
                    self._of_rule[item.text] = None
                    self._of_rule[item.text] = self._ways(_parsed(self._rules.get(item.text, "")), deep + 1)
                return self._of_rule[item.text]
            case "together":
                spaced = [[*choice, _Item("text", " ")] for choice in item.choices]
                return self._ways([part for choice in spaced for part in choice], deep)
        ways: list[_Way] = []
        for choice in item.choices:
            found = self._ways(choice, deep)
            if found is None or len(ways) + len(found) > _MOST_WAYS:
                return None
            ways += found
        return ways + ([_Way()] if item.kind == "maybe" else [])


@dataclass(slots=True)
class _Item:
    """A part of a template: text, a rule, a list, one of several, maybe one of several, or several in any order."""

    kind: str
    text: str = ""
    choices: list[list[_Item]] = field(default_factory=list)


def _parsed(template: str) -> list[_Item]:
    """Return the parts of a template; one that is not closed ends where the text does."""
    stack: list[tuple[str, list[list[_Item]], bool]] = [("", [[]], False)]
    place = 0
    while place < len(template):
        sign = template[place]
        kind, choices, ordered = stack[-1]
        if sign in "([":
            stack.append((sign, [[]], False))
        elif sign in ")]" and len(stack) > 1:
            stack.pop()
            name = "maybe" if kind == "[" else "together" if ordered else "one"
            stack[-1][1][-1].append(_Item(name, choices=choices))
        elif sign in "|;":
            choices.append([])
            stack[-1] = (kind, choices, ordered or sign == ";")
        elif sign in "<{":
            end = template.find(">" if sign == "<" else "}", place)
            end = end if end > 0 else len(template)
            choices[-1].append(_Item("rule" if sign == "<" else "list", template[place + 1 : end]))
            place = end
        elif choices[-1] and choices[-1][-1].kind == "text":
            choices[-1][-1].text += sign
        else:
            choices[-1].append(_Item("text", sign))
        place += 1
    while len(stack) > 1:
        _, choices, _ = stack.pop()
        stack[-1][1][-1].append(_Item("one", choices=choices))
    whole = stack[0][1]
    return whole[0] if len(whole) == 1 else [_Item("one", choices=whole)]


def _units(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """Yield the parts between spaces; what is written together belongs together: `light[s]`."""
    unit: list[_Item] = []
    for item in items:
        if item.kind != "text":
            unit.append(item)
            continue
        first, *others = item.text.split(" ")
        if first:
            unit.append(_Item("text", first))
        for word in others:
            if unit:
                yield unit
            unit = [_Item("text", word)] if word else []
    if unit:
        yield unit
