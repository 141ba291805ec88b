"""How a command begins; what begins otherwise may be a question."""

import pytest

from custom_components.home_agent.languages.data import data_of, language_codes
from custom_components.home_agent.languages.phrases import is_order, is_question


@pytest.mark.parametrize("language", sorted(code for code in language_codes() if data_of(code).orders))
def test_every_word_begins_a_command(language: str) -> None:
    for word in data_of(language).orders:
        assert is_order(f"{word.capitalize()} xyz", f"{language}-XX")
        assert not is_order(f"{word} xyz?", language)


@pytest.mark.parametrize(("language", "text"), [
    ("en", "Please turn on the lamp."), ("en", "  turn it off again"), ("de", "Bitte schalte die Lampe aus!"),
    ("fr", "Éteins la lampe, s’il te plaît"), ("ru", "Пожалуйста, включи свет"), ("pl", "Włącz światło w kuchni"),
])  # fmt: skip
def test_commands(language: str, text: str) -> None:
    assert is_order(text, language)


@pytest.mark.parametrize(("language", "text"), [
    ("en", "Is the lamp on"), ("en", "Which windows are open"), ("en", "Open windows?"), ("en", "Turn on what？"),
    ("en", ""), ("en", "please"), ("de", "Ist die Lampe an"), ("de", "turn on the lamp"), ("ja", "電気をつけて"),
])  # fmt: skip
def test_anything_else_may_be_a_question(language: str, text: str) -> None:
    assert not is_order(text, language)


@pytest.mark.parametrize(
    "text", ["Heat on?", "the heat still on?", "water off?", "kettle on?", "vacuum on?", "Lock open right now?"]
)
def test_what_is_so_is_asked(text: str) -> None:
    assert is_question(text, "en")


@pytest.mark.parametrize(("language", "text", "name", "asks"), [
    ("en", "The water valve open?", "Water valve", True), ("en", "turn on the water valve?", "Water valve", False),
    ("en", "water the garden?", "garden", False), ("de", "Start Knopf an?", "Start Knopf", True),
    ("fr", "La ferme allumée ?", "Ferme", True), ("nl", "Open haard aan?", "Open haard", True),
    ("es", "¿Enciende la luz?", "luz", False), ("es", "¿Pausa caja", "Pausa caja", True), ("es", "¿Luz del techo", "", True),
])  # fmt: skip
def test_a_name_is_no_command(language: str, text: str, name: str, asks: bool) -> None:
    assert is_question(text, language, (name,)) is asks


@pytest.mark.parametrize(
    "text",
    ["turn it on?", "turn on?", "heat on", "water the plants?", "heat the bedroom?", "lock the door?", "close it?"],
)
def test_what_is_wanted_is_no_question(text: str) -> None:
    assert not is_question(text, "en")
