"""What an automation waits for and looks at: what has to be recorded for a replay."""

from collections.abc import Iterator, Mapping
from typing import Any

from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers.condition import async_extract_entities as entities_of_condition
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template
from homeassistant.helpers.trigger import async_extract_entities as entities_of_trigger

from .draft import AutomationDraft
from .past_triggers import events_of, kind_of
from .rendering import templates_in

MAX_SIBLINGS = 50  # entities of a domain that a template reads as a whole


def async_entities(hass: HomeAssistant, draft: AutomationDraft) -> set[str]:
    """Return the entities of triggers, conditions, delays and waits, those of their targets, and those that templates read now."""
    found: set[str] = set()
    triggers = [*draft.triggers, *_waited_for_in(draft.actions)]
    for trigger in triggers:
        found |= _of_trigger(hass, trigger)
    conditions = [*draft.conditions, *_conditions_in(draft.actions)]
    for condition in conditions:
        if isinstance(condition, Mapping):
            found |= {one for one in entities_of_condition(dict(condition)) if valid_entity_id(one)}
    parts: list[Any] = [triggers, conditions]
    parts += [draft.normalized.get(key) for key in ("variables", "trigger_variables")]
    for value in _mappings(parts):
        found |= _of_target(hass, value.get("target"))
        for key in ("above", "below", "zone", "state", "entity", "after", "before", "entity_id"):
            found |= {
                one for one in _listed(value.get(key)) if valid_entity_id(one) and hass.states.get(one) is not None
            }
    for template in templates_in([*parts, [ScriptVariables({"waits": [*_waits_in(draft.actions)]})]]):
        found |= _read_by(template)
    return found


def event_types_of(draft: AutomationDraft) -> set[str]:
    """Return the types of the events that its triggers wait for, and those in its actions."""
    triggers = (*draft.triggers, *_waited_for_in(draft.actions))
    return {event_type for trigger in triggers for event_type in events_of(trigger)}


def is_waiting(actions: Any) -> bool:
    """Return whether actions wait for something."""
    return next(_waits_in(actions), None) is not None or next(_waited_for_in(actions), None) is not None


def _of_trigger(hass: HomeAssistant, trigger: Mapping[str, Any]) -> set[str]:
    kind = kind_of(trigger)
    try:
        found = {one for one in entities_of_trigger({**trigger, "platform": kind}) if valid_entity_id(one)}
    except KeyError, TypeError:
        found = set()
    if kind.startswith("sun.elevation"):
        found.add("sun.sun")
    elif kind.partition(".")[0] == "sun":
        found.discard("sun.sun")  # where it stands is counted, not looked up
    return found


def _of_target(hass: HomeAssistant, target: object) -> set[str]:
    if not isinstance(target, Mapping):
        return set()
    found = async_extract_referenced_entity_ids(hass, TargetSelection(dict(target)), expand_group=False)
    return found.referenced | found.indirectly_referenced


def _read_by(template: Template) -> set[str]:
    """Return what a template reads, as far as it can be rendered without variables."""
    if template.is_static:
        return set()
    info = template.async_render_to_info()
    return {entity_id for entity_id in info.entities if valid_entity_id(entity_id)}


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    match value:
        case Mapping():
            yield value
            for item in value.values():
                yield from _mappings(item)
        case list() | tuple():
            for item in value:
                yield from _mappings(item)


def _conditions_in(actions: Any) -> Iterator[Any]:
    """Yield the conditions in actions: they decide how long a run takes."""
    for action in _mappings(actions):
        if "condition" in action:
            yield action
        for key in ("if", "while", "until", "conditions"):
            if isinstance(found := action.get(key), list):
                yield from found


def _waits_in(actions: Any) -> Iterator[Any]:
    """Yield how long actions wait, and the templates that they wait for."""
    for action in _mappings(actions):
        for key in ("delay", "wait_template"):
            if key in action:
                yield action[key]


def _waited_for_in(actions: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the triggers that actions wait for."""
    for action in _mappings(actions):
        if isinstance(found := action.get("wait_for_trigger"), list):
            yield from found


def _listed(value: object) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed if isinstance(one, str)]
