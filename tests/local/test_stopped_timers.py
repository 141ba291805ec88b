"""Timers that are stopped, lengthened and shortened by words that could be read as another wish."""

from datetime import timedelta

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import set_up
from tests.local.talks import talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


def _left(hass: HomeAssistant) -> list[int]:
    """Return how many seconds wishes have, in the order in which they were made."""
    now = dt_util.utcnow()
    return [round((wish.when.at - now).total_seconds()) for wish in wishes_of(hass).all() if wish.when.at is not None]


@pytest.mark.parametrize(("language", "timer", "other", "stops"), [
    ("en", "set a timer for five minutes", "set a pasta timer for an hour", "stop"),
    ("en", "set a timer for five minutes", "set a pasta timer for an hour", "stop the timer"),
    ("en", "set a timer for five minutes", "turn on the bed light in one hour", "stop it"),
    ("de", "stell einen Timer auf fünf Minuten", "stell einen Nudeltimer auf eine Stunde", "Stopp"),
    ("fr", "mets un minuteur de cinq minutes", "mets un minuteur de soixante minutes pour les pâtes", "arrête le minuteur"),
    ("es", "pon un temporizador de cinco minutos", "pon un temporizador de sesenta minutos para la pasta", "para"),
    ("it", "metti un timer di cinque minuti", "metti un timer di sessanta minuti per la pasta", "basta"),
    ("nl", "zet een timer van vijf minuten", "zet een pastatimer van zestig minuten", "stop de timer"),
    ("pl", "ustaw minutnik na pięć minut", "ustaw minutnik na sześćdziesiąt minut", "stop"),
])  # fmt: skip
async def test_stop_after_a_timer_was_up_cancels_no_other(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, language: str, timer: str, other: str, stops: str
) -> None:
    await set_up(hass)
    await talk(hass, language, timer, other)
    assert _left(hass) == [300, 3600]
    freezer.tick(timedelta(minutes=5, seconds=2))
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert _left(hass) == [3298]
    await talk(hass, language, stops)
    assert _left(hass) == [3298]


@pytest.mark.parametrize(("language", "timer", "said", "left"), [
    ("en", "set a pizza timer for ten minutes", "take 5 minutes off", 300), ("en", "set a pizza timer for ten minutes", "take two minutes off the timer", 480),
    ("en", "set a pizza timer for ten minutes", "plus five minutes", 900), ("en", "set a pizza timer for ten minutes", "minus five minutes", 300),
    ("en", "set a pizza timer for ten minutes", "make it five minutes", 300),
    ("de", "stell einen Pizza-Timer auf zehn Minuten", "Zieh zwei Minuten ab", 480),
    ("de", "stell einen Pizza-Timer auf zehn Minuten", "Zieh beim Pizza-Timer fünf Minuten ab", 300),
    ("de", "stell einen Pizza-Timer auf zehn Minuten", "Plus fünf Minuten", 900),
    ("fr", "mets un minuteur de dix minutes", "plus cinq minutes", 900), ("fr", "mets un minuteur de dix minutes", "enlève cinq minutes", 300),
    ("es", "pon un temporizador de diez minutos", "más cinco minutos", 900), ("es", "pon un temporizador de diez minutos", "quita cinco minutos", 300),
    ("it", "metti un timer di dieci minuti", "più cinque minuti", 900), ("it", "metti un timer di dieci minuti", "togli cinque minuti", 300),
    ("nl", "zet een timer van tien minuten", "plus vijf minuten", 900), ("nl", "zet een timer van tien minuten", "haal er vijf minuten af", 300),
    ("pl", "ustaw minutnik na dziesięć minut", "plus pięć minut", 900), ("pl", "ustaw minutnik na dziesięć minut", "odejmij pięć minut", 300),
])  # fmt: skip
async def test_minutes_are_added_and_taken(
    hass: HomeAssistant, language: str, timer: str, said: str, left: int
) -> None:
    await set_up(hass)
    await talk(hass, language, timer, said)
    assert _left(hass) == [left]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "cancel the timer in five minutes"), ("en", "add five minutes to the timer"), ("en", "stop the timer in five minutes"),
    ("de", "stopp den Timer in fünf Minuten"), ("de", "gib dem Timer fünf Minuten dazu"), ("fr", "arrête le minuteur dans cinq minutes"),
    ("fr", "ajoute cinq minutes au minuteur"), ("es", "para el temporizador en cinco minutos"), ("es", "añade cinco minutos al temporizador"),
    ("it", "ferma il timer tra cinque minuti"), ("it", "aggiungi cinque minuti al timer"), ("nl", "stop de timer over vijf minuten"),
    ("nl", "voeg vijf minuten toe aan de timer"), ("pl", "zatrzymaj minutnik za pięć minut"), ("pl", "dodaj pięć minut do minutnika"),
])  # fmt: skip
async def test_a_timer_that_does_not_run_is_not_set_by_what_is_done_with_it(
    hass: HomeAssistant, language: str, said: str
) -> None:
    await set_up(hass)
    assert await talk(hass, language, said)
    assert _left(hass) == []


@pytest.mark.parametrize(("language", "wished", "said"), [
    ("en", "turn on the bed light in one hour", "cancel everything in ten minutes"), ("en", "turn on the bed light in one hour", "cancel that in ten minutes"),
    ("de", "in einer Stunde Bed Light einschalten", "Storniere alles in zehn Minuten"), ("fr", "allume Bed Light dans une heure", "annule tout dans dix minutes"),
    ("es", "enciende Bed Light en una hora", "cancela todo en diez minutos"), ("it", "tra un'ora accendi Bed Light", "annulla tutto tra dieci minuti"),
    ("nl", "over een uur Bed Light aan", "annuleer alles over tien minuten"), ("pl", "za godzinę włącz Bed Light", "anuluj wszystko za dziesięć minut"),
])  # fmt: skip
async def test_what_is_to_be_cancelled_later_is_not_cancelled_now(
    hass: HomeAssistant, language: str, wished: str, said: str
) -> None:
    await set_up(hass)
    assert await talk(hass, language, wished, said)
    assert _left(hass) == [3600]


@pytest.mark.parametrize(("language", "timer", "said"), [
    ("en", "set a pizza timer for ten minutes", "set the pizza timer to thirty minutes"), ("en", "set a timer for ten minutes", "set the timer to thirty minutes"),
    ("de", "stell einen Pizza-Timer auf zehn Minuten", "setz den Pizza-Timer auf 30 Minuten"), ("fr", "mets un minuteur de dix minutes", "règle le minuteur sur trente minutes"),
    ("es", "pon un temporizador de diez minutos", "pon el temporizador a treinta minutos"), ("it", "metti un timer di dieci minuti", "imposta il timer a trenta minuti"),
    ("nl", "zet een pizzatimer van tien minuten", "zet de pizzatimer op dertig minuten"),
])  # fmt: skip
async def test_the_timer_that_runs_is_set_again(hass: HomeAssistant, language: str, timer: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, timer)
    await talk(hass, language, said)
    assert _left(hass) == [1800]


@pytest.mark.parametrize("said", ["set a timer for thirty minutes", "set the pasta timer to thirty minutes"])
async def test_another_timer_is_a_new_one(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "set a pizza timer for ten minutes")
    await talk(hass, "en", said)
    assert _left(hass) == [600, 1800]


@pytest.mark.parametrize(("language", "one", "other", "said"), [
    ("en", "turn on the bed light in one hour", "set a timer for five minutes", "cancel one"),
    ("en", "turn on the bed light in one hour", "set a timer for five minutes", "cancel one of them"),
    ("de", "in einer Stunde Bed Light einschalten", "stell einen Timer auf fünf Minuten", "storniere eins davon"),
    ("fr", "allume Bed Light dans une heure", "mets un minuteur de cinq minutes", "annule une"),
    ("es", "enciende Bed Light en una hora", "pon un temporizador de cinco minutos", "cancela uno"),
    ("it", "tra un'ora accendi Bed Light", "metti un timer di cinque minuti", "annulla uno"),
    ("nl", "over een uur Bed Light aan", "zet een timer van vijf minuten", "annuleer er een"),
    ("pl", "za godzinę włącz Bed Light", "ustaw minutnik na pięć minut", "anuluj jeden"),
])  # fmt: skip
async def test_one_of_several_is_asked_about(
    hass: HomeAssistant, language: str, one: str, other: str, said: str
) -> None:
    await set_up(hass)
    assert "?" in await talk(hass, language, one, other, said)
    assert _left(hass) == [3600, 300]


async def test_of_a_single_one_it_is_not_asked_which(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = await talk(hass, "en", "turn on the bed light in one hour", "cancel the meeting reminder")
    assert "Which one" not in answer
    assert _left(hass) == [3600]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "what's planned for tomorrow?"), ("en", "what is planned tomorrow?"), ("en", "do I have any reminders for tomorrow?"),
    ("de", "Was steht morgen an?"), ("de", "Was ist für morgen geplant?"), ("fr", "Qu'est-ce qui est prévu demain ?"), ("es", "¿Qué tengo previsto para mañana?"),
    ("it", "Cosa è previsto per domani?"), ("nl", "Wat staat er morgen gepland?"), ("pl", "Co mam jutro zaplanowane?"),
])  # fmt: skip
async def test_what_waits_on_one_day_is_listed(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "remind me tomorrow at nine to call Ben", "remind me in one hour to feed Rex")
    answer = await talk(hass, language, said)
    assert "Ben" in answer
    assert "Rex" not in answer


@pytest.mark.parametrize(("language", "said"), [
    ("en", "do I have any reminders?"), ("en", "what is planned today?"), ("de", "Hab ich noch Erinnerungen?"), ("fr", "Est-ce que j'ai des rappels ?"),
    ("es", "¿Tengo recordatorios?"), ("it", "Ho dei promemoria?"), ("nl", "Heb ik nog herinneringen?"), ("pl", "Czy mam jakieś przypomnienia?"),
])  # fmt: skip
async def test_it_is_asked_whether_something_waits(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "remind me in one hour to feed Rex")
    assert "Rex" in await talk(hass, language, said)
