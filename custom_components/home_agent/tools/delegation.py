"""`delegate_to_service`: hand a request to another agent, in its own conversation, for the same user.

It acts under its own rules and those of the delegating agent; its confirmations are asked by the user's own turn.
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, override

from homeassistant.components import conversation
from homeassistant.components.conversation import ChatLog
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
from ..turn.plan import DELEGATED, ActionClass, Plan, Reach
from ..turn.turn import Turn, TurnRequest, current_request
from .sanitize import cleaned

NAME = "delegate_to_service"
TARGET, REQUEST, CONFIRM = "target_service_id", "user_request", "confirm_delegation"
BLOCKED, UNRESTRICTED = "blocked", "unrestricted"  # levels of a profile besides `confirm`
DEPTH = 1  # how many agents may hand a request on, by default
MAX_REQUEST = 4000  # characters
MAX_ANSWER = 16_000
MAX_DESCRIPTION = 500

WHAT = (
    "Hand a request to another agent of this home and get its answer. The other agent has its own instructions, model and "
    "tools. It sees only user_request, nothing of this conversation: write down everything it needs. The agents:"
)
REFUSED = {
    "unknown": "Unknown agent '{name}'. You may ask: {names}.",
    "blocked": "The agent '{name}' takes no requests from other agents. Nothing was done; do not try again.",
    "not_for_user": "The agent '{name}' is not set up for this user. Nothing was done; do not try again.",
    "again": "The agent '{name}' is waiting for your answer. Answer yourself.",
    "deep": "This request was handed on to you and cannot be handed on again. Answer yourself.",
    "gone": "The agent '{name}' is not available now.",
}
FAILED = "The agent '{name}' failed: {detail}"
ASKED = (
    "The agent '{name}' needs the user's confirmation, and the user is being asked ({request_id}). The action was not taken yet; "
    "asking the agent again changes nothing."
)

type ChatLogListener = Callable[[ChatLog, dict[str, Any]], None]

_OWNED = "context" in signature(chat_session.async_get_chat_session).parameters
"""Whether sessions know their user, since Home Assistant 2026.11."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An agent that may be asked."""

    id: str  # name for the model: the id of a profile, the entity id of another agent
    name: str
    description: str = ""
    profile_id: str = ""
    """Subentry id of the profile; empty for an agent of another integration, which has none of our rules."""
    level: str = ""
    is_for: Callable[[str | None], bool] = lambda _user_id: True
    """Returns whether a user may talk to it, or with None a speaker who is not known."""

    def entity_id(self, hass: HomeAssistant) -> str:
        """Return the conversation entity that answers. Raises `ToolRefusal` if it is not available."""
        entity_id: str | None = self.id
        if self.profile_id:
            entity_id = er.async_get(hass).async_get_entity_id(conversation.DOMAIN, DOMAIN, self.profile_id)
        if entity_id is None or async_get_agent(hass, entity_id) is None:
            raise ToolRefusal(REFUSED["gone"].format(name=self.id))
        return entity_id


class DelegateToService(HomeAgentTool):
    """Hands a request to another agent."""

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
    timed_out = "The agent did not answer within {seconds} seconds. Actions that it started may have happened: query the states."

    def __init__(self, targets: Sequence[Target], depth: int) -> None:
        """Take the agents that the profile names, with blocked ones, and how many may hand a request on."""
        self._targets = {target.id: target for target in targets}
        self._depth = depth
        self.targets = [target for target in targets if target.level != BLOCKED]
        """Agents that it can ask."""
        names = sorted(target.id for target in self.targets)
        lines = [WHAT]
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
                CONFIRM: {"type": "boolean", "description": "true: the user is asked first. Some agents always ask."},
            },
            "required": [TARGET, REQUEST],
        }

    @property
    @override
    def always_asks(self) -> bool:
        """Return whether all agents need a yes; the tool is then offered only if the user can confirm."""
        return not any(target.level == UNRESTRICTED for target in self._targets.values())

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the agent to ask, and whether that needs a yes. The other agent's actions have their own plans.

        Agents of other integrations are outside our policy: their actions count as destructive, their words as text from
        outside. Raises `ToolRefusal` if the agent must not or cannot be asked.
        """
        target = self._target(args[TARGET])
        if not target.is_for(turn.context.user_id):
            raise ToolRefusal(REFUSED["not_for_user"].format(name=target.id))
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
                reach=Reach(reached=(entity_id,)),
                insists=args[CONFIRM],
                outside=True,
            )
        asks = args[CONFIRM] or target.level != UNRESTRICTED
        return Plan(
            action=ActionClass.READ,
            reasons=(DELEGATED,) if asks else (),
            subject=target.name,
            version=target.id,
            texts=(args[REQUEST],),
            insists=asks,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the other agent's answer; its words stream as thinking. Raises `ToolRefusal` if it fails or asks."""
        target = self._target(args[TARGET])
        entity_id = target.entity_id(hass)
        request = TurnRequest(delegated_by=turn) if target.profile_id else None
        token = current_request.set(request)
        try:
            with own_conversation(hass, turn, as_progress(current_chat_log.get())) as chat_log:
                result = await conversation.async_converse(
                    hass,
                    args[REQUEST],
                    chat_log.conversation_id,
                    turn.context,
                    language=turn.language,
                    agent_id=entity_id,
                    device_id=turn.device_id,
                    satellite_id=turn.satellite_id,
                )
        finally:
            current_request.reset(token)
        if request is not None and request.turn is not None and (waits := request.turn.record.request_id) is not None:
            raise ToolRefusal(ASKED.format(name=target.id, request_id=waits))
        said = cleaned(str(result.response.speech.get("plain", {}).get("speech", "")).strip(), MAX_ANSWER)
        if result.response.error_code is not None or not said:
            raise ToolRefusal(FAILED.format(name=target.id, detail=said or "no answer"))
        return said

    def _target(self, name: str) -> Target:
        """Return the agent with this name. Raises `ToolRefusal` for an unknown or blocked one."""
        target = self._targets.get(name) or self._targets.get(name.casefold())
        if target is None:
            raise ToolRefusal(REFUSED["unknown"].format(name=cleaned(name, 64), names=self._names))
        if target.level == BLOCKED:
            raise ToolRefusal(REFUSED["blocked"].format(name=target.id))
        return target


@contextmanager
def own_conversation(hass: HomeAssistant, turn: Turn, heard: ChatLogListener) -> Generator[ChatLog]:
    """Open a new conversation of the turn's user; `heard` gets its deltas."""
    whose: dict[str, Any] = {"context": turn.context} if _OWNED else {}
    with (
        chat_session.async_get_chat_session(hass, None, **whose) as session,
        conversation.async_get_chat_log(hass, session, chat_log_delta_listener=heard) as chat_log,
    ):
        yield chat_log


def as_progress(outer: ChatLog | None) -> ChatLogListener:
    """Return a listener that passes the words of a conversation to the outer one, as thinking."""

    @callback
    def progress(_log: ChatLog, delta: dict[str, Any]) -> None:
        if outer is not None and outer.delta_listener is not None and delta.get("content"):
            if delta.get("role", "assistant") == "assistant":
                outer.delta_listener(outer, {"thinking_content": delta["content"]})

    return progress


class Delegation:
    """Offers the tool to profiles that may ask other agents."""

    names = (NAME,)
    revision = 0

    def __init__(
        self, hass: HomeAssistant, profiles: Mapping[str, Profile], agents: Collection[str], depth: int
    ) -> None:
        """Take what `async_use` takes."""
        self._hass = hass
        self.async_use(profiles, agents, depth)

    @callback
    def async_use(self, profiles: Mapping[str, Profile], agents: Collection[str], depth: int) -> None:
        """Take the profiles by subentry id, the entity ids of other allowed agents, and the depth, as they are now."""
        self.revision += 1
        self._agents = frozenset(agents)
        self._depth = depth
        self._profiles = {
            key: Target(
                id=profile.profile_id,
                name=profile.name,
                description=profile.description,
                profile_id=key,
                level=profile.delegation_level,
                is_for=profile.is_for,
            )
            for key, profile in profiles.items()
        }
        self._tools: dict[tuple[str, ...], DelegateToService] = {}

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tool; nothing unless one of the agents that the profile names takes requests."""
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
        if entry is not None and entry.platform == DOMAIN:  # a profile is named by its id, and has a level
            return None
        known = (entry.name or entry.original_name) if entry is not None else None
        return Target(id=name, name=known or name)
