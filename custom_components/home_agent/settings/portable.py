"""A profile's own settings from elsewhere: presets, and YAML with names instead of ids, and no secrets."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from io import StringIO
import json
from pathlib import Path
import re
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_NAME, Platform
from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES
from homeassistant.helpers import area_registry as ar, entity_registry as er, label_registry as lr
import yaml  # type: ignore[import-untyped]
from yaml.reader import Reader  # type: ignore[import-untyped]

from ..support.const import (
    CONF_DELEGATION_AGENTS,
    LLM_DEFAULT,
    LLM_NONE,
    SUBENTRY_LLM,
    SUBENTRY_MCP_SERVER,
    SUBENTRY_PROFILE,
)
from .profile import BUILT_IN, NO_USER, REMOVED, SETTINGS, Part, Setting, in_parts, profile_ids

type Problem = tuple[str, dict[str, str]]
"""Translation key of an error, and its placeholders."""

AUTOMATION_CREATION = "automation_creation"
PRESETS = ("home_assistant", "guest", "kids", "security", "technician", AUTOMATION_CREATION, "storyteller")
"""Keys, in the order of the menu."""
MAX_YAML = 100_000  # characters
MAX_DEPTH = 12  # of lists and mappings in YAML
MAX_VALUES = 10_000
MAX_VALUE = 80  # characters of a value in a sentence
_REFERENCES = {
    "endpoint": SUBENTRY_LLM,
    "second_model": SUBENTRY_LLM,
    "mcp_servers": SUBENTRY_MCP_SERVER,
    "delegates": SUBENTRY_PROFILE,
}
"""Kinds of settings that store ids of subentries."""
_ALSO_CALLED = {
    "id": "profile_id",
    "include_system_docs": "system_documents",
    "max_history_messages": "history_max_messages",
    "delegation_security_level": "delegation_level",
    "enable_mcp_server_ids": "mcp_servers",
    "confirm_tools": "always_ask",
}
"""Keys of the family assistant's profiles whose meaning is that of a setting."""
_REPLACED = {"calendar_config": "import_calendar_config", "enable_local_tools": "import_enable_local_tools"}
"""Other keys of theirs, and the sentence that says what there is instead."""
_SYSTEM_PROMPT = "system_prompt"
_USER_ID = re.compile(r"[0-9a-f]{32}")
_WORDS = (LLM_DEFAULT, LLM_NONE)  # values of such settings that are no ids
_LANGUAGES = {tag.partition("-")[0] for tag in LANGUAGES}


async def async_preset(hass: HomeAssistant, key: str, language: str) -> tuple[str, dict[str, Any]]:
    """Return name and settings of a preset in a language, its base language, or English."""
    data = (await hass.async_add_executor_job(_read_presets))[key]
    texts = data["texts"]
    said = dict(texts.get(language) or texts.get(language.partition("-")[0]) or texts["en"])
    name = said.pop(CONF_NAME)
    return name, {**data["settings"], **{setting: text for setting, text in said.items() if text}}


@cache
def _read_presets() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(Path(__file__).with_name("presets.json").read_text(encoding="utf-8"))
    return found


class _ShallowLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads YAML no deeper and with no more values than settings have, for reading it takes the event loop for as long."""

    depth = values = 0

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node:
        """Return the next node. Raises `MarkedYAMLError` if it is too deep."""
        self.depth, self.values = self.depth + 1, self.values + 1
        if self.depth > MAX_DEPTH or self.values > MAX_VALUES:
            problem = "nested too deeply" if self.depth > MAX_DEPTH else f"more than {MAX_VALUES} values"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=self.peek_event().start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _check(node: yaml.Node | None, seen: set[int]) -> None:
    """Raise `YAMLError` for references, which may stand for gigabytes, duplicate keys, tags and control characters."""

    def refused(problem: str, at: yaml.Node) -> yaml.MarkedYAMLError:
        return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)

    if node is not None and node.tag.startswith("!"):
        raise refused(node.tag, node)
    if isinstance(node, yaml.ScalarNode) and (odd := Reader.NON_PRINTABLE.search(node.value)):
        raise refused(f"special characters are not allowed: #x{ord(odd[0]):04x}", node)
    if node is None or isinstance(node, yaml.ScalarNode):
        return
    if id(node) in seen:
        raise refused("reference", node)
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check(item, seen)
        return
    keys = set[object]()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in keys:
            raise refused(f"duplicate key {key.value}" if isinstance(key, yaml.ScalarNode) else "key", key)
        keys.add(key.value)
        _check(key, seen)
        _check(value, seen)


def _write(data: Mapping[str, Any]) -> str:
    """Return data as YAML, with literal blocks for texts of several lines."""
    dumper = yaml.SafeDumper(StringIO(), default_flow_style=False, sort_keys=False)
    dumper.ignore_aliases = lambda _data: True
    root = dumper.represent_data(data)
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if not isinstance(node, yaml.ScalarNode):
            nodes += [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
        elif "\n" in node.value:
            node.style = "|"
    return str(yaml.serialize(root, Dumper=yaml.SafeDumper, allow_unicode=True, width=120))


async def async_people(hass: HomeAssistant) -> dict[str, str]:
    """Return what users are called in YAML, by id: their names, or the id where two have the same."""
    users = await hass.auth.async_get_users()
    names = Counter([NO_USER, "", *((user.name or "").casefold() for user in users)])
    return {user.id: user.name if user.name and names[user.name.casefold()] == 1 else user.id for user in users}


def named(entry: ConfigEntry, settings: Mapping[str, Any], people: Mapping[str, str]) -> dict[str, Any]:
    """Return settings with names of models, servers, agents and `people` instead of ids.

    Removed ones are left out of lists, or None; removed users stay by their ids, as an empty list is for everyone.
    """
    titles = {subentry_id: subentry.title for subentry_id, subentry in entry.subentries.items()}
    there = titles | {word: word for word in (*_WORDS, *entry.options.get(CONF_DELEGATION_AGENTS, ()))}
    found: dict[str, Any] = {}
    for key in (key for key in SETTINGS if key in settings):
        value = settings[key]
        if SETTINGS[key].kind in _REFERENCES:
            value = [there[item] for item in value if item in there] if isinstance(value, list) else there.get(value)
        elif SETTINGS[key].kind == "people":
            value = [people.get(item, item) for item in value]
        found[key] = value
    return found


def to_yaml(entry: ConfigEntry, name: str, own: Mapping[str, Any], people: Mapping[str, str]) -> str:
    """Return a profile's name and own settings as YAML; `people` are the names of users by id."""
    parts = in_parts({key: value for key, value in named(entry, own, people).items() if value is not None})
    ordered = {key: parts[key] for key in sorted(parts, key=[*SETTINGS, *(part.value for part in Part)].index)}
    return _write({CONF_NAME: name, **ordered})


def from_yaml(entry: ConfigEntry, text: str) -> tuple[str, dict[str, Any], list[Problem]]:
    """Return name (or ""), settings as stored, without wrong, removed and null ones, and all problems.

    The family assistant's keys are read as well. Its text `prompts.system_prompt` is the whole instructions.
    """
    if len(text) > MAX_YAML:
        return "", {}, [("import_too_long", {"count": str(MAX_YAML)})]
    try:
        _check(yaml.compose(text, Loader=_ShallowLoader), set())
        read = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError, ArithmeticError, LookupError, AttributeError) as err:
        # all but the first are what PyYAML raises for a value that does not fit its tag, as of `!!bool x`
        mark = getattr(err, "problem_mark", None)
        line = str(mark.line + 1) if mark else "?"
        problem = str(getattr(err, "problem", None) or err)
        if problem.startswith("!"):  # a tag
            return "", {}, [("import_tag", {"line": line, "tag": problem[:MAX_VALUE]})]
        return "", {}, [("import_yaml", {"line": line, "error": problem})]
    if not isinstance(read, dict):
        return "", {}, [("import_no_settings", {})]
    name, settings, problems = "", dict[str, Any](), list[Problem]()
    if isinstance(named := read.pop(CONF_NAME, ""), str):
        name = named.strip()
    else:
        problems.append(("import_text", {"setting": CONF_NAME}))
    for key, value, part in _listed(read, problems):
        if key in REMOVED:
            continue
        if key not in SETTINGS:
            problems.append((_REPLACED.get(key, "import_unknown"), {"setting": key}))
        elif (belongs := SETTINGS[key].part) is not part:
            where = {"setting": key, "part": belongs.value}
            problems.append(("import_misplaced" if belongs else "import_misplaced_top", where))
        elif value is not None:
            wrong, stored = _stored(entry, key, value)
            problems += wrong
            if not wrong:
                settings[key] = stored
    return name, settings | _instructions(settings), problems


def _instructions(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that make a named text `system_prompt` the instructions, unless there are others."""
    if not settings.get("prompts", {}).get(_SYSTEM_PROMPT) or {"custom_prompt", "use_default_prompt"} & settings.keys():
        return {}
    return {"use_default_prompt": False, "custom_prompt": f"{{{{ prompts.{_SYSTEM_PROMPT} }}}}"}


def _listed(read: Mapping[Any, Any], problems: list[Problem]) -> Iterator[tuple[str, Any, Part]]:
    """Yield each setting with its value and its part; one under both of its names is read under ours."""
    for key, value in read.items():
        if key not in (Part.PROCESSING.value, Part.TOOLS.value):
            if (ours := _ALSO_CALLED.get(key, str(key))) == key or ours not in read:
                yield ours, value, Part.OWN
        elif isinstance(value, dict):
            for inner, held in value.items():
                if (ours := _ALSO_CALLED.get(inner, str(inner))) == inner or ours not in value:
                    yield ours, held, Part(key)
        elif value is not None:
            problems.append(("import_no_part", {"setting": key}))


def _stored(entry: ConfigEntry, key: str, value: Any) -> tuple[list[Problem], Any]:
    """Return the problems of a value, and the value as it is stored."""
    setting = SETTINGS[key]
    if isinstance(value, bool) and (word := "on" if value else "off") in setting.options:
        value = word  # YAML reads these options as true and false
    if wrong := _wrong_type(key, setting, value):
        return [wrong], None
    if setting.kind == "context_entities":
        return [], [{"entity_id": row} if isinstance(row, str) else dict(row) for row in value]
    if setting.kind == "language" and value and value.replace("_", "-").partition("-")[0] not in _LANGUAGES:
        return [("import_value", {"setting": key})], None
    if setting.kind not in _REFERENCES:
        return [], int(value) if setting.kind == "number" else value
    ids = _ids(entry, setting.kind)
    names = value if isinstance(value, list) else [value]
    missing = [name for name in names if name.casefold() not in ids]
    if missing:
        return [("import_not_here", {"setting": key, "name": name[:MAX_VALUE]}) for name in missing], None
    found = [ids[name.casefold()] for name in names]
    return [], found if isinstance(value, list) else found[0]


def in_home(
    hass: HomeAssistant, settings: Mapping[str, Any], people: Mapping[str, str]
) -> tuple[dict[str, Any], list[Problem]]:
    """Return settings with ids of areas, labels and `people`, without settings of which an item is missing, and problems."""
    found, problems = dict(settings), list[Problem]()
    areas, labels = ar.async_get(hass), lr.async_get(hass)
    users = {name.casefold(): user_id for user_id, name in people.items()} | {item: item for item in (*people, NO_USER)}
    for key in ("people", "exposed_areas", "exposed_labels", "exposed_entities"):
        stored: dict[str, str | None] = {}
        for name in settings.get(key, ()):
            if key == "people":
                removed = name if _USER_ID.fullmatch(name) else None
                stored[name] = users.get(name) or users.get(name.strip().casefold(), removed)
            elif key == "exposed_areas":
                area = areas.async_get_area(name.strip()) or areas.async_get_area_by_name(name.strip())
                stored[name] = area.id if area else None
            elif key == "exposed_labels":
                label = labels.async_get_label(name.strip()) or labels.async_get_label_by_name(name.strip())
                stored[name] = label.label_id if label else None
            else:
                stored[name] = _entities(hass, name.strip())
        missing = [name for name, here in stored.items() if here is None]
        problems += [("import_not_here", {"setting": key, "name": name[:MAX_VALUE]}) for name in missing]
        if missing:
            del found[key]
        elif key in found:
            found[key] = list(dict.fromkeys(stored.values()))
    return found, problems


def _entities(hass: HomeAssistant, name: str) -> str | None:
    """Return an entity, a domain or a pattern; None for an unknown entity or domain."""
    if "*" in name or "?" in name:
        return name
    if "." in name:
        return name if hass.states.get(name) or er.async_get(hass).async_is_registered(name.lower()) else None
    known = name in set(Platform) or hass.services.async_services_for_domain(name) or hass.states.async_entity_ids(name)
    return name if known else None


def _ids(entry: ConfigEntry, kind: str) -> dict[str, str]:
    """Return the stored value by casefolded name, for settings of this kind."""
    added = list(entry.get_subentries_of_type(_REFERENCES[kind]))
    found: dict[str, str] = {}
    if kind == "delegates":
        found = {agent.casefold(): agent for agent in entry.options.get(CONF_DELEGATION_AGENTS, ())}
        ids = profile_ids((subentry.data.get("profile_id", ""), subentry.title) for subentry in added)
        found |= {name: subentry.subentry_id for name, subentry in zip(ids, added, strict=True)}
    found |= {subentry.title.casefold(): subentry.subentry_id for subentry in added}
    if kind in ("endpoint", "second_model"):
        found |= {word: word for word in _WORDS if kind == "endpoint" or word == LLM_NONE}
    return found


def _wrong_type(key: str, setting: Setting, value: Any) -> Problem | None:
    """Return the problem of a value that a form would not accept."""
    built_in = BUILT_IN[key]
    if setting.kind == "number":
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        bounds = {"setting": key, "least": f"{setting.least:g}", "most": f"{setting.most:g}"}
        return None if whole and setting.least <= value <= setting.most else ("import_number", bounds)
    if setting.kind == "choice":
        listed = {"setting": key, "options": ", ".join(setting.options)}
        return None if value in setting.options else ("import_choice", listed)
    if setting.kind == "context_entities":
        rows = isinstance(value, list) and all(map(_is_row, value))
        return None if rows else ("import_rows", {"setting": key})
    if isinstance(built_in, bool):
        return None if isinstance(value, bool) else ("import_switch", {"setting": key})
    if isinstance(built_in, list):
        names = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return None if names else ("import_list", {"setting": key})
    if isinstance(built_in, Mapping):
        if not isinstance(value, Mapping):
            return "import_no_part", {"setting": key}
        named = (f"{key}.{name}" for name, text in value.items() if not isinstance(text, str | None))
        return next((("import_text", {"setting": name[:MAX_VALUE]}) for name in named), None)
    return None if isinstance(value, str) else ("import_text", {"setting": key})


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict):
        return isinstance(row, str)
    attributes = row.get("attributes", [])
    names = isinstance(attributes, list) and all(isinstance(item, str) for item in attributes)
    return isinstance(row.get("entity_id"), str) and names and row.keys() <= {"entity_id", "attributes"}
