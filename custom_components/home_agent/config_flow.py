"""Config flow: the entry, and reauthentication of an endpoint whose key was refused. The forms are in flows/."""

from collections.abc import Mapping
from typing import Any, override

from homeassistant.config_entries import (
    ConfigEntry,
    ConfigEntryState,
    ConfigFlow,
    ConfigFlowResult,
    ConfigSubentryData,
    ConfigSubentryDataWithId,
    ConfigSubentryFlow,
    FlowType,
)
from homeassistant.const import CONF_NAME
from homeassistant.core import callback
from homeassistant.util.ulid import ulid_now
import probatio

from .flows.check import FROM_SETUP
from .flows.custom_tool import CustomToolFlow
from .flows.forms import TEXT
from .flows.mcp_server import McpServerFlow
from .flows.model_server import NO_MODEL, EndpointFlow, EndpointForm, ModelSteps, preset_fields
from .flows.options import HomeAgentOptionsFlow
from .flows.profile import ProfileFlow
from .settings.portable import AUTOMATION_CREATION, async_preset
from .support.const import (
    DOMAIN,
    ENTRY_VERSION,
    SUBENTRY_CUSTOM_TOOL,
    SUBENTRY_LLM,
    SUBENTRY_MCP_SERVER,
    SUBENTRY_PROFILE,
)

DEFAULT_NAME = "Home Agent"


class HomeAgentConfigFlow(ConfigFlow, ModelSteps[ConfigFlowResult], domain=DOMAIN):
    """Set up the one entry."""

    VERSION = ENTRY_VERSION

    _name: str
    _failed_id: str  # the endpoint to reauthenticate

    @classmethod
    @callback
    @override
    def async_get_supported_subentry_types(cls, config_entry: ConfigEntry) -> dict[str, type[ConfigSubentryFlow]]:
        """Return the flow of each kind of subentry."""
        return {
            SUBENTRY_LLM: EndpointFlow,
            SUBENTRY_PROFILE: ProfileFlow,
            SUBENTRY_CUSTOM_TOOL: CustomToolFlow,
            SUBENTRY_MCP_SERVER: McpServerFlow,
        }

    @staticmethod
    @callback
    @override
    def async_get_options_flow(config_entry: ConfigEntry) -> HomeAgentOptionsFlow:
        """Return the form of the default settings."""
        return HomeAgentOptionsFlow()

    @override
    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a name and the kind of endpoint, if any."""
        if user_input is None:
            name = probatio.Optional(CONF_NAME, description={"suggested_value": DEFAULT_NAME})
            schema = probatio.Schema({name: TEXT, **preset_fields(or_none=True)})
            return self.async_show_form(step_id="user", data_schema=schema)
        self._name = user_input.get(CONF_NAME, "").strip() or DEFAULT_NAME
        if user_input["preset"] == NO_MODEL:
            return self._create([])
        self._form = EndpointForm(self.hass, {"preset": user_input["preset"]})
        return await self.async_step_endpoint()

    async def async_step_model(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for model and parameters."""
        errors: dict[str, str] = {}
        if user_input is not None and not (errors := self._form.take_model(user_input)):
            if not self._form.tries:
                return await self.async_step_save()
            return await self.async_step_try_model()
        return self.async_show_form(step_id="model", data_schema=self._form.model_schema(is_first=True), errors=errors)

    async def async_step_save(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Create the entry with the entered model, and with an agent for automations if it is wanted."""
        model = _subentry(SUBENTRY_LLM, self._form.suggested_title(), self._form.data)
        if not self._form.with_automations:
            return self._create([model])
        name, settings = await async_preset(self.hass, AUTOMATION_CREATION, self.hass.config.language)
        if name.casefold() == self._name.casefold():
            name = f"{name} 2"
        maker = ConfigSubentryDataWithId(
            **_subentry(SUBENTRY_PROFILE, name, settings),
            subentry_id=ulid_now(),  # named by the first agent
        )
        return self._create([model], maker)

    def _create(
        self, endpoints: list[ConfigSubentryData], helper: ConfigSubentryDataWithId | None = None
    ) -> ConfigFlowResult:
        """Create the entry, named after the home, with a first agent that inherits all settings, and may delegate to a helper."""
        own = {"delegate_to": [helper["subentry_id"]]} if helper is not None else {}
        subentries = [*endpoints, _subentry(SUBENTRY_PROFILE, self._name, own), *([helper] if helper else [])]
        home = self.hass.config.location_name
        title = f"{DEFAULT_NAME} ({home})" if home else DEFAULT_NAME  # Repairs says it where a key is refused
        return self.async_create_entry(title=title, data={}, subentries=subentries)

    @override
    async def async_on_create_entry(self, result: ConfigFlowResult) -> ConfigFlowResult:
        """Continue with the check of the home: a voice assistant, the exposed entities, and a first sentence."""
        entry = result["result"]
        if entry.state is ConfigEntryState.LOADED:
            check = await self.hass.config_entries.options.async_init(entry.entry_id, context=FROM_SETUP.copy())
            result["next_flow"] = (FlowType.OPTIONS_FLOW, check["flow_id"])
        return result

    async def async_step_reauth(self, entry_data: Mapping[str, Any]) -> ConfigFlowResult:
        """Reauthenticate the endpoint whose `subentry_id` is in `entry_data`."""
        self._failed_id = entry_data.get("subentry_id", "")
        if not (subentry := self._get_reauth_entry().subentries.get(self._failed_id)):
            return self.async_abort(reason="endpoint_removed")
        self.context["title_placeholders"] = {"name": subentry.title}
        self._form = EndpointForm(self.hass, subentry.data)
        return await self.async_step_reauth_confirm()

    async def async_step_reauth_confirm(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for a new key and try it."""
        entry = self._get_reauth_entry()
        subentry = entry.subentries[self._failed_id]  # removing it would have ended this flow
        errors: dict[str, str] = {}
        if user_input is not None and not (errors := await self._form.async_connect(user_input)):
            self.hass.config_entries.async_update_subentry(entry, subentry, data=self._form.data)
            return self.async_update_and_abort(entry)
        return self.async_show_form(
            step_id="reauth_confirm",
            data_schema=self._form.key_schema(),
            errors=errors,
            description_placeholders={"endpoint": subentry.title},
        )


def _subentry(subentry_type: str, title: str, data: dict[str, Any]) -> ConfigSubentryData:
    return ConfigSubentryData(subentry_type=subentry_type, title=title, data=data, unique_id=None)
