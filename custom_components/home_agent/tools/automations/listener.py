"""`test_event_listener`: recorded changes, or one that is given, against triggers and conditions."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, override

from homeassistant.core import HomeAssistant, State, valid_entity_id
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ...automations.draft import AutomationDraft, async_draft
from ...automations.dry_run import shown_data
from ...automations.past_triggers import kind_of
from ...automations.recorded import PastChange, PastEvent
from ...automations.replay import PastRun, Replay, async_replay
from ...automations.timeline import MAX_ENTITIES, Timeline
from ...automations.traces import told_near
from ...automations.watched import async_entities, event_types_of
from ...home.exposure import is_exposed
from ...home.snapshot import Home
from ...home.states import json_safe, local_time
from ...policy.tool import HomeAgentTool
from ...support.errors import ToolRefusal
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema, json_object
from .known import async_identified, shown
from .reading import READS
from .written import async_config, tidy

MAX_HOURS = 48
MAX_MATCHES = 20
MAX_TOLD = 10  # held back, near, not replayed
_COMMON = 5  # states
_COMMON_DAYS = timedelta(days=7)
_MOMENT = timedelta(milliseconds=1)
_ATTRIBUTES = 15  # names of a sample


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Take the names that models give the arguments, and a change that stands in no object of its own."""
    found = tidy(data)
    for one in ("automation", "automation_id", "alias"):
        if one in found and "id" not in found:
            found["id"] = found.pop(one)
    return {
        key: value
        for key, value in found.items()
        if key in ("id", "triggers", "conditions", "hours", "event", "variables")
    }


def _hours(value: object) -> float:
    try:
        hours = float(str(value).strip().rstrip("hH "))
    except ValueError as err:
        raise probatio.Invalid("hours must be a number") from err
    return min(max(hours, 1.0), float(MAX_HOURS))


class EventListenerTrial(HomeAgentTool):
    """Says what triggers would have reacted to."""

    name = "test_event_listener"
    title_key = "tool_test_event_listener"
    description = (
        "Try triggers and conditions on what was recorded in the last hours (1-48, default 24), or on a given `event`, without writing "
        "anything: when they would have fired, what held them back, and which field was different where nothing matched. "
        "`id`: an existing automation instead of triggers."
    )
    annotations = READS
    parameters = LenientSchema(
        {
            probatio.Optional("id"): probatio.All(probatio.Coerce(str), probatio.Length(min=1, max=255)),
            probatio.Optional("triggers"): object,
            probatio.Optional("conditions"): object,
            probatio.Optional("variables"): object,
            probatio.Optional("hours", default=24): _hours,
            probatio.Optional("event"): json_object,
        },
        _tidy,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "triggers": {"type": "array", "items": {"type": "object"}},
            "conditions": {"type": "array", "items": {"type": "object"}},
            "hours": {"type": "number"},
            "event": {
                "type": "object",
                "description": "{entity_id, from, to, attributes} or {event_type, event_data}",
            },
        },
    }  # fmt: skip

    def __init__(self, home: Home) -> None:
        """Take the exposed home."""
        self._home = home

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the entities that are looked at, as far as they may be known. Raises `ToolError`."""
        draft = await async_tried(hass, args, turn)
        return Plan(action=ActionClass.READ, targets=tuple(known_entities(hass, draft, turn)))

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return `{from, to, count, matches, held_back, ...}`. Raises `ToolRefusal`."""
        draft = await async_tried(hass, args, turn)
        is_admin = turn.user is not None and turn.user.is_admin
        if (given := args.get("event")) is not None:
            timeline = _given(hass, plan.targets, given)
        else:
            now = dt_util.utcnow()
            timeline = await Timeline.async_recorded(
                hass,
                plan.targets,
                now - timedelta(hours=args["hours"]),
                now,
                event_types=event_types_of(draft) if is_admin else (),
            )
        found = await async_replay(hass, draft, timeline)
        result = _result(found)
        if not found.runs:
            result |= await _async_instead(hass, draft, timeline, found)
        return as_told(hass, turn, args, result)


async def async_tried(hass: HomeAssistant, args: Mapping[str, Any], turn: Turn) -> AutomationDraft:
    """Return what is tried: an automation that exists, or triggers, conditions and actions. Raises `ToolError`."""
    if args.get("id"):
        known = await async_identified(hass, turn, args["id"])
        config = {key: value for key, value in known.config.items() if key != "id"}
        return await async_draft(hass, config, known.id, is_there=True)
    if not args.get("triggers") and not args.get("actions"):
        raise ToolRefusal("Give `triggers` to try, or the `id` of an automation.")
    config = await async_config(hass, {"actions": [], **args, "name": "Trial"})
    return await async_draft(hass, {"triggers": [], "actions": [], **config})


def as_told(hass: HomeAssistant, turn: Turn, args: Mapping[str, Any], result: JsonObjectType) -> JsonObjectType:
    """Return a result without the hidden entities that an existing automation names; what a model has named stays."""
    if not args.get("id"):
        return result
    told: JsonObjectType = shown(hass, turn, result)
    return told


def known_entities(hass: HomeAssistant, draft: AutomationDraft, turn: Turn) -> list[str]:
    """Return the entities that a replay needs and that may be known: for it, there are no others. Raises `ToolRefusal`."""
    found = sorted(one for one in async_entities(hass, draft) if is_exposed(hass, one, turn.user))
    if len(found) > MAX_ENTITIES:
        raise ToolRefusal(f"It depends on {len(found)} entities; at most {MAX_ENTITIES} can be tried at once.")
    return found


def _given(hass: HomeAssistant, entity_ids: tuple[str, ...], given: Mapping[str, Any]) -> Timeline:
    """Return a moment in which what is given happens, and everything else is as it is now. Raises `ToolRefusal`."""
    now = dt_util.utcnow()
    before = now - _MOMENT
    start = {
        entity_id: State(entity_id, state.state, dict(state.attributes), state.last_changed, None, state.last_updated)
        for entity_id in entity_ids
        if (state := hass.states.get(entity_id)) is not None
    }
    timeline = Timeline(since=before, until=now + _MOMENT, entity_ids=frozenset(entity_ids), start=start)
    if (event_type := given.get("event_type")) is not None:
        data = given.get("event_data") or given.get("data") or {}
        event = PastEvent(at=now, event_type=str(event_type), data=dict(data) if isinstance(data, Mapping) else {})
        return Timeline(
            since=before, until=now + _MOMENT, entity_ids=frozenset(entity_ids), start=start,
            events=(event,), event_types=frozenset({str(event_type)}),
        )  # fmt: skip
    entity_id = str(given.get("entity_id") or "")
    if not valid_entity_id(entity_id) or entity_id not in timeline.entity_ids:
        raise ToolRefusal("`event` needs an entity_id that the triggers or conditions name, or an event_type.")
    old, new = (
        _value_of(given, *keys) for keys in (("from", "from_state", "old_state"), ("to", "to_state", "new_state"))
    )
    attributes = given.get("attributes")
    was = start.get(entity_id)
    kept = dict(was.attributes) if was is not None else {}
    start[entity_id] = State(
        entity_id, old if old is not None else (was.state if was else "unknown"), kept, before, None, before
    )
    state = State(
        entity_id, new if new is not None else start[entity_id].state,
        {**kept, **(attributes if isinstance(attributes, Mapping) else {})}, now, None, now,
    )  # fmt: skip
    return Timeline(
        since=before, until=now + _MOMENT, entity_ids=timeline.entity_ids, start=start,
        changes=(PastChange(at=now, entity_id=entity_id, state=state),),
    )  # fmt: skip


def _value_of(given: Mapping[str, Any], *keys: str) -> str | None:
    for key in keys:
        value = given.get(key)
        value = value.get("state") if isinstance(value, Mapping) else value
        if value is not None:
            return str(value)
    return None


def _result(found: Replay) -> JsonObjectType:
    result: JsonObjectType = {
        "from": local_time(found.since),
        "to": local_time(found.until),
        "count": len(found.runs),
        "matches": [_match(run) for run in found.runs[-MAX_MATCHES:]],
        "held_back_count": len(found.held),
    }
    if found.held:
        result["held_back"] = [
            {
                "time": local_time(held.at),
                "trigger": held.trigger,
                **({"by": held.condition} if held.condition else {}),
                "because": json_safe(held.because),
            }
            for held in found.held[-MAX_TOLD:]
        ]
    if found.not_replayed:
        result["not_tried"] = {path or "all": json_safe(why) for path, why in found.not_replayed[:MAX_TOLD]}
    return result


def _match(run: PastRun) -> JsonObjectType:
    trigger = run.variables.get("trigger") or {}
    told: dict[str, Any] = {}
    for key in ("id", "entity_id", "from_state", "to_state", "now", "event"):
        value = trigger.get(key)
        if isinstance(value, State):
            value = value.state
        elif key == "event" and value is not None:
            value = shown_data(dict(value.data), 300)
        if value is not None:
            told[key] = json_safe(value)
    return {"time": local_time(run.at), "trigger": run.trigger, "variables": told}


async def _async_instead(
    hass: HomeAssistant, draft: AutomationDraft, timeline: Timeline, found: Replay
) -> JsonObjectType:
    """Return what there was instead of what triggers wait for."""
    result: JsonObjectType = {}
    if found.near:
        result["near"] = [json_safe(told_near(near)) for near in found.near[:MAX_TOLD]]
    if wanted := [trigger for trigger in draft.triggers if kind_of(trigger) == "state" and trigger.get("to")]:
        entity_ids = sorted({one for trigger in wanted for one in trigger["entity_id"]} & timeline.entity_ids)
        if entity_ids and "recorder" in hass.config.components:
            result["common_states"] = await _async_common(hass, entity_ids)
    if timeline.changes and (sample := next((one.state for one in reversed(timeline.changes) if one.state), None)):
        result["sample"] = {
            "entity_id": sample.entity_id,
            "state": json_safe(sample.state),
            "attributes": [json_safe(name) for name in [*sample.attributes][:_ATTRIBUTES]],
        }
    elif not timeline.changes and not found.runs and not timeline.events:
        result["note"] = "Nothing changed in this time. Ask about more hours, or give an `event`."
    return result


async def _async_common(hass: HomeAssistant, entity_ids: list[str]) -> JsonObjectType:
    """Return the most common states of entities in the last days, each with how often it came."""
    now = dt_util.utcnow()
    week = await Timeline.async_recorded(hass, entity_ids, now - _COMMON_DAYS, now)
    counts: dict[str, Counter[str]] = {
        entity_id: Counter([week.start[entity_id].state] if entity_id in week.start else []) for entity_id in entity_ids
    }
    for change in week.changes:
        if change.state is not None:
            counts[change.entity_id][change.state.state[:60]] += 1
    return {
        entity_id: {str(json_safe(state)): count for state, count in counter.most_common(_COMMON)}
        for entity_id, counter in counts.items()
    }
