"""What a sentence wants done, to which things, word by word: nothing is guessed, and every word has to be explained.

What is no word of the home (a name, an area, a floor, a kind of things, a value) has to be a phrase that the language has for an
intent. A word that is neither, nor one that changes nothing, says something that is not understood here: "if", "tomorrow", "except",
the name of what does not exist. Then the sentence is somebody else's.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
import re
from typing import Any

from homeassistant.const import STATE_OFF, STATE_UNAVAILABLE
from homeassistant.core import State

from ..languages.data import FollowUpWords
from ..languages.phrases import is_order
from ..languages.phrasings import Phrasing
from ..support.nearness import differs_by_one, is_slip
from ..support.text import CELSIUS, MAX_TEXT, Token, Words, fold, tokens, words_of
from .reading import MAX_WORDS, SentenceReading
from .things import Thing, Things, sure_kinds

MAX_TARGETS = 60
MAX_PARTS = 4  # wishes of one sentence
HIGH = 0.75
"""From here on what was understood is done without a model (decision C-17)."""
_UNSURE = 0.7  # of what might be wanted, where something about it is not certain
_WHOLE, _GROUP, _PART = 1.0, 0.97, 0.9
"""How surely the things are meant that have the name that was said, that are all of a kind, that have a part of the name."""
_BOTH = 2
_OF_ALL = ("_all", "_area")  # answers of Home Assistant's about all of a kind
_MOST_PERCENT = 100
_KELVIN = 1000
_HOTTEST = 120  # degrees of either scale that anything in a home is set to
_LIGHT = "light"
_LIGHT_SET = "HassLightSet"
_SCRIPT = "script"
_SWITCHING = frozenset({"HassTurnOn", "HassTurnOff", "HassToggle"})
"""What is never meant without its kind or its name."""
_RETURNING = frozenset({"HassVacuumReturnToBase", "HassLawnMowerDock"})
IN_A_ROOM = frozenset({"light", "switch", "fan", "media_player"})
"""What everything in a room is that can be turned off."""
_SET = frozenset({"HassLightSet", "HassSetPosition", "HassFanSetSpeed", "HassSetVolume", "HassClimateSetTemperature"})
"""What may be said of the same thing right after something else: "turn on the fan and set it to 40 percent"."""
_SHARED_VALUE = frozenset({"HassSetPosition", "HassFanSetSpeed"})
"""What has a percentage, as the lights of a room have: "the bedroom at 50 percent" is none of them for certain."""
_SWITCHED = frozenset({"switch", "light"})
_STARTED = _SWITCHED | {
    "scene", "script", "automation", "input_boolean", "fan", "media_player", "climate", "siren", "group"
}  # fmt: skip
"""What is turned on and off as well, where switches or lights are."""
_IN_WINDOWS = ("blind", "curtain", "shade", "shutter")
"""Classes that people do not tell apart."""
_PLAYING = frozenset({"HassMediaPause", "HassMediaNext", "HassMediaPrevious", "HassSetVolume", "HassSetVolumeRelative"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """An intent for some things, as it was understood."""

    intent: str
    slots: Mapping[str, Any]
    targets: tuple[str, ...]
    response: str
    score: float
    """How sure the things are, 0 to 1."""
    told: int
    """How many words said what is to be done."""
    change: Mapping[str, float] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    """The words that said what is to be done."""

    @property
    def effect(self) -> tuple[str, str, tuple[str, ...]]:
        """Return what tells one wish from another."""
        return self.intent, repr((sorted(self.slots.items()), sorted(self.change.items()))), self.targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What was made of a sentence: what is wanted, or why that is not known."""

    wishes: tuple[Wish, ...] = ()
    reason: str = ""
    """A code; empty where there are wishes."""
    words: str = ""
    """What was not understood."""
    candidates: tuple[str, ...] = ()
    """Which things might be meant, where they are too many."""
    intents: tuple[str, ...] = ()
    """What might be wanted, the likeliest first."""
    score: float = 0.0
    text: str = ""
    """All of what is wanted, where only a part of it was said: the sentence before had the rest."""
    is_so: bool = False
    """Whether all of it is so already: nothing is on of what is to be turned off."""
    spared: tuple[str, ...] = ()
    """Entity ids of what the sentence excepts."""
    is_near: bool = False
    """Whether all that was not understood may be a slip of the pen, or refers to the sentence before."""


@dataclass(frozen=True, slots=True)
class _Found:
    targets: tuple[int, ...] = ()
    score: float = 0.0
    several: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitting:
    """The things that explain all words that are left, and what these words are."""

    rest: Sequence[int]
    """The places of the words."""
    told: set[int]
    """The places of those that say what is to be done."""
    kinds: Sequence[int]
    """The places of those that name a kind."""
    whole: Mapping[int, int]
    """The things of which a whole name was said, to how many words it has."""
    written: Collection[int]
    """Those of which a name was said as it is written, in no other form."""
    group: Sequence[int]
    """The things of which enough was said."""
    kindly: set[int]
    """The things that are of all the kinds."""
    placed: bool
    """Whether a place was said."""
    only_place: bool
    """Whether nothing else was said of them."""
    plural: bool
    """Whether a kind was named as several."""
    everything: bool
    """Whether all of them were said to be meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was said last in a conversation, and done."""

    text: str
    targets: tuple[str, ...]
    """Entity ids."""
    candidates: tuple[str, ...] = ()
    """Entity ids of what the user was asked to choose from."""


def understand(
    text: str,
    things: Things,
    state_of: Callable[[str], State | None],
    *,
    area_id: str | None = None,
    before: Said | None = None,
) -> Understood:
    """Return what a sentence wants: as a whole, else as several wishes, else as one that goes on from the sentence before."""

    def read(part: str, targets: Collection[str]) -> Understood:
        command = Commanding(part, things, state_of, area_id=area_id, before=targets)
        return (command.everything_off() if command.everything else None) or command.understand()

    targets = before.targets if before else ()
    whole = read(text, targets)
    if whole.reason == "altered" and things.data.exceptions:
        return _excepting(text, things, state_of, area_id) or whole
    if whole.wishes or whole.reason not in ("words", "several", "action", "two_ways", "question"):
        return whole
    joins = sorted(things.data.follow_ups.joins, key=len, reverse=True)
    parts = parts_of(text, joins)
    if 1 < len(parts) <= MAX_PARTS and whole.reason != "question":
        several = _several(text, parts, read, targets, things)
        if several is not None:
            return several
    if rest := _goes_on(text, things.data.follow_ups):
        alone, again = read(rest, targets), None
        new = SentenceReading(rest, things, state_of)
        begins = new.words[:1] or [""]
        says_what = bool(alone.wishes) and begins[0] not in things.routes.harmless  # "the lock" is no verb
        if before is not None and not says_what:
            again = _going_on(new, before, read, SentenceReading(before.text, things, state_of))
        return again or (replace(alone, text=rest) if alone.wishes else whole)
    return whole


def parts_of(text: str, joins: Sequence[str]) -> list[str]:
    """Return the parts of a sentence between commas and words like "and"."""
    words = "|".join(re.escape(word) for word in joins)
    split = rf"\s*,\s*(?:(?:{words})\s+)?|\s+(?:{words})\s+" if words else r"\s*,\s*"
    said = " ".join(text.strip(" .!").split())  # a long run of spaces would be read from each of them
    return [part for part in re.split(split, said, flags=re.IGNORECASE) if part.strip()]


def _excepting(
    text: str, things: Things, state_of: Callable[[str], State | None], area_id: str | None
) -> Understood | None:
    """Return the wish for all of some things but those that are excepted; None unless it is certain which those are.

    What is excepted may stand in the middle, "alle Lichter außer dem Flurlicht aus", or in front.
    """
    words = "|".join(re.escape(phrase) for phrase in sorted(things.data.exceptions, key=len, reverse=True))
    found = [*re.finditer(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE)]
    if len(found) != 1 or len(text) > MAX_TEXT:
        return None
    first, rest = text[: found[0].start()].rstrip(" ,"), text[found[0].end() :]
    ends = [match.end() for match in re.finditer(r"[^\s,.!]+", rest)][:MAX_WORDS]
    for end in reversed(ends):
        excepted = parts_of(rest[:end], things.data.follow_ups.joins)
        readings = [Commanding(part, things, state_of, area_id=area_id) for part in excepted]
        if len(readings) > MAX_PARTS or not all(reading.names_something() for reading in readings):
            continue
        command = Commanding(f"{first} {rest[end:].lstrip(' ,')}".strip(), things, state_of, area_id=area_id)
        whole = (command.everything_off(also_off=True) if command.everything else None) or command.understand()
        if len(whole.wishes) != 1 or len(whole.wishes[0].targets) < _BOTH:
            continue
        wish = whole.wishes[0]
        spared = [reading.among(wish) for reading in readings]
        many = command.of_many(wish.targets)
        left = [item for item in wish.targets if item not in many and not any(item in each for each in spared)]
        if not all(spared) or not left:
            continue
        is_so = False
        if wish.intent == "HassTurnOff" and len({item.partition(".")[0] for item in wish.targets}) > 1:
            on = [item for item in left if (state := state_of(item)) and state.state != STATE_OFF]
            left, is_so = on or left, not on
        names = tuple(dict.fromkeys(item for each in spared for item in each))
        # the answer for all of a kind would say too much
        response = "default" if wish.response.endswith(_OF_ALL) else wish.response
        wish = replace(wish, targets=tuple(left), response=response)
        return replace(whole, wishes=(wish,), spared=names, is_so=is_so)
    return None


def _several(
    text: str,
    parts: Sequence[str],
    read: Callable[[str, Collection[str]], Understood],
    targets: Collection[str],
    things: Things,
) -> Understood | None:
    """Return the wishes of all parts, None unless each is certain; one without a verb takes that of the one before, or after.

    A value that ends the sentence is of all things before it: "dim the bed light and the desk lamp to 30 percent".
    """
    pronouns = {fold(word) for word in things.data.follow_ups.it}
    wishes: list[Wish] = []
    going_on: list[Wish] = []
    waiting: list[str] = []
    vague: list[str] = []
    score = 1.0
    for part in parts:
        found = read(part, () if waiting else targets)  # "the lamp also on" is not what was before
        if not found.wishes and wishes:
            said = [word for word in wishes[-1].said if not word[0].isdigit() or not re.search(r"\d", part)]
            found = read(f"{' '.join(said)} {part}", targets)
        if not found.wishes:
            if wishes:
                return None
            waiting.append(part)
            continue
        last = found.wishes[0]
        if vague and last.slots and not is_order(part, things.language.code) and last.intent == wishes[-1].intent:
            waiting += vague
            del wishes[-len(vague) :]
            vague.clear()
        for earlier in waiting:
            first = read(f"{earlier} {' '.join(last.said)}", ())
            if not first.wishes:
                return None
            wishes += first.wishes
        waiting.clear()
        wishes += found.wishes
        going_on += found.wishes if any(token.word in pronouns for token in tokens(part)) else ()
        vague = [*vague, part] if len(found.wishes) == 1 and last.change else []
        targets = last.targets
        score = min(score, found.score)
    # of several things it would not be certain what "it" is
    is_one = len({wish.targets for wish in wishes}) == 1
    back = _in_a_row(text, things.data.follow_ups) if is_one else ()
    # on and off, or twice the same: which of them?
    clash = any(
        set(first.targets) & set(wish.targets)
        and (wish not in going_on or wish.intent not in _SET or first.intent in (wish.intent, "HassTurnOff"))
        and not (wish.intent in back and _is_back(first, wish))
        for number, wish in enumerate(wishes)
        for first in wishes[:number]
    )
    if waiting or not wishes or clash:
        return None
    return Understood(wishes=tuple(wishes), intents=tuple(wish.intent for wish in wishes), score=score)


def _in_a_row(text: str, words: FollowUpWords) -> frozenset[str]:
    """Return the intents with which a sentence may switch back what it has switched: "off and on again", "on and then off".

    "On and off again" does not say when.
    """
    said = f" {' '.join(token.word for token in tokens(text))} "
    phrases = {phrase for phrase in words.then if f" {fold(phrase)} " in said}
    back = {"HassTurnOn", "HassTurnOff"} if not phrases.isdisjoint(words.joins) else {"HassTurnOn"}
    return frozenset(back if phrases else ())


def _is_back(first: Wish, wish: Wish) -> bool:
    """Return whether a wish switches the very things back that one before it switches.

    Both are done, in the order in which they were said; never what opens, moves or keeps warm, which takes its time.
    """
    switched = {first.intent, wish.intent} == {"HassTurnOn", "HassTurnOff"}
    domains = {item.partition(".")[0] for item in wish.targets}
    return switched and first.targets == wish.targets and domains <= IN_A_ROOM | {"input_boolean"}


def _goes_on(text: str, words: FollowUpWords) -> str:
    """Return what is new in a sentence that goes on: without "and", "the same for", "too"; "" for others."""
    said = rest = f" {text.strip(' ?.!').casefold()} "
    for phrase in words.too:
        rest = rest.replace(f" {phrase} ", " ")
    before = ""
    while rest != before:
        before = rest
        begin = max((one for one in words.again if rest.startswith(f" {one} ")), key=len, default="")
        rest = rest[len(begin) + 1 :] if begin else rest
    return rest.strip() if rest != said else ""


def _going_on(
    new: SentenceReading, before: Said, read: Callable[[str, Collection[str]], Understood], said: SentenceReading
) -> Understood | None:
    """Return the wish of a sentence that goes on with something else or another value, None where it is not certain.

    `new` is what it says, `said` the sentence before. What that one was about stays where only a place is new, or "one": "and in
    the office" after the fan of the bedroom is a fan.
    """
    earlier = read(before.text, before.targets)
    kinds = {said.words[at] for at in said.kinds}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if len(earlier.wishes) != 1 or (new.everything - new.both and not new.kinds):
        return None
    verb = [word for word in earlier.wishes[0].said if word != kind or not new.kinds]
    text = new.text
    if ones := new.ones:
        if not kind or new.says_only(ones):
            return None
        text = " ".join(kind if fold(word) in new.one_words else word for word in text.split())
    elif new.is_place:
        verb[:0] = [kind] if kind and kind not in verb else []
    bare = verb if new.is_place else [word for word in verb if word != kind]
    plain = [word for word in verb if not new.things.is_value(word)]
    domains = {item.partition(".")[0] for item in earlier.wishes[0].targets}
    for words, targets in ((verb, ()), (bare, ()), (plain, before.targets)):
        whole = " ".join((*words, text))
        wishes = (found := read(whole, targets)).wishes if words else ()
        if wishes and not (new.is_place and {item.partition(".")[0] for item in wishes[0].targets} - domains):
            return replace(found, text=whole)
    return None


class Commanding(SentenceReading):
    """One command, read against the home."""

    def understand(self) -> Understood:
        """Return what is wanted, where all of it is certain."""
        if reason := self._declined():
            return Understood(reason=reason)
        best: dict[tuple[Any, ...], Wish] = {}
        rests: dict[tuple[Any, ...], tuple[list[int], set[int]]] = {}
        domains: dict[frozenset[int], set[str]] = {}
        several: list[tuple[int, tuple[int, ...]]] = []
        missing: list[tuple[int, str]] = []
        likely: dict[str, float] = {}
        for route in self._likely():
            for used, told, slots in self._ways(route):
                rest = self._rest(route, used, told)
                domains.setdefault(frozenset(told), set()).update(route.domains)
                unknown = [at for at in rest if not self._explained[at]]
                likely[route.intent] = max(likely.get(route.intent, 0.0), 1 - len(unknown) / len(self.tokens))
                found = self._meant(route, rest, told)
                if found.several:
                    several.append((len(told), found.several))
                elif not found.targets:
                    missing.append((len(told), " ".join(self.words[at] for at in unknown)))
                elif (wish := self._wish(route, slots, found, told)) is not None:
                    if wish.effect not in best or best[wish.effect].told < wish.told:
                        best[wish.effect] = wish
                        rests[wish.effect] = rest, told
        intents = tuple(sorted(likely, key=lambda name: -likely[name]))
        if best:
            decided = self._decided(best.values(), intents)
            for wish in decided.wishes:
                rest, told = rests[wish.effect]
                if rivals := self._rivals(best[wish.effect], rest, domains[frozenset(told)]):
                    names = tuple(sorted({*wish.targets, *self._names(rivals)}))
                    return Understood(reason="several", candidates=names, intents=intents, score=wish.score * _UNSURE)
            return decided
        score = max(likely.values(), default=0.0) * _UNSURE
        if several:
            return Understood(reason="several", candidates=self._names(max(several)[1]), intents=intents, score=score)
        words = max(missing)[1] if missing else ""
        reason = "words" if missing else "action"
        return Understood(reason=reason, words=words, intents=intents, score=score, is_near=self._is_near())

    def among(self, wish: Wish) -> tuple[str, ...]:
        """Return which things of a wish for many are named, as entity ids; empty where that is not certain."""
        rest = [at for at in range(len(self.tokens)) if not self._says_nothing(at)]
        meant = {n for n, thing in enumerate(self.things.things) if thing.entity.entity_id in wish.targets}
        if all(at in self.in_places for at in rest) and not self.kinds:
            return self._names({n for n in meant if self._is_here(n)})
        domains = frozenset(self.things.things[n].entity.domain for n in meant)
        found = self._meant(Phrasing(intent=wish.intent, domains=domains, needed=(), beside=frozenset()), rest, set())
        named = meant.intersection(found.targets)
        if named:
            one = replace(wish, targets=self._names(named), score=found.score)
            if found.score * self.sureness < HIGH or meant & self._rivals(one, rest, domains):
                return ()
        elif several := meant.intersection(found.several):
            on = {n for n in several if self._state(n) != STATE_OFF} if wish.intent == "HassTurnOff" else several
            named = several if self._is_plural([*self.kinds]) or 1 in (len(several), len(on)) else set[int]()
        return self._names(named)

    def of_many(self, entity_ids: Collection[str]) -> set[str]:
        """Return which things stand for many that are not known: "All lamps", the group of a bridge."""
        found: set[str] = set()
        for thing in self.things.things:
            if thing.entity.entity_id in entity_ids:
                state = self._state_of(thing.entity.entity_id)
                marks = state.attributes.items() if state else ()
                if any(mark.endswith("_group") and value is True for mark, value in marks) or any(
                    word in self.language.everything for name in thing.names for word in name
                ):
                    found.add(thing.entity.entity_id)
        return found

    def everything_off(self, *, also_off: bool = False) -> Understood | None:
        """Return the wish to turn off everything in some rooms: lights, switches, fans, players; never what keeps out or warm.

        With `also_off` also of what is off already. None for any other sentence.
        """
        data, spoken = self.things.data, self.words
        if data.questions is None or not self.place_spans or self._declined():
            return None
        joins = {word for text in data.follow_ups.joins for word in words_of(text)}
        offs = {word for text in data.questions.states.get("off", ()) for word in words_of(text)[:1]}
        known = {at for at, word in enumerate(spoken) if word in joins} | self.everything | self.in_places.keys()
        for phrase in map(words_of, data.questions.everything):
            for at in range(len(spoken) - len(phrase) + 1):
                known |= set(range(at, at + len(phrase))) if tuple(spoken[at : at + len(phrase)]) == phrase else set()
        if any(at not in known and not is_order(spoken[at], self.language.code) for at in self.kinds):
            return None
        areas = {area for _, _, found in self.place_spans for area in found}
        there = set[int]().union(*(self.things.by_area.get(area, set()) for area in areas))
        there &= self.things.in_domains(IN_A_ROOM)
        on = [n for n in there if self._state(n) != STATE_OFF]
        meant = self._all([*there] if also_off else on or [*there])
        for route in self._likely() if meant.targets else ():
            if route.intent != "HassTurnOff" or route.values or route.slots or not route.domains & IN_A_ROOM:
                continue
            for _, told, _ in self._ways(route):
                is_off = route.domains >= IN_A_ROOM or any(
                    spoken[at].startswith(word) for at in told - known for word in offs
                )
                rest = [
                    at for at in range(len(spoken)) if at not in told | known and spoken[at] not in self.routes.harmless
                ]
                if is_off and not rest and (wish := self._wish(route, {}, meant, told)) is not None:
                    return Understood(wishes=(wish,), intents=(wish.intent,), score=wish.score, is_so=not on)
        return None

    def _rivals(self, wish: Wish, rest: Sequence[int], domains: Collection[str]) -> set[int]:
        """Return what else may be called by the part of a name that was said, of all that the same can be done to.

        What is called all that was said is meant before what is called only some of it: a switch named "Garden lights" before
        a light named "Garden". A compound is also what its halves are: "Flurlicht" may be a "Flurbeleuchtung", and any light in the "Flur".
        """
        things = self.things
        if len(wish.targets) > 1:
            return set()
        more = _STARTED if wish.intent in _SWITCHING and not _SWITCHED.isdisjoint(domains) else frozenset[str]()
        found = things.in_domains(more.union(domains))
        if wish.score == _WHOLE and more:
            for at in {*rest, *self.kinds}:
                found = found & things.named(self.words[at])
            return set() if any(things.things[n].entity.entity_id in wish.targets for n in found) else found
        if wish.score != _PART:
            return set()
        named = [at for at in rest if at not in self.kinds and at not in self.in_places]
        for at in named:
            word = self.words[at]
            begin, noun = things.language.noun_at_end(word) if word.isalpha() else (0, "")
            halves = self._explained[at] | things.beginning(word)
            if noun and begin > 2:
                start = things.start_of(word[:begin])
                halves |= things.called(start) & (things.of_kinds(things.language.kinds_of(noun)) | things.called(noun))
            found = found & halves
        for at in self.kinds:
            found = found & (self._explained[at] | things.called(self.words[at]))
        meant = set(wish.targets)
        return {n for n in found if things.things[n].entity.entity_id not in meant} if named else set()

    def _is_near(self) -> bool:
        """Return whether the words that nothing explains are slips of the pen of words that are known here, or say "it"."""
        things = self.things
        unknown = [word for word in self.words if word.isalpha() and not things.knows(word)]
        if not unknown:
            return self._says_it
        return all(
            any(is_slip(word, other, shortest=2) or differs_by_one(word, other) for other in things.words_like(word))
            for word in unknown
        )

    def _rest(self, route: Phrasing, used: set[int], told: set[int]) -> list[int]:
        """Return the places of the words that the things have to explain."""
        rest = [
            at
            for at in range(len(self.tokens))
            if at not in used
            or (at in self.kinds and (at not in told or self._is_kind_of(at, route)))
            or (self._ends_a_room(at) and at - 1 not in used)
        ]
        return [at for at in rest if not self._says_nothing(at)]

    def _ends_a_room(self, at: int) -> bool:
        """Return whether a word says with the one before which room it is: "kids room", whatever phrase has "room"."""
        return self.words[at] in self.language.any_room and at > 0 and not self._says_nothing(at - 1)

    def _is_kind_of(self, at: int, route: Phrasing) -> bool:
        """Return whether a word names the things that a route is for: "lights" are several, whatever phrase has the word."""
        if not self._ends_plural(self.words[at], self.things.data.plurals):
            return False  # "switch", "light" and "lock" are also what one does
        return not route.domains.isdisjoint(sure_kinds(self.kinds[at]))

    def _decided(self, wishes: Iterable[Wish], intents: tuple[str, ...]) -> Understood:
        """Return the wish that more words tell than any other; nothing where two are told alike."""
        ranked = sorted(wishes, key=lambda wish: (-wish.told, -wish.score))
        first = ranked[0]
        if any(other.told == first.told and other.score >= first.score for other in ranked[1:]):
            names = tuple(dict.fromkeys(wish.intent for wish in ranked))
            return Understood(reason="two_ways", intents=names, score=first.score * _UNSURE)
        score = first.score * self.sureness
        if score < HIGH:
            return Understood(reason="unsure", intents=intents, score=score)
        return Understood(wishes=(replace(first, score=score),), intents=intents, score=score)

    def _likely(self) -> Iterator[Phrasing]:
        routes = self.routes
        numbers = dict.fromkeys(routes.without)
        for word in dict.fromkeys(self.words):
            numbers |= dict.fromkeys(routes.by_word.get(word, ()))
        return (routes.routes[number] for number in numbers)

    def _ways(self, route: Phrasing) -> Iterator[tuple[set[int], set[int], dict[str, Any]]]:
        """Yield how a route may be said by the sentence: which words it uses, which of those it needs, and its values."""
        words = self.words
        told: set[int] = set()
        for group in route.needed:
            spots = self._spots(group, told)
            if spots is None:
                return
            told |= spots
        beside = {at for at, word in enumerate(words) if word in route.beside and at not in told}
        options: list[tuple[set[int], dict[str, Any]]] = [(set(), dict(route.slots))]
        for slot, name in route.values.items():
            options = [
                (taken | spots, {**slots, slot: value})
                for taken, slots in options
                for spots, value in self._values(name, told | taken)
            ]
        for taken, slots in options:
            yield told | taken | (beside - taken), told | taken, slots

    def _spots(self, group: Iterable[Words], taken: set[int]) -> set[int] | None:
        """Return the places of the longest of some phrases; its words may stand apart."""
        words = self.words
        best: set[int] | None = None
        for phrase in group:
            spots: set[int] = set()
            for word in phrase:
                at = next(
                    (at for at, one in enumerate(words) if one == word and at not in taken and at not in spots), None
                )
                if at is None:
                    break
                spots.add(at)
            else:
                if best is None or len(spots) > len(best):
                    best = spots
        return best

    def _values(self, name: str, taken: set[int]) -> Iterator[tuple[set[int], Any]]:
        """Yield the values of a list that stand in the sentence, and where."""
        listed = self.routes.values.get(name)
        if listed is not None:
            words = tuple(self.words)
            best: tuple[set[int], Any] | None = None
            for phrase, value in listed.items():
                for at in range(len(words) - len(phrase) + 1):
                    spots = set(range(at, at + len(phrase)))
                    if (
                        words[at : at + len(phrase)] == phrase
                        and not spots & taken
                        and not (name == "color" and self._is_attribute(at, len(phrase)))
                        and (best is None or len(spots) > len(best[0]))
                    ):
                        best = spots, value
            if best is not None:
                yield best
            return
        for at, token in enumerate(self.tokens):
            if token.value is None or at in taken or not _fits(name, token):
                continue
            if (token.unit == CELSIUS and not self.things.celsius) or self._counts(at, taken):
                continue
            yield {at}, int(token.value) if token.value.is_integer() else token.value

    def _counts(self, at: int, told: set[int]) -> bool:
        """Return whether a number without a unit is one of things, or of a name: "two lights", "desk lamp 2"."""
        if self.tokens[at].unit:
            return False
        beside = [near for near in (at - 1, at + 1) if 0 <= near < len(self.tokens) and near not in told]
        nothing = self.routes.harmless | self.routes.prepositions
        return any(self._explained[near] and self.words[near] not in nothing for near in beside)

    def _has_bare_number(self, told: set[int]) -> bool:
        return any(self.tokens[at].value is not None and not self.tokens[at].unit for at in told)

    def _says_volume(self, told: set[int]) -> bool:
        return any(self.tokens[at].value is None and at not in self._vague for at in told)

    def _is_attribute(self, at: int, length: int) -> bool:
        """Return whether a color stands as an adjective with a thing: "the green lantern" is none that is to be green."""
        after = at + length
        if not 0 < at < after < len(self.words):
            return False
        return (
            self.words[at - 1] in self.routes.harmless and bool(self._explained[after]) and after not in self.in_places
        )

    def _meant(self, route: Phrasing, rest: Sequence[int], told: set[int]) -> _Found:
        """Return the things that are meant: those that explain every word that is left."""
        found = self._explaining(route, rest)
        if rest and not found:
            return _Found()
        if not rest and (referred := self._referred_to(route, told, found)) is not None:
            return referred
        if route.intent == "HassSetVolume" and self._has_bare_number(told) and not self._says_volume(told):
            return _Found()  # "set the TV to 5" may be a channel
        words = {word for at, word in enumerate(self.words) if at not in told or at in self.kinds}
        keys = {key for word in words for key in self.things.keys(word)}
        whole = {n: length for n in found if (length := self._length_said(n, keys))}
        part = [n for n in found if n in whole or self._is_part(self.things.things[n], rest, keys)]
        if rest and not part and (lacking := self._lacking(found, keys)) is not None:
            return lacking
        kinds = [at for at in self.kinds if at in rest]
        kindly = {n for n in found if kinds and all(n in self.things.of_kinds(self.kinds[at]) for at in kinds)}
        fitting = _Fitting(
            rest=rest,
            told=told,
            kinds=kinds,
            whole=whole,
            written={n for n in whole if any(words.issuperset(name) for name in self.things.things[n].names)},
            group=[n for n in part if n in kindly] if kinds else part,
            kindly=kindly,
            placed=bool(self.place_spans) and any(at in self.in_places for at in rest),
            only_place=bool(rest) and not kinds and all(at in self.in_places for at in rest),
            plural=self._is_plural(kinds),
            everything=bool(self.everything - told if route.intent in _RETURNING else self.everything),  # "home"
        )
        return self._chosen(route, fitting)

    def _explaining(self, route: Phrasing, rest: Iterable[int]) -> set[int]:
        """Return the things a route is for that explain every word that is left, of these those in the place that was said."""
        found = self.things.in_domains(route.domains)
        for at in rest:
            found = found & self._explained[at]
        here = {n for n in found if self._is_here(n)} if self.place_spans else set[int]()
        return here or found

    def _referred_to(self, route: Phrasing, told: set[int], found: set[int]) -> _Found | None:
        """Return what is meant where nothing names it: what the sentence before was about; None where others may be meant."""
        if self.everything == self.both:
            if self._before and (self._says_it or self.both or found & self._before):
                is_over = route.domains == {_SCRIPT} and all(self._state(n) == STATE_OFF for n in self._before)
                is_all = found >= self._before and not is_over  # "stop" is then something else that goes on
                return _Found(tuple(sorted(self._before)), _GROUP) if is_all else _Found()
            if not route.alone or (self._says_it and not told - self._vague):
                return _Found()
        return None if route.alone or route.domains == {_LIGHT} else _Found()

    def _length_said(self, number: int, said: set[str]) -> int:
        """Return how many words the longest name of a thing has that was said as a whole, in whatever form; 0 where none was."""
        return max((len(name) for name in self.things.keys_of(number) if self._is_said(name, said)), default=0)

    @cached_property
    def _vague(self) -> set[int]:
        """The places of words that are said of many kinds of things: "stop", "start", "turn ... on"."""
        routes = self.routes
        return {
            at
            for at, word in enumerate(self.words)
            if len({routes.routes[number].domains for number in routes.by_word.get(word, ())}) > 1
        }

    def _lacking(self, found: Collection[int], said: set[str]) -> _Found | None:
        """Return the things of which all was said but a side, a number or "front": of two such things, either may be meant."""
        things, sided = self.things, list[int]()
        for number in sorted(found):
            unsaid = [{w for w in name if things.keys(w).isdisjoint(said)} for name in things.things[number].names]
            if any(words and all(map(self._tells_apart, words)) for words in unsaid):
                sided.append(number)
        if len(sided) > 1:
            return self._all(sided) if self.everything and len(sided) == len(found) else _Found(several=tuple(sided))
        return _Found(tuple(sided), _PART) if sided and things.may_be_any else None

    def _tells_apart(self, word: str) -> bool:
        return word.isdigit() or self.things.is_telling(word)

    def _is_part(self, thing: Thing, rest: Sequence[int], said: set[str]) -> bool:
        """Return whether what was said of a thing is enough to mean it: words of a place are said as a whole."""
        area_words = {key for name in thing.area for word in name for key in self.things.keys(word)}
        here = any(areas and thing.entity.area_id in areas for areas in self.in_places.values())
        if here:
            return True
        for at in rest:
            word = self.words[at]
            if at in self.in_places and not any(word in name for name in thing.names):
                return False
            keys = self.things.keys(word)
            if not keys.isdisjoint(area_words) and at not in self.kinds:
                return False
            if self.tokens[at].value is not None and not any(word in name for name in thing.names):
                return False
        if all(at in self.kinds for at in rest):
            return True
        unsaid = {word for word in thing.names[0] if self.things.keys(word).isdisjoint(said)}
        return not any(map(self._tells_apart, unsaid))

    def _chosen(self, route: Phrasing, fitting: _Fitting) -> _Found:
        """Return those of the fitting things that are meant, or that it is not clear."""
        if fitting.only_place:
            if self._is_any_of_a_place(route, fitting):
                return _Found()
            fitting = self._lit_in_a_place(route, fitting)
        if named := self._called_so(fitting):
            return _Found((named[0],), _WHOLE) if len(named) == 1 else _Found(several=tuple(named))
        group, kinds = fitting.group, fitting.kinds
        if len(group) < 2:
            if group and kinds and not fitting.placed and (other := self._alike_here(group[0])):
                return _Found(several=(*group, *sorted(other)))
            return _Found(tuple(group), _PART if fitting.rest else _GROUP)
        return self._all(group) if self._are_all_meant(route, fitting) else self._one_of(route, fitting)

    def _is_any_of_a_place(self, route: Phrasing, fitting: _Fitting) -> bool:
        """Return whether anything in a place may be meant: "turn the bedroom up", "the bedroom to 21": its light, its heating, its blinds?"""
        is_vague = (bool(route.change) or _LIGHT not in route.domains) and not fitting.told - self._vague
        is_vague |= route.intent == _LIGHT_SET and self._has_bare_number(fitting.told)
        return fitting.everything or is_vague or route.intent in _SHARED_VALUE

    def _lit_in_a_place(self, route: Phrasing, fitting: _Fitting) -> _Fitting:
        """Return the lights of a place where it is switched as a whole: "turn off the kitchen"; without lights, what is called so."""
        if route.intent not in _SWITCHING and route.intent != _LIGHT_SET:
            return fitting
        lights = [n for n in fitting.group if self._are_lights([n])]
        group = lights or [n for n in fitting.group if self._is_called(n, fitting.rest)]
        # "the light in the kitchen" is not what is called kitchen light
        is_told_apart = bool(lights) and all(kind < at for kind in self.kinds for at in fitting.rest)
        return replace(fitting, group=group, whole={} if is_told_apart else fitting.whole)

    def _called_so(self, fitting: _Fitting) -> list[int]:
        """Return the things that have the longest of the names that were said, unless several are meant."""
        if not fitting.whole or fitting.everything:
            return []
        is_group = fitting.plural and len(fitting.group) > 1
        longest = max(fitting.whole.values())
        named = [n for n, length in fitting.whole.items() if length == longest]
        named = [n for n in named if n in fitting.written or not is_group]
        return self._near([n for n in named if n in fitting.kindly] or named)

    def _are_all_meant(self, route: Phrasing, fitting: _Fitting) -> bool:
        """Return whether all of some things are meant: several of a kind, or the lights of a room."""
        placed, everything = fitting.placed, fitting.everything
        if fitting.kinds and (everything or (fitting.plural and (placed or self._is_locking(route)))):
            return True
        is_room = placed and bool(fitting.kinds or fitting.only_place)
        return self._are_lights(fitting.group) and (is_room or (everything and not fitting.rest and bool(self.kinds)))

    def _are_lights(self, numbers: Iterable[int]) -> bool:
        return {self.things.things[n].entity.domain for n in numbers} == {_LIGHT}

    def _is_locking(self, route: Phrasing) -> bool:
        """Return whether a route keeps out: "lock the doors" is said of the home, whatever is around who speaks."""
        return route.intent == "HassTurnOn" and route.domains == {"lock"}

    def _alike_here(self, number: int) -> set[int]:
        """Return what is meant as well as a thing of another room: "the curtains" are also the blinds of this one."""
        things = self.things
        alike = set[int]().union(*(things.by_sort.get(("cover", class_), set()) for class_ in _IN_WINDOWS))
        here = alike & things.by_area.get(self.area_id or "", set())
        return here if number in alike and number not in here else set()

    def _one_of(self, route: Phrasing, fitting: _Fitting) -> _Found:
        """Return which of a kind is meant without saying: what is where it was asked, or what plays."""
        group, kinds = fitting.group, fitting.kinds
        if not fitting.placed and self.area_id:
            near = [n for n in group if self.things.things[n].entity.area_id == self.area_id]
            if len(near) == 1:
                return _Found(tuple(near), _PART)
            if near and kinds and (fitting.plural or self._are_lights(group)):
                return self._all(near)
        active = [n for n in group if self._is_active(route, n)] if route.alone or kinds else []
        return _Found(tuple(active), _PART) if len(active) == 1 else _Found(several=tuple(group))

    def _is_called(self, number: int, rest: Sequence[int]) -> bool:
        """Return whether all that was said stands in a name of a thing."""
        return any(
            all(any(self.words[at] in keys for keys in name) for at in rest) for name in self.things.keys_of(number)
        )

    def _all(self, numbers: Sequence[int]) -> _Found:
        there = [n for n in numbers if self._state(n) != STATE_UNAVAILABLE]
        return _Found(tuple(sorted(there)), _GROUP) if 0 < len(there) <= MAX_TARGETS else _Found()

    def _near(self, numbers: list[int]) -> list[int]:
        """Return those that are where it was asked, if any are."""
        if len(numbers) < 2 or not self.area_id:
            return numbers
        return [n for n in numbers if self.things.things[n].entity.area_id == self.area_id] or numbers

    def _is_active(self, route: Phrasing, number: int) -> bool:
        state = self._state(number)
        if route.intent == "HassMediaUnpause":
            return state == "paused"
        return route.intent in _PLAYING and state == "playing"

    def _wish(self, route: Phrasing, slots: dict[str, Any], found: _Found, told: set[int]) -> Wish | None:
        if self.both and len(found.targets) != _BOTH:
            return None
        said = tuple(f"{self.tokens[at].word}{self.tokens[at].unit}" for at in sorted(told))
        intent = route.intent
        if intent == "HassClimateSetTemperature" and route.change:
            states = {self._state(n) for n in found.targets}
            if STATE_OFF in states:
                if len(states) > 1 or min(route.change.values()) < 0:
                    return None
                return Wish(
                    intent="HassTurnOn",
                    slots={},
                    targets=self._names(found.targets),
                    response="default",
                    score=found.score,
                    told=len(told),
                    said=said,
                )
        return Wish(
            intent=intent,
            slots=slots,
            targets=self._names(found.targets),
            response=route.response,
            score=found.score,
            told=len(told),
            change=route.change,
            said=said,
        )


def _fits(name: str, token: Token) -> bool:
    """Return whether a number can be a value of a list."""
    assert token.value is not None
    match name:
        case "color_temperature":
            return token.unit in ("", "k") and token.value >= _KELVIN
        case "temperature":
            return token.unit in ("", "°", CELSIUS) and token.value <= _HOTTEST
        case "brightness" | "position" | "fan_speed" | "volume" | "volume_step_up" | "volume_step_down":
            return token.unit in ("", "%") and token.value <= _MOST_PERCENT and token.value.is_integer()
    return False
