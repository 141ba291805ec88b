"""Outside of policy/effects/ nothing asks an effect for its class: a new kind needs no edit anywhere else."""

import ast
from pathlib import Path

from custom_components.home_agent.policy.effects.name_change import NameChange
from custom_components.home_agent.turn.plan import Effect, ServiceCall

ROOT = Path(__file__).parents[3] / "custom_components" / "home_agent"
CLASSES = {Effect.__name__, ServiceCall.__name__, NameChange.__name__}


def asked(path: Path) -> set[str]:
    """Return the classes of effects that a module compares with."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        is_call = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type")
        )
        if is_call or isinstance(node, (ast.Compare, ast.MatchClass)):
            found |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)} & CLASSES
    return found


def test_no_module_asks_for_the_class_of_an_effect() -> None:
    modules = [path for path in ROOT.rglob("*.py") if "effects" not in path.parts]
    assert {path.name: classes for path in modules if (classes := asked(path))} == {}
