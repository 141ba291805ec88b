"""What one is to be reminded of keeps its article, and the verb of the request is no part of it."""

import pytest

from custom_components.home_agent.languages.reminders import reminder_in


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
