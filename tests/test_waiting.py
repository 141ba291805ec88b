"""A person does not wait for ever: a turn in which nothing is heard ends with a sentence, and nothing is done after it."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
import time
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.agent import model_turn
from custom_components.home_agent.client import capacity
from tests.house import agent, say, set_up, speech, state_of
from tests.llm_server import LLMServer, Reply, chunks, delta, silence, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

LIGHT = "light.bed_light"
TURN_ON = {"action": "turn_on", "entity_id": LIGHT}
BROKEN = {"action": "turn_on", "entity_id": "light.nowhere"}
ASKED = "make it cosy for reading in bed"
"""The home alone knows no answer."""
TOO_LONG = "That took too long, so I stopped waiting after 1 seconds"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_turn, "READ_WAIT", 1.0)


def thinking() -> Reply:
    return chunks(*[item for _ in range(100) for item in (delta(reasoning_content="Hm. "), 0.1)])


def slow_call() -> Reply:
    return chunks(*[item for number in range(100) for item in (
        delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "ha_control" * (not number), "arguments": " "}}]), 0.1,
    )])  # fmt: skip


SILENT = {
    "silence": silence(), "thinking": thinking(), "a call that does not end": slow_call(),
    "late headers": text("Hello.", delay=8), "a call too late": replace(tool_call("ha_control", TURN_ON), delay=8),
}  # fmt: skip


@pytest.mark.parametrize("reply", SILENT.values(), ids=SILENT.keys())
async def test_a_turn_in_which_nothing_is_heard_ends(hass: HomeAssistant, llm_server: LLMServer, reply: Reply) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(reply)
    result = await say(hass, ASKED)
    assert speech(result).startswith(TOO_LONG)
    assert time.perf_counter() - llm_server.request.arrived < 3
    await asyncio.sleep(0.3)
    assert state_of(hass, LIGHT) == "off"
    assert not [issue for issue in ir.async_get(hass).issues if issue[1].startswith("endpoint_")]


async def test_a_voice_turn_has_its_own_limit(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"speech": "always", "spoken_wait": 5})
    llm_server.plan(text("Hello.", delay=1.5), silence())
    assert speech(await say(hass, "hello")) == "Hello."
    assert "after 5 seconds" in speech(await say(hass, "hello"))


STORY = " ".join(f"In room {number} there was a light, and it was on." for number in range(150))


@pytest.mark.parametrize(("profile", "is_whole"), [
    ({"speech": "always"}, False), ({"speech": "always", "max_answer_tokens": 1900}, True), ({"speech": "never"}, True),
])  # fmt: skip
async def test_nobody_listens_to_a_very_long_answer(
    hass: HomeAssistant, llm_server: LLMServer, profile: dict[str, Any], is_whole: bool
) -> None:
    await set_up(hass, llm_server, profile=profile)
    llm_server.plan(text(STORY))
    said = speech(await say(hass, "tell me a long story"))
    assert (STORY in said) is is_whole
    assert is_whole or 1500 < len(said) < 3500


async def test_rounds_of_errors_end_as_well(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 50})
    numbers = iter(range(100))
    llm_server.respond(
        lambda _body: replace(tool_call("ha_control", {**BROKEN, "entity_id": f"light.no{next(numbers)}"}), delay=0.3)
    )
    began = time.monotonic()
    assert speech(await say(hass, "bed light on")).startswith(TOO_LONG)
    assert time.monotonic() - began < 4
    asked = len(llm_server.requests)
    await asyncio.sleep(0.5)
    assert len(llm_server.requests) == asked


async def test_what_is_heard_is_not_cut(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    words = [item for number in range(10) for item in (delta(content=f"{number}. "), 0.2)]
    llm_server.plan(chunks(*words, ending=True))
    assert speech(await say(hass, "count")).split() == [f"{number}." for number in range(10)]


async def test_what_was_done_before_stays_done(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), silence())
    assert speech(await say(hass, "bed light on")).startswith(TOO_LONG)
    assert state_of(hass, LIGHT) == "on"


async def test_a_delegated_turn_has_the_time_of_the_person(hass: HomeAssistant, llm_server: LLMServer) -> None:
    second = agent(2, "Second", delegation_level="unrestricted", profile_id="second")
    await set_up(hass, llm_server, profile={"delegate_to": ["profile-2"]}, more=[second])
    handed = {"target_service_id": "second", "user_request": "bed light on"}
    llm_server.plan(tool_call("delegate_to_service", handed), silence())
    began = time.monotonic()
    assert TOO_LONG in speech(await say(hass, "let the second do it"))
    assert time.monotonic() - began < 4


async def test_who_waits_for_others_is_told(
    hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "AT_ONCE", 1)
    await set_up(hass, llm_server)
    llm_server.respond(lambda _body: silence())
    answers = await asyncio.gather(*(say(hass, "hello", f"{number}") for number in range(3)))
    assert all(speech(answer).startswith(TOO_LONG) for answer in answers)
    llm_server.respond(lambda _body: text("Hello."))
    assert speech(await say(hass, "hello")) == "Hello."


async def test_many_at_once_are_all_answered(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options={"throttle_turns": 100})
    at_once = [0, 0]

    def reply(_body: dict[str, Any]) -> Reply:
        at_once[0] += 1
        at_once[1] = max(at_once)

        def pieces() -> Iterator[dict[str, Any] | float]:
            yield 0.02
            at_once[0] -= 1
            yield delta(content="Hello.")

        return replace(text("Hello."), pieces=pieces())

    llm_server.respond(reply)
    answers = await asyncio.gather(*(say(hass, "hello") for _ in range(30)))
    assert {speech(answer) for answer in answers} == {"Hello."}
    assert at_once[1] <= capacity.AT_ONCE


async def test_a_call_that_fails_twice_alike_is_the_last(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 20})
    llm_server.respond(
        lambda body: text("I can't find it.") if "tools" not in body else tool_call("ha_control", BROKEN)
    )
    assert speech(await say(hass, "bed light on")) == "I can't find it."
    assert len(llm_server.requests) == 3


async def test_a_command_that_the_home_knows_is_done_without_the_model(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(silence())
    assert speech(await say(hass, "turn on the bed light")) == "Turned on the light"
    assert state_of(hass, LIGHT) == "on"
