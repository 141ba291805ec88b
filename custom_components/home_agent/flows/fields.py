"""The settings of a profile as form fields, and what is checked of them; agents and default settings share both."""

from collections.abc import Iterable, Mapping
import re
from traceback import walk_tb
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import llm
from homeassistant.helpers.selector import (
    AreaSelector,
    EntitySelector,
    IconSelector,
    LabelSelector,
    LanguageSelector,
    ObjectSelector,
    SelectSelector,
    TextSelector,
)
from homeassistant.helpers.template import Template
from homeassistant.helpers.translation import async_get_cached_translations
from homeassistant.util import dt as dt_util
from jinja2 import TemplateSyntaxError

from ..agent.commands import command_name
from ..agent.runtime import RuntimeData
from ..prompt.system_prompt import default_prompt
from ..prompt.template import RENDER_TIMEOUT, SAMPLE_VALUES, UNUSABLE, async_is_slow, fill, with_named
from ..search.user_documents import is_document_name
from ..settings.profile import ALL, BUILT_IN, LISTS, SETTINGS, FormSection, Setting, merged, profile_from_data
from ..support.const import (
    ASSISTANT,
    CONF_DELEGATION_AGENTS,
    DOMAIN,
    LLM_DEFAULT,
    LLM_NONE,
    SUBENTRY_LLM,
    SUBENTRY_MCP_SERVER,
    SUBENTRY_PROFILE,
)
from ..tools.external import DEFAULT_DESCRIPTION
from .forms import LONG_TEXT, SWITCH, TEXT, Fields, FormError, PromptSelector, is_empty, number, select
from .inheritance import Layers, follow_choice, follow_field, followable

CONTEXT_ENTITIES = "context_entities"
SLASH_COMMANDS = "slash_commands"
PICKED = {*LISTS, CONTEXT_ENTITIES}  # lists that are split into two fields


def subentries_of(hass: HomeAssistant, kind: str) -> dict[str, str]:
    """Return the titles of what was added, by id."""
    return {
        subentry.subentry_id: subentry.title
        for entry in hass.config_entries.async_entries(DOMAIN)
        for subentry in entry.get_subentries_of_type(kind)
    }


def selectable_apis(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of Home Assistant's LLM APIs by id, without those of this integration."""
    return {api.id: api.name for api in llm.async_get_apis(hass) if not api.id.startswith(DOMAIN)}


def default_model(entry: ConfigEntry) -> str:
    """Return the name of the default model, or a dash."""
    return next((subentry.title for subentry in entry.get_subentries_of_type(SUBENTRY_LLM)), "-")


def _delegates(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of agents to delegate to: ours, and allowed ones of other integrations."""
    entries = hass.config_entries.async_entries(DOMAIN)
    allowed = [agent for entry in entries for agent in entry.options.get(CONF_DELEGATION_AGENTS, ())]
    others = {agent: state.name if (state := hass.states.get(agent)) else agent for agent in allowed}
    return select(subentries_of(hass, SUBENTRY_PROFILE) | others, multiple=True)


def _runtimes(hass: HomeAssistant) -> list[RuntimeData]:
    return [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]


def _named(names: Iterable[str], translation_key: str | None = None) -> SelectSelector:
    """Return a choice of names to which others may be added: what is gone stays chosen."""
    return select({name: name for name in names}, translation_key, multiple=True, typed=True)


def extension_choice(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of extensions."""
    return _named(name for runtime in _runtimes(hass) for name in runtime.extensions.names)


def _tools(hass: HomeAssistant) -> list[str]:
    """Return the names of all tools that any agent may be offered."""
    return [name for runtime in _runtimes(hass) for name in runtime.tools.names]


def entity_choice(hass: HomeAssistant) -> EntitySelector:
    """Return a picker of exposed entities, by name, area and icon."""
    exposed = [state.entity_id for state in hass.states.async_all() if _is_exposed(hass, state.entity_id)]
    return EntitySelector({"multiple": True, "include_entities": exposed} if exposed else {"multiple": True})


def _is_exposed(hass: HomeAssistant, entity_id: str) -> bool:
    return hass.states.get(entity_id) is not None and async_should_expose(hass, ASSISTANT, entity_id)


def name_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of domains and tools that accepts other names, such as actions and patterns."""
    titles = async_get_cached_translations(hass, hass.config.language, "title")
    names = {domain: titles.get(f"component.{domain}.title", domain) for domain in hass.services.async_services()}
    listed = {domain: f"{title} ({domain})" for domain, title in sorted(names.items(), key=lambda item: item[1])}
    return select(listed | {tool: tool for tool in _tools(hass)}, multiple=True, typed=True)


def patterns_of(key: str) -> str:
    """Return the field for the items of a list that its entity picker cannot show: domains, actions, tools, patterns."""
    return f"{key}_patterns"


def split(hass: HomeAssistant, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with each list in two fields: exposed entities, and everything else."""
    values = dict(settings)
    for key in PICKED & settings.keys():
        items = [_context_entity(item) if isinstance(item, Mapping) else item for item in settings[key] or ()]
        plain = {
            number: entity_id
            for number, item in enumerate(items)
            if not isinstance(item, Mapping) or not item.get("attributes")
            if _is_exposed(hass, entity_id := item["entity_id"] if isinstance(item, Mapping) else item)
        }
        values[key] = list(plain.values())
        values[patterns_of(key)] = [item for number, item in enumerate(items) if number not in plain]
    return values


def _joined(user_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input with the two fields of each list joined."""
    values = dict(user_input)
    for key in PICKED:
        if key in user_input or patterns_of(key) in user_input:
            picked, others = user_input.get(key) or [], values.pop(patterns_of(key), None) or []
            if key == CONTEXT_ENTITIES:
                picked = [{"entity_id": item} if isinstance(item, str) else item for item in picked]
                others = [others] if isinstance(others, dict) else others
            values[key] = [*picked, *others]
    return values


_FIELDS: Fields = {
    "endpoint": lambda hass: select(
        {LLM_DEFAULT: LLM_DEFAULT, LLM_NONE: LLM_NONE} | subentries_of(hass, SUBENTRY_LLM), "llm"
    ),
    "second_model": lambda hass: select({LLM_NONE: LLM_NONE} | subentries_of(hass, SUBENTRY_LLM), "external_llm"),
    "custom_tools": lambda hass: _named(
        (ALL, *(name for runtime in _runtimes(hass) for name in runtime.custom_tools.names)), "custom_tools"
    ),
    "commands": TextSelector({"multiple": True}),
    "documents": lambda hass: _named(name for runtime in _runtimes(hass) for name in runtime.sources.documents.names),
    "extensions": lambda hass: _named(
        (ALL, *(name for runtime in _runtimes(hass) for name in runtime.extensions.names)), "extensions"
    ),
    "llm_apis": lambda hass: select(selectable_apis(hass), multiple=True, typed=True),
    "mcp_servers": lambda hass: select(subentries_of(hass, SUBENTRY_MCP_SERVER), multiple=True),
    "delegates": _delegates,
    "names": entity_choice,
    "tool_names": lambda hass: _named((ALL, *_tools(hass)), "allowed_tools"),
    "language": LanguageSelector(),
    "icon": IconSelector(),
    "prompts": ObjectSelector(),
    "areas": AreaSelector({"multiple": True}),
    "labels": LabelSelector({"multiple": True}),
    CONTEXT_ENTITIES: entity_choice,
    "patterns": ObjectSelector(
        {
            "fields": {
                "entity_id": {"required": True, "selector": {"text": {}}},
                "attributes": {"selector": {"text": {"multiple": True}}},
            },
            "multiple": True,
            "label_field": "entity_id",
            "translation_key": "context_entities",
        }
    ),
    "switch": SWITCH,
    "template": PromptSelector(),
    "text": TEXT,
    "lines": LONG_TEXT,
}
"""By kind of a setting. A choice that is missing now (its server may be off) can stay chosen where others may be typed."""


def fields_of(*keys: str) -> Fields:
    """Return the fields of settings."""
    fields: Fields = {}
    for key in keys:
        match SETTINGS[key]:
            case Setting(kind="number", least=least, most=most, unit=unit):
                fields[key] = number(least, most, unit=unit)
            case Setting(kind="choice", options=options):
                fields[key] = select(options, key)
            case Setting(kind=kind):
                fields[key] = _FIELDS[kind]
        if key in PICKED:
            fields[patterns_of(key)] = _FIELDS["patterns"] if key == CONTEXT_ENTITIES else name_choice
    return fields


def section_fields(section: FormSection) -> Fields:
    """Return the fields of the settings of a section."""
    return fields_of(*(key for key, setting in SETTINGS.items() if setting.section is section))


def _section(section: FormSection) -> Fields:
    """Return the fields of a section, with an empty list of those that follow the defaults."""
    fields = section_fields(section)
    return fields | ({follow_field(section): follow_choice({})} if followable(fields) else {})


BASICS = _section(FormSection.BASICS)
SECTIONS: dict[str, Fields] = {section.value: _section(section) for section in FormSection if section}
"""By section of the form of an agent."""
FOLLOW_LISTS = {
    follow_field(name): tuple(fields) for name, fields in {"": BASICS, **SECTIONS}.items() if followable(fields)
}
"""The fields that each such list can name."""


# From stored overrides to a filled-in form and back: a setting that was never changed is not stored.


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a profile as they are stored: built-in defaults, then the layers."""
    return merged(BUILT_IN, *layers)


def effective(hass: HomeAssistant, settings: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """Return settings with the values that apply where they are empty; `instructions` are the default ones."""
    holds = {
        "timezone": hass.config.time_zone,
        "external_llm_description": DEFAULT_DESCRIPTION,
        "custom_prompt": instructions,
    }
    listed = {key: sorted(settings[key]) for key in LISTS if key in settings}  # as they are sent
    listed |= {CONTEXT_ENTITIES: _joined(split(hass, settings))[CONTEXT_ENTITIES]}  # in the order of the two fields
    return {**settings, **listed, **{key: value for key, value in holds.items() if is_empty(settings[key])}}


async def async_default_instructions(entry: ConfigEntry, settings: Mapping[str, Any]) -> str:
    """Return the default instructions of an agent with these settings; empty if the entry is not loaded."""
    if entry.state is not ConfigEntryState.LOADED:
        return ""
    runtime: RuntimeData = entry.runtime_data
    unknown = llm.LLMContext(platform=DOMAIN, context=None, language=None, assistant=ASSISTANT, device_id=None)
    tools = await runtime.own_tools.async_tools(profile_from_data("", "", {}, settings), unknown)
    return default_prompt(tools, looks_up=settings["context_mode"] == "retrieved")


def known(entry: ConfigEntry, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings without models, servers and agents that were removed, which a field would refuse."""
    there = {LLM_DEFAULT, LLM_NONE, *entry.subentries}
    settings = {key: value for key, value in data.items() if key not in ("llm", "external_llm") or value in there}
    if "mcp_servers" in settings:
        settings["mcp_servers"] = [server for server in settings["mcp_servers"] if server in there]
    if "delegate_to" in settings:
        there |= {*entry.options.get(CONF_DELEGATION_AGENTS, ())}
        settings["delegate_to"] = [agent for agent in settings["delegate_to"] if agent in there]
    return settings


def layers_of(hass: HomeAssistant, below: Mapping[str, Any], own: Mapping[str, Any], instructions: str) -> Layers:
    """Return the layers of a form: `own` settings over those `below` and the built-in ones."""
    inherits = inherited(below)
    return Layers(
        own=own,
        inherits=inherits,
        defaults=effective(hass, inherits, instructions),
        shown=effective(hass, inherited(below, own), instructions),
    )


# Checks before anything is stored.


_LISTED = re.compile(r"[\w*?-]+(\.[\w*?-]+)?")  # a domain, tool, entity or action, with wildcards
_ENTITY_PATTERN = re.compile(r"[a-z0-9_*]+\.[a-z0-9_*]+|\*")
_TIME_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_SAMPLE = {
    "ha_name": "Home",
    "user_name": "User",
    "language": "en",
    "area_id": None,
    "device_id": None,
    "profile_name": "Home Agent",
}
"""Sample variables of a plain template (prompt/template.py)."""
_NO_PROMPT = re.compile(r"\bprompts\.(\w+)")
_TEMPLATE_FILES = ("<template>", "<unknown>")
"""File names in tracebacks whose line numbers are those of the template."""


def tidy(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the input of a form as it is stored: whole numbers, rows and lists without blanks."""
    joined = _joined(settings).items()
    tidied: dict[str, Any] = {key: int(value) if isinstance(value, float) else value for key, value in joined}
    if rows := tidied.get(CONTEXT_ENTITIES):
        tidied[CONTEXT_ENTITIES] = [_context_entity(row) for row in rows]
    for key in ("profile_id", "description"):
        if key in tidied:
            tidied[key] = tidied[key].strip()
    if commands := tidied.get(SLASH_COMMANDS):
        tidied[SLASH_COMMANDS] = list(dict.fromkeys(command_name(item) or item.strip() for item in commands))
    for key in LISTS:
        if key in tidied:
            tidied[key] = sorted({stripped for name in tidied[key] if (stripped := name.strip())})
    return tidied


def _context_entity(row: Mapping[str, Any]) -> dict[str, Any]:
    attributes = [name for attribute in row.get("attributes") or () if (name := attribute.strip())]
    return {"entity_id": row["entity_id"].strip().lower(), **({"attributes": attributes} if attributes else {})}


async def async_check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> FormError | None:
    """Return an error of a profile's settings; slow prompts are found first, outside the event loop."""
    for key in ("custom_prompt", "prompt_additions"):
        if await async_is_slow(hass, with_named(settings[key], settings["prompts"]), _SAMPLE | SAMPLE_VALUES):
            return f"{key}_slow", {"seconds": f"{RENDER_TIMEOUT:g}"}
    if (finding := check_settings(hass, settings)) or not (zone := settings["timezone"].strip()):
        return finding
    try:
        known_zone = await dt_util.async_get_time_zone(zone)
    except ValueError, OSError:  # a folder of zones
        known_zone = None
    return None if known_zone else ("timezone_invalid", {"zone": zone})


def check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> FormError | None:
    """Return an error of a profile's settings that can be found without waiting."""
    for row in settings.get("context_entities") or ():
        if not _ENTITY_PATTERN.fullmatch(row["entity_id"]):
            return "entity_pattern", {"pattern": row["entity_id"]}
    if finding := check_lists(settings) or _check_names(settings):
        return finding
    if not settings["use_default_prompt"] and not settings["custom_prompt"].strip():
        return "custom_prompt_empty", {}
    if (zone := settings["timezone"].strip()) and not _TIME_ZONE.fullmatch(zone):
        return "timezone_invalid", {"zone": zone}
    for key in ("custom_prompt", "prompt_additions"):
        text = with_named(settings[key], settings["prompts"])
        if unknown := _NO_PROMPT.search(text):
            return "prompt_unknown", {"item": unknown[1]}
        if problem := check_template(hass, text, plain=not settings["use_prompt_context_service"]):
            return f"{key}_invalid", problem
    return None


def _check_names(settings: Mapping[str, Any]) -> FormError | None:
    """Return an error of the name of a command, named text or document."""
    for name in settings[SLASH_COMMANDS]:
        if command_name(name) is None:
            return "command_invalid", {"item": name}
    for name, prompt in settings["prompts"].items():
        if not isinstance(prompt, str) or not re.fullmatch(r"[^\W\d]\w{0,63}", str(name)):
            return "prompt_name", {"item": str(name)}
    for name in settings["system_documents"]:
        if not is_document_name(name):
            return "document_name", {"item": name}
    return None


def check_lists(settings: Mapping[str, Any]) -> FormError | None:
    """Return an error of an item of the lists."""
    for name in (name for key in LISTS for name in settings.get(key) or ()):
        if not _LISTED.fullmatch(name):
            return "list_item", {"item": name}
    return None


def check_template(hass: HomeAssistant, text: str, *, plain: bool = False) -> dict[str, str] | None:
    """Return line and message of the error of a template; `plain`: without the placeholders of the prompt context service."""
    try:
        if plain:
            Template(text, hass).async_render(_SAMPLE, parse_result=False)
        else:
            fill(hass, text, SAMPLE_VALUES)
    except UNUSABLE as err:
        cause = err.__cause__ if isinstance(err, TemplateError) else err
        return {"line": _line(cause), "error": str(cause or err)}
    return None


def _line(error: BaseException | None) -> str:
    """Return the line of a template's error, `?` if Jinja does not say."""
    if isinstance(error, TemplateSyntaxError):
        return str(error.lineno)
    passed = walk_tb(error.__traceback__ if error else None)
    lines = [line for frame, line in passed if frame.f_code.co_filename in _TEMPLATE_FILES]
    return str(lines[-1]) if lines else "?"
