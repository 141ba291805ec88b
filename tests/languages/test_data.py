"""Every data file of a language keeps the schema, and says what the code counts on."""

from itertools import chain
import json
from pathlib import Path
import re
from typing import Any

from home_assistant_intents import get_languages
from homeassistant.core import HomeAssistant
from homeassistant.generated.languages import LANGUAGES
from jsonschema import Draft202012Validator, FormatChecker
import pytest

from custom_components.home_agent.home.domains import SWITCHED
from custom_components.home_agent.languages import data
from custom_components.home_agent.languages.data import (
    ENGLISH,
    EVENT_LANGUAGES,
    async_load,
    code_of,
    data_of,
    language_codes,
    prompt_words,
)
from custom_components.home_agent.languages.phrases import ReplyKind, plain_words, read_answer
from custom_components.home_agent.languages.phrasings import phrasings_of
from custom_components.home_agent.support.text import fold, runs

FOLDER = Path(data.__file__).parent
SCHEMA = json.loads((FOLDER / "schema.json").read_text("utf-8"))
CODES = sorted(language_codes())


def described(schema: dict[str, Any], at: str) -> list[str]:
    """Return the keys of a schema that nobody described, in it and below it."""
    below = [
        (f"{at}.{key}", item)
        for group in ("properties", "$defs")
        for key, item in schema.get(group, {}).items()
        if isinstance(item, dict)
    ]
    missing = [name for name, item in below if not {"description", "const", "type", "$ref"} & item.keys()]
    return missing + [name for key, item in below for name in described(item, key)]


@pytest.mark.parametrize("code", CODES)
def test_every_file_keeps_the_schema(code: str) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert described(SCHEMA, "") == []
    read = json.loads((FOLDER / f"{code}.json").read_text("utf-8"))
    validator = Draft202012Validator(SCHEMA, format_checker=FormatChecker(["regex"]))
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(read)] == []
    assert list(read) == [key for key in SCHEMA["properties"] if key in read], "keys in the order of the schema"


@pytest.mark.parametrize("code", CODES)
def test_rooms_and_things_are_those_of_english(code: str) -> None:
    words, english = data_of(code), data_of(ENGLISH)
    assert words.rooms.keys() <= english.rooms.keys()
    assert words.things.keys() <= english.things.keys()


@pytest.mark.parametrize("language", sorted({*LANGUAGES, *get_languages()}))
def test_yes_and_no_are_known_in_each_language_of_home_assistant(language: str) -> None:
    words = data_of(language)
    assert words.yes
    assert words.no
    assert read_answer(words.yes[0], language).kind is ReplyKind.YES
    assert read_answer(words.no[0], language).kind is ReplyKind.NO


@pytest.mark.parametrize("code", CODES)
def test_named_parts_exist(code: str) -> None:
    claims = data_of(code).claims
    named = set(re.findall(r"<(\w+)>", " ".join((*claims.said, *claims.done, *chain(*claims.automations.values())))))
    assert named == claims.parts.keys()


@pytest.mark.parametrize("code", CODES)
def test_patterns_are_written_in_lower_case(code: str) -> None:
    words = data_of(code)
    claims = words.claims
    patterns = (*claims.said, *claims.done, *claims.denials, *claims.earlier, *chain(*claims.automations.values()))
    plain = [re.sub(r"\\[A-Z]", "", pattern) for pattern in patterns]
    assert plain == [pattern.casefold() for pattern in plain]


def test_languages_that_are_always_understood_have_words_for_events() -> None:
    assert all(data_of(code).events.periods for code in EVENT_LANGUAGES)
    assert {"de", "en", "ru"} <= {code for code in CODES if data_of(code).prompt}
    assert prompt_words("fr") is prompt_words("en")


@pytest.mark.parametrize(
    ("language", "code"),
    [("de-AT", "de"), ("pt_BR", "pt"), ("ZH-Hans", "zh"), ("tlh", "en"), ("", "en"), ("../de", "en"), ("schema", "en")],
)
def test_a_language_is_known_by_its_base(language: str, code: str) -> None:
    assert code_of(language) == code


def test_a_language_without_a_file_has_no_words() -> None:
    assert data_of("tlh").yes == ()
    assert data_of("../../manifest").yes == ()
    assert data_of("schema").yes == ()


async def test_files_are_read_once(hass: HomeAssistant) -> None:
    await async_load(hass, "fi", "tlh")
    assert data_of("fi-FI") is data_of("fi")
    assert "tlh" not in data.LOADED


ANSWERED = {
    "cs": {"to", "je", "a"}, "da": {"den", "det", "og"}, "de": {"gern", "dann", "und", "ihn", "home agent"},
    "en": {"then", "oh", "that", "home agent", "sir", "ma'am", "and"}, "es": {"lo", "y", "señor", "señora"},
    "fi": {"se", "ja"}, "fr": {"et", "monsieur", "madame"}, "fy": {"tank"}, "hu": {"azt", "és"},
    "it": {"e", "signore", "signora"}, "nb": {"den", "det", "og"}, "nl": {"hem", "en", "meneer", "mevrouw"},
    "pl": {"to", "je", "i"}, "pt": {"a", "o", "e", "senhor", "senhora"}, "ru": {"ну", "уж", "его", "её", "и"},
    "sv": {"den", "det", "och"}, "uk": {"його", "її", "і"},
}  # fmt: skip
"""Courtesies that change nothing beside a yes alone: they stand for something, or join."""


def test_whoever_is_polite_says_the_same_in_each_language() -> None:
    """Courtesies (please, thank you) change no command, no route and no learned phrase."""
    counts = {}
    for code in CODES:
        if code in ("ja", "th", "zh"):  # no spaces: those sentences are left to Home Assistant
            continue
        known = phrasings_of(code, SWITCHED)
        for courtesy in {*data_of(code).courtesies} - ANSWERED.get(code, set()):
            said = tuple(fold(run) for run in runs(courtesy))
            counts[code, courtesy] = (
                plain_words(f"zqx {courtesy}", code),
                said in known.polite or known.harmless.issuperset(said),
            )
    assert [row for row, found in counts.items() if found != (("zqx",), True)] == []
