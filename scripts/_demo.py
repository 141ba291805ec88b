"""Boot a demo house, talk to it over Home Assistant's public API, and show what changed in it. See scripts/demo."""

import argparse
import asyncio
from dataclasses import dataclass, field
import json
import os
import shutil
import signal
import socket
import sys
import textwrap

from tests.e2e.api import ApiError
from tests.e2e.harness import PASSWORD, USER, FlowRefusedError, Hass
from tests.e2e.house import add_home_agent, furnish, reset
from tests.e2e.process import ROOT, free_port

FOLDER = ROOT / ".ha-demo"
TRANSLATIONS = ROOT / "custom_components" / "home_agent" / "translations" / "en.json"
PORT = 8123
SHOWN_DOMAINS = ("light", "switch", "cover", "lock", "climate", "fan", "media_player", "valve", "vacuum", "scene")
SETTLE_TIMEOUT = 5  # seconds that a device has to follow


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of the conversation, and what has to be different afterwards: that and nothing else."""

    text: str
    changes: dict[str, str] = field(default_factory=dict)
    note: str = ""


CONVERSATION = (
    Line("Turn on the kitchen lights", {"light.kitchen_lights": "on"}),
    Line("Is the bed light on?"),
    Line("Turn off all the lights in the bedroom", {"light.bed_light": "off"}),
    Line("Which lights are on?"),
    Line("Unlock the front door", note="a lock is never opened on a sentence alone"),
    Line("Yes", {"lock.front_door": "unlocked"}),
    Line("Write a poem about my garden"),
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

    def changed(self, before: dict[str, str], after: dict[str, str], note: str) -> None:
        """Print the difference between two states of the house."""
        lines = [f"{key}: {before.get(key)} → {after[key]}" for key in after if before.get(key) != after[key]]
        for line in lines or [f"nothing changed{f' ({note})' if note else ''}"]:
            print(f"  {'':>10}  {self._paint('32' if lines else '2', line)}", flush=True)
        print(flush=True)

    def verdict(self, text: str, *, good: bool) -> None:
        """Print how it went."""
        print(self._paint("1;32" if good else "1;31", text), flush=True)

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colours else text


def parse_arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("--once", action="store_true", help="end after the conversation")
    parser.add_argument("--keep", action="store_true", help="go on with the house of the last time")
    parser.add_argument("--llm", default="", metavar="URL", help="an OpenAI-compatible endpoint")
    parser.add_argument("--model", default="", metavar="NAME", help="its model")
    parser.add_argument("--key", default="", help="its key")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for the whole network")
    parser.add_argument("--port", type=int, default=0, help=f"of the frontend; {PORT} when it is free")
    arguments = parser.parse_args()
    if bool(arguments.llm) != bool(arguments.model):
        parser.error("--llm and --model go together")
    return arguments


def choose_port() -> int:
    """Return the port that everybody knows, or another one when somebody has it."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return free_port() if probe.connect_ex(("127.0.0.1", PORT)) == 0 else PORT


async def visible_states(hass: Hass) -> dict[str, str]:
    """Return the states that a person would notice."""
    return {key: state for key, state in (await hass.states()).items() if key.split(".")[0] in SHOWN_DOMAINS}


async def talk(hass: Hass, agent: str, terminal: Terminal) -> bool:
    """Have the conversation; return whether the house did what was said, and nothing else."""
    good = True
    conversation_id = None
    for line in CONVERSATION:
        before = await visible_states(hass)
        terminal.spoken("You", line.text)
        answer = await hass.say(line.text, agent=agent, conversation_id=conversation_id)
        conversation_id = answer.conversation_id
        terminal.spoken("Home Agent", answer.speech)
        after = await settled(hass, before | line.changes)
        terminal.changed(before, after, line.note)
        if after != before | line.changes or not answer.speech:
            terminal.verdict(f"expected: {line.changes or 'no change'}, and an answer", good=False)
            good = False
    return good


async def settled(hass: Hass, expected: dict[str, str]) -> dict[str, str]:
    """Return the states once they are as expected, or as they are when the time is up."""
    states = await visible_states(hass)
    for _ in range(SETTLE_TIMEOUT * 10):
        if states == expected:
            break
        await asyncio.sleep(0.1)
        states = await visible_states(hass)
    return states


async def prepare(hass: Hass, arguments: argparse.Namespace, terminal: Terminal) -> str:
    """Boot the house and put Home Agent into it; return the entity id of the assistant."""
    terminal.step("starting Home Assistant")
    await hass.start()
    if agents := await hass.agents():
        await reset(hass)
        return agents[0]
    terminal.step("furnishing the house: rooms, lights, locks, covers")
    await furnish(hass)
    terminal.step(f"adding Home Agent, {f'with {arguments.model}' if arguments.llm else 'without a model'}")
    agent = await add_home_agent(hass, url=arguments.llm, model=arguments.model, key=arguments.key)
    await hass.create_pipeline(agent, preferred=True)
    return agent


def reason(error: FlowRefusedError) -> str:
    """Return what the form said about the endpoint."""
    texts: dict[str, str] = json.loads(TRANSLATIONS.read_text(encoding="utf-8"))["config"]["error"]
    return " ".join(texts.get(key, key) for key in error.errors.values())


async def main() -> int:
    """Run the demo; return its exit code."""
    arguments, terminal = parse_arguments(), Terminal()
    if not arguments.keep:
        shutil.rmtree(FOLDER, ignore_errors=True)
    task = asyncio.current_task()
    assert task
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    hass = Hass(FOLDER, host=arguments.host, port=arguments.port or choose_port())
    try:
        agent = await prepare(hass, arguments, terminal)
        terminal.step(f"talking to {agent} through {hass.url}/api/conversation/process\n")
        good = await talk(hass, agent, terminal)
        if arguments.once:
            terminal.verdict("The house did as it was told." if good else "Something went wrong.", good=good)
            return 0 if good else 1
        terminal.verdict(f"Your turn: {hass.url}   user {USER}   password {PASSWORD}", good=True)
        terminal.step('Assist is behind the speech bubble at the top ("Assist"); Ctrl-C here ends the house')
        await hass.process.wait()
    except FlowRefusedError as err:
        terminal.verdict(f"{arguments.llm}: {reason(err)}", good=False)
    except (ApiError, AssertionError, RuntimeError, TimeoutError) as err:
        terminal.verdict(f"{type(err).__name__}: {err}\nlog: {FOLDER.name}/hass.out", good=False)
    finally:
        await hass.stop()
    return 1


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except asyncio.CancelledError:
        sys.exit(0)
