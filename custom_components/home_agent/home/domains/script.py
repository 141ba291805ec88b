"""What the owner made: scenes, scripts, automations.

A script or a scene may reach entities that are not exposed: the owner exposed the script, and with it what it does. Its
variables may not: each one that names an entity counts as a target.
"""

from collections.abc import Sequence

from homeassistant.const import STATE_OFF
from homeassistant.core import State
from homeassistant.helpers.service import async_get_cached_service_description
from homeassistant.util.json import JsonValueType

from ...support.errors import ToolRefusal
from ...turn.plan import DESTRUCTIVE
from ..domain import SWITCHED, SWITCHED_BACK, Action, Domain, Field, Logged, Step, Subject, at, plain
from ..parameters import number, text

_RUN = {"run": "turn_on", "start": "turn_on", "execute": "turn_on"}


def _run(subject: Subject, action: str, given: dict[str, object]) -> Sequence[Step] | None:
    """Start the script with the variables that its owner declared as fields."""
    variables = given.get("variables", given)
    if _RUN.get(action, action) != "turn_on" or not given:
        return None
    if not isinstance(variables, dict):
        raise ToolRefusal("variables of a script have to be an object.")
    name = subject.state.entity_id.partition(".")[2]
    description = async_get_cached_service_description(subject.hass, "script", name) or {}
    declared = list(description.get("fields") or {})
    if unknown := sorted(set(variables) - set(declared)):
        allowed = ", ".join(declared) or "none"
        raise ToolRefusal(f"{subject.state.entity_id} does not know {', '.join(unknown)}. Its parameters: {allowed}.")
    return [Step("turn_on", {"variables": {name: _plain(value, subject) for name, value in variables.items()}})]


def _plain(value: object, subject: Subject) -> JsonValueType:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, subject) for item in value]
    return text(value, subject)


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
        destructive=frozenset({"apply", "create"}),
    ),
    "script": Domain(
        actions=plain("turn_on", "turn_off", "toggle"),
        on=("turn_on",),
        off=("turn_off",),
        toggle=("toggle",),
        words={**_RUN, "stop": "turn_off"},
        build=_run,
        has_members=False,
        is_runner=True,
        attributes=("last_triggered",),
        logged=Logged.ALWAYS,
        goals={"turn_off": at("off")},
    ),
    "automation": Domain(
        actions=plain("turn_on", "turn_off", "toggle"),
        on=("turn_on",),
        off=("turn_off",),
        toggle=("toggle",),
        words={"enable": "turn_on", "disable": "turn_off"},
        has_members=False,
        attributes=("last_triggered",),
        logged=Logged.ALWAYS,
        goals=SWITCHED,
        back=SWITCHED_BACK,
        sensitive=_disables,
    ),
}
