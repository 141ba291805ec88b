"""The same wish said again takes the place of the first, with its end; another time, another thing or a timer is one more."""

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up
from tests.local.talks import due_times, talk

pytestmark = pytest.mark.usefixtures("demo_house", "evening")


async def _due(hass: HomeAssistant, language: str, *said: str) -> list[str]:
    """Say some sentences in one conversation; return when what waits then is due, in this order."""
    await talk(hass, language, *said)
    return sorted(due_times(hass))


@pytest.mark.parametrize(("language", "first", "second"), [
    ("en", "turn on the bed light at noon for ten minutes", "turn on the bed light at noon for twenty minutes"),
    ("en", "at noon, switch the bed light on for ten minutes", "turn the bed light on at noon until 12:20"),
    ("de", "mach Bed Light morgen um 12 Uhr für zehn Minuten an", "mach Bed Light morgen um 12 Uhr für zwanzig Minuten an"),
    ("fr", "allume Bed Light à midi pendant dix minutes", "allume Bed Light à midi pendant vingt minutes"),
    ("es", "enciende Bed Light mañana a las 12 durante diez minutos", "enciende Bed Light mañana a las 12 durante veinte minutos"),
    ("it", "accendi Bed Light a mezzogiorno per dieci minuti", "accendi Bed Light a mezzogiorno per venti minuti"),
    ("nl", "doe Bed Light morgen om 12 uur tien minuten aan", "doe Bed Light morgen om 12 uur twintig minuten aan"),
    ("pl", "włącz Bed Light w południe na dziesięć minut", "włącz Bed Light w południe na dwadzieścia minut"),
])  # fmt: skip
async def test_another_end_takes_the_place_of_the_first(
    hass: HomeAssistant, language: str, first: str, second: str
) -> None:
    await set_up(hass)
    assert await _due(hass, language, first, second) == ["25T12:00", "25T12:20"]
    assert [wish.ends for wish in wishes_of(hass).all()] == [True, False]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light at nine"), ("en", "remind me at nine to call Ben"), ("en", "wake me at nine"), ("de", "mach Bed Light um neun aus"),
    ("de", "erinnere mich um neun an Ben"), ("fr", "éteins Bed Light à 21h"), ("fr", "rappelle-moi à 21h d'appeler Ben"),
    ("es", "apaga Bed Light a las nueve"), ("es", "recuérdame a las nueve llamar a Ben"), ("it", "spegni Bed Light alle nove"),
    ("it", "ricordami alle nove di chiamare Ben"), ("nl", "doe Bed Light om negen uur uit"), ("nl", "herinner me om negen uur aan Ben"),
    ("pl", "wyłącz Bed Light o dziewiątej"), ("pl", "przypomnij mi o dziewiątej o Benie"), ("en", "half an hour after sunrise, turn on the bed light"),
])  # fmt: skip
async def test_what_is_said_twice_waits_once(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    assert len(await _due(hass, language, said, said)) == 1


@pytest.mark.parametrize("more", [
    "turn on the bed light at one for ten minutes", "turn on the kitchen lights at noon for ten minutes", "turn on the bed light at ten",
    "turn off the bed light at noon", "turn on the bed light at noon if the decorative lights are on", "set a timer for ten minutes",
])  # fmt: skip
async def test_something_else_stays_beside_it(hass: HomeAssistant, more: str) -> None:
    await set_up(hass)
    before = await _due(hass, "en", "turn on the bed light at noon for ten minutes")
    after = await _due(hass, "en", more)
    assert len(after) > len(before)
    assert set(before) <= set(after)


async def test_the_same_of_someone_else_stays(hass: HomeAssistant) -> None:
    await set_up(hass)
    for name in ("Alice", "Ben"):
        await say(hass, "turn on the bed light at nine", context=person(hass, name))
    assert len(wishes_of(hass).all()) == 2


async def test_undone_the_first_is_back(hass: HomeAssistant) -> None:
    await set_up(hass)
    said = [f"turn on the bed light at noon for {minutes} minutes" for minutes in ("ten", "twenty")]
    assert await _due(hass, "en", *said, "undo that") == ["25T12:00", "25T12:10"]


async def test_timers_are_as_many_as_were_set(hass: HomeAssistant) -> None:
    await set_up(hass)
    assert len(await _due(hass, "en", "set a timer for ten minutes", "set a timer for ten minutes")) == 2
