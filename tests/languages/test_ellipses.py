"""A message that names either nothing to be done or nothing that it is done to goes on from one before it."""

import pytest

from custom_components.home_agent.languages.ellipses import refers_back

GOES_ON = {
    "en": [
        "also the bed light", "and the radio", "the lamp too", "make it twenty", "set it to 20 percent", "the one in the hall", "no, the other one",
        "oh, and the fan", "same for the kitchen", "yes", "in the bedroom", "turn off the radio as well", "dim it",
    ],
    "de": ["und das Radio", "die Lampe auch", "auf zwanzig Prozent", "ach ja, und den Ventilator", "die im Flur", "mach das Radio auch aus", "mach es auf 20"],
    "es": ["y la radio", "la lámpara también", "al veinte por ciento", "ah, y el ventilador", "ponla al 20"],
    "fr": ["et la radio", "la lampe aussi", "à vingt pour cent", "ah oui, et le ventilateur", "pareil pour la cuisine"],
    "it": ["e la radio", "anche la lampada", "al venti per cento", "ah, e il ventilatore", "mettila a 20"],
    "nl": ["en de radio", "de lamp ook", "op twintig procent", "o ja, en de ventilator", "hetzelfde voor de keuken"],
    "pl": ["i radio", "lampę też", "na dwadzieścia procent", "aha, i wentylator", "to samo w kuchni"],
}  # fmt: skip
STANDS_ALONE = {
    "en": [
        "turn on the radio", "kitchen lights off", "set the thermostat to 21", "louder", "now", "yes, right now", "turn it off now", "is the lamp on?",
        "it's too dark in here", "thanks", "undo that", "what time is it",
    ],
    "de": ["mach das Radio an", "Küchenlicht aus", "lauter", "jetzt sofort", "es ist zu dunkel", "wie warm ist es?"],
    "es": ["enciende la radio", "apaga la tele ahora", "ahora mismo"],
    "fr": ["allume la radio", "éteins la télé maintenant", "tout de suite"],
    "it": ["accendi la radio", "spegni la tv adesso", "subito"],
    "nl": ["zet de radio aan", "doe nu de tv uit", "meteen"],
    "pl": ["włącz radio", "wyłącz teraz telewizor", "natychmiast"],
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), [(code, one) for code, listed in GOES_ON.items() for one in listed])
def test_it_goes_on_from_what_was_said_before(code: str, said: str) -> None:
    assert refers_back(said, code)


@pytest.mark.parametrize(("code", "said"), [(code, one) for code, listed in STANDS_ALONE.items() for one in listed])
def test_it_stands_alone(code: str, said: str) -> None:
    assert not refers_back(said, code)


def test_a_long_message_and_a_language_without_words_stand_alone() -> None:
    assert not refers_back("and the lamp " * 30, "en")
    assert not refers_back("også lampen", "da")
