"""The conversation entities: one per profile."""

from typing import Literal, override

from homeassistant.components import conversation
from homeassistant.components.conversation import ChatLog, ConversationInput, ConversationResult
from homeassistant.config_entries import ConfigSubentry
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .agent.answerers import async_answer
from .agent.runtime import HomeAgentConfigEntry, RuntimeData
from .entity import HomeAgentEntity, async_have_entities
from .support.const import SUBENTRY_PROFILE

PARALLEL_UPDATES = 0


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add one conversation entity per profile."""
    runtime = entry.runtime_data

    def make(subentry: ConfigSubentry) -> list[HomeAgentConversationEntity]:
        return [HomeAgentConversationEntity(runtime, subentry)]

    async_have_entities(hass, entry, SUBENTRY_PROFILE, runtime.profiles, make, async_add_entities)


class HomeAgentConversationEntity(HomeAgentEntity, conversation.ConversationEntity):
    """An agent."""

    _attr_name = None
    _attr_supports_streaming = True
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL

    def __init__(self, runtime: RuntimeData, subentry: ConfigSubentry) -> None:
        """Initialize the entity of a profile."""
        super().__init__(subentry)
        self._attr_unique_id = subentry.subentry_id
        self.runtime = runtime
        self.profile = runtime.profiles[subentry.subentry_id]
        self.endpoint = runtime.endpoint_of(self.profile)

    @property
    @override
    def model(self) -> str | None:
        return self.endpoint.config.model if self.endpoint else None

    @callback
    @override
    def async_look(self) -> None:
        self.profile = self.runtime.profiles[self.subentry.subentry_id]
        self.endpoint = self.runtime.endpoint_of(self.profile)
        super().async_look()
        if (icon := self.profile.icon or None) != self.icon:
            self._attr_icon = icon
            self.async_show()

    @property
    @override
    def supported_languages(self) -> list[str] | Literal["*"]:
        return MATCH_ALL

    @override
    async def _async_handle_message(self, user_input: ConversationInput, chat_log: ChatLog) -> ConversationResult:
        return await async_answer(self.hass, self.runtime, self.profile, self.endpoint, user_input, chat_log)
