"""What one command wants done, to which things, word by word: nothing is guessed, and every word has to be explained.

What is no word of the home (a name, an area, a floor, a kind of things, a value) has to be a phrase that the language has for an
intent. A word that is neither, nor one that changes nothing, says something that is not understood here: "if", "tomorrow", "except",
the name of what does not exist. Then the sentence is left to others.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from homeassistant.const import STATE_OFF, STATE_UNAVAILABLE

from ..home.actions import GROUP
from ..home.domains import DOMAINS, IN_A_ROOM, LIGHTS, RUNNERS, UNKNOWN, domains_where
from ..languages.phrases import is_order
from ..languages.phrasings import Phrasing
from ..support.nearness import differs_by_one, is_slip
from ..support.text import CELSIUS, Token, Words, words_of
from .reading import Order, SentenceReading, Understood
from .things import StateOf, Thing, Things, sure_kinds

MAX_TARGETS = 60
HIGH = 0.75
"""From here on what was understood is done without a model."""
_UNSURE = 0.7  # of what might be wanted, where something about it is not certain
_WHOLE, _GROUP, _PART = 1.0, 0.97, 0.9
"""How surely the things are meant that have the name that was said, that are all of a kind, that have a part of the name."""
_HOTTEST = 120  # degrees of either scale that anything in a home is set to
_LIGHT_SET = "HassLightSet"
_SWITCHING = frozenset({"HassTurnOn", "HassTurnOff", "HassToggle"})
"""What is never meant without its kind or its name."""
_SIMILAR = frozenset(f"cover.{class_}" for class_ in DOMAINS["cover"].alike)
"""Kinds of covers of which one word is often said for another."""
_DOCKING = domains_where(lambda record: "docked" in record.back)
_GUARDING = domains_where(lambda record: record.keeps_out)
_SWITCHED = LIGHTS | domains_where(lambda record: record.in_a_room and not record.values)
_STARTED = domains_where(lambda record: "turn_on" in record.on) | {GROUP}
_SHARED_VALUE = frozenset({"HassSetPosition", "HassFanSetSpeed"})
"""What has a percentage, as the lights of a room have: "the bedroom at 50 percent" is none of them for certain."""
_PLAYING = frozenset({"HassMediaPause", "HassMediaNext", "HassMediaPrevious", "HassSetVolume", "HassSetVolumeRelative"})


@dataclass(frozen=True, slots=True)
class _Meant:
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


class _PhrasingReading(SentenceReading):
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


class _MeantReading(_PhrasingReading):
    """A sentence, and which things are meant by the words that say nothing of what is to be done."""

    def _meant(self, route: Phrasing, rest: Sequence[int], told: set[int]) -> _Meant:
        found = self.things.in_domains(route.domains)
        for at in rest:
            found = found & self._explained[at]
        if self.place_spans:
            found = {n for n in found if self._is_here(n)} or found
        if rest and not found:
            return _Meant()
        if not rest and (referred := self._referred_to(route, told, found)) is not None:
            return referred
        says_volume = any(self.tokens[at].value is None and at not in self._vague for at in told)
        if route.intent == "HassSetVolume" and self._has_bare_number(told) and not says_volume:
            return _Meant()  # "set the TV to 5" may be a channel
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

    def _referred_to(self, route: Phrasing, told: set[int], found: set[int]) -> _Meant | None:
        """Return what is meant if nothing names it: what the sentence before was about; None if others may be meant."""
        if self.everything == self.both:
            if self._before and (self._says_it or self.both or found & self._before):
                is_over = route.domains <= RUNNERS and all(self._state(n) == STATE_OFF for n in self._before)
                is_all = found >= self._before and not is_over  # "stop" is then something else that goes on
                return _Meant(tuple(sorted(self._before)), _GROUP) if is_all else _Meant()
            if not route.alone or (self._says_it and not told - self._vague):
                return _Meant()
        return None if route.alone or route.domains == LIGHTS else _Meant()

    def _lacking(self, found: Collection[int], said: set[str]) -> _Meant | None:
        """Return the things of which all was said but a side, a number or "front": of two such things, either may be meant."""
        things, sided = self.things, list[int]()
        for number in sorted(found):
            unsaid = [{w for w in name if things.keys(w).isdisjoint(said)} for name in things.things[number].names]
            if any(words and all(map(self._tells_apart, words)) for words in unsaid):
                sided.append(number)
        if len(sided) > 1:
            return self._all(sided) if self.everything and len(sided) == len(found) else _Meant(several=tuple(sided))
        return _Meant(tuple(sided), _PART) if sided and things.may_be_any else None

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

    def _chosen(self, route: Phrasing, fitting: _Fitting) -> _Meant:
        """Return those of the fitting things that are meant, or that it is not clear."""
        if fitting.only_place:
            # "turn the bedroom up", "the bedroom to 21": its light, its heating, its blinds?
            is_vague = (bool(route.change) or LIGHTS.isdisjoint(route.domains)) and not fitting.told - self._vague
            is_vague |= route.intent == _LIGHT_SET and self._has_bare_number(fitting.told)
            if fitting.everything or is_vague or route.intent in _SHARED_VALUE:
                return _Meant()
            if route.intent in _SWITCHING or route.intent == _LIGHT_SET:
                fitting = self._lit_in_a_place(fitting)
        if named := self._called_so(fitting):
            return _Meant((named[0],), _WHOLE) if len(named) == 1 else _Meant(several=tuple(named))
        group, kinds = fitting.group, fitting.kinds
        if len(group) < 2:
            if group and kinds and not fitting.placed and (other := self._alike_here(group[0])):
                return _Meant(several=(*group, *sorted(other)))
            return _Meant(tuple(group), _PART if fitting.rest else _GROUP)
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

    def _one_of(self, route: Phrasing, fitting: _Fitting) -> _Meant:
        """Return which of a kind is meant without saying: what is where it was asked, or what plays."""
        group, kinds = fitting.group, fitting.kinds
        if not fitting.placed and self.area_id:
            near = [n for n in group if self.things.things[n].entity.area_id == self.area_id]
            if len(near) == 1:
                return _Meant(tuple(near), _PART)
            if near and kinds and (fitting.plural or self._are_lights(group)):
                return self._all(near)
        wanted = "paused" if route.intent == "HassMediaUnpause" else "playing" if route.intent in _PLAYING else None
        active = [n for n in group if self._state(n) == wanted] if route.alone or kinds else []
        return _Meant(tuple(active), _PART) if len(active) == 1 else _Meant(several=tuple(group))

    def _all(self, numbers: Sequence[int]) -> _Meant:
        there = [n for n in numbers if self._state(n) != STATE_UNAVAILABLE]
        return _Meant(tuple(sorted(there)), _GROUP) if 0 < len(there) <= MAX_TARGETS else _Meant()


class Commanding(_MeantReading):
    """One command, read against the home."""

    def understand(self) -> Understood:
        """Return what is wanted, where all of it is certain."""
        if reason := self._declined():
            return Understood(reason=reason)
        best: dict[tuple[Any, ...], Order] = {}
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
                elif (order := self._order(route, slots, found, told)) is not None:
                    if order.effect not in best or len(best[order.effect].said) < len(order.said):
                        best[order.effect] = order
                        rests[order.effect] = rest, told
        intents = tuple(sorted(likely, key=lambda name: -likely[name]))
        if best:
            decided = self._decided(best.values(), intents)
            for order in decided.orders:
                rest, told = rests[order.effect]
                if rivals := self._rivals(best[order.effect], rest, domains[frozenset(told)]):
                    names = tuple(sorted({*order.targets, *self._names(rivals)}))
                    return Understood(reason="several", candidates=names, intents=intents, score=order.score * _UNSURE)
            return decided
        score = max(likely.values(), default=0.0) * _UNSURE
        if several:
            return Understood(reason="several", candidates=self._names(max(several)[1]), intents=intents, score=score)
        reason, words = ("words", max(missing)[1]) if missing else ("action", "")
        return Understood(reason=reason, words=words, intents=intents, score=score, is_near=self._is_near())

    def among(self, order: Order) -> tuple[str, ...]:
        """Return which things of an order for many are named, as entity ids; empty where that is not certain."""
        rest = [at for at in range(len(self.tokens)) if not self._says_nothing(at)]
        meant = {n for n, thing in enumerate(self.things.things) if thing.entity.entity_id in order.targets}
        if all(at in self.in_places for at in rest) and not self.kinds:
            return self._names({n for n in meant if self._is_here(n)})
        domains = frozenset(self.things.things[n].entity.domain for n in meant)
        found = self._meant(Phrasing(intent=order.intent, domains=domains, needed=(), beside=frozenset()), rest, set())
        named = meant.intersection(found.targets)
        if named:
            one = replace(order, targets=self._names(named), score=found.score)
            if found.score * self.sureness < HIGH or meant & self._rivals(one, rest, domains):
                return ()
        elif several := meant.intersection(found.several):
            on = {n for n in several if self._state(n) != STATE_OFF} if order.intent == "HassTurnOff" else several
            named = several if self._is_plural([*self.kinds]) or 1 in (len(several), len(on)) else set[int]()
        return self._names(named)

    def of_many(self, entity_ids: Collection[str]) -> set[str]:
        """Return which things stand for many that are not known: "All lamps", the group of a bridge."""
        found: set[str] = set()
        for thing in (thing for thing in self.things.things if thing.entity.entity_id in entity_ids):
            state = self._state_of(thing.entity.entity_id)
            marks = state.attributes.items() if state else ()
            is_marked = any(mark.endswith("_group") and value is True for mark, value in marks)
            if is_marked or any(word in self.language.everything for name in thing.names for word in name):
                found.add(thing.entity.entity_id)
        return found

    def everything_off(self, *, also_off: bool = False) -> Understood | None:
        """Return the order to turn off the lights, switches, fans and players of some rooms, `also_off`: those that are off too."""
        data, spoken = self.things.data, self.words
        if not data.questions.begins or not self.place_spans or self._declined():
            return None
        joins = {word for text in data.follow_ups.joins for word in words_of(text)}
        offs = {word for text in data.questions.states.get("off", ()) for word in words_of(text)[:1]}
        known = {at for at, word in enumerate(spoken) if word in joins} | self.everything | self.in_places.keys()
        known = known.union(*(spots for one in data.questions.everything for spots in self._stands(words_of(one))))
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
                verbs = [spoken[at] for at in told - known]
                is_off = route.domains >= IN_A_ROOM or any(verb.startswith(word) for verb in verbs for word in offs)
                rest = {word for at, word in enumerate(spoken) if at not in told | known} - self.routes.harmless
                if is_off and not rest and (order := self._order(route, {}, meant, told)) is not None:
                    return Understood(orders=(order,), intents=(order.intent,), score=order.score, is_so=not on)
        return None

    def _rivals(self, order: Order, rest: Sequence[int], domains: Collection[str]) -> set[int]:
        """Return what else may be called by the part of a name that was said, of all that the same can be done to.

        What is called all that was said is meant before what is called only some of it: a switch named "Garden lights" before
        a light named "Garden". A compound is also what its halves are: "Flurlicht" may be a "Flurbeleuchtung", and any light in the "Flur".
        """
        things = self.things
        if len(order.targets) > 1:
            return set()
        more = _STARTED if order.intent in _SWITCHING and not _SWITCHED.isdisjoint(domains) else frozenset[str]()
        found = things.in_domains(more.union(domains))
        if order.score == _WHOLE and more:
            for at in {*rest, *self.kinds}:
                found = found & things.named(self.words[at])
            return set() if any(things.things[n].entity.entity_id in order.targets for n in found) else found
        if order.score != _PART:
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
        meant = set(order.targets)
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

    def _decided(self, orders: Iterable[Order], intents: tuple[str, ...]) -> Understood:
        """Return the order that more words tell than any other; nothing where two are told alike."""
        ranked = sorted(orders, key=lambda order: (-len(order.said), -order.score))
        first = ranked[0]
        if any(order.intent == "HassTurnOff" and len(order.said) == len(first.said) for order in ranked):
            # "spegni la TV": it is only mute where the sound is named
            ranked = [order for order in ranked if order.intent != "HassMediaPlayerMute"]
            first = ranked[0]
        if any(len(other.said) == len(first.said) and other.score >= first.score for other in ranked[1:]):
            names = tuple(dict.fromkeys(order.intent for order in ranked))
            return Understood(reason="two_ways", intents=names, score=first.score * _UNSURE)
        score = first.score * self.sureness
        if score < HIGH:
            return Understood(reason="unsure", intents=intents, score=score)
        return Understood(orders=(replace(first, score=score),), intents=intents, score=score)

    def _order(self, route: Phrasing, slots: dict[str, Any], found: _Meant, told: set[int]) -> Order | None:
        """Return a phrasing as an order for some things; "warmer" turns heating on that is off."""
        if self.both and len(found.targets) != 2:
            return None
        said = tuple(f"{self.tokens[at].word}{self.tokens[at].unit}" for at in sorted(told))
        order = Order(
            intent=route.intent,
            slots=slots,
            targets=self._names(found.targets),
            response=route.response,
            score=found.score,
            change=route.change,
            said=said,
        )
        states = {self._state(n) for n in found.targets}
        if route.intent != "HassClimateSetTemperature" or not route.change or STATE_OFF not in states:
            return order
        if len(states) > 1 or min(route.change.values()) < 0:
            return None
        return replace(order, intent="HassTurnOn", slots={}, response="default", change={})


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
