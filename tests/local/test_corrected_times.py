"""A sentence that denies one time and names another moves what waits, and cancels nothing."""

from homeassistant.core import HomeAssistant
import pytest

from tests.house import set_up
from tests.local.talks import due_times, talk

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


@pytest.mark.parametrize(("language", "wished", "said", "due"), [
    ("en", "wake me at seven", "not at seven after all but at eight", ["25T08:00"]),
    ("en", "turn off the bed light at nine", "don't do it at nine, do it at ten", ["24T22:00"]),
    ("en", "turn off the bed light at nine", "cancel it at nine and do it at ten", ["24T22:00"]),
    ("en", "turn off the bed light at nine", "never mind, ten", ["24T22:00"]),
    ("de", "weck mich um sieben", "doch nicht um sieben sondern um acht", ["25T08:00"]),
    ("de", "mach Bed Light um neun aus", "doch nicht um neun, lieber um zehn", ["24T22:00"]),
    ("nl", "wek me om zeven uur", "toch niet om zeven maar om acht uur", ["25T08:00"]),
    ("fr", "réveille-moi à sept heures", "finalement non, pas à sept heures mais à huit heures", ["25T08:00"]),
    ("es", "despiértame a las siete", "mejor no a las siete sino a las ocho", ["25T08:00"]),
    ("it", "svegliami alle sette", "anzi no, non alle sette ma alle otto", ["25T08:00"]),
    ("pl", "obudź mnie o siódmej", "jednak nie o siódmej, tylko o ósmej", ["25T08:00"]),
    ("en", "turn off the bed light at nine", "cancel that one, the one at nine", []),
    ("de", "weck mich um sieben", "doch nicht um sieben", []),
    ("nl", "wek me om zeven uur", "toch maar niet", []),
])  # fmt: skip
async def test_another_time_after_a_denied_one_moves(
    hass: HomeAssistant, language: str, wished: str, said: str, due: list[str]
) -> None:
    await set_up(hass)
    await talk(hass, language, wished, said)
    assert due_times(hass) == due


async def test_of_two_times_that_both_wait_it_is_asked_which(hass: HomeAssistant) -> None:
    await set_up(hass)
    wished = ("turn off the bed light at nine", "turn on the bed light at ten")
    answer = await talk(hass, "en", *wished, "cancel it at nine, at ten")
    assert answer.startswith("Which one should I cancel?")
    assert due_times(hass) == ["24T21:00", "24T22:00"]
