"""The HTTP client that endpoints are asked with: like Home Assistant's shared one, but an error is not read without end.

The `openai` library reads the whole body of a refusal, however long it is, before it tells that there was one.
"""

from collections.abc import AsyncIterator
import time
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.httpx_client import create_async_httpx_client
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN, LOGGER

MAX_ERROR = 64 * 1024  # bytes of the body of an error that are read
MAX_ERROR_SECONDS = 10.0
_PLAIN = ("", "identity")

_CLIENTS: HassKey[dict[bool, Any]] = HassKey(f"{DOMAIN}_http_clients")
"""By whether certificates are verified; Home Assistant closes them when it stops."""


@callback
def http_client(hass: HomeAssistant, *, verify_ssl: bool) -> Any:
    """Return the client for all endpoints; of httpx or httpx2, whichever Home Assistant itself uses."""
    clients = hass.data.setdefault(_CLIENTS, {})
    if verify_ssl not in clients:
        clients[verify_ssl] = create_async_httpx_client(hass, verify_ssl, event_hooks={"response": [_bound_error]})
    return clients[verify_ssl]


async def _bound_error(response: Any) -> None:
    """Put an end to the body of an error before anybody reads it."""
    if not response.is_error:
        return
    # A few packed bytes may be a great many: nobody unpacks them.
    most = MAX_ERROR if response.headers.get("content-encoding", "").strip().lower() in _PLAIN else 0
    if not most:
        del response.headers["content-encoding"]
    [stream_type] = [kind for kind in type(response.stream).__mro__ if kind.__name__ == "AsyncByteStream"]
    response.stream = _bounded(stream_type)(response.stream, most)


def _bounded(stream_type: type) -> Any:
    """Return a stream of the HTTP library that ends after so many bytes; it needs one of its own kind."""

    async def iterate(self: Any) -> AsyncIterator[bytes]:
        ends, left = time.monotonic() + MAX_ERROR_SECONDS, self.most
        if not left:
            return
        try:
            async for chunk in self.inner:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0 or time.monotonic() > ends:
                    return
        except Exception as err:  # noqa: BLE001 - what was read has to do: that there is an error is known already
            LOGGER.debug("The body of an error broke off: %s", type(err).__name__)

    async def aclose(self: Any) -> None:
        await self.inner.aclose()

    def init(self: Any, inner: Any, most: int) -> None:
        self.inner, self.most = inner, most

    return type("BoundedError", (stream_type,), {"__init__": init, "__aiter__": iterate, "aclose": aclose})
