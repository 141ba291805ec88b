"""Automations that start themselves or each other without an end, and those that run far too often.

What is certain is a problem. What may be, since a state or a condition decides it, is a note.
"""

from collections.abc import Iterator, Mapping, Sequence

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.template import Template

from ..home.actions import members
from ..home.contents import sequence_calls
from ..support.const import DOMAIN
from .draft import AutomationDraft
from .problems import DraftProblem
from .references import DraftStep, StepPart
from .starts import Consequence, Starts

MIN_PATTERN = 10
"""Seconds: a time pattern that comes more often is refused."""
_TALKERS = ("ai_task.", "conversation.")
"""Entities whose state changes whenever they are asked."""
_TALKS = frozenset({"ai_task.generate_data", "ai_task.generate_image", "conversation.process"})


def loop_problems(hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield what starts an automation again and again for certain."""
    yield from _patterns(steps)
    yield from _own_runs(steps)
    yield from _of_ours(hass, draft, steps)
    if cycle := Starts(hass, draft, steps).cycle():
        yield _problem(cycle)


def _problem(cycle: Sequence[Consequence]) -> DraftProblem:
    """Return the problem of effects that start a draft again, one after the other."""
    first, last = cycle[0], cycle[-1]
    if len(cycle) > 1:
        mend = "Fire another event." if first.event else "Name the states (to) in the trigger, or use another one."
        return DraftProblem(
            first.path, f"It starts another automation, which starts this one again, without an end. {mend}"
        )
    if last.started:
        return DraftProblem(last.path, "It starts itself again, without an end. Use repeat with an end.")
    if last.entity_id:
        return DraftProblem(
            last.path,
            f"It changes {last.entity_id}, and each change of it starts it again. Name the state (to) in the trigger, or use "
            "another one.",
        )
    what = f"fires {last.event}" if last.event else "says what it waits for"
    mend = "Fire another event." if last.event else "Use another trigger."
    return DraftProblem(last.path, f"It {what}, which starts it again, without an end. {mend}")


def _patterns(steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    found = [
        step
        for step in steps
        if step.part is StepPart.TRIGGER and step.is_sure and step.kind == "time_pattern" and step.is_enabled
    ]
    is_told = False
    for step in found:
        seconds = str(step.config.get("seconds") if step.config.get("seconds") is not None else "0")
        every = (
            1 if seconds == "*" else int(seconds[1:]) if seconds[:1] == "/" and seconds[1:].isdecimal() else MIN_PATTERN
        )
        if every < MIN_PATTERN:
            is_told = True
            yield DraftProblem(
                f"{step.path}.seconds",
                f"It would run every {every} s. At most every {MIN_PATTERN} s is possible: wait for a state instead.",
            )
    if len(found) > 1 and not is_told and _most_in_an_hour(found) > 3600 / MIN_PATTERN:
        yield DraftProblem(
            "triggers",
            f"Together they would run it more often than every {MIN_PATTERN} s, which is the most: wait for a state instead.",
        )


def _most_in_an_hour(steps: Sequence[DraftStep]) -> int:
    """Return in how many seconds of an hour time patterns come together, at most."""
    hours = [0] * 24  # one bit for each second
    for config in {
        tuple(step.config.get(key) for key in ("hours", "minutes", "seconds")): step.config for step in steps
    }.values():
        given = [config.get(key) for key in ("hours", "minutes", "seconds")]
        first = next((place for place, value in enumerate(given) if value is not None), 0)
        every_hour, minutes, seconds = (
            _times(value if value is not None else "*" if place < first else "0", most)
            for place, (value, most) in enumerate(zip(given, (24, 60, 60), strict=True))
        )
        minute = sum(1 << second for second in seconds)
        mask = sum(minute << 60 * one for one in minutes)
        for hour in every_hour:
            hours[hour] |= mask
    return max(hour.bit_count() for hour in hours)


def _times(pattern: object, most: int) -> list[int]:
    text = str(pattern)
    if text == "*":
        return [*range(most)]
    if text[:1] == "/" and text[1:].isdecimal() and int(text[1:]):
        return [*range(0, most, int(text[1:]))]
    return [int(text) % most] if text.isdecimal() else []


def _listened(steps: Sequence[DraftStep]) -> Iterator[tuple[DraftStep, str]]:
    """Yield the triggers of the automation itself that wait for events, with each type."""
    for step in steps:
        if step.part is StepPart.TRIGGER and step.is_sure and step.is_enabled and step.kind == "event":
            named = step.config.get("event_type")
            for one in named if isinstance(named, list | tuple) else [named]:
                yield step, one.template if isinstance(one, Template) else str(one)


def _calls(steps: Sequence[DraftStep]) -> Iterator[DraftStep]:
    return (step for step in steps if step.does(cv.SCRIPT_ACTION_CALL_SERVICE) and step.is_enabled)


def _waited(steps: Sequence[DraftStep]) -> set[str]:
    found: set[str] = set()
    for step in steps:
        if step.part is StepPart.TRIGGER and step.is_sure and step.is_enabled:
            for place in (step.config, step.config.get("target")):
                named = place.get("entity_id") if isinstance(place, Mapping) else None
                found |= {one for one in ([named] if isinstance(named, str) else named or ()) if isinstance(one, str)}
    return found


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
