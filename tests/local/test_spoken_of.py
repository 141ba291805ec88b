"""What is said of what waits in other forms: both, the same time, the same thing later, the same once more, something else instead."""

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import set_up, state_of
from tests.local.talks import answers_to, due_times, only_wish, talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")
BED, KITCHEN = "light.bed_light", "light.kitchen_lights"


def _done(hass: HomeAssistant) -> list[tuple[str, str]]:
    """Return what is to be done later and when, in the order in which it was wished."""
    return [
        (str(effect["service"]), f"{dt_util.as_local(wish.when.at):%dT%H:%M}")
        for wish in wishes_of(hass).all()
        if wish.when.at is not None
        for step in wish.steps
        for effect in step.effects
    ]


@pytest.mark.parametrize(("language", "timers", "said"), [
    ("en", ("set a timer for four minutes for the eggs", "and nine minutes for the rice"), "delete both"),
    ("de", ("Timer vier Minuten für die Eier", "und neun Minuten für den Reis"), "lösch beide"),
    ("nl", ("zet een timer van vier minuten voor de eieren", "en negen minuten voor de rijst"), "haal ze allebei weg"),
    ("fr", ("mets un minuteur de quatre minutes pour les œufs", "et neuf minutes pour le riz"), "annule les deux"),
    ("es", ("pon un temporizador de cuatro minutos para los huevos", "y nueve minutos para el arroz"), "cancela los dos"),
    ("it", ("imposta un timer di quattro minuti per le uova", "e nove minuti per il riso"), "annullali tutti e due"),
    ("pl", ("ustaw minutnik na cztery minuty na jajka", "i dziewięć minut na ryż"), "usuń obydwa"),
])  # fmt: skip
async def test_both_are_canceled(hass: HomeAssistant, language: str, timers: tuple[str, ...], said: str) -> None:
    await set_up(hass)
    await talk(hass, language, *timers, said)
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "said"), [
    ("en", "cancel one of the two"), ("de", "storniere einen von beiden"), ("nl", "annuleer een van die twee"), ("fr", "annule un des deux"),
    ("es", "cancela uno de los dos"), ("it", "annulla uno dei due"), ("pl", "anuluj jeden z nich"),
])  # fmt: skip
async def test_of_one_of_two_it_is_asked_which(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light at eight", "turn off the kitchen lights at nine")
    await talk(hass, language, said)
    assert due_times(hass) == ["24T20:00", "24T21:00"]


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn on the bed light tomorrow at half past six", "and the kitchen lights at seven"),
    ("en", "turn on the bed light tomorrow at half past six", "and turn on the kitchen lights at seven"),
    ("de", "mach morgen um halb sieben Bed Light an", "und Kitchen Lights um sieben"),
    ("nl", "doe morgen om half zeven Bed Light aan", "en Kitchen Lights om zeven uur"),
    ("fr", "allume Bed Light demain à six heures et demie", "et Kitchen Lights à sept heures"),
    ("es", "enciende Bed Light mañana a las seis y media", "y Kitchen Lights a las siete"),
    ("it", "accendi Bed Light domani alle sei e mezza", "e Kitchen Lights alle sette"),
    ("pl", "włącz Bed Light jutro o szóstej trzydzieści", "a Kitchen Lights o siódmej"),
])  # fmt: skip
async def test_a_bare_hour_is_of_the_same_day(hass: HomeAssistant, language: str, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert due_times(hass) == ["25T06:30", "25T07:00"]


@pytest.mark.parametrize(("language", "first", "said", "due"), [
    ("en", "wake me tomorrow at six", "set the alarm ten minutes later", "25T06:10"), ("de", "weck mich morgen um sechs", "stell den Wecker zehn Minuten früher", "25T05:50"),
    ("nl", "wek me morgen om zes uur", "zet de wekker tien minuten later", "25T06:10"), ("fr", "réveille-moi demain à six heures", "mets le réveil dix minutes plus tôt", "25T05:50"),
    ("es", "despiértame mañana a las seis", "pon el despertador diez minutos más tarde", "25T06:10"), ("it", "svegliami domani alle sei", "metti la sveglia dieci minuti prima", "25T05:50"),
    ("pl", "obudź mnie jutro o szóstej", "ustaw budzik dziesięć minut wcześniej", "25T05:50"), ("en", "wake me tomorrow at six", "let me sleep ten minutes longer", "25T06:10"),
    ("fr", "éteins Bed Light à 22h", "mets plutôt et demie", "24T22:30"), ("en", "turn off the bed light at ten", "actually make it half past", "24T22:30"),
    ("it", "svegliami domani alle sei", "spostala un'ora e mezza più tardi", "25T07:30"),
])  # fmt: skip
async def test_another_time_moves_the_one_there_is(
    hass: HomeAssistant, language: str, first: str, said: str, due: str
) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert due_times(hass) == [due]


async def test_of_several_alarms_none_is_moved_unasked(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(
        hass, "en", "wake me tomorrow at six", "wake me tomorrow at seven as well", "set the alarm ten minutes later"
    )
    assert due_times(hass) == ["25T06:00", "25T07:00"]


@pytest.mark.parametrize(("language", "first", "said", "due"), [
    ("en", "remind me on Friday at 17:00 to call Ben", "remind me an hour before as well", "27T16:00"), ("de", "erinnere mich am Freitag um 17 Uhr an Ben", "erinnere mich auch eine Stunde vorher", "27T16:00"),
    ("nl", "herinner me vrijdag om 17:00 aan Ben", "herinner me ook een uur van tevoren", "27T16:00"), ("fr", "rappelle-moi vendredi à 17h d'appeler Ben", "rappelle-moi aussi une heure avant", "27T16:00"),
    ("es", "recuérdame el viernes a las 17:00 llamar a Ben", "recuérdamelo también una hora antes", "27T16:00"), ("it", "ricordami venerdì alle 17:00 di chiamare Ben", "ricordamelo anche un'ora prima", "27T16:00"),
    ("pl", "przypomnij mi w piątek o 17:00 o Benie", "przypomnij mi też godzinę wcześniej", "27T16:00"), ("en", "remind me on Friday at 17:00 to call Ben", "the same again at 18:00", "27T18:00"),
])  # fmt: skip
async def test_one_more_stands_beside_the_first(
    hass: HomeAssistant, language: str, first: str, said: str, due: str
) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert due_times(hass) == ["27T17:00", due]
    one, other = wishes_of(hass).all()
    assert one.text == other.text


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn on the bed light at eight tonight", "and off again at nine"), ("en", "turn on the bed light at eight tonight", "and turn it off an hour later"),
    ("de", "mach um 20 Uhr Bed Light an", "und um neun wieder aus"), ("nl", "doe om 20:00 Bed Light aan", "en om negen uur weer uit"), ("fr", "allume Bed Light à 20h", "et éteins-la à 21h"),
    ("es", "enciende Bed Light a las 20:00", "y apágala a las nueve"), ("it", "accendi Bed Light alle 20:00", "e spegnila alle nove"), ("pl", "włącz Bed Light o 20:00", "i wyłącz ją o 21:00"),
])  # fmt: skip
async def test_the_same_thing_is_changed_back_later(hass: HomeAssistant, language: str, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert _done(hass) == [("turn_on", "24T20:00"), ("turn_off", "24T21:00")]
    assert state_of(hass, BED) == "off"


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn on the bed light tomorrow at 06:45", "and wake me at the same time"), ("de", "mach morgen um 6:45 Uhr Bed Light an", "und weck mich zur gleichen Zeit"),
    ("nl", "doe morgen om 06:45 Bed Light aan", "en maak me op dezelfde tijd wakker"), ("fr", "allume Bed Light demain à 6h45", "et réveille-moi à la même heure"),
    ("es", "enciende Bed Light mañana a las 6:45", "y despiértame a la misma hora"), ("it", "accendi Bed Light domani alle 6:45", "e svegliami alla stessa ora"),
    ("pl", "włącz Bed Light jutro o 6:45", "i obudź mnie o tej samej porze"),
])  # fmt: skip
async def test_the_same_time_is_that_of_the_one_before(
    hass: HomeAssistant, language: str, first: str, said: str
) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert due_times(hass) == ["25T06:45", "25T06:45"]


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn on the bed light for ten minutes", "no, twenty"), ("de", "mach Bed Light für zehn Minuten an", "lieber zwanzig"), ("nl", "doe Bed Light tien minuten aan", "nee, twintig"),
    ("fr", "allume Bed Light pendant dix minutes", "non, vingt"), ("es", "enciende Bed Light durante diez minutos", "mejor veinte"), ("it", "accendi Bed Light per dieci minuti", "anzi, per venti"),
    ("pl", "włącz Bed Light na dziesięć minut", "nie, na dwadzieścia"),
])  # fmt: skip
async def test_a_bare_number_behind_a_length_is_one(hass: HomeAssistant, language: str, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert due_times(hass) == ["24T18:30"]


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn off the bed light and the kitchen lights at eleven", "not the kitchen lights, only the bed light"), ("de", "mach um 23 Uhr Bed Light und Kitchen Lights aus", "Kitchen Lights doch nicht, nur Bed Light"),
    ("nl", "doe Bed Light en Kitchen Lights om 23:00 uit", "Kitchen Lights niet, alleen Bed Light"), ("fr", "éteins Bed Light et Kitchen Lights à 23h", "pas Kitchen Lights, seulement Bed Light"),
    ("es", "apaga Bed Light y Kitchen Lights a las 23:00", "Kitchen Lights no, solo Bed Light"), ("it", "spegni Bed Light e Kitchen Lights alle 23:00", "Kitchen Lights no, solo Bed Light"),
    ("pl", "wyłącz Bed Light i Kitchen Lights o 23:00", "Kitchen Lights nie, tylko Bed Light"),
])  # fmt: skip
async def test_what_is_denied_is_left_out(hass: HomeAssistant, language: str, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert only_wish(hass).targets == (BED,)
    assert due_times(hass) == ["24T23:00"]


@pytest.mark.parametrize("said", [
    "don't forget the kitchen lights", "keep the kitchen lights", "not at nine", "the kitchen lights are not bright", "why not the kitchen lights?", "not the ceiling lights",
])  # fmt: skip
async def test_what_denies_nothing_leaves_nothing_out(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light and the kitchen lights at eleven", said)
    assert only_wish(hass).targets == (BED, KITCHEN)


@pytest.mark.parametrize(("first", "said"), [
    ("wake me tomorrow at 06:30", "instead of the alarm, turn on the bed light tomorrow at 06:30"), ("wake me tomorrow at 06:30", "instead of the alarm, turn on the bed light at that time"),
    ("turn off the bed light tomorrow at 06:30", "no wait, turn on the bed light tomorrow at 06:30, not off"),
])  # fmt: skip
async def test_a_wish_takes_the_place_of_one_that_is_named(hass: HomeAssistant, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", first, said)
    assert _done(hass) == [("turn_on", "25T06:30")]


@pytest.mark.parametrize("said", ["no, put it back", "wait, add it back please"])
async def test_what_was_canceled_is_put_back(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light at ten", "cancel that", said)
    assert _done(hass) == [("turn_off", "24T22:00")]


async def test_what_was_canceled_is_made_again_for_another_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "de", "mach um zehn Bed Light aus", "storniere das", "mach es stattdessen um elf")
    assert _done(hass) == [("turn_off", "24T23:00")]


async def test_an_order_for_now_is_no_change_of_what_was_canceled(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the bed light at ten", "cancel that", "what time is it", "make it eleven")
    assert not wishes_of(hass).all()


@pytest.mark.parametrize(("language", "timers", "said"), [
    ("en", ("set a timer for four minutes for the rice", "and nine minutes for the eggs"), "you can stop the rice timer, it's done"),
    ("de", ("Timer vier Minuten für die Eier", "und neun Minuten für den Reis"), "den Eiertimer kannst du löschen, die sind fertig"),
    ("fr", ("mets un minuteur de quatre minutes pour les œufs", "et neuf minutes pour le riz"), "arrête celui des œufs"),
    ("es", ("pon un temporizador de cuatro minutos para los huevos", "y nueve minutos para el arroz"), "puedes quitar el temporizador de los huevos, ya están"),
    ("it", ("imposta un timer di quattro minuti per le uova", "e nove minuti per il riso"), "puoi fermare il timer delle uova, sono cotte"),
])  # fmt: skip
async def test_one_timer_is_stopped_with_a_remark(
    hass: HomeAssistant, language: str, timers: tuple[str, ...], said: str
) -> None:
    await set_up(hass)
    await talk(hass, language, *timers, said)
    assert due_times(hass) == ["24T18:19"]


async def test_which_one_is_answered_with_a_remark(hass: HomeAssistant) -> None:
    await set_up(hass)
    wished = ("remind me at seven to call Ben", "remind me at eight to feed the cat", "cancel the reminder")
    [*_, asked, told] = await answers_to(hass, "en", *wished, "the one about the cat, she's fed")
    assert asked.startswith("Which one")
    assert "feed the cat" in told
    assert due_times(hass) == ["24T19:00"]
