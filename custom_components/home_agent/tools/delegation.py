"""`delegate_to_service`: hand a request to another agent, and get its answer (S0-48 to S0-56, S0-60 to S0-64).

The other agent answers in a conversation of its own: it is told the request, nothing else. What it does is done for the same
user, under its own rules and those of whoever delegates; a question that arises is put by the turn that somebody asked.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, override

from homeassistant.components import conversation
from homeassistant.components.conversation import ChatLog, ConversationResult
from homeassistant.components.conversation.agent_manager import async_get_agent
from homeassistant.components.conversation.chat_log import current_chat_log
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import chat_session, entity_registry as er, llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..policy.tool import HomeAgentTool
from ..settings.profile import Profile
from ..support.const import DOMAIN
from ..support.errors import ToolRefusal
from ..turn.plan import DELEGATED, ActionClass, Plan
from ..turn.turn import Turn, TurnRequest, current_request
from .sanitize import cleaned

NAME = "delegate_to_service"
TARGET, REQUEST, CONFIRM = "target_service_id", "user_request", "confirm_delegation"
BLOCKED, UNRESTRICTED = "blocked", "unrestricted"
"""Levels of a profile besides `confirm`."""
DEPTH = 1
"""How many agents may hand a request on, unless the owner set another number."""
MAX_REQUEST = 4000  # characters
MAX_ANSWER = 16_000
MAX_DESCRIPTION = 500

WHAT = (
    "Hand a request to another agent of this home and get its answer. The other agent has its own instructions, model and "
    "tools. It sees only user_request, nothing of this conversation: write down everything it needs. The agents:"
)
REFUSED = {
    "unknown": "There is no agent '{name}' that you may ask. There are: {names}.",
    "blocked": "The agent '{name}' takes no requests from other agents. Nothing was done; do not try again.",
    "again": "The agent '{name}' is waiting for this answer already. Answer yourself.",
    "deep": "This request was handed on to you; it cannot be handed on again. Answer yourself.",
    "gone": "The agent '{name}' is not available now.",
}
FAILED = "The agent '{name}' could not do it: {detail}"
ASKED = (
    "The agent '{name}' needs the user's confirmation, and the user is now being asked ({request_id}). What needs it was not "
    "done yet; asking the agent again changes nothing."
)

type ChatLogListener = Callable[[ChatLog, dict[str, Any]], None]

_OWNED = "context" in signature(chat_session.async_get_chat_session).parameters
"""Whether a session knows its user, from Home Assistant 2026.11 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An agent that may be asked."""

    id: str
    """What a model calls it: the id of a profile, the entity id of another agent."""
    name: str
    description: str = ""
    profile_id: str = ""
    """Subentry id of the profile; empty: somebody else's agent, which has none of our rules."""
    level: str = ""

    def entity_id(self, hass: HomeAssistant) -> str:
        """Return the conversation entity that answers. Raises `ToolRefusal` where there is none now."""
        entity_id: str | None = self.id
        if self.profile_id:
            entity_id = er.async_get(hass).async_get_entity_id(conversation.DOMAIN, DOMAIN, self.profile_id)
        if entity_id is None or async_get_agent(hass, entity_id) is None:
            raise ToolRefusal(REFUSED["gone"].format(name=self.id))
        return entity_id


class DelegateToService(HomeAgentTool):
    """Hands a request to one of some agents."""

    name = NAME
    title_key = "tool_delegate_to_service"
    example = "Ask the other assistant what is for dinner."
    asks_key = "confirm_delegate"
    answers = True
    judges_calls = True
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=True)
    parameters = probatio.Schema(
        {
            probatio.Required(TARGET): probatio.All(str, str.strip),
            probatio.Required(REQUEST): probatio.All(str, str.strip, probatio.Length(min=1, max=MAX_REQUEST)),
            probatio.Optional(CONFIRM, default=False): lambda value: (
                str(value).strip().casefold() in ("true", "yes", "1")
            ),
        },
        extra=probatio.REMOVE_EXTRA,
    )
    timed_out = (
        "The agent did not answer within {seconds} seconds. What it had begun may have happened: query the states."
    )

    def __init__(self, targets: Sequence[Target], depth: int) -> None:
        """Take whom the profile may ask, those included that take no requests, and how often a request is handed on."""
        self._targets = {target.id: target for target in targets}
        self._depth = depth
        self.targets = [target for target in targets if target.level != BLOCKED]
        """Whom it can ask."""
        names = sorted(target.id for target in targets if target.level != BLOCKED)
        lines = [f"{WHAT}"]
        for name in names:
            told = self._targets[name].description or self._targets[name].name
            lines.append(f"- {name}: {cleaned(' '.join(told.split()), MAX_DESCRIPTION)}")
        self.description = "\n".join(lines)
        self._names = ", ".join(names)
        self.wire_parameters: JsonObjectType = {
            "type": "object",
            "properties": {
                TARGET: {"type": "string", "enum": [*names], "description": "The agent to ask"},
                REQUEST: {"type": "string", "description": "The whole request, in the user's language"},
                CONFIRM: {
                    "type": "boolean",
                    "description": "true: the user is asked first. Some agents always ask, whatever is set here.",
                },
            },
            "required": [TARGET, REQUEST],
        }

    @property
    @override
    def always_asks(self) -> bool:
        """Whether nobody can be reached without a yes: it is then offered only where somebody can give one."""
        return not any(target.level == UNRESTRICTED for target in self._targets.values())

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return who is asked and whether that needs a yes. What the other agent does has plans of its own.

        An agent of somebody else is no part of our policy: whatever it does counts as what cannot be taken back, its words as
        text from outside. Raises `ToolRefusal` where it may not or cannot be asked.
        """
        target = self._target(args[TARGET])
        above: Turn | None = turn
        while above is not None:
            if target.profile_id and above.profile.subentry_id == target.profile_id:
                raise ToolRefusal(REFUSED["again"].format(name=target.id))
            above = above.parent
        if len(turn.lineage) > self._depth:
            raise ToolRefusal(REFUSED["deep"])
        entity_id = target.entity_id(hass)
        if not target.profile_id:
            return Plan(
                action=ActionClass.SENSITIVE,
                subject=target.name,
                version=target.id,
                texts=(args[REQUEST],),
                sensitive=(entity_id,),
                reached=(entity_id,),
                insists=args[CONFIRM],
                outside=True,
            )
        asks = args[CONFIRM] or target.level != UNRESTRICTED
        return Plan(
            action=ActionClass.READ,
            reason=DELEGATED if asks else None,
            subject=target.name,
            version=target.id,
            texts=(args[REQUEST],),
            insists=asks,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return what the other agent says. Raises `ToolRefusal` where it fails, or waits for a confirmation."""
        target = self._target(args[TARGET])
        request = TurnRequest(delegated_by=turn) if target.profile_id else None
        token = current_request.set(request)
        try:
            result = await self._async_ask(hass, target.entity_id(hass), args[REQUEST], turn)
        finally:
            current_request.reset(token)
        if request is not None and request.turn is not None and (waits := request.turn.record.request_id) is not None:
            raise ToolRefusal(ASKED.format(name=target.id, request_id=waits))
        said = cleaned(str(result.response.speech.get("plain", {}).get("speech", "")).strip(), MAX_ANSWER)
        if result.response.error_code is not None or not said:
            raise ToolRefusal(FAILED.format(name=target.id, detail=said or "it gave no answer"))
        return said

    def _target(self, name: str) -> Target:
        """Return whom a model means. Raises `ToolRefusal` when that is nobody, or somebody who takes no requests."""
        target = self._targets.get(name) or self._targets.get(name.casefold())
        if target is None:
            raise ToolRefusal(REFUSED["unknown"].format(name=cleaned(name, 64), names=self._names))
        if target.level == BLOCKED:
            raise ToolRefusal(REFUSED["blocked"].format(name=target.id))
        return target

    async def _async_ask(self, hass: HomeAssistant, entity_id: str, request: str, turn: Turn) -> ConversationResult:
        """Return the answer of an agent in a conversation of its own; its words stream as progress while it writes them.

        They go to whoever reads along as something that is thought, not said: they are no part of the answer.
        """
        progress = as_progress(current_chat_log.get())
        with own_conversation(hass, turn, progress) as chat_log:
            return await conversation.async_converse(
                hass,
                request,
                chat_log.conversation_id,
                turn.context,
                language=turn.language,
                agent_id=entity_id,
                device_id=turn.device_id,
                satellite_id=turn.satellite_id,
            )


@contextmanager
def own_conversation(hass: HomeAssistant, turn: Turn, heard: ChatLogListener) -> Generator[ChatLog]:
    """Open a conversation of its own for what is handed on in a turn; it is its user's, and `heard` reads along."""
    whose: dict[str, Any] = {"context": turn.context} if _OWNED else {}
    with (
        chat_session.async_get_chat_session(hass, None, **whose) as session,
        conversation.async_get_chat_log(hass, session, chat_log_delta_listener=heard) as chat_log,
    ):
        yield chat_log


def as_progress(outer: ChatLog | None) -> ChatLogListener:
    """Return what shows the words of a conversation to whoever reads along in another, as thoughts."""

    @callback
    def progress(_log: ChatLog, delta: dict[str, Any]) -> None:
        if outer is not None and outer.delta_listener is not None and delta.get("content"):
            if delta.get("role", "assistant") == "assistant":
                outer.delta_listener(outer, {"thinking_content": delta["content"]})

    return progress


class Delegation:
    """Offers the tool to profiles that may ask somebody."""

    names = (NAME,)
    revision = 0

    def __init__(
        self, hass: HomeAssistant, profiles: Mapping[str, Profile], agents: Collection[str], depth: int
    ) -> None:
        """Take the profiles by subentry id, other agents that the owner allows by entity id, and the depth."""
        self._hass = hass
        self._agents = frozenset(agents)
        self._depth = depth
        self._profiles = {
            key: Target(
                id=profile.profile_id,
                name=profile.name,
                description=profile.description,
                profile_id=key,
                level=profile.delegation_level,
            )
            for key, profile in profiles.items()
        }
        self._tools: dict[tuple[str, ...], DelegateToService] = {}

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tool; nothing when there is nobody to ask: of those that the profile names, one has to take requests."""
        key = (profile.subentry_id, *profile.delegate_to)
        if not profile.delegate_to:
            return ()
        if (tool := self._tools.get(key)) is None:
            targets = [target for name in profile.delegate_to if (target := self._target(name, profile)) is not None]
            if all(target.level == BLOCKED for target in targets):
                return ()
            tool = self._tools[key] = DelegateToService(targets, self._depth)
        return (tool,)

    def _target(self, name: str, profile: Profile) -> Target | None:
        if name in self._profiles:
            return self._profiles[name] if name != profile.subentry_id else None
        if name not in self._agents:
            return None
        entry = er.async_get(self._hass).async_get(name)
        if entry is not None and entry.platform == DOMAIN:  # a profile has a level, and is reached by its own name
            return None
        known = (entry.name or entry.original_name) if entry is not None else None
        return Target(id=name, name=known or name)
