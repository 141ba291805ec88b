"""Which of the owner's automations an event starts that a script or another automation fires."""

from collections.abc import Iterator, Mapping

from homeassistant.core import HomeAssistant
from homeassistant.helpers.template import Template

_TAG = "tag_scanned"
"""The event that triggers of the kind `tag` wait for."""


def started_by_event(hass: HomeAssistant, event_type: str, data: Mapping[str, object], *, is_whole: bool) -> list[str]:
    """Return the automations that are on and have a trigger for an event with this data.

    What a template decides, in the trigger or in the data, may fit. Without `is_whole` the event may have more data.
    """
    return [
        entity.entity_id
        for entity in getattr(hass.data.get("automation"), "entities", ())
        if getattr(entity, "is_on", False)
        and any(_fits(one, event_type, data, is_whole=is_whole) for one in triggers_in(entity.raw_config))
    ]


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
