"""Questions about the state of things, without a model: any, all, which, how many, is it, how warm.

Home Assistant's own sentences come first; these are those that it has no words for, or answers for a part of what was asked about.
As for commands, every word has to be explained. What a thing cannot tell ("is a door open" of one that only has a lock) is not
answered, unless another thing decides it. Nothing is ever done here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
import time

from homeassistant.const import STATE_OFF, STATE_ON, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.helpers import intent

from ..home.agreement import OPENINGS
from ..home.domains import IN_A_ROOM, domains_where
from ..support.text import words_of
from .frames import Frame, async_tell_states
from .intent_policy import against_reading
from .reading import Said, SentenceReading
from .sentences import NotMine, Result, Sentence
from .things import StateOf, Things

_ASKED_LAST = domains_where(lambda record: record.asked_last)
_NOT_ON = frozenset({STATE_OFF, "standby"})
_SURE = 0.95
_NO_STATE = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN})
_TOLD_BY: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("open", "closed"), OPENINGS), **dict.fromkeys(("locked", "unlocked"), frozenset({"lock"})),
    **dict.fromkeys(("on", "off"), frozenset({"running", "power", "light", "plug"})),
}  # fmt: skip
"""Classes of binary sensors that say whether something is so."""
_RESTING = frozenset({"off", "closed", "locked"})
"""States that several things are asked for together: "are the lights off" is all of them."""
_DETECTED = frozenset({
    "motion", "occupancy", "moving", "presence", "smoke", "gas", "carbon_monoxide", "moisture", "sound", "vibration", "tamper",
})  # fmt: skip
"""Classes of sensors that are on where there is what they are called by: "is there motion in the hallway"."""
_MEASURES = frozenset({"temperature", "humidity", "battery"})


class QuestionMode(StrEnum):
    """What a question asks; the values are the names of Home Assistant's answers."""

    ANY = "any"
    ALL = "all"
    WHICH = "which"
    HOW_MANY = "how_many"
    ONE = "one_yesno"
    VALUE = "one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that was understood, with what the home says."""

    mode: QuestionMode
    state: str  # what is asked for: `on`, `open`; empty for a value
    matched: tuple[str, ...]  # entity ids of what is so
    unmatched: tuple[str, ...]


def understand_question(
    text: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: Said | None = None
) -> Question | None:
    """Return what a sentence asks about the state of things, None where that is not certain; `before` is what "it" means."""
    targets = before.targets if before else ()
    return _Asking(text, things, state_of, area_id=area_id, before=targets).read()


class _Asking(SentenceReading):
    def read(self) -> Question | None:
        """Return what is asked."""
        if self._declined() not in ("", "question", "altered"):
            return None
        for kind, phrases in sorted(self.things.data.questions.begins.items(), key=lambda row: -max(map(len, row[1]))):
            if (length := self._begins(phrases)) and (found := self._asked(kind, set(range(length)))) is not None:
                return found
        return None

    def _begins(self, phrases: Sequence[str]) -> int:
        begins = [spots for spots in self._spots(phrases) if 0 in spots]
        return max(map(len, begins), default=0)

    def _asked(self, kind: str, used: set[int]) -> Question | None:
        words = self.things.data.questions
        states = [(name, spots) for name, said in words.states.items() for spots in self._spots(said)]
        states = [(name, spots) for name, spots in states if not self._is_preposition(spots)] or states
        if kind in _MEASURES or kind == "value":
            return None if states and kind == "value" else self._value(kind, used)
        if kind == "detects":
            return None if states else self._detected(used)
        if len({name for name, _ in states}) != 1:
            return None
        state = states[0][0]
        used = used.union(*(spots for _, spots in states))
        quantities = {name: self._spots(getattr(words, name)) for name in ("any", "all", "anything", "everything")}
        used = used.union(*(spots for found in quantities.values() for spots in found))
        self.kinds = {at: kinds for at, kinds in self.kinds.items() if at not in used}
        rest = [at for at in range(len(self.tokens)) if at not in used]
        rest = [at for at in rest if at in self.kinds or not (self._says_nothing(at) or self._is_beside(at))]
        return self._answered(kind, state, rest, {name for name, found in quantities.items() if found})

    def _spots(self, phrases: Sequence[str]) -> list[set[int]]:
        return [set(spots) for text in phrases for spots in self._stands(words_of(text))]

    def _is_preposition(self, spots: Collection[int]) -> bool:
        """Return whether a word for a state stands in front of a place: "on the terrace", "auf dem Balkon"."""
        at = min(spots)
        if len(spots) > 1 or self.words[at] not in self.routes.prepositions:
            return False
        after = at + 1
        while after < len(self.words) and self.words[after] in self.routes.harmless and after not in self.in_places:
            after += 1
        return at + 1 < len(self.words) and (after in self.in_places and after < len(self.words))

    def _is_beside(self, at: int) -> bool:
        """Return whether a word changes nothing about a question: "still", "right now"."""
        return any(at in spots for spots in self._spots(self.things.data.questions.beside))

    def _answered(self, kind: str, state: str, rest: Sequence[int], quantities: Collection[str]) -> Question | None:
        whole = {"anything", "everything"} & set(quantities)
        kinds = [at for at in rest if at in self.kinds]
        if kind in (QuestionMode.WHICH, QuestionMode.HOW_MANY) and kinds:
            begin = self._begins(self.things.data.questions.begins[kind])
            if not all(self._says_nothing(at) for at in range(begin, kinds[0])):
                return None  # "what is on TV"
        is_whole = bool(whole) or (kind == QuestionMode.WHICH and not kinds)
        asked = self._things(state, rest, is_whole=is_whole)
        if asked is None or not (asked[0] or asked[1]):
            return None
        found, unknown = asked
        named = not is_whole and (not kinds or any(at not in kinds and at not in self.in_places for at in rest))
        mode = self._mode(kind, state, quantities, alone=len(found) + len(unknown) == 1, named=named)
        if mode is None or (named and mode is not QuestionMode.ONE):
            return None
        so = tuple(item for item in found if self._is_so(item, state))
        others = tuple(item for item in found if item not in so)
        if unknown and not (mode is QuestionMode.ANY and so) and not (mode is QuestionMode.ALL and others):
            return None  # what does not tell might decide it
        if mode is QuestionMode.ONE and (so or others)[0].startswith("binary_sensor."):
            mode = QuestionMode.ANY
        return Question(mode=mode, state=state, matched=so, unmatched=others)

    def _mode(
        self, kind: str, state: str, quantities: Collection[str], *, alone: bool, named: bool
    ) -> QuestionMode | None:
        if kind in (QuestionMode.WHICH, QuestionMode.HOW_MANY):
            return QuestionMode(kind)
        if {"all", "everything"} & set(quantities):
            return QuestionMode.ALL
        if {"any", "anything"} & set(quantities):
            return QuestionMode.ANY
        if named or (alone and self._has_article()):
            return QuestionMode.ONE if alone else None
        if self._has_article():
            return QuestionMode.ALL if state in _RESTING or self._is_plural([*self.kinds]) else QuestionMode.ANY
        return QuestionMode.ALL if state in _RESTING and not self._is_plural([*self.kinds]) else QuestionMode.ANY

    def _has_article(self) -> bool:
        """Return whether an article stands in front of a kind: "the windows" are all of them."""
        definite = {words_of(word)[0] for word in self.things.data.questions.definite}
        return any(at and self.words[at - 1] in definite for at in self.kinds)

    def _things(self, state: str, rest: Sequence[int], *, is_whole: bool) -> tuple[list[str], list[str]] | None:
        """Return the things that are asked about, and those that do not tell; None if a word is not explained."""
        domains = domains_where(lambda record: state in record.told_as)
        domains |= {"binary_sensor"} if state in _TOLD_BY else set()
        untold = domains_where(lambda record: state in record.not_told_as)
        named = [at for at in rest if at not in self.in_places or at in self.kinds]
        if is_whole:
            numbers = set[int]() if named else self.things.in_domains(IN_A_ROOM & domains or domains)
        elif named:
            numbers = self.things.in_domains(domains | untold)
            for at in named:
                kinds = self.things.of_kinds(self.kinds[at]) if at in self.kinds else set[int]()
                numbers = numbers & (kinds | (self.things.called(self.words[at]) if kinds else self._explained[at]))
        else:
            numbers = self._before & self.things.in_domains(domains) if self._says_it and not rest else set()
        if self.place_spans:
            numbers = {number for number in numbers if self._is_here(number)}
        numbers = numbers - self.things.in_domains(_ASKED_LAST) or numbers
        if not numbers:
            return None
        found: list[int] = []
        unknown: list[int] = []
        for number in sorted(numbers):
            entity = self.things.things[number].entity
            current = self._state_of(entity.entity_id)
            class_ = current.attributes.get("device_class") if current else None
            if entity.domain in untold:
                if all(number in self.things.called(self.words[at]) for at in named):
                    unknown.append(number)
            elif entity.domain != "binary_sensor" or class_ in _TOLD_BY.get(state, ()):
                (unknown if current is None or current.state in _NO_STATE else found).append(number)
        areas = {number: self.things.things[number].entity.area_id for number in (*found, *unknown)}
        told = {areas[number] for number in found} - {None}
        # a door with a lock and a contact tells by the contact whether it is open
        unknown = [n for n in unknown if n in self.things.in_domains(domains) or areas[n] not in told]
        return self._entity_ids(found), self._entity_ids(unknown)

    def _entity_ids(self, numbers: Sequence[int]) -> list[str]:
        return [self.things.things[number].entity.entity_id for number in numbers]

    def _is_so(self, entity_id: str, state: str) -> bool:
        current = self._state_of(entity_id)
        assert current is not None  # those that do not tell were left out
        value, is_sensor = current.state, entity_id.startswith("binary_sensor.")
        if state in ("on", "off"):
            return (value in _NOT_ON) is (state == "off")
        if resting := {"open": "closed", "unlocked": "locked"}.get(state, state if state in _RESTING else ""):
            return (value == (STATE_OFF if is_sensor else resting)) is (state == resting)
        return value == state

    def _detected(self, used: set[int]) -> Question | None:
        """Return whether there is something that sensors are there for: motion in a room, smoke anywhere."""
        words = self.things.data.questions
        used = used.union(*self._spots((*words.any, *words.anything)))
        rest = [at for at in range(len(self.tokens)) if at not in used]
        rest = [at for at in rest if not (self._says_nothing(at) or self._is_beside(at)) or at in self.kinds]
        what = [at for at in rest if at in self.kinds and at not in self.in_places]
        sure = (kind for at in what for kind, weight in self.kinds[at].items() if weight >= _SURE)
        classes = _DETECTED.intersection(kind.partition(".")[2] for kind in sure)
        if len(classes) != 1 or any(at not in self.in_places and at not in what for at in rest):
            return None
        numbers = self.things.by_sort.get(("binary_sensor", next(iter(classes))), set())
        there = [n for n in sorted(numbers) if not self.place_spans or self._is_here(n)]
        states = {item: state for item in self._entity_ids(there) if (state := self._state_of(item)) is not None}
        so = tuple(item for item, state in states.items() if state.state == STATE_ON)
        if not states or (not so and any(state.state in _NO_STATE for state in states.values())):
            return None
        others = tuple(item for item in states if item not in so)
        return Question(mode=QuestionMode.ANY, state="on", matched=so, unmatched=others)

    def _value(self, kind: str, used: set[int]) -> Question | None:
        """Return the one sensor that is asked for: by all words of its name, or by what it measures and where it is.

        What it measures need not be said twice, and outside has several names: "wie warm ist es draußen" is the "Außentemperatur".
        """
        rest = [at for at in range(len(self.tokens)) if at not in used]
        rest = [at for at in rest if self._explained[at] or not (self._says_nothing(at) or self._is_beside(at))]
        rest = [at for at in rest if self.words[at] not in self.routes.harmless]
        numbers = self.things.in_domains(frozenset({"sensor"}))
        if kind in _MEASURES:
            measured = {number: self._state_of(self.things.things[number].entity.entity_id) for number in numbers}
            numbers = {n for n, state in measured.items() if state and state.attributes.get("device_class") == kind}
        if not rest:
            return None
        said = {key for at in rest for key in self.things.keys(self.words[at])}
        if kind in _MEASURES:
            said |= {key for noun in self.language.nouns_for(f".{kind}") for key in self.things.keys(noun)}
        others: dict[int, set[str]] = {}
        for at, length, names in self.language.rooms(self.words):
            others.setdefault(at, set()).update(names if length == 1 and at not in self.in_places else ())
        for at in rest:
            alike = {name for name in others.get(at, ()) if " " not in name}
            numbers = numbers & self._explained[at].union(*map(self.things.named, alike))
            said |= {key for name in alike for key in self.things.keys(name)}
        whole = {number for number in numbers if any(self._is_said(name, said) for name in self.things.keys_of(number))}
        if not whole and kind in _MEASURES and all(at in self.in_places for at in rest):
            whole = {number for number in numbers if self._is_here(number)}
        if len(whole) != 1:
            return None
        entity_id = self.things.things[whole.pop()].entity.entity_id
        current = self._state_of(entity_id)
        if current is None or current.state in _NO_STATE:
            return None
        return Question(mode=QuestionMode.VALUE, state="", matched=(entity_id,), unmatched=())


async def answer_question(sentence: Sentence) -> Result:
    """Answer a question about states that the user may know."""
    started, get = time.perf_counter(), sentence.hass.states.get
    asked = await sentence.means.brain.async_read(understand_question, sentence)
    if asked is None:
        return NotMine()
    response = intent.IntentResponse(language=sentence.turn.language)
    response.response_type = intent.IntentResponseType.QUERY_ANSWER
    matched, unmatched = ([*filter(None, map(get, items))] for items in (asked.matched, asked.unmatched))
    response.async_set_states(matched, unmatched)
    slots: dict[str, str] = {"state": asked.state} if asked.state else {}
    words = dict(slots)
    if asked.mode in (QuestionMode.ONE, QuestionMode.VALUE):
        one = (matched or unmatched)[0]
        slots["name"], words["name"] = one.entity_id, one.name
    frame = Frame(intent=intent.INTENT_GET_STATE, slots=slots, response_key=asked.mode.value, words=words)
    if against_reading(sentence, frame.recognised, response) is not None:
        return NotMine()
    return await async_tell_states(sentence, frame, response, (*asked.matched, *asked.unmatched), started)
