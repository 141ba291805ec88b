"""Turns under odd circumstances: whatever a server, a state or an owner does, there is one answer and one action."""

import asyncio
import logging
from types import MappingProxyType
from typing import Any, override

from homeassistant.config_entries import ConfigEntryState, ConfigSubentry
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.support.const import AUDIT, DOMAIN, LOGGER, SUBENTRY_LLM, SUBENTRY_PROFILE
from tests.house import act, say, set_up, speech
from tests.llm_server import LLMServer, chunks, delta, error, server_error, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

TOGGLE = {"action": "toggle", "entity_id": "switch.decorative_lights"}
TOO_LONG = {"error": {"message": "the request exceeds the available context size", "code": 400}}


async def test_too_long_in_mid_stream_runs_no_action_twice(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    before = hass.states.get("switch.decorative_lights")
    assert before is not None
    call = {
        "index": 0,
        "id": "c",
        "function": {
            "name": "ha_control",
            "arguments": '{"action": "toggle", "entity_id": "switch.decorative_lights"}',
        },
    }
    llm_server.plan(chunks(delta(tool_calls=[call]), TOO_LONG), text("Toggled."))
    assert speech(await say(hass, "toggle")) == "Toggled."
    after = hass.states.get("switch.decorative_lights")
    assert after is not None
    assert after.state != before.state


async def test_too_long_after_words_keeps_them(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(chunks(delta(content="Here is the story."), TOO_LONG))
    assert speech(await say(hass, "tell me")).startswith("Here is the story.\n\n")
    assert len(llm_server.requests) == 1


async def test_cleared_history_stays_cleared(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("Noted."), server_error(), server_error(), text("Hello."), text("Hi."))
    conversation_id = (await say(hass, "my secret is 4711")).conversation_id
    await hass.services.async_call(DOMAIN, "clear_history", {"conversation_id": conversation_id}, blocking=True)
    await say(hass, "this fails", conversation_id)
    await say(hass, "hello", conversation_id)
    assert "4711" not in llm_server.request.raw.decode()
    await hass.config_entries.async_reload(entry.entry_id)
    await say(hass, "hello again", conversation_id)
    assert "4711" not in llm_server.request.raw.decode()


async def test_who_is_no_admin_clears_their_own(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: Any, hass_read_only_user: Any
) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("One."), text("Two."))
    await say(hass, "first", context=Context(user_id=hass_admin_user.id))
    await say(hass, "first", context=Context(user_id=hass_read_only_user.id))
    cleared = await act(hass, "clear_history", Context(user_id=hass_read_only_user.id))
    assert cleared == {"cleared": 1, "stored": 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, -(2**70)], ids=["nan", "inf", "huge", "big"])
async def test_odd_number_in_a_state_costs_nothing(hass: HomeAssistant, llm_server: LLMServer, value: Any) -> None:
    await set_up(hass, llm_server)
    hass.states.async_set("light.bed_light", "on", {"brightness": value})
    llm_server.plan(text("Hello."))
    await say(hass, "hello")
    assert '"light.bed_light":"on brightness=' in llm_server.request.body["messages"][0]["content"]


@pytest.mark.parametrize("name", [5, "a\ud83db", "x" * 30_000], ids=["number", "half a character", "endless"])
async def test_odd_name_costs_nothing(hass: HomeAssistant, llm_server: LLMServer, name: Any) -> None:
    await set_up(hass, llm_server)
    hass.states.async_set("lock.front_door", "locked", {"friendly_name": name})
    await hass.services.async_call(DOMAIN, "reload_context", {}, blocking=True)
    llm_server.plan(text("Hello."))
    assert speech(await say(hass, "hello")) == "Hello."
    assert "light.bed_light" in llm_server.request.body["messages"][0]["content"]


@pytest.mark.parametrize("usage", [{"prompt_tokens": "n/a"}, {"prompt_tokens": 5, "completion_tokens": [1]}])
async def test_usage_that_is_no_number_costs_nothing(hass: HomeAssistant, llm_server: LLMServer, usage: Any) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(text("Hello.", usage=usage))
    assert speech(await say(hass, "hello")) == "Hello."


async def test_name_of_a_tool_that_endpoints_refuse_is_cleaned(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("functions.ha_control", TOGGLE), text("Sorry."))
    await say(hass, "toggle")
    call = llm_server.request.body["messages"][-2]["tool_calls"][0]
    assert call["function"]["name"] == "functions_ha_control"


async def test_repeated_words(hass: HomeAssistant, llm_server: LLMServer, caplog: pytest.LogCaptureFixture) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(error(400, "Content flagged: 'marzipan for you'"))
    caplog.clear()
    with caplog.at_level(logging.INFO, logger=LOGGER.name):
        await say(hass, "marzipan for you")
    assert not [
        record for record in caplog.records if record.name.startswith(LOGGER.name) and "marzipan" in record.getMessage()
    ]


async def test_detailed_log_can_be_switched_off_again(hass: HomeAssistant) -> None:
    entry = await set_up(hass, options={"debug_logging": True})
    assert LOGGER.level == logging.DEBUG
    hass.config_entries.async_update_entry(entry, options={})
    await hass.async_block_till_done()
    assert LOGGER.level == logging.NOTSET


@pytest.mark.parametrize("wanted", [True, False])
async def test_audit_lines_at_the_default_level(hass: HomeAssistant, llm_server: LLMServer, wanted: bool) -> None:
    lines: list[str] = []

    class Log(logging.Handler):
        @override
        def emit(self, record: logging.LogRecord) -> None:
            if record.name.startswith(LOGGER.name):
                lines.append(record.getMessage())

    root, log = logging.getLogger(), Log()
    before = root.level
    root.setLevel(logging.WARNING)
    root.addHandler(log)
    try:
        entry = await set_up(hass, llm_server, options={"audit_log": wanted})
        ghost = {"action": "turn_on", "entity_id": "light.ghost"}
        bed = {"action": "turn_on", "entity_id": "light.bed_light"}
        llm_server.plan(tool_call("ha_control", bed), tool_call("ha_control", ghost), text("There is no ghost."))
        await say(hass, "marzipan")
        told = [line.partition(" in ")[0] for line in lines if line.startswith("Tool ")]
        assert told == (["Tool ha_control: done", "Tool ha_control: refused or failed"] if wanted else [])
        assert "marzipan" not in str(lines)
        assert "ghost" not in str(lines)
        await hass.config_entries.async_unload(entry.entry_id)
        assert AUDIT.level == logging.NOTSET
    finally:
        root.removeHandler(log)
        root.setLevel(before)


async def test_the_level_of_the_owners_logger_stays(hass: HomeAssistant) -> None:
    LOGGER.setLevel(logging.INFO)
    try:
        entry = await set_up(hass)
        assert LOGGER.level == logging.INFO
        hass.config_entries.async_update_entry(entry, options={"debug_logging": True})
        await hass.async_block_till_done()
        assert LOGGER.level == logging.DEBUG
        await hass.config_entries.async_unload(entry.entry_id)
        assert LOGGER.level == logging.INFO
    finally:
        LOGGER.setLevel(logging.NOTSET)


async def test_settings_that_change_while_they_are_taken_up_count(hass: HomeAssistant) -> None:
    @callback
    def change(_event: object) -> None:  # its first entity is there, its setup is not at its end
        [entry] = hass.config_entries.async_entries(DOMAIN)
        assert entry.state is ConfigEntryState.SETUP_IN_PROGRESS
        hass.config_entries.async_update_entry(entry, options={"retrieval": {"collection": "other"}})

    hass.bus.async_listen_once(er.EVENT_ENTITY_REGISTRY_UPDATED, change)
    entry = await set_up(hass)
    assert entry.runtime_data.library.vectors.settings.collection == "other"


async def test_assistant_that_is_disabled_is_refused(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    er.async_get(hass).async_update_entity("conversation.home_agent", disabled_by=er.RegistryEntryDisabler.USER)
    await hass.async_block_till_done()
    with pytest.raises(ServiceValidationError):
        await hass.services.async_call(DOMAIN, "process", {"text": "hello"}, blocking=True, return_response=True)


async def test_what_is_added_while_the_entry_is_loaded_comes_with_the_next_load(
    hass: HomeAssistant, llm_server: LLMServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever adds two agents one after the other is faster than the reload that the first one brings."""
    entry = await set_up(hass, llm_server)
    before = entry.runtime_data
    loading = hass.async_create_task(hass.config_entries.async_reload(entry.entry_id))
    async with asyncio.timeout(10):
        while getattr(entry, "runtime_data", before) is before:  # what is loaded is put together from here on
            await asyncio.sleep(0)
    [model] = entry.get_subentries_of_type(SUBENTRY_LLM)
    for kind, title, data in ((SUBENTRY_PROFILE, "Guest", {}), (SUBENTRY_LLM, "Larger", {**model.data})):
        added = ConfigSubentry(data=MappingProxyType(data), subentry_type=kind, title=title, unique_id=None)
        hass.config_entries.async_add_subentry(entry, added)
    await loading
    await hass.async_block_till_done()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR and DOMAIN in record.message]
    for entity_id in ("conversation.home_agent", "conversation.guest", "ai_task.scripted", "ai_task.larger"):
        state = hass.states.get(entity_id)
        assert state is not None, entity_id
        assert state.state != STATE_UNAVAILABLE, entity_id
