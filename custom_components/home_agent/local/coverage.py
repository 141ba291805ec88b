"""Whether an action, or an answer, covers what was said: every kind of thing and every place that the sentence names.

Home Assistant's recognisers take what fits: "turn off everything in the kitchen" is a media player of that name to them, and a
window is only what has the class of one. What they made of a sentence is compared with the sentence by what the home and the
vocabulary of the language know; nothing here reads a grammar.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
import re
from typing import Any

from homeassistant.components.todo.const import ATTR_ITEM
from homeassistant.const import SERVICE_TURN_OFF, SERVICE_TURN_ON, STATE_OFF, STATE_ON, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from ..home.domains import IN_A_ROOM, LIGHTS, READ_ONLY, domains_where
from ..home.domains.script import required_fields
from ..home.exposure import may_know
from ..home.names import folded_words, stems_of
from ..home.snapshot import HomeEntity, HomeSnapshot
from ..home.taught_names import AREA
from ..languages.data import data_of
from ..languages.enumerations import is_denied, items_in
from ..languages.phrases import is_order
from ..languages.vocabulary import Kinds, Language
from ..policy.intents import Recognised
from ..support.text import Words, fold, runs, spoken_words, words_of
from ..turn.turn import Turn

_SURE = 0.95
_NAMED = 0.75  # of a word in a name, which may be of another language
_SWITCHING = {intent.INTENT_TURN_ON: (SERVICE_TURN_ON, STATE_ON), intent.INTENT_TURN_OFF: (SERVICE_TURN_OFF, STATE_OFF)}
_OPENING = domains_where(lambda record: "open" in record.told_as)
"""A question about one of these ("what is open?") is also about the others."""
_NEVER_NAMED = READ_ONLY | domains_where(lambda record: record.is_verb)
_WHERE = frozenset({"name", "area", "floor", "domain", "device_class", "state", "preferred_area_id"})
"""Slots about things; words of the others (a title, an item, a message) may name anything."""
_NOWHERE = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN})
_WORD = re.compile(r"\w+")
_LEVELS = ("upstairs", "downstairs")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a sentence names and what was understood of it does not touch."""

    names: tuple[str, ...] = ()  # of entities; empty where only the words are known
    words: str = ""
    fields: tuple[str, ...] = ()
    """What a script that is named does not start without, as its owner calls it; what has a default is not among them."""
    recognised: Recognised | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """An area or a floor, as it stands in the sentence."""

    name: Words
    areas: frozenset[str]


def needed_of(hass: HomeAssistant, entity_id: str) -> tuple[str, ...]:
    """Return what the fields are called without which a script does not start, and which have no default."""
    required = required_fields(hass, entity_id)
    return tuple(str(row.get("name") or key) for key, row in required.items() if "default" not in row)


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Compares what was understood of one sentence with the sentence."""

    hass: HomeAssistant
    turn: Turn
    home: HomeSnapshot
    language: Language
    spared: frozenset[str] = frozenset()  # entity ids of what the sentence names to be left as it is

    def of_action(self, intents: Sequence[Recognised], touched: Collection[str]) -> LeftOut | None:
        """Return what is left out by intents that touch these entities together; None: nothing."""
        if not self._known(touched):
            return None
        found = self._known((*touched, *self.spared))
        slots = [each.slots for each in intents]
        if (needs := self.of_fields(intents, touched)) is not None:
            return needs
        if swallowed := self._command_in(slots):
            return LeftOut(words=swallowed)
        said = self._said_without(slots)
        places = self._places(said, slots)
        is_named = any(each.get("name") not in (None, "all") for each in slots)
        return (
            self._place_left_out(said, places, found, intents)
            or self._kind_left_out(said, places, found)
            or self._everything_left_out(said, places, found, intents)
            or (None if is_named else self._same_left_out(said, places, found, {entity.domain for entity in found}))
        )

    def of_fields(self, intents: Sequence[Recognised], touched: Collection[str]) -> LeftOut | None:
        """Return the first script that intents start and that requires fields, with those that have no default; an intent has no values."""
        if all(each.name == intent.INTENT_TURN_OFF for each in intents):
            return None
        for entity in self._known(touched):
            if entity.domain == "script" and required_fields(self.hass, entity.entity_id):
                return LeftOut(names=(entity.names[0],), fields=needed_of(self.hass, entity.entity_id))
        return None

    def of_answer(self, slots: Mapping[str, Any], read: Collection[str]) -> LeftOut | None:
        """Return what is left out by an answer about the state of these entities; None: nothing, or it was about one by name."""
        if "name" in slots:
            return None
        found = self._known(read)
        wanted = slots.get("domain") or [entity.domain for entity in found]
        domains = {wanted} if isinstance(wanted, str) else set(wanted)
        if domains <= _OPENING:
            domains = set(_OPENING)
        said = self._said_without([slots])
        return self._same_left_out(said, self._places(said, [slots]), found, domains)

    def of_kind(self) -> tuple[str, ...]:
        """Return the names of all things of the one kind that is named; none where words are left that may be about more."""
        said = _folded(self.turn.text)
        kinds = self._kinds(said, ())
        if len(kinds) > 1 and kinds[0][0] == said[0] and self.language.has_everything(said):
            del kinds[0]  # "lock all the doors": what one does
        if len(kinds) != 1:
            return ()
        places, language, (named, surest) = self._places(said, []), self.language, (kinds[0][0], _surest(kinds[0][1]))
        known = language.fillers | language.common | language.everything | {*named.split()}
        if not known.union(*(place.name for place in places)).issuperset(said[1:]):
            return ()
        things = list(_within(self._untouched(()), places))
        found = [entity for entity in things if self._is_of(entity, surest)]
        if not found:
            things = [entity for entity in things if entity.domain not in _NEVER_NAMED]
            found = [entity for entity in things if self._is_called(entity, surest)]
        return self._left_out(found, "").names

    def nearly_named(self, *, exactly: bool) -> tuple[str, ...]:
        """Return the names of which all words, or words like them, are said; `exactly`: those that stand there so, else others."""
        words = [fold(word) for word in spoken_words(self.turn.text)]
        near, whole = self.home.names.nearly_said(words), f" {' '.join(words)} "
        found = self._known(one for one, called in near if (f" {' '.join(called)} " in whole) is exactly)
        return self._left_out(found, "").names

    def _known(self, entity_ids: Iterable[str]) -> list[HomeEntity]:
        known = (item for item in dict.fromkeys(entity_ids) if item in self.home.entities)
        return [self.home.entities[item] for item in known if may_know(self.hass, self.turn.user, item)]

    def _command_in(self, slots: Iterable[Mapping[str, Any]]) -> str:
        """Return a free text that is more than one: "close the garage and put bread" is no item, nor is "eggs, butter and bread"."""
        text, language = self.turn.text.casefold(), self.turn.language
        names = [name for entity in self.home.entities.values() if entity.domain == "todo" for name in entity.names]
        for each in slots:
            for slot, value in each.items():
                if slot in _WHERE or not isinstance(value, str):
                    continue
                if slot == ATTR_ITEM:
                    if is_denied(text, language, names):
                        return value
                    listed = as_said(value, text)
                    if "," in listed or items_in(listed, language):
                        return listed
                if not is_order(value, language):
                    continue
                before, found, _ = text.partition(value.casefold())
                if found and not is_order(before, language):
                    return value
        return ""

    def _said_without(self, slots: Iterable[Mapping[str, Any]]) -> list[str]:
        values = [value for each in slots for slot, value in each.items() if slot not in _WHERE]
        free = {word for text in values if isinstance(text, str) for word in _folded(text)}
        return [word for word in _folded(self.turn.text) if word not in free]

    def _place_left_out(
        self, said: Sequence[str], places: Sequence[_Place], found: Sequence[HomeEntity], intents: Sequence[Recognised]
    ) -> LeftOut | None:
        """Return what is in a place that was said, if nothing there is touched, or only what is called like it."""
        kinds = [kinds for _, kinds in self._kinds(said, found)]
        for place in places:
            if any(self._is_in(entity, place, kinds, found, intents) for entity in found):
                continue
            others = [entity for entity in self._untouched(found) if entity.area_id in place.areas]
            if kinds:
                others = [entity for entity in others if any(self._is_of(entity, kind) for kind in kinds)]
            elif any(entity.domain in LIGHTS for entity in others):
                others = [entity for entity in others if entity.domain in LIGHTS]
            return self._left_out(others, " ".join(place.name))
        return None

    def _is_in(
        self,
        entity: HomeEntity,
        place: _Place,
        kinds: Sequence[Kinds],
        found: Sequence[HomeEntity],
        intents: Sequence[Recognised],
    ) -> bool:
        """Return whether an entity is what was said of a place: it is there, or has it in its name.

        A thing with just the name of the place is not the place: "turn off the kitchen" means its lights.
        """
        names = [_folded(name) for name in entity.names]
        if not any(name == list(place.name) for name in names):
            return entity.area_id in place.areas or any(set(place.name) <= set(name) for name in names)
        if kinds:
            return any(self._is_of(entity, kind) for kind in kinds)
        if entity.domain in LIGHTS or not any(each.name in _SWITCHING for each in intents):
            return True
        return not any(other.domain in LIGHTS and other.area_id in place.areas for other in self._untouched(found))

    def _kind_left_out(
        self, said: Sequence[str], places: Sequence[_Place], found: Sequence[HomeEntity]
    ) -> LeftOut | None:
        """Return what is of a kind that was said, where nothing of that kind is touched."""
        for word, kinds in self._kinds(said, found):
            if any(self._is_of(entity, kinds, roughly=True) for entity in found):
                continue
            others = [one for one in self._untouched(found) if self._is_of(one, _surest(kinds))]
            others = [one for one in others if one.domain not in _NEVER_NAMED]
            if others:  # else it is the word for a setting, or of what is not there
                return self._left_out(list(_within(others, places)) or others, word)
        return None

    def _everything_left_out(
        self, said: Sequence[str], places: Sequence[_Place], found: Sequence[HomeEntity], intents: Sequence[Recognised]
    ) -> LeftOut | None:
        """Return what else there is, where everything was said and no kind."""
        own = self._own_words(found)
        if not self.language.has_everything([word for word in said if word not in own]) or self._kinds(said, ()):
            return None
        for each in intents:
            service, reached = _SWITCHING.get(each.name, ("", ""))
            others = [one for one in _within(self._untouched(found), places) if one.domain in IN_A_ROOM]
            others = [one for one in others if self.hass.services.has_service(one.domain, service)]
            others = [one for one in others if self._state(one) not in (reached, *_NOWHERE)]
            if others:
                return self._left_out(others, "")
        return None

    def _same_left_out(
        self, said: Sequence[str], places: Sequence[_Place], found: Sequence[HomeEntity], domains: Collection[str]
    ) -> LeftOut | None:
        """Return what is called by the kind that was said, but not of its class."""
        if not places and self.turn.area_id and found and all(item.area_id == self.turn.area_id for item in found):
            places = [_Place((), frozenset({self.turn.area_id}))]  # meant is what is around who speaks
        for word, known in self._kinds(said, ()):
            kinds = _surest(known)
            others = [one for one in _within(self._untouched(found), places) if one.domain in domains]
            others = [one for one in others if self._is_of(one, kinds, exactly=True) or self._is_called(one, kinds)]
            if others := [one for one in others if self._state(one) not in _NOWHERE]:
                return self._left_out(others, word)
        return None

    def _kinds(self, said: Sequence[str], found: Sequence[HomeEntity]) -> list[tuple[str, Kinds]]:
        """Return the words that name a kind, with the kinds, but for those in a name of what is touched."""
        own = self._own_words(found)
        named: list[tuple[str, Kinds]] = []
        taken: set[int] = set()
        for start, length, kinds in sorted(self.language.phrases([*said]), key=lambda phrase: -phrase[1]):
            words, spots = said[start : start + length], set(range(start, start + length))
            if " ".join(words) in self.language.nouns and not spots & taken and not own.issuperset(words):
                named.append((" ".join(words), kinds))
                taken |= spots
        for place, word in enumerate(said):
            if place not in taken and word not in own and self.language.is_noun(word):
                named.append((word, self.language.kinds_of(word)))
        return named

    def _own_words(self, found: Sequence[HomeEntity]) -> frozenset[str]:
        return frozenset(word for entity in found for name in entity.names for word in _folded(name))

    def _places(self, said: Sequence[str], slots: Iterable[Mapping[str, Any]]) -> list[_Place]:
        """Return the areas and floors that stand in the sentence, the longest where names overlap, and those of the slots."""
        values = {str(each[slot]) for each in slots for slot in ("area", "floor") if each.get(slot)}
        areas: dict[tuple[int, Words], frozenset[str]] = {}
        words = [fold(word) for word in spoken_words(" ".join(said))]
        for start, name, subject in self.home.names.standing_in(words, lambda word, _: (word,)):
            areas[start, name] = areas.get((start, name), frozenset()) | self.home.areas_of(subject)
        for level, there in self._levels.items():
            starts = [at for at in range(len(words)) if tuple(words[at : at + len(level)]) == level]
            areas |= {(at, level): areas.get((at, level), frozenset()) | there for at in starts}
        named = {name for _, name in areas}
        for value in values:  # of slots: an id, or a name
            subjects = [f"{AREA}{value}"] if value in self.home.areas else self.home.names.called(value)
            there = frozenset[str]().union(*map(self.home.areas_of, subjects))
            name = folded_words(self.home.areas[value].names[0] if value in self.home.areas else value)
            if there and name not in named:
                areas[-1, name] = areas.get((-1, name), frozenset()) | there
        taken: set[int] = set()
        kept: list[_Place] = []
        for (start, name), there in sorted(areas.items(), key=lambda item: -len(item[0][1])):
            spots = set(range(start, start + len(name))) if start >= 0 else set()
            if there and not spots & taken and not any(start < 0 and there == other.areas for other in kept):
                kept.append(_Place(name, there))
                taken |= spots
        return kept

    @cached_property
    def _levels(self) -> Mapping[Words, frozenset[str]]:
        """The words for where floors are, with the ids of the areas, unless a word of them says which thing."""
        levels = levels_of(self.home, self.language.code)
        return {
            words: areas
            for words, areas in levels.items()
            if not any(True for word in words for stem in stems_of(word) for _ in self.home.with_stem(stem))
        }

    def _untouched(self, found: Sequence[HomeEntity]) -> Iterator[HomeEntity]:
        touched = {entity.entity_id for entity in found}
        others = (entity for entity in self.home.entities.values() if entity.entity_id not in touched)
        return (entity for entity in others if may_know(self.hass, self.turn.user, entity.entity_id))

    def _is_of(self, entity: HomeEntity, kinds: Kinds, *, exactly: bool = False, roughly: bool = False) -> bool:
        """Return whether an entity is of one of these kinds; roughly: of another class of its domain."""
        state = self.hass.states.get(entity.entity_id)
        class_ = state.attributes.get("device_class") if state else None
        for kind in kinds:
            domain, _, wanted = kind.partition(".")
            if wanted and wanted == class_ and domain in ("", entity.domain):
                return True
            if domain == entity.domain and ((not wanted and not exactly) or roughly):
                return True
        return False

    def _is_called(self, entity: HomeEntity, kinds: Kinds) -> bool:
        named = [self.language.kinds_of(word) for name in entity.names for word in _folded(name)]
        return any(each.get(kind, 0.0) >= _NAMED for each in named for kind in kinds)

    def _state(self, entity: HomeEntity) -> str:
        state = self.hass.states.get(entity.entity_id)
        return state.state if state else STATE_UNAVAILABLE

    def _left_out(self, others: Iterable[HomeEntity], words: str) -> LeftOut:
        names = [state.name for entity in others if (state := self.hass.states.get(entity.entity_id))]
        return LeftOut(names=tuple(sorted(dict.fromkeys(names))), words=words)


def as_said(value: str, text: str) -> str:
    """Return the words of a value as they stand in a text, with what is between them; empty where they do not."""
    wanted, lowered = " ".join(_WORD.findall(value.lower())), text.lower()
    said = [*_WORD.finditer(lowered)]
    joined = " ".join(word[0] for word in said)
    if not wanted or len(lowered) != len(text) or (start := joined.find(wanted)) < 0:
        return ""
    end = start + len(wanted)
    first, last = (said[joined.count(" ", 0, place)] for place in (start, end))
    return text[
        first.start() + start - joined.rfind(" ", 0, start) - 1 : last.start() + end - joined.rfind(" ", 0, end) - 1
    ]


def _surest(kinds: Kinds) -> Kinds:
    """Return the kinds that a word surely stands for: people lock windows, but a window is no lock."""
    return {kind: weight for kind, weight in kinds.items() if weight >= _SURE}


def _within(entities: Iterable[HomeEntity], places: Sequence[_Place]) -> Iterator[HomeEntity]:
    areas = frozenset[str]().union(*(place.areas for place in places))
    return (entity for entity in entities if not places or entity.area_id in areas)


def _folded(text: str) -> list[str]:
    return [fold(run) for run in runs(text)]


def levels_of(home: HomeSnapshot, code: str) -> Mapping[Words, frozenset[str]]:
    """Return in a home of two floors that are called so the other words for "upstairs" and "downstairs", with the ids of the areas."""
    rows = [level_names(code, (key,)) for key in _LEVELS]
    floors: dict[Words, set[str]] = {}
    names: set[Words] = set()
    for area in home.areas.values():
        names |= {words_of(name) for name in (*area.names, *area.floor_names)}
        for name in area.floor_names:
            floors.setdefault(words_of(name), set()).add(area.area_id)
    if not floors.keys() <= set[Words]().union(*rows):
        return {}
    found: dict[Words, frozenset[str]] = {}
    for row in rows:
        if areas := frozenset(area for words in row for area in floors.get(words, ())):
            found |= dict.fromkeys(row.keys() - names, areas)
    return found


@lru_cache
def level_names(code: str, keys: Sequence[str] = _LEVELS) -> Mapping[Words, str]:
    """Return the words of the names of floors in a language, to how they are written."""
    rooms = data_of(code).rooms
    return {words_of(name): name for key in keys for name in rooms.get(key, ())}
