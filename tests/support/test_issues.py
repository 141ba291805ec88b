"""Repairs: raised with what to do, taken back when it is over."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.client.endpoint import async_keeps_failing, async_model_missing, async_recovered
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.support import issues
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import (
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMLoadingError,
    LLMRateLimitError,
    LLMResponseError,
    LLMTimeoutError,
)
from custom_components.home_agent.support.storage import Trouble
from tests.house import set_up
from tests.llm_server import LLMServer

CONFIG = EndpointConfig(subentry_id="llm-1", title="Box", base_url="http://box:1/v1", api_key="sk-1", model="m")


def raised(registry: ir.IssueRegistry) -> dict[str, dict[str, str] | None]:
    return {
        str(issue.translation_key): issue.translation_placeholders
        for (domain, _), issue in registry.issues.items()
        if domain == DOMAIN
    }


@pytest.mark.parametrize(("error", "key"), [
    pytest.param(LLMConnectionError(), "endpoint_unreachable", id="nobody there"),
    pytest.param(LLMTimeoutError(), "endpoint_silent", id="silent"),
    pytest.param(LLMCertificateError(), "endpoint_certificate", id="certificate"),
    pytest.param(LLMLoadingError(), "endpoint_loading", id="loading without end"),
    pytest.param(LLMRateLimitError("llm_no_credit"), "endpoint_no_credit", id="no credit"),
    pytest.param(LLMRateLimitError(), "endpoint_rate_limit", id="too many requests"),
    pytest.param(LLMResponseError(), "endpoint_failing", id="an answer that is none"),
])  # fmt: skip
async def test_repeat_failure(hass: HomeAssistant, issue_registry: ir.IssueRegistry, error: LLMError, key: str) -> None:
    async_keeps_failing(hass, CONFIG, error)
    assert raised(issue_registry) == {key: {"endpoint": "Box", "url": "http://box:1/v1"}}
    async_recovered(hass, CONFIG)
    assert not raised(issue_registry)


async def test_model_that_is_gone(hass: HomeAssistant, issue_registry: ir.IssueRegistry) -> None:
    async_model_missing(hass, CONFIG)
    assert raised(issue_registry) == {"model_missing": {"endpoint": "Box", "model": "m"}}
    async_recovered(hass, CONFIG)
    assert not raised(issue_registry)


async def test_broken_prompt(hass: HomeAssistant, issue_registry: ir.IssueRegistry) -> None:
    issues.async_set(hass, issues.PROMPT_TEMPLATE, "profile-1", profile="Butler", error="line 2")
    assert raised(issue_registry) == {"prompt_template": {"profile": "Butler", "error": "line 2"}}
    issues.async_set(hass, issues.PROMPT_TEMPLATE, "profile-1", False)
    assert not raised(issue_registry)


async def test_removed_endpoint(hass: HomeAssistant, issue_registry: ir.IssueRegistry, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"llm": "llm-1"})
    assert not raised(issue_registry)
    hass.config_entries.async_remove_subentry(entry, "llm-1")
    await hass.async_block_till_done()
    assert raised(issue_registry) == {"profile_without_endpoint": {"profile": "Home Agent"}}
    hass.config_entries.async_update_subentry(entry, entry.subentries["profile-1"], data={"llm": "none"})
    await hass.async_block_till_done()
    assert not raised(issue_registry)


async def test_each_load(hass: HomeAssistant, issue_registry: ir.IssueRegistry, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    async_keeps_failing(hass, CONFIG, LLMConnectionError())
    await hass.config_entries.async_reload(entry.entry_id)
    assert not raised(issue_registry)


async def test_removal_leaves_no_issue(hass: HomeAssistant, issue_registry: ir.IssueRegistry) -> None:
    entry = await set_up(hass)
    async_model_missing(hass, CONFIG)
    ir.async_create_issue(
        hass, "other", "theirs", is_fixable=False, severity=ir.IssueSeverity.WARNING, translation_key="theirs"
    )
    await hass.config_entries.async_remove(entry.entry_id)
    await hass.async_block_till_done()
    assert [key for key in issue_registry.issues if key[0] in {DOMAIN, "other"}] == [("other", "theirs")]


@pytest.mark.parametrize(("language", "file", "content"), [
    ("en", "home_agent.memories", "what agents remember"),
    ("de", f"home_agent.journal.{CONFIG.subentry_id}", "Aktionen, die rückgängig gemacht werden können"),
    ("de", "home_agent.knowledge.corrupt.2026-11-24T08:00:00+00:00", "hinzugefügte Dokumente"),
    pytest.param("de", "home_agent.diary", "diary", id="kept thing without words"),
])  # fmt: skip
async def test_a_file_is_told_with_what_it_holds(hass: HomeAssistant, language: str, file: str, content: str) -> None:
    hass.config.language = language
    report = await issues.async_file_report(hass)
    report(Trouble.UNWRITABLE, file, True)
    assert raised(ir.async_get(hass)) == {"file_unwritable": {"file": file, "content": content}}
    report(Trouble.UNWRITABLE, file, False)
    assert not raised(ir.async_get(hass))
