"""Authentication of a tool at its server: a token, a name with a password, or OAuth 2.0 client credentials."""

import asyncio
import base64
from dataclasses import dataclass, field
from http import HTTPStatus
import time
from typing import override
from urllib.parse import quote_plus

from aiohttp import hdrs
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads
from yarl import URL

from .encoding import query_string
from .http import Http, HttpRequest, HttpResponse, RequestFailed

MARGIN = 30  # seconds before its expiry in which a token is not used
DEFAULT_LIFE = 300  # seconds of a token without `expires_in`


@dataclass(frozen=True, slots=True)
class FixedHeader:
    """An `Authorization` header that never changes."""

    value: str = field(repr=False)
    hidden: tuple[str, ...] = field(repr=False)
    """Texts to mask everywhere."""

    async def async_header(self, request: HttpRequest) -> str:
        """Return the value."""
        return self.value

    def refused(self, header: str) -> bool:
        """Return False: a refused header cannot be renewed."""
        return False


def bearer(token: str) -> FixedHeader:
    """Return the header of a token."""
    return FixedHeader(f"Bearer {token}", (token,))


def basic(username: str, password: str) -> FixedHeader:
    """Return the header of a name and a password."""
    encoded = base64.b64encode(f"{username}:{password}".encode()).decode()
    return FixedHeader(f"Basic {encoded}", (password, encoded))


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthClient:
    """A client at its authorization server (RFC 6749, 4.4)."""

    token_url: URL
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    audience: str = ""
    in_body: bool = False
    """Send id and secret in the form, not as a header."""


class ClientCredentials:
    """Gets a token and keeps it until it expires."""

    def __init__(self, http: Http, client: OAuthClient) -> None:
        """Prepare; the first request gets the token."""
        self._http = http
        self._client = client
        self._token = ""
        self._valid_until = 0.0
        """Of `time.monotonic`."""
        self._one_at_a_time = asyncio.Lock()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Return the secret in both its forms, and the current token."""
        return (self._client.client_secret, self._basic().value.partition(" ")[2], self._token)

    async def async_header(self, request: HttpRequest) -> str:
        """Return the current token, or a new one. Raises `ToolRefusal`."""
        async with self._one_at_a_time:
            if time.monotonic() >= self._valid_until:
                await self._async_renew(request)
            return f"Bearer {self._token}"

    def refused(self, header: str) -> bool:
        """Drop the token, unless it was replaced meanwhile; return True: a new one can be had."""
        if header == f"Bearer {self._token}":
            self._valid_until = 0.0
        return True

    async def _async_renew(self, request: HttpRequest) -> None:
        client = self._client
        form: dict[str, object] = {"grant_type": "client_credentials"}
        form |= {key: value for key in ("scope", "audience") if (value := getattr(client, key))}
        headers: dict[str, str] = {
            hdrs.CONTENT_TYPE: "application/x-www-form-urlencoded",
            hdrs.ACCEPT: "application/json",
        }
        if client.in_body:
            form |= {"client_id": client.client_id, "client_secret": client.client_secret}
        else:
            headers[hdrs.AUTHORIZATION] = self._basic().value
        asked = HttpRequest(
            method=hdrs.METH_POST,
            url=client.token_url,
            headers=headers,
            body=query_string(form).encode(),
            timeout=request.timeout,
            verify_ssl=request.verify_ssl,
            tool=request.tool,
        )
        response = await self._http.async_send(asked)
        self._token, life = _read(asked, response)
        self._valid_until = time.monotonic() + max(life - MARGIN, 0)

    def _basic(self) -> FixedHeader:
        # Both are encoded as in a form first (RFC 6749, 2.3.1).
        return basic(quote_plus(self._client.client_id), quote_plus(self._client.client_secret))

    @override
    def __eq__(self, other: object) -> bool:
        """Return whether the same client asks the same server."""
        return isinstance(other, ClientCredentials) and other._client == self._client

    @override
    def __hash__(self) -> int:
        return hash(self._client)

    @override
    def __repr__(self) -> str:
        """Return no secret."""
        return f"<{type(self).__name__} {self._client.token_url.host}>"


type Auth = FixedHeader | ClientCredentials
"""Provides the header, and the texts to mask."""


def _read(request: HttpRequest, response: HttpResponse) -> tuple[str, float]:
    """Return the token and its seconds. Raises `RequestFailed`, without the server's words."""
    if response.status != HTTPStatus.OK:
        raise RequestFailed(f"{request.host} gave no access token: {response.reason}.")
    try:
        answer = json_loads(response.body)
    except JSON_DECODE_EXCEPTIONS as err:
        raise RequestFailed(f"{request.host} gave no access token, but other content.") from err
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise RequestFailed(f"{request.host} gave no access token, but other content.")
    assert isinstance(answer, dict)
    life = answer.get("expires_in")
    return token, float(life) if isinstance(life, (int, float)) else DEFAULT_LIFE
