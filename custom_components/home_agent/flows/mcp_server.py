"""The forms of a server of tools: where it is, then which of its tools may do more than read."""

from collections.abc import Mapping
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
    McpUnreachableError,
)
from ..support.http import EgressPolicy, Http, http_url
from ..tools.mcp.provider import (
    BEARER,
    CONF_ALLOWED_TOOLS,
    CONF_AUTH,
    CONF_CLIENT_ID,
    CONF_CLIENT_SECRET,
    CONF_SCOPE,
    CONF_TOKEN,
    CONF_TOKEN_URL,
    CONF_TRANSPORT,
    NO_AUTH,
    OAUTH2,
    address_from,
)
from ..tools.mcp.sdk import RemoteTool, async_list_tools
from ..tools.mcp.wire import AUTO, SSE, STREAMABLE_HTTP
from .endpoint import CONF_USE_ANYWAY
from .forms import ADDRESS, SECRET, SWITCH, TEXT, Fields, SubentryForms, dropdown, is_empty, markers

ERRORS: dict[type[McpError], str] = {
    McpAddressError: "cannot_connect",
    McpAuthError: "invalid_auth",
    McpCertificateError: "certificate",
    McpProtocolError: "not_mcp",
    McpSdkError: "no_sdk",
    McpUnreachableError: "cannot_connect",
}
NEEDED: dict[str, tuple[str, ...]] = {
    BEARER: (CONF_TOKEN,),
    OAUTH2: (CONF_TOKEN_URL, CONF_CLIENT_ID, CONF_CLIENT_SECRET),
}
"""What each way to prove who one is cannot do without."""
OF_AUTH: dict[str, tuple[str, ...]] = {**NEEDED, OAUTH2: (*NEEDED[OAUTH2], CONF_SCOPE)}
KEPT = (CONF_TOKEN, CONF_CLIENT_SECRET)
"""What is never shown again, and stays when its field is left empty."""

CONNECTION: Fields = {
    CONF_NAME: TEXT,
    CONF_URL: ADDRESS,
    CONF_TRANSPORT: dropdown((AUTO, STREAMABLE_HTTP, SSE), "mcp_transport"),
    CONF_AUTH: dropdown((NO_AUTH, BEARER, OAUTH2), "mcp_auth"),
    CONF_TOKEN: SECRET,
    CONF_TOKEN_URL: ADDRESS,
    CONF_CLIENT_ID: TEXT,
    CONF_CLIENT_SECRET: SECRET,
    CONF_SCOPE: TEXT,
    CONF_VERIFY_SSL: SWITCH,
}
_DEFAULTS = {CONF_TRANSPORT: AUTO, CONF_AUTH: NO_AUTH, CONF_VERIFY_SSL: True}


class McpServerFlow(SubentryForms):
    """Add a server or change one."""

    _name: str
    _data: dict[str, Any]
    """As it will be stored."""
    _entered = False
    """Whether `_data` is what was entered a moment ago; its key need not be entered again after a failure."""
    _tools: list[RemoteTool]
    _may_skip_check = False

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start with nothing."""
        return await self._async_connection("user", "", {}, user_input)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from what is stored."""
        subentry = self._get_reconfigure_subentry()
        return await self._async_connection("reconfigure", subentry.title, subentry.data, user_input)

    async def _async_connection(
        self, step_id: str, title: str, stored: Mapping[str, Any], user_input: dict[str, Any] | None
    ) -> SubentryFlowResult:
        """Ask where it is and connect."""
        shown = {**_DEFAULTS, **stored, CONF_NAME: title}
        errors: dict[str, str] = {}
        if user_input is not None:
            entered = {key: value.strip() if isinstance(value, str) else value for key, value in user_input.items()}
            shown = {**_DEFAULTS, **entered}
            if shown[CONF_AUTH] == NO_AUTH and shown.get(CONF_TOKEN):
                shown[CONF_AUTH] = BEARER  # a key that is entered is meant
            self._data = _server(shown, self._data if self._entered else stored)
            self._entered = True
            if not (errors := self._missing(shown)) and not (errors := await self._async_connect(entered)):
                self._name = shown.get(CONF_NAME) or str(URL(self._data[CONF_URL]).host)
                return await self.async_step_tools()
        hidden = {key: value for key, value in shown.items() if key not in KEPT}
        schema = markers(self.hass, CONNECTION, hidden)
        if self._may_skip_check:
            schema[probatio.Optional(CONF_USE_ANYWAY)] = SWITCH
        return self.async_show_form(step_id=step_id, data_schema=probatio.Schema(schema), errors=errors)

    def _missing(self, shown: Mapping[str, Any]) -> dict[str, str]:
        """Return what is plainly wrong, by field."""
        errors = {
            key: "invalid_url"
            for key in (CONF_URL, CONF_TOKEN_URL)
            if (key == CONF_URL or key in self._data) and not http_url(self._data.get(key))
        }
        errors |= {key: "missing" for key in NEEDED.get(self._data[CONF_AUTH], ()) if not self._data.get(key)}
        if (name := shown.get(CONF_NAME)) and self.name_is_taken(name):
            errors[CONF_NAME] = "name_taken"
        return errors

    async def _async_connect(self, entered: Mapping[str, Any]) -> dict[str, str]:
        """Ask the server for its tools; after a failure the user may go on without: the server may be off."""
        self._tools = []
        http = Http(self.hass, EgressPolicy(allow_private_hosts=True))
        try:
            self._tools = await async_list_tools(self.hass, address_from(self._data, http))
        except McpError as err:
            if entered.get(CONF_USE_ANYWAY):
                return {}
            self._may_skip_check = True
            if isinstance(err, McpAuthError) and self._data[CONF_AUTH] == NO_AUTH:
                return {CONF_AUTH: "key_needed"}
            return {"base": next(key for error, key in ERRORS.items() if isinstance(err, error))}
        finally:
            await http.async_close()
        return {}

    async def async_step_tools(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask which tools may do more than read, and store the server."""
        if user_input is not None:
            named = sorted({name.strip() for name in user_input.get(CONF_ALLOWED_TOOLS, ()) if name.strip()})
            data = {key: value for key, value in self._data.items() if not is_empty(value)}
            return self.store(self._name, data | {CONF_ALLOWED_TOOLS: named})
        writing = dropdown([tool.name for tool in self._tools if not tool.read_only], multiple=True, typed=True)
        reading = [tool.name for tool in self._tools if tool.read_only]
        return self.async_show_form(
            step_id="tools",
            data_schema=probatio.Schema(markers(self.hass, {CONF_ALLOWED_TOOLS: writing}, self._data)),
            description_placeholders={"reading": ", ".join(reading) or "-", "count": str(len(self._tools))},
        )


def _server(shown: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server as it is stored. A known key stays when its field is empty, but never goes to another server."""
    auth = shown[CONF_AUTH]
    data = {key: shown.get(key) for key in (CONF_URL, CONF_TRANSPORT, CONF_AUTH, CONF_VERIFY_SSL)}
    data |= {key: shown.get(key) or "" for key in OF_AUTH.get(auth, ())}
    goes_to = CONF_TOKEN_URL if auth == OAUTH2 else CONF_URL
    if _origin(data.get(goes_to)) == _origin(stored.get(goes_to)) is not None:
        data |= {key: stored[key] for key in KEPT if key in data and not data[key] and key in stored}
    return {**data, CONF_ALLOWED_TOOLS: list(stored.get(CONF_ALLOWED_TOOLS, ()))}


def _origin(address: object) -> URL | None:
    return url.origin() if (url := http_url(address)) else None
