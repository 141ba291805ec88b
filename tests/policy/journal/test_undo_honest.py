"""An undo says what is back, what is not and why, and what was not even kept; nothing is called undone that is not."""

from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.policy import journal, undo
from tests.house import act, say, set_up, speech

from .steps import QUICK, control, do, exposed, look, newest

LAMPS = [f"input_boolean.lamp_{number}" for number in range(150)]


@pytest.fixture
async def lamps(hass: HomeAssistant, house: None) -> None:
    """Build a house of 150 things that are off."""
    await exposed(hass, "input_boolean", {item.partition(".")[2]: {"initial": False} for item in LAMPS})
    await set_up(hass)


async def test_150_things_are_all_restored(hass: HomeAssistant, lamps: None, hass_admin_user: MockUser) -> None:
    await control(hass, hass_admin_user, "turn_on", "input_boolean.lamp_*")
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert sorted(row["entity_id"] for row in result["restored"]) == sorted(LAMPS)
    assert set(result) == {"restored"}
    assert {look(hass, item)[0] for item in LAMPS} == {"off"}
    action = await newest(hass)
    assert action["undone"]
    assert len(action["outcome"]) == len(LAMPS)


async def test_many_are_named_in_part_and_counted(hass: HomeAssistant, lamps: None, hass_admin_user: MockUser) -> None:
    await control(hass, hass_admin_user, "turn_on", "input_boolean.lamp_*")
    answer = speech(await say(hass, "undo that", context=Context(user_id=hass_admin_user.id)))
    assert answer.count("lamp ") == undo.MAX_NAMES
    assert answer.endswith(" and 130 more back.")


async def test_what_was_not_kept_is_told(
    hass: HomeAssistant, lamps: None, hass_admin_user: MockUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MAX_ENTITIES", 3)
    await control(hass, hass_admin_user, "turn_on", "input_boolean.lamp_14*")
    assert (await newest(hass))["left_out"] == 8
    context = Context(user_id=hass_admin_user.id)
    answer = speech(await say(hass, "undo that", context=context))
    assert answer.endswith("Not recorded, and therefore not undone: 8 more.")
    assert answer.startswith("I've put ")
    action = await newest(hass)
    assert (action["undone"], len(action["restored"])) == (None, 3)
    result = await act(hass, "undo", action_id=action["action_id"])
    assert result == {"restored": [], "left_out": 8}
    assert "nothing" in speech(await say(hass, "undo that", context=Context(user_id=hass_admin_user.id)))


@pytest.mark.usefixtures("house_with_helpers")
async def test_what_is_partly_back_stays_open(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    await do(hass, "switch.turn_off", "switch.decorative_lights")
    await control(hass, hass_admin_user, "turn_on", "light.bed_light, switch.decorative_lights")
    turn_off = hass.services.async_services_for_domain("switch")["turn_off"]

    async def broken(call: ServiceCall) -> None:
        raise HomeAssistantError("No power")

    hass.services.async_register("switch", "turn_off", broken)
    answer = await say(hass, "undo that", context=Context(user_id=hass_admin_user.id))
    assert speech(answer) == (
        "I've put Bed Light back. Could not be restored: Decorative Lights. You can ask me to undo the rest later."
    )
    assert answer.response.error_code is not None
    action = await newest(hass)
    assert (action["undone"], action["restored"]) == (None, ["light.bed_light"])

    hass.services.async_register("switch", "turn_off", turn_off.job.target, turn_off.schema)
    await do(hass, "light.turn_on", "light.bed_light")  # since then, by hand
    again = await say(hass, "undo that", context=Context(user_id=hass_admin_user.id))
    assert speech(again) == "I've put Decorative Lights back."
    assert look(hass, "light.bed_light") == ["on"]
    assert look(hass, "switch.decorative_lights") == ["off"]
    assert (await newest(hass))["undone"]


@pytest.mark.usefixtures("house_with_helpers")
async def test_what_was_not_confirmed_is_not_undone(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass, options=QUICK)
    await do(hass, "light.turn_on", "light.bed_light")
    await control(hass, hass_admin_user, "turn_off", "light.bed_light")

    async def nothing(call: ServiceCall) -> None:
        """Return, and that is all."""

    hass.services.async_register("light", "turn_on", nothing)
    result = await act(hass, "undo", Context(user_id=hass_admin_user.id))
    assert result == {"restored": [{"entity_id": "light.bed_light", "new_state": "off", "outcome": "unchanged"}]}
    answer = speech(await say(hass, "undo that", context=Context(user_id=hass_admin_user.id)))
    assert answer == "Undo requested, but not confirmed: Bed Light. You can ask me to undo the rest later."
    assert (await newest(hass))["undone"] is None


@pytest.mark.usefixtures("house_with_helpers")
async def test_what_cannot_be_undone_is_said_once_and_passed_over(hass: HomeAssistant) -> None:
    await set_up(hass)
    await do(hass, "light.turn_off", "light.bed_light")
    conversation_id = (await say(hass, "turn on bed light")).conversation_id
    await say(hass, "turn on party", conversation_id)
    assert speech(await say(hass, "undo that", conversation_id)) == "I can't undo this: party."
    assert look(hass, "light.bed_light") == ["on"]
    assert (await newest(hass))["undone"] is None
    assert speech(await say(hass, "undo that", conversation_id)) == "I've put Bed Light back."
