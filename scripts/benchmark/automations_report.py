"""The tables and the aims about automations by talking. Pure: figures in, text out."""

from collections.abc import Callable

from .agents import OURS
from .report import Aim, Figures, Results, rendered

AUTOMATIONS = "figures of automations"
MADE = "100"
MAX_TIMES = 1.1
"""How much more time changes may take with automations made here; two medians of the same thing differ by as much."""
MAX_BLOCK = 50  # milliseconds, after which Home Assistant's answers are felt to stand still
PARTS = {
    "check": "to check a draft",
    "words": "to tell it in words",
    "list": "to list 300 automations",
    "replay": "to replay a week of 20,000 changes",
    "look": "to look at 100 automations that were made here",
}


def _of(part: str, key: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures['automations'][part][key]:,.1f}"


TABLES = (
    *(
        (f"CPU (ms) of 10,000 state changes, with {count} automations made here", _of(count, "ms"))
        for count in ("0", MADE)
    ),
    *(
        (f"{word} {what}", _of(part, key))
        for part, what in PARTS.items()
        for key, word in (("ms", "Time (ms)"), ("block_ms", "Longest time for which nothing else ran (ms)"))
    ),
)


def automations_aims(results: Results) -> list[Aim]:
    """Judge them: nothing is called for states that are not looked at, and Home Assistant never stands still."""
    judged = []
    for size, figures in results.get(OURS, {}).items():
        if (found := figures.get("automations")) is None:
            continue
        calls = found[MADE]["own_calls"] - found["0"]["own_calls"]
        name = f"calls more for states that 100 automations do not use, {size}"
        judged.append(Aim(name, str(max(0, calls)), "0", calls <= 0))
        limit, taken = found["0"]["ms"] * MAX_TIMES, found[MADE]["ms"]
        judged.append(Aim(f"CPU of 10,000 such changes, {size}", f"{taken:.0f} ms", f"{limit:.0f} ms", taken <= limit))
        for part, what in PARTS.items():
            block = found[part]["block_ms"]
            name = f"nothing stands still {what}, {size}"
            judged.append(Aim(name, f"{block:.0f} ms", f"{MAX_BLOCK} ms", block <= MAX_BLOCK))
    return judged


def render_automations(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims as text; "" when they were not measured."""
    ours = {name: sizes for name, sizes in results.items() if all("automations" in one for one in sizes.values())}
    return rendered(ours, TABLES, automations_aims(ours), markdown=markdown) if ours else ""
