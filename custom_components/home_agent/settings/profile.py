"""The settings of one agent: built-in defaults, the home's and its own, merged. Only what was set is stored."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from itertools import chain
from typing import Any

from homeassistant.util import slugify

from ..support.const import (
    CONF_ALLOWED_ENTITIES,
    CONF_ALWAYS_CONFIRM,
    CONF_DEFAULT_PROFILE_SETTINGS,
    CONF_NEVER_CONFIRM,
    LLM_DEFAULT,
    LLM_NONE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntity:
    """One row of the list of entities in the context."""

    pattern: str  # an entity id, also with wildcards (`climate.*`)
    attributes: tuple[str, ...] = ()
    """Attributes to send besides the state; empty: those of the domain's record."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The part of the home that a profile knows: the union of these. For the profile, the rest does not exist."""

    areas: frozenset[str]  # ids; the area of an entity, or of its device
    labels: frozenset[str]  # ids; of an entity, its device or its area
    entities: tuple[str, ...]  # entity ids and domains, also with wildcards


ALL = "all"  # in a list of names: all of them
NO_USER = "no_user"  # in a list of people: who speaks without a user, such as a voice device or an automation


class FormSection(StrEnum):
    """A topic of the settings of an agent; the values are keys of translations."""

    ANSWERS = "answers"
    PROMPT = "prompt"
    CONTEXT = "context"
    EXPOSURE = "exposure"
    HISTORY = "history"
    TOOLS = "tools"
    AGENTS = "agents"
    ROUTING = "routing"
    SAFETY = "safety"
    WISHES = "wishes"


class Part(StrEnum):
    """A part of the stored defaults and of an agent's YAML; the values are keys there."""

    OWN = ""  # at the top: of one agent alone, without a default
    PROCESSING = "processing_config"
    TOOLS = "tools_config"


_PART_OF = {FormSection.TOOLS: Part.TOOLS, FormSection.SAFETY: Part.TOOLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How forms ask for a field of `Profile`, whose name is the key of the stored value."""

    section: FormSection
    kind: str
    """`switch`, `number`, `choice`, `text`, `lines`, `template`, or a choice that depends on the home (flows/fields.py)."""
    part: Part
    least: float = 0
    most: float = 0
    unit: str | None = None
    options: tuple[str, ...] = ()
    """The values of a `choice`; translated as a selector of the field's name."""


def _setting(default: object, section: FormSection, kind: str, part: Part | None = None, **details: Any) -> Any:
    """Return a field of `Profile` with its setting; `part` follows from the section unless given."""
    part = _PART_OF.get(section, Part.PROCESSING) if part is None else part
    return field(default=default, metadata={"setting": Setting(section=section, kind=kind, part=part, **details)})


def _switch(default: bool, section: FormSection, part: Part | None = None) -> Any:
    return _setting(default, section, "switch", part)


def _number(default: int, section: FormSection, least: int, most: int, unit: str | None = None) -> Any:
    return _setting(default, section, "number", least=least, most=most, unit=unit)


def _choice(section: FormSection, *options: str) -> Any:
    """Return a choice; the first option is the default."""
    return _setting(options[0], section, "choice", options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One agent. Field names are the keys of stored settings; forms show them in this order."""

    subentry_id: str = ""
    name: str = ""

    llm: str = _setting(LLM_DEFAULT, FormSection.ANSWERS, "endpoint")
    """Subentry id of an endpoint, `default` (the first one) or `none` (Home Agent answers without a model)."""
    llm_model: str = _setting("", FormSection.ANSWERS, "text")
    """Another model of the same server; empty: the endpoint's."""
    language: str = _setting("", FormSection.ANSWERS, "language")
    """Language tag of all answers; empty: the language of the question."""
    prompt_additions: str = _setting("", FormSection.PROMPT, "template")
    people: tuple[str, ...] = _setting((), FormSection.AGENTS, "people", Part.OWN)
    """Ids of the users who may talk to it, and `no_user`; empty: everyone. What is refused is decided by `is_for`."""
    native_tools: bool = _switch(True, FormSection.TOOLS)
    local_first: bool = _switch(True, FormSection.ROUTING)

    use_default_prompt: bool = _switch(True, FormSection.PROMPT)
    custom_prompt: str = _setting("", FormSection.PROMPT, "template")
    """Replaces the default prompt when `use_default_prompt` is off."""
    prompts: Mapping[str, str] = field(
        default_factory=dict,
        hash=False,
        metadata={"setting": Setting(section=FormSection.PROMPT, kind="prompts", part=Part.PROCESSING)},
    )
    """Texts that both templates include as `{{ prompts.NAME }}`. Merged with the defaults, name by name."""
    use_prompt_context_service: bool = _switch(True, FormSection.PROMPT)
    """Fill in placeholders (prompt/template.py); off: both are plain templates."""
    prompt_history_system: bool = _switch(False, FormSection.PROMPT)
    """Whether the history in a prompt lists tool calls."""
    system_documents: tuple[str, ...] = _setting((), FormSection.PROMPT, "documents")
    """Names of documents in the system prompt (search/user_documents.py), in this order."""
    timezone: str = _setting("", FormSection.PROMPT, "text")  # empty: Home Assistant's

    context_mode: str = _choice(FormSection.CONTEXT, "auto", "direct", "retrieved", "both", "off")
    """A `ContextMode`, or `auto`: direct if everything fits, else retrieved."""
    context_format: str = _choice(FormSection.CONTEXT, "json", "natural_language", "hybrid")
    context_entities: tuple[ContextEntity, ...] = _setting((), FormSection.CONTEXT, "context_entities")
    """Empty: every exposed entity."""
    context_max_entities: int = _number(20, FormSection.CONTEXT, 1, 200)
    """Most entities that are looked up for one request."""
    context_update_interval: int = _number(0, FormSection.CONTEXT, 0, 3600, "s")
    """Seconds for which a state that was sent is not sent again, even if it changed."""
    tell_events: bool = _switch(True, FormSection.CONTEXT)
    documents_for: str = _choice(FormSection.CONTEXT, "everyone", "household", "admins", "nobody")
    """`everyone` includes unknown users (a voice device); `household`: users who may read the whole home."""
    memory: str = _choice(FormSection.CONTEXT, "on", "home", "off")
    """`home`: the memories of the home only, none of a user."""
    remembers: bool = field(init=False, default=True)
    """Whether `memory` is on; checked before memories or names are read or written."""
    mask_personal_data: str = _choice(FormSection.CONTEXT, "auto", "always", "never")
    """`auto`: for endpoints outside the home."""

    exposed_areas: tuple[str, ...] = _setting((), FormSection.EXPOSURE, "areas")
    """With the next two, a `Narrowing`; all three empty: everything that is exposed."""
    exposed_labels: tuple[str, ...] = _setting((), FormSection.EXPOSURE, "labels")
    exposed_entities: tuple[str, ...] = _setting((), FormSection.EXPOSURE, "names")

    history_enabled: bool = _switch(True, FormSection.HISTORY)
    history_max_messages: int = _number(10, FormSection.HISTORY, 1, 50)
    history_max_tokens: int = _number(4000, FormSection.HISTORY, 100, 100_000)
    history_max_age_hours: int = _number(24, FormSection.HISTORY, 1, 168, "h")
    """Of messages from an earlier session."""
    history_persist: bool = _switch(True, FormSection.HISTORY)
    continue_conversation: str = _choice(FormSection.HISTORY, "off", "user", "device")
    """Whose last conversation a new one continues."""
    continue_minutes: int = _number(60, FormSection.HISTORY, 1, 10_080, "min")
    history_summary: bool = _switch(False, FormSection.HISTORY)

    custom_tools: tuple[str, ...] = _setting((ALL,), FormSection.TOOLS, "custom_tools")
    llm_apis: tuple[str, ...] = _setting((), FormSection.TOOLS, "llm_apis")
    """Ids of LLM APIs in Home Assistant's registry (Assist, its MCP integration)."""
    mcp_servers: tuple[str, ...] = _setting((), FormSection.TOOLS, "mcp_servers")  # subentry ids
    allowed_tools: tuple[str, ...] = _setting((ALL,), FormSection.TOOLS, "tool_names")
    """Limits what the other settings offer, by name or wildcard."""
    documentation_tool: bool = _switch(False, FormSection.TOOLS)
    automation_tools: bool = _switch(False, FormSection.TOOLS)
    """Whether it can read, try, make and change automations of Home Assistant."""
    external_llm: str = _setting(LLM_NONE, FormSection.TOOLS, "second_model")
    """Subentry id of the endpoint behind `query_external_llm`; `none`: it is not offered."""
    external_llm_description: str = _setting("", FormSection.TOOLS, "lines")
    """When to ask it, for the model; empty: the default text."""
    max_calls_per_turn: int = _number(5, FormSection.TOOLS, 1, 50)
    max_iterations: int = _number(0, FormSection.TOOLS, 0, 52)
    """Most model requests in one turn; 0: as many as the tool calls need."""
    tool_timeout: int = _number(30, FormSection.TOOLS, 1, 300, "s")
    offer_tools: bool = _switch(False, FormSection.TOOLS)
    """Whether Home Assistant's MCP server is given this agent's own tools."""

    description: str = _setting("", FormSection.AGENTS, "lines", Part.OWN)
    profile_id: str = _setting("", FormSection.AGENTS, "text", Part.OWN)
    """A slug, unique among the profiles. Stored empty, it follows from the name (`profile_ids`); never empty once loaded."""
    icon: str = _setting("", FormSection.AGENTS, "icon", Part.OWN)
    delegate_to: tuple[str, ...] = _setting((), FormSection.AGENTS, "delegates", Part.TOOLS)
    """Subentry ids of profiles, and entity ids of allowed agents of other integrations."""
    delegation_level: str = _choice(FormSection.AGENTS, "confirm", "blocked", "unrestricted")
    """What another agent needs to delegate to this one: a confirmation each time; not possible; nothing."""
    extension_name: str = _setting("", FormSection.AGENTS, "text", Part.OWN)
    """The domain that this agent is for agents that route (tools/extensions/); empty: none."""

    routing: str = _choice(FormSection.ROUTING, "off", "semantic", "router", "semantic_then_router")
    """`semantic`: compare with the routes (local/routes.py); `router`: split among the extensions (agent/router.py)."""
    extensions: tuple[str, ...] = _setting((ALL,), FormSection.ROUTING, "extensions", Part.TOOLS)
    routing_high: int = _number(75, FormSection.ROUTING, 0, 100, "%")
    """From this similarity on, a route may run without a model. Bounds of all four are inclusive."""
    routing_low: int = _number(40, FormSection.ROUTING, 0, 100, "%")
    """Below this similarity, no route is meant."""
    routing_action: int = _number(70, FormSection.ROUTING, 0, 100, "%")
    """Least similarity to a name or an example, not only to a description."""
    routing_gap: int = _number(15, FormSection.ROUTING, 0, 100, "%")
    """Least lead over the second best route."""
    smalltalk_without_tools: bool = _switch(False, FormSection.ROUTING)
    routing_persona: bool = _switch(False, FormSection.ROUTING)
    """Whether the model words the answer of a route that ran without it."""
    routing_skips: bool = _switch(False, FormSection.ROUTING)
    """Whether the answer of a single extension is used as it is."""
    routing_timeout: int = _number(60, FormSection.ROUTING, 1, 600, "s")
    """For the router, and for each extension."""

    slash_commands: tuple[str, ...] = _setting((), FormSection.AGENTS, "commands", Part.OWN)
    """Without the slash (agent/commands.py)."""
    command_asks: bool = _switch(False, FormSection.AGENTS, Part.OWN)

    always_ask: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    """In the next lists as well: entity ids, domains, services and tools, with wildcards. The home has such lists, too."""
    never_ask: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    never_offer: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    may_change: tuple[str, ...] = _setting((), FormSection.SAFETY, "names")
    """All that it may change; empty: no such limit."""

    wishes: bool = _switch(True, FormSection.WISHES)
    """Whether it takes wishes that wait: "in twenty minutes", "when the washer is done"."""
    wishes_sensitive: str = _choice(FormSection.WISHES, "ask", "refuse")
    """What opens, unlocks or disarms, said for later: asked about when it is due, or refused when it is said."""
    wishes_late: int = _number(60, FormSection.WISHES, 0, 1440, "min")
    """How late an action is still done whose time came while Home Assistant was off; later it is asked about or told as missed."""
    wishes_told: str = _choice(FormSection.WISHES, "all", "problems")
    """What is told of actions: also that they were done, or only that they were not."""

    streaming: bool = _switch(True, FormSection.ANSWERS)
    max_answer_tokens: int = _number(2000, FormSection.ANSWERS, 50, 100_000)
    """Of the text of one answer, without thinking; a longer one ends after a sentence. As the default stands, 600 by voice."""
    spoken_wait: int = _number(60, FormSection.ANSWERS, 5, 600, "s")
    """Seconds without a word after which a turn by voice ends."""
    speech: str = _choice(FormSection.ANSWERS, "auto", "always", "never")
    """Whether answers are made speakable; `auto`: for voice devices."""

    within: tuple[Narrowing, ...] = ()
    """Its own part of the home, and those of the agents that delegated to it: it knows what is in all of them."""
    changes_within: tuple[tuple[str, ...], ...] = ()  # the same for `may_change`

    def is_for(self, user_id: str | None) -> bool:
        """Return whether a user may talk to it, or with None a speaker who is not known."""
        return not self.people or (user_id or NO_USER) in self.people

    @property
    def controls(self) -> bool:
        """Return whether it can do anything in the home by its own tools, or by commands that need no model."""
        return self.native_tools or self.local_first

    def __post_init__(self) -> None:
        """Derive the fields that are not settings."""
        object.__setattr__(self, "remembers", self.memory != "off")  # frozen
        if self.may_change:
            object.__setattr__(self, "changes_within", tuple(dict.fromkeys((*self.changes_within, self.may_change))))
        if self.exposed_areas or self.exposed_labels or self.exposed_entities:
            areas, labels = frozenset(self.exposed_areas), frozenset(self.exposed_labels)
            own = Narrowing(areas, labels, self.exposed_entities)
            object.__setattr__(self, "within", tuple(dict.fromkeys((*self.within, own))))


SETTINGS: Mapping[str, Setting] = {
    item.name: item.metadata["setting"] for item in fields(Profile) if "setting" in item.metadata
}
"""All settings, by key."""
REMOVED = frozenset({"prompt_history_length", "prompt_history_messages", "prompt_history_tokens"})
"""Settings of earlier versions, now constants (prompt/history_text.py). YAML with them is read; they have no effect."""

BUILT_IN: Mapping[str, Any] = {
    key: list(value) if isinstance(value, tuple) else value
    for key, value in asdict(Profile()).items()
    if key in SETTINGS
}
"""The defaults, as they would be stored."""


class SettingOrigin(StrEnum):
    """Where the value of a setting comes from; the values are keys of translations."""

    BUILT_IN = "built_in"
    DEFAULTS = "defaults"  # the home's defaults of all agents
    PROFILE = "profile"  # the agent itself


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return layers of settings as one, later ones over earlier ones: mappings are merged, the rest replaces."""
    result: dict[str, Any] = {}
    for key, value in chain.from_iterable(layer.items() for layer in layers):
        if isinstance(value, Mapping):
            below = result.get(key)
            if below is None or isinstance(below, Mapping):
                result[key] = merged(below or {}, value)
            elif _sets_anything(value):
                result[key] = merged(value)
        elif value is not None:
            result[key] = deepcopy(value)
    return result


def _sets_anything(settings: Mapping[str, Any]) -> bool:
    values = settings.values()
    return any(_sets_anything(value) if isinstance(value, Mapping) else value is not None for value in values)


def origins(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the origin of each setting of a profile, and of each key of a mapping, merged as the settings are."""
    layers = zip(SettingOrigin, (BUILT_IN, defaults, own), strict=True)
    found = merged(*(_marked(layer, origin) for origin, layer in layers))
    return {key: found[key] for key in SETTINGS}


def _marked(layer: Mapping[str, Any], origin: SettingOrigin) -> dict[str, Any]:
    """Return a layer with its origin in place of each value."""
    return {
        key: _marked(value, origin) if isinstance(value, Mapping) else origin
        for key, value in layer.items()
        if value is not None
    }


def settings_of(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings by key, in parts or not, without those that are None."""
    parts = [part.value for part in Part if part]
    flat = {key: value for key, value in stored.items() if key not in parts}
    return merged(flat, *(stored.get(part) or {} for part in parts))


def in_parts(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in their parts, as they are stored for all agents; unknown keys stay outside of any."""
    found: dict[str, Any] = {}
    for key in (*(key for key in SETTINGS if key in settings), *(key for key in settings if key not in SETTINGS)):
        part = SETTINGS[key].part if key in SETTINGS else Part.OWN
        (found.setdefault(part.value, {}) if part else found)[key] = settings[key]
    return found


def default_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored defaults of all agents, by key."""
    stored = settings_of(options.get(CONF_DEFAULT_PROFILE_SETTINGS) or {})
    return {key: value for key, value in stored.items() if key not in SETTINGS or SETTINGS[key].part}


def migrated_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of version 1.1 as they are stored now: the defaults of all agents had no parts."""
    kept = dict(options)
    if (defaults := kept.pop("profile_defaults", None)) is not None:
        kept[CONF_DEFAULT_PROFILE_SETTINGS] = in_parts(migrated_settings(defaults))
    return kept


def migrated_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of version 1.1 as they are stored now: an empty list of names was stored as `none`."""
    lists = ("custom_tools", "delegate_to")
    return {
        key: [name for name in value if name != LLM_NONE] if key in lists and value is not None else value
        for key, value in settings.items()
    }


def with_one_description(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of version 1.2 as they are stored now: `command_description` became part of `description`."""
    kept = {key: value for key, value in settings.items() if key != "command_description"}
    texts = dict.fromkeys(text for key in ("description", "command_description") if (text := settings.get(key)))
    return kept | {"description": "\n".join(texts)} if texts else kept


def profile_from_data(subentry_id: str, name: str, defaults: Mapping[str, Any], data: Mapping[str, Any]) -> Profile:
    """Return a profile from the `data` of its subentry and the `defaults` of all agents; unknown keys are ignored."""
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
    """Return the ids of profiles, given as chosen id or "" and name; others are made from the name, with a number."""
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
    """Which states a conversation sends to the model; `auto` becomes one of these in its first turn."""

    DIRECT = "direct"  # all exposed or listed entities, then changes
    RETRIEVED = "retrieved"  # entities that match the request
    BOTH = "both"  # listed entities, and others that match the request
    OFF = "off"

    def __init__(self, value: str) -> None:
        """Derive what the mode includes."""
        self.lists = value in ("direct", "both")
        self.looks_up = value in ("retrieved", "both")


AUTO = "auto"
AUTO_TOKENS = 8000
"""Most tokens of names and states with which `auto` lists all: each new conversation reads and pays for them."""

LISTS = (
    *(key for key, setting in SETTINGS.items() if setting.kind == "names"),
    *(CONF_ALLOWED_ENTITIES, CONF_ALWAYS_CONFIRM, CONF_NEVER_CONFIRM),
)
"""Lists of entities, domains, services and tools, of an agent or of the home."""
