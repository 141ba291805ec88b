"""Servers that tools of the owner's own name: each is connected once, from the first call on."""

import asyncio

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from yarl import URL

from .sdk import Address
from .server import Server, ServerConfig


class SharedServers:
    """Connections by address; one that no tool uses any more is closed."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry) -> None:
        """Connections end with the entry."""
        self._hass = hass
        self._entry = entry
        self._servers: dict[Address, Server] = {}
        self._users: dict[Address, set[object]] = {}

    @callback
    def async_get(self, address: Address, user: object) -> Server:
        """Return the connection to an address, opened in the background."""
        if (server := self._servers.get(address)) is None:
            url = URL(address.url)
            place = f"{url.raw_authority}{url.raw_path}"
            config = ServerConfig(subentry_id=place, title=url.raw_authority, address=address)
            server = self._servers[address] = Server(self._hass, config)
            server.async_start(self._entry)
        self._users.setdefault(address, set()).add(user)
        return server

    async def async_release(self, address: Address, user: object) -> None:
        """Let go of an address; the last user closes the connection."""
        users = self._users.get(address, set())
        users.discard(user)
        if not users and (server := self._servers.pop(address, None)) is not None:
            del self._users[address]
            await server.async_stop()

    async def async_close(self) -> None:
        """Close all connections."""
        servers = [*self._servers.values()]
        self._servers.clear()
        self._users.clear()
        await asyncio.gather(*(server.async_stop() for server in servers))
