"""The section `home_agent:` in configuration.yaml: tools and secrets, each checked by itself, with its line."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.reload import async_integration_yaml_config
from homeassistant.helpers.typing import ConfigType
from homeassistant.util.hass_dict import HassKey
import probatio

from ...support.const import CONF_CUSTOM_TOOLS, DOMAIN
from ...support.errors import CustomToolError
from ...support.masking import MIN_LENGTH

CONF_SECRETS = "secrets"


@dataclass(frozen=True, slots=True)
class AsWritten:
    """The section with its line numbers, which Home Assistant would remove from mappings."""

    raw: object = None


DATA_YAML: HassKey[AsWritten] = HassKey(f"{DOMAIN}_yaml")  # the section as last read


CONFIG_SCHEMA = probatio.Schema(
    {probatio.Optional(DOMAIN): lambda section: AsWritten(section)},  # noqa: PLW0108 - a class would be a schema
    extra=probatio.ALLOW_EXTRA,
)
"""Accepts anything: errors in the section are issues in Repairs, and break nothing else."""


@dataclass(frozen=True, slots=True)
class ToolFault:
    """An error with its file and line."""

    error: CustomToolError | probatio.Invalid
    file: str
    line: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlTool:
    """One tool in the file."""

    data: object
    path: tuple[Hashable, ...]

    @property
    def name(self) -> str:
        """Return the tool's name, "" if it has none."""
        return str(self.data.get("name", "")) if isinstance(self.data, Mapping) else ""


@dataclass(slots=True, kw_only=True)
class YamlSection:
    """The whole section."""

    raw: Any
    config_dir: str
    tools: list[YamlTool] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    findings: list[ToolFault] = field(default_factory=list)

    def place(self, path: tuple[Hashable, ...]) -> tuple[str, str]:
        """Return file and line of a path, or of its last part that exists."""
        found: tuple[str, object] = ("configuration.yaml", "?")
        for node in _nodes({DOMAIN: self.raw}, (DOMAIN, *path)):
            if (file := getattr(node, "__config_file__", None)) is not None:
                found = (file, getattr(node, "__line__", "?"))
        file, line = Path(found[0]), str(found[1])
        return str(file.relative_to(self.config_dir) if file.is_relative_to(self.config_dir) else file), line

    def find(self, error: CustomToolError | probatio.Invalid, path: tuple[Hashable, ...] = (), name: str = "") -> None:
        """Add an error; `path` leads to the start of the error's own path."""
        first = error.errors[0] if isinstance(error, probatio.MultipleInvalid) else error
        self.findings.append(ToolFault(first, *self.place((*path, *first.path)), name))


def section_from(hass: HomeAssistant) -> YamlSection:
    """Return the current section."""
    raw = hass.data.get(DATA_YAML, AsWritten()).raw
    section = YamlSection(raw=raw, config_dir=hass.config.config_dir)
    if raw is None:
        return section
    if not isinstance(raw, Mapping):
        section.find(CustomToolError("custom_yaml_mapping"))
        return section
    for key in raw:
        if key not in (CONF_CUSTOM_TOOLS, CONF_SECRETS):
            section.find(CustomToolError("custom_yaml_key", (key,), name=str(key)))
    secrets, tools = raw.get(CONF_SECRETS), raw.get(CONF_CUSTOM_TOOLS)
    if secrets is not None and not isinstance(secrets, Mapping):
        section.find(CustomToolError("custom_yaml_secrets", (CONF_SECRETS,)))
    for name, value in secrets.items() if isinstance(secrets, Mapping) else ():
        usable = isinstance(value, (str, int, float)) and not isinstance(value, bool) and len(str(value)) >= MIN_LENGTH
        if not str(name).isidentifier() or not usable:
            section.find(CustomToolError("custom_secret", (CONF_SECRETS, name), name=str(name), length=str(MIN_LENGTH)))
        else:
            section.secrets[str(name)] = str(value)
    if isinstance(tools, list):
        section.tools = [YamlTool(data=data, path=(CONF_CUSTOM_TOOLS, index)) for index, data in enumerate(tools)]
    elif tools is not None:
        section.find(CustomToolError("custom_yaml_list", (CONF_CUSTOM_TOOLS,)))
    return section


def _nodes(node: object, path: Iterable[Hashable]) -> Iterator[object]:
    """Yield the nodes with file and line along a path: the keys, and values in another file."""
    for step in path:
        if isinstance(node, Mapping):
            key = next((key for key in node if key == step), None)
            if key is None:
                return
            yield key
            node = node[key]
            if getattr(node, "__config_file__", None) != getattr(key, "__config_file__", None):
                yield node
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
            yield node
        else:
            return


async def async_read_again(hass: HomeAssistant) -> None:
    """Read the file again. Raises `HomeAssistantError` if it is not YAML."""
    keep(hass, await async_integration_yaml_config(hass, DOMAIN))


@callback
def keep(hass: HomeAssistant, config: ConfigType | None) -> None:
    """Keep the section of a configuration validated by `CONFIG_SCHEMA`."""
    section = (config or {}).get(DOMAIN)
    hass.data[DATA_YAML] = section if isinstance(section, AsWritten) else AsWritten()
