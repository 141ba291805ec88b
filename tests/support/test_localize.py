"""Sentences in the language of the turn."""

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceNotFound
import pytest

from custom_components.home_agent.support.errors import HomeAgentError
from custom_components.home_agent.support.localize import async_error_text, async_has_text, async_text

ENGLISH = "I can't find anything called Lamp. Please use a name or area that is exposed to Assist."
GERMAN = "Ich finde nichts namens Lamp. Bitte nutze einen Namen oder Bereich, der für Assist freigegeben ist."


@pytest.mark.parametrize(("language", "sentence"), [
    ("en", ENGLISH), ("en-GB", ENGLISH), ("de", GERMAN), ("de-AT", GERMAN), ("sv", ENGLISH), ("", ENGLISH),
], ids=["en", "en-GB", "de", "de-AT", "not translated", "the server's"])  # fmt: skip
async def test_sentence_in_the_language(hass: HomeAssistant, language: str, sentence: str) -> None:
    assert await async_text(hass, language, "local_unknown_name", name="Lamp") == sentence


async def test_server_s_language_when_none_is_known(hass: HomeAssistant) -> None:
    hass.config.language = "de"
    assert await async_text(hass, "", "local_unknown_name", name="Lamp") == GERMAN


async def test_names_are_not_templates(hass: HomeAssistant) -> None:
    assert "{name} {0}" in await async_text(hass, "en", "local_unknown_name", name="{name} {0}")


async def test_missing_placeholder_does_not_end_the_turn(hass: HomeAssistant) -> None:
    assert "called name" in await async_text(hass, "en", "local_unknown_name")


async def test_unknown_key_is_returned(hass: HomeAssistant) -> None:
    assert await async_text(hass, "de", "no_such_key") == "no_such_key"


@pytest.mark.parametrize(("language", "key", "expected"), [
    ("en", "text_empty", True), ("de-CH", "text_empty", True), ("sv", "text_empty", False),
    ("en", "no_such_key", False), ("de", "no_such_key", False),
])  # fmt: skip
async def test_whether_a_sentence_is_translated(hass: HomeAssistant, language: str, key: str, expected: bool) -> None:
    assert await async_has_text(hass, language, key) is expected


async def test_error_in_the_language_of_the_turn(hass: HomeAssistant) -> None:
    assert await async_error_text(hass, "de", HomeAgentError("local_unknown_name", name="Lamp")) == GERMAN


async def test_error_of_home_assistant(hass: HomeAssistant) -> None:
    assert await async_error_text(hass, "de", ServiceNotFound("light", "x")) != str(ServiceNotFound("light", "x"))


async def test_error_without_a_translation_says_its_own_words(hass: HomeAssistant) -> None:
    assert await async_error_text(hass, "de", HomeAssistantError("It broke")) == "It broke"
