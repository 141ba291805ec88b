"""What is to happen again and again, without a model: a sentence becomes an automation after a yes, or nothing at all."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_fire_time_changed, async_mock_service

from custom_components.home_agent.automations.records import records_of
from custom_components.home_agent.automations.store import automation_store
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.proposal import ProposalStatus
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.automations.home import FILE, with_files
from tests.house import person, say, set_up, speech, state_of
from tests.prompt.conftest import AddEntity

pytestmark = pytest.mark.usefixtures("evening", "demo_house")

type Row = dict[str, Any]

NOWHERE = ["unavailable", "unknown"]
WORKING, WEEKEND = ["mon", "tue", "wed", "thu", "fri"], ["sat", "sun"]
ON: Row = {"action": "light.turn_on", "target": {"entity_id": ["light.bed_light"]}}
OFF: Row = {"action": "light.turn_off", "target": {"entity_id": ["light.bed_light"]}}
SUNSET: Row = {"trigger": "sun", "event": "sunset"}
AT_NIGHT: Row = {"condition": "time", "after": "21:00:00", "before": "06:00:00"}
WASHER: Row = {
    "trigger": "state", "entity_id": "binary_sensor.washer", "to": "off", "not_from": ["off", *NOWHERE],
}  # fmt: skip
ANNA: Row = {"trigger": "state", "entity_id": "person.anna", "to": "home", "not_from": ["home", *NOWHERE]}
CEILING_ON: Row = {"trigger": "state", "entity_id": "light.ceiling_lights", "to": "on", "not_from": ["on", *NOWHERE]}
SOMEBODY: Row = {"condition": "numeric_state", "entity_id": "zone.home", "above": 0}
NOBODY: Row = {"condition": "numeric_state", "entity_id": "zone.home", "below": 1}
ALL_GONE: Row = {"trigger": "numeric_state", "entity_id": "zone.home", "below": 1}
DARK: Row = {
    "condition": "or",
    "conditions": [{"condition": "sun", "after": "sunset"}, {"condition": "sun", "before": "sunrise"}],
}
FIRST_COMES: Row = {"trigger": "numeric_state", "entity_id": "zone.home", "above": 0}


def at(clock: str, *days: str) -> Row:
    """Return a trigger at a time of day."""
    return {"trigger": "time", "at": f"{clock}:00", **({"weekday": [*days]} if days else {})}


@pytest.fixture
async def file(hass: HomeAssistant, demo_house: None, add_entity: AddEntity) -> AsyncGenerator[Path]:
    """Return the file of automations of a home with people and a washer."""
    assert await async_setup_component(hass, "persistent_notification", {})
    assert await async_setup_component(hass, "zone", {})
    add_entity("binary_sensor.washer", "on", name="Washer", device_class="running")
    add_entity("person.anna", "not_home", name="Anna")
    add_entity("person.ben", "home", name="Ben")
    add_entity("switch.coffee", "off", name="Coffee Machine")
    add_entity("sensor.outside", "21", name="Outside Temperature", device_class="temperature", unit_of_measurement="°C")
    yield await with_files(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


async def made_of(hass: HomeAssistant, file: Path, admin: Context, language: str, said: str) -> Row:
    """Say a sentence and yes; return the automation that was made of it."""
    before = {state.entity_id: state.state for state in hass.states.async_all("light")}
    asked = await say(hass, said, language=language, context=admin)
    assert file.read_text() == FILE, "nothing is made before the yes"
    answer = await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    assert {state.entity_id: state.state for state in hass.states.async_all("light")} == before
    new = [item for item in await automation_store(hass).async_items() if item.id not in ("hall", "cellar")]
    assert len(new) == 1, (speech(asked), speech(answer))
    assert not wishes_of(hass).all()
    return dict(new[0].config)


YES = {"en": "yes", "de": "ja", "fr": "oui", "es": "sí", "it": "sì", "nl": "ja", "pl": "tak"}


@pytest.mark.parametrize(("language", "said", "trigger", "action"), [
    ("en", "turn on the bed light every evening at sunset", SUNSET, ON),
    ("en", "every day half an hour before sunset turn on the bed light", {**SUNSET, "offset": "-00:30:00"}, ON),
    ("en", "every Monday at eight turn on the bed light", at("08:00", "mon"), ON),
    ("en", "on Mondays at 8 pm turn on the bed light", at("20:00", "mon"), ON),
    ("en", "whenever it gets dark turn on the bed light", SUNSET, ON),
    ("en", "on Mondays, Wednesdays and Fridays at 7 pm turn off the bed light", at("19:00", "mon", "wed", "fri"), OFF),
    ("en", "every evening at nine turn off the bed light", at("21:00"), OFF),
    ("en", "every night at eleven turn off the bed light", at("23:00"), OFF),
    ("en", "every night at one turn off the bed light", at("01:00"), OFF),
    ("en", "turn on the bed light at 6:30 every weekend", at("06:30", *WEEKEND), ON),
    ("en", "from Monday to Friday at seven turn on the bed light", at("07:00", *WORKING), ON),
    ("en", "always turn off the bed light at midnight", at("00:00"), OFF),
    ("en", "every hour turn off the bed light", {"trigger": "time_pattern", "hours": "/1"}, OFF),
    ("en", "turn off the bed light every ten minutes", {"trigger": "time_pattern", "minutes": "/10"}, OFF),
    ("en", "whenever the washer is done, turn off the bed light", WASHER, OFF),
    ("en", "every time Anna comes home turn on the bed light", ANNA, ON),
    ("en", "every afternoon at three turn on the bed light", at("15:00"), ON),
    ("en", "turn on the bed light at every sunset", SUNSET, ON),
    ("en", "half an hour before every sunset turn on the bed light", {**SUNSET, "offset": "-00:30:00"}, ON),
    ("en", "each time the ceiling lights switch on, turn off the bed light", CEILING_ON, OFF),
    ("en", "whenever the ceiling lights turn on, turn off the bed light", CEILING_ON, OFF),
    ("de", "jeden Freitagabend um sieben Bed Light an", at("19:00", "fri"), ON),
    ("de", "freitagabends um sieben Bed Light an", at("19:00", "fri"), ON),
    ("de", "jeden Samstagmorgen um neun Bed Light aus", at("09:00", "sat"), OFF),
    ("de", "schalte bei jedem Sonnenuntergang Bed Light ein", SUNSET, ON),
    ("de", "eine halbe Stunde nach Sonnenuntergang jeden Tag Bed Light einschalten", {**SUNSET, "offset": "00:30:00"}, ON),
    ("de", "eine halbe Stunde nach jedem Sonnenuntergang Bed Light an", {**SUNSET, "offset": "00:30:00"}, ON),
    ("nl", "elke vrijdagavond om zeven uur doe Bed Light aan", at("19:00", "fri"), ON),
    ("de", "jeden Montag um acht schalte Bed Light ein", at("08:00", "mon"), ON),
    ("de", "montags und donnerstags um 19 Uhr Bed Light ausschalten", at("19:00", "mon", "thu"), OFF),
    ("de", "mach jeden Abend bei Sonnenuntergang Bed Light an", SUNSET, ON),
    ("de", "werktags um sieben Bed Light einschalten", at("07:00", *WORKING), ON),
    ("de", "schalte täglich um 22 Uhr Bed Light aus", at("22:00"), OFF),
    ("de", "alle zehn Minuten Bed Light ausschalten", {"trigger": "time_pattern", "minutes": "/10"}, OFF),
    ("de", "immer wenn die Waschmaschine fertig ist, schalte Bed Light aus", WASHER, OFF),
    ("de", "jedes Mal, wenn Anna nach Hause kommt, mach Bed Light an", ANNA, ON),
    ("fr", "tous les lundis à huit heures allume Bed Light", at("08:00", "mon"), ON),
    ("fr", "chaque fois que le lave-linge a fini, éteins Bed Light", WASHER, OFF),
    ("fr", "allume Bed Light tous les soirs au coucher du soleil", SUNSET, ON),
    ("es", "todos los lunes a las ocho enciende Bed Light", at("08:00", "mon"), ON),
    ("es", "enciende Bed Light de lunes a viernes a las siete", at("07:00", *WORKING), ON),
    ("es", "cada vez que termine la lavadora, apaga Bed Light", WASHER, OFF),
    ("it", "ogni lunedì e giovedì alle otto accendi Bed Light", at("08:00", "mon", "thu"), ON),
    ("it", "ogni volta che la lavatrice ha finito, spegni Bed Light", WASHER, OFF),
    ("nl", "elke werkdag om zeven uur doe Bed Light aan", at("07:00", *WORKING), ON),
    ("nl", "telkens als de wasmachine klaar is, doe Bed Light uit", WASHER, OFF),
    ("pl", "w każdy poniedziałek o ósmej włącz Bed Light", at("08:00", "mon"), ON),
    ("pl", "za każdym razem gdy pralka skończy, wyłącz Bed Light", WASHER, OFF),
])  # fmt: skip
async def test_when_and_what(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, trigger: Row, action: Row
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["triggers"] == [trigger]
    assert config["actions"] == [action]
    assert config["conditions"] == []
    assert config["mode"] == "single"


@pytest.mark.parametrize(("language", "said", "triggers", "conditions"), [
    ("en", "every weekday at seven, if somebody is home, turn on the bed light", [at("07:00", *WORKING)], [SOMEBODY]),
    ("de", "jeden Werktag um sieben, wenn jemand zu Hause ist, schalte Bed Light ein", [at("07:00", *WORKING)], [SOMEBODY]),
    ("en", "every ten minutes turn on the bed light if it is dark", [{"trigger": "time_pattern", "minutes": "/10"}], [DARK]),
    ("en", "every hour, if it is light outside, turn on the bed light", [{"trigger": "time_pattern", "hours": "/1"}],
     [{"condition": "sun", "after": "sunrise", "before": "sunset"}]),
    ("de", "alle zehn Minuten Bed Light an, wenn es dunkel ist", [{"trigger": "time_pattern", "minutes": "/10"}], [DARK]),
    ("en", "turn on the bed light whenever Anna comes home at night", [ANNA], [AT_NIGHT]),
    ("de", "immer wenn Anna nachts nach Hause kommt, schalte Bed Light ein", [ANNA], [AT_NIGHT]),
    ("en", "whenever Anna comes home on weekends, turn on the bed light", [ANNA], [{"condition": "time", "weekday": WEEKEND}]),
    ("en", "every evening when Anna comes home, turn on the bed light", [ANNA],
     [{"condition": "time", "after": "18:00:00", "before": "00:00:00"}]),
    ("en", "on weekdays at sunset turn on the bed light", [SUNSET], [{"condition": "time", "weekday": WORKING}]),
    ("en", "whenever Anna comes home, if it is dark, turn on the bed light", [ANNA],
     [DARK]),
    ("en", "whenever Anna comes home, turn on the bed light, but never while Ben is home", [ANNA],
     [{"condition": "not", "conditions": [{"condition": "state", "entity_id": "person.ben", "state": "home"}]}]),
    ("de", "immer wenn Anna nach Hause kommt, schalte Bed Light ein, aber nie, wenn Ben zu Hause ist", [ANNA],
     [{"condition": "not", "conditions": [{"condition": "state", "entity_id": "person.ben", "state": "home"}]}]),
    ("en", "whenever the outside temperature rises above 25 degrees, turn on the bed light",
     [{"trigger": "numeric_state", "entity_id": "sensor.outside", "above": 25.0}], []),
    ("en", "whenever the washer has been done for ten minutes, turn on the bed light", [{**WASHER, "for": {"seconds": 600}}], []),
])  # fmt: skip
async def test_conditions(
    hass: HomeAssistant,
    file: Path,
    admin: Context,
    language: str,
    said: str,
    triggers: list[Row],
    conditions: list[Row],
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["triggers"] == triggers
    assert config["conditions"] == conditions
    assert config["actions"] == [ON]


@pytest.mark.parametrize(("language", "said", "trigger", "action"), [
    ("en", "Create an automation: when the sun goes down, turn on the bed light", SUNSET, ON),
    ("en", "Set up an automation to turn on the bed light at sunset", SUNSET, ON),
    ("en", "Make an automation that turns on the bed light at sunset", SUNSET, ON),
    ("en", "Make an automation that, when the sun goes down, turns on the bed light", SUNSET, ON),
    ("en", "Can you build me an automation which switches off the bed light at 10 pm?", at("22:00"), OFF),
    ("en", "add an automation: whenever the washer is done, turn off the bed light", WASHER, OFF),
    ("en", "I want an automation that turns on the bed light when Anna comes home", ANNA, ON),
    ("en", "Create an automation: every weekday at seven turn on the bed light", at("07:00", *WORKING), ON),
    ("en", "new automation: if the washer is done, bed light off", WASHER, OFF),
    ("de", "Erstelle eine Automation: bei Sonnenuntergang Bed Light an", SUNSET, ON),
    ("de", "Erstelle eine Automation, die bei Sonnenuntergang Bed Light einschaltet", SUNSET, ON),
    ("de", "Leg eine Automatisierung an, die um 22 Uhr Bed Light ausschaltet", at("22:00"), OFF),
    ("de", "Mach mir eine Automation: wenn die Waschmaschine fertig ist, Bed Light aus", WASHER, OFF),
    ("de", "Baue eine Automation, die Bed Light anmacht, wenn Anna nach Hause kommt", ANNA, ON),
    ("de", "Erstelle eine Automation, um Bed Light bei Sonnenuntergang einzuschalten", SUNSET, ON),
    ("fr", "Crée une automatisation qui éteint Bed Light quand le lave-linge a fini", WASHER, OFF),
    ("es", "Crea una automatización que encienda Bed Light al atardecer", SUNSET, ON),
    ("it", "Crea un'automazione che accende Bed Light al tramonto", SUNSET, ON),
    ("nl", "Maak een automatisering die Bed Light bij zonsondergang aandoet", SUNSET, ON),
    ("pl", "Utwórz automatyzację, która włączy Bed Light o zachodzie słońca", SUNSET, ON),
])  # fmt: skip
async def test_an_automation_that_is_asked_for_by_this_name_is_no_wish(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, trigger: Row, action: Row
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["triggers"] == [trigger]
    assert config["actions"] == [action]
    assert "utom" not in config["alias"]


@pytest.mark.parametrize(("language", "said", "message"), [
    ("en", "Make me an automation that tells me when the washer is done", "You wanted to be told when the washer is done. It is so now."),
    ("de", "Erstelle eine Automation, die mir Bescheid sagt, wenn die Waschmaschine fertig ist",
     "Du wolltest Bescheid wissen, wenn die Waschmaschine fertig ist. Jetzt ist es so weit."),
])  # fmt: skip
async def test_an_automation_that_tells_something_is_asked_for(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, message: str
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["actions"] == [{"action": "persistent_notification.create", "data": {"message": message}}]


@pytest.mark.parametrize(("language", "said", "answer"), [
    ("en", "create an automation that turns on the bed light", "is an automation (turn on the bed light)"),
    ("en", "create an automation", "is an automation (create an automation)"),
    ("en", "create an automation that frobnicates the bed light at sunset", "is an automation (frobnicates the bed light at sunset)"),
    ("en", "create an automation to turn on the bed light tomorrow at 7 pm", "is an automation ("),
    ("en", "create an automation to turn on the bed light in ten minutes", "is an automation ("),
    ("en", "make an automation: when the flux capacitor starts, turn on the bed light", "is an automation ("),
    ("de", "Erstelle eine Automation, die Bed Light verbrennt", "ist eine Automatisierung ("),
    ("de", "Erstelle eine Automation, die Bed Light morgen um 19 Uhr einschaltet", "ist eine Automatisierung ("),
])  # fmt: skip
async def test_an_automation_that_is_not_understood_never_becomes_anything_else(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, answer: str
) -> None:
    await set_up(hass)
    before = {state.entity_id: state.state for state in hass.states.async_all("light")}
    asked = await say(hass, said, language=language, context=admin)
    assert answer in speech(asked)
    await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    assert file.read_text() == FILE
    assert {state.entity_id: state.state for state in hass.states.async_all("light")} == before
    assert not wishes_of(hass).all()


async def test_an_automation_that_is_asked_for_lacks_a_time(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    asked = await say(hass, "create an automation that turns on the bed light every evening", context=admin)
    then = await say(hass, "at nine", asked.conversation_id, context=admin)
    await say(hass, "yes", then.conversation_id, context=admin)
    [item] = [one for one in await automation_store(hass).async_items() if one.id not in ("hall", "cellar")]
    assert item.config["triggers"] == [at("21:00")]


BED_ON: Row = {"trigger": "state", "entity_id": "light.bed_light", "to": "on", "not_from": ["on", *NOWHERE]}
COFFEE_OFF: Row = {"trigger": "state", "entity_id": "switch.coffee", "to": "off", "not_from": ["off", *NOWHERE]}
IF_BED_ON: Row = {"condition": "state", "entity_id": "light.bed_light", "state": "on"}
IF_COFFEE_OFF: Row = {"condition": "state", "entity_id": "switch.coffee", "state": "off"}


@pytest.mark.parametrize(("language", "said"), [
    ("en", "whenever the bed light is on and the coffee machine is off, turn off the ceiling lights"),
    ("en", "every time the bed light is on and the coffee machine is off turn off the ceiling lights"),
    ("de", "immer wenn Bed Light an ist und Coffee Machine aus ist, schalte Ceiling Lights aus"),
    ("de", "immer wenn Bed Light an und Coffee Machine aus ist, schalte Ceiling Lights aus"),
    ("fr", "chaque fois que Bed Light est allumé et que Coffee Machine est éteinte, éteins Ceiling Lights"),
    ("es", "cada vez que Bed Light está encendida y Coffee Machine está apagada, apaga Ceiling Lights"),
    ("it", "ogni volta che Bed Light è accesa e Coffee Machine è spenta, spegni Ceiling Lights"),
    ("nl", "telkens als Bed Light aan is en Coffee Machine uit is, doe Ceiling Lights uit"),
    ("pl", "zawsze gdy Bed Light jest włączone i Coffee Machine jest wyłączone, wyłącz Ceiling Lights"),
])  # fmt: skip
async def test_whichever_of_two_becomes_so_last_triggers(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["triggers"] == [BED_ON, COFFEE_OFF]
    assert config["conditions"] == [IF_BED_ON, IF_COFFEE_OFF]


@pytest.mark.parametrize(("language", "said", "triggers", "conditions"), [
    ("en", "whenever the bed light turns on and the coffee machine is off, turn off the ceiling lights", [BED_ON], [IF_COFFEE_OFF]),
    ("en", "whenever the washer is done and the coffee machine is off, turn off the ceiling lights", [WASHER], [IF_COFFEE_OFF]),
    ("en", "whenever nobody is home and the bed light is on, turn off the bed light", [ALL_GONE, BED_ON], [NOBODY, IF_BED_ON]),
    ("de", "immer wenn Bed Light angeht und Coffee Machine aus ist, schalte Ceiling Lights aus", [BED_ON], [IF_COFFEE_OFF]),
    ("de", "immer wenn die Waschmaschine fertig ist und Coffee Machine aus ist, schalte Ceiling Lights aus", [WASHER], [IF_COFFEE_OFF]),
])  # fmt: skip
async def test_what_happens_triggers_alone(
    hass: HomeAssistant,
    file: Path,
    admin: Context,
    language: str,
    said: str,
    triggers: list[Row],
    conditions: list[Row],
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["triggers"] == triggers
    assert config["conditions"] == conditions


@pytest.mark.parametrize(("language", "said", "state"), [
    ("en", "whenever the garage door has been open for one minute, turn on the bed light", "open"),
    ("de", "immer wenn das Garage Door eine Minute offen steht, schalte Bed Light ein", "open"),
])  # fmt: skip
async def test_what_lasts_may_pass_through_other_states_on_its_way(
    hass: HomeAssistant,
    file: Path,
    admin: Context,
    freezer: FrozenDateTimeFactory,
    language: str,
    said: str,
    state: str,
) -> None:
    await set_up(hass)
    await made_of(hass, file, admin, language, said)
    for step in ("closed", "opening", state):
        hass.states.async_set("cover.garage_door", step)
        await hass.async_block_till_done()
        freezer.tick(10)
        async_fire_time_changed(hass)
    assert hass.states.is_state("light.bed_light", "off")
    freezer.tick(60)
    async_fire_time_changed(hass)
    await hass.async_block_till_done()
    assert hass.states.is_state("light.bed_light", "on")


@pytest.mark.parametrize(("language", "said", "data"), [
    ("en", "every day at 22:44 make the bed light red", {"rgb_color": [255, 0, 0]}),
    ("de", "jeden Tag um 22:44 Uhr Bed Light grün", {"rgb_color": [0, 128, 0]}),
])  # fmt: skip
async def test_a_color_is_a_list_in_the_file(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, data: Row
) -> None:
    await set_up(hass)
    asked = await say(hass, said, language=language, context=admin)
    answer = await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    assert speech(answer).startswith({"en": "Done", "de": "Erledigt"}[language])
    [item] = [item for item in await automation_store(hass).async_items() if item.id not in ("hall", "cellar")]
    assert item.config["actions"] == [{**ON, "data": data}]


@pytest.mark.parametrize("are_known", [True, False])
@pytest.mark.parametrize(("language", "said", "triggers", "conditions"), [
    ("en", "whenever everybody has left, turn on the bed light", [ALL_GONE], []),
    ("en", "when the last person leaves, always turn on the bed light", [ALL_GONE], []),
    ("en", "whenever nobody has been home for ten minutes, turn on the bed light", [{**ALL_GONE, "for": {"seconds": 600}}], []),
    ("en", "whenever the first person comes home, turn on the bed light", [FIRST_COMES], []),
    ("en", "every day at 10 pm, if nobody is home, turn on the bed light", [at("22:00")], [NOBODY]),
    ("en", "every day at 10 pm, unless somebody is home, turn on the bed light", [at("22:00")], [NOBODY]),
    ("en", "every day at 10 pm, unless nobody is home, turn on the bed light", [at("22:00")], [SOMEBODY]),
    ("en", "Every weekday at seven, if somebody is home, the bed light on.", [at("07:00", *WORKING)], [SOMEBODY]),
    ("en", "whenever the washer is done, turn on the bed light, but never while somebody is home", [WASHER],
     [{"condition": "not", "conditions": [SOMEBODY]}]),
    ("de", "immer wenn keiner mehr zu Hause ist, schalte Bed Light ein", [ALL_GONE], []),
    ("de", "immer wenn wir weg sind, schalte Bed Light ein", [ALL_GONE], []),
    ("de", "immer wenn der Erste nach Hause kommt, schalte Bed Light ein", [FIRST_COMES], []),
    ("de", "jeden Tag um 22 Uhr, wenn niemand zu Hause ist, schalte Bed Light ein", [at("22:00")], [NOBODY]),
    ("fr", "chaque fois que tout le monde est parti, allume Bed Light", [ALL_GONE], []),
    ("es", "cada vez que no quede nadie en casa, enciende Bed Light", [ALL_GONE], []),
    ("it", "ogni volta che esce l'ultimo, accendi Bed Light", [ALL_GONE], []),
    ("nl", "telkens als iedereen weg is, doe Bed Light aan", [ALL_GONE], []),
    ("pl", "za każdym razem gdy wszyscy wyjdą, włącz Bed Light", [ALL_GONE], []),
])  # fmt: skip
async def test_all_people_count_also_those_of_whom_nothing_is_known(
    hass: HomeAssistant,
    file: Path,
    admin: Context,
    language: str,
    said: str,
    triggers: list[Row],
    conditions: list[Row],
    *,
    are_known: bool,
) -> None:
    hass.states.async_set("person.granny", "home", {"friendly_name": "Granny"})
    for entity_id in () if are_known else ("person.anna", "person.ben"):
        async_expose_entity(hass, ASSISTANT, entity_id, False)
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["triggers"] == triggers
    assert config["conditions"] == conditions
    assert config["actions"] == [ON]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "whenever somebody comes home, turn on the bed light"), ("en", "whenever everybody is home, turn on the bed light"),
    ("en", "every day at 10 pm, if everybody is home, turn on the bed light"),
    ("en", "whenever somebody leaves, turn on the bed light"), ("de", "immer wenn alle zu Hause sind, schalte Bed Light ein"),
    ("de", "immer wenn jemand nach Hause kommt, schalte Bed Light ein"),
])  # fmt: skip
async def test_what_needs_each_of_them_is_made_if_all_are_known(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str
) -> None:
    hass.states.async_set("person.granny", "home", {"friendly_name": "Granny"})
    await set_up(hass)
    asked = await say(hass, said, language=language, context=admin)
    await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    assert file.read_text() == FILE
    hass.states.async_remove("person.granny")
    await made_of(hass, file, admin, language, said)


@pytest.mark.parametrize(("language", "said", "message"), [
    ("en", "tell me whenever the garage door opens at night", "You wanted to be told when the garage door opens. It is so now."),
    ("en", "every evening at ten, tell me if the garage door is open", "You wanted to be told if the garage door is open. It is so now."),
    ("en", "remind me every Monday at eight to take out the trash", "Reminder: take out the trash"),
    ("de", "immer wenn die Waschmaschine fertig ist, sag mir Bescheid",
     "Du wolltest Bescheid wissen, wenn die Waschmaschine fertig ist. Jetzt ist es so weit."),
    ("de", "erinnere mich jeden Dienstag um 19 Uhr daran, die Tonne rauszustellen", "Erinnerung: die Tonne rauszustellen"),
])  # fmt: skip
async def test_what_is_told_stands_in_home_assistant(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, message: str
) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    assert config["actions"] == [{"action": "persistent_notification.create", "data": {"message": message}}]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "every day at 6 am set the temperature in the bedroom to 21 degrees"),
    ("de", "jeden Tag um 6 Uhr die Temperatur im Bedroom auf 21 Grad stellen"),
])  # fmt: skip
async def test_a_thermostat_is_set(
    hass: HomeAssistant, file: Path, admin: Context, add_entity: AddEntity, language: str, said: str
) -> None:
    assert await async_setup_component(hass, "climate", {})
    await hass.async_block_till_done(wait_background_tasks=True)
    warmth: dict[str, Any] = {"temperature": 20, "hvac_modes": ["heat", "off"], "min_temp": 7, "max_temp": 35}
    add_entity("climate.heating", "heat", name="Heating", area="Bedroom", supported_features=1, **warmth)
    await set_up(hass)
    config = await made_of(hass, file, admin, language, said)
    action = {
        "action": "climate.set_temperature",
        "target": {"entity_id": ["climate.heating"]},
        "data": {"temperature": 21.0},
    }
    assert config["actions"] == [action]


async def test_a_length_after_an_event_is_waited_for(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    said = "ten minutes after the washer is done, always turn off the bed light"
    config = await made_of(hass, file, admin, "en", said)
    assert config["triggers"] == [WASHER]
    assert config["actions"] == [{"delay": {"seconds": 600}}, OFF]


async def test_what_is_told_goes_to_the_phone_of_who_speaks(hass: HomeAssistant, file: Path, admin: Context) -> None:
    for name, user_id in (("Anna", admin.user_id), ("Ben", person(hass).user_id)):
        MockConfigEntry(domain="mobile_app", data={"user_id": user_id, "device_name": name}).add_to_hass(hass)
        async_mock_service(hass, "notify", f"mobile_app_{name.lower()}")
    await set_up(hass)
    config = await made_of(hass, file, admin, "en", "tell me whenever the washer is done")
    assert [action["action"] for action in config["actions"]] == ["notify.mobile_app_anna"]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "every other day at nine pm turn on the bed light"), ("en", "every two minutes turn on the bed light"),
    ("en", "every seven minutes turn on the bed light"), ("en", "every Monday at eight tomorrow turn on the bed light"),
    ("en", "always on Friday at eight pm turn on the bed light"), ("en", "every morning at sunset turn on the bed light"),
    ("en", "whenever the door opens at ten pm turn on the bed light"), ("en", "always leave the bed light on"),
    ("en", "every month on the first at eight pm turn on the bed light"), ("en", "every day but Sunday at 8 pm turn on the bed light"),
    ("en", "every Sunday at 8 pm turn on the flux capacitor"), ("en", "every Friday night when Anna comes home turn on the bed light"),
    ("en", "every evening at nine turn on the bed light for an hour"), ("en", "wake me every weekday at seven"),
    ("en", "every morning if the washer is done frobnicate the bed light"),
    ("en", "every Monday at 8 pm turn on the bed light and every Tuesday at 9 pm turn it off"),
    ("en", "remind me every Monday at 8 pm to call {{ states('lock.front_door') }}"),
    ("de", "jeden zweiten Tag um 21 Uhr Bed Light einschalten"), ("de", "immer am ersten des Monats um 21 Uhr Bed Light einschalten"),
    ("de", "jeden Morgen bei Sonnenuntergang Bed Light einschalten"), ("de", "jeden Tag außer Sonntag um 21 Uhr Bed Light einschalten"),
    ("de", "jeden Montag um 21 Uhr und dienstags um 22 Uhr Bed Light einschalten"), ("de", "wecke mich werktags um sieben"),
    ("en", "whenever the bed light is on and the coffee machine is off for ten minutes, turn off the ceiling lights"),
    ("fr", "un jour sur deux à 21 heures allume Bed Light"), ("es", "cada dos días a las 21:00 enciende Bed Light"),
    ("it", "ogni due giorni alle 21 accendi Bed Light"), ("nl", "om de dag om 21 uur doe Bed Light aan"),
    ("pl", "co drugi dzień o 21:00 włącz Bed Light"),
])  # fmt: skip
async def test_what_is_not_certain_is_not_made(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str
) -> None:
    await set_up(hass)
    before = {state.entity_id: state.state for state in hass.states.async_all("light")}
    asked = await say(hass, said, language=language, context=admin)
    await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    assert file.read_text() == FILE
    assert {state.entity_id: state.state for state in hass.states.async_all("light")} == before
    assert not wishes_of(hass).all()


@pytest.mark.parametrize("said", [
    "what happens every evening", "is the bed light on every evening", "turn on the bed light", "turn on the bed light at nine",
    "she said, turn on the bed light every evening at nine", "do I turn on the bed light every evening at sunset",
])  # fmt: skip
async def test_no_automation_of_other_sentences(hass: HomeAssistant, file: Path, admin: Context, said: str) -> None:
    await set_up(hass)
    asked = await say(hass, said, context=admin)
    await say(hass, "yes", asked.conversation_id, context=admin)
    assert file.read_text() == FILE


@pytest.mark.parametrize(("language", "said", "time"), [
    ("en", "turn on the bed light every evening", "at nine"), ("de", "mach jeden Abend Bed Light an", "um neun"),
    ("fr", "allume Bed Light tous les soirs", "à neuf heures"), ("it", "accendi Bed Light ogni sera", "alle nove"),
])  # fmt: skip
async def test_a_part_of_the_day_asks_for_the_time(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, time: str
) -> None:
    await set_up(hass)
    asked = await say(hass, said, language=language, context=admin)
    then = await say(hass, time, asked.conversation_id, language=language, context=admin)
    await say(hass, YES[language], then.conversation_id, language=language, context=admin)
    [item] = [one for one in await automation_store(hass).async_items() if one.id not in ("hall", "cellar")]
    assert item.config["triggers"] == [at("21:00")]


@pytest.mark.parametrize(("language", "said", "words"), [
    ("en", "every day at nine turn off the bed light", "“at nine”"), ("de", "täglich um fünf Bed Light ausschalten", "„um fünf“"),
    ("en", "every day at twelve turn off the bed light", "“at twelve”"), ("en", "every day at 12 turn off the bed light", "“at 12”"),
])  # fmt: skip
async def test_an_hour_of_the_morning_or_the_evening_is_asked_for(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, words: str
) -> None:
    await set_up(hass)
    asked = await say(hass, said, language=language, context=admin)
    assert words in speech(asked)
    await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    assert file.read_text() == FILE


@pytest.mark.parametrize(("language", "said"), [
    ("de", "jeden Tag um 12 Uhr Bed Light einschalten"), ("de", "jeden Tag um zwölf Uhr Bed Light einschalten"),
    ("fr", "tous les jours à 12 h allume Bed Light"), ("nl", "doe elke dag om 12 uur Bed Light aan"),
])  # fmt: skip
async def test_twelve_of_24_hours_is_noon(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str
) -> None:
    await set_up(hass)
    assert (await made_of(hass, file, admin, language, said))["triggers"] == [at("12:00")]


@pytest.mark.parametrize(("language", "said", "time"), [
    ("en", "every day at nine turn on the bed light", "at nine in the evening"),
    ("en", "every day at nine turn on the bed light", "at 21:00"), ("en", "every day at nine turn on the bed light", "at 9 pm"),
    ("en", "turn on the bed light every day at nine", "nine in the evening"), ("en", "turn on the bed light at nine every day", "21:00"),
    ("en", "create an automation that turns on the bed light every day at nine", "at 9 pm please"),
    ("de", "jeden Tag um neun Bed Light einschalten", "um neun Uhr abends"), ("de", "mach täglich um 9 Bed Light an", "21 Uhr"),
    ("fr", "tous les jours à neuf heures allume Bed Light", "à neuf heures du soir"),
    ("nl", "doe elke dag om negen uur Bed Light aan", "om negen uur 's avonds"),
    ("es", "todos los días a las nueve enciende Bed Light", "a las nueve de la noche"),
    ("it", "ogni giorno alle nove accendi Bed Light", "alle nove di sera"),
    ("pl", "codziennie o dziewiątej włącz Bed Light", "o dziewiątej wieczorem"),
])  # fmt: skip
async def test_the_time_alone_answers_which_half_of_the_day(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, time: str
) -> None:
    await set_up(hass)
    asked = await say(hass, said, language=language, context=admin)
    assert file.read_text() == FILE
    then = await say(hass, time, asked.conversation_id, language=language, context=admin)
    await say(hass, YES[language], then.conversation_id, language=language, context=admin)
    [item] = [one for one in await automation_store(hass).async_items() if one.id not in ("hall", "cellar")]
    assert (item.config["triggers"], item.config["actions"]) == ([at("21:00")], [ON])


@pytest.mark.parametrize(("language", "said", "question", "done"), [
    ("en", "whenever the washer is done, turn off the bed light",
     ("When Washer changes to not running: turn off Bed Light.", "Propose the automation", "to the administrators?"),
     "is proposed. An administrator has to agree in Repairs."),
    ("de", "immer wenn die Waschmaschine fertig ist, schalte Bed Light aus",
     ("Bed Light ausschalten.", "vorschlagen?"), "ist vorgeschlagen."),
])  # fmt: skip
async def test_members_propose_after_a_yes(
    hass: HomeAssistant, file: Path, alice: Context, language: str, said: str, question: tuple[str, ...], done: str
) -> None:
    await set_up(hass)
    asked = await say(hass, said, language=language, context=alice)
    assert all(part in speech(asked) for part in question), speech(asked)
    assert not records_of(hass).rows(ProposalStatus.PROPOSED)
    answer = await say(hass, YES[language], asked.conversation_id, language=language, context=alice)
    assert done in speech(answer)
    [record] = records_of(hass).rows(ProposalStatus.PROPOSED)
    assert record.said == said
    assert file.read_text() == FILE


async def test_members_propose_nothing_after_a_no(hass: HomeAssistant, file: Path, alice: Context) -> None:
    await set_up(hass)
    asked = await say(hass, "whenever the washer is done, turn off the bed light", context=alice)
    await say(hass, "no", asked.conversation_id, context=alice)
    assert not records_of(hass).rows(ProposalStatus.PROPOSED)


async def test_nobody_known_makes_none(hass: HomeAssistant, file: Path) -> None:
    await set_up(hass)
    said = await say(hass, "whenever the washer is done, turn off the bed light", device_id="satellite")
    assert "I don't know who is speaking" in speech(said)
    assert not records_of(hass).rows(ProposalStatus.PROPOSED)


async def test_what_unlocks_is_asked_about_with_a_warning(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    asked = await say(hass, "every day at 7 pm unlock the front door", context=admin)
    assert file.read_text() == FILE
    done = await say(hass, "yes", asked.conversation_id, context=admin)
    assert "opens, unlocks or disarms by itself" in speech(done)
    assert state_of(hass, "lock.front_door") == "locked"


async def test_what_the_user_may_not_do_is_not_made(hass: HomeAssistant, file: Path, limited: Any) -> None:
    await set_up(hass)
    await say(hass, "every day at 7 pm unlock the front door", context=limited("light.bed_light"))
    assert not records_of(hass).rows(ProposalStatus.PROPOSED)
    assert file.read_text() == FILE


async def test_the_same_is_made_once(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    await made_of(hass, file, admin, "en", "every Monday at eight turn on the bed light")
    again = await say(hass, "Every Monday at eight turn on the bed light.", context=admin)
    assert "there is an automation of this name already" in speech(again)


async def test_it_is_called_what_was_said(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    config = await made_of(hass, file, admin, "en", "every Monday at eight turn on the bed light.")
    assert config["alias"] == "Every Monday at eight turn on the bed light"
    assert er.async_get(hass).async_get("automation.every_monday_at_eight_turn_on_the_bed_light") is not None


@pytest.mark.parametrize(("language", "one", "other"), [
    ("en", "whenever the outside temperature rises above 25 degrees, turn off the bed light",
     "whenever the outside temperature rises above 25 degrees, turn off the ceiling lights"),
    ("de", "immer wenn die Waschmaschine schon seit zehn Minuten fertig ist, schalte bitte Bed Light aus",
     "immer wenn die Waschmaschine schon seit zehn Minuten fertig ist, schalte bitte Ceiling Lights aus"),
])  # fmt: skip
async def test_names_tell_long_sentences_apart(
    hass: HomeAssistant, file: Path, admin: Context, language: str, one: str, other: str
) -> None:
    await set_up(hass)
    for said in (one, other):
        asked = await say(hass, said, language=language, context=admin)
        await say(hass, YES[language], asked.conversation_id, language=language, context=admin)
    names = [str(item.config["alias"]) for item in await automation_store(hass).async_items()][2:]
    assert [name.casefold() for name in names] == [one.casefold(), other.casefold()]


async def test_names_that_are_cut_are_numbered(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    begin = "remind me every Monday at eight to look after all the plants of the neighbours and to write down for them whether the leaves"
    for end in ("are green", "are yellow", "are brown"):
        asked = await say(hass, f"{begin} {end}", context=admin)
        await say(hass, "yes", asked.conversation_id, context=admin)
    first, *others = [str(item.config["alias"]) for item in await automation_store(hass).async_items()][2:]
    assert others == [f"{first} (2)", f"{first} (3)"]
    assert first.endswith("…")
    assert all(len(name) <= 120 for name in (first, *others))


async def test_an_agent_that_takes_no_wishes_makes_no_automations(
    hass: HomeAssistant, file: Path, admin: Context
) -> None:
    await set_up(hass, profile={"wishes": False})
    asked = await say(hass, "every Monday at eight turn on the bed light", context=admin)
    assert "every Monday" in speech(asked)
    await say(hass, "yes", asked.conversation_id, context=admin)
    assert file.read_text() == FILE
