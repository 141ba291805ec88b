"""A house whose light does not follow, whose shutter is slow and whose thermostat remembers."""

from collections.abc import Callable
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import build_house

HELPERS = {
    "input_boolean": {"wall": {"initial": False}, "scene_on": None},
    "input_number": {"level": {"min": 0, "max": 100, "initial": 20}},
    "input_select": {"mode": {"options": ["day", "night"], "initial": "day"}},
    "input_text": {"note": {"initial": "old"}},
    "input_datetime": {"alarm": {"has_date": False, "has_time": True, "initial": "07:00"}},
    "timer": {"egg": {"duration": "00:05:00"}},
    "script": {"party": {"sequence": []}},
    "template": [{"light": [{"name": "Dead lamp", "state": "{{ false }}", "turn_on": [], "turn_off": []}]}],
}


@pytest.fixture
async def house_with_helpers(hass: HomeAssistant, house: None) -> None:
    """Build the house, with helpers and a lamp whose bulb is loose; everything is exposed."""
    await build_house(hass)
    for domain, config in HELPERS.items():
        assert await async_setup_component(hass, domain, {domain: config})
    await hass.async_block_till_done()
    for entity_id in hass.states.async_entity_ids():
        async_expose_entity(hass, ASSISTANT, entity_id, True)


@pytest.fixture
def another_user(hass: HomeAssistant) -> Callable[..., MockUser]:
    """Return a function that makes a user who may control only these entities."""

    def make(*entity_ids: str, **entities: Any) -> MockUser:
        user = MockUser(name="Other").add_to_hass(hass)
        user.mock_policy({"entities": {"entity_ids": dict.fromkeys(entity_ids, True), **entities}})
        return user

    return make
