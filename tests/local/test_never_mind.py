"""That all is to be as it is touches nothing that waits, and gets an answer; right behind a wish it takes that one back."""

from datetime import timedelta

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, speech, state_of

pytestmark = pytest.mark.usefixtures("demo_house", "evening")

LANGUAGES = {
    "en": ("turn on the bed light at nine", "set a timer for a minute", "stop", "OK, never mind."),
    "de": ("mach Bed Light um neun an", "stell einen Timer auf eine Minute", "Stopp", "In Ordnung, vergessen wir das."),
    "fr": ("allume Bed Light à 21h", "mets un minuteur d'une minute", "stop", "D'accord, laissons tomber."),
    "es": ("enciende Bed Light a las nueve", "pon un temporizador de un minuto", "para", "De acuerdo, lo dejo."),
    "it": ("accendi Bed Light alle nove", "imposta un timer di un minuto", "stop", "Va bene, lascio stare."),
    "nl": ("doe Bed Light om negen uur aan", "zet een timer van een minuut", "stop", "Oké, laat maar."),
    "pl": ("włącz Bed Light o dziewiątej", "ustaw minutnik na minutę", "stop", "Dobrze, nieważne."),
}
"""A wish, a timer, what stops it, and the answer that all is as it is."""


@pytest.mark.parametrize(("language", "said"), [
    ("en", "OK, never mind"), ("en", "all right, it doesn't matter"), ("en", "no, forget it"), ("de", "OK, schon gut"), ("de", "ach, macht nichts"),
    ("fr", "ok, laisse tomber"), ("fr", "bon, tant pis"), ("es", "vale, déjalo"), ("es", "bueno, da igual"), ("it", "ok, lascia stare"),
    ("it", "va bene, non importa"), ("nl", "oké, laat maar"), ("nl", "het maakt niet uit"), ("pl", "dobra, nieważne"), ("pl", "mniejsza o to"),
])  # fmt: skip
@pytest.mark.parametrize("is_up", [True, False])
async def test_behind_a_stopped_timer_nothing_more_is_taken_back(
    hass: HomeAssistant, freezer: FrozenDateTimeFactory, language: str, said: str, is_up: bool
) -> None:
    await set_up(hass)
    wished, timer, stops, answer = LANGUAGES[language]
    speaker, place = Context(user_id=person(hass).user_id), None
    for text in ("turn on the kitchen lights", wished, timer):
        place = (await say(hass, text, place, language=language, context=speaker)).conversation_id
    freezer.tick(timedelta(seconds=62 if is_up else 10))
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    await say(hass, stops, place, language=language, context=speaker)
    waited = wishes_of(hass).all()
    assert speech(await say(hass, said, place, language=language, context=speaker)) == answer
    assert wishes_of(hass).all() == waited
    assert [wish.targets for wish in waited] == [("light.bed_light",)]
    assert state_of(hass, "light.kitchen_lights") == "on"
