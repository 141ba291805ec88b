"""Conditions that can never be true, alone, together, or together with every trigger; and repeats without an end.

Only what is certain is told: what a template or another entity decides may be true.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import time, timedelta
import math
from typing import Any, TypeGuard

from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.template import Template
from jinja2 import TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from ..home.tolerance import number_of
from ..support.quoting import one_line
from .draft import AutomationDraft
from .never_sunny import contradicts_itself, is_never_sunny
from .problems import DraftProblem, near_words, nearest, quoted
from .references import DraftStep, StepPart, actions_in, condition_steps

MAX_COUNT = 10_000
"""Rounds of a repeat; Home Assistant itself ends others there."""
MAX_NAMES = 200  # characters
_DAY = 86_400.0  # seconds
_INPUTS = ("input_select.", "input_text.", "input_number.", "input_boolean.", "input_datetime.")
_INSTANT = frozenset(
    {
        cv.SCRIPT_ACTION_CHOOSE,
        cv.SCRIPT_ACTION_IF,
        cv.SCRIPT_ACTION_PARALLEL,
        cv.SCRIPT_ACTION_SEQUENCE,
        cv.SCRIPT_ACTION_FIRE_EVENT,
    }
)
"""Actions that take no time and change nothing that a condition looks at."""
_WEEK = frozenset({"mon", "tue", "wed", "thu", "fri", "sat", "sun"})

type _Aspect = tuple[str, str]
"""An entity and an attribute of it; the state as ""."""


def never_true(hass: HomeAssistant, draft: AutomationDraft, steps: Sequence[DraftStep]) -> Iterator[DraftProblem]:
    """Yield what can never be true in a draft."""
    ids = {str(trigger.get("id", place)) for place, trigger in enumerate(draft.triggers)}
    ids |= {str(step.config["id"]) for step in steps if step.part is StepPart.TRIGGER and "id" in step.config}
    for step in steps:
        if step.part is StepPart.CONDITION and step.is_enabled:
            yield from _alone(step, ids)
        elif step.part is StepPart.TRIGGER and step.is_enabled:
            yield from _of_trigger(step)
        elif step.part is StepPart.ACTION and step.is_enabled:
            yield from _of_action(step)
    together = _Facts()
    for place, condition in enumerate(draft.conditions):
        yield from _together(together, condition, f"conditions[{place}]")
    yield from _with_triggers(hass, draft, together)


def _alone(step: DraftStep, ids: Iterable[str]) -> Iterator[DraftProblem]:
    config = step.config
    match step.kind:
        case "state":
            if not _texts(config.get("entity_id")):
                yield DraftProblem(f"{step.path}.entity_id", "It names no entity.")
            if config.get("state") == []:
                yield DraftProblem(f"{step.path}.state", "It names no state, so it is never true.")
        case "numeric_state":
            yield from _bounds(step)
        case "time":
            yield from _time(step)
        case "sun" if contradicts_itself(config):
            yield DraftProblem(
                step.path, "It is never before and after the same event of the sun. Exchange before and after."
            )
        case "or" if not config.get("conditions"):
            yield DraftProblem(f"{step.path}.conditions", "None of no conditions is ever true. Name some.")
        case "trigger":
            yield from _trigger_ids(step, ids)
        case "and":
            yield from _list(config.get("conditions") or (), f"{step.path}.conditions")


def _time(step: DraftStep) -> Iterator[DraftProblem]:
    if step.config.get("weekday") in ([], ()):
        yield DraftProblem(
            f"{step.path}.weekday", "It names no weekday, so it is never true. Name days, or leave weekday out."
        )


def _trigger_ids(step: DraftStep, ids: Iterable[str]) -> Iterator[DraftProblem]:
    for one in _texts(step.config.get("id")):
        if one not in ids:
            near = near_words(nearest(one, ids) or sorted(ids))
            yield DraftProblem(
                f"{step.path}.id", f"No trigger has the id {quoted(one)}: write id in the trigger.{near}"
            )


def _bounds(step: DraftStep) -> Iterator[DraftProblem]:
    above, below = step.config.get("above"), step.config.get("below")
    if _is_number(above) and _is_number(below) and float(above) >= float(below):
        yield DraftProblem(
            f"{step.path}.above",
            f"{_named(step)} is never above {above:g} and below {below:g} at the same time. Exchange the numbers, or use or.",
        )


def _named(step: DraftStep) -> str:
    """Return what a step is about, as it may stand in a sentence."""
    return one_line(" or ".join(_texts(step.config.get("entity_id"))), MAX_NAMES) or "A number"


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_trigger(step: DraftStep) -> Iterator[DraftProblem]:
    config = step.config
    match step.kind:
        case "numeric_state":
            yield from _bounds(step)
        case "state":
            if not _texts(config.get("entity_id")):
                yield DraftProblem(f"{step.path}.entity_id", "It names no entity.")
            for key in ("to", "from"):
                if config.get(key) == []:
                    yield DraftProblem(f"{step.path}.{key}", "It names no state, so it never comes.")
            to, before = config.get("to"), config.get("from")
            if config.get("attribute") is None and isinstance(to, str) and to == before:
                yield DraftProblem(
                    f"{step.path}.to", f"It never changes from {quoted(before)} to {quoted(to)}. Leave from out."
                )
        case "time" if config.get("weekday") in ([], ()):
            yield DraftProblem(
                f"{step.path}.weekday", "It names no weekday, so it never comes. Name days, or leave weekday out."
            )


def _of_action(step: DraftStep) -> Iterator[DraftProblem]:
    match step.kind:
        case cv.SCRIPT_ACTION_CHOOSE:
            for place, choice in enumerate(step.config["choose"]):
                yield from _list(choice["conditions"], f"{step.path}.choose[{place}].conditions")
        case cv.SCRIPT_ACTION_IF:
            yield from _list(step.config["if"], f"{step.path}.if")
        case cv.SCRIPT_ACTION_REPEAT:
            yield from _repeat(step)


def _list(conditions: Iterable[Any], path: str) -> Iterator[DraftProblem]:
    facts = _Facts()
    for place, condition in enumerate(conditions):
        yield from _together(facts, condition, f"{path}[{place}]")


def _repeat(step: DraftStep) -> Iterator[DraftProblem]:
    repeat = step.config["repeat"]
    path = f"{step.path}.repeat"
    for key in ("while", "until"):
        if key in repeat:
            yield from _list(repeat[key], f"{path}.{key}")
    if "while" in repeat and not repeat["while"]:
        yield DraftProblem(
            f"{path}.while", "It never ends: no condition is always true. Name a condition that ends it, or a count."
        )
    if ("while" in repeat or "until" in repeat) and not _takes_time(repeat["sequence"]):
        yield DraftProblem(
            f"{path}.sequence", "It repeats without a pause and changes nothing: put a delay or a wait into it."
        )
    count = repeat.get("count")
    if _is_number(count) and count > MAX_COUNT:
        yield DraftProblem(f"{path}.count", f"It is repeated too often: at most {MAX_COUNT} times.")
    for key, endless in (("while", True), ("until", False)):
        if repeat.get(key) and all(_always(one) is endless for one in repeat[key]):
            yield DraftProblem(f"{path}.{key}", "It never ends. Name a condition that changes, or a count.")


def _takes_time(sequence: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether actions wait for something or change anything."""
    kinds = {step.kind for step in actions_in(sequence, "") if step.part is StepPart.ACTION}
    return bool(kinds - _INSTANT) or not kinds


def _always(condition: object) -> bool | None:
    """Return what a template without anything in it comes to; None for all others."""
    if isinstance(condition, Mapping) and condition.get("condition") == "template":
        condition = condition.get("value_template")
    text = condition.template if isinstance(condition, Template) else condition
    if not isinstance(text, str):
        return None
    word = text.strip().removeprefix("{{").removesuffix("}}").strip()
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False}.get(word.casefold())
    return known if known is not None else _in_all_rounds(word)


_ROUNDS = (1, 2, 3, 10, 1_000, 1_000_000)


def _in_all_rounds(expression: str) -> bool | None:
    """Return what an expression comes to that only looks at the number of the round: the same in all, else None."""
    try:
        if meta.find_undeclared_variables(_ROUND.parse(f"{{{{ {expression} }}}}")) != {"repeat"}:
            return None
        compiled = _ROUND.compile_expression(expression)
        found = {bool(compiled(repeat={"index": number, "first": number == 1})) for number in _ROUNDS}
    except TemplateError, TypeError, ValueError, ArithmeticError, RecursionError:
        return None
    return found.pop() if len(found) == 1 else None


_ROUND = SandboxedEnvironment()


# What several say of one thing.


@dataclass(slots=True)
class _Facts:
    """What has to be so for all conditions that were added."""

    states: dict[_Aspect, frozenset[str]] = field(default_factory=dict)
    numbers: dict[_Aspect, tuple[float, float]] = field(default_factory=dict)
    times: list[tuple[float, float]] = field(default_factory=lambda: [(0.0, _DAY)])
    days: frozenset[str] = _WEEK
    triggers: frozenset[str] | None = None
    since: dict[_Aspect, timedelta] = field(default_factory=dict)
    """How long a state has to last at least."""
    suns: list[Mapping[str, Any]] = field(default_factory=list)
    """Conditions of the sun."""


def _together(facts: _Facts, condition: Any, path: str) -> Iterator[DraftProblem]:
    """Add a condition to the others; yield the problem if it contradicts them."""
    for step in condition_steps(condition, path):
        if not step.is_enabled:
            return
        if step.kind == "and":
            for place, inner in enumerate(step.config.get("conditions") or ()):
                yield from _together(facts, inner, f"{path}.conditions[{place}]")
        elif (reason := _add(facts, step)) is not None:
            yield DraftProblem(
                path, f"It contradicts another condition: {reason}. Both can never be true; use or, or drop one."
            )
        return


def _add(facts: _Facts, step: DraftStep) -> str | None:
    match step.kind:
        case "state":
            return _add_states(facts, step.config)
        case "numeric_state":
            return _add_numbers(facts, step.config)
        case "time":
            return _add_times(facts, step.config)
        case "sun":
            facts.suns.append(step.config)
        case "trigger":
            ids = frozenset(_texts(step.config.get("id")))
            before = facts.triggers
            facts.triggers = ids if before is None else before & ids
            if before and ids and not facts.triggers:
                return "they want different triggers"
    return None


def _add_states(facts: _Facts, config: Mapping[str, Any]) -> str | None:
    states = _texts(config.get("state"))
    entities = _texts(config.get("entity_id"))
    if (
        not states
        or any(one.startswith(_INPUTS) for one in states)
        or (config.get("match") == "any" and len(entities) > 1)
    ):
        return None
    if not isinstance(config.get("state"), str | list):
        return None
    for entity_id in entities:
        subject = (entity_id, str(config.get("attribute") or ""))
        before = facts.states.get(subject)
        if isinstance(lasting := config.get("for"), timedelta):
            facts.since[subject] = max(lasting, facts.since.get(subject, timedelta()))
        facts.states[subject] = frozenset(states) if before is None else before & frozenset(states)
        if before and not facts.states[subject]:
            return f"{entity_id} cannot be {' or '.join(sorted(before))} and {' or '.join(states)} at once"
        if (limits := facts.numbers.get(subject)) is not None and not any(_fits(one, limits) for one in states):
            return f"{entity_id} cannot be {' or '.join(states)} and between {limits[0]:g} and {limits[1]:g}"
    return None


def _fits(state: str, limits: tuple[float, float]) -> bool:
    number = number_of(state)
    return number is not None and limits[0] < number < limits[1]


def _add_numbers(facts: _Facts, config: Mapping[str, Any]) -> str | None:
    if config.get("value_template") is not None:
        return None
    low, high = _limits(config)
    for entity_id in _texts(config.get("entity_id")):
        subject = (entity_id, str(config.get("attribute") or ""))
        before = facts.numbers.get(subject, (-math.inf, math.inf))
        facts.numbers[subject] = both = (max(low, before[0]), min(high, before[1]))
        if both[0] >= both[1] and before[0] < before[1] and low < high:
            return f"{entity_id} cannot be above {both[0]:g} and below {both[1]:g}"
        if (states := facts.states.get(subject)) and not any(_fits(one, both) for one in states):
            return f"{entity_id} cannot be {' or '.join(sorted(states))} and such a number"
    return None


def _limits(config: Mapping[str, Any]) -> tuple[float, float]:
    above, below = config.get("above"), config.get("below")
    return (float(above) if _is_number(above) else -math.inf, float(below) if _is_number(below) else math.inf)


def _add_times(facts: _Facts, config: Mapping[str, Any]) -> str | None:
    days = frozenset(_texts(config.get("weekday"))) or _WEEK
    had_days, had_times = facts.days, facts.times
    facts.days = facts.days & days
    facts.times = [(max(a, c), min(b, d)) for a, b in facts.times for c, d in _windows(config) if max(a, c) < min(b, d)]
    if had_days and not facts.days:
        return "they have no weekday in common"
    if had_times and not facts.times:
        return "they have no time of day in common"
    return None


def _windows(config: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the seconds of a day in which a condition is true, as Home Assistant takes them; all of it where an entity decides."""
    after, before = config.get("after"), config.get("before")
    if isinstance(after, str) or isinstance(before, str):
        return [(0.0, _DAY)]
    start, end = _seconds(after, 0.0), _seconds(before, _DAY)
    return [(start, end)] if start < end else [(0.0, end), (start, _DAY)]


def _seconds(moment: object, otherwise: float) -> float:
    if not isinstance(moment, time):
        return otherwise
    return timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second).total_seconds()


# What the triggers say.


def _with_triggers(hass: HomeAssistant, draft: AutomationDraft, facts: _Facts) -> Iterator[DraftProblem]:
    """Yield the problem if the conditions contradict each trigger of the automation."""
    triggers = [one for one in draft.triggers if one.get("enabled") is not False]
    reasons = [_contradicts(one, facts) or _against_the_sun(hass, one, facts) for one in triggers]
    if triggers and all(reasons):
        yield DraftProblem(
            "conditions",
            f"They can never be true when it is triggered: {reasons[0]}. Change the trigger or the condition.",
        )


def _against_the_sun(hass: HomeAssistant, trigger: Mapping[str, Any], facts: _Facts) -> str | None:
    """Return the reason why the conditions of the sun are never true at a time or an event of the sun."""
    if not facts.suns or trigger.get("platform") not in ("sun", "time") or not _has_plain_times(trigger):
        return None
    if not is_never_sunny(hass, trigger, facts.suns):
        return None
    return "the sun is never so at that time, since 'after: sunset' ends at midnight and 'before: sunrise' begins there"


def _has_plain_times(trigger: Mapping[str, Any]) -> bool:
    at = trigger.get("at")
    return trigger.get("platform") == "sun" or all(
        isinstance(one, time) for one in (at if isinstance(at, list | tuple) else [at])
    )


def _contradicts(trigger: Mapping[str, Any], facts: _Facts) -> str | None:
    kind = str(trigger.get("platform", ""))
    entities = _texts(trigger.get("entity_id"))
    subject = (entities[0], str(trigger.get("attribute") or "")) if len(entities) == 1 else ("", "")
    match kind:
        case "state" if (to := _texts(trigger.get("to"))) and trigger.get("attribute") is None:
            lasting = trigger.get("for") or timedelta()
            return _of_state(subject, frozenset(to), facts, lasting if isinstance(lasting, timedelta) else None)
        case "numeric_state" if trigger.get("value_template") is None:
            low, high = _limits(trigger)
            limits = facts.numbers.get(subject)
            if (
                limits is not None
                and max(low, limits[0]) >= min(high, limits[1])
                and limits[0] < limits[1]
                and low < high
            ):
                return f"{subject[0]} has just become another number"
            states = facts.states.get(subject)
            if states and not any(_fits(one, (low, high)) for one in states):
                return f"{subject[0]} has just become a number, and the condition wants {' or '.join(sorted(states))}"
        case "time":
            return _of_times(trigger, facts)
    return None


def _of_state(subject: _Aspect, to: frozenset[str], facts: _Facts, lasting: timedelta | None) -> str | None:
    least = facts.since.get(subject)
    if least is not None and lasting is not None and least > lasting:
        return (
            f"{subject[0]} has just changed, and the condition wants it to last for {least}; move 'for' to the trigger"
        )
    wanted = facts.states.get(subject)
    if wanted and not wanted & to:
        return f"{subject[0]} has just become {' or '.join(sorted(to))}, and the condition wants {' or '.join(sorted(wanted))}"
    limits = facts.numbers.get(subject)
    if limits is not None and not any(_fits(one, limits) for one in to):
        return f"{subject[0]} has just become {' or '.join(sorted(to))}, which is not in the limits of the condition"
    return None


def _of_times(trigger: Mapping[str, Any], facts: _Facts) -> str | None:
    at = trigger.get("at")
    moments = at if isinstance(at, list | tuple) else [at]
    if not moments or not all(isinstance(one, time) for one in moments):
        return None
    if facts.times and not any(start <= _seconds(one, 0) < end for one in moments for start, end in facts.times):
        return "it is triggered at a time of day at which the conditions are not true"
    days = frozenset(_texts(trigger.get("weekday"))) or _WEEK
    if facts.days and not days & facts.days:
        return "it is triggered on weekdays on which the conditions are not true"
    return None


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(one) for one in value] if isinstance(value, list | tuple | set | frozenset) else []
