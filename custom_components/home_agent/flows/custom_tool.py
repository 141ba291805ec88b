"""The forms of a custom tool: name and parameters, then what its type needs. They store the same as YAML."""

from collections.abc import Mapping
from functools import partialmethod
from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.const import CONF_DESCRIPTION, CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import ObjectSelector, TextSelector
import probatio
from yarl import URL

from ..support.errors import CustomToolError
from ..tools.custom.definition import AUTH_SCHEMAS
from ..tools.custom.provider import HANDLERS, CustomTools, async_reason
from ..tools.custom.rest import RestTool
from ..tools.mcp.wire import AUTO, SSE, STREAMABLE_HTTP
from .forms import (
    LONG_TEXT,
    SECRET,
    STORED,
    SWITCH,
    TEXT,
    Fields,
    PromptSelector,
    SubentryForms,
    is_empty,
    markers,
    number,
    sectioned,
    select,
)
from .model_server import CONF_USE_ANYWAY

BEHAVIOUR = "behaviour"
NO_AUTH = "none"
BODY = "body"
BEHAVIOURS: dict[str, dict[str, bool]] = {
    "default": {},
    "read_only": {"read_only": True, "destructive": False},
    "write": {"read_only": False, "destructive": False},
    "destructive": {"read_only": False, "destructive": True},
}
KEPT = ("token", "password", "client_secret")
"""Secrets, shown as dots; left or emptied, the stored one stays."""

_ANYTHING = ObjectSelector()
BASICS: Fields = {
    CONF_NAME: TEXT,
    "title": TEXT,
    CONF_DESCRIPTION: LONG_TEXT,
    "parameters": _ANYTHING,
    "examples": TextSelector({"multiple": True}),
    "type": select(tuple(HANDLERS), "custom_tool_type"),
    BEHAVIOUR: select(tuple(BEHAVIOURS), "custom_tool_behaviour"),
}
CREDENTIALS: dict[str, Fields] = {
    "bearer": {"token": SECRET},
    "basic": {"username": TEXT, "password": SECRET},
    "oauth2": {
        "token_url": TEXT,
        "client_id": TEXT,
        "client_secret": SECRET,
        "scope": TEXT,
        "audience": TEXT,
        "credentials_in": select(("header", "body"), "custom_tool_credentials_in"),
    },
}
"""Fields of the form of credentials, by kind."""
NEEDED: dict[str, tuple[str, ...]] = {
    "": (CONF_NAME, CONF_DESCRIPTION),
    "rest": ("url",),
    "service": ("service",),
    "template": ("template",),
    "mcp": ("server_url", "method"),
    BODY: (),
    "bearer": ("token",),
    "basic": ("username", "password"),
    "oauth2": ("token_url", "client_id", "client_secret"),
}
"""Required fields, by form; the first form has no name."""
_AUTH = select((NO_AUTH, *CREDENTIALS), "custom_tool_auth")
_RESULT: Fields = {"response": PromptSelector(), "response_path": TEXT}
_LIMITS: Fields = {
    "timeout": number(1, 300, unit="s"),
    "min_interval": number(0, 86400, unit="s"),
    "verify_ssl": SWITCH,
}
FORMS: dict[str, dict[str, Fields]] = {
    "rest": {
        "": {"url": TEXT, "method": select(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")), "auth": _AUTH},
        "request": {"headers": _ANYTHING, "query": _ANYTHING},
        "result": _RESULT,
        "limits": {**_LIMITS, "max_response_bytes": number(1024, 1024 * 1024, unit="B")},
    },
    "service": {
        "": {"service": TEXT, "target": _ANYTHING, "data": _ANYTHING, "return_response": SWITCH},
        "result": _RESULT,
    },
    "template": {"": {"template": PromptSelector()}},
    "mcp": {
        "": {"server_url": TEXT, "method": TEXT, "arguments": _ANYTHING, "auth": _AUTH},
        "result": _RESULT,
        "limits": {**_LIMITS, "transport": select((AUTO, STREAMABLE_HTTP, SSE), "mcp_transport")},
    },
    BODY: {"": {BODY: _ANYTHING, "content_type": TEXT}},
    **{kind: {"": fields} for kind, fields in CREDENTIALS.items()},
}
"""By form and section; fields outside of any section are under an empty name. The first four are the types of tools."""
_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


def _defaults(schema: probatio.Schema) -> dict[str, Any]:
    given = {str(marker): marker.default for marker in schema.schema if isinstance(marker, probatio.Optional)}
    values = {key: default() for key, default in given.items() if key != "auth" and callable(default)}
    return {key: value for key, value in values.items() if value not in ("", {})}


_DEFAULTS = {kind: _defaults(handler.schema) for kind, handler in HANDLERS.items()} | {
    kind: _defaults(schema) for kind, schema in AUTH_SCHEMAS.items()
}
"""Defaults of the schemas, by form."""

_PLAIN = {"type": "template", "template": "-"}
"""A valid handler: with it, the first form is checked before the handler's own form."""


class CustomToolFlow(SubentryForms):
    """Add a tool or change one."""

    _data: dict[str, Any]  # as it will be stored

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for the tool's name and parameters, starting from what is stored."""
        stored: Mapping[str, Any] = self.subentry.data if self.subentry else {}
        known = stored.get("handler", {})
        said = {key: stored[key] for key in ("read_only", "destructive") if key in stored}
        behaviour = next((name for name, keys in BEHAVIOURS.items() if keys == said), "default")
        shown = {**stored, "type": known.get("type", "rest"), BEHAVIOUR: behaviour}
        errors, placeholders = dict[str, str](), dict[str, str]()
        if user_input is not None:
            shown = user_input
            not_shown = {key: value for key, value in stored.items() if key not in (*BASICS, *said, "handler")}
            data = not_shown | _tool(user_input)
            if user_input.get(BEHAVIOUR, behaviour) == behaviour:
                data |= said
            if missing := _missing("", data):
                errors = missing
            elif self.name_is_taken(data[CONF_NAME]):
                errors[CONF_NAME] = "name_taken"
            elif reason := await self._async_wrong({**data, "handler": _PLAIN}):
                errors["base"], placeholders = "tool_refused", {"reason": reason}
            else:
                kind = user_input.get("type", "rest")
                self._data = {**data, "handler": known if known.get("type") == kind else {"type": kind}}
                return await self._async_handler(kind)
        return self.async_show_form(
            step_id=self.first_step,
            data_schema=probatio.Schema(markers(self.hass, BASICS, shown)),
            errors=errors,
            description_placeholders=placeholders,
        )

    async_step_reconfigure = async_step_user

    async def _async_handler(self, step: str, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for the settings of the tool's type, one form after the other, and store the tool if it is valid."""
        errors, placeholders = dict[str, str](), dict[str, str]()
        if user_input is not None:
            known = self._data["handler"]
            handler = (
                _with_credentials(step, user_input, known) if step in CREDENTIALS else _handler(step, user_input, known)
            )
            self._data = {**self._data, "handler": handler}  # keys need not be entered again after an error
            forms: list[str] = [handler["type"]]  # that of its type, then those for its body and credentials
            if forms == ["rest"] and (BODY in handler or str(handler.get("method")).upper() in _WITH_BODY):
                forms.append(BODY)
            if auth := handler.get("auth"):
                forms += [kind for kind in CREDENTIALS if kind == auth["type"]]
            ahead = forms[forms.index(step) + 1 :]
            if not (errors := _missing(step, handler.get("auth", {}) if step in CREDENTIALS else handler)):
                without = {BODY: (BODY, "content_type")}  # fields of later forms are not checked yet
                later = {key for form in ahead for key in without.get(form, ("auth",))}
                so_far = {key: value for key, value in handler.items() if key not in later}
                if reason := await self._async_wrong({**self._data, "handler": so_far}):
                    errors, placeholders = {"base": "tool_refused"}, {"reason": reason}
                elif ahead:
                    return await self._async_handler(ahead[0])
                elif not user_input.get(CONF_USE_ANYWAY) and await self._async_is_web_page():
                    errors = {"base": "web_page"}
                else:
                    return self.store(self._data[CONF_NAME], self._data)
        schema = dict(handler_schema(self.hass, step, self._data["handler"]).schema)
        if "web_page" in errors.values():
            schema[probatio.Optional(CONF_USE_ANYWAY)] = SWITCH
        return self.async_show_form(
            step_id=step,
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders,
        )

    async_step_rest = partialmethod(_async_handler, "rest")
    async_step_service = partialmethod(_async_handler, "service")
    async_step_template = partialmethod(_async_handler, "template")
    async_step_mcp = partialmethod(_async_handler, "mcp")
    async_step_body = partialmethod(_async_handler, BODY)
    async_step_bearer = partialmethod(_async_handler, "bearer")
    async_step_basic = partialmethod(_async_handler, "basic")
    async_step_oauth2 = partialmethod(_async_handler, "oauth2")

    async def _async_is_web_page(self) -> bool:
        """Return whether the address of the tool answers with a web page, as far as it can be asked."""
        tools = CustomTools(self.hass, self._get_entry())
        try:
            tool = tools.made_from(self._data)
            return isinstance(tool, RestTool) and await tool.async_is_web_page()
        finally:
            await tools.async_close()

    async def _async_wrong(self, data: Mapping[str, Any]) -> str | None:
        """Return why the tool is not valid, None if it is."""
        try:
            CustomTools(self.hass, self._get_entry()).check(data)
        except (CustomToolError, probatio.Invalid) as err:
            return await async_reason(self.hass, err)
        return None


def handler_schema(hass: HomeAssistant, step: str, handler: Mapping[str, Any]) -> probatio.Schema:
    """Return a form with the stored values; dots stand for stored secrets."""
    auth = handler.get("auth", {})
    shown = {**_DEFAULTS.get(step, {}), **handler, "auth": auth.get("type", NO_AUTH)}
    if step in CREDENTIALS:
        shown = {**_DEFAULTS[step], **auth} | {key: STORED for key in KEPT if auth.get(key)}
    return probatio.Schema(sectioned(hass, FORMS[step], shown))


def _missing(kind: str, entered: Mapping[str, Any]) -> dict[str, str]:
    """Return an error for each required field that is empty."""
    return {key: "missing" for key in NEEDED[kind] if is_empty(entered.get(key))}


def _tool(user_input: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of the first form in the shape of YAML."""
    tidied = {key: value.strip() if isinstance(value, str) else value for key, value in user_input.items()}
    data = {key: value for key, value in tidied.items() if key not in ("type", BEHAVIOUR) and not is_empty(value)}
    return data | BEHAVIOURS[user_input.get(BEHAVIOUR, "default")]


def _handler(step: str, user_input: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the handler after a form, in the shape of YAML. Sections that were not sent and later forms stay as they are."""
    handler = dict(known)
    for name, fields in FORMS[step].items():
        if name and name not in user_input:
            continue
        sent = user_input[name] if name else user_input
        for key in fields:
            value = sent.get(key)
            unset = is_empty(value) or (value == _DEFAULTS.get(step, {}).get(key) and key not in known)
            if key != "auth" and unset:
                handler.pop(key, None)
            elif key != "auth":
                handler[key] = value
    if "auth" in FORMS[step].get("", {}):
        before = known.get("auth", {})
        kind = user_input.get("auth", before.get("type", NO_AUTH))
        handler.pop("auth", None)
        if kind != NO_AUTH:
            same = before if before.get("type") == kind else {}
            moved = _place(handler, "url", "server_url") != _place(known, "url", "server_url")
            # Unknown ones may be secrets as well.
            stay = [key for key in same if not moved or (key in CREDENTIALS.get(kind, ()) and key not in KEPT)]
            handler["auth"] = {"type": kind, **{key: same[key] for key in stay}}
    method = str(handler.get("method", "GET")).upper()
    if step == "rest" and method not in _WITH_BODY and method != str(known.get("method", "GET")).upper():
        handler = {key: value for key, value in handler.items() if key not in (BODY, "content_type")}
    return handler


def _with_credentials(kind: str, user_input: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a handler with the entered credentials. A secret that was left stays, unless the address changed."""
    before = known["auth"]
    moved = "token_url" in before and _place(user_input, "token_url") != _place(before, "token_url")
    auth = {"type": kind} | {key: value for key, value in before.items() if key not in CREDENTIALS[kind] and not moved}
    for key in CREDENTIALS[kind]:
        value = user_input.get(key)
        if key in KEPT and value in (None, "", STORED):
            value = None if moved else before.get(key)
        if not is_empty(value) and (value != _DEFAULTS[kind].get(key) or key in before):
            auth[key] = value
    return {**known, "auth": auth}


def _place(values: Mapping[str, Any], *keys: str) -> str:
    """Return the origin of the first address among `keys`: secrets stay with it."""
    address = next((str(values[key]) for key in keys if values.get(key)), "")
    try:
        return str(URL(address.partition("{")[0]).origin())
    except ValueError:
        return address
