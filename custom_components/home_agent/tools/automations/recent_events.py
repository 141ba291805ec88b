"""`query_recent_events`: what happened lately in the home, and who did it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
import math
import re
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er, llm
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...home.exposure import may_tell
from ...home.foreign import async_reader, texts_in
from ...home.snapshot import Home
from ...home.states import Knows, json_safe, local_time
from ...home.targets import Targets
from ...policy.tool import HomeAgentTool
from ...support.const import DOMAIN
from ...support.encoding import dump
from ...support.errors import ToolRefusal
from ...support.masking import MASK, SECRET
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema, entity_ids, text_list
from .recorded import (
    STARTS,
    Caused,
    Happening,
    Since,
    StateChange,
    changes,
    common_states,
    happenings,
    is_dull,
    starters,
)

HOURS = (1, 48, 24)
"""Least, most, and unless asked otherwise."""
LIMIT = (1, 20, 20)
MAX_ENTITIES = 50
MAX_TYPES = 10
MAX_DATA = 600  # characters of an event's data in the answer
COMMON_DAYS = 7
COMMON_STATES = 5
COMMON_ENTITIES = 5
_ID = re.compile(r"[a-z0-9_]{1,64}\.[a-z0-9_]{1,190}")
_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[a-z]*\s*", re.IGNORECASE)

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "entity_id": {
            "type": "string",
            "description": "Entities whose changes are wanted: ids, names, an area, a domain or a wildcard; several with commas",
        },
        "event_type": {
            "type": "string",
            "description": "Events of these types only, e.g. automation_triggered, zha_event; several with commas",
        },
        "hours": {"type": "integer", "description": "How far back, 1 to 48 (default 24)"},
        "limit": {"type": "integer", "description": "How many, 1 to 20 (default 20), newest first"},
    },
}
_ENTITIES = ("entity_id", "entity_ids", "entity", "entities", "area", "area_id", "domain", "name")
_TYPES = ("event_type", "event_types", "type", "event")


def clamped(least: int, most: int, otherwise: int, value: object) -> int:
    """Return a number within bounds, also from a text such as "24h"; the usual one for nothing. Raises `probatio.Invalid`."""
    if value in (None, ""):
        return otherwise
    found = _NUMBER.fullmatch(str(value)[:20])
    if found is None or isinstance(value, bool):
        raise probatio.Invalid("expected a number")
    return max(least, min(most, math.ceil(float(found[1]))))


def joined(data: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Return what stands under any of some keys, as a list of texts."""
    given = (data[key] for key in keys if data.get(key) not in (None, "", []))
    return list(dict.fromkeys(text for value in given for text in text_list(value)))


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    tidied = {key: data[key] for key in ("hours", "limit") if key in data}
    if named := joined(data, _ENTITIES):
        tidied["entity_id"] = named
    return {**tidied, "event_type": joined(data, _TYPES)}


class QueryRecentEvents(HomeAgentTool):
    """Tells what was recorded in the last hours."""

    name = "query_recent_events"
    title_key = "tool_query_recent_events"
    example = "What happened at the front door last night?"
    description = (
        "What happened in the last hours: changes of the states of entities (from, to, when, by whom), automations that ran, and "
        "events of integrations with their data. Use it to see what really happens before you choose a trigger."
    )
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = LenientSchema(
        {
            probatio.Optional("entity_id"): entity_ids,
            probatio.Optional("event_type", default=list): probatio.All(
                [probatio.All(str, probatio.Length(max=64))], probatio.Length(max=MAX_TYPES)
            ),
            probatio.Optional("hours", default=None): partial(clamped, *HOURS),
            probatio.Optional("limit", default=None): partial(clamped, *LIMIT),
        },
        _tidy,
    )
    wire_parameters = WIRE

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities to read. Raises `ToolRefusal` for an unknown one, with near names, and for too many."""
        if "recorder" not in hass.config.components:
            raise ToolRefusal("Nothing is recorded: the recorder of Home Assistant is not set up.")
        if dull := [name for name in args["event_type"] if is_dull(name)]:
            raise ToolRefusal(f"{dull[0]} is not told. Name the entity whose changes you want (entity_id).")
        found = await async_entities(hass, self._home, turn, args.get("entity_id") or ())
        if len(found) > MAX_ENTITIES:
            raise ToolRefusal(f"{len(found)} entities match; at most {MAX_ENTITIES} fit. Name fewer.")
        return Plan(action=ActionClass.READ, targets=found)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the newest changes and events; what is usual if there are none."""

        def knows(entity_id: str) -> bool:
            return may_tell(hass, entity_id, turn.user)

        now = dt_util.utcnow().timestamp()
        since = Since(now - args["hours"] * 3600, now, args["limit"])
        names = await _async_people(hass, turn)
        recorder, types = get_instance(hass), args["event_type"]
        found: list[Caused] = []
        if plan.targets and (not types or "state_changed" in types):
            found += await recorder.async_add_executor_job(changes, hass, plan.targets, since)
        events = await recorder.async_add_executor_job(happenings, hass, types, since)
        found += _tellable(hass, turn, events, plan.targets, knows)
        newest = sorted(found, key=lambda one: -one.at)[: since.most]
        contexts = {one.context for one in newest if one.context is not None}
        started = await recorder.async_add_executor_job(starters, hass, contexts)
        teller = _Teller(hass=hass, knows=knows, names=names, started=started)
        rows: list[JsonValueType] = [teller.row(one) for one in newest]
        await _async_taint(hass, turn, plan.targets, newest)
        result: JsonObjectType = {"from": _local(since.start), "to": _local(now), "events": rows}
        if not rows:
            result |= await _async_nothing(hass, plan.targets, now, args["hours"])
        return result


async def async_entities(hass: HomeAssistant, home: Home, turn: Turn, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the entities that texts stand for: ids, names, areas, domains. Raises `ToolRefusal` for an unknown one."""
    targets = Targets(hass=hass, home=home, area_id=turn.area_id, user=turn.user)
    found: dict[str, None] = {}
    for text in texts:
        found |= dict.fromkeys((await targets.async_find(text)).entity_ids)
    return tuple(found)


async def _async_people(hass: HomeAssistant, turn: Turn) -> dict[str, str]:
    """Return what users are called, by id: by their names for an administrator, else only the one who asks."""
    is_admin = turn.user is not None and turn.user.is_admin
    found: dict[str, str] = {}
    for user in await hass.auth.async_get_users():
        if user.system_generated:
            found[user.id] = "Home Assistant itself"
        elif turn.user is not None and user.id == turn.user.id:
            found[user.id] = f"{user.name or 'a person'} (who asks now)"
        else:
            found[user.id] = (user.name if is_admin else "") or "a person"
    return found


def _tellable(
    hass: HomeAssistant, turn: Turn, events: Iterable[Happening], entity_ids: Collection[str], knows: Knows
) -> list[Caused]:
    """Return the events that may be told, and that are about the entities, if there are any.

    Home Assistant shows events of integrations to administrators only.
    """
    is_admin = turn.user is not None and turn.user.is_admin
    found: list[Caused] = []
    for event in events:
        if event.is_cut or not (is_admin or event.event_type in STARTS):
            continue
        if (named := _named(hass, event.data, knows)) is None:
            continue
        if not entity_ids or not named.isdisjoint(entity_ids):
            found.append(event)
    return found


def _named(hass: HomeAssistant, data: Mapping[str, Any], knows: Knows) -> set[str] | None:
    """Return every entity that the data of an event names, wherever in it; None if it names one that is hidden.

    A device stands for its entities; one of which no entity is known is hidden.
    """
    registry, devices = er.async_get(hass), dr.async_get(hass)
    found: set[str] = set()
    for text in texts_in(data):
        found.update(_ID.findall(text.casefold()))
        if (entry := registry.entities.get_entry(text)) is not None:
            found.add(entry.entity_id)
        elif devices.async_get(text) is not None:
            of_device = {one.entity_id for one in er.async_entries_for_device(registry, text) if knows(one.entity_id)}
            if not of_device:
                return None
            found |= of_device
    return found if all(map(knows, found)) else None


async def _async_taint(hass: HomeAssistant, turn: Turn, entity_ids: Iterable[str], told: Sequence[Caused]) -> None:
    """Taint a turn that reads what others may have written: in states, or in the data of an integration's events."""
    reader, changed = await async_reader(hass, turn.user), [one for one in told if isinstance(one, StateChange)]
    states = [state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None]
    turn.record.taints |= reader.taints_of_past(states, [[one.before, one.after] for one in changed])
    if any(isinstance(one, Happening) and not is_own(one.event_type) for one in told):
        turn.record.taints.add(QueryRecentEvents.name)


def is_own(event_type: str) -> bool:
    """Return whether the data of an event has no text from outside: it is of Home Agent, or of an automation or a script."""
    return event_type in STARTS or event_type.startswith(f"{DOMAIN}.")


async def _async_nothing(hass: HomeAssistant, entity_ids: Sequence[str], now: float, hours: int) -> JsonObjectType:
    """Return that nothing was found, and the most common states of the last days."""
    if not entity_ids:
        return {"note": f"No such event in the last {hours} hours. Name entities (entity_id) to see changes of states."}
    few = entity_ids[:COMMON_ENTITIES]
    start = now - COMMON_DAYS * 86_400
    common = await get_instance(hass).async_add_executor_job(common_states, hass, few, start, COMMON_STATES)
    usual: JsonObjectType = {one: [json_safe(state) for state in common.get(one, ())] for one in few}
    note = f"Nothing changed in the last {hours} hours. Most common states of the last {COMMON_DAYS} days:"
    return {"note": note, "common_states": usual}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Teller:
    """Tells what happened to a model."""

    hass: HomeAssistant
    knows: Knows
    names: Mapping[str, str]
    started: Mapping[bytes, Mapping[str, Any]]

    def row(self, one: Caused) -> JsonObjectType:
        """Return the row of a change or an event."""
        row: JsonObjectType = {"time": _local(one.at)}
        if isinstance(one, StateChange):
            state = self.hass.states.get(one.entity_id)
            row |= {"entity_id": one.entity_id, "name": json_safe(state.name) if state else one.entity_id}
            row |= {"from": json_safe(one.before), "to": "(removed)" if one.after is None else json_safe(one.after)}
        elif isinstance(one, Happening):
            row |= {"event": one.event_type, "data": self._data(one.data)}
        return row | {"by": self._by(one)}

    def _data(self, data: Mapping[str, Any]) -> JsonValueType:
        """Return the data of an event, without secrets and bounded."""
        told = json_safe(_masked(data), knows=self.knows)
        text = dump(told).decode()
        return told if len(text) <= MAX_DATA else f"{text[:MAX_DATA]}…"

    def _by(self, one: Caused) -> str:
        """Return who did it, in words."""
        is_start = isinstance(one, Happening) and one.event_type in STARTS
        if not is_start and one.context is not None and (data := self.started.get(one.context)) is not None:
            entity_id = str(data.get("entity_id", ""))
            kind = "script" if entity_id.startswith("script.") else "automation"
            if entity_id and self.hass.states.get(entity_id) is not None and self.knows(entity_id):
                return f"{kind} {json_safe(data.get('name') or entity_id)} ({entity_id})"
            return f"a{'n' if kind == 'automation' else ''} {kind}"
        if one.user_id is not None:
            return self.names.get(one.user_id, "a person")
        return "unknown: a device, an integration, or Home Assistant itself"


def _masked(value: Any) -> Any:
    """Return data of an event with what its keys call secret replaced."""
    match value:
        case Mapping():
            return {
                key: MASK if SECRET.search(str(key)) and not isinstance(item, Mapping) else _masked(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [_masked(item) for item in value]
    return value


def _local(timestamp: float) -> str:
    return local_time(dt_util.utc_from_timestamp(timestamp))
