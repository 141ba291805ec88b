"""One Home Assistant with one agent and one house, measured on request.

`python -m scripts.benchmark.worker AGENT SIZE PORT FOLDER [timers]` boots, prints a line, and then answers each line of the
standard input (a JSON object) with one line of the standard output. A process per agent keeps their work apart: what one does when
a state changes or a turn is over is not in the figures of the others.
"""

import asyncio
from pathlib import Path
import sys

from . import clock


def main(name: str, size: str, port: str, folder: str, timers: str = "") -> None:
    """Run on an event loop as `hass` makes it; with anything for `timers` they go by the clock that can be moved on."""
    clock.install()
    if timers:
        clock.install_timers()
    # only now: most of Home Assistant takes the time functions by name
    from homeassistant import runner

    from .instance import serve

    loop = runner.create_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(serve(name, int(size), int(port), Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
