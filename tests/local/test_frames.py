"""Alarms, timers and reminders in whatever frame they are ordered, times that are said as if they happened, and days that are over."""

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import set_up
from tests.local.talks import due_times, only_wish, talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


@pytest.mark.parametrize(("language", "said", "kind", "due"), [
    ("en", "add another alarm for tomorrow at half six", "wake", "25T06:30"),
    ("en", "I need an alarm set for five thirty am", "wake", "25T05:30"),
    ("en", "could you have the alarm go off at eight on saturday", "wake", "28T08:00"),
    ("en", "I want you to wake me at seven", "wake", "25T07:00"),
    ("en", "set an alarm for forty minutes from now", "wake", "24T18:50"),
    ("en", "remind me in two hours", "reminder", "24T20:10"),
    ("en", "please schedule an alert for 10 pm", "reminder", "24T22:00"),
    ("en", "tell me when it's half past nine", "reminder", "24T21:30"),
    ("en", "remind me of tomorrow's talk at nine am", "reminder", "25T09:00"),
    ("de", "Füg noch einen Wecker für morgen halb sieben hinzu", "wake", "25T06:30"),
    ("de", "Lass am Samstag um acht den Wecker klingeln", "wake", "28T08:00"),
    ("de", "Ich hätte gern einen Weckruf um sechs Uhr morgens", "wake", "25T06:00"),
    ("de", "Erinnere mich in zwei Stunden", "reminder", "24T20:10"), ("fr", "réveille-moi demain à 6 h 30 s'il te plaît", "wake", "25T06:30"),
    ("de", "Weck mich, und zwar morgen um sieben", "wake", "25T07:00"),
    ("de", "Sag mir, wenn es halb zehn ist", "reminder", "24T21:30"),
    ("de", "Erinnere mich an die morgige Probe um neun", "reminder", "25T09:00"),
    ("fr", "ajoute une autre alarme pour demain à six heures et demie", "wake", "25T06:30"),
    ("fr", "j'ai besoin d'un réveil à six heures du matin", "wake", "25T06:00"),
    ("fr", "rappelle-moi dans deux heures", "reminder", "24T20:10"),
    ("fr", "mets un rappel pour 22 heures", "reminder", "24T22:00"),
    ("fr", "dis-moi quand il est 21 heures", "reminder", "24T21:00"),
    ("es", "crea otra alarma para mañana a las seis y media", "wake", "25T06:30"),
    ("es", "necesito un despertador a las seis de la mañana", "wake", "25T06:00"),
    ("es", "avísame dentro de dos horas", "reminder", "24T20:10"),
    ("es", "dime cuando sean las nueve de la noche", "reminder", "24T21:00"),
    ("it", "aggiungi un'altra sveglia per domani alle sei e mezza", "wake", "25T06:30"),
    ("it", "vorrei essere svegliata domani alle sette", "wake", "25T07:00"),
    ("it", "ricordami tra due ore", "reminder", "24T20:10"),
    ("it", "dimmi quando sono le nove di sera", "reminder", "24T21:00"),
    ("nl", "maak nog een wekker voor morgen om half zeven", "wake", "25T06:30"),
    ("nl", "laat zaterdag om acht uur de wekker afgaan", "wake", "28T08:00"),
    ("nl", "herinner me over twee uur", "reminder", "24T20:10"),
    ("nl", "zeg het als het negen uur is", "reminder", "24T21:00"),
    ("nl", "wil je een timer van twintig minuten zetten", "timer", "24T18:30"),
    ("nl", "kun je een timer voor de rijst zetten van twintig minuten", "timer", "24T18:30"),
    ("pl", "dodaj jeszcze jeden budzik na wpół do siódmej", "wake", "25T06:30"),
    ("pl", "niech budzik zadzwoni w sobotę o ósmej", "wake", "28T08:00"),
    ("pl", "przypomnij mi za dwie godziny", "reminder", "24T20:10"),
    ("pl", "daj znać, jak będzie dwudziesta pierwsza", "reminder", "24T21:00"),
    ("pl", "przypomnij mi o jutrzejszej próbie o dziewiątej", "reminder", "25T09:00"),
    ("pl", "zacznij odliczanie na dwadzieścia minut", "timer", "24T18:30"),
    ("pl", "20-minutowy minutnik na ryż", "timer", "24T18:30"),
    ("en", "time the soup for twenty minutes", "timer", "24T18:30"), ("de", "Stopp mir zwanzig Minuten für die Suppe ab", "timer", "24T18:30"),
    ("es", "ponme veinte minutos para la sopa", "timer", "24T18:30"), ("fr", "compte vingt minutes pour la soupe", "timer", "24T18:30"),
    ("pl", "odlicz dwadzieścia minut na zupę", "timer", "24T18:30"),
])  # fmt: skip
async def test_it_is_made(hass: HomeAssistant, language: str, said: str, kind: str, due: str) -> None:
    await set_up(hass)
    await talk(hass, language, said)
    assert (only_wish(hass).kind, due_times(hass)) == (WishKind(kind), [due])


@pytest.mark.parametrize(("language", "said"), [
    ("en", "remind me to drink every day at two"), ("en", "remind me everyday at two pm to drink"),
    ("en", "remind me of the party one day in advance"), ("en", "remind me of the call at four am today"),
    ("en", "remind me of todays call at four"), ("en", "turn the alarm off at six"),
    ("de", "Erinnere mich eine Stunde vorher an die Probe"), ("de", "Erinnere mich heute um vier Uhr früh an den Anruf"),
    ("de", "Erinnere mich um 17 Uhr am siebten daran, Linda abzuholen"),
    ("fr", "rappelle-moi aujourd'hui à quatre heures du matin d'appeler"),
    ("fr", "rappelle-moi d'aller chercher Linda à 17 heures le sept"),
    ("es", "recuérdame hoy a las cuatro de la mañana que llame"), ("es", "pon a limpiar la lavadora cuando salga Ana"),
    ("en", "start the timer when the bed light is off"),
    ("it", "ricordami oggi alle quattro del mattino di chiamare"),
    ("it", "ricordami di prendere Linda alle cinque del pomeriggio il sette"),
    ("nl", "herinner me vandaag om vier uur 's ochtends aan de oproep"),
    ("nl", "herinner me vanavond voor tien uur aan de was"),
    ("pl", "przypomnij mi dzisiaj o czwartej rano o telefonie"),
])  # fmt: skip
async def test_what_has_another_time_than_one_that_is_known_is_not_made(
    hass: HomeAssistant, language: str, said: str
) -> None:
    await set_up(hass)
    await talk(hass, language, said)
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said"), [
    ("en", "remind me on the seventh at five in the evening to fetch Linda"),
    ("en", "remind me to fetch Linda at five in the evening on seventh"),
    ("de", "Erinnere mich am siebten um fünf Uhr nachmittags daran, Linda abzuholen"),
    ("es", "recuérdame recoger a Linda a las cinco de la tarde el día siete"),
    ("it", "ricordami di prendere Linda alle cinque del pomeriggio il giorno sette"),
    ("pl", "przypomnij mi o odebraniu Lindy o siedemnastej siódmego"),
])  # fmt: skip
async def test_a_day_of_the_month_may_be_a_word(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, said)
    assert due_times(hass) == ["07T17:00"]


@pytest.mark.parametrize(("language", "said", "answer", "called"), [
    ("en", "remind me in two hours", "All right, I'll remind you at 20:10.", "reminder (20:10)"),
    ("de", "Erinnere mich in zwei Stunden", "In Ordnung, ich erinnere dich um 20:10.", "Erinnerung (20:10)"),
    ("fr", "rappelle-moi dans deux heures", "D'accord, je vous le rappellerai à 20:10.", "rappel (20:10)"),
])  # fmt: skip
async def test_a_reminder_needs_no_text(
    hass: HomeAssistant, language: str, said: str, answer: str, called: str
) -> None:
    await set_up(hass)
    assert await talk(hass, language, said) == answer
    lists = {"en": "what's waiting", "de": "was steht an", "fr": "qu'est-ce qui est prévu"}
    assert called in await talk(hass, language, said, lists[language])


@pytest.mark.parametrize(("language", "said"), [
    ("en", "leave the bed light on for another ten minutes and then off"), ("de", "Lass Bed Light noch zehn Minuten an und dann aus"),
    ("es", "deja Bed Light encendida diez minutos más y después la apagas"),
])  # fmt: skip
async def test_what_stays_as_it_is_is_not_done_again(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    called = async_capture_events(hass, EVENT_CALL_SERVICE)
    await talk(hass, language, said)
    assert (only_wish(hass).ends, due_times(hass)) == (True, ["24T18:20"])
    assert not [event for event in called if event.data["service"] in ("turn_on", "turn_off")]
