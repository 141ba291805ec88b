"""All wishes that wait, kept over restarts, within bounds."""

from collections import deque
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, override

from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util

from ..support.errors import ToolError
from ..support.kept import Kept, kept_of
from ..turn.turn import Turn
from .wish import Wish

MOST = 1_000
MOST_OF_USER = 100
MOST_SAME = 3
"""Wishes of a user for the same; more is a mistake or a loop."""
FARTHEST = timedelta(days=366)
"""How far ahead a wish may be; an event is waited for as long."""
MOST_STEPS = 10
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
        self._ran: deque[str] = deque(maxlen=MOST)
        """Ids of the contexts in which wishes were done lately: what these set off makes no new ones."""
        self.spans: dict[str, float] = {}
        """By id, when wishes made since the start are due in seconds of a clock that is never set (`time.monotonic`)."""

    def note_run(self, context: Context) -> None:
        """Note the context in which a wish is done."""
        self._ran.append(context.id)

    def has_run(self, context: Context) -> bool:
        """Return whether a wish was done in a context, or it follows from one in which that was so."""
        return context.id in self._ran or (context.parent_id is not None and context.parent_id in self._ran)

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
        if len(others) >= MOST or len(own) >= MOST_OF_USER:
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
