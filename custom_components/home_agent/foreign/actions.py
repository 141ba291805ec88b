"""Any action of Home Assistant by name (its administration API): what is asked about is what will be called."""

from collections.abc import Iterator, Mapping
from typing import Any, override

from homeassistant.const import (
    ATTR_AREA_ID,
    ATTR_DEVICE_ID,
    ATTR_ENTITY_ID,
    ATTR_FLOOR_ID,
    ATTR_LABEL_ID,
    ENTITY_MATCH_ALL,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
from homeassistant.helpers.template import is_template_string

from ..const import DOMAIN
from ..errors import ToolPermissionError
from ..safety.plan import ActionClass, Plan, ServiceCall
from ..safety.tool import ToolRefusal
from ..tools.mentioned import entity_ids_in
from ..tools.sensitive import sensitivities
from ..turn import Turn
from .tool import ForeignTool

CALL_ACTION = "homeassistant__call_action"
TEMPLATES = "Templates are not allowed here: render them first, and call the action with the values."
ALL = "Name the entities: 'all' is not allowed."
_TARGETS = (ATTR_ENTITY_ID, ATTR_DEVICE_ID, ATTR_AREA_ID, ATTR_FLOOR_ID, ATTR_LABEL_ID)


class ForeignAction(ForeignTool):
    """The tool that calls any action."""

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the call on its final targets. Raises `ToolRefusal` for targets that are not known before it runs."""
        self.check(hass, args, turn)
        if any(is_template_string(text) for text in _texts(args)):
            raise ToolRefusal(TEMPLATES)
        domain, _, service = str(args["action"]).partition(".")
        if domain == DOMAIN:  # a model neither confirms nor talks to itself
            raise ToolPermissionError(target=self.name)
        data = dict(args.get("data") or {})
        target = {**{key: data.pop(key) for key in _TARGETS if key in data}, **dict(args.get("target") or {})}
        call = ServiceCall(domain=domain, service=service, entity_ids=_entity_ids(hass, target), data=data)
        reasons = tuple(dict.fromkeys(sensitivities(hass, call))) or ("destructive",)
        return Plan(
            action=ActionClass.SENSITIVE,
            targets=tuple(dict.fromkeys((*call.entity_ids, *entity_ids_in(hass, data)))),
            calls=(call,),
            reason=reasons[0],
            reasons=reasons,
            subject=f"{domain}.{service}",
            outside=self.annotations.open_world,
        )


def _entity_ids(hass: HomeAssistant, target: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a target means now: its entities, and those of its devices, areas, floors and labels."""
    if any(text.strip().casefold() == ENTITY_MATCH_ALL for text in _texts(target.get(ATTR_ENTITY_ID))):
        raise ToolRefusal(ALL)
    selected = async_extract_referenced_entity_ids(hass, TargetSelection(dict(target)))
    return tuple(sorted({*selected.referenced, *selected.indirectly_referenced}))


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _texts(key)
                yield from _texts(item)
        case list() | tuple():
            for item in value:
                yield from _texts(item)
