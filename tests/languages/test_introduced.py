"""What is only told in front of what is wanted, or behind it, is told apart; what may be wanted as well is not."""

import pytest

from custom_components.home_agent.languages.reasons import Introduced, introduced_in


@pytest.mark.parametrize(("code", "text", "wanted", "told"), [
    ("en", "I'm baking bread, remind me in an hour", "remind me in an hour", ("I'm baking bread",)),
    ("en", "turn off the radio in ten minutes, that should be enough", "turn off the radio in ten minutes", ("that should be enough",)),
    ("en", "we're leaving soon so close the blinds in five minutes", "close the blinds in five minutes", ("we're leaving soon",)),
    ("en", "it's late, turn off the tv in ten minutes, I want to sleep", "turn off the tv in ten minutes", ("it's late", "I want to sleep")),
    ("de", "Ich backe gerade Brot. Erinnere mich in einer Stunde", "Erinnere mich in einer Stunde", ("Ich backe gerade Brot",)),
    ("de", "mach um neun das Radio aus, weil ich schlafen will", "mach um neun das Radio aus", ("weil ich schlafen will",)),
    ("nl", "We gaan zo weg, doe over vijf minuten de radio uit", "doe over vijf minuten de radio uit", ("We gaan zo weg",)),
    ("fr", "Je fais du pain, rappelle-moi dans une heure", "rappelle-moi dans une heure", ("Je fais du pain",)),
    ("es", "Estoy haciendo pan, recuérdame en una hora", "recuérdame en una hora", ("Estoy haciendo pan",)),
    ("it", "Sto facendo il pane, ricordami tra un'ora", "ricordami tra un'ora", ("Sto facendo il pane",)),
    ("pl", "Idę biegać, przypomnij mi za godzinę", "przypomnij mi za godzinę", ("Idę biegać",)),
])  # fmt: skip
def test_what_is_told_is_apart(code: str, text: str, wanted: str, told: tuple[str, ...]) -> None:
    assert introduced_in(text, code) == Introduced(wanted, told)


@pytest.mark.parametrize(("code", "text"), [
    ("en", "turn on the lamp, turn off the radio in ten minutes"), ("en", "the lamp should be off, turn on the radio in ten minutes"),
    ("en", "I want the lamp on, turn off the radio in ten minutes"), ("en", "turn off the radio in ten minutes, but not the lamp"),
    ("en", "turn off the radio in ten minutes"), ("en", "I'm baking bread"), ("en", "can you turn on the lamp, turn off the radio at nine"),
    ("de", "ich will die Lampe an, mach in zehn Minuten das Radio aus"), ("de", "mach in zehn Minuten das Radio aus, aber nicht die Lampe"),
    ("fr", "je voudrais la lampe, éteins la radio dans dix minutes"), ("nl", "ik wil de lamp aan, doe over tien minuten de radio uit"),
    ("sv", "jag bakar bröd, påminn mig om en timme"),
])  # fmt: skip
def test_what_may_be_wanted_is_not_told(code: str, text: str) -> None:
    assert introduced_in(text, code) is None
