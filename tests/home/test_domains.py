"""What is known of a domain stands in its record alone."""

import ast
from pathlib import Path

import pytest

from custom_components.home_agent.home.domains import DOMAINS

PACKAGE = Path(__file__).parents[2] / "custom_components" / "home_agent"
FILES = [path for room in ("agent", "languages", "local", "policy") for path in (PACKAGE / room).glob("*.py")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_other_module_lists_domains(path: Path) -> None:
    listed: list[list[str]] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        elements = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        texts = [item.value for item in elements if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if len(named := [text for text in texts if text in DOMAINS]) > 1 and len(named) * 2 > len(texts):
            listed.append(named)
    assert listed == []
