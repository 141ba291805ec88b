"""One satellite with two wake words, and one that hears what it said itself."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from tests.house import say, set_up, speech, state_of, subentry

pytestmark = pytest.mark.usefixtures("demo_house")

SECOND = subentry("profile", "Second", "profile-2", {})
WATCHED = ("light", "lock", "cover", "fan", "climate", "media_player", "alarm_control_panel", "switch", "humidifier")


@pytest.fixture
def satellite(hass: HomeAssistant) -> str:
    """Return the id of a satellite in the kitchen."""
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    registry = dr.async_get(hass)
    device = registry.async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "satellite")})
    registry.async_update_device(device.id, area_id=ar.async_get(hass).async_get_or_create("Kitchen").id)
    return device.id


def _states(hass: HomeAssistant) -> dict[str, object]:
    return {
        state.entity_id: (state.state, state.attributes.get("brightness"), state.attributes.get("temperature"))
        for state in hass.states.async_all(WATCHED)
    }


@pytest.mark.parametrize("asked", ["unlock the front door", "open the garage door"])
@pytest.mark.parametrize("answer", ["yes", "do it", "yes please, unlock it"])
async def test_a_yes_with_the_other_wake_word_answers_nothing(
    hass: HomeAssistant, satellite: str, asked: str, answer: str
) -> None:
    """One session of a satellite, two agents: each knows its own question."""
    await set_up(hass, more=[SECOND])
    first = await say(hass, asked, device_id=satellite)
    before = _states(hass)
    await say(hass, answer, first.conversation_id, device_id=satellite, agent_id="conversation.second")
    assert _states(hass) == before
    assert state_of(hass, "lock.front_door") == "locked"


async def test_a_session_is_one_whichever_agent_hears_it(hass: HomeAssistant, satellite: str) -> None:
    """The same person in the same session means by "it" what was done last, and nothing in another session."""
    await set_up(hass, more=[SECOND])
    first = await say(hass, "turn on the bed light", device_id=satellite)
    await say(hass, "turn it off", device_id=satellite, agent_id="conversation.second")
    assert state_of(hass, "light.bed_light") == "on"
    await say(hass, "turn on the bed light", first.conversation_id, device_id=satellite)
    await say(hass, "turn it off", first.conversation_id, device_id=satellite, agent_id="conversation.second")
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize("said", [
    "turn on the bed light", "turn off the kitchen lights", "open the hall window", "set the bed light to 30 percent",
    "is the front door locked?", "what's the temperature of the hvac?", "which lights are on?", "lock the front door",
    "turn on the bed light in 5 minutes", "turn on the bed light at nine", "turn on the wardrobe", "turn on the lights in the kitchen",
])  # fmt: skip
async def test_an_answer_that_is_heard_again_does_nothing(hass: HomeAssistant, satellite: str, said: str) -> None:
    await set_up(hass)
    answer = await say(hass, said, device_id=satellite)
    before = _states(hass)
    for heard in (speech(answer), speech(answer).rstrip(".?").casefold()):
        await say(hass, heard, answer.conversation_id, device_id=satellite)
        await say(hass, heard, device_id=satellite)
        assert _states(hass) == before, heard
