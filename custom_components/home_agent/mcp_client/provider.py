"""The tools of the servers that an assistant's owner chose."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from homeassistant.config_entries import ConfigEntry, ConfigSubentry
from homeassistant.const import CONF_URL
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.util import slugify
from yarl import URL

from ..client.names import free_name
from ..const import CONF_VERIFY_SSL, LOGGER, SUBENTRY_MCP_SERVER
from ..outside.auth import Auth, Client, ClientCredentials, bearer
from ..outside.http import Http
from ..outside.network import Reach
from ..profiles.profile import Profile
from .content import name_from, schema_from
from .sdk import AUTO, Address
from .server import Server, ServerConfig
from .tool import McpTool

CONF_TRANSPORT = "transport"
CONF_AUTH = "auth"
CONF_TOKEN = "token"  # noqa: S105 - the name of a field
CONF_TOKEN_URL = "token_url"  # noqa: S105 - the name of a field
CONF_CLIENT_ID = "client_id"
CONF_CLIENT_SECRET = "client_secret"  # noqa: S105 - the name of a field
CONF_SCOPE = "scope"
CONF_ALLOWED_TOOLS = "allowed_tools"
BEARER, OAUTH2, NO_AUTH = "bearer", "oauth2", "none"
RESERVED = frozenset({"query_external_llm", "all", "none"})


class McpTools:
    """Offers the tools of all servers."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry, taken: Callable[[], Collection[str]]) -> None:
        """Take which names are others'."""
        self._entry = entry
        self._http = Http(hass, Reach(allow_private_hosts=True))
        self._taken = taken
        self._tools: dict[tuple[str, str], McpTool] = {}
        self._made_from: object = None
        """What the servers listed then, and which names were others'."""
        self.servers = {
            subentry.subentry_id: Server(hass, config_from(subentry, self._http))
            for subentry in entry.get_subentries_of_type(SUBENTRY_MCP_SERVER)
        }

    @callback
    def async_start(self) -> None:
        """Connect to all servers at once, in the background."""
        for server in self.servers.values():
            server.async_start(self._entry)

    async def async_close(self) -> None:
        """Leave the servers, then close what got their tokens: a connection that is being made would open it again."""
        await asyncio.gather(*(server.async_stop() for server in self.servers.values()))
        await self._http.async_close()

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[McpTool]:
        """Return the tools of those servers of a profile that answer."""
        if not profile.mcp_servers:
            return ()
        listed = tuple((server.config.subentry_id, server.usable()) for server in self.servers.values())
        taken = frozenset({*RESERVED, *self._taken()})
        if (listed, taken) != self._made_from:
            self._tools, self._made_from = dict(self._made(taken)), (listed, taken)
        return [
            tool
            for (server_id, _), tool in self._tools.items()
            if server_id in profile.mcp_servers and self.servers[server_id].connected
        ]

    def _made(self, taken: Collection[str]) -> Iterator[tuple[tuple[str, str], McpTool]]:
        """Yield all tools; one that has not changed is the same object."""
        listed = [(server, tool) for server in self.servers.values() for tool in server.usable()]
        wanted = Counter(name_from(tool.name) for _, tool in listed)
        used: set[str] = set()
        told: set[tuple[str, str]] = set()
        for server, remote in listed:
            name, schema = name_from(remote.name), schema_from(remote.schema)
            if wanted[name] > 1 or name in taken or name.startswith("ha_"):
                name = name_from(f"{slugify(server.config.title)}_{remote.name}")
            key = (server.config.subentry_id, remote.name)
            name = free_name(name, {*used, *taken})
            if not name or schema is None or key in told:
                LOGGER.debug("A tool of %s cannot be offered: name or schema", server.config.title)
                continue
            used.add(name)
            told.add(key)
            known = self._tools.get(key)
            same = known is not None and known.name == name and known.remote == remote
            yield key, known if known is not None and same else McpTool(server, remote, name, schema)


def config_from(subentry: ConfigSubentry, http: Http) -> ServerConfig:
    """Return a server as it is stored."""
    data = subentry.data
    return ServerConfig(
        subentry_id=subentry.subentry_id,
        title=subentry.title,
        address=address_from(data, http, subentry.title),
        allowed=frozenset(data.get(CONF_ALLOWED_TOOLS) or ()),
    )


def address_from(data: Mapping[str, Any], http: Http, title: str = "") -> Address:
    """Return where a server is and how it is asked: exactly where its owner said, which no list of hosts narrows."""
    return Address(
        url=data[CONF_URL],
        transport=data.get(CONF_TRANSPORT, AUTO),
        verify_ssl=data.get(CONF_VERIFY_SSL, True),
        auth=_auth(data, http),
        name=title,
    )


def _auth(data: Mapping[str, Any], http: Http) -> Auth | None:
    match data.get(CONF_AUTH, NO_AUTH):
        case "bearer":
            return bearer(data[CONF_TOKEN])
        case "oauth2":
            client = Client(
                token_url=URL(data[CONF_TOKEN_URL]),
                client_id=data[CONF_CLIENT_ID],
                client_secret=data[CONF_CLIENT_SECRET],
                scope=data.get(CONF_SCOPE, ""),
            )
            return ClientCredentials(http, client)
    return None
