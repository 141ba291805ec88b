"""What a tool makes of an answer: the owner's template, a path into it, or all of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
import re
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import probatio

from ...home.exposure import check_permission
from ...support.errors import CustomToolError
from ...support.secrets import Mask
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..sanitize import bounded
from .definition import ToolContext
from .templates import Text, Values

RESPONSE = "response"
STATUS = "status"
OUTCOME = {
    probatio.Exclusive(RESPONSE, "outcome"): str,
    probatio.Exclusive("response_path", "outcome"): str,
}
"""Its keys in a handler."""
_STEP = re.compile(r"""\.?([\w-]+|\*)|\[(-?\d+|\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")

type Path = tuple[str | int, ...]
"""The steps of a `response_path`; `*` is each item."""


def path_from_text(text: str, at: tuple[str | int, ...]) -> Path:
    """Read `$.items[0].name`. Raises `CustomToolError`."""
    steps: list[str | int] = []
    position = 1 if text.startswith("$") else 0
    while position < len(text):
        if not (step := _STEP.match(text, position)):
            raise CustomToolError("custom_tool_response_path", at, detail=text)
        position = step.end()
        name, index, *quoted = step.groups()
        if name is not None:
            steps.append(int(name) if name.isdecimal() else name)
        elif index is not None:
            steps.append(index if index == "*" else int(index))
        else:
            steps += [item for item in quoted if item is not None]
    return tuple(steps)


def at_path(value: JsonValueType, path: Path) -> JsonValueType:
    """Return what is at a path; null when there is nothing."""
    for index, step in enumerate(path):
        if step == "*":
            items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            return [at_path(item, path[index + 1 :]) for item in items]
        if isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        elif isinstance(value, dict) and str(step) in value:
            value = value[str(step)]
        else:
            return None
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Makes the result of a tool."""

    template: Text | None = None
    path: Path = ()

    def of(
        self,
        hass: HomeAssistant,
        turn: Turn,
        args: Mapping[str, object],
        answer: JsonValueType,
        status: int,
        mask: Mask,
    ) -> JsonValueType:
        """Return the result, without secrets and not too long for a model. Raises `ToolError`."""
        if self.template is None:
            return bounded(mask.json(at_path(answer, self.path)))
        values = Values({**args, RESPONSE: answer, STATUS: status})
        result = self.template.value(values)
        # An answer may lead the template to an entity that was not asked for.
        check_permission(hass, turn.user, Plan(action=ActionClass.READ, targets=tuple(sorted(values.entities))))
        return bounded(mask.json(result))


def outcome_from(handler: Mapping[str, Any], tool_context: ToolContext, names: Collection[str]) -> Outcome:
    """Read the keys of `OUTCOME`. Raises `CustomToolError`."""
    if RESPONSE in handler:
        at = ("handler", RESPONSE)
        return Outcome(template=tool_context.templates.compile(handler[RESPONSE], {*names, RESPONSE, STATUS}, at))
    return Outcome(path=path_from_text(handler.get("response_path", ""), ("handler", "response_path")))
