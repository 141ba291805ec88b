"""Whether a trigger, a condition or an action takes part: `enabled`, which Home Assistant lets a template decide once."""

from collections.abc import Mapping

from homeassistant.const import CONF_ENABLED
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.template import Template
from jinja2 import TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

_NAMES = SandboxedEnvironment(autoescape=True)
"""Parses templates without rendering them."""


def is_switched_on(part: object) -> bool | None:
    """Return whether a part takes part; None where a template decides that by more than it says itself."""
    enabled = part.get(CONF_ENABLED, True) if isinstance(part, Mapping) else True
    if not isinstance(enabled, Template):
        return enabled is not False
    try:
        if meta.find_undeclared_variables(_NAMES.parse(enabled.template)):
            return None
        return bool(enabled.async_render(limited=True))
    except HomeAssistantError, TemplateError, RecursionError:
        return None


def has_switch(value: object) -> bool:
    """Return whether `enabled` stands anywhere in conditions."""
    match value:
        case Mapping():
            return CONF_ENABLED in value or any(map(has_switch, value.values()))
        case list() | tuple():
            return any(map(has_switch, value))
    return False
