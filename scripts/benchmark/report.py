"""The tables and the aims. Pure: figures in, text out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from .agents import OURS

type Figures = Mapping[str, Any]
"""The figures of one agent in a house of one size."""
type Results = Mapping[str, Mapping[int, Figures]]

MAX_SHARE_OF_BEST = 0.5
MAX_GROWTH = 1.5
MAX_NEW_TOKENS = 150
NEW_TOKENS_SIZE = 200
MAX_BLOCK_MS = 5.0
MAX_POLICY_MS = 1.0
MAX_SHARE_OF_SLOWEST = 1.1


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def percent(value: float | None) -> str:
    """Return a share as text."""
    return "–" if value is None else f"{int(value * 1000) / 10:g} %"  # never rounded up to 100


def _times(shares: Sequence[float]) -> str:
    return f"{median(shares):.3f} times"


TABLES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("Plain turn: CPU (ms)", lambda f: _ms(f["plain"]["cpu_ms"])),
    ("Plain turn: time added (ms)", lambda f: _ms(f["plain"]["added_ms"])),
    ("Turn with one tool call: CPU (ms)", lambda f: _ms(f["call"]["cpu_ms"])),
    ("Turn with one tool call: time added (ms)", lambda f: _ms(f["call"]["added_ms"])),
    ("Until the endpoint has the request (ms)", lambda f: _ms(f["plain"]["request_ms"])),
    ("Plain turn with a token every 2 ms: CPU (ms)", lambda f: _ms(f["paced"]["cpu_ms"])),
    ("From a token to the chat log (ms)", lambda f: _ms(f["token_ms"])),
    ("Longest block of the event loop (ms)", lambda f: _ms(f["block_ms"])),
    ("The same in wall time, with garbage collection, median of turns (ms)", lambda f: _ms(f["block_wall_ms"])),
    ("CPU for six changed states (ms)", lambda f: _ms(f["changes_ms"])),
    ("Prompt of the first turn (tokens)", lambda f: f"{f['dialogue']['prompt_tokens'][0]:,}"),
    ("Of it tools and system message (tokens)", lambda f: f"{f['dialogue']['stable_tokens']:,}"),
    ("Unchanged of the previous request, worst of six turns", lambda f: percent(f["dialogue"]["share"])),
    ("History first cut in turn", lambda f: str(f["dialogue"]["trimmed_in_turn"] or "–")),
    ("New tokens of turns 2 to 6, when they ask first", lambda f: ", ".join(map(str, f["dialogue"]["new_tokens"]))),
    ("New tokens of a tool call and its result", lambda f: str(f["dialogue"]["result_tokens"])),
    ("Unchanged of the previous request in the next conversation", lambda f: percent(f["dialogue"]["next_share"])),
    ("New tokens at the start of the next conversation", lambda f: f"{f['dialogue']['next_new_tokens']:,}"),
    ("Model requests for a question about a state", lambda f: str(f["question"]["requests"])),
)


TOOL_TABLES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("Policy around a call that reads (ms)", lambda f: f"{f['tools']['policy_ms']['read']:.3f}"),
    ("Policy around a call that writes (ms)", lambda f: f"{f['tools']['policy_ms']['write']:.3f}"),
    ("Eight slow calls of one message, as a share of the slowest", lambda f: _times(f["tools"]["parallel"]["shares"])),
)
"""Of Home Agent alone."""


@dataclass(frozen=True, slots=True)
class Aim:
    """One aim and whether it was met."""

    what: str
    measured: str
    limit: str
    passed: bool


def aims(results: Results) -> list[Aim]:
    """Judge Home Agent; aims for which nothing was measured are left out."""
    ours = {size: figures for size, figures in results.get(OURS, {}).items() if "plain" in figures}
    if not ours:
        return []
    others = {name: sizes for name, sizes in results.items() if name != OURS}
    judged = [
        aim for kind in ("plain", "call") for key in ("cpu_ms", "added_ms") for aim in _speed(ours, others, kind, key)
    ]
    for size, figures in ours.items():
        judged += _per_size(size, figures)
    return judged


def tool_aims(results: Results) -> list[Aim]:
    """Judge what Home Agent does with tool calls."""
    judged = []
    for size, figures in results.get(OURS, {}).items():
        if (tools := figures.get("tools")) is None:
            continue
        for kind, took in tools["policy_ms"].items():
            judged.append(Aim(f"policy around a {kind}, {size}", f"{took:.3f} ms", "1 ms", took <= MAX_POLICY_MS))
        shares = tools["parallel"]["shares"]
        passed = median(shares) <= MAX_SHARE_OF_SLOWEST
        judged.append(Aim(f"slow calls side by side, {size}", _times(shares), f"{MAX_SHARE_OF_SLOWEST} times", passed))
    return judged


KINDS = {"plain": "plain turn", "call": "turn with a tool call"}
KEYS = {"cpu_ms": "CPU", "added_ms": "time added"}


def _speed(ours: Mapping[int, Figures], others: Results, kind: str, key: str) -> list[Aim]:
    what = f"{KEYS[key]} of a {KINDS[kind]}"
    judged = []
    for size, figures in ours.items() if others else ():
        own, best = figures[kind][key], min(sizes[size][kind][key] for sizes in others.values())
        limit = best * MAX_SHARE_OF_BEST
        judged.append(
            Aim(f"{what}, {size}: at most half of the best", f"{_ms(own)} ms", f"{_ms(limit)} ms", own <= limit)
        )
    small, large = min(ours), max(ours)
    if small < large:
        growth = ours[large][kind][key] / ours[small][kind][key]
        name = f"{what}, {large} against {small}"
        judged.append(Aim(name, f"{growth:.2f} times", f"{MAX_GROWTH} times", growth <= MAX_GROWTH))
    return judged


def _per_size(size: int, figures: Figures) -> list[Aim]:
    dialogue, requests = figures["dialogue"], figures["question"]["requests"]
    judged = [
        Aim(f"requests only grow, {size}", percent(dialogue["share"]), "100 %", dialogue["share"] == 1),
        Aim(
            f"stable part stands in the next conversation, {size}",
            "yes" if dialogue["next_stable"] else "no",
            "yes",
            dialogue["next_stable"],
        ),
        Aim(f"longest block, {size}", f"{_ms(figures['block_ms'])} ms", "5 ms", figures["block_ms"] <= MAX_BLOCK_MS),
        Aim(f"question about a state, {size}", f"{requests} requests", "1 request", requests == 1),
    ]
    if size == NEW_TOKENS_SIZE:
        new = max(dialogue["new_tokens"])
        judged.append(Aim(f"new tokens per turn, {size}", str(new), str(MAX_NEW_TOKENS), new <= MAX_NEW_TOKENS))
    return judged


def _table(rows: list[list[str]], *, markdown: bool) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells).rstrip())
        if number == 0:
            lines.append("| " + " | ".join("-" * width for width in widths) + " |" if markdown else "")
    return [line for line in lines if line]


def render(results: Results, *, markdown: bool = False) -> str:
    """Return all tables and the aims about turns as text."""
    return rendered(results, TABLES, aims(results), markdown=markdown)


def render_tools(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims about tool calls as text; "" when they were not measured."""
    ours = {name: sizes for name, sizes in results.items() if all("tools" in figures for figures in sizes.values())}
    return rendered(ours, TOOL_TABLES, tool_aims(ours), markdown=markdown) if ours else ""


def rendered(
    results: Results,
    tables: Sequence[tuple[str, Callable[[Figures], str]]],
    judged: Sequence[Aim],
    *,
    markdown: bool,
    columns: str = "entities",
) -> str:
    """Return tables with a row for each name and a column for each size (or what else `columns` says), and aims."""
    sizes = next(iter(results.values()))
    parts = []
    for title, cell in tables:
        rows = [[columns, *map(str, sizes)]] + [
            [name, *(cell(row[size]) for size in sizes)] for name, row in results.items()
        ]
        parts.append("\n".join([f"**{title}**\n" if markdown else title, *_table(rows, markdown=markdown)]))
    if judged:
        rows = [["aim", "measured", "limit", ""]]
        rows += [[aim.what, aim.measured, aim.limit, "met" if aim.passed else "MISSED"] for aim in judged]
        parts.append("\n".join(["**Aims**\n" if markdown else "Aims", *_table(rows, markdown=markdown)]))
    return "\n\n".join(parts) + "\n"


def as_json(about: Mapping[str, Any], results: Results, more: Sequence[Aim] = ()) -> dict[str, Any]:
    """Return everything for a file, with aims that were judged elsewhere."""
    judged = [*aims(results), *tool_aims(results), *more]
    return {"about": about, "results": results, "aims": [asdict(aim) for aim in judged]}


TURNS, TOOLS = "figures", "figures of tool calls"
"""The parts of the document that are written."""


def insert(document: str, figures: str, part: str = TURNS) -> str:
    """Return the document with the figures between the two marks of a part."""
    first, last = f"<!-- {part}: written by scripts/bench --markdown -->", f"<!-- end of {part} -->"
    head, begin, rest = document.partition(first)
    _, end, tail = rest.partition(last)
    if not (begin and end):
        raise ValueError(f"the document has no {first!r} and {last!r}")
    return f"{head}{first}\n\n{figures}\n{last}{tail}"
