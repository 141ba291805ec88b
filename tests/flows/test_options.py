"""The house's own settings."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows.options import MENU
from custom_components.home_agent.profiles.profile import KEYS
from tests.flows.forms import Result, fields, options, shown
from tests.house import set_up
from tests.llm_server import LLMServer


async def topic(hass: HomeAssistant, entry: MockConfigEntry, step: str) -> Result:
    """Return the form of a topic."""
    menu = await hass.config_entries.options.async_init(entry.entry_id)
    return await hass.config_entries.options.async_configure(menu["flow_id"], {"next_step_id": step})


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    """Send a form; return what comes next."""
    result = await hass.config_entries.options.async_configure(form["flow_id"], data)
    await hass.async_block_till_done()
    return result


async def test_menu(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    menu = await hass.config_entries.options.async_init(entry.entry_id)
    assert (menu["type"], menu["menu_options"]) == (FlowResultType.MENU, list(MENU))


async def test_topics_hold_every_setting_of_an_assistant(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    asked = {field for step in MENU if step != "confirmation" for field in fields(await topic(hass, entry, step))}
    assert asked - {"entities", "domains", "emit_events", "debug_logging"} == KEYS


@pytest.mark.parametrize("step", [step for step in MENU if step not in {"safety", "confirmation", "debug"}])
async def test_topic_sent_back_untouched_sets_nothing(hass: HomeAssistant, step: str) -> None:
    defaults = {"tool_timeout": 7, "history_max_messages": 4}
    entry = await set_up(hass, options={"profile_defaults": defaults, "emit_events": False})
    form = await topic(hass, entry, step)
    result = await send(hass, form, **shown(form))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert dict(entry.options) == {"profile_defaults": defaults, "emit_events": False}


async def test_defaults_reach_the_assistants(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"tool_timeout": 7})
    await send(hass, await topic(hass, entry, "tools"), native_tools=True, max_calls_per_turn=3.0, tool_timeout=20.0)
    assert dict(entry.options) == {"profile_defaults": {"max_calls_per_turn": 3, "tool_timeout": 20}}
    form = await topic(hass, entry, "assistant")
    assert options(form, "llm") == ["default", "none", "llm-1"]
    await send(hass, form, llm="none", local_first=True, speech="auto")
    profile = entry.runtime_data.profiles["profile-1"]
    assert (profile.max_calls_per_turn, profile.tool_timeout, profile.llm) == (3, 7, "none")
    await send(hass, await topic(hass, entry, "tools"), native_tools=True, tool_timeout=20.0)
    assert dict(entry.options) == {"profile_defaults": {"tool_timeout": 20, "llm": "none", "local_first": True}}


@pytest.mark.parametrize(
    ("step", "sent", "error"),
    [
        pytest.param("prompt", {"prompt_additions": "{{"}, "prompt_additions_invalid", id="template"),
        pytest.param("prompt", {"use_default_prompt": False}, "custom_prompt_empty", id="no instructions"),
        pytest.param("context", {"context_entities": [{"entity_id": "no"}]}, "entity_pattern", id="row"),
    ],
)
async def test_wrong_input_is_shown_again(hass: HomeAssistant, step: str, sent: dict[str, Any], error: str) -> None:
    entry = await set_up(hass)
    form = await send(hass, await topic(hass, entry, step), **sent)
    assert (form["step_id"], form["errors"]) == (step, {"base": error})
    assert shown(form).items() >= sent.items()
    assert dict(entry.options) == {}


async def test_what_needs_confirmation(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"always_confirm": ["cover", "light.bed"]})
    registered = er.async_get(hass).async_get_or_create("switch", "demo", "pump", suggested_object_id="pump")
    form = await topic(hass, entry, "safety")
    assert shown(form) == {"entities": ["light.bed"], "domains": ["cover"]}
    assert {"cover", "conversation"} <= set(options(form, "domains"))
    await send(hass, form, entities=["light.bed", registered.id], domains=["cover", "conversation"])
    assert entry.options["always_confirm"] == ["conversation", "cover", "light.bed", "switch.pump"]
    await send(hass, await topic(hass, entry, "safety"))
    assert entry.options["always_confirm"] == []


async def test_debug_settings(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await topic(hass, entry, "debug")
    assert shown(form) == {"streaming": True, "emit_events": True, "debug_logging": False}
    await send(hass, form, streaming=False, emit_events=False, debug_logging=True)
    assert dict(entry.options) == {
        "profile_defaults": {"streaming": False},
        "emit_events": False,
        "debug_logging": True,
    }
    assert entry.runtime_data.profiles["profile-1"].streaming is False
    form = await topic(hass, entry, "debug")
    assert shown(form) == {"streaming": False, "emit_events": False, "debug_logging": True}
