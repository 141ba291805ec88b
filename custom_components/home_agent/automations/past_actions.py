"""What the actions of an automation do to the time a run takes: delays, waits, repeats, and conditions that end it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.condition import async_template
from homeassistant.helpers.script_variables import ScriptRunVariables, ScriptVariables
from homeassistant.helpers.template import Template, render_complex
import probatio

from .past import PastHome
from .past_answers import PastCondition
from .past_conditions import async_past_condition
from .past_waits import Delay, Endless, Together, Until, Wait

MAX_REPEATS = 10_000
MAX_IDLE = 1_000  # repeats one after the other that wait for nothing


class _Failed(Exception):
    """A condition was not true: the sequence it stands in has come to its end."""


class _Stop(Exception):
    """The run has come to its end."""


@dataclass(slots=True)
class PastStep:
    """One action, with the conditions and actions in it."""

    config: Mapping[str, Any]
    path: str
    home: PastHome
    conditions: Sequence[PastCondition] = ()
    branches: Sequence[tuple[Sequence[PastCondition], Sequence[PastStep]]] = ()
    """Those of `choose`, `if`, `sequence` and `parallel`."""
    otherwise: Sequence[PastStep] = field(default_factory=list)


async def async_steps(home: PastHome, actions: Sequence[Any], path: str = "actions") -> list[PastStep]:
    """Return actions, normalized by Home Assistant, as steps. Raises `NotReplayable` for a condition that cannot be checked."""
    return [await _async_step(home, action, f"{path}[{number}]") for number, action in enumerate(actions)]


async def _async_conditions(home: PastHome, configs: object, path: str) -> list[PastCondition]:
    listed = configs if isinstance(configs, list) else [configs]
    return [await async_past_condition(home, config, path) for config in listed]


async def _async_step(home: PastHome, action: Any, path: str) -> PastStep:
    if isinstance(action, Template) or (isinstance(action, Mapping) and "condition" in action):
        enabled = action.get("enabled", True) if isinstance(action, Mapping) else True
        conditions = await _async_conditions(home, [action], path)
        return PastStep(config={"condition": True, "enabled": enabled}, path=path, home=home, conditions=conditions)
    step = PastStep(config=home.rebound(action), path=path, home=home)
    if "choose" in action:
        step.branches = [
            (
                await _async_conditions(home, one["conditions"], f"{path}.choose[{number}].conditions"),
                await async_steps(home, one["sequence"], f"{path}.choose[{number}].sequence"),
            )
            for number, one in enumerate(action["choose"])
        ]
        step.otherwise = await async_steps(home, action.get("default") or (), f"{path}.default")
    elif "if" in action:
        conditions = await _async_conditions(home, action["if"], f"{path}.if")
        step.branches = [(conditions, await async_steps(home, action["then"], f"{path}.then"))]
        step.otherwise = await async_steps(home, action.get("else") or (), f"{path}.else")
    elif "sequence" in action:
        step.branches = [((), await async_steps(home, action["sequence"], f"{path}.sequence"))]
    elif "parallel" in action:
        step.branches = [
            ((), await async_steps(home, one["sequence"], f"{path}.parallel[{number}].sequence"))
            for number, one in enumerate(action["parallel"])
        ]
    elif "repeat" in action:
        repeat = action["repeat"]
        step.branches = [((), await async_steps(home, repeat["sequence"], f"{path}.repeat.sequence"))]
        listed = repeat.get("while") or repeat.get("until") or []
        step.conditions = await _async_conditions(home, listed, f"{path}.repeat")
    return step


def waits(steps: Sequence[PastStep], variables: Mapping[str, Any]) -> Iterator[Wait]:
    """Yield what a run waits for, one after the other."""
    try:
        yield from _sequence(steps, ScriptRunVariables.create_top_level(dict(variables)))
    except _Stop, HomeAssistantError, probatio.Invalid, ValueError, TypeError:
        return


def _sequence(steps: Sequence[PastStep], variables: ScriptRunVariables) -> Iterator[Wait]:
    """Yield the waits of a sequence; a condition that is not true ends this sequence alone."""
    for step in steps:
        enabled = step.config.get("enabled", True)
        if isinstance(enabled, Template):
            enabled = enabled.async_render(limited=True)
        if not enabled:
            continue
        try:
            yield from _wait(step, variables)
        except _Failed:
            return
        except HomeAssistantError:
            if not step.config.get("continue_on_error"):
                raise


def _nested(steps: Sequence[PastStep], variables: ScriptRunVariables, *, is_parallel: bool = False) -> Iterator[Wait]:
    """Yield the waits of a sequence in another one: what it sets alone is gone after it."""
    yield from _sequence(steps, variables.enter_scope(parallel=is_parallel))


def _are_true(conditions: Sequence[PastCondition], variables: Mapping[str, Any]) -> bool:
    return all(condition.check(variables).result is not False for condition in conditions)


def _seconds(value: object, variables: ScriptRunVariables) -> float:
    found: float = cv.positive_time_period(render_complex(value, variables)).total_seconds()
    return found


def _wait(step: PastStep, variables: ScriptRunVariables) -> Iterator[Wait]:
    config = step.config
    if "condition" in config:
        if not _are_true(step.conditions, variables):
            raise _Failed
    elif "delay" in config:
        yield Delay(_seconds(config["delay"], variables))
    elif "wait_template" in config or "wait_for_trigger" in config:
        yield from _until(step, variables)
    elif "stop" in config:
        raise _Stop
    elif "variables" in config and isinstance(config["variables"], ScriptVariables):
        variables.update(config["variables"].async_simple_render(variables))
    elif "repeat" in config:
        yield from _repeat(step, variables.enter_scope())
    elif "parallel" in config:
        together = Together([_nested(branch, variables, is_parallel=True) for _, branch in step.branches])
        yield together
        if together.error is not None:
            raise together.error
    else:
        for conditions, sequence in step.branches:
            if _are_true(conditions, variables):
                yield from _nested(sequence, variables)
                return
        yield from _nested(step.otherwise, variables)


def _until(step: PastStep, variables: ScriptRunVariables) -> Iterator[Wait]:
    """Yield a wait for triggers or for a template, and tell in the variable `wait` what came of it."""
    config = step.config
    seconds = _seconds(config["timeout"], variables) if "timeout" in config else None
    known = dict(variables)
    told: dict[str, Any] = {"remaining": seconds, "completed": False}
    if "wait_for_trigger" in config:
        told["trigger"] = None
    variables.assign_parallel_protected("wait", told)
    triggers, path = config.get("wait_for_trigger"), f"{step.path}.wait_for_trigger"
    if triggers is None:
        if async_template(step.home, config["wait_template"], variables, False):
            told["completed"] = True
            return
        triggers, path = [{"trigger": "template", "value_template": config["wait_template"]}], step.path
    waiting = Until(triggers=triggers, path=path, seconds=seconds, variables=known)
    if seconds != 0:
        yield waiting
    if waiting.found is None:
        told["remaining"] = 0.0
        if not config.get("continue_on_timeout", True):
            raise _Stop
        return
    told |= {"completed": True, "remaining": waiting.remaining}
    if "trigger" in told:
        told["trigger"] = waiting.found.get("trigger")


def _items(repeat: Mapping[str, Any], variables: ScriptRunVariables) -> Sequence[Any]:
    """Return for what a sequence is repeated."""
    if "count" in repeat:
        return range(min(int(float(render_complex(repeat["count"], variables))), MAX_REPEATS))
    if "for_each" in repeat:
        found = render_complex(repeat["for_each"], variables)
        return found[:MAX_REPEATS] if isinstance(found, list) else []
    return range(MAX_REPEATS)


def _repeat(step: PastStep, variables: ScriptRunVariables) -> Iterator[Wait]:
    repeat = step.config["repeat"]
    [(_, sequence)] = step.branches
    items, idle = _items(repeat, variables), 0
    is_counted = "count" in repeat or "for_each" in repeat
    for index, item in enumerate(items):
        told = {"index": index + 1, "first": index == 0}
        if is_counted:
            told["last"] = index + 1 == len(items)
        variables.define_local("repeat", told | ({"item": item} if "for_each" in repeat else {}))
        if "while" in repeat and not _are_true(step.conditions, variables):
            return
        has_waited = False
        for wait in _nested(sequence, variables):
            has_waited = True
            yield wait
        if "until" in repeat and _are_true(step.conditions, variables):
            return
        idle = 0 if has_waited else idle + 1
        if idle and not is_counted:
            yield Endless()  # it goes on until something changes that its actions do
        if idle > MAX_IDLE:
            return
