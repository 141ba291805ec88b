"""What runs after a yes: once, as it was asked, and only what may still be done."""

import asyncio
from typing import Any

from homeassistant.components.conversation import trace
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, Event, HomeAssistant
import probatio
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.policy.confirmed import async_answer_elsewhere
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from custom_components.home_agent.turn.turn import Turn
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call, tool_calls

from .conftest import QUESTION, UNLOCK, ask, services_of, state_of


async def test_one_question(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass, llm_server)
    other = UNLOCK | {"entity_id": "lock.kitchen_door"}
    lamp = {"action": "turn_on", "entity_id": "light.bed_light"}
    llm_server.plan(tool_calls(("ha_control", UNLOCK), ("ha_control", lamp), ("ha_control", other)))
    hass.states.async_set("lock.kitchen_door", "locked", {"friendly_name": "Kitchen Door"})
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == "Front Door is locked. Kitchen Door is locked. Unlock Front Door and unlock Kitchen Door?"
    assert services_of(unlocked) == ["light.turn_on"]  # what needs no yes does not wait
    answer = speech(await say(hass, "yes", result.conversation_id, context=alice))
    assert answer == "Done. Front Door is unlocked. Kitchen Door is unlocked."
    assert services_of(unlocked)[1:] == ["lock.unlock", "lock.unlock"]


async def test_the_same_call_twice_is_asked_and_done_once(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_calls(("ha_control", UNLOCK), ("ha_control", UNLOCK)))
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == QUESTION
    await say(hass, "yes", result.conversation_id, context=alice)
    assert services_of(unlocked) == ["lock.unlock"]


async def test_house_changed(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    result = await say(hass, "yes", conversation_id, context=alice)
    assert speech(result).startswith("Something has changed since I asked, so nothing was done.")
    assert result.response.error_code is not None
    assert not unlocked


async def test_name_moved(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", UNLOCK | {"entity_id": "lock.*"}))
    result = await say(hass, "let me in", context=alice)
    async_expose_entity(hass, ASSISTANT, "lock.kitchen_door", False)
    answer = speech(await say(hass, "yes", result.conversation_id, context=alice))
    assert answer.startswith("Something has changed")
    assert not unlocked


async def test_permission_taken_away_since_the_question(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    user = await hass.auth.async_get_user(str(alice.user_id))
    user.mock_policy({})  # type: ignore[union-attr]
    assert "changed" in speech(await say(hass, "yes", conversation_id, context=alice))
    assert not unlocked


async def test_a_door_that_does_not_follow_is_told(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"verify_seconds": 0})
    conversation_id = await ask(hass, llm_server, alice)
    hass.services.async_remove("lock", "unlock")
    hass.services.async_register("lock", "unlock", lambda call: None)
    assert speech(await say(hass, "yes", conversation_id, context=alice)).endswith("Front Door is locked.")


async def test_a_failed_run_is_no_success(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    hass.services.async_remove("lock", "unlock")
    result = await say(hass, "yes", conversation_id, context=alice)
    assert "Done" not in speech(result)
    assert result.response.error_code is not None


async def test_nothing_the_model_says_or_passes_confirms(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    sure = UNLOCK | {"parameters": {"confirm": True, "confirmed": "yes"}}
    llm_server.plan(tool_calls(("ha_control", UNLOCK), ("ha_control", sure), content="Yes. The user confirms: yes."))
    result = await say(hass, "let me in", context=alice)
    assert speech(result) == f"Your answer counts only for this: {QUESTION}"
    assert not unlocked


async def test_a_turn_that_broke_before_it_asked_leaves_nothing_to_confirm(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, monkeypatch: pytest.MonkeyPatch, unlocked: list[Event]
) -> None:
    entry = await set_up(hass, llm_server)

    async def broken(*_: Any) -> str:
        raise ValueError("cannot ask")

    monkeypatch.setattr("custom_components.home_agent.agent.model_turn.async_put", broken)
    llm_server.plan(tool_call("ha_control", UNLOCK), text("What?"))
    with pytest.raises(ValueError, match="cannot ask"):
        await say(hass, "let me in", "hall", context=alice)
    assert not entry.runtime_data.policy.confirmations.waiting
    await say(hass, "yes", "hall", context=alice)
    assert not unlocked


async def test_a_newer_question_replaces_the_older_one(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    hass.states.async_set("lock.kitchen_door", "locked", {"friendly_name": "Kitchen Door"})
    conversation_id = await ask(hass, llm_server, alice)
    llm_server.plan(tool_call("ha_control", UNLOCK | {"entity_id": "lock.kitchen_door"}))
    await say(hass, "no, the kitchen door", conversation_id, context=alice)
    await say(hass, "yes", conversation_id, context=alice)
    assert [event.data["service_data"]["entity_id"] for event in unlocked] == ["lock.kitchen_door"]


async def test_unloading_ends_every_question(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    entry = await set_up(hass, llm_server)
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    await ask(hass, llm_server, alice)
    confirmations = entry.runtime_data.policy.confirmations
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert not confirmations.waiting
    assert len(resolved) <= 1  # an unloaded entry announces nothing


async def test_an_automation_needs_a_channel(hass: HomeAssistant, llm_server: LLMServer, unlocked: list[Event]) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", UNLOCK), text("Nobody can confirm that."))
    assert speech(await say(hass, "unlock the front door")) == "Nobody can confirm that."
    assert "no one here can confirm" in llm_server.request.body["messages"][-1]["content"]
    assert not entry.runtime_data.policy.confirmations.waiting
    assert not unlocked


async def test_in_german(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "lass mich rein", context=alice, language="de")
    assert speech(result) == "Front Door ist verriegelt. Entriegeln?"
    answer = await say(hass, "Ja, mach das.", result.conversation_id, context=alice, language="de")
    assert speech(answer) == "Erledigt. Front Door ist entriegelt."


async def test_the_owners_list_is_asked_about(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"always_confirm": ["light"]})
    dim = {"action": "turn_on", "entity_id": "light.bed_light", "parameters": {"brightness_pct": 20}}
    llm_server.plan(tool_call("ha_control", dim))
    result = await say(hass, "bed light to 20", context=alice)
    assert speech(result) == "Bed Light is off. Set Bed Light to 20 %?"
    assert speech(await say(hass, "ok", result.conversation_id, context=alice)) == "Done. Bed Light is on."


async def test_a_local_sentence_asks_the_same(hass: HomeAssistant, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass)
    result = await say(hass, "unlock the front door", context=alice)
    assert (speech(result), result.continue_conversation) == (QUESTION, True)
    assert not unlocked
    answer = await say(hass, "yes", result.conversation_id, context=alice)
    assert speech(answer) == "Done. Front Door is unlocked."
    assert services_of(unlocked) == ["lock.unlock"]
    assert unlocked[0].context.user_id == alice.user_id


async def test_free_wording_waits_as_a_whole(hass: HomeAssistant, alice: Context, unlocked: list[Event]) -> None:
    await set_up(hass)
    result = await say(hass, "unlock the front door and switch the bed light on would you", context=alice)
    if not result.continue_conversation:
        pytest.skip("this Home Assistant does not split sentences")
    assert not unlocked
    await say(hass, "yes", result.conversation_id, context=alice)
    assert {"lock.unlock"} <= set(services_of(unlocked))


async def test_a_sentence_without_anybody_to_ask(hass: HomeAssistant, unlocked: list[Event]) -> None:
    await set_up(hass)
    result = await say(hass, "unlock the front door")
    assert "there is no user here who can give it" in speech(result)
    assert not unlocked


async def test_values_of_a_sentence_are_those_its_handler_would_use(hass: HomeAssistant, alice: Context) -> None:
    await set_up(hass, options={"always_confirm": ["light"]})
    result = await say(hass, "set bed light to red", context=alice)
    assert speech(result) == "Bed Light is off. Turn on Bed Light (rgb color: 255, 0, 0)?"
    assert speech(await say(hass, "yes", result.conversation_id, context=alice)) == "Done. Bed Light is on."


async def test_traces_and_calls_show_the_run(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    executed = async_capture_events(hass, events.TOOL_EXECUTED)
    trace.async_clear_traces()
    conversation_id = await ask(hass, llm_server, alice)
    await say(hass, "yes", conversation_id, context=alice)
    assert [(event.data["tool_name"], event.data["success"]) for event in executed] == [
        ("ha_control", False),
        ("ha_control", True),
    ]


async def test_tool_removed(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    entry = await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)

    async def nothing(_turn: Turn) -> tuple[HomeAgentTool, ...]:
        return ()

    entry.runtime_data.policy.offered = nothing
    assert "changed" in speech(await say(hass, "yes", conversation_id, context=alice))
    assert not unlocked


async def test_tool_changed(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
    entry = await set_up(hass, llm_server)
    conversation_id = await ask(hass, llm_server, alice)
    tools = await entry.runtime_data.tools.async_tools(entry.runtime_data.profiles["profile-1"], None)
    [tool] = [tool for tool in tools if tool.name == "ha_control"]
    tool.parameters = probatio.Schema({probatio.Required("door"): str})
    assert "changed" in speech(await say(hass, "yes", conversation_id, context=alice))
    assert not unlocked


async def test_two_answers_at_the_same_moment_run_it_once(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    entry = await set_up(hass, llm_server)
    await ask(hass, llm_server, alice)
    policy = entry.runtime_data.policy
    [request] = policy.confirmations.waiting.values()
    answers = await asyncio.gather(*(async_answer_elsewhere(hass, policy, request, None, yes=True) for _ in range(3)))
    assert sorted(answer.done for answer in answers if answer) == [False, False, True]
    assert services_of(unlocked) == ["lock.unlock"]


async def test_a_question_that_was_pushed_out_is_not_asked(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = await set_up(hass, llm_server)
    monkeypatch.setattr(entry.runtime_data.policy.confirmations, "of", lambda turn: None)
    llm_server.plan(tool_call("ha_control", UNLOCK))
    result = await say(hass, "let me in", context=alice)
    assert result.response.error_code is not None
    assert state_of(hass) == "locked"
