"""`store_memory`, `recall_memory`, `forget_memory`: facts of the owners that a turn may know of."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
import re
from typing import Any, override

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.foreign import async_reader
from ..languages.data import code_of
from ..memory.memories import Memories
from ..memory.recall import PATIENCE
from ..memory.record import (
    MAX_CONTENT,
    Draft,
    Memory,
    MemorySource,
    MemoryType,
    Scope,
    cleaned,
    marked,
)
from ..policy.tool import HomeAgentTool, noted
from ..settings.profile import Profile
from ..support.encoding import dump, plain_text
from ..support.errors import ToolRefusal
from ..support.masking import PLACEHOLDERS
from ..turn.plan import DESTRUCTIVE, TAINTED, ActionClass, Plan
from ..turn.turn import Owner, Turn
from .arguments import text_list

SAID_IMPORTANCE = 0.8  # importance of what a user asks to keep; higher than of extracted facts
MAX_RECALLED = 20  # memories of one answer
MAX_CHARACTERS = 6_000  # of one answer
MAX_FORGOTTEN = 20  # memories that a query may mean
MAX_TOLD = 10  # forgotten memories in a result
MAX_CONVERSATIONS = 200  # whose last memories are known
SHORT_ID = 8  # characters of an id in results; longer ids are accepted
_ID = re.compile(rf"[0-9a-f]{{{SHORT_ID}}}[0-9a-f-]*", re.IGNORECASE)
EVERYTHING = ("*", "all", "everything")

HIDDEN_VALUE = "It holds {found} where you were not told the real value. Nothing was stored."
OFF = "Nothing is remembered here: memory is off. Nothing was done."
RELOADING = "Nothing was done: Home Agent is being reloaded. Call this again in a moment."
UNWRITABLE = "Nothing was stored: writing failed. Tell the user."
NOT_STORED = {"full": "Nothing was stored: memory is full of what users asked to keep. Forget something first."}
"""By the reason of a refusal."""

STORE: JsonObjectType = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "type": {"type": "string", "enum": [item.value for item in MemoryType]},
    },
    "required": ["content"],
}
RECALL: JsonObjectType = {"type": "object", "properties": {"query": {"type": "string"}}}
FORGET: JsonObjectType = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "Words or ids; * for all"}},
}
"""Short, as it is part of each prompt. `ids` are accepted as well (`ForgetMemory.parameters`)."""


class LastTold:
    """The memories that a conversation stored or told last, for "forget that"; kept until a restart."""

    def __init__(self) -> None:
        """Start empty."""
        self._ids: OrderedDict[tuple[str, Owner], tuple[str, ...]] = OrderedDict()

    def note(self, turn: Turn, memories: Iterable[Memory]) -> None:
        """Keep the memories that a turn stored or told."""
        key = (turn.conversation_id, turn.owner)
        self._ids[key] = tuple(memory.id for memory in memories)
        self._ids.move_to_end(key)
        if len(self._ids) > MAX_CONVERSATIONS:
            self._ids.popitem(last=False)

    def of(self, turn: Turn) -> tuple[str, ...]:
        """Return the ids of a turn's conversation."""
        return self._ids.get((turn.conversation_id, turn.owner), ())


class MemoryTool(HomeAgentTool):
    """A tool that reads or writes memories."""

    fails_in_own_words = True

    def __init__(self, memories: Memories, last: LastTold) -> None:
        """Take the memories, and the last ones of each conversation."""
        self._memories = memories
        self._last = last

    @override
    def shown(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return nothing: a confirmation names the memories of the plan."""
        return {}

    async def async_scope(self, turn: Turn) -> Scope:
        """Return the scope of memories that the turn may read and write, once loaded. Raises `ToolRefusal` without one."""
        if (scope := self._memories.scope_of(turn)) is None:
            raise ToolRefusal(RELOADING if self._memories.is_away else OFF)
        await self._memories.async_load()
        return scope


def _type(value: object) -> MemoryType:
    """Return the type with a name, FACT for an unknown one."""
    try:
        return MemoryType(str(value).strip().casefold())
    except ValueError:
        return MemoryType.FACT


class StoreMemory(MemoryTool):
    """Stores what a user asks to remember."""

    name = "store_memory"
    title_key = "tool_store_memory"
    asks_key = "confirm_remember"
    description = "Remember what the user wants kept, as a sentence with names."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    judges_calls = True
    parameters = probatio.Schema(
        {
            probatio.Required("content"): probatio.All(
                str, plain_text, cleaned, probatio.Length(min=1, max=MAX_CONTENT)
            ),
            probatio.Optional("type", default=MemoryType.FACT): _type,
        },
        extra=probatio.REMOVE_EXTRA,
    )
    wire_parameters = STORE

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the text to keep; it needs a yes in a tainted conversation, whose text from outside may ask for it."""
        await self.async_scope(turn)
        content: str = args["content"]
        if found := [text for text in PLACEHOLDERS if text in content]:
            raise ToolRefusal(HIDDEN_VALUE.format(found=", ".join(found)))
        tainted = bool(turn.record.taints)
        return Plan(
            action=ActionClass.SENSITIVE if tainted else ActionClass.WRITE,
            reasons=(TAINTED,) if tainted else (),
            texts=(content,),
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return whether it was stored, merged or replaces others. Raises `ToolRefusal` with the reason if not."""
        author, taints = await self._memories.async_provenance(turn, None)
        draft = Draft(
            content=args["content"],
            type=args["type"],
            owner=(await self.async_scope(turn)).owner,
            source=MemorySource.SAID,
            importance=SAID_IMPORTANCE,
            language=code_of(turn.language),
            source_conversation_id=turn.conversation_id,
            author=author,
            metadata=marked({}, taints),
        )
        [added] = await self._memories.async_add([draft])
        if (memory := added.memory) is None:
            raise ToolRefusal(NOT_STORED.get(added.reason or "", UNWRITABLE))
        self._last.note(turn, [memory])
        outcome = "replaced" if added.replaced else "merged" if added.outcome == "merged" else "stored"
        result: JsonObjectType = {"outcome": outcome, "id": memory.id[:SHORT_ID]}
        if memory.content != draft.content:
            result["content"] = memory.content
        for key, others in (("replaced", added.replaced), ("dropped", added.dropped)):
            if others:
                result[key] = [other.content for other in others]
        if memory.expires_at is not None:
            result["until"] = memory.expires_at.date().isoformat()
        return noted(result, self._memories)

    @override
    def done_with(self, plan: Plan, result: JsonObjectType) -> Mapping[str, Sequence[str]]:
        """Return the stored text, and the replaced and dropped ones."""
        content = result.get("content")
        return {
            "memory_stored": (content,) if isinstance(content, str) else plan.texts,
            **{
                sentence: text_list(result[key])
                for sentence, key in (("memory_replaced", "replaced"), ("memory_dropped", "dropped"))
                if key in result
            },
        }


class RecallMemory(MemoryTool):
    """Looks up memories."""

    name = "recall_memory"
    title_key = "tool_recall_memory"
    description = "Look up memories; no query: all."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {probatio.Optional("query", default=""): probatio.Any(str, None)}, extra=probatio.REMOVE_EXTRA
    )
    wire_parameters = RECALL

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing."""
        await self.async_scope(turn)
        return Plan(action=ActionClass.READ)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the memories that match a query, best first; without a query all, by importance, then the newest."""
        scope, query = await self.async_scope(turn), (args["query"] or "").strip()
        if query in ("", *EVERYTHING):
            known = sorted(
                self._memories.of(scope),
                key=lambda memory: (round(memory.importance, 1), memory.extracted_at),
                reverse=True,
            )
        else:
            found = await self._memories.async_find(
                query,
                scope,
                limit=MAX_RECALLED,
                min_importance=self._memories.settings.min_importance,
                language=code_of(turn.language),
            )
            known = [item.memory for item in found]
        rows: list[JsonValueType] = []
        room, reader = MAX_CHARACTERS, await async_reader(hass, turn.user)
        for memory in known[:MAX_RECALLED]:
            row: JsonObjectType = {
                "id": memory.id[:SHORT_ID],
                "content": memory.content,
                "type": memory.type.value,
                "since": memory.extracted_at.date().isoformat(),
            }
            if len(scope.owners) > 1:
                row["of"] = "user" if memory.owner else "home"
            room -= len(dump(row))
            if room < 0:
                break
            rows.append(row)
            turn.record.taints |= memory.taints_of(reader)
        if rows:
            self._last.note(turn, known[: len(rows)])
        result: JsonObjectType = {"memories": rows}
        if len(known) > len(rows):
            result["more"] = len(known) - len(rows)
        return result


class ForgetMemory(MemoryTool):
    """Deletes memories."""

    name = "forget_memory"
    title_key = "tool_forget_memory"
    asks_key = "confirm_forget"
    description = "Forget memories; no query: those told last."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False)
    judges_calls = True
    parameters = probatio.Schema(
        {
            probatio.Optional("ids", default=list): probatio.All(text_list, probatio.Length(max=MAX_FORGOTTEN)),
            probatio.Optional("query", default=""): probatio.Any(str, None),
        },
        extra=probatio.REMOVE_EXTRA,
    )
    wire_parameters = FORGET

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the memories to delete; several need a yes, or unsure ones. Raises `ToolRefusal` if none is meant."""
        found, sure = await self._async_meant(args, turn)
        going = sorted(found, key=lambda memory: (memory.extracted_at, memory.id))
        asks, tainted = len(going) > 1 or not sure, bool(turn.record.taints)
        return Plan(
            action=ActionClass.SENSITIVE if asks or tainted else ActionClass.WRITE,
            reasons=(DESTRUCTIVE,) if asks else (TAINTED,) if tainted else (),
            texts=tuple(memory.content for memory in going),
            version=" ".join(memory.id for memory in going),
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Delete the memories and return their texts."""
        count = await self._memories.async_delete(plan.version.split())
        result: JsonObjectType = {"forgotten": [*plan.texts[:MAX_TOLD]]}
        return noted(result | ({"count": count} if count > MAX_TOLD else {}), self._memories)

    @override
    def done_with(self, plan: Plan, result: JsonObjectType) -> Mapping[str, Sequence[str]]:
        """Return the forgotten texts."""
        return {"memory_forgotten": plan.texts}

    async def _async_meant(self, args: Mapping[str, Any], turn: Turn) -> tuple[Sequence[Memory], bool]:
        """Return the meant memories, and whether that is sure: by id, or with all words of the query."""
        scope, query = await self.async_scope(turn), (args["query"] or "").strip()
        known = {memory.id: memory for memory in self._memories.of(scope)}
        ids = args["ids"] or [part for part in text_list(query) if _ID.fullmatch(part)]
        if ids and (args["ids"] or len(ids) == len(text_list(query))):
            return list({memory.id: memory for text in ids for memory in [_named(known, text)]}.values()), True
        if not query:
            if last := [known[memory_id] for memory_id in self._last.of(turn) if memory_id in known]:
                return last, True
            raise ToolRefusal("Nothing was stored or recalled in this conversation. Name ids or a query.")
        if query in EVERYTHING:
            found, named = [*known.values()], {*known}
        else:
            language = code_of(turn.language)
            near = await self._memories.async_find(
                query, scope, limit=MAX_FORGOTTEN, min_importance=0.0, language=language, counts_as_used=False
            )
            found, named = [item.memory for item in near], await self._memories.async_named(query, language)
        if not found:
            raise ToolRefusal("Nothing about that is remembered. Nothing was forgotten.")
        return found, all(memory.id in named for memory in found)


MEMORY_TOOLS = (StoreMemory, RecallMemory, ForgetMemory)


class MemoryTools:
    """Offers the tools to profiles with memory; only `store_memory` while nothing is stored."""

    names = tuple(tool.name for tool in MEMORY_TOOLS)

    def __init__(self, memories: Memories) -> None:
        """Take the memories."""
        last = LastTold()
        self.revision = 0
        self._memories = memories
        self._tools = tuple(tool(memories, last) for tool in MEMORY_TOOLS)
        self._before = memories.is_empty, memories.settings.enabled

    @callback
    def look(self) -> None:
        """Change the revision if the first memory was added, the last one deleted, or memory was turned on or off."""
        now = self._memories.is_empty, self._memories.settings.enabled
        if now != self._before:
            self._before = now
            self.revision += 1

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tools; none if memory is off. While memories are loading for long, all of them are offered."""
        if not (self._memories.settings.enabled and profile.remembers):
            return ()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._memories.async_load()
        return self._tools[:1] if self._memories.is_empty else self._tools


def _named(known: Mapping[str, Memory], text: str) -> Memory:
    """Return the memory whose id begins so. Raises `ToolRefusal` unless it is exactly one."""
    wanted = text.strip().casefold()
    found = [memory for memory_id, memory in known.items() if memory_id.startswith(wanted)]
    if len(wanted) < SHORT_ID or len(found) != 1:
        raise ToolRefusal(f"No memory has the id '{plain_text(text[:40])}'. Look it up with recall_memory.")
    return found[0]
