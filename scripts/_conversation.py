"""The demo's conversation: what is said, what has to come of it, and how it is shown."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
import os
import re
import sys
import textwrap

from tests.e2e.api import Answer
from tests.e2e.harness import Hass

SHOWN_DOMAINS = frozenset(
    {
        "light",
        "switch",
        "cover",
        "lock",
        "climate",
        "fan",
        "media_player",
        "valve",
        "vacuum",
        "scene",
        "todo",
        "automation",
    }
)
SETTLE_TIMEOUT = 5  # seconds that a device has to follow
ONE_MORE = "+1"
GONE = "gone"
"""There is no such entity any more."""


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of the conversation, and what has to be different afterwards: that and nothing else."""

    text: str
    changes: Mapping[str, str] = field(default_factory=dict)
    says: str = ""
    """What the answer has to contain: a regular expression."""
    needs_model: bool = False
    """Whether it is answered with an error as long as there is no model."""
    reply: Line | None = None
    """This is sensitive: it is said when a yes is asked for. A model may also not even try."""

    def expected(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the states that the house has to have afterwards."""
        grown = {key: str(int(before[key]) + 1) for key, state in self.changes.items() if state == ONE_MORE}
        wanted = {**before, **self.changes, **grown}
        return {key: state for key, state in wanted.items() if state != GONE}


NO = Line("No")
YES = Line("Yes", {"lock.front_door": "unlocked"})
EVERY_EVENING = "Turn on the bed light every evening at sunset"
MADE = Line("Yes", {"automation.turn_on_the_bed_light_every_evening_at_sunset": "on"})
TAKEN_BACK = Line("Yes", {"automation.turn_on_the_bed_light_every_evening_at_sunset": GONE})
CONVERSATION = (
    Line("Turn on the kitchen lights", {"light.kitchen_lights": "on"}),
    Line("Is the bed light on?", says=r"\byes\b|\bis (currently )?on\b|'s (currently )?on\b"),
    Line("Turn off all the lights in the bedroom", {"light.bed_light": "off"}),
    Line("Which lights are on?", says="kitchen"),
    Line("Add milk to the shopping list", {"todo.shopping_list": ONE_MORE}),
    Line("Unlock the front door", reply=NO),
    Line("Unlock the front door", reply=YES),
    Line("Lock the front door", {"lock.front_door": "locked"}),
    Line(EVERY_EVENING, says="sunset", reply=MADE),
    Line("Undo that", reply=TAKEN_BACK),
    Line("Write a poem about my garden", needs_model=True),
)


class Terminal:
    """What the demo prints."""

    def __init__(self) -> None:
        """Use colours where there is a terminal that has them."""
        self._colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def step(self, text: str) -> None:
        """Say what is being done."""
        print(self._paint("2", f"· {text}"), flush=True)

    def spoken(self, who: str, text: str) -> None:
        """Print one side of the conversation."""
        colour = "1" if who == "You" else "1;36"
        body = textwrap.indent(textwrap.fill(text, 90), " " * 14).strip()
        print(f"  {self._paint(colour, f'{who:>10}')}  {body}", flush=True)

    def changed(self, before: Mapping[str, str], after: Mapping[str, str], note: str) -> None:
        """Print the difference between two states of the house."""
        lines = [f"{key}: {before.get(key)} → {after[key]}" for key in after if before.get(key) != after[key]]
        lines += [f"{key}: {before[key]} → gone" for key in before if key not in after]
        for line in lines or [f"nothing changed{f' ({note})' if note else ''}"]:
            print(f"  {'':>10}  {self._paint('32' if lines else '2', line)}", flush=True)
        print(flush=True)

    def verdict(self, text: str, *, good: bool) -> None:
        """Print how it went."""
        print(self._paint("1;32" if good else "1;31", text), flush=True)

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colours else text


class Conversation:
    """A conversation with one assistant, every line of it checked."""

    def __init__(self, hass: Hass, agent: str, terminal: Terminal, *, model: bool) -> None:
        """Begin a new one."""
        self._hass = hass
        self._agent = agent
        self._terminal = terminal
        self._model = model
        self._id: str | None = None
        self._questions: asyncio.Queue[object] = asyncio.Queue()

    async def hold(self) -> bool:
        """Say everything; return whether the house did what was said, and nothing else."""
        good = True
        asked = "home_agent.confirmation.requested"
        async with (await self._hass.socket()).subscribe("subscribe_events", event_type=asked) as self._questions:
            for line in CONVERSATION:
                good &= await self._say(line)
        return good

    async def _say(self, line: Line) -> bool:
        before = await self._states()
        self._terminal.spoken("You", line.text)
        answer = await self._hass.say(line.text, agent=self._agent, conversation_id=self._id)
        self._id = answer.conversation_id
        self._terminal.spoken("Home Agent", answer.speech)
        expected = line.expected(before)
        after = await self._settled(expected)
        asked = await self._asked()
        refused = answer.kind == "error" and not self._model  # of a model's, nobody knows what it refers to
        attempted = line.reply is not None and (asked or refused)
        self._terminal.changed(before, after, "a yes is waited for" if attempted else "")
        wrong = self._complaints(line, answer, attempted=attempted)
        if after != expected:
            states = ", ".join(f"{key}: {expected[key]}" for key in line.changes)
            wrong.append(states or "that nothing changes")
        for complaint in wrong:
            self._terminal.verdict(f"expected {complaint}", good=False)
        return not wrong and (not asked or line.reply is None or await self._say(line.reply))

    def _complaints(self, line: Line, answer: Answer, *, attempted: bool) -> list[str]:
        """Return what an answer should have been and is not."""
        wrong = [] if answer.speech else ["an answer"]
        if line.says and not re.search(line.says, answer.speech, re.IGNORECASE):
            wrong.append(f"an answer that matches {line.says}")
        if line.reply is not None:
            if not attempted and not self._model:
                wrong.append("a refusal, or a question whether to do it")
        elif (answer.kind == "error") is not (line.needs_model and not self._model):
            wrong.append("an answer" if answer.kind == "error" else "to hear that this needs a model")
        return wrong

    async def _asked(self) -> bool:
        """Return whether code, not a model, has asked for a yes since the last time."""
        await self._hass.command("auth/current_user")  # answered on the same connection, behind the event
        asked = not self._questions.empty()
        while not self._questions.empty():
            self._questions.get_nowait()
        return asked

    async def _states(self) -> dict[str, str]:
        """Return the states that a person would notice."""
        return {key: state for key, state in (await self._hass.states()).items() if key.split(".")[0] in SHOWN_DOMAINS}

    async def _settled(self, expected: Mapping[str, str]) -> dict[str, str]:
        """Return the states once they are as expected, or as they are when the time is up."""
        states = await self._states()
        for _ in range(SETTLE_TIMEOUT * 10):
            if states == expected:
                break
            await asyncio.sleep(0.1)
            states = await self._states()
        return states
