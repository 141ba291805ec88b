"""A long rambling sentence is read in a moment: many clauses, many times, only commas, no space; in seven languages."""

from collections.abc import Callable
from datetime import datetime
import json
from pathlib import Path
import time
from zoneinfo import ZoneInfo

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.languages.timing import timed_in
from custom_components.home_agent.policy.time_guard import put_off_before, put_off_in
from tests.house import person, say, set_up

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl")
NOW = datetime(2026, 11, 24, 18, 10, tzinfo=ZoneInfo("Europe/Berlin"))
_FOLDER = Path(__file__).parents[2] / "custom_components" / "home_agent" / "languages"
_LONGEST = 1_000  # characters
_HEARD = 500  # characters of a sentence without a model
_MOST = 0.6  # seconds of work; a quiet machine needs a tenth of it


def _words(language: str, *path: str) -> list[str]:
    """Return the words of a part of the data of a language, each once."""
    part = json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    for name in path:
        part = part[name]
    rows = part.values() if isinstance(part, dict) else part
    texts = (text for row in rows for text in ([row] if isinstance(row, str) else row))
    words = dict.fromkeys(word for text in texts if isinstance(text, str) for word in text.split() if word.isalpha())
    return [*words]


def _rows(language: str) -> dict[str, str]:
    """Return long sentences of a language by what they are made of."""
    at, when = _words(language, "times", "at")[0], _words(language, "later", "marks", "when")
    orders, join = _words(language, "orders")[:20], _words(language, "follow_ups", "joins")[0]
    times, marks = _words(language, "times"), _words(language, "later", "marks")
    clauses = [
        f"{word} {when[place % len(when)]} Bed Light {at} {place % 12 + 1}, {join}" for place, word in enumerate(orders)
    ]
    texts = {
        "times": " ".join(f"{at} {hour % 12 + 1}" for hour in range(_LONGEST)),
        "times, with commas": ", ".join(f"{at} {hour % 12 + 1}" for hour in range(_LONGEST)),
        "words of times": " ".join(times * _LONGEST),
        "words of marks": " ".join(marks * _LONGEST),
        "clauses": " ".join(clauses * _LONGEST),
        "beginnings of clauses": ", ".join(when * _LONGEST),
        "orders": f" {join} ".join(orders * _LONGEST),
        "no spaces": "".join((*orders, *times, *marks) * 50),
        "commas": ", " * _LONGEST,
        "digits": "1" * _LONGEST,
    }  # fmt: skip
    return {name: text[:_LONGEST] for name, text in texts.items()}


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.usefixtures("no_collection")
def test_its_times_are_read_in_a_moment(language: str) -> None:
    slow = {}
    for name, text in _rows(language).items():
        timed_in("tomorrow", language, NOW)
        read = _seconds(lambda text=text: list(timed_in(text, language, NOW)))  # type: ignore[misc]
        held = _seconds(lambda text=text: put_off_in(text, language, NOW))  # type: ignore[misc]
        before = _seconds(lambda text=text: put_off_before([text] * 5, text, language, NOW))  # type: ignore[misc]
        if max(read, held, before) > _MOST:
            slow[name] = read, held, before
    assert slow == {}


@pytest.mark.usefixtures("demo_house", "no_collection")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_it_is_answered_in_a_moment(hass: HomeAssistant, language: str) -> None:
    await set_up(hass)
    speaker, slow = person(hass), {}
    await say(hass, "tomorrow", language=language, context=speaker)  # the words of the language are read once
    for name, text in _rows(language).items():
        begun = time.process_time()
        await say(hass, text[:_HEARD], language=language, context=speaker)
        if (seconds := time.process_time() - begun) > _MOST:
            slow[name] = seconds
    assert slow == {}
