"""The forms of a custom tool: what it is, then what its type needs. They write what YAML would say (C-32)."""

from collections.abc import Mapping
from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.const import CONF_DESCRIPTION, CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
from homeassistant.helpers.selector import ObjectSelector
import probatio
from yarl import URL

from ..support.errors import CustomToolError
from ..tools.custom.definition import (
    CONF_DESTRUCTIVE,
    CONF_HANDLER,
    CONF_PARAMETERS,
    CONF_READ_ONLY,
    CONF_TITLE,
    CONF_TYPE,
)
from ..tools.custom.provider import HANDLERS, CustomTools, async_reason
from ..tools.mcp.wire import AUTO, SSE, STREAMABLE_HTTP
from .forms import (
    LONG_TEXT,
    SECRET,
    SWITCH,
    TEXT,
    Fields,
    PromptSelector,
    SubentryForms,
    dropdown,
    is_empty,
    markers,
    number,
)

BEHAVIOUR = "behaviour"
CONF_AUTH = "auth"
BEHAVIOURS: dict[str, dict[str, bool]] = {
    "default": {},
    "read_only": {CONF_READ_ONLY: True, CONF_DESTRUCTIVE: False},
    "write": {CONF_READ_ONLY: False, CONF_DESTRUCTIVE: False},
    "destructive": {CONF_READ_ONLY: False, CONF_DESTRUCTIVE: True},
}
KEPT = ("token", "password", "client_secret")
"""What is never shown again, and stays when its field is left empty."""

_ANYTHING = ObjectSelector()

BASICS: Fields = {
    CONF_NAME: TEXT,
    CONF_TITLE: TEXT,
    CONF_DESCRIPTION: LONG_TEXT,
    CONF_PARAMETERS: _ANYTHING,
    CONF_TYPE: dropdown(tuple(HANDLERS), "custom_tool_type"),
    BEHAVIOUR: dropdown(tuple(BEHAVIOURS), "custom_tool_behaviour"),
}
NEEDED: dict[str, tuple[str, ...]] = {
    "": (CONF_NAME, CONF_DESCRIPTION),
    "rest": ("url",),
    "service": ("service",),
    "template": ("template",),
    "mcp": ("server_url", "method"),
}
"""What a tool cannot do without, by kind; the first form has no kind."""
_RESPONSE: Fields = {"response": PromptSelector(), "response_path": TEXT}
_AUTH: Fields = {
    CONF_TYPE: dropdown(("none", "bearer", "basic", "oauth2"), "custom_tool_auth"),
    "token": SECRET,
    "username": TEXT,
    "password": SECRET,
    "token_url": TEXT,
    "client_id": TEXT,
    "client_secret": SECRET,
    "scope": TEXT,
    "audience": TEXT,
    "credentials_in": dropdown(("header", "body"), "custom_tool_credentials_in"),
}
FORMS: dict[str, dict[str, Fields]] = {
    "rest": {
        "": {
            "url": TEXT,
            "method": dropdown(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")),
            "headers": _ANYTHING,
            "query": _ANYTHING,
            "body": _ANYTHING,
            "content_type": TEXT,
        },
        CONF_AUTH: _AUTH,
        "result": _RESPONSE,
        "limits": {
            "timeout": number(1, 300, unit="s"),
            "max_response_bytes": number(1024, 1024 * 1024, unit="B"),
            "min_interval": number(0, 86400, unit="s"),
            "verify_ssl": SWITCH,
        },
    },
    "service": {
        "": {"service": TEXT, "target": _ANYTHING, "data": _ANYTHING, "return_response": SWITCH},
        "result": _RESPONSE,
    },
    "template": {"": {"template": PromptSelector()}},
    "mcp": {
        "": {
            "server_url": TEXT,
            "method": TEXT,
            "arguments": _ANYTHING,
            "transport": dropdown((AUTO, STREAMABLE_HTTP, SSE), "mcp_transport"),
        },
        CONF_AUTH: _AUTH,
        "result": _RESPONSE,
        "limits": {
            "timeout": number(1, 300, unit="s"),
            "min_interval": number(0, 86400, unit="s"),
            "verify_ssl": SWITCH,
        },
    },
}
"""By type of tool and section; what is not in a section is under an empty name."""

OF_AUTH: dict[str, set[str]] = {
    "bearer": {"token"},
    "basic": {"username", "password"},
    "oauth2": {"token_url", "client_id", "client_secret", "scope", "audience", "credentials_in"},
}
"""Which fields belong to which way to prove who one is; the others are left out."""

_PLAIN = {CONF_TYPE: "template", "template": "-"}
"""A handler that is always right: with it, everything else is checked before the handler's own form."""


class CustomToolFlow(SubentryForms):
    """Add a tool or change one."""

    _data: dict[str, Any]
    """As it will be stored."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start with nothing."""
        return await self._async_basics("user", {}, user_input)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from what is stored."""
        return await self._async_basics("reconfigure", self._get_reconfigure_subentry().data, user_input)

    async def async_step_rest(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for a request."""
        return await self._async_handler("rest", user_input)

    async def async_step_service(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for an action."""
        return await self._async_handler("service", user_input)

    async def async_step_template(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for a template."""
        return await self._async_handler("template", user_input)

    async def async_step_mcp(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for a tool of a server."""
        return await self._async_handler("mcp", user_input)

    async def _async_basics(
        self, step_id: str, stored: Mapping[str, Any], user_input: dict[str, Any] | None
    ) -> SubentryFlowResult:
        """Ask what the tool is called and what it takes."""
        known = stored.get(CONF_HANDLER, {})
        shown = {**stored, CONF_TYPE: known.get(CONF_TYPE, "rest"), BEHAVIOUR: _behaviour(stored)}
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            shown = user_input
            data = _tool(user_input)
            if missing := _missing("", data):
                errors = missing
            elif self.name_is_taken(data[CONF_NAME]):
                errors[CONF_NAME] = "name_taken"
            elif reason := await self._async_wrong({**data, CONF_HANDLER: _PLAIN}):
                errors["base"], placeholders = "tool_refused", {"reason": reason}
            else:
                kind = user_input.get(CONF_TYPE, "rest")
                self._data = {**data, CONF_HANDLER: known if known.get(CONF_TYPE) == kind else {CONF_TYPE: kind}}
                return await self._async_handler(kind, None)
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(markers(self.hass, BASICS, shown)),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def _async_handler(self, kind: str, user_input: dict[str, Any] | None) -> SubentryFlowResult:
        """Ask what this kind of tool needs, and store the tool when it can be used."""
        known = self._data[CONF_HANDLER]
        shown, errors, placeholders = known, dict[str, str](), dict[str, str]()
        if user_input is not None:
            handler = _handler(kind, user_input, known)
            self._data = {**self._data, CONF_HANDLER: handler}  # keys need not be entered again after an error
            shown = handler
            if not (errors := _missing(kind, handler)):
                if not (reason := await self._async_wrong(self._data)):
                    return self.store(self._data[CONF_NAME], self._data)
                errors, placeholders = {"base": "tool_refused"}, {"reason": reason}
        return self.async_show_form(
            step_id=kind,
            data_schema=handler_schema(self.hass, kind, shown),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def _async_wrong(self, data: Mapping[str, Any]) -> str | None:
        """Return why the tool could not be used."""
        try:
            CustomTools(self.hass, self._get_entry()).check(data)
        except (CustomToolError, probatio.Invalid) as err:
            return await async_reason(self.hass, err)
        return None


def handler_schema(hass: HomeAssistant, kind: str, shown: Mapping[str, Any]) -> probatio.Schema:
    """Return the form of a kind of tools. Passwords and keys are never shown."""
    schema: dict[probatio.Marker, Any] = {}
    for name, fields in FORMS[kind].items():
        values = shown.get(CONF_AUTH, {}) if name == CONF_AUTH else shown
        inside = markers(
            hass, fields, {key: value for key, value in values.items() if name != CONF_AUTH or key not in KEPT}
        )
        if name:
            schema[probatio.Optional(name)] = section(probatio.Schema(inside), {"collapsed": True})
        else:
            schema |= inside
    return probatio.Schema(schema)


def _missing(kind: str, entered: Mapping[str, Any]) -> dict[str, str]:
    """Return an error for each field that was left empty and is needed."""
    return {key: "missing" for key in NEEDED[kind] if is_empty(entered.get(key))}


def _tool(user_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first form as YAML would say it."""
    tidied = {key: value.strip() if isinstance(value, str) else value for key, value in user_input.items()}
    data = {key: value for key, value in tidied.items() if key not in (CONF_TYPE, BEHAVIOUR) and not is_empty(value)}
    return data | BEHAVIOURS[user_input.get(BEHAVIOUR, "default")]


def _behaviour(data: Mapping[str, Any]) -> str:
    said = {key: data[key] for key in (CONF_READ_ONLY, CONF_DESTRUCTIVE) if key in data}
    return next((name for name, keys in BEHAVIOURS.items() if keys == said), "default")


def _handler(kind: str, user_input: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the second form as YAML would say it; a section that was not sent stays as it is."""
    handler: dict[str, Any] = {CONF_TYPE: kind}
    for name, fields in FORMS[kind].items():
        stays = bool(name) and name not in user_input
        before = known.get(CONF_AUTH, {}) if name == CONF_AUTH else known
        sent = before if stays else user_input[name] if name else user_input
        values = {key: sent[key] for key in fields if not is_empty(sent.get(key))}
        if name != CONF_AUTH:
            handler |= values
        elif values.get(CONF_TYPE, "none") != "none":
            handler[CONF_AUTH] = _auth(values, before, moved=_places(user_input, values) != _places(known, before))
    return handler


def _auth(values: Mapping[str, Any], before: Mapping[str, Any], *, moved: bool) -> dict[str, Any]:
    """Return the fields of one way to prove who one is.

    What was entered before is not shown and stays; at another address it has to be entered again.
    """
    kind = values[CONF_TYPE]
    kept = {} if moved or before.get(CONF_TYPE) != kind else {key: before[key] for key in KEPT if key in before}
    return {CONF_TYPE: kind} | {key: value for key, value in {**kept, **values}.items() if key in OF_AUTH[kind]}


def _places(handler: Mapping[str, Any], auth: Mapping[str, Any]) -> set[str]:
    """Return the computers to which a password or key goes."""
    places = set()
    for address in (handler.get("url"), handler.get("server_url"), auth.get("token_url")):
        try:
            places.add(str(URL(str(address or "").partition("{")[0]).origin()))
        except ValueError:
            places.add(str(address))
    return places
