"""The house answers by itself: in its languages, under the policy, in the chat log; and knows when it cannot."""

import asyncio
from unittest.mock import patch

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation import AssistantContent, ToolResultContent, UserContent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.const import EVENT_CALL_SERVICE, EVENT_STATE_CHANGED
from homeassistant.core import HomeAssistant, ServiceCall
from homeassistant.helpers import intent
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import (
    async_capture_events,
    async_fire_time_changed,
    async_mock_service,
)

from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn import events
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import add_shopping_list, build_house, person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text
from tests.local.conftest import MakeContext, log_of
from tests.prompt.conftest import AddEntity

pytestmark = pytest.mark.usefixtures("demo_house")

NAMES = {"lock.front_door": "Front Door", "cover.garage_door": "Garage Door"}
FAILED = intent.IntentResponseErrorCode.FAILED_TO_HANDLE
DINNER = {"script": {"dinner": {"sequence": [{"action": "test.cook"}]}}}


@pytest.mark.parametrize(("language", "sentence", "answer"), [
    ("en", "turn on the bed light", "Turned on the light"),
    ("de", "Schalte das Bed Light ein", "Licht eingeschaltet"),
    ("fr", "Allume Bed Light", "Allumé"),
    ("ru", "включи Bed Light", "Light включен"),
], ids=["en", "de", "fr", "ru"])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_command_in_the_user_s_language(hass: HomeAssistant, language: str, sentence: str, answer: str) -> None:
    result = await say(hass, sentence, language=language)
    assert state_of(hass, "light.bed_light") == "on"
    assert speech(result) == answer
    assert result.response.response_type is intent.IntentResponseType.ACTION_DONE
    assert result.response.success_results[-1].id == "light.bed_light"


@pytest.mark.usefixtures("home_agent")
async def test_answer_stands_in_the_chat_log(hass: HomeAssistant) -> None:
    result = await say(hass, "turn on the bed light")
    asked, call, done, answer = log_of(hass, result)[-4:]
    assert isinstance(asked, UserContent)
    assert isinstance(call, AssistantContent)
    assert [item.tool_name for item in call.tool_calls or []] == ["HassTurnOn"]
    assert isinstance(done, ToolResultContent)
    assert isinstance(answer, AssistantContent)
    assert answer.content == "Turned on the light"
    assert answer.agent_id == "conversation.home_agent"


@pytest.mark.parametrize(("sentence", "answer"), [
    ("what time is it", ":"), ("is the bed light on", "No, off"), ("never mind", ""), ("close the garage door", "Clos"),
    ("lock the front door", "Lock"), ("add milk to my shopping list", "Added milk"),
], ids=["time", "question", "nevermind", "close", "lock", "shopping list"])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_everyday_sentences(hass: HomeAssistant, sentence: str, answer: str) -> None:
    await add_shopping_list(hass)
    result = await say(hass, sentence)
    assert answer in speech(result)
    assert result.response.error_code is None


@pytest.mark.parametrize(("language", "sentence", "answer"), [
    ("en", "is the shield on", "Yes"), ("en", "are the shields on", "Yes"), ("en", "is the shield off", "No, playing"),
    ("en", "is the shield in the den still on", "Yes"), ("de", "ist der Shield an", "Ja"),
    ("de", "ist Shield noch an", "Ja"), ("de", "ist der Shield aus", "Nein, playing"),
])  # fmt: skip
@pytest.mark.parametrize("other", ["remote", "water_heater"])
async def test_a_question_about_a_name_of_several_is_about_the_obvious_one(
    hass: HomeAssistant, add_entity: AddEntity, language: str, sentence: str, answer: str, other: str
) -> None:
    add_entity("media_player.shield", "playing", name="Shield", area="Den")
    add_entity(f"{other}.shield", "off", name="Shield", area="Den")
    await set_up(hass)
    assert speech(await say(hass, sentence, language=language)) == answer
    hass.states.async_remove("media_player.shield")
    assert speech(await say(hass, "is the shield on")) == "No, off"  # alone it is asked about


@pytest.mark.usefixtures("home_agent")
async def test_scripts_and_scenes_run(hass: HomeAssistant) -> None:
    calls = async_mock_service(hass, "test", "cook")
    assert await async_setup_component(hass, "script", DINNER)
    scene = {"name": "Movie night", "entities": {"light.bed_light": "on"}}
    assert await async_setup_component(hass, "scene", {"scene": [scene]})
    for entity_id in ("script.dinner", "scene.movie_night"):
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    await say(hass, "run dinner")
    await say(hass, "activate movie night")
    await hass.async_block_till_done()
    assert len(calls) == 1
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.usefixtures("home_agent")
async def test_what_is_cancelled_is_watched_no_more(hass: HomeAssistant) -> None:
    begun = asyncio.Event()

    async def cook(call: ServiceCall) -> None:
        begun.set()
        await asyncio.Event().wait()

    hass.services.async_register("test", "cook", cook)
    assert await async_setup_component(hass, "script", DINNER)
    async_expose_entity(hass, ASSISTANT, "script.dinner", True)
    await say(hass, "turn on the bed light")  # from then on Home Assistant listens for its sentences
    watching = hass.bus.async_listeners()[EVENT_STATE_CHANGED]
    saying = hass.async_create_task(say(hass, "run dinner"))
    await begun.wait()
    assert hass.bus.async_listeners()[EVENT_STATE_CHANGED] > watching
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    assert hass.bus.async_listeners()[EVENT_STATE_CHANGED] == watching


@pytest.mark.parametrize(("language", "sentence", "entity_id"), [
    ("en", "unlock the front door", "lock.front_door"),
    ("en", "could you please unlock the front door for me", "lock.front_door"),
    ("en", "open the garage door", "cover.garage_door"),
    ("en", "open all the garage doors in the garage", "cover.garage_door"),
    ("en", "set garage door to 50%", "cover.garage_door"), ("de", "Öffne Garage Door", "cover.garage_door"),
    ("de", "Front Door entriegeln", "lock.front_door"), ("fr", "Ouvre Garage Door", "cover.garage_door"),
    ("fr", "Déverrouille Front Door", "lock.front_door"), ("ru", "открой Garage Door", "cover.garage_door"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_sensitive_sentence_asks(hass: HomeAssistant, language: str, sentence: str, entity_id: str) -> None:
    before, name = state_of(hass, entity_id), NAMES[entity_id]
    executed = async_capture_events(hass, events.TOOL_EXECUTED)
    result = await say(hass, sentence, language=language)
    await hass.async_block_till_done()
    assert state_of(hass, entity_id) == before
    assert name in speech(result)
    assert result.response.error_code is FAILED
    assert [event.data["success"] for event in executed] == [False]
    assert len(log_of(hass, result)) == 3  # instructions, question, answer: no call


@pytest.mark.usefixtures("home_agent")
async def test_what_is_left_for_later_comes_back_through_the_gate(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    executed = async_capture_events(hass, events.TOOL_EXECUTED)
    await say(hass, "turn on the bed light in 5 minutes", context=person(hass))
    assert state_of(hass, "light.bed_light") == "off"
    assert [(event.data["tool_name"], event.data["success"]) for event in executed] == [("make_wish", True)]
    freezer.tick(301)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert len(executed) == 2
    assert executed[1].data["success"]
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize("sentence", ["unlock the front door in 5 minutes", "open the garage door in 5 minutes"])
@pytest.mark.usefixtures("home_agent")
async def test_what_needs_a_yes_is_not_put_off_where_no_one_can_be_asked(hass: HomeAssistant, sentence: str) -> None:
    result = await say(hass, sentence, context=person(hass))
    assert speech(result).startswith("That needs your confirmation when it is time")
    assert result.response.error_code is FAILED
    assert not wishes_of(hass).all()
    assert not any(isinstance(item, ToolResultContent) for item in log_of(hass, result))


@pytest.mark.usefixtures("home_agent")
@pytest.mark.parametrize(("sentence", "language"), [
    ("sing me a song in 5 minutes", "en"), ("sing mir ein Lied in 5 Minuten", "de"), ("turn on the foo light in 5 minutes", "en"),
    ("what time is it in 5 minutes", "en"),
])  # fmt: skip
async def test_later_what_cannot_be_done(hass: HomeAssistant, sentence: str, language: str) -> None:
    result = await say(hass, sentence, language=language, context=person(hass))
    assert result.response.error_code is not None
    assert not wishes_of(hass).all()


@pytest.mark.parametrize("sentence", [
    "turn on the ceiling lights", "turn on the lights in the bedroom", "could you switch on the bedroom lights",
    "could you please turn on the ceiling lights for me", "turn on the ceiling lights in 5 minutes",
    "turn on the bed light and the ceiling lights",
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_user_with_limits_changes_nothing_else(hass: HomeAssistant, limited: MakeContext, sentence: str) -> None:
    await hass.services.async_call("light", "turn_off", {"entity_id": "all"}, blocking=True)
    result = await say(hass, sentence, context=limited("light.bed_light"))
    await hass.async_block_till_done()
    assert state_of(hass, "light.ceiling_lights") == state_of(hass, "light.bed_light") == "off"
    assert speech(result).startswith("You are not allowed to do that with ")
    assert result.response.error_code is FAILED


@pytest.mark.usefixtures("home_agent")
async def test_user_with_limits_uses_what_is_theirs(hass: HomeAssistant, limited: MakeContext) -> None:
    result = await say(hass, "turn on the bed light", context=limited("light.bed_light"))
    assert state_of(hass, "light.bed_light") == "on"
    assert result.response.error_code is None


@pytest.mark.parametrize(("members", "options", "answer"), [
    (
        ["light.office_rgbw_lights"], {},
        "Party also controls something that I have no access to, so I can't control it as a whole.",
    ),
    (["light.ceiling_lights"], {"always_confirm": ["light.ceiling_lights"]}, "Party"),
    (["light.ceiling_lights"], {"never_offer": ["light.ceiling_lights"]}, "You are not allowed to"),
], ids=["not exposed", "always asked", "never offered"])  # fmt: skip
async def test_a_group_is_no_way_to_what_is_in_it(
    hass: HomeAssistant, members: list[str], options: dict[str, object], answer: str
) -> None:
    await set_up(hass, options=options)
    hass.states.async_set("light.party", "on", {"friendly_name": "Party", "entity_id": ["light.bed_light", *members]})
    async_expose_entity(hass, ASSISTANT, "light.party", True)
    calls = async_capture_events(hass, EVENT_CALL_SERVICE)
    result = await say(hass, "turn off party")
    assert answer in speech(result)
    assert not [call for call in calls if call.data["domain"] in ("light", "homeassistant")]


@pytest.mark.parametrize(("language", "sentence", "answer"), [
    (
        "en", "Turn off all the lights",
        "Turned off the lights. I left out Party, because it also controls something that I have no access to.",
    ),
    (
        "de", "Schalte alle Lichter aus",
        "Party habe ich ausgelassen, denn das steuert auch etwas, worauf ich keinen Zugriff habe.",
    ),
])  # fmt: skip
@pytest.mark.parametrize("part", [{"exposed_areas": ["bedroom"], "exposed_entities": ["light.party"]}, {}])
async def test_a_group_that_reaches_further_is_left_out_of_all(
    hass: HomeAssistant, language: str, sentence: str, answer: str, part: dict[str, object]
) -> None:
    """What is inside is done, nothing outside moves, and the answer says what was left and why."""
    for entity_id in ("light.bed_light", "light.ceiling_lights", "light.kitchen_lights", "light.office_rgbw_lights"):
        await hass.services.async_call("light", "turn_on", {"entity_id": entity_id}, blocking=True)
    members = ["light.ceiling_lights", "light.office_rgbw_lights"]
    hass.states.async_set("light.party", "on", {"friendly_name": "Party", "entity_id": members})
    async_expose_entity(hass, ASSISTANT, "light.party", True)
    await set_up(hass, profile=part)
    said = speech(await say(hass, sentence, language=language))
    assert said.endswith(answer)
    assert state_of(hass, "light.ceiling_lights") == "off"
    assert state_of(hass, "light.party") == state_of(hass, "light.office_rgbw_lights") == "on"
    assert state_of(hass, "light.kitchen_lights") == ("on" if part else "off")


@pytest.mark.usefixtures("home_agent")
async def test_a_group_gives_nobody_what_is_not_theirs(hass: HomeAssistant, limited: MakeContext) -> None:
    hass.states.async_set("light.party", "on", {"friendly_name": "Party", "entity_id": ["light.ceiling_lights"]})
    async_expose_entity(hass, ASSISTANT, "light.party", True)
    result = await say(hass, "turn off party", context=limited("light.party"))
    assert speech(result) == "You are not allowed to do that with Ceiling Lights."


@pytest.mark.parametrize("sentence", ["is the bed light on", "is the bed light off"])
@pytest.mark.usefixtures("home_agent")
async def test_an_unreadable_state_is_not_told(hass: HomeAssistant, limited: MakeContext, sentence: str) -> None:
    result = await say(hass, sentence, context=limited(read=False))
    missing = await say(hass, sentence.replace("bed light", "zorp glim"), context=limited(read=False))
    assert speech(result) == speech(missing)
    assert not any(isinstance(item, ToolResultContent) and not item.result.error for item in log_of(hass, result))


@pytest.mark.parametrize(("sentence", "is_local"), [
    ("turn on the bed light", True), ("unlock the front door", True), ("is the bed light on", False),
    ("turn on the frobnicator", False), ("turn on the fans in the kitchen", False),
    ("could you make the bed light glow", False),
])  # fmt: skip
async def test_local_first(hass: HomeAssistant, llm_server: LLMServer, sentence: str, is_local: bool) -> None:
    await set_up(hass, llm_server, profile={"local_first": True})
    if not is_local:
        llm_server.plan(text("The model says."))
    result = await say(hass, sentence)
    assert (speech(result) != "The model says.") is is_local
    assert len(llm_server.requests) == (0 if is_local else 1)


async def test_what_continues_the_words_of_the_model_is_left_to_it(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"local_first": True})
    first = await say(hass, "turn on the bed light")
    assert not llm_server.requests
    for sentence in ("what about the coffee machine", "turn it off"):
        llm_server.plan(text("The model says."))
        assert speech(await say(hass, sentence, first.conversation_id)) == "The model says."
    assert state_of(hass, "light.bed_light") == "on"


async def test_an_unanswered_sentence_leaves_the_model_no_trace(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"local_first": True})
    llm_server.plan(text("There are none."))
    result = await say(hass, "set the thermostat to 20 degrees")
    assert [message["role"] for message in llm_server.request.body["messages"]] == ["system", "user"]
    assert len(log_of(hass, result)) == 3


@pytest.mark.parametrize("with_model", [True, False], ids=["local first", "no model"])
async def test_sentence_trigger_of_the_owner_wins(hass: HomeAssistant, llm_server: LLMServer, with_model: bool) -> None:
    trigger = {"trigger": "conversation", "command": ["turn on the bed light"]}
    action = {"set_conversation_response": "As you wish."}
    config = {"alias": "Wish", "trigger": trigger, "action": action}
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await set_up(hass, llm_server if with_model else None, profile={"local_first": True})
    executed = async_capture_events(hass, events.TOOL_EXECUTED)
    result = await say(hass, "turn on the bed light")
    await hass.async_block_till_done()
    assert speech(result) == "As you wish."
    assert state_of(hass, "light.bed_light") == "off"
    assert [event.data["tool_name"] for event in executed] == ["trigger_sentence"]


RING = {"alias": "Ring", "id": "ring", "trigger": {"trigger": "conversation", "command": "ring the bell"}}
UNLOCKS = {"action": "lock.unlock", "target": {"entity_id": "lock.front_door"}}


@pytest.mark.parametrize("never_ask", [[], ["automation.ring"], ["trigger_sentence"]])
async def test_sentence_trigger_is_judged_by_what_it_does(hass: HomeAssistant, never_ask: list[str]) -> None:
    answer = {"set_conversation_response": "Come in."}
    assert await async_setup_component(hass, "automation", {"automation": [{**RING, "action": [UNLOCKS, answer]}]})
    await set_up(hass, options={"never_confirm": never_ask})
    said = await say(hass, "ring the bell", device_id="a device")
    if never_ask:
        assert speech(said) == "Come in."
    else:
        assert speech(said) == "Run ring the bell (and with it: unlock Front Door)?"
        assert state_of(hass, "lock.front_door") == "locked"
        assert speech(await say(hass, "yes", said.conversation_id, device_id="a device")) == "Come in."
    assert state_of(hass, "lock.front_door") == "unlocked"
    assert speech(await say(hass, "undo that", said.conversation_id, device_id="a device")) != ""


async def test_sentence_trigger_without_words_of_its_own(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "automation", {"automation": [{**RING, "action": [UNLOCKS]}]})
    await set_up(hass)
    said = await say(hass, "ring the bell", device_id="a device")
    assert speech(await say(hass, "yes", said.conversation_id, device_id="a device")) == "Done."


async def test_sentence_trigger_that_asks_another_agent(hass: HomeAssistant, llm_server: LLMServer) -> None:
    ask = {
        "action": "home_agent.process",
        "data": {"text": "{{ trigger.slots.question }}", "profile": "home_agent", "conversation_id": "gardener"},
        "response_variable": "gardener",
    }
    trigger = {"trigger": "conversation", "command": "ask the gardener {question}"}
    config = {
        "alias": "Ask",
        "trigger": trigger,
        "action": [ask, {"set_conversation_response": "{{ gardener.answer }}"}],
    }
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await set_up(hass, llm_server, profile={"local_first": True})
    llm_server.plan(text("Plant in spring."))
    said = await say(hass, "ask the gardener when to plant", device_id="a device")
    assert speech(said).startswith("Run ask the gardener when to plant")
    assert not llm_server.requests
    said = await say(hass, "yes", said.conversation_id, device_id="a device")
    assert speech(said) == "Plant in spring."


async def test_sentence_trigger_that_changed_since_the_question(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "automation", {"automation": [{**RING, "action": [UNLOCKS]}]})
    await set_up(hass)
    said = await say(hass, "ring the bell", device_id="a device")
    changed = {**RING, "action": [UNLOCKS, {"action": "lock.open", "target": {"entity_id": "lock.front_door"}}]}
    with patch("homeassistant.config.load_yaml_config_file", return_value={"automation": [changed]}):
        await hass.services.async_call("automation", "reload", {}, blocking=True)
    await say(hass, "yes", said.conversation_id, device_id="a device")
    assert state_of(hass, "lock.front_door") == "locked"


@pytest.mark.usefixtures("home_agent")
async def test_executed_event_has_the_house_s_words_and_ids(hass: HomeAssistant) -> None:
    executed = async_capture_events(hass, events.TOOL_EXECUTED)
    await say(hass, "turn on the bed light")
    await hass.async_block_till_done()
    (event,) = executed
    assert event.data["tool_name"] == "HassTurnOn"
    assert event.data["parameters"] == {"name": "Bed Light"}
    assert event.data["result"] == '{"targets":["light.bed_light"]}'
    assert event.data["success"] is True


@pytest.mark.parametrize(("sentence", "is_on"), [
    ("turn off the kitchen lights and the bed light", False),
    ("turn off the ceiling lights and the bed light", False),
    ("turn off the kitchen lights and the bed light on", True),
    ("turn off the kitchen lights and turn on the bed light", True),
])  # fmt: skip
async def test_a_second_name_is_what_the_verb_is_for(
    hass: HomeAssistant, house: None, sentence: str, is_on: bool
) -> None:
    await build_house(hass)
    await set_up(hass, model_first=False)
    await say(hass, "turn on the bed light")
    await say(hass, sentence)
    assert (hass.states.get("light.bed_light").state == "on") is is_on  # type: ignore[union-attr]
