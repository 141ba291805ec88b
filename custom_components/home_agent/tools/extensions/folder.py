"""Extensions from folders with `prompt.md` and `tools.yaml`, read in the executor; no links, nothing outside."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from pathlib import Path
import re
from typing import Any, override

import probatio
import yaml  # type: ignore[import-untyped]

from ...search.files import content_of
from ...support.errors import ExtensionError
from ..sanitize import values_in
from .extension import MAX_PROMPT, check_lines, check_names, line_of

FOLDER = ("home_agent", "extensions")  # the owner's folder in Home Assistant's configuration
SHIPPED = Path(__file__).parents[2] / "extensions"
PROMPT, TOOLS = "prompt.md", "tools.yaml"
MAX_BYTES = 64_000  # of each file
MAX_EXTENSIONS = 50  # of one folder
MAX_DEPTH = 20  # of lists and mappings
MAX_NAMED = 200  # characters of the name of another tool
MAX_DOMAINS = 30

_DOMAIN = re.compile(r"[a-z][a-z0-9_]{0,63}")
_DETAIL = 300  # characters of a parser's message


def _domain(value: object) -> str:
    if not isinstance(value, str) or not _DOMAIN.fullmatch(value):
        raise probatio.Invalid("expected kinds of entities, such as climate")
    return value


_DOMAINS = probatio.All([_domain], probatio.Length(max=MAX_DOMAINS))
_NAME = probatio.All(str, probatio.Length(min=1, max=MAX_NAMED))
_ALIAS_ONLY = ("llm_api", "mcp_server", "arguments", "optional")
_OWN_ONLY = ("title", "parameters", "read_only", "destructive")
_SCHEMA = probatio.Schema(
    {
        probatio.Optional("needs", default=list): _DOMAINS,
        probatio.Required("tools"): [
            {
                probatio.Optional("name", default=""): str,
                probatio.Optional("summary", default=""): str,
                probatio.Optional("example", default=""): str,
                probatio.Optional("notes", default=""): str,
                probatio.Optional("domains", default=list): _DOMAINS,
                probatio.Optional("alias"): _NAME,
                probatio.Optional("llm_api"): _NAME,
                probatio.Optional("mcp_server"): _NAME,
                probatio.Optional("arguments"): dict,
                probatio.Optional("optional"): bool,
                probatio.Optional("title"): str,
                probatio.Optional("parameters"): dict,
                probatio.Optional("read_only"): bool,
                probatio.Optional("destructive"): bool,
                probatio.Optional("handler"): dict,
            }
        ],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTool:
    """One tool of `tools.yaml`."""

    name: str
    summary: str
    example: str
    notes: str
    domains: tuple[str, ...]  # domains of entities that its calls may reach; empty: any
    alias: str = ""  # name of the tool beneath; "" for a tool of its own
    llm_api: str = ""  # id of the LLM API with the tool beneath
    mcp_server: str = ""  # title or subentry id of the server with the tool beneath
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Fixed arguments of the tool beneath."""
    optional: bool = False
    """Whether it is left out if the tool beneath does not exist, instead of refusing the extension."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    """Definition of its own tool, in the form of a custom tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenExtension:
    """One folder."""

    name: str
    prompt: str
    tools: tuple[FolderTool, ...]
    needs: tuple[str, ...] = ()
    """Domains of entities, of which one must be exposed; empty: it is always offered."""


def read_extensions(folder: Path) -> tuple[list[WrittenExtension], list[tuple[str, ExtensionError]]]:
    """Return the extensions of a folder, sorted by name, and the names of invalid ones, each with its error."""
    found: list[WrittenExtension] = []
    wrong: list[tuple[str, ExtensionError]] = []
    try:
        shown = (item for item in folder.iterdir() if not item.name.startswith("."))
        folders = sorted((item.name, item.is_symlink()) for item in shown if item.is_symlink() or item.is_dir())
    except OSError:  # such as no folder
        return found, wrong
    for number, (name, is_link) in enumerate(folders):
        printable = line_of(name.encode("utf-8", "replace").decode())
        if number >= MAX_EXTENSIONS:
            wrong.append((printable, ExtensionError("extension_too_many", most=str(MAX_EXTENSIONS))))
        elif is_link:
            wrong.append((printable, ExtensionError("extension_link", file=printable)))
        else:
            try:
                found.append(read_extension(folder, name))
            except ExtensionError as err:
                wrong.append((printable, err))
    return found, wrong


def read_extension(folder: Path, name: str) -> WrittenExtension:
    """Return the extension of a folder in `folder`. Raises `ExtensionError`."""
    prompt = _text(folder, name, PROMPT).strip()
    written = written_from_yaml(_text(folder, name, TOOLS))
    check_names(name, prompt, [tool.name for tool in written.tools])
    for tool in written.tools:
        check_lines(tool.name, tool.summary, tool.example, tool.notes)
    return WrittenExtension(name=name, prompt=prompt, tools=written.tools, needs=written.needs)


def _text(folder: Path, name: str, file: str) -> str:
    try:
        content = content_of(folder, f"{name}/{file}", MAX_BYTES)
    except (OSError, ValueError) as err:  # missing, a link, or no plain file
        raise ExtensionError("extension_file", file=file, detail=type(err).__name__) from err
    if len(content) > MAX_BYTES:
        raise ExtensionError("extension_large", file=file, limit=str(MAX_BYTES))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise ExtensionError("extension_utf8", file=file) from err
    if file == PROMPT and len(text) > MAX_PROMPT:
        raise ExtensionError("extension_long", what=file, length=str(MAX_PROMPT))
    return text


@lru_cache(maxsize=MAX_EXTENSIONS)  # parsing is slow, and a reload of the entry finds most files unchanged
def written_from_yaml(text: str) -> WrittenExtension:
    """Return the extension of a `tools.yaml`, without name and prompt. Raises `ExtensionError`."""
    try:
        valid = _SCHEMA(_parsed(text))
    except probatio.Invalid as err:
        first = err.errors[0] if isinstance(err, probatio.MultipleInvalid) else err
        where = ".".join(map(str, first.path)) or "-"
        raise ExtensionError("extension_invalid", detail=line_of(f"{where}: {first.msg}")[:_DETAIL]) from err
    tools = tuple(_tool(f"tools.{number}", tool) for number, tool in enumerate(valid["tools"]))
    return WrittenExtension(name="", prompt="", tools=tools, needs=tuple(valid["needs"]))


def _tool(where: str, data: Mapping[str, Any]) -> FolderTool:
    if ("alias" in data) == ("handler" in data):
        raise ExtensionError("extension_invalid", detail=f"{where}: either alias or handler")
    if "llm_api" in data and "mcp_server" in data:
        raise ExtensionError("extension_invalid", detail=f"{where}: either llm_api or mcp_server")
    for key in _OWN_ONLY if "alias" in data else _ALIAS_ONLY:
        if key in data:
            raise ExtensionError("extension_invalid", detail=f"{where}.{key}")
    own = {key: data[key] for key in (*_OWN_ONLY, "handler") if key in data}
    summary = line_of(data["summary"])
    return FolderTool(
        name=data["name"],
        summary=summary,
        example=line_of(data["example"]),
        notes=data["notes"].strip(),
        domains=tuple(data["domains"]),
        **{key: data[key] for key in ("alias", *_ALIAS_ONLY) if key in data},
        definition={"name": data["name"], "description": summary, **own} if "handler" in data else {},
    )


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Loads YAML with JSON's values only."""

    yaml_implicit_resolvers: dict[str, Any] = {  # noqa: RUF012 - overrides one of the same form
        first: [(tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:timestamp"]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, "a key stands twice", key.start_mark)
            seen.add(key.value)
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


def _parsed(text: str) -> Any:
    """Return YAML as JSON values. Raises `ExtensionError` for tags, references, and values nested too deeply."""
    try:
        _check_events(text)
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as err:
        mark, problem = getattr(err, "problem_mark", None), getattr(err, "problem", None) or type(err).__name__
        line = str(mark.line + 1) if mark is not None else "?"
        raise ExtensionError("extension_yaml", line=line, detail=line_of(str(problem))[:_DETAIL]) from err
    except ValueError as err:  # an invalid number
        raise ExtensionError("extension_yaml", line="?", detail=type(err).__name__) from err
    for value in values_in(data):
        if isinstance(value, float) and not isfinite(value):
            raise ExtensionError("extension_invalid", detail=str(value))
        if isinstance(value, str) and any("\ud800" <= sign <= "\udfff" for sign in value):
            raise ExtensionError("extension_utf8", file=TOOLS)
    return data


def _check_events(text: str) -> None:
    """Raise `yaml.YAMLError` for references, tags and deep nesting: a few lines can expand to gigabytes."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        problem = ""
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            problem = "references (& and *) are not used here"
        elif getattr(event, "tag", None) is not None:
            problem = "tags (!) are not used here"
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            problem = "nested too deeply" if depth > MAX_DEPTH else ""
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
