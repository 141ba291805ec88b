"""What a form checks before it stores anything; a finding is an error key and the placeholders of its sentence."""

from collections.abc import Mapping
import re
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template
from jinja2 import TemplateSyntaxError

from ..const import (
    CONF_ALLOWED_ENTITIES,
    CONF_ALWAYS_ASK,
    CONF_ALWAYS_CONFIRM,
    CONF_CONTEXT_ENTITIES,
    CONF_CUSTOM_PROMPT,
    CONF_NEVER_ASK,
    CONF_NEVER_CONFIRM,
    CONF_NEVER_OFFER,
    CONF_PROMPT_ADDITIONS,
    CONF_TIMEZONE,
    CONF_USE_DEFAULT_PROMPT,
    CONF_USE_PROMPT_CONTEXT_SERVICE,
)
from ..prompt.placeholders import SAMPLE_VALUES
from ..prompt.template import RENDER_TIMEOUT, UNUSABLE, async_is_slow, fill
from .choices import tidy_names, wrong_name

type Finding = tuple[str, dict[str, str]]

LISTS = (
    CONF_ALLOWED_ENTITIES,
    CONF_ALWAYS_ASK,
    CONF_NEVER_ASK,
    CONF_NEVER_OFFER,
    CONF_ALWAYS_CONFIRM,
    CONF_NEVER_CONFIRM,
)
"""Lists in which an owner names entities, domains, services and tools."""

_ENTITY_PATTERN = re.compile(r"[a-z0-9_*]+\.[a-z0-9_*]+|\*")
_TIME_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_SAMPLE = {
    "ha_name": "Home",
    "user_name": "User",
    "language": "en",
    "area_id": None,
    "device_id": None,
    "profile_name": "Home Agent",
}
"""Values of what a prompt is rendered with as a plain template (prompt/template.py)."""
_TEMPLATE_FILES = ("<template>", "<unknown>")
"""What Jinja calls the code of a template in a traceback; the line numbers there are the template's."""


def tidy(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the input of a form in the types that are stored: whole numbers, rows and lists without blanks."""
    tidied: dict[str, Any] = {key: int(value) if isinstance(value, float) else value for key, value in settings.items()}
    if rows := tidied.get(CONF_CONTEXT_ENTITIES):
        tidied[CONF_CONTEXT_ENTITIES] = [_row(row) for row in ([rows] if isinstance(rows, dict) else rows)]
    for key in LISTS:
        if key in tidied:
            tidied[key] = tidy_names(tidied[key])
    return tidied


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    attributes = [name for attribute in row.get("attributes") or () if (name := attribute.strip())]
    return {"entity_id": row["entity_id"].strip().lower(), **({"attributes": attributes} if attributes else {})}


async def async_check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with an assistant's settings; a prompt that would make Home Assistant stand still is tried beside it."""
    for key in (CONF_CUSTOM_PROMPT, CONF_PROMPT_ADDITIONS):
        if await async_is_slow(hass, settings[key], _SAMPLE | SAMPLE_VALUES):
            return f"{key}_slow", {"seconds": f"{RENDER_TIMEOUT:g}"}
    return check_settings(hass, settings)


def check_settings(hass: HomeAssistant, settings: Mapping[str, Any]) -> Finding | None:
    """Return what is wrong with an assistant's settings as they would apply."""
    for row in settings.get(CONF_CONTEXT_ENTITIES) or ():
        if not _ENTITY_PATTERN.fullmatch(row["entity_id"]):
            return "entity_pattern", {"pattern": row["entity_id"]}
    if finding := check_lists(settings):
        return finding
    if not settings[CONF_USE_DEFAULT_PROMPT] and not settings[CONF_CUSTOM_PROMPT].strip():
        return "custom_prompt_empty", {}
    if (zone := settings[CONF_TIMEZONE].strip()) and not _TIME_ZONE.fullmatch(zone):
        return "timezone_invalid", {"zone": zone}
    for key in (CONF_CUSTOM_PROMPT, CONF_PROMPT_ADDITIONS):
        if problem := check_template(hass, settings[key], plain=not settings[CONF_USE_PROMPT_CONTEXT_SERVICE]):
            return f"{key}_invalid", problem
    return None


def check_lists(settings: Mapping[str, Any]) -> Finding | None:
    """Return which item of the owner's lists can name nothing."""
    for key in LISTS:
        if wrong := wrong_name(settings.get(key) or ()):
            return "list_item", {"item": wrong}
    return None


def check_template(hass: HomeAssistant, text: str, *, plain: bool = False) -> dict[str, str] | None:
    """Return line and message of what keeps a prompt from rendering; `plain`: without the names of the prompt context service."""
    try:
        if plain:
            Template(text, hass).async_render(_SAMPLE, parse_result=False)
        else:
            fill(hass, text, SAMPLE_VALUES)
    except UNUSABLE as err:
        cause = err.__cause__ if isinstance(err, TemplateError) else err
        return {"line": _line(cause), "error": str(cause or err)}
    return None


def _line(error: BaseException | None) -> str:
    """Return the line of a template in which an error arose, `?` where Jinja does not say."""
    if isinstance(error, TemplateSyntaxError):
        return str(error.lineno)
    line = "?"
    traceback = error.__traceback__ if error else None
    while traceback:
        if traceback.tb_frame.f_code.co_filename in _TEMPLATE_FILES:
            line = str(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line


def name_is_taken(entry: ConfigEntry, subentry_type: str, name: str, except_id: str | None = None) -> bool:
    """Return whether another subentry of the type goes by the name, however it is written."""
    return any(
        subentry.title.casefold() == name.casefold() and subentry.subentry_id != except_id
        for subentry in entry.get_subentries_of_type(subentry_type)
    )
