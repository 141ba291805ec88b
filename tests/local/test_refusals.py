"""When the house cannot answer: what was missing, in words that tell nothing of what is hidden."""

from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, intent
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text
from tests.local.conftest import MakeContext, log_of

pytestmark = pytest.mark.usefixtures("demo_house")

NOT_UNDERSTOOD = intent.IntentResponseErrorCode.NO_INTENT_MATCH
NO_TARGET = intent.IntentResponseErrorCode.NO_VALID_TARGETS
FAILED = intent.IntentResponseErrorCode.FAILED_TO_HANDLE


@pytest.mark.parametrize(("language", "sentence"), [
    ("en", "turn on the {}"), ("en", "is the {} on"), ("en", "what is the {}"), ("en", "turn on the {} in the kitchen"),
    ("en", "please be so kind and turn on the {}"), ("de", "Schalte {} ein"), ("fr", "Allume {}"), ("ru", "включи {}"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_hidden_is_as_unknown_as_missing(hass: HomeAssistant, language: str, sentence: str) -> None:
    hass.states.async_set("light.hidden", "off", {"friendly_name": "Purple Unicorn"})
    async_expose_entity(hass, ASSISTANT, "light.hidden", False)
    hidden = await say(hass, sentence.format("purple unicorn"), language=language)
    missing = await say(hass, sentence.format("orange narwhal"), language=language)
    assert speech(hidden).lower().replace("purple unicorn", "_") == speech(missing).lower().replace(
        "orange narwhal", "_"
    )
    assert hidden.response.error_code is missing.response.error_code
    assert len(speech(hidden)) > 20  # a whole sentence


@pytest.mark.parametrize("model", [False, True], ids=["the house alone", "a model behind it"])
@pytest.mark.parametrize(("language", "sentence"), [
    ("en", "turn on the {}"), ("en", "turn off the {} please"), ("en", "is the {} on"), ("en", "what is the {}"),
    ("en", "set the {} to 50%"), ("en", "please be so kind and turn on the {}"), ("de", "Schalte {} ein"),
    ("fr", "Allume {}"),
])  # fmt: skip
async def test_what_a_user_may_know_nothing_of_is_as_unknown_as_missing(
    hass: HomeAssistant, llm_server: LLMServer, limited: MakeContext, language: str, sentence: str, model: bool
) -> None:
    llm_server.respond(lambda _body: text("I do not know that."))
    await set_up(hass, llm_server if model else None)
    context = limited(read=False)
    answers = []
    for name in ("bed light", "zorp glim"):
        result = await say(hass, sentence.format(name), language=language, context=context)
        heard = [type(item).__name__ for item in log_of(hass, result)]
        answers.append((speech(result).lower().replace(name, "_"), result.response.error_code, heard))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("sentence", ["turn on the lights in the bedroom", "are any lights on in the bedroom"])
@pytest.mark.usefixtures("home_agent")
async def test_a_room_does_not_tell_what_is_hidden(hass: HomeAssistant, limited: MakeContext, sentence: str) -> None:
    said = speech(await say(hass, sentence, context=limited("light.bed_light", read=False)))
    assert "Ceiling" not in said
    assert said == "Sorry, I am not aware of any light in the Bedroom area"


@pytest.mark.parametrize(("language", "sentence", "answer"), [
    ("en", "open the front door", "Sorry, I can't open 'Front Door' (a lock); that action doesn't apply."),
    ("en", "close bed light", "Sorry, I can't close 'Bed Light' (a light); that action doesn't apply."),
    ("de", "schalte Front Door aus", "Was soll ich mit Front Door machen?"),
    ("fr", "éteins Front Door", "Que dois-je faire avec Front Door\xa0?"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_what_does_not_fit_a_thing_is_no_unknown_name(
    hass: HomeAssistant, limited: MakeContext, language: str, sentence: str, answer: str
) -> None:
    result = await say(hass, sentence, language=language)
    assert speech(result) == answer
    assert result.response.error_code is NO_TARGET
    unread = await say(hass, sentence, language=language, context=limited(read=False))
    assert speech(unread).startswith(("I can't find anything called", "Ich finde nichts namens", "Je ne trouve rien"))


@pytest.mark.usefixtures("home_agent")
async def test_hidden_things_of_a_room_are_as_good_as_none(hass: HomeAssistant) -> None:
    before = await say(hass, "turn on the lights in the garage")
    hass.states.async_set("light.hidden", "off", {"friendly_name": "Secret"})
    entry = er.async_get(hass).async_get_or_create("light", "test", "h", suggested_object_id="hidden")
    garage = ar.async_get(hass).async_get_or_create("Garage")
    er.async_get(hass).async_update_entity(entry.entity_id, area_id=garage.id, name="Secret")
    async_expose_entity(hass, ASSISTANT, "light.hidden", False)
    after = await say(hass, "turn on the lights in the garage")
    assert speech(after) == speech(before) == "Sorry, I am not aware of any light in the Garage area"
    assert after.response.error_code is NO_TARGET


@pytest.mark.parametrize(("language", "sentence", "words"), [
    ("en", "what is the meaning of life", "add a model"), ("en", "qwertz", "add a model"),
    ("en", "is it on?", "add a model"), ("de", "Schalte es wieder aus", "ein Modell hinzu"),
    ("de", "was ist der Sinn des Lebens", "ein Modell hinzu"), ("de-AT", "qwertz", "ein Modell hinzu"),
    ("fr", "bla bla", "pas compris"), ("ru", "бла бла", "не распознано"), ("tlh", "nuqneH", "add a model"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_sentence_nobody_understands(hass: HomeAssistant, language: str, sentence: str, words: str) -> None:
    result = await say(hass, sentence, language=language)
    assert words in speech(result)
    assert result.response.error_code is NOT_UNDERSTOOD


@pytest.mark.parametrize(("language", "sentence", "answer"), [
    ("en", "turn on the frobnicator", "I can't find anything called frobnicator"),
    ("en", "turn on the tv", "I can't find anything called tv"),
    ("en", "turn on the lights in the attic", "I can't find anything called attic"),
    ("de", "Schalte Brimborium ein", "Ich finde nichts namens Brimborium"),
    ("fr", "Allume le brimborion", "Je ne trouve rien qui s'appelle brimborion"),
    ("es", "enciende la televisión", "No encuentro nada que se llame televisión"),
    ("ru", "включи телевизор в кухне", "Нет зоны кухне"),
    ("zh-Hans", "打开电视", "抱歉，找不到名为 电视 的设备"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_unknown_name_is_named(hass: HomeAssistant, language: str, sentence: str, answer: str) -> None:
    for _ in range(2):  # Home Assistant keeps what it recognised
        result = await say(hass, sentence, language=language)
        assert speech(result).startswith(answer)
        assert result.response.error_code is NO_TARGET


@pytest.mark.parametrize(("language", "sentence"), [
    ("de", "warum ist der himmel blau"),  # a name "warum ist" in an area "himmel blau", to a recogniser
    ("de", "Wie blau ist der Himmel?"), ("de", "Und im Bedroom?"), ("en", "is it on?"), ("en", "paint all the doors"),
    ("fr", "le ciel est-il bleu"), ("es", "¿está azul el cielo?"), ("nl", "waarom is de lucht blauw"),
    ("pl", "czy niebo jest niebieskie?"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_a_doubtful_name_is_not_said_to_be_missing(hass: HomeAssistant, language: str, sentence: str) -> None:
    result = await say(hass, sentence, language=language)
    assert result.response.error_code is NOT_UNDERSTOOD


@pytest.mark.parametrize(("language", "sentence", "named"), [
    ("de", "schalte den Himmel ein", "Himmel"),
    ("de", "Wie warm ist es im Keller?", "Keller"),
    ("nl", "doe de hemel aan", "hemel"),
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_what_may_be_a_name_is_named(hass: HomeAssistant, language: str, sentence: str, named: str) -> None:
    result = await say(hass, sentence, language=language)
    assert named in speech(result)
    assert result.response.error_code is NO_TARGET


@pytest.mark.parametrize(("language", "answer"), [
    ("sv", "Ursäkta, jag förstår inte (“Slå på Bed Light”)"),
    ("ru", "Обращение не распознано"),  # its own words for that are none of its sentences
])  # fmt: skip
@pytest.mark.usefixtures("home_agent")
async def test_the_example_that_helps(hass: HomeAssistant, limited: MakeContext, language: str, answer: str) -> None:
    assert speech(await say(hass, "qwertz", language=language)) == answer
    blind = speech(await say(hass, "qwertz", language=language, context=limited(read=False)))
    assert "Bed Light" not in blind


async def test_profile_without_its_model_points_to_its_settings(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile={"llm": "none"})
    assert "Select one in its settings" in speech(await say(hass, "tell me a joke"))


@pytest.mark.usefixtures("home_agent")
async def test_custom_sentence_is_explained_not_guessed(hass: HomeAssistant) -> None:
    agent = get_agent_manager(hass).default_agent
    assert agent is not None
    sentences = {"sentences": ["brighten {name}"], "metadata": {METADATA_CUSTOM_SENTENCE: True}}
    get_agent_manager(hass).update_config_intents({"HassTurnOn": {"data": [sentences]}})
    await agent.async_reload("en")
    assert speech(await say(hass, "brighten bed light")) == "Turned on the light"
    assert "frobnicator" in speech(await say(hass, "brighten frobnicator"))


@pytest.mark.usefixtures("home_agent")
async def test_intent_that_nobody_handles_is_not_understood(hass: HomeAssistant) -> None:
    get_agent_manager(hass).update_config_intents({"BrewCoffee": {"data": [{"sentences": ["brew coffee"]}]}})
    agent = get_agent_manager(hass).default_agent
    assert agent is not None
    await agent.async_reload("en")
    result = await say(hass, "brew coffee")
    assert result.response.error_code is NOT_UNDERSTOOD
    assert len(log_of(hass, result)) == 3


@pytest.mark.usefixtures("home_agent")
@pytest.mark.parametrize(("language", "said", "answer"), [
    ("en", "Thank you!", "You're welcome."), ("en", "thanks a lot", "You're welcome."),
    ("de", "Danke schön.", "Gern geschehen."), ("de", "thanks", "Gern geschehen."), ("fr", "Merci", "Je vous en prie."),
])  # fmt: skip
async def test_thanks_are_understood(hass: HomeAssistant, language: str, said: str, answer: str) -> None:
    assert speech(await say(hass, said, language=language)) == answer
