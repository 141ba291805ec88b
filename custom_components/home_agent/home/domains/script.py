"""What the owner made: scenes, scripts, automations.

A script or a scene may reach entities that are not exposed: the owner exposed the script, and with it what it does. Its
variables may not: each one that names an entity counts as a target. So it is with an automation that is run: it does what a
script does, unless it is disabled or its conditions hold it back. They are a part of what its owner wrote.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from homeassistant.const import ATTR_MODE, STATE_OFF, STATE_ON
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.script import ATTR_CUR, ATTR_MAX, SCRIPT_MODE_RESTART
from homeassistant.helpers.service import async_get_cached_service_description
from homeassistant.util.json import JsonObjectType, JsonValueType

from ...support.errors import DidNotRun, ToolRefusal
from ...turn.plan import DESTRUCTIVE
from ..domain import Action, Domain, Field, Logged, Run, ServiceStep, Subject
from ..parameters import number, text
from ..records import SWITCHABLE, at

_RUN = {"run": "turn_on", "start": "turn_on", "execute": "turn_on"}
TRIGGER = "trigger"
_RUN_NOW = dict.fromkeys(_RUN, TRIGGER)
_SKIPS = "skip_condition"
_RUN_DATA: Mapping[str, JsonValueType] = {_SKIPS: False}


def _run(subject: Subject, action: str, given: dict[str, object]) -> Sequence[ServiceStep] | None:
    """Start the script with the variables that its owner declared as fields; never without one that they require."""
    variables, entity_id = given.get("variables", given), subject.state.entity_id
    declared, needed = fields_of(subject.hass, entity_id), required_fields(subject.hass, entity_id)
    if _RUN.get(action, action) != "turn_on" or not (given or needed):
        return None
    if not isinstance(variables, dict):
        raise ToolRefusal("variables of a script have to be an object.")
    allowed = ", ".join(declared) or "none"
    if unknown := sorted(set(variables) - set(declared)):
        raise ToolRefusal(f"{entity_id} does not know {', '.join(unknown)}. Its parameters: {allowed}.")
    variables = {key: row["default"] for key, row in needed.items() if "default" in row} | variables
    if missing := [key for key in needed if key not in variables]:
        raise ToolRefusal(f"{entity_id} does not start without {', '.join(missing)}. Its parameters: {allowed}.")
    return [ServiceStep("turn_on", {"variables": {name: _plain(value, subject) for name, value in variables.items()}})]


def fields_of(hass: HomeAssistant, entity_id: str) -> Mapping[str, Any]:
    """Return the fields of a script as its owner declares them now, by their keys."""
    description = async_get_cached_service_description(hass, "script", entity_id.partition(".")[2]) or {}
    return description.get("fields") or {}


def required_fields(hass: HomeAssistant, entity_id: str) -> dict[str, Mapping[str, Any]]:
    """Return those of the fields of a script without which it is not to be started; some have a `default`."""
    return {
        key: row for key, row in fields_of(hass, entity_id).items() if isinstance(row, dict) and row.get("required")
    }


def _plain(value: object, subject: Subject) -> JsonValueType:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, subject) for item in value]
    return text(value, subject)


def _is_enabled(subject: Subject) -> bool:
    return subject.state.state != STATE_OFF


def _trigger(subject: Subject, action: str, _given: dict[str, object]) -> None:
    """Refuse to run what its owner has disabled; all else is planned by the table."""
    if _RUN_NOW.get(action, action) == TRIGGER and (refusal := _disabled(subject.state, _RUN_DATA)) is not None:
        raise refusal


def _disabled(state: State, data: Mapping[str, Any]) -> DidNotRun | None:
    """Return the refusal to run what its owner has disabled, unless the owner says to pass over what holds it back."""
    if state.state != STATE_OFF or data.get(_SKIPS) is not False:
        return None
    sentence = f"{state.entity_id} is disabled and was not run. Enable it with turn_on first, if the user wants that."
    return DidNotRun(sentence, "automation_disabled", state.name)


def _held_back(before: State) -> DidNotRun:
    """Return why an automation did not run although it was called. Home Assistant does not report it."""
    runs, mode = before.attributes.get(ATTR_CUR), before.attributes.get(ATTR_MODE)
    most = before.attributes.get(ATTR_MAX, 1)
    if isinstance(runs, int) and isinstance(most, int) and runs >= most and mode != SCRIPT_MODE_RESTART:
        return DidNotRun("It was not started again, because it is still running.", "automation_busy", before.name)
    return DidNotRun("It did not run, because its conditions are not met.", "automation_held_back", before.name)


def _way_to_run(state: State) -> JsonObjectType:
    """Return how an automation is run: its state only says whether it waits for its triggers."""
    if state.state != STATE_ON:
        return {}
    return {"to_run": {"action": "set_value", "parameters": {"command": TRIGGER}}}


def _disables(state: State | None, service: str, _data: object) -> str | None:
    """Return the reason where it turns an automation off; a toggle does unless it is known to be off."""
    is_off = state is not None and state.state == STATE_OFF
    return DESTRUCTIVE if service == "turn_off" or (service == "toggle" and not is_off) else None


DOMAINS = {
    "scene": Domain(
        actions={"turn_on": Action("turn_on", fields={"transition": Field(number(0, 300))})},
        on=("turn_on",),
        words={"activate": "turn_on"},
        has_members=False,
        is_runner=True,
        logged=Logged.ALWAYS,
        comes_to=lambda _state, service, _data: ("turn_on",) if service == "apply" else (),
        destructive=frozenset({"apply", "create"}),
        state_is_told=False,
        acts_unseen=True,
    ),
    "script": replace(
        SWITCHABLE,
        words={**_RUN, "stop": "turn_off"},
        build=_run,
        has_members=False,
        is_runner=True,
        attributes=("last_triggered",),
        logged=Logged.ALWAYS,
        goals={"turn_off": at("off")},
        back={},
        told_as=frozenset(),
        state_is_told=False,
        acts_unseen=True,
        becomes={"running": ("on",), "done": ("off",)},
    ),
    "automation": replace(
        SWITCHABLE,
        actions={
            **SWITCHABLE.actions,
            TRIGGER: Action(TRIGGER, when=_is_enabled, data=lambda _: _RUN_DATA),
        },
        words={"enable": "turn_on", "disable": "turn_off", **_RUN_NOW},
        build=_trigger,
        has_members=False,
        runs={TRIGGER: Run(_disabled, _held_back)},
        attributes=("last_triggered",),
        computed=_way_to_run,
        logged=Logged.ALWAYS,
        sensitive=_disables,
        told_as=frozenset(),
        acts_unseen=True,
    ),
}
