"""Starts the scripted model and, for each size of the house, one Home Assistant per agent; lets them take turns.

The agents of a size are all up at once and are measured in small blocks in rotating order, so that what else the machine
does meets all of them alike. Only one of them works at a time.
"""

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
import json
import os
from pathlib import Path
import shutil
from statistics import median
import subprocess
import sys
import tempfile
from typing import Any, Self

from tests.ports import free_port

from .agents import OURS

TOOL_CALLS = 500
SLOW_TURNS = 5
STATE_CHANGES = 10_000
MEMORY_BLOCKS = 4
MEMORY_CONVERSATIONS = 250
ROOT = Path(__file__).parents[2]
PACKAGE = __package__ or "scripts.benchmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    agents: Sequence[str]
    sizes: Sequence[int]
    rounds: int
    """How often each agent gets its turn."""
    turns: int
    """Timed turns of each kind per round."""
    only: str = ""
    """The one part of `parts` that is measured, and nothing of turns."""
    pace_ms: float = 2
    """Time between two tokens where the delay of each is measured; elsewhere an answer comes as fast as it can."""

    @property
    def parts(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """What Home Agent alone is asked for: the command, what is said of it, and its arguments."""
        every: dict[str, tuple[str, dict[str, Any]]] = {
            "context": ("context", {}),
            "together": ("several agents", {"rounds": self.rounds, "turns": self.turns}),
            "wishes": ("wishes that wait", {"changes": STATE_CHANGES, "rounds": self.rounds}),
            "automations": ("automations by talking", {"changes": STATE_CHANGES, "rounds": self.rounds}),
            "tools": ("tools", {"count": TOOL_CALLS, "turns": SLOW_TURNS}),
        }
        return {key: part for key, part in every.items() if self.only in ("", key)}


class Process:
    """A child that answers each line with a line; it ends when its standard input does."""

    def __init__(self, module: str, *arguments: str, log: Path, **environment: str) -> None:
        """Start it."""
        self._log = log
        with log.open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"{PACKAGE}.{module}", *arguments],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def read(self) -> Any:
        """Return the next line of the child, parsed."""
        assert self._process.stdout
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"a measured process ended:\n{self._log.read_text()[-4000:]}")
        return json.loads(line)

    def ask(self, do: str, **arguments: Any) -> Any:
        """Give a command and return its answer."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()
        return self.read()

    def __enter__(self) -> Self:
        """Return the running child."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _config_folder(parent: Path, name: str, code: Path) -> Path:
    folder = parent / name
    folder.mkdir()
    (folder / "configuration.yaml").write_text("conversation:\n")
    (folder / "custom_components").symlink_to(code)
    return folder


@contextmanager
def _workers(plan: Plan, size: int, port: int, code: Path) -> Generator[dict[str, Process]]:
    """Boot one Home Assistant per agent, one after the other."""
    with (
        tempfile.TemporaryDirectory(prefix="home-agent-bench-", ignore_cleanup_errors=True) as parent,
        ExitStack() as stack,
    ):
        workers = {}
        for name in plan.agents:
            workers[name] = stack.enter_context(worker(name, size, port, Path(parent), code))
            workers[name].read()
        yield workers


def worker(name: str, size: int, port: int, parent: Path, code: Path, *more: str) -> Process:
    """Return a Home Assistant with this agent and a house, in front of the model on this port."""
    folder = _config_folder(parent, name, code)
    arguments = (name, str(size), str(port), str(folder), *more)
    return Process("worker", *arguments, log=folder / "stderr.log", SETUP_PORT=str(free_port()))


def copied_code(folder: Path) -> Path:
    """Return a copy of the integration: the same for all sizes, whoever edits meanwhile."""
    code = folder / "custom_components"
    shutil.copytree(ROOT / "custom_components", code, ignore=shutil.ignore_patterns("__pycache__"))
    return code


def run(plan: Plan) -> dict[str, dict[int, dict[str, Any]]]:
    """Return the figures by agent and size."""
    results: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in plan.agents}
    with tempfile.TemporaryDirectory() as folder, Process("server", log=Path(folder) / "server.log") as server:
        port = server.read()
        code = copied_code(Path(folder))
        for size in plan.sizes:
            say(f"{size} entities: starting {', '.join(plan.agents)}")
            with _workers(plan, size, port, code) as workers:
                measured = {OURS: {}} if plan.only else _measure(plan, workers)
                for key, (what, arguments) in plan.parts.items() if OURS in workers else ():
                    say(f"  {what}")
                    measured[OURS][key] = workers[OURS].ask(key, **arguments)
                for name, figures in measured.items():
                    results[name][size] = figures
    return results


def run_memory(agents: Sequence[str], sizes: Sequence[int], conversations: int) -> dict[str, dict[int, dict[str, Any]]]:
    """Return by agent and size what `Memory` took, under "memory": resident, and traced in a process of its own."""
    results: dict[str, dict[int, dict[str, Any]]] = {name: {size: {"memory": {}} for size in sizes} for name in agents}
    with (
        tempfile.TemporaryDirectory(prefix="home-agent-bench-", ignore_cleanup_errors=True) as name,
        ThreadPoolExecutor(os.cpu_count()) as pool,  # no time is taken, so they may work side by side
    ):
        folder = Path(name)
        code = copied_code(folder)

        def take(agent: str, size: int, key: str) -> None:
            say(f"{size} entities, {agent}: {MEMORY_BLOCKS} x {conversations} conversations, {key} memory")
            parent = folder / f"{agent}-{size}-{key}"
            parent.mkdir()
            with (
                Process("server", log=parent / "server.log") as server,
                worker(agent, size, server.read(), parent, code, "timers") as measured,
            ):
                measured.read()
                results[agent][size]["memory"][key] = measured.ask(
                    "memory", blocks=MEMORY_BLOCKS, conversations=conversations, traced=key == "traced"
                )

        runs = [(agent, size, key) for size in sizes for agent in agents for key in ("traced", "resident")]
        for done in [pool.submit(take, *run) for run in runs]:
            done.result()
    return results


def _measure(plan: Plan, workers: dict[str, Process]) -> dict[str, dict[str, Any]]:
    blocks = (("plain", "words", 0), ("call", "call", 0), ("paced", "words", plan.pace_ms))
    turns: dict[str, dict[str, list[dict[str, Any]]]] = {name: {key: [] for key, _, _ in blocks} for name in workers}
    for number in range(plan.rounds + 1):
        say("  warming up" if number == 0 else f"  round {number} of {plan.rounds}")
        start = number % len(plan.agents)
        for name in (*plan.agents[start:], *plan.agents[:start]):
            for key, kind, pace_ms in blocks:
                # the first turn of a block finds cold caches and perhaps a closed connection
                timed = workers[name].ask("turns", kind=kind, count=plan.turns + 1, pace_ms=pace_ms)[1:]
                turns[name][key] += timed if number else []
    say("  longest block, conversation, question")
    return {name: _figures(turns[name], worker, plan) for name, worker in workers.items()}


def _figures(turns: dict[str, list[dict[str, Any]]], worker: Process, plan: Plan) -> dict[str, Any]:
    blocks = [
        block for kind in ("words", "call") for block in worker.ask("blocks", kind=kind, count=max(3, plan.turns))
    ]
    return {
        **{key: _timings(timed) for key, timed in turns.items()},
        "token_ms": median(delay for turn in turns["paced"] for delay in turn["token_ms"]),
        "changes_ms": median(turn["changes_ms"] for timed in turns.values() for turn in timed),
        "block_ms": max(block["cpu_ms"] for block in blocks),
        "block_wall_ms": median(block["wall_ms"] for block in blocks),
        "dialogue": dialogue_figures(worker.ask("dialogue")),
        "question": worker.ask("question"),
    }


def _timings(turns: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("cpu_ms", "added_ms", "request_ms")
    return {key: median(turn[key] for turn in turns) for key in keys} | {
        "all": [{key: round(turn[key], 3) for key in keys} for turn in turns]
    }


def dialogue_figures(raw: dict[str, Any]) -> dict[str, Any]:
    """Return what the six turns and the opening of the next conversation say about the model's prompt cache."""
    last = max(raw["turns"])
    inside = [step for step in raw["steps"] if step["turn"] < last]
    opening = next(step for step in raw["steps"] if step["turn"] == last)
    trimmed = next((step["turn"] for step in inside if step["trimmed"]), None)
    kept = [step for step in inside if trimmed is None or step["turn"] < trimmed]
    opened: dict[int, int] = {}
    for step in inside:
        opened.setdefault(step["turn"], step["new_tokens"])  # later requests of a turn carry a tool's result
    return {
        "prompt_tokens": raw["prompt_tokens"],
        "prompt_chars": raw["prompt_chars"],
        "stable_tokens": raw["stable_tokens"],
        "share": min(step["share"] for step in kept) if kept else None,
        "new_tokens": list(opened.values()),
        "result_tokens": sum(step["new_tokens"] for step in inside) - sum(opened.values()),
        "trimmed_in_turn": None if trimmed is None else trimmed + 1,
        "next_share": opening["share"],
        "next_stable": opening["stable"],
        "next_new_tokens": opening["new_tokens"],
    }


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)
