"""Triggers of an automation on a home of the past: those that wait for changes and events are Home Assistant's own, attached to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
import logging
from typing import Any, override

from homeassistant.const import Platform
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.automation import get_relative_description_key
from homeassistant.helpers.template import Template
from homeassistant.helpers.trigger import EntityTriggerBase, async_initialize_triggers
from homeassistant.loader import async_get_integration
import probatio

from .past import NotReplayable, PastHome
from .past_clock_triggers import PastTrigger, clock_trigger

_NOT_RECORDED: Mapping[str, str] = {
    "mqtt": "messages of MQTT are not recorded",
    "webhook": "calls of webhooks are not recorded",
    "conversation": "sentences are not recorded",
    "persistent_notification": "notifications are not recorded",
    "geo_location": "events at places are not recorded",
    "timer": "the time that a timer had left is not recorded",
    "todo": "items of lists are not recorded",
}
"""Triggers that wait for what leaves no trace, with the reason."""
_OF_CHANGES = ("state", "numeric_state", "event", "tag", "zone")
"""Home Assistant's own triggers that wait for nothing but changes and events. Besides these there are those with a class for entities,
and those of devices that an entity platform makes of a state. Any other would listen to the devices of now.
"""
_OF_REGISTRIES = ("entity_registry_updated", "device_registry_updated", "area_registry_updated", "core_config_updated")


class _OwnTrigger(PastTrigger):
    """Home Assistant's own trigger."""

    async def _async_check(self) -> None:
        """Raise `NotReplayable` for one that waits for more than changes and events."""
        key = str(self.config["trigger_kind"])
        domain = key.partition(".")[0]
        if key in _OF_CHANGES or (key == "device" and self.config.get("domain") in {*Platform}):
            return
        with suppress(ImportError, AttributeError, KeyError):
            platform = await (await async_get_integration(self.home, domain)).async_get_platform("trigger")
            kind = (await platform.async_get_triggers(self.home))[get_relative_description_key(domain, key)]
            if issubclass(kind, EntityTriggerBase):
                return
        raise NotReplayable(_NOT_RECORDED.get(domain, f"what the trigger '{key}' waits for is not recorded"))

    @override
    async def async_attach(self) -> None:
        await self._async_check()
        before = {event_type: len(rows) for event_type, rows in self.home.bus.listening.items()}
        errors: list[str] = []

        def log(level: int, text: str, **more: Any) -> None:
            if level >= logging.ERROR:
                errors.append(f"{text} {more.get('exc_info', '')}".strip())

        async def action(variables: dict[str, Any], context: object = None) -> None:
            self.fire({**variables.pop("trigger", {}), "variables": variables})

        config = {key: value for key, value in self.config.items() if key != "trigger_kind"}
        remove = await async_initialize_triggers(
            self.home, [config], action, "automation", "replay", log, variables=dict(self.variables)
        )
        if remove is not None:
            self.removes.append(remove)
        if errors:
            raise NotReplayable(f"Home Assistant cannot set it up: {errors[0][:200]}")
        known = {"state_changed", *_OF_REGISTRIES, *self.event_types}
        for event_type, rows in self.home.bus.listening.items():
            if event_type not in known and len(rows) > before.get(event_type, 0):
                raise NotReplayable(f"events of the type {event_type} are not recorded here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What became of the triggers of an automation."""

    attached: tuple[PastTrigger, ...]
    refused: tuple[tuple[str, str], ...]
    """Paths of those that cannot be replayed, each with the reason."""


def kind_of(config: Mapping[str, Any]) -> str:
    """Return which trigger it is."""
    return str(config.get("trigger") or config.get("platform") or "")


async def async_attach(
    home: PastHome,
    triggers: Sequence[Mapping[str, Any]],
    variables: Mapping[str, Any],
    fire: Callable[[str, dict[str, Any]], None],
    *,
    event_types: frozenset[str],
    path: str = "triggers",
) -> Listening:
    """Let triggers, normalized by Home Assistant, wait on a home of the past; `fire` gets the path of the one and its variables.

    `path` is where they are written.
    """
    attached: list[PastTrigger] = []
    refused: list[tuple[str, str]] = []
    for number, config in enumerate(triggers):
        place = path if path.endswith("]") else f"{path}[{number}]"
        try:
            trigger = _trigger(home, config, place, number, variables, fire, event_types)
            if trigger is not None:
                await trigger.async_attach()
                attached.append(trigger)
        except NotReplayable as err:
            refused.append((place, str(err)))
        except (HomeAssistantError, probatio.Invalid, KeyError, ValueError, ImportError) as err:
            refused.append((place, f"Home Assistant cannot set it up ({type(err).__name__})"))
    return Listening(attached=tuple(attached), refused=tuple(refused))


def _trigger(
    home: PastHome,
    config: Mapping[str, Any],
    path: str,
    number: int,
    variables: Mapping[str, Any],
    fire: Callable[[str, dict[str, Any]], None],
    event_types: frozenset[str],
) -> PastTrigger | None:
    """Return a trigger that is not attached yet, None if it is switched off. Raises `NotReplayable`."""
    kind = kind_of(config)
    bound = {**home.rebound(config), "trigger_kind": kind, "id": config.get("id", str(number))}
    enabled = bound.get("enabled", True)
    if isinstance(enabled, Template):
        enabled = enabled.async_render(dict(variables), limited=True)
    if not enabled:
        return None
    if missing := [one for one in events_of(config) if one not in event_types]:
        raise NotReplayable(f"events of the type {missing[0]} are not recorded here")
    variables_of = bound.get("variables")

    def happen(found: dict[str, Any]) -> None:
        run = dict(found.pop("variables", {}))
        data = {"id": bound["id"], "idx": str(number), "alias": config.get("alias"), **found}
        data |= {"id": bound["id"], "idx": str(number), "alias": config.get("alias")}
        payload = {"trigger": data, **run}
        if variables_of is not None and not run:
            payload |= variables_of.async_render(home, payload)
        fire(path, payload)

    found = (clock_trigger(kind) or _OwnTrigger)(home, bound, path, happen, variables)
    found.event_types = event_types
    return found


def events_of(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types of events that a trigger waits for, as far as no template decides that."""
    if kind_of(config) == "tag":
        yield "tag_scanned"
    if kind_of(config) != "event":
        return
    named = config.get("event_type") or ()
    for one in [named] if isinstance(named, (str, Template)) else named:
        text = one.template if isinstance(one, Template) else str(one)
        if "{" not in text and text != "state_changed":
            yield text
