"""The page about instructions names every placeholder, and says of languages what the code does."""

import json

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.languages.data import prompt_words
from custom_components.home_agent.prompt.history_text import HistoryOptions
from custom_components.home_agent.prompt.template import NAMES, SAMPLE_VALUES, fill
from tests.house import build_house, set_up
from tests.llm_server import LLMServer
from tests.transcript.conftest import restart, say_all

from .pages import CODE, examples, rows, section


def test_every_placeholder_is_named() -> None:
    table = list(rows(section("reference/placeholders.md", "Placeholders"), columns=3))
    assert {name for first, second, _ in table for name in CODE.findall(f"{first} {second}")} == NAMES


@pytest.mark.parametrize(("row", "language"), [(0, "ru"), (1, "de"), (2, "fr")])
def test_words_of_languages(row: int, language: str) -> None:
    _, empty, user, assistant = list(rows(section("PROMPTS.md", "History"), columns=4))[row]
    words = prompt_words(language)
    assert (empty, user.strip("`"), assistant.strip("`")) == (words.history_empty, words.user, words.assistant)


def test_limits_of_history() -> None:
    options, told = HistoryOptions(), section("PROMPTS.md", "History")
    assert f"{options.max_messages} messages, {options.max_length} characters and {options.max_tokens} tokens" in told


async def test_example_is_filled_in(hass: HomeAssistant) -> None:
    example, _ = [item for item in examples("jinja") if item.page.endswith("placeholders.md")]
    text, unknown = fill(hass, example.code, SAMPLE_VALUES | {"event_context": ""})
    assert not unknown
    assert "{" not in text
    assert "You are the butler of Home." in text


async def test_what_is_not_there_is_written_as_the_page_says(hass: HomeAssistant, llm_server: LLMServer) -> None:
    asked = "[{{ area_id }} {device_id} {user_id} {user_name}{% if area_id or device_id or user_name %} one{% endif %}]"
    await build_house(hass)
    await set_up(hass, llm_server, profile={"use_default_prompt": False, "custom_prompt": asked})
    await say_all(hass, llm_server, None, "Hello")
    assert "[None None anonymous Unknown]" in llm_server.request.body["messages"][0]["content"]
    table = section("reference/placeholders.md", "Placeholders")
    assert "written as *None*" in table
    assert "`anonymous` when no one is known" in table


async def test_prompt_with_everything_reaches_the_model(hass: HomeAssistant, llm_server: LLMServer) -> None:
    _, example = [item for item in examples("jinja") if item.page.endswith("placeholders.md")]
    await build_house(hass)
    entry = await set_up(hass, llm_server, profile={"use_default_prompt": False, "custom_prompt": example.code})
    ids = await say_all(hass, llm_server, None, "Is the door locked?")
    await restart(hass, entry)
    await say_all(hass, llm_server, ids[-1], "And now?")
    system = llm_server.request.body["messages"][0]["content"]
    home = system.partition("## Current Home Context\n\n")[2].partition("\n\n## Conversation History\n\n")[0]
    assert json.loads(home)["lock.front_door"] == "locked"
    assert "## Conversation History\n\nUser: Is the door locked?\nAssistant: ok\n\nNow respond" in system
    assert "states" not in llm_server.request.body["messages"][-1]["content"]
