"""An automation that asks an agent says what happened, to an agent that there is."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.check import async_problems
from custom_components.home_agent.automations.draft import async_draft
from tests.house import set_up

pytestmark = pytest.mark.usefixtures("demo_house")
ONE = [{"trigger": "state", "entity_id": "lock.front_door", "to": "unlocked"}]
TWO = [{"trigger": "state", "entity_id": ["lock.front_door", "cover.kitchen_window"]}]


async def told(hass: HomeAssistant, triggers: list[dict[str, Any]], data: dict[str, Any]) -> list[str]:
    assert await async_setup_component(hass, "automation", {})
    await set_up(hass)
    actions = [{"action": "home_agent.process", "data": data, "response_variable": "answer"}]
    draft = await async_draft(hass, {"alias": "Wake", "triggers": triggers, "actions": actions})
    return [problem.path for problem in await async_problems(hass, draft, knows=lambda _: True)]


@pytest.mark.parametrize(
    ("triggers", "data"),
    [
        (ONE, {"text": "The front door was unlocked. Is somebody expected?"}),
        (TWO, {"text": "{{ trigger.to_state.name }} was opened. Is somebody expected?"}),
        (ONE, {"text": "The front door was unlocked, what now?", "profile": "Home Agent"}),
        (ONE, {"text": "The front door was unlocked, what now?", "profile": "home_agent"}),
    ],
)
async def test_what_is_fine(hass: HomeAssistant, triggers: list[dict[str, Any]], data: dict[str, Any]) -> None:
    assert await told(hass, triggers, data) == []


@pytest.mark.parametrize(
    ("triggers", "data", "path"),
    [
        (ONE, {"text": "Look!"}, "actions[0].data.text"),
        (TWO, {"text": "Something was opened. Is somebody expected?"}, "actions[0].data.text"),
        (ONE, {"text": "The front door was unlocked, what now?", "profile": "butler"}, "actions[0].data.profile"),
    ],
)
async def test_what_is_missing(
    hass: HomeAssistant, triggers: list[dict[str, Any]], data: dict[str, Any], path: str
) -> None:
    assert await told(hass, triggers, data) == [path]
