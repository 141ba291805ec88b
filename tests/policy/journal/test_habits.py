"""What the household does often, from its journal."""

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.policy.journal import Habits
from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call


async def test_what_is_done_most_counts_as_one(hass: HomeAssistant, house: None, llm_server: LLMServer) -> None:
    await build_house(hass)
    entry = await set_up(hass, llm_server)
    habits = Habits(entry.runtime_data.journal)
    assert habits() == {}
    for action, entity_id in (
        ("turn_on", "light.bed_light"),
        ("turn_off", "light.bed_light"),
        ("turn_off", "light.kitchen_lights"),
    ):
        llm_server.plan(tool_call("ha_control", {"action": action, "entity_id": entity_id}), text("Done."))
        await say(hass, "do it")
    assert habits() == {"light.bed_light": 1, "light.kitchen_lights": pytest.approx(0.5)}
    assert entry.runtime_data.sources.lookup.habits() == habits()
