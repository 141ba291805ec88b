"""What the loaded entry owns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.config_entries import ConfigEntry

from .const import LLM_DEFAULT, LLM_NONE
from .context.briefing import Sources
from .context.instructing import Instructing
from .context.session import Sessions
from .conversations.store import Conversations
from .custom.provider import CustomTools
from .endpoint import Endpoint
from .home import Home
from .journal.store import ActionJournal
from .knowledge.library import Knowledge
from .mcp_client.provider import McpTools
from .profiles.profile import Profile
from .retrieval.index import HomeIndex
from .retrieval.settings import RetrievalSettings
from .retrieval.vectors import Vectors
from .safety.policy import Policy
from .safety.throttle import Throttle
from .tools.registry import Tools

type HomeAgentConfigEntry = ConfigEntry[RuntimeData]


@dataclass(slots=True, kw_only=True)
class RuntimeData:
    """Endpoints, profiles and what they share."""

    endpoints: dict[str, Endpoint]
    """By subentry id, in the order in which they were added."""
    profiles: dict[str, Profile]
    """By subentry id."""
    home: Home
    policy: Policy
    tools: Tools
    own_tools: Tools
    """Those of `tools` that are ours or the owner's; they can be lent to other programs."""
    throttle: Throttle
    custom_tools: CustomTools
    mcp_tools: McpTools
    journal: ActionJournal
    vectors: Vectors
    finder: HomeIndex
    knowledge: Knowledge
    sessions: Sessions
    conversations: Conversations
    sources: Sources
    instructing: Instructing

    def endpoint_of(self, profile: Profile) -> Endpoint | None:
        """Return the endpoint a profile talks to; None: the house answers by itself.

        An endpoint that was removed counts as none; a Repairs issue tells the owner.
        """
        if profile.llm == LLM_NONE:
            return None
        if profile.llm == LLM_DEFAULT:
            return next(iter(self.endpoints.values()), None)
        return self.endpoints.get(profile.llm)

    async def async_move(self, options: Mapping[str, Any]) -> None:
        """Let go of what is kept where these options keep nothing any more; the entry is loaded anew after that."""
        before, after = self.finder.settings, RetrievalSettings.from_options(options)
        if before.place != after.place:
            await self.vectors.async_leave(before.store, {before.collection, *self.knowledge.filled})
        elif before.collection != after.collection:
            await self.vectors.async_leave(before.store, {before.collection})
