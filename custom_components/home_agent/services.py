"""The actions of the integration: talk, confirm, undo, run a tool; index the home; documents and memories."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
import time
from typing import Any, cast

from homeassistant.auth.models import User
from homeassistant.components import conversation
from homeassistant.const import ATTR_ENTITY_ID, ATTR_NAME, SERVICE_RELOAD
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv, entity_registry as er, llm, service
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonObjectType, JsonValueType, json_loads
import probatio

from .agent.runtime import HomeAgentConfigEntry, RuntimeData
from .home.exposure import may_know, may_tell
from .home.taught_names import Status, TaughtName, has_alias, taught_names_of, title_of
from .languages.data import LANGUAGE_CODE, code_of
from .languages.phrases import MASK
from .memory.memories import Memories
from .memory.model import ALL, MAX_CONTENT, TAINTED, Draft, Memory, MemorySource, MemoryType, Scope
from .policy.channels import async_put_outside, async_reaches_others, is_channel
from .policy.confirmation import Confirmation
from .policy.confirmed import async_answer_elsewhere
from .policy.journal import Action, Sees
from .policy.teaching import ForgetName
from .policy.undo import HaUndo
from .search.files import path_within
from .search.passages import COLLECTION, Entry
from .settings.memory import USER
from .settings.profile import ContextEntity, Profile
from .support.const import DOMAIN
from .support.encoding import plain_text
from .support.errors import KnowledgeError, ToolError
from .support.text import phrase
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
ATTR_MEMORY_ID = "memory_id"
ATTR_CONTENT = "content"
ATTR_TYPE = "type"
ATTR_OWNER = "owner"
ATTR_IMPORTANCE = "importance"
ATTR_MIN_IMPORTANCE = "min_importance"
ATTR_EXPIRES_AT = "expires_at"
ATTR_HISTORY = "history"
ATTR_QUERY = "query"
ATTR_CONFIRM = "confirm"
HOME = "home"
"""The owner of what belongs to nobody in particular."""
MAX_TEXT = 200_000  # characters; what is longer is a file
MAX_TITLE = 200  # characters
MAX_HOURS = 100_000
MAX_METADATA = 20  # values
MAX_LISTED = 10_000  # memories of one response
MAX_FOUND = 100
MAX_QUERY = 500  # characters
ADDED_IMPORTANCE = 0.7
"""Of what an action stores and says nothing about."""
MEMORY_REFUSALS = {
    "empty": "memory_content",
    "too_long": "memory_content",
    "full": "memory_full",
    "unwritable": "memory_unwritable",
    "off": "memory_off",
}
"""The sentence for why something is not remembered."""


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
FORGET_TAUGHT_NAME_SCHEMA = probatio.Schema({probatio.Required(ATTR_NAME): cv.string})
REMOVE_DOCUMENT_SCHEMA = probatio.Schema({probatio.Required(ATTR_DOCUMENT): cv.string})

_MEMORY_TYPE = probatio.In([item.value for item in MemoryType])
_SHARE = probatio.All(probatio.Coerce(float), probatio.Range(min=0, max=1))
_CONTENT = probatio.All(cv.string, probatio.Length(min=1, max=MAX_CONTENT))
LIST_MEMORIES_SCHEMA = probatio.Schema(
    {
        probatio.Optional(ATTR_TYPE): _MEMORY_TYPE,
        probatio.Optional(ATTR_OWNER): cv.string,
        probatio.Optional(ATTR_HISTORY, default=False): cv.boolean,
        probatio.Optional(ATTR_LIMIT, default=100): probatio.All(cv.positive_int, probatio.Range(max=MAX_LISTED)),
    }
)
SEARCH_MEMORIES_SCHEMA = probatio.Schema(
    {
        probatio.Required(ATTR_QUERY): probatio.All(cv.string, probatio.Length(min=1, max=MAX_QUERY)),
        probatio.Optional(ATTR_OWNER): cv.string,
        probatio.Optional(ATTR_MIN_IMPORTANCE, default=0.0): _SHARE,
        probatio.Optional(ATTR_LIMIT, default=10): probatio.All(cv.positive_int, probatio.Range(max=MAX_FOUND)),
    }
)
ADD_MEMORY_SCHEMA = probatio.Schema(
    {
        probatio.Required(ATTR_CONTENT): _CONTENT,
        probatio.Optional(ATTR_TYPE, default=MemoryType.FACT.value): _MEMORY_TYPE,
        probatio.Optional(ATTR_OWNER): cv.string,
        probatio.Optional(ATTR_IMPORTANCE, default=ADDED_IMPORTANCE): _SHARE,
        probatio.Optional(ATTR_EXPIRES_AT): cv.datetime,
        probatio.Optional(ATTR_LANGUAGE): cv.string,
    }
)
UPDATE_MEMORY_SCHEMA = probatio.Schema(
    {
        probatio.Required(ATTR_MEMORY_ID): cv.string,
        probatio.Optional(ATTR_CONTENT): _CONTENT,
        probatio.Optional(ATTR_TYPE): _MEMORY_TYPE,
        probatio.Optional(ATTR_OWNER): cv.string,
        probatio.Optional(ATTR_IMPORTANCE): _SHARE,
        probatio.Optional(ATTR_EXPIRES_AT): probatio.Any(None, cv.datetime),
    }
)
DELETE_MEMORY_SCHEMA = probatio.Schema(
    {probatio.Required(ATTR_MEMORY_ID): probatio.All(cv.ensure_list_csv, [cv.string], probatio.Length(min=1))}
)
CLEAR_MEMORIES_SCHEMA = probatio.Schema(
    {probatio.Required(ATTR_CONFIRM): cv.boolean, probatio.Optional(ATTR_OWNER): cv.string}
)
EXPORT_MEMORIES_SCHEMA = probatio.Schema({probatio.Optional(ATTR_OWNER): cv.string})


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
        ("list_taught_names", _async_list_taught_names, probatio.Schema({}), SupportsResponse.ONLY),
        ("clear_history", _async_clear_history, CLEAR_HISTORY_SCHEMA, SupportsResponse.OPTIONAL),
        ("list_memories", _async_list_memories, LIST_MEMORIES_SCHEMA, SupportsResponse.ONLY),
        ("search_memories", _async_search_memories, SEARCH_MEMORIES_SCHEMA, SupportsResponse.ONLY),
        ("add_memory", _async_add_memory, ADD_MEMORY_SCHEMA, SupportsResponse.OPTIONAL),
        ("update_memory", _async_update_memory, UPDATE_MEMORY_SCHEMA, SupportsResponse.OPTIONAL),
        ("delete_memory", _async_delete_memory, DELETE_MEMORY_SCHEMA, SupportsResponse.OPTIONAL),
        ("clear_memories", _async_clear_memories, CLEAR_MEMORIES_SCHEMA, SupportsResponse.OPTIONAL),
        ("export_memories", _async_export_memories, EXPORT_MEMORIES_SCHEMA, SupportsResponse.ONLY),
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
        ("forget_taught_name", _async_forget_taught_name, FORGET_TAUGHT_NAME_SCHEMA),
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
    """Read the owner's tools and secrets in configuration.yaml again, and the folders of documents."""
    await async_read_again(call.hass)
    entries: list[HomeAgentConfigEntry] = call.hass.config_entries.async_loaded_entries(DOMAIN)
    for entry in entries:
        await entry.runtime_data.custom_tools.async_load()
        await entry.runtime_data.knowledge.async_refresh()
        await entry.runtime_data.documents.async_load(entry.runtime_data.profiles.values())
        entry.runtime_data.transcripts.async_renew_instructions()


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


async def _async_list_memories(call: ServiceCall) -> ServiceResponse:
    """Return memories, the newest first, as flat rows, and how many there are."""
    memories, scope = await _async_scope(call)
    kind = MemoryType(call.data[ATTR_TYPE]) if ATTR_TYPE in call.data else None
    owner = await _async_owner(call, scope)
    known = memories.of(scope, type=kind, owner=owner, with_history=call.data[ATTR_HISTORY])
    known.sort(key=lambda memory: memory.extracted_at, reverse=True)
    names = await _async_names(call.hass)
    return {
        "memories": [_memory_row(memory, names) for memory in known[: call.data[ATTR_LIMIT]]],
        "count": len(known),
    }


async def _async_search_memories(call: ServiceCall) -> ServiceResponse:
    """Return the memories that fit a text, best first, as flat rows with their score."""
    memories, scope = await _async_scope(call)
    owner = await _async_owner(call, scope)
    owners = {owner} if owner != ALL else {memory.owner for memory in memories.of(scope)}
    found = await memories.async_find(
        call.data[ATTR_QUERY],
        Scope(owners=frozenset(owners), owner=None),
        limit=call.data[ATTR_LIMIT],
        min_importance=call.data[ATTR_MIN_IMPORTANCE],
        language=code_of(call.hass.config.language),
    )
    names = await _async_names(call.hass)
    return {"memories": [{**_memory_row(item.memory, names), "score": round(item.score, 3)} for item in found]}


async def _async_add_memory(call: ServiceCall) -> ServiceResponse:
    """Store a memory; return what became of it. Raises for what is not kept."""
    memories, scope = await _async_scope(call)
    if ATTR_OWNER in call.data:
        owner = await _async_owner(call, scope)
    else:
        owner = scope.owner if scope else _writes_for(memories, call.context.user_id)
    language = call.data.get(ATTR_LANGUAGE) or call.hass.config.language
    if not LANGUAGE_CODE.fullmatch(language):
        raise _invalid("language_invalid")
    turn = current_turn.get(None)
    taints = sorted(turn.record.taints) if turn else []
    [added] = await memories.async_add(
        [
            Draft(
                content=call.data[ATTR_CONTENT],
                type=MemoryType(call.data[ATTR_TYPE]),
                owner=owner,
                source=MemorySource.SERVICE,
                importance=call.data[ATTR_IMPORTANCE],
                language=code_of(language),
                expires_at=_in_utc(call.data.get(ATTR_EXPIRES_AT)),
                metadata={TAINTED: [*taints]} if taints else {},
            )
        ]
    )
    if (memory := added.memory) is None:
        raise _invalid(MEMORY_REFUSALS[added.reason or "unwritable"], limit=str(MAX_CONTENT))
    return {
        "outcome": added.outcome,
        **_memory_row(memory, await _async_names(call.hass)),
        "replaced": [item.id for item in added.replaced],
        "dropped": [item.id for item in added.dropped],
    }


async def _async_update_memory(call: ServiceCall) -> ServiceResponse:
    """Change a memory; return it as it is now."""
    memories, scope = await _async_scope(call)
    [memory_id] = _known_ids(memories, scope, [call.data[ATTR_MEMORY_ID]])
    changes = {key: call.data[key] for key in (ATTR_CONTENT, ATTR_IMPORTANCE) if key in call.data}
    if ATTR_TYPE in call.data:
        changes[ATTR_TYPE] = MemoryType(call.data[ATTR_TYPE])
    if ATTR_OWNER in call.data:
        changes[ATTR_OWNER] = await _async_owner(call, scope)
    if ATTR_EXPIRES_AT in call.data:
        changes[ATTR_EXPIRES_AT] = _in_utc(call.data[ATTR_EXPIRES_AT])
    memory = await memories.async_update(memory_id, **changes)
    return _memory_row(memory, await _async_names(call.hass))


async def _async_delete_memory(call: ServiceCall) -> ServiceResponse:
    """Delete memories by their ids; return how many. Works while memory is off as well."""
    memories, scope = await _async_scope(call, also_off=True)
    return {"deleted": await memories.async_delete(_known_ids(memories, scope, call.data[ATTR_MEMORY_ID]))}


async def _async_clear_memories(call: ServiceCall) -> ServiceResponse:
    """Delete all memories of one owner, or of all; return how many. Works while memory is off as well.

    Without an owner administrators and automations mean all, others their own.
    """
    if not call.data[ATTR_CONFIRM]:
        raise _invalid("memory_confirm")
    memories, scope = await _async_scope(call, also_off=True)
    owner: str | None = call.context.user_id
    if ATTR_OWNER in call.data or scope is None:
        owner = await _async_owner(call, scope)
    elif owner is None:  # a voice device: nobody's but the home's
        owner = scope.owner
    return {"deleted": await memories.async_clear(owner)}


async def _async_export_memories(call: ServiceCall) -> ServiceResponse:
    """Return memories with everything that is kept of them, what was replaced included, the oldest first."""
    memories, scope = await _async_scope(call)
    found = memories.of(scope, owner=await _async_owner(call, scope), with_history=True)
    found.sort(key=lambda memory: memory.extracted_at)
    return {
        "exported_at": dt_util.utcnow().isoformat(),
        "count": len(found),
        "memories": [cast(JsonValueType, memory.as_dict()) for memory in found],
    }


async def _async_scope(call: ServiceCall, *, also_off: bool = False) -> tuple[Memories, Scope | None]:
    """Return the memories, and whose an action may read and write; None: everybody's, for administrators and automations.

    Others have their own and the home's. What a model has started, a script or a tool, has what its turn has. Raises while
    memory is off, unless the action is for what is left `also_off`.
    """
    memories = _runtime(call.hass).memories
    await memories.async_load()
    if (turn := current_turn.get(None)) is not None:
        if (scope := memories.scope_of(turn)) is None:
            raise _invalid("memory_off")
        return memories, scope
    if not (memories.settings.enabled or also_off):
        raise _invalid("memory_off")
    user_id = call.context.user_id
    user = await call.hass.auth.async_get_user(user_id) if user_id else None
    if user_id is None or (user is not None and user.is_admin):
        return memories, None
    return memories, Scope(owners=frozenset({None, user_id}), owner=_writes_for(memories, user_id))


def _writes_for(memories: Memories, user_id: str | None) -> str | None:
    """Return whose it becomes what a user stores and names no owner of."""
    return user_id if memories.settings.scope == USER else None


async def _async_owner(call: ServiceCall, scope: Scope | None) -> str | None:
    """Return whose memories are asked for: the home's (None), those of a user, or `ALL` that may be asked for.

    Raises for somebody whose memories are not for whoever calls, or who does not exist.
    """
    if (wanted := call.data.get(ATTR_OWNER)) is None:
        return ALL
    owner = None if wanted == HOME else wanted
    if scope is not None and owner not in scope.owners:
        raise _invalid("memory_of_others")
    if scope is None and owner is not None and await call.hass.auth.async_get_user(owner) is None:
        known = _runtime(call.hass).memories.of(None, owner=owner, with_history=True)
        if not known:  # what a user has left who is gone can be found and deleted
            raise _invalid("memory_owner", owner=owner)
    return owner


def _known_ids(memories: Memories, scope: Scope | None, wanted: Sequence[str]) -> list[str]:
    """Return ids that whoever calls may name. Raises for one that nobody has, or somebody else."""
    known = {memory.id for memory in memories.of(scope, with_history=True)}
    for memory_id in wanted:
        if memory_id not in known:
            raise _invalid("memory_unknown", id=memory_id)
    return list(dict.fromkeys(wanted))


async def _async_names(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of users by their ids."""
    return {user.id: user.name or "" for user in await hass.auth.async_get_users()}


def _memory_row(memory: Memory, names: Mapping[str, str]) -> JsonObjectType:
    """Return a memory as a row of a table: texts, numbers and truth values only."""
    return {
        ATTR_MEMORY_ID: memory.id,
        ATTR_CONTENT: memory.content,
        ATTR_TYPE: memory.type.value,
        ATTR_OWNER: memory.owner or HOME,
        "owner_name": names.get(memory.owner, "") if memory.owner else "",
        "source": memory.source.value,
        ATTR_IMPORTANCE: round(memory.importance, 2),
        "extracted_at": memory.extracted_at.isoformat(),
        "last_accessed": memory.last_accessed.isoformat(),
        "accesses": memory.accesses,
        ATTR_EXPIRES_AT: memory.expires_at.isoformat() if memory.expires_at else None,
        ATTR_LANGUAGE: memory.language,
        TAINTED: ", ".join(memory.tainted),
        "replaced_by": memory.replaced_by,
    }


def _in_utc(moment: datetime | None) -> datetime | None:
    """Return a moment in UTC; one without a zone is in the home's."""
    return dt_util.as_utc(moment) if moment is not None else None


async def _async_list_taught_names(call: ServiceCall) -> ServiceResponse:
    """Return the names that were taught, proposed and declined, newest first, as far as whoever calls may know of them.

    Administrators and automations see all, others what was taught of what they may know, and what they proposed.
    """
    hass = call.hass
    user = await hass.auth.async_get_user(call.context.user_id) if call.context.user_id else None
    is_others = call.context.user_id is not None and not (user is not None and user.is_admin)
    rows: list[JsonValueType] = []
    for row in reversed(taught_names_of(hass).rows()):
        if is_others and row.user_id != call.context.user_id:
            if row.status is not Status.TAUGHT or not may_tell(hass, row.target, user):
                continue
        rows.append(_taught_name(hass, row))
    return {"names": rows}


def _taught_name(hass: HomeAssistant, row: TaughtName) -> JsonObjectType:
    """Return a row of the list: what is called what, since when and by whom, and whether its thing still has the name."""
    return {
        **row.as_dict(),
        "target_name": title_of(hass, row.target),
        "present": has_alias(hass, row.target, row.name),
    }


async def _async_forget_taught_name(call: ServiceCall) -> ServiceResponse:
    """Take a taught name away from its thing, or forget that it was proposed or declined; return what was forgotten."""
    hass, runtime = call.hass, _runtime(call.hass)
    names, wanted = taught_names_of(hass), phrase(call.data[ATTR_NAME])
    found = [row for row in names.rows() if phrase(row.name) == wanted]
    if not found:
        raise _invalid("taught_name_not_found", name=call.data[ATTR_NAME])
    forgotten: list[JsonValueType] = [_taught_name(hass, row) for row in found]
    profile = next(iter(runtime.profiles.values()), Profile())
    turn, tool = await _async_turn(call, profile, call.context.id), ForgetName()
    for row in found:
        if row.status is not Status.TAUGHT:
            names.async_forget(row.target, row.name)
            continue
        arguments = {"target": row.target, "name": row.name}
        result = await runtime.policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args=arguments))
        if result.error and turn.record.request_id is None:
            raise _invalid("tool_refused", detail=str(result.data["error"]))
    if turn.record.request_id is not None:
        return await async_put_outside(hass, runtime.policy, turn)
    return {"forgotten": forgotten}


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
