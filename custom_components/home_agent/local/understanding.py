"""What one command wants done, to which things, word by word: nothing is guessed, and every word has to be explained.

What is no word of the home (a name, an area, a floor, a kind of things, a value) has to be a phrase that the language has for an
intent. A word that is neither, nor one that changes nothing, says something that is not understood here: "if", "tomorrow", "except",
the name of what does not exist. Then the sentence is left to others.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from homeassistant.const import STATE_OFF

from ..home.actions import GROUP
from ..home.domains import IN_A_ROOM, LIGHTS, domains_where
from ..languages.phrases import is_order
from ..languages.phrasings import Phrasing
from ..support.nearness import differs_by_one, is_slip
from ..support.text import words_of
from .meant import PART, SWITCHING, WHOLE, MeantReading, MeantThings
from .reading import Order, Understood

HIGH = 0.75
"""From here on what was understood is done without a model."""
_UNSURE = 0.7  # of what might be wanted, where something about it is not certain
_SWITCHED = LIGHTS | domains_where(lambda record: record.in_a_room and not record.values)
_STARTED = domains_where(lambda record: "turn_on" in record.on) | {GROUP}
_SILENCING = frozenset({"HassMediaPlayerMute", "HassMediaPause"})
"""Intents that are also said of players themselves: "coupe la radio"."""


class Commanding(MeantReading):
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
        more = _STARTED if order.intent in SWITCHING and not _SWITCHED.isdisjoint(domains) else frozenset[str]()
        found = things.in_domains(more.union(domains))
        if order.score == WHOLE and more:
            for at in {*rest, *self.kinds}:
                found = found & things.named(self.words[at])
            return set() if any(things.things[n].entity.entity_id in order.targets for n in found) else found
        if order.score != PART:
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
        if any(order.intent == "HassTurnOff" and self._says_as_much(order, first) for order in ranked):
            # "spegni la TV", "coupe la radio": it is only mute, or paused, where the sound is named
            ranked = [order for order in ranked if order.intent not in _SILENCING]
            first = ranked[0]
        if any(len(other.said) == len(first.said) and other.score >= first.score for other in ranked[1:]):
            names = tuple(dict.fromkeys(order.intent for order in ranked))
            return Understood(reason="two_ways", intents=names, score=first.score * _UNSURE)
        score = first.score * self.sureness
        if score < HIGH:
            return Understood(reason="unsure", intents=intents, score=score)
        return Understood(orders=(replace(first, score=score),), intents=intents, score=score)

    def _says_as_much(self, order: Order, other: Order) -> bool:
        """Return whether an order is told by as many words as another that is about players, but for those that only name its things."""
        named = {n for n, thing in enumerate(self.things.things) if thing.entity.entity_id in order.targets}
        names = {word for n in named for name in self.things.things[n].names for word in name}
        return len(order.said) == len(other.said) or (
            other.intent in _SILENCING and set(other.said) - set(order.said) <= names
        )

    def _order(self, route: Phrasing, slots: dict[str, Any], found: MeantThings, told: set[int]) -> Order | None:
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
