"""What an agent did stands in Activity, under its name and with its conversation."""

from homeassistant.components.recorder import Recorder
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import translation
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.home_agent.turn import events
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call


@pytest.fixture
async def house_with_activity(recorder_mock: Recorder, hass: HomeAssistant, house: None) -> None:
    """A house whose recorder runs, with Activity."""
    assert await async_setup_component(hass, "logbook", {})
    await build_house(hass)


@pytest.mark.parametrize(("language", "message"), [
    ("en", "turned on Bed Light"),
    ("de", "hat Bed Light eingeschaltet"),
])  # fmt: skip
@pytest.mark.parametrize("with_model", [True, False])
async def test_an_action_stands_under_the_name_of_the_agent(
    hass: HomeAssistant,
    house_with_activity: None,
    llm_server: LLMServer,
    hass_ws_client: WebSocketGenerator,
    hass_admin_user: MockUser,
    language: str,
    message: str,
    with_model: bool,
) -> None:
    hass.config.language = language
    await translation.async_load_integrations(hass, {"light", "home_agent"})
    await set_up(hass, llm_server if with_model else None, profile={"local_first": False})
    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    began = dt_util.utcnow()
    if with_model:
        llm_server.plan(tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"}), text("On."))
    said = "turn on the bed light" if with_model or language == "en" else "Schalte das Bed Light ein"
    await say(hass, said, context=Context(user_id=hass_admin_user.id), language=language)
    await async_wait_recording_done(hass)
    client = await hass_ws_client(hass)
    await client.send_json_auto_id({"type": "logbook/get_events", "start_time": began.isoformat()})
    rows = (await client.receive_json())["result"]
    [ours] = [row for row in rows if row.get("domain") == "home_agent"]
    assert ours["name"] == "Home Agent"
    assert ours["message"] == message
    assert ours["entity_id"] == "conversation.home_agent"
    assert ours["context_user_id"] == hass_admin_user.id
    [light] = [row for row in rows if row.get("entity_id") == "light.bed_light"]
    assert light["context_entity_id"] == "conversation.home_agent"  # what the line of the light says set it off

    query = {"type": "logbook/get_events", "start_time": began.isoformat(), "entity_ids": ["conversation.home_agent"]}
    await client.send_json_auto_id(query)
    rows = (await client.receive_json())["result"]
    assert [row["message"] for row in rows if row.get("domain") == "home_agent"] == [ours["message"]]


async def test_reading_is_no_action(hass: HomeAssistant, house: None, llm_server: LLMServer) -> None:
    await build_house(hass)
    entry = await set_up(hass, llm_server)
    told = async_capture_events(hass, events.ACTION_EXECUTED)
    llm_server.plan(tool_call("ha_query", {"entity_id": "light.bed_light"}), text("On."))
    await say(hass, "is the bed light on?")
    assert not told
    turn_off = tool_call("ha_control", {"action": "turn_off", "entity_id": "light.bed_light"})
    llm_server.plan(turn_off, text("Off."))
    await say(hass, "off")
    assert [event.data["actions"] for event in told] == [["light.turn_off"]]
    hass.config_entries.async_update_entry(entry, options={**entry.options, "emit_events": False})
    await hass.config_entries.async_reload(entry.entry_id)
    llm_server.plan(turn_off, text("Off."))
    await say(hass, "off")
    assert len(told) == 1


@pytest.mark.parametrize(("language", "words", "message"), [
    ("en", "The bed light is called moon lamp", "ran Propose a name on Bed Light"),
    ("de", "Bed Light heißt auch Mondlampe", "hat Name vorschlagen für Bed Light ausgeführt"),
])  # fmt: skip
async def test_a_name_stands_there_as_well_without_the_name(
    hass: HomeAssistant,
    house_with_activity: None,
    hass_ws_client: WebSocketGenerator,
    hass_read_only_user: MockUser,
    language: str,
    words: str,
    message: str,
) -> None:
    hass.config.language = language
    hass_read_only_user.mock_policy({"entities": True})
    await translation.async_load_integrations(hass, {"light", "home_agent"})
    await set_up(hass)
    began = dt_util.utcnow()
    await say(hass, words, context=Context(user_id=hass_read_only_user.id), language=language)
    await async_wait_recording_done(hass)
    client = await hass_ws_client(hass)
    await client.send_json_auto_id({"type": "logbook/get_events", "start_time": began.isoformat()})
    rows = (await client.receive_json())["result"]
    assert [row["message"] for row in rows if row.get("domain") == "home_agent"] == [message]
