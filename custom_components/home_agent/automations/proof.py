"""What an automation was proved with: pieces of the past in which it has to run, or must not, and what must never be so."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util

from ..support.localize import async_text
from ..wishes.spoken import async_past_moment
from .draft import AutomationDraft
from .guards import has_guard
from .records import AutomationRecord
from .replay import Replay, async_replay
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
    moments = [(dt_util.parse_datetime(str(example["at"])), bool(example["runs"])) for example in record.examples]
    for number, example in enumerate(record.examples):
        at = moments[number][0]
        try:
            found = await async_replay(hass, draft, Timeline.from_dict(hass, example["timeline"]))
        except HomeAssistantError, KeyError, TypeError, ValueError:
            continue
        if at is None or found.not_replayed:
            continue
        runs = _pairs(moments, found).get(number, False)
        if runs is not moments[number][1]:
            key = "automation_would_not_run_now" if example["runs"] else "automation_would_run_now"
            return await async_text(hass, language, key, at=await async_past_moment(hass, language, at))
    return ""


def _pairs(moments: Sequence[tuple[datetime | None, bool]], found: Replay) -> Mapping[int, bool]:
    """Return by the number of an example whether it runs in a replay; without those that have no trigger of their own in it.

    Each trigger belongs to one example at most, the nearest: a sensor that bounces triggers twice within a moment.
    """
    came = [(run.at, True) for run in found.runs] + [(held.at, False) for held in found.held]
    near = sorted(
        (abs(then - at), ran is not runs, number, place)
        for number, (at, runs) in enumerate(moments)
        for place, (then, ran) in enumerate(came)
        if at is not None and abs(then - at) <= _NEAR
    )
    pairs: dict[int, bool] = {}
    taken: set[int] = set()
    for _, _, number, place in near:
        if number not in pairs and place not in taken:
            pairs[number] = came[place][1]
            taken.add(place)
    return pairs
