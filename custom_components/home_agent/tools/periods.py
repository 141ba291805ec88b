"""Durations as people and models write them."""

from datetime import timedelta
import re

from ..safety.tool import ToolRefusal

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
        seconds = _seconds(text)
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
    return _sum_of_parts(text)


def _sum_of_parts(text: str) -> float | None:
    """Return the seconds of `1h30m`; None when something in it is not understood."""
    total = 0.0
    for number, unit in _PART.findall(text):
        if unit not in _WORDS:
            return None
        total += float(number.replace(",", ".")) * _UNITS[_WORDS[unit]]
    return total if not _PART.sub("", text).strip() else None
