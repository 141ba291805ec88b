"""What automations by talking cost in a home that has many: state changes, a draft that is checked, a week that is replayed, a look at all."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
import gc
from pathlib import Path
import random
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Any

from homeassistant.components.automation import EVENT_AUTOMATION_RELOADED
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import area_registry as ar
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import yaml  # type: ignore[import-untyped]

from custom_components.home_agent.automations.check import async_depends, async_problems
from custom_components.home_agent.automations.draft import AutomationDraft, async_draft
from custom_components.home_agent.automations.recorded import PastChange
from custom_components.home_agent.automations.records import AutomationRecord, records_of
from custom_components.home_agent.automations.replay import async_replay
from custom_components.home_agent.automations.store import automation_store
from custom_components.home_agent.automations.timeline import Timeline
from custom_components.home_agent.automations.words import async_words
from custom_components.home_agent.turn.proposal import ProposalStatus

from .house import AREA, House
from .wishes import calls_in, change

WRITTEN, MADE = 300, 100
"""Automations of the file, and how many of them were made by talking."""
REPLAYED = 20_000
"""Changes of a week of one sensor and one detector."""
WEEK = timedelta(days=7)
LINE = "automation: !include automations.yaml"
TICK = 0.002  # seconds between two looks at the event loop
_QUIET = 6.0  # seconds after which a look at all of them is over


async def measure(hass: HomeAssistant, house: House, changes: int, rounds: int) -> dict[str, Any]:
    """Return milliseconds and counts: see the keys."""
    drafts = await _build(hass, house)
    draft = await async_draft(hass, _config(hass, house, 0), "new")
    timeline = _week(house)
    found: dict[str, Any] = await _measure_changes(hass, house, drafts, changes, rounds)
    for key, work in {
        "check": lambda: async_problems(hass, draft, knows=lambda _: True),
        "words": lambda: async_words(hass, "en", draft, knows=lambda _: True),
        "list": automation_store(hass).async_automations,
        "replay": lambda: async_replay(hass, draft, timeline),
    }.items():
        found[key] = await _measured(work, rounds)
    ran = await async_replay(hass, draft, timeline)
    if not ran.runs or ran.until < timeline.until:
        raise RuntimeError("the week was not replayed")
    found["replay"]["runs"] = len(ran.runs)
    await hass.services.async_call("automation", "turn_on", {"entity_id": "all"}, blocking=True)
    began = process_time_ns()
    found["look"] = await _measured(lambda: _looked_at(hass), 1, warm=False)
    found["look"]["ms"] = (process_time_ns() - began) / 1e6  # of the processor: most of the time it waits
    return found


async def _looked_at(hass: HomeAssistant) -> None:
    hass.bus.async_fire(EVENT_AUTOMATION_RELOADED)
    await asyncio.sleep(_QUIET)


async def _measured(work: Callable[[], Awaitable[Any]], rounds: int, *, warm: bool = True) -> dict[str, Any]:
    """Return the median milliseconds of some work, and the longest time for which nothing else could run.

    Python's collection of all objects of the home, half a second of this process, belongs to no work: it is done before.
    """
    times: list[float] = []
    longest = 0.0
    for turn in range(rounds + warm):
        gc.collect()
        gc.disable()
        watch = asyncio.create_task(_longest_block())
        await asyncio.sleep(TICK * 2)
        began = perf_counter_ns()
        await work()
        taken = (perf_counter_ns() - began) / 1e6
        await asyncio.sleep(TICK * 2)
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        gc.enable()
        if turn >= warm:
            times.append(taken)
            longest = max(longest, _BLOCKS[-1])
    return {"ms": median(times), "block_ms": longest}


_BLOCKS: list[float] = [0.0]


async def _longest_block() -> None:
    """Note the longest time between two turns of the event loop, in milliseconds, until it is cancelled."""
    _BLOCKS.append(0.0)
    last = perf_counter_ns()
    while True:
        await asyncio.sleep(TICK)
        now = perf_counter_ns()
        _BLOCKS[-1] = max(_BLOCKS[-1], (now - last) / 1e6 - TICK * 1e3)
        last = now


def _config(hass: HomeAssistant, house: House, number: int) -> dict[str, Any]:
    """Return one automation of an area; each fourth one acts on all lights of the area."""
    areas = len(house.entities) // len(AREA)
    first = number % areas * len(AREA)
    ids = [entity_id for _, entity_id in house.entities[first : first + len(AREA)]]
    area = list(ar.async_get(hass).async_list_areas())[number % areas]
    where = {"area_id": area.id} if number % 4 == 0 else {"entity_id": [ids[0], ids[8]]}
    return {
        "alias": f"{area.name} {number}",
        "triggers": [
            {"trigger": "state", "entity_id": ids[2], "from": "off", "to": "on"},
            {"trigger": "numeric_state", "entity_id": ids[1], "below": 19},
        ],
        "conditions": [
            {"condition": "time", "after": "06:00:00", "before": "23:00:00"},
            {"condition": "template", "value_template": f"{{{{ states('{ids[1]}') | float(0) < 22 }}}}"},
        ],
        "actions": [{"if": [{"condition": "state", "entity_id": ids[4], "state": "off"}], "then": [
            {"action": "light.turn_on", "target": where},
        ]}],
        "mode": "single",
    }  # fmt: skip


async def _build(hass: HomeAssistant, house: House) -> Sequence[AutomationDraft]:
    """Write the automations; return those that were made here."""
    folder = Path(hass.config.config_dir)
    written = [{"id": str(number), **_config(hass, house, number)} for number in range(WRITTEN)]
    await hass.async_add_executor_job(_write, folder, yaml.safe_dump(written))
    assert await async_setup_component(hass, "automation", {})
    await hass.services.async_call("automation", "reload", blocking=True)
    await hass.async_block_till_done()
    if len(hass.states.async_entity_ids("automation")) != WRITTEN:
        raise RuntimeError("the automations were not loaded")
    return [await async_draft(hass, _config(hass, house, number), str(number)) for number in range(MADE)]


def _write(folder: Path, automations: str) -> None:
    """Write the automations, and the line that reads them, which new homes have."""
    (folder / "automations.yaml").write_text(automations)
    configuration = folder / "configuration.yaml"
    if LINE not in (text := configuration.read_text()):
        configuration.write_text(f"{text}\n{LINE}\n")


async def _records(hass: HomeAssistant, drafts: Sequence[AutomationDraft]) -> list[AutomationRecord]:
    """Return what is kept of automations that were made here."""
    record = AutomationRecord(
        id="", user_id=None, status=ProposalStatus.APPROVED, alias="", agent_id="", said="", made=dt_util.utcnow(), config={}
    )  # fmt: skip
    return [
        replace(
            record,
            id=str(draft.id),
            alias=draft.alias,
            fingerprint=draft.fingerprint,
            depends=await async_depends(hass, draft),
        )
        for draft in drafts
    ]


async def _measure_changes(
    hass: HomeAssistant, house: House, drafts: Sequence[AutomationDraft], changes: int, rounds: int
) -> dict[str, Any]:
    """Return by the number of automations made here what so many state changes take, which automations do not wait for."""
    records = records_of(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)
    made = await _records(hass, drafts)
    found: dict[str, Any] = {"changes": changes}
    times: dict[int, list[float]] = {0: [], MADE: []}
    for _ in range(2):  # by turns, as the machine does other things as well
        for count, taken in times.items():
            records.clear()
            records.put(*(made if count else ()))
            await asyncio.sleep(_QUIET)  # they are looked at
            for turn in range(rounds + 1):  # the first warms up
                began = process_time_ns()
                await change(hass, house, changes)
                taken += [(process_time_ns() - began) / 1e6] if turn else []
            own, _ = await calls_in(lambda: change(hass, house, changes))
            found[str(count)] = {"ms": median(taken), "own_calls": own}
    return found


def _week(house: House) -> Timeline:
    """Return a week in which the thermometer and the motion detector of the first area change all the time."""
    ids = {index: house.entities[index][1] for index in (1, 2, 4)}
    chance, until = random.Random(1), dt_util.utcnow()
    since, step = until - WEEK, WEEK / REPLAYED
    start = {ids[1]: State(ids[1], "20.1"), ids[2]: State(ids[2], "off"), ids[4]: State(ids[4], "off")}
    changes: list[PastChange] = []
    for number in range(1, REPLAYED):
        at, index = since + number * step, 1 + number % 2
        value = f"{chance.uniform(17, 24):.1f}" if index == 1 else chance.choice(("on", "off"))
        state = State(ids[index], value, last_changed=at, last_updated=at)
        changes.append(PastChange(at=at, entity_id=ids[index], state=state))
    return Timeline(
        since=since, until=until, entity_ids=frozenset(ids.values()), start=start, changes=tuple(changes)
    )  # fmt: skip
