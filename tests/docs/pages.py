"""The documents as data: pages, sections, tables, examples."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
import re

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#+) +(.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced block."""

    page: str
    language: str
    code: str

    def __str__(self) -> str:
        first = next((line for line in self.code.splitlines() if line.strip()), "")
        return f"{self.page}: {first[:40]}"


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def prose(path: Path) -> str:
    """Return a page without its examples."""
    return FENCE.sub("", read(path))


def examples(*languages: str) -> list[Example]:
    return [
        Example(page_name(path), match[1], match[2])
        for path in PAGES
        for match in FENCE.finditer(read(path))
        if match[1] in languages or not languages
    ]


def section(page: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one of its level or above."""
    content = read(DOCS / page)
    begin = next(match for match in HEADING.finditer(content) if match[2] == heading)
    rest = content[begin.end() :]
    end = next((match for match in HEADING.finditer(rest) if len(match[1]) <= len(begin[1])), None)
    return rest[: end.start()] if end else rest


def rows(content: str, *, columns: int) -> Iterator[list[str]]:
    """Yield the cells of the tables with this many columns, headings left out."""
    for table in re.findall(r"(?:^\|.*\|$\n?)+", content, re.MULTILINE):
        for line in table.splitlines()[2:]:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == columns:
                yield cells


def names(content: str) -> set[str]:
    """Return the first cell of each row, where it is code."""
    return {match[1] for line in content.splitlines() if (match := re.match(r"\| `([^`]+)` \|", line))}


def slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    """Return what may stand behind a `#` in a link to this page; the page itself included."""
    return {"", *(slug(match[2]) for match in HEADING.finditer(read(path)))} if path.suffix == ".md" else {""}
