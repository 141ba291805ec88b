"""Home Assistant's tools that read one calendar or one to-do list by its name."""

from dataclasses import replace
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent, llm

from ..const import ASSISTANT
from ..safety.permission import is_exposed, may_know
from ..safety.plan import Plan
from ..turn import Turn
from .intents import no_match
from .tool import ForeignTool

PARAMETERS = {"calendar__get_events": ("calendar", "calendar"), "todo__get_items": ("todo_list", "todo")}
"""Where each tool takes the name, and the kind of entity that has it."""


class ForeignList(ForeignTool):
    """A tool for what is in a list.

    Its schema names everything that Home Assistant exposes, whatever the user may read and whatever is shared with us; so that
    goes neither to a model nor into an error.
    """

    def __init__(self, tool: llm.Tool, instance: llm.APIInstance, name: str, guide: str | None = None) -> None:
        """Wrap a tool whose name is in `PARAMETERS`."""
        super().__init__(tool, instance, name, guide)
        self._parameter, self._domain = PARAMETERS[tool.name]
        properties: dict[str, dict[str, Any]] = self.wire_parameters["properties"]  # type: ignore[assignment]
        properties[self._parameter].pop("enum", None)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entity that the name stands for as the target. Raises `ToolRefusal` when there is none to know of."""
        asked = str(args.get(self._parameter, ""))
        wanted = intent.MatchTargetsConstraints(name=asked, domains=[self._domain], assistant=ASSISTANT)
        found = next(iter(intent.async_match_targets(hass, wanted).states), None)  # the tool takes the first as well
        if found is None or not is_exposed(hass, found.entity_id) or not may_know(turn.user, found.entity_id):
            raise no_match({self._parameter: asked})
        plan = await super().plan(hass, args, turn)
        return replace(plan, targets=(found.entity_id, *plan.targets))
