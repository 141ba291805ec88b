"""The tables and aims about a day of voice on a real server. Pure: figures in, text out."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from .agents import OURS
from .report import Aim, Figures, Results, percent, rendered

REAL = "figures of a real server"
MAX_COMMAND_TOKENS = 150
MAX_QUESTION_TOKENS = 120
MAX_SHARE_OF_QUESTION = 0.5
TURNS = ("command", "question", "follow-up")
BY_ITSELF = ("start", "between", "thinking")
"""Times in which nobody waits for an answer."""


def day_figures(day: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what a day says: by turn in the order of the conversations, without the first one, which is told apart."""
    later = [turn for turn in day if turn["conversation"] > 0]
    figures: dict[str, Any] = {
        turn: [_summed(spent["requests"]) for spent in later if spent["turn"] == turn] for turn in TURNS
    }
    figures["start"] = _summed([request for spent in day if spent["turn"] == "start" for request in spent["requests"]])
    figures["first"] = _summed(next(spent for spent in day if spent["turn"] == "command")["requests"])
    figures["by_itself"] = [
        _summed(
            [
                request
                for spent in later
                if spent["conversation"] == number and spent["turn"] in BY_ITSELF
                for request in spent["requests"]
            ]
        )
        for number in sorted({spent["conversation"] for spent in later})
    ]
    waited = [request for spent in later if spent["turn"] in TURNS for request in _of_turns(spent["requests"])]
    cached = sum(request["cached"] for request in waited)
    figures["cached_share"] = cached / max(1, cached + sum(request["read"] for request in waited))
    return figures


def _of_turns(requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [request for request in requests if "read" in request]


def _summed(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    answered = _of_turns(requests)
    return {
        "requests": len(requests),
        "cancelled": len(requests) - len(answered),
        "first_read": answered[0]["read"] if answered else 0,
        "read": sum(request["read"] for request in answered),
        "ms": sum(request["ms"] for request in answered),
    }


def _all(turn: str, key: str) -> Callable[[Figures], str]:
    return lambda f: " ".join(f"{spent[key]:,}" for spent in f["figures"][turn])


def _seconds(turn: str) -> Callable[[Figures], str]:
    return lambda f: f"{median(spent['ms'] for spent in f['figures'][turn]) / 1000:.2f}"


def _one(part: str) -> Callable[[Figures], str]:
    return lambda f: f"{f['figures'][part]['read']:,} / {f['figures'][part]['ms'] / 1000:.1f} s"


REAL_TABLES: tuple[tuple[str, Callable[[Figures], str]], ...] = (
    ("Command that opens a conversation: tokens read for its first request", _all("command", "first_read")),
    ("Command: tokens read for all its requests", _all("command", "read")),
    ("Command: time for prompts, median (s)", _seconds("command")),
    ("Question about a state: requests", _all("question", "requests")),
    ("Question: tokens read", _all("question", "read")),
    ("Question: time for prompts, median (s)", _seconds("question")),
    ("Follow-up: tokens read", _all("follow-up", "read")),
    ("Follow-up: time for prompts, median (s)", _seconds("follow-up")),
    ("Of the prompts of these turns in the cache", lambda f: percent(f["figures"]["cached_share"])),
    ("While nobody waits, by conversation: requests", _all("by_itself", "requests")),
    ("While nobody waits, by conversation: tokens read", _all("by_itself", "read")),
    ("After a start, before anybody speaks: tokens read / time", _one("start")),
    ("First command after a start: tokens read / time for prompts", _one("first")),
)


def render_real(results: Results, *, markdown: bool = False) -> str:
    """Return the tables and the aims as text; "" when no day was spent."""
    days = _days(results)
    return rendered(days, REAL_TABLES, real_aims(results), markdown=markdown) if days else ""


def real_aims(results: Results) -> list[Aim]:
    """Judge how much is read before an answer begins, next to the others that were measured."""
    days = _days(results)
    judged = []
    for size, ours in days.get(OURS, {}).items():
        figures = ours["figures"]
        others = [sizes[size]["figures"] for name, sizes in days.items() if name != OURS]
        read = max(spent["read"] for spent in figures["command"])
        asked = max(spent["read"] for spent in figures["question"])
        requests = max(spent["requests"] for spent in figures["question"])
        judged += [
            Aim(f"command: tokens read, {size}", f"{read:,}", str(MAX_COMMAND_TOKENS), read <= MAX_COMMAND_TOKENS),
            Aim(f"question: requests, {size}", str(requests), "1", requests == 1),
            Aim(f"question: tokens read, {size}", f"{asked:,}", str(MAX_QUESTION_TOKENS), asked <= MAX_QUESTION_TOKENS),
        ]
        for turn, share in (("command", 1.0), ("question", MAX_SHARE_OF_QUESTION)) if others else ():
            own = median(spent["ms"] for spent in figures[turn])
            limit = share * min(median(spent["ms"] for spent in other[turn]) for other in others)
            what = f"{turn}: time for prompts, {size}"
            judged.append(Aim(what, f"{own / 1000:.2f} s", f"{limit / 1000:.2f} s", own <= limit))
    return judged


def _days(results: Results) -> dict[str, dict[int, Figures]]:
    days: dict[str, dict[int, Figures]] = {
        name: {size: {"figures": day_figures(spent["day"])} for size, spent in sizes.items() if "day" in spent}
        for name, sizes in results.items()
    }
    return {name: sizes for name, sizes in days.items() if sizes}
