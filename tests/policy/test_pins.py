"""What could be a PIN in words that nobody asked one for: it is taken out, and trying numbers tells nothing."""

from datetime import timedelta
import time

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.languages.data import language_codes, number_words
from custom_components.home_agent.languages.digits import MASK
from custom_components.home_agent.policy.pins import (
    CODES,
    CODES_WINDOW,
    COMPARED,
    LOCKED,
    LOCKED_IN_ALL,
    WINDOW,
    WRONG,
    WRONG_IN_ALL,
    CodeTries,
    Pins,
    codes_in,
)

TWO = {"unlock": "4711", "disarm": "908070"}


@pytest.mark.parametrize(("text", "language", "concealed"), [
    ("unlock the door, 4711", "en", f"unlock the door, {MASK}"),
    ("the pin4711 please", "en", f"the pin{MASK} please"),
    ("open with four, seven, one, one now", "en", f"open with {MASK} now"),
    ("mach auf mit vier sieben eins eins", "de", f"mach auf mit {MASK}"),
    ("47-11 or 90 80 70", "en", f"{MASK} or {MASK}"),
    ("٤٧١١", "en", MASK),
    ("4711908070 and 9080704711", "en", f"{MASK} and {MASK}"),
    ("set it to 21 degrees at 4711", "en", f"set it to 21 degrees at {MASK}"),
    ("the war ended in 1945", "en", "the war ended in 1945"),
    ("call 01514711223", "en", "call 01514711223"),
    ("no digits at all", "en", "no digits at all"),
])  # fmt: skip
def test_what_is_a_pin_is_taken_out(text: str, language: str, concealed: str) -> None:
    assert Pins(TWO).conceal(text, language) == concealed


def test_several_pins_in_one_number_are_taken_out() -> None:
    three = Pins({"unlock": "4711", "disarm": "908070", "open_door": "1234"})
    assert three.conceal("12344711908070", "en") == MASK


def test_a_house_without_pins_hears_everything() -> None:
    assert Pins().conceal("4711", "en") == "4711"


def test_trying_many_numbers_masks_them_all() -> None:
    tried = " and ".join(str(number) for number in range(4700, 4720))
    assert Pins(TWO).conceal(tried, "en") == " and ".join([MASK] * 20)
    wrong = " and ".join(str(number) for number in range(1000, 1020))
    assert Pins(TWO).conceal(wrong, "en") == " and ".join([MASK] * 20)
    assert Pins(TWO).conceal("4 7 1 0 4 7 1 2 4 7 1 3 4 7 1 4", "en") == MASK


@pytest.mark.parametrize(
    "digits",
    ["1 2 3 4 5 6 7 8 9 0 " * 2000, "1234567890" * 2000, "4711 x " * 3000],
    ids=["digits apart", "one number", "a PIN again and again"],
)
@pytest.mark.usefixtures("no_collection")
def test_many_digits_and_five_pins_cost_no_time(digits: str) -> None:
    pins = Pins({str(number): str(4711 + number * 1111) for number in range(5)})
    began = time.thread_time()
    concealed = pins.conceal(digits, "en")
    assert time.thread_time() - began < 0.5
    assert "4711" not in concealed
    assert pins.conceal("4711", "en") == MASK


def test_trying_one_after_the_other_ends_as_well(freezer: FrozenDateTimeFactory) -> None:
    pins = Pins(TWO)
    said = [str(1000 + number) for number in range(COMPARED + 2)]
    assert [pins.conceal(number, "en") for number in said] == [*said[:COMPARED], MASK, MASK]
    assert pins.conceal(f"{said[0]} and then", "en") == f"{said[0]} and then"  # what was shown is no news
    assert pins.conceal("50 percent and 21 degrees", "en") == "50 percent and 21 degrees"
    freezer.tick(timedelta(hours=1))
    assert pins.conceal("1999", "en") == MASK
    freezer.tick(WINDOW)
    assert pins.conceal("1999", "en") == "1999"


@pytest.mark.parametrize(("text", "language"), [
    ("4_7_1_1", "en"), ("４７１１", "en"), ("4️⃣7️⃣1️⃣1️⃣", "en"), ("四七一一", "en"), ("四七一一", "zh"),
    ("forty-seven eleven", "en"), ("forty seven eleven", "en"), ("four and seven and one and one", "en"),
    ("four thousand seven hundred eleven", "en"), ("forty-seven hundred and eleven", "en"),
    ("siebenundvierzig elf", "de"), ("siebenundvierzigelf", "de"), ("viertausendsiebenhundertelf", "de"),
    ("vier und sieben und eins und eins", "de"), ("quarante-sept onze", "fr"), ("quatre mille sept cent onze", "fr"),
    ("cuarenta y siete once", "es"), ("сорок семь одиннадцать", "ru"), ("zevenenveertig elf", "nl"),
    ("quarantasette undici", "it"), ("fyrtiosju elva", "sv"), ("czterdzieści siedem jedenaście", "pl"),
    ("negyvenhét tizenegy", "hu"), ("neljäkymmentäseitsemän yksitoista", "fi"), ("forty-seven eleven", "de"),
])  # fmt: skip
def test_a_pin_in_every_form(text: str, language: str) -> None:
    concealed = Pins(TWO).conceal(f"x {text} y", language)
    assert concealed.startswith(f"x {MASK}")
    assert concealed.endswith(" y")
    assert not set(concealed) & set(text) - set("x y️⃣")


@pytest.mark.parametrize(("text", "language"), [
    ("turn on two lights and three fans", "en"), ("one hundred percent", "en"), ("set it to twenty one", "en"),
    ("hundert Prozent", "de"), ("schalte zwei Lampen ein und drei aus", "de"),
])  # fmt: skip
def test_what_is_no_pin_in_words(text: str, language: str) -> None:
    pins = Pins(TWO)
    for number in range(COMPARED + 1):
        pins.conceal(str(5000 + number), "en")  # every number as long as a PIN is masked by now
    assert pins.conceal(text, language) == text


@pytest.mark.parametrize("code", sorted(language_codes()))
def test_a_pin_in_the_words_of_every_language(code: str) -> None:
    spelled = {number: word for word, number in number_words(code).items()}
    assert Pins(TWO).conceal(f"{spelled[47]} {spelled[11]}", code) == MASK


def test_wrong_pins_count_for_all_together(freezer: FrozenDateTimeFactory) -> None:
    pins = Pins(TWO)
    for number in range(WRONG_IN_ALL):
        assert not pins.accepts(f"user {number}", "4711", "4712")
    assert pins.locks_out("alice")
    assert not pins.accepts("alice", "4711", "4711")
    freezer.tick(LOCKED_IN_ALL)
    assert pins.accepts("alice", "4711", "4711")


def test_whoever_gets_too_many_wrong_is_locked_out_for_a_while(freezer: FrozenDateTimeFactory) -> None:
    pins = Pins(TWO)
    for _ in range(WRONG):
        assert not pins.locks_out("alice")
        assert not pins.accepts("alice", "4711", "4712")
    assert pins.locks_out("alice")
    assert not pins.accepts("alice", "4711", "4711")
    assert pins.accepts("bob", "4711", "4711")
    freezer.tick(LOCKED)
    assert pins.accepts("alice", "4711", "4711")


def test_only_a_few_different_codes_are_tried_in_a_day(freezer: FrozenDateTimeFactory) -> None:
    tries = CodeTries()
    codes = [str(1000 + number) for number in range(CODES)]
    for code in codes:
        assert tries.allow({code})
        assert tries.allow({code}, note=True)
    assert not tries.allow({"4711"})
    assert not tries.allow({"4711"}, note=True)
    assert tries.allow({codes[0], codes[1]}, note=True)
    assert tries.allow(set())
    freezer.tick(CODES_WINDOW + timedelta(seconds=1))
    assert tries.allow({"4711"}, note=True)


@pytest.mark.parametrize(("arguments", "codes"), [
    ({"code": "1234"}, {"1234"}), ({"parameters": {"Code": 1234}}, {"1234"}),
    ({"variables": {"alarm_code": ["1234", 5]}}, {"1234", "5"}), ({"pin": {"value": "1234"}}, {"1234"}),
    ({"user_pin": "1", "password": "x", "passcodes": ["2"]}, {"1", "x", "2"}),
    ({"country_code": "DE", "zip_code": "1", "keyword": "x", "key": "y", "spin": 1}, set()),
    ({"code": "", "pin": None, "passcode": True}, set()), ({"code_format": "number", "text": "code 1234"}, set()),
])  # fmt: skip
def test_what_is_a_code(arguments: dict[str, object], codes: set[str]) -> None:
    assert {*codes_in(arguments)} == codes
