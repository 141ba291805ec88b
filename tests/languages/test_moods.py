"""What a sentence says of how a room or a sound is, in the languages that have words for it; by quality, as `moods.json` has it."""

import json
from pathlib import Path
from typing import Any

import pytest

from custom_components.home_agent.languages.moods import OPPOSITES, MoodKind, mood_of

SAID: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("moods.json").read_text(encoding="utf-8"))


def _said(kind: str) -> list[tuple[str, str, str]]:
    return [
        (code, quality, text)
        for code, rows in SAID.items()
        for quality in OPPOSITES
        for text in rows[quality][kind]
    ]  # fmt: skip


@pytest.mark.parametrize(("code", "quality", "text"), _said("complaint"))
def test_a_complaint_wants_the_opposite(code: str, quality: str, text: str) -> None:
    mood = mood_of(text, code)
    assert mood is not None
    assert (mood.kind, mood.wanted, mood.is_plain) == (MoodKind.COMPLAINT, OPPOSITES[quality], True)


@pytest.mark.parametrize(("code", "quality", "text"), _said("remark"))
def test_a_remark_wants_nothing(code: str, quality: str, text: str) -> None:
    mood = mood_of(text, code)
    assert mood is not None
    assert (mood.kind, mood.wanted) == (MoodKind.REMARK, "")


@pytest.mark.parametrize(("code", "quality", "text"), _said("wish"))
def test_a_wish_wants_what_it_says(code: str, quality: str, text: str) -> None:
    mood = mood_of(text, code)
    assert mood is not None
    assert (mood.kind, mood.wanted) == (MoodKind.WISH, quality)


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, rows in SAID.items() for text in rows["nothing"]])
def test_what_is_denied_past_reported_or_on_a_condition_is_not_plain(code: str, text: str) -> None:
    mood = mood_of(text, code)
    assert mood is None or mood.kind is MoodKind.REMARK or not mood.is_plain


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, rows in SAID.items() for text in rows["none"]])
def test_orders_and_questions_are_something_else(code: str, text: str) -> None:
    assert mood_of(text, code) is None


@pytest.mark.parametrize(("code", "text", "wanted"), [
    ("en", "The bedroom is so clammy, everything feels damp", "dry"), ("de", "Boah ist das kalt im Wohnzimmer", "warm"),
    ("es", "Hay muchísima humedad en el dormitorio", "dry"), ("fr", "il fait tellement froid dans le salon", "warm"),
    ("it", "è molto umido in bagno", "dry"), ("nl", "het is heel koud in de woonkamer", "warm"),
    ("pl", "jest bardzo zimno w salonie", "warm"), ("es", "La luz de la cama está muy fuerte", "quiet"),
])  # fmt: skip
def test_what_is_said_strongly_is_a_complaint(code: str, text: str, wanted: str) -> None:
    mood = mood_of(text, code)
    assert mood is not None
    assert (mood.kind, mood.wanted, mood.is_plain) == (MoodKind.COMPLAINT, wanted, True)


@pytest.mark.parametrize(("code", "text"), [
    ("en", "it isn't so cold in the living room"), ("de", "es ist nicht so kalt im Wohnzimmer"),
    ("fr", "ce n'est pas si froid dans le salon"), ("es", "no está tan frío el salón"), ("it", "non è così freddo in soggiorno"),
    ("nl", "het is niet zo koud in de woonkamer"), ("pl", "nie jest tak zimno w salonie"), ("nl", "lekker zo warm hier"),
    ("de", "im Wohnzimmer ist es so kalt wie im Büro"), ("de", "es ist so schön warm hier"), ("en", "it's so lovely and warm in here"),
])  # fmt: skip
def test_what_is_denied_compared_or_liked_is_no_complaint(code: str, text: str) -> None:
    mood = mood_of(text, code)
    assert mood is None or mood.kind is MoodKind.REMARK


def test_a_language_without_words_for_it_has_no_moods() -> None:
    assert mood_of("det är för ljust", "sv") is None


def test_every_language_that_has_moods_is_tried() -> None:
    assert len(_said("complaint")) + len(_said("remark")) + len(_said("wish")) > 200
