"""The tools of the MCP servers that a profile names."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, override

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import CONF_URL
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.util import slugify
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio
from yarl import URL

from ...policy.tool import HomeAgentTool
from ...settings.profile import Profile
from ...support.auth import Auth, ClientCredentials, OAuthClient, bearer
from ...support.const import CONF_VERIFY_SSL, LOGGER, SUBENTRY_MCP_SERVER
from ...support.encoding import dump, inert
from ...support.errors import McpError, McpProtocolError, ToolRefusal
from ...support.http import EgressPolicy, Http
from ...support.masking import SecretMask
from ...turn.plan import DESTRUCTIVE, ActionClass, Plan
from ...turn.turn import Turn
from ..sanitize import (
    MAX_NAME,
    RESERVED,
    bounded,
    cleaned,
    cleaned_json,
    free_name,
    means_more,
    remote_name_from,
    schema_from,
    wrong_arguments,
)
from .sdk import McpResult, RemoteTool
from .server import Server, ServerConfig
from .wire import AUTO, Address

ALLOWED = "allowed_tools"  # key of the tools that may be called though they do not only read
BEARER, OAUTH2, NO_AUTH = "bearer", "oauth2", "none"
MAX_DESCRIPTION = 1000  # characters
MAX_TOLD = 100_000  # characters of all names, descriptions and schemas of one server
MAX_NAMED = 10  # tools that are named in the log as left out


class McpTool(HomeAgentTool):
    """Calls its server under our policy: results are text from outside, and calls that do not only read need a yes."""

    is_named_elsewhere = True
    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    """Any arguments: `plan` checks their names by the server's schema, the server the rest."""

    def __init__(self, server: Server, remote: RemoteTool, name: str, schema: JsonObjectType) -> None:
        """Take a tool, and its name and schema for models."""
        self.name = name
        self.title = cleaned(remote.title or remote.name, 100)
        self.description = inert(cleaned(remote.description or "", MAX_DESCRIPTION)) or None
        self.annotations = llm.ToolAnnotations(
            read_only=remote.read_only, destructive=not remote.read_only, idempotent=False, open_world=True
        )
        self.wire_parameters = schema
        self.remote = remote
        self.server = server
        self.source = server.config.title

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan without calls, which only the server knows."""
        if self.remote not in self.server.usable():
            raise ToolRefusal(f"{self.name} was changed or removed. It is not available in this conversation.")
        if wrong := wrong_arguments(self.wire_parameters, args):
            raise ToolRefusal(f"Wrong arguments: {wrong}.")
        reads = self.remote.read_only
        return Plan(
            action=ActionClass.READ if reads else ActionClass.SENSITIVE,
            reasons=() if reads else (DESTRUCTIVE,),
            subject=f"{self.title} ({self.server.config.title})",
            version=self.remote.version,
            outside=True,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Call the tool and return its result. Raises `ToolRefusal`."""
        try:
            answer = await self.server.async_call(self.remote.name, args, repeatable=self.remote.read_only)
        except McpError as err:
            raise refusal_of(err, self.server.config.title, self.server.mask) from err
        mask = self.server.mask  # again, as the key may have been renewed
        return bounded(cleaned_json(mask.text(said_by(answer, mask))))


def said_by(answer: McpResult, mask: SecretMask) -> str:
    """Return the text of an answer. Raises `ToolRefusal` if the server says that the call failed."""
    if answer.failed:
        raise ToolRefusal(cleaned(mask.text(answer.text)) or "The tool failed, and its server does not say why.")
    return answer.text


def refusal_of(err: McpError, server: str, mask: SecretMask) -> ToolRefusal:
    """Return the refusal for an error of a server."""
    if isinstance(err, McpProtocolError) and err.said:
        return ToolRefusal(f"{server} refused the call: {cleaned(mask.text(err.said))}")
    return ToolRefusal(f"{server} cannot be used now ({type(err).__name__.removeprefix('Mcp')}).")


class McpTools:
    """Offers the tools of all servers."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry, taken: Callable[[], Collection[str]]) -> None:
        """Take a function that returns the names of other tools."""
        self._entry = entry
        self._http = Http(hass, EgressPolicy(allow_private_hosts=True))
        self._taken = taken
        self._tools: dict[tuple[str, str], McpTool] = {}
        self._made_from: object = None  # the servers' lists and the other tools' names of `_tools`
        self.revision = 0
        self.servers: dict[str, Server] = {}
        self._addresses: dict[str, Mapping[str, Any]] = {}  # what each server's address was made from
        self._left: set[Server] = set()
        """Servers that were removed or moved; they are disconnected when their calls have ended."""
        self._hass = hass
        self._look()

    def _look(self) -> list[Server]:
        """Have a server for each subentry as it is now, the same one where the address is the same; return those that are gone."""
        before, self.servers = self.servers, {}
        addresses, self._addresses = self._addresses, {}
        for subentry in self._entry.get_subentries_of_type(SUBENTRY_MCP_SERVER):
            key, allowed = subentry.subentry_id, frozenset[str](subentry.data.get(ALLOWED) or ())
            written = {name: value for name, value in subentry.data.items() if name != ALLOWED}
            self._addresses[key] = written
            if key in before and addresses[key] == written:
                self.servers[key] = before.pop(key)
                if (self.servers[key].config.title, self.servers[key].config.allowed) != (subentry.title, allowed):
                    self.servers[key].async_rename(subentry.title, allowed)
                continue
            address = address_from(subentry.data, self._http, subentry.title)
            config = ServerConfig(subentry_id=key, title=subentry.title, address=address, allowed=allowed)
            self.servers[key] = Server(self._hass, config, self._changed)
        return [*before.values()]

    @callback
    def async_look_again(self) -> None:
        """Connect to servers that were added or moved, and leave those that are gone; all others stay connected."""
        for server in self._look():
            self._left.add(server)
            leaving = self._async_leave(server)
            self._entry.async_create_background_task(
                self._hass, leaving, f"home_agent leave {server.config.subentry_id}"
            )
        self._made_from = None
        self._changed()
        self.async_start()

    async def _async_leave(self, server: Server) -> None:
        await server.async_leave()
        self._left.discard(server)

    @property
    def names(self) -> list[str]:
        """Return the names of the tools that the servers listed last."""
        return [tool.name for tool in self._tools.values()]

    def _changed(self) -> None:
        self.revision += 1

    @callback
    def async_start(self) -> None:
        """Connect to all servers at once, in the background."""
        for server in self.servers.values():
            server.async_start(self._entry)

    async def async_close(self) -> None:
        """Disconnect the servers, then the client of their tokens, which a new connection would open again."""
        await asyncio.gather(*(server.async_stop() for server in (*self.servers.values(), *self._left)))
        await self._http.async_close()

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[McpTool]:
        """Return the tools of the profile's connected servers."""
        if not profile.mcp_servers:
            return ()
        listed = tuple((server.config.subentry_id, server.usable()) for server in self.servers.values())
        taken = frozenset(self._taken())
        if (listed, taken) != self._made_from:
            self._tools, self._made_from = dict(self._made(taken)), (listed, taken)
        return [
            tool
            for (server_id, _), tool in self._tools.items()
            if server_id in profile.mcp_servers and self.servers[server_id].connected
        ]

    def _made(self, taken: Collection[str]) -> Iterator[tuple[tuple[str, str], McpTool]]:
        """Yield all tools by server and name; unchanged ones are the same objects."""
        listed = [(server, tool) for server in self.servers.values() for tool in server.usable()]
        names = [remote_name_from(tool.name) for _, tool in listed]
        wanted = Counter(names)
        used: set[str] = set()
        offered: set[tuple[str, str]] = set()
        told: Counter[Server] = Counter()
        left_out: dict[Server, list[str]] = {}
        for (server, remote), name in zip(listed, names, strict=True):
            schema = schema_from(remote.schema)
            if wanted[name] > 1 or name in taken or means_more(name):
                name = remote_name_from(f"{slugify(server.config.title)}_{remote.name}")
            key = (server.config.subentry_id, remote.name)
            name = free_name(name, {*used, *taken, *RESERVED})
            size = len(name) + len(dump(schema)) + min(len(remote.description or ""), MAX_DESCRIPTION)
            if not name or schema is None or key in offered or told[server] + size > MAX_TOLD:
                left_out.setdefault(server, []).append(cleaned(remote.name, MAX_NAME))
                continue
            used.add(name)
            offered.add(key)
            told[server] += size
            known = self._tools.get(key)
            same = known is not None and known.name == name and known.remote == remote and known.server is server
            yield key, known if known is not None and same else McpTool(server, remote, name, schema)
        for server, names in left_out.items():
            LOGGER.warning(
                "%s tools of the MCP server %s are left out, for their names, for schemas that are invalid or too long, "
                "or because they are too many: %s",
                len(names),
                server.config.title,
                ", ".join(names[:MAX_NAMED]) + (", …" if len(names) > MAX_NAMED else ""),
            )


def address_from(data: Mapping[str, Any], http: Http, title: str = "") -> Address:
    """Return the address of a server; the list of allowed hosts does not apply to it."""
    auth: Auth | None = None
    match data.get("auth", NO_AUTH):
        case "bearer":
            auth = bearer(data["token"])
        case "oauth2":
            client = OAuthClient(
                token_url=URL(data["token_url"]),
                client_id=data["client_id"],
                client_secret=data["client_secret"],
                scope=data.get("scope", ""),
            )
            auth = ClientCredentials(http, client)
    return Address(
        url=data[CONF_URL],
        transport=data.get("transport", AUTO),
        verify_ssl=data.get(CONF_VERIFY_SSL, True),
        auth=auth,
        name=title,
    )
