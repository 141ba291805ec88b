"""What the loaded entry owns, and a message on its way to an answer."""

from dataclasses import dataclass, field

from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant

from ..client.endpoint import Endpoint
from ..home.snapshot import Home
from ..local.sentences import Means
from ..memory.extraction import Extractor
from ..memory.memories import Memories
from ..policy.confirmation import ConfirmationReply
from ..policy.journal import ActionJournal
from ..policy.policy import Policy, Throttle
from ..policy.proposals import Proposals
from ..prompt.request import Sources
from ..search.index import HomeIndex
from ..search.knowledge import Knowledge
from ..settings.profile import Profile
from ..support.const import LLM_DEFAULT, LLM_NONE
from ..tools.custom.provider import CustomTools
from ..tools.delegation import Delegation
from ..tools.extensions.extensions import Extensions
from ..tools.external import ExternalModels
from ..tools.mcp.provider import McpTools
from ..tools.registry import Tools
from ..transcript.conversations import Conversations
from ..transcript.transcript import Transcript, Transcripts
from ..turn.turn import Turn
from .commands import Commands, SlashCommand
from .configuration import Configuration
from .library import Library
from .registry import Registry
from .wakes import Wakes

type HomeAgentConfigEntry = ConfigEntry[RuntimeData]


@dataclass(slots=True, kw_only=True)
class RuntimeData:
    """Endpoints, profiles and what they share. A change of the settings replaces what is in it (changes.py)."""

    configuration: Configuration
    endpoints: dict[str, Endpoint]  # by subentry id; like `profiles` always the same mapping, with the content of now
    profiles: dict[str, Profile]
    registry: Registry
    models: dict[tuple[str, str], Endpoint] = field(default_factory=dict)
    home: Home
    policy: Policy
    proposals: Proposals
    tools: Tools
    own_tools: Tools  # those of `tools` that are ours or the owner's; they can be lent to other programs
    commands: Commands
    means: Means
    throttle: Throttle
    delegation: Delegation
    external_models: ExternalModels
    extensions: Extensions
    custom_tools: CustomTools
    mcp_tools: McpTools
    journal: ActionJournal
    library: Library
    finder: HomeIndex
    knowledge: Knowledge
    memories: Memories
    extractor: Extractor
    transcripts: Transcripts
    conversations: Conversations
    sources: Sources
    wakes: Wakes = field(default_factory=Wakes)

    def endpoint_of(self, profile: Profile) -> Endpoint | None:
        """Return the endpoint a profile talks to; None if it has none, or it was removed: the home answers by itself."""
        if profile.llm == LLM_NONE:
            return None
        first = next(iter(self.endpoints.values()), None)
        endpoint = first if profile.llm == LLM_DEFAULT else self.endpoints.get(profile.llm)
        if endpoint is None or profile.llm_model in ("", endpoint.config.model):
            return endpoint
        key = (endpoint.config.subentry_id, profile.llm_model)
        if key not in self.models:
            self.models[key] = endpoint.with_model(profile.llm_model)
        return self.models[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A message, and what an answer to it needs."""

    hass: HomeAssistant
    runtime: RuntimeData
    turn: Turn
    transcript: Transcript
    endpoint: Endpoint | None
    user_input: ConversationInput  # without a PIN
    chat_log: ChatLog
    command: SlashCommand | None = None
    reply: ConfirmationReply | None = None
