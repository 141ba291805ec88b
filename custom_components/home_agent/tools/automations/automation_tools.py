"""Offers the tools for automations to agents that have them on."""

from collections.abc import Sequence

from homeassistant.helpers import llm

from ...home.snapshot import Home
from ...policy.tool import HomeAgentTool
from ...settings.profile import Profile
from .calendar_events import GetCalendarEvents
from .change_tools import CHANGES
from .explanation import GetAutomationStats, WhyDidItNotRun
from .listener import EventListenerTrial
from .message import SendMessage
from .reading import GetAutomation, ListAutomations
from .recent_events import QueryRecentEvents
from .script_trial import ExecuteScript
from .state_history import DownloadStateHistory
from .vocabulary_tool import AutomationVocabulary


class AutomationTools:
    """What reads, looks up, tries and changes automations, and what is looked at before one is written."""

    names = (
        ListAutomations.name, GetAutomation.name, AutomationVocabulary.name, QueryRecentEvents.name, DownloadStateHistory.name,
        GetCalendarEvents.name, SendMessage.name, EventListenerTrial.name, ExecuteScript.name, WhyDidItNotRun.name,
        GetAutomationStats.name, *(tool.name for tool in CHANGES),
    )  # fmt: skip
    revision = 0

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._tools: tuple[HomeAgentTool, ...] = (
            ListAutomations(),
            GetAutomation(),
            AutomationVocabulary(home),
            QueryRecentEvents(home),
            DownloadStateHistory(home),
            GetCalendarEvents(home),
            SendMessage(),
            EventListenerTrial(home),
            ExecuteScript(home),
            WhyDidItNotRun(),
            GetAutomationStats(),
            *(make() for make in CHANGES),
        )

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return all, or none for an agent that has them off."""
        return self._tools if profile.automation_tools else ()
