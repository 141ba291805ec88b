"""An answer that says something was done when nothing was: it is caught, and what is true is said."""

from itertools import pairwise
import json
from typing import Any

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import HomeAssistant, ServiceCall
import pytest

from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, Reply, context_length, cut, server_error, text, tool_call

TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}
CLAIM = "I've turned on the bed light."
QUICK = {"verify_seconds": 0.01}


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test."""
    await build_house(hass)


def note_of(server: LLMServer) -> dict[str, Any]:
    """Return what the model was told behind its answer, in the newest request."""
    message = server.request.body["messages"][-1]
    assert message["role"] == "user"
    return dict(json.loads(message["content"].removeprefix("<house>").removesuffix("</house>")))


async def test_claim_without_a_call_is_corrected_by_doing_it(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), tool_call("ha_control", TURN_ON), text("Now the bed light is on."))
    assert speech(await say(hass, "turn on the bed light")) == "Now the bed light is on."
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]
    assert set(json.loads(llm_server.requests[1].body["messages"][-1]["content"][7:-8])) == {"note"}


async def test_claim_is_corrected_in_words(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Erledigt."), text("Das konnte ich nicht tun."))
    answer = speech(await say(hass, "mach das Bettlicht an", language="de"))
    assert answer == "Das konnte ich nicht tun."
    assert len(llm_server.requests) == 2


async def test_claim_that_is_repeated_ends_with_the_truth(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), text("Yes, I have turned on the bed light."))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer == ("Yes, I have turned on the bed light.\n\nActually, I haven't done anything.")
    assert len(llm_server.requests) == 2


async def test_a_turn_asks_no_more_often_than_its_calls_allow(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 1}, llm={"preset": "vllm"})
    llm_server.plan(context_length(), tool_call("launch_rocket", {}), text(CLAIM))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer == "Actually, I haven't done anything."
    assert [request.body.get("tool_choice") for request in llm_server.requests] == [None, None, "none"]


async def test_the_last_request_of_a_turn_has_to_be_answered_in_words(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 3}, llm={"preset": "vllm"})
    calls = tool_call("ha_query", {"entity_id": "light.bed_light"})
    llm_server.plan(context_length(), calls, context_length(), calls, text("It is off."))
    assert speech(await say(hass, "is it on?")) == "It is off."
    assert llm_server.request.body["tool_choice"] == "none"
    assert len(llm_server.requests) == 5


async def test_light_that_does_not_follow_is_no_success(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options=QUICK)

    async def nothing(call: ServiceCall) -> None:
        """Return as a bulb does that is switched off at the wall."""

    hass.services.async_register("light", "turn_on", nothing)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(CLAIM), text(CLAIM))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer.endswith("Actually, nothing has changed.")
    told = json.loads(llm_server.requests[1].body["messages"][-1]["content"])
    assert told["result"]["outcome"] == "unchanged"
    assert note_of(llm_server)["outcome"] == {"light.bed_light": "unchanged"}


@pytest.mark.parametrize("reply", [server_error(), cut(text("I"))], ids=["no answer", "cut off"])
async def test_correction_that_does_not_come(hass: HomeAssistant, llm_server: LLMServer, reply: Reply) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), *([reply] * (2 if reply.status >= 500 else 1)))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer != CLAIM
    assert answer


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("turn on the bed light", "Shall I turn on the bed light?"),
        ("turn on the bed light", "I could not find it."),
        ("is the bed light on?", "The bed light is off."),
        ("did you turn on the bed light?", CLAIM),
        ("thanks", "You are welcome. I've turned on the light as you asked."),
    ],
)
async def test_honest_answers_take_one_request(
    hass: HomeAssistant, llm_server: LLMServer, words: str, answer: str
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    assert speech(await say(hass, words)) == answer
    assert len(llm_server.requests) == 1


async def test_claim_of_what_was_done_takes_no_request(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(CLAIM))
    assert speech(await say(hass, "turn on the bed light")) == CLAIM
    assert len(llm_server.requests) == 2


async def test_reading_does_not_make_a_claim_true(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_query", {"entity_id": "light.bed_light"}), text(CLAIM), text("I only looked."))
    assert speech(await say(hass, "turn on the bed light")) == "I only looked."


async def test_model_without_tools_may_say_what_it_wants(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"native_tools": False})
    llm_server.plan(text(CLAIM))
    assert speech(await say(hass, "turn on the bed light")) == CLAIM


async def test_corrected_turn_stays_as_it_was_told(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), text("It was not done."), text("Three."))
    conversation_id = (await say(hass, "turn on the bed light")).conversation_id
    await say(hass, "and now?", conversation_id)
    bodies = [request.body["messages"] for request in llm_server.requests]
    for before, after in pairwise(bodies):
        assert after[: len(before)] == before
    assert [message["role"] for message in bodies[-1]] == ["system", "user", "assistant", "user", "assistant", "user"]


async def test_a2_a_second_model_that_was_asked_is_no_act(
    hass: HomeAssistant, llm_server: LLMServer, socket_enabled: None
) -> None:
    expert = LLMServer()
    await expert.start()
    endpoint = {"preset": "custom", "base_url": expert.base_url, "api_key": "sk-expert", "model": "expert"}
    second = ConfigSubentryDataWithId(
        subentry_type="llm", data=endpoint, title="Expert", unique_id=None, subentry_id="llm-2"
    )
    await set_up(hass, llm_server, profile={"external_llm": "llm-2"}, more=[second])
    expert.plan(text("Turn it on."))
    asks = tool_call("query_external_llm", {"prompt": "How?"})
    llm_server.plan(asks, text(CLAIM), text("I only asked."))
    assert speech(await say(hass, "turn on the bed light")) == "I only asked."
    await expert.stop()
    expert.assert_done()
