"""Stops automations that talk to an assistant in a loop (C-2): nobody says more than a few sentences a minute.

A script that a person started talks in that person's name, but all it says has one context; what a person says has one each.
"""

from collections import deque
from collections.abc import Callable
from datetime import datetime
import time

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.event import async_call_later

from ..const import LOGGER
from ..errors import HomeAgentError
from ..profiles.profile import Profile
from ..turn import Turn

THROTTLE_TURNS = 10
"""Turns per minute and assistant that come from nobody or from one run of a script, unless the owner set another number."""
WINDOW = 60  # seconds

type Notify = Callable[[HomeAssistant, Profile, bool], None]
"""Told of an assistant whose turns are refused from now on, or no longer."""


class Throttle:
    """Counts the turns that come from automations, per assistant."""

    def __init__(self, hass: HomeAssistant, notify: Notify, limit: int = THROTTLE_TURNS) -> None:
        """Take who is told, and how many turns a minute may bring."""
        self._hass = hass
        self._notify = notify
        self._limit = limit
        self._turns: dict[tuple[str, str], deque[float]] = {}
        """By assistant and whoever talks: one run, or nobody. Who talked last is last."""
        self._refused: dict[str, float] = {}
        self._timers: dict[str, CALLBACK_TYPE] = {}

    @callback
    def admit(self, turn: Turn) -> None:
        """Return when the turn may go on; raises `HomeAgentError` when there were too many in the last minute.

        What a person, a voice device or a satellite says one by one is never refused: a person stops by themselves.
        """
        now = time.monotonic()
        self._forget_until(now - WINDOW)
        run = turn.context.id if turn.context.user_id or turn.device_id or turn.satellite_id else ""
        key = (turn.profile.subentry_id, run)
        turns = self._turns[key] = self._turns.pop(key, deque())
        while turns and turns[0] <= now - WINDOW:
            turns.popleft()
        if len(turns) < self._limit:
            turns.append(now)
            return
        self._refuse(turn.profile, now)
        raise HomeAgentError("automation_loop", profile=turn.profile.name, limit=str(self._limit))

    def _forget_until(self, end: float) -> None:
        """Forget whoever has not talked since; only those are looked at, however many talk."""
        while self._turns:
            key, turns = next(iter(self._turns.items()))
            if turns and turns[-1] > end:
                return
            del self._turns[key]

    @callback
    def stop(self) -> None:
        """Forget everything; nobody is told of anything afterwards."""
        for stop_timer in self._timers.values():
            stop_timer()
        self._timers.clear()

    def _refuse(self, profile: Profile, now: float) -> None:
        key = profile.subentry_id
        self._refused[key] = now
        if key in self._timers:
            return
        LOGGER.warning(
            "%s is asked more than %d times a minute by an automation; until that ends, it does not answer automations",
            profile.name,
            self._limit,
        )
        self._notify(self._hass, profile, True)
        self._wait(profile, WINDOW)

    def _wait(self, profile: Profile, seconds: float) -> None:
        """Look again later whether it is quiet."""

        @callback
        def look(_now: datetime) -> None:
            del self._timers[profile.subentry_id]
            left = self._refused[profile.subentry_id] + WINDOW - time.monotonic()
            if left > 0:
                self._wait(profile, left)
            else:
                self._notify(self._hass, profile, False)

        self._timers[profile.subentry_id] = async_call_later(self._hass, seconds, look)
