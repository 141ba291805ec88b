"""Offers what an agent looks at before it writes an automation, and the message to a person."""

from collections.abc import Sequence

from homeassistant.helpers import llm

from ...home.snapshot import Home
from ...policy.tool import HomeAgentTool
from ...settings.profile import Profile
from .calendar_events import GetCalendarEvents
from .message import SendMessage
from .recent_events import QueryRecentEvents
from .state_history import DownloadStateHistory


class ContextTools:
    """The tools that tell what happened, what is planned, and whom to tell."""

    names = (DownloadStateHistory.name, GetCalendarEvents.name, QueryRecentEvents.name, SendMessage.name)
    revision = 0

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._tools = (DownloadStateHistory(home), GetCalendarEvents(home), QueryRecentEvents(home), SendMessage())

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return all, or none for an agent that has the tools for automations off."""
        return self._tools if profile.automation_tools else ()
