"""Imports point down the list of ARCHITECTURE.md, never up."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent / "custom_components" / "home_agent"

LAYERS = (
    ("const", "errors", "names", "slices", "storage"),
    ("exposure",),
    ("profiles",),
    ("client", "learned", "speech", "texts"),
    ("turn", "home"),
    ("conversations",),
    ("events", "prompt"),
    ("retrieval",),
    ("knowledge",),
    ("safety",),
    ("context",),
    ("tools",),
    ("journal",),
    ("local",),
    ("foreign", "issues"),
    ("outside", "endpoint", "opening", "pipelines"),
    ("mcp_client",),
    ("custom",),
    ("runtime", "turn_api"),
    ("confirming", "offered"),
    ("assembly",),
    ("agent", "entity"),
    ("flows",),
    ("services_retrieval",),
    ("services", "conversation", "ai_task", "sensor", "config_flow", "diagnostics", "system_health", "repairs"),
    ("__init__",),
)
RANK = {name: number for number, layer in enumerate(LAYERS) for name in layer}


def room_of(path: Path) -> str:
    """Return the first part of a module's path inside the integration."""
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms that a module imports from."""
    depth = len(path.relative_to(ROOT).parts)
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            rooms |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
    return rooms


def test_every_room_has_its_place() -> None:
    assert {room_of(path) for path in ROOT.rglob("*.py")} == set(RANK)


def test_imports_point_down() -> None:
    upwards = {
        f"{path.relative_to(ROOT)} imports {room}"
        for path in ROOT.rglob("*.py")
        for room in imported_rooms(path) - {room_of(path)}
        if RANK[room] > RANK[room_of(path)]
    }
    assert not upwards


def test_no_file_is_too_long() -> None:
    files = [path for folder in (ROOT, ROOT.parent.parent / "tests") for path in folder.rglob("*.py")]
    assert not {path.name for path in files if len(path.read_text(encoding="utf-8").splitlines()) > 400}
