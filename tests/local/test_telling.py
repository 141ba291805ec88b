"""What only says how something is, where it looks like a command: nothing happens. Commands with an owner's name in them still do."""

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.languages.remarks import tells
from scripts.evaluation.local import OURS
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text
from tests.local import said

TOLD = {
    "en": [
        "it's 25 degrees in the living room", "it's 50 percent in the kitchen", "its 25 degrees in the living room",
        "the bed light's on", "coffee machine's on", "light's on in the office", "the lights're on in the kitchen",
        "there's light on in the office", "here's the bed light on", "it's on in the kitchen", "it's off in the kitchen",
        "it's all off in the living room", "it's still on in the kitchen", "now it's 25 degrees in the living room",
        "the left blind's open", "the garage door's open", "the garage door’s open", "sprinkler running",
        "volume of the TV 50 is too much", "lights on in the office again", "the office light's on again",
    ],
    "de": ["noch Licht an im Büro", "Nachttischlampe noch an", "wieder 25 Grad im Wohnzimmer", "schon 25 Grad im Wohnzimmer"],
    "es": ["ya 25 grados en el salón"], "pl": ["już 25 stopni w salonie"], "it": ["già 25 gradi in soggiorno"],
    "fr": ["déjà 25 degrés dans le salon"], "nl": ["nog 25 graden in de woonkamer"],
}  # fmt: skip
WANTED = {
    "en": [
        "turn on Anna's lamp", "dad's light off", "the living room's light on", "the TV's volume 50", "lights off again",
        "off again", "let's turn on the bed light", "it's too bright in the kitchen", "it's cold, set the thermostat to 22",
        "it's 30 degrees in the living room, fan on", "is it still on in the kitchen", "it's on in the kitchen?",
        "what's on in the kitchen", "could you turn it on again",
    ],
    "de": ["mach das Licht wieder an", "wieder aus", "Licht wieder an", "25 Grad im Wohnzimmer", "und noch das Licht im Büro an"],
    "es": ["25 grados en el salón", "ya apaga la luz"], "pl": ["25 stopni w salonie"], "it": ["accendi ancora la luce"],
    "fr": ["25 degrés dans le salon", "éteins encore la lumière"], "nl": ["zet het licht weer aan"],
}  # fmt: skip


@pytest.mark.parametrize(("language", "sentence"), [(code, one) for code, listed in TOLD.items() for one in listed])
def test_it_only_tells(language: str, sentence: str) -> None:
    assert tells(sentence, language)


@pytest.mark.parametrize(("language", "sentence"), [(code, one) for code, listed in WANTED.items() for one in listed])
def test_it_wants_something(language: str, sentence: str) -> None:
    assert not tells(sentence, language)


@pytest.mark.parametrize("language", ["en", "de"])
async def test_nothing_is_done_in_a_home_without_a_model(hass: HomeAssistant, language: str) -> None:
    async for house in said.async_living(hass, language):
        called = async_capture_events(hass, EVENT_CALL_SERVICE)
        for sentence in TOLD[language]:
            house.prepare({})
            called.clear()
            reply, _ = await house.async_ask(OURS, {"utterance": sentence, "lang": language, "kind": "none"})
            assert not called, (sentence, reply.said)
            assert not house.open_questions, sentence
            house.forget()


@pytest.mark.usefixtures("demo_house")
async def test_a_model_gets_what_only_tells(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    assert speech(await say(hass, "the kitchen lights're off")) == "I see."
    assert not called
