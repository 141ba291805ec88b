"""Turns in which the endpoint or the model fails: nothing is lost, nothing is done twice, and somebody says so."""

from typing import Any

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import intent, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn import events
from tests.house import part_of, say, set_up, speech, state_of
from tests.llm_server import (
    LLMServer,
    chunks,
    context_length,
    cut,
    delta,
    endless,
    error,
    model_not_found,
    server_error,
    silence,
    text,
    tool_call,
    unauthorized,
)
from tests.prompt.test_modes import baseline_of

pytestmark = pytest.mark.usefixtures("demo_house")


def issues(hass: HomeAssistant) -> list[str]:
    return [issue_id for domain, issue_id in ir.async_get(hass).issues if domain == DOMAIN]


TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}


async def test_stream_cut_after_words_keeps_them(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(cut(text("The first half")))
    answer = speech(await say(hass, "tell me"))
    assert answer.startswith("The first half\n\n")
    assert len(answer) > len("The first half\n\n")
    assert len(llm_server.requests) == 1


async def test_a_stream_cut_after_a_call_runs_it_once(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    toggle = {"action": "toggle", "entity_id": "light.bed_light"}
    llm_server.plan(cut(tool_call("ha_control", toggle)), text("Toggled."))
    assert speech(await say(hass, "toggle it")) == "Toggled."
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]


async def test_endpoint_that_fails_after_a_tool_ran(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), server_error(), server_error())
    result = await say(hass, "on")
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]
    assert "Scripted" in speech(result)


async def test_an_unreachable_endpoint_is_said_and_repaired(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    for _ in range(3):
        llm_server.plan(server_error(503), server_error(503))
        result = await say(hass, "hello")
        assert result.response.error_code is not None
        assert "Scripted" in speech(result)
    llm_server.plan(text("Back again."))
    assert speech(await say(hass, "hello")) == "Back again."
    assert not issues(hass)


@pytest.mark.parametrize(("failure", "key"), [
    (server_error(), "endpoint_failing"), (error(400, "no"), "endpoint_failing"),
    (error(402, "pay"), "endpoint_no_credit"), (error(429, "slow down"), "endpoint_rate_limit"),
    (server_error(503), "endpoint_unreachable"), (silence(), "endpoint_silent"),
], ids=["500", "400", "402", "429", "503", "time-out"])  # fmt: skip
async def test_three_failures_in_a_row_raise_an_issue_whatever_they_are(
    hass: HomeAssistant,
    llm_server: LLMServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    failure: Any,
    key: str,
) -> None:
    monkeypatch.setattr(chat_completions, "RETRY_DELAY", 0)
    await set_up(hass, llm_server, llm={"idle_timeout": 0.1, "context_window": 16384})
    llm_server.respond(lambda body: failure)
    for _ in range(2):
        await say(hass, "hello")
    assert not issues(hass)
    for _ in range(2):
        await say(hass, "hello")
    assert issues(hass) == [f"{key}_llm-1"]
    assert caplog.text.count("Scripted is unavailable") == 1
    llm_server.respond(lambda body: text("Back again."))
    await say(hass, "hello")
    assert not issues(hass)
    assert "Scripted is available again" in caplog.text


async def test_success_restarts(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "RETRY_DELAY", 0)
    await set_up(hass, llm_server)
    for reply in (server_error(), server_error(), text("Hello."), server_error(), server_error()):
        llm_server.respond(lambda body, reply=reply: reply)  # type: ignore[misc]
        await say(hass, "hello")
    assert not issues(hass)


async def test_failed_rounds_are_not_sent_again(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), server_error(), server_error(), text("Three."))
    conversation_id = (await say(hass, "first")).conversation_id
    await say(hass, "second", conversation_id)
    await say(hass, "third", conversation_id)
    said = [str(message["content"]).rpartition("\n")[2] for message in llm_server.request.body["messages"][1:]]
    assert said == ["first", "One.", "third"]


async def test_wrong_key_starts_reauthentication(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(unauthorized())
    result = await say(hass, "hello")
    await hass.async_block_till_done()
    assert "sk-" not in speech(result)
    assert [flow["context"]["source"] for flow in hass.config_entries.flow.async_progress()] == ["reauth"]
    await hass.config_entries.async_unload(entry.entry_id)


async def test_model_that_was_removed_raises_an_issue(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(model_not_found())
    assert (await say(hass, "hello")).response.error_code is not None
    assert issues(hass) == ["model_missing_llm-1"]


async def test_request_that_is_too_long_is_asked_again_with_less(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), context_length(), text("Two."))
    conversation_id = (await say(hass, "first")).conversation_id
    assert speech(await say(hass, "second", conversation_id)) == "Two."
    _, too_long, shorter = llm_server.requests
    assert len(shorter.raw) < len(too_long.raw)
    assert shorter.last_user.endswith("second")
    told = part_of(shorter.body["messages"][-1])["states"]  # what the shorter stable part does not say any more
    assert told
    assert not told.keys() & baseline_of(shorter.body).keys()


async def test_request_that_stays_too_long_is_said(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(*[context_length()] * 3)
    assert (await say(hass, "hello")).response.error_code is not None


@pytest.mark.parametrize("reply", [text(""), chunks(delta(content=None), ending=True)], ids=["empty", "null"])
async def test_silent_model_gets_a_sentence(hass: HomeAssistant, llm_server: LLMServer, reply: Any) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(reply)
    assert speech(await say(hass, "hello"))


async def test_answer_that_hit_the_limit_says_so(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("A very long st", finish_reason="length"))
    assert speech(await say(hass, "hello")).startswith("A very long st\n\n")


DEAD = [
    pytest.param({"base_url": "http://127.0.0.1:9/v1"}, text("never sent"), id="refused connection"),
    pytest.param({"idle_timeout": 0.1}, silence(), id="time-out"),
    pytest.param({}, server_error(), id="500"),
    pytest.param({}, server_error(503), id="503"),
    pytest.param({}, unauthorized(), id="refused key"),
    pytest.param({}, model_not_found(), id="no such model"),
]


@pytest.mark.parametrize("local_first", [False, True])
@pytest.mark.parametrize(("llm", "failure"), DEAD)
async def test_dead_model_is_no_dead_home(
    hass: HomeAssistant,
    llm_server: LLMServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    llm: dict[str, Any],
    failure: Any,
    local_first: bool,
) -> None:
    monkeypatch.setattr(chat_completions, "RETRY_DELAY", 0)
    entry = await set_up(hass, llm_server, llm=llm, profile={"local_first": local_first})
    llm_server.respond(lambda body: failure)
    await hass.services.async_call("light", "turn_off", {"entity_id": "all"}, blocking=True)
    failed = async_capture_events(hass, events.ERROR)

    result = await say(hass, "Turn on the bed light")
    assert (state_of(hass, "light.bed_light"), result.response.error_code) == ("on", None)
    assert speech(result) == "Turned on the light"
    assert len(failed) == (not local_first)  # with the model first it was the model that failed
    result = await say(hass, "Is the bed light on?")
    assert (speech(result), result.response.error_code) == ("Yes", None)
    result = await say(hass, "the kitchen lights on would you kindly")  # no sentence of Home Assistant's
    assert (state_of(hass, "light.kitchen_lights"), result.response.error_code) == ("on", None)
    result = await say(hass, "Turn on the fans in the kitchen")
    assert speech(result) == "Sorry, I am not aware of any fan in the Kitchen area"
    for _ in range(3):
        result = await say(hass, "Tell me a story")
        assert speech(result).count("Scripted") == 1
        assert result.response.error_code is intent.IntentResponseErrorCode.FAILED_TO_HANDLE
    assert caplog.text.count("Scripted is unavailable") == 1
    await hass.async_block_till_done()
    reported = [issue_id for _, issue_id in ir.async_get(hass).issues if "llm-1" in issue_id or "reauth" in issue_id]
    assert len(reported) == 1
    await hass.config_entries.async_unload(entry.entry_id)


async def test_what_a_model_began_is_not_done_again_when_it_dies(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    before = state_of(hass, "light.bed_light")
    llm_server.plan(
        tool_call("ha_control", {"action": "toggle", "entity_id": "light.bed_light"}), server_error(), server_error()
    )
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await say(hass, "Turn on the bed light" if before == "off" else "Turn off the bed light")
    assert len([event for event in called if event.data["domain"] == "light"]) == 1
    assert state_of(hass, "light.bed_light") != before
    assert "Scripted" in speech(result)


async def test_a_dead_model_still_asks(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server)
    context = Context(user_id=hass_admin_user.id)
    llm_server.respond(lambda body: server_error())
    question = await say(hass, "Unlock the front door", context=context)
    assert speech(question).endswith("?")
    assert state_of(hass, "lock.front_door") == "locked"
    await say(hass, "yes", question.conversation_id, context=context)
    await hass.async_block_till_done()
    assert state_of(hass, "lock.front_door") in ("unlocked", "unlocking")


async def test_an_answer_over_the_limit_says_so(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_answer_tokens": 100})
    story = " ".join(f"Chapter {number} was written by the fire." for number in range(200))
    llm_server.plan(text(story), text(story))
    for language, end in (("en", "Ask me to go on"), ("de", "Bitte mich fortzufahren")):
        answer, _, notice = speech(await say(hass, "Tell me a story", language=language)).partition("\n\n")
        assert story.startswith(answer)
        assert answer.endswith("by the fire.")
        assert len(answer) < 500
        assert end in notice


async def test_a_model_that_repeats_itself_is_stopped_and_says_so(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(endless(delta(content="Well. "), *[delta(content="I'm here to help. ")] * 300))
    first = await say(hass, "hello")
    answer = speech(first)
    assert answer.startswith("Well. I'm here to help.")
    assert answer.endswith("if it keeps happening, a larger model helps.")
    assert len(answer) < 1500
    llm_server.plan(text("Good evening."))
    assert speech(await say(hass, "good evening", first.conversation_id)) == "Good evening."
    assert b"here to help" not in llm_server.request.raw  # a model that reads it again goes on with it
