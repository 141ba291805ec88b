"""The tools as a model calls them: under the policy, by an agent from the preset."""

from datetime import UTC, datetime, timedelta
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

from custom_components.home_agent.settings.portable import async_preset
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import add_shopping_list, build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("recorder_mock")


@pytest.fixture
async def maker(hass: HomeAssistant, llm_server: LLMServer, freezer: FrozenDateTimeFactory) -> MockConfigEntry:
    """Set the preset up in the demo house, with a lock that was unlocked."""
    freezer.move_to(datetime(2027, 3, 10, 12, 0, 0, tzinfo=UTC))
    await build_house(hass)
    _, settings = await async_preset(hass, "automation_creation", "en")
    entry = await set_up(hass, llm_server, profile=settings)
    freezer.tick(timedelta(minutes=5))
    hass.states.async_set("lock.front_door", "unlocked", {"friendly_name": "Front Door"})
    freezer.tick(timedelta(minutes=5))
    await hass.async_block_till_done()
    await async_wait_recording_done(hass)
    return entry


async def call(hass: HomeAssistant, server: LLMServer, who: Context, tool: str, **arguments: Any) -> dict[str, Any]:
    server.plan(tool_call(tool, arguments), text("Well."))
    await say(hass, "go on", context=who)
    return dict(json.loads(server.request.body["messages"][-1]["content"]))


@pytest.mark.usefixtures("maker")
async def test_recent_events(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    told = await call(hass, llm_server, admin, "query_recent_events", entity_id="Front Door")
    assert (told["result"]["events"][0]["from"], told["result"]["events"][0]["to"]) == ("locked", "unlocked")


@pytest.mark.usefixtures("maker")
async def test_the_history_of_states(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    told = await call(hass, llm_server, admin, "download_state_history", entity_id="lock.front_door", days="2 days")
    assert told["result"]["entities"][0]["rows"][-1][1] == "unlocked"


@pytest.mark.usefixtures("maker")
@pytest.mark.parametrize("tool", ["query_recent_events", "download_state_history"])
async def test_what_is_not_exposed_is_unknown(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, tool: str
) -> None:
    async_expose_entity(hass, ASSISTANT, "lock.front_door", False)
    told = await call(hass, llm_server, admin, tool, entity_id="lock.front_door")
    assert told["error"].startswith("No exposed entity matches 'lock.front_door'.")


@pytest.mark.usefixtures("maker")
async def test_notes_are_read_and_added_on_lists(hass: HomeAssistant, llm_server: LLMServer, admin: Context) -> None:
    await add_shopping_list(hass, "Milk")
    added = {"action": "set_value", "entity_id": "todo.shopping_list", "parameters": {"add": "Eggs"}}
    assert (await call(hass, llm_server, admin, "ha_control", **added))["success"]
    told = await call(hass, llm_server, admin, "ha_query", entity_id="todo.shopping_list")
    assert [item["summary"] for item in told["result"]["items"]] == ["Milk", "Eggs"]
