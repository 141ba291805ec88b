"""Reloads in the middle of turns, and thousands of turns: what there is before and after, when all sessions are over."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
import random
from time import perf_counter

from .counts import Counts, growth, left_behind
from .home import LOOKUPS, OURS, Home, opened

LATEST = 0.35  # seconds from the beginning of a turn to its reload; a turn takes about as long
AT_ONCE = 25  # turns
BETWEEN = 1.0  # seconds; nobody says more than sixty things in a minute
STAGES = 10
"""How often it is counted; less often where there is little to count. Sessions end each time: Home Assistant keeps them for five minutes,
each with all that its turns had of the home, 0.7 MB here."""


async def reload_often(folder: Path, count: int) -> bool:
    """Reload in the middle of turns of every kind, every second time change settings of search or memory instead.

    Print the figures, and return whether nothing is left of them.
    """
    async with opened(folder) as home:
        await _each_once(home)
        counted = [await _count(home, 0, "reloads")]
        answers: Counter[str] = Counter()
        moments = random.Random(0)
        stages = _stages(count, 1)
        [entry] = home.hass.config_entries.async_entries(OURS)
        for number in range(count):
            kind = home.kinds[number % len(home.kinds)]
            turn = asyncio.create_task(home.say(kind))
            await asyncio.sleep(moments.uniform(0, LATEST))
            answers["in the middle" if not turn.done() else "too late"] += 1
            if number % 2:
                home.change_settings(number // 2)
                answers["changes"] += 1
            elif not await home.hass.config_entries.async_reload(entry.entry_id):
                raise RuntimeError(f"not loaded again: {entry.state} {entry.reason}")
            answers["answered" if await turn else "without words"] += 1
            await home.hass.async_block_till_done()
            if issue_id := home.trouble():
                raise RuntimeError(f"Repairs tells of {issue_id}")
            if number + 1 in stages:
                counted.append(await _count(home, number + 1, "reloads"))
        print(", ".join(f"{number} {what}" for what, number in answers.items()))
        return _say(counted)


async def talk_long(folder: Path, count: int) -> bool:
    """Hold so many turns of every kind; print the figures, and return whether they leave nothing but what is kept."""
    async with opened(folder) as home:
        await _each_once(home)
        counted = [await _count(home, 0, "turns")]
        stages, begun = _stages(count, AT_ONCE), perf_counter()
        for number in range(0, count, AT_ONCE):
            await asyncio.gather(*(home.say(home.kinds[(number + one) % len(home.kinds)]) for one in range(AT_ONCE)))
            await home.pass_time(AT_ONCE * BETWEEN)
            if number + AT_ONCE in stages:
                counted.append(await _count(home, number + AT_ONCE, "turns"))
        print(f"{count} turns took {perf_counter() - begun:.0f} s of this clock")
        return _say(counted)


def _stages(count: int, at_once: int) -> list[int]:
    """Return after how many it is counted: at least in the middle and at the end, of a round each."""
    rounds = -(-count // at_once)
    parts = max(2, min(STAGES, rounds // 5))
    return [rounds * part // parts * at_once for part in range(1, parts + 1)]


async def _count(home: Home, done: int, what: str) -> Counts:
    counts = await home.counts()
    print(f"after {done:>5} {what}: {counts.show()}", flush=True)
    return counts


async def _each_once(home: Home) -> None:
    """Let what is loaded once be loaded: each kind of turn twice, and a reload."""
    [entry] = home.hass.config_entries.async_entries(OURS)
    for kind in home.kinds * 2:
        said = await home.say(kind)
        print(f"{kind}: {said}", flush=True)
    await home.hass.config_entries.async_reload(entry.entry_id)
    for number in range(len(LOOKUPS)):
        home.change_settings(number)
        await home.hass.async_block_till_done()
    for kind in home.kinds:
        await home.say(kind)


def _say(counted: Sequence[Counts]) -> bool:
    left = left_behind(counted)
    print(f"the second half added {growth(counted):.1f} MB")
    print(f"left behind: {left or 'nothing'}", flush=True)
    return not left
