"""Wishes over kills: each is done exactly once, or it is told why not. Who watches is outside of what is killed.

The home (wishing.py) is killed at any moment: while it starts, while a wish is made, cancelled, begun, done or told. What it was told is
made, changed or cancelled counts from then on; what was on its way may be so or not.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
import json
from pathlib import Path
import random
import sys
import tempfile
import time
from typing import Any

from .witness import STATES, WITNESS, lamp, sensor

ROOT = Path(__file__).resolve().parents[2]
SHORTEST, LONGEST = 0.2, 5.0  # seconds from the start of the home, or of its process, to the kill
SPAN = 60  # seconds of the longest; fewer where there are few kills
LAST = 60  # seconds more for the last wishes
BOOT = 120  # seconds, at most
EARLY = 0.05  # seconds that the clocks of two processes may differ in a rounded number
IN_TIME = 2.0  # seconds
SO, NOT_SO = "binary_sensor.so", "binary_sensor.not_so"


@dataclass(slots=True, kw_only=True)
class Asked:
    """One wish, and what is known of it outside."""

    number: int
    seconds: int
    event: bool
    condition: str = ""
    until: float | None = None
    made: bool = False
    """Whether it was acknowledged; otherwise it may be there or not."""
    moments: set[float] = field(default_factory=set)
    """When it may be due; of two it was not acknowledged which one."""
    flipped: float | None = None
    cancelled: bool | None = False
    """None: that was on its way."""

    @property
    def request(self) -> dict[str, Any]:
        """What the home is told to make it."""
        asked = {"number": self.number, "seconds": self.seconds, "event": self.event, "condition": self.condition}
        return {"do": "make", **asked, "until": self.until}

    @property
    def earliest(self) -> float:
        """The earliest moment at which it may be done."""
        return self.flipped + self.seconds if self.event and self.flipped else min(self.moments, default=0.0)


@dataclass(slots=True)
class Found:
    """What was written of one wish."""

    effects: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """Reasons with which it was told that it was not done."""


@dataclass(slots=True)
class Verdict:
    """The figures."""

    kills: int
    wishes: int
    outcomes: Counter[str]
    wrong: list[str]

    @property
    def is_good(self) -> bool:
        """Whether each wish was done exactly once, or it was told why not."""
        return not self.wrong

    def show(self) -> str:
        """Return the figures in one line each."""
        rows = [f"{count:>5} {what}" for what, count in sorted(self.outcomes.items())]
        total = f"{self.kills} kills, {self.wishes} wishes, {len(self.wrong)} wrong"
        return "\n".join((*rows, *(f"wrong: {one}" for one in self.wrong), total))


class Process:
    """The home as a process of its own."""

    def __init__(self, folder: Path) -> None:
        """Take its folder."""
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, *arguments: str) -> None:
        """Start it; it is not there yet."""
        with (self._folder / "home.out").open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "scripts.endurance.wishing", str(self._folder), *arguments),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=out,
            )

    async def answer(self) -> Any:
        """Return the next answer. Raises `EOFError` if there is none, since it was killed."""
        assert self._process is not None
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            with suppress(json.JSONDecodeError, KeyError, TypeError):  # others write to its output as well
                return json.loads(line)["answer"]
        raise EOFError

    async def ask(self, **command: Any) -> Any:
        """Return what it acknowledges. Raises `EOFError` if it was killed before."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            await self._process.stdin.drain()
        except (ConnectionError, OSError) as err:
            raise EOFError from err
        return await self.answer()

    async def wait(self) -> int:
        """Wait until it has ended by itself."""
        assert self._process is not None
        return (await self._process.communicate())[0] is None or self._process.returncode or 0

    async def kill(self) -> None:
        """End it at once, as a power cut does."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class Endured:
    """The wishes of one home that is killed again and again."""

    def __init__(self, folder: Path, wishes: int, kills: int, seed: int) -> None:
        """Decide on all wishes, at random but always the same for a seed."""
        self._folder = folder
        self._kills = kills
        self._longest = min(SPAN, 5 * kills)
        self._random = random.Random(seed)
        self._asked = [self._any(number) for number in range(wishes)]
        self._unmade = [*reversed(self._asked)]
        self._states = {entity_id: "off" for number in range(wishes) for entity_id in (lamp(number), sensor(number))}
        self._states |= {SO: "on", NOT_SO: "off"}
        self._process = Process(folder)
        self._there = asyncio.Event()
        self._left: set[str] = set()

    def _any(self, number: int) -> Asked:
        dice, event = self._random, self._random.random() < 0.35
        seconds = dice.choice((0, 0, 3, 20)) if event else dice.randint(1, self._longest)
        until = time.time() + dice.uniform(30, 300) if event and dice.random() < 0.2 else None
        condition = dice.choice(("", "", "", "", SO, NOT_SO))
        return Asked(number=number, seconds=seconds, event=event, condition=condition, until=until)

    async def run(self) -> Verdict:
        """Make and kill, then let everything come to its end, and judge."""
        self._write_states()
        await self._process.start("first")
        if code := await self._process.wait():
            raise RuntimeError(f"it could not be set up ({code}): {(self._folder / 'home.out').read_text()[-2000:]}")
        for killed in range(self._kills):
            await self._live(-(-len(self._unmade) // (self._kills - killed)))
            if killed % 10 == 9:
                print(f"{killed + 1} of {self._kills} kills: {len(self._asked) - len(self._unmade)} wishes", flush=True)
        await self._end()
        return self._judge()

    def _write_states(self) -> None:
        """Have the home start with what is so outside: lamps that were turned on are on."""
        for number, found in self._found().items():
            if found.effects:
                self._states[lamp(number)] = "on"
        (self._folder / STATES).write_text(json.dumps(self._states))

    async def _live(self, wishes: int) -> None:
        """Start, make so many wishes and change others, and kill at any moment."""
        self._write_states()
        await self._process.start()
        self._there.clear()
        work = asyncio.create_task(self._work(wishes))
        if self._random.random() < 0.8:
            async with asyncio.timeout(BOOT):
                await self._there.wait()
        await asyncio.sleep(self._random.uniform(SHORTEST, LONGEST))
        await self._process.kill()
        with suppress(EOFError):
            await work

    async def _work(self, wishes: int) -> None:
        await self._process.answer()
        self._there.set()
        for _ in range(wishes):
            await self._make()
            await self._meddle()
        while True:
            await asyncio.sleep(self._random.uniform(0, 0.5))
            await self._meddle()

    async def _make(self) -> None:
        if not self._unmade:
            return
        wish = self._unmade.pop()
        at = await self._process.ask(**wish.request)
        if at is False:
            raise RuntimeError(f"wish {wish.number} was refused")
        wish.made = True
        if not wish.event:
            wish.moments.add(at)

    async def _meddle(self) -> None:
        """Let something happen that a wish waits for, or cancel or change one."""
        begun = [wish for wish in self._asked if wish.made and wish.cancelled is False]
        still = [wish for wish in begun if wish.event and wish.flipped is None]
        if still and self._random.random() < 0.4:
            await self._flip(self._random.choice(still))
        if begun and self._random.random() < 0.08:
            wish = self._random.choice(begun)
            wish.cancelled = None
            wish.cancelled = bool(await self._process.ask(do="cancel", number=wish.number))
        timed = [wish for wish in begun if not wish.event and wish.cancelled is False]
        if timed and self._random.random() < 0.08:
            wish, seconds = self._random.choice(timed), self._random.randint(1, self._longest)
            before = {*wish.moments}
            wish.moments.add(time.time() + seconds)
            at = await self._process.ask(do="change", number=wish.number, seconds=seconds)
            wish.moments = {at} if at else before

    async def _flip(self, wish: Asked) -> None:
        """Let it become so, in the home and outside: if the home is killed before it hears of it, it starts with it."""
        wish.flipped, self._states[sensor(wish.number)] = time.time(), "on"
        await self._process.ask(do="flip", entity_id=sensor(wish.number))

    async def _end(self) -> None:
        """Start for the last time, let everything happen, and wait until nothing waits any more."""
        self._write_states()
        await self._process.start()
        await self._process.answer()
        while self._unmade:
            await self._make()
        for wish in self._asked:  # also those that were made and not acknowledged
            if wish.event and wish.flipped is None:
                await self._flip(wish)
        left: list[str] = []
        for _ in range(2 * self._longest + LAST):
            if not (left := await self._process.ask(do="left")):
                break
            await asyncio.sleep(1)
        self._left = set(left)
        await asyncio.sleep(1)
        await self._process.kill()

    # What came of it

    def _found(self) -> dict[int, Found]:
        """Return what was written, by the numbers of wishes."""
        found = {wish.number: Found() for wish in self._asked}
        witness = self._folder / WITNESS
        for line in witness.read_text().splitlines() if witness.exists() else ():
            what, subject, *rest = line.split()
            number = int(subject.rpartition("_" if what == "effect" else "-")[2])
            if what == "effect":
                found[number].effects.append(float(rest[-1]))
            elif what == "failed":
                found[number].told.append(rest[0])
        return found

    def _judge(self) -> Verdict:
        outcomes: Counter[str] = Counter()
        wrong: list[str] = []
        for number, found in self._found().items():
            wish = self._asked[number]
            outcomes[_outcome(wish, found)] += 1
            left = ["it still waits"] if f"wish-{number}" in self._left else []
            wrong += [f"{what}: {wish} {found}" for what in (*left, *_faults(wish, found))]
        return Verdict(self._kills, len(self._asked), outcomes, wrong)


def _outcome(wish: Asked, found: Found) -> str:
    if not wish.made and not found.effects and not found.told:
        return "never made: killed before it was acknowledged"
    if wish.cancelled:
        return "cancelled"
    if not found.effects:
        if found.told:
            return f"told why not: {found.told[0]}"
        return "cancelled, not acknowledged" if wish.cancelled is None else "lost"
    late = found.effects[0] - max(wish.earliest, max(wish.moments, default=0.0))
    when = "in time" if late < IN_TIME else "late, after a kill"
    return f"done once, {when}" + (", told that it is not known" if found.told else "")


def _faults(wish: Asked, found: Found) -> Iterator[str]:
    """Yield what is wrong with what came of a wish."""
    if len(found.effects) > 1:
        yield "done more than once"
    if wish.made and wish.cancelled is False and not found.effects and not found.told:
        yield "lost"
    if wish.cancelled and found.effects:
        yield "done although it was cancelled"
    if wish.condition == NOT_SO and found.effects:
        yield "done though its condition was not so"
    if wish.made and found.effects and found.effects[0] < wish.earliest - EARLY:
        yield "done too early"
    if wish.event and wish.flipped is None and found.effects:
        yield "done though nothing happened"


async def kill_wishes(wishes: int, kills: int, seed: int) -> Verdict:
    """Let so many wishes live through so many kills; print and return the figures."""
    with tempfile.TemporaryDirectory(prefix="home-agent-wishes-") as root:
        (folder := Path(root) / "home").mkdir()
        verdict = await Endured(folder, wishes, kills, seed).run()
    print(verdict.show(), flush=True)
    return verdict
