"""A home with the real services of its domains, and the tools in it."""

from collections.abc import Awaitable, Callable
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import pytest

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.policy.write import Writes
from custom_components.home_agent.tools.control import HaControl
from custom_components.home_agent.tools.query import HaQuery
from custom_components.home_agent.turn.plan import Plan
from custom_components.home_agent.turn.turn import Turn
from tests.entities import demo_house, demo_platforms, home, put, turn, user

__all__ = ["demo_house", "demo_platforms", "home", "put", "turn", "user"]

type Ask = Callable[..., Awaitable[Any]]
type MakePlan = Callable[..., Awaitable[Plan]]


async def ask(hass: HomeAssistant, tool: HomeAgentTool, turn: Turn, args: dict[str, Any]) -> JsonValueType:
    """Do what the policy does with arguments of a model, but for its checks."""
    valid = tool.parameters(args)
    plan = await tool.plan(hass, valid, turn)
    return await Writes().async_run(hass, turn, tool, valid, plan)


@pytest.fixture
def control(hass: HomeAssistant, home: Home, turn: Turn) -> Ask:
    """Return a function that controls and returns the result."""

    async def control(action: str, entity_id: object, parameters: object = None, **more: Any) -> Any:
        return await ask(
            hass, HaControl(home), turn, {"action": action, "entity_id": entity_id, "parameters": parameters, **more}
        )

    return control


@pytest.fixture
def planned(hass: HomeAssistant, home: Home, turn: Turn) -> MakePlan:
    async def planned(action: str, entity_id: object, parameters: object = None, **more: Any) -> Plan:
        tool = HaControl(home)
        args = {"action": action, "entity_id": entity_id, "parameters": parameters, **more}
        return await tool.plan(hass, tool.parameters(args), turn)

    return planned


@pytest.fixture
def query(hass: HomeAssistant, home: Home, turn: Turn) -> Ask:
    """Return a function that queries and returns the result."""

    async def query(entity_id: object, **more: Any) -> Any:
        return await ask(hass, HaQuery(home), turn, {"entity_id": entity_id, **more})

    return query
