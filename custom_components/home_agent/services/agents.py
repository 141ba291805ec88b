"""Actions of agents: process a message, confirm, clear conversations, run a tool; settings and extensions of an agent."""

from functools import partial
from typing import Any, cast

from homeassistant.auth.models import User
from homeassistant.components import conversation
from homeassistant.const import ATTR_ENTITY_ID, ATTR_NAME, SERVICE_RELOAD
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, async_get_hass
from homeassistant.helpers import config_validation as cv, entity_registry as er, llm
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonObjectType, JsonValueType, json_loads
import probatio

from ..agent.runtime import HomeAgentConfigEntry, RuntimeData
from ..languages.data import LANGUAGE_CODE
from ..languages.digits import MASK
from ..policy.channels import async_put_outside
from ..policy.confirmation import Confirmation
from ..policy.confirmed import async_answer_elsewhere
from ..settings.portable import async_people, named, to_yaml
from ..settings.profile import BUILT_IN, ContextEntity, Profile, default_settings, merged, origins, settings_of
from ..support.const import CONF_PINS, DOMAIN
from ..support.encoding import plain_text
from ..support.localize import async_error_text
from ..tools.custom.configuration import async_read_again
from ..tools.registry import TurnAPI, llm_context_of
from ..turn.turn import Turn, TurnRequest, current_request, current_turn, running
from .call import (
    CONFIRM_VIA,
    ServiceAction,
    async_channels,
    async_may_see_all,
    async_stored,
    async_turn,
    async_user,
    invalid,
    runtime_of,
)

MAX_CONTEXT_ENTITIES = 500
"""Of one message: each is compared with every entity of the home."""


def _context_entity(value: object) -> ContextEntity:
    """Return a context entity, given as an id or a pattern, or as an object with attributes."""
    if not isinstance(value, dict):
        return ContextEntity(pattern=cv.string(value))
    row = _CONTEXT_ROW(value)
    return ContextEntity(pattern=row[ATTR_ENTITY_ID], attributes=tuple(row["attributes"]))


def _object(value: object) -> dict[str, Any]:
    """Return the arguments of a tool, given as an object or as JSON."""
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
        probatio.Optional("attributes", default=list): probatio.All(cv.ensure_list_csv, [cv.string]),
    }
)
PROCESS_SCHEMA = probatio.Schema(
    {
        probatio.Required("text"): cv.string,
        probatio.Optional("conversation_id"): cv.string,
        probatio.Optional("profile"): cv.string,
        probatio.Optional("language"): cv.string,
        probatio.Optional("context_entities"): probatio.All(
            cv.ensure_list_csv, probatio.Length(max=MAX_CONTEXT_ENTITIES), [_context_entity]
        ),
        **CONFIRM_VIA,
    }
)
CONFIRM_SCHEMA = probatio.Schema({probatio.Optional("request_id"): cv.string, probatio.Optional("pin"): cv.string})
REJECT_SCHEMA = probatio.Schema({probatio.Optional("request_id"): cv.string})
CLEAR_HISTORY_SCHEMA = probatio.Schema({probatio.Optional("conversation_id"): probatio.All(cv.string, plain_text)})
PROFILE_SCHEMA = probatio.Schema({probatio.Optional("profile"): cv.string})
EXECUTE_TOOL_SCHEMA = probatio.Schema(
    {
        probatio.Required("tool_name"): cv.string,
        probatio.Optional("parameters", default=dict): _object,
        probatio.Optional("profile"): cv.string,
        **CONFIRM_VIA,
    }
)


def _without_pin(schema: probatio.Schema, data: dict[str, Any]) -> dict[str, Any]:
    """Return the validated data of an action, and mask a possible PIN in the original data.

    Home Assistant's event `call_service`, which the recorder keeps, is fired after this with the original data; traces of
    scripts hold the same object.
    """
    hass = async_get_hass()
    validated: dict[str, Any] = schema(data)
    shown = {"pin": MASK} if "pin" in validated else {}
    loaded: list[HomeAgentConfigEntry] = hass.config_entries.async_loaded_entries(DOMAIN)
    if "text" in validated and loaded:
        language = validated.get("language") or hass.config.language
        shown["text"] = loaded[0].runtime_data.policy.confirmations.without_pin(validated["text"], language)
    elif "text" in validated and any(
        entry.options.get(CONF_PINS) for entry in hass.config_entries.async_entries(DOMAIN)
    ):
        shown["text"] = MASK  # the words of numbers are read with the entry; no agent answers before
    for key, text in shown.items():
        if text != data[key]:
            data[key] = text
    return validated


async def _async_process(call: ServiceCall) -> ServiceResponse:
    """Let a profile answer; return the answer and its figures."""
    runtime = runtime_of(call.hass)
    profile = runtime.registry.choose(call.context.user_id)
    if (wanted := call.data.get("profile")) is not None:
        profile = _profile(call.hass, runtime, wanted)
    by_name = wanted is not None
    if not LANGUAGE_CODE.fullmatch(call.data.get("language") or call.hass.config.language):
        raise invalid("language_invalid")
    user = await async_user(call)
    channels = await async_channels(call, user)
    request = TurnRequest(context_entities=call.data.get("context_entities"), confirm_via=channels, by_name=by_name)
    token = current_request.set(request)
    try:
        result = await conversation.async_converse(
            call.hass,
            call.data["text"],
            call.data.get("conversation_id"),
            call.context,
            language=call.data.get("language"),
            agent_id=_entity_id(call.hass, profile),
        )
    finally:
        current_request.reset(token)
    return _answer(result, request.turn)


async def _async_confirm(call: ServiceCall) -> ServiceResponse:
    """Answer an open question with yes; return the result."""
    runtime, confirmation, user = await _async_question(call)
    settled = await async_answer_elsewhere(
        call.hass, runtime.policy, confirmation, user, yes=True, pin=call.data.get("pin", "")
    )
    if settled is None:
        locked = runtime.policy.confirmations.locks_out(confirmation)
        raise invalid("request_pin_locked" if locked else "request_pin_wrong")
    return {"answer": settled.text, "success": settled.done}


async def _async_reject(call: ServiceCall) -> ServiceResponse:
    """Answer an open question with no."""
    runtime, confirmation, user = await _async_question(call)
    settled = await async_answer_elsewhere(call.hass, runtime.policy, confirmation, user, yes=False)
    return {"answer": settled.text if settled else "", "success": True}


async def _async_question(call: ServiceCall) -> tuple[RuntimeData, Confirmation, User]:
    """Return the runtime data, the question that an action answers, and the answering user.

    Without an id it is the user's only open question: a button on a dashboard has no id. Raises unless the user asked, or is
    an administrator, and for a call inside a turn: a model may have started the script.
    """
    runtime = runtime_of(call.hass)
    user = await async_user(call)
    confirmations = runtime.policy.confirmations
    if (request_id := call.data.get("request_id")) is None and user is not None:
        own = [item.id for item in confirmations.open() if item.is_decided_by(user)]
        if not own and confirmations.has_ended(None, user):
            raise invalid("confirm_ended")
        if len(own) != 1:
            raise invalid("request_several" if own else "confirm_nothing")
        [request_id] = own
    confirmation = confirmations.get(str(request_id))
    if confirmation is None:
        ended = user is not None and confirmations.has_ended(str(request_id), user)
        raise invalid("confirm_ended" if ended else "request_not_found")
    if user is None or current_turn.get(None) is not None or not confirmation.is_decided_by(user):
        raise invalid("request_not_yours")
    return runtime, confirmation, user


async def _async_clear_history(call: ServiceCall) -> ServiceResponse:
    """Forget live and stored conversations; return the number of each. Users other than administrators clear their own."""
    own = None if await async_may_see_all(call) else call.context.user_id
    runtime, conversation_id = runtime_of(call.hass), call.data.get("conversation_id")
    cleared = runtime.transcripts.async_clear(conversation_id, user_id=own)
    stored = await runtime.conversations.async_clear(conversation_id, user_id=own)
    done: JsonObjectType = {"cleared": cleared, "stored": stored}
    return await async_stored(call, done, runtime.conversations, changed=bool(stored))


async def _async_reload_context(call: ServiceCall) -> None:
    """Read the home again."""
    home = runtime_of(call.hass).home
    home.async_invalidate()
    await home.async_get()


async def _async_reload(call: ServiceCall) -> None:
    """Read the owner's tools and secrets in configuration.yaml again, and the folders of documents and extensions."""
    await async_read_again(call.hass)
    entries: list[HomeAgentConfigEntry] = call.hass.config_entries.async_loaded_entries(DOMAIN)
    for entry in entries:
        await entry.runtime_data.custom_tools.async_load()
        await entry.runtime_data.extensions.async_load()
        await entry.runtime_data.knowledge.async_refresh()
        await entry.runtime_data.sources.documents.async_load(entry.runtime_data.profiles.values())
        entry.runtime_data.transcripts.async_renew_instructions()


async def _async_get_profile(call: ServiceCall) -> ServiceResponse:
    """Return an agent's settings, with instructions and lists, the origin of each, and its own ones as YAML."""
    runtime = runtime_of(call.hass)
    profile = _profile(call.hass, runtime, call.data.get("profile"))
    [entry] = call.hass.config_entries.async_loaded_entries(DOMAIN)
    defaults, own = default_settings(entry.options), settings_of(entry.subentries[profile.subentry_id].data)
    people = await async_people(call.hass)
    settings = named(entry, merged(BUILT_IN, defaults, own), people)
    return {
        "name": profile.name,
        "profile_id": profile.profile_id,
        "settings": cast(JsonValueType, settings),
        "origins": cast(JsonValueType, origins(defaults, own)),
        "yaml": to_yaml(entry, profile.name, own, people),
    }


async def _async_execute_tool(call: ServiceCall) -> ServiceResponse:
    """Run one tool under the policy as the calling administrator; return its envelope, with a question if there is one."""
    runtime = runtime_of(call.hass)
    profile = _profile(call.hass, runtime, call.data.get("profile"))
    if not profile.is_for(call.context.user_id):
        raise invalid("agent_not_for_user" if call.context.user_id else "agent_not_for_unknown", profile=profile.name)
    turn = await async_turn(call, profile, call.context.id, agent_id=_entity_id(call.hass, profile))
    llm_context = llm_context_of(turn)
    tools = list(await runtime.tools.async_tools(profile, llm_context))
    if call.data["tool_name"] not in {tool.name for tool in tools}:  # only then: extensions take time in a large home
        tools += await runtime.extensions.async_tools(profile, llm_context)
    if call.data["tool_name"] not in {tool.name for tool in tools}:
        names = ", ".join(sorted(tool.name for tool in tools))
        raise invalid("tool_not_found", tool=call.data["tool_name"], tools=names)
    api = TurnAPI(
        hass=call.hass,
        id=f"{DOMAIN}-{turn.profile.subentry_id}",
        name=turn.profile.name,
        tools=tools,
        policy=runtime.policy,
    ).instance(llm_context)
    with running(turn):
        result = await api.async_call_tool(
            llm.ToolInput(tool_name=call.data["tool_name"], tool_args=call.data["parameters"])
        )
    if turn.record.request_id is not None:
        return result.data | await async_put_outside(call.hass, runtime.policy, turn)
    return result.data


async def _async_list_extensions(call: ServiceCall) -> ServiceResponse:
    """Return a profile's Light Schema, all extensions (`offered` to it or not), and the invalid ones with the reason."""
    runtime = runtime_of(call.hass)
    profile = _profile(call.hass, runtime, call.data.get("profile"))
    llm_context = llm_context_of(await async_turn(call, profile, call.context.id))
    offered = {extension.name for extension in await runtime.extensions.async_of(profile, llm_context)}
    extensions: list[JsonValueType] = []
    for extension in await runtime.extensions.async_known(profile, llm_context):
        role = runtime.profiles.get(extension.profile_id)
        told = ("name", "summary", "example", "stands_for")
        tools: list[JsonValueType] = [{key: getattr(tool, key) for key in told} for tool in extension.tools]
        extensions.append(
            {
                ATTR_NAME: extension.name,
                "summary": extension.summary,
                "source": extension.source.value,
                "profile": role.name if role is not None else "",
                "offered": extension.name in offered,
                "tools": tools,
            }
        )
    refused: list[JsonValueType] = [
        {
            ATTR_NAME: item.name,
            "source": item.source.value,
            "reason": await async_error_text(call.hass, call.hass.config.language, item.error),
        }
        for item in await runtime.extensions.async_check()
    ]
    light_schema = await runtime.extensions.async_light_schema(profile, llm_context)
    return {"light_schema": light_schema, "extensions": extensions, "refused": refused}


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
    record, told = turn.record, ("tool_name", "parameters", "success", "duration_ms")
    calls = [{key: getattr(call, key) for key in told} for call in record.calls]
    profile, routing = record.answered_as or turn.profile, record.routing
    return answer | {
        "profile": profile.name,
        "profile_id": profile.profile_id,
        "answered_by": record.origin.value,
        "routing": routing.as_dict() if routing is not None else None,
        "understanding": record.understanding.as_dict() if record.understanding is not None else None,
        "confirmation": record.request_id,
        "tool_calls": cast(JsonValueType, calls),
        "tokens": {**record.usage.as_dict()},
        "cached_share": record.usage.cached_share,
        "prompt_ms": record.usage.prompt_ms,
        "first_token_ms": record.first_token_ms,
        "duration_ms": record.duration_ms,
    }


def _profile(hass: HomeAssistant, runtime: RuntimeData, wanted: str | None) -> Profile:
    """Return the profile with this name, id or conversation entity; the default one for None."""
    profiles = list(runtime.profiles.values())
    if wanted is None and profiles:
        return runtime.registry.default
    for profile_id, profile in runtime.registry.by_id.items():
        names = (profile_id, profile.subentry_id, profile.name.casefold(), _entity_id_of(hass, profile))
        if wanted is not None and (wanted in names or wanted.casefold() in names):
            return profile
    raise invalid("profile_not_found", profile=wanted or "", profiles=", ".join(item.name for item in profiles))


def _entity_id(hass: HomeAssistant, profile: Profile) -> str:
    """Return the conversation entity of a profile. Raises if it is disabled."""
    if (entity_id := _entity_id_of(hass, profile)) is None or hass.states.get(entity_id) is None:
        answering = [item.name for item in runtime_of(hass).profiles.values() if _answers(hass, item)]
        raise invalid("profile_not_found", profile=profile.name, profiles=", ".join(answering))
    return entity_id


def _answers(hass: HomeAssistant, profile: Profile) -> bool:
    """Return whether the conversation entity of a profile is enabled."""
    entity_id = _entity_id_of(hass, profile)
    return entity_id is not None and hass.states.get(entity_id) is not None


def _entity_id_of(hass: HomeAssistant, profile: Profile) -> str | None:
    return er.async_get(hass).async_get_entity_id(conversation.DOMAIN, DOMAIN, profile.subentry_id)


PROCESS, CONFIRM = (probatio.All(partial(_without_pin, schema)) for schema in (PROCESS_SCHEMA, CONFIRM_SCHEMA))
ACTIONS = (
    ServiceAction("process", _async_process, PROCESS),
    ServiceAction("confirm", _async_confirm, CONFIRM),
    ServiceAction("reject", _async_reject, REJECT_SCHEMA),
    ServiceAction("clear_history", _async_clear_history, CLEAR_HISTORY_SCHEMA),
    # Read or change data of the whole home, or run any tool.
    ServiceAction("reload_context", _async_reload_context, response=SupportsResponse.NONE, for_admins=True),
    ServiceAction(SERVICE_RELOAD, _async_reload, response=SupportsResponse.NONE, for_admins=True),
    ServiceAction("execute_tool", _async_execute_tool, EXECUTE_TOOL_SCHEMA, for_admins=True),
    ServiceAction("list_extensions", _async_list_extensions, PROFILE_SCHEMA, SupportsResponse.ONLY, for_admins=True),
    ServiceAction("get_profile", _async_get_profile, PROFILE_SCHEMA, SupportsResponse.ONLY, for_admins=True),
)
