"""Whole utterances that ask to take something back; anything more is a request of its own."""

import pytest

from custom_components.home_agent.languages.data import data_of, language_codes
from custom_components.home_agent.languages.phrases import asks_to_undo


@pytest.mark.parametrize(
    ("language", "words"), [(code, words) for code in sorted(language_codes()) for words in data_of(code).undo.phrases]
)
def test_every_listed_utterance_is_understood(language: str, words: str) -> None:
    assert asks_to_undo(words, language)
    assert asks_to_undo(f"{words.capitalize()}!", f"{language}-XX")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Undo that, please."),
        ("en", "No, wait, undo that!"),
        ("de", "Mach das bitte rückgängig."),
        ("de", "undo that"),
        ("fr", "Annule ça, s’il te plaît !"),
        ("es", "Deshaz eso, por favor"),
        ("ru", "Верни всё как было, пожалуйста"),
        ("tlh", "undo"),
    ],
)
def test_courtesies_and_punctuation_do_not_matter(language: str, words: str) -> None:
    assert asks_to_undo(words, language)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "undo that and turn on the light"),
        ("en", "turn that off"),
        ("en", "cancel"),
        ("en", "no"),
        ("en", ""),
        ("en", "please"),
        ("en", "do not undo that"),
        ("en", "mach das rückgängig"),
        ("de", "abbrechen"),
        ("fr", "annule"),
        ("it", "annulla"),
        ("ru", "отмени"),
    ],
)
def test_other_words_are_not(language: str, words: str) -> None:
    assert not asks_to_undo(words, language)
