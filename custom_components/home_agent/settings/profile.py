"""The settings of one assistant, merged once at load: built-in defaults, then the house's, then the profile's own.

A subentry and the entry's options store only what was set; an absent key means "inherit" (D-1, C-23).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from homeassistant.util import slugify

from ..support.const import (
    CONF_ALLOWED_ENTITIES,
    CONF_ALWAYS_ASK,
    CONF_ALWAYS_CONFIRM,
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


class Section(StrEnum):
    """The section of a profile's form in which a setting stands; the values are keys of translations."""

    BASICS = ""
    """Outside of any."""
    PROMPT = "prompt"
    CONTEXT = "context"
    HISTORY = "history"
    TOOLS = "tools"
    AGENTS = "agents"
    COMMANDS = "commands"
    """Of an agent alone: there are no defaults for these."""
    SAFETY = "safety"
    VOICE = "voice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How forms ask for a field of `Profile`. Its name is the key of the stored value, its default holds without one."""

    section: Section
    kind: str
    """`switch`, `number`, `choice`, `text`, `lines`, `template`, or the name of a choice that depends on the home (flows/forms.py)."""
    least: float = 0
    most: float = 0
    unit: str | None = None
    options: tuple[str, ...] = ()
    """What there is to choose from, for `choice`; the translations are those of the field's name."""


def _setting(default: object, section: Section, kind: str, **details: Any) -> Any:
    """Return a field of `Profile` with its default and how forms ask for it."""
    return field(default=default, metadata={"setting": Setting(section=section, kind=kind, **details)})


def _switch(default: bool, section: Section) -> Any:
    return _setting(default, section, "switch")


def _number(default: int, section: Section, least: int, most: int, unit: str | None = None) -> Any:
    return _setting(default, section, "number", least=least, most=most, unit=unit)


def _choice(section: Section, *options: str) -> Any:
    """Return a choice of a few words; the first is the default."""
    return _setting(options[0], section, "choice", options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One agent. Field names are the keys of a `profile` subentry and of the defaults in the entry's options.

    In the order in which forms show them.
    """

    subentry_id: str = ""
    name: str = ""

    llm: str = _setting(LLM_DEFAULT, Section.BASICS, "endpoint")
    """Subentry id of an endpoint, `default` (the first one) or `none` (the house answers by itself)."""
    prompt_additions: str = _setting("", Section.BASICS, "template")
    """Template appended to the prompt."""
    native_tools: bool = _switch(True, Section.BASICS)
    """Let the model control and query the home."""
    local_first: bool = _switch(True, Section.BASICS)
    """Let Home Assistant's own sentences answer before the model is asked: of plain commands it makes fewer mistakes."""

    use_default_prompt: bool = _switch(True, Section.PROMPT)
    custom_prompt: str = _setting("", Section.PROMPT, "template")
    """Template that replaces the default prompt when `use_default_prompt` is off."""
    use_prompt_context_service: bool = _switch(True, Section.PROMPT)
    """Fill in the placeholders of both templates (prompt/template.py); off: they are plain templates."""
    prompt_history_length: int = _number(1500, Section.PROMPT, 100, 20_000)
    """Characters of the history in a prompt; so the next two are its limits in messages and tokens."""
    prompt_history_messages: int = _number(10, Section.PROMPT, 1, 50)
    prompt_history_tokens: int = _number(500, Section.PROMPT, 50, 10_000)
    prompt_history_system: bool = _switch(False, Section.PROMPT)
    """Whether a history in a prompt also says which tools were called."""
    system_documents: tuple[str, ...] = _setting((), Section.PROMPT, "documents")
    """Names of documents that stand in the system prompt (search/user_documents.py), in this order."""
    timezone: str = _setting("", Section.PROMPT, "text")
    """Zone of days and times in prompts; empty: the house's."""

    context_mode: str = _choice(Section.CONTEXT, "auto", "direct", "retrieved", "both", "off")
    """`direct`: everything is told; `retrieved`: what a request is about; `both`: a list and what a request is about;
    `auto`: direct while everything fits, else retrieved; `off`."""
    context_format: str = _choice(Section.CONTEXT, "json", "natural_language", "hybrid")
    context_entities: tuple[ContextEntity, ...] = _setting((), Section.CONTEXT, "context_entities")
    """Empty: every exposed entity."""
    context_max_entities: int = _number(20, Section.CONTEXT, 1, 200)
    """How many entities are told at most because a request seems to be about them."""
    context_update_interval: int = _number(0, Section.CONTEXT, 0, 3600, "s")
    """Seconds for which states that were already told are not told again, even when they changed."""
    tell_events: bool = _switch(True, Section.CONTEXT)
    """Tell calendars, lists and logbook when somebody asks for events."""
    documents_for: str = _choice(Section.CONTEXT, "everyone", "household", "admins", "nobody")
    """Who is told of the owner's documents: also whoever is not known (a voice device); users who may read the whole home."""
    memory: str = _choice(Section.CONTEXT, "on", "off")
    """`off`: nothing is remembered, nor told of what is; for guests. The house has a switch for all."""
    mask_personal_data: str = _choice(Section.CONTEXT, "auto", "always", "never")
    """`auto`: on the way to endpoints outside the house; `always`; `never`."""

    history_enabled: bool = _switch(True, Section.HISTORY)
    history_max_messages: int = _number(10, Section.HISTORY, 1, 50)
    history_max_tokens: int = _number(4000, Section.HISTORY, 100, 100_000)
    history_max_age_hours: int = _number(24, Section.HISTORY, 1, 168, "h")
    """Older messages of an earlier session are not sent again."""
    history_persist: bool = _switch(True, Section.HISTORY)
    """Whether conversations are kept on the disk; otherwise until Home Assistant restarts."""
    continue_conversation: str = _choice(Section.HISTORY, "off", "user", "device")
    """Whose last conversation a new one goes on with: `user`, `device`, or `off`."""
    continue_minutes: int = _number(60, Section.HISTORY, 1, 10_080, "min")
    """How long after its last word it may be gone on with."""
    history_summary: bool = _switch(False, Section.HISTORY)
    """Whether a model sums up the rounds that are not sent any more."""

    custom_tools: tuple[str, ...] | None = _setting(None, Section.TOOLS, "custom_tools")
    """Names of the owner's own tools; None: all of them."""
    llm_apis: tuple[str, ...] = _setting((), Section.TOOLS, "llm_apis")
    """Ids of Home Assistant's own tool collections (Assist, servers of its MCP integration) that are used besides ours."""
    mcp_servers: tuple[str, ...] = _setting((), Section.TOOLS, "mcp_servers")
    """Subentry ids of the servers whose tools are used (Model Context Protocol)."""
    documentation_tool: bool = _switch(False, Section.TOOLS)
    """Let the model read documents for users when it is asked about what they explain."""
    external_llm: str = _setting(LLM_NONE, Section.TOOLS, "second_model")
    """Subentry id of the endpoint behind `query_external_llm`; `none`: it is not offered."""
    external_llm_description: str = _setting("", Section.TOOLS, "lines")
    """What the model is told about when to ask it; empty: the default text."""
    max_calls_per_turn: int = _number(5, Section.TOOLS, 1, 50)
    tool_timeout: int = _number(30, Section.TOOLS, 1, 300, "s")
    """Seconds for one tool call."""
    offer_tools: bool = _switch(False, Section.TOOLS)
    """Let other programs use our own tools of this assistant, through Home Assistant's MCP server."""

    profile_id: str = _setting("", Section.AGENTS, "text")
    """What others call it: a slug, unique among the profiles. Empty: it follows from the name (`profile_ids`)."""
    description: str = _setting("", Section.AGENTS, "lines")
    """What it is for: other agents that may delegate to it are told."""
    delegate_to: tuple[str, ...] = _setting((), Section.AGENTS, "delegates")
    """Whom it may hand requests to: subentry ids of profiles, entity ids of agents that the owner allows. Empty: nobody."""
    delegation_level: str = _choice(Section.AGENTS, "confirm", "blocked", "unrestricted")
    """What others need to hand it a request: `confirm`, the user's yes each time; `blocked`, nobody may; `unrestricted`, nothing."""
    slash_commands: tuple[str, ...] = _setting((), Section.COMMANDS, "commands")
    """What a text may begin with to reach this agent from any other (agent/commands.py), without the slash."""
    command_asks: bool = _switch(False, Section.COMMANDS)
    """Whether a request that comes by a command needs a yes before the agent hears it."""
    command_description: str = _setting("", Section.COMMANDS, "text")
    """What people are told of its commands."""

    always_ask: tuple[str, ...] = _setting((), Section.SAFETY, "names")
    """Entity ids, domains, services and tool names that need a yes; wildcards count. The house has such lists as well."""
    never_ask: tuple[str, ...] = _setting((), Section.SAFETY, "names")
    """What needs none although it is sensitive."""
    never_offer: tuple[str, ...] = _setting((), Section.SAFETY, "names")
    """Tools that this assistant does not have, and what it never changes."""

    streaming: bool = _switch(True, Section.VOICE)
    max_answer_tokens: int = _number(2000, Section.VOICE, 50, 100_000)
    """Tokens of the text of one answer, thinking apart; a longer one is ended behind a sentence."""
    speech: str = _choice(Section.VOICE, "auto", "always", "never")
    """`auto`: answers to voice devices are made speakable; `always`; `never`."""


DEFAULTS = Profile()
SETTINGS: Mapping[str, Setting] = {
    item.name: item.metadata["setting"] for item in fields(Profile) if "setting" in item.metadata
}
"""What can be set, by key."""


def profile_from_data(subentry_id: str, name: str, defaults: Mapping[str, Any], data: Mapping[str, Any]) -> Profile:
    """Return the profile of a subentry; keys it does not know (of a newer version) are left alone."""
    settings = {key: value for key, value in {**defaults, **data}.items() if key in SETTINGS and value is not None}
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


class Mode(StrEnum):
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
    CONF_ALWAYS_ASK,
    CONF_NEVER_ASK,
    CONF_NEVER_OFFER,
    CONF_ALWAYS_CONFIRM,
    CONF_NEVER_CONFIRM,
)
"""Lists in which an owner names entities, domains, services and tools."""
