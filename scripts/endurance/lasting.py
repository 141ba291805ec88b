"""Reloads in the middle of turns, and thousands of turns: what there is before and after, when all sessions are over."""

import asyncio
from collections import Counter
from pathlib import Path
import random
from time import perf_counter

from .home import OURS, SIZE, Counts, Home, more, opened

LATEST = 0.35  # seconds from the beginning of a turn to its reload; a turn takes about as long
AT_ONCE = 25  # turns
BETWEEN = 1.0  # seconds; nobody says more than sixty things in a minute
ALLOWED = SIZE + 10
"""How many more of a kind there may be: what the last turns have left in caches, some of which have one for each entity. A leak has one
per reload or turn."""
MAX_GROWTH = 25.0
"""Megabytes that 5,000 turns may add: a full journal, a full history, and what Python keeps of what it freed."""


async def reload_often(folder: Path, count: int) -> bool:
    """Reload in the middle of turns of every kind; print the figures, and return whether nothing is left of them."""
    async with opened(folder) as home:
        await _each_once(home)
        before = await home.counts()
        print(f"before:             {before.show()}", flush=True)
        answers: Counter[str] = Counter()
        moments = random.Random(0)
        [entry] = home.hass.config_entries.async_entries(OURS)
        for number in range(count):
            kind = home.kinds[number % len(home.kinds)]
            turn = asyncio.create_task(home.say(kind))
            await asyncio.sleep(moments.uniform(0, LATEST))
            answers["in the middle" if not turn.done() else "too late"] += 1
            if not await home.hass.config_entries.async_reload(entry.entry_id):
                raise RuntimeError(f"not loaded again: {entry.state} {entry.reason}")
            answers["answered" if await turn else "without words"] += 1
            await home.hass.async_block_till_done()
        after = await home.counts()
        print(f"after {count:>4} reloads: {after.show()}", flush=True)
        print(", ".join(f"{number} {what}" for what, number in answers.items()))
        return _say(before, after)


async def talk_long(folder: Path, count: int) -> bool:
    """Hold so many turns of every kind; print the figures, and return whether they leave nothing but what is kept."""
    async with opened(folder) as home:
        await _each_once(home)
        before = await home.counts()
        print(f"before:           {before.show()}", flush=True)
        begun, after = perf_counter(), before
        for number in range(0, count, AT_ONCE):
            await asyncio.gather(*(home.say(home.kinds[(number + one) % len(home.kinds)]) for one in range(AT_ONCE)))
            await home.pass_time(AT_ONCE * BETWEEN)
            if (done := number + AT_ONCE) % max(AT_ONCE, count // 5) == 0:
                after = await home.counts()
                print(f"after {done:>5} turns: {after.show()}", flush=True)
        after = await home.counts()
        growth = (after.resident - before.resident) / 2**20
        print(f"{count} turns took {perf_counter() - begun:.0f} s of this clock and {growth:.1f} MB")
        return _say(before, after) and growth <= MAX_GROWTH


async def _each_once(home: Home) -> None:
    """Fill the caches: each kind of turn twice, and a reload."""
    [entry] = home.hass.config_entries.async_entries(OURS)
    for kind in home.kinds * 2:
        said = await home.say(kind)
        print(f"{kind}: {said}", flush=True)
    await home.hass.config_entries.async_reload(entry.entry_id)
    for kind in home.kinds:
        await home.say(kind)


def _say(before: Counts, after: Counts) -> bool:
    left = more(before, after, ALLOWED)
    print(f"left behind: {left or 'nothing'}", flush=True)
    return not left
