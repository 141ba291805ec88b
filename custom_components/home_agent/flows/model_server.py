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
from homeassistant.helpers.selector import SelectSelectorMode
import probatio
from yarl import URL

from ..client.discovery import async_list_models
from ..client.error_map import KEY_NEEDED
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
    is_empty,
    lifted,
    number,
    sectioned,
    select,
    shown,
)
from .reader import async_reader_language

CONF_USE_ANYWAY = "use_anyway"
ADVANCED = "advanced"
AZURE = "azure"
QUICK = 0.5  # seconds that a trial may take without being shown
LISTENS = 2.0  # seconds until a dialog that shows progress surely hears of its end
AUTOMATIONS = "automations"
NO_MODEL = "no_model"  # the choice besides the presets: no model

_PARAMETERS: Fields = {
    "temperature": number(0, 2, step=0.05),
    "top_p": number(0, 1, step=0.05),
    "max_tokens": number(1, 1_000_000),
}
_ADVANCED: Fields = {
    "keep_alive": TEXT,
    "context_window": number(1024, 10_000_000),
    "tool_calling": SWITCH,
    "idle_timeout": number(5, 3600, unit="s"),
    "remote": SWITCH,
    "keep_ready": SWITCH,
}
_FIELDS = {"base_url", "api_key", "api_version", "model", *_PARAMETERS, *_ADVANCED}
"""What may be emptied."""


def preset_fields(*, or_none: bool) -> dict[probatio.Marker, Any]:
    """Return the choice of a preset."""
    options = [*PRESETS, *([NO_MODEL] if or_none else [])]
    return {probatio.Required("preset"): select(options, "preset", mode=SelectSelectorMode.LIST)}


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


def error_of(err: LLMError) -> str:
    """Return the translation key of an error."""
    if isinstance(err, LLMAuthError) and err.translation_key == KEY_NEEDED:
        return "key_needed"
    return next(key for error, key in ERRORS if isinstance(err, error))


KEEP_ALIVE = re.compile(r"-1|\d+|(\d+(\.\d+)?(ms|s|m|h))+")
"""As Ollama accepts it: `-1` (forever), seconds, or a duration of Go."""
_WHOLE_NUMBERS = ("max_tokens", "context_window", "idle_timeout")
_SWITCHES = {"verify_ssl": True, "tool_calling": True, "remote": False, "keep_ready": True}
"""Their defaults."""


class EndpointForm:
    """The input of both forms."""

    def __init__(self, hass: HomeAssistant, data: Mapping[str, Any]) -> None:
        """Start from `data`: a stored endpoint, or only the preset of a new one."""
        self._hass = hass
        self.preset = preset_for(data["preset"])
        self._stored = (data.get("base_url") or "", data.get("api_key") or "")
        """Stored address and key; the key is never shown, nor sent to another server."""
        self._entered_key = ""  # shown again if it was refused
        self._is_new = "model" not in data
        self._data = {**_SWITCHES, **data}
        if self._is_new:
            self._data |= {
                "base_url": self.preset.base_url,
                "api_version": DEFAULT_API_VERSION if self.preset.key == AZURE else None,
                "keep_alive": "5m" if self.preset.key == "ollama" else None,
                "idle_timeout": 120,
            }
        self._models: list[str] = []
        self._may_skip_check = False
        self.tries = False  # whether the model is to be tried before it is stored
        self.with_automations = True
        """Whether the first set-up adds an agent for automations; it is suggested, and off where no one was asked."""

    @property
    def data(self) -> dict[str, Any]:
        """Return the data to store."""
        return {key: value for key, value in self._data.items() if key not in _FIELDS or not is_empty(value)}

    @property
    def config(self) -> EndpointConfig:
        """Return the endpoint as it would be stored."""
        return endpoint_from_data("", self.suggested_title(), self.data)

    def suggested_title(self) -> str:
        """Return the title of an endpoint without a name."""
        return f"{model_name(self._data['model'])} ({URL(self._data['base_url']).host})"

    def connection_schema(self) -> probatio.Schema:
        """Return the form of address and key. An empty field keeps the stored key, unless the switch deletes it."""
        _, stored_key = self._stored
        schema: dict[probatio.Marker, Any] = {
            shown(probatio.Required, "base_url", self._data): ADDRESS,
            self._key_field(needed=self.preset.needs_key and not stored_key): SECRET,
        }
        if stored_key and not self.preset.needs_key:
            schema[probatio.Optional("remove_key")] = SWITCH
        if self.preset.key == AZURE:
            schema[shown(probatio.Required, "api_version", self._data)] = TEXT
        schema[shown(probatio.Optional, "verify_ssl", self._data)] = SWITCH
        return self._with_skipping(schema)

    def key_schema(self) -> probatio.Schema:
        """Return the form of a new key alone."""
        return self._with_skipping({self._key_field(needed=True): SECRET})

    def _key_field(self, *, needed: bool) -> probatio.Marker:
        marker = probatio.Required if needed else probatio.Optional
        shown_key = {"suggested_value": self._entered_key} if self._entered_key else None
        return marker(probatio.Secret("api_key"), description=shown_key)

    def _with_skipping(self, schema: dict[probatio.Marker, Any]) -> probatio.Schema:
        """Return the form; after a failure, with a switch to skip the check."""
        return probatio.Schema(schema | ({probatio.Optional(CONF_USE_ANYWAY): SWITCH} if self._may_skip_check else {}))

    def model_schema(self, *, name: str | None = None, is_first: bool = False) -> probatio.Schema:
        """Return the form of model and parameters; it asks for a name unless `name` is None.

        `is_first`: it also asks whether to add an agent for automations.
        """
        schema: dict[probatio.Marker, Any] = {}
        if name is not None:
            schema[shown(probatio.Optional, CONF_NAME, {CONF_NAME: name})] = TEXT
        if len(self._models) == 1 and not self._data.get("model"):
            self._data["model"] = self._models[0]
        names = {model: name for name, model in self._models_by_name.items()}
        chosen: str = self._data.get("model") or ""
        # A required field would be filled in with the first model of the list.
        field = shown(probatio.Optional, "model", {"model": names.get(chosen, chosen)})
        schema[field] = select([names[model] for model in self._models], typed=True)
        schema[shown(probatio.Optional, "try_model", {"try_model": self.tries})] = SWITCH
        if is_first:
            schema[shown(probatio.Optional, AUTOMATIONS, {AUTOMATIONS: self.with_automations})] = SWITCH
        keeps_alive = traits_for(self.preset.key, "").keep_alive
        advanced = {key: field for key, field in _ADVANCED.items() if key != "keep_alive" or keeps_alive}
        return probatio.Schema(schema | sectioned(self._hass, {"": _PARAMETERS, ADVANCED: advanced}, self._data))

    @property
    def _models_by_name(self) -> dict[str, str]:
        """Return the models by display name, or by id if a name is not unique: a typed field shows no labels."""
        models = dict.fromkeys([*self._models, *filter(None, [self._data.get("model")])])
        names = Counter(map(model_name, models))
        return {model if names[model_name(model)] > 1 else model_name(model): model for model in models}

    async def async_connect(self, user_input: Mapping[str, Any]) -> dict[str, str]:
        """Take address and key, ask for the models, and return errors by field. A failed check may be skipped."""
        submitted = {key: value.strip() if isinstance(value, str) else value for key, value in user_input.items()}
        self._entered_key = submitted.get("api_key") or ""
        known: str = self._data["base_url"]
        entered: str = submitted.get("base_url", known)
        # An unchanged address is not completed again.
        url = known if known and entered == known else usable_url(entered, self.preset.key)
        if url is None:
            return {"base_url": "invalid_url"}
        stored_url, key = self._stored
        if submitted.get("remove_key") or not same_server(url, stored_url):
            key = ""
        self._data |= {"base_url": url, "api_key": self._entered_key or key}
        if self._is_new:  # a suggestion
            self._data["remote"] = self.preset.remote or is_public(url)
        for field in ("api_version", "verify_ssl"):
            if not is_empty(submitted.get(field)):
                self._data[field] = submitted[field]
        if self.preset.needs_key and not self._data.get("api_key"):
            return {"api_key": "key_needed"}
        try:
            self._models = await async_list_models(self._hass, endpoint_from_data("", "", {"model": "", **self.data}))
        except LLMError as err:
            problem = error_of(err)
        else:
            if self._models:
                return {}
            problem = "no_models"
        if submitted.get(CONF_USE_ANYWAY):
            return {}
        self._may_skip_check = True
        return {"base": problem}

    def take_model(self, user_input: Mapping[str, Any]) -> dict[str, str]:
        """Take model and parameters, and return errors by field. A section or switch that was not sent stays as it is."""
        submitted = lifted(user_input, (ADVANCED,))
        self.tries, self.with_automations = bool(submitted.get("try_model")), bool(submitted.get(AUTOMATIONS))
        by_name = self._models_by_name
        asked = self.model_schema().schema
        keys = [str(marker) for marker in asked if marker not in (ADVANCED, "try_model")]
        if ADVANCED in user_input:
            keys += [str(marker) for marker in asked[ADVANCED].schema.schema]
        for key in keys:
            value = submitted.get(key)
            if value is None and isinstance(self._data.get(key), bool):
                continue
            self._data[key] = int(value) if key in _WHOLE_NUMBERS and value is not None else value
        entered = (self._data["model"] or "").strip()
        self._data["model"] = by_name.get(entered, entered)
        keep_alive = self._data.get("keep_alive")
        if keep_alive and not KEEP_ALIVE.fullmatch(keep_alive):
            return {"base": "keep_alive_format"}
        return {} if self._data["model"] else {"model": "model_missing"}


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


async def _at_rest[Found](task: asyncio.Task[Found]) -> Found:
    """Return what a task finds, not before a dialog listens: one that shows progress misses an end that comes at once."""
    found, _ = await asyncio.gather(task, asyncio.sleep(LISTENS))
    return found


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
        preset = self._form.preset
        return self.async_show_form(
            step_id="cloud" if preset.needs_key else "endpoint",
            data_schema=self._form.connection_schema(),
            errors=errors,
            description_placeholders={"example": preset.example, "service": preset.service, "keys_at": preset.keys_at},
        )

    async_step_cloud = async_step_endpoint  # for services that need a key

    async def async_step_try_model(self, user_input: dict[str, Any] | None = None) -> Result:
        """Try the model, and show progress unless it is quick."""
        if self._trying is None:
            trying = self.hass.async_create_task(
                async_try_model(self.hass, self._form.config), "home_agent trial of a model"
            )
            await asyncio.wait([trying], timeout=QUICK)
            if trying.done():
                self._tried = trying.result()
                found: Result = await getattr(self, f"async_step_tried_{self._tried.outcome}")()
                return found
            self._trying = self.hass.async_create_task(_at_rest(trying), "home_agent trial that is shown")
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
        detail = (
            await async_error_text(self.hass, await async_reader_language(self.hass), tried.error)
            if tried.error
            else ""
        )
        return self.async_show_menu(
            step_id=f"tried_{tried.outcome}",
            menu_options=["save", "model", "try_model"],
            description_placeholders={
                "first_word": "–" if tried.first_word is None else f"{tried.first_word:.1f}",
                "speed": "–" if tried.speed is None else f"{tried.speed:.0f}",
                "tools": told[tried.calls_tools],
                "detail": detail,
            },
        )

    async_step_tried_well = async_step_tried_slow = async_step_tried_no_tools = async_step_tried_written = (
        async_step_tried_failed
    ) = async_step_tried


class EndpointFlow(SubentryForms, ModelSteps[SubentryFlowResult]):
    """The forms of a subentry `llm`."""

    _title: str

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask for the preset."""
        if user_input is None:
            return self.async_show_form(step_id="user", data_schema=probatio.Schema(preset_fields(or_none=False)))
        self._form = EndpointForm(self.hass, {"preset": user_input["preset"]})
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
