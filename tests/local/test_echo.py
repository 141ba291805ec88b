"""The words of a question, heard again by the satellite that said them, are no yes to it."""

from homeassistant.core import HomeAssistant
import pytest

from tests.house import person, say, set_up, speech, state_of

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.mark.parametrize("said", ["unlock the front door", "open the garage door"])
async def test_the_question_itself_is_no_yes(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    asked = await say(hass, said, context=anna)
    assert speech(asked).endswith("?")
    for heard in (speech(asked), speech(asked).rstrip("?"), speech(asked).rpartition(". ")[2].rstrip("?")):
        await say(hass, heard, asked.conversation_id, context=anna)
        assert state_of(hass, "lock.front_door") == "locked", heard
        assert state_of(hass, "cover.garage_door") == "closed", heard


async def test_another_agent_at_the_same_device_hears_no_yes_of_the_first(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, "unlock the front door", context=anna)
    await say(hass, "yes", context=anna)
    assert state_of(hass, "lock.front_door") == "locked", "in a conversation of its own"
