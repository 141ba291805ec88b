"""Taking back what needs a yes: it is asked about, wherever it was asked for."""

import asyncio
from collections.abc import Callable

from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import DOMAIN
from tests.house import act, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call

from .steps import control, do, look

pytestmark = pytest.mark.usefixtures("house_with_helpers")


async def test_a_lock_needs_a_yes(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server)
    await do(hass, "lock.unlock", "lock.front_door")
    llm_server.plan(tool_call("ha_control", {"action": "lock", "entity_id": "lock.front_door"}), text("Locked."))
    context = Context(user_id=hass_admin_user.id)
    conversation_id = (await say(hass, "lock the door", context=context)).conversation_id
    asked = await say(hass, "undo that", conversation_id, context=Context(user_id=hass_admin_user.id))
    assert asked.continue_conversation
    assert look(hass, "lock.front_door") == ["locked"]
    await say(hass, "yes", conversation_id, context=Context(user_id=hass_admin_user.id))
    assert look(hass, "lock.front_door") == ["unlocked"]


async def test_undoing_an_unlock_locks_without_a_question(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    context = Context(user_id=hass_admin_user.id)
    conversation_id = (await say(hass, "unlock front door", context=context)).conversation_id
    await say(hass, "yes", conversation_id, context=Context(user_id=hass_admin_user.id))
    assert look(hass, "lock.front_door") == ["unlocked"]
    answer = speech(await say(hass, "undo that", conversation_id, context=Context(user_id=hass_admin_user.id)))
    assert answer == "I've put Front Door back."
    assert look(hass, "lock.front_door") == ["locked"]


async def test_undo_that_was_confirmed_needs_no_tools_of_ours(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass, profile={"native_tools": False})
    await do(hass, "lock.unlock", "lock.front_door")
    context = Context(user_id=hass_admin_user.id)
    conversation_id = (await say(hass, "lock the front door", context=context)).conversation_id
    await hass.async_block_till_done(wait_background_tasks=True)
    assert look(hass, "lock.front_door") == ["locked"]
    await say(hass, "undo that", conversation_id, context=Context(user_id=hass_admin_user.id))
    answer = speech(await say(hass, "yes", conversation_id, context=Context(user_id=hass_admin_user.id)))
    assert answer == "Done. Front Door is unlocked."


async def test_an_unlocking_undo_asks_the_reader_of_its_answer(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "lock.unlock", "lock.front_door")
    await control(hass, hass_admin_user, "lock", "lock.front_door")
    asked = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert asked["question"] == "Front Door is locked. Unlock it?"
    assert look(hass, "lock.front_door") == ["locked"]
    answer = await act(hass, "confirm", Context(user_id=hass_admin_user.id), request_id=asked["confirmation"])
    assert answer == {"answer": "Done. Front Door is unlocked.", "success": True}


async def test_action_that_would_unlock_asks_in_repairs(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "lock.unlock", "lock.front_door")
    await control(hass, hass_admin_user, "lock", "lock.front_door")
    [action] = (await act(hass, "list_actions"))["actions"]
    asked = await act(hass, "undo", action_id=action["action_id"], confirm_via=["repairs"])  # nobody is known
    assert ir.async_get(hass).async_get_issue(DOMAIN, f"confirmation_{asked['confirmation']}") is not None
    assert look(hass, "lock.front_door") == ["locked"]
    await act(hass, "confirm", Context(user_id=hass_admin_user.id), request_id=asked["confirmation"])
    assert look(hass, "lock.front_door") == ["unlocked"]


async def test_action_may_not_unlock_when_nobody_can_be_asked(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "lock.unlock", "lock.front_door")
    await control(hass, hass_admin_user, "lock", "lock.front_door")
    with pytest.raises(HomeAssistantError):  # nobody reads the question
        await hass.services.async_call(DOMAIN, "undo", {}, blocking=True, context=Context(user_id=hass_admin_user.id))
    [action] = (await act(hass, "list_actions"))["actions"]
    with pytest.raises(HomeAssistantError):  # an automation
        await act(hass, "undo", action_id=action["action_id"])
    assert look(hass, "lock.front_door") == ["locked"]


async def test_the_rest_is_restored_without_theirs(hass: HomeAssistant, another_user: Callable[..., MockUser]) -> None:
    await set_up(hass)
    lights = ("light.bed_light", "light.ceiling_lights")
    for light in lights:
        await do(hass, "light.turn_off", light)
    user = another_user(*lights)
    asked = await say(hass, "turn on the lights in the bedroom", context=Context(user_id=user.id))
    assert [look(hass, light) for light in lights] == [["on"], ["on"]]
    user.mock_policy({"entities": {"entity_ids": {"light.bed_light": True}}})
    answer = await say(hass, "undo that", asked.conversation_id, context=Context(user_id=user.id))
    assert speech(answer) == "I've put Bed Light back. I can't undo this: Ceiling Lights."
    assert [look(hass, light) for light in lights] == [["off"], ["on"]]


async def test_undone_while_reloading(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    entry = await set_up(hass, llm_server)
    await do(hass, "light.turn_off", "light.bed_light")

    async def slowly(call: ServiceCall) -> None:
        begun.set()
        await go_on.wait()
        state = hass.states.get("light.bed_light")
        assert state is not None
        hass.states.async_set(state.entity_id, "on", state.attributes)

    hass.services.async_register("light", "turn_on", slowly)
    llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"}), text("It is on."))
    context = Context(user_id=hass_admin_user.id)
    turn = asyncio.create_task(say(hass, "please do so", context=context))
    await begun.wait()
    assert await hass.config_entries.async_reload(entry.entry_id)
    go_on.set()
    await turn
    assert len((await act(hass, "list_actions", context))["actions"]) == 1
    assert await hass.config_entries.async_reload(entry.entry_id)
    assert (await act(hass, "undo", context))["restored"]
    assert look(hass, "light.bed_light") == ["off"]


async def _say(hass: HomeAssistant, said: str, user: MockUser, conversation_id: str | None) -> tuple[str, str | None]:
    result = await say(hass, said, conversation_id, context=Context(user_id=user.id))
    return speech(result), result.conversation_id


@pytest.mark.parametrize("idle", [
    "turn on the moon", "dim the kitchen lights", "turn on the kitchen lights in the garden", "open the front door now",
])  # fmt: skip
async def test_after_a_command_that_did_nothing_it_asks_about_what_was_before(
    hass: HomeAssistant, hass_admin_user: MockUser, idle: str
) -> None:
    await set_up(hass)
    await do(hass, "light.turn_on", "light.bed_light")
    await do(hass, "light.turn_on", "light.kitchen_lights", brightness=3)
    _, conversation_id = await _say(hass, "turn off the bed light", hass_admin_user, None)
    await _say(hass, idle, hass_admin_user, conversation_id)
    asked, _ = await _say(hass, "undo that", hass_admin_user, conversation_id)
    assert asked == "The last thing I did: I turned off Bed Light. Undo that?"
    assert look(hass, "light.bed_light") == ["off"]
    why, _ = await _say(hass, "why?", hass_admin_user, conversation_id)
    assert why.startswith("Your last command changed nothing")
    answer, _ = await _say(hass, "yes", hass_admin_user, conversation_id)
    assert answer == "Done. Bed Light is on."
    assert look(hass, "light.bed_light") == ["on"]


@pytest.mark.parametrize("between", ["is the kitchen light on?", "thanks", "what did you just do?", "it is dark"])
async def test_after_other_words_it_takes_back_at_once(
    hass: HomeAssistant, hass_admin_user: MockUser, between: str
) -> None:
    await set_up(hass)
    await do(hass, "light.turn_on", "light.bed_light")
    _, conversation_id = await _say(hass, "turn off the bed light", hass_admin_user, None)
    await _say(hass, between, hass_admin_user, conversation_id)
    answer, _ = await _say(hass, "undo that", hass_admin_user, conversation_id)
    assert answer == "I've put Bed Light back."


async def test_it_goes_back_step_by_step_without_a_question(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    for light in ("light.bed_light", "light.kitchen_lights"):
        await do(hass, "light.turn_on", light)
    _, conversation_id = await _say(hass, "turn off the bed light", hass_admin_user, None)
    await _say(hass, "turn on the moon", hass_admin_user, conversation_id)
    await _say(hass, "turn off the kitchen lights", hass_admin_user, conversation_id)
    for name in ("Kitchen Lights", "Bed Light"):
        answer, _ = await _say(hass, "undo that", hass_admin_user, conversation_id)
        assert answer == f"I've put {name} back."


async def test_a_command_that_waited_for_a_yes_is_taken_back_at_once(
    hass: HomeAssistant, hass_admin_user: MockUser
) -> None:
    await set_up(hass)
    _, conversation_id = await _say(hass, "unlock front door", hass_admin_user, None)
    await _say(hass, "yes", hass_admin_user, conversation_id)
    answer, _ = await _say(hass, "undo that", hass_admin_user, conversation_id)
    assert answer == "I've put Front Door back."


async def test_after_a_no_it_asks_about_what_was_before(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "light.turn_on", "light.bed_light")
    _, conversation_id = await _say(hass, "turn off the bed light", hass_admin_user, None)
    await _say(hass, "unlock front door", hass_admin_user, conversation_id)
    await _say(hass, "no", hass_admin_user, conversation_id)
    asked, _ = await _say(hass, "undo that", hass_admin_user, conversation_id)
    assert asked == "The last thing I did: I turned off Bed Light. Undo that?"
    await _say(hass, "no", hass_admin_user, conversation_id)
    assert look(hass, "light.bed_light") == ["off"]


async def test_a_model_that_did_nothing_leaves_the_question(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser
) -> None:
    await set_up(hass, llm_server)
    await do(hass, "light.turn_on", "light.bed_light")
    llm_server.plan(tool_call("ha_control", {"action": "turn_off", "entity_id": "light.bed_light"}), text("Off."))
    _, conversation_id = await _say(hass, "turn off the bed light", hass_admin_user, None)
    llm_server.plan(text("There is no moon here."))
    await _say(hass, "turn on the moon", hass_admin_user, conversation_id)
    asked, _ = await _say(hass, "undo that", hass_admin_user, conversation_id)
    assert asked == "The last thing I did: I turned off Bed Light. Undo that?"
