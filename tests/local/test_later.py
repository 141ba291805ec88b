"""A time never means now: what is for later, for some time or for some case is not done at once, and the answer says which part that is."""

import json
from pathlib import Path

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import add_shopping_list, person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text
from tests.local.talks import words_waiting

pytestmark = pytest.mark.usefixtures("demo_house")

SAID = json.loads((Path(__file__).parents[1] / "languages" / "later.json").read_text("utf-8"))
NOW = {
    "en": "turn on the bed light", "de": "schalte Bed Light ein", "fr": "allume Bed Light", "es": "enciende Bed Light",
    "it": "accendi Bed Light", "nl": "doe Bed Light aan", "pl": "włącz Bed Light",
}  # fmt: skip


@pytest.mark.parametrize("language", NOW)
async def test_no_time_means_now(hass: HomeAssistant, language: str) -> None:
    await set_up(hass)
    now = NOW[language]
    await say(hass, now, language=language, context=person(hass))
    assert state_of(hass, "light.bed_light") == "on"
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    for number, time in enumerate(SAID[language]["times"]):
        first, _, rest = now.partition(" ")
        ways = [f"{now} {time}", f"{time} {now}", f"{first} {time} {rest}", f"{now}, {time}"]
        for said in (ways[number % 4], ways[(number + 1) % 4]):
            await say(hass, said, language=language, context=person(hass))
            if any(wish.ends for wish in wishes_of(hass).all()):  # for a while: on now, and off again
                await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
            wishes_of(hass).drop(wishes_of(hass).all())
            assert state_of(hass, "light.bed_light") == "off", said


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the kitchen lights and turn on the bed light at nine"), ("en", "at nine turn on the bed light and the ceiling lights"),
    ("en", "turn on the bed light until ten, then turn on the ceiling lights"),
    ("en", "turn on the bed light in ten"), ("en", "in ten turn on the bed light"), ("de", "schalte Bed Light in fünf ein"),
    ("de", "in fünf schalte Bed Light ein"), ("es", "enciende Bed Light, la semana que viene"), ("pl", "włącz Bed Light, przez chwilę"),
    ("en", "it's so dark in the bedroom at night"), ("en", "make the bedroom brighter at nine"),
])  # fmt: skip
async def test_nothing_is_done_of_what_has_a_time_in_it(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    for light in ("bed_light", "ceiling_lights", "kitchen_lights"):
        await hass.services.async_call("light", "turn_off", {"entity_id": f"light.{light}"}, blocking=True)
    await say(hass, said, language=language, context=person(hass))
    assert {state.state for state in hass.states.async_all("light") if state.name in _LIGHTS} == {"off"}


_LIGHTS = ("Bed Light", "Ceiling Lights", "Kitchen Lights")


@pytest.mark.parametrize(("language", "said", "part"), [
    ("en", "turn on the bed light tomorrow", "tomorrow"), ("en", "when the washer is done turn on the bed light", "when the washer is done"),
    ("en", "every other day at nine turn on the bed light", "every other day"), ("en", "turn on the bed light soon", "soon"),
    ("de", "wenn die Waschmaschine fertig ist schalte Bed Light ein", "fertig ist"), ("de", "schalte jeden Abend Bed Light ein", "jeden Abend"),
    ("es", "enciende Bed Light cuando llegue el cartero", "cuando llegue el cartero"), ("it", "accendi Bed Light dopo cena", "dopo cena"),
    ("pl", "włącz Bed Light po kolacji", "po kolacji"),
])  # fmt: skip
async def test_the_part_that_cannot_be_done_is_said(hass: HomeAssistant, language: str, said: str, part: str) -> None:
    await set_up(hass)
    assert part in speech(await say(hass, said, language=language, context=person(hass)))
    assert state_of(hass, "light.bed_light") == "off"
    assert not words_waiting(hass)


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light right now"), ("en", "turn on the bed light at once"), ("de", "schalte Bed Light sofort ein"),
    ("de", "mach jetzt gleich Bed Light an"), ("es", "enciende Bed Light ahora mismo"), ("pl", "natychmiast włącz Bed Light"),
])  # fmt: skip
async def test_now_is_now(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language)
    assert state_of(hass, "light.bed_light") == "on"


async def test_a_name_is_no_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    er.async_get(hass).async_update_entity("light.bed_light", name="Good Evening")
    async_expose_entity(hass, "conversation", "light.bed_light", True)
    await hass.async_block_till_done()
    await say(hass, "turn on good evening")
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize(("said", "item"), [
    ("add five minute noodles to the shopping list", "five minute noodles"), ("add bread tomorrow to the shopping list", None),
    ("add tomorrow bread to the shopping list", None), ("add at nine bread to the shopping list", None),
    ("add cake for my birthday on sunday to the shopping list", "cake for my birthday on sunday"),
])  # fmt: skip
async def test_items_have_times_of_their_own(hass: HomeAssistant, said: str, item: str | None) -> None:
    await set_up(hass)
    await add_shopping_list(hass, "milk")
    await hass.async_block_till_done()
    before = state_of(hass, "todo.shopping_list")
    answer = speech(await say(hass, said))
    assert (state_of(hass, "todo.shopping_list") != before) is (item is not None)
    assert item is None or item in answer


@pytest.mark.parametrize(("said", "minutes"), [
    ("schalte Bed Light in 5 Minuten ein", 5), ("mach Bed Light in einer halben Stunde an", 30),
])  # fmt: skip
async def test_a_span_within_a_command_is_one_for_later(hass: HomeAssistant, said: str, minutes: int) -> None:
    await set_up(hass)
    answer = speech(await say(hass, said, language="de", context=person(hass)))
    [wish] = wishes_of(hass).all()
    assert wish.when.at is not None
    assert round((wish.when.at - dt_util.utcnow()).total_seconds() / 60) == minutes
    assert wish.targets == ("light.bed_light",)
    assert "Bed Light" in answer, "it says what will be done"
    assert state_of(hass, "light.bed_light") == "off"


async def test_it_says_what_will_be_done(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = speech(await say(hass, "turn on the bed light in 5 minutes", context=person(hass)))
    assert answer.startswith("All right: at ")
    assert answer.endswith(", turn on Bed Light.")


@pytest.mark.parametrize(
    "said",
    ["turn on the bed light tomorrow", "when the washer is done turn on the bed light", "turn on the bed light soon"],
)
async def test_a_model_gets_it_as_it_was_said(hass: HomeAssistant, llm_server: LLMServer, said: str) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    assert speech(await say(hass, said, context=person(hass))) == "I see."
    assert said in json.dumps(llm_server.requests[-1].body)
    assert state_of(hass, "light.bed_light") == "off"
    assert not words_waiting(hass)
