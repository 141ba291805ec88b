"""What the endpoint receives of a conversation that Home Assistant has forgotten."""

from datetime import timedelta
import itertools
import json

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import say, set_up
from tests.llm_server import LLMServer, error, text, tool_call

from .conftest import end_sessions, restart, say_all, sent, words

pytestmark = pytest.mark.usefixtures("demo_house")

TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}
HELLO = ["user: hello", "assistant: Hello.", "user: again"]


async def test_conversation_goes_on_after_a_restart(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("Hello."), text("Again."))
    first = await say(hass, "hello")
    await restart(hass, entry)
    second = await say(hass, "again", first.conversation_id)
    assert words(llm_server) == HELLO
    assert second.conversation_id != first.conversation_id  # Home Assistant gave it a new one


async def test_conversation_goes_on(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Hello."), text("Again."))
    first = await say(hass, "hello", "doorbell")
    await end_sessions(hass, freezer)
    second = await say(hass, "again", "doorbell")
    assert words(llm_server) == HELLO
    assert first.conversation_id == second.conversation_id == "doorbell"


async def test_message_times(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to("2026-11-20T21:05:00+00:00")
    await set_up(hass, llm_server)
    llm_server.plan(text("Hello."), text("Fine."), text("Again."))
    await say(hass, "hello", "a")
    await say(hass, "how are you?", "a")
    await end_sessions(hass, freezer)
    await say(hass, "again", "a")
    earlier, _, later, _, _ = sent(llm_server)
    assert earlier["content"] == '<house>{"time":"22:05","date":"Friday 2026-11-20"}</house>\n\nhello'
    assert later["content"] == '<house>{"time":"22:05"}</house>\n\nhow are you?'


async def test_requests_grow(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), text("On."))
    conversation_id = (await say(hass, "bed light on")).conversation_id
    await restart(hass, entry)
    llm_server.plan(text("Yes."), tool_call("ha_control", TURN_ON), text("It is."), text("Bye."))
    for message in ("is it on?", "sure?", "bye"):
        freezer.tick(60)
        conversation_id = (await say(hass, message, conversation_id)).conversation_id
    requests = [request.body["messages"] for request in llm_server.requests[2:]]
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before
    assert words(llm_server)[:2] == ["user: bed light on", "assistant: "]


async def test_sent_once(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    entry = await set_up(hass, llm_server)
    first = (await say_all(hass, llm_server, None, "one", "two"))[-1]
    await end_sessions(hass, freezer)
    second = (await say_all(hass, llm_server, first, "three"))[-1]
    assert second != first
    await restart(hass, entry)
    await say_all(hass, llm_server, second, "four")
    said = [f"user: {word}" for word in ("one", "two", "three", "four")]
    assert [item for item in words(llm_server) if item.startswith("user")] == said
    await restart(hass, entry)
    await say_all(hass, llm_server, first, "five")  # the oldest id leads to the same conversation
    assert [item for item in words(llm_server) if item.startswith("user")] == [*said, "user: five"]


async def test_tool_calls_return_with_outcome_but_no_result(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(
        tool_call("ha_control", TURN_ON, content="One moment."),
        tool_call("ha_control", {"action": "turn_on", "entity_id": "light.ghost"}),
        text("One of them."),
        text("Yes."),
    )
    conversation_id = (await say(hass, "lights on")).conversation_id
    await restart(hass, entry)
    await say(hass, "sure?", conversation_id)
    _, called, result, second, refused, answer, _ = sent(llm_server)
    assert called["content"] == "One moment."
    assert json.loads(called["tool_calls"][0]["function"]["arguments"]) == TURN_ON
    assert result["tool_call_id"] == called["tool_calls"][0]["id"]
    assert json.loads(result["content"]) == {"success": True, "result": "no longer kept"}
    assert second["tool_calls"][0]["id"] != called["tool_calls"][0]["id"]
    assert json.loads(refused["content"]) == {"success": False, "error": "no longer kept"}
    assert answer == {"role": "assistant", "content": "One of them."}


async def test_calls_of_tools_that_are_gone_are_left_out(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), text("On."), text("Yes."))
    conversation_id = (await say(hass, "light on")).conversation_id
    hass.config_entries.async_update_entry(
        entry, options={"default_profile_settings": {"tools_config": {"native_tools": False}}}
    )
    await hass.async_block_till_done()  # it is loaded anew
    await restart(hass, entry)
    await say(hass, "sure?", conversation_id)
    assert [item["role"] for item in sent(llm_server)] == ["user", "assistant", "user"]


async def test_not_more_than_the_profile_sends(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"history_max_messages": 4})
    [*_, conversation_id] = await say_all(hass, llm_server, None, "one", "two", "three")
    await restart(hass, entry)
    await say_all(hass, llm_server, conversation_id, "four")
    assert words(llm_server) == ["user: two", "assistant: ok", "user: three", "assistant: ok", "user: four"]


async def test_not_more_tokens_than_the_profile_sends(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"history_max_tokens": 100})
    [*_, conversation_id] = await say_all(hass, llm_server, None, "long " * 200, "short")
    await restart(hass, entry)
    await say_all(hass, llm_server, conversation_id, "again")
    assert words(llm_server) == ["user: short", "assistant: ok", "user: again"]


async def test_not_older(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass, llm_server, profile={"history_max_age_hours": 2})
    await say_all(hass, llm_server, "a", "one")
    await end_sessions(hass, freezer, minutes=90)
    await say_all(hass, llm_server, "a", "two")
    await end_sessions(hass, freezer, minutes=60)
    await say_all(hass, llm_server, "a", "three")
    assert words(llm_server) == ["user: two", "assistant: ok", "user: three"]


async def test_seven_days_are_all(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> None:
    entry = await set_up(hass, llm_server, profile={"history_max_age_hours": 168})
    await say_all(hass, llm_server, "a", "one")
    freezer.tick(timedelta(days=7, minutes=1))
    await restart(hass, entry)
    await say_all(hass, llm_server, "a", "two")
    assert words(llm_server) == ["user: two"]


@pytest.mark.parametrize("other", ["read_only", "nobody"])
async def test_another_user_gets_nothing(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, hass_read_only_user: MockUser, other: str
) -> None:
    entry = await set_up(hass, llm_server)
    mine = Context(user_id=hass_admin_user.id)
    theirs = Context(user_id=hass_read_only_user.id if other == "read_only" else None)
    [first] = await say_all(hass, llm_server, None, "my secret", context=mine)
    await restart(hass, entry)
    await say_all(hass, llm_server, first, "what did I say?", context=theirs)
    assert words(llm_server) == ["user: what did I say?"]
    await say_all(hass, llm_server, first, "and I?", context=mine)
    assert words(llm_server) == ["user: my secret", "assistant: ok", "user: and I?"]


async def test_another_satellite_gets_nothing(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    await say_all(hass, llm_server, "a", "one", satellite_id="assist_satellite.kitchen")
    await restart(hass, entry)
    await say_all(hass, llm_server, "a", "two", satellite_id="assist_satellite.bath")
    assert words(llm_server) == ["user: two"]
    await restart(hass, entry)
    await say_all(hass, llm_server, "a", "three", satellite_id="assist_satellite.kitchen")
    assert words(llm_server) == ["user: one", "assistant: ok", "user: three"]


async def test_failed_turn_is_not_kept(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(error(400, "no"), text("Fine."))
    first = await say(hass, "one")
    await restart(hass, entry)
    await say(hass, "two", first.conversation_id)
    assert words(llm_server) == ["user: two"]


async def test_answers_of_the_house_are_kept(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"local_first": True})
    first = await say(hass, "turn on bed light")
    await restart(hass, entry)
    llm_server.plan(text("The bed light."))
    await say(hass, "which light was that?", first.conversation_id)
    assert words(llm_server)[:2] == ["user: turn on bed light", "assistant: Turned on the light"]


async def test_history_that_is_off_is_not_kept(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server, profile={"history_enabled": False})
    [first] = await say_all(hass, llm_server, None, "one")
    assert entry.runtime_data.conversations.counts["conversations"] == 0
    await restart(hass, entry)
    await say_all(hass, llm_server, first, "two")
    assert words(llm_server) == ["user: two"]
