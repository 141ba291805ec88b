"""The fields of an endpoint's forms."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from homeassistant.const import CONF_NAME
from homeassistant.data_entry_flow import section
from homeassistant.helpers.selector import (
    BooleanSelector,
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
import probatio

from ..client.presets import PRESETS, Preset
from ..client.traits import traits_for
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
    CONF_TEMPERATURE,
    CONF_TOOL_CALLING,
    CONF_TOP_P,
    CONF_VERIFY_SSL,
)
from .fields import NAME, Fields, number
from .sparse import is_empty

CONF_USE_ANYWAY = "use_anyway"
CONF_REMOVE_KEY = "remove_key"
"""The switch that forgets a key, there as long as there is one that the server can do without."""
ADVANCED = "advanced"
AZURE = "azure"
NO_MODEL = "no_model"
"""The choice beside the presets: set up without a model."""

_URL = TextSelector(TextSelectorConfig(type=TextSelectorType.URL))
_KEY = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD, autocomplete="off"))
_PARAMETERS: Fields = {
    CONF_TEMPERATURE: number(0, 2, step=0.05),
    CONF_TOP_P: number(0, 1, step=0.05),
    CONF_MAX_TOKENS: number(1, 1_000_000),
}
_ADVANCED: Fields = {
    CONF_KEEP_ALIVE: NAME,
    CONF_CONTEXT_WINDOW: number(1024, 10_000_000),
    CONF_TOOL_CALLING: BooleanSelector(),
    CONF_IDLE_TIMEOUT: number(5, 3600, unit="s"),
    CONF_REMOTE: BooleanSelector(),
}


def preset_fields(*, or_none: bool) -> dict[probatio.Marker, Any]:
    """Return the choice of what kind of endpoint it is."""
    options = [*PRESETS, *([NO_MODEL] if or_none else [])]
    selector = SelectSelector(
        SelectSelectorConfig(options=options, translation_key="preset", mode=SelectSelectorMode.LIST)
    )
    return {probatio.Required(CONF_PRESET): selector}


def connection_schema(preset: Preset, data: Mapping[str, Any], *, may_skip_check: bool) -> probatio.Schema:
    """Return the form of address and key.

    A known key is not shown, and kept when its field is left empty; a switch forgets it, except where a key is needed.
    """
    key_marker = probatio.Required if preset.needs_key and CONF_API_KEY not in data else probatio.Optional
    schema: dict[probatio.Marker, Any] = {
        _shown(probatio.Required, CONF_BASE_URL, data): _URL,
        key_marker(probatio.Secret(CONF_API_KEY)): _KEY,
    }
    if data.get(CONF_API_KEY) and not preset.needs_key:
        schema[probatio.Optional(CONF_REMOVE_KEY)] = BooleanSelector()
    if preset.key == AZURE:
        schema[_shown(probatio.Required, CONF_API_VERSION, data)] = NAME
    schema[_shown(probatio.Optional, CONF_VERIFY_SSL, data)] = BooleanSelector()
    return probatio.Schema(schema | _skip_check(may_skip_check))


def key_schema(*, may_skip_check: bool) -> probatio.Schema:
    """Return the form of a new key alone."""
    schema: dict[probatio.Marker, Any] = {probatio.Required(probatio.Secret(CONF_API_KEY)): _KEY}
    return probatio.Schema(schema | _skip_check(may_skip_check))


def model_schema(
    preset: Preset, data: Mapping[str, Any], models: Sequence[str], *, name: str | None
) -> probatio.Schema:
    """Return the form of model and parameters; with `name`, it asks for one."""
    schema: dict[probatio.Marker, Any] = {}
    if name is not None:
        schema[_shown(probatio.Optional, CONF_NAME, {CONF_NAME: name})] = NAME
    schema[_shown(probatio.Required, CONF_MODEL, data)] = _model_choice(models)
    schema |= {_shown(probatio.Optional, key, data): selector for key, selector in _PARAMETERS.items()}
    advanced = {
        _shown(probatio.Optional, key, data): selector
        for key, selector in _ADVANCED.items()
        if key != CONF_KEEP_ALIVE or traits_for(preset.key, "").keep_alive
    }
    schema[probatio.Optional(ADVANCED)] = section(probatio.Schema(advanced), {"collapsed": True})
    return probatio.Schema(schema)


def fields_of(schema: probatio.Schema, *, sent: Container[str]) -> list[str]:
    """Return the parameters in a model's form, those of its section only when that was sent."""
    keys = [str(marker) for marker in schema.schema if marker not in (ADVANCED, CONF_NAME)]
    if ADVANCED in sent:
        keys += [str(marker) for marker in schema.schema[ADVANCED].schema.schema]
    return keys


def _model_choice(models: Sequence[str]) -> SelectSelector:
    """Return a list of the models, in which another name may be typed."""
    return SelectSelector(
        SelectSelectorConfig(options=list(models), custom_value=True, mode=SelectSelectorMode.DROPDOWN)
    )


def _skip_check(offered: bool) -> dict[probatio.Marker, Any]:
    return {probatio.Optional(CONF_USE_ANYWAY): BooleanSelector()} if offered else {}


def _shown(marker: type[probatio.Marker], key: str, data: Mapping[str, Any]) -> probatio.Marker:
    """Return a field that shows its value in `data`; it may be emptied, which a default would not allow."""
    value = data.get(key)
    return marker(key, description=None if is_empty(value) else {"suggested_value": value})
