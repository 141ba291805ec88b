"""Which agent answers if none is named: that of the first of the owner's rules that fits, else the default one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, Self

from homeassistant.const import CONF_AFTER, CONF_BEFORE
from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util

from ..settings.profile import Profile
from ..support.const import CONF_AGENT_RULES, CONF_CHOOSE_IN_CONVERSATIONS, CONF_DEFAULT_PROFILE
from ..turn.turn import area_of

AGENT, USERS, DEVICES, AREAS, WEEKDAYS = "agent", "users", "devices", "areas", "weekdays"
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: an agent, and when it answers. All conditions that are set have to hold."""

    agent: str
    users: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    """Ids of devices at one of which is spoken; with `areas`, either counts."""
    areas: frozenset[str] = frozenset()
    weekdays: frozenset[str] = frozenset()
    after: time | None = None
    before: time | None = None
    """Times of the home's clock; one that is earlier than `after` is of the next day."""

    @classmethod
    def from_data(cls, row: Mapping[str, Any]) -> Self:
        """Return the rule of a row of the options. What is no time there is none."""

        def listed(key: str) -> frozenset[str]:
            found = row.get(key) or ()
            return frozenset([found] if isinstance(found, str) else found)

        return cls(
            agent=str(row.get(AGENT, "")),
            users=listed(USERS),
            devices=listed(DEVICES),
            areas=listed(AREAS),
            weekdays=listed(WEEKDAYS),
            after=dt_util.parse_time(str(row.get(CONF_AFTER) or "")),
            before=dt_util.parse_time(str(row.get(CONF_BEFORE) or "")),
        )

    def fits(self, now: datetime, user_id: str | None, device_id: str | None, area_id: str | None) -> bool:
        """Return whether it holds for who speaks, where, and when (in the home's zone)."""
        if self.users and user_id not in self.users:
            return False
        if (self.devices or self.areas) and device_id not in self.devices and area_id not in self.areas:
            return False
        clock, day = now.time(), now.weekday()
        after, before = self.after or time.min, self.before
        if before is not None and before <= after:  # over midnight
            if before <= clock < after:
                return False
            day -= clock < before
        elif clock < after or (before is not None and clock >= before):
            return False
        return not self.weekdays or DAYS[day] in self.weekdays


class Registry:
    """All agents by their ids, in the order in which they were added; owned by the entry."""

    def __init__(self, hass: HomeAssistant, profiles: Iterable[Profile], options: Mapping[str, Any]) -> None:
        """Take them, and the options with the default agent and the rules."""
        self._hass = hass
        self.async_use(profiles, options)

    @callback
    def async_use(self, profiles: Iterable[Profile], options: Mapping[str, Any]) -> None:
        """Take the agents and options as they are now."""
        listed = list(profiles)
        self.by_id = {profile.profile_id: profile for profile in listed}
        self.wanted: str = options.get(CONF_DEFAULT_PROFILE) or next(iter(self.by_id), "")
        """The id of the default agent; there may be no such agent."""
        self.default = self.by_id.get(self.wanted) or next(iter(listed), Profile())
        self.rules: Sequence[Rule] = tuple(map(Rule.from_data, options.get(CONF_AGENT_RULES, ())))
        self.lost = sorted({rule.agent for rule in self.rules} - self.by_id.keys())
        """Ids in rules that no agent has; those rules never fit."""
        self.chooses_for = self.default.subentry_id if options.get(CONF_CHOOSE_IN_CONVERSATIONS) and self.rules else ""
        """Subentry id of the agent whose conversations the rules hold for as well; empty: of none."""

    def choose(self, user_id: str | None, device_id: str | None = None, satellite_id: str | None = None) -> Profile:
        """Return who answers now."""
        if not self.rules:
            return self.default
        now, area_id = dt_util.now(), area_of(self._hass, device_id, satellite_id)
        for rule in self.rules:
            if rule.agent in self.by_id and rule.fits(now, user_id, device_id, area_id):
                return self.by_id[rule.agent]
        return self.default
