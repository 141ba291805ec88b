"""Handler `template`: the owner's Jinja, with the arguments as values (S1-205)."""

from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import probatio

from ..safety.plan import Plan
from ..turn import Turn
from .definition import CustomTool, Definition, Handler, Kit, annotations_of
from .reply import bounded
from .templates import Text, Values

SCHEMA = probatio.Schema({probatio.Required("type"): "template", probatio.Required("template"): str})


class TemplateTool(CustomTool):
    """Computes an answer."""

    def __init__(self, definition: Definition, kit: Kit, template: Text) -> None:
        """Take the template."""
        super().__init__(definition, annotations_of(definition, reads=True, idempotent=True))
        self._kit = kit
        self._template = template

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities to which the arguments lead the template."""
        self.check_current()
        values = Values(args)
        with self.led_astray(values):
            self._template.value(values)
        return Plan(action=self.action, targets=tuple(sorted(values.entities)), version=self.version)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return what the template makes, without secrets."""
        values = Values(args)
        result = self._template.value(values)
        self.check_reached(values, plan)
        return bounded(self._kit.secrets.mask.json(result))


def build(definition: Definition, kit: Kit) -> TemplateTool:
    """Make the tool. Raises `CustomToolError`."""
    at = ("handler", "template")
    return TemplateTool(definition, kit, kit.templates.compile(definition.handler["template"], definition.names, at))


HANDLER = Handler(schema=SCHEMA, build=build)
