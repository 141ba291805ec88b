"""What an automation was proved with: pieces of the past in which it has to run, or must not, and what must never be so."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..support.localize import async_text
from ..wishes.spoken import async_past_moment
from .draft import AutomationDraft
from .guards import has_guard
from .records import AutomationRecord
from .replay import async_replay
from .timeline import Timeline
from .told import async_past

MOST_RUNS = 3
MOST_HELD = 2
_BEFORE, _AFTER = timedelta(minutes=20), timedelta(minutes=1)
_NEAR = timedelta(seconds=2)


async def async_proof(hass: HomeAssistant, draft: AutomationDraft) -> Sequence[Mapping[str, Any]]:
    """Return examples from the last seven days: when it would have run, and when a condition held it back. None without history."""
    if "recorder" not in hass.config.components:
        return ()
    try:
        timeline = await async_past(hass, draft)
        found = await async_replay(hass, draft, timeline)
    except HomeAssistantError, TimeoutError:
        return ()
    moments = [(run.at, True) for run in found.runs[-MOST_RUNS:]] + [
        (held.at, False) for held in found.held[-MOST_HELD:]
    ]
    return [
        {"at": at.isoformat(), "runs": runs, "timeline": timeline.around(at, _BEFORE, _AFTER).as_dict()}
        for at, runs in moments
    ]


async def async_shortcoming(hass: HomeAssistant, record: AutomationRecord, draft: AutomationDraft) -> str:
    """Return why an automation is no longer what it was proved to be, in Home Assistant's language; "" if it still is."""
    language = hass.config.language
    if "use_blueprint" not in draft.config and not all(has_guard(draft.config, item) for item in record.never):
        return await async_text(hass, language, "automation_lost_never")
    for example in record.examples:
        at = dt_util.parse_datetime(str(example["at"]))
        try:
            found = await async_replay(hass, draft, Timeline.from_dict(hass, example["timeline"]))
        except HomeAssistantError, KeyError, TypeError, ValueError:
            continue
        if at is None or found.not_replayed:
            continue
        runs = any(abs(run.at - at) <= _NEAR for run in found.runs)
        if runs is not bool(example["runs"]):
            key = "automation_would_not_run_now" if example["runs"] else "automation_would_run_now"
            return await async_text(hass, language, key, at=await async_past_moment(hass, language, at))
    return ""
