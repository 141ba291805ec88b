"""What the tests of forms share."""

import asyncio
from collections.abc import Iterator
import ssl
from threading import Thread

import pytest

from custom_components.home_agent.client import discovery
from tests.client.conftest import server_certificate
from tests.llm_server import LLMServer

__all__ = ["server_certificate"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", 1)


@pytest.fixture
def tls_server(socket_enabled: None, server_certificate: ssl.SSLContext) -> Iterator[LLMServer]:
    """Return an endpoint with a self-signed certificate.

    It has a loop of its own: handshakes that a client breaks off are errors in the loop of the server.
    """
    server, loop = LLMServer(), asyncio.SelectorEventLoop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(ssl_context=server_certificate), loop).result(10)
    yield server
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
