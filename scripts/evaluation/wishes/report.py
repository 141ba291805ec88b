"""Puts together what became of what was said for later."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .judge import GOOD, Outcome
from .run import AGENTS, GUARD, PLANS, Said

_WISHES = (
    Outcome.UNDERSTOOD, Outcome.PARTLY, Outcome.WRONG_TIME, Outcome.WRONG_TARGET, Outcome.WRONG_KIND, Outcome.ACTED,
    Outcome.NOT_UNDERSTOOD,
)  # fmt: skip
_PLANS = (*_WISHES, Outcome.MISSING, Outcome.LEFT_OVER, Outcome.NOT_ASKED)
_LATER, _NOW = (Outcome.LEFT_ALONE, Outcome.ACTED), (Outcome.DONE, Outcome.NOT_DONE)
_GROUPS = ("span", "clock", "sun", "state", "presence", "both", "reminder")
ALL = "all"

type Key = Callable[[Said], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Some rows; how many there are, and how many of them have each outcome."""

    name: str
    rows: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows by something, with a line of all."""

    title: str
    outcomes: Sequence[Outcome]
    lines: Sequence[Line]


def tables(kind: str, said: Sequence[Said]) -> list[Table]:
    """Return all tables."""
    if kind != GUARD:
        outcomes = _PLANS if kind == PLANS else _WISHES
        found = [_table("By language", outcomes, said, _language)]
        if kind != PLANS:
            found.append(_table("By class", outcomes, said, lambda item: item.group, _GROUPS))
        return found
    later = [item for item in said if not item.row.get("now")]
    now = [item for item in said if item.row.get("now")]
    return [
        _table(f"For {name}: {agent}", outcomes, own, _language)
        for name, outcomes, rows in (("later", _LATER, later), ("now", _NOW, now))
        for agent in AGENTS
        if (own := [item for item in rows if item.agent == agent])
    ]


def _language(item: Said) -> str:
    return str(item.row["lang"])


def _table(title: str, outcomes: Sequence[Outcome], said: Sequence[Said], key: Key, order: Sequence[str] = ()) -> Table:
    groups: dict[str, list[Said]] = defaultdict(list)
    for item in said:
        groups[key(item)].append(item)
    names = sorted(groups, key=lambda name: (order.index(name) if name in order else len(order), name))
    lines = [_line(name, groups[name]) for name in names]
    return Table(title=title, outcomes=outcomes, lines=[*lines, _line(ALL, said)])


def _line(name: str, said: Sequence[Said]) -> Line:
    counts = Counter(item.verdict.outcome.value for item in said)
    return Line(name=name, rows=len(said), counts=dict(counts))


def render(kind: str, said: Sequence[Said]) -> str:
    """Return everything as Markdown."""
    parts = [_rendered(table) for table in tables(kind, said)]
    if kind not in (GUARD, PLANS):
        parts.append(_crossed(said))
    return "\n\n".join(parts)


def _rendered(table: Table) -> str:
    head = ["", "rows", *table.outcomes]
    rows = [[line.name, str(line.rows), *(_share(line, one) for one in table.outcomes)] for line in table.lines]
    return "\n".join([f"**{table.title}**", "", *_grid([head, *rows])])


def _share(line: Line, outcome: Outcome) -> str:
    count = line.counts.get(outcome.value, 0)
    return f"{count} ({100 * count / line.rows:.1f} %)" if count else "0"


def _crossed(said: Sequence[Said]) -> str:
    """Return of each language how much of each class is understood, and how much is wrong."""
    groups = [name for name in _GROUPS if any(item.group == name for item in said)]
    languages = sorted({_language(item) for item in said})
    rows = [["", *groups]]
    for language in languages:
        cells = []
        for group in groups:
            own = [item.verdict.outcome for item in said if item.group == group and _language(item) == language]
            good = sum(one in GOOD for one in own)
            cells.append(f"{good} of {len(own)}" if own else "")
        rows.append([language, *cells])
    return "\n".join(["**Understood, by language and class**", "", *_grid(rows)])


def _grid(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *others = rows
    yield f"| {' | '.join(head)} |"
    yield "| --- " * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in others)


def as_json(facts: Mapping[str, Any], kind: str, said: Sequence[Said]) -> dict[str, Any]:
    """Return all counts as data, and what became of each row."""
    outcomes = [
        {"id": item.row["id"], "agent": item.agent, "class": item.group, "outcome": item.verdict.outcome}
        for item in said
    ]
    return {"about": dict(facts), "tables": [asdict(table) for table in tables(kind, said)], "rows": outcomes}


def failures(said: Sequence[Said]) -> Iterator[dict[str, Any]]:
    """Yield what is not as expected, the worst first."""
    order = [*Outcome]
    wrong = [item for item in said if item.verdict.outcome not in GOOD]
    for item in sorted(wrong, key=lambda item: order.index(item.verdict.outcome)):
        row = item.row
        yield {
            "id": row["id"],
            "lang": row["lang"],
            "class": item.group,
            "agent": item.agent,
            "outcome": item.verdict.outcome,
            "why": item.verdict.why,
            **{key: row[key] for key in ("utterance", "turns", "before") if key in row},
            "answer": item.answers[-1] if "turns" not in row else list(item.answers),
            **{key: row[key] for key in ("expected", "after", "call", "now", "asks") if key in row},
            "got": list(item.waits),
            "done": {key: list(value) for key, value in item.done.items()},
        }
