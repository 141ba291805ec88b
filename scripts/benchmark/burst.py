"""Many turns at once: how long one callback holds the event loop, how long each turn takes, and whether all are answered.

Behind `scripts/burst`. A real Home Assistant with a house, and the scripted model in a process of its own.
"""

import argparse
import json
from pathlib import Path
from statistics import median
import sys
import tempfile
from typing import Any

from .agents import OURS
from .driver import Process, copied_code, say, worker

MOST_MS = 100.0
"""Of processor time, for one callback of the event loop."""


def measured(turns: int, size: int) -> dict[str, Any]:
    """Return the figures of so many turns that begin at once, in a house with so many entities."""
    with (
        tempfile.TemporaryDirectory(prefix="home-agent-burst-", ignore_cleanup_errors=True) as folder,
        Process("server", log=Path(folder) / "server.log") as server,
    ):
        port = server.read()
        code = copied_code(Path(folder))
        with worker(OURS, size, port, Path(folder), code) as home:
            home.read()
            say(f"{turns} turns at once, {size} entities")
            return dict(home.ask("burst", count=turns))


def main() -> None:
    """Measure, print, and end with 1 if a callback took too long or a turn had no answer."""
    parser = argparse.ArgumentParser(prog="scripts/burst", description="Measures many turns at once.")
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--entities", type=int, default=50)
    chosen = parser.parse_args()
    found = measured(chosen.turns, chosen.entities)
    took = sorted(found.pop("took_ms"))
    figures = {
        **found,
        "first_ms": round(took[0]),
        "median_ms": round(median(took)),
        "last_ms": round(took[-1]),
    }
    print(json.dumps(figures, indent=2))
    sys.exit(found["block_cpu_ms"] > MOST_MS or found["answered"] < chosen.turns)


if __name__ == "__main__":
    main()
