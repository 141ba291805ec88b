"""A day of voice: conversations ten minutes apart, each a command, a question about a state and a follow-up.

For one agent in front of a real server. The clock is moved on, timers as well, in steps: what an agent does by itself
in the meantime happens, and the next step waits until the server has done it.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic_ns
from typing import Any

from . import clock
from .house import OVER_TIME
from .measure import ONE_TOKEN, Measure

STEP = 10.0  # seconds of the day between two looks at what happens
APART = 600.0
THINKING = 10.0
"""Seconds of the day between an answer and the next sentence."""
START = 120.0
"""Seconds of the day from the start of Home Assistant until somebody says something."""
SETTLE = 0.03
NEEDLES = ("11.3", "12.6", "13.7", "14.4", "15.8")
"""Temperatures that nothing else in the house has."""


async def pass_time(measure: Measure, seconds: float, step: float = STEP) -> None:
    """Let so many seconds of the day pass, with all that happens in them; `step` seconds between two looks at it."""
    while seconds > 0:
        clock.pass_time(min(step, seconds))
        seconds -= step
        await asyncio.sleep(SETTLE)
        await measure.hass.async_block_till_done()
        await measure.call(measure.control.wait_until_idle)


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence, and what the model is to do with it."""

    turn: str
    text: str
    plan: Mapping[str, Any]


class Day:
    """What is said and what happens in between."""

    def __init__(self, measure: Measure) -> None:
        """Keep the commands."""
        self._measure = measure
        self._spent: list[dict[str, Any]] = []

    async def spend(self, conversations: int) -> list[dict[str, Any]]:
        """Return for each turn, and for each time between, the requests with what the server said about them."""
        await pass_time(self._measure, START)
        await self._note(0, "start")
        for number in range(conversations):
            if number:
                await self._let_things_happen(number)
            conversation_id: str | None = None
            for said in self._conversation(number):
                await self._measure.call(self._measure.control.plan, **said.plan, keep=True, pace_ms=0)
                began = monotonic_ns()
                conversation_id, speech, _ = await self._measure.say(said.text, conversation_id)
                took = (monotonic_ns() - began) / 1e6
                answered = said.plan.get("needle", "") in speech
                await self._note(number, said.turn, took_ms=took, answered=answered)
                await pass_time(self._measure, THINKING)
                await self._note(number, "thinking")
        return self._spent

    async def _let_things_happen(self, number: int) -> None:
        """Let eleven states change, spread over the time; the twelfth is the temperature that is asked about."""
        for kind in OVER_TIME:
            await pass_time(self._measure, APART / (len(OVER_TIME) + 1))
            self._measure.house.change((kind,))
        self._measure.house.hide_needle(NEEDLES[number], offset=number)
        await pass_time(self._measure, APART / (len(OVER_TIME) + 1))
        await self._note(number, "between")

    def _conversation(self, number: int) -> tuple[Said, ...]:
        house = self._measure.house
        name, lamp = house.dark_lamp(2 * number)
        area, thermometer = house.hide_needle(NEEDLES[number], offset=number)
        switch = {
            "ha_control": {"action": "turn_on", "entity_id": lamp},
            "intent__HassTurnOn": {"name": name, "domain": ["light"]},
        }
        look = {
            "ha_query": {"entity_id": thermometer},
            "homeassistant__GetLiveContext": {"area": area, "domain": ["sensor"]},
        }
        question = {"kind": "question", "needle": NEEDLES[number], "calls": look}
        return (
            Said("command", f"Turn on the {name}", {"kind": "call", "calls": switch, "answer": "It is on."}),
            Said("question", f"What is the temperature in the {area}?", question),
            Said("follow-up", "Is that warm enough to sleep well?", {"kind": "words"}),
        )

    async def _note(self, conversation: int, turn: str, **more: Any) -> None:
        requests = []
        for record in await self._measure.take(reading_ahead=True):
            timings = record.get("timings")
            request = {"for_one_token": record["asked"] == ONE_TOKEN, "cancelled": timings is None}
            if timings:
                request |= {"cached": timings["cache_n"], "read": timings["prompt_n"], "ms": timings["prompt_ms"]}
            requests.append(request)
        self._spent.append({"conversation": conversation, "turn": turn, "requests": requests, **more})
