"""A house whose owner has documents, in a configuration folder of its own."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.search.knowledge import FOLDER, Knowledge
from tests.house import set_up
from tests.search.conftest import chroma_process, chroma_server, chroma_settings, no_pause

__all__ = ["chroma_process", "chroma_server", "chroma_settings", "no_pause"]

COFFEE = """# Coffee machine

Bought in 2021.

## Descaling

Pour 125 ml of descaler into the tank, hold the steam button for five seconds, wait for half an hour.

## Grinder

Set the grinder to step 4 for espresso.
"""
WIFI = "The guest network is called Garden. Its password is sunflower-seven."

type StartKnowledge = Callable[..., Awaitable[Knowledge]]


@pytest.fixture
def folder(hass: HomeAssistant) -> Path:
    path = Path(hass.config.path(*FOLDER))
    (path / "kitchen").mkdir(parents=True)
    (path / "kitchen" / "coffee.md").write_text(COFFEE)
    (path / "wifi.txt").write_text(WIFI)
    return path


@pytest.fixture
def start(hass: HomeAssistant) -> StartKnowledge:
    """Return how to set the house up, with options; its documents are read then."""

    async def start(**options: Any) -> Knowledge:
        entry = await set_up(hass, options=options)
        await hass.async_block_till_done(wait_background_tasks=True)
        knowledge: Knowledge = entry.runtime_data.knowledge
        return knowledge

    return start
