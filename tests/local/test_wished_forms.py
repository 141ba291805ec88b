"""Wishes in forms that say more than one thing: an end in a second clause, an event as a noun, a time in what is told, a remark beside."""

from datetime import timedelta

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, state_of
from tests.local.talks import only_wish, services_of
from tests.prompt.conftest import AddEntity

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


LIGHT = ("turn_off", ("light.bed_light",))


@pytest.mark.parametrize(("language", "said"), [
    ("es", "Enciende Bed Light y apágala al cabo de dos horas"), ("es", "Enciende Bed Light dos horas y luego la apagas"),
    ("fr", "Allume Bed Light et éteins-la dans deux heures"), ("fr", "Allume Bed Light pendant deux heures, puis éteins-la"),
    ("it", "Accendi Bed Light e spegnila dopo due ore"), ("it", "Accendi Bed Light per due ore e poi la spegni"),
    ("pl", "Włącz Bed Light i wyłącz ją za dwie godziny"), ("pl", "Włącz Bed Light na dwie godziny, a potem ją wyłącz"),
    ("es", "Necesito la Bed Light dos horas"), ("fr", "Bed Light pendant deux heures"), ("pl", "Bed Light na dwie godziny"),
])  # fmt: skip
async def test_an_end_is_said_in_a_second_clause_or_the_beginning_without_a_verb(
    hass: HomeAssistant, language: str, said: str
) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.ends) == ([LIGHT], True)
    assert wish.when.at == dt_util.utcnow() + timedelta(hours=2)
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize(("language", "said"), [
    ("es", "Enciende Bed Light y ponla roja dentro de dos horas"), ("fr", "Allume Bed Light et allume-la dans deux heures"),
    ("it", "Accendi Bed Light e spegni Ceiling Lights tra due ore"), ("pl", "Włącz Ceiling Lights po dwóch godzinach"),
])  # fmt: skip
async def test_what_is_no_end_of_it_does_nothing_at_once(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light"), state_of(hass, "light.ceiling_lights")
    await say(hass, said, language=language, context=person(hass))
    assert (state_of(hass, "light.bed_light"), state_of(hass, "light.ceiling_lights")) == before


@pytest.mark.parametrize(("language", "said", "delay"), [
    ("es", "A la llegada de Anna apaga Bed Light", 0), ("es", "Cuando llegue Anna, cinco minutos después apaga Bed Light", 300),
    ("it", "Al rientro di Anna spegni Bed Light", 0), ("it", "Quando arriva Anna, cinque minuti dopo spegni Bed Light", 300),
    ("pl", "Po powrocie Anny wyłącz Bed Light", 0), ("pl", "Gdy Anna wróci, pięć minut później wyłącz Bed Light", 300),
    ("fr", "Quand Anna rentre, cinq minutes plus tard éteins Bed Light", 300), ("en", "On Anna's return turn off Bed Light", 0),
    ("de", "Bei Annas Rückkehr Bed Light ausschalten", 0), ("nl", "Zet bij thuiskomst van Anna Bed Light uit", 0),
])  # fmt: skip
async def test_what_happens_is_a_noun_or_some_time_ago(
    hass: HomeAssistant, add_entity: AddEntity, language: str, said: str, delay: int
) -> None:
    add_entity("person.anna", "not_home", name="Anna")
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert wish.when.event is not None
    assert (wish.when.event.entity_ids, wish.when.delay, services_of(wish)) == (("person.anna",), delay, [LIGHT])


async def test_what_follows_an_event_is_no_condition(hass: HomeAssistant, add_entity: AddEntity) -> None:
    add_entity("person.anna", "not_home", name="Anna")
    await set_up(hass)
    await say(hass, "Éteins Bed Light quand Anna rentre, après je sors", language="fr", context=person(hass))
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said", "wall"), [
    ("es", "¿Sería tan amable de despertarme el sábado a las ocho?", "2026-11-28T08:00"),
    ("fr", "Auriez-vous l'obligeance de me réveiller samedi à huit heures ?", "2026-11-28T08:00"),
    ("it", "Mi sveglieresti sabato alle otto? Ho il treno presto", "2026-11-28T08:00"),
    ("es", "me echo un rato, despiértame el sábado a las ocho", "2026-11-28T08:00"),
])  # fmt: skip
async def test_to_be_woken_is_asked_for_politely_and_beside_a_remark(
    hass: HomeAssistant, language: str, said: str, wall: str
) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.wall) == (WishKind.WAKE, wall)


@pytest.mark.parametrize(("language", "said"), [
    ("es", "El viernes a las dos de la tarde voy al notario, recuérdamelo una hora antes"),
    ("it", "Venerdì alle 14 vado dal notaio, ricordamelo un'ora prima"), ("pl", "W piątek o 14 idę do notariusza, przypomnij mi godzinę wcześniej"),
    ("nl", "Vrijdag om 14 uur zit ik bij de notaris, herinner me een uur van tevoren"),
])  # fmt: skip
async def test_a_reminder_some_time_before_what_is_told(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.wall) == (WishKind.REMINDER, "2026-11-27T13:00")


@pytest.mark.parametrize(("language", "said"), [
    ("de", "Erinnern Sie mich am Freitag um 13 Uhr an den Ofen"), ("fr", "Veuillez me rappeler vendredi à 13 heures d'appeler le notaire"),
    ("fr", "Rappelez-moi vendredi à 13 heures d'appeler le notaire"), ("es", "Recuérdeme el viernes a las 13 que llame al notario"),
    ("it", "Mi ricordi venerdì alle 13 di chiamare il notaio"), ("nl", "Herinnert u mij vrijdag om 13 uur aan de notaris"),
    ("pl", "Proszę mi przypomnieć w piątek o 13 o notariuszu"), ("en", "Remind me Friday at 1 pm to wrap the Easter presents"),
    ("de", "Erinnere mich am Freitag um 13 Uhr daran, die Karte für den Muttertag zu schreiben"),
    ("it", "Ricordami venerdì alle 13 di ordinare i regali di Natale"), ("pl", "Przypomnij mi w piątek o 13, żeby kupić prezent na mikołajki"),
])  # fmt: skip
async def test_a_reminder_is_asked_for_politely_and_tells_of_a_feast(
    hass: HomeAssistant, language: str, said: str
) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.when.wall) == (WishKind.REMINDER, "2026-11-27T13:00")


@pytest.mark.parametrize(("language", "said", "hours"), [
    ("de", "Schalte in anderhalb Stunden Bed Light aus", 1.5), ("it", "Spegni Bed Light tra unora", 1), ("nl", "Zet over een uur allsjeblieft Bed Light uit", 1),
    ("de", "Schalte in einer Stunde Bed Light aus, bis dahin sollten die Zwillinge schlafen", 1),
    ("fr", "Éteins Bed Light dans une heure, après c'est le bain", 1), ("es", "Apaga Bed Light dentro de una hora, después toca la cena", 1),
    ("it", "Spegni Bed Light tra un'ora, che poi andiamo a dormire", 1), ("nl", "Zet Bed Light over een uur uit, daarna gaan we slapen", 1),
    ("pl", "Wyłącz Bed Light za godzinę, potem idziemy spać", 1), ("en", "Turn off Bed Light in an hour, after that it's bedtime", 1),
])  # fmt: skip
async def test_misspelt_words_and_what_comes_after(hass: HomeAssistant, language: str, said: str, hours: float) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.when.at) == ([LIGHT], dt_util.utcnow() + timedelta(hours=hours))


@pytest.mark.parametrize("said", ["powiadom mnie gdy Anna wróci do domu", "powiadom nas kiedy Anna wróci do domu"])
async def test_what_is_told_at_an_event_is_not_announced_at_once(
    hass: HomeAssistant, add_entity: AddEntity, said: str
) -> None:
    add_entity("person.anna", "not_home", name="Anna")
    await set_up(hass)
    await say(hass, said, language="pl", context=person(hass))
    wish = only_wish(hass)
    assert wish.kind is WishKind.TELL
    assert wish.when.event is not None


async def test_another_device_in_what_comes_after_is_no_remark(hass: HomeAssistant) -> None:
    await set_up(hass)
    said = "Schalte in einer Stunde Bed Light aus, bis dahin sollten die Ceiling Lights an sein"
    await say(hass, said, language="de", context=person(hass))
    assert not wishes_of(hass).all()
