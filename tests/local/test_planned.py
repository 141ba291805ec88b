"""Wishes that wait are told and cancelled, each person's own; "soon" is no time."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.languages.later import without_times
from custom_components.home_agent.languages.planning import PlanningKind, planning_of
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text
from tests.local.talks import words_waiting

pytestmark = pytest.mark.usefixtures("demo_house")

LATER = "turn on the bed light in 5 minutes"


def _satellite(hass: HomeAssistant) -> str:
    """Return the id of a device that hears, without timers of its own."""
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "satellite")})
    return device.id


@pytest.mark.parametrize(
    "said", ["what did you plan?", "what's waiting", "what have you got planned", "anything scheduled?"]
)
async def test_what_waits_is_told(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    assert speech(await say(hass, said, context=anna)) == "Nothing is waiting."
    await say(hass, LATER, context=anna)
    told = speech(await say(hass, said, context=anna))
    assert told.startswith("Waiting: turn on Bed Light (")
    assert words_waiting(hass) == ["turn on the bed light"]


@pytest.mark.parametrize(("said", "language", "later"), [
    *((said, "en", LATER) for said in ("cancel that", "never mind", "forget it", "no", "undo that", "cancel the light in 5 minutes")),
    ("vergiss es", "de", "in 5 Minuten Bed Light einschalten"), ("storniere das", "de", "in 5 Minuten Bed Light einschalten"),
    ("nein, doch nicht", "de", "in 5 Minuten Bed Light einschalten"), ("annule ça", "fr", "allume Bed Light dans 5 minutes"),
    ("cancela eso", "es", "enciende Bed Light en 5 minutos"), ("annulla questo", "it", "tra 5 minuti accendi Bed Light"),
    ("nee toch maar niet", "nl", "over 5 minuten Bed Light aan"), ("anuluj to", "pl", "za 5 minut włącz Bed Light"),
])  # fmt: skip
async def test_what_was_just_left_for_later_is_cancelled(
    hass: HomeAssistant, said: str, language: str, later: str
) -> None:
    await set_up(hass)
    anna = person(hass)
    first = await say(hass, later, context=anna, language=language)
    assert len(words_waiting(hass)) == 1
    answer = speech(await say(hass, said, first.conversation_id, context=anna, language=language))
    assert not words_waiting(hass)
    assert "Bed Light".casefold() in answer.casefold()
    assert state_of(hass, "light.bed_light") == "off"


async def test_one_of_several_is_cancelled_by_name_or_asked_about(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "turn off the kitchen lights in 10 minutes", context=anna)
    asked = speech(await say(hass, "cancel that", context=anna))
    assert asked.startswith("Which one should I cancel? turn on Bed Light (")
    assert len(words_waiting(hass)) == 2
    await say(hass, "cancel the kitchen lights", context=anna)
    assert words_waiting(hass) == ["turn on the bed light"]


async def test_all_of_them_are_cancelled(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "turn off the kitchen lights in 10 minutes", context=anna)
    await say(hass, "cancel everything that's planned", context=anna)
    assert not words_waiting(hass)


LIGHT = {
    "en": "turn off the bed light in 5 minutes", "de": "in 5 Minuten Bed Light aus", "fr": "éteins Bed Light dans 5 minutes",
    "es": "apaga Bed Light en 5 minutos", "it": "tra 5 minuti spegni Bed Light", "nl": "over 5 minuten Bed Light uit",
    "pl": "za 5 minut wyłącz Bed Light",
}  # fmt: skip
KITCHEN = {
    "en": "turn off the kitchen lights in 10 minutes", "de": "in 10 Minuten Kitchen Lights aus",
    "fr": "éteins Kitchen Lights dans 10 minutes", "es": "apaga Kitchen Lights en 10 minutos",
    "it": "tra 10 minuti spegni Kitchen Lights", "nl": "over 10 minuten Kitchen Lights uit",
    "pl": "za 10 minut wyłącz Kitchen Lights",
}  # fmt: skip


@pytest.mark.parametrize(("language", "said"), [
    ("en", "delete all the planned things"), ("en", "get rid of everything that's scheduled"), ("en", "no, actually cancel all of it"),
    ("de", "Lösch alle geplanten Sachen"), ("de", "Storniere bitte alles"), ("de", "Alles Geplante kann weg"),
    ("es", "borra todos los planes"), ("es", "elimina todas las acciones programadas"),
    ("fr", "Supprime toutes les actions prévues"), ("fr", "Annule tout ce qui est prévu"),
    ("it", "Elimina tutti i comandi programmati"), ("it", "annulla tutto quanto è programmato"),
    ("nl", "Annuleer alles wat gepland staat"), ("nl", "Alle geplande dingen mogen weg"),
    ("pl", "Skasuj wszystkie zaplanowane rzeczy"), ("pl", "Usuń wszystkie plany"),
])  # fmt: skip
async def test_all_are_cancelled_in_other_words(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    for later in (LIGHT, KITCHEN):
        await say(hass, later[language], context=anna, language=language)
    assert len(words_waiting(hass)) == 2
    await say(hass, said, context=anna, language=language)
    assert not words_waiting(hass)


@pytest.mark.parametrize(("language", "said"), [
    ("en", "no, actually cancel that"), ("en", "never mind, don't do it"), ("en", "oh wait, cancel that please"),
    ("de", "ach nee, doch nicht"), ("de", "nein, storniere das doch bitte"), ("es", "no, mejor no lo hagas"), ("es", "cancela lo último"),
    ("fr", "finalement non, laisse tomber"), ("fr", "non en fait, annule ça"), ("it", "anzi no, lascia stare"),
    ("it", "annulla l'ultima cosa"), ("nl", "nee toch maar niet"), ("nl", "laat dat maar zitten"), ("pl", "anuluj to ostatnie"),
    ("pl", "jednak nie, nie rób tego"),
])  # fmt: skip
async def test_the_last_one_is_cancelled_in_other_words(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LIGHT[language], context=anna, language=language)
    kitchen = await say(hass, KITCHEN[language], context=anna, language=language)
    await say(hass, said, kitchen.conversation_id, context=anna, language=language)
    assert [("bed light" in (command or "").casefold()) for command in words_waiting(hass)] == [True]


async def test_the_last_one_is_the_one_that_was_left_last(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, KITCHEN["en"], context=anna)
    await say(hass, LATER, context=anna)
    await say(hass, "cancel the last one", context=anna)
    assert words_waiting(hass) == ["turn off the kitchen lights"]


NEEDLESS = [
    ("en", "you needn't turn off the bed light after all"), ("en", "no need to turn off the bed light"),
    ("de", "Das mit dem Bed Light um halb zehn brauchst du nicht zu machen"), ("es", "Ya no hace falta apagar Bed Light"),
    ("fr", "Plus besoin d'éteindre Bed Light"), ("it", "Non serve più spegnere Bed Light"),
    ("nl", "Bed Light hoeft om half tien niet meer uit"), ("pl", "Nie trzeba już wyłączać Bed Light"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "said"), NEEDLESS)
async def test_what_needs_not_be_done_any_more_is_cancelled(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    for later in (LIGHT, KITCHEN):
        await say(hass, later[language], context=anna, language=language)
    await say(hass, said, context=anna, language=language)
    assert [("kitchen" in (command or "").casefold()) for command in words_waiting(hass)] == [True]
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize("said", [
    "you don't have to turn on the bed light", "no need to turn off the ceiling lights", "no need to turn off the bed light?",
    "you needn't turn off the bed light if it is dark", "cancel the ceiling lights", "cancel the meeting",
])  # fmt: skip
async def test_what_is_not_that_command_cancels_nothing(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LIGHT["en"], context=anna)
    states = {state.entity_id: state.state for state in hass.states.async_all("light")}
    await say(hass, said, context=anna)
    assert words_waiting(hass) == ["turn off the bed light"]
    assert states == {state.entity_id: state.state for state in hass.states.async_all("light")}


async def test_a_named_one_that_does_not_wait_is_not_there(hass: HomeAssistant) -> None:
    await set_up(hass)
    before = state_of(hass, "light.kitchen_lights")
    assert speech(await say(hass, "cancel the kitchen lights")) == "There's nothing I can cancel."
    assert state_of(hass, "light.kitchen_lights") == before


@pytest.mark.parametrize(("language", "said", "minutes"), [
    ("en", "turn on the bed light in a quarter of an hour", 15), ("en", "in half an hour turn on the bed light", 30),
    ("en", "half an hour from now turn on the bed light", 30), ("en", "turn on the bed light in an hour and a half", 90),
    ("en", "turn on the bed light in ten mins", 10), ("en", "turn on the bed light in an hour", 60),
    ("de", "in einer halben Stunde Bed Light aus", 30), ("de", "Schalt in anderthalb Stunden Bed Light aus", 90),
    ("de", "in einer Viertelstunde Bed Light aus", 15), ("fr", "éteins Bed Light dans une demi-heure", 30),
    ("fr", "Dans une heure et demie, éteins Bed Light", 90), ("es", "en media hora apaga Bed Light", 30),
    ("es", "apaga Bed Light dentro de un cuarto de hora", 15), ("it", "tra mezz'ora spegni Bed Light", 30),
    ("it", "tra un quarto d'ora spegni Bed Light", 15), ("nl", "over een half uur Bed Light uit", 30),
    ("nl", "over een kwartier Bed Light uit", 15), ("pl", "za pół godziny wyłącz Bed Light", 30),
    ("pl", "za kwadrans wyłącz Bed Light", 15),
])  # fmt: skip
async def test_quarters_and_halves_of_hours(hass: HomeAssistant, language: str, said: str, minutes: int) -> None:
    await set_up(hass)
    await say(hass, said, context=person(hass), language=language)
    [wish] = wishes_of(hass).all()
    assert wish.when.at is not None
    assert round((wish.when.at - dt_util.utcnow()).total_seconds() / 60) == minutes
    assert wish.targets == ("light.bed_light",)
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize("said", ["cancel that", "cancel it please", "cancel everything"])
async def test_there_may_be_nothing_to_cancel(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    assert speech(await say(hass, said)) == "There's nothing I can cancel."


@pytest.mark.parametrize(
    "said", ["cancel that", "cancel the bed light", "cancel all of them", "never mind the bed light"]
)
async def test_nobody_else_hears_of_it_or_cancels_it(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, LATER, context=person(hass, "Anna"))
    ben = person(hass, "Ben")
    assert speech(await say(hass, "what did you plan?", context=ben)) == "Nothing is waiting."
    satellite = _satellite(hass)
    assert speech(await say(hass, "what did you plan?", device_id=satellite)) == "Nothing is waiting."
    await say(hass, said, context=ben)
    await say(hass, said, device_id=satellite)
    assert words_waiting(hass) == ["turn on the bed light"]


async def test_what_was_said_without_a_user_is_the_satellites(hass: HomeAssistant) -> None:
    await set_up(hass)
    satellite = _satellite(hass)
    await say(hass, LATER, device_id=satellite)
    assert "Bed Light" in speech(await say(hass, "what's waiting?", device_id=satellite))
    assert speech(await say(hass, "what's waiting?", context=person(hass))) == "Nothing is waiting."
    await say(hass, "cancel the bed light", device_id=satellite)
    assert not words_waiting(hass)


async def test_other_words_of_cancelling_are_left_alone(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "delete milk from the shopping list", context=anna)
    await say(hass, "cancel the meeting", context=anna)
    await say(hass, "turn off the bed light", context=anna)
    assert words_waiting(hass) == ["turn on the bed light"]


async def test_in_front_of_a_model_as_well(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    anna = person(hass)
    assert speech(await say(hass, "what did you plan?", context=anna)) == "I see."
    assert speech(await say(hass, "cancel that", context=anna)) == "I see."
    first = await say(hass, LATER, context=anna)
    assert "Bed Light" in speech(await say(hass, "what did you plan?", first.conversation_id, context=anna))
    await say(hass, "cancel the bed light", first.conversation_id, context=anna)
    assert not words_waiting(hass)


@pytest.mark.parametrize(("said", "language"), [
    ("turn on the bed light soon", "en"), ("turn on the bed light in a moment", "en"), ("turn on the bed light later", "en"),
    ("mach gleich Bed Light an", "de"), ("schalte Bed Light gleich ein", "de"), ("mach nachher Bed Light an", "de"),
    ("allume Bed Light bientôt", "fr"), ("allume Bed Light tout à l'heure", "fr"), ("enciende Bed Light luego", "es"),
    ("accendi Bed Light più tardi", "it"), ("doe Bed Light straks aan", "nl"), ("zaraz włącz Bed Light", "pl"),
])  # fmt: skip
async def test_soon_is_no_time(hass: HomeAssistant, said: str, language: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    assert state_of(hass, "light.bed_light") == "off"
    assert not words_waiting(hass)


async def test_right_now_is_now(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "mach jetzt gleich Bed Light an", language="de")
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize(("code", "said", "kind"), [
    ("de", "was hast du vor?", PlanningKind.LIST), ("de", "Was hast du alles geplant?", PlanningKind.LIST),
    ("fr", "qu'est-ce que tu as prévu ?", PlanningKind.LIST), ("es", "¿Qué tienes programado?", PlanningKind.LIST),
    ("it", "Cosa hai in programma?", PlanningKind.LIST), ("nl", "Wat staat er gepland?", PlanningKind.LIST),
    ("pl", "co masz zaplanowane?", PlanningKind.LIST), ("sv", "what did you plan", PlanningKind.LIST),
    ("de", "Brich alle vorgemerkten Sachen ab", PlanningKind.CANCEL), ("fr", "Annule tout ce qui est programmé", PlanningKind.CANCEL),
    ("es", "cancela todo", PlanningKind.CANCEL), ("it", "annulla tutti i comandi", PlanningKind.CANCEL),
    ("nl", "annuleer alles", PlanningKind.CANCEL), ("pl", "anuluj wszystko", PlanningKind.CANCEL),
])  # fmt: skip
def test_words_of_each_language(code: str, said: str, kind: PlanningKind) -> None:
    planning = planning_of(said, code)
    assert planning is not None
    assert planning.kind is kind


def test_without_its_time_a_command_is_left() -> None:
    assert without_times("turn on the light at 9 pm", "en") == "turn on the light"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        *(("en", text) for text in (
            "don't cancel it", "do not cancel that", "never cancel that", "cancel it, no don't", "why cancel that",
            "cancel everything but the bed light", "keep the bed light, cancel the rest", "no thanks",
        )),
        *(("de", text) for text in (
            "brich es nicht ab", "nicht abbrechen", "storniere das nicht", "vergiss es nicht", "storniere alles außer Bed Light",
            "nein danke",
        )),
        ("es", "no canceles eso"), ("pl", "nie anuluj tego"), ("nl", "annuleer het niet"), ("it", "non annullare"),
        ("fr", "n'annule pas ça"),
    ],
)  # fmt: skip
async def test_what_is_to_stay_stays(hass: HomeAssistant, language: str, said: str) -> None:
    """A word for cancelling that is denied, that leaves something out or asks why, cancels nothing."""
    await set_up(hass)
    anna = person(hass)
    first = await say(hass, "turn on the bed light in 5 minutes", context=anna)
    await say(hass, said, first.conversation_id, language=language, context=anna)
    assert len(words_waiting(hass)) == 1


async def test_what_was_said_since_may_be_meant(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    first = await say(hass, "turn on the bed light in 5 minutes", context=anna)
    await say(hass, "turn on the kitchen lights", first.conversation_id, context=anna)
    asked = await say(hass, "cancel that", first.conversation_id, context=anna)
    assert speech(asked).startswith("Which one should I cancel?")
    assert len(words_waiting(hass)) == 1


async def test_a_list_in_between_changes_nothing(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    first = await say(hass, "turn on the bed light in 5 minutes", context=anna)
    await say(hass, "what did you plan?", first.conversation_id, context=anna)
    await say(hass, "cancel that", first.conversation_id, context=anna)
    assert not words_waiting(hass)


@pytest.mark.parametrize(("answer", "left"), [
    ("the first one", ["turn off the kitchen lights"]), ("the second", ["turn on the bed light"]), ("the bed light", ["turn off the kitchen lights"]),
    ("the kitchen one please", ["turn on the bed light"]), ("both", []), ("none", None), ("neither of them", None), ("no", None),
    ("turn on the ceiling lights", None), ("not the kitchen lights", None),
])  # fmt: skip
async def test_which_one_is_answered_by_the_next_sentence(
    hass: HomeAssistant, answer: str, left: list[str] | None
) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, LATER, context=anna)
    await say(hass, "turn off the kitchen lights in 10 minutes", context=anna)
    asked = await say(hass, "cancel that", context=anna)
    assert speech(asked).startswith("Which one should I cancel?")
    await say(hass, answer, asked.conversation_id, context=anna)
    assert words_waiting(hass) == (["turn on the bed light", "turn off the kitchen lights"] if left is None else left)


async def test_only_the_next_sentence_answers_and_only_the_asked_person(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna, ben = person(hass, "Anna"), person(hass, "Ben")
    await say(hass, LATER, context=anna)
    await say(hass, "turn off the kitchen lights in 10 minutes", context=anna)
    asked = await say(hass, "cancel that", context=anna)
    await say(hass, "the first one", asked.conversation_id, context=ben)
    await say(hass, "what time is it", asked.conversation_id, context=anna)
    await say(hass, "the first one", asked.conversation_id, context=anna)
    assert len(words_waiting(hass)) == 2


@pytest.mark.parametrize("said", ["no, thank you", "no thank you very much"])
async def test_a_courteous_no_cancels_nothing(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    anna = person(hass)
    first = await say(hass, LATER, context=anna)
    await say(hass, said, first.conversation_id, context=anna)
    assert len(words_waiting(hass)) == 1
