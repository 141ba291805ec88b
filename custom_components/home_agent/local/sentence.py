"""One sentence and everything needed to answer it."""

from dataclasses import dataclass

from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.core import HomeAssistant

from ..turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """What was said, by whom, where the answer goes, and who recognises it."""

    hass: HomeAssistant
    turn: Turn
    user_input: ConversationInput
    chat_log: ChatLog
    agent: DefaultAgent
    """Home Assistant's own."""
