"""What could be a PIN in words that nobody asked one for: it is taken out, and trying numbers tells nothing."""

from datetime import timedelta
import time

from freezegun.api import FrozenDateTimeFactory
import pytest

from custom_components.home_agent.languages.phrases import MASK
from custom_components.home_agent.policy.pins import COMPARED, LOCKED, WRONG, Pins

TWO = {"unlock": "4711", "disarm": "908070"}


@pytest.mark.parametrize(
    ("text", "language", "concealed"),
    [
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
    ],
)
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
    assert Pins(TWO).conceal("4 7 1 0 4 7 1 2 4 7 1 3", "en") == MASK


@pytest.mark.parametrize("digits", ["1 2 3 4 5 6 7 8 9 0 " * 2000, "1234567890" * 2000, "4711 x " * 3000])
def test_many_digits_and_five_pins_cost_no_time(digits: str) -> None:
    pins = Pins({str(number): str(4711 + number * 1111) for number in range(5)})
    began = time.perf_counter()
    concealed = pins.conceal(digits, "en")
    assert time.perf_counter() - began < 0.5
    assert "4711" not in concealed
    assert pins.conceal("4711", "en") == MASK


def test_trying_one_after_the_other_ends_as_well(freezer: FrozenDateTimeFactory) -> None:
    pins = Pins(TWO)
    said = [str(1000 + number) for number in range(COMPARED + 2)]
    assert [pins.conceal(number, "en") for number in said] == [*said[:COMPARED], MASK, MASK]
    freezer.tick(timedelta(minutes=11))
    assert pins.conceal("1999", "en") == "1999"
    assert pins.conceal("50 percent and 21 degrees", "en") == "50 percent and 21 degrees"


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
