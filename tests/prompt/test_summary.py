"""What is dropped from a long conversation is summed up behind an answer, and never in the way of one."""

import asyncio
import json

from homeassistant.core import HomeAssistant
import pytest

from tests.house import say, set_up
from tests.llm_server import LLMServer, server_error, silence, text

from .conftest import parts_of

pytestmark = pytest.mark.usefixtures("demo_house")

PROFILE = {"history_max_messages": 4, "history_summary": True}


async def talk(hass: HomeAssistant, *words: str, conversation_id: str | None = None) -> str:
    """Say something, one after the other, and let what is done in the background be done."""
    for word in words:
        conversation_id = (await say(hass, word, conversation_id)).conversation_id
        await hass.async_block_till_done(wait_background_tasks=True)
    assert conversation_id
    return conversation_id


async def test_dropped_rounds_ride_on_the_next_question_and_stay(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile=PROFILE | {"history_max_messages": 7})
    llm_server.plan(*(text(f"Answer {number}.") for number in range(5)), text("They like marzipan."))
    llm_server.plan(text("Answer 5."), text("Answer 6."))
    await talk(hass, "I like marzipan", "one", "two", "three", "four", "five", "six")
    asked = llm_server.requests[5].body
    assert "tools" not in asked
    assert [json.loads(line) for line in asked["messages"][1]["content"].splitlines()] == [
        {"person": "I like marzipan"}, {"assistant": "Answer 0."}, {"person": "one"}, {"assistant": "Answer 1."},
        {"person": "two"}, {"assistant": "Answer 2."},
    ]  # fmt: skip
    four, five, six = (llm_server.requests[number].body for number in (4, 6, 7))
    assert "earlier" not in parts_of(four)[-1]
    assert five["messages"][: len(four["messages"])] == four["messages"]
    assert parts_of(five)[-1]["earlier"] == "They like marzipan."
    assert six["messages"][: len(five["messages"])] == five["messages"]
    assert "earlier" not in parts_of(six)[-1]


async def test_the_next_summary_contains_the_one_before(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile=PROFILE | {"history_max_messages": 2})
    llm_server.respond(
        lambda body: text("More notes." if "notes so far" in str(body) else "Notes." if "tools" not in body else "Yes.")
    )
    await talk(hass, "zero", "one", "two", "three", "four", "five")
    requests = [request.body for request in llm_server.requests]
    summaries = [body for body in requests if "tools" not in body]
    assert '{"notes so far":"Notes."}' in summaries[1]["messages"][1]["content"]
    told = [parts_of(body)[-1].get("earlier") for body in requests if "tools" in body]
    assert {"Notes.", "More notes."} <= set(told)


async def test_a_model_that_fails_leaves_plain_trimming(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile=PROFILE)
    llm_server.plan(*(text(f"Answer {number}.") for number in range(4)), server_error(), server_error(), text("Four."))
    await talk(hass, "zero", "one", "two", "three", "four")
    assert "earlier" not in parts_of(llm_server.request.body)[-1]


async def test_somebody_who_speaks_is_not_kept_waiting(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile=PROFILE)
    llm_server.plan(*(text(f"Answer {number}.") for number in range(3)))
    conversation_id = await talk(hass, "zero", "one", "two")
    llm_server.plan(text("Answer 3."), silence(), text("Answer 4."), text("They like marzipan."), text("Answer 5."))
    await say(hass, "three", conversation_id)
    while len(llm_server.requests) < 5:
        await asyncio.sleep(0.01)
    await say(hass, "four", conversation_id)
    assert "earlier" not in parts_of(llm_server.request.body)[-1]
    await hass.async_block_till_done(wait_background_tasks=True)
    llm_server.respond(lambda _: text("More notes."))  # five drops rounds again
    await say(hass, "five", conversation_id)
    told = [parts_of(request.body)[-1] for request in llm_server.requests if "tools" in request.body]
    assert told[-1]["earlier"] == "They like marzipan."


async def test_without_the_option_nobody_is_asked(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"history_max_messages": 4})
    llm_server.plan(*(text(f"Answer {number}.") for number in range(5)))
    await talk(hass, "zero", "one", "two", "three", "four")
    assert len(llm_server.requests) == 5
