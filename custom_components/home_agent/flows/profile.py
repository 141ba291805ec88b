"""The settings of a profile as form fields, what is checked of them, and the form of an agent; the default settings share all this."""

from collections.abc import Iterable, Mapping
from functools import partialmethod
from itertools import chain, count
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
    AreaSelector,
    AreaSelectorConfig,
    EntitySelector,
    EntitySelectorConfig,
    IconSelector,
    LabelSelector,
    LabelSelectorConfig,
    LanguageSelector,
    LanguageSelectorConfig,
    ObjectSelector,
    ObjectSelectorConfig,
    ObjectSelectorField,
    Selector,
    SelectSelector,
    TextSelector,
    TextSelectorConfig,
)
from homeassistant.helpers.template import Template
from homeassistant.helpers.translation import async_get_cached_translations
from homeassistant.util import dt as dt_util, slugify
from jinja2 import TemplateSyntaxError
import probatio

from ..agent.commands import command_name
from ..agent.runtime import RuntimeData
from ..prompt.system_prompt import default_prompt
from ..prompt.template import RENDER_TIMEOUT, SAMPLE_VALUES, UNUSABLE, async_is_slow, fill, with_named
from ..search.user_documents import is_document_name
from ..settings.portable import Problem, from_yaml, in_home, to_yaml
from ..settings.presets import PRESETS, async_preset
from ..settings.profile import (
    ALL,
    BUILT_IN,
    LISTS,
    SETTINGS,
    FormSection,
    Setting,
    SettingOrigin,
    default_settings,
    merged,
    origins,
    profile_from_data,
    profile_ids,
    settings_of,
)
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
from ..support.localize import async_own_text, async_text
from ..tools.control import HaControl
from ..tools.external import DEFAULT_DESCRIPTION
from ..tools.memory import MEMORY_TOOLS
from ..tools.query import HaQuery
from .forms import (
    LONG_TEXT,
    SWITCH,
    TEXT,
    Fields,
    FormError,
    PromptSelector,
    SubentryForms,
    dropdown,
    is_empty,
    lifted,
    markers,
    number,
    shown,
)
from .inheritance import FollowLists, Layers, follow_choice, follow_field, followable, followed, following

AS_YAML = "as_yaml"
CONF_YAML = "yaml"
CONTEXT_ENTITIES = "context_entities"
SLASH_COMMANDS = "slash_commands"
BLANK = "blank"
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
    """Return the choice of agents that a request may be handed to: ours, and those of others that the owner allows."""
    agents = [
        agent
        for entry in hass.config_entries.async_entries(DOMAIN)
        for agent in entry.options.get(CONF_DELEGATION_AGENTS, ())
    ]
    states = {agent: hass.states.get(agent) for agent in agents}
    others = {agent: state.name if state is not None else agent for agent, state in states.items()}
    return dropdown(subentries_of(hass, SUBENTRY_PROFILE) | others, multiple=True)


def _custom_tools(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of custom tools: all of them, or by name; one that is gone may stay named."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    names = [name for runtime in runtimes for name in runtime.custom_tools.names]
    return dropdown({name: name for name in (ALL, *names)}, "custom_tools", multiple=True, typed=True)


def _extension_names(hass: HomeAssistant) -> list[str]:
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    return [name for runtime in runtimes for name in runtime.extensions.names]


def extension_choice(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of extensions; one that is gone may stay named."""
    return dropdown({name: name for name in _extension_names(hass)}, multiple=True, typed=True)


def _extensions(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of extensions for an agent: all of them, or by name; one that is gone may stay named."""
    return dropdown({name: name for name in (ALL, *_extension_names(hass))}, "extensions", multiple=True, typed=True)


def _tool_names(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of tools by name, of which those of ours are known; `all` stands for itself."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    tools = [HaControl.name, HaQuery.name, *(tool.name for tool in MEMORY_TOOLS)]
    tools += [name for runtime in runtimes for name in runtime.custom_tools.names]
    return dropdown({name: name for name in (ALL, *tools)}, "allowed_tools", multiple=True, typed=True)


def _documents(hass: HomeAssistant) -> SelectSelector:
    """Return the choice of documents; one that is not there yet may be typed."""
    runtimes: list[RuntimeData] = [entry.runtime_data for entry in hass.config_entries.async_loaded_entries(DOMAIN)]
    names = [name for runtime in runtimes for name in runtime.sources.documents.names]
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
    "extensions": _extensions,
    "llm_apis": _apis,
    "mcp_servers": _mcp_servers,
    "delegates": _delegates,
    "names": entity_choice,
    "tool_names": _tool_names,
    "language": LanguageSelector(LanguageSelectorConfig()),
    "icon": IconSelector(),
    "prompts": ObjectSelector(),
    "areas": AreaSelector(AreaSelectorConfig(multiple=True)),
    "labels": LabelSelector(LabelSelectorConfig(multiple=True)),
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


def section_fields(section: FormSection) -> Fields:
    """Return the fields of the settings of a section."""
    return fields_of(*(key for key, setting in SETTINGS.items() if setting.section is section))


def _section(section: FormSection) -> Fields:
    """Return the fields of a section with the list of those that follow the defaults, which is filled in when it is shown."""
    fields = section_fields(section)
    return fields | ({follow_field(section): follow_choice({})} if followable(fields) else {})


BASICS = _section(FormSection.BASICS)
SECTIONS: dict[str, Fields] = {section.value: _section(section) for section in FormSection if section}
"""The fields of a profile by section of its form."""
FOLLOW_LISTS = {
    follow_field(name): tuple(fields) for name, fields in {"": BASICS, **SECTIONS}.items() if followable(fields)
}
"""The fields of each list of those that follow the defaults."""


# From stored overrides to a filled-in form and back, so that what was never set stays unset (D-1).


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every setting of a profile as forms write it: built-in defaults, then the layers."""
    return merged(BUILT_IN, *layers)


def effective(hass: HomeAssistant, settings: Mapping[str, Any], instructions: str) -> dict[str, Any]:
    """Return settings with what holds where they are empty, as forms show it; `instructions` are the default ones."""
    holds = {
        "timezone": hass.config.time_zone,
        "external_llm_description": DEFAULT_DESCRIPTION,
        "custom_prompt": instructions,
    }
    listed = {key: sorted(settings[key]) for key in LISTS if key in settings}  # as they are sent
    listed |= {CONTEXT_ENTITIES: _joined(split(hass, settings))[CONTEXT_ENTITIES]}  # in the order of the two fields
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


def layers_of(hass: HomeAssistant, below: Mapping[str, Any], own: Mapping[str, Any], instructions: str) -> Layers:
    """Return what a form is filled in with: `own` settings over those `below`, which lie over the built-in ones.

    `instructions` are the default ones, as they are shown.
    """
    inherits = inherited(below)
    return Layers(
        own=own,
        inherits=inherits,
        defaults=effective(hass, inherits, instructions),
        shown=effective(hass, inherited(below, own), instructions),
    )


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
_NO_PROMPT = re.compile(r"\bprompts\.(\w+)")
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


async def async_check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> FormError | None:
    """Return what is wrong with a profile's settings; a prompt that would make Home Assistant stand still is tried beside it, a time zone looked up."""
    for key in ("custom_prompt", "prompt_additions"):
        if await async_is_slow(hass, with_named(settings[key], settings["prompts"]), _SAMPLE | SAMPLE_VALUES):
            return f"{key}_slow", {"seconds": f"{RENDER_TIMEOUT:g}"}
    if finding := check_settings(hass, settings):
        return finding
    zone = settings["timezone"].strip()
    return ("timezone_invalid", {"zone": zone}) if zone and not await _async_is_zone(zone) else None


async def _async_is_zone(name: str) -> bool:
    try:
        return await dt_util.async_get_time_zone(name) is not None
    except ValueError, OSError:  # what has zones in it is none
        return False


def check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> FormError | None:
    """Return what is wrong with a profile's settings as they would apply."""
    for row in settings.get("context_entities") or ():
        if not _ENTITY_PATTERN.fullmatch(row["entity_id"]):
            return "entity_pattern", {"pattern": row["entity_id"]}
    if finding := check_lists(settings):
        return finding
    if finding := _check_names(settings):
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
    """Return which command, named text or document can have no such name."""
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
    _own: dict[str, Any] | None = None
    """The own settings as the form shows them again that was wrong, or that comes after its YAML."""
    _name = ""
    """The name in that form."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add an agent: ask what it starts from, then for its settings."""
        if user_input is None:
            return await self.async_step_start()
        return await self._async_form("user", user_input)

    async def async_step_start(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask what the agent starts from."""
        return self.async_show_menu(step_id="start", menu_options=[BLANK, *PRESETS, CONF_YAML])

    async def async_step_blank(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from the default settings."""
        return await self._async_form("user", None)

    async def _async_from(self, key: str, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from a preset, under a name that nobody has."""
        preset = await async_preset(self.hass, key, self.hass.config.language)
        names = chain([preset.name], (f"{preset.name} {number}" for number in count(2)))
        self._own, self._name = {**preset.settings}, next(name for name in names if not self.name_is_taken(name))
        return await self._async_form("user", None)

    async_step_home_assistant = partialmethod(_async_from, "home_assistant")
    async_step_guest = partialmethod(_async_from, "guest")
    async_step_kids = partialmethod(_async_from, "kids")
    async_step_security = partialmethod(_async_from, "security")
    async_step_technician = partialmethod(_async_from, "technician")
    async_step_storyteller = partialmethod(_async_from, "storyteller")

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change an agent."""
        return await self._async_form("reconfigure", user_input)

    async def async_step_yaml(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show what the agent sets itself as YAML, or take it; what was read is shown in the form before it is stored."""
        entry, subentry, problems = self._get_entry(), self.subentry, list[str]()
        stored = settings_of(subentry.data) if subentry else {}
        own = stored if self._own is None else self._own
        text = to_yaml(entry, self._name or (subentry.title if subentry else ""), own) if own or self._name else ""
        if user_input is not None:
            text = user_input.get(CONF_YAML, "")
            name, own, found = from_yaml(entry, text)
            own, missing = in_home(self.hass, own)
            if not (problems := await self._async_problems(own, found + missing)):
                newer = {key: value for key, value in stored.items() if key not in SETTINGS}
                self._own, self._name = newer | tidy(own), name or self._name
                return await self._async_form("reconfigure" if subentry else "user", None)
        shown_text = shown(probatio.Optional, CONF_YAML, {CONF_YAML: text})
        return self.async_show_form(
            step_id="yaml",
            data_schema=probatio.Schema({shown_text: LONG_TEXT}),
            errors={CONF_YAML: "yaml_problems"} if problems else {},
            description_placeholders={"problems": "\n".join(f"- {problem}" for problem in problems)},
        )

    async def _async_problems(self, own: Mapping[str, Any], found: Iterable[Problem]) -> list[str]:
        """Return a sentence for all that is wrong with settings: what was `found`, and what the fields and the form refuse."""
        language = self.hass.config.language
        said = [await async_text(self.hass, language, key, **placeholders) for key, placeholders in found]
        left = dict(own)
        for key in own.keys() - PICKED:
            field = fields_of(key)[key]
            selector: Any = field if isinstance(field, Selector) else field(self.hass)
            try:
                selector(own[key])
            except probatio.Invalid:
                said.append(await async_text(self.hass, language, "import_value", setting=key))
                del left[key]
        entry = self._get_entry()
        defaults = known(entry, default_settings(entry.options))
        while finding := await async_check_settings(self.hass, inherited(defaults, left)):
            error, placeholders = finding
            for key in left:  # the one without which there is no such problem
                others = {other: value for other, value in left.items() if other != key}
                if await async_check_settings(self.hass, inherited(defaults, others)) != finding:
                    break
            else:
                break  # the defaults have it
            path = f"config_subentries.{SUBENTRY_PROFILE}.error.{error}"
            sentence = await async_own_text(self.hass, language, "config_subentries", DOMAIN, path) or error
            problem = sentence.format_map(placeholders)
            said.append(await async_text(self.hass, language, "import_problem", setting=key, problem=problem))
            left = others
        return said

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
        defaults = known(entry, default_settings(entry.options))
        stored = known(entry, settings_of(subentry.data)) if subentry else {}
        own = stored if self._own is None else self._own
        name = self._name or (subentry.title if subentry else "")
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            name = user_input[CONF_NAME].strip()
            sent = dict(BASICS)
            for key in SECTIONS.keys() & user_input:  # a section that was not sent stays as it is
                sent |= SECTIONS[key]
            flat = tidy(lifted(user_input, SECTIONS))
            asked = {name: keys for name, keys in FOLLOW_LISTS.items() if name in sent}
            layers = layers_of(self.hass, defaults, own, self._instructions)
            self._own = own = layers.overrides(flat, sent, followed(flat, own, asked))
            if user_input.get(AS_YAML):
                self._name = name
                return await self.async_step_yaml()
            if not name or self.name_is_taken(name):
                errors[CONF_NAME] = "name_taken" if name else "name_missing"
            if (wrong := self._check_id(own, name)) is not None:
                errors["base"] = wrong
            if inherited(defaults, own)["use_default_prompt"] and own.get("custom_prompt") not in (
                None,
                stored.get("custom_prompt"),
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
        layers, came = layers_of(self.hass, defaults, own, self._instructions), origins(defaults, {})
        settings = split(self.hass, layers.shown)
        lists = await FollowLists.async_load(self.hass, "config_subentries.profile", step_id)
        schema: dict[probatio.Marker, Any] = {shown(probatio.Required, CONF_NAME, {CONF_NAME: name}): TEXT}
        for key, fields in {"": BASICS, **SECTIONS}.items():
            if (follows := follow_field(key)) in fields:
                settings[follows] = sorted(following(own, fields))
                fields = fields | {follows: lists.choice(key, fields, layers, came, SettingOrigin.PROFILE)}
            inner = markers(self.hass, fields, settings)
            schema |= {probatio.Optional(key): section(probatio.Schema(inner), {"collapsed": True})} if key else inner
        schema[probatio.Optional(AS_YAML)] = SWITCH
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders | {"default_model": default_model(entry)},
        )
