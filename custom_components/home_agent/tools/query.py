"""`ha_query`: states, attributes and history of entities."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast, override

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import area_registry as ar, llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.domains.read_only import FORECAST
from ..home.exposure import may_tell
from ..home.foreign import async_reader
from ..home.snapshot import Home
from ..home.states import (
    Knows,
    all_attributes,
    attribute_names,
    chosen_attributes,
    computed,
    detail_call,
    details_from_response,
    json_safe,
    key_attributes,
    local_time,
)
from ..home.targets import Targets
from ..policy.tool import HomeAgentTool
from ..support.encoding import dump, plain_text
from ..support.errors import ToolRefusal
from ..turn.plan import ActionClass, Plan, ServiceCall
from ..turn.turn import Turn
from .arguments import LenientSchema, entity_ids, json_object, text_list
from .history import async_history

MAX_CHARACTERS = 8000  # of one result
MAX_DETAILED = 50  # entities with attributes
MAX_LISTED = 400  # entities with their states in one answer
MAX_WITH_DETAILS = 3  # entities whose lists, events or forecasts are fetched

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "entity_id": {
            "type": "string",
            "description": "The entity ID to query (e.g., 'sensor.temperature'). Can use wildcards (e.g., 'light.*')",
        },
        "attributes": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Specific attributes to retrieve (optional, returns all if not specified)",
        },
        "history": {
            "type": "object",
            "description": "Optional: retrieve historical data",
            "properties": {
                "duration": {"type": "string", "description": "Time range (e.g., '1h', '24h', '7d')"},
                "aggregate": {"type": "string", "enum": ["avg", "min", "max", "sum", "count"]},
            },
        },
    },
    "required": ["entity_id"],
}
_AGGREGATES = {
    **{name: name for name in ("avg", "min", "max", "sum", "count")},
    "average": "avg", "mean": "avg", "minimum": "min", "maximum": "max", "total": "sum",
}  # fmt: skip


_SEARCHED = ("name", "area_id", "area")


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Move parts of `history` at the top level into it; a duration alone is one. An area or a name alone is what to look for."""
    moved = {"duration", "aggregate"}
    if "entity_id" not in data and (searched := next((key for key in _SEARCHED if key in data), None)):
        moved.add(searched)
        data = {**data, "entity_id": data[searched]}
    tidied = {key: value for key, value in data.items() if key not in moved and value is not None}
    history = data.get("history")
    if isinstance(history, str) and not history.lstrip().startswith("{"):
        history = {"duration": history} if history.strip() else None
    beside = {key: data[key] for key in ("duration", "aggregate") if data.get(key) is not None}
    if beside or history:
        tidied["history"] = {**json_object(history), **beside}
    else:
        tidied.pop("history", None)
    return tidied


def _aggregate(value: object) -> str | None:
    if value in (None, "", "none"):
        return None
    if (name := _AGGREGATES.get(str(value).strip().casefold())) is None:
        raise probatio.Invalid("expected avg, min, max, sum or count")
    return name


class HaQuery(HomeAgentTool):
    """Reads states, attributes and history."""

    name = "ha_query"
    title_key = "tool_ha_query"
    example = "Which windows are open?"
    description = "Get current state and attributes of Home Assistant entities. Use this to check if lights are on, get sensor values, etc."
    guide = (
        "ha_query tells states, attributes and history. entity_id takes wildcards (light.*), names and areas: use it to search "
        "when you are not sure of an id."
    )
    guide_is_default = True
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = LenientSchema(
        {
            probatio.Required("entity_id"): entity_ids,
            probatio.Optional("attributes", default=list): text_list,
            probatio.Optional("history"): {
                probatio.Optional("duration", default=""): probatio.Any(str, int, float, None),
                probatio.Optional("aggregate", default=None): _aggregate,
            },
        },
        _tidy,
    )
    wire_parameters = WIRE

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities to read, and the calls for their details. Raises `ToolRefusal` if nothing matches."""
        targets = Targets(hass=hass, home=self._home, area_id=turn.area_id, user=turn.user)
        found: dict[str, None] = {}
        refused: list[ToolRefusal] = []
        for text in args["entity_id"]:
            try:
                found |= dict.fromkeys((await targets.async_find(text)).entity_ids)
            except ToolRefusal as err:
                refused.append(err)
        if not found:
            raise refused[0]
        calls: list[ServiceCall] = []
        if len(found) <= MAX_WITH_DETAILS and "history" not in args:
            states = [state for entity_id in found if (state := hass.states.get(entity_id)) is not None]
            calls = [call for state in states if (call := detail_call(hass, state, args["attributes"])) is not None]
        return Plan(action=ActionClass.READ, targets=tuple(found), effects=tuple(calls))

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the bounded states, or their history. Raises `ToolRefusal` if there is no history."""
        states = [state for entity_id in plan.targets if (state := hass.states.get(entity_id)) is not None]
        if not states:
            raise ToolRefusal("The entity no longer exists.")
        reader = await async_reader(hass, turn.user)
        if (history := args.get("history")) is not None:
            past = await async_history(hass, states, history["duration"], history["aggregate"])
            turn.record.taints |= reader.taints_of_past(states, past)
            return past
        wanted = () if len(states) > MAX_DETAILED else None
        if wanted is None and args["attributes"]:
            wanted = args["attributes"]
        listed = {entity_id for call in plan.effects for entity_id in call.entity_ids}  # with items or events
        for state in states:
            turn.record.taints |= reader.taints_of(state, None if state.entity_id in listed else wanted)
        details: dict[str, JsonObjectType] = {}
        for call in cast(Sequence[ServiceCall], plan.effects):
            response = await hass.services.async_call(
                call.domain,
                call.service,
                dict(call.data),
                blocking=True,
                context=turn.context,
                target={"entity_id": call.entity_ids[0]},
                return_response=True,
            )
            details[call.entity_ids[0]] = details_from_response(call, response)
        entities = (await self._home.async_get()).entities
        areas = ar.async_get(hass)

        def heading(state: State) -> JsonObjectType:
            entity = entities.get(state.entity_id)
            area = areas.async_get_area(entity.area_id) if entity is not None and entity.area_id else None
            row: JsonObjectType = {
                "entity_id": state.entity_id,
                "name": json_safe(entity.names[0] if entity else state.name),
            }
            return {**row, "state": json_safe(state.state), **({"area": json_safe(area.name)} if area else {})}

        def knows(entity_id: str) -> bool:
            return may_tell(hass, entity_id, turn.user)

        return _bounded(states, heading, args["attributes"], details, knows)


def _bounded(
    states: Sequence[State],
    heading: Callable[[State], JsonObjectType],
    attributes: Sequence[str],
    details: Mapping[str, JsonObjectType],
    knows: Knows,
) -> JsonValueType:
    """Return as much as fits: all attributes, the key ones, none, names only, counts; with a note of what is left out."""
    wanted = [name for name in attributes if name not in (FORECAST, "state", "completed")]

    def full(state: State) -> JsonObjectType:
        row = heading(state) | {"last_changed": local_time(state.last_changed)}
        if wanted:
            row["attributes"] = chosen_attributes(state, wanted, knows)
            if missing := [name for name in wanted if name not in state.attributes]:
                row["note"] = (
                    f"It has no {plain_text(', '.join(missing))}. It has: {', '.join(attribute_names(state))}."
                )
        else:
            row["attributes"] = all_attributes(state, knows)
        return row | computed(state) | details.get(state.entity_id, {})

    def brief(state: State) -> JsonObjectType:
        return heading(state) | key_attributes(state, knows=knows) | computed(state)

    if len(states) == 1:
        [state] = states
        row = full(state)
        if _fits(row):
            return row
        row = heading(state) | key_attributes(state, knows=knows)
        for name, value in details.get(state.entity_id, {}).items():
            if isinstance(value, list):
                while value and not _fits({**row, name: value}):
                    value = value[:-1]
            row[name] = value
        listed = ", ".join(attribute_names(state)[:30])
        return row | {"note": f"Not everything fits. Ask for single attributes: {listed}."}
    for make, limit, note in (
        (full, MAX_DETAILED, None),
        (brief, MAX_DETAILED, "Only the most important attributes are listed."),
        (heading, MAX_LISTED, "Attributes are left out: ask for fewer entities."),
    ):
        if len(states) <= limit and _fits(rows := [make(state) for state in states]):
            result: JsonObjectType = {"count": len(states), "entities": [*rows]}
            return result | ({"note": note} if note else {})
    return _overview(states)


def _fits(value: object) -> bool:
    return len(dump(value)) <= MAX_CHARACTERS


def _overview(states: Sequence[State]) -> JsonObjectType:
    """Return the states that fit by id, and counts of all."""
    counts: dict[str, Counter[str]] = {}
    for state in states:
        counts.setdefault(state.domain, Counter())[plain_text(state.state[:40])] += 1
    listed: JsonObjectType = {}
    room = MAX_CHARACTERS * 3 // 4
    for state in states[:MAX_LISTED]:
        room -= len(state.entity_id) + len(state.state) + 6
        if room < 0:
            break
        listed[state.entity_id] = json_safe(state.state)
    summary: JsonObjectType = {
        domain: {"count": counter.total(), "states": dict(counter.most_common(5))}
        for domain, counter in sorted(counts.items(), key=lambda item: -item[1].total())[:20]
    }
    return {
        "count": len(states),
        "domains": summary,
        "entities": listed,
        "note": f"{len(states) - len(listed)} entities are not listed. Narrow it down: light.*, *kitchen*, an area's name.",
    }
