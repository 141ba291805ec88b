"""The tables, and the aims of issue 4's first proof. Pure: answers in, text and figures out."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

from .measure import Answer, shares
from .speed import Speed

FIRSTS = (5, 10, 20, 40)
LEAST_5, LEAST_20, LEAST_GROUP, MAX_BEHIND_ENGLISH, MAX_MS = 97.0, 99.5, 98.0, 3.0, 10.0
BEHIND = ("de", "es", "fr", "ru")

type Results = Mapping[str, Sequence[Answer]]
"""Answers by what was asked: `assist own0`, `groups own0`, `intents`."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    name: str
    cases: int
    first: Mapping[int, float]
    """Percent of the cases with all targets among so many first."""
    told: float
    """Percent of the cases in which a model would be told all of them."""
    tokens: float
    """That a model would be told, on average."""
    ms: float
    """Median of a query."""


def row_of(name: str, answers: Sequence[Answer]) -> Row:
    """Return the figures of some answers."""
    return Row(
        name,
        len(answers),
        shares(answers, FIRSTS),
        100 * sum(answer.told for answer in answers) / max(1, len(answers)),
        mean(answer.tokens for answer in answers) if answers else 0.0,
        1000 * median(answer.seconds for answer in answers) if answers else 0.0,
    )


def tables(results: Results) -> Mapping[str, Sequence[Row]]:
    """Return the tables by title."""
    english = {name: [a for a in answers if a.case.language == "en"] for name, answers in results.items()}
    assist = [name for name in results if name.startswith("assist")]
    intents = results.get("intents", ())
    return {
        "English requests by size of the home": [row_of(name, english[name]) for name in assist],
        "The half that was not looked at": [
            row_of(name, _of(english[name], lambda c: c.part == "b")) for name in assist
        ],
        "By how the target is named": [row for name in assist for row in _split(name, english[name], lambda c: c.ref)],
        "Groups, made from the homes": [row_of(name, results[name]) for name in results if name.startswith("groups")],
        "Requests in other languages, smallest homes": _split("", results.get(assist[0], ()), lambda c: c.language)
        if assist
        else [],
        "Sentences by language": _split("", intents, lambda c: c.language),
        "Sentences by language, without those that name a room and want others too": _split(
            "", _of(intents, lambda c: not c.doubtful), lambda c: c.language
        ),
        "Sentences by language, the half that was not looked at": _split(
            "", _of(intents, lambda c: c.part == "b"), lambda c: c.language
        ),
        "Sentences about one entity, and about several": _split(
            "", _of(intents, lambda c: not c.doubtful), lambda c: "several" if len(c.wanted) > 1 else "one"
        ),
    }


def _of(answers: Sequence[Answer], wanted: Callable[[Any], bool]) -> list[Answer]:
    return [answer for answer in answers if wanted(answer.case)]


def _split(name: str, answers: Sequence[Answer], key: Callable[[Any], str]) -> list[Row]:
    parts: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        parts[key(answer.case)].append(answer)
    return [row_of(f"{name} {part}".strip(), parts[part]) for part in sorted(parts)]


def aims(results: Results, speed: Speed | None) -> list[tuple[str, str, bool]]:
    """Return each aim with what was reached, and whether that is enough."""
    checked: list[tuple[str, str, bool]] = []
    for name, answers in results.items():
        if name.startswith("assist"):
            first = shares(_of(answers, lambda c: c.language == "en"), FIRSTS)
            checked.append((f"{name}: first 5 at least {LEAST_5} %", f"{first[5]:.1f}", first[5] >= LEAST_5))
            checked.append((f"{name}: first 20 at least {LEAST_20} %", f"{first[20]:.1f}", first[20] >= LEAST_20))
        elif name.startswith("groups"):
            complete = shares(answers, (FIRSTS[-1],))[FIRSTS[-1]]
            checked.append((f"{name}: complete in {LEAST_GROUP} %", f"{complete:.1f}", complete >= LEAST_GROUP))
    intents = results.get("intents", ())
    checked += _behind("sentences", intents)
    checked += _behind("sentences whose room is not doubted", _of(intents, lambda c: not c.doubtful))
    if speed is not None:
        title = f"query at {speed.entities} entities at most {MAX_MS:g} ms"
        checked.append((title, f"{speed.query_95:.2f}", speed.query_95 <= MAX_MS))
    return checked


def _behind(name: str, answers: Sequence[Answer]) -> list[tuple[str, str, bool]]:
    by_language = {row.name: row.first for row in _split("", answers, lambda c: c.language)}
    if "en" not in by_language:
        return []
    rows = []
    for language in BEHIND:
        for first in (5, 20):
            behind = by_language["en"][first] - by_language[language][first] if language in by_language else 0.0
            title = f"{name} in {language}: first {first} at most {MAX_BEHIND_ENGLISH:g} points behind English"
            rows.append((title, f"{behind:.1f}", behind <= MAX_BEHIND_ENGLISH))
    return rows


def render(results: Results, speed: Speed | None) -> str:
    """Return everything as Markdown."""
    parts = []
    for title, rows in tables(results).items():
        if rows:
            head = "| | cases | " + " | ".join(f"first {first}" for first in FIRSTS) + " | told | tokens | ms |"
            lines = [f"**{title}**", "", head, "| --- " * (len(FIRSTS) + 5) + "|", *map(_line, rows)]
            parts.append("\n".join(lines))
    if speed is not None:
        parts.append(_speed(speed))
    checks = [f"- {'✓' if good else '✗'} {title}: {reached}" for title, reached, good in aims(results, speed)]
    return "\n\n".join((*parts, "**Aims**", "\n".join(checks)))


def _line(row: Row) -> str:
    firsts = " | ".join(f"{row.first[first]:.1f}" for first in FIRSTS)
    return f"| {row.name} | {row.cases} | {firsts} | {row.told:.1f} | {row.tokens:.0f} | {row.ms:.2f} |"


def _speed(speed: Speed) -> str:
    return (
        f"**{speed.entities} entities**: documents read in {speed.read:.0f} ms, index built in {speed.build:.0f} ms, "
        f"{speed.memory:.1f} MB with the documents; one change searchable after {speed.change:.0f} ms; a query takes "
        f"{speed.query:.2f} ms, one in twenty longer than {speed.query_95:.2f} ms; the words of a language are learned in "
        f"{speed.language:.0f} ms, once."
    )


def as_json(facts: Mapping[str, Any], results: Results, speed: Speed | None) -> dict[str, Any]:
    """Return everything as data."""
    return {
        "about": dict(facts),
        "tables": {title: [asdict(row) for row in rows] for title, rows in tables(results).items()},
        "speed": asdict(speed) if speed else None,
        "aims": [{"aim": title, "reached": reached, "met": good} for title, reached, good in aims(results, speed)],
    }
