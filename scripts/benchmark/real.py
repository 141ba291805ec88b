"""A day of voice on a real server: one agent after the other, each with a server that has read nothing yet."""

from collections.abc import Sequence
from pathlib import Path
import tempfile
from typing import Any

from tests.llama_server import llama_server

from .driver import Process, copied_code, say, worker

REAL_SIZES = "60,200"
CONVERSATIONS = 4
"""The first one finds a server that has read at most what the agent asked for by itself; it is told apart."""
WINDOW = 16_384


def run_real(agents: Sequence[str], sizes: Sequence[int], conversations: int) -> dict[str, dict[int, dict[str, Any]]]:
    """Return by agent and size what `Day` noted, under "day"."""
    results: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in agents}
    with tempfile.TemporaryDirectory(prefix="home-agent-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        code = copied_code(folder)
        for size in sizes:
            for agent in agents:
                say(f"{size} entities, {agent}: {conversations} conversations")
                parent = folder / f"{agent}-{size}"
                parent.mkdir()
                results[agent][size] = {"day": _day(agent, size, parent, code, conversations)}
    return results


def _day(agent: str, size: int, folder: Path, code: Path, conversations: int) -> Any:
    with (
        llama_server(folder / "llama.log", window=WINDOW) as real,
        Process("server", str(real.port), log=folder / "server.log") as server,
        worker(agent, size, server.read(), folder, code, "timers") as measured,
    ):
        measured.read()
        return measured.ask("day", conversations=conversations)
