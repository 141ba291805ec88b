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


@pytest.mark.parametrize(("said", "text"), [
    ("Herinner me aan de was", "de was"), ("herinner me eraan het raam te sluiten", "het raam te sluiten"),
    ("herinner me dat de loodgieter komt", "dat de loodgieter komt"), ("laat me niet vergeten de hond uit te laten", "de hond uit te laten"),
    ("zet een herinnering voor de vuilnisbakken", "de vuilnisbakken"), ("kun je me herinneren aan de afspraak", "de afspraak"),
    ("herinner me eraan om de oven uit te zetten", "de oven uit te zetten"), ("help me onthouden de planten water te geven", "de planten water te geven"),
    ("herinner me aan het eten", "het eten"), ("herinner me aan oma bellen", "oma bellen"), ("herinner me", ""),
])  # fmt: skip
def test_a_dutch_reminder_keeps_its_article(said: str, text: str) -> None:
    found = reminder_in(said, "nl")
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(("language", "said", "text"), [
    ("en", "remind me of the bins", "the bins"), ("fr", "rappelle-moi de le faire", "le faire"), ("fr", "rappelle-moi la lessive", "la lessive"),
    ("es", "recuérdame la colada", "la colada"), ("it", "ricordami la lavatrice", "la lavatrice"), ("de", "erinnere mich daran, das Fenster zu schließen", "das Fenster zu schließen"),
    ("pl", "przypomnij mi o praniu", "praniu"),
])  # fmt: skip
def test_a_reminder_keeps_its_article(language: str, said: str, text: str) -> None:
    found = reminder_in(said, language)
    assert found is not None
    assert found.text == text
