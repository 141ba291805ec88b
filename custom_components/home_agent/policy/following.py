"""What a scene, a script or an automation that is run sets off: changes of other entities in its context, or in one below it.

They are watched for some seconds, longer while anything still runs or is under way.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import (
    CALLBACK_TYPE,
    Context,
    Event,
    EventStateChangedData,
    HassJob,
    HomeAssistant,
    State,
    callback,
)
from homeassistant.helpers.event import async_call_later, async_track_state_change_event
from homeassistant.helpers.script import ATTR_CUR

from ..home.actions import GROUP, is_controllable
from ..home.domains import DOMAINS, RUNNERS, UNKNOWN
from ..home.exposure import is_shared_at_all, is_within
from ..home.states import snapshot
from ..settings.profile import Narrowing

SECONDS = 10.0
"""For how long after its call a scene, a script or an automation is watched; what runs is watched on."""
MOST = 300.0
"""When watching ends, even if something still runs."""
MAX_CONTEXTS = 200
_UNDER_WAY = frozenset(
    state for record in DOMAINS.values() for goal in record.goals.values() for state in goal.under_way
)


def is_running(state: State | None) -> bool:
    """Return whether a script or an automation is at work; a scene is over with its call."""
    if state is None or state.domain in RUNNERS:
        return state is not None and state.state == "on"
    runs = state.attributes.get(ATTR_CUR) if DOMAINS.get(state.domain, UNKNOWN).runs else 0
    return isinstance(runs, int) and runs > 0


class Following:
    """Watches what one write sets off, from when it is made until `end`."""

    def __init__(
        self,
        hass: HomeAssistant,
        context: Context,
        direct: Collection[str],
        runners: Iterable[str],
        within: Sequence[Narrowing] = (),
    ) -> None:
        """Watch what `runners` do in the part `within` of the home; `direct` are the entities of the write itself."""
        self.before: dict[str, State] = {}
        """Of what was set off, as it was."""
        self.after: dict[str, State] = {}
        """The same as it was seen last."""
        self.hidden: set[str] = set()
        """Entities that were changed and are not exposed: they are neither told nor brought back."""
        self.left_out: set[str] = set()
        """What was set off beyond those that the journal keeps."""
        self.runners = {item: None for item in runners if hass.states.get(item) is not None}
        """The scenes and scripts, those that were called by others as well, and the automations that were run."""
        self.unseen = False
        """Whether watching ended while it still ran: what it did later is not known."""
        self._hass = hass
        self._within = within
        self._direct = frozenset(direct)
        self._contexts = {context.id}
        self._tell: Callable[[Following, str | None], None] | None = None
        self._began = hass.loop.time()
        self._timer: CALLBACK_TYPE | None = None
        self._stop: CALLBACK_TYPE | None = hass.bus.async_listen(EVENT_STATE_CHANGED, self._look)
        self._look_again_in(MOST)

    @callback
    def go_on(self, tell: Callable[[Following, str | None], None]) -> None:
        """Watch on after the call has returned; `tell` hears of each entity that changes, and of the end (None)."""
        if self._stop is not None:
            self._tell = tell
            self._look_again_in(SECONDS)

    @callback
    def end(self) -> None:
        """Watch no longer."""
        if self._stop is None:
            return
        self._stop()
        self._stop = None
        if self._timer is not None:
            self._timer()
            self._timer = None
        self.unseen = any(is_running(self._hass.states.get(item)) for item in self.runners)
        if self._tell is not None:
            self._tell(self, None)

    def _look_again_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer()

        @callback
        def look(_now: object) -> None:
            self._timer = None
            runs = any(is_running(self._hass.states.get(item)) for item in self.runners)
            moves = any(state.state in _UNDER_WAY for state in self.after.values())
            if (runs or moves) and self._hass.loop.time() < self._began + MOST:
                self._look_again_in(SECONDS)
            else:
                self.end()

        job = HassJob(look, "watch a script", cancel_on_shutdown=True)
        self._timer = async_call_later(self._hass, seconds, job)

    @callback
    def _look(self, event: Event[EventStateChangedData]) -> None:
        """Take note of a change that belongs to it."""
        entity_id, context = event.data["entity_id"], event.context
        if context.id not in self._contexts:
            if context.parent_id in self._contexts and len(self._contexts) < MAX_CONTEXTS:
                self._contexts.add(context.id)
            else:  # something that is under way tells by itself how far it is
                last = self.after.get(entity_id)
                moves = last is not None and last.state in _UNDER_WAY
                if not moves or context.user_id is not None or context.parent_id is not None:
                    return
        old, new = event.data["old_state"], event.data["new_state"]
        if old is None or new is None or not is_controllable(entity_id):
            return
        if new.domain in RUNNERS:
            self.runners[entity_id] = None
            return
        if new.domain == GROUP or entity_id in self._direct:  # a group shows what its members do
            return
        first = self.before.get(entity_id, old)
        if snapshot(first) == snapshot(new):
            self.before.pop(entity_id, None)
            self.after.pop(entity_id, None)
            self.hidden.discard(entity_id)
        elif not (is_shared_at_all(self._hass, entity_id) and is_within(self._hass, entity_id, self._within)):
            self.hidden.add(entity_id)
        else:
            self.before[entity_id], self.after[entity_id] = first, new
        if self._tell is not None:
            self._tell(self, entity_id)


async def async_still(hass: HomeAssistant, entity_ids: Iterable[str], seconds: float) -> None:
    """Return when none of these scripts and automations runs any more, after so many seconds at the latest."""
    running = {item for item in entity_ids if is_running(hass.states.get(item))}
    if not running or seconds <= 0:
        return
    ended = asyncio.Event()

    @callback
    def look(event: Event[EventStateChangedData]) -> None:
        if not is_running(event.data["new_state"]):
            running.discard(event.data["entity_id"])
        if not running:
            ended.set()

    stop = async_track_state_change_event(hass, list(running), look)
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    except TimeoutError:
        pass
    finally:
        stop()
