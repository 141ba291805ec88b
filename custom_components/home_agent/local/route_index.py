"""The routes of a profile in one language, and how well a sentence fits each of them: nothing is decided and nothing runs here.

What is left of a sentence when the values of a route's arguments are taken out is compared with the phrases of the routes: by
words, each by what it says and both ways, or by the vectors of an embedding model.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
import heapq
from itertools import islice, takewhile
import re
from typing import TYPE_CHECKING, Any

from homeassistant.core import State
from homeassistant.util import dt as dt_util

from ..home.domains import SWITCHED
from ..home.domains.script import TRIGGER
from ..home.names import stems_of
from ..home.snapshot import HomeSnapshot
from ..languages.data import data_of
from ..languages.later import LaterKind, later_in
from ..languages.phrasings import Phrasing, phrasings_of
from ..languages.vocabulary import Language
from ..policy.tool import HomeAgentTool
from ..support.text import fold, words
from .arguments import extract
from .declared import Argument

if TYPE_CHECKING:
    from ..search.lexical import Lexicon
    from ..search.model import VectorRows
    from ..search.vectors import Embedder

MAX_PHRASES = 24  # of one route
MAX_PHRASE = 300  # characters
MAX_COMMANDS = 500  # phrases of the language for what the tool for control does
MAX_WORDS = 30  # of a sentence
MAX_NEAR = 120  # phrases with words in common that are looked at closely
MAX_CLOSE = 60  # routes with near vectors of which that is so
MAX_ARGUED = 40  # routes whose arguments are looked for in a sentence that is embedded
MAX_RESTS = 8  # texts of one sentence that are embedded
_SAME = 0.8  # likeness from which on two words say the same
_ALIKE = 0.7  # from which on they have something in common
_VALUE = "="  # in front of the name of an argument, which then stands for its value
_HARMLESS = 0.2  # weight of a word that changes nothing
_LEADING = 3  # words in front of a value that say what it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Something that a sentence can mean as a whole."""

    id: str  # unique among the routes: an entity id, or what it is and a name
    tool: str
    """Name of the tool that does it. A profile without this tool does not have the route."""
    said: Sequence[str] = ()  # what users say who want it: names, aliases, examples
    described: Sequence[str] = ()
    """What it is about. That alone runs nothing."""
    declared: Callable[[], Sequence[Argument]] = tuple
    call: Callable[[Mapping[str, Any], str], dict[str, Any]] | None = None
    """Returns the tool's arguments for values by name and what was said; None: only a model can call it."""
    entity_id: str = ""  # has to be exposed, and known to the user
    is_named: bool = False  # its phrases are names: words that say "turn on" are said besides
    needs_verb: bool = False  # its name alone is not enough: words have to say whether it is turned on or run
    answers: bool = False  # it changes nothing: a question may mean it
    owned: bool = False
    """Its examples are the owner's own: it also runs where nothing but simple commands is answered without the model."""
    skips_home: bool = False  # names of the home in a sentence say nothing for or against it


@dataclass(frozen=True, slots=True)
class _Phrase:
    target: int
    is_said: bool
    text: str  # with the values of arguments taken out
    numbers: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A sentence, and what its values are read with."""

    text: str
    home: HomeSnapshot  # what the user may know of
    now: datetime
    state_of: Callable[[str], State | None]


@dataclass(slots=True)
class Fit:
    """How well a sentence fits a target."""

    target: Route
    best: float = 0.0
    action: float = 0.0
    phrase: _Phrase | None = None
    rest: str = ""
    timeless: str = ""
    """What was said without how long it is to last, where that is a value; empty: nothing was taken out."""
    values: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()  # arguments that it needs and that have no value, or several
    beside: frozenset[str] = frozenset()  # words that only lead to a value: "with" 38 degrees

    def note(self, phrase: _Phrase, how_much: float) -> None:
        """Take how near one of its phrases is."""
        self.best = max(self.best, how_much)
        if phrase.is_said and how_much > self.action:
            self.action, self.phrase = how_much, phrase


class RouteIndex:
    """The routes of a profile in one language, with their phrases; made anew when the home or its tools change."""

    def __init__(
        self, targets: Sequence[Route], language: Language, home: HomeSnapshot, tools: Sequence[HomeAgentTool] = ()
    ) -> None:
        """Read the phrases. Takes some 50 ms for 5,000; runs in the executor."""
        from ..search.lexical import Lexicon

        self.targets, self.language, self.home = targets, language, home
        self.tools = {tool.name: tool for tool in tools}
        self.lexicon: Lexicon = Lexicon()
        known = phrasings_of(language.code, SWITCHED)
        self._harmless, self._polite = known.harmless, known.polite
        self._on: dict[str, list[Phrasing]] = {}
        """Ways to say that something is to be turned on, by its domain."""
        for route in known.routes:
            if route.intent == "HassTurnOn" and not route.values and not route.slots:
                for domain in route.domains:
                    self._on.setdefault(domain, []).append(route)
        self._otherwise = [route for route in known.routes if route.intent in ("HassTurnOff", "HassToggle")]
        self._runs = known.runs
        self.phrases: list[_Phrase] = []
        self.by_word: dict[int, list[int]] = {}
        self.of_target: list[list[int]] = []
        self.argued: set[int] = set()
        """Targets of which a sentence is compared without what says which: values of arguments, names of the home."""
        for number, target in enumerate(targets):
            self._read(number, target)
        self.vectors: VectorRows | None = None
        """Of the first `MAX_VECTORS` phrases, a row each."""
        self.embedder: Embedder | None = None
        """What made them."""
        self.building: asyncio.Task[None] | None = None
        self.failed_at: float | None = None

    def _read(self, number: int, target: Route) -> None:
        listed = [(text, True) for text in target.said] + [(text, False) for text in target.described]
        declared = target.declared() if target.call is not None else ()
        if target.skips_home or declared:
            self.argued.add(number)
        if target.is_named:
            declared = ()  # a name has no values in it
        own: list[int] = []
        seen: set[tuple[str, ...]] = set()
        for text, is_said in listed[: MAX_COMMANDS if target.skips_home else MAX_PHRASES]:
            rest = text[:MAX_PHRASE]
            if declared:
                found = extract(rest, declared, self.home, self.language, dt_util.now())
                rest = found.rest(rest)
            spoken = self.words_of(rest)
            if declared:
                spoken += tuple(f"{_VALUE}{one}" for one in found.values)
            if not spoken or spoken in seen:
                continue
            seen.add(spoken)
            numbers = tuple(self.lexicon.number(word) for word in spoken)
            harmless = self.harmless_in(spoken)
            weights = tuple(_HARMLESS if word in harmless else 1.0 for word in spoken)
            own.append(len(self.phrases))
            for word in numbers:
                self.by_word.setdefault(word, []).append(len(self.phrases))
            self.phrases.append(_Phrase(number, is_said, rest, numbers, weights))
        self.of_target.append(own)

    @staticmethod
    def words_of(text: str) -> tuple[str, ...]:
        """Return the folded words of a text, each once."""
        return tuple(dict.fromkeys(fold(word) for word in words(text)))[:MAX_WORDS]

    def harmless_in(self, spoken: Sequence[str]) -> set[str]:
        """Return those of some words that change nothing: by themselves, or together a courtesy."""
        said = set(spoken)
        polite = (phrase for phrase in self._polite if said.issuperset(phrase))
        return {word for word in spoken if word in self._harmless}.union(*polite)

    def is_of_home(self, word: str) -> bool:
        """Return whether a name of the home has a word."""
        return any(True for stem in stems_of(word) for _ in self.home.names.with_stem(stem))

    def alike(self, word: str) -> Mapping[int, float]:
        """Return the words of phrases that a folded one may stand for."""
        found = dict(self.lexicon.forms(self.language.base, word))
        for number, how_much in self.lexicon.alike(word).items():
            if how_much >= _ALIKE:
                found[number] = max(found.get(number, 0.0), how_much)
        return found

    def turning_on(self, target: Route, spoken: Sequence[str]) -> set[str]:
        """Return the words that say to turn on what is named, or to run it if it needs a verb, with what may be said besides."""
        routes = self._on.get(target.entity_id.partition(".")[0], ())
        return _told_by((*routes, *(self._runs if target.needs_verb else ())), spoken)

    def verb_of(self, fit: Fit) -> str:
        """Return what a sentence wants of what it names: `turn_on`, `trigger`; "" where it says neither, both, or to turn it off."""
        assert fit.phrase is not None  # whose name it is
        own = set(self.words_of(fit.phrase.text))
        spoken = [word for word in self.words_of(fit.rest) if word not in own]
        runs = _told_by(self._runs, spoken) if fit.target.needs_verb else set[str]()
        on = _told_by(self._on.get(fit.target.entity_id.partition(".")[0], ()), spoken)
        if _told_by(self._otherwise, [word for word in spoken if word not in runs]):  # "führe ... aus" is not "... aus"
            return ""
        if fit.target.needs_verb and bool(runs) == bool(on):
            return ""
        return TRIGGER if runs else "turn_on"

    def fit_of(self, number: int, said: Utterance) -> Fit:
        """Return a target to be compared with what was said: without the values of its arguments."""
        target = self.targets[number]
        if number not in self.argued:
            return Fit(target, rest=said.text)
        if target.skips_home:
            return Fit(target, rest=" ".join(word for word in words(said.text) if not self.is_of_home(fold(word))))
        declared = target.declared()
        text, written = self._split(target, declared, said.text)
        found = extract(text, declared, said.home, self.language, said.now, state_of=said.state_of)
        lasting = {fold(word) for word in data_of(self.language.code).lasting}
        for_some_time = [one for one in later_in(text, self.language.code) if one.kind is LaterKind.LASTING]
        timeless = text
        for start, end in sorted((place for places in found.places.values() for place in places), reverse=True):
            led = not lasting.isdisjoint(map(fold, (*words(text[:start])[-1:], *words(text[start:end])[:1])))
            if led or any(one.begin < end and start < one.end for one in for_some_time):
                timeless = f"{timeless[:start]} {timeless[end:]}"  # "in 7 minutes" stays: that is later
        beside: set[str] = set()
        for argument in declared:  # "with minutes 7": what the 7 is, and what leads to it
            labels = (argument.name.replace("_", " "), argument.unit, *argument.labels)
            own = {word for label in labels for word in self.words_of(label)}
            for start, end in found.places.get(argument.name, ()):
                leading = takewhile(own.union(self.language.fillers).__contains__, map(fold, words(text[:start])[::-1]))
                beside.update(islice(leading, _LEADING), own.intersection(map(fold, words(text[end:])[:1])))
        missing = tuple(name for name in found.missing if name not in written)
        return Fit(
            target,
            rest=found.rest(text),
            timeless=timeless,
            values={**found.values, **written},
            missing=missing or found.unclear,
            beside=frozenset(beside),
        )

    def _split(self, target: Route, declared: Sequence[Argument], text: str) -> tuple[str, dict[str, str]]:
        """Return a sentence up to the name in it, and the text behind by its argument; all of it if the target takes no such text."""
        needed = [argument for argument in declared if argument.required]
        if not target.is_named or len(needed) != 1 or not needed[0].free:
            return text, {}
        for name in sorted(target.said, key=len, reverse=True):
            match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)[\s:,–-]*", text, re.IGNORECASE)
            if match is not None and (behind := text[match.end() :].strip()):
                spoken = self.words_of(behind)
                if not self.harmless_in(spoken).issuperset(spoken):
                    return text[: match.end()], {needed[0].name: behind}
        return text, {}

    def near(self, said: Utterance) -> list[_Phrase]:
        """Return the phrases that have most words in common with a text, those with most first."""
        near: Counter[int] = Counter()
        spoken = self.words_of(said.text)
        harmless = self.harmless_in(spoken)
        for word in spoken:
            if word not in harmless:
                near.update({phrase for number in self.alike(word) for phrase in self.by_word.get(number, ())})
        return [self.phrases[number] for number, _ in near.most_common(MAX_NEAR)]

    def by_words(self, said: Utterance) -> list[Fit]:
        """Return the targets that have something in common with a text, the best first. Bounded in any home."""
        fits: dict[int, Fit] = {}
        for phrase in self.near(said):
            if phrase.target not in fits:
                fits[phrase.target] = self.fit_of(phrase.target, said)
            fit = fits[phrase.target]
            fit.note(phrase, self._likeness(fit, phrase))
        return sorted(fits.values(), key=lambda fit: -fit.best)

    def spoken(self, fit: Fit) -> tuple[str, ...]:
        """Return the words that are compared: of a target with examples, which values were said as well."""
        values = () if fit.target.is_named else fit.values
        return (*self.words_of(fit.rest), *(f"{_VALUE}{name}" for name in values))

    def _likeness(self, fit: Fit, phrase: _Phrase) -> float:
        """Return how much of what was said and of the phrase is common to both, 0 to 1: each word by what it says."""
        spoken = self.spoken(fit)
        harmless = self.harmless_in(spoken) | fit.beside
        verbs = self.turning_on(fit.target, spoken) if fit.target.is_named else set[str]()
        shared = whole = 0.0
        of_phrase = dict.fromkeys(phrase.numbers, 0.0)
        for word in spoken:
            alike = self.alike(word)
            best = max((alike.get(number, 0.0) for number in phrase.numbers), default=0.0)
            weight = _HARMLESS if word in harmless else 1.0
            if word in verbs and best < _SAME:  # together they say one thing
                weight = _HARMLESS / len(verbs)
            whole += weight
            shared += weight * best
            for number in phrase.numbers:
                of_phrase[number] = max(of_phrase[number], alike.get(number, 0.0))
        whole += sum(phrase.weights)
        shared += sum(weight * of_phrase[number] for number, weight in zip(phrase.numbers, phrase.weights, strict=True))
        return shared / whole if whole else 0.0

    def unexplained(self, fit: Fit, *, all_words: bool) -> list[str]:
        """Return the words that neither the nearest phrase nor a value explains; else only numbers and names of the home."""
        if fit.phrase is None:
            return []
        spoken = self.words_of(fit.rest)
        known = self.harmless_in(spoken) | fit.beside
        if fit.target.is_named:
            known |= self.turning_on(fit.target, spoken)
        left = [word for word in spoken if word not in known]
        left = [word for word in left if all(self.alike(word).get(one, 0.0) < _SAME for one in fit.phrase.numbers)]
        return [word for word in left if all_words or word.isdigit() or self.is_of_home(word)]

    def rests(self, said: Utterance) -> list[str]:
        """Return the texts to embed for a sentence: itself first, then without values, each once."""
        near = dict.fromkeys(phrase.target for phrase in self.near(said))
        argued = islice((number for number in (*near, *self.argued) if number in self.argued), MAX_ARGUED)
        own = (self.fit_of(number, said).rest for number in argued)
        return [*islice(dict.fromkeys(rest for rest in (said.text, *own) if rest.strip()), MAX_RESTS)]

    def by_vectors(self, said: Utterance, rests: Sequence[str], made: VectorRows) -> list[Fit]:
        """Return the targets, the nearest first; `made` has a row for each of the rests. Runs in the executor."""
        assert self.vectors is not None
        near = self.vectors @ made.T
        rows = {rest: row for row, rest in enumerate(rests)}
        best: dict[int, float] = {}
        for phrase, how_much in zip(self.phrases, near.max(axis=1), strict=False):
            best[phrase.target] = max(best.get(phrase.target, 0.0), float(how_much))
        fits: list[Fit] = []
        for number in heapq.nlargest(MAX_CLOSE, best, key=best.__getitem__):
            fit = self.fit_of(number, said)
            for one in self.of_target[number]:
                if one < len(near):
                    fit.note(self.phrases[one], float(near[one, rows.get(fit.rest, 0)]))
            fits.append(fit)
        return sorted(fits, key=lambda fit: -fit.best)


def _told_by(routes: Iterable[Phrasing], spoken: Sequence[str]) -> set[str]:
    """Return the words of the first of these routes of which all that is needed was said."""
    said = set(spoken)
    found: set[str] = set()
    for route in routes:
        needed = [next((one for one in group if said.issuperset(one)), None) for group in route.needed]
        if needed and all(needed):
            found |= {word for one in needed if one for word in one} | (route.beside & said)
    return found
