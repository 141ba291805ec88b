"""The tables and aims about what a model is told, and about the index. Pure: figures in, text out."""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from .agents import OURS
from .report import Aim, Figures, Results, percent, rendered

CONTEXT = "figures of context"
MAX_FIRST_TOKENS = 2500
MAX_NEW_TOKENS = 450
MAX_QUERY_MS = 10.0
MAX_MEMORY_QUERY_MS = 15.0
MAX_MEMORY_START_MS = 50.0
MAX_MORE_TOKENS = 60
FOUND = "retrieved"

TOLD: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("First request (tokens)", lambda f: f"{f['first_tokens']:,}"),
    ("Of it tools and system message (tokens)", lambda f: f"{f['stable_tokens']:,}"),
    ("Tokens of a request, median of ten turns", lambda f: f"{round(median(f['tokens'])):,}"),
    ("New tokens of a turn, median / most", lambda f: f"{round(median(f['new_tokens']))} / {max(f['new_tokens'])}"),
    ("Unchanged of the previous request, worst of ten turns", lambda f: percent(f["share"])),
)
INDEX: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("Index built (ms)", lambda f: f"{f['build_ms']:.0f}"),
    ("Memory of the index (MB)", lambda f: f"{f['memory_mb']:.1f}"),
    ("A search, median / 95 % (ms)", lambda f: f"{f['query_ms']:.1f} / {f['query_95_ms']:.1f}"),
    ("From a change in the registry until it is found (ms)", lambda f: f"{f['change_ms']:.0f}"),
    ("Names of the home in a sentence (ms)", lambda f: f"{f['names_ms']:.2f}"),
)


MEMORIES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("A search in 10,000 memories, median / 95 % (ms)", lambda f: f"{f['query_ms']:.1f} / {f['query_95_ms']:.1f}"),
    ("Memory that 10,000 memories take (MB)", lambda f: f"{f['memory_mb']:.1f}"),
    ("What they add to the start (ms)", lambda f: f"{f['start_ms']:.0f}"),
)
WITH = ", 500 memories"


def render_context(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims as text; "" when they were not measured."""
    ours = _context_of(results)
    if not ours:
        return ""
    modes = next(iter(ours.values()))["modes"]
    told = {mode: {size: figures["modes"][mode] for size, figures in ours.items()} for mode in modes}
    index = {"index": {size: figures["index"] for size, figures in ours.items()}}
    memory = {"memory": {size: figures["memories"] for size, figures in ours.items()}}
    tables = (rendered(told, TOLD, (), markdown=markdown), rendered(index, INDEX, (), markdown=markdown))
    return "\n".join((*tables, rendered(memory, MEMORIES, aims(results), markdown=markdown)))


def aims(results: Results) -> list[Aim]:
    """Judge what a model is told, and the search."""
    judged = []
    for size, figures in _context_of(results).items():
        found = figures["modes"][FOUND]
        first, new, took = found["first_tokens"], max(found["new_tokens"]), figures["index"]["query_ms"]
        judged += [
            Aim(f"first request, {FOUND}, {size}", f"{first:,}", f"{MAX_FIRST_TOKENS:,}", first <= MAX_FIRST_TOKENS),
            Aim(f"new tokens of a turn, {FOUND}, {size}", str(new), str(MAX_NEW_TOKENS), new <= MAX_NEW_TOKENS),
            Aim(f"a search, {size}", f"{took:.1f} ms", f"{MAX_QUERY_MS:g} ms", took <= MAX_QUERY_MS),
        ]
        kept = figures["memories"]
        judged += [
            Aim(
                f"a search in memories, {size}",
                f"{kept['query_ms']:.1f} ms",
                f"{MAX_MEMORY_QUERY_MS:g} ms",
                kept["query_ms"] <= MAX_MEMORY_QUERY_MS,
            ),
            Aim(
                f"start with memories, {size}",
                f"{kept['start_ms']:.0f} ms",
                f"{MAX_MEMORY_START_MS:g} ms",
                kept["start_ms"] <= MAX_MEMORY_START_MS,
            ),
        ]
        for mode, told in figures["modes"].items():
            if mode.endswith(WITH):
                more = round(
                    median(told["new_tokens"]) - median(figures["modes"][mode.removesuffix(WITH)]["new_tokens"])
                )
                judged.append(
                    Aim(
                        f"more new tokens of a turn, {mode}, {size}",
                        str(more),
                        str(MAX_MORE_TOKENS),
                        more <= MAX_MORE_TOKENS,
                    )
                )
        for mode, told in figures["modes"].items():
            judged.append(
                Aim(f"requests only grow, {mode}, {size}", percent(told["share"]), "100 %", told["share"] == 1)
            )
    return judged


def _context_of(results: Results) -> Mapping[int, Mapping[str, Any]]:
    return {size: figures["context"] for size, figures in results.get(OURS, {}).items() if "context" in figures}
