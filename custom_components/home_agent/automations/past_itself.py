"""The automation itself on a home of the past: the state that its templates see of it, as its runs change it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from homeassistant.components.automation import DOMAIN
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util

from .draft import AutomationDraft
from .past import UNKNOWN_CONTEXT, PastHome
from .recorded import moments_of

LAST_TRIGGERED = "last_triggered"
_LOOKED_BACK = timedelta(days=10)


class PastItself:
    """The entity of an automation; one that does not exist yet is as it would be from the beginning."""

    def __init__(self, hass: HomeAssistant, home: PastHome, draft: AutomationDraft) -> None:
        """Find out what it is called, or would be."""
        registry = er.async_get(hass)
        known = registry.async_get_entity_id(DOMAIN, DOMAIN, draft.id) if draft.id else None
        entry = registry.async_get(known) if known is not None else None
        name = draft.alias or DOMAIN
        self.entity_id = known or registry.async_get_available_entity_id(DOMAIN, name)
        self.is_known = known is not None
        self.is_named = self.is_known or bool(draft.alias)
        self.is_on = True
        self.is_watched = False
        """Something may wait for its changes."""

        self._home = home
        self._mode = str(draft.normalized.get("mode", "single"))
        self._most: int | None = None
        if self._mode in ("parallel", "queued"):
            self._most = int(draft.normalized.get("max", 10))
        self._name = (entry.name if entry is not None else None) or name
        self._id = draft.id
        self._last: datetime | None = None
        self._runs = 0
        self._begun = self._on_since = self._updated = home.clock.moment
        self._this: Mapping[str, Any] | None = None

    @property
    def this(self) -> Mapping[str, Any]:
        """What templates have as `this`."""
        if self._this is None:
            self._home.become(self.entity_id, new := self._state())
            self._this = new.as_dict()
        return self._this

    def at_first(self) -> Mapping[str, Any] | None:
        """Return what triggers have as `this` when they begin to wait: a new automation has no state yet by then."""
        is_new = not self.is_known and self._home.clock.moment == self._begun
        return None if is_new else self.this

    def begin(self, last: datetime | None = None) -> None:
        """Begin to wait, with no run; `last` is when it ran last before, if that is known."""
        self._last = last or self._last
        self._runs = 0
        self._on_since = self._updated = self._home.clock.moment
        self._home.become(self.entity_id, self._state())
        self._this = None

    def started(self, runs: int) -> None:
        """Note that a run begins."""
        self._last = self._home.clock.now
        self.note(runs)

    def note(self, runs: int) -> None:
        """Note how many runs have not ended."""
        self._runs, self._updated, self._this = runs, self._home.clock.moment, None
        if self.is_watched:  # otherwise its state is made where it is read
            new = self._state()
            old = self._home.become(self.entity_id, new)
            # It is told once what happens now is done: it may be this automation that waits for itself.
            data = {"entity_id": self.entity_id, "old_state": old, "new_state": new}
            self._home.clock.call_soon(self._home.play, "state_changed", data)

    def turn_off(self) -> None:
        """Note that it is off from now on."""
        self.is_on = False
        self._on_since = self._home.clock.moment
        self.note(0)

    def _state(self) -> State:
        found: dict[str, Any] = {"id": self._id} if self._id is not None else {}
        found |= {LAST_TRIGGERED: self._last, "mode": self._mode, "current": self._runs}
        if self._most is not None:
            found["max"] = self._most
        found["friendly_name"] = self._name
        return State(
            self.entity_id,
            "on" if self.is_on else "off",
            found,
            last_changed=self._on_since,
            last_updated=self._updated,
            context=UNKNOWN_CONTEXT,
            validate_entity_id=False,
        )


async def async_last_triggered(hass: HomeAssistant, entity_id: str, before: datetime) -> datetime | None:
    """Return when an automation ran last before a moment; None if it did not, or that is not known."""
    state = hass.states.get(entity_id)
    found = state.attributes.get(LAST_TRIGGERED) if state is not None else None
    found = dt_util.parse_datetime(found) if isinstance(found, str) else found
    if not isinstance(found, datetime) or found <= before:
        return found if isinstance(found, datetime) else None
    if "recorder" not in hass.config.components:
        return None
    ask = partial(moments_of, hass, "automation_triggered", entity_id, before - _LOOKED_BACK, before)
    return next(iter(await get_instance(hass).async_add_executor_job(ask)), None)
