"""Puts together what became of the requests that the home was to answer by itself."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from typing import Any

from .local import ACTED, AGENTS, ANSWERED, ASKED, FULL, HANDED_ON, OURS, RIGHT, STRICT, WRONG, Asked

LEAST_RIGHT, LEAST_EXPLICIT, MOST_WRONG, MOST_MS = 92.0, 95.0, 0.2, 15.0
LARGE = ("mix1000", "sib1000")
SHARES = ("right", "after a yes", "wrong", "only answered", "asked back", "handed on")
HEAD = ("", "agent", "cases", *SHARES, "ms", "95 %", "computing")

type Key = Callable[[Asked], str]
type Tables = Mapping[str, Sequence["Line"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One agent and one group of requests; shares in percent, times in milliseconds."""

    name: str
    agent: str
    cases: int
    right: float
    confirmed: float
    """Of them right after a yes."""
    wrong: float
    """Wrong target, value, answer or intent; of what is no command: acted upon."""
    answered: float
    """Answered, and nothing happened."""
    asked: float
    """Asked back."""
    handed_on: float
    """Nothing done, and said so."""
    ms: float
    ms_95: float
    computing: float
    """Of the process, at the median: what else the machine does is not counted."""


def line(name: str, agent: str, asked: Sequence[Asked]) -> Line:
    """Return the figures of some requests."""
    seconds = [item.seconds for item in asked]
    outcomes = Counter(item.outcome for item in asked)

    def share(*names: str) -> float:
        return 100 * sum(outcomes[name] for name in names) / len(asked)

    return Line(
        name=name,
        agent=agent,
        cases=len(asked),
        right=share(RIGHT),
        confirmed=100 * sum(item.confirmed and item.outcome == RIGHT for item in asked) / len(asked),
        wrong=share(*WRONG),
        answered=share(ANSWERED),
        asked=share(ASKED),
        handed_on=share(HANDED_ON),
        ms=1000 * median(seconds),
        ms_95=1000 * (quantiles(seconds, n=20)[-1] if len(seconds) > 1 else seconds[0]),
        computing=1000 * median(item.computing for item in asked),
    )


def tables(asked: Sequence[Asked]) -> Tables:
    """Return the figures by table."""
    commands = [item for item in asked if item.row["kind"] != "none" and "intent" not in item.row]
    english = [item for item in commands if item.row["lang"] == "en"]
    as_it_is = [item for item in english if not item.size]
    others = [item for item in asked if item.row["kind"] == "none"]
    sentences = [item for item in asked if "intent" in item.row and item.row["kind"] != "none"]
    return {
        "Requests in English, by size of the home": _split(english, lambda item: item.size or "as it is"),
        "Requests by language, homes as they are": _split(
            [item for item in commands if not item.size], lambda item: item.row["lang"]
        ),
        "In English, by source": _split(as_it_is, lambda item: item.row["home"].partition("-")[0]),
        "In English, by how the target is named": _split(as_it_is, lambda item: str(item.row.get("ref"))),
        "In English, by kind of device": _split(as_it_is, lambda item: str(item.row.get("category"))),
        "No commands: acted upon (wrong) or left alone": _split(
            others, lambda item: f"{item.row.get('category')} {item.size}".strip()
        ),
        "Home Assistant's sentences, by language": _split(sentences, lambda item: item.row["lang"]),
        "Home Assistant's sentences, by intent": _split(sentences, lambda item: item.row["intent"]),
    }


def _split(asked: Sequence[Asked], key: Key) -> list[Line]:
    groups: dict[str, list[Asked]] = defaultdict(list)
    for item in asked:
        groups[key(item)].append(item)
    names = sorted(groups, key=lambda name: (-len(groups[name]), name))
    return list(_by_agent("all", asked)) * (len(groups) > 1) + [
        row for name in names for row in _by_agent(name, groups[name])
    ]


def _by_agent(name: str, asked: Sequence[Asked]) -> Iterator[Line]:
    for agent in AGENTS:
        if own := [item for item in asked if item.agent == agent]:
            yield line(name, agent, own)


def aims(asked: Sequence[Asked]) -> list[tuple[str, str, bool]]:
    """Return each aim with what was reached, and whether that is enough."""
    ours = [item for item in asked if item.agent == OURS]
    commands = [item for item in ours if "intent" not in item.row and item.row["kind"] != "none"]
    english = [item for item in commands if item.row["lang"] == "en"]
    checked: list[tuple[str, str, bool]] = []
    single = [item for item in english if not item.size]
    large = [item for item in english if item.size in LARGE and item.row.get("explicit")]
    for name, listed, least in (
        ("single homes", single, LEAST_RIGHT),
        ("explicit, 1,000 entities", large, LEAST_EXPLICIT),
    ):
        if listed:
            found = line(name, OURS, listed)
            checked.append((f"{name}: at least {least:g} % right", f"{found.right:.1f}", found.right >= least))
            wrong = 100 * sum(item.outcome in WRONG for item in listed) / len(listed)
            checked.append((f"{name}: at most {MOST_WRONG} % wrong", f"{wrong:.2f}", wrong <= MOST_WRONG))
    if large:
        ms = 1000 * median(item.seconds for item in large)
        checked.append((f"1,000 entities: {MOST_MS:g} ms at the median", f"{ms:.1f}", ms <= MOST_MS))
    if others := [item for item in ours if item.row["kind"] == "none"]:
        acted = sum(item.outcome == ACTED for item in others)
        checked.append(("nothing done for what is no command", f"{acted} of {len(others)}", acted == 0))
    by_language = {
        (row.name, row.agent): row
        for row in tables(asked)["Home Assistant's sentences, by language"]
        if row.name != "all"
    }
    for (language, agent), row in by_language.items():
        if agent == OURS and (strict := by_language.get((language, STRICT))):
            title = f"sentences in {language}: as many right as with Home Assistant's strict ones"
            checked.append((title, f"{row.right:.1f} of {strict.right:.1f}", row.right >= strict.right))
    return checked


def ratios(asked: Sequence[Asked]) -> Mapping[str, float]:
    """Return how many times as long as others ours takes at the median, by their names; empty without both."""
    times: dict[str, list[float]] = defaultdict(list)
    for item in asked:
        times[item.agent].append(item.computing)
    if OURS not in times:
        return {}
    return {agent: median(times[OURS]) / median(times[agent]) for agent in (STRICT, FULL) if agent in times}


def render(asked: Sequence[Asked]) -> str:
    """Return everything as Markdown."""
    parts = []
    for title, rows in tables(asked).items():
        if rows:
            head = f"| {' | '.join(HEAD)} |"
            parts.append("\n".join([f"**{title}**", "", head, "| --- " * len(HEAD) + "|", *map(_row, rows)]))
    if found := ratios(asked):
        parts.append(
            "Time of ours, of computing: " + ", ".join(f"{ratio:.2f} × {name}" for name, ratio in found.items())
        )
    checks = [f"- {'✓' if good else '✗'} {title}: {reached}" for title, reached, good in aims(asked)]
    return "\n\n".join((*parts, "**Aims**", "\n".join(checks)))


def _row(row: Line) -> str:
    shares = (row.right, row.confirmed, row.wrong, row.answered, row.asked, row.handed_on)
    figures = " | ".join(f"{share:.1f}" for share in shares)
    times = f"{row.ms:.1f} | {row.ms_95:.1f} | {row.computing:.1f}"
    return f"| {row.name} | {row.agent} | {row.cases} | {figures} | {times} |"


def as_json(facts: Mapping[str, Any], asked: Sequence[Asked]) -> dict[str, Any]:
    """Return everything as data."""
    return {
        "about": dict(facts),
        "tables": {title: [asdict(row) for row in rows] for title, rows in tables(asked).items()},
        "ratios": dict(ratios(asked)),
        "aims": [{"aim": title, "reached": reached, "met": good} for title, reached, good in aims(asked)],
    }


def failures(asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield what was not right, of all agents."""
    for item in asked:
        row = item.row
        if item.outcome in WRONG or (row["kind"] != "none" and item.outcome != RIGHT):
            kept = ("id", "home", "lang", "utterance", "category", "ref", "intent", "slots", "setup", "expected")
            yield {
                "outcome": item.outcome,
                "agent": item.agent,
                "size": item.size,
                **{key: row[key] for key in kept if key in row},
                "expected_entity_ids": row.get("expected_entity_ids"),
                "touched": list(item.touched),
                "said": item.said,
            }
