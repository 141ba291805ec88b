"""Which types of events are known to come in this home: they are listened for, they came before, or something is known to fire them."""

from collections.abc import Collection, Iterator, Mapping
import re
import sys
from typing import Any

from homeassistant import const
from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.components.script import DOMAIN as SCRIPT
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant
from homeassistant.helpers.recorder import get_instance, session_scope

_TYPE = re.compile(r"[a-zA-Z0-9][\w.:-]{1,63}")
_OF: Mapping[str, tuple[str, ...]] = {
    "esphome": ("esphome.",),
    "ios": ("ios.",),
    "mobile_app": (
        "mobile_app_notification_action", "mobile_app_notification_cleared", "mobile_app_notification_received", "ios.", "android.",
    ),
    "deconz": ("deconz_event", "deconz_alarm_event"),
    "tag": ("tag_scanned",),
    "timer": ("timer.started", "timer.paused", "timer.finished", "timer.cancelled", "timer.restarted"),
    "zha": ("zha_event",),
    "doorbird": ("doorbird_",),
    "folder_watcher": ("folder_watcher",),
    "homekit": ("homekit_state_change",),
    "hue": ("hue_event",),
    "imap": ("imap_content",),
    "netatmo": ("netatmo_event",),
    "nest": ("nest_event",),
    "rfxtrx": ("rfxtrx_event",),
    "telegram_bot": ("telegram_attachment", "telegram_callback", "telegram_command", "telegram_sent", "telegram_text"),
    "home_agent": ("home_agent.", "home_agent_"),
}  # fmt: skip
"""By integration the types that it fires and no constant of its own names; one that ends with a dot or an underscore stands for all that begin so."""
TELLS_ALL = frozenset({"call_service", "logbook_entry", "state_changed", "state_reported"})
"""Events that tell of every entity."""
MAX_DEPTH = 40


async def async_known_types(hass: HomeAssistant) -> set[str]:
    """Return the known types of events; one that ends with a dot or an underscore stands for all that begin so."""
    found = {str(one) for one in hass.bus.async_listeners() if one != MATCH_ALL}
    found |= {str(value) for name, value in vars(const).items() if name.startswith("EVENT_")}
    found |= {name for domain in hass.config.components for name in _OF.get(domain, ())}
    found |= _of_modules(hass)
    found |= set(_fired(hass))
    return found | await _async_recorded(hass)


def is_known(event_type: str, known: Collection[str]) -> bool:
    """Return whether an event type is one of the known ones."""
    return event_type in known or any(event_type.startswith(one) for one in known if one.endswith((".", "_")))


def _of_modules(hass: HomeAssistant) -> set[str]:
    """Return the values of the constants of loaded integrations that are called events."""
    found: set[str] = set()
    for domain in hass.config.components:
        if "." in domain:
            continue
        for package in ("homeassistant.components", "custom_components"):
            for name in (f"{package}.{domain}", f"{package}.{domain}.const"):
                module = sys.modules.get(name)
                for key, value in vars(module).items() if module is not None else ():
                    if "EVENT" in key and isinstance(value, str) and _TYPE.fullmatch(value):
                        found.add(str(value))
    return found


def _fired(hass: HomeAssistant) -> Iterator[str]:
    """Yield the types that automations and scripts fire."""
    for domain in (AUTOMATION, SCRIPT):
        for entity in getattr(hass.data.get(domain), "entities", ()):
            yield from fired_in(getattr(entity, "raw_config", None))


def fired_in(config: object, depth: int = MAX_DEPTH) -> Iterator[str]:
    """Yield the types of events that a configuration fires."""
    match config:
        case Mapping() if depth:
            event = config.get("event")
            if isinstance(event, str) and not {"trigger", "platform"} & config.keys():
                yield event
            for item in config.values():
                yield from fired_in(item, depth - 1)
        case list() | tuple() if depth:
            for item in config:
                yield from fired_in(item, depth - 1)


async def _async_recorded(hass: HomeAssistant) -> set[str]:
    """Return the types that the recorder has seen; none without it."""
    if "recorder" not in hass.config.components:
        return set()
    from homeassistant.components.recorder.db_schema import EventTypes

    def read() -> set[str]:
        with session_scope(hass=hass, read_only=True) as session:
            rows: list[Any] = session.query(EventTypes.event_type).limit(5000).all()
            return {str(row[0]) for row in rows if row[0]}

    return await get_instance(hass).async_add_executor_job(read)
