"""`automation_vocabulary`: what can trigger an automation, be a condition of it or be done by it, for a target."""

from collections.abc import Mapping, Sequence
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    floor_registry as fr,
    intent,
    label_registry as lr,
    llm,
)
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...automations.fields import LISTED_IN
from ...automations.vocabulary import KINDS, async_vocabulary, entities_in
from ...home.exposure import is_exposed
from ...home.foreign import async_reader
from ...home.snapshot import Home
from ...home.targets import Targets
from ...policy.tool import HomeAgentTool
from ...support.bounds import in_slices
from ...support.errors import ToolRefusal
from ...support.text import phrase
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema, entity_ids, text_list

MAX_NAME = 120  # characters
MAX_PLACES = 10
_LISTS = tuple(LISTED_IN.values())
"""Attributes whose values are told: what an entity can be."""
_PLACES = ("device_id", "area_id", "floor_id", "label_id")
_OLD_NAMES: Mapping[str, str] = {
    "area": "area_id", "device": "device_id", "entity": "entity_id", "floor": "floor_id", "kind": "kinds", "label": "label_id",
    "entity_ids": "entity_id", "entities": "entity_id", "area_ids": "area_id",
}  # fmt: skip
_KINDS: Mapping[str, str] = {
    **{kind: kind for kind in KINDS}, "trigger": "triggers", "condition": "conditions", "action": "actions", "service": "actions",
    "services": "actions",
}  # fmt: skip

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "entity_id": {"type": "string", "description": "Entity ids or names, separated by commas"},
        "device_id": {"type": "string", "description": "Device id or name"},
        "area_id": {"type": "string", "description": "Area id or name"},
        "floor_id": {"type": "string", "description": "Floor id or name"},
        "label_id": {"type": "string", "description": "Label id or name"},
        "kinds": {"type": "array", "items": {"type": "string", "enum": [*KINDS]}, "description": "Default: all three"},
        "name": {"type": "string", "description": "One of them in full, e.g. light.turned_on, or a domain, e.g. light"},
    },
}


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Move the contents of a target to the top, and give known fields their names."""
    target = data.get("target")
    inner = target if isinstance(target, Mapping) else {"entity_id": target} if target else {}
    tidied = {
        _OLD_NAMES.get(key, key): value for key, value in {**data, **inner}.items() if value not in (None, "", [])
    }
    known = {"entity_id", *_PLACES, "kinds", "name"}
    return {key: value for key, value in tidied.items() if key in known}


def _given(value: object) -> list[str]:
    return entity_ids(value) if value else []


def _kinds(value: object) -> list[str]:
    found = [_KINDS.get(one.casefold()) for one in text_list(value)]
    if None in found:
        raise probatio.Invalid(f"expected {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in found] or [*KINDS]


class AutomationVocabulary(HomeAgentTool):
    """Tells what can be written in an automation about a target."""

    name = "automation_vocabulary"
    title_key = "tool_automation_vocabulary"
    example = "What can start an automation when the garage door opens?"
    description = (
        "What this home offers for automations: triggers, conditions and actions for a target, with fields and examples. "
        "Call it before you write one. Without arguments: all names; with `name`: one in full."
    )
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = LenientSchema(
        {
            probatio.Optional("entity_id", default=list): _given,
            **{probatio.Optional(key, default=list): _given for key in _PLACES},
            probatio.Optional("kinds", default=lambda: [*KINDS]): _kinds,
            probatio.Optional("name", default=""): probatio.All(
                probatio.Coerce(str), probatio.Length(max=MAX_NAME), str.strip
            ),
        },
        _tidy,
    )
    wire_parameters = WIRE

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities that are named. Raises `ToolRefusal`, with near names, for those that do not exist."""
        targets = Targets(hass=hass, home=self._home, area_id=turn.area_id, user=turn.user)
        found: dict[str, None] = {}
        for text in args["entity_id"]:
            found |= dict.fromkeys((await targets.async_find(text)).entity_ids)
        return Plan(action=ActionClass.READ, targets=tuple(found), subject=args["name"])

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the bounded vocabulary. Raises `ToolRefusal` for a place or a name that does not exist."""
        target: dict[str, Sequence[str]] = {"entity_id": plan.targets} if plan.targets else {}
        for key in _PLACES:
            if args[key]:
                target[key] = [_place(hass, key, text) for text in args[key][:MAX_PLACES]]

        def knows(entity_id: str) -> bool:
            return is_exposed(hass, entity_id, turn.user)

        reader = await async_reader(hass, turn.user)
        async for entity_id in in_slices(entities_in(hass, target, knows)):
            if (state := hass.states.get(entity_id)) is not None:
                turn.record.taints |= reader.taints_of(state, _LISTS)
        return await async_vocabulary(hass, target, kinds=args["kinds"], name=args["name"], knows=knows)


def _place(hass: HomeAssistant, key: str, text: str) -> str:
    """Return the id of a device, an area, a floor or a label by its id or name; the text itself if there is none."""
    found: list[str] = []
    match key:
        case "area_id":
            found = [area.id for area in intent.find_areas(text, ar.async_get(hass))]
        case "floor_id":
            found = [floor.floor_id for floor in intent.find_floors(text, fr.async_get(hass))]
        case "label_id":
            labels = lr.async_get(hass).async_list_labels()
            found = [label.label_id for label in labels if text == label.label_id or phrase(label.name) == phrase(text)]
        case "device_id":
            if dr.async_get(hass).async_get(text) is not None:
                return text
            devices = dr.async_get(hass)
            every = (*devices.devices, *devices.child_devices)
            found = [one.id for one in every if phrase(one.name_by_user or one.name or "") == phrase(text)]
    if len(found) > 1:
        raise ToolRefusal(f"Several are called '{text}': name its entities instead.")
    return found[0] if found else text
