"""Talking to a model: tools, streaming, voice, and what the endpoint receives."""

import asyncio
import itertools
import json
from typing import Any

from tests.llm_server import LLMServer, text, tool_call

from .harness import Hass

KITCHEN_ON = {"action": "turn_on", "entity_id": "light.kitchen_lights"}


async def agent_of(hass: Hass) -> str:
    [agent] = await hass.agents()
    return agent


async def test_tool_call_changes_the_light(hass: Hass, llm_server: LLMServer) -> None:
    llm_server.plan(tool_call("ha_control", KITCHEN_ON, fragments=3), text("The kitchen lights are on."))
    answer = await hass.say("Lights on in the kitchen, please", agent=await agent_of(hass))
    assert answer.speech == "The kitchen lights are on."
    assert await hass.state("light.kitchen_lights") == "on"
    result = json.loads(llm_server.request.body["messages"][-1]["content"])
    assert result["success"] is True
    assert llm_server.request.headers["Authorization"] == "Bearer sk-e2e-secret"


async def test_owner_is_who_switched_the_light(hass: Hass, llm_server: LLMServer) -> None:
    llm_server.plan(tool_call("ha_control", KITCHEN_ON), text("On."))
    await hass.say("kitchen", agent=await agent_of(hass))
    state = await hass.get("/api/states/light.kitchen_lights")
    user = await hass.command("auth/current_user")
    assert state["context"]["user_id"] == user["id"]


async def test_each_request_starts_with_the_whole_previous_one(hass: Hass, llm_server: LLMServer) -> None:
    agent = await agent_of(hass)
    llm_server.plan(text("Good morning."), tool_call("ha_control", KITCHEN_ON), text("On."), text("Yes."))
    conversation_id = (await hass.say("good morning", agent=agent)).conversation_id
    await hass.call("light.turn_off", "light.bed_light")
    await hass.say("kitchen lights on", agent=agent, conversation_id=conversation_id)
    await hass.call("light.turn_on", "light.ceiling_lights")
    await hass.say("are they on?", agent=agent, conversation_id=conversation_id)
    bodies = [request.body for request in llm_server.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
        assert len(later["messages"]) > len(earlier["messages"])
        assert later["tools"] == earlier["tools"]


async def test_next_conversation_starts_with_the_same_bytes(hass: Hass, llm_server: LLMServer) -> None:
    agent = await agent_of(hass)
    llm_server.plan(text("One."), text("Two."))
    await hass.say("hello", agent=agent)
    await hass.call("light.turn_off", "light.bed_light")
    await hass.say("hello again", agent=agent)
    first, second = llm_server.requests
    assert stable_part(first.body) == stable_part(second.body)
    assert "light.kitchen_lights" in first.body["messages"][0]["content"]


def stable_part(body: dict[str, Any]) -> str:
    """Return what must not change, as it was sent."""
    return json.dumps([body["messages"][0], body["tools"]])


async def test_pipeline_streams_the_answer(hass: Hass, llm_server: LLMServer) -> None:
    pipeline = await hass.create_pipeline(await agent_of(hass))
    words = "It is warm outside, and the kitchen window is closed."
    llm_server.plan(text(words, thinking="Let me see.", pause=0.02))
    run = await hass.run_pipeline("how is the weather?", pipeline)
    assert "".join(run.deltas) == words
    assert len(run.deltas) > 1
    assert run.answer.speech == words


async def test_voice_gets_speakable_text_and_chat_keeps_markdown(hass: Hass, llm_server: LLMServer) -> None:
    pipeline = await hass.create_pipeline(await agent_of(hass))
    words = "**Bed light** is [on](http://x.test) 😀 at 21.5 °C."
    llm_server.plan(text(words), text(words))
    [device, *_] = await hass.command("config/device_registry/list")
    spoken = await hass.run_pipeline("status?", pipeline, device_id=device["id"])
    written = await hass.run_pipeline("status?", pipeline)
    assert spoken.answer.speech == "".join(spoken.deltas).strip() == "Bed light is on at 21.5 °C."
    assert written.answer.speech == words


async def test_conversations_side_by_side(hass: Hass, llm_server: LLMServer) -> None:
    agent = await agent_of(hass)
    llm_server.respond(lambda body: text(f"You said {llm_server.request.last_user.split()[-1]}.", pause=0.05))
    answers = await asyncio.gather(*(hass.say(f"say {word}", agent=agent) for word in ("red", "green", "blue")))
    assert {answer.speech for answer in answers} <= {"You said red.", "You said green.", "You said blue."}
    assert len({answer.conversation_id for answer in answers}) == 3


async def test_client_that_leaves_in_the_middle_can_come_back(hass: Hass, llm_server: LLMServer) -> None:
    pipeline = await hass.create_pipeline(await agent_of(hass))
    llm_server.plan(text("This answer takes a long time to say and nobody waits.", pause=0.3), text("Here."))
    phone = await hass.connect()
    arguments = {"start_stage": "intent", "end_stage": "intent", "input": {"text": "hello?"}, "pipeline": pipeline}
    async with phone.subscribe("assist_pipeline/run", **arguments) as events:
        while (event := await events.get())["type"] != "intent-progress":
            pass
        await phone.close()
    assert event["data"]
    run = await hass.run_pipeline("are you there?", pipeline)
    assert run.answer.speech == "Here."


async def test_process_action_answers_with_what_it_did(hass: Hass, llm_server: LLMServer) -> None:
    llm_server.plan(tool_call("ha_control", KITCHEN_ON), text("The kitchen lights are on."))
    answer = await hass.call_for_response("home_agent.process", text="kitchen lights on")
    assert answer["answer"] == "The kitchen lights are on."
    assert answer["success"] is True
    assert [call["tool_name"] for call in answer["tool_calls"]] == ["ha_control"]
    assert answer["tokens"]["prompt"] > 0
    assert answer["duration_ms"] > 0
    assert answer["conversation_id"]


async def test_events_carry_no_words(hass: Hass, llm_server: LLMServer) -> None:
    llm_server.plan(text("The secret answer."))
    async with (await hass.socket()).subscribe(
        "subscribe_events", event_type="home_agent.conversation.finished"
    ) as events:
        await hass.say("the secret question", agent=await agent_of(hass))
        async with asyncio.timeout(10):
            event = await events.get()
    assert "secret" not in json.dumps(event)
    assert event["data"]["conversation_id"]
