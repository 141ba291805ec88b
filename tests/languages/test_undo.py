"""Whole utterances that ask to take something back; anything more is a request of its own."""

import pytest

from custom_components.home_agent.languages.data import data_of, language_codes
from custom_components.home_agent.languages.phrases import ReplyKind, SelfQuestion, asked_of, read_answer


@pytest.mark.parametrize(
    ("language", "words"), [(code, words) for code in sorted(language_codes()) for words in data_of(code).undo.phrases]
)
def test_every_listed_utterance_is_understood(language: str, words: str) -> None:
    assert asked_of(words, language) is SelfQuestion.UNDO
    assert asked_of(f"{words.capitalize()}!", f"{language}-XX") is SelfQuestion.UNDO


@pytest.mark.parametrize(("language", "words"), [
    ("en", "Undo that, please."), ("en", "No, wait, undo that!"), ("de", "Mach das bitte rückgängig."),
    ("de", "undo that"), ("fr", "Annule ça, s’il te plaît !"), ("es", "Deshaz eso, por favor"),
    ("ru", "Верни всё как было, пожалуйста"), ("tlh", "undo"),
])  # fmt: skip
def test_courtesies_and_punctuation_do_not_matter(language: str, words: str) -> None:
    assert asked_of(words, language) is SelfQuestion.UNDO


@pytest.mark.parametrize(("language", "words"), [
    ("en", "undo that and turn on the light"), ("en", "turn that off"), ("en", "cancel"), ("en", "no"), ("en", ""),
    ("en", "please"), ("en", "do not undo that"), ("en", "mach das rückgängig"), ("de", "abbrechen"), ("fr", "annule"),
    ("it", "annulla"), ("ru", "отмени"),
])  # fmt: skip
def test_other_words_are_not(language: str, words: str) -> None:
    assert asked_of(words, language) is not SelfQuestion.UNDO


@pytest.mark.parametrize(("language", "words", "asked"), [
    (code, words, asked)
    for code in sorted(language_codes())
    for asked in (SelfQuestion.ABILITIES, SelfQuestion.LAST_ACTION)
    for words in getattr(data_of(code).asks, asked.value)
])  # fmt: skip
def test_every_question_about_the_agent_is_understood(language: str, words: str, asked: SelfQuestion) -> None:
    assert asked_of(words, language) is asked
    assert asked_of(f"{words.capitalize()}?", f"{language}-XX") is asked
    assert asked_of(f"{words} 7", language) is None
    assert read_answer(words, language).kind is ReplyKind.OTHER


def test_languages_with_questions_about_the_agent() -> None:
    assert {code for code in language_codes() if data_of(code).asks.abilities} >= {
        "en", "de", "fr", "es", "it", "nl", "pl",
    }  # fmt: skip
