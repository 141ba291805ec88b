"""Automations that start themselves or each other without an end, and those that run far too often.

What is certain is a problem. What may be, since a state or a condition decides it, is a note.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.template import Template

from ..home.actions import members
from ..home.contents import sequence_calls
from ..home.fired_events import started_by_event, triggers_in
from ..support.const import DOMAIN
from .draft import AutomationDraft
from .event_types import fired_in
from .problems import DraftProblem
from .references import DraftStep, StepPart, actions_in

MIN_PATTERN = 10
"""Seconds: a time pattern that comes more often is refused."""
_TALKERS = ("ai_task.", "conversation.")
"""Entities whose state changes whenever they are asked."""
_TALKS = frozenset({"ai_task.generate_data", "ai_task.generate_image", "conversation.process"})
_TOGGLES = frozenset({"toggle"})


def loop_problems(hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield what starts an automation again and again for certain."""
    yield from _patterns(steps)
    yield from _own_events(draft, steps)
    yield from _own_toggles(draft, steps)
    yield from _own_runs(steps)
    yield from _of_ours(hass, draft, steps)
    yield from _mutual_events(hass, draft, steps)
    yield from _mutual_toggles(hass, draft, steps)


def _patterns(steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    for step in steps:
        if step.part is StepPart.TRIGGER and step.is_sure and step.kind == "time_pattern" and step.is_enabled:
            seconds = str(step.config.get("seconds") if step.config.get("seconds") is not None else "0")
            every = (
                1
                if seconds == "*"
                else int(seconds[1:])
                if seconds[:1] == "/" and seconds[1:].isdecimal()
                else MIN_PATTERN
            )
            if every < MIN_PATTERN:
                yield DraftProblem(
                    f"{step.path}.seconds",
                    f"It would run every {every} s. At most every {MIN_PATTERN} s is possible: wait for a state instead.",
                )


def _listened(steps: Sequence[DraftStep]) -> Iterator[tuple[DraftStep, str]]:
    """Yield the triggers of the automation itself that wait for events, with each type."""
    for step in steps:
        if step.part is StepPart.TRIGGER and step.is_sure and step.is_enabled and step.kind == "event":
            named = step.config.get("event_type")
            for one in named if isinstance(named, list | tuple) else [named]:
                yield step, one.template if isinstance(one, Template) else str(one)


def _fired(steps: Sequence[DraftStep]) -> Iterator[DraftStep]:
    return (step for step in steps if step.does(cv.SCRIPT_ACTION_FIRE_EVENT) and step.is_enabled)


def _own_events(draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    for fired in _fired(steps):
        for trigger, event_type in _listened(steps):
            if (
                fired.is_sure
                and not draft.conditions
                and fired.config["event"] == event_type
                and _may_match(trigger, fired)
            ):
                yield DraftProblem(
                    fired.path, f"It fires {event_type}, which starts it again, without an end. Fire another event."
                )


def _may_match(trigger: DraftStep, fired: DraftStep) -> bool:
    """Return whether the data of an event is certainly what a trigger wants."""
    wanted, given = trigger.config.get("event_data"), fired.config.get("event_data") or {}
    if not isinstance(wanted, Mapping) or not wanted:
        return True
    return isinstance(given, Mapping) and all(_plain(given.get(key)) == _plain(value) for key, value in wanted.items())


def _plain(value: object) -> object:
    return value.template if isinstance(value, Template) else value


def _calls(steps: Sequence[DraftStep]) -> Iterator[DraftStep]:
    return (step for step in steps if step.does(cv.SCRIPT_ACTION_CALL_SERVICE) and step.is_enabled)


def _targets(step: DraftStep) -> list[str]:
    found: list[str] = []
    for place in (step.config, step.config.get("target"), step.config.get("data")):
        named = place.get("entity_id") if isinstance(place, Mapping) else None
        found += [one for one in ([named] if isinstance(named, str) else named or ()) if isinstance(one, str)]
    return found


def _waited(steps: Sequence[DraftStep]) -> set[str]:
    found: set[str] = set()
    for step in steps:
        if step.part is StepPart.TRIGGER and step.is_sure and step.is_enabled:
            for place in (step.config, step.config.get("target")):
                named = place.get("entity_id") if isinstance(place, Mapping) else None
                found |= {one for one in ([named] if isinstance(named, str) else named or ()) if isinstance(one, str)}
    return found


def _own_toggles(draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield the toggles of what any change of starts the automation again."""
    waited = _waited_for_any_change(steps)
    for step in _calls(steps):
        if str(step.config.get("action", "")).partition(".")[2] in _TOGGLES and step.is_sure and not draft.conditions:
            for entity_id in _targets(step):
                if entity_id in waited:
                    yield DraftProblem(
                        step.path,
                        f"It toggles {entity_id}, and each change of it starts it again. Name the state (to) in the trigger.",
                    )


def _waited_for_any_change(steps: Sequence[DraftStep]) -> set[str]:
    return _waited([step for step in steps if step.kind == "state" and _is_open(step.config)])


def _is_open(trigger: Mapping[str, Any]) -> bool:
    """Return whether a trigger takes any change of a state."""
    return all(trigger.get(key) is None for key in ("to", "from", "not_to", "not_from", "for", "attribute"))


def _mutual_toggles(hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield the toggles that start another automation which toggles what starts this one."""
    waited = _waited_for_any_change(steps)
    toggles = [*_sure_toggles(steps)] if waited and not draft.conditions else []
    for entity in getattr(hass.data.get(AUTOMATION), "entities", ()) if toggles else ():
        config: Any = getattr(entity, "raw_config", None) or {}
        is_own = draft.id is not None and getattr(entity, "unique_id", None) == draft.id
        if is_own or config.get("conditions") or config.get("condition"):
            continue
        sequence = getattr(getattr(entity, "action_script", None), "sequence", ())
        if waited.isdisjoint(one for step in _sure_toggles([*actions_in(sequence, "")]) for one in _targets(step)):
            continue
        heard = _waits_of([one for one in triggers_in(config) if _kind_of(one) == "state" and _is_open(one)])
        for step in toggles:
            if not heard.isdisjoint(_targets(step)):
                yield DraftProblem(
                    step.path,
                    "It toggles what another automation waits for, which toggles what starts this one again, without an end. "
                    "Name the states (to) in the trigger.",
                )


def _kind_of(trigger: Mapping[str, Any]) -> object:
    return trigger.get("trigger", trigger.get("platform"))


def _sure_toggles(steps: Sequence[DraftStep]) -> Iterator[DraftStep]:
    return (
        step
        for step in _calls(steps)
        if step.is_sure and str(step.config.get("action", "")).partition(".")[2] in _TOGGLES
    )


def _own_runs(steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield the calls that start the automation itself, by its own entity."""
    for step in _calls(steps):
        if str(step.config.get("action", "")) == f"{AUTOMATION}.trigger" and step.is_sure:
            for place in (step.config.get("target"), step.config.get("data")):
                named = place.get("entity_id") if isinstance(place, Mapping) else None
                for one in named if isinstance(named, list) else [named]:
                    if isinstance(one, Template) and "this.entity_id" in one.template:
                        yield DraftProblem(step.path, "It starts itself again, without an end. Use repeat with an end.")


def _of_ours(hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield the problem of an automation that waits for what is told of a conversation and holds one itself."""
    heard = [event_type for _, event_type in _listened(steps) if event_type.startswith((f"{DOMAIN}.", f"{DOMAIN}_"))]
    heard += sorted(one for one in _waited(steps) if one.startswith(_TALKERS))
    if not heard:
        return
    for call in sequence_calls(hass, draft.actions, frozenset(), members, members, {}):
        if call.domain == DOMAIN or f"{call.domain}.{call.service}" in _TALKS:
            yield DraftProblem(
                "actions",
                f"It waits for {heard[0]} and calls {call.domain}.{call.service}, which brings it about again. Use another trigger.",
            )
            return


def _mutual_events(hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield the events that start another automation which fires what starts this one."""
    if draft.conditions:
        return
    heard = {event_type for _, event_type in _listened(steps)}
    others = {
        entity.entity_id: entity
        for entity in getattr(hass.data.get(AUTOMATION), "entities", ())
        if getattr(entity, "unique_id", None) != draft.id or draft.id is None
    }
    for fired in _fired(steps) if heard else ():
        if not fired.is_sure:
            continue
        data = fired.config.get("event_data")
        started = started_by_event(
            hass, str(fired.config["event"]), data if isinstance(data, Mapping) else {}, is_whole=True
        )
        for entity_id in started:
            config: Any = getattr(others.get(entity_id), "raw_config", None)
            if config and not (config.get("conditions") or config.get("condition")) and heard & {*fired_in(config)}:
                yield DraftProblem(
                    fired.path,
                    "It starts another automation, which starts this one again, without an end. Fire another event.",
                )


def _waits_of(config: object) -> set[str]:
    """Return the entities that the triggers of a written configuration name."""
    found: set[str] = set()
    for trigger in triggers_in(config):
        for place in (trigger, trigger.get("target")):
            named = place.get("entity_id") if isinstance(place, Mapping) else None
            found |= {str(one) for one in ([named] if isinstance(named, str) else named or ())} if named else set()
    return found
