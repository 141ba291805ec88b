"""Runs planned service calls and tells what came of them."""

import asyncio
from collections.abc import Iterable, Sequence

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import Context, Event, EventStateChangedData, EventStateReportedData, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.event import async_track_state_change_event, async_track_state_report_event
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..safety.plan import ServiceCall
from ..safety.tool import ToolRefusal
from .states import result_of

SETTLE = 1.0  # seconds to wait for states to follow; many integrations push them after the call has returned
MAX_RESULTS = 25  # entities told one by one


async def async_execute(hass: HomeAssistant, calls: Sequence[ServiceCall], context: Context) -> JsonValueType:
    """Make the calls in their order and return the new states, and which entity failed with which error.

    Raises `ToolRefusal` when nothing worked.
    """
    entity_ids = tuple(dict.fromkeys(entity_id for call in calls for entity_id in call.entity_ids))
    settling = _Settling(hass, entity_ids)
    try:
        failed = await _async_make(hass, calls, context)
        if len(failed) == len(entity_ids):
            raise ToolRefusal("; ".join(f"{entity_id}: {error}" for entity_id, error in failed.items()))
        await settling.async_wait(set(entity_ids) - set(failed))
    finally:
        settling.stop()
    return _result(hass, calls, entity_ids, failed)


async def _async_make(hass: HomeAssistant, calls: Iterable[ServiceCall], context: Context) -> dict[str, str]:
    """Make the calls; return what failed, entity id and error.

    One call per entity, as Home Assistant's own intents make them: an error then belongs to one of them.
    """
    failed: dict[str, str] = {}
    done: dict[str, list[str]] = {}

    async def make(call: ServiceCall, entity_id: str) -> None:
        try:
            await hass.services.async_call(
                call.domain, call.service, dict(call.data), True, context, target={ATTR_ENTITY_ID: entity_id}
            )
        except (HomeAssistantError, probatio.Invalid) as err:
            before = f" ({', '.join(done[entity_id])} was done before)" if entity_id in done else ""
            failed[entity_id] = f"{str(err) or type(err).__name__}{before}"
        else:
            done.setdefault(entity_id, []).append(call.service)

    for call in calls:
        waiting = [entity_id for entity_id in call.entity_ids if entity_id not in failed]
        await asyncio.gather(*(make(call, entity_id) for entity_id in waiting))
    return failed


class _Settling:
    """Notices which entities wrote a state, the same one included."""

    def __init__(self, hass: HomeAssistant, entity_ids: Iterable[str]) -> None:
        """Start to listen."""
        self._written: set[str] = set()
        self._news = asyncio.Event()
        watched = list(entity_ids)
        self._stops = (
            async_track_state_change_event(hass, watched, self._note),
            async_track_state_report_event(hass, watched, self._note),
        )

    @callback
    def _note(self, event: Event[EventStateChangedData] | Event[EventStateReportedData]) -> None:
        self._written.add(event.data["entity_id"])
        self._news.set()

    async def async_wait(self, entity_ids: set[str]) -> None:
        """Return when all of these have written a state, after `SETTLE` at the latest."""
        try:
            async with asyncio.timeout(SETTLE):
                while not entity_ids <= self._written:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            pass  # the state as it is now is told then

    def stop(self) -> None:
        """Stop to listen."""
        for stop in self._stops:
            stop()


def _result(
    hass: HomeAssistant, calls: Iterable[ServiceCall], entity_ids: Sequence[str], failed: dict[str, str]
) -> JsonValueType:
    touched: dict[str, set[str]] = {}
    for call in calls:
        for entity_id in call.entity_ids:
            touched.setdefault(entity_id, set()).update(call.data)
    worked = [entity_id for entity_id in entity_ids if entity_id not in failed]
    rows = [_row(hass, entity_id, touched[entity_id]) for entity_id in worked[:MAX_RESULTS]]
    if len(entity_ids) == 1:
        return rows[0]
    result: JsonObjectType = {"count": len(worked), "entities": [*rows]}
    if len(worked) > MAX_RESULTS:
        result["note"] = f"{len(worked) - MAX_RESULTS} more were changed and are not listed."
    if failed:
        result["failed"] = [{"entity_id": entity_id, "error": error} for entity_id, error in failed.items()]
    return result


def _row(hass: HomeAssistant, entity_id: str, touched: Iterable[str]) -> JsonObjectType:
    if (state := hass.states.get(entity_id)) is None:
        return {"entity_id": entity_id, "new_state": None, "note": "It is gone."}
    return result_of(state, sorted(touched))
