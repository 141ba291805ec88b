"""Everything of a folder, row by row: asked for, answered with yes, and played for a week."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
import json
import logging
import multiprocessing
from pathlib import Path
import traceback

from freezegun.api import StepTickTimeFactory

from .. import dataset
from .attack import async_attack
from .clock import ClockLoop, frozen
from .judge import NO_ERROR, Judged
from .place import furnished
from .rows import async_broken, async_request
from .week import BEGIN, Row

REQUESTS, BROKEN, ATTACKS = "automations", "broken", "attacks"
KINDS = (REQUESTS, BROKEN, ATTACKS)
_FILES: Mapping[str, str] = {REQUESTS: "requests"}
"""What the names of files begin with, where it is not the kind."""
MAX_LINES = 30
LEAST_ROWS = 20
"""Fewer are not worth another process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is asked for."""

    kind: str
    files: Sequence[str] = ()
    """Names without their ending; empty: all of the kind."""
    languages: Sequence[str] = ()
    limit: int | None = None
    """So many rows of each language."""
    processes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one process does."""

    kind: str
    home: dataset.Home
    language: str
    rows: Sequence[Row]


ROWS: Mapping[str, Callable[[Row, dataset.Home, StepTickTimeFactory], Awaitable[Judged]]] = {
    REQUESTS: async_request,
    BROKEN: async_broken,
    ATTACKS: async_attack,
}


def measure(task: Task) -> list[Judged]:
    """Return what became of some rows: the work of one process."""
    logging.disable(logging.CRITICAL)  # what fails is counted
    with frozen(BEGIN) as day, asyncio.Runner(loop_factory=ClockLoop) as runner:
        return runner.run(async_measure(task, day))


async def async_measure(task: Task, day: StepTickTimeFactory) -> list[Judged]:
    """Return what became of some rows."""
    return [await _async_judged(task, row, day) for row in task.rows]


async def _async_judged(task: Task, row: Row, day: StepTickTimeFactory) -> Judged:
    """Return what became of a row; an error is one row's, and ours."""
    try:
        return await ROWS[task.kind](row, task.home, day)
    except Exception:  # noqa: BLE001 - whatever it is, the other rows are judged
        lines = traceback.format_exc().splitlines()
        return Judged(row=row, marks={NO_ERROR: False}, details={NO_ERROR: lines[-MAX_LINES:]}, seconds=0)


def rows_of(folder: Path, choice: Choice) -> Iterator[Row]:
    """Yield the rows of the files of a kind, or of those that are named."""
    names = choice.files or sorted(path.stem for path in folder.glob(f"{_FILES.get(choice.kind, choice.kind)}*.jsonl"))
    count: dict[str, int] = {}
    for name in names:
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line) if line.strip() else None
            if row is None or (choice.languages and row["lang"] not in choice.languages):
                continue
            count[row["lang"]] = count.get(row["lang"], 0) + 1
            if choice.limit is None or count[row["lang"]] <= choice.limit:
                yield row


def home_of(folder: Path, language: str) -> dataset.Home:
    """Return the home of a language, from the folder or one of those above it."""
    name = f"home-{language}.json"
    path = next(one for one in (folder / name, folder.parent / name) if one.exists())
    home: dataset.Home = json.loads(path.read_text(encoding="utf-8"))
    return furnished(home)


def tasks(folder: Path, choice: Choice) -> list[Task]:
    """Return what is to be done, by language, in parts that all processes have a share of."""
    by_language: dict[str, list[Row]] = {}
    for row in rows_of(folder, choice):
        by_language.setdefault(row["lang"], []).append(row)
    share = max(LEAST_ROWS, -(-sum(map(len, by_language.values())) // choice.processes))
    listed = []
    for language, rows in by_language.items():
        home, parts = home_of(folder, language), -(-len(rows) // share)
        listed += [
            Task(kind=choice.kind, home=home, language=language, rows=rows[part::parts]) for part in range(parts)
        ]
    return sorted(listed, key=lambda task: -len(task.rows))


def run(folder: Path, choice: Choice, say: Callable[[str], None]) -> list[Judged]:
    """Return what became of all rows, in as many processes as the choice has."""
    listed, judged = tasks(folder, choice), list[Judged]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(choice.processes, context) as pool:
        futures = {pool.submit(measure, task): task for task in listed}
        for number, future in enumerate(as_completed(futures)):
            judged += future.result()
            say(f"{number + 1} of {len(listed)}: {futures[future].language}, {len(futures[future].rows)} rows")
    return sorted(judged, key=lambda item: str(item.row["id"]))
