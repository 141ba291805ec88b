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
from tests.house import act, say, set_up
from tests.llm_server import LLMServer, cut, server_error, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

FIELDS = {
    events.CONVERSATION_STARTED: {"conversation_id", "user_id", "timestamp", "context_mode"},
    events.CONTEXT_INJECTED: {"conversation_id", "mode", "entities_included", "token_count", "vector_db_query"},
    events.TOOL_PROGRESS: {"conversation_id", "tool_name", "status"},
    events.TOOL_EXECUTED: {"tool_name", "parameters", "result", "success", "duration_ms", "conversation_id"},
    events.CONVERSATION_FINISHED: {
        "conversation_id", "user_id", "tool_calls", "tool_breakdown", "tokens_used", "cached_share", "prompt_ms",
        "first_token_ms", "duration_ms", "used_external_llm",
    },
    events.HISTORY_SAVED: {"conversation_id", "user_id", "messages_added", "message_count", "persistent"},
    events.STREAMING_ERROR: {"conversation_id", "error_type", "fallback"},
    events.ERROR: {"error_type", "error_message", "conversation_id", "component", "context"},
}  # fmt: skip


@pytest.fixture
def heard(hass: HomeAssistant) -> dict[str, list[Any]]:
    return {name: async_capture_events(hass, name) for name in FIELDS}


async def test_fields_without_words(hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]) -> None:
    await set_up(hass, llm_server)
    turn_on = {"action": "turn_on", "entity_id": "light.bed_light"}
    llm_server.plan(
        tool_call("ha_control", turn_on, usage=True), cut(text("marzipan for everyone")), server_error(), server_error()
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


async def test_silenced_but_for_errors(hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]) -> None:
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


@pytest.mark.parametrize("arguments", [
    {"action": "set_value", "entity_id": "input_text.diary", "parameters": {"value": "marzipan"}},
    {"action": "set_value", "entity_id": "input_text.diary", "parameters": '{"text": "marzipan"}'},
    {"action": "set_value", "entity_id": "input_text.diary", "parameters": {"my marzipan": "marzipan"}},
    {"action": "set_value", "entity_id": "marzipan", "parameters": {"item": "marzipan"}},
], ids=["done", "JSON in a string", "refused", "unknown"])  # fmt: skip
async def test_what_was_written_is_in_no_event(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]], arguments: dict[str, Any]
) -> None:
    assert await async_setup_component(hass, "input_text", {"input_text": {"diary": {}}})
    async_expose_entity(hass, ASSISTANT, "input_text.diary", True)
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", arguments), text("Well."))
    await say(hass, "write marzipan into my diary")
    await hass.async_block_till_done()
    assert heard[events.TOOL_EXECUTED]
    assert "marzipan" not in json_dumps([event.data for fired in heard.values() for event in fired])


async def process(hass: HomeAssistant, words: str) -> dict[str, Any]:
    return await act(hass, "process", text=words)


TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}
FAULTS = {
    "broken off after a tool call": [tool_call("ha_control", TURN_ON), cut(text("Once upon a time there"))],
    "refused after a tool call": [tool_call("ha_control", TURN_ON), server_error(), server_error()],
    "broken off": [cut(text("Once upon a time there"))],
    "nothing said": [text("")],
}


@pytest.mark.parametrize("case", FAULTS)
async def test_answer_that_ends_in_a_sentence_about_a_fault_is_an_error(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]], case: str
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(*FAULTS[case])
    response = await process(hass, "tell me a story")
    await hass.async_block_till_done()
    assert response["success"] is False
    [event] = heard[events.ERROR]
    assert event.data["component"] == "model"
    assert event.data["error_type"].startswith("LLM")
    assert event.data["error_message"]
    llm_server.plan(text("Fine."))
    assert (await process(hass, "and now?"))["success"] is True
    assert len(heard[events.ERROR]) == 1


async def test_an_overcome_fault(hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(cut(tool_call("ha_control", TURN_ON)), text("It is on."))
    assert (await process(hass, "a story, please"))["success"] is True
    await hass.async_block_till_done()
    assert not heard[events.ERROR]


@pytest.mark.parametrize(("replies", "kept"), [
    ([cut(text("Once upon a time there"))], "kept_partial_answer"),
    ([tool_call("ha_control", TURN_ON), server_error(), server_error()], "kept_nothing"),
])  # fmt: skip
async def test_streaming_error_says_what_was_kept(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]], replies: list[Any], kept: str
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(*replies)
    await process(hass, "tell me a story")
    await hass.async_block_till_done()
    assert [event.data["fallback"] for event in heard[events.STREAMING_ERROR]] == [kept]


async def test_component_of_an_event(hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]]) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(server_error(), server_error())
    await process(hass, "hello")
    await process(hass, "x" * 200_000)
    await hass.async_block_till_done()
    told = [(event.data["component"], event.data["error_message"]) for event in heard[events.ERROR]]
    assert told == [("model", "llm_error_said"), ("conversation", "text_too_long")]


@pytest.mark.parametrize(("setting", "mode"), [("auto", "direct"), ("retrieved", "retrieved"), ("off", "off")])
async def test_context_mode_is_the_one_in_use(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]], setting: str, mode: str
) -> None:
    await set_up(hass, llm_server, profile={"context_mode": setting})
    llm_server.plan(text("One."), text("Two."))
    first = await say(hass, "hello")
    await say(hass, "hello again", first.conversation_id)
    await hass.async_block_till_done()
    assert [event.data["context_mode"] for event in heard[events.CONVERSATION_STARTED]] == [mode, mode]
    assert {event.data["mode"] for event in heard[events.CONTEXT_INJECTED]} == {mode}
    assert {event.data["vector_db_query"] for event in heard[events.CONTEXT_INJECTED]} == {None}


async def test_started_is_said_first_and_once_without_a_model(hass: HomeAssistant, heard: dict[str, list[Any]]) -> None:
    order: list[str] = []
    for name in FIELDS:
        hass.bus.async_listen(name, lambda event: order.append(str(event.event_type)))
    await set_up(hass)
    await say(hass, "turn on bed light")
    await hass.async_block_till_done()
    [started] = heard[events.CONVERSATION_STARTED]
    assert started.data["context_mode"] == "off"
    assert order[0] == events.CONVERSATION_STARTED


@pytest.mark.parametrize(
    "name", ["x" * 90_000, "call\nWARNING marzipan", "marzipan_for_everyone"], ids=["long", "forged", "said"]
)
async def test_tool_that_a_model_invents_is_unknown_and_nothing_else(
    hass: HomeAssistant, llm_server: LLMServer, heard: dict[str, list[Any]], caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level("INFO", "custom_components.home_agent")
    await set_up(hass, llm_server)
    llm_server.plan(tool_call(name, {f"key_{number}": number for number in range(3_000)}), text("There is none."))
    response = await process(hass, "a story, please")
    await hass.async_block_till_done()
    assert [call["tool_name"] for call in response["tool_calls"]] == ["unknown_tool"]
    assert heard[events.TOOL_EXECUTED][0].data["tool_name"] == "unknown_tool"
    assert {event.data["tool_name"] for event in heard[events.TOOL_PROGRESS]} == {"unknown_tool"}
    assert heard[events.CONVERSATION_FINISHED][0].data["tool_breakdown"] == {"unknown_tool": 1}
    told = json_dumps([event.data for found in heard.values() for event in found])
    assert name not in told
    assert len(told) < 20_000
    ours = [record.getMessage() for record in caplog.records if "home_agent" in record.name]
    assert not any(name in line for line in ours)
