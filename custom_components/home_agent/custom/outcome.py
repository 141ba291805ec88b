"""What a tool makes of an answer: the owner's template, a path into it, or all of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import probatio

from ..outside.mask import Mask
from ..safety.permission import check_permission
from ..safety.plan import ActionClass, Plan
from ..turn import Turn
from .definition import Kit
from .reply import Path, at_path, bounded, path_from_text
from .templates import Text, Values

RESPONSE = "response"
STATUS = "status"
OUTCOME = {
    probatio.Exclusive(RESPONSE, "outcome"): str,
    probatio.Exclusive("response_path", "outcome"): str,
}
"""Its keys in a handler."""


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
        # An answer may lead the template to an entity that nobody asked for.
        check_permission(hass, turn.user, Plan(action=ActionClass.READ, targets=tuple(sorted(values.entities))))
        return bounded(mask.json(result))


def outcome_from(handler: Mapping[str, Any], kit: Kit, names: Collection[str]) -> Outcome:
    """Read the keys of `OUTCOME`. Raises `CustomToolError`."""
    if RESPONSE in handler:
        at = ("handler", RESPONSE)
        return Outcome(template=kit.templates.compile(handler[RESPONSE], {*names, RESPONSE, STATUS}, at))
    return Outcome(path=path_from_text(handler.get("response_path", ""), ("handler", "response_path")))
