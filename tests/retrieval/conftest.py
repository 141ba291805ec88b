"""Stores and documents for the tests of retrieval."""

from collections.abc import AsyncGenerator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
import numpy as np
import pytest

from custom_components.home_agent.issues import RetrievalIssues
from custom_components.home_agent.retrieval import health
from custom_components.home_agent.retrieval.base import Document, Store
from custom_components.home_agent.retrieval.embedded_store import EmbeddedStore

if TYPE_CHECKING:
    from custom_components.home_agent.retrieval.base import Vectors

KEY = "test 3"


def document(item: str, text: str = "", **metadata: str | float | bool) -> Document:
    """Return a document."""
    text = text or f"Text of {item}"
    digest = sha256(f"{text} {sorted(metadata.items())}".encode()).hexdigest()
    return Document(id=item, text=text, metadata=metadata, digest=digest)


def rows(*vectors: Sequence[float]) -> Vectors:
    """Return normalised vectors."""
    array = np.array(vectors, dtype=np.float32)
    array /= np.linalg.norm(array, axis=1, keepdims=True)
    return array


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask again at once after a failure."""
    monkeypatch.setattr(health, "PAUSE", 0.0)


@pytest.fixture
async def store(hass: HomeAssistant) -> AsyncGenerator[Store]:
    """Return an open, empty store."""
    opened = EmbeddedStore(hass, RetrievalIssues(hass))
    await opened.async_open()
    yield opened
    await opened.async_close()
