"""The two forms of an endpoint: connect, then choose a model. The first set-up and subentries share them."""

import asyncio
from collections import Counter
from collections.abc import Mapping
import re
from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.const import CONF_NAME
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowHandler, FlowResult
from homeassistant.helpers.selector import SelectSelector, SelectSelectorConfig, SelectSelectorMode
import probatio
from yarl import URL

from ..client.discovery import async_list_models
from ..client.error_map import KEY_NEEDED as NO_KEY_SENT
from ..client.trial import Trial, async_try_model
from ..settings.endpoint import (
    DEFAULT_API_VERSION,
    PRESETS,
    EndpointConfig,
    endpoint_from_data,
    is_public,
    model_name,
    normalize_base_url,
    preset_for,
    traits_for,
)
from ..support.const import (
    CONF_API_KEY,
    CONF_API_VERSION,
    CONF_BASE_URL,
    CONF_CONTEXT_WINDOW,
    CONF_IDLE_TIMEOUT,
    CONF_KEEP_ALIVE,
    CONF_KEEP_READY,
    CONF_MAX_TOKENS,
    CONF_MODEL,
    CONF_PRESET,
    CONF_REMOTE,
    CONF_TEMPERATURE,
    CONF_TOOL_CALLING,
    CONF_TOP_P,
    CONF_VERIFY_SSL,
)
from ..support.errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMLoadingError,
    LLMModelNotFoundError,
    LLMRateLimitError,
    LLMResponseError,
    LLMTimeoutError,
)
from ..support.http import http_url
from ..support.localize import async_error_text
from .forms import (
    ADDRESS,
    SECRET,
    SWITCH,
    TEXT,
    Fields,
    SubentryForms,
    dropdown,
    is_empty,
    lifted,
    number,
    sectioned,
    shown,
)

CONF_USE_ANYWAY = "use_anyway"
CONF_REMOVE_KEY = "remove_key"
"""The switch that deletes a stored key, for servers that need none."""
ADVANCED = "advanced"
CONF_TRY = "try_model"
"""The switch to try the model before it is stored, and the step that does."""
AZURE = "azure"
NO_MODEL = "no_model"
"""The choice besides the presets: no model."""

_PARAMETERS: Fields = {
    CONF_TEMPERATURE: number(0, 2, step=0.05),
    CONF_TOP_P: number(0, 1, step=0.05),
    CONF_MAX_TOKENS: number(1, 1_000_000),
}
_ADVANCED: Fields = {
    CONF_KEEP_ALIVE: TEXT,
    CONF_CONTEXT_WINDOW: number(1024, 10_000_000),
    CONF_TOOL_CALLING: SWITCH,
    CONF_IDLE_TIMEOUT: number(5, 3600, unit="s"),
    CONF_REMOTE: SWITCH,
    CONF_KEEP_READY: SWITCH,
}


def preset_fields(*, or_none: bool) -> dict[probatio.Marker, Any]:
    """Return the choice of a preset."""
    options = [*PRESETS, *([NO_MODEL] if or_none else [])]
    selector = SelectSelector(
        SelectSelectorConfig(options=options, translation_key="preset", mode=SelectSelectorMode.LIST)
    )
    return {probatio.Required(CONF_PRESET): selector}


ERRORS: tuple[tuple[type[LLMError], str], ...] = (
    (LLMAuthError, "invalid_auth"),
    (LLMLoadingError, "model_loading"),
    (LLMTimeoutError, "timeout_connect"),
    (LLMCertificateError, "certificate"),
    (LLMConnectionError, "cannot_connect"),
    (LLMRateLimitError, "rate_limited"),
    (LLMResponseError, "not_openai"),
    (LLMModelNotFoundError, "not_openai"),
    (LLMError, "server_error"),
)
"""The first match counts: subclasses stand above their parents."""
KEY_NEEDED = "key_needed"
NO_MODELS = "no_models"


def error_of(err: LLMError) -> str:
    """Return the translation key of an error."""
    if isinstance(err, LLMAuthError) and err.translation_key == NO_KEY_SENT:
        return KEY_NEEDED
    return next(key for error, key in ERRORS if isinstance(err, error))


KEEP_ALIVE = re.compile(r"-1|\d+|(\d+(\.\d+)?(ms|s|m|h))+")
"""As Ollama accepts it: `-1` (forever), seconds, or a duration of Go."""
_WHOLE_NUMBERS = (CONF_MAX_TOKENS, CONF_CONTEXT_WINDOW, CONF_IDLE_TIMEOUT)
_ENDPOINT_DEFAULTS = {CONF_VERIFY_SSL: True, CONF_TOOL_CALLING: True, CONF_REMOTE: False, CONF_KEEP_READY: True}
"""Defaults of the switches."""


class EndpointForm:
    """The input of both forms."""

    def __init__(self, hass: HomeAssistant, data: Mapping[str, Any]) -> None:
        """Start from `data`: a stored endpoint, or only the preset of a new one."""
        self._hass = hass
        self._preset = preset_for(data[CONF_PRESET])
        self._stored = (data.get(CONF_BASE_URL) or "", data.get(CONF_API_KEY) or "")
        """Stored address and key; the key is never shown, nor sent to another server."""
        self._entered_key = ""
        """Shown again if it was refused."""
        self._is_new = CONF_MODEL not in data
        self._data = {**_ENDPOINT_DEFAULTS, **(self._suggestions() | dict(data) if self._is_new else data)}
        self._models: list[str] = []
        self._may_skip_check = False
        self.tries = False
        """Whether the model is to be tried before it is stored."""

    def _suggestions(self) -> dict[str, Any]:
        """Return the values that the forms suggest for a new endpoint."""
        return {
            CONF_BASE_URL: self._preset.base_url,
            CONF_API_VERSION: DEFAULT_API_VERSION if self._preset.key == AZURE else None,
            CONF_KEEP_ALIVE: "5m" if self._preset.key == "ollama" else None,
            CONF_IDLE_TIMEOUT: 120,
        }

    @property
    def data(self) -> dict[str, Any]:
        """Return the data to store."""
        return {key: value for key, value in self._data.items() if not is_empty(value)}

    @property
    def config(self) -> EndpointConfig:
        """Return the endpoint as it would be stored."""
        return endpoint_from_data("", self.suggested_title(), self.data)

    def suggested_title(self) -> str:
        """Return the title of an endpoint without a name."""
        return f"{model_name(self._data[CONF_MODEL])} ({URL(self._data[CONF_BASE_URL]).host})"

    @property
    def step_id(self) -> str:
        """Return the step that asks for the address: `cloud` for services that need a key."""
        return "cloud" if self._preset.needs_key else "endpoint"

    @property
    def placeholders(self) -> dict[str, str]:
        """Return the placeholders of that form."""
        preset = self._preset
        return {"example": preset.example, "service": preset.service, "keys_at": preset.keys_at}

    def connection_schema(self) -> probatio.Schema:
        """Return the form of address and key. An empty field keeps the stored key, unless the switch deletes it."""
        _, stored_key = self._stored
        schema: dict[probatio.Marker, Any] = {
            shown(probatio.Required, CONF_BASE_URL, self._data): ADDRESS,
            self._key_field(needed=self._preset.needs_key and not stored_key): SECRET,
        }
        if stored_key and not self._preset.needs_key:
            schema[probatio.Optional(CONF_REMOVE_KEY)] = SWITCH
        if self._preset.key == AZURE:
            schema[shown(probatio.Required, CONF_API_VERSION, self._data)] = TEXT
        schema[shown(probatio.Optional, CONF_VERIFY_SSL, self._data)] = SWITCH
        return self._with_skipping(schema)

    def key_schema(self) -> probatio.Schema:
        """Return the form of a new key alone."""
        return self._with_skipping({self._key_field(needed=True): SECRET})

    def _key_field(self, *, needed: bool) -> probatio.Marker:
        marker = probatio.Required if needed else probatio.Optional
        shown_key = {"suggested_value": self._entered_key} if self._entered_key else None
        return marker(probatio.Secret(CONF_API_KEY), description=shown_key)

    def _with_skipping(self, schema: dict[probatio.Marker, Any]) -> probatio.Schema:
        """Return the form; after a failure, with a switch to skip the check."""
        return probatio.Schema(schema | ({probatio.Optional(CONF_USE_ANYWAY): SWITCH} if self._may_skip_check else {}))

    def model_schema(self, *, name: str | None = None) -> probatio.Schema:
        """Return the form of model and parameters; it asks for a name unless `name` is None."""
        schema: dict[probatio.Marker, Any] = {}
        if name is not None:
            schema[shown(probatio.Optional, CONF_NAME, {CONF_NAME: name})] = TEXT
        if len(self._models) == 1 and not self._data.get(CONF_MODEL):
            self._data[CONF_MODEL] = self._models[0]
        names = {model: name for name, model in self._models_by_name.items()}
        chosen: str = self._data.get(CONF_MODEL) or ""
        # A required field would be filled in with the first model of the list.
        field = shown(probatio.Optional, CONF_MODEL, {CONF_MODEL: names.get(chosen, chosen)})
        schema[field] = dropdown([names[model] for model in self._models], typed=True)
        schema[shown(probatio.Optional, CONF_TRY, {CONF_TRY: self.tries})] = SWITCH
        keeps_alive = traits_for(self._preset.key, "").keep_alive
        advanced = {key: field for key, field in _ADVANCED.items() if key != CONF_KEEP_ALIVE or keeps_alive}
        parts = {"": _PARAMETERS, ADVANCED: advanced}
        return probatio.Schema(schema | sectioned(self._hass, parts, self._data))

    @property
    def _models_by_name(self) -> dict[str, str]:
        """Return the models by display name, or by id if a name is not unique.

        A field that accepts typed names shows no labels.
        """
        models = dict.fromkeys([*self._models, *filter(None, [self._data.get(CONF_MODEL)])])
        names = Counter(map(model_name, models))
        return {model if names[model_name(model)] > 1 else model_name(model): model for model in models}

    async def async_connect(self, user_input: Mapping[str, Any]) -> dict[str, str]:
        """Take address and key, ask the endpoint for its models, and return errors by field.

        After a failure the check may be skipped: a local server is often off, and some do not list models.
        """
        submitted = {key: value.strip() if isinstance(value, str) else value for key, value in user_input.items()}
        self._entered_key = submitted.get(CONF_API_KEY) or ""
        if (url := self._address(submitted)) is None:
            return {CONF_BASE_URL: "invalid_url"}
        self._take_connection(url, submitted)
        if self._preset.needs_key and not self._data.get(CONF_API_KEY):
            return {CONF_API_KEY: KEY_NEEDED}
        try:
            self._models = await async_list_models(
                self._hass, endpoint_from_data("", "", {CONF_MODEL: "", **self.data})
            )
        except LLMError as err:
            problem = error_of(err)
        else:
            if self._models:
                return {}
            problem = NO_MODELS
        if submitted.get(CONF_USE_ANYWAY):
            return {}
        self._may_skip_check = True
        return {"base": problem}

    def _address(self, submitted: Mapping[str, Any]) -> str | None:
        """Return the address to store, None if it cannot be used. An unchanged one is not completed again."""
        known: str = self._data[CONF_BASE_URL]
        entered = submitted.get(CONF_BASE_URL, known)
        return known if known and entered == known else usable_url(entered, self._preset.key)

    def _take_connection(self, url: str, submitted: Mapping[str, Any]) -> None:
        """Keep the input. An empty field keeps the stored key, but only for the same server."""
        stored_url, key = self._stored
        if submitted.get(CONF_REMOVE_KEY) or not same_server(url, stored_url):
            key = ""
        self._data[CONF_API_KEY] = self._entered_key or key
        self._data[CONF_BASE_URL] = url
        if self._is_new:  # a suggestion
            self._data[CONF_REMOTE] = self._preset.remote or is_public(url)
        for field in (CONF_API_VERSION, CONF_VERIFY_SSL):
            if not is_empty(submitted.get(field)):
                self._data[field] = submitted[field]

    def take_model(self, user_input: Mapping[str, Any]) -> dict[str, str]:
        """Take model and parameters, and return errors by field. A section or switch that was not sent stays as it is."""
        submitted = lifted(user_input, (ADVANCED,))
        self.tries = bool(submitted.get(CONF_TRY))
        by_name = self._models_by_name
        asked = self.model_schema().schema
        keys = [str(marker) for marker in asked if marker not in (ADVANCED, CONF_TRY)]
        if ADVANCED in user_input:
            keys += [str(marker) for marker in asked[ADVANCED].schema.schema]
        for key in keys:
            value = submitted.get(key)
            if value is None and isinstance(self._data.get(key), bool):
                continue
            self._data[key] = int(value) if key in _WHOLE_NUMBERS and value is not None else value
        entered = (self._data[CONF_MODEL] or "").strip()
        self._data[CONF_MODEL] = by_name.get(entered, entered)
        keep_alive = self._data.get(CONF_KEEP_ALIVE)
        if keep_alive and not KEEP_ALIVE.fullmatch(keep_alive):
            return {"base": "keep_alive_format"}
        return {} if self._data[CONF_MODEL] else {CONF_MODEL: "model_missing"}


def usable_url(entered: str, preset: str) -> str | None:
    """Return an address as it is stored, None if it cannot be used."""
    try:
        address = normalize_base_url(entered, preset)
    except ValueError:
        return None
    if any(char.isspace() or not char.isprintable() for char in address):
        return None
    return address if http_url(address) else None


def same_server(url: str, other: str) -> bool:
    """Return whether two addresses have the same origin."""
    return bool(other) and URL(url).origin() == URL(other).origin()


class ModelSteps[Result: FlowResult[Any, Any]](FlowHandler[Any, Result, Any]):
    """The steps that the first set-up and a subentry share: connect, and try the model."""

    _form: EndpointForm
    _trying: asyncio.Task[Trial] | None = None
    _tried: Trial

    async def async_step_model(self, user_input: dict[str, Any] | None = None) -> Result:
        """Ask for model and parameters."""
        raise NotImplementedError

    async def async_step_endpoint(self, user_input: dict[str, Any] | None = None) -> Result:
        """Ask for address and key, and connect."""
        errors: dict[str, str] = {}
        if user_input is not None and not (errors := await self._form.async_connect(user_input)):
            return await self.async_step_model()
        return self.async_show_form(
            step_id=self._form.step_id,
            data_schema=self._form.connection_schema(),
            errors=errors,
            description_placeholders=self._form.placeholders,
        )

    async_step_cloud = async_step_endpoint
    """The same form for services that need a key."""

    async def async_step_try_model(self, user_input: dict[str, Any] | None = None) -> Result:
        """Try the model, and show progress."""
        if self._trying is None:
            trying = async_try_model(self.hass, self._form.config)
            self._trying = self.hass.async_create_task(trying, "home_agent trial of a model")
        if not self._trying.done():
            return self.async_show_progress(
                step_id="try_model", progress_action="try_model", progress_task=self._trying
            )
        self._tried, self._trying = self._trying.result(), None
        return self.async_show_progress_done(next_step_id=f"tried_{self._tried.outcome}")

    async def async_step_tried(self, user_input: dict[str, Any] | None = None) -> Result:
        """Show the result, and ask whether to save."""
        tried = self._tried
        told = {None: "–", True: "✓", False: "✗"}
        return self.async_show_menu(
            step_id=f"tried_{tried.outcome}",
            menu_options=["save", "model", "try_model"],
            description_placeholders={
                "first_word": "–" if tried.first_word is None else f"{tried.first_word:.1f}",
                "speed": "–" if tried.speed is None else f"{tried.speed:.0f}",
                "tools": told[tried.calls_tools],
                "detail": await async_error_text(self.hass, self.hass.config.language, tried.error)
                if tried.error
                else "",
            },
        )

    async_step_tried_well = async_step_tried_slow = async_step_tried_no_tools = async_step_tried_failed = (
        async_step_tried
    )


class EndpointFlow(SubentryForms, ModelSteps[SubentryFlowResult]):
    """The forms of a subentry `llm`."""

    _title: str

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for the preset."""
        if user_input is None:
            return self.async_show_form(step_id="user", data_schema=probatio.Schema(preset_fields(or_none=False)))
        self._form = EndpointForm(self.hass, {CONF_PRESET: user_input[CONF_PRESET]})
        self._form.tries = True  # the first set-up goes on with a sentence of its own
        return await self.async_step_endpoint()

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from what is stored."""
        self._form = EndpointForm(self.hass, self._get_reconfigure_subentry().data)
        return await self.async_step_endpoint()

    async def async_step_model(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for model and parameters."""
        name = self.subentry.title if self.subentry else ""
        errors: dict[str, str] = {}
        if user_input is not None:
            name = user_input.pop(CONF_NAME, "").strip()
            errors = self._form.take_model(user_input)
            title = name or self._form.suggested_title()
            if self.name_is_taken(title):
                errors[CONF_NAME] = "name_taken"
            if not errors:
                self._title = title
                if not self._form.tries:
                    return await self.async_step_save()
                return await self.async_step_try_model()
        return self.async_show_form(step_id="model", data_schema=self._form.model_schema(name=name), errors=errors)

    async def async_step_save(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Store the endpoint."""
        return self.store(self._title, self._form.data)
