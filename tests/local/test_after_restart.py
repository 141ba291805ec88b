"""The first sentence after a restart changes or cancels the only wish of who speaks; of several it is asked which, and no other is touched."""

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.core import Context, HomeAssistant
import pytest

from tests.house import person, say, set_up, speech, state_of
from tests.local.talks import answers_to, due_times, talk

pytestmark = pytest.mark.usefixtures("demo_house", "evening")


async def _restart(hass: HomeAssistant) -> None:
    """Forget what was said, as a restart does: what comes next is another conversation."""
    [entry] = hass.config_entries.async_entries("home_agent")
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()


@pytest.mark.parametrize(("language", "wished", "said", "due"), [
    ("en", "turn on the bed light at nine", "make it ten", "24T22:00"), ("en", "turn on the bed light at nine", "rather at half past ten", "24T22:30"),
    ("en", "set a timer for ten minutes", "make it fifteen minutes", "24T18:25"), ("en", "wake me at seven", "make it eight", "25T08:00"),
    ("de", "mach Bed Light um neun an", "mach zehn draus", "24T22:00"), ("de", "weck mich um sieben", "lieber um acht", "25T08:00"),
    ("fr", "allume Bed Light à 21h", "mets plutôt 22h", "24T22:00"), ("es", "enciende Bed Light a las nueve", "mejor a las diez", "24T22:00"),
    ("it", "accendi Bed Light alle nove", "facciamo alle dieci", "24T22:00"), ("nl", "doe Bed Light om negen uur aan", "maak er tien uur van", "24T22:00"),
    ("pl", "włącz Bed Light o dziewiątej wieczorem", "niech będzie o dziesiątej wieczorem", "24T22:00"),
])  # fmt: skip
async def test_the_only_wish_gets_another_time(
    hass: HomeAssistant, language: str, wished: str, said: str, due: str
) -> None:
    hass.states.async_set("climate.living_room", "heat", {"temperature": 20, "supported_features": 1})
    await set_up(hass)
    await talk(hass, language, wished)
    await _restart(hass)
    await talk(hass, language, said)
    assert due_times(hass) == [due]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "make it ten"), ("en", "rather at ten"), ("de", "mach zehn draus"), ("fr", "mets plutôt 22h"), ("es", "mejor a las diez"),
    ("it", "facciamo alle dieci"), ("nl", "maak er tien uur van"), ("pl", "niech będzie o dziesiątej"), ("en", "cancel that"), ("de", "storniere das"),
    ("es", "cancela eso"), ("nl", "annuleer dat"), ("pl", "anuluj to"),
])  # fmt: skip
async def test_of_several_it_is_asked_which(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light at nine", "turn on the kitchen lights at eight")
    await _restart(hass)
    answer = await talk(hass, language, said)
    assert answer.count("?") == 1
    assert due_times(hass) == ["24T21:00", "24T20:00"]


async def test_the_only_wish_is_cancelled(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light at nine")
    await _restart(hass)
    assert await talk(hass, "en", "cancel that") == "I've canceled that: turn on Bed Light (21:00)."


async def test_one_of_someone_else_is_not_meant(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "turn on the bed light at nine", context=person(hass, "Ben"))
    await _restart(hass)
    await answers_to(hass, "en", "make it ten", "cancel that")
    assert due_times(hass) == ["24T21:00"]


async def test_what_was_just_done_is_meant_and_no_wish(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "en", "turn on the bed light at nine")
    await _restart(hass)
    await talk(hass, "en", "turn on the kitchen lights", "make it ten")
    assert due_times(hass) == ["24T21:00"]


async def test_the_same_place_in_a_new_conversation_of_the_same_name_is_another(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory
) -> None:
    await set_up(hass)
    user = person(hass).user_id
    await say(hass, "turn on the bed light at nine", "kiosk", context=Context(user_id=user))
    await say(hass, "turn on the kitchen lights at eight", "other", context=Context(user_id=user))
    hass.data.pop(DATA_CHAT_LOGS, None)
    freezer.tick(60)
    await _restart(hass)
    await say(hass, "what time is it", "kiosk", context=Context(user_id=user))
    answer = speech(await say(hass, "cancel that", "kiosk", context=Context(user_id=user)))
    assert answer.startswith("Which one")
    assert due_times(hass) == ["24T21:00", "24T20:00"]
    assert state_of(hass, "light.bed_light") == "off"
