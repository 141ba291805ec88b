"""What stands beside a wish and wants nothing is left out, in seven languages; what may want something keeps it from being made."""

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.wishes.wish import WishKind
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.house import person, say, set_up, state_of
from tests.local.talks import only_wish, services_of

pytestmark = pytest.mark.usefixtures("evening", "demo_house")


OFF = [("turn_off", ("light.bed_light",))]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "Grandpa, turn off Bed Light in twenty minutes"), ("en", "mate turn off Bed Light in twenty minutes cheers"),
    ("en", "turn off Bed Light in twenty minutes, the Millers fancy a stroll"), ("en", "Turn off Bed Light in twenty minutes. Can't find my glasses."),
    ("en", "My cousin sleeps here, darling, so turn off Bed Light in twenty minutes"),
    ("en", "turn off Bed Light in twenty minutes, otherwise she never sleeps"), ("en", "turn off Bed Light in twenty minutes, then I'm off"),
    ("de", "Oma, schalte Bed Light in zwanzig Minuten aus"), ("de", "ey schalte Bed Light in zwanzig Minuten aus digga"),
    ("de", "Schalte Bed Light in zwanzig Minuten aus, sonst schnarcht der Kater weiter"),
    ("de", "Schalte Bed Light in zwanzig Minuten aus, dann zieh ich mich an"), ("de", "Sei so gut und schalte Bed Light in zwanzig Minuten aus"),
    ("es", "Ay, abuela, apaga Bed Light en veinte minutos"), ("es", "tía menudo sueño, apaga Bed Light en veinte minutos porfa"),
    ("es", "Apaga Bed Light en veinte minutos, que si no el gato no duerme"), ("es", "Apaga Bed Light en veinte minutos. Mi prima cena con nosotros."),
    ("fr", "Mamie, éteins Bed Light dans vingt minutes"), ("fr", "dis donc éteins Bed Light dans vingt minutes hein"),
    ("fr", "Éteins Bed Light dans vingt minutes, sinon le petit râle"), ("fr", "Le facteur tarde, éteins Bed Light dans vingt minutes"),
    ("it", "Nonna, spegni Bed Light tra venti minuti"), ("it", "dai spegni Bed Light tra venti minuti grazie mille"),
    ("it", "Spegni Bed Light tra venti minuti, sennò il cane abbaia"), ("it", "Esco presto, spegni Bed Light tra venti minuti"),
    ("nl", "Oma, doe Bed Light over twintig minuten uit"), ("nl", "yo doe Bed Light over twintig minuten uit hoor"),
    ("nl", "Doe Bed Light over twintig minuten uit, anders slaapt de poes niet"), ("nl", "Doe Bed Light over twintig minuten uit. Ik brei nog wat."),
    ("pl", "Babciu, wyłącz Bed Light za dwadzieścia minut"), ("pl", "ej wyłącz Bed Light za dwadzieścia minut i tyle"),
    ("pl", "Wyłącz Bed Light za dwadzieścia minut, bo inaczej kot nie zaśnie"), ("pl", "Zaraz padnę, wyłącz Bed Light za dwadzieścia minut"),
])  # fmt: skip
async def test_what_wants_nothing_is_left_out(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = state_of(hass, "light.bed_light")
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert (wish.kind, services_of(wish)) == (WishKind.ACTION, OFF)
    assert wish.when.at is not None
    assert f"{dt_util.as_local(wish.when.at):%dT%H:%M}" == "24T18:30"
    assert state_of(hass, "light.bed_light") == before


@pytest.mark.parametrize(("language", "said"), [
    ("en", "turn off Bed Light in twenty minutes, no"), ("en", "turn off Bed Light in twenty minutes, not anymore"),
    ("en", "turn off Bed Light in twenty minutes, or rather the ceiling lights"), ("en", "turn off Bed Light in twenty minutes, wait"),
    ("en", "feed the fish, turn off Bed Light in twenty minutes"), ("en", "turn off Bed Light in twenty minutes, if it rains"),
    ("en", "turn off Bed Light in twenty minutes, but softly"), ("en", "tomorrwo, turn off Bed Light at nine"),
    ("en", "turn off Bed Light in twenty minutes, the rest too"), ("en", "turn off Bed Light in twenty minutes, unlocked"),
    ("en", "turn off Bed Light in twenty minutes, make that ten"),
    ("en", "don't, turn off Bed Light in twenty minutes"), ("en", "on Sunday, she's away, turn off Bed Light"),
    ("de", "Schalte Bed Light in zwanzig Minuten aus, nein"), ("de", "Schalte Bed Light in zwanzig Minuten aus, lieber nicht"),
    ("de", "Schalte Bed Light in zwanzig Minuten aus, vergiss es"),
    ("de", "Schalte Bed Light in zwanzig Minuten aus, wenn Oma schläft"), ("de", "Schalte Bed Light in zwanzig Minuten aus, aber langsam"),
    ("de", "Füttere die Katze, schalte Bed Light in zwanzig Minuten aus"), ("de", "Schalte Bed Light in zwanzig Minuten aus, nicht die Küche"),
    ("es", "Apaga Bed Light en veinte minutos, no"), ("es", "Apaga Bed Light en veinte minutos, mejor no"),
    ("es", "Apaga Bed Light en veinte minutos, si llueve"), ("es", "Apaga Bed Light en veinte minutos, no lo hagas"),
    ("fr", "Éteins Bed Light dans vingt minutes, non"), ("fr", "Éteins Bed Light dans vingt minutes, plutôt pas"),
    ("fr", "Éteins Bed Light dans vingt minutes, s'il pleut"), ("fr", "Éteins Bed Light dans vingt minutes, mais doucement"),
    ("it", "Spegni Bed Light tra venti minuti, no"), ("it", "Spegni Bed Light tra venti minuti, anzi lascia stare"),
    ("it", "Spegni Bed Light tra venti minuti, se piove"), ("it", "Spegni Bed Light tra venti minuti, ma piano"),
    ("nl", "Doe Bed Light over twintig minuten uit, nee"), ("nl", "Doe Bed Light over twintig minuten uit, toch maar niet"),
    ("nl", "Doe Bed Light over twintig minuten uit, als het regent"), ("nl", "Doe Bed Light over twintig minuten uit, dan weer aan"),
    ("pl", "Wyłącz Bed Light za dwadzieścia minut, nie"), ("pl", "Wyłącz Bed Light za dwadzieścia minut, lepiej nie"),
    ("pl", "Wyłącz Bed Light za dwadzieścia minut, jeśli pada"), ("pl", "Wyłącz Bed Light za dwadzieścia minut, ale powoli"),
])  # fmt: skip
async def test_what_may_want_something_is_not_left_out(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    before = [(state.entity_id, state.state) for state in hass.states.async_all(["light", "lock", "cover", "switch"])]
    await say(hass, said, language=language, context=person(hass))
    assert not wishes_of(hass).all()
    assert [
        (state.entity_id, state.state) for state in hass.states.async_all(["light", "lock", "cover", "switch"])
    ] == before


@pytest.mark.parametrize(("language", "said"), [
    ("en", "in twenty minutes you can turn Bed Light off"), ("en", "would you be kind enough to turn off Bed Light in twenty minutes?"),
    ("en", "I'd be grateful if you could turn off Bed Light in twenty minutes"), ("en", "Bed Light off in twenty minutes"),
    ("de", "in zwanzig Minuten könntest du mir bitte mal Bed Light ausknipsen"), ("de", "du darfst Bed Light in zwanzig Minuten ausmachen"),
    ("de", "bitte in zwanzig Minuten Bed Light aus"), ("fr", "dans vingt minutes tu éteins Bed Light"),
    ("fr", "veuillez éteindre Bed Light dans vingt minutes"), ("fr", "dans vingt minutes vous éteignez Bed Light"),
    ("nl", "zou u Bed Light over twintig minuten uit willen zetten?"), ("nl", "over twintig minuten zet je Bed Light uit"),
    ("nl", "over twintig minuten kan Bed Light uit hoor"), ("es", "¿serías tan amable de apagar Bed Light en veinte minutos?"),
    ("es", "en veinte minutos me apagas Bed Light"), ("it", "saresti così gentile da spegnere Bed Light tra venti minuti?"),
    ("it", "tra venti minuti mi spegni Bed Light"), ("pl", "za dwadzieścia minut Bed Light ma się wyłączyć"),
    ("pl", "bądź tak miła i wyłącz Bed Light za dwadzieścia minut"),
])  # fmt: skip
async def test_an_order_may_be_framed(hass: HomeAssistant, language: str, said: str) -> None:
    await set_up(hass)
    await say(hass, said, language=language, context=person(hass))
    wish = only_wish(hass)
    assert services_of(wish) == OFF
    assert wish.when.at is not None
    assert f"{dt_util.as_local(wish.when.at):%dT%H:%M}" == "24T18:30"
