"""Events for whoever asks for them: in the turn part, or in the instructions where the owner's prompt has a place for them."""

from hashlib import blake2b

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..prompt.events_asked import HouseEvent, detect_event_request, event_lines
from ..prompt.placeholders import async_zone
from ..prompt.words import words_for
from ..turn import Turn
from .base import Asked, Block, Item
from .house_events import HouseEvents

TAINT = "events"
"""What a question names when appointments that others wrote make it careful."""


class Happenings:
    """Provider of events."""

    name = "events"

    def __init__(self, hass: HomeAssistant) -> None:
        """Look at this house."""
        self._hass = hass
        self._events = HouseEvents(hass)

    async def async_block(self, asked: Asked) -> Block | None:
        """Return the events that a message asks for; None when it asks for none, or the instructions hold them."""
        turn = asked.turn
        if turn.events_in_prompt or (events := await self.async_events(turn)) is None:
            return None
        words = words_for(turn.language)
        if not events:
            return Block(items=[Item(key=words.events_none, data=words.events_none)])
        return Block(heading=words.events, items=[_item(line) for line in event_lines(events, words)])

    async def async_events(self, turn: Turn) -> list[HouseEvent] | None:
        """Return the events that a message asks for, None when it asks for none. Text of others makes the turn careful."""
        if not turn.profile.tell_events or not self._hass.config.location_name:
            return None
        zone = await async_zone(self._hass, turn.profile.timezone)
        request = detect_event_request(turn.text, dt_util.now(zone))
        if request is None:
            return None
        events, written = await self._events.async_find(turn, request)
        if written:
            turn.taints.add(TAINT)
        return events


def _item(line: str) -> Item:
    return Item(key=blake2b(line.encode("utf-8", "replace"), digest_size=8).hexdigest(), data=line)
