"""A yes that has to come with a PIN, which nobody else ever sees."""

from dataclasses import asdict
from datetime import timedelta
import json
import logging
import re
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.const import MATCH_ALL
from homeassistant.core import Context, Event, HomeAssistant, callback
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call, tool_calls

from .conftest import QUESTION, UNLOCK, Add, services_of, state_of

PIN = "4711"
SPOKEN = "four seven one one"
CLOCK = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?")
"""The time of day has digits as well."""


def log_of(hass: HomeAssistant, conversation_id: str) -> str:
    """Return what a chat log holds, but for when."""
    content = hass.data[DATA_CHAT_LOGS][conversation_id].content
    return str([{key: value for key, value in asdict(item).items() if key != "created"} for item in content])


def anew(context: Context) -> Context:
    """Return the context of the next thing that somebody says: each has one of its own."""
    return Context(user_id=context.user_id)


async def ask(hass: HomeAssistant, server: LLMServer, context: Context, **options: Any) -> str:
    """Have the model unlock the door that a PIN guards; return the conversation."""
    await set_up(hass, server, options={"pins": {"unlock": PIN}, **options})
    server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=context)
    assert speech(result) == f"{QUESTION} What's the PIN?"
    assert result.continue_conversation
    return str(result.conversation_id)


@pytest.mark.parametrize("words", [f"yes {PIN}", f"yes, {SPOKEN}", PIN, "yes the pin is 47 11"])
async def test_the_right_pin(hass: HomeAssistant, llm_server: LLMServer, alice: Context, words: str) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    assert speech(await say(hass, words, conversation_id, context=alice)) == "Done. Front Door is unlocked."


async def test_a_yes_alone(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    for _ in range(4):
        result = await say(hass, "yes", conversation_id, context=alice)
        assert speech(result) == "What's the PIN?"
        assert result.continue_conversation
    assert not unlocked
    await say(hass, f"yes {PIN}", conversation_id, context=alice)
    assert services_of(unlocked) == ["lock.unlock"]


async def test_three_wrong_ones_drop_the_request(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    answers = [speech(await say(hass, f"yes {wrong}", conversation_id, context=alice)) for wrong in (1, 47, 47112)]
    assert answers[:2] == ["That PIN is wrong. What's the PIN?"] * 2
    assert answers[2].startswith("That PIN is wrong, too.")
    asked = len(llm_server.requests)
    await say(hass, f"yes {PIN}", conversation_id, context=alice)
    assert state_of(hass) == "locked"
    assert len(llm_server.requests) == asked  # no model hears a PIN, not even one that comes too late


async def test_asking_again_and_again_does_not_find_it(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, caplog: pytest.LogCaptureFixture
) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    for question in range(3):
        if question:
            llm_server.plan(tool_call("ha_control", UNLOCK))
            await say(hass, "let me in", conversation_id, context=anew(alice))
        for wrong in range(3):
            answer = speech(await say(hass, f"yes {question}00{wrong}", conversation_id, context=anew(alice)))
    assert answer.startswith("There were too many wrong PINs.")
    assert "Too many wrong PINs" in caplog.text
    llm_server.plan(tool_call("ha_control", UNLOCK))
    await say(hass, "let me in", conversation_id, context=anew(alice))
    assert speech(await say(hass, f"yes {PIN}", conversation_id, context=anew(alice))) == answer
    assert state_of(hass) == "locked"
    bob = person("Bob")  # has got none wrong
    llm_server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=bob)
    assert "is unlocked" in speech(await say(hass, PIN, result.conversation_id, context=bob))


async def test_a_no_needs_no_pin(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    assert speech(await say(hass, "no", conversation_id, context=alice)) == "OK, nothing was done."


async def test_nobody_sees_it(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="custom_components.home_agent")
    seen: list[str] = []

    @callback
    def note(event: Event) -> None:
        if str(event.event_type).startswith("home_agent."):
            seen.append(json.dumps(dict(event.data), default=str))

    hass.bus.async_listen(MATCH_ALL, note)
    conversation_id = await ask(hass, llm_server, alice, debug_logging=True)
    await say(hass, "yes 4 7 1 2", conversation_id, context=alice)
    await say(hass, f"yes {PIN}", conversation_id, context=alice)
    llm_server.plan(text("Fine."))
    await say(hass, "thanks", conversation_id, context=alice)
    await hass.async_block_till_done()
    log = log_of(hass, conversation_id)
    sent = "".join(request.raw.decode() for request in llm_server.requests)
    ours = "".join(record.getMessage() for record in caplog.records if "home_agent" in record.name)
    assert len(seen) > 3
    for place in (CLOCK.sub("", place) for place in (log, sent, ours, "".join(seen))):
        assert PIN not in place
        assert "4 7 1" not in place
    assert "yes ••••" in log


async def test_no_model_hears_one_that_comes_too_late_and_none_after_it(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, freezer: FrozenDateTimeFactory
) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    freezer.tick(timedelta(seconds=121))
    async_fire_time_changed(hass)
    for late in (f"yes {PIN}", "4712", "four seven one three"):
        answer = speech(await say(hass, late, conversation_id, context=alice))
        assert answer.startswith("The question has expired")
    llm_server.plan(text("Five what?"), text("Which one?"))
    await say(hass, "5", conversation_id, context=alice)  # words of a conversation that goes on
    await say(hass, "I meant 4714", conversation_id, context=alice)
    assert llm_server.request.last_user.endswith("I meant ••••")
    assert "471" not in log_of(hass, conversation_id)
    assert state_of(hass) == "locked"


async def test_stray_removed(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": PIN}})
    llm_server.plan(tool_call("ha_control", UNLOCK), text("It was 1999."))
    result = await say(hass, f"let me in with {SPOKEN}, {PIN}", context=alice)
    assert speech(result) == f"{QUESTION} What's the PIN?"  # what came before the question is no answer to it
    assert llm_server.requests[0].last_user.endswith("let me in with ••••")
    assert PIN not in log_of(hass, str(result.conversation_id))
    await say(hass, "when was 1999", context=alice)
    assert llm_server.request.last_user.endswith("when was 1999")
    assert not services_of(unlocked)


async def test_possible_digits_in_words_are_masked(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    conversation_id = await ask(hass, llm_server, alice)
    llm_server.plan(text("What?"))
    await say(hass, f"open sesame {SPOKEN} at 50 percent", conversation_id, context=alice)
    assert llm_server.request.last_user.endswith("open sesame •••• at 50 percent")
    assert state_of(hass) == "locked"


async def test_both_pins(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": PIN, "destructive": "9999", "disarm": "0000"}})
    lamp = {"action": "turn_on", "entity_id": "light.bed_light"}
    llm_server.plan(tool_calls(("ha_control", UNLOCK), ("ha_control", lamp)))
    result = await say(hass, "let me in", context=alice)
    await say(hass, "yes 47119999", result.conversation_id, context=alice)
    assert services_of(unlocked) == ["light.turn_on"]
    await say(hass, "yes 4711", result.conversation_id, context=alice)
    assert services_of(unlocked) == ["light.turn_on", "lock.unlock"]


async def test_a_sentence_of_the_house_needs_it_too(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass, options={"pins": {"unlock": PIN}})
    result = await say(hass, "unlock the front door", context=alice)
    assert speech(result) == f"{QUESTION} What's the PIN?"
    assert speech(await say(hass, "yes", result.conversation_id, context=alice)).startswith("What's the PIN?")
    await say(hass, f"yes {SPOKEN}", result.conversation_id, context=alice)
    assert state_of(hass) == "unlocked"


@pytest.mark.parametrize("said", [PIN, SPOKEN])
async def test_no_tool_hears_a_stray_pin(hass: HomeAssistant, llm_server: LLMServer, alice: Context, said: str) -> None:
    entry = await set_up(hass, llm_server, options={"pins": {"unlock": PIN}})
    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"}), text("It is on."))
    await say(hass, f"turn on the bed light {said}", context=alice)
    [action] = entry.runtime_data.journal.newest_first(lambda _action: True)
    assert action.words == "turn on the bed light ••••"
