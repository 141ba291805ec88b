"""`list_automations` and `get_automation`: what there is, and how it is written, with the hash that an update names."""

from collections.abc import Mapping
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads
import probatio

from ...automations.known import Known
from ...automations.probation import acting, async_record
from ...automations.records import records_of
from ...automations.store import automation_store
from ...home.states import local_time
from ...policy.effects.automation_change import link_to
from ...policy.tool import HomeAgentTool
from ...support.encoding import dump
from ...support.errors import ToolError, ToolRefusal
from ...support.text import runs
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema
from .known import async_find, async_seen_by, shown
from .written import tidy

MAX_LISTED = 60
MAX_CHARACTERS = 12_000  # of one configuration
READS = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


def _plain(value: object) -> JsonValueType:
    """Return a configuration as JSON: what was read from YAML may have other values in it, such as days."""
    return json_loads(dump(value))


class ListAutomations(HomeAgentTool):
    """Lists automations."""

    name = "list_automations"
    title_key = "tool_list_automations"
    description = (
        "List automations: id, name, whether enabled, when it last ran. `search`: words of the name or of what it uses."
    )
    annotations = READS
    parameters = LenientSchema(
        {
            probatio.Optional("search", default=""): probatio.All(probatio.Coerce(str), probatio.Length(max=200)),
            probatio.Optional("offset", default=0): probatio.All(probatio.Coerce(int), probatio.Range(min=0)),
        },
        tidy,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object", "properties": {"search": {"type": "string"}, "offset": {"type": "integer"}},
    }  # fmt: skip

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing: what may not be known is left out."""
        return Plan(action=ActionClass.READ)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return `{count, automations}`, those that match most words first, with `next_offset` where there are more."""
        words = {*runs(args["search"])}
        known = await async_seen_by(hass, turn)
        if words:
            found = [(_matches(hass, turn, one, words), one) for one in known]
            known = [one for count, one in sorted(found, key=lambda pair: -pair[0]) if count]
        start = args["offset"]
        rows: list[JsonValueType] = [_row(hass, one) for one in known[start : start + MAX_LISTED]]
        result: JsonObjectType = {"count": len(known), "automations": rows}
        if start + MAX_LISTED < len(known):
            result["next_offset"] = start + MAX_LISTED
        return result


def _matches(hass: HomeAssistant, turn: Turn, known: Known, words: set[str]) -> int:
    """Return how many of the words stand in what an administrator may be told of an automation; those of its name count twice."""
    named = {*runs(known.name)}
    is_told = turn.user is not None and turn.user.is_admin
    written = dump(shown(hass, turn, dict(known.config or {}))).decode().casefold() if is_told else ""
    return sum((2 if word in named else 0) + (word in written) for word in words)


def _row(hass: HomeAssistant, known: Known) -> JsonObjectType:
    state = hass.states.get(known.entity_id)
    last = None if state is None else state.attributes.get("last_triggered")
    row: JsonObjectType = {
        "id": known.id,
        "name": known.name,
        "state": state.state if state is not None else "unavailable",
        "last_triggered": dt_util.as_local(last).isoformat(timespec="seconds") if last else None,
    }
    record = records_of(hass).get(known.id or "")
    return row | {"probation": True} if record is not None and record.is_on_probation else row


class GetAutomation(HomeAgentTool):
    """Tells how an automation is written."""

    name = "get_automation"
    title_key = "tool_get_automation"
    description = "Read one automation by id or name: its configuration, and the `hash` that update_automation needs."
    annotations = READS
    parameters = LenientSchema(
        {probatio.Required("id"): probatio.All(probatio.Coerce(str), probatio.Length(min=1, max=255))}, tidy
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
    }  # fmt: skip

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing. Raises `ToolError` for an unknown one, and for others than administrators."""
        if turn.user is None or not turn.user.is_admin:
            raise ToolError("automation_administrators")
        await async_find(hass, turn, args["id"])
        return Plan(action=ActionClass.READ)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return id, name, state, hash, configuration, and what is kept of it if it was made here. Raises `ToolRefusal`."""
        known = await async_find(hass, turn, args["id"])
        item = await automation_store(hass).async_item(known.id) if known.id else None
        config: Mapping[str, Any] = known.config
        written = shown(hass, turn, {key: value for key, value in config.items() if key != "id"})
        if len(dump(written)) > MAX_CHARACTERS:
            raise ToolRefusal(
                f"'{known.name}' is too long to be read here. Tell the user to edit it in Home Assistant."
            )
        result: JsonObjectType = {
            **_row(hass, known),
            "entity_id": known.entity_id,
            "link": link_to(hass, known.id) if known.id else None,
            "hash": None if item is None else item.fingerprint,
            "config": _plain(written),
        }
        if item is None:
            result["note"] = "It is not written in automations.yaml: it can be enabled and disabled, not changed."
        if (record := await async_record(hass, known.id or "")) is not None:
            result |= {"said": record.said, "never": [_plain(shown(hass, turn, dict(item))) for item in record.never]}
            if record.is_on_probation:
                result |= {
                    "would_have_acted": record.noted_before + record.acted,
                    "probation_ends": local_time(record.until) if record.until else None,
                }
                result["config"] = _plain(shown(hass, turn, acting(record, config)))
        return result
