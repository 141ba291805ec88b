"""Stores and documents for the tests of retrieval."""

from collections.abc import AsyncGenerator, Generator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import numpy as np
import pytest

from custom_components.home_agent.search.model import Document
from custom_components.home_agent.search.vectors import Store, make_store
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support import outages as health
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.issues import RetrievalIssues

from .chroma import PYTHON, ChromaServer

if TYPE_CHECKING:
    from custom_components.home_agent.search.model import VectorRows

KEY = "test 3"


def document(item: str, text: str = "", **metadata: str | float | bool) -> Document:
    text = text or f"Text of {item}"
    digest = sha256(f"{text} {sorted(metadata.items())}".encode()).hexdigest()
    return Document(id=item, text=text, metadata=metadata, digest=digest)


def rows(*vectors: Sequence[float]) -> VectorRows:
    array = np.array(vectors, dtype=np.float32)
    array /= np.linalg.norm(array, axis=1, keepdims=True)
    return array


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PAUSE", 0.0)


@pytest.fixture(scope="session")
def chroma_process(tmp_path_factory: pytest.TempPathFactory) -> Generator[ChromaServer]:
    """Return a server for all tests of a worker, to be started by the first one: this one may not open sockets."""
    server = ChromaServer(tmp_path_factory.mktemp("chroma"))
    yield server
    server.kill()


@pytest.fixture
def chroma_server(chroma_process: ChromaServer, socket_enabled: None) -> ChromaServer:
    if not PYTHON.exists():
        pytest.skip("no .venv-chroma here: run scripts/setup")
    chroma_process.start()
    chroma_process.clear()
    return chroma_process


@pytest.fixture
def chroma_settings(chroma_server: ChromaServer) -> RetrievalSettings:
    return RetrievalSettings(store="chroma", chroma_host="127.0.0.1", chroma_port=chroma_server.port)


@pytest.fixture(params=["embedded", "chroma"])
async def store(request: pytest.FixtureRequest, hass: HomeAssistant) -> AsyncGenerator[Store]:
    settings = RetrievalSettings()
    if request.param == "chroma":
        settings = request.getfixturevalue("chroma_settings")
    opened = make_store(hass, settings, RetrievalIssues(hass))
    await opened.async_open()
    yield opened
    for name in await opened.async_collections():
        await opened.async_drop(name)
    await opened.async_close()


def failing(hass: HomeAssistant) -> list[str | None]:
    return [issue.translation_key for (domain, _), issue in ir.async_get(hass).issues.items() if domain == DOMAIN]
