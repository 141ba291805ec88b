"""Routes that are no intents: scripts, scenes, automations, tools and agents, found by what is said of them.

What is left of a sentence when the values of a route's arguments are taken out is compared with the phrases of the routes: by
words, or by vectors where an embedding model is configured. What is surely meant runs as the model's call would, under the same
policy; else the model is offered the tools of the best two, or all (C-15 to C-17). Which of that happens is the profile's setting.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
import heapq
from itertools import islice, takewhile
import re
from secrets import token_hex
import time
from typing import TYPE_CHECKING, Any, Protocol

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import ChatLog, ConversationTraceEventType, async_conversation_trace_append
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, State, callback
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonValueType
import probatio

from ..client.messages import add_calls, add_result
from ..home.domains.script import TRIGGER, fields_of
from ..home.exposure import is_exposed
from ..home.snapshot import HomeSnapshot, stems_of
from ..languages.data import data_of
from ..languages.phrases import is_altered
from ..languages.routes import Route, routes_of
from ..languages.vocabulary import Language
from ..policy.policy import Policy
from ..policy.questions import async_not_followed
from ..policy.tool import HomeAgentTool
from ..search.model import async_load_numpy
from ..search.vectors import QUERY_TIMEOUT, Embedder
from ..settings.profile import Profile
from ..speech import speakable_text
from ..support.bounds import in_slices
from ..support.const import LLM_NONE, LOGGER
from ..support.errors import RetrievalError, where_of
from ..support.localize import async_error_text, async_text
from ..support.text import fold, words
from ..turn.turn import Answer, RouteChoice, Turn, Understanding, Zone, async_zone
from .arguments import Argument, arguments_of_fields, arguments_of_schema, extract

if TYPE_CHECKING:
    from ..search.lexical import Lexicon
    from ..search.model import Vectors

MAX_ROUTES = 6000
MAX_PHRASES = 24  # of one route
MAX_PHRASE = 300  # characters
MAX_VECTORS = 4000  # phrases that are embedded; the rest is compared by words alone
MAX_WORDS = 30  # of a sentence
MAX_NEAR = 120  # phrases with words in common that are looked at closely
MAX_CLOSE = 60  # routes with near vectors of which that is so
MAX_ARGUED = 40  # routes whose arguments are looked for in a sentence that is embedded
MAX_RESTS = 8  # texts of one sentence that are embedded
MAX_SPOKEN = 400  # characters of a result that is told
BATCH = 64  # phrases that are embedded at a time
GOES_ON = 300.0  # seconds for which a sentence goes on from the one before
MAX_BEFORE = 200  # conversations of which that is known
MAX_KEPT = 12  # profiles in a language
RETRY = 60.0  # seconds after which an endpoint that failed is asked for the vectors of the routes again
_SAME = 0.8  # likeness from which on two words say the same
_ALIKE = 0.7  # from which on they have something in common
_VALUE = "="  # in front of the name of an argument, which then stands for its value
_HARMLESS = 0.2  # weight of a word that changes nothing
_TURN_ON, _OTHERWISE = "HassTurnOn", frozenset({"HassTurnOff", "HassToggle"})
_CONTROL = "ha_control"
SEMANTIC = frozenset({"semantic", "semantic_then_router"})
"""Values of the setting `routing` of profiles whose messages are compared with the routes before the model."""
_LEADING = 3  # words in front of a value that say what it is
_COMMANDS = 500  # phrases of the language for what the tool for control does

type Source = Callable[[Profile, HomeSnapshot, Sequence[HomeAgentTool]], Iterable[RouteTarget]]
"""Returns routes for a profile, given the exposed home and the tools that the profile has. Called when one of them changes."""


def _no_arguments() -> Sequence[Argument]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteTarget:
    """Something that a sentence can mean as a whole."""

    id: str
    """Unique among the routes: an entity id, or what it is and a name."""
    tool: str
    """Name of the tool that does it. A profile without this tool does not have the route."""
    said: Sequence[str] = ()
    """What users say who want it: names, aliases, examples."""
    described: Sequence[str] = ()
    """What it is about. That alone runs nothing."""
    declared: Callable[[], Sequence[Argument]] = _no_arguments
    """Returns the arguments as they are now."""
    call: Callable[[Mapping[str, Any], str], dict[str, Any]] | None = None
    """Returns the tool's arguments for values by name and what was said; None: only a model can call it."""
    entity_id: str = ""
    """Has to be exposed, and known to the user."""
    is_named: bool = False
    """Its phrases are names: words that say "turn on" are said besides."""
    needs_verb: bool = False
    """Its name alone is not enough: words have to say whether it is turned on or run."""
    answers: bool = False
    """It changes nothing: a question may mean it."""
    owned: bool = False
    """Its examples are the owner's own: it also runs where nothing but simple commands is answered without the model."""
    skips_home: bool = False
    """Names of the home in a sentence say nothing for or against it."""


class Exemplified(Protocol):
    """Who knows whether the owner gave examples for any tool."""

    has_examples: bool


@dataclass(frozen=True, slots=True)
class _Phrase:
    target: int
    """By its place among the targets."""
    is_said: bool
    text: str
    """With the values of arguments taken out."""
    numbers: tuple[int, ...]
    """Of its words."""
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A sentence, and what its values are read with."""

    text: str
    home: HomeSnapshot
    """What the user may know of."""
    now: datetime
    state_of: Callable[[str], State | None]


@dataclass(slots=True)
class _Fit:
    """How well a sentence fits a target."""

    target: RouteTarget
    best: float = 0.0
    action: float = 0.0
    phrase: _Phrase | None = None
    """The nearest that is said."""
    rest: str = ""
    timeless: str = ""
    """What was said without how long it is to last, where that is a value; empty: nothing was taken out."""
    values: Mapping[str, Any] = field(default_factory=dict)
    missing: Sequence[str] = ()
    """Arguments that it needs and that have no value, or several."""
    beside: frozenset[str] = frozenset()
    """Words that only lead to a value: "with" 38 degrees."""

    def note(self, phrase: _Phrase, how_much: float) -> None:
        """Take how near one of its phrases is."""
        self.best = max(self.best, how_much)
        if phrase.is_said and how_much > self.action:
            self.action, self.phrase = how_much, phrase


@dataclass(slots=True, kw_only=True)
class Match:
    """What a sentence means among the routes."""

    choice: RouteChoice
    target: RouteTarget | None = None
    """Set where it can run."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Those of its tool."""
    tool: HomeAgentTool | None = None
    """The tool of the target."""
    tools: tuple[str, ...] = ()
    """Names of the tools of the best two."""
    before: str = ""
    """What was said without the values of the arguments; empty where there were none."""


class _Index:
    """The routes of a profile in one language, with their phrases; made anew when the home or its tools change."""

    def __init__(
        self,
        targets: Sequence[RouteTarget],
        language: Language,
        home: HomeSnapshot,
        tools: Sequence[HomeAgentTool] = (),
    ) -> None:
        """Read the phrases. Takes some 50 ms for 5,000; runs in the executor."""
        from ..search.lexical import Lexicon

        self.targets, self.language, self.home = targets, language, home
        self.tools = {tool.name: tool for tool in tools}
        self.lexicon: Lexicon = Lexicon()
        known = routes_of(language.code)
        self._harmless, self._polite = known.harmless, known.polite
        self._on: dict[str, list[Route]] = {}
        """Ways to say that something is to be turned on, by its domain."""
        for route in known.routes:
            if route.intent == _TURN_ON and not route.values and not route.slots:
                for domain in route.domains:
                    self._on.setdefault(domain, []).append(route)
        self._otherwise = [route for route in known.routes if route.intent in _OTHERWISE]
        self._runs = known.runs
        self.phrases: list[_Phrase] = []
        self.by_word: dict[int, list[int]] = {}
        self.of_target: list[list[int]] = []
        self.argued: set[int] = set()
        """Targets of which a sentence is compared without what says which: values of arguments, names of the home."""
        for number, target in enumerate(targets):
            self._read(number, target)
        self.vectors: Vectors | None = None
        """Of the first `MAX_VECTORS` phrases, a row each."""
        self.building: asyncio.Task[None] | None = None
        self.failed_at: float | None = None

    def _read(self, number: int, target: RouteTarget) -> None:
        listed = [(text, True) for text in target.said] + [(text, False) for text in target.described]
        declared = target.declared() if target.call is not None else ()
        if target.skips_home or declared:
            self.argued.add(number)
        if target.is_named:
            declared = ()  # a name has no values in it
        own: list[int] = []
        seen: set[tuple[str, ...]] = set()
        for text, is_said in listed[: _COMMANDS if target.skips_home else MAX_PHRASES]:
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
        return any(stem in self.home.words or stem in self.home.places for stem in stems_of(word))

    def alike(self, word: str) -> Mapping[int, float]:
        """Return the words of phrases that a folded one may stand for."""
        found = dict(self.lexicon.forms(self.language.base, word))
        for number, how_much in self.lexicon.alike(word).items():
            if how_much >= _ALIKE:
                found[number] = max(found.get(number, 0.0), how_much)
        return found

    def turning_on(self, target: RouteTarget, spoken: Sequence[str]) -> set[str]:
        """Return the words of a sentence that say to turn on what is named, with what may be said besides; empty: none do.

        Of what needs a verb also those that say to run it.
        """
        routes = self._on.get(target.entity_id.partition(".")[0], ())
        return _told_by((*routes, *(self._runs if target.needs_verb else ())), spoken)

    def verb_of(self, fit: _Fit) -> str:
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

    def fit_of(self, number: int, said: _Said) -> _Fit:
        """Return a target to be compared with what was said: without the values of its arguments."""
        target = self.targets[number]
        if number not in self.argued:
            return _Fit(target, rest=said.text)
        if target.skips_home:
            return _Fit(target, rest=" ".join(word for word in words(said.text) if not self.is_of_home(fold(word))))
        declared = target.declared()
        text, written = self._split(target, declared, said.text)
        found = extract(text, declared, said.home, self.language, said.now, state_of=said.state_of)
        lasting = {fold(word) for word in data_of(self.language.code).lasting}
        timeless = text
        for start, end in sorted((place for places in found.places.values() for place in places), reverse=True):
            if not lasting.isdisjoint(map(fold, (*words(text[:start])[-1:], *words(text[start:end])[:1]))):
                timeless = f"{timeless[:start]} {timeless[end:]}"  # "in 7 minutes" stays: that is later
        beside: set[str] = set()
        for argument in declared:  # "with minutes 7": what the 7 is, and what leads to it
            labels = (argument.name.replace("_", " "), argument.unit, *argument.labels)
            own = {word for label in labels for word in self.words_of(label)}
            for start, end in found.places.get(argument.name, ()):
                leading = takewhile(own.union(self.language.fillers).__contains__, map(fold, words(text[:start])[::-1]))
                beside.update(islice(leading, _LEADING), own.intersection(map(fold, words(text[end:])[:1])))
        missing = tuple(name for name in found.missing if name not in written)
        return _Fit(
            target,
            rest=found.rest(text),
            timeless=timeless,
            values={**found.values, **written},
            missing=missing or found.unclear,
            beside=frozenset(beside),
        )

    def _split(self, target: RouteTarget, declared: Sequence[Argument], text: str) -> tuple[str, dict[str, str]]:
        """Return a sentence up to the name in it, and by its argument what is said behind: words that somebody is to hear.

        That is so where the target needs one text and nothing else; else, and where nothing is said behind, all stays.
        """
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

    def near(self, said: _Said) -> list[_Phrase]:
        """Return the phrases that have most words in common with a text, those with most first."""
        near: Counter[int] = Counter()
        spoken = self.words_of(said.text)
        harmless = self.harmless_in(spoken)
        for word in spoken:
            if word not in harmless:
                near.update({phrase for number in self.alike(word) for phrase in self.by_word.get(number, ())})
        return [self.phrases[number] for number, _ in near.most_common(MAX_NEAR)]

    def by_words(self, said: _Said) -> list[_Fit]:
        """Return the targets that have something in common with a text, the best first. Bounded, whatever the home is like."""
        fits: dict[int, _Fit] = {}
        for phrase in self.near(said):
            if phrase.target not in fits:
                fits[phrase.target] = self.fit_of(phrase.target, said)
            fit = fits[phrase.target]
            fit.note(phrase, self._likeness(fit, phrase))
        return sorted(fits.values(), key=lambda fit: -fit.best)

    def spoken(self, fit: _Fit) -> tuple[str, ...]:
        """Return the words that are compared: of a target with examples, which values were said as well."""
        values = () if fit.target.is_named else fit.values
        return (*self.words_of(fit.rest), *(f"{_VALUE}{name}" for name in values))

    def _likeness(self, fit: _Fit, phrase: _Phrase) -> float:
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

    def unexplained(self, fit: _Fit, *, all_words: bool) -> list[str]:
        """Return the words that neither the nearest phrase nor a value explains; else only numbers and names of the home."""
        if fit.phrase is None:
            return []
        spoken = self.words_of(fit.rest)
        known = self.harmless_in(spoken) | fit.beside
        if fit.target.is_named:
            known |= self.turning_on(fit.target, spoken)
        found = []
        for word in spoken:
            if word in known:
                continue
            alike = self.alike(word)
            if max((alike.get(number, 0.0) for number in fit.phrase.numbers), default=0.0) >= _SAME:
                continue
            if all_words or word.isdigit() or self.is_of_home(word):
                found.append(word)
        return found

    def rests(self, said: _Said) -> list[str]:
        """Return the texts to embed for a sentence: itself first, then without values, each once."""
        near = dict.fromkeys(phrase.target for phrase in self.near(said))
        argued = islice((number for number in (*near, *self.argued) if number in self.argued), MAX_ARGUED)
        own = (self.fit_of(number, said).rest for number in argued)
        return [*islice(dict.fromkeys(rest for rest in (said.text, *own) if rest.strip()), MAX_RESTS)]

    def by_vectors(self, said: _Said, rests: Sequence[str], made: Vectors) -> list[_Fit]:
        """Return the targets, the nearest first; `made` has a row for each of the rests. Runs in the executor."""
        assert self.vectors is not None
        near = self.vectors @ made.T
        rows = {rest: row for row, rest in enumerate(rests)}
        best: dict[int, float] = {}
        for phrase, how_much in zip(self.phrases, near.max(axis=1), strict=False):
            best[phrase.target] = max(best.get(phrase.target, 0.0), float(how_much))
        fits: list[_Fit] = []
        for number in heapq.nlargest(MAX_CLOSE, best, key=best.__getitem__):
            fit = self.fit_of(number, said)
            for one in self.of_target[number]:
                if one < len(near):
                    fit.note(self.phrases[one], float(near[one, rows.get(fit.rest, 0)]))
            fits.append(fit)
        return sorted(fits, key=lambda fit: -fit.best)


class RouteRegistry:
    """The routes of all profiles, and who knows of some; owned by the entry."""

    def __init__(
        self,
        hass: HomeAssistant,
        entry: ConfigEntry[Any],
        policy: Policy,
        embedder: Embedder,
        offered: Callable[[Turn], Awaitable[Sequence[HomeAgentTool]]],
        examples: Exemplified,
    ) -> None:
        """Take who returns the tools of a turn's profile. Reads nothing yet."""
        self._hass, self._entry, self._policy, self._embedder, self._offered = hass, entry, policy, embedder, offered
        self.examples = examples
        self._sources: list[Source] = [self._of_home, _of_tools]
        self._kept: dict[tuple[str, str], tuple[HomeSnapshot, Sequence[HomeAgentTool], _Index]] = {}
        """By subentry id of the profile and language, with what it was made from."""
        self._before: dict[tuple[str, str | None], tuple[float, str]] = {}
        """By conversation and user: when a route with values ran, and what was said without them."""

    @callback
    def async_offer(self, source: Source) -> CALLBACK_TYPE:
        """Add routes of another room; they are asked for once now, and again when the home or the tools change.

        Returns how to take them back. Of two routes with one id the first counts.
        """
        self._sources.append(source)
        self._kept.clear()

        @callback
        def take_back() -> None:
            self._sources.remove(source)
            self._kept.clear()

        return take_back

    async def async_warm(self, profile: Profile, language: Language, home: HomeSnapshot) -> None:
        """Read the routes of a profile, and have their vectors made, before anybody asks."""
        turn = Turn(
            profile=profile, conversation_id="", text="", language=language.code, context=Context(), rehearsal=True
        )
        if (index := await self._async_index(turn, language, home)) is not None:
            self._build(index)

    async def async_match(
        self, turn: Turn, language: Language, home: HomeSnapshot, *, owned_only: bool = False
    ) -> Match | None:
        """Return what a sentence means among the routes of its profile; None: there are none, or they are not ready.

        With `owned_only` only tools with examples count, and words alone.
        """
        if (index := await self._async_index(turn, language, home)) is None or not index.targets:
            return None
        by = "words"
        fits: Sequence[_Fit] | None = None
        said = _Said(
            text=turn.text,
            home=await self._async_known(turn, home),
            now=dt_util.now(await async_zone(self._hass, turn.profile.timezone)),
            state_of=self._hass.states.get,
        )
        if not owned_only and self._embedder.health is not None:
            self._build(index)
            if index.building is not None and index.failed_at is None and turn.profile.llm != LLM_NONE:
                self._tell(turn, RouteChoice(zone=Zone.LOW, by="vectors", declined="not_ready"))
                return None
            fits = await self._async_by_vectors(index, said)
        if fits is None:
            fits = await self._hass.async_add_executor_job(index.by_words, said)
        else:
            by = "vectors"
        match = self._chosen(turn, index, said, fits, by, owned_only=owned_only)
        if match.target is None and (whole := self._going_on(turn, language)):
            again = replace(said, text=whole)
            fits = await self._hass.async_add_executor_job(index.by_words, again)
            found = self._chosen(turn, index, again, fits, "words", owned_only=owned_only)
            match = found if found.target is not None else match
        self._tell(turn, match.choice)
        return match

    def _going_on(self, turn: Turn, language: Language) -> str:
        """Return a sentence that goes on ("and the scanner?") with what was said right before in its conversation; else "".

        Of the question before stands what was left without its values.
        """
        key = turn.conversation_id, turn.user.id if turn.user else None
        when, before = self._before.pop(key, (0.0, ""))
        if not before or time.monotonic() - when > GOES_ON:
            return ""
        said = turn.text.strip(" ?.!")
        for phrase in sorted(data_of(language.code).follow_ups.again, key=len, reverse=True):
            if said.casefold().startswith(f"{phrase} "):
                return f"{before} {said[len(phrase) :].strip()}"
        return ""

    async def async_answer(self, turn: Turn, chat_log: ChatLog, match: Match) -> Answer | None:
        """Run what a match surely means as the model's call would run, and return what came of it; None: nothing is sure.

        The call and its result stand in the chat log as one that code has made. Never raises: an error is told.
        """
        if match.target is None:
            return None
        tool = match.tool
        assert tool is not None  # what can run has one
        call = llm.ToolInput(tool_name=tool.name, tool_args=match.arguments, id=f"route{token_hex(3)}", external=True)
        if not tool.is_elsewhere:  # what is said there stays there
            add_calls(chat_log, turn.agent_id, [call], known=True)
        result = await self._policy.async_call(turn, tool, call)
        if not tool.is_elsewhere:
            add_result(chat_log, turn.agent_id, call, result)
        if turn.record.request_id is not None:
            return Answer(needs_confirmation=True)
        if (err := turn.record.did_not_run) is not None:
            return Answer(text=await async_error_text(self._hass, turn.speaks, err), done=False)
        if result.error:
            return Answer(text=await async_text(self._hass, turn.speaks, "confirm_failed"), done=False)
        if match.before:
            self._before[turn.conversation_id, turn.user.id if turn.user else None] = time.monotonic(), match.before
            if len(self._before) > MAX_BEFORE:
                del self._before[next(iter(self._before))]
        if unmoved := turn.record.not_followed([match.target.entity_id]):
            return Answer(text=await async_not_followed(self._hass, turn.speaks, unmoved))
        told = result.data["result"]
        text = "" if match.target.entity_id else _spoken(told)
        text = text or await async_text(self._hass, turn.speaks, "confirm_done")
        return Answer(text=speakable_text(text) if turn.spoken else text)

    async def _async_index(self, turn: Turn, language: Language, home: HomeSnapshot) -> _Index | None:
        """Return the routes of a profile as they are now; None where numpy, which compares, cannot be had."""
        tools = await self._offered(turn)
        key = (turn.profile.subentry_id, language.code)
        kept = self._kept.pop(key, None)
        if kept is not None and kept[0] is home and kept[2].language is language and _same(kept[1], tools):
            self._kept[key] = home, tools, kept[2]
            return kept[2]
        names = {tool.name for tool in tools}
        targets: dict[str, RouteTarget] = {}
        for source in self._sources:
            for target in source(turn.profile, home, tools):
                if target.tool in names and len(targets) < MAX_ROUTES:
                    targets.setdefault(target.id, target)
        if _CONTROL in targets:
            said = await self._hass.async_add_executor_job(_commands, language.code)
            targets[_CONTROL] = replace(targets[_CONTROL], said=(*said, *targets[_CONTROL].said))
        try:
            await async_load_numpy(self._hass)
        except RetrievalError:
            return None
        index = await self._hass.async_add_executor_job(_Index, [*targets.values()], language, home, tools)
        self._kept[key] = home, tools, index
        if len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        return index

    def _of_home(self, _profile: Profile, home: HomeSnapshot, _tools: Sequence[HomeAgentTool]) -> Iterator[RouteTarget]:
        """Yield the scripts, scenes and automations that are exposed."""
        for entity in home.entities.values():
            if entity.domain in ("script", "scene", "automation"):
                fields = partial(script_fields, self._hass, entity.entity_id)
                yield RouteTarget(
                    id=entity.entity_id,
                    tool=_CONTROL,
                    said=entity.names,
                    declared=fields if entity.domain == "script" else _no_arguments,
                    entity_id=entity.entity_id,
                    call=_turning_on(entity.entity_id),
                    is_named=True,
                    needs_verb=entity.domain == "automation",
                )

    def _build(self, index: _Index) -> None:
        """Have the vectors of the phrases made in the background, unless that is going on, or failed a moment ago."""
        if self._embedder.health is None or index.building is not None or not index.phrases:
            return
        if index.vectors is not None:
            return
        if index.failed_at is not None and time.monotonic() - index.failed_at < RETRY:
            return
        index.building = self._entry.async_create_background_task(
            self._hass, self._async_build(index), "home_agent vectors of routes"
        )

    async def _async_build(self, index: _Index) -> None:
        """Make the vectors; those that were paid for once come from the cache of the embedder (search/embeddings.py)."""
        import numpy as np

        texts = [phrase.text for phrase in index.phrases[:MAX_VECTORS]]
        try:
            made = [
                await self._embedder.async_embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)
            ]
            index.vectors = np.concatenate(made) if made else None
            index.failed_at = None
        except (RetrievalError, ValueError) as err:  # of another length: the model was changed meanwhile
            index.failed_at = time.monotonic()
            LOGGER.info("Routes are compared by words for now: %s", where_of(err))
        finally:
            index.building = None

    async def _async_known(self, turn: Turn, home: HomeSnapshot) -> HomeSnapshot:
        """Return the part of the home of which the user may know."""
        user = turn.user
        if not turn.within and (user is None or user.permissions.access_all_entities(POLICY_READ)):
            return home
        entities = {
            key: item async for key, item in in_slices(home.entities.items()) if is_exposed(self._hass, key, user)
        }
        return HomeSnapshot(entities, home.areas)

    async def _async_by_vectors(self, index: _Index, said: _Said) -> list[_Fit] | None:
        """Return the targets by their vectors, None where they cannot be compared now."""
        if index.vectors is None:
            return None
        rests = await self._hass.async_add_executor_job(index.rests, said)
        try:
            made = await self._embedder.async_embed(rests, within=QUERY_TIMEOUT)
        except RetrievalError:  # logged where it was raised
            return None
        if made.shape[1] != index.vectors.shape[1]:  # another model goes by the name now
            index.vectors = None
            self._build(index)
            return None
        return await self._hass.async_add_executor_job(index.by_vectors, said, rests, made)

    def _chosen(
        self,
        turn: Turn,
        index: _Index,
        said: _Said,
        fits: Sequence[_Fit],
        by: str,
        *,
        owned_only: bool,
    ) -> Match:
        """Return what the targets come to that the user may know of: the guards of C-16 and C-17."""
        profile, tools = turn.profile, index.tools
        known = [
            fit
            for fit in fits[:MAX_NEAR]
            if (not owned_only or fit.target.owned)
            and (not fit.target.entity_id or is_exposed(self._hass, fit.target.entity_id, turn.user))
        ]
        if not known:
            return Match(choice=RouteChoice(zone=Zone.LOW, by=by, declined="score"))
        first = known[0]
        if first.target.call is None:  # what does all sorts of things is no rival of one thing that it does
            surely = (fit for fit in known if fit.target.call is not None and fit.target.tool == first.target.tool)
            first = next((fit for fit in surely if not _below(fit.best, profile.routing_high)), first)
        rivals = (fit for fit in known if fit.target.call is not None or fit.target.tool != first.target.tool)
        second = next((fit for fit in rivals if fit is not first), None)
        best_two = tuple(dict.fromkeys((first.target.tool, *(fit.target.tool for fit in known), *tools)))[:2]
        choice = RouteChoice(
            zone=Zone.HIGH,
            route=first.target.id,
            second=second.target.id if second else "",
            best=min(1.0, first.best),
            second_best=min(1.0, second.best) if second else 0.0,
            action=min(1.0, first.action),
            by=by,
        )
        if _below(first.best, profile.routing_low):
            return Match(choice=replace(choice, zone=Zone.LOW, declined="score"))
        arguments: dict[str, Any] = {}
        reason = "score" if _below(first.best, profile.routing_high) else ""
        if not reason and _below(first.action, profile.routing_action):
            reason = "action"
        if not reason and _below(choice.best - choice.second_best, profile.routing_gap):
            reason = "gap"
        reason = reason or self._guarded(said.text, index, first, by)
        if not reason and first.target.entity_id:
            state = self._hass.states.get(first.target.entity_id)
            reason = "unavailable" if state is None or state.state == STATE_UNAVAILABLE else ""
        if not reason:
            assert first.target.call is not None  # else guarded
            arguments = first.target.call(first.values, said.text)
            if first.target.needs_verb:
                arguments["action"] = index.verb_of(first)
            try:
                tools[first.target.tool].parameters(dict(arguments))
            except probatio.Invalid:
                reason = "arguments"
        if reason:
            return Match(choice=replace(choice, zone=Zone.MEDIUM, declined=reason), tools=best_two)
        tool = tools[first.target.tool]
        before = first.rest if first.values else ""
        return Match(choice=choice, target=first.target, arguments=arguments, tool=tool, tools=best_two, before=before)

    @staticmethod
    def _guarded(text: str, index: _Index, fit: _Fit, by: str) -> str:
        """Return what stands against running the nearest route, as a code; empty: nothing."""
        target = fit.target
        if target.call is None or fit.phrase is None:
            return "model"
        if fit.missing:
            return "arguments"
        said = fit.timeless or text
        code, left = index.language.code, _without(said, fit.phrase.text)
        asks = target.answers or is_altered(fit.phrase.text, code, (), asks=False)
        if is_altered(left, code, (), asks=True) or (not asks and is_altered(said, code, target.said, asks=False)):
            return "altered"
        if not asks and text.rstrip().endswith(("?", "？")):
            return "question"
        if target.is_named and not index.verb_of(fit):
            return "action"
        return "words" if index.unexplained(fit, all_words=by == "words") else ""

    @staticmethod
    def _tell(turn: Turn, choice: RouteChoice) -> None:
        """Keep what came of it with the turn, beside what the local brain made of it."""
        turn.record.understanding = replace(turn.record.understanding or Understanding(), route=choice)
        async_conversation_trace_append(ConversationTraceEventType.AGENT_DETAIL, {"route": choice.as_dict()})


def _below(value: float, percent: int) -> bool:
    """Return whether a similarity is below a bound; the bound itself is not."""
    return round(value, 4) < percent / 100


def _same(one: Sequence[HomeAgentTool], other: Sequence[HomeAgentTool]) -> bool:
    """Return whether tools have the same phrases; those of others may be made anew for each turn."""
    if one is other:
        return True
    return [(tool.name, tool.description, *tool.examples) for tool in one] == [
        (tool.name, tool.description, *tool.examples) for tool in other
    ]


def _told_by(routes: Iterable[Route], spoken: Sequence[str]) -> set[str]:
    """Return the words of the first of these routes of which all that is needed was said."""
    said = set(spoken)
    found: set[str] = set()
    for route in routes:
        needed = [next((one for one in group if said.issuperset(one)), None) for group in route.needed]
        if needed and all(needed):
            found |= {word for one in needed if one for word in one} | (route.beside & said)
    return found


def _without(text: str, phrase: str) -> str:
    """Return a text without the words of a phrase, each as often as it stands there."""
    known = Counter(fold(word) for word in words(phrase))
    left: list[str] = []
    for word in words(text):
        if known[fold(word)] > 0:
            known[fold(word)] -= 1
        else:
            left.append(word)
    return " ".join(left)


def _commands(code: str) -> tuple[str, ...]:
    """Return words by which a command to things of a home is known, of our data or of the sentences that are installed."""
    if orders := data_of(code).orders:
        return tuple(orders)
    known = routes_of(code)
    empty = known.prepositions | known.harmless
    said = (phrase for route in known.routes for group in route.needed for phrase in sorted(group))
    told = dict.fromkeys(" ".join(word for word in phrase if word not in empty) for phrase in said)
    return tuple(islice(filter(None, told), _COMMANDS))


def _spoken(result: JsonValueType) -> str:
    """Return a result as it can be told without a model: a text as it is, of anything else the values with their names."""

    def lines(value: JsonValueType, name: str) -> Iterator[str]:
        match value:
            case dict():
                for key, item in value.items():
                    yield from lines(item, str(key))
            case list():
                for item in value:
                    yield from lines(item, name)
            case None | "":
                return
            case bool():
                yield f"{name}: {str(value).lower()}" if name else ""
            case _:
                yield f"{name}: {value}" if name else str(value)

    if isinstance(result, str):
        return result.strip()
    text = ", ".join(filter(None, islice(lines(result, ""), 40)))
    return text if len(text) <= MAX_SPOKEN else f"{text[:MAX_SPOKEN].rsplit(' ', 1)[0]} …"


def _turning_on(entity_id: str) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    def call(values: Mapping[str, Any], _text: str) -> dict[str, Any]:
        given = {"parameters": {"variables": dict(values)}} if values else {}
        return {"action": "turn_on", "entity_id": entity_id, **given}

    return call


def _of_tools(_profile: Profile, _home: HomeSnapshot, tools: Sequence[HomeAgentTool]) -> Iterator[RouteTarget]:
    """Yield the tools: those with examples may run, the others are what a model may need instead (C-15)."""
    for tool in tools:
        schema: Mapping[str, Any] = tool.wire_parameters
        described = [line for line in re.split(r"\n|(?<=[.!?])\s+", tool.description or "") if line.strip()]
        declared = arguments_of_schema(schema) if tool.examples else ()
        has_examples = bool(tool.examples)
        yield RouteTarget(
            id=tool.name,
            tool=tool.name,
            said=tool.examples or ((tool.example,) if tool.example else ()),
            described=described[:MAX_PHRASES],
            declared=_returning(declared),
            call=_with_values if has_examples else None,
            answers=bool(tool.annotations and tool.annotations.read_only),
            owned=has_examples,
            skips_home=not has_examples,
        )


def _with_values(values: Mapping[str, Any], _text: str) -> dict[str, Any]:
    return dict(values)


def _returning(declared: Sequence[Argument]) -> Callable[[], Sequence[Argument]]:
    return lambda: declared


def script_fields(hass: HomeAssistant, entity_id: str) -> Sequence[Argument]:
    """Return the fields of a script as its owner declares them now."""
    return arguments_of_fields(fields_of(hass, entity_id))
