"""How often states change, sampled once a minute: states that change all the time are not written into the baseline.

Until an entity was watched for long enough, its kind is the guess.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
import math

from homeassistant.components.sensor import ATTR_STATE_CLASS
from homeassistant.const import STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import HomeAssistant, State

from ..support.bounds import in_slices

FADES_IN = 3600.0  # seconds after which a change counts for about a third
OFTEN = 3.0  # changes in about an hour; with more of them an older state is likely wrong
WATCHED = 3600.0  # seconds of watching after which the samples count instead of the kind
SILENT = frozenset({STATE_UNAVAILABLE, STATE_UNKNOWN})


class Holds(Enum):
    """The part of an entity's state that stays the same for a while."""

    ALL = "all"
    STATE = "state"
    """Its attributes change all the time."""
    NOTHING = "nothing"


@dataclass(slots=True)
class _Seen:
    state: State
    since: float
    """Time of the first sample."""
    at: float
    """Time of the last sample."""
    states: float = 0.0
    """Changes of the state; older ones count less."""
    attributes: float = 0.0
    """Changes of attributes alone."""

    def note(self, state: State, now: float) -> None:
        """Count the changes since the last sample. A device that comes or goes is no change of its values."""
        faded = math.exp((self.at - now) / FADES_IN)
        self.states *= faded
        self.attributes *= faded
        before, self.state, self.at = self.state, state, now
        if before.state != state.state:
            self.states += not SILENT & {before.state, state.state}
        elif before.attributes != state.attributes:
            self.attributes += 1


@dataclass(eq=False, slots=True)
class Volatility:
    """Counts how often the states of entities change; owned by the config entry."""

    _hass: HomeAssistant
    _seen: dict[str, _Seen] = field(default_factory=dict)

    async def async_look(self, entity_ids: Iterable[str], now: float) -> None:
        """Sample these entities at `now` (seconds of a monotonic clock); all others are forgotten."""
        before, seen = self._seen, {}
        async for entity_id in in_slices(entity_ids):
            if (state := self._hass.states.get(entity_id)) is None:
                continue
            one = seen[entity_id] = before.get(entity_id) or _Seen(state, now, now)
            if one.state is not state:
                one.note(state, now)
        self._seen = seen

    def holds(self, state: State, now: float) -> Holds:
        """Return the part of an entity's state that is expected to hold for a while."""
        one = self._seen.get(state.entity_id)
        if one is None or now - one.since < WATCHED:
            if ATTR_STATE_CLASS in state.attributes:
                return Holds.NOTHING
            if one is None:
                return Holds.ALL
        faded = math.exp((one.at - now) / FADES_IN)
        if one.states * faded >= OFTEN:
            return Holds.NOTHING
        return Holds.STATE if (one.states + one.attributes) * faded >= OFTEN else Holds.ALL
