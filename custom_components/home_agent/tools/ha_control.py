"""`ha_control`: change something in the house (S1-37)."""

from collections.abc import Iterable, Mapping
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, json_loads_object
import orjson
import probatio

from ..safety.plan import ActionClass, Plan, ServiceCall
from ..safety.tool import HomeAgentTool, ToolRefusal
from ..safety.write import Made
from ..slices import in_slices
from ..turn import Turn
from .arguments import LenientSchema, action, entity_ids, json_object
from .broad_ids import refuse_broad_ids
from .capabilities import is_controllable, service_calls
from .execute import async_execute
from .groups import reached_members
from .mentioned import variables_name
from .names import HomeSource, Names
from .parameters import refuse_targets
from .sensitive import sensitivities
from .targets import Found, Targets

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "description": "The action to perform (e.g., 'turn_on', 'turn_off', 'set_temperature')",
            "enum": ["turn_on", "turn_off", "toggle", "set_value"],
        },
        "entity_id": {
            "type": "string",
            "description": "The entity ID to control (e.g., 'light.living_room')",
        },
        "parameters": {
            "type": "object",
            "description": "Additional parameters for the action (e.g., brightness, temperature)",
        },
    },
    "required": ["action", "entity_id"],
}


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Move parameters that stand beside `parameters` into it."""
    known = {key: value for key, value in data.items() if key in ("action", "entity_id")}
    beside = {key: value for key, value in data.items() if key not in ("action", "entity_id", "parameters")}
    try:
        refuse_targets(beside)
    except ToolRefusal as err:
        raise probatio.Invalid(str(err)) from err
    return {**known, "parameters": {**beside, **json_object(data.get("parameters"))}}


class HaControl(HomeAgentTool):
    """Turns things on and off and sets them."""

    name = "ha_control"
    title = "Control the house"
    description = "Control Home Assistant devices and services. Use this to turn on/off lights, adjust thermostats, lock doors, etc."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    parameters = LenientSchema(
        {
            probatio.Required("action"): action,
            probatio.Required("entity_id"): entity_ids,
            probatio.Required("parameters"): json_object,
        },
        _tidy,
    )
    wire_parameters = WIRE

    def __init__(self, home: HomeSource) -> None:
        """Take where the exposed home is read."""
        self._names = Names(home)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the service calls; raises `ToolRefusal` for unknown targets and what they cannot do."""
        wanted, given = args["action"], args["parameters"]

        def able(entity_id: str) -> bool:
            try:
                return bool(service_calls(hass, wanted, entity_id, given))
            except ToolRefusal:
                return False

        targets = Targets(
            hass=hass,
            names=self._names,
            area_id=turn.area_id,
            able=able,
            user=turn.user,
            plain_only=wanted != "set_value",
        )
        calls: list[ServiceCall] = []
        for found in await targets.async_find_all(args["entity_id"]):
            calls += await _async_calls_for(hass, wanted, found, given)
        return await async_plan_of(hass, calls)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> Made:
        """Make the calls; the result tells the states they led to. Raises when not one of them worked."""
        return await async_execute(hass, plan.calls, turn.context)


async def _async_calls_for(
    hass: HomeAssistant, wanted: str, found: Found, given: Mapping[str, object]
) -> list[ServiceCall]:
    """Return the calls for one text of the model; of a broad one, for those entities that can do it."""
    calls: list[ServiceCall] = []
    refused: ToolRefusal | None = None
    async for entity_id in in_slices(found.entity_ids):
        try:
            reached_members(hass, entity_id)  # of a group that is only its members' the calls do not tell
            calls += service_calls(hass, wanted, entity_id, given)
        except ToolRefusal as err:
            if not found.broad:
                raise
            refused = refused or (err if is_controllable(entity_id) else None)
    if not calls:
        raise refused or ToolRefusal(f"Nothing that matches '{found.text}' can be controlled.")
    return calls


async def async_plan_of(hass: HomeAssistant, calls: Iterable[ServiceCall]) -> Plan:
    """Return the plan: equal calls on several entities as one, in the order of their first.

    Besides what is called, its targets are the members of groups and the entities that the variables of scripts name: a
    script may not be sent to what is not exposed.
    """
    targets: dict[str, None] = {}
    merged: dict[tuple[str, str, bytes], dict[str, None]] = {}
    reasons: dict[str, None] = {}
    sensitive: dict[str, None] = {}
    async for call in in_slices(calls):
        key = (call.domain, call.service, orjson.dumps(dict(call.data), option=orjson.OPT_SORT_KEYS))
        merged.setdefault(key, {}).update(dict.fromkeys(call.entity_ids))
        targets |= dict.fromkeys((*call.entity_ids, *_behind(hass, call), *_named_in(hass, call)))
        if why := tuple(sensitivities(hass, call)):
            reasons |= dict.fromkeys(why)
            sensitive |= dict.fromkeys(call.entity_ids)
    return Plan(
        action=ActionClass.SENSITIVE if reasons else ActionClass.WRITE,
        targets=tuple(targets),
        calls=tuple(
            ServiceCall(domain=domain, service=service, entity_ids=tuple(entity_ids), data=json_loads_object(data))
            for (domain, service, data), entity_ids in merged.items()
        ),
        reason=next(iter(reasons), None),
        reasons=tuple(reasons),
        sensitive=tuple(sensitive),
    )


def _behind(hass: HomeAssistant, call: ServiceCall) -> Iterable[str]:
    return (member for entity_id in call.entity_ids for member in reached_members(hass, entity_id))


def _named_in(hass: HomeAssistant, call: ServiceCall) -> Iterable[str]:
    variables = call.data.get("variables")
    refuse_broad_ids(hass, variables)
    return variables_name(hass, variables)
