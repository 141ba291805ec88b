"""All wishes that wait, kept over restarts, within bounds."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, override

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import CALLBACK_TYPE, Context, Event, HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..support.errors import ToolError
from ..support.kept import Kept, kept_of
from ..turn.turn import Turn
from .wish import Wish

MOST = 1_000
MOST_OF_USER = 100
MOST_SAME = 3
"""Wishes of a user for the same at the same time; more is a mistake or a loop."""
FARTHEST = timedelta(days=366)
"""How far ahead a wish may be; an event is waited for as long."""
MOST_STEPS = 10
MOST_RAN = 5_000
"""Contexts that are remembered as those of wishes and of what they set off."""
_BEGINNINGS = ("automation_triggered", "script_started", EVENT_CALL_SERVICE)
"""What tells of a context that follows from another one, before anything is said in it."""
MAX_TEXT = 500  # characters of what is told or asked


class Wishes(Kept[Wish]):
    """The wishes of this home, oldest first."""

    file = "wishes"
    row = Wish
    delay = 0.5
    most_read = 2 * MOST

    @override
    def read(self, data: Mapping[str, Any]) -> Wish:
        return Wish.from_dict(data)

    @override
    def owner(self, row: Wish) -> str | None:
        return row.user_id

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty."""
        super().__init__(hass)
        self._ran: dict[str, None] = {}
        """Ids of the contexts in which wishes were done lately, and of those that follow: what these set off makes no new ones."""
        self._stop: tuple[CALLBACK_TYPE, ...] = ()
        self.cancelled: dict[str, Wish] = {}
        """Wishes that were cancelled lately, by id: to undo that, until Home Assistant ends. The journal keeps no texts."""
        self.rung: dict[str | None, tuple[Wish, datetime]] = {}
        """By user: the timer or alarm that was up last, and when. A "stop" soon after means that one."""
        self.spans: dict[str, float] = {}
        """By id, when wishes made since the start are due in seconds of a clock that is never set (`time.monotonic`)."""

    @callback
    def cancel(self, wish: Wish) -> None:
        """Drop a wish that its user may want back."""
        self.cancelled.pop(wish.id, None)
        self.cancelled[wish.id] = wish
        if len(self.cancelled) > MOST_OF_USER:
            del self.cancelled[next(iter(self.cancelled))]
        self.drop([wish])

    @callback
    def note_rung(self, wish: Wish) -> None:
        """Note that a timer or an alarm is up."""
        self.rung.pop(wish.user_id, None)
        self.rung[wish.user_id] = wish, dt_util.utcnow()
        if len(self.rung) > MOST:
            del self.rung[next(iter(self.rung))]

    @callback
    def note_run(self, context: Context) -> None:
        """Note the context in which a wish is done; from now on those that follow from it are noted as well."""
        self._note(context.id)
        if not self._stop:
            self._stop = tuple(self._hass.bus.async_listen(event, self._follow) for event in _BEGINNINGS)

    @callback
    def has_run(self, context: Context) -> bool:
        """Return whether a wish was done in a context, or it follows from one in which that was so, by any number of steps."""
        return context.id in self._ran or (context.parent_id is not None and context.parent_id in self._ran)

    @callback
    def _follow(self, event: Event[Any]) -> None:
        if event.context.parent_id in self._ran:
            self._note(event.context.id)

    def _note(self, context_id: str) -> None:
        self._ran.pop(context_id, None)
        self._ran[context_id] = None
        if len(self._ran) > MOST_RAN:
            del self._ran[next(iter(self._ran))]

    @override
    async def async_close(self) -> None:
        """Follow nothing any more, and write what is not yet written."""
        for stop in self._stop:
            stop()
        self._stop = ()
        await super().async_close()

    def all(self) -> list[Wish]:
        """Return all wishes, oldest first."""
        return [*self._rows.values()]

    def get(self, wish_id: str) -> Wish | None:
        """Return a wish by its id."""
        return self._rows.get(wish_id)

    def known_to(self, turn: Turn) -> list[Wish]:
        """Return the wishes that the speaker of a turn may know of: those with a time first, in its order, then events."""
        known = [wish for wish in self._rows.values() if wish.is_known_to(turn)]
        return sorted(known, key=lambda wish: (wish.when.at is None, wish.when.at or wish.made))

    def check_room(self, wish: Wish) -> None:
        """Raise `ToolError` where a wish is one too many, too far ahead, or in the past."""
        others = [one for one in self._rows.values() if one.id != wish.id]
        own = [one for one in others if one.user_id == wish.user_id]
        if len(others) >= MOST:
            raise ToolError("wish_home_full", count=str(MOST))
        if len(own) >= MOST_OF_USER:
            raise ToolError("wish_too_many", count=str(len(own)))
        if sum(one.is_same(wish) for one in own) >= MOST_SAME:
            raise ToolError("wish_too_many_same", count=str(MOST_SAME))
        now = dt_util.utcnow()
        if wish.when.at is not None and wish.when.at > now + FARTHEST:
            raise ToolError("wish_too_far", days=str(FARTHEST.days))
        if wish.when.at is not None and wish.when.at < now - timedelta(seconds=5):
            raise ToolError("wish_past")


def wishes_of(hass: HomeAssistant) -> Wishes:
    """Return the wishes of this home."""
    return kept_of(hass, Wishes)
