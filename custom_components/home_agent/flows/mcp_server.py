"""The forms of an MCP server: its address, credentials, then which of its tools may do more than read."""

from collections.abc import Mapping
from functools import partialmethod
from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.const import CONF_NAME, CONF_URL
import probatio
from yarl import URL

from ..support.const import CONF_VERIFY_SSL
from ..support.errors import (
    McpAddressError,
    McpAuthError,
    McpCertificateError,
    McpError,
    McpProtocolError,
    McpSdkError,
    McpTimeoutError,
    McpUnreachableError,
)
from ..support.http import EgressPolicy, Http, http_url
from ..tools.mcp.provider import BEARER, NO_AUTH, OAUTH2, address_from
from ..tools.mcp.sdk import RemoteTool, async_list_tools
from ..tools.mcp.wire import AUTO, SSE, STREAMABLE_HTTP
from .forms import (
    ADDRESS,
    SECRET,
    STORED,
    SWITCH,
    TEXT,
    Fields,
    SubentryForms,
    is_empty,
    lifted,
    markers,
    sectioned,
    select,
)
from .model_server import ADVANCED, CONF_USE_ANYWAY

ERRORS: dict[type[McpError], str] = {  # first match: a class stands above its parent
    McpAddressError: "cannot_connect",
    McpAuthError: "invalid_auth",
    McpCertificateError: "certificate",
    McpProtocolError: "not_mcp",
    McpSdkError: "no_sdk",
    McpTimeoutError: "timeout_connect",
    McpUnreachableError: "cannot_connect",
}
NEEDED: dict[str, tuple[str, ...]] = {BEARER: ("token",), OAUTH2: ("token_url", "client_id", "client_secret")}
"""Required credentials, by kind."""
KEPT = ("token", "client_secret")  # secrets, shown as dots; left or emptied, the stored one stays

CONNECTION: Fields = {CONF_NAME: TEXT, CONF_URL: ADDRESS, "auth": select((NO_AUTH, BEARER, OAUTH2), "mcp_auth")}
DETAILS: Fields = {"transport": select((AUTO, STREAMABLE_HTTP, SSE), "mcp_transport"), CONF_VERIFY_SSL: SWITCH}
CREDENTIALS: dict[str, Fields] = {
    BEARER: {"token": SECRET},
    OAUTH2: {"token_url": ADDRESS, "client_id": TEXT, "client_secret": SECRET, "scope": TEXT},
}
"""Fields of the form of credentials, by kind."""
FIELDS = {*CONNECTION, *DETAILS, *CREDENTIALS[BEARER], *CREDENTIALS[OAUTH2], "allowed_tools"}
"""All that the forms show. A key of a newer release stays as well, unless the address changed: it may be a secret."""
_DEFAULTS = {"transport": AUTO, "auth": NO_AUTH, CONF_VERIFY_SSL: True}


class McpServerFlow(SubentryForms):
    """Add a server or change one."""

    _name = ""
    _data: dict[str, Any] | None = None
    """What is stored, then what was entered: after a failure, a key need not be entered again."""
    _tools: list[RemoteTool]
    _may_skip_check = False
    _skips_check = False

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for name and address; of a server that is being changed, with what is stored."""
        if self._data is None:
            self._name = self.subentry.title if self.subentry else ""
            self._data = {**_DEFAULTS, **(self.subentry.data if self.subentry else {})}
        if user_input is None:
            return self._connection_form({})
        sent = _stripped(lifted(user_input, (ADVANCED,)))
        self._skips_check = sent.pop(CONF_USE_ANYWAY, False)
        self._name = sent.pop(CONF_NAME, "")
        if _origin(sent.get(CONF_URL)) != _origin(self._data.get(CONF_URL)):
            self._data = {key: value for key, value in self._data.items() if key in FIELDS and key != "token"}
        self._data = {**self._data, CONF_URL: "", **sent}
        errors: dict[str, str] = {}
        if not http_url(self._data[CONF_URL]):
            errors[CONF_URL] = "invalid_url"
        if self._name and self.name_is_taken(self._name):
            errors[CONF_NAME] = "name_taken"
        if errors:
            return self._connection_form(errors)
        auth = self._data["auth"]
        if auth in CREDENTIALS and not (self._skips_check and not self._missing(auth)):
            return self._credentials_form(auth, {})
        return await self._async_connect()

    async_step_reconfigure = async_step_user

    def _connection_form(self, errors: dict[str, str]) -> SubentryFlowResult:
        shown = {**(self._data or {}), CONF_NAME: self._name}
        schema = sectioned(self.hass, {"": CONNECTION, ADVANCED: DETAILS}, shown)
        return self._form(self.first_step, schema, errors)

    async def _async_credentials(self, auth: str, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for the credentials, and connect. A stored secret stays, but is never sent to another server."""
        if user_input is None or self._data is None:
            return self._credentials_form(auth, {})
        sent, before = _stripped(user_input), self._data
        self._skips_check = sent.pop(CONF_USE_ANYWAY, False)
        moved = auth == OAUTH2 and _origin(sent.get("token_url")) != _origin(before.get("token_url"))
        kept: Mapping[str, Any] = {} if moved else before  # a key of another server was dropped with its address
        entered = {key: sent.get(key, "") for key in CREDENTIALS[auth]}
        for key in KEPT:
            if entered.get(key) in ("", STORED):
                entered[key] = kept.get(key, "")
        self._data = {**before, **entered}
        errors = dict.fromkeys(self._missing(auth), "missing")
        if auth == OAUTH2 and not http_url(self._data["token_url"]):
            errors |= {"token_url": "invalid_url"}
        return self._credentials_form(auth, errors) if errors else await self._async_connect()

    async_step_bearer = partialmethod(_async_credentials, BEARER)
    async_step_oauth2 = partialmethod(_async_credentials, OAUTH2)

    def _credentials_form(self, auth: str, errors: dict[str, str]) -> SubentryFlowResult:
        data = self._data or {}
        shown = data | {key: STORED for key in KEPT if data.get(key)}
        return self._form(auth, markers(self.hass, CREDENTIALS[auth], shown), errors)

    def _form(self, step_id: str, schema: dict[probatio.Marker, Any], errors: dict[str, str]) -> SubentryFlowResult:
        """Show a form; after a failure, with a switch to skip the check, as the server may be off."""
        if self._may_skip_check:
            schema[probatio.Optional(CONF_USE_ANYWAY)] = SWITCH
        return self.async_show_form(step_id=step_id, data_schema=probatio.Schema(schema), errors=errors)

    def _missing(self, auth: str) -> list[str]:
        return [key for key in NEEDED[auth] if not (self._data or {}).get(key)]

    async def _async_connect(self) -> SubentryFlowResult:
        """Ask the server for its tools; show an error in the form where it can be corrected."""
        self._tools, entered = [], self._data or {}
        used = CREDENTIALS.get(entered["auth"], {})
        others = {key for kind in CREDENTIALS.values() for key in kind if key not in used}
        data: dict[str, Any] = {"allowed_tools": []} | {key: entered[key] for key in entered if key not in others}
        self._data = data
        http = Http(self.hass, EgressPolicy(allow_private_hosts=True))
        try:
            self._tools = await async_list_tools(self.hass, address_from(data, http))
        except McpError as err:
            if not self._skips_check:
                self._may_skip_check = True
                error = next(key for kind, key in ERRORS.items() if isinstance(err, kind))
                if not isinstance(err, McpAuthError):
                    return self._connection_form({"base": error})
                if data["auth"] == NO_AUTH:
                    return self._connection_form({"auth": "key_needed"})
                return self._credentials_form(data["auth"], {"base": error})
        finally:
            await http.async_close()
        return await self.async_step_tools()

    async def async_step_tools(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask which tools may do more than read, and store the server."""
        if user_input is not None:
            named = sorted({name.strip() for name in user_input.get("allowed_tools", ()) if name.strip()})
            data = {key: value for key, value in (self._data or {}).items() if key not in FIELDS or not is_empty(value)}
            name = self._name or str(URL(data[CONF_URL]).host)
            return self.store(name, data | {"allowed_tools": named})
        writing = select([tool.name for tool in self._tools if not tool.read_only], multiple=True, typed=True)
        reading = [tool.name for tool in self._tools if tool.read_only]
        return self.async_show_form(
            step_id="tools",
            data_schema=probatio.Schema(markers(self.hass, {"allowed_tools": writing}, self._data or {})),
            description_placeholders={"reading": ", ".join(reading) or "-", "count": str(len(self._tools))},
        )


def _stripped(sent: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.strip() if isinstance(value, str) else value for key, value in sent.items()}


def _origin(address: object) -> URL | None:
    return url.origin() if (url := http_url(address)) else None
