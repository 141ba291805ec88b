"""All tools of a profile: ours and those that other rooms provide, in sorted order and with unique names."""

from collections.abc import Callable, Sequence
from typing import Protocol

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm

from ..const import LOGGER
from ..profiles.profile import Profile
from ..safety.tool import HomeAgentTool
from .ha_control import HaControl
from .ha_query import HaQuery
from .names import HomeSource


class ToolProvider(Protocol):
    """A room that has tools to offer."""

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return the tools for a profile; the same objects as long as nothing changed, so that their schemas are cached.

        Raises `HomeAssistantError` when they cannot be had now; the others stay.
        """
        ...


class NativeTools:
    """`ha_control` and `ha_query` (S1-40, S1-123)."""

    def __init__(self, home: HomeSource) -> None:
        """Take where the exposed home is read."""
        self._tools = (HaControl(home), HaQuery(home))

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return both, or none when the profile has them switched off."""
        return self._tools if profile.native_tools else ()


type Offers = Callable[[Profile, HomeAgentTool], bool]
"""Whether the owner lets a profile have a tool."""


class Tools:
    """The tools of the entry."""

    def __init__(self, *providers: ToolProvider, offers: Offers) -> None:
        """Take the providers; the first one that has a name keeps it."""
        self._providers = providers
        self._offers = offers

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> list[HomeAgentTool]:
        """Return what the profile may call, sorted by name: the order is part of the stable prompt."""
        tools: dict[str, HomeAgentTool] = {}
        for provider in self._providers:
            try:
                offered = await provider.async_tools(profile, llm_context)
            except HomeAssistantError as err:
                LOGGER.warning("Tools of %s are left out: %s", type(provider).__name__, err)
                continue
            for tool in offered:
                if tools.setdefault(tool.name, tool) is not tool:
                    LOGGER.debug("A tool of %s is left out: the name %s is taken", type(provider).__name__, tool.name)
        return [tools[name] for name in sorted(tools) if self._offers(profile, tools[name])]
