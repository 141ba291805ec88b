"""The default settings."""

from functools import partial
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest

from custom_components.home_agent.flows.check import CHECK
from custom_components.home_agent.flows.fields import patterns_of
from custom_components.home_agent.flows.options import ADVANCED, ADVANCED_TOPICS, TOPICS
from custom_components.home_agent.policy.policy import Rules
from custom_components.home_agent.settings.profile import SETTINGS
from custom_components.home_agent.support.const import ASSISTANT
from tests import house
from tests.flows.forms import Result, fields, options, page, resend_page, send_page, shown
from tests.llm_server import LLMServer

PAGES = (*TOPICS, *ADVANCED_TOPICS)
set_up = partial(house.set_up, model_first=False)

OF_THE_HOUSE = {
    *("allowed_entities", "always_confirm", "never_confirm", "throttle_turns", "verify_seconds"),
    *("delegation_agents", "delegation_depth", "extensions_off"),
    *("agent_rules", "choose_in_conversations", "default_service_profile_id"),
    *("allowed_hosts", "allow_private_hosts"),
    *("emit_events", "audit_log", "debug_logging"),
}
"""Settings that no agent has."""
OWN_TESTS = {"confirmation", "retrieval", "memory", "memory_limits"}
"""Topics that hold other things than settings of agents."""
OF_AN_ASSISTANT = {
    "always_ask", "never_ask", "may_change", "icon", "profile_id", "description", "extension_name", "slash_commands",
    "command_asks", "people",
}  # fmt: skip
"""Settings that are of one agent, or add to those in the default settings, and are not defaults of all agents."""


async def test_menu(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    menu: Result = await hass.config_entries.options.async_init(entry.entry_id)
    assert (menu["type"], menu["menu_options"]) == (FlowResultType.MENU, [CHECK, *TOPICS, ADVANCED, "done"])
    menu = await send_page(hass, menu, next_step_id=ADVANCED)
    assert (menu["type"], menu["menu_options"]) == (FlowResultType.MENU, [*ADVANCED_TOPICS, "init"])
    assert (await send_page(hass, menu, next_step_id="init"))["step_id"] == "init"


async def test_a_page_that_was_saved_leads_back_to_the_menu(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    menu = await send_page(hass, await page(hass, entry, "tool_limits"), tool_timeout=20.0)
    assert (menu["type"], menu["step_id"]) == (FlowResultType.MENU, "advanced")
    assert dict(entry.options) == {"default_profile_settings": {"tools_config": {"tool_timeout": 20}}}
    assert entry.runtime_data.profiles["profile-1"].tool_timeout == 20
    form = await send_page(hass, menu, next_step_id="network")
    menu = await send_page(hass, form, allow_private_hosts=True)
    stored = {
        "default_profile_settings": {"tools_config": {"tool_timeout": 20}},
        "allowed_hosts": [],
        "allow_private_hosts": True,
    }
    assert (menu["type"], dict(entry.options)) == (FlowResultType.MENU, stored)
    runtime = entry.runtime_data
    menu = await send_page(hass, menu, next_step_id="init")
    result = await send_page(hass, menu, next_step_id="done")
    assert (result["type"], dict(entry.options)) == (FlowResultType.CREATE_ENTRY, stored)
    assert entry.runtime_data is runtime, "leaving reloads nothing"


async def test_topics_hold_every_setting_of_an_agent(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    asked = {field for step in PAGES if step not in OWN_TESTS for field in fields(await page(hass, entry, step))}
    asked = {field.removesuffix("_patterns") for field in asked}
    assert asked - OF_THE_HOUSE == SETTINGS.keys() - OF_AN_ASSISTANT


@pytest.mark.parametrize(
    "step", [step for step in PAGES if step not in {*OWN_TESTS, "safety", "limits", "network", "debug"}]
)
async def test_topic_sent_back_untouched_sets_nothing(hass: HomeAssistant, step: str) -> None:
    defaults = {"processing_config": {"history_max_messages": 4}, "tools_config": {"tool_timeout": 7}}
    entry = await set_up(hass, options={"default_profile_settings": defaults, "emit_events": False})
    form = await page(hass, entry, step)
    result = await send_page(hass, form, **shown(form))
    assert result["type"] is FlowResultType.MENU
    assert dict(entry.options) == {"default_profile_settings": defaults, "emit_events": False}


async def test_defaults_reach_the_agents(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"tool_timeout": 7})
    await send_page(hass, await page(hass, entry, "tool_limits"), max_calls_per_turn=3.0, tool_timeout=20.0)
    assert dict(entry.options) == {
        "default_profile_settings": {"tools_config": {"max_calls_per_turn": 3, "tool_timeout": 20}}
    }
    form = await page(hass, entry, "assistant")
    assert options(form, "llm") == ["default", "none", "llm-1"]
    await send_page(hass, form, llm="none", local_first=False, speech="auto")
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.max_calls_per_turn, profile.tool_timeout, profile.llm) == (3, 7, "none")
    await send_page(hass, await page(hass, entry, "tool_limits"), tool_timeout=20.0)
    assert dict(entry.options) == {
        "default_profile_settings": {
            "processing_config": {"llm": "none", "local_first": False},
            "tools_config": {"tool_timeout": 20},
        }
    }


@pytest.mark.parametrize(("step", "sent", "error"), [
    pytest.param("assistant", {"prompt_additions": "{{"}, "prompt_additions_invalid", id="template"),
    pytest.param("prompt", {"use_default_prompt": False}, "custom_prompt_empty", id="no instructions"),
    pytest.param("context", {"context_entities_patterns": [{"entity_id": "no"}]}, "entity_pattern", id="row"),
])  # fmt: skip
async def test_wrong_input_is_shown_again(hass: HomeAssistant, step: str, sent: dict[str, Any], error: str) -> None:
    entry = await set_up(hass)
    form = await send_page(hass, await page(hass, entry, step), **sent)
    assert (form["step_id"], form["errors"]) == (step, {"base": error})
    assert shown(form).items() >= sent.items()
    assert dict(entry.options) == {}


async def test_lists_of_the_house(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"always_confirm": ["cover", "light.bed"]})
    form = await page(hass, entry, "safety")
    assert shown(form) == {"always_confirm_patterns": ["cover", "light.bed"]}
    assert "conversation" in options(form, "always_confirm_patterns")
    lists = {"always_confirm": ["light.bed ", "cover.*"], "never_confirm": ["lock.shed"], "never_offer": ["ha_query"]}
    lists |= {"allowed_entities": ["light", "cover "]}
    patterns = {patterns_of(key): value for key, value in lists.items()}
    await send_page(hass, form, **patterns)
    stored = {
        "allowed_entities": ["cover", "light"], "always_confirm": ["cover.*", "light.bed"],
        "never_confirm": ["lock.shed"], "never_offer": ["ha_query"],
    }  # fmt: skip
    assert dict(entry.options) == stored
    rules = entry.runtime_data.policy.rules
    assert rules == Rules(always_ask=("cover.*", "light.bed"), never_ask=("lock.shed",), never_offer=("ha_query",))
    form = await page(hass, entry, "limits")
    assert shown(form) == {"throttle_turns": 10, "verify_seconds": 2, "delegation_depth": 1}
    await send_page(hass, form, throttle_turns=3.0, verify_seconds=1.0)
    limits = {"throttle_turns": 3, "verify_seconds": 1, "delegation_agents": [], "delegation_depth": 1}
    assert dict(entry.options) == stored | limits
    assert entry.runtime_data.policy.writes.seconds == 1
    await send_page(hass, await page(hass, entry, "safety"))
    empty: dict[str, Any] = {key: [] for key in stored}
    assert dict(entry.options) == empty | limits


async def test_exposed_entities_can_be_chosen_for_a_list(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    for entity_id, exposed in (("light.bed", True), ("light.secret", False)):
        async_expose_entity(hass, ASSISTANT, entity_id, exposed)
        hass.states.async_set(entity_id, "on", {"friendly_name": entity_id})
    form = await page(hass, entry, "safety")
    assert fields(form)["never_offer"]["selector"]["entity"]["include_entities"] == ["light.bed"]
    await send_page(hass, form, never_offer=["light.bed"], never_offer_patterns=["lock.*"])
    assert entry.options["never_offer"] == ["light.bed", "lock.*"]
    form = await page(hass, entry, "safety")
    assert (shown(form)["never_offer"], shown(form)["never_offer_patterns"]) == (["light.bed"], ["lock.*"])


async def test_list_with_something_that_names_nothing_is_shown_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await send_page(hass, await page(hass, entry, "safety"), never_confirm_patterns=["the front door"])
    assert form["errors"] == {"base": "list_item"}
    assert form["description_placeholders"] == {"item": "the front door"}
    assert shown(form)["never_confirm_patterns"] == ["the front door"]
    assert dict(entry.options) == {}


async def test_other_computers(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await page(hass, entry, "network")
    assert shown(form) == {"allow_private_hosts": False}
    await send_page(hass, form, allowed_hosts=[" API.example.com ", "*.example.org", ""], allow_private_hosts=True)
    assert dict(entry.options) == {"allowed_hosts": ["*.example.org", "api.example.com"], "allow_private_hosts": True}
    form = await page(hass, entry, "network")
    assert shown(form) == dict(entry.options)
    await send_page(hass, form)
    assert dict(entry.options) == {"allowed_hosts": [], "allow_private_hosts": False}


async def test_debug_settings(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await page(hass, entry, "debug")
    switches = {"streaming": True, "emit_events": True, "audit_log": False, "debug_logging": False}
    assert shown(form) == switches
    await send_page(hass, form, streaming=False, emit_events=False, audit_log=True, debug_logging=True)
    stored = {"emit_events": False, "audit_log": True, "debug_logging": True}
    own = {"default_profile_settings": {"processing_config": {"streaming": False}}}
    assert dict(entry.options) == stored | own
    assert entry.runtime_data.profiles["profile-1"].streaming is False
    form = await page(hass, entry, "debug")
    assert shown(form) == stored | {"streaming": False}
    await resend_page(hass, form, streaming=None)
    assert dict(entry.options) == stored | {"default_profile_settings": {}}
