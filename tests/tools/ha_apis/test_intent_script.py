"""Intents of the owner's own (`intent_script`), which say nothing of themselves: each call is asked about."""

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call

INTENTS = {"OpenGate": {"description": "Opens the gate", "action": {"event": "gate_opened"}}}
CALL = tool_call("intent_script__OpenGate", {})


@pytest.fixture(autouse=True)
async def house_with_an_intent(hass: HomeAssistant, house: None) -> None:
    """Build a house with an intent of the owner's before each test."""
    await build_house(hass)
    assert await async_setup_component(hass, "intent_script", {"intent_script": INTENTS})


async def test_it_waits_for_a_yes(hass: HomeAssistant, llm_server: LLMServer) -> None:
    opened = async_capture_events(hass, "gate_opened")
    await set_up(hass, llm_server, profile={"llm_apis": ["assist"]})
    llm_server.plan(CALL)
    asked = await say(hass, "open the gate", device_id="a device")
    assert speech(asked).endswith("?")
    assert not opened
    await say(hass, "yes", asked.conversation_id, device_id="a device")
    assert len(opened) == 1


async def test_the_owner_may_say_that_it_needs_none(hass: HomeAssistant, llm_server: LLMServer) -> None:
    opened = async_capture_events(hass, "gate_opened")
    await set_up(hass, llm_server, profile={"llm_apis": ["assist"], "never_ask": ["intent_script__OpenGate"]})
    llm_server.plan(CALL, text("It is open."))
    await say(hass, "open the gate", device_id="a device")
    assert len(opened) == 1


async def test_without_assist_a_model_has_it_not(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Hello."))
    await say(hass, "hello", device_id="a device")
    assert "OpenGate" not in str(llm_server.request.body["tools"])
