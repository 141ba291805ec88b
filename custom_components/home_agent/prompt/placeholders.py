"""The placeholders of a prompt: their names in both spellings, and what stands for each in one conversation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..const import LOGGER
from .history_text import HistoryMessage
from .parts import masked_part
from .template import camel_case
from .words import PromptWords, words_for

ANONYMOUS = "anonymous"
NO_HOUSEHOLD = "none"
USER_MISSING = "userId not found"

HISTORY = ("message_history", "conversation_history")
EVENTS = "event_context"
ENTITIES = "entity_context"
VARIABLES = "context_variables"
_USER = ("user_id", "user_name")
_NAMES = (
    *_USER, *HISTORY, "household_id", "household_name", "current_time", "local_time", "timezone", "language", "profile_name",
    "ha_name", "area_id", "device_id", ENTITIES, EVENTS, VARIABLES,
)  # fmt: skip
_CANONICAL = {spelling: name for name in _NAMES for spelling in (name, camel_case(name))} | {"timeZone": "timezone"}
_OF_VARIABLES = frozenset({"user_id", "household_id", "current_time", "timezone", "message_history"})
NAMES = frozenset(_CANONICAL)
"""All names, in both spellings."""


class Missing(str):
    """What a prompt says for something that is not known; to a template's `if` and `or` it is nothing."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """Return that there is nothing."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTask:
    """What a prompt is filled in with. Everything in it is text that is never rendered."""

    agent_name: str = ""
    task_id: str = ""
    """The conversation; for the log."""
    language: str = "en"
    user_id: str | None = None
    user_name: str | None = None
    household_id: str | None = None
    current_time: datetime | None = None
    """None: now. In the house's zone, or in that of the profile."""
    timezone: str | None = None
    area_id: str | None = None
    device_id: str | None = None
    history: Sequence[HistoryMessage] = ()
    """Oldest first; nothing of the running conversation."""
    entity_context: str = ""
    event_context: str | None = None
    """None: nobody asked for events."""
    mask: Callable[[str], str] | None = field(default=None, repr=False)
    """Hides personal data in what the house remembers and knows; None where the prompt stays in the house."""

    def masked(self, text: str) -> str:
        """Return a text as it may be sent."""
        return self.mask(text) if self.mask else text


def used(names: frozenset[str]) -> frozenset[str]:
    """Return what has to be known for these names, in snake_case."""
    wanted = frozenset(_CANONICAL[name] for name in names)
    return wanted | _OF_VARIABLES if VARIABLES in wanted else wanted


def says_who_speaks(wanted: frozenset[str]) -> bool:
    """Return whether a prompt has the user in it."""
    return not wanted.isdisjoint(_USER)


def has_history(wanted: frozenset[str]) -> bool:
    """Return whether a prompt has the history in it."""
    return not wanted.isdisjoint(HISTORY)


def values_for(task: PromptTask, history: str, variables: str = "") -> dict[str, object]:
    """Return what stands for every name, in both spellings."""
    words = words_for(task.language)
    moment = task.current_time or datetime.now(UTC)
    known: Mapping[str, object] = {
        "user_id": task.user_id or ANONYMOUS,
        "user_name": task.user_name or Missing(words.unknown_user),
        "household_id": task.household_id or NO_HOUSEHOLD,
        "household_name": task.household_id or Missing(words.unknown_household),
        "ha_name": task.household_id,
        "current_time": moment.isoformat(timespec="seconds"),
        "local_time": words.written(moment),
        "timezone": task.timezone or "UTC",
        "language": task.language,
        "profile_name": task.agent_name,
        "area_id": task.area_id,
        "device_id": task.device_id,
        ENTITIES: masked_part(task.entity_context, task.mask) if task.mask else task.entity_context,
        EVENTS: _events(task, words),
        VARIABLES: variables,
        **dict.fromkeys(HISTORY, history),
    }
    return {spelling: known[name] for spelling, name in _CANONICAL.items()}


def _events(task: PromptTask, words: PromptWords) -> str:
    return words.events_not_asked if task.event_context is None else task.masked(task.event_context)


SAMPLE_VALUES = values_for(
    PromptTask(agent_name="Home Agent", user_id="0", user_name="User", household_id="Home", event_context=""),
    "User: Hello",
)
"""Values for a prompt that is only tried."""


_ZONES: dict[str, ZoneInfo | None] = {}
"""Those that were asked for, None where there is none of that name: reading one goes by way of a thread each time, which costs a turn a millisecond."""


async def async_zone(hass: HomeAssistant, wanted: str) -> ZoneInfo:
    """Return the zone of a profile, else the house's, else UTC when neither is usable (C-13)."""
    for name in filter(None, (wanted, hass.config.time_zone)):
        if name not in _ZONES:
            _ZONES[name] = await _async_read_zone(name)
        if (zone := _ZONES[name]) is not None:
            return zone
    return ZoneInfo("UTC")


async def _async_read_zone(name: str) -> ZoneInfo | None:
    """Return a zone, None where there is none of that name, which is logged."""
    try:
        zone = await dt_util.async_get_time_zone(name)
    except ValueError, OSError:  # a path is no name of a zone
        zone = None
    if zone is None:
        LOGGER.warning("There is no time zone %s; the next one is used", name)
    return zone
