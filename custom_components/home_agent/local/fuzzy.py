"""Home Assistant's fuzzy recogniser: other wording, misheard names, and "it" for what the last sentence was about.

English only, and only where no model can be asked. Home Assistant keeps it inside its default agent, which does what it
recognises without asking a policy; so only the recogniser is used, and its intents are carried out behind ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.helpers import area_registry as ar, intent

from ..home.domains import SWITCHED
from ..home.exposure import may_know
from ..languages.phrases import is_altered, is_order, is_question, is_remark
from ..languages.phrasings import COMMANDS, phrasings_of
from ..policy.intents import QUESTIONS
from ..support.bounds import in_slices
from ..support.text import words_of
from .frames import Frame, async_carry_out
from .refusals import async_explain_mismatch, async_nearest
from .sentences import Ask, Done, NotMine, Refused, Result, Sentence, error_response
from .which import async_ask_which

_REASONS = ("anaphora", "invalid_percentage", "conflicting_scope")
"""Beginnings of the codes of what the recogniser understood and refuses for a reason that it says: "it" without anything before it,
900 percent, a room on another floor."""

_PLACES = ("area", "floor")


async def answer_fuzzily(sentence: Sentence) -> Result:
    """Do what the recogniser makes of a sentence; where several things may be meant and it fails, ask which one."""
    nearest = await async_nearest(sentence)
    if nearest.is_custom:
        return NotMine(nearest=nearest)
    result = await _async_by_recogniser(sentence, nearest.known)
    if isinstance(result, Refused) or (isinstance(result, Done) and not (result.has_failed and sentence.candidates)):
        return result
    asked = await async_ask_which(sentence, sentence.candidates)
    if isinstance(asked, Ask):
        return asked
    if isinstance(result, NotMine) and result.mismatch is not None:
        return Done(said=await async_explain_mismatch(sentence, result.mismatch))
    return replace(result, nearest=nearest) if isinstance(result, NotMine) else result


async def _async_by_recogniser(sentence: Sentence, known: str) -> Result:
    """Do what the recogniser makes of a sentence, or nothing. What it says against `known`, a thing that was named, is the answer."""
    recogniser: Any = getattr(sentence.agent, "_gazetteer", None)
    turn = sentence.turn
    if recogniser is None or not recogniser.supports(turn.language):
        return NotMine()
    matcher, found = await _async_interpret(sentence, recogniser)
    codes = intent.IntentResponseErrorCode
    has_reason = (found.rejection_code or "").startswith(_REASONS) and found.response
    if has_reason and not is_altered(turn.text, turn.language, (), asks=True):
        return Done(said=error_response(turn, codes.NO_INTENT_MATCH, found.response))
    if known and not found.accepted and known in (found.response or ""):
        return Done(said=error_response(turn, codes.NO_VALID_TARGETS, found.response))
    if not found.accepted or not found.frames or any(frame.response_key is None for frame in found.frames):
        return NotMine()
    frames: list[Frame] = []
    for each in found.frames:
        words = {slot: matcher.display_name(slot, value) for slot, value in each.slots.items()}
        frames.append(Frame(intent=each.intent, slots=each.slots, response_key=each.response_key, words=words))
    named = [frame.words[slot] for frame in frames for slot in _PLACES if slot in frame.words]
    entities = (sentence.home.entities.get(str(frame.slots.get("name"))) for frame in frames)
    named += [name for entity in entities if entity for name in entity.names]
    asks = is_question(turn.text, turn.language, tuple(named))
    if asks and not all(frame.intent in QUESTIONS for frame in frames):
        return NotMine()
    if is_order(turn.text, turn.language, named) and any(frame.intent in QUESTIONS for frame in frames):
        return NotMine()  # "unlock the door, someone is there"
    is_other = _is_of_something_else(sentence, frames) or _is_something_else(sentence, frames)
    if is_other and not _is_named(sentence, frames):
        return NotMine()
    result = await async_carry_out(sentence, frames)
    if not isinstance(result, Done) or result.has_failed:
        return result
    recogniser.async_remember(sentence.chat_log.conversation_id, found.targets)
    return replace(result, is_known=True)


def _is_of_something_else(sentence: Sentence, frames: Sequence[Frame]) -> bool:
    """Return whether a command is about what is not here: it has unknown words, or its words are as near to several names."""
    turn, understanding = sentence.turn, sentence.understanding
    if turn.user is not None and not turn.user.permissions.access_all_entities(POLICY_READ):
        return False  # what they may know nothing of is not here for them, and the rest is done
    if not any(frame.intent in COMMANDS for frame in frames):
        return False
    if understanding.is_near:
        return len(sentence.coverage.nearly_named(exactly=False)) > 1
    return bool(understanding.words) or understanding.declined in ("several", "impossible")


def _is_named(sentence: Sentence, frames: Sequence[Frame]) -> bool:
    """Return whether a command says the whole name of one thing, what to do with it and no more, for names such as "Garage turned on"."""
    if len(frames) != 1 or frames[0].slots.keys() != {"name"}:
        return False
    frame, entities = frames[0], sentence.home.entities
    entity = entities.get(frame.slots["name"])
    if entity is None:
        return False
    words = words_of(sentence.turn.text)
    routes = phrasings_of(sentence.language.code, SWITCHED)
    meant = [one for one in routes.routes if one.intent == frame.intent and entity.domain in one.domains]
    meant = [one for one in meant if not one.values]
    for name in dict.fromkeys(words_of(name) for name in entity.names):
        if sum(any(words_of(one) == name for one in other.names) for other in entities.values()) > 1:
            continue
        for at in range(len(words) - len(name) + 1) if name else ():
            if words[at : at + len(name)] != name:
                continue
            rest = {*words[:at], *words[at + len(name) :]}
            for route in meant:
                said = [[phrase for phrase in group if rest.issuperset(phrase)] for group in route.needed]
                known = {word for group in said for phrase in group for word in phrase}
                if said and all(said) and rest <= known | route.beside | routes.harmless:
                    return True
    return False


def _is_something_else(sentence: Sentence, frames: Sequence[Frame]) -> bool:
    """Return whether a sentence is not what the recogniser takes it for: it leaves out "don't", "tomorrow", "except the bed light"."""
    turn = sentence.turn
    understood = [str(value) for frame in frames for value in frame.words.values()]
    if any(frame.intent in QUESTIONS for frame in frames) and _names_absent_room(sentence):
        return True
    if is_altered(turn.text, turn.language, understood, asks=all(frame.intent in QUESTIONS for frame in frames)):
        return True
    # "it is dark in the kitchen" does not ask what its player does
    asks = any(frame.intent == intent.INTENT_GET_STATE and "state" not in frame.slots for frame in frames)
    return asks and is_remark(turn.text, turn.language)


def _names_absent_room(sentence: Sentence) -> bool:
    """Return whether a sentence names a room that the home does not have: "in the cellar" is not anywhere."""
    spoken, home = list(words_of(sentence.turn.text)), sentence.home
    places = {words_of(name) for area in home.areas.values() for name in (*area.names, *area.floor_names)}
    names = (words_of(name) for entity in home.entities.values() for name in entity.names)
    known = {word for name in (*places, *names) for word in name}
    return any(
        known.isdisjoint(spoken[at : at + length]) and not any(tuple(other.split()) in places for other in others)
        for at, length, others in sentence.language.rooms(spoken)
    )


async def _async_interpret(sentence: Sentence, recogniser: Any) -> tuple[Any, Any]:
    """Return a recogniser of the home and what it makes of the sentence.

    For a user of limited rights, or an agent that knows a part of the home, it is a recogniser of a home without the rest.
    """
    hass, turn, text = sentence.hass, sentence.turn, sentence.user_input.text
    conversation_id = sentence.chat_log.conversation_id
    area = ar.async_get(hass).async_get_area(turn.area_id) if turn.area_id else None
    matcher, found = await recogniser.async_interpret(text, conversation_id, area)
    if not turn.within and (turn.user is None or turn.user.permissions.access_all_entities(POLICY_READ)):
        return matcher, found
    told = matcher.config
    entities: Mapping[str, Any] = told.home["entities"]
    known = {item: entities[item] async for item in in_slices(entities) if may_know(hass, turn.user, item)}
    if len(known) == len(entities):
        return matcher, found
    home = {**told.home, "entities": known}
    # what "it" may mean can be of another user in the same conversation; nothing public tells it
    before = recogniser._previous_targets.get(conversation_id, ())  # noqa: SLF001
    earlier = [target for target in before if target.slots.get("name") is None or target.slots["name"] in known]
    place = area.id if area and area.id in home["areas"] else None  # it may be newer than the recogniser

    def interpret() -> tuple[Any, Any]:
        own = type(matcher)(home=home, vocabulary=told.vocabulary, intents=told.intents, responses=told.responses)
        return own, own.interpret(text, previous_targets=earlier, context_area=place)

    return await hass.async_add_executor_job(interpret)
