"""One pass over an owner's prompt: three spellings, values that are never looked at again, an error that costs nothing."""

from datetime import datetime
import logging
from zoneinfo import ZoneInfo

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.languages.personal_data import mask
from custom_components.home_agent.prompt.history_text import HistoryOptions
from custom_components.home_agent.prompt.template import UNPROCESSED, PromptContextService, PromptTask
from custom_components.home_agent.turn.turn import async_zone
from tests.prompt.worlds import turns

NOW = datetime(2026, 11, 21, 15, 30, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize("name", ["{current_time}", "{{current_time}}", "{{ currentTime }}", "{currentTime}"])
async def test_every_spelling(hass: HomeAssistant, name: str) -> None:
    task = PromptTask(current_time=NOW)
    assert PromptContextService(hass).process_prompt(f"It is {name}.", task).prompt == (
        "It is 2026-11-21T15:30:00+01:00."
    )


@pytest.mark.parametrize("value", [
    "{{ states('sun.sun') }}", "{current_time}", "{{ userId }}", "{% for x in y %}", "{{{", "{{ '{user_id}' }}", "\\1",
])  # fmt: skip
async def test_values_are_never_rendered(hass: HomeAssistant, value: str) -> None:
    task = PromptTask(user_id="u", user_name=value, entity_context=value, event_context=value, history=turns(value))
    prompt = "{user_name}|{{ entityContext }}|{{ event_context }}|{{ messageHistory }}|{user_id}"
    result = PromptContextService(hass).process_prompt(prompt, task)
    assert result.prompt == f"{value}|{value}|{value}|User: {value}|u"
    assert result.error is None


@pytest.mark.parametrize(("prompt", "result"), [
    ('Answer {"mood": "{calm}", "n": {1}}.', 'Answer {"mood": "{calm}", "n": {1}}.'),
    ('{"time": {user_id}}', '{"time": u}'),
    ('{"a":{"b":{user_id}}}', '{"a":{"b":u}}'),
    ("{ user_id } {user id} {} {User_id}", "{ user_id } {user id} {} {User_id}"),
    ("{% raw %}{{ user_id }} {user_id}{% endraw %}", "{{ user_id }} {user_id}"),
    ("{# {user_id} #}{user_id}", "u"),
    ("{% set user = '{user_id}' %}{{ user }}", "{user_id}"),
    ("{% if user_id == 'u' %}{user_id}{% endif %}", "u"),
    ("{{ [1, 2] | sum }} {{ states('sun.sun') }}", "3 up"),
    ("{{ 0 | timestamp_custom('%Y', false) }} {user_id}", "1970 u"),
    ("{{ [user_id] is contains('u') and user_id is match('u') }}", "True"),
    ("{% for n in [1, 2, 3] %}{% if n == 2 %}{% break %}{% endif %}{user_id}{% endfor %}", "u"),
    ("{% set user_id = 1 %}{user_id}", "1"),
    ("{%- if true -%} {user_id} {%- endif -%}", "u"),
])  # fmt: skip
async def test_other_braces_stay(hass: HomeAssistant, prompt: str, result: str) -> None:
    hass.states.async_set("sun.sun", "up")
    assert PromptContextService(hass).process_prompt(prompt, PromptTask(user_id="u")).prompt == result


async def test_unknown_names_are_empty_and_told(hass: HomeAssistant) -> None:
    result = PromptContextService(hass).process_prompt("a{{ nobody }}b{{ userid }}", PromptTask())
    assert result.prompt == "ab"
    assert result.metadata.warnings == ("unknown placeholder: nobody", "unknown placeholder: userid")


async def test_who_is_not_known_is_nothing_to_a_template(hass: HomeAssistant) -> None:
    prompt = "{{ user_name }}{% if user_name %} is here{% endif %}, {{ user_name or 'guest' }}"
    result = PromptContextService(hass).process_prompt(prompt, PromptTask(language="ru"))
    assert result.prompt == "Неизвестен, guest"


@pytest.mark.parametrize("prompt", [
    "{{ broken", "{user_id} {{ 1 / 0 }}", "{% for %}", "{{{user_id}}}", "{{ 1 | no_such_filter }}",
    "{{ 1 is no_such_test }}", f"{{{{ {'(' * 5000}1{')' * 5000} }}}}", f"{{{{ {'1' * 5000} }}}}",
], ids=["open", "fails", "syntax", "braces", "filter", "test", "deep", "digits"])  # fmt: skip
async def test_a_broken_prompt_is_sent(hass: HomeAssistant, prompt: str, caplog: pytest.LogCaptureFixture) -> None:
    service = PromptContextService(hass)
    result = service.process_prompt(prompt, PromptTask(agent_name="Anna"))
    assert result.prompt == prompt
    assert result.metadata.warnings == (UNPROCESSED,)
    assert ((result.error and result.error.translation_placeholders) or {})["profile"] == "Anna"
    assert service.needs(prompt) <= {"user_id"}
    assert "could not be processed" in caplog.text
    assert service.metrics.as_dict()["errors"] == 1


async def test_nothing_that_was_said_is_logged(hass: HomeAssistant, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    task = PromptTask(agent_name="Anna", task_id="c", history=turns("the code is secret"), entity_context="bed light")
    PromptContextService(hass).process_prompt("{{ messageHistory }} {entity_context} {{ foo }}", task)
    assert "Prompt processed: agent Anna, task c, history messages 1, history truncated False" in caplog.text
    assert "placeholders entity_context, messageHistory, warnings unknown placeholder: foo" in caplog.text
    assert "secret" not in caplog.text
    assert "bed light" not in caplog.text


async def test_formatted_history_is_remembered_by_ids(hass: HomeAssistant) -> None:
    service = PromptContextService(hass)
    options = HistoryOptions()
    first = service.format_message_history(PromptTask(history=turns("a", "b")), options)
    assert service.format_message_history(PromptTask(history=turns("a", "b")), options) is first
    assert service.format_message_history(PromptTask(history=turns("a", "b", "c")), options) is not first
    assert service.format_message_history(PromptTask(history=turns("a", "b"), language="de"), options) is not first
    assert service.format_message_history(PromptTask(history=turns("a", "b"), mask=mask), options) is not first
    assert (
        service.format_message_history(PromptTask(history=turns("a", "b")), HistoryOptions(max_messages=1)) is not first
    )


async def test_what_leaves_the_house_is_masked_in_history_and_contexts(hass: HomeAssistant) -> None:
    task = PromptTask(
        history=turns("mail a@b.example"), entity_context="+49 171 2345678", event_context="a@b.example", mask=mask
    )
    prompt = "Mine is me@home.example. {message_history} {entity_context} {event_context}"
    result = PromptContextService(hass).process_prompt(prompt, task)
    assert result.prompt == "Mine is me@home.example. User: mail [email] [phone] [email]"


async def test_block_of_variables(hass: HomeAssistant) -> None:
    task = PromptTask(language="ru", user_id="u", household_id="Дом", timezone="Europe/Moscow", current_time=NOW)
    result = PromptContextService(hass).process_prompt("{{ contextVariables }}", task)
    assert result.prompt == (
        "КОНТЕКСТ:\n- Пользователь: u\n- Домашнее хозяйство: Дом\n- Время запроса: 2026-11-21T15:30:00+01:00\n"
        "- Часовой пояс: Europe/Moscow\n\nИСТОРИЯ ДИАЛОГА:\nИстория диалога пуста"
    )
    assert PromptContextService.needs("{context_variables}") >= {"user_id", "message_history"}


async def test_metrics_are_means_and_shares(hass: HomeAssistant) -> None:
    service = PromptContextService(hass)
    service.process_prompt("{{ messageHistory }}", PromptTask(history=turns("one " * 600, "two")))
    service.process_prompt("plain", PromptTask())
    metrics = service.metrics.as_dict()
    assert (metrics["prompts"], metrics["truncation_rate"], metrics["success_rate"]) == (2, 1.0, 1.0)
    assert metrics["tokens_saved"] > 100


@pytest.mark.parametrize(
    ("wanted", "zone"),
    [("Asia/Tokyo", "Asia/Tokyo"), ("", "Europe/Vienna"), ("No/Where", "Europe/Vienna"), ("../x", "Europe/Vienna")],
)
async def test_zone_of_the_profile_then_of_the_house(hass: HomeAssistant, wanted: str, zone: str) -> None:
    await hass.config.async_set_time_zone("Europe/Vienna")
    assert (await async_zone(hass, wanted)).key == zone


async def test_without_a_usable_zone_it_is_utc(hass: HomeAssistant) -> None:
    hass.config.time_zone = "Not/A/Zone"
    assert (await async_zone(hass, "")).key == "UTC"


async def test_a_time_zone_that_is_none_is_told_once(hass: HomeAssistant, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        assert (await async_zone(hass, "Mars/Phobos", "Kids")).key == hass.config.time_zone
    told = "There is no time zone Mars/Phobos, to which the agent Kids is set; the one of the home is used"
    assert caplog.text.count("Mars/Phobos") == caplog.text.count(told) == 1
