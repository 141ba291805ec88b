"""Other ways to answer: phones, Repairs, actions. Each with the right people and the wrong ones."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, Event, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import device_registry as dr, issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockUser,
    async_capture_events,
    async_fire_time_changed,
    async_mock_service,
)
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent import events
from custom_components.home_agent.confirming.channels import CONFIRM, EVENT, REJECT
from custom_components.home_agent.const import ASSISTANT, DOMAIN
from tests.house import say, set_up
from tests.llm_server import LLMServer, text, tool_call

from .conftest import QUESTION, UNLOCK, Add, services_of, state_of

PHONE = "notify.mobile_app_alice_s_phone"


def add_phone(hass: HomeAssistant, owner: Context, name: str = "Alice's Phone") -> tuple[str, list[ServiceCall]]:
    """Register somebody's phone; return its device and what it is sent."""
    entry = MockConfigEntry(domain="mobile_app", data={"user_id": owner.user_id, "device_name": name})
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("mobile_app", name)}, name=name
    )
    service = "mobile_app_" + name.lower().replace("'", "_").replace(" ", "_")
    return device.id, async_mock_service(hass, "notify", service)


async def process(
    hass: HomeAssistant, server: LLMServer, *confirm_via: str, context: Context | None = None
) -> dict[str, Any]:
    """Have the model unlock the front door in an automation; return the response."""
    server.plan(tool_call("ha_control", UNLOCK))
    response = await hass.services.async_call(
        DOMAIN,
        "process",
        {"text": "somebody rings", "confirm_via": list(confirm_via)},
        blocking=True,
        return_response=True,
        context=context or Context(),
    )
    return dict(response or {})


async def press(hass: HomeAssistant, prefix: str, request_id: str, context: Context, **data: Any) -> None:
    """Press a button of the notification, as the app reports it."""
    hass.bus.async_fire(EVENT, {"action": f"{prefix}{request_id}", **data}, context=context)
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_a_phone_is_asked_and_its_owner_answers(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    _, sent = add_phone(hass, alice)
    requested = async_capture_events(hass, events.CONFIRMATION_REQUESTED)
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    executed = async_capture_events(hass, events.TOOL_EXECUTED)
    answer = await process(hass, llm_server, PHONE)
    assert (answer["answer"], answer["success"]) == (QUESTION, True)
    request_id = answer["confirmation"]
    assert [event.data["request_id"] for event in requested] == [request_id]
    notification = sent[0].data
    assert notification["message"] == QUESTION
    assert notification["title"] == "Home Agent asks for your confirmation"
    assert [action["title"] for action in notification["data"]["actions"]] == ["Yes", "No"]
    unlocked.clear()
    await press(hass, CONFIRM, request_id, alice)
    assert state_of(hass) == "unlocked"
    assert [(event.data["outcome"], event.data["user_id"]) for event in resolved] == [("confirmed", alice.user_id)]
    assert [event.data["success"] for event in executed] == [False, True]
    assert services_of(unlocked)[:2] == ["notify.mobile_app_alice_s_phone", "lock.unlock"]
    assert sent[-1].data["message"] == "clear_notification"
    assert sent[-1].data["data"] == {"tag": notification["data"]["tag"]}

    await press(hass, CONFIRM, request_id, alice)  # twice is once
    assert services_of(unlocked).count("lock.unlock") == 1


async def test_no_on_the_phone(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    add_phone(hass, alice)
    resolved = async_capture_events(hass, events.CONFIRMATION_RESOLVED)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    await press(hass, REJECT, request_id, alice)
    await press(hass, CONFIRM, request_id, alice)
    assert [event.data["outcome"] for event in resolved] == ["rejected"]
    assert state_of(hass) == "locked"


async def test_own_phones_and_phones_by_device(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add
) -> None:
    await set_up(hass, llm_server)
    _, own = add_phone(hass, alice)
    bobs_device, bobs = add_phone(hass, person("Bob"), "Bob's Phone")
    await process(hass, llm_server, "mobile_app", context=alice)
    assert (len(own), len(bobs)) == (1, 0)
    await process(hass, llm_server, bobs_device, context=alice)
    assert (len(own), len(bobs)) == (1, 1)


@pytest.mark.parametrize("who", ["stranger", "nobody", "unknown"])
async def test_somebody_elses_button_does_nothing(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, who: str
) -> None:
    await set_up(hass, llm_server)
    add_phone(hass, alice)
    pressed_by = {"stranger": person("Bob"), "nobody": Context(), "unknown": Context(user_id="who")}[who]
    request_id = (await process(hass, llm_server, PHONE, context=alice))["confirmation"]
    await press(hass, CONFIRM, request_id, pressed_by)
    assert state_of(hass) == "locked"
    await press(hass, CONFIRM, request_id, alice)
    assert state_of(hass) == "unlocked"


async def test_an_administrator_answers_for_everybody(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, hass_admin_user: MockUser
) -> None:
    await set_up(hass, llm_server)
    add_phone(hass, alice)
    request_id = (await process(hass, llm_server, PHONE, context=alice))["confirmation"]
    await press(hass, CONFIRM, request_id, Context(user_id=hass_admin_user.id))
    assert state_of(hass) == "unlocked"


async def test_whose_phone_is_named_opens_only_what_is_theirs(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]
) -> None:
    await set_up(hass, llm_server)
    add_phone(hass, alice)
    user = await hass.auth.async_get_user(str(alice.user_id))
    user.mock_policy({})  # type: ignore[union-attr]
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    await press(hass, CONFIRM, request_id, alice)
    assert "lock.unlock" not in services_of(unlocked)


async def test_other_buttons_are_none_of_ours(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    add_phone(hass, alice)
    await process(hass, llm_server, PHONE, context=alice)
    await press(hass, "SOMETHING_ELSE_", "1", alice)
    await press(hass, CONFIRM, "01KA5MXZ4T8Q0D4N3F1S7W2RBY", alice)
    assert state_of(hass) == "locked"


async def test_a_pin_is_typed_on_the_phone(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    _, sent = add_phone(hass, alice)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    assert sent[0].data["data"]["actions"][0]["behavior"] == "textInput"
    await press(hass, CONFIRM, request_id, alice)
    await press(hass, CONFIRM, request_id, alice, reply_text="1234")
    assert state_of(hass) == "locked"
    await press(hass, CONFIRM, request_id, alice, reply_text="4711")
    assert state_of(hass) == "unlocked"


async def test_a_phone_that_cannot_be_reached_leaves_the_other_ways(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, caplog: pytest.LogCaptureFixture
) -> None:
    await set_up(hass, llm_server)

    async def fail(call: ServiceCall) -> None:
        raise HomeAssistantError("no push")

    hass.services.async_register("notify", "mobile_app_alice_s_phone", fail)
    answer = await process(hass, llm_server, PHONE, context=alice)
    assert answer["confirmation"]
    assert "could not be used for a confirmation" in caplog.text


@pytest.mark.parametrize("channel", ["notify.nobody", "sms", "not-a-device", "light.bed_light"])
async def test_unknown_channels_are_refused_before_anything_happens(
    hass: HomeAssistant, llm_server: LLMServer, channel: str
) -> None:
    await set_up(hass, llm_server)
    with pytest.raises(ServiceValidationError) as error:
        await hass.services.async_call(
            DOMAIN, "process", {"text": "hi", "confirm_via": [channel]}, blocking=True, return_response=True
        )
    assert error.value.translation_placeholders == {"channel": channel}


async def test_a_spoken_yes_takes_the_other_questions_back(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context
) -> None:
    await set_up(hass, llm_server)
    _, sent = add_phone(hass, alice)
    answer = await process(hass, llm_server, PHONE, "repairs", context=alice)
    assert len(ir.async_get(hass).issues) == 1
    await say(hass, "yes", answer["conversation_id"], context=alice)
    await hass.async_block_till_done()
    assert state_of(hass) == "unlocked"
    assert not [issue for issue in ir.async_get(hass).issues if issue[0] == DOMAIN]
    assert sent[-1].data["message"] == "clear_notification"


async def test_nobody_says_yes_in_an_automations_conversation(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    answer = await process(hass, llm_server, "repairs")
    llm_server.plan(text("What?"))
    await say(hass, "yes", answer["conversation_id"])
    await say(hass, "something else", answer["conversation_id"])
    assert state_of(hass) == "locked"


# Repairs


async def fix(client: Any, issue_id: str) -> tuple[int, dict[str, Any]]:
    """Start the flow of an issue."""
    answer = await client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": issue_id})
    return answer.status, await answer.json() if answer.status == HTTPStatus.OK else {}


async def go_on(client: Any, flow_id: str, **data: Any) -> dict[str, Any]:
    """Send the next step."""
    answer = await client.post(f"/api/repairs/issues/fix/{flow_id}", json=data)
    assert answer.status == HTTPStatus.OK, await answer.text()
    return dict(await answer.json())


async def ask_in_repairs(hass: HomeAssistant, server: LLMServer, context: Context | None = None) -> str:
    """Have a question put in Repairs; return its issue."""
    assert await async_setup_component(hass, "repairs", {})
    await process(hass, server, "repairs", context=context)
    [(_, issue_id)] = [key for key in ir.async_get(hass).issues if key[0] == DOMAIN]
    return issue_id


async def test_repairs_shows_the_question_to_administrators_and_runs_it(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    issue = ir.async_get(hass).async_get_issue(DOMAIN, issue_id)
    assert issue is not None
    assert "Front Door" not in str(issue)  # everybody may list issues
    client = await hass_client()
    _, form = await fix(client, issue_id)
    assert (form["type"], form["menu_options"]) == ("menu", ["confirm", "reject"])
    assert form["description_placeholders"] == {"question": QUESTION}
    assert state_of(hass) == "locked"
    done = await go_on(client, form["flow_id"], next_step_id="confirm")
    assert done["type"] == "create_entry"
    assert state_of(hass) == "unlocked"
    assert not ir.async_get(hass).async_get_issue(DOMAIN, issue_id)


async def test_repairs_rejects(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    assert (await go_on(client, form["flow_id"], next_step_id="reject"))["type"] == "create_entry"
    assert state_of(hass) == "locked"
    assert not ir.async_get(hass).async_get_issue(DOMAIN, issue_id)


async def test_repairs_is_for_administrators(
    hass: HomeAssistant,
    llm_server: LLMServer,
    hass_client: ClientSessionGenerator,
    hass_read_only_access_token: str,
    socket_enabled: None,
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    status, _ = await fix(await hass_client(hass_read_only_access_token), issue_id)
    assert status == HTTPStatus.UNAUTHORIZED


async def test_repairs_asks_for_the_pin(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    form = await go_on(client, form["flow_id"], next_step_id="confirm")
    assert (form["step_id"], form["errors"]) == ("confirm", {})
    for _ in range(2):
        form = await go_on(client, form["flow_id"], pin="1234")
        assert form["errors"] == {"pin": "pin_wrong"}
    assert (await go_on(client, form["flow_id"], pin="4711"))["type"] == "create_entry"
    assert state_of(hass) == "unlocked"


async def test_repairs_and_too_many_wrong_pins(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    form = await go_on(client, form["flow_id"], next_step_id="confirm")
    ends = [await go_on(client, form["flow_id"], pin="1234") for _ in range(3)]
    assert (ends[-1]["type"], ends[-1]["reason"]) == ("abort", "over")
    assert state_of(hass) == "locked"


@pytest.mark.parametrize("step", ["confirm", "reject", None])
async def test_repairs_of_what_is_over(
    hass: HomeAssistant,
    llm_server: LLMServer,
    hass_client: ClientSessionGenerator,
    socket_enabled: None,
    freezer: FrozenDateTimeFactory,
    step: str | None,
) -> None:
    entry = await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    if step is None:
        confirmations = entry.runtime_data.policy.confirmations
        confirmations._requests.clear()
        _, end = await fix(client, issue_id)
    else:
        _, form = await fix(client, issue_id)
        freezer.tick(timedelta(seconds=121))
        async_fire_time_changed(hass)
        await hass.async_block_till_done()
        end = await go_on(client, form["flow_id"], next_step_id=step)
    assert (end["type"], end["reason"]) == ("abort", "over")
    assert state_of(hass) == "locked"


async def test_repairs_says_when_it_could_not_be_done(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    hass.services.async_remove("lock", "unlock")
    end = await go_on(client, form["flow_id"], next_step_id="confirm")
    assert (end["type"], end["reason"]) == ("abort", "failed")
    assert state_of(hass) == "locked"


# Actions


async def answer_by_action(hass: HomeAssistant, name: str, context: Context, **data: Any) -> dict[str, Any]:
    response = await hass.services.async_call(DOMAIN, name, data, blocking=True, return_response=True, context=context)
    return dict(response or {})


async def test_confirm_as_whoever_asked(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    answer = await answer_by_action(hass, "confirm", alice, request_id=request_id)
    assert answer == {"answer": "Done. Front Door is unlocked.", "success": True}
    with pytest.raises(ServiceValidationError) as error:
        await answer_by_action(hass, "confirm", alice, request_id=request_id)
    assert error.value.translation_key == "request_not_found"


async def test_reject_as_whoever_asked(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    answer = await answer_by_action(hass, "reject", alice, request_id=request_id)
    assert answer == {"answer": "All right, nothing was done.", "success": True}
    assert state_of(hass) == "locked"


@pytest.mark.parametrize("action", ["confirm", "reject"])
async def test_actions_of_others_are_refused(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, action: str
) -> None:
    await set_up(hass, llm_server)
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    for other in (person("Bob"), Context()):
        with pytest.raises(ServiceValidationError) as error:
            await answer_by_action(hass, action, other, request_id=request_id)
        assert error.value.translation_key == "request_not_yours"
    await answer_by_action(hass, "confirm", alice, request_id=request_id)
    assert state_of(hass) == "unlocked"


async def test_confirm_with_a_pin(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    request_id = (await process(hass, llm_server, context=alice))["confirmation"]
    for wrong in ({}, {"pin": "1234"}):
        with pytest.raises(ServiceValidationError) as error:
            await answer_by_action(hass, "confirm", alice, request_id=request_id, **wrong)
        assert error.value.translation_key == "request_pin_wrong"
    await answer_by_action(hass, "confirm", alice, request_id=request_id, pin="4711")
    assert state_of(hass) == "unlocked"


async def test_a_user_that_is_gone_since(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server)
    asking = MockUser(name="Guest", is_owner=False).add_to_hass(hass)
    asking.mock_policy({"entities": True})
    request_id = (await process(hass, llm_server, context=Context(user_id=asking.id)))["confirmation"]
    asking.is_active = False
    answer = await answer_by_action(hass, "confirm", Context(user_id=hass_admin_user.id), request_id=request_id)
    assert answer["success"] is False
    assert state_of(hass) == "locked"


async def test_a_script_that_a_model_started_confirms_nothing(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context
) -> None:
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


async def test_a_yes_said_by_a_script_that_a_model_started_is_none(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context
) -> None:
    await set_up(hass, llm_server)
    conversation_id = (await process(hass, llm_server, context=alice))["conversation_id"]
    step = {"action": "home_agent.process", "data": {"text": "yes", "conversation_id": conversation_id}}
    assert await async_setup_component(hass, "script", {"script": {"say_yes": {"sequence": [step]}}})
    async_expose_entity(hass, ASSISTANT, "script.say_yes", True)
    run = {"action": "turn_on", "entity_id": "script.say_yes"}
    llm_server.plan(tool_call("ha_control", run), text("Said."))
    await say(hass, "go on", "another", context=alice)
    await hass.async_block_till_done()
    assert state_of(hass) == "locked"
