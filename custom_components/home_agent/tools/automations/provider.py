"""Offers the tools for automations to agents that have them on."""

from collections.abc import Sequence

from homeassistant.helpers import llm

from ...home.snapshot import Home
from ...policy.tool import HomeAgentTool
from ...settings.profile import Profile
from .changes import CHANGES
from .reading import GetAutomation, ListAutomations


class AutomationTools:
    """The tools of the profile that makes automations."""

    revision = 0

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._tools: tuple[HomeAgentTool, ...] = (ListAutomations(), GetAutomation(), *(make() for make in CHANGES))
        self.names = tuple(tool.name for tool in self._tools)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return all, or none where the profile has them off."""
        return self._tools if profile.automation_tools else ()
