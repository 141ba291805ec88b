"""The requirement lines of the prompt context service, S4-1 to S4-73: each is a row of the table and a test."""

from dataclasses import MISSING, fields
import itertools
import logging

from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.diagnostics import async_get_config_entry_diagnostics
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
from custom_components.home_agent.prompt.template import (
    NAMES,
    PerformanceMetrics,
    PromptContextService,
    PromptMetadata,
    PromptTask,
)
from custom_components.home_agent.settings.endpoint import EndpointConfig, endpoint_from_data
from custom_components.home_agent.settings.profile import SETTINGS, Profile
from custom_components.home_agent.support.masking import mask
from custom_components.home_agent.turn.turn import Turn, async_zone
from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, text
from tests.prompt.calendars import NOW, Calendar, add, event
from tests.transcript.conftest import restart, say_all

from .s4 import AGENTS, KNOWN, MANY, MOMENT, ROWS, RU, THREE, World, period, row, said


@row(1, 2, 3, 4, 5, 6, 27)
async def the_flow(world: World) -> None:
    """Stored history goes into the task, all placeholders become values, and the model gets the result."""
    told = await world.after_a_restart("Hello", prompt=f"{THREE}\n{{{{ context_variables }}}}")
    assert "{{" not in told
    assert "History: User: Hello\nAssistant: ok" in told
    assert "CONTEXT:\n- User: anonymous\n- Household: test home\n- Time of the request: 20" in told
    assert "\n".join(RU.context_lines) == (
        "КОНТЕКСТ:\n- Пользователь: {{userId}}\n- Домашнее хозяйство: {{householdId}}\n- Время запроса: {{currentTime}}\n"
        "- Часовой пояс: {{timezone}}\n\nИСТОРИЯ ДИАЛОГА:\n{{messageHistory}}"
    )


@row(7, 8, 9, 13, 14, 15, 16, 17, 18)
async def the_interface(world: World) -> None:
    """`process_prompt` returns the prompt and what became of it."""
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


@row(10, 11, 12, 63)
async def the_sizes(world: World) -> None:
    """History is cut to characters, messages and tokens, whatever the options say."""
    task = PromptTask(history=said(100))
    for length in (0, 20, 100, 1000):
        assert len(world.service.format_message_history(task, HistoryOptions(max_length=length)).text) <= max(
            length, 33
        )
    estimate = world.service.estimate
    kept = optimize_history(said(100), 30, RU, estimate)
    assert kept == said(100)[-len(kept) :]
    assert 0 < sum(estimate(f"Пользователь: {item.text}") for item in kept) <= 33
    assert (estimate(""), estimate("word " * 100) > estimate("word")) == (0, True)
    endless = HistoryOptions(max_length=10**9, max_messages=10**9, max_tokens=10**9)
    assert world.service.format_message_history(PromptTask(history=said(500)), endless).messages == 50


@row(19, 20, 21, 22, 23)
async def the_options(world: World) -> None:
    """Options have the defaults of the source; the zone is that of the house, UTC when nothing is usable (C-13)."""
    assert HistoryOptions() == HistoryOptions(
        max_length=1500, max_messages=10, include_system_messages=False, max_tokens=500
    )
    profile = Profile()
    assert (profile.prompt_history_system, profile.timezone) == (False, "")
    assert (await async_zone(world.hass, "")).key == world.hass.config.time_zone
    world.hass.config.time_zone = "No/Where"
    assert (await async_zone(world.hass, "")).key == "UTC"


@row(24, 53, 66, 69)
async def the_flag(world: World) -> None:
    """Every assistant goes through the one service; with the flag off prompts are plain templates; errors cost nothing."""
    assert Profile().use_prompt_context_service
    entry = await world.set_up("{{ profile_name }} {user_id} {{ 1 / 0 if language == 'de' }}")
    service = entry.runtime_data.sources.system_prompts.service
    world.server.plan(text("ok"), text("ok"))
    await say(world.hass, "hello")
    assert world.system.startswith("Home Agent anonymous")
    assert speech(await say(world.hass, "hallo", language="de")) == "ok"
    assert world.system.startswith("{{ profile_name }} {user_id}")
    assert (service.metrics.prompts, service.metrics.errors) == (2, 1)


@row(25, 64, 73)
async def the_log(world: World) -> None:
    """What became of a prompt is logged in names and counts; in full only where debugging is on; never what was said."""
    world.log.set_level(logging.INFO, "custom_components.home_agent")
    world.service.process_prompt(THREE, PromptTask(agent_name="Anna", task_id="c", history=said(2)))
    assert (
        "Prompt processed: agent Anna, task c, history messages 2, history truncated False, estimated tokens"
        in world.log.text
    )
    assert "Prompt processing metadata" not in world.log.text
    world.log.set_level(logging.DEBUG, "custom_components.home_agent")
    world.service.process_prompt(THREE, PromptTask(history=said(2)))
    assert (
        "Prompt processing metadata: placeholders currentTime, messageHistory, userId, warnings userId not"
        in world.log.text
    )
    assert "word 0" not in world.log.text


@row(26)
async def no_model_is_built_in(world: World) -> None:
    """`gpt-5` is an example (C-27): a model is what the owner names."""
    assert next(field for field in fields(EndpointConfig) if field.name == "model").default is MISSING
    assert endpoint_from_data("s", "t", {"base_url": "http://h", "model": "gpt-5"}).model == "gpt-5"
    with pytest.raises(TypeError):
        endpoint_from_data("s", "t", {"base_url": "http://h"})


@row(28, 29, 30)
async def the_variables_of_the_assistant(world: World) -> None:
    """Events that were not asked for, who is not known, and the time as the language writes it."""
    prompt = "{{eventContext}}|{{userName}}|{{householdName}}|{{localTime}}"
    result = world.service.process_prompt(prompt, PromptTask(language="ru", current_time=MOMENT))
    assert result.prompt == "События не запрашивались|Неизвестен|Неизвестно|21.11.2026, 15:30:00"


@row(31, 32, 33)
async def the_keywords(world: World) -> None:
    """Any keyword asks for events, in any case; without one nothing is looked up."""
    keywords = ("событи", "дела", "задач", "что я делал", "покажи", "расход", "трат", "покупк", "список")
    assert all(detect_event_request(f"А {word.upper()}?", MOMENT) for word in keywords)
    assert all(detect_event_request(words, MOMENT) for words in ("Meine Termine?", "MY EVENTS", "Was habe ich getan?"))
    assert detect_event_request("Включи свет", MOMENT) is None


@row(34, 35, 36, 37, 38)
async def the_periods(world: World) -> None:
    """Days are exact, also where the clocks change; without a period it is the last 7 days."""
    now, week, month = "2026-11-21T15:30:00+01:00", "2026-11-14T15:30:00+01:00", "2026-10-22T15:30:00+02:00"
    assert period("события вчера") == ("2026-11-20T00:00:00+01:00", "2026-11-20T23:59:59.999000+01:00")
    assert period("события сегодня") == ("2026-11-21T00:00:00+01:00", now)
    assert period("события за неделю") == period("события за 7 дней") == period("события") == (week, now)
    assert period("события за месяц") == period("события за 30 дней") == (month, now)


@row(39)
async def the_query(world: World) -> None:
    """Events are those of the user, of the period, at most 20, and of a house that has a name."""
    world.freezer.move_to(NOW)
    await add(world.hass, Calendar("Family", *(event(f"E{n}", -n / 10) for n in range(1, 40))))
    turn = Turn(
        profile=Profile(), conversation_id="c", text="events", language="en", context=Context(), user=world.admin
    )
    found = await CalendarContext(world.hass).async_events(turn)
    assert (providers.LIMIT, len(found or ())) == (20, 20)
    world.hass.config.location_name = ""
    assert await CalendarContext(world.hass).async_events(turn) is None


@row(40, 41, 42)
async def the_lines(world: World) -> None:
    """A line has what is known of an event; below it are its notes."""
    full = event_from_text(MOMENT, "Рынок 23,50 € #еда", "с соседями")
    assert events_text(event_lines([full, HomeEvent(when=MOMENT, title="Сон")], RU), RU) == (
        "СОБЫТИЯ ПОЛЬЗОВАТЕЛЯ:\n- [21.11.2026, 15:30:00] Рынок (23,50 EUR) #еда\n  с соседями\n- [21.11.2026, 15:30:00] Сон"
    )
    assert events_text([], RU) == "События не найдены"


@row(43, 44, 45, 46, 47)
async def the_defaults(world: World) -> None:
    """What is missing has a default."""
    world.freezer.move_to("2026-11-21T14:30:00+00:00")
    prompt = "{{userId}}|{{householdId}}|{{currentTime}}|{{timezone}}|{{messageHistory}}"
    result = world.service.process_prompt(prompt, PromptTask(language="ru"))
    assert result.prompt == "anonymous|none|2026-11-21T14:30:00+00:00|UTC|История диалога пуста"


@row(48)
async def an_error(world: World) -> None:
    """A prompt that does not render goes out as it was written, and the error is logged."""
    await world.set_up("{user_id} {% for x %}")
    world.server.plan(text("Hello."))
    assert speech(await say(world.hass, "hello")) == "Hello."
    assert world.system.startswith("{user_id} {% for x %}")
    assert "The prompt of Home Agent could not be processed" in world.log.text


@row(49, 50, 51)
async def what_is_said_of_a_prompt(world: World) -> None:
    """A missing user is a warning; an empty and a shortened history are notes in the log."""
    world.log.set_level(logging.INFO)
    result = world.service.process_prompt("{{userId}} {{messageHistory}}", PromptTask())
    assert result.metadata.warnings == ("userId not found",)
    assert [one.levelname for one in world.log.records if "userId not found" in one.message] == ["WARNING"]
    assert "Message history is empty" in world.log.text
    world.service.process_prompt("{{messageHistory}}", PromptTask(history=said(30)))
    assert "Message history truncated from 30 to 10 messages" in world.log.text


@row(52)
async def each_and_all(world: World) -> None:
    """Each placeholder alone, all together, and nothing known of anything."""
    for name, task in itertools.product(sorted(NAMES), (KNOWN, PromptTask())):
        for spelling in (f"{{{{{name}}}}}", f"{{{{ {name} }}}}", f"{{{name}}}"):
            result = world.service.process_prompt(f"<{spelling}>", task)
            assert "{" not in result.prompt
            assert result.metadata.placeholders_replaced == (name,)
    everything = world.service.process_prompt(" ".join(f"{{{{{name}}}}}" for name in NAMES), KNOWN)
    assert everything.metadata.placeholders_replaced == tuple(sorted(NAMES))


@row(54, 65, 67, 68)
async def the_three_agents(world: World) -> None:
    """Three assistants, each with its own prompt, and with no, a short and a long history; no share of users, a switch."""
    assert not [key for key in SETTINGS if "percent" in key or "rollout" in key]
    await build_house(world.hass)
    entry = await set_up(world.hass, world.server, more=[_agent(name) for name in AGENTS])
    for name, count in itertools.product(AGENTS, (0, 1, MANY)):
        fields = {"agent_id": f"conversation.{name.lower()}", "context": Context(user_id=world.admin.id)}
        messages = tuple(f"word {n}" for n in range(count))
        ids = [None, *await say_all(world.hass, world.server, None, *messages, **fields)]
        await restart(world.hass, entry)
        await say_all(world.hass, world.server, ids[-1], "again", **fields)
        lines = [line for word in messages for line in (f"User: {word}", "Assistant: ok")][-10:]
        history = "\n".join(lines) or "The conversation history is empty"
        assert world.system.startswith(f"I am {name} for {world.admin.id}.\n{history}\n\n## Home")


def _agent(name: str) -> ConfigSubentryDataWithId:
    prompt = f"I am {name} for {{{{userId}}}}.\n{{{{messageHistory}}}}"
    return ConfigSubentryDataWithId(
        subentry_type="profile",
        data={"use_default_prompt": False, "custom_prompt": prompt},
        title=name,
        unique_id=None,
        subentry_id=name,
    )


@row(55)
async def the_first_scenario(world: World) -> None:
    """Nothing is left of three placeholders."""
    result = world.service.process_prompt(THREE, KNOWN)
    assert "{{" not in result.prompt
    assert len(result.metadata.placeholders_replaced) == 3


@row(56)
async def the_second_scenario(world: World) -> None:
    """Who said what, in Russian to the letter."""
    messages = (HistoryMessage(id="1", role="user", text="Hello"), HistoryMessage(id="2", role="assistant", text="Hi!"))
    told = world.service.format_message_history(
        PromptTask(language="ru", history=messages), HistoryOptions(max_length=1000)
    )
    assert told.text == "Пользователь: Hello\nАссистент: Hi!"


@row(57)
async def the_third_scenario(world: World) -> None:
    """Of 100 messages 10 stay."""
    result = world.service.process_prompt(
        "{{messageHistory}}", PromptTask(history=said(100)), HistoryOptions(max_messages=10)
    )
    assert (result.metadata.history_truncated, result.metadata.history_messages_count) == (True, 10)


@row(58, 60)
async def the_memo(world: World) -> None:
    """The same messages are formatted once; what is remembered is the text, and not for ever."""
    service = world.service
    first = service.format_message_history(PromptTask(history=said(5)), HistoryOptions())
    assert service.format_message_history(PromptTask(history=said(5)), HistoryOptions()) is first
    for count in range(40):
        service.format_message_history(PromptTask(history=said(count)), HistoryOptions())
    assert service.format_message_history(PromptTask(history=said(5)), HistoryOptions()) is not first
    assert not [name for name in type(first).__slots__ if isinstance(getattr(first, name), (list, tuple))]


@row(59)
async def only_what_is_there(world: World) -> None:
    """A placeholder that is not in the prompt costs nothing: nobody looks for its value."""
    assert PromptContextService.needs("No braces.", "JSON {} stays", "{{ states('a.b') }} timezone") == frozenset()
    assert PromptContextService.needs("{{ userId }}", "{entity_context}") == {"user_id", "entity_context"}
    world.service.process_prompt("{{ userId }}", KNOWN)
    assert "Message history" not in world.log.text


@row(61)
async def what_it_costs(world: World) -> None:
    """Each prompt tells its times and tokens."""
    metrics = world.service.process_prompt(THREE, PromptTask(user_id="u", history=said(3))).performance
    assert isinstance(metrics, PerformanceMetrics)
    assert metrics.prompt_processing_time >= metrics.history_formatting_time > 0
    assert metrics.prompt_processing_time >= metrics.placeholder_replacement_time > 0
    assert metrics.total_tokens > metrics.history_tokens > 0


@row(62)
async def personal_data(world: World) -> None:
    """What was said before is without phones, e-mails and addresses where it leaves the house."""
    words = "Call +49 171 2345678 or a@b.example, Musterstraße 12"
    task = PromptTask(history=(HistoryMessage(id="1", role="user", text=words),), mask=mask)
    told = world.service.process_prompt("{{messageHistory}}", task).prompt
    assert told == "User: Call [phone] or [email], [address]"


@row(70, 71, 72)
async def the_metrics(world: World) -> None:
    """Diagnostics tell times, placeholders, how often history is cut, successes, warnings, errors and tokens."""
    entry = await world.set_up("{{messageHistory}} {{nobody}} {{userId}}")
    world.server.plan(text("ok"))
    await say(world.hass, "hello")
    entry.runtime_data.sources.system_prompts.service.process_prompt("{{messageHistory}}", PromptTask(history=said(60)))
    told = (await async_get_config_entry_diagnostics(world.hass, entry))["prompts"]
    assert (told["prompts"], told["placeholders_replaced"], told["truncation_rate"]) == (2, 3, 0.5)
    assert (told["success_rate"], told["warnings"], told["errors"]) == (1.0, 2, 0)
    assert (
        min(told[key] for key in ("mean_processing_ms", "mean_history_tokens", "mean_prompt_tokens", "tokens_saved"))
        > 0
    )


@pytest.mark.parametrize("line", [f"S4-{number}" for number in range(1, 74)])
async def test_line(
    line: str,
    hass: HomeAssistant,
    llm_server: LLMServer,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
    hass_admin_user: MockUser,
) -> None:
    await ROWS[line](World(hass=hass, server=llm_server, log=caplog, request=request, admin=hass_admin_user))


def test_no_row_is_of_another_line() -> None:
    assert len(ROWS) == 73
