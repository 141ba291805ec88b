"""Looks after the automations that were made here: what they use, what they were proved with, and whether they still run.

They are looked at after a start, when automations, scripts or scenes are loaded anew, when entities are renamed or removed or places change,
and every few hours. One that uses something that is written otherwise by now is switched off until an administrator has agreed.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from homeassistant.components.automation import DOMAIN as AUTOMATION, EVENT_AUTOMATION_RELOADED
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import ATTR_ENTITY_ID, SERVICE_TURN_OFF, STATE_ON, STATE_UNAVAILABLE
from homeassistant.core import (
    CALLBACK_TYPE,
    CoreState,
    Event,
    EventStateChangedData,
    HomeAssistant,
    callback,
    valid_entity_id,
)
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.helpers.debounce import Debouncer
from homeassistant.helpers.event import async_track_state_change_event, async_track_time_interval
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util
from homeassistant.util.event_type import EventType

from ..home.exposure import is_shared_at_all
from ..support import issues
from ..support.const import LOGGER
from ..support.errors import where_of
from ..support.kept import Change
from ..turn.proposal import ProposalStatus
from ..wishes.spoken import async_past_moment
from .check import async_depends, async_problems
from .draft import AutomationDraft, async_draft
from .probation import acting, async_record
from .proof import async_proof, async_shortcoming
from .records import AutomationRecord, AutomationRecords, records_of
from .store import automation_store
from .told import async_past_week

_WAIT = 3.0  # seconds after a change: a reload changes many things in a row
_EVERY = timedelta(hours=6)
_SETTLED = timedelta(days=7)
"""How old an automation is before it counts as one that stopped running."""
_LATE = timedelta(hours=1)
_MOVED = frozenset({"area_id", "device_class", "device_id", "entity_id", "labels", "original_device_class"})
"""Changes of entities and devices after which an automation may reach something else."""
_PLACES: tuple[EventType[Any], ...] = (
    ar.EVENT_AREA_REGISTRY_UPDATED,
    fr.EVENT_FLOOR_REGISTRY_UPDATED,
    lr.EVENT_LABEL_REGISTRY_UPDATED,
)
_SCENES_RELOADED = "scene_reloaded"
_KEYS = (issues.AUTOMATION_BROKEN, issues.AUTOMATION_SILENT, issues.AUTOMATION_UNSAFE)


class AutomationHealth:
    """Keeps the Repairs issues of the automations that were made here."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        """Take the entry to which its tasks belong."""
        self._hass, self._entry = hass, entry
        self._records: AutomationRecords = records_of(hass)
        self._used: frozenset[str] = frozenset()
        self._stop: CALLBACK_TYPE | None = None
        self._is_comparing = self._is_stale = False
        self._proved: dict[str, datetime] = {}
        """By id, when examples were last looked for: without history there are none for a while."""
        self._looking = Debouncer(hass, LOGGER, cooldown=_WAIT, immediate=False, function=self._async_look_at_all)

    @callback
    def async_start(self) -> None:
        """Look now and after each change, until the entry is unloaded."""
        hass, unload = self._hass, self._entry.async_on_unload
        unload(self._looking.async_shutdown)
        unload(hass.bus.async_listen(EVENT_AUTOMATION_RELOADED, self._reloaded))
        unload(hass.bus.async_listen(_SCENES_RELOADED, self._reloaded))
        unload(self._untrack)
        self._track()
        unload(hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, self._changed))
        unload(hass.bus.async_listen(dr.EVENT_DEVICE_REGISTRY_UPDATED, self._changed))
        for event_type in _PLACES:  # what they changed they do not say, and they change seldom
            unload(hass.bus.async_listen(event_type, self._place_changed))
        unload(async_track_time_interval(hass, self._every, _EVERY, name="home_agent automations"))
        unload(self._records.async_listen(self._noted))
        unload(async_at_started(hass, self._started))

    @callback
    def _track(self) -> None:
        """Follow the states of what automations use, and of nothing else: a home has thousands of changes a minute."""
        named = (item for record in self._records.made_here() for item in record.depends)
        used = frozenset(filter(valid_entity_id, named))
        if used != self._used:
            self._untrack()
            self._used = used
            self._stop = async_track_state_change_event(self._hass, used, self._used_changed) if used else None

    @callback
    def _untrack(self) -> None:
        if self._stop is not None:
            self._stop()
        self._stop, self._used = None, frozenset()

    @callback
    def _used_changed(self, event: Event[EventStateChangedData]) -> None:
        """Look at once where something was loaded anew, or is a group with other members."""
        old, new = event.data["old_state"], event.data["new_state"]
        before, after = (None if one is None else one.attributes.get(ATTR_ENTITY_ID) for one in (old, new))
        if before != after or old is None or old.state == STATE_UNAVAILABLE:
            self._look_at_used()

    @callback
    def _started(self, hass: HomeAssistant) -> None:
        self._look_at_used()

    @callback
    def _noted(self, changes: Sequence[Change[AutomationRecord]]) -> None:
        """Look again where more has changed than what was noted of a probation, or what it is proved with."""
        self._track()
        if any(_without_notes(change.before) != _without_notes(change.after) for change in changes):
            self._soon()

    async def _every(self, _now: datetime) -> None:
        await self._async_look_at_all()

    @callback
    def _changed(self, event: Event[Any]) -> None:
        """Look again where something was renamed, removed, or moved to where an automation reaches it."""
        if event.data["action"] != "update" or not _MOVED.isdisjoint(event.data["changes"]):
            self._look_at_used()

    @callback
    def _place_changed(self, event: Event[Any]) -> None:
        """Look again where a place is another one; a new one is of nothing yet, and their order says nothing."""
        if event.data["action"] in ("update", "remove"):
            self._look_at_used()

    @callback
    def _reloaded(self, _event: Event[Any]) -> None:
        """Look at once at what automations use: what was rewritten must not run unasked."""
        self._look_at_used()

    @callback
    def _look_at_used(self) -> None:
        if self._records.made_here() and self._hass.state is CoreState.running:
            self._is_stale = True
            if not self._is_comparing:  # hundreds may be added at once: one look is behind all of them
                self._is_comparing = True
                task = self._async_stop_changed()
                self._entry.async_create_background_task(self._hass, task, "home_agent what automations use")
            self._soon()

    @callback
    def _soon(self) -> None:
        if self._records.made_here():
            self._looking.async_schedule_call()

    async def _async_stop_changed(self) -> None:
        """Compare all, and again while something has changed meanwhile."""
        try:
            while self._is_stale:
                await asyncio.sleep(0)  # what changes in a row has changed
                self._is_stale = False
                for record in self._records.made_here():
                    try:
                        await self._async_compare_one(record)
                    except HomeAssistantError as err:  # the others are compared as well
                        LOGGER.warning("An automation could not be looked at: %s", where_of(err))
        finally:
            self._is_comparing = False

    async def _async_compare_one(self, record: AutomationRecord) -> None:
        known = await async_record(self._hass, record.id)
        if known is None or known.status is not ProposalStatus.APPROVED:
            return
        if (draft := await self._async_draft(known)) is not None:
            await self._async_compare(known, draft)

    async def _async_look_at_all(self) -> None:
        """Look at each of them; an error in one does not hide the others."""
        for record in self._records.made_here():
            try:
                await self._async_look(record)
            except HomeAssistantError as err:
                LOGGER.warning("An automation could not be looked at: %s", where_of(err))

    async def _async_look(self, record: AutomationRecord) -> None:
        hass = self._hass
        entity_id = er.async_get(hass).async_get_entity_id(AUTOMATION, AUTOMATION, record.id)
        item = await automation_store(hass).async_item(record.id)
        if item is None and entity_id is None:  # it was deleted in the editor
            self._records.forget(record.id)
            for key in _KEYS:
                issues.async_set(hass, key, record.id, False)
            return
        state = hass.states.get(entity_id) if entity_id else None
        record = await async_record(hass, record.id) or record
        draft = await self._async_draft(record)
        if draft is not None:  # first: one that is broken may run, too
            record = await self._async_compare(record, draft)
        why = "" if draft is not None else "?"
        if draft is not None:
            found = await async_problems(hass, draft, knows=lambda one: is_shared_at_all(hass, one))
            why = found[0].sentence if found else ""
        is_broken = state is None or state.state == STATE_UNAVAILABLE or bool(why)
        link = f"/config/automation/edit/{record.id}"
        issues.async_set(
            hass, issues.AUTOMATION_BROKEN, record.id, is_broken, automation=record.alias, reason=why, link=link
        )
        if draft is None or is_broken:
            return
        await self._async_prove(record, draft, link)
        if state is not None and state.state == STATE_ON and not record.is_on_probation:
            await self._async_look_for_silence(record, draft, state.attributes.get("last_triggered"), link)

    async def _async_draft(self, record: AutomationRecord) -> AutomationDraft | None:
        """Return the automation as it is written now, or as it will act; None if it is invalid or gone."""
        item = await automation_store(self._hass).async_item(record.id)
        config: Mapping[str, Any] | None = item.config if item else None
        if record.is_on_probation:
            config = acting(record, config)
        if config is None:
            return None
        try:
            return await async_draft(self._hass, config, record.id, is_there=True)
        except HomeAssistantError:
            return None

    async def _async_compare(self, record: AutomationRecord, draft: AutomationDraft) -> AutomationRecord:
        """Switch an automation off whose scripts, scenes or blueprint are written otherwise than when it was judged."""
        depends = await async_depends(self._hass, draft)
        known = self._records.get(record.id) or record
        if depends == known.depends or known.status is not ProposalStatus.APPROVED:
            return known
        is_rewritten = known.fingerprint and draft.fingerprint != known.fingerprint
        if is_rewritten and all(known.depends.get(key, now) == now for key, now in depends.items()):
            # its owner rewrote it, and nothing that it used before: that is a decision
            known = replace(known, depends=depends, fingerprint=draft.fingerprint, examples=())
            self._records.put(known)
            return known
        entity_id = er.async_get(self._hass).async_get_entity_id(AUTOMATION, AUTOMATION, record.id)
        if entity_id is not None:
            await self._hass.services.async_call(
                AUTOMATION, SERVICE_TURN_OFF, {ATTR_ENTITY_ID: entity_id}, blocking=True
            )
        known = replace(known, status=ProposalStatus.DOUBTED)
        self._records.put(known)
        await self._records.async_flush()
        return known

    async def _async_prove(self, record: AutomationRecord, draft: AutomationDraft, link: str) -> None:
        """Check its examples and what must never happen again; make the examples of a new one."""
        now = dt_util.utcnow()
        if not record.examples and now - self._proved.get(record.id, record.made - _EVERY) >= _EVERY:
            self._proved[record.id] = now
            examples = await async_proof(self._hass, draft)
            known = self._records.get(record.id)
            if examples and known is not None:
                self._records.put(replace(known, examples=tuple(examples), fingerprint=draft.fingerprint))
            record = known or record
        why = await async_shortcoming(self._hass, record, draft)
        issues.async_set(
            self._hass,
            issues.AUTOMATION_UNSAFE,
            record.id,
            bool(why),
            automation=record.alias,
            reason=why,
            said=record.said,
            link=link,
        )

    async def _async_look_for_silence(
        self, record: AutomationRecord, draft: AutomationDraft, last: datetime | None, link: str
    ) -> None:
        """Raise the issue of one that should have run by what was recorded, and did not."""
        runs: list[datetime] = []
        if dt_util.utcnow() - record.made > _SETTLED and "recorder" in self._hass.config.components:
            try:
                runs = [run.at for run in (await async_past_week(self._hass, draft)).runs]
            except HomeAssistantError, TimeoutError:
                return
        due = [at for at in runs if at > record.made and at < dt_util.utcnow() - _LATE]
        is_silent = bool(due) and (last is None or last < due[-1] - _LATE)
        at = await async_past_moment(self._hass, self._hass.config.language, due[-1]) if due else ""
        issues.async_set(
            self._hass, issues.AUTOMATION_SILENT, record.id, is_silent, automation=record.alias, at=at, link=link
        )


def _without_notes(record: AutomationRecord | None) -> AutomationRecord | None:
    return None if record is None else replace(record, noted=(), noted_before=0, examples=())
