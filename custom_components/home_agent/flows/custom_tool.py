"""The forms of a tool of the owner's own: what it is, then what its kind needs. They write what YAML would say (C-32)."""

from collections.abc import Mapping
from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigSubentryFlow, SubentryFlowResult
from homeassistant.const import CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
import probatio
from yarl import URL

from ..const import SUBENTRY_CUSTOM_TOOL
from ..custom.definition import (
    CONF_DESTRUCTIVE,
    CONF_HANDLER,
    CONF_READ_ONLY,
    CONF_TYPE,
)
from ..custom.provider import CustomTools, async_reason
from ..errors import CustomToolError
from .checks import name_is_taken
from .custom_tool_fields import BASICS, BEHAVIOUR, BEHAVIOURS, CONF_AUTH, FORMS, KEPT, NEEDED, OF_AUTH
from .profile import markers
from .sparse import is_empty

_PLAIN = {CONF_TYPE: "template", "template": "-"}
"""A handler that is always right: with it, everything else is checked before the handler's own form."""


class CustomToolFlow(ConfigSubentryFlow):
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
            elif self._is_taken(data[CONF_NAME]):
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
                    return self._store(self._data)
                errors, placeholders = {"base": "tool_refused"}, {"reason": reason}
        return self.async_show_form(
            step_id=kind,
            data_schema=handler_schema(self.hass, kind, shown),
            errors=errors,
            description_placeholders=placeholders,
        )

    def _is_taken(self, name: str) -> bool:
        own = self._get_reconfigure_subentry().subentry_id if self.source == SOURCE_RECONFIGURE else None
        return name_is_taken(self._get_entry(), SUBENTRY_CUSTOM_TOOL, name, own)

    async def _async_wrong(self, data: Mapping[str, Any]) -> str | None:
        """Return why the tool could not be used."""
        try:
            CustomTools(self.hass, self._get_entry()).check(data)
        except (CustomToolError, probatio.Invalid) as err:
            return await async_reason(self.hass, err)
        return None

    def _store(self, data: dict[str, Any]) -> SubentryFlowResult:
        title = data[CONF_NAME]
        if self.source == SOURCE_RECONFIGURE:
            return self.async_update_and_abort(
                self._get_entry(), self._get_reconfigure_subentry(), title=title, data=data
            )
        return self.async_create_entry(title=title, data=data)


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
