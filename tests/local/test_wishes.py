"""Wishes by talking, without a model: what is said for later is kept as it was meant, told back with its time, and nothing is done at once."""

from datetime import timedelta
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import device_registry as dr
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text
from tests.local.talks import only_wish, services_of
from tests.prompt.conftest import AddEntity

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


LIGHT = ("turn_off", ("light.bed_light",))


@pytest.mark.parametrize(("language", "said", "local"), [
    ("en", "turn off the bed light in twenty minutes", "24T18:30"), ("en", "at half nine turn off the bed light", "24T21:30"),
    ("en", "tomorrow at seven turn off the bed light", "25T07:00"), ("de", "schalte Bed Light in zwanzig Minuten aus", "24T18:30"),
    ("de", "um halb neun Bed Light ausschalten", "24T20:30"), ("de", "schalte morgen um sieben Bed Light aus", "25T07:00"),
    ("fr", "éteins Bed Light dans vingt minutes", "24T18:30"), ("fr", "éteins Bed Light à neuf heures et demie", "24T21:30"),
    ("es", "apaga Bed Light en veinte minutos", "24T18:30"), ("es", "apaga Bed Light a las nueve y media", "24T21:30"),
    ("it", "spegni Bed Light tra venti minuti", "24T18:30"), ("it", "spegni Bed Light alle nove e mezza", "24T21:30"),
    ("nl", "doe Bed Light over twintig minuten uit", "24T18:30"), ("nl", "doe om half negen Bed Light uit", "24T20:30"),
    ("pl", "wyłącz Bed Light za dwadzieścia minut", "24T18:30"), ("pl", "wyłącz Bed Light o wpół do dziewiątej", "24T20:30"),
])  # fmt: skip
async def test_what_is_to_be_done_and_when(hass: HomeAssistant, language: str, said: str, local: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    wish = only_wish(hass)
    assert (wish.kind, services_of(wish)) == (WishKind.ACTION, [LIGHT])
    assert wish.when.at is not None
    assert f"{dt_util.as_local(wish.when.at):%dT%H:%M}" == local
    assert local.partition("T")[2] in answer
    assert "Bed Light" in answer
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(("language", "said"), [
    ("en", "she said, turn off Bed Light at ten"), ("en", "should Bed Light go off at ten"), ("en", "Bed Light shouldn't go off at ten"),
    ("de", "er hat gesagt, mach um zehn Bed Light aus"), ("de", "Bed Light muss um zehn nicht aus"),
    ("de", "soll Bed Light um zehn ausgehen"), ("nl", "moet Bed Light om tien uur uit"), ("en", "is Bed Light off at ten"),
    ("fr", "il a dit, éteins Bed Light à 22 heures"), ("nl", "ze zei, doe om tien uur Bed Light uit"),
])  # fmt: skip
async def test_what_is_reported_asked_or_denied_is_no_wish(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, language=language, context=person(hass))
    assert wishes_of(hass).all() == []
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(("language", "said"), [
    ("en", "put the TV on pause in ten minutes"), ("de", "in zehn Minuten TV auf Pause"), ("fr", "mets TV en pause dans dix minutes"),
    ("nl", "over tien minuten TV op pauze"),
])  # fmt: skip
async def test_a_player_may_be_paused_later_that_plays_nothing_now(
    hass: HomeAssistant, add_entity: AddEntity, language: str, said: str
) -> None:
    add_entity("media_player.tv", "on", name="TV", supported_features=0x189)
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    assert only_wish(hass).targets == ("media_player.tv",)


@pytest.mark.parametrize(("language", "said"), [
    ("es", "¿me apagas Bed Light a las diez?"), ("es", "a las diez apágame Bed Light, porfa"), ("es", "quiero que a las diez se apague Bed Light"),
    ("es", "¿podrías apagarme Bed Light a las diez?"), ("es", "hay que apagar Bed Light a las diez"),
    ("es", "no te olvides de apagar Bed Light a las diez"), ("it", "mi spegni Bed Light alle dieci?"),
    ("it", "alle dieci spegnimi Bed Light"), ("it", "vorrei che alle dieci si spegnesse Bed Light"),
    ("it", "puoi spegnermi Bed Light alle dieci"), ("it", "fammi il favore di spegnere Bed Light alle dieci"),
    ("it", "ricordati di spegnere Bed Light alle dieci"), ("pl", "niech Bed Light się wyłączy o dziesiątej"),
    ("pl", "chciałbym, żeby o dziesiątej Bed Light się wyłączyło"), ("pl", "wyłączysz mi Bed Light o dziesiątej?"),
    ("pl", "trzeba wyłączyć Bed Light o dziesiątej"), ("pl", "wylacz Bed Light o dziesiatej"), ("pl", "pamiętaj, żeby wyłączyć Bed Light o dziesiątej"),
    ("en", "Bed Light needs to go off at ten"), ("en", "Bed Light can go off at ten"), ("en", "I'd like Bed Light off at ten"),
    ("en", "make sure Bed Light is off at ten"), ("en", "guests leave soon, turn off Bed Light at ten"),
    ("de", "um zehn kann Bed Light aus"), ("de", "Bed Light soll um zehn ausgehen"), ("de", "schaltest du Bed Light um zehn aus?"),
    ("de", "ich will, dass Bed Light um zehn ausgeht"), ("de", "die Kinder schlafen bald, mach um zehn Bed Light aus"),
    ("fr", "je voudrais que Bed Light s'éteigne à 22 heures"), ("fr", "tu m'éteins Bed Light à 22 heures"),
    ("fr", "Bed Light doit s'éteindre à 22 heures"), ("fr", "est-ce que tu peux éteindre Bed Light à 22 heures"),
    ("nl", "Bed Light moet om tien uur uit"), ("nl", "om tien uur mag Bed Light uit"), ("nl", "zorg dat Bed Light om tien uur uit is"),
    ("nl", "zou je Bed Light om tien uur kunnen uitzetten"), ("nl", "kan het Bed Light om tien uur uit"),
    ("de", "kann das Bed Light um zehn aus?"), ("en", "can the Bed Light go off at ten?"),
])  # fmt: skip
async def test_an_order_may_be_said_in_other_forms(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.when.wall) == ([LIGHT], "2026-11-24T22:00")
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(
    "said",
    ["a las diez no apagues Bed Light", "que no se apague Bed Light a las diez", "se apaga Bed Light a las diez"],
)
async def test_what_is_denied_or_told_in_another_form_is_no_order(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, language="es", context=person(hass))
    assert not wishes_of(hass).all()
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(("language", "said"), [
    ("es", "espera diez minutos y entonces apaga Bed Light"), ("it", "aspetta dieci minuti e poi spegni Bed Light"),
    ("pl", "poczekaj dziesięć minut i wyłącz Bed Light"),
])  # fmt: skip
async def test_to_wait_first_is_a_time(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.when.at) == ([LIGHT], dt_util.utcnow() + timedelta(minutes=10))


@pytest.mark.parametrize(("language", "said"), [
    ("es", "cuando Anna llegue a casa, espera cinco minutos y apaga Bed Light"),
    ("it", "appena Anna torna a casa, aspetta cinque minuti e poi spegni Bed Light"),
    ("pl", "gdy Anna wróci do domu, poczekaj pięć minut i wyłącz Bed Light"),
])  # fmt: skip
async def test_to_wait_after_something_delays_it(
    hass: HomeAssistant, add_entity: AddEntity, language: str, said: str
) -> None:
    add_entity("person.anna", "not_home", name="Anna")
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert wish.when.event is not None
    assert (wish.when.event.entity_ids, wish.when.delay, services_of(wish)) == (("person.anna",), 300, [LIGHT])


@pytest.mark.parametrize(("language", "said", "delay"), [
    ("en", "Anna home? Then turn off Bed Light", 0), ("en", "Once Anna is home, wait two minutes and then turn off Bed Light", 120),
    ("de", "Kommt Anna heim, schalte Bed Light aus", 0), ("nl", "Komt Anna thuis, zet dan Bed Light uit", 0),
    ("fr", "À l'arrivée d'Anna, éteins Bed Light", 0), ("es", "Nada más llegar Anna a casa, apaga Bed Light", 0),
])  # fmt: skip
async def test_what_happens_is_said_by_its_verb_first_or_by_a_sign(
    hass: HomeAssistant, add_entity: AddEntity, language: str, said: str, delay: int
) -> None:
    add_entity("person.anna", "not_home", name="Anna")
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert wish.when.event is not None
    assert (wish.when.event.entity_ids, wish.when.delay, services_of(wish)) == (("person.anna",), delay, [LIGHT])
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(("language", "said"), [
    ("es", "a las diez apaga Bed Light, Ceiling Lights y Kitchen Lights"), ("it", "alle dieci spegni Bed Light, Ceiling Lights e Kitchen Lights"),
    ("pl", "o dziesiątej wyłącz Bed Light, Ceiling Lights i Kitchen Lights"),
])  # fmt: skip
async def test_three_things_with_one_verb(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    done = {(service, item) for service, items in services_of(only_wish(hass)) for item in items}
    assert done == {("turn_off", f"light.{name}") for name in ("bed_light", "ceiling_lights", "kitchen_lights")}


@pytest.mark.parametrize(("language", "said"), [
    ("es", "a las diez dime si Washer está en marcha"), ("it", "alle dieci dimmi se Washer è in funzione"),
    ("pl", "o dziesiątej powiedz mi, czy Washer pracuje"),
])  # fmt: skip
async def test_whether_a_machine_runs_is_a_question(
    hass: HomeAssistant, add_entity: AddEntity, language: str, said: str
) -> None:
    add_entity("binary_sensor.washer", "on", name="Washer", device_class="running")
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.wall, wish.when.conditions) == (WishKind.QUESTION, "2026-11-24T22:00", ())


async def test_turning_a_player_off_is_not_muting_it(hass: HomeAssistant, add_entity: AddEntity) -> None:
    add_entity("media_player.tv", "on", name="TV", supported_features=0x189)
    await set_up(hass)
    await say(hass, "alle dieci spegni la TV", language="it", context=person(hass))
    assert services_of(only_wish(hass)) == [("turn_off", ("media_player.tv",))]


@pytest.mark.parametrize(("language", "said", "what"), [
    ("en", "remind me tomorrow at nine to call mum", "call mum"), ("de", "erinnere mich morgen um neun an den Zahnarzt", "Zahnarzt"),
    ("fr", "rappelle-moi demain à neuf heures d'appeler maman", "appeler maman"),
    ("es", "recuérdame mañana a las nueve llamar a mamá", "llamar a mamá"),
    ("it", "ricordami domani alle nove di chiamare mamma", "chiamare mamma"),
    ("nl", "herinner me morgen om negen uur aan de tandarts", "tandarts"), ("pl", "przypomnij mi jutro o dziewiątej o lekach", "lekach"),
    ("pl", "jutro o dziewiątej przypomnij mi, żebym zadzwonił do mamy", "zadzwonić do mamy"),
    ("pl", "przypomnij mi jutro o dziewiątej, że dzwonił listonosz", "dzwonił listonosz"),
])  # fmt: skip
async def test_reminders(hass: HomeAssistant, language: str, said: str, what: str) -> None:
    await set_up(hass)
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    wish = only_wish(hass)
    assert wish.kind is WishKind.REMINDER
    assert what in wish.text
    assert wish.when.wall.startswith("2026-11-25T09:00")
    assert "09:00" in answer
    assert what in answer


@pytest.mark.parametrize(("language", "said"), [
    ("en", "wake me at seven"), ("de", "weck mich um sieben"), ("fr", "réveille-moi à sept heures"), ("es", "despiértame a las siete"),
    ("it", "svegliami alle sette"), ("nl", "maak me wakker om zeven uur"), ("pl", "obudź mnie o siódmej"),
])  # fmt: skip
async def test_waking_is_in_the_morning(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.wall[:16]) == (WishKind.WAKE, "2026-11-25T07:00")


@pytest.mark.parametrize(("language", "said"), [
    ("en", "tell me when the dishwasher is done"), ("en", "call me when the dishwasher is done"), ("de", "sag Bescheid wenn Dishwasher fertig ist"),
    ("fr", "préviens-moi quand Dishwasher est terminé"), ("es", "avísame cuando Dishwasher haya terminado"),
    ("it", "avvisami quando Dishwasher ha finito"), ("nl", "geef een seintje als Dishwasher klaar is"),
    ("pl", "daj znać jak Dishwasher skończy"),
])  # fmt: skip
async def test_telling_what_happens(hass: HomeAssistant, add_entity: AddEntity, language: str, said: str) -> None:
    add_entity("sensor.dishwasher", "running", name="Dishwasher", device_class="enum", options=["running", "done"])
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.steps) == (WishKind.TELL, ())
    assert wish.when.event is not None
    assert (wish.when.event.entity_ids, wish.when.event.states) == (("sensor.dishwasher",), ("done",))


async def test_a_condition_is_looked_at_when_it_is_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "at ten turn off the bed light if the front door is locked", context=person(hass))
    wish = only_wish(hass)
    assert [watch.entity_ids for watch in wish.when.conditions] == [("lock.front_door",)]
    assert wish.when.wall.startswith("2026-11-24T22:00")


async def test_a_clause_may_end_behind_its_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    said = "se Front Door è chiusa a chiave tra dieci minuti avvisami"
    await say(hass, said, language="it", context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, [watch.entity_ids for watch in wish.when.conditions]) == (WishKind.TELL, [("lock.front_door",)])
    assert wish.when.at == dt_util.utcnow() + timedelta(minutes=10)


async def test_what_a_clause_is_about_is_it(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "if the bed light is still on in ten minutes turn it off", context=person(hass))
    assert services_of(only_wish(hass)) == [LIGHT]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light for ten minutes"), ("de", "schalte Bed Light für zehn Minuten ein"),
    ("fr", "allume Bed Light pendant dix minutes"), ("es", "enciende Bed Light durante diez minutos"),
    ("it", "accendi Bed Light per dieci minuti"), ("nl", "doe Bed Light tien minuten aan"), ("pl", "włącz Bed Light na dziesięć minut"),
])  # fmt: skip
async def test_for_a_while_is_on_now_and_off_later(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    assert state_of(hass, "light.bed_light") == "on"
    wish = only_wish(hass)
    assert (wish.ends, services_of(wish)) == (True, [LIGHT])
    assert wish.when.at == dt_util.utcnow() + timedelta(minutes=10)
    assert "18:20" in answer


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light for ten minutes then off"), ("en", "turn on the bed light for ten minutes and then turn it off again"),
    ("en", "turn on the bed light and in ten minutes off again"), ("de", "Bed Light an und in zehn Minuten wieder aus"),
    ("nl", "doe Bed Light aan en over tien minuten weer uit"), ("en", "bed light on for ten minutes and off again"), ("de", "schalte Bed Light für zehn Minuten ein und dann wieder aus"),
    ("fr", "allume Bed Light pendant dix minutes et ensuite éteins"), ("fr", "allume Bed Light pendant dix minutes puis éteins-la"),
    ("es", "enciende Bed Light durante diez minutos y luego apágala"), ("it", "accendi Bed Light per dieci minuti e poi spegnila"),
    ("nl", "doe Bed Light tien minuten aan en dan weer uit"), ("pl", "włącz Bed Light na dziesięć minut a potem wyłącz"),
    ("fr", "allume Bed Light et dans dix minutes éteins-la"), ("es", "enciende Bed Light y en diez minutos apágala"),
    ("it", "accendi Bed Light e tra dieci minuti spegnila"), ("pl", "włącz Bed Light i za dziesięć minut wyłącz"),
])  # fmt: skip
async def test_an_end_said_twice_is_one(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    await say(hass, said, language=language, context=person(hass))
    assert state_of(hass, "light.bed_light") == "on"
    wish = only_wish(hass)
    assert (wish.ends, services_of(wish)) == (True, [LIGHT])
    assert wish.when.at == dt_util.utcnow() + timedelta(minutes=10)


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light for ten minutes and then turn off the ceiling lights"),
    ("en", "turn on the bed light for ten minutes and turn off the ceiling lights"),
    ("de", "schalte Bed Light für zehn Minuten ein und dann Ceiling Lights aus"),
    ("fr", "allume Bed Light pendant dix minutes et éteins Ceiling Lights"),
])  # fmt: skip
async def test_two_times_or_two_commands_around_an_end_do_nothing(
    hass: HomeAssistant, language: str, said: str
) -> None:
    await set_up(hass)
    lights = {"entity_id": ["light.bed_light", "light.ceiling_lights"]}
    await hass.services.async_call("light", "turn_off", lights, blocking=True)
    assert (await say(hass, said, language=language, context=person(hass))).response.error_code is not None
    assert state_of(hass, "light.bed_light") == "off"
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "words"), [("en", "turn off Bed Light"), ("de", "Bed Light ausschalten")])
async def test_a_wish_that_ends_something_has_the_words_of_what_it_does(
    hass: HomeAssistant, language: str, words: str
) -> None:
    await set_up(hass)
    said = {"en": "turn on the bed light for ten minutes", "de": "schalte Bed Light für zehn Minuten ein"}[language]
    await say(hass, said, language=language, context=person(hass))
    assert only_wish(hass).words == words


async def test_a_clause_has_no_capital_letter_within_the_answer(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = speech(await say(hass, "When the front door is unlocked turn on the bed light", context=person(hass)))
    assert "when the front door" in answer


async def test_what_would_be_asked_then_is_refused_where_that_cannot_be(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = await say(hass, "unlock the front door at nine", context=person(hass))
    assert answer.response.error_code is not None
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said", "until"), [
    ("en", "if the front door is unlocked tonight turn off the bed light", "25T06:00"),
    ("en", "tonight when the front door is unlocked turn off the bed light", "25T06:00"),
    ("en", "when the front door is unlocked this evening turn off the bed light", "25T00:00"),
    ("de", "wenn Front Door heute Abend aufgeschlossen wird schalte Bed Light aus", "25T00:00"),
])  # fmt: skip
async def test_a_part_of_a_day_is_when_an_event_counts(
    hass: HomeAssistant, language: str, said: str, until: str
) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    when = only_wish(hass).when
    assert when.event is not None
    assert when.until is not None
    assert (when.since, f"{dt_util.as_local(when.until):%dT%H:%M}") == (None, until)


async def test_an_event_of_tomorrow_counts_from_then_on(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "tomorrow if the front door is unlocked turn off the bed light", context=person(hass))
    when = only_wish(hass).when
    assert when.since is not None
    assert when.until is not None
    assert [f"{dt_util.as_local(at):%dT%H:%M}" for at in (when.since, when.until)] == ["25T00:00", "26T00:00"]


async def test_a_day_apart_from_what_happens_is_not_understood(hass: HomeAssistant) -> None:
    await set_up(hass)
    said = "when the front door is unlocked turn off the bed light tomorrow"
    assert (await say(hass, said, context=person(hass))).response.error_code is not None
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said", "local"), [
    ("en", "I'm tired, turn off the bed light in twenty minutes", "24T18:30"),
    ("en", "turn off the bed light in twenty minutes, I have to leave at eight", "24T18:30"),
    ("en", "turn off the bed light in twenty minutes because I'm going to sleep", "24T18:30"),
    ("de", "Ich bin müde, schalte Bed Light in zwanzig Minuten aus", "24T18:30"),
    ("de", "schalte um neun Bed Light aus, ich muss um zehn weg", "24T21:00"),
    ("fr", "Je vais me coucher, éteins Bed Light dans vingt minutes", "24T18:30"),
    ("nl", "Ik ga slapen, doe Bed Light over twintig minuten uit", "24T18:30"),
    ("es", "Estoy cansado, apaga Bed Light en veinte minutos", "24T18:30"),
    ("it", "Sono stanco, spegni Bed Light tra venti minuti", "24T18:30"),
    ("pl", "Idę spać, wyłącz Bed Light za dwadzieścia minut", "24T18:30"),
])  # fmt: skip
async def test_a_remark_is_no_part_of_a_wish(hass: HomeAssistant, language: str, said: str, local: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert services_of(wish) == [LIGHT]
    assert wish.when.at is not None
    assert f"{dt_util.as_local(wish.when.at):%dT%H:%M}" == local


@pytest.mark.parametrize(("language", "said"), [
    ("en", "we have guests tomorrow, turn off the bed light at nine"), ("en", "I leave in ten minutes, turn off the bed light"),
    ("en", "we eat at seven, turn on the bed light for an hour"),
    ("en", "don't wake me at seven"), ("en", "lock the front door and remind me at nine to call mum"), ("en", "I leave at eight wake me"),
    ("de", "übermorgen habe ich frei, schalte um neun Bed Light aus"), ("de", "ich gehe in zehn Minuten, schalte Bed Light aus"),
])  # fmt: skip
async def test_what_may_be_meant_in_a_remark_as_well_is_no_wish(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = [state_of(hass, item) for item in ("light.bed_light", "light.ceiling_lights", "lock.front_door")]
    assert (await say(hass, said, language=language, context=person(hass))).response.error_code is not None
    assert not wishes_of(hass).all()
    assert [state_of(hass, item) for item in ("light.bed_light", "light.ceiling_lights", "lock.front_door")] == before


@pytest.mark.parametrize(("language", "said"), [
    ("en", "the bed light should go off at nine"), ("en", "could the bed light go off at nine"), ("en", "I need the bed light off at nine"),
    ("de", "um neun soll Bed Light ausgehen"), ("de", "Bed Light kann um neun aus"), ("nl", "Bed Light mag om negen uur uit"),
    ("nl", "om negen uur moet Bed Light uit"), ("fr", "Bed Light doit s'éteindre à vingt et une heures"),
    ("fr", "il faudrait éteindre Bed Light à vingt et une heures"), ("fr", "je voudrais que Bed Light s'éteigne à vingt et une heures"),
])  # fmt: skip
async def test_what_is_to_be_so_then_is_an_order(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.when.wall[:16]) == ([LIGHT], "2026-11-24T21:00")


@pytest.mark.parametrize(("language", "said"), [
    ("en", "at nine turn off the bed light, the ceiling lights and the kitchen lights"),
    ("de", "um neun Bed Light, Ceiling Lights und Kitchen Lights ausschalten"),
    ("nl", "doe om negen uur Bed Light, Ceiling Lights en Kitchen Lights uit"),
    ("fr", "à vingt et une heures éteins Bed Light, Ceiling Lights et Kitchen Lights"),
])  # fmt: skip
async def test_one_verb_for_three_things(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    done = [(service, item) for service, ids in services_of(only_wish(hass)) for item in ids]
    assert sorted(done) == [("turn_off", f"light.{name}") for name in ("bed_light", "ceiling_lights", "kitchen_lights")]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "tell me at nine if the front door is locked"), ("de", "sag mir um neun ob Front Door abgeschlossen ist"),
    ("fr", "dis-moi à vingt et une heures si Front Door est verrouillé"),
])  # fmt: skip
async def test_whether_something_is_so_is_asked_then(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.conditions, wish.when.wall[:16]) == (WishKind.QUESTION, (), "2026-11-24T21:00")
    assert "front door" in wish.text.casefold()


async def test_if_it_is_still_so_is_a_condition(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "tell me in ten minutes if the front door is still locked", context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, [watch.entity_ids for watch in wish.when.conditions]) == (WishKind.TELL, [("lock.front_door",)])


@pytest.mark.parametrize(("language", "said", "answer"), [
    ("en", "when the front door is locked turn off the bed light", "waiting for the next time"),
    ("de", "sag Bescheid wenn Front Door abgeschlossen ist", "nächste Mal"), ("nl", "als Front Door op slot is doe Bed Light uit", "volgende keer"),
    ("fr", "quand Front Door est verrouillé éteins Bed Light", "prochaine fois"),
])  # fmt: skip
async def test_what_is_so_already_is_said(hass: HomeAssistant, language: str, said: str, answer: str) -> None:
    await set_up(hass)
    assert answer in speech(await say(hass, said, language=language, context=person(hass)))
    assert only_wish(hass).when.event is not None


async def test_what_is_not_so_yet_is_only_promised(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = speech(await say(hass, "when the front door is unlocked turn off the bed light", context=person(hass)))
    assert "waiting" not in answer


@pytest.mark.parametrize("said", [
    "when the front door is unlocked and it's dark turn off the bed light", "when the front door is unlocked after sunset turn off the bed light",
    "when the front door is unlocked, if it is dark, turn off the bed light", "at nine turn off the bed light if it is dark",
])  # fmt: skip
async def test_the_dark_is_a_condition(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, said, context=person(hass))
    wish = only_wish(hass)
    assert (wish.when.daylight, wish.when.sun, services_of(wish)) == (False, None, [LIGHT])


async def test_what_lasts_is_waited_for(hass: HomeAssistant) -> None:
    await set_up(hass)
    said = "when the front door has been unlocked for ten minutes turn off the bed light"
    await say(hass, said, context=person(hass))
    when = only_wish(hass).when
    assert (when.stays, when.delay) == (True, 600)


@pytest.mark.parametrize(("attributes", "states"), [
    ({"device_class": "doorbell", "event_types": ["ring", "motion"]}, ("ring",)), ({"device_class": "doorbell", "event_types": ["press"]}, ()),
])  # fmt: skip
async def test_a_bell_that_only_tells_events(
    hass: HomeAssistant, add_entity: AddEntity, attributes: dict[str, Any], states: tuple[str, ...]
) -> None:
    add_entity("event.bell", "2026-11-24T12:00:00.000+00:00", name="Bell", **attributes)
    await set_up(hass)
    await say(hass, "next time somebody rings turn off the bed light", context=person(hass))
    event = only_wish(hass).when.event
    assert event is not None
    assert (event.entity_ids, event.states, event.after) == (("event.bell",), states, dt_util.utcnow())


@pytest.mark.parametrize(("language", "said"), [
    ("en", "get me up at half past six"), ("en", "alarm at half past six please"), ("de", "ich muss um halb sieben aufstehen"),
    ("nl", "ik moet om half zeven op"), ("fr", "je dois me lever à six heures et demie"), ("fr", "tu me réveilles à six heures et demie ?"),
])  # fmt: skip
async def test_getting_up_is_in_the_morning(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.wall[:16]) == (WishKind.WAKE, "2026-11-25T06:30")


async def test_a_value_goes_back_to_what_it_was(hass: HomeAssistant) -> None:
    await set_up(hass)
    data = {"entity_id": "light.kitchen_lights", "brightness_pct": 80}
    await hass.services.async_call("light", "turn_on", data, blocking=True)
    await say(hass, "set the kitchen lights to 30 % for ten minutes", context=person(hass))
    [effect] = only_wish(hass).steps[0].effects
    assert effect["service"] == "turn_on"
    assert effect["data"]["brightness"] == 204  # type: ignore[call-overload, index]


async def test_until_a_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "leave the bed light on until eleven", context=person(hass))
    wish = only_wish(hass)
    assert (wish.ends, services_of(wish), wish.when.wall[:16]) == (True, [LIGHT], "2026-11-24T23:00")


async def test_an_end_that_is_not_understood_begins_nothing(hass: HomeAssistant) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    answer = speech(await say(hass, "turn on the bed light until the postman has been here", context=person(hass)))
    assert "postman" in answer
    assert state_of(hass, "light.bed_light") == "off"
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("said", "services"), [
    ("at nine turn off the bed light and close the kitchen window", ["close_cover", "turn_off"]),
    ("turn off the bed light and the ceiling lights at nine", ["turn_off", "turn_off"]),
])  # fmt: skip
async def test_several_things(hass: HomeAssistant, said: str, services: list[str]) -> None:
    await set_up(hass)
    await say(hass, said, context=person(hass))
    done = [service for service, entity_ids in services_of(only_wish(hass)) for _ in entity_ids]
    assert sorted(done) == services


@pytest.mark.parametrize("said", ["make the bedroom brighter at nine", "at nine turn everything off in the bedroom"])
async def test_what_depends_on_the_states_of_then_is_read_again_then(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await say(hass, said, context=person(hass))
    [step] = only_wish(hass).steps
    assert step.command
    assert {"light.bed_light", "light.ceiling_lights"} >= set(step.targets) > set()


async def test_what_is_so_already_may_be_wished_for(hass: HomeAssistant) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    await say(hass, "turn off the bed light at nine", context=person(hass))
    assert services_of(only_wish(hass)) == [LIGHT]


@pytest.mark.parametrize(("language", "said", "seconds", "name"), [
    ("en", "set a timer for five minutes", 300, ""), ("en", "pasta timer ten minutes", 600, "pasta"), ("de", "stell einen Timer auf 5 Minuten", 300, ""),
    ("fr", "mets un minuteur de cinq minutes", 300, ""), ("es", "pon un temporizador de cinco minutos", 300, ""),
    ("it", "imposta un timer di cinque minuti", 300, ""), ("nl", "eierwekker op zes en een halve minuut", 390, "eier"),
    ("en", "stick 15 minutes on the timer", 900, ""), ("en", "could you do a ten minute timer", 600, ""),
    ("de", "pack mir 15 Minuten auf den Timer", 900, ""), ("de", "Nudeltimer zehn Minuten", 600, "Nudel"),
    ("it", "mettimi un quarto d'ora sul timer", 900, ""), ("nl", "doe een kwartier op de timer", 900, ""),
    ("es", "temporizador para la pasta de diez minutos", 600, "pasta"),
    ("pl", "ustaw minutnik na pięć minut", 300, ""), ("sv", "starta en timer på 5 minuter", 300, ""),
])  # fmt: skip
async def test_timers(hass: HomeAssistant, language: str, said: str, seconds: int, name: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.text) == (WishKind.TIMER, name)
    assert wish.when.at == dt_util.utcnow() + timedelta(seconds=seconds)


async def test_a_timer_is_asked_about_lengthened_and_stopped(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, "set a timer for five minutes", context=anna)
    freezer.tick(60)
    assert "4:00" in speech(await say(hass, "how long is left on the timer", context=anna))
    await say(hass, "add five minutes to the timer", context=anna)
    assert "9:00" in speech(await say(hass, "how long is left on the timer", context=anna))
    await say(hass, "stop the timer", context=anna)
    assert not wishes_of(hass).all()


async def test_one_of_several_timers_is_stopped_by_its_name(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    await say(hass, "pasta timer ten minutes", context=anna)
    await say(hass, "pizza timer twelve minutes", context=anna)
    await say(hass, "stop the pasta timer", context=anna)
    assert only_wish(hass).text == "pizza"


@pytest.mark.parametrize(("language", "first", "said", "local"), [
    ("en", "turn off the bed light at eight", "make it nine", "24T21:00"), ("en", "turn off the bed light at eight", "make it ten minutes later", "24T20:10"),
    ("en", "wake me at seven", "make it half past six", "25T06:30"), ("de", "um acht Bed Light ausschalten", "mach lieber halb zehn draus", "24T21:30"),
    ("fr", "éteins Bed Light à huit heures", "plutôt à neuf heures et demie", "24T21:30"),
    ("es", "apaga Bed Light a las ocho", "mejor a las nueve y cuarto", "24T21:15"),
    ("it", "spegni Bed Light alle otto", "facciamo alle nove e mezza", "24T21:30"),
])  # fmt: skip
async def test_another_time(hass: HomeAssistant, language: str, first: str, said: str, local: str) -> None:
    await set_up(hass)
    anna = person(hass)
    made = await say(hass, first, language=language, context=anna)
    await say(hass, said, made.conversation_id, language=language, context=anna)
    at = only_wish(hass).when.at
    assert at is not None
    assert f"{dt_util.as_local(at):%dT%H:%M}" == local


@pytest.mark.parametrize(("language", "said", "part"), [
    ("en", "turn on the bed light every evening", "every evening"), ("de", "mach jeden Abend Bed Light an", "jeden Abend"),
    ("fr", "allume Bed Light tous les soirs", "tous les soirs"), ("es", "enciende Bed Light todas las noches", "todas las noches"),
    ("it", "accendi Bed Light ogni sera", "ogni sera"), ("nl", "doe elke avond Bed Light aan", "elke avond"),
    ("pl", "codziennie włączaj Bed Light", "codziennie"),
])  # fmt: skip
async def test_for_ever_is_an_automation(hass: HomeAssistant, language: str, said: str, part: str) -> None:
    await set_up(hass)
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    assert part in answer
    assert not wishes_of(hass).all()


async def test_an_agent_may_take_no_wishes(hass: HomeAssistant) -> None:
    await set_up(hass, profile={"wishes": False})
    before = state_of(hass, "light.bed_light")
    answer = await say(hass, "turn on the bed light at nine", context=person(hass))
    assert "at nine" in speech(answer)
    assert answer.response.error_code is not None
    assert not wishes_of(hass).all()
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(("language", "said"), [
    ("en", "at ten arm the alarm"), ("en", "disarm the alarm at seven"), ("nl", "zet om tien uur het alarm aan"), ("pl", "o siódmej rozbrój alarm"),
])  # fmt: skip
async def test_an_alarm_system_wakes_no_one(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    assert (await say(hass, said, language=language, context=person(hass))).response.error_code is not None
    assert not wishes_of(hass).all()


async def test_undo_takes_a_wish_back(hass: HomeAssistant) -> None:
    await set_up(hass)
    anna = person(hass)
    made = await say(hass, "turn off the bed light at nine", context=anna)
    await say(hass, "undo that", made.conversation_id, context=anna)
    assert not wishes_of(hass).all()


async def test_in_front_of_a_model_only_what_is_certain_is_made(hass: HomeAssistant, llm_server: LLMServer) -> None:
    llm_server.respond(lambda _: text("I see."))
    await set_up(hass, llm_server, profile={"local_first": True})
    anna = person(hass)
    assert speech(await say(hass, "at nine make it cosy in here", context=anna)) == "I see."
    await say(hass, "turn off the bed light at nine", context=anna)
    assert services_of(only_wish(hass)) == [LIGHT]
    assert len(llm_server.requests) == 1


async def test_at_a_device_without_timers_it_is_the_devices(hass: HomeAssistant) -> None:
    await set_up(hass)
    entry = MockConfigEntry(domain="test")
    entry.add_to_hass(hass)
    device = dr.async_get(hass).async_get_or_create(config_entry_id=entry.entry_id, identifiers={("test", "panel")})
    await say(hass, "set a timer for five minutes", device_id=device.id)
    assert (only_wish(hass).user_id, only_wish(hass).device_id) == (None, device.id)


@pytest.mark.parametrize(("language", "said"), [
    ("en", "don't wake me at nine"), ("en", "never wake me at seven"), ("en", "don't remind me to eat at nine"),
    ("en", "do not set a timer for five minutes"), ("de", "stell den Wecker um sieben aus"), ("de", "stell keinen Wecker um sieben"),
    ("en", "turn off the bed light and wake me at seven"), ("en", "wake me at seven and turn off the bed light"),
    ("en", "lock the front door and remind me at nine to eat"), ("en", "turn off the bed light and set a timer for 5 minutes"),
])  # fmt: skip
async def test_a_reminder_is_made_of_a_whole_sentence_only(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, language=language, context=person(hass))
    assert not wishes_of(hass).all()
    assert state_of(hass, "light.bed_light") == before


async def test_a_timer_is_set_beside_other_wishes(hass: HomeAssistant) -> None:
    await set_up(hass)
    who = person(hass)
    await say(hass, "remind me in 30 minutes to wash a car", context=who)
    await say(hass, "set a timer for 5 minutes", context=who)
    assert [wish.kind for wish in wishes_of(hass).all()] == [WishKind.REMINDER, WishKind.TIMER]


async def test_all_timers_are_no_other_wishes(hass: HomeAssistant) -> None:
    await set_up(hass)
    who = person(hass)
    await say(hass, "remind me in 30 minutes to wash a car", context=who)
    await say(hass, "set a timer for 5 minutes", context=who)
    await say(hass, "cancel all timers", context=who)
    assert [wish.kind for wish in wishes_of(hass).all()] == [WishKind.REMINDER]


@pytest.mark.parametrize("said", [
    "turn on the bed light tomorrow at nine until ten tonight",
    "when Anna comes home after sunset turn off the bed light",
])  # fmt: skip
async def test_what_is_waited_for_has_to_be_clear(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, context=person(hass))
    assert not wishes_of(hass).all()
    assert state_of(hass, "light.bed_light") == before


async def test_signs_that_are_not_seen_are_left_out(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "remind me at nine to eat \u202eekac\x1b[31m cake", context=person(hass))
    assert only_wish(hass).text == "eat ekac [31m cake"


async def test_what_tells_of_an_event_gets_no_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    who = person(hass)
    await say(hass, "tell me when the bed light is on", context=who)
    wish = only_wish(hass)
    with pytest.raises(ServiceValidationError):
        await hass.services.async_call(
            "home_agent", "change_wish", {"id": wish.id, "in": {"seconds": 3}}, blocking=True, context=who
        )
    assert only_wish(hass) == wish


@pytest.mark.parametrize("first", ["turn off the bed light in ten minutes", "turn off the bed light in a bit"])
@pytest.mark.parametrize("second", ["also the kitchen lights", "the kitchen lights too", "kitchen lights"])
async def test_a_name_after_what_was_for_later_is_not_for_now(hass: HomeAssistant, first: str, second: str) -> None:
    await set_up(hass)
    who = person(hass)
    await say(hass, "turn off the kitchen lights", context=who)
    await say(hass, first, "talk", context=who)
    await say(hass, second, "talk", context=who)
    assert state_of(hass, "light.kitchen_lights") == "off"
    await say(hass, "turn on the kitchen lights", "talk", context=who)
    assert state_of(hass, "light.kitchen_lights") == "on"
