"""Puts together what became of automations."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .judge import ENGINE, TO_READ, Judged

ALL = "all"


def tables(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return by language and by class how many rows are as they should be, of how many, in each column."""
    return [
        {"title": "By language", "lines": _lines(judged, lambda item: str(item.row["lang"]))},
        {"title": "By class", "lines": _lines(judged, lambda item: item.group)},
    ]


def _lines(judged: Sequence[Judged], key: Any) -> list[dict[str, Any]]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for item in judged:
        groups[key(item)].append(item)
    return [_line(name, groups[name]) for name in sorted(groups)] + [_line(ALL, judged)]


def _line(name: str, judged: Sequence[Judged]) -> dict[str, Any]:
    columns: dict[str, list[bool]] = defaultdict(list)
    for item in judged:
        for column, is_good in item.marks.items():
            columns[column].append(is_good)
    counts = {column: {"good": sum(marks), "of": len(marks)} for column, marks in columns.items()}
    return {"name": name, "rows": len(judged), "counts": counts}


def render(judged: Sequence[Judged]) -> str:
    """Return everything as Markdown."""
    columns = [*dict.fromkeys(column for item in judged for column in item.marks)]
    parts = ["\n".join([f"**{table['title']}**", "", *_grid(table["lines"], columns)]) for table in tables(judged)]
    if outcomes := Counter(item.outcome for item in judged if item.outcome):
        parts.append(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()) + ".")
    slowest = max(judged, key=lambda item: item.seconds)
    parts.append(f"{_mean(judged):.1f} s a row, {slowest.seconds:.1f} s for {slowest.row['id']}.")
    return "\n\n".join(parts)


def _mean(judged: Sequence[Judged]) -> float:
    return sum(item.seconds for item in judged) / len(judged)


def _grid(lines: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(['', 'rows', *columns])} |"
    yield "| --- " * (len(columns) + 2) + "|"
    for line in lines:
        cells = [_cell(line["counts"].get(column)) for column in columns]
        yield f"| {' | '.join([line['name'], str(line['rows']), *cells])} |"


def _cell(count: Mapping[str, int] | None) -> str:
    if count is None:
        return ""
    return str(count["good"]) if count["good"] == count["of"] else f"{count['good']} of {count['of']}"


def as_json(facts: Mapping[str, Any], judged: Sequence[Judged]) -> dict[str, Any]:
    """Return all counts as data, and what became of each row."""
    rows = [
        {"id": item.row["id"], "class": item.group, "marks": dict(item.marks), "outcome": item.outcome}
        for item in judged
    ]
    return {"about": dict(facts), "tables": tables(judged), "rows": rows}


def failures(judged: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """Yield what is not as it should be, with all that a person needs to see why; then questions that only a person can judge.

    Rows that are wrong themselves come last.
    """
    found = [item for item in judged if not item.is_good or TO_READ in item.details]
    for item in sorted(found, key=lambda item: (not item.marks.get(ENGINE, True), item.is_good)):
        bad = [column for column, is_good in item.marks.items() if not is_good]
        yield {
            "id": item.row["id"],
            "lang": item.row["lang"],
            "class": item.group,
            "wrong": bad,
            **item.details,
            "row": item.row,
        }
