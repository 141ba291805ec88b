"""Files that are really written, and read again."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.support.kept import kept_things


@pytest.fixture
def hass_storage() -> dict[str, Any]:
    """Have files written; the harness would only pretend to."""
    return {}


async def restart(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Load the entry again, with nothing in memory."""
    assert await hass.config_entries.async_unload(entry.entry_id)
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
