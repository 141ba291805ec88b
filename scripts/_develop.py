"""Run a furnished Home Assistant with the checkout's integration and show its log. See scripts/develop."""

import argparse
import asyncio
from pathlib import Path
import shutil
import signal
import sys

from homeassistant.const import RESTART_EXIT_CODE

from tests.e2e.harness import PASSWORD, USER, Hass
from tests.e2e.house import furnish
from tests.e2e.process import ROOT

from ._exclusive import PORT, TakenError, choose_port, locked


async def follow(log: Path) -> None:
    """Print what is logged, for ever."""
    with log.open(errors="replace") as lines:
        while True:
            if line := lines.readline():
                print(line, end="", flush=True)
            else:
                await asyncio.sleep(0.2)


def parse_arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(prog="scripts/develop")
    parser.add_argument("--next", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for the whole network")
    parser.add_argument("--port", type=int, default=PORT)
    return parser.parse_args()


async def run(hass: Hass, *, known: bool) -> None:
    """Start Home Assistant and wait until it ends or is interrupted."""
    task = asyncio.current_task()
    assert task
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await hass.start()
        if not known:
            await furnish(hass)
        print(f"{hass.url}   user {USER}   password {PASSWORD}   log of Home Agent: debug", flush=True)
        log = asyncio.create_task(follow(hass.process.folder / "hass.out"))
        while (code := await hass.process.wait()) == RESTART_EXIT_CODE:
            print("Home Assistant restarts", flush=True)
            await hass.disconnect()
            await hass.start()
        log.cancel()
        print(f"Home Assistant ended by itself, with exit code {code}", flush=True)
    finally:
        await hass.stop()


def main() -> int:
    """Run the workshop; return the exit code."""
    arguments = parse_arguments()
    folder = ROOT / (".ha-develop-next" if arguments.next else ".ha-develop")
    try:
        with locked(folder) as lock:
            port = choose_port(arguments.host, arguments.port)
            if arguments.fresh:
                shutil.rmtree(folder, ignore_errors=True)
            known = folder.exists()
            hass = Hass(folder, name="Workshop", host=arguments.host, port=port, inherited=(lock,))
            (folder / "hass.out").unlink(missing_ok=True)
            asyncio.run(run(hass, known=known))
    except TakenError as err:
        print(err, file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
