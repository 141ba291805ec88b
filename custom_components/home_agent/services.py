"""The actions of the integration: talk, confirm, undo, run a tool; index the home, add and remove documents."""

from dataclasses import asdict
from datetime import timedelta
from functools import partial
import time
from typing import Any, cast

from homeassistant.auth.models import User
from homeassistant.components import conversation
from homeassistant.const import ATTR_ENTITY_ID, SERVICE_RELOAD
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv, entity_registry as er, llm, service
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonObjectType, JsonValueType, json_loads
import probatio

from .agent.runtime import HomeAgentConfigEntry, RuntimeData
from .home.exposure import may_know
from .languages.data import LANGUAGE_CODE
from .languages.phrases import MASK
from .policy.channels import async_put_outside, async_reaches_others, is_channel
from .policy.confirmation import Confirmation
from .policy.confirmed import async_answer_elsewhere
from .policy.journal import Action, Sees
from .policy.undo import HaUndo
from .search.files import path_within
from .search.passages import COLLECTION, Entry
from .settings.profile import ContextEntity, Profile
from .support.const import DOMAIN
from .support.encoding import plain_text
from .support.errors import KnowledgeError, ToolError
from .tools.custom.configuration import async_read_again
from .tools.registry import TurnAPI, llm_context_of
from .turn.turn import Turn, TurnRequest, current_request, current_turn, running

ATTR_CONVERSATION_ID = "conversation_id"
ATTR_PROFILE = "profile"
ATTR_LANGUAGE = "language"
ATTR_CONTEXT_ENTITIES = "context_entities"
ATTR_ATTRIBUTES = "attributes"
ATTR_CONFIRM_VIA = "confirm_via"
ATTR_REQUEST_ID = "request_id"
ATTR_PIN = "pin"
ATTR_ACTION_ID = "action_id"
ATTR_HOURS = "hours"
ATTR_LIMIT = "limit"
ATTR_TOOL_NAME = "tool_name"
ATTR_PARAMETERS = "parameters"
ATTR_FORCE = "force"
ATTR_TEXT = "text"
ATTR_PATH = "path"
ATTR_COLLECTION = "collection"
ATTR_TITLE = "title"
ATTR_SOURCE = "source"
ATTR_OUTSIDE = "outside"
ATTR_METADATA = "metadata"
ATTR_DOCUMENT = "document"
MAX_TEXT = 200_000  # characters; what is longer is a file
MAX_TITLE = 200  # characters
MAX_HOURS = 100_000
MAX_METADATA = 20  # values


def _context_entity(value: object) -> ContextEntity:
    """Return whose states are told: an id or a pattern, or an object that names attributes besides (S1-102)."""
    if not isinstance(value, dict):
        return ContextEntity(pattern=cv.string(value))
    row = _CONTEXT_ROW(value)
    return ContextEntity(pattern=row[ATTR_ENTITY_ID], attributes=tuple(row[ATTR_ATTRIBUTES]))


def _object(value: object) -> dict[str, Any]:
    """Return the arguments of a tool, given as an object or as its JSON (S1-105)."""
    if isinstance(value, str):
        try:
            value = json_loads(value)
        except JSON_DECODE_EXCEPTIONS as err:
            raise probatio.Invalid("no JSON object") from err
    if not isinstance(value, dict):
        raise probatio.Invalid("no object")
    return value


_CONTEXT_ROW = probatio.Schema(
    {
        probatio.Required(ATTR_ENTITY_ID): cv.string,
        probatio.Optional(ATTR_ATTRIBUTES, default=list): probatio.All(cv.ensure_list_csv, [cv.string]),
    }
)
_CONFIRM_VIA = {probatio.Optional(ATTR_CONFIRM_VIA): probatio.All(cv.ensure_list_csv, [cv.string])}
PROCESS_SCHEMA = probatio.Schema(
    {
        probatio.Required(ATTR_TEXT): cv.string,
        probatio.Optional(ATTR_CONVERSATION_ID): cv.string,
        probatio.Optional(ATTR_PROFILE): cv.string,
        probatio.Optional(ATTR_LANGUAGE): cv.string,
        probatio.Optional(ATTR_CONTEXT_ENTITIES): probatio.All(cv.ensure_list_csv, [_context_entity]),
        **_CONFIRM_VIA,
    }
)
CONFIRM_SCHEMA = probatio.Schema(
    {probatio.Optional(ATTR_REQUEST_ID): cv.string, probatio.Optional(ATTR_PIN): cv.string}
)
REJECT_SCHEMA = probatio.Schema({probatio.Optional(ATTR_REQUEST_ID): cv.string})
UNDO_SCHEMA = probatio.Schema(
    {
        probatio.Optional(ATTR_ACTION_ID): cv.string,
        probatio.Optional(ATTR_CONVERSATION_ID): cv.string,
        probatio.Optional(ATTR_FORCE, default=False): cv.boolean,
        **_CONFIRM_VIA,
    }
)
LIST_ACTIONS_SCHEMA = probatio.Schema(
    {
        probatio.Optional(ATTR_HOURS): cv.positive_float,
        probatio.Optional(ATTR_CONVERSATION_ID): cv.string,
        probatio.Optional(ATTR_ENTITY_ID): cv.entity_ids,
        probatio.Optional(ATTR_LIMIT, default=50): cv.positive_int,
    }
)
CLEAR_HISTORY_SCHEMA = probatio.Schema({probatio.Optional(ATTR_CONVERSATION_ID): cv.string})
EXECUTE_TOOL_SCHEMA = probatio.Schema(
    {
        probatio.Required(ATTR_TOOL_NAME): cv.string,
        probatio.Optional(ATTR_PARAMETERS, default=dict): _object,
        probatio.Optional(ATTR_PROFILE): cv.string,
        **_CONFIRM_VIA,
    }
)

_TITLE = probatio.All(cv.string, probatio.Length(max=MAX_TITLE))
_NUMBER = probatio.All(probatio.Any(int, float), probatio.Range(min=-(2**53), max=2**53))  # exact in JSON, and no NaN
_VALUE = probatio.Any(bool, _NUMBER, probatio.All(str, probatio.Length(max=500)))

REINDEX_SCHEMA = probatio.Schema({probatio.Optional(ATTR_FORCE, default=False): cv.boolean})
INDEX_ENTITY_SCHEMA = probatio.Schema({probatio.Required(ATTR_ENTITY_ID): cv.entity_id})
ADD_DOCUMENT_SCHEMA = probatio.Schema(
    {
        probatio.Optional(ATTR_TEXT): probatio.All(cv.string, probatio.Length(min=1, max=MAX_TEXT)),
        probatio.Optional(ATTR_PATH): cv.string,
        probatio.Optional(ATTR_COLLECTION, default=COLLECTION): cv.string,
        probatio.Optional(ATTR_TITLE, default=""): _TITLE,
        probatio.Optional(ATTR_SOURCE, default=""): _TITLE,
        probatio.Optional(ATTR_OUTSIDE, default=False): cv.boolean,
        probatio.Optional(ATTR_METADATA, default=dict): probatio.All({str: _VALUE}, probatio.Length(max=MAX_METADATA)),
    }
)
REMOVE_DOCUMENT_SCHEMA = probatio.Schema({probatio.Required(ATTR_DOCUMENT): cv.string})


@callback
def async_register_services(hass: HomeAssistant) -> None:
    """Register the actions; those that read or change the home's data as a whole, or run any tool, are for administrators."""
    process, confirm = (
        probatio.All(partial(_without_pin, hass, schema)) for schema in (PROCESS_SCHEMA, CONFIRM_SCHEMA)
    )
    for name, handler, schema, response in (
        ("process", _async_process, process, SupportsResponse.OPTIONAL),
        ("confirm", _async_confirm, confirm, SupportsResponse.OPTIONAL),
        ("reject", _async_reject, REJECT_SCHEMA, SupportsResponse.OPTIONAL),
        ("undo", _async_undo, UNDO_SCHEMA, SupportsResponse.OPTIONAL),
        ("list_actions", _async_list_actions, LIST_ACTIONS_SCHEMA, SupportsResponse.ONLY),
        ("clear_history", _async_clear_history, CLEAR_HISTORY_SCHEMA, SupportsResponse.OPTIONAL),
    ):
        hass.services.async_register(DOMAIN, name, handler, schema, supports_response=response)
    for name, reload in (("reload_context", _async_reload_context), (SERVICE_RELOAD, _async_reload)):
        service.async_register_admin_service(hass, DOMAIN, name, reload, probatio.Schema({}))
    for name, admin_handler, schema in (
        ("execute_tool", _async_execute_tool, EXECUTE_TOOL_SCHEMA),
        ("reindex_entities", _async_reindex_entities, REINDEX_SCHEMA),
        ("index_entity", _async_index_entity, INDEX_ENTITY_SCHEMA),
        ("add_document", _async_add_document, ADD_DOCUMENT_SCHEMA),
        ("remove_document", _async_remove_document, REMOVE_DOCUMENT_SCHEMA),
    ):
        service.async_register_admin_service(
            hass, DOMAIN, name, admin_handler, schema, supports_response=SupportsResponse.OPTIONAL
        )


def _without_pin(hass: HomeAssistant, schema: probatio.Schema, data: dict[str, Any]) -> dict[str, Any]:
    """Return the validated data of an action, and take what could be a PIN out of what was given.

    What was given stands in Home Assistant's event `call_service`, which is fired after this and which recorders keep; traces of
    scripts hold the same object.
    """
    validated: dict[str, Any] = schema(data)
    shown = {ATTR_PIN: MASK} if ATTR_PIN in validated else {}
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
    if ATTR_TEXT in validated and entries:
        language = validated.get(ATTR_LANGUAGE) or hass.config.language
        shown[ATTR_TEXT] = entries[0].runtime_data.policy.confirmations.without_pin(validated[ATTR_TEXT], language)
    for key, text in shown.items():
        if text != data[key]:
            data[key] = text
    return validated


async def _async_process(call: ServiceCall) -> ServiceResponse:
    """Let a profile answer; return the answer and what it took."""
    runtime = _runtime(call.hass)
    profile = _profile(call.hass, runtime, call.data.get(ATTR_PROFILE))
    if not LANGUAGE_CODE.fullmatch(call.data.get(ATTR_LANGUAGE) or call.hass.config.language):
        raise _invalid("language_invalid")
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    channels = await _async_channels(call, user)
    request = TurnRequest(context_entities=call.data.get(ATTR_CONTEXT_ENTITIES), confirm_via=channels)
    token = current_request.set(request)
    try:
        result = await conversation.async_converse(
            call.hass,
            call.data[ATTR_TEXT],
            call.data.get(ATTR_CONVERSATION_ID),
            call.context,
            language=call.data.get(ATTR_LANGUAGE),
            agent_id=_entity_id(call.hass, profile),
        )
    finally:
        current_request.reset(token)
    return _answer(result, request.turn)


async def _async_confirm(call: ServiceCall) -> ServiceResponse:
    """Answer an open question with yes; return what is true now."""
    runtime, confirmation, user = await _async_question(call)
    settled = await async_answer_elsewhere(
        call.hass, runtime.policy, confirmation, user, yes=True, pin=call.data.get(ATTR_PIN, "")
    )
    if settled is None:
        locked = runtime.policy.confirmations.locks_out(confirmation)
        raise _invalid("request_pin_locked" if locked else "request_pin_wrong")
    return {"answer": settled.text, "success": settled.done}


async def _async_reject(call: ServiceCall) -> ServiceResponse:
    """Answer an open question with no."""
    runtime, confirmation, user = await _async_question(call)
    settled = await async_answer_elsewhere(call.hass, runtime.policy, confirmation, user, yes=False)
    return {"answer": settled.text if settled else "", "success": True}


async def _async_question(call: ServiceCall) -> tuple[RuntimeData, Confirmation, User]:
    """Return the question that an action answers, and who answers.

    Without an id it is the only one that is open for them: a button on a dashboard cannot name one. Raises unless whoever
    answers asked, or is an administrator. A call from inside a turn is nobody's answer: a model may have started the script
    it is in.
    """
    runtime = _runtime(call.hass)
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    confirmations = runtime.policy.confirmations
    if (request_id := call.data.get(ATTR_REQUEST_ID)) is None and user is not None:
        own = [item.id for item in confirmations.open() if item.is_decided_by(user)]
        if len(own) != 1:
            raise _invalid("request_several" if own else "confirm_nothing")
        [request_id] = own
    confirmation = confirmations.get(str(request_id))
    if confirmation is None:
        raise _invalid("request_not_found")
    if user is None or current_turn.get(None) is not None or not confirmation.is_decided_by(user):
        raise _invalid("request_not_yours")
    return runtime, confirmation, user


async def _async_undo(call: ServiceCall) -> ServiceResponse:
    """Take back one action, or what whoever calls did last; return what became of it, or the question before it."""
    runtime, may_see = _runtime(call.hass), await _async_may_see(call)
    action_id, conversation_id = call.data.get(ATTR_ACTION_ID), call.data.get(ATTR_CONVERSATION_ID)

    def meant(action: Action) -> bool:
        if action_id is None and conversation_id is None:
            return action.user_id == call.context.user_id
        return may_see(action) and conversation_id in (None, action.conversation_id)

    tool = HaUndo(runtime.journal, force=call.data[ATTR_FORCE], sees=meant)
    profile = next(iter(runtime.profiles.values()), Profile())
    turn = await _async_turn(call, profile, conversation_id or call.context.id)
    arguments = {ATTR_ACTION_ID: action_id} if action_id else {}
    try:
        tool.way(call.hass, arguments, turn)
    except ToolError as err:
        raise _invalid(str(err.translation_key)) from err
    result = await runtime.policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=arguments))
    if turn.record.request_id is not None:
        return await async_put_outside(call.hass, runtime.policy, turn)
    if result.error:
        raise _invalid("tool_refused", detail=str(result.data["error"]))
    return cast(ServiceResponse, result.data["result"])


async def _async_list_actions(call: ServiceCall) -> ServiceResponse:
    """Return what was done, newest first; what a scene or a script changed only as far as whoever calls may know of it."""
    may_see = await _async_may_see(call)
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    hours, entity_ids = call.data.get(ATTR_HOURS), set(call.data.get(ATTR_ENTITY_ID, ()))
    if hours is not None and not hours <= MAX_HOURS:
        raise _invalid("list_hours", most=str(MAX_HOURS))
    begin = dt_util.utcnow() - timedelta(hours=hours) if hours is not None else None

    def knows(entity_id: str) -> bool:
        return may_know(user, entity_id)

    def concerned(action: Action) -> bool:
        found = entity_ids.intersection(action.before)
        return bool(found.difference(action.set_off)) or any(knows(entity_id) for entity_id in found)

    def wanted(action: Action) -> bool:
        return (
            may_see(action)
            and (begin is None or action.when >= begin)
            and call.data.get(ATTR_CONVERSATION_ID) in (None, action.conversation_id)
            and (not entity_ids or concerned(action))
        )

    found = _runtime(call.hass).journal.newest_first(wanted)
    return {"actions": [action.as_told(knows) for action in found[: call.data[ATTR_LIMIT]]]}


async def _async_may_see(call: ServiceCall) -> Sees:
    """Return which actions whoever calls may know of: administrators and automations all, others their own."""
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    if call.context.user_id is None or (user is not None and user.is_admin):
        return lambda action: True
    return lambda action: action.user_id == call.context.user_id


async def _async_clear_history(call: ServiceCall) -> ServiceResponse:
    """Forget conversations, live and stored ones; return how many of each. Who is no admin clears their own."""
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    own = None if user is not None and user.is_admin else call.context.user_id
    runtime, conversation_id = _runtime(call.hass), call.data.get(ATTR_CONVERSATION_ID)
    return {
        "cleared": runtime.transcripts.async_clear(conversation_id, user_id=own),
        "stored": await runtime.conversations.async_clear(conversation_id, user_id=own),
    }


async def _async_reload_context(call: ServiceCall) -> None:
    """Read the house again, now."""
    home = _runtime(call.hass).home
    home.async_invalidate()
    await home.async_get()


async def _async_reload(call: ServiceCall) -> None:
    """Read the owner's tools and secrets in configuration.yaml again, and the folder of documents."""
    await async_read_again(call.hass)
    entries: list[HomeAgentConfigEntry] = call.hass.config_entries.async_loaded_entries(DOMAIN)
    for entry in entries:
        await entry.runtime_data.custom_tools.async_load()
        await entry.runtime_data.knowledge.async_refresh()


async def _async_execute_tool(call: ServiceCall) -> ServiceResponse:
    """Run one tool under the policy, as the admin who asks; return its envelope, with the question if there is one."""
    runtime = _runtime(call.hass)
    profile = _profile(call.hass, runtime, call.data.get(ATTR_PROFILE))
    turn = await _async_turn(call, profile, call.context.id, agent_id=_entity_id(call.hass, profile))
    llm_context = llm_context_of(turn)
    tools = await runtime.tools.async_tools(profile, llm_context)
    if call.data[ATTR_TOOL_NAME] not in {tool.name for tool in tools}:
        names = ", ".join(sorted(tool.name for tool in tools))
        raise _invalid("tool_not_found", tool=call.data[ATTR_TOOL_NAME], tools=names)
    api = TurnAPI(
        hass=call.hass,
        id=f"{DOMAIN}-{turn.profile.subentry_id}",
        name=turn.profile.name,
        tools=tools,
        policy=runtime.policy,
    ).instance(llm_context)
    with running(turn):
        result = await api.async_call_tool(
            llm.ToolInput(tool_name=call.data[ATTR_TOOL_NAME], tool_args=call.data[ATTR_PARAMETERS])
        )
    if turn.record.request_id is not None:
        return result.data | await async_put_outside(call.hass, runtime.policy, turn)
    return result.data


async def _async_reindex_entities(call: ServiceCall) -> ServiceResponse:
    """Read the home again and index it; return what became of the entities."""
    began = time.perf_counter()
    finder = _runtime(call.hass).finder
    counts = await finder.async_reindex(anew=call.data[ATTR_FORCE])
    return {"entities": finder.report.entities, **asdict(counts), "duration_ms": _since(began)}


async def _async_index_entity(call: ServiceCall) -> ServiceResponse:
    """Index one entity; return what is known of it. Raises for one that is not exposed."""
    began = time.perf_counter()
    entity_id = call.data[ATTR_ENTITY_ID]
    document = await _runtime(call.hass).finder.async_index_entity(entity_id)
    if document is None:
        raise _invalid("entity_not_exposed", entity_id=entity_id)
    return {"entity_id": entity_id, "text": document.text, "duration_ms": _since(began)}


async def _async_add_document(call: ServiceCall) -> ServiceResponse:
    """Add a document, or replace the one of the same title; return how many passages it became."""
    if (ATTR_TEXT in call.data) == (ATTR_PATH in call.data):
        raise _invalid("document_text_or_path")
    data, knowledge, path = call.data, _runtime(call.hass).knowledge, ""
    try:
        if ATTR_PATH in data:
            path = await call.hass.async_add_executor_job(partial(path_within, knowledge.folder, data[ATTR_PATH]))
        entry = Entry(
            collection=data[ATTR_COLLECTION],
            title=plain_text(data[ATTR_TITLE] or _title(path or data[ATTR_TEXT])),
            source=plain_text(data[ATTR_SOURCE]),
            text=plain_text(data.get(ATTR_TEXT, "")),
            path=path,
            outside=data[ATTR_OUTSIDE],
            metadata=data[ATTR_METADATA],
        )
        passages = await knowledge.async_add(entry)
    except KnowledgeError as err:  # what was given is wrong, not what Home Agent does
        raise _invalid(str(err.translation_key), **(err.translation_placeholders or {})) from err
    return {ATTR_DOCUMENT: entry.key, ATTR_COLLECTION: entry.collection, "passages": len(passages)}


async def _async_remove_document(call: ServiceCall) -> ServiceResponse:
    """Remove a document that was added; return how many passages it had."""
    try:
        return {"passages": await _runtime(call.hass).knowledge.async_remove(call.data[ATTR_DOCUMENT])}
    except KnowledgeError as err:
        raise _invalid("knowledge_no_document", path=call.data[ATTR_DOCUMENT]) from err


def _title(text: str) -> str:
    """Return what a document is called that has no title: its first line."""
    return text.strip().splitlines()[0].lstrip("# ")[:MAX_TITLE] if text.strip() else ""


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)


def _runtime(hass: HomeAssistant) -> RuntimeData:
    entries: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
    if not entries:
        raise _invalid("not_loaded")
    return entries[0].runtime_data


def _invalid(key: str, **placeholders: str) -> ServiceValidationError:
    return ServiceValidationError(translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders)


async def _async_turn(call: ServiceCall, profile: Profile, conversation_id: str, agent_id: str = "") -> Turn:
    """Return a turn without words.

    What needs a yes can be asked about where `confirm_via` says; else whoever reads the response is asked, if that is a user
    and no turn, in which a model could answer itself.
    """
    user = await call.hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    return Turn(
        profile=profile,
        conversation_id=conversation_id,
        text="",
        language=call.hass.config.language,
        context=call.context,
        user=user,
        agent_id=agent_id,
        confirm_via=await _async_channels(call, user),
        direct=call.return_response and current_turn.get(None) is None,
    )


async def _async_channels(call: ServiceCall, user: User | None) -> tuple[str, ...]:
    """Return where a confirmation may be asked for.

    Raises `ServiceValidationError` for what is no such place, or the phone of somebody who could not answer.
    """
    channels = tuple(call.data.get(ATTR_CONFIRM_VIA, ()))
    for channel in channels:
        if not is_channel(call.hass, channel):
            raise _invalid("confirm_via_unknown", channel=channel)
        if await async_reaches_others(call.hass, channel, user):
            raise _invalid("confirm_via_others", channel=channel)
    return channels


def _answer(result: conversation.ConversationResult, turn: Turn | None) -> ServiceResponse:
    response = result.response
    answer: JsonObjectType = {
        "answer": response.speech.get("plain", {}).get("speech", ""),
        "success": response.error_code is None,
        "conversation_id": result.conversation_id,
        "continue_conversation": result.continue_conversation,
    }
    if turn is None:  # refused before it began: the conversation is busy
        return answer
    calls = [
        {
            "tool_name": call.tool_name,
            "parameters": call.parameters,
            "success": call.success,
            "duration_ms": call.duration_ms,
        }
        for call in turn.record.calls
    ]
    return answer | {
        "answered_by": turn.record.origin.value,
        "confirmation": turn.record.request_id,
        "tool_calls": cast(JsonValueType, calls),
        "tokens": {
            "prompt": turn.record.usage.input_tokens,
            "completion": turn.record.usage.output_tokens,
            "cached": turn.record.usage.cached_tokens,
        },
        "cached_share": turn.record.usage.cached_share,
        "prompt_ms": turn.record.usage.prompt_ms,
        "first_token_ms": turn.record.first_token_ms,
        "duration_ms": turn.record.duration_ms,
    }


def _profile(hass: HomeAssistant, runtime: RuntimeData, wanted: str | None) -> Profile:
    """Return the profile with this name, id or conversation entity; the first one when nothing is asked for."""
    profiles = list(runtime.profiles.values())
    if wanted is None and profiles:
        return profiles[0]
    for profile in profiles:
        names = (profile.subentry_id, profile.name.casefold(), _entity_id(hass, profile))
        if wanted is not None and (wanted in names or wanted.casefold() in names):
            return profile
    raise _invalid("profile_not_found", profile=wanted or "", profiles=", ".join(item.name for item in profiles))


def _entity_id(hass: HomeAssistant, profile: Profile) -> str:
    entity_id = er.async_get(hass).async_get_entity_id(conversation.DOMAIN, DOMAIN, profile.subentry_id)
    if entity_id is None or hass.states.get(entity_id) is None:  # disabled by the owner
        raise _invalid("profile_not_found", profile=profile.name, profiles="")
    return entity_id
