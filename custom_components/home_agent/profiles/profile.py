"""The settings of one assistant, merged once at load: built-in defaults, then the house's, then the profile's own.

A subentry and the entry's options store only what was set; an absent key means "inherit" (D-1, C-23).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..const import LLM_DEFAULT, LLM_NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntity:
    """One line of the owner's own context list."""

    pattern: str
    """An entity id, or one with wildcards (`climate.*`)."""
    attributes: tuple[str, ...] = ()
    """Attributes to tell besides the state; empty: those that matter for the domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One assistant. Field names are the keys of a `profile` subentry and of the defaults in the entry's options."""

    subentry_id: str = ""
    name: str = ""

    llm: str = LLM_DEFAULT
    """Subentry id of an endpoint, `default` (the first one) or `none` (the house answers by itself)."""
    local_first: bool = False
    """Let Home Assistant's own sentences answer before the model is asked."""
    streaming: bool = True
    speech: str = "auto"
    """`auto`: answers to voice devices are made speakable; `always`; `never`."""

    use_default_prompt: bool = True
    custom_prompt: str = ""
    """Template that replaces the default prompt when `use_default_prompt` is off."""
    prompt_additions: str = ""
    """Template appended to the prompt."""
    use_prompt_context_service: bool = True
    """Fill in the placeholders of both templates (prompt/service.py); off: they are plain templates."""
    prompt_history_length: int = 1500
    """Characters of the history in a prompt; so the next two are its limits in messages and tokens."""
    prompt_history_messages: int = 10
    prompt_history_tokens: int = 500
    prompt_history_system: bool = False
    """Whether a history in a prompt also says which tools were called."""
    timezone: str = ""
    """Zone of days and times in prompts; empty: the house's."""
    tell_events: bool = True
    """Tell calendars, lists and logbook when somebody asks for events."""
    mask_personal_data: str = "auto"
    """`auto`: on the way to endpoints outside the house; `always`; `never`."""

    context_mode: str = "auto"
    """`direct`: everything is told; `retrieved`: what a request is about; `both`: a list and what a request is about;
    `auto`: direct while everything fits, else retrieved; `off`."""
    context_format: str = "json"
    """`json`, `natural_language` or `hybrid`."""
    context_entities: tuple[ContextEntity, ...] = ()
    """Empty: every exposed entity."""
    context_update_interval: int = 0
    """Seconds for which states that were already told are not told again, even when they changed."""

    context_max_entities: int = 20
    """How many entities are told at most because a request seems to be about them."""

    history_enabled: bool = True
    history_max_messages: int = 10
    history_max_tokens: int = 4000
    history_max_age_hours: int = 24
    """Older messages of an earlier session are not sent again."""
    history_persist: bool = True
    """Whether conversations are kept on the disk; otherwise until Home Assistant restarts."""
    continue_conversation: str = "off"
    """Whose last conversation a new one goes on with: `user`, `device`, or `off`."""
    continue_minutes: int = 60
    """How long after its last word it may be gone on with."""
    history_summary: bool = False
    """Whether a model sums up the rounds that are not sent any more."""

    native_tools: bool = True
    custom_tools: tuple[str, ...] | None = None
    """Names of the owner's own tools; None: all of them."""
    max_calls_per_turn: int = 5
    tool_timeout: int = 30
    """Seconds for one tool call."""
    external_llm: str = LLM_NONE
    """Subentry id of the endpoint behind `query_external_llm`; `none`: it is not offered."""
    external_llm_description: str = ""
    """What the model is told about when to ask it; empty: the default text."""
    mcp_servers: tuple[str, ...] = ()
    """Subentry ids of the servers whose tools are used (Model Context Protocol)."""
    offer_tools: bool = False
    """Let other programs use our own tools of this assistant, through Home Assistant's MCP server."""
    llm_apis: tuple[str, ...] = ()
    """Ids of Home Assistant's own tool collections (Assist, servers of its MCP integration) that are used besides ours."""

    always_ask: tuple[str, ...] = ()
    """Entity ids, domains, services and tool names that need a yes; wildcards count. The house has such lists as well."""
    never_ask: tuple[str, ...] = ()
    """What needs none although it is sensitive."""
    never_offer: tuple[str, ...] = ()
    """Tools that this assistant does not have, and what it never changes."""


DEFAULTS = Profile()
NUMBERS = frozenset(field.name for field in fields(Profile) if field.type is int)
KEYS = frozenset(field.name for field in fields(Profile)) - {"subentry_id", "name"}


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layers as one dict: later ones win, dicts merge key by key, lists and scalars replace."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
                merged[key] = merge(merged[key], value)
            else:
                merged[key] = value
    return merged


def profile_from_data(subentry_id: str, name: str, defaults: Mapping[str, Any], data: Mapping[str, Any]) -> Profile:
    """Return the profile of a subentry; keys it does not know (of a newer version) are left alone."""
    settings = {key: value for key, value in merge(defaults, data).items() if key in KEYS}
    for key in NUMBERS & settings.keys():  # number selectors return floats
        settings[key] = int(settings[key])
    for key in ("llm_apis", "mcp_servers", "always_ask", "never_ask", "never_offer"):
        settings[key] = tuple(settings.get(key) or ())
    if settings.get("custom_tools") is not None:
        settings["custom_tools"] = tuple(settings["custom_tools"])
    settings["context_entities"] = tuple(
        ContextEntity(pattern=row["entity_id"], attributes=tuple(row.get("attributes") or ()))
        for row in settings.get("context_entities") or ()
    )
    return Profile(subentry_id=subentry_id, name=name, **settings)
