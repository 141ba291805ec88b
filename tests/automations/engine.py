"""The engine itself: an automation in Home Assistant while a script of changes is played with the clock turned."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
import random
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Event, HomeAssistant, State, callback
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
from pytest_homeassistant_custom_component.common import async_fire_time_changed_exact

from custom_components.home_agent.automations.recorded import PastChange, PastEvent
from custom_components.home_agent.automations.timeline import Timeline

BEGIN = datetime(2026, 3, 26, 0, 0, tzinfo=UTC)
"""A Thursday; on Sunday clocks are put forward in Berlin."""
END = BEGIN + timedelta(days=4)
AFTER = timedelta(milliseconds=700)
"""When within its second a change comes: later than any timer that is due at its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What happens."""

    initial: Mapping[str, tuple[str, Mapping[str, Any]]]
    changes: Sequence[tuple[datetime, str, str | None, Mapping[str, Any]]]
    events: Sequence[tuple[datetime, str, Mapping[str, Any]]] = field(default_factory=list)
    begin: datetime = BEGIN
    end: datetime = END

    def timeline(self) -> Timeline:
        """Return it as it would have been recorded."""
        current = {
            entity_id: State(entity_id, state, dict(attributes), last_changed=self.begin, last_updated=self.begin)
            for entity_id, (state, attributes) in self.initial.items()
        }
        start = dict(current)
        changes: list[PastChange] = []
        for at, entity_id, state, attributes in self.changes:
            old = current.pop(entity_id, None)
            new = None
            if state is not None:
                same = old is not None and old.state == state
                if old is not None and same and dict(old.attributes) == dict(attributes):
                    current[entity_id] = old
                    continue
                changed = old.last_changed if old is not None and same else at
                new = State(entity_id, state, dict(attributes), last_changed=changed, last_updated=at)
                current[entity_id] = new
            changes.append(PastChange(at=at, entity_id=entity_id, state=new))
        return Timeline(
            since=self.begin,
            until=self.end,
            entity_ids=frozenset({*self.initial, *(change.entity_id for change in changes)}),
            start=start,
            changes=tuple(changes),
            events=tuple(PastEvent(at=at, event_type=kind, data=data) for at, kind, data in self.events),
            event_types=frozenset(kind for _, kind, _ in self.events),
        )


def scripted(seed: int, entities: Mapping[str, Sequence[tuple[str | None, Mapping[str, Any]]]], count: int) -> Script:
    """Return a script in which entities take one of their values at random moments."""
    dice = random.Random(seed)
    seconds = int((END - BEGIN).total_seconds())
    moments = sorted(dice.sample(range(60, seconds - 60), count))
    changes = []
    for moment in moments:
        entity_id = dice.choice(sorted(entities))
        state, attributes = dice.choice(entities[entity_id])
        changes.append((BEGIN + timedelta(seconds=moment) + AFTER, entity_id, state, attributes))
    initial = {entity_id: values[0] for entity_id, values in entities.items() if values[0][0] is not None}
    return Script(initial=initial, changes=changes)  # type: ignore[arg-type]


async def run_times(
    hass: HomeAssistant,
    freezer: FrozenDateTimeFactory,
    config: Mapping[str, Any],
    script: Script,
    *,
    dues: Collection[timedelta] = (),
    every: timedelta = timedelta(minutes=30),
    also: Collection[datetime] = (),
) -> list[datetime]:
    """Return when Home Assistant runs an automation, to the second; `dues` are what its timers take after a change."""
    freezer.move_to(script.begin)
    for entity_id, (state, attributes) in script.initial.items():
        hass.states.async_set(entity_id, state, dict(attributes))
    found: list[datetime] = []

    @callback
    def note(event: Event[Any]) -> None:
        found.append(dt_util.utcnow().replace(microsecond=0))

    hass.bus.async_listen("automation_triggered", note)
    assert await async_setup_component(hass, "automation", {"automation": {"alias": "Test", "id": "test", **config}})
    await hass.async_block_till_done()
    assert hass.states.get("automation.test").state == "on"  # type: ignore[union-attr]
    moments = {script.begin + number * every for number in range(int((script.end - script.begin) / every) + 1)}
    happenings = [row[0] for row in script.changes] + [row[0] for row in script.events]
    moments |= {at + timedelta(seconds=seconds) for at in also for seconds in (0, 1)}
    moments |= {at + due for at in happenings for due in (timedelta(), *dues)}
    for moment in sorted(moments):
        if moment > script.end:
            break
        freezer.move_to(moment.replace(microsecond=0) + timedelta(milliseconds=600))
        async_fire_time_changed_exact(hass)
        await _settled()
        freezer.move_to(
            max(moment, moment.replace(microsecond=0) + timedelta(milliseconds=600)) + timedelta(milliseconds=1)
        )
        if moment.microsecond:
            async_fire_time_changed_exact(hass)
            await _settled()
        for at, entity_id, became, attributes in script.changes:
            if at != moment:
                continue
            if became is None:
                hass.states.async_remove(entity_id)
            else:
                hass.states.async_set(entity_id, became, dict(attributes))
        for at, kind, data in script.events:
            if at == moment:
                hass.bus.async_fire(kind, dict(data))
        await _settled()
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.test"}, blocking=True)
    return found


async def _settled() -> None:
    """Let everything happen but the end of delays."""
    for _ in range(12):
        await asyncio.sleep(0)


def is_same(told: Sequence[datetime], found: Sequence[datetime]) -> bool:
    """Return whether moments are the same, within the second in which Home Assistant sets its timers off."""
    return len(told) == len(found) and all(
        abs((one - other).total_seconds()) <= 1 for one, other in zip(told, found, strict=True)
    )
