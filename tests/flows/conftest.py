"""What the tests of forms share."""

import pytest

from custom_components.home_agent.client import discovery
from tests.client.conftest import server_certificate, tls_server

__all__ = ["server_certificate", "tls_server"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", 1)
