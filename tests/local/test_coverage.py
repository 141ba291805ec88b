"""What Home Assistant's recognisers make of a sentence is done only when it covers what was said."""

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import add_shopping_list, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text
from tests.local.conftest import MakeContext

pytestmark = pytest.mark.usefixtures("demo_house")

PLAYERS = ("media_player.kitchen", "media_player.bedroom")


@pytest.fixture(autouse=True)
async def players(hass: HomeAssistant, demo_house: None) -> None:
    """Have a media player that is called like its room, and a window that Home Assistant takes for none."""
    for entity_id in PLAYERS:
        name = entity_id.partition(".")[2].title()
        hass.states.async_set(entity_id, "playing", {"friendly_name": name, "supported_features": 384})
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    hass.services.async_register("media_player", "turn_on", lambda call: None)
    hass.services.async_register("media_player", "turn_off", lambda call: None)
    async_expose_entity(hass, ASSISTANT, "cover.hall_window", True)
    await hass.services.async_call("light", "turn_on", {"entity_id": "all"}, blocking=True)


WRONG = [
    ("en", "is any window open?"), ("en", "are all windows closed?"), ("en", "which windows are open?"),
    ("de", "Ist ein Fenster offen?"), ("fr", "Y a-t-il une fenêtre ouverte ?"), ("sv", "Är något fönster öppet?"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "answer"), [
    ("is any window open?", "Yes, Hall Window"),
    ("are all windows closed?", "No, Hall Window is not closed"),
    ("which windows are open?", "Hall Window"),
])  # fmt: skip
async def test_a_partly_understood_question_is_answered_whole(hass: HomeAssistant, sentence: str, answer: str) -> None:
    await set_up(hass)
    assert (state_of(hass, "cover.hall_window"), state_of(hass, "cover.kitchen_window")) == ("open", "closed")
    assert speech(await say(hass, sentence)) == answer


@pytest.mark.parametrize(("language", "sentence"), [row for row in WRONG if row[0] != "en"])
async def test_what_leaves_out_is_not_done(hass: HomeAssistant, language: str, sentence: str) -> None:
    await set_up(hass)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await say(hass, sentence, language=language)
    assert not called
    assert result.response.error_code is not None
    if language != "sv":  # where there is no sentence of ours, Home Assistant's says that it was not understood
        assert "Hall Window, Kitchen Window" in speech(result)


@pytest.mark.parametrize(("sentence", "targets"), [
    ("turn off everything in the kitchen", {"light.kitchen_lights"}),
    ("turn off all in the bedroom", {"light.bed_light", "light.ceiling_lights"}),
])  # fmt: skip
async def test_everything_in_a_room_is_what_is_on_there(hass: HomeAssistant, sentence: str, targets: set[str]) -> None:
    await set_up(hass)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await say(hass, sentence)
    await hass.async_block_till_done()
    assert result.response.error_code is None
    touched = [event.data["service_data"]["entity_id"] for event in called if event.data["service"] == "turn_off"]
    assert {item for each in touched for item in ([each] if isinstance(each, str) else each)} == targets
    assert {item for item in targets if item.startswith("light.") and state_of(hass, item) != "off"} == set()


@pytest.mark.parametrize(("language", "sentence"), WRONG)
async def test_it_is_left_to_the_model(
    hass: HomeAssistant, llm_server: LLMServer, language: str, sentence: str
) -> None:
    await set_up(hass, llm_server, profile={"local_first": True})
    llm_server.plan(text("I will see."))
    assert speech(await say(hass, sentence, language=language)) == "I will see."
    assert llm_server.request.last_user.endswith(sentence)


RIGHT = [
    ("en", "turn off the kitchen lights", ["light.kitchen_lights"]),
    ("en", "turn off the lights in the kitchen", ["light.kitchen_lights"]),
    ("en", "turn off the kitchen", ["light.kitchen_lights"]),
    (
        "en", "turn off the lights in the kitchen and the bedroom",
        ["light.bed_light", "light.ceiling_lights", "light.kitchen_lights"],
    ),
    (
        "en", "turn off the kitchen lights and the bedroom",
        ["light.bed_light", "light.ceiling_lights", "light.kitchen_lights"],
    ),
    ("en", "turn off all lights in the bedroom", ["light.bed_light", "light.ceiling_lights"]),
    ("en", "could you switch off the bedroom lights", ["light.bed_light", "light.ceiling_lights"]),
    ("en", "turn off the bed light and the kitchen lights", ["light.bed_light", "light.kitchen_lights"]),
    ("en", "set the brightness of the bed light to 40 percent", ["light.bed_light"]),
    ("en", "turn off the decorative lights", ["switch.decorative_lights"]),
    ("en", "turn off all the lights", ["light.bed_light", "light.ceiling_lights", "light.kitchen_lights"]),
    ("de", "Schalte das Licht in Kitchen aus", ["light.kitchen_lights"]),
    ("de", "Schalte alle Lichter aus", ["light.bed_light", "light.ceiling_lights", "light.kitchen_lights"]),
    ("en", "turn off the media player in the kitchen", []),
    ("en", "are all the lights on?", []),
    ("en", "is the kitchen window open?", []),
    ("en", "are any lights on in the kitchen?", []),
]  # fmt: skip


@pytest.mark.parametrize(("language", "sentence", "changed"), RIGHT)
async def test_what_covers_all_is_done(hass: HomeAssistant, language: str, sentence: str, changed: list[str]) -> None:
    await set_up(hass)
    lights = [*hass.states.async_entity_ids("light"), "switch.decorative_lights"]
    before = {item: hass.states.get(item) for item in lights}
    result = await say(hass, sentence, language=language)
    await hass.async_block_till_done()
    assert "left out" not in speech(result)
    assert "nicht sicher" not in speech(result)
    if "media player" not in sentence:
        assert result.response.error_code is None
    assert sorted(item for item in lights if hass.states.get(item) != before[item]) == sorted(changed)


async def test_a_room_with_an_accent_is_a_room(hass: HomeAssistant) -> None:
    """In Swedish it is said in another form, so that only what Home Assistant understood tells which one it is."""
    areas = ar.async_get(hass)
    kitchen = areas.async_get_area_by_name("Kitchen")
    assert kitchen is not None
    areas.async_update(kitchen.id, name="Kök")
    await set_up(hass)
    result = await say(hass, "släck ljuset i köket", language="sv")
    await hass.async_block_till_done()
    assert result.response.error_code is None
    assert [state_of(hass, f"light.{name}") for name in ("kitchen_lights", "bed_light")] == ["off", "on"]


async def test_nothing_is_named_that_the_user_may_not_know(hass: HomeAssistant, limited: MakeContext) -> None:
    await set_up(hass)
    context = limited("media_player.kitchen", read=False)
    result = await say(hass, "turn off everything in the kitchen", context=context)
    assert "Kitchen Lights" not in speech(result)


@pytest.mark.parametrize(("sentence", "added"), [
    ("Schließe das Hall Window und setze Brot auf die Einkaufsliste", False),
    ("Bitte öffne das Hall Window und setze Brot auf die Einkaufsliste", False),
    ("Setze Brot auf die Einkaufsliste", True),
    ("Setze Schließfach mieten auf die Einkaufsliste", True),
])  # fmt: skip
async def test_a_command_is_no_item_of_a_list(hass: HomeAssistant, sentence: str, added: bool) -> None:
    await add_shopping_list(hass)
    await set_up(hass)
    result = await say(hass, sentence, language="de")
    assert (result.response.error_code is None) is added, speech(result)
    assert (state_of(hass, "todo.shopping_list") == "1") is added
