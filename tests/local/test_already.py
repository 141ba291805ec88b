"""What is so already: of several commands the others are done, and what is so is told; what goes no further is told, too."""

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

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


@pytest.mark.parametrize(("brightness", "language", "said", "answer"), [
    (255, "en", "make the bed light brighter", "It is at its highest already: Bed Light"),
    (255, "en", "brighten the bed light", "It is at its highest already: Bed Light"),
    (255, "en", "it's not bright enough in the kitchen", "It is at its highest already: Kitchen Lights"),
    (3, "en", "dim the bed light", "It is at its lowest already: Bed Light"),
    (3, "en", "make the bed light darker", "It is at its lowest already: Bed Light"),
    (3, "en", "it's too bright in the kitchen", "It is at its lowest already: Kitchen Lights"),
    (255, "de", "mach Bed Light heller", "Mehr geht nicht: Bed Light"),
    (3, "de", "dimme Bed Light", "Weniger geht nicht: Bed Light"),
    (3, "nl", "dim Bed Light", "Lager kan niet: Bed Light"),
])  # fmt: skip
async def test_light_that_goes_no_further_is_left_as_it_is(
    hass: HomeAssistant, brightness: int, language: str, said: str, answer: str
) -> None:
    await set_up(hass)
    lights = {"entity_id": ["light.bed_light", "light.kitchen_lights"], "brightness": brightness}
    await hass.services.async_call("light", "turn_on", lights, blocking=True)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    assert speech(await say(hass, said, language=language)) == answer
    assert not called


async def test_what_goes_no_further_is_told_beside_what_is_done(hass: HomeAssistant) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light", "brightness": 3}, blocking=True)
    answer = speech(await say(hass, "dim the bed light and turn off the kitchen lights"))
    assert state_of(hass, "light.kitchen_lights") == "off"
    assert "lowest already: Bed Light" in answer


async def test_of_several_lights_those_that_can_are_dimmed(hass: HomeAssistant) -> None:
    await set_up(hass)
    for name, brightness in (("bed_light", 3), ("ceiling_lights", 200)):
        light = {"entity_id": f"light.{name}", "brightness": brightness}
        await hass.services.async_call("light", "turn_on", light, blocking=True)
    await say(hass, "dim the lights in the bedroom")
    dimmed = [
        state.attributes["brightness"]
        for name in ("bed_light", "ceiling_lights")
        if (state := hass.states.get(f"light.{name}"))
    ]
    assert dimmed[0] == 3
    assert dimmed[1] < 200
