"""What became of a write: the house is asked, not the service that was called.

Each entity has an expectation (expectations.py). What has not come true when the calls have returned is waited for, by
state changes, up to the limit; what is under way is not waited for.
"""

import asyncio
from collections.abc import Collection, Iterable

from homeassistant.const import ATTR_ASSUMED_STATE, STATE_UNAVAILABLE
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, State, callback
from homeassistant.helpers.event import async_track_state_change_event

from ..turn import Effect
from .expectations import Expectation, expectation
from .plan import ServiceCall

DEFAULT_SECONDS = 2


class Verification:
    """The entities of some service calls: as they were when this was made, and what has become of them."""

    def __init__(self, hass: HomeAssistant, calls: Iterable[ServiceCall]) -> None:
        """Remember the states; to be made before the calls are."""
        self._hass = hass
        self._before: dict[str, State | None] = {}
        self._expected: dict[str, Expectation | None] = {}
        for call in calls:
            for entity_id in call.entity_ids:
                self._expect(entity_id, call)

    def _expect(self, entity_id: str, call: ServiceCall) -> None:
        if entity_id not in self._before:
            self._before[entity_id] = self._hass.states.get(entity_id)
        before, known = self._before[entity_id], self._expected.get(entity_id)
        found = expectation(before, call) if before is not None else None
        self._expected[entity_id] = known.and_then(found) if known and found else found or known

    async def async_settle(self, seconds: float, failed: Collection[str] = ()) -> None:
        """Return when there is nothing to wait for any more, after `seconds` at the latest."""
        waiting = {item for item in self._expected if item not in failed and not self._settled(item)}
        if not waiting:
            return
        arrived = asyncio.Event()

        @callback
        def look(event: Event[EventStateChangedData]) -> None:
            if self._settled(event.data["entity_id"]):
                waiting.discard(event.data["entity_id"])
            if not waiting:
                arrived.set()

        stop = async_track_state_change_event(self._hass, list(waiting), look)
        try:
            async with asyncio.timeout(seconds):
                await arrived.wait()
        except TimeoutError:
            pass  # what is true now is told
        finally:
            stop()

    def effects(self, failed: Collection[str] = (), *, waited: bool) -> dict[str, Effect]:
        """Return what is true now of each entity. Without a wait nothing counts as unchanged: it may only be late."""
        return {
            entity_id: Effect.FAILED if entity_id in failed else self._effect(entity_id, waited=waited)
            for entity_id in self._expected
        }

    def _settled(self, entity_id: str) -> bool:
        """Return whether there is nothing to wait for."""
        before, now, expected = self._before[entity_id], self._hass.states.get(entity_id), self._expected[entity_id]
        if expected is None or before is None or before.state == STATE_UNAVAILABLE:
            return True
        if now is None or now.state == STATE_UNAVAILABLE:  # it may come back
            return False
        return expected.reached(before, now) is not False or expected.under_way(now)

    def _effect(self, entity_id: str, *, waited: bool) -> Effect:
        before, now, expected = self._before[entity_id], self._hass.states.get(entity_id), self._expected[entity_id]
        if now is None or now.state == STATE_UNAVAILABLE:
            return Effect.UNAVAILABLE
        if before is None or expected is None or (reached := expected.reached(before, now)) is None:
            return Effect.DONE
        if reached:
            return Effect.REACHED
        if expected.under_way(now) or expected.moved(before, now) or expected.takes > 0:
            return Effect.CHANGED
        if now.attributes.get(ATTR_ASSUMED_STATE):  # whether it follows, nobody can see
            return Effect.DONE
        return Effect.UNCHANGED if waited else Effect.DONE
