"""What the owner made: scenes, scripts, automations.

A script or a scene may reach entities that are not exposed: the owner exposed the script, and with it what it does. Its
variables may not: each one that names an entity counts as a target.
"""

from collections.abc import Sequence

from homeassistant.helpers.service import async_get_cached_service_description
from homeassistant.util.json import JsonValueType

from ...safety.tool import ToolRefusal
from ..parameters import number, text
from ..spec import Action, Domain, Field, Step, Subject

SCENE = Domain(
    actions=(Action(service="turn_on", fields={"transition": Field(number(0, 300))}),),
    on=("turn_on",),
    words={"activate": "turn_on"},
)

AUTOMATION = Domain(
    actions=(Action(service="turn_on"), Action(service="turn_off"), Action(service="toggle")),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    words={"enable": "turn_on", "disable": "turn_off"},
)


_RUN = {"run": "turn_on", "start": "turn_on", "execute": "turn_on"}


def _run(subject: Subject, action: str, given: dict[str, object]) -> Sequence[Step] | None:
    """Start the script with the variables that its owner declared as fields."""
    variables = given.get("variables", given)
    if _RUN.get(action, action) != "turn_on" or not given:
        return None
    if not isinstance(variables, dict):
        raise ToolRefusal("variables of a script have to be an object.")
    declared = script_fields(subject)
    if unknown := sorted(set(variables) - set(declared)):
        allowed = ", ".join(declared) or "none"
        raise ToolRefusal(f"{subject.state.entity_id} does not know {', '.join(unknown)}. Its parameters: {allowed}.")
    return [Step("turn_on", {"variables": {name: _plain(value, subject) for name, value in variables.items()}})]


def script_fields(subject: Subject) -> list[str]:
    """Return the names of the fields that the script's owner declared."""
    name = subject.state.entity_id.partition(".")[2]
    description = async_get_cached_service_description(subject.hass, "script", name) or {}
    return list(description.get("fields") or {})


def _plain(value: object, subject: Subject) -> JsonValueType:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item, subject) for item in value]
    return text(value, subject)


SCRIPT = Domain(
    actions=(Action(service="turn_on"), Action(service="turn_off"), Action(service="toggle")),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
    words={**_RUN, "stop": "turn_off"},
    build=_run,
)
