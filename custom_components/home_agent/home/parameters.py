"""Parameters as models write them ("50%", "21 °C", "Red"), read into what a service takes, or refused with what is allowed.

Every reader is a whitelist: it returns a new plain value and never passes through what it did not understand.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
import math
import re

from homeassistant.const import ATTR_UNIT_OF_MEASUREMENT, UnitOfTemperature
from homeassistant.util import color as color_util, dt as dt_util
from homeassistant.util.json import JsonValueType
from homeassistant.util.unit_conversion import TemperatureConverter

from ..support.encoding import plain_text
from ..support.errors import ToolRefusal
from ..turn.turn import zone_of_turn
from .domain import Action, ReadValue, Subject
from .records import shown
from .tolerance import same

# Durations as people and models write them.


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "mo": 2592000}  # seconds
_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "wk", "week", "weeks"), "w"),
    **dict.fromkeys(("mo", "month", "months"), "mo"),
}
_PART = re.compile(r"(\d+(?:[.,]\d+)?)\s*([a-z]+)")
_CLOCK = re.compile(r"(\d{1,4}):([0-5]?\d)(?::([0-5]?\d))?")
_FILLERS = re.compile(r"\b(?:the|last|past|for|and|of)\b|,(?!\d)")


def read_duration(text: object) -> timedelta:
    """Return what `30m`, `1h30m`, `90 min`, `last 7 days`, `00:05:00` or a number of seconds stands for.

    Raises `ToolRefusal` for anything else, and for nothing or less than nothing.
    """
    try:
        seconds = None if isinstance(text, str) and len(text) > MAX_TEXT else _seconds(text)
        if seconds is not None and seconds > 0:
            return timedelta(seconds=seconds)
    except OverflowError:
        pass
    raise ToolRefusal(f"'{text}' is not a duration. Write for example 30m, 1h, 24h, 7d or 2w.")


def _seconds(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    text = str(value).strip().casefold()
    if text.isdecimal():
        return float(text)
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return hours * 3600 + minutes * 60 + seconds
    text = _FILLERS.sub(" ", text).strip()
    if text in _WORDS:  # "the last hour"
        return _UNITS[_WORDS[text]]
    parts = _PART.findall(text)
    if _PART.sub("", text).strip() or any(unit not in _WORDS for _, unit in parts):
        return None
    return sum(float(number.replace(",", ".")) * _UNITS[_WORDS[unit]] for number, unit in parts)


MAX_TEXT = 255
_NUMBER = re.compile(r"([-+−]?\d+(?:[.,]\d+)?)\s*(\S.*)?")
_NEUTRAL_UNITS = {"%", "percent", "prozent", "°", "degrees", "grad", "k", "kelvin", "s", "sec", "seconds", "lx"}
_TEMPERATURES = {
    **dict.fromkeys(("°c", "c", "celsius", "degrees celsius", "grad celsius"), UnitOfTemperature.CELSIUS),
    **dict.fromkeys(("°f", "f", "fahrenheit", "degrees fahrenheit"), UnitOfTemperature.FAHRENHEIT),
}
_YES = {"true", "on", "yes", "1", "ja", "an"}
_NO = {"false", "off", "no", "0", "nein", "aus"}


def split_number(value: object) -> tuple[float, str] | None:
    """Return number and unit (case-folded, empty without one) of `21 °C`; None if it is anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return (float(value), "") if math.isfinite(value) else None
    text = str(value).strip()
    if len(text) > MAX_TEXT or not (match := _NUMBER.fullmatch(text)):
        return None
    return float(match[1].replace(",", ".").replace("−", "-")), (match[2] or "").strip().casefold()


def number(low: float | None = None, high: float | None = None, *, whole: bool = False) -> ReadValue:
    """Read a number within fixed limits."""
    return lambda value, subject: _in_range(_number(value, subject), low, high, "", whole=whole)


def between(low: str, high: str, *, default: tuple[float, float] | None = None, whole: bool = False) -> ReadValue:
    """Read a number within the limits that the entity's attributes `low` and `high` name."""

    def read(value: object, subject: Subject) -> JsonValueType:
        limits = _limits(subject, low, high, default)
        return _in_range(_number(value, subject), *limits, _unit(subject), whole=whole)

    return read


def temperature(value: object, subject: Subject) -> JsonValueType:
    """Read a temperature in the home's unit; one in another unit is converted."""
    own = subject.hass.config.units.temperature_unit
    found = split_number(value)
    if found is not None and (unit := _TEMPERATURES.get(found[1])):
        value = round(TemperatureConverter.convert(found[0], unit, own), 1)
    return _in_range(_number(value, subject), *_limits(subject, "min_temp", "max_temp", None), own)


def of_255(value: object, subject: Subject) -> JsonValueType:
    """Read a brightness from 0 to 255; a percentage is converted."""
    found = split_number(value)
    if found is not None and found[1] in ("%", "percent"):
        return round(_in_range(found[0], 0, 100, "%") * 255 / 100)
    return _in_range(_number(value, subject), 0, 255, "", whole=True)


def fraction(value: object, subject: Subject) -> JsonValueType:
    """Read a level from 0 to 1; what is larger, or has a percent sign, is a percentage."""
    found = split_number(value)
    if found is not None and (found[1] in ("%", "percent") or found[0] > 1):
        return percent_as_fraction(value, subject)
    return _in_range(_number(value, subject), 0, 1, "")


def percent_as_fraction(value: object, subject: Subject) -> JsonValueType:
    """Read a percentage as a level from 0 to 1; what lies between 0 and 1 is a level already."""
    level = _number(value, subject)
    if isinstance(value, float) and 0 < value < 1:
        return value
    return _in_range(level, 0, 100, "%") / 100


def kelvin(value: object, subject: Subject) -> JsonValueType:
    """Read a colour temperature; numbers below 1000 are mireds, as lights used to take them."""
    found = _number(value, subject)
    if 0 < found < 1000:
        found = color_util.color_temperature_mired_to_kelvin(found)
    return _in_range(found, *_limits(subject, "min_color_temp_kelvin", "max_color_temp_kelvin", None), "K", whole=True)


def boolean(value: object, _subject: Subject) -> JsonValueType:
    """Read yes or no."""
    text = str(value).strip().casefold()
    if text in _YES or text in _NO:
        return text in _YES
    raise ToolRefusal(f"'{value}' is neither true nor false.")


def text(value: object, _subject: Subject) -> JsonValueType:
    """Read a short text."""
    if isinstance(value, (dict, list)) or value is None:
        raise ToolRefusal(f"'{value}' is not a text.")
    result = str(value)
    if len(result) > MAX_TEXT:
        raise ToolRefusal(f"The text is too long: at most {MAX_TEXT} characters.")
    return result


def option(attribute: str) -> ReadValue:
    """Read one of the choices that an attribute of the entity lists."""
    return lambda value, subject: choose(value, subject.options(attribute))


def choice(service: str, name: str, options: str, feature: int = 0) -> dict[str, Action]:
    """Return the action of a service that sets the attribute `name` to one of the choices that `options` lists."""
    return shown(service, name, option(options), same, feature)


def one_of(*options: str) -> ReadValue:
    """Read one of these choices."""
    return lambda value, _subject: choose(value, options)


def choose(value: object, options: Iterable[str]) -> str:
    """Return the choice that is meant; case, spaces and underscores do not matter."""
    choices = list(options)
    wanted = _loose(value)
    for choice in choices:
        if choice == value:
            return choice
    for choice in choices:
        if _loose(choice) == wanted:
            return choice
    raise ToolRefusal(f"'{value}' is not one of: {', '.join(choices[:50])}.")


def duration(value: object, _subject: Subject) -> JsonValueType:
    """Read a duration into whole seconds."""
    return round(read_duration(value).total_seconds())


def date(value: object, _subject: Subject) -> JsonValueType:
    """Read a day."""
    if found := dt_util.parse_date(plain_text(str(value).strip())):
        return found.isoformat()
    raise ToolRefusal(f"'{value}' is not a date. Write it as 2027-01-31.")


def time(value: object, _subject: Subject) -> JsonValueType:
    """Read a time of day."""
    if found := dt_util.parse_time(str(value).strip()):
        return found.isoformat()
    raise ToolRefusal(f"'{value}' is not a time. Write it as 18:30.")


def date_time(value: object, _subject: Subject) -> JsonValueType:
    """Read a point in time; without an offset it is in the zone of the running turn."""
    return parse_date_time(value).isoformat()


def local_date_time(value: object, _subject: Subject) -> JsonValueType:
    """Read a point in time into the home's own clock, without offset."""
    return dt_util.as_local(parse_date_time(value)).replace(tzinfo=None).isoformat(sep=" ")


def parse_date_time(value: object) -> datetime:
    """Return the point in time that is meant, with its time zone."""
    found = dt_util.parse_datetime(plain_text(str(value).strip()))
    if found is None:
        raise ToolRefusal(f"'{value}' is not a date and time. Write it as 2027-01-31 18:30.")
    return found if found.tzinfo else found.replace(tzinfo=zone_of_turn())


def color_name(value: object, _subject: Subject) -> JsonValueType:
    """Read the English name of a colour, as style sheets know it."""
    name = re.sub(r"[\s_-]", "", str(value).casefold())
    if name not in color_util.COLORS:
        raise ToolRefusal(
            f"'{value}' is not a known colour name. Use an English one (red, warm white is color_temp_kelvin 2700) or rgb_color."
        )
    return name


def channels(count: int, high: float = 255) -> ReadValue:
    """Read a colour as `count` numbers from 0 to `high`: a list, `255, 0, 0` or `#ff0000`."""

    def read(value: object, _subject: Subject) -> JsonValueType:
        parts: list[object]
        if isinstance(value, (list, tuple, dict)):
            parts = list(value.values() if isinstance(value, dict) else value)
        elif match := re.fullmatch(r"#?([0-9a-fA-F]{6})", str(value).strip()):
            parts = list(bytes.fromhex(match[1]))
        else:
            parts = list(re.findall(r"[-\d.]+", str(value)))
        found = [found[0] for part in parts if (found := split_number(part))]
        if len(found) != len(parts) or len(found) != count:
            raise ToolRefusal(f"'{value}' is not a colour of {count} numbers.")
        return [_in_range(part, 0, high, "", whole=high == 255) for part in found]

    return read


def _number(value: object, subject: Subject) -> float:
    found = split_number(value)
    allowed = {"", *_NEUTRAL_UNITS, *_TEMPERATURES, _unit(subject).casefold()}
    if found is None or found[1] not in allowed:
        raise ToolRefusal(f"'{value}' is not a number.")
    return found[0]


def _in_range(value: float, low: float | None, high: float | None, unit: str, *, whole: bool = False) -> float:
    """Return the number, as an int where it is one; refuse it outside the limits."""
    if (low is not None and value < low) or (high is not None and value > high):
        limits = [f"at least {low:g}"] if low is not None else []
        limits += [f"at most {high:g}"] if high is not None else []
        raise ToolRefusal(f"{value:g} is out of range: it has to be {' and '.join(limits)} {unit}".rstrip() + ".")
    return round(value) if whole or value.is_integer() else value


def _limits(
    subject: Subject, low: str, high: str, default: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    found = split_number(subject.attribute(low)), split_number(subject.attribute(high))
    fallback: tuple[float | None, float | None] = default or (None, None)
    return found[0][0] if found[0] else fallback[0], found[1][0] if found[1] else fallback[1]


def _unit(subject: Subject) -> str:
    return str(subject.attribute(ATTR_UNIT_OF_MEASUREMENT) or "")


def _loose(value: object) -> str:
    return re.sub(r"[\s_-]+", " ", str(value).strip().casefold())
