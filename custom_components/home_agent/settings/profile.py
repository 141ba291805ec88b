"""The settings of one agent, merged once at load: built-in defaults, then the home's, then the profile's own.

A subentry and the entry's options store only what was set; an absent key, or one that is None, means "inherit".
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from homeassistant.util import slugify

from ..support.const import (
    CONF_ALLOWED_ENTITIES,
    CONF_ALWAYS_ASK,
    CONF_ALWAYS_CONFIRM,
    CONF_DEFAULT_PROFILE_SETTINGS,
    CONF_NEVER_ASK,
    CONF_NEVER_CONFIRM,
    CONF_NEVER_OFFER,
    LLM_DEFAULT,
    LLM_NONE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntity:
    """One line of the owner's own context list."""

    pattern: str
    """An entity id, or one with wildcards (`climate.*`)."""
    attributes: tuple[str, ...] = ()
    """Attributes to tell besides the state; empty: those that matter for the domain."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The part of the home that a profile knows: whatever any of these names. The rest does not exist for it."""

    areas: frozenset[str]
    """Ids; an entity is in the area of its own, or else of its device."""
    labels: frozenset[str]
    """Ids; of an entity, its device or its area."""
    entities: tuple[str, ...]
    """Entity ids, domains, and either with wildcards."""


ALL = "all"
"""Stands for all there are, in a list of names."""


class FormSection(StrEnum):
    """The section of a profile's form in which a setting stands; the values are keys of translations."""

    BASICS = ""
    """Outside of any."""
    PROMPT = "prompt"
    CONTEXT = "context"
    EXPOSURE = "exposure"
    HISTORY = "history"
    TOOLS = "tools"
    AGENTS = "agents"
    COMMANDS = "commands"
    """Of an agent alone: there are no defaults for these."""
    SAFETY = "safety"
    VOICE = "voice"


class Part(StrEnum):
    """Where a setting stands in the defaults of all agents and in the YAML of one; the values are keys there."""

    OWN = ""
    """At the top: of one agent alone, there are no defaults for it."""
    PROCESSING = "processing_config"
    """How it answers."""
    TOOLS = "tools_config"
    """What it may use and do."""


_PART_OF = {FormSection.TOOLS: Part.TOOLS, FormSection.SAFETY: Part.TOOLS, FormSection.COMMANDS: Part.OWN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How forms ask for a field of `Profile`. Its name is the key of the stored value, its default holds without one."""

    section: FormSection
    kind: str
    """`switch`, `number`, `choice`, `text`, `lines`, `template`, or the name of a choice that depends on the home (flows/forms.py)."""
    part: Part
    least: float = 0
    most: float = 0
    unit: str | None = None
    options: tuple[str, ...] = ()
    """What there is to choose from, for `choice`; the translations are those of the field's name."""


def _setting(default: object, section: FormSection, kind: str, part: Part | None = None, **details: Any) -> Any:
    """Return a field of `Profile` with its default and how forms ask for it; without a part it has that of the section."""
    part = _PART_OF.get(section, Part.PROCESSING) if part is None else part
    return field(default=default, metadata={"setting": Setting(section=section, kind=kind, part=part, **details)})


def _switch(default: bool, section: FormSection, part: Part | None = None) -> Any:
    return _setting(default, section, "switch", part)


def _number(default: int, section: FormSection, least: int, most: int, unit: str | None = None) -> Any:
    return _setting(default, section, "number", least=least, most=most, unit=unit)


def _choice(section: FormSection, *options: str) -> Any:
    """Return a choice of a few words; the first is the default."""
    return _setting(options[0], section, "choice", options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One agent. Field names are the keys of a `profile` subentry and of the defaults in the entry's options.

    In the order in which forms show them.
    """

    subentry_id: str = ""
    name: str = ""

    llm: str = _setting(LLM_DEFAULT, FormSection.BASICS, "endpoint")
    """Subentry id of an endpoint, `default` (the first one) or `none` (the home answers by itself)."""
    llm_model: str = _setting("", FormSection.BASICS, "text")
    """Another model of the same server than the endpoint names; empty: that one."""
    language: str = _setting("", FormSection.BASICS, "language")
    """Language tag of all answers; empty: the one in which somebody asks."""
    prompt_additions: str = _setting("", FormSection.BASICS, "template")
    """Template appended to the prompt."""
    native_tools: bool = _switch(True, FormSection.BASICS, Part.TOOLS)
    """Let the model control and query the home."""
    local_first: bool = _switch(True, FormSection.BASICS)
    """Let Home Assistant's own sentences answer before the model is asked: of plain commands it makes fewer mistakes."""

    use_default_prompt: bool = _switch(True, FormSection.PROMPT)
    custom_prompt: str = _setting("", FormSection.PROMPT, "template")
    """Template that replaces the default prompt when `use_default_prompt` is off."""
    prompts: Mapping[str, str] = field(
        default_factory=dict,
        hash=False,
        metadata={"setting": Setting(section=FormSection.PROMPT, kind="prompts", part=Part.PROCESSING)},
    )
    """Texts by name, which both templates take in as `{{ prompts.NAME }}`. Merged name by name with those of the defaults."""
    use_prompt_context_service: bool = _switch(True, FormSection.PROMPT)
    """Fill in the placeholders of both templates (prompt/template.py); off: they are plain templates."""
    prompt_history_length: int = _number(1500, FormSection.PROMPT, 100, 20_000)
    """Characters of the history in a prompt; so the next two are its limits in messages and tokens."""
    prompt_history_messages: int = _number(10, FormSection.PROMPT, 1, 50)
    prompt_history_tokens: int = _number(500, FormSection.PROMPT, 50, 10_000)
    prompt_history_system: bool = _switch(False, FormSection.PROMPT)
    """Whether a history in a prompt also says which tools were called."""
    system_documents: tuple[str, ...] = _setting((), FormSection.PROMPT, "documents")
    """Names of documents that stand in the system prompt (search/user_documents.py), in this order."""
    timezone: str = _setting("", FormSection.PROMPT, "text")
    """Zone of days and times in prompts; empty: the home's."""

    context_mode: str = _choice(FormSection.CONTEXT, "auto", "direct", "retrieved", "both", "off")
    """`direct`: everything is told; `retrieved`: what a request is about; `both`: a list and what a request is about;
    `auto`: direct while everything fits, else retrieved; `off`."""
    context_format: str = _choice(FormSection.CONTEXT, "json", "natural_language", "hybrid")
    context_entities: tuple[ContextEntity, ...] = _setting((), FormSection.CONTEXT, "context_entities")
    """Empty: every exposed entity."""
    context_max_entities: int = _number(20, FormSection.CONTEXT, 1, 200)
    """How many entities are told at most because a request seems to be about them."""
    context_update_interval: int = _number(0, FormSection.CONTEXT, 0, 3600, "s")
    """Seconds for which states that were already told are not told again, even when they changed."""
    tell_events: bool = _switch(True, FormSection.CONTEXT)
    """Tell calendars, lists and logbook when somebody asks for events."""
    documents_for: str = _choice(FormSection.CONTEXT, "everyone", "household", "admins", "nobody")
    """Who is told of the owner's documents: also whoever is not known (a voice device); users who may read the whole home."""
    memory: str = _choice(FormSection.CONTEXT, "on", "home", "off")
    """`home`: only what is the home's is told and added, nobody's own; `off`: nothing is remembered, nor told of what is; for
    guests. The home has a switch for all."""
    remembers: bool = field(init=False, default=True)
    """Whether that is not off: what everything asks that reads or writes memories or names."""
    mask_personal_data: str = _choice(FormSection.CONTEXT, "auto", "always", "never")
    """`auto`: on the way to endpoints outside the home; `always`; `never`."""

    exposed_areas: tuple[str, ...] = _setting((), FormSection.EXPOSURE, "areas")
    """With the next two, the part of the exposed home that it knows (`Narrowing`); all three empty: all of it."""
    exposed_labels: tuple[str, ...] = _setting((), FormSection.EXPOSURE, "labels")
    exposed_entities: tuple[str, ...] = _setting((), FormSection.EXPOSURE, "names")
    """Entity ids and domains; wildcards count."""

    history_enabled: bool = _switch(True, FormSection.HISTORY)
    history_max_messages: int = _number(10, FormSection.HISTORY, 1, 50)
    history_max_tokens: int = _number(4000, FormSection.HISTORY, 100, 100_000)
    history_max_age_hours: int = _number(24, FormSection.HISTORY, 1, 168, "h")
    """Older messages of an earlier session are not sent again."""
    history_persist: bool = _switch(True, FormSection.HISTORY)
    """Whether conversations are kept on the disk; otherwise until Home Assistant restarts."""
    continue_conversation: str = _choice(FormSection.HISTORY, "off", "user", "device")
    """Whose last conversation a new one goes on with: `user`, `device`, or `off`."""
    continue_minutes: int = _number(60, FormSection.HISTORY, 1, 10_080, "min")
    """How long after its last word it may be gone on with."""
    history_summary: bool = _switch(False, FormSection.HISTORY)
    """Whether a model sums up the rounds that are not sent any more."""

    custom_tools: tuple[str, ...] = _setting((ALL,), FormSection.TOOLS, "custom_tools")
    """Names of the owner's own tools; `all`: all of them. Empty: none."""
    llm_apis: tuple[str, ...] = _setting((), FormSection.TOOLS, "llm_apis")
    """Ids of Home Assistant's own tool collections (Assist, servers of its MCP integration) that are used besides ours."""
    mcp_servers: tuple[str, ...] = _setting((), FormSection.TOOLS, "mcp_servers")
    """Subentry ids of the servers whose tools are used (Model Context Protocol)."""
    allowed_tools: tuple[str, ...] = _setting((ALL,), FormSection.TOOLS, "tool_names")
    """Of all the tools that the other settings bring, the names of those that it has; wildcards count, `all`: all of them."""
    documentation_tool: bool = _switch(False, FormSection.TOOLS)
    """Let the model read documents for users when it is asked about what they explain."""
    external_llm: str = _setting(LLM_NONE, FormSection.TOOLS, "second_model")
    """Subentry id of the endpoint behind `query_external_llm`; `none`: it is not offered."""
    external_llm_description: str = _setting("", FormSection.TOOLS, "lines")
    """What the model is told about when to ask it; empty: the default text."""
    max_calls_per_turn: int = _number(5, FormSection.TOOLS, 1, 50)
    max_iterations: int = _number(0, FormSection.TOOLS, 0, 52)
    """How often the model is asked in one turn at most; 0: as often as the tool calls need."""
    tool_timeout: int = _number(30, FormSection.TOOLS, 1, 300, "s")
    """Seconds for one tool call."""
    offer_tools: bool = _switch(False, FormSection.TOOLS)
    """Let other programs use our own tools of this agent, through Home Assistant's MCP server."""

    profile_id: str = _setting("", FormSection.AGENTS, "text", Part.OWN)
    """What others call it: a slug, unique among the profiles. Stored empty, it follows from the name (`profile_ids`); a profile
    of the loaded entry always has one."""
    description: str = _setting("", FormSection.AGENTS, "lines", Part.OWN)
    """What it is for: other agents that may delegate to it are told, and `/help` says it of its commands."""
    icon: str = _setting("", FormSection.AGENTS, "icon", Part.OWN)
    """What its entity is shown with; empty: Home Assistant's own for such entities."""
    delegate_to: tuple[str, ...] = _setting((), FormSection.AGENTS, "delegates", Part.TOOLS)
    """Whom it may hand requests to: subentry ids of profiles, entity ids of agents that the owner allows. Empty: nobody."""
    delegation_level: str = _choice(FormSection.AGENTS, "confirm", "blocked", "unrestricted")
    """What others need to hand it a request: `confirm`, the user's yes each time; `blocked`, nobody may; `unrestricted`, nothing."""
    extension_name: str = _setting("", FormSection.AGENTS, "text", Part.OWN)
    """The domain that it is, for agents that route requests (tools/extensions/); `description` says what for. Empty: none."""
    extensions: tuple[str, ...] = _setting((ALL,), FormSection.AGENTS, "extensions", Part.TOOLS)
    """Names of the extensions that it may route requests to; `all`: all of them. Empty: none."""
    routing: str = _choice(FormSection.AGENTS, "off", "semantic", "router", "semantic_then_router")
    """What a message goes through before the model (C-16). `semantic`: it is compared with the routes, and one that it surely means
    runs without a model, else the model is offered the tools of the best two (local/routes.py); `router`: it is split among
    the extensions, each answers its part, and one answer is made of that; `semantic_then_router`: the second where the first
    is not sure; `off`."""
    routing_high: int = _number(75, FormSection.AGENTS, 0, 100, "%")
    """Similarity from which on a route may run without a model; so the next three (C-17), bounds included."""
    routing_low: int = _number(40, FormSection.AGENTS, 0, 100, "%")
    """Similarity below which nothing that there is was meant."""
    routing_action: int = _number(70, FormSection.AGENTS, 0, 100, "%")
    """Least similarity to what is said of the route, not only to what describes it."""
    routing_gap: int = _number(15, FormSection.AGENTS, 0, 100, "%")
    """Least distance to the next best route."""
    smalltalk_without_tools: bool = _switch(False, FormSection.AGENTS)
    """Whether the model is offered no tools for what resembles nothing (C-15)."""
    routing_persona: bool = _switch(False, FormSection.AGENTS)
    """Whether the model words the answer of a route that ran without it."""
    routing_skips: bool = _switch(False, FormSection.AGENTS)
    """Whether the words of the only extension that a message concerns are the answer, as they are."""
    routing_timeout: int = _number(60, FormSection.AGENTS, 1, 600, "s")
    """Seconds for the router, and for each of the extensions."""
    slash_commands: tuple[str, ...] = _setting((), FormSection.COMMANDS, "commands")
    """What a text may begin with to reach this agent from any other (agent/commands.py), without the slash."""
    command_asks: bool = _switch(False, FormSection.COMMANDS)
    """Whether a request that comes by a command needs a yes before the agent hears it."""

    always_ask: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    """Entity ids, domains, services and tool names that need a yes; wildcards count. The home has such lists as well."""
    never_ask: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    """What needs none although it is sensitive."""
    never_offer: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    """Tools that this agent does not have, and what it never changes."""

    may_change: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    """The only entities, domains, services and tools that it changes anything with; empty: all that it has."""

    streaming: bool = _switch(True, FormSection.VOICE)
    max_answer_tokens: int = _number(2000, FormSection.VOICE, 50, 100_000)
    """Tokens of the text of one answer, thinking apart; a longer one is ended behind a sentence."""
    speech: str = _choice(FormSection.VOICE, "auto", "always", "never")
    """`auto`: answers to voice devices are made speakable; `always`; `never`."""

    within: tuple[Narrowing, ...] = ()
    """What follows from its own exposure, and from that of an agent which hands on to it: what it knows is in each of them."""

    changes_within: tuple[tuple[str, ...], ...] = ()
    """The same of what it may change."""

    def __post_init__(self) -> None:
        """Say what follows from the rest."""
        object.__setattr__(self, "remembers", self.memory != "off")  # frozen
        if self.may_change:
            object.__setattr__(self, "changes_within", tuple(dict.fromkeys((*self.changes_within, self.may_change))))
        if self.exposed_areas or self.exposed_labels or self.exposed_entities:
            areas, labels = frozenset(self.exposed_areas), frozenset(self.exposed_labels)
            own = Narrowing(areas, labels, self.exposed_entities)
            object.__setattr__(self, "within", tuple(dict.fromkeys((*self.within, own))))


DEFAULTS = Profile()
SETTINGS: Mapping[str, Setting] = {
    item.name: item.metadata["setting"] for item in fields(Profile) if "setting" in item.metadata
}
"""What can be set, by key."""


BUILT_IN: Mapping[str, Any] = {
    key: list(value) if isinstance(value, tuple) else value
    for key, value in asdict(DEFAULTS).items()
    if key in SETTINGS
}
"""What holds where nobody set anything, as it would be stored."""


class SettingOrigin(StrEnum):
    """Where the value of a setting comes from; the values are keys of translations."""

    BUILT_IN = "built_in"
    DEFAULTS = "defaults"
    """The home's defaults of all agents."""
    PROFILE = "profile"
    """The agent itself."""


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return layers of settings as one, key by key, each over those before it; the layers stay as they are.

    A mapping is merged with the one below it, at every depth; one that sets nothing changes nothing. A list or a single value
    replaces what is below; an empty list is one. What is None inherits, like a key that is not there.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if isinstance(value, Mapping):
                below = result.get(key)
                within = merged(below if isinstance(below, Mapping) else {}, value)
                if below is None or isinstance(below, Mapping) or _sets_anything(value):
                    result[key] = within
            elif value is not None:
                result[key] = deepcopy(value)
    return result


def _sets_anything(settings: Mapping[str, Any]) -> bool:
    return any(
        _sets_anything(value) if isinstance(value, Mapping) else value is not None for value in settings.values()
    )


def origins(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return where each setting of a profile comes from; of a mapping, each of its keys.

    By the rule of `merged`, for it is what merges them: `defaults` are the home's, `own` the profile's.
    """
    layers = zip(SettingOrigin, (BUILT_IN, defaults, own), strict=True)
    found = merged(*(_marked(layer, origin) for origin, layer in layers))
    return {key: found[key] for key in SETTINGS}


def _marked(layer: Mapping[str, Any], origin: SettingOrigin) -> dict[str, Any]:
    """Return a layer with its origin in the place of every value."""
    return {
        key: _marked(value, origin) if isinstance(value, Mapping) else origin
        for key, value in layer.items()
        if value is not None
    }


def settings_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings by key, whether they stand in their parts or beside them; without what is None."""
    parts = [part.value for part in Part if part]
    flat = {key: value for key, value in stored.items() if key not in parts}
    return merged(flat, *(stored.get(part) or {} for part in parts))


def in_parts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are stored for all agents: each in its part; keys of a newer version stay outside of any."""
    found: dict[str, Any] = {}
    for key in (*(key for key in SETTINGS if key in settings), *(key for key in settings if key not in SETTINGS)):
        part = SETTINGS[key].part if key in SETTINGS else Part.OWN
        (found.setdefault(part.value, {}) if part else found)[key] = settings[key]
    return found


def default_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the home's options set for all agents, by key; nothing that is of one agent alone."""
    stored = settings_of(options.get(CONF_DEFAULT_PROFILE_SETTINGS) or {})
    return {key: value for key, value in stored.items() if key not in SETTINGS or SETTINGS[key].part}


def migrated_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the home's options of version 1.1 as they are stored now: the defaults of all agents had no parts."""
    kept = {key: value for key, value in options.items() if key != "profile_defaults"}
    if "profile_defaults" in options:
        kept[CONF_DEFAULT_PROFILE_SETTINGS] = in_parts(migrated_settings(options["profile_defaults"]))
    return kept


def migrated_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of version 1.1 as they are stored now: `none` in a list of names stood for an empty one."""
    lists = ("custom_tools", "delegate_to")
    return {
        key: [name for name in value if name != LLM_NONE] if key in lists and value is not None else value
        for key, value in settings.items()
    }


def with_one_description(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of version 1.2 as they are stored now: what `/help` said of commands stood apart from the description."""
    kept = {key: value for key, value in settings.items() if key != "command_description"}
    texts = dict.fromkeys(text for key in ("description", "command_description") if (text := settings.get(key)))
    return kept | {"description": "\n".join(texts)} if texts else kept


def profile_from_data(subentry_id: str, name: str, defaults: Mapping[str, Any], data: Mapping[str, Any]) -> Profile:
    """Return the profile of a subentry; keys it does not know (of a newer version) are left alone.

    `defaults` are the home's by key (`default_settings`), `data` is what the subentry stores.
    """
    settings = {key: value for key, value in merged(defaults, settings_of(data)).items() if key in SETTINGS}
    for key, value in settings.items():
        if SETTINGS[key].kind == "number":
            settings[key] = int(value)  # number selectors return floats
        elif isinstance(value, list):
            settings[key] = tuple(value)
    settings["context_entities"] = tuple(
        ContextEntity(pattern=row["entity_id"], attributes=tuple(row.get("attributes") or ()))
        for row in settings.get("context_entities") or ()
    )
    return Profile(subentry_id=subentry_id, name=name, **settings)


def profile_ids(profiles: Iterable[tuple[str, str]]) -> list[str]:
    """Return the ids of profiles, each given by the id that its owner chose, "" if none, and its name.

    Who has none gets one from the name, with a number behind it where it is taken; a name that is changed changes it.
    """
    listed = list(profiles)
    used = {own for own, _ in listed if own}
    found: list[str] = []
    for own, name in listed:
        made, number = own or slugify(name), 2
        while not own and made in used:
            made, number = f"{slugify(name)}_{number}", number + 1
        used.add(made)
        found.append(made)
    return found


class ContextMode(StrEnum):
    """How the model of one conversation learns of states; `auto` becomes one of these with its first turn."""

    DIRECT = "direct"
    """Everything that is exposed or listed, then what changed."""
    RETRIEVED = "retrieved"
    """What the request seems to be about."""
    BOTH = "both"
    """What is listed, and of everything else what the request seems to be about."""
    OFF = "off"

    def __init__(self, value: str) -> None:
        """Say what it comes to."""
        self.lists = value in ("direct", "both")
        """Whether entities are told that nobody asked for."""
        self.looks_up = value in ("retrieved", "both")
        """Whether entities are looked for with each request."""


AUTO = "auto"
AUTO_TOKENS = 8000
"""Names and states together, up to which `auto` tells everything. A larger window would take more, but all of it is read,
and paid for, with each new conversation."""

LISTS = (
    CONF_ALLOWED_ENTITIES,
    "exposed_entities",
    CONF_ALWAYS_ASK,
    CONF_NEVER_ASK,
    CONF_NEVER_OFFER,
    "may_change",
    CONF_ALWAYS_CONFIRM,
    CONF_NEVER_CONFIRM,
)
"""Lists in which an owner names entities, domains, services and tools."""
