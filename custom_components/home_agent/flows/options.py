"""The house's own settings: defaults of all assistants, safety, what is logged and announced."""

from collections.abc import Mapping
from typing import Any

from homeassistant.config_entries import ConfigFlowResult, OptionsFlow
from homeassistant.helpers.selector import BooleanSelector, TextSelector, TextSelectorConfig
import probatio

from ..const import (
    CONF_ALLOW_PRIVATE_HOSTS,
    CONF_ALLOWED_ENTITIES,
    CONF_ALLOWED_HOSTS,
    CONF_ALWAYS_CONFIRM,
    CONF_DEBUG_LOGGING,
    CONF_EMIT_EVENTS,
    CONF_NEVER_CONFIRM,
    CONF_NEVER_OFFER,
    CONF_PROFILE_DEFAULTS,
    CONF_THROTTLE_TURNS,
    CONF_VERIFY_SECONDS,
)
from ..retrieval.settings import CONF_RETRIEVAL
from ..safety.throttle import THROTTLE_TURNS
from ..safety.verify import DEFAULT_SECONDS
from . import retrieval
from .checks import async_check_settings, check_lists, tidy
from .choices import name_choice
from .confirmation import PIN_FORMAT, confirmation_options, confirmation_schema
from .endpoint_schema import CONF_USE_ANYWAY
from .fields import CONTEXT, HISTORY, PROMPT, PROMPT_ADDITIONS, SPEECH, STREAMING, TOOLS, Fields, assistant, number
from .profile import known_settings, markers
from .sparse import inherited, overrides

MENU = ("assistant", "prompt", "context", "history", "retrieval", "tools", "safety", "confirmation", "network", "debug")
HOUSE_SAFETY: Fields = {
    CONF_ALLOWED_ENTITIES: name_choice,
    CONF_ALWAYS_CONFIRM: name_choice,
    CONF_NEVER_CONFIRM: name_choice,
    CONF_NEVER_OFFER: name_choice,
    CONF_THROTTLE_TURNS: number(1, 600),
    CONF_VERIFY_SECONDS: number(0, 10, unit="s"),
}
_SAFETY_DEFAULTS: dict[str, Any] = {
    CONF_ALLOWED_ENTITIES: [],
    CONF_ALWAYS_CONFIRM: [],
    CONF_NEVER_CONFIRM: [],
    CONF_NEVER_OFFER: [],
    CONF_THROTTLE_TURNS: THROTTLE_TURNS,
    CONF_VERIFY_SECONDS: DEFAULT_SECONDS,
}
NETWORK: Fields = {
    CONF_ALLOWED_HOSTS: TextSelector(TextSelectorConfig(multiple=True)),
    CONF_ALLOW_PRIVATE_HOSTS: BooleanSelector(),
}
_SWITCHES = {CONF_EMIT_EVENTS: True, CONF_DEBUG_LOGGING: False}
"""Switches of the house and what they are at first."""


class HomeAgentOptionsFlow(OptionsFlow):
    """Change the house's settings, one form per topic."""

    _retrieval: dict[str, Any] | None = None
    """What was entered about looking things up and did not work: token and key need not be entered again."""

    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Let the owner choose a topic."""
        return self.async_show_menu(step_id="init", menu_options=list(MENU))

    async def async_step_assistant(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask who answers and how it is spoken."""
        return await self._async_defaults_form("assistant", assistant(self.config_entry) | SPEECH, user_input)

    async def async_step_prompt(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for the prompt."""
        return await self._async_defaults_form("prompt", PROMPT | PROMPT_ADDITIONS, user_input)

    async def async_step_context(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what the model is told of the house."""
        return await self._async_defaults_form("context", CONTEXT, user_input)

    async def async_step_history(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask how much of a conversation is remembered."""
        return await self._async_defaults_form("history", HISTORY, user_input)

    async def async_step_retrieval(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask where documents are kept and who makes vectors, and try it."""
        stored = self._retrieval if self._retrieval is not None else self.config_entry.options.get(CONF_RETRIEVAL, {})
        key, placeholders = "", dict[str, str]()
        if user_input is not None:
            stored = self._retrieval = retrieval.taken(stored, user_input)
            connect = not user_input.get(CONF_USE_ANYWAY)
            if not (finding := await retrieval.async_check(self.hass, stored, connect=connect)):
                others = {name: value for name, value in self.config_entry.options.items() if name != CONF_RETRIEVAL}
                return self.async_create_entry(data=others | ({CONF_RETRIEVAL: stored} if stored else {}))
            key, placeholders = finding
        return self.async_show_form(
            step_id="retrieval",
            data_schema=retrieval.retrieval_schema(self.hass, stored, may_skip_check=key == retrieval.FAILED),
            errors={"base": key} if key else {},
            description_placeholders=placeholders,
        )

    async def async_step_tools(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what the model may do in one turn."""
        return await self._async_defaults_form("tools", TOOLS, user_input)

    async def async_step_safety(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask what is shared, what needs the owner's yes, what does not, and what never happens."""
        shown = _SAFETY_DEFAULTS | self.config_entry.options
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            sent = {key: user_input.get(key, default) for key, default in _SAFETY_DEFAULTS.items()}
            shown |= tidy(sent)
            if not (finding := check_lists(shown)):
                return self._store({key: shown[key] for key in _SAFETY_DEFAULTS})
            errors["base"], placeholders = finding
        return self.async_show_form(
            step_id="safety",
            data_schema=probatio.Schema(markers(self.hass, HOUSE_SAFETY, shown)),
            errors=errors,
            description_placeholders=placeholders,
        )

    async def async_step_confirmation(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask how long a question stands, and for PINs."""
        options = self.config_entry.options
        errors: dict[str, str] = {}
        if user_input is not None:
            changes, wrong = confirmation_options(options, user_input)
            if not wrong:
                return self._store(changes)
            errors = dict.fromkeys(wrong, PIN_FORMAT)
        return self.async_show_form(
            step_id="confirmation",
            data_schema=confirmation_schema(options),
            errors=errors,
        )

    async def async_step_network(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask which computers the owner's tools may reach."""
        if user_input is not None:
            hosts = sorted({host.strip().casefold() for host in user_input.get(CONF_ALLOWED_HOSTS, [])} - {""})
            private = user_input.get(CONF_ALLOW_PRIVATE_HOSTS, False)
            return self._store({CONF_ALLOWED_HOSTS: hosts, CONF_ALLOW_PRIVATE_HOSTS: private})
        shown = {CONF_ALLOW_PRIVATE_HOSTS: False} | self.config_entry.options
        return self.async_show_form(step_id="network", data_schema=probatio.Schema(markers(self.hass, NETWORK, shown)))

    async def async_step_debug(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Ask for streaming, events and logs."""
        if user_input is not None:
            switches = {key: user_input.get(key, default) for key, default in _SWITCHES.items()}
            return self._store(switches | {CONF_PROFILE_DEFAULTS: self._defaults_after(STREAMING, user_input)})
        fields = STREAMING | dict.fromkeys(_SWITCHES, BooleanSelector())
        shown = inherited(self._defaults()) | _SWITCHES | self.config_entry.options
        return self.async_show_form(step_id="debug", data_schema=probatio.Schema(markers(self.hass, fields, shown)))

    def _defaults(self) -> dict[str, Any]:
        """Return what the house overrides of the built-in defaults."""
        return known_settings(self.hass, self.config_entry, self.config_entry.options.get(CONF_PROFILE_DEFAULTS, {}))

    def _defaults_after(self, fields: Fields, user_input: dict[str, Any]) -> dict[str, Any]:
        return overrides(self._defaults(), inherited(), tidy(user_input), fields)

    async def _async_defaults_form(
        self, step_id: str, fields: Fields, user_input: dict[str, Any] | None
    ) -> ConfigFlowResult:
        """Show a form of defaults, or store what it sent."""
        defaults = self._defaults()
        errors: dict[str, str] = {}
        placeholders: dict[str, str] = {}
        if user_input is not None:
            defaults = self._defaults_after(fields, user_input)
            if not (finding := await async_check_settings(self.hass, inherited(defaults))):
                return self._store({CONF_PROFILE_DEFAULTS: defaults})
            errors["base"], placeholders = finding
        return self.async_show_form(
            step_id=step_id,
            data_schema=probatio.Schema(markers(self.hass, fields, inherited(defaults))),
            errors=errors,
            description_placeholders=placeholders,
        )

    def _store(self, changes: Mapping[str, Any]) -> ConfigFlowResult:
        return self.async_create_entry(data={**self.config_entry.options, **changes})
