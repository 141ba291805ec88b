"""Taking back: what can be restored is, what cannot be is said, and what somebody else changed is left alone."""

from collections.abc import Callable

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from tests.house import act, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call, tool_calls

from .steps import QUICK, control, do, look, ticks

pytestmark = pytest.mark.usefixtures("house_with_helpers")


async def test_slow_shutter(hass: HomeAssistant, hass_admin_user: MockUser, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass)
    assert look(hass, "cover.living_room_window", "current_position") == ["open", 70]
    told = await control(hass, hass_admin_user, "set_value", "cover.living_room_window", position=30)
    assert (told["new_state"], told["outcome"]) == ("closing", "changed")
    await ticks(hass, freezer, 6)
    assert look(hass, "cover.living_room_window", "current_position") == ["open", 30]
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result["restored"][0]["outcome"] == "changed"
    await ticks(hass, freezer, 6)
    assert look(hass, "cover.living_room_window", "current_position") == ["open", 70]


async def test_what_somebody_changed_since_is_left_alone(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    context = Context(user_id=hass_admin_user.id)
    await do(hass, "light.turn_on", "light.bed_light", brightness=90)
    await control(hass, hass_admin_user, "set_value", "light.bed_light", brightness_pct=100)
    await do(hass, "light.turn_on", "light.bed_light", brightness=30)
    assert await act(hass, "undo", context) == {"restored": [], "changed_since": ["light.bed_light"]}
    assert look(hass, "light.bed_light", "brightness") == ["on", 30]
    assert (await act(hass, "undo", context, force=True))["restored"]
    assert look(hass, "light.bed_light", "brightness") == ["on", 90]


async def test_what_was_set_besides_stays(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "light.turn_on", "light.bed_light", brightness=90, color_temp_kelvin=3000)
    await control(hass, hass_admin_user, "set_value", "light.bed_light", brightness_pct=100)
    await do(hass, "light.turn_on", "light.bed_light", brightness=255, color_temp_kelvin=5000)
    assert (await act(hass, "undo", Context(user_id=hass_admin_user.id)))["restored"]
    assert look(hass, "light.bed_light", "brightness", "color_temp_kelvin") == ["on", 90, 5000]


async def test_what_is_already_as_before_takes_no_call(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    context = Context(user_id=hass_admin_user.id)
    await do(hass, "light.turn_off", "light.bed_light")
    await control(hass, hass_admin_user, "turn_on", "light.bed_light")
    await do(hass, "light.turn_off", "light.bed_light")
    assert await act(hass, "undo", context) == {"restored": [], "already": ["light.bed_light"]}
    with pytest.raises(HomeAssistantError):
        await act(hass, "undo", context)


async def test_action_that_changed_nothing_is_not_turned_round(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "light.turn_on", "light.bed_light")
    await control(hass, hass_admin_user, "turn_on", "light.bed_light")
    await do(hass, "light.turn_off", "light.bed_light")
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result == {"restored": [], "already": ["light.bed_light"]}


async def test_lamp_that_does_not_follow(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass, options=QUICK)
    told = await control(hass, hass_admin_user, "turn_on", "light.dead_lamp")
    assert (told["new_state"], told["outcome"]) == ("off", "unchanged")
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result == {"restored": [], "already": ["light.dead_lamp"]}


async def test_what_cannot_be_taken_back(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await control(hass, hass_admin_user, "turn_on", "script.party")
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result == {"restored": [], "not_possible": ["script.party"]}


@pytest.mark.parametrize("gone", ["removed", "unavailable", "unexposed"])
async def test_what_is_gone_cannot_be_taken_back(hass: HomeAssistant, hass_admin_user: MockUser, gone: str) -> None:
    await set_up(hass)
    await control(hass, hass_admin_user, "turn_on", "light.bed_light, switch.decorative_lights")
    if gone == "removed":
        hass.states.async_remove("light.bed_light")
    elif gone == "unavailable":
        hass.states.async_set("light.bed_light", "unavailable")
    else:
        async_expose_entity(hass, "conversation", "light.bed_light", False)
    await do(hass, "switch.turn_on", "switch.decorative_lights")
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result["not_possible"] == ["light.bed_light"]


async def test_a_request_is_one_undo(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    await set_up(hass, llm_server)
    context = Context(user_id=hass_admin_user.id)
    await do(hass, "light.turn_on", "light.bed_light")
    await do(hass, "switch.turn_on", "switch.decorative_lights")
    llm_server.plan(
        tool_call(
            "ha_control",
            {"action": "turn_on", "entity_id": "light.ceiling_lights", "parameters": {"brightness_pct": 1}},
        ),
        text("On."),
        tool_calls(
            ("ha_control", {"action": "turn_off", "entity_id": "light.bed_light"}),
            ("ha_control", {"action": "turn_off", "entity_id": "switch.decorative_lights"}),
        ),
        text("Off."),
    )
    await say(hass, "dim the ceiling", context=context)
    await say(hass, "good night", context=Context(user_id=hass_admin_user.id))
    undone = async_capture_events(hass, "home_agent.action.undone")
    answer = speech(await say(hass, "Undo that, please!", context=Context(user_id=hass_admin_user.id)))
    assert answer in (  # the two calls run side by side
        "I've put Bed Light, Decorative Lights back.",
        "I've put Decorative Lights, Bed Light back.",
    )
    assert look(hass, "light.bed_light") == look(hass, "switch.decorative_lights") == ["on"]
    assert look(hass, "light.ceiling_lights", "brightness") == ["on", 3]
    [event] = undone
    assert (len(event.data["action_ids"]), event.data["user_id"]) == (2, hass_admin_user.id)
    again = speech(await say(hass, "undo that", context=Context(user_id=hass_admin_user.id)))
    assert again == "I've put Ceiling Lights back."
    nothing = await say(hass, "undo that", context=Context(user_id=hass_admin_user.id))
    assert speech(nothing) == "There is nothing to undo."
    assert nothing.response.error_code is not None


@pytest.mark.parametrize(("language", "words", "answer"), [
    ("en", "Take that back.", "I've put Bed Light back."),
    ("de", "Mach das bitte rückgängig", "Ich habe Bed Light zurückgesetzt."),
])  # fmt: skip
async def test_without_a_model(hass: HomeAssistant, language: str, words: str, answer: str) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    said = {"en": "turn on bed light", "de": "schalte Bed Light ein"}[language]
    conversation_id = (await say(hass, said, language=language)).conversation_id
    assert look(hass, "light.bed_light") == ["on"]
    assert speech(await say(hass, words, conversation_id, language=language)) == answer
    assert look(hass, "light.bed_light") == ["off"]


@pytest.mark.parametrize(("language", "words", "lights", "answer"), [
    ("en", "undo that", ["light.bed_light"], "Bed Light is already back."),
    ("en", "undo that", ["light.bed_light", "light.ceiling_lights"], "Bed Light, Ceiling Lights are already back."),
    ("de", "mach das rückgängig", ["light.bed_light"], "Bed Light ist schon zurückgesetzt."),
    (
        "de", "mach das rückgängig", ["light.bed_light", "light.ceiling_lights"],
        "Bed Light, Ceiling Lights sind schon zurückgesetzt.",
    ),
])  # fmt: skip
async def test_what_is_already_back_is_said_to_be(
    hass: HomeAssistant, hass_admin_user: MockUser, language: str, words: str, lights: list[str], answer: str
) -> None:
    await set_up(hass)
    context = Context(user_id=hass_admin_user.id)
    await do(hass, "light.turn_off", lights)
    await control(hass, hass_admin_user, "turn_on", lights)
    await do(hass, "light.turn_off", lights)
    assert speech(await say(hass, words, language=language, context=context)) == answer


async def test_a_known_user_undoes_their_last_action(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    context = Context(user_id=hass_admin_user.id)
    await do(hass, "light.turn_off", "light.bed_light")
    await say(hass, "turn on bed light", device_id="kitchen-tablet", context=context)
    assert "nothing" in speech(
        await say(hass, "undo that", device_id="kitchen-tablet")
    )  # no one known, and no one else's
    said = await say(hass, "undo that", device_id="phone", context=context)
    assert speech(said) == "I've put Bed Light back."


async def test_nobody_known_means_this_conversation_or_device(hass: HomeAssistant) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    await say(hass, "turn on bed light", device_id="kitchen-satellite")
    assert "nothing" in speech(await say(hass, "undo that"))
    assert "nothing" in speech(await say(hass, "undo that", device_id="hall-satellite"))
    assert speech(await say(hass, "undo that", device_id="kitchen-satellite")) == "I've put Bed Light back."


async def test_lamp_that_does_not_follow_a_sentence_is_no_success(hass: HomeAssistant) -> None:
    await set_up(hass, options=QUICK)
    assert speech(await say(hass, "turn on dead lamp")) == "I sent the command, but nothing has changed: Dead lamp."
    everything = speech(await say(hass, "turn on all lights"))
    assert everything.rstrip(".") == "Turned on the lights. I sent the command, but nothing has changed: Dead lamp"
    assert look(hass, "light.bed_light") == ["on"]


async def test_model_may_take_back(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await do(hass, "light.turn_off", "light.bed_light")
    turn_on = {"action": "turn_on", "entity_id": "light.bed_light"}
    llm_server.plan(tool_call("ha_control", turn_on), text("On."), tool_call("ha_undo", {}), text("Off again."))
    conversation_id = (await say(hass, "bed light on")).conversation_id
    assert speech(await say(hass, "I liked it better before", conversation_id)) == "Off again."
    assert look(hass, "light.bed_light") == ["off"]
    assert "ha_undo" in [tool["function"]["name"] for tool in llm_server.request.body["tools"]]


async def test_undo_stands_in_the_history_of_the_model(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    turn_on = {"action": "turn_on", "entity_id": "light.bed_light"}
    llm_server.plan(tool_call("ha_control", turn_on), text("On."), text("Three."))
    conversation_id = (await say(hass, "bed light on")).conversation_id
    await say(hass, "undo that", conversation_id)
    await say(hass, "hello", conversation_id)
    roles = [message["role"] for message in llm_server.request.body["messages"]]
    assert roles == [
        "system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


async def test_somebody_elses_action(
    hass: HomeAssistant, hass_admin_user: MockUser, another_user: Callable[..., MockUser]
) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    await control(hass, hass_admin_user, "turn_on", "light.bed_light")
    [action] = (await act(hass, "list_actions"))["actions"]
    other = Context(user_id=another_user("light.bed_light").id)
    for data in ({}, {"action_id": action["action_id"]}, {"conversation_id": action["conversation_id"]}):
        with pytest.raises(HomeAssistantError):
            await act(hass, "undo", other, **data)
    assert (await act(hass, "list_actions", other)) == {"actions": []}
    assert look(hass, "light.bed_light") == ["on"]
    await act(hass, "undo", action_id=action["action_id"])
    assert look(hass, "light.bed_light") == ["off"]


async def test_permission_is_that_of_the_undoer(hass: HomeAssistant, another_user: Callable[..., MockUser]) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    user = another_user("light.bed_light")
    context = Context(user_id=user.id)
    conversation_id = (await say(hass, "turn on bed light", context=context)).conversation_id
    user.mock_policy({"entities": {"entity_ids": {"light.bed_light": {"read": True}}}})
    refused = await say(hass, "undo that", conversation_id, context=Context(user_id=user.id))
    assert speech(refused) == "I can't undo this: Bed Light."
    assert look(hass, "light.bed_light") == ["on"]


async def test_survives_a_restart(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    entry = await set_up(hass)
    await do(hass, "light.turn_on", "light.bed_light", brightness=90, hs_color=[30, 80])
    await control(hass, hass_admin_user, "turn_off", "light.bed_light")
    assert await hass.config_entries.async_reload(entry.entry_id)
    assert (await act(hass, "undo", Context(user_id=hass_admin_user.id)))["restored"]
    assert look(hass, "light.bed_light", "brightness", "hs_color") == ["on", 90, (30, 80)]


async def test_group_is_restored_by_its_members(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    members = ["light.bed_light", "light.ceiling_lights"]
    group = MockConfigEntry(
        domain="group",
        title="Upstairs",
        options={"group_type": "light", "name": "Upstairs", "entities": members, "hide_members": False},
    )
    group.add_to_hass(hass)
    assert await hass.config_entries.async_setup(group.entry_id)
    await hass.async_block_till_done()
    async_expose_entity(hass, "conversation", "light.upstairs", True)
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    await do(hass, "light.turn_on", "light.ceiling_lights", brightness=77)
    await control(hass, hass_admin_user, "turn_on", "light.upstairs", brightness_pct=100)
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert sorted(row["entity_id"] for row in result["restored"]) == members
    assert look(hass, "light.bed_light") == ["off"]
    assert look(hass, "light.ceiling_lights", "brightness") == ["on", 77]


async def test_way_back_that_fails_is_said(hass: HomeAssistant) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    conversation_id = (await say(hass, "turn on bed light")).conversation_id

    async def broken(call: ServiceCall) -> None:
        raise HomeAssistantError("No power")

    hass.services.async_register("light", "turn_off", broken)
    answer = await say(hass, "undo that", conversation_id)
    assert speech(answer) == "I couldn't undo that."
    assert answer.response.error_code is not None


async def test_automation_that_answered_last_cannot_be_taken_back(hass: HomeAssistant) -> None:
    await set_up(hass)
    trigger = {"trigger": "conversation", "command": "party time"}
    action = {"set_conversation_response": "Yeah."}
    config = {"automation": {"alias": "Party", "triggers": [trigger], "actions": [action]}}
    assert await async_setup_component(hass, "automation", config)
    await hass.async_block_till_done()
    conversation_id = (await say(hass, "turn on bed light")).conversation_id
    assert speech(await say(hass, "party time", conversation_id)) == "Yeah."
    assert speech(await say(hass, "undo that", conversation_id)) == "I can't undo this: party time."
    assert look(hass, "light.bed_light") == ["on"]


async def test_slow_device_that_never_followed_is_left_alone(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass, options=QUICK)
    await do(hass, "light.turn_on", "light.bed_light", brightness=90)

    async def nothing(call: ServiceCall) -> None:
        """Return, and that is all."""

    hass.services.async_register("light", "turn_on", nothing)
    await control(hass, hass_admin_user, "set_value", "light.bed_light", brightness_pct=100)
    state = hass.states.get("light.bed_light")
    assert state is not None
    hass.states.async_set("light.bed_light", "on", {**state.attributes, "brightness": 5})
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result == {"restored": [], "changed_since": ["light.bed_light"]}
