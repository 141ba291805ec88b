"""Actions of what the users taught: other names of things, and learned phrases."""

from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import config_validation as cv, llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.exposure import may_tell
from ..home.taught_names import TaughtName, has_alias, taught_names_of, title_of
from ..languages.phrases import plain_words
from ..local.learned import LearnedPhrase, learned_phrases_of
from ..policy.channels import async_put_outside
from ..policy.teaching import ForgetName
from ..support.text import phrase
from ..turn.proposal import ProposalStatus
from .call import ServiceAction, async_may_see_all, async_stored, async_turn, async_user, invalid, runtime_of

FORGET_NAME_SCHEMA = probatio.Schema({probatio.Required("name"): cv.string})
FORGET_PHRASE_SCHEMA = probatio.Schema({probatio.Required("phrase"): cv.string})


async def _async_list_taught_names(call: ServiceCall) -> ServiceResponse:
    """Return the names, newest first: to administrators and automations all, to others their own and known ones."""
    hass, user, sees_all = call.hass, await async_user(call), await async_may_see_all(call)
    rows: list[JsonValueType] = []
    for row in reversed(taught_names_of(hass).rows()):
        if not sees_all and row.user_id != call.context.user_id:
            if row.status is not ProposalStatus.APPROVED or not may_tell(hass, row.target, user):
                continue
        rows.append(_taught_name(hass, row))
    return {"names": rows}


def _taught_name(hass: HomeAssistant, row: TaughtName) -> JsonObjectType:
    """Return a name as a row, with its thing's title, and whether the thing still has it."""
    return {
        **row.as_dict(),
        "target_name": title_of(hass, row.target),
        "present": has_alias(hass, row.target, row.name),
    }


async def _async_forget_taught_name(call: ServiceCall) -> ServiceResponse:
    """Remove a taught, proposed or declined name; return what was forgotten."""
    hass, runtime = call.hass, runtime_of(call.hass)
    names, wanted = taught_names_of(hass), phrase(call.data["name"])
    found = [row for row in names.rows() if phrase(row.name) == wanted]
    if not found:
        raise invalid("taught_name_not_found", name=call.data["name"])
    turn, tool = await async_turn(call, runtime.registry.default, call.context.id), ForgetName()
    for row in found:
        if row.status is not ProposalStatus.APPROVED:
            names.async_forget(row.target, row.name)
            continue
        arguments = {"target": row.target, "name": row.name}
        result = await runtime.policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=arguments))
        if result.error and turn.record.request_id is None:
            raise invalid("tool_refused", detail=str(result.data["error"]))
    if turn.record.request_id is not None:
        return await async_put_outside(hass, runtime.policy, turn)
    return await async_stored(call, {"forgotten": [_taught_name(hass, row) for row in found]}, names)


async def _async_list_learned_phrases(call: ServiceCall) -> ServiceResponse:
    """Return the learned phrases of every status, newest first."""
    return {"phrases": [_learned_phrase(row) for row in reversed(await _async_phrases(call))]}


async def _async_phrases(call: ServiceCall) -> list[LearnedPhrase]:
    """Return the phrases that the caller may see, oldest first: administrators and automations all, others their own."""
    sees_all = await async_may_see_all(call)
    return [row for row in learned_phrases_of(call.hass).rows() if sees_all or row.user_id == call.context.user_id]


def _learned_phrase(row: LearnedPhrase) -> JsonObjectType:
    """Return a phrase as a row, with its actions."""
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
    """Forget phrases of any status by their words or id; return what was forgotten."""
    wanted = call.data["phrase"]
    found = [
        row
        for row in await _async_phrases(call)
        if wanted == row.id or plain_words(wanted, row.language) == plain_words(row.text, row.language)
    ]
    if not found:
        raise invalid("learned_phrase_not_found", phrase=wanted)
    phrases = learned_phrases_of(call.hass)
    phrases.async_forget(found)
    return await async_stored(call, {"forgotten": [_learned_phrase(row) for row in found]}, phrases)


ACTIONS = (
    ServiceAction("list_taught_names", _async_list_taught_names, response=SupportsResponse.ONLY),
    ServiceAction("forget_taught_name", _async_forget_taught_name, FORGET_NAME_SCHEMA, for_admins=True),
    ServiceAction("list_learned_phrases", _async_list_learned_phrases, response=SupportsResponse.ONLY),
    ServiceAction("forget_learned_phrase", _async_forget_learned_phrase, FORGET_PHRASE_SCHEMA),
)
