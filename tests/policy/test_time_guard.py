"""A model does nothing now that the user said for later; what is for now is never held back."""

from datetime import datetime
import json
from typing import Any
from zoneinfo import ZoneInfo

from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.policy.time_guard import put_off_before, put_off_in
from custom_components.home_agent.wishes.wishes import wishes_of
from tests import house
from tests.house import act, build_house, say, set_up, state_of
from tests.llm_server import LLMServer, text, tool_call

NOW = datetime(2026, 11, 24, 18, 10, tzinfo=ZoneInfo("Europe/Berlin"))
OFF = {"action": "turn_off", "entity_id": "light.ceiling_lights"}


@pytest.fixture(autouse=True)
async def demo_house(hass: HomeAssistant, house: None) -> None:
    """Build the house before each test, not the demo entities of the folder."""
    await build_house(hass)


@pytest.fixture
def anna(hass: HomeAssistant) -> Context:
    return house.person(hass, "Anna")


FOR_LATER = [
    ("en", "give me five more minutes in the tub and then the fan can go off"),
    ("en", "one last tune and then lights out"),
    ("de", "noch eine Seite und dann das Licht aus"),
    ("de", "Kommt morgen früh wer durch die Küche, mach das Licht an"),
    ("fr", "encore un dessin et puis éteins la lampe"),
    ("es", "un cuento más y apaga la luz"),
    ("it", "ancora una pagina e poi spegni la luce"),
    ("nl", "nog een bladzijde en dan het licht uit"),
    ("pl", "jeszcze jeden rozdział i gasimy lampę"),
    ("en", "at half-time switch the fan on"),
    ("it", "a torta finita spegni la luce"),
    ("nl", "bij het slapengaan de lamp uit"),
    ("de", "beim Zubettgehen die Lampe aus"),
    ("en", "lamp off on going to bed"),
    ("fr", "éteins la lampe en partant"),
    ("es", "apaga la luz al acostarme"),
    ("pl", "wychodząc zgaś lampę"),
    ("de", "in der Werbepause bitte das Licht an"),
    ("fr", "allume la lampe à la mi-temps"),
    ("es", "en el descanso enciende la luz"),
    ("it", "accendi la luce durante l'intervallo"),
    ("nl", "doe in de pauze van de film het licht aan"),
    ("pl", "w przerwie włącz światło"),
    ("en", "don't switch it off yet, do that once I have left"),
    ("en", "give her another half hour and then dim the lamp"),
    ("en", "lights on, not right now, when I get up"),
    ("de", "Licht aus, nicht jetzt, wenn ich gehe"),
    ("es", "como mañana llueva, cierra la persiana"),
    ("es", "en terminando la película, apaga la luz"),
    ("en", "turn off the light in ten minutes"),
    ("en", "in ten minutes, turn off the light"),
    ("en", "tomorrow at seven, please, turn on the light"),
    ("en", "turn off the light at nine and lock the door at ten"),
    ("en", "at nine turn off the light and lock the door"),
    ("en", "when the washer is done, turn off the light"),
    ("en", "turn off the light, when the washer is done"),
    ("en", "hey, turn off the light in ten minutes"),
    ("en", "the light is too bright, turn it off in ten minutes"),
    ("en", "turn off the light in ten minutes and the radio"),
    ("en", "turn off the light soon"),
    ("en", "turn on the light every evening"),
    ("en", "in ten minutes"),
    ("en", "wait five minutes and turn on the light"),
    ("en", "wait until Anna comes, turn on the light"),
    ("en", "turn on the light with a delay of five minutes"),
    ("en", "should Anna arrive, turn on the light"),
    ("en", "turn on the light between nine and ten"),
    ("en", "turn on the light in  umpteen min\u200butes"),
    ("en", "turn on the light tmrw"),
    ("en", "turn off the light with a five minute delay"),
    ("en", "first wait for Anna, then turn on the light"),
    ("en", "let the washer finish and then turn off the light"),
    ("en", "ten more minutes, then turn off the radio"),
    ("en", "keep the light on for an hour and then turn it off"),
    ("en", "don't turn on the light until six"),
    ("en", "turn off the light, but not yet"),
    ("en", "Anna comes at eight, turn on the light then"),
    ("en", "it's warm. turn off the light. in an hour."),
    ("en", "turn on the light at oh six hundred"),
    ("en", "by nine have the light on"),
    ("de", "unter der Bedingung, dass Anna da ist, mach das Licht an"),
    ("de", "bis sieben das Bad warm machen"),
    ("de", "mach das Licht aus, aber nicht sofort"),
    ("de", "ich sag Bescheid, dann Licht an"),
    ("es", "deja pasar diez minutos y apaga la radio"),
    ("es", "no enciendas la luz hasta las seis"),
    ("fr", "encore dix petites minutes et tu éteins la lampe"),
    ("fr", "plus personne ici ? Alors éteins la lampe"),
    ("it", "finisco il capitolo e poi spegni la lampada"),
    ("nl", "lamp uit, maar pas als ik slaap"),
    ("nl", "Anna komt om acht uur, doe dan de lamp aan"),
    ("pl", "doczytam rozdział i potem zgaś lampę"),
    ("pl", "wylacz lampe za godzine"),
    ("de", "Warte fünf Minuten und mach das Licht an"),
    ("de", "Kommt Anna nach Hause, mach das Licht an"),
    ("de", "Ist Anna da, mach das Licht an"),
    ("de", "mach das Licht im Dezember an"),
    ("fr", "Attends cinq minutes et allume la lampe"),
    ("fr", "Allume la lampe 21h"),
    ("es", "Espera cinco minutos y enciende la lámpara"),
    ("it", "accendi la lampada ore 21"),
    ("nl", "Komt Anna thuis, doe de lamp aan"),
    ("nl", "doe de lamp om 21u aan"),
    ("pl", "Poczekaj pięć minut i włącz lampę"),
    ("de", "mach gleich das Licht aus"),
    ("de", "Licht aus, sobald die Waschmaschine fertig ist"),
    ("de", "um neun das Licht aus und die Haustür zu"),
    ("fr", "éteins la lumière dans dix minutes"),
    ("es", "apaga la luz dentro de diez minutos"),
    ("it", "spegni la luce tra dieci minuti"),
    ("nl", "doe het licht over tien minuten uit"),
    ("pl", "zgaś światło za dziesięć minut"),
]
FOR_NOW = [
    ("en", "turn off the light"),
    ("en", "turn off the light now"),
    ("en", "turn on the light, it gets dark so early"),
    ("en", "turn on the light and tell me how the weather is tomorrow"),
    ("en", "I'm going on holiday tomorrow, turn down the heating"),
    ("en", "it's nine o'clock, turn off the tv"),
    ("en", "good morning, turn on the light"),
    ("en", "turn on the light for ten minutes"),
    ("en", "turn on the light until ten"),
    ("en", "turn off the light, and in ten minutes turn off the radio"),
    ("en", "start movie night"),
    ("en", "I'll be home in ten minutes, turn the heating on now"),
    ("en", "turn off the light if you don't mind"),
    ("en", "it would be nice if you turned off the light"),
    ("en", "turn on the second lamp"),
    ("de", "es wäre nett, wenn du das Licht ausmachst"),
    ("de", "um acht kommen Gäste, mach jetzt das Licht an"),
    ("es", "si es tan amable, apague la luz"),
    ("fr", "si on pouvait éteindre la lumière"),
    ("fr", "le film est enfin fini, éteins la lumière"),
    ("it", "ti sarei grato se spegnessi la luce"),
    ("nl", "ik zou het fijn vinden als je het licht uitdoet"),
    ("pl", "gdybyś mógł zgasić światło"),
    ("de", "Guten Abend, mach das Licht an"),
    ("de", "mach sofort das Licht an"),
    ("de", "Ist so dunkel hier, mach das Licht an"),
    ("de", "Mach das Licht für zehn Minuten an"),
    ("fr", "allume la lumière tout de suite"),
    ("es", "enciende la luz ahora mismo"),
    ("it", "accendi subito la luce"),
    ("nl", "doe nu het licht aan"),
    ("pl", "włącz teraz światło"),
]


@pytest.mark.parametrize(("language", "said"), FOR_LATER)
async def test_words_put_it_off(hass: HomeAssistant, language: str, said: str) -> None:
    assert put_off_in(said, language, NOW) is not None


@pytest.mark.parametrize(("language", "said"), FOR_NOW)
async def test_words_are_for_now(hass: HomeAssistant, language: str, said: str) -> None:
    assert put_off_in(said, language, NOW) is None


async def test_what_was_named_is_no_time(hass: HomeAssistant) -> None:
    assert put_off_in("turn on Every Evening", "en", NOW) is not None
    assert put_off_in("turn on Every Evening", "en", NOW, ("Every Evening",)) is None


LATER = "turn off the light at nine"


@pytest.mark.parametrize(("language", "said"), [
    ("de", "Ich bügel noch kurz das Hemd und dann Lava Lamp aus"), ("en", "let me dry my hair and then Lava Lamp off"),
])  # fmt: skip
async def test_a_name_behind_then_is_a_word(language: str, said: str) -> None:
    assert put_off_in(said, language, NOW, ("Lava Lamp",)) is not None


@pytest.mark.parametrize(("language", "before", "said"), [
    ("en", "turn off the fan at nine", "and then right away the lamp as well"),
    ("de", "um neun den Ventilator aus", "das gleiche mach mit der Lampe"),
    ("nl", "om negen uur de ventilator uit", "en dan direct ook de lamp"),
    ("pl", "o dziewiątej wyłącz wentylator", "to samo zrób z lampą"),
    ("en", "wake me at six", "with the lamp on"), ("de", "weck mich um sechs", "mit Licht bitte"), ("nl", "wek me om zes uur", "en zet dan de radio aan"),
    ("pl", "obudź mnie o szóstej", "i zapal wtedy lampę"),
])  # fmt: skip
async def test_then_at_once_and_the_same_are_for_later(language: str, before: str, said: str) -> None:
    assert put_off_before([before], said, language, NOW) is not None


@pytest.mark.parametrize(("before", "said"), [
    ([LATER], "also the bed light"), ([LATER, "also the radio"], "and the fan"), ([LATER, "is the door locked?"], "and the bed light"),
    ([LATER, "thanks"], "the bed light too"), (["turn on the fan, and at nine turn off the light"], "and the radio"),
    (["when the washer is done, turn off the light"], "make it the radio"),
])  # fmt: skip
async def test_what_goes_on_from_something_for_later_is_for_later(
    hass: HomeAssistant, before: list[str], said: str
) -> None:
    put_off = put_off_before(before, said, "en", NOW)
    assert put_off is not None
    assert put_off.goes_on


@pytest.mark.parametrize(("before", "said"), [
    ([], "also the bed light"), ([LATER], "turn on the radio"), ([LATER], "now"), ([LATER, "turn on the radio"], "and the fan"),
    ([LATER, "no, now"], "and the fan"), (["how warm will it be tomorrow?"], "and the fan"), (["turn on the fan until ten"], "and the radio"),
])  # fmt: skip
async def test_what_goes_on_from_something_for_now_is_for_now(
    hass: HomeAssistant, before: list[str], said: str
) -> None:
    assert put_off_before(before, said, "en", NOW) is None


async def ask(hass: HomeAssistant, server: LLMServer, words: str, *calls: Any, **fields: Any) -> list[Any]:
    """Have the model make calls, one after the other; return their envelopes."""
    server.plan(*calls, text("Good."))
    await say(hass, words, **fields)
    messages = server.request.body["messages"]
    return [json.loads(one["content"].partition("\n")[0]) for one in messages if one["role"] == "tool"]


async def test_a_model_is_told_to_make_a_wish(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    [answer] = await ask(
        hass, llm_server, "Turn off the ceiling lights in ten minutes", tool_call("ha_control", OFF), context=anna
    )
    assert "make_wish" in answer["error"]
    assert "in ten minutes" in answer["error"]
    assert state_of(hass, "light.ceiling_lights") == "on"


async def test_after_its_wish_a_model_does_what_else_was_said(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    await set_up(hass, llm_server)
    wish = tool_call("make_wish", {"actions": [OFF], "in_minutes": 10})
    other = tool_call("ha_control", {"action": "turn_off", "entity_id": "light.kitchen_lights"})
    said = "In ten minutes turn off the ceiling lights and the kitchen lights now"
    answers = await ask(hass, llm_server, said, wish, other, tool_call("ha_control", OFF), context=anna)
    assert [one["success"] for one in answers] == [True, True, False]
    assert state_of(hass, "light.kitchen_lights") == "off"
    assert state_of(hass, "light.ceiling_lights") == "on"
    assert len(wishes_of(hass).all()) == 1


async def test_what_is_for_always_is_an_automation(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    [answer] = await ask(
        hass, llm_server, "Turn off the ceiling lights every evening", tool_call("ha_control", OFF), context=anna
    )
    assert "automation" in answer["error"]
    assert state_of(hass, "light.ceiling_lights") == "on"


async def test_without_wishes_it_is_not_possible(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server, profile={"wishes": False})
    [answer] = await ask(
        hass, llm_server, "Turn off the ceiling lights in ten minutes", tool_call("ha_control", OFF), context=anna
    )
    assert "not possible here" in answer["error"]
    assert "make_wish" not in answer["error"]
    assert state_of(hass, "light.ceiling_lights") == "on"


@pytest.mark.parametrize("tools", [{"allowed_tools": ["ha_control"]}, {"never_offer": ["make_wish"]}])
async def test_a_tool_that_is_not_offered_is_not_named(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context, tools: dict[str, Any]
) -> None:
    await set_up(hass, llm_server, profile=tools)
    [answer] = await ask(
        hass, llm_server, "Turn off the ceiling lights in ten minutes", tool_call("ha_control", OFF), context=anna
    )
    assert "not possible here" in answer["error"]
    assert "make_wish" not in answer["error"]


async def test_who_was_handed_a_request_hands_it_back(
    hass: HomeAssistant, llm_server: LLMServer, anna: Context
) -> None:
    """It is not told to call what it does not have; the agent that the user talks to makes the wish."""
    helper = house.agent(2, "Helper", llm_id="llm-1", extension_name="helper", delegation_level="unrestricted")
    await set_up(hass, llm_server, profile={"delegate_to": ["profile-2"]}, more=[helper])
    said = "Turn off the ceiling lights in ten minutes"
    handed = {"target_service_id": "helper", "user_request": said}
    wish = {"actions": [OFF], "at": "in 10 min"}
    llm_server.plan(
        tool_call("delegate_to_service", handed),
        tool_call("ha_control", OFF),
        text("That is for later."),
        tool_call("make_wish", wish),
        text("Planned."),
    )
    await say(hass, said, context=anna)
    told = [request.raw.decode() for request in llm_server.requests]
    assert any("You were handed this request" in one for one in told)
    assert not any("Call make_wish with the same action" in one for one in told)
    assert state_of(hass, "light.ceiling_lights") == "on"
    assert [known.targets for known in wishes_of(hass).all()] == [("light.ceiling_lights",)]


async def test_a_vague_time_is_asked_for(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    [answer] = await ask(
        hass, llm_server, "Turn off the ceiling lights soon", tool_call("ha_control", OFF), context=anna
    )
    assert "Ask the user when" in answer["error"]
    assert state_of(hass, "light.ceiling_lights") == "on"


async def test_a_message_that_goes_on_is_held_back(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("All right, at nine."))
    await say(hass, "It would be great to have the kitchen lights gone at nine", "talk", context=anna)
    first = await ask(
        hass, llm_server, "And the ceiling lights", tool_call("ha_control", OFF), conversation_id="talk", context=anna
    )
    second = await ask(
        hass, llm_server, "Turn off the ceiling lights right now, please", tool_call("ha_control", OFF),
        conversation_id="talk", context=anna,
    )  # fmt: skip
    assert "at nine" in first[-1]["error"]
    assert "make_wish or change_wish" in first[-1]["error"]
    assert second[-1]["success"]


async def test_a_yes_to_doing_it_now_is_for_now(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("I cannot do that later. Shall I do it right now?"))
    await say(hass, "It would be great to have the ceiling lights gone at nine", "talk", context=anna)
    [answer] = await ask(hass, llm_server, "Yes", tool_call("ha_control", OFF), conversation_id="talk", context=anna)
    assert answer["success"], answer


async def test_reading_is_not_held_back(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await set_up(hass, llm_server)
    query = tool_call("ha_query", {"entity_id": "light.ceiling_lights"})
    [answer] = await ask(hass, llm_server, "Turn off the ceiling lights in ten minutes", query, context=anna)
    assert answer["success"]


async def test_an_automation_says_when_itself(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_control", OFF), text("Good."))
    await act(hass, "process", Context(), text="It is nine: the children sleep at nine, so turn off the lights tonight")
    assert state_of(hass, "light.ceiling_lights") == "off"


async def test_an_item_of_a_list_may_have_a_time(hass: HomeAssistant, llm_server: LLMServer, anna: Context) -> None:
    await house.add_shopping_list(hass)
    await set_up(hass, llm_server)
    add = tool_call(
        "ha_control",
        {"action": "add_item", "entity_id": "todo.shopping_list", "parameters": {"item": "Call mum at nine"}},
    )
    [answer] = await ask(hass, llm_server, "Put call mum at nine on the shopping list", add, context=anna)
    assert answer["success"], answer
