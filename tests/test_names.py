"""Names in the code and its documents: one class, one name; references lead somewhere in this repository."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
import re
import subprocess

import pytest

REPOSITORY = Path(__file__).parent.parent
PACKAGE = REPOSITORY / "custom_components" / "home_agent"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEXTS = (".py", ".md", ".json", ".yaml", ".yml", ".toml", ".sh", "")
_REFERENCE = re.compile(r"(?<![\w/.-])(?:[A-Z]\d?-\d{1,3}(?![\w-])|lessons? \d+|decisions? [A-Z]-?\d+)")
"""A requirement, a lesson or a decision by a number that only its writer could look up."""
_NUMBERED_TEST = re.compile(r"\bdef test_[a-z]\d*_\d+")


def _tracked() -> list[Path]:
    """Return the text files of the repository."""
    names = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    paths = [REPOSITORY / name for name in names.splitlines()]
    return [path for path in paths if path.suffix in TEXTS and path.is_file()]


def references(text: str) -> Iterator[str]:
    """Yield the references of a text that no reader can follow, with their line."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern in (_REFERENCE, _NUMBERED_TEST):
            yield from (f"{number}: {match[0]}" for match in pattern.finditer(line))


def test_no_class_name_is_there_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ClassDef(name=name) | ast.TypeAlias(name=ast.Name(id=name)):
                    places[name].append(str(path.relative_to(PACKAGE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_file_name_is_there_three_times() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        places[path.name].append(str(path.relative_to(PACKAGE)))
    del places["__init__.py"]
    assert not {name: found for name, found in places.items() if len(found) > 2}


@pytest.mark.parametrize(("text", "found"), [
    pytest.param("tried once more (C-17).", ["1: C-17"], id="a requirement"),
    pytest.param("one\nS1-39 to S1-41", ["2: S1-39", "2: S1-41"], id="a range, on its line"),
    pytest.param("(lesson 6)", ["1: lesson 6"], id="a lesson"),
    pytest.param("decision C4", ["1: decision C4"], id="a decision elsewhere"),
    pytest.param("def test_s4_12_home_map", ["1: def test_s4_12"], id="a test that is a number"),
    pytest.param("docs/decisions/0004-history-budget.md, UTF-8, GPT-4, 2026-11", [], id="what can be followed"),
    pytest.param("[a-zA-Z0-9], X-1-y, def test_two_4k_files", [], id="patterns and names"),
])  # fmt: skip
def test_references_that_lead_nowhere_are_found(text: str, found: list[str]) -> None:
    assert list(references(text)) == found


def test_references_lead_somewhere() -> None:
    mine = Path(__file__)
    assert not [
        f"{path.relative_to(REPOSITORY)}:{found}"
        for path in _tracked()
        if path != mine
        for found in references(path.read_text(encoding="utf-8"))
    ]
