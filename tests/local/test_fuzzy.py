"""Fuzzy wording, misheard names and "it": what Home Assistant's second recogniser adds where there is no model."""

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import config_validation as cv, entity_registry as er, intent
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, speech, state_of
from tests.local.conftest import MakeContext, log_of

pytestmark = pytest.mark.usefixtures("home_agent")


async def test_it_means_what_the_last_sentence_was_about(hass: HomeAssistant) -> None:
    first = await say(hass, "turn on the bed light")
    second = await say(hass, "turn it off", first.conversation_id)
    assert state_of(hass, "light.bed_light") == "off"
    assert speech(second) == "Turned off the light"
    assert [item.role for item in log_of(hass, second)][-4:] == ["user", "assistant", "tool_result", "assistant"]


async def test_it_means_nothing_that_was_before_the_last_sentence(hass: HomeAssistant) -> None:
    first = await say(hass, "turn on the bed light")
    await say(hass, "bed light sideways", first.conversation_id)  # nothing understands it
    assert "not sure what it refers to" in speech(await say(hass, "turn it off", first.conversation_id))
    assert state_of(hass, "light.bed_light") == "on"


async def test_it_means_nothing_yet(hass: HomeAssistant) -> None:
    assert "not sure what it refers to" in speech(await say(hass, "turn it off"))


async def test_free_wording_acts_and_can_be_referred_to(hass: HomeAssistant) -> None:
    first = await say(hass, "could you please turn on the ceiling lights for me")
    assert state_of(hass, "light.ceiling_lights") == "on"
    await say(hass, "turn them off", first.conversation_id)
    assert state_of(hass, "light.ceiling_lights") == "off"


async def test_two_things_at_once(hass: HomeAssistant) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.ceiling_lights"}, blocking=True)
    result = await say(hass, "turn on the bed light and turn off the ceiling lights")
    assert state_of(hass, "light.bed_light") == "on"
    assert state_of(hass, "light.ceiling_lights") == "off"
    assert speech(result).count("light") == 2


async def test_one_part_that_may_not_happen_stops_all(hass: HomeAssistant) -> None:
    result = await say(hass, "turn on the bed light and unlock the front door")
    assert state_of(hass, "light.bed_light") == "off"
    assert "Front Door needs a confirmation" in speech(result)


async def test_room_of_the_asking_device(hass: HomeAssistant) -> None:
    entry = er.async_get(hass).async_get("light.kitchen_lights")
    assert entry is not None
    await hass.services.async_call("light", "turn_on", {"entity_id": "all"}, blocking=True)
    await say(hass, "could you please turn off the lights in here for me", device_id=entry.device_id)
    assert state_of(hass, "light.kitchen_lights") == "off"
    assert state_of(hass, "light.bed_light") == "on"


async def test_what_is_hidden_meanwhile_is_left_alone(hass: HomeAssistant) -> None:
    async def hide(call: ServiceCall) -> None:
        async_expose_entity(hass, ASSISTANT, "light.ceiling_lights", False)

    await hass.services.async_call("light", "turn_on", {"entity_id": "light.ceiling_lights"}, blocking=True)
    hass.services.async_register("light", "turn_on", hide)
    result = await say(hass, "turn on the bed light and turn off the ceiling lights")
    assert state_of(hass, "light.ceiling_lights") == "on"
    assert speech(result).endswith("Sorry, I am not aware of any device called Ceiling Lights")
    assert "unexpected" not in speech(result)


async def test_misheard_name(hass: HomeAssistant) -> None:
    entry = er.async_get(hass).async_get("light.kitchen_lights")
    assert entry is not None
    assert speech(await say(hass, "is the bedlight on", device_id=entry.device_id)) == "No, off"


async def test_part_that_fails_stops_the_rest(hass: HomeAssistant) -> None:
    async def fail(call: ServiceCall) -> None:
        raise HomeAssistantError("broken")

    await hass.services.async_call("light", "turn_on", {"entity_id": "light.ceiling_lights"}, blocking=True)
    hass.services.async_register("light", "turn_on", fail)
    result = await say(hass, "turn on the bed light and turn off the ceiling lights")
    assert speech(result) == "That didn't work with Bed Light: Home Assistant reported an error"
    assert state_of(hass, "light.ceiling_lights") == "on"
    assert log_of(hass, result)[-2].result.error


@pytest.mark.parametrize(("language", "sentence", "reason"), [
    ("en", "how is the weather", "Sorry, I am not aware of any weather"),
    ("en", "what is the weather", "Sorry, I am not aware of any weather"),
    ("de", "wie ist das Wetter", "Es wurde kein Wetter gefunden"),
    ("nl", "wat is het weer", "Sorry, ik kan geen apparaat van dat type vinden."),
    ("en", "what is the temperature in the kitchen", "Sorry, I am not aware of any climate in the Kitchen area"),
    ("de", "wie warm ist es in Kitchen", "Im Bereich Kitchen wurde kein Thermostat gefunden"),
])  # fmt: skip
async def test_with_nothing_exposed_it_says_so(hass: HomeAssistant, language: str, sentence: str, reason: str) -> None:
    assert await async_setup_component(hass, "weather", {})
    assert await async_setup_component(hass, "climate", {})
    hass.states.async_set("weather.hidden", "sunny", {"friendly_name": "Secret"})
    async_expose_entity(hass, ASSISTANT, "weather.hidden", False)
    result = await say(hass, sentence, language=language)
    assert speech(result) == reason
    assert result.response.error_code is intent.IntentResponseErrorCode.NO_VALID_TARGETS


async def test_a_value_that_cannot_be_is_named(hass: HomeAssistant) -> None:
    said = speech(await say(hass, "set the bed light to 900 %"))
    assert said == "Sorry, the brightness value must be a whole-number percentage between 0% and 100%."


@pytest.mark.parametrize(("language", "sentence", "answered"), [
    ("en", "It is dark in the kitchen.", False), ("en", "the kitchen is dark", False),
    ("en", "it's too dark in here", False), ("de", "Es ist dunkel in der Kitchen", False),
    ("de", "Die Kitchen ist zu dunkel", False), ("fr", "Il fait trop sombre dans la Kitchen", False),
    ("en", "how is the kitchen?", True), ("en", "could you tell me what the kitchen is doing", True),
    ("en", "the bed light is on", True),
])  # fmt: skip
async def test_a_remark_asks_for_no_state(hass: HomeAssistant, language: str, sentence: str, answered: bool) -> None:
    hass.states.async_set("media_player.kitchen", "playing", {"friendly_name": "Kitchen"})
    async_expose_entity(hass, ASSISTANT, "media_player.kitchen", True)
    result = await say(hass, sentence, language=language)
    if answered:
        assert result.response.error_code is None
    else:
        assert result.response.response_type is not intent.IntentResponseType.QUERY_ANSWER
        assert "media_player.kitchen" not in [state.entity_id for state in result.response.matched_states]


async def test_nothing_in_the_room_fits(hass: HomeAssistant) -> None:
    assert "not aware of any door" in speech(await say(hass, "turn off the kitchen door"))


async def test_question_about_what_may_not_be_read(hass: HomeAssistant, limited: MakeContext) -> None:
    result = await say(hass, "is the bedlight on", context=limited(read=False))
    missing = await say(hass, "is the badlight on", context=limited(read=False))
    assert speech(result) == speech(missing).replace("badlight", "bedlight")
    assert not any(item.role == "tool_result" and not item.result.error for item in log_of(hass, result))


@pytest.mark.parametrize("sentence", [
    "turn off the bed light and the {}", "switch the bed light and the {} off", "turn off {} and turn off bed light",
    "turn the bed light off and the {} on", "could you please turn off the {} for me",
])  # fmt: skip
async def test_unknown_to_a_user_is_as_if_not_there(hass: HomeAssistant, limited: MakeContext, sentence: str) -> None:
    outcomes = []
    for name in ("ceiling lights", "sealing lights", "zorp glims"):
        await hass.services.async_call("light", "turn_on", {"entity_id": "all"}, blocking=True)
        result = await say(hass, sentence.format(name), context=limited("light.bed_light", read=False))
        data = result.response.as_dict()["data"]
        words = speech(result).replace(name, "_").replace(name.rpartition(" ")[0], "_")
        outcomes.append((words, result.response.error_code, data, state_of(hass, "light.bed_light")))
        assert state_of(hass, "light.ceiling_lights") == "on"
    assert outcomes[0] == outcomes[1] == outcomes[2]


async def test_the_others_are_done_where_one_is_hidden_from_a_user(hass: HomeAssistant, limited: MakeContext) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": "all"}, blocking=True)
    context = limited("light.bed_light", read=False)
    result = await say(hass, "turn off the bed light and the ceiling lights", context=context)
    assert speech(result) == "Turned off the light"
    assert state_of(hass, "light.bed_light") == "off"
    assert state_of(hass, "light.ceiling_lights") == "on"


async def test_it_is_nothing_that_somebody_else_may_know(hass: HomeAssistant, limited: MakeContext) -> None:
    first = await say(hass, "turn on the ceiling lights")
    said = await say(hass, "turn them off", first.conversation_id, context=limited("light.bed_light", read=False))
    assert state_of(hass, "light.ceiling_lights") == "on"
    assert "eiling" not in speech(said)


async def test_a_room_in_a_longer_sentence_tells_nothing_either(hass: HomeAssistant, limited: MakeContext) -> None:
    sentence = "turn off the bed light and the kitchen lights"
    hidden = speech(await say(hass, sentence, context=limited("light.bed_light", read=False)))
    async_expose_entity(hass, ASSISTANT, "light.kitchen_lights", False)
    missing = speech(await say(hass, sentence, context=limited("light.bed_light", read=False)))
    assert hidden == missing


NO_COMMANDS = [
    "who turned on the bed light?", "was the bed light on yesterday?", "should I turn on the bed light?",
    "I turned on the bed light", "mom has turned on the bed light", "did you turn on the bed light?",
    "why is the bed light turned on", "turn on the bed light tomorrow at 7", "turn on the bed light at 7 pm",
    "turn on the bed light at half past seven", "turn on the bed light tonight",
    "turn on the bed light every morning", "turn on the bed light on Mondays", "turn on the bed light for 10 minutes",
    "turn on the bed light when I come home", "turn on the bed light unless it is day",
    "if it is dark turn on the bed light", "don't turn on the bed light", "don’t turn on the bed light",
    "dont turn on the bed light", "do not turn the bed light on please", "never turn on the bed light",
    "turn on all the lights but not the bed light", "turn on all the lights except the bed light if it is dark",
    "turn on all the lights except the porch light", "turn on only the bed light",
    "turn on the bed light or the ceiling lights", "he said turn on the bed light",
    "I forgot to turn on the bed light", "what happens when I turn on the bed light",
]  # fmt: skip


@pytest.mark.parametrize(
    "said", ["turn on all the lights except the bed light", "turn on all lights but the bed light"]
)
async def test_a_group_with_what_is_excepted_is_left_alone(hass: HomeAssistant, said: str) -> None:
    for name, member in (("with", "light.bed_light"), ("without", "light.kitchen_lights")):
        attributes = {"friendly_name": f"Party {name}", "entity_id": [member, "light.ceiling_lights"]}
        hass.states.async_set(f"light.party_{name}", "off", attributes)
        async_expose_entity(hass, ASSISTANT, f"light.party_{name}", True)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    await say(hass, said)
    assert state_of(hass, "light.bed_light") == "off"
    assert state_of(hass, "light.ceiling_lights") == "on"
    touched = {item for event in called for item in cv.ensure_list(event.data["service_data"].get("entity_id"))}
    assert "light.party_with" not in touched
    assert "light.party_without" in touched


@pytest.mark.parametrize("said", NO_COMMANDS)
async def test_what_is_denied_or_asked_or_meant_for_another_time_is_not_done(hass: HomeAssistant, said: str) -> None:
    before = {state.entity_id: state.state for state in hass.states.async_all("light")}
    answer = speech(await say(hass, said))
    assert {state.entity_id: state.state for state in hass.states.async_all("light")} == before
    assert "Turned" not in answer


@pytest.mark.parametrize(
    "said", ["never unlock the front door", "don't unlock the front door", "was the front door unlocked?"]
)
async def test_what_is_denied_is_not_even_asked_about(hass: HomeAssistant, said: str) -> None:
    assert "Unlock it?" not in speech(await say(hass, said))


async def test_what_stands_in_a_name_changes_nothing(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.bed_light", name="Tomorrow Only")
    await hass.async_block_till_done()
    state = hass.states.get("light.bed_light")
    assert state is not None
    assert "Tomorrow Only" in state.name
    await say(hass, f"could you please turn on the {state.name.lower()} for me")
    assert state_of(hass, "light.bed_light") == "on"


async def test_the_whole_name_of_a_script_is_enough_whatever_words_it_has(hass: HomeAssistant) -> None:
    names = ("Tidy target", "Tidy targets", "All tidy", "Garage turned on", "Switch behind the door")
    scripts = {name.lower().replace(" ", "_"): {"alias": name, "sequence": [{"event": name}]} for name in names}
    assert await async_setup_component(hass, "script", {"script": scripts})
    for key in scripts:
        async_expose_entity(hass, ASSISTANT, f"script.{key}", True)
    done: list[str] = []
    for name in names:
        hass.bus.async_listen(name, lambda event: done.append(str(event.event_type)))
    for name in names:
        await say(hass, f"turn on {name.lower()}")
        await say(hass, f"turn on {name.lower()} tomorrow in the garden")
    await hass.async_block_till_done()
    assert done == list(names)
