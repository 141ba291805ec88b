"""What is said when the house cannot answer: what was missing, in the user's language, and what would help."""

from collections.abc import Mapping
from typing import Any

from hassil.models import UnmatchedTextEntity
from hassil.recognize import MISSING_ENTITY
from home_assistant_intents import ErrorKey
from homeassistant.components.conversation import ConversationInput
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, TemplateError
from homeassistant.helpers import intent
from homeassistant.helpers.template import Template

from ..const import DOMAIN, SUBENTRY_LLM
from ..texts import async_error_text, async_has_text, async_text
from ..turn import Turn
from .actions import Mismatch

type Wording = tuple[str, Mapping[str, Any]]
"""A key of Home Assistant's own error sentences, which exist in all its languages, and what its template needs."""

_NOT_UNDERSTOOD: Wording = (ErrorKey.NO_INTENT, {})
_UNKNOWN = {
    "area": (ErrorKey.NO_AREA, "area"),
    "floor": (ErrorKey.NO_FLOOR, "floor"),
    "name": (ErrorKey.NO_ENTITY, "entity"),
}
_DUPLICATE_TARGETS = "duplicate_targets"


async def async_explain(
    hass: HomeAssistant, agent: DefaultAgent, turn: Turn, user_input: ConversationInput
) -> intent.IntentResponse:
    """Return why a sentence was not recognised. A name that is not exposed is as unknown as one that does not exist."""
    if unknown := await _async_unknown(agent, user_input):
        slot, name = unknown
        own_key, placeholder = _UNKNOWN[slot]
        wording: Wording = (own_key, {placeholder: name})
        speech = await _async_say(hass, agent, turn, "local_unknown_name", wording, name=name)
        return _error(turn, intent.IntentResponseErrorCode.NO_VALID_TARGETS, speech)
    key = "local_not_understood_with_model" if _has_model(hass) else "local_not_understood"
    speech = await _async_say(hass, agent, turn, key, _NOT_UNDERSTOOD)
    return _error(turn, intent.IntentResponseErrorCode.NO_INTENT_MATCH, speech)


async def async_explain_mismatch(
    hass: HomeAssistant, agent: DefaultAgent, turn: Turn, mismatch: Mismatch
) -> intent.IntentResponse:
    """Return why there was nothing to act on, in Home Assistant's own words."""
    speech = await _async_own_words(hass, agent, turn, wording_of(mismatch)) or await _async_own_words(
        hass, agent, turn, _NOT_UNDERSTOOD
    )
    return _error(turn, intent.IntentResponseErrorCode.NO_VALID_TARGETS, speech)


async def async_refuse(hass: HomeAssistant, turn: Turn, refusal: HomeAssistantError) -> intent.IntentResponse:
    """Return the policy's refusal, with names instead of entity ids."""
    placeholders = dict(refusal.translation_placeholders or {})
    if target := placeholders.get("target"):
        placeholders["target"] = ", ".join(_name_of(hass, entity_id) for entity_id in target.split(", "))
    if refusal.translation_domain == DOMAIN and refusal.translation_key:
        speech = await async_text(hass, turn.language, refusal.translation_key, **placeholders)
    else:
        speech = await async_error_text(hass, turn.language, refusal)
    return _error(turn, intent.IntentResponseErrorCode.FAILED_TO_HANDLE, speech)


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


async def _async_unknown(agent: DefaultAgent, user_input: ConversationInput) -> tuple[str, str] | None:
    """Return which name of the sentence the house does not know, and whether it is an area's, a floor's or a device's."""
    result = await agent.async_recognize_intent(user_input)
    if result is None:
        return None
    for slot in _UNKNOWN:
        unmatched = result.unmatched_entities.get(slot)
        if isinstance(unmatched, UnmatchedTextEntity) and unmatched.text != MISSING_ENTITY and unmatched.text.strip():
            return slot, unmatched.text.strip()
    # Everything matched, and yet not strictly: the name is one that is not exposed.
    if not result.unmatched_entities and (hidden := result.entities.get("name")):
        return "name", hidden.text_clean
    return None


async def _async_say(
    hass: HomeAssistant, agent: DefaultAgent, turn: Turn, key: str, wording: Wording, **placeholders: str
) -> str:
    """Return our sentence, or Home Assistant's own where ours is not translated yet."""
    if not await async_has_text(hass, turn.language, key) and (
        speech := await _async_own_words(hass, agent, turn, wording)
    ):
        return speech
    return await async_text(hass, turn.language, key, **placeholders)


async def _async_own_words(hass: HomeAssistant, agent: DefaultAgent, turn: Turn, wording: Wording) -> str:
    """Return Home Assistant's own sentence, "" when the language has none."""
    intents = await agent.async_get_or_load_intents(turn.language)
    key, values = wording
    if intents is None or not (template := intents.error_responses.get(key)):
        return ""
    try:
        return str(Template(template, hass).async_render(dict(values), parse_result=False))
    except TemplateError:
        return ""


def _name_of(hass: HomeAssistant, entity_id: str) -> str:
    state = hass.states.get(entity_id)
    return state.name if state else entity_id


def _has_model(hass: HomeAssistant) -> bool:
    """Return whether the owner has connected a model at all."""
    return any(entry.get_subentries_of_type(SUBENTRY_LLM) for entry in hass.config_entries.async_loaded_entries(DOMAIN))


def _error(turn: Turn, code: intent.IntentResponseErrorCode, speech: str) -> intent.IntentResponse:
    response = intent.IntentResponse(language=turn.language)
    response.async_set_error(code, speech)
    return response
