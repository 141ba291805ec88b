"""The memory of a home that is set up, and what is put into it."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import Draft, MemorySource, Scope
from custom_components.home_agent.prompt.providers import ContextRequest
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.kept import kept_of
from custom_components.home_agent.turn.turn import Turn
from tests.house import set_up

HOUSE = Scope(owners=frozenset({None}), owner=None)


def said(content: str, **fields: Any) -> Draft:
    return Draft(**{"content": content, "source": MemorySource.SAID, **fields})


def extracted(content: str, **fields: Any) -> Draft:
    """Return what a model thought worth keeping."""
    return Draft(**{"content": content, "source": MemorySource.EXTRACTED, **fields})


def asked(entry: MockConfigEntry) -> list[str]:
    """Return the names of the context providers that a turn of the home asks."""
    turn = Turn(profile=Profile(name="Anna"), conversation_id="c", text="", language="en", context=Context())
    request = ContextRequest(turn=turn, query=Query(text="tea", language="en"), tokens=1000)
    return [item.name for item in entry.runtime_data.sources.providers._providers if item.is_asked(request)]


@pytest.fixture
async def memories(hass: HomeAssistant) -> Memories:
    """Return the memory of a home whose settings are the default ones."""
    await set_up(hass)
    return kept_of(hass, Memories)
