"""What the rest of the house hears of a turn: every listed field, never what was said."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers.json import json_dumps
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, cut, server_error, text, tool_call

FIELDS = {
    events.CONVERSATION_STARTED: {"conversation_id", "user_id", "timestamp", "context_mode"},
    events.CONTEXT_INJECTED: {"conversation_id", "mode", "entities_included", "token_count"},
    events.TOOL_PROGRESS: {"conversation_id", "tool_name", "status"},
    events.TOOL_EXECUTED: {"tool_name", "parameters", "result", "success", "duration_ms", "conversation_id"},
    events.CONVERSATION_FINISHED: {
        "conversation_id",
        "user_id",
        "tool_calls",
        "tool_breakdown",
        "tokens_used",
        "duration_ms",
        "used_external_llm",
    },
    events.HISTORY_SAVED: {"conversation_id", "user_id", "messages_added", "message_count", "persistent"},
    events.STREAMING_ERROR: {"conversation_id", "error_type", "fallback"},
    events.ERROR: {"error_type", "error_message", "conversation_id", "component", "context"},
}


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test."""
    await build_house(hass)


@pytest.fixture
def heard(hass: HomeAssistant) -> dict[str, list[Any]]:
    """Collect every event."""
    return {name: async_capture_events(hass, name) for name in FIELDS}


async def test_every_field_and_no_words(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]
) -> None:
    await set_up(hass, llm_server)
    turn_on = {"action": "turn_on", "entity_id": "light.bed_light"}
    llm_server.plan(
        tool_call("ha_control", turn_on, usage=True),
        cut(text("marzipan for everyone")),
        server_error(),
        server_error(),
    )
    await say(hass, "where is the marzipan")
    await say(hass, "where is the marzipan")
    await hass.async_block_till_done()
    for name, fields in FIELDS.items():
        assert heard[name], name
        for event in heard[name]:
            assert fields <= set(event.data), name
            assert "marzipan" not in json_dumps(event.data)
    finished = heard[events.CONVERSATION_FINISHED][0].data
    assert (finished["tool_calls"], finished["tool_breakdown"]) == (1, {"ha_control": 1})
    assert finished["tokens_used"]["prompt"] > 0
    assert [event.data["status"] for event in heard[events.TOOL_PROGRESS]] == ["started", "completed"]
    assert "light.bed_light" in heard[events.CONTEXT_INJECTED][0].data["entities_included"]


async def test_events_can_be_silenced_but_errors(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]
) -> None:
    await set_up(hass, llm_server, options={"emit_events": False})
    llm_server.plan(text("ok"), server_error(), server_error())
    await say(hass, "hello")
    await say(hass, "hello")
    await hass.async_block_till_done()
    assert {name for name, found in heard.items() if found} == {events.ERROR}


async def test_large_results_are_cut(hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_query", {"entity_id": "*"}), text("ok"))
    await say(hass, "everything")
    await hass.async_block_till_done()
    assert len(heard[events.TOOL_EXECUTED][0].data["result"]) <= events.MAX_RESULT


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "set_value", "entity_id": "input_text.diary", "parameters": {"value": "marzipan"}},
        {"action": "set_value", "entity_id": "input_text.diary", "parameters": '{"text": "marzipan"}'},
        {"action": "set_value", "entity_id": "input_text.diary", "parameters": {"my marzipan": "marzipan"}},
        {"action": "set_value", "entity_id": "marzipan", "parameters": {"item": "marzipan"}},
    ],
    ids=["done", "JSON in a string", "refused", "unknown"],
)
async def test_what_was_written_is_in_no_event(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]], arguments: dict[str, Any]
) -> None:
    assert await async_setup_component(hass, "input_text", {"input_text": {"diary": {}}})
    async_expose_entity(hass, ASSISTANT, "input_text.diary", True)
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", arguments), text("Done."))
    await say(hass, "write marzipan into my diary")
    await hass.async_block_till_done()
    assert heard[events.TOOL_EXECUTED]
    assert "marzipan" not in json_dumps([event.data for fired in heard.values() for event in fired])
