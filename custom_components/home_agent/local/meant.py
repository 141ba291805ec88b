"""Which things the words of one command mean: those that explain every word which does not say what is to be done."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from homeassistant.const import STATE_OFF, STATE_UNAVAILABLE

from ..home.domains import DOMAINS, LIGHTS, RUNNERS, UNKNOWN, domains_where
from ..languages.phrasings import Phrasing
from ..support.text import CELSIUS, Token, Words
from .reading import SentenceReading
from .things import StateOf, Thing, Things, sure_kinds

MAX_TARGETS = 60
WHOLE, GROUPED, PART = 1.0, 0.97, 0.9
"""How surely the things are meant that have the name that was said, that are all of a kind, that have a part of the name."""
SWITCHING = frozenset({"HassTurnOn", "HassTurnOff", "HassToggle"})
"""What is never meant without its kind or its name."""
_HOTTEST = 120  # degrees of either scale that anything in a home is set to
_LIGHT_SET = "HassLightSet"
_SIMILAR = frozenset(f"cover.{class_}" for class_ in DOMAINS["cover"].alike)
"""Kinds of covers of which one word is often said for another."""
_DOCKING = domains_where(lambda record: "docked" in record.back)
_GUARDING = domains_where(lambda record: record.keeps_out)
_SHARED_VALUE = frozenset({"HassSetPosition", "HassFanSetSpeed"})
"""What has a percentage, as the lights of a room have: "the bedroom at 50 percent" is none of them for certain."""
_PLAYING = frozenset({"HassMediaPause", "HassMediaNext", "HassMediaPrevious", "HassSetVolume", "HassSetVolumeRelative"})


@dataclass(frozen=True, slots=True)
class MeantThings:
    """Which things are meant, by their numbers, or between which it is not clear."""

    targets: tuple[int, ...] = ()
    score: float = 0.0
    several: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitting:
    """The things that explain all words that are left, and what these words are; words by their places."""

    rest: Sequence[int]
    told: set[int]  # words that say what is to be done
    kinds: Sequence[int]
    whole: Mapping[int, int]  # the things of which a whole name was said, to how many words it has
    written: Collection[int]  # those of which a name was said as it is written, in no other form
    group: Sequence[int]  # the things of which enough was said
    kindly: set[int]
    placed: bool
    only_place: bool  # whether nothing else was said of them
    plural: bool
    everything: bool  # whether all of them were said to be meant


class PhrasingReading(SentenceReading):
    """A sentence, and how phrasings may be said by it."""

    def __init__(
        self, text: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: Collection[str] = ()
    ) -> None:
        """Find the words of the home in it, also by what such things are called besides, where nothing is called so."""
        super().__init__(text, things, state_of, area_id=area_id, before=before)
        for at, kinds in self.kinds.items():
            if not self._explained[at] and not _SIMILAR.isdisjoint(kinds):  # "the curtains", where all are blinds
                self.kinds[at] = {**kinds, **dict.fromkeys(_SIMILAR, 1.0)}
                self._explained[at] = things.of_kinds(self.kinds[at])
        for name in sorted(things.called_besides, key=len, reverse=True):
            for spots in self._stands(name):
                if any(not self._explained[at] and not self._says_nothing(at) for at in spots):
                    for at in spots:
                        self._explained[at] = self._explained[at] | things.called_besides[name]
                        self.kinds.pop(at, None)  # "chauffage d'appoint" is no heating

    def _likely(self) -> Iterator[Phrasing]:
        numbers = dict.fromkeys(self.routes.without)
        for word in dict.fromkeys(self.words):
            numbers |= dict.fromkeys(self.routes.by_word.get(word, ()))
        return (self.routes.routes[number] for number in numbers)

    def _ways(self, route: Phrasing) -> Iterator[tuple[set[int], set[int], dict[str, Any]]]:
        """Yield how a phrasing may be said by the sentence: which words it uses, which of those it needs, and its values."""
        told: set[int] = set()
        for group in route.needed:
            spots = self._spots(group, told)
            if spots is None:
                return
            told |= spots
        beside = {at for at, word in enumerate(self.words) if word in route.beside and at not in told}
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
        best: set[int] | None = None
        for phrase in group:
            spots: set[int] = set()
            for word in phrase:
                free = (at for at, one in enumerate(self.words) if one == word and at not in taken and at not in spots)
                if (at := next(free, None)) is None:
                    break
                spots.add(at)
            else:
                if best is None or len(spots) > len(best):
                    best = spots
        return best

    def _values(self, name: str, taken: set[int]) -> Iterator[tuple[set[int], Any]]:
        listed = self.routes.values.get(name)
        if listed is not None:
            begun = [(phrase, value) for phrase, value in listed.items() if phrase and phrase[0] in self.words]
            said = [(set(spots), value) for phrase, value in begun for spots in self._stands(phrase)]
            said = [(spots, value) for spots, value in said if spots.isdisjoint(taken)]
            if name == "color":
                said = [(spots, value) for spots, value in said if not self._is_attribute(min(spots), len(spots))]
            if said:
                yield max(said, key=lambda one: len(one[0]))
            return
        for at, token in enumerate(self.tokens):
            if token.value is None or at in taken or not _fits(name, token):
                continue
            beside = [near for near in (at - 1, at + 1) if 0 <= near < len(self.tokens) and near not in taken]
            nothing = self.routes.harmless | self.routes.prepositions
            is_of_things = any(self._explained[near] and self.words[near] not in nothing for near in beside)
            if (is_of_things and not token.unit) or (token.unit == CELSIUS and not self.things.celsius):
                continue  # "two lights", "desk lamp 2"
            yield {at}, int(token.value) if token.value.is_integer() else token.value

    def _is_attribute(self, at: int, length: int) -> bool:
        """Return whether a color stands as an adjective with a thing: "the green lantern" is not to be green."""
        after = at + length
        is_inside = 0 < at < after < len(self.words) and self.words[at - 1] in self.routes.harmless
        return is_inside and bool(self._explained[after]) and after not in self.in_places

    def _rest(self, route: Phrasing, used: set[int], told: set[int]) -> list[int]:
        """Return the places of the words that the things have to explain; "switch", "light" and "lock" are also what one does."""
        plurals = self.things.data.plurals
        ends_a_room = {  # it says with the one before which room it is: "kids room"
            at
            for at, word in enumerate(self.words)
            if at > 0 and word in self.language.any_room and not self._says_nothing(at - 1)
        }
        things = {at for at in self.kinds if at not in told}
        for at in self.kinds.keys() & told:
            if self._ends_plural(self.words[at], plurals) and route.domains & sure_kinds(self.kinds[at]):
                things.add(at)
        rooms = {at for at in ends_a_room if at - 1 not in used}
        rest = (at for at in range(len(self.words)) if at not in used or at in things or at in rooms)
        return [at for at in rest if not self._says_nothing(at)]

    @cached_property
    def _vague(self) -> set[int]:
        """The places of words that are said of many kinds of things: "stop", "start", "turn ... on"."""
        routes = self.routes
        return {
            at
            for at, word in enumerate(self.words)
            if len({routes.routes[number].domains for number in routes.by_word.get(word, ())}) > 1
        }

    def _has_bare_number(self, told: set[int]) -> bool:
        return any(self.tokens[at].value is not None and not self.tokens[at].unit for at in told)


class MeantReading(PhrasingReading):
    """A sentence, and which things are meant by the words that say nothing of what is to be done."""

    def _meant(self, route: Phrasing, rest: Sequence[int], told: set[int]) -> MeantThings:
        found = self.things.in_domains(route.domains)
        for at in rest:
            found = found & self._explained[at]
        if self.place_spans:
            found = {n for n in found if self._is_here(n)} or found
        if rest and not found:
            return MeantThings()
        if not rest and (referred := self._referred_to(route, told, found)) is not None:
            return referred
        says_volume = any(self.tokens[at].value is None and at not in self._vague for at in told)
        if route.intent == "HassSetVolume" and self._has_bare_number(told) and not says_volume:
            return MeantThings()  # "set the TV to 5" may be a channel
        words = {word for at, word in enumerate(self.words) if at not in told or at in self.kinds}
        keys = {key for word in words for key in self.things.keys(word)}
        names = {n: [len(name) for name in self.things.keys_of(n) if self._is_said(name, keys)] for n in found}
        whole = {n: max(lengths) for n, lengths in names.items() if lengths}
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
            everything=bool(self.everything - told if route.domains <= _DOCKING else self.everything),  # "home"
        )
        return self._chosen(route, fitting)

    def _referred_to(self, route: Phrasing, told: set[int], found: set[int]) -> MeantThings | None:
        """Return what is meant if nothing names it: what the sentence before was about; None if others may be meant."""
        if self.everything == self.both:
            if self._before and (self._says_it or self.both or found & self._before):
                is_over = route.domains <= RUNNERS and all(self._state(n) == STATE_OFF for n in self._before)
                is_all = found >= self._before and not is_over  # "stop" is then something else that goes on
                return MeantThings(tuple(sorted(self._before)), GROUPED) if is_all else MeantThings()
            if not route.alone or (self._says_it and not told - self._vague):
                return MeantThings()
        return None if route.alone or route.domains == LIGHTS else MeantThings()

    def _lacking(self, found: Collection[int], said: set[str]) -> MeantThings | None:
        """Return the things of which all was said but a side, a number or "front": of two such things, either may be meant."""
        things, sided = self.things, list[int]()
        for number in sorted(found):
            unsaid = [{w for w in name if things.keys(w).isdisjoint(said)} for name in things.things[number].names]
            if any(words and all(map(self._tells_apart, words)) for words in unsaid):
                sided.append(number)
        if len(sided) > 1:
            return (
                self._all(sided) if self.everything and len(sided) == len(found) else MeantThings(several=tuple(sided))
            )
        return MeantThings(tuple(sided), PART) if sided and things.may_be_any else None

    def _tells_apart(self, word: str) -> bool:
        return word.isdigit() or self.things.is_telling(word)

    def _is_part(self, thing: Thing, rest: Sequence[int], said: set[str]) -> bool:
        """Return whether what was said of a thing is enough to mean it: words of a place are said as a whole."""
        if any(areas and thing.entity.area_id in areas for areas in self.in_places.values()):
            return True
        area_words = {key for name in thing.area for word in name for key in self.things.keys(word)}
        for at in rest:
            word = self.words[at]
            if not self.things.keys(word).isdisjoint(area_words) and at not in self.kinds:
                return False
            is_own = any(word in name for name in thing.names)
            if not is_own and (at in self.in_places or self.tokens[at].value is not None):
                return False
        if all(at in self.kinds for at in rest):
            return True
        unsaid = {word for word in thing.names[0] if self.things.keys(word).isdisjoint(said)}
        return not any(map(self._tells_apart, unsaid))

    def _chosen(self, route: Phrasing, fitting: _Fitting) -> MeantThings:
        """Return those of the fitting things that are meant, or that it is not clear."""
        if fitting.only_place:
            # "turn the bedroom up", "the bedroom to 21": its light, its heating, its blinds?
            is_vague = (bool(route.change) or LIGHTS.isdisjoint(route.domains)) and not fitting.told - self._vague
            is_vague |= route.intent == _LIGHT_SET and self._has_bare_number(fitting.told)
            if fitting.everything or is_vague or route.intent in _SHARED_VALUE:
                return MeantThings()
            if route.intent in SWITCHING or route.intent == _LIGHT_SET:
                fitting = self._lit_in_a_place(fitting)
        if named := self._called_so(fitting):
            return MeantThings((named[0],), WHOLE) if len(named) == 1 else MeantThings(several=tuple(named))
        group, kinds = fitting.group, fitting.kinds
        if len(group) < 2:
            if group and kinds and not fitting.placed and (other := self._alike_here(group[0])):
                return MeantThings(several=(*group, *sorted(other)))
            return MeantThings(tuple(group), PART if fitting.rest else GROUPED)
        return self._all(group) if self._are_all_meant(route, fitting) else self._one_of(route, fitting)

    def _lit_in_a_place(self, fitting: _Fitting) -> _Fitting:
        """Return the lights of a place that is switched as a whole, "turn off the kitchen"; without lights, what is called so."""
        lights = [n for n in fitting.group if self._are_lights([n])]
        said, keys_of = {self.words[at] for at in fitting.rest}, self.things.keys_of
        group = lights or [n for n in fitting.group if any(said <= set[str]().union(*name) for name in keys_of(n))]
        # "the light in the kitchen" is not what is called kitchen light
        is_told_apart = bool(lights) and all(kind < at for kind in self.kinds for at in fitting.rest)
        return replace(fitting, group=group, whole={} if is_told_apart else fitting.whole)

    def _called_so(self, fitting: _Fitting) -> list[int]:
        """Return the things that have the longest of the names that were said, those where it was asked first; none for several."""
        if not fitting.whole or fitting.everything:
            return []
        is_group = fitting.plural and len(fitting.group) > 1
        longest = max(fitting.whole.values())
        named = [n for n, length in fitting.whole.items() if length == longest]
        named = [n for n in named if n in fitting.written or not is_group]
        named = [n for n in named if n in fitting.kindly] or named
        if len(named) < 2 or not self.area_id:
            return named
        return [n for n in named if self.things.things[n].entity.area_id == self.area_id] or named

    def _are_all_meant(self, route: Phrasing, fitting: _Fitting) -> bool:
        """Return whether all of some things are meant: several of a kind, the lights of a room, the doors to be locked."""
        placed, everything = fitting.placed, fitting.everything
        is_locking = route.intent == "HassTurnOn" and route.domains <= _GUARDING
        if fitting.kinds and (everything or (fitting.plural and (placed or is_locking))):
            return True
        is_room = placed and bool(fitting.kinds or fitting.only_place)
        return self._are_lights(fitting.group) and (is_room or (everything and not fitting.rest and bool(self.kinds)))

    def _are_lights(self, numbers: Iterable[int]) -> bool:
        return {self.things.things[n].entity.domain for n in numbers} == LIGHTS

    def _alike_here(self, number: int) -> set[int]:
        """Return what is meant as well as a thing of another room: "the curtains" are also the blinds of this one."""
        things, domain = self.things, self.things.things[number].entity.domain
        classes = DOMAINS.get(domain, UNKNOWN).alike
        alike = set[int]().union(*(things.by_sort.get((domain, class_), ()) for class_ in classes))
        here = alike & things.by_area.get(self.area_id or "", set())
        return here if number in alike and number not in here else set()

    def _one_of(self, route: Phrasing, fitting: _Fitting) -> MeantThings:
        """Return which of a kind is meant without saying: what is where it was asked, or what plays."""
        group, kinds = fitting.group, fitting.kinds
        if not fitting.placed and self.area_id:
            near = [n for n in group if self.things.things[n].entity.area_id == self.area_id]
            if len(near) == 1:
                return MeantThings(tuple(near), PART)
            if near and kinds and (fitting.plural or self._are_lights(group)):
                return self._all(near)
        wanted = "paused" if route.intent == "HassMediaUnpause" else "playing" if route.intent in _PLAYING else None
        active = [n for n in group if self._state(n) == wanted] if route.alone or kinds else []
        return MeantThings(tuple(active), PART) if len(active) == 1 else MeantThings(several=tuple(group))

    def _all(self, numbers: Sequence[int]) -> MeantThings:
        there = [n for n in numbers if self._state(n) != STATE_UNAVAILABLE]
        return MeantThings(tuple(sorted(there)), GROUPED) if 0 < len(there) <= MAX_TARGETS else MeantThings()


def _fits(name: str, token: Token) -> bool:
    assert token.value is not None
    match name:
        case "color_temperature":
            return token.unit in ("", "k") and token.value >= 1000
        case "temperature":
            return token.unit in ("", "°", CELSIUS) and token.value <= _HOTTEST
        case "brightness" | "position" | "fan_speed" | "volume" | "volume_step_up" | "volume_step_down":
            return token.unit in ("", "%") and token.value <= 100 and token.value.is_integer()
    return False
