"""Endpoints for the tests of the client."""

import asyncio
from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
import ipaddress
from pathlib import Path
import ssl
import threading
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client import chat_completions
from custom_components.home_agent.client.chat_completions import ChatCompletionsClient
from custom_components.home_agent.client.messages import ChatRequest, ModelReply
from custom_components.home_agent.settings.endpoint import EndpointConfig
from tests.llm_server import LLMServer
from tests.tools.custom.conftest import server

__all__ = ["server"]

type MakeClient = Callable[..., ChatCompletionsClient]

REQUEST = ChatRequest(messages=[{"role": "user", "content": "Is it on?"}])
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture
def make_client(hass: HomeAssistant, llm_server: LLMServer) -> MakeClient:
    config = EndpointConfig(
        subentry_id="id", title="Model", base_url=llm_server.base_url, api_key="sk-secret-1", model="scripted"
    )
    return lambda **changes: ChatCompletionsClient(hass, replace(config, **changes))


@pytest.fixture
def quick_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "RETRY_DELAY", 0.01)


def write_certificate(path: Path, name: x509.GeneralName) -> None:
    """Write the key and the certificate of a server that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([name]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )


@pytest.fixture
def server_certificate(tmp_path: Path) -> ssl.SSLContext:
    """Return the TLS context of a server whose certificate nobody vouches for."""
    pem = tmp_path / "server.pem"
    write_certificate(pem, x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


@pytest.fixture
def tls_server(socket_enabled: None, server_certificate: ssl.SSLContext) -> Generator[LLMServer]:
    """A scripted endpoint behind that certificate.

    In a loop of its own: a handshake that the client refuses is an error in the server's loop, which must not be ours.
    """
    server = LLMServer()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.start(ssl_context=server_certificate), loop).result(5)
    yield server
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()
    server.assert_done()


async def ask(
    client: ChatCompletionsClient, request: ChatRequest = REQUEST, reply: ModelReply | None = None
) -> list[dict[str, Any]]:
    return [dict(delta) async for delta in client.stream(request, ModelReply() if reply is None else reply)]


def said(deltas: list[dict[str, Any]]) -> str:
    return "".join(delta.get("content", "") for delta in deltas)
