"""Parameters as models write them."""

from typing import Any

from homeassistant.core import HomeAssistant, State
from homeassistant.util.unit_system import US_CUSTOMARY_SYSTEM
import pytest

from custom_components.home_agent.home import parameters
from custom_components.home_agent.home.domain import ReadValue, Subject
from custom_components.home_agent.support.errors import ToolRefusal


def subject(hass: HomeAssistant, **attributes: Any) -> Subject:
    return Subject(hass, State("light.a", "on", attributes))


LIMITS = {"min": 1, "max": "20", "unit_of_measurement": "dBm", "options": ["Home Alone", "home"]}


@pytest.mark.parametrize(("reader", "value", "expected"), [
    (parameters.number(), "1,5", 1.5), (parameters.number(), "−3", -3), (parameters.number(), 2.0, 2),
    (parameters.number(whole=True), 2.6, 3), (parameters.between("min", "max"), "20 dBm", 20),
    (parameters.between("low", "high", default=(0, 5)), 5, 5), (parameters.of_255, "50 %", 128),
    (parameters.of_255, 255, 255), (parameters.fraction, 1, 1), (parameters.fraction, "0.25", 0.25),
    (parameters.fraction, 25, 0.25), (parameters.percent_as_fraction, 0.25, 0.25),
    (parameters.percent_as_fraction, "100%", 1.0), (parameters.kelvin, 3000, 3000), (parameters.kelvin, 200, 5000),
    (parameters.boolean, "On", True), (parameters.boolean, 0, False), (parameters.boolean, False, False),
    (parameters.text, 12, "12"), (parameters.option("options"), "home", "home"),
    (parameters.option("options"), "HOME_alone", "Home Alone"), (parameters.one_of("forward"), "Forward", "forward"),
    (parameters.duration, "1h30m", 5400), (parameters.date, "2027-01-31", "2027-01-31"),
    (parameters.time, "7:05", "07:05:00"), (parameters.date_time, "2027-01-31T10:00:00", "2027-01-31T10:00:00-08:00"),
    (parameters.local_date_time, "2027-01-31T10:00:00Z", "2027-01-31 02:00:00"),
    (parameters.color_name, "Dark Orange", "darkorange"), (parameters.channels(3), "255, 0, 10", [255, 0, 10]),
    (parameters.channels(3), "#0a0b0c", [10, 11, 12]), (parameters.channels(3), {"r": 1, "g": 2, "b": 3}, [1, 2, 3]),
    (parameters.channels(2, 1), [0.3, "0.4"], [0.3, 0.4]),
])  # fmt: skip
def test_read(hass: HomeAssistant, reader: ReadValue, value: object, expected: object) -> None:
    result = reader(value, subject(hass, **LIMITS))
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(("reader", "value", "sentence"), [
    (parameters.number(), True, "not a number"), (parameters.number(), float("nan"), "not a number"),
    (parameters.number(), "12 bananas", "not a number"), (parameters.number(), "1e400", "not a number"),
    (parameters.number(), None, "not a number"), (parameters.number(), [1], "not a number"),
    (parameters.number(1), 0.5, "at least 1"), (parameters.between("min", "max"), 21, "at least 1 and at most 20 dBm"),
    (parameters.of_255, "101%", "at most 100"), (parameters.boolean, "maybe", "neither true nor false"),
    (parameters.text, {"a": 1}, "not a text"), (parameters.text, "x" * 256, "too long"),
    (parameters.option("options"), "Party", "not one of: Home Alone, home"),
    (parameters.option("nothing"), "Party", "not one of"), (parameters.date, "tomorrow", "not a date"),
    (parameters.time, "25:00", "not a time"), (parameters.date_time, "soon", "not a date and time"),
    (parameters.color_name, "rot", "not a known colour"),
    (parameters.channels(3), "255, 0", "not a colour of 3 numbers"),
    (parameters.channels(3), [256, 0, 0], "at most 255"), (parameters.channels(3), ["a", 0, 0], "not a colour"),
])  # fmt: skip
def test_refused(hass: HomeAssistant, reader: ReadValue, value: object, sentence: str) -> None:
    with pytest.raises(ToolRefusal, match=sentence):
        reader(value, subject(hass, **LIMITS))


def test_a_temperature_is_converted_into_the_unit_of_the_house(hass: HomeAssistant) -> None:
    hass.config.units = US_CUSTOMARY_SYSTEM
    assert parameters.temperature("20 °C", subject(hass)) == 68
    assert parameters.temperature("68", subject(hass)) == 68
    with pytest.raises(ToolRefusal, match="at most 86 °F"):
        parameters.temperature("35C", subject(hass, max_temp=86))
