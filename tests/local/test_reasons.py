"""Commands that say why: the command is done, or asked about, and never answered as if it were a question."""

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.languages.reasons import reasons_in
from tests.house import person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.mark.parametrize(("language", "said"), [
    ("en", "Unlock the front door please, someone is there"), ("en", "Unlock the front door, someone's at the door"),
    ("en", "unlock the front door because my brother is here"), ("en", "Please unlock the front door. I am outside"),
    ("en", "unlock the front door, it's cold"), ("en", "unlock the front door - there is a parcel"),
    ("de", "Entriegele bitte Front Door, da steht jemand"), ("de", "entriegele Front Door weil jemand da ist"),
])  # fmt: skip
async def test_a_sensitive_one_is_asked_about(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    asked = await say(hass, said, context=person(hass), language=language)
    assert speech(asked).endswith("?")
    assert "Front Door" in speech(asked)
    assert state_of(hass, "lock.front_door") == "locked"


@pytest.mark.parametrize("said", [
    "turn on the bed light, it is dark", "turn on the bed light because I want to read", "Turn on the bed light, I'm home",
    "turn on the bed light, somebody turned it off",
])  # fmt: skip
async def test_an_ordinary_one_is_done(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    assert state_of(hass, "light.bed_light") == "off"
    await say(hass, said)
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize("said", [
    "turn on the bed light, I'm joking", "turn on the bed light, but later", "turn on the bed light, it is bright in the kitchen",
    "turn on the bed light, no wait, leave it off", "turn on the bed light, if it is dark", "turn on the bed light, I don't want that",
    "turn on the bed light, when I'm home", "someone is there, turn on", "it is dark because the bed light is off",
])  # fmt: skip
async def test_what_follows_may_be_more_than_a_reason(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, said)
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize("said", [
    "if you don't mind, turn on the bed light", "I'll be home in ten minutes, turn on the bed light now", "we're home, turn on the bed light",
    "it's nine already, turn on the bed light",
])  # fmt: skip
async def test_what_is_said_in_front_of_one_is_no_part_of_it(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, said)
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize("said", [
    "I'll be home in ten minutes, turn on the bed light", "he said, turn on the bed light", "he said: turn on the bed light",
    "I'm not sure but, turn on the bed light", "when I'm home, turn on the bed light now",
])  # fmt: skip
async def test_what_is_said_in_front_of_one_may_be_more(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, said)
    assert state_of(hass, "light.bed_light") == "off"


async def test_in_front_of_a_model_it_is_asked_about_as_well(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    asked = await say(hass, "Unlock the front door please, someone is there", context=person(hass))
    assert speech(asked) == "Front Door is locked. Unlock it?"


@pytest.mark.parametrize(("code", "said", "command"), [
    ("fr", "déverrouille la porte, il y a quelqu'un", "déverrouille la porte"),
    ("fr", "éteins la lumière parce que je pars", "éteins la lumière"),
    ("es", "abre la puerta, hay alguien", "abre la puerta"), ("es", "apaga la luz porque me voy", "apaga la luz"),
    ("it", "apri la porta, c'è qualcuno", "apri la porta"), ("it", "spegni la luce perché esco", "spegni la luce"),
    ("nl", "doe de deur open, er staat iemand", "doe de deur open"), ("nl", "doe het licht uit want ik ga weg", "doe het licht uit"),
    ("pl", "otwórz drzwi, ktoś czeka", "otwórz drzwi"), ("pl", "zgaś światło, bo wychodzę", "zgaś światło"),
])  # fmt: skip
def test_reasons_are_known_in_each_language(code: str, said: str, command: str) -> None:
    assert command in [found.command for found in reasons_in(said, code)]
