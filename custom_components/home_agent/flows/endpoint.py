"""The two forms of an endpoint, one after the other: connect, then choose a model. First set-up and subentry share them."""

from collections.abc import Mapping
import re
from typing import Any

from homeassistant.core import HomeAssistant
import probatio
from yarl import URL

from ..client.presets import DEFAULT_API_VERSION, is_public, normalize_base_url, preset_for
from ..client.probe import async_list_models
from ..const import (
    CONF_API_KEY,
    CONF_API_VERSION,
    CONF_BASE_URL,
    CONF_CONTEXT_WINDOW,
    CONF_IDLE_TIMEOUT,
    CONF_KEEP_ALIVE,
    CONF_MAX_TOKENS,
    CONF_MODEL,
    CONF_PRESET,
    CONF_REMOTE,
    CONF_TOOL_CALLING,
    CONF_VERIFY_SSL,
)
from ..errors import (
    LLMAuthError,
    LLMCertificateError,
    LLMConnectionError,
    LLMError,
    LLMModelNotFoundError,
    LLMRateLimitError,
    LLMResponseError,
    LLMTimeoutError,
)
from .endpoint_schema import (
    ADVANCED,
    AZURE,
    CONF_REMOVE_KEY,
    CONF_USE_ANYWAY,
    connection_schema,
    fields_of,
    key_schema,
    model_schema,
)
from .sparse import is_empty, lifted

ERRORS: tuple[tuple[type[LLMError], str], ...] = (
    (LLMAuthError, "invalid_auth"),
    (LLMTimeoutError, "timeout_connect"),
    (LLMCertificateError, "certificate"),
    (LLMConnectionError, "cannot_connect"),
    (LLMRateLimitError, "rate_limited"),
    (LLMResponseError, "not_openai"),
    (LLMModelNotFoundError, "not_openai"),
    (LLMError, "server_error"),
)
"""First match wins, so subclasses stand above their parents."""
KEEP_ALIVE = re.compile(r"-1|\d+|(\d+(\.\d+)?(ms|s|m|h))+")
"""What Ollama takes: for ever, seconds, or a duration of Go."""
_WHOLE_NUMBERS = (CONF_MAX_TOKENS, CONF_CONTEXT_WINDOW, CONF_IDLE_TIMEOUT)
_ENDPOINT_DEFAULTS = {CONF_VERIFY_SSL: True, CONF_TOOL_CALLING: True, CONF_REMOTE: False}
"""What holds where nothing is stored, as a switch shows it."""


class EndpointForm:
    """An endpoint while its forms are being filled in."""

    def __init__(self, hass: HomeAssistant, data: Mapping[str, Any]) -> None:
        """Start from `data`: a stored endpoint, or just the preset of a new one."""
        self._hass = hass
        self._preset = preset_for(data[CONF_PRESET])
        self._data = {**_ENDPOINT_DEFAULTS, **(data if CONF_MODEL in data else self._suggestions() | dict(data))}
        self._models: list[str] = []
        self._may_skip_check = False

    def _suggestions(self) -> dict[str, Any]:
        """Return what the forms show for a new endpoint, and what holds where an input leaves a field out."""
        return {
            CONF_BASE_URL: self._preset.base_url,
            CONF_API_VERSION: DEFAULT_API_VERSION if self._preset.key == AZURE else None,
            CONF_KEEP_ALIVE: "5m" if self._preset.key == "ollama" else None,
            CONF_IDLE_TIMEOUT: 120,
        }

    @property
    def data(self) -> dict[str, Any]:
        """Return what is to be stored."""
        return {key: value for key, value in self._data.items() if not is_empty(value)}

    def suggested_title(self) -> str:
        """Return what an endpoint is called when nobody names it."""
        return f"{self._data[CONF_MODEL]} ({URL(self._data[CONF_BASE_URL]).host})"

    def connection_schema(self) -> probatio.Schema:
        """Return the form of address and key."""
        return connection_schema(self._preset, self._data, may_skip_check=self._may_skip_check)

    def key_schema(self) -> probatio.Schema:
        """Return the form of a new key alone."""
        return key_schema(may_skip_check=self._may_skip_check)

    def model_schema(self, *, name: str | None = None) -> probatio.Schema:
        """Return the form of model and parameters; with `name`, it asks for one."""
        return model_schema(self._preset, self._data, self._models, name=name)

    async def async_connect(self, user_input: Mapping[str, Any]) -> dict[str, str]:
        """Take address and key, ask the endpoint for its models; return errors by field.

        After a failure the owner may go on without the check: the computer of a local model is often off, and some
        keys and servers do not list models.
        """
        submitted = {key: value.strip() if isinstance(value, str) else value for key, value in user_input.items()}
        if (url := self._address(submitted)) is None:
            return {CONF_BASE_URL: "invalid_url"}
        self._take_connection(url, submitted)
        try:
            self._models = await self._async_list_models()
        except LLMError as err:
            if submitted.get(CONF_USE_ANYWAY):
                return {}
            self._may_skip_check = True
            return {"base": next(key for error, key in ERRORS if isinstance(err, error))}
        return {}

    def _address(self, submitted: Mapping[str, Any]) -> str | None:
        """Return the address that is stored, None when a client could not use it.

        An address that was taken before is not completed a second time.
        """
        known: str = self._data[CONF_BASE_URL]
        entered = submitted.get(CONF_BASE_URL, known)
        return known if known and entered == known else usable_url(entered, self._preset.key)

    def _take_connection(self, url: str, submitted: Mapping[str, Any]) -> None:
        """Keep what was entered. A known key stays when its field is empty, but never goes to another server."""
        if submitted.get(CONF_REMOVE_KEY) or not same_server(url, self._data[CONF_BASE_URL]):
            self._data.pop(CONF_API_KEY, None)
        self._data[CONF_BASE_URL] = url
        if CONF_MODEL not in self._data:  # a new endpoint: a guess, which the owner sees and may change
            self._data[CONF_REMOTE] = self._preset.remote or is_public(url)
        for key in (CONF_API_KEY, CONF_API_VERSION, CONF_VERIFY_SSL):
            if not is_empty(submitted.get(key)):
                self._data[key] = submitted[key]

    async def _async_list_models(self) -> list[str]:
        return await async_list_models(
            self._hass,
            base_url=self._data[CONF_BASE_URL],
            api_key=self._data.get(CONF_API_KEY, ""),
            verify_ssl=self._data[CONF_VERIFY_SSL],
            preset=self._data[CONF_PRESET],
            api_version=self._data.get(CONF_API_VERSION),
        )

    def take_model(self, user_input: Mapping[str, Any]) -> dict[str, str]:
        """Take model and parameters; return errors by field. A section or a switch that was not sent stays as it is."""
        submitted = lifted(user_input, (ADVANCED,))
        for key in fields_of(self.model_schema(), sent=user_input):
            value = submitted.get(key)
            if value is None and isinstance(self._data.get(key), bool):
                continue
            self._data[key] = int(value) if key in _WHOLE_NUMBERS and value is not None else value
        self._data[CONF_MODEL] = self._data[CONF_MODEL].strip()
        keep_alive = self._data.get(CONF_KEEP_ALIVE)
        if keep_alive and not KEEP_ALIVE.fullmatch(keep_alive):
            return {"base": "keep_alive_format"}
        return {} if self._data[CONF_MODEL] else {CONF_MODEL: "model_missing"}


def usable_url(entered: str, preset: str) -> str | None:
    """Return an address as it is stored, None when a client could not use it.

    Name and password in an address would end up in logs.
    """
    try:
        address = normalize_base_url(entered, preset)
        url = URL(address)
    except ValueError:
        return None
    if any(char.isspace() or not char.isprintable() for char in address):
        return None
    usable = url.scheme in ("http", "https") and url.host and not url.user and not url.password
    return address if usable else None


def same_server(url: str, other: str) -> bool:
    """Return whether two addresses lead to the same server."""
    return bool(other) and URL(url).origin() == URL(other).origin()
