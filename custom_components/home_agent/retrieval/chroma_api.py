"""Requests to a Chroma server: its REST API, version 2, over Home Assistant's own HTTP session (decision 8)."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
import ssl
from typing import Any

from aiohttp import ClientConnectorCertificateError, ClientError, ClientSSLError, ClientTimeout, ServerDisconnectedError
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
import orjson
from yarl import URL

from ..errors import StoreError, StoreRefusedError
from .settings import RetrievalSettings

CONNECT_TIMEOUT = 2.0  # seconds
QUERY_TIMEOUT = 3.0  # seconds that a turn waits at most
INDEX_TIMEOUT = 30.0  # seconds for one request of the index
RETRY_DELAY = 1.0  # seconds until the index asks once more (D-9)

_AWAY = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
"""What a proxy says whose server is away."""

type JSON = dict[str, Any]


class ChromaApi:
    """One database of a server. Every request ends within its time limit; what goes wrong is a `StoreError`."""

    def __init__(self, hass: HomeAssistant, settings: RetrievalSettings) -> None:
        """Remember where it is; nothing is sent."""
        self.title = f"Chroma ({settings.chroma_host}:{settings.chroma_port})"
        self._hass = hass
        self._session = async_get_clientsession(hass, verify_ssl=settings.chroma_verify_ssl)
        self._root = _root_of(settings)
        token = settings.chroma_token.strip()
        self._headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}

    async def async_get(self, *path: str, **query: int) -> Any | None:
        """Return what is there, None when no such collection is."""
        return await self._async_request("GET", path, None, False, query)

    async def async_post(self, *path: str, body: Mapping[str, Any], patient: bool = False) -> Any | None:
        """Send JSON, which may hold arrays, and return the answer; None when there is no such collection.

        With `patient`, nobody waits for it: there is more time, and another attempt.
        """
        return await self._async_request("POST", path, body, patient)

    async def async_delete(self, *path: str) -> None:
        """Delete what is there."""
        await self._async_request("DELETE", path, None, True)

    async def _async_request(
        self,
        method: str,
        path: tuple[str, ...],
        body: Mapping[str, Any] | None,
        patient: bool,
        query: Mapping[str, int] | None = None,
    ) -> Any | None:
        if self._root is None:
            raise self._error("store_unreachable", "InvalidURL")
        data = None if body is None else await self._hass.async_add_executor_job(_dump, body)
        url = self._root.joinpath(*path).with_query(query)
        within = INDEX_TIMEOUT if patient else QUERY_TIMEOUT
        try:
            return await self._async_send(method, url, data, within)
        except StoreError as err:
            if isinstance(err.__cause__, ServerDisconnectedError):  # a kept connection of a server that was restarted
                return await self._async_send(method, url, data, within)
            if not patient or err.translation_key != "store_unreachable":
                raise
        await asyncio.sleep(RETRY_DELAY)
        return await self._async_send(method, url, data, within)

    async def _async_send(self, method: str, url: URL, data: bytes | None, within: float) -> Any | None:
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        timeout = ClientTimeout(total=within, connect=CONNECT_TIMEOUT)
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                raw = await response.read()
                status = response.status
        except TimeoutError as err:
            raise self._error("store_timeout", str(int(within))) from err
        except (ClientConnectorCertificateError, ClientSSLError, ssl.SSLError) as err:
            raise self._error("store_certificate", type(err).__name__) from err
        except (ClientError, OSError) as err:
            raise self._error("store_unreachable", type(err).__name__) from err
        return await self._async_read(status, raw)

    async def _async_read(self, status: int, raw: bytes) -> Any | None:
        try:
            answer = await self._hass.async_add_executor_job(orjson.loads, raw) if raw else {}
        except ValueError:
            answer = None
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise self._error("store_auth", f"HTTP {status}")
        if status in _AWAY:
            raise self._error("store_unreachable", f"HTTP {status}")
        if status < HTTPStatus.MULTIPLE_CHOICES and answer is not None:
            return answer
        said = str(answer.get("message", "")) if isinstance(answer, dict) else ""
        if status == HTTPStatus.NOT_FOUND and "ollection" in said:
            return None
        if "dimension" in said:
            raise StoreRefusedError(store=self.title, collection="", detail=f"HTTP {status}")
        if status == HTTPStatus.NOT_FOUND and said:
            raise self._error("store_database", f"HTTP {status}")
        raise self._error("store_answer", f"HTTP {status}")

    def _error(self, key: str, detail: str) -> StoreError:
        return StoreError(key, store=self.title, detail=detail)


def _root_of(settings: RetrievalSettings) -> URL | None:
    """Return the address of the database, None when the host makes none."""
    scheme = "https" if settings.chroma_tls else "http"
    try:
        server = URL.build(scheme=scheme, host=settings.chroma_host, port=settings.chroma_port)
    except ValueError:
        return None
    return server.joinpath("api/v2/tenants", settings.chroma_tenant, "databases", settings.chroma_database)


def _dump(body: Mapping[str, Any]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
