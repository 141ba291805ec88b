"""The prompt context service: placeholders, history, events, defaults, errors, log and metrics."""

from dataclasses import MISSING, fields
import itertools
import logging

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
from custom_components.home_agent.languages.personal_data import mask
from custom_components.home_agent.prompt import providers
from custom_components.home_agent.prompt.history_text import HistoryMessage, HistoryOptions, optimize_history
from custom_components.home_agent.prompt.providers import (
    CalendarContext,
    HomeEvent,
    detect_event_request,
    event_from_text,
    event_lines,
    events_text,
)
from custom_components.home_agent.prompt.template import NAMES, PromptContextService, PromptMetadata, PromptTask
from custom_components.home_agent.settings.endpoint import EndpointConfig, endpoint_from_data
from custom_components.home_agent.settings.profile import SETTINGS, Profile
from custom_components.home_agent.turn.turn import Turn, async_zone
from tests.house import build_house, say, set_up, speech, subentry
from tests.llm_server import LLMServer, text
from tests.prompt.calendars import NOW, Calendar, add, event
from tests.transcript.conftest import restart, say_all

from .worlds import AGENTS, KNOWN, MANY, MOMENT, RU, THREE, World, period, said


@pytest.fixture
def world(
    hass: HomeAssistant,
    llm_server: LLMServer,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
    hass_admin_user: MockUser,
) -> World:
    return World(hass=hass, server=llm_server, log=caplog, request=request, admin=hass_admin_user)


async def test_stored_history_and_all_values_reach_the_model(world: World) -> None:
    told = await world.after_a_restart("Hello", prompt=f"{THREE}\n{{{{ context_variables }}}}")
    assert "{{" not in told
    assert "History: User: Hello\nAssistant: ok" in told
    assert "CONTEXT:\n- User: anonymous\n- Household: test home\n- Time of the request: 20" in told


def test_the_block_of_context_variables_in_russian() -> None:
    assert "\n".join(RU.context_lines) == (
        "КОНТЕКСТ:\n- Пользователь: {{userId}}\n- Домашнее хозяйство: {{householdId}}\n- Время запроса: {{currentTime}}\n"
        "- Часовой пояс: {{timezone}}\n\nИСТОРИЯ ДИАЛОГА:\n{{messageHistory}}"
    )


async def test_a_processed_prompt_comes_with_its_metadata(world: World) -> None:
    prompt = "{{messageHistory}}|{{userId}}|{{currentTime}}|{{timezone}}|{{householdId}}|{{nobody}}"
    task = PromptTask(
        language="ru", user_id="u1", household_id="Home", timezone="Europe/Berlin", current_time=MOMENT, history=said(1)
    )
    result = world.service.process_prompt(prompt, task)
    assert result.prompt == "Пользователь: word 0|u1|2026-11-21T15:30:00+01:00|Europe/Berlin|Home|"
    assert result.metadata == PromptMetadata(
        history_messages_count=1,
        history_truncated=False,
        placeholders_replaced=("currentTime", "householdId", "messageHistory", "timezone", "userId"),
        estimated_tokens=world.service.estimate(result.prompt),
        warnings=("unknown placeholder: nobody",),
    )


@pytest.mark.parametrize("length", [0, 20, 100, 1000])
def test_history_is_cut_to_characters(world: World, length: int) -> None:
    told = world.service.format_message_history(PromptTask(history=said(100)), HistoryOptions(max_length=length))
    assert len(told.text) <= max(length, 33)


def test_history_is_cut_to_tokens(world: World) -> None:
    estimate = world.service.estimate
    kept = optimize_history(said(100), 30, RU, estimate)
    assert kept == said(100)[-len(kept) :]
    assert 0 < sum(estimate(f"Пользователь: {item.text}") for item in kept) <= 33


def test_more_text_has_more_tokens(world: World) -> None:
    estimate = world.service.estimate
    assert (estimate(""), estimate("word " * 100) > estimate("word")) == (0, True)


def test_no_option_gives_more_than_fifty_messages(world: World) -> None:
    endless = HistoryOptions(max_length=10**9, max_messages=10**9, max_tokens=10**9)
    assert world.service.format_message_history(PromptTask(history=said(500)), endless).messages == 50


def test_limits_of_the_history_in_a_prompt() -> None:
    limits = HistoryOptions(max_length=1500, max_messages=10, include_system_messages=False, max_tokens=500)
    assert HistoryOptions() == limits
    assert Profile().prompt_history_system is False


@pytest.mark.parametrize(("of_home", "used"), [(None, "US/Pacific"), ("No/Where", "UTC")])
async def test_the_time_zone_of_the_home_or_utc(hass: HomeAssistant, of_home: str | None, used: str) -> None:
    hass.config.time_zone = of_home or hass.config.time_zone
    assert (Profile().timezone, (await async_zone(hass, "")).key) == ("", used)


async def test_an_error_in_a_prompt_costs_no_answer_and_is_counted(world: World) -> None:
    assert Profile().use_prompt_context_service
    entry = await world.set_up("{{ profile_name }} {user_id} {{ 1 / 0 if language == 'de' }}")
    service = entry.runtime_data.sources.system_prompts.service
    world.server.plan(text("ok"), text("ok"))
    await say(world.hass, "hello")
    assert world.system.startswith("Home Agent anonymous")
    assert speech(await say(world.hass, "hallo", language="de")) == "ok"
    assert world.system.startswith("{{ profile_name }} {user_id}")
    assert (service.metrics.prompts, service.metrics.errors) == (2, 1)


def test_a_prompt_is_logged_in_names_and_counts(world: World) -> None:
    world.log.set_level(logging.INFO, "custom_components.home_agent")
    world.service.process_prompt(THREE, PromptTask(agent_name="Anna", task_id="c", history=said(2)))
    told = "Prompt processed: agent Anna, task c, history messages 2, history truncated False, estimated tokens"
    assert told in world.log.text
    assert "Prompt processing metadata" not in world.log.text


def test_placeholders_and_warnings_are_logged_when_debugging_but_never_what_was_said(world: World) -> None:
    world.log.set_level(logging.DEBUG, "custom_components.home_agent")
    world.service.process_prompt(THREE, PromptTask(history=said(2)))
    told = "Prompt processing metadata: placeholders currentTime, messageHistory, userId, warnings userId not"
    assert told in world.log.text
    assert "word 0" not in world.log.text


def test_no_model_is_built_in() -> None:
    assert next(field for field in fields(EndpointConfig) if field.name == "model").default is MISSING
    assert endpoint_from_data("s", "t", {"base_url": "http://h", "model": "gpt-5"}).model == "gpt-5"
    with pytest.raises(TypeError):
        endpoint_from_data("s", "t", {"base_url": "http://h"})


@pytest.mark.parametrize(("placeholder", "value"), [
    ("eventContext", "События не запрашивались"), ("userName", "Неизвестен"), ("householdName", "Неизвестно"),
    ("localTime", "21.11.2026, 15:30:00"),
])  # fmt: skip
def test_a_value_that_is_not_known_has_words_of_the_language(world: World, placeholder: str, value: str) -> None:
    task = PromptTask(language="ru", current_time=MOMENT)
    assert world.service.process_prompt(f"{{{{{placeholder}}}}}", task).prompt == value


KEYWORDS = ("событи", "дела", "задач", "что я делал", "покажи", "расход", "трат", "покупк", "список")


@pytest.mark.parametrize(
    "words", [*(f"А {word.upper()}?" for word in KEYWORDS), "Meine Termine?", "MY EVENTS", "Was habe ich getan?"]
)
def test_a_keyword_in_any_case_asks_for_events(words: str) -> None:
    assert detect_event_request(words, MOMENT)


def test_without_a_keyword_no_events_are_looked_up() -> None:
    assert detect_event_request("Включи свет", MOMENT) is None


NOON, WEEK, MONTH = "2026-11-21T15:30:00+01:00", "2026-11-14T15:30:00+01:00", "2026-10-22T15:30:00+02:00"


@pytest.mark.parametrize(("words", "start", "end"), [
    ("события вчера", "2026-11-20T00:00:00+01:00", "2026-11-20T23:59:59.999000+01:00"),
    ("события сегодня", "2026-11-21T00:00:00+01:00", NOON), ("события за неделю", WEEK, NOON),
    ("события за 7 дней", WEEK, NOON), ("события", WEEK, NOON), ("события за месяц", MONTH, NOON),
    ("события за 30 дней", MONTH, NOON),
])  # fmt: skip
def test_the_period_of_events_is_exact_and_a_week_if_none_is_named(words: str, start: str, end: str) -> None:
    assert period(words) == (start, end)


async def test_events_are_at_most_twenty_and_of_a_home_with_a_name(world: World) -> None:
    world.freezer.move_to(NOW)
    await add(world.hass, Calendar("Family", *(event(f"E{n}", -n / 10) for n in range(1, 40))))
    turn = Turn(
        profile=Profile(), conversation_id="c", text="events", language="en", context=Context(), user=world.admin
    )
    found = await CalendarContext(world.hass).async_events(turn)
    assert (providers.LIMIT, len(found or ())) == (20, 20)
    world.hass.config.location_name = ""
    assert await CalendarContext(world.hass).async_events(turn) is None


def test_a_line_of_an_event_has_amount_tag_and_notes() -> None:
    full = event_from_text(MOMENT, "Рынок 23,50 € #еда", "с соседями")
    assert events_text(event_lines([full, HomeEvent(when=MOMENT, title="Сон")], RU), RU) == (
        "СОБЫТИЯ ПОЛЬЗОВАТЕЛЯ:\n- [21.11.2026, 15:30:00] Рынок (23,50 EUR) #еда\n  с соседями\n- [21.11.2026, 15:30:00] Сон"
    )


def test_no_events_are_said_to_be_none() -> None:
    assert events_text([], RU) == "События не найдены"


@pytest.mark.parametrize(("placeholder", "value"), [
    ("userId", "anonymous"), ("householdId", "none"), ("currentTime", "2026-11-21T14:30:00+00:00"), ("timezone", "UTC"),
    ("messageHistory", "История диалога пуста"),
])  # fmt: skip
def test_a_missing_value_has_a_default(world: World, placeholder: str, value: str) -> None:
    world.freezer.move_to("2026-11-21T14:30:00+00:00")
    assert world.service.process_prompt(f"{{{{{placeholder}}}}}", PromptTask(language="ru")).prompt == value


async def test_a_prompt_that_does_not_render_is_sent_as_written_and_logged(world: World) -> None:
    await world.set_up("{user_id} {% for x %}")
    world.server.plan(text("Hello."))
    assert speech(await say(world.hass, "hello")) == "Hello."
    assert world.system.startswith("{user_id} {% for x %}")
    assert "The prompt of Home Agent could not be processed" in world.log.text


def test_a_missing_user_is_a_warning_and_an_empty_history_a_note(world: World) -> None:
    world.log.set_level(logging.INFO)
    result = world.service.process_prompt("{{userId}} {{messageHistory}}", PromptTask())
    assert result.metadata.warnings == ("userId not found",)
    assert [one.levelname for one in world.log.records if "userId not found" in one.message] == ["WARNING"]
    assert "Message history is empty" in world.log.text


def test_a_shortened_history_is_logged(world: World) -> None:
    world.log.set_level(logging.INFO)
    world.service.process_prompt("{{messageHistory}}", PromptTask(history=said(30)))
    assert "Message history truncated from 30 to 10 messages" in world.log.text


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("task", [KNOWN, PromptTask()], ids=["known", "unknown"])
def test_each_placeholder_is_replaced_in_every_spelling(world: World, name: str, task: PromptTask) -> None:
    for spelling in (f"{{{{{name}}}}}", f"{{{{ {name} }}}}", f"{{{name}}}"):
        result = world.service.process_prompt(f"<{spelling}>", task)
        assert "{" not in result.prompt
        assert result.metadata.placeholders_replaced == (name,)


def test_all_placeholders_are_replaced_together(world: World) -> None:
    result = world.service.process_prompt(" ".join(f"{{{{{name}}}}}" for name in NAMES), KNOWN)
    assert result.metadata.placeholders_replaced == tuple(sorted(NAMES))


def test_no_setting_rolls_out_by_percentage() -> None:
    assert not [key for key in SETTINGS if "percent" in key or "rollout" in key]


async def test_each_agent_has_its_own_prompt_with_its_own_history(world: World) -> None:
    await build_house(world.hass)
    entry = await set_up(world.hass, world.server, more=[_agent(name) for name in AGENTS])
    for name, count in itertools.product(AGENTS, (0, 1, MANY)):
        where = {"agent_id": f"conversation.{name.lower()}", "context": Context(user_id=world.admin.id)}
        messages = tuple(f"word {n}" for n in range(count))
        ids = [None, *await say_all(world.hass, world.server, None, *messages, **where)]
        await restart(world.hass, entry)
        await say_all(world.hass, world.server, ids[-1], "again", **where)
        lines = [line for word in messages for line in (f"User: {word}", "Assistant: ok")][-10:]
        history = "\n".join(lines) or "The conversation history is empty"
        assert world.system.startswith(f"I am {name} for {world.admin.id}.\n{history}\n\n## Home")


def _agent(name: str) -> ConfigSubentryDataWithId:
    prompt = f"I am {name} for {{{{userId}}}}.\n{{{{messageHistory}}}}"
    return subentry("profile", name, name, {"use_default_prompt": False, "custom_prompt": prompt})


def test_nothing_is_left_of_three_placeholders(world: World) -> None:
    result = world.service.process_prompt(THREE, KNOWN)
    assert "{{" not in result.prompt
    assert len(result.metadata.placeholders_replaced) == 3


def test_history_names_the_speakers_in_the_language(world: World) -> None:
    messages = (HistoryMessage(id="1", role="user", text="Hello"), HistoryMessage(id="2", role="assistant", text="Hi!"))
    task = PromptTask(language="ru", history=messages)
    told = world.service.format_message_history(task, HistoryOptions(max_length=1000))
    assert told.text == "Пользователь: Hello\nАссистент: Hi!"


def test_ten_of_a_hundred_messages_stay(world: World) -> None:
    task = PromptTask(history=said(100))
    told = world.service.process_prompt("{{messageHistory}}", task, HistoryOptions(max_messages=10)).metadata
    assert (told.history_truncated, told.history_messages_count) == (True, 10)


def test_the_same_messages_are_formatted_once_and_forgotten_again(world: World) -> None:
    service = world.service
    first = service.format_message_history(PromptTask(history=said(5)), HistoryOptions())
    assert service.format_message_history(PromptTask(history=said(5)), HistoryOptions()) is first
    for count in range(40):
        service.format_message_history(PromptTask(history=said(count)), HistoryOptions())
    assert service.format_message_history(PromptTask(history=said(5)), HistoryOptions()) is not first
    assert not [name for name in type(first).__slots__ if isinstance(getattr(first, name), (list, tuple))]


def test_the_value_of_a_placeholder_that_is_not_there_is_not_looked_up(world: World) -> None:
    assert PromptContextService.needs("No braces.", "JSON {} stays", "{{ states('a.b') }} timezone") == frozenset()
    assert PromptContextService.needs("{{ userId }}", "{entity_context}") == {"user_id", "entity_context"}
    world.service.process_prompt("{{ userId }}", KNOWN)
    assert "Message history" not in world.log.text


def test_a_prompt_tells_its_times_and_tokens(world: World) -> None:
    service = world.service
    made = service.process_prompt(THREE, PromptTask(user_id="u", history=said(3)))
    assert made.milliseconds > 0
    assert made.metadata.estimated_tokens > service.metrics.history_tokens > 0


def test_personal_data_in_the_history_is_masked(world: World) -> None:
    words = "Call +49 171 2345678 or a@b.example, Musterstraße 12"
    task = PromptTask(history=(HistoryMessage(id="1", role="user", text=words),), mask=mask)
    told = world.service.process_prompt("{{messageHistory}}", task).prompt
    assert told == "User: Call [phone] or [email], [address]"


async def test_diagnostics_have_the_metrics_of_prompts(world: World) -> None:
    entry = await world.set_up("{{messageHistory}} {{nobody}} {{userId}}")
    world.server.plan(text("ok"))
    await say(world.hass, "hello")
    entry.runtime_data.sources.system_prompts.service.process_prompt("{{messageHistory}}", PromptTask(history=said(60)))
    told = (await async_get_config_entry_diagnostics(world.hass, entry))["prompts"]
    assert (told["prompts"], told["placeholders_replaced"], told["truncation_rate"]) == (2, 3, 0.5)
    assert (told["success_rate"], told["warnings"], told["errors"]) == (1.0, 2, 0)
    means = ("mean_processing_ms", "mean_history_tokens", "mean_prompt_tokens", "tokens_saved")
    assert min(told[key] for key in means) > 0
