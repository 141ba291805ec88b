"""A tool of a server, under our policy: outside text comes back, and what does more than read needs a yes."""

from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..errors import McpError, McpProtocolError
from ..outside.mask import Mask
from ..safety.plan import ActionClass, Plan
from ..safety.rules import DESTRUCTIVE
from ..safety.tool import HomeAgentTool, ToolRefusal
from ..turn import Turn
from .content import MAX_DESCRIPTION, MAX_ERROR, cleaned, result_of, text_of, wrong_arguments
from .sdk import RemoteTool
from .server import Server


class McpTool(HomeAgentTool):
    """Calls its server."""

    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)
    """Everything: the server's own schema has its say in `plan`, and the server itself."""

    def __init__(self, server: Server, remote: RemoteTool, name: str, schema: JsonObjectType) -> None:
        """Take a tool and the name that models call it by."""
        self.name = name
        self.title = cleaned(remote.title or remote.name, 100)
        self.description = cleaned(remote.description or "", MAX_DESCRIPTION) or None
        self.annotations = llm.ToolAnnotations(
            read_only=remote.read_only, destructive=not remote.read_only, idempotent=False, open_world=True
        )
        self.wire_parameters = schema
        self.remote = remote
        self._server = server

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return what it is; what happens is known to the server alone."""
        if self.remote not in self._server.usable():
            raise ToolRefusal(f"{self.name} was changed or removed. Do without it in this conversation.")
        if wrong := wrong_arguments(self.wire_parameters, args):
            raise ToolRefusal(f"Wrong arguments: {wrong}.")
        reads = self.remote.read_only
        return Plan(
            action=ActionClass.READ if reads else ActionClass.SENSITIVE,
            reason=None if reads else DESTRUCTIVE,
            subject=f"{self.title} ({self._server.config.title})",
            version=self.remote.version,
            outside=True,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Call it and return what it says. Raises `ToolRefusal`."""
        try:
            answer = await self._server.async_call(self.remote.name, args, repeatable=self.remote.read_only)
        except McpError as err:
            raise refusal_of(err, self._server.config.title, self._server.mask) from err
        return told(*answer, self._server.mask)  # of now: the key may have been renewed meanwhile


def told(content: list[Any], structured: object, failed: bool, mask: Mask) -> JsonValueType:
    """Return the result of a call. Raises `ToolRefusal` when the server says that it failed."""
    text = mask.text(text_of(content, structured))
    if failed:
        raise ToolRefusal(cleaned(text, MAX_ERROR) or "The tool failed, and its server does not say why.")
    return result_of(text)


def refusal_of(err: McpError, server: str, mask: Mask) -> ToolRefusal:
    """Return what a model is told of an error."""
    if isinstance(err, McpProtocolError) and err.said:
        return ToolRefusal(f"{server} refused the call: {cleaned(mask.text(err.said), MAX_ERROR)}")
    return ToolRefusal(f"{server} cannot be used now ({type(err).__name__.removeprefix('Mcp')}).")
