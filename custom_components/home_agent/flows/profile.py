"""The form of an agent."""

from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.const import CONF_NAME
from homeassistant.data_entry_flow import section
import probatio

from ..support.const import CONF_PROFILE_DEFAULTS
from .checks import async_check_settings, tidy
from .forms import BASICS, SECTIONS, TEXT, SubentryForms, inherited, known, lifted, markers, overrides, shown


class ProfileFlow(SubentryForms):
    """Add an agent or change one."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add an agent."""
        return await self._async_form("user", user_input)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change an agent."""
        return await self._async_form("reconfigure", user_input)

    async def _async_form(self, step_id: str, user_input: dict[str, Any] | None) -> SubentryFlowResult:
        """Show the form, or store what it sent."""
        entry, subentry = self._get_entry(), self.subentry
        defaults = known(entry, entry.options.get(CONF_PROFILE_DEFAULTS, {}))
        own = known(entry, subentry.data) if subentry else {}
        name = subentry.title if subentry else ""
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            name = user_input[CONF_NAME].strip()
            sent = dict(BASICS)
            for key in SECTIONS.keys() & user_input:  # a section that was not sent stays as it is
                sent |= SECTIONS[key]
            own = overrides(own, inherited(defaults), tidy(lifted(user_input, SECTIONS)), sent)
            if not name or self.name_is_taken(name):
                errors[CONF_NAME] = "name_taken" if name else "name_missing"
            if finding := await async_check_settings(self.hass, inherited(defaults, own)):
                errors["base"], placeholders = finding
            if not errors:
                return self.store(name, own)
        settings = inherited(defaults, own)
        schema = {shown(probatio.Required, CONF_NAME, {CONF_NAME: name}): TEXT, **markers(self.hass, BASICS, settings)}
        for key, fields in SECTIONS.items():
            inner = probatio.Schema(markers(self.hass, fields, settings))
            schema[probatio.Optional(key)] = section(inner, {"collapsed": True})
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders,
        )
