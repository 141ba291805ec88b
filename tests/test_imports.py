"""Imports follow the order that ARCHITECTURE.md lists: down, never up, and never to a room of the same line."""

import ast
from pathlib import Path
import re

REPOSITORY = Path(__file__).parent.parent
ROOT = REPOSITORY / "custom_components" / "home_agent"
PAGE = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
_LISTED = re.search(r"^## Order of imports$.*?^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
assert _LISTED, "ARCHITECTURE.md lists the order of imports"
FLOORS = [line.split() for line in _LISTED[1].splitlines()]
RANK = {room: int(number) for number, *rooms in FLOORS for room in rooms}


def room_of(path: Path) -> str:
    """Return the first part of a module's path inside the integration."""
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms that a module imports from."""
    depth = len(path.relative_to(ROOT).parts)
    rooms: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            rooms |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
    return rooms


MODULES = {path: imported_rooms(path) - {room_of(path)} for path in sorted(ROOT.rglob("*.py"))}
ARROWS = {(room_of(path), room) for path, rooms in MODULES.items() for room in rooms}


def test_floors_are_numbered_from_the_ground() -> None:
    assert [int(number) for number, *_ in FLOORS] == list(range(len(FLOORS), 0, -1))
    assert sum(len(rooms) for _, *rooms in FLOORS) == len(RANK)


def test_every_room_has_its_place() -> None:
    assert {room_of(path) for path in MODULES} == set(RANK)


def test_every_room_is_described() -> None:
    table = re.search(r"^## Rooms$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    assert table
    described = {
        name for row in re.findall(r"^\| (`.+?) \|", table[1], re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert described == set(RANK)


def test_imports_point_down() -> None:
    upwards = {
        f"{path.relative_to(ROOT)} imports {room}"
        for path, rooms in MODULES.items()
        for room in rooms
        if RANK[room] >= RANK[room_of(path)]
    }
    assert not upwards


def test_the_drawing_stays_small() -> None:
    assert len(RANK) <= 31
    assert len(FLOORS) <= 10
    assert len(ARROWS) <= 172
