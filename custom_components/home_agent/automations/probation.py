"""Probation: an automation runs in the real engine while its actions are switched off, and what it would do is noted.

Home Assistant evaluates triggers and conditions as always. Each action stands in the file with `enabled: false`, where people see it
in the editor as well. A run is noted when Home Assistant says that the automation was triggered. At the end an administrator decides.

The file is also written by people: what they change in the editor meanwhile is a part of what will act, and who switches the actions on
there has ended the probation.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from homeassistant.components.automation import EVENT_AUTOMATION_TRIGGERED
from homeassistant.components.recorder import history
from homeassistant.components.trace.util import (  # pylint: disable=home-assistant-component-root-import
    async_get_trace,
    async_list_contexts,
)
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import ATTR_ENTITY_ID, STATE_UNAVAILABLE, STATE_UNKNOWN
from homeassistant.core import Event, HomeAssistant, State, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.helpers.recorder import get_instance
from homeassistant.util import dt as dt_util

from ..home.domains import DOMAINS, UNKNOWN
from ..support.const import LOGGER
from ..support.errors import where_of
from ..turn.proposal import ProposalStatus
from .draft import async_draft, ordered
from .dry_run import async_dry_run
from .recorded import starts_of
from .records import AutomationRecord, AutomationRecords, records_of
from .store import automation_store

AFTER = timedelta(minutes=10)
"""Within this time after a run, the opposite done by hand counts against it."""
_LOOK = timedelta(minutes=5)
_ENABLED = "enabled"
_NOWHERE = (STATE_UNAVAILABLE, STATE_UNKNOWN)
MAX_CALLS = 10  # of one run that are noted


def noted_only(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration of which no action is done."""
    return {**config, "actions": [{**step, _ENABLED: False} for step in _steps(config)]}


def _steps(config: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    actions = config.get("actions")
    listed = actions if isinstance(actions, list) else [actions]
    return [step for step in listed if isinstance(step, Mapping)]


def acting(record: AutomationRecord, written: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return how an automation on probation will act: as it was asked for, with all that people wrote in its file since.

    `written` is how it stands there, None if it does not.
    """
    asked = ordered(record.config)
    if written is None:
        return asked
    now = {key: value for key, value in ordered(written).items() if key != "id"}
    if now == noted_only(asked):
        return asked
    if "actions" not in now:  # a blueprint: nothing in it is switched off
        return now
    given, noted, listed = _steps(asked), noted_only(asked)["actions"], _steps(now)
    if [*listed] == noted:
        return {**now, "actions": asked["actions"]}
    known = given if len(given) == len(listed) else ()
    steps = [
        given[noted.index(step)] if step in noted else _switched(step, known[place] if known else {})
        for place, step in enumerate(listed)
    ]
    return now if steps == [*listed] else {**now, "actions": steps}


def _switched(step: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an action that a person rewrote while we had switched it off, on or off as it was before that."""
    if step.get(_ENABLED) is not False:
        return dict(step)
    kept = {key: value for key, value in step.items() if key != _ENABLED}
    return kept | ({_ENABLED: given[_ENABLED]} if _ENABLED in given else {})


async def async_acting(hass: HomeAssistant, record: AutomationRecord) -> dict[str, Any]:
    """Return how an automation on probation will act, by what is in the file now. Raises `ToolError` if that cannot be read."""
    item = await automation_store(hass).async_item(record.id)
    return acting(record, None if item is None else item.config)


async def async_record(hass: HomeAssistant, automation_id: str) -> AutomationRecord | None:
    """Return what is kept of an automation, None if it was not made here; its probation is over where a person let it act.

    Raises `ToolError` if the file cannot be read.
    """
    records, store = records_of(hass), automation_store(hass)
    record = records.get(automation_id)
    if record is None or not record.is_on_probation:
        return record
    item = await store.async_item(automation_id)
    record = records.get(automation_id)
    # What we write may be put back
    if record is None or not record.is_on_probation or item is None or store.is_writing:
        return record
    now = {key: value for key, value in ordered(item.config).items() if key != "id"}
    if now != noted_only(ordered(record.config)) and now == acting(record, now):
        record = record.let_act()
        records.put(record)
    return record


class Probation:
    """Notes what automations on probation would do, and ends probations."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        """Take the entry to which its tasks belong."""
        self._hass, self._entry = hass, entry
        self._records: AutomationRecords = records_of(hass)

    @callback
    def async_start(self) -> None:
        """Listen until the entry is unloaded."""
        unload = self._entry.async_on_unload
        unload(self._hass.bus.async_listen(EVENT_AUTOMATION_TRIGGERED, self._triggered))
        unload(async_track_time_interval(self._hass, self._look, _LOOK, name="home_agent probations"))

    @callback
    def _triggered(self, event: Event[Any]) -> None:
        entry = er.async_get(self._hass).async_get(str(event.data.get(ATTR_ENTITY_ID)))
        record = self._records.get(entry.unique_id) if entry is not None else None
        if record is not None and record.is_on_probation:
            noting = self._async_note(record, event)
            self._entry.async_create_background_task(self._hass, noting, f"home_agent probation of {record.id}")

    async def _async_note(self, record: AutomationRecord, event: Event[Any]) -> None:
        """Note what the automation would have called in this run."""
        try:
            if (known := await async_record(self._hass, record.id)) is None or not known.is_on_probation:
                return
            variables = await self._async_variables(known, event)
            draft = await async_draft(self._hass, await async_acting(self._hass, known), known.id)
            found = await async_dry_run(self._hass, draft, variables, knows=lambda _: True)
        except HomeAssistantError as err:
            LOGGER.debug("What an automation on probation would do is not known: %s", where_of(err))
            found = None
        known_calls = [call for call in found or () if call.action][:MAX_CALLS]
        run: dict[str, Any] = {
            "at": event.time_fired.isoformat(),
            "calls": [{"action": call.action, "entity_id": [*call.entity_ids]} for call in known_calls],
        }
        if found is not None and not any(call.acts for call in found):
            run["idle"] = True
        self._records.note(record.id, run)

    async def _async_variables(self, record: AutomationRecord, event: Event[Any]) -> dict[str, Any]:
        """Return the variables of a run from its trace, at least what triggered it."""
        key = f"automation.{record.id}"
        run = (await async_list_contexts(self._hass, key)).get(event.context.id)
        if run is None:
            return {"trigger": {"description": event.data.get("source")}}
        trace: Mapping[str, Any] = await async_get_trace(self._hass, key, run["run_id"])
        for path, steps in trace.get("trace", {}).items():
            if path.startswith("trigger") and steps:
                step = steps[0] if isinstance(steps[0], Mapping) else steps[0].as_dict()
                return dict(step.get("changed_variables") or {})
        return {}

    async def _look(self, now: datetime) -> None:
        """End the probations whose time has come."""
        for record in self._records.made_here():
            if record.until is not None and record.until <= now and record.status is ProposalStatus.APPROVED:
                with suppress(HomeAssistantError):  # a file that cannot be read tells nothing else
                    await async_record(self._hass, record.id)
                noted = [await self._async_compared(run) for run in record.noted]
                known = self._records.get(record.id)
                if known is not None and known.until == record.until:
                    self._records.put(replace(known, status=ProposalStatus.TRIED, noted=tuple(noted)))

    async def _async_compared(self, run: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a run with a mark where a person did the opposite soon after it."""
        at = dt_util.parse_datetime(str(run["at"]))
        wanted = {
            entity_id: goal
            for call in run.get("calls", ())
            for entity_id in call["entity_id"]
            if (goal := _goal(str(call["action"]), entity_id)) is not None
        }
        if at is None or not wanted or "recorder" not in self._hass.config.components:
            return run
        ask = get_instance(self._hass).async_add_executor_job
        states: Mapping[str, list[Any]] = await ask(_states, self._hass, at, [*wanted])
        starts = await ask(starts_of, self._hass, at, at + AFTER)
        against = [
            entity_id
            for entity_id, goal in wanted.items()
            if any(
                _is_opposite(state, before, at, goal) and not any(_is_between(begin, before, state) for begin in starts)
                for before, state in pairwise(states.get(entity_id, ()))
            )
        ]
        return {**run, "against": against} if against else run


def _goal(action: str, entity_id: str) -> frozenset[str] | None:
    """Return the states that an action leads an entity to; None if they are not known."""
    domain = entity_id.partition(".")[0]
    goal = DOMAINS.get(domain, UNKNOWN).goals.get(action.partition(".")[2])
    return (goal.one_of | goal.under_way) if goal is not None and goal.one_of else None


def _is_opposite(state: State, before: State, at: datetime, goal: frozenset[str]) -> bool:
    """Return whether a state was reached after a point in time, from another known one, and is not what was wanted."""
    is_known = all(one.state and one.state not in _NOWHERE for one in (before, state))
    return is_known and state.state != before.state and state.last_changed > at and state.state not in goal


def _is_between(begin: datetime, before: State, state: State) -> bool:
    """Return whether Home Assistant started between two states: the second one is written by that start."""
    return before.last_updated < begin <= state.last_updated


def _states(hass: HomeAssistant, at: datetime, entity_ids: list[str]) -> Mapping[str, list[State]]:
    found: Any = history.get_significant_states(
        hass,
        at + timedelta(microseconds=1),  # a state of that very moment is the first one
        at + AFTER,
        entity_ids,
        include_start_time_state=True,
        significant_changes_only=False,
        no_attributes=True,
    )
    return {entity_id: [state for state in rows if isinstance(state, State)] for entity_id, rows in found.items()}
