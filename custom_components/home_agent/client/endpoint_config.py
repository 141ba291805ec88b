"""Reads the settings of an endpoint from its subentry."""

from collections.abc import Mapping
from typing import Any

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
from .base import EndpointConfig

_OPTIONAL = (CONF_API_VERSION, CONF_TEMPERATURE, CONF_TOP_P, CONF_KEEP_ALIVE)
_WHOLE = (CONF_MAX_TOKENS, CONF_CONTEXT_WINDOW)
_WITH_DEFAULT = (CONF_PRESET, CONF_VERIFY_SSL, CONF_TOOL_CALLING, CONF_IDLE_TIMEOUT, CONF_REMOTE)


def endpoint_from_data(subentry_id: str, title: str, data: Mapping[str, Any]) -> EndpointConfig:
    """Return the endpoint; what is not stored keeps the default of `EndpointConfig`."""
    given: dict[str, Any] = {key: data[key] for key in (*_OPTIONAL, *_WITH_DEFAULT) if data.get(key) is not None}
    given |= {key: int(data[key]) for key in _WHOLE if data.get(key)}  # number selectors return floats
    return EndpointConfig(
        subentry_id=subentry_id,
        title=title,
        base_url=data[CONF_BASE_URL],
        api_key=data.get(CONF_API_KEY) or "",
        model=data[CONF_MODEL],
        **given,
    )
