"""Whether Home Assistant's configuration reads a file as automations, by what is written; nothing in it is run, no secret is read.

Everything here blocks: call it in the executor.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
import os
from pathlib import Path

from homeassistant.config import YAML_CONFIG_FILE
from homeassistant.util.yaml import SECRET_YAML
import yaml  # type: ignore[import-untyped]
from yaml.nodes import MappingNode, Node, ScalarNode  # type: ignore[import-untyped]

from .file import MAX_BYTES
from .nodes import composed

MAX_FILES = 500  # of the configuration
MAX_DEPTH = 5  # includes in includes
_KEY = "automation"
_CORE, _PACKAGES = "homeassistant", "packages"


class Inclusion(StrEnum):
    """How the configuration reads a file."""

    YES = "yes"
    """As automations."""
    NO = "no"
    FOLDER = "folder"
    """It reads the automations of a folder, which the file is not in."""
    UNKNOWN = "unknown"
    """The configuration cannot be read, or says it in a way that is not understood."""


def inclusion(config_dir: Path, path: Path) -> tuple[Inclusion, str]:
    """Return how the configuration reads a file, and the folder that it reads instead."""
    search = _Search(path.resolve())
    try:
        search.look_in(config_dir / YAML_CONFIG_FILE)
    except OSError, ValueError, yaml.YAMLError, RecursionError, _TooMuchError:
        return Inclusion.UNKNOWN, ""
    if search.is_found:
        return Inclusion.YES, ""
    if search.is_unclear:
        return Inclusion.UNKNOWN, ""
    return (Inclusion.FOLDER, search.folder) if search.folder else (Inclusion.NO, "")


class _TooMuchError(Exception):
    """The configuration has too many files."""


@dataclass(slots=True)
class _Search:
    """Goes through the configuration."""

    path: Path
    is_found: bool = False
    is_unclear: bool = False
    folder: str = ""
    _read: int = field(default=0)

    def look_in(self, file: Path) -> None:
        """Look in the configuration and its packages."""
        root, file = self._resolved(self._root(file), file)
        if not isinstance(root, MappingNode):
            self.is_unclear = root is not None
            return
        self._look_at(root, file)
        for core in _values(root, _CORE):
            settings, place = self._resolved(core, file)
            for packages in _values(settings, _PACKAGES):
                self._look_at_packages(*self._resolved(packages, place))

    def _look_at_packages(self, node: Node | None, file: Path) -> None:
        packages: Iterator[tuple[Node | None, Path]]
        match node:
            case ScalarNode(tag="!include_dir_named", value=name):
                packages = ((self._root(one), one) for one in _files(file.parent / name))
            case ScalarNode(tag="!include_dir_merge_named", value=name):
                merged = (self._resolved(self._root(one), one) for one in _files(file.parent / name))
                packages = (
                    (value, one) for root, one in merged if isinstance(root, MappingNode) for _, value in root.value
                )
            case MappingNode(value=pairs):
                packages = ((value, file) for _, value in pairs)
            case _:
                self.is_unclear |= bool(node is not None and node.value)
                return
        for package, place in packages:
            found, where = self._resolved(package, place)
            if isinstance(found, MappingNode):
                self._look_at(found, where)

    def _look_at(self, root: MappingNode, file: Path) -> None:
        """Look at the automations of the configuration or of a package."""
        for key, node in root.value:
            name = str(key.value)
            if name != _KEY and not name.startswith(f"{_KEY} "):
                continue
            match node:
                case ScalarNode(tag="!include", value=included):
                    self.is_found |= (file.parent / included).resolve() == self.path
                case ScalarNode(tag="!include_dir_list" | "!include_dir_merge_list", value=included):
                    self.folder = included
                    folder = (file.parent / included).resolve()
                    self.is_found |= self.path.is_relative_to(folder) and node.tag == "!include_dir_merge_list"
                case ScalarNode(tag=tag) if tag.startswith("!"):
                    self.is_unclear = True

    def _resolved(self, node: Node | None, file: Path) -> tuple[Node | None, Path]:
        """Return what a node includes, and the file in which that stands."""
        for _ in range(MAX_DEPTH):
            if not isinstance(node, ScalarNode) or node.tag != "!include":
                break
            file = file.parent / node.value
            node = self._root(file)
        return node, file

    def _root(self, file: Path) -> Node | None:
        self._read += 1
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if self._read > MAX_FILES or len(data) > MAX_BYTES:
            raise _TooMuchError
        return composed(data.decode("utf-8-sig"))


def _values(node: Node | None, name: str) -> Iterator[Node]:
    if isinstance(node, MappingNode):
        yield from (value for key, value in node.value if key.value == name)


def _files(folder: Path) -> list[Path]:
    """Return the YAML files that Home Assistant reads in a folder, in any depth."""
    return list(islice(_walk(folder), MAX_FILES + 1))


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".yaml") and not name.startswith(".") and name != SECRET_YAML:
                yield Path(root, name)
