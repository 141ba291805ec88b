"""A home with the real services of its domains, and the tools in it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any
from unittest.mock import patch

from homeassistant.components import demo
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util.json import JsonValueType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.const import ASSISTANT, DOMAIN
from custom_components.home_agent.home import Home
from custom_components.home_agent.profiles.profile import Profile
from custom_components.home_agent.safety.carry_out import async_carry_out
from custom_components.home_agent.safety.plan import Plan
from custom_components.home_agent.safety.tool import HomeAgentTool
from custom_components.home_agent.safety.write import Writes
from custom_components.home_agent.tools.ha_control import HaControl
from custom_components.home_agent.tools.ha_query import HaQuery
from custom_components.home_agent.turn import Turn

type Put = Callable[..., Awaitable[str]]
type Ask = Callable[..., Awaitable[Any]]
type MakePlan = Callable[..., Awaitable[Plan]]


@pytest.fixture
async def home(hass: HomeAssistant) -> AsyncGenerator[Home]:
    """The exposed home, which follows its changes."""
    entry = MockConfigEntry(domain=DOMAIN)
    entry.add_to_hass(hass)
    home = Home(hass, entry)
    home.async_start()
    yield home
    await entry._async_process_on_unload(hass)


@pytest.fixture
def turn() -> Turn:
    """A turn of nobody in particular."""
    return Turn(profile=Profile(name="Anna"), conversation_id="c", text="", language="en", context=Context())


@pytest.fixture
def put(hass: HomeAssistant) -> Put:
    """Return a function that sets a domain up and gives it an entity with a state."""

    async def put(entity_id: str, state: str = "on", /, *, exposed: bool = True, **attributes: Any) -> str:
        assert await async_setup_component(hass, entity_id.partition(".")[0], {})
        async_expose_entity(hass, ASSISTANT, entity_id, exposed)
        hass.states.async_set(entity_id, state, attributes)
        return entity_id

    return put


@pytest.fixture
def demo_platforms() -> list[str]:
    """Platforms of the demo house; parametrize to have others."""
    return ["light", "lock", "cover", "climate", "media_player", "fan", "switch"]


@pytest.fixture
async def demo_house(hass: HomeAssistant, demo_platforms: list[str]) -> None:
    """Home Assistant's demo entities, all exposed."""
    with patch.object(demo, "COMPONENTS_WITH_CONFIG_ENTRY_DEMO_PLATFORM", demo_platforms):
        assert await async_setup_component(hass, "demo", {})
        await hass.async_block_till_done(wait_background_tasks=True)
    for entity_id in hass.states.async_entity_ids():
        async_expose_entity(hass, ASSISTANT, entity_id, True)


async def ask(hass: HomeAssistant, tool: HomeAgentTool, turn: Turn, args: dict[str, Any]) -> JsonValueType:
    """Do what the policy does with arguments of a model, but for its checks."""
    valid = tool.parameters(args)
    plan = await tool.plan(hass, valid, turn)
    return await async_carry_out(hass, Writes(), turn, tool, valid, plan)


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
    """Return a function that only plans."""

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
