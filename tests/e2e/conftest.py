"""A Home Assistant per test session for the tests that leave it as they found it, and one of one's own for the others."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.llm_server import LLMServer

from .harness import Hass
from .house import furnish


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here."""
    for item in items:
        item.add_marker(pytest.mark.e2e)


@pytest.fixture
async def own_hass(tmp_path: Path) -> AsyncGenerator[Hass]:
    """A furnished Home Assistant for this test alone, without Home Agent; its log must stay clean."""
    async with Hass(tmp_path / "config").running() as hass:
        await furnish(hass)
        yield hass
    hass.assert_clean_log()


@pytest.fixture
async def llm_server() -> AsyncGenerator[LLMServer]:
    """A scripted endpoint on loopback; every planned reply must be asked for, and nothing else."""
    server = LLMServer()
    await server.start()
    yield server
    await server.stop()
    server.assert_done()
