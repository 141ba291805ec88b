"""What the pages for developers name exists: each link with a name in it leads to a file that defines the name."""

import ast
from functools import cache
from pathlib import Path
import re

import pytest

from .pages import ROOT, read

PAGES = [ROOT / name for name in ("ARCHITECTURE.md", "CODE_TOUR.md", "CONTRIBUTING.md")]
NAMED = re.compile(r"\[`([\w.]+)`\]\(([^)\s]+\.py)\)")


@cache
def defined(path: Path) -> set[str]:
    """Return the classes, functions and constants of a module, methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name, body=body):
                functions = (item for item in body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
                found |= {name} | {f"{name}.{item.name}" for item in functions}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.TypeAlias(name=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_code_is_where_the_page_says(page: Path) -> None:
    missing = {
        f"{name} in {target}"
        for name, target in NAMED.findall(read(page))
        if not (ROOT / target).exists() or name not in defined(ROOT / target)
    }
    assert not missing


def test_the_tour_names_code() -> None:
    assert len(NAMED.findall(read(ROOT / "CODE_TOUR.md"))) >= 15
