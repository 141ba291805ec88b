"""Answers from phones: each with the right people and the wrong ones."""

import asyncio
from typing import Any

from homeassistant.core import Context, Event, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import device_registry as dr, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import (
    MockConfigEntry,
    MockUser,
    async_capture_events,
    async_mock_service,
)

from custom_components.home_agent.policy import phones
from custom_components.home_agent.policy.channels import CONFIRM, EVENT, REJECT
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn import events
from tests.house import act, say, set_up
from tests.llm_server import LLMServer, text

from .conftest import QUESTION, Add, process, services_of, state_of

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


async def press(hass: HomeAssistant, prefix: str, request_id: str, context: Context, **data: Any) -> None:
    """Press a button of the notification, as the app reports it."""
    hass.bus.async_fire(EVENT, {"action": f"{prefix}{request_id}", **data}, context=context)
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_the_buttons_have_the_language(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    hass.config.language = "sv"
    await set_up(hass, llm_server)
    _, sent = add_phone(hass, alice)
    answer = await process(hass, llm_server, PHONE)
    assert answer["answer"] == "Front Door: Låst. Lås upp Front Door?"
    assert [action["title"] for action in sent[0].data["data"]["actions"]] == ["Ja", "Nej"]


async def test_a_phone_asks(hass: HomeAssistant, llm_server: LLMServer, alice: Context, unlocked: list[Event]) -> None:
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


async def test_own_phones_and_phones_by_device(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    device, own = add_phone(hass, alice)
    await process(hass, llm_server, "mobile_app", context=alice)
    await process(hass, llm_server, device, context=alice)
    assert len(own) == 2


@pytest.mark.parametrize("by", ["name", "device"])
async def test_a_phone_whose_owner_could_not_answer_is_not_written_to(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, hass_admin_user: MockUser, by: str
) -> None:
    await set_up(hass, llm_server)
    administrator = Context(user_id=hass_admin_user.id)
    device, sent = add_phone(hass, person("Bob"), "Bob's Phone")
    admins_device, admins = add_phone(hass, administrator, "Father")
    bobs, fathers = (
        (device, admins_device) if by == "device" else ("notify.mobile_app_bob_s_phone", "notify.mobile_app_father")
    )
    for action, data in (("process", {"text": "somebody rings"}), ("undo", {})):
        with pytest.raises(ServiceValidationError) as error:
            await act(hass, action, alice, **data, confirm_via=[bobs])
        assert error.value.translation_key == "confirm_via_others"
    assert not sent
    assert (await process(hass, llm_server, fathers, context=alice))["confirmation"]
    assert len(admins) == 1
    assert (await process(hass, llm_server, bobs, context=administrator))["confirmation"]
    assert (await process(hass, llm_server, bobs))["confirmation"]  # an automation's: its owner may answer then
    assert len([call for call in sent if "actions" in call.data.get("data", {})]) == 2


@pytest.mark.parametrize("who", ["stranger", "nobody", "unknown"])
async def test_another_user(hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, who: str) -> None:
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


@pytest.mark.parametrize("name", ["Alice's Phone", "alice s phone", "ALICE S PHONE"])
async def test_a_phone_that_bears_the_name_of_anothers_decides_nothing(
    hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add, name: str
) -> None:
    await set_up(hass, llm_server)
    device, sent = add_phone(hass, alice)
    mallory = person("Mallory")
    entry = MockConfigEntry(domain="mobile_app", data={"user_id": mallory.user_id, "device_name": name})
    entry.add_to_hass(hass)
    for channel in (PHONE, device):
        with pytest.raises(ServiceValidationError):
            await act(hass, "process", text="somebody rings", confirm_via=[channel])
    assert not sent
    assert state_of(hass) == "locked"
    await hass.config_entries.async_remove(entry.entry_id)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    await press(hass, CONFIRM, request_id, mallory)
    assert state_of(hass) == "locked"
    await press(hass, CONFIRM, request_id, alice)
    assert state_of(hass) == "unlocked"


async def test_two_phones_may_share_a_name(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    add_phone(hass, alice)
    data = {"user_id": alice.user_id, "device_name": "Alice's Phone"}
    MockConfigEntry(domain="mobile_app", data=data).add_to_hass(hass)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    await press(hass, CONFIRM, request_id, alice)
    assert state_of(hass) == "unlocked"


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


@pytest.mark.parametrize(
    "error", [HomeAssistantError("no push"), ValueError("no push"), None], ids=["ours", "its", "silent"]
)
async def test_a_phone_that_cannot_be_reached_leaves_the_other_ways(
    hass: HomeAssistant,
    llm_server: LLMServer,
    alice: Context,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception | None,
) -> None:
    monkeypatch.setattr(phones, "NOTIFY_TIMEOUT", 0.05)
    await set_up(hass, llm_server)

    async def fail(call: ServiceCall) -> None:
        if error is None:
            await asyncio.Event().wait()
        else:
            raise error

    hass.services.async_register("notify", "mobile_app_alice_s_phone", fail)
    answer = await process(hass, llm_server, PHONE, "repairs", context=alice)
    assert answer["confirmation"]
    assert "could not be used" in caplog.text
    assert ir.async_get(hass).async_get_issue(DOMAIN, f"confirmation_{answer['confirmation']}")


@pytest.mark.parametrize("channel", ["notify.nobody", "sms", "not-a-device", "light.bed_light"])
async def test_unknown_channels_are_refused_first(hass: HomeAssistant, llm_server: LLMServer, channel: str) -> None:
    await set_up(hass, llm_server)
    with pytest.raises(ServiceValidationError) as error:
        await act(hass, "process", text="hi", confirm_via=[channel])
    assert error.value.translation_placeholders == {"channel": channel}


async def test_a_spoken_yes_clears_the_phone(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
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


def told(sent: list[ServiceCall]) -> str:
    """Return the newest message that is no question taken back."""
    return str(next(call.data["message"] for call in reversed(sent) if call.data["message"] != "clear_notification"))


async def test_the_phone_is_told_of_no_effect(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    _, sent = add_phone(hass, alice)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    hass.states.async_remove("lock.front_door")
    await press(hass, CONFIRM, request_id, alice)
    assert told(sent) == "Something has changed since I asked, so nothing was done. Please ask again."


async def test_the_phone_is_told_of_a_failure(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    _, sent = add_phone(hass, alice)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]

    async def broken(call: ServiceCall) -> None:
        raise HomeAssistantError("No power")

    hass.services.async_register("lock", "unlock", broken)
    await press(hass, CONFIRM, request_id, alice)
    assert told(sent).startswith("That didn't work.")


async def test_the_phone_is_told_it_is_late(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server)
    _, sent = add_phone(hass, alice)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    await press(hass, REJECT, request_id, alice)
    count = len(sent)
    await press(hass, REJECT, request_id, alice)  # a late no changes nothing
    assert len(sent) == count
    await press(hass, CONFIRM, request_id, alice)
    assert told(sent) == "The question has expired, and nothing was done. Please ask again."


async def test_a_wrong_user_is_told(hass: HomeAssistant, llm_server: LLMServer, alice: Context, person: Add) -> None:
    await set_up(hass, llm_server)
    bob = person("Bob")
    add_phone(hass, alice)
    _, sent = add_phone(hass, bob, "Bob's Phone")
    request_id = (await process(hass, llm_server, PHONE, context=alice))["confirmation"]
    await press(hass, CONFIRM, request_id, bob)
    assert [call.data["message"] for call in sent] == [
        "Only the user who asked for this can confirm it. Nothing was done."
    ]
    assert state_of(hass) == "locked"


async def test_a_wrong_pin_is_told_and_asked_again(hass: HomeAssistant, llm_server: LLMServer, alice: Context) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    _, sent = add_phone(hass, alice)
    request_id = (await process(hass, llm_server, PHONE))["confirmation"]
    await press(hass, CONFIRM, request_id, alice, reply_text="1234")
    assert told(sent).startswith("That PIN is wrong.")
    assert sent[-1].data["data"] == sent[0].data["data"]  # its buttons, and the same place
    await press(hass, CONFIRM, request_id, alice)
    assert told(sent).startswith("What's the PIN?")
    await press(hass, CONFIRM, request_id, alice, reply_text="1235")
    assert "actions" not in sent[-1].data.get("data", {})  # there is nothing to answer any more
    assert state_of(hass) == "locked"
