"""What the owner has to know and can do something about: Repairs issues, raised and taken back.

None outlives the entry it was raised for: each load starts afresh, and what still holds is raised again.
"""

from collections.abc import Container, Iterable, Mapping
from inspect import signature
from typing import Any, ClassVar, Protocol

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from .const import DOMAIN, LLM_DEFAULT, LLM_NONE
from .errors import (
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMRateLimitError,
    LLMTimeoutError,
    PromptTemplateError,
    RetrievalError,
)
from .localize import async_error_text
from .storage import Trouble

UNREACHABLE = "endpoint_unreachable"
SILENT = "endpoint_silent"
CERTIFICATE = "endpoint_certificate"
NO_CREDIT = "endpoint_no_credit"
RATE_LIMIT = "endpoint_rate_limit"
FAILING = "endpoint_failing"
MODEL_MISSING = "model_missing"
WITHOUT_ENDPOINT = "profile_without_endpoint"
PROMPT_TEMPLATE = "prompt_template"
CONFIRMATION = "confirmation"
AUTOMATION_LOOP = "automation_loop"
LLM_API_MISSING = "llm_api_missing"
PIPELINE_PREFERS_LOCAL = "pipeline_prefers_local"
CUSTOM_TOOL_WRONG = "custom_tool_wrong"
CUSTOM_TOOL_CLASH = "custom_tool_clash"
CUSTOM_YAML_WRONG = "custom_yaml_wrong"
CUSTOM_YAML_TOOL = "custom_yaml_tool"
SERVICE_FAILING = "service_failing"
MCP_SERVER_FAILING = "mcp_server_failing"
STORE_FAILING = "store_failing"
EMBEDDING_FAILING = "embedding_failing"
COLLECTION_FOREIGN = "collection_foreign"
FILE_BROKEN = Trouble.BROKEN.value
FILE_NEWER = Trouble.NEWER.value
FILE_UNREADABLE = Trouble.UNREADABLE.value
FILE_UNWRITABLE = Trouble.UNWRITABLE.value

_OF_ENDPOINT = (UNREACHABLE, SILENT, CERTIFICATE, NO_CREDIT, RATE_LIMIT, FAILING, MODEL_MISSING)
_BELONGS_TO_ENTRY = "config_entry_id" in signature(ir.async_create_issue).parameters
"""Newer releases of Home Assistant show an issue at its integration."""


class Assistant(Protocol):
    """A profile, as far as an issue names it."""

    @property
    def subentry_id(self) -> str:
        """Id of its subentry."""

    @property
    def name(self) -> str:
        """What its owner calls it."""

    @property
    def llm(self) -> str:
        """Id of its endpoint's subentry, or one of the choices that name none."""


class Endpoint(Protocol):
    """The settings of an endpoint, as far as an issue names them."""

    @property
    def subentry_id(self) -> str:
        """Id of its subentry."""

    @property
    def title(self) -> str:
        """What its owner calls it."""

    @property
    def base_url(self) -> str:
        """Its address."""

    @property
    def model(self) -> str:
        """Name of its model."""


@callback
def async_endpoint_failed(hass: HomeAssistant, config: Endpoint, error: LLMError) -> None:
    """Say that an endpoint keeps failing, and what to look at."""
    match error:
        case LLMCertificateError():
            key = CERTIFICATE
        case LLMTimeoutError():
            key = SILENT
        case LLMConnectionError():
            key = UNREACHABLE
        case LLMRateLimitError(translation_key="llm_no_credit"):
            key = NO_CREDIT
        case LLMRateLimitError():
            key = RATE_LIMIT
        case _:
            key = FAILING
    _raise(hass, key, config.subentry_id, endpoint=config.title, url=config.base_url)


@callback
def async_model_missing(hass: HomeAssistant, config: Endpoint) -> None:
    """Say that an endpoint does not know its model any more."""
    _raise(hass, MODEL_MISSING, config.subentry_id, endpoint=config.title, model=config.model)


@callback
def async_endpoint_recovered(hass: HomeAssistant, config: Endpoint) -> None:
    """Take back whatever was said of an endpoint."""
    for key in _OF_ENDPOINT:
        ir.async_delete_issue(hass, DOMAIN, _issue_id(key, config.subentry_id))


@callback
def async_prompt_template(hass: HomeAssistant, profile: Assistant, error: PromptTemplateError) -> None:
    """Say that the owner's prompt of an assistant does not render."""
    detail = (error.translation_placeholders or {}).get("detail", "")
    _raise(hass, PROMPT_TEMPLATE, profile.subentry_id, profile=profile.name, error=detail)


@callback
def async_prompt_template_solved(hass: HomeAssistant, profile: Assistant) -> None:
    """Take that back."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(PROMPT_TEMPLATE, profile.subentry_id))


@callback
def async_automation_loop(hass: HomeAssistant, profile: Assistant, loops: bool) -> None:
    """Say that automations ask an assistant all the time, or take that back."""
    if loops:
        _raise(hass, AUTOMATION_LOOP, profile.subentry_id, profile=profile.name)
    else:
        ir.async_delete_issue(hass, DOMAIN, _issue_id(AUTOMATION_LOOP, profile.subentry_id))


@callback
def async_llm_apis_missing(hass: HomeAssistant, profile: Assistant, missing: Iterable[str]) -> None:
    """Say which tool collections of an assistant are gone, or take that back."""
    if gone := ", ".join(missing):
        _raise(hass, LLM_API_MISSING, profile.subentry_id, profile=profile.name, apis=gone)
    else:
        ir.async_delete_issue(hass, DOMAIN, _issue_id(LLM_API_MISSING, profile.subentry_id))


@callback
def async_pipelines_prefer_local(hass: HomeAssistant, found: Mapping[str, tuple[str, str]]) -> None:
    """Say which pipelines answer before an assistant: pipeline id to the names of both. Takes back what is solved."""
    wanted = {_issue_id(PIPELINE_PREFERS_LOCAL, pipeline_id) for pipeline_id in found}
    for domain, issue_id in list(ir.async_get(hass).issues):
        if domain == DOMAIN and issue_id.startswith(PIPELINE_PREFERS_LOCAL) and issue_id not in wanted:
            ir.async_delete_issue(hass, DOMAIN, issue_id)
    for pipeline_id, (pipeline, profile) in found.items():
        _raise(hass, PIPELINE_PREFERS_LOCAL, pipeline_id, pipeline=pipeline, profile=profile)


@callback
def async_confirmation(hass: HomeAssistant, request_id: str, profile: Assistant) -> None:
    """Say that an assistant asks for a confirmation. What it asks is shown to administrators only (repairs.py)."""
    _raise(hass, CONFIRMATION, request_id, data={"request_id": request_id}, profile=profile.name)


@callback
def async_confirmation_ended(hass: HomeAssistant, request_id: str) -> None:
    """Take that back."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(CONFIRMATION, request_id))


@callback
def async_custom_yaml_wrong(hass: HomeAssistant, tool: str, reason: str, file: str, line: str) -> None:
    """Say what is wrong in the owner's YAML and where: a tool, or something else when `tool` is empty."""
    key = CUSTOM_YAML_TOOL if tool else CUSTOM_YAML_WRONG
    _raise(hass, key, f"{file}_{line}", tool=tool, reason=reason, file=file, line=line)


@callback
def async_custom_tool_wrong(hass: HomeAssistant, subentry_id: str, tool: str, reason: str) -> None:
    """Say why a tool that was added in the UI cannot be used."""
    _raise(hass, CUSTOM_TOOL_WRONG, subentry_id, tool=tool, reason=reason)


@callback
def async_custom_tool_clash(hass: HomeAssistant, subentry_id: str, tool: str, file: str, line: str) -> None:
    """Say that a tool of the UI is not used because one in YAML has its name."""
    _raise(hass, CUSTOM_TOOL_CLASH, subentry_id, tool=tool, file=file, line=line)


@callback
def async_clear_custom_tools(hass: HomeAssistant) -> None:
    """Take back what was said of the owner's tools."""
    for domain, issue_id in list(ir.async_get(hass).issues):
        if domain == DOMAIN and issue_id.startswith("custom_"):
            ir.async_delete_issue(hass, DOMAIN, issue_id)


@callback
def async_service_failing(hass: HomeAssistant, host: str, tool: str) -> None:
    """Say that a computer keeps failing that a tool asks."""
    _raise(hass, SERVICE_FAILING, host, host=host, tool=tool)


@callback
def async_service_recovered(hass: HomeAssistant, host: str) -> None:
    """Take that back."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(SERVICE_FAILING, host))


@callback
def async_mcp_server_failing(hass: HomeAssistant, subentry_id: str, server: str, reason: str) -> None:
    """Say that a server of tools keeps failing."""
    _raise(hass, MCP_SERVER_FAILING, subentry_id, server=server, reason=reason)


@callback
def async_mcp_server_recovered(hass: HomeAssistant, subentry_id: str) -> None:
    """Take that back."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(MCP_SERVER_FAILING, subentry_id))


class RetrievalIssues:
    """What the owner has to know of the store of documents and of the embedding model (outages.py)."""

    _keys: ClassVar = {"store": STORE_FAILING, "embedding": EMBEDDING_FAILING, "collection": COLLECTION_FOREIGN}

    def __init__(self, hass: HomeAssistant) -> None:
        """Say nothing yet."""
        self._hass = hass

    async def async_failing(self, part: str, name: str, error: RetrievalError) -> None:
        """Say that a part keeps failing, and why."""
        reason = await async_error_text(self._hass, self._hass.config.language, error)
        _raise(self._hass, self._keys[part], part, store=name, reason=reason)

    @callback
    def async_recovered(self, part: str) -> None:
        """Take that back."""
        ir.async_delete_issue(self._hass, DOMAIN, _issue_id(self._keys[part], part))


@callback
def async_file_trouble(hass: HomeAssistant, trouble: Trouble, file: str, holds: bool) -> None:
    """Say that a file of ours cannot be read or written, and what becomes of it, or take that back."""
    if holds:
        _raise(hass, trouble.value, file, file=file)
    else:
        ir.async_delete_issue(hass, DOMAIN, _issue_id(trouble.value, file))


@callback
def async_check_profiles(hass: HomeAssistant, profiles: Iterable[Assistant], endpoints: Container[str]) -> None:
    """Say which assistants lost their endpoint and so answer without a model."""
    for profile in profiles:
        if profile.llm not in (LLM_DEFAULT, LLM_NONE) and profile.llm not in endpoints:
            _raise(hass, WITHOUT_ENDPOINT, profile.subentry_id, profile=profile.name)


@callback
def async_clear(hass: HomeAssistant) -> None:
    """Take everything back."""
    for domain, issue_id in list(ir.async_get(hass).issues):
        if domain == DOMAIN:
            ir.async_delete_issue(hass, DOMAIN, issue_id)


def _raise(
    hass: HomeAssistant,
    key: str,
    subentry_id: str,
    *,
    data: dict[str, str | int | float | None] | None = None,
    **placeholders: str,
) -> None:
    """Raise an issue; with `data` it can be answered in Repairs."""
    entries = hass.config_entries.async_entries(DOMAIN)
    belongs: dict[str, Any] = {"config_entry_id": entries[0].entry_id} if _BELONGS_TO_ENTRY and entries else {}
    ir.async_create_issue(
        hass,
        DOMAIN,
        _issue_id(key, subentry_id),
        data=data,
        is_fixable=data is not None,
        severity=ir.IssueSeverity.WARNING,
        translation_key=key,
        translation_placeholders=placeholders,
        **belongs,
    )


def _issue_id(key: str, subentry_id: str) -> str:
    return f"{key}_{subentry_id}"
