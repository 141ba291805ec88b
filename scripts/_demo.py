"""Boot a demo house, talk to it over Home Assistant's public API, and show what changed in it. See scripts/demo."""

import argparse
import asyncio
import json
import shutil
import signal
import sys

from homeassistant.const import RESTART_EXIT_CODE

from tests.e2e.api import ApiError
from tests.e2e.harness import PASSWORD, USER, FlowRefusedError, Hass
from tests.e2e.house import add_home_agent, furnish, reset
from tests.e2e.process import ROOT

from ._conversation import Conversation, Terminal
from ._exclusive import PORT, TakenError, choose_port, locked

FOLDER = ROOT / ".ha-demo"
TRANSLATIONS = ROOT / "custom_components" / "home_agent" / "translations" / "en.json"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
    if not 0 <= arguments.port <= 65535:
        parser.error("--port: 1 to 65535")
    return arguments


class Demo:
    """One run."""

    def __init__(self, arguments: argparse.Namespace, terminal: Terminal) -> None:
        """Boot nothing yet."""
        self._arguments = arguments
        self._terminal = terminal
        self._interrupted = 0

    async def run(self, hass: Hass) -> int:
        """Run it to its end; return the exit code."""
        task = asyncio.current_task()
        assert task
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._interrupt, number, task)
        try:
            good = await self._show(hass)
            if self._arguments.once:
                self._terminal.verdict("The house did as it was told." if good else "Something went wrong.", good=good)
                return 0 if good else 1
            return await self._stay(hass)
        except asyncio.CancelledError:
            return 128 + self._interrupted
        except FlowRefusedError as err:
            self._terminal.verdict(f"{self._arguments.llm}: {reason(err)}", good=False)
        except (ApiError, AssertionError, RuntimeError, TimeoutError) as err:
            self._terminal.verdict(f"{type(err).__name__}: {err}\nlog: {FOLDER.name}/hass.out", good=False)
        finally:
            await hass.stop()
        return 1

    def _interrupt(self, number: int, task: asyncio.Task[int]) -> None:
        self._interrupted = number
        task.cancel()

    async def _show(self, hass: Hass) -> bool:
        """Have the conversation; return whether the house did as it was told."""
        agent = await self._prepare(hass)
        self._terminal.step(f"talking to {agent} through {hass.url}/api/conversation/process\n")
        model = bool(await hass.subentries("llm"))
        return await Conversation(hass, agent, self._terminal, model=model).hold()

    async def _prepare(self, hass: Hass) -> str:
        """Boot the house and put Home Agent into it; return the entity id of the assistant."""
        self._terminal.step("starting Home Assistant")
        await hass.start()
        if agents := await hass.agents():
            await reset(hass)
            return agents[0]
        self._terminal.step("furnishing the house: rooms, lights, locks, covers, a shopping list")
        await furnish(hass)
        model = self._arguments.model
        self._terminal.step(f"adding Home Agent, {f'with {model}' if model else 'without a model'}")
        agent = await add_home_agent(
            hass, url=self._arguments.llm, model=model, key=self._arguments.key, model_first=False
        )
        await hass.create_pipeline(agent, preferred=True)
        return agent

    async def _stay(self, hass: Hass) -> int:
        """Leave the house to the browser until it is interrupted."""
        self._terminal.verdict(f"Your turn: {hass.url}   user {USER}   password {PASSWORD}", good=True)
        self._terminal.step('Assist is behind the speech bubble at the top ("Assist"); Ctrl-C here ends the house')
        try:
            while await hass.process.wait() == RESTART_EXIT_CODE:
                self._terminal.step("Home Assistant restarts")
                await hass.disconnect()
                await hass.start()
        except asyncio.CancelledError:
            return 0
        self._terminal.verdict(f"Home Assistant ended by itself\nlog: {FOLDER.name}/hass.out", good=False)
        return 1


def reason(error: FlowRefusedError) -> str:
    """Return what the form said about the endpoint."""
    texts: dict[str, str] = json.loads(TRANSLATIONS.read_text(encoding="utf-8"))["config"]["error"]
    return " ".join(texts.get(key, key) for key in error.errors.values())


def main() -> int:
    """Run the demo; return its exit code."""
    arguments, terminal = parse_arguments(), Terminal()
    try:
        with locked(FOLDER) as lock:
            port = choose_port(arguments.host, arguments.port)
            if port not in (arguments.port, PORT):
                terminal.step(f"{PORT} is in use, using {port}")
            if not arguments.keep:
                shutil.rmtree(FOLDER, ignore_errors=True)
            hass = Hass(FOLDER, host=arguments.host, port=port, inherited=(lock,))
            return asyncio.run(Demo(arguments, terminal).run(hass))
    except TakenError as err:
        terminal.verdict(str(err), good=False)
        return 1


if __name__ == "__main__":
    sys.exit(main())
