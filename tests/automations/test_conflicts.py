"""What else does the contrary, and what a draft depends on."""

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.check import async_depends
from custom_components.home_agent.automations.conflicts import Conflict, async_conflicts
from tests.automations.a_home import DOOR, build_home, draft, knows
from tests.house import build_house


async def with_another(hass: HomeAssistant, service: str) -> None:
    """Set up the house and an automation that does something to the bed light when the garage door opens."""
    await build_house(hass)
    other = {
        "alias": "Other",
        "triggers": [dict(DOOR)],
        "actions": [{"action": f"light.{service}", "target": {"entity_id": "light.bed_light"}}],
    }
    assert await async_setup_component(hass, "automation", {"automation": [other]})
    await hass.async_block_till_done()


async def test_contrary_at_the_same_trigger(hass: HomeAssistant) -> None:
    await with_another(hass, "turn_off")
    found = await async_conflicts(hass, await draft(hass), knows=knows)
    assert found == [Conflict("automation.other", "light.bed_light", "turn_off")]


async def test_the_same_is_no_conflict(hass: HomeAssistant) -> None:
    await with_another(hass, "turn_on")
    assert await async_conflicts(hass, await draft(hass), knows=knows) == []


@pytest.mark.parametrize("entity_id", ["automation.other", "light.bed_light"])
async def test_conflict_with_what_is_hidden_is_not_told(hass: HomeAssistant, entity_id: str) -> None:
    await with_another(hass, "turn_off")
    assert await async_conflicts(hass, await draft(hass), knows=lambda one: one != entity_id) == []


async def test_scripts_and_scenes_are_depended_on(hass: HomeAssistant) -> None:
    await build_home(hass)
    found = await async_depends(hass, await draft(hass, {"action": "script.greet"}, {"scene": "scene.movie"}))
    assert {*found} == {"script.greet", "scene.movie"}
    assert all(len(one) == 64 for one in found.values())
