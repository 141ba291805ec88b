"""`execute_script`: what actions would call, with rendered data, without calling anything."""

from collections.abc import Mapping
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...automations.dry_run import MAX_CALLS, DryCall, async_dry_run
from ...home.exposure import is_exposed
from ...home.snapshot import Home
from ...home.states import json_safe
from ...policy.tool import HomeAgentTool
from ...support.encoding import dump
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema, json_object
from .listener import as_told, async_tried, known_entities
from .reading import READS
from .written import tidy

MAX_CHARACTERS = 8_000  # of an answer


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Take the names that models give the arguments."""
    found = tidy({("sequence" if key == "script" else key): value for key, value in data.items()})
    for one in ("automation_id", "alias"):
        if one in found and "id" not in found:
            found["id"] = found.pop(one)
    if isinstance(found.get("triggers"), Mapping):  # a model's `trigger` is what triggered, not what is waited for
        found["trigger"] = found.pop("triggers")
    return {
        key: value for key, value in found.items() if key in ("id", "actions", "conditions", "variables", "trigger")
    }


class ExecuteScript(HomeAgentTool):
    """Says what actions would do."""

    name = "execute_script"
    title_key = "tool_execute_script"
    description = (
        "Check actions without running them: validates, renders templates, tests conditions and shows which actions would be called on "
        "which entities with which data. `variables` and a sample `trigger` ({to_state: {state: on}, ...}) are what templates know. "
        "`id`: an existing automation instead of actions."
    )
    annotations = READS
    parameters = LenientSchema(
        {
            probatio.Optional("id"): probatio.All(probatio.Coerce(str), probatio.Length(min=1, max=255)),
            probatio.Optional("actions"): object,
            probatio.Optional("conditions"): object,
            probatio.Optional("variables"): json_object,
            probatio.Optional("trigger"): json_object,
        },
        _tidy,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "actions": {"type": "array", "items": {"type": "object"}},
            "conditions": {"type": "array", "items": {"type": "object"}},
            "variables": {"type": "object"},
            "trigger": {"type": "object"},
        },
    }

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities whose states decide, as far as they may be known. Raises `ToolError`."""
        draft = await async_tried(hass, _parts(args), turn)
        return Plan(action=ActionClass.READ, targets=tuple(known_entities(hass, draft, turn)))

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return `{conditions, actions}`: what is true, and what would be called. Raises `ToolRefusal` for what is not valid."""
        draft = await async_tried(hass, _parts(args), turn)
        variables: dict[str, Any] = dict(args.get("variables") or {})
        if args.get("trigger"):
            variables["trigger"] = args["trigger"]

        def knows(entity_id: str) -> bool:
            return is_exposed(hass, entity_id, turn.user)

        result: JsonObjectType = {}
        if draft.conditions:
            checked = await async_dry_run(hass, draft.conditions, variables, knows=knows)
            result["conditions"] = [_row(call, "conditions") for call in checked]
        calls = await async_dry_run(hass, draft, variables, knows=knows)
        rows: list[JsonValueType] = []
        room = MAX_CHARACTERS
        for call in calls:
            row = _row(call, "actions")
            room -= len(dump(row))
            if room < 0:
                result["note"] = f"{len(calls) - len(rows)} more steps are not shown."
                break
            rows.append(row)
        if len(calls) >= MAX_CALLS:
            result["note"] = f"Only the first {MAX_CALLS} steps are shown."
        return as_told(hass, turn, args, {**result, "actions": rows, "called": False})


def _parts(args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an automation; what is known beforehand is none of them."""
    return {key: args[key] for key in ("id", "actions", "conditions") if key in args}


def _row(call: DryCall, part: str) -> JsonObjectType:
    row: JsonObjectType = {"path": call.path.replace("actions", part, 1)}
    if call.action:
        row["action"] = json_safe(call.action)
        row["entities"] = [*call.entity_ids]
    if call.data:
        row["data"] = call.data
    if call.note:
        row["note"] = json_safe(call.note)
    return row
