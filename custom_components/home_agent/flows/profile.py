"""The form of an assistant."""

from collections.abc import Mapping
from typing import Any

from homeassistant.config_entries import ConfigEntry, ConfigSubentry, ConfigSubentryFlow, SubentryFlowResult
from homeassistant.const import CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import section
import probatio

from ..const import CONF_EXTERNAL_LLM, CONF_LLM, CONF_PROFILE_DEFAULTS, LLM_DEFAULT, LLM_NONE, SUBENTRY_PROFILE
from .checks import async_check_settings, name_is_taken, tidy
from .choices import known_servers
from .fields import (
    CONTEXT,
    HISTORY,
    NAME,
    PROMPT,
    PROMPT_ADDITIONS,
    SAFETY,
    SPEECH,
    STREAMING,
    TOOLS,
    Fields,
    assistant,
    selectors,
)
from .sparse import inherited, is_empty, lifted, overrides

SECTIONS: dict[str, Fields] = {
    "prompt": PROMPT,
    "context": CONTEXT,
    "history": HISTORY,
    "tools": TOOLS,
    "safety": SAFETY,
    "voice": STREAMING | SPEECH,
}


def basics(entry: ConfigEntry) -> Fields:
    """Return the fields that are not in a section."""
    return assistant(entry) | PROMPT_ADDITIONS


def known_settings(hass: HomeAssistant, entry: ConfigEntry, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings without what was removed since and its field would refuse to show: endpoints, servers."""
    known = {LLM_DEFAULT, LLM_NONE, *entry.subentries}
    return known_servers(
        hass, {key: value for key, value in data.items() if key not in (CONF_LLM, CONF_EXTERNAL_LLM) or value in known}
    )


def profile_schema(hass: HomeAssistant, entry: ConfigEntry, name: str, settings: Mapping[str, Any]) -> probatio.Schema:
    """Return the form, showing `settings` as they apply."""
    schema: dict[probatio.Marker, Any] = {
        probatio.Required(CONF_NAME, description={"suggested_value": name}): NAME,
        **markers(hass, basics(entry), settings),
    }
    for key, fields in SECTIONS.items():
        schema[probatio.Optional(key)] = section(probatio.Schema(markers(hass, fields, settings)), {"collapsed": True})
    return probatio.Schema(schema)


def markers(hass: HomeAssistant, fields: Fields, settings: Mapping[str, Any]) -> dict[probatio.Marker, Any]:
    """Return the fields, each with the value that applies; all may be emptied."""
    return {
        probatio.Optional(
            key, description=None if is_empty(settings.get(key)) else {"suggested_value": settings[key]}
        ): selector
        for key, selector in selectors(hass, fields).items()
    }


class ProfileFlow(ConfigSubentryFlow):
    """Add an assistant or change one."""

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add an assistant."""
        return await self._async_form("user", user_input)

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change an assistant."""
        return await self._async_form("reconfigure", user_input, self._get_reconfigure_subentry())

    async def _async_form(
        self, step_id: str, user_input: dict[str, Any] | None, subentry: ConfigSubentry | None = None
    ) -> SubentryFlowResult:
        """Show the form, or store what it sent."""
        entry = self._get_entry()
        defaults = known_settings(self.hass, entry, entry.options.get(CONF_PROFILE_DEFAULTS, {}))
        own = known_settings(self.hass, entry, subentry.data) if subentry else {}
        name = subentry.title if subentry else ""
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            name = user_input[CONF_NAME].strip()
            own = self._settings(entry, inherited(defaults), own, user_input)
            if not name or name_is_taken(entry, SUBENTRY_PROFILE, name, subentry.subentry_id if subentry else None):
                errors[CONF_NAME] = "name_taken" if name else "name_missing"
            if finding := await async_check_settings(self.hass, inherited(defaults, own)):
                errors["base"], placeholders = finding
            if not errors:
                return self._store(entry, subentry, name, own)
        return self.async_show_form(
            step_id=step_id,
            data_schema=profile_schema(self.hass, entry, name, inherited(defaults, own)),
            errors=errors,
            description_placeholders=placeholders,
        )

    @staticmethod
    def _settings(
        entry: ConfigEntry, inherits: dict[str, Any], own: Mapping[str, Any], user_input: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what the profile overrides after the form was sent; a section that was not sent stays as it is."""
        sent = basics(entry)
        for key in SECTIONS.keys() & user_input:
            sent |= SECTIONS[key]
        return overrides(own, inherits, tidy(lifted(user_input, SECTIONS)), sent)

    def _store(
        self, entry: ConfigEntry, subentry: ConfigSubentry | None, name: str, data: dict[str, Any]
    ) -> SubentryFlowResult:
        if subentry:
            return self.async_update_and_abort(entry, subentry, title=name, data=data)
        return self.async_create_entry(title=name, data=data)
