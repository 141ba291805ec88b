"""The time of which it was asked is said in the next sentence, soon and by who was asked; a new order is none."""

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech, state_of
from tests.local.talks import due_times, talk

pytestmark = pytest.mark.usefixtures("demo_house", "evening")


def _waiting(hass: HomeAssistant) -> list[tuple[str, str]]:
    """Return the kinds of the wishes that wait, and when they are due, on the clock of the home."""
    return [*zip((wish.kind.value for wish in wishes_of(hass).all()), due_times(hass), strict=True)]


@pytest.mark.parametrize(("language", "wished", "said", "due"), [
    ("en", "turn on the bed light tomorrow", "at six", ("action", "25T06:00")), ("en", "turn on the bed light tomorrow", "six thirty please", ("action", "25T06:30")),
    ("en", "turn on the bed light tomorrow", "make it six", ("action", "25T06:00")), ("en", "turn off the bed light later", "at ten", ("action", "24T22:00")),
    ("en", "turn off the bed light at bedtime", "half past ten", ("action", "24T22:30")), ("en", "wake me tomorrow", "six", ("wake", "25T06:00")),
    ("en", "remind me to call Ben", "in an hour", ("reminder", "24T19:10")), ("en", "remind me to call Ben", "tomorrow at nine", ("reminder", "25T09:00")),
    ("de", "mach Bed Light morgen an", "um sechs", ("action", "25T06:00")), ("de", "weck mich morgen", "sechs Uhr bitte", ("wake", "25T06:00")),
    ("de", "erinnere mich an die Wäsche", "in einer Stunde", ("reminder", "24T19:10")), ("de", "mach Bed Light später aus", "um zehn", ("action", "24T22:00")),
    ("fr", "allume Bed Light demain", "à six heures", ("action", "25T06:00")), ("fr", "réveille-moi demain", "six heures et demie", ("wake", "25T06:30")),
    ("fr", "rappelle-moi la lessive", "dans une heure", ("reminder", "24T19:10")), ("es", "enciende Bed Light mañana", "a las seis", ("action", "25T06:00")),
    ("es", "despiértame mañana", "las siete y media", ("wake", "25T07:30")), ("es", "recuérdame la colada", "en una hora", ("reminder", "24T19:10")),
    ("it", "accendi Bed Light domani", "alle sei", ("action", "25T06:00")), ("it", "svegliami domani", "alle sette e mezza", ("wake", "25T07:30")),
    ("it", "ricordami la lavatrice", "tra un'ora", ("reminder", "24T19:10")), ("nl", "doe morgen Bed Light aan", "om zes uur", ("action", "25T06:00")),
    ("nl", "wek me morgen", "zeven uur", ("wake", "25T07:00")), ("nl", "herinner me aan de was", "over een uur", ("reminder", "24T19:10")),
    ("pl", "włącz Bed Light jutro", "o szóstej", ("action", "25T06:00")), ("pl", "obudź mnie jutro", "siódma", ("wake", "25T07:00")),
    ("pl", "przypomnij mi o praniu", "za godzinę", ("reminder", "24T19:10")),
])  # fmt: skip
async def test_the_time_alone_makes_the_wish(
    hass: HomeAssistant, language: str, wished: str, said: str, due: tuple[str, str]
) -> None:
    await set_up(hass)
    await talk(hass, language, wished)
    assert _waiting(hass) == []
    await talk(hass, language, wished, said)
    assert _waiting(hass) == [due]
    assert state_of(hass, "light.bed_light") == "off"


async def test_a_day_alone_is_asked_for_its_hour(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "remind me to call Ben", "tomorrow", "at nine")
    assert _waiting(hass) == [("reminder", "25T09:00")]


@pytest.mark.parametrize("said", [
    "at six?", "every day at six", "for ten minutes", "20%", "set it to 20%", "20 degrees", "no", "turn on the kitchen lights", "six lamps", "until six",
    "if the decorative lights are on", "what time is it",
])  # fmt: skip
async def test_what_is_no_time_makes_no_wish(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light tomorrow", said)
    assert _waiting(hass) == []
    assert state_of(hass, "light.bed_light") == "off"


@pytest.mark.parametrize(("said", "due"), [
    ("wake me at six", [("wake", "25T06:00")]), ("turn on the kitchen lights at six", [("action", "25T06:00")]),
    ("set a timer for six minutes", [("timer", "24T18:16")]),
])  # fmt: skip
async def test_a_new_wish_is_its_own(hass: HomeAssistant, said: str, due: list[tuple[str, str]]) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light tomorrow", said)
    assert _waiting(hass) == due
    assert all("light.bed_light" not in wish.targets for wish in wishes_of(hass).all())


async def test_another_sentence_ends_the_question(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light tomorrow", "what time is it", "at six")
    assert _waiting(hass) == []


async def test_nobody_else_answers_it(hass: HomeAssistant) -> None:
    await set_up(hass)
    asked = await say(hass, "turn on the bed light tomorrow", context=person(hass))
    await say(hass, "at six", asked.conversation_id, context=person(hass, "Ben"))
    assert wishes_of(hass).all() == []


async def test_after_a_while_nothing_is_asked_any_more(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass)
    user = person(hass).user_id
    asked = await say(hass, "turn on the bed light tomorrow", context=Context(user_id=user))
    freezer.tick(301)
    answer = await say(hass, "at six", asked.conversation_id, context=Context(user_id=user))
    assert wishes_of(hass).all() == []
    assert "All right" not in speech(answer)
