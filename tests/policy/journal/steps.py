"""What tests of taking back do to the house."""

from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import act

QUICK = {"verify_seconds": 0.05}

type ByHand = tuple[str, dict[str, Any]]


async def ticks(hass: HomeAssistant, freezer: FrozenDateTimeFactory, seconds: int) -> None:
    """Let time pass, second by second, as slow covers move."""
    for _ in range(seconds):
        freezer.tick(1)
        async_fire_time_changed(hass)
        await hass.async_block_till_done()


async def do(hass: HomeAssistant, service: str, entity_id: str | list[str], **data: Any) -> None:
    domain, name = service.split(".")
    await hass.services.async_call(domain, name, {"entity_id": entity_id, **data}, blocking=True)


async def control(
    hass: HomeAssistant, user: MockUser, action: str, entity_id: str | list[str], **parameters: Any
) -> Any:
    data = {
        "tool_name": "ha_control",
        "parameters": {"action": action, "entity_id": entity_id, "parameters": parameters},
    }
    result = await act(hass, "execute_tool", Context(user_id=user.id), **data)
    assert result["success"], result
    return result["result"]


def look(hass: HomeAssistant, entity_id: str, *names: str) -> list[object]:
    state = hass.states.get(entity_id)
    assert state is not None
    return [state.state, *(state.attributes.get(name) for name in names)]


async def newest(hass: HomeAssistant) -> dict[str, Any]:
    """Return what the journal tells of what was done last, besides what was undone."""
    actions = (await act(hass, "list_actions"))["actions"]
    return next(dict(action) for action in actions if action["tool_name"] != "ha_undo")


async def exposed(hass: HomeAssistant, domain: str, config: dict[str, Any] | list[Any]) -> None:
    """Set up something of a domain, and expose all there is."""
    assert await async_setup_component(hass, domain, {domain: config})
    await hass.async_block_till_done()
    for entity_id in hass.states.async_entity_ids():
        async_expose_entity(hass, ASSISTANT, entity_id, True)
