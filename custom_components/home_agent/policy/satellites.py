"""What a voice satellite says by itself: an announcement, or a question to which it listens.

Nothing of `assist_satellite` is imported: it is only there where it is set up.
"""

import asyncio

from homeassistant.const import ATTR_SUPPORTED_FEATURES, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import Context, Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import async_track_state_change_event

from ..support.const import LOGGER

DOMAIN = "assist_satellite"
ANNOUNCES = 1
"""`AssistSatelliteEntityFeature.ANNOUNCE`."""
CONVERSES = 2
"""`AssistSatelliteEntityFeature.START_CONVERSATION`."""
FREE = "idle"
PATIENCE = 20
"""Seconds that are waited for someone who talks to it."""
SPOKEN = 90
"""Seconds that a text of some hundred characters takes to be spoken, with what a slow voice needs before."""


def satellite_of(hass: HomeAssistant, device_id: str | None, satellite_id: str | None) -> str | None:
    """Return the entity id of the satellite where something was said; None without one."""
    if satellite_id:
        return satellite_id
    if not device_id:
        return None
    entries = er.async_entries_for_device(er.async_get(hass), device_id)
    return next((entry.entity_id for entry in entries if entry.domain == DOMAIN), None)


def can(hass: HomeAssistant, entity_id: str | None, feature: int) -> bool:
    """Return whether a satellite is there and has a feature."""
    state = hass.states.get(entity_id) if entity_id else None
    if state is None or state.domain != DOMAIN or state.state in (STATE_UNAVAILABLE, STATE_UNKNOWN):
        return False
    return bool(int(state.attributes.get(ATTR_SUPPORTED_FEATURES) or 0) & feature)


async def async_free(hass: HomeAssistant, entity_id: str, seconds: float = PATIENCE) -> bool:
    """Return whether no one talks with a satellite, after so many seconds at the latest: it is not interrupted."""
    freed = asyncio.Event()

    def is_free(state: State | None) -> bool:
        return state is not None and state.state == FREE

    @callback
    def look(event: Event[EventStateChangedData]) -> None:
        if is_free(event.data["new_state"]):
            freed.set()

    if is_free(hass.states.get(entity_id)):
        return True
    stop = async_track_state_change_event(hass, [entity_id], look)
    try:
        async with asyncio.timeout(seconds):
            await freed.wait()
    except TimeoutError:
        return False
    finally:
        stop()
    return True


async def async_announce(hass: HomeAssistant, entity_id: str, text: str, context: Context) -> bool:
    """Say a text, and return whether it was said."""
    return await _async_call(hass, "announce", {"entity_id": entity_id, "message": text}, context)


async def async_converse(hass: HomeAssistant, entity_id: str, question: str, context: Context) -> bool:
    """Say a question and listen, and return whether that worked. No model is told of the question."""
    data = {"entity_id": entity_id, "start_message": question, "extra_system_prompt": ""}
    return await _async_call(hass, "start_conversation", data, context)


async def _async_call(hass: HomeAssistant, service: str, data: dict[str, str], context: Context) -> bool:
    # The user of a wish need not have the right to control the satellite where it was said.
    own = Context(parent_id=context.id)
    try:
        async with asyncio.timeout(SPOKEN):
            await hass.services.async_call(DOMAIN, service, data, blocking=True, context=own)
    except Exception as err:  # noqa: BLE001 - satellites raise anything
        LOGGER.warning("%s could not be used: %s", data["entity_id"], type(err).__name__)
        return False
    return True
