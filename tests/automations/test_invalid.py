"""What a model is told of an automation that Home Assistant does not accept: the value that is wrong, and what would be right."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.support.errors import ToolRefusal

ACTIONS = [{"action": "light.turn_on", "target": {"entity_id": "light.x"}}]


@pytest.fixture
def expected_lingering_timers() -> bool:
    """Let the sun and the platforms of entities keep their timers."""
    return True


async def refused(hass: HomeAssistant, **config: Any) -> str:
    await async_setup_component(hass, "sun", {})
    with pytest.raises(ToolRefusal) as found:
        await async_draft(hass, {"triggers": [], "actions": ACTIONS, **config})
    return str(found.value)


@pytest.mark.parametrize(
    ("trigger", "value", "hint"),
    [
        ({"trigger": "time", "at": "24:30:00"}, "triggers[1].at[0] is '24:30:00'", "to '23:59:59'"),
        (
            {"trigger": "sun", "event": "sunset", "offset": "+45min"},
            "triggers[1].offset is '+45min'",
            '{"minutes": 5}',
        ),
        ({"trigger": "state", "entity_id": "light.x", "for": "5 min"}, "triggers[1].for is '5 min'", "'00:05:00'"),
        ({"trigger": "sun", "event": "noon"}, "triggers[1].event is 'noon'", "expected 'sunset' or 'sunrise'"),
        ({"trigger": "time_pattern", "minutes": "/90"}, "triggers[1].minutes is '/90'", "'/10'"),
    ],
)
async def test_the_value_of_a_trigger_is_told(
    hass: HomeAssistant, trigger: Mapping[str, Any], value: str, hint: str
) -> None:
    first = {"trigger": "state", "entity_id": "light.x"}
    told = await refused(hass, triggers=[first, trigger])
    assert value in told
    assert hint in told
    assert "None" not in told


async def test_the_value_that_is_meant_is_told(hass: HomeAssistant) -> None:
    fine = {"trigger": "state", "entity_id": "light.x", "for": "00:05:00"}
    told = await refused(hass, triggers=[fine, {**fine, "for": "5 min"}])
    assert "triggers[1].for is '5 min'" in told
    assert "triggers[0]" not in told


async def test_the_value_of_an_action_is_told(hass: HomeAssistant) -> None:
    told = await refused(hass, actions=[{"delay": "5 min"}])
    assert "actions[0].delay is '5 min'" in told


async def test_an_unknown_trigger_is_answered_with_those_there_are(hass: HomeAssistant) -> None:
    told = await refused(hass, triggers=[{"trigger": "bogus"}])
    assert "no trigger 'bogus'. There are: calendar, " in told


async def test_an_unknown_trigger_is_answered_with_near_ones(hass: HomeAssistant) -> None:
    assert await async_setup_component(hass, "light", {})
    told = await refused(hass, triggers=[{"trigger": "light.turned", "target": {"entity_id": "light.x"}}])
    assert "Near to it: light.turned_o" in told


async def test_an_unknown_condition_is_answered_with_those_there_are(hass: HomeAssistant) -> None:
    assert "no condition 'bogus'. There are: and, " in await refused(hass, conditions=[{"condition": "bogus"}])


async def test_an_unknown_action_is_answered_with_its_keys(hass: HomeAssistant) -> None:
    told = await refused(hass, actions=[{"frobnicate": 1}])
    assert "actions[0] is " in told
    assert "a key: action, delay, " in told


async def test_a_long_value_is_cut(hass: HomeAssistant) -> None:
    told = await refused(hass, triggers=[{"trigger": "time", "at": "x" * 5_000}])
    assert len(told) < 500
