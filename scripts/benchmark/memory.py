"""What conversations leave in memory when their sessions are over: for one agent, in blocks of conversations.

Either resident memory is taken or memory is traced, each in a process of its own: tracing needs memory itself. After a
block the clock is moved on, with its timers, until Home Assistant has let go of the sessions and no time limit of a turn
is still due; then garbage is collected.
"""

from collections import Counter
import gc
import os
from pathlib import Path
import re
import tracemalloc
from typing import Any

from homeassistant.helpers import chat_session, entity_registry as er

from . import clock
from .day import THINKING, pass_time
from .measure import Measure

TURNS = 2
"""Turns of a conversation, each with a tool call."""
FRAMES = 8
LONGEST_LIMIT = 900.0
"""Seconds: the longest time limit that an agent is set up with here; a cancelled timer stays until it is due."""
OVER = max(2.2 * chat_session.CONVERSATION_TIMEOUT.total_seconds(), LONGEST_LIMIT + 60)
"""Seconds until a session is over: it is looked for every five minutes, and let go when it is that old."""
STEP = 60.0
"""Seconds between two looks at what happens meanwhile: nobody speaks."""
FILES = 10


class Memory:
    """Holds the conversations and takes the memory."""

    def __init__(self, measure: Measure, *, traced: bool) -> None:
        """Keep the commands."""
        agent = er.async_get(measure.hass).async_get(measure.agent_id)
        assert agent
        self._measure = measure
        self._traced = traced
        self._own = f"components/{agent.platform}/"
        """What the path of a file of the agent has in it."""

    async def hold(self, blocks: int, conversations: int) -> list[dict[str, Any]]:
        """Return what `_take` says before the blocks and after each of them."""
        await pass_time(self._measure, OVER, STEP)
        if self._traced:
            gc.collect()
            tracemalloc.start(FRAMES)
        taken = [self._take(0)]
        for number in range(1, blocks + 1):
            await self._converse(conversations)
            await pass_time(self._measure, OVER, STEP)
            taken.append(self._take(number * conversations * TURNS))
        tracemalloc.stop()
        return taken

    async def _converse(self, conversations: int) -> None:
        measure = self._measure
        name, lamp = measure.house.lamp()
        calls = {
            "ha_control": {"action": "turn_on", "entity_id": lamp},
            "intent__HassTurnOn": {"name": name, "domain": ["light"]},
        }
        await measure.call(measure.control.plan, kind="call", calls=calls, pace_ms=0)
        await measure.take()
        for number in range(conversations):
            conversation_id: str | None = None
            for _ in range(TURNS):
                measure.house.lamp()
                measure.house.change()
                conversation_id, _, _ = await measure.say(f"Turn on the {name}, number {number}", conversation_id)
                clock.pass_time(THINKING)  # nobody says more than sixty things in a minute
        if (requests := len(await measure.take())) < 2 * TURNS * conversations:
            raise RuntimeError(f"only {requests} requests for {conversations} conversations")

    def _take(self, turns: int) -> dict[str, Any]:
        """Return the bytes: resident; or traced since the start, of it the agent's own, and the largest by file.

        `own` was allocated by a line of the agent's files, `through` by one that they called, itself or through others.
        """
        gc.collect()
        sessions = len(self._measure.hass.data.get(chat_session.DATA_CHAT_SESSION, ()))
        if not self._traced:
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            return {"turns": turns, "sessions": sessions, "resident": resident}
        snapshot = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, f"{Path(__file__).parent}/*")]
        )
        total = own = through = 0
        files: Counter[str] = Counter()
        for trace in snapshot.traces:
            *_, line = (frames := [frame.filename for frame in trace.traceback])  # the most recent call comes last
            total += trace.size
            files[short(line)] += trace.size
            own += trace.size * (self._own in line)
            through += trace.size * any(self._own in frame for frame in frames)
        return {
            "turns": turns,
            "sessions": sessions,
            "traced": total,
            "own": own,
            "through": through,
            "files": dict(files.most_common(FILES)),
        }


def short(path: str) -> str:
    """Return the path of a file from its package on."""
    return re.sub(r".*/(?:site-packages/|lib/(?=python)|(?=custom_components/))", "", path)
