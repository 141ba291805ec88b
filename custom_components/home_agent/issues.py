"""What the owner has to know and can do something about: Repairs issues, raised and taken back.

None outlives the entry it was raised for: each load starts afresh, and what still holds is raised again.
"""

from collections.abc import Container, Iterable
from inspect import signature
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir

from .client.base import EndpointConfig
from .const import DOMAIN, LLM_DEFAULT, LLM_NONE
from .errors import LLMCertificateError, LLMConnectionError, LLMTimeoutError, PromptTemplateError
from .profiles.profile import Profile

UNREACHABLE = "endpoint_unreachable"
SILENT = "endpoint_silent"
CERTIFICATE = "endpoint_certificate"
MODEL_MISSING = "model_missing"
WITHOUT_ENDPOINT = "profile_without_endpoint"
PROMPT_TEMPLATE = "prompt_template"
CONFIRMATION = "confirmation"

_OF_ENDPOINT = (UNREACHABLE, SILENT, CERTIFICATE, MODEL_MISSING)
_BELONGS_TO_ENTRY = "config_entry_id" in signature(ir.async_create_issue).parameters
"""Newer releases of Home Assistant show an issue at its integration."""


@callback
def async_endpoint_failed(hass: HomeAssistant, config: EndpointConfig, error: LLMConnectionError) -> None:
    """Say that an endpoint keeps failing, and what to look at."""
    match error:
        case LLMCertificateError():
            key = CERTIFICATE
        case LLMTimeoutError():
            key = SILENT
        case _:
            key = UNREACHABLE
    _raise(hass, key, config.subentry_id, endpoint=config.title, url=config.base_url)


@callback
def async_model_missing(hass: HomeAssistant, config: EndpointConfig) -> None:
    """Say that an endpoint does not know its model any more."""
    _raise(hass, MODEL_MISSING, config.subentry_id, endpoint=config.title, model=config.model)


@callback
def async_endpoint_recovered(hass: HomeAssistant, config: EndpointConfig) -> None:
    """Take back whatever was said of an endpoint."""
    for key in _OF_ENDPOINT:
        ir.async_delete_issue(hass, DOMAIN, _issue_id(key, config.subentry_id))


@callback
def async_prompt_template(hass: HomeAssistant, profile: Profile, error: PromptTemplateError) -> None:
    """Say that the owner's prompt of an assistant does not render."""
    detail = (error.translation_placeholders or {}).get("detail", "")
    _raise(hass, PROMPT_TEMPLATE, profile.subentry_id, profile=profile.name, error=detail)


@callback
def async_prompt_template_solved(hass: HomeAssistant, profile: Profile) -> None:
    """Take that back."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(PROMPT_TEMPLATE, profile.subentry_id))


@callback
def async_confirmation(hass: HomeAssistant, request_id: str, profile: Profile) -> None:
    """Say that an assistant asks for a confirmation. What it asks is shown to administrators only (repairs.py)."""
    _raise(hass, CONFIRMATION, request_id, data={"request_id": request_id}, profile=profile.name)


@callback
def async_confirmation_ended(hass: HomeAssistant, request_id: str) -> None:
    """Take that back."""
    ir.async_delete_issue(hass, DOMAIN, _issue_id(CONFIRMATION, request_id))


@callback
def async_check_profiles(hass: HomeAssistant, profiles: Iterable[Profile], endpoints: Container[str]) -> None:
    """Start afresh: take everything back, then say which assistants lost their endpoint and so answer without a model."""
    async_clear(hass)
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
