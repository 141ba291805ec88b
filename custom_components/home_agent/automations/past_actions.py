"""What the actions of an automation do to the time a run takes: delays, waits, repeats, and conditions that end it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
import re
from typing import Any

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.components.homeassistant import DOMAIN as HOMEASSISTANT
from homeassistant.components.script import DOMAIN as SCRIPT
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, TemplateError
from homeassistant.helpers import config_validation as cv, entity_registry as er
from homeassistant.helpers.condition import async_template
from homeassistant.helpers.entity_component import EntityComponent
from homeassistant.helpers.script import CONFIGURATION_ERRORS, Script
from homeassistant.helpers.script_variables import ScriptRunVariables, ScriptVariables
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import Template, render_complex
import probatio

from .past import NotReplayable, PastHome
from .past_answers import PastCondition
from .past_conditions import async_past_condition
from .past_itself import PastItself
from .past_questions import calls_in, decisive
from .past_waits import CalledScript, Delay, Endless, Runs, Together, Unknown, Until, Wait
from .rendering import templates_in
from .targets import PLACES
from .watched import is_waiting

MAX_REPEATS = 10_000
ERRORS_OF_STEPS = (HomeAssistantError, probatio.Invalid, KeyError, TypeError)
_CONTROLS = frozenset({"turn_on", "turn_off", "toggle", "trigger", "reload"})
_TARGETS = ("entity_id", *PLACES)
_OF_ITSELF = re.compile(r"\b(this|context|last_reported)\b")
"""In a template of a script: what a replay does not know of it."""
MAX_TEMPLATE_SECONDS = 1
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
    calls: PastCalls | None = None
    """What knows the scripts that it calls; None if it calls nothing that matters."""

    @property
    def takes_time(self) -> bool:
        """Whether a run may wait in it, or be ended by it from outside."""
        inner = [*self.otherwise, *(step for _, steps in self.branches for step in steps)]
        return self.calls is not None or is_waiting([self.config]) or any(step.takes_time for step in inner)


async def async_steps(calls: PastCalls, actions: Sequence[Any], path: str = "actions") -> list[PastStep]:
    """Return actions, normalized by Home Assistant, as steps. Raises `NotReplayable` for a condition that cannot be checked."""
    return [await _async_step(calls, action, f"{path}[{number}]") for number, action in enumerate(actions)]


async def _async_conditions(home: PastHome, configs: object, path: str) -> list[PastCondition]:
    listed = configs if isinstance(configs, list) else [configs]
    return [await async_past_condition(home, config, path) for config in listed]


async def _async_step(calls: PastCalls, action: Any, path: str) -> PastStep:
    home = calls.home
    if isinstance(action, Template) or (isinstance(action, Mapping) and "condition" in action):
        enabled = action.get("enabled", True) if isinstance(action, Mapping) else True
        conditions = await _async_conditions(home, [action], path)
        return PastStep(config={"condition": True, "enabled": enabled}, path=path, home=home, conditions=conditions)
    step = PastStep(config=home.rebound(action), path=path, home=home)
    if "choose" in action:
        step.branches = [
            (
                await _async_conditions(home, one["conditions"], f"{path}.choose[{number}].conditions"),
                await async_steps(calls, one["sequence"], f"{path}.choose[{number}].sequence"),
            )
            for number, one in enumerate(action["choose"])
        ]
        step.otherwise = await async_steps(calls, action.get("default") or (), f"{path}.default")
    elif "if" in action:
        conditions = await _async_conditions(home, action["if"], f"{path}.if")
        step.branches = [(conditions, await async_steps(calls, action["then"], f"{path}.then"))]
        step.otherwise = await async_steps(calls, action.get("else") or (), f"{path}.else")
    elif "sequence" in action:
        step.branches = [((), await async_steps(calls, action["sequence"], f"{path}.sequence"))]
    elif "parallel" in action:
        step.branches = [
            ((), await async_steps(calls, one["sequence"], f"{path}.parallel[{number}].sequence"))
            for number, one in enumerate(action["parallel"])
        ]
    elif "action" in action:
        step.calls = calls if await calls.async_prepare(step.config) else None
    elif "repeat" in action:
        repeat = action["repeat"]
        step.branches = [((), await async_steps(calls, repeat["sequence"], f"{path}.repeat.sequence"))]
        listed = repeat.get("while") or repeat.get("until") or []
        step.conditions = await _async_conditions(home, listed, f"{path}.repeat")
    return step


def waits(steps: Sequence[PastStep], variables: Mapping[str, Any]) -> Iterator[Wait]:
    """Yield what a run waits for, one after the other. Raises what ends it before its end."""
    with suppress(_Stop):
        yield from _sequence(steps, ScriptRunVariables.create_top_level(dict(variables)))


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
        except HomeAssistantError as err:
            if isinstance(err, CONFIGURATION_ERRORS) or not step.config.get("continue_on_error"):
                raise


def _nested(steps: Sequence[PastStep], variables: ScriptRunVariables, *, is_parallel: bool = False) -> Iterator[Wait]:
    """Yield the waits of a sequence in another one: what it sets alone is gone after it."""
    yield from _sequence(steps, variables.enter_scope(parallel=is_parallel))


def _are_true(conditions: Sequence[PastCondition], variables: Mapping[str, Any]) -> bool:
    return all(condition.check(variables).result is not False for condition in conditions)


def _seconds(value: object, variables: ScriptRunVariables) -> float:
    try:
        found: float = cv.positive_time_period(render_complex(value, variables)).total_seconds()
    except (TemplateError, probatio.Invalid) as err:
        raise _Stop from err  # no error for what has called it
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
    elif step.calls is not None:
        yield from step.calls.waits(config, variables, step.path)
    elif "repeat" in config:
        yield from _repeat(step, variables.enter_scope())
    elif "parallel" in config:
        together = Together([_nested(branch, variables, is_parallel=True) for _, branch in step.branches])
        yield together
        if together.error is not None:
            raise together.error
    else:
        yield from _chosen(step, variables)


def _chosen(step: PastStep, variables: ScriptRunVariables) -> Iterator[Wait]:
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
    try:
        if "count" in repeat:
            return range(min(int(float(render_complex(repeat["count"], variables))), MAX_REPEATS))
        if "for_each" in repeat:
            found = render_complex(repeat["for_each"], variables)
            if not isinstance(found, list):
                raise _Stop
            return found[:MAX_REPEATS]
    except (TemplateError, ValueError, TypeError) as err:
        raise _Stop from err
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


@dataclass(slots=True, kw_only=True)
class _Script:
    """A script, or another automation, that actions call."""

    runs: Runs | None = None
    """None if its runs end at once, or cannot be followed."""
    why: str = ""
    """Why they cannot be followed; empty if they can."""


class PastCalls:
    """What actions call that decides how long a run takes, or ends it: scripts, other automations, the automation itself."""

    def __init__(
        self, hass: HomeAssistant, home: PastHome, itself: PastItself, turn_off: Callable[[bool], None]
    ) -> None:
        """Take the automation, and what is called with whether its runs are stopped, too, when it turns itself off."""
        self.home = home
        self.root: Runs | None = None
        """The runs of the automation."""
        self._hass = hass
        self._itself = itself
        self._turn_off = turn_off
        self._scripts: dict[str, _Script] = {}
        self._reading: list[str] = []

    async def async_prepare(self, config: Mapping[str, Any]) -> bool:
        """Look up what an action calls, and return whether that may decide how long a run takes."""
        called = config["action"]
        if isinstance(called, Template):
            return True
        domain, _, action = str(called).partition(".")
        if domain == SCRIPT and action not in _CONTROLS:
            return await self._async_read(str(called))
        if domain not in (SCRIPT, AUTOMATION, HOMEASSISTANT) or action not in _CONTROLS:
            return False
        named = [*_written_targets(config)]
        slow = [await self._async_read(one) for one in named if one.partition(".")[0] in (SCRIPT, AUTOMATION)]
        if domain != HOMEASSISTANT and not named:
            return True  # all of them, or those of a template, an area or a label
        is_open = any("{" in one or one.partition(".")[0] in ("all", "group") for one in named) or _has_places(config)
        return any(slow) or self._itself.entity_id in named or is_open

    async def _async_read(self, entity_id: str) -> bool:
        """Look up a script, and return whether it takes time."""
        if entity_id in self._reading:
            self._scripts[entity_id] = _Script(why=f"{entity_id} calls itself")
            return True
        if (known := self._scripts.get(entity_id)) is not None:
            return known.runs is not None or bool(known.why)
        component = self._hass.data.get(entity_id.partition(".")[0])
        entity = component.get_entity(entity_id) if isinstance(component, EntityComponent) else None
        script = getattr(entity, "script", None) or getattr(entity, "action_script", None)
        if not isinstance(script, Script) or entity_id == self._itself.entity_id:
            return False
        self._reading.append(entity_id)
        found = self._scripts.get(entity_id) or await self._async_script(entity_id, script)
        self._reading.pop()
        found = self._scripts.setdefault(entity_id, found)
        return found.runs is not None or bool(found.why)

    async def _async_script(self, entity_id: str, script: Script) -> _Script:
        try:
            steps = await async_steps(self, script.sequence, entity_id)
        except ERRORS_OF_STEPS as err:
            if not is_waiting(script.sequence) and not calls_in(script.sequence):
                return _Script()
            why = str(err) if isinstance(err, NotReplayable) else type(err).__name__
            return _Script(why=f"how long {entity_id} runs is not known: {why}")
        if not any(step.takes_time for step in steps):
            return _Script()
        if any(_OF_ITSELF.search(one.template) for one in templates_in([decisive(script.sequence), script.variables])):
            return _Script(why=f"how long {entity_id} runs is not known: it asks for itself")
        for template in templates_in([script.sequence, script.variables]):
            if await self.home.async_is_slow(template, MAX_TEMPLATE_SECONDS):
                return _Script(why=f"a template of {entity_id} takes longer than {MAX_TEMPLATE_SECONDS} s")
        given = self.home.rebound(script.variables)

        def begin(variables: Mapping[str, Any]) -> Iterator[Wait]:
            known = given.async_render(self.home, variables) if isinstance(given, ScriptVariables) else variables
            return waits(steps, known)

        return _Script(runs=Runs(self.home, begin, script.script_mode, script.max_runs, root=self.root))

    def clear(self) -> None:
        """Stop all that were called."""
        for script in self._scripts.values():
            if script.runs is not None:
                script.runs.clear()

    def waits(self, config: Mapping[str, Any], variables: ScriptRunVariables, path: str) -> Iterator[Wait]:
        """Yield what a run waits for in a call."""
        called = config["action"]
        if isinstance(called, Template):
            called = called.async_render(variables)
        domain, _, action = str(called).partition(".")
        if domain == SCRIPT and action not in _CONTROLS:
            yield from self._run(str(called), lambda: _data(config, variables), path)
            return
        if domain not in (SCRIPT, AUTOMATION, HOMEASSISTANT) or action not in _CONTROLS:
            return
        for entity_id in sorted(self._targets(config, variables)):
            kind = entity_id.partition(".")[0]
            if kind == SCRIPT and domain in (SCRIPT, HOMEASSISTANT):
                yield from self._switch(entity_id, action, config, variables, path)
            elif kind == AUTOMATION and domain == AUTOMATION and action == "trigger":
                if entity_id == self._itself.entity_id:
                    yield Unknown(path, "it triggers itself")
                yield from self._run(entity_id, lambda: _data(config, variables).get("variables") or {}, path)
            elif entity_id == self._itself.entity_id and action in ("turn_off", "toggle"):
                stops = _data(config, variables).get("stop_actions", True)
                self._turn_off(bool(stops))
                if stops:
                    raise _Stop

    def _switch(
        self, entity_id: str, action: str, config: Mapping[str, Any], variables: ScriptRunVariables, path: str
    ) -> Iterator[Wait]:
        """Start or stop a script; nothing is waited for."""
        script = self._scripts.get(entity_id)
        is_running = script is not None and script.runs is not None and script.runs.is_running
        if action == "turn_off" or (action == "toggle" and is_running):
            if script is not None and script.runs is not None:
                script.runs.clear()
        else:
            given = lambda: _data(config, variables).get("variables") or {}  # noqa: E731
            yield from self._run(entity_id, given, path, is_waited=False)

    def _run(
        self, entity_id: str, given: Callable[[], Mapping[str, Any]], path: str, *, is_waited: bool = True
    ) -> Iterator[Wait]:
        """Start a script, and yield what is waited for; what it is given is rendered only if it takes time."""
        script = self._scripts.get(entity_id)
        if script is None and self._hass.states.get(entity_id) is not None:
            script = _Script(why=f"how long {entity_id} runs is not known")
        if script is not None and script.why and is_waited:
            yield Unknown(path, script.why)
        if script is None or script.runs is None:
            return
        called = CalledScript(script.runs, given())
        if not is_waited:
            called.begin(script.runs, lambda: None)
            return
        yield called
        if called.error is not None:
            raise called.error

    def _targets(self, config: Mapping[str, Any], variables: ScriptRunVariables) -> set[str]:
        """Return the scripts and automations that an action is for."""
        target = render_complex(config.get("target") or {}, variables)
        found = dict(target) if isinstance(target, Mapping) else {}
        found |= {key: value for key, value in _data(config, variables).items() if key in _TARGETS}
        entity_ids = config.get("entity_id") or found.get("entity_id")
        known = {*self._scripts, self._itself.entity_id}
        if entity_ids == "all":
            return known
        listed = entity_ids.split(",") if isinstance(entity_ids, str) else entity_ids or []
        registry = er.async_get(self._hass)
        found["entity_id"] = [er.async_resolve_entity_id(registry, str(one).strip()) or one for one in listed]
        selected = async_extract_referenced_entity_ids(self._hass, TargetSelection(found))
        return selected.referenced | selected.indirectly_referenced


def _data(config: Mapping[str, Any], variables: ScriptRunVariables) -> Mapping[str, Any]:
    found = render_complex({**(config.get("data_template") or {}), **(config.get("data") or {})}, variables)
    return found if isinstance(found, Mapping) else {}


def _written_targets(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the entities that an action names, templates as their texts."""
    for place in (config, config.get("target"), config.get("data")):
        named = place.get("entity_id") if isinstance(place, Mapping) else place if isinstance(place, Template) else None
        for one in named if isinstance(named, list | tuple) else [named] if named else []:
            yield one.template if isinstance(one, Template) else str(one)


def _has_places(config: Mapping[str, Any]) -> bool:
    """Return whether an action is for all of an area, a floor, a label or a device."""
    return any(
        isinstance(place, Mapping) and any(place.get(key) for key in PLACES)
        for place in (config.get("target"), config.get("data"))
    )
