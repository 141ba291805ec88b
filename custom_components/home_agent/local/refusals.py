"""What is said when the home cannot answer: what was missing, in the user's language, and what would help."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
import re
from typing import Any

from hassil.models import UnmatchedTextEntity
from hassil.recognize import MISSING_ENTITY
from home_assistant_intents import ErrorKey
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components.light import DOMAIN as LIGHT_DOMAIN
from homeassistant.const import SERVICE_TURN_ON
from homeassistant.helpers import intent
from homeassistant.helpers.template import Template

from ..home.exposure import is_exposed, is_shared
from ..languages.phrases import ReplyKind, is_remark, is_thanks, read_answer
from ..languages.planning import lets_be
from ..policy.intents import QUESTIONS, Mismatch, Recognised, plan_of
from ..support.const import ASSISTANT, DOMAIN, SUBENTRY_LLM
from ..support.errors import ToolError
from ..support.localize import async_has_text, async_own_text, async_text
from ..support.text import fold, runs
from ..turn.plan import Plan
from .coverage import needed_of
from .sentences import Done, NearestSentence, NotMine, Result, Sentence, error_response, speech_of, spoken

type Wording = tuple[str, Mapping[str, Any]]
"""A key of Home Assistant's own error sentences, which exist in all its languages, and what its template needs."""

_NOT_UNDERSTOOD: Wording = (ErrorKey.NO_INTENT, {})
_UNKNOWN = {
    "area": (ErrorKey.NO_AREA, "area"),
    "floor": (ErrorKey.NO_FLOOR, "floor"),
    "name": (ErrorKey.NO_ENTITY, "entity"),
}
_NONSENSE = "zqxjv"
_LIMITED = {"temperature": "temp", "humidity": "humidity"}
"""Slots with a number that an entity limits by its attributes `min_…` and `max_…`."""
MAX_NAMES = 5  # of one sentence
_SHORT_WORD = re.compile(r"[a-z]{1,3}")
_DUPLICATE_TARGETS = "duplicate_targets"


async def async_nearest(sentence: Sentence) -> NearestSentence:
    """Return what comes closest; a name that is not exposed is looked for as if it did not exist."""
    # Home Assistant remembers per text that the strict search found nothing, and then does not search further.
    text = f"{sentence.user_input.text} "
    result = await sentence.agent.async_recognize_intent(replace(sentence.user_input, text=text))
    if result is None:
        return NearestSentence(result=None)
    unmatched = result.unmatched_entities.get("name")
    if isinstance(unmatched, UnmatchedTextEntity) and unmatched.text != MISSING_ENTITY:
        name = unmatched.text.strip()
    else:
        name = str(result.entities["name"].value) if "name" in result.entities else ""
    if name and (known := _known(sentence, name)):
        return NearestSentence(result=result, known=known)
    if result.unmatched_entities or "name" not in result.entities:
        return NearestSentence(result=result)
    hidden = result.entities["name"].text_clean
    text = re.sub(re.escape(hidden), _nonsense(hidden), text, flags=re.IGNORECASE)
    result = await sentence.agent.async_recognize_intent(replace(sentence.user_input, text=text))
    return NearestSentence(result=result if result and result.unmatched_entities else None, hidden=hidden)


def _known(sentence: Sentence, name: str) -> str:
    """Return what an exposed entity of the name is called, if there is one that the user may read."""
    constraints = intent.MatchTargetsConstraints(name=name, assistant=ASSISTANT, allow_duplicate_names=True)
    user = sentence.turn.user
    for state in intent.async_match_targets(sentence.hass, constraints).states:
        may_read = user is None or user.permissions.check_entity(state.entity_id, POLICY_READ)
        if may_read and is_shared(sentence.hass, state.entity_id):
            return state.name
    return ""


async def explain(sentence: Sentence) -> Result:
    """Say why a sentence was not understood, and what would help."""
    return Done(said=await _async_explanation(sentence))


async def _async_explanation(sentence: Sentence) -> intent.IntentResponse:
    found = (each.nearest for each in sentence.earlier if isinstance(each, NotMine))
    nearest, left_out = next(filter(None, found), NearestSentence(result=None)), sentence.left_out
    turn, remarks = sentence.turn, is_remark(sentence.turn.text, sentence.turn.language)
    if left_out is not None:
        key = "local_left_out" if left_out.names else "local_part_not_understood"
        speech = await _async_say(sentence, key, _NOT_UNDERSTOOD, target=listed(left_out.names), words=left_out.words)
        return error_response(turn, intent.IntentResponseErrorCode.NO_INTENT_MATCH, speech)
    if nearest.known:
        speech = await _async_say(sentence, "local_not_possible", _NOT_UNDERSTOOD, name=nearest.known)
        return error_response(turn, intent.IntentResponseErrorCode.NO_VALID_TARGETS, speech)
    key, names = ("", ()) if remarks else _suggestion(sentence)
    if names and await async_has_text(sentence.hass, turn.language, key):
        speech = await async_text(sentence.hass, turn.language, key, target=listed(names), name=listed(names))
        return error_response(turn, intent.IntentResponseErrorCode.NO_INTENT_MATCH, speech)
    if unknown := None if remarks else await _async_unknown(sentence, nearest):
        slot, name = unknown
        own_key, placeholder = _UNKNOWN[slot]
        speech = await _async_say(sentence, "local_unknown_name", (own_key, {placeholder: name}), name=name)
        return error_response(turn, intent.IntentResponseErrorCode.NO_VALID_TARGETS, speech)
    entries = sentence.hass.config_entries.async_loaded_entries(DOMAIN)
    has_model = any(entry.get_subentries_of_type(SUBENTRY_LLM) for entry in entries)
    key = "local_not_understood_with_model" if has_model else "local_not_understood"
    speech = await _async_say(sentence, key, _NOT_UNDERSTOOD)
    if not await async_has_text(sentence.hass, turn.language, key) and (example := await async_example(sentence)):
        speech = f"{speech} (“{example}”)"
    return error_response(turn, intent.IntentResponseErrorCode.NO_INTENT_MATCH, speech)


async def explain_fields(sentence: Sentence) -> Result:
    """Say what a script that was named does not start without."""
    left_out, route = sentence.left_out, sentence.understanding.route
    names: Sequence[str] = ()
    fields: Sequence[str] = ()
    if left_out is not None:
        names, fields = left_out.names, left_out.fields
    elif route is not None and route.declined == "arguments":
        state = sentence.hass.states.get(route.route)
        if state is not None and state.domain == "script":
            names, fields = (state.name,), needed_of(sentence.hass, state.entity_id)
    if not fields:
        return NotMine()
    told = {"target": listed(names), "fields": ", ".join(fields)}
    speech = await _async_say(sentence, "local_needs_fields", _NOT_UNDERSTOOD, **told)
    return Done(said=error_response(sentence.turn, intent.IntentResponseErrorCode.NO_INTENT_MATCH, speech))


async def answer_reply_to_nothing(sentence: Sentence) -> Result:
    """Answer a yes or a no that nothing waits for, and that all is to be as it is."""
    turn = sentence.turn
    if lets_be(turn.text, turn.language):
        return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "never_mind")))
    if read_answer(turn.text, turn.language).kind not in (ReplyKind.YES, ReplyKind.NO):
        return NotMine()
    return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "confirm_nothing")))


async def answer_thanks(sentence: Sentence) -> Result:
    """Answer thanks."""
    turn = sentence.turn
    if not is_thanks(turn.text, turn.language):
        return NotMine()
    return Done(said=spoken(turn, await async_text(sentence.hass, turn.language, "local_welcome")))


def _suggestion(sentence: Sentence) -> tuple[str, Sequence[str]]:
    """Return what might be meant by a sentence, as names of things, and the key of the text that says so; no names: nothing."""
    coverage = sentence.coverage
    if names := coverage.nearly_named(exactly=True):
        return "local_not_possible", names
    if len(names := coverage.of_kind()) > 1:
        has_everything = sentence.language.has_everything([fold(run) for run in runs(sentence.turn.text)])
        return ("local_not_for_all" if has_everything else "local_which"), names
    return "local_did_you_mean", coverage.nearly_named(exactly=False)


def listed(names: Sequence[str]) -> str:
    """Return the first of some names."""
    return ", ".join([*names[:MAX_NAMES], *(["…"] if len(names) > MAX_NAMES else [])])


async def async_name_reason(sentence: Sentence, recognised: Recognised, response: intent.IntentResponse) -> None:
    """Put the reason in a response that has none: Home Assistant says "unexpected" of all that an action refuses."""
    hass, turn = sentence.hass, sentence.turn
    if speech_of(response) != await async_own_words(sentence, (ErrorKey.HANDLE_ERROR, {})):
        return
    try:
        plan = plan_of(hass, turn, recognised)
    except ToolError:
        return
    states = [state for item in plan.targets if (state := hass.states.get(item))] if isinstance(plan, Plan) else []
    if not states:
        return
    key, told = "local_failed", {"target": listed([state.name for state in states])}
    for slot, kind in reversed(_LIMITED.items()):  # the first that is out of range is told
        for state in reversed(states):
            least, most = state.attributes.get(f"min_{kind}"), state.attributes.get(f"max_{kind}")
            numbers = [item for item in (least, recognised.slots.get(slot), most) if isinstance(item, (int, float))]
            if len(numbers) == 3 and numbers != sorted(numbers):
                key, told = "local_out_of_range", {"target": state.name, "least": str(least), "most": str(most)}
    text = await async_text(hass, turn.language, key, **told)
    response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)


async def async_example(sentence: Sentence) -> str:
    """Return a command for a light of this home that would be understood, in Home Assistant's words; "" without any."""
    hass, turn = sentence.hass, sentence.turn
    path = f"device_automation.action_type.{SERVICE_TURN_ON}"
    words = await async_own_text(hass, turn.language, "device_automation", LIGHT_DOMAIN, path, translated=True)
    if words is None:
        return ""
    for state in sorted(hass.states.async_all(LIGHT_DOMAIN), key=lambda state: state.name):
        if is_exposed(hass, state.entity_id, turn.user) and sentence.means.policy.may_change(turn, state.entity_id):
            example = words.replace("{entity_name}", state.name)
            said = replace(sentence.user_input, text=example)
            result = await sentence.agent.async_recognize_intent(said, strict_intents_only=True)
            if result is None or result.intent.name != intent.INTENT_TURN_ON or result.unmatched_entities:
                return ""
            return example
    return ""


async def async_explain_mismatch(sentence: Sentence, mismatch: Mismatch) -> intent.IntentResponse:
    """Return why there was nothing to act on, in Home Assistant's own words."""
    wording, name = wording_of(mismatch), mismatch.constraints.name
    if mismatch.reason is intent.MatchFailedReason.FEATURE and name:
        state = sentence.hass.states.get(name)
        speech = await _async_say(sentence, "local_unable", wording, target=state.name if state else name)
    else:
        speech = await async_own_words(sentence, wording)
    return error_response(sentence.turn, intent.IntentResponseErrorCode.NO_VALID_TARGETS, speech)


def wording_of(mismatch: Mismatch) -> Wording:
    """Return the sentence for a failed match; what is not exposed is never mentioned."""
    asked = mismatch.constraints
    match mismatch.reason:
        case intent.MatchFailedReason.DUPLICATE_NAME:
            return ErrorKey.DUPLICATE_ENTITIES, {"entity": asked.name}
        case intent.MatchFailedReason.MULTIPLE_TARGETS:
            return _DUPLICATE_TARGETS, {}
        case intent.MatchFailedReason.FEATURE:
            return ErrorKey.FEATURE_NOT_SUPPORTED, {}
        case intent.MatchFailedReason.STATE:
            return ErrorKey.ENTITY_WRONG_STATE, {"state": next(iter(asked.states or ("",)))}
    subject: dict[str, Any]
    if asked.name:
        kind, subject = "entity", {"entity": asked.name}
    elif asked.device_classes:
        kind, subject = "device_class", {"device_class": next(iter(asked.device_classes))}
    elif asked.domains:
        kind, subject = "domain", {"domain": next(iter(asked.domains))}
    else:
        return _NOT_UNDERSTOOD
    for scope, place in (("area", asked.area_name), ("floor", asked.floor_name)):
        if place:
            return f"no_{kind}_in_{scope}", subject | {scope: place}
    return f"no_{kind}", subject


async def async_own_words(sentence: Sentence, wording: Wording) -> str:
    """Return Home Assistant's own sentence; in a language without it, that nothing was understood, else ""."""
    intents = await sentence.agent.async_get_or_load_intents(sentence.turn.language)
    if intents is None:
        return ""
    key, values = wording
    template = intents.error_responses.get(key) or intents.error_responses.get(ErrorKey.NO_INTENT) or ""
    return str(Template(template, sentence.hass).async_render(dict(values), parse_result=False))


async def _async_say(sentence: Sentence, key: str, wording: Wording, **placeholders: str) -> str:
    """Return our sentence, or Home Assistant's own where ours is not translated yet."""
    hass, language = sentence.hass, sentence.turn.language
    if not await async_has_text(hass, language, key) and (own := await async_own_words(sentence, wording)):
        return own
    return await async_text(hass, language, key, **placeholders)


async def _async_unknown(sentence: Sentence, nearest: NearestSentence) -> tuple[str, str] | None:
    """Return the name that the home does not know, and whether it is an area's, a floor's or a device's.

    None if it is hardly a name: the recogniser fills its sentences with any words. If two parts fit nothing, or it is a question,
    only what the language has a word for counts: a kind, a room or a thing.
    """
    if (result := nearest.result) is None:
        return None
    if result.intent.name == intent.INTENT_GET_STATE and not set(result.entities) - {"name"}:
        return None  # "what is ..." fits any question: not about a device called "love"
    texts = {
        slot: text
        for slot, unmatched in result.unmatched_entities.items()
        if isinstance(unmatched, UnmatchedTextEntity) and (text := unmatched.text.strip()) not in ("", MISSING_ENTITY)
    }
    if not texts or not texts.keys() <= _UNKNOWN.keys():
        return None
    slot = next(slot for slot in _UNKNOWN if slot in texts)
    name = texts[slot].replace(_nonsense(nearest.hidden), nearest.hidden) if nearest.hidden else texts[slot]
    language = sentence.language
    said = [[fold(run) for run in runs(text)] for text in (name, *(texts[other] for other in texts if other != slot))]
    if any(language.has_everything(words) or language.fillers.issuperset(words) for words in said):
        return None
    doubtful = len(texts) > 1 or result.intent.name in QUESTIONS
    if doubtful and not all(language.names_thing(words) for words in said):
        return None
    return (slot, name) if _is_name(name, result.original_text) else None


def _nonsense(name: str) -> str:
    """Return as many words, none of which a sentence of any language has."""
    return " ".join(_NONSENSE for _ in name.split())


def _is_name(name: str, text: str) -> bool:
    """Return whether it can be a name; a short word within the sentence ("the", "all") is one of the language."""
    return bool(name) and not (_SHORT_WORD.fullmatch(name) and not text.rstrip(" .!?").endswith(name))
