"""Reauth: a refused key is repaired at the endpoint that failed."""

from homeassistant.config_entries import SOURCE_REAUTH
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.support.const import DOMAIN
from tests.flows.forms import Result, fields
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, server_error, text, unauthorized


async def reauth(hass: HomeAssistant, entry: MockConfigEntry, subentry_id: str) -> Result:
    """Return the form that asks for a new key."""
    return await hass.config_entries.flow.async_init(
        DOMAIN, context={"source": SOURCE_REAUTH, "entry_id": entry.entry_id}, data={"subentry_id": subentry_id}
    )


async def test_refused_key_is_replaced_and_the_next_answer_comes(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await build_house(hass)
    entry = await set_up(hass, llm_server, llm={"temperature": 0.2})
    llm_server.plan(unauthorized())
    await say(hass, "hello")
    await hass.async_block_till_done()
    (flow,) = hass.config_entries.flow.async_progress_by_handler(DOMAIN)
    assert flow["step_id"] == "reauth_confirm"
    assert flow["context"]["title_placeholders"] == {"name": "Scripted"}
    result = await hass.config_entries.flow.async_configure(flow["flow_id"], {"api_key": "sk-new"})
    await hass.async_block_till_done()
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "reauth_successful")
    assert entry.subentries["llm-1"].data["api_key"] == "sk-new"
    assert entry.subentries["llm-1"].data["temperature"] == 0.2
    llm_server.plan(text("Good morning."))
    await say(hass, "hello")
    assert llm_server.request.headers["Authorization"] == "Bearer sk-new"


async def test_form_names_the_endpoint_and_refuses_a_wrong_key(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    form = await reauth(hass, entry, "llm-1")
    assert form["description_placeholders"]["endpoint"] == "Scripted"
    assert list(fields(form)) == ["api_key"]
    llm_server.models = unauthorized()
    form = await hass.config_entries.flow.async_configure(form["flow_id"], {"api_key": "sk-wrong"})
    assert (form["step_id"], form["errors"]) == ("reauth_confirm", {"base": "invalid_auth"})
    assert entry.subentries["llm-1"].data["api_key"] == "sk-house-key"


async def test_check_can_be_skipped_when_the_server_is_away(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.models = server_error()
    form = await reauth(hass, entry, "llm-1")
    form = await hass.config_entries.flow.async_configure(form["flow_id"], {"api_key": "sk-new"})
    assert form["errors"] == {"base": "server_error"}
    result = await hass.config_entries.flow.async_configure(form["flow_id"], {"api_key": "sk-new", "use_anyway": True})
    await hass.async_block_till_done()
    assert result["reason"] == "reauth_successful"
    assert entry.subentries["llm-1"].data["api_key"] == "sk-new"


async def test_endpoint_that_was_removed_has_nothing_to_repair(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    result = await reauth(hass, entry, "gone")
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "endpoint_removed")


async def test_form_ends_with_its_endpoint(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await reauth(hass, entry, "llm-1")
    hass.config_entries.async_remove_subentry(entry, "llm-1")
    await hass.async_block_till_done()
    assert not hass.config_entries.flow.async_progress_by_handler(DOMAIN)
