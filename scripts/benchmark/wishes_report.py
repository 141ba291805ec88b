"""The tables and the aims about wishes that wait while states change. Pure: figures in, text out."""

from collections.abc import Callable

from .agents import OURS
from .report import Aim, Figures, Results, rendered

WISHES = "figures of wishes"
MOST = "1000"
MAX_TIMES = 1.1
"""How much more time changes may take with wishes; two medians of the same thing differ by as much on a machine that does other things."""


def _of(count: str, key: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures['wishes'][count][key]:,.0f}"


TABLES = tuple(
    (f"{word} of 10,000 state changes that concern no wish, with {count} wishes", _of(count, key))
    for key, word in (
        ("ms", "CPU (ms)"),
        ("own_calls", "Calls into Home Agent"),
        ("wish_calls", "Of it into the code of wishes"),
    )
    for count in ("0", MOST)
)


def wishes_aims(results: Results) -> list[Aim]:
    """Judge them: nothing of wishes is called, and the time is the same."""
    judged = []
    for size, figures in results.get(OURS, {}).items():
        if (wishes := figures.get("wishes")) is None:
            continue
        without, with_them = wishes["0"], wishes[MOST]
        calls = with_them["wish_calls"]
        name = f"calls for states that concern none of 1,000 wishes, {size}"
        judged.append(Aim(name, str(calls), "0", calls == 0))
        limit = without["ms"] * MAX_TIMES
        name = f"CPU of 10,000 such changes, {size}"
        judged.append(Aim(name, f"{with_them['ms']:.0f} ms", f"{limit:.0f} ms", with_them["ms"] <= limit))
    return judged


def render_wishes(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims as text; "" when they were not measured."""
    ours = {name: sizes for name, sizes in results.items() if all("wishes" in one for one in sizes.values())}
    return rendered(ours, TABLES, wishes_aims(ours), markdown=markdown) if ours else ""
