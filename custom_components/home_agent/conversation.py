"""The conversation entities: one per profile."""

from typing import Literal, override

from homeassistant.components import conversation
from homeassistant.components.conversation import ChatLog, ConversationInput, ConversationResult
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .agent.answerers import async_answer
from .agent.runtime import HomeAgentConfigEntry, RuntimeData
from .entity import HomeAgentEntity, subentries_with
from .settings.profile import Profile
from .support.const import SUBENTRY_PROFILE

PARALLEL_UPDATES = 0


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add one conversation entity per profile."""
    for subentry, profile in subentries_with(entry, SUBENTRY_PROFILE, entry.runtime_data.profiles):
        entity = HomeAgentConversationEntity(entry.runtime_data, subentry, profile)
        async_add_entities([entity], config_subentry_id=subentry.subentry_id)


class HomeAgentConversationEntity(HomeAgentEntity, conversation.ConversationEntity):
    """An agent."""

    _attr_name = None
    _attr_supports_streaming = True
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL

    def __init__(self, runtime: RuntimeData, subentry: ConfigSubentry, profile: Profile) -> None:
        """Initialize the entity of a profile."""
        self.endpoint = runtime.endpoint_of(profile)
        super().__init__(subentry, self.endpoint.config.model if self.endpoint else None)
        self._attr_unique_id = subentry.subentry_id
        if profile.icon:
            self._attr_icon = profile.icon
        self.runtime = runtime
        self.profile = profile

    @property
    @override
    def supported_languages(self) -> list[str] | Literal["*"]:
        return MATCH_ALL

    @override
    async def _async_handle_message(self, user_input: ConversationInput, chat_log: ChatLog) -> ConversationResult:
        return await async_answer(self.hass, self.runtime, self.profile, self.endpoint, user_input, chat_log)
