"""The settings of a profile as form fields, what is checked of them, and the form of an agent; the default settings share all this."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
import re
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.config_entries import ConfigEntry, ConfigEntryState, SubentryFlowResult
from homeassistant.const import CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.exceptions import TemplateError
from homeassistant.helpers import llm
from homeassistant.helpers.selector import (
    EntitySelector,
    EntitySelectorConfig,
    ObjectSelector,
    ObjectSelectorConfig,
    ObjectSelectorField,
    SelectSelector,
    TextSelector,
    TextSelectorConfig,
)
from homeassistant.helpers.template import Template
from homeassistant.helpers.translation import async_get_cached_translations
from homeassistant.util import slugify
from jinja2 import TemplateSyntaxError
import probatio

from ..agent.commands import command_name
from ..agent.runtime import RuntimeData
from ..prompt.system_prompt import default_prompt
from ..prompt.template import RENDER_TIMEOUT, SAMPLE_VALUES, UNUSABLE, async_is_slow, fill
from ..search.user_documents import is_document_name
from ..settings.profile import DEFAULTS, LISTS, SETTINGS, Section, Setting, profile_from_data, profile_ids
from ..support.const import (
    ASSISTANT,
    CONF_DELEGATION_AGENTS,
    CONF_PROFILE_DEFAULTS,
    DOMAIN,
    LLM_DEFAULT,
    LLM_NONE,
    SUBENTRY_LLM,
    SUBENTRY_MCP_SERVER,
    SUBENTRY_PROFILE,
)
from ..tools.control import HaControl
from ..tools.external import DEFAULT_DESCRIPTION
from ..tools.memory import MEMORY_TOOLS
from ..tools.query import HaQuery
from .forms import (
    LONG_TEXT,
    SWITCH,
    TEXT,
    Fields,
    Finding,
    PromptSelector,
    SubentryForms,
    dropdown,
    is_empty,
    lifted,
    markers,
    number,
    shown,
)

CONTEXT_ENTITIES = "context_entities"
SLASH_COMMANDS = "slash_commands"
PICKED = {*LISTS, CONTEXT_ENTITIES}
"""Lists of entities, patterns and more."""


def subentries_of(hass: HomeAssistant, kind: str) -> dict[str, str]:
    """Return the titles of what was added, by id."""
    return {
        subentry.subentry_id: subentry.title
        for entry in hass.config_entries.async_entries(DOMAIN)
        for subentry in entry.get_subentries_of_type(kind)
    }


def selectable_apis(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of Home Assistant's LLM APIs by id; ours would be themselves again."""
    return {api.id: api.name for api in llm.async_get_apis(hass) if not api.id.startswith(DOMAIN)}


def _apis(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of LLM APIs; one that is gone stays chosen, for its server may only sleep."""
    return dropdown(selectable_apis(hass), multiple=True, typed=True)


def default_model(entry: ConfigEntry) -> str:
    """Return the name of the model that agents have by default, a dash where there is none."""
    return next((subentry.title for subentry in entry.get_subentries_of_type(SUBENTRY_LLM)), "-")


def _model(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of a model: the default one, whichever that is, none, or one by name."""
    return dropdown({LLM_DEFAULT: LLM_DEFAULT, LLM_NONE: LLM_NONE} | subentries_of(hass, SUBENTRY_LLM), "llm")


def _second_model(hass: HomeAssistant) -> SelectSelector:
    return dropdown({LLM_NONE: LLM_NONE} | subentries_of(hass, SUBENTRY_LLM), "external_llm")


def _mcp_servers(hass: HomeAssistant) -> SelectSelector:
    return dropdown(subentries_of(hass, SUBENTRY_MCP_SERVER), multiple=True)


def _delegates(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of agents that a request may be handed to: ours, and those of others that the owner allows.

    `none` stands for none of them where the default settings name some.
    """
    agents = [
        agent
        for entry in hass.config_entries.async_entries(DOMAIN)
        for agent in entry.options.get(CONF_DELEGATION_AGENTS, ())
    ]
    states = {agent: hass.states.get(agent) for agent in agents}
    others = {agent: state.name if state is not None else agent for agent, state in states.items()}
    return dropdown(subentries_of(hass, SUBENTRY_PROFILE) | others | {LLM_NONE: LLM_NONE}, "delegate_to", multiple=True)


def _custom_tools(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of custom tools; one that is gone may stay named, and `none` stands for none of them."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    names = [name for runtime in runtimes for name in runtime.custom_tools.names]
    return dropdown({name: name for name in (*names, LLM_NONE)}, "custom_tools", multiple=True, typed=True)


def _documents(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of documents; one that is not there yet may be typed."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    names = [name for runtime in runtimes for name in runtime.documents.names]
    return dropdown({name: name for name in names}, multiple=True, typed=True)


def entity_choice(hass: HomeAssistant) -> EntitySelector:
    """Return a picker of exposed entities, by name, area and icon."""
    exposed = [state.entity_id for state in hass.states.async_all() if _is_exposed(hass, state.entity_id)]
    config = EntitySelectorConfig(multiple=True)
    return EntitySelector(config | {"include_entities": exposed} if exposed else config)


def _is_exposed(hass: HomeAssistant, entity_id: str) -> bool:
    return hass.states.get(entity_id) is not None and async_should_expose(hass, ASSISTANT, entity_id)


def name_choice(hass: HomeAssistant) -> SelectSelector:
    """Return a list of domains and tools in which anything else may be typed: actions, patterns, what is not there now."""
    titles = async_get_cached_translations(hass, hass.config.language, "title")
    names = {domain: titles.get(f"component.{domain}.title", domain) for domain in hass.services.async_services()}
    listed = {domain: f"{title} ({domain})" for domain, title in sorted(names.items(), key=lambda item: item[1])}
    tools = (HaControl.name, HaQuery.name, *(tool.name for tool in MEMORY_TOOLS))
    return dropdown(listed | {tool: tool for tool in tools}, multiple=True, typed=True)


def patterns_of(key: str) -> str:
    """Return the field of a list in which stands what its picker of entities cannot show: domains, actions, tools, patterns."""
    return f"{key}_patterns"


def split(hass: HomeAssistant, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as forms show them: each list in two fields, exposed entities and everything else."""
    values = dict(settings)
    for key in PICKED & settings.keys():
        items: list[Any] = list(settings[key] or ())
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
    """Return an input with the two fields of each list as one."""
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
    "endpoint": _model,
    "second_model": _second_model,
    "custom_tools": _custom_tools,
    "commands": TextSelector(TextSelectorConfig(multiple=True)),
    "documents": _documents,
    "llm_apis": _apis,
    "mcp_servers": _mcp_servers,
    "delegates": _delegates,
    "names": entity_choice,
    CONTEXT_ENTITIES: entity_choice,
    "patterns": ObjectSelector(
        ObjectSelectorConfig(
            fields={
                "entity_id": ObjectSelectorField(required=True, selector={"text": {}}),
                "attributes": ObjectSelectorField(selector={"text": {"multiple": True}}),
            },
            multiple=True,
            label_field="entity_id",
            translation_key="context_entities",
        )
    ),
    "switch": SWITCH,
    "template": PromptSelector(),
    "text": TEXT,
    "lines": LONG_TEXT,
}
"""By kind of a setting; those of the home are made when the form is shown."""


def fields_of(*keys: str) -> Fields:
    """Return the fields of settings."""
    fields: Fields = {}
    for key in keys:
        match SETTINGS[key]:
            case Setting(kind="number", least=least, most=most, unit=unit):
                fields[key] = number(least, most, unit=unit)
            case Setting(kind="choice", options=options):
                fields[key] = dropdown(options, key)
            case Setting(kind=kind):
                fields[key] = _FIELDS[kind]
        if key in PICKED:
            fields[patterns_of(key)] = _FIELDS["patterns"] if key == CONTEXT_ENTITIES else name_choice
    return fields


def _section(section: Section) -> Fields:
    return fields_of(*(key for key, setting in SETTINGS.items() if setting.section is section))


BASICS = _section(Section.BASICS)
SECTIONS: dict[str, Fields] = {section.value: _section(section) for section in Section if section}
"""The fields of a profile by section of its form."""


# From stored overrides to a filled-in form and back, so that what was never set stays unset (D-1).


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every setting of a profile as forms write it: built-in defaults, then the layers."""
    built_in = asdict(DEFAULTS).items()
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in built_in if key in SETTINGS}
    for layer in layers:
        values.update(layer)
    return values


def effective(hass: HomeAssistant, settings: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """Return settings with what holds where they are empty, as forms show it; `instructions` are the default ones."""
    holds = {
        "timezone": hass.config.time_zone,
        "external_llm_description": DEFAULT_DESCRIPTION,
        "custom_prompt": instructions,
    }
    listed = {CONTEXT_ENTITIES: _joined(split(hass, settings))[CONTEXT_ENTITIES]}  # in the order of the two fields
    return {**settings, **listed, **{key: value for key, value in holds.items() if is_empty(settings[key])}}


async def async_default_instructions(entry: ConfigEntry, settings: Mapping[str, Any]) -> str:
    """Return the default instructions of an agent with these settings; empty while nothing is loaded."""
    if entry.state is not ConfigEntryState.LOADED:
        return ""
    runtime: RuntimeData = entry.runtime_data
    nobody = llm.LLMContext(platform=DOMAIN, context=None, language=None, assistant=ASSISTANT, device_id=None)
    tools = await runtime.own_tools.async_tools(profile_from_data("", "", {}, settings), nobody)
    return default_prompt(tools, looks_up=settings["context_mode"] == "retrieved")


def known(entry: ConfigEntry, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings without what was removed since and its field would refuse to show: models, servers."""
    there = {LLM_DEFAULT, LLM_NONE, *entry.subentries}
    settings = {key: value for key, value in data.items() if key not in ("llm", "external_llm") or value in there}
    if "mcp_servers" in settings:
        settings["mcp_servers"] = [server for server in settings["mcp_servers"] if server in there]
    if "delegate_to" in settings:
        there |= {*entry.options.get(CONF_DELEGATION_AGENTS, ())}
        settings["delegate_to"] = [agent for agent in settings["delegate_to"] if agent in there]
    return settings


def overrides(
    own: Mapping[str, Any], inherits: Mapping[str, Any], submitted: Mapping[str, Any], keys: Iterable[str]
) -> dict[str, Any]:
    """Return what a layer stores after a form with these `keys` was sent; other keys of `own` stay.

    An emptied field goes back to what is inherited. A field that shows an inherited value does not become an override by
    being sent. A switch cannot be emptied: put back to the inherited value, it inherits again. Who turns the default
    instructions off keeps the text that is shown, theirs from then on.
    """
    kept = dict(own)
    for key in inherits.keys() & keys:
        value = submitted.get(key)
        shows_inherited = value == inherits[key] and (key not in own or isinstance(value, bool))
        if is_empty(value) or shows_inherited:
            kept.pop(key, None)
        else:
            kept[key] = value
    if "custom_prompt" in keys and submitted.get("use_default_prompt") is False and submitted.get("custom_prompt"):
        kept["custom_prompt"] = submitted["custom_prompt"]
    return kept


# What is checked before anything is stored; a finding is an error key and the placeholders of its sentence.


_LISTED = re.compile(r"[\w*?-]+(\.[\w*?-]+)?")
"""What a list may name: a domain or a tool, an entity or an action, any of them with wildcards."""
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
"""Values of what a prompt is rendered with as a plain template (prompt/template.py)."""
_TEMPLATE_FILES = ("<template>", "<unknown>")
"""What Jinja calls the code of a template in a traceback; the line numbers there are the template's."""


def tidy(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the input of a form in the types that are stored: whole numbers, rows and lists without blanks."""
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


async def async_check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with a profile's settings; a prompt that would make Home Assistant stand still is tried beside it."""
    for key in ("custom_prompt", "prompt_additions"):
        if await async_is_slow(hass, settings[key], _SAMPLE | SAMPLE_VALUES):
            return f"{key}_slow", {"seconds": f"{RENDER_TIMEOUT:g}"}
    return check_settings(hass, settings)


def check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with a profile's settings as they would apply."""
    for row in settings.get("context_entities") or ():
        if not _ENTITY_PATTERN.fullmatch(row["entity_id"]):
            return "entity_pattern", {"pattern": row["entity_id"]}
    if finding := check_lists(settings):
        return finding
    for name in settings[SLASH_COMMANDS]:
        if command_name(name) is None:
            return "command_invalid", {"item": name}
    for name in settings["system_documents"]:
        if not is_document_name(name):
            return "document_name", {"item": name}
    if not settings["use_default_prompt"] and not settings["custom_prompt"].strip():
        return "custom_prompt_empty", {}
    if (zone := settings["timezone"].strip()) and not _TIME_ZONE.fullmatch(zone):
        return "timezone_invalid", {"zone": zone}
    for key in ("custom_prompt", "prompt_additions"):
        if problem := check_template(hass, settings[key], plain=not settings["use_prompt_context_service"]):
            return f"{key}_invalid", problem
    return None


def check_lists(settings: Mapping[str, Any]) -> Finding | None:
    """Return which item of the lists can name nothing."""
    for name in (name for key in LISTS for name in settings.get(key) or ()):
        if not _LISTED.fullmatch(name):
            return "list_item", {"item": name}
    return None


def check_template(hass: HomeAssistant, text: str, *, plain: bool = False) -> dict[str, str] | None:
    """Return line and message of what keeps a prompt from rendering; `plain`: without the names of the prompt context service."""
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
    """Return the line of a template in which an error arose, `?` where Jinja does not say."""
    if isinstance(error, TemplateSyntaxError):
        return str(error.lineno)
    line = "?"
    traceback = error.__traceback__ if error else None
    while traceback:
        if traceback.tb_frame.f_code.co_filename in _TEMPLATE_FILES:
            line = str(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


class ProfileFlow(SubentryForms):
    """Add an agent or change one."""

    _instructions = ""
    """The default ones as the form shows them: sent back, they are nobody's own."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add an agent."""
        return await self._async_form("user", user_input)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change an agent."""
        return await self._async_form("reconfigure", user_input)

    def _check_id(self, own: dict[str, Any], name: str) -> str | None:
        """Return what is wrong with the id in the own settings of an agent; one that others know outlives a new name."""
        entry, subentry = self._get_entry(), self.subentry
        agents = {item.subentry_id: item for item in entry.get_subentries_of_type(SUBENTRY_PROFILE)}
        known = profile_ids((item.data.get("profile_id", ""), item.title) for item in agents.values())
        ids = dict(zip(agents, known, strict=True))
        before = ids.pop(subentry.subentry_id, "") if subentry else ""
        if subentry and name != subentry.title and "profile_id" not in own and before != slugify(name):
            own["profile_id"] = before
        if not (chosen := own.get("profile_id")):
            return None
        if chosen != slugify(chosen):
            return "profile_id_invalid"
        return "profile_id_taken" if chosen in ids.values() else None

    def _taken(self, own: Mapping[str, Any]) -> dict[str, str]:
        """Return a command that another agent has, and that agent; nothing where there is none."""
        commands = {command_name(item) for item in own.get(SLASH_COMMANDS, ())}
        for other in self._get_entry().get_subentries_of_type(self._subentry_type):
            theirs = {command_name(item) for item in other.data.get(SLASH_COMMANDS, ())}
            if (self.subentry is None or other.subentry_id != self.subentry.subentry_id) and commands & theirs:
                return {"item": f"/{min(filter(None, commands & theirs))}", "profile": other.title}
        return {}

    async def _async_form(self, step_id: str, user_input: dict[str, Any] | None) -> SubentryFlowResult:
        """Show the form, or store what it sent."""
        entry, subentry = self._get_entry(), self.subentry
        defaults = known(entry, entry.options.get(CONF_PROFILE_DEFAULTS, {}))
        own = known(entry, subentry.data) if subentry else {}
        name = subentry.title if subentry else ""
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            name = user_input[CONF_NAME].strip()
            sent = dict(BASICS)
            for key in SECTIONS.keys() & user_input:  # a section that was not sent stays as it is
                sent |= SECTIONS[key]
            inherits = effective(self.hass, inherited(defaults), self._instructions)
            before, own = own, overrides(own, inherits, tidy(lifted(user_input, SECTIONS)), sent)
            if not name or self.name_is_taken(name):
                errors[CONF_NAME] = "name_taken" if name else "name_missing"
            if (wrong := self._check_id(own, name)) is not None:
                errors["base"] = wrong
            if inherited(defaults, own)["use_default_prompt"] and own.get("custom_prompt") not in (
                None,
                before.get("custom_prompt"),
            ):
                errors["base"] = "custom_prompt_unused"
            if taken := self._taken(own):
                errors["base"], placeholders = "command_taken", taken
            if finding := await async_check_settings(self.hass, inherited(defaults, own)):
                errors["base"], placeholders = finding
            if not errors:
                return self.store(name, own)
        settings = inherited(defaults, own)
        self._instructions = await async_default_instructions(entry, settings)
        settings = split(self.hass, effective(self.hass, settings, self._instructions))
        schema = {shown(probatio.Required, CONF_NAME, {CONF_NAME: name}): TEXT, **markers(self.hass, BASICS, settings)}
        for key, fields in SECTIONS.items():
            inner = probatio.Schema(markers(self.hass, fields, settings))
            schema[probatio.Optional(key)] = section(inner, {"collapsed": True})
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders | {"default_model": default_model(entry)},
        )
