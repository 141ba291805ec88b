"""Handler `template`: the owner's Jinja, with the arguments as values (S1-205)."""

from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import probatio

from ...turn.plan import Plan
from ...turn.turn import Turn
from ..sanitize import bounded
from .definition import CustomTool, Definition, ToolContext
from .templates import Values


class TemplateTool(CustomTool):
    """Computes an answer."""

    schema = probatio.Schema({probatio.Required("type"): "template", probatio.Required("template"): str})

    def __init__(self, definition: Definition, tool_context: ToolContext) -> None:
        """Compile the template."""
        super().__init__(definition, tool_context, reads=True, idempotent=True)
        self._template = tool_context.templates.compile(
            definition.handler["template"], definition.names, ("handler", "template")
        )

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities to which the arguments lead the template."""
        self.check_current()
        values = Values(args)
        with self.led_astray(values):
            self._template.value(values)
        return self.plan_for(values)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return what the template makes, without secrets."""
        values = Values(args)
        result = self._template.value(values)
        self.check_reached(values, plan)
        return bounded(self._tool_context.secrets.mask.json(result))
