"""A turn of an administrator, and the tools in it."""

from collections.abc import Awaitable, Callable
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.turn.turn import Turn
from tests.entities import home, put

__all__ = ["home", "put"]

type Call = Callable[..., Awaitable[Any]]


@pytest.fixture
def boss(hass_admin_user: MockUser) -> MockUser:
    hass_admin_user.name = "Boss"
    return hass_admin_user


@pytest.fixture
async def turn(hass: HomeAssistant, boss: MockUser) -> Turn:
    for domain in ("homeassistant", "conversation"):
        assert await async_setup_component(hass, domain, {})
    return turn_of(boss)


def turn_of(user: MockUser | None) -> Turn:
    context = Context(user_id=user.id if user is not None else None)
    profile = Profile(name="Automations", automation_tools=True)
    return Turn(profile=profile, conversation_id="c", text="", language="en", context=context, user=user)
