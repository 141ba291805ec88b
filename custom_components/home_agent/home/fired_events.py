"""Which of the owner's automations and scripts an event starts that a script or another automation fires, or lets go on."""

from collections.abc import Iterator, Mapping
from itertools import chain

from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template

MAX_DEPTH = 40
"""Levels of actions in actions that are looked into."""
_TAG = "tag_scanned"
"""The event that triggers of the kind `tag` wait for."""


def started_by_event(hass: HomeAssistant, event_type: str, data: Mapping[str, object], *, is_whole: bool) -> list[str]:
    """Return the automations that are on and the scripts that have a trigger for an event with this data, or wait for it.

    What a template decides, in the trigger or in the data, may fit. Without `is_whole` the event may have more data.
    """
    return [
        entity_id
        for entity_id, triggers in heard_by(hass)
        if any(_fits(one, event_type, data, is_whole=is_whole) for one in triggers)
    ]


def heard_by(hass: HomeAssistant) -> Iterator[tuple[str, Iterator[Mapping[str, object]]]]:
    """Yield the automations that are on and the scripts, each with all that starts it or lets it go on."""
    for entity in getattr(hass.data.get("automation"), "entities", ()):
        if getattr(entity, "is_on", False):
            yield entity.entity_id, chain(triggers_in(entity.raw_config), waits_in(entity.raw_config))
    for entity in getattr(hass.data.get("script"), "entities", ()):
        yield entity.entity_id, waits_in(getattr(entity, "raw_config", None))


def waits_in(config: object, depth: int = MAX_DEPTH) -> Iterator[Mapping[str, object]]:
    """Yield what the actions of a configuration wait for, at any depth, as triggers; a template as one of the kind `template`."""
    match config:
        case Mapping() if depth and config.get("enabled") is not False:
            yield from triggers_in(config.get("wait_for_trigger"))
            if (template := config.get("wait_template")) is not None:
                yield {"trigger": "template", "value_template": template}
            for key in ("while", "until"):  # it goes on as soon as these are otherwise
                yield from _of_conditions(config.get(key), depth)
            for item in config.values():
                yield from waits_in(item, depth - 1)
        case list() | tuple() if depth:
            for item in config:
                yield from waits_in(item, depth - 1)


def _of_conditions(condition: object, depth: int) -> Iterator[Mapping[str, object]]:
    """Yield triggers for what conditions look at."""
    match condition:
        case str() | Template():
            yield {"trigger": "template", "value_template": condition}
        case Mapping() if depth and condition.get("enabled") is not False:
            kind = condition.get("condition")
            if kind == "template":
                yield {"trigger": "template", "value_template": condition.get("value_template")}
            elif kind in ("state", "numeric_state"):
                yield {"trigger": "state", "entity_id": condition.get("entity_id")}
            for key in ("and", "or", "not", "conditions"):
                yield from _of_conditions(condition.get(key), depth - 1)
        case list() | tuple() if depth:
            for item in condition:
                yield from _of_conditions(item, depth - 1)


def triggers_in(config: object) -> Iterator[Mapping[str, object]]:
    """Yield the triggers of a configuration as it was written: one, a list, lists in that."""
    match config:
        case Mapping():
            nested = [config[key] for key in ("triggers", "trigger") if isinstance(config.get(key), (Mapping, list))]
            if not nested and config.get("enabled") is not False:
                yield config
            for item in nested if config.get("enabled") is not False else ():
                yield from triggers_in(item)
        case list() | tuple():
            for item in config:
                yield from triggers_in(item)


def _fits(trigger: Mapping[str, object], event_type: str, data: Mapping[str, object], *, is_whole: bool) -> bool:
    kind = trigger.get("trigger", trigger.get("platform"))
    if kind == "tag":
        return event_type == _TAG
    if kind != "event":
        return False
    named = trigger.get("event_type")
    types = named if isinstance(named, (list, tuple)) else (named,)
    if not any(one == event_type or _is_open(one) for one in types):
        return False
    wanted = trigger.get("event_data")
    return not isinstance(wanted, Mapping) or all(
        _is_open(value) or (_is_same(value, data[key]) if key in data else not is_whole)
        for key, value in wanted.items()
    )


def _is_same(wanted: object, given: object) -> bool:
    return _is_open(given) or wanted == given or str(wanted) == str(given)


def _is_open(value: object) -> bool:
    """Return whether what a value comes to, or whether it fits another one, is not known before it is used."""
    return isinstance(value, (Template, Mapping, list, tuple)) or (isinstance(value, str) and "{" in value)
