"""What the tests of forms share."""

from collections.abc import Sequence

from aiohttp.abc import ResolveResult
import pytest

from custom_components.home_agent.client import discovery
from custom_components.home_agent.support import http
from tests.client.conftest import server_certificate, tls_server

__all__ = ["server_certificate", "tls_server"]


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no name of a host be known: a tool is tried before it is stored."""

    async def unknown(_host: str) -> Sequence[ResolveResult]:
        raise OSError("unknown name")

    monkeypatch.setattr(http, "resolve_by", lambda _hass: unknown)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", 1)
