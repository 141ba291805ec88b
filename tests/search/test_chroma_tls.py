"""A real Chroma server behind TLS and a token, as a proxy in front of it offers them."""

import asyncio
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
import ssl
import threading

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.search.chroma_store import ChromaStore
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support.errors import StoreError
from custom_components.home_agent.support.issues import RetrievalIssues
from tests.client.conftest import server_certificate

from .chroma import ChromaServer
from .conftest import KEY, document, rows

__all__ = ["server_certificate"]

TOKEN = "secret-token"
REFUSAL = (
    b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
)
AWAY = (
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 11\r\nConnection: close\r\n\r\nBad Gateway"
)


class Proxy:
    """Lets those through to Chroma who know the token."""

    def __init__(self, chroma: ChromaServer) -> None:
        self.port = 0
        self.heads: list[bytes] = []
        self._chroma = chroma
        self._server: asyncio.Server | None = None

    async def start(self, certificate: ssl.SSLContext) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=certificate)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self._server.close_clients()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            body = await reader.readexactly(length)
            writer.write(await self._answer(head, body) if f"Bearer {TOKEN}".encode() in head else REFUSAL)
            await writer.drain()
        writer.close()

    async def _answer(self, head: bytes, body: bytes) -> bytes:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._chroma.port)
        except OSError:
            return AWAY
        writer.write(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + body)
        answer = await reader.read()
        writer.close()
        return answer


@pytest.fixture
def proxy(chroma_server: ChromaServer, server_certificate: ssl.SSLContext) -> Generator[Proxy]:
    """Return a proxy whose certificate nobody vouches for.

    In a loop of its own: a handshake that the client refuses is an error in the server's loop, which must not be ours.
    """
    proxy = Proxy(chroma_server)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(proxy.start(server_certificate), loop).result(5)
    yield proxy
    asyncio.run_coroutine_threadsafe(proxy.stop(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)
    loop.close()


@pytest.fixture
def settings(proxy: Proxy) -> RetrievalSettings:
    """Return settings that lead to the proxy and do not mind its certificate."""
    return RetrievalSettings(
        store="chroma",
        chroma_host="127.0.0.1",
        chroma_port=proxy.port,
        chroma_tls=True,
        chroma_token=TOKEN,
        chroma_verify_ssl=False,
    )


async def test_all_that_a_store_does(hass: HomeAssistant, settings: RetrievalSettings) -> None:
    store = ChromaStore(hass, settings, RetrievalIssues(hass))
    await store.async_open()
    kettle, lamp = document("switch.kettle"), document("light.lamp")
    await store.async_upsert("entities", [kettle, lamp], rows([1, 0], [0, 1]), KEY)
    assert await store.async_collections() == {"entities": 2}
    assert await store.async_digests("entities", KEY) == {kettle.id: kettle.digest, lamp.id: lamp.digest}
    found = await store.async_query("entities", [1.0, 0.0], 1)
    assert [match.id for match in found or ()] == ["switch.kettle"]
    await store.async_delete("entities", ["switch.kettle"])
    assert [item.id for item in await store.async_documents("entities")] == ["light.lamp"]
    await store.async_drop("entities")
    assert await store.async_collections() == {}


async def test_an_untrusted_server_gets_nothing(hass: HomeAssistant, settings: RetrievalSettings, proxy: Proxy) -> None:
    store = ChromaStore(hass, replace(settings, chroma_verify_ssl=True), RetrievalIssues(hass))
    with pytest.raises(StoreError) as failure:
        await store.async_open()
    assert failure.value.translation_key == "store_certificate"
    assert proxy.heads == []


async def test_wrong_token(hass: HomeAssistant, settings: RetrievalSettings) -> None:
    store = ChromaStore(hass, replace(settings, chroma_token="another"), RetrievalIssues(hass))
    with pytest.raises(StoreError) as failure:
        await store.async_open()
    assert failure.value.translation_key == "store_auth"


async def test_plain_text_to_a_server_that_wants_tls(hass: HomeAssistant, settings: RetrievalSettings) -> None:
    store = ChromaStore(hass, replace(settings, chroma_tls=False), RetrievalIssues(hass))
    with pytest.raises(StoreError) as failure:
        await store.async_open()
    assert failure.value.translation_key in ("store_unreachable", "store_answer")


async def test_behind_a_proxy(hass: HomeAssistant, settings: RetrievalSettings, chroma_server: ChromaServer) -> None:
    store = ChromaStore(hass, settings, RetrievalIssues(hass))
    await store.async_open()
    await store.async_upsert("entities", [document("light.lamp")], rows([0, 1]), KEY)
    chroma_server.kill()
    with pytest.raises(StoreError) as failure:
        await store.async_query("entities", [1.0, 0.0], 1)
    assert failure.value.translation_key == "store_unreachable"
    chroma_server.start()
    assert len(await store.async_query("entities", [1.0, 0.0], 1) or ()) == 1
