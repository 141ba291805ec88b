"""All automations that Home Assistant has, as they may be told: secrets stand as their names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, time
from enum import StrEnum
from itertools import islice
import os
from pathlib import Path
import re
from typing import Any

from homeassistant.const import STATE_ON
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity import Entity
from homeassistant.util.yaml import SECRET_YAML
import yaml  # type: ignore[import-untyped]

from ..support.masking import MASK, MIN_LENGTH, SecretMask
from .codes import is_name_of_code, without_codes
from .file import MAX_BYTES, AutomationItem
from .nodes import composed, plain_value

MAX_FOLDERS = 200  # of the configuration folder, in which a file of secrets is looked for
_LOGIN = re.compile(r"(?<=://)[^/\s:@?#]*:[^/\s@?#]+(?=@)")
"""Name and password in an address."""

type Hide = Callable[[Any], Any]


class Origin(StrEnum):
    """Where an automation is written."""

    FILE = "file"
    """In the file that Home Assistant's editor writes."""
    BLUEPRINT = "blueprint"
    """In that file, made from a blueprint."""
    ELSEWHERE = "elsewhere"
    """In a package, another file or by an integration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An automation that Home Assistant has."""

    entity_id: str
    id: str | None
    """Its unique id; None if it has none."""
    name: str
    is_on: bool
    config: Mapping[str, Any]
    """As it is written, secrets and logins in addresses masked: not for writing."""
    origin: Origin
    is_editable: bool
    """It is in that file, once, with an id; parts with a tag stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The entity of an automation as it is now, with its secrets."""

    entity_id: str
    id: str | None
    name: str
    is_on: bool
    raw_config: Mapping[str, Any]

    @classmethod
    def of(cls, hass: HomeAssistant, entity: Entity) -> Seen:
        """Return what an entity is now."""
        state = hass.states.get(entity.entity_id)
        return cls(
            entity_id=entity.entity_id,
            id=entity.unique_id,
            name=state.name if state is not None else entity.entity_id,
            is_on=state is not None and state.state == STATE_ON,
            raw_config=getattr(entity, "raw_config", None) or {},
        )


def known_automations(seen: Iterable[Seen], items: Iterable[AutomationItem], secrets: SecretNames) -> list[Known]:
    """Return the automations in the order of their entity ids. Blocks: it reads files."""
    hide = secrets.hiding()
    in_file: dict[str, list[AutomationItem]] = {}
    for item in items:
        if item.id is not None:
            in_file.setdefault(item.id, []).append(item)
    return [
        _known(one, in_file.get(one.id, []) if one.id else [], hide)
        for one in sorted(seen, key=lambda one: one.entity_id)
    ]


def _known(seen: Seen, items: Sequence[AutomationItem], hide: Hide) -> Known:
    config = items[0].config if items else seen.raw_config
    origin = Origin.ELSEWHERE
    if items:
        origin = Origin.BLUEPRINT if "use_blueprint" in config else Origin.FILE
    return Known(
        entity_id=seen.entity_id,
        id=seen.id,
        name=str(hide(seen.name)),
        is_on=seen.is_on,
        config=hide(config),
        origin=origin,
        is_editable=len(items) == 1,
    )


class SecretNames:
    """The secrets of Home Assistant's configuration by value; read again when a file changes. Everything here blocks."""

    def __init__(self, config_dir: Path) -> None:
        """Take the configuration folder."""
        self._config_dir = config_dir
        self._stamps: dict[Path, tuple[int, int]] | None = None
        self._hide: Hide = _Hiding({})

    def hiding(self) -> Hide:
        """Return what takes the secrets out of values, and logins out of addresses."""
        stamps = {path: stamp for path in self._files() if (stamp := _stamp(path)) is not None}
        if stamps != self._stamps:
            self._hide = _Hiding({value: name for path in stamps for name, value in _secrets_in(path)})
            self._stamps = stamps
        return self._hide

    def _files(self) -> Iterator[Path]:
        """Yield the files of secrets: of the configuration, and of its folders, for the packages in them."""
        yield self._config_dir / SECRET_YAML
        with suppress(OSError), os.scandir(self._config_dir) as entries:
            folders = sorted(entry.path for entry in islice(entries, MAX_FOLDERS) if entry.is_dir())
            yield from (Path(folder, SECRET_YAML) for folder in folders)


class _Hiding:
    """Takes secrets out of values."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take the names by value."""
        self._names = names
        longest_first = sorted(names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if names else None
        self._mask = SecretMask(names)

    def __call__(self, value: Any) -> Any:
        """Return plain values without secrets, in keys neither."""
        match value:
            case str():
                return self._text(str.__str__(value))
            case Mapping():
                return {
                    self(key): without_codes(self(item)) if is_name_of_code(key) else self(item)
                    for key, item in value.items()
                }
            case list() | tuple():
                return [self(item) for item in value]
            case bool() | None:
                return value
            case int() | float():
                return f"!secret {name}" if (name := self._names.get(str(value))) else value
            case date() | time():
                return value.isoformat()
        return str(value)

    def _text(self, text: str) -> str:
        text = _LOGIN.sub(MASK, text)
        if self._pattern is None:
            return text
        parts = self._pattern.split(text)
        found = [f"!secret {self._names[value]}" for value in self._pattern.findall(text)]
        shown = [self._mask.text(part) for part in parts]  # other ways to write them: in an address, as Base64
        return "".join(part + name for part, name in zip(shown, [*found, ""], strict=True))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size)


def _secrets_in(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a file that are long enough to be told from words; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            root = composed(file.read(MAX_BYTES).decode("utf-8-sig"))
        found = plain_value(root) if root is not None else {}
    except OSError, ValueError, RecursionError, yaml.YAMLError:
        return
    for name, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(str(value)) >= MIN_LENGTH:
            yield str(name), str(value)
