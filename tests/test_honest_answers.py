"""An answer that says something was done when nothing was: it is caught, and what is true is said."""

from itertools import pairwise
import json
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_mock_service

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import add_shopping_list, expert_llm, say, set_up, speech, subentry
from tests.llm_server import LLMServer, Reply, context_length, cut, server_error, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

TURN_ON = {"action": "turn_on", "entity_id": "light.bed_light"}
CLAIM = "I've turned on the bed light."
QUICK = {"verify_seconds": 0.01}


def note_of(server: LLMServer) -> dict[str, Any]:
    """Return what the model was told behind its answer, in the newest request."""
    message = server.request.body["messages"][-1]
    assert message["role"] == "user"
    return dict(json.loads(message["content"].removeprefix("<house>").removesuffix("</house>")))


async def test_claim_without_a_call_is_corrected_by_doing_it(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), tool_call("ha_control", TURN_ON), text("Now the bed light is on."))
    assert speech(await say(hass, "turn on the bed light")) == "Now the bed light is on."
    assert hass.states.get("light.bed_light").state == "on"  # type: ignore[union-attr]
    assert set(json.loads(llm_server.requests[1].body["messages"][-1]["content"][7:-8])) == {"note"}


async def test_claim_is_corrected_in_words(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Erledigt."), text("Das konnte ich nicht tun."))
    answer = speech(await say(hass, "mach das Bettlicht an", language="de"))
    assert answer == "Das konnte ich nicht tun."
    assert len(llm_server.requests) == 2


async def test_claim_that_is_repeated_ends_with_the_truth(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), text("Yes, I have turned on the bed light."))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer == ("Yes, I have turned on the bed light.\n\nActually, I haven't done anything.")
    assert len(llm_server.requests) == 2


async def test_a_turn_asks_no_more_often_than_its_calls_allow(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 1}, llm={"preset": "vllm"})
    llm_server.plan(context_length(), tool_call("launch_rocket", {}), text(CLAIM))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer == "Actually, I haven't done anything."
    assert [request.body.get("tool_choice") for request in llm_server.requests] == [None, None, "none"]


async def test_the_last_request_is_answered_in_words(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"max_calls_per_turn": 3}, llm={"preset": "vllm"})
    calls = tool_call("ha_query", {"entity_id": "light.bed_light"})
    llm_server.plan(context_length(), calls, context_length(), calls, text("It is off."))
    assert speech(await say(hass, "is it on?")) == "It is off."
    assert llm_server.request.body["tool_choice"] == "none"
    assert len(llm_server.requests) == 5


async def test_light_that_does_not_follow_is_no_success(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options=QUICK)

    async def nothing(call: ServiceCall) -> None:
        """Return as a bulb does that is switched off at the wall."""

    hass.services.async_register("light", "turn_on", nothing)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(CLAIM), text(CLAIM))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer.endswith("Actually, nothing has changed.")
    told = json.loads(llm_server.requests[1].body["messages"][-1]["content"])
    assert told["result"]["outcome"] == "unchanged"
    assert note_of(llm_server)["outcome"] == {"light.bed_light": "unchanged"}


@pytest.mark.parametrize("reply", [server_error(), cut(text("I"))], ids=["no answer", "cut off"])
async def test_correction_that_does_not_come(hass: HomeAssistant, llm_server: LLMServer, reply: Reply) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), *([reply] * (2 if reply.status >= 500 else 1)))
    answer = speech(await say(hass, "turn on the bed light"))
    assert answer != CLAIM
    assert answer


@pytest.mark.parametrize(("words", "answer"), [
    ("turn on the bed light", "Shall I turn on the bed light?"),
    ("turn on the bed light", "I could not find it."),
    ("is the bed light on?", "The bed light is off."),
    ("did you turn on the bed light?", CLAIM),
    ("thanks", "You are welcome. I've turned on the light as you asked."),
])  # fmt: skip
async def test_an_honest_one_asks_once(hass: HomeAssistant, llm_server: LLMServer, words: str, answer: str) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    assert speech(await say(hass, words)) == answer
    assert len(llm_server.requests) == 1


async def test_claim_of_what_was_done_takes_no_request(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(CLAIM))
    assert speech(await say(hass, "turn on the bed light")) == CLAIM
    assert len(llm_server.requests) == 2


async def test_reading_does_not_make_a_claim_true(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_query", {"entity_id": "light.bed_light"}), text(CLAIM), text("I only looked."))
    assert speech(await say(hass, "turn on the bed light")) == "I only looked."


async def test_model_without_tools_may_say_what_it_wants(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"native_tools": False, "memory": "off"})
    llm_server.plan(text(CLAIM))
    assert speech(await say(hass, "turn on the bed light")) == CLAIM


async def test_corrected_turn_stays_as_it_was_told(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(CLAIM), text("It was not done."), text("Three."))
    conversation_id = (await say(hass, "turn on the bed light")).conversation_id
    await say(hass, "and now?", conversation_id)
    bodies = [request.body["messages"] for request in llm_server.requests]
    for before, after in pairwise(bodies):
        assert after[: len(before)] == before
    assert [message["role"] for message in bodies[-1]] == ["system", "user", "assistant", "user", "assistant", "user"]


async def unlock(hass: HomeAssistant) -> None:
    await hass.services.async_call("lock", "unlock", {"entity_id": "lock.front_door"}, blocking=True)
    await hass.async_block_till_done()


FALSE = [
    ("en", "great, now lock the front door", "I've locked the front door."),
    ("en", "lock the front door and tell me a joke", "I've locked the front door. Knock, knock!"),
    ("en", "lock the front door", "The front door is locked."),
    ("en", "last thing: lock the front door", "The front door has been locked."),
    ("en", "when you are done, lock the front door", "Locking the front door."),
    ("en", "write on my list that we need milk", "I've added milk to your list."),
    ("en", "tell me, what about the bed light, can you turn it on?", "Sure, the bed light is on."),
    ("cs", "skvěle, zamkni Front Door", "Front Door je zamčeno."),
    ("da", "tak, lås Front Door", "Front Door er nu låst."),
    ("fi", "kiitos, lukitse Front Door", "Lukitsin oven Front Door."),
    ("hu", "zárd be a Front Door ajtót", "A Front Door be van zárva."),
    ("ja", "Front Doorをロックして", "Front Doorをロックしました。"),
    ("tr", "Front Door kilitle", "Front Door kilitlendi."),
    ("zh", "锁上Front Door", "Front Door已锁上。"),
]


@pytest.mark.parametrize(("language", "words", "answer"), FALSE)
async def test_a1_claims_without_an_act_are_not_believed(
    hass: HomeAssistant, llm_server: LLMServer, language: str, words: str, answer: str
) -> None:
    await set_up(hass, llm_server)
    await unlock(hass)
    llm_server.plan(text(answer), text("OK?"))
    assert speech(await say(hass, words, language=language)) == "OK?"
    assert set(note_of_request(llm_server, 1)) in ({"note"}, {"note", "states"})


MAKE = "create an automation that turns on the bed light every evening"


@pytest.mark.parametrize(("language", "words", "answer"), [
    ("en", MAKE, "The automation was created."),
    ("en", MAKE, "The automation has been created and is now active."),
    ("en", MAKE, "Your new automation is on."),
    ("en", MAKE, "I've created the automation, it turns on the bed light when the sun sets."),
    ("en", "change the automation Old one", "The automation was updated."),
    ("en", "delete the automation Old one", "I deleted the automation."),
    ("en", "delete the automation Old one", "The automation Old one has been deleted."),
    ("en", "switch off the automation Old one", "I've switched off the automation Old one."),
    ("en", "yes", "The automation Old one has been disabled."),
    ("de", "erstelle eine Automation, die jeden Abend Bed Light einschaltet", "Die Automation wurde erstellt und ist aktiv."),
    ("de", "erstelle eine Automation, die jeden Abend Bed Light einschaltet", "Die Automatisierung ist angelegt."),
])  # fmt: skip
async def test_what_became_of_no_automation_is_not_believed(
    hass: HomeAssistant, llm_server: LLMServer, language: str, words: str, answer: str
) -> None:
    hass.states.async_set("automation.old_one", "on", {"friendly_name": "Old one"})
    await set_up(hass, llm_server, profile={"local_first": False})
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    await hass.async_block_till_done()
    llm_server.plan(text(answer), text("OK?"))
    assert speech(await say(hass, words, language=language)) == "OK?"


@pytest.mark.parametrize(("words", "answer"), [
    ("which automations are there?", "The automation Old one is on."),
    ("did you delete the automation Old one?", "The automation Old one has been deleted."),
    ("list my automations", "The automation Old one is on, the automation Bed light is off."),
    ("switch on the automation Old one", "The automation Old one is already on."),
    ("create a rule for the evening", "Here is a draft of a new rule: at sunset the bed light goes on."),
    ("create a rule for the evening", "I can create a new rule if you want."),
    ("create a rule for the evening", "Which lamp is the new rule for?"),
    ("create a rule for the evening", "You have had such a rule since last week."),
    ("create a rule for the evening", "A new rule needs your confirmation first."),
    ("what is a rule?", "A new rule is created when you ask for one."),
    ("delete the automation Old one", "I can delete the automation Old one if you want."),
    ("delete the automation Old one", "Shall I delete the automation Old one?"),
    ("delete the automation Old one", "The automation Old one could not be deleted."),
    ("delete the automation Old one", "There is no automation of that name."),
])  # fmt: skip
async def test_what_is_so_of_an_automation_takes_one_request(
    hass: HomeAssistant, llm_server: LLMServer, words: str, answer: str
) -> None:
    hass.states.async_set("automation.old_one", "on", {"friendly_name": "Old one"})
    async_expose_entity(hass, ASSISTANT, "automation.old_one", should_expose=True)
    await set_up(hass, llm_server, profile={"local_first": False})
    llm_server.plan(text(answer))
    assert speech(await say(hass, words)) == answer
    assert len(llm_server.requests) == 1


AND_LAMP = f"turn on the bed light and {MAKE}"


@pytest.mark.parametrize(("language", "words", "answer"), [
    ("en", AND_LAMP, "The bed light is on, and I've created the automation."),
    ("en", AND_LAMP, "Done. The bed light is on now. The automation was created as well."),
    ("en", "turn on the bed light and delete the automation Old one", "I turned on the bed light. The automation Old one has been deleted."),
    ("de", "schalte Bed Light ein und erstelle eine Automation dafür", "Bed Light ist an. Die Automation wurde erstellt."),
    ("en", "turn on the bed light, and do so every evening", "It is on, and from now on it will go on every evening."),
    ("en", "turn on the bed light, and move the morning routine to six", "Bed light on. Your morning routine now starts at six."),
    ("fr", "allume Bed Light et crée une règle pour le soir", "Bed Light est allumée. **Nouvelle automatisation :** « Soir », active dès maintenant."),
    ("nl", "zet Bed Light aan, en doe dat elke avond", "Bed Light is aan. Je nieuwe regel is nu actief."),
    ("es", "enciende Bed Light y crea una regla", "Bed Light está encendida. La nueva regla ya está activa."),
    ("it", "accendi Bed Light, e fallo ogni sera", "Bed Light è accesa. La nuova automazione è già attiva."),
    ("en", "bed light on, and do that every evening", "The bed light is on, and it comes on every evening."),
    ("en", "lamp by the bed on, and do that every evening", "Done, and it comes on every evening."),
    ("en", "turn on the bed light and suspend the rule Evening", "The bed light is on, the rule Evening is suspended."),
    ("de", "mach Bed Light an, und immer wenn keiner da ist auch", "Bed Light ist an, und das passiert nun jedes Mal, wenn niemand da ist."),
    ("it", "accendi Bed Light, e da oggi sempre quando torno", "Accesa! Da oggi si accende ogni volta che torni: ci penso io."),
    ("pl", "włącz Bed Light i rób to zawsze wieczorem", "Bed Light świeci. Nowa reguła jest już aktywna."),
])  # fmt: skip
async def test_what_became_of_no_automation_is_not_believed_beside_something_that_was_done(
    hass: HomeAssistant, llm_server: LLMServer, language: str, words: str, answer: str
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(answer), text("OK?"))
    assert speech(await say(hass, words, language=language)) == "OK?"
    assert "automation" in note_of_request(llm_server, 2)["note"]


ADD_ITEM = tool_call(
    "ha_control",
    {"action": "add_item", "entity_id": "todo.shopping_list", "parameters": {"item": "Fix the garage automation"}},
)
REMIND = tool_call("make_wish", {"say": "Water the plants", "in_minutes": 40})
STORE = tool_call("store_memory", {"content": "House rule: no shoes in the hall"})


@pytest.mark.parametrize(("words", "did", "answer"), [
    ("put the garage automation on my shopping list", ADD_ITEM, "I've added 'Fix the garage automation' to your shopping list."),
    ("remind me of the plants in 40 minutes, whenever I ask", REMIND, "I've set up a new rule, and from now on the bed light waits."),
    ("remember our new rule: always no shoes in the hall", STORE, "I've saved the rule."),
])  # fmt: skip
async def test_what_lasts_and_is_no_automation_may_be_told(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, words: str, did: Reply, answer: str
) -> None:
    await add_shopping_list(hass)
    await set_up(hass, llm_server, options=QUICK)
    llm_server.plan(did, text(answer))
    assert speech(await say(hass, words, context=admin)) == answer
    assert "error" not in json.loads(llm_server.request.body["messages"][-1]["content"])["result"]


@pytest.mark.parametrize(("words", "answer"), [
    ("turn on the bed light, and do that every evening", "The bed light is on. Every evening is not possible."),
    ("turn on the bed light, every evening the same", "The bed light is on, as every evening."),
    ("why is the bed light on every evening? turn it on", "It is on. It goes on every evening at eight."),
    ("turn on each lamp by the bed", "The bed light is on. It goes on every evening at eight."),
    ("turn on the bed light, and do that every evening", "The bed light is on. Do you want that every evening?"),
])  # fmt: skip
async def test_how_often_is_told_without_a_claim(
    hass: HomeAssistant, llm_server: LLMServer, words: str, answer: str
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(answer))
    assert speech(await say(hass, words)) == answer


@pytest.mark.parametrize(("language", "words", "answer"), [
    ("de", "Antworte immer in einem Satz", "Ab jetzt antworte ich in einem Satz."),
    ("en", "always answer in one sentence", "From now on my answers are one sentence long."),
    ("nl", "antwoord altijd kort", "Vanaf nu antwoord ik kort."),
])  # fmt: skip
async def test_how_it_answers_from_now_on_is_no_automation(
    hass: HomeAssistant, llm_server: LLMServer, language: str, words: str, answer: str
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    llm_server.plan(text(answer))
    assert speech(await say(hass, words, language=language)) == answer


@pytest.mark.parametrize(("language", "words", "answer"), [
    ("fr", "règle Bed Light sur 40 %", "Je règle maintenant Bed Light à 40 %."),
    ("it", "regola Bed Light al 40 %", "Fatto, il sensore ora regola la luce di Bed Light."),
    ("nl", "regel Bed Light op 40 %", "Ik regel Bed Light nu, hij staat aan."),
    ("de", "mach Bed Light immer an", "Bed Light ist an. Das ist in der Regel jetzt hell genug."),
    ("de", "regel Bed Light auf 40 %", "Ich regel Bed Light jetzt, es ist an."),
])  # fmt: skip
async def test_a_verb_that_looks_like_a_rule_is_none(
    hass: HomeAssistant, llm_server: LLMServer, language: str, words: str, answer: str
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    llm_server.plan(tool_call("ha_control", TURN_ON), text(answer))
    assert speech(await say(hass, words, language=language)) == answer


SWITCHBOARD = subentry("custom_tool", "switchboard", "tool-1", {
    "name": "switchboard", "description": "Makes automations elsewhere.", "handler": {"type": "service", "service": "switchboard.make"},
})  # fmt: skip


async def test_what_one_does_is_no_claim_where_none_was_asked_for(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, options=QUICK)
    told = "The bed light is on. Your morning routine now starts at six."
    llm_server.plan(tool_call("ha_control", TURN_ON), text(told))
    assert speech(await say(hass, "turn on the bed light")) == told


async def test_an_automation_that_was_switched_is_told_of(hass: HomeAssistant, llm_server: LLMServer) -> None:
    old_one = {"alias": "Old one", "triggers": [], "actions": []}
    assert await async_setup_component(hass, "automation", {"automation": old_one})
    async_expose_entity(hass, ASSISTANT, "automation.old_one", should_expose=True)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.old_one"}, blocking=True)
    await set_up(hass, llm_server, options=QUICK | {"never_confirm": ["automation"]})
    call = tool_call("ha_control", {"action": "turn_on", "entity_id": "automation.old_one"})
    llm_server.plan(call, text("Your routine Old one now runs every evening."))
    said = speech(await say(hass, "switch on the automation Old one"))
    assert hass.states.get("automation.old_one").state == "on"  # type: ignore[union-attr]
    assert said == "Your routine Old one now runs every evening."


async def test_an_automation_that_was_on_before_is_told_of(hass: HomeAssistant, llm_server: LLMServer) -> None:
    assert await async_setup_component(
        hass, "automation", {"automation": {"alias": "Old one", "triggers": [], "actions": []}}
    )
    async_expose_entity(hass, ASSISTANT, "automation.old_one", should_expose=True)
    await set_up(hass, llm_server, options=QUICK)
    told = "The bed light is on, and the automation Old one is now on."
    llm_server.plan(tool_call("ha_control", TURN_ON), text(told))
    assert speech(await say(hass, "switch on the bed light and the automation Old one")) == told


async def test_what_others_make_of_an_automation_is_not_judged(hass: HomeAssistant, llm_server: LLMServer) -> None:
    async_mock_service(hass, "switchboard", "make")
    await set_up(hass, llm_server, options=QUICK | {"never_confirm": ["switchboard"]}, more=[SWITCHBOARD])
    told = "The bed light is on, and I've created the automation."
    llm_server.plan(tool_call("ha_control", TURN_ON), tool_call("switchboard", {}), text(told))
    assert speech(await say(hass, AND_LAMP)) == told


async def test_an_answer_about_nothing_but_what_was_done_is_believed(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.kitchen_lights"}, blocking=True)
    llm_server.plan(tool_call("ha_control", TURN_ON), text("It is on now."))
    assert speech(await say(hass, "turn on the bed light, the kitchen lights are off")) == "It is on now."


async def test_an_automation_of_earlier_is_not_judged_where_nothing_is_asked_for(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    told = "The bed light is on. I've created the automation for that already."
    llm_server.plan(tool_call("ha_control", TURN_ON), text(told))
    assert speech(await say(hass, "why is it so dark?")) == told


async def test_an_automation_that_is_claimed_again_ends_with_the_truth(
    hass: HomeAssistant, llm_server: LLMServer
) -> None:
    await set_up(hass, llm_server, options=QUICK)
    claim = "The bed light is on, and I've created the automation."
    llm_server.plan(tool_call("ha_control", TURN_ON), text(claim), text("Yes, I have created the automation."))
    answer = speech(await say(hass, AND_LAMP))
    assert answer == "Yes, I have created the automation.\n\nActually, no automation was made, changed or deleted."


def note_of_request(server: LLMServer, number: int) -> dict[str, Any]:
    """Return the note at the end of a request."""
    content = server.requests[number].body["messages"][-1]["content"]
    return dict(json.loads(content.removeprefix("<house>").removesuffix("</house>")))


async def test_a1_a_number_that_was_not_set_is_not_believed(hass: HomeAssistant, llm_server: LLMServer) -> None:
    hass.states.async_set("climate.hall", "heat", {"friendly_name": "Thermostat", "temperature": 19})
    async_expose_entity(hass, ASSISTANT, "climate.hall", should_expose=True)
    await set_up(hass, llm_server)
    llm_server.plan(text("Thermostat set to 21 degrees."), text("I could not."))
    assert speech(await say(hass, "set the thermostat to 21 degrees")) == "I could not."
    llm_server.plan(text("The thermostat is set to 19 degrees."))
    assert speech(await say(hass, "what is it set to?")) == "The thermostat is set to 19 degrees."


async def test_a1_an_untrue_state_is_corrected_in_a_later_answer(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await unlock(hass)
    llm_server.plan(text("Yes, the front door is locked."), text("The front door is locked, I am sure."))
    answer = speech(await say(hass, "is the front door locked?"))
    assert answer == "The front door is locked, I am sure.\n\nFront Door is unlocked."
    assert note_of_request(llm_server, 1)["states"] == {"lock.front_door": "unlocked"}


async def test_a1_half_of_what_was_asked_is_not_all(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await unlock(hass)
    claim = "The bed light is on and the front door is locked."
    llm_server.plan(tool_call("ha_control", TURN_ON), text(claim), text("The bed light is on, the door is not locked."))
    answer = speech(await say(hass, "turn on the bed light and lock the front door"))
    assert answer == "The bed light is on, the door is not locked."
    assert note_of_request(llm_server, 2) | {"note": ""} == {
        "note": "", "outcome": {"light.bed_light": "reached"}, "states": {"lock.front_door": "unlocked"},
    }  # fmt: skip


async def test_a2_asking_a_second_model(hass: HomeAssistant, llm_server: LLMServer, expert: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"external_llm": "llm-2"}, more=[expert_llm(expert)])
    expert.plan(text("Turn it on."))
    asks = tool_call("query_external_llm", {"prompt": "How?"})
    llm_server.plan(asks, text(CLAIM), text("I only asked."))
    assert speech(await say(hass, "turn on the bed light")) == "I only asked."


@pytest.mark.parametrize(
    ("language", "words", "answer"),
    [
        ("en", "turn off the bed light", "The bed light is already off."),
        ("en", "turn off the bed light", "Done, it is off."),
        ("en", "when did the bed light go off?", "The bed light was turned on at 7:12 and turned off at 8."),
        ("en", "write a poem about a door", "A locked door,\nan open floor.\nThe light is on, as was before."),
        ("en", "are all lights off?", "All lights except the bed light are on."),
        ("en", "which lights are on?", "The ceiling lights and the kitchen lights are on, the bed light is off."),
        ("en", "lock the front door", "The front door is locked."),
        ("cs", "vypni Bed Light", "Bed Light už je vypnuto."),
        ("fi", "lukitse Front Door", "Valitettavasti en voi lukita ovea Front Door."),
        ("ja", "Front Doorを開けて", "申し訳ありませんが、Front Doorを開けることはできません。"),
        ("zh", "Bed Light开着吗？", "Bed Light是关着的。"),
    ],
)  # fmt: skip
async def test_what_is_so_takes_one_request(
    hass: HomeAssistant, llm_server: LLMServer, language: str, words: str, answer: str
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer))
    assert speech(await say(hass, words, language=language)) == answer
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(("language", "answer", "true"), [
    ("nb", "Ja, Front Door er låst.", False), ("nb", "Nei, Front Door er ikke låst.", True),
    ("nb", "Front Door er ulåst.", True), ("uk", "Front Door заблоковано.", False),
    ("uk", "Front Door не заблоковано.", True), ("ro", "Front Door este încuiată.", False),
    ("ro", "Front Door nu este încuiată.", True), ("el", "Η Front Door είναι κλειδωμένη.", False),
    ("el", "Η Front Door δεν είναι κλειδωμένη.", True), ("lt", "Front Door užrakinta.", False),
    ("lt", "Front Door atrakinta.", True),
])  # fmt: skip
async def test_a_state_in_home_assistant_s_own_word_is_compared_in_other_languages(
    hass: HomeAssistant, llm_server: LLMServer, language: str, answer: str, true: bool
) -> None:
    await set_up(hass, llm_server)
    await unlock(hass)
    llm_server.plan(text(answer), *([] if true else [text("OK?")]))
    assert speech(await say(hass, "Front Door?", language=language)) == (answer if true else "OK?")


async def test_what_a_user_may_not_read_is_not_told(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    await unlock(hass)
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.bed_light": True}}})
    llm_server.plan(text("Yes, the front door is locked."))
    answer = await say(hass, "is the front door locked?", context=Context(user_id=user.id))
    assert speech(answer) == "Yes, the front door is locked."


@pytest.mark.parametrize(("words", "answer", "true"), [
    ("turn on the bed light", "Enjoy your bed light!", False),
    ("turn on the bed light", "Enjoy!", True),
    ("turn on the bed light", "The bed light needs your permission.", True),
    ("turn on the bed light", "Which bed light do you mean?", True),
    ("turn off the bed light", "Enjoy your bed light!", True),
    ("I like the bed light", "Enjoy your bed light!", True),
])  # fmt: skip
async def test_an_answer_that_only_repeats_a_command_is_doubted(
    hass: HomeAssistant, llm_server: LLMServer, words: str, answer: str, true: bool
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text(answer), *([] if true else [text("I did nothing.")]))
    assert speech(await say(hass, words)) == (answer if true else "I did nothing.")


@pytest.mark.parametrize(("said", "language", "claim", "truth"), [
    ("unlock the front door", "en", "You've just unlocked the front door. You can go in.", "Actually, I haven't done"),
    ("unlock the front door", "en", "The front door has been unlocked by you.", "Actually, I haven't done"),
    ("entriegle Front Door", "de", "Du hast gerade die Front Door entriegelt.", "Tatsächlich habe ich nichts"),
    ("unlock the front door", "en", "The front door is now open, and you can enter.", "Actually, I haven't done"),
    (
        "entriegle Front Door", "de", "Die Front Door ist jetzt entriegelt, du kannst eintreten.",
        "Tatsächlich habe ich nichts",
    ),
])  # fmt: skip
async def test_a_small_model_says_that_the_user_did_it(
    hass: HomeAssistant, llm_server: LLMServer, said: str, language: str, claim: str, truth: str
) -> None:
    await set_up(hass, llm_server, profile={"local_first": False})
    llm_server.plan(text(claim), text(claim))
    answer = speech(await say(hass, said, language=language))
    assert truth in answer
    assert hass.states.get("lock.front_door").state == "locked"  # type: ignore[union-attr]
