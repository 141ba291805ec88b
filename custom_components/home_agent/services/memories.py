"""Actions of memories: list, find, store, change, delete."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import config_validation as cv
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..languages.data import LANGUAGE_CODE, code_of
from ..memory.memories import Memories
from ..memory.record import ALL, MAX_CONTENT, TAINTED, Draft, Memory, MemorySource, MemoryType, Scope, marked
from ..settings.memory import USER
from ..support.bounds import as_float
from ..turn.turn import current_turn
from .call import ServiceAction, async_may_see_all, async_stored, invalid, moment, runtime_of

HOME = "home"  # the owner of memories that are not one user's
MAX_LISTED = 10_000  # memories of one response
MAX_FOUND = 100
MAX_QUERY = 500  # characters
ADDED_IMPORTANCE = 0.7  # importance of a memory that an action adds without one
MEMORY_REFUSALS = {
    "empty": "memory_content",
    "too_long": "memory_content",
    "full": "memory_full",
    "unwritable": "memory_unwritable",
    "off": "memory_off",
}
"""Sentences by the reason of a refusal."""
_MEMORY_TYPE = probatio.In([item.value for item in MemoryType])
_SHARE = probatio.All(as_float, probatio.Range(min=0, max=1))
_CONTENT = probatio.All(cv.string, probatio.Length(min=1, max=MAX_CONTENT))
LIST_MEMORIES_SCHEMA = probatio.Schema(
    {
        probatio.Optional("type"): _MEMORY_TYPE,
        probatio.Optional("owner"): cv.string,
        probatio.Optional("history", default=False): cv.boolean,
        probatio.Optional("limit", default=100): probatio.All(cv.positive_int, probatio.Range(max=MAX_LISTED)),
    }
)
SEARCH_MEMORIES_SCHEMA = probatio.Schema(
    {
        probatio.Required("query"): probatio.All(cv.string, probatio.Length(min=1, max=MAX_QUERY)),
        probatio.Optional("owner"): cv.string,
        probatio.Optional("min_importance", default=0.0): _SHARE,
        probatio.Optional("limit", default=10): probatio.All(cv.positive_int, probatio.Range(max=MAX_FOUND)),
    }
)
ADD_MEMORY_SCHEMA = probatio.Schema(
    {
        probatio.Required("content"): _CONTENT,
        probatio.Optional("type", default=MemoryType.FACT.value): _MEMORY_TYPE,
        probatio.Optional("owner"): cv.string,
        probatio.Optional("importance", default=ADDED_IMPORTANCE): _SHARE,
        probatio.Optional("expires_at"): moment,
        probatio.Optional("language"): cv.string,
    }
)
UPDATE_MEMORY_SCHEMA = probatio.Schema(
    {
        probatio.Required("memory_id"): cv.string,
        probatio.Optional("content"): _CONTENT,
        probatio.Optional("type"): _MEMORY_TYPE,
        probatio.Optional("owner"): cv.string,
        probatio.Optional("importance"): _SHARE,
        probatio.Optional("expires_at"): probatio.Any(None, moment),
    }
)
DELETE_MEMORY_SCHEMA = probatio.Schema(
    {probatio.Required("memory_id"): probatio.All(cv.ensure_list_csv, [cv.string], probatio.Length(min=1))}
)
CLEAR_MEMORIES_SCHEMA = probatio.Schema(
    {probatio.Required("confirm"): cv.boolean, probatio.Optional("owner"): cv.string}
)
EXPORT_MEMORIES_SCHEMA = probatio.Schema({probatio.Optional("owner"): cv.string})


async def _async_list_memories(call: ServiceCall) -> ServiceResponse:
    """Return memories as flat rows, newest first, and their number."""
    memories, scope = await _async_scope(call)
    kind = MemoryType(call.data["type"]) if "type" in call.data else None
    owner = await _async_owner(call, scope)
    known = memories.of(scope, type=kind, owner=owner, with_history=call.data["history"])
    names = await _async_names(call.hass)

    def rows() -> list[JsonValueType]:  # thousands would block the loop
        newest = sorted(known, key=lambda memory: memory.extracted_at, reverse=True)
        return [_memory_row(memory, names) for memory in newest[: call.data["limit"]]]

    return {"memories": await call.hass.async_add_executor_job(rows), "count": len(known)}


async def _async_search_memories(call: ServiceCall) -> ServiceResponse:
    """Return the memories that match a text as flat rows with their score, best first."""
    memories, scope = await _async_scope(call)
    owner = await _async_owner(call, scope)
    owners = {owner} if owner != ALL else {memory.owner for memory in memories.of(scope)}
    found = await memories.async_find(
        call.data["query"],
        Scope(owners=frozenset(owners), owner=None),
        limit=call.data["limit"],
        min_importance=call.data["min_importance"],
        language=code_of(call.hass.config.language),
    )
    names = await _async_names(call.hass)
    return {"memories": [{**_memory_row(item.memory, names), "score": round(item.score, 3)} for item in found]}


async def _async_add_memory(call: ServiceCall) -> ServiceResponse:
    """Store a memory; return it with the outcome. Raises if it is not kept."""
    memories, scope = await _async_scope(call)
    if "owner" in call.data:
        owner = await _async_owner(call, scope)
    else:
        owner = scope.owner if scope else _writes_for(memories, call.context.user_id)
    language = call.data.get("language") or call.hass.config.language
    if not LANGUAGE_CODE.fullmatch(language):
        raise invalid("language_invalid")
    expires_at = _expires_at(call)
    author, taints = await memories.async_provenance(current_turn.get(None), call.context.user_id)
    [added] = await memories.async_add(
        [
            Draft(
                content=call.data["content"],
                type=MemoryType(call.data["type"]),
                owner=owner,
                source=MemorySource.SERVICE,
                importance=call.data["importance"],
                language=code_of(language),
                expires_at=expires_at,
                author=author,
                metadata=marked({}, taints),
            )
        ]
    )
    if (memory := added.memory) is None:
        raise invalid(MEMORY_REFUSALS[added.reason or "unwritable"], limit=str(MAX_CONTENT))
    done: JsonObjectType = {
        "outcome": added.outcome,
        **_memory_row(memory, await _async_names(call.hass)),
        "replaced": [item.id for item in added.replaced],
        "dropped": [item.id for item in added.dropped],
    }
    return await async_stored(call, done, memories)


async def _async_update_memory(call: ServiceCall) -> ServiceResponse:
    """Change a memory; return the changed one."""
    memories, scope = await _async_scope(call)
    [memory_id] = _known_ids(memories, scope, [call.data["memory_id"]])
    changes = {key: call.data[key] for key in ("content", "importance") if key in call.data}
    if "content" in call.data:
        author, taints = await memories.async_provenance(current_turn.get(None), call.context.user_id)
        changes |= {"author": author, "taints": taints}
    if "type" in call.data:
        changes["type"] = MemoryType(call.data["type"])
    if "owner" in call.data:
        changes["owner"] = await _async_owner(call, scope)
    if "expires_at" in call.data:
        changes["expires_at"] = _expires_at(call)
    memory = await memories.async_update(memory_id, **changes)
    return await async_stored(call, _memory_row(memory, await _async_names(call.hass)), memories)


async def _async_delete_memory(call: ServiceCall) -> ServiceResponse:
    """Delete memories by id, also while memory is off; return their number."""
    memories, scope = await _async_scope(call, also_off=True)
    deleted = await memories.async_delete(_known_ids(memories, scope, call.data["memory_id"]))
    return await async_stored(call, {"deleted": deleted}, memories)


async def _async_clear_memories(call: ServiceCall) -> ServiceResponse:
    """Delete an owner's memories, also while memory is off: without one, an administrator's call deletes all."""
    if not call.data["confirm"]:
        raise invalid("memory_confirm")
    memories, scope = await _async_scope(call, also_off=True)
    owner: str | None = call.context.user_id
    if "owner" in call.data or scope is None:
        owner = await _async_owner(call, scope)
    elif owner is None:  # a voice device writes for the home
        owner = scope.owner
    deleted = await memories.async_clear(owner)
    return await async_stored(call, {"deleted": deleted}, memories, changed=bool(deleted))


async def _async_export_memories(call: ServiceCall) -> ServiceResponse:
    """Return all fields of memories, also of replaced ones, oldest first."""
    memories, scope = await _async_scope(call)
    found = memories.of(scope, owner=await _async_owner(call, scope), with_history=True)

    def rows() -> list[JsonValueType]:  # thousands would block the loop
        oldest = sorted(found, key=lambda memory: memory.extracted_at)
        return [cast(JsonValueType, memory.as_dict()) for memory in oldest]

    exported = await call.hass.async_add_executor_job(rows)
    return {"exported_at": dt_util.utcnow().isoformat(), "count": len(exported), "memories": exported}


async def _async_scope(call: ServiceCall, *, also_off: bool = False) -> tuple[Memories, Scope | None]:
    """Return the memories, and the scope that the caller may read and write; None for all memories.

    Administrators and automations have all, others their own and the home's, and an action inside a turn the turn's. Raises while
    memory is off, unless `also_off`.
    """
    memories = runtime_of(call.hass).memories
    if (turn := current_turn.get(None)) is not None:
        if (scope := memories.scope_of(turn)) is None:
            raise invalid("reloading" if memories.is_away else "memory_off")
        await memories.async_load()
        return memories, scope
    if not (memories.settings.enabled or also_off):
        raise invalid("memory_off")
    await memories.async_load()
    if await async_may_see_all(call):
        return memories, None
    user_id = call.context.user_id
    return memories, Scope(owners=frozenset({None, user_id}), owner=_writes_for(memories, user_id))


def _expires_at(call: ServiceCall) -> datetime | None:
    """Return when a memory is to expire, None for never. Raises for a time that has passed: it would be stored, and never be told."""
    expires_at: datetime | None = call.data.get("expires_at")
    if expires_at is not None and expires_at <= dt_util.utcnow():
        raise invalid("memory_expired")
    return expires_at


def _writes_for(memories: Memories, user_id: str | None) -> str | None:
    """Return the owner of a user's new memory without a named one."""
    return user_id if memories.settings.scope == USER else None


async def _async_owner(call: ServiceCall, scope: Scope | None) -> str | None:
    """Return the named owner: None is the home, `ALL` none. Raises for an unknown one, and outside the scope."""
    if (wanted := call.data.get("owner")) is None:
        return ALL
    owner = None if wanted == HOME else wanted
    if scope is not None and owner not in scope.owners:
        raise invalid("memory_of_others")
    if scope is None and owner is not None and await call.hass.auth.async_get_user(owner) is None:
        known = runtime_of(call.hass).memories.of(None, owner=owner, with_history=True)
        if not known:  # memories of a removed user can be found and deleted
            raise invalid("memory_owner", owner=owner)
    return owner


def _known_ids(memories: Memories, scope: Scope | None, wanted: Sequence[str]) -> list[str]:
    """Return the ids without duplicates. Raises for one that is unknown or outside the scope."""
    known = {memory.id for memory in memories.of(scope, with_history=True)}
    for memory_id in wanted:
        if memory_id not in known:
            raise invalid("memory_unknown", id=memory_id)
    return list(dict.fromkeys(wanted))


async def _async_names(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of users by their ids."""
    return {user.id: user.name or "" for user in await hass.auth.async_get_users()}


def _memory_row(memory: Memory, names: Mapping[str, str]) -> JsonObjectType:
    """Return a memory as a flat row: texts, numbers and booleans only."""
    return {
        "memory_id": memory.id,
        "content": memory.content,
        "type": memory.type.value,
        "owner": memory.owner or HOME,
        "owner_name": names.get(memory.owner, "") if memory.owner else "",
        "source": memory.source.value,
        "importance": round(memory.importance, 2),
        "extracted_at": memory.extracted_at.isoformat(),
        "last_accessed": memory.last_accessed.isoformat(),
        "accesses": memory.accesses,
        "expires_at": memory.expires_at.isoformat() if memory.expires_at else None,
        "language": memory.language,
        TAINTED: ", ".join(memory.tainted),
        "replaced_by": memory.replaced_by,
    }


ACTIONS = (
    ServiceAction("list_memories", _async_list_memories, LIST_MEMORIES_SCHEMA, SupportsResponse.ONLY),
    ServiceAction("search_memories", _async_search_memories, SEARCH_MEMORIES_SCHEMA, SupportsResponse.ONLY),
    ServiceAction("add_memory", _async_add_memory, ADD_MEMORY_SCHEMA),
    ServiceAction("update_memory", _async_update_memory, UPDATE_MEMORY_SCHEMA),
    ServiceAction("delete_memory", _async_delete_memory, DELETE_MEMORY_SCHEMA),
    ServiceAction("clear_memories", _async_clear_memories, CLEAR_MEMORIES_SCHEMA),
    ServiceAction("export_memories", _async_export_memories, EXPORT_MEMORIES_SCHEMA, SupportsResponse.ONLY),
)
