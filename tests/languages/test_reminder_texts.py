"""What one is to be reminded of keeps its article, and the verb of the request is no part of it."""

import pytest

from custom_components.home_agent.languages.reminders import reminder_in, told_in


@pytest.mark.parametrize(("said", "text"), [
    ("Kannst du mich an den Termin erinnern?", "den Termin"),
    ("Denk dran, die Blumen zu gießen", "die Blumen zu gießen"),
    ("Kannst du mich daran erinnern, den Müll rauszubringen?", "den Müll rauszubringen"),
    ("Erinnere mich daran, dass der Kuchen fertig ist", "dass der Kuchen fertig ist"),
    ("Erinnere mich", ""),
])  # fmt: skip
def test_a_german_reminder_is_told_whole(said: str, text: str) -> None:
    found = reminder_in(said, "de")
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(("language", "said", "told"), [
    ("en", "Remind me at three that the painter comes at five", "the painter comes at five"),
    ("es", "Recuérdame que mañana viene el pintor", "mañana viene el pintor"),
    ("fr", "Rappelle-moi à 15 h de payer le peintre", ""),
    ("it", "Ricordami alle tre quello che ti ho detto", ""),
    ("pl", "Włącz radio o piątej", ""),
])  # fmt: skip
def test_what_a_reminder_tells_with_its_times_stands_behind_that(language: str, said: str, told: str) -> None:
    assert told_in(said, language).strip() == told
