"""The settings of a profile as form fields, and what is checked of them; agents and default settings share both."""

from collections.abc import Collection, Iterable, Iterator, Mapping
import json
from pathlib import Path
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
from ..settings.profile import ALL, BUILT_IN, LISTS, NO_USER, SETTINGS, FormSection, Setting, merged, profile_from_data
from ..support.bounds import in_slices
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
from .forms import LONG_TEXT, TEXT, Fields, FormError, PromptSelector, is_empty, number, select
from .inheritance import Layers

CONTEXT_ENTITIES = "context_entities"
SLASH_COMMANDS = "slash_commands"
_SECOND_MODEL_DEFAULT = "second_model_default"  # key of a text
ON, OFF = "on", "off"  # a switch cannot be emptied, a choice can
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


def _delegates(hass: HomeAssistant) -> dict[str, str]:
    """Return the agents that can be delegated to by id: ours, and allowed ones of other integrations."""
    entries = hass.config_entries.async_entries(DOMAIN)
    allowed = [agent for entry in entries for agent in entry.options.get(CONF_DELEGATION_AGENTS, ())]
    others = {agent: state.name if (state := hass.states.get(agent)) else agent for agent in allowed}
    return subentries_of(hass, SUBENTRY_PROFILE) | others


def _runtimes(hass: HomeAssistant) -> list[RuntimeData]:
    return [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]


def _listed(options: Iterable[str] | Mapping[str, str], *, typed: bool = False) -> SelectSelector:
    """Return a choice of several, or of none at all; `typed`: others may be added, and what is gone stays chosen."""
    labels = dict(options) if isinstance(options, Mapping) else {name: name for name in options}
    return select({LLM_NONE: LLM_NONE} | labels, "listed", multiple=True, typed=typed)


def extension_choice(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of extensions."""
    names = {name: name for runtime in _runtimes(hass) for name in runtime.extensions.names}
    return select(names, multiple=True, typed=True)


def _tools(hass: HomeAssistant) -> list[str]:
    """Return the names of all tools that any agent may be offered."""
    return [name for runtime in _runtimes(hass) for name in runtime.tools.names]


ENTITIES = EntitySelector({"multiple": True})
"""A picker of entities, by name, area and icon; `async_with_exposed` offers only the exposed ones."""
PEOPLE = select((), multiple=True)
"""A choice of users; `async_with_people` has their names."""


async def async_with_people(hass: HomeAssistant, fields: Fields, chosen: Collection[str]) -> Fields:
    """Return fields whose choice of people has the users of now, and those of the `chosen` ones that are gone by their ids."""
    if PEOPLE not in fields.values():
        return fields
    options = {NO_USER: NO_USER} | await async_users(hass, chosen)
    picker = select(options | {item: item for item in chosen if item not in options}, "people", multiple=True)
    return {key: picker if field is PEOPLE else field for key, field in fields.items()}


async def async_users(hass: HomeAssistant, chosen: Collection[str] = ()) -> dict[str, str]:
    """Return the names of the users by id: those that may log in as a person, and of the `chosen` ones all."""
    return {
        user.id: user.name or user.id
        for user in await hass.auth.async_get_users()
        if user.id in chosen or (user.is_active and not user.system_generated)
    }


async def async_with_exposed(hass: HomeAssistant, fields: Fields) -> Fields:
    """Return fields whose pickers offer the exposed entities: looked up once for all, in slices that block nothing."""
    if ENTITIES not in fields.values():
        return fields
    listed = hass.states.async_entity_ids()
    exposed = [entity_id async for entity_id in in_slices(listed) if _is_exposed(hass, entity_id)]
    picker = EntitySelector({"multiple": True, "include_entities": exposed}) if exposed else ENTITIES
    return {key: picker if field is ENTITIES else field for key, field in fields.items()}


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


_LANGUAGES: Mapping[str, str] = json.loads(Path(__file__).with_name("languages.json").read_text(encoding="utf-8"))
"""What each language calls itself, by tag; read when this module is imported, which no event loop waits for."""
_FIELDS: Fields = {
    "endpoint": lambda hass: select(
        {LLM_DEFAULT: LLM_DEFAULT, LLM_NONE: LLM_NONE} | subentries_of(hass, SUBENTRY_LLM), "llm"
    ),
    "second_model": lambda hass: select({LLM_NONE: LLM_NONE} | subentries_of(hass, SUBENTRY_LLM), "external_llm"),
    "custom_tools": lambda hass: _listed(
        (ALL, *(name for runtime in _runtimes(hass) for name in runtime.custom_tools.names)), typed=True
    ),
    "commands": TextSelector({"multiple": True}),
    "documents": lambda hass: _listed(
        (name for runtime in _runtimes(hass) for name in runtime.sources.documents.names), typed=True
    ),
    "extensions": lambda hass: _listed(
        (ALL, *(name for runtime in _runtimes(hass) for name in runtime.extensions.names)), typed=True
    ),
    "llm_apis": lambda hass: _listed(selectable_apis(hass), typed=True),
    "mcp_servers": lambda hass: _listed(subentries_of(hass, SUBENTRY_MCP_SERVER)),
    "delegates": lambda hass: _listed(_delegates(hass)),
    "names": ENTITIES,
    "tool_names": lambda hass: _listed((ALL, *_tools(hass)), typed=True),
    "language": select(_LANGUAGES, typed=True),  # Home Assistant's own picker of languages cannot be emptied
    "icon": IconSelector(),
    "prompts": ObjectSelector(),
    "people": PEOPLE,
    "areas": AreaSelector({"multiple": True}),
    "labels": LabelSelector({"multiple": True}),
    CONTEXT_ENTITIES: ENTITIES,
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
    "switch": select((ON, OFF), "switch"),
    "template": PromptSelector(),
    "text": TEXT,
    "lines": LONG_TEXT,
}
"""By kind of a setting. A choice that is missing now (its server may be off) can stay chosen where others may be typed."""
_OR_NONE = {"custom_tools", "documents", "extensions", "llm_apis", "mcp_servers", "delegates", "tool_names"}
"""Kinds with the choice *none*: their emptied field follows the default."""


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


def _forms() -> Iterator[tuple[str, Fields]]:
    """Yield the fields of each topic that do not stand in the first form."""
    for topic in FormSection:
        fields = fields_of(*(key for key, setting in SETTINGS.items() if setting.section is topic))
        yield topic.value, {name: field for name, field in fields.items() if name not in FIRST}


_NEEDED = (*("llm", "prompt_additions", "speech", "native_tools", "memory", "always_ask", "people", "local_first"),)
FIRST: Fields = {key: fields_of(key)[key] for key in _NEEDED}
"""The settings in the first form of an agent."""
TOPICS: dict[str, Fields] = dict(_forms())
"""All others, by topic."""


# From stored overrides to a filled-in form and back: a setting that was never changed is not stored.


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a profile as they are stored: built-in defaults, then the layers."""
    return merged(BUILT_IN, *layers)


def _second_model_default(hass: HomeAssistant) -> str:
    """Return when a second model is asked unless set, in the language of the home; models are told it in English."""
    texts = async_get_cached_translations(hass, hass.config.language, "exceptions", DOMAIN)
    return texts.get(f"component.{DOMAIN}.exceptions.{_SECOND_MODEL_DEFAULT}.message", "")


def effective(hass: HomeAssistant, settings: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """Return settings with the values that apply where they are empty; `instructions` are the default ones."""
    holds = {
        "timezone": hass.config.time_zone,
        "external_llm_description": _second_model_default(hass),
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
        below=below,
        inherits=inherits,
        defaults=effective(hass, inherits, instructions),
        shown=effective(hass, inherited(below, own), instructions),
    )


def _shows_none(key: str, layers: Layers) -> bool:
    """Return whether a list was emptied on purpose, which its field shows as the choice *none*."""
    return SETTINGS[key].kind in _OR_NONE and not layers.shown[key] and bool(layers.inherits[key])


def values_of(hass: HomeAssistant, layers: Layers) -> dict[str, Any]:
    """Return what the fields show."""
    words = {True: ON, False: OFF}
    return {
        key: words[value]
        if isinstance(value, bool)
        else [LLM_NONE]
        if key in SETTINGS and _shows_none(key, layers)
        else value
        for key, value in split(hass, layers.shown).items()
    }


def entered(hass: HomeAssistant, fields: Fields, layers: Layers, user_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a form with these fields was sent with, as they are stored; None for an emptied field."""
    values = {name: user_input.get(name) for name in fields}
    for key in PICKED & layers.shown.keys():  # half of a list may stand in another form
        halves = {key, patterns_of(key)}
        if halves & fields.keys():
            values |= {
                half: value for half, value in split(hass, layers.shown).items() if half in halves - fields.keys()
            }
    found = tidy({name: value for name, value in values.items() if not is_empty(value)})
    for key in (key for key in SETTINGS if key in fields or patterns_of(key) in fields):
        value = found.get(key)
        if SETTINGS[key].kind == "switch" and value is not None:
            found[key] = value == ON
        elif SETTINGS[key].kind in _OR_NONE and value and LLM_NONE in value:
            found[key] = [name for name in value if name not in (LLM_NONE, ALL)]
        elif is_empty(value):
            untouched = is_empty(layers.shown[key]) and not _shows_none(key, layers)
            found[key] = layers.shown[key] if untouched else None
    return found


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
    if finding := _check_names(settings):  # what is no text cannot be rendered either
        return finding
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
