"""A condition that is said later stays with a wish at another time, and is told with it."""

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import set_up
from tests.local.talks import answers_to

pytestmark = pytest.mark.usefixtures("demo_house")


@pytest.fixture(autouse=True)
async def morning(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    """Let it be ten past nine in the morning in Berlin."""
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to("2026-11-24 08:10:00+00:00")
    await set_up(hass)


async def test_it_is_told_once_and_stays(hass: HomeAssistant) -> None:
    condition = "but only if the decorative lights are on"
    answers = await answers_to(
        hass, "en", "turn off the bed light at two", condition, "make it three", "what did you plan?"
    )
    assert answers[1] == f"All right, now at 14:00, {condition}: turn off Bed Light."
    assert answers[2] == f"All right, now at 15:00, {condition}: turn off Bed Light."
    assert answers[3] == f"Waiting: turn off Bed Light (15:00, {condition})."
    [wish] = wishes_of(hass).all()
    assert (wish.when.said, len(wish.when.conditions)) == (f"three, {condition}", 1)


async def test_its_verb_is_not_lost(hass: HomeAssistant) -> None:
    answers = await answers_to(hass, "de", "Mach um zwei Bed Light aus", "aber nur wenn Kitchen Lights an ist")
    assert answers[1] == "In Ordnung, jetzt um 14:00, aber nur wenn Kitchen Lights an ist: Bed Light ausschalten."


async def test_the_second_one_replaces_the_first_and_not_what_was_wished(hass: HomeAssistant) -> None:
    wished = "turn off the bed light at two if the decorative lights are on"
    second = "but only if the ceiling lights are on"
    answers = await answers_to(hass, "en", wished, "but only if the kitchen lights are off", second)
    assert answers[2] == f"All right, now at 14:00, if the decorative lights are on, {second}: turn off Bed Light."
    [wish] = wishes_of(hass).all()
    looked_at = [watch.entity_ids[0] for watch in wish.when.conditions]
    assert looked_at == ["switch.decorative_lights", "light.ceiling_lights"]


async def test_dark_stays_at_another_time(hass: HomeAssistant) -> None:
    answers = await answers_to(hass, "en", "turn off the bed light at nine if it's dark", "make it ten")
    assert answers[1] == "All right, now at 22:00, if it's dark: turn off Bed Light."
    [wish] = wishes_of(hass).all()
    assert wish.when.daylight is False


async def test_undo_tells_the_clock_time(hass: HomeAssistant) -> None:
    answers = await answers_to(
        hass, "de", "Mach in fünfzehn Minuten Bed Light an", "vergiss das", "mach das rückgängig"
    )
    assert answers[2] == "„Mach Bed Light an“ ist wieder vorgemerkt (um 09:25)."


async def test_a_paused_timer_is_told_with_what_it_has_now(hass: HomeAssistant) -> None:
    answers = await answers_to(
        hass, "en", "set a timer for ten minutes", "pause the timer", "add two minutes to the timer"
    )
    assert answers[2] == "The timer is paused. Left: 12:00."


async def test_a_colon_stands_apart_in_french(hass: HomeAssistant) -> None:
    said = "mets un minuteur de cinq minutes pour les pâtes", "combien de temps reste-t-il ?"
    answers = await answers_to(hass, "fr", *said)
    assert "pâtes\u00a0: 5:00" in answers[1]
