"""Which wishes are due when, which wait for an event of which entities, and which name an entity: found without going through all."""

from bisect import bisect_left, insort
from collections.abc import Callable, Container, Iterable
from datetime import datetime

from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers.event import async_track_state_change_event

from .wish import Wish


class Armed:
    """Wishes by their moment and by their entities. A state change that concerns none of them calls nothing here."""

    def __init__(self, hass: HomeAssistant, changed: Callable[[Event[EventStateChangedData]], None]) -> None:
        """Start empty; `changed` is called with the state changes of entities that are waited for."""
        self._hass = hass
        self._changed = changed
        self._times: list[tuple[datetime, str]] = []
        self._wishes: dict[str, tuple[Wish, datetime]] = {}
        self._named: dict[str, dict[str, None]] = {}
        self._watched: dict[str, tuple[dict[str, None], CALLBACK_TYPE]] = {}

    @callback
    def put(self, wish: Wish, moment: datetime) -> None:
        """Arm a wish for a moment, and for its event while that is awaited."""
        self.drop(wish.id)
        self._wishes[wish.id] = wish, moment
        insort(self._times, (moment, wish.id))
        for entity_id in wish.named_ids:
            self._named.setdefault(entity_id, {})[wish.id] = None
        for entity_id in _events(wish):
            if entity_id not in self._watched:
                stop = async_track_state_change_event(self._hass, entity_id, self._changed)
                self._watched[entity_id] = {}, stop
            self._watched[entity_id][0][wish.id] = None

    @callback
    def drop(self, wish_id: str) -> None:
        """Disarm a wish, if it is armed."""
        if (found := self._wishes.pop(wish_id, None)) is None:
            return
        wish, moment = found
        del self._times[bisect_left(self._times, (moment, wish_id))]
        for entity_id in dict.fromkeys(wish.named_ids):
            self._named[entity_id].pop(wish_id, None)
            if not self._named[entity_id]:
                del self._named[entity_id]
        for entity_id in _events(wish):
            ids, stop = self._watched[entity_id]
            ids.pop(wish_id, None)
            if not ids:
                del self._watched[entity_id]
                stop()

    @callback
    def clear(self) -> None:
        """Disarm all."""
        for wish_id in [*self._wishes]:
            self.drop(wish_id)

    def until(self, now: datetime, without: Container[str]) -> list[str]:
        """Return the ids of the wishes that are due, in the order of their moments."""
        ids = []
        for moment, wish_id in self._times:
            if moment > now:
                break
            if wish_id not in without:
                ids.append(wish_id)
        return ids

    def first(self, without: Container[str]) -> datetime | None:
        """Return the earliest moment."""
        return next((moment for moment, wish_id in self._times if wish_id not in without), None)

    def moment(self, wish_id: str) -> datetime | None:
        """Return the moment for which a wish is armed; None if it is not."""
        found = self._wishes.get(wish_id)
        return found[1] if found is not None else None

    def naming(self, entity_id: str) -> list[str]:
        """Return the ids of the wishes that name an entity."""
        return [*self._named.get(entity_id, ())]

    def awaiting(self, entity_id: str) -> list[str]:
        """Return the ids of the wishes that wait for an event of an entity."""
        return [*self._watched[entity_id][0]] if entity_id in self._watched else []


def _events(wish: Wish) -> Iterable[str]:
    """Return the entities of the event of a wish while it is awaited, or has to stay so."""
    if wish.when.event is None or not wish.when.is_followed:
        return ()
    return dict.fromkeys(wish.when.event.entity_ids)
