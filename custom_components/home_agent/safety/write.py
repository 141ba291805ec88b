"""One write from its first service call to what became of it: the states before, the effects, the entry in the journal."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
import time
from typing import Protocol

from homeassistant.core import HomeAssistant, State, callback
from homeassistant.util.json import JsonValueType

from ..turn import Effect, Turn
from .plan import Plan
from .verify import DEFAULT_SECONDS, Verification

RESERVE = 0.5  # seconds of a tool's time that are left when waiting ends
HAPPENED = frozenset({Effect.REACHED, Effect.CHANGED, Effect.DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a tool may hand back instead of its result: the calls were made, the result waits for their effects."""

    tell: Callable[[Mapping[str, Effect]], JsonValueType]
    """Called once; returns the result."""
    failed: Collection[str] = ()
    """Entities whose call raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A write that is over."""

    turn: Turn
    tool_name: str
    plan: Plan
    before: Mapping[str, State]
    """What it concerned, as it was before."""
    effects: Mapping[str, Effect]
    success: bool
    """The tool did not raise."""


class Journal(Protocol):
    """Whoever remembers what was done."""

    @callback
    def async_add(self, written: Written) -> None:
        """Take note of a write."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """How the writes of an entry are verified and where they are noted."""

    seconds: float = DEFAULT_SECONDS
    """For how long at most the house is given to follow; 0: nobody looks."""
    journal: Journal | None = None

    @callback
    def begin(self, hass: HomeAssistant, turn: Turn, tool_name: str, plan: Plan) -> Write:
        """Remember the states; to be called right before the first service call."""
        return Write(hass, self, turn, tool_name, plan)


class Write:
    """One write while it happens."""

    def __init__(self, hass: HomeAssistant, writes: Writes, turn: Turn, tool_name: str, plan: Plan) -> None:
        """Remember the states."""
        self._writes = writes
        self._turn = turn
        self._tool_name = tool_name
        self._plan = plan
        self._began = time.monotonic()
        self._verification = Verification(hass, plan.calls)
        concerned = dict.fromkeys((*plan.targets, *(item for call in plan.calls for item in call.entity_ids)))
        self._before = {item: state for item in concerned if (state := hass.states.get(item)) is not None}

    async def async_effects(self, failed: Collection[str] = ()) -> dict[str, Effect]:
        """Return what became of each entity that was called for, once that is clear; the end of a write that worked."""
        left = self._turn.profile.tool_timeout - (time.monotonic() - self._began) - RESERVE
        seconds = min(self._writes.seconds, left)
        if seconds > 0:
            await self._verification.async_settle(seconds, failed)
        effects = self._verification.effects(failed, waited=seconds > 0)
        self._end(effects, success=True)
        return effects

    @callback
    def fail(self) -> None:
        """End a write that raised. What became of it is told as far as it shows."""
        effects = {
            entity_id: Effect.FAILED if effect is Effect.DONE else effect
            for entity_id, effect in self._verification.effects(waited=False).items()
        }
        self._end(effects, success=False)

    def _end(self, effects: Mapping[str, Effect], *, success: bool) -> None:
        turn = self._turn
        turn.effects.update(effects)
        if success:
            turn.acted = turn.acted or not effects or not HAPPENED.isdisjoint(effects.values())
        else:
            turn.acted = turn.acted or Effect.CHANGED in effects.values()
        if self._writes.journal is not None:
            written = Written(
                turn=turn,
                tool_name=self._tool_name,
                plan=self._plan,
                before=self._before,
                effects=effects,
                success=success,
            )
            self._writes.journal.async_add(written)
