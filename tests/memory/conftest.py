"""The memory of a home that is set up, and what is put into it."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import Draft, MemorySource, Scope
from custom_components.home_agent.support.kept import kept_of
from tests.house import set_up

HOUSE = Scope(owners=frozenset({None}), owner=None)


def said(content: str, **fields: Any) -> Draft:
    return Draft(**{"content": content, "source": MemorySource.SAID, **fields})


def extracted(content: str, **fields: Any) -> Draft:
    """Return what a model thought worth keeping."""
    return Draft(**{"content": content, "source": MemorySource.EXTRACTED, **fields})


def asked(entry: MockConfigEntry) -> list[str]:
    """Return the names of the context providers that a turn asks."""
    return [provider.name for provider in entry.runtime_data.sources.providers._providers]


@pytest.fixture
async def memories(hass: HomeAssistant) -> Memories:
    """Return the memory of a home whose settings are the default ones."""
    await set_up(hass)
    return kept_of(hass, Memories)
