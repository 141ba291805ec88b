"""What wishes that wait cost when states change that concern none of them: time, and calls into the agent's code."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from statistics import median
import sys
from time import process_time_ns
from types import FrameType
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Wish, WishKind
from custom_components.home_agent.wishes.wishes import MOST, wishes_of

from .house import House

OWN, WISHES = "/custom_components/home_agent/", "/custom_components/home_agent/wishes/"
TIMED = 0.3  # the share of wishes that have a moment; the others wait for an event, each of another entity
AT_ONCE = 500  # changes between two turns of the event loop


def wishes(hass: HomeAssistant, house: House) -> list[Wish]:
    """Return as many wishes as may wait; their entities are not those of the house."""
    [entry] = hass.config_entries.async_entries("home_agent")
    profile = next(iter(entry.runtime_data.profiles))
    now, made = dt_util.utcnow(), []
    for number in range(MOST):
        watch = Watch(entity_ids=(f"binary_sensor.awaited_{number}",), states=("on",))
        when = When(at=now + timedelta(days=1, seconds=number)) if number < MOST * TIMED else When(event=watch)
        wish = Wish(
            id=str(number),
            kind=WishKind.TELL,
            words="tell me",
            text=f"it is on {number}",
            when=when,
            made=now,
            agent_id=profile,
            language="en",
        )
        made.append(wish)
    return made


async def measure(hass: HomeAssistant, house: House, changes: int, rounds: int) -> dict[str, Any]:
    """Return by the number of wishes the milliseconds of so many changes, and the calls into the agent's code."""
    kept = wishes_of(hass)
    found: dict[str, Any] = {"changes": changes}
    times: dict[int, list[float]] = {0: [], MOST: []}
    for turn in range(rounds + 1):  # by turns, as the machine does other things as well; the first warms up
        for count, taken in times.items():
            kept.put(*(wishes(hass, house) if count else ()))
            await hass.async_block_till_done()
            began = process_time_ns()
            await change(hass, house, changes)
            taken += [(process_time_ns() - began) / 1e6] if turn else []
            if turn == rounds:
                own, of_wishes = await calls_in(lambda: change(hass, house, changes))
                found[str(count)] = {"ms": median(taken), "own_calls": own, "wish_calls": of_wishes}
            kept.clear()
            await hass.async_block_till_done()
    return found


async def change(hass: HomeAssistant, house: House, changes: int) -> None:
    """Change states of the house, one after the other."""
    ids = [entity_id for _, entity_id in house.entities]
    for number in range(changes):
        hass.states.async_set(ids[number % len(ids)], f"state {number}")
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)


async def calls_in(work: Callable[[], Any]) -> tuple[int, int]:
    """Return how often the agent's code was called in this thread by some work, and of it that of wishes."""
    own = of_wishes = 0

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal own, of_wishes
        if event == "call" and OWN in (name := frame.f_code.co_filename):
            own += 1
            of_wishes += WISHES in name

    sys.setprofile(count)
    try:
        await work()
    finally:
        sys.setprofile(None)
    return own, of_wishes
