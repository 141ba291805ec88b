"""Wishes are armed until they are due, and begun then: each once, over restarts, changes of the clock and of the home.

A wish that is begun is marked so on the disk before anything is done. Found after a kill, it is not done again.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Container, Coroutine, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.const import EVENT_CORE_CONFIG_UPDATE, STATE_UNAVAILABLE
from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, HassJob, HomeAssistant, State, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import async_call_later
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util

from ..support.const import LOGGER
from ..support.errors import where_of
from ..support.kept import Change
from .armed import Armed
from .due import Due, DueReason, Stays
from .registered import as_registered, removed, renamed, without_removed
from .wish import Wish, WishKind, WishStatus
from .wishes import FARTHEST, Wishes

AT_ONCE = 4
"""Wishes that are done at the same time; others wait for their turn."""
LONGEST_RUN = 900  # seconds
LATE = timedelta(seconds=60)
"""From here on a wish was missed: Home Assistant was off, or its clock was wrong."""
PATIENCE = 60  # seconds after the start in which entities may still come
LOOK_AGAIN = 1.0  # seconds
LONGEST_SLEEP = 60.0  # seconds; then the clock is looked at, which may have been set
JUMP = 2  # seconds by which a clock that was set differs from one that only runs


type RunWish = Callable[[Wish, Due], Coroutine[Any, Any, object]]
"""Does a wish or tells why not; returns `Stays` for one that stays."""


class Waiting:
    """All wishes, armed from the set-up of an entry until it is unloaded."""

    def __init__(self, hass: HomeAssistant, wishes: Wishes, run: RunWish, agents: Container[str]) -> None:
        """Take the wishes, what does them, and the ids of the agents that there are at any time."""
        self._hass = hass
        self._wishes = wishes
        self._agents = agents
        self._entry: ConfigEntry[Any] | None = None
        self._armed = Armed(hass, self._follow_state)
        self._clock = _Clock(wishes)
        self._turns = _Turns(hass, wishes, run, self._due_of, self._arm)
        self._found: dict[str, DueReason] = {}
        """Wishes that are handed over for another reason than their moment."""
        self._timer: CALLBACK_TYPE | None = None
        self._job = HassJob(self._look, "home_agent wishes", cancel_on_shutdown=True)
        self._patience = 0.0
        self._is_open = False
        """Whether wishes may be begun: Home Assistant has started, and the entry is loaded."""

    @callback
    def async_start(self, entry: ConfigEntry[Any]) -> None:
        """Arm all wishes until the entry is unloaded; those that are due are begun once Home Assistant has started."""
        self._entry = entry
        self._turns.async_start(entry)
        found = {WishStatus.RUNNING: DueReason.INTERRUPTED, WishStatus.ASKED: DueReason.ASKED}
        self._found = {wish.id: found[wish.status] for wish in self._wishes.all() if wish.status in found}
        entry.async_on_unload(self._wishes.async_listen(self._follow))
        self._wishes.put(*self._changed(lambda wish: self._seen(self._settled(self._known(wish)))))
        for wish in self._wishes.all():
            self._take(wish)
        stops = (
            self._hass.bus.async_listen(EVENT_CORE_CONFIG_UPDATE, self._follow_configuration),
            self._hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._follow_registry),
            async_at_started(self._hass, self._open),
        )
        for stop in (*stops, self._stop):
            entry.async_on_unload(stop)

    @callback
    def async_look_at_agents(self) -> None:
        """Hand over the wishes of agents that were deleted."""
        for wish in self._wishes.all():
            if wish.agent_id not in self._agents:
                self._take(wish)
        self._arm()

    @callback
    def _open(self, _hass: HomeAssistant) -> None:
        self._is_open, self._patience = True, monotonic() + PATIENCE
        self._look_at_clock()  # before a change, which would be taken for a clock that was set
        self._arm()

    @callback
    def _stop(self) -> None:
        """Leave off. A wish that is being done is told of as interrupted at the next set-up."""
        self._is_open = False
        self._arm()
        self._turns.async_stop()
        self._armed.clear()
        self._found.clear()

    # What changes

    def _changed(self, now: Callable[[Wish], Wish]) -> list[Wish]:
        """Return the wishes that are not as they were."""
        return [wish for one in self._wishes.all() if (wish := now(one)) != one]

    @callback
    def _follow(self, changes: Sequence[Change[Wish]]) -> None:
        """Arm what was made or changed, disarm what was cancelled."""
        self._look_at_clock()
        for before, after in ((change.before, change.after) for change in changes):
            if after is None:
                if before is not None:
                    self._clock.forget(before.id)
                    self._leave(before.id)
            elif self._wishes.get(after.id) is after and after != before:
                if before is None or before.when.at != after.when.at:
                    self._clock.note(after)
                self._take(after if _is_told(before, after) else self._begun(after))
        self._arm()

    def _begun(self, wish: Wish) -> Wish:
        """Return a wish that was made now, with what it needs to be followed from now on."""
        now = replace(wish, when=wish.when.begun(self._hass))
        if (now := as_registered(self._hass, now)) != wish:
            self._wishes.put(now)
        return now

    @callback
    def _follow_state(self, event: Event[EventStateChangedData]) -> None:
        """Look at the wishes that wait for an event of an entity."""
        wishes = map(self._wishes.get, self._armed.awaiting(event.data["entity_id"]))
        seen = [(wish, self._seen(wish, event.data["new_state"])) for wish in wishes if wish is not None]
        changed = [now for wish, now in seen if now != wish]
        self._wishes.put(*changed)
        if any(now.when.delay for now in changed if not now.when.is_awaited):
            self._turns.async_flush()

    def _seen(self, wish: Wish, changed: State | None = None) -> Wish:
        """Return a wish after a look at the home; once its event has happened, it is due after its delay."""
        if wish.status is not WishStatus.WAITING or not wish.when.is_followed:
            return wish
        return replace(wish, when=wish.when.seen(self._hass, changed))

    @callback
    def _follow_configuration(self, _event: Event[Any]) -> None:
        self._wishes.put(*self._changed(self._settled))

    def _settled(self, wish: Wish) -> Wish:
        """Return a wish with its moment as it is in the zone and at the place of the home."""
        if wish.status is not WishStatus.WAITING:
            return wish
        return replace(wish, when=wish.when.settled(self._hass, wish.made, dt_util.get_default_time_zone()))

    @callback
    def _follow_registry(self, event: Event[er.EventEntityRegistryUpdatedData]) -> None:
        """Follow entities that were renamed, and hand over the wishes of those that were removed."""
        data = event.data
        old, new = data.get("old_entity_id", data["entity_id"]), data["entity_id"]
        if data["action"] == "update" and isinstance(old, str) and old != new:
            self._wishes.put(*self._changed(lambda wish: renamed(wish, {old: new}) if old in wish.named_ids else wish))
        elif data["action"] == "remove":
            found = map(self._wishes.get, self._armed.naming(new))
            wishes = [(wish, self._known(wish)) for wish in found if wish is not None]
            self._wishes.put(*(known for wish, known in wishes if known != wish))
            for wish, known in wishes:
                if known == wish:
                    self._take(wish)
            self._arm()

    def _known(self, wish: Wish) -> Wish:
        """Return a wish with the entities of now: under their present ids, and without some that were removed."""
        known = as_registered(self._hass, wish)
        return without_removed(self._hass, known) if wish.status is WishStatus.WAITING else known

    # When it is due

    @callback
    def _leave(self, wish_id: str) -> None:
        self._armed.drop(wish_id)
        self._found.pop(wish_id, None)

    @callback
    def _take(self, wish: Wish) -> None:
        """Arm a wish as it is, also one that is to be handed over for another reason than its moment."""
        when, now, found = wish.when, dt_util.utcnow(), self._found.get(wish.id)
        self._leave(wish.id)
        if wish.status is WishStatus.WAITING:
            is_gone = wish.agent_id not in self._agents or removed(self._hass, wish)
            found = DueReason.GONE if is_gone else None
        if found is not None:
            self._found[wish.id] = found
            self._armed.put(wish, min(when.at or wish.made, now))
        elif wish.status is WishStatus.WAITING:
            moment = when.at or min(when.until or wish.made + FARTHEST, wish.made + FARTHEST)
            self._armed.put(wish, moment)

    def _due_of(self, wish_id: str, now: datetime) -> tuple[Wish, Due] | None:
        """Return a wish that is due now, and with what it is handed over; None if it is not due any more."""
        if (wish := self._wishes.get(wish_id)) is None:
            return None
        when, found = wish.when, self._found.pop(wish_id, None)
        if found is not None:
            self._armed.drop(wish_id)
            of = removed(self._hass, wish) if found is DueReason.GONE and wish.agent_id in self._agents else ()
            return wish, Due(reason=found, of=of)
        moment = self._armed.moment(wish_id)
        if moment is None or moment > now:
            return None
        late = now - moment
        if when.at is None:
            return wish, Due(
                reason=DueReason.EXPIRED, late=late, of=when.event.entity_ids if when.event is not None else ()
            )
        for watch in when.conditions:
            if (is_so := watch.is_so(self._hass)) is not True:
                reason = DueReason.UNKNOWN if is_so is None else DueReason.UNMET
                return wish, Due(reason=reason, late=late, of=watch.entity_ids)
        if not when.has_light(self._hass):
            return wish, Due(reason=DueReason.UNMET, late=late)
        reason = DueReason.EVENT if when.event is not None else DueReason.TIME
        return wish, Due(reason=reason if late < LATE else DueReason.MISSED, late=late, of=when.of)

    @callback
    def _look(self, now: datetime) -> None:
        """Begin what is due, and sleep until the next one is."""
        self._timer = None
        self._look_at_clock()
        if self._entry is not None and self._entry.state is ConfigEntryState.SETUP_IN_PROGRESS:
            self._arm(again=True)  # what a wish needs to be done is not there yet
            return
        now = max(now, dt_util.utcnow())
        waits = False
        for wish_id in self._armed.until(now, self._turns.queued):
            wish = self._wishes.get(wish_id)
            if wish is not None and monotonic() < self._patience and not self._is_there(wish):
                waits = True
            else:
                self._turns.async_add(wish_id, now)
        self._arm(again=waits)

    def _is_there(self, wish: Wish) -> bool:
        """Return whether the entities of a wish have states, after a start: what it is for, what it looks at, what tells."""
        is_gone = self._found.get(wish.id) is DueReason.GONE
        needed = (wish.satellite_id,) if is_gone and wish.satellite_id else () if is_gone else wish.named_ids
        states = map(self._hass.states.get, needed)
        if any(state is None or state.state == STATE_UNAVAILABLE for state in states):
            return False
        return is_gone or all(watch.is_so(self._hass) is not None for watch in wish.when.conditions)

    @callback
    def _arm(self, *, again: bool = False) -> None:
        """Wake for the earliest moment, for the clock, or to look again for entities."""
        if self._timer is not None:
            self._timer()
            self._timer = None
        if not self._is_open or self._hass.is_stopping:
            return
        if (first := self._armed.first(self._turns.queued)) is not None:
            seconds = (first - dt_util.utcnow()).total_seconds()
            seconds = min(max(seconds, LOOK_AGAIN if again else 0), LONGEST_SLEEP)
            self._timer = async_call_later(self._hass, seconds, self._job)

    @callback
    def _look_at_clock(self) -> None:
        """Let spans end when their seconds are over, after the clock was set."""
        if moments := self._clock.moved():
            found = ((self._wishes.get(wish_id), at) for wish_id, at in moments.items())
            self._wishes.put(*(replace(wish, when=replace(wish.when, at=at)) for wish, at in found if wish is not None))


def _is_told(before: Wish | None, after: Wish) -> bool:
    """Return whether a wish waits for the same event as before, so that what was seen of it holds."""
    return (
        before is not None
        and before.when.event == after.when.event
        and (before.when.at is None or after.when.at is not None)
    )


class _Clock:
    """The clock of Home Assistant next to one that is never set.

    A computer without a clock of its own starts with a wrong time, which is set once it has reached the network. A span that was
    said before ends when its seconds are over all the same. While the computer sleeps, no seconds pass.
    """

    def __init__(self, wishes: Wishes) -> None:
        """Take the wishes, which know when their spans end by the other clock, also after a reload."""
        self._wishes = wishes
        self._looked: tuple[datetime, float] | None = None

    def note(self, wish: Wish) -> None:
        """Note when a wish is due, if that is a span."""
        self.forget(wish.id)
        if wish.when.at is not None and not wish.when.wall and wish.when.sun is None:
            self._wishes.spans[wish.id] = monotonic() + (wish.when.at - dt_util.utcnow()).total_seconds()

    def forget(self, wish_id: str) -> None:
        """Forget a wish that is gone."""
        self._wishes.spans.pop(wish_id, None)

    def moved(self) -> dict[str, datetime]:
        """Return the moments at which spans end now, by the ids of wishes; empty if the clock was not set since the last look."""
        now, elapsed = dt_util.utcnow(), monotonic()
        looked, self._looked = self._looked, (now, elapsed)
        if looked is not None and abs((now - looked[0]).total_seconds() - (elapsed - looked[1])) < JUMP:
            return {}
        ends = {wish_id: now + timedelta(seconds=due - elapsed) for wish_id, due in self._wishes.spans.items()}
        known = {wish_id: wish for wish_id in ends if (wish := self._wishes.get(wish_id)) is not None}
        return {
            wish_id: ends[wish_id]
            for wish_id, wish in known.items()
            if wish.status is WishStatus.WAITING
            and wish.when.at is not None
            and abs(wish.when.at - ends[wish_id]) >= timedelta(seconds=JUMP)
        }


class _Turns:
    """Wishes that are due, begun in their order, some at once, each once."""

    def __init__(
        self,
        hass: HomeAssistant,
        wishes: Wishes,
        run: RunWish,
        due_of: Callable[[str, datetime], tuple[Wish, Due] | None],
        after: Callable[[], None],
    ) -> None:
        """Take what does a wish, what says whether it is still due, and what is called after each one."""
        self._hass = hass
        self._wishes = wishes
        self._run = run
        self._due_of = due_of
        self._after = after
        self._queue: deque[tuple[str, datetime]] = deque()
        self._workers: set[asyncio.Task[None]] = set()
        self._entry: ConfigEntry[Any] | None = None
        self.queued: set[str] = set()
        """Ids of wishes that wait for their turn, or are being done."""

    @callback
    def async_start(self, entry: ConfigEntry[Any]) -> None:
        """Belong to an entry, whose tasks these are."""
        self._entry = entry

    @callback
    def async_stop(self) -> None:
        """Leave off: what waits for its turn stays as it is, what is being done is cancelled."""
        self._entry = None
        self._queue.clear()
        for worker in self._workers:
            worker.cancel()
        self._workers.clear()

    @callback
    def async_flush(self) -> None:
        """Write what has changed."""
        if self._entry is not None:
            self._entry.async_create_task(self._hass, self._async_flush(), "home_agent wishes are written")

    async def _async_flush(self) -> None:
        await self._wishes.async_flush()

    @callback
    def async_add(self, wish_id: str, now: datetime) -> None:
        """Let a wish have its turn; it was due at `now`."""
        if self._entry is None:
            return
        self.queued.add(wish_id)
        self._queue.append((wish_id, now))
        if len(self._workers) < AT_ONCE:
            worker = self._entry.async_create_task(
                self._hass, self._async_work(), "home_agent wishes", eager_start=False
            )
            self._workers.add(worker)

    async def _async_work(self) -> None:
        try:
            while self._queue and not self._hass.is_stopping:
                wish_id, now = self._queue.popleft()
                try:
                    await self._async_do(wish_id, now)
                finally:
                    self.queued.discard(wish_id)
                self._after()
        finally:
            if (worker := asyncio.current_task()) is not None:
                self._workers.discard(worker)

    async def _async_do(self, wish_id: str, now: datetime) -> None:
        """Do a wish if it is still due. It is marked on the disk before, and gone from there after."""
        if (found := self._due_of(wish_id, max(now, dt_util.utcnow()))) is None:
            return
        waiting, due = found
        wish = replace(waiting, status=WishStatus.RUNNING) if due.reason is not DueReason.ASKED else waiting
        if wish != waiting:
            self._wishes.put(wish)
            try:
                if not await self._wishes.async_flush():
                    LOGGER.warning(
                        "A wish is done though the disk cannot be written: after a restart it may be done again"
                    )
            except asyncio.CancelledError:
                if self._wishes.get(wish_id) is wish:
                    self._wishes.put(waiting)
                raise
        outcome: object = None
        if wish.kind in (WishKind.TIMER, WishKind.WAKE):
            self._wishes.note_rung(wish)
        try:
            async with asyncio.timeout(LONGEST_RUN):
                outcome = await self._run(wish, due)
        except Exception as err:  # noqa: BLE001 - it is over all the same, and the next one has its turn
            LOGGER.error("A wish could not be done: %s", where_of(err))
        if (known := self._wishes.get(wish_id)) is not None and known.status is wish.status:
            if isinstance(outcome, Stays):
                self._wishes.put(replace(known, status=WishStatus.ASKED))
            else:
                self._wishes.drop([known])
            await self._wishes.async_flush()
