"""`create_automation`, `update_automation`, `delete_automation`, `enable_automation`, `disable_automation`."""

from abc import abstractmethod
from math import ceil
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType
import probatio

from ...policy.automating import Creation, Deletion, Rewriting, Switch, WantedChange
from ...policy.effects.automation_change import CREATE, DELETE, DISABLE, ENABLE, UPDATE
from ...policy.write import EffectTool
from ...support.errors import ToolRefusal
from ...turn.plan import Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema, text_list
from .known import async_identified, hides
from .written import PARTS, async_config, check_bounds, from_text, tidy

MAX_NEVER = 10
MOST_DAYS = 30  # of a probation
_ID = {probatio.Required("id"): probatio.All(probatio.Coerce(str), probatio.Length(min=1, max=255))}
_WRITTEN = {
    **{probatio.Optional(key): object for key in (*PARTS, "name", "description")},
    probatio.Optional("trust_events", default=list): text_list,
}
_ARRAY: JsonObjectType = {"type": "array", "items": {"type": "object"}}
_WIRE: JsonObjectType = {
    "name": {"type": "string"},
    "description": {"type": "string"},
    "triggers": _ARRAY,
    "conditions": _ARRAY,
    "actions": _ARRAY,
    "mode": {"type": "string", "enum": ["single", "restart", "queued", "parallel"]},
    "variables": {"type": "object"},
    "use_blueprint": {"type": "object"},
}


def _days(value: object) -> int:
    days = ceil(float(str(value or 0)))  # half a day is one, not none
    if not 0 <= days <= MOST_DAYS:
        raise probatio.Invalid(f"expected 0 to {MOST_DAYS} days")
    return days


def _conditions(value: object) -> list[Any]:
    found = from_text(value)
    listed = found if isinstance(found, list) else [found] if found else []
    if len(listed) > MAX_NEVER:
        raise probatio.Invalid(f"at most {MAX_NEVER} conditions")
    try:
        check_bounds(listed)
    except ToolRefusal as err:
        raise probatio.Invalid(str(err)) from err
    return listed


class _ChangeTool(EffectTool):
    """What all five have in common: each needs a yes of an administrator."""

    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    is_its_effects = False

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the change. Raises `ToolError` for what is not allowed, or wrong in it."""
        return await (await self.async_change(hass, args, turn)).async_plan(hass, turn)

    @abstractmethod
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> WantedChange:
        """Return the change that arguments mean. Raises `ToolError`."""


class CreateAutomation(_ChangeTool):
    """Makes an automation, or proposes it to administrators."""

    name = CREATE
    title_key = "tool_create_automation"
    description = (
        "Make a new Home Assistant automation. It is checked, explained to the user and made after their yes. `never`: conditions "
        "under which it must not run. `probation_days`: only note what it would do, for so many days."
    )
    parameters = LenientSchema(
        {
            **_WRITTEN,
            probatio.Required("name"): probatio.All(probatio.Coerce(str), probatio.Length(min=1)),
            probatio.Optional("never", default=list): _conditions,
            probatio.Optional("probation_days", default=0): _days,
        },
        tidy,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {**_WIRE, "never": _ARRAY, "probation_days": {"type": "integer"}},
        "required": ["name", "triggers", "actions"],
    }

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> WantedChange:
        config = await async_config(hass, args)
        return Creation(
            config=config, never=args["never"], probation_days=args["probation_days"], trust_events=args["trust_events"]
        )


class UpdateAutomation(_ChangeTool):
    """Rewrites parts of an automation."""

    name = UPDATE
    title_key = "tool_update_automation"
    description = (
        "Change an automation. `hash` is that of get_automation, read right before. Give only what is to be replaced; a list replaces "
        "the whole list."
    )
    parameters = LenientSchema(
        {
            **_WRITTEN,
            **_ID,
            probatio.Required("hash"): str,
            probatio.Optional("never"): _conditions,
        },
        tidy,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {"id": {"type": "string"}, "hash": {"type": "string"}, **_WIRE, "never": _ARRAY},
        "required": ["id", "hash"],
    }

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> WantedChange:
        known = await async_identified(hass, turn, args["id"])
        if hides(hass, turn, known.config):
            raise ToolRefusal(
                f"'{known.name}' names entities that are not exposed. Tell the user to edit it in Home Assistant."
            )
        parts = await async_config(hass, args)
        return Rewriting(
            id=known.id,
            alias=known.name,
            expected=args["hash"],
            parts=parts,
            never=args.get("never"),
            trust_events=args["trust_events"],
        )


class DeleteAutomation(_ChangeTool):
    """Deletes an automation."""

    name = DELETE
    title_key = "tool_delete_automation"
    description = "Delete an automation, by the id that list_automations tells."
    parameters = LenientSchema({**_ID, probatio.Optional("hash"): str}, tidy)
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
    }  # fmt: skip

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> WantedChange:
        known = await async_identified(hass, turn, args["id"])
        return Deletion(id=known.id, alias=known.name, expected=args.get("hash"))


class _SwitchTool(_ChangeTool):
    """Switches an automation on or off."""

    parameters = LenientSchema(_ID, tidy)
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
    }  # fmt: skip

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> WantedChange:
        known = await async_identified(hass, turn, args["id"])
        return Switch(service=self.name, id=known.id, alias=known.name)


class EnableAutomation(_SwitchTool):
    """Switches an automation on; one on probation acts from then on."""

    name = ENABLE
    title_key = "tool_enable_automation"
    description = "Enable an automation. One that is on probation acts from then on."


class DisableAutomation(_SwitchTool):
    """Switches an automation off."""

    name = DISABLE
    title_key = "tool_disable_automation"
    description = "Disable an automation: it stays, and does nothing."


CHANGES = (
    CreateAutomation, UpdateAutomation, DeleteAutomation, EnableAutomation, DisableAutomation,
)  # fmt: skip
