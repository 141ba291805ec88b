"""Several commands of which one is so already: the others are done, and what is so is told."""

from homeassistant.core import HomeAssistant
import pytest

from tests.house import person, say, set_up, speech, state_of

pytestmark = pytest.mark.usefixtures("demo_house")


async def _unlocked(hass: HomeAssistant) -> None:
    await set_up(hass)
    await hass.services.async_call("lock", "unlock", {"entity_id": "lock.front_door"}, blocking=True)
    await hass.async_block_till_done()
    assert state_of(hass, "lock.front_door") == "unlocked"


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light and unlock the front door"), ("en", "unlock the front door and turn on the bed light"),
    ("en", "turn on the bed light, unlock the front door and turn off the kitchen lights"),
    ("de", "schalte Bed Light ein und entriegele Front Door"), ("de", "entriegele Front Door und schalte Bed Light ein"),
    ("fr", "allume Bed Light et déverrouille Front Door"), ("nl", "doe Bed Light aan en ontgrendel Front Door"),
])  # fmt: skip
async def test_the_others_are_done(hass: HomeAssistant, language: str, said: str) -> None:
    await _unlocked(hass)
    answer = speech(await say(hass, said, context=person(hass), language=language))
    assert state_of(hass, "light.bed_light") == "on"
    assert "Front Door" in answer
    assert not answer.endswith("?")


async def test_what_is_not_so_yet_is_asked_about_alone(hass: HomeAssistant) -> None:
    await _unlocked(hass)
    asked = await say(hass, "unlock the front door and open the garage door", context=person(hass))
    assert "Garage Door" in speech(asked)
    assert "Front Door" not in speech(asked)
    assert speech(asked).endswith("?")


async def test_all_of_it_may_be_so(hass: HomeAssistant) -> None:
    await _unlocked(hass)
    cover = hass.states.get("cover.garage_door")
    assert cover is not None
    hass.states.async_set("cover.garage_door", "open", dict(cover.attributes))
    answer = speech(await say(hass, "unlock the front door and open the garage door", context=person(hass)))
    assert "Front Door is already unlocked" in answer
    assert "Garage Door is already open" in answer


async def test_what_cannot_be_changed_as_it_is_off_is_told(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = speech(await say(hass, "turn off the kitchen lights and dim the bed light", context=person(hass)))
    assert state_of(hass, "light.kitchen_lights") == "off"
    assert "Bed Light" in answer
