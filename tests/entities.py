"""Fixtures of a home with the real services of its domains: for the tests of what an entity can do, and of the tools."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any
from unittest.mock import patch

from homeassistant.components import demo
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.turn.turn import Turn

type Put = Callable[..., Awaitable[str]]


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
def user(hass: HomeAssistant, request: pytest.FixtureRequest) -> MockUser | None:
    """Nobody; parametrized with entity ids, a user who may see these."""
    if (visible := getattr(request, "param", None)) is None:
        return None
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": dict.fromkeys(visible, True)}})
    return user


@pytest.fixture
def turn(user: MockUser | None) -> Turn:
    return Turn(profile=Profile(name="Anna"), conversation_id="c", text="", language="en", context=Context(), user=user)


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
