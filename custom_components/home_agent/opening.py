"""Opens a turn: who asks, from where, and whether the answer will be spoken."""

from contextvars import ContextVar
from dataclasses import dataclass

from homeassistant.components.conversation import ConversationInput
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er

from .profiles.profile import Profile
from .turn import Turn, current_turn


@dataclass(slots=True)
class TurnRequest:
    """What `home_agent.process` asks besides Home Assistant's own input, and the turn it wants to see afterwards."""

    context_entities: list[str] | None = None
    confirm_via: tuple[str, ...] = ()
    turn: Turn | None = None


current_request: ContextVar[TurnRequest | None] = ContextVar("home_agent_request", default=None)
"""Set around one turn; the turn that opens takes it, so that no turn inside it does."""


async def async_open_turn(
    hass: HomeAssistant, user_input: ConversationInput, profile: Profile, conversation_id: str
) -> Turn:
    """Return the turn of an input. `conversation_id` is the chat log's; the input's may be None or renamed."""
    turn = Turn.from_input(user_input, profile, conversation_id)
    turn.language = user_input.language or hass.config.language
    if user_input.context.user_id:
        turn.user = await hass.auth.async_get_user(user_input.context.user_id)
    turn.area_id = area_of(hass, user_input.device_id, user_input.satellite_id)
    is_voice_device = user_input.device_id is not None or user_input.satellite_id is not None
    if (request := current_request.get()) is not None and request.turn is None:
        request.turn, turn.context_entities, turn.confirm_via = turn, request.context_entities, request.confirm_via
    turn.direct = current_turn.get(None) is None
    turn.spoken = profile.speech == "always" or (profile.speech == "auto" and is_voice_device)
    return turn


@callback
def area_of(hass: HomeAssistant, device_id: str | None, satellite_id: str | None) -> str | None:
    """Return the area of whoever asks: the satellite's own, else its device's."""
    if satellite_id and (entry := er.async_get(hass).async_get(satellite_id)):
        if entry.area_id:
            return entry.area_id
        device_id = entry.device_id
    if device_id and (device := dr.async_get(hass).async_get(device_id)):
        return dr.async_get_effective_area_id(hass, device)
    return None
