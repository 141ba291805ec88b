"""All tools of a profile, in sorted order and with unique names, and the object handed to the chat log that runs them.

Home Assistant 2026.11 keeps the object of a conversation's first turn; which turn is running is therefore looked up at
the moment of the call.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, override

from homeassistant.components.conversation import ConversationTraceEventType, async_conversation_trace_append
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..home.contents import AUTOMATION
from ..home.snapshot import Home, HomeSnapshot
from ..policy.policy import Policy
from ..policy.tool import HomeAgentTool
from ..policy.undo import HaUndo
from ..settings.profile import Profile
from ..support.const import ASSISTANT, DOMAIN, LOGGER
from ..turn.turn import Turn, current_turn
from .control import HaControl
from .ha_apis import wrapped
from .query import HaQuery


class ToolProvider(Protocol):
    """A room that has tools to offer."""

    revision: int
    """Counts up when what it offers changes; until then, its last answer is used, unless a profile names other APIs (`llm_apis`)."""

    @property
    def names(self) -> Collection[str]:
        """Names of all tools that it can offer, also of those that no profile has now. Forms list them."""
        ...

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return a profile's tools, the same objects while nothing changed, or raise `HomeAssistantError`."""
        ...


class NativeTools:
    """`ha_control`, `ha_query`, and beside them `ha_undo`."""

    names = (HaControl.name, HaQuery.name, HaUndo.name)

    def __init__(self, home: Home, *beside: HaUndo) -> None:
        """Take where the exposed home is read, and the tool beside."""
        self.revision = 0
        self._home = home
        query = HaQuery(home)
        self._tools = {known: (HaControl(home, automations=known), query, *beside) for known in (False, True)}
        self._automations: bool | None = None
        home.async_listen(self._look)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return all, or none when the profile has them switched off."""
        if not profile.native_tools:
            return ()
        if self._automations is None:
            self._look(await self._home.async_get())
        return self._tools[bool(self._automations)]

    @callback
    def _look(self, home: HomeSnapshot) -> None:
        """Note whether an automation is exposed."""
        found = any(entity_id.startswith(f"{AUTOMATION}.") for entity_id in home.entities)
        if found != self._automations:
            self._automations = found
            self.revision += 1


type Offers = Callable[[Profile, HomeAgentTool], bool]
"""Whether the owner lets a profile have a tool."""


class Tools:
    """The tools of the entry."""

    def __init__(self, *providers: ToolProvider, offers: Offers) -> None:
        """Take the providers; the first one that has a name keeps it."""
        self._providers = providers
        self._offers = offers
        self._known: dict[str, tuple[Profile, list[int], list[HomeAgentTool]]] = {}
        """What each profile may call, by its id, with the revisions of the providers that said so."""

    @callback
    def async_limit(self, offers: Offers) -> None:
        """Take the owner's choice of tools as it is now, and ask the providers again."""
        self._offers = offers
        self._known.clear()

    @property
    def names(self) -> list[str]:
        """Return the names of all tools that the providers can offer, sorted."""
        return sorted({name for provider in self._providers for name in provider.names})

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> list[HomeAgentTool]:
        """Return what the profile may call, sorted by name: the order is part of the stable prompt."""
        revisions = [provider.revision for provider in self._providers]
        known = self._known.get(profile.subentry_id)
        if known is not None and known[0] is profile and known[1] == revisions:
            return known[2]
        tools: dict[str, HomeAgentTool] = {}
        lasting = not profile.llm_apis  # theirs depend on who asks
        for provider in self._providers:
            try:
                offered = await provider.async_tools(profile, llm_context)
            except HomeAssistantError as err:
                LOGGER.warning("Tools of %s are left out: %s", type(provider).__name__, err)
                lasting = False
                continue
            for tool in offered:
                if tools.setdefault(tool.name, tool) is not tool:
                    LOGGER.debug("A tool of %s is left out: the name %s is taken", type(provider).__name__, tool.name)
        offered_tools = [tools[name] for name in sorted(tools) if self._offers(profile, tools[name])]
        if lasting:
            self._known[profile.subentry_id] = profile, revisions, offered_tools
        return offered_tools


@dataclass(slots=True, kw_only=True)
class TurnAPI(llm.API):
    """The `llm.API` of a profile. Private to it: it is not registered, so no other agent is offered its tools."""

    tools: Sequence[HomeAgentTool]
    policy: Policy

    @override
    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        return self.instance(llm_context)

    def instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return the tools for a conversation."""
        return TurnAPIInstance(
            api=self,
            api_prompt="",
            llm_context=llm_context,
            tools=list(self.tools),
            custom_serializer=llm.selector_serializer,
            policy=self.policy,
        )


@dataclass(kw_only=True)
class TurnAPIInstance(llm.APIInstance):
    """Runs each call through the policy."""

    policy: Policy

    @override
    async def async_call_tool(self, tool_input: llm.ToolInput) -> llm.ToolResult:
        """Return the envelope; never raises, so the model always learns how the call ended."""
        async_conversation_trace_append(
            ConversationTraceEventType.TOOL_CALL, {"tool_name": tool_input.tool_name, "tool_args": tool_input.tool_args}
        )
        named = (tool for tool in self.tools if isinstance(tool, HomeAgentTool) and tool.name == tool_input.tool_name)
        return await self.policy.async_call(current_turn.get(), next(named, None), tool_input, by_model=True)


def policed(instance: llm.APIInstance, policy: Policy) -> llm.APIInstance:
    """Return another API's instance with every call under the policy."""
    return TurnAPIInstance(
        api=instance.api,
        api_prompt=instance.api_prompt,
        llm_context=instance.llm_context,
        tools=list(wrapped([instance])),
        custom_serializer=instance.custom_serializer,
        policy=policy,
    )


def llm_context_of(turn: Turn) -> llm.LLMContext:
    """Return who asks, in Home Assistant's words."""
    return llm.LLMContext(
        platform=DOMAIN, context=turn.context, language=turn.language, assistant=ASSISTANT, device_id=turn.device_id
    )
