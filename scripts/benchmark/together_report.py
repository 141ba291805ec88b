"""The tables and the aims about turns in which several agents take part. Pure: figures in, text out."""

from collections.abc import Callable
from statistics import median

from .agents import OURS
from .report import Aim, Figures, Results, rendered

TOGETHER = "figures of several agents"
REQUESTS = {"alone": 1, "plain": 1, "routed": 4, "delegated": 3}
"""How often a model is asked in a turn of each kind."""
TITLES = {
    "alone": "Plain turn in a home without other agents",
    "plain": "Plain turn of an agent without a router, beside others with one",
    "routed": "Turn with a router and two extensions",
    "delegated": "Turn with a delegated request",
}
MAX_BESIDE = 1.2  # times; two medians of the same thing differ by as much on a machine that does other things


def _of(kind: str, key: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures['together'][kind][key]:.2f}"


TABLES = tuple(
    (f"{title}: {word} (ms)", _of(kind, key))
    for kind, title in TITLES.items()
    for key, word in (("added_ms", "time added"), ("cpu_ms", "CPU"))
)


def together_aims(results: Results) -> list[Aim]:
    """Judge them: a turn with so many requests takes at most the CPU of so many plain turns."""
    judged = []
    for size, figures in results.get(OURS, {}).items():
        if (together := figures.get("together")) is None:
            continue
        plain, alone = together["plain"]["cpu_ms"], together["alone"]["cpu_ms"]
        name = f"CPU of a plain turn beside routers and extensions, {size}"
        judged.append(Aim(name, f"{plain:.2f} ms", f"{alone * MAX_BESIDE:.2f} ms", plain <= alone * MAX_BESIDE))
        for kind in ("routed", "delegated"):
            own, limit = together[kind]["cpu_ms"], plain * REQUESTS[kind]
            title = (
                f"CPU of a {TITLES[kind][0].lower()}{TITLES[kind][1:]}, {size}: at most {REQUESTS[kind]} plain turns"
            )
            judged.append(Aim(title, f"{own:.2f} ms", f"{limit:.2f} ms", own <= limit))
    return judged


def render_together(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims as text; "" when they were not measured."""
    ours = {name: sizes for name, sizes in results.items() if all("together" in one for one in sizes.values())}
    return rendered(ours, TABLES, together_aims(ours), markdown=markdown) if ours else ""


def figures_of(turns: list[dict[str, float]]) -> dict[str, float]:
    """Return the medians of some turns."""
    return {key: median(turn[key] for turn in turns) for key in ("added_ms", "cpu_ms")}
