"""What puts a sentence off is found wherever it stands, and what only looks like a time is none."""

import json
from pathlib import Path

import pytest

from custom_components.home_agent.languages.later import (
    LaterKind,
    is_put_off,
    later_in,
    says_now,
    without_asides,
    without_times,
)

SAID = json.loads((Path(__file__).parent / "later.json").read_text("utf-8"))
ASIDES = [(code, aside) for code, said in SAID.items() for aside in said["asides"]]
TIMES = [(code, time) for code, said in SAID.items() for time in said["times"]]


def sentences(command: str, time: str) -> list[str]:
    """Return a command with a time in front of it, behind it, and behind its first word."""
    first, _, rest = command.partition(" ")
    return [
        f"{time} {command}",
        f"{time}, {command}",
        f"{command} {time}",
        f"{command}, {time}",
        f"{first} {time} {rest}",
    ]


@pytest.mark.parametrize(("code", "time"), TIMES)
def test_a_time_is_found_wherever_it_stands(code: str, time: str) -> None:
    for command in SAID[code]["commands"]:
        assert not is_put_off(command, code), command
        for text in sentences(command, time):
            assert is_put_off(text, code), text


@pytest.mark.parametrize(("code", "aside"), ASIDES)
def test_what_is_only_said_beside_a_command_puts_nothing_off(code: str, aside: str) -> None:
    for command in SAID[code]["commands"]:
        for text in (f"{aside}, {command}", f"{command} {aside}"):
            assert not is_put_off(text, code), text
        assert without_asides(f"{aside}, {command}", code) == command


@pytest.mark.parametrize(("code", "said"), [
    ("en", "it's nine already, turn off the TV"), ("en", "I was up at five, turn on the coffee maker"),
    ("en", "the film was on yesterday, turn off the TV"), ("en", "turn off the TV, that's enough for today"),
    ("de", "es ist schon neun, mach den Fernseher aus"), ("de", "heute ist Montag, mach das Radio an"),
    ("de", "ich bin um fünf aufgestanden, mach das Radio an"), ("es", "ya son las nueve, apaga la tele"),
    ("es", "anoche no dormí nada, apaga la tele"), ("fr", "il est déjà neuf heures, éteins la télé"),
    ("fr", "ça fait deux heures qu'elle marche, éteins la télé"), ("it", "sono già le nove, spegni la TV"),
    ("it", "è da un'ora che è accesa, spegni la TV"), ("nl", "het is al negen uur, zet de TV uit"),
    ("nl", "ik heb vannacht slecht geslapen, zet de TV uit"), ("pl", "jest już dziewiąta, wyłącz telewizor"),
    ("pl", "wstałem o piątej, wyłącz telewizor"),
])  # fmt: skip
def test_how_late_it_is_and_what_was_is_no_time(code: str, said: str) -> None:
    assert not [one for one in later_in(said, code) if one.kind is not LaterKind.LASTING]


@pytest.mark.parametrize(("code", "said"), [
    ("en", "turn it off right now"), ("de", "mach es jetzt aus"), ("es", "apágalo ahora mismo"), ("fr", "éteins tout de suite"),
    ("it", "spegni subito"), ("nl", "doe het nu uit"), ("pl", "zgaś natychmiast"),
])  # fmt: skip
def test_what_says_now(code: str, said: str) -> None:
    assert says_now(said, code)
    assert not says_now(without_times(said, code).split()[0], code)


@pytest.mark.parametrize(("code", "said"), [
    ("en", "turn off the kitchen lights right this second"), ("en", "set the thermostat to 21"), ("en", "dim the lights to ten percent"),
    ("en", "turn on the evening scene"), ("en", "turn it off at once"), ("en", "set the light to midnight blue"),
    ("en", "add five minute noodles to the shopping list"), ("de", "Licht aus in der Küche, sofort"),
    ("de", "mach jetzt gleich das Licht an"), ("de", "Rollo auf zehn Prozent"), ("de", "guten Morgen"), ("de", "aktiviere Abendlicht"),
    ("es", "pon el termostato a veintiuno"), ("es", "apaga la luz ahora mismo"), ("es", "activa la escena noche"),
    ("fr", "éteins la cuisine tout de suite"), ("fr", "allume maintenant la télé s'il te plaît"), ("fr", "active la scène du soir"),
    ("it", "spegni subito la luce in cucina"), ("it", "attiva la scena serale"), ("it", "imposta la tapparella al dieci per cento"),
    ("nl", "zet de avondscène aan"), ("nl", "doe nu het licht uit"), ("nl", "zet het rolluik op tien procent"),
    ("pl", "natychmiast zgaś światło w kuchni"), ("pl", "ustaw termostat na dwadzieścia jeden stopni"),
])  # fmt: skip
def test_what_is_for_now(code: str, said: str) -> None:
    assert later_in(said, code) == ()


def test_a_name_is_no_time() -> None:
    assert is_put_off("turn on Tomorrow", "en")
    assert not is_put_off("turn on Tomorrow", "en", ["tomorrow"])
    assert is_put_off("turn on Tomorrow tomorrow evening", "en", ["tomorrow evening lamp"])


def test_each_part_is_found_with_its_kind_and_its_words() -> None:
    found = later_in("every evening at half nine turn on the fan for ten minutes", "en")
    assert [(one.kind, one.words) for one in found] == [
        (LaterKind.REPEATED, "every evening"), (LaterKind.CLOCK, "at half nine"), (LaterKind.LASTING, "for ten minutes"),
    ]  # fmt: skip
    assert without_times("tomorrow, turn on the fan, at nine", "en") == "turn on the fan"


def test_a_text_that_is_too_long_and_a_language_without_words_say_nothing() -> None:
    assert later_in("tomorrow " * 5_000, "en") == ()
    assert later_in("tænd lyset i morgen", "da") == ()
