"""What is said of a room in front of a model, and a draught that can be helped."""

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from tests.house import person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text

pytestmark = pytest.mark.usefixtures("demo_house")


async def test_a_draught_asks_whether_to_close_what_is_open(hass: HomeAssistant) -> None:
    """The demo's kitchen window is a cover without a class."""
    await set_up(hass)
    await hass.services.async_call("cover", "open_cover", {"entity_id": "cover.kitchen_window"}, blocking=True)
    context = person(hass)
    asked = await say(hass, "it's draughty in the kitchen", context=context)
    assert speech(asked).endswith("?")
    assert "Kitchen Window" in speech(asked)
    assert state_of(hass, "cover.kitchen_window") == "open"
    await say(hass, "yes", asked.conversation_id, context=context)
    assert state_of(hass, "cover.kitchen_window") in ("closing", "closed")


@pytest.mark.parametrize(("said", "brightness"), [
    ("It's too bright in the kitchen", 117), ("it's bright in the kitchen", None), ("it isn't too bright in the kitchen", None),
])  # fmt: skip
async def test_in_front_of_a_model_the_same_holds(
    hass: HomeAssistant, llm_server: LLMServer, said: str, brightness: int | None
) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    before = hass.states.get("light.kitchen_lights")
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    answer = speech(await say(hass, said))
    after = hass.states.get("light.kitchen_lights")
    assert before is not None
    assert after is not None
    if brightness is None:
        assert answer == "I see."
        assert not called
        assert after.attributes == before.attributes
    else:
        assert answer != "I see."
        assert after.attributes["brightness"] == brightness
