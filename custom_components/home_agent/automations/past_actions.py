"""How long a run of an automation takes, as far as its delays say: what mode it has decides whether it can be started again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.template import Template, render_complex
import probatio

from .past import PastHome, PastTimer
from .past_answers import PastCondition
from .past_conditions import async_past_condition

MAX_REPEATS = 1_000
_NESTED = ("then", "else", "default", "sequence")


class _Stop(Exception):
    """The run has come to its end."""


@dataclass(slots=True)
class PastStep:
    """One action, with the conditions and actions in it."""

    config: Mapping[str, Any]
    conditions: Sequence[PastCondition] = ()
    branches: Sequence[tuple[Sequence[PastCondition], Sequence[PastStep]]] = ()
    """Those of `choose`, `if`, `sequence` and `parallel`."""
    otherwise: Sequence[PastStep] = field(default_factory=list)


async def async_steps(home: PastHome, actions: Sequence[Any]) -> list[PastStep]:
    """Return actions, normalized by Home Assistant, as steps. Raises `NotReplayable` for a condition that cannot be checked."""
    return [await _async_step(home, action) for action in actions]


async def _async_conditions(home: PastHome, configs: object) -> list[PastCondition]:
    listed = configs if isinstance(configs, list) else [configs]
    return [await async_past_condition(home, config, "actions") for config in listed]


async def _async_step(home: PastHome, action: Any) -> PastStep:
    if isinstance(action, Template) or (isinstance(action, Mapping) and "condition" in action):
        return PastStep(config={"condition": True}, conditions=await _async_conditions(home, [action]))
    step = PastStep(config=home.rebound(action))
    if "choose" in action:
        step.branches = [
            (await _async_conditions(home, one["conditions"]), await async_steps(home, one["sequence"]))
            for one in action["choose"]
        ]
        step.otherwise = await async_steps(home, action.get("default") or ())
    elif "if" in action:
        step.branches = [(await _async_conditions(home, action["if"]), await async_steps(home, action["then"]))]
        step.otherwise = await async_steps(home, action.get("else") or ())
    elif "sequence" in action:
        step.branches = [((), await async_steps(home, action["sequence"]))]
    elif "parallel" in action:
        step.branches = [((), await async_steps(home, one["sequence"])) for one in action["parallel"]]
    elif "repeat" in action:
        repeat = action["repeat"]
        step.branches = [((), await async_steps(home, repeat["sequence"]))]
        step.conditions = await _async_conditions(home, repeat.get("while") or repeat.get("until") or [])
    return step


def waits(steps: Sequence[PastStep], variables: dict[str, Any]) -> Iterator[float | None]:
    """Yield the seconds that a run waits, one delay after the other; None for a wait whose end is not known."""
    try:
        yield from _waits(steps, variables)
    except _Stop, HomeAssistantError, probatio.Invalid:
        return


def _waits(steps: Sequence[PastStep], variables: dict[str, Any]) -> Iterator[float | None]:
    for step in steps:
        if step.config.get("enabled", True) is not False:
            yield from _wait(step, variables)


def _are_true(conditions: Sequence[PastCondition], variables: Mapping[str, Any]) -> bool:
    return all(condition.check(variables).result is not False for condition in conditions)


def _wait(step: PastStep, variables: dict[str, Any]) -> Iterator[float | None]:
    config = step.config
    if "condition" in config:
        if not _are_true(step.conditions, variables):
            raise _Stop
    elif "delay" in config:
        yield cv.positive_time_period(render_complex(config["delay"], variables)).total_seconds()
    elif "wait_template" in config or "wait_for_trigger" in config:
        yield None
    elif "stop" in config:
        raise _Stop
    elif "variables" in config and isinstance(config["variables"], ScriptVariables):
        variables |= config["variables"].async_simple_render(variables)
    elif "repeat" in config:
        yield from _repeat(step, variables)
    elif "parallel" in config:
        # The longest of them counts: which of them ends when does not matter.
        yield max((_length(branch, dict(variables)) for _, branch in step.branches), key=_unknown_last, default=0.0)
    else:
        for conditions, sequence in step.branches:
            if _are_true(conditions, variables):
                yield from _waits(sequence, variables)
                return
        yield from _waits(step.otherwise, variables)


def _unknown_last(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds


def _length(steps: Sequence[PastStep], variables: dict[str, Any]) -> float | None:
    total = 0.0
    for seconds in waits(steps, variables):
        if seconds is None:
            return None
        total += seconds
    return total


def _repeat(step: PastStep, variables: dict[str, Any]) -> Iterator[float | None]:
    repeat = step.config["repeat"]
    [(_, sequence)] = step.branches
    items: Sequence[Any] = range(MAX_REPEATS)
    if "count" in repeat:
        items = range(min(int(float(render_complex(repeat["count"], variables))), MAX_REPEATS))
    elif "for_each" in repeat:
        found = render_complex(repeat["for_each"], variables)
        items = found[:MAX_REPEATS] if isinstance(found, list) else []
    for index, item in enumerate(items):
        inner = {**variables, "repeat": {"index": index + 1, "first": index == 0, "item": item}}
        if "while" in repeat and not _are_true(step.conditions, inner):
            return
        waited = 0.0
        for seconds in _waits(sequence, inner):
            waited += seconds or 0.0
            yield seconds
        if "until" in repeat and _are_true(step.conditions, inner):
            return
        if not waited and ("while" in repeat or "until" in repeat):
            yield None  # it goes on until something changes that is not waited for here
            return


class Runs:
    """The runs of one automation that have not ended."""

    def __init__(self, home: PastHome, steps: Sequence[PastStep] | None, mode: str, most: int) -> None:
        """Take the actions, None if they cannot be followed, the mode, and how many runs there may be at once."""
        self._home = home
        self._steps = steps
        self._mode = mode
        self._most = most
        self._running: list[_Progress] = []

    def refuses(self) -> str:
        """Return why no run can be started now; empty if one can."""
        if not self._running or self._mode == "restart":
            return ""
        since = f"{self._running[0].since:%H:%M:%S}"
        if self._mode == "single":
            return f"it was still running since {since} (mode single)"
        if len(self._running) >= self._most:
            return f"{len(self._running)} runs had not ended (mode {self._mode})"
        return ""

    def start(self, variables: dict[str, Any]) -> None:
        """Start a run."""
        if self._mode == "restart":
            self.clear()
        if self._steps is None:
            return
        run = _Progress(self._home, self, waits(self._steps, variables))
        self._running.append(run)
        if self._mode != "queued" or len(self._running) == 1:
            run.go_on()

    def ended(self, run: _Progress) -> None:
        """Forget a run, and let the next one that waits begin."""
        self._running.remove(run)
        if self._mode == "queued" and self._running:
            self._running[0].go_on()

    def clear(self) -> None:
        """Stop all runs."""
        for run in self._running:
            run.stop()
        self._running.clear()


class _Progress:
    """One run."""

    def __init__(self, home: PastHome, runs: Runs, delays: Iterator[float | None]) -> None:
        """Take its delays."""
        from homeassistant.util import dt as dt_util

        self.since = dt_util.as_local(home.clock.moment)
        self._home = home
        self._runs = runs
        self._delays = delays
        self._timer: PastTimer | None = None

    def go_on(self) -> None:
        """Go on until the next delay."""
        for seconds in self._delays:
            if seconds is None:
                break  # how long it waits is not known: nothing is held back because of it
            if seconds > 0:
                self._timer = self._home.clock.call_later(seconds, self.go_on)
                return
        self._runs.ended(self)

    def stop(self) -> None:
        """End it."""
        if self._timer is not None:
            self._timer.cancel()
