"""Handler `mcp`: one tool of a server that speaks the Model Context Protocol."""

import asyncio
from collections.abc import Mapping, Sequence
import re
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import probatio

from ...support.encoding import dump
from ...support.errors import CustomToolError, McpAddressError, McpError, ToolRefusal
from ...support.http import http_url
from ...support.masking import SecretMask
from ...turn.plan import ActionClass, Plan
from ...turn.turn import Turn
from ..mcp.provider import refusal_of, said_by
from ..mcp.sdk import RemoteTool
from ..mcp.server import Server
from ..mcp.wire import AUTO, SSE, STREAMABLE_HTTP, Address
from ..sanitize import MAX_RESULT, content_from
from .definition import OUTCOME, CustomTool, Definition, ToolContext, auth_from, auth_schema, check_host, outcome_from
from .rest import LIMITS
from .templates import Tree, Values, as_json, compile_tree, render_tree

MARGIN = 0.25  # seconds before the policy's time-out, for a better message
OK = 200  # `status` in a template of the answer
_NO_WORD = re.compile(r"[\W_]+")
_AT = ("handler", "server_url")


class McpCallTool(CustomTool):
    """Calls one tool of a server."""

    schema = probatio.Schema(
        {
            probatio.Required("type"): "mcp",
            probatio.Required("server_url"): str,
            probatio.Required("method"): probatio.All(str, probatio.Length(min=1, max=200)),
            probatio.Optional("arguments"): dict,
            probatio.Optional("transport", default=AUTO): probatio.In([AUTO, STREAMABLE_HTTP, SSE]),
            probatio.Optional("auth", default={"type": "none"}): auth_schema,
            **LIMITS,
            **OUTCOME,
        }
    )

    def __init__(self, definition: Definition, tool_context: ToolContext) -> None:
        """Compile address, arguments and result. No part of the address comes from a template."""
        super().__init__(definition, tool_context, destroys=not definition.read_only, open_world=True)
        handler = definition.handler
        server_url = handler["server_url"].strip()
        if http_url(server_url) is None or "{" in server_url:
            raise CustomToolError("custom_tool_mcp_url", _AT)
        url = check_host(server_url, tool_context, _AT)
        self._sent: Tree = None  # None: the arguments unchanged
        if "arguments" in handler:
            at = ("handler", "arguments")
            self._sent = compile_tree(tool_context.templates, handler["arguments"], definition.names, at)
        self._address = Address(
            url=str(url),
            transport=handler["transport"],
            verify_ssl=handler["verify_ssl"],
            auth=auth_from(handler["auth"], tool_context),
            resolver=tool_context.http.resolver,
            name=definition.title,
        )
        self._outcome = outcome_from(handler, tool_context, definition.names)
        self._handler = handler
        self._server_decides = not definition.read_only and definition.destructive is None
        self._host = url.raw_authority

    @override
    async def async_retire(self) -> None:
        """Disconnect, unless another tool uses the server."""
        await super().async_retire()
        await self._tool_context.servers.async_release(self._address, self)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return whether the call only reads, by the owner or the server. Raises `ToolRefusal` without such a tool."""
        self.check_current()
        values = Values(args)
        with self.led_astray(values):
            self._arguments(values)
        try:
            async with asyncio.timeout(self._seconds(turn)):
                remote = await self._async_remote()
        except McpAddressError as err:
            raise ToolRefusal(
                f"{self._host} leads to an address at home, which the administrator does not allow."
            ) from err
        except McpError as err:  # before the yes, without the server's own words
            raise ToolRefusal(f"{self._host} cannot be used now ({type(err).__name__.removeprefix('Mcp')}).") from err
        except TimeoutError as err:
            raise ToolRefusal(f"{self._host} did not answer in time.") from err
        action = ActionClass.READ if self._server_decides and remote.read_only else self.action
        return self.plan_for(
            values, action, subject=self._host, version=f"{self.version} {remote.version}", outside=True
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Call the tool; return the answer with secrets masked."""
        values = Values(args)
        arguments = self._arguments(values)
        self.check_reached(values, plan)
        seconds, interval = self._seconds(turn), self._handler["min_interval"]
        try:
            async with (
                asyncio.timeout(seconds),
                self._tool_context.http.hosts.turn(self._host, interval=interval, patience=seconds),
            ):
                remote = await self._async_remote()
                answer = await self._server().async_call(
                    remote.name, arguments, repeatable=plan.action is ActionClass.READ
                )
        except McpError as err:
            raise refusal_of(err, self._host, self._mask) from err
        except TimeoutError as err:
            raise ToolRefusal(
                f"{self._host} did not answer within {seconds:g} seconds. Whether the call had an effect is unknown."
            ) from err
        mask = self._mask
        return self._outcome.of(hass, turn, args, content_from(said_by(answer, mask)), OK, mask)

    @property
    def _mask(self) -> SecretMask:
        """Return the mask of secrets and the current key, which a call may have renewed."""
        auth = self._address.auth
        return self._tool_context.secrets.mask.also(*(auth.hidden if auth else ()))

    def _arguments(self, values: Values) -> Mapping[str, JsonValueType]:
        """Return the arguments to send. Raises `ToolRefusal` if they are too long."""
        rendered = as_json(values.arguments) if self._sent is None else render_tree(self._sent, values)
        assert isinstance(rendered, dict)  # a mapping stays one
        if len(dump(rendered)) > MAX_RESULT:
            raise ToolRefusal("The arguments are too long.")
        return rendered

    def _server(self) -> Server:
        """Return the connection. Raises `McpError`, or `ToolRefusal` if the tool was changed or removed meanwhile."""
        self.check_current()
        return self._tool_context.servers.async_get(self._address, self)

    async def _async_remote(self) -> RemoteTool:
        """Return the server's current tool. Raises `McpError`, or `ToolRefusal` if the server has no such tool."""
        server = self._server()
        await server.async_ready()
        if (remote := named(server.tools, self._handler["method"])) is None:
            raise ToolRefusal(f"{self._host} has no tool {self._handler['method']}.")
        return remote

    def _seconds(self, turn: Turn) -> float:
        return float(min(self._handler["timeout"], turn.profile.tool_timeout - MARGIN))


def named(tools: Sequence[RemoteTool], method: str) -> RemoteTool | None:
    """Return the tool with a name, else the only one that differs in signs and case: `a/b` for `a_b`."""
    exact = [tool for tool in tools if tool.name == method]
    like = [tool for tool in tools if _words(tool.name) == _words(method)]
    return next(iter(exact), like[0] if len(like) == 1 else None)


def _words(name: str) -> str:
    return _NO_WORD.sub("_", name).strip("_").casefold()
