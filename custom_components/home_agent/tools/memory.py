"""`store_memory`, `recall_memory`, `forget_memory`: what is kept about the people and the home, on the user's own wish.

Whose memories a call may read and write is decided at the moment of the call (`Memories.scope_of`). A memory of somebody else
is not there: its id gets the same answer as one that nobody has.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..languages.data import code_of
from ..memory.memories import OFF as MEMORY_OFF, Memories
from ..memory.model import MAX_CONTENT, TAINTED as TAINTS, Draft, Memory, MemorySource, MemoryType, Scope, cleaned
from ..policy.tool import HomeAgentTool
from ..settings.profile import Profile
from ..support.encoding import dump, plain_text
from ..support.errors import ToolRefusal
from ..support.masking import PLACEHOLDERS
from ..turn.plan import DESTRUCTIVE, TAINTED, ActionClass, Plan
from ..turn.turn import Owner, Turn
from .arguments import LenientSchema, text_list

SAID_IMPORTANCE = 0.8
"""Of what somebody asked to keep: more than what a model finds worth keeping by itself."""
MAX_RECALLED = 20  # memories of one answer
MAX_CHARACTERS = 6_000  # of one answer
MAX_FORGOTTEN = 20  # memories that a query may mean
MAX_TOLD = 10  # of those that are gone
MAX_CONVERSATIONS = 200  # of which it is known what was told last
SHORT_ID = 8
"""Characters of an id as a model reads and writes it; more are taken as well."""
EVERYTHING = ("*", "all", "everything")

OFF = "Nothing is remembered here: memory is off. Nothing was done."
HIDDEN_VALUE = "It holds {found} where you were not told the real value. Nothing was stored."
UNWRITABLE = "Nothing was stored: it could not be written down. Tell the user."
NOT_STORED = {
    "full": "Nothing was stored: there is no room but by dropping what somebody asked to keep. Forget something first."
}
"""By the reason of a refusal."""
UNKNOWN_ID = "No memory has the id '{text}'. Look it up with recall_memory."
NOTHING_FOUND = "Nothing about that is remembered. Nothing was forgotten."
NOTHING_LAST = "Nothing was stored or recalled in this conversation. Say what to forget: ids or a query."

STORE: JsonObjectType = {
    "type": "object",
    "properties": {
        "content": {"type": "string", "description": "One sentence, clear by itself: names, no pronouns"},
        "type": {"type": "string", "enum": [item.value for item in MemoryType]},
    },
    "required": ["content"],
}
RECALL: JsonObjectType = {"type": "object", "properties": {"query": {"type": "string"}}}
FORGET: JsonObjectType = {
    "type": "object",
    "properties": {
        "ids": {"type": "array", "items": {"type": "string"}},
        "query": {"type": "string", "description": "What they are about; * for all"},
    },
}


class LastTold:
    """Which memories a conversation stored or told last, for "forget that". Until Home Assistant restarts."""

    def __init__(self) -> None:
        """Know nothing."""
        self._ids: OrderedDict[tuple[str, Owner], tuple[str, ...]] = OrderedDict()

    def note(self, turn: Turn, memories: Iterable[Memory]) -> None:
        """Remember what a turn stored or told."""
        key = (turn.conversation_id, turn.owner)
        self._ids[key] = tuple(memory.id for memory in memories)
        self._ids.move_to_end(key)
        if len(self._ids) > MAX_CONVERSATIONS:
            self._ids.popitem(last=False)

    def of(self, turn: Turn) -> tuple[str, ...]:
        """Return the ids; empty when there was nothing."""
        return self._ids.get((turn.conversation_id, turn.owner), ())


class MemoryTool(HomeAgentTool):
    """A tool that reads or writes memories."""

    fails_in_own_words = True

    def __init__(self, memories: Memories, last: LastTold) -> None:
        """Take the memories, and where it is noted what was told last."""
        self._memories = memories
        self._last = last

    @override
    def shown(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return nothing: a question names the memories, which its plan has."""
        return {}

    async def async_scope(self, turn: Turn) -> Scope:
        """Return whose memories the turn may read and write, once they are read. Raises `ToolRefusal` where it is none."""
        if (scope := self._memories.scope_of(turn)) is None:
            raise ToolRefusal(OFF)
        await self._memories.async_load()
        return scope


def _type(value: object) -> MemoryType:
    """Return a type as a model names it; what is none is a fact."""
    try:
        return MemoryType(str(value).strip().casefold())
    except ValueError:
        return MemoryType.FACT


class StoreMemory(MemoryTool):
    """Keeps what somebody wants to be remembered."""

    name = "store_memory"
    title_key = "tool_store_memory"
    asks_key = "confirm_remember"
    description = "Remember a fact or preference that the user wants kept. Tell them what became of it."
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
        """Return what is to be kept. It is asked about once text from outside has entered the conversation, which may want it."""
        await self.async_scope(turn)
        content: str = args["content"]
        if found := [text for text in PLACEHOLDERS if text in content]:
            raise ToolRefusal(HIDDEN_VALUE.format(found=", ".join(found)))
        tainted = bool(turn.record.taints)
        return Plan(
            action=ActionClass.SENSITIVE if tainted else ActionClass.WRITE,
            reason=TAINTED if tainted else None,
            texts=(content,),
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return what became of it: stored, merged with what was known, or what it replaces. Raises `ToolRefusal` with why not."""
        taints = sorted(turn.record.taints)
        draft = Draft(
            content=args["content"],
            type=args["type"],
            owner=(await self.async_scope(turn)).owner,
            source=MemorySource.SAID,
            importance=SAID_IMPORTANCE,
            language=code_of(turn.language),
            source_conversation_id=turn.conversation_id,
            metadata={TAINTS: [*taints]} if taints else {},
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
        return result


class RecallMemory(MemoryTool):
    """Tells what is remembered."""

    name = "recall_memory"
    title_key = "tool_recall_memory"
    description = "Look up what is remembered; without a query, all about the user and the home."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema(
        {probatio.Optional("query", default=""): probatio.Any(str, None)}, extra=probatio.REMOVE_EXTRA
    )
    wire_parameters = RECALL

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return that nothing of the home is touched."""
        await self.async_scope(turn)
        return Plan(action=ActionClass.READ)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the memories that fit a query, best first; without one the most important, the newest of those first."""
        scope, query = await self.async_scope(turn), (args["query"] or "").strip()
        if query in ("", *EVERYTHING):
            known = sorted(self._memories.of(scope), key=_rank, reverse=True)
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
        room = MAX_CHARACTERS
        several = len(scope.owners) > 1
        told: list[Memory] = []
        for memory in known[:MAX_RECALLED]:
            row = _row(memory, whose=several)
            room -= len(dump(row))
            if room < 0:
                break
            rows.append(row)
            told.append(memory)
        for memory in told:  # what others wrote once is theirs still
            turn.record.taints |= set(memory.tainted)
        if told:
            self._last.note(turn, told)
        result: JsonObjectType = {"memories": rows}
        if len(known) > len(rows):
            result["more"] = len(known) - len(rows)
        return result


class ForgetMemory(MemoryTool):
    """Deletes memories."""

    name = "forget_memory"
    title_key = "tool_forget_memory"
    asks_key = "confirm_forget"
    description = "Forget memories when the user wants that; without arguments, the last that were told."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False)
    judges_calls = True
    parameters = LenientSchema(
        {
            probatio.Optional("ids", default=list): probatio.All(text_list, probatio.Length(max=MAX_FORGOTTEN)),
            probatio.Optional("query", default=""): probatio.Any(str, None),
        },
        lambda data: {key: data[key] for key in ("ids", "query") if key in data},
        ("ids", "query"),
    )
    wire_parameters = FORGET

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return which memories go; more than one are asked about. Raises `ToolRefusal` when nothing is meant."""
        going = sorted(await self._async_meant(args, turn), key=lambda memory: (memory.extracted_at, memory.id))
        several, tainted = len(going) > 1, bool(turn.record.taints)
        return Plan(
            action=ActionClass.SENSITIVE if several or tainted else ActionClass.WRITE,
            reason=DESTRUCTIVE if several else TAINTED if tainted else None,
            texts=tuple(memory.content for memory in going),
            version=" ".join(memory.id for memory in going),
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Delete them and return what they said."""
        count = await self._memories.async_delete(plan.version.split())
        result: JsonObjectType = {"forgotten": [*plan.texts[:MAX_TOLD]]}
        return result | ({"count": count} if count > MAX_TOLD else {})

    async def _async_meant(self, args: Mapping[str, Any], turn: Turn) -> Sequence[Memory]:
        scope, query = await self.async_scope(turn), (args["query"] or "").strip()
        known = {memory.id: memory for memory in self._memories.of(scope)}
        if args["ids"]:
            return list({memory.id: memory for text in args["ids"] for memory in [_named(known, text)]}.values())
        if not query:
            if last := [known[memory_id] for memory_id in self._last.of(turn) if memory_id in known]:
                return last
            raise ToolRefusal(NOTHING_LAST)
        if query in EVERYTHING:
            found = [*known.values()]
        else:
            near = await self._memories.async_find(
                query,
                scope,
                limit=MAX_FORGOTTEN,
                min_importance=0.0,
                language=code_of(turn.language),
                counts_as_used=False,
            )
            found = [item.memory for item in near]
        if not found:
            raise ToolRefusal(NOTHING_FOUND)
        return found


MEMORY_TOOLS = (StoreMemory, RecallMemory, ForgetMemory)


class MemoryTools:
    """Offers the three to profiles that have a memory."""

    revision = 0

    def __init__(self, memories: Memories) -> None:
        """Take the memories."""
        last = LastTold()
        self._memories = memories
        self._tools = tuple(tool(memories, last) for tool in MEMORY_TOOLS)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return them, or none where memory is off."""
        return self._tools if self._memories.settings.enabled and profile.memory != MEMORY_OFF else ()


def _rank(memory: Memory) -> tuple[float, Any]:
    return (round(memory.importance, 1), memory.extracted_at)


def _row(memory: Memory, *, whose: bool) -> JsonObjectType:
    row: JsonObjectType = {
        "id": memory.id[:SHORT_ID],
        "content": memory.content,
        "type": memory.type.value,
        "since": memory.extracted_at.date().isoformat(),
    }
    return row | ({"of": "user" if memory.owner else "home"} if whose else {})


def _named(known: Mapping[str, Memory], text: str) -> Memory:
    """Return the memory that an id means, whole or its beginning. Raises `ToolRefusal` unless that is exactly one."""
    wanted = text.strip().casefold()
    found = [memory for memory_id, memory in known.items() if memory_id.startswith(wanted)]
    if len(wanted) < SHORT_ID or len(found) != 1:
        raise ToolRefusal(UNKNOWN_ID.format(text=plain_text(text[:40])))
    return found[0]
