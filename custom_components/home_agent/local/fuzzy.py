"""Home Assistant's fuzzy recogniser: other wording, misheard names, and "it" for what the last sentence was about.

English only, and only where no model is behind us. Home Assistant keeps it inside its default agent, which does what it
recognises without asking anybody; so only the recogniser is used, and its intents are handled here, behind the permission.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
import time
from typing import Any

from home_assistant_intents import ErrorKey
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.conversation import AssistantContent, ToolResultContent
from homeassistant.helpers import area_registry as ar, intent, llm
from homeassistant.helpers.template import Template, TemplateState

from ..home.exposure import may_know
from ..languages.phrases import is_altered, is_question, is_remark
from ..languages.phrasings import COMMANDS, Phrasing, phrasings_of
from ..policy.confirmation import NeedsConfirmation
from ..policy.intents import QUESTIONS, Recognised, async_handle, mismatch_of, nothing_there
from ..support.bounds import in_slices
from ..support.errors import ToolError
from ..support.text import words_of
from ..turn.turn import Turn
from .coverage import Coverage
from .intent_policy import IntentPolicy, Sentence
from .refusals import async_explain_mismatch, async_name_reason, async_own_words, async_refuse, error_response

_REASONS = ("anaphora", "invalid_percentage", "conflicting_scope")
"""Beginnings of the codes of what the recogniser understood and refuses for a reason that it says: "it" without anything before it,
900 percent, a room on another floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One intent of a sentence; "the lamp on and the fan off" has two."""

    intent: str
    slots: dict[str, Any]
    response_key: str


async def async_answer_fuzzily(
    sentence: Sentence, permission: IntentPolicy, *, known: str = ""
) -> intent.IntentResponse | ToolError | None:
    """Do what the recogniser makes of a sentence and return the answer, or the refusal.

    None when it makes nothing of it, or of nothing that the user may know of, or this Home Assistant has no recogniser.
    Nothing happens unless all of it may. With `known`, the name of a thing in the sentence, what it says against that is
    the answer.
    """
    recogniser: Any = getattr(sentence.agent, "_gazetteer", None)
    turn = sentence.turn
    if recogniser is None or not recogniser.supports(turn.language):
        return None
    conversation_id = sentence.chat_log.conversation_id
    matcher, found = await _async_interpret(sentence, recogniser)
    has_reason = (found.rejection_code or "").startswith(_REASONS) and found.response
    if has_reason and not is_altered(turn.text, turn.language, (), asks=True):
        return error_response(turn, intent.IntentResponseErrorCode.NO_INTENT_MATCH, found.response)
    if known and not found.accepted and known in (found.response or ""):
        return error_response(turn, intent.IntentResponseErrorCode.NO_VALID_TARGETS, found.response)
    if not found.accepted or not found.frames or any(frame.response_key is None for frame in found.frames):
        return None
    frames = [Frame(intent=frame.intent, slots=frame.slots, response_key=frame.response_key) for frame in found.frames]
    if is_question(turn.text, turn.language) and not all(frame.intent in QUESTIONS for frame in frames):
        return None
    words = [{slot: matcher.display_name(slot, value) for slot, value in frame.slots.items()} for frame in frames]
    is_other = _is_of_something_else(turn, frames, permission.coverage) or _is_something_else(sentence, frames, words)
    if is_other and not _is_named(sentence, frames):
        return None
    answer = await async_carry_out(sentence, permission, frames, words)
    if isinstance(answer, intent.IntentResponse) and answer.error_code is None:
        recogniser.async_remember(conversation_id, found.targets)
    return answer


def earlier_targets(sentence: Sentence) -> Sequence[Any]:
    """Return what "it" and "them" mean to Home Assistant's recogniser now; a new object for each sentence that it heard of."""
    recogniser: Any = getattr(sentence.agent, "_gazetteer", None)
    if recogniser is None:
        return ()
    targets: Sequence[Any] = recogniser._previous_targets.get(sentence.chat_log.conversation_id, ())  # noqa: SLF001
    return targets


def refer_to_nothing(sentence: Sentence) -> None:
    """Let "it" and "them" mean nothing to Home Assistant's recogniser until a sentence that it hears of is about something.

    Only its own sentences tell it what they were about; after any other it would mean what was done before that one.
    """
    recogniser: Any = getattr(sentence.agent, "_gazetteer", None)
    if recogniser is not None:
        recogniser.async_forget(sentence.chat_log.conversation_id)


async def async_carry_out(
    sentence: Sentence, permission: IntentPolicy, frames: Sequence[Frame], words: Sequence[Mapping[str, str]]
) -> intent.IntentResponse | ToolError | None:
    """Do what a sentence was understood to want, all of it or nothing, and return the answer, or the refusal.

    `words` are the values of the slots of each as they are told. None when that leaves out something that was said, or is about
    nothing that the user may know of; then the chat log is as it was.
    """
    if not permission.covers([Recognised(name=frame.intent, slots=frame.slots) for frame in frames]):
        return None
    if not _may_happen(permission, frames):
        if permission.meets_unknown:
            if permission.recognised is not None and "name" not in permission.recognised.slots:
                permission.mismatch = nothing_there(sentence.hass, permission.recognised)
            return None
        if permission.refusal is not None and permission.recognised is not None:
            permission.report(permission.refusal, time.perf_counter())
        return permission.refusal
    before = len(sentence.chat_log.content)
    answer = await _async_act(sentence, permission, list(zip(frames, words, strict=True)))
    if permission.left_out is not None or (isinstance(answer, ToolError) and permission.meets_unknown):
        del sentence.chat_log.content[before:]
        return None
    return answer


def _is_of_something_else(turn: Turn, frames: Sequence[Frame], coverage: Coverage) -> bool:
    """Return whether a command has words that the local brain knows nothing like of: it is about what is not here.

    Nor is it done where the words are as near to the names of several things.
    """
    understanding = turn.record.understanding
    if turn.user is not None and not turn.user.permissions.access_all_entities(POLICY_READ):
        return False  # what they may know nothing of is not here for them, and the rest is done
    if understanding is None or not any(frame.intent in COMMANDS for frame in frames):
        return False
    if understanding.is_near:
        return len(coverage.nearly_named(exactly=False)) > 1
    return bool(understanding.words) or understanding.declined in ("several", "impossible")


def _is_named(sentence: Sentence, frames: Sequence[Frame]) -> bool:
    """Return whether a command says the whole name of one thing, as nothing else is called, and what to do with it and no more.

    Such a name can have words of its own that are taken for commands, kinds and values elsewhere: "Garage turned on".
    """
    if len(frames) != 1 or frames[0].slots.keys() != {"name"}:
        return False
    frame, entities = frames[0], sentence.home.entities
    entity = entities.get(frame.slots["name"])
    if entity is None:
        return False
    words = words_of(sentence.turn.text)
    routes = phrasings_of(sentence.language.code)
    meant = [route for route in routes.routes if route.intent == frame.intent and entity.domain in route.domains]
    for name in dict.fromkeys(words_of(name) for name in entity.names):
        if sum(any(words_of(one) == name for one in other.names) for other in entities.values()) > 1:
            continue
        for at in range(len(words) - len(name) + 1) if name else ():
            if words[at : at + len(name)] != name:
                continue
            rest = {*words[:at], *words[at + len(name) :]}
            if any(_says(route, rest, routes.harmless) for route in meant):
                return True
    return False


def _says(route: Phrasing, words: set[str], harmless: frozenset[str]) -> bool:
    """Return whether some words say what a route is for, and nothing else."""
    if route.values or not route.needed:
        return False
    said = [[phrase for phrase in group if words.issuperset(phrase)] for group in route.needed]
    known = {word for group in said for phrase in group for word in phrase}
    return all(said) and words <= known | route.beside | harmless


def _is_something_else(sentence: Sentence, frames: Sequence[Frame], words: Sequence[Mapping[str, str]]) -> bool:
    """Return whether a sentence is not what the recogniser takes it for: it leaves out "don't", "tomorrow", "except the bed light"."""
    turn = sentence.turn
    understood = [str(value) for each in words for value in each.values()]
    if any(frame.intent in QUESTIONS for frame in frames) and _names_absent_room(sentence):
        return True
    if is_altered(turn.text, turn.language, understood, asks=all(frame.intent in QUESTIONS for frame in frames)):
        return True
    remarks = any(frame.intent == intent.INTENT_GET_STATE and "state" not in frame.slots for frame in frames)
    return remarks and is_remark(
        turn.text, turn.language
    )  # "it is dark in the kitchen" does not ask what its player does


def _names_absent_room(sentence: Sentence) -> bool:
    """Return whether a sentence names a room that the home does not have: "in the cellar" is not anywhere."""
    spoken = list(words_of(sentence.turn.text))
    home = sentence.home
    names = [name for area in home.areas.values() for name in (*area.names, *area.floor_names)]
    names += [name for entity in home.entities.values() for name in entity.names]
    known = {word for name in names for word in words_of(name)}
    places = {words_of(name) for area in home.areas.values() for name in (*area.names, *area.floor_names)}
    return any(
        known.isdisjoint(spoken[at : at + length]) and not any(tuple(other.split()) in places for other in others)
        for at, length, others in sentence.language.rooms(spoken)
    )


async def _async_interpret(sentence: Sentence, recogniser: Any) -> tuple[Any, Any]:
    """Return a recogniser of the home and what it makes of the sentence.

    For a user of limited rights, or an agent that knows a part of the home, it is one of a home without what they may know nothing of: what else they ask for is done
    then, as it is next to a name that nothing has.
    """
    hass, turn, text = sentence.hass, sentence.turn, sentence.user_input.text
    conversation_id = sentence.chat_log.conversation_id
    area = ar.async_get(hass).async_get_area(turn.area_id) if turn.area_id else None
    matcher, found = await recogniser.async_interpret(text, conversation_id, area)
    if not turn.within and (turn.user is None or turn.user.permissions.access_all_entities(POLICY_READ)):
        return matcher, found
    told = matcher.config
    entities: Mapping[str, Any] = told.home["entities"]
    known = {
        entity_id: entities[entity_id]
        async for entity_id in in_slices(entities)
        if may_know(hass, turn.user, entity_id)
    }
    if len(known) == len(entities):
        return matcher, found
    home = {**told.home, "entities": known}
    # `_previous_targets` is what "it" may mean; it can be of somebody else in the same conversation
    earlier = [item for item in recogniser._previous_targets.get(conversation_id, ()) if _is_of(item, known)]  # noqa: SLF001
    place = area.id if area and area.id in home["areas"] else None  # it may be newer than the recogniser

    def interpret() -> tuple[Any, Any]:
        own = type(matcher)(home=home, vocabulary=told.vocabulary, intents=told.intents, responses=told.responses)
        return own, own.interpret(text, previous_targets=earlier, context_area=place)

    return await hass.async_add_executor_job(interpret)


def _is_of(target: Any, known: Container[str]) -> bool:
    return target.slots.get("name") is None or target.slots["name"] in known


def _may_happen(permission: IntentPolicy, frames: Sequence[Frame]) -> bool:
    """Return whether all of it may happen now. When one part has to be asked about, the others wait with it."""
    asks: ToolError | None = None
    for frame in frames:
        if permission.permits(frame.intent, frame.slots):
            continue
        if not isinstance(permission.refusal, NeedsConfirmation):
            return False
        asks = permission.refusal
    if asks is None:
        return True
    for frame in frames:
        permission.wait_along(frame.intent, frame.slots)
    permission.refusal = asks
    return False


async def _async_act(
    sentence: Sentence, permission: IntentPolicy, parts: Sequence[tuple[Frame, Mapping[str, str]]]
) -> intent.IntentResponse | ToolError:
    """Handle one part after the other, up to the first that fails."""
    responses: list[intent.IntentResponse] = []
    for frame, words in parts:
        responses.append(response := await _async_handle(sentence, permission, frame, words))
        if response.error_code is not None:
            break
    return permission.refusal if permission.refusal is not None and len(responses) == 1 else _joined(responses)


async def _async_handle(
    sentence: Sentence, permission: IntentPolicy, frame: Frame, words: Mapping[str, str]
) -> intent.IntentResponse:
    """Handle one intent as the default agent does, and leave it in the chat log."""
    turn, started = sentence.turn, time.perf_counter()
    slots = {slot: {"value": value, "text": words[slot]} for slot, value in frame.slots.items()}
    if turn.area_id:
        slots["preferred_area_id"] = {"value": turn.area_id}
    try:
        if not permission.permits(frame.intent, frame.slots):  # the part before may have changed what this one does
            raise intent.IntentHandleError
        response = await async_handle(sentence.hass, turn, frame.intent, slots, text=sentence.user_input.text)
        permission.check_answer(response)
        if permission.refusal is not None:
            raise intent.IntentHandleError
        if not response.speech:
            response.async_set_speech(await _async_words(sentence, frame, words, response))
        await permission.async_finish(response)
    except intent.IntentError as err:
        response = await _async_failed(sentence, permission, words, err)
    if not permission.meets_unknown:
        permission.report(permission.refusal or response, started)
    _note(sentence, frame, response)
    return response


async def async_tell(
    sentence: Sentence, frame: Frame, words: Mapping[str, str], response: intent.IntentResponse
) -> None:
    """Let a response that has no words say what Home Assistant's own sentence does, and leave it in the chat log."""
    if not response.speech:
        response.async_set_speech(await _async_words(sentence, frame, words, response))
    _note(sentence, frame, response)


async def _async_failed(
    sentence: Sentence, permission: IntentPolicy, words: Mapping[str, str], error: intent.IntentError
) -> intent.IntentResponse:
    """Return why an intent failed: the policy's refusal, what was not found, or the reason that its handler gives."""
    recognised, mismatch = permission.recognised, permission.mismatch
    assert recognised is not None
    if permission.refusal is not None and not permission.meets_unknown:
        return await async_refuse(sentence.hass, sentence.turn, permission.refusal)
    if permission.meets_unknown:
        mismatch = nothing_there(sentence.hass, recognised)
    elif isinstance(error, intent.MatchFailedError):
        mismatch = mismatch or mismatch_of(sentence.hass, sentence.turn, recognised)
    if mismatch is not None:
        if mismatch.constraints.name:
            mismatch.constraints.name = words["name"]  # the recogniser gives the id of the entity
        return await async_explain_mismatch(sentence, mismatch)
    key = error.response_key if isinstance(error, intent.IntentHandleError) else None
    speech = await async_own_words(sentence, (key or ErrorKey.HANDLE_ERROR, {}))
    response = error_response(sentence.turn, intent.IntentResponseErrorCode.FAILED_TO_HANDLE, speech)
    await async_name_reason(sentence, recognised, response)
    return response


def _note(sentence: Sentence, frame: Frame, response: intent.IntentResponse) -> None:
    """Leave the intent and its result in the chat log."""
    agent_id = sentence.turn.agent_id
    call = llm.ToolInput(tool_name=frame.intent, tool_args=frame.slots, external=True)
    result = llm.ToolResult(data=llm.IntentResponseDict(response), error=response.error_code is not None)
    log = sentence.chat_log
    log.async_add_assistant_content_without_tools(AssistantContent(agent_id=agent_id, tool_calls=[call]))
    log.async_add_assistant_content_without_tools(
        ToolResultContent(agent_id=agent_id, tool_call_id=call.id, tool_name=call.tool_name, result=result)
    )


async def _async_words(
    sentence: Sentence, frame: Frame, words: Mapping[str, str], response: intent.IntentResponse
) -> str:
    """Return Home Assistant's own sentence for what was done."""
    intents = await sentence.agent.async_get_or_load_intents(sentence.turn.language)
    template = intents.intent_responses.get(frame.intent, {}).get(frame.response_key) if intents else None
    matched = [TemplateState(sentence.hass, state) for state in response.matched_states]
    unmatched = [TemplateState(sentence.hass, state) for state in response.unmatched_states]
    variables = {
        "slots": {**words, **response.speech_slots},
        "state": next(iter((*matched, *unmatched)), None),
        "query": {"matched": matched, "unmatched": unmatched},
    }
    return " ".join(str(Template(template or "", sentence.hass).async_render(variables, parse_result=False)).split())


def _joined(responses: Sequence[intent.IntentResponse]) -> intent.IntentResponse:
    """Return one answer for all parts; the last one decides whether it failed."""
    answer = responses[-1]
    spoken = dict.fromkeys(str(response.speech["plain"]["speech"]).rstrip(".") for response in responses)
    answer.async_set_speech(". ".join(part for part in spoken if part))
    answer.success_results = [target for response in responses for target in response.success_results]
    return answer
