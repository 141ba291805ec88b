"""Which one of several things is meant: asked where nothing else can tell, and understood when it is answered.

A command that fits two to five things is kept with them for as long as a sentence may go on from it. Then a part of the name, the room, a
number, "both" or "none" is understood as if the command had said it, under the same policy. Any other words are a sentence of their own.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
import time

from homeassistant.helpers import intent

from ..home.snapshot import HomeSnapshot
from ..languages.data import ENGLISH, ChoiceWords, data_of
from ..languages.enumerations import parts_of
from ..languages.phrases import ReplyKind, is_asking, read_answer
from ..policy.confirmation import NobodyConfirms
from ..policy.intents import nothing_there, plan_of
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import MAX_TEXT, words_of
from ..turn.plan import Plan
from .frames import async_do, frames_of
from .reading import Order, SentenceReading, Understood
from .refusals import async_explain_mismatch
from .sentences import Ask, Done, Note, NotMine, Result, Sentence, spoken
from .things import TELLING, Things

FEWEST, MOST = 2, 5
"""Things that are asked about: with more, it is shorter to say it again."""
_ENDING = 2  # letters by which an adjective is longer in another form
_SHORTEST = 4  # letters of a word whose longer forms are known
_MAX_WORDS = 12


@dataclass(frozen=True, slots=True)
class Picked:
    """What an answer to the question comes to."""

    entity_ids: tuple[str, ...]  # in the order in which they were asked about; none of them: empty
    is_certain: bool = True  # false: any one of them may be meant, and none of the others


async def async_ask_which(sentence: Sentence, candidates: Sequence[str]) -> Ask | NotMine:
    """Ask which of some things is meant, if the language has words for an answer and at least two can do it and are the user's."""
    turn, words = sentence.turn, data_of(sentence.language.code).choices
    if not FEWEST <= len(candidates) <= MOST or not turn.direct or not words.ordinals:
        return NotMine()
    orders = await sentence.means.brain.async_wishes(turn, sentence.home, sentence.language, candidates)
    meant = [item for item in candidates if item in orders and _may_be_done(sentence, orders[item])]
    names = _names(sentence, meant)
    if not FEWEST <= len(meant) == len(set(names)):
        return NotMine()
    question = await async_text(
        sentence.hass, turn.language, "local_which_one", target=", ".join(names[:-1]), other=names[-1]
    )
    understanding = replace(sentence.understanding, declined="several", candidates=tuple(meant), asked=True)
    return Ask(question=question, note=Note(understanding=understanding))


async def answer_choice(sentence: Sentence) -> Result:
    """Do the command that was asked about with what is said to be meant; left to others if this is a sentence of its own."""
    said, home, brain = sentence.before, sentence.home, sentence.means.brain
    assert said is not None  # else it is not asked
    candidates = [item for item in said.candidates if item in home.entities]
    known = HomeSnapshot({item: home.entities[item] for item in candidates}, home.areas)
    picked = read_choice(sentence.turn.text, brain.things_of(known, sentence.language), done=said.targets)
    if picked is None:
        return NotMine()
    command = sentence.saying(said.text)
    if not picked.entity_ids:
        return Done(said=spoken(command.turn, await async_text(sentence.hass, command.turn.language, "never_mind")))
    if not picked.is_certain:
        asked = await async_ask_which(command, picked.entity_ids)
        return replace(asked, note=replace(asked.note, text=said.text)) if isinstance(asked, Ask) else asked
    started = time.perf_counter()
    found = await brain.async_wishes(command.turn, home, sentence.language, candidates)
    orders = tuple(found[item] for item in picked.entity_ids if item in found)
    if len(orders) < len(picked.entity_ids):
        return NotMine()
    intents = tuple(order.intent for order in orders)
    understood = Understood(orders=orders, intents=intents, score=1.0, text=said.text)
    result = await async_do(command, understood, started)
    if isinstance(result, NotMine) or result.note is None:
        return NotMine()
    understanding = replace(result.note.understanding, candidates=said.candidates, asked=True)
    return replace(result, note=replace(result.note, understanding=understanding))


async def answer_mismatch(sentence: Sentence) -> Result:
    """Ask which one is meant, else say why nothing in the home fits what was recognised."""
    mismatch = sentence.mismatch
    if mismatch is None:
        recognised = sentence.recognised
        if not sentence.is_hidden or recognised is None or "name" in recognised.slots:
            return NotMine()
        mismatch = nothing_there(sentence.hass, recognised)
    elif isinstance(asked := await async_ask_which(sentence, sentence.candidates), Ask):
        return asked
    return Done(said=await async_explain_mismatch(sentence, mismatch))


def read_choice(text: str, things: Things, *, done: Collection[str] = ()) -> Picked | None:
    """Return which of the things an answer means, None for other words; never one of `done`, for which it was done before."""
    if len(text) > MAX_TEXT or is_asking(text, things.language.code):
        return None
    found = _Choosing(text, things, lambda _: None, before=done).read()
    if found is None and 1 < len(parts := parts_of(text, things.data.follow_ups.joins)) <= MOST:
        each = [_Choosing(part, things, lambda _: None, before=done).read() for part in parts]
        if any(one is None or not one.is_certain or len(one.entity_ids) != 1 for one in each):
            return None
        named = {entity_id for one in each if one is not None for entity_id in one.entity_ids}
        found = Picked(tuple(thing.entity.entity_id for thing in things.things if thing.entity.entity_id in named))
    if found is None or (done and (not found.entity_ids or not set(done).isdisjoint(found.entity_ids))):
        return None
    return found


class _Choosing(SentenceReading):
    """An answer to the question which one is meant, read against the things that were asked about."""

    def read(self) -> Picked | None:
        """Return what is meant."""
        words = self.things.data.choices
        if not self.tokens or len(self.tokens) > _MAX_WORDS:
            return None
        beside = {word for text in words.beside for word in words_of(text)} | self.routes.harmless
        rest = [at for at, word in enumerate(self.words) if word not in beside and at not in self.polite]
        left = tuple(self.words[at] for at in rest)
        whole: list[int] = []
        for number, thing in enumerate(self.things.things):
            plain = [tuple(word for word in name if word not in beside) for name in thing.names]
            if not {tuple(self.words), left}.isdisjoint(thing.names) or (left and left in plain):
                whole.append(number)
        if len(whole) == 1:
            return self._picked(whole)
        if (picked := self._said_as_a_whole(words, left)) is not None:
            return picked
        # what all words that are left fit: parts of names, kinds, rooms, sides
        found = {*range(len(self.things.things))}
        for at in rest:
            found &= self._explained[at] | self.things.beginning(self.words[at]) | self._told_apart(self.words[at])
        if not rest or not found or len(found) == len(self.things.things):
            return None
        return self._picked(sorted(found), is_certain=len(found) == 1)

    def _said_as_a_whole(self, words: ChoiceWords, left: tuple[str, ...]) -> Picked | None:
        """Return what an answer means that names nothing: none, all, a place in the row, the other one."""
        said, numbers = (tuple(self.words), left), range(len(self.things.things))
        if self._is_one_of(words.none, said) or read_answer(self.text, self.language.code).kind is ReplyKind.NO:
            return self._picked(())
        both = self.things.data.follow_ups.both if len(numbers) == FEWEST else ()
        if self._is_one_of((*words.all, *both), said):
            return self._picked(numbers)
        for number, row in enumerate(words.ordinals):
            if number in numbers and self._is_one_of(row, said):
                return self._picked([number])
        if self._is_one_of(words.last, said):
            return self._picked([numbers[-1]])
        others = [number for number in numbers if number not in self._before]
        if self._before and len(others) == 1 and self._is_one_of(words.other, said):
            return self._picked(others)
        return None

    def _is_one_of(self, phrases: Sequence[str], said: Collection[tuple[str, ...]]) -> bool:
        return any(words_of(phrase) in said for phrase in phrases)

    def _told_apart(self, word: str) -> set[int]:
        """Return the things that a side tells from the others, in any form: "links" is "Linkes Rollo"."""
        meant: set[str] = set()
        for key in TELLING:
            names = [name for data in (self.things.data, data_of(ENGLISH)) for name in data.rooms.get(key, ())]
            side = {one for name in names for one in words_of(name)}
            meant |= side if _is_a_form(word, side) else set()
        things = enumerate(self.things.things)
        return {n for n, thing in things if any(_is_a_form(own, meant) for name in thing.names for own in name)}

    def _picked(self, numbers: Sequence[int], *, is_certain: bool = True) -> Picked:
        return Picked(tuple(self.things.things[number].entity.entity_id for number in numbers), is_certain)


def _is_a_form(word: str, listed: Collection[str]) -> bool:
    return word in listed or any(
        len(one) >= _SHORTEST and word.startswith(one) and len(word) - len(one) <= _ENDING for one in listed
    )


def _may_be_done(sentence: Sentence, order: Order) -> bool:
    """Return whether a thing can do it now and the user may have it done, with a yes if one is needed."""
    turn, frames = sentence.turn, [*frames_of(sentence, order)]
    for frame in frames:
        try:
            plan = plan_of(sentence.hass, turn, frame.recognised)
            if not isinstance(plan, Plan):
                return False
            sentence.means.policy.authorize(turn, plan)
        except NobodyConfirms:
            if not turn.answerable:
                return False
        except ToolError, intent.IntentError:
            return False
    return bool(frames)


def _names(sentence: Sentence, entity_ids: Sequence[str]) -> list[str]:
    """Return what things are called, with the room where two are called the same."""
    names = [state.name if (state := sentence.hass.states.get(item)) else item for item in entity_ids]
    areas = [sentence.home.areas.get(sentence.home.entities[item].area_id or "") for item in entity_ids]
    return [
        f"{name} ({area.names[0]})" if names.count(name) > 1 and area is not None else name
        for name, area in zip(names, areas, strict=True)
    ]
