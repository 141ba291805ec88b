"""Add an endpoint or change one."""

from typing import Any

from homeassistant.config_entries import SOURCE_RECONFIGURE, ConfigSubentryFlow, SubentryFlowResult
from homeassistant.const import CONF_NAME
import probatio

from ..const import CONF_PRESET, SUBENTRY_LLM
from .checks import name_is_taken
from .endpoint import EndpointForm
from .endpoint_schema import preset_fields


class EndpointFlow(ConfigSubentryFlow):
    """The forms of a subentry `llm`."""

    _form: EndpointForm

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask what kind of endpoint it is."""
        if user_input is None:
            return self.async_show_form(step_id="user", data_schema=probatio.Schema(preset_fields(or_none=False)))
        self._form = EndpointForm(self.hass, {CONF_PRESET: user_input[CONF_PRESET]})
        return await self.async_step_endpoint()

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from what is stored."""
        self._form = EndpointForm(self.hass, self._get_reconfigure_subentry().data)
        return await self.async_step_endpoint()

    async def async_step_endpoint(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for address and key, and connect."""
        errors: dict[str, str] = {}
        if user_input is not None and not (errors := await self._form.async_connect(user_input)):
            return await self.async_step_model()
        return self.async_show_form(step_id="endpoint", data_schema=self._form.connection_schema(), errors=errors)

    async def async_step_model(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for model and parameters."""
        subentry = self._get_reconfigure_subentry() if self.source == SOURCE_RECONFIGURE else None
        name = subentry.title if subentry else ""
        errors: dict[str, str] = {}
        if user_input is not None:
            name = user_input.pop(CONF_NAME, "").strip()
            errors = self._form.take_model(user_input)
            title = name or self._form.suggested_title()
            if name_is_taken(self._get_entry(), SUBENTRY_LLM, title, subentry.subentry_id if subentry else None):
                errors[CONF_NAME] = "name_taken"
            if not errors and subentry:
                return self.async_update_and_abort(self._get_entry(), subentry, title=title, data=self._form.data)
            if not errors:
                return self.async_create_entry(title=title, data=self._form.data)
        return self.async_show_form(step_id="model", data_schema=self._form.model_schema(name=name), errors=errors)
