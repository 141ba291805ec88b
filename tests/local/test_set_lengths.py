"""A timer gets the length that is said, whether it runs or stands still; what is only added is added."""

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech

pytestmark = pytest.mark.usefixtures("demo_house", "evening")

TIMERS = {
    "en": "set a timer for ten minutes", "de": "stell einen Timer auf zehn Minuten", "fr": "mets un minuteur de dix minutes",
    "es": "pon un temporizador de diez minutos", "it": "imposta un timer di dieci minuti", "nl": "zet een timer van tien minuten",
    "pl": "ustaw minutnik na dziesięć minut",
}  # fmt: skip
PAUSES = {
    "en": "pause the timer", "de": "pausiere den Timer", "fr": "mets le minuteur en pause", "es": "pausa el temporizador",
    "it": "metti in pausa il timer", "nl": "pauzeer de timer", "pl": "wstrzymaj minutnik",
}  # fmt: skip
SAID = [
    ("en", "make the timer fifteen minutes", 900), ("en", "set the timer to twenty minutes", 1200), ("en", "change the timer to eight minutes", 480),
    ("en", "add two minutes", None), ("de", "mach den Timer auf fünfzehn Minuten", 900), ("de", "verlängere den Timer auf zwanzig Minuten", 1200),
    ("de", "verlängere den Timer um zwei Minuten", None), ("fr", "mets le minuteur à quinze minutes", 900),
    ("fr", "change le minuteur à vingt minutes", 1200), ("fr", "ajoute deux minutes", None), ("es", "pon el temporizador a quince minutos", 900),
    ("es", "cambia el temporizador a veinte minutos", 1200), ("es", "añade dos minutos", None), ("it", "metti il timer a quindici minuti", 900),
    ("it", "cambia il timer a venti minuti", 1200), ("it", "aggiungi due minuti", None), ("nl", "maak de timer vijftien minuten", 900),
    ("nl", "zet de timer op twintig minuten", 1200), ("nl", "verleng de timer met twee minuten", None),
    ("pl", "zmień minutnik na dwadzieścia minut", 1200), ("pl", "przedłuż minutnik o dwie minuty", None),
]  # fmt: skip


@pytest.mark.parametrize(("language", "said", "length"), SAID)
async def test_a_timer_that_runs_gets_the_length_that_is_said(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, language: str, said: str, length: int | None
) -> None:
    await set_up(hass)
    speaker = Context(user_id=person(hass).user_id)
    made = await say(hass, TIMERS[language], language=language, context=speaker)
    freezer.tick(240)
    await say(hass, said, made.conversation_id, language=language, context=speaker)
    [wish] = wishes_of(hass).all()
    assert wish.when.at is not None
    assert round((wish.when.at - dt_util.utcnow()).total_seconds()) == (length or 480)


@pytest.mark.parametrize(("language", "said", "length"), SAID)
async def test_a_paused_timer_gets_it_and_stands_still(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, language: str, said: str, length: int | None
) -> None:
    await set_up(hass)
    speaker = Context(user_id=person(hass).user_id)
    made = await say(hass, TIMERS[language], language=language, context=speaker)
    freezer.tick(240)
    await say(hass, PAUSES[language], made.conversation_id, language=language, context=speaker)
    freezer.tick(60)
    answer = speech(await say(hass, said, made.conversation_id, language=language, context=speaker))
    [wish] = wishes_of(hass).all()
    assert (wish.when.at, wish.when.left) == (None, length or 480)
    assert f"{(length or 480) // 60}:00" in answer
