"""The kind of effect of these tests, and its tool beside `ha_undo`."""

from collections.abc import Iterator
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.policy.effects import KINDS
from custom_components.home_agent.tools.registry import NativeTools

from .notes import NOTES, NoteKind, WriteNote


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> NoteKind:
    """Register the kind and its tool."""
    kind, tool, offered = NoteKind(), WriteNote(), NativeTools.async_tools

    async def async_tools(self: NativeTools, *args: Any) -> Any:
        return (*await offered(self, *args), tool)

    monkeypatch.setitem(KINDS, kind.effect.kind, kind)
    monkeypatch.setattr(NativeTools, "async_tools", async_tools)
    return kind


@pytest.fixture
def notes(hass: HomeAssistant) -> Iterator[dict[str, str]]:
    hass.data[NOTES] = {}
    yield hass.data[NOTES]
    del hass.data[NOTES]
