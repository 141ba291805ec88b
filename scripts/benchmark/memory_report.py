"""The tables and aims about what conversations leave in memory. Pure: figures in, text out."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from .agents import OURS
from .report import Aim, Figures, Results, rendered

MEMORY = "figures of memory"
MAX_TRACED = 300
"""Bytes that a turn of Home Agent may leave once its bounded stores are full: what was traced varies a little."""
MEGABYTE = 1_000_000


def memory_figures(taken: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return by the number of turns so far what there is, and what each turn of the last block left, in bytes."""
    before = {"resident": 0, "traced": 0, "own": 0, "through": 0}
    figures: dict[int, dict[str, Any]] = {}
    for resident, traced in zip(taken["resident"], taken["traced"], strict=True):
        figures[resident["turns"]] = {key: {**resident, **traced}[key] for key in before}
    for (turns, earlier), (later_turns, later) in pairwise(figures.items()):
        later["per_turn"] = {key: (later[key] - earlier[key]) / (later_turns - turns) for key in before}
    return figures


def _per_turn(key: str) -> Callable[[Figures], str]:
    return lambda f: f"{round(f['per_turn'][key]):,}" if "per_turn" in f else "–"


MEMORY_TABLES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("Resident memory (MB)", lambda f: f"{f['resident'] / MEGABYTE:.1f}"),
    ("Resident memory: more for each turn of the block (bytes)", _per_turn("resident")),
    ("Traced since the start (kB)", lambda f: f"{f['traced'] / 1000:,.0f}"),
    ("Traced: left by each turn of the block (bytes)", _per_turn("traced")),
    ("Of it allocated in the agent's own files (bytes)", _per_turn("own")),
    ("Of it allocated there or in what they called (bytes)", _per_turn("through")),
)


def render_memory(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims as text; "" when memory was not taken."""
    figures = _figures_of(results)
    if not figures:
        return ""
    rows = {f"{name}, {size} entities": blocks for (name, size), blocks in figures.items()}
    return rendered(rows, MEMORY_TABLES, memory_aims(results), markdown=markdown, columns="after turns")


def memory_aims(results: Results) -> list[Aim]:
    """Judge the last block: what Home Agent's turns leave when all that is bounded is full."""
    judged = []
    for (name, size), blocks in _figures_of(results).items():
        if name != OURS:
            continue
        for key, where in (("traced", "in all"), ("own", "in files of Home Agent")):
            left = blocks[max(blocks)]["per_turn"][key]
            what = f"left by a turn of the last block, {where}, {size}"
            judged.append(Aim(what, f"{left:,.0f} bytes", f"{MAX_TRACED} bytes", left <= MAX_TRACED))
    return judged


def _figures_of(results: Results) -> dict[tuple[str, int], dict[int, dict[str, Any]]]:
    return {
        (name, size): memory_figures(figures["memory"])
        for name, sizes in results.items()
        for size, figures in sizes.items()
        if "memory" in figures
    }
