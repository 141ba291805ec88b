"""Sentences that go on from a wish: one more like it, something else instead, and remarks beside what is wanted."""

from dataclasses import replace

from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wishes import MOST_OF_USER, wishes_of
from tests.house import person, say, set_up, state_of
from tests.local.talks import talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


def _all(hass: HomeAssistant) -> list[tuple[str, ...]]:
    """Return what waits: of an action its service and targets, else what is told; and when."""
    found = list[tuple[str, ...]]()
    for wish in wishes_of(hass).all():
        services = [str(effect["service"]) for step in wish.steps for effect in step.effects]
        at = f"{dt_util.as_local(wish.when.at):%dT%H:%M}" if wish.when.at is not None else ""
        found.append((*(services or [wish.text]), *wish.targets, at))
    return found


BED, KITCHEN = "light.bed_light", "light.kitchen_lights"


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn off the kitchen lights at ten", "and the bed light at eleven"), ("de", "mach um zehn Kitchen Lights aus", "und um elf Bed Light"),
    ("fr", "éteins Kitchen Lights à 22h", "et Bed Light à 23h"), ("es", "apaga Kitchen Lights a las diez", "y Bed Light a las once"),
    ("it", "spegni Kitchen Lights alle dieci", "e Bed Light alle undici"), ("nl", "doe Kitchen Lights om tien uur uit", "en Bed Light om elf uur"),
    ("pl", "wyłącz Kitchen Lights o dziesiątej wieczorem", "a Bed Light o jedenastej wieczorem"),
])  # fmt: skip
async def test_the_same_is_done_to_something_more(hass: HomeAssistant, language: str, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert _all(hass) == [("turn_off", KITCHEN, "24T22:00"), ("turn_off", BED, "24T23:00")]


async def test_the_same_is_done_at_the_same_time(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the ceiling lights at ten", "and the bed light too")
    assert _all(hass)[1] == ("turn_on", BED, "24T22:00")
    assert state_of(hass, BED) == "off"


@pytest.mark.parametrize(("language", "first", "said", "text", "due"), [
    ("en", "remind me at seven to feed the cat", "and at eight to walk the dog", "walk the dog", "24T20:00"),
    ("de", "erinnere mich um sieben an die Katze", "und um acht an den Hund", "Hund", "24T20:00"),
    ("fr", "rappelle-moi à 19h de nourrir le chat", "et à 20h de sortir le chien", "sortir le chien", "24T20:00"),
    ("es", "recuérdame a las siete que llame a Ben", "y a las ocho que llame a Eve", "llame a Eve", "24T20:00"),
    ("it", "ricordami alle sette di chiamare Ben", "e alle otto di chiamare Eve", "chiamare Eve", "24T20:00"),
])  # fmt: skip
async def test_one_more_reminder(
    hass: HomeAssistant, language: str, first: str, said: str, text: str, due: str
) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert len(_all(hass)) == 2
    assert _all(hass)[1] == (text, due)


@pytest.mark.parametrize("said", [
    "and turn on the toaster at eight", "and the bed light", "and the moon at eight", "and why at eight?", "at eight", "thanks", "and what time is it",
])  # fmt: skip
async def test_what_is_not_one_more_reminds_of_nothing(hass: HomeAssistant, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the ceiling lights at ten")
    before = len(_all(hass))
    await talk(hass, "en", "turn on the ceiling lights at eleven", said)
    assert all(row[0] == "turn_on" for row in _all(hass))
    assert len(_all(hass)) <= before + 2
    assert state_of(hass, BED) == "off"


@pytest.mark.parametrize(("language", "first", "said"), [
    ("en", "turn off the ceiling lights at ten", "no, not the ceiling lights, the bed light"), ("en", "turn off the ceiling lights at ten", "sorry, I meant the bed light"),
    ("en", "turn off the ceiling lights at ten", "the bed light instead of the ceiling lights"), ("de", "mach um zehn Ceiling Lights aus", "nein, Bed Light meinte ich"),
    ("fr", "éteins Ceiling Lights à 22h", "non, plutôt Bed Light"), ("es", "apaga Ceiling Lights a las diez", "no, mejor Bed Light"),
    ("it", "spegni Ceiling Lights alle dieci", "anzi, Bed Light"), ("nl", "doe Ceiling Lights om tien uur uit", "nee, Bed Light bedoel ik"),
    ("pl", "wyłącz Ceiling Lights o dziesiątej wieczorem", "nie, jednak Bed Light"),
])  # fmt: skip
async def test_something_else_was_meant(hass: HomeAssistant, language: str, first: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert _all(hass) == [("turn_off", BED, "24T22:00")]


async def test_what_was_meant_first_is_back_where_that_is_undone(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn off the ceiling lights at ten", "no, the bed light", "undo that")
    assert _all(hass) == [("turn_off", "light.ceiling_lights", "24T22:00")]


@pytest.mark.parametrize(("language", "first", "said", "left"), [
    ("en", "wake me at seven", "I have the day off, cancel the alarm", 0), ("de", "weck mich um sieben", "ich habe frei, lösch den Wecker", 0),
    ("fr", "réveille-moi à sept heures", "laisse tomber, je suis en vacances", 0), ("nl", "wek me om zeven uur", "ik heb vrij, annuleer de wekker", 0),
    ("en", "wake me at seven", "I have the day off, don't cancel the alarm", 1), ("en", "wake me at seven", "I like the alarm, cancel the meeting", 1),
    ("en", "wake me at seven", "turn on the bed light, cancel the alarm", 1),
])  # fmt: skip
async def test_a_remark_stands_beside_what_is_wanted(
    hass: HomeAssistant, language: str, first: str, said: str, left: int
) -> None:
    await set_up(hass)
    await talk(hass, language, first, said)
    assert len(_all(hass)) == left


@pytest.mark.parametrize(("language", "said", "left"), [
    ("en", "forget the bed light", [KITCHEN]), ("en", "the bed light isn't needed any more, no need to turn off the bed light", [KITCHEN]),
    ("en", "cancel the one at eight", [KITCHEN]), ("en", "cancel the first one", [KITCHEN]), ("en", "cancel the one at five", [BED, KITCHEN]),
    ("en", "cancel everything except the kitchen lights", [KITCHEN]), ("en", "cancel all but the moon", [BED, KITCHEN]),
])  # fmt: skip
async def test_one_of_two_is_cancelled(hass: HomeAssistant, language: str, said: str, left: list[str]) -> None:
    await set_up(hass)
    first, second = "turn off the bed light at eight", "turn off the kitchen lights at nine"
    await talk(hass, language, first, second, "what's waiting", said)
    assert [target for wish in wishes_of(hass).all() for target in wish.targets] == left


async def test_where_nothing_more_can_be_made_the_first_stays(hass: HomeAssistant) -> None:
    await set_up(hass)
    user = person(hass)
    place = (await say(hass, "turn off the ceiling lights at ten", context=user)).conversation_id
    [first] = wishes_of(hass).all()
    others = (
        replace(first, id=f"{first.id}{at}", words=f"a {at}", message=9, conversation_id="")
        for at in range(MOST_OF_USER - 1)
    )
    wishes_of(hass).put(*others)
    await say(hass, "no, the bed light", place, context=Context(user_id=user.user_id))
    assert first in wishes_of(hass).all()
