"""One sentence for now and for later: the first part is done, the second one waits; nothing of it where one is not understood."""

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech, state_of
from tests.local.talks import only_wish, services_of, talk

pytestmark = pytest.mark.usefixtures("demo_house", "evening")


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn the bed light on now and off in an hour"), ("en", "turn on the bed light now and turn it off in an hour"),
    ("en", "turn on the bed light and turn it off in an hour"), ("en", "turn on the bed light, and in an hour turn it off again"), ("en", "put the bed light on right away, then off again in an hour"),
    ("de", "mach Bed Light jetzt an und in einer Stunde aus"), ("de", "schalte Bed Light sofort ein und schalte es in einer Stunde wieder aus"),
    ("de", "mach Bed Light an und in einer Stunde wieder aus"), ("fr", "allume Bed Light maintenant et éteins-la dans une heure"),
    ("fr", "allume Bed Light et dans une heure éteins-la"), ("es", "enciende Bed Light ahora y apágala en una hora"),
    ("es", "enciende Bed Light y en una hora apágala"), ("it", "accendi Bed Light adesso e spegnila tra un'ora"),
    ("it", "accendi Bed Light e tra un'ora spegnila"), ("it", "accendi Bed Light adesso, poi spegnila tra un'ora"), ("nl", "doe Bed Light nu aan en over een uur uit"),
    ("nl", "doe Bed Light aan en doe hem over een uur weer uit"), ("pl", "włącz Bed Light teraz i wyłącz ją za godzinę"),
    ("pl", "włącz Bed Light i za godzinę ją wyłącz"),
])  # fmt: skip
async def test_what_is_done_now_ends_later(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    answer = speech(await say(hass, said, language=language, context=person(hass)))
    wish = only_wish(hass)
    assert (services_of(wish), wish.ends) == ([("turn_off", ("light.bed_light",))], True)
    assert wish.when.at is not None
    assert f"{dt_util.as_local(wish.when.at):%H:%M}" == "19:10"
    assert "19:10" in answer
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light now and the decorative lights in an hour"), ("en", "now turn on the bed light and in an hour turn on the decorative lights"),
    ("de", "mach jetzt Bed Light an und in einer Stunde Decorative Lights"), ("fr", "allume Bed Light tout de suite et dans une heure Decorative Lights"),
    ("es", "enciende ahora Bed Light y en una hora Decorative Lights"), ("it", "accendi subito Bed Light e tra un'ora Decorative Lights"),
    ("nl", "doe nu Bed Light aan en over een uur Decorative Lights"), ("pl", "włącz teraz Bed Light, a za godzinę Decorative Lights"),
])  # fmt: skip
async def test_something_else_is_done_later(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await hass.services.async_call("switch", "turn_off", {"entity_id": "switch.decorative_lights"}, blocking=True)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.ends) == ([("turn_on", ("switch.decorative_lights",))], False)
    assert state_of(hass, "light.bed_light") == "on"
    assert state_of(hass, "switch.decorative_lights") == "off"


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light now and wake me at seven"), ("de", "mach jetzt Bed Light an und weck mich um sieben"),
    ("fr", "allume Bed Light maintenant et réveille-moi à sept heures"), ("es", "enciende Bed Light ahora y despiértame a las siete"),
    ("it", "accendi adesso Bed Light e svegliami alle sette"), ("nl", "doe Bed Light nu aan en wek me om zeven uur"),
    ("pl", "włącz teraz Bed Light i obudź mnie o siódmej"),
])  # fmt: skip
async def test_one_is_woken_later(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, wish.targets) == (WishKind.WAKE, ())
    assert state_of(hass, "light.bed_light") == "on"


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn on the bed light now and do something strange in an hour"), ("en", "don't turn on the bed light now and turn it off in an hour"),
    ("en", "should I turn on the bed light now and off in an hour?"), ("en", "she said turn on the bed light now and turn it off in an hour"),
    ("en", "turn on the bed light not now but in an hour"), ("en", "if nobody is home turn on the bed light now and turn it off in an hour"),
    ("en", "turn on the bed light, in an hour"), ("en", "turn on the bed light and open the kitchen window in an hour"), ("en", "turn on the bed light and the kitchen lights in an hour"),
    ("en", "from now on turn on the bed light and in an hour turn it off"), ("en", "turn on the bed light now and unlock the front door in an hour"),
    ("de", "mach Bed Light jetzt an und irgendwas in einer Stunde"), ("de", "mach Bed Light nicht jetzt, sondern in einer Stunde an"),
    ("fr", "allume Bed Light maintenant et fais un truc bizarre dans une heure"), ("es", "enciende Bed Light ahora y haz algo raro en una hora"),
    ("it", "accendi Bed Light adesso e fai qualcosa di strano tra un'ora"), ("nl", "doe Bed Light nu aan en iets geks over een uur"),
    ("pl", "włącz Bed Light teraz i zrób coś dziwnego za godzinę"),
])  # fmt: skip
async def test_nothing_is_done_at_once_where_a_part_is_not_understood(
    hass: HomeAssistant, language: str, said: str
) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    assert state_of(hass, "light.bed_light") == "off"
    assert state_of(hass, "lock.front_door") == "locked"


async def test_it_is_what_this_sentence_is_about(hass: HomeAssistant) -> None:
    await set_up(hass)
    await talk(hass, "de", "mach Kitchen Lights an", "jetzt Bed Light an und um zehn wieder aus")
    wish = only_wish(hass)
    assert services_of(wish) == [("turn_off", ("light.bed_light",))]


async def test_another_thing_is_not_the_end_of_the_first(hass: HomeAssistant) -> None:
    await set_up(hass)
    await say(hass, "now turn on the bed light and at ten turn off the kitchen lights", context=person(hass))
    wish = only_wish(hass)
    assert (services_of(wish), wish.ends) == ([("turn_off", ("light.kitchen_lights",))], False)


@pytest.mark.parametrize(("said", "services"), [
    ("mach Bed Light jetzt aus und in zwanzig Minuten Kitchen Lights an", [("turn_on", ("light.kitchen_lights",))]),
    ("schalte Bed Light aus, und in zwanzig Minuten Kitchen Lights ein", [("turn_on", ("light.kitchen_lights",))]),
    ("schalte Bed Light jetzt aus und in zwanzig Minuten Kitchen Lights", [("turn_off", ("light.kitchen_lights",))]),
])  # fmt: skip
async def test_a_particle_of_its_own_is_not_that_of_the_first(
    hass: HomeAssistant, said: str, services: list[tuple[str, tuple[str, ...]]]
) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    await set_up(hass)
    await talk(hass, "de", said)
    assert services_of(only_wish(hass)) == services
    assert state_of(hass, "light.bed_light") == "off"


async def test_another_value_is_not_the_end_of_the_first(hass: HomeAssistant) -> None:
    await hass.services.async_call("light", "turn_on", {"entity_id": "light.bed_light"}, blocking=True)
    await set_up(hass)
    await say(hass, "set the bed light to 30 percent for ten minutes and then to 80 percent", context=person(hass))
    assert wishes_of(hass).all() == []
