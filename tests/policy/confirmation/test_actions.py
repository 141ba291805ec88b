"""Answers by action: by whoever asked, and by nobody else."""

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import act, say, set_up
from tests.llm_server import LLMServer, text, tool_call

from .conftest import Add, process, state_of


async def test_confirm_as_whoever_asked(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    answer = await act(hass, "confirm", alice, request_id=request_id)
    assert answer == {"answer": "Done. Front Door is unlocked.", "success": True}
    with pytest.raises(ServiceValidationError) as error:
        await act(hass, "confirm", alice, request_id=request_id)
    assert error.value.translation_key == "request_not_found"


async def test_reject_as_whoever_asked(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    answer = await act(hass, "reject", alice, request_id=request_id)
    assert answer == {"answer": "OK, nothing was done.", "success": True}
    assert state_of(hass) == "locked"


@pytest.mark.parametrize("action", ["confirm", "reject"])
async def test_actions_of_others_are_refused(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, action: str
) -> None:
    await set_up(hass, llm_server)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    for other in (person("Bob"), Context()):
        with pytest.raises(ServiceValidationError) as error:
            await act(hass, action, other, request_id=request_id)
        assert error.value.translation_key == "request_not_yours"
    await act(hass, "confirm", alice, request_id=request_id)
    assert state_of(hass) == "unlocked"


async def test_confirm_with_a_pin(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    for wrong in ({}, {"pin": "1234"}):
        with pytest.raises(ServiceValidationError) as error:
            await act(hass, "confirm", alice, request_id=request_id, **wrong)
        assert error.value.translation_key == "request_pin_wrong"
    await act(hass, "confirm", alice, request_id=request_id, pin="4711")
    assert state_of(hass) == "unlocked"


async def test_a_user_that_is_gone_since(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server)
    asking = MockUser(name="Guest", is_owner=False).add_to_hass(hass)
    asking.mock_policy({"entities": True})
    request_id = (await process(hass, llm_server, context=Context(user_id=asking.id)))["confirmation"]
    asking.is_active = False
    answer = await act(hass, "confirm", Context(user_id=hass_admin_user.id), request_id=request_id)
    assert answer["success"] is False
    assert state_of(hass) == "locked"


async def test_a_script_of_a_model_confirms_nothing(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    """Even one that the owner wrote, with the right user and the right id."""
    await set_up(hass, llm_server)
    step = {"action": "home_agent.confirm", "data": {"request_id": "{{ request_id }}"}}
    assert await async_setup_component(hass, "script", {"script": {"confirm_it": {"sequence": [step]}}})
    hass.states.async_set("script.confirm_it", "off")
    async_expose_entity(hass, ASSISTANT, "script.confirm_it", True)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    run = {"action": "turn_on", "entity_id": "script.confirm_it", "parameters": {"request_id": request_id}}
    llm_server.plan(tool_call("ha_control", run), text("Tried."))
    await say(hass, "go on", "another", context=alice)
    await hass.async_block_till_done()
    assert state_of(hass) == "locked"


async def test_a_yes_said_by_a_script_is_none(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"never_confirm": ["script.say_yes"]})
    conversation_id = (await process(hass, llm_server, context=alice))["conversation_id"]
    step = {"action": "home_agent.process", "data": {"text": "yes", "conversation_id": conversation_id}}
    assert await async_setup_component(hass, "script", {"script": {"say_yes": {"sequence": [step]}}})
    async_expose_entity(hass, ASSISTANT, "script.say_yes", True)
    run = {"action": "turn_on", "entity_id": "script.say_yes"}
    llm_server.plan(tool_call("ha_control", run), text("Said."))
    await say(hass, "go on", "another", context=alice)
    await hass.async_block_till_done()
    assert state_of(hass) == "locked"
