"""Whole turns: what the person gets, what the house does, what the endpoint received."""

import asyncio
import itertools
import json
from typing import Any

from homeassistant.components.conversation import trace
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import chat_session, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.support.const import DOMAIN
from tests.house import part_of, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call, tool_calls

pytestmark = pytest.mark.usefixtures("demo_house")

TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}


async def test_plain_answer(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Good morning."))
    result = await say(hass, "hello")
    assert speech(result) == "Good morning."
    assert not result.continue_conversation
    body = llm_server.request.body
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"].endswith("\n\nhello")
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["change_wish", "ha_control", "ha_query", "ha_undo", "make_wish", "store_memory", "teach_name"]


async def test_tool_call_changes_the_house(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), text("The bed light is on."))
    assert hass.states.get("light.bed_light").state == "off"  # type: ignore[union-attr]
    result = await say(hass, "bed light on")
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]
    assert speech(result) == "The bed light is on."
    answer = json.loads(llm_server.request.body["messages"][-1]["content"])
    assert answer["success"] is True
    assert answer["result"]["new_state"] == "on"


async def test_states_are_told_so_a_question_takes_one_request(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("It is off."))
    await say(hass, "is the bed light on?")
    states = part_of(llm_server.request.body["messages"][-1])["states"]
    assert states["light.bed_light"] == "off"
    assert "light.office_rgbw_lights" not in states  # not exposed
    assert len(llm_server.requests) == 1


async def test_each_request_begins_with_the_whole_previous_one(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), tool_call("ha_control", TURN_ON), text("Two."), text("Three."))
    conversation_id = (await say(hass, "first")).conversation_id
    await say(hass, "second", conversation_id)
    hass.states.async_set("switch.decorative_lights", "off")
    await say(hass, "third", conversation_id)
    bodies = [request.body for request in llm_server.requests]
    for before, after in itertools.pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
        assert after["tools"] == before["tools"]
    last = part_of(bodies[-1]["messages"][-1])
    assert last["states"] == {"light.bed_light": "on", "switch.decorative_lights": "off"}
    assert set(last) == {"time", "states"}


async def test_conversations_of_an_agent_share_a_cache(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, llm={"preset": "openai"})
    llm_server.plan(text("One."), text("Two."))
    for words in ("first", "second"):
        await say(hass, words)
    keys = [request.body["prompt_cache_key"] for request in llm_server.requests]
    assert keys == list(entry.runtime_data.profiles) * 2


async def test_stable_part_is_the_same_in_the_next_conversation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), text("Two."))
    await say(hass, "first")
    hass.states.async_set("light.bed_light", "on")
    await say(hass, "first")
    first, second = (request.body for request in llm_server.requests)
    assert first["messages"][0] == second["messages"][0]
    assert first["tools"] == second["tools"]


async def test_calls_beyond_the_limit_are_answered(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 2}, llm={"preset": "vllm"})
    llm_server.plan(tool_calls(*([("ha_control", TURN_ON)] * 4)), text("Done what I could."))
    result = await say(hass, "everything on")
    assert speech(result) == "Done what I could."
    body = llm_server.request.body
    said = [message["content"].split("\n") for message in body["messages"] if message["role"] == "tool"]
    assert [json.loads(result)["success"] for result, *_ in said] == [True, True, False, False]
    assert (body["tool_choice"], bool(body["tools"])) == ("none", True)


async def test_the_last_request_says_so_and_stays_as_it_was_sent(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 2})
    calls = [tool_call("ha_control", TURN_ON, call_id=f"call{number}") for number in range(2)]
    llm_server.plan(*calls, text("It is on."), text("You are welcome."))
    conversation_id = (await say(hass, "on")).conversation_id
    await say(hass, "thanks", conversation_id)
    _, second, last, later = (request.body["messages"] for request in llm_server.requests)
    assert "No more tool calls" not in str(second)
    assert [message["role"] for message in last[-2:]] == ["assistant", "tool"]
    assert "No more tool calls" in last[-1]["content"]
    assert later[: len(last)] == last


async def test_model_that_calls_tools_when_it_may_not(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 1})
    llm_server.plan(tool_call("ha_control", TURN_ON), tool_call("ha_control", TURN_ON | {"action": "turn_off"}))
    result = await say(hass, "on")
    assert speech(result) == "The model sent an empty answer. Please rephrase the question."
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]


async def test_broken_arguments_go_back_to_the_model(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", '{"action": "turn_on", "entity_id": "light.bed'), text("Sorry."))
    await say(hass, "on")
    assert hass.states.get("light.bed_light").state == "off"  # type: ignore[union-attr]
    assert json.loads(llm_server.request.body["messages"][-1]["content"])["success"] is False


async def test_unknown_tool_is_answered(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("launch_rocket", {}), text("I cannot."))
    assert speech(await say(hass, "fly")) == "I cannot."


@pytest.mark.parametrize(("words", "stays_open"), [
    ("Which room?", True), ('Did you say "kitchen?"', True), ("**Which one?**", True), ("Good morning.", False),
    ("أين؟", True),
])  # fmt: skip
async def test_microphone_stays_open(hass: HomeAssistant, llm_server: LLMServer, words: str, stays_open: bool) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(words))
    assert (await say(hass, "hello")).continue_conversation is stays_open


async def test_thinking_is_not_said(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("<think>They greet me.</think>Hello!", pieces=12))
    assert speech(await say(hass, "hello")) == "Hello!"


async def test_voice_hears_no_markdown_and_text_keeps_it(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    hass.states.async_set("light.bed_light", "on", {"friendly_name": "Bed Light"})
    words = "**Bed light** is [on](http://x.test) 😀 at 21.5 °C."
    llm_server.plan(text(words), text(words))
    assert speech(await say(hass, "hello")) == words
    assert speech(await say(hass, "hello", device_id="satellite")) == "Bed light is on at 21.5 °C."


async def test_answer_that_cannot_be_spoken_gets_a_sentence(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("👍"))
    assert speech(await say(hass, "thanks", device_id="satellite")).isascii()


async def test_extra_system_prompt_stays_with_the_conversation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), text("Two."))
    result = await say(hass, "hello", extra_system_prompt="Speak like a pirate.")
    await say(hass, "again", result.conversation_id)
    for request in llm_server.requests:
        assert request.body["messages"][0]["content"].endswith("Speak like a pirate.")


async def test_a_concurrent_message_is_refused(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("First."), text("Second.", delay=0.3))
    conversation_id = (await say(hass, "first")).conversation_id
    slow = asyncio.ensure_future(say(hass, "second", conversation_id))
    await asyncio.sleep(0.1)
    refused = await say(hass, "third", conversation_id)
    assert refused.response.error_code is not None
    assert speech(await slow) == "Second."


async def test_conversations_side_by_side(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.respond(lambda body: text(str(body["messages"][-1]["content"]).rpartition("\n")[2].upper(), delay=0.05))
    answers = await asyncio.gather(*(say(hass, f"number {number}") for number in range(5)))
    assert [speech(answer) for answer in answers] == [f"NUMBER {number}" for number in range(5)]


async def test_cancelled_turn_leaves_the_conversation_usable(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), text("Never heard.", pause=1), text("Three."))
    conversation_id = (await say(hass, "first")).conversation_id
    task = asyncio.ensure_future(say(hass, "second", conversation_id))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert speech(await say(hass, "third", conversation_id)) == "Three."
    said = [str(message["content"]).rpartition("\n")[2] for message in llm_server.request.body["messages"][1:]]
    assert said == ["first", "One.", "third"]


async def test_history_is_trimmed_in_whole_rounds_and_told_anew(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"history_max_messages": 4})
    llm_server.respond(lambda body: text("ok"))
    conversation_id = None
    for number in range(6):
        conversation_id = (await say(hass, f"m{number}", conversation_id)).conversation_id
    counts = [len(request.body["messages"]) for request in llm_server.requests]
    assert max(counts) == 1 + 4 + 1
    trimmed = llm_server.requests[counts.index(4, 2)].body["messages"]
    assert [message["role"] for message in trimmed] == ["system", "user", "assistant", "user"]
    assert '"light.bed_light":"off"' in trimmed[0]["content"]


async def test_history_can_be_off(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"history_enabled": False})
    llm_server.plan(text("One."), text("Two."))
    await say(hass, "second", (await say(hass, "first")).conversation_id)
    assert len(llm_server.request.body["messages"]) == 2


async def test_context_can_be_off(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"context_mode": "off"})
    llm_server.plan(text("One."))
    await say(hass, "first")
    assert "bed_light" not in llm_server.request.raw.decode()


@pytest.mark.parametrize("service", [True, False])
async def test_a_broken_template_is_sent_as_it_is(hass: HomeAssistant, llm_server: LLMServer, service: bool) -> None:
    broken = {"prompt_additions": "{{ states.nonsense( }}", "use_prompt_context_service": service}
    await set_up(hass, llm_server, profile=broken)
    llm_server.plan(text("Hi."))
    assert speech(await say(hass, "hello")) == "Hi."
    assert "{{ states.nonsense( }}" in llm_server.request.body["messages"][0]["content"]
    assert [issue_id for domain, issue_id in ir.async_get(hass).issues if domain == DOMAIN] == [
        "prompt_template_profile-1"
    ]


async def test_own_prompt_and_additions(hass: HomeAssistant, llm_server: LLMServer) -> None:
    own = {"use_default_prompt": False, "custom_prompt": "You are {{ profile_name }}.", "prompt_additions": "Be brief."}
    await set_up(hass, llm_server, profile=own)
    llm_server.plan(text("One."))
    await say(hass, "hello")
    assert llm_server.request.body["messages"][0]["content"].startswith("You are Home Agent.\n\nBe brief.\n\n## Home")


async def test_empty_text_gets_a_sentence(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    assert (await say(hass, "  ")).response.error_code is not None


async def test_streaming_off_is_the_same_turn(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"streaming": False})
    llm_server.plan(tool_call("ha_control", TURN_ON), text("On."))
    assert speech(await say(hass, "on")) == "On."
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]
    assert not llm_server.request.body.get("stream")


async def test_endpoint_without_tool_calling_gets_no_tools(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, llm={"tool_calling": False})
    llm_server.plan(text("Hi."))
    await say(hass, "hello")
    assert "tools" not in llm_server.request.body
    assert "ha_control" not in llm_server.request.raw.decode()


async def test_service_calls_have_the_user(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: Any) -> None:
    await set_up(hass, llm_server)
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    llm_server.plan(tool_call("ha_control", TURN_ON), text("On."))
    await say(hass, "on", context=Context(user_id=hass_admin_user.id))
    assert [call.context.user_id for call in calls] == [hass_admin_user.id]
    assert part_of(llm_server.requests[0].body["messages"][1])["user"] == hass_admin_user.name


async def test_a_user_without_permission(hass: HomeAssistant, llm_server: LLMServer, hass_read_only_user: Any) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), text("I may not."))
    await say(hass, "on", context=Context(user_id=hass_read_only_user.id))
    assert hass.states.get("light.bed_light").state == "off"  # type: ignore[union-attr]


async def test_unlocking_needs_confirmation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    unlock = {"action": "turn_off", "entity_id": "lock.front_door", "parameters": {}}
    llm_server.plan(tool_call("ha_control", unlock), text("I need your confirmation."))
    await say(hass, "unlock the front door, yes I confirm")
    assert hass.states.get("lock.front_door").state == "locked"  # type: ignore[union-attr]
    assert json.loads(llm_server.request.body["messages"][-1]["content"])["success"] is False


async def test_traces_show_the_turn(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    trace.async_clear_traces()
    llm_server.plan(tool_call("ha_control", TURN_ON), text("On."))
    await say(hass, "on")
    kinds = [event["event_type"] for event in trace.async_get_traces()[-1].as_dict()["events"]]
    assert {"async_process", "agent_detail", "tool_call"} <= {str(kind) for kind in kinds}


async def test_sessions_end_with_home_assistants(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("One."))
    await say(hass, "hello")
    assert entry.runtime_data.transcripts._transcripts
    for session in hass.data[chat_session.DATA_CHAT_SESSION].values():
        session.async_cleanup()
    assert not entry.runtime_data.transcripts._transcripts
