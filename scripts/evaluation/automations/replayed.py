"""What Home Agent's replay makes of a week that Home Assistant has just played."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from homeassistant.core import HomeAssistant

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.recorded import PastChange
from custom_components.home_agent.automations.replay import async_replay
from custom_components.home_agent.automations.timeline import Timeline

from .week import BEGIN, END, Played, Row, local


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """When an automation would have run, to the second."""

    runs: Sequence[str]
    held: int
    left_out: Sequence[str]
    """What cannot be replayed, and why."""


async def async_replayed(hass: HomeAssistant, automation: Row, played: Played) -> Replayed:
    """Return what the replay makes of a week."""
    draft = await async_draft(hass, automation)
    timeline = Timeline(
        since=BEGIN.astimezone(UTC),
        until=END.astimezone(UTC),
        entity_ids=frozenset({*played.start, *(entity_id for _, entity_id, _ in played.changes)}),
        start=played.start,
        changes=tuple(PastChange(at=at, entity_id=entity_id, state=state) for at, entity_id, state in played.changes),
    )
    found = await async_replay(hass, draft, timeline)
    return Replayed(
        runs=[local(run.at) for run in found.runs],
        held=len(found.held),
        left_out=[f"{path}: {why}" for path, why in found.not_replayed],
    )
