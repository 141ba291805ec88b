"""Handler `rest`: a request to another computer (S1-50, S1-206)."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any, override

from aiohttp import hdrs
from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType

from ..client.wire import dump
from ..outside.auth import Auth
from ..outside.http import Request, Response
from ..safety.plan import ActionClass, Plan
from ..safety.rules import DESTRUCTIVE
from ..safety.tool import ToolRefusal
from ..turn import Turn
from .auth import auth_from
from .definition import CustomTool, Definition, Handler, Kit, annotations_of
from .outcome import Outcome, outcome_from
from .parts import Parts, parts_from
from .reply import content_of
from .rest_schema import SCHEMA
from .templates import Values

MAX_EXCERPT = 300  # characters of an error page that a model is told
MARGIN = 0.25  # seconds before the policy would give up: we can say more about what happened
_READING = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})


class RestTool(CustomTool):
    """Asks another computer."""

    def __init__(self, definition: Definition, kit: Kit, parts: Parts, auth: Auth | None, outcome: Outcome) -> None:
        """Take what is sent and what is made of the answer."""
        super().__init__(
            definition,
            annotations_of(
                definition,
                reads=parts.method in _READING,
                destroys=parts.method == hdrs.METH_DELETE,
                idempotent=parts.method in (*_READING, hdrs.METH_PUT, hdrs.METH_DELETE),
                open_world=True,
            ),
        )
        self._kit = kit
        self._parts = parts
        self._auth = auth
        self._outcome = outcome
        self._hidden = parts.written_out

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return which computer is asked, and whose states are sent along."""
        self.check_current()
        values = Values(args)
        with self.led_astray(values):
            self._parts.request(values)
        return Plan(
            action=self.action,
            targets=tuple(sorted(values.entities)),
            reason=DESTRUCTIVE if self.action is ActionClass.SENSITIVE else None,
            subject=self._parts.frame.host,
            version=self.version,
            outside=True,
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Send the request; return the answer without any secret."""
        values = Values(args)
        request = self._parts.request(values)
        self.check_reached(values, plan)
        request = replace(request, timeout=min(request.timeout, turn.profile.tool_timeout - MARGIN))
        response = await self._async_send(request)
        turn.taints.add(self.name)  # the text of an error is from outside, too
        mask = self._kit.secrets.mask.also(*self._hidden, *(self._auth.hidden if self._auth else ()))
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise ToolRefusal(mask.text(_error(request, response)))
        return self._outcome.of(hass, turn, args, content_of(request.host, response), response.status, mask)

    async def _async_send(self, request: Request) -> Response:
        """Return the answer; a token that was refused is renewed once."""
        http, auth = self._kit.http, self._auth
        if auth is None:
            return await http.async_send(request)
        header = await auth.async_header(request)
        response = await http.async_send(_with(request, header))
        if response.status == HTTPStatus.UNAUTHORIZED and auth.refused(header):
            response = await http.async_send(_with(request, await auth.async_header(request)))
        return response


def build(definition: Definition, kit: Kit) -> RestTool:
    """Make the tool. Raises `CustomToolError`."""
    handler = definition.handler
    return RestTool(
        definition,
        kit,
        parts_from(definition, kit),
        auth_from(handler["auth"], kit),
        outcome_from(handler, kit, definition.names),
    )


HANDLER = Handler(schema=SCHEMA, build=build)


def _with(request: Request, authorization: str) -> Request:
    return replace(request, headers={**request.headers, hdrs.AUTHORIZATION: authorization})


def _error(request: Request, response: Response) -> str:
    """Return what an error is told as: its status, and the beginning of what the server says of it."""
    said = f"{request.host} answered {response.reason}."
    try:
        content = content_of(request.host, response)
    except ToolRefusal:
        return said
    if content is None:
        return said
    text = content if isinstance(content, str) else dump(content).decode()
    return f"{said} It says: {' '.join(text.split())[:MAX_EXCERPT]}"
