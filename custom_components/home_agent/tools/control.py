"""`ha_control`: change states in the home."""

from collections.abc import Mapping
from typing import Any, override

from homeassistant.core import HomeAssistant, split_entity_id
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType
import probatio

from ..home.actions import (
    GROUP,
    is_controllable,
    is_switching,
    reached_members,
    refuse_targets,
    service_calls,
)
from ..home.snapshot import Home
from ..home.targets import Targets
from ..policy.write import EffectTool, PlanBuilder, with_variables
from ..support.errors import ToolRefusal
from ..turn.plan import Plan
from ..turn.turn import Turn
from .arguments import LenientSchema, action, entity_ids, json_object

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "description": "The action to perform (e.g., 'turn_on', 'turn_off', 'set_temperature')",
            "enum": ["turn_on", "turn_off", "toggle", "set_value"],
        },
        "entity_id": {"type": "string", "description": "The entity ID to control (e.g., 'light.living_room')"},
        "parameters": {
            "type": "object",
            "description": "Additional parameters for the action (e.g., brightness, temperature)",
        },
    },
    "required": ["action", "entity_id"],
}
WIRE_KEYS = ("action", "entity_id", "parameters")


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Move parameters beside `parameters` into it."""
    known = {key: value for key, value in data.items() if key in ("action", "entity_id")}
    beside = {key: value for key, value in data.items() if key not in WIRE_KEYS}
    try:
        refuse_targets(beside)
    except ToolRefusal as err:
        raise probatio.Invalid(str(err)) from err
    return {**known, "parameters": {**beside, **json_object(data.get("parameters"))}}


class HaControl(EffectTool):
    """Turns entities on and off and sets values."""

    name = "ha_control"
    title_key = "tool_ha_control"
    example = "Turn off the light in the kitchen."
    description = "Control Home Assistant devices and services. Use this to turn on/off lights, adjust thermostats, lock doors, etc."
    guide = (
        "ha_control changes things: turn_on, turn_off, toggle, set_value (with parameters such as brightness_pct, temperature, "
        "position, percentage, option, volume_level).\nLocks: turn_on locks, turn_off unlocks. Covers and valves: turn_on opens, "
        "turn_off closes."
    )
    guide_is_default = True
    guide_to_automations = " Automations: turn_on enables, set_value with command trigger runs."
    """Added to the guide if an automation is exposed, to save tokens elsewhere."""
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    parameters = LenientSchema(
        {
            probatio.Required("action"): action,
            probatio.Required("entity_id"): entity_ids,
            probatio.Optional("parameters", default=dict): json_object,
        },
        _tidy,
        WIRE_KEYS,
    )
    wire_parameters = WIRE

    def __init__(self, home: Home, *, automations: bool = False) -> None:
        """Take the exposed home, and whether to tell the model how to run an automation."""
        self._home = home
        if automations:
            self.guide = self.guide + self.guide_to_automations

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the service calls. Raises `ToolRefusal` for unknown targets and unsupported actions."""
        wanted, given = args["action"], args["parameters"]

        def able(entity_id: str) -> bool:
            try:
                return bool(service_calls(hass, wanted, entity_id, given))
            except ToolRefusal:
                return False

        targets = Targets(
            hass=hass,
            home=self._home,
            area_id=turn.area_id,
            able=able,
            user=turn.user,
            plain_only=is_switching(wanted, given),
        )
        builder = PlanBuilder(hass)
        for text in args["entity_id"]:
            found = await targets.async_find(text)
            can = False
            refused: ToolRefusal | None = None
            async for entity_id in found.each():
                try:
                    if split_entity_id(entity_id)[0] == GROUP:  # the calls have only its members
                        reached_members(hass, entity_id)
                    for call in service_calls(hass, wanted, entity_id, given):
                        builder.add(call)
                        can = True
                except ToolRefusal as err:
                    if not found.broad:
                        raise
                    refused = refused or (err if is_controllable(entity_id) else None)
            if not can:
                raise refused or ToolRefusal(f"Nothing that matches '{found.text}' can be controlled.")
        return with_variables(hass, builder.plan())
