"""Actions of phrases that were learned."""

from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.helpers import config_validation as cv
from homeassistant.util.json import JsonObjectType
import probatio

from ..languages.phrases import plain_words
from ..local.learned import LearnedPhrase, learned_phrases_of
from .call import async_register, invalid

FORGET_LEARNED_PHRASE_SCHEMA = probatio.Schema({probatio.Required("phrase"): cv.string})


async def _async_list_learned_phrases(call: ServiceCall) -> ServiceResponse:
    """Return the phrases that are learned, were seen, proposed, rejected or taken out of use, the newest first.

    Administrators and automations see all, others what they said first.
    """
    return {"phrases": [_learned_phrase(row) for row in reversed(await _async_phrases(call))]}


async def _async_phrases(call: ServiceCall) -> list[LearnedPhrase]:
    """Return the phrases of which whoever calls may know, oldest first."""
    user_id = call.context.user_id
    user = await call.hass.auth.async_get_user(user_id) if user_id else None
    is_others = user_id is not None and not (user is not None and user.is_admin)
    return [row for row in learned_phrases_of(call.hass).rows() if not is_others or row.user_id == user_id]


def _learned_phrase(row: LearnedPhrase) -> JsonObjectType:
    """Return a row of the list: the words, what is done for them, what became of it, how often it was said, by whom first."""
    kept = row.as_dict()
    return {
        **{key: kept[key] for key in ("id", "text", "language", "status", "seen", "used", "user_id", "when")},
        "also_for": row.slot.value or None,
        "area_id": row.area_id or None,
        "actions": [
            {"action": f"{effect.domain}.{effect.service}", "entity_id": [*effect.entity_ids], "data": {**effect.data}}
            for effect in row.effects
        ],
    }


async def _async_forget_learned_phrase(call: ServiceCall) -> ServiceResponse:
    """Forget a phrase by its words or its id, whatever became of it; return what was forgotten."""
    wanted, found = call.data["phrase"], list[LearnedPhrase]()
    for row in await _async_phrases(call):
        if wanted == row.id or plain_words(wanted, row.language) == plain_words(row.text, row.language):
            found.append(row)
    if not found:
        raise invalid("learned_phrase_not_found", phrase=wanted)
    learned_phrases_of(call.hass).async_forget(found)
    return {"forgotten": [_learned_phrase(row) for row in found]}


@callback
def async_register_phrases(hass: HomeAssistant) -> None:
    """Register them."""
    forget = ("forget_learned_phrase", _async_forget_learned_phrase, FORGET_LEARNED_PHRASE_SCHEMA)
    async_register(
        hass,
        (
            ("list_learned_phrases", _async_list_learned_phrases, probatio.Schema({}), SupportsResponse.ONLY),
            (*forget, SupportsResponse.OPTIONAL),
        ),
    )
