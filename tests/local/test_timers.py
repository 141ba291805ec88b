"""Timers that are wishes: kept apart from one another and from other wishes, paused, lengthened and told to the second."""

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech
from tests.local.talks import talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


def _left(hass: HomeAssistant) -> list[tuple[str, int]]:
    """Return the names of timers and how many seconds they have, in the order in which they were set."""
    now, timers = dt_util.utcnow(), [wish for wish in wishes_of(hass).all() if wish.kind is WishKind.TIMER]
    return [(wish.text, wish.when.left or round(((wish.when.at or now) - now).total_seconds())) for wish in timers]


@pytest.mark.parametrize(("language", "said", "left"), [
    ("en", ("set a timer for five minutes", "set a timer for ten minutes"), [("", 300), ("", 600)]),
    ("en", ("set a timer for the eggs for five minutes", "and ten minutes for the pasta"), [("eggs", 300), ("pasta", 600)]),
    ("en", ("set a timer for the eggs for five minutes", "and one for the pasta, ten minutes"), [("eggs", 300), ("pasta", 600)]),
    ("en", ("set a timer for five minutes", "another timer for ten minutes"), [("", 300), ("", 600)]),
    ("de", ("stell einen Timer auf fünf Minuten", "mach noch einen Timer zehn Minuten"), [("", 300), ("", 600)]),
    ("de", ("Eiertimer fünf Minuten", "und zehn Minuten für die Nudeln"), [("Eier", 300), ("Nudeln", 600)]),
    ("fr", ("mets un minuteur de cinq minutes", "et un autre de dix minutes"), [("", 300), ("", 600)]),
    ("es", ("pon un temporizador de cinco minutos", "y otro de diez minutos"), [("", 300), ("", 600)]),
    ("it", ("metti un timer di cinque minuti", "e uno di dieci minuti per la pasta"), [("", 300), ("pasta", 600)]),
    ("nl", ("zet een timer van vijf minuten", "en nog een van tien minuten"), [("", 300), ("", 600)]),
    ("pl", ("ustaw minutnik na pięć minut", "i dziesięć minut na makaron"), [("", 300), ("makaron", 600)]),
])  # fmt: skip
async def test_a_second_timer_is_another_one(
    hass: HomeAssistant, language: str, said: tuple[str, ...], left: list[tuple[str, int]]
) -> None:
    await set_up(hass)
    await talk(hass, language, *said)
    assert _left(hass) == left


@pytest.mark.parametrize(("language", "first", "second", "said", "left"), [
    ("en", "set an egg timer for five minutes", "set a pasta timer for ten minutes", "make the pasta timer two minutes longer", [300, 720]),
    ("en", "set an egg timer for five minutes", "set a pasta timer for ten minutes", "add two minutes to the egg timer", [420, 600]),
    ("en", "set an egg timer for five minutes", "set a pasta timer for ten minutes", "take two minutes off the pasta timer", [300, 480]),
    ("en", "set an egg timer for five minutes", "set a pasta timer for ten minutes", "stop the pasta timer", [300]),
    ("de", "Eiertimer fünf Minuten", "Nudeltimer zehn Minuten", "gib dem Nudeltimer zwei Minuten mehr", [300, 720]),
    ("de", "Eiertimer fünf Minuten", "Nudeltimer zehn Minuten", "stoppe den Nudeltimer", [300]),
    ("fr", "mets un minuteur de cinq minutes pour les œufs", "mets un minuteur de dix minutes pour les pâtes", "ajoute deux minutes au minuteur des pâtes", [300, 720]),
    ("es", "pon un temporizador de cinco minutos para los huevos", "pon un temporizador de diez minutos para la pasta", "dale dos minutos más a la pasta", [300, 720]),
    ("it", "metti un timer di cinque minuti per le uova", "metti un timer di dieci minuti per la pasta", "togli due minuti alla pasta", [300, 480]),
    ("nl", "zet een timer van vijf minuten voor de eieren", "zet een timer van tien minuten voor de pasta", "doe er twee minuten bij voor de pasta", [300, 720]),
    ("pl", "ustaw minutnik na pięć minut na jajka", "ustaw minutnik na dziesięć minut na makaron", "dodaj dwie minuty do makaronu", [300, 720]),
])  # fmt: skip
async def test_the_named_one_is_meant(
    hass: HomeAssistant, language: str, first: str, second: str, said: str, left: list[int]
) -> None:
    await set_up(hass)
    await talk(hass, language, first, second, said)
    assert [seconds for _, seconds in _left(hass)] == left


@pytest.mark.parametrize(("language", "wished", "pause", "resume"), [
    ("en", "set a timer for five minutes", "pause the timer", "resume the timer"), ("en", "set a timer for five minutes", "pause the timer", "go on"),
    ("de", "stell einen Timer auf fünf Minuten", "halte den Timer kurz an", "lass den Timer weiterlaufen"), ("de", "stell einen Timer auf fünf Minuten", "pausiere den Timer", "Timer weiter"),
    ("fr", "mets un minuteur de cinq minutes", "mets le minuteur en pause", "reprends le minuteur"), ("es", "pon un temporizador de cinco minutos", "pausa el temporizador", "reanuda el temporizador"),
    ("it", "metti un timer di cinque minuti", "metti in pausa il timer", "riprendi il timer"), ("nl", "zet een timer van vijf minuten", "pauzeer de timer", "ga verder met de timer"),
    ("pl", "ustaw minutnik na pięć minut", "wstrzymaj minutnik", "wznów minutnik"),
])  # fmt: skip
async def test_a_timer_stands_still_and_goes_on(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, language: str, wished: str, pause: str, resume: str
) -> None:
    await set_up(hass)
    anna = person(hass)
    made = await say(hass, wished, language=language, context=anna)
    freezer.tick(60)
    paused = await say(hass, pause, made.conversation_id, language=language, context=anna)
    assert "4:00" in speech(paused)
    [wish] = wishes_of(hass).all()
    assert (wish.when.at, wish.when.left) == (None, 240)
    freezer.tick(600)
    await say(hass, resume, made.conversation_id, language=language, context=anna)
    [wish] = wishes_of(hass).all()
    assert wish.when.left == 0
    assert wish.when.at is not None
    assert (wish.when.at - dt_util.utcnow()).total_seconds() == 240


async def test_a_paused_timer_is_told_and_lengthened(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = await talk(hass, "en", "set a timer for five minutes", "pause the timer", "how long is left on the timer")
    assert answer == "Left: 5:00, paused."
    await talk(hass, "en", "what's waiting")
    assert _left(hass) == [("", 300)]


async def test_a_paused_timer_is_kept_over_a_restart(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    anna = person(hass)
    for text in ("set a timer for five minutes", "pause the timer"):
        await say(hass, text, context=anna)
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    assert _left(hass) == [("", 300)]
    await say(hass, "resume the timer", context=anna)
    [wish] = wishes_of(hass).all()
    assert wish.when.at is not None


@pytest.mark.parametrize(("said", "answer"), [
    ("set a timer for 90 seconds", "The timer is set; it ends at 18:11:30."), ("set a timer for two minutes", "The timer is set; it ends at 18:12."),
    ("turn off the bed light in 45 seconds", "All right: at 18:10:45, turn off Bed Light."),
])  # fmt: skip
async def test_seconds_are_told_where_they_count(hass: HomeAssistant, said: str, answer: str) -> None:
    await set_up(hass)
    assert await talk(hass, "en", said) == answer


async def test_a_timer_is_told_with_its_words_and_not_with_an_old_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    answer = await talk(hass, "en", "set a timer for five minutes", "make it ten minutes longer", "what's waiting")
    assert answer == "Waiting: timer (18:25)."


@pytest.mark.parametrize(("language", "wished", "said", "kinds"), [
    ("en", ("wake me at seven", "set a timer for five minutes", "remind me at nine to call Ben"), "cancel all reminders", ["wake", "timer"]),
    ("en", ("wake me at seven", "set a timer for five minutes", "remind me at nine to call Ben"), "cancel the alarm", ["timer", "reminder"]),
    ("en", ("wake me at seven", "set a timer for five minutes", "remind me at nine to call Ben"), "cancel everything but the alarm", ["wake"]),
    ("en", ("wake me at seven", "set a timer for five minutes", "remind me at nine to call Ben"), "cancel everything, timers included", []),
    ("de", ("weck mich um sieben", "stell einen Timer auf fünf Minuten", "erinnere mich um neun an Ben"), "lösch alle Erinnerungen", ["wake", "timer"]),
    ("de", ("weck mich um sieben", "stell einen Timer auf fünf Minuten", "erinnere mich um neun an Ben"), "storniere alles außer dem Wecker", ["wake"]),
    ("fr", ("réveille-moi à sept heures", "mets un minuteur de cinq minutes", "rappelle-moi à 21h d'appeler Ben"), "annule tous les rappels", ["wake", "timer"]),
    ("es", ("despiértame a las siete", "pon un temporizador de cinco minutos", "recuérdame a las nueve llamar a Ben"), "cancela los temporizadores", ["wake", "reminder"]),
    ("it", ("svegliami alle sette", "metti un timer di cinque minuti", "ricordami alle nove di chiamare Ben"), "cancella tutto tranne la sveglia", ["wake"]),
    ("nl", ("wek me om zeven uur", "zet een timer van vijf minuten", "herinner me om negen uur aan Ben"), "annuleer alle timers", ["wake", "reminder"]),
    ("pl", ("obudź mnie o siódmej", "ustaw minutnik na pięć minut", "przypomnij mi o dziewiątej wieczorem o Benie"), "anuluj wszystkie przypomnienia", ["wake", "timer"]),
])  # fmt: skip
async def test_kinds_are_kept_apart(
    hass: HomeAssistant, language: str, wished: tuple[str, ...], said: str, kinds: list[str]
) -> None:
    await set_up(hass)
    await talk(hass, language, *wished, said)
    assert [wish.kind.value for wish in wishes_of(hass).all()] == kinds


@pytest.mark.parametrize(("said", "told", "untold"), [
    ("what reminders do I have", "call Ben", "timer"), ("which timers are running", "timer", "Ben"), ("what alarms are set", "Nothing like that", "Ben"),
    ("what have you planned for tomorrow", "Nothing like that", "Ben"),
])  # fmt: skip
async def test_a_kind_is_told_alone(hass: HomeAssistant, said: str, told: str, untold: str) -> None:
    await set_up(hass)
    answer = await talk(hass, "en", "set a timer for five minutes", "remind me tonight at nine to call Ben", said)
    assert told in answer
    assert untold not in answer


async def test_of_many_it_is_told_how_many_more(hass: HomeAssistant) -> None:
    await set_up(hass)
    wished = [f"remind me at {hour} pm to call number {hour}" for hour in range(1, 12)]
    answer = await talk(hass, "en", *wished, "what's waiting")
    assert answer.count("reminder “call") == 8
    assert answer.endswith(", 3 more.")


@pytest.mark.parametrize(("language", "first", "second", "said"), [
    ("en", "set a timer for five minutes", "set a timer for ten minutes", "cancel the timer"), ("de", "Timer fünf Minuten", "Timer zehn Minuten", "brich den Timer ab"),
    ("en", "remind me at eight to call Ben", "remind me at nine to call Eve", "move the reminder an hour later"), ("nl", "zet een timer van vijf minuten", "zet een timer van tien minuten", "stop de timer"),
    ("fr", "rappelle-moi à 20h d'appeler Ben", "rappelle-moi à 21h d'appeler Eve", "annule le rappel"), ("it", "svegliami alle sei", "svegliami alle sette", "annulla la sveglia"),
])  # fmt: skip
async def test_one_of_a_kind_is_asked_for(
    hass: HomeAssistant, language: str, first: str, second: str, said: str
) -> None:
    await set_up(hass)
    await talk(hass, language, first, second)
    before = [wish.when for wish in wishes_of(hass).all()]
    assert "?" in await talk(hass, language, said)
    assert [wish.when for wish in wishes_of(hass).all()] == before


@pytest.mark.parametrize("said", [
    [f"set a timer for {minutes} minutes" for minutes in ("five", "six", "seven", "eight", "nine")],
    [f"set an alarm for {hour}" for hour in ("seven", "eight", "nine", "ten", "eleven")],
    [f"turn off the bed light at {hour} o'clock" for hour in ("seven", "eight", "nine", "ten", "eleven")],
])  # fmt: skip
async def test_the_same_at_other_times_is_something_else(hass: HomeAssistant, said: list[str]) -> None:
    await set_up(hass)
    user = person(hass)
    for text in said:
        await say(hass, text, context=Context(user_id=user.user_id))
    assert len({wish.when.at for wish in wishes_of(hass).all()}) == len(said)


async def test_the_same_at_the_same_time_waits_three_times(hass: HomeAssistant) -> None:
    await set_up(hass)
    user = person(hass)
    said = "set a timer for five minutes"
    answers = [speech(await say(hass, said, context=Context(user_id=user.user_id))) for _ in range(4)]
    assert answers[3].startswith("This is already planned 3 times for the same time or event")
    assert len(wishes_of(hass).all()) == 3
